/* `rehearse plan --objective iteration -c`: pipelines over the nodes of a cluster file, for a model by name or a measured
 * profile. */
#include "cli/plan_cluster.h"

#include "cli/fix.h"
#include "cli/output.h"
#include "job/pipelines_report.h"
#include "job/usual.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- groups ---- */

static const struct cost_link *link_like(struct plan_links *links, const char *name,
                                         const struct cluster_link *given, int sharers)
{
    const struct cost_link *known = cost_link_find(name);
    if (!known || given->bandwidth == 0.0)
        return known;
    struct cost_link *own = &links->links[links->count++];
    *own = *known;
    own->bandwidth = given->bandwidth / sharers;
    return own;
}

bool plan_cluster_group(struct fleet_group *group, const struct cluster *cluster, int index,
                        const char *across, struct plan_links *links, struct error *err)
{
    const struct cluster_group *from = &cluster->groups[index];
    *group = (struct fleet_group){
        .device = cost_device_find(from->device),
        .nodes = from->nodes,
        .devices_per_node = from->devices_per_node,
    };
    if (!group->device)
        return error_set(err, ERROR_INPUT,
                         "%s.device: '%s' is not a device that is known: see 'rehearse cost --list'",
                         from->place, from->device);
    group->calibration = calibration_of(group->device);
    group->memory = from->memory > 0 ? (double)from->memory : (double)group->device->memory;
    group->inside = link_like(links, group->device->link, &from->intra_node, 1);
    /* what the file says is a node's, a link's bandwidth is a device's when all of them send */
    group->across = across ? cost_link_find(across)
                           : link_like(links, usual_node(group->device).across, &cluster->inter_node,
                                       from->devices_per_node);
    return (group->inside && group->across) ||
           error_set(err, ERROR_USAGE, "--across: unknown '%s', see 'rehearse cost --list'",
                     across ? across : "");
}

/* ---- delivering ---- */

static bool write_json(const char *path, const struct pipelines_report *report, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    pipelines_write_json(report, &json, NULL);
    bool ok = output_text(path, &text, err);
    text_release(&text);
    return ok;
}

