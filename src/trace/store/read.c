#include "core/text.h"
#include "core/vector.h"
#include "trace/store/row.h"
#include "trace/store/schema.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* ---- dictionaries ---- */

typedef void read_row(struct trace_cursor *cursor, void *row);

#define OR_NONE(cursor, column, min, max) row_number(cursor, column, TRACE_NONE, min, max)

static int64_t process_number(struct trace_cursor *cursor, int column)
{
    return OR_NONE(cursor, column, -TRACE_MAX_PID, TRACE_MAX_PID);
}

static void read_process(struct trace_cursor *cursor, void *row)
{
    struct trace_process_info *process = row;
    process->pid = process_number(cursor, 1);
    process->tid = process_number(cursor, 2);
    process->parent_pid = process_number(cursor, 3);
    process->start_ns = OR_NONE(cursor, 4, TRACE_MIN_TIME, TRACE_MAX_TIME);
    process->end_ns = OR_NONE(cursor, 5, TRACE_MIN_TIME, TRACE_MAX_TIME);
    process->name = row_text(cursor, 6);
    process->command = row_text(cursor, 7);
}

static void read_file(struct trace_cursor *cursor, void *row)
{
    struct trace_file_info *file = row;
    file->device = row_any_number(cursor, 1);
    file->inode = row_any_number(cursor, 2);
    file->path = row_text(cursor, 3);
    int64_t kind = row_number(cursor, 4, -1, 0, TRACE_KINDS - 1);
    file->kind = kind >= 0 ? (enum trace_kind)kind : trace_kind_of_path(file->path, strlen(file->path));
}

static void read_series(struct trace_cursor *cursor, void *row)
{
    struct trace_series_info *series = row;
    series->kind = row_text(cursor, 1);
    series->source = row_text(cursor, 2);
}

static void read_name(struct trace_cursor *cursor, void *row)
{
    *(const char **)row = row_text(cursor, 1);
}

static void read_phase(struct trace_cursor *cursor, void *row)
{
    struct trace_phase *phase = row;
    phase->name = row_text(cursor, 0);
    phase->start_ns = row_time(cursor, 1);
    phase->end_ns = row_time(cursor, 2);
    phase->source = row_text(cursor, 3);
}

static void read_meta(struct trace_cursor *cursor, void *row)
{
    struct trace_meta *meta = row;
    meta->key = row_text(cursor, 0);
    meta->value = row_text(cursor, 1);
}

static void read_loss(struct trace_cursor *cursor, void *row)
{
    struct trace_loss *loss = row;
    loss->class = row_text(cursor, 0);
    loss->count = row_needed(cursor, 1, 0, INT64_MAX);
    if (loss->count > INT64_MAX - cursor->reader->lost)
        row_refuse(cursor, 1);
    else
        cursor->reader->lost += loss->count;
    loss->from_ns = row_number(cursor, 2, TRACE_NONE, TRACE_MIN_TIME, TRACE_MAX_TIME);
    loss->to_ns = row_number(cursor, 3, TRACE_NONE, TRACE_MIN_TIME, TRACE_MAX_TIME);
}

static const struct trace_process_info no_process = {.pid = TRACE_NONE,
                                                     .tid = TRACE_NONE,
                                                     .parent_pid = TRACE_NONE,
                                                     .start_ns = TRACE_NONE,
                                                     .end_ns = TRACE_NONE,
                                                     .name = "",
                                                     .command = ""};
static const struct trace_file_info no_file = {TRACE_NONE, TRACE_NONE, "", TRACE_KIND_FILE};
static const struct trace_series_info no_series = {"", ""};
static const char *const no_name = "";
static const struct trace_phase no_phase = {"", 0, 0, ""};
static const struct trace_meta no_meta = {"", ""};
static const struct trace_loss no_loss = {"", 0, TRACE_NONE, TRACE_NONE};

/* Returns the place of row `at`; NULL: out of memory. */
static void *row_at(struct table *table, int64_t at, size_t size)
{
    if (!vector_room(&table->rows, &table->capacity, (size_t)at + 1, size))
        return NULL;
    return (char *)table->rows + (size_t)at * size;
}

/* How a dictionary is read. Ids must be 1, 2, 3, …: no other id makes room for all before it. */
struct dictionary {
    const char *name, *sql;
    size_t size;
    const void *none;
    read_row *read;
    bool ids; /* in the first column */
};

