#include "core/fields.h"

#include <assert.h>

#define MAX_FIELDS 64

static const void *place(const void *record, const struct field *field)
{
    return (const char *)record + field->offset;
}

double field_get(const void *record, const struct field *field)
{
    const void *at = place(record, field);
    if (field->type >= FIELD_MAP) /* no number */
        return 0.0;
    switch (field->type) {
    case FIELD_INT:
    case FIELD_SOME_INT:
    case FIELD_WORD:
        return *(const int *)at;
    case FIELD_INT64:
    case FIELD_SIZE:
    case FIELD_KNOWN_INT64:
    case FIELD_SOME_INT64:
        return (double)*(const int64_t *)at;
    case FIELD_NANOSECONDS:
        return (double)*(const int64_t *)at / 1e9;
    case FIELD_FLAG:
        return *(const bool *)at;
    case FIELD_TEXT:
    case FIELD_SOME_TEXT:
        return *(const char *const *)at != NULL;
    case FIELD_CHARS:
    case FIELD_SOME_CHARS:
    case FIELD_KNOWN_CHARS:
        return *(const char *)at != 0;
    case FIELD_OTHER:
        return 0.0;
    default:
        return *(const double *)at;
    }
}

void field_set(void *record, const struct field *field, double value)
{
    void *at = (char *)record + field->offset;
    switch (field->type) {
    case FIELD_INT:
        *(int *)at = (int)value;
        break;
    case FIELD_INT64:
    case FIELD_SIZE:
        *(int64_t *)at = (int64_t)value;
        break;
    case FIELD_FLAG:
        *(bool *)at = value != 0;
        break;
    case FIELD_TEXT:
    case FIELD_SOME_TEXT:
    case FIELD_OTHER:
        break;
    default:
        *(double *)at = value;
    }
}

static bool read_quantity(const struct field *field, enum unit_kind kind, const struct doc *doc,
                          const struct doc_node *node, double *value, struct error *err)
{
    static const char *const units[] = {
        [UNIT_BYTES] = "bytes",
        [UNIT_RATE] = "bytes per second",
        [UNIT_TIME] = "seconds",
        [UNIT_COMPUTE] = "flop/s",
    };
    if (!doc_quantity(doc, node, kind, field->min <= 0, value, err))
        return false;
    return (*value >= field->min && *value <= field->max) ||
           doc_error(doc, node, err, "expected from %g to %g %s, found '%s'", field->min, field->max,
                     units[kind], node->text);
}

static bool read_value(const struct field *field, const struct doc *doc, const struct doc_node *node,
                       double *value, struct error *err)
{
    int64_t whole;
    switch (field->type) {
    case FIELD_INT:
    case FIELD_INT64:
        if (!doc_integer(doc, node, (int64_t)field->min, (int64_t)field->max, &whole, err))
            return false;
        *value = (double)whole;
        return true;
    case FIELD_FLAG:
        *value = node->boolean;
        return node->type == DOC_BOOL || doc_error(doc, node, err, "expected true or false");
    case FIELD_BYTES:
    case FIELD_SIZE:
        return read_quantity(field, UNIT_BYTES, doc, node, value, err);
    case FIELD_RATE:
        return read_quantity(field, UNIT_RATE, doc, node, value, err);
    case FIELD_TIME:
        return read_quantity(field, UNIT_TIME, doc, node, value, err);
    case FIELD_COMPUTE:
        return read_quantity(field, UNIT_COMPUTE, doc, node, value, err);
    default:
        return doc_number(doc, node, field->min, field->max, value, err);
    }
}

