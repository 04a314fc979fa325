/* The study's processed layout, from which its plots are drawn. */
#include "core/text.h"
#include "trace/export/export.h"

#include "core/file.h"
#include "trace/export/file.h"
#include "trace/export/study.h"

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

/* The scripts drop files that look like logs: names that begin with "0" or contain ".log". */
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
    while (trace_next_event(cursor, &event))
        if (study_keeps_event(study, &event))
            write_event(study, file.out, &event);
    bool done = trace_cursor_close(cursor, err);
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
    while (trace_next_block(cursor, &block)) {
        const struct trace_process_info *process = trace_process_info(study->reader, block.process);
        if (!study_keeps_block(study, &block))
            continue;
        export_time(file.out, study_block_end(&block), 9);
        fprintf(file.out, " %lld %s %s %c %lld %lld %lld\n", (long long)known(process->pid), process->name,
                trace_disk_name(study->reader, block.disk), block.op == TRACE_OP_WRITE ? 'W' : 'R',
                (long long)known(block.bytes), (long long)known(block.sector),
                (long long)known(block.service_ns));
    }
    bool done = trace_cursor_close(cursor, err);
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

/* The columns of a table of series: the kinds that begin with `prefix`, in the order of their ids. */
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

/* Writes the fewest digits that read back the same, as Python prints a float. */
static void write_float(FILE *out, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back;
        if (text_real(text, &back) && back == value)
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

/* The average of all GPUs at one moment, of those with a process and those without. */
struct average {
    int gpus; /* the highest number, and one */
    int64_t time_ns;
    double sum[3];
};

struct table {
    FILE *out;
    struct columns columns;
    struct average average; /* of gpu_avg.csv */
};

/* A file of samples. */
struct table_file {
    const char *name;
    const char *prefix; /* of the kinds of series in it */
    const char *head;   /* the beginning of its first line; NULL: it has none */
    const char *column; /* in front of the name of each column there; NULL: they are not named */
    bool from_start;    /* also holds samples from before INIT */
    bool may_lack;      /* it is not written without a column */
    void (*write)(struct table *table, const struct line *line);
};

/* Hands over the samples of a file line by line; samples of one line were written one after the other. */
static bool each_line(const struct study *study, const struct table_file *file, struct table *table,
                      struct error *err)
{
    struct trace_sample sample;
    struct trace_filter filter = export_filter(study->options);
    struct line line = {.source = NULL};
    filter.as_written = true;
    struct trace_cursor *cursor = trace_samples(study->reader, &filter, err);
    while (trace_next_sample(cursor, &sample)) {
        const struct trace_series_info *series = trace_series_info(study->reader, sample.series);
        if (!text_starts_with(series->kind, file->prefix) ||
            (!file->from_start && sample.time_ns < study->init_ns))
            continue;
        if (line.source && (line.time_ns != sample.time_ns || strcmp(line.source, series->source) != 0)) {
            file->write(table, &line);
            line = (struct line){.source = NULL};
        }
        line.time_ns = sample.time_ns;
        line.source = series->source;
        for (int i = 0; i < table->columns.count; i++)
            if (strcmp(table->columns.names[i], series->kind + strlen(file->prefix)) == 0)
                line.values[i] = sample.value;
    }
    if (line.source)
        file->write(table, &line);
    return trace_cursor_close(cursor, err);
}

static void write_cpu(struct table *table, const struct line *line, const char *between)
{
    if (strcmp(line->source, "all") != 0)
        return;
    export_time(table->out, line->time_ns, 0);
    for (int i = 0; i < table->columns.count; i++)
        fprintf(table->out, "%s%.2f", between, line->values[i]);
    putc('\n', table->out);
}

static void write_cpu_out(struct table *table, const struct line *line)
{
    write_cpu(table, line, " ");
}

static void write_cpu_csv(struct table *table, const struct line *line)
{
    write_cpu(table, line, ",");
}

static void write_disk(struct table *table, const struct line *line)
{
    export_time(table->out, line->time_ns, 0);
    fprintf(table->out, ",%s", line->source);
    for (int i = 0; i < table->columns.count; i++) {
        putc(',', table->out);
        write_float(table->out, line->values[i]);
    }
    putc('\n', table->out);
}

/* "GPU PID COMMAND" is the source of a process on a GPU; a GPU alone was idle. */
static void write_gpu(struct table *table, const struct line *line)
{
    int gpu, pid, command = 0;
    if (sscanf(line->source, "%d %d %n", &gpu, &pid, &command) < 2 || command == 0)
        return;
    export_time(table->out, line->time_ns, 0);
    fprintf(table->out, " %d %d C", gpu, pid);
    for (int i = 0; i < table->columns.count; i++)
        fprintf(table->out, " %.0f", line->values[i]);
    fprintf(table->out, " %s\n", line->source + command);
}

static void write_average(struct table *table)
{
    struct average *average = &table->average;
    if (average->time_ns == TRACE_NONE)
        return;
    export_time(table->out, average->time_ns, 0);
    for (int i = 0; i < 3; i++) {
        putc(',', table->out);
        write_float(table->out, average->sum[i] / average->gpus);
        average->sum[i] = 0;
    }
    putc('\n', table->out);
}

static void sum_gpu(struct table *table, const struct line *line)
{
    static const char *const wanted[3] = {"sm", "mem", "fb"};
    struct average *average = &table->average;
    if (!strchr(line->source, ' '))
        return;
    if (average->time_ns != line->time_ns)
        write_average(table);
    average->time_ns = line->time_ns;
    for (int i = 0; i < table->columns.count; i++)
        for (int k = 0; k < 3; k++)
            if (strcmp(table->columns.names[i], wanted[k]) == 0)
                average->sum[k] += line->values[i];
}

static int count_gpus(const struct study *study)
{
    int gpus = 1;
    for (int64_t id = 1; id <= trace_series_count(study->reader); id++) {
        const struct trace_series_info *series = trace_series_info(study->reader, id);
        int64_t gpu = 0;
        if (text_starts_with(series->kind, "gpu.") && text_whole(series->source, " ", &gpu))
            gpus = gpu >= gpus && gpu < 4096 ? (int)gpu + 1 : gpus;
    }
    return gpus;
}

static bool write_table(const struct study *study, const struct table_file *file, struct error *err)
{
    struct file_output output;
    struct table table = {.average = {.gpus = count_gpus(study), .time_ns = TRACE_NONE}};
    find_columns(study, file->prefix, &table.columns);
    if (table.columns.count == 0 && file->may_lack)
        return true;
    if (!study_open(study, &output, file->name, err))
        return false;
    table.out = output.out;
    if (file->head)
        fputs(file->head, output.out);
    for (int i = 0; file->column && i < table.columns.count; i++)
        fprintf(output.out, "%s%s", file->column, table.columns.names[i]);
    if (file->head)
        putc('\n', output.out);
    bool done = each_line(study, file, &table, err);
    write_average(&table);
    return file_output_close(&output, done, err);
}

/* The scripts do not cut the table of disks at INIT. */
static bool write_tables(const struct study *study, struct error *err)
{
    static const struct table_file files[] = {
        {"cpu.out", "cpu.", NULL, NULL, false, false, write_cpu_out},
        {"timeline/cpu_all.csv", "cpu.", "timestamp", ",%", false, false, write_cpu_csv},
        {"timeline/iostat.csv", "disk.", "timestamp,disk_device", ",", true, true, write_disk},
        {"gpu.out", "gpu.", NULL, NULL, false, false, write_gpu},
        {"timeline/gpu_avg.csv", "gpu.", "timestamp,sm,mem,fb", NULL, false, false, sum_gpu},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!write_table(study, &files[i], err))
            return false;
    return true;
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
           study_write_workers(&study, err) && write_phases(&study, err) && write_tables(&study, err);
}
