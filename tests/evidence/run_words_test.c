/* What runs say in words: their software, adapters, and models that have no name. */
#include "evidence/likeness.h"
#include "evidence/run_words.h"
#include "evidence/validate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double bytes, double expected)
{
    if (fabs(bytes - expected) > 1.0)
        fail_msg("%.0f bytes, not %.0f", bytes, expected);
}

static struct validation load(const char *rows)
{
    struct validation validation;
    struct error err;
    if (!validation_parse(&validation, "runs.csv", rows, strlen(rows), &(struct validation_defaults){0},
                          &err))
        fail_msg("%s", err.text);
    return validation;
}

/* Releases by their numbers, fused kernels by the notes, LoRA on NVIDIA's packed short documents only. */
static void names_the_software_of_a_run(void **state)
{
    (void)state;
    struct validation v = load("gpu,gpus,framework,precision,mbs,gbs,model,tp,pp,notes\n"
                               "H100,8,Megatron-Bridge 26.04 NeMo Container,bf16,1,64,llama-3-8b,1,1,\n"
                               "H100,8,Megatron-Bridge 26.06 NeMo Container,bf16,1,64,llama-3-8b LoRA,1,1,\n"
                               "H100,8,\"PyTorch FSDP (HF Trainer, x)\",bf16,1,64,llama-3-8b LoRA,1,1,none\n"
                               "H100,8,\"PyTorch (HF Trainer, x)\",bf16,1,64,qwen-7b,1,1,foak-fast-kernels\n"
                               "H100,8,HF Trainer (PyTorch),bf16,1,64,qwen-7b LoRA (emb),1,1,\n");
    static const char *const names[] = {"megatron-core-2025", "megatron-core", "hf-trainer",
                                        "hf-trainer-fused"};
    for (int i = 0; i < 4; i++) {
        assert_null(v.runs[i].reason);
        assert_string_equal(v.runs[i].job.software->name, names[i]);
        assert_int_equal(v.runs[i].job.document, i == 1 ? 256 : 0);
    }
    assert_null(v.runs[4].reason);
    assert_true(job_is_frozen(&v.runs[4].job) && v.runs[4].job.technique.ends == SWITCH_ON);
    validation_release(&v);
}

/* What the recipes of Megatron-Bridge set, and its tables do not say. */
static void recipes_set_formats(void **state)
{
    (void)state;
    struct validation v = load("gpu,gpus,framework,source,precision,mbs,gbs,model,tp,pp,notes\n"
                               "H100,8,Megatron-Bridge,skills,bf16,1,64,llama-3-8b,1,1,\n"
                               "H100,8,Megatron-Bridge,skills,bf16,1,64,deepseek-v2-lite,1,1,\n"
                               "H100,8,Megatron-LM,skills,bf16,1,64,llama-3-8b,1,1,\n"
                               "H100,8,Megatron-Bridge,skills,bf16,1,8,qwen3-8b LoRA,2,1,\n"
                               "H100,8,Megatron-Bridge,docs/performance,bf16,1,8,qwen3-8b LoRA,2,1,\n");
    assert_int_equal(v.runs[0].job.technique.gradients, FORMAT_BF16);
    assert_int_equal(v.runs[0].job.technique.moments, FORMAT_USUAL);
    assert_int_equal(v.runs[1].job.technique.moments, FORMAT_BF16);
    assert_int_equal(v.runs[2].job.technique.gradients, FORMAT_USUAL);
    assert_int_equal(v.runs[3].job.technique.targets, TARGETS_ALL);
    assert_int_equal(v.runs[4].job.technique.targets, TARGETS_ATTENTION);
    validation_release(&v);
}