bool field_read(void *record, const struct field *field, const struct doc *doc, const struct doc_node *map,
                struct error *err)
{
    const struct doc_node *node = doc_find(map, field->key);
    double value;
    if (!node)
        return field->min <= 0 || field_get(record, field) != 0 || doc_need(doc, map, field->key, err);
    if (field->type == FIELD_OTHER)
        return true;
    if (field->type == FIELD_TEXT || field->type == FIELD_SOME_TEXT)
        return doc_string(doc, node, (const char **)(void *)((char *)record + field->offset), err);
    if (!read_value(field, doc, node, &value, err))
        return false;
    field_set(record, field, value);
    return true;
}

bool fields_read(void *record, const struct field *fields, size_t count, const struct doc *doc,
                 const struct doc_node *map, struct error *err)
{
    const char *keys[MAX_FIELDS];
    assert(count <= MAX_FIELDS);
    for (size_t i = 0; i < count; i++)
        keys[i] = fields[i].key;
    if (!doc_is_map(doc, map, err) || !doc_only_keys(doc, map, keys, count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!field_read(record, &fields[i], doc, map, err))
            return false;
    return true;
}

bool fields_need(void *record, const struct field *fields, size_t count, const struct doc *doc,
                 const struct doc_node *map, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!doc_need(doc, map, fields[i].key, err) || !field_read(record, &fields[i], doc, map, err))
            return false;
    return true;
}

static bool is_unknown(const void *record, const struct field *field)
{
    if (field->type == FIELD_INT64)
        return *(const int64_t *)place(record, field) == INT64_MIN;
    return field->type == FIELD_KNOWN_CHARS
               ? field_get(record, field) == 0
               : (field->type == FIELD_KNOWN || field->type == FIELD_KNOWN_INT64) &&
                     field_get(record, field) < 0;
}

/* As what a field is written; those that are not listed are numbers. */
static enum json_type type_of(const struct field *field)
{
    static const enum json_type types[FIELD_END + 1] = {
        [FIELD_INT] = JSON_INTEGER,        [FIELD_INT64] = JSON_INTEGER,
        [FIELD_SIZE] = JSON_INTEGER,       [FIELD_KNOWN_INT64] = JSON_INTEGER,
        [FIELD_SOME_INT] = JSON_INTEGER,   [FIELD_SOME_INT64] = JSON_INTEGER,
        [FIELD_FLAG] = JSON_BOOL,          [FIELD_TEXT] = JSON_STRING,
        [FIELD_SOME_TEXT] = JSON_STRING,   [FIELD_WORD] = JSON_STRING,
        [FIELD_CHARS] = JSON_STRING,       [FIELD_SOME_CHARS] = JSON_STRING,
        [FIELD_KNOWN_CHARS] = JSON_STRING, [FIELD_END] = JSON_END};
    bool is_map = field->type == FIELD_MAP || field->type == FIELD_FLAT_MAP;
    return is_map || types[field->type] ? types[field->type] : JSON_NUMBER;
}

static void tell(const struct json *json, struct json_item item)
{
    json->listener->hear(json->listener->context, &item);
}

/* Lists within a sample are not told. */
static void tell_fields(const struct field *fields, size_t count, const struct json *json)
{
    for (const struct field *field = fields; field < fields + count; field++)
        if (field->type == FIELD_STRUCT) {
            tell(json, (struct json_item){.type = JSON_MAP, .key = field->key});
            tell_fields(field->rows->fields, field->rows->count, json);
            tell(json, (struct json_item){.type = JSON_END});
        } else if (field->type != FIELD_OTHER && !field->rows) {
            tell(json, (struct json_item){.type = type_of(field), .key = field->key});
        }
}

void fields_tell(const struct field *fields, size_t count, const struct json *json)
{
    if (!json->listener)
        return;
    tell(json, (struct json_item){.type = JSON_SAMPLE, .boolean = true});
    tell(json, (struct json_item){.type = JSON_MAP});
    tell_fields(fields, count, json);
    tell(json, (struct json_item){.type = JSON_END});
    tell(json, (struct json_item){.type = JSON_SAMPLE, .boolean = false});
}

