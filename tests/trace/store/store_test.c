#include "trace/store/store.h"

#include "trace/traces.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct trace_event sample_read = {.class = TRACE_READ,
                                               .cached = 1,
                                               .start_ns = 1000,
                                               .latency_ns = 5,
                                               .fd = 3,
                                               .offset = 0,
                                               .size = 4096,
                                               .result = -9};

static void add_reads(struct trace_writer *writer, int64_t count)
{
    struct error err;
    struct trace_event event = sample_read;
    for (int64_t i = 0; i < count; i++) {
        event.start_ns = i;
        if (!trace_add_event(writer, &event, &err))
            fail_msg("%s", err.text);
    }
}

static int64_t count_events(const char *path, struct trace_filter filter)
{
    struct error err;
    struct trace_event event;
    int64_t count = 0, before = INT64_MIN;
    struct trace_reader *reader = open_trace(path);
    struct trace_cursor *cursor = trace_events(reader, &filter, &err);
    assert_non_null(cursor);
    for (; trace_next_event(cursor, &event); count++, before = event.start_ns)
        assert_true(event.start_ns >= before);
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
    return count;
}

static int entries(void)
{
    int count = 0;
    DIR *dir = opendir(folder.path);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void test_a_trace_is_one_file(void **state)
{
    (void)state;
    static const enum trace_mode modes[] = {TRACE_STORE_KEEP, TRACE_STORE_APPEND, TRACE_STORE_WHOLE};
    for (int i = 0; i < 3; i++) {
        struct trace_writer *writer = make_trace("a.db", modes[i]);
        add_reads(writer, 10);
        finish_trace(writer);
        assert_int_equal(entries(), 1);
    }
}

static void test_an_event_reads_back_as_it_was_written(void **state)
{
    (void)state;
    struct error err;
    struct trace_event event = sample_read, back;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    event.process = trace_process(writer, 7, 8, "python3", 7);
    event.file = trace_file(writer, TRACE_NONE, 12, "/data/a b", 9);
    event.call = trace_call(writer, "pread64", 7);
    assert_true(trace_add_event(writer, &event, &err));
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, &err);
    assert_true(trace_next_event(cursor, &back));
    assert_int_equal(back.class, TRACE_READ);
    assert_int_equal(back.cached, 1);
    assert_int_equal(back.start_ns, 1000);
    assert_int_equal(back.latency_ns, 5);
    assert_int_equal(back.fd, 3);
    assert_int_equal(back.offset, 0);
    assert_int_equal(back.size, 4096);
    assert_int_equal(back.result, -9);
    assert_int_equal(trace_process_info(reader, back.process)->pid, 7);
    assert_int_equal(trace_process_info(reader, back.process)->tid, 8);
    assert_string_equal(trace_process_info(reader, back.process)->name, "python3");
    assert_string_equal(trace_file_info(reader, back.file)->path, "/data/a b");
    assert_int_equal(trace_file_info(reader, back.file)->inode, 12);
    assert_true(trace_file_info(reader, back.file)->device == TRACE_NONE);
    assert_string_equal(trace_call_name(reader, back.call), "pread64");
    assert_false(trace_next_event(cursor, &back));
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
}

static void test_what_is_not_known_stays_so(void **state)
{
    (void)state;
    struct error err;
    struct trace_event back;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    assert_true(trace_add_event(writer,
                                &(struct trace_event){.class = TRACE_CLOSE,
                                                      .cached = -1,
                                                      .start_ns = 1,
                                                      .latency_ns = TRACE_NONE,
                                                      .fd = TRACE_NONE,
                                                      .offset = TRACE_NONE,
                                                      .size = TRACE_NONE,
                                                      .result = TRACE_NONE},
                                &err));
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, &err);
    assert_true(trace_next_event(cursor, &back));
    assert_int_equal(back.cached, -1);
    assert_true(back.latency_ns == TRACE_NONE && back.fd == TRACE_NONE && back.offset == TRACE_NONE);
    assert_true(back.size == TRACE_NONE && back.result == TRACE_NONE);
    assert_int_equal(back.process, 0);
    assert_string_equal(trace_process_info(reader, 0)->name, "");
    assert_string_equal(trace_file_info(reader, 99)->path, "");
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
}

