/* Plans as handles. */
#ifndef REHEARSE_API_PLAN_HANDLE_H
#define REHEARSE_API_PLAN_HANDLE_H

#include "api/handle.h"
#include "plan/plan.h"

struct api_plan {
    rh_handle base;
    struct plan plan;
    int devices_used;
    struct text text;    /* the table for people */
    struct text emitted; /* as launch options of other software; empty: nobody asked */
};

/* Returns one with an empty plan, for its maker to fill in. */
struct api_plan *api_plan_new(struct error *err);

/* Ends its making, as api_made: what callers can ask is added here. */
rh_handle *api_plan_made(struct api_plan *made, bool done, struct error *err);

/* Adds what a price has, too: `nearest`, and lists parts.* that live as long as the handle. */
void api_plan_add_nearest(rh_handle *handle, const struct plan_nearest *nearest);
void api_plan_add_parts(rh_handle *handle, const struct plan_figure *parts, int count);

/* Copies the plan of a handle, which may be of another kind. The caller releases it with plan_release. */
bool api_plan_copy(const rh_plan *handle, struct plan *plan, struct error *err);

#endif
