/* rh_trace_show: what is in a trace, and its rows as lists. */
#include "api/command.h"
#include "api/trace/files.h"
#include "api/trace/print.h"
#include "api/trace/select.h"
#include "core/vector.h"

#include <stdlib.h>

const struct option_spec api_trace_show_options[] = {
    OPTION_TRACE(rh_trace_show_request),
    OPTION(rh_trace_show_request, keep_rows, OPTION_FLAG, "keep-rows", .of_callers = true,
           .help = "also return all rows as lists: events.start_ns, blocks.bytes, samples.value, ..."),
    OPTIONS_SELECT(rh_trace_show_request, "all"),
    OPTION_END,
};

/* What the handle keeps: lists are the rows themselves. */
struct kept {
    struct trace_summary summary;
    bool has_summary;
    struct trace_event *events;
    struct trace_block *blocks;
    struct trace_sample *samples;
    int64_t event_count, block_count, sample_count;
    size_t event_room, block_room, sample_room;
};

static void drop(void *context)
{
    struct kept *kept = context;
    if (kept->has_summary)
        trace_summary_release(&kept->summary);
    free(kept->events);
    free(kept->blocks);
    free(kept->samples);
    free(kept);
}

/* ---- rows ---- */

static bool read_rows(struct trace_reader *reader, struct kept *kept, struct error *err)
{
    struct trace_event event;
    struct trace_block block;
    struct trace_sample sample;
    bool room = true;
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, err);
    while (room && cursor && trace_next_event(cursor, &event))
        room = VECTOR_ADD(kept->events, kept->event_count, kept->event_room, event);
    if (!trace_cursor_close(cursor, err) || !room)
        return room ? false : error_memory(err);
    cursor = trace_blocks(reader, &TRACE_ALL, err);
    while (room && cursor && trace_next_block(cursor, &block))
        room = VECTOR_ADD(kept->blocks, kept->block_count, kept->block_room, block);
    if (!trace_cursor_close(cursor, err) || !room)
        return room ? false : error_memory(err);
    cursor = trace_samples(reader, &TRACE_ALL, err);
    while (room && cursor && trace_next_sample(cursor, &sample))
        room = VECTOR_ADD(kept->samples, kept->sample_count, kept->sample_room, sample);
    return trace_cursor_close(cursor, err) && (room || error_memory(err));
}

/* Texts of ids, from 1: copies, as the trace is closed. */
static void add_texts(rh_handle *handle, const char *name, const struct trace_reader *reader, int64_t count,
                      const char *(*text_of)(const struct trace_reader *reader, int64_t id))
{
    const char **texts = ARENA_ARRAY(&handle->arena, (size_t)count + 1, const char *);
    for (int64_t i = 0; texts && i < count; i++) {
        texts[i] = arena_string(&handle->arena, text_of(reader, i + 1));
        handle->failed = handle->failed || !texts[i];
    }
    handle->failed = handle->failed || !texts;
    api_add_column(handle, name, 's', texts, count, sizeof *texts);
}

static const char *path_of(const struct trace_reader *reader, int64_t id)
{
    return trace_file_info(reader, id)->path;
}

static const char *name_of(const struct trace_reader *reader, int64_t id)
{
    return trace_process_info(reader, id)->name;
}

static const char *kind_of(const struct trace_reader *reader, int64_t id)
{
    return trace_series_info(reader, id)->kind;
}

static const char *source_of(const struct trace_reader *reader, int64_t id)
{
    return trace_series_info(reader, id)->source;
}

static const char *class_of(const struct trace_reader *reader, int64_t id)
{
    (void)reader;
    return trace_class_name((enum trace_class)(id - 1));
}

static void add_pids(rh_handle *handle, const struct trace_reader *reader)
{
    int64_t count = trace_process_count(reader);
    int64_t *pids = ARENA_ARRAY(&handle->arena, (size_t)count + 1, int64_t);
    for (int64_t i = 0; pids && i < count; i++)
        pids[i] = trace_process_info(reader, i + 1)->pid;
    handle->failed = handle->failed || !pids;
    api_add_column(handle, "processes.pid", 'q', pids, count, sizeof *pids);
}