/* Software that nobody knows is one of the mixture, and may be as fast or as slow as all of these. */
static void unknown_software_is_a_mixture(void **state)
{
    (void)state;
    struct validation v = load("gpu,gpus,framework,precision,mbs,gbs,model,tp,pp,recompute\n"
                               "H100,8,Nobody's trainer,bf16,1,64,llama-3-8b,1,1,full\n"
                               "H100,8,Megatron-LM,bf16,1,64,llama-3-8b,1,1,full\n"
                               "H100,8,fsdp,bf16,1,64,llama-3-8b,1,1,full\n");
    validation_predict(&v, NULL);
    int faster = 0, slower = 0, which[LIKENESS_OTHERS];
    struct likeness likeness = likeness_of(&v.runs[0].job, &v.runs[0].predicted);
    int count = likeness_mixture(&likeness, NULL, which); /* of its time, with its splits */
    assert_true(count >= 5);
    for (int i = 0; i < count; i++) {
        struct job job = v.runs[0].job;
        job.software = software_find(software_mixture[which[i]]);
        double seconds = job_time(&job).seconds;
        faster += seconds < v.runs[0].predicted.seconds;
        slower += seconds > v.runs[0].predicted.seconds;
    }
    assert_true(v.runs[0].mixed);
    assert_in_range(faster - slower + 1, 0, 2); /* the middle one, or of an even number the upper */
    assert_true(v.runs[1].undated && !v.runs[1].mixed);
    assert_string_equal(v.runs[1].job.software->name, "megatron-core");
    assert_true(!v.runs[2].undated && !v.runs[2].mixed);
    validation_release(&v);
}

/* Of frozen weights in 4 bits: their precision, their name, the rank of LoRA, and embeddings that are trained beside it. */
static void reads_adapters(void **state)
{
    (void)state;
    struct validation v =
        load("gpu,gpus,framework,precision,mbs,gbs,model,tp,pp,recompute,notes\n"
             "A100,1,HF Trainer,\"4-bit nf4, half\",1,8,llama-2-7b QLoRA,1,1,full,LoRA r 64\n"
             "A100,1,HF Trainer,bf16,1,8,llama-2-7b LoRA,1,1,full,LoRA r 64\n"
             "A100,1,HF Trainer,bf16,1,8,llama-2-7b LoRA,1,1,full,LoRA rank 8\n"
             "A100,1,HF Trainer,bf16,1,8,llama-2-7b LoRA (emb),1,1,full,LoRA rank 8\n");
    validation_predict(&v, NULL);
    for (int i = 0; i < v.count; i++) {
        assert_null(v.runs[i].reason);
        assert_int_equal(v.runs[i].job.technique.rank, i < 2 ? 64 : 8);
    }
    const struct job_memory *four = &v.runs[0].predicted_memory, *sixteen = &v.runs[1].predicted_memory,
                            *narrow = &v.runs[2].predicted_memory, *ends = &v.runs[3].predicted_memory;
    assert_int_equal(v.runs[0].job.type, COST_FP16);
    assert_true(four->parameters < 0.35 * sixteen->parameters);
    assert_true(v.runs[0].predicted.compute > v.runs[1].predicted.compute);
    assert_true(narrow->optimizer < sixteen->optimizer / 7.9);
    /* 2 x 32000 x 4096 of 7.6e9 numbers: a copy of each, its gradient, and two moments */
    double trained = 2.0 * 32000.0 * 4096.0;
    assert_true(ends->total - narrow->total > 11.9 * trained && ends->total - narrow->total < 12.1 * trained);
    validation_release(&v);
}

