/* The profiles of the reference planner: all are read, and written and read again they say the same. */
#include "model/folder.h"
#include "model/profile.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct reference {
    char root[1024];
    char names[64][64];
    int count;
};

static int find_profiles(void **state)
{
    static struct reference reference;
    const char *given = getenv("REHEARSE_REFERENCE");
    const char *source = getenv("REHEARSE_SOURCE_ROOT");
    if (given)
        snprintf(reference.root, sizeof reference.root, "%s/planning/profiles", given);
    else
        snprintf(reference.root, sizeof reference.root, "%s/../shared/reference/planning/profiles",
                 source ? source : ".");
    DIR *dir = opendir(reference.root);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) && reference.count < 64)
        if (entry->d_name[0] != '.')
            snprintf(reference.names[reference.count++], sizeof *reference.names, "%.63s", entry->d_name);
    if (dir)
        closedir(dir);
    *state = &reference;
    return 0;
}

static void skip_without(const struct reference *reference)
{
    if (reference->count == 0) {
        print_message("skipped: no reference profiles in %s\n", reference->root);
        skip();
    }
}

static void load(struct profile *profile, const char *folder, const char *name)
{
    struct error err;
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!profile_load(profile, path, 0, &err))
        fail_msg("%s", err.text);
}

static void all_are_read(void **state)
{
    const struct reference *reference = *state;
    skip_without(reference);
    for (int i = 0; i < reference->count; i++) {
        struct profile profile;
        load(&profile, reference->root, reference->names[i]);
        assert_true(profile.layer_count > 0);
        assert_int_equal(profile.microbatch_size, 1);
        for (int d = 0; d < profile.device_count; d++) {
            assert_non_null(profile.devices[d].in_node);
            assert_non_null(profile.devices[d].across_nodes);
        }
        profile_release(&profile);
    }
}

static void the_published_profile_has_its_known_sums(void **state)
{
    const struct reference *reference = *state;
    struct profile profile;
    double forward = 0;
    double total = 0;
    int64_t parameters = 0;
    skip_without(reference);
    load(&profile, reference->root, "gpt2-xl-raw");
    for (int i = 0; i < profile.layer_count; i++) {
        forward += profile.devices[0].forward[i];
        total += profile.devices[0].forward[i] + profile.devices[0].backward[i];
        parameters += profile.layers[i].parameter_bytes;
    }
    assert_int_equal(profile.layer_count, 50);
    assert_true(forward > 1.58427 && forward < 1.58429);
    assert_true(total > 6.337126 && total < 6.337128);
    assert_int_equal(parameters, INT64_C(6755862528));
    profile_release(&profile);
}

static char *as_json(const struct profile *profile)
{
    struct text text = {0};
    profile_write_json(profile, &(struct json){.out = &text});
    return text.data;
}

static void they_survive_both_formats(void **state)
{
    const struct reference *reference = *state;
    skip_without(reference);
    for (int i = 0; i < reference->count; i++) {
        struct folder folder;
        struct profile profile;
        struct profile from_json;
        struct profile from_oobleck;
        struct error err;
        folder_make(&folder);
        load(&profile, reference->root, reference->names[i]);
        char *before = as_json(&profile);
        assert_true(profile_parse(&from_json, "again.json", before, strlen(before), &err));
        assert_true(profile_save_oobleck(&from_json, folder.path, &err));
        assert_true(profile_load(&from_oobleck, folder.path, 0, &err));
        char *after = as_json(&from_oobleck);
        assert_string_equal(before, after);
        free(before);
        free(after);
        profile_release(&from_oobleck);
        profile_release(&from_json);
        profile_release(&profile);
        folder_remove(&folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_read),
        cmocka_unit_test(the_published_profile_has_its_known_sums),
        cmocka_unit_test(they_survive_both_formats),
    };
    return cmocka_run_group_tests(tests, find_profiles, NULL);
}
