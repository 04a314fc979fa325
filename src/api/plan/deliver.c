#include "api/plan/deliver.h"

#include "api/plan/handle.h"
#include "core/file_output.h"
#include "figure/plan.h"
#include "launch/launch.h"
#include "plan/storage.h"

bool plan_save(const struct plan *plan, const char *path, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    plan_write_json(plan, &json, NULL);
    bool saved = file_write_exact(path, &text, err);
    text_release(&text);
    return saved;
}

static bool emit(const struct plan_options *options, const struct plan_delivery *delivery, struct text *out,
                 struct error *err)
{
    enum launch_format format = (enum launch_format)options->emit;
    if (!plan_is_given(options, "emit"))
        return true;
    if (plan_is_given(options, "launcher"))
        return launch_write_script(format, (enum launch_launcher)options->launcher, delivery->plan,
                                   delivery->job, out, err);
    return delivery->job || !delivery->parts
               ? launch_write(format, delivery->plan, delivery->job, out, err)
               : launch_write_runs(format, delivery->plan, delivery->parts, out, err);
}

static bool save_files(const struct plan_options *options, const struct plan *plan, struct error *err)
{
    return (!options->asked.output || plan_save(plan, options->asked.output, err)) &&
           (!options->asked.figure ||
            figure_plan(options->asked.figure, plan, &(struct figure_plan_options){.style = &figure_screen},
                        err));
}

bool plan_deliver(const struct plan_options *options, const struct plan_delivery *delivery, struct error *err)
{
    if (options->asked.storage &&
        !storage_of(delivery->plan, options->asked.storage, (double)options->asked.save_every, err))
        return false;
    struct api_plan *made = api_plan_new(err);
    if (!made)
        return false;
    if (delivery->print)
        delivery->print(delivery->context, &made->text);
    else
        plan_print(delivery->plan, &made->text);
    if (delivery->plan->not_counted)
        text_format(&made->text, "\nnot counted: %s of the cluster file\n", delivery->plan->not_counted);
    storage_print(delivery->plan, &made->text);
    bool done = save_files(options, delivery->plan, err) && emit(options, delivery, &made->emitted, err);
    made->plan = *delivery->plan;
    plan_init(delivery->plan);
    *options->made = api_plan_made(made, done, err);
    return *options->made;
}

bool plan_deliver_sweep(const struct plan_options *options, const struct sweep *sweep, struct error *err)
{
    if (options->asked.storage)
        return error_set(err, ERROR_USAGE,
                         "--storage is for one plan: give one batch and one number of devices");
    const struct sweep_output output = {.file = options->asked.output,
                                        .figure = options->asked.figure,
                                        .threads = (int)options->planning.threads};
    *options->made = sweep_answer(sweep, &output, err);
    return *options->made;
}
