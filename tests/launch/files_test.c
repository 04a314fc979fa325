/* Further files that a launch description names: regular ones of its folder, so many, and no others. */
#include "core/caller.h"
#include "core/text.h"
#include "launch/launch.h"
#include "launch/python/python.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define RUN                                                                                                  \
    "torchrun pretrain_gpt.py --num-layers 12 --hidden-size 768 --num-attention-heads 12 --seq-length 1024 " \
    "--micro-batch-size 1 --global-batch-size $BATCH\n"

static char folder[] = "/tmp/budget-test-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* "repo/own/run.sh" beside "repo/common.sh" and "far.sh", with pipes and links between them. */
static int start(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || mkdir(in_folder("repo"), 0755) != 0 || mkdir(in_folder("repo/own"), 0755) != 0)
        return -1;
    put("far.sh", "BATCH=64\n");
    put("repo/common.sh", "BATCH=16\n");
    put("repo/own/here.sh", "BATCH=8\n");
    return mkfifo(in_folder("repo/own/pipe"), 0600) != 0 ||
                   symlink("../../far.sh", in_folder("repo/own/out")) != 0 ||
                   symlink("here.sh", in_folder("repo/own/in")) != 0 ||
                   symlink("/dev/null", in_folder("repo/own/null")) != 0
               ? -1
               : 0;
}

static int end(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* Reads a script that sources this file; returns the batch, 0: it is not known; *why is the note on what was not read. */
static int64_t batch_of(const char *sourced, const char *root, char why[512])
{
    struct launch_options options = {0};
    struct error err;
    char script[1024];
    snprintf(script, sizeof script, "source %s\n" RUN, sourced);
    put("repo/own/run.sh", script);
    const struct launch_input input = {.path = in_folder("repo/own/run.sh"), .root = root};
    if (!launch_read(&options, &input, &err))
        fail_msg("%s", err.text);
    int64_t batch = options.batch.given ? options.batch.value : 0;
    *why = '\0';
    for (int i = 0; i < options.note_count; i++)
        if (strstr(options.notes[i], "not read: "))
            snprintf(why, 512, "%s", options.notes[i]);
    assert_true(batch > 0 || options.missing_count > 0);
    launch_options_release(&options);
    return batch;
}

static void files_of_the_folder_are_read(void **state)
{
    char why[512];
    (void)state;
    assert_int_equal(batch_of("here.sh", NULL, why), 8);
    assert_int_equal(batch_of("in", NULL, why), 8);
    assert_int_equal(batch_of("../own/here.sh", NULL, why), 8);
    assert_string_equal(why, "");
}

static void others_are_named_and_not_opened(void **state)
{
    static const char *const pipes[] = {"pipe", "null", "/dev/null", NULL};
    static const char *const outside[] = {"../common.sh",  "../../far.sh",       "out",
                                          "/etc/hostname", "/proc/self/environ", NULL};
    char why[512];
    (void)state;
    for (int i = 0; pipes[i]; i++) {
        assert_int_equal(batch_of(pipes[i], NULL, why), 0);
        assert_non_null(strstr(why, "not a regular file"));
    }
    for (int i = 0; outside[i]; i++) {
        assert_int_equal(batch_of(outside[i], NULL, why), 0);
        if (access(outside[i], F_OK) == 0 || outside[i][0] != '/')
            assert_non_null(strstr(why, "outside of the description's folder (--root FOLDER)"));
    }
    assert_int_equal(batch_of("/dev/stdin", folder, why), 0);
}

static void a_root_opens_the_folders_below_it(void **state)
{
    char why[512];
    (void)state;
    assert_int_equal(batch_of("../common.sh", in_folder("repo"), why), 16);
    assert_int_equal(batch_of("../../far.sh", in_folder("repo"), why), 0);
    assert_int_equal(batch_of("out", in_folder("repo"), why), 0);
    assert_int_equal(batch_of("out", folder, why), 64);
    assert_int_equal(batch_of("pipe", folder, why), 0);
    assert_int_equal(batch_of("null", folder, why), 0);
    struct launch_options options = {0};
    struct error err;
    const struct launch_input input = {.path = in_folder("repo/own/run.sh"), .root = in_folder("far.sh")};
    assert_false(launch_read(&options, &input, &err));
    assert_non_null(strstr(err.text, "far.sh' is not a folder"));
}

static void a_checkout_is_the_root(void **state)
{
    char why[512];
    (void)state;
    assert_int_equal(mkdir(in_folder("repo/.git"), 0755), 0);
    assert_int_equal(batch_of("../common.sh", NULL, why), 16);
    assert_int_equal(batch_of("../../far.sh", NULL, why), 0);
    assert_int_equal(batch_of("../common.sh", in_folder("repo/own"), why), 0); /* --root is in its place */
    assert_int_equal(rmdir(in_folder("repo/.git")), 0);
}

/* Sixteen modules that import all of each other: a name is sought once in each. */
static void circles_of_imports_end(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        struct text text = {0};
        char name[64];
        for (int j = 0; j < 16; j++)
            text_format(&text, "from .m%d import *\n", j);
        if (i == 15)
            text_add(&text, "VALUE = 7\n");
        snprintf(name, sizeof name, "repo/own/m%d.py", i);
        put(name, text.data);
        text_release(&text);
    }
    static const char data[] = "from .m0 import *\ndef make():\n    return [VALUE, nothing, nowhere]\n";
    struct python python;
    struct launch_budget budget = {0};
    struct arena arena = {0};
    struct error err;
    const char *path = in_folder("repo/own/recipe.py");
    assert_true(launch_budget_begin(&budget, &arena, path, NULL, false, &err));
    if (!python_read(&python, path, data, strlen(data), &budget, &err))
        fail_msg("%s", err.text);
    const struct python_value *list = python_call(&python, "make", &err);
    assert_non_null(list);
    assert_int_equal(list->fields->value->kind, PYTHON_NUMBER);
    assert_int_equal((int)list->fields->value->number, 7);
    assert_int_equal(list->fields->next->value->kind, PYTHON_UNKNOWN);
    assert_true(budget.steps < 3000);
    assert_true(budget.lookups < 600);
    python_release(&python);
    arena_release(&arena);
}

