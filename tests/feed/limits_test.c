/* The verdict on what limits, of runs that never were. */
#include "feed/limits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct limits limits;

/* Ten seconds of four readers that wait for a disk, of which nothing more is known. */
static struct limits_facts waiting(void)
{
    struct limits_facts facts = {
        .seen = {.at = 10,
                 .cpus = 2,
                 .group_rate = (double)INFINITY,
                 .device = "sda",
                 .file_system = "ext4",
                 .counted = true},
        .busy = 38,
        .cpu = 1,
        .readers = 4,
        .bytes = 1e9,
        .au = 0.5,
        .au_target = 0.9,
        .missed = true,
        .from_storage = 1,
    };
    for (int i = 0; i < LIMITS_COUNTERS; i++)
        facts.seen.counters[i] = (double)NAN;
    facts.seen.round_trip = facts.seen.min_trip = (double)NAN;
    return facts;
}

#define EXPECT(facts, expected)                                                                              \
    do {                                                                                                     \
        limits_judge(&(facts), &limits);                                                                     \
        assert_string_equal(limits_words[limits.resource], expected);                                        \
    } while (0)

static const struct limits_evidence *evidence(const char *part)
{
    for (int i = 0; i < limits.evidence_count; i++)
        if (strstr(limits.evidence[i].text, part))
            return &limits.evidence[i];
    fail_msg("no evidence has '%s'", part);
    return NULL;
}

static void waiting_alone_names_nothing(void **state)
{
    (void)state;
    struct limits_facts facts = waiting();
    EXPECT(facts, "unclear");
    assert_string_equal(limits.text, "not clear: no two kinds of evidence agree");
    assert_int_equal(evidence("by all processes: unknown")->says, LIMITS_UNKNOWN);
    assert_int_equal(evidence("whether more readers get more")->says, LIMITS_UNKNOWN);
    facts.seen.counters[LIMITS_DEVICE_BUSY] = 10; /* the same seconds once more: one reader keeps it so */
    EXPECT(facts, "unclear");
}

static void a_busy_device_that_gives_no_more_is_named(void **state)
{
    (void)state;
    struct limits_facts facts = waiting();
    facts.seen.counters[LIMITS_DEVICE_BUSY] = 10;
    facts.rates[0] = (struct limits_rate){4, 1e8};
    facts.rates[1] = (struct limits_rate){8, 1.05e8};
    EXPECT(facts, "device");
    assert_string_equal(limits.text, "the device sda");
    facts.rates[1].rate = 1.9e8; /* latency: more readers get more */
    EXPECT(facts, "unclear");
    assert_non_null(evidence("more reading threads or depth may help"));
}

static void a_rate_that_is_reached_is_a_limit(void **state)
{
    (void)state;
    struct limits_facts facts = waiting();
    facts.seen.group_rate = 4e7;
    facts.seen.counters[LIMITS_OWN_READ] = 3.95e8;
    EXPECT(facts, "device");
    facts.seen.counters[LIMITS_OWN_READ] = 2e8;
    EXPECT(facts, "unclear");
}

static void behind_a_network_a_queue_tells_it_from_the_server(void **state)
{
    (void)state;
    struct limits_facts facts = waiting();
    facts.seen.counted = false;
    facts.seen.round_trip = 0.02;
    facts.seen.min_trip = 0.0001;
    EXPECT(facts, "unclear"); /* an answer may be late for other reasons */
    facts.seen.disordered = 12;
    EXPECT(facts, "network");
    facts.seen.round_trip = 0.0002;
    facts.seen.disordered = 0;
    EXPECT(facts, "unclear");
    facts.rates[0] = (struct limits_rate){4, 1e8};
    facts.rates[1] = (struct limits_rate){8, 1e8};
    EXPECT(facts, "server");
}

static void working_readers_need_processors(void **state)
{
    (void)state;
    struct limits_facts facts = waiting();
    facts.cpu = 20;
    facts.delayed = 90; /* more than they read: that of other times, too */
    EXPECT(facts, "unclear");
    facts.seen.counters[LIMITS_CPU_BUSY] = 19;
    EXPECT(facts, "cpu");
    facts.seen.counters[LIMITS_CPU_BUSY] = 10; /* one of two: more threads would help */
    EXPECT(facts, "unclear");
    facts.throttled = 5;
    EXPECT(facts, "cpu");
    facts.seen.group_rate = 4e7; /* a rate that is reached by readers that work */
    facts.seen.counters[LIMITS_OWN_READ] = 4e8;
    EXPECT(facts, "cpu");
}

static void want_of_memory_comes_before_what_it_causes(void **state)
{
    (void)state;
    struct limits_facts facts = waiting();
    facts.seen.group_rate = 4e7;
    facts.seen.counters[LIMITS_OWN_READ] = 4e8;
    facts.seen.counters[LIMITS_PRESSURE_MEMORY] = 3;
    EXPECT(facts, "device");
    facts.seen.counters[LIMITS_REFAULTS] = 5e8;
    EXPECT(facts, "memory");
}

static void a_target_that_is_met_leaves_the_accelerators(void **state)
{
    (void)state;
    struct limits_facts facts = waiting();
    facts.au = 0.95;
    facts.missed = false;
    EXPECT(facts, "unclear"); /* the readers had no rest */
    facts.busy = 10;
    EXPECT(facts, "accelerators");
    facts.missed = true; /* by more of them */
    EXPECT(facts, "unclear");
}

static void looks_add_up(void **state)
{
    struct limits_look before, after, sum = {0};
    (void)state;
    limits_look("/", &before);
    limits_look("/", &after);
    limits_add(&sum, &before, &after);
    limits_add(&sum, &before, &after);
    assert_true(fabs(sum.at - 2 * (after.at - before.at)) < 1e-6);
    for (int i = 0; i < LIMITS_COUNTERS; i++)
        assert_true(!(sum.counters[i] < 0));
    limits_look(NULL, &after);
    assert_string_equal(after.file_system, "s3");
    limits_look("/no/such/folder", &after);
    assert_false(after.counted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_alone_names_nothing),
        cmocka_unit_test(a_busy_device_that_gives_no_more_is_named),
        cmocka_unit_test(a_rate_that_is_reached_is_a_limit),
        cmocka_unit_test(behind_a_network_a_queue_tells_it_from_the_server),
        cmocka_unit_test(working_readers_need_processors),
        cmocka_unit_test(want_of_memory_comes_before_what_it_causes),
        cmocka_unit_test(a_target_that_is_met_leaves_the_accelerators),
        cmocka_unit_test(looks_add_up),
    };
    return cmocka_run_group_tests_name("feed: what limits", tests, NULL, NULL);
}