static void add_rows(rh_handle *handle, const struct trace_reader *reader, const struct kept *kept)
{
    API_COLUMN(handle, "events.class", 'i', kept->events, kept->event_count, class);
    API_COLUMN(handle, "events.cached", 'i', kept->events, kept->event_count, cached);
    API_COLUMN(handle, "events.start_ns", 'q', kept->events, kept->event_count, start_ns);
    API_COLUMN(handle, "events.latency_ns", 'q', kept->events, kept->event_count, latency_ns);
    API_COLUMN(handle, "events.process", 'q', kept->events, kept->event_count, process);
    API_COLUMN(handle, "events.file", 'q', kept->events, kept->event_count, file);
    API_COLUMN(handle, "events.offset", 'q', kept->events, kept->event_count, offset);
    API_COLUMN(handle, "events.size", 'q', kept->events, kept->event_count, size);
    API_COLUMN(handle, "events.result", 'q', kept->events, kept->event_count, result);
    API_COLUMN(handle, "blocks.op", 'i', kept->blocks, kept->block_count, op);
    API_COLUMN(handle, "blocks.start_ns", 'q', kept->blocks, kept->block_count, start_ns);
    API_COLUMN(handle, "blocks.service_ns", 'q', kept->blocks, kept->block_count, service_ns);
    API_COLUMN(handle, "blocks.sector", 'q', kept->blocks, kept->block_count, sector);
    API_COLUMN(handle, "blocks.bytes", 'q', kept->blocks, kept->block_count, bytes);
    API_COLUMN(handle, "blocks.disk", 'q', kept->blocks, kept->block_count, disk);
    API_COLUMN(handle, "samples.time_ns", 'q', kept->samples, kept->sample_count, time_ns);
    API_COLUMN(handle, "samples.series", 'q', kept->samples, kept->sample_count, series);
    API_COLUMN(handle, "samples.value", 'd', kept->samples, kept->sample_count, value);
    add_texts(handle, "class_names", reader, TRACE_CLASSES, class_of);
    add_texts(handle, "file_paths", reader, trace_file_count(reader), path_of);
    add_texts(handle, "processes.name", reader, trace_process_count(reader), name_of);
    add_pids(handle, reader);
    add_texts(handle, "disk_names", reader, trace_disk_count(reader), trace_disk_name);
    add_texts(handle, "series.kind", reader, trace_series_count(reader), kind_of);
    add_texts(handle, "series.source", reader, trace_series_count(reader), source_of);
}

/* ---- the summary ---- */

static void add_summary(rh_handle *handle, const struct trace_reader *reader,
                        const struct trace_summary *summary)
{
    int count;
    const struct trace_phase *phases = trace_phases(reader, &count);
    bool empty = summary->first_ns == TRACE_NONE;
    api_add_number(handle, "seconds", empty ? 0.0 : trace_seconds(summary->first_ns, summary->last_ns));
    api_add_count(handle, "first_ns", summary->first_ns);
    api_add_count(handle, "last_ns", summary->last_ns);
    api_add_count(handle, "lost", trace_lost(reader));
    api_add_flag(handle, "unfinished", trace_unfinished(reader));
    add_texts(handle, "classes.name", reader, TRACE_CLASSES, class_of);
    API_COLUMN(handle, "classes.calls", 'q', summary->classes, TRACE_CLASSES, calls);
    API_COLUMN(handle, "classes.failed", 'q', summary->classes, TRACE_CLASSES, failed);
    API_COLUMN(handle, "classes.bytes", 'q', summary->classes, TRACE_CLASSES, bytes);
    API_COLUMN(handle, "classes.seconds", 'd', summary->classes, TRACE_CLASSES, latency.total);
    API_COLUMN(handle, "classes.median", 'd', summary->classes, TRACE_CLASSES, latency.median);
    API_COLUMN(handle, "classes.p99", 'd', summary->classes, TRACE_CLASSES, latency.p99);
    API_COLUMN(handle, "classes.longest", 'd', summary->classes, TRACE_CLASSES, latency.max);
    trace_add_phases(handle, phases, (size_t)count);
}

static bool show_trace(struct trace_reader *reader, const struct rh_trace_show_request *asked,
                       struct api_report *report, struct error *err)
{
    struct kept *kept = api_report_keep(report, sizeof *kept, drop, err);
    if (!kept)
        return false;
    kept->has_summary = trace_summary_read(reader, &kept->summary, err);
    if (!kept->has_summary || (asked->keep_rows && !read_rows(reader, kept, err)))
        return false;
    trace_show_write_json(asked->trace, reader, &kept->summary, &report->json);
    trace_show_print(asked->trace, reader, &kept->summary, &report->text);
    add_summary(&report->base, reader, &kept->summary);
    if (asked->keep_rows)
        add_rows(&report->base, reader, kept);
    return true;
}

static bool answer(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    const struct rh_trace_show_request *asked = request;
    struct trace_selection selection;
    struct trace_reader *reader = NULL;
    (void)call;
    if (select_read(&asked->kinds, asked->path, 0, &selection, err))
        reader = trace_reader_of(asked->trace, &selection, err);
    bool done = reader && show_trace(reader, asked, report, err);
    trace_reader_free(reader);
    return done;
}

const struct api_command api_trace_show = {
    .name = "trace show",
    .options = api_trace_show_options,
    .size = sizeof(struct rh_trace_show_request),
    .answer = answer,
};
