/* Tables of kernels: our own, and those that the tools of Nsight Systems and of rocprofv3 write. */
#include "core/csv.h"
#include "sim/replay/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_BYTES 65536
#define MAX_NS      (INT64_C(1) << 61)

/* The columns that a table must have, by who writes it. */
static const struct dialect {
    const char *start, *duration, *end; /* one of the last two */
    const char *stream, *other_stream, *kernel, *correlation, *device;
    bool own; /* in microseconds, sorted; else in nanoseconds */
} dialects[] = {
    {"start_us", "duration_us", NULL, "stream", NULL, "kernel", "correlation", "device", true},
    {"Start (ns)", "Duration (ns)", NULL, "Strm", NULL, "Name", "CorrId", "Device", false}, /* nsys stats */
    {"Start_Timestamp", NULL, "End_Timestamp", "Stream_Id", "Queue_Id", "Kernel_Name", "Correlation_Id",
     "Agent_Id", false}, /* rocprofv3 */
};
#define DIALECTS (sizeof dialects / sizeof *dialects)

struct columns {
    const struct dialect *dialect;
    int start, duration, end, stream, category, kernel, correlation, device, launch, launch_duration,
        collective, elements, dtype, group;
};

bool replay_is_table(const char *start)
{
    char header[2048];
    snprintf(header, sizeof header, "%.*s", (int)strcspn(start, "\r\n"), start);
    for (size_t i = 0; i < DIALECTS; i++)
        if (strstr(header, dialects[i].start) && strstr(header, dialects[i].kernel))
            return true;
    return false;
}

static bool find_columns(const struct csv *csv, struct columns *columns, struct error *err)
{
    const struct dialect *dialect = dialects;
    while (dialect < dialects + DIALECTS && csv_column(csv, dialect->start) < 0)
        dialect++;
    dialect = dialect < dialects + DIALECTS ? dialect : dialects; /* which names what is missing */
    columns->dialect = dialect;
    columns->category = csv_column(csv, "category");
    columns->correlation = csv_column(csv, dialect->correlation);
    columns->device = csv_column(csv, dialect->device);
    columns->launch = csv_column(csv, "launch_us");
    columns->launch_duration = csv_column(csv, "launch_duration_us");
    columns->collective = csv_column(csv, "collective");
    columns->elements = csv_column(csv, "elements");
    columns->dtype = csv_column(csv, "dtype");
    columns->group = csv_column(csv, "group");
    columns->duration = columns->end = -1;
    columns->stream = dialect->other_stream ? csv_column(csv, dialect->stream) : -1;
    return csv_need(csv, dialect->start, &columns->start, err) &&
           csv_need(csv, dialect->duration ? dialect->duration : dialect->end,
                    dialect->duration ? &columns->duration : &columns->end, err) &&
           (columns->stream >= 0 ||
            csv_need(csv, dialect->other_stream ? dialect->other_stream : dialect->stream, &columns->stream,
                     err)) &&
           csv_need(csv, dialect->kernel, &columns->kernel, err);
}

static bool time_of(const struct csv *csv, int row, int column, int64_t min, bool own, int64_t *ns,
                    struct error *err)
{
    const char *cell = csv_cell(csv, row, column);
    bool read = own ? text_microseconds(cell, ns) : text_whole(cell, "", ns) && *ns > -MAX_NS && *ns < MAX_NS;
    if (!read)
        return csv_error(csv, row, column, err, "expected %s, found '%.40s'",
                         own ? "microseconds" : "nanoseconds", cell);
    return *ns >= min || csv_error(csv, row, column, err, "%s %s is negative", cell, own ? "us" : "ns");
}

/* The number of a device: the last one in its name, "NVIDIA H100 80GB HBM3 (1)" or "Agent 2". */
static int64_t device_of(const struct csv *csv, int row, int column)
{
    const char *cell = csv_cell(csv, row, column), *end = cell + strlen(cell);
    char digits[20] = "";
    int64_t device = 0;
    while (end > cell && (end[-1] < '0' || end[-1] > '9'))
        end--;
    const char *begin = end;
    while (begin > cell && begin[-1] >= '0' && begin[-1] <= '9')
        begin--;
    if (end - begin < (ptrdiff_t)sizeof digits)
        memcpy(digits, begin, (size_t)(end - begin));
    (void)text_whole(digits, "", &device);
    return device;
}

