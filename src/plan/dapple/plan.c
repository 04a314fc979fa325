#include "plan/dapple/report.h"

#include "plan/dapple/model.h"
#include "plan/plan_digest.h"

#include <math.h>

/* ---- out ---- */

/* All machines are one device type with nodes of the largest size: a stage may span machines of two sizes. */
static bool add_cluster(struct plan *plan, const struct dapple_cluster *cluster, struct error *err)
{
    if (!plan_add_types(plan, 1, err))
        return false;
    struct plan_device_type *type = &plan->types[0];
    *type = (struct plan_device_type){
        .name = "device",
        .nodes = cluster->machine_count,
        .per_node = dapple_largest_machine(cluster),
        .memory = cluster->memory < 9e18 ? (int64_t)cluster->memory : 0,
        .inside = plan_add_link(plan, "inside", cluster->inside, 0),
        .across = plan_add_link(plan, "point_to_point", cluster->point_to_point, 0),
    };
    return (type->inside >= 0 && type->across >= 0 &&
            plan_add_link(plan, "collective", cluster->collective, 0) >= 0) ||
           error_memory(err);
}

static bool set_devices(struct plan *plan, struct plan_stage *to, const struct dapple_report *report,
                        int stage, struct error *err)
{
    const struct dapple_split *split = report->plan;
    const struct dapple_cluster *cluster = report->problem->cluster;
    to->runs = ARENA_ARRAY(&plan->arena, (size_t)split->stages[stage].devices + 1, struct plan_run);
    if (!to->runs)
        return error_memory(err);
    for (int device = 0, machine = 0; device < split->device_count; device++) {
        if (device == cluster->machine_end[machine])
            machine++;
        if (split->stage_of[device] != stage)
            continue;
        int first = device - dapple_machine_start(cluster, machine);
        struct plan_run *last = to->run_count > 0 ? &to->runs[to->run_count - 1] : NULL;
        if (last && last->node == machine && last->first + last->count == first)
            last->count++;
        else
            to->runs[to->run_count++] = (struct plan_run){machine, 1, first, 1};
    }
    return true;
}

static bool set_stage(struct plan *plan, const struct dapple_report *report, int index, struct error *err)
{
    const struct dapple_problem *problem = report->problem;
    const struct dapple_split *split = report->plan;
    const struct dapple_stage *stage = &split->stages[index];
    struct plan_stage *to = &plan->pipelines[0].stages[index];
    double microbatches = (double)split->microbatches,
           weights = dapple_parameters(problem, stage->first_layer, stage->last_layer);
    bool last = index == split->stage_count - 1;
    to->first_layer = stage->first_layer;
    to->last_layer = stage->last_layer;
    to->data = stage->devices / split->replicas;
    to->seconds.forward = dapple_stage_forward(problem, split, index);
    to->seconds.backward = dapple_stage_time(problem, split, index) - to->seconds.forward;
    to->seconds.send = last ? 0
                            : dapple_transfer(problem, split, index, index + 1,
                                              dapple_crossing(problem, stage->last_layer)) /
                                  microbatches;
    to->seconds.gradients = dapple_allreduce(problem, split, index,
                                             dapple_reduced(problem, stage->first_layer, stage->last_layer));
    to->bytes.parameters = to->bytes.gradients = weights;
    to->bytes.optimizer = fmax(0, problem->state_factor - 2) * weights;
    to->bytes.sent = last ? 0 : dapple_crossing(problem, stage->last_layer) / stage->devices / microbatches;
    to->bytes.total = dapple_stage_memory(problem, split, index);
    return set_devices(plan, to, report, index, err);
}

