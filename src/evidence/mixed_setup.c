#include "evidence/mixed_setup.h"

#include "core/fields.h"
#include "core/text.h"

#include <math.h>
#include <string.h>

#define MAX_WIDTH   1e9
#define MAX_ENTRIES 256
#define MAX_BYTES   1024.0

struct reader {
    struct mixed_setup *setup;
    struct error *err;
};

#define COUNT(fields) (sizeof(fields) / sizeof *(fields))

static bool read_fields(const struct reader *r, const struct doc_node *map, void *record,
                        const struct field *fields, size_t count)
{
    return fields_read(record, fields, count, &r->setup->doc, map, r->err);
}

/* Reads the list `key` of a map into an array of items of `size` bytes, each by `read_item`. */
static bool read_list(const struct reader *r, const struct doc_node *map, const char *key, size_t size,
                      bool (*read_item)(const struct reader *r, const struct doc_node *node, void *item),
                      void *items, int *count)
{
    struct doc *doc = &r->setup->doc;
    const struct doc_node *list = doc_need(doc, map, key, r->err);
    if (!list || !doc_is_list(doc, list, r->err))
        return false;
    if (list->count == 0 || list->count > MAX_ENTRIES)
        return doc_error(doc, list, r->err, "expected 1 to %d entries, found %u", MAX_ENTRIES, list->count);
    char *item = arena_alloc(&doc->arena, list->count, size);
    if (!item)
        return error_memory(r->err);
    *count = (int)list->count;
    memcpy(items, &item, sizeof item);
    for (const struct doc_node *node = list->first_child; node; node = node->next, item += size)
        if (!read_item(r, node, item))
            return false;
    return true;
}

/* ---- models ---- */

/* An entry of a model's layers: so many of one kind. */
struct layers {
    const char *kind;
    int count;
};

static const struct field layers_fields[] = {
    FIELD(struct layers, kind, FIELD_TEXT, 1, 0),
    FIELD(struct layers, count, FIELD_INT, 1, MIXED_MAX_LAYERS),
};

static bool add_layers(const struct reader *r, const struct doc_node *node, struct mixed_architecture *model)
{
    static const char *const names[] = {"embedding", "block", "head", "other"};
    struct layers layers = {.count = 1};
    int kind = 0;
    if (!read_fields(r, node, &layers, layers_fields, COUNT(layers_fields)))
        return false;
    while (kind < 4 && strcmp(layers.kind, names[kind]) != 0)
        kind++;
    if (kind == 4)
        return doc_error(&r->setup->doc, doc_find(node, "kind"), r->err,
                         "expected embedding, block, head or other, found '%s'", layers.kind);
    if (model->layer_count + layers.count > MIXED_MAX_LAYERS)
        return doc_error(&r->setup->doc, node, r->err, "more than %d layers", MIXED_MAX_LAYERS);
    while (layers.count-- > 0)
        model->kinds[model->layer_count++] = (enum mixed_layer_kind)kind;
    return true;
}

static const struct field model_fields[] = {
    FIELD(struct mixed_architecture, name, FIELD_TEXT, 1, 0),
    FIELD(struct mixed_architecture, table, FIELD_TEXT, 0, 0),
    FIELD(struct mixed_architecture, hidden, FIELD_DOUBLE, 1, MAX_WIDTH),
    FIELD(struct mixed_architecture, heads, FIELD_DOUBLE, 1, MAX_WIDTH),
    FIELD(struct mixed_architecture, sequence, FIELD_DOUBLE, 1, MAX_WIDTH),
    FIELD(struct mixed_architecture, vocabulary, FIELD_DOUBLE, 1, MAX_WIDTH),
    FIELD(struct mixed_architecture, positions, FIELD_DOUBLE, 0, MAX_WIDTH),
    FIELD(struct mixed_architecture, element, FIELD_DOUBLE, 1, MAX_WIDTH),
    FIELD(struct mixed_architecture, tied, FIELD_FLAG, 0, 1),
    FIELD(struct mixed_architecture, dropout, FIELD_FLAG, 0, 1),
    {.key = "layers", .type = FIELD_OTHER, .min = 1},
};

