/* The built-in workloads, and DLIO's files of the same names. */
#include "feed/workloads.h"

#include "support/reference.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static void every_builtin_opens_without_a_warning(void **state)
{
    int count;
    const char *const *names = workload_builtins(&count);
    (void)state;
    assert_true(count >= 34);
    for (int i = 0; i < count; i++) {
        struct workload w = open_workload(names[i]);
        assert_int_equal(w.warning_count, 0);
        workload_release(&w);
    }
}

static void builtins_have_other_names_too(void **state)
{
    struct workload w = open_workload("Megatron");
    (void)state;
    assert_int_equal(w.model.split.pipeline, 8);
    workload_release(&w);
    w = open_workload("bert");
    assert_int_equal(w.reader.batch_size, 48);
    workload_release(&w);
}

static void unknown_names_say_what_there_is(void **state)
{
    static const struct {
        const char *name, *message;
    } cases[] = {{"cosmoflow", "expected cosmoflow_v100, cosmoflow_a100, cosmoflow_h100"},
                 {"unet3d_h10", "expected unet3d_h100"},
                 {"resnet5_h100", "did you mean 'resnet50_h100'?"},
                 {"_unet3d", "unknown workload"},
                 {"./nowhere", "./nowhere"},
                 {"nowhere.yaml", "nowhere.yaml"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct workload workload;
        struct error err = {0};
        assert_false(workload_open(&workload, cases[i].name, NULL, &err));
        assert_contains(err.text, cases[i].message);
    }
}

static void parquet_columns_add_up_to_the_record(void **state)
{
    static const char *const names[] = {"dlrm_b200", "flux_b200"};
    static const int64_t read_bytes[] = {4 * 2 + 27 * 4 + 5 * 8 + 4, 2164832};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct workload w = open_workload(names[i]);
        int64_t all = 0, read = 0;
        for (int at = 0; at < w.dataset.columns.count; at++) {
            const struct workload_column *column = &w.dataset.columns.values[at];
            int64_t bytes = column->count * column->size * workload_element_bytes(column->type);
            all += bytes;
            read += column->read ? bytes : 0;
        }
        assert_true(all == w.dataset.record_length_bytes);
        assert_int_equal(read, read_bytes[i]);
        workload_release(&w);
    }
}

/* Where ours says something else than DLIO's file, on purpose: data/workloads.yaml says why. */
static bool differs_on_purpose(const char *name, const char *path)
{
    return strcmp(name, "llama_1t") == 0 &&
           (strcmp(path, "model.name") == 0 || strcmp(path, "workflow.generate_data") == 0 ||
            strcmp(path, "workflow.train") == 0);
}

static void assert_same(const struct workload *ours, const struct workload *theirs, const char *name)
{
    int count;
    const struct workload_key *keys = workload_keys(&count);
    for (int i = 0; i < count; i++)
        if (key_equal(ours, theirs, &keys[i]) == differs_on_purpose(name, keys[i].path))
            fail_msg("%s: %s", name, keys[i].path);
}

/* All of DLIO's files parse strictly, and say the same as the built-in workload of their name. */
static void builtins_are_dlio_s_files(void **state)
{
    char *folder = reference_path("feed/golden/configs/workload");
    int compared = 0;
    (void)state;
    if (!folder)
        skip();
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[4096], name[256];
        struct workload theirs, ours;
        struct workload_options strict = {.strict = true};
        struct error err = {0};
        size_t length = strlen(entry->d_name);
        if (length < 6 || strcmp(entry->d_name + length - 5, ".yaml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(name, sizeof name, "%.*s", (int)length - 5, entry->d_name);
        if (!workload_open(&theirs, path, &strict, &err))
            fail_msg("%s", err.text);
        if (workload_open(&ours, name, NULL, &err)) {
            assert_same(&ours, &theirs, name);
            compared++;
            workload_release(&ours);
        } else
            assert_contains(name, "_s");
        workload_release(&theirs);
    }
    closedir(dir);
    free(folder);
    assert_true(compared >= 24);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_builtin_opens_without_a_warning),
        cmocka_unit_test(builtins_have_other_names_too),
        cmocka_unit_test(unknown_names_say_what_there_is),
        cmocka_unit_test(parquet_columns_add_up_to_the_record),
        cmocka_unit_test(builtins_are_dlio_s_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
