/* HPGO's model and its choice, against what it answered. */
#include "support/dapple_golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* Calls check(golden) for every record whose chain is there; the number of records. */
static int for_records(void (*check)(struct dapple_golden *golden))
{
    int names_count, records = 0;
    char **names = dapple_golden_list(&names_count);
    if (!names) {
        skip();
        return 0;
    }
    for (int i = 0; i < names_count; i++) {
        struct dapple_golden golden;
        struct chain chain = {.layer_count = 0};
        char loaded[64] = "";
        assert_true(dapple_golden_open(&golden, names[i]));
        for (; golden.record; golden.record = golden.record->next) {
            dapple_golden_problem(&golden);
            if (strcmp(golden.profile, loaded) != 0) {
                chain_release(&chain);
                snprintf(loaded, sizeof loaded, "%s", golden.profile);
                if (!dapple_golden_chain(&chain, golden.profile))
                    chain.layer_count = 0;
            }
            if (chain.layer_count == 0)
                continue;
            golden.problem.chain = &chain;
            check(&golden);
            records++;
        }
        chain_release(&chain);
        doc_release(&golden.doc);
        free(names[i]);
    }
    free(names);
    return records;
}

static void expect(const struct dapple_golden *golden, const char *key, double found)
{
    double expected = dapple_golden_output(golden, key);
    if (isnan(expected) || near(expected, found))
        return;
    fail_msg("%s, batch %lld, %d machines of %d: %s is %.17g, HPGO says %.17g", golden->profile,
             (long long)golden->problem.global_batch, golden->cluster.machine_count,
             dapple_devices(&golden->cluster), key, found, expected);
}

static void check_data_parallel(struct dapple_golden *golden)
{
    struct dapple_data_parallel own = dapple_data_parallel(&golden->problem, false);
    struct dapple_data_parallel paper = dapple_data_parallel(&golden->problem, true);
    expect(golden, "dp_no_overlap", own.plain);
    expect(golden, "dp_overlap", own.overlap);
    expect(golden, "dp_p3", own.priority);
    expect(golden, "dp_p3_inf_mem", own.priority_infinite);
    expect(golden, "dp_p3_opt_ga", own.priority_best);
    expect(golden, "max_single_gpu_bs", own.max_samples);
    expect(golden, "ga_iter", own.window);
    expect(golden, "dp_overlap_dapple", paper.overlap);
    expect(golden, "dp_p3_dapple", paper.priority);
    expect(golden, "dp_p3_opt_ga_dapple", paper.priority_best);
    expect(golden, "ga_iter_dapple", paper.window);
}

static void test_data_parallel(void **state)
{
    (void)state;
    assert_true(for_records(check_data_parallel) > 100);
}

/* HPGO's own stages, scored by us: the devices of each are in the record. */
static void score_recorded(struct dapple_golden *golden)
{
    const struct doc_node *best = doc_find(doc_find(golden->record, "output"), "best");
    if (!best || best->type != DOC_MAP)
        return;
    struct dapple_split plan;
    struct error err;
    const struct doc_node *stages = doc_find(best, "stages");
    assert_true(dapple_split_init(&plan, (int)stages->count, dapple_devices(&golden->cluster), &err));
    plan.replicas = (int)doc_find(best, "rp")->number;
    for (const struct doc_node *node = stages->first_child; node; node = node->next) {
        const struct doc_node *first = node->first_child, *devices = first->next->next->next;
        plan.stages[node->index] =
            (struct dapple_stage){{(int)first->number, (int)first->next->number}, (int)devices->count};
        for (const struct doc_node *device = devices->first_child; device; device = device->next)
            plan.stage_of[(int)device->number] = (int16_t)node->index;
    }
    double expected = doc_find(best, "speedup")->number, found[2];
    for (plan.factor = 1; plan.factor <= 2; plan.factor++) {
        dapple_score(&golden->problem, &plan);
        found[plan.factor - 1] = plan.speedup;
    }
    plan.factor = 1;
    if (!near(found[0], expected) && !near(found[1], expected))
        fail_msg("%s: scored %.17g or %.17g, HPGO says %.17g", golden->profile, found[0], found[1], expected);
    assert_true(dapple_split_check(&golden->problem, &plan, &err));
    dapple_split_release(&plan);
}

static void test_score_of_recorded_plans(void **state)
{
    (void)state;
    assert_true(for_records(score_recorded) > 100);
}

/* Records of a part of the search only are checked by what is in them. */
static bool whole_search(const struct dapple_golden *golden)
{
    const struct doc_node *mode = doc_find(golden->record, "mode");
    return !mode || strcmp(mode->text, "full") == 0;
}

static void check_choice(struct dapple_golden *golden)
{
    struct dapple_split plan;
    struct error err;
    if (!whole_search(golden))
        return;
    if (!dapple_search_hpgo(&golden->problem, &plan, &err)) {
        assert_int_equal(err.kind, ERROR_INFEASIBLE);
        expect(golden, "best_hybrid_speedup", 0);
        return;
    }
    expect(golden, "best_hybrid_speedup", plan.speedup);
    assert_true(dapple_split_check(&golden->problem, &plan, &err));
    dapple_split_release(&plan);
}

static void test_choice(void **state)
{
    (void)state;
    assert_true(for_records(check_choice) > 100);
}

/* The published strategies (PPoPP'21, table of planning results) that a chain of the profiles can show: devices of the
 * stages, and for some the first stage's last layer. */
