/* Statistics of steps against slow and obvious ones, against Python, and against what others have published. */
#include "trace/steps/stats.h"

#include "core/doc.h"
#include "core/text.h"
#include "support/expect.h"
#include "support/reference.h"
#include "trace/traces.h"

#include <math.h>

static uint64_t random_state = 1;

static double uniform(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) * 0x1p-53;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *random_values(size_t count)
{
    double *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = 0.01 + uniform() * uniform();
    qsort(values, count, sizeof *values, compare);
    return values;
}

static void summaries_by_hand(void **state)
{
    (void)state;
    static const double values[] = {1, 2, 4, 8, 16, 32, 64};
    struct steps_summary s;
    steps_summarise(values, 7, &s); /* quartiles at 2, 4 and 6 of 1 … 7 */
    near(s.mean, 127.0 / 7);
    near(s.stdev, sqrt((5461 - 127.0 * 127 / 7) / 6));
    near(s.q1, 2);
    near(s.median, 8);
    near(s.q3, 32);
    steps_summarise(values, 2, &s); /* at 0.75, 1.5, 2.25: beyond the values */
    near(s.q1, 0.75);
    near(s.median, 1.5);
    near(s.q3, 2.25);
    steps_summarise(values, 1, &s);
    near(s.q1, 1);
    near(s.q3, 1);
    assert_true(isnan(s.stdev));
    near(steps_percentile(values, 7, 0.25), 3);
    near(steps_percentile(values, 7, 1), 64);
}

/* At the best fit every residual is orthogonal to the columns; no other plane nearby is better. */
static void planes_are_the_best(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        double g[24], b[24], y[24];
        size_t n = 4 + (size_t)(uniform() * 20);
        for (size_t i = 0; i < n; i++) {
            g[i] = 1 + floor(uniform() * 8);
            b[i] = exp2(11 + floor(uniform() * 10));
            y[i] = 0.006 * g[i] + 1.5e-6 * b[i] + 0.1 * uniform();
        }
        struct steps_plane plane;
        steps_fit_plane(g, b, y, n, &plane);
        if (!plane.unique)
            continue;
        double sum = 0, along_g = 0, along_b = 0, left = 0, whole = 0, mean = 0;
        for (size_t i = 0; i < n; i++)
            mean += y[i] / (double)n;
        for (size_t i = 0; i < n; i++) {
            double off = y[i] - steps_plane_at(&plane, g[i], b[i]);
            sum += off;
            along_g += off * g[i];
            along_b += off * b[i];
            left += off * off;
            whole += (y[i] - mean) * (y[i] - mean);
        }
        assert_true(fabs(sum) < 1e-9 && fabs(along_g) < 1e-8 && fabs(along_b) < 1e-3);
        near(plane.r2, 1 - left / whole);
    }
}

static void planes_with_less_than_two_directions(void **state)
{
    (void)state;
    static const double one[] = {8, 8, 8}, batches[] = {1, 2, 4}, twice[] = {2, 4, 8}, y[] = {3, 5, 9};
    struct steps_plane plane;
    steps_fit_plane(one, batches, y, 3, &plane);
    assert_true(plane.known && plane.unique);
    near(plane.per_gpu, 0);
    near(plane.per_batch, 2);
    near(plane.constant, 1);
    near(plane.r2, 1);
    steps_fit_plane(batches, one, y, 3, &plane);
    near(plane.per_gpu, 2);
    steps_fit_plane(batches, twice, y, 3, &plane); /* (2/5, 4/5) is the shortest of those that fit */
    assert_false(plane.unique);
    near(plane.per_gpu, 0.4);
    near(plane.per_batch, 0.8);
    near(plane.constant, 1);
    near(plane.max_error, 0);
    steps_fit_plane(one, one, y, 3, &plane);
    near(plane.constant, 17.0 / 3);
    near(plane.r2, 0);
    steps_fit_plane(one, batches, one, 3, &plane);
    assert_true(isnan(plane.r2));
    steps_fit_plane(one, batches, y, 1, &plane);
    assert_false(plane.known);
}

static void normals_leave_out_both_tails(void **state)
{
    (void)state;
    double values[1001];
    struct steps_normal normal;
    for (int i = 0; i <= 1000; i++)
        values[i] = i;
    values[1000] = 1e9;
    steps_fit_normal(values, 1001, &normal); /* 10 … 990 */
    assert_int_equal(normal.first, 10);
    assert_int_equal(normal.count, 981);
    near(normal.low, 10);
    near(normal.high, 990);
    near(normal.mean, 500);
    near(normal.sigma, sqrt((981.0 * 981 - 1) / 12));
    steps_fit_normal(values, 1, &normal);
    assert_int_equal(normal.count, 1);
    near(normal.sigma, 0);
}

