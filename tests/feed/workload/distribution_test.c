/* Times that vary: the generator against its published vectors, samples against the formulas of their moments and
 * quantiles. */
#include "feed/workload/distribution.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES 100000

static struct distribution read_text(const char *text)
{
    struct distribution distribution = {0};
    struct doc doc;
    struct error err = {0};
    if (!doc_parse(&doc, DOC_YAML, "a.yaml", text, strlen(text), &err) ||
        !distribution_read(&distribution, &doc, doc.root, &err))
        fail_msg("%s", err.text);
    doc_release(&doc);
    return distribution;
}

static void assert_refused(const char *text, const char *message)
{
    struct distribution distribution;
    struct doc doc;
    struct error err = {0};
    assert_true(doc_parse(&doc, DOC_YAML, "a.yaml", text, strlen(text), &err));
    assert_false(distribution_read(&distribution, &doc, doc.root, &err));
    if (!strstr(err.text, message))
        fail_msg("'%s' is not in '%s'", message, err.text);
    doc_release(&doc);
}

static double sample(const struct distribution *distribution, int64_t i)
{
    return distribution_sample(distribution, (struct distribution_draw){.seed = 7, .step = (uint64_t)i});
}

static int by_value(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* The first so many, sorted. The caller frees it. */
static double *sorted_samples(const struct distribution *distribution)
{
    double *values = malloc(SAMPLES * sizeof *values);
    assert_non_null(values);
    for (int i = 0; i < SAMPLES; i++)
        values[i] = sample(distribution, i);
    qsort(values, SAMPLES, sizeof *values, by_value);
    return values;
}

static double stdev_of(const struct distribution *distribution)
{
    double first = distribution->first, second = distribution->second;
    switch (distribution->type) {
    case DISTRIBUTION_NORMAL:
        return second;
    case DISTRIBUTION_UNIFORM:
        return (second - first) / sqrt(12);
    case DISTRIBUTION_GAMMA:
        return sqrt(first) * second;
    case DISTRIBUTION_EXPONENTIAL:
        return first;
    case DISTRIBUTION_POISSON:
        return sqrt(first);
    default:
        return 0;
    }
}

/* Within five standard errors: of the mean sd/sqrt(n), of the standard deviation about sd sqrt((k - 1) / 4n) with
 * the kurtosis k, which is below 12 here. */
static void assert_moments(const char *text)
{
    struct distribution distribution = read_text(text);
    double mean = 0, square = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double value = sample(&distribution, i);
        mean += value / SAMPLES;
        square += value * value / SAMPLES;
    }
    double stdev = stdev_of(&distribution);
    assert_true(fabs(mean - distribution_mean(&distribution)) < 5 * stdev / sqrt(SAMPLES));
    assert_true(fabs(sqrt(square - mean * mean) - stdev) < 5 * stdev * sqrt(11.0 / 4 / SAMPLES));
}

/* The share of samples up to the quantile is p, within five standard errors. */
static void assert_quantile(const double *sorted, double quantile, double p)
{
    int below = 0;
    while (below < SAMPLES && sorted[below] <= quantile)
        below++;
    assert_true(fabs((double)below / SAMPLES - p) < 5 * sqrt(p * (1 - p) / SAMPLES));
}

/* Random123's known answers for philox4x32-10. */
static void the_generator_is_philox(void **state)
{
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t answer[4];
    } known[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0U, ~0U, ~0U, ~0U}, ~UINT64_C(0), {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         UINT64_C(0x299f31d0a4093822),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        distribution_philox(known[i].counter, known[i].key, out);
        assert_memory_equal(out, known[i].answer, sizeof out);
    }
}

static void a_draw_depends_on_seed_stream_and_step_alone(void **state)
{
    struct distribution normal = distribution_normal(10, 1);
    struct distribution_draw draw = {.seed = 1, .stream = 2, .step = 3};
    double value = distribution_sample(&normal, draw);
    (void)state;
    assert_true(distribution_sample(&normal, (struct distribution_draw){2, 2, 3}) != value);
    assert_true(distribution_sample(&normal, (struct distribution_draw){1, 3, 3}) != value);
    assert_true(distribution_sample(&normal, (struct distribution_draw){1, 2, 4}) != value);
    assert_true(distribution_sample(&normal, (struct distribution_draw){1, 2, 3 + (UINT64_C(1) << 32)}) !=
                value);
    assert_true(distribution_sample(&normal, draw) == value);
}

static void moments_are_those_of_the_formulas(void **state)
{
    (void)state;
    assert_moments("{mean: 8.9027, stdev: 0.39049}");
    assert_moments("{type: normal, mean: 100, stdev: 1}");
    assert_moments("{type: uniform, min: 0.5, max: 2}");
    assert_moments("{type: gamma, shape: 9, scale: 0.1}");
    assert_moments("{type: gamma, shape: 0.75, scale: 2}");
    assert_moments("{type: exponential, scale: 0.3}");
    assert_moments("{type: poisson, lam: 0.8}");
    assert_moments("{type: poisson, lam: 12}");
    assert_moments("{type: poisson, lam: 400}");
}

