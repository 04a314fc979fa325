#include "sim/replay/parts.h"
#include "trace/import/internal.h"

#include <stdio.h>
#include <string.h>

typedef bool reader(struct replay *replay, const char *text, size_t length, struct error *err);

/* Which files have their own reader, by the ends of their names. */
static const struct {
    const char *ending;
    reader *read;
} readers[] = {
    {".csv", replay_read_table},    {".csv.gz", replay_read_table},     {".et", replay_read_chakra},
    {".et.gz", replay_read_chakra}, {".xplane.pb", replay_read_xplane}, {".xplane.pb.gz", replay_read_xplane},
};

/* Files of other profilers, and how to get from them to one that is read; %s is the file. */
#define NSYS "nsys stats --report cuda_gpu_trace --format csv --output run '%s', then run_cuda_gpu_trace.csv"
static const struct {
    const char *ending, *what, *command;
} others[] = {
    {".nsys-rep", "a report of Nsight Systems", NSYS},
    {".qdrep", "a report of Nsight Systems", NSYS},
    {".sqlite", "a database, as Nsight Systems exports it", NSYS},
    {".ncu-rep", "a report of Nsight Compute, which has kernels but no times of a run",
     "nsys profile on the program of '%s', then nsys stats --report cuda_gpu_trace --format csv --output run "
     "report1.nsys-rep"},
    {".rpd", "a database of rocmProfileData",
     "sqlite3 -header -csv '%s' \"SELECT o.start / 1000.0 AS start_us, (o.end - o.start) / 1000.0 AS "
     "duration_us, "
     "o.queueId AS stream, s.string AS kernel FROM rocpd_op o JOIN rocpd_string s ON s.id = o.description_id "
     "WHERE s.string != '' ORDER BY o.start\" >kernels.csv"},
    {"_results.db", "a database of rocprofv3",
     "rocpd convert -i '%s' --output-format csv, then its kernel_trace.csv"},
    {"_results.json", "JSON of rocprofv3", "rocprofv3 --kernel-trace --output-format csv (instead of '%s')"},
    {".pftrace", "a trace of Perfetto", "traceconv json '%s' run.json"},
    {".perfetto-trace", "a trace of Perfetto", "traceconv json '%s' run.json"},
    {".otf2", "a trace of Score-P or rocprofv3",
     "rocprofv3 --kernel-trace --output-format csv (instead of '%s')"},
};

static bool refuse_other(const char *path, struct error *err)
{
    struct text command = {0};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!text_ends_with(path, others[i].ending))
            continue;
        const char *at = strstr(others[i].command, "%s");
        text_format(&command, "%.*s%s%s", (int)(at - others[i].command), others[i].command, path, at + 2);
        bool made = !command.failed;
        made ? error_set(err, ERROR_INPUT, "%s: %s, which is not read; convert it: %s", path, others[i].what,
                         command.data)
             : error_memory(err);
        text_release(&command);
        return false;
    }
    return true;
}

static bool is_execution_trace(const char *start)
{
    return strstr(start, "\"workload_graph\"") || (strstr(start, "\"schema\"") && strstr(start, "\"nodes\""));
}

bool replay_is_named(const char *path, const char *start)
{
    struct error none;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (text_ends_with(path, readers[i].ending))
            return readers[i].read != replay_read_table || replay_is_table(start);
    return !refuse_other(path, &none) || is_execution_trace(start);
}

static bool choose_reader(const char *path, const char *text, size_t length, reader **read, struct error *err)
{
    struct import_lines lines;
    const char *bytes;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (text_ends_with(path, readers[i].ending)) {
            *read = readers[i].read;
            return true;
        }
    *read = replay_read_kineto;
    if (!refuse_other(path, err))
        return false;
    bool seen =
        import_lines_open(&lines, path, text, length, err) && import_lines_peek(&lines, &bytes, &length, err);
    if (seen && is_execution_trace(bytes))
        *read = replay_read_chakra;
    import_lines_close(&lines);
    return seen;
}

static bool parse(struct replay *replay, const char *path, const char *text, size_t length, bool priced,
                  struct error *err)
{
    reader *read;
    *replay = (struct replay){.rank = -1, .world = -1, .priced = priced};
    replay->path = arena_string(&replay->arena, path);
    bool done = replay->path
                    ? choose_reader(path, text, length, &read, err) && read(replay, text, length, err)
                    : error_memory(err);
    if (!done)
        replay_release(replay);
    return done;
}

bool replay_parse(struct replay *replay, const char *path, const char *text, size_t length, struct error *err)
{
    return parse(replay, path, text, length, false, err);
}

bool replay_load(struct replay *replay, const char *path, struct error *err)
{
    return parse(replay, path, NULL, 0, false, err);
}

bool replay_load_priced(struct replay *replay, const char *path, struct error *err)
{
    return parse(replay, path, NULL, 0, true, err);
}

/* --- into a store ----------------------------------------------------------------------------------------- */

/* Recorded runs of GPUs as traces in a store, for all that the room of traces reads only so: JAX's profiles, execution traces and
 * tables of kernels. Kineto's JSON is read there as any Chrome trace, with more than its kernels. Activities are regions,
 * "kernel.NAME", of a process (the device) and a thread (the stream); so are spans that the program named. */
static bool add(struct import *import, const struct replay *replay, const char *category, uint32_t name,
                const struct replay_stream *stream, int64_t start, int64_t duration, struct error *err)
{
    char region[512];
    bool fits = stream->number >= 0 && trace_pid_fits(stream->number);
    int64_t number =
        fits ? stream->number : 1 + (stream - replay->streams); /* of a host: hashes of threads */
    snprintf(region, sizeof region, "%s.%s", category, replay->texts[name]);
    struct trace_event event = {
        .class = TRACE_REGION,
        .cached = -1,
        .start_ns = replay->base + replay->origin + start,
        .latency_ns = duration,
        .process = import_process(import, stream->device < 0 ? TRACE_NONE : stream->device, number, "", 0),
        .call = trace_call(import->writer, region, strlen(region)),
        .fd = TRACE_NONE,
        .offset = TRACE_NONE,
        .size = TRACE_NONE,
        .result = TRACE_NONE};
    return import_event(import, &event, err);
}

static bool add_all(struct import *import, const struct replay *replay, struct error *err)
{
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        if (!add(import, replay, replay->host_only ? "cpu_op" : replay_category_names[activity->category],
                 activity->name, &replay->streams[activity->stream], activity->start, activity->duration,
                 err))
            return false;
    }
    for (size_t i = 0; i < replay->mark_count; i++) {
        const struct replay_mark *mark = &replay->marks[i];
        const struct replay_stream host = {.device = -1, .number = mark->thread};
        if (!add(import, replay, "user_annotation", mark->name, &host, mark->begin, mark->duration, err))
            return false;
    }
    return true;
}

static bool read_run(struct import *import, struct error *err)
{
    struct replay replay;
    if (!replay_load(&replay, import->lines->path, err))
        return false;
    bool done = add_all(import, &replay, err);
    replay_release(&replay);
    return done;
}

/* Found by the importers where this file is linked (trace/import/internal.h): so it stands beside replay_load. */
const struct import_format *import_detect_run(const char *file, const char *start)
{
    static const struct import_format run = {.words = "recorded run of GPUs", .read = read_run};
    return replay_is_named(file, start) ? &run : NULL;
}
