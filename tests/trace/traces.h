/* What the tests of traces share: a folder of its own for each test, and traces in it. */
#ifndef REHEARSE_TESTS_TRACES_H
#define REHEARSE_TESTS_TRACES_H

#include "core/error.h"
#include "trace/store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    char path[256];
} folder;

/* Its name has no digit, so that it tells no number of GPUs (steps_path_configuration). */
static inline int folder_setup(void **state)
{
    (void)state;
    const char *where = getenv("TMPDIR");
    for (;;) {
        snprintf(folder.path, sizeof folder.path, "%s/rehearse-trace-XXXXXX", where ? where : "/tmp");
        if (!mkdtemp(folder.path))
            return -1;
        if (!strpbrk(strrchr(folder.path, '/'), "0123456789"))
            return 0;
        rmdir(folder.path);
    }
}

static inline int remove_one(const char *path, const struct stat *state, int type, struct FTW *walk)
{
    (void)state;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline int folder_teardown(void **state)
{
    (void)state;
    return nftw(folder.path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A test in a folder of its own. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

/* The path of a file in the folder; good until eight more were asked for. */
static inline const char *in_folder(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder.path, name);
    return path;
}

static inline void write_bytes(const char *name, const void *bytes, size_t length)
{
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void write_file(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

static inline struct trace_writer *make_trace(const char *name, enum trace_mode mode)
{
    struct error err;
    enum trace_mode way = mode == TRACE_STORE_APPEND ? mode : mode | TRACE_STORE_REPLACE;
    struct trace_writer *writer = trace_writer_new(in_folder(name), way, &err);
    if (!writer)
        fail_msg("%s", err.text);
    return writer;
}

static inline void publish_trace(struct trace_writer *writer)
{
    struct error err;
    if (!trace_writer_publish(writer, &err))
        fail_msg("%s", err.text);
}

static inline void finish_trace(struct trace_writer *writer)
{
    struct error err;
    if (!trace_writer_close(writer, &err))
        fail_msg("%s", err.text);
}

static inline struct trace_reader *open_trace(const char *path)
{
    struct error err;
    struct trace_reader *reader = trace_reader_new(path, &err);
    if (!reader)
        fail_msg("%s", err.text);
    return reader;
}

static inline void add_value(struct trace_writer *writer, const char *kind, const char *source,
                             int64_t time_ns, double value)
{
    struct error err;
    const struct trace_sample sample = {time_ns, trace_series(writer, kind, source), value};
    assert_true(trace_add_sample(writer, &sample, &err));
}

/* From and to: whole seconds. */
static inline void add_phase(struct trace_writer *writer, const char *name, int64_t from, int64_t to)
{
    struct error err;
    assert_true(trace_add_phase(
        writer, &(struct trace_phase){name, from * INT64_C(1000000000), to * INT64_C(1000000000), "test"},
        &err));
}

/* Writes beyond so many bytes fail, as on a full disk; 0: no limit. */
static inline void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes ? bytes : limit.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

#endif
