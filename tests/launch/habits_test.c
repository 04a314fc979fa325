/* What Megatron-LM does only where an option asks for it: written as planned, and read back as written. */
#include "devices/tables.h"
#include "launch/launch.h"
#include "support/written_jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Each technique that is off, and the options of a job with it: those that are there, and those that are not. */
static const struct {
    const char *model;
    int tensor;
    enum technique_kind off;
    const char *has[3], *has_not[3];
} cases[] = {
    {"llama-3-8b",
     2,
     TECHNIQUE_COUNT,
     {"--sequence-parallel", "--overlap-grad-reduce", "--overlap-param-gather"},
     {"--attention-backend"}},
    {"llama-3-8b", 2, TECHNIQUE_GATHER_OVERLAP, {"--overlap-grad-reduce"}, {"--overlap-param-gather"}},
    {"llama-3-8b", 2, TECHNIQUE_DATA_OVERLAP, {NULL}, {"--overlap-grad-reduce", "--overlap-param-gather"}},
    {"llama-3-8b", 2, TECHNIQUE_SEQUENCE, {"--overlap-grad-reduce"}, {"--sequence-parallel"}},
    {"llama-3-8b", 2, TECHNIQUE_ATTENTION, {"--attention-backend unfused"}, {NULL}},
    {"mixtral-8x7b", 1, TECHNIQUE_COUNT, {"--moe-grouped-gemm"}, {NULL}},
    {"mixtral-8x7b", 1, TECHNIQUE_EXPERT_KERNELS, {NULL}, {"--moe-grouped-gemm"}},
    {"mixtral-8x7b", 1, TECHNIQUE_GRAPHS, {"--cuda-graph-impl full_iteration"}, {NULL}},
    {"llama-3-8b", 1, TECHNIQUE_COUNT, {NULL}, {"--cuda-graph-impl"}},
};

static void habits_are_written_and_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        struct error err;
        struct job job = job_example();
        job.model = architecture_find(cases[i].model);
        job.degrees.tensor = cases[i].tensor;
        job.sharding = 1;
        job_spread(&job, 8);
        job.batch = 8 * (int64_t)job.degrees.data;
        if (cases[i].off != TECHNIQUE_COUNT)
            technique_set(&job.technique, cases[i].off,
                          cases[i].off == TECHNIQUE_GRAPHS ? SWITCH_ON : SWITCH_OFF);
        if (!job_launch(LAUNCH_MEGATRON, &job, &text, &err))
            fail_msg("%s", err.text);
        for (int j = 0; j < 3; j++)
            if ((cases[i].has[j] && !strstr(text.data, cases[i].has[j])) ||
                (cases[i].has_not[j] && strstr(text.data, cases[i].has_not[j])))
                fail_msg("case %zu: %s", i, text.data);
        const struct launch_input input = {
            .path = "a.sh", .data = text.data, .length = text.length, .is_alone = true};
        struct launch_options options = {0};
        if (!launch_read(&options, &input, &err))
            fail_msg("%s", err.text);
        launch_complete(&options);
        for (int k = TECHNIQUE_DATA_OVERLAP; k <= TECHNIQUE_ATTENTION; k++) {
            bool off = options.technique[k].given && options.technique[k].value == SWITCH_OFF;
            bool both = cases[i].off == TECHNIQUE_DATA_OVERLAP && k == TECHNIQUE_GATHER_OVERLAP;
            assert_int_equal(off, k == (int)cases[i].off || both);
        }
        assert_int_equal(options.technique[TECHNIQUE_GRAPHS].given, cases[i].off == TECHNIQUE_GRAPHS);
        launch_options_release(&options);
        text_release(&text);
    }
}

/* A graph of the whole iteration by each of its names; graphs of parts of a layer are not priced. */
static void graphs_of_iterations_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool whole;
    } graphs[] = {
        {"--cuda-graph-impl full_iteration --no-check-for-nan-in-loss-and-grad", true},
        {"--cuda-graph-impl local --cuda-graph-scope full_iteration", true},
        {"--cuda-graph-impl local --cuda-graph-scope full_iteration_inference", false},
        {"--cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router", false},
        {"--cuda-graph-scope full_iteration", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        struct text text = {0};
        text_format(&text, "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 512 --bf16 %s\n",
                    graphs[i].text);
        const struct launch_input input = {
            .path = "a.sh", .data = text.data, .length = text.length, .is_alone = true};
        struct launch_options options = {0};
        struct error err;
        if (!launch_read(&options, &input, &err))
            fail_msg("%zu: %s", i, err.text);
        launch_complete(&options);
        assert_int_equal(options.technique[TECHNIQUE_GRAPHS].given, graphs[i].whole);
        launch_options_release(&options);
        text_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(habits_are_written_and_read),
                                       cmocka_unit_test(graphs_of_iterations_are_read)};
    struct error err;
    if (!tables_ready(&err))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
