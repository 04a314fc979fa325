/* What each format says of a job, and what it refuses to say. */
#include "core/doc.h"
#include "devices/tables.h"
#include "launch/launch.h"
#include "support/expect.h"
#include "support/written_jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *written(enum launch_format format, const struct job *job)
{
    struct text out = {0};
    struct error err;
    if (!job_launch(format, job, &out, &err))
        fail_msg("%s", err.text);
    return out.data;
}

static void holds(enum launch_format format, const struct job *job, const char *part)
{
    char *text = written(format, job);
    if (!strstr(text, part))
        fail_msg("no '%s' in\n%s", part, text);
    free(text);
}

static void holds_not(enum launch_format format, const struct job *job, const char *part)
{
    char *text = written(format, job);
    assert_null(strstr(text, part));
    free(text);
}

static void refuses(enum launch_format format, const struct job *job, const char *message)
{
    struct text out = {0};
    struct error err;
    assert_false(job_launch(format, job, &out, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    assert_null(out.data);
}

static struct job job_of(const char *model, int tensor, int pipeline, int chunks, int devices)
{
    struct job job = job_example();
    job.model = architecture_find(model);
    job.degrees.tensor = tensor, job.degrees.pipeline = pipeline, job.chunks = chunks;
    job_spread(&job, devices);
    job.batch = 24 * (int64_t)job.degrees.data;
    return job;
}

static void a_job_that_fails_its_check_is_not_written(void **state)
{
    (void)state;
    struct job job = job_example();
    job.degrees.tensor = 3;
    refuses(LAUNCH_MEGATRON, &job, "tensor 3 x pipeline 1 x context 1 x data 8 parallel is not 8 devices");
}

static void one_stage_is_not_interleaved(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 1, 1, 2, 8);
    refuses(LAUNCH_PIPELINING, &job, "2 chunks interleave the stages of a pipeline, and there is one stage");
}

/* ---- Megatron ---- */

static void megatron_says_all_of_a_dense_job(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 2, 4, 2, 16);
    job.recompute = RECOMPUTE_FULL, job.type = COST_FP8;
    char *text = written(LAUNCH_MEGATRON, &job);
    assert_string_equal(
        text,
        "# Megatron-Core 0.15: llama-3-8b on 16 devices: tensor 2 x pipeline 4 (2 chunks) x context 1 x data "
        "2, 24 "
        "micro-batches\n"
        "--num-layers 32 \\\n--hidden-size 4096 \\\n--ffn-hidden-size 14336 \\\n--num-attention-heads 32 \\\n"
        "--group-query-attention \\\n--num-query-groups 8 \\\n--position-embedding-type rope "
        "\\\n--rotary-base 500000 \\\n"
        "--seq-length 4096 \\\n--max-position-embeddings 4096 \\\n--vocab-size 128256 \\\n--normalization "
        "RMSNorm \\\n"
        "--swiglu \\\n--disable-bias-linear \\\n--untie-embeddings-and-output-weights \\\n--hidden-dropout "
        "0.0 \\\n"
        "--attention-dropout 0.0 \\\n--tensor-model-parallel-size 2 \\\n--sequence-parallel \\\n"
        "--pipeline-model-parallel-size 4 \\\n--num-virtual-stages-per-pipeline-rank 2 \\\n"
        "--context-parallel-size 1 \\\n--use-distributed-optimizer \\\n--overlap-grad-reduce \\\n"
        "--overlap-param-gather \\\n--micro-batch-size 1 \\\n--global-batch-size 48 \\\n"
        "--recompute-granularity full \\\n--recompute-method uniform \\\n--recompute-num-layers 1 \\\n--bf16 "
        "\\\n"
        "--fp8-format hybrid\n");
    free(text);
}

