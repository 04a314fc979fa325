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
    times.min = (double)histogram->min * 1e-9;
    times.median = histogram_quantile(histogram, 0.5) * 1e-9;
    times.p90 = histogram_quantile(histogram, 0.9) * 1e-9;
    times.p99 = histogram_quantile(histogram, 0.99) * 1e-9;
    times.max = (double)histogram->max * 1e-9;
    return times;
}

/* ---- calls ---- */

/* Work in progress: one entry for each id, at the place of the id. */
struct tally {
    struct trace_reader *reader;
    struct trace_summary *summary;
    struct histogram *histograms; /* by class; then of reads and of writes by kind */
    struct trace_summary_process *processes;
    struct trace_summary_file *files;
};

/* Returns the counters of an event. Reads and writes of pipes and the like are separate, since a wait
 * there reads no data; the histograms have the same order. */
static struct trace_summary_class *class_of(struct tally *tally, const struct trace_event *event,
                                            struct histogram **histogram)
{
    enum trace_kind kind = trace_file_info(tally->reader, event->file)->kind;
    if (kind == TRACE_KIND_FILE || (event->class != TRACE_READ && event->class != TRACE_WRITE)) {
        *histogram = &tally->histograms[event->class];
        return &tally->summary->classes[event->class];
    }
    int which = event->class == TRACE_WRITE;
    *histogram = &tally->histograms[TRACE_CLASSES + which * TRACE_KINDS + (int)kind];
    return &tally->summary->others[which][kind];
}

static void count_event(struct tally *tally, const struct trace_event *event)
{
    struct histogram *histogram;
    struct trace_summary_class *class = class_of(tally, event, &histogram);
    int64_t moved = trace_bytes_moved(event);
    int64_t bytes_read = event->class == TRACE_READ ? moved : 0;
    int64_t bytes_written = event->class == TRACE_WRITE ? moved : 0;
    class->calls++;
    class->failed += event->result < 0 && event->result != TRACE_NONE;
    class->bytes += bytes_read + bytes_written;
    count_time(histogram, event->latency_ns);
    if (event->class == TRACE_READ) {
        tally->summary->hits += event->cached == 1;
        tally->summary->misses += event->cached == 0;
    }
    int64_t id = event->process;
    if (id > 0 && id <= trace_process_count(tally->reader)) {
        tally->processes[id].calls++;
        bool file = trace_file_info(tally->reader, event->file)->kind == TRACE_KIND_FILE;
        tally->processes[id].bytes_read += file ? bytes_read : 0;
        tally->processes[id].bytes_written += file ? bytes_written : 0;
        tally->processes[id].bytes_other += file ? 0 : bytes_read + bytes_written;
    }
    id = event->file;
    if (id > 0 && id <= trace_file_count(tally->reader)) {
        tally->files[id].calls++;
        tally->files[id].bytes_read += bytes_read;
        tally->files[id].bytes_written += bytes_written;
    }
}

static bool count_events(struct tally *tally, struct error *err)
{
    struct trace_event event;
    struct trace_filter filter = TRACE_ALL;
    filter.as_written = true; /* no order is needed, and none is made */
    struct trace_cursor *cursor = trace_events(tally->reader, &filter, err);
    while (trace_next_event(cursor, &event))
        count_event(tally, &event);
    for (int i = 0; i < TRACE_CLASSES; i++)
        tally->summary->classes[i].latency = times_of(&tally->histograms[i]);
    for (int i = 0; i < 2 * TRACE_KINDS; i++)
        tally->summary->others[i / TRACE_KINDS][i % TRACE_KINDS].latency =
            times_of(&tally->histograms[TRACE_CLASSES + i]);
    return trace_cursor_close(cursor, err);
}

/* ---- disks ---- */

static bool count_blocks(struct tally *tally, struct histogram *histograms, struct error *err)
{
    struct trace_summary *summary = tally->summary;
    struct trace_block block;
    struct trace_filter filter = TRACE_ALL;
    filter.as_written = true;
    int64_t all = trace_disk_count(tally->reader);
    struct trace_cursor *cursor = trace_blocks(tally->reader, &filter, err);
    while (trace_next_block(cursor, &block)) {
        int64_t id = block.disk > 0 && block.disk <= all ? block.disk : 0;
        struct trace_summary_request *request = &summary->disks[id].requests[block.op];
        request->count++;
        request->bytes += block.bytes > 0 ? block.bytes : 0;
        count_time(&histograms[id * TRACE_OPS + (int64_t)block.op], block.service_ns);
    }
    return trace_cursor_close(cursor, err);
}

/* Keeps the disks that had requests. */
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

static bool summarise_disks(struct tally *tally, struct error *err)
{
    int64_t all = trace_disk_count(tally->reader);
    struct histogram *histograms = calloc(TRACE_OPS * ((size_t)all + 1), sizeof *histograms);
    tally->summary->disks = calloc((size_t)all + 1, sizeof *tally->summary->disks);
    if (!histograms || !tally->summary->disks) {
        free(histograms);
        return error_memory(err);
    }
    bool done = count_blocks(tally, histograms, err);
    if (done)
        finish_disks(tally->summary, all, histograms);
    free(histograms);
    return done;
}

/* ---- series ---- */

/* Returns the entry of the kind of series `id`, which is added at the end if it is new. */
static struct trace_summary_series *kind_of(struct tally *tally, int64_t id)
{
    struct trace_summary *summary = tally->summary;
    const char *kind = trace_series_info(tally->reader, id)->kind;
    for (size_t i = 0; i < summary->series_count; i++)
        if (strcmp(summary->series[i].kind, kind) == 0)
            return &summary->series[i];
    struct trace_summary_series *series = &summary->series[summary->series_count++];
    *series = (struct trace_summary_series){.kind = kind};
    return series;
}

