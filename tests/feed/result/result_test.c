#include "core/doc.h"
#include "core/file.h"
#include "feed/result/result.h"
#include "support/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MS  INT64_C(1000000)
#define GIB (INT64_C(1) << 30)

static struct error err;
static char folder[64];

static void ok(bool done)
{
    if (!done)
        fail_msg("%s", err.text);
}

/* 2 accelerators, 2 epochs of 4 steps with a checkpoint after each, an evaluation of 2 steps in the second. */
static struct session session;
static struct workload workload;
static struct comm *comm;
static struct storage *storage;

static int64_t play(enum metrics_phase phase, int epoch, int block, int steps, int64_t now)
{
    for (int a = 0; a < 2; a++)
        metrics_block_start(&session.run.metrics, a, phase, epoch, block, now);
    for (int s = 0; s < steps; s++, now += 100 * MS)
        for (int a = 0; a < 2; a++) {
            struct metrics_step step = {
                .start = now,
                .end = now + 100 * MS,
                .load = (30 + s) * MS,
                .copy = 5 * MS,
                .compute_asked = 50 * MS,
                .compute = 51 * MS,
                .barrier = (14 - s) * MS,
                .batch.bytes = 1000,
                .batch.samples = 2,
            };
            metrics_step(&session.run.metrics, a, &step);
            ok(result_steps_add(&session.each, a, &step, &err));
        }
    for (int a = 0; a < 2; a++)
        ok(metrics_block_end(&session.run.metrics, a, now, &err));
    return now;
}

static int64_t save(int epoch, int64_t now)
{
    for (int rank = 0; rank < 2; rank++) {
        struct metrics_checkpoint checkpoint = {
            .rank = rank,
            .number = epoch,
            .epoch = epoch,
            .block = 1,
            .start = now,
            .end = now + (rank + 1) * 250 * MS,
            .bytes = GIB,
        };
        ok(metrics_checkpoint(&session.run.metrics, &checkpoint, &err));
    }
    return now + 500 * MS;
}

/* Merges what was measured so far, as rank 0 does. */
static void merge(void)
{
    const struct metrics_options options = session.run.metrics.options;
    metrics_release(&session.run.whole);
    ok(metrics_init(&session.run.whole, &options, 0, 2, &err));
    struct text packed = {0};
    metrics_pack(&session.run.metrics, &packed);
    ok(metrics_merge(&session.run.whole, packed.data, packed.length, &err));
    text_release(&packed);
}

static const char config[] =
    "framework: pytorch\n"
    "workflow: {train: true, evaluation: true, checkpoint: true}\n"
    "dataset: {format: npz, num_files_train: 16, num_files_eval: 4, record_length_bytes: 500}\n"
    "reader: {batch_size: 2}\n"
    "train: {seed: 9007199254740992}\n";

