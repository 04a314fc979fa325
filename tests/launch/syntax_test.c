/* Forms of launch descriptions that public repositories have: loops, slurm's variables, tokenizers, references, models
 * that are not modelled. Each file is made here, with the syntax alone. */
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

#define SIZES "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 "

static struct launch_options reads(const char *path, const char *text)
{
    return text_reads(path, text, NULL);
}

static void vocabulary_is(const char *arguments, int64_t expected)
{
    char text[512];
    snprintf(text, sizeof text, "torchrun pretrain_gpt.py " SIZES "--micro-batch-size 1 %s\n", arguments);
    struct launch_options options = reads("run.sh", text);
    if (expected > 0)
        is(options.vocabulary, expected);
    else
        assert_false(options.vocabulary.given);
    launch_options_release(&options);
}

static void slurm_says_its_variables(void **state)
{
    (void)state;
    struct launch_options options =
        reads("run.slurm", "#SBATCH -N 6\n#SBATCH --gres gpu:h100:4\nNODES=$SLURM_NNODES\n"
                           "srun torchrun --nnodes $NODES --nproc_per_node 4 pretrain_gpt.py " SIZES
                           "--micro-batch-size 1 --tensor-model-parallel-size $SLURM_JOB_NUM_NODES\n");
    is(options.nodes, 6);
    is(options.devices, 24);
    is(options.tensor, 6);
    assert_string_equal(options.device, "h100");
    assert_int_equal(options.missing_count, 0);
    launch_options_release(&options);
}

static void loops_over_numbers_count_once(void **state)
{
    (void)state;
    struct launch_options options = reads(
        "run.sh", "for ((tp=2; tp<=8; tp*=2)); do\n  for (( i = 0 ; i < 3 ; i++ ))\n  do\n    true\n  done\n"
                  "  torchrun pretrain_gpt.py " SIZES
                  "--micro-batch-size $((i + 3)) --tensor-model-parallel-size $tp\ndone\n");
    is(options.tensor, 2);
    is(options.microbatch, 3);
    launch_options_release(&options);
}

/* An empty array in quotes is no word; an empty variable is one. */
static void arrays_without_words(void **state)
{
    (void)state;
    struct launch_options options =
        reads("run.sh", "MORE=()\nif [ 1 -gt 2 ]; then\n  MORE+=(--bf16)\nfi\n"
                        "torchrun pretrain_gpt.py " SIZES "--micro-batch-size 8 \"${MORE[@]}\" \"$@\" "
                        "--tensor-model-parallel-size 2 \"${MORE[@]}\"\n");
    is(options.microbatch, 8);
    is(options.tensor, 2);
    launch_options_release(&options);
}

static void commands_in_place_of_files(void **state)
{
    (void)state;
    struct launch_options options = reads(
        "run.sh", "mapfile -t HOSTS < <(scontrol show hostnames \"$LIST\")\nexec > >(tee \"log (1)\") 2>&1\n"
                  "while read -r name; do\n  KEPT+=(\"$name\")\ndone < <(env | grep \"^A_(B|C)\")\n"
                  "diff <(sort a) <(sort b)\n"
                  "torchrun pretrain_gpt.py " SIZES "--micro-batch-size 4\n");
    is(options.microbatch, 4);
    launch_options_release(&options);
}

/* NAME=<what is to be written here> is a variable that is not set: where its value has no effect, nothing is missing. */
static void placeholders_are_not_set(void **state)
{
    (void)state;
    static const char text[] = "DATA=<path to the data>\nexport TP=<n>  \nMBS=2\n"
                               "python pretrain_gpt.py " SIZES "--data-path $DATA --vocab-file ${DATA} "
                               "--micro-batch-size $MBS --tensor-model-parallel-size ";
    char made[sizeof text + 64];
    snprintf(made, sizeof made, "%s1\n", text);
    struct launch_options options = text_reads("run.sh", made, NULL);
    is(options.microbatch, 2);
    assert_int_equal(options.missing_count, 0);
    launch_options_release(&options);
    static const char *const given[] = {"TP=4", NULL};
    snprintf(made, sizeof made, "%s$TP\n", text);
    options = text_reads("run.sh", made, given);
    is(options.tensor, 4);
    launch_options_release(&options);
    options = text_reads("run.sh", made, NULL);
    assert_int_equal(options.missing_count, 1);
    launch_options_release(&options);
}

