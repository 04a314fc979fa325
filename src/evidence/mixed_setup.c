#include "evidence/mixed_setup.h"

#include "core/text.h"

#include <string.h>

#define MAX_WIDTH   1e9
#define MAX_GROUPS  256
#define MAX_BYTES   1024.0
#define MAX_SECONDS 3600.0

struct reader {
    struct mixed_setup *setup;
    struct error *err;
};

/* ---- values ---- */

static bool only(const struct reader *r, const struct doc_node *map, const char *const *keys, size_t count)
{
    return doc_is_map(&r->setup->doc, map, r->err) && doc_only_keys(&r->setup->doc, map, keys, count, r->err);
}

static bool text(const struct reader *r, const struct doc_node *map, const char *key, const char **value)
{
    const struct doc_node *node = doc_need(&r->setup->doc, map, key, r->err);
    return node && doc_string(&r->setup->doc, node, value, r->err);
}

/* A number that may be left out, which leaves *value. */
static bool number(const struct reader *r, const struct doc_node *map, const char *key, double least,
                   double most, double *value)
{
    const struct doc_node *node = doc_find(map, key);
    return !node || doc_number(&r->setup->doc, node, least, most, value, r->err);
}

static bool need_number(const struct reader *r, const struct doc_node *map, const char *key, double *value)
{
    return doc_need(&r->setup->doc, map, key, r->err) && number(r, map, key, 1.0, MAX_WIDTH, value);
}

static bool need_integer(const struct reader *r, const struct doc_node *map, const char *key, int64_t most,
                         int *value)
{
    const struct doc_node *node = doc_need(&r->setup->doc, map, key, r->err);
    int64_t read;
    if (!node || !doc_integer(&r->setup->doc, node, 1, most, &read, r->err))
        return false;
    *value = (int)read;
    return true;
}

static bool quantity(const struct reader *r, const struct doc_node *map, const char *key, enum unit_kind kind,
                     double *value)
{
    const struct doc_node *node = doc_find(map, key);
    return !node || doc_quantity(&r->setup->doc, node, kind, true, value, r->err);
}

static bool need_rate(const struct reader *r, const struct doc_node *map, const char *key, double *value)
{
    const struct doc_node *node = doc_need(&r->setup->doc, map, key, r->err);
    return node && doc_quantity(&r->setup->doc, node, UNIT_RATE, false, value, r->err);
}

/* True or false; left out: false. */
static bool yes(const struct reader *r, const struct doc_node *map, const char *key, bool *value)
{
    const struct doc_node *node = doc_find(map, key);
    if (node && node->type != DOC_BOOL)
        return doc_error(&r->setup->doc, node, r->err, "expected true or false");
    *value = node && node->boolean;
    return true;
}

/* A list's items in an array; NULL: not a list, or memory ran out. */
static void *list(const struct reader *r, const struct doc_node *map, const char *key, size_t size,
                  int *count, const struct doc_node **first)
{
    const struct doc_node *node = doc_need(&r->setup->doc, map, key, r->err);
    if (!node || !doc_is_list(&r->setup->doc, node, r->err))
        return NULL;
    if (node->count == 0 || node->count > MAX_GROUPS) {
        doc_error(&r->setup->doc, node, r->err, "expected 1 to %d entries, found %u", MAX_GROUPS,
                  node->count);
        return NULL;
    }
    void *items = arena_alloc(&r->setup->doc.arena, node->count, size);
    if (!items)
        error_memory(r->err);
    *count = (int)node->count;
    *first = node->first_child;
    return items;
}

/* ---- models ---- */

static bool read_kind(const struct reader *r, const struct doc_node *node, enum mixed_layer_kind *kind,
                      int *count)
{
    static const char *const keys[] = {"kind", "count"};
    static const char *const names[] = {"embedding", "block", "head", "other"};
    const char *name;
    *count = 1;
    if (!only(r, node, keys, 2) || !text(r, node, "kind", &name) ||
        (doc_find(node, "count") && !need_integer(r, node, "count", MIXED_MAX_LAYERS, count)))
        return false;
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (enum mixed_layer_kind)i;
            return true;
        }
    return doc_error(&r->setup->doc, doc_find(node, "kind"), r->err,
                     "expected embedding, block, head or other, found '%s'", name);
}

