/* Measured runs of pipeline schedules against their simulation, and tables of them that are wrong. */
#include "evidence/schedules.h"
#include "support/reference.h"
#include "support/sanitizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct schedule_errors score(const struct schedule_runs *runs, enum schedule_measure measure)
{
    struct schedule_errors errors;
    struct error err;
    if (!schedule_runs_score(runs, NULL, measure, &errors, &err))
        fail_msg("%s", err.text);
    return errors;
}

/* Nothing is fitted to a row: the limits are those that a simulator should reach. NULL: the table that comes with the program. */
static void check_table(const char *path)
{
    struct schedule_runs runs;
    struct error err;
    if (!(path ? schedule_runs_load(&runs, path, &err) : schedule_runs_load_known(&runs, &err)))
        fail_msg("%s", err.text);
    if (GOLDEN_STEP > 1) /* searches of orders are slow below a sanitizer */
        runs.count = 4;
    if (!schedule_runs_play(&runs, tables_device(NULL, "a100-80gb"), tables_link(NULL, "ib-200g"),
                            software_find("megatron-2022"), &err))
        fail_msg("%s", err.text);
    struct schedule_errors rate = score(&runs, SCHEDULE_RATE), ratio = score(&runs, SCHEDULE_RATIO),
                           memory = score(&runs, SCHEDULE_MEMORY);
    print_message(
        "%s: %d runs: rate relative to 1F1B median error %.2f %%, worst %.2f %%; absolute median %.2f %%; "
        "memory relative to 1F1B median %.2f %%\n",
        path ? path : "data/schedules.csv", rate.count, 100 * ratio.median, 100 * ratio.worst,
        100 * rate.median, 100 * memory.median);
    schedule_runs_release(&runs);
    if (GOLDEN_STEP > 1)
        return;
    assert_true(rate.count >= 48 && ratio.count >= 36);
    assert_true(ratio.median <= 0.025 && ratio.worst <= 0.06);
    assert_true(rate.median <= 0.05);
    assert_true(memory.median <= 0.05);
}

static void the_shipped_table(void **state)
{
    (void)state;
    check_table(NULL);
}

static void the_reference(void **state)
{
    (void)state;
    char *path = reference_path("training/simulate/schedule_throughput_measured.csv");
    if (!path)
        skip();
    check_table(path);
    free(path);
}

#define HEAD                                                                                                 \
    "model,layers,hidden,heads,sequence,stages,microbatches,microbatch_size,schedule,chunks_per_stage,"      \
    "forward_us,"                                                                                            \
    "backward_input_us,backward_weight_us,send_us,measured_samples_per_s_per_gpu,measured_memory_gb,times_"  \
    "of\n"
#define ROW(layers, schedule, forward, rate, of)                                                             \
    "small," layers ",1024,16,1024,4,8,2," schedule ",1," forward ",1000,500,10," rate ",10," of "\n"

static char path[] = "/tmp/rehearse-schedules-XXXXXX";

static void write_table(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expect_error(const char *text, const char *message)
{
    struct schedule_runs runs;
    struct error err;
    write_table(text);
    assert_false(schedule_runs_load(&runs, path, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    if (!strstr(err.text, message))
        fail_msg("'%s' instead of '%s'", err.text, message);
}

static void wrong_tables_are_refused(void **state)
{
    (void)state;
    expect_error("model,schedule\nsmall,1F1B\n", "stages");
    expect_error(HEAD ROW("7", "1F1B", "1000", "1", "stage"), ":2: layers: expected a multiple");
    expect_error(HEAD ROW("10", "1F1B", "nan", "1", "stage"), ":2: forward_us");
    expect_error(HEAD ROW("10", "1F1B", "-1", "1", "stage"), ":2: forward_us");
    expect_error(HEAD ROW("10.5", "1F1B", "1", "1", "stage"), ":2: layers: expected a whole number");
    expect_error(HEAD ROW("10", "1F1B", "1", "0", "stage"), "expected a rate above 0");
}

/* A schedule without a maker is passed over; times of one of two chunks count twice; 1F1B is the base of others. */
static void rows_are_read(void **state)
{
    (void)state;
    struct schedule_runs runs;
    struct error err;
    write_table(HEAD ROW("10", "ZB-H1", "1000", "1", "chunk") ROW("10", "1F1B", "1000", "1", "stage")
                    ROW("10", "mystery", "1000", "1", "stage"));
    assert_true(schedule_runs_load(&runs, path, &err));
    assert_int_equal(runs.count, 3);
    assert_true(fabs(runs.runs[0].forward - 2e-3) < 1e-15 && fabs(runs.runs[1].forward - 1e-3) < 1e-15);
    assert_int_equal(runs.runs[0].base, 1);
    assert_int_equal(runs.runs[1].base, -1);
    assert_true(schedule_runs_play(&runs, tables_device(NULL, "a100-80gb"), tables_link(NULL, "ib-200g"),
                                   software_find("megatron-2022"), &err));
    assert_true(runs.runs[0].played > 0 && runs.runs[1].played > 0 && isnan(runs.runs[2].played));
    assert_int_equal(score(&runs, SCHEDULE_RATE).count, 2);
    assert_int_equal(score(&runs, SCHEDULE_RATIO).count, 1);
    schedule_runs_release(&runs);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shipped_table),
        cmocka_unit_test(the_reference),
        cmocka_unit_test(wrong_tables_are_refused),
        cmocka_unit_test(rows_are_read),
    };
    return cmocka_run_group_tests_name("schedules", tests, make_file, remove_file);
}
