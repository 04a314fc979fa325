/* What a trace holds: by class, by file, by process, by disk; phases; who recorded it. */
#include "feed/histogram.h"
#include "figure/report_parts.h"
#include "figure/trace_timeline.h"
#include "trace/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP_FILES     15
#define TOP_PROCESSES 10
#define MOST_PHASES   100

struct class_sum {
    int64_t calls, failed, bytes, time_ns;
    struct histogram latency;
};

struct disk_sum {
    int64_t requests, bytes;
    struct histogram queue, service;
};

/* Of one file or process, by its id. */
struct place_sum {
    int64_t id, calls, read, written;
};

struct summary {
    struct trace_reader *reader;
    struct class_sum classes[TRACE_CLASSES];
    struct disk_sum disks[TRACE_OPS];
    struct place_sum *files, *processes; /* [id]; id 0: not known */
    int64_t file_count, process_count;
    int64_t hits, misses;
    int64_t events, blocks;
    int64_t first_ns, last_ns;
};

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* ---- adding up ---- */

static void add_place(struct place_sum *places, int64_t count, int64_t id, const struct trace_event *event,
                      int64_t bytes)
{
    if (id < 0 || id > count)
        return;
    places[id].calls++;
    places[id].read += event->class == TRACE_READ ? bytes : 0;
    places[id].written += event->class == TRACE_WRITE ? bytes : 0;
}

static void add_event(struct summary *summary, const struct trace_event *event)
{
    struct class_sum *sum = &summary->classes[event->class];
    bool moves = event->class == TRACE_READ || event->class == TRACE_WRITE;
    int64_t bytes = moves && event->result > 0 ? event->result : 0;
    sum->calls++;
    sum->failed += event->result < 0 && event->result != TRACE_NONE;
    sum->bytes += bytes;
    if (event->latency_ns != TRACE_NONE) {
        histogram_add(&sum->latency, event->latency_ns);
        sum->time_ns += event->latency_ns;
    }
    summary->hits += event->class == TRACE_READ && event->cached == 1;
    summary->misses += event->class == TRACE_READ && event->cached == 0;
    summary->events++;
    add_place(summary->files, summary->file_count, event->file, event, bytes);
    add_place(summary->processes, summary->process_count, event->process, event, bytes);
}

static bool add_events(struct summary *summary, struct error *err)
{
    struct trace_filter all = TRACE_ALL;
    struct trace_event event;
    all.as_written = true;
    struct trace_cursor *cursor = trace_events(summary->reader, &all, err);
    if (!cursor)
        return false;
    while (trace_next_event(cursor, &event))
        if ((int)event.class >= 0 && event.class < TRACE_CLASSES)
            add_event(summary, &event);
    return trace_cursor_close(cursor, err);
}

static bool add_blocks(struct summary *summary, struct error *err)
{
    struct trace_filter all = TRACE_ALL;
    struct trace_block block;
    all.as_written = true;
    struct trace_cursor *cursor = trace_blocks(summary->reader, &all, err);
    if (!cursor)
        return false;
    while (trace_next_block(cursor, &block)) {
        if ((int)block.op < 0 || block.op >= TRACE_OPS)
            continue;
        struct disk_sum *sum = &summary->disks[block.op];
        summary->blocks++;
        sum->requests++;
        sum->bytes += block.bytes > 0 ? block.bytes : 0;
        if (block.queue_ns != TRACE_NONE)
            histogram_add(&sum->queue, block.queue_ns);
        if (block.service_ns != TRACE_NONE)
            histogram_add(&sum->service, block.service_ns);
    }
    return trace_cursor_close(cursor, err);
}

static int compare_places(const void *x, const void *y)
{
    const struct place_sum *a = x, *b = y;
    int64_t moved_a = a->read + a->written, moved_b = b->read + b->written;
    if (moved_a != moved_b)
        return moved_a < moved_b ? 1 : -1;
    if (a->calls != b->calls)
        return a->calls < b->calls ? 1 : -1;
    return (a->id > b->id) - (a->id < b->id);
}

static struct place_sum *make_places(int64_t count)
{
    struct place_sum *places = calloc((size_t)count + 1, sizeof *places);
    for (int64_t i = 0; places && i <= count; i++)
        places[i].id = i;
    return places;
}

static bool sum_up(struct summary *summary, struct error *err)
{
    summary->file_count = trace_file_count(summary->reader);
    summary->process_count = trace_process_count(summary->reader);
    summary->files = make_places(summary->file_count);
    summary->processes = make_places(summary->process_count);
    if (!summary->files || !summary->processes)
        return error_memory(err);
    if (!add_events(summary, err) || !add_blocks(summary, err))
        return false;
    qsort(summary->files, (size_t)summary->file_count + 1, sizeof *summary->files, compare_places);
    qsort(summary->processes, (size_t)summary->process_count + 1, sizeof *summary->processes, compare_places);
    return true;
}