static int run_start(void **state)
{
    static const char *const overrides[] = {"reader.read_threads=8"};
    struct metrics_options options = {
        .accelerators = 2,
        .epochs = 2,
        .exclude_start = 1,
        .steps = {4, 2},
        .batch = {2, 2},
        .record_length = 500,
        .au_target = 0.5,
    };
    const struct workload_options given = {.overrides = overrides, .override_count = 1, .strict = true};
    (void)state;
    ok(workload_parse(&workload, "test.yaml", config, strlen(config), &given, &err));
    comm = comm_open(0, &err);
    storage = storage_new(&(struct storage_options){.root = folder}, &err);
    assert_true(comm && storage);
    session = (struct session){
        .options = {.run = {.workload = &workload,
                            .comm = comm,
                            .loader.storage = storage,
                            .step.each = &session.each},
                    .version = "0.1.0",
                    .overrides = overrides,
                    .override_count = 1},
        .layout = {.files_train = 16, .files_eval = 4, .samples_per_file = 1},
        .checkpoint_bytes = 2 * GIB,
        .run = {.train = {.steps = 4},
                .eval = {.steps = 2},
                .start = 900 * MS,
                .end = 5000 * MS,
                .resident = {{.bytes = -1, .resident = -1}, {.bytes = -1, .resident = -1}},
                .realtime = INT64_C(1795228956) * 1000 * MS + 389815000, /* 2026-11-21T02:42:36.389815 */
                .origin =
                    {.evidence = ORIGIN_PROCESS, .delivered = 20000, .needed = 20000, .from_storage = 5000}},
        .hosts = calloc(1, sizeof *session.hosts),
        .host_count = 1,
        .cpuinfo = strdup("processor\t: 0\nvendor_id\t: GenuineIntel\n\nprocessor\t: 1\nvendor_id\t: "
                          "Other\nmodel name\t: Some CPU\nflags\t\t: fpu vme\n\n"),
        .meminfo = strdup("MemTotal:       24684092 kB\nMemFree:        1 kB\n"),
        .data_set = 16000,
        .device_read = 5000,
        .checks = {{.name = "samples of epoch 1",
                    .state = SESSION_PASSED,
                    .expected = 16,
                    .found = 16,
                    .left_out = 3},
                   {.name = "samples of epoch 2", .state = SESSION_PASSED, .expected = 16, .found = 16}},
        .check_count = 2,
        .verdict_text = "ok",
    };
    assert_non_null(session.hosts);
    session.hosts[0] = (struct session_host){.name = "here",
                                             .cpus = 16,
                                             .memory = 64 * GIB,
                                             .accelerators = 2,
                                             .processes = 1,
                                             .cpu_seconds = 1.5};
    ok(metrics_init(&session.run.metrics, &options, 0, 2, &err));
    ok(result_steps_init(&session.each, folder, 0, 2, &err));
    int64_t now = 1000 * MS;
    for (int epoch = 0; epoch < 2; epoch++) {
        int64_t start = now;
        now = save(epoch, play(METRICS_TRAIN, epoch, 1, 4, now));
        metrics_epoch(&session.run.metrics, 0, epoch, start, now);
        metrics_epoch(&session.run.metrics, 1, epoch, start, now);
    }
    play(METRICS_EVAL, 1, 0, 2, now);
    merge();
    return 0;
}

static int run_end(void **state)
{
    (void)state;
    session.options.run.loader.layout = NULL;
    session.storage = storage;
    session_close(&session);
    workload_release(&workload);
    comm_close(comm);
    return 0;
}

static void parse(struct doc *doc, const struct text *text)
{
    ok(doc_parse(doc, DOC_JSON, "result", text->data, text->length, &err));
}

/* The value at "metric/train_au_percentage"; keys only. */
static const struct doc_node *at(const struct doc *doc, const char *path)
{
    const struct doc_node *node = doc->root;
    char key[96];
    while (node && *path) {
        size_t length = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        node = doc_find(node, key);
        path += length + (path[length] == '/');
    }
    if (!node)
        fail_msg("nothing at '%s'", path);
    return node;
}

