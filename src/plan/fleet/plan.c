#include "plan/fleet/plan.h"

#include "core/unit.h"
#include "plan/fleet/idle.h"
#include "plan/parts.h"
#include "plan/pipeline_plan.h"
#include "plan/plan_digest.h"
#include "plan/split/plan.h"

#include <math.h>
#include <string.h>

#define SAME 1e-6 /* of an iteration */

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
    double held = between(option->sums.held, stage),
           all = each->parameters + each->gradients + each->optimizer;
    double forward = between(option->sums.forward, stage);
    to->layers.first = stage->first;
    to->layers.last = stage->last - 1;
    to->type = option->type;
    to->degrees.tensor = option->tensor;
    to->seconds.forward = forward;
    to->seconds.backward = between(option->sums.seconds, stage) - forward;
    to->seconds.send = stage->first > 0 ? option->sums.send[stage->first] : 0;
    to->seconds.optimizer = between(option->sums.updated, stage);
    to->seconds.gradients = pipeline->gradients[index];
    to->bytes = (struct plan_bytes){
        .parameters = held * each->parameters / all,
        .gradients = held * each->gradients / all,
        .optimizer = held * each->optimizer / all,
        .activations = between(option->sums.kept, stage),
        .in_flight = (double)in_flight,
        .working = stage->last == problem->layer_count ? option->last_working : option->working,
        .sent = NAN,
        .total = fleet_stage_memory(problem, stage, in_flight),
    };
}

/* The exposed exchange of gradients, and messages: an option's `send` is of both directions, to the stage before. */
static bool add_transfers(struct plan *plan, struct plan_stage *stage, int index,
                          const struct fleet_answer *answer)
{
    const struct plan_device_type *type = &plan->types[stage->type];
    struct plan_transfer gradients = {
        .kind = COLLECTIVE_ALL_REDUCE,
        .purpose = PURPOSE_GRADIENTS,
        .when = WHEN_AFTER,
        .group = answer->pipelines,
        .per_node = 1,
        .link = type->across,
        .count = 1,
        .bytes = stage->bytes.gradients,
        .seconds = stage->seconds.gradients,
        .shown = 1,
    };
    if (!plan_add_transfer(plan, stage, gradients))
        return false;
    double one_way = stage->seconds.send / 2;
    return index == 0 ||
           plan_add_sends(plan, stage - 1, stage, type->across, stage[-1].bytes.sent, one_way, one_way);
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
        if (!add_transfers(plan, &to->stages[s], s, answer))
            return error_memory(err);
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
        digest = plan_digest_numbers(digest, option->sums.seconds, count);
        digest = plan_digest_numbers(digest, option->sums.kept, count);
        digest = plan_digest_numbers(digest, option->sums.held, count);
    }
    return digest;
}

/* The bottleneck is the slowest stage of all pipelines; a stage's seconds include receiving its input. */
void plan_find_bottleneck(struct plan *plan)
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

bool plan_add_idle(struct plan *plan, int type, int devices, double with, struct error *err)
{
    struct unit_texts texts = {0};
    double more = with / plan->iteration_time - 1.0;
    const char *reason;
    if (!plan->idle)
        plan->idle = ARENA_ARRAY(&plan->arena, (size_t)plan->type_count + 1, struct plan_idle);
    if (isnan(with))
        reason = "no split over this number is faster";
    else if (isinf(with))
        reason = "no plan found with any of them fits";
    else if (more < SAME)
        reason = "the best plan found with any of them is no faster";
    else
        reason = arena_format(&plan->arena, "the best plan found with any of them takes %s, %.*f %% more",
                              unit_text(&texts, with, UNIT_TIME), more < 0.1, 100.0 * more);
    if (!plan->idle || !reason)
        return error_memory(err);
    plan->idle[plan->idle_count++] =
        (struct plan_idle){type, devices, isfinite(with) ? fmax(with, plan->iteration_time) : NAN, reason};
    return true;
}

int fleet_idle(const struct fleet_answer *answer, int type)
{
    int left = answer->problem.types[type].devices;
    for (int k = 0; k < answer->plan.pipeline_count; k++)
        left -= answer->plan.pipelines[k].copies * answer->plan.pipelines[k].devices[type];
    return left;
}

bool plan_of_fleet(struct plan *plan, const struct fleet_answer *answer, struct error *err)
{
    plan->objective = "iteration";
    plan->planner = "fleet";
    plan->search = "columns";
    plan->layer_count = answer->problem.layer_count;
    plan->microbatch = answer->microbatch;
    plan->recompute = recompute_name(answer->recompute);
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
        plan_find_bottleneck(plan);
        return true;
    }
    plan_release(plan);
    return false;
}

