/* rehearse-profile/1, in and out, and the table for people. */
#include "core/file_output.h"
#include "model/folder.h"
#include "model/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char example[] =
    "{\n"
    "  \"format\": \"rehearse-profile/1\",\n"
    "  \"$schema\": \"https://rehearse.invalid/schema/profile-1.json\",\n"
    "  \"model\": \"tiny\",\n"
    "  \"source\": \"by hand\",\n"
    "  \"microbatch_size\": 2,\n"
    "  \"layers\": [\n"
    "    {\"name\": \"embedding\", \"parameter_bytes\": 4096, \"activation_bytes\": 128, \"output_bytes\": "
    "64},\n"
    "    {\"parameter_bytes\": 8192, \"activation_bytes\": 0}\n"
    "  ],\n"
    "  \"devices\": [\n"
    "    {\n"
    "      \"name\": \"a\",\n"
    "      \"layers\": [\n"
    "        {\"forward\": 0.001, \"backward\": 0.002, \"allreduce_in_node\": {\"1\": 0, \"2\": 0.1}},\n"
    "        {\"forward\": 1e-05, \"backward\": 2.5e-05}\n"
    "      ]\n"
    "    },\n"
    "    {\n"
    "      \"name\": \"b\",\n"
    "      \"layers\": [\n"
    "        {\"forward\": 0.0005, \"backward\": 0.001},\n"
    "        {\"forward\": 3, \"backward\": 4, \"allreduce_across_nodes\": {\"2\": 0.5}}\n"
    "      ]\n"
    "    }\n"
    "  ]\n"
    "}\n";

static void parse(struct profile *profile, const char *text)
{
    struct error err;
    if (!profile_parse(profile, "p.json", text, strlen(text), &err))
        fail_msg("%s", err.text);
}

static void a_profile_is_read(void **state)
{
    struct profile profile;
    double seconds;
    (void)state;
    parse(&profile, example);
    assert_string_equal(profile.path, "p.json");
    assert_string_equal(profile.model, "tiny");
    assert_string_equal(profile.source, "by hand");
    assert_int_equal(profile.microbatch_size, 2);
    assert_int_equal(profile.layer_count, 2);
    assert_string_equal(profile.layers[0].name, "embedding");
    assert_null(profile.layers[1].name);
    assert_int_equal(profile.layers[0].output_bytes, 64);
    assert_int_equal(profile.layers[1].parameter_bytes, 8192);
    assert_int_equal(profile.device_count, 2);
    assert_string_equal(profile.devices[0].name, "a");
    assert_true(profile.devices[0].forward[1] == 1e-5);
    assert_true(profile.devices[1].backward[1] == 4);
    assert_true(profile_allreduce_find(&profile.devices[0].in_node[0], 2, &seconds));
    assert_true(seconds == 0.1);
    assert_int_equal(profile.devices[0].in_node[1].count, 0);
    assert_null(profile.devices[0].across_nodes);
    assert_null(profile.devices[1].in_node);
    assert_non_null(profile.devices[1].across_nodes);
    profile_release(&profile);
}

static void what_is_written_is_what_was_read(void **state)
{
    struct profile profile;
    struct text text = {0};
    (void)state;
    parse(&profile, example);
    profile_write_json(&profile, &(struct json){.out = &text});
    assert_string_equal(text.data, example);
    text_release(&text);
    profile_release(&profile);
}

static void a_lone_device_needs_no_name(void **state)
{
    static const char text[] = "{\"format\": \"rehearse-profile/1\", \"layers\": [{\"parameter_bytes\": 1, "
                               "\"activation_bytes\": 2}],"
                               " \"devices\": [{\"layers\": [{\"forward\": 1, \"backward\": 2}]}]}";
    struct profile profile;
    (void)state;
    parse(&profile, text);
    assert_null(profile.devices[0].name);
    assert_null(profile.model);
    assert_int_equal(profile.microbatch_size, 0);
    assert_null(profile_find_device(&profile, "a"));
    profile_release(&profile);
}

