/* Oobleck's folders, in and out. */
#include "model/folder.h"
#include "model/oobleck.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIMES                                                                                                \
    "[{\"forward\": 0.5, \"backward\": 1.5, \"mem_required\": [4096.0, 128.0]},\n"                           \
    " {\"forward\": 1.25, \"backward\": 3, \"mem_required\": [8192, 64]}]"
#define IN_NODE "[{\"0\": 9, \"4\": 0.5, \"1\": 0.0, \"2\": 0.25}, {\"1\": 0.0, \"3\": 0.75}]"
#define ACROSS  "[{\"1\": 0.0}, {\"1\": 0.125}]"

static int make_folder(void **state)
{
    struct folder *folder = malloc(sizeof *folder);
    if (!folder)
        return -1;
    folder_make(folder);
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    folder_remove(*state);
    free(*state);
    return 0;
}

static void write_device(const struct folder *folder, const char *name, const char *times)
{
    char path[128];
    snprintf(path, sizeof path, "%s/mb1.json", name);
    folder_write(folder, path, times);
}

static void load(struct profile *profile, const char *path, int microbatch_size)
{
    struct error err;
    if (!profile_load(profile, path, microbatch_size, &err))
        fail_msg("%s", err.text);
}

/* The message without the folder's name, which differs from run to run. */
static void refused(const struct folder *folder, int microbatch_size, const char *message)
{
    struct profile profile;
    struct error err;
    assert_false(profile_load(&profile, folder->path, microbatch_size, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    struct text text = {0};
    const char *rest = err.text;
    for (const char *at; (at = strstr(rest, folder->path)); rest = at + strlen(folder->path)) {
        text_add_bytes(&text, rest, (size_t)(at - rest));
        text_add(&text, "F");
    }
    text_add(&text, rest);
    assert_string_equal(text.data, message);
    text_release(&text);
    assert_null(profile.layers);
}

static void a_folder_is_read_in_seconds(void **state)
{
    const struct folder *folder = *state;
    struct profile profile;
    folder_write(folder, "mb2.json", TIMES);
    folder_write(folder, "allreduce_in_node.json", IN_NODE);
    folder_write(folder, "allreduce_across_nodes.json", ACROSS);
    folder_write(folder, "model_args.json", "{\"n_layer\": 2}");
    load(&profile, folder->path, 0);
    assert_int_equal(profile.layer_count, 2);
    assert_int_equal(profile.microbatch_size, 2);
    assert_int_equal(profile.device_count, 1);
    assert_null(profile.devices[0].name);
    assert_true(profile.devices[0].forward[0] == 0.0005);
    assert_true(profile.devices[0].backward[1] == 0.003);
    assert_int_equal(profile.layers[0].parameter_bytes, 4096);
    assert_int_equal(profile.layers[1].activation_bytes, 64);
    assert_int_equal(profile.layers[1].output_bytes, 0);
    assert_non_null(strstr(profile.devices[0].path, "/mb2.json"));
    profile_release(&profile);
}

static void allreduce_sizes_are_sorted_and_zero_is_ignored(void **state)
{
    const struct folder *folder = *state;
    struct profile profile;
    double seconds;
    write_device(folder, ".", TIMES);
    folder_write(folder, "allreduce_in_node.json", IN_NODE);
    load(&profile, folder->path, 1);
    const struct profile_allreduce *in_node = profile.devices[0].in_node;
    assert_int_equal(in_node[0].count, 3);
    assert_int_equal(in_node[0].devices[0], 1);
    assert_int_equal(in_node[0].devices[1], 2);
    assert_int_equal(in_node[0].devices[2], 4);
    assert_true(profile_allreduce_find(&in_node[0], 4, &seconds));
    assert_true(seconds == 0.0005);
    assert_true(profile_allreduce_find(&in_node[1], 3, &seconds));
    assert_false(profile_allreduce_find(&in_node[1], 2, &seconds));
    assert_null(profile.devices[0].across_nodes);
    profile_release(&profile);
}

static void folders_are_device_types_sorted_by_name(void **state)
{
    const struct folder *folder = *state;
    struct profile profile;
    char path[300];
    write_device(folder, "b", TIMES);
    write_device(folder, "a", TIMES);
    write_device(folder, ".hidden", "not read");
    folder_write(folder, "README", "not read");
    snprintf(path, sizeof path, "%s//", folder->path);
    load(&profile, path, 0);
    assert_int_equal(profile.device_count, 2);
    assert_string_equal(profile.devices[0].name, "a");
    assert_string_equal(profile.devices[1].name, "b");
    assert_null(strstr(profile.devices[1].path, "//"));
    assert_ptr_equal(profile_find_device(&profile, "b"), &profile.devices[1]);
    assert_null(profile_find_device(&profile, "c"));
    profile_release(&profile);
}

static void the_micro_batch_size_chooses_the_file(void **state)
{
    const struct folder *folder = *state;
    struct profile profile;
    folder_write(folder, "mb4.json", TIMES);
    folder_write(folder, "mb16.json", "[{\"forward\": 7, \"backward\": 8, \"mem_required\": [1, 1]}]");
    load(&profile, folder->path, 16);
    assert_int_equal(profile.layer_count, 1);
    assert_int_equal(profile.microbatch_size, 16);
    profile_release(&profile);
    refused(folder, 0, "F: choose one with --microbatch-size: mb4.json, mb16.json");
    refused(folder, 2, "F: no mb2.json in this folder, only mb4.json, mb16.json");
}

static void sizes_are_rounded_to_whole_bytes(void **state)
{
    const struct folder *folder = *state;
    struct profile profile;
    write_device(folder, ".", "[{\"forward\": 1, \"backward\": 1, \"mem_required\": [1e9, 6553600.25]}]");
    load(&profile, folder->path, 0);
    assert_int_equal(profile.layers[0].parameter_bytes, 1000000000);
    assert_int_equal(profile.layers[0].activation_bytes, 6553600);
    profile_release(&profile);
}

/* ---- what is wrong with folders ---- */

static void an_empty_folder_is_refused(void **state)
{
    const struct folder *folder = *state;
    folder_write(folder, "mb.json", TIMES);
    folder_write(folder, "mb0.json", TIMES);
    folder_write(folder, "mb1.json.orig", TIMES);
    refused(folder, 0, "F: no profile: neither mb{N}.json nor folders that hold one");
}

static void a_folder_of_both_kinds_is_refused(void **state)
{
    const struct folder *folder = *state;
    write_device(folder, ".", TIMES);
    write_device(folder, "a", TIMES);
    refused(folder, 0, "F: both mb1.json and the folder 'a': is this one profile or one per device type?");
}

static void a_folder_without_times_is_refused(void **state)
{
    const struct folder *folder = *state;
    write_device(folder, "a", TIMES);
    folder_write(folder, "b/allreduce_in_node.json", IN_NODE);
    refused(folder, 0, "F/b: no mb{N}.json in this folder");
}

static void types_with_other_layers_are_refused(void **state)
{
    const struct folder *folder = *state;
    write_device(folder, "a", TIMES);
    write_device(folder, "b", "[{\"forward\": 1, \"backward\": 1, \"mem_required\": [4096, 128]}]");
    refused(folder, 0, "F/b/mb1.json:1:1: has 1 layers, but 'F/a/mb1.json' has 2");
}

static void types_with_other_bytes_are_refused(void **state)
{
    const struct folder *folder = *state;
    write_device(folder, "a", "[{\"forward\": 1, \"backward\": 1, \"mem_required\": [4096, 128]}]");
    write_device(folder, "b", "[{\"forward\": 1, \"backward\": 1, \"mem_required\": [4096, 129]}]");
    refused(folder, 0,
            "F/b/mb1.json:1:55: [0].mem_required[1]: activation bytes of a layer do not depend on the "
            "device, but this "
            "has 129 and 'F/a/mb1.json' 128");
}

static void types_with_other_micro_batches_are_refused(void **state)
{
    const struct folder *folder = *state;
    folder_write(folder, "a/mb1.json", TIMES);
    folder_write(folder, "b/mb2.json", TIMES);
    refused(folder, 0, "F/b/mb2.json: not the micro-batch size of 'F/a/mb1.json'");
}

static void allreduce_with_other_layers_is_refused(void **state)
{
    const struct folder *folder = *state;
    write_device(folder, ".", TIMES);
    folder_write(folder, "allreduce_across_nodes.json", "[{\"1\": 0}]");
    refused(folder, 0, "F/allreduce_across_nodes.json:1:1: has 1 layers, but 'F/mb1.json' has 2");
}

/* ---- what is wrong with files ---- */

static const struct {
    enum oobleck_file file;
    const char *text;
    const char *message;
} bad[] = {
    {OOBLECK_TIMES, "", "p/mb1.json:1:1: the file is empty"},
    {OOBLECK_TIMES, "null", "p/mb1.json:1:1: expected a list, found null"},
    {OOBLECK_TIMES, "{}", "p/mb1.json:1:1: expected a list, found a map"},
    {OOBLECK_TIMES, "[]", "p/mb1.json:1:1: expected at least one layer"},
    {OOBLECK_TIMES, "[1]", "p/mb1.json:1:2: [0]: expected a map, found '1'"},
    {OOBLECK_TIMES, "[{}]", "p/mb1.json:1:2: [0]: 'forward' is missing"},
    {OOBLECK_TIMES, "[{\"1\": 0.0, \"2\": 0.25}]",
     "p/mb1.json:1:2: [0]: expected forward, backward and mem_required of a layer, found all-reduce times; "
     "are the files swapped?"},
    {OOBLECK_TIMES, "[{\"forward\": 1, \"backward\": 1}]", "p/mb1.json:1:2: [0]: 'mem_required' is missing"},
    {OOBLECK_TIMES, "[{\"forward\": 1, \"mem_required\": [1, 1]}]",
     "p/mb1.json:1:2: [0]: 'backward' is missing"},
    {OOBLECK_TIMES, "[{\"forward\": -1, \"backward\": 1, \"mem_required\": [1, 1]}]",
     "p/mb1.json:1:14: [0].forward: expected a positive number, found '-1'"},
    {OOBLECK_TIMES, "[{\"forward\": 0.0, \"backward\": 1, \"mem_required\": [1, 1]}]",
     "p/mb1.json:1:14: [0].forward: expected a positive number, found '0.0'"},
    {OOBLECK_TIMES, "[{\"forward\": NaN, \"backward\": 1, \"mem_required\": [1, 1]}]",
     "p/mb1.json:1:14: NaN and Infinity are not numbers in JSON"},
    {OOBLECK_TIMES, "[{\"forward\": 1, \"backward\": 1e13, \"mem_required\": [1, 1]}]",
     "p/mb1.json:1:29: [0].backward: expected a time from 1 ps to 1e9 s, found '1e13'"},
    {OOBLECK_TIMES, "[{\"forward\": 1, \"backward\": 5e-324, \"mem_required\": [1, 1]}]",
     "p/mb1.json:1:29: [0].backward: expected a time from 1 ps to 1e9 s, found '5e-324'"},
    {OOBLECK_TIMES, "[{\"forward\": 1, \"backward\": 1, \"mem_required\": 1}]",
     "p/mb1.json:1:48: [0].mem_required: expected a list, found '1'"},
    {OOBLECK_TIMES, "[{\"forward\": 1, \"backward\": 1, \"mem_required\": [1]}]",
     "p/mb1.json:1:48: [0].mem_required: expected [parameter bytes, activation bytes], found 1 values"},
    {OOBLECK_TIMES, "[{\"forward\": 1, \"backward\": 1, \"mem_required\": [1, 2, 3]}]",
     "p/mb1.json:1:48: [0].mem_required: expected [parameter bytes, activation bytes], found 3 values"},
    {OOBLECK_TIMES, "[{\"forward\": 1, \"backward\": 1, \"mem_required\": [-1, 2]}]",
     "p/mb1.json:1:49: [0].mem_required[0]: expected a number of at least 0, found '-1'"},
    {OOBLECK_TIMES, "[{\"forward\": 1, \"backward\": 1, \"mem_required\": [1, 1e16]}]",
     "p/mb1.json:1:52: [0].mem_required[1]: expected less than 2^53 bytes, found '1e16'"},
    {OOBLECK_TIMES, "[{\"forward\": 1, \"forward\": 1, \"backward\": 1, \"mem_required\": [1, 1]}]",
     "p/mb1.json:1:28: [0].forward: given twice, first in line 1"},
    {OOBLECK_TIMES, "[{\"forward\": 1, \"backward\": 1, \"mem_required\": [1, 1]}",
     "p/mb1.json:1:55: expected ',' or ']', found the end of the file"},
    {OOBLECK_IN_NODE, "", "p/allreduce_in_node.json:1:1: the file is empty"},
    {OOBLECK_IN_NODE, "{}", "p/allreduce_in_node.json:1:1: expected a list, found a map"},
    {OOBLECK_IN_NODE, "[{\"1\": 0}]", "p/allreduce_in_node.json:1:1: has 1 layers, but 'p/mb1.json' has 2"},
    {OOBLECK_IN_NODE, "[{\"1\": 0}, 3]", "p/allreduce_in_node.json:1:12: [1]: expected a map, found '3'"},
    {OOBLECK_IN_NODE, "[{\"1\": 0}, {\"x\": 3}]",
     "p/allreduce_in_node.json:1:18: [1].x: expected a group size from 1 to 65536 as key, found 'x'"},
    {OOBLECK_IN_NODE, "[{\"1\": 0}, {\"2\": -3}]",
     "p/allreduce_in_node.json:1:18: [1].2: expected a number of at least 0, found '-3'"},
    {OOBLECK_IN_NODE, "[{\"1\": 0}, {\"2\": \"3\"}]",
     "p/allreduce_in_node.json:1:18: [1].2: expected a number of at least 0, found '3'"},
    {OOBLECK_IN_NODE, "[{\"1\": 0}, {\"2\": 1e13}]",
     "p/allreduce_in_node.json:1:18: [1].2: expected a time of at most 1e9 s, found '1e13'"},
    {OOBLECK_IN_NODE, "[{\"1\": 0}, {\"forward\": 1, \"backward\": 1, \"mem_required\": [1, 1]}]",
     "p/allreduce_in_node.json:1:12: [1]: expected all-reduce times by group size, found the times of a "
     "layer; are the files swapped?"},
    {OOBLECK_ACROSS_NODES, "[{\"1\": 0}, {\"1\": 0}, {\"1\": 0}]",
     "p/allreduce_across_nodes.json:1:1: has 3 layers, but 'p/mb1.json' has 2"},
    {OOBLECK_ACROSS_NODES, "[{\"1\": 0}, {\"1.5\": 0}]",
     "p/allreduce_across_nodes.json:1:20: [1].1.5: expected a group size from 1 to 65536 as key, found "
     "'1.5'"},
    {OOBLECK_MODEL_ARGS, "[]", "p/model_args.json:1:1: expected a map, found a list"},
    {OOBLECK_MODEL_ARGS, "{\"a\": 1",
     "p/model_args.json:1:8: expected ',' or '}', found the end of the file"},
};

static void mistakes_are_named_with_place_and_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct oobleck_text texts[OOBLECK_FILE_COUNT] = {[OOBLECK_TIMES] = {TIMES, strlen(TIMES)}};
        struct profile profile;
        struct error err = {0};
        texts[bad[i].file] = (struct oobleck_text){bad[i].text, strlen(bad[i].text)};
        assert_false(oobleck_parse(&profile, "p", texts, 1, &err));
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_string_equal(err.text, bad[i].message);
        assert_null(profile.layers);
    }
}

