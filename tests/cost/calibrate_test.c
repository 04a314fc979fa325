/* Fitting matrix products: known parameters come back, tables are read strictly, what is written reads back, and
 * published tables are fitted well on rows that a fit did not see. */
#include "cost/calibrate/gemm.h"
#include "cost/gemm.h"
#include "cost/gemm_near.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "devices/tables.h"
#include "support/reference.h"
#include "support/sanitizer.h"

static const int64_t sizes[] = {64, 320, 1024, 2304, 8192};
#define SIZES (sizeof sizes / sizeof *sizes)

/* A device like A100, whose products are known to be other. */
static struct cost_device known_device(void)
{
    struct cost_device device = *tables_device(NULL, "a100");
    struct gemm_parameters *gemm = &device.gemm[COST_BF16];
    gemm->efficiency *= 0.7;
    gemm->memory *= 0.8;
    gemm->floor *= 2;
    gemm->start *= 1.5;
    return device;
}

/* Its table as programs write it; `backward`: last row first. */
static void write_table(struct text *table, const struct cost_device *device, bool backward)
{
    text_add(table, "gpu,dtype,m,n,k,time_us\n");
    for (size_t i = 0; i < SIZES * SIZES * SIZES; i++) {
        size_t row = backward ? SIZES * SIZES * SIZES - 1 - i : i;
        int64_t m = sizes[row % SIZES];
        int64_t n = sizes[row / SIZES % SIZES];
        int64_t k = sizes[row / SIZES / SIZES];
        text_format(table, "here,bf16,%d,%d,%d,%.9g\n", (int)m, (int)n, (int)k,
                    1e6 * gemm_time(device, COST_BF16, (struct product_size){1, m, n, k}).seconds);
    }
    assert_false(table->failed);
}

static bool read_table(struct gemm_samples *samples, const char *text, const char *device, struct error *err)
{
    struct csv csv;
    if (!csv_parse(&csv, "table.csv", text, strlen(text), err))
        fail_msg("%s", err->text);
    bool read = gemm_samples_read(samples, &csv, device, COST_BF16, err);
    csv_release(&csv);
    return read;
}

static void fit_table(struct gemm_fit *fit, const struct cost_device *device, bool backward)
{
    struct text table = {0};
    struct gemm_samples samples;
    struct error err;
    write_table(&table, device, backward);
    assert_true(read_table(&samples, table.data, NULL, &err));
    text_release(&table);
    if (!gemm_fit_samples(fit, &samples, tables_device(NULL, "a100"), &err))
        fail_msg("%s", err.text);
    gemm_samples_release(&samples);
}

/* ---- fitting ---- */

static void known_parameters_come_back(void **state)
{
    struct cost_device device = known_device();
    struct gemm_fit fit;
    (void)state;
    fit_table(&fit, &device, false);
    assert_int_equal(fit.types[COST_BF16].rows, SIZES * SIZES * SIZES);
    assert_true(fit.types[COST_BF16].mean < 0.02);
    /* sizes that the table does not hold */
    for (int64_t m = 200; m <= 6000; m *= 3)
        for (int64_t n = 500; n <= 6000; n *= 2)
            assert_float_equal(
                gemm_time(&fit.device, COST_BF16, (struct product_size){1, m, n, 3000}).seconds /
                    gemm_time(&device, COST_BF16, (struct product_size){1, m, n, 3000}).seconds,
                1, 0.06);
}

static void the_order_of_rows_does_not_matter(void **state)
{
    struct cost_device device = known_device();
    struct gemm_fit forward, backward;
    (void)state;
    fit_table(&forward, &device, false);
    fit_table(&backward, &device, true);
    assert_memory_equal(&forward.device.gemm, &backward.device.gemm, sizeof forward.device.gemm);
    assert_true(forward.types[COST_BF16].mean == backward.types[COST_BF16].mean);
}

/* A100 has parameters of bf16 alone, H100 of tf32 too. */
static void types_without_rows_follow_the_nearest_or_keep_their_own(void **state)
{
    struct cost_device device = known_device();
    const struct cost_device *start = tables_device(NULL, "h100");
    struct gemm_samples samples;
    struct gemm_fit fit;
    struct text table = {0};
    struct error err;
    (void)state;
    fit_table(&fit, &device, false);
    assert_int_equal(fit.types[COST_FP16].rows, 0);
    assert_memory_equal(&fit.device.gemm[COST_FP16], &fit.device.gemm[COST_BF16], sizeof *fit.device.gemm);
    write_table(&table, &device, false);
    assert_true(read_table(&samples, table.data, NULL, &err));
    assert_true(gemm_fit_samples(&fit, &samples, start, &err));
    assert_memory_equal(&fit.device.gemm[COST_TF32], &start->gemm[COST_TF32], sizeof *start->gemm);
    gemm_samples_release(&samples);
    text_release(&table);
}

