/* Converts between a job or the answer of a job search and a plan. */
#ifndef REHEARSE_PLAN_SPLIT_PLAN_H
#define REHEARSE_PLAN_SPLIT_PLAN_H

#include "plan/parts.h"
#include "plan/plan.h"
#include "plan/split/search.h"

struct job_answer {
    const struct job_question *question;
    const struct job_search *search;
    bool in_time;                   /* the search found the cheapest plan in time, not the fastest */
    const struct job_search *front; /* NULL: not asked for */
    const struct job_sensitivity *sensitivity; /* [JOB_RESOURCES]; NULL: not asked for */
    double more;                               /* additional share of each resource in the sensitivity */
};

/* Fills in an initialised plan: the fastest job, with the others as alternatives. Layer 0 is the embedding,
 * the last layer the head; the others are blocks. On failure *plan is released. */
bool plan_of_job(struct plan *plan, const struct job_answer *answer, struct error *err);

/* The same for one job without a search, on so many devices; nothing is known about better ones. */
bool plan_of_one_job(struct plan *plan, const struct job *job, int devices, struct error *err);

/* Adds the collectives of a part's passes to a stage. False: out of memory. */
bool plan_add_passes_of_job(struct plan *plan, struct plan_stage *stage, const struct job *job,
                            const struct job_layers *layers, const struct job_part *part);

/* Adds the transfers of all stages of the plan's one pipeline, which is the job's. False: out of memory. */
bool plan_add_transfers_of_job(struct plan *plan, const struct job *job, const struct job_layers *layers,
                               const struct job_time *time);

/* Reads the plan's recomputation; none if it is not given. */
bool plan_recompute_of(const struct plan *plan, enum recompute *recompute, struct error *err);

/* Sets everything of *job that a plan over one device type decides; the caller has set model, device, links,
 * software and type. stage_blocks lives as long as the plan. ERROR_INFEASIBLE if the plan is not a job:
 * stages with different degrees, several kinds of pipelines or device types. */
bool job_of_plan(struct job *job, struct plan *plan, struct error *err);

/* Returns the model flops utilisation: the model's arithmetic as a share of the devices' peak. */
double job_utilisation(const struct job *job, const struct job_time *time);

/* Returns whether one job describes the plan: one kind of pipeline, equal degrees, one device type, a
 * model. */
bool plan_is_job(const struct plan *plan);

/* Sets the type of matrix products on a device: the plan's, or mixed precision. */
bool plan_precision_of(const struct plan *plan, const struct cost_device *device, enum cost_type *type,
                       struct error *err);

/* Remakes the job. Its micro-batches follow from degrees and global batch. Its device, links and layout live as
 * long as the plan. */
bool job_remake(struct job *job, struct plan *plan, const struct plan_parts *given, struct error *err);

#endif
