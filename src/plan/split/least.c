/* The least memory that combinations need: where nothing fits, they are found without weighing all of them. */
#include "core/unit.h"
#include "plan/split/space.h"

#include <inttypes.h>
#include <math.h>

double space_least_memory(const struct space *space, const struct space_cut *cut, struct job job,
                          unsigned shardings, double kept)
{
    const struct job_range *offload = &space->question->ranges[JOB_TECHNIQUE + TECHNIQUE_OFFLOAD];
    double least = INFINITY;
    if (offload->given)
        job.technique.offload = (int)offload->max;
    for (job.sharding = 0; job.sharding <= 3; job.sharding++)
        if (shardings >> job.sharding & 1)
            least = fmin(least, job_memory_floor(&job, cut->layers, kept));
    return least;
}

double space_least_of(const struct space *space, const struct space_cut *cut, int pipeline)
{
    unsigned shardings = space_shardings(space, pipeline);
    const struct space_layers first = {.cut = cut, .microbatch = space->groups[cut->first_group].microbatch};
    struct job job = space_job(space, &first);
    double least = INFINITY;
    job.degrees.pipeline = pipeline;
    for (int d = 0; d < space->divisor_count; d++) {
        job.degrees.data = (int)space->divisors[d];
        if (space_data_allowed(space, cut, pipeline, job.degrees.data))
            least = fmin(least, space_least_memory(space, cut, job, shardings, 0.0));
    }
    return least;
}

bool space_does_not_fit(const struct space *space, const struct job *min, double bytes, struct error *err)
{
    const struct job *job = &space->question->job;
    char needed[32], there[32];
    if (bytes == 0.0)
        return error_set(err, ERROR_INFEASIBLE, "no split of '%s' over %d devices is allowed",
                         job->model->name, job->devices);
    unit_format(needed, sizeof needed, bytes, UNIT_BYTES, 4);
    unit_format(there, sizeof there, space->memory, UNIT_BYTES, 4);
    return error_set(
        err, ERROR_INFEASIBLE,
        "'%s' does not fit: the smallest of all splits (tp %d, pp %d, dp %d, cp %d, ep %d, mbs %" PRId64
        ", zero %d) needs %s on its fullest device, of which %s may be used",
        job->model->name, min->degrees.tensor, min->degrees.pipeline, min->degrees.data, min->degrees.context,
        min->degrees.expert, min->microbatch, min->sharding, needed, there);
}

int space_smallest_chunks(const struct space *space, struct job job)
{
    for (int chunks = space_max_chunks(space, job.degrees.pipeline); chunks > 1; chunks--) {
        job.chunks = chunks;
        if (space_has_chunks(space, &job, chunks))
            return chunks;
    }
    return 0;
}
