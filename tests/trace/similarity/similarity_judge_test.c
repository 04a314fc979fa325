/* What repeats explain, and what they do not: runs that differ as runs do, with seeds of their own. */
#include "support/sanitizer.h"
#include "trace/runs.h"

enum { REPEATS = 3, SETS = SEARCH_STEP > 1 ? 4 : 100 };

/* The machine is faster or slower, by some percent, each time. */
static struct run repeat_of(struct run run, uint64_t seed)
{
    uint64_t random = seed;
    run.seed = seed;
    run.latency *= exp(0.05 * random_normal(&random));
    run.pause *= exp(0.02 * random_normal(&random));
    return run;
}

/* Compares a repeat with `last`, beside other repeats. */
static struct similarity judge(const struct run *usual, const struct run *last, uint64_t seed)
{
    struct error err;
    struct similarity_options quick = options;
    struct similarity_trace traces[REPEATS + 1];
    struct similarity result;
    quick.replicates = 0;
    for (int i = 0; i <= REPEATS; i++) {
        make_run("a.db", repeat_of(i < REPEATS ? *usual : *last, seed * 100 + (uint64_t)i));
        read_run(&traces[i], "a.db");
    }
    assert_true(similarity_compare(&traces[0], &traces[REPEATS], &quick, &result, &err));
    assert_true(similarity_add_floor(&result, traces, REPEATS, &quick, &err));
    for (int i = 0; i <= REPEATS; i++)
        similarity_trace_release(&traces[i]);
    return result;
}

static void test_few_repeats_are_called_different(void **state)
{
    (void)state;
    int alarms = 0;
    for (uint64_t set = 1; set <= SETS; set++) {
        struct run usual = plain;
        usual.shuffled = set % 2;
        struct similarity result = judge(&usual, &usual, set);
        alarms += !similarity_is_within_noise(&result);
        similarity_release(&result);
    }
    if (alarms > SETS / 100)
        fail_msg("%d of %d", alarms, SETS);
}

static void require_named(const struct run *usual, const struct run *last, enum similarity_kind kind,
                          const char *name)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct similarity result = judge(usual, last, 1000 + seed);
        const struct similarity_component *worst = similarity_worst(&result);
        assert_false(similarity_is_within_noise(&result));
        assert_true(similarity_is_beyond(worst));
        assert_int_equal(worst->kind, kind);
        if (strncmp(worst->name, name, strlen(name)) != 0)
            fail_msg("%s for %s", worst->name, name);
        similarity_release(&result);
    }
}

static void test_known_changes_are_named(void **state)
{
    (void)state;
    struct run last = plain, shuffled = plain;
    shuffled.shuffled = true;
    require_named(&shuffled, &plain, SIMILARITY_ORDER, "names"); /* each repeat is shuffled in another way */
    require_named(&plain, &shuffled, SIMILARITY_ORDER, "");      /* files, or those with data: here all */
    last.late = 10;
    require_named(&plain, &last, SIMILARITY_LATENCY, "read");
    last = plain;
    last.size = 2;
    require_named(&plain, &last, SIMILARITY_SIZE, "");
    last = plain;
    last.keep = 8;
    require_named(&plain, &last, SIMILARITY_COUNT, "");
    last = plain;
    last.pause = 2;
    require_named(&plain, &last, SIMILARITY_GAP, "");
}

static void test_a_change_of_a_part_is_seen_in_its_window(void **state)
{
    (void)state;
    struct run last = plain;
    last.late = 5;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct similarity result = judge(&plain, &last, 2000 + seed);
        const struct similarity_component *window = similarity_worst_window(&result);
        assert_true(similarity_is_beyond(window));
        assert_int_equal(window->kind, SIMILARITY_LATENCY);
        assert_true(window->tenth >= 6);
        assert_near(window->ratio, 5, 0.7);
        similarity_release(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_few_repeats_are_called_different),
        TEST(test_known_changes_are_named),
        TEST(test_a_change_of_a_part_is_seen_in_its_window),
    };
    return cmocka_run_group_tests_name("similarity_judge", tests, NULL, NULL);
}
