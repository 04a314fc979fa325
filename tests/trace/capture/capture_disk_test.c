/* Page faults, the page cache and requests to disks, as `rehearse trace` records them of a program of known content. */
#include "support/capture_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Of each page that was touched there is a fault that asked for it, and it had to be read. */
static void page_faults_on_files_are_recorded(void **state)
{
    struct capture_run run;
    int faults[64] = {0}, missed = 0;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "faults", 0);
    capture_read_events(&run);
    capture_compare(run.log);
    for (int i = 0; i < seen_count; i++) {
        if (strncmp(seen[i].call, "fault", 5) != 0)
            continue;
        assert_true(seen[i].offset >= 0 && seen[i].offset % 4096 == 0);
        missed += seen_events[i].cached == 0;
        for (int64_t at = seen[i].offset; at < seen[i].offset + seen[i].size; at += 4096)
            faults[at / 4096 % 64]++;
    }
    for (int i = 0; i < 64; i++)
        assert_true(faults[i] >= 1);
    assert_true(missed > 0);
    capture_remove(&run);
}

/* Pages that are mapped because they are beside the one that was missing are no faults. */
static void pages_mapped_around_are_no_faults(void **state)
{
    struct capture_run run;
    int64_t counted = -1;
    int rows = 0, hits = 0;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "around", 0);
    capture_read_events(&run);
    capture_compare(run.log);
    for (int i = 0; i < seen_count; i++) {
        if (strcmp(seen[i].call, "write") == 0 && strstr(seen[i].path, "/count"))
            counted = seen[i].size;
        bool fault = seen_events[i].class == TRACE_FAULT && strstr(seen[i].path, "/around");
        rows += fault;
        hits += fault && seen_events[i].cached == 1;
    }
    assert_in_range(counted, 1, 256);
    assert_int_equal(rows, counted);
    assert_true(hits < rows);
    capture_remove(&run);
}

static void hits_of_the_page_cache_are_told(void **state)
{
    static const int cached[] = {0, 1, 0, 0}; /* new, again, another part, past the cache */
    struct capture_run run;
    int reads = 0;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "cached", 0);
    capture_read_events(&run);
    for (int i = 0; i < seen_count; i++)
        if (strcmp(seen[i].call, "pread64") == 0) {
            if (seen[i].result < 0) { /* a file system without O_DIRECT */
                assert_int_equal(reads, 3);
                continue;
            }
            assert_in_range(reads, 0, 3);
            assert_int_equal(seen_events[i].cached, cached[reads]);
            reads++;
        }
    assert_true(reads >= 3);
    capture_remove(&run);
}

/* When the last request for a file's bytes was done; 0: there was none. */
static int64_t last_request(struct trace_reader *reader, int64_t file)
{
    struct error err;
    struct trace_block block;
    int64_t last = 0;
    const struct trace_filter reads = {TRACE_OP_READ, INT64_MIN, INT64_MAX, false};
    struct trace_cursor *cursor = trace_blocks(reader, &reads, &err);
    assert_non_null(cursor);
    while (trace_next_block(cursor, &block)) {
        int64_t end = block.start_ns + block.queue_ns + block.service_ns;
        if (block.file == file && end > last)
            last = end;
    }
    assert_true(trace_cursor_close(cursor, &err));
    return last;
}

/* What read-ahead has asked for is in the page cache before its bytes are: a read that waits for them is no hit. */
static void a_read_that_waits_for_read_ahead_is_no_hit(void **state)
{
    struct capture_run run;
    struct error err;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "ahead", 0);
    capture_read_events(&run);
    struct trace_reader *reader = trace_reader_new(run.store, &err);
    assert_non_null(reader);
    int reads = 0, late = 0, awaited = 0;
    for (int i = 0; i < seen_count; i++) {
        const struct trace_event *read = &seen_events[i];
        if (strcmp(seen[i].call, "pread64") != 0)
            continue;
        if (reads++ % 2 == 1) { /* it was there */
            assert_int_equal(read->cached, 1);
            continue;
        }
        late += last_request(reader, read->file) > read->start_ns;
        awaited += read->cached == 0;
    }
    /* A thread that lost its processor just then need not wait any more; not each time. */
    assert_int_equal(reads, 32);
    assert_true(late < 8 || awaited > 0);
    trace_reader_free(reader);
    capture_remove(&run);
}

