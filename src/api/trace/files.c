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
