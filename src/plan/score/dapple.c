/* Hybrids of data and pipeline parallelism by DAPPLE's rules. */
#include "plan/dapple/dapple.h"

#include "plan/dapple/report.h"
#include "plan/score/objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct question {
    struct chain chain;
    struct dapple_cluster whole, cluster; /* the devices that may be used */
    struct dapple_problem problem;
    const char *import;
};

static void end(struct score_request *scoring)
{
    struct question *q = scoring->question;
    dapple_cluster_release(&q->cluster);
    dapple_cluster_release(&q->whole);
    chain_release(&q->chain);
    free(q);
}

static bool find_rules(const struct score_request *scoring, enum dapple_rules *rules, struct error *err)
{
    const char *said = scoring->options->rules ? scoring->options->rules : scoring->plan->rules;
    for (*rules = DAPPLE_ORIGINAL; *rules <= DAPPLE_FIXED; ++*rules)
        if (strcmp(said ? said : "dapple", dapple_rules_name(*rules)) == 0)
            return true;
    return error_set(err, ERROR_INPUT, "%s: made_by.rules: expected dapple or dapple-fixed, found '%s'",
                     scoring->plan->path, said);
}

/* As many devices as the plan was made for. */
static bool take_cluster(struct score_request *scoring, struct question *q, struct error *err)
{
    double asked = plan_figure(scoring->plan, "devices");
    if (!dapple_cluster_load(&q->whole, scoring->options->planning.cluster, err))
        return false;
    int devices = asked >= 1 && asked <= DAPPLE_MAX_DEVICES ? (int)asked : dapple_devices(&q->whole);
    return dapple_cluster_take(&q->whole, devices, &q->cluster, err);
}

static bool ask(struct score_request *scoring, struct question *q, struct error *err)
{
    const struct plan *plan = scoring->plan;
    const struct score_options *options = scoring->options;
    const struct planning_options *files = &options->planning;
    if (plan->global_batch < 1)
        return error_set(err, ERROR_USAGE, "%s: no global batch in the plan: add --global-batch N",
                         plan->path);
    q->problem = (struct dapple_problem){
        .chain = &q->chain,
        .cluster = &q->cluster,
        .global_batch = plan->global_batch,
        .microbatch = files->microbatch_size > 0 ? files->microbatch_size
                      : plan->microbatch > 0     ? plan->microbatch
                                                 : 1,
        .state_factor = options->dapple.state_factor,
        .sample_memory = options->dapple.sample_memory,
    };
    if (!find_rules(scoring, &q->problem.rules, err))
        return false;
    bool as_hpgo = plan->import ? strcmp(plan->import, "hpgo") == 0 : q->problem.rules == DAPPLE_ORIGINAL;
    q->import = as_hpgo ? "hpgo" : "rehearse";
    return dapple_input_load(&q->chain, &q->problem.profile_batch, files->profile, as_hpgo,
                             options->dapple.profile_batch, err) &&
           take_cluster(scoring, q, err);
}

static bool begin(struct score_request *scoring, struct error *err)
{
    struct question *q = calloc(1, sizeof *q);
    scoring->question = q;
    if (!q)
        return error_memory(err);
    if (ask(scoring, q, err))
        return true;
    end(scoring);
    return false;
}

static bool fill_in(const struct question *q, const struct dapple_split *split, struct plan *plan,
                    struct error *err)
{
    const struct dapple_report report = {
        .problem = &q->problem,
        .plan = split,
        .data = dapple_data_parallel(&q->problem, false),
        .import = q->import,
        .seconds = NAN,
    };
    return plan_of_dapple(plan, &report, err);
}

/* A plan that names no devices gets those of machines in their order. */
static bool place(struct score_request *scoring, const struct question *q, struct error *err)
{
    struct plan *plan = scoring->plan;
    for (int s = 0; s < plan->pipelines[0].stage_count; s++)
        if (plan->pipelines[0].stages[s].run_count > 0)
            return true;
    struct plan_device_type *type = &plan->types[0];
    type->nodes.count = q->cluster.machine_count;
    type->nodes.devices = q->cluster.machine_end[0];
    for (int k = 1; k < q->cluster.machine_count; k++)
        if (q->cluster.machine_end[k] - q->cluster.machine_end[k - 1] != type->nodes.devices)
            type->nodes.count = k < type->nodes.count ? k : type->nodes.count; /* those that are alike */
    return plan_place(plan, err);
}

static bool score(struct score_request *scoring, struct plan *scored, struct error *err)
{
    const struct question *q = scoring->question;
    struct dapple_split split;
    if (!place(scoring, q, err) || !dapple_of_plan(&split, &q->problem, scoring->plan, err))
        return false;
    bool ok = isfinite(split.latency) ? fill_in(q, &split, scored, err)
                                      : error_set(err, ERROR_INFEASIBLE,
                                                  "%s: cannot be scored by the rules '%s': a device's memory "
                                                  "is exceeded, or there is no micro-batch",
                                                  scoring->plan->path, dapple_rules_name(q->problem.rules));
    dapple_split_release(&split);
    return ok;
}

static bool search(struct score_request *scoring, struct plan *best, struct error *err)
{
    const struct question *q = scoring->question;
    struct dapple_options how = {
        .time_limit = scoring->options->planning.time_limit,
        .pool = parallel_new((int)scoring->options->planning.threads, err),
    };
    struct dapple_split split;
    if (!how.pool)
        return false;
    bool ok = dapple_search_exact(&q->problem, &how, &split, err);
    parallel_free(how.pool);
    if (!ok)
        return false;
    ok = fill_in(q, &split, best, err);
    dapple_split_release(&split);
    return ok;
}

const struct objective objective_dapple = {"dapple", NULL, begin, score, search, end, "that was looked for"};