/* What it writes and reads reaches the disk as requests of the same bytes, for the process that asked. */
static void disk_requests_have_a_cause(void **state)
{
    struct capture_run run;
    struct error err;
    struct trace_block block;
    int64_t written = 0, got = 0;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "cached", 0);
    static struct act done[MAX_ACTS];
    assert_true(capture_read_log(run.log, done) > 0);
    struct trace_reader *reader = trace_reader_new(run.store, &err);
    assert_non_null(reader);
    struct trace_cursor *cursor = trace_blocks(reader, &TRACE_ALL, &err);
    while (trace_next_block(cursor, &block)) {
        assert_true(block.queue_ns >= 0 && block.service_ns > 0);
        if (trace_process_info(reader, block.cause)->pid != done[0].pid)
            continue;
        assert_true((block.op == TRACE_OP_FLUSH) == (block.bytes == 0));
        written += block.op == TRACE_OP_WRITE ? block.bytes : 0;
        got += block.op == TRACE_OP_READ ? block.bytes : 0;
    }
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
    if (written + got == 0) {
        capture_remove(&run);
        print_message("# skipped: the folder is not on a disk\n");
        skip();
    }
    assert_true(written >= 1048576);
    assert_true(got >= 65536 + 4096 + 65536);
    capture_remove(&run);
}

/* Requests past the page cache have the file they are for, however they were asked for. */
static void direct_requests_have_their_file(void **state)
{
    static const char *const names[] = {"plain", "ring", "aio", "both-1", "both-2"};
    struct capture_run run;
    struct error err;
    struct trace_block block;
    int64_t bytes[5][2] = {{0}}, others = 0;
    (void)state;
    capture_need_bpf();
    capture_acts(&run, "direct", 0);
    struct trace_reader *reader = trace_reader_new(run.store, &err);
    assert_non_null(reader);
    struct trace_cursor *cursor = trace_blocks(reader, &TRACE_ALL, &err);
    while (trace_next_block(cursor, &block)) {
        const char *path = trace_file_info(reader, block.file)->path, *name = strrchr(path, '/');
        int i = 0;
        while (i < 5 && (!name || strcmp(name + 1, names[i]) != 0))
            i++;
        if (i < 5 && block.op <= TRACE_OP_WRITE)
            bytes[i][block.op] += block.bytes;
        others += i == 5 && block.bytes == 65536;
    }
    assert_true(trace_cursor_close(cursor, &err));
    trace_reader_free(reader);
    int64_t all = 0;
    for (int i = 0; i < 5; i++)
        all += bytes[i][0] + bytes[i][1];
    if (all + others == 0) {
        capture_remove(&run);
        print_message("# skipped: the folder is not on a disk\n");
        skip();
    }
    /* the last two are asked for at once: a busy disk merges them into one request, which is the first one's */
    for (int op = TRACE_OP_READ; op <= TRACE_OP_WRITE; op++) {
        bytes[3][op] += bytes[4][op];
        for (int i = 0; i < 4; i++)
            if (bytes[i][op] != (i < 3 ? 65536 : 2 * 65536))
                fail_msg("%s: operation %d on %lld bytes", names[i], op, (long long)bytes[i][op]);
    }
    capture_remove(&run);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "act") == 0)
        return acts_main(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_faults_on_files_are_recorded),
        cmocka_unit_test(pages_mapped_around_are_no_faults),
        cmocka_unit_test(hits_of_the_page_cache_are_told),
        cmocka_unit_test(a_read_that_waits_for_read_ahead_is_no_hit),
        cmocka_unit_test(disk_requests_have_a_cause),
        cmocka_unit_test(direct_requests_have_their_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