static void test_blocks_samples_and_phases_read_back(void **state)
{
    (void)state;
    struct error err;
    struct trace_block block = {.op = TRACE_OP_WRITE,
                                .start_ns = 10,
                                .queue_ns = TRACE_NONE,
                                .service_ns = 30,
                                .sector = 8,
                                .bytes = 512,
                                .cause = 1},
                       block_back;
    struct trace_sample sample = {.time_ns = 99, .value = 12.5}, sample_back;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    block.disk = trace_disk(writer, "vda", 3);
    assert_int_equal(trace_process(writer, 7, TRACE_NONE, "kworker", 7), block.cause);
    sample.series = trace_series(writer, "cpu.usr", "all");
    assert_int_equal(trace_series(writer, "cpu.usr", "0"), sample.series + 1);
    assert_int_equal(trace_series(writer, "cpu.usr", "all"), sample.series);
    assert_true(trace_add_block(writer, &block, &err) && trace_add_sample(writer, &sample, &err));
    assert_true(trace_add_phase(writer, &(struct trace_phase){"EVAL", 5, 9, "dlio"}, &err));
    assert_true(trace_add_phase(writer, &(struct trace_phase){"INIT", 1, 3, "dlio"}, &err));
    finish_trace(writer);

    int phases;
    int64_t first, last;
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    struct trace_cursor *cursor =
        trace_blocks(reader, &(struct trace_filter){TRACE_OP_WRITE, 10, 11, false}, &err);
    assert_true(trace_next_block(cursor, &block_back));
    assert_int_equal(block_back.op, TRACE_OP_WRITE);
    assert_int_equal(block_back.start_ns, 10);
    assert_true(block_back.queue_ns == TRACE_NONE && block_back.process == 0 && block_back.file == 0);
    assert_int_equal(block_back.service_ns, 30);
    assert_int_equal(block_back.sector, 8);
    assert_int_equal(block_back.bytes, 512);
    assert_int_equal(block_back.cause, 1);
    assert_string_equal(trace_disk_name(reader, block_back.disk), "vda");
    assert_true(trace_cursor_close(cursor, &err));
    cursor = trace_samples(reader, &TRACE_ALL, &err);
    assert_true(trace_next_sample(cursor, &sample_back));
    assert_memory_equal(&sample_back, &sample, sizeof sample);
    assert_string_equal(trace_series_info(reader, sample_back.series)->kind, "cpu.usr");
    assert_string_equal(trace_series_info(reader, sample_back.series)->source, "all");
    assert_true(trace_cursor_close(cursor, &err));
    assert_string_equal(trace_phases(reader, &phases)[0].name, "INIT");
    assert_int_equal(phases, 2);
    assert_true(trace_span(reader, &first, &last, &err));
    assert_int_equal(first, 1);
    assert_int_equal(last, 99);
    trace_reader_free(reader);
}

static void test_a_range_of_one_class(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    add_reads(writer, 1000);
    finish_trace(writer);
    assert_int_equal(count_events(in_folder("a.db"), TRACE_ALL), 1000);
    assert_int_equal(count_events(in_folder("a.db"), (struct trace_filter){TRACE_READ, 100, 300, false}),
                     200);
    assert_int_equal(count_events(in_folder("a.db"), (struct trace_filter){TRACE_WRITE, 100, 300, true}), 0);
    assert_int_equal(count_events(in_folder("a.db"), (struct trace_filter){-1, 990, INT64_MAX, false}), 10);
}

