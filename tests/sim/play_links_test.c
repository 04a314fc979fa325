/* Random plans on small clusters, whose transfers share cards: the engine against a second simulator, and one device of each kind
 * against all devices. */
#include "cost/collective.h"
#include "devices/tables.h"
#include "sim/play/system.h"
#include "support/engine_twin.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CASES 600

static void add(struct plan *plan, struct plan_stage *stage, struct plan_transfer transfer)
{
    const struct plan_link *link = &plan->links[transfer.link];
    transfer.per_node = transfer.per_node > 0 ? transfer.per_node : 1;
    transfer.seconds = link->latency + 1.2 * transfer.bytes / link->bandwidth;
    assert_true(plan_add_transfer(plan, stage, transfer));
}

/* Transfers of all kinds, with shown and hidden parts. */
static void add_transfers(struct random_source *source, struct plan *plan, struct plan_stage *stage,
                          int copies)
{
    int across = plan->types[stage->type].across, all = stage->degrees.data * copies;
    double bytes = 1e6 * (1 + random_range(source, 0, 9));
    for (int when = WHEN_FORWARD; when <= WHEN_BACKWARD && stage->degrees.tensor > 1; when++)
        add(plan, stage,
            (struct plan_transfer){.kind = COLLECTIVE_ALL_REDUCE,
                                   .purpose = PURPOSE_TENSOR,
                                   .when = (enum plan_when)when,
                                   .group = stage->degrees.tensor,
                                   .link = plan->types[stage->type].inside,
                                   .count = 2,
                                   .bytes = bytes,
                                   .shown = 1});
    if (all > 1 && random_one_in(source, 2))
        add(plan, stage,
            (struct plan_transfer){.kind = COLLECTIVE_ALL_GATHER,
                                   .purpose = PURPOSE_SHARDS,
                                   .when = WHEN_FORWARD,
                                   .group = all,
                                   .link = across,
                                   .count = 1,
                                   .bytes = bytes,
                                   .shown = 0.5 * random_range(source, 0, 2)});
    if (all > 1)
        add(plan, stage,
            (struct plan_transfer){.kind = COLLECTIVE_ALL_REDUCE,
                                   .purpose = PURPOSE_GRADIENTS,
                                   .when = WHEN_AFTER,
                                   .group = all,
                                   .link = across,
                                   .count = 1,
                                   .bytes = 10 * bytes,
                                   .shown = 0.25 * random_range(source, 0, 4)});
}

static void make(struct random_source *source, struct plan *plan)
{
    struct error err;
    static const int widths[] = {1, 2, 3, 4, 6};
    int pipelines = random_one_in(source, 4) ? 2 : 1;
    plan_init(plan);
    assert_true(plan_add_types(plan, 1, &err));
    struct plan_device_type *type = &plan->types[0];
    *type = (struct plan_device_type){.name = "a", .nodes = {256, 1 << random_range(source, 0, 2), 0}};
    type->inside = plan_add_link(plan, "inside", 100e6, 0.01);
    type->across = plan_add_link(plan, "across", 10e6, 0.02);
    plan->links[type->across].shared_by = 1 << random_range(source, 0, 2);
    if (random_one_in(source, 2)) {
        plan->network.level_count = random_range(source, 1, 2);
        plan->network.levels[0] = (struct cluster_level){random_range(source, 2, 4), 2};
        plan->network.levels[1] = (struct cluster_level){2 * plan->network.levels[0].nodes, 3};
    }
    plan->chunks = 1;
    plan->send_blocks = random_range(source, 0, 1);
    plan->prefetch = 1;
    assert_true(plan_add_pipelines(plan, pipelines, &err));
    for (int p = 0; p < pipelines; p++) {
        struct plan_pipeline *pipeline = &plan->pipelines[p];
        pipeline->copies = random_range(source, 1, 3);
        pipeline->microbatches = random_range(source, 1, 4);
        assert_true(plan_add_stages(plan, pipeline, random_range(source, 1, 3), &err));
        for (int s = 0; s < pipeline->stage_count; s++) {
            struct plan_stage *stage = &pipeline->stages[s];
            stage->layers.first = s > 0 ? stage[-1].layers.last + 1 : 0;
            stage->layers.last =
                s == pipeline->stage_count - 1 ? 7 : stage->layers.first + random_range(source, 0, 1);
            stage->degrees.tensor = 1 + random_one_in(source, 3);
            stage->degrees.data = widths[random_range(source, 0, 4)];
            stage->seconds.forward = 0.2 + random_unit(source);
            stage->seconds.backward = 0.4 + 2 * random_unit(source);
            stage->seconds.optimizer = 0.1;
            stage->bytes.activations = 1e8;
            add_transfers(source, plan, stage, pipeline->copies);
            double bytes = 2e6 * (1 + random_range(source, 0, 4));
            if (s > 0)
                assert_true(plan_add_sends(plan, stage - 1, stage, type->across, bytes, 0.02 + bytes / 10e6,
                                           0.02 + bytes / 10e6));
        }
    }
    assert_true(plan_place(plan, &err));
}

