/* What the tests of imports share: a file or folder that is imported, and what came of it. */
#ifndef REHEARSE_TESTS_IMPORTS_H
#define REHEARSE_TESTS_IMPORTS_H

#include "trace/import/import.h"
#include "trace/traces.h"

static struct trace_import_report report;
static struct trace_reader *reader;

static inline int import_setup(void **state)
{
    memset(&report, 0, sizeof report);
    reader = NULL;
    return folder_setup(state);
}

static inline int import_teardown(void **state)
{
    trace_reader_free(reader);
    trace_import_report_release(&report);
    return folder_teardown(state);
}

/* A test with a folder and an import of its own. */
#define IMPORT_TEST(name) cmocka_unit_test_setup_teardown(name, import_setup, import_teardown)

/* Imports and opens what came of it; what came of an import before is released. */
static inline void import_path(const char *path, const char *date)
{
    struct error err;
    trace_reader_free(reader);
    trace_import_report_release(&report);
    memset(&report, 0, sizeof report);
    struct trace_import_options options = {.zone = "-05:00", .date = date};
    struct trace_writer *writer = make_trace("import.db", TRACE_STORE_WHOLE);
    if (!trace_import(path, writer, &options, &report, &err))
        fail_msg("%s", err.text);
    finish_trace(writer);
    reader = open_trace(in_folder("import.db"));
}

static inline void import_file(const char *name, const char *text)
{
    write_file(name, text);
    import_path(in_folder(name), "2026-11-20");
}

/* The event of this place, in the order of the file. */
static inline struct trace_event event_at(int place)
{
    struct error err;
    struct trace_event event;
    struct trace_filter filter = TRACE_ALL;
    filter.as_written = true;
    struct trace_cursor *cursor = trace_events(reader, &filter, &err);
    for (int i = 0; i <= place; i++)
        if (!trace_next_event(cursor, &event))
            fail_msg("there are only %d events", i);
    assert_true(trace_cursor_close(cursor, &err));
    return event;
}

static inline const char *path_at(int place)
{
    return trace_file_info(reader, event_at(place).file)->path;
}

/* The first sample of a series, whose time is *time_ns. */
static inline double first_sample(const char *kind, const char *source, int64_t *time_ns)
{
    struct error err;
    for (int64_t id = 1; id <= trace_series_count(reader); id++) {
        const struct trace_series_info *series = trace_series_info(reader, id);
        if (strcmp(series->kind, kind) != 0 || strcmp(series->source, source) != 0)
            continue;
        struct trace_sample sample;
        struct trace_cursor *cursor =
            trace_samples(reader, &(struct trace_filter){id, INT64_MIN, INT64_MAX, false}, &err);
        assert_true(trace_next_sample(cursor, &sample));
        assert_true(trace_cursor_close(cursor, &err));
        *time_ns = sample.time_ns;
        return sample.value;
    }
    fail_msg("no series '%s' of '%s'", kind, source);
    return 0;
}

#endif
