/* `rehearse plan --plan`, and a plan that was found before: it is written in another form. */
#include "api/choose.h"
#include "api/plan/command.h"
#include "api/plan/deliver.h"
#include "api/plan/handle.h"
#include "plan/split/plan.h"

/* What it takes to emit the plan of a model: the job that it is, or what is needed to make the jobs of its pipelines. */
struct remade {
    struct cost_chosen chosen;
    struct plan_parts parts;
    struct job job;
    bool is_job, has_parts;
};

/* Software that says a model's sizes needs the job; a plan that names no model and no software has none. */
static bool remake(const struct plan_options *options, struct plan *plan, struct remade *to,
                   struct error *err)
{
    struct cost_chosen *chosen = &to->chosen;
    bool wanted = (plan->software || options->asked.model) && plan_is_given(options, "emit");
    to->is_job = wanted && plan_is_job(plan);
    to->has_parts = wanted && !to->is_job && plan->type_count > 1 && plan->software &&
                    (plan->model || options->asked.model);
    if (!to->is_job && !to->has_parts)
        return true;
    if (!tables_add(&chosen->added, TABLE_LINKS, options->asked.links, err) ||
        !tables_add(&chosen->added, TABLE_CALIBRATIONS, options->asked.calibration, err) ||
        (doc_is_name(options->asked.software) &&
         !tables_add(&chosen->added, TABLE_SOFTWARE, options->asked.software, err)) ||
        (options->asked.model && !cost_choose_model(chosen, options->asked.model, err)) ||
        (options->asked.device && !cost_choose_devices(chosen, options->asked.device, err)))
        return false;
    to->parts = (struct plan_parts){
        .tables = &chosen->added,
        .model = chosen->model,
        .device = chosen->device_count > 0 ? chosen->devices[0] : NULL,
    };
    return to->has_parts || job_remake(&to->job, plan, &to->parts, err);
}

bool plan_by_file(const struct plan_options *options, struct error *err)
{
    struct plan plan;
    struct remade made = {.is_job = false};
    if (options->asked.from ? !api_plan_copy(options->asked.from, &plan, err)
                            : !plan_load(&plan, options->asked.plan, err))
        return false;
    bool ok = plan_check(&plan, err) && remake(options, &plan, &made, err);
    if (ok) {
        const struct plan_delivery delivery = {
            .plan = &plan,
            .job = made.is_job ? &made.job : NULL,
            .parts = made.has_parts ? &made.parts : NULL,
        };
        ok = plan_deliver(options, &delivery, err);
    }
    cost_chosen_release(&made.chosen);
    plan_release(&plan);
    return ok;
}
