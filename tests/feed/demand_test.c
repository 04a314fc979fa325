/* What a feed takes from plans. */
#include "feed/demand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void load(struct plan *plan, const char *name)
{
    char path[512];
    struct error err;
    snprintf(path, sizeof path, "tests/data/plans/%s.json", name);
    if (!plan_load(plan, path, &err))
        fail_msg("%s", err.text);
}

static void parse(struct plan *plan, const char *text)
{
    struct error err;
    if (!plan_parse(plan, "plan.json", text, strlen(text), &err))
        fail_msg("%s", err.text);
}

static void every_plan_says_who_reads(void **state)
{
    static const struct {
        const char *name;
        int64_t readers, batch;
        double seconds;
    } cases[] = {
        {"pipeline", 1, 0, 0.1197},
        {"oobleck", 1, 0, 0.135},
        {"dapple", 8, 32, 0.54235},
        {"job", 8, 8, 3.7106045575327053},
        {"interleaved", 2, 32, 9.072101467949613},
        {"fleet", 2, 16, 0.11431492173801229},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan;
        struct feed_demand demand;
        load(&plan, cases[i].name);
        feed_demand_of(&demand, &plan, true);
        if (demand.readers != cases[i].readers || demand.batch != cases[i].batch ||
            demand.seconds < 0.999999 * cases[i].seconds || demand.seconds > 1.000001 * cases[i].seconds)
            fail_msg("%s: %lld readers of %lld in %g s", cases[i].name, (long long)demand.readers,
                     (long long)demand.batch, demand.seconds);
        plan_release(&plan);
    }
}

/* Two pipelines of three data-parallel ranks, and one of five: 11 readers of 2 x 4 x 6 + 1 x 7 x 6 = 90 samples. Tensor and
 * context ranks of a stage and later stages read nothing. */
static const char mixed[] =
    "{\"format\": \"rehearse-plan/2\", \"iteration_time\": 0.5, \"training\": {\"microbatch\": 6}, "
    "\"pipelines\": ["
    "{\"copies\": 2, \"microbatches\": 4, \"stages\": ["
    "{\"layers\": [0, 1], \"device_type\": \"a\", \"tensor\": 4, \"context\": 2, \"data\": 3},"
    "{\"layers\": [2, 3], \"device_type\": \"a\", \"data\": 7}]},"
    "{\"copies\": 1, \"microbatches\": 7, \"stages\": [{\"layers\": [0, 3], \"device_type\": \"b\", "
    "\"data\": 5}]}]}";

static void first_stages_read(void **state)
{
    struct plan plan;
    struct feed_demand demand;
    (void)state;
    parse(&plan, mixed);
    assert_int_equal(plan_samples(&plan), 90);
    feed_demand_of(&demand, &plan, true);
    assert_int_equal(demand.readers, 11);
    assert_int_equal(demand.batch, 9); /* 8.2, rounded up */
    assert_int_equal(demand.override_count, 4);
    assert_string_equal(demand.overrides[0], "reader.batch_size=9");
    assert_string_equal(demand.overrides[2], "train.computation_time=0.5");
    feed_demand_of(&demand, &plan, false);
    assert_int_equal(demand.override_count, 3);
    assert_string_equal(demand.overrides[1], "train.computation_time=0.5");
    plan_release(&plan);
}

static void readers_are_shared_by_processes(void **state)
{
    struct plan plan;
    struct feed_demand demand;
    struct error err;
    (void)state;
    parse(&plan, mixed);
    feed_demand_of(&demand, &plan, true);
    assert_int_equal(feed_demand_accelerators(&demand, &plan, 1, &err), 11);
    assert_int_equal(feed_demand_accelerators(&demand, &plan, 11, &err), 1);
    assert_int_equal(feed_demand_accelerators(&demand, &plan, 2, &err), 0);
    assert_string_equal(err.text, "plan.json: the 11 devices that read cannot be divided evenly among 2 "
                                  "processes: add --accelerators N");
    plan_release(&plan);
}

static void open_workload(struct workload *workload, const char *override)
{
    static const char text[] = "framework: pytorch\nworkflow: {train: True}\n"
                               "dataset: {data_folder: data, format: npz, num_files_train: 8}\n";
    struct error err;
    const struct workload_options options = {.overrides = &override, .override_count = override != NULL};
    if (!workload_parse(workload, "w.yaml", text, strlen(text), &options, &err))
        fail_msg("%s", err.text);
}

static void missing(const char *plan_text, const char *override, bool whole, const char *expected)
{
    struct plan plan;
    struct feed_demand demand;
    struct workload workload;
    struct error err = {0};
    parse(&plan, plan_text);
    open_workload(&workload, override);
    feed_demand_of(&demand, &plan, whole);
    bool ok = feed_demand_check(&demand, &plan, &workload, &err);
    assert_int_equal(ok, expected == NULL);
    if (expected)
        assert_string_equal(err.text, expected);
    workload_release(&workload);
    plan_release(&plan);
}

static void what_is_missing_is_named(void **state)
{
    static const char bare[] =
        "{\"pipelines\": [{\"stages\": [{\"layers\": [0, 3], \"device_type\": \"a\"}]}]}";
    static const char timed[] = "{\"iteration_time\": 2, \"pipelines\": [{\"stages\": [{\"layers\": [0, 3], "
                                "\"device_type\": \"a\"}]}]}";
    static const char no_time[] = "plan.json: neither the plan nor the workload has a step time: add --set "
                                  "train.computation_time=SECONDS";
    static const char no_batch[] = "plan.json: neither the plan nor the workload has a batch size: add --set "
                                   "reader.batch_size=N";
    (void)state;
    missing(bare, NULL, false, no_time);
    missing(bare, "train.computation_time=1", false, NULL);
    missing(bare, NULL, true, no_batch);
    missing(bare, "reader.batch_size=3", true, no_time);
    missing(timed, NULL, false, NULL);
    missing(timed, NULL, true, no_batch);
    missing(timed, "reader.batch_size=3", true, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_says_who_reads),
        cmocka_unit_test(first_stages_read),
        cmocka_unit_test(readers_are_shared_by_processes),
        cmocka_unit_test(what_is_missing_is_named),
    };
    return cmocka_run_group_tests_name("feed: the demand of a plan", tests, NULL, NULL);
}
