/* Plans by layers: against the same plans by passes where nothing can overlap, and all devices against one of each kind. */
#include "devices/tables.h"
#include "plan/split/plan.h"
#include "sim/play.h"
#include "support/jobs.h"
#include "support/sanitizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void make(struct plan *plan, struct job *job, int devices)
{
    struct error err;
    job_spread(job, devices);
    plan_init(plan);
    if (!job_check(job, &err) || !plan_of_one_job(plan, job, devices, &err))
        fail_msg("%s", err.text);
}

static struct sim_result play(struct plan *plan, struct sim_options options)
{
    struct sim_result result;
    struct error err;
    options.plain = true;
    if (!sim_play(plan, &options, &result, &err))
        fail_msg("%s", err.text);
    double path = 0;
    for (int i = 0; i < result.step_count; i++)
        path += result.steps[i].seconds;
    if (result.step_count > 0 && fabs(path / result.makespan - 1) > 1e-6 &&
        fabs(path / result.seconds - 1) > 1e-6)
        fail_msg("the critical path has %g s, the iteration %g s", path, result.makespan);
    for (int d = 0; d < result.device_count; d++) {
        double sum = 0;
        for (int cause = 0; cause < SIM_CAUSES; cause++)
            sum += result.devices[d].seconds[cause];
        if (fabs(sum / result.seconds - 1) > 1e-9)
            fail_msg("device %d: causes add up to %g of %g", d, sum, result.seconds);
    }
    return result;
}

/* Everything exposed, no ties and norms: both levels see the same tasks. */
static void show_all(struct plan *plan)
{
    for (int s = 0; s < plan->pipelines[0].stage_count; s++) {
        struct plan_stage *stage = &plan->pipelines[0].stages[s];
        for (int t = 0; t < stage->transfer_count; t++) {
            struct plan_transfer *transfer = &stage->transfers[t];
            if (transfer->purpose == PURPOSE_TIE || transfer->purpose == PURPOSE_NORM)
                transfer->count = 0;
            transfer->shown = 1;
            transfer->link = -1; /* whose messages forwards and backwards do not share a link */
        }
    }
}

static void levels_agree_where_nothing_hides(void **state)
{
    (void)state;
    static const char *const schedules[] = {NULL, "gpipe", "zb-h1", "zb-1p", "zb-v", "eager-1f1b"};
    for (int stages = 1; stages <= (SEARCH_STEP > 1 ? 2 : 8); stages *= 2)
        for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++)
            for (enum sim_answer blocks = SIM_AS_PLANNED; blocks <= SIM_NO; blocks++)
                for (int chunks = 1; chunks <= (stages > 1 && !schedules[s] ? 2 : 1); chunks++) {
                    struct job job = job_example();
                    struct plan plan;
                    if (schedules[s] && stages == 1)
                        continue;
                    job.degrees.tensor = 2, job.degrees.pipeline = stages, job.chunks = chunks;
                    job.batch = 128;
                    make(&plan, &job, 32);
                    show_all(&plan);
                    struct sim_result passes =
                        play(&plan, (struct sim_options){.schedule = schedules[s], .send_blocks = blocks});
                    struct sim_result layers = play(&plan, (struct sim_options){.schedule = schedules[s],
                                                                                .send_blocks = blocks,
                                                                                .level = SIM_LAYERS});
                    if (fabs(layers.seconds / passes.seconds - 1) > 1e-6)
                        fail_msg("%s, %d stages, %d chunks, messages %d: by layers %.9g s, by passes %.9g s",
                                 schedules[s] ? schedules[s] : "planned", stages, chunks, (int)blocks,
                                 layers.seconds, passes.seconds);
                    for (int d = 0; d < passes.device_count; d++)
                        assert_true(fabs(layers.devices[d].peak.total / passes.devices[d].peak.total - 1) <
                                    1e-6);
                    sim_result_release(&passes);
                    sim_result_release(&layers);
                    plan_release(&plan);
                }
}

static void all_devices_give_the_same_bits(void **state)
{
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        struct job job = job_example();
        struct plan plan;
        job.degrees.tensor = kind % 2 ? 2 : 4;
        job.degrees.pipeline = kind < 2 ? 1 : 4;
        job.chunks = kind == 3 ? 2 : 1;
        job.degrees.context = kind == 4 ? 2 : 1;
        if (kind == 5) {
            job.model = architecture_find("mixtral-8x7b");
            job.degrees.tensor = 1, job.degrees.expert = 8;
        }
        job.sharding = kind == 0 ? 3 : 1;
        job.batch = 256;
        make(&plan, &job, 64);
        struct sim_result one = play(&plan, (struct sim_options){.level = SIM_LAYERS});
        struct sim_result all = play(&plan, (struct sim_options){.level = SIM_LAYERS, .no_symmetry = true});
        assert_true(all.tasks == one.tasks * 64 / job.degrees.pipeline);
        assert_true(one.step_count > 0 && all.step_count > 0); /* play() adds them up */
        if (one.seconds != all.seconds || one.makespan != all.makespan)
            fail_msg("kind %d: %.17g s, all devices %.17g s", kind, one.seconds, all.seconds);
        for (int d = 0; d < one.device_count; d++) {
            assert_true(one.devices[d].end == all.devices[d].end);
            assert_true(one.devices[d].peak.total == all.devices[d].peak.total);
        }
        sim_result_release(&one);
        sim_result_release(&all);
        plan_release(&plan);
    }
}

