/* Plans over several device types as runs: who is in which, what each says, and what is refused. */
#include "core/doc.h"
#include "devices/tables.h"
#include "launch/launch.h"
#include "plan/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD                                                                                                 \
    "{\"format\": \"rehearse-plan/2\", \"search\": \"%s\", \"objective\": \"iteration\", \"microbatches\": " \
    "-1, "                                                                                                   \
    "\"model\": {\"name\": \"llama-3-8b\", \"layers\": 34}, \"training\": {\"global_batch\": %d, "           \
    "\"microbatch\": 1, \"sequence\": 4096, \"precision\": \"mixed\", \"software\": \"megatron-core\", "     \
    "\"recompute\": \"none\", \"sharding\": %d}, \"cluster\": {\"device_types\": ["                          \
    "{\"name\": \"%s\", \"nodes\": 2, \"per_node\": 4, \"memory\": 85899345920}, "                           \
    "{\"name\": \"%s\", \"nodes\": 2, \"per_node\": 4, \"memory\": 85899345920}]}, \"pipelines\": ["

/* Stages of a pipeline: the first takes layers 0..16 and the second 17..33, unless the cut is another. */
#define PIPELINE                                                                                             \
    "{\"copies\": %d, \"microbatches\": %d, \"stages\": ["                                                   \
    "{\"layers\": [0, %d], \"device_type\": %d, \"tensor\": %d, \"bytes\": {\"optimizer\": %.0f, "           \
    "\"total\": 3e10}}, "                                                                                    \
    "{\"layers\": [%d, 33], \"device_type\": %d, \"tensor\": %d}]}"

struct kind {
    int copies, microbatches, cut, first_type, first_tensor, last_type, last_tensor;
};

/* Of a plan that tests change. */
static struct {
    const char *search, *types[2];
    int sharding, count;
    double optimizer; /* bytes of a device of first stages */
    struct kind kinds[3];
} made;

static int setup(void **state)
{
    (void)state;
    struct error err;
    assert_true(tables_ready(&err));
    memset(&made, 0, sizeof made);
    made.search = "jobs";
    made.types[0] = "h100-sxm";
    made.types[1] = "a100-80gb";
    made.count = 2;
    made.kinds[0] = (struct kind){2, 20, 16, 0, 2, 0, 2};
    made.kinds[1] = (struct kind){1, 8, 16, 1, 4, 1, 4};
    return 0;
}

static bool write_made(enum launch_format format, struct text *out, struct error *err)
{
    struct text json = {0};
    struct plan plan;
    struct plan_parts parts = {.tables = NULL};
    int batch = 0;
    for (int k = 0; k < made.count; k++)
        batch += made.kinds[k].copies * made.kinds[k].microbatches;
    text_format(&json, HEAD, made.search, batch, made.sharding, made.types[0], made.types[1]);
    for (int k = 0; k < made.count; k++) {
        const struct kind *kind = &made.kinds[k];
        text_add(&json, k > 0 ? ", " : "");
        text_format(&json, PIPELINE, kind->copies, kind->microbatches, kind->cut, kind->first_type,
                    kind->first_tensor, made.optimizer, kind->cut + 1, kind->last_type, kind->last_tensor);
    }
    text_add(&json, "]}");
    if (!plan_parse(&plan, "made.json", json.data, json.length, err))
        fail_msg("%s", err->text);
    text_release(&json);
    bool ok = launch_write_runs(format, &plan, &parts, out, err);
    plan_release(&plan);
    return ok;
}

static char *written(enum launch_format format)
{
    struct text out = {0};
    struct error err;
    if (!write_made(format, &out, &err))
        fail_msg("%s", err.text);
    return out.data;
}

