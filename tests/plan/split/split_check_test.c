#include "plan/split/rule.h"
#include "plan/split/search.h"
#include "support/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void refuses(const struct job *job, const char *message)
{
    struct error err;
    assert_false(job_check(job, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
}

static void accepts_what_fits(void **state)
{
    (void)state;
    struct error err;
    struct job job = job_example();
    assert_true(job_check(&job, &err));
    job.degrees.tensor = 4, job.degrees.pipeline = 2;
    job_spread(&job, 16);
    assert_true(job_check(&job, &err));
}

static void refuses_degrees_that_do_not_multiply(void **state)
{
    (void)state;
    struct job job = job_example();
    job.degrees.tensor = 2;
    refuses(&job, "tensor 2 x pipeline 1 x context 1 x data 8 parallel is not 8 devices");
}

static void refuses_what_does_not_divide(void **state)
{
    (void)state;
    struct job job = job_example();
    job.batch = 63;
    refuses(&job, "dp=8: the 63 sequences of the global batch are not a multiple of 8");
    job = job_example();
    job.degrees.tensor = 3;
    job_spread(&job, 24);
    job.batch = 64;
    refuses(&job, "tp=3: the 32 heads of 'llama-3-8b' are not a multiple of 3");
    job = job_example();
    job.degrees.context = 3;
    job_spread(&job, 24);
    refuses(&job, "cp=3: the 4096 tokens of a sequence are not a multiple of 6");
}

static void refuses_more_stages_than_blocks(void **state)
{
    (void)state;
    struct job job = job_example();
    job.degrees.pipeline = 8, job.chunks = 5;
    job_spread(&job, 8);
    refuses(&job, "8 stages of 5 chunks are more than 32 blocks");
}

static void embedding_and_head_may_be_chunks(void **state)
{
    (void)state;
    struct error err;
    struct job job = job_example();
    job.degrees.pipeline = 2, job.chunks = 17; /* of 32 blocks */
    job_spread(&job, 8);
    assert_true(job_check(&job, &err));
}

static void refuses_experts_of_a_dense_model(void **state)
{
    (void)state;
    struct job job = job_example();
    job.degrees.expert = 8;
    refuses(&job, "ep=8: 'llama-3-8b' has no experts");
}

static void degrees_alone_say_nothing_of_the_batch(void **state)
{
    (void)state;
    struct error err;
    struct job job = job_example();
    job.batch = 63;
    assert_true(job_check_degrees(&job, &err));
    job.sharding = 4;
    assert_false(job_check_degrees(&job, &err));
    assert_string_equal(err.text, "zero=4: expected a ZeRO stage from 0 to 3, found 4");
}

static void refuses_more_tokens_than_positions(void **state)
{
    (void)state;
    struct job job = job_example();
    struct architecture model = *job.model;
    model.positions = 2048;
    job.model = &model;
    refuses(&job, "the sequence (4096) is longer than the 2048 positions of 'llama-3-8b'");
}

/* ---- a job just inside each rule, and one just outside ---- */

struct shape {
    const char *model, *software;
    int tensor, pipeline, data, context, expert, chunks, sharding, devices, node;
    int64_t microbatch, batch, sequence;
    enum recompute recompute;
    enum cost_type type; /* 0: bf16 */
    struct technique technique;
};

/* Where nothing is said: llama-3-8b, Megatron-Core, 8 data parallel ranks of nodes of 8, 64 sequences of 4,096 tokens. */
#define MOE   .model = "mixtral-8x7b"
#define IDEAL .software = "ideal", .data = 1, .pipeline = 4

static const struct {
    const char *id;
    struct shape inside, outside;
    const char *words;
} each[] = {
    {"product",
     {.tensor = 2},
     {.tensor = 2, .devices = 8},
     "tensor 2 x pipeline 1 x context 1 x data 8 parallel is not 8"},
    {"tensor", {.tensor = 2}, {.tensor = 2, .software = "fsdp"}, "fsdp has no tensor parallelism ("},
    {"pipeline",
     {.pipeline = 2},
     {.pipeline = 2, .software = "fsdp", .sharding = 3},
     "fsdp has no pipelines ("},
    {"context", {.context = 2}, {.context = 2, .software = "megatron-2021"}, "has no context parallelism ("},
    {"expert",
     {MOE, .expert = 8},
     {MOE, .expert = 8, .software = "megatron-2021"},
     "has no expert parallelism ("},
    {"chunks",
     {.pipeline = 2, .chunks = 2},
     {.pipeline = 2, .chunks = 2, .software = "megatron-deepspeed"},
     "has no interleaved pipelines ("},
    {"zero-stage", {.sharding = 3}, {.sharding = 4}, "expected a ZeRO stage from 0 to 3, found 4"},
    {"zero", {.sharding = 3}, {.sharding = 3, .pipeline = 2}, "has no ZeRO stage 3 ("},
    {"devices", {MOE, .expert = 8}, {MOE, .expert = 8, .data = 1, .tensor = 4}, "ep=8: there are 4 devices"},
    {"dense", {MOE, .expert = 8}, {.expert = 8}, "'llama-3-8b' has no experts"},
    {"heads", {.tensor = 4}, {.tensor = 3}, "tp=3: the 32 heads of 'llama-3-8b' are not a multiple of 3"},
    {"kv-copies",
     {.tensor = 8},
     {.model = "qwen3-14b", .tensor = 20, .data = 1},
     "tp=20: the 8 key and value heads"},
    {"kv-heads", {.tensor = 8}, {.tensor = 16, .data = 1}, "tp=16: the 8 key and value heads"},
    {"ffn",
     {.tensor = 8},
     {.model = "qwen3-14b", .tensor = 5, .data = 1},
     "tp=5: the 17408 columns of the MLP"},
    {"node", {.tensor = 4}, {.tensor = 4, .node = 6}, "the 6 devices of a node are not a multiple of 4"},
    {"sequence",
     {.context = 4},
     {.context = 4, .sequence = 4100},
     "cp=4: the 4100 tokens of a sequence are not a multiple of 8"},
    {"positions",
     {.model = "gpt2-xl", .sequence = 1024},
     {.model = "gpt2-xl", .sequence = 1032},
     "the sequence (1032) is longer than the 1024 positions"},
    {"experts",
     {MOE, .expert = 8},
     {MOE, .expert = 3, .data = 3, .batch = 63},
     "ep=3: the 8 experts of 'mixtral-8x7b' are not a multiple of 3"},
    {"batch",
     {.microbatch = 8},
     {.microbatch = 3},
     "are not a multiple of 24 = micro-batch 3 x data parallel 8"},
    {"blocks", {.pipeline = 32, .data = 1}, {.pipeline = 33, .data = 1}, "pp=33: 'llama-3-8b' has 32 blocks"},
    {"expert-grid",
     {MOE, .expert = 8},
     {MOE, .expert = 8, .data = 4, .pipeline = 2},
     "expert 8 x expert tensor 1 x pipeline 2 parallel does not divide 8 devices"},
    {"expert-grid",
     {MOE, .expert = 4, .technique.expert_tensor = 2},
     {MOE, .expert = 8, .technique.expert_tensor = 2},
     "expert 8 x expert tensor 2 x pipeline 1 parallel does not divide 8 devices"},
    {"expert-split",
     {MOE, .expert = 4, .technique.expert_tensor = 2},
     {MOE, .expert = 2, .data = 6, .batch = 96, .node = 6, .technique.expert_tensor = 3},
     "columns of an expert"},
    {"expert-node",
     {MOE, .expert = 2, .technique.expert_tensor = 4},
     {MOE, .expert = 2, .node = 6, .technique.expert_tensor = 4},
     "the 6 devices of a node are not a multiple of 4"},
    {"copies",
     {.technique.replicate = 4},
     {.technique.replicate = 3},
     "3 copies of the shards do not divide 8 data parallel ranks"},
    {"copies",
     {MOE, .expert = 4, .technique.replicate = 2},
     {MOE, .expert = 8, .technique.replicate = 2},
     "2 copies of the shards do not divide the 1 data parallel rank of experts"},
    {"one-stage",
     {.pipeline = 2, .chunks = 2},
     {.chunks = 2},
     "2 chunks interleave the stages of a pipeline, and there is one stage"},
    {"places",
     {.pipeline = 2, .chunks = 17},
     {.pipeline = 2, .chunks = 18},
     "2 stages of 18 chunks are more than 32 blocks"},
    {"turns",
     {.pipeline = 4, .chunks = 2},
     {.pipeline = 4, .chunks = 2, .batch = 48},
     "in groups as large as itself, and 6 are not a multiple of 4"},
    {"alike",
     {.pipeline = 4, .chunks = 3},
     {.pipeline = 4, .chunks = 3, .software = "torchtitan", .sharding = 3},
     "32 blocks do not make 12 equal chunks"},
    {"order",
     {IDEAL, .technique.schedule = SCHEDULE_ZB_H1},
     {.pipeline = 4, .technique.schedule = SCHEDULE_ZB_H1},
     "megatron-core has no zb-h1"},
    {"schedule",
     {IDEAL, .batch = 8, .technique.schedule = SCHEDULE_DUALPIPE},
     {IDEAL, .batch = 6, .technique.schedule = SCHEDULE_DUALPIPE},
     "dualpipe needs at least 8 micro-batches"},
    {"techniques",
     {.technique.tensor_overlap = SWITCH_ON},
     {.technique.reshard = SWITCH_OFF},
     "'megatron-core' has no 'reshard' ("},
    {"recipe",
     {.technique.recipe = RECIPE_TENSORWISE, .type = COST_FP8},
     {.technique.recipe = RECIPE_ROWWISE, .type = COST_FP8},
     "'megatron-core' has no rowwise"},
    {"recipe",
     {.technique.recipe = RECIPE_TENSORWISE, .type = COST_FP8},
     {.technique.recipe = RECIPE_TENSORWISE},
     "recipe tensorwise is for --precision fp8, not bf16"},
    {"overlap",
     {MOE, .expert = 8, .technique.expert_overlap = OVERLAP_PASSES},
     {MOE, .expert = 8, .recompute = RECOMPUTE_FULL, .technique.expert_overlap = OVERLAP_PASSES},
     "unless they are recomputed, too"},
    {"overlap",
     {MOE, .expert = 8, .pipeline = 2, .chunks = 2, .technique.expert_overlap = OVERLAP_PASSES},
     {MOE, .expert = 8, .pipeline = 2, .technique.expert_overlap = OVERLAP_PASSES},
     "in a pipeline of several chunks"},
    {"overlap",
     {MOE, .expert = 2, .technique.expert_overlap = OVERLAP_PASSES},
     {MOE, .technique.expert_overlap = OVERLAP_PASSES},
     "where experts are on several devices"},
    {"expert-bias",
     {.model = "gpt-oss-20b", .expert = 8, .tensor = 2},
     {.model = "gpt-oss-20b", .tensor = 2},
     "experts of 'gpt-oss-20b' have biases, and are not split"},
    {"fp8-parameters",
     {.sharding = 1, .type = COST_FP8, .technique.parameters = FORMAT_FP8},
     {.type = COST_FP8, .technique.parameters = FORMAT_FP8},
     "need shared states: give zero of at least 1"},
    {"fp8-parameters",
     {.sharding = 1, .type = COST_FP8, .technique.parameters = FORMAT_FP8},
     {.sharding = 1, .technique.parameters = FORMAT_FP8},
     "need products in fp8"},
    {"fp8-host",
     {.sharding = 1,
      .type = COST_FP8,
      .technique.parameters = FORMAT_FP8,
      .technique.offload = 50,
      .technique.recipe = RECIPE_DELAYED},
     {.sharding = 1,
      .type = COST_FP8,
      .technique.parameters = FORMAT_FP8,
      .technique.offload = 50,
      .technique.recipe = RECIPE_TENSORWISE},
     "give recipe=delayed"},
    {"modules",
     {MOE, .recompute = RECOMPUTE_SELECTIVE, .technique.modules = 1 << MODULE_EXPERT_ACTIVATION},
     {.recompute = RECOMPUTE_SELECTIVE, .technique.modules = 1 << MODULE_EXPERT_ACTIVATION},
     "'llama-3-8b' has no moe_act to recompute"},
    {"host",
     {.technique.offload_activations = 31},
     {.technique.offload_activations = 32},
     "at most 31 of 32 blocks"},
    {"host",
     {.technique.offload_activations = 2},
     {.pipeline = 2, .technique.offload_activations = 2},
     "without a pipeline only"},
    {"host",
     {.technique.offload_activations = 2},
     {.recompute = RECOMPUTE_FULL, .technique.offload_activations = 2},
     "or are recomputed, not both"},
};

static int or_one(int64_t value)
{
    return value ? (int)value : 1;
}

static struct job made(const struct shape *shape)
{
    struct job job = job_example();
    job.model = architecture_find(shape->model ? shape->model : "llama-3-8b");
    if (shape->type)
        job.type = shape->type;
    job.software = software_find(shape->software ? shape->software : "megatron-core");
    assert_true(job.model && job.software);
    job.degrees.tensor = or_one(shape->tensor), job.degrees.pipeline = or_one(shape->pipeline),
    job.degrees.data = shape->data ? shape->data : 8;
    job.degrees.context = or_one(shape->context), job.degrees.expert = or_one(shape->expert);
    job.chunks = or_one(shape->chunks), job.microbatch = or_one(shape->microbatch);
    job.sharding = shape->sharding, job.recompute = shape->recompute, job.technique = shape->technique;
    if (job.software->fully_sharded && shape->sharding == 0)
        job.sharding = 3;
    job.batch = shape->batch ? shape->batch : 64;
    job.devices_per_node = shape->node ? shape->node : 8;
    job.sequence = shape->sequence ? shape->sequence : 4096;
    if (job.model->positions > 0 && !shape->sequence)
        job.sequence = job.model->positions;
    job.devices = shape->devices
                      ? shape->devices
                      : job.degrees.tensor * job.degrees.pipeline * job.degrees.data * job.degrees.context;
    return job;
}

static bool in_list(const struct job_rule *rule)
{
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        if (strcmp(each[i].id, rule->id) == 0)
            return true;
    return false;
}

/* Is the job found by a search that may take nothing else? */
static bool is_found(const struct job *job)
{
    struct job_question question = {.job = *job, .headroom = -1e6};
    struct job_search search;
    struct error err;
    for (int d = 0; d < JOB_DIMENSIONS; d++) {
        int64_t value = job_dimension_value(job, (enum job_dimension)d);
        bool usual = d >= JOB_TECHNIQUE && value == 0 && d != JOB_TECHNIQUE + TECHNIQUE_EXPERT_TENSOR;
        question.ranges[d] = (struct job_range){value, value, !usual};
    }
    question.job.technique = (struct technique){0};
    if (!job_search(&search, &question, &(struct job_search_options){.top = 1}, &err)) {
        if (err.kind != ERROR_INFEASIBLE)
            fail_msg("%s", err.text);
        return false;
    }
    if (!job_check(&search.plans[0].job, &err))
        fail_msg("the plan found is refused: %s", err.text);
    job_search_release(&search);
    return true;
}

/* Each rule of the table, in a whole job and in a search: what is just inside is taken, what is just outside refused with the
 * rule's words. */
static void each_rule_has_an_inside_and_an_outside(void **state)
{
    (void)state;
    struct error err;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        struct job inside = made(&each[i].inside), outside = made(&each[i].outside);
        const struct job_rule *rule = job_rules;
        while (strcmp(rule->id, each[i].id) != 0)
            rule++;
        if (!job_check(&inside, &err))
            fail_msg("%s: inside: %s", each[i].id, err.text);
        if (!is_found(&inside))
            fail_msg("%s: what is inside is not found", each[i].id);
        assert_true(rule->keeps(&inside));
        if (rule->keeps(&outside) || job_check(&outside, &err))
            fail_msg("%s: taken outside", each[i].id);
        if (outside.degrees.tensor * outside.degrees.pipeline * outside.degrees.data *
                    outside.degrees.context ==
                outside.devices &&
            is_found(&outside))
            fail_msg("%s: what is outside is found", each[i].id);
        job_rule_refuse(&outside, rule, &err);
        if (!strstr(err.text, each[i].words))
            fail_msg("%s: '%s' is not in '%s'", each[i].id, each[i].words, err.text);
        assert_int_equal(!job_check_degrees(&outside, &err),
                         rule->reach == RULE_ALL || job_rule_broken(&outside, RULE_ALL));
    }
    for (int r = 0; r < job_rule_count; r++)
        if (!in_list(&job_rules[r]) && job_rules[r].reach != RULE_TRIED)
            fail_msg("rule '%s' is not tested", job_rules[r].id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_what_fits),
        cmocka_unit_test(refuses_degrees_that_do_not_multiply),
        cmocka_unit_test(refuses_what_does_not_divide),
        cmocka_unit_test(refuses_more_stages_than_blocks),
        cmocka_unit_test(embedding_and_head_may_be_chunks),
        cmocka_unit_test(refuses_experts_of_a_dense_model),
        cmocka_unit_test(degrees_alone_say_nothing_of_the_batch),
        cmocka_unit_test(refuses_more_tokens_than_positions),
        cmocka_unit_test(each_rule_has_an_inside_and_an_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
