/* The least that what is put in front of some stages can add to a plan: a bound for every label.
 *
 * Let stages before layer e be left to place, from a state of the devices, in front of stages with the label (X, D).
 * With S stages in front, of transfers X' and drain D', the plan's X + D becomes
 *
 *     X + X' + max(D', D - S b)  >=  X + min(X' + allreduce_0)    as D' is at least the first stage's all-reduce,
 *                                >=  X + D + min(X' - S b).
 *
 * Each minimum is a number for each e and state, found by going on to the stage in front; both are wanted only where
 * a label comes to, so they are found on demand. Stages have as many units as they need, or as make their transfer
 * shorter (worth_trying); only the first of all may have more for its all-reduce within a machine. */
#include "plan/dapple_solver.h"

#include <math.h>

struct stage {
    int first, end; /* layers */
    int state;
    int needed; /* units */
    double crossing, reduced;
};

/* One number of devices. */
static void try_devices(const struct solver *solver, const struct stage *stage, int units,
                        struct dapple_front *least)
{
    const struct places_step *end;
    int replicas = solver->program->replicas, count = units * replicas;
    bool loose = solver->places->kind == PLACES_LOOSE, spanned = false;
    bool more = units > stage->needed, more_to_span = more && count > 2;
    for (const struct places_step *step = places_steps(solver->places, stage->state, count, &end); step < end;
         step++) {
        double send = stage->crossing / dapple_step_rate(solver->problem, step, count);
        if (!worth_trying(solver, step, send, step->spans ? more_to_span : more, stage->first > 0) ||
            (loose && step->spans && spanned) || send > solver->high)
            continue;
        spanned |= step->spans;
        double seconds = send * solver->scale;
        struct dapple_front rest = {0, 0};
        if (stage->first > 0)
            rest = *dapple_front_of(solver, stage->first, step->target);
        else
            rest.sum = dapple_ring(solver->places->cluster, count, step->spans, stage->reduced);
        least->sum = fmin(least->sum, seconds + rest.sum);
        least->hiding = fmin(least->hiding, seconds - solver->block + rest.hiding);
    }
}

static void try_stages(const struct solver *solver, int end, int state, struct dapple_front *least)
{
    const struct dapple_problem *problem = solver->problem;
    const struct chain *chain = problem->chain;
    int replicas = solver->program->replicas, units = solver->places->left[state] / replicas;
    struct stage stage = {.end = end, .state = state, .crossing = dapple_crossing(problem, end - 1)};
    for (int first = end - 1; first >= 0 && units > 0; first--) {
        if ((chain->until[end - 1].compute - solver->work->most_before[first]) * solver->batches >
            solver->high * replicas * units)
            return;
        if (first > 0 && chain->before && !chain_before(chain, first - 1, end - 1))
            continue;
        stage.first = first;
        stage.needed = units_needed(solver, dapple_compute(problem, first, end - 1));
        stage.reduced = first > 0 ? 0 : dapple_reduced(problem, first, end - 1);
        int kept = first > 0 ? units_needed(solver, dapple_compute(problem, 0, first - 1)) : 0;
        int most = units_most(solver, state, stage.needed, first > 0);
        for (int count = stage.needed; count <= units - kept && count <= most; count++)
            try_devices(solver, &stage, count, least);
    }
}

const struct dapple_front *dapple_front_of(const struct solver *solver, int end, int state)
{
    struct dapple_front *front =
        &solver->work->fronts[(size_t)end * (size_t)solver->places->state_count + (size_t)state];
    if (isnan(front->sum)) {
        struct dapple_front least = {INFINITY, INFINITY};
        try_stages(solver, end, state, &least);
        *front = least;
    }
    return front;
}
