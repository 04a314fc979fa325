/* Arguments of launch descriptions, and the rules that read them. */
#include "launch/read/read.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- lists ---- */

struct launch_argument *launch_add(struct launch_options *options, const char *name, const char *value,
                                   const char *path, int line)
{
    struct launch_argument *items = arena_grow(&options->arena, options->arguments, options->argument_count,
                                               &options->argument_room, sizeof *items);
    const char *own_name = arena_string(&options->arena, name),
               *own_path = arena_string(&options->arena, path);
    const char *own_value = value ? arena_string(&options->arena, value) : NULL;
    if (!items || !own_name || !own_path || (value && !own_value)) {
        options->no_memory = true;
        return NULL;
    }
    options->arguments = items;
    items[options->argument_count] = (struct launch_argument){
        own_name, own_value, own_path, line, LAUNCH_UNKNOWN, NULL, false, SHAPE_VALUE, NULL, 0, NULL};
    return &items[options->argument_count++];
}

void launch_note(struct launch_options *options, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char **items =
        arena_grow(&options->arena, options->notes, options->note_count, &options->note_room, sizeof *items);
    const char *copy = arena_string(&options->arena, text);
    options->no_memory |= !items || !copy;
    if (!items || !copy)
        return;
    options->notes = items;
    items[options->note_count++] = copy;
}

void launch_miss(struct launch_options *options, const char *name, const char *why, const char *give)
{
    options->no_memory |= !name || !why || !give;
    for (int i = 0; i < options->missing_count && name; i++)
        if (strcmp(options->missing[i].name, name) == 0)
            return;
    if (options->no_memory)
        return;
    struct launch_missing *items = arena_grow(&options->arena, options->missing, options->missing_count,
                                              &options->missing_room, sizeof *items);
    struct launch_missing missing = {arena_string(&options->arena, name), arena_string(&options->arena, why),
                                     arena_string(&options->arena, give)};
    options->no_memory |= !items || !missing.name || !missing.why || !missing.give;
    if (options->no_memory)
        return;
    options->missing = items;
    items[options->missing_count++] = missing;
}

const char *launch_missing_text(struct launch_options *options)
{
    struct text text = {0};
    for (int i = 0; i < options->missing_count; i++)
        text_format(&text, "%s%s %s: add %s", i > 0 ? "; " : "", options->missing[i].name,
                    options->missing[i].why, options->missing[i].give);
    struct launch_names unasked = {0};
    launch_unasked(options, &unasked);
    for (int i = 0; i < unasked.count; i++)
        text_format(&text, "; %s", unasked.items[i]);
    for (int i = 0; options->missing_count > 0 && i < options->note_count; i++)
        if (strstr(options->notes[i], " not read: "))
            text_format(&text, "; %s", options->notes[i]);
    const char *copy = text.failed ? NULL : arena_string(&options->arena, text.data ? text.data : "");
    text_release(&text);
    return copy;
}

int launch_count(const struct launch_options *options, enum launch_use use)
{
    int count = 0;
    for (int i = 0; i < options->argument_count; i++)
        count += options->arguments[i].use == use;
    return count;
}

bool launch_refuse(const struct launch_argument *argument, struct error *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(err, ERROR_INPUT, "%s:%d: %s: %s", argument->path, argument->line, argument->name, text);
}

/* ---- names and values ---- */

