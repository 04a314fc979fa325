/* The search for orders of passes: processor time of one core, the order's length, and how short any order
 * can be. */
#include "core/clock.h"
#include "measure.h"
#include "schedule/best.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_STAGES 128
#define RUNS       5

struct bench_search {
    int devices, microbatches, chunks;
    double memory; /* micro-batches */
    double forward, input, weight, send;
};

static const struct bench_search searches[] = {
    {8, 32, 1, 8, 10, 13, 9, 1},      {16, 64, 1, 16, 10, 13, 9, 1},    {32, 256, 1, 32, 1, 1, 1, 0},
    {32, 256, 1, 32, 10, 13, 9, 1},   {32, 256, 1, 40, 10, 13, 9, 1},   {32, 256, 1, 64, 1, 1, 1, 0},
    {32, 256, 1, 64, 10, 13, 9, 1},   {8, 32, 2, 8, 10, 13, 9, 1},      {16, 64, 2, 16, 10, 13, 9, 1},
    {32, 256, 2, 32, 10, 13, 9, 0.5}, {32, 256, 2, 16, 10, 13, 9, 0.5}, {64, 1024, 1, 64, 10, 13, 9, 1},
};

/* Returns the processor time. */
static double search_once(const struct bench_search *bench, struct order_found *found)
{
    struct pass_cost costs[MAX_STAGES];
    struct error err;
    int chunks = bench->chunks;
    for (int stage = 0; stage < bench->devices * chunks; stage++)
        costs[stage] = (struct pass_cost){.forward = bench->forward / chunks,
                                          .input = bench->input / chunks,
                                          .weight = bench->weight / chunks,
                                          .send_forward = bench->send,
                                          .send_backward = bench->send,
                                          .kept = 1.0 / chunks,
                                          .kept_for_weight = 1.0 / chunks};
    struct timing_options timing = {.costs = costs};
    struct schedule_shape shape = {.devices = bench->devices,
                                   .chunks = chunks,
                                   .microbatches = bench->microbatches,
                                   .timing = &timing,
                                   .memory = bench->memory};
    double begin = clock_processor();
    if (!best_order(&shape, chunks, bench->devices, NULL, found, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return clock_processor() - begin;
}

int main(void)
{
    printf("Orders with split backward passes, searched; seconds of one core, median of %d runs\n\n", RUNS);
    printf("%7s %6s %6s %6s  %-12s %8s %10s %10s %8s %8s\n", "devices", "batch", "chunks", "memory",
           "F/I/W/send", "seconds", "makespan", "bound", "gap", "bubble");
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        const struct bench_search *bench = &searches[i];
        double seconds[RUNS];
        struct order_found found = {.extent.makespan = 0.0};
        for (int run = 0; run < RUNS; run++) {
            order_found_release(&found);
            seconds[run] = search_once(bench, &found);
        }
        double work = bench->microbatches * (bench->forward + bench->input + bench->weight);
        char times[64];
        snprintf(times, sizeof times, "%g/%g/%g/%g", bench->forward, bench->input, bench->weight,
                 bench->send);
        printf("%7d %6d %6d %6g  %-12s %8.3f %10.1f %10.1f %7.2f%% %7.2f%%\n", bench->devices,
               bench->microbatches, bench->chunks, bench->memory, times, measure_median(seconds, RUNS),
               found.extent.makespan, found.bound, 100.0 * found.gap,
               100.0 * (1.0 - work / found.extent.makespan));
        order_found_release(&found);
    }
    return 0;
}
