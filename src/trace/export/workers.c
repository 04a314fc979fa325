/* timeline/pid: rows "START,END,READ", one file for each lane of the study's plots. */
#include "core/statistics.h"
#include "core/vector.h"
#include "trace/export/study.h"

#include "core/file.h"
#include "trace/roles.h"

#include <stdlib.h>
#include <string.h>

/* A row; rows of one start are sorted by end and name. */
struct row {
    int64_t start_ns, end_ns;
    const char *name;
};

struct lane {
    struct file_output file;
    struct row *rows; /* of one start */
    size_t count, capacity;
};

/* How the processes are divided among files. */
struct division {
    const char *folder;
    bool loaders;       /* only where there are any */
    bool each, apart;   /* a file for each worker; loaders in files of their own */
    const char *worker; /* a file's name and title, before the worker's number if `each` */
    const char *worker_title, *loader, *loader_title;
};

static const struct division divisions[] = {
    {"all_combined", false, false, false, "combined", "All Workers", NULL, NULL},
    {"each_parent", false, true, false, "parent_", "Worker ", NULL, NULL},
    {"parents_combined_loaders_combined", true, false, true, "parents_0", "All Workers", "loaders_0",
     "All Dataloaders"},
    {"each_parent_and_their_loaders", true, true, true, "parent_", "Worker ", "loader_", "Loader "},
};

struct workers {
    const struct study *study;
    const struct division *division;
    struct roles roles;
    struct lane *lanes; /* of the workers, then of the loaders */
    int workers, count;
};

/* Marks the rows of the table of processes that have a kept call of this class; class -1: any. */
static bool mark_callers(bool *calls, const struct study *study, int64_t class, struct error *err)
{
    struct trace_event event;
    struct trace_filter filter = export_filter(study->options);
    filter.which = class;
    filter.as_written = true;
    struct trace_cursor *cursor = trace_events(study->reader, &filter, err);
    while (trace_next_event(cursor, &event))
        if (event.process > 0 && event.process <= trace_process_count(study->reader) &&
            study_keeps_event(study, &event))
            calls[event.process] = true;
    return trace_cursor_close(cursor, err);
}

/* Gets the pids of the marked rows, each once; returns their number. */
static int pids_of(const bool *calls, const struct trace_reader *reader, int64_t *pids)
{
    int count = 0, kept = 0;
    for (int64_t id = 1; id <= trace_process_count(reader); id++)
        if (calls[id])
            pids[count++] = trace_process_info(reader, id)->pid;
    qsort(pids, (size_t)count, sizeof *pids, order_int64s);
    for (int i = 0; i < count; i++)
        if (i == 0 || pids[i] != pids[i - 1])
            pids[kept++] = pids[i];
    return kept;
}

/* Finds the roles of the processes that read; if none reads, of all. */
static bool find_roles(struct roles *roles, const struct study *study, struct error *err)
{
    const struct roles_rules rules = {
        .reader = study->reader, .workload = study->options->workload, .turns = study->options->overlook};
    size_t processes = (size_t)trace_process_count(study->reader) + 1;
    bool *calls = calloc(processes, sizeof *calls);
    int64_t *pids = calloc(processes, sizeof *pids);
    int count = 0;
    bool done = calls && pids ? mark_callers(calls, study, TRACE_READ, err) : error_memory(err);
    if (done)
        count = pids_of(calls, study->reader, pids);
    if (done && count == 0) {
        done = mark_callers(calls, study, -1, err);
        count = done ? pids_of(calls, study->reader, pids) : 0;
    }
    done = done && roles_find(roles, &rules, pids, count, err);
    free(calls);
    free(pids);
    return done;
}

static bool add_row(struct lane *lane, struct row row, struct error *err)
{
    return VECTOR_ADD(lane->rows, lane->count, lane->capacity, row) || error_memory(err);
}

