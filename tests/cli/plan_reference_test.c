/* `rehearse plan --objective dapple` on the reference's profiles against what HPGO answered: the whole way, from files to
 * what is printed. The program's path comes in REHEARSE_PROGRAM. */
#include "support/dapple_golden.h"
#include "support/reference.h"

#include "core/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Runs `rehearse plan` on a profile with these options and reads the JSON that it prints. */
static void plan(struct doc *doc, const char *profile, const char *options)
{
    char relative[128], piece[4096];
    struct text command = {0}, output = {0};
    struct error err;
    snprintf(relative, sizeof relative, "hybrid/profiles/%s.txt", profile);
    char *path = reference_path(relative);
    assert_non_null(path);
    text_format(&command, "'%s' plan -p '%s' --objective dapple --json %s", getenv("REHEARSE_PROGRAM"), path,
                options);
    assert_false(command.failed);
    FILE *pipe = popen(command.data, "r"); /* NOLINT(bugprone-command-processor): the program under test */
    assert_non_null(pipe);
    for (size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;)
        text_add_bytes(&output, piece, got);
    assert_int_equal(pclose(pipe), 0);
    assert_false(output.failed);
    if (!doc_parse(doc, DOC_JSON, "output", output.data, output.length, &err))
        fail_msg("%s: %s", command.data, err.text);
    text_release(&command);
    text_release(&output);
    free(path);
}

static double number_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = doc_find(map, key);
    return node && node->type == DOC_NUMBER ? node->number : NAN;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* Every batch of the golden file in one sweep; all its records are of one profile and one cluster. */
static void sweep(struct dapple_golden *golden, const char *cluster, const char *search, struct doc *doc)
{
    struct text options = {0};
    dapple_golden_problem(golden);
    text_format(&options,
                "-c %s --search %s --profile-batch %.0f --microbatch-size %lld --state-factor %.17g "
                "--sample-memory %.0f --global-batch ",
                cluster, search, golden->problem.profile_batch, (long long)golden->problem.microbatch,
                golden->problem.state_factor, golden->problem.sample_memory);
    for (const struct doc_node *record = golden->record; record; record = record->next)
        text_format(&options, "%s%.0f", record == golden->record ? "" : ",",
                    number_of(doc_find(record, "input"), "gbs"));
    assert_false(options.failed);
    plan(doc, golden->profile, options.data);
    text_release(&options);
}

static const struct doc_node *find_point(const struct doc *doc, double batch)
{
    const struct doc_node *point = doc_find(doc->root, "points")->first_child;
    while (point && number_of(point, "global_batch") != batch)
        point = point->next;
    assert_non_null(point);
    return point;
}

static void compare(const struct doc_node *point, const char *key, double expected, const char *profile)
{
    double found = number_of(point, key);
    if (!isnan(expected) && !near(found, expected))
        fail_msg("%s, batch %.0f: %s is %.17g, HPGO says %.17g", profile, number_of(point, "global_batch"),
                 key, found, expected);
}

static const char *const profiles[] = {"amoeba-36-pbs-1", "bert-48-pbs-2", "vgg-19-pbs-32",
                                       "gnmt-32-pbs-64-simplified", "xlnet-36-pbs-1"};

enum { PROFILES = sizeof profiles / sizeof *profiles };

typedef void check_file(struct dapple_golden *golden, const char *cluster);

/* On two machines of eight and on 16 of one. */
static void for_profiles(check_file *check)
{
    static const char *const clusters[][2] = {{"hier8-16", "examples/dapple/a.yaml"},
                                              {"flat16", "examples/dapple/b.yaml"}};
    for (int i = 0; i < 2 * PROFILES; i++) {
        char name[128];
        struct dapple_golden golden;
        snprintf(name, sizeof name, "%s.%s.json", profiles[i / 2], clusters[i % 2][0]);
        if (!dapple_golden_open(&golden, name))
            skip();
        check(&golden, clusters[i % 2][1]);
        doc_release(&golden.doc);
    }
}

