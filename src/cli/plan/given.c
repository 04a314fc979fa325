/* `rehearse plan --plan`: a plan that exists is written in another form. */
#include "cli/cost/choose.h"
#include "cli/plan/command.h"
#include "cli/plan/deliver.h"
#include "plan/split/plan.h"

static void print(const void *context, struct text *out)
{
    plan_print(context, out);
}

/* Software that says a model's sizes needs the job; a plan that names no model and no software has none. */
static bool remake(const struct plan_options *options, struct plan *plan, struct cost_chosen *chosen,
                   struct job *job, bool *is_job, struct error *err)
{
    *is_job = plan_is_job(plan) && (plan->software || options->model.name) && plan_is_given(options, "emit");
    if (!*is_job)
        return true;
    if (!tables_add(&chosen->added, TABLE_LINKS, options->model.links, err) ||
        !tables_add(&chosen->added, TABLE_CALIBRATIONS, options->model.calibration, err) ||
        (options->model.name && !cost_choose_model(chosen, options->model.name, err)) ||
        (options->device && !cost_choose_devices(chosen, options->device, err)))
        return false;
    const struct plan_parts parts = {
        .tables = &chosen->added,
        .model = chosen->model,
        .device = chosen->device_count > 0 ? chosen->devices[0] : NULL,
    };
    return job_remake(job, plan, &parts, err);
}

bool plan_by_file(const struct plan_options *options, struct error *err)
{
    struct plan plan;
    struct cost_chosen chosen = {0};
    struct job job;
    bool is_job;
    if (!plan_load(&plan, options->plan, err))
        return false;
    bool ok = plan_check(&plan, err) && remake(options, &plan, &chosen, &job, &is_job, err);
    if (ok) {
        const struct plan_delivery delivery = {
            .plan = &plan, .print = print, .job = is_job ? &job : NULL, .context = &plan};
        ok = plan_deliver(options, &delivery, err);
    }
    cost_chosen_release(&chosen);
    plan_release(&plan);
    return ok;
}
