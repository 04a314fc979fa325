/* Memory and tasks that a played plan gives to sinks add up to its result. */
#include "devices/tables.h"
#include "plan/split/plan.h"
#include "sim/play.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MAX_DEVICES 64

struct seen {
    double highest[MAX_DEVICES], since[MAX_DEVICES], end;
    int64_t samples, tasks, optimizers;
};

static bool take_task(void *context, const struct timeline_task *task, struct error *err)
{
    (void)err;
    struct seen *seen = context;
    assert_true(task->device >= 0 && task->device < MAX_DEVICES);
    assert_true(task->id == seen->tasks++ && task->cause < task->id);
    assert_true(task->begin <= task->end);
    seen->optimizers += task->kind == TASK_OPTIMIZER;
    seen->end = fmax(seen->end, task->end);
    return true;
}

static bool take_memory(void *context, const struct timeline_memory *memory, struct error *err)
{
    (void)err;
    struct seen *seen = context;
    assert_true(memory->device >= 0 && memory->device < MAX_DEVICES);
    if (memory->time < seen->since[memory->device])
        fail_msg("device %d: memory of %g s after that of %g s", memory->device, memory->time,
                 seen->since[memory->device]);
    seen->since[memory->device] = memory->time;
    double sum =
        memory->parameters + memory->gradients + memory->optimizer + memory->activations + memory->working;
    seen->highest[memory->device] = fmax(seen->highest[memory->device], sum);
    seen->samples++;
    return true;
}

static void check(struct plan *plan, const char *schedule, enum sim_level level)
{
    struct error err;
    struct sim_result result;
    struct seen seen = {.tasks = 0};
    const struct timeline_sink sink = {.context = &seen, .task = take_task, .memory = take_memory};
    const struct sim_options options = {.plain = true, .level = level, .schedule = schedule, .sink = &sink};
    if (!sim_play(plan, &options, &result, &err))
        fail_msg("%s: %s", schedule, err.text);
    assert_true(seen.samples > 0 && seen.optimizers == result.device_count);
    for (int d = 0; d < result.device_count; d++) {
        const struct sim_memory *peak = &result.devices[d].peak;
        double want = level == SIM_LAYERS ? peak->total - peak->working : peak->total;
        if (fabs(seen.highest[d] / want - 1) > 1e-6)
            fail_msg("%s, device %d: at most %.9g bytes were seen, the peak is %.9g", schedule, d,
                     seen.highest[d], want);
    }
    if (fabs(seen.end / result.makespan - 1) > 0.05 || seen.end > result.makespan * (1 + 1e-9))
        fail_msg("%s: the last task ends at %g s of %g s", schedule, seen.end, result.makespan);
    sim_result_release(&result);
}

static void peaks_are_seen(void **state)
{
    (void)state;
    static const char *const schedules[] = {"1f1b", "gpipe", "zb-h1", "zb-v", "dualpipe", "dualpipev"};
    struct job job = job_example();
    struct plan plan;
    struct error err;
    job.degrees.tensor = 2, job.degrees.pipeline = 4, job.batch = 64;
    job_spread(&job, 32);
    plan_init(&plan);
    if (!job_check(&job, &err) || !plan_of_one_job(&plan, &job, 32, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
        for (enum sim_level level = SIM_PASSES; level <= SIM_LAYERS; level++)
            check(&plan, schedules[i], level);
    plan_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_are_seen),
    };
    return cmocka_run_group_tests_name("sim/play_timeline", tests, NULL, NULL);
}
