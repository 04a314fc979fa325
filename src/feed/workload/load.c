#include "core/file.h"
#include "feed/workload/internal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool workload_apply(struct workload *workload, const struct doc *doc, const struct doc_node *map,
                           const char *section, bool strict, struct error *err);

/* Built-in workloads: data/workloads.yaml. */

#define MAX_BASES 8 /* one upon the other */

/* data/workloads.yaml, by scripts/embed.c. */
extern const char data_workloads[];
extern const size_t data_workloads_size;

static struct {
    struct doc doc; /* lives as long as the program */
    const struct doc_node *list;
    const char **names;
    int count;
    bool read;
    struct error err;
} table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static const char *name_of(const struct doc_node *entry)
{
    const struct doc_node *name = doc_find(entry, "name");
    return name && name->text ? name->text : "";
}

static void read_table(void)
{
    if (!doc_parse(&table.doc, DOC_JSON, "workloads.yaml", data_workloads, data_workloads_size, &table.err))
        return;
    table.list = doc_need(&table.doc, table.doc.root, "workloads", &table.err);
    if (!table.list)
        return;
    table.names = ARENA_ARRAY(&table.doc.arena, (size_t)table.list->count + 1, const char *);
    if (!table.names) {
        error_memory(&table.err);
        return;
    }
    for (const struct doc_node *entry = table.list->first_child; entry; entry = entry->next)
        if (*name_of(entry) != '_')
            table.names[table.count++] = name_of(entry);
    table.read = true;
}

const char *const *workload_builtins(int *count)
{
    pthread_once(&table_once, read_table);
    *count = table.count;
    return table.read ? table.names : NULL;
}

static bool is_called(const struct doc_node *entry, const char *name)
{
    const struct doc_node *aliases = doc_find(entry, "aliases");
    if (strcasecmp(name_of(entry), name) == 0)
        return true;
    for (const struct doc_node *alias = aliases ? aliases->first_child : NULL; alias; alias = alias->next)
        if (strcasecmp(alias->text, name) == 0)
            return true;
    return false;
}

static const struct doc_node *find(const char *name)
{
    for (const struct doc_node *entry = table.list->first_child; entry; entry = entry->next)
        if (is_called(entry, name))
            return entry;
    return NULL;
}

static bool unknown(const char *name, struct error *err)
{
    size_t length = strlen(name);
    const char *near = text_nearest(name, table.names, (size_t)table.count);
    struct text begun = {0};
    struct text_hint hint;
    for (int i = 0; i < table.count; i++)
        if (length > 0 && strncasecmp(table.names[i], name, length) == 0)
            text_format(&begun, "%s%s", begun.length ? ", " : "", table.names[i]);
    if (begun.data)
        error_set(err, ERROR_USAGE, "unknown workload '%.100s': expected %s", name, begun.data);
    else
        error_set(err, ERROR_USAGE, "unknown workload '%.100s'%s", name,
                  text_suggest(&hint, near, " (the name of a workload file ends in .yaml)"));
    text_release(&begun);
    return false;
}

/* Applies a built-in workload, after those that it is based on. */
static bool workload_apply_builtin(struct workload *workload, const char *name, struct error *err)
{
    const struct doc_node *entries[MAX_BASES];
    int count = 0;
    pthread_once(&table_once, read_table);
    if (!table.read) {
        *err = table.err;
        return false;
    }
    entries[0] = *name == '_' ? NULL : find(name);
    if (!entries[0])
        return unknown(name, err);
    for (const struct doc_node *base; (base = doc_find(entries[count], "base")); count++) {
        const struct doc_node *entry = find(base->text);
        if (!entry || count + 1 == MAX_BASES)
            return doc_error(&table.doc, base, err, "no such workload, or too many of them");
        entries[count + 1] = entry;
    }
    for (; count >= 0; count--) {
        const struct doc_node *set = doc_need(&table.doc, entries[count], "set", err);
        if (!set || !workload_apply(workload, &table.doc, set, "", true, err))
            return false;
    }
    return true;
}

#define LONGEST_PATH 256

/* Keys of DLIO's tools that do not concern the workload. */
static const char *const ignored[] = {"defaults", "hydra", "workflow.query"};

bool workload_is_transformer(const struct workload *workload)
{
    return workload->model.type && strcmp(workload->model.type, "transformer") == 0;
}

int64_t workload_eval_samples_per_file(const struct workload *workload)
{
    int64_t own = workload->dataset.eval_num_samples_per_file;
    return own > 0 ? own : workload->dataset.num_samples_per_file;
}

