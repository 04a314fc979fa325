/* Trace stores that somebody sent. A small trace is made once, with pages of 512 bytes; an input is a list of changes to it,
 * which do what an attacker with SQLite and an editor can: values of any type in any row, statements that change the
 * schema, rows that are copied, bytes of the file that are changed, and its length. Then all that reads a trace reads it,
 * and what adds to one adds to it. Nothing may crash or take long, and every failure has a message. */
#include "api/trace/print.h"
#include "figure/trace/distribution.h"
#include "figure/trace/throughput.h"
#include "figure/trace/timeline.h"
#include "report/parts.h"
#include "trace/export/export.h"
#include "trace/phase/phase.h"
#include "trace/similarity/similarity.h"
#include "trace/store/store.h"
#include "trace/summary.h"
#include "walk.h"

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS        24
#define MAX_CHANGES 64
#define FIGURES_OF  32 /* of so many inputs one is drawn, as far as gnuplot */
#define COMPARED_OF 8  /* and one is compared, which takes longer than all the rest */

static char store[512], out[512], picture[512];
static unsigned char *base;
static size_t base_size;

/* ---- the trace ---- */

static void run(sqlite3 *db, const char *sql)
{
    sqlite3_exec(db, sql, NULL, NULL, NULL); /* a change may well be one that SQLite refuses */
}

static void add_rows(struct trace_writer *writer, struct error *err)
{
    int64_t processes[2] = {trace_process(writer, 7, 7, "python3", 7),
                            trace_process(writer, 8, 9, "worker", 6)};
    int64_t files[2] = {trace_file(writer, 1, 2, "/data/00.npz", 12),
                        trace_file(writer, 1, 3, "/out/a.pt", 9)};
    int64_t disk = trace_disk(writer, "vda", 3), call = trace_call(writer, "pread64", 7);
    int64_t series[2] = {trace_series(writer, "cpu.usr", "all"),
                         trace_series(writer, "gpu.sm", "0 7 python3")};
    for (int i = 0; i < ROWS; i++) {
        const struct trace_event event = {.class = (enum trace_class)(i % TRACE_CLASSES / (i % 3 + 1)),
                                          .cached = i % 3 - 1,
                                          .start_ns = INT64_C(1700000000000000000) + i * INT64_C(20000000),
                                          .latency_ns = 1000 + i,
                                          .process = processes[i % 2],
                                          .file = files[i % 2],
                                          .call = call,
                                          .fd = 3,
                                          .offset = i * INT64_C(65536),
                                          .size = 1 << 20,
                                          .result = 1 << 20};
        const struct trace_block block = {.op = (enum trace_op)(i % TRACE_OPS),
                                          .start_ns = event.start_ns,
                                          .queue_ns = 10,
                                          .service_ns = 100,
                                          .sector = i,
                                          .bytes = 4096,
                                          .disk = disk,
                                          .process = processes[0],
                                          .file = files[0],
                                          .cause = processes[1]};
        require(trace_add_event(writer, &event, err) && trace_add_block(writer, &block, err) &&
                trace_add_sample(writer, &(struct trace_sample){event.start_ns, series[i % 2], i}, err));
    }
    const int64_t first = INT64_C(1700000000000000000);
    require(
        trace_add_phase(writer, &(struct trace_phase){"INIT", first, first + 100000000, "dlio"}, err) &&
        trace_add_phase(
            writer, &(struct trace_phase){"TRAINING", first + 100000000, first + 400000000, "dlio"}, err) &&
        trace_add_lost(writer, "read", 3, first, first + 5, err) && trace_set_meta(writer, "host", "a", err));
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    static char nowhere[] = "PATH=/nowhere"; /* pictures are gnuplot's matter, and slow */
    const char *folder = getenv("TMPDIR");
    struct error err;
    sqlite3 *db;
    putenv(nowhere);
    folder = folder && *folder ? folder : "/tmp";
    snprintf(store, sizeof store, "%s/fuzz-store-%ld.db", folder, (long)getpid());
    snprintf(out, sizeof out, "%s/fuzz-store-%ld.out", folder, (long)getpid());
    snprintf(picture, sizeof picture, "%s/fuzz-store-%ld.svg", folder, (long)getpid());
    struct trace_writer *writer = trace_writer_new(store, TRACE_STORE_WHOLE, &err);
    require(writer != NULL);
    add_rows(writer, &err);
    require(trace_writer_close(writer, &err));
    require(sqlite3_open(store, &db) == SQLITE_OK);
    run(db, "PRAGMA page_size = 512; VACUUM");
    require(sqlite3_close(db) == SQLITE_OK);
    FILE *file = fopen(store, "rb");
    require(file && fseek(file, 0, SEEK_END) == 0 && ftell(file) > 512);
    base_size = (size_t)ftell(file);
    base = malloc(base_size);
    rewind(file);
    require(base && fread(base, 1, base_size, file) == base_size);
    fclose(file);
    return 0;
}

