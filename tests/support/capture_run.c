#include "support/capture_run.h"

#include "trace/capture/kernel.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

void capture_make(struct capture_run *run)
{
    const char *place = getenv("TMPDIR");
    *run = (struct capture_run){.report = {.status = 0}};
    snprintf(run->top, sizeof run->top, "%.100s/rehearse-capture-XXXXXX", place ? place : "/var/tmp");
    assert_non_null(mkdtemp(run->top));
    snprintf(run->data, sizeof run->data, "%s/data", run->top);
    snprintf(run->log, sizeof run->log, "%s/log", run->top);
    snprintf(run->store, sizeof run->store, "%s/run.db", run->top);
    assert_int_equal(mkdir(run->data, 0755), 0);
}

void capture_remove(struct capture_run *run)
{
    char command[sizeof run->top + 16];
    trace_capture_report_release(&run->report);
    snprintf(command, sizeof command, "rm -rf '%.159s'", run->top);
    assert_int_equal(system(command), 0);
}

/* Is BPF allowed here? Skips the test, with the reason, where it is not. Asked once: loading the programs is most of what a
 * short trace takes. */
void capture_need_bpf(void)
{
    static bool asked, allowed;
    static struct error err;
    if (!asked) {
        struct text missing = {0};
        const struct capture_kernel_options options = {.scope = CAPTURE_TREE, .buffer_bytes = 4096};
        struct capture_kernel *kernel = capture_kernel_new(&options, NULL, NULL, &missing, &err);
        text_release(&missing);
        allowed = kernel != NULL;
        asked = true;
        capture_kernel_free(kernel);
    }
    if (!allowed) {
        print_message("# skipped: %s\n", err.text);
        skip();
    }
}

struct trace_capture_options capture_options_of(const struct capture_run *run, char *const *words)
{
    return (struct trace_capture_options){.store = run->store, .command = words, .version = "test"};
}

void capture_acts(struct capture_run *run, const char *what, int status)
{
    struct error err = {.text = ""};
    char program[] = "/proc/self/exe", act[] = "act", name[16];
    char *words[] = {program, act, name, run->data, run->log, NULL};
    snprintf(name, sizeof name, "%s", what);
    capture_make(run);
    const struct trace_capture_options options = capture_options_of(run, words);
    if (!trace_capture(&options, &run->report, &err))
        fail_msg("%s", err.text);
    if (run->report.status == 77) {
        capture_remove(run);
        print_message("# skipped: this build or kernel has no '%s'\n", what);
        skip();
    }
    assert_int_equal(run->report.status, status);
    assert_int_equal(run->report.lost, 0);
}

/* ---- the events that were recorded of files below the folder, as acts ---- */

struct act seen[MAX_ACTS];
struct trace_event seen_events[MAX_ACTS];
int seen_count;

void capture_read_events(const struct capture_run *run)
{
    struct error err = {.text = ""};
    struct trace_event event;
    struct trace_reader *reader = trace_reader_new(run->store, &err);
    if (!reader)
        fail_msg("%s", err.text);
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, &err);
    assert_non_null(cursor);
    seen_count = 0;
    while (trace_next_event(cursor, &event)) {
        const char *at = trace_file_info(reader, event.file)->path;
        if (strncmp(at, run->data, strlen(run->data)) != 0 || at[strlen(run->data)] != '/')
            continue;
        assert_true(seen_count < MAX_ACTS);
        seen_events[seen_count] = event;
        struct act *act = &seen[seen_count++];
        const struct trace_process_info *process = trace_process_info(reader, event.process);
        snprintf(act->call, sizeof act->call, "%s", trace_call_name(reader, event.call));
        snprintf(act->path, sizeof act->path, "%s", at);
        act->pid = process->pid;
        act->tid = process->tid;
        act->fd = event.fd;
        act->offset = event.offset;
        act->size = event.size;
        act->result = event.result;
    }
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
}

int capture_read_log(const char *log, struct act *into)
{
    FILE *file = fopen(log, "r");
    assert_non_null(file);
    size_t count = fread(into, sizeof *into, MAX_ACTS, file);
    fclose(file);
    return (int)count;
}

static void print_act(const char *title, const struct act *act)
{
    print_error("%s: %s %s pid %" PRId64 " tid %" PRId64 " fd %" PRId64 " offset %" PRId64 " size %" PRId64
                " result %" PRId64 "\n",
                title, act->call, act->path, act->pid, act->tid, act->fd, act->offset, act->size,
                act->result);
}

static bool is_equal(const struct act *a, const struct act *b)
{
    return strcmp(a->call, b->call) == 0 && strcmp(a->path, b->path) == 0 && a->pid == b->pid &&
           a->tid == b->tid && a->fd == b->fd && a->offset == b->offset && a->size == b->size &&
           a->result == b->result;
}

/* Every act of a thread is there, in its order, and the thread did nothing else to these files. */
static void compare_thread(const struct act *done, int done_count, int64_t tid)
{
    int k = 0;
    for (int i = 0; i < done_count; i++) {
        if (done[i].tid != tid)
            continue;
        while (k < seen_count &&
               (seen[k].tid != tid || strncmp(seen[k].call, "fault", 5) == 0 ||
                strcmp(seen[k].call, "fadvise64") == 0 || strcmp(seen[k].call, "fallocate") == 0))
            k++;
        if (k == seen_count || !is_equal(&done[i], &seen[k])) {
            print_act("done", &done[i]);
            if (k < seen_count)
                print_act("seen", &seen[k]);
            fail_msg("act %d of %d was not recorded as it was done", i, done_count);
        }
        k++;
    }
    for (; k < seen_count; k++)
        if (seen[k].tid == tid && strncmp(seen[k].call, "fault", 5) != 0) {
            print_act("seen", &seen[k]);
            fail_msg("this was not done");
        }
}

void capture_compare(const char *log)
{
    static struct act done[MAX_ACTS];
    int count = capture_read_log(log, done);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        bool first = true;
        for (int k = 0; first && k < i; k++)
            first = done[k].tid != done[i].tid;
        if (first)
            compare_thread(done, count, done[i].tid);
    }
}