static bool whole_of(const struct csv *csv, int row, int column, int64_t *value, struct error *err)
{
    double number;
    if (!csv_number(csv, row, column, -9007199254740992.0, 9007199254740992.0, &number, err))
        return false;
    *value = (int64_t)number;
    return (double)*value == number || csv_error(csv, row, column, err, "%g is not a whole number", number);
}

static bool text_of(struct replay *replay, const struct csv *csv, int row, int column, uint32_t *id,
                    struct error *err)
{
    const char *cell = csv_cell(csv, row, column);
    return replay_add_text(replay, cell, strlen(cell), id, err);
}

static bool collective_of(struct replay *replay, const struct csv *csv, const struct columns *columns,
                          int row, uint32_t *id, struct error *err)
{
    struct replay_collective collective = REPLAY_NO_COLLECTIVE;
    uint32_t texts[3];
    if (!text_of(replay, csv, row, columns->collective, &texts[0], err) ||
        !text_of(replay, csv, row, columns->dtype, &texts[1], err) ||
        !text_of(replay, csv, row, columns->group, &texts[2], err) ||
        (*csv_cell(csv, row, columns->elements) &&
         !whole_of(csv, row, columns->elements, &collective.elements, err)))
        return false;
    collective.name = texts[0], collective.dtype = texts[1], collective.group = texts[2];
    return replay_add_collective(replay, &collective, id, err);
}

static bool category_of(const struct csv *csv, int row, int column, unsigned *category, struct error *err)
{
    const char *cell = csv_cell(csv, row, column);
    *category = REPLAY_KERNEL;
    if (!*cell)
        return true;
    while (*category < REPLAY_CATEGORIES && strcmp(cell, replay_category_names[*category]) != 0)
        ++*category;
    return *category < REPLAY_CATEGORIES ||
           csv_error(csv, row, column, err, "expected kernel, gpu_memcpy or gpu_memset, found '%.40s'", cell);
}

/* The launch of a row; rows of the same launch (of a graph) make one call. */
static bool read_launch(struct replay *replay, const struct csv *csv, const struct columns *columns, int row,
                        struct replay_activity *activity, struct error *err)
{
    struct replay_call call = {.kind = CALL_LAUNCH, .place = (uint32_t)row};
    if (!*csv_cell(csv, row, columns->launch))
        return true;
    if (!time_of(csv, row, columns->launch, INT64_MIN, true, &call.begin, err))
        return false;
    if (*csv_cell(csv, row, columns->launch_duration) &&
        !time_of(csv, row, columns->launch_duration, 0, true, &call.duration, err))
        return false;
    if (activity->correlation == 0) /* ties a row to its own launch; below all numbers of profilers */
        activity->correlation = INT64_MIN + row;
    call.correlation = activity->correlation;
    return replay_add_thread(replay, 0, 0, &call.thread, err) && replay_add_call(replay, &call, err);
}

/* When an activity began, and how long it took. */
static bool span_of(const struct csv *csv, const struct columns *columns, int row, int64_t *last,
                    struct replay_activity *activity, struct error *err)
{
    bool own = columns->dialect->own;
    if (!time_of(csv, row, columns->start, INT64_MIN, own, &activity->start, err) ||
        (columns->duration >= 0 && !time_of(csv, row, columns->duration, 0, own, &activity->duration, err)) ||
        (columns->end >= 0 &&
         !time_of(csv, row, columns->end, activity->start, own, &activity->duration, err)))
        return false;
    activity->duration -= columns->end >= 0 ? activity->start : 0;
    if (own && row > 0 && activity->start < *last)
        return csv_error(csv, row, columns->start, err,
                         "time goes backwards: %s us, after %.3f us in the row before",
                         csv_cell(csv, row, columns->start), (double)*last / 1000);
    *last = activity->start;
    return true;
}