static bool workload_warn(struct workload *workload, struct error *err, const char *format, ...)
{
    struct text line = {0};
    va_list args;
    if (!workload->warnings)
        workload->warnings = ARENA_ARRAY(&workload->arena, WORKLOAD_MAX_WARNINGS, const char *);
    if (!workload->warnings)
        return error_memory(err);
    if (workload->warning_count == WORKLOAD_MAX_WARNINGS)
        return true;
    va_start(args, format);
    text_vformat(&line, format, args);
    va_end(args);
    bool last = workload->warning_count == WORKLOAD_MAX_WARNINGS - 1;
    const char *copy = NULL;
    if (!line.failed && line.data)
        copy = arena_string(&workload->arena, last ? "further warnings are not listed" : line.data);
    text_release(&line);
    if (copy)
        workload->warnings[workload->warning_count++] = copy;
    return copy || error_memory(err);
}

/* --- defaults ------------------------------------------------------------------------------------------------- */

static bool apply_default(struct workload *workload, const struct workload_key *key, const struct doc *doc,
                          const struct doc_node *node, struct error *err)
{
    workload->given[workload_key_index(key)] = NULL;
    if (node->type != DOC_NULL)
        return workload_set(workload, key, doc, node, err);
    if (key->type == WORKLOAD_TEXT)
        *(const char **)workload_field(workload, key) = NULL;
    return true;
}

static bool set_default(struct workload *workload, const struct workload_key *key, struct error *err)
{
    struct doc doc;
    if (!doc_parse(&doc, DOC_JSON, key->path, key->default_json, strlen(key->default_json), err))
        return false;
    bool ok = apply_default(workload, key, &doc, doc.root, err);
    doc_release(&doc);
    return ok;
}

/* Parses all defaults as one list: one document is much quicker than one for each key. */
static bool set_defaults(struct workload *workload, struct error *err)
{
    int count;
    const struct workload_key *keys = workload_keys(&count);
    struct text list = {0};
    struct doc doc;
    for (int i = 0; i < count; i++)
        text_format(&list, "%c%s", i ? ',' : '[', keys[i].default_json);
    text_add(&list, "]");
    bool ok =
        list.failed ? error_memory(err) : doc_parse(&doc, DOC_JSON, "defaults", list.data, list.length, err);
    text_release(&list);
    if (!ok)
        return false;
    const struct doc_node *node = doc.root->first_child;
    for (int i = 0; ok && i < count; i++, node = node->next)
        ok = apply_default(workload, &keys[i], &doc, node, err);
    doc_release(&doc);
    return ok;
}

/* --- a tree of values ----------------------------------------------------------------------------------------- */

struct tree_reader {
    struct workload *workload;
    const struct doc *doc;
    bool strict;
    bool seen[WORKLOAD_MAX_KEYS]; /* in this tree */
};

static bool is_section(const char *path)
{
    int count;
    const struct workload_key *keys = workload_keys(&count);
    if (strcmp(path, "data_reader") == 0)
        return true;
    size_t length = strlen(path);
    for (int i = 0; i < count; i++)
        if (strncmp(keys[i].path, path, length) == 0 && keys[i].path[length] == '.')
            return true;
    return false;
}

static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

/* Returns the key of this name in another section, else the most similar one. */
static const char *nearest_key(const char *path)
{
    const char *paths[WORKLOAD_MAX_KEYS];
    int count;
    const struct workload_key *keys = workload_keys(&count);
    for (int i = 0; i < count; i++) {
        paths[i] = keys[i].path;
        if (strcmp(last_part(paths[i]), last_part(path)) == 0)
            return paths[i];
    }
    return text_nearest(path, paths, (size_t)count);
}

static bool unknown_key(struct tree_reader *reader, const struct doc_node *node, const char *path,
                        const char *nearest, struct error *err)
{
    struct text_hint hint;
    const char *end = text_suggest(&hint, nearest, "");
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strcmp(path, ignored[i]) == 0)
            return workload_warn(reader->workload, err, "%s:%u:%u: '%s' is ignored", reader->doc->path,
                                 node->line, node->column, path);
    if (reader->strict)
        return doc_error(reader->doc, node, err, "unknown key%s", end);
    reader->workload->unknown_keys++;
    return workload_warn(reader->workload, err, "%s:%u:%u: %s: unknown key, ignored%s", reader->doc->path,
                         node->line, node->column, path, end);
}

