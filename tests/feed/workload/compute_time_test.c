/* The compute times of the VLDB study. */
#include "feed/workload/compute_time.h"

#include "core/doc.h"
#include "support/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct distribution model(enum workload_computation_model which, double gpus, double batch)
{
    struct distribution time = {0};
    struct error err = {0};
    if (!compute_time_model(which, gpus, batch, &time, &err))
        fail_msg("%s", err.text);
    return time;
}

static struct distribution step(const char *workload_name, const char *const *overrides, int count,
                                int64_t accelerators)
{
    struct workload workload;
    struct workload_options options = {.overrides = overrides, .override_count = count};
    struct distribution time = {0};
    struct error err = {0};
    if (!workload_open(&workload, workload_name, &options, &err) ||
        !compute_time_of_step(&workload, accelerators, &time, &err))
        fail_msg("%s", err.text);
    workload_release(&workload);
    return time;
}

/* By hand: 0.00211888 x 8 + 0.27448834 x 4 + 0.27738914. */
static void unet3d_on_eight_gpus(void **state)
{
    struct distribution time = step("vldb_unet3d", NULL, 0, 1);
    (void)state;
    assert_int_equal(time.type, DISTRIBUTION_NORMAL);
    assert_true(fabs(time.first - 1.39229354) < 1e-12);
    assert_true(fabs(time.second - 0.03843657) < 1e-12); /* 0.00429292 x 8 + 0.00705136 x 4 - 0.02411223 */
}

/* 0.00429292 + 0.00705136 - 0.02411223 < 0. */
static void a_deviation_below_zero_makes_it_constant(void **state)
{
    struct distribution time = model(WORKLOAD_COMPUTATION_VLDB_UNET3D, 1, 1);
    (void)state;
    assert_int_equal(time.type, DISTRIBUTION_CONSTANT);
    assert_true(fabs(time.first - 0.55399636) < 1e-12);
}

static void bert_has_its_own_plane(void **state)
{
    struct distribution time = model(WORKLOAD_COMPUTATION_VLDB_BERT, 8, 6);
    (void)state;
    assert_true(fabs(time.first - (0.00622823 * 8 + 0.11688357 * 6 + 0.32936323)) < 1e-12);
    assert_true(fabs(time.second - (0.004484 * 8 - 0.00128301 * 6 + 0.00966926)) < 1e-12);
}

/* The study: mean error 14.9 %, worst 45.8 % at one GPU and 2048. */
static void dlrm_s_plane_is_as_far_off_as_the_study_says(void **state)
{
    static const double gpus[] = {1, 2, 4, 6, 8};
    double sum = 0, worst = 0;
    int count = 0;
    (void)state;
    for (int g = 0; g < 5; g++)
        for (double batch = 2048; batch <= (g == 0 ? 65536 : 131072); batch *= 2) {
            double measured = model(WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE, gpus[g], batch).first;
            double plane = model(WORKLOAD_COMPUTATION_VLDB_DLRM, gpus[g], batch).first;
            double error = fabs(plane - measured) / measured;
            worst = fmax(worst, error);
            sum += error;
            count++;
        }
    assert_int_equal(count, 34);
    assert_true(fabs(sum / count - 0.149) < 0.002);
    assert_true(fabs(worst - 0.458) < 0.002);
}

static void the_table_is_that_of_the_study(void **state)
{
    char *path = reference_path("feed/golden/ref_dlrm_sleep_times.json");
    struct doc doc;
    struct error err = {0};
    (void)state;
    if (!path)
        skip();
    assert_true(doc_load(&doc, path, &err));
    for (const struct doc_node *gpus = doc.root->first_child; gpus; gpus = gpus->next)
        for (const struct doc_node *row = gpus->first_child; row; row = row->next) {
            double batch = strcmp(row->key, "130712") == 0 ? 131072 : atof(row->key);
            struct distribution time = model(WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE, atof(gpus->key), batch);
            assert_true(fabs(time.first - doc_find(row, "mean")->number) < 1e-6);
            assert_true(fabs(time.second - doc_find(row, "std")->number) < 1e-6);
        }
    doc_release(&doc);
    free(path);
}

/* Halfway between two batches' logarithms lies the geometric mean of the times; halfway between GPUs the plain one. */
static void the_table_is_interpolated(void **state)
{
    double low = model(WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE, 2, 2048).first;
    double high = model(WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE, 2, 8192).first;
    double four = model(WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE, 4, 65536).first;
    double six = model(WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE, 6, 65536).first;
    (void)state;
    double between = model(WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE, 2, 2048 * sqrt(2)).first;
    double next = model(WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE, 2, 4096).first;
    assert_true(fabs(between - sqrt(low * next)) < 1e-9);
    assert_true(low < next && next < high);
    assert_true(fabs(model(WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE, 5, 65536).first - (four + six) / 2) < 1e-9);
}

static void outside_the_table_is_an_error(void **state)
{
    static const double asked[][2] = {{9, 2048}, {0.5, 2048}, {4, 1024}, {4, 262144}, {1, 131072}};
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct distribution time;
        struct error err = {0};
        assert_false(
            compute_time_model(WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE, asked[i][0], asked[i][1], &time, &err));
        assert_non_null(strstr(err.text, "vldb_dlrm has a formula"));
    }
}

/* One process reads DLRM's batch for all GPUs; two read twice as much. */
static void dlrm_s_batch_is_global(void **state)
{
    static const char *const half[] = {"reader.batch_size=16384"};
    (void)state;
    assert_true(step("vldb_dlrm", NULL, 0, 1).first == model(WORKLOAD_COMPUTATION_VLDB_DLRM, 8, 32768).first);
    assert_true(step("vldb_dlrm", half, 1, 2).first == model(WORKLOAD_COMPUTATION_VLDB_DLRM, 8, 32768).first);
    assert_true(step("vldb_dlrm_sleep", NULL, 0, 1).first ==
                model(WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE, 8, 32768).first);
}

static void without_num_gpus_the_accelerators_count(void **state)
{
    static const char *const none[] = {"num_gpus=0"};
    (void)state;
    assert_true(step("vldb_bert", none, 1, 4).first == model(WORKLOAD_COMPUTATION_VLDB_BERT, 4, 6).first);
}

static void a_configured_time_stays(void **state)
{
    (void)state;
    assert_true(step("unet3d_h100", NULL, 0, 8).first == 0.323);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(unet3d_on_eight_gpus),
        cmocka_unit_test(a_deviation_below_zero_makes_it_constant),
        cmocka_unit_test(bert_has_its_own_plane),
        cmocka_unit_test(dlrm_s_plane_is_as_far_off_as_the_study_says),
        cmocka_unit_test(the_table_is_that_of_the_study),
        cmocka_unit_test(the_table_is_interpolated),
        cmocka_unit_test(outside_the_table_is_an_error),
        cmocka_unit_test(dlrm_s_batch_is_global),
        cmocka_unit_test(without_num_gpus_the_accelerators_count),
        cmocka_unit_test(a_configured_time_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
