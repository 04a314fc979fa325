/* The job that a launch description describes, as it stands. */
#ifndef REHEARSE_API_PLAN_LAUNCHED_H
#define REHEARSE_API_PLAN_LAUNCHED_H

#include "api/plan/split.h"
#include "launch/launch.h"

#define LAUNCHED_MAX_DEVICES 1048576

/* Reads files of one job; `sets` ends with NULL; `root`: launch/budget.h. A file that describes a model and no job is
 * ERROR_USAGE. */
bool launched_read(struct launch_options *read, const char *const *files, size_t count,
                   const char *const *sets, const char *root, struct error *err);

/* Completes what was read and makes its job, split->question.job, with the user's tables of split->chosen. What is
 * missing is noted in the options. *asked is split->options: what counts before the files, and then what counts;
 * devices 0: those of the files. */
bool launched_job(struct split *split, struct plan_options *asked, int64_t devices,
                  struct launch_options *read, struct error *err);

#endif
