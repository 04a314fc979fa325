/* A training job as the options of `rehearse plan` describe it, and its split over devices that are alike. */
#ifndef REHEARSE_CLI_PLAN_SPLIT_H
#define REHEARSE_CLI_PLAN_SPLIT_H

#include "cli/plan/command.h"
#include "cli/plan/range.h"
#include "cluster/cluster.h"
#include "launch/launch.h"
#include "plan/split/search.h"

/* The question, and its parts. */
struct split {
    const struct plan_options *options;
    struct cost_chosen chosen;
    struct table inside, across;  /* of files */
    struct launch_options flags;  /* of a file */
    struct job_question question; /* of the first point of a sweep */
    struct range batches, devices;
};

/* Parses --global-batch, which must be there. */
bool split_parse_batch(const struct plan_options *options, struct range *batches, struct error *err);

/* Sets the job's model, sequence and software, and the user's tables. */
bool split_choose_model(struct split *split, struct error *err);

/* Plans and delivers the job of one batch on all devices of a resolved group. */
bool split_on_group(struct split *split, const struct cluster_group *group, struct error *err);

/* Ends a split that was {0} but for its options at first, however far it came. */
void split_release(struct split *split);

#endif