static bool load_table(struct trace_reader *reader, struct table *table, const struct dictionary *dictionary,
                       struct error *err)
{
    struct trace_cursor cursor;
    void *row = row_at(table, 0, dictionary->size);
    if (!row)
        return error_memory(err);
    memcpy(row, dictionary->none, dictionary->size);
    if (!row_begin(&cursor, reader, dictionary->name, dictionary->sql, err))
        return false;
    while (row_next(&cursor)) {
        int64_t at = table->count + 1;
        row = row_at(table, at, dictionary->size);
        if (!row)
            row_stop_memory(&cursor);
        else if (dictionary->ids && sqlite3_column_int64(cursor.statement, 0) != at)
            row_refuse(&cursor, 0);
        if (cursor.failed)
            break;
        dictionary->read(&cursor, row);
        table->count = at;
    }
    return row_end(&cursor, err);
}

struct placed_phase {
    struct trace_phase phase;
    int64_t at;
};

static int by_start(const void *a, const void *b)
{
    const struct placed_phase *x = a, *y = b;
    int order = (x->phase.start_ns > y->phase.start_ns) - (x->phase.start_ns < y->phase.start_ns);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Sorts here, since SQLite would put the texts into files of its own. */
static bool sort_phases(struct table *table, struct error *err)
{
    struct trace_phase *phases = table->rows;
    struct placed_phase *placed = calloc((size_t)table->count + 1, sizeof *placed);
    if (!placed)
        return error_memory(err);
    for (int64_t i = 1; i <= table->count; i++)
        placed[i] = (struct placed_phase){phases[i], i};
    qsort(placed + 1, (size_t)table->count, sizeof *placed, by_start);
    for (int64_t i = 1; i <= table->count; i++)
        phases[i] = placed[i].phase;
    free(placed);
    return true;
}

/* The order is that of the tables below. */
static const struct dictionary dictionaries[] = {
    {"process", "SELECT id, pid, tid, parent_pid, start_ns, end_ns, name, command FROM process ORDER BY id",
     sizeof no_process, &no_process, read_process, true},
    {"file", "SELECT id, device, inode, path, kind FROM file ORDER BY id", sizeof no_file, &no_file,
     read_file, true},
    {"series", "SELECT id, kind, source FROM series ORDER BY id", sizeof no_series, &no_series, read_series,
     true},
    {"call", "SELECT id, name FROM call ORDER BY id", sizeof no_name, &no_name, read_name, true},
    {"disk", "SELECT id, name FROM disk ORDER BY id", sizeof no_name, &no_name, read_name, true},
    {"phase", "SELECT name, start_ns, end_ns, source FROM phase ORDER BY rowid", sizeof no_phase, &no_phase,
     read_phase, false},
    {"meta", "SELECT key, value FROM meta ORDER BY key", sizeof no_meta, &no_meta, read_meta, false},
    {"lost", "SELECT class, count, from_ns, to_ns FROM lost ORDER BY class", sizeof no_loss, &no_loss,
     read_loss, false},
};

static bool load_tables(struct trace_reader *reader, struct error *err)
{
    struct table *const to[] = {&reader->processes, &reader->files,  &reader->series, &reader->calls,
                                &reader->disks,     &reader->phases, &reader->meta,   &reader->losses};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        if (!load_table(reader, to[i], &dictionaries[i], err))
            return false;
    store_expect_numbers(reader->db);
    return sort_phases(&reader->phases, err);
}

static bool open_reader(struct trace_reader *reader, const char *path, struct error *err)
{
    reader->first_ns = reader->last_ns = TRACE_NONE;
    reader->path = strdup(path);
    if (!reader->path)
        return error_memory(err);
    if (!store_open(path, &reader->db, &reader->guard, err) || !load_tables(reader, err))
        return false;
    bool whole = !trace_unfinished(reader) && reader->losses.count == 0;
    return whole || trace_span(reader, &reader->first_ns, &reader->last_ns, err);
}

struct trace_reader *trace_reader_new(const char *path, struct error *err)
{
    struct trace_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return error_memory_null(err);
    if (open_reader(reader, path, err))
        return reader;
    trace_reader_free(reader);
    return NULL;
}

struct trace_reader *trace_reader_of(const char *path, const struct trace_selection *selection,
                                     struct error *err)
{
    struct trace_reader *reader = trace_reader_new(path, err);
    if (!reader || trace_select(reader, selection, err))
        return reader;
    trace_reader_free(reader);
    return NULL;
}

bool trace_reader_rename(struct trace_reader *reader, const char *path, struct error *err)
{
    char *copy = strdup(path);
    if (!copy)
        return error_memory(err);
    free(reader->path);
    reader->path = copy;
    return true;
}

void trace_reader_free(struct trace_reader *reader)
{
    if (!reader)
        return;
    struct table *const all[] = {&reader->processes, &reader->files,  &reader->series, &reader->calls,
                                 &reader->disks,     &reader->phases, &reader->meta,   &reader->losses};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->rows);
    sqlite3_close(reader->db);
    arena_release(&reader->arena);
    free(reader->selected);
    free(reader->path);
    free(reader);
}

