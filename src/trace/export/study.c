/* The study's processed layout, from which its plots are drawn. */
#include "core/text.h"
#include "trace/export/export.h"

#include "core/file.h"
#include "trace/export/file.h"
#include "trace/export/study.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS 64

bool study_open(const struct study *study, struct file_output *file, const char *name, struct error *err)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", study->folder, name) >= (int)sizeof path)
        return error_set(err, ERROR_USAGE, "'%s': the name is too long", study->folder);
    return file_output_open(file, path, err);
}

static int64_t known(int64_t value)
{
    return value == TRACE_NONE ? 0 : value;
}

/* Modulo 2^64: a store may hold anything. */
static int64_t after(int64_t time_ns, int64_t delay_ns)
{
    return (int64_t)((uint64_t)time_ns + (uint64_t)known(delay_ns));
}

int64_t study_event_end(const struct trace_event *event)
{
    return after(event->start_ns, event->latency_ns);
}

int64_t study_issued(const struct trace_block *block)
{
    return after(block->start_ns, block->queue_ns);
}

int64_t study_block_end(const struct trace_block *block)
{
    return after(study_issued(block), block->service_ns);
}

/* "PATH -> NAME" was stored where the two differ. */
static const char *name_of(const char *path)
{
    const char *arrow = strstr(path, " -> "), *slash = strrchr(path, '/');
    return arrow ? arrow + 4 : slash && slash[1] ? slash + 1 : path;
}

/* The scripts drop what they take for logs: names that begin with "0", and those with ".log" in them. */
static bool is_log(const char *name)
{
    return *name == '0' || strstr(name, ".log");
}

/* Results beyond 1e15 are failures that the tracer printed without their sign. */
bool study_keeps_event(const struct study *study, const struct trace_event *event)
{
    const char *path = trace_file_info(study->reader, event->file)->path;
    if (study_event_end(event) < study->init_ns)
        return false;
    switch (event->class) {
    case TRACE_READ:
        return event->result >= 0 || event->result == TRACE_NONE;
    case TRACE_WRITE:
        return !is_log(name_of(path));
    case TRACE_OPEN:
        return true;
    default:
        return false;
    }
}

bool study_keeps_block(const struct study *study, const struct trace_block *block)
{
    static const struct {
        const char *workload, *command;
    } commands[] = {{"unet3d", "python"},   {"dlrm", "python"},          {"bert", "python"},
                    {"bert", "horovodrun"}, {"bert", "run_pretraining"}, {"bert", "mpirun"},
                    {"dlio", "python"},     {"dlio", "horovodrun"},      {"dlio", "mpirun"}};
    const char *workload = study->options->workload, *disk = trace_disk_name(study->reader, block->disk);
    const char *name = trace_process_info(study->reader, block->process)->name;
    if (study_block_end(block) < study->init_ns || block->op > TRACE_OP_WRITE)
        return false;
    if (!workload)
        return true;
    if (strncmp(name, "kworker", 7) == 0)
        return strcmp(disk, "sdb") == 0 && block->op == TRACE_OP_WRITE;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(workload, commands[i].workload) == 0 && text_starts_with(name, commands[i].command))
            return true;
    return false;
}

/* "END PID OFFSET RESULT LATENCY NAME" of reads and writes, "END PID COMMAND LATENCY PATH NAME" of opens. */
static void write_event(const struct study *study, FILE *out, const struct trace_event *event)
{
    const struct trace_process_info *process = trace_process_info(study->reader, event->process);
    const char *path = trace_file_info(study->reader, event->file)->path, *arrow = strstr(path, " -> ");
    long long pid = (long long)known(process->pid), latency = (long long)known(event->latency_ns);
    const char *name = name_of(path);
    export_time(out, study_event_end(event), 9);
    if (event->class != TRACE_OPEN)
        fprintf(out, " %lld %lld %llu %lld%s%s\n", pid, (long long)known(event->offset),
                (unsigned long long)known(event->result), latency, *name ? " " : "", name);
    else if (event->result < 0 && event->result != TRACE_NONE)
        fprintf(out, " %lld %s %lld %s\n", pid, process->name, latency, path);
    else
        fprintf(out, " %lld %s %lld %.*s %s\n", pid, process->name, latency,
                (int)(arrow ? (size_t)(arrow - path) : strlen(path)), path, name);
}