static void megatron_has_experts(void **state)
{
    (void)state;
    struct job job = job_of("deepseek-v3", 2, 1, 1, 16);
    job.degrees.expert = 8;
    holds(LAUNCH_MEGATRON, &job, "--moe-layer-freq '([0]*3+[1]*58)'");
    holds(LAUNCH_MEGATRON, &job, "--expert-model-parallel-size 8 \\\n--expert-tensor-parallel-size 1 \\\n");
    holds(LAUNCH_MEGATRON, &job, "--multi-latent-attention");
    job.degrees.expert = 1;
    holds(LAUNCH_MEGATRON, &job, "--expert-model-parallel-size 1 \\\n--expert-tensor-parallel-size 2 \\\n");
}

static void megatron_shards(void **state)
{
    (void)state;
    struct job job = job_example();
    job.sharding = 0;
    holds_not(LAUNCH_MEGATRON, &job, "--use-distributed-optimizer");
    job.sharding = 2;
    holds(LAUNCH_MEGATRON, &job, "--data-parallel-sharding-strategy optim_grads \\");
    job.sharding = 3;
    holds(LAUNCH_MEGATRON, &job,
          "--use-megatron-fsdp \\\n--data-parallel-sharding-strategy optim_grads_params \\\n");
}

static void megatron_counts_embedding_and_head_as_blocks(void **state)
{
    (void)state;
    struct job job = job_of("llama-3.1-405b", 4, 8, 8, 512); /* 126 blocks in 64 chunks */
    holds(LAUNCH_MEGATRON, &job,
          "--num-virtual-stages-per-pipeline-rank 8 \\\n--account-for-embedding-in-pipeline-split \\\n"
          "--account-for-loss-in-pipeline-split \\\n");
}

static void megatron_has_uneven_ends(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 1, 4, 1, 8);
    job.stage_blocks = (const int[]){7, 9, 9, 7};
    holds(LAUNCH_MEGATRON, &job,
          "--pipeline-model-parallel-size 4 \\\n--decoder-first-pipeline-num-layers 7 \\\n"
          "--decoder-last-pipeline-num-layers 7 \\\n");
    job.stage_blocks = (const int[]){8, 8, 8, 8};
    holds_not(LAUNCH_MEGATRON, &job, "--decoder-");
}

static void megatron_has_a_layout_for_the_rest(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 1, 4, 1, 8);
    job.stage_blocks = (const int[]){7, 9, 10, 6};
    holds(LAUNCH_MEGATRON, &job, "--pipeline-model-parallel-layout 'Et*7|t*9|t*10|t*6L' \\\n");
    job.chunks = 2;
    holds(LAUNCH_MEGATRON, &job, "--pipeline-model-parallel-layout 'Et*3|t*4|t*5|t*3|t*4|t*5|t*5|t*3L' \\\n");
    holds_not(LAUNCH_MEGATRON, &job, "--num-virtual-stages-per-pipeline-rank");
    job = job_of("llama-3-8b", 1, 8, 1, 8);
    job.stage_blocks = (const int[]){3, 4, 4, 4, 4, 4, 6, 3};
    holds(LAUNCH_MEGATRON, &job, "--pipeline-model-parallel-layout 'Et*3|(t*4|)*5t*6|t*3L' \\\n");
}

static void megatron_groups_micro_batches_without_a_short_rest(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 1, 4, 2, 8);
    holds_not(LAUNCH_MEGATRON, &job, "--microbatch-group-size");
    job.batch = 13 * (int64_t)job.degrees.data; /* 13 = 7 + 6 */
    holds(LAUNCH_MEGATRON, &job, "--microbatch-group-size-per-virtual-pipeline-stage 7 \\\n");
    job.batch = 3 * (int64_t)job.degrees.data;
    refuses(LAUNCH_MEGATRON, &job, "an interleaved pipeline of 4 stages needs as many micro-batches, not 3");
}

