/* YAML through libyaml's events. Of YAML only what a configuration needs: no anchors, tags or second
 * documents. */
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

static bool add_scalar(struct doc_builder *builder, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    const char *text = arena_copy(&builder->doc->arena, value, length);
    if (!text)
        return error_memory(builder->err);
    if (expects_key(builder)) {
        if (strlen(text) != length || length == 0)
            return doc_syntax_error(builder, place(&event->start_mark), "expected a key");
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
    return true;
}

static bool open_container(struct doc_builder *builder, const yaml_event_t *event, enum doc_type type)
{
    if (expects_key(builder))
        return doc_syntax_error(builder, place(&event->start_mark), "a list or map cannot be a key");
    return doc_open(builder, type, place(&event->start_mark));
}

static bool take_event(struct doc_builder *builder, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return refuse(builder, event, "aliases");
    case YAML_DOCUMENT_START_EVENT:
        return builder->doc->root ? refuse(builder, event, "several documents in one file") : true;
    case YAML_SCALAR_EVENT:
        if (event->data.scalar.anchor)
            return refuse(builder, event, "anchors");
        return event->data.scalar.tag ? refuse(builder, event, "tags") : add_scalar(builder, event);
    case YAML_SEQUENCE_START_EVENT:
        if (event->data.sequence_start.anchor)
            return refuse(builder, event, "anchors");
        return event->data.sequence_start.tag ? refuse(builder, event, "tags")
                                              : open_container(builder, event, DOC_LIST);
    case YAML_MAPPING_START_EVENT:
        if (event->data.mapping_start.anchor)
            return refuse(builder, event, "anchors");
        return event->data.mapping_start.tag ? refuse(builder, event, "tags")
                                             : open_container(builder, event, DOC_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return doc_close(builder);
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
    if (ok && !builder->doc->root)
        return doc_syntax_error(builder, (struct doc_place){1, 1}, "the file is empty");
    return ok;
}
