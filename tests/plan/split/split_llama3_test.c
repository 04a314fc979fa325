/* Llama 3 405B as it was trained (arXiv:2407.21783, table 4): tensor 8, pipeline 16, bf16, 16 M tokens an iteration on H100;
 * 430, 400 and 380 TFLOP/s of a device, without recomputation of whole blocks. A token's operations are six for each parameter
 * and those of causal attention. And alternatives that reports have measured side by side. */
#include "devices/tables.h"
#include "plan/split/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct line {
    int devices, context, data;
    int64_t sequence, batch;
    double teraflops; /* of a device */
};

static const struct line lines[] = {
    {8192, 1, 64, 8192, 2048, 430.0},
    {16384, 1, 128, 8192, 2048, 400.0},
    {16384, 16, 8, 131072, 128, 380.0},
};

#define LINES (sizeof lines / sizeof *lines)

static struct job job_on(const char *device_name, const char *model, const char *software, int devices)
{
    const struct tables tables = {0};
    const struct cost_device *device = tables_device(&tables, device_name);
    return (struct job){
        .model = architecture_find(model),
        .device = device,
        .calibration = tables_calibration(&tables, device),
        .software = software_find(software),
        .inside = tables_link(&tables, device->link),
        .across = tables_link(&tables, usual_node(device).across),
        .devices = devices,
        .devices_per_node = 8,
        .degrees.expert = 1,
        .degrees.context = 1,
        .chunks = 1,
        .degrees.pipeline = 1,
        .microbatch = 1,
        .sharding = 1,
        .type = COST_BF16,
    };
}

static double published_seconds(const struct line *line)
{
    const struct architecture *model = architecture_find("llama-3.1-405b");
    double attention = 6.0 * model->layers * (double)model->hidden * (double)line->sequence;
    double flops = 6.0 * architecture_parameters(model) + attention;
    return flops * (double)line->sequence * (double)line->batch / line->devices / (1e12 * line->teraflops);
}

static void fix(struct job_question *question, int dimension, int64_t value)
{
    question->ranges[dimension] = (struct job_range){value, value, true};
}

/* What the table leaves open, chunks and the recomputation of parts, is chosen. */
static struct job_choice plan_of(const struct line *line, int overlap)
{
    struct job_question question = {.job = job_on("h100", "llama-3.1-405b", "megatron-core", line->devices)};
    struct job_search search;
    struct error err;
    question.job.batch = line->batch;
    question.job.sequence = line->sequence;
    fix(&question, JOB_TENSOR, 8);
    fix(&question, JOB_CONTEXT, line->context);
    fix(&question, JOB_PIPELINE, 16);
    fix(&question, JOB_MICROBATCH, 1);
    if (overlap != SWITCH_USUAL)
        fix(&question, JOB_TECHNIQUE + TECHNIQUE_TENSOR_OVERLAP, overlap);
    if (!job_search(&search, &question, &(struct job_search_options){.top = 1}, &err))
        fail_msg("%s", err.text);
    struct job_choice best = search.plans[0];
    job_search_release(&search);
    return best;
}

static void the_published_plans_take_the_published_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < LINES; i++) {
        struct job_choice plan = plan_of(&lines[i], SWITCH_USUAL);
        double published = published_seconds(&lines[i]);
        print_message("# %d devices, %d tokens: %.2f s, published %.2f s (%+.1f %%), %.1f GiB, %s\n",
                      lines[i].devices, (int)lines[i].sequence, plan.time.seconds, published,
                      100.0 * (plan.time.seconds / published - 1.0), plan.memory.total / 0x1p30,
                      recompute_name(plan.job.recompute));
        assert_true(fabs(plan.time.seconds / published - 1.0) <= 0.08);
        assert_int_equal(plan.job.degrees.data, lines[i].data);
        assert_true(plan.job.recompute != RECOMPUTE_FULL);
        assert_true(plan.memory.total <= (double)plan.job.device->memory);
    }
}

/* The first line has the most operations per second and device, the last one the fewest. */
static void the_published_plans_are_ranked_as_published(void **state)
{
    (void)state;
    double before = INFINITY;
    for (size_t i = 0; i < LINES; i++) {
        struct job_choice plan = plan_of(&lines[i], SWITCH_USUAL);
        double rate = lines[i].teraflops * published_seconds(&lines[i]) / plan.time.seconds;
        assert_true(rate < before);
        before = rate;
    }
}

/* Megatron-LM exchanges beside products only with --tp-comm-overlap. */
static void overlap_is_not_assumed(void **state)
{
    (void)state;
    struct job_choice usual = plan_of(&lines[1], SWITCH_USUAL), off = plan_of(&lines[1], SWITCH_OFF),
                      on = plan_of(&lines[1], SWITCH_ON);
    assert_true(usual.time.seconds == off.time.seconds);
    assert_true(on.time.seconds < off.time.seconds);
    assert_true(fabs(on.time.tensor / off.time.tensor - on.job.software->tensor_overlapped) < 1e-9);
}

/* ---- alternatives side by side ---- */

/* pytorch/torchtitan, benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md: seconds of an iteration with plain and with
 * overlapped tensor parallelism, tensor 8, on H100 of 500 W. */
