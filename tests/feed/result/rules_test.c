#include "feed/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIB (INT64_C(1) << 30)

static struct session session;
static struct workload workload;

/* One with the facts of a run that keeps all rules: 500 · 7 · 8 = 28000 samples; 5 · 128 GiB / 146600628 B = 4687.6. */
static void begin(const char *name)
{
    struct error err;
    struct metrics_options options = {
        .accelerators = 8, .epochs = 1, .steps = {4}, .batch = {7}, .au_target = 0.9};
    if (!workload_open(&workload, name, NULL, &err) ||
        !metrics_init(&session.run.whole, &options, 0, 8, &err))
        fail_msg("%s", err.text);
    session.options.run.workload = &workload;
    session.options.run.drop = RUN_DROP_FILES;
    session.layout.files_train = 28000;
    session.layout.samples_per_file = 1;
    session.hosts = calloc(2, sizeof *session.hosts);
    assert_non_null(session.hosts);
    session.host_count = 2;
    for (int i = 0; i < 2; i++)
        session.hosts[i] =
            (struct session_host){.name = {(char)('a' + i)}, .accelerators = 4, .memory = 64 * GIB};
    for (int a = 0; a < 8; a++) {
        metrics_row(&session.run.whole, a, 0, METRICS_TRAIN)->counted =
            (struct metrics_sums){.steps = 1, .samples = 7, .compute_asked = 93, .time = 100};
    }
}

static int start_training(void **state)
{
    (void)state;
    begin("unet3d_h100");
    return 0;
}

static int start_checkpoints(void **state)
{
    (void)state;
    begin("llama_8b_zero3");
    workload.checkpoint.fsync = true;
    session.host_count = 1;
    session.hosts[0].accelerators = 8;
    return 0;
}

static int end(void **state)
{
    (void)state;
    metrics_release(&session.run.whole);
    free(session.hosts);
    session = (struct session){0};
    workload_release(&workload);
    return 0;
}

static void assert_finding(const char *rule, enum rules_verdict verdict, const char *text)
{
    const struct rules_report *report = &session.rules;
    session_check_rules(&session);
    for (int i = 0; i < report->count; i++) {
        const struct rules_finding *found = &report->findings[i];
        if (strcmp(found->rule, rule) == 0) {
            if (found->verdict != verdict || !strstr(found->text, text))
                fail_msg("%s: %s: %s", rule, rules_verdict_name(found->verdict), found->text);
            return;
        }
    }
    fail_msg("no rule '%s'", rule);
}

static void assert_category(enum rules_category category, int failed, int unknown)
{
    session_check_rules(&session);
    assert_true(session.has_rules);
    assert_string_equal(rules_category_name(session.rules.category), rules_category_name(category));
    assert_int_equal(session.rules.failed, failed);
    assert_int_equal(session.rules.unknown, unknown);
}

/* What one run cannot show is unknown, and leaves the category. */
static void a_run_that_keeps_to_the_rules_is_closed(void **state)
{
    (void)state;
    assert_category(RULES_CLOSED, 0, 4);
    assert_finding("runs", RULES_UNKNOWN, "1 of 5 runs");
    assert_finding("seeds", RULES_UNKNOWN, "whether the seed changes");
    assert_finding("replicable", RULES_UNKNOWN, "one run");
    assert_finding("warm-up", RULES_UNKNOWN, "cannot show");
}

static void checkpoints_that_keep_to_the_rules_are_closed(void **state)
{
    (void)state;
    assert_category(RULES_CLOSED, 0, 0);
}

static void the_data_set_is_large_enough_by_steps(void **state)
{
    (void)state;
    session.layout.files_train = 27999;
    assert_finding("dataset-size", RULES_FAIL, "27999 files, at least 28000 needed");
    assert_category(RULES_INVALID, 1, 4);
}

static void the_data_set_is_large_enough_by_memory(void **state)
{
    (void)state;
    session.host_count = 1;
    session.hosts[0].memory = 1024 * GIB;
    session.layout.files_train = 37501; /* 37500.2 */
    assert_finding("dataset-size", RULES_PASS, "1024.0 GiB");
    session.layout.files_train = 37500;
    assert_finding("dataset-size", RULES_FAIL, "at least 37501");
}

static void samples_of_a_file_count(void **state)
{
    (void)state;
    session.layout.samples_per_file = 1251;
    workload.reader.batch_size = 400;
    workload.dataset.record_length_bytes = 1e9;
    assert_finding("dataset-size", RULES_PASS, "at least 1279"); /* 1600000 / 1251 */
}

/* The validator of v2.0 does not look at AU. */
static void a_run_reaches_the_au_of_its_workload(void **state)
{
    (void)state;
    assert_finding("au", RULES_PASS, "AU of run 1 is 93.00 %, at least 90 %");
    for (int a = 0; a < 8; a++)
        metrics_row(&session.run.whole, a, 0, METRICS_TRAIN)->counted.time = 104;
    assert_finding("au", RULES_FAIL, "AU of run 1 is 89.42 %, at least 90 %");
    workload.name = "resnet50_a100";
    assert_finding("au", RULES_FAIL, "at least 90 %");
    workload.name = "cosmoflow_a100";
    assert_finding("au", RULES_PASS, "at least 70 %");
}