static void ranks_are_whole_words(void **state)
{
    (void)state;
    struct validation v = load("gpu,gpus,framework,precision,mbs,gbs,model,tp,pp,recompute,notes\n"
                               "A100,1,HF Trainer,bf16,1,8,llama-2-7b LoRA,1,1,full,LoRA rank 8x2z\n"
                               "A100,1,HF Trainer,bf16,1,8,llama-2-7b LoRA,1,1,full,LoRA rank\n"
                               "A100,1,HF Trainer,bf16,1,8,llama-2-7b LoRA,1,1,full,LoRA rank 0\n"
                               "A100,1,HF Trainer,bf16,1,8,llama-2-7b LoRA,1,1,full,LoRA dim 1.5; packed\n"
                               "A100,1,HF Trainer,bf16,1,8,llama-2-7b LoRA,1,1,full,LoRA r 16.0\n"
                               "A100,1,HF Trainer,bf16,1,8,llama-2-7b LoRA,1,1,full,LoRA on all layers\n"
                               "A100,1,HF Trainer,bf16,1,8,llama-2-7b,1,1,full,Full; LoRA rank\n");
    for (int i = 0; i < v.count; i++)
        assert_true(i < 4 ? v.runs[i].reason && strstr(v.runs[i].reason, "rank of LoRA") : !v.runs[i].reason);
    validation_release(&v);
}

/* LitGPT's gigabytes are decimal. Products of 4-bit weights are operations of their own, each of which keeps its input: 3 of a block that
 * adapters keep no copy of; without double quantisation a factor in fp32 for each 64 weights. */
static void four_bits_keep_their_inputs(void **state)
{
    (void)state;
    struct validation v =
        load("gpu,gpus,framework,precision,mbs,gbs,model,seq,tp,pp,zero,recompute,mem_gb,notes\n"
             "A100-40GB,1,LitGPT,bf16,2,128,llama-2-7b LoRA,1304,1,1,0,none,21.3,LoRA r 8\n"
             "A100-40GB,1,LitGPT,4-bit bnb.nf4-dq,2,128,llama-2-7b QLoRA,1304,1,1,0,none,13.84,LoRA r 8\n"
             "A100-40GB,1,LitGPT,4-bit bnb.nf4,2,128,llama-2-7b QLoRA,1304,1,1,0,none,14.14,LoRA r 8\n"
             "A100-40GB,1,HF Trainer,4-bit bnb.nf4,2,128,llama-2-7b QLoRA,1304,1,1,0,none,14.14,LoRA r 8\n");
    validation_predict(&v, NULL);
    const struct job_memory *sixteen = &v.runs[0].predicted_memory, *twice = &v.runs[1].predicted_memory,
                            *once = &v.runs[2].predicted_memory;
    double kept = 3.0 * 2.0 * (2.0 * 1304.0) * 4096.0 * 32.0,
           weights = 32.0 * 4096.0 * (4.0 * 4096.0 + 3.0 * 11008.0);
    assert_true(fabs(twice->activations - sixteen->activations - kept) < 1e-6 * kept);
    assert_near(once->activations, twice->activations);
    double factors = once->parameters - twice->parameters, expected = 4.0 / 64.0 - 1.0 / 64.0 - 4.0 / 16384.0;
    assert_true(factors > 0.99 * expected * weights && factors < 1.06 * expected * weights);
    assert_near(v.runs[0].memory, 21.3e9);
    assert_near(v.runs[3].memory, 14.14 * 0x1p30);
    validation_release(&v);
}

