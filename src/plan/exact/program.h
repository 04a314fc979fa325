/* The dynamic program of the exact search: the cheapest pipeline under a cap on stage times, with a cost per
 * stage (tiles.h).
 *
 * State: (nodes used per group, layers placed, before or after the bottleneck). Step: one more node, with
 * some tiling, on the next layers. Only the layers inside a state's window (reach.h) are kept, so that close
 * to the smallest feasible cap a program is little more than a pass over the resource states. Steps take tables
 * of all nodes' stages (tiles.h), or sweeps over the layers where windows are wide (sweep.h). States of one
 * level are independent and are distributed to threads. */
#ifndef REHEARSE_PLAN_EXACT_PROGRAM_H
#define REHEARSE_PLAN_EXACT_PROGRAM_H

#include "core/error.h"
#include "core/parallel.h"
#include "plan/exact/lattice.h"
#include "plan/exact/reach.h"
#include "plan/exact/sweep.h"
#include "plan/exact/tiles.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How steps are made; the values are the same. */
enum program_steps { PROGRAM_FASTER, PROGRAM_TABLES, PROGRAM_SWEEPS };

struct program {
    const struct ticks *ticks;
    const struct lattice *lattice;
    struct parallel *pool;
    double deadline;   /* clock_now seconds; 0: none */
    size_t max_values; /* maximum memory, in doubles */
    enum program_steps steps;

    struct reach reach;
    struct tile_costs costs; /* of the last program */
    struct tiles tiles;
    struct sweep sweep;
    bool sweeps;    /* the last program took sweeps, and not tables */
    int level;      /* number of nodes of the states that are solved now */
    size_t *offset; /* [state]: where its values start */
    double *values; /* per state and phase: one value per layer of the window */
    size_t capacity;
    size_t value_count; /* of the last program */
    uint32_t final;     /* state at which its pipeline ends */
    atomic_bool stopped;
};

enum program_status {
    PROGRAM_DONE,
    PROGRAM_INFEASIBLE,
    PROGRAM_STOPPED,   /* the deadline passed */
    PROGRAM_TOO_LARGE, /* more than most_values */
    PROGRAM_NO_MEMORY,
};

bool program_init(struct program *program, const struct ticks *ticks, const struct lattice *lattice,
                  struct parallel *pool, struct error *err);
void program_release(struct program *program);

/* Sets *value to the minimum cost of a pipeline over all layers, and all nodes if none may be idle, after reach_windows
 * for the cap. */
enum program_status program_solve(struct program *program, const struct tile_costs *costs, double *value);

/* Returns the cost of the cheapest pipeline up to a state and layer; INFINITY: none. Phase 0: before the bottleneck, 1:
 * after it, which is only there with costs->phases. */
double program_value(const struct program *program, uint32_t state, int layer, int phase);

/* Writes that pipeline's stages in order, after PROGRAM_DONE, with room for ticks->most_stages. Returns their
 * number. */
int program_path(const struct program *program, struct tile_stage *stages);

#endif