/* ---- changes ---- */

struct input {
    const uint8_t *at, *end;
};

static unsigned byte_of(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static uint64_t number_of(struct input *input, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++)
        number = number << 8 | byte_of(input);
    return number;
}

/* The input's next bytes. */
static size_t take(struct input *input, size_t max, const uint8_t **bytes)
{
    size_t length = byte_of(input);
    length = length < max ? length : max;
    length = length < (size_t)(input->end - input->at) ? length : (size_t)(input->end - input->at);
    *bytes = input->at;
    input->at += length;
    return length;
}

static const struct {
    const char *table, *columns[11];
} tables[] = {
    {"event",
     {"id", "class", "start_ns", "latency_ns", "process", "file", "call", "\"offset\"", "size", "result",
      "cached"}},
    {"block",
     {"id", "operation", "start_ns", "queue_ns", "service_ns", "disk", "sector", "bytes", "process", "file",
      "cause"}},
    {"sample", {"series", "time_ns", "value"}},
    {"phase", {"name", "start_ns", "end_ns", "source"}},
    {"process", {"id", "pid", "tid", "parent_pid", "start_ns", "end_ns", "name", "command"}},
    {"file", {"id", "device", "inode", "path", "kind"}},
    {"series", {"id", "kind", "source"}},
    {"call", {"id", "name"}},
    {"disk", {"id", "name"}},
    {"lost", {"class", "count", "from_ns", "to_ns"}},
    {"meta", {"key", "value"}},
    {"sqlite_schema", {"type", "name", "tbl_name", "rootpage", "sql"}},
};
#define TABLES (sizeof tables / sizeof *tables)

static void bind_value(struct input *input, sqlite3_stmt *statement)
{
    static const int64_t odd[] = {INT64_MIN,  INT64_MIN + 1, -1,       0, 1, 2,
                                  1000000000, INT64_MAX / 2, INT64_MAX};
    static const double reals[] = {1.5, -1e300, 9e18, 1e19, 1e-320, INFINITY};
    const uint8_t *bytes;
    unsigned kind = byte_of(input), which = byte_of(input);
    size_t length;
    switch (kind % 8) {
    case 0:
        sqlite3_bind_null(statement, 1);
        break;
    case 1:
    case 2:
        sqlite3_bind_int64(statement, 1, odd[which % (sizeof odd / sizeof *odd)]);
        break;
    case 3:
        sqlite3_bind_int64(statement, 1, (int64_t)number_of(input, 8));
        break;
    case 4:
        sqlite3_bind_double(statement, 1, reals[which % (sizeof reals / sizeof *reals)]);
        break;
    case 5:
        sqlite3_bind_zeroblob(statement, 1, (int)(which * which * 16));
        break;
    case 6:
        length = take(input, 200, &bytes);
        sqlite3_bind_blob(statement, 1, bytes, (int)length, SQLITE_TRANSIENT);
        break;
    default:
        length = take(input, 200, &bytes);
        sqlite3_bind_text(statement, 1, (const char *)bytes, (int)length, SQLITE_TRANSIENT);
    }
}

/* One row, or all rows. */
static void change_value(struct input *input, sqlite3 *db)
{
    unsigned which = byte_of(input) % TABLES, column = byte_of(input), row = byte_of(input);
    int columns = 0;
    char sql[256];
    sqlite3_stmt *statement;
    while (columns < 11 && tables[which].columns[columns])
        columns++;
    snprintf(sql, sizeof sql, "UPDATE %s SET %s = ?1 WHERE %s", tables[which].table,
             tables[which].columns[column % (unsigned)columns], row == 255 ? "true" : "rowid = ?2");
    /* Those without rows by number have few. */
    if (which == TABLES - 2 || which == TABLES - 3)
        snprintf(sql, sizeof sql, "UPDATE %s SET %s = ?1", tables[which].table,
                 tables[which].columns[column % (unsigned)columns]);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        return;
    bind_value(input, statement);
    sqlite3_bind_int(statement, 2, (int)row % (ROWS + 2));
    sqlite3_step(statement);
    sqlite3_finalize(statement);
}

