/* Stores that somebody sent: what is wrong with them is said, in a time and a memory that their size allows. */
#include "trace/export/export.h"
#include "trace/phase/phase.h"
#include "trace/similarity/similarity.h"
#include "trace/store/store.h"
#include "trace/summary.h"

#include "support/sanitizer.h"
#include "trace/traces.h"

#include <sqlite3.h>
#include <sys/resource.h>

#define MAX_MEMORY ((rlim_t)512 << 20)

/* A trace with a little of everything. */
static void make_good(const char *name)
{
    struct error err;
    struct trace_writer *writer = make_trace(name, TRACE_STORE_WHOLE);
    int64_t process = trace_process(writer, 7, 7, "python3", 7), disk = trace_disk(writer, "vda", 3);
    int64_t file = trace_file(writer, 1, 2, "/data/a", 7), series = trace_series(writer, "cpu.usr", "all");
    for (int i = 0; i < 100; i++) {
        assert_true(trace_add_event(writer,
                                    &(struct trace_event){.class = TRACE_READ,
                                                          .cached = 1,
                                                          .start_ns = 1000 * i,
                                                          .latency_ns = 500,
                                                          .process = process,
                                                          .file = file,
                                                          .offset = 4096 * i,
                                                          .size = 4096,
                                                          .result = 4096},
                                    &err));
        assert_true(trace_add_block(writer,
                                    &(struct trace_block){.start_ns = 1000 * i,
                                                          .queue_ns = 10,
                                                          .service_ns = 100,
                                                          .bytes = 4096,
                                                          .disk = disk,
                                                          .process = process,
                                                          .file = file},
                                    &err));
        assert_true(trace_add_sample(writer, &(struct trace_sample){1000 * i, series, i}, &err));
    }
    assert_true(trace_add_phase(writer, &(struct trace_phase){"TRAINING", 0, 100000, "dlio"}, &err));
    assert_true(trace_add_lost(writer, "read", 1, 10, 20, &err));
    finish_trace(writer);
}

