/* Pictures of plans. */
#ifndef REHEARSE_FIGURE_PIPELINE_H
#define REHEARSE_FIGURE_PIPELINE_H

#include "core/error.h"
#include "plan/pipeline.h"

#include <stdbool.h>

/* One bar per stage: forward and backward time of a micro-batch, coloured by device type, and a line at the
 * slowest. The ending of `path` chooses the format. */
bool figure_pipeline(const char *path, const struct pipeline *plan, const struct plan_problem *problem,
                     struct error *err);

/* The same for plans of other kinds: a bar for each stage, and a dashed line at the slowest. */
struct figure_stage {
    char label[160];          /* "8 devices, layers 0-21" */
    double forward, backward; /* seconds per micro-batch */
    int colour;               /* stages of one colour are of one kind */
};

struct figure_stages {
    const char *title;
    int count;
    const struct figure_stage *stages;
    int kind_count;
    const char *const *kinds; /* what each colour stands for; NULL: nothing is said */
};

bool figure_stages(const char *path, const struct figure_stages *stages, struct error *err);

#endif
