/* The switches above the nodes of a cluster, level by level:
 *
 *     network: [{nodes: 32, oversubscription: 1}, {nodes: 256, oversubscription: 3}]
 *
 * Below each switch of a level are so many nodes. Its uplinks carry what the cards of those nodes send, divided by the
 * oversubscription. Above the last level nothing is shared. */
#ifndef REHEARSE_CLUSTER_NETWORK_H
#define REHEARSE_CLUSTER_NETWORK_H

#include "core/doc.h"
#include "core/json.h"

#define CLUSTER_MAX_LEVELS 8

struct equal_nodes {
    int count, devices; /* nodes, and devices of each */
    int64_t memory;     /* bytes of a device; 0: no limit */
};

struct cluster_level {
    int nodes;
    double oversubscription;
};

struct cluster_network {
    int level_count; /* 0: unknown, nothing is shared */
    struct cluster_level levels[CLUSTER_MAX_LEVELS];
};

/* Reads the list; `node` NULL: none. */
bool cluster_network_read(struct cluster_network *network, const struct doc *doc, const struct doc_node *node,
                          struct error *err);

/* Writes the list as "network", unless it is empty. */
void cluster_network_write(const struct cluster_network *network, struct json *json);

#endif