/* What is not known to be run ends no script; what is known not to match does. */
static void regular_expressions_are_answered(void **state)
{
    (void)state;
    static const char check[] = "[[ \"$N\" =~ ^[1-9][0-9]*$ ]] || { echo \"no number: $N\"; exit 1; }\n"
                                "[[ \"$N\" =~ ^(.+)\\1$ ]] || { echo \"not twice\"; exit 1; }\n"
                                "torchrun pretrain_gpt.py " SIZES "--micro-batch-size $N\n";
    char text[512];
    snprintf(text, sizeof text, "N=16\n%s", check);
    struct launch_options options = reads("run.sh", text);
    is(options.microbatch, 16);
    launch_options_release(&options);
    snprintf(text, sizeof text, "N=many\n%s", check);
    text_refused("run.sh", text, "run.sh:2: the script stops here with exit 1: no number: many");
}

static void comments_before_the_end_of_a_case(void **state)
{
    (void)state;
    struct launch_options options =
        reads("run.sh",
              "case 2 in\n 1) TP=1\n  # \"one\" (or two)\n ;;\n 2)\n  TP=4 # here\n  # all\n  ;;\nesac\n"
              "torchrun pretrain_gpt.py " SIZES "--micro-batch-size 1 --tensor-model-parallel-size $TP\n");
    is(options.tensor, 4);
    launch_options_release(&options);
}

static void names_of_files_are_known(void **state)
{
    (void)state;
    struct launch_options options = reads(
        "jobs/run_tp4.sh",
        "HERE=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" >/dev/null 2>&1 && pwd)\nNAME=$(basename $0 .sh)\n"
        "case $HERE/$NAME in jobs/run_tp4) TP=4 ;; *) TP=1 ;; esac\n"
        "torchrun pretrain_gpt.py " SIZES "--micro-batch-size 1 --tensor-model-parallel-size $TP\n");
    is(options.tensor, 4);
    launch_options_release(&options);
}

/* Words as published in the models' own configurations. */
static void tokenizers_have_words(void **state)
{
    (void)state;
    vocabulary_is("--tokenizer-type Llama2Tokenizer --tokenizer-model $T", 32000);
    vocabulary_is("--tokenizer-type HuggingFaceTokenizer --tokenizer-model Qwen/Qwen3-0.6B", 151936);
    vocabulary_is("--tokenizer-type HuggingFaceTokenizer --tokenizer-model /m/Meta-Llama-3-8B-x", 128256);
    vocabulary_is("--tokenizer-type GPTSentencePieceTokenizer --tokenizer-model /d/words_256k.model", 256000);
    vocabulary_is("--tokenizer-type TikTokenizer --tokenizer-model /d/words.128k.vocab.json", 131072);
    vocabulary_is("--tokenizer-type BertWordPieceLowerCase --vocab-file $V", 30522);
    vocabulary_is("--tokenizer-type HuggingFaceTokenizer --tokenizer-model /d/mine", 0);
    vocabulary_is("--tokenizer-type HuggingFaceTokenizer --tokenizer-model gpt2 --vocab-size 99", 99);
}

static void windows_in_both_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {"128,0", "(128, 0)", "128"};
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "torchrun pretrain_gpt.py " SIZES "--micro-batch-size 1 --window-size '%s'\n", forms[i]);
        struct launch_options options = reads("run.sh", text);
        is(options.window, 128);
        launch_options_release(&options);
    }
}

