#include "devices/tables.h"
#include "plan/split/job.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void near(double a, double b, double share)
{
    if (fabs(a / b - 1.0) > share)
        fail_msg("%.6g is not %.6g within %g", a, b, share);
}

/* bf16 parameters, fp32 gradients, and twelve bytes of optimizer states over the data parallel ranks. */
static void states_are_six_and_twelve_bytes(void **state)
{
    (void)state;
    struct job job = job_example();
    double parameters = architecture_parameters(job.model);
    struct job_memory memory = job_memory(&job);
    near(memory.parameters, 2.0 * parameters, 0.001);
    near(memory.gradients, 4.0 * parameters, 0.001);
    near(memory.optimizer, 12.0 * parameters / 8.0, 0.001);
}

static void sharding_takes_shares(void **state)
{
    (void)state;
    struct job job = job_example();
    double before = INFINITY;
    for (job.sharding = 0; job.sharding <= 3; job.sharding++) {
        struct job_memory memory = job_memory(&job);
        double held = memory.parameters + memory.gradients + memory.optimizer;
        assert_true(held < before);
        before = held;
    }
}

/* sbh (34 + 5as/h) bytes per block (arXiv:2205.05198, equation 1): a GPT in 16 bits, dropout, unfused attention. */
static void activations_are_those_of_the_paper(void **state)
{
    (void)state;
    struct job job = job_example();
    job.model = architecture_find("megatron-18b");
    job.software = software_find("megatron-2021");
    job.sequence = 2048;
    job_spread(&job, 8);
    double sbh = 2048.0 * (double)job.model->hidden;
    double expected = sbh * (34.0 + 5.0 * (double)job.model->heads * 2048.0 / (double)job.model->hidden);
    struct job_memory memory = job_memory(&job);
    near(memory.activations, expected * job.model->layers, 0.01);
}

/* The terms of --explain-memory are those that are added up, whatever the job. */
static void terms_add_up(void **state)
{
    (void)state;
    int tried = 0;
    for (int i = 0; i < software_count(true); i++)
        for (int pipeline = 1; pipeline <= 4; pipeline *= 4)
            for (int variant = 0; variant < 64; variant++) {
                struct job job = job_example();
                job.software = software_at(i);
                job.degrees.pipeline = pipeline;
                job.degrees.data = job.devices / pipeline;
                job.microbatch = variant & 1 ? 2 : 1;
                job.batch = (variant & 2 ? 8 : 1) * job.degrees.data * job.microbatch;
                job.sharding = variant >> 2 & 3;
                job.technique.rank = variant & 16 ? 8 : 0;
                job.technique.offload = variant & 32 ? 50 : 0;
                job.technique.offload_activations = variant & 32 ? 4 : 0;
                job.technique.step = variant & 32 && variant & 1 ? SWITCH_ON : SWITCH_USUAL;
                job.recompute = variant & 32 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
                struct job_memory memory = job_memory(&job);
                struct job_memory_terms terms;
                double sum = 0.0;
                job_memory_explain(&job, &terms);
                for (int k = 0; k < terms.count; k++)
                    sum += strcmp(terms.items[k].part, JOB_MEMORY_BESIDE) != 0 ? terms.items[k].bytes : 0.0;
                assert_in_range(terms.count, 4, JOB_MEMORY_TERMS - 1);
                near(sum, memory.total, 1e-12);
                tried++;
            }
    assert_true(tried > 1000);
}

/* nanotron's stages are filled up to their share of all matrices, the head's 2.45 blocks among them: the first has more,
 * the last none. A block keeps two inputs whole and fifteen rows in parts, gates' among them. */
static void stages_weigh_the_head(void **state)
{
    (void)state;
    struct job job = job_example();
    struct architecture model = *architecture_find("llama-2-7b");
    model.layers = 24, model.hidden = 2048, model.ffn = 4096, model.vocabulary = 50257;
    model.heads = model.kv_heads = 32, model.head_width = 64;
    job.model = &model;
    job.software = software_find("nanotron");
    job.sequence = 4096;
    job.degrees = (struct degrees){.data = 1, .tensor = 1, .pipeline = 8, .context = 1, .expert = 1};
    static const int blocks[] = {4, 3, 3, 4, 3, 3, 4, 0};
    for (int i = 0; i < 8; i++)
        assert_int_equal(job_stage_blocks(&job, i), blocks[i]);
    job.degrees = (struct degrees){.data = 1, .tensor = 4, .pipeline = 1, .context = 1, .expert = 1};
    double row = 2.0 * 4096.0 * 2048.0;
    near(job_memory(&job).activations, 24.0 * (2.0 + 15.0 / 4.0) * row, 1e-6);
}

