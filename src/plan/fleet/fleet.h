/* The best pipelines over devices of several types.
 *
 * Problem. A chain of layers, M equal micro-batches, and N_t devices of each type t. An option is a way to run layers: a
 * type and a tensor parallel degree, with the seconds and bytes of each layer. A pipeline cuts the chain into stages, each
 * run with an option; with m micro-batches it takes
 *
 *     fill + (m - 1) cycle,   fill = sum of its stages' seconds, cycle = its slowest stage's              (1F1B)
 *
 * where a stage's seconds include those of receiving its input and sending the gradient back. A stage j from the end
 * holds the activations of j micro-batches. When all pipelines are done gradients are exchanged and parameters updated:
 * the longest of all stages' seconds for that. Find pipelines, however many, whose devices are there and whose micro-batches
 * add up to M, so that all is done first. Pipelines need not be alike: each has its own types and cuts, and its
 * share of the batch follows its speed. Devices may be idle. The number of pipelines may be limited: a pipeline then uses
 * one of these, as it uses devices, and has its price.
 *
 * Bound. For a deadline T, let m_k(T) = (T - fill_k) / cycle_k + 1 be what pipeline k does by then, parts counted. T is impossible when
 * the linear program max sum x_k m_k(T), sum x_k devices_kt <= N_t stays below M. Its columns are generated: with prices
 * w_t of the devices, the best column maximises m_k(T) - w . devices_k, and for cycles within (a, b] that is at most
 *
 *     T / a + 1 - min over stages of at most b seconds of [ sum of seconds / a + w . devices ]
 *
 * : a shortest path over (layers left, stages left). Intervals of cycles are halved until none can be better, or those
 * that can would be no better at a deadline some seconds earlier. At that deadline, with prices for which w . N <= M, no
 * pipeline is worth more than its price: no plan is done before, whatever w is. So every pricing gives a bound.
 *
 * What comes after the pipelines is handled by limits on it: plans whose stages take from r' to r seconds afterwards need
 * at least r' more than the program's deadline for the limit r. The band with the lowest bound is halved until that is
 * close to the best plan.
 *
 * Plan. The program's columns with whole micro-batches; whole numbers of pipelines by rounding down and filling what is
 * left, for the least deadline at which that reaches M. What is left is priced for itself: there pipelines must not take
 * more devices of a type than are left, which tolls on the type see to. Into few devices pipelines are made to fit
 * (fleet_fit).
 *
 * What is guaranteed: the plan can be run as it is described, and no plan is done before the bound. That the plan is the
 * best one is not: the bound's pipelines may come in parts, and may take more devices of a type than there are. Where
 * pipelines are many that is little: 1.3 to 2.8 % for 512 devices and a thousand micro-batches or more (bench_fleet).
 * Where a few pipelines take all devices, or micro-batches are few, the gap may be wide: up to 14 % there. Of random
 * cases of up to five layers and nine devices 92 % have the optimum; on average they are 0.4 % above it, at worst (of
 * 9,000) 75 %, and the bound is 15 % below. */
#ifndef REHEARSE_PLAN_FLEET_FLEET_H
#define REHEARSE_PLAN_FLEET_FLEET_H

#include "core/arena.h"
#include "core/error.h"
#include "plan/score/memory.h"

#include <stdbool.h>
#include <stdint.h>

#define FLEET_MAX_TYPES   8
#define FLEET_MAX_ROWS    (FLEET_MAX_TYPES + 1) /* of what is limited: devices of each type, and pipelines */
#define FLEET_MAX_OPTIONS 64
#define FLEET_MAX_STAGES  64
#define FLEET_MAX_LAYERS  4096
#define FLEET_MAX_BANDS   16

struct fleet_type {
    int devices;
    double memory; /* bytes that each may hold */
};

/* Sums: entry l is that of the layers before l. */
struct fleet_option {
    int type, tensor;      /* devices that share a stage */
    const double *seconds; /* [layers + 1] one micro-batch, forward and backward */
    const double *kept;    /* [layers + 1] bytes of one micro-batch, on each device */
    const double *held;    /* [layers + 1] bytes whatever the micro-batches, on each device */
    const double *after;   /* [layers + 1] seconds when all micro-batches are done: gradients, optimizer */
    const double *forward,
        *updated; /* [layers + 1] the forward part of seconds, and the optimizer's of after */
    const double
        *send; /* [layers + 1] seconds to have the input of layer l and send its gradient back; no sums */
    double working;      /* bytes beside those, on each device */
    double last_working; /* the same where the last layer is */
};

