/* A small file of each software's launch description, and what its reader makes of it. */
#include "launch/texts.h"
#include "support/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum launch_use use_of(const struct launch_options *options, const char *name)
{
    for (int i = 0; i < options->argument_count; i++)
        if (strcmp(options->arguments[i].name, name) == 0)
            return options->arguments[i].use;
    fail_msg("no %s", name);
    return LAUNCH_UNKNOWN;
}

static void megatron_of_2021(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "run.sh",
        "#SBATCH --nodes=16 --ntasks-per-node=8\r\noptions=\" \\\r\n --tensor-model-parallel-size 8 \\\r\n"
        " --num-layers 4 --hidden-size 64 --num-attention-heads 4 --micro-batch-size 1 \\\r\n"
        " --checkpoint-activations --DDP-impl local --fp16 \"\r\n"
        "srun sh -c \"python pretrain_gpt.py $@ ${options}\"\r\n",
        NULL);
    assert_string_equal(options.software, "megatron-2021");
    is(options.devices, 128);
    is(options.recompute, RECOMPUTE_FULL);
    is(options.type, COST_FP16);
    is(options.sharding, 0);
    is(options.accumulation, 1);
    assert_int_equal(options.tensor.line, 3);
    launch_options_release(&options);
}

/* Options that a script sets for another one, which is not here. */
static void megatron_in_a_variable(void **state)
{
    (void)state;
    static const char script[] = "SIZE=1B\nif [ ${SIZE} == \"1B\" ]; then\n TP=1; NLS=24\nelif [ ${SIZE} == "
                                 "\"2B\" ]; then\n TP=2; NLS=30\n"
                                 "else\n echo \"Invalid size\"\n exit 1\nfi\n"
                                 "export PARAMS=\" --tensor-model-parallel-size ${TP} --num-layers ${NLS} "
                                 "--activations-checkpoint-method uniform\"\n"
                                 "sbatch SRUN.sh\nexit 0\n";
    static const char *const second[] = {"SIZE=2B", NULL};
    struct launch_options options = text_reads("run.sh", script, NULL);
    is(options.tensor, 1);
    is(options.layers, 24);
    launch_options_release(&options);
    options = text_reads("run.sh", script, second);
    is(options.tensor, 2);
    is(options.layers, 30);
    launch_options_release(&options);
    static const char *const wrong[] = {"SIZE=9B", NULL};
    const struct launch_input input = {
        .path = "run.sh", .data = script, .length = strlen(script), .given = wrong, .is_alone = true};
    struct error err;
    assert_false(launch_read(&options, &input, &err));
    assert_string_equal(err.text, "run.sh:8: the script stops here with exit 1: Invalid size");
}

/* Megatron-DeepSpeed's own names: without them 52 billion parameters would be 103, on ranks that share no experts. */
static void megatron_deepspeed_has_names_of_its_own(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "run.sh",
        "deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 "
        "--seq-length 2048 --micro-batch-size 1 --num-experts 128 --moe-expert-parallel-size 8 "
        "--num-key-value-heads 4 --ds-sequence-parallel-size 2 --cpu-optimizer --mlp-type residual "
        "--deepspeed --zero-stage 1 --no-pipeline-parallel --vocab-size 50257\n",
        NULL);
    is(options.expert, 8);
    is(options.experts_every, 2);
    is(options.active_experts, 1);
    is(options.kv_heads, 4);
    is(options.context, 2);
    is(options.technique[TECHNIQUE_CONTEXT_KIND], CONTEXT_ULYSSES);
    is(options.technique[TECHNIQUE_OFFLOAD], 100);
    assert_int_equal(use_of(&options, "--mlp-type"), LAUNCH_UNMODELLED);
    assert_int_equal(use_of(&options, "--no-pipeline-parallel"), LAUNCH_IDLE);
    launch_options_release(&options);
}

