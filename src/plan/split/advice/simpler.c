#include "plan/split/advice/simpler.h"

bool job_find_simpler(struct job_choice *simpler, const struct job_question *question,
                      const struct job_choice *best, struct parallel *pool)
{
    static const enum job_dimension left_out[] = {JOB_CONTEXT, JOB_PIPELINE, JOB_TENSOR};
    const struct job_search_options options = {
        .top = 1, .ceiling = best->time.seconds * (1.0 + JOB_HARDLY_SLOWER), .pool = pool};
    struct job_question asked = *question;
    bool found = false;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        enum job_dimension dimension = left_out[i];
        struct job_range before = asked.ranges[dimension];
        struct job_search search;
        struct error unused;
        if (job_dimension_value(&best->job, dimension) == 1 || before.given)
            continue;
        asked.ranges[dimension] = (struct job_range){1, 1, true};
        if (!job_search(&search, &asked, &options, &unused)) {
            asked.ranges[dimension] = before;
            continue;
        }
        *simpler = search.plans[0];
        simpler->job.stage_blocks = NULL;
        found = true;
        job_search_release(&search);
    }
    return found;
}