static void other_workloads_are_not_theirs(void **state)
{
    static const char *const names[] = {"bert_v100", "unet3dx", "unet3d.yaml"};
    (void)state;
    workload.model.name = "mine"; /* a file is known by its model */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        workload.name = names[i];
        assert_finding("workload", RULES_FAIL, "is not one of");
    }
    workload.model.name = "unet3d";
    assert_finding("workload", RULES_PASS, "unet3d is one of");
}

static void hosts_are_alike(void **state)
{
    (void)state;
    session.hosts[1].accelerators = 3;
    assert_finding("equal-hosts", RULES_FAIL, "4 accelerators on a and 3 on b");
}

static void hosts_have_memory_for_their_accelerators(void **state)
{
    (void)state;
    session.hosts[1].memory = GIB;
    assert_finding("host-memory", RULES_FAIL, "0.25 GiB of memory per accelerator on b");
}

static void override(const char *override, const char *name)
{
    static const char *overrides[] = {"++workload.reader.read_threads=8", NULL};
    overrides[1] = override;
    workload.name = name;
    session.options.overrides = overrides;
    session.options.override_count = 2;
}

static void parameters_decide_on_the_category(void **state)
{
    (void)state;
    override("data_reader.prefetch_size=2", "unet3d");
    assert_category(RULES_CLOSED, 0, 4);
    override("++workload.dataset.format=hdf5", "unet3d");
    assert_category(RULES_OPEN, 0, 4);
    assert_finding("parameters", RULES_PASS, "dataset.format may only be changed in OPEN");
    override("train.computation_time=0.1", "unet3d");
    assert_category(RULES_INVALID, 1, 4);
    assert_finding("parameters", RULES_FAIL, "train.computation_time may not be changed");
}

static void some_parameters_have_limits(void **state)
{
    (void)state;
    override("reader.prefetch_size=4", "unet3d");
    assert_finding("parameters", RULES_FAIL, "reader.prefetch_size is 4");
    override("data_reader.prefetch_size=4", "unet3d");
    assert_finding("parameters", RULES_FAIL, "reader.prefetch_size is 4");
    override("reader.odirect=True", "unet3d_a100");
    assert_finding("parameters", RULES_PASS, "2 parameters");
    override("reader.odirect=True", "cosmoflow_a100");
    assert_finding("parameters", RULES_FAIL, "for unet3d only");
}

static void all_wrong_parameters_are_counted(void **state)
{
    const char *overrides[40];
    (void)state;
    for (int i = 0; i < 40; i++)
        overrides[i] = "reader.batch_size=1";
    session.options.overrides = overrides;
    session.options.override_count = 40;
    assert_finding("parameters", RULES_FAIL, "reader.batch_size may not be changed");
    assert_finding("parameters", RULES_FAIL, "and 39 others");
    assert_finding("replicable", RULES_UNKNOWN, "");
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
        workload.name = cases[i].model;
        workload.checkpoint.mode = cases[i].subset ? WORKLOAD_CHECKPOINT_SUBSET : WORKLOAD_CHECKPOINT_DEFAULT;
        session.hosts[0].accelerators = cases[i].processes;
        session_check_rules(&session);
        if (session.rules.category != cases[i].category)
            fail_msg("%s on %d: %s", cases[i].model, cases[i].processes,
                     rules_category_name(session.rules.category));
    }
}

static void checkpoints_are_ten_synced_and_not_from_the_cache(void **state)
{
    (void)state;
    workload.checkpoint.num_checkpoints_write = 9;
    workload.checkpoint.num_checkpoints_read = 11;
    workload.checkpoint.fsync = false;
    session.options.run.drop = RUN_DROP_NOTHING;
    assert_finding("writes", RULES_FAIL, "9 checkpoints written, 10");
    assert_finding("reads", RULES_FAIL, "11 checkpoints read");
    assert_finding("fsync", RULES_FAIL, "no: fsync");
    assert_finding("cache-cleared", RULES_FAIL, "no: the page cache");
    assert_category(RULES_INVALID, 4, 0);
}

static void hosts_have_at_least_four_processes(void **state)
{
    (void)state;
    session.host_count = 2;
    session.hosts[0].accelerators = 5;
    session.hosts[1].accelerators = 3;
    assert_finding("processes-per-host", RULES_FAIL, "3 processes on b");
    assert_finding("processes", RULES_PASS, "8 processes");
}

#define TRAINING(name)    cmocka_unit_test_setup_teardown(name, start_training, end)
#define CHECKPOINTS(name) cmocka_unit_test_setup_teardown(name, start_checkpoints, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRAINING(a_run_that_keeps_to_the_rules_is_closed),
        CHECKPOINTS(checkpoints_that_keep_to_the_rules_are_closed),
        TRAINING(the_data_set_is_large_enough_by_steps),
        TRAINING(the_data_set_is_large_enough_by_memory),
        TRAINING(samples_of_a_file_count),
        TRAINING(a_run_reaches_the_au_of_its_workload),
        TRAINING(other_workloads_are_not_theirs),
        TRAINING(hosts_are_alike),
        TRAINING(hosts_have_memory_for_their_accelerators),
        TRAINING(parameters_decide_on_the_category),
        TRAINING(some_parameters_have_limits),
        TRAINING(all_wrong_parameters_are_counted),
        CHECKPOINTS(a_model_has_its_number_of_processes),
        CHECKPOINTS(checkpoints_are_ten_synced_and_not_from_the_cache),
        CHECKPOINTS(hosts_have_at_least_four_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
