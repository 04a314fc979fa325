/* Sets a field of a workload from a value of a document. */
#include "feed/workload/internal.h"

#include "core/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Reads a flag, also in the words of YAML 1.1. */
static bool read_bool(bool *value, const struct doc *doc, const struct doc_node *node, struct error *err)
{
    static const char *const words[][2] = {{"no", "yes"}, {"off", "on"}, {"false", "true"}, {"0", "1"}};
    for (size_t i = 0; node->text && i < sizeof words / sizeof *words; i++)
        for (int side = 0; side < 2; side++)
            if (strcasecmp(node->text, words[i][side]) == 0) {
                *value = side == 1;
                return true;
            }
    return doc_error(doc, node, err, "expected true or false");
}

/* Reads numbers that are text in YAML 1.2: "1_000_000", "'8'", and bytes such as "64 KiB". */
static bool number_of_text(const char *text, enum workload_unit unit, double *value)
{
    char digits[64];
    size_t length = 0;
    char *end;
    for (; *text && length + 1 < sizeof digits; text++)
        if (*text != '_')
            digits[length++] = *text;
    digits[length] = 0;
    if (*text || length == 0)
        return false;
    *value = text_number(digits, &end);
    return (*end == 0 && isfinite(*value)) ||
           (unit == WORKLOAD_BYTES && unit_parse(digits, UNIT_BYTES, value));
}

/* Returns the node as a number if it can be read as one, else unchanged. */
static struct doc_node as_number(const struct doc_node *node, enum workload_unit unit)
{
    struct doc_node copy = *node;
    if (node->type == DOC_STRING && strlen(node->text) == node->length &&
        number_of_text(node->text, unit, &copy.number))
        copy.type = DOC_NUMBER;
    return copy;
}

/* Keys that can be -1 mean "none" by it; other negative numbers are mistakes. */
static bool read_number(double *value, const struct workload_key *key, const struct doc *doc,
                        const struct doc_node *node, struct error *err)
{
    struct doc_node number = as_number(node, key->unit);
    return doc_number(doc, &number, key->min, key->max, value, err) &&
           (*value >= 0 || *value == -1 || doc_error(doc, node, err, "expected -1 or at least 0"));
}

static bool read_integer(int64_t *value, const struct workload_key *key, const struct doc *doc,
                         const struct doc_node *node, struct error *err)
{
    struct doc_node number = as_number(node, key->unit);
    return doc_integer(doc, &number, (int64_t)key->min, (int64_t)key->max, value, err);
}

static bool is_unresolved(const struct doc_node *node)
{
    return node->type == DOC_STRING && (strcmp(node->text, "???") == 0 || strstr(node->text, "${") != NULL);
}

/* Returns the index of the word; -1: an error. */
static int read_word(const char *const *words, const struct doc *doc, const struct doc_node *node,
                     struct error *err)
{
    const char *text = NULL;
    char list[256] = "";
    struct text_hint hint;
    int count = 0;
    if (!doc_string(doc, node, &text, err))
        return -1;
    if (node->type == DOC_BOOL && !node->boolean)
        text = "off"; /* as YAML 1.1 reads it */
    for (; words[count]; count++)
        if (strcasecmp(words[count], text) == 0)
            return count;
    for (int i = 0; i < count; i++) {
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", words[i]);
    }
    doc_error(doc, node, err, "expected one of %s; found '%.60s'%s", list, text,
              text_suggest(&hint, text_nearest(text, words, (size_t)count), ""));
    return -1;
}

static bool set_word(struct workload *workload, const struct workload_key *key, const struct doc *doc,
                     const struct doc_node *node, struct error *err)
{
    int word = read_word(key->words, doc, node, err);
    if (word >= 0)
        memcpy(workload_field(workload, key), &word, sizeof word);
    return word >= 0;
}

int workload_word(const struct workload *workload, const struct workload_key *key)
{
    int word;
    memcpy(&word, workload_field_of(workload, key), sizeof word);
    return word;
}

static bool set_text(struct workload *workload, const struct workload_key *key, const struct doc *doc,
                     const struct doc_node *node, struct error *err)
{
    const char **field = workload_field(workload, key);
    const char *text = NULL;
    if (key->words) {
        int word = read_word(key->words, doc, node, err);
        *field = word >= 0 ? key->words[word] : NULL;
        return word >= 0;
    }
    if (!doc_string(doc, node, &text, err))
        return false;
    *field = arena_string(&workload->arena, text);
    return *field || error_memory(err);
}

/* Gets the length of a list; one item needs no brackets. */
static bool list_length(int *count, const struct doc *doc, const struct doc_node *node, struct error *err)
{
    if (node->type == DOC_LIST && node->count > WORKLOAD_MAX_LIST)
        return doc_error(doc, node, err, "more than %d items", WORKLOAD_MAX_LIST);
    *count = node->type == DOC_LIST ? (int)node->count : 1;
    return true;
}

