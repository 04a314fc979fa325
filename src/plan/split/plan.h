/* The answer of a job search as a plan, and the job of a plan. */
#ifndef REHEARSE_PLAN_SPLIT_PLAN_H
#define REHEARSE_PLAN_SPLIT_PLAN_H

#include "plan/plan.h"
#include "plan/split/search.h"
#include "plan/split/sensitivity.h"

struct job_answer {
    const struct job_question *question;
    const struct job_search *search;
    const struct job_search *front;            /* NULL: not asked for */
    const struct job_sensitivity *sensitivity; /* [JOB_RESOURCES]; NULL: not asked for */
    double more;                               /* that the sensitivity is about: a share of each resource */
};

/* Fills in an initialised plan: the fastest job, and the others as alternatives. Layer 0 is the embedding, the last layer
 * the head, and those between are blocks. On failure *plan is released. */
bool plan_of_job(struct plan *plan, const struct job_answer *answer, struct error *err);

/* The same for one job that no search found, of so many devices; nothing is known then about better ones. */
bool plan_of_one_job(struct plan *plan, const struct job *job, int devices, struct error *err);

/* The recomputation that a plan says; none where it says nothing. */
bool plan_recompute_of(const struct plan *plan, enum recompute *recompute, struct error *err);

/* The degrees, chunks, micro-batch, sharding, recomputation and layout of a plan over one device type: all of *job that a
 * plan decides; model, device, links, software and type must be set. stage_blocks lives as long as the plan. ERROR_INFEASIBLE
 * where the plan is none of a job: stages that differ in their degrees, several kinds of pipelines or device types. */
bool job_of_plan(struct job *job, struct plan *plan, struct error *err);

/* The share of the devices' peak that the model's own arithmetic takes (model flops utilisation). */
double job_utilisation(const struct job *job, const struct job_time *time);

#endif
