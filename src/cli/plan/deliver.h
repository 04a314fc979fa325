/* Delivering a plan as the options say: the same for every planner. */
#ifndef REHEARSE_CLI_PLAN_DELIVER_H
#define REHEARSE_CLI_PLAN_DELIVER_H

#include "cli/plan/command.h"
#include "cli/sweep/sweep.h"
#include "plan/parts.h"
#include "plan/plan.h"
#include "plan/split/job.h"

struct plan_delivery {
    const struct plan *plan;
    void (*print)(const void *context, struct text *out); /* the table for people */
    const struct job *job;                                /* for --emit; NULL: the plan is none of a job */
    const struct plan_parts *parts; /* for --emit, over several types; NULL: the model has no name */
    const void *context;
};

/* Files first: what goes to standard output says that all went well. */
bool plan_deliver(const struct plan_options *options, const struct plan_delivery *delivery,
                  struct error *err);

/* Answers a sweep, and writes its outputs as the options say. */
bool plan_deliver_sweep(const struct plan_options *options, const struct sweep *sweep, struct error *err);

/* rehearse-plan/2 to a file, or to standard output where `path` is NULL. */
bool plan_save(const struct plan *plan, const char *path, struct error *err);

#endif
