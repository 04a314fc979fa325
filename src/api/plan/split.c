/* `rehearse plan --model`: the fastest split of a training job over devices that are alike. */
#include "api/plan/split.h"

#include "api/plan/deliver.h"
#include "api/plan/fix.h"
#include "api/plan/range.h"
#include "core/caller.h"
#include "core/stop.h"
#include "cost/model_profile.h"
#include "devices/tables.h"
#include "evidence/interval.h"
#include "evidence/own_run.h"
#include "evidence/search_report.h"
#include "plan/split/advice/advice.h"
#include "plan/split/advice/deadline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_BATCH   (INT64_C(1) << 24) /* sequences */
#define MAX_DEVICES 1048576
#define MORE        0.1 /* of each resource, for --explain */

/* ---- the question ---- */

/* A name of the table, or a file; NULL: the one that is usual. */
static const struct cost_link *choose_link(const struct tables *tables, const char *option, const char *given,
                                           const char *usual, struct table *table, struct error *err)
{
    const struct cost_link *known = tables_link(tables, given ? given : usual);
    if (known)
        return known;
    if (!tables_load(tables, TABLE_LINKS, table, given ? given : usual, err))
        return NULL;
    if (table->count == 1)
        return &table->links[0];
    return error_null(err, ERROR_USAGE, "--%s: %s describes %d links, expected one", option, given,
                      table->count);
}

bool split_choose_machine(struct split *split, struct error *err)
{
    const struct plan_options *given = split->options;
    struct job *job = &split->question.job;
    if (!cost_choose_devices(&split->chosen, given->asked.device, err))
        return false;
    if (split->chosen.device_count != 1)
        return error_set(err, ERROR_USAGE, "--device: expected one device type, found %d",
                         split->chosen.device_count);
    job->device = split->chosen.devices[0];
    job->calibration = tables_calibration(&split->chosen.added, job->device);
    struct usual_node usual = usual_node(job->device);
    job->devices_per_node =
        given->asked.devices_per_node > 0 ? (int)given->asked.devices_per_node : usual.devices;
    job->inside = choose_link(&split->chosen.added, "inside", given->asked.inside, job->device->link,
                              &split->inside, err);
    if (!job->inside)
        return false;
    job->across =
        choose_link(&split->chosen.added, "across", given->asked.across, usual.across, &split->across, err);
    job->type = model_type(job->device, (enum model_precision)given->precision);
    return job->across && split_choose_network(split, err) &&
           model_check_precision(job->device, (enum model_precision)given->precision, err);
}

bool split_choose_model(struct split *split, struct error *err)
{
    const struct plan_options *given = split->options;
    struct job *job = &split->question.job;
    struct model_options pricing;
    struct rh_plan_request asked = given->asked;
    bool all = strcmp(asked.software, "all") == 0;
    if (all)
        asked.software = software_at(0)->name;
    split->software_count = all ? software_count(true) : 1;
    if (!model_choose(&asked, &split->chosen, &pricing, err))
        return false;
    job->model = split->chosen.model;
    job->sequence = pricing.sequence;
    job->software = pricing.software;
    return budget_read_prices(given->asked.price, &split->chosen.added, &split->prices, err);
}

/* ---- what arguments of Megatron-LM fix ---- */

static bool read_flags(struct split *split, struct error *err)
{
    const struct launch_input input = {.path = split->options->asked.flags,
                                       .root = split->options->asked.root};
    if (!launch_read(&split->flags, &input, err))
        return false;
    if (split->flags.missing_count == 0)
        return true;
    const char *missing = launch_missing_text(&split->flags);
    return missing ? error_set(err, ERROR_INPUT, "%s: not known: %.900s", input.path, missing)
                   : error_memory(err);
}

/* What the command line says counts more, as far as both can be had. */
static bool apply_flags(struct split *split, struct error *err)
{
    const struct plan_options *given = split->options;
    struct job *job = &split->question.job, before = *job;
    if (split->devices.count > 1)
        return error_set(err, ERROR_USAGE, "--flags is for one number of devices, not for a sweep over them");
    job->devices = (int)split->devices.values[0];
    job->batch = 0;
    if (!launch_fix(&split->flags, &split->question, err))
        return false;
    if (given->asked.sequence > 0)
        job->sequence = before.sequence;
    if (plan_is_given(given, "precision"))
        job->type = before.type;
    if (given->asked.global_batch)
        return true;
    if (job->batch == 0)
        return error_set(err, ERROR_USAGE, "'%s' does not give a global batch: add --global-batch N",
                         given->asked.flags);
    char batch[32];
    snprintf(batch, sizeof batch, "%" PRId64, job->batch);
    return range_parse("global-batch", batch, DIMENSION_SAMPLES, 1, MAX_BATCH, &split->batches, err);
}

bool split_parse_batch(const struct plan_options *options, struct range *batches, struct error *err)
{
    if (options->asked.global_batch)
        return range_parse("global-batch", options->asked.global_batch, DIMENSION_SAMPLES, 1, MAX_BATCH,
                           batches, err);
    return error_set(err, ERROR_USAGE,
                     "plan: '--global-batch RANGE' is missing, which --objective iteration needs");
}

