/* Random plans by passes and by layers: two implementations that share the plan's numbers only. Where nothing hides behind
 * computation they agree, for unequal stages on unequal numbers of devices, any messages, several chunks and all schedules
 * without pairs of passes. */
#include "schedule/schedule.h"
#include "sim/play.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CASES 3000

static double number(struct random_source *source, double max)
{
    return random_one_in(source, 6) ? 0 : max * random_unit(source);
}

static void add(struct plan *plan, struct plan_stage *stage, enum plan_purpose purpose, enum plan_when when,
                double seconds, double count)
{
    struct plan_transfer transfer = {.kind = COLLECTIVE_ALL_REDUCE,
                                     .purpose = purpose,
                                     .when = when,
                                     .group = 2,
                                     .per_node = 2,
                                     .link = -1,
                                     .count = count,
                                     .bytes = NAN,
                                     .seconds = seconds,
                                     .shown = 1};
    assert_true(plan_add_transfer(plan, stage, transfer));
}

static void make_stage(struct random_source *source, struct plan *plan, struct plan_pipeline *pipeline, int s)
{
    struct plan_stage *stage = &pipeline->stages[s];
    stage->layers.first = s > 0 ? stage[-1].layers.last + 1 : 0;
    stage->layers.last = stage->layers.first + random_range(source, 0, 5);
    stage->chunk = s / (pipeline->stage_count / plan->chunks);
    stage->seconds.forward = 0.1 + random_unit(source);
    stage->seconds.backward = 0.2 + 2 * random_unit(source);
    stage->seconds.backward_weight = stage->seconds.backward * random_unit(source);
    stage->seconds.recompute = number(source, 1);
    stage->seconds.collectives = 0;
    stage->seconds.gradients = number(source, 2);
    stage->seconds.optimizer = number(source, 1);
    stage->bytes.parameters = stage->bytes.gradients = stage->bytes.optimizer = 1e9;
    stage->bytes.activations = 1e8 * (1 + random_range(source, 0, 5));
    stage->bytes.working = 0;
    for (int when = WHEN_FORWARD; when <= WHEN_BACKWARD; when++)
        for (int purpose = PURPOSE_TENSOR; purpose <= PURPOSE_EXPERT; purpose++)
            if (random_one_in(source, 3))
                add(plan, stage, (enum plan_purpose)purpose, (enum plan_when)when, number(source, 0.1),
                    random_range(source, 1, 4));
    stage->degrees.data = random_one_in(source, 3) ? random_range(source, 1, 6) : 1;
    double far = random_one_in(source, 3) ? 3 : 0.2;
    if (s > 0)
        assert_true(plan_add_sends(plan, stage - 1, stage, -1, 1, number(source, far), number(source, far)));
}

static const char *make(struct random_source *source, struct plan *plan)
{
    static const char *const names[] = {"gpipe",      "1f1b",  "eager-1f1b", "interleaved",
                                        "looped-bfs", "zb-h1", "zb-h2",      "zb-v",
                                        "v-half",     "v-min", "hanayo",     "chimera"};
    struct error err;
    int devices = random_range(source, 1, 6), name = random_range(source, 0, 11);
    bool chunked = name == 3 || name == 4;
    plan_init(plan);
    assert_true(plan_add_types(plan, 1, &err));
    plan->types[0].name = "a";
    plan->chunks = chunked ? random_range(source, 2, 3) : 1;
    plan->send_blocks = random_range(source, 0, 1);
    assert_true(plan_add_pipelines(plan, 1, &err));
    struct plan_pipeline *pipeline = &plan->pipelines[0];
    pipeline->microbatches = random_range(source, 1, 20);
    pipeline->copies = random_range(source, 1, 2);
    if (name >= 5 || chunked)
        pipeline->microbatches = (int64_t)2 * devices * random_range(source, 1, 3);
    assert_true(plan_add_stages(plan, pipeline, devices * plan->chunks, &err));
    for (int s = 0; s < pipeline->stage_count; s++)
        make_stage(source, plan, pipeline, s);
    return names[name];
}

static void levels_agree(void **state)
{
    (void)state;
    int played = 0, cases = random_cases(CASES);
    for (int seed = 0; seed < cases; seed++) {
        struct random_source source = {(uint64_t)seed};
        struct plan plan;
        struct error err;
        struct sim_result passes, layers;
        const char *name = make(&source, &plan);
        struct sim_options options = {.plain = true, .schedule = name};
        if (!sim_play(&plan, &options, &passes, &err)) { /* a shape that the schedule does not have */
            plan_release(&plan);
            continue;
        }
        options.level = SIM_LAYERS;
        if (!sim_play(&plan, &options, &layers, &err))
            fail_msg("seed %d, %s: %s", seed, name, err.text);
        if (fabs(layers.seconds / passes.seconds - 1) > 1e-9 ||
            fabs(layers.makespan / passes.makespan - 1) > 1e-9)
            fail_msg(
                "seed %d, %s on %d devices, messages %d: by layers %.12g s of %.12g s, by passes %.12g s of "
                "%.12g s",
                seed, name, passes.device_count, plan.send_blocks, layers.seconds, layers.makespan,
                passes.seconds, passes.makespan);
        for (int d = 0; d < passes.device_count; d++) {
            double a = layers.devices[d].peak.total, b = passes.devices[d].peak.total;
            if (fabs(a / b - 1) > 1e-6)
                fail_msg("seed %d, %s, device %d: memory by layers %.9g, by passes %.9g", seed, name, d, a,
                         b);
        }
        sim_result_release(&passes);
        sim_result_release(&layers);
        plan_release(&plan);
        played++;
    }
    print_message("%d of %d plans played\n", played, cases);
    assert_true(played > cases / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels_agree)};
    return cmocka_run_group_tests_name("sim/play_random", tests, NULL, NULL);
}
