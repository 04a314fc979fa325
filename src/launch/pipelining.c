/* A job's pipeline as a split of torch.distributed.pipelining. */
#include "launch/part.h"

#include <inttypes.h>

static bool is_sharded(const struct job *job)
{
    return job->sharding > 0;
}

static const struct launch_note notes[] = {
    {launch_always,
     "for pipeline(module, mb_args, split_spec=split_spec) of a module whose blocks are `layers`"},
    {launch_is_tensor_parallel, "set elsewhere: tensor parallel (torch.distributed.tensor.parallel)"},
    {launch_is_context_parallel, "set elsewhere: context parallel (torch.distributed.tensor.experimental)"},
    {launch_is_expert_parallel, "set elsewhere: expert parallel"},
    {launch_is_data_parallel, "set elsewhere: data parallel (DistributedDataParallel or fully_shard)"},
    {is_sharded, "set elsewhere: sharded optimizer states, gradients or parameters"},
    {launch_recomputes, "set elsewhere: recomputation (torch.utils.checkpoint)"},
    {launch_is_packed, "set elsewhere: sequences packed from documents"},
};

static bool check(const struct job *job, struct error *err)
{
    if (job->pipeline == 1)
        return error_set(err, ERROR_INFEASIBLE, "one stage is no pipeline: there is nothing to split");
    if (job->model->encoder_layers > 0)
        return error_set(err, ERROR_INFEASIBLE, "'%s' is not one list of blocks", job->model->name);
    for (int i = 1; i < job->pipeline * job->chunks; i++)
        if (job_chunk_blocks(job, i) == 0)
            return error_set(err, ERROR_INFEASIBLE, "stage %d has no block to begin with", i);
    return launch_check_rounds(job, err);
}

bool launch_write_pipelining(const struct job *job, struct text *out, struct error *err)
{
    const char *schedule = job->chunks > 1 ? "ScheduleInterleaved1F1B" : "Schedule1F1B";
    if (!check(job, err))
        return false;
    launch_add_head(out, LAUNCH_PIPELINING, notes, sizeof notes / sizeof *notes, job);
    text_format(out, "from torch.distributed.pipelining import %s, SplitPoint\n\nsplit_spec = {\n", schedule);
    for (int i = 1, block = job_chunk_blocks(job, 0); i < job->pipeline * job->chunks; i++) {
        text_format(out, "    \"layers.%d\": SplitPoint.BEGINNING,  # rank %d\n", block, i % job->pipeline);
        block += job_chunk_blocks(job, i);
    }
    text_format(out, "}\nschedule_class = %s\nn_microbatches = %" PRId64 "\n", schedule,
                job_microbatches(job));
    text_format(out, "microbatch_size = %" PRId64 "\n", job->microbatch);
    return true;
}