struct fleet_problem {
    int layer_count, type_count, option_count;
    struct fleet_type types[FLEET_MAX_TYPES];
    struct fleet_option options[FLEET_MAX_OPTIONS];
    int64_t microbatches;
    int pipelines_most; /* 0: any number */
    int bands; /* of seconds after the pipelines that are looked at one by one, at most; 0: as many as there may be */
};

struct fleet_stage {
    int option, first, last; /* layers first..last - 1 */
};

struct fleet_pipeline {
    int stage_count;
    struct fleet_stage stages[FLEET_MAX_STAGES];
    int devices[FLEET_MAX_ROWS]; /* of each type; then the 1 pipeline that it is */
    double fill, cycle, after;   /* seconds; of after its longest stage's */
    int copies;                  /* pipelines like this */
    int64_t microbatches;        /* of all the copies; they differ by one at most */
};

struct fleet_choice {
    struct arena arena;
    int pipeline_count; /* kinds of pipelines */
    struct fleet_pipeline *pipelines;
    double seconds;     /* until all is done; of those */
    double after;       /* when the slowest pipeline is */
    double lower_bound; /* seconds: no plan is done earlier */
    int64_t columns;    /* pipelines that were looked at closely */
    bool too_slow;      /* no plan was found that is as fast as was enough, though pipelines fit */
};

/* All copies. */
int fleet_pipelines(const struct fleet_choice *plan);

/* Pipelines that a search looked at closely, for one like it to begin with; {0}: none yet. */
struct fleet_columns {
    int count;
    struct fleet_pipeline *pipelines;
};
void fleet_columns_release(struct fleet_columns *columns);

/* `enough`: seconds; when no plan can be done earlier than that the search may stop, with ERROR_INFEASIBLE and the bound
 * in plan->lower_bound. INFINITY: none. ERROR_INFEASIBLE, too, where no pipeline fits. On failure *plan holds nothing
 * else; on success the caller ends it with fleet_choice_release. `columns`, unless NULL: what to begin with, and then all
 * that were looked at. */
bool fleet_search(struct fleet_choice *plan, const struct fleet_problem *problem, double enough,
                  struct fleet_columns *columns, struct error *err);

/* No plan is done earlier, `after` left aside; found faster and not as closely as a search does. INFINITY: no pipeline
 * fits. */
bool fleet_bound(double *bound, const struct fleet_problem *problem, struct error *err);
void fleet_choice_release(struct fleet_choice *plan);

/* Bytes on each device of a stage, `behind` stages from the end (the last: 1). */
static inline double fleet_stage_memory(const struct fleet_problem *problem, const struct fleet_stage *stage,
                                        int behind)
{
    const struct fleet_option *o = &problem->options[stage->option];
    const struct memory_stage bytes = {
        .state = o->held[stage->last] - o->held[stage->first],
        .kept = o->kept[stage->last] - o->kept[stage->first],
        .working = stage->last == problem->layer_count ? o->last_working : o->working,
    };
    return memory_of_stage(&bytes, behind); /* the shares of the batch, which may be less, come later */
}

static inline double fleet_stage_seconds(const struct fleet_problem *problem, const struct fleet_stage *stage)
{
    const struct fleet_option *o = &problem->options[stage->option];
    return o->seconds[stage->last] - o->seconds[stage->first] +
           (stage->first > 0 ? o->send[stage->first] : 0.0);
}

/* Rows of what is limited. */
static inline int fleet_rows(const struct fleet_problem *problem)
{
    return problem->type_count + (problem->pipelines_most > 0 ? 1 : 0);
}

static inline int fleet_limit(const struct fleet_problem *problem, int row)
{
    return row < problem->type_count ? problem->types[row].devices : problem->pipelines_most;
}

/* Is there memory for every stage? */
bool fleet_pipeline_fits(const struct fleet_problem *problem, const struct fleet_pipeline *pipeline);

/* Sets fill, cycle, after and devices. */
void fleet_pipeline_score(const struct fleet_problem *problem, struct fleet_pipeline *pipeline);

#endif
