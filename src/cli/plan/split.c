/* `rehearse plan --model`: the fastest split of a training job over devices that are alike. */
#include "cli/plan/split.h"

#include "cli/output.h"
#include "cli/plan/deliver.h"
#include "cli/plan/fix.h"
#include "cli/plan/sweep.h"
#include "core/file.h"
#include "cost/model_profile.h"
#include "devices/tables.h"
#include "evidence/search_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
    error_set(err, ERROR_USAGE, "--%s: %s describes %d links, expected one", option, given, table->count);
    return NULL;
}

static bool choose_machine(struct split *split, struct error *err)
{
    const struct plan_options *given = split->options;
    struct job *job = &split->question.job;
    if (!cost_choose_devices(&split->chosen, given->device, err))
        return false;
    if (split->chosen.device_count != 1)
        return error_set(err, ERROR_USAGE, "--device: expected one device type, found %d",
                         split->chosen.device_count);
    job->device = split->chosen.devices[0];
    job->calibration = tables_calibration(&split->chosen.added, job->device);
    struct usual_node usual = usual_node(job->device);
    job->devices_per_node = given->devices_per_node > 0 ? (int)given->devices_per_node : usual.devices;
    job->inside =
        choose_link(&split->chosen.added, "inside", given->inside, job->device->link, &split->inside, err);
    if (!job->inside)
        return false;
    job->across =
        choose_link(&split->chosen.added, "across", given->across, usual.across, &split->across, err);
    job->type = model_type(job->device, (enum model_precision)given->model.precision);
    return job->across;
}

bool split_choose_model(struct split *split, struct error *err)
{
    const struct plan_options *given = split->options;
    struct job *job = &split->question.job;
    struct model_options pricing;
    if (!model_choose(&given->model, &split->chosen, &pricing, err))
        return false;
    job->model = split->chosen.model;
    job->sequence = pricing.sequence;
    job->software = pricing.software;
    return true;
}

/* ---- what arguments of Megatron-LM fix ---- */

static bool read_flags(struct split *split, struct error *err)
{
    const char *path = split->options->flags;
    char *data;
    size_t length;
    if (!file_read(path, LAUNCH_MAX_BYTES, &data, &length, err))
        return false;
    bool ok = launch_read_megatron(path, data, length, &split->flags, err);
    free(data);
    return ok;
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
    if (given->model.sequence > 0)
        job->sequence = before.sequence;
    if (plan_is_given(given, "precision"))
        job->type = before.type;
    if (given->global_batch)
        return true;
    if (job->batch == 0)
        return error_set(err, ERROR_USAGE, "'%s' does not give a global batch: add --global-batch N",
                         given->flags);
    char batch[32];
    snprintf(batch, sizeof batch, "%" PRId64, job->batch);
    return range_parse("global-batch", batch, 1, MAX_BATCH, &split->batches, err);
}

bool split_parse_batch(const struct plan_options *options, struct range *batches, struct error *err)
{
    if (options->global_batch)
        return range_parse("global-batch", options->global_batch, 1, MAX_BATCH, batches, err);
    return error_set(err, ERROR_USAGE,
                     "plan: '--global-batch RANGE' is missing, which --objective iteration needs");
}

static bool ask(struct split *split, struct error *err)
{
    const struct plan_options *given = split->options;
    struct job_question *question = &split->question;
    question->headroom = given->headroom / 100.0;
    return ((!given->global_batch && given->flags) || split_parse_batch(given, &split->batches, err)) &&
           split_choose_model(split, err) && choose_machine(split, err) &&
           fix_parse("fix", &given->fix, question->ranges, err) &&
           range_parse("devices", given->devices, 1, MAX_DEVICES, &split->devices, err) &&
           (!given->flags || (read_flags(split, err) && apply_flags(split, err)));
}

void split_release(struct split *split)
{
    launch_options_release(&split->flags);
    range_release(&split->batches);
    range_release(&split->devices);
    table_release(&split->inside);
    table_release(&split->across);
    cost_chosen_release(&split->chosen);
}