static bool write_events(const struct study *study, const char *name, enum trace_class class,
                         struct error *err)
{
    struct file_output file;
    struct trace_event event;
    struct trace_filter filter = export_filter(study->options);
    filter.which = (int64_t) class;
    filter.as_written = true;
    if (!study_open(study, &file, name, err))
        return false;
    struct trace_cursor *cursor = trace_events(study->reader, &filter, err);
    while (cursor && trace_next_event(cursor, &event))
        if (study_keeps_event(study, &event))
            write_event(study, file.out, &event);
    bool done = cursor && trace_cursor_close(cursor, err);
    return file_output_close(&file, done, err);
}

/* "END PID COMMAND DISK R|W BYTES SECTOR LATENCY" */
static bool write_blocks(const struct study *study, struct error *err)
{
    struct file_output file;
    struct trace_block block;
    struct trace_filter filter = export_filter(study->options);
    filter.as_written = true;
    if (!study_open(study, &file, "bio.out", err))
        return false;
    struct trace_cursor *cursor = trace_blocks(study->reader, &filter, err);
    while (cursor && trace_next_block(cursor, &block)) {
        const struct trace_process_info *process = trace_process_info(study->reader, block.process);
        if (!study_keeps_block(study, &block))
            continue;
        export_time(file.out, study_block_end(&block), 9);
        fprintf(file.out, " %lld %s %s %c %lld %lld %lld\n", (long long)known(process->pid), process->name,
                trace_disk_name(study->reader, block.disk), block.op == TRACE_OP_WRITE ? 'W' : 'R',
                (long long)known(block.bytes), (long long)known(block.sector),
                (long long)known(block.service_ns));
    }
    bool done = cursor && trace_cursor_close(cursor, err);
    return file_output_close(&file, done, err);
}

static bool write_phases(const struct study *study, struct error *err)
{
    struct file_output file;
    int count;
    const struct trace_phase *phases = trace_phases(study->reader, &count);
    if (!study_open(study, &file, "timeline/timeline.csv", err))
        return false;
    for (int i = 0; i < count; i++) {
        int digits = strcmp(phases[i].source, "mllog") == 0 ? 3 : 6;
        if (study->options->overlook && strcmp(phases[i].source, "dlio") == 0 &&
            strcmp(phases[i].name, "CHECKPOINT") == 0)
            continue;
        export_time(file.out, phases[i].start_ns, digits);
        putc(',', file.out);
        export_time(file.out, phases[i].end_ns, digits);
        fprintf(file.out, ",%s\n", phases[i].name);
    }
    return file_output_close(&file, true, err);
}

/* The columns of a table of series: those whose kind begins with `prefix`, in the order they came in. */
struct columns {
    int count;
    const char *names[COLUMNS];
};

static void find_columns(const struct study *study, const char *prefix, struct columns *columns)
{
    columns->count = 0;
    for (int64_t id = 1; id <= trace_series_count(study->reader); id++) {
        const char *kind = trace_series_info(study->reader, id)->kind;
        bool there = !text_starts_with(kind, prefix) || columns->count == COLUMNS;
        for (int i = 0; i < columns->count && !there; i++)
            there = strcmp(columns->names[i], kind + strlen(prefix)) == 0;
        if (!there)
            columns->names[columns->count++] = kind + strlen(prefix);
    }
}

/* The fewest digits that read back the same, as Python prints a float. */
static void write_float(FILE *out, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fprintf(out, "%s%s", text, strpbrk(text, ".en") ? "" : ".0");
}

/* A row of samples of one source and time. */
struct line {
    int64_t time_ns;
    const char *source;
    double values[COLUMNS];
};

typedef void write_line(const struct study *study, FILE *out, const struct columns *columns,
                        const struct line *line, void *context);

