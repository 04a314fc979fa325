#include "devices/tables.h"
#include "plan/split/job.h"
#include "support/expect.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void parts_add_up(void **state)
{
    (void)state;
    struct job job = job_example();
    job.degrees.tensor = 2, job.degrees.pipeline = 4;
    job_spread(&job, 32);
    struct job_time time = job_time(&job);
    near(time.seconds,
         time.compute + time.bubble + time.tensor + time.send + time.data + time.optimizer + time.other);
    assert_true(time.bubble > 0.0 && time.tensor > 0.0 && time.send > 0.0 && time.data > 0.0);
}

/* Six operations per parameter and token, and attention (Narayanan et al. 2021, appendix). */
static void flops_are_those_of_the_model(void **state)
{
    (void)state;
    struct job job = job_example();
    double tokens = (double)(job.batch / job.degrees.data * job.sequence);
    double matrices = architecture_parameters(job.model) - architecture_embedding_parameters(job.model);
    double attention = 7.0 * 2.0 * 0.5 * (double)job.sequence * (double)job.model->hidden * job.model->layers;
    double expected = tokens * (6.0 * matrices + attention);
    double found = job_time(&job).flops;
    if (fabs(found / expected - 1.0) > 0.001)
        fail_msg("%g is not %g", found, expected);
}

static void grows_with_batch_sequence_and_width(void **state)
{
    (void)state;
    struct job job = job_example();
    double before = 0.0;
    for (int64_t sequence = 512; sequence <= 32768; sequence *= 2) {
        job.sequence = sequence;
        double seconds = job_time(&job).seconds;
        assert_true(seconds > before);
        before = seconds;
    }
    job = job_example();
    before = 0.0;
    for (int64_t batch = 8; batch <= 1024; batch *= 2) {
        job.batch = batch;
        double seconds = job_time(&job).seconds;
        assert_true(seconds > before);
        before = seconds;
    }
    job = job_example();
    struct architecture model = *job.model;
    job.model = &model;
    before = 0.0;
    for (int64_t heads = 8; heads <= 128; heads *= 2) {
        model.heads = heads, model.kv_heads = heads;
        model.hidden = heads * model.head_width, model.ffn = 4 * model.hidden;
        double seconds = job_time(&job).seconds;
        assert_true(seconds > before);
        before = seconds;
    }
}

/* (p - 1) / m of the time of all micro-batches, divided by the chunks (arXiv:2104.04473, section 2.2). */
static void bubble_is_that_of_1f1b(void **state)
{
    (void)state;
    struct job job = job_example();
    struct architecture model = *job.model;
    job.model = &model;
    model.vocabulary = 8; /* so that the head does not matter */
    job.degrees.pipeline = 4;
    job_spread(&job, 4);
    struct job_time plain = job_time(&job);
    double expected = (plain.compute + plain.send) * 3.0 / 64.0;
    assert_true(fabs(plain.bubble / expected - 1.0) < 0.01);
    job.chunks = 4;
    struct job_time interleaved = job_time(&job);
    assert_true(interleaved.bubble < plain.bubble / 3.0);
}

static void recomputing_costs_a_forward_pass(void **state)
{
    (void)state;
    struct job job = job_example();
    double none = job_time(&job).compute;
    job.recompute = RECOMPUTE_FULL;
    double full = job_time(&job).compute;
    assert_true(full > 1.2 * none && full < 1.5 * none);
}

static void narrow_numbers_are_faster(void **state)
{
    (void)state;
    struct job job = job_example();
    double bf16 = job_time(&job).seconds;
    job.type = COST_FP8;
    double fp8 = job_time(&job).seconds;
    assert_true(fp8 < bf16 && fp8 > bf16 / 2.0);
}

static void devices_rank_as_they_should(void **state)
{
    (void)state;
    static const char *const slower_first[] = {"v100-16gb", "a100-40gb", "a100-80gb", "h100-pcie",
                                               "h100",      "h200",      "b200"};
    struct job job = job_example();
    double before = INFINITY;
    for (size_t i = 0; i < sizeof slower_first / sizeof *slower_first; i++) {
        job.device = tables_device(NULL, slower_first[i]);
        assert_non_null(job.device);
        job.calibration = tables_calibration(NULL, job.device);
        job.type = job.device->peak[COST_BF16] > 0.0 ? COST_BF16 : COST_FP16;
        double seconds = job_time(&job).compute;
        if (seconds > before)
            fail_msg("%s: %g s, slower than the one before: %g s", slower_first[i], seconds, before);
        before = seconds;
    }
}

