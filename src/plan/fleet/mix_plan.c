/* Jobs on groups as a plan, back, and as a table. */
#include "plan/fleet/best.h"
#include "plan/fleet/plan.h"
#include "plan/split/plan.h"

#include <math.h>
#include <string.h>

#define SEARCH "jobs"

/* ---- out ---- */

/* Copies a pipeline of one plan to another: stages and their transfers, whose links get new places. */
static bool copy_pipeline(struct plan *plan, struct plan_pipeline *to, const struct plan *from, int type,
                          struct error *err)
{
    const struct plan_pipeline *pipeline = &from->pipelines[0];
    if (!plan_add_stages(plan, to, pipeline->stage_count, err))
        return false;
    to->copies = pipeline->copies;
    to->microbatches = pipeline->microbatches;
    for (int s = 0; s < pipeline->stage_count; s++) {
        struct plan_stage *stage = &to->stages[s];
        const struct plan_stage *old = &pipeline->stages[s];
        *stage = *old;
        stage->type = type;
        stage->run_count = 0;
        stage->runs = NULL;
        stage->transfers = NULL;
        stage->transfer_count = stage->transfer_room = 0;
        for (int t = 0; t < old->transfer_count; t++) {
            struct plan_transfer transfer = old->transfers[t];
            const struct plan_link *link = transfer.link >= 0 ? &from->links[transfer.link] : NULL;
            transfer.link = link ? plan_add_link(plan, arena_string(&plan->arena, link->name),
                                                 link->bandwidth, link->latency)
                                 : -1;
            if ((link && transfer.link < 0) || !plan_add_transfer(plan, stage, transfer))
                return error_memory(err);
        }
    }
    return true;
}

/* Takes over a kind's pipeline, and from the first one what all share. */
static bool add_kind(struct plan *plan, const struct mix_kind *kind, int index, struct error *err)
{
    struct plan own;
    plan_init(&own);
    if (!plan_of_one_job(&own, &kind->choice.job, kind->choice.job.devices, err))
        return false;
    bool ok = copy_pipeline(plan, &plan->pipelines[index], &own, kind->group, err);
    for (int s = 0; s < own.pipelines[0].stage_count && ok; s++)
        if (plan->pipelines[index].stages[s].chunk == 0)
            plan->pipelines[index].stages[s].seconds.gradients = kind->choice.time.data;
    plan->memory = fmax(plan->memory, own.memory);
    if (index == 0) {
        plan->layer_count = own.layer_count;
        plan->prefetch = own.prefetch;
        plan->keeps_gathered = own.keeps_gathered;
        plan->schedule = kind->choice.job.chunks > 1 ? "interleaved-1f1b" : "1f1b";
        plan->recompute = own.recompute;
        ok = ok && (plan->layers_digest = arena_string(&plan->arena, own.layers_digest)) != NULL;
    }
    plan_release(&own);
    return ok;
}

static bool fill_in(struct plan *plan, const struct mix_answer *mix, struct error *err)
{
    const struct job *job = &mix->kinds[0].choice.job;
    plan->objective = "iteration";
    plan->planner = "fleet";
    plan->search = SEARCH;
    plan->microbatch = job->microbatch;
    plan->technique = job->technique;
    plan->sharding = job->sharding;
    plan->chunks = job->chunks;
    plan->iteration_time = mix->time.seconds;
    plan->lower_bound = mix->lower_bound;
    plan->proven_optimal = plan_gap(plan) == 0;
    plan->proof_over = "separate jobs per group with the same settings, and pipelines over several types";
    plan_add_part(plan, "pipelines", mix->time.pipelines);
    plan_add_part(plan, "after", mix->time.after);
    plan_add_part(plan, "other", mix->time.other);
    plan_add_figure(plan, "combinations", mix->combinations);
    plan->memory = 0;
    if (!plan_add_pipelines(plan, mix->kind_count, err))
        return false;
    for (int k = 0; k < mix->kind_count; k++)
        if (!add_kind(plan, &mix->kinds[k], k, err))
            return false;
    plan_find_bottleneck(plan);
    return plan_place(plan, err);
}

bool plan_of_mix(struct plan *plan, const struct mix_answer *mix, const struct fleet_question *question,
                 struct error *err)
{
    if (plan_take_question(plan, question, err) && fill_in(plan, mix, err))
        return true;
    plan_release(plan);
    return false;
}

/* ---- back ---- */

bool plan_is_mix(const struct plan *plan)
{
    return plan->search && strcmp(plan->search, SEARCH) == 0;
}

bool mix_score(struct mix_answer *mix, const struct fleet_question *question, struct plan *plan,
               const int *type_of, struct error *err)
{
    *mix = (struct mix_answer){.lower_bound = 0};
    for (int p = 0; p < plan->pipeline_count; p++) {
        struct plan one = *plan;
        if (p == FLEET_MAX_TYPES)
            return error_set(err, ERROR_INFEASIBLE, "%s: has jobs on more than %d groups", plan->path,
                             FLEET_MAX_TYPES);
        struct mix_kind *kind = &mix->kinds[mix->kind_count++];
        const struct cluster_group *group;
        one.pipelines = &plan->pipelines[p];
        one.pipeline_count = 1;
        one.global_batch = plan->pipelines[p].microbatches * plan->pipelines[p].copies * plan->microbatch;
        kind->choice.job = question->job;
        kind->group = type_of[plan->pipelines[p].stages[0].type];
        group = &question->groups[kind->group];
        job_set_group(&kind->choice.job, group);
        kind->choice.job.type = model_type(group->type, question->precision);
        kind->choice.job.technique = plan->technique;
        bool ok = job_of_plan(&kind->choice.job, &one, err) && job_check(&kind->choice.job, err);
        plan->arena = one.arena;
        if (!ok)
            return false;
        kind->choice.memory = job_memory(&kind->choice.job);
    }
    mix_price(mix, question);
    return true;
}
