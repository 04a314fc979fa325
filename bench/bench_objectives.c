/* What the objectives are worth: the best plan of each, and what a 1F1B iteration of it takes when it is
 * played (simulated without communication, tests/support/simulate.c). */
#include "cases.h"
#include "plan/search.h"
#include "support/simulate.h"

#include <stdio.h>
#include <stdlib.h>

static double play(const struct pipeline *plan)
{
    double *times = calloc(2 * (size_t)plan->stage_count, sizeof *times);
    if (!times)
        exit(1);
    for (int i = 0; i < plan->stage_count; i++) {
        times[i] = plan->stages[i].forward;
        times[plan->stage_count + i] = plan->stages[i].backward;
    }
    double seconds = simulate_1f1b(plan->stage_count, times, times + plan->stage_count, plan->microbatches);
    free(times);
    return seconds;
}

static double compare_one(const struct bench_case *which, enum plan_objective objective,
                          enum plan_search_method method)
{
    struct plan_search_options options = {.method = method};
    struct plan_problem problem;
    struct pipeline plan;
    struct error err;
    const char *from;
    bench_problem(which, objective, &problem, &from);
    if (!plan_search(&problem, &options, &plan, &err)) {
        printf("  %10s %10s %8s", "none", "", "");
        plan_problem_release(&problem);
        return 0;
    }
    double played = play(&plan);
    printf("  %10.4f %10.4f %+7.2f%%", plan.iteration_time, played, 100 * (plan.iteration_time / played - 1));
    pipeline_release(&plan);
    plan_problem_release(&problem);
    return played;
}

static void compare(const struct bench_case *which)
{
    printf("%-22s", which->name);
    double pipeline = compare_one(which, OBJECTIVE_PIPELINE, SEARCH_EXACT);
    double oobleck = compare_one(which, OBJECTIVE_OOBLECK, SEARCH_EXACT);
    compare_one(which, OBJECTIVE_OOBLECK, SEARCH_FOLD_DP);
    printf("  %+7.2f%%\n", 100 * (oobleck / pipeline - 1));
}

int main(void)
{
    struct plan_problem problem;
    const char *from;
    bench_problem(&bench_experiments[0], OBJECTIVE_PIPELINE, &problem, &from);
    plan_problem_release(&problem);
    printf("Objectives against a played iteration, seconds; gpt2-xl, 50 micro-batches, %s\n\n", from);
    printf("%-22s  %-30s  %-30s  %-30s  %s\n", "", "pipeline, exact", "oobleck, exact", "oobleck, fold-dp",
           "oobleck's optimum");
    printf("%-22s", "");
    for (int i = 0; i < 3; i++)
        printf("  %10s %10s %8s", "says", "played", "off by");
    printf("  played against pipeline's\n");
    for (int i = 0; i < 5; i++)
        compare(&bench_experiments[i]);
    for (int i = 0; i < 4; i++)
        compare(&bench_homogeneous[i]);
    return 0;
}
