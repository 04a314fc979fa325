/* The question of a job search: the allowed degrees and other dimensions of a job. */
#ifndef REHEARSE_PLAN_SPLIT_QUESTION_H
#define REHEARSE_PLAN_SPLIT_QUESTION_H

#include "plan/split/job.h"

enum job_dimension {
    JOB_TENSOR,
    JOB_PIPELINE,
    JOB_DATA,
    JOB_CONTEXT,
    JOB_EXPERT,
    JOB_MICROBATCH,
    JOB_CHUNKS,
    JOB_SHARDING,
    JOB_RECOMPUTE,
    JOB_DIMENSIONS
};

/* "tp", "pp", "dp", "cp", "ep", "mbs", "vp", "zero", "recompute", as launch scripts abbreviate them. */
const char *job_dimension_name(enum job_dimension dimension);
const char *job_recompute_name(enum recompute recompute); /* "none", "selective", "full" */
int64_t job_dimension_value(const struct job *job, enum job_dimension dimension);

struct job_range {
    int64_t least, most; /* 0, 0: everything that the software supports */
    bool given;
};

struct job_question {
    struct job job; /* its degrees, micro-batch, chunks, sharding, recomputation and layout are ignored */
    struct job_range ranges[JOB_DIMENSIONS];
    const int *stage_blocks; /* a given layout of stage_count stages; NULL: the best one */
    int stage_count;
    double headroom; /* share of the memory kept free: below 1; negative to exceed it */
};

#endif