/* Kernels of one operation each keep the input of both norms in fp32, their results before the weights, and the activation
 * of the gate; PyTorch's tensor parallel ranks the gathered inputs of two matrices. */
static void software_keeps_what_its_kernels_need(void **state)
{
    (void)state;
    struct job job = job_example();
    job.recompute = RECOMPUTE_NONE;
    double tokens = (double)(job.microbatch * job.sequence), hidden = (double)job.model->hidden;
    double blocks = job.model->layers, kept[2];
    static const char *const names[] = {"hf-trainer", "hf-trainer-fused"};
    for (int i = 0; i < 2; i++) {
        job.software = software_find(names[i]);
        kept[i] = job_memory(&job).activations;
    }
    near(kept[0] - kept[1], blocks * tokens * (2.0 * 4.0 * hidden + 2.0 * (double)job.model->ffn), 0.001);

    job.degrees.tensor = 2, job.degrees.data /= 2;
    job.software = software_find("torchtitan");
    struct software again = *job.software;
    again.keeps_inputs = false;
    kept[0] = job_memory(&job).activations;
    job.software = &again;
    kept[1] = job_memory(&job).activations;
    near(kept[0] - kept[1], blocks * tokens * 2.0 * 2.0 * hidden / 2.0, 0.001);
}

/* The Trainer frees gradients after each step: with one micro-batch the peak is in the last block's backward pass, without any
 * of them, or in the step, without activations; with several, gradients of earlier ones are there. */
static void gradients_that_are_freed_come_late(void **state)
{
    (void)state;
    struct job job = job_example();
    job.software = software_find("hf-trainer");
    job.devices = job.degrees.data = 1, job.degrees.tensor = job.degrees.pipeline = 1;
    job.recompute = RECOMPUTE_FULL;
    job.microbatch = 8, job.batch = 16;
    struct job_memory several = job_memory(&job);
    job.batch = 8;
    struct job_memory one = job_memory(&job);
    near(several.total - one.total, several.gradients, 1e-9);
    assert_true(one.gradients == 0.0 && one.activations > 0.0);
    job.microbatch = job.batch = 1, job.sequence = 512;
    struct job_memory small = job_memory(&job);
    near(small.working, software_find("hf-trainer")->step_bytes * small.parameters / 2.0, 1e-9);
    assert_true(small.gradients > 0.0 && small.activations == 0.0);
}

static void recomputing_keeps_less(void **state)
{
    (void)state;
    struct job job = job_example();
    job.software = software_find("megatron-2021");
    double none = job_memory(&job).activations;
    job.recompute = RECOMPUTE_SELECTIVE;
    double selective = job_memory(&job).activations;
    job.recompute = RECOMPUTE_FULL;
    double full = job_memory(&job).activations;
    assert_true(full < selective && selective < none);
}

static void grows_with_the_microbatch(void **state)
{
    (void)state;
    struct job job = job_example();
    double before = 0.0;
    for (job.microbatch = 1; job.microbatch <= 8; job.microbatch *= 2) {
        double total = job_memory(&job).total;
        assert_true(total > before);
        before = total;
    }
}

static void parts_add_up(void **state)
{
    (void)state;
    struct job job = job_example();
    job.degrees.pipeline = 4, job.degrees.tensor = 2;
    job_spread(&job, 16);
    struct job_memory m = job_memory(&job);
    near(m.total, m.parameters + m.gradients + m.optimizer + m.activations + m.working + m.runtime, 1e-12);
}

static void formats_set_the_bytes(void **state)
{
    (void)state;
    struct job job = job_example();
    struct job_memory usual = job_memory(&job);
    double step = job_time(&job).optimizer;
    job.technique.gradients = FORMAT_BF16;
    near(job_memory(&job).gradients, usual.gradients / 2.0, 1e-12);
    job.technique.moments = FORMAT_BF16; /* 4 + 2 + 2 bytes of 12 */
    near(job_memory(&job).optimizer, usual.optimizer * 8.0 / 12.0, 1e-12);
    assert_true(job_time(&job).optimizer < step);
    job.technique.parameters = FORMAT_FP8;
    near(job_memory(&job).parameters, usual.parameters / 2.0, 1e-12);
}

