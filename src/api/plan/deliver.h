/* Delivering a plan: the same for every planner. */
#ifndef REHEARSE_API_PLAN_DELIVER_H
#define REHEARSE_API_PLAN_DELIVER_H

#include "api/plan/command.h"
#include "api/sweep/sweep.h"
#include "plan/parts.h"
#include "plan/plan.h"
#include "plan/split/job.h"

struct plan_delivery {
    struct plan *plan; /* the handle's afterwards; what is left is an empty one */
    void (*print)(const void *context, struct text *out); /* for people; NULL: plan_print */
    const struct job *job;                                /* for --emit; NULL: the plan is none of a job */
    const struct plan_parts *parts; /* for --emit, over several types; NULL: the model has no name */
    const void *context;
};

/* Makes the handle of the answer, with all its forms, and writes the files that the options name. */
bool plan_deliver(const struct plan_options *options, const struct plan_delivery *delivery,
                  struct error *err);

/* Answers a sweep, likewise. */
bool plan_deliver_sweep(const struct plan_options *options, const struct sweep *sweep, struct error *err);

/* rehearse-plan/2 to a file, or to standard output where `path` is "-". */
bool plan_save(const struct plan *plan, const char *path, struct error *err);

#endif
