/* A year with 10,000 losses of nodes for every policy, and 1,000 such years for all of them: processor seconds of one
 * thread, and the time of the whole on two threads. */
#include "core/clock.h"
#include "elastic/goodput.h"
#include "elastic/policy/play.h"
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NODES  4216 /* 10,000 losses a year at RSC-1's rate */
#define STAGES 16
#define RUNS   7
#define SEEDS  1000

static void give_up(const struct error *err)
{
    fprintf(stderr, "bench: %s\n", err->text);
    exit(1);
}

static const char *const batches[] = {"single nodes", "batches of 2"};

static void measure_years(const struct policy_setup *setup, const struct failure_model *model)
{
    struct error err;
    struct failure_trace trace = {0};
    struct policy_state state;
    double seconds[RUNS];
    int count;
    const struct elastic_policy *const *policies = elastic_policies(&count);
    if (!policy_state_make(&state, NODES, &err))
        give_up(&err);
    for (int run = 0; run < RUNS; run++) {
        double started = clock_processor();
        if (!failures_draw(&trace, model, FAILURES_YEAR, (uint64_t)run, &err))
            give_up(&err);
        seconds[run] = clock_processor() - started;
    }
    printf("%-16s %8.2f ms  (%d events)\n", "drawing", 1e3 * measure_median(seconds, RUNS), trace.count);
    for (int i = 0; i < count; i++) {
        struct elastic_result result;
        for (int run = 0; run < RUNS; run++) {
            double started = clock_processor();
            elastic_play(policies[i], setup, &trace, &state, NULL, &result);
            seconds[run] = clock_processor() - started;
        }
        printf("%-16s %8.2f ms  goodput %.4f, %lld losses\n", policies[i]->name,
               1e3 * measure_median(seconds, RUNS), result.seconds[ELASTIC_TRAINED] / trace.horizon,
               (long long)result.losses);
    }
    failures_release(&trace);
    policy_state_release(&state);
}

static void measure_seeds(const struct policy_setup *setup, const struct failure_model *model)
{
    struct error err;
    struct elastic_variant variants[16];
    struct goodput results[16];
    struct parallel *pool = parallel_new(2, &err);
    struct failure_source source = {.model = model, .horizon = FAILURES_YEAR, .seed = 1, .seeds = SEEDS};
    int count;
    const struct elastic_policy *const *policies = elastic_policies(&count);
    for (int i = 0; i < count; i++)
        variants[i] = (struct elastic_variant){.policy = policies[i], .setup = *setup};
    double started = clock_now(), cpu = clock_processor();
    if (!pool || !goodput_measure(variants, count, &source, pool, results, &err))
        give_up(&err);
    printf("%d seeds, %d policies, 2 threads: %.2f s, %.2f s of processors\n", SEEDS, count,
           clock_now() - started, clock_processor() - cpu);
    for (int i = 0; i < count; i++)
        printf("%-16s %.4f (%.4f to %.4f)\n", policies[i]->name, results[i].mean, results[i].low,
               results[i].high);
    parallel_free(pool);
}

int main(void)
{
    struct error err;
    struct elastic_rates rates;
    struct policy_setup setup = {.rates = &rates, .spares = 40};
    if (!elastic_rates_make(&rates, NODES, STAGES, (int64_t)64 * (NODES / STAGES), 10, NULL, NULL, &err))
        give_up(&err);
    setup.costs = (struct elastic_costs){.detect = 30,
                                         .restart = 210,
                                         .load = 60,
                                         .swap = 60,
                                         .reconfigure = 30,
                                         .migrate = 20,
                                         .reroute = 10,
                                         .save_block = 30,
                                         .copy_block = 2,
                                         .save_write = 120,
                                         .interval = 600};
    for (int i = 0; i < 2; i++) {
        struct failure_model model = {
            .nodes = NODES, .rate = failure_rate_of_node_days(6.5), .repair = 86400 / 4.0, .batch = 1 + i};
        printf("\n%s\n", batches[i]);
        measure_years(&setup, &model);
        measure_seeds(&setup, &model);
    }
    elastic_rates_release(&rates);
    return 0;
}
