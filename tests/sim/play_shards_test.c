/* Gathers and scatters of shards, block by block, against a recurrence: streams do their tasks one after the other. */
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

#define MAX_BLOCKS 4096

/* One stage, data parallel, ZeRO-3; transfers take `factor` of their seconds, and share no links. */
static void make(struct plan *plan, double factor)
{
    struct job job = job_example();
    struct error err;
    job.software = software_find("fsdp");
    job.sharding = 3;
    job.batch = 3 * 16;
    job_spread(&job, 16);
    plan_init(plan);
    if (!job_check(&job, &err) || !plan_of_one_job(plan, &job, 16, &err))
        fail_msg("%s", err.text);
    struct plan_stage *stage = &plan->pipelines[0].stages[0];
    for (int t = 0; t < stage->transfer_count; t++) {
        struct plan_transfer *transfer = &stage->transfers[t];
        transfer->link = -1;
        if (transfer->purpose == PURPOSE_SHARDS)
            transfer->seconds *= factor;
        else
            transfer->count = 0;
    }
    plan->shards_share = 0;
    plan->keeps_gathered = 0;
}

static struct sim_result play(struct plan *plan, struct sim_options options)
{
    struct sim_result result;
    struct error err;
    options.plain = true;
    options.level = SIM_LAYERS;
    if (!sim_play(plan, &options, &result, &err))
        fail_msg("%s", err.text);
    return result;
}

static double shards_of(const struct plan_stage *stage, enum plan_when when, bool gathers)
{
    double seconds = 0;
    for (int t = 0; t < stage->transfer_count; t++) {
        const struct plan_transfer *transfer = &stage->transfers[t];
        if (transfer->purpose == PURPOSE_SHARDS && transfer->when == when &&
            (transfer->kind == COLLECTIVE_ALL_GATHER) == gathers)
            seconds += transfer->count * transfer->seconds;
    }
    return seconds;
}

/* The recurrence: of each block of each pass, the gather follows the one before and the kernels `prefetch` + 1 blocks before. */
static double expected(const struct plan *plan, int prefetch, enum sim_reshard reshard)
{
    static double kernels[MAX_BLOCKS];
    const struct plan_stage *stage = &plan->pipelines[0].stages[0];
    int blocks = stage->layers.last - stage->layers.first + 1,
        passes = 2 * (int)plan->pipelines[0].microbatches;
    double gathered = 0, done = 0, scattered = 0;
    assert_true(blocks * passes <= MAX_BLOCKS && prefetch < blocks);
    for (int i = 0; i < blocks * passes; i++) {
        bool back = i / blocks % 2;
        bool gathers =
            reshard == SIM_RESHARD_PASS || (!back && reshard == SIM_RESHARD_BACKWARD) || i < blocks;
        bool scatters = back && (reshard != SIM_RESHARD_ITERATION || i / blocks == passes - 1);
        double seconds = back ? stage->seconds.backward + stage->seconds.recompute : stage->seconds.forward;
        if (gathers) {
            double free = i > prefetch ? kernels[i - prefetch - 1] : 0;
            gathered =
                fmax(gathered, free) + shards_of(stage, back ? WHEN_BACKWARD : WHEN_FORWARD, true) / blocks;
            done = fmax(done, gathered);
        }
        done += seconds / blocks;
        kernels[i] = done;
        if (scatters)
            scattered = fmax(scattered, done) + shards_of(stage, WHEN_BACKWARD, false) / blocks;
    }
    double other = 0;
    for (int i = 0; i < plan->part_count; i++)
        other += plan->parts[i].name[0] == 'o' && plan->parts[i].name[1] == 't' ? plan->parts[i].value : 0;
    return fmax(done, scattered) + stage->seconds.optimizer + other;
}

static void blocks_are_gathered_ahead(void **state)
{
    (void)state;
    static const double factors[] = {0.1, 1, 5, 40};
    for (int f = 0; f < 4; f++)
        for (int prefetch = 0; prefetch < 5; prefetch++)
            for (enum sim_reshard reshard = SIM_RESHARD_PASS; reshard <= SIM_RESHARD_ITERATION; reshard++) {
                struct plan plan;
                make(&plan, factors[f]);
                struct sim_result result =
                    play(&plan,
                         (struct sim_options){.prefetch = prefetch > 0 ? prefetch : -1, .reshard = reshard});
                double seconds = expected(&plan, prefetch, reshard);
                if (fabs(result.seconds / seconds - 1) > 1e-9)
                    fail_msg("%g, prefetch %d, reshard %d: %.12g s, expected %.12g s", factors[f], prefetch,
                             (int)reshard, result.seconds, seconds);
                sim_result_release(&result);
                plan_release(&plan);
            }
}

