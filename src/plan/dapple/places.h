/* Placements of the stages' devices, counted and not enumerated.
 *
 * Stages are placed from the last to the first. The state is then how many devices each machine has left
 * (machines with equal numbers are interchangeable) and which machine, if any, holds all of the stage placed
 * last. A step puts the next stage, of some number of devices, in front: within the same machine, within
 * another, or spanning several. It gives the cost of a transfer out of the new stage: HPGO's rules depend on
 * nothing else.
 *
 * Three kinds of states:
 *   PLACES_ALL      every placement. Small clusters only
 *   PLACES_ORDERED  devices in order, from the last machine to the first; the rest of a machine may stay idle.
 *                   All of these placements exist: good plans
 *   PLACES_LOOSE    only the devices left in all, and in the machine of the stage placed last, are counted.
 *                   Every real placement is among these, and others: lower bounds */
#ifndef REHEARSE_PLAN_DAPPLE_PLACES_H
#define REHEARSE_PLAN_DAPPLE_PLACES_H

#include "plan/dapple/dapple.h"

enum places_kind { PLACES_ALL, PLACES_ORDERED, PLACES_LOOSE };

enum places_link {
    LINK_NONE,   /* the new stage is the last */
    LINK_INSIDE, /* into a stage within a machine, from the same machine only */
    LINK_AWAY,   /* the same, with `away` devices in other machines */
    LINK_SPANS,  /* into a stage that spans machines */
};

struct places_step {
    int32_t target; /* state */
    int16_t away;
    uint8_t link;
    uint8_t spans; /* whether the new stage spans machines */
};

struct places {
    struct arena arena; /* of here, there, by_there and current */
    enum places_kind kind;
    const struct dapple_cluster *cluster;
    int devices, state_count; /* state 0: nothing is placed */
    int *left;                /* [state] devices */
    /* [state * (devices + 1) + count] steps with `count` devices; one more entry at the end */
    int64_t *first;
    struct places_step *steps;
    uint8_t *machines; /* PLACES_ALL, see places.c */

    /* Whether states are ordered: a state dominates another with at most as much in each of the following, as
     * everything that can stand in front of that one can do so here at the same cost. False with more than
     * two machines of several devices, or with devices in order. */
    bool ordered;
    int16_t *here;     /* [state] devices left in the machine of the stage placed last, or in one of two */
    int16_t *there;    /* [state] in the other machine, or in all */
    int32_t *by_there; /* states by descending `here`, then descending `there` */
    bool *current;     /* [state] whether a machine holds all of the stage placed last; must be equal */
    int largest;       /* devices of the largest machine */
};

/* Returns the maximum devices of a stage in front of a state, some of them in the machine of the next stage
 * and at most `away` elsewhere. */
static inline int places_max_joined(const struct places *places, int state, int away)
{
    if (places->kind == PLACES_ORDERED)
        return places->devices;
    return places->current[state] ? places->here[state] + away : 0;
}

/* Enumerates states and steps. False, with no memory held: more than `max_steps` steps (ERROR_INFEASIBLE),
 * or out of memory. */
bool places_init(struct places *places, const struct dapple_cluster *cluster, enum places_kind kind,
                 int64_t max_steps, struct error *err);
void places_release(struct places *places);

static inline const struct places_step *places_steps(const struct places *places, int state, int count,
                                                     const struct places_step **end)
{
    const int64_t *first = &places->first[(int64_t)state * (places->devices + 1) + count];
    *end = places->steps + first[1];
    return places->steps + first[0];
}

/* A stage of a plan; `step`: index among the steps with its devices from the state behind it. */
struct places_stage {
    int first_layer, devices, step;
};

/* Follows the steps of `count` stages from state 0, the last stage first. Fills stage_of. Not for
 * PLACES_LOOSE. */
bool places_follow(const struct places *places, int count, const struct places_stage *stages,
                   int16_t *stage_of, struct error *err);

/* The same for PLACES_LOOSE; *found is false if no such placement exists or none is found. */
bool places_pack(const struct places *places, int count, const struct places_stage *stages, int16_t *stage_of,
                 bool *found, struct error *err);

#endif