static double number(const struct doc *doc, const char *path)
{
    const struct doc_node *node = at(doc, path);
    assert_int_equal(node->type, DOC_NUMBER);
    return node->number;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

static void summary_has_dlios_figures(void **state)
{
    struct text text = {0};
    struct doc doc;
    (void)state;
    ok(result_dlio_summary(&session, &(struct json){.out = &text}, &err));
    parse(&doc, &text);
    /* T = 0.4 - (30 + 5 + 51) ms, C = 3 · 51 ms, two steps of two samples on each of two */
    assert_true(near(number(&doc, "metric/train_au_mean_percentage"), 100 * 0.153 / 0.314));
    assert_true(near(number(&doc, "metric/train_throughput_mean_samples_per_second"), 2 * 2 * 2 / 0.314));
    assert_true(near(number(&doc, "metric/eval_throughput_mean_samples_per_second"), 2 * 2 / 0.2));
    assert_int_equal(at(&doc, "metric/eval_au_percentage")->count, 2);
    assert_string_equal(at(&doc, "metric/train_au_meet_expectation")->text, "fail");
    assert_true(near(number(&doc, "metric/save_checkpoint_duration_mean_seconds"), 0.25));
    assert_true(near(number(&doc, "metric/save_checkpoint_io_mean_GB_per_second"), 8));
    assert_true(number(&doc, "metric/checkpoint_size_GB") == 2);
    assert_true(number(&doc, "epochs") == 2);
    doc_release(&doc);
    text_release(&text);
}

static void summary_says_where_and_when(void **state)
{
    struct text text = {0};
    struct doc doc;
    (void)state;
    ok(result_dlio_summary(&session, &(struct json){.out = &text}, &err));
    parse(&doc, &text);
    assert_string_equal(at(&doc, "start")->text, "2026-11-21T02:42:37.289815");
    assert_string_equal(at(&doc, "hostname")->text, comm_host(comm, 0));
    assert_string_equal(at(&doc, "host_processor_name")->text, "Some CPU");
    assert_true(number(&doc, "num_accelerators") == 2 && number(&doc, "num_hosts") == 1);
    assert_true(at(&doc, "host_memory_GB")->first_child->number == 64);
    assert_true(at(&doc, "potential_caching")->first_child->number == 1);
    assert_true(near(number(&doc, "data_size_per_host_GB"), 16 * 500.0 / GIB));
    assert_string_equal(at(&doc, "host_cpuinfo/vendor_id")->text, "Other");
    assert_null(doc_find(at(&doc, "host_cpuinfo"), "processor"));
    assert_string_equal(at(&doc, "host_meminfo/MemTotal")->text, "24684092 kB");
    doc_release(&doc);
    text_release(&text);
}

static void each_key_is_in(const struct doc_node *theirs, const struct doc_node *ours, const char *path)
{
    for (const struct doc_node *node = theirs->first_child; node; node = node->next) {
        const struct doc_node *own = doc_find(ours, node->key);
        if (strcmp(node->key, "host_cpuinfo") == 0 || strcmp(node->key, "host_meminfo") == 0)
            continue;
        if (!own)
            fail_msg("%s/%s is missing", path, node->key);
        if (own->type != node->type)
            fail_msg("%s/%s is of another type", path, node->key);
        if (node->type == DOC_MAP)
            each_key_is_in(node, own, node->key);
    }
}

static bool load(struct doc *doc, const char *name)
{
    char relative[64];
    snprintf(relative, sizeof relative, "trace/raw/dlio_out/%s", name);
    char *path = reference_path(relative);
    if (!path)
        return false;
    ok(doc_load(doc, path, &err));
    free(path);
    return true;
}

static void assert_keys_of(const char *name, const struct text *text)
{
    struct doc theirs, ours;
    if (!load(&theirs, name))
        return;
    parse(&ours, text);
    each_key_is_in(theirs.root, ours.root, name);
    doc_release(&theirs);
    doc_release(&ours);
}

/* A run of DLIO's with two evaluations; ours has one. */
static void all_of_dlios_keys_are_there(void **state)
{
    struct text summary = {0}, epochs = {0}, output = {0};
    (void)state;
    play(METRICS_EVAL, 0, 0, 2, 9000 * MS);
    merge();
    ok(result_dlio_summary(&session, &(struct json){.out = &summary}, &err));
    ok(result_dlio_epochs(&session, 1, &epochs, &err));
    ok(result_dlio_output(&session, 1, &output, &err));
    assert_keys_of("summary.json", &summary);
    assert_keys_of("0_per_epoch_stats.json", &epochs);
    assert_keys_of("0_output.json", &output);
    text_release(&summary);
    text_release(&epochs);
    text_release(&output);
}

/* DLIO writes NaN, which is no JSON. */
static void no_checkpoint_is_null(void **state)
{
    struct text text = {0};
    struct doc doc;
    (void)state;
    session.run.whole.checkpoint_count = 0;
    ok(result_dlio_summary(&session, &(struct json){.out = &text}, &err));
    assert_null(strstr(text.data, "nan"));
    assert_null(strstr(text.data, "NaN"));
    parse(&doc, &text);
    assert_int_equal(at(&doc, "metric/save_checkpoint_io_mean_GB_per_second")->type, DOC_NULL);
    assert_int_equal(at(&doc, "metric/save_checkpoint_duration_stdev_seconds")->type, DOC_NULL);
    doc_release(&doc);
    text_release(&text);
}

static void epochs_have_blocks_checkpoints_and_evaluations(void **state)
{
    struct text text = {0};
    struct doc doc;
    (void)state;
    ok(result_dlio_epochs(&session, 1, &text, &err));
    parse(&doc, &text);
    assert_string_equal(at(&doc, "1/start")->text, "2026-11-21T02:42:37.389815");
    assert_string_equal(at(&doc, "1/duration")->text, "0.90");
    assert_string_equal(at(&doc, "1/block1/duration")->text, "0.40");
    assert_true(near(number(&doc, "1/save_ckpt1/duration"), 0.5));
    assert_true(near(number(&doc, "2/save_ckpt1/throughput"), 4));
    assert_string_equal(at(&doc, "2/eval/duration")->text, "0.20");
    assert_null(doc_find(at(&doc, "1"), "eval"));
    doc_release(&doc);
    text_release(&text);
}

static void output_lists_each_step(void **state)
{
    struct text text = {0};
    struct doc doc;
    (void)state;
    ok(result_dlio_output(&session, 0, &text, &err));
    parse(&doc, &text);
    const struct doc_node *load_list = at(&doc, "2/load/block1");
    assert_int_equal(load_list->count, 4);
    assert_true(near(load_list->first_child->next->number, 0.031));
    assert_true(near(at(&doc, "2/proc/block1")->first_child->number, 0.086));
    assert_true(near(at(&doc, "2/compute/eval")->first_child->number, 0.051));
    assert_int_equal(at(&doc, "2/compute/eval")->count, 2);
    assert_true(near(number(&doc, "1/au/block1"), 100 * 0.153 / 0.314));
    assert_true(near(number(&doc, "2/throughput/eval"), 20));
    assert_null(doc_find(at(&doc, "1/load"), "eval"));
    doc_release(&doc);
    text_release(&text);
}

static void steps_come_back_from_disk(void **state)
{
    struct result_steps steps;
    struct result_step got[3];
    (void)state;
    ok(result_steps_init(&steps, folder, 10, 2, &err));
    for (int64_t i = 0; i < 1000; i++)
        for (int a = 10; a < 12; a++)
            ok(result_steps_add(&steps, a, &(struct metrics_step){.load = i, .copy = a, .compute = 7}, &err));
    assert_true(steps.end > 0);
    for (int64_t i = 0; i < 998; i++) { /* across the ends of chunks, too */
        ok(result_steps_read(&steps, 11, i, 3, got, &err));
        assert_int_equal(got[2].load, i + 2);
        assert_int_equal(got[0].process, i + 11 + 7);
    }
    assert_false(result_steps_read(&steps, 11, 999, 2, got, &err));
    assert_non_null(strstr(err.text, "steps 999 to 1000 of accelerator 11 were not kept"));
    result_steps_release(&steps);
    assert_false(result_steps_init(&steps, "/no/such/folder", 0, 1, &err));
}

static void files_are_written_whole(void **state)
{
    static const char *const names[] = {
        "summary.json", "0_per_epoch_stats.json", "1_per_epoch_stats.json", "0_output.json", "1_output.json",
        "result.json",  "rehearse_metadata.json",
    };
    char path[128];
    (void)state;
    ok(result_save(&session, folder, &err));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct doc doc;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        ok(doc_load(&doc, path, &err));
        doc_release(&doc);
        unlink(path);
    }
    for (int i = 0; i < 3; i++) {
        static const char *const yaml[] = {"config", "overrides", "hydra"};
        snprintf(path, sizeof path, "%s/dlio_config/%s.yaml", folder, yaml[i]);
        assert_int_equal(unlink(path), 0);
    }
    snprintf(path, sizeof path, "%s/dlio_config", folder);
    assert_int_equal(rmdir(path), 0);
    assert_false(result_save(&session, "/no/such/folder", &err));
}