static bool read_model(const struct reader *r, const struct doc_node *map, void *item)
{
    struct mixed_architecture *model = item;
    struct doc *doc = &r->setup->doc;
    if (!read_fields(r, map, model, model_fields, COUNT(model_fields)))
        return false;
    if (!model->table)
        model->table = model->name;
    const struct doc_node *list = doc_find(map, "layers");
    if (!doc_is_list(doc, list, r->err))
        return false;
    model->kinds = ARENA_ARRAY(&doc->arena, MIXED_MAX_LAYERS, enum mixed_layer_kind);
    if (!model->kinds)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!add_layers(r, node, model))
            return false;
    return model->layer_count > 0 || doc_error(doc, list, r->err, "expected layers");
}

/* ---- devices ---- */

static const struct field launch_fields[] = {
    FIELD(struct mixed_launch, tensor, FIELD_INT, 1, 1024),
    FIELD(struct mixed_launch, seconds, FIELD_TIME, 0, INFINITY),
};

static const struct field kernels_fields[] = {
    FIELD(struct mixed_device, like, FIELD_TEXT, 1, 0),
    FIELD(struct mixed_device, times, FIELD_DOUBLE, DOC_POSITIVE, 1e6),
};

static const struct field device_fields[] = {
    FIELD(struct mixed_device, name, FIELD_TEXT, 1, 0),
    FIELD(struct mixed_device, update, FIELD_TIME, 0, INFINITY),
    {.key = "launch", .type = FIELD_OTHER},
    {.key = "kernels", .type = FIELD_OTHER},
};

static bool read_launches(const struct reader *r, const struct doc_node *list, struct mixed_device *device)
{
    if (!doc_is_list(&r->setup->doc, list, r->err))
        return false;
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        if (device->launch_count == MIXED_MAX_LAUNCHES)
            return doc_error(&r->setup->doc, node, r->err, "more than %d entries", MIXED_MAX_LAUNCHES);
        if (!read_fields(r, node, &device->launches[device->launch_count++], launch_fields,
                         COUNT(launch_fields)))
            return false;
    }
    return true;
}

static bool read_device(const struct reader *r, const struct doc_node *map, void *item)
{
    struct mixed_device *device = item;
    const struct doc_node *launches = doc_find(map, "launch"), *kernels = doc_find(map, "kernels");
    device->times = 1.0;
    return read_fields(r, map, device, device_fields, COUNT(device_fields)) &&
           (!launches || read_launches(r, launches, device)) &&
           (!kernels || read_fields(r, kernels, device, kernels_fields, COUNT(kernels_fields)));
}

/* ---- clusters ---- */

static const struct field group_fields[] = {
    FIELD(struct mixed_group, device, FIELD_TEXT, 1, 0),
    FIELD(struct mixed_group, nodes, FIELD_INT, 1, MIXED_MAX_NODES),
    FIELD(struct mixed_group, devices, FIELD_INT, 1, 1024),
    FIELD_AT(struct mixed_group, "network", links.network.bandwidth, FIELD_RATE, DOC_POSITIVE, INFINITY),
    FIELD_AT(struct mixed_group, "inside", links.inside.bandwidth, FIELD_RATE, DOC_POSITIVE, INFINITY),
    FIELD_AT(struct mixed_group, "network_latency", links.network.latency, FIELD_TIME, 0, INFINITY),
    FIELD_AT(struct mixed_group, "inside_latency", links.inside.latency, FIELD_TIME, 0, INFINITY),
};

static const struct field software_fields[] = {
    FIELD_AT(struct mixed_software, "gradient", gradient_bytes, FIELD_DOUBLE, 0, MAX_BYTES),
    FIELD_AT(struct mixed_software, "tied", tied_bytes, FIELD_DOUBLE, 0, MAX_BYTES),
    FIELD_AT(struct mixed_software, "state", state_bytes, FIELD_DOUBLE, 0, MAX_BYTES),
    FIELD_AT(struct mixed_software, "runtime", runtime_bytes, FIELD_BYTES, 0, INFINITY),
    FIELD_AT(struct mixed_software, "buffer", buffer_bytes, FIELD_BYTES, 0, INFINITY),
    FIELD_AT(struct mixed_software, "stage", stage_seconds, FIELD_TIME, 0, INFINITY),
    FIELD_AT(struct mixed_software, "step", step_seconds, FIELD_TIME, 0, INFINITY),
};

