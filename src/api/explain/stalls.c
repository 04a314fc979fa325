/* What the processes of the job did in files while its devices were idle. */
#include "api/explain/explain.h"
#include "core/fields.h"

#define MAX_FILES      6
#define MAX_JSON_FILES 1000

static double in_calls(const struct explain_stalls *stalls)
{
    double sum = 0;
    for (int i = 0; i < EXPLAIN_CALLS; i++)
        sum += stalls->calls[i];
    return sum;
}

/* Milliseconds of a step and rank. */
static double each(const struct explain *explain, const struct explain_stalls *stalls, double time)
{
    return time / 1e6 / (double)(explain->step_count * (stalls->lanes > 0 ? stalls->lanes : 1));
}

static const char *cache_of(double cold, double warm)
{
    return cold + warm <= 0 ? "cache unknown" : cold > warm ? "cold cache" : "from the page cache";
}

void explain_print_stalls(const struct explain *explain, const struct explain_stalls *stalls,
                          struct text *out)
{
    double sum = in_calls(stalls);
    if (stalls->file_count == 0)
        text_add(out, "storage: no call on a file while devices were idle");
    else {
        text_format(out, "storage: stalled %.3f ms a step on %s", each(explain, stalls, sum),
                    stalls->files[0].path);
        if (stalls->file_count > 1)
            text_format(out, " (%.3f) and %zu more", 1e3 * stalls->files[0].shown, stalls->file_count - 1);
        text_format(out, ", %s", cache_of(stalls->cold, stalls->warm));
    }
    text_format(out, "; of %.3f ms idle for data, %.3f ms for the host\n",
                each(explain, stalls, stalls->data), each(explain, stalls, stalls->host));
    if (stalls->unknown)
        text_add(out, "note: the trace does not tell which processes are a rank's: calls of all count, while "
                      "it awaits data\n");
    if (stalls->short_)
        text_add(out, "note: the trace lacks calls ('rehearse trace show' says which)\n");
}

void explain_print_files(const struct explain *explain, const struct explain_stalls *stalls, struct text *out)
{
    double sum = in_calls(stalls), idle = stalls->data + stalls->host;
    if (stalls->file_count == 0)
        return;
    text_format(out, "\n%9s  %6s  ms a step and rank, while idle\n", "stalled", "calls");
    for (size_t i = 0; i < stalls->file_count && i < MAX_FILES; i++) {
        const struct explain_file *file = &stalls->files[i];
        text_format(out, "%9.3f  %6zu  %s, %s\n", 1e3 * file->shown, file->calls, file->path,
                    cache_of(file->cold, file->warm));
    }
    if (stalls->file_count > MAX_FILES)
        text_format(out, "... and %zu more (--json)\n", stalls->file_count - MAX_FILES);
    for (int i = 0; i < EXPLAIN_CALLS; i++)
        if (stalls->calls[i] > 0)
            text_format(out, "%9.3f          all %s\n", each(explain, stalls, stalls->calls[i]),
                        explain_call_words[i]);
    text_format(out, "%9.3f          in no call on a file: decoding, or other waits\n",
                each(explain, stalls, idle > sum ? idle - sum : 0));
}

static const struct field file_fields[] = {
    FIELD_OUT(struct explain_file, "file", path, FIELD_TEXT),
    FIELD_OUT(struct explain_file, "seconds", shown, FIELD_DOUBLE),
    FIELD_OUT(struct explain_file, "calls", calls, FIELD_INT64),
};

void explain_write_stalls(const struct explain *explain, const struct explain_stalls *stalls,
                          struct json *json)
{
    size_t count = stalls->file_count < MAX_JSON_FILES ? stalls->file_count : MAX_JSON_FILES;
    json_open(json, "storage", '{');
    json_number(json, "idle_for_data", each(explain, stalls, stalls->data) / 1e3);
    json_number(json, "idle_for_host", each(explain, stalls, stalls->host) / 1e3);
    json_number(json, "in_calls", each(explain, stalls, in_calls(stalls)) / 1e3);
    json_number(json, "in_reads", each(explain, stalls, stalls->calls[CALLS_READ]) / 1e3);
    json_number(json, "in_opens", each(explain, stalls, stalls->calls[CALLS_OPEN]) / 1e3);
    json_number(json, "cold", each(explain, stalls, stalls->cold) / 1e3);
    json_number(json, "warm", each(explain, stalls, stalls->warm) / 1e3);
    json_integer(json, "ranks", (int64_t)stalls->lanes);
    FIELDS_LIST(stalls->files, count, file_fields, json, "files");
    json_close(json);
}
