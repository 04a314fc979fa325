/* The best pipelines over devices of several types.
 *
 * Problem. A chain of layers, M equal micro-batches, and N_t devices of each type t. An option is a way to
 * run layers: a type and a tensor parallel degree, with the seconds and bytes of each layer. A pipeline cuts
 * the chain into stages, each run with an option; with m micro-batches it takes
 *
 *     fill + (m - 1) cycle,   fill = sum of its stages' seconds, cycle = its slowest stage's              (1F1B)
 *
 * where a stage's seconds include receiving its input and sending the gradient back. A stage j from the end
 * has room for the activations of min(j, M) micro-batches. After all pipelines, gradients are exchanged and parameters
 * updated, which takes as long as the slowest stage's update. Find any number of pipelines that fit into the
 * devices and share the M micro-batches so that the iteration ends earliest. Each pipeline has its own types
 * and cuts, and its share of the batch follows its speed. Devices may be idle. If the number of pipelines is
 * limited, a pipeline uses one unit of that limit as it uses devices, and the unit has a price.
 *
 * Bound. By a deadline T, pipeline k does m_k(T) = (T - fill_k) / cycle_k + 1 micro-batches, fractions
 * counted. T is impossible if the linear program max sum x_k m_k(T), sum x_k devices_kt <= N_t stays below M.
 * Its columns are generated: with prices w_t of the devices, the best column maximises m_k(T) - w .
 * devices_k, and for cycles within (a, b] that is at most
 *
 *     T / a + 1 - min over stages of at most b seconds of [ sum of seconds / a + w . devices ]
 *
 * by a shortest path over (layers left, stages left). Intervals of cycles are halved until none can be
 * better, or until those that can would be no better at a deadline some seconds earlier. If no pipeline is
 * worth more than its price at that deadline, under prices with w . N <= M, then no plan ends before it,
 * whatever w is. So every pricing gives a bound.
 *
 * Time after the pipelines is handled by limits on it: plans whose stages take from r' to r seconds
 * afterwards need at least r' more than the program's deadline for the limit r. The band with the lowest
 * bound is halved until its bound is close to the best plan.
 *
 * Plan. It uses the program's columns with whole micro-batches. The numbers of pipelines are rounded down and
 * the remaining devices filled, for the earliest deadline that reaches M. The remainder is priced separately:
 * tolls on a type keep pipelines from taking more devices than remain. Into few devices, pipelines are made
 * to fit (fleet_fit).
 *
 * Guarantees. The plan can be run as described, and no plan ends before the bound. Small fleets are planned exactly
 * (refine.h). Else the plan need not be optimal: the bound's pipelines may be fractional, and may take more devices of
 * a type than there are. Up to 15 pipelines are searched number by number, alike and unlike apart (classes.c). The gap
 * is 1.6 % in the mean of twenty named clusters, 6.3 % at worst (bench_mixed). Parts of the types are planned, too, so
 * that no type makes a plan slower. */
#ifndef REHEARSE_PLAN_FLEET_FLEET_H
#define REHEARSE_PLAN_FLEET_FLEET_H

#include "core/arena.h"
#include "core/error.h"
#include "plan/score/memory.h"

#include <stdbool.h>
#include <stdint.h>

#define FLEET_MAX_TYPES   8
#define FLEET_MAX_ROWS    (FLEET_MAX_TYPES + 1) /* limited resources: devices of each type, and pipelines */
#define FLEET_MAX_OPTIONS 64
#define FLEET_MAX_LAYERS  4096
#define FLEET_MAX_BANDS   16

struct fleet_type {
    int devices;
    double memory; /* usable bytes per device */
    int per_node;  /* devices of a node; 0: the number of nodes does not matter */
};

/* Prefix sums, [layers + 1]: entry l is the sum over the layers before l. */
struct fleet_sums {
    double *seconds; /* one micro-batch, forward and backward */
    double *kept;    /* bytes of one micro-batch, on each device */
    double *held;    /* bytes independent of micro-batches, on each device */
    double *after;   /* seconds after all micro-batches: gradients, optimizer */
    double *forward; /* of `seconds` */
    double *updated; /* the optimizer's part of `after` */
    double *send;    /* seconds to receive the input of layer l and send its gradient back; not sums */
};

struct fleet_option {
    int type, tensor; /* devices that share a stage */
    struct fleet_sums sums;
    double working;      /* further bytes on each device */
    double last_working; /* the same for the stage with the last layer */
    double
        hidden; /* share of its exchange of gradients that `after` leaves out: kernels hide it, if there are so many */
};

struct fleet_problem {
    int layer_count, type_count, option_count;
    struct fleet_type types[FLEET_MAX_TYPES];
    struct fleet_option options[FLEET_MAX_OPTIONS];
    int64_t microbatches;
    int max_pipelines; /* 0: any number */
    int bands;         /* maximum number of bands of seconds after the pipelines; 0: as many as there are */
    double
        min_after; /* no plan that is searched for takes less after the pipelines, whatever its stages say */
};

struct fleet_stage {
    int option, first, last; /* layers first..last - 1 */
};

struct fleet_pipeline {
    int stage_count;
    struct fleet_stage
        *stages; /* they belong to whoever made the pipeline: a copy of the struct shares them */
    int devices[FLEET_MAX_ROWS]; /* of each type; then 1 for the pipeline itself */
    double fill, cycle, after;   /* seconds; `after`: of its slowest stage */
    int copies;                  /* number of identical pipelines */
    int64_t microbatches;        /* of all copies, which differ by at most one */
    const double *gradients;     /* [stage] seconds of the exchange; NULL in a search, see fleet_rescore */
};