static const struct field cluster_fields[] = {
    FIELD(struct mixed_cluster, name, FIELD_TEXT, 1, 0),
    {.key = "groups", .type = FIELD_OTHER},
    {.key = "software", .type = FIELD_OTHER, .min = 1},
};

static bool read_group(const struct reader *r, const struct doc_node *map, void *item)
{
    return read_fields(r, map, item, group_fields, COUNT(group_fields));
}

static bool read_cluster(const struct reader *r, const struct doc_node *map, void *item)
{
    struct mixed_cluster *cluster = item;
    int nodes = 0;
    if (!read_fields(r, map, cluster, cluster_fields, COUNT(cluster_fields)) ||
        !read_fields(r, doc_find(map, "software"), &cluster->software, software_fields,
                     COUNT(software_fields)) ||
        !read_list(r, map, "groups", sizeof *cluster->groups, read_group, &cluster->groups,
                   &cluster->group_count))
        return false;
    for (int g = 0; g < cluster->group_count; g++)
        nodes += cluster->groups[g].nodes;
    return nodes <= MIXED_MAX_NODES ||
           doc_error(&r->setup->doc, doc_find(map, "groups"), r->err, "more than %d nodes", MIXED_MAX_NODES);
}

/* ---- the file ---- */

static const struct field setup_fields[] = {
    {.key = "format", .type = FIELD_OTHER},
    {.key = "models", .type = FIELD_OTHER},
    {.key = "devices", .type = FIELD_OTHER},
    {.key = "clusters", .type = FIELD_OTHER},
};

static bool read_setup(struct mixed_setup *setup, struct error *err)
{
    struct reader r = {setup, err};
    const struct doc_node *root = setup->doc.root;
    if (doc_is_map(&setup->doc, root, err) && doc_is_format(&setup->doc, root, "rehearse-mixed/1", err) &&
        read_fields(&r, root, setup, setup_fields, COUNT(setup_fields)) &&
        read_list(&r, root, "models", sizeof *setup->architectures, read_model, &setup->architectures,
                  &setup->architecture_count) &&
        (!doc_find(root, "devices") || read_list(&r, root, "devices", sizeof *setup->devices, read_device,
                                                 &setup->devices, &setup->device_count)) &&
        read_list(&r, root, "clusters", sizeof *setup->clusters, read_cluster, &setup->clusters,
                  &setup->cluster_count))
        return true;
    mixed_setup_release(setup);
    return false;
}

bool mixed_setup_load(struct mixed_setup *setup, const char *path, struct error *err)
{
    *setup = (struct mixed_setup){0};
    return doc_load(&setup->doc, path, err) && read_setup(setup, err);
}

bool mixed_setup_parse(struct mixed_setup *setup, const char *path, const char *data, size_t length,
                       struct error *err)
{
    *setup = (struct mixed_setup){0};
    return doc_parse(&setup->doc, DOC_YAML, path, data, length, err) && read_setup(setup, err);
}

void mixed_setup_release(struct mixed_setup *setup)
{
    doc_release(&setup->doc);
    *setup = (struct mixed_setup){0};
}

/* ---- names ---- */

const struct mixed_architecture *mixed_architecture_find(const struct mixed_setup *setup, const char *name)
{
    for (int i = 0; i < setup->architecture_count; i++)
        if (strcmp(name, setup->architectures[i].name) == 0)
            return &setup->architectures[i];
    return NULL;
}

const struct mixed_device *mixed_device_find(const struct mixed_setup *setup, const char *name)
{
    for (int i = 0; i < setup->device_count; i++)
        if (text_starts_with(name, setup->devices[i].name))
            return &setup->devices[i];
    return NULL;
}

const struct mixed_cluster *mixed_cluster_find(const struct mixed_setup *setup, const char *name)
{
    for (int i = 0; i < setup->cluster_count; i++)
        if (text_starts_with(name, setup->clusters[i].name))
            return &setup->clusters[i];
    return NULL;
}
