/* What a launch description costs as it stands, beside the same job planned freely. */
#ifndef REHEARSE_LAUNCH_PRICE_H
#define REHEARSE_LAUNCH_PRICE_H

#include "core/json.h"
#include "launch/launch.h"
#include "plan/plan.h"

struct launch_price {
    struct launch_options *options;
    struct job job;
    struct job_time time;
    struct job_memory memory;
    double factor; /* what known runs multiply the times by; 1: nothing */
    double own;    /* the part of it of a run of the user's own; 1: none */
    struct plan_interval interval;
    double wider; /* settings that are not modelled have multiplied and divided its ends by that */
    struct plan_nearest nearest;
    const struct job_choice *planned; /* NULL: not asked for, or none */
    const char *not_planned;          /* why there is none; NULL: not asked for */
    double headroom;                  /* share of the memory that a plan keeps free */
};

/* Makes the job of complete options: `price->job` begins with model, device, links and software. What is missing is
 * ERROR_USAGE and named all at once; what contradicts itself, ERROR_INFEASIBLE. */
bool launch_price_job(struct launch_price *price, struct error *err);

/* Returns what settings that are not modelled multiply the ends of the interval by. No runs say how much each moves: 5
 * % are assumed of every kind, independently of the others. */
double launch_price_wider(const struct launch_options *options, int *kinds);

extern const char *const launch_use_names[LAUNCH_USES];

void launch_price_print(const struct launch_price *price, struct text *out);

/* Writes "rehearse-price/1"; `explains`: with the terms of the memory. */
void launch_price_write(const struct launch_price *price, bool explains, struct json *json);

#endif
