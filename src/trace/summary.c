#include "trace/summary.h"

#include "core/histogram.h"

#include <stdlib.h>
#include <string.h>

static void count_time(struct histogram *histogram, int64_t nanoseconds)
{
    if (nanoseconds != TRACE_NONE)
        histogram_add(histogram, nanoseconds); /* below 0: of a clock that went back */
}

static struct trace_summary_times times_of(const struct histogram *histogram)
{
    struct trace_summary_times times = {.count = histogram->count, .total = histogram->total * 1e-9};
    if (histogram->count == 0)
        return times;
    times.least = (double)histogram->min * 1e-9;
    times.median = histogram_quantile(histogram, 0.5) * 1e-9;
    times.p90 = histogram_quantile(histogram, 0.9) * 1e-9;
    times.p99 = histogram_quantile(histogram, 0.99) * 1e-9;
    times.most = (double)histogram->max * 1e-9;
    return times;
}

/* ---- calls ---- */

/* Work in progress: one entry for each id, at the place of the id. */
struct counting {
    struct trace_reader *reader;
    struct trace_summary *summary;
    struct histogram *histograms; /* by class; then of reads and of writes by kind */
    struct trace_summary_process *processes;
    struct trace_summary_file *files;
};

/* A wait at a pipe is no read of data: reads and writes of what is no file are apart. Histograms lie likewise. */
static struct trace_summary_class *class_of(struct counting *counting, const struct trace_event *event,
                                            struct histogram **histogram)
{
    enum trace_kind kind = trace_file_info(counting->reader, event->file)->kind;
    if (kind == TRACE_KIND_FILE || (event->class != TRACE_READ && event->class != TRACE_WRITE)) {
        *histogram = &counting->histograms[event->class];
        return &counting->summary->classes[event->class];
    }
    int which = event->class == TRACE_WRITE;
    *histogram = &counting->histograms[TRACE_CLASSES + which * TRACE_KINDS + (int)kind];
    return &counting->summary->others[which][kind];
}

static void count_event(struct counting *counting, const struct trace_event *event)
{
    struct histogram *histogram;
    struct trace_summary_class *class = class_of(counting, event, &histogram);
    int64_t moved = trace_bytes_moved(event);
    int64_t bytes_read = event->class == TRACE_READ ? moved : 0;
    int64_t bytes_written = event->class == TRACE_WRITE ? moved : 0;
    class->calls++;
    class->failed += event->result < 0 && event->result != TRACE_NONE;
    class->bytes += bytes_read + bytes_written;
    count_time(histogram, event->latency_ns);
    if (event->class == TRACE_READ) {
        counting->summary->hits += event->cached == 1;
        counting->summary->misses += event->cached == 0;
    }
    int64_t id = event->process;
    if (id > 0 && id <= trace_process_count(counting->reader)) {
        counting->processes[id].calls++;
        bool file = trace_file_info(counting->reader, event->file)->kind == TRACE_KIND_FILE;
        counting->processes[id].bytes_read += file ? bytes_read : 0;
        counting->processes[id].bytes_written += file ? bytes_written : 0;
        counting->processes[id].bytes_other += file ? 0 : bytes_read + bytes_written;
    }
    id = event->file;
    if (id > 0 && id <= trace_file_count(counting->reader)) {
        counting->files[id].calls++;
        counting->files[id].bytes_read += bytes_read;
        counting->files[id].bytes_written += bytes_written;
    }
}

static bool count_events(struct counting *counting, struct error *err)
{
    struct trace_event event;
    struct trace_filter filter = TRACE_ALL;
    filter.as_written = true; /* no order is needed, and none is made */
    struct trace_cursor *cursor = trace_events(counting->reader, &filter, err);
    while (trace_next_event(cursor, &event))
        count_event(counting, &event);
    for (int i = 0; i < TRACE_CLASSES; i++)
        counting->summary->classes[i].latency = times_of(&counting->histograms[i]);
    for (int i = 0; i < 2 * TRACE_KINDS; i++)
        counting->summary->others[i / TRACE_KINDS][i % TRACE_KINDS].latency =
            times_of(&counting->histograms[TRACE_CLASSES + i]);
    return trace_cursor_close(cursor, err);
}

/* ---- disks ---- */

static bool count_blocks(struct counting *counting, struct histogram *histograms, struct error *err)
{
    struct trace_summary *summary = counting->summary;
    struct trace_block block;
    struct trace_filter filter = TRACE_ALL;
    filter.as_written = true;
    int64_t all = trace_disk_count(counting->reader);
    struct trace_cursor *cursor = trace_blocks(counting->reader, &filter, err);
    while (trace_next_block(cursor, &block)) {
        int64_t id = block.disk > 0 && block.disk <= all ? block.disk : 0;
        struct trace_summary_request *request = &summary->disks[id].requests[block.op];
        request->count++;
        request->bytes += block.bytes > 0 ? block.bytes : 0;
        count_time(&histograms[id * TRACE_OPS + (int64_t)block.op], block.service_ns);
    }
    return trace_cursor_close(cursor, err);
}

