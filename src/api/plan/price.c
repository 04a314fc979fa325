/* rh_price: what a launch description costs as it stands. */
#include "launch/price.h"
#include "api/command.h"
#include "api/plan/deliver.h"
#include "api/plan/handle.h"
#include "api/plan/launched.h"
#include "core/fields.h"
#include "core/progress.h"
#include "evidence/interval.h"
#include "evidence/own_run.h"
#include "evidence/validate.h"
#include "plan/split/plan.h"

#include <string.h>

static void drop(void *read)
{
    launch_options_release(read);
}

/* ---- the files ---- */

static bool read_files(const struct rh_price_request *given, rh_handle *handle, struct launch_options *read,
                       struct error *err)
{
    const char *const *files = api_keep_list(handle, &given->files, err);
    const char *const *sets = files ? api_keep_list(handle, &given->set, err) : NULL;
    return sets && launched_read(read, files, given->files.count, sets, given->root, err);
}

static bool check_strict(const struct rh_price_request *given, const struct launch_options *read,
                         struct error *err)
{
    struct text text = {0};
    for (int i = 0; i < read->argument_count; i++)
        if (read->arguments[i].use == LAUNCH_UNKNOWN)
            text_format(&text, "%s%s:%d: %s is not understood%s%s", text.length > 0 ? "; " : "",
                        read->arguments[i].path, read->arguments[i].line, read->arguments[i].name,
                        read->arguments[i].note ? ": " : "",
                        read->arguments[i].note ? read->arguments[i].note : "");
    for (int i = 0; i < read->note_count; i++)
        if (strstr(read->notes[i], " not found") || strstr(read->notes[i], " not read") ||
            text_starts_with(read->notes[i], "--set "))
            text_format(&text, "%s%s", text.length > 0 ? "; " : "", read->notes[i]);
    bool ok = !given->strict || (text.length == 0 && !text.failed);
    if (!ok && text.failed)
        error_memory(err);
    else if (!ok)
        error_set(err, ERROR_INPUT, "%s", text.data);
    text_release(&text);
    return ok;
}

/* ---- the same job, planned freely ---- */

/* There may be no such plan, and `why` says it then. */
static bool plan_freely(const struct api_call *call, struct launch_price *price, struct job_search *search,
                        struct error *why, struct error *err)
{
    struct job_question question = {.job = price->job, .headroom = price->headroom};
    struct parallel *pool = parallel_new(call->how.threads, err);
    struct progress progress;
    if (!pool)
        return false;
    question.job.stage_blocks = NULL;
    question.job.technique = technique_asked(&price->job.technique);
    progress_start(&progress, "planning");
    const struct job_search_options searched = {
        .top = 1, .time_limit = call->how.time_limit, .pool = pool, .progress = &progress};
    if (job_search(search, &question, &searched, why))
        price->planned = &search->plans[0];
    else
        price->not_planned = why->text;
    progress_end(&progress);
    parallel_free(pool);
    if (price->planned || (why->kind != ERROR_FAILED && why->kind != ERROR_STOPPED))
        return true;
    *err = *why;
    return false;
}

/* ---- the answer ---- */

static void add_values(rh_handle *handle, const struct launch_price *price)
{
    struct plan_figure *parts = ARENA_ARRAY(&handle->arena, JOB_TIME_PARTS, struct plan_figure);
    handle->failed = handle->failed || !parts;
    for (int i = 0; parts && i < JOB_TIME_PARTS; i++)
        parts[i] = (struct plan_figure){job_time_parts[i].key, field_get(&price->time, &job_time_parts[i])};
    api_plan_add_nearest(handle, &price->nearest);
    if (parts)
        api_plan_add_parts(handle, parts, JOB_TIME_PARTS);
}

static bool save_plan(const struct rh_price_request *given, const struct launch_price *price,
                      struct error *err)
{
    struct plan plan;
    if (!given->plan)
        return true;
    plan_init(&plan);
    if (!plan_of_one_job(&plan, &price->job, price->job.devices, err))
        return false;
    plan.expected = price->factor * price->time.seconds;
    plan.interval = price->interval;
    plan.nearest = price->nearest;
    bool saved = plan_save(&plan, given->plan, err);
    plan_release(&plan);
    return saved;
}

static bool answer(const struct rh_price_request *given, const struct launch_price *price,
                   const struct estimate *estimate, struct api_report *report, struct error *err)
{
    struct json *json = &report->json;
    launch_price_write(price, given->explain_memory, json);
    launch_price_print(price, &report->text);
    if (given->explain_memory)
        job_memory_print(&price->job, &report->text);
    if (given->explain)
        estimate_print(estimate, &report->text);
    add_values(&report->base, price);
    return save_plan(given, price, err);
}

static bool price_it(const struct rh_price_request *given, const struct api_call *call, struct split *split,
                     struct launch_options *read, struct api_report *report, struct error *err)
{
    struct job_search search = {0};
    struct error why;
    struct launch_price price = {.options = read, .job = split->question.job};
    if (!launch_price_job(&price, err))
        return false;
    enum cost_type type = cost_device_type(price.job.device, price.job.type);
    if (type != price.job.type)
        launch_note(read, "%s has no %s: priced in %s", price.job.device->name,
                    cost_type_name(price.job.type), cost_type_name(type));
    if (read->no_memory)
        return error_memory(err);
    struct estimate estimate = own_run_estimate(&price.job, &price.time);
    price.interval = interval_of(&estimate, price.time.seconds);
    price.factor = given->no_neighbours ? 1.0 : estimate.factor;
    price.own = given->no_neighbours ? 1.0 : estimate.own;
    int kinds;
    price.wider = launch_price_wider(read, &kinds);
    interval_scale(&price.interval, 1.0 / price.wider, price.wider);
    price.headroom = given->headroom / 100.0;
    bool ok = estimate_nearest(&estimate, &report->base.arena, &price.nearest, err) &&
              (given->alone || plan_freely(call, &price, &search, &why, err)) &&
              answer(given, &price, &estimate, report, err);
    job_search_release(&search);
    return ok;
}

static bool price_files(const void *request, const struct api_call *call, struct api_report *report,
                        struct error *err)
{
    const struct rh_price_request *given = request;
    struct plan_options asked = {.precision = 0};
    struct split split = {.options = &asked};
    option_copy_common(&asked.asked, api_plan_options, given, api_price_options);
    struct launch_options *read = api_report_keep(report, sizeof *read, drop, err);
    bool ok = read && read_files(given, &report->base, read, err) && check_strict(given, read, err) &&
              tables_add(&split.chosen.added, TABLE_LINKS, given->links, err) &&
              tables_add(&split.chosen.added, TABLE_CALIBRATIONS, given->calibration, err) &&
              launched_job(&split, &asked, given->devices, read, err) &&
              price_it(given, call, &split, read, report, err);
    split_release(&split);
    return ok;
}

API_WHOLE_COMMAND(price, "price", rh_price_request, .answer = price_files);
