/* Arguments of Megatron-LM, read. */
#include "launch/megatron.h"
#include "launch/texts.h"
#include "support/written_jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool read_text(const char *text, size_t length, struct launch_options *options, struct error *err)
{
    const struct launch_input input = {.path = "run.sh", .data = text, .length = length, .is_alone = true};
    *options = (struct launch_options){0};
    return launch_read(options, &input, err);
}

static struct launch_options reads(const char *script)
{
    struct launch_options options;
    struct error err;
    if (!read_text(script, strlen(script), &options, &err))
        fail_msg("%s", err.text);
    return options;
}

static void refuses(const char *script, const char *message)
{
    text_refused("run.sh", script, message);
}

static void reads_options_of_a_script(void **state)
{
    (void)state;
    struct launch_options options =
        reads("#!/bin/bash\n"
              "torchrun --nproc_per_node 8 pretrain_gpt.py \\\n"
              "    --tensor-model-parallel-size 4 \\\n"
              "    --pipeline-model-parallel-size=8 --context-parallel-size 2 \\\r\n"
              "    --num-layers-per-virtual-pipeline-stage 2 \\\n"
              "    --micro-batch-size '1' --global-batch-size \"256\" --seq-length 8192 \\\n"
              "    --use-distributed-optimizer --bf16 --fp8-format hybrid \\\n"
              "    --recompute-activations --train-iters 100 --lr 1e-4\n");
    is(options.tensor, 4);
    is(options.pipeline, 8);
    is(options.context, 2);
    is(options.chunk_blocks, 2);
    is(options.microbatch, 1);
    is(options.batch, 256);
    is(options.sequence, 8192);
    is(options.sharding, 1);
    is(options.type, COST_FP8);
    is(options.recompute, RECOMPUTE_SELECTIVE);
    assert_int_equal(options.tensor.line, 3);
    assert_int_equal(options.batch.line, 6);
    assert_false(options.expert.given || options.chunks.given || options.layers.given);
    launch_options_release(&options);
}

static const struct launch_argument *argument(const struct launch_options *options, const char *name)
{
    for (int i = 0; i < options->argument_count; i++)
        if (strcmp(options->arguments[i].name, name) == 0)
            return &options->arguments[i];
    fail_msg("no %s", name);
    return NULL;
}

static void tells_what_each_argument_does(void **state)
{
    (void)state;
    struct launch_options options = reads("--train-iters 100\n--bf16 --lr=1e-4\n--data-path a b c\n"
                                          "--tensor-model-paralel-size 2 --turbo-mode --tp-comm-overlap");
    assert_int_equal(argument(&options, "--lr")->use, LAUNCH_IDLE);
    assert_int_equal(argument(&options, "--lr")->line, 2);
    assert_int_equal(argument(&options, "--data-path")->use, LAUNCH_IDLE);
    assert_string_equal(argument(&options, "--data-path")->value, "a b c");
    assert_int_equal(argument(&options, "--bf16")->use, LAUNCH_READ);
    assert_int_equal(argument(&options, "--tp-comm-overlap")->use, LAUNCH_READ);
    assert_int_equal(options.technique[TECHNIQUE_TENSOR_OVERLAP].value, SWITCH_ON);
    assert_int_equal(launch_count(&options, LAUNCH_UNKNOWN), 2);
    assert_string_equal(argument(&options, "--tensor-model-paralel-size")->note,
                        "did you mean --tensor-model-parallel-size?");
    assert_false(options.tensor.given);
    launch_options_release(&options);
}

/* An unset variable is named once, with its way to the option; one that decides nothing is not. */
static void names_what_is_missing(void **state)
{
    (void)state;
    struct launch_options options =
        reads("EP=$RANKS\npython train.py --micro-batch-size $MBS --num-layers 2 \\\n"
              "  --expert-model-parallel-size $EP --save $FOLDER/x --load $MBS --vocab-file $FOLDER/v");
    assert_int_equal(options.missing_count, 2);
    assert_string_equal(options.missing[0].name, "MBS");
    assert_string_equal(options.missing[0].why,
                        "is not set (run.sh:2), used by --micro-batch-size (run.sh:2)");
    assert_string_equal(options.missing[0].give, "--set MBS=VALUE");
    assert_string_equal(options.missing[1].name, "RANKS");
    assert_string_equal(options.missing[1].why,
                        "is not set (run.sh:1), used through EP by --expert-model-parallel-size (run.sh:3)");
    launch_options_release(&options);
}