static void check_hpgo(struct dapple_golden *golden, const char *cluster)
{
    struct doc doc;
    sweep(golden, cluster, "hpgo", &doc);
    for (; golden->record; golden->record = golden->record->next) {
        const struct doc_node *point = find_point(&doc, number_of(doc_find(golden->record, "input"), "gbs"));
        double speedup = dapple_golden_output(golden, "best_hybrid_speedup");
        if (speedup == 0) { /* HPGO's for a batch without a micro-batch */
            assert_non_null(doc_find(point, "reason"));
            continue;
        }
        compare(point, "speedup", speedup, golden->profile);
        compare(point, "data_parallel", dapple_golden_output(golden, "dp_no_overlap"), golden->profile);
        compare(point, "data_parallel_overlap", dapple_golden_output(golden, "dp_overlap"), golden->profile);
        compare(point, "data_parallel_priority", dapple_golden_output(golden, "dp_p3"), golden->profile);
    }
    doc_release(&doc);
}

static void test_hpgo_gives_the_recorded_values(void **state)
{
    (void)state;
    for_profiles(check_hpgo);
}

static void check_exact(struct dapple_golden *golden, const char *cluster)
{
    struct doc doc;
    sweep(golden, cluster, "exact", &doc);
    for (; golden->record; golden->record = golden->record->next) {
        const struct doc_node *point = find_point(&doc, number_of(doc_find(golden->record, "input"), "gbs"));
        double recorded = dapple_golden_output(golden, "best_hybrid_speedup");
        if (recorded == 0)
            continue;
        if (!(number_of(point, "speedup") >= recorded * (1 - 1e-9)))
            fail_msg("%s, batch %.0f: worse than HPGO's %.17g", golden->profile,
                     number_of(point, "global_batch"), recorded);
        assert_true(number_of(point, "gap") < 1e-9);
    }
    doc_release(&doc);
}

static void test_exact_is_never_worse(void **state)
{
    (void)state;
    for_profiles(check_exact);
}

/* The published strategies (PPoPP'21, table of planning results): devices of the stages. */
static const struct published {
    const char *profile, *cluster;
    int batch, microbatch;
    int stages, first_devices, last_layer; /* -1: any */
} published[] = {
    {"vgg-19-pbs-32", "c", 2048, 32, 2, 15, 16}, {"bert-48-pbs-2", "a", 64, 1, 2, 8, -1},
    {"bert-48-pbs-2", "b", 64, 1, 16, 1, -1},    {"bert-48-pbs-2", "c", 64, 1, 16, 1, -1},
    {"xlnet-36-pbs-1", "a", 128, 1, 2, 8, 21},   {"xlnet-36-pbs-1", "b", 128, 1, 2, 8, 21},
    {"xlnet-36-pbs-1", "c", 128, 1, 16, 1, -1},  {"amoeba-36-pbs-1", "a", 128, 1, 2, 8, -1},
    {"amoeba-36-pbs-1", "b", 128, 1, 2, 11, 31}, {"amoeba-36-pbs-1", "c", 128, 1, 2, 11, 31},
};

static void test_published_strategies(void **state)
{
    (void)state;
    char *there = reference_path("hybrid/profiles");
    if (!there)
        skip();
    free(there);
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const struct published *row = &published[i];
        char options[256];
        struct doc doc;
        snprintf(options, sizeof options,
                 "-c examples/dapple/%s.yaml --search hpgo --global-batch %d --microbatch-size %d",
                 row->cluster, row->batch, row->microbatch);
        plan(&doc, row->profile, options);
        const struct doc_node *pipeline = doc_find(doc.root, "pipelines")->first_child;
        const struct doc_node *stages = doc_find(pipeline, "stages"), *first = stages->first_child;
        double devices = number_of(pipeline, "copies") * number_of(first, "data");
        double last_layer = doc_find(first, "layers")->first_child->next->number;
        if ((int)stages->count != row->stages || devices != row->first_devices ||
            (row->last_layer >= 0 && last_layer != row->last_layer))
            fail_msg("%s on %s: %u stages, the first of %.0f layers on %.0f devices", row->profile,
                     row->cluster, stages->count, last_layer + 1, devices);
        doc_release(&doc);
    }
}

