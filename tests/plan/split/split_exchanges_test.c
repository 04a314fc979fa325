/* The search over dispatchers, overlaps, the experts' tensor degree, context parallel kinds and schedules, against every
 * combination; and what each of them does to a job. */
#include "devices/tables.h"
#include "plan/split/advice/advice.h"
#include "plan/split/kept.h"
#include "plan/split/plan.h"
#include "plan/split/search.h"
#include "support/expect.h"
#include "support/jobs.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES 100

/* ---- the slow way ---- */

static void consider(double *best, const struct job *job, double memory)
{
    if (job_memory(job).total <= memory)
        *best = fmin(*best, job_time(job).seconds);
}

static void every_layout(double *best, struct job *job, double memory, int *blocks, int stage, int left)
{
    if (stage == job->degrees.pipeline - 1) {
        blocks[stage] = left;
        job->stage_blocks = blocks;
        consider(best, job, memory);
        job->stage_blocks = NULL;
        return;
    }
    for (blocks[stage] = 1; blocks[stage] <= left - (job->degrees.pipeline - 1 - stage); blocks[stage]++) {
        int own = blocks[stage];
        every_layout(best, job, memory, blocks, stage + 1, left - own);
        blocks[stage] = own;
    }
}

static void every_schedule(double *best, struct job job, double memory)
{
    int blocks = job_block_count(&job), room[16];
    bool overlaps = job.technique.expert_overlap >= OVERLAP_PASSES;
    for (job.chunks = 1; job.chunks <= blocks + 2; job.chunks++) {
        bool chunked =
            job.chunks == 1 ||
            (job.degrees.pipeline > 1 && job.degrees.pipeline * job.chunks <= blocks + 2 &&
             job_microbatches(&job) % job.degrees.pipeline == 0 && (job.software->offers & OFFERS_LAYOUTS));
        bool room_for_pairs = job.chunks > 1 || (job.degrees.pipeline == 1 && job_microbatches(&job) > 1);
        if (!chunked || (overlaps && !room_for_pairs))
            continue;
        consider(best, &job, memory);
        if (job.chunks == 1 && !overlaps)
            every_layout(best, &job, memory, room, 0, blocks);
    }
    for (int s = SCHEDULE_ZB_H1; s <= SCHEDULE_LAST && job.degrees.pipeline > 1; s++) {
        bool pairs = (s == SCHEDULE_DUALPIPE || s == SCHEDULE_DUALPIPEV) && job.degrees.expert > 1;
        job.technique.schedule = s;
        job.chunks = s == SCHEDULE_ZB_V || s == SCHEDULE_DUALPIPEV ? 2 : 1;
        if ((job.software->schedules >> s & 1) && job_schedule_allowed(&job) && pairs == overlaps)
            consider(best, &job, memory);
    }
}

static bool kind_allowed(const struct job *job, int kind)
{
    int64_t heads = job->model->heads / job->degrees.tensor,
            keys = job->model->kv_rank > 0 ? heads : job->model->kv_heads / job->degrees.tensor;
    if (kind == CONTEXT_ULYSSES)
        return heads % job->degrees.context == 0 && keys % job->degrees.context == 0;
    if (kind != CONTEXT_HIERARCHICAL)
        return true;
    for (int g = 2; g < job->degrees.context && g <= job->devices_per_node / job->degrees.tensor; g++)
        if (job->degrees.context % g == 0 && heads % g == 0 && keys % g == 0)
            return true;
    return false;
}

static void every_technique(double *best, struct job job, double memory)
{
    struct technique *t = &job.technique;
    bool experts = job.degrees.expert > 1, context = job.degrees.context > 1;
    for (t->dispatch = DISPATCH_ALLTOALL; t->dispatch <= (experts ? DISPATCH_DEEPEP : 1); t->dispatch++)
        for (t->expert_overlap = OVERLAP_NONE; t->expert_overlap <= (experts ? OVERLAP_WEIGHTS : 1);
             t->expert_overlap++)
            for (t->expert_tensor = 1; t->expert_tensor <= (experts ? job.degrees.tensor : 1);
                 t->expert_tensor++)
                for (t->context_kind = CONTEXT_RING; t->context_kind <= (context ? CONTEXT_HIERARCHICAL : 1);
                     t->context_kind++) {
                    bool split = t->expert_tensor == 1 || t->expert_tensor == job.degrees.tensor;
                    bool whole = job.degrees.tensor * job.degrees.context * job.degrees.data %
                                     (job.degrees.expert * t->expert_tensor) ==
                                 0;
                    if (split && whole && kind_allowed(&job, t->context_kind))
                        every_schedule(best, job, memory);
                }
}

