/* Loading and saving beside the iterations: alone they take what their rates say, and links that are shared are shared fairly.
 * A = an iteration without them, N iterations from save to save. */
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

static void make(struct plan *plan, int pipeline, bool shards)
{
    struct job job = job_example();
    struct error err;
    if (shards) {
        job.software = software_find("fsdp");
        job.sharding = 3;
    } else {
        job.degrees.tensor = 2;
    }
    job.degrees.pipeline = pipeline;
    job.batch = 32;
    job_spread(&job, 16);
    plan_init(plan);
    if (!job_check(&job, &err) || !plan_of_one_job(plan, &job, 16, &err))
        fail_msg("%s", err.text);
}

static struct sim_result play(struct plan *plan, struct sim_options options)
{
    struct sim_result result;
    struct error err;
    options.plain = true;
    options.level = SIM_LAYERS;
    if (!sim_play(plan, &options, &result, &err))
        fail_msg("%s", err.text);
    for (int d = 0; d < result.device_count; d++) {
        double sum = 0;
        for (int cause = 0; cause < SIM_CAUSES; cause++) {
            sum += result.devices[d].seconds[cause];
            if (result.devices[d].seconds[cause] < -1e-9 * result.seconds)
                fail_msg("device %d: %g s of %s", d, result.devices[d].seconds[cause],
                         sim_cause_names[cause]);
        }
        if (fabs(sum / result.seconds - 1) > 1e-9)
            fail_msg("device %d: causes add up to %g of %g", d, sum, result.seconds);
    }
    double path = 0;
    for (int i = 0; i < result.step_count; i++)
        path += result.steps[i].seconds;
    if (result.iterations > 1 && fabs(path / result.shown - 1) > 1e-6)
        fail_msg("the critical path has %g s of %g s", path, result.shown);
    return result;
}

static double seconds_of(struct plan *plan, struct sim_options options)
{
    struct sim_result result = play(plan, options);
    double seconds = result.seconds;
    sim_result_release(&result);
    return seconds;
}

static void same(double found, double expected, const char *what)
{
    if (fabs(found / expected - 1) > 1e-9)
        fail_msg("%s: %.12g s, expected %.12g s", what, found, expected);
}

/* Stages that differ write while others copy. */
static void above(double found, double least, double expected, int pipeline, const char *what)
{
    if (pipeline == 1)
        same(found, expected, what);
    else if (found < least * (1 - 1e-9) || found > expected * (1 + 1e-9))
        fail_msg("%s: %.12g s, expected %.12g to %.12g s", what, found, least, expected);
}

struct sizes {
    double most, all;
};

/* Bytes of a checkpoint: of the device with the most, and of all. */
static struct sizes sizes_of(const struct plan *plan)
{
    struct sizes sizes = {0, 0};
    const struct plan_pipeline *pipeline = &plan->pipelines[0];
    for (int s = 0; s < pipeline->stage_count; s++) {
        const struct plan_bytes *bytes = &pipeline->stages[s].bytes;
        double own = bytes->parameters / pipeline->copies +
                     bytes->optimizer / (plan->sharding >= 1 ? 1 : pipeline->copies);
        sizes.most = fmax(sizes.most, own);
        sizes.all += own * plan_stage_devices(&pipeline->stages[s]) * pipeline->copies;
    }
    return sizes;
}

static void saves_take_what_their_rates_say(void **state)
{
    (void)state;
    for (int pipeline = 1; pipeline <= 4; pipeline *= 4)
        for (int every = 1; every <= 100; every = every == 1 ? 3 : every == 3 ? 10 : 10 * every) {
            struct plan plan;
            make(&plan, pipeline, false);
            const struct sizes sizes = sizes_of(&plan);
            double alone = seconds_of(&plan, (struct sim_options){.save_every = 0}), n = every;
            /* writing takes less than, and more than, the iterations that it has */
            for (double iterations = 0.5 * n; iterations < 2 * n; iterations += 0.9 * n) {
                struct sim_options options = {.save_every = every,
                                              .copy_rate = sizes.most / (0.3 * alone),
                                              .save_rate = sizes.all / (iterations * alone)};
                double copied = 0.3 * alone, written = iterations * alone;
                double late = fmax(0, written - n * alone);
                above(seconds_of(&plan, options), alone + fmax(copied, late) / n, alone + (copied + late) / n,
                      pipeline, "until copies");
                options.save_waits = SIM_WAITS_FOR_WRITES;
                struct sim_result until = play(&plan, options);
                above(until.seconds, alone + fmax(copied, written) / n, alone + (copied + written) / n,
                      pipeline, "until writes");
                for (int d = 0; d < until.device_count; d++)
                    assert_true(fabs(until.devices[d].seconds[SIM_SAVE] - (until.seconds - alone)) <
                                1e-9 * alone);
                sim_result_release(&until);
                options.save_rate = 0;
                same(seconds_of(&plan, options), alone + copied / n, "at once");
                options.save_waits = SIM_WAITS_FOR_NOTHING;
                same(seconds_of(&plan, options), alone, "beside passes");
            }
            plan_release(&plan);
        }
}

static void loading_takes_what_its_rate_says(void **state)
{
    (void)state;
    for (int pipeline = 1; pipeline <= 4; pipeline *= 4) {
        struct plan plan;
        make(&plan, pipeline, false);
        double alone = seconds_of(&plan, (struct sim_options){.save_every = 0});
        for (double share = 0.3; share < 3; share += 0.31) {
            struct sim_result result = play(&plan, (struct sim_options){.load_rate = 32 / (share * alone)});
            same(result.seconds, fmax(1, share) * alone, "loading");
            assert_true(share < 1 ||
                        fabs(result.devices[0].seconds[SIM_LOAD] / ((share - 1) * alone) - 1) < 1e-6);
            sim_result_release(&result);
        }
        plan_release(&plan);
    }
}