static void a_saved_file_is_found_by_its_content(void **state)
{
    struct folder folder;
    struct profile profile;
    struct profile again;
    struct error err;
    struct text text = {0};
    char path[300];
    (void)state;
    folder_make(&folder);
    snprintf(path, sizeof path, "%s/profile", folder.path);
    parse(&profile, example);
    profile_write_json(&profile, &(struct json){.out = &text});
    assert_true(file_write(path, text.data, text.length, &err));
    text_release(&text);
    assert_true(profile_load(&again, path, 0, &err));
    assert_int_equal(again.layer_count, 2);
    profile_release(&again);
    assert_true(profile_load(&again, path, 2, &err));
    profile_release(&again);
    profile_release(&profile);
    folder_remove(&folder);
}

static void a_file_of_another_micro_batch_size_is_refused(void **state)
{
    struct folder folder;
    struct profile profile;
    struct error err;
    char path[300];
    (void)state;
    folder_make(&folder);
    folder_write(&folder, "p.json", example);
    snprintf(path, sizeof path, "%s/p.json", folder.path);
    assert_false(profile_load(&profile, path, 4, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_string_equal(err.text + strlen(folder.path),
                        "/p.json: microbatch_size: expected 4 as asked for, found 2");
    assert_null(profile.layers);
    folder_remove(&folder);
}

static void a_path_that_is_not_there_is_an_error(void **state)
{
    struct profile profile;
    struct error err;
    (void)state;
    assert_false(profile_load(&profile, "no-such-profile", 0, &err));
    assert_non_null(strstr(err.text, "no-such-profile"));
}

static void equal_neighbours_are_folded_into_one_row(void **state)
{
    static const char text[] =
        "{\"format\": \"rehearse-profile/1\", \"model\": \"m\", \"layers\": ["
        "{\"name\": \"embedding\", \"parameter_bytes\": 1, \"activation_bytes\": 2},"
        "{\"name\": \"block 1\", \"parameter_bytes\": 1, \"activation_bytes\": 2},"
        "{\"name\": \"block 2\", \"parameter_bytes\": 1, \"activation_bytes\": 2},"
        "{\"name\": \"block 3\", \"parameter_bytes\": 1, \"activation_bytes\": 2}],"
        "\"devices\": [{\"layers\": [{\"forward\": 1, \"backward\": 2}, {\"forward\": 1, \"backward\": 2},"
        "{\"forward\": 1, \"backward\": 2}, {\"forward\": 1, \"backward\": 3}]}]}";
    struct profile profile;
    struct text table = {0};
    (void)state;
    parse(&profile, text);
    profile_print(&profile, &table);
    assert_non_null(strstr(table.data, "\n  0            embedding "));
    assert_non_null(strstr(table.data, "\n  1-2          block "));
    assert_non_null(strstr(table.data, "\n  3            block 3 "));
    text_release(&table);
    profile_release(&profile);
}

static void the_table_names_the_group_sizes_that_every_layer_has(void **state)
{
    static const char text[] =
        "{\"format\": \"rehearse-profile/1\", \"layers\": [{\"parameter_bytes\": 1, \"activation_bytes\": 2},"
        "{\"parameter_bytes\": 1, \"activation_bytes\": 2}], \"devices\": [{\"layers\": ["
        "{\"forward\": 1, \"backward\": 2, \"allreduce_in_node\": {\"1\": 0, \"2\": 1, \"4\": 1}},"
        "{\"forward\": 1, \"backward\": 2, \"allreduce_in_node\": {\"1\": 0, \"2\": 1, \"8\": 1}}]}]}";
    struct profile profile;
    struct text table = {0};
    (void)state;
    parse(&profile, text);
    profile_print(&profile, &table);
    assert_non_null(strstr(table.data, "in a node, devices: 1, 2\n"));
    assert_non_null(strstr(table.data, "across nodes: not measured\n"));
    text_release(&table);
    profile_release(&profile);
}

#define HEAD           "{\"format\": \"rehearse-profile/1\", "
#define LAYERS         "\"layers\": [{\"parameter_bytes\": 1, \"activation_bytes\": 2}], "
#define DEVICE(layers) HEAD LAYERS "\"devices\": [{\"name\": \"a\", \"layers\": [" layers "]}]}"
#define LAYER(fields)  HEAD "\"layers\": [{" fields "}], \"devices\": []}"

static const struct {
    const char *text;
    const char *message;
} bad[] = {
    {"", "p.json:1:1: the file is empty"},
    {"[]", "p.json:1:1: expected a rehearse-profile/1 map, found a list; for an Oobleck profile name the "
           "folder of the file"},
    {"null", "p.json:1:1: expected a map, found null"},
    {"{}", "p.json:1:1: not a profile: no format: \"rehearse-profile/1\""},
    {"{\"format\": \"rehearse-profile/2\"}",
     "p.json:1:12: format: expected 'rehearse-profile/1', found 'rehearse-profile/2'"},
    {"{\"format\": \"rehearse-plan/2\"}",
     "p.json:1:12: format: expected 'rehearse-profile/1', found 'rehearse-plan/2'"},
    {"{\"format\": 1}", "p.json:1:12: format: expected 'rehearse-profile/1', found '1'"},
    {"{\"format\": \"rehearse-profile/1\"}", "p.json:1:1: 'layers' is missing"},
    {"{\"format\": \"rehearse-profile/1\", \"format\": \"rehearse-profile/1\"}",
     "p.json:1:44: format: given twice, first in line 1"},
    {HEAD "\"layer\": []}", "p.json:1:43: layer: unknown key, did you mean 'layers'?"},
    {HEAD "\"layers\": {}}", "p.json:1:44: layers: expected a list, found a map"},
    {HEAD "\"layers\": []}", "p.json:1:44: layers: expected at least one layer"},
    {HEAD "\"layers\": [1]}", "p.json:1:45: layers[0]: expected a map, found '1'"},
    {HEAD "\"model\": [], \"layers\": []}", "p.json:1:43: model: expected a string, found a list"},
    {HEAD "\"microbatch_size\": 0}",
     "p.json:1:53: microbatch_size: expected a whole number from 1 to 1000000, found '0'"},
    {HEAD "\"microbatch_size\": 1.5}",
     "p.json:1:53: microbatch_size: expected a whole number from 1 to 1000000, found '1.5'"},
    {LAYER(""), "p.json:1:45: layers[0]: 'parameter_bytes' is missing"},
    {LAYER("\"parameter_bytes\": 1"), "p.json:1:45: layers[0]: 'activation_bytes' is missing"},
    {LAYER("\"parameter_bytes\": -1, \"activation_bytes\": 1"),
     "p.json:1:65: layers[0].parameter_bytes: expected a number of at least 0, found '-1'"},
    {LAYER("\"parameter_bytes\": \"1\", \"activation_bytes\": 1"),
     "p.json:1:65: layers[0].parameter_bytes: expected a number of at least 0, found '1'"},
    {LAYER("\"parameter_bytes\": 1e300, \"activation_bytes\": 1"),
     "p.json:1:65: layers[0].parameter_bytes: expected less than 2^53 bytes, found '1e300'"},
    {LAYER("\"parameter_bytes\": 9007199254740992, \"activation_bytes\": 1"),
     "p.json:1:65: layers[0].parameter_bytes: expected less than 2^53 bytes, found '9007199254740992'"},
    {LAYER("\"parameter_bytes\": 1, \"activation_bytes\": null"),
     "p.json:1:88: layers[0].activation_bytes: expected a number of at least 0, found null"},
    {LAYER("\"parameter_bytes\": 1, \"activation_bytes\": 1, \"activations\": 1"),
     "p.json:1:106: layers[0].activations: unknown key, did you mean 'activation_bytes'?"},
    {LAYER("\"parameter_bytes\": 1, \"activation_bytes\": 1, \"output_bytes\": NaN"),
     "p.json:1:107: NaN and Infinity are not numbers in JSON"},
    {LAYER("\"parameter_bytes\": 1, \"activation_bytes\": 1"),
     "p.json:1:104: devices: expected at least one device"},
    {HEAD LAYERS "\"device\": []}", "p.json:1:103: device: unknown key, did you mean 'devices'?"},
    {HEAD LAYERS "\"devices\": 4}", "p.json:1:104: devices: expected a list, found '4'"},
    {HEAD LAYERS "\"devices\": [{}]}", "p.json:1:105: devices[0]: 'layers' is missing"},
    {HEAD LAYERS "\"devices\": [{\"name\": \"a\"}]}", "p.json:1:105: devices[0]: 'layers' is missing"},
    {HEAD LAYERS "\"devices\": [{\"name\": \"\", \"layers\": []}]}",
     "p.json:1:114: devices[0].name: expected a non-empty string"},
    {HEAD LAYERS "\"devices\": [{\"name\": \"a\", \"layer\": []}]}",
     "p.json:1:128: devices[0].layer: unknown key, did you mean 'layers'?"},
    {DEVICE(""), "p.json:1:129: devices[0].layers: has 0 layers, but the model has 1"},
    {DEVICE("{\"forward\": 1, \"backward\": 1}, {\"forward\": 1, \"backward\": 1}"),
     "p.json:1:129: devices[0].layers: has 2 layers, but the model has 1"},
    {DEVICE("[1, 2]"), "p.json:1:130: devices[0].layers[0]: expected a map, found a list"},
    {DEVICE("{\"forward\": 1}"), "p.json:1:130: devices[0].layers[0]: 'backward' is missing"},
    {DEVICE("{\"forward\": -1, \"backward\": 1}"),
     "p.json:1:142: devices[0].layers[0].forward: expected a positive number, found '-1'"},
    {DEVICE("{\"forward\": 0, \"backward\": 1}"),
     "p.json:1:142: devices[0].layers[0].forward: expected a positive number, found '0'"},
    {DEVICE("{\"forward\": 1, \"backward\": NaN}"), "p.json:1:157: NaN and Infinity are not numbers in JSON"},
    {DEVICE("{\"forward\": 1, \"backward\": Infinity}"),
     "p.json:1:157: NaN and Infinity are not numbers in JSON"},
    {DEVICE("{\"forward\": 1, \"backward\": 1e400}"), "p.json:1:157: '1e400' is too large a number"},
    {DEVICE("{\"forward\": 1, \"backward\": 1e10}"),
     "p.json:1:157: devices[0].layers[0].backward: expected a time from 1 ps to 1e9 s, found '1e10'"},
    {DEVICE("{\"forward\": 1e-13, \"backward\": 1}"),
     "p.json:1:142: devices[0].layers[0].forward: expected a time from 1 ps to 1e9 s, found '1e-13'"},
    {DEVICE("{\"forward\": \"1\", \"backward\": 1}"),
     "p.json:1:142: devices[0].layers[0].forward: expected a positive number, found '1'"},
    {DEVICE("{\"foward\": 1, \"backward\": 1}"),
     "p.json:1:141: devices[0].layers[0].foward: unknown key, did you mean 'forward'?"},
    {DEVICE("{\"forward\": 1, \"backward\": 1, \"forward\": 2}"),
     "p.json:1:171: devices[0].layers[0].forward: given twice, first in line 1"},
    {DEVICE("{\"forward\": 1, \"backward\": 1, \"allreduce_in_node\": []}"),
     "p.json:1:181: devices[0].layers[0].allreduce_in_node: expected a map, found a list"},
    {DEVICE("{\"forward\": 1, \"backward\": 1, \"allreduce_in_node\": {\"two\": 1}}"),
     "p.json:1:189: devices[0].layers[0].allreduce_in_node.two: expected a group size from 1 to 65536 as "
     "key, found 'two'"},
    {DEVICE("{\"forward\": 1, \"backward\": 1, \"allreduce_in_node\": {\"-2\": 1}}"),
     "p.json:1:188: devices[0].layers[0].allreduce_in_node.-2: expected a group size from 1 to 65536 as key, "
     "found '-2'"},
    {DEVICE("{\"forward\": 1, \"backward\": 1, \"allreduce_in_node\": {\"02\": 1}}"),
     "p.json:1:188: devices[0].layers[0].allreduce_in_node.02: expected a group size from 1 to 65536 as key, "
     "found '02'"},
    {DEVICE("{\"forward\": 1, \"backward\": 1, \"allreduce_in_node\": {\"\": 1}}"),
     "p.json:1:186: devices[0].layers[0].allreduce_in_node.: expected a group size from 1 to 65536 as key, "
     "found ''"},
    {DEVICE("{\"forward\": 1, \"backward\": 1, \"allreduce_in_node\": {\"65537\": 1}}"),
     "p.json:1:191: devices[0].layers[0].allreduce_in_node.65537: expected a group size from 1 to 65536 as "
     "key, found '65537'"},
    {DEVICE("{\"forward\": 1, \"backward\": 1, \"allreduce_in_node\": {\"2\": -1}}"),
     "p.json:1:187: devices[0].layers[0].allreduce_in_node.2: expected a number of at least 0, found '-1'"},
    {DEVICE("{\"forward\": 1, \"backward\": 1, \"allreduce_in_node\": {\"2\": 1, \"2\": 1}}"),
     "p.json:1:195: devices[0].layers[0].allreduce_in_node.2: given twice, first in line 1"},
    {DEVICE("{\"forward\": 1, \"backward\": 1, \"allreduce_across_nodes\": {\"2\": 1e10}}"),
     "p.json:1:192: devices[0].layers[0].allreduce_across_nodes.2: expected a time of at most 1e9 s, found "
     "'1e10'"},
    {HEAD LAYERS "\"devices\": [{\"name\": \"a\", \"layers\": [{\"forward\": 1, \"backward\": 1}]}, "
                 "{\"name\": \"a\", \"layers\": [{\"forward\": 1, \"backward\": 1}]}]}",
     "p.json:1:172: devices[1].name: device 'a' is listed twice"},
    {HEAD LAYERS "\"devices\": [{\"name\": \"a\", \"layers\": [{\"forward\": 1, \"backward\": 1}]}, "
                 "{\"layers\": [{\"forward\": 1, \"backward\": 1}]}]}",
     "p.json:1:163: devices[1]: expected a name: there are several devices"},
};

static void mistakes_are_named_with_place_and_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct profile profile;
        struct error err = {0};
        assert_false(profile_parse(&profile, "p.json", bad[i].text, strlen(bad[i].text), &err));
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_string_equal(err.text, bad[i].message);
        assert_null(profile.layers);
    }
}

static void truncated_files_are_survived(void **state)
{
    (void)state;
    for (size_t length = 0; length + 2 < sizeof example; length++) {
        struct profile profile;
        struct error err;
        assert_false(profile_parse(&profile, "p.json", example, length, &err));
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_is_read),
        cmocka_unit_test(what_is_written_is_what_was_read),
        cmocka_unit_test(a_lone_device_needs_no_name),
        cmocka_unit_test(a_saved_file_is_found_by_its_content),
        cmocka_unit_test(a_file_of_another_micro_batch_size_is_refused),
        cmocka_unit_test(a_path_that_is_not_there_is_an_error),
        cmocka_unit_test(equal_neighbours_are_folded_into_one_row),
        cmocka_unit_test(the_table_names_the_group_sizes_that_every_layer_has),
        cmocka_unit_test(mistakes_are_named_with_place_and_cause),
        cmocka_unit_test(truncated_files_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
