/* rehearse-profile/1: see docs/profile.md. */
#include "core/fields.h"
#include "core/text.h"
#include "model/profile_measured.h"
#include "model/read.h"

#include <stdio.h>
#include <string.h>

#define FORMAT "rehearse-profile/1"

#define KEY_COUNT(keys) (sizeof(keys) / sizeof *(keys))

/* ---- in ---- */

static bool check_format(const struct profile_reader *r)
{
    const struct doc_node *root = r->doc->root;
    if (root->type == DOC_LIST)
        return doc_error(
            r->doc, root, r->err,
            "expected a %s map, found a list; for an Oobleck profile name the folder of the file", FORMAT);
    if (!doc_is_map(r->doc, root, r->err))
        return false;
    if (!doc_find(root, "format"))
        return doc_error(r->doc, root, r->err, "not a profile: no format: \"%s\"", FORMAT);
    return doc_is_format(r->doc, root, FORMAT, r->err);
}

/* An optional string; null is the same as none. */
static bool read_string(const struct profile_reader *r, const struct doc_node *map, const char *key,
                        const char **value)
{
    const struct doc_node *node = doc_find(map, key);
    const char *text;
    if (!node || node->type == DOC_NULL)
        return true;
    if (!doc_string(r->doc, node, &text, r->err))
        return false;
    *value = arena_string(&r->profile->arena, text);
    return *value ? true : error_memory(r->err);
}

static bool read_size(const struct profile_reader *r, const struct doc_node *map, const char *key,
                      int64_t *bytes)
{
    const struct doc_node *node = doc_need(r->doc, map, key, r->err);
    return node && profile_read_bytes(r, node, bytes);
}

static bool read_layer(const struct profile_reader *r, const struct doc_node *node,
                       struct profile_layer *layer)
{
    static const char *const keys[] = {"name", "parameter_bytes", "activation_bytes", "output_bytes"};
    return doc_is_map(r->doc, node, r->err) && doc_only_keys(r->doc, node, keys, KEY_COUNT(keys), r->err) &&
           read_string(r, node, "name", &layer->name) &&
           read_size(r, node, "parameter_bytes", &layer->parameter_bytes) &&
           read_size(r, node, "activation_bytes", &layer->activation_bytes) &&
           (!doc_find(node, "output_bytes") || read_size(r, node, "output_bytes", &layer->output_bytes));
}

static const struct doc_node *need_list(const struct profile_reader *r, const struct doc_node *map,
                                        const char *key)
{
    const struct doc_node *list = doc_need(r->doc, map, key, r->err);
    return list && doc_is_list(r->doc, list, r->err) ? list : NULL;
}

static bool read_layers(const struct profile_reader *r)
{
    const struct doc_node *list = need_list(r, r->doc->root, "layers");
    if (!list || !profile_make_layers(r, list))
        return false;
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_layer(r, node, &r->profile->layers[node->index]))
            return false;
    return true;
}

static bool read_time(const struct profile_reader *r, const struct doc_node *map, const char *key,
                      double *seconds)
{
    const struct doc_node *node = doc_need(r->doc, map, key, r->err);
    return node && profile_read_time(r, node, seconds);
}

/* Reads the all-reduce maps under `key` of every layer; if no layer has one, they are unknown. */
static bool read_allreduce(const struct profile_reader *r, const struct doc_node *list, const char *key,
                           struct profile_allreduce **allreduce)
{
    bool any = false;
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        any = any || doc_find(node, key);
    return !any || profile_read_allreduce(r, list, key, allreduce);
}

static bool read_device_layers(const struct profile_reader *r, const struct doc_node *map,
                               struct profile_device *device)
{
    static const char *const keys[] = {"forward", "backward", "allreduce_in_node", "allreduce_across_nodes"};
    struct profile *profile = r->profile;
    const struct doc_node *list = need_list(r, map, "layers");
    if (!list)
        return false;
    if ((int)list->count != profile->layer_count)
        return doc_error(r->doc, list, r->err, "has %u layers, but the model has %d", list->count,
                         profile->layer_count);
    device->forward = ARENA_ARRAY(&profile->arena, list->count, double);
    device->backward = ARENA_ARRAY(&profile->arena, list->count, double);
    if (!device->forward || !device->backward)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!doc_is_map(r->doc, node, r->err) ||
            !doc_only_keys(r->doc, node, keys, KEY_COUNT(keys), r->err) ||
            !read_time(r, node, "forward", &device->forward[node->index]) ||
            !read_time(r, node, "backward", &device->backward[node->index]))
            return false;
    return read_allreduce(r, list, "allreduce_in_node", &device->in_node) &&
           read_allreduce(r, list, "allreduce_across_nodes", &device->across_nodes);
}

