/* Oobleck's own templates, as the reference recorded them, as shapes: sets of instances are the best of all
 * partitions of the nodes, and its guarantee holds: down to (F + 1) n0 nodes, every loss leaves pipelines
 * that use all nodes. */
#include "core/json.h"
#include "core/text.h"
#include "elastic/reconfigure.h"
#include "plan/pipeline_plan.h"
#include "support/golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BATCH     64
#define MAX_NODES 20

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* The golden plans for `least` nodes or more as a set of templates, priced as 1F1B pipelines of BATCH
 * micro-batches. */
static void write_templates(const struct golden *golden, int least, struct text *out)
{
    struct json json = {.out = out};
    struct error err;
    json_open_document(&json, "rehearse-templates/2");
    json_number(&json, "planning_seconds", 0);
    json_open(&json, "templates", '[');
    for (int i = 0; i < golden->plan_count; i++) {
        struct plan_problem problem;
        struct plan plan;
        if (!golden->plans[i].found || golden->plans[i].nodes < least)
            continue;
        assert_true(golden_problem(golden, i, OBJECTIVE_PIPELINE, &problem, &err));
        problem.microbatches = BATCH;
        struct pipeline pipeline = {.stage_count = golden->plans[i].stage_count,
                                    .stages = golden->plans[i].stages,
                                    .objective = OBJECTIVE_PIPELINE,
                                    .microbatches = BATCH};
        assert_true(pipeline_score(&problem, &pipeline, &err));
        plan_init(&plan);
        assert_true(plan_of_pipeline(&plan, &pipeline, &problem, NULL, NULL, &err));
        json_open(&json, NULL, '{');
        json_integer(&json, "nodes", golden->plans[i].nodes);
        plan_write_json(&plan, &json, "plan");
        json_close(&json);
        plan_release(&plan);
        plan_problem_release(&problem);
    }
    json_close(&json);
    json_close(&json);
    assert_false(out->failed);
}

static void make_kit(struct elastic_kit *kit, const struct golden *golden, int least)
{
    struct text text = {0};
    struct error err;
    struct cluster_group group = {.device = golden->groups[0].device,
                                  .nodes = {MAX_NODES, golden->groups[0].devices_per_node, 0},
                                  .intra_node = {.bandwidth = 25e9, .latency = 5e-6}};
    struct cluster cluster = {.path = "cluster.yaml",
                              .group_count = 1,
                              .groups = &group,
                              .inter_node = {.bandwidth = 25e9, .latency = 15e-6}};
    struct elastic_options options = {.cluster = &cluster, .texts = &text, .text_count = 1};
    write_templates(golden, least, &text);
    if (!elastic_kit_load(kit, &options, &err))
        fail_msg("%s: %s", golden->name, err.text);
    text_release(&text);
}

/* All multisets of templates of at most so many nodes. */
static void try_partitions(const struct elastic_kit *kit, int shape, int left, int faults, int *counts,
                           double *best)
{
    struct elastic_set set = {.counts = counts};
    struct error err;
    if (shape < kit->shape_count) {
        for (counts[shape] = 0; counts[shape] * kit->shapes[shape].nodes <= left; counts[shape]++)
            try_partitions(kit, shape + 1, left - counts[shape] * kit->shapes[shape].nodes, faults, counts,
                           best);
        counts[shape] = 0;
        return;
    }
    assert_true(elastic_set_score(&set, kit, &err));
    if (set.instances > faults)
        *best = fmin(*best, set.seconds);
}

static void check_sets(const struct elastic_kit *kit, const char *name)
{
    for (int nodes = 1; nodes <= 16; nodes += 3)
        for (int faults = 0; faults <= 2; faults++) {
            struct elastic_set set;
            struct error err;
            int counts[16] = {0};
            double best = INFINITY;
            try_partitions(kit, 0, nodes, faults, counts, &best);
            bool made = elastic_instances(&set, kit, &nodes, faults, &err);
            assert_int_equal(made, isfinite(best));
            if (!made)
                continue;
            if (!near(set.seconds, best) || !set.proven)
                fail_msg("%s, %d nodes: %.9g s, the best partition takes %.9g s", name, nodes, set.seconds,
                         best);
            elastic_set_release(&set);
        }
}