static void test_appending_keeps_ids(void **state)
{
    (void)state;
    struct error err;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    int64_t file = trace_file(writer, 1, 2, "x", 1), series = trace_series(writer, "gpu.sm", "0");
    add_reads(writer, 10);
    finish_trace(writer);
    writer = trace_writer_new(in_folder("a.db"), TRACE_STORE_APPEND, &err);
    assert_non_null(writer);
    assert_int_equal(trace_file(writer, 1, 2, "x", 1), file);
    assert_int_equal(trace_series(writer, "gpu.sm", "0"), series);
    assert_int_equal(trace_file(writer, 1, 3, "x", 1), file + 1);
    add_reads(writer, 10);
    finish_trace(writer);
    assert_int_equal(count_events(in_folder("a.db"), TRACE_ALL), 20);
}

static bool is_unfinished(const char *name)
{
    struct trace_reader *reader = open_trace(in_folder(name));
    bool unfinished = trace_unfinished(reader);
    trace_reader_free(reader);
    return unfinished;
}

/* Killed in the middle of a batch: what was committed before can be read. */
static void test_a_killed_writer_leaves_what_it_committed(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
        publish_trace(writer);
        add_reads(writer, TRACE_BATCH + 1000);
        _exit(0); /* nothing is closed */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    int64_t kept = count_events(in_folder("a.db"), TRACE_ALL);
    assert_true(kept >= TRACE_BATCH - 100 && kept <= TRACE_BATCH);
    assert_true(is_unfinished("a.db"));
}

/* Adds until no more can be written; the error says so. */
static void fill_disk(struct trace_writer *writer, struct error *err)
{
    bool going = true;
    limit_file_size(4 << 20);
    for (int i = 0; going && i < 1000000; i++)
        going = trace_add_event(writer, &sample_read, err);
    limit_file_size(0);
    assert_false(going);
}

static void test_a_full_disk_keeps_what_was_committed(void **state)
{
    (void)state;
    struct error err = {0};
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    publish_trace(writer);
    fill_disk(writer, &err);
    assert_non_null(strstr(err.text, "committed before is kept"));
    assert_false(trace_add_event(writer, &sample_read, &err));
    assert_int_equal(trace_call(writer, "x", 1), 0);
    assert_false(trace_writer_close(writer, &err));
    int64_t kept = count_events(in_folder("a.db"), TRACE_ALL);
    assert_true(kept > 0 && kept % 1000 != 0);
    assert_true(is_unfinished("a.db"));
}

static void test_a_full_disk_leaves_no_half_import(void **state)
{
    (void)state;
    struct error err = {0};
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    fill_disk(writer, &err);
    assert_non_null(strstr(err.text, "nothing was stored"));
    assert_false(trace_writer_close(writer, &err));
    assert_int_equal(rmdir(folder.path), 0); /* it is empty */
    assert_int_equal(mkdir(folder.path, 0700), 0);
}

static void test_a_dropped_import_leaves_no_file(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    add_reads(writer, 10);
    trace_writer_drop(writer);
    assert_int_equal(rmdir(folder.path), 0);
    assert_int_equal(mkdir(folder.path, 0700), 0);
}

static void test_a_trace_is_replaced_another_file_is_not(void **state)
{
    (void)state;
    struct error err;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    add_reads(writer, 10);
    finish_trace(writer);
    finish_trace(make_trace("a.db", TRACE_STORE_KEEP));
    assert_int_equal(count_events(in_folder("a.db"), TRACE_ALL), 0);
    write_file("notes.txt", "do not lose me, please: I am long enough\n");
    assert_null(trace_writer_new(in_folder("notes.txt"), TRACE_STORE_WHOLE, &err));
    assert_non_null(strstr(err.text, "is not a trace: not overwritten"));
    assert_int_equal(access(in_folder("notes.txt"), F_OK), 0);
}

