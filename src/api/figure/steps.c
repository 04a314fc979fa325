/* rh_figure_steps: the parts of training steps, as tables, columns and a picture. */
#include "figure/steps/steps.h"
#include "api/command.h"
#include "api/figure/options.h"
#include "core/fields.h"
#include "figure/gnuplot.h"
#include "trace/steps/report.h"

#include <stdio.h>

enum { STEPS_FOLDERS, STEPS_SKIP_EPOCHS };

/* What the handle keeps: columns are the durations themselves. */
struct kept {
    struct steps steps;
    struct steps_model model;
};

static void drop(void *context)
{
    struct kept *kept = context;
    steps_model_release(&kept->model);
    steps_release(&kept->steps);
}

static bool read_all(const struct rh_figure_steps_request *asked, const struct api_call *call,
                     struct steps *steps, struct error *err)
{
    const struct steps_options options = {
        .workload = asked->workload,
        .gpus = asked->gpus,
        .batch = asked->batch,
        .skip_epochs = call->given[STEPS_SKIP_EPOCHS] ? asked->skip_epochs : -1,
        .as_study = asked->as_study,
    };
    for (size_t i = 0; i < asked->folders.count; i++)
        if (api_stopped(call, err) || !steps_read(steps, asked->folders.items[i], &options, err))
            return false;
    return steps_finish(steps, err);
}

static const struct field group_fields[] = {
    FIELD_OUT(struct steps_group, "gpus", gpus, FIELD_INT64),
    FIELD_OUT(struct steps_group, "batch", batch, FIELD_INT64),
};

static void add_values(rh_handle *handle, const struct steps *steps)
{
    API_FIELDS(handle, "", steps->groups, (int64_t)steps->group_count, group_fields);
    for (size_t i = 0; i < steps->group_count; i++)
        for (int event = 0; event < steps->event_count; event++) {
            const struct steps_values *values = &steps->groups[i].events[event];
            const struct field seconds[] = {{.key = steps->events[event], .type = FIELD_DOUBLE}};
            char group[40];
            snprintf(group, sizeof group, "groups.%zu", i);
            if (values->count > 0)
                API_FIELDS(handle, group, values->items, (int64_t)values->count, seconds);
        }
}

static bool answer(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    const struct rh_figure_steps_request *asked = request;
    struct kept *kept = api_report_keep(report, sizeof *kept, drop, err);
    if (!kept)
        return false;
    struct steps *steps = &kept->steps;
    if ((asked->output && !figure_can_write(asked->output, err)) || !read_all(asked, call, steps, err) ||
        !steps_model(steps, &kept->model, err))
        return false;
    if (asked->output &&
        !figure_steps(asked->output, (enum figure_steps_kind)option_index(figure_steps_kinds, asked->kind),
                      asked->event, figure_style_of(asked->style), steps, &kept->model, err))
        return false;
    add_values(&report->base, steps);
    return steps_write_json(steps, &kept->model, &report->json, err) &&
           steps_print(steps, &kept->model, &report->text, err);
}

API_WHOLE_COMMAND(figure_steps, "figure steps", rh_figure_steps_request, .answer = answer);