static void change_schema(struct input *input, sqlite3 *db)
{
    static const char *const statements[] = {
        "DROP INDEX event_start",
        "DROP INDEX block_start",
        "DROP INDEX sample_time",
        "DROP INDEX event_start; CREATE INDEX event_start ON event(latency_ns, start_ns)",
        "CREATE INDEX part ON event(start_ns, class) WHERE class = 0",
        "CREATE INDEX computed ON sample(series + 1, abs(time_ns))",
        "ALTER TABLE event RENAME TO other; CREATE VIEW event AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL "
        "SELECT "
        "i + 1 FROM r) SELECT i AS id, 0 AS class, i AS start_ns FROM r",
        "DROP TABLE phase; CREATE VIEW phase AS SELECT 'a' AS name, 0 AS start_ns, 1 AS end_ns, 'b' AS "
        "source",
        "ALTER TABLE event ADD COLUMN more AS (start_ns + 1)",
        "ALTER TABLE event ADD COLUMN other TEXT DEFAULT 'x'",
        "ALTER TABLE file RENAME COLUMN path TO way",
        "CREATE TRIGGER t AFTER INSERT ON phase BEGIN DELETE FROM event; END",
        "CREATE TRIGGER u BEFORE DELETE ON phase BEGIN SELECT raise(ABORT, 'no'); END",
        "DROP TABLE lost",
        "DELETE FROM event",
        "DELETE FROM process",
        "DELETE FROM file WHERE id = 1",
        "INSERT INTO event SELECT NULL, class, start_ns + id, latency_ns, process, file, call, fd, "
        "\"offset\", size, "
        "result, cached FROM event",
        "INSERT INTO phase SELECT name, start_ns + 1, end_ns - 1, source FROM phase",
        "INSERT INTO series(id, kind, source) VALUES(3, 'cpu.usr', 'x'), (4, 'cpu.usr', 'y')",
        "UPDATE event SET \"offset\" = \"offset\" % 3, class = id % 2",
        "PRAGMA user_version = 1",
        "PRAGMA user_version = 3",
        "PRAGMA application_id = 7",
        "PRAGMA journal_mode = WAL",
        "PRAGMA encoding = 'UTF-16'",
        "DROP VIEW io",
        "CREATE TABLE kind(a)",
    };
    run(db, statements[byte_of(input) % (sizeof statements / sizeof *statements)]);
}

static void change_rows(struct input *input)
{
    sqlite3 *db;
    unsigned changes = byte_of(input) % MAX_CHANGES;
    if (sqlite3_open(store, &db) == SQLITE_OK) {
        run(db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA writable_schema = ON; BEGIN");
        for (unsigned i = 0; i < changes && input->at < input->end; i++)
            byte_of(input) % 4 == 0 ? change_schema(input, db) : change_value(input, db);
        run(db, "COMMIT");
    }
    sqlite3_close(db);
}

/* Bytes anywhere; of a page (the one before it, another's number), or of the length. */
static void change_bytes(struct input *input)
{
    const uint8_t *bytes;
    FILE *file = fopen(store, "r+b");
    require(file && fseek(file, 0, SEEK_END) == 0);
    size_t size = (size_t)ftell(file);
    while (input->at < input->end) {
        size_t place = (size_t)number_of(input, 3) % (size + 1), length = take(input, 64, &bytes);
        require(fseek(file, (long)place, SEEK_SET) == 0 && fwrite(bytes, 1, length, file) == length);
    }
    fclose(file);
}

/* The trace, and what a change or a journal left beside it. */
static void remove_all(void)
{
    static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s%s", store, endings[i]);
        unlink(path);
    }
}

