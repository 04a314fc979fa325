/* rh_explain: where the time of a recorded job went. */
#include "api/explain/explain.h"
#include "explain/found.h"

#include <stdlib.h>

/* Reads the run that this one is compared with, and tells what became slower. */
static bool compare(const struct explain *explain, const struct rh_list *paths,
                    const struct kernel_classes *kernels, struct api_report *report, struct error *err)
{
    struct explain before;
    struct explain_changes changes;
    if (!explain_make(&before, paths->items, paths->count, kernels, err))
        return false;
    struct text unlike = {0};
    bool done = explain_compare(&changes, explain, &before, err);
    if (done) {
        explain_tell_unlike(explain, &before, &unlike);
        explain_print_changes(&changes, text_within(&unlike, &report->text), &report->text);
        explain_write_changes(&changes, text_within(&unlike, report->json.out), &report->json);
        free(changes.kernels);
    }
    text_release(&unlike);
    explain_release(&before);
    return done;
}

static bool compare_with_plan(const struct explain *explain, const char *path, struct api_report *report,
                              struct error *err)
{
    struct explain_planned planned;
    if (!explain_plan(&planned, explain, path, err))
        return false;
    explain_print_planned(&planned, &report->text);
    explain_write_planned(&planned, &report->json);
    free(planned.stages);
    free(planned.ranks);
    return true;
}

static bool answer_with(const struct rh_explain_request *given, const struct kernel_classes *kernels,
                        struct api_report *report, struct error *err)
{
    struct explain explain;
    struct explain_stalls stalls = {.lanes = 0};
    struct explain_hours hours;
    struct explain_life life = {.count = 0};
    if (!explain_hours_find(&hours, given->traces.items, given->traces.count, err))
        return false;
    bool done = hours.count > 0
                    ? explain_life(&life, &explain, &hours, kernels, err)
                    : explain_make(&explain, given->traces.items, given->traces.count, kernels, err);
    explain_hours_release(&hours);
    if (!done)
        return false;
    json_open_document(&report->json, "rehearse-explanation/1");
    explain_write(&explain, &report->json);
    if (life.count > 0) {
        explain_print_life(&life, &report->text);
        explain_write_life(&life, &report->json);
    }
    if (given->against.count > 0)
        done = compare(&explain, &given->against, kernels, report, err);
    if (done && given->plan)
        done = compare_with_plan(&explain, given->plan, report, err);
    if (done && given->trace) {
        done = explain_stalls_find(&stalls, &explain, given->trace, err);
        if (done)
            explain_write_stalls(&stalls, &report->json);
    }
    explain_print(&explain, given->trace ? &stalls : NULL, &report->text);
    done = done && explain_add_achieved(&explain, given->device, &report->text, &report->json, err);
    json_close(&report->json);
    arena_release(&stalls.arena);
    arena_release(&life.arena);
    explain_release(&explain);
    return done;
}

static bool answer(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    const struct rh_explain_request *given = request;
    struct kernel_classes kernels = {.count = 0};
    (void)call;
    if (given->kernels && !kernel_classes_load(&kernels, given->kernels, err))
        return false;
    bool done = answer_with(given, given->kernels ? &kernels : NULL, report, err);
    kernel_classes_release(&kernels);
    return done;
}

API_WHOLE_COMMAND(explain, "explain", rh_explain_request, .answer = answer);