/* A storage with more work than an iteration has time for: each cycle has one save and the loading of N iterations. It is always
 * busy if reading and writing have the same share of its time; if samples are small, loading goes first, and now and then nothing
 * may be loaded yet. */
static void storage_is_shared(void **state)
{
    (void)state;
    for (double sample = 0; sample < 2e6; sample += 1.7e5)
        for (int every = 1; every <= 4; every++) {
            struct plan plan;
            make(&plan, 1, false);
            const struct sizes sizes = sizes_of(&plan);
            double alone = seconds_of(&plan, (struct sim_options){.save_every = 0});
            double load = 0.8 * alone, written = 0.7 * every * alone;
            const struct sim_options options = {.save_every = every,
                                                .save_rate = sizes.all / written,
                                                .load_rate = 32 / load,
                                                .load_bytes = sample};
            double found = seconds_of(&plan, options);
            if (fabs(found / (load + written / every) - 1) > (sample == 0 ? 0.01 : 0.15))
                fail_msg("every %d, %g bytes: %.9g s, expected %.9g s", every, sample, found,
                         load + written / every);
            plan_release(&plan);
        }
}

/* A copy beside an all-gather of shards, both able to fill the link alone: the link carries the bytes of both. */
static void the_host_link_is_shared(void **state)
{
    (void)state;
    struct plan plan;
    make(&plan, 1, true);
    const struct sizes sizes = sizes_of(&plan);
    double bandwidth = plan.links[plan.types[0].across].bandwidth;
    struct sim_options options = {.save_every = 1, .save_waits = SIM_WAITS_FOR_NOTHING};
    double alone = seconds_of(&plan, options);
    options.host_rate = 1000 * bandwidth; /* nothing is slower for it */
    same(seconds_of(&plan, options), alone, "a wide link");
    options.host_rate = bandwidth;
    options.copy_rate = bandwidth;
    double shared = seconds_of(&plan, options), copied = sizes.most / bandwidth;
    assert_true(shared >= alone * (1 - 1e-9) && shared < alone + 2 * copied);
    options.save_every = 0;
    options.load_rate = 1e12;
    same(seconds_of(&plan, options), alone, "a link that carries one transfer at a time");
    options.host_rate = 0.02 * bandwidth;
    assert_true(seconds_of(&plan, options) > 1.2 * alone);
    plan_release(&plan);
}

static void all_devices_give_the_same_bits(void **state)
{
    (void)state;
    for (int shards = 0; shards < 2; shards++)
        for (int waits = 0; waits < 3; waits++) {
            struct plan plan;
            make(&plan, shards ? 1 : 2, shards);
            const struct sizes sizes = sizes_of(&plan);
            double bandwidth = plan.links[plan.types[0].across].bandwidth;
            struct sim_options options = {.save_every = 2,
                                          .save_waits = (enum sim_save_waits)waits,
                                          .host_rate = 0.7 * bandwidth,
                                          .storage_network = waits == 0,
                                          .load_rate = 100,
                                          .load_bytes = 1e6,
                                          .save_rate = sizes.all / 0.5};
            double one = seconds_of(&plan, options);
            options.no_symmetry = true;
            double all = seconds_of(&plan, options);
            if (one != all)
                fail_msg("%d, %d: %.17g s, all devices %.17g s", shards, waits, one, all);
            plan_release(&plan);
        }
}

struct seen {
    int loads, saves, copies;
};

static bool take_task(void *context, const struct timeline_task *task, struct error *err)
{
    (void)err;
    struct seen *seen = context;
    seen->loads += task->kind == TASK_LOAD && task->stream == STREAM_HOST;
    seen->copies += task->kind == TASK_SAVE && strcmp(task->name, "copy to host") == 0;
    seen->saves += task->kind == TASK_SAVE && strcmp(task->name, "saving") == 0;
    return true;
}

static void tasks_of_hosts_are_seen(void **state)
{
    (void)state;
    struct plan plan;
    struct seen seen = {0};
    const struct timeline_sink sink = {.context = &seen, .task = take_task};
    make(&plan, 4, false);
    const struct sizes sizes = sizes_of(&plan);
    double alone = seconds_of(&plan, (struct sim_options){.save_every = 0});
    struct sim_result result = play(&plan, (struct sim_options){.save_every = 1000,
                                                                .copy_rate = sizes.most / alone,
                                                                .save_rate = sizes.all / (2.4 * alone),
                                                                .load_rate = 32 / (0.5 * alone),
                                                                .sink = &sink});
    assert_int_equal(result.iterations, 1 + 4); /* 2.4 iterations, and some to spare */
    assert_int_equal(seen.loads, 4);            /* by the first of four stages */
    assert_int_equal(seen.copies, 4 + 4);       /* and the meeting after them */
    assert_int_equal(seen.saves, 4 + 4);
    sim_result_release(&result);
    plan_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saves_take_what_their_rates_say),
        cmocka_unit_test(loading_takes_what_its_rate_says),
        cmocka_unit_test(storage_is_shared),
        cmocka_unit_test(the_host_link_is_shared),
        cmocka_unit_test(all_devices_give_the_same_bits),
        cmocka_unit_test(tasks_of_hosts_are_seen),
    };
    return cmocka_run_group_tests_name("sim/play_host", tests, NULL, NULL);
}
