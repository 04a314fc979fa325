/* The objectives of the papers at scale, on one thread: oobleck with 1,000 layers on 64 nodes of 8 devices and fewer
 * micro-batches than devices, and DAPPLE's on 128 devices and with 1,500 cuts. `bench_scale [SECONDS]`: the limit of each
 * search, 60 by default. */
#include "core/clock.h"
#include "measure.h"

#include "cases.h"
#include "plan/dapple/dapple.h"
#include "plan/plan.h"
#include "plan/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void pipeline(const struct bench_case *which, enum plan_objective objective, double limit)
{
    struct plan_search_options options = {.method = SEARCH_EXACT, .time_limit = limit};
    struct plan_problem problem;
    struct pipeline plan;
    struct error err;
    const char *from;
    bench_problem(which, objective, &problem, &from);
    double cpu = clock_processor();
    if (!plan_search(&problem, &options, &plan, &err)) {
        printf("%s\n", err.text);
        exit(1);
    }
    printf("%-13s %-9s %6d %12d %7d %12.3f %8.3f %9lld  %.3f %%\n", which->name,
           plan_objective_name(objective), problem.layer_count, problem.microbatches, plan.stage_count,
           plan.iteration_time, clock_processor() - cpu, (long long)plan.programs,
           100 * plan_gap_of(plan.iteration_time, plan.lower_bound));
    fflush(stdout);
    pipeline_release(&plan);
    plan_problem_release(&problem);
}

/* A small generator of its own, so that the layers are the same everywhere. */
static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 0x1p53;
}

enum kind { UNIFORM, NEAR, FAR };
static const char *const kinds[] = {"uniform", "+-20 %", "x 1 to 20"};

/* Layers of some milliseconds and megabytes, the same, or by factors as the kind says. */
static void make_chain(struct chain *chain, int layers, enum kind kind)
{
    uint64_t state = 1;
    if (!chain_init(chain, kinds[kind], layers, &(struct error){0}))
        exit(1);
    for (int i = 0; i < layers; i++) {
        double factor[3];
        for (int k = 0; k < 3; k++)
            factor[k] = kind == UNIFORM ? 1 : kind == NEAR ? 0.8 + 0.4 * draw(&state) : exp(3 * draw(&state));
        chain->layers[i] = (struct chain_load){
            .forward = 2e-3 * factor[0],
            .backward = 4e-3 * factor[0],
            .compute = 6e-3 * factor[0],
            .parameter_bytes = (int64_t)(12e6 * factor[1]),
            .activation_bytes = 4000000,
        };
        chain->crossing_bytes[i] = (int64_t)(4e5 * factor[2]);
        chain->until[i] = chain->layers[i];
        if (i > 0)
            chain_load_add(&chain->until[i], &chain->until[i - 1], 1);
    }
}

static void hybrid(int layers, enum kind kind, int machines, int each, int64_t batch, double limit)
{
    int ends[DAPPLE_MAX_DEVICES];
    for (int i = 0; i < machines; i++)
        ends[i] = each * (i + 1);
    struct dapple_cluster cluster = {.machine_count = machines,
                                     .machine_end = ends,
                                     .point_to_point = 1e9,
                                     .collective = 3e9,
                                     .inside = 25e9,
                                     .memory = 16e9};
    struct chain chain;
    make_chain(&chain, layers, kind);
    struct dapple_problem problem = {.chain = &chain,
                                     .cluster = &cluster,
                                     .profile_batch = 1,
                                     .global_batch = batch,
                                     .microbatch = 1,
                                     .state_factor = 4};
    struct dapple_options options = {.time_limit = limit};
    struct dapple_split plan;
    struct error err;
    double cpu = clock_processor();
    if (!dapple_search_exact(&problem, &options, &plan, &err)) {
        printf("%s\n", err.text);
        exit(1);
    }
    printf("%3d x %-3d %-10s %6d %6lld %7d %9.3f %8.3f %9lld  %.3f %%\n", machines, each, kinds[kind], layers,
           (long long)batch, plan.stage_count, plan.speedup, clock_processor() - cpu,
           (long long)plan.programs, 100 * (1 - plan.lower_bound / plan.latency));
    fflush(stdout);
    dapple_split_release(&plan);
    chain_release(&chain);
}

int main(int argc, char **argv)
{
    double limit = argc > 1 ? atof(argv[1]) : 60;
    printf("%-13s %-9s %6s %12s %7s %12s %8s %9s  %s\n", "nodes", "objective", "layers", "micro-batches",
           "stages", "iteration s", "cpu s", "programs", "gap");
    for (int i = 0; i < 5; i++) {
        pipeline(&bench_wide[i], OBJECTIVE_PIPELINE, limit);
        pipeline(&bench_wide[i], OBJECTIVE_OOBLECK, limit);
    }
    printf("\n%-9s %-10s %6s %6s %7s %9s %8s %9s  %s\n", "dapple", "layers", "cuts", "batch", "stages",
           "speedup", "cpu s", "programs", "gap");
    for (enum kind kind = UNIFORM; kind <= FAR; kind++) {
        for (int64_t batch = 32; batch <= 1024; batch *= 32) {
            hybrid(100, kind, 16, 8, batch, limit);
            hybrid(100, kind, 128, 1, batch, limit);
            hybrid(1500, kind, 2, 8, batch, limit);
            hybrid(1500, kind, 16, 1, batch, limit);
        }
    }
    printf("\npeak memory %.0f MiB\n", measure_peak_mib());
    return 0;
}