/* Sizes of latent attention count with its switch only, as Megatron-LM has them. */
static void latent_attention_needs_its_switch(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "run.sh", "python pretrain_gpt.py --num-layers 4 --kv-lora-rank 512 --q-lora-rank 64\n", NULL);
    assert_false(options.kv_rank.given);
    assert_false(options.query_rank.given);
    launch_options_release(&options);
    options = text_reads(
        "run.sh", "python pretrain_gpt.py --num-layers 4 --kv-lora-rank 512 --multi-latent-attention\n",
        NULL);
    is(options.kv_rank, 512);
    launch_options_release(&options);
}

/* BERT sees both sides of a token. A command in quotes keeps the backslashes of its lines. */
static void bert_by_its_program(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "run.sh", "run -c 'python /m/pretrain_bert.py \\\n--num-layers 4 \\\n--normalization RMSNorm \\\n'\n",
        NULL);
    is(options.bidirectional, 1);
    is(options.layers, 4);
    is(options.rms_norm, 1);
    launch_options_release(&options);
}

static void megatron_in_yaml(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "model_config.yaml",
        "ENV_VARS:\n  A: 1\nMODEL_ARGS:\n  --tensor-model-parallel-size: 2\n  "
        "--pipeline-model-parallel-size: 4\n"
        "  --pipeline-model-parallel-layout: Et*2|(tt|)*5t|tmL\n  --micro-batch-size: 1\n  --bf16: true\n"
        "  --num-experts: 64\n  --moe-layer-freq: ([0]*3+[1]*11)\n  --group-query-attention: false\n"
        "  --step-batch-size-schedule: \"0:384 200B:768\"\n  --save: ${CHECKPOINT}\n",
        NULL);
    is(options.tensor, 2);
    is(options.chunks, 2);
    is(options.dense_layers, 3);
    is(options.batch, 768);
    is(options.type, COST_BF16);
    assert_int_equal(use_of(&options, "--step-batch-size-schedule"), LAUNCH_UNMODELLED);
    assert_int_equal(options.missing_count, 0);
    launch_options_release(&options);
}

static void deepspeed_in_a_script(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "run.slurm",
        "#SBATCH --nodes=4\n#SBATCH --gres=gpu:4\n#SBATCH --constraint=v100-32g\nMBS=2\nZ=1\n"
        "cat <<EOT > ds.$ID.json\n{\"train_micro_batch_size_per_gpu\": $MBS, \"train_batch_size\": 64,\n"
        " \"zero_optimization\": {\"stage\": $Z}, \"fp16\": {\"enabled\": true}}\nEOT\n"
        "export CMD=\" `pwd`/pretrain_gpt.py --num-layers 4 --micro-batch-size $MBS --global-batch-size 64 "
        "--fp16 \\\n"
        " --deepspeed --zero-stage $Z --deepspeed_config ds.$ID.json\"\n"
        "clear; srun bash -c '$LAUNCHER --node_rank $RANK $CMD'\n",
        NULL);
    assert_string_equal(options.software, "megatron-deepspeed");
    assert_string_equal(options.device, "v100-32gb");
    is(options.devices, 16);
    is(options.sharding, 1);
    is(options.microbatch, 2);
    is(options.batch, 64);
    launch_options_release(&options);
}

/* Two switches, or since version 6.0 an implementation and its scope. */
static void graphs_of_mlperf(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool whole;
    } cases[] = {
        {"MCORE_CUDA_GRAPH=1 FULL_CUDA_GRAPH=1", true},
        {"MCORE_CUDA_GRAPH=1 FULL_CUDA_GRAPH=0", false},
        {"CUDA_GRAPH_IMPLEMENTATION=local CUDA_GRAPH_SCOPE=full_iteration", true},
        {"CUDA_GRAPH_IMPLEMENTATION=transformer_engine CUDA_GRAPH_SCOPE=attn", false},
        {"CUDA_GRAPH_IMPLEMENTATION=none CUDA_GRAPH_SCOPE=full_iteration", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "export MODEL_SIZE=20b MINIBS=8 TENSOR_MODEL_PARALLEL=1 MICRO_BATCH_SIZE=1 %s\n",
                 cases[i].text);
        struct launch_options options = text_reads("a/config.sh", text, NULL);
        launch_complete(&options);
        assert_int_equal(options.technique[TECHNIQUE_GRAPHS].given, cases[i].whole);
        launch_options_release(&options);
    }
}

