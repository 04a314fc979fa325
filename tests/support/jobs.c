#include "support/jobs.h"

struct job job_example(void)
{
    const struct cost_device *device = cost_device_find("h100");
    struct job job = {
        .model = architecture_find("llama-3-8b"),
        .device = device,
        .calibration = calibration_of(device),
        .software = software_find("megatron-core"),
        .inside = cost_link_find(device->link),
        .across = cost_link_find("ib-400g"),
        .devices_per_node = 8,
        .tensor = 1,
        .pipeline = 1,
        .context = 1,
        .expert = 1,
        .chunks = 1,
        .sharding = 1,
        .microbatch = 1,
        .batch = 64,
        .sequence = 4096,
        .type = COST_BF16,
        .recompute = RECOMPUTE_NONE,
    };
    job_spread(&job, 8);
    return job;
}

void job_spread(struct job *job, int devices)
{
    job->devices = devices;
    job->data = devices / (job->tensor * job->pipeline * job->context);
}
