/* What more of each resource would give: the search once more for a machine that has it. */
#ifndef REHEARSE_PLAN_SPLIT_SENSITIVITY_H
#define REHEARSE_PLAN_SPLIT_SENSITIVITY_H

#include "plan/split/search.h"

enum job_resource {
    JOB_MORE_COMPUTE,   /* matrix units */
    JOB_MORE_BANDWIDTH, /* of the devices' memory */
    JOB_MORE_MEMORY,
    JOB_MORE_INSIDE,  /* link inside a node */
    JOB_MORE_ACROSS,  /* link between nodes */
    JOB_MORE_DEVICES, /* rounded up to whole nodes, one at least */
    JOB_ALL_MEMORY,   /* as much as any split needs */
    JOB_RESOURCES
};

const char *job_resource_name(enum job_resource resource);

struct job_sensitivity {
    double seconds; /* of the best plan with more of it, never above that without */
    bool differs;   /* it is split another way than without */
    int devices;    /* of JOB_MORE_DEVICES: how many there are then */
};

/* `more`: 0.1 is ten percent more. `best`: the best plan without. False when memory runs out. */
bool job_sensitivity(struct job_sensitivity results[JOB_RESOURCES], const struct job_question *question,
                     const struct job_choice *best, double more, struct parallel *pool, struct error *err);

#endif
