/* The settings that software knows: tables of data/software, one per software, read when a description asks for them.
 *
 * A table is a map (all keys but `name` may be left out):
 *
 *     name: DeepSpeed                    as messages call it
 *     version: edaa7221, 2026-08-22      of the sources that were read
 *     sources: [deepspeed/runtime/config.py]
 *     also: [megatron-lm]                tables whose settings count behind this one's own
 *     read:                              what the price depends on
 *       sequence_parallel_size: number context
 *       zero_allow_untested: switch fsdp=2
 *       train_batch_size: number|auto    read by the reader's own function, as all without a field; words behind '|'
 *       are
 *                                        values, too
 *       recompute: {selective: recompute=RECOMPUTE_SELECTIVE, full: recompute=RECOMPUTE_FULL, "type:*": }
 *       quick: {"true": [recompute=RECOMPUTE_NONE, fsdp=2], "false": }
 *       mixed_precision: ["no", fp16]    one of these words, read likewise
 *       fsdp: [[full_shard, offload]]    several of them
 *     none:                              reason: settings without effect on time and memory of a step
 *       logging: [steps_per_print, wall_clock_breakdown]
 *     unmodelled:                        reason: settings with an effect that is not priced
 *       gathers in 8 bits: [zero_optimization.zero_quantized_weights]
 *     at-default:                        the value, or values, at which one of `unmodelled` changes nothing; without
 *       overlap_comm: true               an entry: false, 0, none, null and empty
 *     refused:                           reason: settings of jobs that are not priced, unless their model is named
 *       Mamba layers: [is_hybrid_model]
 *     free:                              reason: names that the user chooses
 *       the program's own: [environment.*]
 *     values:                            a kind: settings of the sections above that take only such values, without an
 *     entry any
 *       decimal: [norm_epsilon]          (`scripts/software-keys --values` writes it)
 *       "words|adam|sgd": [offload_optimizer]
 *     values-by-hand:                    likewise, of what no source declares
 *
 * The kinds of `read`: number (from 1), typed ("gpu:8", "8"), count (from 0), share (0 to 1), real (above 0), whole and
 * decimal (any sign; wholes, decimals and lists: several of them), words, switch (sets its field if true), bool (if
 * false, too), flag (true or false), name and names (of models, modules or hosts, of which the software takes any),
 * file (a path), code (judged by the reader's own function). A field is the name of a value of struct launch_options,
 * or technique.NAME; a value is a number or a constant of devices/technique.h. Null is a value of each kind, and sets
 * nothing; a word behind '|' takes back what was set. In names '-' and '_', capitals and small letters are alike. A
 * final asterisk stands for any rest; a name that stands by itself goes before one with an asterisk, and a longer one
 * of these before a shorter. */
#include "launch/read/read.h"

#include "core/once.h"
#include "devices/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vocabulary {
    const char *name, *data;
    const size_t *size;
    struct once once;
    struct doc doc; /* holds all texts */
    struct launch_rules rules;
    uint32_t *slots; /* places of rules, from 1, by the hash of their names */
    size_t slot_count;
    const struct launch_rule **stars; /* rules whose names end with an asterisk, longer names first */
    size_t star_count;
    const char **inner; /* names with a dot, in order */
    size_t inner_count;
    size_t also_count;
    struct vocabulary *also[4];
};

#define TABLES(X)                                                                                            \
    X("accelerate", accelerate)                                                                              \
    X("axolotl", axolotl)                                                                                    \
    X("bridge", bridge)                                                                                      \
    X("bridge-config", bridge_config)                                                                        \
    X("deepspeed", deepspeed)                                                                                \
    X("deepspeed-program", deepspeed_program)                                                                \
    X("hf-trainer", hf_trainer)                                                                              \
    X("launcher", launcher)                                                                                  \
    X("llama-factory", llama_factory)                                                                        \
    X("llm-foundry", llm_foundry)                                                                            \
    X("maxtext", maxtext)                                                                                    \
    X("megatron-lm", megatron_lm)                                                                            \
    X("mlperf", mlperf)                                                                                      \
    X("nanotron", nanotron)                                                                                  \
    X("nemo", nemo)                                                                                          \
    X("nemo-model", nemo_model)                                                                              \
    X("neox", neox)                                                                                          \
    X("primus", primus)                                                                                      \
    X("torchtitan", torchtitan)                                                                              \
    X("torchtitan-python", torchtitan_python)                                                                \
    X("trl", trl)

#define X(text, id)                                                                                          \
    extern const char software_##id[];                                                                       \
    extern const size_t software_##id##_size;