static void megatron_says_what_is_lost(void **state)
{
    (void)state;
    struct job job = job_example();
    job.document = 256;
    holds(LAUNCH_MEGATRON, &job,
          "\n# not written: sequences are packed from documents (--reset-attention-mask)\n--num");
    job = job_of("llama-3-8b", 16, 1, 1, 16);
    holds(LAUNCH_MEGATRON, &job, "\n# needs Megatron-Core 0.16 or later: groups of heads");
    job = job_of("mixtral-8x7b", 2, 1, 1, 8);
    job.software = software_find("megatron-2021");
    holds(LAUNCH_MEGATRON, &job, "\n# sequence parallel, which experts with tensor parallel need there\n");
    holds(LAUNCH_MEGATRON, &job, "--sequence-parallel \\\n");
}

static void megatron_states_facts_that_take_no_time(void **state)
{
    (void)state;
    struct job job = job_of("nemotron-4-15b", 1, 1, 1, 8);
    holds(LAUNCH_MEGATRON, &job, "\n--rotary-percent 0.5 \\\n");
    holds(LAUNCH_MEGATRON, &job, "\n--squared-relu \\\n");
    job = job_of("llama-3.1-405b", 1, 1, 1, 8);
    holds(LAUNCH_MEGATRON, &job,
          "\n--rotary-base 500000 \\\n--use-rope-scaling \\\n--rope-scaling-factor 8 \\\n");
    job = job_of("llama-4-maverick", 1, 1, 1, 8);
    holds(LAUNCH_MEGATRON, &job, "\n--no-rope-freq 4 \\\n");
    holds(LAUNCH_MEGATRON, &job, "\n--moe-layer-freq '(([0]*1+[1])*24+[0]*0)' \\\n");
    job = job_of("deepseek-v3", 1, 1, 1, 8);
    holds(LAUNCH_MEGATRON, &job, "\n--rope-type yarn \\\n--rotary-scaling-factor 1 \\\n");
    job.sequence = 8192;
    holds(LAUNCH_MEGATRON, &job, "\n--rope-type yarn \\\n--rotary-scaling-factor 40 \\\n");
    job.sequence = 4096;
    holds(LAUNCH_MEGATRON, &job,
          "\n--moe-router-score-function sigmoid \\\n--moe-router-enable-expert-bias "
          "\\\n--moe-router-num-groups 8 \\\n"
          "--moe-router-group-topk 4 \\\n--moe-router-topk-scaling-factor 2.5 \\\n");
    holds(LAUNCH_MEGATRON, &job, "\n--qk-layernorm \\\n");
    job = job_of("gpt-oss-20b", 1, 1, 1, 8);
    holds(LAUNCH_MEGATRON, &job,
          "\n--quick-geglu \\\n--glu-linear-offset 1.0 \\\n--activation-func-clamp-value 7.0 \\\n");
    job.sequence = 8192;
    holds(LAUNCH_MEGATRON, &job,
          "\n--rotary-scaling-factor 32 \\\n--yarn-original-max-position-embeddings 4096 \\\n");
    holds(LAUNCH_MEGATRON, &job, "\n--position-embedding-type yarn \\\n");
    holds(LAUNCH_MEGATRON, &job,
          "# needs Megatron-LM of August 2026 or later: YaRN without latent attention\n");
    struct architecture one = *architecture_find("mixtral-8x7b");
    one.active_experts = 1;
    job = job_of("mixtral-8x7b", 1, 1, 1, 8);
    job.model = &one;
    holds(LAUNCH_MEGATRON, &job, "\n--moe-router-pre-softmax \\\n");
}

