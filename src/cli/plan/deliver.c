#include "cli/plan/deliver.h"

#include "cli/output.h"
#include "figure/plan.h"
#include "launch/launch.h"

bool plan_save(const struct plan *plan, const char *path, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    plan_write_json(plan, &json, NULL);
    return output_and_release(path, &text, err);
}

static bool emit(enum launch_format format, const struct plan_delivery *delivery, struct text *out,
                 struct error *err)
{
    return delivery->job || !delivery->parts
               ? launch_write(format, delivery->plan, delivery->job, out, err)
               : launch_write_runs(format, delivery->plan, delivery->parts, out, err);
}

bool plan_deliver(const struct plan_options *options, const struct plan_delivery *delivery, struct error *err)
{
    struct text text = {0};
    if (options->output && !plan_save(delivery->plan, options->output, err))
        return false;
    if (options->figure && !figure_plan(options->figure, delivery->plan,
                                        &(struct figure_plan_options){.style = &figure_screen}, err))
        return false;
    if (options->json)
        return plan_save(delivery->plan, NULL, err);
    if (plan_is_given(options, "emit")) {
        if (!emit((enum launch_format)options->emit, delivery, &text, err)) {
            text_release(&text);
            return false;
        }
    } else if (options->dot)
        plan_write_dot(delivery->plan, &text);
    else
        delivery->print(delivery->context, &text);
    return output_and_release(NULL, &text, err);
}

bool plan_deliver_sweep(const struct plan_options *options, const struct sweep *sweep, struct error *err)
{
    const struct sweep_output output = {.json = options->json,
                                        .csv = options->csv,
                                        .file = options->output,
                                        .figure = options->figure,
                                        .threads = (int)options->planning.threads};
    return sweep_deliver(sweep, &output, err);
}