TABLES(X)
#undef X

#define X(text, id) {.name = (text), .data = software_##id, .size = &software_##id##_size, .once = ONCE_INIT},
static struct vocabulary tables[] = {TABLES(X)};
#undef X

/* ---- names ---- */

/* Returns the slot of a name: its own, or the free one that would be. */
static uint32_t *slot_of(const struct vocabulary *table, const char *name)
{
    size_t at = launch_hash(name) & (table->slot_count - 1);
    while (table->slots[at] && !launch_same_name(table->rules.rules[table->slots[at] - 1].name, name))
        at = (at + 1) & (table->slot_count - 1);
    return &table->slots[at];
}

/* ---- values ---- */

static const struct {
    const char *name;
    size_t at;
} fields[] = {
#define X(name) {#name, offsetof(struct launch_options, name)},
    LAUNCH_MODEL_VALUES(X) LAUNCH_JOB_VALUES(X) X(model_name) X(device)
#undef X
#define X(id, member, name, text)                                                                            \
    {"technique." #member, offsetof(struct launch_options, technique[TECHNIQUE_##id])},
        TECHNIQUES(X)
#undef X
};

/* clang-format off */
static const struct {
    const char *name;
    int64_t value;
} constants[] = {
#define X(name) {#name, name},
    X(RECOMPUTE_NONE) X(RECOMPUTE_SELECTIVE) X(RECOMPUTE_FULL) X(METHOD_ALL) X(METHOD_BLOCK)
    X(METHOD_UNIFORM) X(METHOD_EVERY) X(FORMAT_USUAL) X(FORMAT_FP32) X(FORMAT_FP16) X(FORMAT_BF16)
    X(FORMAT_FP8) X(FORMAT_FP4) X(RECIPE_USUAL) X(RECIPE_DELAYED) X(RECIPE_TENSORWISE) X(RECIPE_BLOCKWISE)
    X(RECIPE_MXFP8) X(RECIPE_NVFP4) X(RECIPE_ROWWISE) X(DISPATCH_ALLTOALL) X(DISPATCH_DEEPEP)
    X(DISPATCH_ALLGATHER) X(OPTIMIZER_ADAM) X(OPTIMIZER_MOMENTUM) X(OPTIMIZER_FACTORED) X(OPTIMIZER_NONE)
    X(OPTIMIZER_GALORE) X(OPTIMIZER_APOLLO) X(TARGETS_ALL) X(TARGETS_ATTENTION) X(OVERLAP_NONE)
    X(OVERLAP_PASSES) X(OVERLAP_WEIGHTS) X(CONTEXT_RING) X(CONTEXT_GATHER) X(CONTEXT_ULYSSES)
    X(CONTEXT_HIERARCHICAL) X(SCHEDULE_1F1B) X(SCHEDULE_ZB_H1) X(SCHEDULE_DUALPIPE) X(SCHEDULE_ZB_V)
    X(SCHEDULE_DUALPIPEV) X(SWITCH_OFF)
                                X(SWITCH_ON) X(PLACE_HOST) X(PLACE_NVME) X(COST_FP32) X(COST_TF32)
                                    X(COST_FP16) X(COST_BF16) X(COST_FP8) X(COST_FP4)
#undef X
};

static bool read_constant(const char *text, int64_t *value)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(constants[i].name, text) == 0) {
            *value = constants[i].value;
            return true;
        }
    return launch_number(text, 0, value);
}

/* Reads "FIELD" or "FIELD=VALUE"; empty: no field. */
static bool read_target(struct vocabulary *table, const struct doc_node *at, const char *text,
                        struct launch_rule *rule, struct error *err)
{
    size_t length = strcspn(text, "=");
    rule->value = 1;
    rule->at = 0;
    if (length == 0 || at->type == DOC_NULL)
        return true;
    if (text[length] && !read_constant(text + length + 1, &rule->value))
        return doc_error(&table->doc, at, err, "unknown value '%s'", text + length + 1);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strncmp(fields[i].name, text, length) == 0 && !fields[i].name[length]) {
            rule->at = fields[i].at;
            return true;
        }
    return doc_error(&table->doc, at, err, "unknown field '%.*s'", (int)length, text);
}

/* ---- reading a table ---- */

