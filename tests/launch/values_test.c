/* Values that are none of their settings' own: each setting that the tables of data/software read, with words, numbers, lists and
 * maps that its software does not take, is refused at its place, or listed as not understood. A name, of which the software
 * takes any, is one by its table. */
#include "core/text.h"
#include "devices/tables.h"
#include "launch/bases.h"
#include "launch/launch.h"
#include "launch/read/read.h"
#include "launch/texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_own(const struct launch_rules *rules, size_t i)
{
    const struct launch_rule *rule = &rules->rules[i];
    return rule->kind <= RULE_FILE && !strchr(rule->name, '*') &&
           (i == 0 || strcmp(rules->rules[i - 1].name, rule->name) != 0);
}

/* Is an argument of this name, or of one below it, not understood? */
static bool lists(const struct launch_options *options, const char *name)
{
    for (int i = 0; i < options->argument_count; i++)
        if (options->arguments[i].use == LAUNCH_UNKNOWN &&
            strncmp(options->arguments[i].name, name, strlen(name)) == 0)
            return true;
    return false;
}

/* ---- by the tables ---- */

/* Puts a setting by itself into a document, "a.b" as {a: {b: VALUE}}. */
static void write_setting(struct text *text, const char *name, const char *value)
{
    int depth = 0;
    for (; *name; name += strcspn(name, ".") + (name[strcspn(name, ".")] == '.'), depth++)
        text_format(text, "{\"%.*s\": ", (int)strcspn(name, "."), name);
    text_add(text, value);
    while (depth-- > 0)
        text_add(text, "}");
    text_add(text, "\n");
}

/* Is a value refused where it stands, or listed? */
static bool tells(const char *table, const char *name, const char *value)
{
    const struct launch_rules rules = {.table = table};
    struct launch_options options = {.path = "a.yaml"};
    struct text text = {0};
    struct doc doc;
    struct error err;
    char place[300];
    write_setting(&text, name, value);
    assert_true(doc_parse(&doc, DOC_YAML, "a.yaml", text.data, text.length, &err));
    assert_true(launch_add_doc(&options, &doc, NULL, &err));
    bool read = launch_apply_rules(&options, &rules, 0, NULL, &err);
    snprintf(place, sizeof place, "a.yaml:1: %s: expected ", name);
    bool told = read ? lists(&options, name) : text_starts_with(err.text, place);
    doc_release(&doc);
    text_release(&text);
    launch_options_release(&options);
    return told;
}

static void values_of_no_kind_are_told(void **state)
{
    (void)state;
    static const char *const words[] = {"bananas", "\"bananas\"", "-3", "4x", "[bananas, 4]"};
    static const char *const lists[] = {"[bananas, 4]", "[4]", "[true]"};
    static const char *const numbers[] = {"bananas", "\"bananas\"", "4x", "1.5.2", "[bananas, 4]"};
    static const char *const deep[] = {"{bananas: 1}", "[{bananas: 1}]", "[[4]]"};
    const char *table;
    int silent = 0, tried = 0;
    for (size_t t = 0; (table = launch_table_name(t)) != NULL; t++) {
        const struct launch_rules *rules = launch_table(table);
        for (size_t i = 0; i < rules->count; i++) {
            const struct launch_rule *rule = &rules->rules[i];
            struct launch_rule taken = *rule;
            if (rule->takes && !strchr(rule->name, '*')) {
                taken.kind = rule->takes->kind;
                taken.is_list = rule->takes->is_list;
                rule = &taken;
            } else if (!is_own(rules, i) || rule->kind == RULE_CODE)
                continue;
            bool counts = rule->kind == RULE_WHOLE || rule->kind == RULE_DECIMAL;
            bool any = rule->kind == RULE_NAME || rule->kind == RULE_FILE;
            const struct {
                const char *const *values;
                size_t count;
            } all[] = {{counts ? numbers : words, any ? 0 : 5}, {lists, rule->is_list ? 0 : 3}, {deep, 3}};
            for (size_t j = 0; j < 3; j++)
                for (size_t k = 0; k < all[j].count; k++, tried++)
                    if (!tells(table, rule->name, all[j].values[k]))
                        print_error("%s: %s: %s\n", table, rule->name, all[j].values[k]), silent++;
        }
    }
    assert_true(tried > 38000);
    assert_int_equal(silent, 0);
}

