/* The store of a program that was built without SQLite: no writer and no reader can be made. The functions
 * that need one are never called, but the linker looks for them. */
#include "trace/store/store.h"

#include <stdlib.h>

#define UNUSED __attribute__((unused))

struct trace_writer *trace_writer_new(UNUSED const char *path, UNUSED enum trace_mode mode, struct error *err)
{
    return error_null(err, ERROR_FAILED, "this program was built without SQLite, which traces are kept in");
}

struct trace_reader *trace_reader_new(UNUSED const char *path, struct error *err)
{
    return error_null(err, ERROR_FAILED, "this program was built without SQLite, which traces are kept in");
}

struct trace_reader *trace_reader_of(const char *path, UNUSED const struct trace_selection *selection,
                                     struct error *err)
{
    return trace_reader_new(path, err);
}

bool trace_writer_close(UNUSED struct trace_writer *writer, UNUSED struct error *err)
{
    return true;
}

void trace_writer_drop(UNUSED struct trace_writer *writer)
{
}

void trace_reader_free(UNUSED struct trace_reader *reader)
{
}

static UNUSED void never(void)
{
    abort();
}

/* Makes a function of store.h another name of never(). */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wattribute-alias"
#endif
#define NEVER_CALLED(name) __typeof__(name)(name) __attribute__((alias("never")))

NEVER_CALLED(trace_writer_publish);
NEVER_CALLED(trace_writer_give);
NEVER_CALLED(trace_writer_cut);
NEVER_CALLED(trace_writer_commit);
NEVER_CALLED(trace_process);
NEVER_CALLED(trace_file);
NEVER_CALLED(trace_file_of_kind);
NEVER_CALLED(trace_call);
NEVER_CALLED(trace_disk);
NEVER_CALLED(trace_series);
NEVER_CALLED(trace_process_set);
NEVER_CALLED(trace_process_rename);
NEVER_CALLED(trace_add_event);
NEVER_CALLED(trace_add_block);
NEVER_CALLED(trace_add_sample);
NEVER_CALLED(trace_add_phase);
NEVER_CALLED(trace_drop_phases);
NEVER_CALLED(trace_add_clock);
NEVER_CALLED(trace_add_lost);
NEVER_CALLED(trace_set_meta);
NEVER_CALLED(trace_writer_added);
NEVER_CALLED(trace_writer_refuse_repeated);
NEVER_CALLED(trace_writer_rows);
NEVER_CALLED(trace_is_selected);
NEVER_CALLED(trace_unfinished);
NEVER_CALLED(trace_reader_rename);
NEVER_CALLED(trace_select);
NEVER_CALLED(trace_process_info);
NEVER_CALLED(trace_file_info);
NEVER_CALLED(trace_series_info);
NEVER_CALLED(trace_call_name);
NEVER_CALLED(trace_disk_name);
NEVER_CALLED(trace_process_count);
NEVER_CALLED(trace_file_count);
NEVER_CALLED(trace_series_count);
NEVER_CALLED(trace_disk_count);
NEVER_CALLED(trace_meta);
NEVER_CALLED(trace_phases);
NEVER_CALLED(trace_losses);
NEVER_CALLED(trace_lost);
NEVER_CALLED(trace_span);
NEVER_CALLED(trace_span_of_run);
NEVER_CALLED(trace_span_when_short);
NEVER_CALLED(trace_span_of_calls);
NEVER_CALLED(trace_events);
NEVER_CALLED(trace_blocks);
NEVER_CALLED(trace_samples);
NEVER_CALLED(trace_next_event);
NEVER_CALLED(trace_next_block);
NEVER_CALLED(trace_next_sample);
NEVER_CALLED(trace_cursor_close);