/* The model is that of the size, of a name, or of files that are sourced; one with experts is not guessed. */
static void models_of_mlperf(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text, *model;
        int64_t sequence, newest;
    } cases[] = {
        {"a/config.sh", "export MODEL_SIZE=671b EXPERT_PARALLEL=32", "deepseek-v3", 4096, 1},
        {"a/config.sh", "export MODEL_SIZE=20b EXPERT_PARALLEL=1", "gpt-oss-20b", 8192, 1},
        {"gpt-oss/config.sh", "export EXPERT_PARALLEL=1 MOE_PERMUTE_FUSION=True", "gpt-oss-20b", 8192, 1},
        {"deepseekv3_671b/config.sh", "export EXPERT_PARALLEL=32", "deepseek-v3", 4096, 1},
        {"a/config.sh", "export MODEL_SIZE=405b", "llama-3.1-405b", 8192, 0},
        {"a/config_8x8_8b.sh", "source config_common.sh", "llama-3.1-8b", 8192, 0},
        {"a/config_8x8_8b.sh", "export EXPERT_PARALLEL=1", "llama-3.1-8b", 8192, 0},
        {"a/config.sh", "source config_common_405b.sh", "llama-3.1-405b", 8192, 0},
        {"a/config.sh", "export PIPELINE_MODEL_PARALLEL=1", "gpt3-175b", 2048, 0},
        {"a/config.sh", "export MOE_GROUPED_GEMM=True", NULL, 0, 1},
        {"a/config.sh", "export MODEL_SIZE=7b", NULL, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "export MINIBS=8 TENSOR_MODEL_PARALLEL=1 MICRO_BATCH_SIZE=1\n%s\n",
                 cases[i].text);
        struct launch_options options = text_reads(cases[i].path, text, NULL);
        assert_int_equal(options.missing_count, cases[i].model ? 0 : 1);
        if (cases[i].model) {
            assert_string_equal(options.model_name, cases[i].model);
            is(options.sequence, cases[i].sequence);
        } else
            assert_string_equal(options.missing[0].name, "the model");
        assert_string_equal(options.software, cases[i].newest ? "megatron-core" : "megatron-core-2024");
        launch_options_release(&options);
    }
}

static void mlperf(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "config_DGXH100_64x8x128.sh",
        "source $(dirname ${BASH_SOURCE[0]})/config_common.sh\nexport MINIBS=\"${MINIBS:=128}\"\n"
        "export TENSOR_MODEL_PARALLEL=4\nexport PIPELINE_MODEL_PARALLEL=8\nexport INTERLEAVED_PIPELINE=null\n"
        "export FP8=True\nexport FP8_PARAM_GATHER=True\nexport MODEL_SIZE=\"405b\"\nexport "
        "ASYM_PP_LOSS=True\n"
        "export DGXNNODES=64\nif [[ $(($MINIBS % PIPELINE_MODEL_PARALLEL)) != 0 ]]; then exit 1; fi\n",
        NULL);
    assert_string_equal(options.device, "h100");
    assert_string_equal(options.model_name, "llama-3.1-405b");
    is(options.devices, 512);
    is(options.rank_batch, 128);
    is(options.chunks, 1);
    is(options.type, COST_FP8);
    is(options.counts_head, 1);
    is(options.sharding, 1);
    is(options.technique[TECHNIQUE_PARAMETERS], FORMAT_FP8);
    is(options.technique[TECHNIQUE_GRADIENTS], FORMAT_BF16);
    assert_int_equal(options.note_count, 1); /* the sourced file */
    launch_options_release(&options);
    options = text_reads(
        "config.sh", "export MINIBS=1 TENSOR_MODEL_PARALLEL=2 EXPERT_PARALLEL=8 MODEL_SIZE=20b DGXNNODES=8\n",
        NULL);
    is(options.technique[TECHNIQUE_EXPERT_TENSOR], 1);
    launch_options_release(&options);
}

