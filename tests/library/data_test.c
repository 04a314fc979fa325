/* Data sets, and storage that is loaded, through the library's header alone. */
#include "rehearse.h"

#include "caller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64], data[128];

static const char *const small[] = {"dataset.num_files_train=4", "dataset.num_samples_per_file=1",
                                    "dataset.record_length_bytes=65536",
                                    "dataset.record_length_bytes_stdev=0", "dataset.format=npz"};
#define SMALL ((struct rh_list){small, sizeof small / sizeof *small})

static int make_folder(void **state)
{
    (void)state;
    strcpy(root, "/tmp/rehearse-data-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    snprintf(data, sizeof data, "%s/data", root);
    return 0;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static rh_report *generate(struct rh_error *error)
{
    static const char *const name[] = {"unet3d_h100"};
    struct rh_dataset_generate_request request = RH_INIT(request);
    request.workload = (struct rh_list){name, 1};
    request.set = SMALL;
    request.output = data;
    request.data_size = 0.0;
    return rh_dataset_generate(&request, NULL, error);
}

static void a_data_set_is_made_once(void **state)
{
    (void)state;
    struct rh_error error;
    struct rh_text text;
    rh_report *report = generate(&error);
    if (!report)
        fail_msg("%s", error.text);
    assert_true(rh_number(report, "files_train") == 4);
    assert_true(rh_number(report, "files_kept") + rh_number(report, "files_written") >= 4);
    assert_true(rh_number(report, "bytes_written") + rh_number(report, "bytes_kept") > 4 * 65536.0);
    assert_true(rh_write(report, "json", &text, &error));
    assert_non_null(strstr(text.data, "\"rehearse-dataset-generation/1\""));
    rh_text_free(&text);
    rh_free(report);
    report = generate(&error);
    assert_true(rh_number(report, "files_written") == 0);
    assert_true(rh_number(report, "files_kept") >= 4);
    rh_free(report);
}

static void faults_are_an_answer(void **state)
{
    (void)state;
    struct rh_dataset_verify_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_array paths;
    char path[256];
    rh_free(generate(&error));
    request.folder = data;
    rh_report *report = rh_dataset_verify(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    assert_true(rh_number(report, "faults") == 0);
    int64_t files = (int64_t)rh_number(report, "files");
    rh_free(report);
    snprintf(path, sizeof path, "%s/train/img_1_of_4.npz", data);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, 30000, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, 30000, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
    report = rh_dataset_verify(&request, NULL, &error);
    assert_non_null(report);
    assert_true(rh_number(report, "faults") == 1);
    assert_true(rh_number(report, "files") == (double)files);
    assert_true(rh_get(report, "listed.path", &paths));
    assert_int_equal(paths.shape[0], 1);
    assert_non_null(strstr(*(const char *const *)paths.data, "img_1_of_4.npz"));
    rh_free(report);
    unlink(path);
    request.folder = "/no/such/folder";
    assert_null(rh_dataset_verify(&request, NULL, &error));
    assert_int_equal(error.code, RH_INPUT);
}

static void real_files_are_copied(void **state)
{
    (void)state;
    struct rh_dataset_scale_request request = RH_INIT(request);
    struct rh_error error;
    char from[160], to[160];
    rh_free(generate(&error));
    snprintf(from, sizeof from, "%s/train", data);
    snprintf(to, sizeof to, "%s/copies", root);
    request.folder = from;
    request.output = to;
    request.data_size = 1e6;
    rh_report *report = rh_dataset_scale(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    assert_true(rh_number(report, "bytes") >= 1e6);
    assert_true(rh_number(report, "files") > 4);
    rh_free(report);
    request.data_size = 0;
    assert_null(rh_dataset_scale(&request, NULL, &error));
    assert_string_equal(error.text, "'size' is missing");
}

static rh_report *feed(bool keep, struct rh_call *call, struct rh_error *error)
{
    static const char *const words[] = {"unet3d_h100"};
    static char folder[192];
    snprintf(folder, sizeof folder, "dataset.data_folder=%s", data);
    const char *const set[] = {small[0],
                               small[1],
                               small[2],
                               small[3],
                               folder,
                               "reader.batch_size=1",
                               "train.computation_time=0.002"};
    struct rh_feed_request request = RH_INIT(request);
    request.workload = (struct rh_list){words, 1};
    request.set = (struct rh_list){set, sizeof set / sizeof *set};
    request.epochs = 2;
    request.accelerators = 2;
    request.warm = true;
    request.keep_steps = keep;
    return rh_feed(&request, call, error);
}

static void times_of_steps_are_lists(void **state)
{
    (void)state;
    struct rh_error error;
    struct rh_array load, process;
    struct rh_text text;
    rh_free(generate(&error));
    rh_report *report = feed(true, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    assert_true(rh_get(report, "steps.load_ns", &load) && rh_get(report, "steps.process_ns", &process));
    assert_int_equal(load.shape[0], 2 * 2 * 2); /* accelerators, steps, epochs */
    for (int64_t i = 0; i < load.shape[0]; i++) {
        int64_t waited = *(const int64_t *)((const char *)load.data + i * load.stride[0]);
        int64_t all = *(const int64_t *)((const char *)process.data + i * process.stride[0]);
        assert_true(waited >= 0 && all >= waited + 2000000 - 1000);
    }
    assert_non_null(rh_string(report, "verdict"));
    assert_true(rh_write(report, "json", &text, &error));
    assert_non_null(strstr(text.data, "\"rehearse-feed-result/"));
    rh_text_free(&text);
    rh_free(report);
    report = feed(false, NULL, &error);
    assert_non_null(report);
    assert_false(rh_get(report, "steps.load_ns", NULL));
    rh_free(report);
}

static int warned;

static void count(void *user, const char *text)
{
    (void)user;
    warned += *text != '\0';
}

static void workloads_are_listed_and_refused(void **state)
{
    (void)state;
    const char *const wrong = caller_write(
        "wrong.yaml",
        "model: {name: w}\nframework: pytorch\nworkflow: {train: true}\n"
        "reader: {batch_size: 1, colour: red}\n"
        "dataset: {data_folder: d, format: npz, num_files_train: 4, record_length_bytes: 100}\n");
    struct rh_feed_request request = RH_INIT(request);
    struct rh_call call = RH_INIT(call);
    struct rh_error error;
    struct rh_array names;
    request.list = true;
    rh_report *report = rh_feed(&request, NULL, &error);
    assert_true(rh_get(report, "workloads", &names));
    assert_true(names.shape[0] > 10);
    rh_free(report);
    request.list = false;
    assert_null(rh_feed(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    request.workload = (struct rh_list){&wrong, 1};
    request.show = true;
    call.warning = count;
    report = rh_feed(&request, &call, &error);
    assert_non_null(report);
    assert_true(warned == 1);
    rh_free(report);
    request.strict = true;
    assert_null(rh_feed(&request, NULL, &error));
    assert_int_equal(error.code, RH_INPUT);
}

static void a_stopped_call_says_so(void **state)
{
    (void)state;
    struct rh_call call = RH_INIT(call);
    struct rh_error error;
    call.stop = rh_stop_new();
    rh_stop_request(call.stop);
    assert_null(feed(false, &call, &error));
    assert_int_equal(error.code, RH_STOPPED);
    rh_stop_free(call.stop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_data_set_is_made_once),
        cmocka_unit_test(faults_are_an_answer),
        cmocka_unit_test(real_files_are_copied),
        cmocka_unit_test(times_of_steps_are_lists),
        cmocka_unit_test(workloads_are_listed_and_refused),
        cmocka_unit_test(a_stopped_call_says_so),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