char launch_letter(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

const char *launch_bare_name(const char *name)
{
    while (*name == '-')
        name++;
    return name;
}

uint32_t launch_hash(const char *name)
{
    uint32_t hash = 2166136261u;
    for (name = launch_bare_name(name); *name; name++)
        hash = (hash ^ (uint8_t)launch_letter(*name)) * 16777619u;
    return hash;
}

bool launch_same_name(const char *a, const char *b)
{
    for (a = launch_bare_name(a), b = launch_bare_name(b); *a && launch_letter(*a) == launch_letter(*b);
         a++, b++)
        ;
    return *a == *b;
}

bool launch_name_fits(const char *rule, const char *name)
{
    for (rule = launch_bare_name(rule), name = launch_bare_name(name);
         *rule && *rule != '*' && launch_letter(*rule) == launch_letter(*name); rule++, name++)
        ;
    return *rule == '*' || *rule == *name;
}

struct launch_argument *launch_argument(const struct launch_options *options, const char *name)
{
    uint32_t hash = launch_hash(name);
    for (int i = options->argument_count - 1; i >= 0; i--) {
        struct launch_argument *argument = &options->arguments[i];
        if (argument->hashed != argument->name) {
            argument->hash = launch_hash(argument->name);
            argument->hashed = argument->name;
        }
        if (argument->hash == hash && launch_same_name(argument->name, name))
            return argument;
    }
    return NULL;
}

const char *launch_text(const struct launch_options *options, const char *name)
{
    const struct launch_argument *argument = launch_argument(options, name);
    if (!argument || launch_is_off(argument->value))
        return NULL;
    return argument->value ? argument->value : "";
}

bool launch_is_on(const struct launch_options *options, const char *name)
{
    return launch_text(options, name) != NULL;
}

void launch_unmodelled(struct launch_options *options, const char *name, const char *why)
{
    struct launch_argument *argument = launch_argument(options, name);
    if (!argument || launch_is_off(argument->value))
        return;
    argument->use = LAUNCH_UNMODELLED;
    argument->note = why;
}

bool launch_whole(const struct launch_options *options, const char *name, int64_t *value)
{
    const struct launch_argument *argument = launch_argument(options, name);
    return argument && argument->value && launch_number(argument->value, 1, value);
}

void launch_default(struct launch_value *value, int64_t to)
{
    if (!value->given)
        *value = (struct launch_value){true, 0, to};
}

void launch_set(struct launch_value *value, const struct launch_argument *by, int64_t to)
{
    *value = (struct launch_value){true, by ? by->line : 0, to};
}

/* ---- what is missing ---- */

static void miss_unknown(struct launch_options *options, const struct shell_unknown *unknown,
                         const struct launch_argument *argument, const char *name)
{
    struct text why = {0}, give = {0}, label = {0};
    bool digit = unknown->name && isdigit((unsigned char)unknown->name[0]);
    if (unknown->name)
        text_format(&label,
                    digit && unknown->through ? "$%s (%s)"
                    : digit                   ? "$%s"
                                              : "%s",
                    unknown->name, unknown->through ? unknown->through : "");
    else
        text_format(&label, "the output of %.100s", unknown->text);
    text_format(&why,
                unknown->name && unknown->text ? "is computed by %.60s"
                : unknown->text                ? "is unknown"
                                               : "is not set",
                unknown->text);
    text_format(&why, " (%s:%d), used ", unknown->path, unknown->line);
    if (unknown->through && !digit)
        text_format(&why, "through %s ", unknown->through);
    text_format(&why, "by %s (%s:%d)", name, argument->path, argument->line);
    if (unknown->name)
        text_format(&give, "--set %s=VALUE", unknown->name);
    else
        text_add(&give, "it to the file");
    options->no_memory |= why.failed || give.failed || label.failed;
    if (!options->no_memory)
        launch_miss(options, label.data, why.data, give.data);
    text_release(&why);
    text_release(&give);
    text_release(&label);
}

bool launch_is_known(struct launch_options *options, const struct shell *shell,
                     const struct launch_argument *argument, const char *name)
{
    bool known = true;
    for (const char *at = argument->value; shell && at && (at = strchr(at, SHELL_MARK)) != NULL; at++) {
        const struct shell_unknown *unknown = shell_unknown_in(shell, at);
        if (unknown)
            miss_unknown(options, unknown, argument, name);
        known = false;
    }
    return known;
}

/* ---- rules ---- */

/* Does a value change nothing? A switch without a value is true; null is none. */
static bool is_usual(const struct launch_rule *rule, const char *value)
{
    const struct doc_node *usual = rule->usual;
    if (!usual)
        return launch_is_off(value);
    value = value ? value : "true";
    if (!*value || strcmp(value, "null") == 0 || strcmp(value, "~") == 0)
        return true;
    const struct doc_node *node = usual->type == DOC_LIST ? usual->first_child : usual;
    for (; node; node = node == usual ? NULL : node->next)
        if (strcasecmp(node->text ? node->text : "null", value) == 0)
            return true;
    return false;
}

/* Facts of a model that plan writes, and that move neither time nor memory. */
static bool is_fact(const struct launch_rule *rule)
{
    static const size_t facts[] = {
        offsetof(struct launch_options, qk_norm), offsetof(struct launch_options, sinks),
        offsetof(struct launch_options, qkv_biased), offsetof(struct launch_options, router_biased)};
    bool fact = false;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        fact |= rule->kind <= RULE_WORD && rule->at == facts[i];
    return fact;
}

static bool apply(struct launch_options *options, const struct launch_rule *rule,
                  const struct launch_rule *end, struct launch_argument *argument, struct error *err)
{
    argument->use = is_fact(rule) ? LAUNCH_IDLE : LAUNCH_READ;
    if (rule->kind <= RULE_FILE)
        return launch_read_value(options, rule, end, argument, err);
    if (rule->kind == RULE_REFUSED && options->model_name)
        return true;
    bool open = argument->value && (strchr(argument->value, SHELL_MARK) || strstr(argument->value, "${"));
    if (rule->takes && !open && !launch_read_value(options, rule->takes, rule->takes, argument, err))
        return false;
    bool off = rule->kind == RULE_REFUSED ? launch_is_off(argument->value) : is_usual(rule, argument->value);
    bool idle = rule->kind == RULE_IDLE || (off && argument->shape != SHAPE_NESTED);
    argument->use = idle ? LAUNCH_IDLE : LAUNCH_UNMODELLED;
    argument->note = idle ? NULL : rule->word;
    return idle || rule->kind == RULE_UNMODELLED || launch_refuse(argument, err, "%s", rule->word);
}

static const struct launch_rule *rule_for(const struct launch_rules *rules, const char *name,
                                          const struct launch_rule **end)
{
    for (; rules; rules = rules->next) {
        const struct launch_rule *found = launch_table_rule(rules->table, name, end);
        if (found)
            return found;
    }
    return NULL;
}

bool launch_has_rule(const struct launch_rules *rules, const char *name)
{
    const struct launch_rule *end, *rule = rule_for(rules, name, &end);
    return rule && rule->at && rule->kind <= RULE_WORD;
}

/* Returns whether settings may stand below a name, so that without any it says nothing. */
static bool is_container(const struct launch_rules *rules, const char *name)
{
    bool has = false;
    for (; rules && !has; rules = rules->next)
        has = launch_table_has_below(rules->table, name);
    return has;
}

#define MAX_WRONG       4  /* values that are told at once */
#define MAX_SUGGESTIONS 20 /* of a description: each looks at all names of a table */

static const char *setting_of(const struct launch_argument *argument)
{
    return argument->setting ? argument->setting : argument->name;
}

/* Notes the name that may have been meant. */
static void suggest(struct launch_options *options, const struct launch_rules *rules,
                    struct launch_argument *argument)
{
    struct text_nearest nearest = text_nearest_to(launch_bare_name(setting_of(argument)));
    for (; rules; rules = rules->next)
        launch_table_nearest(rules->table, &nearest);
    if (!nearest.best)
        return;
    argument->note = arena_format(&options->arena, "did you mean %s%s?", argument->name[0] == '-' ? "--" : "",
                                  nearest.best);
    options->no_memory |= !argument->note;
}

/* Adds what is given by --set for an argument of this name, unless it is a variable of the script. */
static bool add_given(struct launch_options *options, const struct launch_rules *rules,
                      const struct shell *shell, struct error *err)
{
    for (const char *const *given = options->given; given && *given; given++) {
        const char *equals = strchr(*given, '=');
        char *name = equals ? arena_copy(&options->arena, *given, (size_t)(equals - *given)) : NULL;
        if (!equals || equals == *given)
            return error_set(err, ERROR_USAGE, "--set: expected NAME=VALUE, found '%s'", *given);
        if (!name)
            return error_memory(err);
        const struct launch_rule *end, *rule = rule_for(rules, name, &end);
        const struct shell_variable *variable = shell ? shell_find(shell, name) : NULL;
        bool known = rule && !strchr(rule->name, '*') && (!variable || variable->is_given);
        if (known && !(variable && variable->is_used && launch_argument(options, name)))
            launch_add(options, name, equals + 1, "--set", 0);
    }
    return true;
}

bool launch_apply_rules(struct launch_options *options, const struct launch_rules *rules, int first,
                        const struct shell *shell, struct error *err)
{
    const struct launch_argument *list = NULL; /* that is unknown, and its items with it */
    int unknown = 0, wrong = 0;
    struct text all = {0};
    struct error own;
    if (!add_given(options, rules, shell, err))
        return false;
    for (int i = first; i < options->argument_count; i++) {
        struct launch_argument *argument = &options->arguments[i];
        if (argument->use != LAUNCH_UNKNOWN)
            continue;
        const struct launch_rule *end, *rule = rule_for(rules, setting_of(argument), &end);
        bool nested = argument->shape == SHAPE_NESTED;
        if (!rule || (argument->setting && rule->kind <= RULE_FILE)) { /* no item of a list is read */
            bool of_list = list && argument->setting && text_starts_with(argument->name, list->name) &&
                           argument->name[strlen(list->name)] == '[';
            bool idle =
                of_list || argument->is_made ||
                (!nested && launch_is_off(argument->value) && is_container(rules, setting_of(argument)));
            argument->use = idle ? LAUNCH_IDLE : LAUNCH_UNKNOWN;
            list = !idle && nested ? argument : list;
            if (!idle && unknown++ < MAX_SUGGESTIONS)
                suggest(options, rules, argument);
            continue;
        }
        if (argument->shape == SHAPE_MAP && is_container(rules, setting_of(argument))) {
            argument->use = LAUNCH_IDLE;
            continue;
        }
        if (rule->kind < RULE_FILE && !launch_is_known(options, shell, argument, argument->name)) {
            argument->use = LAUNCH_READ;
            continue;
        }
        if (apply(options, rule, end, argument, &own))
            continue;
        bool whole = rule->kind == RULE_REFUSED; /* nothing else matters */
        if (whole)
            wrong = 0, all.length = 0;
        if (wrong++ < MAX_WRONG)
            text_format(&all, "%s%s", wrong > 1 ? "; " : "", own.text);
        if (whole)
            break;
    }
    if (all.failed || options->no_memory)
        error_memory(err);
    else if (wrong > 0)
        error_set(err, ERROR_INPUT, "%s", all.data);
    text_release(&all);
    return !options->no_memory && wrong == 0;
}

/* ---- files beside a description ---- */

#define MAX_FOLDERS 16

const char *launch_find_above(struct launch_options *options, const char *path, const char *relative)
{
    const char *end = path + strlen(path);
    for (int up = 0; up < MAX_FOLDERS; up++) {
        while (end > path && end[-1] != '/')
            end--;
        const char *file = arena_format(&options->arena, "%.*s%s", (int)(end - path), path, relative);
        if (file && launch_budget_has(&options->budget, file))
            return file;
        if (end == path)
            return NULL;
        end--;
    }
    return NULL;
}

/* ---- documents ---- */

/* A node's name, and that of its setting in the tables, which has no places in lists: NULL where they are the same. */
static bool add_node(struct launch_options *options, const struct doc *doc, const struct doc_node *node,
                     const char *name, const char *setting, struct error *err);

/* Adds what a map or the items of a list hold: "NAME.key", "NAME[0].key". */
static bool add_below(struct launch_options *options, const struct doc *doc, const struct doc_node *outer,
                      const char *before, const char *setting, struct error *err)
{
    bool ok = true, is_list = outer->type == DOC_LIST;
    for (const struct doc_node *node = outer->first_child; ok && node; node = node->next) {
        struct text name = {0}, plain = {0};
        if (is_list && node->type != DOC_MAP && node->type != DOC_LIST)
            continue;
        if (is_list)
            text_format(&name, "%s[%d]", before, node->index);
        else
            text_format(&name, "%s%s%s", before, *before ? "." : "", node->key);
        if (is_list || setting)
            text_format(&plain, is_list ? "%s" : "%s.%s", setting ? setting : before, node->key);
        ok = name.failed || plain.failed ? error_memory(err)
             : is_list                   ? add_below(options, doc, node, name.data, plain.data, err)
                                         : add_node(options, doc, node, name.data, plain.data, err);
        text_release(&name);
        text_release(&plain);
    }
    return ok;
}

/* The words of a list: "a b". */
static bool add_words(struct text *text, const struct doc_node *list, enum launch_shape *shape)
{
    *shape = SHAPE_LIST;
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        if (node->type == DOC_MAP || node->type == DOC_LIST) {
            *shape = SHAPE_NESTED;
            continue;
        }
        text_add(text, text->length > 0 ? " " : "");
        text_add_bytes(text, node->text ? node->text : "", node->length);
    }
    return !text->failed;
}

