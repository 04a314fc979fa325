/* Plans that are played, in CPU time of one core: Llama 3.1 405B on 16,384 H100 as the planner splits it, by passes, by
 * layers, and with jitter, for which all devices are played one by one. `bench_play [DEVICES]` plays fewer. */
#include "core/clock.h"
#include "devices/tables.h"
#include "measure.h"
#include "plan/split/plan.h"
#include "sim/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 7

static void fail(const struct error *err)
{
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static void make(struct plan *plan, int devices)
{
    struct error err;
    const struct cost_device *device = tables_device(NULL, "h100");
    struct job_question question = {
        .headroom = 0.05,
        .job = {.model = architecture_find("llama-3.1-405b"),
                .device = device,
                .calibration = tables_calibration(NULL, device),
                .software = software_find("megatron-core"),
                .inside = tables_link(NULL, device->link),
                .across = tables_link(NULL, "ib-400g"),
                .devices = devices,
                .devices_per_node = 8,
                .batch = devices / 8,
                .sequence = 8192,
                .type = COST_BF16},
    };
    struct job_search search;
    const struct job_search_options options = {.top = 1};
    const struct job_answer answer = {.question = &question, .search = &search};
    plan_init(plan);
    if (!job_search(&search, &question, &options, &err) || !plan_of_job(plan, &answer, &err))
        fail(&err);
    job_search_release(&search);
}

static void measure(const char *name, struct plan *plan, struct sim_options options, int runs)
{
    double seconds[RUNS], played = 0;
    int64_t tasks = 0;
    for (int i = 0; i < runs; i++) {
        struct sim_result result;
        struct error err;
        double before = clock_processor();
        if (!sim_play(plan, &options, &result, &err))
            fail(&err);
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
    make(&plan, argc > 1 ? atoi(argv[1]) : 16384);
    struct sim_options options = {.plain = true};
    measure("by passes", &plan, options, RUNS);
    options.level = SIM_LAYERS;
    measure("by layers", &plan, options, RUNS);
    options.plain = false;
    measure("with more of each", &plan, options, RUNS);
    options.plain = true;
    options.stragglers = &(const struct sim_straggler){.first = 17, .last = 17, .factor = 1.2};
    options.straggler_count = 1;
    measure("with a straggler", &plan, options, 3);
    options.straggler_count = 0;
    options.jitter = 0.05;
    measure("with jitter", &plan, options, 1);
    plan_release(&plan);
    return 0;
}