/* Maps whose keys are in a library's sources: one of them is there, and one that the library lacks is not. */
static void keys_of_libraries_are_listed(void **state)
{
    (void)state;
    static const struct {
        const char *table, *map, *known, *unknown;
    } cases[] = {
        {"nemo", "model.optim.sched", "warmup_steps", "warmup_stesp"},
        {"nemo", "model.data.validation_ds", "metric.average", "metric.avrage"},
        {"nemo", "model.data.test_ds", "file_names", "file_nmes"},
        {"nemo", "model.data.fim", "extra_tokens.eod", "extra_tokens.eos"},
        {"nemo", "model.data.chat_prompt_tokens", "end_of_turn", "end_of_trun"},
        {"nemo", "hydra", "run.dir", "run.dri"},
        {"nemo", "exp_manager.mlflow_logger_kwargs", "run_id", "run_di"},
        {"neox", "optimizer.params", "betas", "bteas"},
        {"neox", "scheduler.params", "warmup_min_lr", "warmup_mni_lr"},
        {"neox", "zero_optimization.offload_optimizer", "pin_memory", "pin_mem"},
        {"neox", "zero_optimization.offload_param", "max_in_cpu", "max_in_gpu"},
        {"neox", "activation_checkpointing", "number_checkpoints", "number_of_checkpoints"},
        {"deepspeed", "scheduler.params", "total_num_steps", "total_steps_num"},
        {"deepspeed", "quantize_training", "quantize_bits.start_bits", "quantize_bits.first_bits"},
        {"deepspeed", "weight_quantization", "post_init_quant.fc.num_bits", "post_quant.fc.num_bits"},
        {"accelerate", "accelerate.ipex_config", "ipex", "ipx"},
        {"llm-foundry", "lora.args", "lora_alpha", "lora_alhpa"},
        {"llm-foundry", "model.peft_config", "use_rslora", "use_rlora"},
        {"torchtitan", "primus_turbo", "use_turbo_attention", "use_trubo_attention"},
        {"primus", "mock_dataset", "params.num_samples", "params.num_smaples"},
        {"primus", "data", "", "dataset_path"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct launch_rule *end;
        char name[128];
        snprintf(name, sizeof name, "%s.%s", cases[i].map, cases[i].known);
        if (*cases[i].known && !launch_table_rule(cases[i].table, name, &end))
            fail_msg("%s: %s is unknown", cases[i].table, name);
        snprintf(name, sizeof name, "%s.%s", cases[i].map, cases[i].unknown);
        if (launch_table_rule(cases[i].table, name, &end))
            fail_msg("%s: %s is known", cases[i].table, name);
    }
}

/* ---- items of lists ---- */

/* Puts a setting into each of three items of a list, as "a.b" into {a: [{b: null}, {bq: null}, {b: null}]}, and applies a
 * table's rules. */
static void read_items(const char *table, const char *name, struct launch_options *options)
{
    const struct launch_rules rules = {.table = table};
    struct text text = {0}, items = {0};
    struct doc doc;
    struct error err;
    char outer[256];
    const char *leaf = strrchr(name, '.') + 1;
    snprintf(outer, sizeof outer, "%.*s", (int)(leaf - 1 - name), name);
    text_format(&items, "[{\"%s\": null}, {\"%sq\": null}, {\"%s\": null}]", leaf, leaf, leaf);
    write_setting(&text, outer, items.data);
    assert_true(doc_parse(&doc, DOC_YAML, "a.yaml", text.data, text.length, &err));
    assert_true(launch_add_doc(options, &doc, NULL, &err));
    if (!launch_apply_rules(options, &rules, 0, NULL, &err))
        options->argument_count = 0; /* no list may stand there */
    doc_release(&doc);
    text_release(&items);
    text_release(&text);
}

/* A key of an item is what the same key of a map is, and one with a letter more is unknown; where no list may stand, the list is
 * unknown, and nothing of it is read. */
static void items_have_settings(void **state)
{
    (void)state;
    const char *table;
    int items = 0, lists = 0;
    for (size_t t = 0; (table = launch_table_name(t)) != NULL; t++) {
        const struct launch_rules *rules = launch_table(table);
        for (size_t i = 0; i < rules->count; i++) {
            const struct launch_rule *rule = &rules->rules[i], *end, *above;
            const char *dot = strrchr(rule->name, '.');
            char outer[256], slip[256];
            if (!dot || strchr(rule->name, '*'))
                continue;
            snprintf(outer, sizeof outer, "%.*s", (int)(dot - rule->name), rule->name);
            snprintf(slip, sizeof slip, "%sq", rule->name);
            above = launch_table_rule(table, outer, &end);
            bool is_known = above && (above->kind == RULE_IDLE || above->kind == RULE_UNMODELLED);
            bool is_read = rule->kind <= RULE_FILE;
            struct launch_options options = {.path = "a.yaml"};
            read_items(table, rule->name, &options);
            const struct launch_argument *given = options.arguments;
            assert_int_equal(options.note_count, 0);
            if (is_known && options.argument_count == 4) {
                enum launch_use use = is_read ? LAUNCH_UNKNOWN : LAUNCH_IDLE; /* null is usual */
                bool slips = !launch_table_rule(table, slip, &end);
                if ((!rule->usual && given[1].use != use) || given[1].use != given[3].use ||
                    (given[2].use == LAUNCH_UNKNOWN) != slips || given[0].use == LAUNCH_UNKNOWN)
                    fail_msg("%s: %s", table, given[1].name);
                items++;
            } else if (!above) {
                if (given[0].use != LAUNCH_UNKNOWN || launch_count(&options, LAUNCH_UNKNOWN) != 1)
                    fail_msg("%s: %s", table, given[0].name);
                lists++;
            }
            launch_options_release(&options);
        }
    }
    assert_true(items > 400);
    assert_true(lists > 800);
}

static void items_are_named_by_place(void **state)
{
    (void)state;
    static const char text[] = AXOLOTL "datasets:\n"
                                       "  - {path: a, pth: b}\n"
                                       "  - path: c\n"
                                       "    type: {field_inptu: d}\n"
                                       "bananas: [{a: 1}, [{b: 2}]]\n"
                                       "lr_groups: [x, {nam: y}]\n"
                                       "\"sequence_len[0]\": 128\n";
    static const char *const unknown[] = {"datasets[0].pth", "datasets[1].type.field_inptu", "bananas",
                                          "lr_groups[1].nam", "sequence_len[0]"};
    struct launch_options options = text_reads("a.yaml", text, NULL);
    size_t count = 0;
    for (int i = 0; i < options.argument_count; i++)
        if (options.arguments[i].use == LAUNCH_UNKNOWN) {
            assert_true(count < sizeof unknown / sizeof *unknown);
            assert_string_equal(options.arguments[i].name, unknown[count++]);
        }
    assert_int_equal(count, sizeof unknown / sizeof *unknown);
    assert_string_equal(launch_argument(&options, "datasets[0].pth")->note, "did you mean datasets.path?");
    assert_int_equal(launch_argument(&options, "bananas[1][0].b")->use, LAUNCH_IDLE);
    launch_options_release(&options);
}

/* Lists of lists are not empty, though they have no words. */
static void nested_lists_are_not_off(void **state)
{
    (void)state;
    struct launch_options options =
        text_reads("a.yaml",
                   "modules:\n  pre_trainer:\n    framework: torchtitan\n    model: llama3.1_8B.yaml\n"
                   "    overrides:\n      training: {seq_len: 4096}\n      parallelism: "
                   "{module_fqns_per_model_part: [[layers.0], [layers.1]]}\n",
                   NULL);
    assert_int_equal(launch_argument(&options, "parallelism.module_fqns_per_model_part")->use,
                     LAUNCH_UNMODELLED);
    launch_options_release(&options);
}

static void items_have_a_limit(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, AXOLOTL "datasets:\n");
    for (int i = 0; i <= LAUNCH_MAX_ARGUMENTS; i++)
        text_add(&text, "  - path: a\n");
    const struct launch_input input = {
        .path = "a.yaml", .data = text.data, .length = text.length, .is_alone = true};
    struct launch_options options = {0};
    struct error err;
    assert_false(launch_read(&options, &input, &err));
    assert_true(text_ends_with(err.text, ": more than 10000 settings"));
    text_release(&text);
}

