#include "core/doc/reader.h"

#include "core/statistics.h"
#include "core/stop.h"
#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW_KEYS 16                /* up to here duplicates are found pair by pair */
#define PIECE    ((size_t)4 << 20) /* bytes between two looks for a stop */

/* --- building the tree ---------------------------------------------------------------------------------- */

bool doc_syntax_error(struct doc_builder *builder, struct doc_place place, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return error_set(builder->err, ERROR_INPUT, "%s:%u:%u: %s", builder->doc->path, place.line, place.column,
                     message);
}

struct doc_node *doc_add(struct doc_builder *builder, enum doc_type type, struct doc_place place)
{
    if (stop_obeyed_at(builder->nodes++, builder->err))
        return NULL;
    struct doc_node *node = ARENA_NEW(&builder->doc->arena, struct doc_node);
    if (!node)
        return error_memory_null(builder->err);
    node->type = type;
    node->line = place.line;
    node->column = place.column;
    node->key = builder->key;
    node->parent = builder->open;
    builder->key = NULL;
    if (!builder->open)
        builder->doc->root = node;
    else {
        node->index = builder->open->count++;
        if (builder->last)
            builder->last->next = node;
        else
            builder->open->first_child = node;
    }
    builder->last = node;
    return node;
}

bool doc_open(struct doc_builder *builder, enum doc_type type, struct doc_place place)
{
    if (builder->depth == DOC_MAX_DEPTH)
        return doc_syntax_error(builder, place, "lists and maps nested deeper than %d", DOC_MAX_DEPTH);
    struct doc_node *node = doc_add(builder, type, place);
    if (!node)
        return false;
    builder->depth++;
    builder->open = node;
    builder->last = NULL;
    return true;
}

static bool duplicate(struct doc_builder *builder, const struct doc_node *first,
                      const struct doc_node *second)
{
    return doc_error(builder->doc, second, builder->err, "given twice, first in line %u", first->line);
}

static int by_key(const void *a, const void *b)
{
    const struct doc_node *first = *(const struct doc_node *const *)a;
    const struct doc_node *second = *(const struct doc_node *const *)b;
    int order = strcmp(first->key, second->key);
    return order ? order : (first->index > second->index) - (first->index < second->index);
}

static bool keys_differ(struct doc_builder *builder, const struct doc_node *map)
{
    if (map->count <= FEW_KEYS) {
        for (const struct doc_node *a = map->first_child; a; a = a->next)
            for (const struct doc_node *b = a->next; b; b = b->next)
                if (strcmp(a->key, b->key) == 0)
                    return duplicate(builder, a, b);
        return true;
    }
    const struct doc_node **sorted = malloc(map->count * sizeof *sorted);
    if (!sorted)
        return error_memory(builder->err);
    size_t count = 0;
    for (const struct doc_node *node = map->first_child; node; node = node->next)
        sorted[count++] = node;
    bool ok = sort_items(sorted, count, sizeof *sorted, by_key, builder->err);
    for (size_t i = 1; ok && i < count; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            ok = duplicate(builder, sorted[i - 1], sorted[i]);
    free(sorted);
    return ok;
}

bool doc_close(struct doc_builder *builder)
{
    struct doc_node *node = builder->open;
    if (node->type == DOC_MAP && !builder->keeps_twins && !keys_differ(builder, node))
        return false;
    builder->depth--;
    builder->open = node->parent;
    builder->last = node;
    return true;
}

/* --- reading -------------------------------------------------------------------------------------------- */

struct doc_place doc_place_of(const char *text, size_t offset)
{
    struct doc_place place = {1, 1};
    for (size_t i = 0; i < offset; i++)
        if (text[i] == '\n')
            place = (struct doc_place){place.line + 1, 1};
        else
            place.column += !text_continues(text[i]);
    return place;
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i]) || !text[i])
            return false;
    return true;
}

/* Returns how many bytes are valid; less than all of them, too, where a stop is wanted. */
static size_t valid_utf8(const char *text, size_t length)
{
    size_t valid = 0;
    for (size_t part = 1; part > 0 && valid < length && !stop_wanted(); valid += part)
        part = text_valid_utf8(text + valid, length - valid < PIECE ? length - valid : PIECE);
    return valid;
}

/* Copies them, piece by piece. False: a stop is wanted. */
static bool copy_bytes(char *to, const char *from, size_t length, struct error *err)
{
    for (size_t at = 0; at < length; at += PIECE) {
        if (stop_obeyed(err))
            return false;
        memcpy(to + at, from + at, length - at < PIECE ? length - at : PIECE);
    }
    return true;
}

static bool read_text(struct doc_builder *builder, enum doc_syntax syntax, char *text, size_t length)
{
    if (length > DOC_MAX_BYTES)
        return error_set(builder->err, ERROR_INPUT, "%s: larger than the limit of %zu MiB",
                         builder->doc->path, DOC_MAX_BYTES >> 20);
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    if (is_blank(text, length))
        return doc_syntax_error(builder, (struct doc_place){1, 1}, "the file is empty");
    size_t valid = valid_utf8(text, length);
    if (stop_obeyed(builder->err))
        return false;
    if (valid < length)
        return doc_syntax_error(builder, doc_place_of(text, valid), "not UTF-8 text");
    return syntax == DOC_JSON   ? doc_read_json(builder, text, length)
           : syntax == DOC_TOML ? doc_read_toml(builder, text, length)
                                : doc_read_yaml(builder, text, length);
}

static bool parse(struct doc *doc, enum doc_syntax syntax, bool keeps_twins, const char *path,
                  const char *text, size_t length, struct error *err)
{
    memset(doc, 0, sizeof *doc);
    struct doc_builder builder = {.doc = doc, .keeps_twins = keeps_twins, .err = err};
    doc->path = arena_string(&doc->arena, path);
    /* Readers may look one byte past the end, at a NUL, and move texts one byte to the front. */
    char *copy =
        doc->path && length < SIZE_MAX - 2 ? arena_alloc(&doc->arena, length + 2, sizeof *copy) : NULL;
    if (!copy) {
        doc_release(doc);
        return error_memory(err);
    }
    if (copy_bytes(copy + 1, text, length, err) && read_text(&builder, syntax, copy + 1, length))
        return true;
    doc_release(doc);
    return false;
}

bool doc_parse(struct doc *doc, enum doc_syntax syntax, const char *path, const char *text, size_t length,
               struct error *err)
{
    return parse(doc, syntax, false, path, text, length, err);
}

bool doc_parse_lax(struct doc *doc, enum doc_syntax syntax, const char *path, const char *text, size_t length,
                   struct error *err)
{
    return parse(doc, syntax, true, path, text, length, err);
}