/* ---- writing ---- */

static void add_head(const struct summary *summary, struct text *out)
{
    const struct class_sum *read = &summary->classes[TRACE_READ], *write = &summary->classes[TRACE_WRITE];
    const char *command = trace_meta(summary->reader, "command"), *host = trace_meta(summary->reader, "host");
    const char *kernel = trace_meta(summary->reader, "kernel");
    int64_t lost = trace_lost(summary->reader), known = summary->hits + summary->misses;
    char grouped[48];
    if (command)
        html_element(out, "p", NULL, "%s", command);
    if (host || kernel)
        html_element(out, "p", "soft", "On %s%s%s.", host ? host : "a host of no name",
                     kernel ? ", kernel " : "", kernel ? kernel : "");
    html_facts(out);
    html_fact_quantity(out, "length", seconds(summary->last_ns - summary->first_ns), UNIT_TIME, 4);
    html_fact(out, "events", "%s", html_grouped(grouped, (double)summary->events));
    html_fact(out, "lost", "%s", html_grouped(grouped, (double)lost));
    html_fact_quantity(out, "read", (double)read->bytes, UNIT_BYTES, 3);
    html_fact_quantity(out, "written", (double)write->bytes, UNIT_BYTES, 3);
    if (known > 0)
        html_fact_share(out, "reads from the page cache", (double)summary->hits / (double)known);
    html_fact(out, "files", "%s", html_grouped(grouped, (double)summary->file_count));
    html_fact(out, "requests to disks", "%s", html_grouped(grouped, (double)summary->blocks));
    html_facts_end(out);
    if (lost > 0)
        html_element(out, "p", "bad", "%s events were lost when it was recorded: what follows is too little.",
                     html_grouped(grouped, (double)lost));
}

static void add_percentile(struct text *out, const struct histogram *histogram, double percent)
{
    html_quantity(out, histogram->count > 0 ? histogram_percentile(histogram, percent) / 1e9 : NAN, UNIT_TIME,
                  3);
}

static void add_classes(const struct summary *summary, struct text *out)
{
    static const char *const titles[] = {"<class", ">calls", ">failed", ">bytes",    ">p50",
                                         ">p90",   ">p99",   ">most",   ">together", NULL};
    html_table(out, "Calls, and how long they took", titles);
    for (int class = 0; class < TRACE_CLASSES; class ++) {
        const struct class_sum *sum = &summary->classes[class];
        bool moves = class == TRACE_READ || class == TRACE_WRITE, timed = sum->latency.count > 0;
        if (sum->calls == 0)
            continue;
        html_row(out);
        html_row_head(out, trace_class_name((enum trace_class) class));
        html_number(out, (double)sum->calls, 0);
        html_number(out, (double)sum->failed, 0);
        html_quantity(out, moves ? (double)sum->bytes : NAN, UNIT_BYTES, 3);
        add_percentile(out, &sum->latency, 50);
        add_percentile(out, &sum->latency, 90);
        add_percentile(out, &sum->latency, 99);
        html_quantity(out, timed ? seconds(sum->latency.most) : NAN, UNIT_TIME, 3);
        html_quantity(out, timed ? seconds(sum->time_ns) : NAN, UNIT_TIME, 3);
        html_row_end(out);
    }
    html_table_end(out);
}

static void add_disks(const struct summary *summary, struct text *out)
{
    static const char *const names[TRACE_OPS] = {"read", "write", "discard", "flush"};
    static const char *const titles[] = {"<request",   ">number",      ">bytes",       ">queue p50",
                                         ">queue p99", ">service p50", ">service p99", NULL};
    if (summary->blocks == 0)
        return;
    html_table(out, "Requests to disks", titles);
    for (int op = 0; op < TRACE_OPS; op++) {
        const struct disk_sum *sum = &summary->disks[op];
        if (sum->requests == 0)
            continue;
        html_row(out);
        html_row_head(out, names[op]);
        html_number(out, (double)sum->requests, 0);
        html_quantity(out, (double)sum->bytes, UNIT_BYTES, 3);
        add_percentile(out, &sum->queue, 50);
        add_percentile(out, &sum->queue, 99);
        add_percentile(out, &sum->service, 50);
        add_percentile(out, &sum->service, 99);
        html_row_end(out);
    }
    html_table_end(out);
}