/* ---- by the readers ---- */

static bool reader_tells(size_t base, const char *name, const char *value)
{
    char given[256], place[256];
    snprintf(given, sizeof given, "%s=%s", name, value);
    snprintf(place, sizeof place, "--set:0: %s: ", strrchr(name, '.') ? strrchr(name, '.') + 1 : name);
    const char *const all[] = {given, NULL};
    const struct launch_input input = {.path = bases[base].path,
                                       .data = bases[base].text,
                                       .length = strlen(bases[base].text),
                                       .given = all,
                                       .is_alone = true};
    struct launch_options options = {0};
    struct error err;
    bool told = false;
    if (!launch_read(&options, &input, &err))
        return strstr(err.text, "--set:0: ") && strstr(err.text, place + strlen("--set:0: "));
    for (int i = 0; i < options.argument_count; i++)
        told |= strcmp(options.arguments[i].path, "--set") == 0 && options.arguments[i].use == LAUNCH_UNKNOWN;
    for (int i = 0; i < options.note_count; i++)
        told |= strstr(options.notes[i], "' is unknown, and has no effect without ") != NULL;
    launch_options_release(&options);
    return told;
}

/* Values that a reader judges by itself, in each of the table's descriptions. */
static void readers_judge(void **state)
{
    (void)state;
    static const char *const words[] = {"bananas", "-3", "4x"};
    int silent = 0, tried = 0;
    for (size_t base = 0; base < sizeof bases / sizeof *bases; base++) {
        const struct launch_rules *rules = launch_table(bases[base].table);
        for (size_t i = 0; i < rules->count; i++)
            for (size_t j = 0; is_own(rules, i) && rules->rules[i].kind == RULE_CODE && j < 3; j++, tried++)
                if (!reader_tells(base, rules->rules[i].name, words[j]))
                    print_error("%s: %s: %s\n%s\n", bases[base].table, rules->rules[i].name, words[j],
                                bases[base].text),
                        silent++;
    }
    assert_true(tried > 400);
    assert_int_equal(silent, 0);
}

