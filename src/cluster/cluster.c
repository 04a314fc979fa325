#include "cluster/cluster.h"

#include "core/fields.h"
#include "core/text.h"
#include "devices/device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FORMAT "rehearse-cluster/1"

/* Wide enough for anything real, narrow enough that no time computed from them overflows or vanishes. */
#define MIN_SPEED   1e-6
#define MAX_SPEED   1e6
#define MIN_RATE    1.0  /* bytes/s */
#define MAX_RATE    1e18 /* bytes/s */
#define MAX_LATENCY 3600.0
#define MAX_MEMORY  0x1p53 /* bytes: whole numbers are exact up to here */

struct reader {
    struct cluster *cluster;
    const struct doc *doc;
    struct error *err;
};

static bool copy_string(struct reader *r, const struct doc_node *node, const char **value)
{
    const char *text;
    if (!doc_string(r->doc, node, &text, r->err))
        return false;
    *value = arena_string(&r->cluster->arena, text);
    return *value ? true : error_memory(r->err);
}

static const struct field speed = FIELD(struct cluster_group, speed, FIELD_DOUBLE, MIN_SPEED, MAX_SPEED),
                          nodes = FIELD_AT(struct cluster_group, "nodes", nodes.count, FIELD_INT, 1,
                                           CLUSTER_MAX_NODES),
                          devices = FIELD_AT(struct cluster_group, "devices_per_node", nodes.devices,
                                             FIELD_INT, 1, CLUSTER_MAX_DEVICES),
                          memory = FIELD_AT(struct cluster_group, "memory", nodes.memory, FIELD_SIZE, 1,
                                            MAX_MEMORY),
                          profile_speed = FIELD_AT(struct cluster, "speed", profile_speed, FIELD_DOUBLE,
                                                   MIN_SPEED, MAX_SPEED);
static const struct field link[] = {
    FIELD(struct cluster_link, bandwidth, FIELD_RATE, MIN_RATE, MAX_RATE),
    FIELD(struct cluster_link, latency, FIELD_TIME, 0, MAX_LATENCY),
};

/* A number that may be missing. */
static bool read_optional(struct reader *r, const struct doc_node *map, const struct field *field,
                          void *record)
{
    return !doc_find(map, field->key) || field_read(record, field, r->doc, map, r->err);
}

static bool read_link(struct reader *r, const struct doc_node *map, const char *key, struct cluster_link *to)
{
    const struct doc_node *node = doc_find(map, key);
    if (!node || !fields_read(to, link, 2, r->doc, node, r->err))
        return !node;
    to->has_latency = doc_find(node, "latency") != NULL;
    return true;
}

/* "cluster.yaml:4:5: groups[1]"; `name` is the path within the file. */
static bool place_of(struct reader *r, const struct doc_node *node, const char *name, const char **place)
{
    *place = arena_format(&r->cluster->arena, "%s:%u:%u: %s", r->doc->path, node->line, node->column, name);
    return *place ? true : error_memory(r->err);
}

static bool read_group(struct reader *r, const struct doc_node *node, struct cluster_group *group)
{
    static const char *const keys[] = {"device",           "speed",  "nodes",
                                       "devices_per_node", "memory", "intra_node"};
    if (!doc_is_map(r->doc, node, r->err) ||
        !doc_only_keys(r->doc, node, keys, sizeof keys / sizeof *keys, r->err))
        return false;
    char name[32];
    snprintf(name, sizeof name, "groups[%u]", node->index);
    if (!place_of(r, node, name, &group->place))
        return false;
    const struct doc_node *device = doc_need(r->doc, node, "device", r->err);
    return device && copy_string(r, device, &group->device) && read_optional(r, node, &speed, group) &&
           field_read(group, &nodes, r->doc, node, r->err) &&
           field_read(group, &devices, r->doc, node, r->err) && read_optional(r, node, &memory, group) &&
           read_link(r, node, "intra_node", &group->intra_node);
}