/* Leaves those that had requests. */
static void finish_disks(struct trace_summary *summary, int64_t all, const struct histogram *histograms)
{
    for (int64_t id = 0; id <= all; id++) {
        struct trace_summary_disk disk = summary->disks[id];
        int64_t count = 0;
        for (int op = 0; op < TRACE_OPS; op++) {
            count += disk.requests[op].count;
            disk.requests[op].service = times_of(&histograms[id * TRACE_OPS + op]);
        }
        if (count == 0)
            continue;
        disk.disk = id;
        summary->disks[summary->disk_count++] = disk;
    }
}

static bool summarise_disks(struct counting *counting, struct error *err)
{
    int64_t all = trace_disk_count(counting->reader);
    struct histogram *histograms = calloc(TRACE_OPS * ((size_t)all + 1), sizeof *histograms);
    counting->summary->disks = calloc((size_t)all + 1, sizeof *counting->summary->disks);
    if (!histograms || !counting->summary->disks) {
        free(histograms);
        return error_memory(err);
    }
    bool done = count_blocks(counting, histograms, err);
    if (done)
        finish_disks(counting->summary, all, histograms);
    free(histograms);
    return done;
}

/* ---- series ---- */

/* The place of the kind of series `id`, which is put at the end if it is new. */
static struct trace_summary_series *kind_of(struct counting *counting, int64_t id)
{
    struct trace_summary *summary = counting->summary;
    const char *kind = trace_series_info(counting->reader, id)->kind;
    for (size_t i = 0; i < summary->series_count; i++)
        if (strcmp(summary->series[i].kind, kind) == 0)
            return &summary->series[i];
    struct trace_summary_series *series = &summary->series[summary->series_count++];
    *series = (struct trace_summary_series){.kind = kind};
    return series;
}

/* Sums by series; kinds are few, but samples many. */
struct sums {
    int64_t values;
    double total, most;
};

static bool count_samples(struct counting *counting, struct sums *sums, struct error *err)
{
    struct trace_sample sample;
    struct trace_filter filter = TRACE_ALL;
    filter.as_written = true;
    struct trace_cursor *cursor = trace_samples(counting->reader, &filter, err);
    while (trace_next_sample(cursor, &sample)) {
        if (sample.series < 1 || sample.series > trace_series_count(counting->reader))
            continue;
        struct sums *sum = &sums[sample.series];
        sum->most = sum->values == 0 || sample.value > sum->most ? sample.value : sum->most;
        sum->total += sample.value;
        sum->values++;
    }
    return trace_cursor_close(cursor, err);
}

static bool summarise_series(struct counting *counting, struct error *err)
{
    int64_t all = trace_series_count(counting->reader);
    struct sums *sums = calloc((size_t)all + 1, sizeof *sums);
    counting->summary->series = calloc((size_t)all + 1, sizeof *counting->summary->series);
    counting->summary->series_count = 0;
    bool done = sums && counting->summary->series ? count_samples(counting, sums, err) : error_memory(err);
    for (int64_t id = 1; done && id <= all; id++) {
        if (sums[id].values == 0)
            continue;
        struct trace_summary_series *series = kind_of(counting, id);
        series->most = series->values == 0 || sums[id].most > series->most ? sums[id].most : series->most;
        series->values += sums[id].values;
        series->mean += sums[id].total; /* divided below */
        series->sources++;
    }
    for (size_t i = 0; done && i < counting->summary->series_count; i++)
        counting->summary->series[i].mean /= (double)counting->summary->series[i].values;
    free(sums);
    return done;
}

/* ---- processes and files ---- */

