/* The job that a launch description describes, as it stands. */
#ifndef REHEARSE_API_PLAN_LAUNCHED_H
#define REHEARSE_API_PLAN_LAUNCHED_H

#include "api/plan/split.h"
#include "launch/launch.h"

#define LAUNCHED_MAX_DEVICES 1048576

/* What counts besides the files; NULL and 0: what they say. */
struct launched_request {
    const char *device, *model, *software, *inside, *across;
    int64_t devices, devices_per_node, sequence;
};

/* Reads files of one job; `sets` ends with NULL; `root`: launch/budget.h. A file that describes a model and no job is ERROR_USAGE. */
bool launched_read(struct launch_options *read, const char *const *files, size_t count,
                   const char *const *sets, const char *root, struct error *err);

/* Completes what was read and makes its job, split->question.job, with the user's tables of split->chosen. What is missing is noted
 * in the options. *asked is split->options. */
bool launched_job(const struct launched_request *request, struct split *split, struct plan_options *asked,
                  struct launch_options *read, struct error *err);

#endif