static bool add_transfers(struct plan *plan, const struct dapple_report *report, int index)
{
    const struct dapple_problem *problem = report->problem;
    const struct dapple_split *split = report->plan;
    struct plan_stage *stage = &plan->pipelines[0].stages[index];
    const struct dapple_stage *from = &split->stages[index];
    struct plan_transfer gradients = {
        .kind = COLLECTIVE_ALL_REDUCE,
        .purpose = PURPOSE_GRADIENTS,
        .when = WHEN_AFTER,
        .group = from->devices,
        .per_node = from->devices,
        .link = plan->types[0].inside,
        .count = 1,
        .bytes = dapple_reduced(problem, from->first_layer, from->last_layer),
        .seconds = stage->seconds.gradients,
        .shown = 1,
    };
    int machines = 0;
    for (int k = 0; k < problem->cluster->machine_count; k++)
        machines += dapple_devices_in(problem->cluster, split, index, k) > 0;
    if (machines > 1) {
        gradients.per_node = (from->devices + machines - 1) / machines;
        gradients.link = plan->link_count - 1; /* "collective" */
    }
    if (!plan_add_transfer(plan, stage, gradients))
        return false;
    return index == split->stage_count - 1 ||
           plan_add_sends(plan, stage, stage + 1, plan->types[0].across, stage->bytes.sent,
                          stage->seconds.send, stage->seconds.send);
}

static bool add_stages(struct plan *plan, const struct dapple_report *report, struct error *err)
{
    const struct dapple_split *split = report->plan;
    if (!plan_add_pipelines(plan, 1, err) ||
        !plan_add_stages(plan, &plan->pipelines[0], split->stage_count, err))
        return false;
    plan->pipelines[0].copies = split->replicas;
    plan->pipelines[0].microbatches = split->microbatches;
    for (int s = 0; s < split->stage_count; s++)
        if (!set_stage(plan, report, s, err))
            return false;
    for (int s = 0; s < split->stage_count; s++)
        if (!add_transfers(plan, report, s))
            return error_memory(err);
    return true;
}

/* DAPPLE's policy B where messages are notable and the memory is enough: stages run ahead, or each of them would wait for
 * the way there and back. */
#define NOTABLE 0.01 /* share of the slowest stage */

static const char *schedule_of(const struct plan *plan, const struct dapple_report *report)
{
    const struct dapple_problem *problem = report->problem;
    const struct dapple_split *split = report->plan;
    double sends = 0, slowest = 0;
    for (int s = 0; s < split->stage_count; s++) {
        const struct dapple_stage *stage = &split->stages[s];
        sends = fmax(sends, 2 * plan->pipelines[0].stages[s].seconds.send);
        slowest = fmax(slowest, dapple_stage_time(problem, split, s));
        if (problem->rules == DAPPLE_FIXED &&
            dapple_fixed_memory(problem, stage->first_layer, stage->last_layer, stage->devices,
                                2 * (split->stage_count - 1 - s),
                                split->microbatches) > problem->cluster->memory)
            return "1f1b";
    }
    return sends > NOTABLE * slowest ? "eager-1f1b" : "1f1b";
}

static void add_figures(struct plan *plan, const struct dapple_report *report)
{
    const struct dapple_data_parallel *data = &report->data;
    plan_add_figure(plan, "devices", report->plan->device_count);
    plan_add_figure(plan, "programs", (double)report->plan->programs);
    plan_add_figure(plan, "pivot_factor", report->plan->factor);
    plan_add_figure(plan, "speedup", report->plan->speedup);
    plan_add_figure(plan, "data_parallel_plain", data->plain);
    plan_add_figure(plan, "data_parallel_overlap", data->overlap);
    plan_add_figure(plan, "data_parallel_priority", data->priority);
    plan_add_figure(plan, "data_parallel_priority_best", data->priority_best);
    plan_add_figure(plan, "data_parallel_priority_infinite", data->priority_infinite);
}

static uint64_t digest_of(const struct chain *chain)
{
    uint64_t digest = PLAN_DIGEST_BEGIN;
    for (int l = 0; l < chain->layer_count; l++) {
        const struct chain_load *layer = &chain->layers[l];
        const int64_t bytes[] = {layer->parameter_bytes, layer->activation_bytes, chain->crossing_bytes[l]};
        digest = plan_digest_integers(plan_digest_text(digest, chain->names[l]), bytes, 3);
        digest = plan_digest_numbers(digest, &layer->compute, 1);
    }
    return digest;
}