static void torchtitan(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "llama3.toml",
        "# 64 devices\n[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nlocal_batch_size = 2 # "
        "sequences\n"
        "seq_len = 8_192\n[parallelism]\ntensor_parallel_degree = 8\ndata_parallel_shard_degree = -1\n"
        "[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = \"op\"\n[compile]\nenable=true\n"
        "[optimizer]\nlr = 3e-4\n",
        NULL);
    assert_string_equal(options.software, "torchtitan");
    assert_string_equal(options.model_name, "llama-3-70b");
    is(options.tensor, 8);
    is(options.rank_batch, 2);
    is(options.microbatch, 2);
    is(options.sharding, 3);
    is(options.recompute, RECOMPUTE_SELECTIVE);
    is(options.type, COST_BF16);
    launch_options_release(&options);
    options =
        text_reads("a.toml", "[training]\nsteps = 1\n[parallelism]\npipeline_parallel_degree = 2\n", NULL);
    assert_string_equal(options.software, "torchtitan-eager");
    is(options.rank_batch, 8);
    is(options.microbatch, 1);
    is(options.sequence, 2048);
    is(options.sharding, 3); /* its stages keep their parameters gathered */
    is(options.recompute, RECOMPUTE_FULL);
    is(options.technique[TECHNIQUE_LAYERS], 2);
    launch_options_release(&options);
}

static void deepspeed(void **state)
{
    (void)state;
    struct launch_options options =
        text_reads("ds.json",
                   "{\"train_micro_batch_size_per_gpu\": 8, \"gradient_accumulation_steps\": 3, \"fp16\": "
                   "{\"enabled\": true},\n"
                   " \"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"nvme\"}}}",
                   NULL);
    is(options.microbatch, 8);
    is(options.accumulation, 3);
    is(options.sharding, 2);
    is(options.type, COST_FP16);
    is(options.technique[TECHNIQUE_OFFLOAD], 100);
    is(options.technique[TECHNIQUE_OFFLOAD_TO], PLACE_NVME);
    launch_options_release(&options);
    text_refused(
        "ds.json",
        "{\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": "
        "8,\n\"gradient_accumulation_steps\": 3,\n"
        "\"zero_optimization\": {\"stage\": 4},\n\"fp16\": {\"enabled\": true},\n\"bf16\": {\"enabled\": "
        "true}}",
        "ds.json:3: zero_optimization.stage: expected one of 0, 1, 2, 3, found '4'; "
        "ds.json:1: train_batch_size: 64 is not a multiple of micro-batch 8 x 3 accumulation steps, for any "
        "number of devices; "
        "ds.json:5: bf16.enabled and fp16.enabled (line 4) are both true, which DeepSpeed refuses");
}

static void neox(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "20B.yml",
        "# as trained\n{\n \"pipe_parallel_size\": 4,\n \"model-parallel-size\": 2,\n \"num_layers\": "
        "44, # blocks\n"
        " \"hidden_size\": 6144, \"num_attention_heads\": 64, \"seq_length\": 2048, "
        "\"no_weight_tying\": true,\n"
        " \"zero_optimization\": {\"stage\": 1, \"overlap_comm\": True,},\n "
        "\"train_micro_batch_size_per_gpu\": 4,\n"
        " \"gradient_accumulation_steps\": 32, \"checkpoint_activations\": true,\n"
        " \"fp16\": {\"fp16\": true, \"enabled\": true,},\n}\n",
        NULL);
    is(options.tensor, 2);
    is(options.pipeline, 4);
    is(options.accumulation, 32);
    is(options.recompute, RECOMPUTE_FULL);
    is(options.type, COST_FP16);
    is(options.tied, 0);
    is(options.sharding, 1);
    launch_options_release(&options);
}

