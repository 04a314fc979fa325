#include "feed/result/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIB (INT64_C(1) << 30)

static const struct rules_run runs[] = {
    {1, 0.93, 100}, {2, 0.92, 101}, {3, 0.94, 99}, {4, 0.91, 100}, {5, 0.95, 100},
};
static const struct rules_host hosts[] = {{"a", 4, 64 * GIB}, {"b", 4, 64 * GIB}};

/* 500 · 7 · 8 = 28000 samples; 5 · 128 GiB / 146600628 B = 4687.6. */
static const struct rules_training good = {
    .workload = "unet3d_h100",
    .files = 28000,
    .samples_per_file = 1,
    .record_length = 146600628,
    .batch = 7,
    .hosts = hosts,
    .host_count = 2,
    .runs = runs,
    .run_count = 5,
    .warmed_up = RULES_YES,
};

static const struct rules_host wide[] = {{"a", 8, 64 * GIB}};
static const struct rules_checkpointing good_8b = {
    .model = "llama_8b_zero3",
    .hosts = wide,
    .host_count = 1,
    .writes = 10,
    .reads = 10,
    .synced = RULES_YES,
    .cache_cleared = RULES_YES,
};

static const struct rules_finding *finding(const struct rules_report *report, const char *rule)
{
    for (int i = 0; i < report->count; i++)
        if (strcmp(report->findings[i].rule, rule) == 0)
            return &report->findings[i];
    fail_msg("no rule '%s'", rule);
    return NULL;
}

static void assert_finding(const struct rules_report *report, const char *rule, enum rules_verdict verdict,
                           const char *text)
{
    const struct rules_finding *found = finding(report, rule);
    if (found->verdict != verdict)
        fail_msg("%s: %s: %s", rule, rules_verdict_name(found->verdict), found->text);
    if (!strstr(found->text, text))
        fail_msg("%s: %s", rule, found->text);
}

static void check(const struct rules_training *facts, struct rules_report *report)
{
    rules_check_training(facts, report);
}

static void what_keeps_to_the_rules_is_closed(void **state)
{
    struct rules_report report;
    (void)state;
    check(&good, &report);
    for (int i = 0; i < report.count; i++)
        if (report.findings[i].verdict != RULES_PASS)
            fail_msg("%s: %s", report.findings[i].rule, report.findings[i].text);
    assert_int_equal(report.category, RULES_CLOSED);
    assert_int_equal(report.failed + report.unknown, 0);
    rules_check_checkpointing(&good_8b, &report);
    assert_int_equal(report.category, RULES_CLOSED);
    assert_int_equal(report.failed + report.unknown, 0);
}

static void the_data_set_is_large_enough_by_steps(void **state)
{
    struct rules_report report;
    struct rules_training facts = good;
    (void)state;
    facts.files = 27999;
    check(&facts, &report);
    assert_finding(&report, "dataset-size", RULES_FAIL, "27999 files, at least 28000 are needed");
    assert_int_equal(report.category, RULES_INVALID);
}

static void the_data_set_is_large_enough_by_memory(void **state)
{
    static const struct rules_host large[] = {{"a", 1, 1024 * GIB}};
    struct rules_report report;
    struct rules_training facts = good;
    (void)state;
    facts.hosts = large;
    facts.host_count = 1;
    assert_int_equal(rules_minimum_files(7, 1, (double)(1024 * GIB), 146600628, 1), 37501); /* 37500.2 */
    facts.files = 37501;
    check(&facts, &report);
    assert_finding(&report, "dataset-size", RULES_PASS, "1024.0 GiB");
    facts.files = 37500;
    check(&facts, &report);
    assert_finding(&report, "dataset-size", RULES_FAIL, "at least 37501");
}

static void samples_of_a_file_count(void **state)
{
    (void)state;
    assert_int_equal(rules_minimum_files(400, 8, 0, 114660, 1251), 1279); /* 1600000 / 1251 */
}

static void a_target_is_per_workload(void **state)
{
    (void)state;
    assert_true(rules_au("unet3d") == 0.9 && rules_au("resnet50_a100") == 0.9 &&
                rules_au("cosmoflow_h100") == 0.7);
    assert_true(rules_au("unet3dx") == 0 && rules_au("bert_v100") == 0);
}

/* The validator of v2.0 does not look at AU. */
static void each_run_reaches_its_au(void **state)
{
    struct rules_run low[5];
    struct rules_report report;
    struct rules_training facts = good;
    (void)state;
    memcpy(low, runs, sizeof low);
    low[3].au = 0.8999;
    facts.runs = low;
    check(&facts, &report);
    assert_finding(&report, "au", RULES_FAIL, "AU of run 4 is 89.99 %, at least 90 %");
    facts.workload = "cosmoflow_a100";
    check(&facts, &report);
    assert_finding(&report, "au", RULES_PASS, "at least 70 %");
}