static void make(const uint8_t *data, size_t size)
{
    struct input input = {data, data + size};
    unsigned how = byte_of(&input);
    size_t length = how & 2 ? (size_t)number_of(&input, 2) % (base_size + 1) : base_size;
    FILE *file = fopen(store, "wb");
    require(file && fwrite(base, 1, length, file) == length && fclose(file) == 0);
    if (!(how & 1))
        change_rows(&input);
    change_bytes(&input);
}

/* ---- what is done with a trace ---- */

static void check(bool done, const struct error *err)
{
    if (!done)
        require_message(err);
}

static void summarise(struct trace_reader *reader, struct error *err)
{
    struct trace_summary summary;
    struct text text = {0};
    bool done = trace_summary_read(reader, &summary, err);
    check(done, err);
    if (!done)
        return;
    trace_add_warnings(reader, &text);
    trace_show_print("a.db", reader, &summary, &text);
    trace_show_write_json("a.db", reader, &summary, &(struct json){.out = &text});
    text_release(&text);
    trace_summary_release(&summary);
}

static void find_phases(struct trace_reader *reader, struct error *err)
{
    struct trace_phase *phases = NULL;
    struct text text = {0};
    size_t count;
    bool done = trace_phases_find(reader, &phases, &count, err);
    check(done, err);
    if (done) {
        trace_phases_print(reader, phases, count, &text);
        trace_phases_write_json("a.db", reader, phases, count, &(struct json){.out = &text});
    }
    text_release(&text);
    free(phases);
}

static void export_all(struct trace_reader *reader, struct error *err)
{
    static const struct trace_export_options all = {.from_ns = 0};
    check(trace_export_chrome(reader, out, &all, err), err);
    check(trace_export_pfw(reader, out, &all, err), err);
    check(trace_export_csv(reader, out, &all, err), err);
    check(trace_export_csv_blocks(reader, out, &all, err), err);
}

static void compare(struct error *err)
{
    struct similarity_options options = {.values = 1000};
    struct similarity_trace trace = {0};
    struct similarity result = {0};
    memcpy(options.weights, similarity_kind_weights, sizeof options.weights);
    bool read = similarity_trace_read(&trace, store, &options, err);
    check(read, err);
    if (read) {
        bool done = similarity_compare(&trace, &trace, &options, &result, err);
        check(done, err);
        require(!done || result.value == 1); /* it is like itself */
        similarity_release(&result);
    }
    similarity_trace_release(&trace);
}

static void draw(struct error *err)
{
    const char *const traces[] = {store};
    const struct trace_zoom whole = {.from = NAN, .to = NAN};
    const struct figure_timeline timeline = {.style = &figure_screen,
                                             .zoom = whole,
                                             .grouping = TRACE_EACH,
                                             .rows = {true, true, true, true, true}};
    struct figure_throughput throughput = {.style = &figure_screen, .zoom = whole};
    struct figure_distribution distribution = {.style = &figure_screen, .zoom = whole};
    for (int i = 0; i < FIGURE_STREAMS; i++)
        throughput.streams[i] = distribution.streams[i] = true;
    for (int i = 0; i < DISTRIBUTION_KINDS; i++)
        distribution.kinds[i] = true;
    check(figure_timeline(picture, store, &timeline, err), err);
    check(figure_throughput(picture, traces, 1, &throughput, err), err);
    check(figure_distribution(picture, traces, 1, &distribution, err), err);
    struct report_part part = {.path = "a.db", .full = store};
    check(report_trace(&part, err), err);
    text_release(&part.out);
    text_release(&part.asked);
    text_release(&part.says);
    text_release(&part.sure);
    text_release(&part.next);
    text_release(&part.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    const struct trace_phase phase = {"EVAL", 5, 9, "io"};
    size_t sum = size;
    if (size < 2)
        return 0;
    make(data, size);
    for (size_t i = 0; i < size; i++)
        sum = 31 * sum + data[i];
    struct trace_reader *reader = trace_reader_new(store, &err);
    check(reader, &err);
    if (reader) {
        summarise(reader, &err);
        find_phases(reader, &err);
        export_all(reader, &err);
        trace_reader_free(reader);
        if (sum / FIGURES_OF % COMPARED_OF == 0)
            compare(&err);
        if (sum % FIGURES_OF == 0)
            draw(&err);
    }
    check(trace_phases_store(store, &phase, 1, &err), &err);
    remove_all();
    return 0;
}
