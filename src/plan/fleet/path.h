/* The shortest path of stages through the layers: the cheapest pipeline for given prices and an interval of cycles
 * (fleet.h). Private to this room. */
#ifndef REHEARSE_PLAN_FLEET_PATH_H
#define REHEARSE_PLAN_FLEET_PATH_H

#include "plan/fleet/search.h"

/* Seconds of stages that differ by less than this share count as one cycle. */
#define FLEET_NARROW 1e-7

/* Possible cycles: seconds of stages that are nearly the same. */
struct fleet_cycles {
    double min, max;
};

/* best[j][l]: the minimum cost of j stages that hold the layers from l on. */
struct fleet_pricer {
    struct arena arena; /* of all arrays but the cycles */
    const struct fleet_problem *problem;
    int stages; /* maximum */
    int rows;   /* of `best` that the last search for a path has set, after the first */
    double *best;
    int *next;       /* [j][l] the layer behind the first of these stages */
    uint8_t *option; /* [j][l] the option of that stage */
    int *queue;
    double *values; /* [layers + 1] of the entries in the queue */
    int *ends;      /* [option][first layer] the end of the longest stage */
    int *reach;     /* [option][first layer] the maximum end from there or before */
    int *
        holds; /* [option][first layer] the end of the longest stage that memory allows in front of another */
    bool *ends_chain;   /* [option][first layer] whether the last stage may begin there */
    double *min_before; /* [layer] minimum cost of the layers before it */
    int *from_before;   /* [layer] where the last of their stages begins */
    uint8_t *option_before;
    int *window, *window_first, *window_count; /* [option][layer] beginnings of a stage, [option] of them */
    double *window_values;
    /* room for the stages of the last path, of the best pipeline of a pricing, and of a pipeline made to fit */
    struct fleet_stage *path_stages, *best_stages, *fit_stages;
    struct fleet_cycles *cycles; /* ascending */
    int cycle_count;
    double after; /* maximum seconds of a stage after the pipelines */
};

/* A search for the shortest path within an interval of cycles. Paths that cost `cutoff` or more are dropped. */
struct fleet_path {
    struct fleet_pricer *pricer;
    double slowest; /* maximum seconds of a stage */
    double share;   /* cost of a second of a stage; its devices cost their prices in addition */
    const double *prices;
    const int *limits; /* maximum devices of each type; NULL: no limits */
    double cutoff;
    bool all;              /* paths dearer than the cheapest stay in `best` */
    int nearest, furthest; /* paths of one stage fewer begin between these layers */
};

/* Returns whether a stage with so many at or behind it is within its device's memory. */
static inline bool fleet_within_memory(const struct fleet_problem *problem, const struct fleet_stage *stage,
                                       int behind)
{
    return fleet_stage_memory(problem, stage, behind) <=
           problem->types[problem->options[stage->option].type].memory;
}

/* Sets `holds` and `ends_chain` of the pricer, and makes room for searches. False: out of memory. */
bool fleet_path_begin(struct fleet_pricer *pricer);

/* Returns a lower bound on the cost of a path: stages pay for their devices in proportion to their seconds. */
double fleet_path_bound(const struct fleet_path *path);

/* Returns the cost of a stage: its share of a micro-batch, and its devices. */
double fleet_path_cost(const struct fleet_path *path, int option, int first, int last);

/* Returns whether a stage is within the limits on its seconds, and on those after the pipelines. */
bool fleet_path_within_time(const struct fleet_path *path, int option, int first, int last);

/* Returns the minimum of [sum of seconds x share + prices . devices] over pipelines with no slower stage; INFINITY: it
 * is not below the cutoff. The pipeline's stages are the pricer's, until its next path. */
double fleet_path_shortest(struct fleet_path path, struct fleet_pipeline *pipeline);

#endif