static bool may_split(const struct job *job)
{
    const struct architecture *model = job->model;
    bool tensor = model->heads % job->degrees.tensor == 0 && model->kv_heads % job->degrees.tensor == 0 &&
                  model->ffn % job->degrees.tensor == 0 && model->expert_ffn % job->degrees.tensor == 0 &&
                  (job->devices_per_node == 1 || job->devices_per_node % job->degrees.tensor == 0);
    bool context = job->degrees.context == 1 || job->sequence % (2 * job->degrees.context) == 0;
    bool expert =
        job->degrees.expert == 1 || (model->experts > 0 && model->experts % job->degrees.expert == 0);
    return tensor && context && expert &&
           job->degrees.tensor * job->degrees.context * job->degrees.data % job->degrees.expert == 0 &&
           job->batch % (job->degrees.data * job->microbatch) == 0;
}

static double slowly(const struct job_question *question)
{
    double best = INFINITY;
    struct job job = question->job;
    int max = job.devices, experts = job.model->experts > 0 ? (int)job.model->experts : 1;
    double memory = (double)job.device->memory * (1.0 - question->headroom);
    job.sharding = (int)question->ranges[JOB_SHARDING].min;
    for (job.degrees.tensor = 1; job.degrees.tensor <= max; job.degrees.tensor *= 2)
        for (job.degrees.context = 1; job.degrees.tensor * job.degrees.context <= max; job.degrees.context++)
            for (job.degrees.pipeline = 1; job.degrees.pipeline <= job_block_count(&job);
                 job.degrees.pipeline++)
                for (job.degrees.data = 1;
                     job.degrees.tensor * job.degrees.context * job.degrees.pipeline * job.degrees.data <=
                     max;
                     job.degrees.data++)
                    for (job.degrees.expert = 1; job.degrees.expert <= experts; job.degrees.expert++)
                        for (job.microbatch = 1; job.microbatch <= job.batch; job.microbatch++) {
                            job.devices = job.degrees.tensor * job.degrees.context * job.degrees.pipeline *
                                          job.degrees.data;
                            if (may_split(&job))
                                every_technique(&best, job, memory);
                        }
    return best;
}

/* ---- random questions ---- */

static uint64_t seed;

static int pick(int min, int max)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return min + (int)((seed >> 33) % (uint64_t)(max - min + 1));
}

struct small {
    struct architecture model;
    struct cost_device device;
    struct software software;
    struct job_question question;
};

static void fix(struct job_question *question, int dimension, int64_t value)
{
    question->ranges[dimension] = (struct job_range){value, value, true};
}

static void make_small(struct small *small)
{
    static const char *const models[] = {"llama-3-8b", "mixtral-8x7b", "deepseek-v2-lite", "deepseek-v3-mtp"};
    small->model = *architecture_find(models[pick(0, 3)]);
    small->model.layers = pick(1, 4);
    small->model.dense_layers = 0;
    small->model.vocabulary = 1000 << pick(0, 7);
    if (small->model.experts > 0) {
        small->model.experts = 8;
        small->model.active_experts = 2;
        small->model.route_groups = small->model.route_active_groups = 0;
    }
    struct job job = job_example();
    small->device = *job.device;
    job.model = &small->model;
    bool ideal = pick(0, 1);
    small->software = *software_find(ideal ? "ideal" : "megatron-core");
    small->software.zero |= ideal ? 1u << 2 : 0u;
    small->software.zero_staged |= ideal ? 1u << 2 : 0u;
    job.software = &small->software;
    job.type = pick(0, 1) ? COST_FP8 : COST_BF16;
    job.devices = pick(2, 8);
    job.devices_per_node = 1 << pick(0, 3);
    job.batch = pick(1, 12);
    job.sequence = 512 << pick(0, 3);
    job.technique.imbalance = pick(0, 1) ? 120 : 0;
    small->question = (struct job_question){.job = job, .headroom = 0.05};
    small->device.memory = (int64_t)(exp2(pick(8, 40) * 0.15) * 0x1p30);
    small->question.job.device = &small->device;
    fix(&small->question, JOB_RECOMPUTE, RECOMPUTE_NONE);
    fix(&small->question, JOB_SHARDING, ideal ? pick(1, 2) : 1);
}

static void is_as_good_as_every_combination(void **state)
{
    (void)state;
    int cases = random_cases(CASES), fits = 0, pairs = 0, timed = 0, folded = 0, kinds = 0;
    for (int i = 0; i < cases; i++) {
        struct small small;
        struct job_search search;
        struct error err;
        seed = (uint64_t)i + 1000;
        make_small(&small);
        double best = slowly(&small.question);
        bool found = job_search(&search, &small.question, &(struct job_search_options){.top = 1}, &err);
        if (found != (bool)isfinite(best))
            fail_msg("case %d: %s, but the slow way finds %g s", i, found ? "a plan" : err.text, best);
        if (!found)
            continue;
        const struct job *job = &search.plans[0].job;
        if (fabs(search.plans[0].time.seconds / best - 1.0) > 1e-9)
            fail_msg("case %d: %.12g s, but the slow way finds %.12g s", i, search.plans[0].time.seconds,
                     best);
        fits++;
        pairs += job->technique.expert_overlap >= OVERLAP_PASSES;
        timed += job_is_timed(job);
        folded += job_is_folded(job);
        kinds += job->degrees.context > 1 && job->technique.context_kind != CONTEXT_RING;
        job_search_release(&search);
    }
    assert_true(fits > cases / 2);
    assert_true(cases < CASES ||
                (pairs > 0 && timed > folded && folded > 0 && kinds > 0)); /* few need not have all of them */
}