static void a_straggler_splits_only_its_class(void **state)
{
    (void)state;
    struct job job = job_example();
    struct plan plan;
    job.degrees.tensor = 2, job.degrees.pipeline = 4, job.batch = 256;
    make(&plan, &job, 64);
    struct sim_result even = play(&plan, (struct sim_options){.level = SIM_LAYERS});
    for (int straggler = 0; straggler < 64; straggler += 13) {
        const struct sim_straggler slow = {.first = straggler,
                                           .last = straggler,
                                           .factor = 1.3,
                                           .from = 0.01,
                                           .until = straggler % 2 ? even.seconds : 0};
        struct sim_options options = {.stragglers = &slow, .straggler_count = 1, .level = SIM_LAYERS};
        struct sim_result one = play(&plan, options);
        options.no_symmetry = true;
        struct sim_result all = play(&plan, options);
        if (one.seconds != all.seconds)
            fail_msg("straggler %d: %.17g s, all devices %.17g s", straggler, one.seconds, all.seconds);
        assert_true(one.seconds > even.seconds && one.seconds < 1.3 * even.seconds);
        assert_true(one.tasks < all.tasks / 2);
        sim_result_release(&one);
        sim_result_release(&all);
    }
    sim_result_release(&even);
    plan_release(&plan);
}

static void jitter_follows_the_seed(void **state)
{
    (void)state;
    struct job job = job_example();
    struct plan plan;
    job.degrees.tensor = 2, job.degrees.pipeline = 2;
    make(&plan, &job, 16);
    struct sim_options options = {.jitter = 0.05, .seed = 1};
    struct sim_result a = play(&plan, options), b = play(&plan, options);
    options.seed = 2;
    struct sim_result c = play(&plan, options);
    options.jitter = 0;
    struct sim_result even = play(&plan, options);
    assert_true(a.seconds == b.seconds && a.seconds != c.seconds);
    assert_true(a.seconds > even.seconds); /* devices wait for the slowest */
    sim_result_release(&a);
    sim_result_release(&b);
    sim_result_release(&c);
    sim_result_release(&even);
    plan_release(&plan);
}

/* Of T seconds of hidden collectives beside kernels, a share is lost; no more. */
static void collectives_slow_kernels_beside_them(void **state)
{
    (void)state;
    struct job job = job_example();
    struct plan plan;
    job.software = software_find("fsdp");
    job.sharding = 3;
    make(&plan, &job, 64);
    plan.shards_share = 0;
    struct sim_options options = {.level = SIM_LAYERS};
    struct sim_result even = play(&plan, options);
    double hidden = 0;
    const struct plan_stage *stage = &plan.pipelines[0].stages[0];
    for (int t = 0; t < stage->transfer_count; t++)
        if (stage->transfers[t].purpose == PURPOSE_SHARDS)
            hidden += stage->transfers[t].count * stage->transfers[t].seconds;
    hidden *= (double)plan.pipelines[0].microbatches;
    options.collective_share = 0.1;
    struct sim_result slowed = play(&plan, options);
    options.no_symmetry = true;
    struct sim_result all = play(&plan, options);
    assert_true(slowed.seconds > even.seconds + 0.3 * 0.1 * hidden);
    assert_true(slowed.seconds < even.seconds + 2.5 * 0.1 * hidden);
    assert_true(slowed.seconds == all.seconds);
    sim_result_release(&even);
    sim_result_release(&slowed);
    sim_result_release(&all);
    plan_release(&plan);
}

/* Devices behind one link of an oversubscribed switch have it together; those that hide their transfers lose less. */
static void shared_links_are_slower(void **state)
{
    (void)state;
    struct job job = job_example();
    struct plan plan;
    job.degrees.tensor = 8,
    job.degrees.pipeline = 2; /* each device of a node exchanges gradients with other nodes */
    make(&plan, &job, 64);
    struct sim_options options = {.level = SIM_LAYERS};
    struct sim_result own = play(&plan, options);
    plan.links[plan.types[0].across].shared_by = 2;
    struct sim_result shared = play(&plan, options);
    options.no_symmetry = true;
    struct sim_result all = play(&plan, options);
    double gradients = own.devices[0].seconds[SIM_GRADIENTS];
    assert_true(shared.seconds > own.seconds + 0.5 * gradients);
    assert_true(shared.seconds < 1.5 * own.seconds);
    assert_true(shared.seconds == all.seconds);
    sim_result_release(&own);
    sim_result_release(&shared);
    sim_result_release(&all);
    plan_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_agree_where_nothing_hides),
        cmocka_unit_test(all_devices_give_the_same_bits),
        cmocka_unit_test(a_straggler_splits_only_its_class),
        cmocka_unit_test(jitter_follows_the_seed),
        cmocka_unit_test(shared_links_are_slower),
        cmocka_unit_test(collectives_slow_kernels_beside_them),
    };
    return cmocka_run_group_tests_name("sim/play_layers", tests, NULL, NULL);
}