static void seeds_change_from_run_to_run(void **state)
{
    struct rules_run same[5];
    struct rules_report report;
    struct rules_training facts = good;
    (void)state;
    memcpy(same, runs, sizeof same);
    same[4].seed = 2;
    facts.runs = same;
    check(&facts, &report);
    assert_finding(&report, "seeds", RULES_FAIL, "runs 2 and 5 have the same seed, 2");
}

static void one_run_leaves_rules_unknown_and_the_category(void **state)
{
    struct rules_report report;
    struct rules_training facts = good;
    (void)state;
    facts.run_count = 1;
    facts.warmed_up = RULES_NOT_KNOWN;
    check(&facts, &report);
    assert_finding(&report, "runs", RULES_UNKNOWN, "1 of 5 runs");
    assert_finding(&report, "seeds", RULES_UNKNOWN, "there is 1");
    assert_finding(&report, "replicable", RULES_UNKNOWN, "one run");
    assert_finding(&report, "warm-up", RULES_UNKNOWN, "not known");
    assert_int_equal(report.unknown, 4);
    assert_int_equal(report.category, RULES_CLOSED);
    facts.warmed_up = RULES_NO;
    check(&facts, &report);
    assert_finding(&report, "warm-up", RULES_FAIL, "no run before");
}

static void runs_are_near_each_other(void **state)
{
    struct rules_run apart[5];
    struct rules_report report;
    struct rules_training facts = good;
    (void)state;
    memcpy(apart, runs, sizeof apart);
    apart[1].samples_per_second = 120; /* mean 103.8 */
    facts.runs = apart;
    check(&facts, &report);
    assert_finding(&report, "replicable", RULES_FAIL, "run 2 is 15.6 % from the mean");
}

static void hosts_are_alike(void **state)
{
    static const struct rules_host uneven[] = {{"a", 4, 64 * GIB}, {"b", 3, 64 * GIB}};
    struct rules_report report;
    struct rules_training facts = good;
    (void)state;
    facts.hosts = uneven;
    check(&facts, &report);
    assert_finding(&report, "equal-hosts", RULES_FAIL, "4 accelerators on a and 3 on b");
}

static void hosts_have_memory_for_their_accelerators(void **state)
{
    static const struct rules_host poor[] = {{"a", 4, 64 * GIB}, {"b", 4, GIB}};
    struct rules_report report;
    struct rules_training facts = good;
    (void)state;
    facts.hosts = poor;
    check(&facts, &report);
    assert_finding(&report, "host-memory", RULES_FAIL, "0.25 GiB of memory per accelerator on b");
}

static void with_parameters(const char *name, const char *value, const char *workload,
                            struct rules_report *report)
{
    struct rules_parameter parameters[] = {{"workload.reader.read_threads", "8"}, {name, value}};
    struct rules_training facts = good;
    facts.workload = workload;
    facts.parameters = parameters;
    facts.parameter_count = 2;
    check(&facts, report);
}

static void parameters_decide_on_the_category(void **state)
{
    struct rules_report report;
    (void)state;
    with_parameters("data_reader.prefetch_size", "2", "unet3d", &report);
    assert_int_equal(report.category, RULES_CLOSED);
    with_parameters("workload.dataset.format", "hdf5", "unet3d", &report);
    assert_int_equal(report.category, RULES_OPEN);
    assert_finding(&report, "parameters", RULES_PASS, "dataset.format may be changed in OPEN only");
    with_parameters("train.computation_time", "0.1", "unet3d", &report);
    assert_int_equal(report.category, RULES_INVALID);
    assert_finding(&report, "parameters", RULES_FAIL, "train.computation_time may not be changed");
}

static void some_parameters_have_limits(void **state)
{
    struct rules_report report;
    (void)state;
    with_parameters("reader.prefetch_size", "4", "unet3d", &report);
    assert_finding(&report, "parameters", RULES_FAIL, "reader.prefetch_size is 4");
    with_parameters("reader.odirect", "True", "unet3d_a100", &report);
    assert_finding(&report, "parameters", RULES_PASS, "2 parameters");
    with_parameters("reader.odirect", "True", "cosmoflow_a100", &report);
    assert_finding(&report, "parameters", RULES_FAIL, "for unet3d only");
}

