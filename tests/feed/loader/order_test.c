#include "feed/loader/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void init(struct order *order, const struct order_options *options)
{
    struct error err;
    if (!order_init(order, options, &err))
        fail_msg("%s", err.text);
}

/* 7 files of 13 samples, 3 accelerators, batches of 4: 91 = 7 steps · 12 + 7. */
static const struct order_options odd = {
    .files = 7,
    .samples_per_file = 13,
    .batch = 4,
    .accelerators = 3,
    .file_shuffle = ORDER_SEED,
    .sample_shuffle = ORDER_SEED,
    .seed = 123,
    .seed_change_epoch = true,
};

/* How often each sample is read in an epoch, by whoever. The caller frees. */
static int *count_reads(const struct order *order, int64_t epoch)
{
    int *reads =
        calloc((size_t)order->options.files * (size_t)order->options.samples_per_file, sizeof *reads);
    assert_non_null(reads);
    for (int a = 0; a < order->options.accelerators; a++)
        for (int64_t step = 0; step < order->steps; step++) {
            struct order_place place;
            for (int64_t i = 0; i < order->options.batch; i++) {
                assert_true(order_at(order, epoch, a, step, i, &place));
                assert_in_range(place.file, 0, order->options.files - 1);
                assert_in_range(place.sample, 0, order->options.samples_per_file - 1);
                reads[place.file * order->options.samples_per_file + place.sample]++;
            }
            assert_false(order_at(order, epoch, a, step, order->options.batch, &place));
        }
    return reads;
}

static void assert_complete(const struct order_options *options)
{
    struct order order;
    init(&order, options);
    int *reads = count_reads(&order, 2);
    int64_t missing = 0;
    for (int64_t i = 0; i < order.samples; i++) {
        assert_in_range(reads[i], 0, 1);
        missing += reads[i] == 0;
    }
    assert_int_equal(missing, order.dropped);
    free(reads);
}

static void every_small_size_is_permuted(void **state)
{
    static unsigned char seen[2000];
    (void)state;
    for (uint64_t n = 1; n <= 2000; n++) {
        memset(seen, 0, sizeof seen);
        for (uint64_t x = 0; x < n; x++) {
            uint64_t y = order_permute(n, n * 77, x);
            assert_true(y < n);
            assert_false(seen[y]);
            seen[y] = 1;
        }
    }
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void large_sizes_are_permuted(void **state)
{
    static const uint64_t sizes[] = {
        4195198976, UINT64_C(1) << 32, (UINT64_C(1) << 53) + 1, (UINT64_C(1) << 61) - 1, UINT64_C(1) << 62,
    };
    static uint64_t seen[2000];
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (uint64_t k = 0; k < 2000; k++) {
            seen[k] = order_permute(sizes[i], 5, k < 1000 ? k : sizes[i] - 1 - (k - 1000));
            assert_true(seen[k] < sizes[i]);
        }
        qsort(seen, 2000, sizeof *seen, by_number);
        for (int k = 1; k < 2000; k++)
            assert_true(seen[k] != seen[k - 1]);
    }
}

/* Sum over cells of (seen - expected)² / expected. */
static double chi_square(const int *seen, size_t cells, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < cells; i++)
        sum += (seen[i] - expected) * (seen[i] - expected) / expected;
    return sum;
}

/* Over many keys, each element comes to each place equally often: n·(n-1) of n² cells are free. */
static void places_are_uniform(void **state)
{
    (void)state;
    for (uint64_t n = 2; n <= 40; n += n < 8 ? 1 : 7) {
        enum { KEYS = 8000 };
        int *seen = calloc((size_t)(n * n), sizeof *seen);
        assert_non_null(seen);
        for (uint64_t key = 0; key < KEYS; key++)
            for (uint64_t x = 0; x < n; x++)
                seen[x * n + order_permute(n, key * 0x51ed27 + 1, x)]++;
        double free_cells = (double)((n - 1) * (n - 1));
        /* mean + 5 standard deviations of that many degrees of freedom, and some for the smallest */
        assert_true(chi_square(seen, (size_t)(n * n), (double)KEYS / (double)n) <
                    free_cells + 5 * (2 + free_cells * 0.5));
        free(seen);
    }
}

/* Of few elements, each of the n! permutations comes up. */
static void every_permutation_of_few_comes_up(void **state)
{
    static const int factorials[] = {1, 1, 2, 6, 24, 120};
    (void)state;
    for (uint64_t n = 2; n <= 5; n++) {
        static unsigned char seen[5 * 5 * 5 * 5 * 5];
        int distinct = 0;
        memset(seen, 0, sizeof seen);
        for (uint64_t key = 0; key < 5000; key++) {
            uint64_t code = 0;
            for (uint64_t x = 0; x < n; x++)
                code = code * n + order_permute(n, key, x);
            distinct += !seen[code];
            seen[code] = 1;
        }
        assert_int_equal(distinct, factorials[n]);
    }
}

