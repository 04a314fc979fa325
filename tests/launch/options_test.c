/* Every name that a writer can emit is one of the documented version, listed in tests/launch/options/. */
#include "core/doc.h"
#include "core/file.h"
#include "devices/tables.h"
#include "launch/launch.h"
#include "launch/megatron.h"
#include "support/expect.h"
#include "support/written_jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct names {
    struct text lines; /* "\nname\nname\n" */
};

static struct names load(const char *format)
{
    struct names names = {0};
    struct error err;
    char path[1024], *data;
    size_t length;
    snprintf(path, sizeof path, "%s/tests/launch/options/%s.txt", getenv("REHEARSE_SOURCE_ROOT"), format);
    if (!file_read(path, 1 << 20, &data, &length, &err))
        fail_msg("%s", err.text);
    text_add(&names.lines, "\n");
    text_add_bytes(&names.lines, data, length);
    free(data);
    return names;
}

static bool has(const struct names *names, const char *name, size_t length)
{
    char line[256];
    assert_true(length + 2 < sizeof line);
    snprintf(line, sizeof line, "\n%.*s\n", (int)length, name);
    return strstr(names->lines.data, line) != NULL;
}

static void need(const struct names *names, const char *name)
{
    if (!has(names, name, strlen(name)))
        fail_msg("'%s' is not in the list", name);
}

/* ---- names of an output ---- */

static bool emitted[MEGATRON_COUNT];

static void check_megatron(const struct names *names, const char *output)
{
    for (const char *line = output; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char name[128];
        enum megatron_option option;
        if (sscanf(line, "%127s", name) != 1 || strncmp(name, "--", 2) != 0)
            continue;
        need(names, name);
        for (option = 0; option < MEGATRON_COUNT && strcmp(megatron_name(option), name) != 0;)
            option++;
        assert_true(option < MEGATRON_COUNT);
        emitted[option] = true;
    }
}

static void check_keys(const struct names *names, const struct doc_node *map, const char *before)
{
    for (const struct doc_node *node = map->first_child; node; node = node->next) {
        char name[256];
        snprintf(name, sizeof name, "%s%s", before, node->key);
        if (strcmp(name, "rehearse") == 0 || strcmp(name, "PipelineModule.parts") == 0)
            continue;
        need(names, name);
        if (node->type == DOC_MAP) {
            strcat(name, ".");
            check_keys(names, node, name);
        }
    }
}

static void check_deepspeed(const struct names *names, const char *output)
{
    struct doc doc = json_of(output);
    check_keys(names, doc.root, "");
    const struct doc_node *parts = doc_find(doc_find(doc.root, "rehearse"), "pipeline_module");
    if (parts)
        check_keys(names, parts, "PipelineModule.");
    doc_release(&doc);
}

/* What Oobleck hands to a constructor has no other keys, and all that have no default. */
static void check_oobleck(const struct names *names, const char *output)
{
    struct doc doc = json_of(output);
    need(names, doc.root->first_child->key);
    check_keys(names, doc_find(doc.root, "fingerprint"), "fingerprint.");
    const struct doc_node *template = doc_find(doc.root, "templates")->first_child;
    check_keys(names, template, "templates.");
    for (const char *name = names->lines.data; (name = strstr(name, "\ntemplates.")); name++) {
        char key[64];
        assert_int_equal(sscanf(name, "\ntemplates.%63[a-z0-9_]", key), 1);
        assert_non_null(doc_find(template, key));
    }
    doc_release(&doc);
}

static void check_torchtitan(const struct names *names, const char *output)
{
    char table[128] = "", name[256];
    for (const char *line = output; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (line[0] == '[')
            assert_int_equal(sscanf(line, "[%127[a-z0-9_.]]", table), 1);
        size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");
        if (length == 0 || strncmp(line + length, " = ", 3) != 0)
            continue;
        snprintf(name, sizeof name, "%s.%.*s", table, (int)length, line);
        need(names, name);
    }
}

static void check_torchtitan_python(const struct names *names, const char *output)
{
    int count = 0;
    char name[256];
    for (const char *line = output; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        size_t length =
            strncmp(line, "    ", 4) == 0 ? strspn(line + 4, "abcdefghijklmnopqrstuvwxyz0123456789_.") : 0;
        if (length == 0 || strncmp(line + 4 + length, " = ", 3) != 0 || !memchr(line + 4, '.', length))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, line + 4);
        need(names, name);
        count++;
    }
    assert_true(count >= 10);
}

