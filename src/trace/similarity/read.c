#include "core/random.h"
#include "core/vector.h"
#include "trace/import/reader.h"
#include "trace/similarity/math.h"
#include "trace/similarity/similarity.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const similarity_part_names[SIMILARITY_PARTS] = {"run", "INIT", "TRAINING", "EVAL", "CHECKPOINT"};

enum { PROCESSORS, DISKS, GPUS, GPU_MEMORY };

/* The kernel counts a process's time in ticks of 10 ms, of which one in a sample of 100 ms is 10 %. */
const struct similarity_source similarity_series[SIMILARITY_SERIES] = {
    {"process.cpu", PROCESSORS, true, true, 10},
    {"cpu.usr", PROCESSORS, false, false, 1},
    {"cpu.sys", PROCESSORS, false, false, 1},
    {"cpu.iowait", PROCESSORS, false, false, 1},
    {"process.disk_read", DISKS, true, true, 1 << 20},
    {"process.disk_write", DISKS, true, true, 1 << 20},
    {"disk.rMB/s", DISKS, false, true, 1},
    {"disk.wMB/s", DISKS, false, true, 1},
    {"gpu.sm", GPUS, false, false, 1},
    {"gpu.mem", GPUS, false, false, 1},
    {"gpu.fb", GPU_MEMORY, false, false, 1},
};

const char *similarity_stream_name(int stream)
{
    static const char *const ops[TRACE_OPS] = {"block.read", "block.write", "block.discard", "block.flush"};
    return stream >= SIMILARITY_KERNELS ? kernel_class_names[stream - SIMILARITY_KERNELS]
           : stream < TRACE_CLASSES     ? trace_class_name((enum trace_class)stream)
                                        : ops[stream - TRACE_CLASSES];
}

/* The files that a thread read or wrote last, and the end of the last access (-1: unknown). Programs work
 * on up to this many files in turn. */
enum { RECENT = 8 };
struct recent {
    int64_t file, end;
};

/* State per file and thread while the events are read. */
struct reduction {
    struct similarity_trace *trace;
    struct trace_reader *reader;
    uint32_t *ranks;                 /* of files; 0: not yet read or written */
    int64_t *bytes;                  /* of files, read and written */
    struct recent (*recent)[RECENT]; /* of each thread, latest first */
    int64_t files, processes;
    uint32_t ranked;
    struct similarity_runs *runs; /* kernels.h */
    int64_t values;
    bool failed; /* out of memory */
};

/* The unit of times: recording a call takes about one, so shorter times cannot be told apart. */
#define MICROSECOND 1e3

/* A uniform sample of all that is seen (Vitter's algorithm R, 1985). */
static void keep(struct reduction *reduction, struct similarity_values *values, double value, double unit)
{
    struct similarity_trace *trace = reduction->trace;
    double scaled = log10(1 + fmax(0, value) / unit);
    values->seen++;
    if ((int64_t)values->count == reduction->values) {
        int64_t at = (int64_t)(random_uniform(&trace->random) * (double)values->seen);
        if (at < reduction->values)
            values->items[at] = scaled;
        return;
    }
    reduction->failed |= !VECTOR_ADD(values->items, values->count, values->capacity, scaled);
}

/* Returns the window of a time, as if all intervals of the phase were one; -1: outside. */
static int window(const struct similarity_part *part, int64_t time_ns)
{
    int low = 0, high = part->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (part->intervals[middle].to_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == part->count || time_ns < part->intervals[low].from_ns)
        return -1;
    int64_t at = part->intervals[low].before_ns + (time_ns - part->intervals[low].from_ns);
    int bin = part->length_ns > 0 ? (int)((double)at / (double)part->length_ns * SIMILARITY_BINS) : 0;
    return bin < SIMILARITY_BINS ? bin : SIMILARITY_BINS - 1;
}