/* Neighbours do not stay neighbours: the difference of two images is uniform, too. */
static void neighbours_are_torn_apart(void **state)
{
    enum { N = 1000, CELLS = 50 };
    int seen[CELLS] = {0};
    int pairs = 0;
    (void)state;
    for (uint64_t key = 1; key <= 40; key++)
        for (uint64_t x = 0; x + 1 < N; x++, pairs++) {
            uint64_t difference = (order_permute(N, key, x + 1) + N - order_permute(N, key, x)) % N;
            seen[difference * CELLS / N]++;
        }
    assert_true(chi_square(seen, CELLS, (double)pairs / CELLS) < 49 + 5 * 10);
}

static void each_sample_once_whatever_the_rules(void **state)
{
    (void)state;
    for (int shard = ORDER_CONTIGUOUS; shard <= ORDER_BY_FILE; shard++)
        for (int file_shuffle = ORDER_OFF; file_shuffle <= ORDER_RANDOM; file_shuffle++)
            for (int sample_shuffle = ORDER_OFF; sample_shuffle <= ORDER_RANDOM; sample_shuffle++)
                for (int accelerators = 1; accelerators <= 7; accelerators++) {
                    struct order_options options = odd;
                    options.shard = (enum order_shard)shard;
                    options.file_shuffle = (enum order_shuffle)file_shuffle;
                    options.sample_shuffle = (enum order_shuffle)sample_shuffle;
                    options.accelerators = accelerators;
                    assert_complete(&options);
                }
}

static void steps_and_dropped_are_as_stated(void **state)
{
    struct order order;
    struct order_options options = odd;
    (void)state;
    init(&order, &options);
    assert_int_equal(order.samples, 91);
    assert_int_equal(order.steps, 7);
    assert_int_equal(order.dropped, 91 - 7 * 12);
    options.shard = ORDER_BY_FILE; /* 3, 2 and 2 files */
    init(&order, &options);
    assert_int_equal(order.steps, 26 / 4);
    assert_int_equal(order.dropped, 91 - 6 * 12);
}

/* Each accelerator must have a file for a step to be run. */
static void accelerators_without_files_run_no_step(void **state)
{
    struct error err;
    struct order order;
    struct order_options options = odd;
    (void)state;
    options.shard = ORDER_BY_FILE;
    options.accelerators = 9;
    assert_false(order_init(&order, &options, &err));
    assert_non_null(strstr(err.text, "on each of 9 accelerators"));
}

static void without_shuffle_the_order_is_that_of_the_files(void **state)
{
    struct order order;
    struct order_place place;
    struct order_options options = odd;
    (void)state;
    options.file_shuffle = options.sample_shuffle = ORDER_OFF;
    init(&order, &options);
    assert_true(order_at(&order, 1, 0, 3, 2, &place)); /* contiguous: the 14th of the first 31 */
    assert_int_equal(place.file, 1);
    assert_int_equal(place.sample, 1);
    assert_true(order_at(&order, 1, 1, 0, 0, &place)); /* the 31st of all */
    assert_int_equal(place.file, 2);
    assert_int_equal(place.sample, 5);
    options.shard = ORDER_BY_FILE;
    init(&order, &options);
    assert_true(order_at(&order, 1, 1, 3, 1, &place)); /* its first file is 1, then 4 */
    assert_int_equal(place.file, 4);
    assert_int_equal(place.sample, 0);
}

/* Samples of a file stay together where only files are shuffled. */
static void files_alone_are_shuffled(void **state)
{
    struct order order;
    struct order_place place, previous = {0};
    struct order_options options = odd;
    bool moved = false;
    (void)state;
    options.sample_shuffle = ORDER_OFF;
    options.accelerators = 1;
    options.batch = 1;
    init(&order, &options);
    for (int64_t step = 0; step < order.steps; step++, previous = place) {
        assert_true(order_at(&order, 1, 0, step, 0, &place));
        assert_int_equal(place.sample, step % 13);
        if (place.sample > 0)
            assert_int_equal(place.file, previous.file);
        moved = moved || place.file != step / 13;
    }
    assert_true(moved);
}