bool plan_of_dapple(struct plan *plan, const struct dapple_report *report, struct error *err)
{
    const struct dapple_problem *problem = report->problem;
    const struct dapple_split *split = report->plan;
    plan->objective = "dapple";
    plan->planner = "dapple";
    plan->search = split->search;
    plan->rules = dapple_rules_name(problem->rules);
    plan->import = report->import;
    plan->layer_count = problem->chain->layer_count;
    plan->global_batch = problem->global_batch;
    plan->microbatch = problem->microbatch;
    plan->asked_microbatches = split->microbatches;
    plan->iteration_time = split->latency;
    plan->lower_bound = split->lower_bound;
    plan->proven_optimal = split->proven_optimal;
    plan->planning_seconds = report->seconds;
    plan->bottleneck_pipeline = 0;
    plan->bottleneck_stage = split->pivot / 2;
    plan->bottleneck_sends = split->pivot % 2;
    plan->memory = dapple_max_memory(problem, split);
    plan_add_part(plan, "steady", split->steady);
    plan_add_part(plan, "startup", split->startup);
    plan_add_part(plan, "transfers", split->transfers);
    plan_add_part(plan, "drain", split->drain);
    add_figures(plan, report);
    if (add_cluster(plan, problem->cluster, err) && add_stages(plan, report, err) &&
        plan_set_digests(plan, digest_of(problem->chain), err)) {
        plan->schedule = schedule_of(plan, report);
        return true;
    }
    plan_release(plan);
    return false;
}

/* ---- back ---- */

static bool wrong(const struct plan *plan, int stage, struct error *err, const char *what)
{
    return error_set(err, ERROR_INPUT, "%s%spipelines[0].stages[%d]%s", plan->path ? plan->path : "",
                     plan->path ? ": " : "", stage, what);
}

static bool take_devices(struct dapple_split *split, const struct dapple_cluster *cluster,
                         const struct plan *plan, int s, struct error *err)
{
    const struct plan_stage *stage = &plan->pipelines[0].stages[s];
    for (int r = 0; r < stage->run_count; r++) {
        const struct plan_run *run = &stage->runs[r];
        for (int n = run->node; n < run->node + run->nodes; n++) {
            if (n >= cluster->machine_count)
                return wrong(plan, s, err, ".devices: the cluster has fewer machines");
            int first = dapple_machine_start(cluster, n) + run->first, end = first + run->count;
            if (end > cluster->machine_end[n])
                return wrong(plan, s, err, ".devices: the machine has fewer devices");
            for (int device = first; device < end; device++) {
                if (split->stage_of[device] >= 0)
                    return wrong(plan, s, err, ".devices: one of them has a stage already");
                split->stage_of[device] = (int16_t)s;
                split->stages[s].devices++;
            }
        }
    }
    return split->stages[s].devices > 0 ||
           wrong(plan, s, err, ": DAPPLE's rules need the devices of each stage");
}

static bool take_stages(struct dapple_split *split, const struct dapple_problem *problem,
                        const struct plan *plan, struct error *err)
{
    for (int s = 0; s < split->stage_count; s++) {
        const struct plan_stage *stage = &plan->pipelines[0].stages[s];
        if (stage->tensor != 1 || stage->context != 1)
            return wrong(plan, s, err, ": DAPPLE's rules do not cover tensor or context parallelism");
        split->stages[s] =
            (struct dapple_stage){.first_layer = stage->first_layer, .last_layer = stage->last_layer};
        if (!take_devices(split, problem->cluster, plan, s, err))
            return false;
    }
    return true;
}

bool dapple_of_plan(struct dapple_split *split, const struct dapple_problem *problem, const struct plan *plan,
                    struct error *err)
{
    double factor = plan_figure(plan, "pivot_factor");
    if (plan->pipeline_count != 1 || plan->chunks != 1)
        return error_set(err, ERROR_INPUT,
                         "%s: DAPPLE's rules score only one kind of pipeline, without chunks",
                         plan->path ? plan->path : "plan");
    if (!dapple_split_init(split, plan->pipelines[0].stage_count, dapple_devices(problem->cluster), err))
        return false;
    split->replicas = plan->pipelines[0].copies;
    split->factor = factor == 2 ? 2 : 1;
    if (take_stages(split, problem, plan, err) && dapple_split_check(problem, split, err)) {
        dapple_score(problem, split);
        return true;
    }
    dapple_split_release(split);
    return false;
}