/* What is asked for wins over what the plan says, and that over nothing. */
static void plans_say_how_far_ahead(void **state)
{
    (void)state;
    struct plan plan;
    make(&plan, 5);
    for (int prefetch = 0; prefetch < 3; prefetch++) {
        plan.prefetch = prefetch;
        struct sim_result planned = play(&plan, (struct sim_options){.prefetch = 0}),
                          asked = play(&plan, (struct sim_options){.prefetch = 4});
        assert_true(fabs(planned.seconds / expected(&plan, prefetch, SIM_RESHARD_PASS) - 1) < 1e-9);
        assert_true(fabs(asked.seconds / expected(&plan, 4, SIM_RESHARD_PASS) - 1) < 1e-9);
        sim_result_release(&planned);
        sim_result_release(&asked);
    }
    plan.prefetch = 1;
    plan.keeps_gathered = 1;
    struct sim_result kept = play(&plan, (struct sim_options){.prefetch = 0});
    assert_true(fabs(kept.seconds / expected(&plan, 1, SIM_RESHARD_ITERATION) - 1) < 1e-9);
    sim_result_release(&kept);
    plan.technique.reshard = SWITCH_OFF;
    kept = play(&plan, (struct sim_options){.prefetch = 0});
    assert_true(fabs(kept.seconds / expected(&plan, 1, SIM_RESHARD_BACKWARD) - 1) < 1e-9);
    sim_result_release(&kept);
    plan_release(&plan);
}

/* Gathers that all hide cost what they take from kernels: their seconds times the share. */
static void kernels_beside_gathers_are_slower(void **state)
{
    (void)state;
    struct plan plan;
    make(&plan, 0.3);
    const struct plan_stage *stage = &plan.pipelines[0].stages[0];
    double moved = (double)plan.pipelines[0].microbatches *
                   (shards_of(stage, WHEN_FORWARD, true) + shards_of(stage, WHEN_BACKWARD, true) +
                    shards_of(stage, WHEN_BACKWARD, false));
    struct sim_result even = play(&plan, (struct sim_options){.prefetch = 0});
    plan.shards_share = 0.5;
    struct sim_result slowed = play(&plan, (struct sim_options){.prefetch = 0});
    double lost = (slowed.seconds - even.seconds) / (0.5 * moved);
    if (lost < 0.9 || lost > 1.0 + 1e-9) /* the first gather and the last scatter are beside none */
        fail_msg("%g of what gathers and scatters take is lost", lost);
    sim_result_release(&even);
    sim_result_release(&slowed);
    plan_release(&plan);
}

/* Shards within a node, and their copies on others (HSDP): gathers meet no exchange between copies on any link. */
static void copies_of_shards_use_other_links(void **state)
{
    (void)state;
    struct job job = job_example();
    struct error err;
    struct plan plan;
    job.software = software_find("fsdp");
    job.sharding = 3;
    job.technique.replicate = 4;
    job.batch = 3 * 32;
    job_spread(&job, 32);
    plan_init(&plan);
    if (!job_check(&job, &err) || !plan_of_one_job(&plan, &job, 32, &err))
        fail_msg("%s", err.text);
    struct plan_stage *stage = &plan.pipelines[0].stages[0];
    plan.shards_share = 0;
    stage->seconds.forward *= 0.05; /* kernels hide little */
    stage->seconds.backward *= 0.05;
    for (int t = 0; t < stage->transfer_count; t++) { /* the scatter would meet the gather in the node */
        struct plan_transfer *transfer = &stage->transfers[t];
        assert_true(transfer->purpose != PURPOSE_SHARDS || transfer->group == 8 || transfer->group == 4);
        if (transfer->kind == COLLECTIVE_REDUCE_SCATTER)
            transfer->seconds = 0;
    }
    struct sim_result shared = play(&plan, (struct sim_options){.prefetch = 0});
    for (int t = 0; t < stage->transfer_count; t++)
        stage->transfers[t].link = -1;
    struct sim_result apart = play(&plan, (struct sim_options){.prefetch = 0});
    if (fabs(shared.seconds / apart.seconds - 1) > 1e-9)
        fail_msg("%.12g s, over links of their own %.12g s", shared.seconds, apart.seconds);
    sim_result_release(&shared);
    sim_result_release(&apart);
    plan_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_gathered_ahead),
        cmocka_unit_test(plans_say_how_far_ahead),
        cmocka_unit_test(kernels_beside_gathers_are_slower),
        cmocka_unit_test(copies_of_shards_use_other_links),
    };
    return cmocka_run_group_tests_name("sim/play_shards", tests, NULL, NULL);
}