/* Sizes from sizes: a level up, from the whole, through functions. */
static void references_of_yaml(void **state)
{
    (void)state;
    struct launch_options options = reads(
        "gpt.yaml",
        "run: {name: a}\ntrainer: {num_nodes: 2, devices: 8, precision: bf16}\nmodel:\n"
        "  micro_batch_size: 1\n  global_batch_size: '${multiply:4, ${trainer.devices}}'\n"
        "  tensor_model_parallel_size: ${training.trainer.num_nodes}\n  encoder_seq_length: 256\n"
        "  max_position_embeddings: ${.encoder_seq_length}\n  num_layers: 4\n  hidden_size: 64\n"
        "  ffn_hidden_size: ${multiply:4, ${.hidden_size}}\n  num_attention_heads: 4\n  activation: gelu\n"
        "  data: {seq_length: '${..encoder_seq_length}'}\n"
        "  tokenizer: {library: megatron, type: GPT2BPETokenizer, model: null}\n");
    is(options.batch, 32);
    is(options.tensor, 2);
    is(options.positions, 256);
    is(options.sequence, 256);
    is(options.ffn, 256);
    launch_options_release(&options);
    text_refused(
        "gpt.yaml",
        "trainer: {num_nodes: 1}\nmodel:\n  tensor_model_parallel_size: ${.a}\n  a: ${.b}\n  b: ${.a}\n",
        "gpt.yaml:3: tensor_model_parallel_size: expected a whole number from 1 to 1000000000, found "
        "'${.a}'");
}

static void a_key_given_twice(void **state)
{
    (void)state;
    struct launch_options options =
        reads("model_config.yaml", "MODEL_ARGS:\n  --micro-batch-size: 1\n  --num-layers: 4\n"
                                   "  --tensor-model-parallel-size: 2\n  --micro-batch-size: 4\n");
    is(options.microbatch, 4);
    assert_int_equal(options.note_count, 1);
    assert_string_equal(options.notes[0],
                        "--micro-batch-size is given twice, in lines 2 and 5: the last counts");
    launch_options_release(&options);
    text_refused("ds.json", "{\"train_batch_size\": 8, \"train_batch_size\": 16}",
                 "ds.json:1:45: train_batch_size: given twice, first in line 1");
}

static void other_models_are_refused(void **state)
{
    (void)state;
    text_refused(
        "run.sh",
        "torchrun pretrain_mamba.py " SIZES "--micro-batch-size 1 --hybrid-override-pattern M-MD-\n",
        "run.sh:1: --hybrid-override-pattern: expected at most 1024 of M, G, *, - and E, with | between "
        "stages; found 'D-' (D and + are not modelled)");
    text_refused(
        "run.sh",
        "torchrun pretrain_gpt.py " SIZES "--micro-batch-size 1 --experimental-attention-variant gdn2\n",
        "run.sh:1: --experimental-attention-variant: attention of this kind is not modelled; expected "
        "gdn or dsa");
    text_refused("run.sh",
                 "torchrun train.py --micro-batch-size 1 --encoder-num-layers 12 --decoder-num-layers 12\n",
                 "run.sh:1: --encoder-num-layers: encoder-decoder model: name it with -m (t5-11b)");
    text_refused(
        "run.sh", "torchrun pretrain_t5.py " SIZES "--decoder-seq-length 128\n",
        "run.sh: runs pretrain_t5.py, which trains an encoder-decoder model: name it with -m (t5-11b)");
    text_refused("run.sh", "torchrun ../tasks/main.py " SIZES "--task MNLI\n",
                 "run.sh: runs ../tasks/main.py, which fine-tunes or evaluates on a downstream task, which "
                 "is not modelled");
    text_refused(
        "run.sh", "torchrun main.py --bf16 --epochs 3\n",
        "run.sh: runs main.py without any argument of Megatron-LM (--micro-batch-size, --num-layers, …)");
    text_refused("a.yml",
                 "\"pipe_parallel_size\": 1\n\"model_parallel_size\": 1\n\"num_layers\": 4\n"
                 "\"attention_config\": [[[\"mamba\"], 4]]\n",
                 "a.yml:4:21: attention_config: layers of mamba are not modelled");
    text_refused("run.sh", "python tools/run_text_generation_server.py " SIZES "\n",
                 "run.sh: runs tools/run_text_generation_server.py, not a training job: nothing to price");
}

