/* The effective configuration, and the table of keys. */
#include "core/fields.h"
#include "feed/workload/internal.h"

#include <string.h>

#define MAX_NESTED 4

static const struct field column_fields[] = {
    FIELD_OUT(struct workload_column, "name", name, FIELD_TEXT),
    FIELD_OUT(struct workload_column, "dtype", type, FIELD_TEXT),
    FIELD_OUT(struct workload_column, "size", size, FIELD_INT64),
    FIELD_OUT(struct workload_column, "count", count, FIELD_INT64),
    FIELD_OUT(struct workload_column, "read", read, FIELD_FLAG),
};

static void write_list(const struct workload *workload, const struct workload_key *key, struct json *json,
                       const char *name)
{
    const void *field = workload_field_of(workload, key);
    json_open_flat(json, name, '[');
    if (key->type == WORKLOAD_INTEGERS) {
        const struct workload_integers *list = field;
        for (int i = 0; i < list->count; i++)
            json_integer(json, NULL, list->values[i]);
    } else if (key->type == WORKLOAD_TEXTS) {
        const struct workload_texts *list = field;
        for (int i = 0; i < list->count; i++)
            json_string(json, NULL, list->values[i]);
    } else {
        const struct workload_columns *list = field;
        for (int i = 0; i < list->count; i++)
            FIELDS_MAP(&list->values[i], column_fields, json, NULL);
    }
    json_close(json);
}

void workload_write_value(const struct workload *workload, const struct workload_key *key, struct json *json,
                          const char *name)
{
    const void *field = workload_field_of(workload, key);
    switch (key->type) {
    case WORKLOAD_TEXT: {
        const char *text = *(const char *const *)field;
        json_string(json, name, text && key->secret ? "***" : text);
        break;
    }
    case WORKLOAD_BOOL:
        json_bool(json, name, *(const bool *)field);
        break;
    case WORKLOAD_INTEGER:
        json_integer(json, name, *(const int64_t *)field);
        break;
    case WORKLOAD_NUMBER:
        json_number(json, name, *(const double *)field);
        break;
    case WORKLOAD_WORD:
        json_string(json, name, key->words[workload_word(workload, key)]);
        break;
    case WORKLOAD_DISTRIBUTION:
        distribution_write(field, json, name);
        break;
    default:
        write_list(workload, key, json, name);
    }
}

/* --- nesting -------------------------------------------------------------------------------------------------- */

/* The sections that a key is in: parts of its path, without the last. */
struct sections {
    const char *starts[MAX_NESTED];
    int lengths[MAX_NESTED];
    int count;
    const char *name; /* the last part */
};

static struct sections sections_of(const char *path)
{
    struct sections sections = {.name = path};
    for (const char *dot; sections.count < MAX_NESTED && (dot = strchr(sections.name, '.'));
         sections.name = dot + 1) {
        sections.starts[sections.count] = sections.name;
        sections.lengths[sections.count++] = (int)(dot - sections.name);
    }
    return sections;
}

static int common_sections(const struct sections *a, const struct sections *b)
{
    int same = 0;
    while (same < a->count && same < b->count && a->lengths[same] == b->lengths[same] &&
           memcmp(a->starts[same], b->starts[same], (size_t)a->lengths[same]) == 0)
        same++;
    return same;
}

static void add_indent(struct text *out, int depth)
{
    text_format(out, "%*s", 2 * depth, "");
}

void workload_write_yaml(const struct workload *workload, struct text *out)
{
    int count;
    const struct workload_key *keys = workload_keys(&count);
    struct sections open = {0};
    for (int i = 0; i < count; i++) {
        struct sections sections = sections_of(keys[i].path);
        for (int depth = common_sections(&open, &sections); depth < sections.count; depth++) {
            add_indent(out, depth);
            text_format(out, "%.*s:\n", sections.lengths[depth], sections.starts[depth]);
        }
        /* a scalar or a flat list or map of JSON is one of YAML */
        struct text value = {0};
        struct json json = {.out = &value};
        workload_write_value(workload, &keys[i], &json, NULL);
        add_indent(out, sections.count);
        const char *line = text_within(&value, out);
        text_format(out, "%s: %.*s\n", sections.name, (int)strcspn(line, "\n"), line);
        text_release(&value);
        open = sections;
    }
}

void workload_write_json(const struct workload *workload, struct json *json, const char *key)
{
    int count;
    const struct workload_key *keys = workload_keys(&count);
    struct sections open = {0};
    if (key)
        json_open(json, key, '{');
    else
        json_open_document(json, WORKLOAD_FORMAT);
    for (int i = 0; i < count; i++) {
        struct sections sections = sections_of(keys[i].path);
        int same = common_sections(&open, &sections);
        for (int depth = open.count; depth > same; depth--)
            json_close(json);
        for (int depth = same; depth < sections.count; depth++) {
            char section[64];
            size_t length = (size_t)sections.lengths[depth] < sizeof section ? (size_t)sections.lengths[depth]
                                                                             : sizeof section - 1;
            memcpy(section, sections.starts[depth], length);
            section[length] = 0;
            json_open(json, section, '{');
        }
        workload_write_value(workload, &keys[i], json, sections.name);
        open = sections;
    }
    for (int depth = open.count; depth > 0; depth--)
        json_close(json);
    json_close(json);
}
