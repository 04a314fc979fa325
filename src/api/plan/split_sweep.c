/* Sweeps of `rehearse plan` over batches, devices and software. */
#include "api/plan/deliver.h"
#include "api/plan/split.h"
#include "core/unit.h"
#include "evidence/own_run.h"
#include "plan/split/plan.h"

#include <stdio.h>
#include <string.h>

enum column {
    TIME,
    TOKENS,
    UTILISATION,
    USED,
    SPLIT,
    MICROBATCH,
    CHUNKS,
    ZERO,
    RECOMPUTE,
    MEMORY,
    EXPECTED,
    COLUMNS
};

static const struct sweep_column columns[COLUMNS] = {
    [TIME] = {"iteration_time", "formula", SWEEP_TIME, NULL},
    [TOKENS] = {"tokens_per_second", "tokens/s", SWEEP_NUMBER, "best split"},
    [UTILISATION] = {"utilisation", "of peak", SWEEP_SHARE, NULL},
    [USED] = {"devices_used", "used", SWEEP_INTEGER, NULL},
    [SPLIT] = {"split", "split", SWEEP_TEXT, NULL},
    [MICROBATCH] = {"mbs", "mbs", SWEEP_INTEGER, NULL},
    [CHUNKS] = {"vp", "vp", SWEEP_INTEGER, NULL},
    [ZERO] = {"zero", "zero", SWEEP_INTEGER, NULL},
    [RECOMPUTE] = {"recompute", "recompute", SWEEP_TEXT, NULL},
    [MEMORY] = {"memory", "memory", SWEEP_BYTES, NULL},
    [EXPECTED] = {"expected", "expected", SWEEP_TIME, NULL},
};

/* ---- money ---- */

int split_budget_columns(const struct plan_options *given, struct sweep_column *added)
{
    int count = 0;
    if (given->asked.tokens > 0.0)
        added[count++] = (struct sweep_column){"days", "days", SWEEP_NUMBER, NULL};
    if (given->asked.tokens > 0.0 && given->asked.price)
        added[count++] = (struct sweep_column){"dollars", "dollars", SWEEP_NUMBER, NULL};
    if (given->asked.price)
        added[count++] =
            (struct sweep_column){"dollars_per_million_tokens", "$/M tokens", SWEEP_NUMBER, NULL};
    if (given->asked.tokens > 0.0)
        added[count++] = (struct sweep_column){"kilowatt_hours", "kWh", SWEEP_NUMBER, NULL};
    return count;
}

bool split_budget_cells(const struct split *split, struct plan *plan, struct sweep_cell *cells,
                        struct error *err)
{
    const struct plan_options *given = split->options;
    const struct plan_budget *budget = &plan->budget;
    if (!split_budget(split, plan, err))
        return false;
    if (given->asked.tokens > 0.0)
        (cells++)->number = budget->seconds / SECONDS_PER_DAY;
    if (given->asked.tokens > 0.0 && given->asked.price)
        (cells++)->number = budget->dollars;
    if (given->asked.price)
        (cells++)->number = budget->dollars_per_million_tokens;
    if (given->asked.tokens > 0.0)
        cells->number = budget->watt_hours / 1000.0;
    return true;
}

static bool answer_budget(const struct split *split, const struct job_question *question,
                          const struct job_search *search, struct sweep_cell *cells, struct error *err)
{
    const struct job_answer answer = {.question = question, .search = search};
    struct plan plan;
    plan_init(&plan);
    bool ok = plan_of_job(&plan, &answer, err) && split_budget_cells(split, &plan, cells, err);
    plan_release(&plan);
    return ok;
}

/* The axes are software, where several are compared, batches and devices. */

static bool answer_point(const void *context, const int *at, struct sweep_cell *cells, struct error *err)
{
    const struct split *split = context;
    struct job_question question = split->question;
    const struct job_search_options options = {.top = 1, .time_limit = split->options->planning.time_limit};
    struct job_search search;
    if (split->software_count > 1)
        question.job.software = software_at(*at++);
    question.job.batch = split->batches.values[at[0]];
    question.job.devices = (int)split->devices.values[at[1]];
    if (!job_search(&search, &question, &options, err))
        return false;
    const struct job_choice *plan = &search.plans[0];
    const struct job *job = &plan->job;
    double factor = split->options->asked.no_neighbours ? 1.0 : own_run_estimate(job, &plan->time).factor;
    cells[EXPECTED].number = factor * plan->time.seconds;
    cells[TIME].number = plan->time.seconds;
    cells[TOKENS].number = (double)job->batch * (double)job->sequence / plan->time.seconds;
    cells[UTILISATION].number = job_utilisation(job, &plan->time);
    cells[USED].number = job->devices;
    snprintf(cells[SPLIT].text, sizeof cells[SPLIT].text, "tp %d cp %d ep %d pp %d dp %d",
             job->degrees.tensor, job->degrees.context, job->degrees.expert, job->degrees.pipeline,
             job->degrees.data);
    cells[MICROBATCH].number = (double)job->microbatch;
    cells[CHUNKS].number = job->chunks;
    cells[ZERO].number = job->sharding;
    snprintf(cells[RECOMPUTE].text, sizeof cells[RECOMPUTE].text, "%s", recompute_name(job->recompute));
    cells[MEMORY].number = plan->memory.total;
    bool ok = answer_budget(split, &question, &search, &cells[COLUMNS], err);
    job_search_release(&search);
    return ok;
}

static void write_head(const void *context, struct json *json)
{
    const struct split *split = context;
    const struct job *job = &split->question.job;
    json_string(json, "objective", "iteration");
    json_string(json, "model", job->model->name);
    json_string(json, "device_type", job->device->name);
    if (split->software_count == 1)
        json_string(json, "software", job->software->name);
    json_integer(json, "sequence", job->sequence);
}

bool split_sweep(struct split *split, struct error *err)
{
    const struct plan_options *given = split->options;
    const struct job *job = &split->question.job;
    const char *names[SOFTWARE_MAX];
    struct sweep_column shown[COLUMNS + SPLIT_BUDGET_COLUMNS];
    int column_count = COLUMNS;
    char title[256];
    bool every = split->software_count > 1;
    snprintf(title, sizeof title, "%.80s on %.80s%s%.40s", job->model->name, job->device->name,
             every ? "" : ", ", every ? "" : job->software->name);
    for (int i = 0; i < software_count(false); i++)
        names[i] = software_at(i)->name;
    memcpy(shown, columns, sizeof columns);
    column_count += split_budget_columns(given, shown + COLUMNS);
    const struct sweep_axis axes[] = {
        {"software", "software", split->software_count, NULL, names, NULL, false},
        {"global_batch", "global batch", split->batches.count, split->batches.values, NULL, NULL, false},
        {"devices", "devices", split->devices.count, split->devices.values, NULL, NULL, false},
    };
    const struct sweep sweep = {
        .format = "rehearse-sweep/1",
        .title = title,
        .doing = "planning",
        .drawn = "tokens per second",
        .columns = shown,
        .column_count = column_count,
        /* a single software is no axis */
        .axes = every ? axes : axes + 1,
        .axis_count = every ? 3 : 2,
        .context = split,
        .answer = answer_point,
        .head = write_head,
    };
    static const char *const others[] = {"explain", "explain-memory", "pareto", "top", "dot", "emit"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (plan_is_given(given, others[i]))
            return error_set(err, ERROR_USAGE, "--%s is for one plan, not for a sweep", others[i]);
    return plan_deliver_sweep(given, &sweep, err);
}