static void kinds_that_are_not_read(void **state)
{
    (void)state;
    text_refused("job.yaml", "apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 2}\n",
                 "job.yaml: a Kubernetes manifest without 'bash -c SCRIPT' in a container: give the training "
                 "script that it runs");
    text_refused(
        "job.yaml",
        "apiVersion: v1\nkind: Pod\nspec: {containers: [{command: [python, -c], args: [pass]}, 7]}\n",
        "job.yaml: a Kubernetes manifest without 'bash -c SCRIPT' in a container: give the training "
        "script that it runs");
    text_refused("8B.yaml",
                 "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer}\nbatch_size: 2\n",
                 "8B.yaml: torchtune recipes are not supported");
    text_refused("fsdp.yaml", "distributed_type: FSDP\nnum_processes: 8\n",
                 "fsdp.yaml: accelerate's file has no model or batch size: give the training arguments");
    text_refused("olmo.yaml",
                 "model: {d_model: 2048, max_sequence_length: 2048}\nglobal_train_batch_size: 8\n",
                 "olmo.yaml: OLMo configurations are not supported");
    text_refused("README.md", "torchrun pretrain_gpt.py " SIZES "\n",
                 "README.md: plain text, not a launch description");
}

/* NeMo's fp8 is on by its own key; what only describes it changes nothing. */
static void eight_bits_of_nemo(void **state)
{
    (void)state;
    static const char *const forms[] = {"fp8: false", "fp8: true"};
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "trainer: {num_nodes: 1, devices: 8, precision: bf16}\nmodel:\n"
                 "  tensor_model_parallel_size: 1\n  micro_batch_size: 1\n  %s\n  fp8_hybrid: true\n"
                 "  activations_checkpoint_granularity: null\n  activations_checkpoint_method: block\n  "
                 "fsdp: true\n",
                 forms[i]);
        struct launch_options options = reads("gpt.yaml", text);
        is(options.type, i == 0 ? COST_BF16 : COST_FP8);
        is(options.recompute, RECOMPUTE_NONE);
        is(options.sharding, 3);
        launch_options_release(&options);
    }
}

static void launcher_of_nemo(void **state)
{
    (void)state;
    struct launch_options options = reads(
        "examples/h100/gpt3_5b.sh",
        "python3 ${DIR}/launcher_scripts/main.py training=gpt3/5b stages=[training] \\\n"
        "  training.trainer.num_nodes=2 training.trainer.devices=8 training.model.micro_batch_size=4 \\\n"
        "  +training.model.context_parallel_size=2 training.model.tensor_model_parallel_size=4\n");
    assert_string_equal(options.reader, "NeMo");
    assert_string_equal(options.device, "h100");
    is(options.devices, 16);
    is(options.microbatch, 4);
    is(options.context, 2);
    is(options.tensor, 4);
    assert_string_equal(options.notes[0],
                        "configuration of 'training=gpt3/5b' not found: its settings are unknown");
    launch_options_release(&options);
}

/* Weights in 4 bits, states in 8, and a stage of DeepSpeed by the name of its file. */
static void narrow_formats_of_fine_tuning(void **state)
{
    (void)state;
    struct launch_options options = reads(
        "qlora.yaml", "base_model: NousResearch/Llama-2-7b-hf\nmodel_type: LlamaForCausalLM\nadapter: qlora\n"
                      "load_in_4bit: true\nsequence_len: 512\nmicro_batch_size: 2\n"
                      "optimizer: adamw_bnb_8bit\ndeepspeed: configs/zero2_cpu.json\n");
    is(options.frozen, 1);
    is(options.technique[TECHNIQUE_PARAMETERS], FORMAT_FP4);
    is(options.technique[TECHNIQUE_MOMENTS], FORMAT_FP8);
    is(options.sharding, 2);
    launch_options_release(&options);
}

