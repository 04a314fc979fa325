#include "core/doc.h"

#include "core/file.h"
#include "core/stop.h"
#include "core/text.h"
#include "core/unit.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum doc_syntax doc_syntax_of(const char *path)
{
    return text_ends_with(path, ".yaml") || text_ends_with(path, ".yml") ? DOC_YAML
           : text_ends_with(path, ".toml")                               ? DOC_TOML
                                                                         : DOC_JSON;
}

bool doc_is_name(const char *path)
{
    return doc_syntax_of(path) == DOC_YAML || text_ends_with(path, ".json");
}

typedef bool doc_parser(struct doc *doc, enum doc_syntax syntax, const char *path, const char *text,
                        size_t length, struct error *err);

static bool load(struct doc *doc, const char *path, doc_parser *parse, struct error *err)
{
    char *text;
    size_t length;
    if (!file_read(path, DOC_MAX_BYTES, &text, &length, err))
        return false;
    bool ok = parse(doc, doc_syntax_of(path), path, text, length, err);
    free(text);
    return ok;
}

bool doc_load(struct doc *doc, const char *path, struct error *err)
{
    return load(doc, path, doc_parse, err);
}

bool doc_load_lax(struct doc *doc, const char *path, struct error *err)
{
    return load(doc, path, doc_parse_lax, err);
}

void doc_release(struct doc *doc)
{
    arena_release(&doc->arena);
    memset(doc, 0, sizeof *doc);
}

/* --- errors --------------------------------------------------------------------------------------------- */

#define LONGEST_SHOWN 60 /* bytes of a key or value in a message */

/* `text` as it is shown in messages: its start, in whole characters. */
static int shown_length(const char *text, size_t length)
{
    if (length <= LONGEST_SHOWN)
        return (int)length;
    length = LONGEST_SHOWN;
    while (length > 0 && text_continues(text[length]))
        length--;
    return (int)length;
}

static const char *ellipsis(size_t length)
{
    return length > LONGEST_SHOWN ? "…" : "";
}

static void add_path(struct text *text, const struct doc_node *node)
{
    if (!node->parent)
        return;
    add_path(text, node->parent);
    if (node->key) {
        size_t length = strlen(node->key);
        text_format(text, "%s%.*s%s", node->parent->parent ? "." : "", shown_length(node->key, length),
                    node->key, ellipsis(length));
    } else
        text_format(text, "[%u]", node->index);
}

bool doc_error(const struct doc *doc, const struct doc_node *at, struct error *err, const char *format, ...)
{
    char message[768];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct text path = {0};
    add_path(&path, at);
    error_set(err, ERROR_INPUT, "%s:%u:%u: %s%s%s", doc->path, at->line, at->column,
              path.data ? path.data : "", path.length ? ": " : "", message);
    text_release(&path);
    return false;
}

/* Describes a value, for "found …". */
static const char *describe(const struct doc_node *node, char *buffer, size_t size)
{
    switch (node->type) {
    case DOC_NULL:
        return "null";
    case DOC_LIST:
        return "a list";
    case DOC_MAP:
        return "a map";
    default:
        snprintf(buffer, size, "'%.*s%s'", shown_length(node->text, node->length), node->text,
                 ellipsis(node->length));
        return buffer;
    }
}

static bool unexpected(const struct doc *doc, const struct doc_node *node, const char *wanted,
                       struct error *err)
{
    char found[80];
    return doc_error(doc, node, err, "expected %s, found %s", wanted, describe(node, found, sizeof found));
}

/* --- typed getters -------------------------------------------------------------------------------------- */

const struct doc_node *doc_find(const struct doc_node *map, const char *key)
{
    if (!map || map->type != DOC_MAP)
        return NULL;
    for (const struct doc_node *node = map->first_child; node; node = node->next)
        if (*node->key == *key && strcmp(node->key, key) == 0)
            return node;
    return NULL;
}

const struct doc_node *doc_need(const struct doc *doc, const struct doc_node *map, const char *key,
                                struct error *err)
{
    if (!doc_is_map(doc, map, err))
        return NULL;
    const struct doc_node *node = doc_find(map, key);
    if (!node)
        doc_error(doc, map, err, "'%s' is missing", key);
    return node;
}

/* What is read of a long document is a long list: a stop is looked for at its items. */
bool doc_is_map(const struct doc *doc, const struct doc_node *node, struct error *err)
{
    if (node->index % STOP_STEPS == STOP_STEPS - 1 && stop_obeyed(err))
        return false;
    return node->type == DOC_MAP || unexpected(doc, node, "a map", err);
}

