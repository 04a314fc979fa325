/* Each habit of software that a job may leave, and each optimizer, moves time or memory by what its source says. */
#include "devices/tables.h"
#include "plan/split/job.h"
#include "plan/split/plan.h"
#include "support/expect.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct job job_of(const char *model, const char *software, int tensor, int devices)
{
    struct job job = job_example();
    job.model = architecture_find(model);
    job.software = software_find(software);
    assert_non_null(job.model);
    assert_non_null(job.software);
    job.degrees.tensor = tensor;
    job_spread(&job, devices);
    return job;
}

/* Korthikanti et al. 2022 (arXiv:2205.05198), table 2: of 10 s b h a layer, the two masks of dropouts are missing here. */
static void norms_that_are_not_split_keep_their_inputs(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", "megatron-core", 4, 32);
    double split = job_memory(&job).activations, seconds = job_time(&job).seconds;
    job.technique.sequence = SWITCH_OFF;
    double more = 8.0 * (double)job.sequence * 4096.0 * 32.0 * (1.0 - 1.0 / 4.0);
    near(job_memory(&job).activations - split, more);
    assert_true(job_time(&job).seconds > seconds);
    job.degrees.tensor = 1;
    job_spread(&job, 32);
    struct job usual = job;
    usual.technique.sequence = SWITCH_USUAL;
    near(job_memory(&job).activations, job_memory(&usual).activations);
}

/* The same, section 4: scores and their softmax, 2 bytes each, without a dropout's mask. */
static void unfused_attention_keeps_its_scores(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", "megatron-core", 4, 32);
    double fused = job_memory(&job).activations, seconds = job_time(&job).seconds;
    job.technique.attention = SWITCH_OFF;
    double scores = 32.0 / 4.0 * (double)job.sequence * (double)job.sequence;
    near(job_memory(&job).activations - fused, 4.0 * scores * 32.0);
    assert_true(job_time(&job).seconds > 1.05 * seconds);
    job.recompute = RECOMPUTE_SELECTIVE; /* of the attention itself */
    near(job_memory(&job).activations, fused);
}

static void exchanges_without_overlap_are_exposed(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", "megatron-core-2024", 1, 64);
    double usual = job_time(&job).data, shown = job.software->data_shown;
    job.technique.gather_overlap = SWITCH_OFF;
    near(job_time(&job).data / usual, (shown + 1.0) / 2.0 / shown);
    job.technique.data_overlap = SWITCH_OFF, job.technique.gather_overlap = SWITCH_USUAL;
    near(job_time(&job).data / usual, 1.0 / shown);
    job.technique.gather_overlap = SWITCH_ON;
    near(job_time(&job).data / usual, (shown + 1.0) / 2.0 / shown);
    job = job_of("llama-3-8b", "fsdp", 1, 64);
    job.sharding = 3;
    usual = job_time(&job).data;
    job.technique.data_overlap = SWITCH_OFF;
    assert_true(job_time(&job).data > 1.5 * usual);
}

/* Gradients inside a node have a share of the bandwidth of their own; across nodes they share that of all else. */
static void gradients_have_their_own_share(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", "megatron-core", 1, 8);
    struct calibration calibration = *job.calibration;
    job.calibration = &calibration;
    job.degrees.tensor = 2, job.degrees.data = 4;
    struct job_time usual = job_time(&job);
    calibration.gradients *= 0.5;
    struct job_time slower = job_time(&job);
    assert_true(slower.data > 1.9 * usual.data && slower.data < 2.0 * usual.data);
    near(slower.tensor, usual.tensor);
    job = job_of("llama-3-8b", "megatron-core", 1, 64);
    job.degrees.tensor = 8, job.degrees.data = 8;
    double before = job_time(&job).data;
    job.calibration = &calibration;
    near(job_time(&job).data, before);
}

static void gradients_in_fewer_bits_are_faster(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", "deepspeed", 1, 64);
    job.across = tables_link(NULL, "ethernet-10g");
    double usual = job_time(&job).data;
    job.technique.wire = 16;
    near(job_time(&job).data, usual);
    job.technique.wire = 1;
    assert_true(job_time(&job).data < 0.2 * usual);
}

static void experts_one_by_one_are_slower(void **state)
{
    (void)state;
    struct job job = job_of("qwen3-30b-a3b", "megatron-core", 1, 16);
    job.degrees.expert = 8;
    double grouped = job_time(&job).compute;
    job.technique.expert_kernels = SWITCH_OFF;
    assert_true(job_time(&job).compute > 1.2 * grouped);
}

/* Blocks of experts wait for the host unless a graph launches them, less where graphs launch the rest of their layers,
 * and no graph makes kernels faster. */
static void a_graph_leaves_the_host_nothing(void **state)
{
    (void)state;
    struct job job = job_of("gpt-oss-20b", "megatron-core", 1, 8);
    job.degrees.expert = 8, job.sequence = 256;
    double waits = job_time(&job).compute;
    job.technique.graphs = GRAPHS_LAYERS;
    double layers = job_time(&job).compute;
    job.technique.graphs = GRAPHS_ITERATION;
    assert_true(layers < 0.5 * waits && job_time(&job).compute < 0.5 * layers);
    job.sequence = 65536;
    double kernels = job_time(&job).compute;
    job.technique.graphs = GRAPHS_USUAL;
    near(job_time(&job).compute, kernels);
}

