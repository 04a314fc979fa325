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
                fail_msg("%s: %s: %s, not '%s'", rule, rules_verdict_words[found->verdict], found->text,
                         text);
            return;
        }
    }
    fail_msg("no rule '%s'", rule);
}

static void assert_category(enum rules_category category, int failed, int unknown)
{
    session_check_rules(&session);
    assert_true(session.has_rules);
    assert_string_equal(rules_category_words[session.rules.category], rules_category_words[category]);
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
    assert_finding("au", RULES_PASS, "AU is 93.00 %, at least 90 %");
    for (int a = 0; a < 8; a++)
        metrics_row(&session.run.whole, a, 0, METRICS_TRAIN)->counted.time = 104;
    assert_finding("au", RULES_FAIL, "AU is 89.42 %, at least 90 %");
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

/* Opens the workload of this name again with an override. */
static void override(const char *name, const char *override)
{
    const char *overrides[] = {"++workload.reader.read_threads=8", override};
    const struct workload_options options = {.overrides = overrides, .override_count = 2};
    struct error err;
    workload_release(&workload);
    if (!workload_open(&workload, name, &options, &err))
        fail_msg("%s", err.text);
}

static void parameters_decide_on_the_category(void **state)
{
    (void)state;
    override("unet3d_h100", "data_reader.prefetch_size=1");
    assert_category(RULES_CLOSED, 0, 4);
    override("unet3d_h100", "++workload.dataset.format=hdf5");
    assert_category(RULES_OPEN, 0, 4);
    assert_finding("parameters", RULES_PASS, "dataset.format may only be changed in OPEN");
    override("unet3d_h100", "train.computation_time=0.1");
    assert_category(RULES_INVALID, 1, 4);
    assert_finding("parameters", RULES_FAIL, "train.computation_time is 0.1, unet3d_h100 has 0.323");
    override("unet3d_h100", "model.name=unet3d_toy");
    assert_finding("parameters", RULES_FAIL, "model.name is \"unet3d_toy\", unet3d_h100 has \"unet3d\"");
}

static void some_parameters_have_limits(void **state)
{
    (void)state;
    override("unet3d_h100", "reader.prefetch_size=4");
    assert_finding("parameters", RULES_FAIL, "reader.prefetch_size is 4");
    override("unet3d_h100", "data_reader.prefetch_size=4");
    assert_finding("parameters", RULES_FAIL, "reader.prefetch_size is 4");
    override("unet3d_a100", "reader.odirect=True");
    assert_finding("parameters", RULES_PASS, "2 keys");
    override("cosmoflow_a100", "reader.odirect=True");
    assert_finding("parameters", RULES_FAIL, "for unet3d");
}

static void all_wrong_parameters_are_counted(void **state)
{
    (void)state;
    override("unet3d_h100", "reader.batch_size=1");
    workload.train.epochs = 1;
    workload.metric.au = 0;
    assert_finding("parameters", RULES_FAIL, "reader.batch_size is 1, unet3d_h100 has 7; and 2 other keys");
    assert_finding("replicable", RULES_UNKNOWN, "");
}

/* Reads a workload from text, as of a file. */
static void read_file(const char *text)
{
    struct error err;
    workload_release(&workload);
    if (!workload_parse(&workload, "mine.yaml", text, strlen(text), NULL, &err))
        fail_msg("%s", err.text);
}

/* A file of the benchmark's name that is not the benchmark. */
static void a_file_is_compared_key_by_key(void **state)
{
    (void)state;
    read_file(
        "model: {name: llama_8b, type: transformer, num_layers: 1, parallelism: {zero_stage: 3},\n"
        "        transformer: {vocab_size: 128256, hidden_size: 4096, ffn_hidden_size: 14336}}\n"
        "framework: pytorch\n"
        "workflow: {train: False, checkpoint: True}\n"
        "checkpoint: {time_between_checkpoints: 5, num_checkpoints_write: 10, num_checkpoints_read: 10,\n"
        "             fsync: True}\n");
    assert_finding("parameters", RULES_FAIL, "model.num_layers is 1, llama_8b_zero3 has 32");
    assert_category(RULES_INVALID, 1, 0);
    workload.model.num_layers = 32;
    assert_category(RULES_CLOSED, 0, 0);
    read_file("model: {name: unet3d}\nreader: {batch_sizes: 7}\n");
    assert_finding("parameters", RULES_FAIL, "1 unknown key in the workload");
    read_file("model: {name: mine}\nworkflow: {train: True}\n");
    assert_finding("workload", RULES_FAIL, "mine is not one of unet3d");
    assert_finding("parameters", RULES_FAIL, "model.name is \"mine\"");
}

/* A built-in workload of no round is nearest to none: its keys are its own. */
static void what_is_no_benchmark_has_keys_of_its_own(void **state)
{
    struct error err;
    (void)state;
    workload_release(&workload);
    if (!workload_open(&workload, "flux_b200", NULL, &err))
        fail_msg("%s", err.text);
    assert_finding("workload", RULES_FAIL,
                   "flux_b200 is not one of unet3d, resnet50 and cosmoflow (v2.0), unet3d");
    for (int i = 0; i < session.rules.count; i++)
        assert_string_not_equal(session.rules.findings[i].rule, "parameters");
}

static void the_data_set_is_of_the_workload(void **state)
{
    (void)state;
    session.found = true;
    session.layout.record_bytes = 146600628;
    session.layout.record_bytes_stdev = 68341808;
    assert_category(RULES_CLOSED, 0, 4);
    session.layout.record_bytes = 4096;
    assert_finding("data-set", RULES_FAIL, "dataset.record_length_bytes is 4096 in the data set, 146600628");
}

static void options_that_change_the_run_are_refused(void **state)
{
    (void)state;
    session.options.run.step.no_barrier = true;
    assert_finding("options", RULES_FAIL, "--no-barrier");
    session.options.run.step.no_barrier = false;
    session.options.run.step.copy_rate = 1e9;
    assert_finding("options", RULES_FAIL, "--copy-rate");
    assert_category(RULES_INVALID, 1, 4);
}

/* What the rules allow, once more: NULL ends a list. */
static const char *const allowed[] = {
    "dataset.num_files_train",
    "dataset.num_subfolders_train",
    "dataset.data_folder",
    "reader.read_threads",
    "reader.computation_threads",
    "reader.transfer_size",
    "reader.prefetch_size",
    "checkpoint.checkpoint_folder",
    "storage.storage_root",
    "storage.storage_type",
    "train.seed",
    "workflow.generate_data",
    "output.folder",
    "output.log_file",
    "checkpoint.mode",
    "checkpoint.num_checkpoints_write", /* rules of their own */
    "checkpoint.num_checkpoints_read",
    "checkpoint.fsync",
    NULL,
};
static const char *const opening[] = {
    "framework",
    "dataset.format",
    "dataset.num_samples_per_file",
    "reader.data_loader",
    "reader.reader_classname",
    "reader.data_loader_classname",
    NULL,
    "reader.data_loader_sampler",
};

static bool is_in(const char *const *list, const char *path)
{
    while (*list && strcmp(*list, path) != 0)
        list++;
    return *list != NULL;
}

/* Sets a key to some other value. */
static void change(const struct workload_key *key)
{
    static const int64_t whole[] = {3};
    static const char *const texts[] = {"sda"};
    static const struct workload_column column = {"a", "uint8", 1, 1, true};
    void *field = (char *)&workload + key->offset;
    int at = 0;
    switch (key->type) {
    case WORKLOAD_TEXT:
        while (key->words && *(const char **)field && strcmp(key->words[at], *(const char **)field) == 0)
            at++;
        *(const char **)field = key->words ? key->words[at] : "other";
        break;
    case WORKLOAD_BOOL:
        *(bool *)field = !*(bool *)field;
        break;
    case WORKLOAD_INTEGER:
        *(int64_t *)field += *(int64_t *)field < (int64_t)key->max ? 1 : -1;
        if (strcmp(key->path, "reader.prefetch_size") == 0)
            *(int64_t *)field = 1;
        break;
    case WORKLOAD_NUMBER:
        *(double *)field = *(double *)field == key->max ? key->min : (*(double *)field + key->max) / 2;
        break;
    case WORKLOAD_WORD:
        *(int *)field = *(int *)field == 0;
        break;
    case WORKLOAD_INTEGERS:
        *(struct workload_integers *)field = (struct workload_integers){whole, 1};
        break;
    case WORKLOAD_TEXTS:
        *(struct workload_texts *)field = (struct workload_texts){texts, 1};
        break;
    case WORKLOAD_DISTRIBUTION:
        *(struct distribution *)field =
            (struct distribution){.type = DISTRIBUTION_NORMAL, .first = 2, .second = 1};
        break;
    case WORKLOAD_COLUMNS:
        *(struct workload_columns *)field = (struct workload_columns){&column, 1};
        break;
    }
}

static void write_value(const struct workload_key *key, struct text *out)
{
    struct json json = {.out = out};
    workload_write_value(&workload, key, &json, NULL);
    assert_non_null(out->data);
    out->data[strcspn(out->data, "\n")] = 0;
}

/* Changes one key of a benchmark, in memory, which stands for any place, or in a file, or by an override. */
static int try_key(const char *name, const struct workload_key *key, int way)
{
    struct text before = {0}, value = {0}, text = {0};
    struct error err;
    workload_release(&workload);
    assert_true(workload_open(&workload, name, NULL, &err));
    write_value(key, &before);
    change(key);
    write_value(key, &value);
    bool opened = true;
    if (way == 1) {
        workload_write_yaml(&workload, &text);
        workload_release(&workload);
        opened = workload_parse(&workload, "mine.yaml", text.data, text.length, NULL, &err);
    } else if (way == 2) {
        text_format(&text, "%s=%s", key->path, value.data);
        const char *overrides[] = {text.data};
        workload_release(&workload);
        opened = workload_open(&workload, name,
                               &(struct workload_options){.overrides = overrides, .override_count = 1}, &err);
    }
    if (opened) {
        bool odirect = strcmp(key->path, "reader.odirect") == 0 && strncmp(name, "unet3d", 6) == 0;
        bool open = is_in(opening, key->path) || strcmp(key->path, "reader.data_loader_sampler") == 0;
        if (is_in(allowed, key->path) || odirect || open) {
            assert_finding("parameters", RULES_PASS, open ? key->path : "differ from ");
            assert_true(!open || session.rules.category != RULES_CLOSED);
        } else if (strcmp(key->path, "workflow.train") == 0) { /* another kind of benchmark */
            assert_finding("parameters", RULES_FAIL, "");
        } else {
            text_release(&text);
            size_t length = strlen(key->path) - strlen("_stdev");
            bool merged =
                way > 0 && strcmp(key->path + length, "_stdev") == 0 && strncmp(key->path, "dataset", 7);
            text_format(&text, "%.*s is ", (int)(merged ? length : strlen(key->path)), key->path);
            bool sure = way != 1 || !strstr(name, "a100"); /* a file may be as near to another */
            assert_finding("parameters", RULES_FAIL, sure ? text.data : "");
            assert_finding("parameters", RULES_FAIL,
                           merged || way == 1 || strlen(before.data) >= 48 ? "" : before.data);
        }
        if (!is_in(allowed, key->path) && !odirect && session.rules.category == RULES_CLOSED)
            fail_msg("%s of %s, way %d: closed", key->path, name, way);
    }
    text_release(&before);
    text_release(&value);
    text_release(&text);
    return opened;
}

static void every_key_is_compared_wherever_it_is_set(void **state)
{
    static const char *const names[] = {
        "unet3d_h100",    "unet3d_a100",    "resnet50_h100",   "resnet50_a100", "cosmoflow_h100",
        "cosmoflow_a100", "llama_8b_zero3", "llama_70b_zero3", "llama_405b",    "llama_1t"};
    int count, tried = 0;
    const struct workload_key *keys = workload_keys(&count);
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int k = 0; k < count; k++)
            for (int way = 0; way < 3; way++)
                tried += try_key(names[i], &keys[k], way);
    /* few values are refused before: of combinations that contradict each other */
    assert_true(tried > 28 * count);
}

