#include "plan/split/bound.h"

#include <math.h>

bool space_exceeds(const struct space_bounds *bounds, double worst)
{
    return bounds->formula > worst && bounds->timed > worst;
}

struct space_bounds space_bounds_of(const struct space *space, int pipeline, double count, double layers,
                                    double blocks, struct space_bounds rest)
{
    double stages = pipeline, passes = count * layers / stages + space->question->job.calibration->step;
    double bubble = pipeline > 1 ? (stages - 1.0) * blocks / stages / space_max_chunks(space, pipeline) : 0.0;
    double rounding = 1.0 - 1e-12; /* of sums */
    bool formula = pipeline == 1 || (space->schedules & 1), timed = pipeline > 1 && (space->schedules & ~1u);
    return (struct space_bounds){formula ? (passes + bubble + rest.formula) * rounding : INFINITY,
                                 timed ? (passes + rest.timed) * rounding : INFINITY};
}

/* Returns the minimum seconds of all that is not a pass, of any sharding. A timed schedule has no ZeRO 3, and its sends
 * are among its passes; DualPipe exchanges twice the parameters. */
struct space_bounds space_rest_of(const struct space *space, struct job job, const struct space_group *group,
                                  unsigned shardings, const struct job_exchange exchanges[4])
{
    struct space_bounds rest = {INFINITY, INFINITY};
    for (job.sharding = 0; job.sharding <= 3; job.sharding++) {
        if (!(shardings >> job.sharding & 1))
            continue;
        double seconds = job_rest_floor(&job, &exchanges[job.sharding]);
        rest.formula = fmin(rest.formula, seconds);
        if (job.sharding > 2 || job.degrees.pipeline == 1)
            continue;
        if (space->schedules & (1u << SCHEDULE_ZB_H1 | 1u << SCHEDULE_ZB_V | 1u << SCHEDULE_DUALPIPEV))
            rest.timed = fmin(rest.timed, seconds);
        if (space->schedules >> SCHEDULE_DUALPIPE & 1) {
            struct job twice = job;
            twice.technique.schedule = SCHEDULE_DUALPIPE;
            struct job_exchange exchange = job_exchange_of(&twice, group->cut->layers);
            rest.timed = fmin(rest.timed, job_rest_floor(&twice, &exchange));
        }
    }
    if (job.degrees.pipeline > 1)
        rest.formula += (double)job_microbatches(&job) *
                        (job_sends_inside(&job) ? group->send_inside : group->send_across);
    return rest;
}

void space_weigh_task(const struct space *space, double within, struct space_task *task)
{
    const struct space_cut *cut = task->cut;
    double each = (double)__builtin_popcount(space_shardings(space, task->pipeline)) *
                  space_max_chunks(space, task->pipeline);
    task->bound = INFINITY;
    for (int d = 0; d < space->divisor_count; d++) {
        int64_t data = space->divisors[d];
        if (!space_data_allowed(space, cut, task->pipeline, data))
            continue;
        int64_t per_rank = space->question->job.batch / data;
        for (int g = 0; g < cut->groups; g++) {
            const struct space_group *group = &space->groups[cut->first_group + g];
            if (per_rank % group->microbatch != 0 || group->modes == 0)
                continue;
            int64_t whole = per_rank / group->microbatch;
            double count = (double)whole;
            task->combinations += group->modes * each;
            struct space_bounds bounds =
                space_bounds_of(space, task->pipeline, count, group->least, group->least_blocks,
                                (struct space_bounds){0.0, 0.0});
            double seconds = fmin(bounds.formula, bounds.timed);
            double devices =
                (double)cut->degrees.tensor * cut->degrees.context * task->pipeline * (double)data;
            if (within == 0.0)
                task->bound = fmin(task->bound, seconds);
            else if (seconds <= within)
                task->bound = fmin(task->bound, seconds * devices);
        }
    }
}

int space_compare_tasks(const void *a, const void *b)
{
    const struct space_task *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    if (x->cut != y->cut)
        return x->cut < y->cut ? -1 : 1;
    return x->pipeline - y->pipeline;
}

double space_longest_pace(const struct job_choice *plan, double worst)
{
    double count = (double)job_microbatches(&plan->job);
    double nodes = fmax((double)plan->job.devices / plan->job.devices_per_node, 1.0);
    double waiting = plan->job.calibration->jitter * log2(nodes) * plan->time.compute;
    double pace = (plan->time.compute + plan->time.tensor) / count,
           over = plan->time.seconds - waiting - worst;
    return (pace - (over > 0.0 ? over : over - plan->time.data) / count) * (1.0 + 1e-9);
}