static bool add_node(struct launch_options *options, const struct doc *doc, const struct doc_node *node,
                     const char *name, const char *setting, struct error *err)
{
    if (options->argument_count >= LAUNCH_MAX_ARGUMENTS)
        return doc_error(doc, node, err, "more than %d settings", LAUNCH_MAX_ARGUMENTS);
    if (node->type == DOC_MAP && node->first_child)
        return add_below(options, doc, node, name, setting, err);
    struct text words = {0};
    enum launch_shape shape = node->type == DOC_MAP ? SHAPE_MAP : SHAPE_VALUE;
    bool is_list = node->type == DOC_LIST, ok = !is_list || add_words(&words, node, &shape);
    const char *value = node->type == DOC_NULL ? "null" : node->text && !is_list ? node->text : words.data;
    struct launch_argument *argument =
        ok ? launch_add(options, name, value ? value : "", doc->path, (int)node->line) : NULL;
    text_release(&words);
    if (argument) {
        argument->shape = shape;
        argument->setting = setting ? arena_string(&options->arena, setting) : NULL;
    }
    if (!argument || (setting && !argument->setting))
        return error_memory(err);
    return !is_list || add_below(options, doc, node, name, setting, err);
}

void launch_supersede(struct launch_options *options, int first, int own)
{
    for (int i = first; i < own; i++)
        if (launch_argument(options, options->arguments[i].name) != &options->arguments[i])
            options->arguments[i].use = LAUNCH_IDLE;
}

