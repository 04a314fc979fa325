/* Plans of experts whose passes overlap in pairs, and plans whose schedule never flushes. */
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
#include <string.h>

#include <cmocka.h>

#define DEVICES 64
#define SHARE   0.2 /* of a device, taken by collectives */

/* Mixtral on 4 stages, its experts over 8 devices in two nodes. */
static void make(struct plan *plan, bool exchanges)
{
    struct error err;
    struct job job = job_example();
    job.model = architecture_find("mixtral-8x7b");
    assert_non_null(job.model);
    job.degrees.tensor = 1, job.degrees.pipeline = 4, job.chunks = 1, job.degrees.expert = 8;
    job.sequence = 4096;
    job.batch = 16 * 32;
    job_spread(&job, DEVICES);
    plan_init(plan);
    if (!job_check(&job, &err) || !plan_of_one_job(plan, &job, DEVICES, &err))
        fail_msg("%s", err.text);
    for (int s = 0; s < plan->pipelines[0].stage_count; s++) {
        struct plan_stage *stage = &plan->pipelines[0].stages[s];
        for (int t = 0; t < stage->transfer_count; t++)
            if (stage->transfers[t].purpose == PURPOSE_EXPERT && !exchanges)
                stage->transfers[t].shown = 0;
    }
}

static struct sim_result play_plan(struct plan *plan, const char *schedule, enum sim_level level,
                                   double share)
{
    const struct sim_options options = {
        .plain = true, .schedule = schedule, .level = level, .collective_share = share};
    struct sim_result result;
    struct error err;
    if (!sim_play(plan, &options, &result, &err))
        fail_msg("%s", err.text);
    for (int d = 0; d < result.device_count; d++) {
        double sum = 0;
        for (int cause = 0; cause < SIM_CAUSES; cause++) {
            sum += result.devices[d].seconds[cause];
            if (result.devices[d].seconds[cause] < -1e-9 * result.seconds)
                fail_msg("%s, place %d: %s %g s", schedule, result.devices[d].place, sim_cause_names[cause],
                         result.devices[d].seconds[cause]);
        }
        assert_true(fabs(sum / result.seconds - 1) <= 1e-9);
    }
    return result;
}

static struct sim_result play(const char *schedule, bool exchanges)
{
    struct plan plan;
    make(&plan, exchanges);
    struct sim_result result = play_plan(&plan, schedule, SIM_AUTO, 0);
    plan_release(&plan);
    return result;
}

static double seconds_of(const char *schedule, bool exchanges)
{
    struct sim_result result = play(schedule, exchanges);
    double seconds = result.seconds;
    sim_result_release(&result);
    return seconds;
}

/* Each pass of a pair exchanges its tokens beside the kernels of the other; outside of pairs nothing hides. */
static void pairs_hide_the_exchange_of_experts(void **state)
{
    (void)state;
    double exchange = seconds_of("1f1b", true) - seconds_of("1f1b", false);
    assert_true(exchange > 0.02 * seconds_of("1f1b", false));
    static const char *const schedules[] = {"dualpipe", "dualpipev"};
    for (int i = 0; i < 2; i++) {
        double shown = seconds_of(schedules[i], true) - seconds_of(schedules[i], false);
        if (!(shown > 0 && shown < 0.6 * exchange))
            fail_msg("%s shows %g s of %g s", schedules[i], shown, exchange);
    }
    double split = seconds_of("zb-v", true) - seconds_of("zb-v", false);
    assert_true(fabs(split / exchange - 1) < 0.2);
}

/* By layers, too, the reason for a time below the formula's is what pairs hide. */
static void pairs_are_the_reason(void **state)
{
    (void)state;
    struct sim_options options = {.schedule = "dualpipe"};
    for (options.level = SIM_PASSES; options.level <= SIM_LAYERS; options.level++) {
        struct sim_result result;
        struct error err;
        struct plan plan;
        bool named = false;
        make(&plan, true);
        plan.iteration_time *= 1.2; /* a formula that knows nothing of them */
        if (!sim_play(&plan, &options, &result, &err))
            fail_msg("%s", err.text);
        for (int i = 0; i < result.reason_count; i++)
            named |= strstr(result.reasons[i].name, "pairs of passes") && result.reasons[i].seconds < 0;
        assert_true(named);
        sim_result_release(&result);
        plan_release(&plan);
    }
}

/* A schedule without flush: an iteration is the work of the busiest device, and not the filling and draining. */
static void iterations_without_flush_overlap(void **state)
{
    (void)state;
    struct sim_result flushed = play("1f1b", false), free_running = play("pipedream", false);
    double work = 0;
    for (int d = 0; d < free_running.device_count; d++)
        work = fmax(work, free_running.seconds - free_running.devices[d].seconds[SIM_BUBBLE]);
    assert_true(free_running.seconds < 0.97 * flushed.seconds);
    assert_true(free_running.seconds >= work * (1 - 1e-9) && free_running.seconds < 1.02 * work);
    assert_true(free_running.makespan >= free_running.seconds);
    sim_result_release(&flushed);
    sim_result_release(&free_running);
}

/* Nothing shares links: both levels hide the same. Kernels beside an exchange lose a share of its seconds. */
static void pairs_overlap_by_layers_as_by_passes(void **state)
{
    (void)state;
    static const char *const schedules[] = {"1f1b", "dualpipe", "dualpipev"};
    double exchange = 0, beside_gradients = 0;
    for (int i = 0; i < 3; i++) {
        struct plan plan;
        make(&plan, true);
        for (int s = 0; s < plan.pipelines[0].stage_count; s++)
            for (int t = 0; t < plan.pipelines[0].stages[s].transfer_count; t++) {
                struct plan_transfer *transfer = &plan.pipelines[0].stages[s].transfers[t];
                transfer->link = -1; /* nothing shares links */
                if (transfer->purpose == PURPOSE_TIE || transfer->purpose == PURPOSE_NORM)
                    transfer->count = 0;
            }
        struct sim_result passes = play_plan(&plan, schedules[i], SIM_PASSES, 0),
                          layers = play_plan(&plan, schedules[i], SIM_LAYERS, 0);
        if (fabs(layers.seconds / passes.seconds - 1) > 0.002)
            fail_msg("%s: by passes %g s, by layers %g s", schedules[i], passes.seconds, layers.seconds);
        for (int d = 0; d < passes.device_count; d++)
            assert_true(fabs(layers.devices[d].seconds[SIM_EXPERT] / passes.devices[d].seconds[SIM_EXPERT] -
                             1) < 0.01);
        struct sim_result slowed = play_plan(&plan, schedules[i], SIM_LAYERS, SHARE);
        exchange = i == 0 ? layers.devices[0].seconds[SIM_EXPERT] : exchange;
        double hidden = exchange - layers.devices[0].seconds[SIM_EXPERT],
               lost = slowed.seconds - layers.seconds - beside_gradients;
        if (i == 0)
            beside_gradients = lost;
        else if (lost < 0.7 * SHARE * hidden || lost > 1.1 * SHARE * hidden + 1e-9)
            fail_msg("%s: %g s are lost beside %g s of exchanges", schedules[i], lost, hidden);
        sim_result_release(&slowed);
        sim_result_release(&passes);
        sim_result_release(&layers);
        plan_release(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_hide_the_exchange_of_experts),
        cmocka_unit_test(pairs_overlap_by_layers_as_by_passes),
        cmocka_unit_test(pairs_are_the_reason),
        cmocka_unit_test(iterations_without_flush_overlap),
    };
    return cmocka_run_group_tests_name("sim/play_pairs", tests, NULL, NULL);
}