static int by_row(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void write_rows(struct lane *lane)
{
    if (lane->count > 1)
        qsort(lane->rows, lane->count, sizeof *lane->rows, by_row);
    for (size_t i = 0; i < lane->count; i++) {
        export_time(lane->file.out, lane->rows[i].start_ns, 9);
        putc(',', lane->file.out);
        export_time(lane->file.out, lane->rows[i].end_ns, 9);
        fprintf(lane->file.out, ",%s\n", lane->rows[i].name);
    }
    lane->count = 0;
}

/* Rows come by their start. */
static bool put_row(struct lane *lane, struct row row, struct error *err)
{
    if (lane->count && lane->rows[0].start_ns != row.start_ns)
        write_rows(lane);
    return add_row(lane, row, err);
}

static struct lane *lane_of(const struct workers *workers, const struct role *role)
{
    bool apart = workers->division->apart && role->loads;
    return &workers->lanes[(apart ? workers->workers : 0) + (workers->division->each ? role->worker : 0)];
}

static struct lane *lane_of_process(const struct workers *workers, int64_t process)
{
    int64_t pid = trace_process_info(workers->study->reader, process)->pid;
    const struct role *role = roles_of(&workers->roles, pid);
    return role ? lane_of(workers, role) : NULL;
}

/* Write-back runs in kernel processes and belongs to its cause. If the cause is unknown, the study's
 * scripts give writes to `sdb` to any worker: here, to the first. */
static struct lane *lane_of_block(const struct workers *workers, const struct trace_block *block)
{
    struct lane *lane = lane_of_process(workers, block->cause ? block->cause : block->process);
    bool sdb = strcmp(trace_disk_name(workers->study->reader, block->disk), "sdb") == 0;
    return !lane && sdb && block->op == TRACE_OP_WRITE && workers->count > 0 ? workers->lanes : lane;
}

/* Get the next kept row of each kind, and its lane; NULL: there is none. */
static struct lane *next_event(const struct workers *workers, struct trace_cursor *cursor, struct row *row)
{
    static const char *const names[] = {"READ", "WRITE", "OPENAT"};
    struct trace_event event;
    struct lane *lane = NULL;
    while (!lane && trace_next_event(cursor, &event))
        if (study_keeps_event(workers->study, &event)) {
            *row = (struct row){event.start_ns, study_event_end(&event), names[event.class]};
            lane = lane_of_process(workers, event.process);
        }
    return lane;
}

static struct lane *next_block(const struct workers *workers, struct trace_cursor *cursor, struct row *row)
{
    struct trace_block block;
    struct lane *lane = NULL;
    while (!lane && trace_next_block(cursor, &block))
        if (study_keeps_block(workers->study, &block)) {
            *row = (struct row){study_issued(&block), study_block_end(&block),
                                block.op == TRACE_OP_WRITE ? "BIOW" : "BIOR"};
            lane = lane_of_block(workers, &block);
        }
    return lane;
}

static bool merge(const struct workers *workers, struct trace_cursor *events, struct trace_cursor *blocks,
                  struct error *err)
{
    struct row event, block;
    bool done = true;
    struct lane *of_event = next_event(workers, events, &event);
    struct lane *of_block = next_block(workers, blocks, &block);
    while (done && (of_event || of_block)) {
        if (of_event && (!of_block || event.start_ns <= block.start_ns)) {
            done = put_row(of_event, event, err);
            of_event = next_event(workers, events, &event);
        } else {
            done = put_row(of_block, block, err);
            of_block = next_block(workers, blocks, &block);
        }
    }
    for (int i = 0; i < workers->count; i++)
        write_rows(&workers->lanes[i]);
    return done;
}

static bool fill(const struct workers *workers, struct error *err)
{
    struct trace_filter filter = export_filter(workers->study->options);
    struct error ignored;
    struct trace_cursor *events = trace_events(workers->study->reader, &filter, err);
    struct trace_cursor *blocks = events ? trace_blocks(workers->study->reader, &filter, err) : NULL;
    bool done = blocks && merge(workers, events, blocks, err);
    done = trace_cursor_close(events, done ? err : &ignored) && done;
    return trace_cursor_close(blocks, done ? err : &ignored) && done;
}

/* Writes the number of a lane among those of its kind, or nothing if all share one lane. */
static void number(const struct workers *workers, int lane, char text[12])
{
    int own = lane < workers->workers ? lane : lane - workers->workers;
    text[0] = '\0';
    if (workers->division->each)
        snprintf(text, 12, "%d", own);
}

static const char *stem(const struct workers *workers, int lane)
{
    return lane < workers->workers ? workers->division->worker : workers->division->loader;
}

/* File names and titles. */
static bool write_titles(const struct workers *workers, struct error *err)
{
    const struct division *division = workers->division;
    struct file_output file;
    char name[128], digits[12];
    snprintf(name, sizeof name, "timeline/pid/%s/plotting_info.json", division->folder);
    if (!study_open(workers->study, &file, name, err))
        return false;
    fputs("{\n", file.out);
    for (int i = 0; i < workers->count; i++) {
        const char *title = i < workers->workers ? division->worker_title : division->loader_title;
        number(workers, i, digits);
        fprintf(file.out, "    \"%s%s.log\": \"%s%s\"%s\n", stem(workers, i), digits, title, digits,
                i + 1 < workers->count ? "," : "");
    }
    putc('}', file.out);
    return file_output_close(&file, true, err);
}

static bool write_lanes(struct workers *workers, struct error *err)
{
    char name[160], digits[12];
    int open = 0;
    bool done = true;
    for (; open < workers->count && done; open += done) {
        number(workers, open, digits);
        snprintf(name, sizeof name, "timeline/pid/%s/%s%s.log", workers->division->folder,
                 stem(workers, open), digits);
        done = study_open(workers->study, &workers->lanes[open].file, name, err);
    }
    done = done && fill(workers, err);
    for (int i = 0; i < open; i++)
        done = file_output_close(&workers->lanes[i].file, done, err) && done;
    return done;
}

static bool write_division(struct workers *workers, struct error *err)
{
    const struct division *division = workers->division;
    char path[4096];
    if (division->loaders && workers->roles.loaders == 0)
        return true;
    workers->workers = division->each ? workers->roles.workers : 1;
    workers->count = workers->workers * (division->apart ? 2 : 1);
    if (snprintf(path, sizeof path, "%s/timeline/pid/%s", workers->study->folder, division->folder) >=
        (int)sizeof path)
        return error_set(err, ERROR_USAGE, "'%s': the name is too long", workers->study->folder);
    workers->lanes = calloc((size_t)workers->count + 1, sizeof *workers->lanes);
    bool done = workers->lanes ? file_make_directory(path, err) && write_titles(workers, err) &&
                                     write_lanes(workers, err)
                               : error_memory(err);
    for (int i = 0; workers->lanes && i < workers->count; i++)
        free(workers->lanes[i].rows);
    free(workers->lanes);
    return done;
}

/* Returns whether the study makes this division: for DLIO it makes no file for each process. */
static bool is_made(const struct workers *workers)
{
    const char *workload = workers->study->options->workload;
    return workers->division == divisions || !workload || strcmp(workload, "dlio") != 0;
}

bool study_write_workers(const struct study *study, struct error *err)
{
    struct workers workers = {.study = study};
    bool done = find_roles(&workers.roles, study, err);
    for (size_t i = 0; i < sizeof divisions / sizeof *divisions && done; i++) {
        workers.division = &divisions[i];
        done = !is_made(&workers) || write_division(&workers, err);
    }
    roles_release(&workers.roles);
    return done;
}