static int64_t place(const struct table *table, int64_t id)
{
    return id > 0 && id <= table->count ? id : 0;
}

const struct trace_process_info *trace_process_info(const struct trace_reader *reader, int64_t id)
{
    return (struct trace_process_info *)reader->processes.rows + place(&reader->processes, id);
}

const struct trace_file_info *trace_file_info(const struct trace_reader *reader, int64_t id)
{
    return (struct trace_file_info *)reader->files.rows + place(&reader->files, id);
}

const struct trace_series_info *trace_series_info(const struct trace_reader *reader, int64_t id)
{
    return (struct trace_series_info *)reader->series.rows + place(&reader->series, id);
}

const char *trace_call_name(const struct trace_reader *reader, int64_t id)
{
    return ((const char **)reader->calls.rows)[place(&reader->calls, id)];
}

const char *trace_disk_name(const struct trace_reader *reader, int64_t id)
{
    return ((const char **)reader->disks.rows)[place(&reader->disks, id)];
}

int64_t trace_process_count(const struct trace_reader *reader)
{
    return reader->processes.count;
}

int64_t trace_file_count(const struct trace_reader *reader)
{
    return reader->files.count;
}

int64_t trace_series_count(const struct trace_reader *reader)
{
    return reader->series.count;
}

int64_t trace_disk_count(const struct trace_reader *reader)
{
    return reader->disks.count;
}

const char *trace_meta(const struct trace_reader *reader, const char *key)
{
    const struct trace_meta *rows = reader->meta.rows;
    for (int64_t i = 1; i <= reader->meta.count; i++)
        if (strcmp(rows[i].key, key) == 0)
            return rows[i].value;
    return NULL;
}

bool trace_unfinished(const struct trace_reader *reader)
{
    const char *state = trace_meta(reader, TRACE_STATE);
    return state && strcmp(state, TRACE_STATE_WHOLE) != 0;
}

const struct trace_phase *trace_phases(const struct trace_reader *reader, int *count)
{
    *count = (int)reader->phases.count;
    return (struct trace_phase *)reader->phases.rows + 1;
}

int64_t trace_lost(const struct trace_reader *reader)
{
    return reader->lost;
}

const struct trace_loss *trace_losses(const struct trace_reader *reader, int *count)
{
    *count = (int)reader->losses.count;
    return (struct trace_loss *)reader->losses.rows + 1;
}

/* ---- spans ---- */

static const struct {
    const char *table, *sql;
} spans[] = {
    {"event", "SELECT min(start_ns) AS start_ns, max(start_ns) AS start_ns,"
              " max(start_ns + ifnull(latency_ns, 0)) AS 'the last end' FROM event"},
    {"block", "SELECT min(start_ns) AS start_ns, max(start_ns) AS start_ns,"
              " max(start_ns + ifnull(queue_ns, 0) + ifnull(service_ns, 0)) AS 'the last end' FROM block"},
    {"phase",
     "SELECT min(start_ns) AS start_ns, max(start_ns) AS start_ns, max(end_ns) AS end_ns FROM phase"},
    {"sample",
     "SELECT min(time_ns) AS time_ns, max(time_ns) AS time_ns, max(time_ns) AS time_ns FROM sample"},
};
#define SPANS_OF_CALLS 3

static bool add_span(struct trace_reader *reader, int which, int64_t *first_ns, int64_t *last_ns,
                     struct error *err)
{
    struct trace_cursor cursor;
    if (!row_begin(&cursor, reader, spans[which].table, spans[which].sql, err))
        return false;
    if (row_next(&cursor) && sqlite3_column_type(cursor.statement, 0) != SQLITE_NULL) {
        int64_t first = row_time(&cursor, 0);
        row_time(&cursor, 1); /* texts sort after all numbers */
        int64_t last = row_needed(&cursor, 2, TRACE_MIN_TIME - 2 * TRACE_MAX_LENGTH,
                                  TRACE_MAX_TIME + 2 * TRACE_MAX_LENGTH);
        *first_ns = *first_ns == TRACE_NONE || first < *first_ns ? first : *first_ns;
        *last_ns = *last_ns == TRACE_NONE || last > *last_ns ? last : *last_ns;
    }
    return row_end(&cursor, err);
}

