/* Every setting of the tables of data/software, put by itself into a valid description: the price moves, or the setting is
 * listed as without effect, as not priced, or refused; with a letter more it is unknown. */
#include "core/text.h"
#include "devices/tables.h"
#include "launch/price.h"
#include "launch/read/read.h"
#include "support/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- descriptions ---- */

#define AXOLOTL                                                                                              \
    "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\nmicro_batch_size: 2\nsample_packing: "      \
    "true\n"
#define FACTORY                                                                                              \
    "model_name_or_path: meta-llama/Llama-2-7b-hf\nstage: sft\ncutoff_len: 2048\nbf16: true\n"               \
    "per_device_train_batch_size: 2\n"
#define TRAINER "model_name_or_path: meta-llama/Llama-2-7b-hf\nper_device_train_batch_size: 2\n"
#define TITAN                                                                                                \
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 4096\nlocal_batch_size = 4\n"        \
    "[parallelism]\ndata_parallel_shard_degree = -1\n"
#define FOUNDRY                                                                                              \
    "max_seq_len: 2048\nglobal_train_batch_size: 128\ndevice_train_microbatch_size: 4\nprecision: "          \
    "amp_bf16\n"                                                                                             \
    "fsdp_config: {sharding_strategy: FULL_SHARD}\n"
#define LAUNCHED                                                                                             \
    " train.py --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 2 --bf16\n"

/* Tables, and descriptions in which their settings count: each in one of them. */
static const struct {
    const char *table, *path, *text;
} bases[] = {
    {"deepspeed", "a.json",
     "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4, \"bf16\": {\"enabled\": "
     "true}, "
     "\"zero_optimization\": {\"stage\": 2}}"},
    {"deepspeed", "a.json",
     "{\"train_batch_size\": 64, \"fp16\": {\"enabled\": true}, \"gradient_accumulation_steps\": 4, "
     "\"zero_optimization\": {\"stage\": 1, \"offload_optimizer\": {\"device\": \"cpu\"}}, "
     "\"activation_checkpointing\": {\"number_checkpoints\": 8}}"},
    {"deepspeed", "a.json", "{\"train_micro_batch_size_per_gpu\": 2, \"zero_optimization\": {\"stage\": 2}}"},
    {"deepspeed", "a.json",
     "{\"train_micro_batch_size_per_gpu\": 2, \"expert_parallel\": {\"autoep_size\": 1}}"},
    {"axolotl", "a.yaml", AXOLOTL},
    {"axolotl", "a.yaml", "base_model: mistralai/Mixtral-8x7B-v0.1\nsequence_len: 4096\n"},
    {"llama-factory", "a.yaml",
     "model_name_or_path: mistralai/Mixtral-8x7B-v0.1\nstage: sft\nfinetuning_type: "
     "full\ntensor_model_parallel_size: 2\n"},
    {"axolotl", "a.yaml", AXOLOTL "fsdp: [full_shard]\nfsdp_config: {fsdp_version: 2}\n"},
    {"axolotl", "a.yaml", AXOLOTL "adapter: lora\nload_in_4bit: true\n"},
    {"axolotl", "a.yaml",
     AXOLOTL "bf16: false\nliger_rope: true\nliger_rms_norm: true\noptimizer: galore_adamw\n"},
    {"llama-factory", "a.yaml", FACTORY "finetuning_type: full\n"},
    {"llama-factory", "a.yaml", FACTORY "finetuning_type: lora\nquantization_bit: 4\n"},
    {"llama-factory", "a.yaml", FACTORY "finetuning_type: full\nuse_galore: true\n"},
    {"llama-factory", "a.yaml", FACTORY "finetuning_type: full\nuse_apollo: true\n"},
    {"llama-factory", "a.yaml",
     FACTORY "finetuning_type: full\npipeline_model_parallel_size: 2\ntensor_model_parallel_size: 2\n"},
    {"hf-trainer", "a.yaml", TRAINER "bf16: true\n"},
    {"hf-trainer", "a.yaml",
     TRAINER "fsdp: full_shard\nfsdp_config: {min_num_params: 0}\noptim: galore_adamw\n"},
    {"hf-trainer", "a.yaml", TRAINER "dtype: float32\n"},
    {"trl", "a.yaml", TRAINER "bf16: true\n"},
    {"trl", "a.yaml", TRAINER "use_peft: true\nload_in_4bit: true\n"},
    {"torchtitan", "a.toml", TITAN},
    {"torchtitan", "a.toml",
     TITAN "pipeline_parallel_degree = 2\n[activation_checkpoint]\nmode = \"none\"\n"},
    {"torchtitan", "a.toml",
     TITAN "tensor_parallel_degree = 2\ncontext_parallel_degree = 2\n[compile]\nenable = true\n"},
    {"torchtitan", "a.toml",
     "[model]\nname = \"deepseek_v3\"\nflavor = \"16B\"\nconverters = [\"float8\"]\n[training]\nseq_len = "
     "4096\n"
     "[parallelism]\nexpert_parallel_degree = 4\ntensor_parallel_degree = 2\n"},
    {"nanotron", "a.yaml",
     "parallelism: {tp: 2, pp: 2}\ntokens: {micro_batch_size: 2, sequence_length: 4096, "
     "batch_accumulation_per_replica: 4}\n"
     "model:\n  dtype: bfloat16\n  model_config: {hidden_size: 4096, num_hidden_layers: 32, "
     "num_attention_heads: 32, "
     "intermediate_size: 11008, vocab_size: 32001}\noptimizer: {zero_stage: 0}\n"},
    {"nanotron", "a.yaml",
     "parallelism: {dp: 8}\ntokens: {micro_batch_size: 2, sequence_length: 4096}\nmodel:\n  model_config: "
     "{hidden_size: 4096, "
     "num_hidden_layers: 32, num_attention_heads: 32, intermediate_size: 11008, vocab_size: 32001}\n"},
    {"nanotron", "a.yaml",
     "parallelism: {dp: 4, pp: 2}\ntokens: {micro_batch_size: 2, sequence_length: 4096, "
     "batch_accumulation_per_replica: 4}\n"
     "model:\n  dtype: bfloat16\n  model_config: {hidden_size: 2048, num_hidden_layers: 16, "
     "num_attention_heads: 32, "
     "intermediate_size: 1024, vocab_size: 32000, moe_config: {num_experts: 8, top_k: 2, "
     "enable_shared_expert: true, "
     "shared_expert_intermediate_size: 1024, moe_intermediate_size: 1024}}\n"},
    {"llm-foundry", "a.yaml",
     FOUNDRY "model: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: 32, vocab_size: 50368}\n"},
    {"llm-foundry", "a.yaml",
     FOUNDRY "model: {name: hf_causal_lm, pretrained_model_name_or_path: meta-llama/Llama-2-7b-hf, "
             "peft_config: {peft_type: LORA}}\n"},
    {"llm-foundry", "a.yaml",
     FOUNDRY "model: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: 32, vocab_size: 50368, "
             "ffn_config: {moe_num_experts: 8, moe_top_k: 2}}\n"},
    {"accelerate", "a.sh", "accelerate launch --num_processes 8 --use_deepspeed" LAUNCHED},
    {"accelerate", "a.sh", "accelerate launch --num_processes 8 --use_fsdp" LAUNCHED},
    {"accelerate", "a.sh", "accelerate launch --num_processes 8 --use_megatron_lm" LAUNCHED},
    {"accelerate", "a.sh",
     "accelerate launch --multi_gpu train.py --model_name_or_path meta-llama/Llama-2-7b-hf "
     "--per_device_train_batch_size 16\n"},
};