void split_imbalance(struct split *split)
{
    double given = split->options->asked.imbalance;
    split->question.job.technique.imbalance = given > 1.0 ? (int)(100.0 * given + 0.5) : 0;
}

bool split_ask(struct split *split, struct error *err)
{
    const struct plan_options *given = split->options;
    struct job_question *question = &split->question;
    question->headroom = given->asked.headroom / 100.0;
    split_imbalance(split);
    return ((!given->asked.global_batch && given->asked.flags) ||
            split_parse_batch(given, &split->batches, err)) &&
           split_choose_model(split, err) && split_choose_machine(split, err) &&
           fix_parse("fix", &given->asked.fix, question->ranges, question->choices, err) &&
           range_parse("devices", given->asked.devices, DIMENSION_NUMBER, 1, MAX_DEVICES, &split->devices,
                       err) &&
           (!given->asked.flags || (read_flags(split, err) && apply_flags(split, err)));
}

bool split_budget(const struct split *split, struct plan *plan, struct error *err)
{
    const struct plan_options *given = split->options;
    return (given->asked.tokens == 0.0 && !given->asked.price) ||
           budget_of(plan, given->asked.tokens, &split->prices, &split->chosen.added, err);
}

void split_release(struct split *split)
{
    launch_options_release(&split->flags);
    range_release(&split->batches);
    range_release(&split->devices);
    table_release(&split->inside);
    table_release(&split->across);
    table_release(&split->network);
    cost_chosen_release(&split->chosen);
}

/* ---- one answer ---- */

bool split_plan(const struct split *split, int64_t batch, int devices, struct plan *plan, struct error *err)
{
    struct job_question question = split->question;
    const struct job_search_options options = {.top = 1, .time_limit = split->options->planning.time_limit};
    struct job_search search;
    question.job.batch = batch;
    question.job.devices = devices;
    plan_init(plan);
    if (!job_search(&search, &question, &options, err))
        return false;
    const struct job_answer answer = {.question = &question, .search = &search};
    bool ok = plan_of_job(plan, &answer, err);
    job_search_release(&search);
    return ok;
}

struct report {
    const struct job_search_report *search;
    const struct plan *plan;
};

static void print(const void *context, struct text *out)
{
    const struct report *report = context;
    job_search_print(report->search, out);
    budget_print(report->plan, out);
}

static bool deliver(const struct split *split, const struct job_search_report *report, struct error *err)
{
    struct plan plan;
    plan_init(&plan);
    double seconds = report->answer.search->plans[0].time.seconds;
    plan.interval = interval_of(&report->estimate, seconds);
    plan.expected = seconds * (report->no_neighbours ? 1.0 : report->estimate.factor);
    if (!plan_of_job(&plan, &report->answer, err))
        return false;
    if (!estimate_nearest(&report->estimate, &plan.arena, &plan.nearest, err)) {
        plan_release(&plan);
        return false;
    }
    if (split->cluster)
        plan.not_counted =
            cluster_not_counted(split->cluster, CLUSTER_INTER_NODE | CLUSTER_INTRA_NODE, &plan.arena);
    struct job_search_report with_budget = *report;
    with_budget.budget =
        split->options->asked.price || split->options->asked.tokens > 0.0 ? &plan.budget : NULL;
    with_budget.nearest = &plan.nearest;
    const struct report whole = {&with_budget, &plan};
    const struct plan_delivery delivery = {
        .plan = &plan, .print = print, .job = &report->answer.search->plans[0].job, .context = &whole};
    bool ok = split_budget(split, &plan, err) && plan_deliver(split->options, &delivery, err);
    plan_release(&plan);
    return ok;
}

static bool explain(const struct split *split, struct job_search_report *report, struct parallel *pool,
                    struct job_sensitivity *sensitivity, struct error *err)
{
    const struct job_choice *best = &report->answer.search->plans[0];
    report->estimate = own_run_estimate(&best->job, &best->time);
    report->no_neighbours = split->options->asked.no_neighbours;
    report->explain = split->options->asked.explain;
    report->explain_memory = split->options->asked.explain_memory;
    if (!split->options->asked.explain)
        return true;
    double before = stop_deadline(split->until);
    bool ok = job_sensitivity(sensitivity, report->answer.question, best, MORE, pool, err);
    bool late = stop_wanted();
    stop_restore(before);
    if (late && !stop_wanted()) { /* the answer itself stands */
        caller_warn("--explain: left out, as the time limit was over");
        return true;
    }
    report->answer.sensitivity = sensitivity;
    report->answer.more = MORE;
    return ok;
}

/* ---- the cheapest in time ---- */

/* Each number of devices up to the last one is tried. */
static bool check_deadline(const struct split *split, struct error *err)
{
    const struct plan_options *given = split->options;
    if (split->software_count > 1)
        return error_set(err, ERROR_USAGE, "--deadline needs one software, not --software all");
    return (!given->asked.explain && !given->asked.explain_memory && !given->csv) ||
           error_set(err, ERROR_USAGE, "--%s cannot be combined with --deadline, which gives one plan",
                     given->asked.explain          ? "explain"
                     : given->asked.explain_memory ? "explain-memory"
                                                   : "csv");
}

