#include "core/doc.h"
#include "plan/dapple/model.h"

static bool read_rate(const struct doc *doc, const char *key, enum unit_kind kind, double *value,
                      struct error *err)
{
    const struct doc_node *node = doc_need(doc, doc->root, key, err);
    return node && doc_quantity(doc, node, kind, false, value, err);
}

static bool read_machines(struct dapple_cluster *cluster, const struct doc *doc, struct error *err)
{
    const struct doc_node *list = doc_need(doc, doc->root, "machines", err);
    if (!list || !doc_is_list(doc, list, err))
        return false;
    if (list->count == 0 || list->count > DAPPLE_MAX_DEVICES)
        return doc_error(doc, list, err, "expected 1 to %d machines", DAPPLE_MAX_DEVICES);
    int *ends = ARENA_ARRAY(&cluster->arena, list->count, int);
    if (!ends)
        return error_memory(err);
    int64_t all = 0, count;
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        if (!doc_integer(doc, node, 1, DAPPLE_MAX_DEVICES, &count, err))
            return false;
        if ((all += count) > DAPPLE_MAX_DEVICES)
            return doc_error(doc, node, err, "more than %d devices in all", DAPPLE_MAX_DEVICES);
        ends[node->index] = (int)all;
    }
    cluster->machine_count = (int)list->count;
    cluster->machine_end = ends;
    return true;
}

static bool read_cluster(struct dapple_cluster *cluster, const struct doc *doc, struct error *err)
{
    static const char *const keys[] = {"format",         "machines",   "inside",
                                       "point_to_point", "collective", "memory"};
    const struct doc_node *groups = doc_find(doc->root, "groups");
    if (groups)
        return doc_error(doc, groups, err,
                         "a rehearse-cluster/1 file; DAPPLE's clusters are machines, inside, point_to_point, "
                         "collective and memory (examples/dapple/a.yaml)");
    return doc_is_map(doc, doc->root, err) && doc_is_format(doc, doc->root, "rehearse-dapple/1", err) &&
           doc_only_keys(doc, doc->root, keys, sizeof keys / sizeof *keys, err) &&
           read_machines(cluster, doc, err) && read_rate(doc, "inside", UNIT_RATE, &cluster->inside, err) &&
           read_rate(doc, "point_to_point", UNIT_RATE, &cluster->point_to_point, err) &&
           read_rate(doc, "collective", UNIT_RATE, &cluster->collective, err) &&
           read_rate(doc, "memory", UNIT_BYTES, &cluster->memory, err);
}

static bool take_document(struct dapple_cluster *cluster, struct doc *doc, struct error *err)
{
    *cluster = (struct dapple_cluster){0};
    bool done = read_cluster(cluster, doc, err);
    doc_release(doc);
    if (!done)
        dapple_cluster_release(cluster);
    return done;
}

bool dapple_cluster_load(struct dapple_cluster *cluster, const char *path, struct error *err)
{
    struct doc doc;
    return doc_load(&doc, path, err) && take_document(cluster, &doc, err);
}

bool dapple_cluster_parse(struct dapple_cluster *cluster, const char *path, const char *data, size_t length,
                          struct error *err)
{
    struct doc doc;
    return doc_parse(&doc, DOC_YAML, path, data, length, err) && take_document(cluster, &doc, err);
}

void dapple_cluster_release(struct dapple_cluster *cluster)
{
    arena_release(&cluster->arena);
    *cluster = (struct dapple_cluster){0};
}

bool dapple_cluster_take(const struct dapple_cluster *cluster, int devices, struct dapple_cluster *part,
                         struct error *err)
{
    int last = cluster->machine_count - 1, end = 0, count = 0;
    int size = dapple_machine_size(cluster, last);
    if (devices < 1 || devices > DAPPLE_MAX_DEVICES)
        return error_set(err, ERROR_INPUT, "expected 1 to %d devices, found %d", DAPPLE_MAX_DEVICES, devices);
    *part = *cluster;
    part->arena = (struct arena){0};
    int *ends = ARENA_ARRAY(&part->arena, (size_t)devices, int);
    if (!ends) {
        *part = (struct dapple_cluster){0};
        return error_memory(err);
    }
    while (end < devices) {
        end = count <= last ? cluster->machine_end[count] : end + size;
        ends[count++] = end < devices ? end : devices;
    }
    part->machine_count = count;
    part->machine_end = ends;
    return true;
}