static void count(struct reduction *reduction, int which, int64_t start_ns, int64_t latency_ns, int64_t bytes)
{
    struct similarity_stream *stream = &reduction->trace->streams[which];
    double size = bytes > 0 ? (double)bytes : 0;
    if (stream->ops++ > 0)
        keep(reduction, &stream->gap, (double)((uint64_t)start_ns - (uint64_t)stream->before_ns),
             MICROSECOND); /* in order */
    stream->before_ns = start_ns;
    if (latency_ns != TRACE_NONE)
        keep(reduction, &stream->latency, (double)latency_ns, MICROSECOND);
    stream->seconds += latency_ns != TRACE_NONE ? (double)latency_ns / 1e9 : 0;
    if (bytes >= 0)
        keep(reduction, &stream->size, size, 1);
    stream->bytes += size;
    stream->squares += size * size;
    for (int part = 0; part < SIMILARITY_PARTS; part++) {
        int bin = window(&reduction->trace->parts[part], start_ns);
        if (bin < 0)
            continue;
        bin += part * SIMILARITY_BINS;
        stream->ops_curve[bin]++;
        stream->bytes_curve[bin] += size;
        stream->squares_curve[bin] += size * size;
        if (latency_ns != TRACE_NONE) {
            stream->timed_curve[bin]++;
            stream->latency_curve[bin] += log10(1 + fmax(0, (double)latency_ns) / MICROSECOND);
        }
    }
}

/* Puts the file first. A new file takes the place of the one that was used longest ago. */
static void turn_to(struct recent *recent, int64_t file)
{
    int at = 1;
    while (at < RECENT - 1 && recent[at].file != file)
        at++;
    struct recent found = recent[at].file == file ? recent[at] : (struct recent){file, -1};
    memmove(recent + 1, recent, (size_t)at * sizeof *recent);
    *recent = found;
}

static void follow(struct reduction *reduction, const struct trace_event *event, int64_t bytes)
{
    struct similarity_trace *trace = reduction->trace;
    int64_t file = event->file;
    if (file < 1 || file > reduction->files)
        return;
    bool known = event->process > 0 && event->process <= reduction->processes;
    struct recent *recent = reduction->recent[known ? event->process : 0];
    if (recent->file != file) {
        trace->visits++;
        trace->revisits += reduction->ranks[file] != 0;
        turn_to(recent, file);
    }
    if (!reduction->ranks[file])
        reduction->ranks[file] = ++reduction->ranked;
    if (bytes > 0 && bytes < INT64_MAX - reduction->bytes[file])
        reduction->bytes[file] += bytes;
    if (event->offset < 0 || bytes < 0 || bytes > INT64_MAX - event->offset)
        return;
    if (recent->end >= 0) {
        trace->steps++;
        trace->sequential += event->offset == recent->end;
        keep(reduction, &trace->jumps, fabs((double)(event->offset - recent->end)), 1);
    }
    recent->end = event->offset + bytes;
}

/* Returns the bytes moved if the result tells them, else the bytes requested; -1: unknown, or the call
 * failed. */
static int64_t size_of(const struct trace_event *event)
{
    bool moves = event->class == TRACE_READ || event->class == TRACE_WRITE;
    if (moves && event->result != TRACE_NONE)
        return event->result < 0 ? -1 : event->result;
    return event->size < 0 ? -1 : event->size;
}

static bool read_events(struct reduction *reduction, struct error *err)
{
    struct trace_event event;
    struct trace_cursor *cursor = trace_events(reduction->reader, &TRACE_ALL, err);
    while (!reduction->failed && trace_next_event(cursor, &event)) {
        if (event.class == TRACE_REGION) {
            int kernel = similarity_runs_take(reduction->runs, &event);
            if (kernel >= 0) {
                count(reduction, SIMILARITY_KERNELS + kernel, event.start_ns, event.latency_ns, -1);
                reduction->trace->rows++;
            }
        }
        if (event.class == TRACE_OFFCPU || event.class == TRACE_REGION)
            continue; /* recorded on request only, and no request to storage */
        int64_t bytes = size_of(&event);
        count(reduction, (int)event.class, event.start_ns, event.latency_ns, bytes);
        if (event.class == TRACE_READ || event.class == TRACE_WRITE)
            follow(reduction, &event, bytes);
        reduction->trace->rows++;
    }
    return trace_cursor_close(cursor, err);
}