static int by_name(const void *a, const void *b)
{
    const struct launch_argument *first = *(const struct launch_argument *const *)a;
    const struct launch_argument *second = *(const struct launch_argument *const *)b;
    int order = strcmp(first->name, second->name);
    return order ? order : (first > second) - (first < second);
}

/* Notes names that are there twice: readers of YAML take the last. */
static void note_twins(struct launch_options *options, int from)
{
    int count = options->argument_count - from;
    const struct launch_argument **sorted = malloc((size_t)(count + 1) * sizeof *sorted);
    options->no_memory |= !sorted;
    for (int i = 0; sorted && i < count; i++)
        sorted[i] = &options->arguments[from + i];
    if (sorted)
        qsort(sorted, (size_t)count, sizeof *sorted, by_name);
    for (int i = 1; sorted && i < count; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0 && sorted[i - 1]->line != sorted[i]->line)
            launch_note(options, "%s is given twice, in lines %d and %d: the last counts", sorted[i]->name,
                        sorted[i - 1]->line, sorted[i]->line);
    free(sorted);
}

bool launch_add_doc(struct launch_options *options, const struct doc *doc, const char *prefix,
                    struct error *err)
{
    int from = options->argument_count;
    const struct doc_node *map = doc->root;
    char key[128];
    while (prefix && *prefix && map) {
        size_t length = strcspn(prefix, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, prefix);
        map = doc_find(map, key);
        prefix += length + (prefix[length] == '.');
    }
    if (!map || map->type != DOC_MAP)
        return true;
    if (!add_below(options, doc, map, "", NULL, err))
        return false;
    note_twins(options, from);
    return true;
}

bool launch_read_doc(struct launch_options *options, const struct doc *doc, const char *table,
                     struct error *err)
{
    const struct launch_rules rules = {.table = table};
    int first = options->argument_count;
    return launch_add_doc(options, doc, NULL, err) && launch_apply_rules(options, &rules, first, NULL, err);
}