/* Frozen weights of a table that leaves recomputation open: as few blocks as must be, where all of their activations do not fit. */
static void lora_recomputes_what_it_must(void **state)
{
    (void)state;
    struct validation v =
        load("gpu,gpus,framework,precision,mbs,gbs,model,seq,tp,pp,recompute,sec_per_iter,notes\n"
             "B200,8,Megatron-Core 26.02,fp8,1,8,llama-2-70b LoRA,8192,1,1,,1,LoRA r 16\n"
             "B200,8,Megatron-Core 26.02,fp8,1,8,llama-2-70b LoRA,8192,1,1,none,1,LoRA r 16\n"
             "B200,8,Megatron-Core 26.02,fp8,1,8,llama-2-70b LoRA,8192,1,1,full,1,LoRA r 16\n"
             "B200,8,Megatron-Core 26.02,fp8,1,8,llama-2-70b LoRA,2048,1,1,,1,LoRA r 16\n");
    validation_predict(&v, NULL);
    const struct run *open = &v.runs[0], *none = &v.runs[1], *full = &v.runs[2];
    assert_false(none->fits);
    assert_true(open->fits);
    assert_true(open->predicted.compute > none->predicted.compute &&
                open->predicted.compute < full->predicted.compute);
    /* one block less does not fit */
    struct job job = open->job;
    double block = (none->predicted_memory.activations - full->predicted_memory.activations) / 80.0;
    assert_true(job_needed(&job, open->predicted_memory.total + block) > (double)job.device->memory);
    assert_true(job_needed(&job, open->predicted_memory.total) <= (double)job.device->memory);
    /* what fits is not recomputed */
    assert_true(v.runs[3].fits);
    job = v.runs[3].job;
    assert_near(v.runs[3].predicted.compute, job_time(&job).compute);
    validation_release(&v);
}

/* Moments in 8 bits, and a step for each parameter in the backward pass. */
static void reads_small_optimizers(void **state)
{
    (void)state;
    struct validation v = load("gpu,gpus,framework,precision,mbs,gbs,model,tp,pp,recompute,notes\n"
                               "A100,1,torchtune,bf16,1,8,llama-2-7b,1,1,full,\n"
                               "A100,1,torchtune,bf16,1,8,llama-2-7b,1,1,full,PagedAdamW8bit\n"
                               "A100,1,torchtune,bf16,1,8,llama-2-7b,1,1,full,optimizer_in_bwd\n");
    validation_predict(&v, NULL);
    double parameters = v.runs[0].predicted_memory.parameters / 2.0;
    assert_near(v.runs[0].predicted_memory.optimizer, 4.0 * parameters);
    assert_near(v.runs[1].predicted_memory.optimizer, 2.0 * parameters);
    assert_near(v.runs[2].predicted_memory.gradients, 0.0);
    assert_near(v.runs[0].predicted_memory.total - v.runs[2].predicted_memory.total, 2.0 * parameters);
    validation_release(&v);
}

/* Models that only their numbers describe: with gates unless the MLP is four times as wide as the model. */
static void unnamed_models_are_of_their_time(void **state)
{
    (void)state;
    struct validation v = load(
        "gpu,gpus,framework,precision,mbs,gbs,model,tp,pp,layers,hidden,heads,ffn,seq,params_b,like_model\n"
        "A100,8,InternEvo,bf16,1,64,A 7B,1,1,32,4096,32,11008,2048,,\n"
        "A100,8,InternEvo,bf16,1,64,B 7B,1,1,32,4096,32,16384,2048,,\n"
        "A100,8,InternEvo,bf16,1,64,C 9B,1,1,32,4096,32,16384,2048,8.8,\n"
        "A100,8,InternEvo,bf16,1,64,D 7B,1,1,32,4096,32,11008,2048,,llama-1-7b\n");
    static const bool gated[] = {true, false, true, true};
    for (int i = 0; i < 4; i++) {
        if (v.runs[i].reason)
            fail_msg("%s", v.runs[i].reason);
        assert_int_equal(v.runs[i].model.gated, gated[i]);
    }
    validation_release(&v);
}

