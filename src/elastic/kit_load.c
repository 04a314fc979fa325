/* Documents and a cluster as a kit. */
#include "core/doc.h"
#include "elastic/kit_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the cluster ---- */

static bool take_cluster(struct elastic_maker *maker, const struct cluster *cluster, struct error *err)
{
    struct elastic_kit *kit = maker->kit;
    if (cluster->group_count > ELASTIC_MAX_KINDS)
        return error_set(err, ERROR_INPUT, "%s: expected at most %d groups of nodes, found %d", cluster->path,
                         ELASTIC_MAX_KINDS, cluster->group_count);
    kit->kind_count = cluster->group_count;
    for (int g = 0; g < cluster->group_count; g++) {
        const struct cluster_group *group = &cluster->groups[g];
        kit->kinds[g] = (struct elastic_kind){
            .name = arena_string(&kit->arena, group->device),
            .nodes = group->nodes,
            .inside = group->intra_node.bandwidth,
            .across = cluster->inter_node.bandwidth / group->nodes.devices,
            .latency = cluster->inter_node.latency,
        };
        if (!kit->kinds[g].name)
            return error_memory(err);
    }
    return true;
}

/* ---- files ---- */

static bool read_plan(struct elastic_maker *maker, const struct doc *doc, const struct doc_node *map,
                      struct error *err)
{
    struct plan plan;
    if (!plan_read(&plan, doc, map, err))
        return false;
    plan.path = doc->path;
    bool ok = elastic_take_plan(maker, &plan, err);
    plan_release(&plan);
    return ok;
}

static bool read_document(struct elastic_maker *maker, const struct doc *doc, struct error *err)
{
    const struct doc_node *format = doc->root->type == DOC_MAP ? doc_find(doc->root, "format") : NULL;
    if (!format || !format->text || strncmp(format->text, "rehearse-templates/", 19) != 0)
        return read_plan(maker, doc, doc->root, err);
    const struct doc_node *list = doc_need(doc, doc->root, "templates", err);
    if (!list || !doc_is_list(doc, list, err))
        return false;
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        const struct doc_node *map = doc_find(node, "plan");
        if (map && map->type == DOC_MAP && !read_plan(maker, doc, map, err))
            return false;
    }
    return true;
}

/* ---- cells ---- */

static int by_layer(const void *a, const void *b)
{
    const struct elastic_cut *x = a, *y = b;
    return (x->layer > y->layer) - (x->layer < y->layer);
}

static bool set_segments(struct elastic_maker *maker, struct error *err)
{
    struct elastic_kit *kit = maker->kit;
    if (maker->cut_count > 0)
        qsort(maker->cuts, maker->cut_count, sizeof *maker->cuts, by_layer);
    kit->segment_from = ARENA_ARRAY(&kit->arena, maker->cut_count + 1, int);
    kit->segment_until = ARENA_ARRAY(&kit->arena, maker->cut_count + 1, double);
    if (!kit->segment_from || !kit->segment_until)
        return error_memory(err);
    for (size_t i = 0; i < maker->cut_count; i++) {
        const struct elastic_cut *cut = &maker->cuts[i];
        if (cut->layer != kit->segment_from[kit->segment_count]) {
            kit->segment_count++;
            kit->segment_from[kit->segment_count] = cut->layer;
            kit->segment_until[kit->segment_count] = cut->bytes;
        } else if (fabs(cut->bytes - kit->segment_until[kit->segment_count]) >
                   ELASTIC_SAME_STATE * cut->bytes + 1)
            return error_set(err, ERROR_INPUT,
                             "layers 0 to %d have %.9g bytes of state in one plan and %.9g in another: all "
                             "must be of one model",
                             cut->layer - 1, kit->segment_until[kit->segment_count], cut->bytes);
    }
    for (int i = 0; i < kit->segment_count; i++)
        if (kit->segment_until[i + 1] < kit->segment_until[i])
            return error_set(err, ERROR_INPUT,
                             "layers %d to %d have a negative number of bytes of state: all plans "
                             "must be of one model",
                             kit->segment_from[i], kit->segment_from[i + 1] - 1);
    return true;
}

static bool check_links(const struct elastic_kit *kit, struct error *err)
{
    for (int k = 0; k < kit->kind_count; k++)
        if (!(kit->kinds[k].across > 0))
            return error_set(
                err, ERROR_INPUT,
                "no bandwidth between nodes of '%s' in the plan: give a cluster file (-c) with inter_node",
                kit->kinds[k].name);
    return elastic_kit_nodes(kit) <= ELASTIC_MAX_NODES ||
           error_set(err, ERROR_INPUT, "expected at most %d nodes, found %d", ELASTIC_MAX_NODES,
                     elastic_kit_nodes(kit));
}

/* The slowest link of a shape's nodes limits its exchange of gradients. */
static void set_links(struct elastic_kit *kit)
{
    for (int i = 0; i < kit->shape_count; i++) {
        struct elastic_shape *shape = &kit->shapes[i];
        shape->bandwidth = INFINITY;
        for (int k = 0; k < kit->kind_count; k++)
            if (shape->need[k] > 0) {
                shape->bandwidth = fmin(shape->bandwidth, kit->kinds[k].across);
                shape->latency = fmax(shape->latency, kit->kinds[k].latency);
            }
    }
}

/* All documents are read: makes the cells. */
static bool finish(struct elastic_maker *maker, const char *path, struct error *err)
{
    struct elastic_kit *kit = maker->kit;
    if (kit->shape_count == 0) {
        if (*maker->small.text)
            *err = maker->small;
        else
            error_set(err, ERROR_INFEASIBLE, "%s: has no plan", path);
        return false;
    }
    if (!check_links(kit, err) || !set_segments(maker, err) || !elastic_make_cells(kit, err))
        return false;
    set_links(kit);
    return true;
}

bool elastic_kit_load(struct elastic_kit *kit, const struct elastic_options *options, struct error *err)
{
    struct elastic_maker maker = {.kit = kit, .options = options};
    memset(kit, 0, sizeof *kit);
    bool ok = !options->cluster || take_cluster(&maker, options->cluster, err);
    for (size_t i = 0; ok && i < options->path_count + options->text_count; i++) {
        const struct text *text = i < options->path_count ? NULL : &options->texts[i - options->path_count];
        struct doc doc;
        ok = text ? doc_parse(&doc, DOC_JSON, "from", text->data, text->length, err)
                  : doc_load(&doc, options->paths[i], err);
        if (ok) {
            ok = read_document(&maker, &doc, err);
            doc_release(&doc);
        }
    }
    ok = ok && finish(&maker, options->path_count > 0 ? options->paths[0] : "from", err);
    free(maker.cuts);
    if (!ok)
        elastic_kit_release(kit);
    return ok;
}
