#include "support/jobs.h"

#include "devices/tables.h"
#include "plan/split/plan.h"

struct job job_example(void)
{
    const struct cost_device *device = tables_device(NULL, "h100");
    struct job job = {
        .model = architecture_find("llama-3-8b"),
        .device = device,
        .calibration = tables_calibration(NULL, device),
        .software = software_find("megatron-core"),
        .inside = tables_link(NULL, device->link),
        .across = tables_link(NULL, "ib-400g"),
        .devices_per_node = 8,
        .degrees.tensor = 1,
        .degrees.pipeline = 1,
        .degrees.context = 1,
        .degrees.expert = 1,
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
    job->degrees.data = devices / (job->degrees.tensor * job->degrees.pipeline * job->degrees.context);
}