static bool read_groups(struct reader *r, const struct doc_node *root)
{
    const struct doc_node *list = doc_need(r->doc, root, "groups", r->err);
    if (!list || !doc_is_list(r->doc, list, r->err))
        return false;
    if (list->count == 0)
        return doc_error(r->doc, list, r->err, "expected at least one group");
    if (list->count > CLUSTER_MAX_GROUPS)
        return doc_error(r->doc, list, r->err, "expected at most %d groups, found %u", CLUSTER_MAX_GROUPS,
                         list->count);
    struct cluster *cluster = r->cluster;
    cluster->groups = ARENA_ARRAY(&cluster->arena, list->count, struct cluster_group);
    if (!cluster->groups)
        return error_memory(r->err);
    int64_t total = 0;
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        struct cluster_group *group = &cluster->groups[cluster->group_count++];
        if (!read_group(r, node, group))
            return false;
        total += (int64_t)group->nodes.count * group->nodes.devices;
        if (total > CLUSTER_MAX_TOTAL)
            return doc_error(r->doc, node, r->err, "more than %d devices up to here", CLUSTER_MAX_TOTAL);
    }
    return true;
}

static bool read_profile(struct reader *r, const struct doc_node *root)
{
    static const char *const keys[] = {"device", "speed"};
    const struct doc_node *node = doc_find(root, "profile");
    if (!node)
        return true;
    if (!doc_is_map(r->doc, node, r->err) || !doc_only_keys(r->doc, node, keys, 2, r->err))
        return false;
    const struct doc_node *device = doc_need(r->doc, node, "device", r->err);
    return device && place_of(r, node, "profile", &r->cluster->profile_place) &&
           copy_string(r, device, &r->cluster->profile_device) &&
           read_optional(r, node, &profile_speed, r->cluster);
}

static bool read_name(struct reader *r, const struct doc_node *root)
{
    const struct doc_node *node = doc_find(root, "name");
    return !node || copy_string(r, node, &r->cluster->name);
}

static bool read_network(struct reader *r, const struct doc_node *root)
{
    const struct doc_node *list = doc_find(root, "network");
    if (!list)
        return true;
    struct cluster_network *network = ARENA_NEW(&r->cluster->arena, struct cluster_network);
    if (!network)
        return error_memory(r->err);
    r->cluster->network = network;
    for (int g = 0; g < r->cluster->group_count; g++)
        r->cluster->groups[g].network = network;
    return cluster_network_read(network, r->doc, list, r->err);
}

static bool read_cluster(struct cluster *cluster, const struct doc *doc, struct error *err)
{
    static const char *const keys[] = {"format", "name", "profile", "groups", "inter_node", "network"};
    struct reader r = {cluster, doc, err};
    const struct doc_node *root = doc->root;
    cluster->path = arena_string(&cluster->arena, doc->path);
    if (!cluster->path)
        return error_memory(err);
    return doc_is_map(doc, root, err) && doc_is_format(doc, root, FORMAT, err) &&
           doc_only_keys(doc, root, keys, sizeof keys / sizeof *keys, err) && read_name(&r, root) &&
           read_profile(&r, root) && read_groups(&r, root) &&
           read_link(&r, root, "inter_node", &cluster->inter_node) && read_network(&r, root);
}

static bool from_doc(struct cluster *cluster, struct doc *doc, struct error *err)
{
    bool done = read_cluster(cluster, doc, err);
    doc_release(doc);
    if (!done)
        cluster_release(cluster);
    return done;
}

bool cluster_load(struct cluster *cluster, const char *path, struct error *err)
{
    struct doc doc;
    memset(cluster, 0, sizeof *cluster);
    return doc_load(&doc, path, err) && from_doc(cluster, &doc, err);
}

bool cluster_parse(struct cluster *cluster, const char *path, const char *data, size_t length,
                   struct error *err)
{
    struct doc doc;
    memset(cluster, 0, sizeof *cluster);
    return doc_parse(&doc, doc_syntax_of(path), path, data, length, err) && from_doc(cluster, &doc, err);
}

#define OWN_LINK " (like "

bool cluster_link_is_own(const char *name)
{
    return strstr(name, OWN_LINK) != NULL;
}

/* Of a link's typical rate, with the digits of a document. */
#define EQUAL 1e-6

const struct cost_link *cluster_link_at(const struct cost_link *known, const char *name, double bandwidth,
                                        struct arena *arena)
{
    struct cost_link *own = ARENA_NEW(arena, struct cost_link);
    if (!own)
        return NULL;
    *own = *known;
    own->name = name;
    own->bandwidth = bandwidth;
    if (known->typical > 0.0 && fabs(bandwidth / known->bandwidth - known->typical) < EQUAL)
        own->reference = known->bandwidth;
    return own;
}

