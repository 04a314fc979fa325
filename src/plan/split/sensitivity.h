/* The gain from more of each resource: the search repeated for a machine that has it. */
#ifndef REHEARSE_PLAN_SPLIT_SENSITIVITY_H
#define REHEARSE_PLAN_SPLIT_SENSITIVITY_H

#include "plan/split/search.h"

enum job_resource {
    JOB_MORE_COMPUTE,   /* rate of the matrix units */
    JOB_MORE_BANDWIDTH, /* of the devices' memory */
    JOB_MORE_MEMORY,
    JOB_MORE_INSIDE,  /* link inside a node */
    JOB_MORE_ACROSS,  /* link between nodes */
    JOB_MORE_DEVICES, /* rounded up to whole nodes, at least one */
    JOB_ALL_MEMORY,   /* as much as any split needs */
    JOB_RESOURCES
};

const char *job_resource_name(enum job_resource resource);

struct job_sensitivity {
    double seconds; /* of the best plan with more of it, never above the time without */
    bool differs;   /* its split differs from the best one without */
    int devices;    /* of JOB_MORE_DEVICES: the new number of devices */
};

/* Fills in `results`. `more`: 0.1 is 10 % more. `best`: the best plan without. False: out of memory. */
bool job_sensitivity(struct job_sensitivity results[JOB_RESOURCES], const struct job_question *question,
                     const struct job_choice *best, double more, struct parallel *pool, struct error *err);

#endif