static void fine_tuning_of_mlperf(void **state)
{
    (void)state;
    static const char form[] =
        "source nowhere/config_common.sh\nexport MINIBS=1 TP=1 PP=1 CP=1 MBS=1 LORA_A2A=1\n"
        "export DGXNNODES=1 ACG=full ACM=block ACL=21 FP8_ACT=1\n";
    struct launch_options options = reads("config_MI300X_1x8x1.sh", form);
    is(options.type, COST_FP8); /* the benchmark's, though no file here says so */
    is(options.frozen, 1);
    is(options.technique[TECHNIQUE_PARAMETERS], FORMAT_FP8);
    is(options.technique[TECHNIQUE_ACTIVATIONS], FORMAT_FP8);
    is(options.recompute, RECOMPUTE_FULL);
    is(options.technique[TECHNIQUE_METHOD], METHOD_BLOCK);
    is(options.technique[TECHNIQUE_LAYERS], 21);
    launch_options_release(&options);
}

static void functional_tests_of_megatron(void **state)
{
    (void)state;
    static const char *const lists[] = {"\"[mlp moe_act]\"", "mlp moe_act", "\"mlp, moe_act\""};
    text_refused("model_config.yaml", "MODE: inference\nMODEL_ARGS:\n  --num-layers: 4\n",
                 "model_config.yaml:1:7: MODE: inference, not training: nothing to price");
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "MODEL_ARGS:\n  --micro-batch-size: 1\n  --recompute-granularity: selective\n"
                 "  --recompute-modules: %s\n",
                 lists[i]);
        struct launch_options options = reads("model_config.yaml", text);
        is(options.technique[TECHNIQUE_MODULES], 1 << MODULE_MLP | 1 << MODULE_EXPERT_ACTIVATION);
        launch_options_release(&options);
    }
}

static void places_of_the_ends(void **state)
{
    (void)state;
    struct launch_options options =
        reads("run.sh", "python pretrain_gpt.py " SIZES "--micro-batch-size 1 --num-experts 1 "
                        "--pp-partition-method 'type:transformer|embedding' --pad-vocab-size-to 250880 "
                        "--glu-activation swiglu\n");
    is(options.counts_embedding, 1);
    is(options.counts_head, 1);
    is(options.vocabulary, 250880);
    is(options.gated, 1);
    assert_false(options.experts.given);
    launch_options_release(&options);
}

/* What --set gives and nothing asks for, in a script that names TP and $1, and in a document. */
static void names_that_nothing_asks_for(void **state)
{
    (void)state;
    static const char *const given[] = {"TP=2", "T=2", "1=8", "NODS=2", "micro-batch-size=4", NULL};
    static const char *const settings[] = {"training.seq_len=512", "training.qqq=2", NULL};
    struct launch_options options = text_reads(
        "run.sh",
        "NODES=$1\nif [ $ANY = 1 ]; then echo $TP; fi\ntorchrun --nnodes $NODES --nproc_per_node 4 "
        "pretrain_gpt.py " SIZES "\n",
        given);
    struct launch_names found = {0};
    launch_unasked(&options, &found);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.items[0], "--set T=2: not used by any file");
    assert_string_equal(found.items[1], "--set NODS=2: not used by any file, did you mean 'NODES'?");
    is(options.nodes, 8);
    launch_options_release(&options);
    options = text_reads("t.toml",
                         "[job]\ndump_folder = \"./out\"\n[model]\nname = \"llama3\"\nflavor = "
                         "\"8B\"\n[training]\nseq_len = 4096\n[parallelism]\npipeline_parallel_degree = 1\n",
                         settings);
    found = (struct launch_names){0};
    launch_unasked(&options, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0], "--set training.qqq=2: not used by any file");
    launch_options_release(&options);
}

