#include "core/fields.h"

double field_get(const void *record, const struct field *field)
{
    const void *at = (const char *)record + field->offset;
    switch (field->type) {
    case FIELD_INT:
        return *(const int *)at;
    case FIELD_INT64:
        return (double)*(const int64_t *)at;
    case FIELD_FLAG:
        return *(const bool *)at;
    case FIELD_DOUBLE:
        break;
    }
    return *(const double *)at;
}

void field_set(void *record, const struct field *field, double value)
{
    void *at = (char *)record + field->offset;
    switch (field->type) {
    case FIELD_INT:
        *(int *)at = (int)value;
        break;
    case FIELD_INT64:
        *(int64_t *)at = (int64_t)value;
        break;
    case FIELD_FLAG:
        *(bool *)at = value != 0;
        break;
    case FIELD_DOUBLE:
        *(double *)at = value;
        break;
    }
}

static bool read_value(const struct field *field, const struct doc *doc, const struct doc_node *node,
                       double *value, struct error *err)
{
    int64_t whole;
    if (field->type == FIELD_DOUBLE)
        return doc_number(doc, node, field->least, field->most, value, err);
    if (field->type == FIELD_FLAG) {
        *value = node->boolean;
        return node->type == DOC_BOOL || doc_error(doc, node, err, "expected true or false");
    }
    if (!doc_integer(doc, node, (int64_t)field->least, (int64_t)field->most, &whole, err))
        return false;
    *value = (double)whole;
    return true;
}

bool field_read(void *record, const struct field *field, const struct doc *doc, const struct doc_node *map,
                struct error *err)
{
    const struct doc_node *node = doc_find(map, field->key);
    double value;
    if (!node)
        return true;
    if (!read_value(field, doc, node, &value, err))
        return false;
    field_set(record, field, value);
    return true;
}

bool field_need(void *record, const struct field *field, const struct doc *doc, const struct doc_node *map,
                struct error *err)
{
    return (field_get(record, field) != 0 || doc_need(doc, map, field->key, err)) &&
           field_read(record, field, doc, map, err);
}
