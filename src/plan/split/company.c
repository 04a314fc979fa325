#include "plan/split/company.h"

#include "cost/collective.h"

#include <math.h>

/* Returns the seconds of the exchange of gradients with other jobs, if parameters are sharded: each device exchanges
 * its shard. */
static double exchange_shards(const struct job *job, const struct job_exchange *own,
                              const struct job_company *company)
{
    const struct collective_group ranks = {
        .devices = company->jobs, .devices_per_node = 1, .inside = job->inside, .across = company->across};
    double bytes = (own->trained + own->trained_experts) /
                   ((double)job->degrees.data * job->degrees.context) * job_formats_of(job).wire;
    return transfer_seconds(COLLECTIVE_ALL_REDUCE, &ranks, bytes, job->calibration);
}

double job_time_among(const struct job *job, const struct job_layers *layers,
                      const struct job_company *company, struct job_time *time)
{
    struct job_exchange own = job_exchange_of(job, layers);
    struct job waiting = *job, all = *job;
    double after = 0.0;
    waiting.devices = (int)(company->nodes * job->devices_per_node);
    if (job->sharding == 3) {
        after = exchange_shards(job, &own, company);
    } else {
        int own_ranks = (company->together > 0 ? company->together : job->degrees.data) *
                        job->degrees.context * job->degrees.tensor;
        all.degrees.data = company->pipelines;
        all.across = company->across;
        all.devices_per_node = own_ranks < job->devices_per_node ? own_ranks : job->devices_per_node;
        all.sharding = 0;
        own.gradients = fmax(own.gradients, job_exchange_of(&all, layers).gradients);
    }
    *time = job_time_of(&waiting, layers, &own);
    time->data += after;
    time->seconds += after;
    return job->sharding == 3 ? after : own.gradients;
}
