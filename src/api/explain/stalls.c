/* What the processes of the job did in files while its devices were idle. */
#include "api/explain/explain.h"
#include "core/fields.h"

#define MAX_FILES      6
#define MAX_JSON_FILES 1000

static const char *cache_of(double cold, double warm)
{
    return cold + warm <= 0 ? "cache unknown" : cold > warm ? "cold cache" : "from the page cache";
}

void explain_print_stalls(const struct explain_stalls *stalls, struct text *out)
{
    if (stalls->file_count == 0)
        text_add(out, "storage: no call on a file while devices were idle");
    else {
        text_format(out, "storage: stalled %.3f ms a step on %s", 1e3 * stalls->all, stalls->files[0].path);
        if (stalls->file_count > 1)
            text_format(out, " (%.3f) and %zu more", 1e3 * stalls->files[0].time, stalls->file_count - 1);
        text_format(out, ", %s", cache_of(stalls->cold, stalls->warm));
    }
    text_format(out, "; of %.3f ms idle for data, %.3f ms for the host\n", 1e3 * stalls->data,
                1e3 * stalls->host);
    if (stalls->unknown)
        text_add(out,
                 "note: the trace does not tell which processes are a rank's: calls of all count, while it "
                 "awaits data\n");
    if (stalls->lossy)
        text_add(out, "note: the trace lacks calls ('rehearse trace show' says which)\n");
}

void explain_print_files(const struct explain_stalls *stalls, struct text *out)
{
    double idle = stalls->data + stalls->host;
    if (stalls->file_count == 0)
        return;
    text_format(out, "\n%9s  %6s  ms a step and rank, while idle\n", "stalled", "calls");
    for (size_t i = 0; i < stalls->file_count && i < MAX_FILES; i++) {
        const struct explain_file *file = &stalls->files[i];
        text_format(out, "%9.3f  %6zu  %s, %s\n", 1e3 * file->time, file->calls, file->path,
                    cache_of(file->cold, file->warm));
    }
    explain_tell_rest(stalls->file_count, MAX_FILES, out);
    for (int i = 0; i < EXPLAIN_CALLS; i++)
        if (stalls->calls[i] > 0)
            text_format(out, "%9.3f          all %s\n", 1e3 * stalls->calls[i], explain_call_words[i]);
    text_format(out, "%9.3f          in no call on a file: decoding, or other waits\n",
                1e3 * (idle > stalls->all ? idle - stalls->all : 0));
}

static const struct field file_fields[] = {
    FIELD_OUT(struct explain_file, "file", path, FIELD_TEXT),
    FIELD_OUT(struct explain_file, "seconds", time, FIELD_DOUBLE),
    FIELD_OUT(struct explain_file, "calls", calls, FIELD_INT64),
};

static const struct field stall_fields[] = {
    FIELD_OUT(struct explain_stalls, "idle_for_data", data, FIELD_DOUBLE),
    FIELD_OUT(struct explain_stalls, "idle_for_host", host, FIELD_DOUBLE),
    FIELD_OUT(struct explain_stalls, "in_calls", all, FIELD_DOUBLE),
    FIELD_OUT(struct explain_stalls, "in_reads", calls[CALLS_READ], FIELD_DOUBLE),
    FIELD_OUT(struct explain_stalls, "in_opens", calls[CALLS_OPEN], FIELD_DOUBLE),
    FIELD_OUT(struct explain_stalls, "cold", cold, FIELD_DOUBLE),
    FIELD_OUT(struct explain_stalls, "warm", warm, FIELD_DOUBLE),
    FIELD_OUT(struct explain_stalls, "ranks", lanes, FIELD_INT64),
};

void explain_write_stalls(const struct explain_stalls *stalls, struct json *json)
{
    size_t count = stalls->file_count < MAX_JSON_FILES ? stalls->file_count : MAX_JSON_FILES;
    json_open(json, "storage", '{');
    FIELDS_WRITE(stalls, stall_fields, json);
    FIELDS_LIST(stalls->files, count, file_fields, json, "files");
    json_close(json);
}