/* Plays one by one what was made, with the engine and with its twin. Returns how many flows were slowed at least once. */
static int64_t play_twins(struct plan *plan, const struct sim_options *options, int seed, double seconds)
{
    struct play_model model;
    struct play_system system;
    struct arena arena = {0};
    struct error err;
    struct twin twin;
    struct engine_result played = {.makespan = 0.0};
    if (!play_model_make(&model, plan, options, &arena, &err) || !play_system_make(&system, &model, &err) ||
        !engine_run(&system.engine, NULL, &played, &err))
        fail_msg("seed %d: %s", seed, err.text);
    twin_play(&system.engine, &twin);
    assert_false(twin.stuck);
    if (fabs(twin.makespan / played.makespan - 1) > 1e-9)
        fail_msg("seed %d: %.12g s, the twin %.12g s", seed, played.makespan, twin.makespan);
    assert_true(model.post_validate || played.makespan + model.other == seconds);
    int64_t changes = played.flow_changes;
    twin_release(&twin);
    engine_result_release(&played);
    play_system_release(&system);
    play_model_release(&model);
    arena_release(&arena);
    return changes;
}

/* What links carry, added up from what a sink is told. */
struct meter {
    struct {
        double time, rate, bytes;
        char name[128];
    } links[4096];
    int count;
};

static bool read_meter(void *context, const struct timeline_link *link, struct error *err)
{
    struct meter *meter = context;
    (void)err;
    assert_in_range(link->number, 0, 4095);
    while (meter->count <= link->number)
        memset(&meter->links[meter->count++], 0, sizeof *meter->links);
    assert_true(link->rate >= 0 && link->rate <= link->capacity * (1 + 1e-9) && link->device >= 0);
    meter->links[link->number].bytes +=
        (link->time - meter->links[link->number].time) * meter->links[link->number].rate;
    meter->links[link->number].time = link->time;
    meter->links[link->number].rate = link->rate;
    snprintf(meter->links[link->number].name, sizeof meter->links->name, "%s", link->name);
    return true;
}

static bool take_task(void *context, const struct timeline_task *task, struct error *err)
{
    (void)context, (void)task, (void)err;
    return true;
}