/* A host that launches a block's kernels in 10 ms keeps a device waiting that runs them faster, and no other. */
static void small_batches_wait_for_the_host(void **state)
{
    (void)state;
    struct job job = job_example();
    struct software quick = *software_find("hf-trainer"), slow = quick;
    double seconds[2][2];
    quick.launch = 0.0, slow.launch = 100e-6, slow.block_launches = 100.0;
    job.microbatch = 1, job.batch = job.degrees.data;
    job.recompute = RECOMPUTE_NONE;
    for (int large = 0; large < 2; large++) {
        job.sequence = large ? 32768 : 128;
        job.software = &quick;
        seconds[large][0] = job_time(&job).compute;
        job.software = &slow;
        seconds[large][1] = job_time(&job).compute;
    }
    assert_true(seconds[0][0] < 10e-3 * job.model->layers);
    assert_true(seconds[0][1] >= 10e-3 * job.model->layers && seconds[0][1] < 10.5e-3 * job.model->layers);
    assert_true(seconds[1][0] == seconds[1][1]);
}

/* Packed documents without a fused kernel wait for the host one after another, longer where ranks exchange heads, and a
 * graph waits for none. */
static void documents_wait_for_the_host(void **state)
{
    (void)state;
    struct job job = job_example();
    job.software = software_find("megatron-core");
    job.microbatch = 1, job.batch = job.degrees.data, job.sequence = 8192, job.document = 64;
    double fused = job_time(&job).compute;
    job.technique.rope = SWITCH_OFF;
    double few = job_time(&job).compute;
    double each = job.software->launch * job.software->document_launches * job.model->layers;
    assert_true(few > fused);
    job.document = 32; /* as many again */
    double many = job_time(&job).compute;
    assert_true(fabs(many - few - 128.0 * each) < 0.02 * (many - few));
    job.technique.graphs = GRAPHS_ITERATION;
    assert_true(job_time(&job).compute <= fused);
}

/* InternLM-7B on 64 to 1024 A100: with all ranks an iteration takes 0.3 to 2.7 s longer than with groups of eight that share the optimizer's
 * states (InternEvo, doc/en/train_performance.md, 2024). */
static void ranks_that_share_states_broadcast_one_after_another(void **state)
{
    (void)state;
    static const double longer[] = {0.29, 0.42, 0.93, 1.49, 2.69};
    struct job job = job_example();
    job.software = software_find("internevo");
    job.degrees.tensor = job.degrees.pipeline = 1;
    job.sharding = 1;
    for (int i = 0; i < 5; i++) {
        job_spread(&job, 64 << i);
        job.technique.replicate = 0;
        double all = job_time(&job).optimizer;
        job.technique.replicate = job.degrees.data / 8;
        double found = all - job_time(&job).optimizer;
        assert_true(found > 0.4 * longer[i] && found < 1.1 * longer[i]);
        job.sharding = 3; /* gathers are no broadcasts */
        assert_true(job_time(&job).optimizer < all);
        job.sharding = 1;
    }
}

static struct job experts_of_automodel(int pipeline, int expert, int devices)
{
    struct job job = job_example();
    job.model = architecture_find("qwen3-30b-a3b");
    job.software = software_find("automodel");
    job.degrees.pipeline = pipeline;
    job.degrees.expert = expert;
    job.sharding = 3;
    job.batch = 512;
    job_spread(&job, devices);
    return job;
}

/* Experts are gathered from the devices that hold the same ones: there are none where each device has its own. */
static void experts_of_one_device_are_not_gathered(void **state)
{
    (void)state;
    struct job job = experts_of_automodel(1, 8, 8);
    struct job_layers layers = job_layers_of(&job);
    struct job_exchange own = job_exchange_of(&job, &layers);
    assert_true(own.expert_shards == 0.0 && own.shards > 0.0);
    job = experts_of_automodel(1, 8, 64);
    struct job_exchange shared = job_exchange_of(&job, &layers);
    assert_true(shared.expert_shards > 0.0);
    job = experts_of_automodel(1, 1, 64);
    layers = job_layers_of(&job);
    struct job_exchange all = job_exchange_of(&job, &layers);
    assert_true(all.expert_shards == 0.0 &&
                all.shards > shared.shards); /* all parameters, from all devices */
}