/* Hands over the samples of `prefix` line by line; samples of one line were written one after the other. */
static bool each_line(const struct study *study, const char *prefix, const struct columns *columns,
                      bool from_init, write_line *write, FILE *out, void *context, struct error *err)
{
    struct trace_sample sample;
    struct trace_filter filter = export_filter(study->options);
    struct line line = {.source = NULL};
    filter.as_written = true;
    struct trace_cursor *cursor = trace_samples(study->reader, &filter, err);
    if (!cursor)
        return false;
    while (trace_next_sample(cursor, &sample)) {
        const struct trace_series_info *series = trace_series_info(study->reader, sample.series);
        if (strncmp(series->kind, prefix, strlen(prefix)) != 0 ||
            (from_init && sample.time_ns < study->init_ns))
            continue;
        if (line.source && (line.time_ns != sample.time_ns || strcmp(line.source, series->source) != 0)) {
            write(study, out, columns, &line, context);
            line = (struct line){.source = NULL};
        }
        line.time_ns = sample.time_ns;
        line.source = series->source;
        for (int i = 0; i < columns->count; i++)
            if (strcmp(columns->names[i], series->kind + strlen(prefix)) == 0)
                line.values[i] = sample.value;
    }
    if (line.source)
        write(study, out, columns, &line, context);
    return trace_cursor_close(cursor, err);
}

static void write_cpu_line(const struct study *study, FILE *out, const struct columns *columns,
                           const struct line *line, void *context)
{
    const char *between = context;
    (void)study;
    if (strcmp(line->source, "all") != 0)
        return;
    export_time(out, line->time_ns, 0);
    for (int i = 0; i < columns->count; i++)
        fprintf(out, "%s%.2f", between, line->values[i]);
    putc('\n', out);
}

static bool write_cpu(const struct study *study, struct error *err)
{
    struct file_output file;
    struct columns columns;
    find_columns(study, "cpu.", &columns);
    if (!study_open(study, &file, "cpu.out", err))
        return false;
    bool done = each_line(study, "cpu.", &columns, true, write_cpu_line, file.out, " ", err);
    if (!file_output_close(&file, done, err) || !study_open(study, &file, "timeline/cpu_all.csv", err))
        return false;
    fputs("timestamp", file.out);
    for (int i = 0; i < columns.count; i++)
        fprintf(file.out, ",%%%s", columns.names[i]);
    putc('\n', file.out);
    done = each_line(study, "cpu.", &columns, true, write_cpu_line, file.out, ",", err);
    return file_output_close(&file, done, err);
}

static void write_disk_line(const struct study *study, FILE *out, const struct columns *columns,
                            const struct line *line, void *context)
{
    (void)study;
    (void)context;
    export_time(out, line->time_ns, 0);
    fprintf(out, ",%s", line->source);
    for (int i = 0; i < columns->count; i++) {
        putc(',', out);
        write_float(out, line->values[i]);
    }
    putc('\n', out);
}

/* The scripts do not cut this one at INIT. */
static bool write_disks(const struct study *study, struct error *err)
{
    struct file_output file;
    struct columns columns;
    find_columns(study, "disk.", &columns);
    if (columns.count == 0)
        return true;
    if (!study_open(study, &file, "timeline/iostat.csv", err))
        return false;
    fputs("timestamp,disk_device", file.out);
    for (int i = 0; i < columns.count; i++)
        fprintf(file.out, ",%s", columns.names[i]);
    putc('\n', file.out);
    bool done = each_line(study, "disk.", &columns, false, write_disk_line, file.out, NULL, err);
    return file_output_close(&file, done, err);
}

/* "GPU PID COMMAND" is the source of a process on a GPU; a GPU alone was idle. */
static void write_gpu_line(const struct study *study, FILE *out, const struct columns *columns,
                           const struct line *line, void *context)
{
    int gpu, pid, command = 0;
    (void)study;
    (void)context;
    if (sscanf(line->source, "%d %d %n", &gpu, &pid, &command) < 2 || command == 0)
        return;
    export_time(out, line->time_ns, 0);
    fprintf(out, " %d %d C", gpu, pid);
    for (int i = 0; i < columns->count; i++)
        fprintf(out, " %.0f", line->values[i]);
    fprintf(out, " %s\n", line->source + command);
}

