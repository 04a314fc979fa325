/* Checkpoints of drills: whole or not there, read as they were written, and what is corrupted is named. */
#include "run/drill/saved.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/rehearse-saved-XXXXXX";
static const uint64_t words[2][3] = {{1, 2, 3}, {UINT64_MAX, 5, 0}};

static bool exists(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void save_parts(int64_t iteration)
{
    struct error err;
    for (int part = 0; part < 2; part++)
        assert_true(saved_write_part(folder, iteration, part, words[part], 3, &err));
}

static void save(int64_t iteration)
{
    struct error err;
    struct saved_part parts[2];
    const struct saved saved = {.iteration = iteration, .batch = 12, .part_count = 2, .parts = parts};
    save_parts(iteration);
    for (int part = 0; part < 2; part++)
        parts[part] = (struct saved_part){3, saved_checksum(part, words[part], 3)};
    assert_true(saved_write(&saved, folder, &err));
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    saved_remove(folder);
    return access(folder, F_OK) == 0 ? -1 : 0;
}

static void what_is_saved_is_read(void **state)
{
    (void)state;
    struct error err;
    struct saved saved;
    uint64_t got[3];
    assert_int_equal(saved_last(folder, INT64_MAX), -1);
    save(5);
    assert_int_equal(saved_last(folder, INT64_MAX), 5);
    assert_int_equal(saved_last(folder, 4), -1);
    assert_true(saved_read(&saved, folder, 5, &err));
    assert_true(saved.iteration == 5 && saved.batch == 12 && saved.part_count == 2);
    for (int part = 0; part < 2; part++) {
        assert_true(saved_read_part(&saved, folder, part, got, &err));
        assert_memory_equal(got, words[part], sizeof got);
    }
    saved_release(&saved);
}

static void what_is_unfinished_is_no_checkpoint(void **state)
{
    (void)state;
    save(5);
    save_parts(10); /* whoever completes it was lost */
    assert_int_equal(saved_last(folder, INT64_MAX), 5);
    save(15);
    assert_true(exists("iteration-5/checkpoint.json") && !exists("iteration-10") && exists("iteration-15"));
    save(20);
    assert_true(!exists("iteration-5") && exists("iteration-15/part-1.bin"));
    assert_int_equal(saved_last(folder, 19), 15);
}

static void overwrite(const char *name, long at, const char *bytes)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    assert_int_equal(fputs(bytes, file) >= 0 && fclose(file) == 0, 1);
}

static void assert_why(const struct error *err, const char *name, const char *why)
{
    char text[400];
    snprintf(text, sizeof text, "%s/%s: %s", folder, name, why);
    assert_string_equal(err->text, text);
}

static void what_is_corrupted_is_named(void **state)
{
    (void)state;
    struct error err;
    struct saved saved;
    uint64_t got[3];
    char path[200];
    save(5);
    assert_true(saved_read(&saved, folder, 5, &err));
    overwrite("iteration-5/part-1.bin", 9, "x");
    assert_true(saved_read_part(&saved, folder, 0, got, &err));
    assert_false(saved_read_part(&saved, folder, 1, got, &err));
    assert_why(&err, "iteration-5/part-1.bin", "is corrupted: wrong checksum");
    snprintf(path, sizeof path, "%s/iteration-5/part-0.bin", folder);
    assert_int_equal(truncate(path, 16), 0);
    assert_false(saved_read_part(&saved, folder, 0, got, &err));
    assert_why(&err, "iteration-5/part-0.bin", "has 16 bytes, expected 24");
    saved_release(&saved);
    snprintf(path, sizeof path, "%s/iteration-5", folder);
    char other[200];
    snprintf(other, sizeof other, "%s/iteration-6", folder);
    assert_int_equal(rename(path, other), 0);
    assert_false(saved_read(&saved, folder, 6, &err));
    assert_why(&err, "iteration-6/checkpoint.json", "belongs to iteration 5");
}

static void manifests_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{\"iteration\": 4}", "m:1:1: 'format' is missing"},
        {"{\"format\": \"rehearse-drill-checkpoint/1\", \"iteration\": 4, \"batch\": 12, \"next_sample\": "
         "47, \"parts\": []}",
         "m:1:87: next_sample: sample 47 is not the next one after 4 iterations of 12"},
        {"{\"format\": \"rehearse-drill-checkpoint/1\", \"iteration\": 1000000000000, \"batch\": 2147483647, "
         "\"next_sample\": 2147483647, \"parts\": []}", /* their product is beyond 64 bits */
         "m:1:107: next_sample: sample 2147483647 is not the next one after 1000000000000 iterations of "
         "2147483647"},
        {"{\"format\": \"rehearse-drill-checkpoint/1\", \"iteration\": 1, \"batch\": 1, \"next_sample\": 1, "
         "\"parts\": [{\"words\": 1, "
         "\"checksum\": \"0x12\"}]}",
         "m:1:124: parts[0].checksum: expected 16 hexadecimal digits, found '0x12'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct saved saved;
        struct error err;
        assert_false(saved_parse(&saved, "m", cases[i].text, strlen(cases[i].text), &err));
        assert_string_equal(err.text, cases[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_saved_is_read, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_unfinished_is_no_checkpoint, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_corrupted_is_named, make_folder, remove_folder),
        cmocka_unit_test(manifests_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