static void nemo(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "llama.yaml",
        "run: {name: x, results_dir: '${base}/${.name}'}\ntrainer: {num_nodes: 36, devices: 8, precision: "
        "bf16}\n"
        "model:\n  micro_batch_size: 1\n  global_batch_size: 2016\n  tensor_model_parallel_size: 8\n"
        "  pipeline_model_parallel_size: 9\n  virtual_pipeline_model_parallel_size: 7\n  num_layers: 126\n"
        "  hidden_size: 16384\n  num_attention_heads: 128\n  num_query_groups: 16\n  activation: "
        "fast-swiglu\n"
        "  bias: false\n  normalization: rmsnorm\n  encoder_seq_length: 8192\n  fp8: False\n"
        "  activations_checkpoint_granularity: null\n  share_embeddings_and_output_weights: false\n"
        "  optim: {name: mcore_distributed_optim, lr: 1e-4}\n",
        NULL);
    is(options.devices, 288);
    is(options.chunks, 7);
    is(options.kv_heads, 16);
    is(options.gated, 1);
    is(options.biased, 0);
    is(options.tied, 0);
    is(options.sharding, 1);
    is(options.type, COST_BF16);
    is(options.recompute, RECOMPUTE_NONE);
    launch_options_release(&options);
}

static void nanotron(void **state)
{
    (void)state;
    struct launch_options options =
        text_reads("config.yaml",
                   "model:\n  dtype: bfloat16\n  model_config: {hidden_size: 512, intermediate_size: 2048, "
                   "num_attention_heads: 8,\n"
                   "    num_hidden_layers: 6, num_key_value_heads: 8, vocab_size: 32000, moe_num_experts: 4, "
                   "num_experts_per_tok: 1}\n"
                   "optimizer: {zero_stage: 0}\nparallelism: {dp: 2, tp: 2, pp: 1, expert_parallel_size: 2, "
                   "tp_mode: ALL_REDUCE}\n"
                   "tokens: {batch_accumulation_per_replica: 2, micro_batch_size: 4, sequence_length: 256}\n",
                   NULL);
    is(options.devices, 8);
    is(options.tensor, 2);
    is(options.expert, 2);
    is(options.accumulation, 2);
    is(options.experts, 4);
    launch_options_release(&options);
}

static void axolotl(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "qlora.yaml",
        "base_model: org/Meta-Llama-3.1-405B-BNB-NF4-BF16\nload_in_4bit: true\nadapter: qlora\nsequence_len: "
        "2048\n"
        "sample_packing: true\ngradient_accumulation_steps: 4\nbf16: true\ngradient_checkpointing: true\n"
        "optimizer: adamw_torch_fused\nfsdp:\n  - full_shard\n  - auto_wrap\nfsdp_config: "
        "{fsdp_offload_params: true}\n",
        NULL);
    is(options.frozen, 1);
    is(options.microbatch, 1);
    is(options.accumulation, 4);
    is(options.sharding, 3);
    is(options.recompute, RECOMPUTE_FULL);
    assert_int_equal(use_of(&options, "fsdp_config.fsdp_offload_params"), LAUNCH_UNMODELLED);
    const struct architecture *model;
    struct error err;
    bool known;
    assert_true(launch_model(&options, &model, &known, &err));
    assert_true(known);
    assert_string_equal(model->name, "llama-3.1-405b");
    launch_options_release(&options);
}

static void factory(void **state)
{
    (void)state;
    struct launch_options options =
        text_reads("sft.yaml",
                   "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\n"
                   "deepspeed: examples/ds_z3_config.json\ncutoff_len: 4096\nbf16: true\n",
                   NULL);
    is(options.microbatch, 8);
    is(options.accumulation, 1);
    is(options.sequence, 4096);
    is(options.recompute, RECOMPUTE_FULL);
    assert_false(options.frozen.given);
    launch_options_release(&options);
    options = text_reads(
        "moe.yaml",
        "model_name_or_path: Qwen/Qwen3-30B-A3B-Instruct-2507\nstage: sft\nfinetuning_type: full\n"
        "per_device_train_batch_size: 1\npipeline_model_parallel_size: 4\nexpert_model_parallel_size: 2\n"
        "use_distributed_optimizer: true\nrecompute_granularity: full\nbf16: true\n",
        NULL);
    assert_string_equal(options.software, "megatron-core");
    is(options.pipeline, 4);
    is(options.sharding, 1);
    launch_options_release(&options);
}