/* As an attacker has it: with nothing in the way. */
static void change(const char *name, const char *sql)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(in_folder(name), &db), SQLITE_OK);
    sqlite3_exec(db, sql, NULL, NULL, &message);
    if (message)
        fail_msg("%s: %s", sql, message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* All that is done with a trace; true when it was read. */
static bool use(const char *name, struct error *err)
{
    struct trace_summary summary;
    struct trace_phase *phases = NULL;
    struct similarity_options options = {.values = 1000};
    struct similarity_trace trace = {0};
    size_t count;
    struct trace_reader *reader = trace_reader_new(in_folder(name), err);
    bool done = reader && trace_summary_read(reader, &summary, err);
    if (done)
        trace_summary_release(&summary);
    const struct trace_export_options all = {.from_ns = 0};
    done = done && trace_export_chrome(reader, in_folder("out.json"), &all, err) &&
           trace_export_pfw(reader, in_folder("out.pfw"), &all, err) &&
           trace_export_csv_blocks(reader, in_folder("out.csv"), &all, err) &&
           trace_phases_find(reader, &phases, &count, err) &&
           similarity_trace_read(&trace, in_folder(name), &options, err);
    free(phases);
    similarity_trace_release(&trace);
    trace_reader_free(reader);
    return done;
}

static void check_refused(const char *sql, const char *part)
{
    struct error err = {0};
    remove(in_folder("a.db")); /* what is no trace is not overwritten */
    make_good("a.db");
    change("a.db", sql);
    if (use("a.db", &err))
        fail_msg("%s: was taken", sql);
    if (err.kind != ERROR_INPUT || !strstr(err.text, part))
        fail_msg("%s: '%s' does not say '%s'", sql, err.text, part);
    /* Nor is it written on. */
    struct trace_writer *writer = trace_writer_new(in_folder("a.db"), TRACE_STORE_APPEND, &err);
    if (strstr(part, "has no") && writer)
        fail_msg("%s: was written on", sql);
    trace_writer_drop(writer);
}

static void test_a_good_one_is_read(void **state)
{
    (void)state;
    struct error err = {0};
    make_good("a.db");
    if (!use("a.db", &err))
        fail_msg("%s", err.text);
}

/* With an id of 10^9, room for as many was made: 20 GB. */
static void test_ids_that_are_not_dense_take_no_memory(void **state)
{
    (void)state;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = (struct rlimit){MAX_MEMORY, before.rlim_max};
    if (!ADDRESS_SANITIZER && !THREAD_SANITIZER)
        assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    static const char *const names[] = {"process", "file", "call", "disk", "series"};
    static const char *const columns[] = {"name", "path", "name", "name", "kind, source"};
    static const char *const ids[] = {"1000000000", "-1", "9223372036854775807", "0"};
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 4; j++) {
            char sql[200];
            snprintf(sql, sizeof sql, "INSERT INTO %s(id, %s) VALUES(%s, 'x'%s)", names[i], columns[i],
                     ids[j], i == 4 ? ", 'y'" : "");
            check_refused(sql, "id cannot be");
        }
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

static void test_tables_are_tables(void **state)
{
    (void)state;
    check_refused(
        "ALTER TABLE event RENAME TO other; CREATE VIEW event AS WITH RECURSIVE r(i) AS (SELECT 1 UNION "
        "ALL SELECT i + 1 FROM r) SELECT i AS id, 0 AS class, i AS start_ns, 0 AS latency_ns, NULL AS "
        "process, NULL AS file, NULL AS call, 0 AS fd, 0 AS 'offset', 0 AS size, 0 AS result, 0 AS "
        "cached FROM r",
        "has no table 'event'");
    check_refused(
        "DROP TABLE meta; CREATE VIEW meta AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
        "FROM r) SELECT i AS key, 'x' AS value FROM r",
        "has no table 'meta'");
    check_refused("DROP VIEW block_io; DROP VIEW disk_throughput; ALTER TABLE block DROP COLUMN service_ns",
                  "has no column 'service_ns'");
    check_refused("ALTER TABLE event RENAME COLUMN \"offset\" TO place", "has no column 'offset'");
    check_refused("DROP TABLE lost; CREATE TABLE lost(class TEXT PRIMARY KEY, count INTEGER AS "
                  "(length(zeroblob(1000000000))))",
                  "a column that is computed");
    check_refused("DROP TABLE phase; CREATE VIRTUAL TABLE phase USING rtree(name, start_ns, end_ns)",
                  "has no table 'phase'");
}

/* What an attacker's triggers do when rows are added: nothing. */
static void test_triggers_do_not_run(void **state)
{
    (void)state;
    struct error err;
    make_good("a.db");
    change("a.db", "CREATE TRIGGER t AFTER INSERT ON phase BEGIN DELETE FROM event; END");
    const struct trace_phase phase = {"EVAL", 5, 9, "io"};
    assert_true(trace_phases_store(in_folder("a.db"), &phase, 1, &err));
    struct trace_summary summary;
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    assert_true(trace_summary_read(reader, &summary, &err));
    assert_int_equal(summary.classes[TRACE_READ].calls, 100);
    trace_summary_release(&summary);
    trace_reader_free(reader);
}

static void test_numbers_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *part;
    } cases[] = {
        {"UPDATE event SET start_ns = -9223372036854775808 WHERE id = 50", "start_ns cannot be"},
        {"UPDATE event SET start_ns = 9223372036854775807 WHERE id = 50", "cannot be"},
        {"UPDATE event SET start_ns = 'abc' WHERE id = 50", "start_ns cannot be"},
        {"UPDATE event SET start_ns = 1.5 WHERE id = 50", "start_ns cannot be '1.5'"},
        {"UPDATE event SET latency_ns = 9223372036854775807 WHERE id = 50", "cannot be"},
        {"UPDATE event SET latency_ns = -9223372036854775808 WHERE id = 50", "cannot be"},
        {"UPDATE event SET result = 4611686018427387904", "result cannot be"},
        {"UPDATE event SET class = 99 WHERE id = 50", "class cannot be '99'"},
        {"UPDATE event SET cached = 7 WHERE id = 50", "cached cannot be"},
        {"UPDATE event SET size = zeroblob(100000) WHERE id = 50", "damaged"},
        {"UPDATE block SET bytes = 4611686018427387904", "bytes cannot be"},
        {"UPDATE block SET queue_ns = 9223372036854775807, service_ns = 9223372036854775807", "cannot be"},
        {"UPDATE block SET operation = -1 WHERE id = 50", "operation cannot be"},
        {"UPDATE sample SET time_ns = 9223372036854775807", "time_ns"},
        {"UPDATE sample SET value = 1e200", "value cannot be"},
        {"UPDATE sample SET value = 'x'", "value cannot be"},
        {"UPDATE phase SET start_ns = -9223372036854775808", "start_ns cannot be"},
        {"UPDATE phase SET end_ns = 9223372036854775807", "end_ns cannot be"},
        {"UPDATE lost SET count = -1", "count cannot be"},
        {"UPDATE lost SET to_ns = -9223372036854775808", "to_ns cannot be"},
        {"UPDATE file SET kind = 77", "kind cannot be '77'"},
        {"INSERT INTO lost VALUES('write', 9223372036854775807, 1, 2)", "count cannot be"},
        {"UPDATE process SET pid = -9223372036854775808", "pid cannot be"},
        {"UPDATE process SET end_ns = 9223372036854775807", "end_ns cannot be"},
        {"UPDATE process SET name = zeroblob(2000000)", "damaged"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(cases[i].sql, cases[i].part);
}

/* Ids that stand for nothing are ids of nothing: whatever they are, nothing is looked up by them. */
static void test_ids_that_are_not_there(void **state)
{
    (void)state;
    static const char *const ids[] = {"2", "-1", "1000000000000", "9223372036854775807",
                                      "-9223372036854775808"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct error err = {0};
        char sql[400];
        snprintf(
            sql, sizeof sql,
            "UPDATE event SET process = %s, file = %s, call = %s; UPDATE block SET process = %s, file = %s, "
            "disk = %s, cause = %s; UPDATE sample SET series = %s",
            ids[i], ids[i], ids[i], ids[i], ids[i], ids[i], ids[i], ids[i]);
        make_good("a.db");
        change("a.db", sql);
        if (!use("a.db", &err))
            fail_msg("%s: %s", sql, err.text);
    }
}

/* What was not measured is no sample. */
static void test_a_sample_without_a_value_is_none(void **state)
{
    (void)state;
    struct error err;
    struct trace_sample sample;
    int64_t count = 0;
    make_good("a.db");
    change(
        "a.db",
        "UPDATE sample SET value = NULL WHERE rowid <= 40; UPDATE sample SET value = 9e999 WHERE rowid > 90");
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    struct trace_cursor *cursor = trace_samples(reader, &TRACE_ALL, &err);
    while (trace_next_sample(cursor, &sample))
        count++;
    assert_true(trace_cursor_close(cursor, &err));
    assert_int_equal(count, 50);
    trace_reader_free(reader);
}

/* Interior pages whose cells all point at one page: as many rows as there are ways down, from a file of some KiB. */
static void test_a_table_whose_pages_are_shared_ends(void **state)
{
    (void)state;
    struct error err = {0};
    sqlite3 *db;
    sqlite3_stmt *statement;
    enum { PAGE = 16384, DEPTH = 12, CELLS = 1000 };
    make_good("a.db");
    change("a.db",
           "DROP INDEX event_start; CREATE TABLE filler(b); INSERT INTO filler VALUES(zeroblob(400000))");
    assert_int_equal(sqlite3_open(in_folder("a.db"), &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT rootpage FROM sqlite_schema WHERE name IN ('event', 'filler') "
                           "ORDER BY name",
                           -1, &statement, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    unsigned event = (unsigned)sqlite3_column_int(statement, 0);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    unsigned filler = (unsigned)sqlite3_column_int(statement, 0) + 1;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    FILE *file = fopen(in_folder("a.db"), "r+");
    assert_non_null(file);
    static unsigned char leaf[PAGE], page[PAGE];
    assert_int_equal(fseek(file, (long)(event - 1) * PAGE, SEEK_SET), 0);
    assert_int_equal(fread(leaf, 1, PAGE, file), PAGE);
    assert_int_equal(leaf[0],
                     13); /* a leaf: becomes the last of the pages, and the root the first interior one */
    for (int level = 0; level <= DEPTH; level++) {
        unsigned child = filler + (unsigned)level;
        unsigned where = level == 0 ? event : filler + (unsigned)level - 1;
        memset(page, 0, PAGE);
        page[0] = 5;
        page[3] = CELLS >> 8;
        page[4] = CELLS & 255;
        page[5] = (PAGE - 5) >> 8;
        page[6] = (PAGE - 5) & 255;
        for (int i = 0; i < 4; i++)
            page[8 + i] = page[PAGE - 5 + i] = (unsigned char)(child >> (24 - 8 * i));
        page[PAGE - 1] = 1; /* the key */
        for (int i = 0; i < CELLS; i++) {
            page[12 + 2 * i] = (PAGE - 5) >> 8;
            page[13 + 2 * i] = (PAGE - 5) & 255;
        }
        assert_int_equal(fseek(file, (long)(where - 1) * PAGE, SEEK_SET), 0);
        assert_int_equal(fwrite(level == DEPTH ? leaf : page, 1, PAGE, file), PAGE);
    }
    assert_int_equal(fclose(file), 0);
    assert_false(use("a.db", &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.text, "damaged"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_good_one_is_read),
        TEST(test_ids_that_are_not_dense_take_no_memory),
        TEST(test_tables_are_tables),
        TEST(test_triggers_do_not_run),
        TEST(test_numbers_that_cannot_be),
        TEST(test_ids_that_are_not_there),
        TEST(test_a_sample_without_a_value_is_none),
        TEST(test_a_table_whose_pages_are_shared_ends),
    };
    return cmocka_run_group_tests_name("store_hostile", tests, NULL, NULL);
}
