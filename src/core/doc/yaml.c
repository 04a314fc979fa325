/* YAML through libyaml's events. Of YAML only what a configuration needs: no tags or second documents; anchors, aliases
 * and merge keys ("<<") only in files of other software. An alias becomes a copy of what it names. */
#include "core/doc/reader.h"

#include <math.h>
#include <string.h>
#include <yaml.h>

static struct doc_place place(const yaml_mark_t *mark)
{
    return (struct doc_place){(uint32_t)mark->line + 1, (uint32_t)mark->column + 1};
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* The core schema of YAML 1.2, decimal numbers only. */
static enum doc_type type_of_plain(const char *text, size_t length, double *number)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const booleans[] = {"true", "True", "TRUE", "false", "False", "FALSE", NULL};
    if (is_one_of(text, nulls))
        return DOC_NULL;
    if (is_one_of(text, booleans))
        return DOC_BOOL;
    return doc_scan_number(text, length, number) && isfinite(*number) ? DOC_NUMBER : DOC_STRING;
}

static bool expects_key(const struct doc_builder *builder)
{
    return builder->open && builder->open->type == DOC_MAP && !builder->key;
}

static bool refuse(struct doc_builder *builder, const yaml_event_t *event, const char *what)
{
    return doc_syntax_error(builder, place(&event->start_mark), "%s are not supported here", what);
}

/* ---- anchors ---- */

/* Aliases of aliases grow as powers: so many values in all are copied, and maps of so many keys are merged. */
enum { MAX_COPIES = 20000, MAX_MERGED_KEYS = 10000 };

struct anchor {
    const char *name;
    const struct doc_node *node;
    const struct anchor *before;
};

struct anchors {
    const struct anchor *last;
    int copies;
};

static bool name_node(struct doc_builder *builder, const yaml_char_t *name, const struct doc_node *node)
{
    struct arena *arena = &builder->doc->arena;
    struct anchor *anchor = name ? ARENA_ARRAY(arena, 1, struct anchor) : NULL;
    if (!name)
        return true;
    if (!anchor || !(anchor->name = arena_string(arena, (const char *)name)))
        return error_memory(builder->err);
    anchor->node = node;
    anchor->before = builder->anchors->last;
    builder->anchors->last = anchor;
    return true;
}

static bool copy_node(struct doc_builder *builder, const struct doc_node *node)
{
    struct doc_place at = {node->line, node->column};
    if (++builder->anchors->copies > MAX_COPIES)
        return doc_syntax_error(builder, at, "aliases copy more than %d values", MAX_COPIES);
    if (node->type != DOC_LIST && node->type != DOC_MAP) {
        struct doc_node *copy = doc_add(builder, node->type, at);
        if (!copy)
            return false;
        copy->text = node->text;
        copy->length = node->length;
        copy->number = node->number;
        copy->boolean = node->boolean;
        return true;
    }
    if (!doc_open(builder, node->type, at))
        return false;
    for (const struct doc_node *child = node->first_child; child; child = child->next) {
        builder->key = child->key;
        if (!copy_node(builder, child))
            return false;
    }
    return doc_close(builder);
}

static bool add_alias(struct doc_builder *builder, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    const struct anchor *anchor = builder->anchors->last;
    if (expects_key(builder))
        return refuse(builder, event, "aliases as keys");
    while (anchor && strcmp(anchor->name, name) != 0)
        anchor = anchor->before;
    if (!anchor)
        return doc_syntax_error(builder, place(&event->start_mark), "alias '%s' without an anchor before it",
                                name);
    for (const struct doc_node *outer = builder->open; outer; outer = outer->parent)
        if (outer == anchor->node)
            return doc_syntax_error(builder, place(&event->start_mark), "'%s' is inside of itself", name);
    return copy_node(builder, anchor->node);
}

/* Takes the first child of this key out of an open map. */
static struct doc_node *take_child(struct doc_builder *builder, const char *key)
{
    struct doc_node *map = builder->open, *taken = NULL, *last = NULL;
    struct doc_node **link = &map->first_child;
    map->count = 0;
    while (*link) {
        struct doc_node *node = *link;
        if (!taken && strcmp(node->key, key) == 0) {
            taken = node;
            *link = node->next;
            continue;
        }
        node->index = map->count++;
        last = node;
        link = &node->next;
    }
    builder->last = last;
    return taken;
}

static bool merge_map(struct doc_builder *builder, const struct doc_node *from)
{
    if (from->type != DOC_MAP)
        return doc_error(builder->doc, from, builder->err, "expected a map to merge");
    if (builder->open->count > MAX_MERGED_KEYS)
        return doc_error(builder->doc, from, builder->err, "merged with more than %d keys", MAX_MERGED_KEYS);
    for (const struct doc_node *child = from->first_child; child; child = child->next) {
        if (doc_find(builder->open, child->key))
            continue;
        builder->key = child->key;
        if (!copy_node(builder, child))
            return false;
    }
    return true;
}