static bool apply_value(struct tree_reader *reader, const struct workload_key *key,
                        const struct doc_node *node, struct error *err)
{
    struct workload *workload = reader->workload;
    int index = workload_key_index(key);
    if (reader->seen[index])
        return doc_error(reader->doc, node, err, "given twice: '%s' is the same key", key->path);
    reader->seen[index] = true;
    if (node->type == DOC_NULL)
        return set_default(workload, key, err);
    if (!workload_set(workload, key, reader->doc, node, err))
        return false;
    workload->given[index] =
        arena_format(&workload->arena, "%s:%u:%u", reader->doc->path, node->line, node->column);
    return workload->given[index] || error_memory(err);
}

/* Returns true if this value of the key `format` is that of workloads. */
static bool is_format(const struct doc_node *node)
{
    return node->type == DOC_STRING && strcmp(node->text, WORKLOAD_FORMAT) == 0;
}

/* Returns true if this key says what the file is: `format`, or `$schema` for editors. */
static bool is_head(const char *path, const struct doc_node *node)
{
    return strcmp(path, "$schema") == 0 || (strcmp(path, "format") == 0 && is_format(node));
}

static bool apply_map(struct tree_reader *reader, const struct doc_node *map, const char *section,
                      struct error *err);

static bool apply_node(struct tree_reader *reader, const struct doc_node *node, const char *path,
                       struct error *err)
{
    const struct workload_key *key = workload_key_find(path);
    if (key)
        return apply_value(reader, key, node, err);
    if (is_head(path, node))
        return true;
    if (!is_section(path))
        return unknown_key(reader, node, path, nearest_key(path), err);
    if (node->type == DOC_NULL)
        return true;
    if (strcmp(path, "model") == 0 && node->type == DOC_STRING) {
        reader->workload->of_study = true;
        return apply_value(reader, workload_key_find("model.name"), node, err);
    }
    return apply_map(reader, node, path, err);
}

static bool apply_map(struct tree_reader *reader, const struct doc_node *map, const char *section,
                      struct error *err)
{
    if (!doc_is_map(reader->doc, map, err))
        return false;
    for (const struct doc_node *node = map->first_child; node; node = node->next) {
        char path[LONGEST_PATH];
        int length = snprintf(path, sizeof path, "%s%s%s", section, *section ? "." : "", node->key);
        if (length < 0 || (size_t)length >= sizeof path)
            return doc_error(reader->doc, node, err, "a key of more than %d bytes", LONGEST_PATH);
        if (!apply_node(reader, node, path, err))
            return false;
    }
    return true;
}

/* Sets all fields below `map`, whose keys are relative to `section` ("" for the whole file). */
static bool workload_apply(struct workload *workload, const struct doc *doc, const struct doc_node *map,
                           const char *section, bool strict, struct error *err)
{
    struct tree_reader reader = {.workload = workload, .doc = doc, .strict = strict};
    /* DLIO's copy beside its results has all keys below `workload`. */
    const struct doc_node *inner = *section ? NULL : doc_find(map, "workload");
    if (!inner || inner->type != DOC_MAP)
        return apply_map(&reader, map, section, err);
    for (const struct doc_node *node = map->first_child; node; node = node->next) {
        char nearest[LONGEST_PATH];
        snprintf(nearest, sizeof nearest, "workload.%s", node->key);
        if (node != inner && !is_head(node->key, node) &&
            !unknown_key(&reader, node, node->key, is_section(node->key) ? nearest : NULL, err))
            return false;
    }
    return apply_map(&reader, inner, section, err);
}

/* --- overrides ------------------------------------------------------------------------------------------------ */

/* Removes the line and column from "override 'a.b':1:1: expected …". */
static void drop_place(struct error *err, const char *start)
{
    size_t length = strlen(start);
    char *place = err->text + length;
    if (strncmp(err->text, start, length) == 0 && *place == ':') {
        size_t digits = strspn(place, ":0123456789");
        memmove(place + 1, place + digits, strlen(place + digits) + 1);
    }
}

static bool apply_override(struct workload *workload, const char *path, const char *value, const char *where,
                           struct error *err)
{
    struct doc doc;
    if (!doc_parse(&doc, DOC_YAML, where, value, strlen(value), err))
        return false;
    struct tree_reader reader = {.workload = workload, .doc = &doc, .strict = true};
    bool ok = apply_node(&reader, doc.root, path, err);
    doc_release(&doc);
    return ok;
}

const char *workload_override_plain(const char *text)
{
    text += strspn(text, "+");
    return text_starts_with(text, "workload.") ? text + strlen("workload.") : text;
}

