/* Every setting of the tables of data/software, put by itself into a valid description: the price moves, or the setting is
 * listed as without effect, as not priced, or refused; with a letter more it is unknown. */
#include "core/text.h"
#include "devices/tables.h"
#include "launch/bases.h"
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
    "hybrid",
    "e4m3",
    "e2m1",
    "tensorwise",
    "blockwise",
    "mxfp8",
    "nvfp4",
    "fp8_mx",
    "mx",
    "unfused",
    "local",
    "flash",
    "optim_grads",
    "learnable",
    "flex",
    "a2a",
    "Et*15|t*17L",
    "block",
    "uniform",
    "llama-2",
    "1024,0",
    "core_attn",
    "mlp",
    "mlp_type",
    "learned",
    "swiglu",
    "llama",
    "muon",
    "peft",
    "a100",
    "llama31_405b",
    "gpt_oss",
    "405b",
    "distributed_fused_adam",
    "grad",
    "mamba",
    "[[['mamba'], 32]]",
    "M-M*",
    "parallel",
    "gated_delta_net",
    "dsa",
    "12:64",
    "0.25",
    "bf16_with_fp8_current_scaling_mixed",
    "LoRA",
    "embedding",
    "2048",
    "megatron.bridge.peft.lora.LoRA",
    "type:transformer|embedding",
    "mla",
    "local_sliding",
    "minimal",
    "dot_product",
    "gpt3",
    "gelu",
};

/* Settings that count only together with others, or as a list, which other tests give. */
static const char *const together[] = {"moe_flex_dispatcher_backend",
                                       "run.name",
                                       "delay-wgrad-compute",
                                       "comm_overlap.delay_wgrad_compute",
                                       "accelerate.num_machines",
                                       "rehearse.pipeline_module.parts",
                                       "parallelism.module_fqns_per_model_part"};

/* ---- one description ---- */

struct outcome {
    double seconds, bytes;
    enum launch_use use; /* of the setting, of --set */
    bool refused, stops; /* the second: not for a value of another kind */
    int notes;
    char job[160]; /* the machine, the length of the run and the model */
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
        outcome.stops = !strstr(err.text, "expected") && !strstr(err.text, "takes no value");
        return outcome;
    }
    launch_complete(&options);
    launch_default(&options.sequence, 4096);
    for (int i = 0; name && i < options.argument_count; i++)
        if (strcmp(options.arguments[i].path, "--set") == 0 && outcome.use != LAUNCH_UNMODELLED)
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
    outcome.stops = outcome.refused;
    if (outcome.refused && !name)
        fail_msg("%s: %s\n%s", bases[base].table, known ? err.text : "no model", bases[base].text);
    outcome.notes = options.note_count;
    snprintf(outcome.job, sizeof outcome.job, "%s %d %d %d %.80s", options.device ? options.device : "",
             (int)options.devices_per_node.value, (int)options.nodes.value, (int)options.steps.value,
             options.model_name ? options.model_name : "");
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
            if (after.refused ? after.stops
                              : listed || strcmp(after.job, before.job) != 0 ||
                                    after.seconds != before.seconds || after.bytes != before.bytes)
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

/* Is a setting that is not read listed as its section says, with one of the values that it takes? */
static bool is_listed(size_t base, const struct launch_rule *rule)
{
    static const char *const usual[] = {"7", "true", "false"};
    enum launch_use use = rule->kind == RULE_IDLE ? LAUNCH_IDLE : LAUNCH_UNMODELLED;
    bool listed = false;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && !listed; i++)
        listed = outcome_of(base, rule->name, usual[i]).use == use;
    for (const char *at = rule->takes ? rule->takes->others : NULL; at && *at && !listed; at += *at == '|') {
        char word[64];
        int length = (int)strcspn(at, "|");
        snprintf(word, sizeof word, "%.*s", length, at);
        listed = outcome_of(base, rule->name, word).use == use;
        at += length;
    }
    return listed;
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
            bool is_read = rule->kind != RULE_IDLE && rule->kind != RULE_UNMODELLED;
            bool counts =
                (!is_read && is_listed(base, rule)) || (rule->kind != RULE_IDLE && moves(table, rule));
            if (!counts)
                print_error("%s: %s says nothing\n", table, rule->name), silent++;
            flipped++;
        }
        if (flipped < 15)
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