static bool add_rule(struct vocabulary *table, struct launch_rule *rules, const struct doc_node *at,
                     struct launch_rule rule, struct error *err)
{
    uint32_t *slot = slot_of(table, rule.name);
    struct launch_rule *before = table->rules.count > 0 ? &rules[table->rules.count - 1] : NULL;
    bool row = rule.kind == RULE_WORD && before && before->kind == RULE_WORD &&
               launch_same_name(before->name, rule.name);
    if (*slot && !row)
        return doc_error(&table->doc, at, err, "'%s' is there twice", rule.name);
    rules[table->rules.count++] = rule;
    if (!row)
        *slot = (uint32_t)table->rules.count;
    if (!row && strchr(rule.name, '*'))
        table->star_count++;
    return true;
}

/* Reads "KIND|WORD… FIELD=VALUE". */
static bool read_kind(struct vocabulary *table, const struct doc_node *node, const char *text,
                      struct launch_rule *rule, struct error *err)
{
    static const struct {
        const char *name;
        enum launch_rule_kind kind;
        bool is_list;
    } kinds[] = {{"number", RULE_NUMBER, false}, {"typed", RULE_NUMBER, false},
                 {"count", RULE_COUNT, false}, {"share", RULE_SHARE, false},
                 {"real", RULE_REAL, false}, {"whole", RULE_WHOLE, false}, {"wholes", RULE_WHOLE, true},
                 {"decimal", RULE_DECIMAL, false}, {"decimals", RULE_DECIMAL, true},
                 {"words", RULE_WORD, false}, {"lists", RULE_WORD, true},
                 {"switch", RULE_SWITCH, false}, {"bool", RULE_BOOL, false},   {"flag", RULE_BOOL, false},
                 {"name", RULE_NAME, false},     {"names", RULE_NAME, true},   {"code", RULE_CODE, true},
                 {"file", RULE_FILE, false}};
    size_t whole = strcspn(text, " "), length = strcspn(text, " |");
    if (length < whole && !(rule->others = arena_copy(&table->doc.arena, text + length + 1, whole - length - 1)))
        return error_memory(err);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        rule->kind = kinds[i].kind;
        rule->is_list = kinds[i].is_list;
        rule->is_typed = strcmp(kinds[i].name, "typed") == 0;
        if (strncmp(kinds[i].name, text, length) == 0 && !kinds[i].name[length])
            return read_target(table, node, text + whole + !!text[whole], rule, err);
    }
    return doc_error(&table->doc, node, err, "unknown kind '%s'", text);
}

/* Reads an entry of `read`: a kind, {WORD: FIELD=VALUE, …}, [WORD, …] or [[WORD, …]]. */
static bool add_read(struct vocabulary *table, struct launch_rule *rules, const struct doc_node *node,
                     struct error *err)
{
    struct launch_rule rule = {.name = node->key, .kind = RULE_WORD};
    if (node->type == DOC_MAP || node->type == DOC_LIST) {
        rule.is_list = node->type == DOC_LIST && node->first_child && node->first_child->type == DOC_LIST;
        const struct doc_node *word = rule.is_list ? node->first_child->first_child : node->first_child;
        for (; word; word = word->next) {
            bool map = node->type == DOC_MAP;
            const struct doc_node *target = word->type == DOC_LIST ? word->first_child : word;
            rule.word = map ? word->key : word->text ? word->text : "";
            for (; target; target = target == word ? NULL : target->next)
                if (!read_target(table, target, map && target->text ? target->text : "", &rule, err) ||
                    !add_rule(table, rules, node, rule, err))
                    return false;
        }
        return true;
    }
    return read_kind(table, node, node->text ? node->text : "", &rule, err) &&
           add_rule(table, rules, node, rule, err);
}

/* Says which values the settings of "KIND: [NAME, …]" take. */
static bool add_values(struct vocabulary *table, struct launch_rule *rules, const struct doc_node *kind,
                       struct error *err)
{
    struct launch_rule *takes = ARENA_ARRAY(&table->doc.arena, 1, struct launch_rule);
    if (!takes)
        return error_memory(err);
    if (!read_kind(table, kind, kind->key, takes, err))
        return false;
    for (const struct doc_node *node = kind->first_child; node; node = node->next) {
        uint32_t slot = *slot_of(table, node->text ? node->text : "");
        if (!slot || rules[slot - 1].kind <= RULE_FILE)
            return doc_error(&table->doc, node, err, "is read, or not there");
        rules[slot - 1].takes = takes;
    }
    return true;
}

/* Adds the names of "REASON: [NAME, …]". */
static bool add_reason(struct vocabulary *table, struct launch_rule *rules, const struct doc_node *reason,
                       enum launch_rule_kind kind, struct error *err)
{
    if (!doc_is_list(&table->doc, reason, err))
        return false;
    for (const struct doc_node *node = reason->first_child; node; node = node->next) {
        const char *name;
        if (!doc_string(&table->doc, node, &name, err) ||
            !add_rule(table, rules, node, (struct launch_rule){.name = name, .kind = kind, .word = reason->key},
                      err))
            return false;
    }
    return true;
}