static void megatron_refuses_what_it_has_not(void **state)
{
    (void)state;
    struct job job = job_of("t5-base", 1, 1, 1, 8);
    refuses(LAUNCH_MEGATRON, &job,
            "'t5-base' is not a single-stack language model: its Megatron-LM arguments are unknown");
    job = job_example();
    job.technique.rank = 16;
    refuses(
        LAUNCH_MEGATRON, &job,
        "Megatron-LM has no option for lora-rank 16 (rank of LoRA's matrices beside frozen weights; 0: all "
        "weights are trained)");
    job = job_example();
    job.degrees.context = 8, job.sequence = 4104;
    job_spread(&job, 8);
    refuses(LAUNCH_MEGATRON, &job, "cp=8: the 4104 tokens of a sequence are not a multiple of 16");
    job = job_of("bloom-176b", 1, 1, 1, 8);
    refuses(LAUNCH_MEGATRON, &job, "Megatron-LM's arguments have no ALiBi, which 'bloom-176b' has");
    job = job_of("gemma-2b", 1, 1, 1, 8);
    refuses(LAUNCH_MEGATRON, &job,
            "Megatron-LM's arguments have no GELU with a gate (GeGLU), which 'gemma-2b' has");
    job = job_of("opt-125m", 1, 1, 1, 8);
    job.sequence = 2048;
    refuses(LAUNCH_MEGATRON, &job, "Megatron-LM's arguments have no plain ReLU, which 'opt-125m' has");
    job = job_of("gpt-neox-20b", 1, 1, 1, 8);
    job.sequence = 2048;
    refuses(LAUNCH_MEGATRON, &job,
            "Megatron-LM's arguments have no parallel attention and MLP, which 'gpt-neox-20b' has");
}

/* ---- DeepSpeed ---- */

static int64_t integer(const struct doc *doc, const struct doc_node *map, const char *key)
{
    struct error err;
    int64_t value = -1;
    const struct doc_node *node = doc_need(doc, map, key, &err);
    assert_non_null(node);
    assert_true(doc_integer(doc, node, 0, INT64_MAX, &value, &err));
    return value;
}

static void deepspeed_is_json(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 2, 4, 1, 32);
    job.recompute = RECOMPUTE_FULL;
    char *text = written(LAUNCH_DEEPSPEED, &job);
    struct doc doc = json_of(text);
    assert_int_equal(integer(&doc, doc.root, "train_batch_size"), 96);
    assert_int_equal(integer(&doc, doc.root, "train_micro_batch_size_per_gpu"), 1);
    assert_int_equal(integer(&doc, doc.root, "gradient_accumulation_steps"), 24);
    assert_int_equal(integer(&doc, doc_find(doc.root, "zero_optimization"), "stage"), 1);
    assert_true(doc_find(doc_find(doc.root, "bf16"), "enabled")->boolean);
    assert_null(doc_find(doc.root, "fp16"));
    assert_int_equal(integer(&doc, doc_find(doc.root, "pipeline"), "activation_checkpoint_interval"), 1);
    doc_release(&doc);
    free(text);
}

static void deepspeed_has_parts(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 1, 4, 1, 8);
    holds(LAUNCH_DEEPSPEED, &job, "\"partition_method\": \"type:transformer\"");
    job.stage_blocks = (const int[]){7, 9, 9, 7};
    holds(LAUNCH_DEEPSPEED, &job, "\"parts\": [0, 7, 16, 25, 32]");
    holds(LAUNCH_DEEPSPEED, &job, "override its _partition_layers");
    holds_not(LAUNCH_DEEPSPEED, &job, "partition_method");
}

static void deepspeed_refuses_what_it_has_not(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 1, 4, 2, 8);
    refuses(LAUNCH_DEEPSPEED, &job, "DeepSpeed's pipeline is not interleaved: 2 chunks");
    job.chunks = 1, job.sharding = 3;
    refuses(LAUNCH_DEEPSPEED, &job, "DeepSpeed's pipeline goes with ZeRO stage 0 or 1, not 3");
}

/* ---- torchtitan ---- */