static void async_tensor_parallelism_gains_what_was_measured(void **state)
{
    static const struct {
        const char *model;
        int devices;
        int64_t microbatch;
        enum recompute recompute;
        enum cost_type type;
        double plain, overlapped;
    } measured[] = {
        {"llama-3-70b", 256, 16, RECOMPUTE_FULL, COST_BF16, 27.430, 25.113},
        {"llama-3-70b", 256, 16, RECOMPUTE_FULL, COST_FP8, 20.232, 17.385},
        {"llama-3-8b", 64, 12, RECOMPUTE_SELECTIVE, COST_BF16, 2.807, 2.555},
        {"llama-3-8b", 64, 12, RECOMPUTE_SELECTIVE, COST_FP8, 2.420, 2.206},
    };
    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        struct job job = job_on("h100-96gb", measured[i].model, "torchtitan", measured[i].devices);
        job.degrees.tensor = 8;
        job.degrees.data = job.devices / 8;
        job.sequence = 8192;
        job.microbatch = measured[i].microbatch;
        job.batch = job.degrees.data * job.microbatch;
        job.sharding = 3;
        job.recompute = measured[i].recompute;
        job.type = measured[i].type;
        double plain = job_time(&job).seconds;
        job.technique.tensor_overlap = SWITCH_ON;
        double gain = plain / job_time(&job).seconds, published = measured[i].plain / measured[i].overlapped;
        print_message("# %s: %.3f times as fast, published %.3f\n", measured[i].model, gain, published);
        assert_true(fabs(gain / published - 1.0) <= 0.06);
    }
}

/* PyTorch gathers and scatters along the sequence, its first dimension but one: what tensor parallel ranks exchange is copied, in 8 bits
 * where one factor for a tensor lets it be gathered so. */
static void torchtitan_copies_what_its_ranks_exchange(void **state)
{
    static const struct {
        const char *software;
        int tensor;
        enum cost_type type;
        int recipe;
        double forward, backward, exchanged; /* in bytes of the activations between blocks */
    } cases[] = {
        {"torchtitan", 8, COST_BF16, RECIPE_USUAL, 8.0, 11.0, 1.0},
        {"torchtitan", 8, COST_FP8, RECIPE_USUAL, 6.0, 9.0, 0.75},
        {"torchtitan", 8, COST_FP8, RECIPE_ROWWISE, 8.0, 11.0, 1.0},
        {"torchtitan", 1, COST_BF16, RECIPE_USUAL, 0.0, 0.0, 0.0},
        {"megatron-core", 8, COST_FP8, RECIPE_USUAL, 0.0, 0.0, 1.0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = job_on("h100", "llama-3-8b", cases[i].software, 8);
        struct layer_work work;
        double moved[2] = {0.0, 0.0};
        job.degrees.tensor = cases[i].tensor;
        job.type = cases[i].type;
        job.technique.recipe = cases[i].recipe;
        job.microbatch = 2;
        struct layer_split split = job_split(&job);
        transformer_block(&work, job.model, 3, &split);
        for (int k = 0; k < work.count; k++)
            if (strcmp(work.kernels[k].name, "copies of exchanges") == 0)
                moved[k >= work.forward_count] += work.kernels[k].bytes / work.output_bytes;
        assert_true(fabs(moved[0] - cases[i].forward) < 1e-12 && fabs(moved[1] - cases[i].backward) < 1e-12);
        assert_true(fabs(work.tensor_bytes / work.output_bytes - cases[i].exchanged) < 1e-12);
    }
}

/* benchmarks/llama3_h100_202412_torchtitan.md, table 5: Llama 3.1 405B on 512 H100, tensor 8, pipeline 8, float8: 100 tokens/s of a
 * device with 1F1B, 128 with interleaved 1F1B. A local batch of 32 sequences is split into as many micro-batches as stages. */
static void schedules_of_the_405b_gain_what_was_measured(void **state)
{
    (void)state;
    struct job job = job_on("h100-96gb", "llama-3.1-405b", "torchtitan", 512);
    job.degrees.tensor = job.degrees.pipeline = job.degrees.data = 8;
    job.sequence = 8192;
    job.batch = 256;
    job.microbatch = 4;
    job.sharding = 3;
    job.recompute = RECOMPUTE_FULL;
    job.type = COST_FP8;
    job.technique.tensor_overlap = SWITCH_ON;
    double plain = job_time(&job).seconds;
    job.chunks = 2;
    double gain = plain / job_time(&job).seconds;
    print_message("# interleaved 1F1B is %.3f times as fast, published 1.28\n", gain);
    assert_true(fabs(gain / 1.28 - 1.0) <= 0.08);
    /* gathered once for all micro-batches, not for each */
    double kept = job_time(&job).data;
    job.technique.reshard = SWITCH_ON;
    assert_true(job_time(&job).data > 4.0 * kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_plans_take_the_published_times),
        cmocka_unit_test(the_published_plans_are_ranked_as_published),
        cmocka_unit_test(overlap_is_not_assumed),
        cmocka_unit_test(async_tensor_parallelism_gains_what_was_measured),
        cmocka_unit_test(torchtitan_copies_what_its_ranks_exchange),
        cmocka_unit_test(schedules_of_the_405b_gain_what_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