/* Collectives inside the passes, which count their seconds. */
static bool add_collectives(struct plan *plan, struct plan_stage *stage, const struct fleet_answer *answer,
                            const struct fleet_question *question)
{
    struct job job = fleet_job_on(question, stage->type, stage->degrees.tensor);
    job.microbatch = answer->microbatch;
    job.recompute = answer->recompute;
    struct job_layers layers = job_layers_of(&job);
    const struct job_part part = {
        .first = stage->layers.first > 0 ? stage->layers.first - 1 : 0,
        .last = stage->layers.last > layers.block_count ? layers.block_count : stage->layers.last,
        .embedding = stage->layers.first == 0,
        .head = stage->layers.last == layers.block_count + 1,
    };
    return plan_add_passes_of_job(plan, stage, &job, &layers, &part);
}

bool plan_take_question(struct plan *plan, const struct fleet_question *question, struct error *err)
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
    if (ok && question->group_count > 0 && question->groups[0].network)
        plan->network = *question->groups[0].network;
    for (int g = 0; ok && g < question->group_count; g++) {
        const struct cluster_group *group = &question->groups[g];
        plan->types[g] = (struct plan_device_type){
            .name = arena_string(&plan->arena, group->type->name),
            .nodes = group->nodes,
            .inside = plan_add_link(plan, group->inside->name, group->inside->bandwidth,
                                    plan_link_latency(group, true)),
            .across = plan_add_link(plan, group->across->name, group->across->bandwidth,
                                    plan_link_latency(group, false)),
            .products = cost_type_name(model_type(group->type, question->precision)),
            .like = arena_string(&plan->arena, group->type->like ? group->type->like : ""),
        };
        ok = (plan->types[g].name && plan->types[g].like) || error_memory(err);
        if (!group->type->like || group->type->fitted)
            plan->types[g].like = NULL;
    }
    plan->send_blocks = question->job.software->send_blocks;
    return ok;
}

bool plan_of_fleet_job(struct plan *plan, const struct fleet_answer *answer,
                       const struct fleet_question *question, struct error *err)
{
    if (!plan_take_question(plan, question, err)) {
        plan_release(plan);
        return false;
    }
    if (!plan_of_fleet(plan, answer, err))
        return false;
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            if (!add_collectives(plan, &plan->pipelines[p].stages[s], answer, question)) {
                plan_release(plan);
                return error_memory(err);
            }
    return true;
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
    if (!plan_of_fleet(plan, answer, err))
        return false;
    for (int t = 0; t < plan->type_count; t++) {
        int idle = fleet_idle(answer, t);
        if (idle == 0)
            continue;
        double with = fleet_seconds_with(&answer->plan, &answer->problem, t, idle, question->deadline);
        if ((isnan(with) && !error_memory(err)) ||
            !plan_add_idle(plan, t, idle, with + answer->time.other, err)) {
            plan_release(plan);
            return false;
        }
    }
    return true;
}

/* ---- rivals ---- */

static bool alike(const struct fleet_rival *a, const struct fleet_rival *b)
{
    return a->jobs == b->jobs && a->plan.microbatch == b->plan.microbatch &&
           a->plan.sharding == b->plan.sharding && strcmp(a->plan.recompute, b->plan.recompute) == 0 &&
           memcmp(a->devices, b->devices, sizeof a->devices) == 0;
}

void fleet_rivals_add(struct fleet_rivals *rivals, const struct fleet_rival *rival)
{
    int at = 0;
    while (at < rivals->count && !alike(&rivals->items[at], rival))
        at++;
    if (at < rivals->count && rivals->items[at].plan.iteration_time <= rival->plan.iteration_time)
        return;
    if (at == FLEET_MAX_RIVALS && rivals->items[--at].plan.iteration_time <= rival->plan.iteration_time)
        return;
    if (at == rivals->count)
        rivals->count++;
    for (; at > 0 && rivals->items[at - 1].plan.iteration_time > rival->plan.iteration_time; at--)
        rivals->items[at] = rivals->items[at - 1];
    rivals->items[at] = *rival;
}

bool plan_add_rivals(struct plan *plan, const struct fleet_rivals *rivals, int max, struct error *err)
{
    plan->fleets = ARENA_ARRAY(&plan->arena, (size_t)rivals->count + 1, struct plan_fleet);
    for (int i = 0; plan->fleets && i < rivals->count && i < max; i++) {
        const struct fleet_rival *rival = &rivals->items[i];
        int *works = ARENA_ARRAY(&plan->arena, FLEET_MAX_TYPES, int);
        if (!works)
            return error_memory(err);
        memcpy(works, rival->devices, sizeof rival->devices);
        struct plan_fleet *fleet = &plan->fleets[plan->fleet_count++];
        *fleet = rival->plan;
        fleet->works = works;
        fleet->way = rival->jobs ? "jobs" : "pipelines";
    }
    return plan->fleets || error_memory(err);
}