static bool refuse(const struct plan_options *given, struct error *err)
{
    static const char *const others[] = {"figure", "emit", "flags", "explain", "top", "pareto", "csv"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (plan_is_given(given, others[i]))
            return error_set(err, ERROR_USAGE, "--%s is for devices that are all alike", others[i]);
    return true;
}

static bool deliver(const struct plan_options *given, const struct pipelines_report *report,
                    struct error *err)
{
    struct text text = {0};
    if (given->output && !write_json(given->output, report, err))
        return false;
    if (given->json)
        return write_json(NULL, report, err);
    if (given->dot)
        pipelines_write_dot(report, &text);
    else
        pipelines_print(report, &text);
    bool ok = output_text(NULL, &text, err);
    text_release(&text);
    return ok;
}

/* ---- a model ---- */

static bool take_ranges(const struct plan_options *given, struct fleet_question *question, struct error *err)
{
    struct job_range ranges[JOB_DIMENSIONS] = {{0}};
    if (!fix_parse("fix", &given->fix, ranges, err))
        return false;
    for (int d = 0; d < JOB_DIMENSIONS; d++)
        if (ranges[d].given && d != JOB_TENSOR && d != JOB_MICROBATCH && d != JOB_RECOMPUTE)
            return error_set(err, ERROR_USAGE, "--fix: %s is for devices that are all alike",
                             job_dimension_name((enum job_dimension)d));
    question->tensor = ranges[JOB_TENSOR];
    question->microbatch = ranges[JOB_MICROBATCH];
    question->recompute = ranges[JOB_RECOMPUTE];
    return true;
}

bool plan_model_on_cluster(const struct plan_options *given, const struct cluster *cluster,
                           const struct job *job, int64_t batch, struct error *err)
{
    struct fleet_question question = {.job = *job, .precision = (enum model_precision)given->precision};
    struct plan_links links = {0};
    struct fleet_answer answer;
    struct progress progress;
    question.job.batch = batch;
    question.headroom = given->headroom / 100.0;
    question.group_count = cluster->group_count;
    if (cluster->group_count > FLEET_TYPES_MOST)
        return error_set(err, ERROR_INPUT, "%s: expected at most %d groups, found %d", cluster->path,
                         FLEET_TYPES_MOST, cluster->group_count);
    for (int g = 0; g < cluster->group_count; g++)
        if (!plan_cluster_group(&question.groups[g], cluster, g, given->across, &links, err))
            return false;
    if (!refuse(given, err) || !take_ranges(given, &question, err))
        return false;
    struct parallel *pool = parallel_new((int)given->planning.threads);
    if (!pool)
        return error_set(err, ERROR_FAILED, "cannot start %" PRId64 " threads", given->planning.threads);
    progress_start(&progress, "planning");
    bool ok = fleet_plan_job(&answer, &question, pool, &progress, err);
    progress_end(&progress);
    parallel_free(pool);
    if (!ok)
        return false;
    struct pipelines_report report = {
        .answer = &answer,
        .model = job->model->name,
        .software = job->software->name,
        .batch = batch,
        .sequence = job->sequence,
    };
    for (int g = 0; g < question.group_count; g++) {
        report.types[g] = question.groups[g].device->name;
        report.memory[g] = question.groups[g].memory;
    }
    ok = deliver(given, &report, err);
    fleet_answer_release(&answer);
    return ok;
}

/* ---- a profile ---- */

/* What of the cluster the layer times do not say. */
struct wires {
    double bandwidth,
        latency; /* between nodes, of a device when all of its node send; INFINITY and 0: not given */
};

static struct wires wires_of(const struct cluster *cluster, int devices_per_node)
{
    if (cluster->inter_node.bandwidth == 0.0)
        return (struct wires){INFINITY, 0.0};
    return (struct wires){cluster->inter_node.bandwidth / devices_per_node, cluster->inter_node.latency};
}

/* A stage on so many devices of a node, as plan/problem.h counts it. */
static bool add_option(struct fleet_problem *fleet, const struct planning *planning, int index, int split,
                       struct arena *arena)
{
    const struct plan_problem *problem = &planning->problem;
    const struct plan_group *group = &problem->groups[index];
    int layers = problem->layer_count, devices = 1 << split;
    struct wires wires = wires_of(&planning->cluster, group->devices_per_node);
    double *seconds = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *kept = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *held = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *after = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    double *send = ARENA_ARRAY(arena, (size_t)layers + 1, double);
    if (!seconds || !kept || !held || !after || !send)
        return false;
    for (int l = 0; l < layers; l++) {
        double parameters = (double)problem->parameter_bytes[l], share = devices;
        double reduce = split > 0 ? group->allreduce[split][l] : 0.0;
        seconds[l + 1] = seconds[l] + (group->forward[l] + group->backward[l]) / share + 2.0 * reduce;
        kept[l + 1] = kept[l] + (double)problem->activation_bytes[l] / share;
        held[l + 1] = held[l] + 6.0 * parameters / share; /* plan_stage_memory */
        after[l + 1] = after[l] + 2.0 * parameters / share / wires.bandwidth;
        double output = l > 0 ? (double)planning->profile.layers[l - 1].output_bytes : 0.0;
        send[l] = l > 0 ? 2.0 * (output / share / wires.bandwidth + wires.latency) : 0.0;
    }
    fleet->options[fleet->option_count++] = (struct fleet_option){
        .type = index,
        .tensor = devices,
        .seconds = seconds,
        .kept = kept,
        .held = held,
        .after = after,
        .send = send,
    };
    return true;
}

static bool make_problem(struct fleet_problem *fleet, const struct planning *planning, int64_t microbatches,
                         double headroom, struct arena *arena, struct error *err)
{
    const struct plan_problem *problem = &planning->problem;
    *fleet = (struct fleet_problem){
        .layer_count = problem->layer_count,
        .type_count = problem->group_count,
        .microbatches = microbatches,
    };
    if (problem->group_count > FLEET_TYPES_MOST || problem->layer_count > FLEET_LAYERS_MOST)
        return error_set(err, ERROR_INPUT, "--objective iteration: expected at most %d groups and %d layers",
                         FLEET_TYPES_MOST, FLEET_LAYERS_MOST);
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        fleet->types[g] = (struct fleet_type){
            .devices = group->nodes * group->devices_per_node,
            .memory = group->memory > 0 ? (double)group->memory * (1.0 - headroom) : INFINITY,
        };
        for (int split = 0; split < group->splits && split < FLEET_OPTIONS_MOST / FLEET_TYPES_MOST; split++)
            if (!add_option(fleet, planning, g, split, arena))
                return error_memory(err);
    }
    return true;
}

static bool plan_profile(const struct plan_options *given, const struct planning *planning, int64_t batch,
                         struct error *err)
{
    int microbatch = planning->profile.microbatch_size > 0 ? planning->profile.microbatch_size : 1;
    struct fleet_answer answer = {.microbatch = microbatch, .combinations = 1};
    struct arena arena = {0};
    if (batch % microbatch != 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "--global-batch: %" PRId64 " is not a multiple of the profile's micro-batch of %d",
                         batch, microbatch);
    bool ok =
        make_problem(&answer.problem, planning, batch / microbatch, given->headroom / 100.0, &arena, err) &&
        fleet_search(&answer.plan, &answer.problem, INFINITY, err);
    if (ok) {
        struct pipelines_report report = {
            .answer = &answer, .model = planning->profile.model, .batch = batch};
        for (int g = 0; g < planning->problem.group_count; g++) {
            report.types[g] = planning->problem.groups[g].device;
            report.memory[g] = planning->problem.groups[g].memory > 0
                                   ? (double)planning->problem.groups[g].memory
                                   : INFINITY;
        }
        for (int k = 0; k < answer.plan.pipeline_count; k++)
            answer.pipelines += answer.plan.pipelines[k].copies;
        answer.lower_bound = answer.plan.lower_bound;
        answer.time = (struct fleet_time){.seconds = answer.plan.seconds,
                                          .pipelines = answer.plan.seconds - answer.plan.after,
                                          .after = answer.plan.after};
        ok = deliver(given, &report, err);
        fleet_plan_release(&answer.plan);
    }
    arena_release(&arena);
    return ok;
}

bool plan_profile_on_cluster(const struct plan_options *given, int64_t batch, struct error *err)
{
    struct planning planning;
    struct planning_options options = given->planning;
    options.objective = OBJECTIVE_PIPELINE;
    options.microbatches = 1;
    if (!refuse(given, err) || !planning_open(&planning, &options, err))
        return false;
    bool ok = plan_profile(given, &planning, batch, err);
    planning_close(&planning);
    return ok;
}
