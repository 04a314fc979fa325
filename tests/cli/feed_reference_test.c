/* The scaled configurations of DLIO run through the program, from the files as they are to result.json; sizes are reduced
 * further by overrides. The program's path comes in REHEARSE_PROGRAM. */
#include "core/doc.h"
#include "core/text.h"
#include "dataset/format.h"
#include "model/folder.h"
#include "support/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Whatever the machine does in the meantime: times decide no test. */
#define ANY_AU " --au 0.000001"

struct run {
    struct folder folder;
    char *configuration;
    struct doc result;
};

/* Skips where there is no reference. */
static void open_run(struct run *run, const char *name)
{
    char relative[96];
    snprintf(relative, sizeof relative, "feed/golden/configs/workload/%s.yaml", name);
    *run = (struct run){.configuration = reference_path(relative)};
    if (!run->configuration)
        skip();
    char *full = realpath(run->configuration, NULL);
    assert_non_null(full);
    free(run->configuration);
    run->configuration = full;
    folder_make(&run->folder);
}

static void close_run(struct run *run)
{
    doc_release(&run->result);
    free(run->configuration);
    folder_remove(&run->folder);
}

/* What `rehearse VERB CONFIGURATION OPTIONS` prints, in the run's folder; it must end well. */
static struct text program(const struct run *run, const char *verb, const char *options)
{
    struct text command = {0}, output = {0};
    char piece[4096];
    text_format(&command, "cd '%s' && '%s' %s '%s' --strict %s", run->folder.path, getenv("REHEARSE_PROGRAM"),
                verb, run->configuration, options);
    assert_false(command.failed);
    FILE *pipe = popen(command.data, "r"); /* NOLINT(bugprone-command-processor): the program under test */
    assert_non_null(pipe);
    for (size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;)
        text_add_bytes(&output, piece, got);
    if (pclose(pipe) != 0)
        fail_msg("%s", command.data);
    assert_false(output.failed);
    text_release(&command);
    return output;
}

static void feed(struct run *run, const char *options)
{
    struct error err;
    struct text output = program(run, "feed", options);
    if (!doc_parse(&run->result, DOC_JSON, "result.json", output.data, output.length, &err))
        fail_msg("%s", err.text);
    text_release(&output);
}

static const struct doc_node *at(const struct run *run, const char *section, const char *key)
{
    const struct doc_node *map = doc_find(run->result.root, section), *node = map ? doc_find(map, key) : NULL;
    if (!node)
        fail_msg("%s.%s is missing", section, key);
    return node;
}

static void require_passed(const struct run *run)
{
    const struct doc_node *checks = doc_find(run->result.root, "checks");
    assert_non_null(checks);
    assert_true(checks->count > 0);
    for (const struct doc_node *check = checks->first_child; check; check = check->next)
        if (!doc_find(check, "passed")->boolean)
            fail_msg("%s: %s", doc_find(check, "name")->text, doc_find(check, "text")->text);
    assert_true(doc_find(run->result.root, "passed")->boolean);
}

struct training {
    const char *name;
    const char *sizes; /* overrides */
    int64_t steps;     /* of an epoch */
    int64_t samples;   /* of an epoch, all accelerators */
    int epochs;
};

/* On two accelerators: every sample of every epoch is read, and is what was generated. */
static void train(const struct training *training)
{
    struct run run;
    char options[1024];
    open_run(&run, training->name);
    struct text made = program(&run, "dataset generate", training->sizes);
    text_release(&made);
    snprintf(options, sizeof options, "%s -a 2 --verify --json" ANY_AU, training->sizes);
    feed(&run, options);
    require_passed(&run);
    assert_int_equal(at(&run, "training", "all_steps")->number, 2 * training->steps * training->epochs);
    assert_int_equal(at(&run, "training", "all_samples")->number, training->samples * training->epochs);
    assert_int_equal(at(&run, "training", "epochs")->count, training->epochs);
    assert_true(at(&run, "training", "samples_per_second")->number > 0);
    close_run(&run);
}

static void skip_missing(const char *format)
{
    const struct dataset_format *found = dataset_format_find(format);
    if (!found->missing)
        return;
    print_message("# skipped: built without %s\n", found->missing);
    skip();
}

static void test_unet3d(void **state)
{
    (void)state;
    train(
        &(struct training){"unet3d_s",
                           "--set dataset.num_files_train=16 --set dataset.record_length_bytes=1000000 "
                           "--set dataset.record_length_bytes_stdev=400000 --set train.computation_time=0.01",
                           2, 16, 2});
}

static void test_cosmoflow(void **state)
{
    (void)state;
    skip_missing("hdf5");
    train(&(struct training){"cosmoflow_s",
                             "--set dataset.num_files_train=40 --set dataset.record_length_bytes=50000 "
                             "--set dataset.record_length_bytes_stdev=1300",
                             20, 40, 2});
}

static void test_resnet50(void **state)
{
    (void)state;
    skip_missing("jpeg");
    train(&(struct training){"resnet50_s",
                             "--set dataset.num_files_train=80 --set dataset.record_length_bytes=5000 "
                             "--set reader.batch_size=10 --set train.computation_time=0.01",
                             4, 80, 2});
}

/* One file of many samples, of which DLIO makes none, and no step. */
static void test_dlrm(void **state)
{
    (void)state;
    train(&(struct training){"dlrm_s",
                             "--set dataset.num_samples_per_file=256 --set dataset.record_length_bytes=4096 "
                             "--set train.computation_time=0.001",
                             128, 256, 1});
}

static void test_llama_checkpoints(void **state)
{
    struct run run;
    (void)state;
    open_run(&run, "llama_ckpt_s");
    feed(&run, "-a 2 --verify --json --set model.num_layers=2 --set model.transformer.hidden_size=64 "
               "--set model.transformer.ffn_hidden_size=176 --set model.transformer.vocab_size=500 "
               "--set checkpoint.time_between_checkpoints=0.01");
    require_passed(&run);
    const struct doc_node *save = at(&run, "checkpoints", "save"), *load = at(&run, "checkpoints", "load");
    /* 2·500·64 + 64 + 2·(2·64 + 64·(64 + 2·64) + 64² + 3·64·176) parameters: of 2 bytes and, with 2·5·64 more, three
     * times 4 */
    const double parameters = 164672, bytes = 2 * parameters + 3 * 4 * (parameters + 2 * 5 * 64);
    assert_int_equal(doc_find(save, "count")->number, 3);
    assert_int_equal(doc_find(load, "count")->number, 3);
    assert_int_equal(doc_find(save, "bytes")->number, bytes);
    assert_int_equal(doc_find(load, "bytes")->number, bytes);
    close_run(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unet3d),
        cmocka_unit_test(test_cosmoflow),
        cmocka_unit_test(test_resnet50),
        cmocka_unit_test(test_dlrm),
        cmocka_unit_test(test_llama_checkpoints),
    };
    return cmocka_run_group_tests_name("cli feed reference", tests, NULL, NULL);
}
