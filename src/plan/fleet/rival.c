#include "plan/fleet/rival.h"

#include <string.h>

static bool alike(const struct fleet_rival *a, const struct fleet_rival *b)
{
    return a->jobs == b->jobs && a->microbatch == b->microbatch && a->sharding == b->sharding &&
           strcmp(a->recompute, b->recompute) == 0 && memcmp(a->devices, b->devices, sizeof a->devices) == 0;
}

void fleet_rivals_add(struct fleet_rivals *rivals, const struct fleet_rival *rival)
{
    int at = 0;
    while (at < rivals->count && !alike(&rivals->items[at], rival))
        at++;
    if (at < rivals->count && rivals->items[at].seconds <= rival->seconds)
        return;
    if (at == FLEET_MAX_RIVALS && rivals->items[--at].seconds <= rival->seconds)
        return;
    if (at == rivals->count)
        rivals->count++;
    for (; at > 0 && rivals->items[at - 1].seconds > rival->seconds; at--)
        rivals->items[at] = rivals->items[at - 1];
    rivals->items[at] = *rival;
}

bool plan_add_rivals(struct plan *plan, const struct fleet_rivals *rivals, int max, struct error *err)
{
    plan->fleets = ARENA_ARRAY(&plan->arena, (size_t)rivals->count + 1, struct plan_fleet);
    for (int i = 0; plan->fleets && i < rivals->count && i < max; i++) {
        const struct fleet_rival *rival = &rivals->items[i];
        int *works = ARENA_ARRAY(&plan->arena, FLEET_MAX_TYPES, int);
        if (!works)
            return error_memory(err);
        memcpy(works, rival->devices, sizeof rival->devices);
        plan->fleets[plan->fleet_count++] = (struct plan_fleet){
            .iteration_time = rival->seconds,
            .works = works,
            .way = rival->jobs ? "jobs" : "pipelines",
            .pipelines = rival->pipelines,
            .microbatch = rival->microbatch,
            .sharding = rival->sharding,
            .recompute = rival->recompute,
            .memory = rival->memory,
        };
    }
    return plan->fleets || error_memory(err);
}