/* ---- one answer ---- */

static void print(const void *context, struct text *out)
{
    job_search_print(context, out);
}

static bool deliver(const struct split *split, const struct job_search_report *report, struct error *err)
{
    struct plan plan;
    plan_init(&plan);
    plan.low = report->interval.low;
    plan.high = report->interval.high;
    plan.extrapolates = report->interval.extrapolates;
    if (!plan_of_job(&plan, &report->answer, err))
        return false;
    const struct plan_delivery delivery = {
        .plan = &plan, .print = print, .job = &report->answer.search->plans[0].job, .context = report};
    bool ok = plan_deliver(split->options, &delivery, err);
    plan_release(&plan);
    return ok;
}

static bool explain(const struct split *split, struct job_search_report *report, struct parallel *pool,
                    struct job_sensitivity *sensitivity, struct error *err)
{
    const struct residuals *known = residuals_known(err);
    const struct job_choice *best = &report->answer.search->plans[0];
    if (!known)
        return false;
    struct likeness likeness = likeness_of(&best->job);
    report->interval = interval_of(known, &likeness, best->time.seconds, false);
    if (!split->options->explain)
        return true;
    report->answer.sensitivity = sensitivity;
    report->answer.more = MORE;
    return job_sensitivity(sensitivity, report->answer.question, best, MORE, pool, err);
}

#define FRONT     20   /* plans, unless said otherwise, */
#define MAX_FRONT 2000 /* of so many */

static bool find_front(const struct split *split, struct job_search *front, struct parallel *pool,
                       struct error *err)
{
    const struct plan_options *given = split->options;
    const struct job_search_options options = {
        .top = MAX_FRONT, .front = true, .time_limit = given->planning.time_limit, .pool = pool};
    int wanted = plan_is_given(given, "top") ? (int)given->top : FRONT;
    if (!job_search(front, &split->question, &options, err))
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
    const struct job_search_options options = {.top = given->pareto ? 1 : (int)given->top,
                                               .time_limit = given->planning.time_limit,
                                               .pool = pool,
                                               .progress = &progress};
    bool ok = job_search(&search, question, &options, err);
    progress_end(&progress);
    if (ok) {
        struct job_search front = {0};
        struct job_search_report report = {.answer = {.question = question, .search = &search}};
        ok = explain(split, &report, pool, sensitivity, err) &&
             (!given->pareto || find_front(split, &front, pool, err));
        report.answer.front = given->pareto ? &front : NULL;
        ok = ok && deliver(split, &report, err);
        job_search_release(&front);
        job_search_release(&search);
    }
    parallel_free(pool);
    return ok;
}

/* ---- sweeps ---- */

enum column { TIME, TOKENS, UTILISATION, USED, SPLIT, MICROBATCH, CHUNKS, ZERO, RECOMPUTE, MEMORY, COLUMNS };

static const struct sweep_column columns[COLUMNS] = {
    [TIME] = {"iteration_time", "iteration", SWEEP_TIME, NULL},
    [TOKENS] = {"tokens_per_second", "tokens/s", SWEEP_NUMBER, "best split"},
    [UTILISATION] = {"utilisation", "of peak", SWEEP_SHARE, NULL},
    [USED] = {"devices_used", "used", SWEEP_INTEGER, NULL},
    [SPLIT] = {"split", "split", SWEEP_TEXT, NULL},
    [MICROBATCH] = {"mbs", "mbs", SWEEP_INTEGER, NULL},
    [CHUNKS] = {"vp", "vp", SWEEP_INTEGER, NULL},
    [ZERO] = {"zero", "zero", SWEEP_INTEGER, NULL},
    [RECOMPUTE] = {"recompute", "recompute", SWEEP_TEXT, NULL},
    [MEMORY] = {"memory", "memory", SWEEP_BYTES, NULL},
};