static void foundry(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "mpt.yaml",
        "variables: {max_seq_len: 2048}\nmax_seq_len: ${variables.max_seq_len}\n"
        "model: {name: mpt_causal_lm, d_model: 8192, n_heads: 64, n_layers: 80, expansion_ratio: 4, "
        "vocab_size: 50368}\n"
        "global_train_batch_size: 2048\ndevice_train_microbatch_size: 4\nprecision: amp_bf16\n"
        "fsdp_config: {sharding_strategy: FULL_SHARD, activation_checkpointing: true}\n",
        NULL);
    is(options.sequence, 2048);
    is(options.ffn, 32768);
    is(options.batch, 2048);
    is(options.microbatch, 4);
    is(options.sharding, 3);
    is(options.recompute, RECOMPUTE_FULL);
    launch_options_release(&options);
}

static void primus(void **state)
{
    (void)state;
    static const char megatron[] =
        "modules:\n  pre_trainer:\n    framework: megatron\n    model: ${PRIMUS_MODEL:deepseek_v3}.yaml\n    "
        "overrides:\n"
        "      seq_length: ${PRIMUS_SEQ_LENGTH:4096}\n      pipeline_model_parallel_size: ${PRIMUS_PP:16}\n"
        "      use_precision_aware_optimizer: true\n      exp_avg_dtype: bf16\n      enable_primus_turbo: "
        "true\n";
    static const char *const given[] = {"PRIMUS_PP=8", NULL};
    struct launch_options options = text_reads("a.yaml", megatron, given);
    assert_string_equal(options.model_name, "deepseek_v3");
    is(options.pipeline, 8);
    is(options.sequence, 4096);
    is(options.microbatch, 2);
    is(options.batch, 128);
    is(options.sharding, 1); /* pre_trainer.yaml */
    is(options.technique[TECHNIQUE_MOMENTS], FORMAT_BF16);
    launch_options_release(&options);
    options = text_reads(
        "b.yaml",
        "modules:\n  pre_trainer:\n    framework: torchtitan\n    model: llama3.1_8B.yaml\n    overrides:\n"
        "      training: {local_batch_size: 4, seq_len: 8192}\n      activation_checkpoint: {mode: "
        "\"none\"}\n",
        NULL);
    is(options.rank_batch, 4);
    is(options.recompute, RECOMPUTE_NONE);
    is(options.sharding, 3);
    launch_options_release(&options);
}

static void bridge(void **state)
{
    (void)state;
    static const char script[] = "GPU_TYPE=${GPU_TYPE:?GPU_TYPE is required.}\nGPU_TYPE=${GPU_TYPE,,}\n"
                                 "if [[ -n ${TP-} ]]; then\n  MORE+=\"-tp $TP \"\nfi\ncase $KIND in\n a|b) "
                                 "MORE+=\"-pp 2\" ;;\n *) MORE+=\"-pp 4\" ;;\nesac\n"
                                 "python scripts/performance/setup_experiment.py --model_recipe_name "
                                 "llama3_8b --gpu $GPU_TYPE --num_gpus 64 \\\n"
                                 "  --compute_dtype fp8_cs $MORE --account $ACCOUNT\n";
    static const char *const given[] = {"GPU_TYPE=h100", "TP=2", "KIND=b", NULL};
    struct launch_options options = text_reads("launch.sh", script, given);
    is(options.tensor, 2);
    is(options.pipeline, 2);
    is(options.devices, 64);
    is(options.type, COST_FP8);
    assert_string_equal(options.device, "h100");
    assert_string_equal(options.missing[0].name, "the context parallel degree"); /* of the recipe */
    launch_options_release(&options);
    options = text_reads("launch.sh", script, NULL);
    bool required = false;
    for (int i = 0; i < options.missing_count; i++)
        required |= strcmp(options.missing[i].name, "GPU_TYPE") == 0;
    assert_true(required);
    launch_options_release(&options);
}