static bool read_override(struct workload *workload, const char *text, struct error *err)
{
    const char *start = workload_override_plain(text);
    const char *equals = strchr(start, '=');
    if (!equals || equals == start || equals - start >= LONGEST_PATH)
        return error_set(err, ERROR_USAGE, "override '%.100s': expected SECTION.KEY=VALUE", text);
    if (equals[1 + strspn(equals + 1, " ")] == 0)
        return error_set(err, ERROR_USAGE, "override '%.100s': the value is missing", text);
    char path[LONGEST_PATH], where[LONGEST_PATH + 16];
    snprintf(path, sizeof path, "%.*s", (int)(equals - start), start);
    snprintf(where, sizeof where, "override '%s'", path);
    if (apply_override(workload, path, equals + 1, where, err))
        return true;
    drop_place(err, where);
    err->kind = err->kind == ERROR_INPUT ? ERROR_USAGE : err->kind;
    return false;
}

/* --- derived values --------------------------------------------------------------------------------------------- */

static bool take_stdev(const struct workload *workload, struct distribution *time, double *stdev,
                       const char *path, struct error *err)
{
    if (*stdev == 0)
        return true;
    if (time->type > DISTRIBUTION_NORMAL)
        return error_set(err, ERROR_INPUT, "%s: %s_stdev: not allowed, as %s is already a distribution",
                         workload->name, path, path);
    time->type = DISTRIBUTION_NORMAL;
    time->second = *stdev;
    *stdev = 0;
    return true;
}

static bool drop_slashes(struct workload *workload, const char **folder, struct error *err)
{
    size_t length = strlen(*folder);
    while (length > 1 && (*folder)[length - 1] == '/')
        length--;
    *folder = arena_copy(&workload->arena, *folder, length);
    return *folder || error_memory(err);
}

/* Chooses the formula that the fork uses where no time is given. */
static void choose_study_model(struct workload *workload)
{
    static const char *const names[] = {NULL, "unet3d", "bert", "dlrm"};
    static const struct distribution none = {0};
    if (!workload->of_study || workload->train.computation_model != WORKLOAD_COMPUTATION_TIME ||
        !distribution_equal(&workload->train.computation_time, &none))
        return;
    for (int i = WORKLOAD_COMPUTATION_VLDB_UNET3D; i <= WORKLOAD_COMPUTATION_VLDB_DLRM; i++)
        if (strcmp(workload->model.name, names[i]) == 0)
            workload->train.computation_model = (enum workload_computation_model)i;
}

static bool finish(struct workload *workload, struct error *err)
{
    bool tensorflow = workload->framework == WORKLOAD_TENSORFLOW;
    if (!workload_key_given(workload, workload_key_find("reader.data_loader")))
        workload->reader.data_loader = tensorflow ? WORKLOAD_LOADER_TENSORFLOW : WORKLOAD_LOADER_PYTORCH;
    if (!workload_key_given(workload, workload_key_find("reader.data_loader_sampler")))
        workload->reader.data_loader_sampler = workload->reader.data_loader == WORKLOAD_LOADER_TENSORFLOW
                                                   ? WORKLOAD_SAMPLER_ITERATIVE
                                                   : WORKLOAD_SAMPLER_INDEX;
    choose_study_model(workload);
    return take_stdev(workload, &workload->train.computation_time, &workload->train.computation_time_stdev,
                      "train.computation_time", err) &&
           take_stdev(workload, &workload->reader.preprocess_time, &workload->reader.preprocess_time_stdev,
                      "reader.preprocess_time", err) &&
           take_stdev(workload, &workload->evaluation.eval_time, &workload->evaluation.eval_time_stdev,
                      "evaluation.eval_time", err) &&
           drop_slashes(workload, &workload->dataset.data_folder, err) &&
           drop_slashes(workload, &workload->checkpoint.checkpoint_folder, err);
}

static bool override_and_check(struct workload *workload, const struct workload_options *options,
                               struct error *err)
{
    for (int i = 0; i < options->override_count; i++)
        if (!read_override(workload, options->overrides[i], err))
            return false;
    return finish(workload, err) && workload_check(workload, options->ranks, err);
}

/* --- keys without effect -------------------------------------------------------------------------------------- */

static bool is_default(const struct workload *workload, const struct workload_key *key)
{
    struct text value = {0};
    struct json json = {.out = &value};
    workload_write_value(workload, key, &json, NULL);
    bool same = !value.failed && strncmp(value.data, key->default_json, strlen(key->default_json)) == 0;
    text_release(&value);
    return same;
}

