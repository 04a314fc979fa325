#include "devices/tables.h"
#include "plan/split/kept.h"
#include "plan/split/search.h"
#include "support/jobs.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES 160

/* ---- the slow way: every combination, every layout, priced from scratch ---- */

struct best {
    double seconds;      /* INFINITY: nothing fits */
    double within, cost; /* the fewest device-seconds of plans that take at most so long */
    const struct job_question *question;
};

static void take(struct best *best, const struct job *job, double seconds)
{
    best->seconds = fmin(best->seconds, seconds);
    if (seconds <= best->within)
        best->cost = fmin(best->cost, seconds * job->devices);
}

/* The same with every share of the states on the host, or every number of blocks' activations, where the question
 * leaves them open. */
static void consider_offload(struct best *best, const struct job *job, const struct job_layers *layers,
                             const struct job_exchange *exchange, double memory)
{
    static const enum technique_kind kinds[] = {TECHNIQUE_OFFLOAD, TECHNIQUE_OFFLOAD_ACTIVATIONS};
    for (int k = 0; k < 2; k++) {
        const struct job_range *range = &best->question->ranges[JOB_TECHNIQUE + kinds[k]];
        for (int64_t value = range->min + 1; range->given && value <= range->max; value++) {
            struct job one = *job;
            technique_set(&one.technique, kinds[k], (int)value);
            if (job_memory_of(&one, layers).total <= memory)
                take(best, job, job_time_of(&one, layers, exchange).seconds);
        }
    }
}

static void consider(struct best *best, const struct job *job, double memory)
{
    struct job_layers layers = job_layers_of(job);
    struct job_exchange exchange = job_exchange_of(job, &layers);
    if (job_memory_of(job, &layers).total <= memory)
        take(best, job, job_time_of(job, &layers, &exchange).seconds);
    else if (!job->stage_blocks) /* what fits without is faster */
        consider_offload(best, job, &layers, &exchange, memory);
}

/* All ways to give `left` blocks to the stages from `stage` on, at least one each. */
static void every_layout(struct best *best, struct job *job, double memory, int *blocks, int stage, int left)
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

static bool whole_chunks(const struct job *job, int blocks)
{
    int slots = job->degrees.pipeline * job->chunks;
    bool alike = blocks % slots == 0 || (blocks + 1) % slots == 0 || (blocks + 2) % slots == 0;
    bool any = (job->software->offers & OFFERS_LAYOUTS) && slots <= blocks + 2;
    return job->degrees.pipeline > 1 && (alike || any) && job_microbatches(job) % job->degrees.pipeline == 0;
}

/* Every layout, and every number of chunks, with one way of recomputation. */
static void every_split(struct best *best, struct job job, double memory, bool layouts)
{
    int blocks = job.model->layers + job.model->encoder_layers, room[16];
    job.chunks = 1;
    consider(best, &job, memory);
    if (layouts)
        every_layout(best, &job, memory, room, 0, blocks);
    for (job.chunks = 2; (job.software->offers & OFFERS_CHUNKS) && job.chunks <= blocks + 2; job.chunks++)
        if (whole_chunks(&job, blocks))
            consider(best, &job, memory);
}

/* Modules without effect on any block of the model are left out: they are equal to fewer modules. */
static bool has_effect(const struct job *job, int modules)
{
    const struct architecture *model = job->model;
    bool experts = architecture_expert_blocks(model) > 0,
         dense = architecture_expert_blocks(model) < model->layers;
    const bool effect[RECOMPUTE_MODULES] = {
        [MODULE_CORE_ATTENTION] = job->software->attention == ATTENTION_UNFUSED,
        [MODULE_NORMS] = true,
        [MODULE_LATENT_UP] = model->kv_rank > 0,
        [MODULE_EXPERTS] = experts,
        [MODULE_EXPERT_ACTIVATION] = experts,
        [MODULE_MLP] = dense,
        [MODULE_SHARED_EXPERTS] = model->shared_experts > 0,
    };
    for (int m = 0; m < RECOMPUTE_MODULES; m++)
        if ((modules >> m & 1) && !effect[m])
            return false;
    return true;
}

