/* Jobs written as launch options, of rooms that a program without the plan wing lacks. */
#ifndef REHEARSE_TESTS_WRITTEN_JOBS_H
#define REHEARSE_TESTS_WRITTEN_JOBS_H

#include "launch/launch.h"
#include "support/jobs.h"

/* launch_write of the job's own plan. */
bool job_launch(enum launch_format format, const struct job *job, struct text *out, struct error *err);

/* launch_write_script, likewise. */
bool job_script(enum launch_format format, enum launch_launcher launcher, const struct job *job,
                struct text *out, struct error *err);

#endif
