/* Jobs that tests begin from. */
#ifndef REHEARSE_TESTS_JOBS_H
#define REHEARSE_TESTS_JOBS_H

#include "launch/launch.h"
#include "plan/split/job.h"

/* Llama 3 8B on eight H100 of one node: data parallel, one sequence of 4096 tokens per micro-batch, 64 per iteration,
 * bf16, Megatron's software. */
struct job job_example(void);

/* The job's data parallel degree and devices after its other degrees were set; `devices` of them. */
void job_spread(struct job *job, int devices);

/* launch_write of the job's own plan. */
bool job_launch(enum launch_format format, const struct job *job, struct text *out, struct error *err);

/* launch_write_script, likewise. */
bool job_script(enum launch_format format, enum launch_launcher launcher, const struct job *job,
                struct text *out, struct error *err);

#endif