/* Better plans of the same objective on 32 devices, where HPGO's are slower than on 16. */
static void test_better_plans_on_more_devices(void **state)
{
    (void)state;
    static const struct {
        const char *profile;
        int batch, microbatch;
        double speedup;
    } rows[] = {{"bert-24-pbs-6", 64, 1, 21.416},
                {"bert-48-pbs-2", 64, 1, 22.0732},
                {"xlnet-36-pbs-1", 128, 1, 25.8813},
                {"amoeba-36-pbs-1", 128, 1, 18.1013}};
    char *there = reference_path("hybrid/profiles");
    if (!there)
        skip();
    free(there);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char options[256];
        struct doc doc;
        snprintf(
            options, sizeof options,
            "-c examples/dapple/a.yaml --devices 32 --global-batch %d --microbatch-size %d --time-limit 20",
            rows[i].batch, rows[i].microbatch);
        plan(&doc, rows[i].profile, options);
        double found = number_of(doc_find(doc.root, "figures"), "speedup");
        if (found < rows[i].speedup * (1 - 1e-4))
            fail_msg("%s: %.6f, and %.6f is known", rows[i].profile, found, rows[i].speedup);
        doc_release(&doc);
    }
}

/* DAPPLE plans models that do not fit (AmoebaNet-36 with fifty bytes of state for each of weights); ours says so, and
 * the corrected rules refuse. */
static void test_memory_that_is_not_there(void **state)
{
    (void)state;
    char *there = reference_path("hybrid/profiles");
    if (!there)
        skip();
    free(there);
    struct doc doc;
    plan(&doc, "amoeba-36-pbs-1",
         "-c examples/dapple/a.yaml --search hpgo --state-factor 50 --global-batch 4096 --devices 8,16");
    const struct doc_node *point = doc_find(doc.root, "points")->first_child->next;
    assert_true(fabs(number_of(point, "speedup") - 15.35) < 0.01);
    assert_false(doc_find(point, "fits")->boolean);
    doc_release(&doc);
    plan(&doc, "amoeba-36-pbs-1",
         "-c examples/dapple/a.yaml --rules dapple-fixed --state-factor 5 --global-batch "
         "128 --devices 8,16");
    for (point = doc_find(doc.root, "points")->first_child; point; point = point->next)
        assert_true(doc_find(point, "fits")->boolean && number_of(point, "memory") <= 16e9);
    doc_release(&doc);
}

/* GNMT-32 as measured has more cuts than HPGO's import ends on; GNMT-16 has 1,495. */
static void test_branchy_graphs(void **state)
{
    (void)state;
    char *there = reference_path("hybrid/profiles");
    if (!there)
        skip();
    free(there);
    struct doc doc;
    plan(&doc, "gnmt-32-pbs-64",
         "-c examples/dapple/a.yaml --import rehearse --global-batch 1024 --microbatch-size 64");
    assert_true(number_of(doc_find(doc.root, "figures"), "speedup") > 9.642 &&
                doc_find(doc.root, "proven_optimal")->boolean);
    doc_release(&doc);
    plan(&doc, "gnmt-16-pbs-64",
         "-c examples/dapple/a.yaml --search hpgo --global-batch 1024 --microbatch-size 64");
    assert_true(near(number_of(doc_find(doc.root, "figures"), "speedup"), 9.391472563588021));
    doc_release(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hpgo_gives_the_recorded_values),
        cmocka_unit_test(test_exact_is_never_worse),
        cmocka_unit_test(test_published_strategies),
        cmocka_unit_test(test_better_plans_on_more_devices),
        cmocka_unit_test(test_memory_that_is_not_there),
        cmocka_unit_test(test_branchy_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