static void all_wrong_parameters_are_counted(void **state)
{
    struct rules_parameter parameters[40];
    struct rules_report report;
    struct rules_training facts = good;
    (void)state;
    for (int i = 0; i < 40; i++)
        parameters[i] = (struct rules_parameter){"reader.batch_size", "1"};
    facts.parameters = parameters;
    facts.parameter_count = 40;
    check(&facts, &report);
    assert_finding(&report, "parameters", RULES_FAIL, "reader.batch_size may not be changed");
    assert_finding(&report, "parameters", RULES_FAIL, "and 39 others");
    assert_finding(&report, "replicable", RULES_PASS, "");
}

static void other_workloads_are_not_theirs(void **state)
{
    struct rules_report report;
    struct rules_training facts = good;
    (void)state;
    facts.workload = "bert_v100";
    check(&facts, &report);
    assert_finding(&report, "workload", RULES_FAIL, "bert_v100 is not one of");
    assert_int_equal(report.category, RULES_INVALID);
}

static void a_model_has_its_number_of_processes(void **state)
{
    static const struct {
        const char *model;
        int processes;
        bool subset;
        enum rules_category category;
    } cases[] = {
        {"8b", 8, false, RULES_CLOSED},
        {"llama3-70b", 64, false, RULES_CLOSED},
        {"llama_405b", 512, false, RULES_CLOSED},
        {"llama_1t", 1024, false, RULES_CLOSED},
        {"llama_405b", 8, true, RULES_CLOSED},
        {"llama_405b", 768, false, RULES_OPEN},
        {"llama_405b", 700, false, RULES_INVALID},
        {"llama_70b", 32, false, RULES_INVALID},
        {"llama_70b", 64, true, RULES_INVALID},
        {"llama_7b", 8, false, RULES_INVALID},
        {"llama_108b", 8, false, RULES_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rules_host host = {"a", cases[i].processes, 64 * GIB};
        struct rules_checkpointing facts = good_8b;
        struct rules_report report;
        facts.model = cases[i].model;
        facts.subset = cases[i].subset;
        facts.hosts = &host;
        rules_check_checkpointing(&facts, &report);
        if (report.category != cases[i].category)
            fail_msg("%s on %d: %s", cases[i].model, cases[i].processes,
                     rules_category_name(report.category));
    }
}

static void checkpoints_are_ten_synced_and_not_from_the_cache(void **state)
{
    struct rules_report report;
    struct rules_checkpointing facts = good_8b;
    (void)state;
    facts.writes = 9;
    facts.reads = 11;
    facts.synced = RULES_NO;
    facts.cache_cleared = RULES_NOT_KNOWN;
    rules_check_checkpointing(&facts, &report);
    assert_finding(&report, "writes", RULES_FAIL, "9 checkpoints written, 10");
    assert_finding(&report, "reads", RULES_FAIL, "11 checkpoints read");
    assert_finding(&report, "fsync", RULES_FAIL, "no: fsync");
    assert_finding(&report, "cache-cleared", RULES_UNKNOWN, "not known");
    assert_int_equal(report.failed, 3);
    assert_int_equal(report.unknown, 1);
}

static void hosts_have_at_least_four_processes(void **state)
{
    static const struct rules_host thin[] = {{"a", 5, 64 * GIB}, {"b", 3, 64 * GIB}};
    struct rules_report report;
    struct rules_checkpointing facts = good_8b;
    (void)state;
    facts.hosts = thin;
    facts.host_count = 2;
    rules_check_checkpointing(&facts, &report);
    assert_finding(&report, "processes-per-host", RULES_FAIL, "3 processes on b");
    assert_finding(&report, "processes", RULES_PASS, "8 processes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_keeps_to_the_rules_is_closed),
        cmocka_unit_test(the_data_set_is_large_enough_by_steps),
        cmocka_unit_test(the_data_set_is_large_enough_by_memory),
        cmocka_unit_test(samples_of_a_file_count),
        cmocka_unit_test(a_target_is_per_workload),
        cmocka_unit_test(each_run_reaches_its_au),
        cmocka_unit_test(seeds_change_from_run_to_run),
        cmocka_unit_test(one_run_leaves_rules_unknown_and_the_category),
        cmocka_unit_test(runs_are_near_each_other),
        cmocka_unit_test(hosts_are_alike),
        cmocka_unit_test(hosts_have_memory_for_their_accelerators),
        cmocka_unit_test(parameters_decide_on_the_category),
        cmocka_unit_test(some_parameters_have_limits),
        cmocka_unit_test(all_wrong_parameters_are_counted),
        cmocka_unit_test(other_workloads_are_not_theirs),
        cmocka_unit_test(a_model_has_its_number_of_processes),
        cmocka_unit_test(checkpoints_are_ten_synced_and_not_from_the_cache),
        cmocka_unit_test(hosts_have_at_least_four_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