static const struct doc_node *first_item(const struct doc_node *node)
{
    return node->type == DOC_LIST ? node->first_child : node;
}

static bool set_integers(struct workload *workload, const struct workload_key *key, const struct doc *doc,
                         const struct doc_node *node, struct error *err)
{
    struct workload_integers *field = workload_field(workload, key);
    int count = 0, at = 0;
    if (!list_length(&count, doc, node, err))
        return false;
    int64_t *values = ARENA_ARRAY(&workload->arena, (size_t)count + 1, int64_t);
    if (!values)
        return error_memory(err);
    for (const struct doc_node *item = first_item(node); item && at < count; item = item->next)
        if (!read_integer(&values[at++], key, doc, item, err))
            return false;
    *field = (struct workload_integers){values, count};
    return true;
}

static bool set_texts(struct workload *workload, const struct workload_key *key, const struct doc *doc,
                      const struct doc_node *node, struct error *err)
{
    struct workload_texts *field = workload_field(workload, key);
    int count = 0, at = 0;
    if (!list_length(&count, doc, node, err))
        return false;
    const char **values = ARENA_ARRAY(&workload->arena, (size_t)count + 1, const char *);
    if (!values)
        return error_memory(err);
    for (const struct doc_node *item = first_item(node); item && at < count; item = item->next, at++) {
        const char *text = NULL;
        if (!doc_string(doc, item, &text, err))
            return false;
        values[at] = arena_string(&workload->arena, text);
        if (!values[at])
            return error_memory(err);
    }
    *field = (struct workload_texts){values, count};
    return true;
}

static bool read_column(struct workload *workload, struct workload_column *column, const struct doc *doc,
                        const struct doc_node *map, struct error *err)
{
    static const char *const known[] = {"name", "dtype", "size", "read", "count"};
    const char *const *elements = workload_key_find("dataset.record_element_type")->words;
    const char *name = NULL;
    *column = (struct workload_column){.type = "float32", .size = 1, .count = 1, .read = true};
    if (!doc_is_map(doc, map, err) || !doc_only_keys(doc, map, known, sizeof known / sizeof *known, err))
        return false;
    const struct doc_node *type = doc_find(map, "dtype"), *size = doc_find(map, "size");
    const struct doc_node *count = doc_find(map, "count"), *read = doc_find(map, "read");
    const struct doc_node *called = doc_need(doc, map, "name", err);
    if (!called || !doc_string(doc, called, &name, err))
        return false;
    if (type) {
        int word = read_word(elements, doc, type, err);
        if (word < 0)
            return false;
        column->type = elements[word];
    }
    if ((size && !doc_integer(doc, size, 1, INT64_C(1) << 40, &column->size, err)) ||
        (count && !doc_integer(doc, count, 1, WORKLOAD_MAX_LIST, &column->count, err)) ||
        (read && !read_bool(&column->read, doc, read, err)))
        return false;
    column->name = arena_string(&workload->arena, name);
    return column->name || error_memory(err);
}

static bool set_columns(struct workload *workload, const struct workload_key *key, const struct doc *doc,
                        const struct doc_node *node, struct error *err)
{
    struct workload_columns *field = workload_field(workload, key);
    int count = 0, at = 0;
    if (!doc_is_list(doc, node, err) || !list_length(&count, doc, node, err))
        return false;
    struct workload_column *values = ARENA_ARRAY(&workload->arena, (size_t)count + 1, struct workload_column);
    if (!values)
        return error_memory(err);
    for (const struct doc_node *item = node->first_child; item && at < count; item = item->next)
        if (!read_column(workload, &values[at++], doc, item, err))
            return false;
    *field = (struct workload_columns){values, count};
    return true;
}

bool workload_set(struct workload *workload, const struct workload_key *key, const struct doc *doc,
                  const struct doc_node *node, struct error *err)
{
    void *field = workload_field(workload, key);
    if (is_unresolved(node))
        return doc_error(doc, node, err, "unresolved variable '%.60s': write its value", node->text);
    switch (key->type) {
    case WORKLOAD_TEXT:
        return set_text(workload, key, doc, node, err);
    case WORKLOAD_BOOL:
        return read_bool(field, doc, node, err);
    case WORKLOAD_INTEGER:
        return read_integer(field, key, doc, node, err);
    case WORKLOAD_NUMBER:
        return read_number(field, key, doc, node, err);
    case WORKLOAD_WORD:
        return set_word(workload, key, doc, node, err);
    case WORKLOAD_INTEGERS:
        return set_integers(workload, key, doc, node, err);
    case WORKLOAD_TEXTS:
        return set_texts(workload, key, doc, node, err);
    case WORKLOAD_DISTRIBUTION:
        return distribution_read(field, doc, node, err);
    default:
        return set_columns(workload, key, doc, node, err);
    }
}