static bool read_blocks(struct reduction *reduction, struct error *err)
{
    struct trace_block block;
    struct trace_cursor *cursor = trace_blocks(reduction->reader, &TRACE_ALL, err);
    while (!reduction->failed && trace_next_block(cursor, &block)) {
        count(reduction, TRACE_CLASSES + (int)block.op, block.start_ns, block.service_ns,
              block.bytes < 0 ? -1 : block.bytes);
        reduction->trace->rows++;
    }
    return trace_cursor_close(cursor, err);
}

static bool add_samples(struct reduction *reduction, int64_t series, double scale, double *sums,
                        double *squares, int64_t *counts, struct error *err)
{
    struct trace_sample sample;
    struct trace_filter filter = TRACE_ALL;
    filter.which = series;
    struct trace_cursor *cursor = trace_samples(reduction->reader, &filter, err);
    while (trace_next_sample(cursor, &sample)) {
        for (int part = 0; part < SIMILARITY_PARTS; part++) {
            int bin = window(&reduction->trace->parts[part], sample.time_ns);
            if (bin < 0 || !isfinite(sample.value) || sample.value < 0)
                continue;
            bin += part * SIMILARITY_BINS;
            sums[bin] += sample.value * scale;
            squares[bin] += sample.value * scale * sample.value * scale;
            counts[bin]++;
        }
    }
    return trace_cursor_close(cursor, err);
}

/* Adds means per window. A window without a sample has the mean of the one before, the first ones that of
 * the first sample; but a process counts as 0 before its first and after its last sample. */
static void average(struct similarity_curve *curve, const double *sums, const double *squares,
                    const int64_t *counts, bool process)
{
    for (int part = 0; part < SIMILARITY_PARTS; part++) {
        int begin = part * SIMILARITY_BINS, end = begin + SIMILARITY_BINS, from = begin;
        while (from < end && counts[from] == 0)
            from++;
        while (process && end > from && counts[end - 1] == 0)
            end--;
        for (int bin = process ? from : begin, last = from; bin < end && from < end; bin++) {
            last = counts[bin] > 0 ? bin : last;
            double n = (double)counts[last], mean = sums[last] / n;
            curve->mean[bin] += mean;
            curve->variance[bin] += fmax(0, squares[last] / n - mean * mean) / n;
        }
    }
}

static bool read_series(struct reduction *reduction, int which, struct error *err)
{
    struct similarity_curve *curve = &reduction->trace->series[which];
    const struct similarity_source *source = &similarity_series[which];
    bool done = true;
    int64_t sources = 0, total = trace_series_count(reduction->reader);
    for (int64_t id = 1; id <= total; id++)
        sources += strcmp(trace_series_info(reduction->reader, id)->kind, source->name) == 0;
    for (int64_t id = 1; done && id <= total && sources > 0; id++) {
        double sums[SIMILARITY_CURVE] = {0}, squares[SIMILARITY_CURVE] = {0};
        int64_t counts[SIMILARITY_CURVE] = {0};
        if (strcmp(trace_series_info(reduction->reader, id)->kind, source->name) != 0)
            continue;
        done = add_samples(reduction, id, source->adds ? 1 : 1 / (double)sources, sums, squares, counts, err);
        for (int bin = 0; bin < SIMILARITY_BINS; bin++)
            curve->known |= counts[bin] > 0;
        average(curve, sums, squares, counts, source->own);
    }
    return done;
}

