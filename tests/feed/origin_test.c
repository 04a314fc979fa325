/* Where bytes came from, of counters as they were recorded. */
#include "feed/origin.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB ((int64_t)1 << 20)

static int64_t from(enum origin_evidence evidence, int64_t delivered, int64_t read, int64_t size,
                    int64_t resident)
{
    const struct origin_count count = {delivered, read, size, resident};
    return origin_from_storage(evidence, &count);
}

/* A disk of 100 MB/s, three epochs of 244 MiB: the first came from it. With what the machine's counter said, all of it
 * would have come from memory or from it, as others read more or less meanwhile. */
static void epochs_are_judged_one_by_one(void **state)
{
    (void)state;
    struct origin origin = {0};
    const int64_t read[] = {250 * MIB, 0, 0};
    for (int epoch = 0; epoch < 3; epoch++) {
        const struct origin_count count = {244 * MIB, read[epoch], 244 * MIB, epoch == 0 ? 0 : 244 * MIB};
        origin_sum(&origin, ORIGIN_PROCESS, &count);
    }
    assert_true(fabs(origin_share(&origin) - 1.0 / 3) < 1e-9);
    assert_false(origin_is_cold(&origin));
    assert_int_equal(origin.delivered, 732 * MIB);
}

/* An epoch that reads ten times too much does not make up for one that reads nothing. */
static void too_much_in_one_epoch_is_not_enough_in_another(void **state)
{
    (void)state;
    struct origin origin = {0};
    const struct origin_count much = {10 * MIB, 100 * MIB, 10 * MIB, 0}, none = {10 * MIB, 0, 10 * MIB, 0};
    origin_sum(&origin, ORIGIN_PROCESS, &much);
    origin_sum(&origin, ORIGIN_PROCESS, &none);
    assert_true(fabs(origin_share(&origin) - 0.5) < 1e-9);
}

/* Samples of one array are read with all of it, each time: that is the workload's own, and from memory in any job. */
static void bytes_asked_for_twice_count_once(void **state)
{
    (void)state;
    assert_int_equal(from(ORIGIN_PROCESS, 40 * MIB, 11 * MIB, 10 * MIB, 0), 10 * MIB);
    assert_int_equal(from(ORIGIN_PROCESS, 40 * MIB, 5 * MIB, 10 * MIB, 0), 5 * MIB);
}

/* What others read while we did is in no count of ours; objects and direct reads come from where they are. */
static void evidence_says_how_it_knows(void **state)
{
    (void)state;
    assert_int_equal(from(ORIGIN_OBJECTS, 7, 0, 0, -1), 7);
    assert_int_equal(from(ORIGIN_DIRECT, 7, 0, 7, 7), 7);
    assert_int_equal(from(ORIGIN_MEMORY, 7, 7, 7, 0), 0);
    assert_int_equal(from(ORIGIN_UNKNOWN, 7, 7, 7, 0), -1);
    assert_int_equal(from(ORIGIN_CACHE, 100, 0, 100, 25), 75);  /* a server's, a quarter in memory */
    assert_int_equal(from(ORIGIN_CACHE, 100, 90, 100, 25), 90); /* an overlay on a disk */
    assert_int_equal(from(ORIGIN_CACHE, 100, 40, 100, 0), 100); /* compressed on the disk */
    assert_int_equal(from(ORIGIN_CACHE, 100, 60, 100, -1), 60); /* may not look */
    assert_int_equal(from(ORIGIN_CACHE, 100, 0, 100, -1), -1);
    assert_int_equal(from(ORIGIN_CACHE, 100, -1, 100, -1), -1);
    assert_int_equal(from(ORIGIN_CACHE, 100, -1, 100, 130), 0);
}

static void the_best_evidence_is_taken(void **state)
{
    (void)state;
    const struct storage_options plain = {.method = STORAGE_POSIX},
                                 direct = {.method = STORAGE_POSIX, .direct = true},
                                 s3 = {.method = STORAGE_S3};
    assert_int_equal(origin_evidence_of(&s3, STORAGE_BACKING_HIDDEN, false), ORIGIN_OBJECTS);
    assert_int_equal(origin_evidence_of(&plain, STORAGE_BACKING_DEVICE, true), ORIGIN_PROCESS);
    assert_int_equal(origin_evidence_of(&direct, STORAGE_BACKING_DEVICE, true), ORIGIN_PROCESS);
    assert_int_equal(origin_evidence_of(&direct, STORAGE_BACKING_DEVICE, false), ORIGIN_DIRECT);
    assert_int_equal(origin_evidence_of(&plain, STORAGE_BACKING_DEVICE, false), ORIGIN_CACHE);
    assert_int_equal(origin_evidence_of(&plain, STORAGE_BACKING_CACHED, true), ORIGIN_CACHE);
    assert_int_equal(origin_evidence_of(&direct, STORAGE_BACKING_CACHED, true), ORIGIN_DIRECT);
    assert_int_equal(origin_evidence_of(&direct, STORAGE_BACKING_MEMORY, true), ORIGIN_MEMORY);
    assert_int_equal(origin_evidence_of(&direct, STORAGE_BACKING_HIDDEN, true), ORIGIN_UNKNOWN);
}

/* One process's read-ahead is another's hit: they count together. What one does not know is not known. */
static void processes_of_a_host_count_together(void **state)
{
    (void)state;
    struct origin_count sum = {10, 20, 10, 0};
    const struct origin_count other = {10, 0, 10, 5}, blind = {10, -1, 0, -1};
    origin_add(&sum, &other);
    assert_int_equal(origin_from_storage(ORIGIN_PROCESS, &sum), 20);
    assert_int_equal(sum.resident, 5);
    origin_add(&sum, &blind);
    assert_int_equal(sum.read, -1);
    assert_int_equal(sum.resident, -1);
    assert_int_equal(origin_from_storage(ORIGIN_PROCESS, &sum), -1);
}

static void a_host_that_does_not_know_leaves_all_unknown(void **state)
{
    (void)state;
    struct origin origin = {0};
    const struct origin_count count = {10, 10, 10, 0};
    origin_sum(&origin, ORIGIN_PROCESS, &count);
    origin_sum(&origin, ORIGIN_UNKNOWN, &count);
    origin_sum(&origin, ORIGIN_PROCESS, &count);
    assert_int_equal(origin.evidence, ORIGIN_UNKNOWN);
    assert_int_equal(origin.from_storage, -1);
    assert_true(isnan(origin_share(&origin)));
    assert_false(origin_is_cold(&origin));
}

static void of_nothing_there_is_nothing_to_say(void **state)
{
    (void)state;
    struct origin origin = {0};
    const struct origin_count none = {0, 4096, 0, 0};
    origin_sum(&origin, ORIGIN_PROCESS, &none);
    assert_true(origin_is_cold(&origin));
    assert_true(isnan(origin_share(&origin)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epochs_are_judged_one_by_one),
        cmocka_unit_test(too_much_in_one_epoch_is_not_enough_in_another),
        cmocka_unit_test(bytes_asked_for_twice_count_once),
        cmocka_unit_test(evidence_says_how_it_knows),
        cmocka_unit_test(the_best_evidence_is_taken),
        cmocka_unit_test(processes_of_a_host_count_together),
        cmocka_unit_test(a_host_that_does_not_know_leaves_all_unknown),
        cmocka_unit_test(of_nothing_there_is_nothing_to_say),
    };
    return cmocka_run_group_tests_name("feed: where bytes came from", tests, NULL, NULL);
}