static bool span(struct trace_reader *reader, int count, int64_t *first_ns, int64_t *last_ns,
                 struct error *err)
{
    *first_ns = *last_ns = TRACE_NONE;
    for (int i = 0; i < count; i++)
        if (!add_span(reader, i, first_ns, last_ns, err))
            return false;
    return true;
}

bool trace_span(struct trace_reader *reader, int64_t *first_ns, int64_t *last_ns, struct error *err)
{
    return span(reader, sizeof spans / sizeof *spans, first_ns, last_ns, err);
}

/* The maximum length of a run in ns: ten years. */
#define MAX_LENGTH (INT64_C(3652) * 86400 * 1000000000)

bool trace_span_of_run(struct trace_reader *reader, const char *path, int64_t *first_ns, int64_t *last_ns,
                       struct error *err)
{
    int64_t length_ns;
    if (!trace_span(reader, first_ns, last_ns, err))
        return false;
    if (*first_ns == TRACE_NONE)
        return error_set(err, ERROR_INPUT, "%s: the trace is empty", path);
    return (*last_ns >= *first_ns && !__builtin_sub_overflow(*last_ns, *first_ns, &length_ns) &&
            length_ns <= MAX_LENGTH) ||
           error_set(err, ERROR_INPUT,
                     "%s: its times, from %" PRId64 " to %" PRId64
                     " ns, are not those of one run; did a clock jump?",
                     path, *first_ns, *last_ns);
}

bool trace_span_when_short(const struct trace_reader *reader, int64_t *first_ns, int64_t *last_ns)
{
    *first_ns = reader->first_ns;
    *last_ns = reader->last_ns;
    return reader->first_ns != TRACE_NONE;
}

bool trace_span_of_calls(struct trace_reader *reader, int64_t *first_ns, int64_t *last_ns, struct error *err)
{
    return span(reader, SPANS_OF_CALLS, first_ns, last_ns, err);
}

/* ---- cursors ---- */

/* The tables of rows, and how they are read. */
static const struct source {
    const char *table, *columns, *which, *time;
} events = {"event", "class, start_ns, latency_ns, process, file, call, fd, \"offset\", size, result, cached",
            "class", "start_ns"},
  blocks = {"block", "operation, start_ns, queue_ns, service_ns, disk, sector, bytes, process, file, cause",
            "operation", "start_ns"},
  samples = {"sample", "series, time_ns, value", "series", "time_ns"};

/* Without a range there is no condition on the time, so that a row whose time is no number is found, too. */
static struct trace_cursor *open_cursor(struct trace_reader *reader, const struct source *source,
                                        const struct trace_filter *filter, struct error *err)
{
    const char *time = source->time;
    struct text sql = {0};
    text_format(&sql, "SELECT %s FROM %s WHERE true", source->columns, source->table);
    if (filter->from_ns > INT64_MIN || filter->to_ns < INT64_MAX)
        text_format(&sql, " AND %s >= ?1 AND %s < ?2", time, time);
    if (filter->which >= 0)
        text_format(&sql, " AND %s = ?3", source->which);
    text_format(&sql, " ORDER BY %s%srowid", filter->as_written ? "" : time, filter->as_written ? "" : ", ");
    struct trace_cursor *cursor = sql.failed ? NULL : calloc(1, sizeof *cursor);
    bool begun = cursor ? row_begin(cursor, reader, source->table, sql.data, err) : error_memory(err);
    text_release(&sql);
    if (!begun) {
        free(cursor);
        return NULL;
    }
    /* Binding a parameter that the statement lacks is no error. */
    sqlite3_bind_int64(cursor->statement, 1, filter->from_ns);
    sqlite3_bind_int64(cursor->statement, 2, filter->to_ns);
    sqlite3_bind_int64(cursor->statement, 3, filter->which);
    return cursor;
}

struct trace_cursor *trace_events(struct trace_reader *reader, const struct trace_filter *filter,
                                  struct error *err)
{
    return open_cursor(reader, &events, filter, err);
}

struct trace_cursor *trace_blocks(struct trace_reader *reader, const struct trace_filter *filter,
                                  struct error *err)
{
    return open_cursor(reader, &blocks, filter, err);
}