static void truncated_files_are_survived(void **state)
{
    (void)state;
    for (size_t length = 0; length < strlen(TIMES); length++) {
        struct oobleck_text texts[OOBLECK_FILE_COUNT] = {[OOBLECK_TIMES] = {TIMES, length}};
        struct profile profile;
        struct error err;
        assert_false(oobleck_parse(&profile, "p", texts, 1, &err));
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

/* ---- out ---- */

static void milliseconds_read_back_to_the_same_seconds(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double seconds = (double)(random >> 11) * 0x1p-53 * 100 / 1e3;
        assert_true(oobleck_milliseconds(seconds) / 1e3 == seconds);
    }
}

static void milliseconds_have_few_digits(void **state)
{
    (void)state;
    assert_true(oobleck_milliseconds(0.1 / 1e3) == 0.1);
    assert_true(oobleck_milliseconds(31.077 / 1e3) == 31.077);
    assert_true(oobleck_milliseconds(0.000123457) == 0.123457);
    assert_true(oobleck_milliseconds(0) == 0);
}

static void assert_same(const struct profile *a, const struct profile *b)
{
    struct text first = {0};
    struct text second = {0};
    profile_write_json(a, &(struct json){.out = &first});
    profile_write_json(b, &(struct json){.out = &second});
    assert_string_equal(first.data, second.data);
    text_release(&first);
    text_release(&second);
}

static void a_written_folder_reads_back(void **state)
{
    const struct folder *folder = *state;
    struct profile profile;
    struct profile again;
    struct error err;
    char path[300];
    folder_write(folder, "in/mb2.json", TIMES);
    folder_write(folder, "in/allreduce_in_node.json", IN_NODE);
    folder_write(folder, "in/allreduce_across_nodes.json", ACROSS);
    snprintf(path, sizeof path, "%s/in", folder->path);
    load(&profile, path, 0);
    snprintf(path, sizeof path, "%s/out", folder->path);
    assert_true(profile_save_oobleck(&profile, path, &err));
    load(&again, path, 0);
    assert_same(&profile, &again);
    profile_release(&again);
    profile_release(&profile);
}

static void written_folders_read_back_by_device_type(void **state)
{
    const struct folder *folder = *state;
    struct profile profile;
    struct profile again;
    struct error err;
    char path[300];
    double alone;
    folder_write(folder, "in/a/mb1.json", TIMES);
    folder_write(folder, "in/b/mb1.json", TIMES);
    snprintf(path, sizeof path, "%s/in", folder->path);
    load(&profile, path, 0);
    snprintf(path, sizeof path, "%s/out", folder->path);
    assert_true(profile_save_oobleck(&profile, path, &err));
    load(&again, path, 0);
    assert_int_equal(again.device_count, 2);
    assert_string_equal(again.devices[1].name, "b");
    assert_true(again.devices[1].backward[0] == profile.devices[1].backward[0]);
    assert_true(profile_allreduce_find(&again.devices[0].in_node[1], 1, &alone));
    assert_true(alone == 0);
    profile_release(&again);
    profile_release(&profile);
}

static void a_device_that_cannot_name_a_folder_is_refused(void **state)
{
    static const char text[] =
        "{\"format\": \"rehearse-profile/1\", \"layers\": [{\"parameter_bytes\": 1, \"activation_bytes\": "
        "1}],\n"
        " \"devices\": [{\"name\": \"a\", \"layers\": [{\"forward\": 1, \"backward\": 1}]},\n"
        "             {\"name\": \"../b\", \"layers\": [{\"forward\": 1, \"backward\": 1}]}]}";
    const struct folder *folder = *state;
    struct profile profile;
    struct error err;
    assert_true(profile_parse(&profile, "p.json", text, sizeof text - 1, &err));
    assert_false(profile_save_oobleck(&profile, folder->path, &err));
    assert_string_equal(err.text, "p.json: devices[1].name: '../b' cannot be the name of a folder");
    profile_release(&profile);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_folder_is_read_in_seconds),
        WITH_FOLDER(allreduce_sizes_are_sorted_and_zero_is_ignored),
        WITH_FOLDER(folders_are_device_types_sorted_by_name),
        WITH_FOLDER(the_micro_batch_size_chooses_the_file),
        WITH_FOLDER(sizes_are_rounded_to_whole_bytes),
        WITH_FOLDER(an_empty_folder_is_refused),
        WITH_FOLDER(a_folder_of_both_kinds_is_refused),
        WITH_FOLDER(a_folder_without_times_is_refused),
        WITH_FOLDER(types_with_other_layers_are_refused),
        WITH_FOLDER(types_with_other_bytes_are_refused),
        WITH_FOLDER(types_with_other_micro_batches_are_refused),
        WITH_FOLDER(allreduce_with_other_layers_is_refused),
        cmocka_unit_test(mistakes_are_named_with_place_and_cause),
        cmocka_unit_test(truncated_files_are_survived),
        cmocka_unit_test(milliseconds_read_back_to_the_same_seconds),
        cmocka_unit_test(milliseconds_have_few_digits),
        WITH_FOLDER(a_written_folder_reads_back),
        WITH_FOLDER(written_folders_read_back_by_device_type),
        WITH_FOLDER(a_device_that_cannot_name_a_folder_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