static void add_phases(const struct summary *summary, struct text *out)
{
    static const char *const titles[] = {"<phase", ">from", ">to", ">length", "<known from", NULL};
    int count;
    const struct trace_phase *phases = trace_phases(summary->reader, &count);
    if (count == 0)
        return;
    html_table(out, "Phases, since the beginning", titles);
    for (int i = 0; i < count && i < MOST_PHASES; i++) {
        html_row(out);
        html_row_head(out, phases[i].name);
        html_quantity(out, seconds(phases[i].start_ns - summary->first_ns), UNIT_TIME, 4);
        html_quantity(out, seconds(phases[i].end_ns - summary->first_ns), UNIT_TIME, 4);
        html_quantity(out, seconds(phases[i].end_ns - phases[i].start_ns), UNIT_TIME, 4);
        html_cell(out, phases[i].source);
        html_row_end(out);
    }
    html_table_end(out);
    if (count > MOST_PHASES)
        html_element(out, "p", "soft", "And %d more phases in the file.", count - MOST_PHASES);
}

static void add_place_row(const struct place_sum *sum, const char *name, struct text *out)
{
    html_row(out);
    html_row_head(out, name);
    html_quantity(out, (double)sum->read, UNIT_BYTES, 3);
    html_quantity(out, (double)sum->written, UNIT_BYTES, 3);
    html_number(out, (double)sum->calls, 0);
    html_row_end(out);
}

static void add_files(const struct summary *summary, struct text *out)
{
    static const char *const titles[] = {"<file", ">read", ">written", ">calls", NULL};
    int64_t count = summary->file_count < TOP_FILES ? summary->file_count + 1 : TOP_FILES;
    html_table(out, "Files with the most bytes", titles);
    for (int64_t i = 0; i < count && summary->files[i].read + summary->files[i].written > 0; i++) {
        int64_t id = summary->files[i].id;
        add_place_row(&summary->files[i], id > 0 ? trace_file_info(summary->reader, id)->path : "(not known)",
                      out);
    }
    html_table_end(out);
}

static void add_processes(const struct summary *summary, struct text *out)
{
    static const char *const titles[] = {"<process or thread", ">read", ">written", ">calls", NULL};
    int64_t count = summary->process_count < TOP_PROCESSES ? summary->process_count + 1 : TOP_PROCESSES;
    html_table(out, "Threads with the most bytes", titles);
    for (int64_t i = 0; i < count && summary->processes[i].calls > 0; i++) {
        int64_t id = summary->processes[i].id;
        const struct trace_process_info *info = trace_process_info(summary->reader, id);
        char name[160] = "(not known)";
        if (id > 0 && info->tid != TRACE_NONE)
            snprintf(name, sizeof name, "%.80s, %" PRId64 " of %" PRId64, info->name, info->tid, info->pid);
        else if (id > 0)
            snprintf(name, sizeof name, "%.80s, %" PRId64, info->name, info->pid);
        add_place_row(&summary->processes[i], name, out);
    }
    html_table_end(out);
}

static void say(const struct summary *summary, struct text *says)
{
    char length[48], read[48], grouped[48];
    text_format(
        says, "%s events in %s, %s read", html_grouped(grouped, (double)summary->events),
        unit_format(length, sizeof length, seconds(summary->last_ns - summary->first_ns), UNIT_TIME, 3),
        unit_format(read, sizeof read, (double)summary->classes[TRACE_READ].bytes, UNIT_BYTES, 3));
    if (trace_lost(summary->reader) > 0)
        text_format(says, ", %s lost", html_grouped(grouped, (double)trace_lost(summary->reader)));
}

static bool draw_timeline(const char *path, const void *context, struct error *err)
{
    const struct figure_timeline options = {.style = &figure_screen,
                                            .title = "",
                                            .zoom = {.from = NAN, .to = NAN},
                                            .grouping = TRACE_ALL_WORKERS,
                                            .rows = {true, true, true, true, true}};
    return figure_timeline(path, context, &options, err);
}

static bool write_summary(const struct summary *summary, struct report_part *part, struct error *err)
{
    say(summary, &part->says);
    add_head(summary, &part->out);
    if (!report_draw(
            part, draw_timeline, part->full, true,
            "Timeline: processors, GPUs, disks, calls and phases over time; the tables below have the sums.",
            err))
        return false;
    add_classes(summary, &part->out);
    add_disks(summary, &part->out);
    add_phases(summary, &part->out);
    add_files(summary, &part->out);
    add_processes(summary, &part->out);
    return true;
}

bool report_trace(struct report_part *part, struct error *err)
{
    struct summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        return error_memory(err);
    summary->reader = trace_reader_new(part->full, err);
    bool ok = summary->reader != NULL;
    if (ok && !trace_span(summary->reader, &summary->first_ns, &summary->last_ns))
        ok = error_set(err, ERROR_INPUT, "%s: an empty trace", part->path);
    ok = ok && sum_up(summary, err) && write_summary(summary, part, err);
    trace_reader_free(summary->reader);
    free(summary->files);
    free(summary->processes);
    free(summary);
    return ok;
}
