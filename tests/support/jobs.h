/* Jobs that tests begin from. */
#ifndef REHEARSE_TESTS_JOBS_H
#define REHEARSE_TESTS_JOBS_H

#include "plan/split/job.h"

/* Llama 3 8B on eight H100 of one node: data parallel, one sequence of 4096 tokens per micro-batch, 64 per iteration,
 * bf16, Megatron's software. */
struct job job_example(void);

/* The job's data parallel degree and devices after its other degrees were set; `devices` of them. */
void job_spread(struct job *job, int devices);

#endif