static bool read_kinds(const struct reader *r, const struct doc_node *map, struct mixed_architecture *model)
{
    const struct doc_node *node = doc_need(&r->setup->doc, map, "layers", r->err);
    model->kinds = ARENA_ARRAY(&r->setup->doc.arena, MIXED_MAX_LAYERS, enum mixed_layer_kind);
    if (!model->kinds)
        return error_memory(r->err);
    if (!node || !doc_is_list(&r->setup->doc, node, r->err))
        return false;
    for (const struct doc_node *item = node->first_child; item; item = item->next) {
        enum mixed_layer_kind kind = MIXED_OTHER;
        int count = 0;
        if (!read_kind(r, item, &kind, &count))
            return false;
        if (model->layer_count + count > MIXED_MAX_LAYERS)
            return doc_error(&r->setup->doc, item, r->err, "more than %d layers", MIXED_MAX_LAYERS);
        while (count-- > 0)
            model->kinds[model->layer_count++] = kind;
    }
    return model->layer_count > 0 || doc_error(&r->setup->doc, node, r->err, "expected layers");
}

static bool read_model(const struct reader *r, const struct doc_node *node, struct mixed_architecture *model)
{
    static const char *const keys[] = {"name",      "table",   "hidden", "heads",   "sequence", "vocabulary",
                                       "positions", "element", "tied",   "dropout", "layers"};
    if (!only(r, node, keys, sizeof keys / sizeof *keys) || !text(r, node, "name", &model->name) ||
        !need_number(r, node, "hidden", &model->hidden) || !need_number(r, node, "heads", &model->heads) ||
        !need_number(r, node, "sequence", &model->sequence) ||
        !need_number(r, node, "vocabulary", &model->vocabulary) ||
        !number(r, node, "positions", 0.0, MAX_WIDTH, &model->positions) ||
        !need_number(r, node, "element", &model->element))
        return false;
    model->table = model->name;
    if (doc_find(node, "table") && !text(r, node, "table", &model->table))
        return false;
    return yes(r, node, "tied", &model->tied) && yes(r, node, "dropout", &model->dropout) &&
           read_kinds(r, node, model);
}

static bool read_models(const struct reader *r, const struct doc_node *root)
{
    const struct doc_node *item;
    struct mixed_setup *setup = r->setup;
    setup->architectures =
        list(r, root, "models", sizeof *setup->architectures, &setup->architecture_count, &item);
    for (int i = 0; setup->architectures && i < setup->architecture_count; i++, item = item->next)
        if (!read_model(r, item, &setup->architectures[i]))
            return false;
    return setup->architectures != NULL;
}

/* ---- devices ---- */

static bool read_launches(const struct reader *r, const struct doc_node *node, struct mixed_device *device)
{
    static const char *const keys[] = {"tensor", "seconds"};
    const struct doc_node *launches = doc_find(node, "launch");
    if (!launches)
        return true;
    if (!doc_is_list(&r->setup->doc, launches, r->err))
        return false;
    for (const struct doc_node *item = launches->first_child; item; item = item->next) {
        int at = device->launch_count;
        if (at == MIXED_MAX_LAUNCHES)
            return doc_error(&r->setup->doc, item, r->err, "more than %d entries", MIXED_MAX_LAUNCHES);
        if (!only(r, item, keys, 2) || !need_integer(r, item, "tensor", 1024, &device->launches[at].tensor) ||
            !quantity(r, item, "seconds", UNIT_TIME, &device->launches[at].seconds))
            return false;
        device->launch_count++;
    }
    return true;
}

static bool read_kernels(const struct reader *r, const struct doc_node *node, struct mixed_device *device)
{
    static const char *const keys[] = {"like", "times"};
    const struct doc_node *kernels = doc_find(node, "kernels");
    if (!kernels)
        return true;
    device->times = 1.0;
    return only(r, kernels, keys, 2) && text(r, kernels, "like", &device->like) &&
           number(r, kernels, "times", DOC_POSITIVE, 1e6, &device->times);
}

