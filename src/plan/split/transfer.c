#include "plan/split/transfer.h"

#include "cost/transfer.h"

struct collective_group job_group(const struct job *job, int devices, int apart)
{
    int per_node = job->devices_per_node / apart;
    if (per_node < 1)
        per_node = 1;
    if (per_node > devices)
        per_node = devices;
    return (struct collective_group){
        .devices = devices,
        .devices_per_node = per_node,
        .inside = job->inside,
        .across = job->across,
    };
}

double job_transfer(const struct job *job, enum collective_kind kind, int devices, int apart, double bytes)
{
    struct collective_group group = job_group(job, devices, apart);
    return transfer_seconds(kind, &group, bytes, job->calibration);
}