static bool read_device(const struct profile_reader *r, const struct doc_node *node,
                        struct profile_device *device)
{
    static const char *const keys[] = {"name", "measured", "layers"};
    const char *name = NULL;
    if (!doc_is_map(r->doc, node, r->err) || !doc_only_keys(r->doc, node, keys, KEY_COUNT(keys), r->err) ||
        !read_string(r, node, "name", &name))
        return false;
    if (!name && node->parent->count > 1)
        return doc_error(r->doc, node, r->err, "expected a name: there are several devices");
    if (name && profile_find_device(r->profile, name))
        return doc_error(r->doc, doc_find(node, "name"), r->err, "device '%s' is listed twice", name);
    device->name = name;
    device->path = r->profile->path;
    const struct doc_node *measured = doc_find(node, "measured");
    if (measured && !(device->measured = profile_read_measured(r, measured)))
        return false;
    return read_device_layers(r, node, device);
}

static bool read_devices(const struct profile_reader *r)
{
    struct profile *profile = r->profile;
    const struct doc_node *list = need_list(r, r->doc->root, "devices");
    if (!list || !profile_check_count(r, list, "device", PROFILE_MAX_DEVICES))
        return false;
    profile->devices = ARENA_ARRAY(&profile->arena, list->count, struct profile_device);
    if (!profile->devices)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        if (!read_device(r, node, &profile->devices[profile->device_count]))
            return false;
        profile->device_count++;
    }
    return true;
}

static bool read_microbatch_size(const struct profile_reader *r)
{
    const struct doc_node *node = doc_find(r->doc->root, "microbatch_size");
    int64_t size;
    if (!node)
        return true;
    if (!doc_integer(r->doc, node, 1, PROFILE_MAX_MICROBATCH, &size, r->err))
        return false;
    r->profile->microbatch_size = (int)size;
    return true;
}

static bool read_profile(const struct profile_reader *r)
{
    static const char *const keys[] = {"format", "model", "source", "microbatch_size", "layers", "devices"};
    struct profile *profile = r->profile;
    profile->path = arena_string(&profile->arena, r->doc->path);
    if (!profile->path)
        return error_memory(r->err);
    return check_format(r) && doc_only_keys(r->doc, r->doc->root, keys, KEY_COUNT(keys), r->err) &&
           read_string(r, r->doc->root, "model", &profile->model) &&
           read_string(r, r->doc->root, "source", &profile->source) && read_microbatch_size(r) &&
           read_layers(r) && read_devices(r);
}

bool profile_from_doc(struct profile *profile, const struct doc *doc, struct error *err)
{
    struct profile_reader r = {profile, doc, 1, err};
    memset(profile, 0, sizeof *profile);
    if (read_profile(&r))
        return true;
    profile_release(profile);
    return false;
}

/* ---- out ---- */

static const struct field layer_fields[] = {
    FIELD(struct profile_layer, name, FIELD_SOME_TEXT, 0, 0),
    FIELD(struct profile_layer, parameter_bytes, FIELD_INT64, 0, 0),
    FIELD(struct profile_layer, activation_bytes, FIELD_INT64, 0, 0),
    FIELD(struct profile_layer, output_bytes, FIELD_SOME_INT64, 1, 0),
};

static const struct field profile_fields[] = {
    FIELD(struct profile, model, FIELD_SOME_TEXT, 0, 0),
    FIELD(struct profile, source, FIELD_SOME_TEXT, 0, 0),
    FIELD(struct profile, microbatch_size, FIELD_SOME_INT, 1, 0),
    FIELD_ROWS(struct profile, "layers", layers, layer_count, layer_fields, FIELD_LIST),
};

static void write_allreduce(struct json *json, const char *key, const struct profile_allreduce *allreduce)
{
    if (allreduce->count == 0)
        return;
    json_open_flat(json, key, '{');
    for (int i = 0; i < allreduce->count; i++) {
        char size[16];
        snprintf(size, sizeof size, "%d", allreduce->devices[i]);
        json_number(json, size, allreduce->seconds[i]);
    }
    json_close(json);
}

static void write_device(struct json *json, const struct profile *profile,
                         const struct profile_device *device)
{
    json_open(json, NULL, '{');
    if (device->name)
        json_string(json, "name", device->name);
    if (device->measured)
        profile_write_measured(device->measured, profile->layer_count, json);
    json_open(json, "layers", '[');
    for (int i = 0; i < profile->layer_count; i++) {
        json_open_flat(json, NULL, '{');
        json_number(json, "forward", device->forward[i]);
        json_number(json, "backward", device->backward[i]);
        if (device->in_node)
            write_allreduce(json, "allreduce_in_node", &device->in_node[i]);
        if (device->across_nodes)
            write_allreduce(json, "allreduce_across_nodes", &device->across_nodes[i]);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

void profile_write_json(const struct profile *profile, struct json *json)
{
    json_open_document(json, FORMAT);
    FIELDS_WRITE(profile, profile_fields, json);
    json_open(json, "devices", '[');
    for (int d = 0; d < profile->device_count; d++)
        write_device(json, profile, &profile->devices[d]);
    json_close(json);
    json_close(json);
}