static void own(struct doc *doc)
{
    struct text text = {0};
    ok(result_json(&session, &(struct json){.out = &text}, &err));
    parse(doc, &text);
    text_release(&text);
}

static void our_result_has_the_corrected_figures(void **state)
{
    struct doc doc;
    (void)state;
    own(&doc);
    assert_string_equal(at(&doc, "schema")->text, "rehearse-feed-result/1");
    assert_true(near(number(&doc, "training/au"), 0.5));
    assert_true(near(number(&doc, "training/samples_per_second"), 40));
    assert_true(near(number(&doc, "training/bytes_per_second"), 20000));
    assert_true(near(number(&doc, "training/all_samples_per_second"), 40));
    assert_true(near(number(&doc, "evaluation/au"), 0.5));
    assert_int_equal(at(&doc, "training/epochs")->count, 2);
    assert_int_equal(at(&doc, "evaluation/epochs")->count, 1);
    assert_int_equal(at(&doc, "training/accelerators")->count, 2);
    assert_true(near(number(&doc, "training/wait_seconds/most"), 0.033));
    assert_true(near(number(&doc, "checkpoints/save/duration_mean"), 0.5));
    assert_int_equal(at(&doc, "checkpoints/load")->type, DOC_NULL);
    assert_true(near(number(&doc, "as_dlio/train/au_mean_percentage"), 100 * 0.153 / 0.314));
    assert_true(at(&doc, "passed")->boolean);
    doc_release(&doc);
}