bool doc_is_list(const struct doc *doc, const struct doc_node *node, struct error *err)
{
    return node->type == DOC_LIST || unexpected(doc, node, "a list", err);
}

static bool is_scalar(const struct doc_node *node)
{
    return node->type == DOC_STRING || node->type == DOC_NUMBER || node->type == DOC_BOOL;
}

bool doc_string(const struct doc *doc, const struct doc_node *node, const char **value, struct error *err)
{
    if (!is_scalar(node))
        return unexpected(doc, node, "a string", err);
    if (node->length == 0)
        return doc_error(doc, node, err, "expected a non-empty string");
    if (strlen(node->text) != node->length)
        return doc_error(doc, node, err, "expected a string without NUL characters");
    *value = node->text;
    return true;
}

static void describe_range(char *buffer, size_t size, const char *kind, double min, double max)
{
    bool low = min > -DBL_MAX, high = max < DBL_MAX;
    if (min == DOC_POSITIVE && !high)
        snprintf(buffer, size, "a positive %s", kind);
    else if (min == DOC_POSITIVE)
        snprintf(buffer, size, "a positive %s up to %.15g", kind, max);
    else if (low && high)
        snprintf(buffer, size, "a %s from %.15g to %.15g", kind, min, max);
    else if (low)
        snprintf(buffer, size, "a %s of at least %.15g", kind, min);
    else if (high)
        snprintf(buffer, size, "a %s of at most %.15g", kind, max);
    else
        snprintf(buffer, size, "a %s", kind);
}

bool doc_number(const struct doc *doc, const struct doc_node *node, double min, double max, double *value,
                struct error *err)
{
    if (node->index % STOP_STEPS == STOP_STEPS - 1 && stop_obeyed(err))
        return false;
    if (node->type == DOC_NUMBER && isfinite(node->number) && node->number >= min && node->number <= max) {
        *value = node->number;
        return true;
    }
    char range[120];
    describe_range(range, sizeof range, "number", min, max);
    return unexpected(doc, node, range, err);
}

bool doc_integer(const struct doc *doc, const struct doc_node *node, int64_t min, int64_t max, int64_t *value,
                 struct error *err)
{
    double number = node->number;
    if (node->type == DOC_NUMBER && number == floor(number) && fabs(number) < 0x1p63 &&
        (int64_t)number >= min && (int64_t)number <= max) {
        *value = (int64_t)number;
        return true;
    }
    char range[120];
    describe_range(range, sizeof range, "whole number", min == INT64_MIN ? -INFINITY : (double)min,
                   max == INT64_MAX ? INFINITY : (double)max);
    return unexpected(doc, node, range, err);
}

bool doc_quantity(const struct doc *doc, const struct doc_node *node, enum unit_kind kind, bool zero_allowed,
                  double *value, struct error *err)
{
    double number;
    if ((node->type == DOC_NUMBER || node->type == DOC_STRING) && strlen(node->text) == node->length &&
        unit_parse(node->text, kind, &number) && (number > 0 || (zero_allowed && number == 0))) {
        *value = number;
        return true;
    }
    char wanted[120];
    snprintf(wanted, sizeof wanted, "%s%s", unit_example(kind), zero_allowed ? "" : " (more than 0)");
    return unexpected(doc, node, wanted, err);
}

bool doc_is_format(const struct doc *doc, const struct doc_node *map, const char *format, struct error *err)
{
    const struct doc_node *node = doc_find(map, "format");
    const char *found = "";
    if (!node)
        return true;
    if (!doc_string(doc, node, &found, err))
        return false;
    return strcmp(found, format) == 0 ||
           doc_error(doc, node, err, "expected '%s', found '%s'", format, found);
}

bool doc_only_keys(const struct doc *doc, const struct doc_node *map, const char *const *keys, size_t count,
                   struct error *err)
{
    for (const struct doc_node *node = map->first_child; node; node = node->next) {
        size_t i = 0;
        while (i < count && (*node->key != *keys[i] || strcmp(node->key, keys[i]) != 0))
            i++;
        if (i < count || strcmp(node->key, "$schema") == 0) /* what editors read */
            continue;
        struct text_hint hint;
        return doc_error(doc, node, err, "unknown key%s%s", *node->key ? "" : " ''",
                         text_suggest(&hint, text_nearest(node->key, keys, count), ""));
    }
    return true;
}