/* Measured at twice the peak: a fit does not believe it for products larger than those of the table. */
static void no_fit_passes_the_peak(void **state)
{
    struct cost_device device = *tables_device(NULL, "a100");
    struct gemm_fit fit;
    (void)state;
    device.gemm[COST_BF16].efficiency = 2;
    device.gemm[COST_BF16].small_tile = 1;
    fit_table(&fit, &device, false);
    double seconds = gemm_time(&fit.device, COST_BF16, (struct product_size){1, 16384, 16384, 16384}).seconds;
    assert_true(2 * pow(16384, 3) / seconds <= 1.01 * fit.device.peak[COST_BF16]);
}

/* ---- the written file ---- */

static void a_written_device_reads_back(void **state)
{
    struct cost_device device = known_device();
    struct table table;
    struct gemm_fit fit;
    struct text text = {0};
    struct error err;
    (void)state;
    fit_table(&fit, &device, false);
    gemm_fit_write(&fit, "mine \"here\"", "table.csv", &text);
    assert_false(text.failed);
    if (!tables_parse(&table, TABLE_DEVICES, "mine.yaml", text.data, text.length, &err))
        fail_msg("%s", err.text);
    const struct cost_device *read = &table.devices[0];
    assert_string_equal(read->name, "mine \"here\"");
    assert_string_equal(read->generation, device.generation);
    assert_string_equal(read->link, device.link);
    assert_non_null(strstr(read->fitted, "table.csv"));
    assert_non_null(strstr(read->fitted, "125 rows"));
    assert_int_equal(read->memory, device.memory);
    assert_int_equal(read->l2, device.l2);
    for (int t = 0; t < COST_TYPE_COUNT; t++) {
        assert_true(read->peak[t] == device.peak[t]);
        for (int64_t size = 16; size <= 16384; size *= 4)
            assert_float_equal(
                gemm_time(read, (enum cost_type)t, (struct product_size){1, size, size, size}).seconds /
                    gemm_time(&fit.device, (enum cost_type)t, (struct product_size){1, size, size, size})
                        .seconds,
                1, 1e-4);
    }
    table_release(&table);
    text_release(&text);
}

/* ---- tables ---- */

