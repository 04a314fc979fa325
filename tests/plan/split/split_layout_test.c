#include "devices/tables.h"
#include "plan/split/search.h"
#include "support/jobs.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CASES      300
#define MAX_STAGES 6

/* ---- where stages begin ---- */

static void expect_stages(int blocks, int stages, const int *expected)
{
    struct job job = job_example();
    job.degrees.pipeline = stages;
    assert_int_equal(job_stage_first(&job, blocks, 0), 0);
    assert_int_equal(job_stage_first(&job, blocks, stages), blocks);
    for (int s = 0; s < stages; s++)
        assert_int_equal(job_stage_first(&job, blocks, s + 1) - job_stage_first(&job, blocks, s),
                         expected[s]);
}

static void blocks_that_divide_are_spread_evenly(void **state)
{
    (void)state;
    expect_stages(32, 4, (const int[]){8, 8, 8, 8});
    expect_stages(5, 1, (const int[]){5});
    expect_stages(3, 3, (const int[]){1, 1, 1});
}

/* The embedding is beside the first stage's, the head beside the last one's. */
static void the_ends_have_fewer(void **state)
{
    (void)state;
    expect_stages(31, 4, (const int[]){8, 8, 8, 7});
    expect_stages(30, 4, (const int[]){7, 8, 8, 7});
    expect_stages(29, 4, (const int[]){7, 8, 7, 7});
    expect_stages(7, 2, (const int[]){4, 3});
}

static void stages_differ_by_one_block_at_most(void **state)
{
    (void)state;
    struct job job = job_example();
    for (int blocks = 1; blocks <= 40; blocks++)
        for (job.degrees.pipeline = 1; job.degrees.pipeline <= blocks; job.degrees.pipeline++)
            for (int s = 0; s < job.degrees.pipeline; s++) {
                int count = job_stage_first(&job, blocks, s + 1) - job_stage_first(&job, blocks, s);
                assert_in_range(count, blocks / job.degrees.pipeline,
                                (blocks + job.degrees.pipeline - 1) / job.degrees.pipeline);
            }
}

static void given_stages_are_kept(void **state)
{
    (void)state;
    const int given[] = {3, 1, 4, 2};
    struct job job = job_example();
    job.stage_blocks = given;
    job.degrees.pipeline = 4;
    const int firsts[] = {0, 3, 4, 8, 10};
    for (int s = 0; s <= 4; s++)
        assert_int_equal(job_stage_first(&job, 10, s), firsts[s]);
}

/* ---- the slow way: every layout ---- */

struct slowly {
    struct job job;
    const struct job_layers *layers;
    double memory, pace; /* pace: the best one, INFINITY while nothing fits */
};

/* The slowest stage's seconds; INFINITY: one does not fit. */
static double pace_of(const struct job *job, const struct job_layers *layers, double memory)
{
    double pace = 0.0;
    for (int stage = 0; stage < job->degrees.pipeline; stage++) {
        int first = job_stage_first(job, layers->block_count, stage);
        int last = job_stage_first(job, layers->block_count, stage + 1);
        struct job_layer layer = job_stage(job, layers, stage, first, last);
        if (job_stage_memory(job, layers, stage, &layer).total > memory)
            return INFINITY;
        pace =
            fmax(pace, layer.pass.forward + layer.pass.backward + layer.pass.recompute + layer.pass.tensor);
    }
    return pace;
}

static void every_layout(struct slowly *s, int *blocks, int stage, int left)
{
    if (stage == s->job.degrees.pipeline - 1) {
        blocks[stage] = left;
        s->job.stage_blocks = blocks;
        s->pace = fmin(s->pace, pace_of(&s->job, s->layers, s->memory));
        return;
    }
    for (int own = 1; own <= left - (s->job.degrees.pipeline - 1 - stage); own++) {
        blocks[stage] = own;
        every_layout(s, blocks, stage + 1, left - own);
    }
}

static uint64_t seed;

static int pick(int min, int max)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return min + (int)((seed >> 33) % (uint64_t)(max - min + 1));
}

/* Blocks all alike, dense ones before and between those of experts, an encoder's before a decoder's, windows in between. */
static struct architecture pick_model(void)
{
    static const char *const names[] = {"llama-3-8b", "deepseek-v2-lite", "t5-base", "gpt-oss-20b"};
    const struct architecture *known = architecture_find(names[pick(0, 3)]);
    assert_non_null(known);
    struct architecture model = *known;
    model.layers = pick(1, 9);
    if (model.encoder_layers > 0)
        model.encoder_layers = pick(1, 4);
    if (model.dense_layers > 0)
        model.dense_layers = pick(0, model.layers);
    if (model.experts > 0)
        model.experts_every = pick(0, 3);
    model.vocabulary = 1000 << pick(0, 8);
    return model;
}

