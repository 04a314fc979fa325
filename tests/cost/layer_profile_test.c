/* Profiles of layers from files. */
#include "cost/layer.h"
#include "cost/transformer_hlo.h"
#include "devices/link.h"
#include "devices/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct shape bert = {8, 128, 768, 12, "f32", false};

static char folder[] = "/tmp/rehearse-layer-XXXXXX";

static const char *save(const char *name, const char *text)
{
    static char paths[4][64];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"a.hlo", "b.hlo", "unknown.hlo"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static void test_profile_has_a_layer_per_file(void **state)
{
    (void)state;
    struct error err = {0};
    struct profile profile;
    struct shape small = bert;
    small.batch = 1;
    struct text a = transformer(&bert), b = transformer(&small);
    const char *first = save("a.hlo", a.data), *second = save("b.hlo", b.data);
    struct layer_file files[] = {{first, NULL}, {second, NULL}, {first, NULL}};
    const struct cost_device *devices[] = {tables_device(NULL, "v100-16gb"), tables_device(NULL, "h100-sxm")};
    struct layer_profile_options options = {.layer.reach = {4, 3, tables_link(NULL, "ib-200g")},
                                            .microbatch_size = 8};
    if (!layer_profile(&profile, NULL, files, 3, devices, 2, &options, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(profile.layer_count, 3);
    assert_string_equal(profile.layers[1].name, "b");
    assert_int_equal(profile.microbatch_size, 8);
    assert_int_equal(profile.device_count, 2);
    const struct profile_device *h100 = &profile.devices[1];
    assert_string_equal(h100->name, "h100-sxm");
    assert_float_equal(h100->forward[2], h100->forward[0], 0);
    assert_true(h100->forward[1] < h100->forward[0]);
    assert_true(h100->backward[0] > h100->forward[0]);
    assert_int_equal(h100->in_node[0].count, 4);
    assert_int_equal(h100->across_nodes[2].count, 3);
    profile_release(&profile);
    text_release(&a);
    text_release(&b);
}

static void test_profile_by_the_fork(void **state)
{
    (void)state;
    struct error err = {0};
    struct profile profile;
    struct text text = transformer(&bert);
    struct layer_file file = {save("a.hlo", text.data), NULL};
    const struct cost_device *devices[] = {tables_device(NULL, "v100-16gb"),
                                           tables_device(NULL, "a100-80gb")};
    struct layer_profile_options options = {.rules = COUNT_XLA_FORK};
    if (!layer_profile(&profile, NULL, &file, 1, devices, 2, &options, NULL, &err))
        fail_msg("%s", err.text);
    /* only clocks differ, and backward is three times forward */
    assert_float_equal(profile.devices[1].forward[0] / profile.devices[0].forward[0], 1.53 / 1.1105, 1e-6);
    assert_float_equal(profile.devices[0].backward[0], 3 * profile.devices[0].forward[0], 1e-9);
    assert_true(profile.layers[0].parameter_bytes > 0);
    profile_release(&profile);
    text_release(&text);
}

static void test_unknown_calls_have_no_profile(void **state)
{
    (void)state;
    struct error err = {0};
    struct profile profile;
    struct layer_file file = {save("unknown.hlo", "HloModule m\nENTRY e {\n  x = f32[64] parameter(0)\n"
                                                  "  ROOT y = f32[64] custom-call(x), "
                                                  "custom_call_target=\"secret\"\n}\n"),
                              NULL};
    const struct cost_device *device = tables_device(NULL, "h100-sxm");
    struct layer_profile_options options = {0};
    assert_false(layer_profile(&profile, NULL, &file, 1, &device, 1, &options, NULL, &err));
    assert_non_null(strstr(err.text, "unknown custom call 'secret'"));
}

static void test_oobleck_folder_is_complete(void **state)
{
    (void)state;
    struct error err = {0};
    struct profile made, read;
    struct text text = transformer(&bert);
    struct layer_file files[] = {{save("a.hlo", text.data), NULL}, {save("a.hlo", text.data), NULL}};
    const struct cost_device *device = tables_device(NULL, "h100-sxm");
    struct layer_profile_options options = {.layer.reach = {4, 3, tables_link(NULL, "ib-200g")},
                                            .microbatch_size = 8};
    char path[64];
    snprintf(path, sizeof path, "%s/oobleck", folder);
    if (!layer_profile(&made, NULL, files, 2, &device, 1, &options, NULL, &err) ||
        !profile_save_oobleck(&made, path, &err) || !profile_load(&read, path, 0, &err))
        fail_msg("%s", err.text);
    static const char *const names[] = {"mb8.json", "model_args.json", "allreduce_in_node.json",
                                        "allreduce_across_nodes.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s/%s", path, names[i]);
        assert_int_equal(unlink(name), 0);
    }
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(read.layer_count, 2);
    assert_float_equal(read.devices[0].forward[1], made.devices[0].forward[1], 1e-12);
    assert_int_equal(read.layers[0].parameter_bytes, made.layers[0].parameter_bytes);
    assert_int_equal(read.layers[0].activation_bytes, made.layers[0].activation_bytes);
    assert_int_equal(read.devices[0].in_node[1].count, 4);
    assert_int_equal(read.devices[0].across_nodes[1].count, 3);
    profile_release(&made);
    profile_release(&read);
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile_has_a_layer_per_file),
        cmocka_unit_test(test_profile_by_the_fork),
        cmocka_unit_test(test_unknown_calls_have_no_profile),
        cmocka_unit_test(test_oobleck_folder_is_complete),
    };
    return cmocka_run_group_tests_name("layer profile", tests, make_folder, remove_folder);
}