/* The average of all GPUs at one moment, of those with a process and those without. */
struct average {
    int gpus; /* the highest number, and one */
    int64_t time_ns;
    double sum[3];
};

static void write_average(FILE *out, const struct average *average)
{
    export_time(out, average->time_ns, 0);
    for (int i = 0; i < 3; i++) {
        putc(',', out);
        write_float(out, average->sum[i] / average->gpus);
    }
    putc('\n', out);
}

static void sum_gpu_line(const struct study *study, FILE *out, const struct columns *columns,
                         const struct line *line, void *context)
{
    static const char *const wanted[3] = {"sm", "mem", "fb"};
    struct average *average = context;
    (void)study;
    if (!strchr(line->source, ' '))
        return;
    if (average->time_ns != TRACE_NONE && average->time_ns != line->time_ns) {
        write_average(out, average);
        memset(average->sum, 0, sizeof average->sum);
    }
    average->time_ns = line->time_ns;
    for (int i = 0; i < columns->count; i++)
        for (int k = 0; k < 3; k++)
            if (strcmp(columns->names[i], wanted[k]) == 0)
                average->sum[k] += line->values[i];
}

static bool write_gpu(const struct study *study, struct error *err)
{
    struct file_output file;
    struct columns columns;
    struct average average = {.gpus = 1, .time_ns = TRACE_NONE};
    find_columns(study, "gpu.", &columns);
    for (int64_t id = 1; id <= trace_series_count(study->reader); id++) {
        const struct trace_series_info *series = trace_series_info(study->reader, id);
        int gpu = strncmp(series->kind, "gpu.", 4) == 0 ? atoi(series->source) : 0;
        average.gpus = gpu >= average.gpus && gpu < 4096 ? gpu + 1 : average.gpus;
    }
    if (!study_open(study, &file, "gpu.out", err))
        return false;
    bool done = each_line(study, "gpu.", &columns, true, write_gpu_line, file.out, NULL, err);
    if (!file_output_close(&file, done, err) || !study_open(study, &file, "timeline/gpu_avg.csv", err))
        return false;
    fputs("timestamp,sm,mem,fb\n", file.out);
    done = each_line(study, "gpu.", &columns, true, sum_gpu_line, file.out, &average, err);
    if (average.time_ns != TRACE_NONE)
        write_average(file.out, &average);
    return file_output_close(&file, done, err);
}

static bool make_folders(const char *folder, struct error *err)
{
    static const char *const below[] = {"", "/timeline", "/timeline/pid"};
    char path[4096];
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        if (snprintf(path, sizeof path, "%s%s", folder, below[i]) >= (int)sizeof path)
            return error_set(err, ERROR_USAGE, "'%s': the name is too long", folder);
        if (!file_make_directory(path, err))
            return false;
    }
    return true;
}

bool trace_export_study(struct trace_reader *reader, const char *folder,
                        const struct trace_export_options *options, struct error *err)
{
    struct study study = {.reader = reader, .options = options, .folder = folder, .init_ns = INT64_MIN};
    int count;
    const struct trace_phase *phases = trace_phases(reader, &count);
    for (int i = count - 1; i >= 0; i--)
        if (strcmp(phases[i].name, "INIT") == 0)
            study.init_ns = phases[i].start_ns;
    return make_folders(folder, err) && write_events(&study, "read.out", TRACE_READ, err) &&
           write_events(&study, "write.out", TRACE_WRITE, err) &&
           write_events(&study, "openat.out", TRACE_OPEN, err) && write_blocks(&study, err) &&
           study_write_workers(&study, err) && write_phases(&study, err) && write_cpu(&study, err) &&
           write_disks(&study, err) && write_gpu(&study, err);
}