/* Adds "KEY (REASON)"; the table's texts are Markdown, and may go on with other facts after a semicolon. */
static void add_idle(struct text *list, const char *path, const char *reason)
{
    text_format(list, "%s%s (", list->length ? ", " : "", path);
    for (const char *at = reason; *at && *at != ';'; at++)
        if (*at != '`')
            text_add_bytes(list, at, 1);
    text_add(list, ")");
}

/* Warns of the keys that the user set, in a file or by overrides, to no avail. */
static bool warn_of_idle_keys(struct workload *workload, bool is_builtin, struct error *err)
{
    int count;
    const struct workload_key *keys = workload_keys(&count);
    struct text list = {0};
    for (int i = 0; i < count; i++) {
        const char *reason = workload_key_idle(&keys[i]), *place = workload->given[i];
        reason = reason ? reason : workload_key_idle_with(workload, &keys[i]);
        bool theirs = place && (!is_builtin || text_starts_with(place, "override "));
        if (reason && theirs && !is_default(workload, &keys[i]))
            add_idle(&list, keys[i].path, reason);
    }
    bool ok = !list.failed || error_memory(err);
    ok = ok && (list.length == 0 ||
                workload_warn(workload, err, "%s: keys without effect: %s", workload->name, list.data));
    text_release(&list);
    double bytes = workload_columns_bytes(workload);
    workload->dataset.record_length_bytes = bytes > 0 ? bytes : workload->dataset.record_length_bytes;
    return ok;
}

/* --- opening -------------------------------------------------------------------------------------------------- */

static bool begin(struct workload *workload, const char *name, struct error *err)
{
    memset(workload, 0, sizeof *workload);
    workload->name = arena_string(&workload->arena, name);
    return workload->name ? set_defaults(workload, err) : error_memory(err);
}

/* Refuses what other commands read and write: as a workload it would be nothing but defaults and warnings. */
static bool check_is_workload(const struct doc *doc, struct error *err)
{
    static const char *const names[] = {"format", "schema"};
    if (doc->root->type != DOC_MAP || !doc->root->first_child)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct doc_node *node = doc_find(doc->root, names[i]);
        if (node && node->type == DOC_STRING && text_starts_with(node->text, "rehearse-") && !is_format(node))
            return doc_error(doc, node, err, "expected a workload, found '%s'", node->text);
    }
    for (const struct doc_node *node = doc->root->first_child; node; node = node->next)
        if (strcmp(node->key, "workload") == 0 || workload_key_find(node->key) || is_section(node->key))
            return true;
    return doc_error(doc, doc->root, err, "not a workload: it has no key of a workload");
}

static bool read_text(struct workload *workload, const char *path, const char *text, size_t length,
                      bool strict, struct error *err)
{
    struct doc doc;
    if (!doc_parse(&doc, doc_syntax_of(path), path, text, length, err))
        return false;
    bool ok = check_is_workload(&doc, err) && workload_apply(workload, &doc, doc.root, "", strict, err);
    doc_release(&doc);
    return ok;
}

bool workload_parse(struct workload *workload, const char *path, const char *text, size_t length,
                    const struct workload_options *options, struct error *err)
{
    static const struct workload_options none;
    options = options ? options : &none;
    bool ok = begin(workload, path, err) && read_text(workload, path, text, length, options->strict, err) &&
              override_and_check(workload, options, err) && warn_of_idle_keys(workload, false, err);
    if (!ok)
        workload_release(workload);
    return ok;
}

static bool open_builtin(struct workload *workload, const char *name, const struct workload_options *options,
                         struct error *err)
{
    bool ok = begin(workload, name, err) && workload_apply_builtin(workload, name, err) &&
              override_and_check(workload, options, err) && warn_of_idle_keys(workload, true, err);
    if (!ok)
        workload_release(workload);
    return ok;
}

bool workload_open(struct workload *workload, const char *name, const struct workload_options *options,
                   struct error *err)
{
    static const struct workload_options none;
    char *text = NULL;
    size_t length = 0;
    options = options ? options : &none;
    bool is_file = strchr(name, '/') || strcmp(name, "-") == 0 || doc_syntax_of(name) == DOC_YAML ||
                   strcmp(last_part(name), "json") == 0;
    if (!is_file)
        return open_builtin(workload, name, options, err);
    memset(workload, 0, sizeof *workload);
    if (!file_read(name, DOC_MAX_BYTES, &text, &length, err))
        return false;
    bool ok = workload_parse(workload, name, text, length, options, err);
    free(text);
    return ok;
}

void workload_release(struct workload *workload)
{
    arena_release(&workload->arena);
    memset(workload, 0, sizeof *workload);
}