static const struct published {
    const char *file;
    int batch;
    int stages, first_devices, last_layer; /* -1: any */
} published[] = {
    {"vgg-19-pbs-32.configC.p1.0-n1.25.json", 2048, 2, 15, 16}, /* 13 : 6 */
    {"bert-48-pbs-2.hier8-16.json", 64, 2, 8, -1},
    {"bert-48-pbs-2.flat16.json", 64, 16, 1, -1},
    {"bert-48-pbs-2.configC.p1.0-n1.25.json", 64, 16, 1, -1},
    {"xlnet-36-pbs-1.hier8-16.json", 128, 2, 8, 21}, /* 18 : 18 */
    {"xlnet-36-pbs-1.flat16.json", 128, 2, 8, 21},
    {"xlnet-36-pbs-1.configC.p1.0-n1.25.json", 128, 16, 1, -1},
    {"amoeba-36-pbs-1.hier8-16.json", 128, 2, 8, -1},
    {"amoeba-36-pbs-1.flat16.json", 128, 2, 11, 31}, /* 27 : 9 */
    {"amoeba-36-pbs-1.configC.p1.0-n1.25.json", 128, 2, 11, 31},
    {"gnmt-16-pbs-64.hier8-16.full.json", 1024, 2, 8, -1},
};

static void check_published(const struct published *row, struct dapple_golden *golden)
{
    struct chain chain;
    struct dapple_split plan;
    struct error err;
    dapple_golden_problem(golden);
    if (golden->problem.global_batch != row->batch)
        return;
    assert_true(dapple_golden_chain(&chain, golden->profile));
    golden->problem.chain = &chain;
    assert_true(dapple_search_hpgo(&golden->problem, &plan, &err));
    if (plan.stage_count != row->stages || plan.stages[0].devices != row->first_devices ||
        (row->last_layer >= 0 && plan.stages[0].layers.last != row->last_layer))
        fail_msg("%s: %d stages, the first of layers 0-%d on %d devices", row->file, plan.stage_count,
                 plan.stages[0].layers.last, plan.stages[0].devices);
    golden->problem.chain = NULL;
    dapple_split_release(&plan);
    chain_release(&chain);
}

static void test_published_strategies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct dapple_golden golden;
        if (!dapple_golden_open(&golden, published[i].file))
            skip();
        for (; golden.record; golden.record = golden.record->next)
            check_published(&published[i], &golden);
        doc_release(&golden.doc);
    }
}

/* The exact search on the records, less that of a thousand layers, which takes minutes. */
static void check_optimum(struct dapple_golden *golden)
{
    struct dapple_options options = {.time_limit = 0};
    if (golden->problem.chain->layer_count > 200)
        return;
    struct dapple_split plan;
    struct error err;
    if (!dapple_search_exact(&golden->problem, &options, &plan, &err)) {
        expect(golden, "best_hybrid_speedup", 0);
        return;
    }
    double recorded = dapple_golden_output(golden, "best_hybrid_speedup");
    if (plan.speedup < recorded * (1 - 1e-9))
        fail_msg("%s: %.17g is worse than HPGO's %.17g", golden->profile, plan.speedup, recorded);
    assert_true(plan.proven_optimal);
    assert_true(dapple_split_check(&golden->problem, &plan, &err));
    dapple_split_release(&plan);
}

static void test_optimum_is_never_worse(void **state)
{
    (void)state;
    assert_true(for_records(check_optimum) > 100);
}

/* Better plans of the same objective that an enumeration of up to four stages has found. */
static const struct better {
    const char *file;
    int batch;
    double speedup;
} better[] = {
    {"amoeba-36-pbs-1.flat16.json", 128, 10.3432},
    {"amoeba-36-pbs-1.hier8-16.json", 128, 13.1598},
    {"bert-48-pbs-2.flat16.json", 64, 12.0894},
    {"xlnet-36-pbs-1.flat16.json", 128, 12.7964},
    {"gnmt-32-pbs-64-simplified.flat16.json", 1024, 6.9692},
    {"vgg-19-pbs-32.flat16.json", 2048, 10.5249},
    {"vgg-19-pbs-32.hier8-16.json", 2048, 12.1477},
    {"vgg-19-pbs-32.hier8-16.json", 1024, 10.0020},
    {"bert-48-pbs-2.hier32.bipart.json", 64, 22.0732},
    {"xlnet-36-pbs-1.hier32.bipart.json", 128, 25.8813},
    {"amoeba-36-pbs-1.hier32.bipart.json", 128, 18.1013},
    {"gnmt-32-pbs-64-simplified.hier32.bipart.json", 1024, 11.2585},
};

static void check_better(const struct better *row, struct dapple_golden *golden)
{
    struct chain chain;
    struct dapple_split plan;
    struct dapple_options options = {.time_limit = 0};
    struct error err;
    dapple_golden_problem(golden);
    if (golden->problem.global_batch != row->batch)
        return;
    assert_true(dapple_golden_chain(&chain, golden->profile));
    golden->problem.chain = &chain;
    assert_true(dapple_search_exact(&golden->problem, &options, &plan, &err));
    if (plan.speedup < row->speedup)
        fail_msg("%s: %.6g, but there is a plan of %.6g", row->file, plan.speedup, row->speedup);
    golden->problem.chain = NULL;
    dapple_split_release(&plan);
    chain_release(&chain);
}

static void test_known_better_plans(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof better / sizeof *better; i++) {
        struct dapple_golden golden;
        if (!dapple_golden_open(&golden, better[i].file))
            skip();
        for (; golden.record; golden.record = golden.record->next)
            check_better(&better[i], &golden);
        doc_release(&golden.doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_parallel),
        cmocka_unit_test(test_score_of_recorded_plans),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_published_strategies),
        cmocka_unit_test(test_optimum_is_never_worse),
        cmocka_unit_test(test_known_better_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