static void torchtitan_is_toml(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 2, 2, 2, 16);
    job.stage_blocks = (const int[]){2, 30};
    job.sharding = 3, job.recompute = RECOMPUTE_SELECTIVE;
    holds(LAUNCH_TORCHTITAN, &job, "\n[model]\nname = \"llama3\"\nflavor = \"8B\"\n");
    holds(LAUNCH_TORCHTITAN, &job,
          "\n[training]\nlocal_batch_size = 24\nglobal_batch_size = 96\nseq_len = 4096\n"
          "mixed_precision_param = \"bfloat16\"\n");
    holds(
        LAUNCH_TORCHTITAN, &job,
        "\n[parallelism]\ndata_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 4\n"
        "fsdp_reshard_after_forward = \"default\"\ntensor_parallel_degree = 2\ncontext_parallel_degree = 1\n"
        "pipeline_parallel_degree = 2\npipeline_parallel_schedule = \"Interleaved1F1B\"\n"
        "pipeline_parallel_microbatch_size = 1\nmodule_fqns_per_model_part = [\n"
        "    [\"tok_embeddings\", \"layers.0\"],\n    [\"layers.1\", ");
    holds(LAUNCH_TORCHTITAN, &job, "    [\"layers.16\"],\n    [\"layers.17\", ");
    holds(LAUNCH_TORCHTITAN, &job, "\"layers.31\", \"norm\", \"output\"],\n]\n");
    holds(LAUNCH_TORCHTITAN, &job,
          "\n[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n");
    job.type = COST_FP8, job.technique.recipe = RECIPE_ROWWISE;
    holds(LAUNCH_TORCHTITAN, &job, "\n[quantize.linear.float8]\nrecipe_name = \"rowwise\"\n");
}

static void torchtitan_is_python_since_2026(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 2, 2, 2, 16);
    job.stage_blocks = (const int[]){2, 30};
    job.sharding = 3, job.recompute = RECOMPUTE_SELECTIVE;
    holds(LAUNCH_TORCHTITAN_PYTHON, &job,
          "\nfrom torchtitan.distributed.activation_checkpoint import SelectiveAC\n"
          "from torchtitan.models.llama3 import model_registry\n"
          "from torchtitan.models.llama3.config_registry import llama3_8b\n"
          "from torchtitan.trainer import Trainer\n\n\n"
          "def llama3_8b_rehearsed() -> Trainer.Config:\n    config = llama3_8b()\n");
    holds(LAUNCH_TORCHTITAN_PYTHON, &job,
          "    training.num_tokens_per_microbatch_per_dp_rank = 1 * 4096\n"
          "    training.num_tokens_per_train_step = 96 * 4096\n");
    holds(LAUNCH_TORCHTITAN_PYTHON, &job,
          "    parallelism.pipeline_parallel_degree = 2\n"
          "    parallelism.pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
          "    parallelism.num_pp_microbatches = 24\n"
          "    parallelism.module_fqns_per_model_part = [\n        [\"tok_embeddings\", \"layers.0\"],\n");
    holds(LAUNCH_TORCHTITAN_PYTHON, &job, "\"layers.31\", \"norm\", \"lm_head\"],\n    ]\n");
    holds(LAUNCH_TORCHTITAN_PYTHON, &job, "    config.activation_checkpoint = SelectiveAC.Config()\n");
    job = job_of("mixtral-8x7b", 1, 1, 1, 8);
    refuses(LAUNCH_TORCHTITAN_PYTHON, &job,
            "torchtitan's registry has no function for 'mixtral-8x7b': its sizes are Python there");
}

static void torchtitan_accumulates_without_a_pipeline(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 1, 1, 1, 8);
    job.microbatch = 2;
    holds(LAUNCH_TORCHTITAN, &job, "local_batch_size = 2\nglobal_batch_size = 192\n");
    holds(LAUNCH_TORCHTITAN, &job, "# no option: ZeRO 1;");
    job.sharding = 0;
    holds(LAUNCH_TORCHTITAN, &job, "data_parallel_replicate_degree = 8\ndata_parallel_shard_degree = 1\n");
}