/* AutoModel's models of experts gather once in an iteration, other ZeRO-3 in every micro-batch. */
static void shards_may_stay_gathered(void **state)
{
    (void)state;
    struct job job = experts_of_automodel(1, 8, 8);
    double kept = job_time(&job).data, kept_memory = job_memory(&job).total;
    job.technique.reshard = SWITCH_ON;
    assert_true(job_time(&job).data > 10.0 * kept);
    assert_true(job_memory(&job).total < kept_memory);
}

/* Each step of accumulation fills the pipeline; devices that take steps together wait for backward passes beside forward ones. */
static void pipelines_fill_for_each_round(void **state)
{
    (void)state;
    struct software apart = *software_find("automodel");
    apart.steps_together = false;
    struct job job = experts_of_automodel(4, 8, 32);
    job.chunks = 3;
    job.recompute = RECOMPUTE_FULL;
    double together = job_time(&job).bubble;
    job.software = &apart;
    double once = job_time(&job).bubble;
    job.rounds = 4;
    assert_true(fabs(job_time(&job).bubble / once - 4.0) < 1e-9);
    assert_true(together > 1.5 * once);
}

/* A ring sends each number of the adapters' gradients almost twice, and nothing of the frozen weights. */
static void adapters_cost_as_their_rank(void **state)
{
    (void)state;
    struct job job = job_example();
    job.software = software_find("deepspeed");
    job.sharding = 0, job.batch = 64;
    job.across = tables_link(NULL, "ethernet-10g");
    assert_non_null(job.across);
    job.devices_per_node = 1;
    job_spread(&job, 64);
    double memory = 0.0, seconds = 0.0;
    for (job.technique.rank = 8; job.technique.rank <= 512; job.technique.rank *= 8) {
        struct job_time time = job_time(&job);
        struct job_layers layers = job_layers_of(&job);
        struct job_exchange exchange = job_exchange_of(&job, &layers);
        const struct architecture *model = job.model;
        double narrow = (double)(model->kv_heads * model->head_width), wide = (double)model->hidden;
        double attention = 3.0 * wide + wide + 2.0 * narrow + 2.0 * wide;
        double mlp = (model->gated ? 3.0 : 2.0) * (wide + (double)model->ffn);
        near(exchange.trained, (attention + mlp) * job.technique.rank * model->layers);
        assert_true(time.seconds > seconds && job_memory(&job).total > memory);
        double moved = 2.0 * 63.0 / 64.0 * 4.0 * exchange.trained / job.across->bandwidth;
        if (job.technique.rank == 512) /* far more than the kernels hide */
            assert_true(time.data > moved - time.compute && time.data < 2.0 * moved);
        seconds = time.seconds, memory = job_memory(&job).total;
    }
    job.technique.targets = TARGETS_ATTENTION, job.technique.rank = 512;
    assert_true(job_time(&job).seconds < 0.6 * seconds);

    /* each matrix alone trains its own numbers, and all together those of all */
    const struct architecture *model = job.model;
    double narrow = (double)(model->kv_heads * model->head_width), wide = (double)model->hidden,
           middle = (double)model->ffn, trained = 0.0;
    const double out[] = {wide, narrow, narrow, wide, middle, middle, wide};
    for (int matrix = 0; matrix < 7; matrix++) {
        job.technique.targets = 1 << matrix;
        if (job.technique.targets == TARGET_GATE && !model->gated)
            continue;
        struct job_layers layers = job_layers_of(&job);
        double in = job.technique.targets == TARGET_DOWN ? middle : wide;
        double own = (in + out[matrix]) * job.technique.rank * model->layers;
        near(job_exchange_of(&job, &layers).trained, own);
        assert_true(job_time(&job).seconds < seconds && job_memory(&job).total < memory);
        trained += own;
    }
    job.technique.targets = TARGETS_ALL;
    struct job_layers all = job_layers_of(&job);
    near(job_exchange_of(&job, &all).trained, trained);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_batches_wait_for_the_host),
        cmocka_unit_test(documents_wait_for_the_host),
        cmocka_unit_test(ranks_that_share_states_broadcast_one_after_another),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(flops_are_those_of_the_model),
        cmocka_unit_test(grows_with_batch_sequence_and_width),
        cmocka_unit_test(bubble_is_that_of_1f1b),
        cmocka_unit_test(recomputing_costs_a_forward_pass),
        cmocka_unit_test(narrow_numbers_are_faster),
        cmocka_unit_test(devices_rank_as_they_should),
        cmocka_unit_test(experts_of_one_device_are_not_gathered),
        cmocka_unit_test(shards_may_stay_gathered),
        cmocka_unit_test(pipelines_fill_for_each_round),
        cmocka_unit_test(adapters_cost_as_their_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