static bool is_left_out(const struct field *field, double value)
{
    if (field->type >= FIELD_SOME_INT && field->type <= FIELD_SOME_DOUBLE)
        return !(value >= field->min);
    return field->type == FIELD_OTHER ||
           (value == 0 && (field->type == FIELD_SOME_TEXT || field->type == FIELD_SOME_CHARS));
}

static void write_items(const char *items, size_t number, bool flat, const struct field_rows *rows,
                        struct json *json, const char *key)
{
    (flat ? json_open_flat : json_open)(json, key, '[');
    if (rows->fields->key)
        fields_tell(rows->fields, rows->count, json);
    for (size_t i = 0; i < number; i++)
        if (rows->fields->key)
            fields_write_map(items + i * rows->size, rows->fields, rows->count, json, NULL);
        else
            fields_write(items + i * rows->size, rows->fields, 1, json);
    json_close(json);
}

/* Writes what has rows. */
static void write_rows(const void *record, const struct field *field, struct json *json)
{
    const struct field_rows *rows = field->rows;
    const void *at = place(record, field), *number = (const char *)record + rows->number;
    if (field->type == FIELD_STRUCT)
        fields_write_map(at, rows->fields, rows->count, json, field->key);
    else if (field->type == FIELD_POINTER)
        fields_write_long_map(*(const void *const *)at, rows->fields, rows->count, json, field->key);
    else
        write_items(*(const char *const *)at,
                    rows->width == sizeof(int) ? (size_t) * (const int *)number : *(const size_t *)number,
                    field->type == FIELD_FLAT_LIST, rows, json, field->key);
}

void fields_write(const void *record, const struct field *fields, size_t count, struct json *json)
{
    for (const struct field *field = fields; field < fields + count; field++) {
        double value = field_get(record, field);
        if (is_left_out(field, value))
            continue;
        if (field->rows)
            write_rows(record, field, json);
        else if (field->type == FIELD_TEXT || field->type == FIELD_SOME_TEXT)
            json_string(json, field->key, *(const char *const *)place(record, field));
        else if (field->type == FIELD_FLAG)
            json_bool(json, field->key, value != 0);
        else if (field->type == FIELD_WORD)
            json_string(json, field->key, field->words[(int)value]);
        else if (field->type == FIELD_INT || field->type == FIELD_SOME_INT)
            json_integer(json, field->key, *(const int *)place(record, field));
        else if (is_unknown(record, field))
            json_null(json, field->key);
        else if (field->type == FIELD_INT64 || field->type == FIELD_SOME_INT64 || field->type == FIELD_SIZE ||
                 field->type == FIELD_KNOWN_INT64)
            json_integer(json, field->key, *(const int64_t *)place(record, field));
        else if (field->type == FIELD_CHARS || field->type == FIELD_SOME_CHARS ||
                 field->type == FIELD_KNOWN_CHARS)
            json_string(json, field->key, place(record, field));
        else if (field->type == FIELD_MAP || field->type == FIELD_FLAT_MAP)
            (field->type == FIELD_MAP ? json_open : json_open_flat)(json, field->key, '{');
        else if (field->type == FIELD_END)
            json_close(json);
        else
            json_number(json, field->key, value);
    }
}

void fields_write_map(const void *record, const struct field *fields, size_t count, struct json *json,
                      const char *key)
{
    json_open_flat(json, key, '{');
    fields_write(record, fields, count, json);
    json_close(json);
}

void fields_write_long_map(const void *record, const struct field *fields, size_t count, struct json *json,
                           const char *key)
{
    if (!record) {
        json_null(json, key);
        return;
    }
    json_open(json, key, '{');
    fields_write(record, fields, count, json);
    json_close(json);
}

void fields_write_list(const void *records, size_t items, size_t size, const struct field *fields,
                       size_t count, struct json *json, const char *key)
{
    write_items(records, items, false,
                &(const struct field_rows){.fields = fields, .count = count, .size = size}, json, key);
}