/* The first axis is the global batch, the second the devices. */
static bool answer_point(const void *context, const int64_t *at, struct sweep_cell *cells, struct error *err)
{
    const struct split *split = context;
    struct job_question question = split->question;
    const struct job_search_options options = {.top = 1, .time_limit = split->options->planning.time_limit};
    struct job_search search;
    question.job.batch = at[0];
    question.job.devices = (int)at[1];
    if (!job_search(&search, &question, &options, err))
        return false;
    const struct job_choice *plan = &search.plans[0];
    const struct job *job = &plan->job;
    cells[TIME].number = plan->time.seconds;
    cells[TOKENS].number = (double)job->batch * (double)job->sequence / plan->time.seconds;
    cells[UTILISATION].number = job_utilisation(job, &plan->time);
    cells[USED].number = job->devices;
    snprintf(cells[SPLIT].text, sizeof cells[SPLIT].text, "tp %d cp %d ep %d pp %d dp %d", job->tensor,
             job->context, job->expert, job->pipeline, job->data);
    cells[MICROBATCH].number = (double)job->microbatch;
    cells[CHUNKS].number = job->chunks;
    cells[ZERO].number = job->sharding;
    snprintf(cells[RECOMPUTE].text, sizeof cells[RECOMPUTE].text, "%s", job_recompute_name(job->recompute));
    cells[MEMORY].number = plan->memory.total;
    job_search_release(&search);
    return true;
}

static void write_head(const void *context, struct json *json)
{
    const struct split *split = context;
    const struct job *job = &split->question.job;
    json_string(json, "objective", "iteration");
    json_string(json, "model", job->model->name);
    json_string(json, "device_type", job->device->name);
    json_string(json, "software", job->software->name);
    json_integer(json, "sequence", job->sequence);
}

static bool answer_sweep(struct split *split, struct error *err)
{
    const struct plan_options *given = split->options;
    const struct job *job = &split->question.job;
    char title[256];
    snprintf(title, sizeof title, "%.80s on %.80s, %.40s", job->model->name, job->device->name,
             job->software->name);
    const struct sweep_axis axes[] = {
        {"global_batch", "global batch", split->batches, false},
        {"devices", "devices", split->devices, false},
    };
    const struct sweep sweep = {
        .title = title,
        .drawn = "tokens per second",
        .columns = columns,
        .column_count = COLUMNS,
        .axes = axes,
        .axis_count = 2,
        .context = split,
        .answer = answer_point,
        .head = write_head,
    };
    const struct sweep_output output = {.json = given->json,
                                        .csv = given->csv,
                                        .file = given->output,
                                        .figure = given->figure,
                                        .threads = (int)given->planning.threads};
    static const char *const others[] = {"explain", "pareto", "top", "dot", "emit"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (plan_is_given(given, others[i]))
            return error_set(err, ERROR_USAGE, "--%s is for one plan, not for a sweep", others[i]);
    return sweep_deliver(&sweep, &output, err);
}

bool split_on_group(struct split *split, const struct cluster_group *group, struct error *err)
{
    struct job_question *question = &split->question;
    job_set_group(&question->job, group);
    question->job.type = model_type(group->type, (enum model_precision)split->options->model.precision);
    question->job.devices = group->nodes * group->devices_per_node;
    question->headroom = split->options->headroom / 100.0;
    return fix_parse("fix", &split->options->fix, question->ranges, err) && answer_one(split, err);
}

bool plan_by_split(const struct plan_options *options, struct error *err)
{
    struct split split = {.options = options};
    bool ok = ask(&split, err);
    if (ok && split.batches.count == 1 && split.devices.count == 1) {
        split.question.job.batch = split.batches.values[0];
        split.question.job.devices = (int)split.devices.values[0];
        ok = options->csv ? error_set(err, ERROR_USAGE,
                                      "--csv is for a sweep: give --global-batch or --devices a range")
                          : answer_one(&split, err);
    } else if (ok)
        ok = answer_sweep(&split, err);
    split_release(&split);
    return ok;
}
