#include "plan/split/job.h"

#include <inttypes.h>

static bool divides(struct error *err, const char *what, int64_t whole, const char *by, int64_t part)
{
    if (whole % part == 0)
        return true;
    return error_set(err, ERROR_INFEASIBLE, "%s (%" PRId64 ") is not a multiple of %s (%" PRId64 ")", what,
                     whole, by, part);
}

/* Embedding and head may each take the place of a block in an interleaved pipeline (Megatron-Core:
 * account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split). */
static bool check_chunks(const struct job *job, struct error *err)
{
    int64_t blocks = job_block_count(job);
    int64_t places = job->chunks > 1 ? blocks + 2 : blocks;
    return places >= (int64_t)job->pipeline * job->chunks ||
           error_set(err, ERROR_INFEASIBLE, "%d stages of %d chunks are more than %" PRId64 " blocks",
                     job->pipeline, job->chunks, blocks);
}

bool job_check_degrees(const struct job *job, struct error *err)
{
    const struct architecture *model = job->model;
    int64_t parallel = (int64_t)job->tensor * job->pipeline * job->context;
    if (job->sharding < 0 || job->sharding > 3)
        return error_set(err, ERROR_INFEASIBLE, "expected a ZeRO stage from 0 to 3, found %d", job->sharding);
    if (parallel * job->data != job->devices)
        return error_set(err, ERROR_INFEASIBLE,
                         "tensor %d x pipeline %d x context %d x data %d parallel is not %d devices",
                         job->tensor, job->pipeline, job->context, job->data, job->devices);
    if (job->chunks > 1 && !check_chunks(job, err))
        return false;
    if (job->expert > 1 && model->experts == 0)
        return error_set(err, ERROR_INFEASIBLE, "expert parallel %d, but '%s' has no experts", job->expert,
                         model->name);
    return divides(err, "the number of heads", model->heads, "tensor parallel", job->tensor) &&
           divides(err, "the sequence", job->sequence, "context parallel", job->context) &&
           (job->expert <= 1 ||
            divides(err, "the number of experts", model->experts, "expert parallel", job->expert));
}

bool job_check(const struct job *job, struct error *err)
{
    const struct architecture *model = job->model;
    if (!job_check_degrees(job, err) || !check_chunks(job, err))
        return false;
    if (model->positions > 0 && job->sequence > model->positions)
        return error_set(err, ERROR_INFEASIBLE,
                         "the sequence (%" PRId64 ") is longer than the %" PRId64 " positions of '%s'",
                         job->sequence, model->positions, model->name);
    return divides(err, "the global batch", job->batch, "data parallel x micro-batch",
                   job->data * job->microbatch);
}