static void reads_arrays_and_variables(void **state)
{
    (void)state;
    struct launch_options options =
        reads("TP=${1:-2}\nexport PP=4\n: \"${MBS:=3}\"\n"
              "MODEL_ARGS=(--num-layers 32\n --hidden-size 4096)\n"
              "ARGS=\"\n  --tensor-model-parallel-size $TP\n"
              "  --pipeline-model-parallel-size ${PP} \"\n"
              "run ${MODEL_ARGS[@]} $ARGS --micro-batch-size ${MBS}; echo done\n");
    is(options.tensor, 2);
    is(options.pipeline, 4);
    is(options.microbatch, 3);
    is(options.layers, 32);
    is(options.hidden, 4096);
    assert_int_equal(launch_count(&options, LAUNCH_UNKNOWN), 0);
    launch_options_release(&options);
}

static void reads_the_variables_of_mlperf(void **state)
{
    (void)state;
    struct launch_options options = reads(
        "export MINIBS=64\nexport TENSOR_MODEL_PARALLEL=8   # training.model.tensor_model_parallel_size\n"
        "export PIPELINE_MODEL_PARALLEL=16\nexport INTERLEAVED_PIPELINE=8\nexport CONTEXT_PARALLEL=2\n"
        "export MICRO_BATCH_SIZE=1\nexport SEQ_PARALLEL=True\n");
    is(options.tensor, 8);
    is(options.pipeline, 16);
    is(options.chunks, 8);
    is(options.context, 2);
    is(options.microbatch, 1);
    is(options.rank_batch, 64);
    launch_options_release(&options);
    options = reads("export INTERLEAVED_PIPELINE=null\nexport MINIBS=$((64 * 2))\n");
    assert_false(options.chunks.given);
    is(options.rank_batch, 128);
    launch_options_release(&options);
}

static void the_last_of_two_counts(void **state)
{
    (void)state;
    struct launch_options options = reads("--micro-batch-size 1 --micro-batch-size 2");
    is(options.microbatch, 2);
    launch_options_release(&options);
}

static void reads_sharding(void **state)
{
    (void)state;
    struct launch_options options = reads(
        "--use-distributed-optimizer --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads");
    is(options.sharding, 2);
    launch_options_release(&options);
    options = reads("--use-distributed-optimizer --data-parallel-sharding-strategy optim_grads_params");
    is(options.sharding, 1); /* without the flag the strategy does nothing */
    launch_options_release(&options);
    options = reads("--use-distributed-optimizer --use-megatron-fsdp");
    is(options.sharding, 0);
    launch_options_release(&options);
}