static void check_pipelining(const struct names *names, const char *output)
{
    const char *import = strstr(output, "import ") + strlen("import ");
    for (const char *at = import; *at != '\n'; at += strspn(at, ", ")) {
        size_t length = strcspn(at, ",\n");
        assert_true(has(names, at, length));
        at += length;
    }
    for (const char *at = output; (at = strstr(at, "SplitPoint.")); at++)
        assert_true(has(names, at, strspn(at, "SplitPoint.ABCDEFGHIJKLMNOPQRSTUVWXYZ")));
    need(names, "split_spec");
    need(names, "n_microbatches");
    assert_non_null(strstr(output, "\nsplit_spec = {\n"));
    assert_non_null(strstr(output, "\nn_microbatches = "));
}

/* ---- jobs ---- */

struct splits {
    int tensor, pipeline, context, expert, chunks, sharding;
};

/* Techniques that all go together. */
static void set_techniques(struct technique *technique, size_t which)
{
    if (which % 5 == 1)
        technique->modules = 1 << MODULE_NORMS | 1 << MODULE_MLP;
    if (which % 5 == 2)
        *technique = (struct technique){.method = METHOD_BLOCK,
                                        .layers = 1,
                                        .gradients = FORMAT_BF16,
                                        .master = FORMAT_FP16,
                                        .moments = FORMAT_FP8,
                                        .parameters = FORMAT_FP8,
                                        .recipe = RECIPE_DELAYED,
                                        .replicate = 2,
                                        .offload = 50,
                                        .offload_activations = which % 3 == 0,
                                        .graphs = which % 2 ? SWITCH_ON : SWITCH_USUAL};
    if (which % 5 == 3)
        technique->recipe = RECIPE_NVFP4;
    if (which % 2 == 1) {
        technique->expert_overlap = OVERLAP_WEIGHTS;
        technique->tensor_overlap = SWITCH_ON;
        technique->context_kind = CONTEXT_RING + (int)(which / 2 % 4);
        technique->expert_tensor = which % 3 == 1 ? 2 : 0;
    }
}

/* Calls `check` on what is written for every model, many splits, and every kind of numbers and recomputation. */
static int each_output(enum launch_format format,
                       void (*check)(const struct names *names, const char *output))
{
    static const struct splits splits[] = {
        {1, 1, 1, 1, 1, 0}, {2, 1, 1, 1, 1, 1}, {1, 1, 2, 1, 1, 2}, {1, 1, 1, 1, 1, 3},  {4, 2, 1, 1, 1, 1},
        {2, 4, 1, 1, 2, 1}, {1, 3, 2, 1, 1, 1}, {1, 5, 1, 1, 2, 0}, {2, 4, 1, 1, 3, 1},  {2, 2, 1, 4, 1, 1},
        {1, 8, 1, 8, 1, 1}, {1, 2, 1, 2, 1, 3}, {1, 8, 2, 1, 8, 1}, {1, 3, 1, 1, 11, 1}, {1, 1, 8, 1, 1, 1},
        {2, 1, 4, 1, 1, 1}, {1, 1, 1, 8, 1, 1}, {1, 4, 1, 4, 2, 1},
    };
    static const enum cost_type types[] = {COST_BF16, COST_FP16, COST_FP8, COST_FP4, COST_TF32, COST_FP32};
    const struct table *table = tables_known(TABLE_MODELS);
    struct names names = load(launch_format_names[format]);
    int written = 0;
    for (int i = 0; i < table->count; i++)
        for (size_t s = 0; s < sizeof splits / sizeof *splits * 3; s++) {
            const struct splits *split = &splits[s / 3];
            struct job job = job_example();
            struct text out = {0};
            struct error err;
            job.model = &table->models[i];
            job.sequence = table->models[i].positions > 0 ? 256 : s % 7 == 3 ? 8192 : 4096;
            job.degrees.tensor = split->tensor, job.degrees.pipeline = split->pipeline,
            job.degrees.context = split->context;
            job.degrees.expert = split->expert, job.chunks = split->chunks, job.sharding = split->sharding;
            job.recompute = (enum recompute)(s % 3);
            job.type = types[(s + (size_t)i) % (sizeof types / sizeof *types)];
            if (format == LAUNCH_MEGATRON)
                set_techniques(&job.technique, s);
            if (format == LAUNCH_DEEPSPEED && s % 5 == 2)
                job.technique = (struct technique){.offload = 50, .offload_to = PLACE_NVME};
            if (format == LAUNCH_DEEPSPEED && s % 6 == 2)
                job.technique.offload_activations = 1000;
            if (format == LAUNCH_TORCHTITAN && s % 5 == 2)
                job.technique = (struct technique){.replicate = 2, .reshard = SWITCH_OFF};
            if (s % 4 == 1)
                job.software = software_find("megatron-2021");
            job_spread(&job, 8 * job.degrees.tensor * job.degrees.pipeline * job.degrees.context);
            job.batch = (int64_t)job.degrees.data * (s % 2 == 0 ? 24 : 13);
            if (job_launch(format, &job, &out, &err)) {
                check(&names, out.data);
                written++;
            } else {
                assert_int_equal(err.kind, ERROR_INFEASIBLE);
                assert_int_equal(out.length, 0);
            }
            text_release(&out);
        }
    text_release(&names.lines);
    return written;
}

