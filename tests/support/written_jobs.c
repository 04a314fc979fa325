#include "support/written_jobs.h"

#include "plan/split/plan.h"

bool job_script(enum launch_format format, enum launch_launcher launcher, const struct job *job,
                struct text *out, struct error *err)
{
    struct plan plan;
    plan_init(&plan);
    if (!job_check_degrees(job, err) || !plan_of_one_job(&plan, job, job->devices, err))
        return false;
    bool ok = launch_write_script(format, launcher, &plan, job, out, err);
    plan_release(&plan);
    return ok;
}

bool job_launch(enum launch_format format, const struct job *job, struct text *out, struct error *err)
{
    struct plan plan;
    plan_init(&plan);
    if (!job_check_degrees(job, err) || !plan_of_one_job(&plan, job, job->devices, err))
        return false;
    bool ok = launch_write(format, &plan, job, out, err);
    plan_release(&plan);
    return ok;
}