/* A sink that is told of links changes no bit, and the rates add up to the bytes of the result. */
static void rates_of_links_add_up_to_their_bytes(void **state)
{
    (void)state;
    static struct meter meter;
    int cases = random_cases(CASES / 2), found = 0, full = 0;
    for (int seed = 0; seed < cases; seed++) {
        struct random_source source = {(uint64_t)seed};
        struct plan plan;
        struct error err;
        struct sim_result without, with;
        const struct timeline_sink sink = {.context = &meter, .task = take_task, .link = read_meter};
        make(&source, &plan);
        struct sim_options options = {.plain = true, .level = SIM_LAYERS};
        assert_true(sim_play(&plan, &options, &without, &err));
        options.sink = &sink;
        meter.count = 0;
        if (!sim_play(&plan, &options, &with, &err))
            fail_msg("seed %d: %s", seed, err.text);
        assert_true(with.seconds == without.seconds && with.makespan == without.makespan);
        for (int l = 0; l < meter.count; l++)
            assert_true(meter.links[l].rate == 0); /* in the end */
        for (int i = 0; i < with.link_count; i++) {
            const struct sim_link *link = &with.links[i];
            double best = INFINITY; /* of all links whose names begin so */
            for (int l = 0; l < meter.count; l++)
                if (strncmp(meter.links[l].name, link->name, strlen(link->name)) == 0)
                    best = fmin(best, fabs(meter.links[l].bytes - link->bytes));
            if (link->bytes >= 64 &&
                best > 0.02 * link->bytes + 16) /* the engine's bytes are whole numbers */
                fail_msg("seed %d, %s: %g bytes, off by %g", seed, link->name, link->bytes, best);
            assert_true(link->full <= with.makespan && link->cause_count > 0 && link->alike >= 1);
            assert_true(i == 0 || link->full <= link[-1].full);
            found++;
            full += link->full > 0;
        }
        sim_result_release(&with);
        sim_result_release(&without);
        plan_release(&plan);
    }
    print_message("%d links, %d of them full at times\n", found, full);
    assert_true(found > cases && full > cases / 4);
}

/* A plan of one stage and one micro-batch on so many nodes of eight, with one collective in its forward pass. */
static void make_collective(struct plan *plan, int devices, enum collective_kind kind, double bytes,
                            const struct cost_link *inside, const struct cost_link *across)
{
    struct error err;
    int per_node = devices < 8 ? devices : 8;
    bool exchange = kind == COLLECTIVE_ALL_TO_ALL;
    const struct collective_group group = {devices, per_node, inside, across};
    plan_init(plan);
    assert_true(plan_add_types(plan, 1, &err));
    plan->types[0] = (struct plan_device_type){.name = "a", .nodes = {devices / per_node, per_node, 0}};
    plan->types[0].inside = plan_add_link(plan, inside->name, inside->bandwidth, 1e-6);
    plan->types[0].across = plan_add_link(plan, across->name, across->bandwidth, 5e-6);
    plan->network = (struct cluster_network){1, {{1, 1.0}}};
    plan->chunks = 1;
    assert_true(plan_add_pipelines(plan, 1, &err));
    plan->pipelines[0].microbatches = 1;
    assert_true(plan_add_stages(plan, &plan->pipelines[0], 1, &err));
    struct plan_stage *stage = &plan->pipelines[0].stages[0];
    stage->seconds.forward = stage->seconds.backward = 0.001;
    stage->seconds.collectives = 0; /* they are no part of the passes */
    *(exchange ? &stage->degrees.data : &stage->degrees.tensor) = devices;
    stage->degrees.expert = exchange ? devices : 1;
    const struct plan_transfer transfer = {
        .kind = kind,
        .purpose = exchange ? PURPOSE_EXPERT : PURPOSE_TENSOR,
        .when = WHEN_FORWARD,
        .group = devices,
        .per_node = per_node,
        .link = devices > per_node ? plan->types[0].across : plan->types[0].inside,
        .count = 1,
        .bytes = bytes,
        .seconds = collective_time(kind, &group, bytes).seconds,
        .shown = 1,
    };
    assert_true(plan_add_transfer(plan, stage, transfer) && plan_place(plan, &err));
}

/* The first collective that is played. */
struct stopwatch {
    double seconds;
    int count, changes;
};

static bool time_collective(void *context, const struct timeline_task *task, struct error *err)
{
    struct stopwatch *watch = context;
    (void)err;
    if (task->kind == TASK_COLLECTIVE && task->end > task->begin) {
        watch->seconds = task->end - task->begin;
        watch->count++;
    }
    return true;
}

static bool count_change(void *context, const struct timeline_link *link, struct error *err)
{
    (void)link, (void)err;
    ((struct stopwatch *)context)->changes++;
    return true;
}