static void reads_recomputation(void **state)
{
    (void)state;
    struct launch_options options =
        reads("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
    is(options.recompute, RECOMPUTE_FULL);
    launch_options_release(&options);
    options = reads("--recompute-granularity full --recompute-method block --recompute-num-layers 2");
    is(options.recompute, RECOMPUTE_FULL);
    is(options.technique[TECHNIQUE_METHOD], METHOD_BLOCK);
    is(options.technique[TECHNIQUE_LAYERS], 2);
    launch_options_release(&options);
    options = reads("--recompute-granularity selective --recompute-modules moe mlp --bf16");
    is(options.technique[TECHNIQUE_MODULES], 1 << MODULE_EXPERTS | 1 << MODULE_MLP);
    is(options.type, COST_BF16);
    launch_options_release(&options);
    refuses("--recompute-granularity selective --recompute-modules attn",
            "run.sh:1: --recompute-modules: expected core_attn, layernorm, mla_up_proj, moe, moe_act, mlp or "
            "shared_experts, several joined by '+'; found 'attn'");
}

static void reads_formats_and_offload(void **state)
{
    (void)state;
    struct launch_options options =
        reads("--grad-reduce-in-bf16 --use-precision-aware-optimizer --exp-avg-dtype bf16 "
              "--exp-avg-sq-dtype bf16 --optimizer-cpu-offload --optimizer-offload-fraction 0.25 "
              "--fp8-recipe blockwise");
    is(options.technique[TECHNIQUE_GRADIENTS], FORMAT_BF16);
    is(options.technique[TECHNIQUE_MOMENTS], FORMAT_BF16);
    is(options.technique[TECHNIQUE_OFFLOAD], 25);
    is(options.technique[TECHNIQUE_RECIPE], RECIPE_BLOCKWISE);
    launch_options_release(&options);
    refuses("--optimizer-cpu-offload --optimizer-offload-fraction 2",
            "run.sh:1: --optimizer-offload-fraction: expected a number from 0 to 1, found '2'");
    /* argparse takes any number, and nothing asks for these */
    options = reads(
        "--optimizer-offload-fraction 2 --train-iters -1 --mtp-num-layers -1 --cpu-offloading-num-layers -1");
    assert_false(options.technique[TECHNIQUE_OFFLOAD].given || options.mtp_layers.given ||
                 options.technique[TECHNIQUE_OFFLOAD_ACTIVATIONS].given);
    launch_options_release(&options);
    refuses("--train-iters -1.5", "run.sh:1: --train-iters: expected a whole number, found '-1.5'");
    refuses("--mtp-num-layers few", "run.sh:1: --mtp-num-layers: expected a whole number, found 'few'");
}

static void reads_exchanges(void **state)
{
    (void)state;
    struct launch_options options = reads(
        "--expert-model-parallel-size 4 --expert-tensor-parallel-size 2 --moe-token-dispatcher-type flex "
        "--moe-enable-deepep --overlap-moe-expert-parallel-comm --delay-wgrad-compute "
        "--context-parallel-size 8 --cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes 4 2");
    is(options.expert, 4);
    is(options.technique[TECHNIQUE_EXPERT_TENSOR], 2);
    is(options.technique[TECHNIQUE_DISPATCH], DISPATCH_DEEPEP);
    is(options.technique[TECHNIQUE_EXPERT_OVERLAP], OVERLAP_WEIGHTS);
    is(options.technique[TECHNIQUE_CONTEXT_KIND], CONTEXT_HIERARCHICAL);
    assert_int_equal(launch_count(&options, LAUNCH_UNMODELLED), 0);
    launch_options_release(&options);
    options = reads("--expert-tensor-parallel-size 2 --moe-token-dispatcher-type alltoall");
    assert_false(options.technique[TECHNIQUE_EXPERT_TENSOR].given); /* split like all else */
    launch_options_release(&options);
    options = reads("--tensor-model-parallel-size 4 --expert-model-parallel-size 2");
    is(options.technique[TECHNIQUE_EXPERT_TENSOR], 4); /* unless it is said: Megatron-LM's arguments.py */
    launch_options_release(&options);
    options = reads("--context-parallel-size 2 --cp-comm-type allgather allgather");
    is(options.technique[TECHNIQUE_CONTEXT_KIND], CONTEXT_GATHER); /* one for each layer */
    launch_options_release(&options);
    options = reads("--context-parallel-size 2 --cp-comm-type a2a p2p");
    is(options.technique[TECHNIQUE_CONTEXT_KIND], CONTEXT_ULYSSES);
    assert_int_equal(launch_count(&options, LAUNCH_UNMODELLED), 1);
    launch_options_release(&options);
    options = reads("--micro-batch-size 1 --cp-comm-type ring");
    assert_string_equal(options.notes[options.note_count - 1],
                        "--cp-comm-type 'ring' is unknown, and has no effect without context parallelism");
    launch_options_release(&options);
    refuses("--micro_batch_size 2", "run.sh:1: --micro_batch_size: Megatron-LM spells it --micro-batch-size");
    refuses("--sequence-parallel True", "run.sh:1: --sequence-parallel: takes no value, found 'True'");
    refuses("--micro-batch-size 2 --memory-snapshot-path --bf16",
            "run.sh:1: --memory-snapshot-path: expected a value");
    refuses("--tokenizer-model --bf16", "run.sh:1: --tokenizer-model: expected a value");
    refuses("--context-parallel-size 2 --cp-comm-type ring",
            "run.sh:1: --cp-comm-type: expected p2p, all_gather, a2a or a2a+p2p, found 'ring'");
}

static void reads_a_layout(void **state)
{
    (void)state;
    struct launch_options options =
        reads("--pipeline-model-parallel-size 16 --pipeline-model-parallel-layout "
              "\"Et*3|(tt|)*29,m|L\"");
    is(options.chunks, 2);
    assert_int_equal(options.stage_count, 16);
    assert_int_equal(options.stage_blocks[0], 5);
    assert_int_equal(options.stage_blocks[1], 4);
    assert_int_equal(options.stage_blocks[14], 2);
    assert_int_equal(options.stage_blocks[15], 2);
    launch_options_release(&options);
}

static void refuses_malformed_values(void **state)
{
    (void)state;
    refuses("\n--micro-batch-size two",
            "run.sh:2: --micro-batch-size: expected a whole number from 1 to 1000000000, found 'two'");
    refuses("--micro-batch-size 0",
            "run.sh:1: --micro-batch-size: expected a whole number from 1 to 1000000000, found '0'");
    refuses("--micro-batch-size=", "run.sh:1: --micro-batch-size: expected a value");
    refuses("--micro-batch-size --bf16", "run.sh:1: --micro-batch-size: expected a value");
    refuses("--bf16=1", "run.sh:1: --bf16: takes no value, found '1'");
    refuses("--recompute-granularity some",
            "run.sh:1: --recompute-granularity: expected one of selective, full, found 'some'");
    refuses("export TENSOR_MODEL_PARALLEL=many",
            "run.sh:1: TENSOR_MODEL_PARALLEL: expected a whole number from 1 to 1000000000, found 'many'");
}

static void refuses_contradictions(void **state)
{
    (void)state;
    refuses("--bf16\n--fp16", "run.sh:1: --bf16 and --fp16 (line 2) exclude each other");
}

static void refuses_bad_layouts(void **state)
{
    (void)state;
    refuses("--pipeline-model-parallel-layout 'E(t|tL'",
            "run.sh:1: --pipeline-model-parallel-layout: expected "
            "stages as in 'Et*3|(tt|)*29,m|L', at most 65536, "
            "found 'E(t|tL'");
    refuses("--pipeline-model-parallel-layout 'Ex|L'", "run.sh:1: --pipeline-model-parallel-layout: expected "
                                                       "stages as in 'Et*3|(tt|)*29,m|L', at most 65536, "
                                                       "found 'Ex|L'");
    static const char *const unordered[] = {"t|EtL",   "Et|t",   "EtL|t",     "EEtL",
                                            "Et*2L*2", "Etm|tL", "Et|t(L|)*2"};
    for (size_t i = 0; i < sizeof unordered / sizeof *unordered; i++) {
        char arguments[128], message[256];
        snprintf(arguments, sizeof arguments, "--pipeline-model-parallel-layout '%s'", unordered[i]);
        snprintf(message, sizeof message,
                 "run.sh:1: --pipeline-model-parallel-layout: expected stages as in "
                 "'Et*3|(tt|)*29,m|L', at most 65536, found '%s'",
                 unordered[i]);
        refuses(arguments, message);
    }
    refuses("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|t|tL'",
            "run.sh:1: --pipeline-model-parallel-layout has 3 stages, not a multiple of the pipeline's 2");
    refuses("--pipeline-model-parallel-layout '|*65536'",
            "run.sh:1: --pipeline-model-parallel-layout: expected stages as in 'Et*3|(tt|)*29,m|L', at most "
            "65536, "
            "found '|*65536'");
}

static void refuses_too_many_options_and_binaries(void **state)
{
    (void)state;
    struct text script = {0};
    for (int i = 0; i <= LAUNCH_MAX_ARGUMENTS; i++)
        text_format(&script, "--x%d\n", i);
    refuses(script.data, "run.sh: more than 10000 arguments");
    text_release(&script);
    struct launch_options options;
    struct error err;
    assert_false(read_text("--bf16\0", 7, &options, &err));
    assert_string_equal(err.text, "run.sh: binary, not a script");
    assert_false(read_text("", LAUNCH_MAX_BYTES + 1, &options, &err));
    assert_string_equal(err.text, "run.sh: more than 2097152 bytes");
}

/* ---- what is read, set in a job ---- */

static void applies(const char *script, struct job *job)
{
    struct launch_options options = reads(script);
    struct error err;
    if (!launch_apply(&options, job, &err))
        fail_msg("%s", err.text);
    launch_options_release(&options);
    job->stage_blocks = NULL;
}

static void does_not_apply(const char *script, const char *message)
{
    struct launch_options options = reads(script);
    struct job job = job_example(), before = job;
    struct error err;
    assert_false(launch_apply(&options, &job, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    assert_memory_equal(&job, &before, sizeof job);
    launch_options_release(&options);
}

static void sets_only_what_is_given(void **state)
{
    (void)state;
    struct job job = job_example();
    job.recompute = RECOMPUTE_FULL;
    applies("--tensor-model-parallel-size 2 --num-layers 32", &job);
    assert_int_equal(job.degrees.tensor, 2);
    assert_int_equal(job.degrees.data, 4);
    assert_int_equal(job.recompute, RECOMPUTE_FULL);
    assert_int_equal(job.batch, 64);
}

static void completes_with_defaults(void **state)
{
    (void)state;
    struct launch_options options = reads("--bf16 --pipeline-model-parallel-size 2");
    launch_complete(&options);
    is(options.tensor, 1);
    is(options.pipeline, 2);
    is(options.chunks, 1);
    is(options.recompute, RECOMPUTE_NONE);
    is(options.sharding, 0);
    is(options.type, COST_BF16);
    assert_false(options.batch.given || options.microbatch.given);
    launch_options_release(&options);
}

static void counts_chunks_by_their_blocks(void **state)
{
    (void)state;
    struct job job = job_example();
    applies("--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2", &job);
    assert_int_equal(job.chunks, 4);
    does_not_apply("--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 3",
                   "32 blocks on 4 stages cannot be divided into chunks of 3");
}

static void a_rank_batch_becomes_a_global_one(void **state)
{
    (void)state;
    struct job job = job_example();
    applies("export MINIBS=6\nexport TENSOR_MODEL_PARALLEL=2", &job);
    assert_int_equal(job.batch, 24);
}

static void ends_of_a_pipeline_have_their_blocks(void **state)
{
    (void)state;
    struct launch_options options =
        reads("--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 7\n"
              "--decoder-last-pipeline-num-layers 5");
    struct job job = job_example();
    struct error err;
    assert_true(launch_apply(&options, &job, &err));
    assert_memory_equal(job.stage_blocks, ((int[]){7, 10, 10, 5}), 4 * sizeof(int));
    launch_options_release(&options);
    does_not_apply("--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 7",
                   "32 blocks cannot be placed on 4 stages as the arguments require");
    does_not_apply("--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 70",
                   "32 blocks cannot be placed on 4 stages as the arguments require");
}

static void refuses_what_does_not_fit_the_job(void **state)
{
    (void)state;
    does_not_apply("--num-layers 96",
                   "the arguments do not match 'llama-3-8b': layers is 96 in line 1, not 32");
    does_not_apply("--tensor-model-parallel-size 3",
                   "tensor 3 x pipeline 1 x context 1 parallel does not divide 8 devices");
    does_not_apply("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*3|t*2L'",
                   "the layout has 5 blocks on 2 stages, the model 32, the pipeline 2 stages");
    does_not_apply("--tensor-model-parallel-size 1000000000 --pipeline-model-parallel-size 1000000000",
                   "tensor 1000000000 x pipeline 1000000000 x context 1 parallel does not divide 8 devices");
}

/* ---- there and back ---- */

/* The flags of a job, read into one that knows only the model and the devices, are those of that job again. */
static void there_and_back(const struct job *job)
{
    struct text first = {0}, second = {0};
    struct error err;
    if (!job_launch(LAUNCH_MEGATRON, job, &first, &err))
        fail_msg("%s", err.text);
    struct launch_options options = reads(first.data);
    struct job back = job_example();
    back.devices = job->devices;
    launch_complete(&options);
    if (!launch_apply(&options, &back, &err) || !job_launch(LAUNCH_MEGATRON, &back, &second, &err))
        fail_msg("%s", err.text);
    assert_string_equal(first.data, second.data);
    assert_int_equal(launch_count(&options, LAUNCH_UNKNOWN), 0);
    assert_int_equal(back.chunks, job->chunks);
    assert_int_equal(back.sharding, job->sharding);
    assert_int_equal(back.recompute, job->recompute);
    for (int i = 0; i <= job->degrees.pipeline; i++)
        assert_int_equal(job_stage_first(&back, 32, i), job_stage_first(job, 32, i));
    launch_options_release(&options);
    text_release(&first);
    text_release(&second);
}

struct splits {
    int tensor, pipeline, context, chunks, sharding;
};

static void goes_there_and_back(void **state)
{
    (void)state;
    static const struct splits splits[] = {
        {2, 4, 1, 1, 1}, {1, 4, 2, 2, 0}, {1, 5, 1, 1, 2}, {1, 3, 1, 2, 1}, {1, 2, 1, 17, 1}, {1, 8, 1, 1, 3},
    };
    for (size_t i = 0; i < sizeof splits / sizeof *splits * 3; i++) {
        const struct splits *split = &splits[i / 3];
        struct job job = job_example();
        job.degrees.tensor = split->tensor, job.degrees.pipeline = split->pipeline,
        job.degrees.context = split->context;
        job.chunks = split->chunks, job.sharding = split->sharding;
        job.recompute = (enum recompute)(i % 3);
        job_spread(&job, 4 * job.degrees.tensor * job.degrees.pipeline * job.degrees.context);
        there_and_back(&job);
    }
}

/* Any blocks of the stages, often alike, so that every way to say them has its turn. */
static void goes_there_and_back_with_given_stages(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (int round = 0; round < 3000; round++) {
        int blocks[8], left = 32;
        struct job job = job_example();
        random = random * 1664525u + 1013904223u;
        job.degrees.pipeline = 2 + (int)(random >> 16) % 7;
        job.chunks = 1 + (int)(random >> 20) % 3;
        for (int i = 0; i < job.degrees.pipeline; i++) {
            random = random * 1664525u + 1013904223u;
            int even = (left + job.degrees.pipeline - i - 1) / (job.degrees.pipeline - i);
            int here = random >> 31 ? even : even + (int)(random >> 24) % 3 - 1;
            blocks[i] = i == job.degrees.pipeline - 1 ? left : here < 0 ? 0 : here > left ? left : here;
            left -= blocks[i];
        }
        job.stage_blocks = blocks;
        job_spread(&job, 2 * job.degrees.pipeline);
        job.batch = 24 * (int64_t)job.degrees.data;
        there_and_back(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_options_of_a_script),
        cmocka_unit_test(tells_what_each_argument_does),
        cmocka_unit_test(names_what_is_missing),
        cmocka_unit_test(reads_arrays_and_variables),
        cmocka_unit_test(reads_the_variables_of_mlperf),
        cmocka_unit_test(the_last_of_two_counts),
        cmocka_unit_test(reads_sharding),
        cmocka_unit_test(reads_recomputation),
        cmocka_unit_test(reads_formats_and_offload),
        cmocka_unit_test(reads_exchanges),
        cmocka_unit_test(reads_a_layout),
        cmocka_unit_test(refuses_malformed_values),
        cmocka_unit_test(refuses_contradictions),
        cmocka_unit_test(refuses_bad_layouts),
        cmocka_unit_test(refuses_too_many_options_and_binaries),
        cmocka_unit_test(sets_only_what_is_given),
        cmocka_unit_test(completes_with_defaults),
        cmocka_unit_test(counts_chunks_by_their_blocks),
        cmocka_unit_test(a_rank_batch_becomes_a_global_one),
        cmocka_unit_test(ends_of_a_pipeline_have_their_blocks),
        cmocka_unit_test(refuses_what_does_not_fit_the_job),
        cmocka_unit_test(goes_there_and_back),
        cmocka_unit_test(goes_there_and_back_with_given_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