/* Values that are tried: one of them must count. */
static const char *const values[] = {
    "true",
    "false",
    "2",
    "0",
    "1",
    "4",
    "8",
    "16",
    "64",
    "32",
    "none",
    "full",
    "selective",
    "fp32",
    "fp16",
    "bf16",
    "fp8",
    "float32",
    "float16",
    "bfloat16",
    "cpu",
    "nvme",
    "0.5",
    "sgd",
    "lion",
    "galore_adamw",
    "rank=32",
    "offload",
    "lora",
    "lm_head embed_tokens",
    "q_proj v_proj",
    "shard_grad_op",
    "NO_SHARD",
    "DEFAULT",
    "REDUCE_SCATTER",
    "afab",
    "grpo",
    "dpo",
    "ppo",
    "torch",
    "rmsnorm",
    "multiquery_attention",
    "mptglu",
    "LORA",
    "AutoProcessor",
    "z3.json",
    "localhost:0,1",
    "never",
    "DEEPSPEED",
    "FSDP",
    "ZBVZeroBubble",
    "llama3",
    "70B",
    "gpu:4",
    "ppr:4:node",
    "a:4,b:4",
    "meta-llama/Llama-2-13b-hf",
    "float8",
    "int8",
    "amp_fp16",
    "alltoall",
    "deepep",
    "rowwise",
    "allgather",
    "always",
    "8B",
};

/* Settings that count only together with others, or as a list, which other tests give. */
static const char *const together[] = {"accelerate.num_machines", "rehearse.pipeline_module.parts",
                                       "parallelism.module_fqns_per_model_part"};

/* ---- one description ---- */

struct outcome {
    double seconds, bytes;
    enum launch_use use; /* of the setting, of --set */
    bool refused;
    int notes;
};

