#include "cluster/network.h"

#include "core/fields.h"

#define MAX_NODES            (1 << 24)
#define MAX_OVERSUBSCRIPTION 1e6

static const struct field level_fields[] = {
    FIELD(struct cluster_level, nodes, FIELD_INT, 1, MAX_NODES),
    FIELD(struct cluster_level, oversubscription, FIELD_DOUBLE, 1.0 / MAX_OVERSUBSCRIPTION,
          MAX_OVERSUBSCRIPTION),
};

#define FIELDS (sizeof level_fields / sizeof *level_fields)

bool cluster_network_read(struct cluster_network *network, const struct doc *doc, const struct doc_node *node,
                          struct error *err)
{
    *network = (struct cluster_network){.level_count = 0};
    if (node == NULL || node->type == DOC_NULL)
        return true;
    if (!doc_is_list(doc, node, err))
        return false;
    if (node->count > CLUSTER_MAX_LEVELS)
        return doc_error(doc, node, err, "expected at most %d levels, found %u", CLUSTER_MAX_LEVELS,
                         node->count);
    for (const struct doc_node *at = node->first_child; at != NULL; at = at->next) {
        struct cluster_level *level = &network->levels[network->level_count];
        if (!fields_read(level, level_fields, FIELDS, doc, at, err))
            return false;
        int before = network->level_count > 0 ? level[-1].nodes : 1;
        if (level->nodes % before != 0 || (network->level_count > 0 && level->nodes == before))
            return doc_error(
                doc, doc_find(at, "nodes"), err,
                "expected a multiple of the %d nodes below a switch of the level before, found %d", before,
                level->nodes);
        network->level_count++;
    }
    return true;
}

void cluster_network_write(const struct cluster_network *network, struct json *json)
{
    if (network->level_count > 0)
        FIELDS_LIST(network->levels, network->level_count, level_fields, json, "network");
}