/* The host holds its share of the states, and its step takes longer than the device's. */
static void offload_trades_memory_for_time(void **state)
{
    (void)state;
    struct job job = job_example();
    struct job_memory usual = job_memory(&job);
    double before = job_time(&job).optimizer;
    for (job.technique.offload = 25; job.technique.offload <= 100; job.technique.offload += 25) {
        double seconds = job_time(&job).optimizer;
        near(job_memory(&job).optimizer + 1.0, usual.optimizer * (1.0 - job.technique.offload / 100.0) + 1.0,
             1e-9);
        assert_true(seconds > before);
        before = seconds;
    }
    job.technique.offload = 100;
    job.technique.offload_to = PLACE_NVME;
    assert_true(job_time(&job).optimizer >= before); /* a slow step hides drives */
    job.technique = (struct technique){.offload_activations = 8};
    near(job_memory(&job).activations, usual.activations * 24.0 / 32.0, 1e-9);
}

/* Copies of shards hold more, and gather from nearer. */
static void copies_of_shards_hold_more(void **state)
{
    (void)state;
    struct job job = job_example();
    job.software = software_find("torchtitan");
    job.sharding = 3;
    job_spread(&job, 2048);
    struct job_memory one = job_memory(&job);
    struct job_layers layers = job_layers_of(&job);
    double far = job_exchange_of(&job, &layers).shards;
    job.technique.replicate = 256;
    near(job_memory(&job).optimizer, 256.0 * one.optimizer, 1e-9);
    assert_true(job_exchange_of(&job, &layers).shards < far);
    job.technique = (struct technique){.reshard = SWITCH_OFF};
    assert_true(job_memory(&job).working > one.working);
    assert_true(job_exchange_of(&job, &layers).shards < far);
}

/* A module frees what it makes and runs its kernels again. */
static void modules_free_what_they_make(void **state)
{
    (void)state;
    struct job job = job_example();
    job.model = architecture_find("deepseek-v3");
    job.degrees.expert = 8;
    double kept = job_memory(&job).activations, seconds = job_time(&job).compute;
    job.recompute = RECOMPUTE_SELECTIVE;
    for (int m = 0; m < RECOMPUTE_MODULES; m++) {
        job.technique.modules = 1 << m;
        assert_true(job_time(&job).compute > seconds);
        if (m == MODULE_CORE_ATTENTION) /* its scores are never in memory */
            assert_true(job_memory(&job).activations == kept);
        else
            assert_true(job_memory(&job).activations < kept);
    }
    /* both norms' results of each token */
    job.technique.modules = 1 << MODULE_NORMS;
    double rows = 2.0 * 2.0 * (double)job.sequence * (double)job.model->hidden * job.model->layers;
    near(kept - job_memory(&job).activations, rows, 1e-9);
    job.technique.modules = (1 << RECOMPUTE_MODULES) - 1;
    double most = job_memory(&job).activations;
    job.technique.modules = 0;
    job.recompute = RECOMPUTE_FULL;
    assert_true(job_memory(&job).activations < most);
}

static void some_blocks_lie_between_none_and_all(void **state)
{
    (void)state;
    struct job job = job_example();
    double before = job_memory(&job).activations, seconds = job_time(&job).compute;
    job.recompute = RECOMPUTE_FULL;
    job.technique.method = METHOD_BLOCK;
    for (job.technique.layers = 1; job.technique.layers <= job.model->layers; job.technique.layers++) {
        double kept = job_memory(&job).activations, taken = job_time(&job).compute;
        assert_true(kept < before && taken > seconds);
        before = kept, seconds = taken;
    }
    job.technique = (struct technique){0};
    near(job_memory(&job).activations, before, 1e-12);
    near(job_time(&job).compute, seconds, 1e-12);
    job.technique = (struct technique){.method = METHOD_EVERY, .layers = 2};
    double half = job_memory(&job).activations;
    job.technique = (struct technique){.method = METHOD_BLOCK, .layers = job.model->layers / 2};
    near(job_memory(&job).activations, half, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_six_and_twelve_bytes),
        cmocka_unit_test(sharding_takes_shares),
        cmocka_unit_test(activations_are_those_of_the_paper),
        cmocka_unit_test(stages_weigh_the_head),
        cmocka_unit_test(terms_add_up),
        cmocka_unit_test(software_keeps_what_its_kernels_need),
        cmocka_unit_test(gradients_that_are_freed_come_late),
        cmocka_unit_test(recomputing_keeps_less),
        cmocka_unit_test(grows_with_the_microbatch),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(formats_set_the_bytes),
        cmocka_unit_test(offload_trades_memory_for_time),
        cmocka_unit_test(copies_of_shards_hold_more),
        cmocka_unit_test(modules_free_what_they_make),
        cmocka_unit_test(some_blocks_lie_between_none_and_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
