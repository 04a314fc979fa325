/* How the reference planners (Oobleck, SOSP'23, and its heterogeneous extension Ditto) assemble pipelines.
 * Private to this room and its tests.
 *
 * Of a part of a pipeline they keep only its number of stages, the sum of their times (T1), the slowest stage
 * and its place k (the last one on ties), and the sum from the slowest one on (T3). Two parts are joined from
 * these alone. Either objective is then
 *     T = T1 + count x slowest + weight x T3,   count = fixed + per_stage x stages + weight x k
 *   oobleck,  N > 0:  count = N - S + k + 1     weight = 1       (Oobleck, section 4.1, as its code has it)
 *             N = 0:  count = 2 S + k + 1
 *   pipeline, N > 0:  count = N - 1             weight = 0
 *             N = 0:  count = 3 S - 1
 * but a lone stage takes 4 l under oobleck, for any N.
 *
 * Times here are milliseconds, added in the reference's order and compared exactly. On equal devices many
 * sub-plans differ only by rounding (behind the slowest stage, cuts hardly matter to T), and the one kept
 * decides the whole plan: finding the reference's plans requires rounding like the reference.
 *
 * During the search a stage has one micro-batch in flight, as in the reference's formula, as nothing more is
 * known of a part. Whole plans whose stages do not fit by problem->memory are skipped (reference_fits); with
 * MEMORY_REFERENCE there are none. */
#ifndef REHEARSE_PLAN_REFERENCE_REFERENCE_H
#define REHEARSE_PLAN_REFERENCE_REFERENCE_H

#include "core/error.h"
#include "plan/pipeline.h"
#include "plan/problem.h"

#include <stdbool.h>

struct reference_part {
    int stages;
    int bottleneck; /* k */
    double sum;     /* T1 */
    double slowest; /* time of stage k */
    double tail;    /* T3 */
};

struct reference_objective {
    double fixed, per_stage, weight;
    double single; /* T of a lone stage, as a multiple of its time */
};

struct reference_objective reference_objective_of(const struct plan_problem *problem);

struct reference_part reference_stage(double time);
struct reference_part reference_join(const struct reference_part *left, const struct reference_part *right);

/* Returns how often the slowest stage's time counts. The reference stops unless it is positive. */
double reference_count(const struct reference_objective *objective, const struct reference_part *part);

double reference_time(const struct reference_objective *objective, const struct reference_part *part);

/* Milliseconds of layers [first, end) on `devices` of a group; INFINITY if one micro-batch does not fit into
 * their memory. */
double reference_stage_time(const struct plan_problem *problem, int group, int devices, int first, int end);

/* Returns whether every stage of a whole plan fits. */
bool reference_fits(const struct plan_problem *problem, const struct pipeline_stage *stages, int count);

/* Sets the error "no plan: …" for a count of micro-batches that is not positive. */
bool reference_count_error(const struct plan_problem *problem, struct error *err);

/* Puts `count` stages into an empty plan and scores it; uses layers, groups, devices, and nodes if
 * `nodes_known`. */
bool reference_finish(const struct plan_problem *problem, const struct pipeline_stage *stages, int count,
                      bool nodes_known, const char *search, struct pipeline *plan, struct error *err);

#endif