/* The command is in a here document, which the processes of torchrun run; run_script.py has a recipe of 8 bits by itself. */
static void bridge_in_a_document(void **state)
{
    (void)state;
    static const char script[] = "GPUS=64\nworker=$(cat <<- EOM\n  cd /opt ;\n  nice -10 \\\n"
                                 "  python scripts/performance/custom_setup_experiment.py \\\n"
                                 "    --gpu gb200 --num_gpus $GPUS --model_recipe_name qwen3_235b_a22b \\\n"
                                 "    --compute_dtype fp8 --fp8_recipe cs --seq_length 4096 \\\n"
                                 "    --expert_model_parallel_size 8 --tensor_model_parallel_size 1\n  echo "
                                 "--micro_batch_size 3\nEOM\n)\n"
                                 "echo \"$worker\" > worker.sh\ntorchrun --no-python bash worker.sh\n";
    struct launch_options options = text_reads("launch.sh", script, NULL);
    assert_string_equal(options.reader, "Megatron-Bridge");
    is(options.devices, 64);
    is(options.expert, 8);
    is(options.tensor, 1);
    is(options.sequence, 4096);
    is(options.type, COST_FP8);
    is(options.technique[TECHNIQUE_RECIPE], RECIPE_TENSORWISE);
    assert_false(options.microbatch.given);
    launch_options_release(&options);
    options =
        text_reads("submit.slurm",
                   "srun bash -c \"python /opt/run_script.py --model_name llama31 --model_size 405b \\\n"
                   "  --compute_dtype fp8 --fp8_recipe mx --gpu gb200 -ng 256 -a dummy\"\n",
                   NULL);
    assert_string_equal(options.model_name, "llama-3.1-405b");
    is(options.devices, 256);
    is(options.technique[TECHNIQUE_RECIPE], RECIPE_MXFP8);
    assert_string_equal(options.missing[0].name, "the tensor parallel degree"); /* of the recipe */
    launch_options_release(&options);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    text_refused("hello.sh", "echo hello world\n",
                 "hello.sh: unknown kind of launch description: no training setting found ('rehearse help "
                 "price' lists the kinds)");
    text_refused("a.toml", "[a]\nb = 1\n",
                 "a.toml: unknown kind of launch description: no training setting found ('rehearse help "
                 "price' lists the kinds)");
    text_refused("a.toml", "[a]\nb = \n", "a.toml:2:5: expected a value");
    text_refused("a.toml", "[a]\nb = 1\nb = 2\n", "a.toml:3:5: b: given twice, first in line 2");
    text_refused("a.yaml", "- 1\n", "a.yaml: expected a map");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(megatron_of_2021),
        cmocka_unit_test(megatron_in_a_variable),
        cmocka_unit_test(megatron_deepspeed_has_names_of_its_own),
        cmocka_unit_test(latent_attention_needs_its_switch),
        cmocka_unit_test(bert_by_its_program),
        cmocka_unit_test(megatron_in_yaml),
        cmocka_unit_test(deepspeed_in_a_script),
        cmocka_unit_test(mlperf),
        cmocka_unit_test(models_of_mlperf),
        cmocka_unit_test(graphs_of_mlperf),
        cmocka_unit_test(torchtitan),
        cmocka_unit_test(deepspeed),
        cmocka_unit_test(bridge_in_a_document),
        cmocka_unit_test(neox),
        cmocka_unit_test(nemo),
        cmocka_unit_test(nanotron),
        cmocka_unit_test(axolotl),
        cmocka_unit_test(factory),
        cmocka_unit_test(foundry),
        cmocka_unit_test(primus),
        cmocka_unit_test(bridge),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