static void densities_are_those_of_all_kernels(void **state)
{
    (void)state;
    double *values = random_values(500), found[101], sum = 0;
    double low = values[0] - 0.5, high = values[499] + 0.5, step = (high - low) / 100;
    struct steps_summary s;
    steps_summarise(values, 500, &s);
    double range = steps_percentile(values, 500, 0.75) - steps_percentile(values, 500, 0.25);
    double width = 0.9 * fmin(s.stdev, range / 1.34) * pow(500, -0.2);
    steps_density(values, 500, low, high, 101, found);
    for (int i = 0; i <= 100; i++) {
        double all = 0;
        for (int j = 0; j < 500; j++) {
            double z = (low + i * step - values[j]) / width;
            all += exp(-z * z / 2) / (width * sqrt(2 * 3.14159265358979323846) * 500);
        }
        sum += found[i] * step;
        if (fabs(found[i] - all) > 0.02 * (1 + all)) /* values are moved to places of the grid */
            fail_msg("at %d: %g instead of %g", i, found[i], all);
    }
    assert_true(fabs(sum - 1) < 1e-3);
    free(values);
}

/* statistics.quantiles and .stdev, numpy.percentile and .linalg.lstsq */
static const char script[] =
    "import sys, statistics as s\n"
    "try:\n import numpy as np\n"
    "except ImportError:\n sys.exit(77)\n"
    "x = sorted(float(v) for v in open(sys.argv[1]))\n"
    "q = s.quantiles(x)\n"
    "k = [v for v in x if np.percentile(x, 1) <= v <= np.percentile(x, 99)]\n"
    "g, b = [i % 5 + 1 for i in range(len(x))], [2.0 ** (i % 7) for i in range(len(x))]\n"
    "A = np.column_stack((g, b, np.ones(len(x))))\n"
    "c = np.linalg.lstsq(A, np.array(x), rcond=None)[0]\n"
    "r2 = 1 - ((A @ c - x) ** 2).sum() / ((np.array(x) - np.mean(x)) ** 2).sum()\n"
    "for v in [s.mean(x), s.stdev(x), *q, np.mean(k), np.std(k), len(k), *c, r2]: print(repr(float(v)))\n";

static void python_finds_the_same(void **state)
{
    (void)state;
    enum { COUNT = 997 };
    double *values = random_values(COUNT), g[COUNT], b[COUNT];
    struct text text = {0};
    struct steps_summary s;
    struct steps_normal normal;
    struct steps_plane plane;
    char command[1200], line[64];
    for (int i = 0; i < COUNT; i++) {
        text_format(&text, "%.17g\n", values[i]);
        g[i] = i % 5 + 1;
        b[i] = exp2(i % 7);
    }
    write_bytes("values", text.data, text.length);
    write_bytes("script.py", script, strlen(script));
    text_release(&text);
    steps_summarise(values, COUNT, &s);
    steps_fit_normal(values, COUNT, &normal);
    steps_fit_plane(g, b, values, COUNT, &plane);
    const double expected[] = {s.mean,        s.stdev,         s.q1,           s.median,
                               s.q3,          normal.mean,     normal.sigma,   (double)normal.count,
                               plane.per_gpu, plane.per_batch, plane.constant, plane.r2};
    snprintf(command, sizeof command,
             "python3 -c 'import numpy' 2>/dev/null || PATH=/usr/bin:$PATH; python3 '%s' '%s' 2>&1",
             in_folder("script.py"), in_folder("values"));
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t found = 0;
    while (found < sizeof expected / sizeof *expected && fgets(line, sizeof line, pipe)) {
        double value = text_number(line, NULL);
        if (!(fabs(value - expected[found]) <= 1e-9 * (1 + fabs(value))))
            fail_msg("number %zu: %.17g instead of %s", found, expected[found], line);
        found++;
    }
    int status = pclose(pipe);
    free(values);
    if (found == 0 && status != 0) {
        print_message("skipped: no python3 with numpy\n");
        skip();
    }
    assert_int_equal(found, sizeof expected / sizeof *expected);
}

/* The study's table of DLRM's compute times and the plane that it published for the same runs: 6.319e-3 and 1.4744e-6. Its
 * plane is of means without the outermost percents, ours of those with them. */
static void the_plane_of_the_study(void **state)
{
    (void)state;
    char *path = reference_path("feed/golden/ref_dlrm_sleep_times.json");
    double g[64], b[64], y[64];
    size_t n = 0;
    struct doc doc;
    struct error err;
    struct steps_plane plane;
    if (!path)
        skip();
    if (!doc_load(&doc, path, &err))
        fail_msg("%s", err.text);
    for (const struct doc_node *gpus = doc.root->first_child; gpus; gpus = gpus->next)
        for (const struct doc_node *batch = gpus->first_child; batch && n < 64; batch = batch->next, n++) {
            g[n] = text_number(gpus->key, NULL);
            b[n] = text_number(batch->key, NULL);
            y[n] = doc_find(batch, "mean")->number;
        }
    steps_fit_plane(g, b, y, n, &plane);
    assert_true(fabs(plane.per_gpu / 6.31850988e-3 - 1) < 0.002);
    assert_true(fabs(plane.per_batch / 1.47435947e-6 - 1) < 0.0001);
    assert_true(fabs(plane.r2 - 0.9482484148857) < 1e-9); /* numpy's, of the same table */
    doc_release(&doc);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summaries_by_hand),
        cmocka_unit_test(planes_are_the_best),
        cmocka_unit_test(planes_with_less_than_two_directions),
        cmocka_unit_test(normals_leave_out_both_tails),
        cmocka_unit_test(densities_are_those_of_all_kernels),
        cmocka_unit_test_setup_teardown(python_finds_the_same, folder_setup, folder_teardown),
        cmocka_unit_test(the_plane_of_the_study),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