static void refuses(enum launch_format format, const char *message)
{
    struct text out = {0};
    struct error err;
    assert_false(write_made(format, &out, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    assert_null(out.data);
}

/* Reads one run's arguments back. */
static struct launch_options read_run(const char *text, size_t length)
{
    struct launch_options options = {.reader = NULL};
    const struct launch_input input = {.path = "run.sh", .data = text, .length = length, .is_alone = true};
    struct error err;
    if (!launch_read(&options, &input, &err))
        fail_msg("%s", err.text);
    return options;
}

static void unlike_pipelines_are_runs_with_their_parts_of_the_batch(void **state)
{
    (void)state;
    char *text = written(LAUNCH_MEGATRON), *second = strstr(text, "\n\n");
    assert_non_null(second);
    struct launch_options one = read_run(text, (size_t)(second - text)),
                          two = read_run(second, strlen(second));
    assert_int_equal(one.tensor.value, 2);
    assert_int_equal(two.tensor.value, 4);
    assert_int_equal(one.pipeline.value, 2);
    assert_int_equal(one.batch.value, 40);
    assert_int_equal(two.batch.value, 8);
    assert_non_null(
        strstr(text, "# run 1 of 2, in its own file: reads its own 40 of the 48 samples of each iteration"));
    assert_non_null(strstr(text, "(weight of this run: 40/48)"));
    assert_non_null(strstr(second, "(weight of this run: 8/48)"));
    assert_non_null(strstr(text, "# ranks 0-7 on h100-sxm (nodes of 4)"));
    assert_non_null(strstr(second, "# ranks 0-7 on a100-80gb (nodes of 4)"));
    launch_options_release(&one);
    launch_options_release(&two);
    free(text);
}

static void a_pipeline_over_types_is_one_run(void **state)
{
    (void)state;
    made.count = 1;
    made.kinds[0] = (struct kind){4, 10, 11, 0, 1, 1, 1};
    char *text = written(LAUNCH_MEGATRON);
    assert_non_null(strstr(text, "# ranks 0-3 on h100-sxm (nodes of 4), 4-7 on a100-80gb (nodes of 4)\n"));
    assert_null(strstr(text, "# run "));
    assert_null(strstr(text, "average"));
    struct launch_options read = read_run(text, strlen(text));
    assert_int_equal(read.pipeline.value, 2);
    assert_int_equal(read.first_blocks.value, 11);
    assert_int_equal(read.batch.value, 40);
    launch_options_release(&read);
    free(text);
}

/* Data parallel copies need not be on one type. */
static void pipelines_that_are_alike_are_one_run(void **state)
{
    (void)state;
    made.kinds[1] = made.kinds[0];
    made.kinds[1].first_type = made.kinds[1].last_type = 1;
    char *text = written(LAUNCH_MEGATRON);
    assert_non_null(
        strstr(text, "on 16 devices: tensor 2 x pipeline 2 x context 1 x data 4, 20 micro-batches"));
    assert_non_null(strstr(text,
                           "# ranks 0-3 on h100-sxm (nodes of 4), 4-7 on a100-80gb (nodes of 4), 8-11 on "
                           "h100-sxm (nodes of 4), 12-15 on a100-80gb (nodes of 4)\n"));
    assert_null(strstr(text, "# run "));
    free(text);
    made.kinds[1].microbatches--; /* one of them is a run of its own then */
    text = written(LAUNCH_MEGATRON);
    assert_non_null(strstr(text, "# run 2 of 2"));
    free(text);
}

static void stages_of_a_run_have_one_tensor_degree(void **state)
{
    (void)state;
    made.kinds[1] = (struct kind){1, 8, 16, 0, 2, 1, 4};
    refuses(LAUNCH_MEGATRON,
            "Megatron-LM has one tensor parallel degree in a run, and pipeline 1 has 2 on h100-sxm and 4 on "
            "a100-80gb: '--fix tp=2' plans with one; '--emit pipelining' writes this one");
    char *text = written(LAUNCH_PIPELINING);
    assert_non_null(strstr(text, "\"n_microbatches\": 8"));
    free(text);
}

static void all_runs_have_one_number_format(void **state)
{
    (void)state;
    made.types[1] = "v100-32gb";
    char *text = written(LAUNCH_MEGATRON);
    assert_null(strstr(text, "--bf16"));
    assert_non_null(strstr(strstr(text, "--fp16") + 1, "--fp16"));
    assert_non_null(strstr(text, "# fp16 everywhere: there is no bf16 on v100-32gb\n"));
    free(text);
    refuses(LAUNCH_TORCHTITAN,
            "torchtitan does not train in fp16 (the plan runs in fp16, as there is no bf16 on "
            "v100-32gb)");
    made.types[1] = "a100-80gb";
    text = written(LAUNCH_MEGATRON);
    assert_null(strstr(text, "--fp16"));
    assert_non_null(strstr(text, "--bf16"));
    free(text);
}

/* 3 pipelines share their states in the plan; a run of one of them holds all of its own. */
static void states_are_shared_within_a_run(void **state)
{
    (void)state;
    made.search = "columns";
    made.sharding = 1;
    made.kinds[1] = (struct kind){1, 8, 12, 1, 2, 1, 2};
    made.optimizer = 8589934592;
    char *text = written(LAUNCH_MEGATRON);
    assert_non_null(
        strstr(text, "sharded over this run's 2 pipelines, not over all of the plan: up to 4.00 GiB more"));
    assert_non_null(
        strstr(text, "sharded over this run's 1 pipeline, not over all of the plan: up to 16.0 GiB more"));
    free(text);
    made.optimizer = 42949672960;
    refuses(LAUNCH_MEGATRON, "run 2 of 2 does not fit: the plan shards optimizer states over 3 pipelines, "
                             "Megatron-LM only over this run's 1: a 'a100-80gb' needs 108 GiB of 80.0 GiB");
}

static void deepspeeds_runs_are_a_list(void **state)
{
    (void)state;
    struct doc doc;
    struct error err;
    char *text = written(LAUNCH_DEEPSPEED);
    assert_true(doc_parse(&doc, DOC_JSON, "runs.json", text, strlen(text), &err));
    assert_int_equal(doc.root->type, DOC_LIST);
    assert_int_equal(doc.root->count, 2);
    int64_t batch = 0, sum = 0;
    for (const struct doc_node *run = doc.root->first_child; run; run = run->next, sum += batch) {
        assert_true(doc_integer(&doc, doc_find(run, "train_batch_size"), 0, 1000, &batch, &err));
        assert_non_null(doc_find(doc_find(run, "rehearse"), "set_elsewhere"));
    }
    assert_int_equal(sum, 48);
    doc_release(&doc);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(unlike_pipelines_are_runs_with_their_parts_of_the_batch, setup),
        cmocka_unit_test_setup(a_pipeline_over_types_is_one_run, setup),
        cmocka_unit_test_setup(pipelines_that_are_alike_are_one_run, setup),
        cmocka_unit_test_setup(stages_of_a_run_have_one_tensor_degree, setup),
        cmocka_unit_test_setup(all_runs_have_one_number_format, setup),
        cmocka_unit_test_setup(states_are_shared_within_a_run, setup),
        cmocka_unit_test_setup(deepspeeds_runs_are_a_list, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