static void every_recomputation(struct best *best, struct job job, double memory)
{
    const struct software *software = job.software;
    int blocks = job.model->layers + job.model->encoder_layers;
    for (int r = RECOMPUTE_NONE; r <= RECOMPUTE_FULL; r++) {
        job.recompute = (enum recompute)r;
        every_split(best, job, memory, true);
    }
    for (int set = 1; software_supports(software, TECHNIQUE_MODULES) && set < 1 << RECOMPUTE_MODULES; set++) {
        if (!has_effect(&job, set))
            continue;
        job.recompute = RECOMPUTE_SELECTIVE;
        job.technique.modules = set;
        every_split(best, job, memory, true);
    }
    job.technique.modules = 0;
    job.recompute = RECOMPUTE_FULL;
    job.technique.method = software->some_blocks;
    int min = job.technique.method == METHOD_EVERY ? 2 : 1;
    for (int n = min; software_supports(software, TECHNIQUE_LAYERS) && n <= blocks; n++) {
        job.technique.layers = n;
        every_split(best, job, memory, false);
    }
}

/* Every number of copies of the shards, and parameters freed or kept after the forward pass, where the software has them. */
static void every_way_to_shard(struct best *best, struct job job, double memory)
{
    const struct software *software = job.software;
    bool copies = software_supports(software, TECHNIQUE_REPLICATE), whole = software->keeps_gathered,
         switches = software_supports(software, TECHNIQUE_RESHARD);
    for (int copy = 1; copy == 1 || (copies && copy < job.degrees.data); copy++)
        for (int reshard = SWITCH_USUAL; reshard <= (switches ? SWITCH_ON : SWITCH_USUAL); reshard++) {
            /* without pipelines, torchtitan calls it ZeRO-2 where parameters are kept */
            if (job.degrees.data % copy != 0 || (reshard == SWITCH_OFF && whole) ||
                (reshard == SWITCH_ON && !(whole && job.degrees.pipeline > 1)))
                continue;
            job.technique.replicate = copy > 1 ? copy : 0;
            job.technique.reshard = reshard;
            every_recomputation(best, job, memory);
        }
}

static void every_rest(struct best *best, struct job job, double memory)
{
    const struct software *software = job.software;
    unsigned shardings = job.degrees.pipeline > 1 ? software->zero_staged : software->zero;
    for (job.sharding = 0; job.sharding <= 3; job.sharding++) {
        const struct job_range *range = &best->question->ranges[JOB_SHARDING];
        if (!(shardings >> job.sharding & 1) || (range->given && job.sharding < range->min))
            continue;
        if (job.sharding == 3)
            every_way_to_shard(best, job, memory);
        else
            every_recomputation(best, job, memory);
    }
}

static bool may_split(const struct job *job)
{
    unsigned offers = job->software->offers;
    const struct architecture *model = job->model;
    bool tensor = job->degrees.tensor == 1 ||
                  ((offers & OFFERS_TENSOR) && model->heads % job->degrees.tensor == 0 &&
                   model->kv_heads % job->degrees.tensor == 0 && model->ffn % job->degrees.tensor == 0);
    int node = job->devices_per_node;
    bool inside = node == 1 || (job->degrees.tensor <= node && node % job->degrees.tensor == 0);
    bool context = job->degrees.context == 1 ||
                   ((offers & OFFERS_CONTEXT) && job->sequence % (2 * job->degrees.context) == 0);
    bool expert =
        job->degrees.expert == 1 || ((offers & OFFERS_EXPERT) && model->experts % job->degrees.expert == 0);
    bool pipeline = job->degrees.pipeline == 1 || (offers & OFFERS_PIPELINE);
    return tensor && inside && context && expert && pipeline &&
           (job->degrees.tensor * job->degrees.context * job->degrees.data) % job->degrees.expert == 0 &&
           job->batch % (job->degrees.data * job->microbatch) == 0;
}

