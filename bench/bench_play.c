/* Plans that are played, in CPU time of one core: Llama 3.1 405B on 16,384 H100, by passes, by layers, and by layers with all
 * devices one by one. `bench_play [small]` leaves the last one out. */
#include "core/clock.h"
#include "devices/tables.h"
#include "measure.h"
#include "plan/split/plan.h"
#include "sim/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 7

static void make(struct plan *plan)
{
    struct error err;
    const struct cost_device *device = tables_device(NULL, "h100");
    struct job job = {
        .model = architecture_find("llama-3.1-405b"),
        .device = device,
        .calibration = tables_calibration(NULL, device),
        .software = software_find("megatron-core"),
        .inside = tables_link(NULL, device->link),
        .across = tables_link(NULL, "ib-400g"),
        .devices = 16384,
        .devices_per_node = 8,
        .degrees.tensor = 8,
        .degrees.pipeline = 16,
        .degrees.data = 128,
        .degrees.context = 1,
        .degrees.expert = 1,
        .chunks = 1,
        .sharding = 1,
        .microbatch = 1,
        .batch = 2048,
        .sequence = 8192,
        .type = COST_BF16,
        .recompute = RECOMPUTE_NONE,
    };
    plan_init(plan);
    if (!plan_of_one_job(plan, &job, job.devices, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static void measure(const char *name, struct plan *plan, struct sim_options options, int runs)
{
    double seconds[RUNS], played = 0;
    int64_t tasks = 0;
    for (int i = 0; i < runs; i++) {
        struct sim_result result;
        struct error err;
        double before = clock_processor();
        if (!sim_play(plan, &options, &result, &err)) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        seconds[i] = clock_processor() - before;
        played = result.seconds;
        tasks = result.tasks;
        sim_result_release(&result);
    }
    printf("%-24s %9.3f ms  %10lld tasks  iteration %.17g s  peak %.0f MiB\n", name,
           1e3 * measure_median(seconds, (size_t)runs), (long long)tasks, played, measure_peak_mib());
}

int main(int argc, char **argv)
{
    struct plan plan;
    bool small = argc > 1 && strcmp(argv[1], "small") == 0;
    make(&plan);
    struct sim_options options = {.plain = true};
    measure("by passes", &plan, options, RUNS);
    options.level = SIM_LAYERS;
    measure("by layers", &plan, options, RUNS);
    options.plain = false;
    measure("with more of each", &plan, options, RUNS);
    options.plain = true;
    options.stragglers = &(const struct sim_straggler){4711, 4711, 1.2};
    options.straggler_count = 1;
    measure("with a straggler", &plan, options, 3);
    options.straggler_count = 0;
    options.no_symmetry = true;
    if (!small)
        measure("all devices", &plan, options, 1);
    plan_release(&plan);
    return 0;
}