static void our_result_says_what_is_needed_to_repeat_it(void **state)
{
    struct doc doc;
    (void)state;
    own(&doc);
    assert_string_equal(at(&doc, "seed")->text, "9007199254740992");
    assert_string_equal(at(&doc, "start")->text, "2026-11-21T02:42:37.289815Z");
    assert_true(number(&doc, "configuration/reader/batch_size") == 2);
    assert_string_equal(at(&doc, "overrides")->first_child->text, "reader.read_threads=8");
    assert_int_equal(at(&doc, "storage/resident_before")->type, DOC_NULL);
    assert_true(near(number(&doc, "storage/origin/share"), 0.25));
    assert_string_equal(at(&doc, "storage/origin/evidence")->text, "process");
    assert_true(number(&doc, "storage/origin/delivered") == 20000);
    assert_string_equal(at(&doc, "verdict")->text, "ok");
    assert_true(doc_find(at(&doc, "checks")->first_child, "left_out_of_each_epoch")->number == 3);
    doc_release(&doc);
}

static void what_does_not_hold_is_not_passed(void **state)
{
    struct doc doc;
    (void)state;
    session.checks[0].state = SESSION_FAILED;
    own(&doc);
    assert_false(at(&doc, "passed")->boolean);
    assert_false(at(&doc, "passed")->boolean);
    doc_release(&doc);
    session.checks[0].state = SESSION_PASSED;
    session.run.whole.options.au_target = 0.6;
    own(&doc);
    assert_false(at(&doc, "passed")->boolean);
    assert_false(at(&doc, "training/au_met")->boolean);
    doc_release(&doc);
}

/* DLIO ends a run of 0 steps with exit status 0. */
static void a_run_without_steps_is_not_passed(void **state)
{
    struct doc doc;
    (void)state;
    struct metrics_options options = session.run.whole.options;
    metrics_release(&session.run.whole);
    ok(metrics_init(&session.run.whole, &options, 0, 2, &err));
    own(&doc);
    assert_false(at(&doc, "passed")->boolean);
    assert_string_equal(at(&doc, "training/error")->text, "no training step ran");
    doc_release(&doc);
}

static void rules_go_with_the_result(void **state)
{
    struct doc doc;
    (void)state;
    session.has_rules = true;
    session.rules = (struct rules_report){.category = RULES_INVALID, .count = 1, .failed = 1};
    session.rules.findings[0] = (struct rules_finding){"au", "4", RULES_FAIL, "AU of run 1 is 50.00 %"};
    own(&doc);
    assert_string_equal(at(&doc, "rules/category")->text, "invalid");
    assert_string_equal(doc_find(at(&doc, "rules/findings")->first_child, "verdict")->text, "fail");
    doc_release(&doc);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/rehearse-result.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_start, run_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(summary_has_dlios_figures),
        TEST(summary_says_where_and_when),
        TEST(all_of_dlios_keys_are_there),
        TEST(no_checkpoint_is_null),
        TEST(epochs_have_blocks_checkpoints_and_evaluations),
        TEST(output_lists_each_step),
        TEST(steps_come_back_from_disk),
        TEST(files_are_written_whole),
        TEST(our_result_has_the_corrected_figures),
        TEST(our_result_says_what_is_needed_to_repeat_it),
        TEST(what_does_not_hold_is_not_passed),
        TEST(a_run_without_steps_is_not_passed),
        TEST(rules_go_with_the_result),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