/* Gives a pipeline its own copy of its stages, in the arena. False: out of memory. */
bool fleet_own_stages(struct fleet_pipeline *pipeline, struct arena *arena);

/* Why plans whose slowest update takes `after` seconds or more do not end early: no pipeline with a cycle up to `cycle`
 * seconds does more micro-batches by `deadline` than its devices cost. It bounds plans on fewer devices, too
 * (nodes.h). */
struct fleet_proof {
    double deadline, cycle, after;
    double prices[FLEET_MAX_ROWS];
};

struct fleet_choice {
    struct arena arena; /* of the pipelines and their stages */
    int pipeline_count; /* kinds of pipelines */
    struct fleet_pipeline *pipelines;
    double seconds;                             /* of the iteration, including `after` */
    double after;                               /* seconds after the slowest pipeline has ended */
    double lower_bound;                         /* seconds; no plan ends earlier */
    int64_t columns;                            /* pipelines evaluated as columns */
    bool too_slow;                              /* pipelines fit, but none met the `enough` limit */
    struct fleet_proof proofs[FLEET_MAX_BANDS]; /* together they say that no plan ends earlier */
    int proof_count;
};

/* Number of pipelines, all copies counted. */
int fleet_pipelines(const struct fleet_choice *plan);

/* Pipelines evaluated by a search, as a start for a similar one; {0}: none yet. */
struct fleet_columns {
    struct arena arena; /* of their stages */
    int count;
    struct fleet_pipeline *pipelines;
};
void fleet_columns_release(struct fleet_columns *columns);

/* Finds a plan. `enough`, in seconds: if no plan can end earlier, the search may stop with ERROR_INFEASIBLE
 * and the bound in plan->lower_bound; INFINITY: no limit. ERROR_INFEASIBLE also if no pipeline fits. On
 * failure *plan holds nothing else; on success the caller releases it with fleet_choice_release. `columns`
 * (or NULL) holds the pipelines to start with and receives all that were evaluated. */
bool fleet_search(struct fleet_choice *plan, const struct fleet_problem *problem, double enough,
                  struct fleet_columns *columns, struct error *err);

/* Sets a lower bound on the seconds of any plan, without `after`: faster and looser than the bound of a
 * search. INFINITY: no pipeline fits. */
bool fleet_bound(double *bound, const struct fleet_problem *problem, struct error *err);
void fleet_choice_release(struct fleet_choice *plan);

/* Returns the bytes on each device of a stage that holds the activations of `in_flight` micro-batches, or of all of
 * them if the problem has fewer. */
static inline double fleet_stage_memory(const struct fleet_problem *problem, const struct fleet_stage *stage,
                                        int64_t in_flight)
{
    const struct fleet_option *o = &problem->options[stage->option];
    const struct memory_stage bytes = {
        .state = o->sums.held[stage->last] - o->sums.held[stage->first],
        .kept = o->sums.kept[stage->last] - o->sums.kept[stage->first],
        .working = stage->last == problem->layer_count ? o->last_working : o->working,
    };
    return memory_of_stage(
        &bytes, memory_in_flight(MEMORY_IN_FLIGHT, (double)problem->microbatches, (double)in_flight));
}

/* Returns the micro-batches of the copy with the largest share. */
static inline int64_t fleet_largest_share(const struct fleet_pipeline *pipeline)
{
    return (pipeline->microbatches + pipeline->copies - 1) / pipeline->copies;
}

/* Returns the seconds until all copies have completed their micro-batches. */
static inline double fleet_pipeline_seconds(const struct fleet_pipeline *pipeline)
{
    int64_t share = fleet_largest_share(pipeline);
    return share > 0 ? pipeline->fill + (double)(share - 1) * pipeline->cycle : 0.0;
}

/* Returns how many micro-batches a stage of a chosen pipeline holds at once: the stages from it to the end, or the
 * largest share of a copy. */
static inline int64_t fleet_in_flight(const struct fleet_pipeline *pipeline, int stage)
{
    int64_t share = fleet_largest_share(pipeline);
    int64_t from_end = pipeline->stage_count - stage;
    return share < from_end ? share : from_end;
}

static inline double fleet_stage_seconds(const struct fleet_problem *problem, const struct fleet_stage *stage)
{
    const struct fleet_option *o = &problem->options[stage->option];
    return o->sums.seconds[stage->last] - o->sums.seconds[stage->first] +
           (stage->first > 0 ? o->sums.send[stage->first] : 0.0);
}

/* Returns whether there are devices enough for an option. */
static inline bool fleet_offers(const struct fleet_problem *problem, const struct fleet_option *option)
{
    return option->tensor <= problem->types[option->type].devices;
}

static inline int fleet_rows(const struct fleet_problem *problem)
{
    return problem->type_count + (problem->max_pipelines > 0 ? 1 : 0);
}

static inline int fleet_limit(const struct fleet_problem *problem, int row)
{
    return row < problem->type_count ? problem->types[row].devices : problem->max_pipelines;
}

/* Returns the number of devices of all types. */
int fleet_devices(const struct fleet_problem *problem);

/* Returns the minimum seconds after the pipelines of any pipeline on so many devices: of its slowest layer, and of the
 * mean of its devices. */
double fleet_min_after(const struct fleet_problem *problem, int devices);

bool fleet_pipeline_fits(const struct fleet_problem *problem, const struct fleet_pipeline *pipeline);

/* Shares micro-batches out over all copies of pipelines so that the last one ends earliest; returns that time. */
double fleet_share(struct fleet_pipeline *pipelines, int count, int64_t microbatches);

/* Sets fill, cycle, after and devices. */
void fleet_pipeline_score(const struct fleet_problem *problem, struct fleet_pipeline *pipeline);

#endif