static void collectives_alone_take_the_time_of_the_cost_model(void **state)
{
    (void)state;
    const struct cost_link *inside = tables_link(NULL, "nvlink4"), *across = tables_link(NULL, "ib-400g");
    for (int devices = 2; devices <= 32; devices *= 2)
        for (enum collective_kind kind = 0; kind < COLLECTIVE_SEND; kind++)
            for (int size = 12; size <= 32; size += 4) {
                struct plan plan;
                struct error err;
                struct sim_result result;
                struct stopwatch watch = {0};
                const struct timeline_sink sink = {
                    .context = &watch, .task = time_collective, .link = count_change};
                struct sim_options options = {.plain = true, .level = SIM_LAYERS, .sink = &sink};
                make_collective(&plan, devices, kind, ldexp(1.1, size), inside, across);
                double seconds = plan.pipelines[0].stages[0].transfers[0].seconds;
                if (!sim_play(&plan, &options, &result, &err))
                    fail_msg("%s", err.text);
                assert_int_equal(watch.count, 1);
                assert_true(watch.changes > 0); /* it was a flow */
                if (fabs(watch.seconds - seconds) > 1e-15)
                    fail_msg("kind %d of %d devices, 2^%d bytes: %.17g s of %.17g s", kind, devices, size,
                             watch.seconds, seconds);
                sim_result_release(&result);
                plan_release(&plan);
            }
}

static void plans_flow_as_in_another_simulator(void **state)
{
    (void)state;
    int cases = random_cases(CASES), flowed = 0, slowed = 0, unequal = 0;
    for (int seed = 0; seed < cases; seed++) {
        struct random_source source = {(uint64_t)seed};
        struct plan plan;
        struct error err;
        struct sim_result one, all, alone;
        make(&source, &plan);
        struct sim_options options = {.plain = true, .level = SIM_LAYERS};
        const struct sim_straggler slow = {.first = 0, .last = 0, .factor = 1.5};
        if (random_one_in(&source, 3)) {
            options.stragglers = &slow;
            options.straggler_count = 1;
        }
        if (!sim_play(&plan, &options, &one, &err))
            fail_msg("seed %d: %s", seed, err.text);
        options.no_symmetry = true;
        if (!sim_play(&plan, &options, &all, &err))
            fail_msg("seed %d: %s", seed, err.text);
        if (one.seconds != all.seconds || one.makespan != all.makespan)
            fail_msg("seed %d: %.17g s, all devices %.17g s", seed, one.seconds, all.seconds);
        assert_true(one.tasks <= all.tasks);
        assert_true(one.step_count > 0 && all.step_count > 0);
        for (int d = 0; d < one.device_count; d++)
            assert_true(one.devices[d].end == all.devices[d].end);
        if (all.tasks < 1500)
            flowed += play_twins(&plan, &options, seed, all.makespan) > 0;
        plan.types[0].inside = plan.types[0].across = -1; /* of no known bandwidth: nobody is slowed */
        if (!sim_play(&plan, &options, &alone, &err))
            fail_msg("seed %d: %s", seed, err.text);
        slowed += alone.seconds < all.seconds;
        for (int s = 1; s < plan.pipelines[0].stage_count; s++)
            unequal += plan_stage_devices(&plan.pipelines[0].stages[s]) !=
                       plan_stage_devices(&plan.pipelines[0].stages[0]);
        sim_result_release(&one);
        sim_result_release(&all);
        sim_result_release(&alone);
        plan_release(&plan);
    }
    print_message("%d plans: %d with flows, %d slower for them, %d stages of another width\n", cases, flowed,
                  slowed, unequal);
    assert_true(flowed > cases / 4 && slowed > cases / 8 && unequal > cases / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_alone_take_the_time_of_the_cost_model),
        cmocka_unit_test(rates_of_links_add_up_to_their_bytes),
        cmocka_unit_test(plans_flow_as_in_another_simulator),
    };
    return cmocka_run_group_tests_name("sim/play_links", tests, NULL, NULL);
}
