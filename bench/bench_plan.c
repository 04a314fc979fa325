/* What planning takes: the exact search beside the reference's published seconds and beside its divide and
 * conquer, re-done here and run in the same process. Medians; one line per case. */
#include "core/clock.h"
#include "measure.h"

#include "cases.h"
#include "elastic/templates.h"
#include "plan/plan.h"
#include "plan/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RUNS 9

static struct parallel *pool;

/* Median wall seconds of `runs` searches; the last plan is left in *plan. */
static double measure(const struct plan_problem *problem, enum plan_search_method method, double limit,
                      int runs, struct pipeline *plan, double *cpu)
{
    struct plan_search_options options = {.method = method, .time_limit = limit, .pool = pool};
    double wall[RUNS];
    struct error err;
    double cpu_before = clock_processor();
    for (int i = 0; i < runs; i++) {
        double started = clock_now();
        if (i)
            pipeline_release(plan);
        if (!plan_search(problem, &options, plan, &err)) {
            fprintf(stderr, "bench: %s\n", err.text);
            exit(1);
        }
        wall[i] = clock_now() - started;
    }
    *cpu = (clock_processor() - cpu_before) / runs;
    return measure_median(wall, (size_t)runs);
}

static void print_proof(const struct pipeline *plan)
{
    if (plan->proven_optimal)
        printf("  optimal\n");
    else
        printf("  gap %.3g %%\n", 100 * plan_gap_of(plan->iteration_time, plan->lower_bound));
}

static void experiments(enum plan_objective objective)
{
    double total = 0;
    printf("\n%-22s %12s %10s %9s %12s %8s  %12s %14s\n", plan_objective_name(objective), "iteration s",
           "exact s", "cpu s", "divide s", "worse", "published s", "published/ours");
    for (int i = 0; i < 5; i++) {
        const struct bench_case *which = &bench_experiments[i];
        struct plan_problem problem;
        struct pipeline plan, divided;
        const char *from;
        double cpu, divide_cpu;
        bench_problem(which, objective, &problem, &from);
        double seconds = measure(&problem, SEARCH_EXACT, 0, RUNS, &plan, &cpu);
        double divide = measure(&problem, SEARCH_DIVIDE, 0, 1, &divided, &divide_cpu);
        total += seconds;
        printf("%-22s %12.4f %10.5f %9.5f %12.3f %6.2f %%  %12.1f %14.3g", which->name, plan.iteration_time,
               seconds, cpu, divide, 100 * (divided.iteration_time / plan.iteration_time - 1),
               which->published_optimum, which->published_optimum / seconds);
        print_proof(&plan);
        pipeline_release(&plan);
        pipeline_release(&divided);
        plan_problem_release(&problem);
    }
    printf("%-22s %12s %10.5f\n", "all five", "", total);
}

static void templates(enum plan_objective objective)
{
    struct plan_problem problem;
    struct plan_search_options options = {.method = SEARCH_EXACT, .pool = pool};
    struct template_set set;
    struct error err;
    const char *from;
    double wall[RUNS];
    bench_problem(&bench_homogeneous[3], objective, &problem, &from);
    for (int i = 0; i < RUNS; i++) {
        double started = clock_now();
        if (!templates_make(&set, &problem, 1, 8, &options, &err))
            exit(1);
        wall[i] = clock_now() - started;
        templates_release(&set);
    }
    printf("%-22s %10.5f\n", plan_objective_name(objective), measure_median(wall, RUNS));
    plan_problem_release(&problem);
}

static void large(const struct bench_case *which, enum plan_objective objective)
{
    struct plan_problem problem;
    struct pipeline plan;
    const char *from;
    double cpu;
    bench_problem(which, objective, &problem, &from);
    double seconds = measure(&problem, SEARCH_EXACT, 60, 1, &plan, &cpu);
    printf("%-22s %-9s %6d %6d %12.2f %10.3f %9.3f %9lld %12lld", which->name, plan_objective_name(objective),
           problem.layer_count, plan.stage_count, plan.iteration_time, seconds, cpu, (long long)plan.programs,
           (long long)plan.states);
    print_proof(&plan);
    pipeline_release(&plan);
    plan_problem_release(&problem);
}