static const struct {
    const char *key;
    enum launch_rule_kind kind;
} sections[] = {{"none", RULE_IDLE},
                {"unmodelled", RULE_UNMODELLED},
                {"refused", RULE_REFUSED},
                {"free", RULE_IDLE}};

#define SECTIONS (sizeof sections / sizeof *sections)

static bool add_all(struct vocabulary *table, struct launch_rule *rules, struct error *err)
{
    const struct doc_node *root = table->doc.root, *read = doc_find(root, "read");
    for (const struct doc_node *node = read ? read->first_child : NULL; node; node = node->next)
        if (!add_read(table, rules, node, err))
            return false;
    for (size_t i = 0; i < SECTIONS; i++) {
        const struct doc_node *section = doc_find(root, sections[i].key);
        for (const struct doc_node *node = section ? section->first_child : NULL; node; node = node->next)
            if (!add_reason(table, rules, node, sections[i].kind, err))
                return false;
    }
    for (size_t i = 0; i < 2; i++) {
        const struct doc_node *values = doc_find(root, i ? "values-by-hand" : "values");
        for (const struct doc_node *node = values ? values->first_child : NULL; node; node = node->next)
            if (!add_values(table, rules, node, err))
                return false;
    }
    const struct doc_node *usual = doc_find(root, "at-default");
    for (const struct doc_node *node = usual ? usual->first_child : NULL; node; node = node->next) {
        uint32_t slot = *slot_of(table, node->key);
        if (!slot || rules[slot - 1].kind != RULE_UNMODELLED)
            return doc_error(&table->doc, node, err, "is not under unmodelled");
        rules[slot - 1].usual = node;
    }
    return true;
}

/* Compares "OUTER." with as much of a name; with an end, whole names. */
static int compare_names(const char *outer, char end, const char *name)
{
    for (; *outer && launch_letter(*outer) == launch_letter(*name); outer++, name++)
        ;
    return (*outer ? launch_letter(*outer) : end) - launch_letter(*name);
}

static int by_name(const void *a, const void *b)
{
    return compare_names(*(const char *const *)a, '\0', *(const char *const *)b);
}

static int by_outer(const void *outer, const void *name)
{
    return compare_names(outer, '.', *(const char *const *)name);
}

static int longer_first(const void *a, const void *b)
{
    size_t first = strlen((*(const struct launch_rule *const *)a)->name);
    size_t second = strlen((*(const struct launch_rule *const *)b)->name);
    return (first < second) - (first > second);
}

static bool add_also(struct vocabulary *table, struct error *err)
{
    const struct doc_node *also = doc_find(table->doc.root, "also");
    for (const struct doc_node *node = also ? also->first_child : NULL; node; node = node->next) {
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
            if (node->text && strcmp(tables[i].name, node->text) == 0 && table->also_count < 4 &&
                &tables[i] != table)
                table->also[table->also_count++] = &tables[i];
        if (table->also_count != node->index + 1)
            return doc_error(&table->doc, node, err, "no table, or too many");
    }
    return true;
}

/* Returns the number of rules that a table can make at most. */
static size_t count_of(const struct doc_node *node)
{
    size_t count = 1;
    for (const struct doc_node *inner = node->first_child; inner; inner = inner->next)
        count += count_of(inner);
    return count;
}

static bool fill(struct vocabulary *table, struct error *err)
{
    static const char *const keys[] = {"name", "version", "sources", "also",
                                       "read",   "none", "unmodelled", "refused", "at-default", "free",
                                       "values", "values-by-hand"};
    if (!doc_is_map(&table->doc, table->doc.root, err) ||
        !doc_only_keys(&table->doc, table->doc.root, keys, sizeof keys / sizeof *keys, err))
        return false;
    size_t room = count_of(table->doc.root), slots = 64;
    while (slots < 2 * room)
        slots *= 2;
    struct launch_rule *rules = ARENA_ARRAY(&table->doc.arena, room, struct launch_rule);
    table->slots = ARENA_ARRAY(&table->doc.arena, slots, uint32_t);
    table->slot_count = slots;
    table->rules = (struct launch_rules){.rules = rules};
    if (!rules || !table->slots)
        return error_memory(err);
    if (!add_all(table, rules, err) || !add_also(table, err))
        return false;
    size_t stars = 0;
    table->stars = ARENA_ARRAY(&table->doc.arena, table->star_count + 1, const struct launch_rule *);
    table->inner = ARENA_ARRAY(&table->doc.arena, table->rules.count + 1, const char *);
    if (!table->stars || !table->inner)
        return error_memory(err);
    for (size_t i = 0; i < table->rules.count; i++)
        if (strchr(rules[i].name, '.'))
            table->inner[table->inner_count++] = rules[i].name;
    qsort(table->inner, table->inner_count, sizeof *table->inner, by_name);
    for (size_t i = 0; i < table->rules.count; i++) /* but no further word of the rule before */
        if (strchr(rules[i].name, '*') && *slot_of(table, rules[i].name) == i + 1)
            table->stars[stars++] = &rules[i];
    qsort(table->stars, stars, sizeof *table->stars, longer_first);
    return true;
}

