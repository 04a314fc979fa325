/* Internals shared by the parts of the dynamic program (program.h). */
#ifndef REHEARSE_PLAN_DAPPLE_SOLVER_H
#define REHEARSE_PLAN_DAPPLE_SOLVER_H

#include "plan/dapple/model.h"
#include "plan/dapple/program.h"

#define DAPPLE_ROUNDING 1e-12 /* relative; sums run in a different order than in dapple_score */

/* fmax and fmin are slow calls because of NAN. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double lesser(double a, double b)
{
    return a < b ? a : b;
}

struct dapple_label {
    double x, y;   /* X, D; DAPPLE_FIXED: L, W */
    int32_t next;  /* of the same first layer and state; -1: none */
    int32_t after; /* label of the stages after its first; -1: none */
    int32_t step;
    int16_t first_layer, devices; /* of its first stage */
    int16_t rank;                 /* higher is better: `low` is reached, or fewer stages where memory binds */
    int16_t stages;
    bool reaches; /* whether any of these stages or transfers takes at least `low` */
};

#define DAPPLE_PARTS 3
static const double dapple_parts[DAPPLE_PARTS] = {1, 0.5, 0.25};

/* The minimum cost of the layers in front of a state (front.c). */
struct dapple_front {
    double min;                  /* X' + D'; NAN: not computed yet */
    double hiding[DAPPLE_PARTS]; /* X' + (1 - p) F - p S b */
};

/* Returns the minimum cost in front of stages with a drain. */
static inline double dapple_front_bound(const struct dapple_front *front, double drain)
{
    double min = front->min;
    for (int i = 0; i < DAPPLE_PARTS; i++) {
        min = larger(min, front->hiding[i] + dapple_parts[i] * drain);
    }
    return min;
}

/* The same under DAPPLE_FIXED, for a number of units (front_fixed.c). */
struct dapple_fixed_front {
    double min;              /* alone: L' */
    double forward;          /* added to L: F */
    double pass;             /* added to W, with the last all-reduce: P */
    double spare_l, spare_w; /* L' - F, L' - P: below these, the following L and W do not count */
};

static inline double dapple_fixed_front_bound(const struct dapple_fixed_front *front,
                                              struct dapple_fixed behind)
{
    double forward = behind.latency + front->forward, pass = behind.drained + front->pass;
    return larger(front->min, larger(forward, pass));
}

struct solver {
    const struct dapple_program *program;
    const struct dapple_problem *problem;
    const struct places *places;
    struct dapple_workspace *work;
    bool original;
    int units;         /* of r devices */
    double block;      /* high / M */
    double charge;     /* costs of every plan: pivot at low, start-up */
    double scale;      /* X per second of a whole-batch transfer: 1 / (r M) */
    double high;       /* with a margin for rounding */
    double per_unit;   /* 1 / (high r) */
    double batches;    /* global batch / profile batch */
    bool memory_binds; /* DAPPLE_FIXED: memory may bind somewhere */
    bool fronts;       /* whether memory allows bounds on the layers in front */
    double haste;      /* margin by which a bound must be lower, per remaining layer */
    int32_t best;      /* label */
    double best_value;
    bool out_of_memory, too_many;
};

/* Returns the next layer below `from` at which a stage of at most `units` units that ends before layer `end`
 * may begin; -1: none, or all earlier layers exceed the pivot's limit. */
static inline int next_first(const struct solver *solver, int end, int from, int units)
{
    const struct chain *chain = solver->problem->chain;
    double room = solver->high * solver->program->replicas * units / solver->batches;
    for (int first = from - 1; first >= 0 && units > 0; first--) {
        if (chain->until[end - 1].compute - solver->work->before[first].max_compute > room)
            return -1;
        if (first == 0 || !chain->before || chain_before(chain, first - 1, end - 1))
            return first;
    }
    return -1;
}

/* Returns whether this transfer makes the pivot reach `low`. */
static inline bool sends_long(const struct solver *solver, double send)
{
    return solver->program->reach_low &&
           solver->program->factor * send >= solver->program->low * (1 - DAPPLE_ROUNDING);
}

/* Returns whether a stage is worth trying. With more units than needed that holds only if they lower a cost
 * (an all-reduce over more links within a machine, a transfer from a stage with a larger share in the next
 * one's machine), or if the longer transfer is wanted. */
static inline bool worth_trying(const struct solver *solver, const struct places_step *step, double send,
                                bool more_than_needed, bool drain_hidden)
{
    if (!more_than_needed || !solver->original)
        return true;
    if (step->spans)
        return step->link == LINK_AWAY &&
               (step->away <= solver->program->replicas || sends_long(solver, send));
    return !drain_hidden;
}

/* Seconds of layers first..last, as dapple_compute. */
static inline double compute_of(const struct solver *solver, int first, int last)
{
    const struct chain_load *until = solver->problem->chain->until;
    return (until[last].compute - (first > 0 ? until[first - 1].compute : 0)) * solver->batches;
}

/* Returns the units that a stage needs to take at most `high`. */
static inline int units_needed(const struct solver *solver, double compute)
{
    double units = lesser(compute * solver->per_unit, DAPPLE_MAX_DEVICES + 1);
    int whole = (int)units;
    return whole + (whole < units) > 1 ? whole + (whole < units) : 1;
}

/* Returns the maximum units worth trying (worth_trying): extra units lie within a machine, or in the next
 * stage's and another; one device cannot span, two can. */
static inline int max_units(const struct solver *solver, int state, int needed, bool drain_hidden)
{
    int replicas = solver->program->replicas;
    if (!solver->original)
        return solver->places->devices;
    int max = places_max_joined(solver->places, state, replicas) / replicas;
    if (!drain_hidden && solver->places->largest / replicas > max)
        max = solver->places->largest / replicas;
    return max > needed + (replicas == 1) ? max : needed + (replicas == 1);
}

/* Returns the bounds in front of a state whose next stage ends before layer `end`. DAPPLE_ORIGINAL only. */
const struct dapple_front *dapple_front_of(const struct solver *solver, int end, int state);

/* Fills in the bounds of DAPPLE_FIXED for every layer and number of units. */
void dapple_fixed_fronts(const struct solver *solver);

#endif