static void torchtitan_refuses_what_it_has_not(void **state)
{
    (void)state;
    struct job job = job_example();
    job.type = COST_FP16;
    refuses(LAUNCH_TORCHTITAN, &job, "torchtitan does not train in fp16");
    job = job_of("mixtral-8x7b", 1, 1, 1, 8);
    job.degrees.expert = 8, job.sharding = 0;
    refuses(LAUNCH_TORCHTITAN, &job,
            "torchtitan spreads experts over sharded ranks: 1 are not a multiple of expert parallel 8");
}

/* ---- torch.distributed.pipelining ---- */

static void pipelining_splits(void **state)
{
    (void)state;
    struct job job = job_of("llama-3-8b", 1, 2, 2, 2);
    char *text = written(LAUNCH_PIPELINING, &job);
    assert_string_equal(
        text,
        "# PyTorch 2.6: llama-3-8b on 2 devices: tensor 1 x pipeline 2 (2 chunks) x context 1 x data 1, 24 "
        "micro-batches\n"
        "# for pipeline(module, mb_args, split_spec=split_spec) of a module whose blocks are `layers`\n"
        "# set elsewhere: sharded optimizer states, gradients or parameters\n"
        "from torch.distributed.pipelining import ScheduleInterleaved1F1B, SplitPoint\n\n"
        "split_spec = {\n"
        "    \"layers.8\": SplitPoint.BEGINNING,  # rank 1\n"
        "    \"layers.16\": SplitPoint.BEGINNING,  # rank 0\n"
        "    \"layers.24\": SplitPoint.BEGINNING,  # rank 1\n"
        "}\nschedule_class = ScheduleInterleaved1F1B\nn_microbatches = 24\nmicrobatch_size = 1\n");
    free(text);
}

static void pipelining_refuses_what_it_has_not(void **state)
{
    (void)state;
    struct job job = job_example();
    refuses(LAUNCH_PIPELINING, &job, "one stage: there is nothing to split");
    job = job_of("llama-3-8b", 1, 4, 2, 8);
    job.batch = 13 * (int64_t)job.degrees.data; /* three rounds of 4, and one more */
    refuses(LAUNCH_PIPELINING, &job,
            "13 micro-batches cannot be divided into equal groups for 4 interleaved stages");
    job.chunks = 1;
    job.stage_blocks = (const int[]){16, 16, 0, 0};
    refuses(LAUNCH_PIPELINING, &job, "stage 2 begins without a block");
}

/* ---- Oobleck ---- */

static struct job pipeline_of(const char *model, int tensor, int pipeline, int devices)
{
    struct job job = job_of(model, tensor, pipeline, 1, devices);
    job.sharding = 0;
    return job;
}

static double number(const struct doc *doc, const struct doc_node *map, const char *key)
{
    struct error err;
    double value = -1.0;
    const struct doc_node *node = doc_need(doc, map, key, &err);
    assert_non_null(node);
    assert_true(doc_number(doc, node, 0.0, INFINITY, &value, &err));
    return value;
}

static void oobleck_has_one_template(void **state)
{
    (void)state;
    struct job job = pipeline_of("llama-3-8b", 2, 4, 16);
    job.stage_blocks = (const int[]){7, 9, 9, 7};
    holds(
        LAUNCH_OOBLECK, &job,
        "{\n  \"schema_version\": 1,\n  \"fingerprint\": {\n    \"model\": \"llama-3-8b\",\n"
        "    \"dtype\": \"bfloat16\",\n    \"tensor_parallel_size\": 2,\n    \"hardware\": \"h100-sxm\",\n");
    holds(LAUNCH_OOBLECK, &job,
          "      \"template_id\": \"llama-3-8b-stages-4\",\n      \"layer_ranges\": [\n        [0, 7],\n"
          "        [7, 16],\n        [16, 25],\n        [25, 32]\n      ],\n      \"tensor_parallel_size\": "
          "2,\n");
    holds(LAUNCH_OOBLECK, &job, "\"max_microbatches\": null,\n");
}