static bool find_in_time(struct split *split, struct job_search *search,
                         const struct job_search_options *options, struct error *err)
{
    const struct job_deadline deadline = {
        .tokens = split->options->asked.tokens,
        .seconds = split->options->asked.deadline,
        .batch_count = split->batches.count,
        .batches = split->batches.values,
    };
    return job_cheapest_in_time(search, &split->question, &deadline, options, err);
}

/* Of each search: there are two with --pareto. */
static double time_limit_of(const struct plan_options *given)
{
    return given->planning.time_limit / (given->asked.pareto ? 2 : 1);
}

#define FRONT     20   /* plans, unless said otherwise, */
#define MAX_FRONT 2000 /* of so many */

static bool find_front(const struct split *split, int devices, struct job_search *front,
                       struct parallel *pool, struct error *err)
{
    struct job_question question = split->question;
    question.job.devices = devices;
    const struct plan_options *given = split->options;
    const struct job_search_options options = {.top = MAX_FRONT,
                                               .front = true,
                                               .money = given->asked.price,
                                               .time_limit = time_limit_of(given),
                                               .pool = pool};
    int wanted = plan_is_given(given, "top") ? (int)given->asked.top : FRONT;
    if (!job_search(front, &question, &options, err))
        return false;
    front->plan_count = front->plan_count < wanted ? front->plan_count : wanted;
    return true;
}

static bool answer_one(struct split *split, struct error *err)
{
    const struct plan_options *given = split->options;
    struct job_question *question = &split->question;
    struct progress progress;
    struct job_search search;
    struct job_sensitivity sensitivity[JOB_RESOURCES];
    struct parallel *pool = parallel_new((int)given->planning.threads, err);
    if (!pool)
        return false;
    progress_start(&progress, "planning");
    split->until = stop_after(given->planning.time_limit);
    const struct job_search_options options = {.top = given->asked.pareto ? 1 : (int)given->asked.top,
                                               .time_limit = time_limit_of(given),
                                               .pool = pool,
                                               .progress = &progress};
    bool hurried = given->asked.deadline > 0.0;
    int devices = question->job.devices;
    bool ok =
        hurried ? find_in_time(split, &search, &options, err) : job_search(&search, question, &options, err);
    progress_end(&progress);
    if (stop_wanted()) { /* nobody wants to know the rest */
        if (ok)
            job_search_release(&search);
        parallel_free(pool);
        return error_set(err, ERROR_STOPPED, "stopped");
    }
    if (!ok && !hurried && err->kind == ERROR_INFEASIBLE && given->planning.time_limit == 0.0)
        job_advise(question, pool, err);
    if (ok) {
        struct job_search front = {0};
        struct job_search_report report = {
            .answer = {.question = question, .search = &search, .in_time = hurried}};
        struct job_choice simpler;
        if (!hurried && given->planning.time_limit == 0.0 &&
            job_find_simpler(&simpler, question, &search, pool))
            report.simpler = &simpler;
        ok = explain(split, &report, pool, sensitivity, err) &&
             (!given->asked.pareto || find_front(split, devices, &front, pool, err));
        report.answer.front = given->asked.pareto ? &front : NULL;
        ok = ok && deliver(split, &report, err);
        job_search_release(&front);
        job_search_release(&search);
    }
    parallel_free(pool);
    return ok;
}

bool split_on_group(struct split *split, const struct cluster_group *group, struct error *err)
{
    struct job_question *question = &split->question;
    if (!model_check_precision(group->type, (enum model_precision)split->options->precision, err))
        return false;
    job_set_group(&question->job, group);
    question->job.type = model_type(group->type, (enum model_precision)split->options->precision);
    question->job.devices = group->nodes.count * group->nodes.devices;
    question->headroom = split->options->asked.headroom / 100.0;
    return (split->options->asked.deadline == 0.0 || check_deadline(split, err)) &&
           fix_parse("fix", &split->options->asked.fix, question->ranges, question->choices, err) &&
           answer_one(split, err);
}

bool plan_by_split(const struct plan_options *options, struct error *err)
{
    struct split split = {.options = options};
    bool ok = split_ask(&split, err);
    bool hurried = options->asked.deadline > 0.0;
    if (ok && hurried) {
        split.question.job.devices = (int)split.devices.values[split.devices.count - 1];
        ok = check_deadline(&split, err) && answer_one(&split, err);
    } else if (ok && split.software_count == 1 && split.batches.count == 1 && split.devices.count == 1) {
        split.question.job.batch = split.batches.values[0];
        split.question.job.devices = (int)split.devices.values[0];
        ok = options->csv ? error_set(err, ERROR_USAGE,
                                      "--csv is for a sweep: give --global-batch or --devices a range")
                          : answer_one(&split, err);
    } else if (ok)
        ok = split_sweep(&split, err);
    split_release(&split);
    return ok;
}