/* Adds an interval. Intervals of one phase may overlap (an epoch and its blocks): they count once. */
static void add_interval(struct similarity_part *part, int64_t from_ns, int64_t to_ns)
{
    struct similarity_interval *last = part->count > 0 ? &part->intervals[part->count - 1] : NULL;
    if (last && from_ns <= last->to_ns)
        from_ns = last->to_ns;
    if (to_ns <= from_ns)
        return;
    if (last && from_ns == last->to_ns)
        last->to_ns = to_ns;
    else
        part->intervals[part->count++] = (struct similarity_interval){from_ns, to_ns, part->length_ns};
    part->length_ns += to_ns - from_ns;
}

static bool read_parts(struct reduction *reduction, int64_t first_ns, int64_t last_ns, struct error *err)
{
    struct similarity_trace *trace = reduction->trace;
    int phase_count;
    const struct trace_phase *phases = trace_phases(reduction->reader, &phase_count);
    for (int part = 0; part < SIMILARITY_PARTS; part++) {
        trace->parts[part].intervals = calloc((size_t)phase_count + 1, sizeof *trace->parts[part].intervals);
        if (!trace->parts[part].intervals)
            return error_memory(err);
        for (int i = 0; part > 0 && i < phase_count; i++)
            if (strcmp(phases[i].name, similarity_part_names[part]) == 0)
                add_interval(&trace->parts[part], phases[i].start_ns, phases[i].end_ns);
        trace->phased |= trace->parts[part].count > 0;
    }
    trace->parts[0].intervals[0] = (struct similarity_interval){first_ns, last_ns, 0};
    trace->parts[0].length_ns = last_ns - first_ns;
    trace->parts[0].count = 1;
    return true;
}

static const char *tail_of(const char *path)
{
    int slashes = 0;
    for (const char *at = path + strlen(path); at > path; at--)
        if (at[-1] == '/' && ++slashes == 2)
            return at;
    return path;
}

static int by_tail(const void *left, const void *right)
{
    const struct similarity_file *a = left, *b = right;
    int order = strcmp(a->tail, b->tail);
    return order != 0 ? order : strcmp(a->path, b->path);
}

/* Counts pairs of data files that are first accessed in the order of their names. */
static bool order_names(struct similarity_trace *trace)
{
    uint32_t *ranks = calloc(2 * trace->file_count + 1, sizeof *ranks);
    size_t count = 0;
    for (size_t i = 0; ranks && i < trace->file_count; i++)
        if (trace->files[i].data)
            ranks[count++] = trace->files[i].rank;
    if (ranks && count >= SIMILARITY_DATA_FILES)
        trace->ascending = similarity_order(ranks, ranks + trace->file_count, count);
    free(ranks);
    return ranks != NULL;
}

static bool keep_files(struct reduction *reduction)
{
    struct similarity_trace *trace = reduction->trace;
    int64_t most = 0;
    trace->ascending = NAN;
    trace->files = calloc((size_t)reduction->ranked + 1, sizeof *trace->files);
    if (!trace->files)
        return false;
    for (int64_t id = 1; id <= reduction->files; id++)
        most = reduction->bytes[id] > most ? reduction->bytes[id] : most;
    for (int64_t id = 1; id <= reduction->files; id++) {
        const char *path = trace_file_info(reduction->reader, id)->path;
        if (!reduction->ranks[id] || !*path)
            continue;
        struct similarity_file *file = &trace->files[trace->file_count];
        file->rank = reduction->ranks[id];
        file->data = most > 0 && reduction->bytes[id] >= most / 10;
        file->path = strdup(path);
        if (!file->path)
            return false;
        file->tail = tail_of(file->path);
        trace->file_count++;
    }
    qsort(trace->files, trace->file_count, sizeof *trace->files, by_tail);
    return order_names(trace);
}

static void sort_values(struct similarity_trace *trace)
{
    for (int i = 0; i < SIMILARITY_STREAMS; i++) {
        struct similarity_stream *stream = &trace->streams[i];
        similarity_sort(stream->size.items, stream->size.count);
        similarity_sort(stream->latency.items, stream->latency.count);
        similarity_sort(stream->gap.items, stream->gap.count);
    }
    similarity_sort(trace->jumps.items, trace->jumps.count);
}

