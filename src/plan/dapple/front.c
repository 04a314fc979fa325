/* Bounds on the minimum that stages in front of some others add to a plan, for every label.
 *
 * Let stages before layer e be left to place, from a state of the devices, in front of stages with the label (X, D).
 * With S stages in front, of transfers X' and drain D', the plan's X + D becomes X + X' + max(D', D - S b), and for any
 * part p in [0, 1], with F the all-reduce of the very first stage, which is no more than D',
 *
 *     X' + max(D', D - S b)  >=  X' + (1 - p) F + p (D - S b)  >=  p D + min (X' + (1 - p) F - p S b).
 *
 * This minimum for some p, and that of X' + D' itself, are found stage by stage: behind a front (X', D') of S stages
 * another stage adds its transfer, and D' becomes max(D', allreduce - S b), bounded in the same way. Only states that a
 * label reaches need them, so they are computed on demand. Stages have as many units as they need, or as shorten their
 * transfer, or within a machine their all-reduce while it counts (worth_trying). */
#include "plan/dapple/solver.h"

#include <math.h>

struct stage {
    int first, end; /* layers */
    int state;
    int needed; /* units */
    double crossing, reduced;
};

/* Tries one number of devices. Returns whether the all-reduce within a machine never counts. */
static bool try_devices(const struct solver *solver, const struct stage *stage, int units, bool hidden,
                        struct dapple_front *min)
{
    const struct places_step *end;
    int replicas = solver->program->replicas, count = units * replicas;
    bool loose = solver->places->kind == PLACES_LOOSE;
    bool more = units > stage->needed, more_to_span = more && count > 2;
    double allreduce[2];
    for (int spans = 0; spans < 2; spans++)
        allreduce[spans] = dapple_ring(solver->places->cluster, count, spans, stage->reduced);
    bool now_hidden = true;
    for (const struct places_step *step = places_steps(solver->places, stage->state, count, &end); step < end;
         step++) {
        double send = stage->crossing / dapple_step_rate(solver->problem, step, count);
        if (!worth_trying(solver, step, send, step->spans ? more_to_span : more, hidden) ||
            send > solver->high)
            continue;
        const struct dapple_front *rest = dapple_front_of(solver, stage->first, step->target);
        double seconds = send * solver->scale, with = dapple_front_bound(rest, allreduce[step->spans]);
        now_hidden &= step->spans || with <= rest->min;
        min->min = lesser(min->min, seconds + with);
        for (int i = 0; i < DAPPLE_PARTS; i++) {
            double first = stage->first == 0 ? (1 - dapple_parts[i]) * allreduce[step->spans] : 0;
            min->hiding[i] =
                lesser(min->hiding[i], seconds + first - dapple_parts[i] * solver->block + rest->hiding[i]);
        }
        if (loose && step->spans)
            break; /* the relaxation's first step that spans machines costs the minimum and leaves the same devices */
    }
    return hidden || now_hidden;
}

static void try_stages(const struct solver *solver, int end, int state, struct dapple_front *min)
{
    const struct dapple_problem *problem = solver->problem;
    int units = solver->places->left[state] / solver->program->replicas;
    struct stage stage = {.end = end, .state = state, .crossing = dapple_crossing(problem, end - 1)};
    for (int first = end; (first = next_first(solver, end, first, units)) >= 0;) {
        stage.first = first;
        stage.needed = units_needed(solver, compute_of(solver, first, end - 1));
        int kept = solver->work->before[first].units;
        if (stage.needed + kept > units)
            continue;
        stage.reduced = dapple_reduced(problem, first, end - 1);
        bool hidden = false;
        for (int count = stage.needed;
             count <= units - kept && count <= max_units(solver, state, stage.needed, hidden); count++)
            hidden = try_devices(solver, &stage, count, hidden, min);
    }
}

const struct dapple_front *dapple_front_of(const struct solver *solver, int end, int state)
{
    static const struct dapple_front nothing;
    struct dapple_front *front =
        &solver->work->fronts[(size_t)end * (size_t)solver->places->state_count + (size_t)state];
    if (end == 0)
        return &nothing;
    if (isnan(front->min)) {
        struct dapple_front min = {.min = INFINITY};
        for (int i = 0; i < DAPPLE_PARTS; i++)
            min.hiding[i] = INFINITY;
        try_stages(solver, end, state, &min);
        *front = min;
    }
    return front;
}