static void refused(const char *text, const char *device, const char *message)
{
    struct gemm_samples samples;
    struct error err;
    assert_false(read_table(&samples, text, device, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(samples.count, 0);
    assert_null(samples.samples);
}

static void bad_tables_are_refused_with_their_place(void **state)
{
    (void)state;
    refused("m,n,time_us\n1,2,3\n", NULL, "table.csv:1: no column 'k'");
    refused("m,n,k\n1,2,3\n", NULL,
            "table.csv: expected a column 'time_us', 'time_ms', 'seconds' or 'flops_per_sec'");
    refused("m,n,k,time_us\n8,8,8,2\n8,0,8,2\n", NULL,
            "table.csv:3: n: expected a number from 1 to 1.09951e+12, found '0'");
    refused("m,n,k,time_us\n8,8,1.5,2\n", NULL, "table.csv:2: k: expected a whole number, found '1.5'");
    refused("m,n,k,time_us\n8,8,8,fast\n", NULL,
            "table.csv:2: time_us: expected a number from 1e-12 to 1e+24, found 'fast'");
    refused("m,n,k,time_us\n8,8,8,-1\n", NULL,
            "table.csv:2: time_us: expected a number from 1e-12 to 1e+24, found '-1'");
    refused("gpu,m,n,k,time_us\na,8,8,8,2\nb,8,8,8,2\n", NULL,
            "table.csv:3: gpu: a second device, 'b' besides 'a': say which is meant");
}

static void tables_are_read_by_the_names_of_columns(void **state)
{
    struct gemm_samples samples;
    struct error err;
    (void)state;
    assert_true(read_table(&samples,
                           "flops_per_sec,k,n,m,batch,dtypes,device\n"
                           "1e12,4,3,2,5,bf16xbf16->f32,h\n"
                           "1e12,4,3,2,5,f32xf32->f32,h\n"
                           "1e12,4,3,2,5,int3,h\n"
                           "1e12,4,3,2,5,bf16,other\n",
                           "h", &err));
    assert_int_equal(samples.count, 2);
    assert_int_equal(samples.skipped, 2);
    assert_int_equal(samples.samples[0].type, COST_BF16);
    assert_int_equal(samples.samples[1].type, COST_TF32);
    assert_int_equal(samples.samples[0].size.m, 2);
    assert_int_equal(samples.samples[0].size.n, 3);
    assert_int_equal(samples.samples[0].size.k, 4);
    assert_float_equal(samples.samples[0].seconds * 1e12, 2 * 5 * 2 * 3 * 4, 1e-9);
    gemm_samples_release(&samples);
    assert_true(read_table(&samples, "m,n,k,time_ms\n1,2,3,4\n", NULL, &err));
    assert_float_equal(samples.samples[0].seconds, 4e-3, 1e-15);
    assert_int_equal(samples.samples[0].size.batch, 1);
    gemm_samples_release(&samples);
}

static void too_few_rows_are_refused(void **state)
{
    struct gemm_samples samples;
    struct gemm_fit fit;
    struct error err;
    (void)state;
    assert_true(read_table(&samples, "m,n,k,time_us\n64,64,64,2\n", NULL, &err));
    assert_false(gemm_fit_samples(&fit, &samples, tables_device(NULL, "a100"), &err));
    assert_string_equal(err.text,
                        "table.csv: expected at least 20 rows of types that 'a100-80gb' multiplies, "
                        "found 1 rows in all");
    gemm_samples_release(&samples);
}

/* ---- against measurements ---- */

static bool fit_published(struct gemm_fit *fit, const char *relative, const char *rows, const char *device)
{
    struct gemm_samples samples;
    struct error err;
    struct csv csv;
    char *path = reference_path(relative);
    if (!path)
        return false;
    bool loaded = csv_load(&csv, path, &err);
    free(path);
    if (!loaded || !gemm_samples_read(&samples, &csv, rows, COST_BF16, &err))
        fail_msg("%s", err.text);
    csv_release(&csv);
    int kept = 0; /* 8-bit rows take the most time and have no bar */
    for (int i = 0; i < samples.count; i++)
        if (samples.samples[i].type != COST_FP8)
            samples.samples[kept++] = samples.samples[i];
    samples.count = kept;
    if (!gemm_fit_samples(fit, &samples, tables_device(NULL, device), &err))
        fail_msg("%s", err.text);
    gemm_samples_release(&samples);
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        if (fit->types[t].rows > 0)
            print_message("# %s, %s: %d products, left out: median %.1f %%, mean %.1f %%\n", rows,
                          cost_type_name((enum cost_type)t), fit->types[t].rows, 100 * fit->types[t].median,
                          100 * fit->types[t].mean);
    return true;
}

static void published_products_left_out_of_the_fit_are_predicted(void **state)
{
    struct gemm_fit hopper, blackwell, ampere;
    (void)state;
    if (SEARCH_STEP > 1 || !fit_published(&hopper, "cost/tables/matmul_perf_table.csv", "sm_90", "h100") ||
        !fit_published(&blackwell, "cost/tables/matmul_perf_table.csv", "sm_100_B200", "b200") ||
        !fit_published(&ampere, "cost/tables/gemm_training_shapes.csv", "a100_sxm", "a100"))
        skip();
    const struct error_score *bf16[] = {&hopper.types[COST_BF16], &blackwell.types[COST_BF16],
                                        &ampere.types[COST_BF16]};
    for (size_t i = 0; i < 3; i++) {
        assert_true(bf16[i]->median <= 0.04);
        assert_true(bf16[i]->mean <= 0.06);
    }
    /* Hopper's tf32 rows are of two families of kernels: equal work in other batches takes up to twice as long. */
    const struct error_score *a = &hopper.types[COST_TF32];
    const struct error_score *b = &blackwell.types[COST_TF32];
    assert_true((a->rows * a->mean + b->rows * b->mean) / (a->rows + b->rows) <= 0.12);
    assert_true(a->mean <= 0.15);
}

/* ---- twenty products ---- */

#define FEW 20

static double error_on(const struct cost_device *device, const struct gemm_sample *s)
{
    return fabs(gemm_time_near(device, s->type, s->size, 0, NULL).seconds / s->seconds - 1);
}

/* A card at nine tenths of the pace of its kind is found out by a few products, and its other products follow. */
static void a_pace_comes_back(void **state)
{
    const struct cost_device *known = tables_device(NULL, "h100");
    struct cost_device slow = *known;
    struct gemm_sample rows[FEW];
    struct gemm_samples samples = {.path = "few.csv", .count = FEW, .samples = rows};
    struct gemm_fit fit;
    struct error err;
    (void)state;
    slow.pace = 0.9;
    for (int i = 0; i < FEW; i++) {
        rows[i] =
            (struct gemm_sample){COST_BF16, {1, 256 << i % 5, 1024 * (1 + i % 7), 512 * (1 + i % 9)}, 0};
        rows[i].seconds =
            gemm_time_near(&slow, COST_BF16,
                           (struct product_size){1, rows[i].size.m, rows[i].size.n, rows[i].size.k}, 0, NULL)
                .seconds;
    }
    if (!gemm_fit_samples(&fit, &samples, known, &err))
        fail_msg("%s", err.text);
    assert_true(fit.is_paced);
    assert_float_equal(fit.device.pace, 0.9, 0.01);
    assert_int_equal(fit.types[COST_BF16].rows, FEW);
    assert_true(fit.types[COST_BF16].mean < 0.02);
    assert_memory_equal(&fit.device.gemm, &known->gemm,
                        sizeof known->gemm); /* the known products still count */
}

/* Twenty rows of another lab's table, drawn by their place, and what is promised of the others. Returns false if the table is absent. */
static bool promise_of(const char *rows, const char *device, double *promised, double *shown, double *before)
{
    struct gemm_samples all;
    struct error err;
    struct csv csv;
    char *path = reference_path("cost/tables/matmul_perf_table.csv");
    if (!path)
        return false;
    bool loaded = csv_load(&csv, path, &err);
    free(path);
    if (!loaded || !gemm_samples_read(&all, &csv, rows, COST_BF16, &err) ||
        !gemm_samples_take_off(&all, 2.7e-6, &err))
        fail_msg("%s", err.text);
    csv_release(&csv);
    int count = 0;
    for (int i = 0; i < all.count; i++)
        if (all.samples[i].type == COST_BF16)
            all.samples[count++] = all.samples[i];
    *promised = *shown = *before = 0;
    const int draws = count / FEW;
    for (int draw = 0; draw < draws; draw++) {
        struct gemm_sample drawn[FEW];
        struct gemm_samples few = {.path = "few.csv", .count = FEW, .samples = drawn};
        struct gemm_fit fit;
        double sum = 0, known = 0;
        for (int i = 0; i < FEW; i++)
            drawn[i] = all.samples[draw + i * draws];
        if (!gemm_fit_samples(&fit, &few, tables_device(NULL, device), &err))
            fail_msg("%s", err.text);
        for (int i = 0; i < count; i++)
            if (i % draws != draw || i >= FEW * draws) {
                sum += error_on(&fit.device, &all.samples[i]) / (count - FEW);
                known += error_on(tables_device(NULL, device), &all.samples[i]) / (count - FEW);
            }
        *promised += fit.types[COST_BF16].mean / draws;
        *shown += sum / draws;
        *before += known / draws;
    }
    print_message("# %s: %d draws of 20 of %d products: mean error promised %.1f %%, of the others %.1f %%, "
                  "before %.1f %%\n",
                  rows, draws, count, 100 * *promised, 100 * *shown, 100 * *before);
    gemm_samples_release(&all);
    return true;
}

static void the_promise_of_twenty_products_holds_on_the_others(void **state)
{
    static const char *const tables[][2] = {{"sm_90", "h100"}, {"sm_100_B200", "b200"}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        double promised, shown, before;
        if (!promise_of(tables[i][0], tables[i][1], &promised, &shown, &before))
            skip();
        assert_true(promised > 0.8 * shown && promised < 1.25 * shown);
        assert_true(shown < 1.1 * before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_parameters_come_back),
        cmocka_unit_test(the_order_of_rows_does_not_matter),
        cmocka_unit_test(types_without_rows_follow_the_nearest_or_keep_their_own),
        cmocka_unit_test(no_fit_passes_the_peak),
        cmocka_unit_test(a_written_device_reads_back),
        cmocka_unit_test(bad_tables_are_refused_with_their_place),
        cmocka_unit_test(tables_are_read_by_the_names_of_columns),
        cmocka_unit_test(too_few_rows_are_refused),
        cmocka_unit_test(a_pace_comes_back),
        cmocka_unit_test(the_promise_of_twenty_products_holds_on_the_others),
        cmocka_unit_test(published_products_left_out_of_the_fit_are_predicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