/* Reads Python; the error must say which part of the budget is spent. */
static void is_spent(const char *data, const char *why)
{
    struct python python;
    struct launch_budget budget = {0};
    struct error err;
    if (python_read(&python, "x.py", data, strlen(data), &budget, &err)) {
        assert_null(python_call(&python, "make", &err));
        python_release(&python);
    }
    if (!strstr(err.text, why))
        fail_msg("%s", err.text);
}

static void long_programs_end_with_a_reason(void **state)
{
    struct text text = {0};
    (void)state;
    /* each function calls the next one eight times */
    for (int i = 0; i < 14; i++)
        text_format(&text, "def f%d():\n    return f%d(f%d(f%d(f%d(f%d(f%d(f%d(f%d()))))))) + f%d()\n", i,
                    i + 1, i + 1, i + 1, i + 1, i + 1, i + 1, i + 1, i + 1, i + 1);
    text_add(&text, "def f14():\n    return 1\ndef make():\n    return f0()\n");
    is_spent(text.data, "steps of reading a launch description");
    text.length = 0;
    for (int i = 0; i < PYTHON_MAX_TOKENS; i++)
        text_add(&text, ";");
    is_spent(text.data, "words and signs of Python");
    text_release(&text);
}

/* A map of n keys takes n steps, not n². */
static void large_maps_are_read(void **state)
{
    enum { KEYS = 50000 };
    struct text text = {0};
    struct python python;
    struct launch_budget budget = {0};
    struct error err;
    (void)state;
    text_add(&text, "def make():\n    return {");
    for (int i = 0; i < KEYS; i++)
        text_format(&text, "\"k%d\": %d,", i % (KEYS / 2), i);
    text_add(&text, "}\n");
    if (!python_read(&python, "x.py", text.data, text.length, &budget, &err))
        fail_msg("%s", err.text);
    const struct python_value *map = python_call(&python, "make", &err);
    assert_non_null(map);
    assert_int_equal((int)python_field(map, "k7")->value->number, KEYS / 2 + 7);
    assert_string_equal(map->fields->next->name, "k1");
    assert_null(python_field(map, "k"));
    int count = 0;
    for (const struct python_field *field = map->fields; field; field = field->next)
        count++;
    assert_int_equal(count, KEYS / 2);
    assert_true(budget.steps < 8 * KEYS);
    python_release(&python);
    text_release(&text);
}

/* Reads a script; the error must say which part of the budget is spent. */
static void script_is_spent(const char *data, const char *why)
{
    struct launch_options options = {0};
    struct error err;
    const struct launch_input input = {
        .path = "x.sh", .data = data, .length = strlen(data), .is_alone = true};
    assert_false(launch_read(&options, &input, &err));
    if (!strstr(err.text, why))
        fail_msg("%s", err.text);
}

/* Words of a value that is split again and again, and texts that double. */
static void long_scripts_end_with_a_reason(void **state)
{
    struct text text = {0};
    (void)state;
    text_add(&text, "A=\"");
    for (int i = 0; i < 100000; i++)
        text_add(&text, "x ");
    text_add(&text, "\"\n");
    for (int i = 0; i < 10; i++)
        text_add(&text, "torchrun pretrain_gpt.py $A\n");
    script_is_spent(text.data, "steps of reading a launch description");
    text.length = 0;
    text_add(&text, "A=xxxxxxxx\n");
    for (int i = 0; i < 30; i++)
        text_add(&text, "A=\"$A$A\"\n");
    script_is_spent(text.data, "its variables expand to more than");
    text_release(&text);
}

/* All readers obey a stop. */
static void a_stop_ends_the_readers(void **state)
{
    static const char *const kinds[] = {"a.sh", "a.py"};
    struct text text = {0};
    atomic_bool stop = true;
    struct caller caller = {.stop = &stop}, *before = caller_set(&caller);
    (void)state;
    for (int i = 0; i < 2; i++) {
        text.length = 0;
        for (int j = 0; j < 2000; j++)
            text_add(&text, i == 0 ? "A=1\n" : "a = 1\n");
        struct launch_options options = {0};
        struct error err;
        const struct launch_input input = {.path = kinds[i], .data = text.data, .length = text.length};
        assert_false(launch_read(&options, &input, &err));
        assert_int_equal(err.kind, ERROR_STOPPED);
    }
    caller_set(before);
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_the_folder_are_read),
        cmocka_unit_test(others_are_named_and_not_opened),
        cmocka_unit_test(a_root_opens_the_folders_below_it),
        cmocka_unit_test(a_checkout_is_the_root),
        cmocka_unit_test(circles_of_imports_end),
        cmocka_unit_test(long_programs_end_with_a_reason),
        cmocka_unit_test(long_scripts_end_with_a_reason),
        cmocka_unit_test(large_maps_are_read),
        cmocka_unit_test(a_stop_ends_the_readers),
    };
    return cmocka_run_group_tests(tests, start, end);
}
