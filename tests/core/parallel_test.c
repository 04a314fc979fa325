#include "core/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MOST 5000

struct marks {
    unsigned char times[MOST]; /* written without locks: each index belongs to one piece */
    size_t grain;
    int threads;
    atomic_bool wrong;
};

static void mark(void *context, size_t first, size_t last, int thread)
{
    struct marks *marks = context;
    if (first >= last || last > MOST || last - first > marks->grain || thread < 0 || thread >= marks->threads)
        atomic_store(&marks->wrong, true);
    else
        for (size_t i = first; i < last; i++)
            marks->times[i]++;
}

static void require_once(struct parallel *pool, size_t count, size_t grain)
{
    static struct marks marks;
    memset(marks.times, 0, sizeof marks.times);
    marks.grain = grain ? grain : 1;
    marks.threads = parallel_threads(pool);
    parallel_for(pool, count, grain, mark, &marks);
    assert_false(atomic_load(&marks.wrong));
    for (size_t i = 0; i < MOST; i++)
        if (marks.times[i] != (i < count))
            fail_msg("index %zu of %zu, grain %zu: %d times", i, count, grain, marks.times[i]);
}

/* Ends after some pieces: of a loop that would take years nearly nothing is gone through. */
struct ending {
    atomic_size_t done;
    size_t max;
};

static void count_piece(void *context, size_t first, size_t last, int thread)
{
    struct ending *ending = context;
    (void)thread;
    atomic_fetch_add(&ending->done, last - first);
}

static bool below_most(void *context)
{
    struct ending *ending = context;
    return atomic_load(&ending->done) < ending->max;
}

static void a_loop_ends_when_it_is_told_to(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 5; threads += 2) {
        struct error err;
        struct parallel *pool = parallel_new(threads, &err);
        struct ending ending = {.max = 1000};
        assert_non_null(pool);
        parallel_while(pool, SIZE_MAX / 2, 1, count_piece, below_most, &ending);
        assert_in_range(atomic_load(&ending.done), 1000, 1000 + (size_t)threads);
        parallel_free(pool);
    }
}

static const size_t counts[] = {0, 1, 2, 3, 7, 8, 63, 64, 65, 1000, 4999, MOST};
static const size_t grains[] = {0, 1, 2, 3, 8, 64, 999, 1000, MOST, SIZE_MAX};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void every_index_is_run_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 9; threads++) {
        struct parallel *pool = parallel_new(threads, &(struct error){0});
        assert_non_null(pool);
        assert_int_equal(parallel_threads(pool), threads);
        for (size_t c = 0; c < LENGTH(counts); c++)
            for (size_t g = 0; g < LENGTH(grains); g++)
                require_once(pool, counts[c], grains[g]);
        parallel_free(pool);
    }
}

static void without_a_pool_there_is_one_thread(void **state)
{
    (void)state;
    assert_int_equal(parallel_threads(NULL), 1);
    for (size_t c = 0; c < LENGTH(counts); c++)
        for (size_t g = 0; g < LENGTH(grains); g++)
            require_once(NULL, counts[c], grains[g]);
    parallel_free(NULL);
}

static void a_pool_has_a_thread_per_processor_unless_told(void **state)
{
    (void)state;
    struct parallel *pool = parallel_new(0, &(struct error){0});
    assert_true(parallel_threads(pool) >= 1);
    require_once(pool, 100, 1);
    parallel_free(pool);
    pool = parallel_new(-1, &(struct error){0});
    assert_true(parallel_threads(pool) >= 1);
    parallel_free(pool);
    pool = parallel_new(100000, &(struct error){0});
    assert_true(parallel_threads(pool) <= 256);
    require_once(pool, 1000, 1);
    parallel_free(pool);
}

/* Each loop reads what the one before wrote, in other pieces: no loop may begin before the last has ended. */
struct step {
    uint64_t *from, *to;
    size_t count;
};

static void add_neighbours(void *context, size_t first, size_t last, int thread)
{
    const struct step *step = context;
    (void)thread;
    for (size_t i = first; i < last; i++)
        step->to[i] = step->from[i] * 3 + step->from[(i + 7) % step->count] + i;
}

static uint64_t many_steps(struct parallel *pool, size_t count, int steps)
{
    static uint64_t rows[2][512];
    uint64_t sum = 0;
    memset(rows, 0, sizeof rows);
    for (int s = 0; s < steps; s++) {
        struct step step = {rows[s % 2], rows[(s + 1) % 2], count};
        parallel_for(pool, count, (size_t)(s % 13) + 1, add_neighbours, &step);
    }
    for (size_t i = 0; i < count; i++)
        sum = sum * 31 + rows[steps % 2][i];
    return sum;
}

static void thousands_of_loops_follow_one_another(void **state)
{
    (void)state;
    uint64_t expected = many_steps(NULL, 300, 5000);
    for (int threads = 2; threads <= 5; threads++) {
        struct parallel *pool = parallel_new(threads, &(struct error){0});
        assert_non_null(pool);
        assert_true(many_steps(pool, 300, 5000) == expected);
        parallel_free(pool);
    }
}

/* Long enough apart that the workers have gone to sleep. */
static void sleeping_workers_are_woken(void **state)
{
    struct parallel *pool = parallel_new(4, &(struct error){0});
    (void)state;
    assert_non_null(pool);
    for (int i = 0; i < 20; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        require_once(pool, 64, 1);
    }
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    parallel_free(pool);
}

static void pools_come_and_go(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct parallel *pool = parallel_new(1 + i % 6, &(struct error){0});
        assert_non_null(pool);
        if (i % 3)
            require_once(pool, (size_t)i, 1);
        parallel_free(pool);
    }
}

/* Scratch memory of a thread is touched by no other at the same time. */
struct scratch {
    atomic_int busy[8];
    atomic_bool shared;
};

static void use_scratch(void *context, size_t first, size_t last, int thread)
{
    struct scratch *scratch = context;
    if (atomic_fetch_add(&scratch->busy[thread], 1) != 0)
        atomic_store(&scratch->shared, true);
    for (volatile size_t i = first; i < last + 200; i++)
        ;
    atomic_fetch_sub(&scratch->busy[thread], 1);
}

static void threads_have_their_own_number(void **state)
{
    struct scratch scratch = {0};
    struct parallel *pool = parallel_new(8, &(struct error){0});
    (void)state;
    assert_non_null(pool);
    for (int i = 0; i < 200; i++)
        parallel_for(pool, 100, 1, use_scratch, &scratch);
    assert_false(atomic_load(&scratch.shared));
    parallel_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_is_run_once),
        cmocka_unit_test(a_loop_ends_when_it_is_told_to),
        cmocka_unit_test(without_a_pool_there_is_one_thread),
        cmocka_unit_test(a_pool_has_a_thread_per_processor_unless_told),
        cmocka_unit_test(thousands_of_loops_follow_one_another),
        cmocka_unit_test(sleeping_workers_are_woken),
        cmocka_unit_test(pools_come_and_go),
        cmocka_unit_test(threads_have_their_own_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
