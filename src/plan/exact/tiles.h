/* Tables of one node's costs: for a node of each group and layers [a, b), the minimum cost over all ways to
 * split its devices by halving and to distribute the layers over its stages.
 *
 * A stage's cost depends on its place relative to the bottleneck: a table has a plane for each (enum
 * tile_plane). */
#ifndef REHEARSE_PLAN_EXACT_TILES_H
#define REHEARSE_PLAN_EXACT_TILES_H

#include "core/error.h"
#include "core/parallel.h"
#include "plan/exact/reach.h"

#include <stdbool.h>
#include <stddef.h>

enum tile_plane {
    TILE_BEFORE, /* every stage comes before the bottleneck, or the objective ignores its place */
    TILE_AFTER,  /* every stage comes after it */
    TILE_CROSS,  /* one of them is the bottleneck */
    TILE_PLANES,
};

/* Costs of stages, in ticks, and limits. No stage exceeds `cap`. */
struct tile_costs {
    double cap;
    double before_add; /* before: l + before_add */
    bool phases;       /* false: only TILE_BEFORE exists */
    double cross_min;  /* bottleneck: l >= cross_least, costs cross_scale x (l - cross_least) */
    double cross_scale;
    int cross_first, cross_last; /* it is in one of these nodes, from 1 on */
    double after_most;           /* after: l <= after_most, costs 2 l + after_add */
    double after_add;
};

static inline int tile_planes(const struct tile_costs *costs)
{
    return costs->phases ? TILE_PLANES : 1;
}

/* Returns whether the stages of the pipeline's `node`-th node, from 1 on, may be in this plane. */
static inline bool tile_allows(const struct tile_costs *costs, int node, enum tile_plane plane)
{
    return !costs->phases || ((plane == TILE_AFTER || node <= costs->cross_last) &&
                              (plane == TILE_BEFORE || node >= costs->cross_first));
}

/* One table: row a has values for b in [first[a], first[a] + width[a]), INFINITY if impossible. */
struct tile_table {
    int *first, *width;
    size_t *offset;      /* of row a within a plane */
    size_t plane_length; /* values per plane */
    double *values;
    size_t capacity;
};

struct tiles {
    struct arena arena;
    const struct reach *reach;
    const struct ticks *ticks;
    struct tile_costs costs;
    struct tile_table table[TICKS_MAX_GROUPS][PLAN_MAX_SPLITS]; /* [group][log2 devices] */
    int *need[PLAN_MAX_SPLITS];                                 /* scratch: see tiles.c */
    int *pyramid;
    int pyramid_levels;
};

bool tiles_init(struct tiles *tiles, const struct reach *reach, struct error *err);
void tiles_release(struct tiles *tiles);

/* Fills the tables for programs over the current windows of `reach`. False: out of memory. */
bool tiles_fill(struct tiles *tiles, const struct tile_costs *costs, struct parallel *pool);

/* Returns the value of a table; INFINITY outside of it. */
double tile_value(const struct tiles *tiles, int group, int split, int a, int b, int plane);

/* Appends to `stages` the tiling of [a, b) whose cost is tile_value(…). Returns how many it appended. */
struct tile_stage {
    int group, split;
    int first, end; /* layers [first, end) */
    int node;       /* place in the pipeline, from 0; set by the caller */
    int plane;      /* as what it is charged (enum tile_plane) */
};
int tile_path(const struct tiles *tiles, int group, int split, int a, int b, int plane,
              struct tile_stage *stages);

/* out[i] = min(out[i], value + row[i]): the inner loop of everything. */
static inline void tile_relax(double *restrict out, const double *restrict row, double value, int count)
{
    for (int i = 0; i < count; i++) {
        double sum = value + row[i];
        out[i] = sum < out[i] ? sum : out[i];
    }
}

#endif