static void megatron_arguments_exist(void **state)
{
    (void)state;
    assert_true(each_output(LAUNCH_MEGATRON, check_megatron) > 1000);
}

/* The jobs above go through every branch. */
static void all_megatron_arguments_are_emitted(void **state)
{
    (void)state;
    memset(emitted, 0, sizeof emitted);
    each_output(LAUNCH_MEGATRON, check_megatron);
    emitted[MEGATRON_EXPERT_LATENT] = true; /* of no model that has a name */
    for (int i = 0; i < MEGATRON_COUNT; i++)
        if (!emitted[i])
            fail_msg("'%s' is never written", megatron_name((enum megatron_option)i));
}

static void megatron_arguments_that_are_read_exist(void **state)
{
    (void)state;
    struct names names = load("megatron");
    for (int i = 0; i < MEGATRON_COUNT; i++)
        need(&names, megatron_name((enum megatron_option)i));
    text_release(&names.lines);
}

static void deepspeed_keys_exist(void **state)
{
    (void)state;
    assert_true(each_output(LAUNCH_DEEPSPEED, check_deepspeed) > 500);
}

static void torchtitan_keys_exist(void **state)
{
    (void)state;
    assert_true(each_output(LAUNCH_TORCHTITAN, check_torchtitan) > 500);
}

static void torchtitan_members_exist(void **state)
{
    (void)state;
    assert_true(each_output(LAUNCH_TORCHTITAN_PYTHON, check_torchtitan_python) > 100);
}

static void pipelining_names_exist(void **state)
{
    (void)state;
    assert_true(each_output(LAUNCH_PIPELINING, check_pipelining) > 500);
}

static void oobleck_keys_exist(void **state)
{
    (void)state;
    assert_true(each_output(LAUNCH_OOBLECK, check_oobleck) > 50);
}

/* A technique without an option is refused, not left out. */
static void techniques_without_an_option_are_refused(void **state)
{
    (void)state;
    static const struct {
        enum launch_format format;
        struct technique technique;
        const char *message;
    } cases[] = {
        {LAUNCH_MEGATRON,
         {.reshard = SWITCH_OFF},
         "Megatron-LM has no option for reshard no (gathered parameters are freed after the forward pass)"},
        {LAUNCH_TORCHTITAN,
         {.offload = 50},
         "torchtitan has no option for offload 50 (per cent of the optimizer's states that the host holds); "
         "plan for it with --software torchtitan"},
        {LAUNCH_DEEPSPEED,
         {.modules = 1 << MODULE_MLP},
         "DeepSpeed has no option for modules mlp (parts of a block that are recomputed); plan for it with "
         "--software deepspeed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = job_example();
        struct text out = {0};
        struct error err;
        job.technique = cases[i].technique;
        assert_false(job_launch(cases[i].format, &job, &out, &err));
        assert_int_equal(err.kind, ERROR_INFEASIBLE);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(out.length, 0);
        text_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(techniques_without_an_option_are_refused),
        cmocka_unit_test(megatron_arguments_exist),
        cmocka_unit_test(all_megatron_arguments_are_emitted),
        cmocka_unit_test(megatron_arguments_that_are_read_exist),
        cmocka_unit_test(deepspeed_keys_exist),
        cmocka_unit_test(torchtitan_keys_exist),
        cmocka_unit_test(torchtitan_members_exist),
        cmocka_unit_test(pipelining_names_exist),
        cmocka_unit_test(oobleck_keys_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