const struct cost_link *cluster_link_like(const struct tables *tables, const char *key, const char *name,
                                          double bandwidth, struct arena *arena)
{
    const char *like = strstr(name, OWN_LINK);
    size_t known_at = like ? (size_t)(like - name) + sizeof OWN_LINK - 1 : 0;
    const char *base = arena_format(arena, "%.*s", (int)strcspn(name + known_at, ")"), name + known_at);
    const struct cost_link *known = base ? tables_link(tables, base) : NULL;
    if (!known || bandwidth <= 0)
        return known;
    const char *kept = key    ? arena_format(arena, "%s" OWN_LINK "%s)", key, base)
                       : like ? arena_string(arena, name)
                              : known->name;
    return kept ? cluster_link_at(known, kept, bandwidth, arena) : NULL;
}

bool cluster_set_type(struct cluster_group *group, const struct tables *tables,
                      const struct cost_device *type, struct arena *arena)
{
    struct cost_device *own = ARENA_NEW(arena, struct cost_device);
    if (!own)
        return false;
    *own = *type;
    if (group->nodes.memory > 0)
        own->memory = group->nodes.memory;
    group->type = own;
    group->nodes.memory = own->memory;
    group->calibration = tables_calibration(tables, type);
    return true;
}

bool cluster_resolve(struct cluster *cluster, const struct tables *tables, const char *across,
                     struct error *err)
{
    if (!tables_ready(err))
        return false;
    if (across && !tables_link(tables, across))
        return tables_unknown(TABLE_LINKS, "--across: ", across, err);
    for (int g = 0; g < cluster->group_count; g++) {
        struct cluster_group *group = &cluster->groups[g];
        const struct cost_device *type = tables_device(tables, group->device);
        if (!type)
            return error_set(err, ERROR_INPUT, "%s.device: unknown device '%s': see 'rehearse cost --list'",
                             group->place, group->device);
        /* what the file says is a node's, a link's bandwidth is a device's when all of them send */
        double share = cluster->inter_node.bandwidth / group->nodes.devices;
        group->inside =
            cluster_link_like(tables, "intra_node", type->link, group->intra_node.bandwidth, &cluster->arena);
        group->across =
            across ? tables_link(tables, across)
                   : cluster_link_like(tables, "inter_node", usual_node(type).across, share, &cluster->arena);
        if (!group->inside || !group->across || !cluster_set_type(group, tables, type, &cluster->arena))
            return error_memory(err);
    }
    return true;
}

static bool nodes_alike(const struct cluster_group *a, const struct cluster_group *b)
{
    return strcmp(a->device, b->device) == 0 && a->speed == b->speed &&
           a->nodes.devices == b->nodes.devices && a->nodes.memory == b->nodes.memory &&
           a->intra_node.bandwidth == b->intra_node.bandwidth &&
           a->intra_node.latency == b->intra_node.latency &&
           a->intra_node.has_latency == b->intra_node.has_latency &&
           a->nodes.count + b->nodes.count <= CLUSTER_MAX_NODES;
}

void cluster_join_alike(struct cluster *cluster)
{
    int count = 0;
    for (int g = 0; g < cluster->group_count; g++) {
        int same = 0;
        while (same < count && !nodes_alike(&cluster->groups[same], &cluster->groups[g]))
            same++;
        if (same < count)
            cluster->groups[same].nodes.count += cluster->groups[g].nodes.count;
        else
            cluster->groups[count++] = cluster->groups[g];
    }
    cluster->group_count = count;
}

const char *cluster_not_counted(const struct cluster *cluster, unsigned used, struct arena *arena)
{
    bool inside = false, scaled = false;
    const char *text = NULL;
    for (int g = 0; g < cluster->group_count; g++) {
        inside |= cluster->groups[g].intra_node.bandwidth > 0;
        scaled |= cluster->groups[g].speed > 0;
    }
    const struct {
        const char *name;
        bool given;
        unsigned key;
    } keys[] = {{"inter_node", cluster->inter_node.bandwidth > 0, CLUSTER_INTER_NODE},
                {"intra_node", inside, CLUSTER_INTRA_NODE},
                {"speed", scaled, CLUSTER_SPEED},
                {"profile", cluster->profile_device != NULL, CLUSTER_SPEED},
                {"network", cluster->network && cluster->network->level_count > 0, 0}};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (keys[k].given && !(used & keys[k].key))
            text = arena_format(arena, "%s%s%s", text ? text : "", text ? ", " : "", keys[k].name);
    return text;
}

void cluster_release(struct cluster *cluster)
{
    arena_release(&cluster->arena);
    memset(cluster, 0, sizeof *cluster);
}