/* The same with as much memory on every device as halfway from one micro-batch in flight to all of them. */
static void tight(const struct bench_case *which, enum plan_objective objective)
{
    struct plan_problem problem;
    struct pipeline loose, plan;
    const char *from;
    double cpu, one = 0, all = 0;
    bench_problem(which, objective, &problem, &from);
    double seconds = measure(&problem, SEARCH_EXACT, 60, 1, &loose, &cpu);
    for (int i = 0; i < loose.stage_count; i++) {
        const struct pipeline_stage *s = &loose.stages[i];
        one = fmax(one, (double)plan_stage_memory(&problem, s->layers.first, s->layers.last, 1) / s->devices);
        all = fmax(all, (double)s->memory / s->devices);
    }
    for (int g = 0; g < problem.group_count; g++)
        problem.groups[g].nodes.memory = (int64_t)((one + all) / 2);
    double bound = measure(&problem, SEARCH_EXACT, 60, 1, &plan, &cpu);
    printf("%-22s %-9s %6d %6d %12.2f %10.3f %9.3f %9lld %12lld  %8.1f x, %.2f %% longer", which->name,
           plan_objective_name(objective), problem.layer_count, plan.stage_count, plan.iteration_time, bound,
           cpu, (long long)plan.programs, (long long)plan.states, bound / seconds,
           100 * (plan.iteration_time / loose.iteration_time - 1));
    print_proof(&plan);
    pipeline_release(&loose);
    pipeline_release(&plan);
    plan_problem_release(&problem);
}

int main(void)
{
    struct plan_problem problem;
    const char *from;
    pool = parallel_new(2, &(struct error){0});
    bench_problem(&bench_experiments[0], OBJECTIVE_PIPELINE, &problem, &from);
    plan_problem_release(&problem);
    printf("planning, 2 threads, %s\n", from);
    printf("\nThe five experiments of H-Oobleck (gpt2-xl, 50 micro-batches); its published seconds are for "
           "its exhaustive search\n");
    struct pipeline plan;
    double cpu;
    for (int i = 0; i < 5; i++) { /* before anything else takes memory */
        bench_problem(&bench_experiments[i], OBJECTIVE_OOBLECK, &problem, &from);
        measure(&problem, SEARCH_EXACT, 0, 1, &plan, &cpu);
        pipeline_release(&plan);
        plan_problem_release(&problem);
    }
    printf("peak memory of the five exact searches: %.1f MiB\n", measure_peak_mib());
    experiments(OBJECTIVE_OOBLECK);
    experiments(OBJECTIVE_PIPELINE);

    printf("\nTemplates for 1 to 8 nodes of 8 devices, seconds for all (gpt2-xl, 50 micro-batches)\n");
    templates(OBJECTIVE_OOBLECK);
    templates(OBJECTIVE_PIPELINE);

    printf("\nLarge clusters, 60 s at most\n%-22s %-9s %6s %6s %12s %10s %9s %9s %12s\n", "", "objective",
           "layers", "stages", "iteration s", "exact s", "cpu s", "programs", "values");
    for (int i = 0; i < 6; i++) {
        large(&bench_long[i], OBJECTIVE_PIPELINE);
        large(&bench_long[i], OBJECTIVE_OOBLECK);
    }
    large(&bench_six_kinds, OBJECTIVE_PIPELINE);
    large(&bench_six_kinds, OBJECTIVE_OOBLECK);
    printf("\nThe same where memory binds, 60 s at most; exact s beside those without limits\n");
    for (int i = 0; i < 5; i++) {
        tight(&bench_experiments[i], OBJECTIVE_PIPELINE);
        tight(&bench_experiments[i], OBJECTIVE_OOBLECK);
    }
    for (int i = 0; i < 6; i++) {
        tight(&bench_long[i], OBJECTIVE_PIPELINE);
        tight(&bench_long[i], OBJECTIVE_OOBLECK);
    }
    printf("peak memory of all: %.0f MiB\n", measure_peak_mib());
    parallel_free(pool);
    return 0;
}