/* How many samples of the first accelerator are at the same place in both. */
static int64_t same_places(const struct order *one, int64_t epoch_one, const struct order *other,
                           int64_t epoch_other)
{
    int64_t same = 0;
    for (int64_t step = 0; step < one->steps; step++)
        for (int64_t i = 0; i < one->options.batch; i++) {
            struct order_place a, b;
            assert_true(order_at(one, epoch_one, 0, step, i, &a));
            assert_true(order_at(other, epoch_other, 0, step, i, &b));
            same += a.file == b.file && a.sample == b.sample;
        }
    return same;
}

/* DLIO's PyTorch loader reads the same slice in the same order in every epoch, whatever is asked for. */
static void epochs_differ_where_asked(void **state)
{
    struct order order;
    struct order_options options = odd;
    (void)state;
    init(&order, &options);
    assert_int_equal(same_places(&order, 1, &order, 1), 28);
    assert_true(same_places(&order, 1, &order, 2) < 6);
    options.seed_change_epoch = false;
    init(&order, &options);
    assert_int_equal(same_places(&order, 1, &order, 2), 28);
    options.sample_shuffle = ORDER_RANDOM;
    init(&order, &options);
    assert_true(same_places(&order, 1, &order, 2) < 6);
}

static void seeds_differ_and_random_goes_by_entropy(void **state)
{
    struct order one, other;
    struct order_options options = odd;
    (void)state;
    init(&one, &options);
    options.entropy = 99;
    init(&other, &options);
    assert_int_equal(same_places(&one, 1, &other, 1), 28);
    options.seed++;
    init(&other, &options);
    assert_true(same_places(&one, 1, &other, 1) < 6);
    options.file_shuffle = options.sample_shuffle = ORDER_RANDOM;
    init(&one, &options);
    options.entropy++;
    init(&other, &options);
    assert_true(same_places(&one, 1, &other, 1) < 6);
}

static void the_checksum_knows_a_lost_and_a_doubled_sample(void **state)
{
    struct order order;
    struct order_place place;
    struct order_options options = odd;
    uint64_t sum = 0;
    (void)state;
    options.accelerators = options.batch = 1; /* nothing is dropped */
    init(&order, &options);
    for (place.file = 0; place.file < 7; place.file++)
        for (place.sample = 0; place.sample < 13; place.sample++)
            sum += order_mark(&order, &place);
    assert_true(order_checksum(&order, 1) == sum);
    assert_true(order_checksum(&order, 2) == sum);
    struct order_place twice = {3, 4}, lost = {3, 5};
    assert_true(sum - order_mark(&order, &lost) + order_mark(&order, &twice) != order_checksum(&order, 1));
}

/* DLIO keeps a multiple of samples per file x batch x ranks of *files*: of one file with many samples none. */
static void one_file_of_many_samples_is_not_trimmed_away(void **state)
{
    struct order order;
    struct order_options dlrm = {.files = 1, .samples_per_file = 4096, .batch = 1, .accelerators = 1};
    (void)state;
    init(&order, &dlrm);
    assert_int_equal(order.steps, 4096);
    assert_int_equal(order.dropped, 0);
}

static void no_step_is_an_error(void **state)
{
    struct error err;
    struct order order;
    struct order_options options = odd;
    (void)state;
    options.batch = 31;
    assert_false(order_init(&order, &options, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.text, "91 samples in 7 files are fewer than one batch of 31 on each of 3"));
}

static void numbers_out_of_range_are_errors(void **state)
{
    struct error err;
    struct order order;
    struct order_options options = odd;
    (void)state;
    options.files = INT64_MAX / 2;
    assert_false(order_init(&order, &options, &err));
    options = odd;
    options.batch = INT64_MAX;
    assert_false(order_init(&order, &options, &err));
    options = odd;
    options.accelerators = 0;
    assert_false(order_init(&order, &options, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_size_is_permuted),
        cmocka_unit_test(large_sizes_are_permuted),
        cmocka_unit_test(places_are_uniform),
        cmocka_unit_test(every_permutation_of_few_comes_up),
        cmocka_unit_test(neighbours_are_torn_apart),
        cmocka_unit_test(each_sample_once_whatever_the_rules),
        cmocka_unit_test(steps_and_dropped_are_as_stated),
        cmocka_unit_test(accelerators_without_files_run_no_step),
        cmocka_unit_test(without_shuffle_the_order_is_that_of_the_files),
        cmocka_unit_test(files_alone_are_shuffled),
        cmocka_unit_test(epochs_differ_where_asked),
        cmocka_unit_test(seeds_differ_and_random_goes_by_entropy),
        cmocka_unit_test(the_checksum_knows_a_lost_and_a_doubled_sample),
        cmocka_unit_test(one_file_of_many_samples_is_not_trimmed_away),
        cmocka_unit_test(no_step_is_an_error),
        cmocka_unit_test(numbers_out_of_range_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