static int by_pid(const void *a, const void *b)
{
    const struct trace_summary_process *x = a, *y = b;
    int order = (x->pid > y->pid) - (x->pid < y->pid);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static int processes_by_bytes(const void *a, const void *b)
{
    const struct trace_summary_process *x = a, *y = b;
    int64_t p = x->bytes_read + x->bytes_written, q = y->bytes_read + y->bytes_written;
    if (p != q)
        return p < q ? 1 : -1;
    if (x->bytes_other != y->bytes_other)
        return x->bytes_other < y->bytes_other ? 1 : -1;
    return x->calls != y->calls ? (x->calls < y->calls ? 1 : -1) : by_pid(a, b);
}

static int files_by_bytes(const void *a, const void *b)
{
    const struct trace_summary_file *x = a, *y = b;
    int64_t p = x->bytes_read + x->bytes_written, q = y->bytes_read + y->bytes_written;
    if (x->is_file != y->is_file)
        return x->is_file ? -1 : 1;
    if (p != q)
        return p < q ? 1 : -1;
    return x->calls != y->calls ? (x->calls < y->calls ? 1 : -1) : (x->file > y->file) - (x->file < y->file);
}

/* Of two rows of one process that of its main thread, and of what it executed later. A program that it executes again has
 * the row it had before. */
static int64_t later_name(const struct trace_reader *reader, int64_t a, int64_t b)
{
    const struct trace_process_info *x = trace_process_info(reader, a), *y = trace_process_info(reader, b);
    bool x_leads = x->tid == x->pid, y_leads = y->tid == y->pid;
    if (x_leads != y_leads)
        return x_leads ? a : b;
    return y_leads && y->start_ns >= x->start_ns ? b : a;
}

/* Threads and names of one process become one entry. */
static size_t merge_processes(struct counting *counting)
{
    struct trace_summary_process *processes = counting->processes + 1;
    size_t all = (size_t)trace_process_count(counting->reader), count = 0;
    for (size_t i = 0; i < all; i++) {
        processes[i].id = (int64_t)i + 1;
        processes[i].pid = trace_process_info(counting->reader, (int64_t)i + 1)->pid;
        processes[i].threads = 1;
    }
    qsort(processes, all, sizeof *processes, by_pid);
    for (size_t i = 0; i < all; i++) {
        struct trace_summary_process *to = count > 0 ? &processes[count - 1] : NULL;
        if (to && to->pid == processes[i].pid) {
            to->id = later_name(counting->reader, to->id, processes[i].id);
            to->threads++;
            to->calls += processes[i].calls;
            to->bytes_read += processes[i].bytes_read;
            to->bytes_written += processes[i].bytes_written;
            to->bytes_other += processes[i].bytes_other;
        } else {
            processes[count++] = processes[i];
        }
    }
    qsort(processes, count, sizeof *processes, processes_by_bytes);
    return count;
}

static void list_top(struct counting *counting)
{
    struct trace_summary *summary = counting->summary;
    size_t all = (size_t)trace_file_count(counting->reader);
    summary->processes = (int64_t)merge_processes(counting);
    for (size_t i = 1; i <= all; i++) {
        struct trace_summary_file *file = &counting->files[i];
        file->file = (int64_t)i;
        file->is_file =
            file->calls > 0 && trace_file_info(counting->reader, file->file)->kind == TRACE_KIND_FILE;
        if (trace_is_selected(counting->reader, file->file))
            trace_file_info(counting->reader, file->file)->kind == TRACE_KIND_FILE ? summary->files++
                                                                                   : summary->no_files++;
    }
    qsort(counting->files + 1, all, sizeof *counting->files, files_by_bytes);
    while (summary->process_count < TRACE_SUMMARY_LISTED &&
           (int64_t)summary->process_count < summary->processes) {
        summary->top_processes[summary->process_count] = counting->processes[1 + summary->process_count];
        summary->process_count++;
    }
    while (summary->file_count < TRACE_SUMMARY_LISTED && summary->file_count < all &&
           counting->files[1 + summary->file_count].calls > 0) {
        summary->top_files[summary->file_count] = counting->files[1 + summary->file_count];
        summary->file_count++;
    }
}

bool trace_summary_read(struct trace_reader *reader, struct trace_summary *summary, struct error *err)
{
    *summary = (struct trace_summary){.first_ns = TRACE_NONE, .last_ns = TRACE_NONE};
    struct counting counting = {
        .reader = reader,
        .summary = summary,
        .histograms = calloc(TRACE_CLASSES + 2 * TRACE_KINDS, sizeof(struct histogram)),
        .processes = calloc((size_t)trace_process_count(reader) + 1, sizeof *counting.processes),
        .files = calloc((size_t)trace_file_count(reader) + 1, sizeof *counting.files),
    };
    bool memory = counting.histograms && counting.processes && counting.files;
    bool done = memory ? count_events(&counting, err) && summarise_disks(&counting, err) &&
                             summarise_series(&counting, err)
                       : error_memory(err);
    done = done && trace_span(reader, &summary->first_ns, &summary->last_ns, err);
    if (done)
        list_top(&counting);
    free(counting.histograms);
    free(counting.processes);
    free(counting.files);
    if (!done)
        trace_summary_release(summary);
    return done;
}

void trace_summary_release(struct trace_summary *summary)
{
    free(summary->disks);
    free(summary->series);
    *summary = (struct trace_summary){.first_ns = TRACE_NONE, .last_ns = TRACE_NONE};
}