/* Cuts whose experts are all on one device have no exchange that could overlap, and no plan. */
static void a_given_overlap_needs_experts_on_several_devices(void **state)
{
    (void)state;
    struct job_question question = {.job = job_example(), .headroom = 0.05};
    struct job_search search;
    struct error err;
    question.job.model = architecture_find("mixtral-8x7b");
    question.job.devices = 64;
    question.job.batch = 64;
    fix(&question, JOB_TECHNIQUE + TECHNIQUE_EXPERT_OVERLAP, OVERLAP_WEIGHTS);
    assert_true(job_search(&search, &question, &(struct job_search_options){.top = 1}, &err));
    assert_int_equal(search.plans[0].job.technique.expert_overlap, OVERLAP_WEIGHTS);
    assert_true(search.plans[0].job.degrees.expert > 1);
    job_search_release(&search);
}

static void ties_go_to_the_simpler_plan(void **state)
{
    (void)state;
    struct job_choice simple = {.job = job_example(), .time = {.seconds = 1.0}, .memory = {.total = 2.0}};
    struct job_choice split = simple, slower = simple;
    split.job.degrees.context = 4;
    split.job.degrees.data = simple.job.degrees.data / 4;
    split.memory.total = 1.0;
    slower.time.seconds = 1.0 + 1e-15;
    assert_true(job_choice_compare(&simple, &split) < 0);
    assert_true(job_choice_compare(&split, &simple) > 0);
    assert_true(job_choice_compare(&split, &slower) < 0);
    split = simple;
    split.job.technique.replicate = 2;
    assert_true(job_choice_compare(&simple, &split) < 0);
}

/* Another plan is named only if it is simpler and hardly slower, and the dimensions that it does without were open. */
static void a_simpler_plan_is_hardly_slower(void **state)
{
    (void)state;
    struct job_question question = {.job = job_example(), .headroom = 0.05};
    struct job_search search;
    struct job_choice simpler;
    struct error err;
    question.job.model = architecture_find("llama-3-70b");
    question.job.devices = 256;
    question.job.batch = 512;
    question.job.sequence = 8192;
    assert_true(job_search(&search, &question, &(struct job_search_options){.top = 1}, &err));
    const struct job_choice *best = &search.plans[0];
    if (job_find_simpler(&simpler, &question, &search, NULL)) {
        assert_true(simpler.time.seconds >= best->time.seconds);
        assert_true(simpler.time.seconds <= best->time.seconds * (1.0 + JOB_HARDLY_SLOWER));
        assert_true(simpler.job.degrees.context < best->job.degrees.context ||
                    simpler.job.degrees.pipeline < best->job.degrees.pipeline ||
                    simpler.job.degrees.tensor < best->job.degrees.tensor);
    }
    for (int d = JOB_TENSOR; d <= JOB_CONTEXT; d++)
        fix(&question, d, job_dimension_value(&best->job, (enum job_dimension)d));
    assert_false(job_find_simpler(&simpler, &question, &search, NULL));
    job_search_release(&search);
}

/* Copies of experts that lie in one node exchange their gradients there. */
static void experts_in_one_node_need_no_other_link(void **state)
{
    (void)state;
    struct job job = job_example(), other;
    job.model = architecture_find("mixtral-8x7b");
    for (job.sharding = 1; job.sharding <= 3; job.sharding++)
        for (job.degrees.expert = 1; job.degrees.expert <= 8; job.degrees.expert *= 2) {
            other = job;
            other.across = tables_link(NULL, "ethernet-25g");
            assert_non_null(other.across);
            assert_true(job_time(&job).data == job_time(&other).data);
        }
    job.degrees.expert = 4;
    job_spread(&job, 16);
    other = job;
    other.across = tables_link(NULL, "ethernet-25g");
    assert_true(job_time(&job).data < job_time(&other).data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_as_good_as_every_combination),
        cmocka_unit_test(a_given_overlap_needs_experts_on_several_devices),
        cmocka_unit_test(ties_go_to_the_simpler_plan),
        cmocka_unit_test(a_simpler_plan_is_hardly_slower),
        cmocka_unit_test(experts_in_one_node_need_no_other_link),
    };
    return cmocka_run_group_tests_name("plan/split/exchanges", tests, NULL, NULL);
}
