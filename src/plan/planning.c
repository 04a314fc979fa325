#include "plan/planning.h"

#include <string.h>

bool planning_open(struct planning *planning, const struct planning_options *options, struct error *err)
{
    memset(planning, 0, sizeof *planning);
    if (!profile_load(&planning->profile, options->profile, (int)options->microbatch_size, err))
        return false;
    if (!cluster_load(&planning->cluster, options->cluster, err))
        goto no_cluster;
    if (!plan_problem_init(&planning->problem, &planning->profile, &planning->cluster,
                           (enum plan_objective)options->objective, (enum plan_allreduce)options->allreduce,
                           (int)options->microbatches, err))
        goto no_problem;
    planning->problem.memory = (enum memory_model)options->memory;
    progress_start(&planning->progress, "searching");
    planning->search.time_limit = options->time_limit;
    planning->search.progress = &planning->progress;
    planning->search.pool = parallel_new((int)options->threads, err);
    if (planning->search.pool)
        return true;
    plan_problem_release(&planning->problem);
no_problem:
    cluster_release(&planning->cluster);
no_cluster:
    profile_release(&planning->profile);
    return false;
}

void planning_close(struct planning *planning)
{
    progress_end(&planning->progress);
    parallel_free(planning->search.pool);
    plan_problem_release(&planning->problem);
    cluster_release(&planning->cluster);
    profile_release(&planning->profile);
}