/* T1: all stages; T3: the slowest, of equally slow ones the last, and those behind it. */
static void oobleck_sums_the_stages(void **state)
{
    (void)state;
    static const enum recompute kinds[] = {RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct job job = pipeline_of("llama-3-8b", 2, 4, 16);
        job.recompute = kinds[i];
        job.stage_blocks = (const int[]){7, 10, 10, 5};
        struct job_layers layers = job_layers_of(&job);
        double seconds[4], whole = 0.0, memory = 0.0;
        for (int stage = 0, first = 0; stage < 4; first += job.stage_blocks[stage++]) {
            struct job_layer layer = job_stage(&job, &layers, stage, first, first + job.stage_blocks[stage]);
            struct job_memory held = job_stage_memory(&job, &layers, stage, &layer);
            double persistent = held.parameters + held.gradients + held.optimizer;
            seconds[stage] = job_pass_seconds(&layer.pass);
            whole += seconds[stage];
            memory = persistent > memory ? persistent : memory;
        }
        char *text = written(LAUNCH_OOBLECK, &job);
        struct doc doc = json_of(text);
        const struct doc_node *template = doc_find(doc.root, "templates")->first_child;
        assert_int_equal(integer(&doc, template, "paper_bottleneck_stage"), 2);
        near(number(&doc, template, "paper_t1"), whole);
        near(number(&doc, template, "paper_t3"), seconds[2] + seconds[3]);
        near(number(&doc, template, "forward_time") + number(&doc, template, "backward_time"), seconds[2]);
        near(number(&doc, template, "communication_time"), job_time(&job).data);
        assert_int_equal(integer(&doc, template, "persistent_memory"), (int64_t)memory);
        doc_release(&doc);
        free(text);
    }
}

static void oobleck_is_a_plan_of_ours_too(void **state)
{
    (void)state;
    struct job job = pipeline_of("llama-3-8b", 2, 2, 8);
    char *text = written(LAUNCH_OOBLECK, &job);
    struct plan plan;
    struct error err;
    if (!plan_parse(&plan, "oobleck.json", text, strlen(text), &err))
        fail_msg("%s", err.text);
    assert_true(plan.pipelines[0].copies == 1 && plan.pipelines[0].stage_count == 2);
    const struct plan_stage *stages = plan.pipelines[0].stages;
    assert_int_equal(plan.asked_microbatches, 24);
    assert_int_equal(plan.global_batch, 24);
    assert_int_equal(stages[0].layers.first, 0);
    assert_int_equal(stages[0].layers.last, 16); /* the embedding and 16 blocks */
    assert_int_equal(stages[0].degrees.tensor, 2);
    assert_int_equal(stages[1].layers.first, 17);
    assert_int_equal(stages[1].layers.last, 33); /* the head */
    assert_true(plan.memory == job_memory(&job).total);
    /* what only the whole plan has is unknown, and not 0 */
    assert_true(isnan(plan.iteration_time) && isnan(plan.lower_bound) && isnan(plan.expected));
    assert_true(isnan(plan.budget.seconds) && isnan(plan.shards_share));
    assert_true(plan.prefetch == -1 && plan.keeps_gathered == -1);
    plan_release(&plan);
    free(text);
}

static void oobleck_says_what_is_set_elsewhere(void **state)
{
    (void)state;
    struct job job = pipeline_of("llama-3-8b", 1, 2, 8);
    holds_not(LAUNCH_OOBLECK, &job, "recomputation");
    job.recompute = RECOMPUTE_FULL, job.type = COST_FP8, job.technique.rank = 8;
    holds(LAUNCH_OOBLECK, &job, "\"dtype\": \"bfloat16\"");
    holds(LAUNCH_OOBLECK, &job, "\"recomputation: the model's own code\"");
    holds(LAUNCH_OOBLECK, &job, "\"products of another type than dtype:");
    holds(LAUNCH_OOBLECK, &job, "frozen weights (LoRA): the model's own code\"");
}

