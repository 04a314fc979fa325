/* The schema of stores: what is one, of which version, what its views say, and the kinds and classes that it tells apart. */
#include "trace/store/store.h"

#include "trace/traces.h"

#include <sqlite3.h>
#include <stdio.h>

/* A read of which only the result and the file matter. */
static const struct trace_event sample_read = {
    .class = TRACE_READ, .cached = 1, .start_ns = 1000, .latency_ns = 5, .fd = 3, .size = 4096};

static void check_refused(const char *name, const char *part)
{
    struct error err;
    assert_null(trace_reader_new(in_folder(name), &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
}

static void run_sql(const char *name, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(in_folder(name), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void test_files_that_are_no_trace_are_named(void **state)
{
    (void)state;
    check_refused("none.db", "No such file");
    write_file("text.db", "this is text and no database, even if it is long enough to be one; is it? "
                          "no: a header of SQLite has a hundred bytes of its own making\n");
    check_refused("text.db", "is not a database");
    run_sql("other.db", "CREATE TABLE a(b)");
    check_refused("other.db", "but not a trace");
    finish_trace(make_trace("newer.db", TRACE_STORE_KEEP));
    run_sql("newer.db", "PRAGMA user_version = 3");
    check_refused("newer.db", "schema version 3, this program knows version 2: use a newer program");
    run_sql("newer.db", "PRAGMA user_version = 1");
    check_refused("newer.db", "schema version 1, this program knows version 2: record or import it again");
    finish_trace(make_trace("cut.db", TRACE_STORE_KEEP));
    run_sql("cut.db", "DROP TABLE process");
    check_refused("cut.db", "damaged");
}

/* ---- what a file is ---- */

static void test_paths_tell_kinds(void **state)
{
    static const struct {
        const char *path;
        enum trace_kind kind;
    } cases[] = {
        {"", TRACE_KIND_FILE},
        {"/data/a", TRACE_KIND_FILE},
        {"a:[b]/c", TRACE_KIND_FILE},
        {"TCP", TRACE_KIND_FILE},
        {"/dev/shm/torch_1", TRACE_KIND_FILE},
        {"pipe:[77]", TRACE_KIND_PIPE},
        {"socket:[77]", TRACE_KIND_SOCKET},
        {"TCPv6:[[::1]:80->[::1]:99]", TRACE_KIND_SOCKET},
        {"UNIX-STREAM:[7->8, \"/run/a\"]", TRACE_KIND_SOCKET},
        {"/dev/vda", TRACE_KIND_DEVICE},
        {"/dev/nvidia0", TRACE_KIND_DEVICE},
        {"/dev/pts/0", TRACE_KIND_OTHER},
        {"anon_inode:[eventpoll]", TRACE_KIND_OTHER},
        {"net:[4026531840]", TRACE_KIND_OTHER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(trace_kind_of_path(cases[i].path, strlen(cases[i].path)), cases[i].kind);
    assert_string_equal(trace_kind_name(TRACE_KIND_OTHER), "other");
}

/* A read of each kind, of a FIFO with a file's name and of nothing that has a name: its sizes are 1, 2, 4, … */
static void make_kinds(const char *name)
{
    static const char *const paths[] = {"/data/a",   "pipe:[1]",   "TCP:[a->b]",
                                        "/dev/vda1", "/dev/pts/0", "/data/deep/b"};
    struct error err;
    struct trace_event event = sample_read;
    struct trace_writer *writer = make_trace(name, TRACE_STORE_KEEP);
    event.result = 1;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++, event.result *= 2) {
        event.file = trace_file(writer, TRACE_NONE, TRACE_NONE, paths[i], strlen(paths[i]));
        assert_true(trace_add_event(writer, &event, &err));
    }
    event.file = trace_file_of_kind(writer, TRACE_NONE, TRACE_NONE, TRACE_KIND_PIPE, "/data/fifo", 10);
    assert_true(trace_add_event(writer, &event, &err));
    event.file = 0;
    event.result *= 2;
    assert_true(trace_add_event(writer, &event, &err));
    finish_trace(writer);
}

/* The sum of the results that are selected: one bit each. */
static int64_t sum_of(struct trace_reader *reader, unsigned kinds, const char *path)
{
    struct error err;
    struct trace_event event;
    int64_t sum = 0;
    assert_true(trace_select(reader, &(struct trace_selection){kinds, path}, &err));
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, &err);
    while (trace_next_event(cursor, &event))
        sum += event.result;
    assert_true(trace_cursor_close(cursor, &err));
    return sum;
}

static void check_kinds(const char *name)
{
    struct error err;
    struct trace_reader *reader = open_trace(in_folder(name));
    assert_int_equal(sum_of(reader, 0, NULL), 255);
    assert_int_equal(sum_of(reader, 1u << TRACE_KIND_FILE, NULL), 1 + 32 + 128);
    assert_int_equal(sum_of(reader, 1u << TRACE_KIND_PIPE, NULL), 2 + 64 + 128);
    assert_int_equal(sum_of(reader, 1u << TRACE_KIND_SOCKET | 1u << TRACE_KIND_DEVICE, NULL), 4 + 8 + 128);
    assert_int_equal(sum_of(reader, 1u << TRACE_KIND_OTHER, NULL), 16 + 128);
    assert_int_equal(sum_of(reader, 0, "/data/*"), 1 + 32 + 64);
    assert_int_equal(sum_of(reader, 1u << TRACE_KIND_FILE, "*deep*"), 32);
    assert_false(trace_select(reader, &(struct trace_selection){0, "/dta/*"}, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    trace_reader_free(reader);
}

static void test_kinds_are_apart(void **state)
{
    (void)state;
    make_kinds("a.db");
    check_kinds("a.db");
}

static int64_t ask(const char *name, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(in_folder(name), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

/* Views that sum up data count what files gave. */
static void test_views_are_of_files(void **state)
{
    (void)state;
    make_kinds("a.db");
    assert_int_equal(ask("a.db", "SELECT sum(bytes_read) FROM throughput"), 1 + 32 + 128);
    assert_int_equal(ask("a.db", "SELECT calls FROM latency WHERE kind = 'pipe'"), 2);
    assert_int_equal(ask("a.db", "SELECT count(*) FROM io WHERE kind = 'pipe'"), 2);
    assert_int_equal(ask("a.db", "SELECT bytes_read FROM bytes_per_file WHERE kind = 'device'"), 8);
}

/* Each view answers; the sums of bytes_per_file are checked by hand. */
static void test_views_answer(void **state)
{
    (void)state;
    struct error err;
    sqlite3 *db;
    sqlite3_stmt *statement;
    struct trace_event event = sample_read;
    static const char *const views[] = {"io",         "block_io",        "samples",  "bytes_per_process",
                                        "throughput", "disk_throughput", "hit_rate", "slowest",
                                        "latency"};
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    event.file = trace_file(writer, 1, 1, "f", 1);
    for (event.result = -2; event.result < 5; event.result++)
        assert_true(trace_add_event(writer, &event, &err));
    finish_trace(writer);
    assert_int_equal(sqlite3_open(in_folder("a.db"), &db), SQLITE_OK);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        char sql[100];
        snprintf(sql, sizeof sql, "SELECT * FROM %s", views[i]);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT reads, bytes_read, bytes_written FROM bytes_per_file", -1,
                                        &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 7);
    assert_int_equal(sqlite3_column_int(statement, 1), 1 + 2 + 3 + 4);
    assert_int_equal(sqlite3_column_int(statement, 2), 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void test_calls_have_classes(void **state)
{
    (void)state;
    assert_int_equal(trace_class_of_call("pread64", 7), TRACE_READ);
    assert_int_equal(trace_class_of_call("openat2", 7), TRACE_OPEN);
    assert_int_equal(trace_class_of_call("futex", 5), TRACE_OTHER);
    assert_string_equal(trace_class_name(TRACE_REGION), "region");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_files_that_are_no_trace_are_named),
        TEST(test_paths_tell_kinds),
        TEST(test_kinds_are_apart),
        TEST(test_views_are_of_files),
        TEST(test_views_answer),
        TEST(test_calls_have_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
