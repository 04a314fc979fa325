/* What a device holds beside tensors: its context, and the buffers of communicators.
 *
 * NCCL gives each channel of a communicator buffers for each neighbour whose messages it takes: for the one before it
 * in the ring, for up to two in the tree, and for each device that sends to it in an all-to-all; between nodes all
 * senders share buffers (github.com/NVIDIA/nccl, issues 864, 964, 1450 and 1685). */
#include "plan/split/job.h"

#include <math.h>
#include <stdio.h>

/* Devices of a group with those in its node; bytes of the link over which they are neighbours. */
static double ring_bytes(const struct collective_group *group)
{
    const struct cost_link *link = group->devices_per_node > 1 ? group->inside : group->across;
    double neighbours = 1.0 + 2.0 * (group->devices - 1.0) / group->devices;
    return link ? neighbours * link->buffers : 0.0;
}

static double pair_bytes(const struct collective_group *group, int peers)
{
    bool inside = group->devices_per_node > 1;
    double near = inside && group->inside
                      ? fmin(peers, group->devices_per_node - 1) * group->inside->pair_buffers
                      : 0.0;
    bool across = group->devices > group->devices_per_node && group->across;
    return near + (across ? group->across->pair_buffers : 0.0);
}

double job_beside(const struct job *job, struct job_beside *parts)
{
    static const char *const names[JOB_COMMUNICATORS] = {
        "all devices", "tensor parallel", "context parallel", "data parallel", "pipeline", "expert parallel"};
    const struct degrees *degrees = &job->degrees;
    int model = degrees->tensor * degrees->context, stages = degrees->pipeline;
    int each = job->devices > 0 ? job->devices / stages : 1;
    bool deep = job_dispatcher(job) == DISPATCH_DEEPEP;
    const struct {
        int devices, apart, peers; /* peers: with which it exchanges by pairs; 0: in rings and trees */
    } groups[JOB_COMMUNICATORS] = {
        {job->devices, 1, 0},
        {degrees->tensor, 1, 0},
        {degrees->context, degrees->tensor, 0},
        {model > 1 || stages > 1 ? degrees->data : 1, model, 0},
        {stages, each > 0 ? each : 1, 2},
        {deep ? 1 : degrees->expert, 1, degrees->expert - 1},
    };
    double sum = (double)job->device->context + job->software->loaded;
    *parts = (struct job_beside){.context = sum};
    for (int g = 0; g < JOB_COMMUNICATORS; g++) {
        if (groups[g].devices <= 1)
            continue;
        struct collective_group group = job_group(job, groups[g].devices, groups[g].apart);
        double bytes = groups[g].peers > 0 ? pair_bytes(&group, groups[g].peers) : ring_bytes(&group);
        parts->items[parts->count++] =
            (struct job_communicator){.name = names[g], .devices = groups[g].devices, .bytes = bytes};
        sum += bytes;
    }
    return sum;
}

double job_runtime(const struct job *job)
{
    struct job_beside parts;
    double own = job->software->runtime_share * (double)job->device->memory +
                 JOB_WORKSPACES * (double)job->device->workspace;
    return own + (job->software->prints_device ? job_beside(job, &parts) : 0.0);
}

double job_needed(const struct job *job, double printed)
{
    struct job_beside parts;
    const struct software *software = job->software;
    double beside = job_beside(job, &parts), withheld = job->device->withheld * (double)job->device->memory;
    double used = (printed - (software->prints_device ? beside : 0.0)) / (1.0 + software->reserved_share);
    return used * (1.0 + software->cached_share) + beside + withheld;
}
