#include "model/profile_measured.h"

#include "core/fields.h"

#include <limits.h>
#include <string.h>

#define MAX_SECONDS 1e9
#define MAX_SIZE    9007199254740992.0

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const struct field measured_fields[] = {
    FIELD(struct profile_measured, host, FIELD_TEXT, 0, 0),
    FIELD(struct profile_measured, processor, FIELD_TEXT, 0, 0),
    FIELD(struct profile_measured, system, FIELD_TEXT, 0, 0),
    FIELD(struct profile_measured, date, FIELD_TEXT, 0, 0),
    FIELD(struct profile_measured, command, FIELD_TEXT, 0, 0),
    FIELD(struct profile_measured, library, FIELD_TEXT, 0, 0),
    FIELD(struct profile_measured, cores, FIELD_TEXT, 0, 0),
    FIELD(struct profile_measured, clock, FIELD_TEXT, 0, 0),
    FIELD(struct profile_measured, warnings, FIELD_TEXT, 0, 0),
    FIELD(struct profile_measured, precision, FIELD_DOUBLE, 0, MAX_SECONDS),
    FIELD(struct profile_measured, reached, FIELD_DOUBLE, 0, MAX_SECONDS),
    {.key = "layers", .type = FIELD_OTHER},
    {.key = "products", .type = FIELD_OTHER},
};

static const struct field interval_fields[] = {
    FIELD(struct profile_interval, low, FIELD_DOUBLE, 0, MAX_SECONDS),
    FIELD(struct profile_interval, high, FIELD_DOUBLE, 0, MAX_SECONDS),
    FIELD(struct profile_interval, samples, FIELD_INT, 0, INT_MAX),
    FIELD(struct profile_interval, notes, FIELD_TEXT, 0, 0),
};

static const struct field product_fields[] = {
    FIELD(struct profile_product, type, FIELD_TEXT, 1, 1),
    FIELD_AT(struct profile_product, "batch", size.batch, FIELD_INT64, 1, MAX_SIZE),
    FIELD_AT(struct profile_product, "m", size.m, FIELD_INT64, 1, MAX_SIZE),
    FIELD_AT(struct profile_product, "n", size.n, FIELD_INT64, 1, MAX_SIZE),
    FIELD_AT(struct profile_product, "k", size.k, FIELD_INT64, 1, MAX_SIZE),
    FIELD(struct profile_product, seconds, FIELD_DOUBLE, 1e-12, MAX_SECONDS),
    FIELD(struct profile_product, low, FIELD_DOUBLE, 0, MAX_SECONDS),
    FIELD(struct profile_product, high, FIELD_DOUBLE, 0, MAX_SECONDS),
};

/* Reads a record, whose texts then live as long as the profile. */
static bool read_record(const struct profile_reader *r, void *record, const struct field *fields,
                        size_t count, const struct doc_node *map)
{
    if (!fields_read(record, fields, count, r->doc, map, r->err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *text;
        char *at = (char *)record + fields[i].offset;
        if (fields[i].type != FIELD_TEXT)
            continue;
        memcpy(&text, at, sizeof text);
        text = text ? arena_string(&r->profile->arena, text) : NULL;
        if (!text && field_get(record, &fields[i]) > 0.0)
            return error_memory(r->err);
        memcpy(at, &text, sizeof text);
    }
    return true;
}

static bool read_layers(const struct profile_reader *r, const struct doc_node *list,
                        struct profile_measured *measured)
{
    static const char *const keys[] = {"forward", "backward"};
    if (!doc_is_list(r->doc, list, r->err))
        return false;
    if ((int)list->count != r->profile->layer_count)
        return doc_error(r->doc, list, r->err, "has %u layers, but the model has %d", list->count,
                         r->profile->layer_count);
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        if (!doc_is_map(r->doc, node, r->err) || !doc_only_keys(r->doc, node, keys, COUNT(keys), r->err))
            return false;
        const struct doc_node *forward = doc_find(node, "forward"), *backward = doc_find(node, "backward");
        if ((forward && !read_record(r, &measured->forward[node->index], interval_fields,
                                     COUNT(interval_fields), forward)) ||
            (backward && !read_record(r, &measured->backward[node->index], interval_fields,
                                      COUNT(interval_fields), backward)))
            return false;
    }
    return true;
}

static bool read_products(const struct profile_reader *r, const struct doc_node *list,
                          struct profile_measured *measured)
{
    if (!list)
        return true;
    if (!doc_is_list(r->doc, list, r->err))
        return false;
    if (list->count > PROFILE_MAX_PRODUCTS)
        return doc_error(r->doc, list, r->err, "has %u products, expected at most %d", list->count,
                         PROFILE_MAX_PRODUCTS);
    measured->products = ARENA_ARRAY(&r->profile->arena, list->count, struct profile_product);
    if (!measured->products && list->count > 0)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        if (!read_record(r, &measured->products[node->index], product_fields, COUNT(product_fields), node))
            return false;
        measured->product_count++;
    }
    return true;
}

struct profile_measured *profile_read_measured(const struct profile_reader *r, const struct doc_node *map)
{
    struct arena *arena = &r->profile->arena;
    size_t layers = (size_t)r->profile->layer_count;
    struct profile_measured *measured = ARENA_NEW(arena, struct profile_measured);
    if (!measured || !(measured->forward = ARENA_ARRAY(arena, layers, struct profile_interval)) ||
        !(measured->backward = ARENA_ARRAY(arena, layers, struct profile_interval)))
        return error_memory_null(r->err);
    if (!read_record(r, measured, measured_fields, COUNT(measured_fields), map))
        return NULL;
    const struct doc_node *list = doc_find(map, "layers");
    bool done =
        (!list || read_layers(r, list, measured)) && read_products(r, doc_find(map, "products"), measured);
    return done ? measured : NULL;
}

/* ---- out ---- */

static void write_interval(const char *key, const struct profile_interval *interval, struct json *json)
{
    if (interval->low <= 0.0 && !interval->notes)
        return;
    json_open_flat(json, key, '{');
    if (interval->low > 0.0)
        fields_write(interval, interval_fields, COUNT(interval_fields) - 1, json);
    if (interval->notes)
        json_string(json, "notes", interval->notes);
    json_close(json);
}

void profile_write_measured(const struct profile_measured *measured, int layers, struct json *json)
{
    json_open(json, "measured", '{');
    for (size_t i = 0; i + 2 < COUNT(measured_fields); i++)
        if (field_get(measured, &measured_fields[i]) > 0.0)
            fields_write(measured, &measured_fields[i], 1, json);
    json_open(json, "layers", '[');
    for (int i = 0; i < layers; i++) {
        json_open(json, NULL, '{');
        write_interval("forward", &measured->forward[i], json);
        write_interval("backward", &measured->backward[i], json);
        json_close(json);
    }
    json_close(json);
    if (measured->product_count > 0)
        FIELDS_LIST(measured->products, measured->product_count, product_fields, json, "products");
    json_close(json);
}
