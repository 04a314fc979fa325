/* A job's pipeline as a split of torch.distributed.pipelining. */
#include "launch/part.h"

#include <inttypes.h>

/* A split needs a block at which each stage but the first begins. */
static bool check_stages(const struct launch_subject *of, const struct plan_pipeline *pipeline,
                         struct error *err)
{
    for (int s = 1; s < pipeline->stage_count; s++) {
        int first, last;
        launch_blocks(of, &pipeline->stages[s], &first, &last);
        if (first >= last)
            return error_set(err, ERROR_INFEASIBLE, "stage %d begins without a block", s);
    }
    return true;
}

static bool check(const struct launch_subject *of, struct error *err)
{
    if (of->job->degrees.pipeline == 1)
        return error_set(err, ERROR_INFEASIBLE, "one stage: there is nothing to split");
    if (of->is_job && architecture_first_block(of->job->model) > 0)
        return error_set(err, ERROR_INFEASIBLE, "'%s' is not a single list of blocks", of->job->model->name);
    for (int p = 0; p < of->plan->pipeline_count; p++)
        if (!check_stages(of, &of->plan->pipelines[p], err))
            return false;
    if (of->is_job && job_is_timed(of->job) && of->job->technique.schedule != SCHEDULE_ZB_V)
        return error_set(
            err, ERROR_INFEASIBLE,
            "PyTorch 2.6 has no schedule '%s': rehearse simulate PLAN --write-schedule writes its order",
            job_schedule_name(of->job));
    return !of->is_job || launch_check_rounds(of->job, err);
}

static const char *schedule_class(const struct launch_subject *of)
{
    if (of->is_job && job_is_folded(of->job))
        return "ScheduleZBVZeroBubble";
    return of->plan->chunks > 1 ? "ScheduleInterleaved1F1B" : "Schedule1F1B";
}

static void add_split(const struct launch_subject *of, const struct plan_pipeline *pipeline,
                      const char *indent, struct text *out)
{
    int ranks = pipeline->stage_count / of->plan->chunks;
    bool folded = of->is_job && job_is_folded(of->job);
    text_format(out, "%s", "{\n");
    for (int s = 1; s < pipeline->stage_count; s++) {
        int first, last;
        launch_blocks(of, &pipeline->stages[s], &first, &last);
        text_format(out, "%s    \"layers.%d\": SplitPoint.BEGINNING,  # rank %d\n", indent, first,
                    folded && s >= ranks ? pipeline->stage_count - 1 - s : s % ranks);
    }
    text_format(out, "%s}", indent);
}

/* Lists the devices of each stage, which a split does not contain. */
static void add_devices(const struct launch_subject *of, const struct plan_pipeline *pipeline,
                        const char *indent, struct text *out)
{
    for (int s = 0; s < pipeline->stage_count; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        text_format(out, "%s# stage %d: %d x ", indent, s, plan_stage_devices(stage));
        launch_add_name(out, of->plan->types[stage->type].name);
        text_format(out, ", tensor %d, data %d\n", stage->degrees.tensor, stage->degrees.data);
    }
}

/* Pipelines of several kinds run side by side, each with its own split and share of the batch. */
static void add_pipelines(const struct launch_subject *of, struct text *out)
{
    text_add(out, "pipelines = [\n");
    for (int p = 0; p < of->plan->pipeline_count; p++) {
        const struct plan_pipeline *pipeline = &of->plan->pipelines[p];
        text_add(out, "    {\n");
        add_devices(of, pipeline, "        ", out);
        text_format(out,
                    "        \"copies\": %d,\n        \"n_microbatches\": %" PRId64
                    ",\n        \"split_spec\": ",
                    pipeline->copies, pipeline->microbatches);
        add_split(of, pipeline, "        ", out);
        text_add(out, ",\n    },\n");
    }
    text_add(out, "]\n");
}

bool launch_write_pipelining(const struct launch_subject *of, struct text *out, struct error *err)
{
    const struct plan *plan = of->plan;
    const char *schedule = schedule_class(of);
    const struct job *job = of->job;
    if (!check(of, err))
        return false;
    const struct launch_note notes[] = {
        {true, "for pipeline(module, mb_args, split_spec=split_spec) of a module whose blocks are `layers`"},
        {job->degrees.tensor > 1, "set elsewhere: tensor parallel (torch.distributed.tensor.parallel)"},
        {job->degrees.context > 1, "set elsewhere: context parallel (torch.distributed.tensor.experimental)"},
        {job->degrees.expert > 1, "set elsewhere: expert parallel"},
        {job->degrees.data > 1, "set elsewhere: data parallel (DistributedDataParallel or fully_shard)"},
        {job->sharding > 0, "set elsewhere: sharded optimizer states, gradients or parameters"},
        {job->recompute != RECOMPUTE_NONE, "set elsewhere: recomputation (torch.utils.checkpoint)"},
        {job->document > 0, "set elsewhere: sequences packed from documents"},
    };
    launch_add_head(out, "PyTorch 2.6", notes, sizeof notes / sizeof *notes, of);
    if (!of->is_job && plan->pipeline_count == 1)
        add_devices(of, &plan->pipelines[0], "", out);
    text_format(out, "from torch.distributed.pipelining import %s, SplitPoint\n\n", schedule);
    if (plan->pipeline_count == 1) {
        text_add(out, "split_spec = ");
        add_split(of, &plan->pipelines[0], "", out);
        text_add(out, "\n");
    } else {
        add_pipelines(of, out);
    }
    text_format(out, "schedule_class = %s\n", schedule);
    if (plan->pipeline_count == 1)
        text_format(out, "n_microbatches = %" PRId64 "\n", plan->pipelines[0].microbatches);
    if (plan->microbatch > 0)
        text_format(out, "microbatch_size = %" PRId64 "\n", plan->microbatch);
    return true;
}