static bool read_devices(const struct reader *r, const struct doc_node *root)
{
    static const char *const keys[] = {"name", "launch", "kernels", "update"};
    const struct doc_node *item;
    struct mixed_setup *setup = r->setup;
    if (!doc_find(root, "devices"))
        return true;
    setup->devices = list(r, root, "devices", sizeof *setup->devices, &setup->device_count, &item);
    for (int i = 0; setup->devices && i < setup->device_count; i++, item = item->next) {
        struct mixed_device *device = &setup->devices[i];
        if (!only(r, item, keys, 4) || !text(r, item, "name", &device->name) ||
            !read_launches(r, item, device) || !read_kernels(r, item, device) ||
            !quantity(r, item, "update", UNIT_TIME, &device->update))
            return false;
    }
    return setup->devices != NULL;
}

/* ---- clusters ---- */

static bool read_group(const struct reader *r, const struct doc_node *node, struct mixed_group *group)
{
    static const char *const keys[] = {"device",          "nodes",  "devices",       "network",
                                       "network_latency", "inside", "inside_latency"};
    return only(r, node, keys, sizeof keys / sizeof *keys) && text(r, node, "device", &group->device) &&
           need_integer(r, node, "nodes", MIXED_MAX_NODES, &group->nodes) &&
           need_integer(r, node, "devices", 1024, &group->devices) &&
           need_rate(r, node, "network", &group->links.network.bandwidth) &&
           need_rate(r, node, "inside", &group->links.inside.bandwidth) &&
           quantity(r, node, "network_latency", UNIT_TIME, &group->links.network.latency) &&
           quantity(r, node, "inside_latency", UNIT_TIME, &group->links.inside.latency);
}

static bool read_software(const struct reader *r, const struct doc_node *map, struct mixed_software *software)
{
    static const char *const keys[] = {"gradient", "tied", "state", "runtime", "buffer", "stage", "step"};
    const struct doc_node *node = doc_need(&r->setup->doc, map, "software", r->err);
    return node && only(r, node, keys, sizeof keys / sizeof *keys) &&
           number(r, node, "gradient", 0.0, MAX_BYTES, &software->gradient_bytes) &&
           number(r, node, "tied", 0.0, MAX_BYTES, &software->tied_bytes) &&
           number(r, node, "state", 0.0, MAX_BYTES, &software->state_bytes) &&
           quantity(r, node, "runtime", UNIT_BYTES, &software->runtime_bytes) &&
           quantity(r, node, "buffer", UNIT_BYTES, &software->buffer_bytes) &&
           quantity(r, node, "stage", UNIT_TIME, &software->stage_seconds) &&
           quantity(r, node, "step", UNIT_TIME, &software->step_seconds);
}

static bool read_cluster(const struct reader *r, const struct doc_node *node, struct mixed_cluster *cluster)
{
    static const char *const keys[] = {"name", "groups", "software"};
    const struct doc_node *item;
    int nodes = 0;
    if (!only(r, node, keys, 3) || !text(r, node, "name", &cluster->name) ||
        !read_software(r, node, &cluster->software))
        return false;
    cluster->groups = list(r, node, "groups", sizeof *cluster->groups, &cluster->group_count, &item);
    for (int i = 0; cluster->groups && i < cluster->group_count; i++, item = item->next) {
        if (!read_group(r, item, &cluster->groups[i]))
            return false;
        nodes += cluster->groups[i].nodes;
        if (nodes > MIXED_MAX_NODES)
            return doc_error(&r->setup->doc, item, r->err, "more than %d nodes", MIXED_MAX_NODES);
    }
    return cluster->groups != NULL;
}

static bool read_clusters(const struct reader *r, const struct doc_node *root)
{
    const struct doc_node *item;
    struct mixed_setup *setup = r->setup;
    setup->clusters = list(r, root, "clusters", sizeof *setup->clusters, &setup->cluster_count, &item);
    for (int i = 0; setup->clusters && i < setup->cluster_count; i++, item = item->next)
        if (!read_cluster(r, item, &setup->clusters[i]))
            return false;
    return setup->clusters != NULL;
}

/* ---- the file ---- */

static bool read_setup(struct mixed_setup *setup, struct error *err)
{
    static const char *const keys[] = {"format", "models", "devices", "clusters"};
    struct reader r = {setup, err};
    const struct doc_node *root = setup->doc.root;
    if (only(&r, root, keys, 4) && doc_is_format(&setup->doc, root, "rehearse-mixed/1", err) &&
        read_models(&r, root) && read_devices(&r, root) && read_clusters(&r, root))
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
