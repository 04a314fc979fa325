#include "api/trace/files.h"

#include "core/caller.h"

#include <string.h>

bool trace_warn(const char *path, const struct trace_reader *reader, struct error *err)
{
    struct text warnings = {0};
    trace_add_warnings(reader, &warnings);
    bool done = !warnings.failed || error_memory(err);
    for (const char *line = warnings.data; done && line && *line; line = strchr(line, '\n') + 1)
        caller_warn("%s: %.*s", path, (int)strcspn(line, "\n"), line);
    text_release(&warnings);
    return done;
}

static const struct trace_phase *keep_phases(rh_handle *handle, const struct trace_phase *phases,
                                             size_t count)
{
    struct trace_phase *kept = ARENA_ARRAY(&handle->arena, count + 1, struct trace_phase);
    for (size_t i = 0; kept && i < count; i++) {
        kept[i] = phases[i];
        kept[i].name = arena_string(&handle->arena, phases[i].name);
        kept[i].source = arena_string(&handle->arena, phases[i].source);
        handle->failed = handle->failed || !kept[i].name || !kept[i].source;
    }
    handle->failed = handle->failed || !kept;
    return kept;
}

void trace_add_phases(rh_handle *handle, const struct trace_phase *phases, size_t count)
{
    const struct trace_phase *kept = keep_phases(handle, phases, count);
    int64_t rows = kept ? (int64_t)count : 0;
    API_COLUMN(handle, "phases.name", 's', kept, rows, name);
    API_COLUMN(handle, "phases.start_ns", 'q', kept, rows, start_ns);
    API_COLUMN(handle, "phases.end_ns", 'q', kept, rows, end_ns);
    API_COLUMN(handle, "phases.source", 's', kept, rows, source);
}