/* NeMo's recipes hide tensor parallel exchanges, Megatron-LM does so where it is asked; how tokens go to experts is in the notes. */
static void reads_exchanges(void **state)
{
    (void)state;
    struct validation v = load(
        "gpu,gpus,framework,source_date,precision,mbs,gbs,model,tp,pp,ep,notes\n"
        "H100,8,Megatron-Bridge 26.02,,bf16,1,64,mixtral-8x7b,8,1,8,DeepEP\n"
        "H100,8,Megatron-Core,2026-02,bf16,1,64,mixtral-8x7b,8,1,8,\"all-to-all, main\"\n"
        "H100,8,Megatron-Core,2026-02,bf16,1,64,mixtral-8x7b,8,1,8,\"DeepEP, 1F1B overlap of all-to-all\"\n"
        "H100,8,torchtitan,2026-02,bf16,1,64,llama-2-7b,8,1,1,async TP\n"
        "H100,8,torchtitan,2026-02,float8 rowwise,1,64,llama-2-7b,8,1,1,vanilla TP\n"
        "B200,8,Megatron-Bridge 26.02,,MXFP8,1,64,llama-2-7b,8,1,1,\n"
        "B200,8,Megatron-Bridge 26.02,,FP8-MX,1,64,llama-2-7b,8,1,1,\n"
        "B200,8,Megatron-Bridge 26.02,,FP8-CS (FP8-MX),1,64,llama-2-7b,8,1,1,\n"
        "B200,8,Megatron-Core,2026-02,bf16,1,64,llama-2-7b,1,1,1,\"no overlap, CP by all-to-all\"\n"
        "H100,8,Megatron-Core,2026-02,bf16,1,64,mixtral-8x7b,8,1,8,\"alltoall dispatcher, no A2A "
        "overlap\"\n");
    static const struct technique expected[] = {
        {.tensor_overlap = SWITCH_ON, .dispatch = DISPATCH_DEEPEP},
        {.dispatch = DISPATCH_ALLTOALL},
        {.dispatch = DISPATCH_DEEPEP, .expert_overlap = OVERLAP_PASSES},
        {.tensor_overlap = SWITCH_ON},
        {.recipe = RECIPE_ROWWISE},
        {.tensor_overlap = SWITCH_ON, .recipe = RECIPE_MXFP8},
        {.tensor_overlap = SWITCH_ON, .recipe = RECIPE_MXFP8},
        {.tensor_overlap = SWITCH_ON},
        {.data_overlap = SWITCH_OFF},
        {.dispatch = DISPATCH_ALLTOALL},
    };
    assert_int_equal(v.count, 10);
    for (int i = 0; i < v.count; i++) {
        const struct technique *found = &v.runs[i].job.technique;
        if (v.runs[i].reason)
            fail_msg("%s", v.runs[i].reason);
        assert_int_equal(found->tensor_overlap, expected[i].tensor_overlap);
        assert_int_equal(found->dispatch, expected[i].dispatch);
        assert_int_equal(found->recipe, expected[i].recipe);
        assert_int_equal(found->expert_overlap, expected[i].expert_overlap);
        assert_int_equal(found->data_overlap, expected[i].data_overlap);
    }
    validation_release(&v);
}

/* AutoModel's benchmarks give experts their tokens in turn, and fill the pipeline once for each step of accumulation. */
static void reads_benchmarks_of_automodel(void **state)
{
    (void)state;
    struct validation v = load(
        "gpu,gpus,framework,precision,mbs,gbs,model,tp,pp,vp,ep,notes\n"
        "H100,64,NeMo AutoModel,bf16,1,1024,qwen3-30b-a3b,1,4,2,8,\"LBS 8, GA 4; mock data, balanced gate\"\n"
        "H100,64,NeMo AutoModel,bf16,1,1024,qwen3-30b-a3b,1,4,2,8,\n"
        "H100,64,Megatron-Core,bf16,1,1024,qwen3-30b-a3b,1,4,2,8,\"GA 4; forced load balancing\"\n");
    assert_int_equal(v.count, 3);
    for (int i = 0; i < v.count; i++) {
        if (v.runs[i].reason)
            fail_msg("%s", v.runs[i].reason);
        assert_int_equal(v.runs[i].job.rounds, i == 0 ? 4 : 0);
        assert_int_equal(v.runs[i].job.in_turn, i == 0);
    }
    struct job_time fast = job_time(&v.runs[0].job), slow = job_time(&v.runs[1].job);
    assert_true(fast.tensor < 0.5 * slow.tensor); /* to one device each, not to most of 8 */
    validation_release(&v);
}