static struct outcome outcome_of(size_t base, const char *name, const char *value)
{
    char given[256];
    snprintf(given, sizeof given, "%s=%s", name ? name : "", value ? value : "");
    const char *const all[] = {given, NULL};
    const struct launch_input input = {.path = bases[base].path,
                                       .data = bases[base].text,
                                       .length = strlen(bases[base].text),
                                       .given = name ? all : NULL,
                                       .is_alone = true};
    struct launch_options options = {0};
    struct launch_price price = {.options = &options, .job = job_example()};
    struct outcome outcome = {.use = LAUNCH_UNKNOWN};
    struct error err;
    bool known = true;
    outcome.refused = !launch_read(&options, &input, &err);
    if (outcome.refused) {
        if (!name)
            fail_msg("%s: %s", bases[base].table, err.text);
        return outcome;
    }
    launch_complete(&options);
    launch_default(&options.sequence, 4096);
    for (int i = 0; name && i < options.argument_count; i++)
        if (launch_same_name(options.arguments[i].name, name) &&
            strcmp(options.arguments[i].path, "--set") == 0)
            outcome.use = options.arguments[i].use;
    price.job.software = software_find(options.software);
    /* of files that name none */
    price.job.model = architecture_find(strstr(bases[base].text, "expert") ? "mixtral-8x7b" : "llama-2-7b");
    price.job.devices =
        options.devices.given && options.devices.value < 100000 ? (int)options.devices.value : 8;
    price.job.stage_blocks = NULL;
    price.job.technique = (struct technique){0};
    price.job.recompute = RECOMPUTE_NONE;
    price.job.type = COST_FP32;
    const struct architecture *model;
    outcome.refused = !launch_model(&options, &model, &known, &err) || (!known && options.model_name);
    price.job.model = known ? model : price.job.model;
    outcome.refused |= !launch_price_job(&price, &err);
    if (outcome.refused && !name)
        fail_msg("%s: %s\n%s", bases[base].table, known ? err.text : "no model", bases[base].text);
    outcome.notes = options.note_count;
    outcome.seconds = price.time.seconds;
    outcome.bytes = price.memory.total;
    launch_options_release(&options);
    return outcome;
}

/* Does a setting that is read move the price with one of the values, in one of the table's descriptions? */
static bool moves(const char *table, const struct launch_rule *rule)
{
    for (size_t i = 0; i < sizeof together / sizeof *together; i++)
        if (strcmp(together[i], rule->name) == 0)
            return true;
    for (size_t base = 0; base < sizeof bases / sizeof *bases; base++) {
        if (strcmp(bases[base].table, table) != 0)
            continue;
        struct outcome before = outcome_of(base, NULL, NULL);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            struct outcome after = outcome_of(base, rule->name, values[i]);
            bool listed =
                after.use == LAUNCH_UNMODELLED || after.use == LAUNCH_IDLE || after.notes != before.notes;
            if (!after.refused && (listed || after.seconds != before.seconds || after.bytes != before.bytes))
                return true;
        }
    }
    return false;
}

/* ---- tests ---- */

static bool has_base(const char *table, size_t *base)
{
    for (*base = 0; *base < sizeof bases / sizeof *bases; ++*base)
        if (strcmp(bases[*base].table, table) == 0)
            return true;
    return false;
}

static void every_setting_counts_or_is_listed(void **state)
{
    (void)state;
    const char *table;
    int silent = 0;
    for (size_t t = 0; (table = launch_table_name(t)) != NULL; t++) {
        const struct launch_rules *rules = launch_table(table);
        size_t base;
        if (!has_base(table, &base))
            continue;
        int flipped = 0;
        for (size_t i = 0; i < rules->count; i++) {
            const struct launch_rule *rule = &rules->rules[i];
            bool row = i > 0 && strcmp(rules->rules[i - 1].name, rule->name) == 0;
            if (strchr(rule->name, '*') || row)
                continue;
            bool counts = rule->kind == RULE_IDLE ? outcome_of(base, rule->name, "7").use == LAUNCH_IDLE
                          : rule->kind == RULE_UNMODELLED
                              ? outcome_of(base, rule->name, "7").use == LAUNCH_UNMODELLED
                              : moves(table, rule);
            if (!counts)
                print_error("%s: %s says nothing\n", table, rule->name), silent++;
            flipped++;
        }
        if (flipped < 40)
            fail_msg("%s: only %d settings", table, flipped);
    }
    assert_int_equal(silent, 0);
}

/* A setting with a letter more is no other setting, and unknown. */
static void a_slip_is_unknown(void **state)
{
    (void)state;
    const char *table;
    for (size_t t = 0; (table = launch_table_name(t)) != NULL; t++) {
        const struct launch_rules *rules = launch_table(table);
        for (size_t i = 0; i < rules->count; i++) {
            char name[256];
            const struct launch_rule *end;
            size_t length = strlen(rules->rules[i].name);
            assert_true(length + 1 < sizeof name);
            memcpy(name, rules->rules[i].name, length + 1);
            if (strchr(name, '*'))
                continue;
            memcpy(name + length, "q", 2);
            const struct launch_rule *found = launch_table_rule(table, name, &end);
            if (found && !strchr(found->name, '*'))
                fail_msg("%s: %s is %s", table, name, found->name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_counts_or_is_listed),
        cmocka_unit_test(a_slip_is_unknown),
    };
    struct error err;
    if (!tables_ready(&err))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
