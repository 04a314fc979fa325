#include "job/job.h"

#include <inttypes.h>

static bool divides(struct error *err, const char *what, int64_t whole, const char *by, int64_t part)
{
    if (whole % part == 0)
        return true;
    return error_set(err, ERROR_INFEASIBLE, "%s (%" PRId64 ") is not a multiple of %s (%" PRId64 ")", what,
                     whole, by, part);
}

bool job_check(const struct job *job, struct error *err)
{
    int64_t parallel = (int64_t)job->tensor * job->pipeline * job->context;
    int64_t blocks = job->model->layers + job->model->encoder_layers;
    if (parallel * job->data != job->devices)
        return error_set(err, ERROR_INFEASIBLE,
                         "tensor %d x pipeline %d x context %d x data %d parallel is not %d devices",
                         job->tensor, job->pipeline, job->context, job->data, job->devices);
    if (blocks < (int64_t)job->pipeline * job->chunks)
        return error_set(err, ERROR_INFEASIBLE, "%d stages of %d chunks are more than %" PRId64 " blocks",
                         job->pipeline, job->chunks, blocks);
    if (job->expert > 1 && job->model->experts == 0)
        return error_set(err, ERROR_INFEASIBLE, "expert parallel %d, but '%s' has no experts", job->expert,
                         job->model->name);
    return divides(err, "the global batch", job->batch, "data parallel x micro-batch",
                   job->data * job->microbatch) &&
           divides(err, "the number of heads", job->model->heads, "tensor parallel", job->tensor) &&
           divides(err, "the sequence", job->sequence, "context parallel", job->context) &&
           (job->expert <= 1 ||
            divides(err, "the number of experts", job->model->experts, "expert parallel", job->expert));
}
