/* Inside the dynamic program (dapple_program.h): what its parts share. */
#ifndef REHEARSE_PLAN_DAPPLE_SOLVER_H
#define REHEARSE_PLAN_DAPPLE_SOLVER_H

#include "plan/dapple/fixed.h"
#include "plan/dapple/program.h"

#include <math.h>

#define DAPPLE_ROUNDING 1e-12 /* relative; sums here run in another order than in dapple_score */

/* fmax and fmin are calls, for the sake of NAN. */
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
    int32_t after; /* label of the stages behind its first; -1: none */
    int32_t step;
    int16_t first_layer, devices; /* of its first stage */
    int16_t rank;                 /* higher is better: `low` is reached; fewer stages where memory binds */
    int16_t stages;
    bool reaches; /* has any of these stages, or of the transfers between them, `low` or more? */
};

#define DAPPLE_PARTS 3
static const double dapple_parts[DAPPLE_PARTS] = {1, 0.5, 0.25};

/* The least that what is put in front of a state adds (dapple_front.c). */
struct dapple_front {
    double least;                /* X' + D'; NAN: not known yet */
    double hiding[DAPPLE_PARTS]; /* X' + (1 - p) F - p S b */
};

/* The least that it adds to stages with a drain. */
static inline double dapple_front_bound(const struct dapple_front *front, double drain)
{
    double least = front->least;
    for (int i = 0; i < DAPPLE_PARTS; i++) {
        least = larger(least, front->hiding[i] + dapple_parts[i] * drain);
    }
    return least;
}

/* DAPPLE_FIXED's, for a number of units (dapple_front_fixed.c). */
struct dapple_fixed_front {
    double least;            /* alone: L' */
    double forward;          /* what it adds to L: F */
    double pass;             /* and to W, with the all-reduce that ends last: P */
    double spare_l, spare_w; /* L' - F, L' - P: up to that L and W of what is behind never count */
};

static inline double dapple_fixed_front_bound(const struct dapple_fixed_front *front,
                                              struct dapple_fixed behind)
{
    double forward = behind.latency + front->forward, pass = behind.drained + front->pass;
    return larger(front->least, larger(forward, pass));
}

struct solver {
    const struct dapple_program *program;
    const struct dapple_problem *problem;
    const struct places *places;
    struct dapple_workspace *work;
    bool original;
    int units;         /* of r devices */
    double block;      /* high / M */
    double charge;     /* what every plan pays: pivot at low, start-up */
    double scale;      /* X per second of a whole-batch transfer: 1 / (r M) */
    double high;       /* with room for rounding */
    double per_unit;   /* 1 / (high r) */
    double batches;    /* global batch / profile batch */
    bool memory_binds; /* DAPPLE_FIXED: somewhere it might */
    bool fronts;       /* is there room for bounds on what is put in front? */
    double haste;      /* by which a bound has to be less, for each layer that is left */
    int32_t best;      /* label */
    double best_value;
    bool out_of_memory, too_many;
};

/* The next layer below `from` that a stage of at most `units` units, which ends with layer end - 1, may begin with; -1: there is
 * none, or all before compute more than the pivot's limit allows. */
static inline int next_first(const struct solver *solver, int end, int from, int units)
{
    const struct chain *chain = solver->problem->chain;
    double room = solver->high * solver->program->replicas * units / solver->batches;
    for (int first = from - 1; first >= 0 && units > 0; first--) {
        if (chain->until[end - 1].compute - solver->work->most_before[first] > room)
            return -1;
        if (first == 0 || !chain->before || chain_before(chain, first - 1, end - 1))
            return first;
    }
    return -1;
}

/* Is this transfer what makes the pivot reach `low`? */
static inline bool sends_long(const struct solver *solver, double send)
{
    return solver->program->reach_low &&
           solver->program->factor * send >= solver->program->low * (1 - DAPPLE_ROUNDING);
}

/* With more units than needed a stage is worth a try only where that lowers something (an all-reduce over more links
 * within a machine, a transfer from a stage that has a larger share in the next one's machine), or where its longer
 * transfer is wanted. */
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

/* Seconds of layers first..last, as dapple_compute has them. */
static inline double compute_of(const struct solver *solver, int first, int last)
{
    const struct chain_load *until = solver->problem->chain->until;
    return (until[last].compute - (first > 0 ? until[first - 1].compute : 0)) * solver->batches;
}

/* Units that a stage of so many seconds needs, so that it takes no longer than `high`. */
static inline int units_needed(const struct solver *solver, double compute)
{
    double units = lesser(compute * solver->per_unit, DAPPLE_MAX_DEVICES + 1);
    int whole = (int)units;
    return whole + (whole < units) > 1 ? whole + (whole < units) : 1;
}

/* The most units worth a try (worth_trying): more than needed lie within a machine, or in the next stage's and another;
 * one device cannot span, two can. */
static inline int units_most(const struct solver *solver, int state, int needed, bool drain_hidden)
{
    int replicas = solver->program->replicas;
    if (!solver->original)
        return solver->places->devices;
    int most = places_most_joined(solver->places, state, replicas) / replicas;
    if (!drain_hidden && solver->places->largest / replicas > most)
        most = solver->places->largest / replicas;
    return most > needed + (replicas == 1) ? most : needed + (replicas == 1);
}

/* What is put in front of a state, the stage that ends with layer end - 1 first. DAPPLE_ORIGINAL only. */
const struct dapple_front *dapple_front_of(const struct solver *solver, int end, int state);

/* Fills in the bounds of DAPPLE_FIXED, for every layer and number of units. */
void dapple_fixed_fronts(const struct solver *solver);

/* Drops the labels of a first layer that another one beats, in a state that is at least as good (dapple_sift.c). */
bool dapple_sift(const struct solver *solver, int layer);
void dapple_sift_release(struct dapple_workspace *workspace);

#endif