static bool read_all(struct reduction *reduction, const char *path, struct error *err)
{
    struct similarity_trace *trace = reduction->trace;
    int64_t first_ns, last_ns;
    if (!trace_span_of_run(reduction->reader, path, &first_ns, &last_ns, err))
        return false;
    if (!trace->path || !trace->streams || !trace->series || !reduction->ranks || !reduction->bytes ||
        !reduction->recent)
        return error_memory(err);
    if (!read_parts(reduction, first_ns, last_ns, err) || !read_events(reduction, err) ||
        !read_blocks(reduction, err))
        return false;
    if (trace->rows == 0) { /* of operations of a host, or other spans that a program named */
        similarity_runs_widen(reduction->runs);
        if (!read_events(reduction, err))
            return false;
    }
    if (!similarity_runs_end(reduction->runs, last_ns - first_ns, &trace->kernels, err))
        return false;
    for (int i = 0; i < SIMILARITY_SERIES; i++)
        if (!read_series(reduction, i, err))
            return false;
    if (reduction->failed || !keep_files(reduction))
        return error_memory(err);
    if (trace->rows == 0)
        return error_set(err, ERROR_INPUT, "%s: the trace has no event, no request to a disk and no kernel",
                         path);
    sort_values(trace);
    return true;
}

bool similarity_trace_read(struct similarity_trace *trace, const char *path,
                           const struct similarity_options *options, struct error *err)
{
    struct reduction reduction = {.trace = trace, .values = options->values};
    reduction.reader = trace_open(path, &options->selection, err);
    if (!reduction.reader)
        return false;
    trace->shortfall = trace_shortfall_of(reduction.reader);
    const char *records = trace_meta(reduction.reader, TRACE_RECORDS);
    trace->calls_alone = records && strcmp(records, TRACE_RECORDS_CALLS) == 0;
    reduction.files = trace_file_count(reduction.reader);
    reduction.processes = trace_process_count(reduction.reader);
    reduction.ranks = calloc((size_t)reduction.files + 1, sizeof *reduction.ranks);
    reduction.bytes = calloc((size_t)reduction.files + 1, sizeof *reduction.bytes);
    reduction.recent = calloc((size_t)reduction.processes + 1, sizeof *reduction.recent);
    reduction.runs = similarity_runs_new(reduction.reader, options->rules, err);
    if (!reduction.runs) {
        trace_reader_free(reduction.reader);
        free(reduction.ranks);
        free(reduction.bytes);
        free(reduction.recent);
        return false;
    }
    trace->path = strdup(path);
    trace->random = options->seed;
    trace->streams = calloc(SIMILARITY_STREAMS, sizeof *trace->streams);
    trace->series = calloc(SIMILARITY_SERIES, sizeof *trace->series);
    bool done = read_all(&reduction, path, err);
    free(reduction.ranks);
    free(reduction.bytes);
    free(reduction.recent);
    similarity_runs_free(reduction.runs);
    trace_reader_free(reduction.reader);
    return done;
}

void similarity_trace_release(struct similarity_trace *trace)
{
    for (int i = 0; trace->streams && i < SIMILARITY_STREAMS; i++) {
        free(trace->streams[i].size.items);
        free(trace->streams[i].latency.items);
        free(trace->streams[i].gap.items);
    }
    for (size_t i = 0; i < trace->file_count; i++)
        free(trace->files[i].path);
    for (int part = 0; part < SIMILARITY_PARTS; part++)
        free(trace->parts[part].intervals);
    free(trace->files);
    similarity_kernels_release(&trace->kernels);
    free(trace->jumps.items);
    free(trace->streams);
    free(trace->series);
    free(trace->path);
    *trace = (struct similarity_trace){0};
}