static bool read_row(struct replay *replay, const struct csv *csv, const struct columns *columns, int row,
                     int64_t *last, struct error *err)
{
    struct replay_activity activity = {.place = (uint32_t)row, .call = -1};
    int64_t number;
    int32_t stream;
    unsigned category;
    if (!span_of(csv, columns, row, last, &activity, err) ||
        !whole_of(csv, row, columns->stream, &number, err) ||
        !replay_add_stream(replay, device_of(csv, row, columns->device), number, &stream, err) ||
        !category_of(csv, row, columns->category, &category, err) ||
        !text_of(replay, csv, row, columns->kernel, &activity.name, err) ||
        !collective_of(replay, csv, columns, row, &activity.collective, err))
        return false;
    if (*csv_cell(csv, row, columns->correlation) &&
        !whole_of(csv, row, columns->correlation, &activity.correlation, err))
        return false;
    if (!activity.name)
        return csv_error(csv, row, columns->kernel, err, "the name is missing");
    activity.stream = (unsigned)stream;
    activity.category = category;
    return read_launch(replay, csv, columns, row, &activity, err) &&
           replay_add_activity(replay, &activity, err);
}

bool replay_read_table(struct replay *replay, const char *text, size_t length, struct error *err)
{
    struct csv csv;
    struct columns columns;
    int64_t last = 0;
    if (!(text ? csv_parse(&csv, replay->path, text, length, err) : csv_load(&csv, replay->path, err)))
        return false;
    bool read = find_columns(&csv, &columns, err);
    for (int row = 0; read && row < csv.row_count; row++)
        read = read_row(replay, &csv, &columns, row, &last, err);
    replay->events = (size_t)csv.row_count;
    csv_release(&csv);
    return read && replay_finish(replay, "row", err);
}

/* Microseconds with the three digits of a nanosecond. */
static void add_time(struct text *out, int64_t ns)
{
    text_format(out, "%s%lld.%03d,", ns < 0 ? "-" : "", llabs(ns) / 1000, (int)(llabs(ns) % 1000));
}

static void add_cell(struct text *out, const char *cell)
{
    if (!strpbrk(cell, ",\"\r\n")) {
        text_add(out, cell);
        return;
    }
    text_add(out, "\"");
    for (; *cell; cell++)
        text_add_bytes(out, *cell == '"' ? "\"\"" : cell, *cell == '"' ? 2 : 1);
    text_add(out, "\"");
}

static void add_activity(const struct replay *replay, size_t i, int64_t start, int64_t duration,
                         struct text *out)
{
    const struct replay_activity *activity = &replay->activities[i];
    const struct replay_collective *collective = replay_collective_of(replay, activity);
    add_time(out, start);
    add_time(out, duration);
    text_format(out, "%lld,%s,", (long long)replay->streams[activity->stream].number,
                replay_category_names[activity->category]);
    add_cell(out, replay->texts[activity->name]);
    if (activity->correlation > 0)
        text_format(out, ",%lld,", (long long)activity->correlation);
    else
        text_add(out, ",,");
    if (activity->call >= 0) {
        add_time(out, replay->calls[activity->call].begin);
        add_time(out, replay->calls[activity->call].duration);
    } else {
        text_add(out, ",,");
    }
    add_cell(out, replay->texts[collective->name]);
    text_add(out, ",");
    if (collective->elements >= 0)
        text_format(out, "%lld", (long long)collective->elements);
    text_add(out, ",");
    add_cell(out, replay->texts[collective->dtype]);
    text_add(out, ",");
    add_cell(out, replay->texts[collective->group]);
    text_add(out, "\n");
}

void replay_write_csv(const struct replay *replay, const int64_t *starts, const int64_t *durations,
                      struct text *out, FILE *stream)
{
    text_add(out, "start_us,duration_us,stream,category,kernel,correlation,launch_us,launch_duration_us,"
                  "collective,elements,dtype,group\n");
    for (size_t i = 0; i < replay->count; i++) {
        add_activity(replay, i, starts ? starts[i] : replay->activities[i].start,
                     durations ? durations[i] : replay->activities[i].duration, out);
        if (stream && !out->failed && (out->length > FLUSH_BYTES || i + 1 == replay->count)) {
            fwrite(out->data, 1, out->length, stream);
            out->length = 0;
        }
    }
}
