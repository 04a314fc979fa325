/* A cluster: groups of nodes that are alike, and the links between them. rehearse-cluster/1 (YAML or JSON):
 *
 *     profile: {device: rtx_4090_24gb, speed: 2.94}   # optional: what the profile was measured on
 *     groups:
 *       - {device: v_100_16gb, speed: 1.0, nodes: 2, devices_per_node: 2, memory: 16 GiB,
 *          intra_node: {bandwidth: 25 GB/s, latency: 5 us}}
 *     inter_node: {bandwidth: 25 Gb/s, latency: 15 us}
 *     network: [{nodes: 16, oversubscription: 2}]     # optional: switches above the nodes (network.h)
 *
 * See docs/cluster.md. cluster_resolve looks up in the tables what the file only names: afterwards a group has
 * everything that a planner asks of it. */
#ifndef REHEARSE_CLUSTER_CLUSTER_H
#define REHEARSE_CLUSTER_CLUSTER_H

#include "cluster/network.h"
#include "core/arena.h"
#include "core/error.h"
#include "devices/tables.h"

#include <stdbool.h>
#include <stdint.h>

#define CLUSTER_MAX_GROUPS  32
#define CLUSTER_MAX_NODES   65536     /* per group */
#define CLUSTER_MAX_DEVICES 1024      /* per node */
#define CLUSTER_MAX_TOTAL   (1 << 24) /* devices of the cluster */

struct cluster_link {
    double bandwidth; /* bytes/s; 0: not given */
    double latency;   /* seconds of a message of a byte */
    bool
        has_latency; /* given; else 0 in a profile's formulas, and that of the usual link for a model by name */
};

struct cluster_group {
    const char *device;       /* device type */
    double speed;             /* relative; 0: not given */
    struct equal_nodes nodes; /* at least 1 */
    struct cluster_link intra_node;
    const char *place;                     /* "cluster.yaml:4:5: groups[1]", for messages about this group */
    const struct cluster_network *network; /* above its nodes; NULL: unknown */

    /* set by cluster_resolve; otherwise NULL */
    const struct cost_device *type; /* with the group's memory */
    const struct calibration *calibration;
    const struct cost_link *inside, *across; /* as one device sees them when all of its node send */
};

struct cluster {
    struct arena arena; /* owns everything below */
    const char *path;
    const char *name;           /* NULL: not given */
    const char *profile_device; /* NULL: not given */
    double profile_speed;       /* 0: not given */
    const char *profile_place;  /* "cluster.yaml:1:10: profile", for messages; NULL: not given */
    int group_count;
    struct cluster_group *groups;
    struct cluster_link inter_node;
    const struct cluster_network *network; /* NULL: not given */
};

/* Loads a cluster. On failure *cluster holds nothing; on success the caller releases it with
 * cluster_release. */
bool cluster_load(struct cluster *cluster, const char *path, struct error *err);

/* Reads text; `path` is for messages, and its ending decides between JSON and YAML as in doc_load. */
bool cluster_parse(struct cluster *cluster, const char *path, const char *data, size_t length,
                   struct error *err);

/* Looks up every group's device type, calibration and links; where the file gives no memory or link, they are those of
 * the type and its usual link. A link that is given is one of its own, "inter_node (like ib-200g)", with that bandwidth
 * and the protocols of the usual link; its latency is left to plan/parts.h. `across`: the link between nodes instead of
 * the file's; NULL: the file's. ERROR_INPUT for an unknown type, ERROR_USAGE for an unknown `across`. */
bool cluster_resolve(struct cluster *cluster, const struct tables *tables, const char *across,
                     struct error *err);

/* Returns a link with another name, which is kept, and bandwidth, in the arena; at the typical share of its rates it says
 * what it is typical of. NULL: out of memory. */
const struct cost_link *cluster_link_at(const struct cost_link *known, const char *name, double bandwidth,
                                        struct arena *arena);

/* Returns a link of the tables with another bandwidth (bytes/s of one device; 0: its own), in the arena. It has the
 * name "KEY (like NAME)" with a `key`. Of such a name NAME is looked up, and the whole is kept. NULL: unknown name, or
 * out of memory. */
const struct cost_link *cluster_link_like(const struct tables *tables, const char *key, const char *name,
                                          double bandwidth, struct arena *arena);
bool cluster_link_is_own(const char *name); /* "inter_node (like ib-200g)" */

/* Sets the group's type, calibration and memory. False: out of memory. */
bool cluster_set_type(struct cluster_group *group, const struct tables *tables,
                      const struct cost_device *type, struct arena *arena);

/* Makes one group of groups whose nodes are alike, at the place of the first of them. */
void cluster_join_alike(struct cluster *cluster);

/* Keys of the file that a question may leave out of its times. */
enum cluster_key { CLUSTER_INTER_NODE = 1, CLUSTER_INTRA_NODE = 2, CLUSTER_SPEED = 4 };

/* Returns those that the file gives and that are not `used`, such as "inter_node, network", in the arena; simulate
 * alone uses `network`. NULL: none. */
const char *cluster_not_counted(const struct cluster *cluster, unsigned used, struct arena *arena);

void cluster_release(struct cluster *cluster);

#endif
