/* Plans over several types that a search found beside its best one, by the devices that work, the way and the settings: of
 * plans that do not differ in these, the fastest. */
#ifndef REHEARSE_PLAN_FLEET_RIVAL_H
#define REHEARSE_PLAN_FLEET_RIVAL_H

#include "plan/fleet/fleet.h"
#include "plan/plan.h"

#define FLEET_MAX_RIVALS 64

struct fleet_rival {
    double seconds;
    double memory;                /* bytes of the fullest device */
    bool jobs;                    /* of their own on the types; else pipelines over them */
    int devices[FLEET_MAX_TYPES]; /* that work */
    int pipelines, sharding;
    int64_t microbatch;
    const char *recompute;
};

/* The fastest first. */
struct fleet_rivals {
    int count;
    struct fleet_rival items[FLEET_MAX_RIVALS];
};

void fleet_rivals_add(struct fleet_rivals *rivals, const struct fleet_rival *rival);

/* Makes at most `max` of them the plan's other fleets. */
bool plan_add_rivals(struct plan *plan, const struct fleet_rivals *rivals, int max, struct error *err);

#endif
