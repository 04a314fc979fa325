#include "plan/split/question.h"

static const char *const names[] = {"tp", "pp", "dp", "cp", "ep", "mbs", "vp", "zero", "recompute"};

const char *job_dimension_name(enum job_dimension dimension)
{
    return names[dimension];
}

const char *job_recompute_name(enum recompute recompute)
{
    static const char *const words[] = {"none", "selective", "full"};
    return words[recompute];
}

int64_t job_dimension_value(const struct job *job, enum job_dimension dimension)
{
    const int64_t values[] = {job->tensor,     job->pipeline, job->data,     job->context,  job->expert,
                              job->microbatch, job->chunks,   job->sharding, job->recompute};
    return values[dimension];
}
