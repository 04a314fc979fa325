/* `rehearse plan --objective iteration -c`: pipelines over the nodes of a cluster file, for a model by name or a measured
 * profile. */
#include "cli/plan/cluster.h"

#include "cli/plan/deliver.h"
#include "cli/plan/fix.h"
#include "devices/tables.h"
#include "devices/usual.h"
#include "plan/fleet/of_profile.h"
#include "plan/fleet/plan.h"
#include "plan/fleet/report.h"
#include "plan/pipeline_plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- groups ---- */

static const struct cost_link *link_like(const struct tables *tables, struct plan_links *links,
                                         const char *name, const struct cluster_link *given, int sharers)
{
    const struct cost_link *known = tables_link(tables, name);
    if (!known || given->bandwidth == 0.0)
        return known;
    struct cost_link *own = &links->links[links->count++];
    *own = *known;
    own->bandwidth = given->bandwidth / sharers;
    return own;
}

bool plan_cluster_group(struct fleet_group *group, const struct cluster *cluster, int index,
                        const char *across, const struct tables *tables, struct plan_links *links,
                        struct error *err)
{
    const struct cluster_group *from = &cluster->groups[index];
    if (!tables_ready(err))
        return false;
    *group = (struct fleet_group){
        .device = tables_device(tables, from->device),
        .nodes = from->nodes,
        .devices_per_node = from->devices_per_node,
    };
    if (!group->device)
        return error_set(err, ERROR_INPUT,
                         "%s.device: '%s' is not a device that is known: see 'rehearse cost --list'",
                         from->place, from->device);
    group->calibration = tables_calibration(tables, group->device);
    group->memory = from->memory > 0 ? (double)from->memory : (double)group->device->memory;
    group->inside = link_like(tables, links, group->device->link, &from->intra_node, 1);
    /* what the file says is a node's, a link's bandwidth is a device's when all of them send */
    group->across = across ? tables_link(tables, across)
                           : link_like(tables, links, usual_node(group->device).across, &cluster->inter_node,
                                       from->devices_per_node);
    return (group->inside && group->across) ||
           error_set(err, ERROR_USAGE, "--across: unknown '%s', see 'rehearse cost --list'",
                     across ? across : "");
}

/* ---- delivering ---- */

static bool refuse(const struct plan_options *given, struct error *err)
{
    static const char *const others[] = {"emit", "flags", "explain", "top", "pareto", "csv"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (plan_is_given(given, others[i]))
            return error_set(err, ERROR_USAGE, "--%s is for devices that are all alike", others[i]);
    return true;
}

static void print(const void *context, struct text *out)
{
    fleet_print(context, out);
}

/* `plan` has the cluster's device types, and more that the answer does not know. */
static bool deliver(const struct plan_options *given, struct plan *plan, const struct fleet_report *report,
                    struct error *err)
{
    const struct plan_delivery delivery = {.plan = plan, .print = print, .context = report};
    plan->global_batch = report->batch;
    plan->sequence = report->sequence;
    plan->headroom = given->headroom / 100.0;
    if ((report->model && !(plan->model = arena_string(&plan->arena, report->model))) ||
        (report->software && !(plan->software = arena_string(&plan->arena, report->software)))) {
        plan_release(plan);
        return error_memory(err);
    }
    if (!plan_of_fleet(plan, report->answer, err))
        return false;
    bool ok = plan_deliver(given, &delivery, err);
    plan_release(plan);
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
                           const struct tables *tables, const struct job *job, int64_t batch,
                           struct error *err)
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
        if (!plan_cluster_group(&question.groups[g], cluster, g, given->across, tables, &links, err))
            return false;
    if (!refuse(given, err) || !take_ranges(given, &question, err))
        return false;
    struct parallel *pool = parallel_new((int)given->planning.threads, err);
    if (!pool)
        return false;
    progress_start(&progress, "planning");
    bool ok = fleet_plan_job(&answer, &question, pool, &progress, err);
    progress_end(&progress);
    parallel_free(pool);
    if (!ok)
        return false;
    struct fleet_report report = {
        .answer = &answer,
        .model = job->model->name,
        .software = job->software->name,
        .batch = batch,
        .sequence = job->sequence,
    };
    struct plan plan;
    plan_init(&plan);
    ok = plan_add_types(&plan, question.group_count, err);
    for (int g = 0; ok && g < question.group_count; g++) {
        const struct fleet_group *group = &question.groups[g];
        report.types[g] = group->device->name;
        report.memory[g] = group->memory;
        plan.types[g] = (struct plan_device_type){
            .name = group->device->name,
            .nodes = group->nodes,
            .per_node = group->devices_per_node,
            .memory = (int64_t)group->memory,
            .inside = plan_add_link(&plan, group->inside->name, group->inside->bandwidth, NAN),
            .across = plan_add_link(&plan, group->across->name, group->across->bandwidth, NAN),
        };
    }
    ok = ok && deliver(given, &plan, &report, err);
    fleet_answer_release(&answer);
    return ok;
}

/* ---- a profile ---- */

static bool plan_profile(const struct plan_options *given, const struct planning *planning, int64_t batch,
                         struct error *err)
{
    int microbatch = planning->profile.microbatch_size > 0 ? planning->profile.microbatch_size : 1;
    const struct fleet_profile_question question = {
        .problem = &planning->problem,
        .profile = &planning->profile,
        .cluster = &planning->cluster,
        .microbatches = batch / microbatch,
        .headroom = given->headroom / 100.0,
    };
    struct fleet_answer answer;
    if (batch % microbatch != 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "--global-batch: %" PRId64 " is not a multiple of the profile's micro-batch of %d",
                         batch, microbatch);
    if (!fleet_plan_profile(&answer, &question, err))
        return false;
    answer.microbatch = microbatch;
    struct fleet_report report = {.answer = &answer, .model = planning->profile.model, .batch = batch};
    for (int g = 0; g < planning->problem.group_count; g++) {
        report.types[g] = planning->problem.groups[g].device;
        report.memory[g] =
            planning->problem.groups[g].memory > 0 ? (double)planning->problem.groups[g].memory : INFINITY;
    }
    struct plan plan;
    plan_init(&plan);
    bool ok = plan_take_groups(&plan, &planning->problem, &planning->cluster, err) &&
              deliver(given, &plan, &report, err);
    fleet_answer_release(&answer);
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
