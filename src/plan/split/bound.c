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
