#include "plan/split/search.h"

#include <math.h>

static const char *const names[] = {
    "matrix units",       "memory bandwidth", "memory",     "link inside a node",
    "link between nodes", "devices",          "all memory",
};

const char *job_resource_name(enum job_resource resource)
{
    return names[resource];
}

/* The question's own, to be changed. */
struct machine {
    struct cost_device device;
    struct cost_link inside, across;
};

static void enrich(struct job_question *question, struct machine *machine, enum job_resource resource,
                   double more)
{
    struct job *job = &question->job;
    double factor = 1.0 + more;
    switch (resource) {
    case JOB_MORE_COMPUTE:
        for (int type = 0; type < COST_TYPE_COUNT; type++)
            machine->device.peak[type] *= factor;
        break;
    case JOB_MORE_BANDWIDTH:
        machine->device.bandwidth *= factor;
        break;
    case JOB_MORE_MEMORY:
        machine->device.memory = (int64_t)((double)machine->device.memory * factor);
        break;
    case JOB_MORE_INSIDE:
        machine->inside.bandwidth *= factor;
        break;
    case JOB_MORE_ACROSS:
        machine->across.bandwidth *= factor;
        break;
    case JOB_MORE_DEVICES: {
        int node = job->devices_per_node < job->devices ? job->devices_per_node : 1;
        job->devices += (int)ceil(job->devices * more / node) * node;
        break;
    }
    case JOB_ALL_MEMORY:
        machine->device.memory = INT64_MAX / 4;
        break;
    case JOB_RESOURCES:
        break;
    }
}

static bool same_degrees(const struct job *a, const struct job *b)
{
    for (int d = 0; d < JOB_DIMENSIONS; d++)
        if (job_dimension_value(a, (enum job_dimension)d) != job_dimension_value(b, (enum job_dimension)d))
            return false;
    return true;
}

bool job_sensitivity(struct job_sensitivity results[JOB_RESOURCES], const struct job_question *question,
                     const struct job_choice *best, double more, struct parallel *pool, struct error *err)
{
    struct job_search_options options = {.top = 1, .pool = pool};
    for (int r = 0; r < JOB_RESOURCES; r++) {
        struct job_question richer = *question;
        struct machine machine = {*question->job.device, *question->job.inside, *question->job.across};
        struct job_search search;
        richer.job.device = &machine.device;
        richer.job.inside = &machine.inside;
        richer.job.across = &machine.across;
        enrich(&richer, &machine, (enum job_resource)r, more);
        if (!job_search(&search, &richer, &options, err))
            return false;
        results[r] = (struct job_sensitivity){
            .seconds = fmin(search.plans[0].time.seconds, best->time.seconds),
            .differs = !same_degrees(&search.plans[0].job, &best->job),
            .devices = richer.job.devices,
        };
        job_search_release(&search);
    }
    return true;
}