/* Sums by series: there are few kinds, but many samples. */
struct sums {
    int64_t values;
    double total, max;
};

static bool count_samples(struct tally *tally, struct sums *sums, struct error *err)
{
    struct trace_sample sample;
    struct trace_filter filter = TRACE_ALL;
    filter.as_written = true;
    struct trace_cursor *cursor = trace_samples(tally->reader, &filter, err);
    while (trace_next_sample(cursor, &sample)) {
        if (sample.series < 1 || sample.series > trace_series_count(tally->reader))
            continue;
        struct sums *sum = &sums[sample.series];
        sum->max = sum->values == 0 || sample.value > sum->max ? sample.value : sum->max;
        sum->total += sample.value;
        sum->values++;
    }
    return trace_cursor_close(cursor, err);
}

static bool summarise_series(struct tally *tally, struct error *err)
{
    int64_t all = trace_series_count(tally->reader);
    struct sums *sums = calloc((size_t)all + 1, sizeof *sums);
    tally->summary->series = calloc((size_t)all + 1, sizeof *tally->summary->series);
    tally->summary->series_count = 0;
    bool done = sums && tally->summary->series ? count_samples(tally, sums, err) : error_memory(err);
    for (int64_t id = 1; done && id <= all; id++) {
        if (sums[id].values == 0)
            continue;
        struct trace_summary_series *series = kind_of(tally, id);
        series->max = series->values == 0 || sums[id].max > series->max ? sums[id].max : series->max;
        series->values += sums[id].values;
        series->mean += sums[id].total; /* divided below */
        series->sources++;
    }
    for (size_t i = 0; done && i < tally->summary->series_count; i++)
        tally->summary->series[i].mean /= (double)tally->summary->series[i].values;
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

/* Returns the row that names a process: of its main thread, and of the program it executed last. A program
 * that it executes again has its earlier row. */
static int64_t later_name(const struct trace_reader *reader, int64_t a, int64_t b)
{
    const struct trace_process_info *x = trace_process_info(reader, a), *y = trace_process_info(reader, b);
    bool x_leads = x->tid == x->pid, y_leads = y->tid == y->pid;
    if (x_leads != y_leads)
        return x_leads ? a : b;
    return y_leads && y->start_ns >= x->start_ns ? b : a;
}

/* Merges threads and names of one process into one entry; returns the number of processes. */
static size_t merge_processes(struct tally *tally)
{
    struct trace_summary_process *processes = tally->processes + 1;
    size_t all = (size_t)trace_process_count(tally->reader), count = 0;
    for (size_t i = 0; i < all; i++) {
        processes[i].id = (int64_t)i + 1;
        processes[i].pid = trace_process_info(tally->reader, (int64_t)i + 1)->pid;
        processes[i].threads = 1;
    }
    qsort(processes, all, sizeof *processes, by_pid);
    for (size_t i = 0; i < all; i++) {
        struct trace_summary_process *to = count > 0 ? &processes[count - 1] : NULL;
        if (to && to->pid == processes[i].pid) {
            to->id = later_name(tally->reader, to->id, processes[i].id);
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

static void list_top(struct tally *tally)
{
    struct trace_summary *summary = tally->summary;
    size_t all = (size_t)trace_file_count(tally->reader);
    summary->processes = (int64_t)merge_processes(tally);
    for (size_t i = 1; i <= all; i++) {
        struct trace_summary_file *file = &tally->files[i];
        file->file = (int64_t)i;
        file->is_file =
            file->calls > 0 && trace_file_info(tally->reader, file->file)->kind == TRACE_KIND_FILE;
        if (trace_is_selected(tally->reader, file->file))
            trace_file_info(tally->reader, file->file)->kind == TRACE_KIND_FILE ? summary->files++
                                                                                : summary->no_files++;
    }
    qsort(tally->files + 1, all, sizeof *tally->files, files_by_bytes);
    while (summary->process_count < TRACE_SUMMARY_LISTED &&
           (int64_t)summary->process_count < summary->processes) {
        struct trace_summary_process *top = &summary->top_processes[summary->process_count++];
        *top = tally->processes[summary->process_count];
        top->name = trace_process_info(tally->reader, top->id)->name;
    }
    while (summary->file_count < TRACE_SUMMARY_LISTED && summary->file_count < all &&
           tally->files[1 + summary->file_count].calls > 0) {
        struct trace_summary_file *top = &summary->top_files[summary->file_count++];
        *top = tally->files[summary->file_count];
        top->path = trace_file_info(tally->reader, top->file)->path;
        top->kind = trace_kind_name(trace_file_info(tally->reader, top->file)->kind);
    }
}

bool trace_summary_read(struct trace_reader *reader, struct trace_summary *summary, struct error *err)
{
    *summary = (struct trace_summary){.first_ns = TRACE_NONE, .last_ns = TRACE_NONE};
    struct tally tally = {
        .reader = reader,
        .summary = summary,
        .histograms = calloc(TRACE_CLASSES + 2 * TRACE_KINDS, sizeof(struct histogram)),
        .processes = calloc((size_t)trace_process_count(reader) + 1, sizeof *tally.processes),
        .files = calloc((size_t)trace_file_count(reader) + 1, sizeof *tally.files),
    };
    bool memory = tally.histograms && tally.processes && tally.files;
    bool done =
        memory ? count_events(&tally, err) && summarise_disks(&tally, err) && summarise_series(&tally, err)
               : error_memory(err);
    done = done && trace_span(reader, &summary->first_ns, &summary->last_ns, err);
    if (done)
        list_top(&tally);
    free(tally.histograms);
    free(tally.processes);
    free(tally.files);
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