struct trace_cursor *trace_samples(struct trace_reader *reader, const struct trace_filter *filter,
                                   struct error *err)
{
    return open_cursor(reader, &samples, filter, err);
}

/* ---- which rows ---- */

bool trace_select(struct trace_reader *reader, const struct trace_selection *selection, struct error *err)
{
    bool found = !selection->path;
    unsigned kinds = selection->kinds ? selection->kinds : ~0u;
    unsigned char *selected = calloc((size_t)reader->files.count + 1, 1);
    if (!selected)
        return error_memory(err);
    selected[0] = selection->path ? 0 : SELECT_EVENTS | SELECT_BLOCKS;
    for (int64_t i = 1; i <= reader->files.count; i++) {
        const struct trace_file_info *file = trace_file_info(reader, i);
        if (selection->path && fnmatch(selection->path, file->path, 0) != 0)
            continue;
        found = true;
        selected[i] = SELECT_BLOCKS | (kinds & 1u << file->kind ? SELECT_EVENTS : 0);
    }
    free(reader->selected);
    reader->selected = selected;
    return found ||
           error_set(err, ERROR_INPUT, "%s: no file path matches '%s'", reader->path, selection->path);
}

static bool is_selected(const struct trace_reader *reader, int64_t file, int of)
{
    return !reader->selected || (reader->selected[place(&reader->files, file)] & of);
}

bool trace_is_selected(const struct trace_reader *reader, int64_t file)
{
    return is_selected(reader, file, SELECT_EVENTS);
}

bool trace_next_event(struct trace_cursor *cursor, struct trace_event *event)
{
    do {
        if (!row_next(cursor))
            return false;
        event->file = row_id(cursor, 4, &cursor->reader->files);
    } while (!is_selected(cursor->reader, event->file, SELECT_EVENTS));
    const struct trace_reader *reader = cursor->reader;
    event->class = (enum trace_class)row_needed(cursor, 0, 0, TRACE_CLASSES - 1);
    event->start_ns = row_time(cursor, 1);
    event->latency_ns = row_length(cursor, 2);
    event->process = row_id(cursor, 3, &reader->processes);
    event->call = row_id(cursor, 5, &reader->calls);
    event->fd = row_any_number(cursor, 6);
    event->offset = row_any_number(cursor, 7);
    event->size = row_any_number(cursor, 8);
    event->result = row_any_number(cursor, 9);
    event->cached = (int)row_number(cursor, 10, -1, 0, 1);
    row_count_bytes(cursor, event->class == TRACE_FAULT ? 8 : 9, trace_bytes_moved(event));
    return !cursor->failed;
}

bool trace_next_block(struct trace_cursor *cursor, struct trace_block *block)
{
    do {
        if (!row_next(cursor))
            return false;
        block->file = row_id(cursor, 8, &cursor->reader->files);
    } while (!is_selected(cursor->reader, block->file, SELECT_BLOCKS));
    const struct trace_reader *reader = cursor->reader;
    block->op = (enum trace_op)row_needed(cursor, 0, 0, TRACE_OPS - 1);
    block->start_ns = row_time(cursor, 1);
    block->queue_ns = row_length(cursor, 2);
    block->service_ns = row_length(cursor, 3);
    block->disk = row_id(cursor, 4, &reader->disks);
    block->sector = row_any_number(cursor, 5);
    block->bytes = row_any_number(cursor, 6);
    block->process = row_id(cursor, 7, &reader->processes);
    block->cause = row_id(cursor, 9, &reader->processes);
    row_count_bytes(cursor, 6, block->bytes);
    return !cursor->failed;
}

bool trace_next_sample(struct trace_cursor *cursor, struct trace_sample *sample)
{
    while (row_next(cursor)) {
        int type = sqlite3_column_type(cursor->statement, 2);
        sample->series = row_id(cursor, 0, &cursor->reader->series);
        sample->time_ns = row_time(cursor, 1);
        sample->value = sqlite3_column_double(cursor->statement, 2);
        bool number_there = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
        if (!cursor->failed && (type == SQLITE_NULL || (number_there && isinf(sample->value))))
            continue; /* no value was measured */
        if (!number_there || !(fabs(sample->value) <= TRACE_MAX_VALUE))
            row_refuse(cursor, 2);
        return !cursor->failed;
    }
    return false;
}

bool trace_cursor_close(struct trace_cursor *cursor, struct error *err)
{
    if (!cursor)
        return false;
    bool done = row_end(cursor, err);
    free(cursor);
    return done;
}