static void a_model_has_its_number_of_processes(void **state)
{
    static const struct {
        const char *model;
        int processes;
        bool subset;
        enum rules_category category;
    } cases[] = {
        {"llama_8b", 8, false, RULES_CLOSED},         {"llama_70b_zero3", 64, false, RULES_CLOSED},
        {"llama_405b", 512, false, RULES_CLOSED},     {"llama_1t", 1024, false, RULES_CLOSED},
        {"llama_405b", 8, true, RULES_CLOSED},        {"llama_405b", 768, false, RULES_OPEN},
        {"llama_405b", 700, false, RULES_INVALID},    {"llama_70b_zero3", 32, false, RULES_INVALID},
        {"llama_70b_zero3", 64, true, RULES_INVALID}, {"llama_70b", 64, false, RULES_INVALID},
        {"llama_7b", 8, false, RULES_INVALID},        {"llama_7b_zero3", 8, false, RULES_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err;
        workload_release(&workload);
        assert_true(workload_open(&workload, cases[i].model, NULL, &err));
        workload.checkpoint.fsync = true;
        if (cases[i].subset) {
            workload.checkpoint.mode = WORKLOAD_CHECKPOINT_SUBSET;
            workload.model.split.data = strcmp(cases[i].model, "llama_405b") == 0 ? 2 : 8;
        }
        session.hosts[0].accelerators = cases[i].processes;
        session_check_rules(&session);
        if (session.rules.category != cases[i].category)
            fail_msg("%s on %d: %s", cases[i].model, cases[i].processes,
                     rules_category_words[session.rules.category]);
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
        TRAINING(what_is_no_benchmark_has_keys_of_its_own),
        TRAINING(the_data_set_is_of_the_workload),
        TRAINING(options_that_change_the_run_are_refused),
        TRAINING(every_key_is_compared_wherever_it_is_set),
        CHECKPOINTS(a_file_is_compared_key_by_key),
        CHECKPOINTS(a_model_has_its_number_of_processes),
        CHECKPOINTS(checkpoints_are_ten_synced_and_not_from_the_cache),
        CHECKPOINTS(hosts_have_at_least_four_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