/* The times of shapes are those of the golden stages under 1F1B: their sum, and the slowest for each further
 * micro-batch. */
static void check_times(const struct elastic_kit *kit, const struct golden *golden)
{
    for (int t = 0, i = 0; t < kit->shape_count; t++, i++) {
        while (!golden->plans[i].found)
            i++;
        double sum = 0, slowest = 0;
        for (int s = 0; s < golden->plans[i].stage_count; s++) {
            double seconds = pipeline_stage_time(&golden->plans[i].stages[s]);
            sum += seconds;
            slowest = fmax(slowest, seconds);
        }
        assert_int_equal(kit->shapes[t].nodes, golden->plans[i].nodes);
        assert_true(near(elastic_line_seconds(kit->shapes[t].lines, 1), sum));
        assert_true(near(elastic_line_seconds(kit->shapes[t].lines, 1000), sum + 999 * slowest));
    }
}

static void recorded_templates_give_the_best_sets(void **unused)
{
    (void)unused;
    struct arena arena = {0};
    int count = 0;
    if (!golden_folder())
        skip();
    const char **names = golden_list(&arena, "homo_", ".json", &count);
    int used = 0;
    for (int i = 0; i < count; i++) {
        struct golden golden;
        struct elastic_kit kit;
        struct error err;
        if (!strstr(names[i], "_n1-8_") || !golden_load(&golden, names[i], &err))
            continue;
        make_kit(&kit, &golden, 1);
        check_times(&kit, &golden);
        check_sets(&kit, names[i]);
        elastic_kit_release(&kit);
        golden_release(&golden);
        used++;
    }
    arena_release(&arena);
    assert_true(used >= 10);
}

static int spares_of(const struct elastic_state *state)
{
    int spares = 0;
    for (int n = 0; n < state->node_count; n++)
        spares += state->owner[n] == ELASTIC_SPARE;
    return spares;
}

/* n0 = 2, F = 1 to 3, 14 nodes at first, and templates of up to 8 nodes. */
static void losses_down_to_the_minimum_use_all_nodes(void **unused)
{
    (void)unused;
    struct golden golden;
    struct elastic_kit kit;
    struct error err;
    if (!golden_folder())
        skip();
    assert_true(golden_load(&golden, "homo_raw_n1-8_g1_b50.json", &err));
    make_kit(&kit, &golden, 2);
    kit.kinds[0].nodes.count = 14;
    for (int faults = 1; faults <= 3; faults++)
        for (int step = 1; step <= 11; step += 2) {
            struct elastic_set set;
            struct elastic_state state;
            struct elastic_transition way = {0}, next;
            int all = 14;
            assert_true(elastic_instances(&set, &kit, &all, faults, &err));
            assert_true(elastic_state_start(&state, &kit, &set, &err));
            bool whole = spares_of(&state) == 0;
            for (int live = all - 1, node = 0; live >= 2 * (faults + 1); live--) {
                const struct elastic_state *now = way.after.owner ? &way.after : &state;
                node = (node + step) % all;
                while (now->owner[node] == ELASTIC_GONE)
                    node = (node + 1) % all;
                struct elastic_change change = {.lost = &node, .lost_count = 1};
                assert_true(elastic_reconfigure(&next, now, &change, &err));
                if (whole)
                    assert_int_equal(spares_of(&next.after), 0);
                assert_false(next.outcome.checkpoint);
                elastic_transition_release(&way);
                way = next;
            }
            elastic_transition_release(&way);
            elastic_state_release(&state);
            elastic_set_release(&set);
        }
    elastic_kit_release(&kit);
    golden_release(&golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_templates_give_the_best_sets),
        cmocka_unit_test(losses_down_to_the_minimum_use_all_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
