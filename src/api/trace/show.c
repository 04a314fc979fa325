/* rh_trace_show: what is in a trace, and its rows as lists. */
#include "api/command.h"
#include "api/trace/files.h"
#include "api/trace/print.h"
#include "api/trace/select.h"
#include "core/fields.h"
#include "core/vector.h"
#include "trace/import/reader.h"

#include <stdlib.h>

/* What the handle keeps: lists are the rows themselves, and texts those of the reader. */
struct kept {
    struct trace_reader *reader;
    double seconds;
    int64_t lost;
    bool unfinished;
    const char *classes[TRACE_CLASSES];
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
    trace_reader_free(kept->reader);
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

static const struct field sample_fields[] = {
    FIELD_OUT(struct trace_sample, "time_ns", time_ns, FIELD_INT64),
    FIELD_OUT(struct trace_sample, "series", series, FIELD_INT64),
    FIELD_OUT(struct trace_sample, "value", value, FIELD_DOUBLE),
};

static const struct field file_fields[] = {FIELD_OUT(struct trace_file_info, "file_paths", path, FIELD_TEXT)};

static const struct field process_fields[] = {
    FIELD_OUT(struct trace_process_info, "name", name, FIELD_TEXT),
    FIELD_OUT(struct trace_process_info, "pid", pid, FIELD_INT64),
};

static const struct field series_fields[] = {
    FIELD_OUT(struct trace_series_info, "kind", kind, FIELD_TEXT),
    FIELD_OUT(struct trace_series_info, "source", source, FIELD_TEXT),
};

static const struct field disk_fields[] = {{.key = "disk_names", .type = FIELD_TEXT}},
                          class_name_fields[] = {{.key = "class_names", .type = FIELD_TEXT}},
                          name_fields[] = {{.key = "name", .type = FIELD_TEXT}};

static void add_rows(rh_handle *handle, const struct kept *kept)
{
    const struct trace_reader *reader = kept->reader;
    int64_t disk_count = trace_disk_count(reader);
    const char **disks = ARENA_ARRAY(&handle->arena, (size_t)disk_count + 1, const char *);
    for (int64_t i = 0; disks && i < disk_count; i++)
        disks[i] = trace_disk_name(reader, i + 1);
    handle->failed = handle->failed || !disks;
    API_FIELDS(handle, "events", kept->events, kept->event_count, event_fields);
    API_FIELDS(handle, "blocks", kept->blocks, kept->block_count, block_fields);
    API_FIELDS(handle, "samples", kept->samples, kept->sample_count, sample_fields);
    API_FIELDS(handle, "", kept->classes, TRACE_CLASSES, class_name_fields);
    API_FIELDS(handle, "", trace_file_info(reader, 1), trace_file_count(reader), file_fields);
    API_FIELDS(handle, "processes", trace_process_info(reader, 1), trace_process_count(reader),
               process_fields);
    API_FIELDS(handle, "", disks, disks ? disk_count : 0, disk_fields);
    API_FIELDS(handle, "series", trace_series_info(reader, 1), trace_series_count(reader), series_fields);
}

/* ---- the summary ---- */

static const struct field head_fields[] = {
    FIELD_OUT(struct kept, "seconds", seconds, FIELD_DOUBLE),
    FIELD_OUT(struct kept, "lost", lost, FIELD_INT64),
    FIELD_OUT(struct kept, "unfinished", unfinished, FIELD_FLAG),
};

static void add_summary(rh_handle *handle, struct kept *kept)
{
    const struct trace_summary *summary = &kept->summary;
    if (summary->first_ns != TRACE_NONE)
        kept->seconds = trace_seconds(summary->first_ns, summary->last_ns);
    kept->lost = trace_lost(kept->reader);
    kept->unfinished = trace_unfinished(kept->reader);
    for (int i = 0; i < TRACE_CLASSES; i++)
        kept->classes[i] = trace_class_name((enum trace_class)i);
    API_VALUES(handle, kept, head_fields);
    API_FIELDS(handle, "classes", kept->classes, TRACE_CLASSES, name_fields);
    API_FIELDS(handle, "classes", summary->classes, TRACE_CLASSES, trace_class_fields);
}

static bool answer(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    const struct rh_trace_show_request *asked = request;
    struct trace_selection selection;
    struct kept *kept = api_report_keep(report, sizeof *kept, drop, err);
    (void)call;
    if (!kept || !select_read(&asked->kinds, asked->path, 0, &selection, err) ||
        !(kept->reader = trace_open(asked->trace, &selection, err)))
        return false;
    kept->has_summary = trace_summary_read(kept->reader, &kept->summary, err);
    if (!kept->has_summary || (asked->keep_rows && !read_rows(kept->reader, kept, err)))
        return false;
    trace_show_write_json(asked->trace, kept->reader, &kept->summary, &report->json);
    trace_show_print(asked->trace, kept->reader, &kept->summary, &report->text);
    add_summary(&report->base, kept);
    if (asked->keep_rows)
        add_rows(&report->base, kept);
    return true;
}

API_WHOLE_COMMAND(trace_show, "trace show", rh_trace_show_request, .answer = answer);