/* Words of one meaning make the same run. */
static void same_words_make_the_same_run(void **state)
{
    (void)state;
    struct validation v = load(
        "gpu,gpus,framework,precision,mbs,gbs,model,tp,pp,ep,seq,recompute,notes\n"
        "GB200,8,Megatron-Bridge,MXFP8,1,64,qwen3-30b-a3b,1,1,8,4096,none,\"HybridEP, overlap, balanced\"\n"
        "GB200,8,Megatron-Bridge,fp8_mx,1,64,qwen3-30b-a3b,1,1,8,4096,none,\"DeepEP; all-to-all overlap; "
        "balanced\"\n"
        "GB200,8,Megatron-Bridge,mxfp8,1,64,qwen3-30b-a3b,1,1,8,4096,none,\"DeepEP, overlapped\"\n"
        "H100,1,Megatron-Bridge,bf16,1,8,qwen3-8b,1,1,1,2048,none,LoRA rank 8\n"
        "H100,1,Megatron-Bridge,bf16,1,8,qwen3-8b LoRA,1,1,1,2048,none,LoRA rank 8\n"
        "H100,1,HF Trainer,bf16,1,8,qwen3-8b,1,1,1,2048,none,Full; LoRA rank 8\n"
        "H100,8,nanotron,bf16,1,8,qwen3-8b,8,1,1,2048,none,\n");
    validation_predict(&v, NULL);
    for (int i = 0; i < v.count; i++)
        assert_null(v.runs[i].reason);
    const struct technique *first = &v.runs[0].job.technique;
    assert_int_equal(first->recipe, RECIPE_MXFP8);
    assert_int_equal(first->dispatch, DISPATCH_DEEPEP);
    assert_int_equal(first->expert_overlap, OVERLAP_PASSES);
    assert_true(v.runs[0].predicted.seconds == v.runs[1].predicted.seconds);
    assert_int_equal(v.runs[2].job.technique.expert_overlap, OVERLAP_USUAL);
    assert_int_equal(v.runs[3].job.technique.rank, 8);
    assert_true(v.runs[3].predicted.seconds == v.runs[4].predicted.seconds);
    assert_int_equal(v.runs[5].job.technique.rank, 0);
    assert_false(v.runs[6].mixed);
    validation_release(&v);
}

/* "fp88" and "int8x" are no formats; words without digits tell how they are used. */
static void precisions_are_whole_words(void **state)
{
    static const char *const known[] = {"BF16",           "amp_fp8",         "bf16/fp16",
                                        "NVFP4",          "FP8-CS (FP8-MX)", "float8 rowwise compile",
                                        "4-bit nf4, half"};
    static const char *const unknown[] = {"bf16x2z", "fp88",  "fp4x",  "fp8bananas",
                                          "bf16O",   "int8x", "bf160", "bf16 7"};
    struct run run = {.job = {.software = software_find("megatron-core")}};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!run_read_precision(&run, known[i]))
            fail_msg("'%s' is not read", known[i]);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (run_read_precision(&run, unknown[i]))
            fail_msg("'%s' is read", unknown[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_software_of_a_run),
        cmocka_unit_test(recipes_set_formats),
        cmocka_unit_test(reads_benchmarks_of_automodel),
        cmocka_unit_test(unknown_software_is_a_mixture),
        cmocka_unit_test(reads_adapters),
        cmocka_unit_test(same_words_make_the_same_run),
        cmocka_unit_test(reads_exchanges),
        cmocka_unit_test(ranks_are_whole_words),
        cmocka_unit_test(four_bits_keep_their_inputs),
        cmocka_unit_test(lora_recomputes_what_it_must),
        cmocka_unit_test(precisions_are_whole_words),
        cmocka_unit_test(reads_small_optimizers),
        cmocka_unit_test(unnamed_models_are_of_their_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
