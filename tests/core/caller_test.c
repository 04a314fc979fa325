/* Callers who wish an end, or hear warnings; and programs that are run for them. */
#include "core/caller.h"
#include "core/child.h"
#include "core/once.h"
#include "core/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAST 1e-9 /* of clock_now, which counts from the machine's start or later */
#define LATE 1e18

static void an_end_is_wished_by_a_flag(void **state)
{
    (void)state;
    atomic_bool stop = false;
    struct caller caller = {.stop = &stop};
    struct error err = {.text = ""};
    assert_null(caller_now());
    assert_false(stop_wanted()); /* nobody's work */
    assert_null(caller_set(&caller));
    assert_false(stop_wanted() || stop_obeyed(&err) || stop_is_late(0));
    atomic_store(&stop, true);
    assert_true(stop_wanted() && stop_unwanted(NULL) == false && stop_is_late(LATE));
    assert_true(stop_obeyed(&err));
    assert_int_equal(err.kind, ERROR_STOPPED);
    assert_string_equal(err.text, "stopped");
    const size_t last = (size_t)2 * STOP_STEPS;
    for (size_t step = 0; step <= last; step++) {
        bool looks = step == 0 || step == STOP_STEPS || step == last;
        assert_int_equal(stop_obeyed_at(step, &err), looks);
        assert_int_equal(stop_wanted_at(step), looks);
    }
    assert_ptr_equal(caller_set(NULL), &caller);
    assert_false(stop_wanted());
}

static bool read_once(struct error *err)
{
    return !stop_obeyed(err);
}

/* Data that all callers share are read to their end by the one who came first, though he does not need them any more. */
static void shared_data_are_read_to_their_end(void **state)
{
    (void)state;
    static struct once once = ONCE_INIT;
    atomic_bool stop = true;
    struct caller caller = {.stop = &stop};
    caller_set(&caller);
    assert_true(once_needed(&once, read_once));
    assert_true(stop_wanted() && caller_now() == &caller && !atomic_load(&caller.starved));
    caller_set(NULL);
}

/* Of two deadlines the earlier one counts, and the other is there again afterwards. */
static void deadlines_are_those_of_the_work_around(void **state)
{
    (void)state;
    static const double deadlines[] = {0, PAST, LATE, 2 * LATE};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            struct caller caller = {.stop = NULL};
            caller_set(&caller);
            assert_true(stop_deadline(deadlines[i]) == 0);
            assert_int_equal(stop_wanted(), deadlines[i] == PAST);
            double before = stop_deadline(deadlines[j]);
            assert_true(before == deadlines[i]);
            assert_int_equal(stop_wanted(), deadlines[i] == PAST || deadlines[j] == PAST);
            double outer = deadlines[i] > 0 ? deadlines[i] : INFINITY,
                   inner = deadlines[j] > 0 ? deadlines[j] : INFINITY, both = fmin(outer, inner);
            assert_true(stop_deadline(0) == (isfinite(both) ? both : 0));
            stop_restore(before);
            assert_int_equal(stop_wanted(), deadlines[i] == PAST);
            caller_set(NULL);
        }
    assert_true(stop_after(0) == 0 && stop_after(-1) == 0 && stop_after(LATE) >= LATE);
    assert_true(stop_is_late(PAST) && !stop_is_late(LATE) && !stop_is_late(0));
}

static void hear(void *user, const char *text)
{
    snprintf(user, 100, "%s", text);
}

/* A warning is one line of text. Without a caller, or one who listens, it is nobody's. */
static void warnings_are_heard(void **state)
{
    (void)state;
    char heard[100] = "";
    struct caller caller = {.warning = hear, .user = heard}, deaf = {.user = heard};
    caller_warn("%d", 1);
    caller_set(&deaf);
    caller_warn("%d", 2);
    assert_string_equal(heard, "");
    caller_set(&caller);
    caller_warn("%d of %s", 3, "a\x01");
    assert_string_equal(heard, "3 of a\\x01");
    assert_false(atomic_load(&caller.starved));
    assert_true(caller_starve() && atomic_load(&caller.starved));
    caller_set(NULL);
    assert_false(caller_starve());
}

static bool run(const char *script, const char *output, int *status)
{
    char *words[] = {"sh", "-c", (char *)script, NULL};
    int in = open("/dev/null", O_RDONLY), out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(in >= 0 && out >= 0);
    bool ran = child_run(words, (const int[3]){in, out, out}, status);
    close(in);
    close(out);
    return ran;
}

static void programs_are_run_with_their_files(void **state)
{
    (void)state;
    char path[] = "/tmp/rehearse-child.XXXXXX", text[100] = "";
    int status = -1, file = mkstemp(path);
    assert_true(file >= 0);
    assert_true(run("cat; echo out; echo err >&2; exit 7", path, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(read(file, text, sizeof text - 1), 8);
    assert_string_equal(text, "out\nerr\n");
    assert_true(run("kill -9 $$", path, &status));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    char *words[] = {"no-such-program-rehearse", NULL};
    assert_false(child_run(words, (const int[3]){file, file, file}, &status));
    assert_int_equal(errno, ENOENT);
    atomic_bool stop = true; /* who wishes an end does not wait for it */
    struct caller caller = {.stop = &stop};
    caller_set(&caller);
    if (run("exec sleep 1000", path, &status))
        assert_true(WIFSIGNALED(status));
    caller_set(NULL);
    close(file);
    unlink(path);
}

static const char *value_in(char *const *environment, const char *name)
{
    const char *found = NULL;
    for (; *environment; environment++)
        if (strncmp(*environment, name, strlen(name)) == 0 && (*environment)[strlen(name)] == '=') {
            assert_null(found); /* once */
            found = *environment + strlen(name) + 1;
        }
    return found;
}

static void users_are_found_by_name_or_number(void **state)
{
    (void)state;
    const struct passwd *own = getpwuid(geteuid());
    struct error err;
    struct child_user user;
    if (!own) {
        print_message("this user has no name\n");
        skip();
    }
    char name[200], number[20], home[500];
    snprintf(name, sizeof name, "%s", own->pw_name);
    snprintf(home, sizeof home, "%s", own->pw_dir);
    snprintf(number, sizeof number, "%u", (unsigned)geteuid());
    setenv("HOME", "/elsewhere", 1);
    setenv("REHEARSE_TEST_KEPT", "yes", 1);
    for (int i = 0; i < 2; i++) {
        assert_true(child_user_find(&user, i == 0 ? name : number, &err));
        assert_int_equal(user.user, geteuid());
        assert_true(user.count >= 1);
        assert_string_equal(value_in(user.environment, "HOME"), home);
        assert_string_equal(value_in(user.environment, "USER"), name);
        assert_string_equal(value_in(user.environment, "LOGNAME"), name);
        assert_string_equal(value_in(user.environment, "REHEARSE_TEST_KEPT"), "yes");
        assert_non_null(value_in(user.environment, "SHELL"));
        child_user_release(&user);
    }
    static const char *const wrong[] = {"no-such-user-rehearse", "", "-1", "4294967295", "0x0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(child_user_find(&user, wrong[i], &err));
        assert_int_equal(err.kind, ERROR_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_is_wished_by_a_flag),
        cmocka_unit_test(shared_data_are_read_to_their_end),
        cmocka_unit_test(deadlines_are_those_of_the_work_around),
        cmocka_unit_test(warnings_are_heard),
        cmocka_unit_test(programs_are_run_with_their_files),
        cmocka_unit_test(users_are_found_by_name_or_number),
    };
    return cmocka_run_group_tests_name("core/caller", tests, NULL, NULL);
}