static struct best slowly(const struct job_question *question, double within)
{
    struct best best = {INFINITY, within, INFINITY, question};
    struct job job = question->job;
    int max = job.devices, experts = job.model->experts > 0 ? (int)job.model->experts : 1;
    double memory = (double)job.device->memory * (1.0 - question->headroom);
    for (job.degrees.tensor = 1; job.degrees.tensor <= max; job.degrees.tensor++)
        for (job.degrees.context = 1; job.degrees.tensor * job.degrees.context <= max; job.degrees.context++)
            for (job.degrees.pipeline = 1;
                 job.degrees.pipeline <= job.model->layers + job.model->encoder_layers;
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
                                every_rest(&best, job, memory);
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
    struct job_question question;
};

static void make_small(struct small *small)
{
    static const char *const softwares[] = {"megatron-core", "megatron-2022", "megatron-deepspeed",
                                            "fsdp",          "torchtitan",    "megatron-core-2024",
                                            "hf-trainer",    "deepspeed",     "maxtext"};
    static const char *const models[] = {"llama-3-8b", "gpt2-xl", "mixtral-8x7b", "deepseek-v2-lite",
                                         "gpt-oss-20b"};
    const struct architecture *known = architecture_find(models[pick(0, 4)]);
    assert_non_null(known);
    small->model = *known;
    small->model.layers = pick(1, known->kv_rank > 0 ? 3 : 6); /* many sets of modules: fewer layouts */
    if (small->model.dense_layers > small->model.layers)
        small->model.dense_layers = 1;
    if (small->model.experts > 0) {
        small->model.experts = 8;
        small->model.experts_every = pick(0, 3);
    }
    if (small->model.active_experts > 8)
        small->model.active_experts = 2;
    small->model.vocabulary = 1000 << pick(0, 7); /* heads from light to heavier than a block */
    struct job job = job_example();
    small->device = *job.device;
    job.model = &small->model;
    job.software = software_find(softwares[pick(0, 8)]);
    bool shards = software_supports(job.software, TECHNIQUE_RESHARD) && pick(0, 1) == 0;
    job.devices = pick(1, 8);
    job.devices_per_node = 1 << pick(0, 3);
    job.batch = pick(1, 12);
    job.sequence = 512 << pick(0, 3);
    if (small->model.positions > 0)
        small->model.positions = 4096;
    small->question = (struct job_question){.job = job, .headroom = 0.01 * pick(0, 10)};
    /* exchanges and schedules: split_exchanges_test.c */
    for (int kind = TECHNIQUE_DISPATCH; kind <= TECHNIQUE_SCHEDULE; kind++)
        small->question.ranges[JOB_TECHNIQUE + kind] = (struct job_range){0, 0, true};
    if (software_supports(job.software, TECHNIQUE_OFFLOAD) &&
        software_supports(job.software, TECHNIQUE_OFFLOAD_ACTIVATIONS) && pick(0, 2) == 0) {
        small->question.ranges[JOB_TECHNIQUE + TECHNIQUE_OFFLOAD] = (struct job_range){0, 100, true};
        small->question.ranges[JOB_TECHNIQUE + TECHNIQUE_OFFLOAD_ACTIVATIONS] =
            (struct job_range){0, 2, true};
    }
    if (shards) { /* parameters, too */
        small->question.ranges[JOB_SHARDING] = (struct job_range){3, 3, true};
        small->question.job.devices = 2 << pick(0, 2);
        small->question.job.devices_per_node = 2;
    }
    /* from what nothing fits into to plenty */
    small->device.memory = (int64_t)(exp2(pick(0, 40) * 0.15) * 0x1p30);
    small->question.job.device = &small->device;
}

static void is_as_good_as_every_combination(void **state)
{
    (void)state;
    int cases = random_cases(CASES), fits = 0, uneven = 0, idle = 0, offloads = 0, shards = 0;
    for (int i = 0; i < cases; i++) {
        struct small small;
        seed = (uint64_t)i;
        make_small(&small);
        struct best best = slowly(&small.question, INFINITY);
        struct job_search search;
        struct error err;
        struct job_search_options options = {.top = pick(1, 4)};
        bool found = job_search(&search, &small.question, &options, &err);
        if (found != (bool)isfinite(best.seconds))
            fail_msg("case %d: %s, but the slow way finds %g s", i, found ? "a plan" : err.text,
                     best.seconds);
        if (!found) {
            assert_int_equal(err.kind, ERROR_INFEASIBLE);
            continue;
        }
        double seconds = search.plans[0].time.seconds;
        if (fabs(seconds / best.seconds - 1.0) > 1e-9)
            fail_msg("case %d: %.12g s, but the slow way finds %.12g s", i, seconds, best.seconds);
        assert_true(search.complete);
        fits++;
        uneven += search.plans[0].job.stage_blocks != NULL;
        offloads +=
            search.plans[0].job.technique.offload + search.plans[0].job.technique.offload_activations > 0;
        shards += search.plans[0].job.technique.replicate > 0 || search.plans[0].job.technique.reshard > 0;
        idle += search.plans[0].job.devices < small.question.job.devices;
        job_search_release(&search);
    }
    /* the cases are of all kinds */
    assert_in_range(fits, cases / 4, cases - cases / 20);
    assert_true(idle > cases / 100);
    assert_true(cases < CASES ||
                (uneven > 0 && offloads > 0 && shards > 0)); /* few cases need not have all of them */
}

/* Deadlines from one that only the fastest plan keeps to one that the smallest keeps. */
static void is_as_cheap_as_every_combination(void **state)
{
    (void)state;
    int cases = random_cases(CASES / 2), idle = 0, fits = 0;
    for (int i = 0; i < cases; i++) {
        struct small small;
        struct job_search search;
        struct error err;
        seed = (uint64_t)i + 5000;
        make_small(&small);
        if (!job_search(&search, &small.question, &(struct job_search_options){.top = 1}, &err))
            continue;
        const struct job_search_options options = {
            .top = 1, .within = search.plans[0].time.seconds * (0.99 + 0.01 * exp2(0.1 * pick(0, 120)))};
        job_search_release(&search);
        struct best best = slowly(&small.question, options.within);
        bool found = job_search(&search, &small.question, &options, &err);
        if (found != (bool)isfinite(best.cost))
            fail_msg("case %d: %s, but the slow way finds %g", i, found ? "a plan" : err.text, best.cost);
        if (!found)
            continue;
        double cost = search.plans[0].time.seconds * search.plans[0].job.devices;
        if (fabs(cost / best.cost - 1.0) > 1e-9 || search.plans[0].time.seconds > options.within)
            fail_msg("case %d: %.12g, but the slow way finds %.12g", i, cost, best.cost);
        fits++;
        idle += search.plans[0].job.devices < small.question.job.devices;
        job_search_release(&search);
    }
    assert_true(fits > cases / 5 && idle > cases / 20);
}

/* ---- properties ---- */

static struct job_question big_question(void)
{
    struct job_question question = {.job = job_example(), .headroom = 0.05};
    question.job.model = architecture_find("llama-3-70b");
    question.job.devices = 64;
    question.job.batch = 128;
    return question;
}

static struct job_search found(const struct job_question *question, const struct job_search_options *options)
{
    struct job_search search;
    struct error err;
    if (!job_search(&search, question, options, &err))
        fail_msg("%s", err.text);
    return search;
}

static void more_devices_are_never_slower(void **state)
{
    (void)state;
    struct job_question question = big_question();
    double before = INFINITY;
    for (question.job.devices = 32; question.job.devices <= 96; question.job.devices += 4) {
        struct job_search search = found(&question, &(struct job_search_options){.top = 1});
        assert_true(search.plans[0].time.seconds <= before);
        before = search.plans[0].time.seconds;
        job_search_release(&search);
    }
}

static void threads_change_nothing(void **state)
{
    (void)state;
    struct job_question question = big_question();
    struct parallel *pool = parallel_new(3, &(struct error){0});
    struct job_search one = found(&question, &(struct job_search_options){.top = 10});
    struct job_search three = found(&question, &(struct job_search_options){.top = 10, .pool = pool});
    assert_int_equal(one.plan_count, 10);
    assert_int_equal(three.plan_count, 10);
    for (int i = 0; i < 10; i++) {
        assert_true(one.plans[i].time.seconds == three.plans[i].time.seconds);
        for (int d = 0; d < JOB_DIMENSIONS; d++)
            assert_int_equal(job_dimension_value(&one.plans[i].job, (enum job_dimension)d),
                             job_dimension_value(&three.plans[i].job, (enum job_dimension)d));
    }
    job_search_release(&one);
    job_search_release(&three);
    parallel_free(pool);
}

/* What is wanted besides the best does not change the best, and the list is in order. */
static void top_is_in_order(void **state)
{
    (void)state;
    struct job_question question = big_question();
    struct job_search one = found(&question, &(struct job_search_options){.top = 1});
    struct job_search many = found(&question, &(struct job_search_options){.top = 20});
    assert_true(one.plans[0].time.seconds == many.plans[0].time.seconds);
    for (int i = 1; i < many.plan_count; i++)
        assert_true(many.plans[i - 1].time.seconds <= many.plans[i].time.seconds);
    job_search_release(&one);
    job_search_release(&many);
}

static bool as_good(const struct job_choice *a, const struct job_choice *b)
{
    return a->time.seconds <= b->time.seconds && a->memory.total <= b->memory.total &&
           a->job.devices <= b->job.devices;
}

/* None of the front is beaten by another of it, all others are as good as one of it, and the fastest is there. */
static void nothing_beats_the_front(void **state)
{
    (void)state;
    struct job_question question = big_question();
    struct job_search front = found(&question, &(struct job_search_options){.top = 2000, .front = true});
    struct job_search many = found(&question, &(struct job_search_options){.top = 200});
    assert_in_range(front.plan_count, 5, 1999);
    assert_true(front.plans[0].time.seconds == many.plans[0].time.seconds);
    for (int i = 0; i < front.plan_count; i++)
        for (int j = 0; j < front.plan_count; j++)
            assert_true(i == j || !as_good(&front.plans[i], &front.plans[j]));
    for (int i = 0; i < many.plan_count; i++) {
        bool covered = false;
        for (int j = 0; j < front.plan_count; j++)
            covered |= as_good(&front.plans[j], &many.plans[i]);
        assert_true(covered);
    }
    job_search_release(&front);
    job_search_release(&many);
}

/* A search with the prices of one before finds what it finds by itself, whatever is left out. */
static void prices_of_before_change_nothing(void **state)
{
    (void)state;
    static const enum job_dimension narrowed[] = {JOB_TENSOR, JOB_CONTEXT, JOB_PIPELINE};
    struct job_question question = big_question();
    const struct job_search_options options = {.top = 5};
    struct job_search before = found(&question, &options);
    for (int set = 0; set < 8; set++) {
        struct job_question narrow = question;
        struct job_search again;
        struct error err;
        for (int d = 0; d < 3; d++)
            if (set >> d & 1)
                narrow.ranges[narrowed[d]] = (struct job_range){1, 1 + set % 2, true};
        struct job_search alone = found(&narrow, &options);
        assert_true(job_search_again(&again, &before, &narrow, &options, &err));
        assert_int_equal(again.plan_count, alone.plan_count);
        assert_true(again.combinations == alone.combinations && again.lower_bound == alone.lower_bound);
        for (int i = 0; i < alone.plan_count; i++)
            assert_int_equal(job_choice_compare(&again.plans[i], &alone.plans[i]), 0);
        job_search_release(&alone);
        job_search_release(&again);
    }
    job_search_release(&before);
}

static void ranges_are_kept(void **state)
{
    (void)state;
    struct job_question question = big_question();
    question.ranges[JOB_TENSOR] = (struct job_range){4, 4, true};
    question.ranges[JOB_PIPELINE] = (struct job_range){2, 4, true};
    question.ranges[JOB_RECOMPUTE] = (struct job_range){RECOMPUTE_FULL, RECOMPUTE_FULL, true};
    struct job_search search = found(&question, &(struct job_search_options){.top = 20});
    for (int i = 0; i < search.plan_count; i++) {
        assert_int_equal(search.plans[i].job.degrees.tensor, 4);
        assert_in_range(search.plans[i].job.degrees.pipeline, 2, 4);
        assert_int_equal(search.plans[i].job.recompute, RECOMPUTE_FULL);
    }
    job_search_release(&search);
}

static void says_what_does_not_fit(void **state)
{
    (void)state;
    struct job_question question = big_question();
    struct job_search search;
    struct error err;
    question.job.devices = 4;
    assert_false(job_search(&search, &question, &(struct job_search_options){.top = 1}, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    assert_non_null(strstr(err.text, "'llama-3-70b' does not fit: the smallest of all splits (tp "));
}

static void says_when_nothing_is_allowed(void **state)
{
    (void)state;
    struct job_question question = big_question();
    struct job_search search;
    struct error err;
    question.ranges[JOB_TENSOR] = (struct job_range){3, 3, true};
    assert_false(job_search(&search, &question, &(struct job_search_options){.top = 1}, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
}

/* Weak first stages: many micro-batches in flight leave room for fewer blocks there. */
static void memory_shapes_the_stages(void **state)
{
    (void)state;
    struct job job = job_example();
    job.degrees.pipeline = 8;
    job_spread(&job, 8);
    job.batch = 32;
    struct job_layers layers = job_layers_of(&job);
    double even = job_memory_of(&job, &layers).total;
    int blocks[8], sum = 0;
    assert_true(job_layout(&job, &layers, 0.93 * even, INFINITY, blocks));
    for (int stage = 0; stage < 8; stage++)
        sum += blocks[stage];
    assert_int_equal(sum, 32);
    assert_true(blocks[0] < blocks[6]);
    job.stage_blocks = blocks;
    assert_true(job_memory_of(&job, &layers).total <= 0.93 * even);
    assert_false(job_layout(&job, &layers, 0.2 * even, INFINITY, blocks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_as_good_as_every_combination),
        cmocka_unit_test(is_as_cheap_as_every_combination),
        cmocka_unit_test(more_devices_are_never_slower),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(top_is_in_order),
        cmocka_unit_test(nothing_beats_the_front),
        cmocka_unit_test(prices_of_before_change_nothing),
        cmocka_unit_test(ranges_are_kept),
        cmocka_unit_test(says_what_does_not_fit),
        cmocka_unit_test(says_when_nothing_is_allowed),
        cmocka_unit_test(memory_shapes_the_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