/* ---- values that are written in an odd way ---- */

static void odd_values_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text;
        size_t at;
        int64_t value; /* -1: none is given */
    } cases[] = {
#define AT(field) offsetof(struct launch_options, field)
        {"a.yaml", AXOLOTL "gradient_accumulation_steps: \"4\"\n", AT(accumulation), 4},
        {"a.yaml", AXOLOTL "gradient_accumulation_steps: 4.0\n", AT(accumulation), 4},
        {"a.yaml", AXOLOTL "gradient_accumulation_steps: null\n", AT(accumulation), 1},
        {"a.yaml", AXOLOTL "gradient_accumulation_steps: ~\n", AT(accumulation), 1},
        {"a.yaml", AXOLOTL "gradient_accumulation_steps:\n", AT(accumulation), 1},
        {"a.yaml", AXOLOTL "bf16: \"True\"\n", AT(type), COST_BF16},
        {"a.yaml", AXOLOTL "bf16: yes\n", AT(type), COST_BF16},
        {"a.yaml", AXOLOTL "bf16: on\n", AT(type), COST_BF16},
        {"a.yaml", AXOLOTL "bf16: off\nfp16: On\n", AT(type), COST_FP16},
        {"a.yaml", AXOLOTL "bf16: auto\n", AT(type), COST_BF16},
        {"a.yaml", AXOLOTL "adapter: None\n", AT(frozen), -1},
        {"a.yaml", AXOLOTL "adapter: QLoRA\n", AT(frozen), 1},
        {"a.json", "{\"train_batch_size\": 5e2}\n", AT(batch), 500},
        {"a.json", "{\"train_batch_size\": \"auto\", \"zero_optimization\": {\"stage\": 3}}\n", AT(batch),
         -1},
        {"a.json", "{\"train_batch_size\": null, \"zero_optimization\": {\"stage\": 3}}\n", AT(batch), -1},
        {"a.json", "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 0}}\n", AT(sharding), 0},
        {"a.json", "{\"train_batch_size\": 8, \"bf16\": {\"enabled\": \"auto\"}}\n", AT(type), COST_FP32},
        {"a.json", "{\"train_batch_size\": 8, \"bf16\": {\"enabled\": 1}}\n", AT(type), COST_BF16},
        {"a.json", "{\"train_batch_size\": 8, \"pipeline\": {\"stages\": \"auto\"}}\n", AT(pipeline), 1},
        {"a.toml", TITAN "pipeline_parallel_degree = 2\n[activation_checkpoint]\nmode = \"none\"\n",
         AT(recompute), RECOMPUTE_NONE},
        {"a.yaml", NEMO "  fp8: False\n", AT(fp8), -1},
        {"a.yaml", NEMO "  bias: no\n", AT(biased), 0},
        {"a.yaml", NEMO "  activations_checkpoint_granularity: null\n", AT(recompute), RECOMPUTE_NONE},
        {"a.yaml",
         FOUNDRY
         "model: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: 32, expansion_ratio: 1.75}\n",
         AT(ffn), 7168},
        {"a.yaml",
         FOUNDRY "model: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: 32, attn_config: "
                 "{sliding_window_size: -1}}\n",
         AT(window), -1},
        {"a.sh", "accelerate launch --num_processes 8 --mixed_precision no" LAUNCHED, AT(type), COST_BF16},
        {"a.sh", MEGATRON "--global-batch-size 64 --moe-layer-freq '([0]*1+[1]*31)' --num-experts 8\n",
         AT(dense_layers), 1},
#undef AT
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct launch_options options = text_reads(cases[i].path, cases[i].text, NULL);
        const struct launch_value *value =
            (const struct launch_value *)(const void *)((const char *)&options + cases[i].at);
        if (launch_count(&options, LAUNCH_UNKNOWN) != 0 || value->given != (cases[i].value >= 0) ||
            (value->given && value->value != cases[i].value))
            fail_msg("%s%lld", cases[i].text, (long long)(value->given ? value->value : -1));
        launch_options_release(&options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_no_kind_are_told),
        cmocka_unit_test(keys_of_libraries_are_listed),
        cmocka_unit_test(items_have_settings),
        cmocka_unit_test(items_are_named_by_place),
        cmocka_unit_test(nested_lists_are_not_off),
        cmocka_unit_test(items_have_a_limit),
        cmocka_unit_test(readers_judge),
        cmocka_unit_test(odd_values_are_read),
    };
    struct error err;
    if (!tables_ready(&err))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