static void oobleck_refuses_what_it_has_not(void **state)
{
    (void)state;
    struct job job = pipeline_of("llama-3-8b", 1, 4, 8);
    job.chunks = 2;
    refuses(LAUNCH_OOBLECK, &job, "Oobleck's pipelines are not interleaved: 2 chunks");
    job.chunks = 1, job.sharding = 1;
    refuses(LAUNCH_OOBLECK, &job, "Oobleck's pipelines share no states: ZeRO stage 0, not 1");
    job.sharding = 0;
    job.stage_blocks = (const int[]){16, 16, 0, 0};
    refuses(LAUNCH_OOBLECK, &job, "stage 2 has no block, which Oobleck refuses");
    job = pipeline_of("llama-3-8b", 1, 2, 8);
    job.degrees.context = 2;
    job_spread(&job, 8);
    refuses(LAUNCH_OOBLECK, &job, "Oobleck has no context parallelism: degree 2");
    job = pipeline_of("mixtral-8x7b", 1, 2, 16);
    job.degrees.expert = 8;
    refuses(LAUNCH_OOBLECK, &job, "Oobleck has no expert parallelism: degree 8");
    job = pipeline_of("llama-3-8b", 16, 1, 16);
    refuses(LAUNCH_OOBLECK, &job,
            "a stage of Oobleck's is on one node: tensor parallel 16, nodes of 8 devices");
    job = pipeline_of("t5-base", 1, 2, 8);
    refuses(LAUNCH_OOBLECK, &job, "'t5-base' is not a single list of blocks");
}

/* ---- names ---- */

static void a_name_cannot_end_a_comment_or_a_quote(void **state)
{
    (void)state;
    struct job job = job_example();
    struct architecture model = *job.model;
    model.name = "a\nb\"c";
    job.model = &model;
    holds(LAUNCH_MEGATRON, &job, "# Megatron-Core 0.15: a?b?c on 8 devices");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_fails_its_check_is_not_written),
        cmocka_unit_test(one_stage_is_not_interleaved),
        cmocka_unit_test(megatron_says_all_of_a_dense_job),
        cmocka_unit_test(megatron_has_experts),
        cmocka_unit_test(megatron_shards),
        cmocka_unit_test(megatron_counts_embedding_and_head_as_blocks),
        cmocka_unit_test(megatron_has_uneven_ends),
        cmocka_unit_test(megatron_has_a_layout_for_the_rest),
        cmocka_unit_test(megatron_groups_micro_batches_without_a_short_rest),
        cmocka_unit_test(megatron_says_what_is_lost),
        cmocka_unit_test(megatron_states_facts_that_take_no_time),
        cmocka_unit_test(megatron_refuses_what_it_has_not),
        cmocka_unit_test(deepspeed_is_json),
        cmocka_unit_test(deepspeed_has_parts),
        cmocka_unit_test(deepspeed_refuses_what_it_has_not),
        cmocka_unit_test(torchtitan_is_toml),
        cmocka_unit_test(torchtitan_is_python_since_2026),
        cmocka_unit_test(torchtitan_accumulates_without_a_pipeline),
        cmocka_unit_test(torchtitan_refuses_what_it_has_not),
        cmocka_unit_test(pipelining_splits),
        cmocka_unit_test(pipelining_refuses_what_it_has_not),
        cmocka_unit_test(oobleck_has_one_template),
        cmocka_unit_test(oobleck_sums_the_stages),
        cmocka_unit_test(oobleck_is_a_plan_of_ours_too),
        cmocka_unit_test(oobleck_says_what_is_set_elsewhere),
        cmocka_unit_test(oobleck_refuses_what_it_has_not),
        cmocka_unit_test(a_name_cannot_end_a_comment_or_a_quote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