static bool expect_best(int index)
{
    struct architecture model = pick_model();
    int total = model.layers + model.encoder_layers;
    struct job job = job_example();
    job.model = &model;
    job.sequence = 512;
    job.degrees.pipeline = pick(1, total < MAX_STAGES ? total : MAX_STAGES);
    job.recompute = (enum recompute)pick(0, 2);
    job_spread(&job, job.degrees.pipeline);
    job.batch = pick(1, 12);
    struct job_layers layers = job_layers_of(&job);
    /* from what the even layout does not fit into to plenty */
    double memory = job_memory_of(&job, &layers).total * (0.8 + 0.02 * pick(0, 20));
    struct slowly slowly = {job, &layers, memory, INFINITY};
    int room[MAX_STAGES], blocks[MAX_STAGES], sum = 0;
    every_layout(&slowly, room, 0, total);
    bool found = job_layout(&job, &layers, memory, INFINITY, blocks);
    if (found != (bool)isfinite(slowly.pace))
        fail_msg("case %d: %s, the slow way finds %g s", index, found ? "a layout" : "none", slowly.pace);
    if (!found)
        return false;
    for (int stage = 0; stage < job.degrees.pipeline; stage++) {
        assert_true(blocks[stage] >= 1);
        sum += blocks[stage];
    }
    assert_int_equal(sum, total);
    job.stage_blocks = blocks;
    double pace = pace_of(&job, &layers, memory);
    if (!(fabs(pace / slowly.pace - 1.0) <= 2e-9))
        fail_msg("case %d: %.12g s, the slow way finds %.12g s", index, pace, slowly.pace);
    int within[MAX_STAGES];
    job.stage_blocks = NULL;
    assert_true(job_layout(&job, &layers, memory, pace * (1.0 + 1e-8), within));
    assert_memory_equal(within, blocks, (size_t)job.degrees.pipeline * sizeof *blocks);
    assert_false(job_layout(&job, &layers, memory, pace * (1.0 - 1e-8), within));
    return true;
}

static void layouts_are_as_good_as_the_best_of_all(void **state)
{
    (void)state;
    int cases = random_cases(CASES), found = 0;
    for (int i = 0; i < cases; i++) {
        seed = (uint64_t)i;
        found += expect_best(i);
    }
    assert_in_range(found, cases / 3, cases - cases / 20);
}

/* Four stages of one device. */
static struct job job_in_four(const struct architecture *model)
{
    struct job job = job_example();
    job.model = model;
    job.degrees.pipeline = 4;
    job_spread(&job, 4);
    return job;
}

static void blocks_alike_are_laid_out_evenly(void **state)
{
    (void)state;
    struct architecture model = *architecture_find("llama-3-8b");
    model.vocabulary = 64; /* ends that weigh nothing */
    model.layers = 24;
    struct job job = job_in_four(&model);
    struct job_layers layers = job_layers_of(&job);
    int blocks[4];
    assert_true(job_layout(&job, &layers, INFINITY, INFINITY, blocks));
    for (int stage = 0; stage < 4; stage++)
        assert_int_equal(blocks[stage], 6);
}

static void more_stages_than_blocks_have_no_layout(void **state)
{
    (void)state;
    struct architecture model = *architecture_find("llama-3-8b");
    model.layers = 3;
    struct job job = job_in_four(&model);
    struct job_layers layers = job_layers_of(&job);
    int blocks[4];
    assert_false(job_layout(&job, &layers, INFINITY, INFINITY, blocks));
}

/* ---- a layout that a question gives ---- */

static void a_given_layout_is_not_changed(void **state)
{
    (void)state;
    const int given[] = {11, 9, 7, 5};
    struct job_question question = {.job = job_example(), .stage_blocks = given, .stage_count = 4};
    struct job_search search;
    struct error err;
    if (!job_search(&search, &question, &(struct job_search_options){.top = 10}, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < search.plan_count; i++) {
        const struct job *job = &search.plans[i].job;
        assert_int_equal(job->degrees.pipeline, 4);
        assert_memory_equal(job->stage_blocks, given, sizeof given);
        assert_true(fabs(search.plans[i].time.seconds / job_time(job).seconds - 1.0) < 1e-12);
        assert_true(fabs(search.plans[i].memory.total / job_memory(job).total - 1.0) < 1e-12);
    }
    job_search_release(&search);
}

static void a_given_layout_is_never_faster_than_the_best(void **state)
{
    (void)state;
    const int given[] = {11, 9, 7, 5};
    struct job_question question = {.job = job_example()};
    struct job_search free_choice, bound;
    struct error err;
    question.ranges[JOB_PIPELINE] = (struct job_range){4, 4, true};
    question.ranges[JOB_CHUNKS] = (struct job_range){1, 1, true};
    assert_true(job_search(&free_choice, &question, &(struct job_search_options){.top = 1}, &err));
    question.stage_blocks = given;
    question.stage_count = 4;
    assert_true(job_search(&bound, &question, &(struct job_search_options){.top = 1}, &err));
    assert_true(free_choice.plans[0].time.seconds < bound.plans[0].time.seconds);
    job_search_release(&free_choice);
    job_search_release(&bound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_divide_are_spread_evenly),
        cmocka_unit_test(the_ends_have_fewer),
        cmocka_unit_test(stages_differ_by_one_block_at_most),
        cmocka_unit_test(given_stages_are_kept),
        cmocka_unit_test(layouts_are_as_good_as_the_best_of_all),
        cmocka_unit_test(blocks_alike_are_laid_out_evenly),
        cmocka_unit_test(more_stages_than_blocks_have_no_layout),
        cmocka_unit_test(a_given_layout_is_not_changed),
        cmocka_unit_test(a_given_layout_is_never_faster_than_the_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