/* A launcher that is not told its nodes has one, unless the script or a file of hosts says more. */
static void launchers_of_one_node(void **state)
{
    (void)state;
    static const struct {
        const char *launcher;
        int64_t devices; /* 0: not known */
    } cases[] = {
        {"torchrun --nproc_per_node 4", 4},
        {"torchrun --nnodes=2 --nproc-per-node=4", 8},
        {"python -m torch.distributed.run --nproc_per_node=4", 4},
        {"python3 -m torch.distributed.launch --nproc_per_node 4", 4},
        {"/usr/bin/deepspeed --num_gpus 4", 4},
        {"deepspeed --num_gpus=4 --num_nodes 2", 8},
        {"deepspeed --hostfile hosts --num_gpus 4", 0},
        {"torchrun $MORE --nproc_per_node 4", 0},
        {"torchrun --nnodes $N --nproc_per_node 4", 0},
        {"torchrun --nnodes=2:2 --nproc_per_node 4", 8},
        {"torchrun --nnodes 1:4 --nproc_per_node 4", 0},
        {"torchrun --nproc_per_node=gpu", 0},
        {"torchrun --nnodes 2 --nproc-per-node auto", 0},
        {"accelerate launch --num_processes 16", 16},
        {"python --nproc_per_node 4", 0},
        {"NNODES=3\ntorchrun --nproc_per_node 4", 12},
        {"srun -N 4 --ntasks-per-node=8 python", 32},
        {"srun -N4 -n32 python -u", 32},
        {"srun --nodes=4 --gpus-per-node=h100:8 python", 32},
        {"srun -N 2 --gres=gpu:a100:4 python", 8},
        {"srun -G 6 python", 6},
        {"srun -N 2 --ntasks-per-node=1 torchrun --nproc_per_node=8", 16},
        {"srun -n 3 torchrun --nproc_per_node=8", 24},
        {"srun -J torchrun -n 16 python", 16},
        {"srun -N $N -n 16 python", 16},
        {"mpirun -np 16 python", 16},
        {"mpiexec -n 24 -ppn 8 python", 24},
        {"mpirun -H a:8,b:8 python", 16},
        {"mpirun -H a:8,b:4 python", 12},
        {"mpirun -np 2 --map-by ppr:1:node torchrun --nproc_per_node 8", 16},
        {"deepspeed --include localhost:0,1,3", 3},
        {"deepspeed --include a:0,1@b:0,1", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[1024];
        snprintf(script, sizeof script, "%s pretrain_gpt.py %s\n", cases[i].launcher, SIZES);
        struct launch_options options = text_reads("run.sh", script, NULL);
        if (options.devices.given != (cases[i].devices > 0) || options.devices.value != cases[i].devices)
            fail_msg("%s: %d devices", cases[i].launcher, (int)options.devices.value);
        launch_options_release(&options);
    }
}

static void words_of_torchrun(void **state)
{
    (void)state;
    struct launch_options options =
        text_reads("run.sh", "torchrun --nnodes 1:4 --nproc_per_node=gpu pretrain_gpt.py " SIZES "\n", NULL);
    assert_int_equal(options.missing_count, 2);
    assert_string_equal(options.missing[0].why, "is 'gpu', which depends on the machine");
    assert_string_equal(options.missing[0].give, "--set nproc_per_node=N");
    assert_string_equal(options.missing[1].why, "is '1:4', of an elastic job");
    assert_string_equal(options.missing[1].give, "--set nnodes=N");
    launch_options_release(&options);
    const char *const given[] = {"nnodes=3", "nproc_per_node=4", NULL};
    options =
        text_reads("run.sh", "torchrun --nnodes 1:4 --nproc_per_node=gpu pretrain_gpt.py " SIZES "\n", given);
    is(options.devices, 12);
    assert_int_equal(options.missing_count, 0);
    launch_options_release(&options);
    text_refused(
        "run.sh", "torchrun --nnodes 4:1 --nproc_per_node 8 pretrain_gpt.py " SIZES "\n",
        "run.sh:1: --nnodes: expected a whole number of at least 1, or a range such as 1:4, found '4:1'");
    text_refused(
        "run.sh", "torchrun --nproc_per_node tpu pretrain_gpt.py " SIZES "\n",
        "run.sh:1: --nproc_per_node: expected a whole number of at least 1, gpu or auto, found 'tpu'");
}

/* Post-training is refused with the training step that it has; a server trains nothing. */
static void rollouts_are_refused(void **state)
{
    (void)state;
    static const char again[] = "' prices that)";
    static const struct {
        const char *path, *text, *says;
    } cases[] = {
        {"run.sh",
         "python3 -m verl.trainer.main_ppo data.max_prompt_length=512 data.max_response_length=1024 "
         "actor_rollout_ref.model.path=Qwen/Qwen3-8B actor_rollout_ref.actor.ppo_mini_batch_size=256 "
         "trainer.n_gpus_per_node=8 trainer.nnodes=2\n",
         "run.sh: verl: post-training with rollouts is not modelled; its training step is: Qwen/Qwen3-8B, "
         "global "
         "batch 256, sequence 1536, 16 devices"},
        {"run.sh",
         "ray job submit -- python3 -m openrlhf.cli.train_ppo_ray --pretrain meta/L --micro_train_batch_size "
         "8 "
         "--train_batch_size 128 --prompt_max_len 1024 --generate_max_len 1024\n",
         "run.sh: OpenRLHF: post-training with rollouts is not modelled; its training step is: meta/L, "
         "global "
         "batch 128, micro-batch 8, sequence 2048"},
        {"run.sh", "trl grpo --model_name_or_path m --per_device_train_batch_size 4\n",
         "run.sh: TRL's GRPO: post-training with rollouts is not modelled; its training step is: m, "
         "micro-batch 4"},
        {"a.yaml", "base_model: m\nrl: grpo\nmicro_batch_size: 2\nsequence_len: 2048\n",
         "a.yaml: grpo: post-training with rollouts is not modelled; its training step is: m, micro-batch 2, "
         "sequence 2048"},
        {"a.yaml", "model_name_or_path: m\nstage: ppo\ncutoff_len: 1024\n",
         "a.yaml: ppo: post-training with rollouts is not modelled; its training step is: m, sequence 1024"},
        {"run.sh", "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2\n",
         "run.sh: vLLM serves a model: nothing is trained"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct launch_input input = {
            .path = cases[i].path, .data = cases[i].text, .length = strlen(cases[i].text), .is_alone = true};
        struct launch_options options = {0};
        struct error err;
        assert_false(launch_read(&options, &input, &err));
        if (strncmp(err.text, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(strstr(err.text, again) != NULL, strstr(cases[i].says, "step is") != NULL);
    }
}

/* What accelerate changes of the training is listed, and is no argument of the script. */
static void options_of_accelerate(void **state)
{
    (void)state;
    struct launch_options options =
        text_reads("run.sh",
                   "accelerate launch --use_deepspeed --zero_stage 3 --mixed_precision=fp8 --num_processes 8 "
                   "pretrain_gpt.py " SIZES "\n",
                   NULL);
    int found = 0;
    for (int i = 0; i < options.argument_count; i++)
        if (strncmp(options.arguments[i].name, "accelerate.", 11) == 0) {
            assert_int_equal(options.arguments[i].use, LAUNCH_UNMODELLED);
            found++;
        }
    assert_int_equal(found, 3);
    is(options.devices, 8);
    launch_options_release(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_nothing_asks_for),
        cmocka_unit_test(launchers_of_one_node),
        cmocka_unit_test(words_of_torchrun),
        cmocka_unit_test(options_of_accelerate),
        cmocka_unit_test(rollouts_are_refused),
        cmocka_unit_test(slurm_says_its_variables),
        cmocka_unit_test(placeholders_are_not_set),
        cmocka_unit_test(loops_over_numbers_count_once),
        cmocka_unit_test(comments_before_the_end_of_a_case),
        cmocka_unit_test(arrays_without_words),
        cmocka_unit_test(commands_in_place_of_files),
        cmocka_unit_test(placeholders_are_not_set),
        cmocka_unit_test(regular_expressions_are_answered),
        cmocka_unit_test(names_of_files_are_known),
        cmocka_unit_test(tokenizers_have_words),
        cmocka_unit_test(windows_in_both_forms),
        cmocka_unit_test(references_of_yaml),
        cmocka_unit_test(a_key_given_twice),
        cmocka_unit_test(other_models_are_refused),
        cmocka_unit_test(kinds_that_are_not_read),
        cmocka_unit_test(eight_bits_of_nemo),
        cmocka_unit_test(launcher_of_nemo),
        cmocka_unit_test(narrow_formats_of_fine_tuning),
        cmocka_unit_test(fine_tuning_of_mlperf),
        cmocka_unit_test(functional_tests_of_megatron),
        cmocka_unit_test(places_of_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
