/* `rehearse plan --objective iteration -c`: pipelines over the nodes of a cluster file, for a model by name or a
 * measured profile. */
#include "api/plan/deliver.h"
#include "api/plan/fix.h"
#include "api/plan/range.h"
#include "api/plan/split.h"
#include "core/stop.h"
#include "plan/fleet/best.h"
#include "plan/fleet/explain.h"
#include "plan/fleet/plan.h"
#include "plan/parts.h"

#define MORE 0.1 /* of each resource, for --explain */

/* `parts`: of a model; NULL: of a profile. */
static bool deliver(const struct plan_options *given, struct plan *plan, const struct plan_parts *parts,
                    struct error *err)
{
    const struct plan_delivery delivery = {.plan = plan, .parts = parts};
    return plan_deliver(given, &delivery, err);
}

/* Devices that are all alike can do more. */
static bool refuse(const struct plan_options *given, struct error *err)
{
    static const char *const others[] = {"flags", "pareto", "csv", "deadline"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (plan_is_given(given, others[i]))
            return error_set(err, ERROR_USAGE, "--%s needs a cluster of one device type", others[i]);
    return true;
}

/* ---- a model ---- */

/* Finds the best plan, and what it owes to what, if that is asked. */
static bool answer(const struct plan_options *given, const struct fleet_question *question,
                   struct fleet_best *best, struct plan *plan, struct parallel *pool, struct error *err)
{
    struct progress progress;
    progress_start(&progress, "planning");
    bool found = fleet_find_best(best, question, pool, &progress, err);
    bool ok = found && plan_of_fleet_best(plan, best, question, err) &&
              (!given->asked.explain ||
               fleet_explain(plan, best, fleet_best_question(best, question), MORE, pool, &progress, err)) &&
              (given->asked.top < 2 || plan_add_rivals(plan, &best->rivals, (int)given->asked.top, err));
    progress_end(&progress);
    if (found && !ok)
        fleet_best_release(best);
    return ok;
}

static bool plan_model(const struct plan_options *given, const struct split *split,
                       const struct cluster *cluster, struct error *err)
{
    struct fleet_question question = {
        .job = split->question.job,
        .precision = (enum model_precision)given->precision,
        .headroom = given->asked.headroom / 100.0,
        .deadline = stop_after(given->planning.time_limit),
    };
    struct fleet_best best;
    const struct plan_parts parts = {.tables = &split->chosen.added, .model = split->chosen.model};
    struct plan plan;
    if (!fleet_take_cluster(&question, cluster, err) || !refuse(given, err) ||
        !fix_parse("fix", &given->asked.fix, question.ranges, NULL, err))
        return false;
    struct parallel *pool = parallel_new((int)given->planning.threads, err);
    if (!pool)
        return false;
    plan_init(&plan);
    bool ok = answer(given, &question, &best, &plan, pool, err);
    parallel_free(pool);
    if (ok) {
        plan.not_counted = cluster_not_counted(cluster, CLUSTER_INTER_NODE | CLUSTER_INTRA_NODE, &plan.arena);
        ok = split_budget(split, &plan, err) && deliver(given, &plan, &parts, err);
        fleet_best_release(&best);
    }
    plan_release(&plan);
    return ok;
}

static bool one_software(const struct split *split, struct error *err)
{
    return split->software_count == 1 ||
           error_set(err, ERROR_USAGE, "--software all needs a cluster of one device type");
}

static bool plan_on(const struct plan_options *given, struct cluster *cluster, int64_t batch,
                    struct error *err)
{
    struct split split = {.options = given, .cluster = cluster};
    split.question.job.batch = batch;
    split_imbalance(&split);
    bool ok = split_parse_batch(given, &split.batches, err) && /* those that --deadline chooses from */
              split_choose_model(&split, err) && one_software(&split, err) &&
              plan_resolve_cluster(cluster, &split.chosen.added, given->asked.across, err);
    if (ok && cluster->group_count == 1 && !given->asked.flags)
        ok = split_on_group(&split, &cluster->groups[0], err);
    else if (ok)
        ok = plan_model(given, &split, cluster, err);
    split_release(&split);
    return ok;
}

/* ---- a profile ---- */

/* Adds what the plan owes to what, and the plans of parts of the types, if that is asked. */
static bool explain_profile(const struct plan_options *given, const struct fleet_profile_question *question,
                            const struct fleet_answer *answer, struct plan *plan, struct error *err)
{
    struct fleet_rivals rivals = {.count = 0};
    const struct fleet_rival own = fleet_rival_of(answer);
    fleet_rivals_add(&rivals, &own);
    return (!given->asked.explain || fleet_explain_profile(plan, question, MORE, err)) &&
           (given->asked.top < 2 || (fleet_profile_rivals(&rivals, question, err) &&
                                     plan_add_rivals(plan, &rivals, (int)given->asked.top, err)));
}

static bool plan_profile(const struct plan_options *given, const struct planning *planning, int64_t batch,
                         struct error *err)
{
    struct fleet_profile_question question;
    struct fleet_answer answer;
    struct plan plan;
    if (!fleet_ask_profile(&question, planning, batch, given->asked.headroom / 100.0, err))
        return false;
    question.deadline = stop_after(given->planning.time_limit);
    if (!fleet_plan_profile(&answer, &question, err))
        return false;
    plan_init(&plan);
    bool ok = plan_of_fleet_profile(&plan, &answer, &question, err);
    if (ok)
        plan.not_counted = cluster_not_counted(
            &planning->cluster, planning->problem.used | CLUSTER_INTER_NODE | CLUSTER_INTRA_NODE,
            &plan.arena);
    ok = ok && explain_profile(given, &question, &answer, &plan, err) &&
         split_budget(&(struct split){.options = given}, &plan, err) && deliver(given, &plan, NULL, err);
    plan_release(&plan);
    fleet_answer_release(&answer);
    return ok;
}

static bool plan_by_profile(const struct plan_options *given, int64_t batch, struct error *err)
{
    struct planning planning;
    struct planning_options options = given->planning;
    options.objective = OBJECTIVE_PIPELINE;
    options.microbatches = 1;
    options.join_alike = true;
    if (!refuse(given, err) || !planning_open(&planning, &options, err))
        return false;
    bool ok = plan_profile(given, &planning, batch, err);
    planning_close(&planning);
    return ok;
}

static bool one_batch(const struct plan_options *given, int64_t *batch, struct error *err)
{
    struct range range;
    if (!split_parse_batch(given, &range, err))
        return false;
    *batch = range.values[0];
    bool one = range.count == 1;
    range_release(&range);
    return one || error_set(err, ERROR_USAGE, "--global-batch: a sweep needs a cluster of one device type");
}

bool plan_by_fleet(const struct plan_options *options, struct error *err)
{
    struct cluster cluster;
    int64_t batch = 0;
    if (!one_batch(options, &batch, err))
        return false;
    if (options->planning.profile)
        return plan_by_profile(options, batch, err);
    if (!cluster_load(&cluster, options->planning.cluster, err))
        return false;
    cluster_join_alike(&cluster);
    bool ok = plan_on(options, &cluster, batch, err);
    cluster_release(&cluster);
    return ok;
}