/* "<<": what a map has itself counts more than what it is merged with, and the first of several counts more than the
 * next. */
static bool close_map(struct doc_builder *builder)
{
    const struct doc_node *merged;
    while (builder->keeps_twins && doc_find(builder->open, "<<") && (merged = take_child(builder, "<<"))) {
        bool is_list = merged->type == DOC_LIST;
        for (const struct doc_node *map = is_list ? merged->first_child : merged; map;
             map = is_list ? map->next : NULL)
            if (!merge_map(builder, map))
                return false;
    }
    return doc_close(builder);
}

/* Names of values are only for files of other software. */
static bool take_anchor(struct doc_builder *builder, const yaml_event_t *event, const yaml_char_t *name)
{
    return !name || (builder->keeps_twins && !expects_key(builder)) || refuse(builder, event, "anchors");
}

/* ---- events ---- */

static bool add_scalar(struct doc_builder *builder, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    const char *text = arena_copy(&builder->doc->arena, value, length);
    if (!text)
        return error_memory(builder->err);
    if (expects_key(builder)) {
        if (strlen(text) != length || length == 0)
            return doc_syntax_error(builder, place(&event->start_mark),
                                    length == 0 ? "expected a key, found an empty one"
                                                : "expected a key without NUL characters");
        builder->key = text;
        return true;
    }
    double number = 0;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strlen(text) == length;
    enum doc_type type = plain ? type_of_plain(text, length, &number) : DOC_STRING;
    struct doc_node *node = doc_add(builder, type, place(&event->start_mark));
    if (!node)
        return false;
    node->text = text;
    node->length = length;
    node->number = number;
    node->boolean = type == DOC_BOOL && (*text == 't' || *text == 'T');
    return name_node(builder, event->data.scalar.anchor, node);
}

static bool open_container(struct doc_builder *builder, const yaml_event_t *event, enum doc_type type)
{
    bool is_map = type == DOC_MAP;
    const yaml_char_t *name = is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    const yaml_char_t *tag = is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    if (expects_key(builder))
        return doc_syntax_error(builder, place(&event->start_mark), "a list or map cannot be a key");
    if (!take_anchor(builder, event, name))
        return false;
    if (tag)
        return refuse(builder, event, "tags");
    return doc_open(builder, type, place(&event->start_mark)) && name_node(builder, name, builder->open);
}

static bool take_event(struct doc_builder *builder, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return builder->keeps_twins ? add_alias(builder, event) : refuse(builder, event, "aliases");
    case YAML_DOCUMENT_START_EVENT:
        return builder->doc->root ? refuse(builder, event, "several documents in one file") : true;
    case YAML_SCALAR_EVENT:
        if (!take_anchor(builder, event, event->data.scalar.anchor))
            return false;
        return event->data.scalar.tag ? refuse(builder, event, "tags") : add_scalar(builder, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_container(builder, event, DOC_LIST);
    case YAML_MAPPING_START_EVENT:
        return open_container(builder, event, DOC_MAP);
    case YAML_SEQUENCE_END_EVENT:
        return doc_close(builder);
    case YAML_MAPPING_END_EVENT:
        return close_map(builder);
    default:
        return true;
    }
}

static bool parser_error(struct doc_builder *builder, const yaml_parser_t *parser, const char *text,
                         size_t length)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return error_memory(builder->err);
    struct doc_place at = place(&parser->problem_mark);
    if (parser->error == YAML_READER_ERROR) /* it has only an offset */
        at = doc_place_of(text, parser->problem_offset < length ? parser->problem_offset : length);
    return doc_syntax_error(builder, at, "%s%s%s", parser->problem ? parser->problem : "not YAML",
                            parser->context ? " " : "", parser->context ? parser->context : "");
}

bool doc_read_yaml(struct doc_builder *builder, const char *text, size_t length)
{
    yaml_parser_t parser;
    struct anchors anchors = {0};
    builder->anchors = &anchors;
    if (!yaml_parser_initialize(&parser))
        return error_memory(builder->err);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    bool ok = true, end = false;
    while (ok && !end) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            ok = parser_error(builder, &parser, text, length);
            break;
        }
        end = event.type == YAML_STREAM_END_EVENT;
        ok = take_event(builder, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    builder->anchors = NULL;
    if (ok && !builder->doc->root)
        return doc_syntax_error(builder, (struct doc_place){1, 1}, "the file is empty");
    return ok;
}
