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

/* Copies of texts, as the trace is closed: `first`, and the others a stride apart. */
static void add_texts(rh_handle *handle, const char *name, const char *const *first, size_t stride,
                      int64_t count)
{
    const char **texts = ARENA_ARRAY(&handle->arena, (size_t)count + 1, const char *);
    for (size_t i = 0; texts && i < (size_t)count; i++) {
        texts[i] = arena_string(&handle->arena, *(const char *const *)((const char *)first + i * stride));
        handle->failed = handle->failed || !texts[i];
    }
    handle->failed = handle->failed || !texts;
    api_add_column(handle, name, 's', texts, count, sizeof *texts);
}

static void add_classes(rh_handle *handle, const char *name)
{
    const char *names[TRACE_CLASSES];
    for (int i = 0; i < TRACE_CLASSES; i++)
        names[i] = trace_class_name((enum trace_class)i);
    add_texts(handle, name, names, sizeof *names, TRACE_CLASSES);
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

static const struct field event_fields[] = {
    FIELD_OUT(struct trace_event, "class", class, FIELD_INT),
    FIELD_OUT(struct trace_event, "cached", cached, FIELD_INT),
    FIELD_OUT(struct trace_event, "start_ns", start_ns, FIELD_INT64),
    FIELD_OUT(struct trace_event, "latency_ns", latency_ns, FIELD_INT64),
    FIELD_OUT(struct trace_event, "process", process, FIELD_INT64),
    FIELD_OUT(struct trace_event, "file", file, FIELD_INT64),
    FIELD_OUT(struct trace_event, "offset", offset, FIELD_INT64),
    FIELD_OUT(struct trace_event, "size", size, FIELD_INT64),
    FIELD_OUT(struct trace_event, "result", result, FIELD_INT64),
};

static const struct field block_fields[] = {
    FIELD_OUT(struct trace_block, "op", op, FIELD_INT),
    FIELD_OUT(struct trace_block, "start_ns", start_ns, FIELD_INT64),
    FIELD_OUT(struct trace_block, "service_ns", service_ns, FIELD_INT64),
    FIELD_OUT(struct trace_block, "sector", sector, FIELD_INT64),
    FIELD_OUT(struct trace_block, "bytes", bytes, FIELD_INT64),
    FIELD_OUT(struct trace_block, "disk", disk, FIELD_INT64),
};

static void add_rows(rh_handle *handle, const struct trace_reader *reader, const struct kept *kept)
{
    const struct trace_series_info *series = trace_series_info(reader, 1);
    const char **disks = ARENA_ARRAY(&handle->arena, (size_t)trace_disk_count(reader) + 1, const char *);
    for (int64_t i = 0; disks && i < trace_disk_count(reader); i++)
        disks[i] = trace_disk_name(reader, i + 1);
    handle->failed = handle->failed || !disks;
    API_FIELDS(handle, "events", kept->events, kept->event_count, event_fields);
    API_FIELDS(handle, "blocks", kept->blocks, kept->block_count, block_fields);
    API_COLUMN(handle, "samples.time_ns", 'q', kept->samples, kept->sample_count, time_ns);
    API_COLUMN(handle, "samples.series", 'q', kept->samples, kept->sample_count, series);
    API_COLUMN(handle, "samples.value", 'd', kept->samples, kept->sample_count, value);
    add_classes(handle, "class_names");
    add_texts(handle, "file_paths", &trace_file_info(reader, 1)->path, sizeof(struct trace_file_info),
              trace_file_count(reader));
    add_texts(handle, "processes.name", &trace_process_info(reader, 1)->name,
              sizeof(struct trace_process_info), trace_process_count(reader));
    add_pids(handle, reader);
    add_texts(handle, "disk_names", disks, sizeof *disks, disks ? trace_disk_count(reader) : 0);
    add_texts(handle, "series.kind", &series->kind, sizeof *series, trace_series_count(reader));
    add_texts(handle, "series.source", &series->source, sizeof *series, trace_series_count(reader));
}

/* ---- the summary ---- */

static void add_summary(rh_handle *handle, const struct trace_reader *reader,
                        const struct trace_summary *summary)
{
    int count;
    trace_phases(reader, &count);
    bool empty = summary->first_ns == TRACE_NONE;
    api_add_number(handle, "seconds", empty ? 0.0 : trace_seconds(summary->first_ns, summary->last_ns));
    api_add_count(handle, "first_ns", summary->first_ns);
    api_add_count(handle, "last_ns", summary->last_ns);
    api_add_count(handle, "lost", trace_lost(reader));
    api_add_flag(handle, "unfinished", trace_unfinished(reader));
    add_classes(handle, "classes.name");
    API_FIELDS(handle, "classes", summary->classes, TRACE_CLASSES, trace_class_fields);
    if (count == 0)
        trace_add_no_phases(handle);
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