static void quantiles_of_the_normal_distribution(void **state)
{
    static const double known[][2] = {
        {-1.6448536269514722, 0.05}, {0, 0.5}, {1.2815515655446004, 0.9}, {2.3263478740408408, 0.99}};
    struct distribution normal = distribution_normal(10, 1);
    double *sorted = sorted_samples(&normal);
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_quantile(sorted, 10 + known[i][0], known[i][1]);
    free(sorted);
}

static void quantiles_of_the_exponential_distribution(void **state)
{
    struct distribution exponential = read_text("{type: exponential, scale: 0.3}");
    double *sorted = sorted_samples(&exponential);
    (void)state;
    for (double p = 0.05; p < 1; p += 0.15)
        assert_quantile(sorted, -0.3 * log(1 - p), p);
    free(sorted);
}

/* Of shape 2: P(x) = 1 - e^-x (1 + x). */
static void quantiles_of_a_gamma_distribution(void **state)
{
    struct distribution gamma = read_text("{type: gamma, shape: 2, scale: 1}");
    double *sorted = sorted_samples(&gamma);
    (void)state;
    for (double x = 0.5; x < 6; x += 0.5)
        assert_quantile(sorted, x, 1 - exp(-x) * (1 + x));
    free(sorted);
}

static void probabilities_of_poisson_distributions(void **state)
{
    static const double rates[] = {3, 40};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct distribution poisson = {.type = DISTRIBUTION_POISSON, .first = rates[i]};
        double *sorted = sorted_samples(&poisson);
        double sum = 0;
        for (int k = 0; k < 3 * (int)rates[i]; k++) {
            sum += exp(k * log(rates[i]) - rates[i] - lgamma(k + 1));
            if (sum > 0.01 && sum < 0.99)
                assert_quantile(sorted, k, sum);
        }
        free(sorted);
    }
}

/* The mean of max(0, x) is m P(m/s) + s p(m/s), that of |x| is as much again without the m; DLIO has the latter. */
static void negative_draws_are_zero_or_mirrored(void **state)
{
    struct distribution clipped = read_text("{mean: 1, stdev: 1}");
    struct distribution mirrored = read_text("{mean: 1, stdev: 1, mirror: true}");
    double mean_clipped = 0, mean_mirrored = 0;
    int zeros = 0;
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        double value = sample(&clipped, i);
        assert_true(value >= 0);
        zeros += value == 0;
        mean_clipped += value / SAMPLES;
        mean_mirrored += sample(&mirrored, i) / SAMPLES;
    }
    double density = exp(-0.5) / sqrt(2 * M_PI), share = 0.5 * erfc(-1 / sqrt(2));
    assert_true(fabs(mean_clipped - (share + density)) < 5 / sqrt(SAMPLES));
    assert_true(fabs(mean_mirrored - (2 * share - 1 + 2 * density)) < 5 / sqrt(SAMPLES));
    assert_true(fabs((double)zeros / SAMPLES - (1 - share)) < 0.01);
}

static void a_number_and_a_mean_alone_are_constant(void **state)
{
    struct distribution number = read_text("0.323"), mean = read_text("{mean: 0.323}"),
                        none = read_text("{}");
    (void)state;
    assert_true(distribution_equal(&number, &mean));
    assert_true(sample(&number, 5) == 0.323);
    assert_true(sample(&none, 5) == 0);
}

static void what_is_written_reads_back(void **state)
{
    static const char *const texts[] = {"0.25",
                                        "{mean: 1, stdev: 2, mirror: true}",
                                        "{type: uniform, min: 1, max: 3}",
                                        "{type: gamma, shape: 2, scale: 0.5}",
                                        "{type: exponential, scale: 7}",
                                        "{type: poisson, lam: 3}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct distribution first = read_text(texts[i]), second;
        struct text text = {0};
        struct json json = {.out = &text};
        distribution_write(&first, &json, NULL);
        second = read_text(text.data);
        assert_true(distribution_equal(&first, &second));
        text_release(&text);
    }
}

static void mistakes_are_named(void **state)
{
    (void)state;
    assert_refused("-1", "a.yaml:1:1: expected a number from 0 to");
    assert_refused("{type: nromal, mean: 1}", "expected one of constant, normal");
    assert_refused("{type: normal, mean: 1}", "'stdev' is missing");
    assert_refused("{mean: 1, stddev: 2}", "did you mean 'stdev'?");
    assert_refused("{type: uniform, min: 2, max: 1}", "max is less than min");
    assert_refused("{type: gamma, shape: 0, scale: 1}", "shape: expected");
    assert_refused("soon", "found 'soon'");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_is_philox),
        cmocka_unit_test(a_draw_depends_on_seed_stream_and_step_alone),
        cmocka_unit_test(moments_are_those_of_the_formulas),
        cmocka_unit_test(quantiles_of_the_normal_distribution),
        cmocka_unit_test(quantiles_of_the_exponential_distribution),
        cmocka_unit_test(quantiles_of_a_gamma_distribution),
        cmocka_unit_test(probabilities_of_poisson_distributions),
        cmocka_unit_test(negative_draws_are_zero_or_mirrored),
        cmocka_unit_test(a_number_and_a_mean_alone_are_constant),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
