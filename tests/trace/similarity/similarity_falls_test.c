/* The more two runs differ, the less alike they are. */
#include "support/sanitizer.h"
#include "trace/runs.h"

enum { SEEDS = SEARCH_STEP > 1 ? 3 : 12, STEPS = 5 };

/* The runs change a little more each time, whatever the run. */
static void check_falls(void (*change)(struct run *run, int step))
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        double before = 1;
        struct run run = plain;
        run.seed = seed;
        make_run("a.db", run);
        for (int step = 1; step <= STEPS; step++) {
            run = plain;
            run.seed = seed;
            change(&run, step);
            make_run("b.db", run);
            double value = value_of("a.db", "b.db");
            if (value >= before)
                fail_msg("seed %d, step %d: %.6f after %.6f", (int)seed, step, value, before);
            before = value;
        }
    }
}

static void delay(struct run *run, int step)
{
    run->latency = pow(1.5, step);
}

static void delay_by_little(struct run *run, int step)
{
    run->latency = 1 + 0.01 * step; /* less than the resolution of times */
}

static void pause_longer(struct run *run, int step)
{
    run->pause = pow(1.5, step);
}

static void enlarge(struct run *run, int step)
{
    run->size = pow(1.4, step);
}

static void shrink(struct run *run, int step)
{
    run->size = pow(0.7, step);
}

static void swap_files(struct run *run, int step)
{
    run->swapped = 15 * step;
}

static void turn_accesses(struct run *run, int step)
{
    run->turned = 2 * step;
}

static void drop(struct run *run, int step)
{
    run->keep = 10 - step;
}

static void test_it_falls_with_delay_of_calls(void **state)
{
    (void)state;
    check_falls(delay);
    check_falls(delay_by_little);
}

static void test_it_falls_with_pauses_between_calls(void **state)
{
    (void)state;
    check_falls(pause_longer);
}

static void test_it_falls_with_size(void **state)
{
    (void)state;
    check_falls(enlarge);
    check_falls(shrink);
}

static void test_it_falls_as_files_change_places(void **state)
{
    (void)state;
    check_falls(swap_files);
}

static void test_it_falls_as_accesses_change_places(void **state)
{
    (void)state;
    check_falls(turn_accesses);
}

static void test_it_falls_as_events_are_dropped(void **state)
{
    (void)state;
    check_falls(drop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_it_falls_with_delay_of_calls),
        TEST(test_it_falls_with_pauses_between_calls),
        TEST(test_it_falls_with_size),
        TEST(test_it_falls_as_files_change_places),
        TEST(test_it_falls_as_accesses_change_places),
        TEST(test_it_falls_as_events_are_dropped),
    };
    return cmocka_run_group_tests_name("similarity_falls", tests, NULL, NULL);
}
