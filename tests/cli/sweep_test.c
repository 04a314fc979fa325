/* A sweep that is killed goes on where it ended, with the same answers; answers of another question are not taken. */
#include "api/sweep/sweep.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const int64_t batches[] = {1, 2, 3, 4, 5};
static const char *const names[] = {"a", "b \"c\" \\", "d"};
static const struct sweep_axis axes[] = {
    {"batch", "batch", 5, batches, NULL, NULL, false},
    {"name", "name", 3, NULL, names, NULL, false},
};
static const struct sweep_column columns[] = {
    {"value", "value", SWEEP_NUMBER, NULL},
    {"text", "text", SWEEP_TEXT, NULL},
};

static atomic_int asked;
static int kill_at; /* the process ends at this call; 0: never */

/* Every fourth point has no answer. Numbers with all their bits. */
static bool answer(const void *context, const int *at, struct sweep_cell *cells, struct error *err)
{
    (void)context;
    int point = at[0] * 3 + at[1];
    if (++asked == kill_at)
        raise(SIGKILL);
    if (point % 4 == 3)
        return error_set(err, ERROR_INFEASIBLE, "point %d: \"no\" \\", point);
    cells[0].number = point == 5 ? NAN : sqrt(point + 2.0);
    snprintf(cells[1].text, sizeof cells[1].text, "%d, \"%s\"", point, names[at[1]]);
    return true;
}

static struct sweep question(const char *inputs)
{
    return (struct sweep){.format = "rehearse-test-sweep/1",
                          .title = "test",
                          .doing = "testing",
                          .axis_count = 2,
                          .axes = axes,
                          .column_count = 2,
                          .columns = columns,
                          .answer = answer,
                          .drawn = "values",
                          .inputs = inputs};
}

static char folder[] = "/tmp/rehearse-sweep-XXXXXX";

/* Runs a sweep into a file of the folder in a process of its own, whose standard output is lost. Returns the number of points
 * that were asked; -1: it was killed. */
static int sweep_into(const char *name, const char *inputs, int killed_at)
{
    char path[128];
    int status;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct error err;
        struct sweep sweep = question(inputs);
        const struct sweep_output output = {.file = path, .threads = 1};
        kill_at = killed_at;
        asked = 0;
        if (!freopen("/dev/null", "w", stdout))
            _exit(100);
        rh_handle *made = sweep_answer(&sweep, &output, &err);
        _exit(made ? asked : 101);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static size_t read_file(const char *name, char *data, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    size_t length = fread(data, 1, size - 1, file);
    data[length] = '\0';
    fclose(file);
    return length;
}

static void assert_same(const char *a, const char *b)
{
    static char first[16384], second[16384];
    assert_true(read_file(a, first, sizeof first) > 0);
    assert_true(read_file(b, second, sizeof second) > 0);
    assert_string_equal(first, second);
}

static void a_killed_sweep_goes_on(void **state)
{
    (void)state;
    char data[64];
    assert_int_equal(sweep_into("whole.json", "x", 0), 15);
    for (int at = 1; at <= 15; at++) {
        assert_int_equal(sweep_into("killed.json", "x", at), -1);
        assert_int_equal(sweep_into("killed.json", "x", 0), 15 - (at - 1));
        assert_same("whole.json", "killed.json");
        assert_int_equal(read_file("killed.json.sweep", data, sizeof data), 0);
    }
}

static void answers_of_other_inputs_are_not_taken(void **state)
{
    (void)state;
    assert_int_equal(sweep_into("other.json", "x", 9), -1);
    assert_int_equal(sweep_into("other.json", "y", 0), 15);
    assert_same("whole.json", "other.json");
}

/* A line that was being written, or is damaged: the points from there on are asked again. */
static void a_torn_line_is_dropped(void **state)
{
    (void)state;
    static char data[16384];
    char path[128];
    assert_int_equal(sweep_into("torn.json", "x", 12), -1);
    size_t length = read_file("torn.json.sweep", data, sizeof data);
    snprintf(path, sizeof path, "%s/torn.json.sweep", folder);
    assert_true(length > 40);
    for (size_t cut = 1; cut < length; cut += 7) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(data, 1, length - cut, file), length - cut);
        fclose(file);
        int asked_again = sweep_into("torn.json", "x", 0);
        assert_true(asked_again >= 4 && asked_again <= 15);
        assert_same("whole.json", "torn.json");
    }
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_sweep_goes_on),
        cmocka_unit_test(answers_of_other_inputs_are_not_taken),
        cmocka_unit_test(a_torn_line_is_dropped),
    };
    return cmocka_run_group_tests_name("sweep", tests, make_folder, remove_folder);
}