/* Nobody asked for it: an older trace stays. */
static void test_a_trace_is_replaced_only_when_that_is_asked_for(void **state)
{
    (void)state;
    struct error err;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    add_reads(writer, 10);
    finish_trace(writer);
    assert_null(trace_writer_new(in_folder("a.db"), TRACE_STORE_KEEP, &err));
    assert_non_null(strstr(err.text, "exists: --force replaces it"));
    assert_null(trace_writer_new(in_folder("a.db"), TRACE_STORE_WHOLE, &err));
    /* and one that comes meanwhile, too */
    writer = trace_writer_new(in_folder("b.db"), TRACE_STORE_KEEP, &err);
    finish_trace(make_trace("b.db", TRACE_STORE_WHOLE));
    assert_false(trace_writer_publish(writer, &err));
    assert_non_null(strstr(err.text, "b.db: cannot write: File exists"));
    assert_false(trace_writer_close(writer, &err));
    assert_int_equal(count_events(in_folder("a.db"), TRACE_ALL), 10);
    assert_int_equal(entries(), 2);
}

/* Until it is published, an older trace stays, and nothing of the new one when it is dropped. */
static void test_an_older_trace_stays_until_the_new_one_has_begun(void **state)
{
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    add_reads(writer, 10);
    finish_trace(writer);
    writer = make_trace("a.db", TRACE_STORE_KEEP);
    add_reads(writer, 3);
    assert_int_equal(count_events(in_folder("a.db"), TRACE_ALL), 10);
    trace_writer_drop(writer);
    assert_int_equal(count_events(in_folder("a.db"), TRACE_ALL), 10);
    writer = make_trace("a.db", TRACE_STORE_KEEP);
    add_reads(writer, 3);
    publish_trace(writer);
    add_reads(writer, 4);
    finish_trace(writer);
    assert_int_equal(count_events(in_folder("a.db"), TRACE_ALL), 7);
    assert_int_equal(entries(), 1);
}

/* SQLite takes NAME-journal and NAME-wal for its own, and removes them. */
static void test_unrelated_files_stay(void **state)
{
    static const char *const names[] = {"a.db-journal", "a.db-wal"};
    (void)state;
    struct error err;
    for (int i = 0; i < 2; i++) {
        write_file(names[i], "do not lose me, please\n");
        assert_null(trace_writer_new(in_folder("a.db"), TRACE_STORE_KEEP, &err));
        assert_non_null(strstr(err.text, "is in the way: SQLite would take it for a part of"));
        assert_null(trace_writer_new(in_folder("a.db"), TRACE_STORE_WHOLE | TRACE_STORE_REPLACE, &err));
        assert_int_equal(entries(), 1);
        assert_int_equal(unlink(in_folder(names[i])), 0);
    }
    finish_trace(make_trace("a.db", TRACE_STORE_WHOLE));
    write_file("a.db-journal", "do not lose me, please\n");
    assert_null(trace_writer_new(in_folder("a.db"), TRACE_STORE_KEEP | TRACE_STORE_REPLACE, &err));
    assert_non_null(strstr(err.text, "is in the way"));
    assert_int_equal(access(in_folder("a.db-journal"), F_OK), 0);
}

/* Its journal is played back, and not into the trace that replaces it. */
static void test_the_trace_of_a_killed_writer_is_replaced(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
        publish_trace(writer);
        add_reads(writer, TRACE_BATCH + 1000);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    publish_trace(writer);
    add_reads(writer, 7);
    finish_trace(writer);
    assert_int_equal(count_events(in_folder("a.db"), TRACE_ALL), 7);
    assert_int_equal(entries(), 1);
}

static void test_an_empty_trace_can_be_read(void **state)
{
    (void)state;
    struct error err;
    int64_t first, last;
    finish_trace(make_trace("a.db", TRACE_STORE_WHOLE));
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    assert_true(trace_span(reader, &first, &last, &err));
    assert_true(first == TRACE_NONE && last == TRACE_NONE);
    assert_int_equal(trace_lost(reader), 0);
    assert_null(trace_meta(reader, "host"));
    trace_reader_free(reader);
    assert_int_equal(count_events(in_folder("a.db"), TRACE_ALL), 0);
}

