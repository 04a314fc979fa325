/* Learning from a lab's own runs: the published sources are labs, of which one half is known and the other asked for. */
#include "evidence/judge.h"
#include "evidence/own_lab.h"
#include "evidence/own_run.h"

#include "core/random.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RUNS  2000
#define LEAST 6 /* runs of a lab */
#define SEEDS 3

static struct validation known;
static struct {
    struct own_lab_run run;
    const struct run *of;
} rows[RUNS];
static int row_count;

static int read_known(void **state)
{
    static const struct validation_defaults none;
    struct error err;
    (void)state;
    if (!validation_load_known(&known, &none, &err))
        fail_msg("%s", err.text);
    validation_predict(&known, NULL);
    for (int i = 0; i < known.count && row_count < RUNS; i++) {
        const struct run *run = &known.runs[i];
        if (run->reason || !run->scored)
            continue;
        rows[row_count].run =
            own_lab_run_of(&run->job, &run->predicted, run->seconds, run_judge(run, PART_SOURCE).factor);
        rows[row_count++].of = run;
    }
    return 0;
}

static int drop_known(void **state)
{
    (void)state;
    validation_release(&known);
    return 0;
}

static bool same_lab(const struct run *a, const struct run *b)
{
    return strcmp(a->source, b->source) == 0 &&
           strcmp(a->job.device->generation, b->job.device->generation) == 0;
}

/* Collects a lab's runs, in a random order. Returns their number; 0: an earlier row is of that lab. */
static int lab_of(int first, uint64_t seed, struct own_lab_run *runs)
{
    int count = 0;
    for (int i = 0; i < row_count; i++) {
        if (!same_lab(rows[i].of, rows[first].of))
            continue;
        if (i < first)
            return 0;
        runs[count++] = rows[i].run;
    }
    for (int i = count - 1; i > 0; i--) {
        seed = random_mix(seed + (uint64_t)i);
        int j = (int)(seed % (uint64_t)(i + 1));
        struct own_lab_run kept = runs[i];
        runs[i] = runs[j];
        runs[j] = kept;
    }
    return count;
}

static struct own_lab_fit learned(const struct own_lab_run *runs, int count)
{
    struct own_lab_fit fit;
    struct error err;
    if (!own_lab_learn(&fit, runs, count, &err))
        fail_msg("%s", err.text);
    return fit;
}

static void one_half_tells_of_the_other(void **state)
{
    (void)state;
    static double before[RUNS * SEEDS], after[RUNS * SEEDS];
    static struct own_lab_run runs[RUNS];
    int asked = 0, labs = 0, inside = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (int first = 0; first < row_count; first++) {
            int count = lab_of(first, seed, runs), half = count / 2;
            if (count < LEAST)
                continue;
            struct own_lab_fit fit = learned(runs, half);
            labs++;
            for (int i = half; i < count; i++) {
                double left = runs[i].error - own_lab_effect(&fit.lab, &runs[i]);
                before[asked] = expm1(-runs[i].error);
                after[asked++] = expm1(-left);
                inside += fabs(left) <= fit.lab.left;
            }
        }
    struct error_score old = error_score_of(before, asked), now = error_score_of(after, asked);
    print_message("# %d halves of labs: median %.1f %% instead of %.1f %%, p90 %.1f %% instead of %.1f %%; "
                  "%.0f %% within p90 of "
                  "those left out\n",
                  labs, 100 * now.median, 100 * old.median, 100 * now.p90, 100 * old.p90,
                  100.0 * inside / asked);
    assert_true(labs >= 15 * SEEDS);
    assert_true(now.median <= old.median && now.p90 <= old.p90 && now.mean < old.mean);
}

#define LARGE  8 /* runs of a lab of which a 90th percentile says something */
#define HALVES 12

