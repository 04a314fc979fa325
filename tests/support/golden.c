#include "support/golden.h"

#include "cluster/cluster.h"
#include "core/doc.h"
#include "model/profile.h"
#include "support/reference.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECOND 1e-3

struct reader {
    struct doc doc;
    struct golden *golden;
    struct error *err;
};

const char *golden_folder(void)
{
    static char folder[PATH_MAX];
    char *path = reference_path("planning");
    if (!path)
        return NULL;
    snprintf(folder, sizeof folder, "%s", path);
    free(path);
    return folder;
}

static bool name_matches(const char *name, const char *start, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return strncmp(name, start, strlen(start)) == 0 && length >= tail &&
           strcmp(name + length - tail, end) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **golden_list(struct arena *arena, const char *start, const char *end, int *count)
{
    enum { MOST = 256 };
    *count = 0;
    const char **names = ARENA_ARRAY(arena, MOST, const char *);
    const char *path = arena_format(arena, "%s/golden", golden_folder());
    DIR *folder = path ? opendir(path) : NULL;
    if (!names || !folder)
        return NULL;
    for (struct dirent *entry; (entry = readdir(folder)) && *count < MOST;)
        if (name_matches(entry->d_name, start, end))
            names[(*count)++] = arena_string(arena, entry->d_name);
    closedir(folder);
    qsort(names, (size_t)*count, sizeof *names, compare_names);
    return *count > 0 ? names : NULL;
}

static bool read_number(struct reader *r, const struct doc_node *map, const char *key, double *value)
{
    const struct doc_node *node = doc_need(&r->doc, map, key, r->err);
    return node && doc_number(&r->doc, node, -1e300, 1e300, value, r->err);
}

static bool read_int(struct reader *r, const struct doc_node *map, const char *key, int *value)
{
    int64_t number = 0;
    const struct doc_node *node = doc_need(&r->doc, map, key, r->err);
    if (!node || !doc_integer(&r->doc, node, 0, INT_MAX, &number, r->err))
        return false;
    *value = (int)number;
    return true;
}

static bool read_seconds(struct reader *r, const struct doc_node *map, const char *key, double *value)
{
    if (!read_number(r, map, key, value))
        return false;
    *value *= MILLISECOND;
    return true;
}

/* [first layer, last layer, devices, group, forward, backward] */
static bool read_stage(struct reader *r, const struct doc_node *list, struct pipeline_stage *stage)
{
    double fields[6];
    int count = 0;
    for (const struct doc_node *node = list->first_child; node && count < 6; node = node->next, count++)
        if (!doc_number(&r->doc, node, 0, 1e300, &fields[count], r->err))
            return false;
    if (count < 6)
        return doc_error(&r->doc, list, r->err, "expected the six numbers of a stage");
    stage->layers.first = (int)fields[0];
    stage->layers.last = (int)fields[1];
    stage->devices = (int)fields[2];
    stage->group = (int)fields[3];
    stage->node = -1;
    stage->forward = fields[4] * MILLISECOND;
    stage->backward = fields[5] * MILLISECOND;
    return true;
}

static bool read_stages(struct reader *r, const struct doc_node *list, struct golden_plan *plan)
{
    if (list->count != (uint32_t)plan->stage_count)
        return doc_error(&r->doc, list, r->err, "expected %d stages", plan->stage_count);
    plan->stages = ARENA_ARRAY(&r->golden->arena, list->count, struct pipeline_stage);
    if (!plan->stages)
        return error_memory(r->err);
    int i = 0;
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_stage(r, node, &plan->stages[i++]))
            return false;
    return true;
}

/* A missing or null output is a failure of the reference. */
static bool read_plan(struct reader *r, const struct doc_node *map, struct golden_plan *plan)
{
    plan->found = map && map->type == DOC_MAP;
    if (!plan->found)
        return true;
    const struct doc_node *stages = doc_find(map, "stages");
    return read_seconds(r, map, "iteration_time", &plan->iteration_time) &&
           read_seconds(r, map, "t1", &plan->t1) && read_seconds(r, map, "t2", &plan->t2) &&
           read_seconds(r, map, "t3", &plan->t3) && read_int(r, map, "kstar", &plan->bottleneck) &&
           read_int(r, map, "num_stages", &plan->stage_count) && (!stages || read_stages(r, stages, plan));
}

/* One plan, or a list of them. */
static bool read_plans(struct reader *r, const struct doc_node *node, struct golden_plan **plans, int *count)
{
    bool list = node && node->type == DOC_LIST;
    *count = list ? (int)node->count : 1;
    *plans = ARENA_ARRAY(&r->golden->arena, (size_t)*count, struct golden_plan);
    if (!*plans)
        return error_memory(r->err);
    if (!list)
        return read_plan(r, node, *plans);
    int i = 0;
    for (const struct doc_node *child = node->first_child; child; child = child->next)
        if (!read_plan(r, child, &(*plans)[i++]))
            return false;
    return true;
}