static void test_lost_and_meta_add_up(void **state)
{
    (void)state;
    struct error err;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    assert_true(trace_add_lost(writer, "read", 3, 50, 60, &err) &&
                trace_add_lost(writer, "read", 4, 40, 70, &err) &&
                trace_add_lost(writer, "read", 0, TRACE_NONE, TRACE_NONE, &err) &&
                trace_add_lost(writer, "write", 1, TRACE_NONE, TRACE_NONE, &err));
    assert_true(trace_set_meta(writer, "host", "a", &err) && trace_set_meta(writer, "host", "b", &err));
    finish_trace(writer);
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    int count;
    const struct trace_loss *losses = trace_losses(reader, &count);
    assert_int_equal(trace_lost(reader), 8);
    assert_int_equal(count, 2);
    assert_true(losses[0].count == 7 && losses[0].from_ns == 40 && losses[0].to_ns == 70);
    assert_true(losses[1].count == 1 && losses[1].from_ns == TRACE_NONE && losses[1].to_ns == TRACE_NONE);
    assert_string_equal(trace_meta(reader, "host"), "b");
    trace_reader_free(reader);
}

/* ---- is all there? ---- */

static void check_unfinished(bool unfinished, const char *warnings)
{
    struct text out = {0};
    struct trace_reader *reader = open_trace(in_folder("a.db"));
    assert_int_equal(trace_unfinished(reader), unfinished);
    trace_add_warnings(reader, &out);
    assert_string_equal(out.data ? out.data : "", warnings);
    text_release(&out);
    trace_reader_free(reader);
}

static void test_an_unfinished_trace_says_so(void **state)
{
    struct error err;
    (void)state;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_KEEP);
    struct trace_event event = sample_read;
    event.start_ns = 1700000000000000000;
    assert_true(trace_add_event(writer, &event, &err));
    event.start_ns += 2500000000;
    event.latency_ns = 0;
    assert_true(trace_add_event(writer, &event, &err));
    assert_true(trace_add_lost(writer, "read", 2, 1700000001000000000, 1700000002000000000, &err));
    assert_true(trace_writer_commit(writer, &err));
    publish_trace(writer);
    trace_writer_drop(writer);
    check_unfinished(true, "unfinished: the recording ends 2.500 s after its beginning\n"
                           "lost: 2 read events, between 1.000 s and 2.000 s\n");
    /* and still does when something is added */
    writer = trace_writer_new(in_folder("a.db"), TRACE_STORE_APPEND, &err);
    assert_non_null(writer);
    finish_trace(writer);
    check_unfinished(true, "unfinished: the recording ends 2.500 s after its beginning\n"
                           "lost: 2 read events, between 1.000 s and 2.000 s\n");
    writer = make_trace("a.db", TRACE_STORE_KEEP);
    trace_writer_cut(writer);
    finish_trace(writer);
    check_unfinished(true, "unfinished: the recording ends 0 s after its beginning\n");
    finish_trace(make_trace("a.db", TRACE_STORE_KEEP));
    check_unfinished(false, "");
    finish_trace(make_trace("a.db", TRACE_STORE_WHOLE));
    check_unfinished(false, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_trace_is_one_file),
        TEST(test_an_event_reads_back_as_it_was_written),
        TEST(test_what_is_not_known_stays_so),
        TEST(test_blocks_samples_and_phases_read_back),
        TEST(test_a_range_of_one_class),
        TEST(test_appending_keeps_ids),
        TEST(test_a_killed_writer_leaves_what_it_committed),
        TEST(test_a_full_disk_keeps_what_was_committed),
        TEST(test_a_full_disk_leaves_no_half_import),
        TEST(test_a_dropped_import_leaves_no_file),
        TEST(test_a_trace_is_replaced_another_file_is_not),
        TEST(test_a_trace_is_replaced_only_when_that_is_asked_for),
        TEST(test_an_older_trace_stays_until_the_new_one_has_begun),
        TEST(test_unrelated_files_stay),
        TEST(test_the_trace_of_a_killed_writer_is_replaced),
        TEST(test_an_empty_trace_can_be_read),
        TEST(test_lost_and_meta_add_up),
        TEST(test_an_unfinished_trace_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
