#include "support/dapple_golden.h"

#include "support/reference.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool open_document(struct doc *doc, const char *folder, const char *name, const char *end)
{
    char relative[256];
    struct error err;
    snprintf(relative, sizeof relative, "hybrid/%s/%s%s", folder, name, end);
    char *path = reference_path(relative);
    if (!path)
        return false;
    if (!doc_load(doc, path, &err))
        fail_msg("%s", err.text);
    free(path);
    return true;
}

static double number_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = doc_find(map, key);
    return node && node->type == DOC_NUMBER ? node->number : NAN;
}

static void read_state(struct chain *chain, const struct doc_node *state)
{
    int i = (int)state->index;
    chain->until[i].compute = number_of(state, "cum_compute");
    chain->until[i].parameter_bytes = (int64_t)number_of(state, "cum_parameter");
    chain->until[i].activation_bytes = (int64_t)number_of(state, "cum_activation");
    chain->until[i].forward = chain->until[i].backward = chain->until[i].compute / 2;
    chain->crossing_bytes[i] = (int64_t)number_of(state, "output_activation");
    const struct doc_node *before = doc_find(state, "pred");
    for (const struct doc_node *node = before->first_child; node; node = node->next) {
        int k = (int)node->number;
        chain->before[(size_t)i * (size_t)chain->before_words + (size_t)k / 64] |= (uint64_t)1 << (k % 64);
    }
}

bool dapple_golden_chain(struct chain *chain, const char *profile)
{
    struct doc doc;
    struct error err;
    if (!open_document(&doc, "prepared", profile, ".json"))
        return false;
    const struct doc_node *states = doc_find(doc.root, "states");
    if (!chain_init(chain, profile, (int)states->count, &err))
        fail_msg("%s", err.text);
    chain->before_words = (int)(states->count + 63) / 64;
    chain->before = ARENA_ARRAY(&chain->arena, (size_t)chain->before_words * states->count, uint64_t);
    assert_non_null(chain->before);
    for (const struct doc_node *state = states->first_child; state; state = state->next)
        read_state(chain, state);
    doc_release(&doc);
    return true;
}

bool dapple_golden_open(struct dapple_golden *golden, const char *name)
{
    *golden = (struct dapple_golden){.record = NULL};
    if (!open_document(&golden->doc, "golden", name, ""))
        return false;
    golden->record = golden->doc.root->first_child;
    return true;
}

void dapple_golden_problem(struct dapple_golden *golden)
{
    const struct doc_node *input = doc_find(golden->record, "input"), *ends = doc_find(input, "seps");
    const struct doc_node *rates = doc_find(input, "bandwidths");
    for (const struct doc_node *node = ends->first_child; node; node = node->next)
        golden->machine_end[node->index] = (int)node->number;
    golden->cluster = (struct dapple_cluster){
        .machine_count = (int)ends->count,
        .machine_end = golden->machine_end,
        .point_to_point = number_of(rates, "ethernet_p2p"),
        .collective = number_of(rates, "ethernet_nccl"),
        .inside = number_of(rates, "nvlink_p2p"),
        .memory = 16e9,
    };
    golden->problem = (struct dapple_problem){
        .cluster = &golden->cluster,
        .profile_batch = number_of(input, "pbs"),
        .global_batch = (int64_t)number_of(input, "gbs"),
        .microbatch = (int64_t)number_of(input, "mbs"),
        .state_factor = number_of(input, "oms"),
        .sample_memory = number_of(input, "papb"),
    };
    const char *path = doc_find(input, "profile")->text, *slash = strrchr(path, '/');
    snprintf(golden->profile, sizeof golden->profile, "%s", slash ? slash + 1 : path);
    char *end = strstr(golden->profile, ".txt");
    if (end)
        *end = '\0';
}

double dapple_golden_output(const struct dapple_golden *golden, const char *key)
{
    return number_of(doc_find(golden->record, "output"), key);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **dapple_golden_list(int *count)
{
    enum { MOST = 512 };
    *count = 0;
    char *path = reference_path("hybrid/golden");
    DIR *folder = path ? opendir(path) : NULL;
    free(path);
    if (!folder)
        return NULL;
    char **names = calloc(MOST, sizeof *names);
    assert_non_null(names);
    for (struct dirent *entry; (entry = readdir(folder)) && *count < MOST;) {
        const char *end = strrchr(entry->d_name, '.');
        /* the profile of ResNet-50 is not among those at hand */
        if (end && strcmp(end, ".json") == 0 && strcmp(entry->d_name, "determinism.json") != 0 &&
            strncmp(entry->d_name, "hpgo-resnet50", 13) != 0)
            names[(*count)++] = strdup(entry->d_name);
    }
    closedir(folder);
    qsort(names, (size_t)*count, sizeof *names, compare_names);
    return names;
}