static bool read_group(struct reader *r, const struct doc_node *map, struct golden_group *group)
{
    const struct doc_node *type = doc_need(&r->doc, map, "type", r->err);
    const char *text;
    if (!type || !doc_string(&r->doc, type, &text, r->err) || !read_int(r, map, "num_nodes", &group->nodes) ||
        !read_int(r, map, "num_gpus", &group->devices_per_node))
        return false;
    group->device = arena_string(&r->golden->arena, text);
    return group->device || error_memory(r->err);
}

/* A mixed cluster: one profile folder per node type, all in one folder. */
static bool read_mixed(struct reader *r, const struct doc_node *specs, const char *profile)
{
    struct golden *golden = r->golden;
    golden->group_count = (int)specs->count;
    golden->groups = ARENA_ARRAY(&golden->arena, specs->count, struct golden_group);
    if (!golden->groups)
        return error_memory(r->err);
    int nodes = 0;
    for (const struct doc_node *spec = specs->first_child; spec; spec = spec->next) {
        if (!read_group(r, spec, &golden->groups[spec->index]))
            return false;
        nodes += golden->groups[spec->index].nodes;
    }
    for (int i = 0; i < golden->plan_count; i++)
        golden->plans[i].nodes = nodes;
    const char *slash = strrchr(profile, '/');
    size_t length = slash ? (size_t)(slash - profile) : strlen(profile);
    golden->profile = arena_format(&golden->arena, "%s/%.*s", golden_folder(), (int)length, profile);
    return golden->profile || error_memory(r->err);
}

/* A cluster of one kind, and a range of sizes. */
static bool read_homogeneous(struct reader *r, const struct doc_node *input, const char *profile)
{
    struct golden *golden = r->golden;
    const struct doc_node *range = doc_need(&r->doc, input, "num_nodes_range", r->err);
    if (!range || !doc_is_list(&r->doc, range, r->err))
        return false;
    golden->group_count = 1;
    golden->groups = ARENA_NEW(&golden->arena, struct golden_group);
    golden->profile = arena_format(&golden->arena, "%s/%s", golden_folder(), profile);
    if (!golden->groups || !golden->profile)
        return error_memory(r->err);
    int min = (int)range->first_child->number;
    golden->groups[0].device = "gpu";
    golden->groups[0].nodes = (int)range->first_child->next->number;
    for (int i = 0; i < golden->plan_count; i++)
        golden->plans[i].nodes = min + i;
    return read_int(r, input, "gpus_per_node", &golden->groups[0].devices_per_node);
}

static bool read_input(struct reader *r)
{
    const struct doc_node *input = doc_need(&r->doc, r->doc.root, "input", r->err);
    const struct doc_node *profiles = input ? doc_need(&r->doc, input, "profiles", r->err) : NULL;
    if (!profiles || !doc_is_list(&r->doc, profiles, r->err) || profiles->count == 0)
        return false;
    if (!read_int(r, input, "microbatch_size", &r->golden->microbatch_size) ||
        !read_int(r, input, "num_mbatches", &r->golden->microbatches))
        return false;
    const char *profile = profiles->first_child->text;
    const struct doc_node *specs = doc_find(input, "node_specs");
    return specs ? read_mixed(r, specs, profile) : read_homogeneous(r, input, profile);
}

static bool read_golden(struct reader *r)
{
    struct golden *golden = r->golden;
    const struct doc_node *templates = doc_find(r->doc.root, "virtual_templates");
    return read_plans(r, doc_find(r->doc.root, "output"), &golden->plans, &golden->plan_count) &&
           (!templates || read_plans(r, templates, &golden->virtual_templates, &golden->virtual_count)) &&
           read_input(r);
}

bool golden_load(struct golden *golden, const char *name, struct error *err)
{
    struct reader r = {.golden = golden, .err = err};
    memset(golden, 0, sizeof *golden);
    const char *path = arena_format(&golden->arena, "%s/golden/%s", golden_folder(), name);
    golden->name = arena_string(&golden->arena, name);
    bool good = (path && golden->name) || error_memory(err);
    if (good && doc_load(&r.doc, path, err)) {
        good = read_golden(&r);
        doc_release(&r.doc);
    } else {
        good = false;
    }
    if (!good)
        golden_release(golden);
    return good;
}

void golden_release(struct golden *golden)
{
    arena_release(&golden->arena);
    memset(golden, 0, sizeof *golden);
}

bool golden_problem(const struct golden *golden, int index, enum plan_objective objective,
                    struct plan_problem *problem, struct error *err)
{
    struct cluster_group groups[PLAN_MAX_GROUPS] = {0};
    struct cluster cluster = {.path = golden->name, .group_count = golden->group_count, .groups = groups};
    for (int g = 0; g < golden->group_count; g++) {
        groups[g].device = golden->groups[g].device;
        groups[g].nodes.count =
            golden->group_count == 1 ? golden->plans[index].nodes : golden->groups[g].nodes;
        groups[g].nodes.devices = golden->groups[g].devices_per_node;
        groups[g].place = golden->name;
    }
    struct profile profile;
    if (!profile_load(&profile, golden->profile, golden->microbatch_size, err))
        return false;
    bool good = plan_problem_init(problem, &profile, &cluster, objective, ALLREDUCE_PROFILE,
                                  golden->microbatches, err);
    problem->memory = MEMORY_REFERENCE;
    profile_release(&profile);
    return good;
}