static bool read_table(void *of)
{
    struct vocabulary *table = of;
    struct error err;
    table->also_count = table->star_count = table->inner_count = 0;
    if (!doc_parse(&table->doc, DOC_JSON, table->name, table->data, *table->size, &err)) {
        if (error_is_memory(&err))
            return false;
    } else if (fill(table, &err))
        return true;
    else {
        doc_release(&table->doc);
        if (error_is_memory(&err))
            return false;
    }
    fprintf(stderr, "data/software/%s.yaml: %s\n", table->name, err.text); /* a table of our own */
    abort();
}

/* ---- lookups ---- */

static struct vocabulary *table_of(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(tables[i].name, name) == 0)
            return once_needed_of(&tables[i].once, read_table, &tables[i]) ? &tables[i] : NULL;
    return NULL;
}

const char *launch_table_name(size_t index)
{
    return index < sizeof tables / sizeof *tables ? tables[index].name : NULL;
}

const struct launch_rules *launch_table(const char *name)
{
    const struct vocabulary *table = table_of(name);
    return table ? &table->rules : NULL;
}

/* Finds a setting in a table and in those behind it: by its own name alone, or by the beginnings alone. */
static const struct launch_rule *find(const char *name, const char *setting, bool stars,
                                      const struct launch_rule **end)
{
    const struct vocabulary *table = table_of(name);
    const struct launch_rule *found = NULL;
    uint32_t slot = table && !stars ? *slot_of(table, setting) : 0;
    if (slot)
        found = &table->rules.rules[slot - 1];
    for (size_t i = 0; table && stars && !found && i < table->star_count; i++)
        if (launch_name_fits(table->stars[i]->name, setting))
            found = table->stars[i];
    if (found)
        *end = table->rules.rules + table->rules.count;
    for (size_t i = 0; table && !found && i < table->also_count; i++)
        found = find(table->also[i]->name, setting, stars, end);
    return found;
}

const struct launch_rule *launch_table_rule(const char *name, const char *setting,
                                            const struct launch_rule **end)
{
    const struct launch_rule *found = find(name, setting, false, end), *above, *stop;
    if (found)
        return found;
    found = find(name, setting, true, end);
    setting = launch_bare_name(setting);
    /* below a value there is nothing: "fp16.enabled.x" is none of "fp16.*" */
    for (const char *dot = found ? strchr(setting, '.') : NULL; dot && found; dot = strchr(dot + 1, '.')) {
        char outer[256];
        size_t length = (size_t)(dot - setting);
        if (length + 1 < strlen(launch_bare_name(found->name)) || length >= sizeof outer)
            continue;
        snprintf(outer, sizeof outer, "%.*s", (int)length, setting);
        above = find(name, outer, false, &stop);
        found = above && above->kind <= RULE_FILE ? NULL : found;
    }
    return found;
}

void launch_table_nearest(const char *name, struct text_nearest *nearest)
{
    const struct vocabulary *table = table_of(name);
    for (size_t i = 0; table && i < table->rules.count; i++)
        if (!strchr(table->rules.rules[i].name, '*'))
            text_try(nearest, table->rules.rules[i].name);
    for (size_t i = 0; table && i < table->also_count; i++)
        launch_table_nearest(table->also[i]->name, nearest);
}

bool launch_table_has_below(const char *name, const char *setting)
{
    const struct vocabulary *table = table_of(name);
    bool has = table && bsearch(launch_bare_name(setting), table->inner, table->inner_count,
                                sizeof *table->inner, by_outer);
    for (size_t i = 0; table && i < table->also_count && !has; i++)
        has = launch_table_has_below(table->also[i]->name, setting);
    return has;
}