/* A router's weights are applied inside of experts since 2025: their outputs, k rows of a token, are not kept. */
static void outputs_of_experts_are_not_kept(void **state)
{
    (void)state;
    double kept[2];
    for (int i = 0; i < 2; i++) {
        struct job job = job_of("qwen3-30b-a3b", i ? "megatron-core-2024" : "megatron-core", 1, 8);
        job.degrees.expert = 8;
        struct layer_split split = job_split(&job);
        struct layer_work work;
        transformer_block(&work, job.model, 5, &split);
        kept[i] = work.activation_bytes;
    }
    near(kept[1] - kept[0], 8.0 * 4096.0 * 2048.0 * 2.0);
}

/* A ring of n ranks carries all n shares; an all-to-all, of k copies of a token, those to other ranks. */
static void gathered_tokens_go_everywhere(void **state)
{
    (void)state;
    struct job job = job_of("qwen3-30b-a3b", "megatron-core", 1, 8);
    job.degrees.expert = 8;
    struct layer_split split = job_split(&job);
    struct layer_work work;
    const double nothing[2] = {0.0, 0.0};
    transformer_block(&work, job.model, 5, &split);
    job.technique.dispatch = DISPATCH_ALLTOALL;
    struct job_moved copies = job_moved_of(&job, &work, nothing);
    job.technique.dispatch = DISPATCH_ALLGATHER;
    struct job_moved all = job_moved_of(&job, &work, nothing);
    near(all.experts.bytes[0], 8.0 * 4096.0 * 2048.0 * 2.0);
    near(copies.experts.bytes[0], 8.0 * 4096.0 * 2048.0 * 2.0); /* 8 experts of each token */
    near(all.experts.dispatch, job_transfer(&job, COLLECTIVE_ALL_GATHER, 8, 1, all.experts.bytes[0]));
}

/* Zhao et al. 2024 (arXiv:2403.03507), table 1: an m x n matrix, m <= n, has a projector of m r and two moments of n r. */
static void optimizers_hold_what_their_papers_say(void **state)
{
    (void)state;
    struct job job = job_of("llama-2-7b", "hf-trainer", 1, 1);
    job.technique.moments = FORMAT_FP32, job.sharding = 0;
    double parameters = architecture_parameters(job.model), adam = job_memory(&job).optimizer;
    near(adam, 8.0 * parameters);
    const int kinds[] = {OPTIMIZER_ADAM, OPTIMIZER_MOMENTUM, OPTIMIZER_FACTORED, OPTIMIZER_NONE};
    const double moments[] = {2.0, 1.0, 0.0, 0.0};
    for (int i = 0; i < 4; i++) {
        job.technique.optimizer = kinds[i];
        near(job_memory(&job).optimizer, 4.0 * moments[i] * parameters);
    }
    double rank = 128.0, blocks = 32.0, wide = 4096.0, ffn = 11008.0;
    double matrices = blocks * (4.0 * wide * wide + 3.0 * wide * ffn);
    double kept = blocks * rank * (4.0 * wide + 3.0 * ffn), projectors = blocks * rank * 7.0 * wide;
    job.technique.optimizer = OPTIMIZER_GALORE, job.technique.optimizer_rank = 128;
    near(job_memory(&job).optimizer, adam - 8.0 * (matrices - kept) + 4.0 * projectors);
    double galore = job_time(&job).optimizer;
    job.technique.optimizer = OPTIMIZER_APOLLO;
    near(job_memory(&job).optimizer, adam - 8.0 * (matrices - kept));
    assert_true(job_time(&job).optimizer < galore); /* one product for each gradient, not two */
}

/* A master copy in the parameters' own format is none. */
static void copies_in_the_same_format_are_none(void **state)
{
    (void)state;
    struct job job = job_of("llama-2-7b", "deepspeed", 1, 1);
    job.sharding = 0;
    double parameters = architecture_parameters(job.model);
    near(job_memory(&job).optimizer, 12.0 * parameters);
    job.technique.master = FORMAT_BF16;
    near(job_memory(&job).optimizer, 8.0 * parameters);
    job.technique = (struct technique){.parameters = FORMAT_FP32, .gradients = FORMAT_FP32};
    near(job_memory(&job).optimizer, 8.0 * parameters);
    near(job_memory(&job).parameters, 4.0 * parameters);
    job.software = software_find("hf-trainer"), job.technique.moments = FORMAT_FP32;
    near(job_memory(&job).optimizer, 8.0 * parameters);
}

/* Of a block's inputs of products Transformer Engine keeps those of 8 bits in 8 bits, and the activation's in 16. */
static void narrow_products_keep_narrow_inputs(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", "megatron-core", 1, 8);
    double wide = job_memory(&job).activations, row = 4096.0 * (double)job.sequence * 32.0;
    job.type = COST_FP8;
    /* of two norms' results as wide as the model, and of the activation's: 14336 / 4096 as wide; a factor for each 128 numbers */
    near((wide - job_memory(&job).activations) / row, (2.0 + 14336.0 / 4096.0) * (2.0 - 1.0 - 4.0 / 128.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_that_are_not_split_keep_their_inputs),
        cmocka_unit_test(unfused_attention_keeps_its_scores),
        cmocka_unit_test(exchanges_without_overlap_are_exposed),
        cmocka_unit_test(gradients_have_their_own_share),
        cmocka_unit_test(gradients_in_fewer_bits_are_faster),
        cmocka_unit_test(experts_one_by_one_are_slower),
        cmocka_unit_test(a_graph_leaves_the_host_nothing),
        cmocka_unit_test(outputs_of_experts_are_not_kept),
        cmocka_unit_test(gathered_tokens_go_everywhere),
        cmocka_unit_test(optimizers_hold_what_their_papers_say),
        cmocka_unit_test(copies_in_the_same_format_are_none),
        cmocka_unit_test(narrow_products_keep_narrow_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
