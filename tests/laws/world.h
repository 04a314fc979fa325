/* Random layers and clusters, small enough that every question about them is answered in milliseconds, and the changes of
 * them whose effect is known. */
#ifndef REHEARSE_TESTS_LAWS_WORLD_H
#define REHEARSE_TESTS_LAWS_WORLD_H

#include "support/random_problem.h"

#include <stdbool.h>
#include <stdint.h>

#define WORLD_MAX_LAYERS 12
#define WORLD_MAX_TYPES  4
#define WORLD_MAX_GROUPS 8
#define WORLD_MAX_SIZES  4 /* 1, 2, 4, 8 devices */

struct world_layer {
    int64_t parameters, activations, output; /* bytes */
    double forward[WORLD_MAX_TYPES], backward[WORLD_MAX_TYPES];
    double allreduce[WORLD_MAX_TYPES][WORLD_MAX_SIZES]; /* of 2^i devices in a node */
};

struct world_group {
    int type, nodes, per_node;
    int64_t memory;            /* bytes of a device; 0: not given */
    double bandwidth, latency; /* within a node; bandwidth 0: not given */
};

struct world {
    int layer_count, type_count, group_count;
    struct world_layer layers[WORLD_MAX_LAYERS];
    struct world_group groups[WORLD_MAX_GROUPS];
    double bandwidth, latency; /* between nodes; bandwidth 0: not given */
    bool has_allreduce;
    int names[WORLD_MAX_TYPES]; /* a type's name is a letter: of 26 */
};

void world_draw(struct world *world, struct random_source *source);

/* ---- changes ---- */

void world_slow_down(struct world *world, double factor); /* all seconds; rates, likewise */
void world_speed_up(struct world *world, int type, double factor);
void world_add_memory(struct world *world, int group);
void world_speed_up_links(struct world *world, double factor);

/* Other names, other order of groups, groups cut in two. */
void world_rearrange(struct world *world, struct random_source *source);

/* Makes a group's devices a new type which is `factor` times as fast. False: no room for another type. */
bool world_replace_type(struct world *world, int group, double factor);
bool world_add_nodes(struct world *world, struct random_source *source); /* of a type that is there */

/* ---- files ---- */

/* Writes a profile and a cluster. `shuffle` NULL: keys in their usual order. */
void world_write_profile(const struct world *world, const char *path, struct random_source *shuffle);
void world_write_cluster(const struct world *world, const char *path, struct random_source *shuffle);

#endif