/* Of several halvings of each lab together, the 90th percentile of the halves that were not learned from does not grow. */
static void no_lab_is_worse_for_its_own_runs(void **state)
{
    (void)state;
    static double before[RUNS * HALVES], after[RUNS * HALVES];
    static struct own_lab_run runs[RUNS];
    int labs = 0;
    for (int first = 0; first < row_count; first++) {
        int asked = 0, count = 0;
        for (uint64_t seed = 1; seed <= HALVES; seed++) {
            count = lab_of(first, seed, runs);
            if (count < LARGE)
                break;
            struct own_lab_fit fit = learned(runs, count / 2);
            for (int i = count / 2; i < count; i++) {
                before[asked] = expm1(-runs[i].error);
                after[asked++] = expm1(own_lab_effect(&fit.lab, &runs[i]) - runs[i].error);
            }
        }
        if (asked == 0)
            continue;
        struct error_score old = error_score_of(before, asked), now = error_score_of(after, asked);
        labs++;
        print_message("# %s on %s: %d runs, median %.1f %% instead of %.1f, p90 %.1f %% instead of %.1f\n",
                      rows[first].of->source, rows[first].of->job.device->generation, count, 100 * now.median,
                      100 * old.median, 100 * now.p90, 100 * old.p90);
        assert_true(now.p90 <= old.p90 + 1e-3);
    }
    assert_true(labs >= 10);
}

/* A lab whose truth is known: a host that is slower by 3 ms for each block, and a network at 0.6. */
static void learns_what_is_wrong(void **state)
{
    (void)state;
    const struct own_lab truth = {.kernels = 1.0, .transfers = 1.0 / 0.6, .block = 3e-3};
    struct own_lab_run runs[24];
    for (int i = 0; i < 24; i++) {
        double transfers = 0.05 + 0.1 * (i % 5), blocks = 20.0 * (1 + i % 7);
        runs[i] = (struct own_lab_run){1.0 - transfers, transfers, blocks, 0.0, (uint64_t)i};
        runs[i].error = own_lab_effect(&truth, &runs[i]) + 0.01 * (i % 3 - 1);
    }
    struct own_lab few = learned(runs, 4).lab, lab = learned(runs, 24).lab;
    assert_true(fabs(lab.block - 3e-3) < 1e-3);
    assert_true(lab.transfers > 1.3 && lab.transfers < 1.8);
    assert_true(few.block < lab.block);
    for (int i = 0; i < 24; i++)
        runs[i].error = 0.02 * (i * 7 % 5 - 2);
    lab = learned(runs, 24).lab; /* nothing but noise */
    assert_true(fabs(log(lab.kernels)) < 0.02 && fabs(log(lab.transfers)) < 0.05 && lab.block < 2e-4);
}

/* A job of the lab is corrected and its interval is that of the lab; other software hardly. */
static void jobs_of_the_lab_are_corrected(void **state)
{
    (void)state;
    struct job job = job_example();
    struct job_time time = job_time(&job);
    struct estimate plain = own_run_estimate(&job, &time);
    struct calibration calibration = *job.calibration;
    calibration.lab = (struct own_lab){.software = job.software->name,
                                       .runs = 27,
                                       .kernels = 1.5,
                                       .transfers = 1.5,
                                       .block = 0.0,
                                       .left = 0.02};
    job.calibration = &calibration;
    struct estimate lab = own_run_estimate(&job, &time);
    assert_true(fabs(lab.factor / plain.factor - 1.5) < 1e-9);
    assert_true(lab.shares.high / lab.shares.low < plain.shares.high / plain.shares.low);
    calibration.lab.software = "fsdp";
    struct estimate other = own_run_estimate(&job, &time);
    assert_true(other.factor > plain.factor && other.factor < 1.1 * plain.factor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_half_tells_of_the_other),
        cmocka_unit_test(no_lab_is_worse_for_its_own_runs),
        cmocka_unit_test(learns_what_is_wrong),
        cmocka_unit_test(jobs_of_the_lab_are_corrected),
    };
    return cmocka_run_group_tests(tests, read_known, drop_known);
}
