/* Whose events `rehearse trace` records. */
#include "core/file.h"
#include "core/system/cgroup.h"
#include "support/capture_run.h"
#include "trace/capture/container.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct traced {
    struct capture_run run;
    bool done;
    struct error err;
};

static void *trace_in_thread(void *context)
{
    struct traced *traced = context;
    char program[] = "/proc/self/exe", act[] = "act", name[] = "many";
    char *words[] = {program, act, name, traced->run.data, traced->run.log, NULL};
    const struct trace_capture_options options = capture_options_of(&traced->run, words);
    traced->done = trace_capture(&options, &traced->run.report, &traced->err);
    return NULL;
}

static void two_traces_at_once_are_kept_apart(void **state)
{
    struct traced traced[2];
    pthread_t threads[2];
    (void)state;
    capture_need_bpf();
    for (int i = 0; i < 2; i++) {
        capture_make(&traced[i].run);
        pthread_create(&threads[i], NULL, trace_in_thread, &traced[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        assert_true(traced[i].done);
        assert_int_equal(traced[i].run.report.lost, 0);
        capture_read_events(&traced[i].run);
        capture_compare(traced[i].run.log);
        struct capture_run other = traced[i].run;
        memcpy(other.data, traced[1 - i].run.data, sizeof other.data);
        capture_read_events(&other);
        assert_int_equal(seen_count, 0);
    }
    for (int i = 0; i < 2; i++)
        capture_remove(&traced[i].run);
}

/* A process that waits for a byte before it acts, and has said that it does. */
struct waiting {
    struct capture_run *run;
    pid_t pid;
    int gate;
};

static struct waiting start_waiting(struct capture_run *run, const char *what, const char *group)
{
    struct waiting waiting = {.run = run};
    char byte;
    int gate[2], ready[2];
    capture_make(run);
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    waiting.pid = fork();
    if (waiting.pid == 0) {
        FILE *members = group ? fopen(group, "w") : NULL;
        if (group && (!members || fprintf(members, "%d\n", getpid()) < 0 || fclose(members) != 0))
            _exit(126);
        dup2(gate[0], STDIN_FILENO);
        dup2(ready[1], STDOUT_FILENO);
        execl("/proc/self/exe", "capture_test", "act", what, run->data, run->log, NULL);
        _exit(127);
    }
    close(gate[0]);
    close(ready[1]);
    waiting.gate = gate[1];
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return waiting;
}

/* A trace in a thread, while others act. */
struct background {
    struct trace_capture_options options;
    struct trace_capture_report report;
    atomic_bool begun, stop, over;
    bool done;
    struct error err;
    pthread_t thread;
};

static void *background_main(void *context)
{
    struct background *background = context;
    background->done = trace_capture(&background->options, &background->report, &background->err);
    background->over = true;
    return NULL;
}

static void begin_background(struct background *background)
{
    background->options.begun = &background->begun;
    background->options.stop = &background->stop;
    background->options.version = "test";
    pthread_create(&background->thread, NULL, background_main, background);
    while (!background->begun && !background->over)
        usleep(1000);
}

static void end_background(struct background *background, bool stop)
{
    background->stop = stop;
    pthread_join(background->thread, NULL);
    if (!background->done)
        fail_msg("%s", background->err.text);
    assert_int_equal(background->report.lost, 0);
    trace_capture_report_release(&background->report);
}

/* Lets it act; it is gone then. */
static void let_act(struct waiting *waiting)
{
    int status = -1;
    assert_int_equal(write(waiting->gate, "x", 1), 1);
    close(waiting->gate);
    assert_int_equal(waitpid(waiting->pid, &status, 0), waiting->pid);
    assert_int_equal(status, 0);
}

static void trace_running(const char *what)
{
    struct capture_run run;
    capture_need_bpf();
    struct waiting waiting = start_waiting(&run, what, NULL);
    struct background trace = {.options = {.store = run.store, .pid = waiting.pid}};
    begin_background(&trace);
    let_act(&waiting);
    end_background(&trace, false); /* the trace ends with it */
    capture_read_events(&run);
    capture_compare(run.log);
    capture_remove(&run);
}

static void a_running_process_is_traced_from_then_on(void **state)
{
    (void)state;
    trace_running("waiting");
}

static void its_threads_that_run_already_are_traced(void **state)
{
    (void)state;
    trace_running("thread later");
}

/* Makes a group of a hierarchy ("": of version 2) and one below it; skips the test where that cannot be done. */
static void new_groups(const char *hierarchy, const char *name, char *group, char *below, size_t size)
{
    struct cgroup_mount mount;
    struct error err;
    char *mounts;
    size_t length;
    assert_true(file_read("/proc/self/mountinfo", 1 << 24, &mounts, &length, &err));
    bool found = cgroup_mount_of(mounts, hierarchy, &mount);
    free(mounts);
    snprintf(group, size, "%.200s/%s", mount.point, name);
    snprintf(below, size, "%.280s/below", group);
    if (!found || mkdir(group, 0755) != 0) {
        print_message("# skipped: no control group '%s' can be made here\n", hierarchy);
        skip();
    }
    assert_int_equal(mkdir(below, 0755), 0);
}

/* Traces three processes' acts by a group that holds the second, and in a group below it the third. */
static void trace_group(const char *hierarchy)
{
    struct capture_run runs[3];
    struct waiting waiting[3];
    char name[64], group[300], below[300], members[320];
    capture_need_bpf();
    snprintf(name, sizeof name, "rehearse-test-%d", getpid());
    new_groups(hierarchy, name, group, below, sizeof group);
    waiting[0] = start_waiting(&runs[0], "waiting", NULL); /* outside */
    snprintf(members, sizeof members, "%s/cgroup.procs", group);
    waiting[1] = start_waiting(&runs[1], "waiting", members);
    snprintf(members, sizeof members, "%s/cgroup.procs", below);
    waiting[2] = start_waiting(&runs[2], "waiting", members);
    struct background trace = {
        .options = {.store = runs[0].store, .cgroup = group, .ends_with_cgroup = true}};
    begin_background(&trace);
    for (int i = 0; i < 3; i++)
        let_act(&waiting[i]);
    end_background(&trace, false); /* it ends with the last process in it */
    for (int i = 0; i < 3; i++) {
        memcpy(runs[i].store, runs[0].store, sizeof runs[i].store);
        capture_read_events(&runs[i]);
        if (i == 0)
            assert_int_equal(seen_count, 0);
        else
            capture_compare(runs[i].log);
    }
    for (int i = 0; i < 3; i++)
        capture_remove(&runs[i]);
    assert_int_equal(rmdir(below), 0);
    assert_int_equal(rmdir(group), 0);
}

static void a_control_group_is_traced_with_those_below_it(void **state)
{
    (void)state;
    trace_group("");
}

static void a_control_group_of_version_1_is_traced_with_those_below_it(void **state)
{
    (void)state;
    trace_group("pids");
}

static void assert_found(const char *name, const char *group)
{
    struct text folder = {0};
    struct error err;
    if (!capture_container_find(name, &folder, &err))
        fail_msg("%s", err.text);
    assert_string_equal(folder.data, group);
    text_release(&folder);
}

/* Writes a program of this name, first in PATH, that knows the container 'web'. */
static void write_docker(const struct capture_run *run, const char *id)
{
    char path[300], with[4096];
    snprintf(path, sizeof path, "%s/docker", run->data);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\nfor name; do :; done; [ \"$name\" = web ] && echo %s\n", id);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
    snprintf(with, sizeof with, "%s:%s", run->data, getenv("PATH"));
    setenv("PATH", with, 1);
}

static void a_container_is_found_by_id_and_by_name(void **state)
{
    char id[80], name[128], group[300], below[300], members[320];
    struct capture_run run, other;
    struct text folder = {0};
    struct error err;
    (void)state;
    snprintf(id, sizeof id, "%064x", (unsigned)getpid());
    memcpy(id, "5eed", 4);
    snprintf(name, sizeof name, "docker-%s.scope", id);
    new_groups("", name, group, below, sizeof group);
    capture_make(&other);
    write_docker(&other, id);
    assert_false(capture_container_find("web", &folder, &err)); /* nobody is in it */
    assert_non_null(strstr(err.text, "has no process on this host"));
    snprintf(members, sizeof members, "%s/cgroup.procs", below);
    struct waiting waiting = start_waiting(&run, "waiting", members);
    assert_found(id, group);
    assert_found("web", group);
    id[12] = '\0';
    assert_found(id, group);
    assert_false(capture_container_find("below", &folder, &err));
    assert_non_null(strstr(err.text, "no container 'below' runs on this host"));
    let_act(&waiting);
    capture_remove(&run);
    capture_remove(&other);
    assert_int_equal(rmdir(below), 0);
    assert_int_equal(rmdir(group), 0);
}

static void all_processes_are_traced_with_system(void **state)
{
    struct capture_run runs[2];
    struct waiting waiting[2];
    (void)state;
    capture_need_bpf();
    for (int i = 0; i < 2; i++)
        waiting[i] = start_waiting(&runs[i], "later", NULL);
    struct background trace = {.options = {.store = runs[0].store, .system = true}};
    begin_background(&trace);
    for (int i = 0; i < 2; i++)
        let_act(&waiting[i]);
    end_background(&trace, true);
    memcpy(runs[1].store, runs[0].store, sizeof runs[1].store);
    for (int i = 0; i < 2; i++) {
        capture_read_events(&runs[i]);
        capture_compare(runs[i].log);
    }
    for (int i = 0; i < 2; i++)
        capture_remove(&runs[i]);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "act") == 0)
        return acts_main(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_traces_at_once_are_kept_apart),
        cmocka_unit_test(a_running_process_is_traced_from_then_on),
        cmocka_unit_test(its_threads_that_run_already_are_traced),
        cmocka_unit_test(a_control_group_is_traced_with_those_below_it),
        cmocka_unit_test(a_control_group_of_version_1_is_traced_with_those_below_it),
        cmocka_unit_test(a_container_is_found_by_id_and_by_name),
        cmocka_unit_test(all_processes_are_traced_with_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
