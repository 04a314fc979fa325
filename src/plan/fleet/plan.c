#include "plan/fleet/plan.h"

#include "plan/pipeline_plan.h"
#include "plan/plan_digest.h"

#include <math.h>

static double between(const double *sums, const struct fleet_stage *stage)
{
    return sums[stage->last] - sums[stage->first];
}

/* `share`: micro-batches of each pipeline. */
static void set_stage(struct plan_stage *to, const struct fleet_answer *answer,
                      const struct fleet_pipeline *pipeline, int index, int64_t share)
{
    const struct fleet_problem *problem = &answer->problem;
    const struct fleet_stage *stage = &pipeline->stages[index];
    const struct fleet_option *option = &problem->options[stage->option];
    const struct fleet_held *each = &answer->held;
    int from_end = pipeline->stage_count - index;
    int64_t in_flight = share < from_end ? share : from_end;
    double held = between(option->held, stage), all = each->parameters + each->gradients + each->optimizer;
    double forward = between(option->forward, stage);
    to->first_layer = stage->first;
    to->last_layer = stage->last - 1;
    to->type = option->type;
    to->tensor = option->tensor;
    to->seconds.forward = forward;
    to->seconds.backward = between(option->seconds, stage) - forward;
    to->seconds.send = stage->first > 0 ? option->send[stage->first] : 0;
    to->seconds.optimizer = between(option->updated, stage);
    to->seconds.gradients = pipeline->gradients[index];
    to->bytes = (struct plan_bytes){
        .parameters = held * each->parameters / all,
        .gradients = held * each->gradients / all,
        .optimizer = held * each->optimizer / all,
        .activations = between(option->kept, stage),
        .in_flight = (double)in_flight,
        .working = stage->last == problem->layer_count ? option->last_working : option->working,
        .sent = NAN,
        .total = fleet_stage_memory(problem, stage, in_flight),
    };
}

static bool add_pipeline(struct plan *plan, const struct fleet_answer *answer,
                         const struct fleet_pipeline *from, int copies, int64_t microbatches,
                         struct error *err)
{
    if (copies == 0)
        return true;
    struct plan_pipeline *to = &plan->pipelines[plan->pipeline_count++];
    if (!plan_add_stages(plan, to, from->stage_count, err))
        return false;
    to->copies = copies;
    to->microbatches = microbatches;
    for (int s = 0; s < from->stage_count; s++) {
        set_stage(&to->stages[s], answer, from, s, microbatches);
        plan->memory = fmax(plan->memory, to->stages[s].bytes.total);
    }
    return true;
}

static bool add_pipelines(struct plan *plan, const struct fleet_answer *answer, struct error *err)
{
    if (!plan_add_pipelines(plan, 2 * answer->plan.pipeline_count, err))
        return false;
    plan->pipeline_count = 0;
    plan->memory = 0;
    for (int k = 0; k < answer->plan.pipeline_count; k++) {
        const struct fleet_pipeline *from = &answer->plan.pipelines[k];
        int64_t each = from->microbatches / from->copies;
        int more = (int)(from->microbatches % from->copies);
        if (!add_pipeline(plan, answer, from, more, each + 1, err) ||
            !add_pipeline(plan, answer, from, from->copies - more, each, err))
            return false;
    }
    return true;
}

static uint64_t digest_of(const struct fleet_problem *problem)
{
    uint64_t digest = PLAN_DIGEST_BEGIN;
    size_t count = (size_t)problem->layer_count + 1;
    for (int o = 0; o < problem->option_count; o++) {
        const struct fleet_option *option = &problem->options[o];
        const int64_t which[] = {option->type, option->tensor};
        digest = plan_digest_integers(digest, which, 2);
        digest = plan_digest_numbers(digest, option->seconds, count);
        digest = plan_digest_numbers(digest, option->kept, count);
        digest = plan_digest_numbers(digest, option->held, count);
    }
    return digest;
}

/* The bottleneck is the slowest stage of all pipelines; a stage's seconds include receiving its input. */
static void find_bottleneck(struct plan *plan)
{
    double slowest = 0;
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            if (plan_stage_seconds(&plan->pipelines[p].stages[s]) > slowest) {
                slowest = plan_stage_seconds(&plan->pipelines[p].stages[s]);
                plan->bottleneck_pipeline = p;
                plan->bottleneck_stage = s;
            }
}

bool plan_of_fleet(struct plan *plan, const struct fleet_answer *answer, struct error *err)
{
    plan->objective = "iteration";
    plan->planner = "fleet";
    plan->search = "columns";
    plan->layer_count = answer->problem.layer_count;
    plan->microbatch = answer->microbatch;
    plan->recompute = job_recompute_name(answer->recompute);
    plan->sharding = answer->sharded;
    plan->iteration_time = answer->time.seconds;
    plan->lower_bound = answer->lower_bound;
    plan->proven_optimal = plan_gap(plan) == 0;
    plan->proof_over =
        "pipelines of any cuts, device types and tensor degrees, micro-batch and recomputation";
    plan_add_part(plan, "pipelines", answer->time.pipelines);
    plan_add_part(plan, "after", answer->time.after);
    plan_add_part(plan, "other", answer->time.other);
    plan_add_figure(plan, "combinations", answer->combinations);
    plan_add_figure(plan, "columns", (double)answer->plan.columns);
    if (add_pipelines(plan, answer, err) && plan_set_digests(plan, digest_of(&answer->problem), err) &&
        plan_place(plan, err)) {
        find_bottleneck(plan);
        return true;
    }
    plan_release(plan);
    return false;
}

bool plan_of_fleet_job(struct plan *plan, const struct fleet_answer *answer,
                       const struct fleet_question *question, struct error *err)
{
    bool ok = plan_add_types(plan, question->group_count, err);
    plan->model = arena_string(&plan->arena, question->job.model->name);
    plan->software = arena_string(&plan->arena, question->job.software->name);
    plan->precision = model_precisions[question->precision];
    plan->global_batch = question->job.batch;
    plan->sequence = question->job.sequence;
    plan->headroom = question->headroom;
    if (ok && (!plan->model || !plan->software))
        ok = error_memory(err);
    for (int g = 0; ok && g < question->group_count; g++) {
        const struct cluster_group *group = &question->groups[g];
        plan->types[g] = (struct plan_device_type){
            .name = arena_string(&plan->arena, group->type->name),
            .nodes = group->nodes,
            .per_node = group->devices_per_node,
            .memory = group->memory,
            .inside = plan_add_link(plan, group->inside->name, group->inside->bandwidth, NAN),
            .across = plan_add_link(plan, group->across->name, group->across->bandwidth, NAN),
        };
        ok = plan->types[g].name ? true : error_memory(err);
    }
    if (ok)
        return plan_of_fleet(plan, answer, err);
    plan_release(plan);
    return false;
}

bool plan_of_fleet_profile(struct plan *plan, const struct fleet_answer *answer,
                           const struct fleet_profile_question *question, struct error *err)
{
    const char *model = question->profile->model;
    plan->global_batch = question->microbatches * answer->microbatch;
    plan->headroom = question->headroom;
    if (!plan_take_groups(plan, question->problem, question->cluster, err)) {
        plan_release(plan);
        return false;
    }
    if (model && !(plan->model = arena_string(&plan->arena, model))) {
        plan_release(plan);
        return error_memory(err);
    }
    return plan_of_fleet(plan, answer, err);
}
