#include "plan/split/remake.h"

#include "cost/model_profile.h"
#include "plan/split/plan.h"

#include <string.h>

bool plan_is_job(const struct plan *plan)
{
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    const struct plan_stage *first = &pipeline->stages[0];
    if (plan->pipeline_count != 1 || plan->type_count != 1)
        return false;
    for (int s = 0; s < pipeline->stage_count; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        if (stage->tensor != first->tensor || stage->context != first->context ||
            stage->expert != first->expert || stage->data != 1)
            return false;
    }
    return true;
}

static const char *place_of(const struct plan *plan)
{
    return plan->path ? plan->path : "plan";
}

bool plan_precision_of(const struct plan *plan, const struct cost_device *device, enum cost_type *type,
                       struct error *err)
{
    *type = model_type(device, MODEL_MIXED);
    return !plan->precision || strcmp(plan->precision, "mixed") == 0 ||
           cost_type_find(plan->precision, type) ||
           error_set(err, ERROR_INPUT,
                     "%s: training.precision: expected mixed or a type (bf16, fp16, fp8, ...), found '%s'",
                     place_of(plan), plan->precision);
}

bool job_remake(struct job *job, struct plan *plan, const struct plan_parts *given, struct error *err)
{
    memset(job, 0, sizeof *job);
    job->model = plan_model_of(plan, given, err);
    job->software = job->model ? plan_software_of(plan, err) : NULL;
    const struct cluster_group *group = job->software ? plan_groups_of(plan, given, err) : NULL;
    if (!group || !plan_precision_of(plan, group->type, &job->type, err))
        return false;
    job_set_group(job, group);
    job->sequence = plan->sequence > 0 ? plan->sequence : job->model->sequence;
    if (job->sequence < 1)
        return error_set(err, ERROR_USAGE, "%s: says no sequence, nor does '%s': training.sequence is needed",
                         place_of(plan), job->model->name);
    if (plan->global_batch < 1 && plan->pipelines[0].microbatches < 1)
        return error_set(err, ERROR_USAGE, "%s: says no global batch: --global-batch N is needed",
                         place_of(plan));
    return job_of_plan(job, plan, err);
}
