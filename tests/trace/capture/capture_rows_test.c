/* Rows of records as the programs in the kernel send them, without a kernel. */
#include "trace/capture/rows.h"

#include "trace/traces.h"

#define TO_UTC INT64_C(1000000)
#define PID    4000001 /* above every process */

static struct capture_rows rows;
static struct trace_writer *writer;
static struct trace_reader *reader;
static struct capture_clients clients;

static int setup(void **state)
{
    int failed = folder_setup(state);
    writer = make_trace("run.db", TRACE_STORE_WHOLE);
    clients = (struct capture_clients){0};
    capture_rows_init(&rows, writer, &clients, TO_UTC);
    return failed;
}

static int teardown(void **state)
{
    trace_reader_free(reader);
    reader = NULL;
    return folder_teardown(state);
}

static void finish(void)
{
    capture_rows_release(&rows);
    finish_trace(writer);
    reader = open_trace(in_folder("run.db"));
}

static int number_of(const struct capture_call *calls, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].number;
    fail_msg("no call '%s'", name);
    return 0;
}

static uint16_t call(const char *name)
{
    size_t count;
    const struct capture_call *calls = capture_calls(&count);
    return (uint16_t)number_of(calls, count, name);
}

static uint16_t opcode(const char *name)
{
    size_t count;
    const struct capture_call *calls = capture_opcodes(&count);
    return (uint16_t)number_of(calls, count, name);
}

/* Sends a record with its texts, each with the NUL at its end; NULL: the text is empty. */
static void send(struct capture_record record, const char *const texts[CAPTURE_TEXTS])
{
    struct {
        struct capture_record record;
        char text[1024];
    } sent = {.record = record};
    size_t at = 0;
    for (int i = 0; texts && i < CAPTURE_TEXTS; i++) {
        size_t bytes = texts[i] ? strlen(texts[i]) + 1 : 0;
        memcpy(sent.text + at, texts[i] ? texts[i] : "", bytes);
        sent.record.texts[i] = (uint16_t)bytes;
        at += bytes;
    }
    if (!capture_rows_add(&rows, &sent, sizeof sent.record + at))
        fail_msg("%s", rows.err.text);
}

static struct capture_record record_of(uint32_t kind, uint16_t number)
{
    return (struct capture_record){.kind = kind,
                                   .number = number,
                                   .cached = 2,
                                   .pid = PID,
                                   .tid = PID,
                                   .start = 5000,
                                   .latency = 70,
                                   .fd = -1,
                                   .offset = CAPTURE_NOWHERE,
                                   .size = CAPTURE_NOWHERE};
}

static int read_events(struct trace_event *events, int room)
{
    struct error err;
    int count = 0;
    struct trace_filter filter = TRACE_ALL;
    filter.as_written = true;
    struct trace_cursor *cursor = trace_events(reader, &filter, &err);
    while (count < room && trace_next_event(cursor, &events[count]))
        count++;
    assert_true(trace_cursor_close(cursor, &err));
    return count;
}

static const char *path_of(const struct trace_event *event)
{
    return trace_file_info(reader, event->file)->path;
}

static const char *call_of(const struct trace_event *event)
{
    return trace_call_name(reader, event->call);
}

static void calls_become_rows(void **state)
{
    (void)state;
    struct trace_event events[8];
    struct capture_record opened = record_of(CAPTURE_CALL, call("openat"));
    opened.file = 77;
    opened.inode = 9;
    opened.device = 8u << 20 | 1;
    opened.mode = S_IFREG;
    opened.fd = opened.result = 5;
    send(opened, (const char *const[CAPTURE_TEXTS]){NULL, "a.npz"});
    struct capture_record read = record_of(CAPTURE_CALL, call("pread64"));
    read.file = 77;
    read.inode = 9;
    read.device = 8u << 20 | 1;
    read.mode = S_IFREG;
    read.fd = 5;
    read.offset = 4096;
    read.size = 512;
    read.result = -5;
    read.cached = 1;
    read.tid = PID + 1;
    send(read, NULL);
    struct capture_record copied = read;
    copied.part = 1;
    copied.cached = 0;
    copied.number = call("sendfile");
    send(copied, NULL);
    finish();
    assert_int_equal(read_events(events, 8), 3);
    assert_int_equal(events[0].class, TRACE_OPEN);
    assert_int_equal(events[0].start_ns, 5000 + TO_UTC);
    assert_int_equal(events[0].latency_ns, 70);
    assert_int_equal(events[0].cached, -1);
    assert_int_equal(events[0].fd, 5);
    assert_string_equal(path_of(&events[0]), "/a.npz");
    assert_int_equal(trace_file_info(reader, events[0].file)->inode, 9);
    assert_int_equal(trace_file_info(reader, events[0].file)->device, capture_device(8u << 20 | 1));
    assert_int_equal(trace_file_info(reader, events[0].file)->kind, TRACE_KIND_FILE);
    assert_int_equal(events[1].class, TRACE_READ);
    assert_string_equal(call_of(&events[1]), "pread64");
    assert_int_equal(events[1].file, events[0].file);
    assert_int_equal(events[1].cached, 1);
    assert_true(events[1].offset == 4096 && events[1].size == 512 && events[1].result == -5);
    assert_int_equal(trace_process_info(reader, events[1].process)->tid, PID + 1);
    assert_int_equal(trace_process_info(reader, events[1].process)->pid, PID);
    assert_int_equal(events[2].class, TRACE_WRITE);
    assert_int_equal(events[2].cached, 0);
}

static void a_second_path_is_a_row_of_its_own(void **state)
{
    (void)state;
    struct trace_event events[8];
    struct capture_record renamed = record_of(CAPTURE_CALL, call("renameat2"));
    send(renamed, (const char *const[CAPTURE_TEXTS]){"old", "dir", "/new", NULL});
    finish();
    assert_int_equal(read_events(events, 8), 2);
    assert_int_equal(events[0].class, TRACE_RENAME);
    assert_string_equal(path_of(&events[0]), "/dir/old");
    assert_int_equal(events[0].fd, TRACE_NONE);
    assert_int_equal(events[1].class, TRACE_OTHER);
    assert_string_equal(path_of(&events[1]), "/new");
    assert_string_equal(call_of(&events[1]), "new_name");
    assert_int_equal(events[1].latency_ns, 0);
}

static void paths_of_requests_come_first(void **state)
{
    (void)state;
    struct trace_event events[8];
    struct capture_record named = record_of(CAPTURE_NAMED, 0);
    named.file = 1234;
    send(named, (const char *const[CAPTURE_TEXTS]){"/from", NULL, "/to", NULL});
    struct capture_record request = record_of(CAPTURE_REQUEST, opcode("io_uring:renameat"));
    request.part = 1;
    request.file = 1234;
    send(request, NULL);
    request.file = 99; /* its paths were lost */
    send(request, NULL);
    request = record_of(CAPTURE_REQUEST, opcode("io_submit:read"));
    request.result = 8;
    send(request, NULL);
    finish();
    assert_int_equal(read_events(events, 8), 4);
    assert_int_equal(events[0].class, TRACE_RENAME);
    assert_string_equal(path_of(&events[0]), "/from");
    assert_string_equal(path_of(&events[1]), "/to");
    assert_string_equal(path_of(&events[2]), "");
    assert_int_equal(events[3].class, TRACE_READ);
    assert_string_equal(call_of(&events[3]), "io_submit:read");
}

static void faults_and_absences_have_their_names(void **state)
{
    (void)state;
    struct trace_event events[8];
    send(record_of(CAPTURE_FAULT, 0), NULL);
    send(record_of(CAPTURE_FAULT, 1), NULL);
    send(record_of(CAPTURE_OFFCPU, 0), NULL);
    finish();
    assert_int_equal(read_events(events, 8), 3);
    assert_true(events[0].class == TRACE_FAULT && events[1].class == TRACE_FAULT);
    assert_string_equal(call_of(&events[0]), "fault");
    assert_string_equal(call_of(&events[1]), "fault:write");
    assert_int_equal(events[2].class, TRACE_OFFCPU);
    assert_string_equal(call_of(&events[2]), "offcpu");
}

static const struct trace_process_info *process_named(const char *name)
{
    for (int64_t id = 1; id <= trace_process_count(reader); id++)
        if (strcmp(trace_process_info(reader, id)->name, name) == 0)
            return trace_process_info(reader, id);
    fail_msg("no process '%s'", name);
    return NULL;
}

static void processes_begin_and_end(void **state)
{
    (void)state;
    struct capture_record forked = record_of(CAPTURE_FORK, 0);
    forked.tid = PID + 7;
    send(forked, (const char *const[CAPTURE_TEXTS]){"sh"});
    struct capture_record executed = record_of(CAPTURE_EXEC, 0);
    executed.pid = executed.tid = PID + 7;
    executed.start = 6000;
    send(executed, (const char *const[CAPTURE_TEXTS]){"/bin/none", "python", "python", NULL});
    struct capture_record thread = record_of(CAPTURE_CALL, call("fsync"));
    thread.pid = PID + 7;
    thread.tid = PID + 8;
    send(thread, NULL);
    struct capture_record named = record_of(CAPTURE_NAME, 0);
    named.pid = PID + 7;
    named.tid = PID + 8;
    send(named, (const char *const[CAPTURE_TEXTS]){"loader"});
    int *pids;
    assert_int_equal(capture_rows_alive(&rows, &pids), 1);
    assert_int_equal(pids[0], PID + 7);
    free(pids);
    struct capture_record ended = record_of(CAPTURE_EXIT, 0);
    ended.pid = ended.tid = PID + 7;
    ended.start = 9000;
    send(ended, NULL);
    assert_int_equal(capture_rows_alive(&rows, &pids), 0);
    free(pids);
    finish();
    const struct trace_process_info *shell = process_named("sh"), *python = process_named("python");
    assert_int_equal(shell->parent_pid, PID);
    assert_int_equal(shell->start_ns, 5000 + TO_UTC);
    assert_int_equal(shell->end_ns, 6000 + TO_UTC);
    assert_int_equal(python->pid, PID + 7);
    assert_int_equal(python->start_ns, 6000 + TO_UTC);
    assert_int_equal(python->end_ns, 9000 + TO_UTC);
    assert_string_equal(python->command, "python");
    assert_int_equal(process_named("loader")->tid, PID + 8);
}

static void a_command_line_has_blanks_between_its_words(void **state)
{
    (void)state;
    struct {
        struct capture_record record;
        char text[64];
    } sent = {.record = record_of(CAPTURE_EXEC, 0)};
    static const char text[] = "/bin/none\0"
                               "sh\0"
                               "sh\0-c\0a b\0\0";
    memcpy(sent.text, text, sizeof text - 1);
    sent.record.texts[0] = 10;
    sent.record.texts[1] = 3;
    sent.record.texts[2] = sizeof text - 1 - 13;
    assert_true(capture_rows_add(&rows, &sent, sizeof sent.record + sizeof text - 1));
    finish();
    assert_string_equal(process_named("sh")->command, "sh -c a b");
}

static void nothing_counts_before_the_command_runs(void **state)
{
    (void)state;
    struct trace_event events[8];
    struct capture_record record = record_of(CAPTURE_CALL, call("fsync"));
    capture_rows_command(&rows, PID, "/usr/bin/job");
    capture_rows_started(&rows, 7000);
    send(record, NULL);
    record.pid = record.tid = PID + 1; /* another process */
    send(record, NULL);
    record.pid = record.tid = PID;
    record.start = 7000;
    send(record, NULL);
    record.start = 6000; /* from here on all counts */
    send(record, NULL);
    finish();
    assert_int_equal(read_events(events, 8), 3);
    assert_int_equal(trace_process_info(reader, events[0].process)->pid, PID + 1);
    assert_int_equal(events[1].start_ns, 7000 + TO_UTC);
    assert_string_equal(trace_process_info(reader, events[1].process)->name, "job");
}

static void requests_to_disks_have_their_operation(void **state)
{
    (void)state;
    static const struct {
        uint32_t operation;
        uint64_t bytes;
        enum trace_op op;
    } cases[] = {{0, 512, TRACE_OP_READ},    {1, 512, TRACE_OP_WRITE},   {2, 0, TRACE_OP_FLUSH},
                 {3, 512, TRACE_OP_DISCARD}, {5, 512, TRACE_OP_DISCARD}, {9, 512, TRACE_OP_WRITE},
                 {1, 0, TRACE_OP_FLUSH}};
    struct error err;
    struct trace_block block;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct capture_block sent = {.kind = CAPTURE_BLOCK,
                                           .operation = cases[i].operation,
                                           .pid = PID,
                                           .tid = PID,
                                           .start = 100 + i,
                                           .queue = 20,
                                           .service = 30,
                                           .sector = 8,
                                           .bytes = cases[i].bytes,
                                           .disk = 4000u << 20 | 5,
                                           .cause = i == 1 ? PID + 1 : 0};
        assert_true(capture_rows_add(&rows, &sent, sizeof sent));
    }
    finish();
    struct trace_cursor *cursor = trace_blocks(reader, &TRACE_ALL, &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(trace_next_block(cursor, &block));
        assert_int_equal(block.op, cases[i].op);
        assert_int_equal(block.start_ns, 100 + (int64_t)i + TO_UTC);
        assert_true(block.queue_ns == 20 && block.service_ns == 30);
        assert_int_equal(block.bytes, cases[i].bytes);
        assert_int_equal(block.sector, cases[i].op == TRACE_OP_FLUSH ? TRACE_NONE : 8);
        assert_string_equal(trace_disk_name(reader, block.disk), "4000:5");
        assert_int_equal(block.cause != 0, i == 1);
        assert_int_equal(block.file, 0);
    }
    assert_false(trace_next_block(cursor, &block));
    assert_true(trace_cursor_close(cursor, &err));
}

static void records_that_are_too_short_are_left_out(void **state)
{
    (void)state;
    struct trace_event events[8];
    struct capture_record record = record_of(CAPTURE_CALL, call("fsync"));
    assert_true(capture_rows_add(&rows, &record, sizeof record - 1));
    record.kind = CAPTURE_BLOCK;
    assert_true(capture_rows_add(&rows, &record, sizeof(struct capture_block) - 1));
    finish();
    assert_int_equal(read_events(events, 8), 0);
    assert_int_equal(trace_disk_count(reader), 0);
}

/* Descriptors that no open was seen of are looked up in /proc, once. */
static void files_of_this_process_are_found(void **state)
{
    (void)state;
    struct capture_files files;
    struct stat info;
    write_file("open.txt", "text");
    FILE *file = fopen(in_folder("open.txt"), "r");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &info), 0);
    capture_files_init(&files, writer);
    struct capture_open open = {
        .file = 5, .inode = info.st_ino, .mode = S_IFREG, .pid = getpid(), .fd = fileno(file)};
    int64_t id = capture_files_find(&files, &open);
    fclose(file);
    assert_int_equal(capture_files_find(&files, &open), id);
    open.file = 6; /* another open file of the same inode */
    assert_int_equal(capture_files_find(&files, &open), id);
    open.device = 1; /* of another disk, and closed */
    int64_t other = capture_files_find(&files, &open);
    assert_int_not_equal(other, id);
    open.inode = 0;
    assert_int_equal(capture_files_find(&files, &open), 0);
    open = (struct capture_open){.inode = 4711, .mode = S_IFIFO, .pid = getpid(), .fd = -1};
    int64_t pipe = capture_files_find(&files, &open);
    open.inode = 4712;
    open.mode = 0;
    int64_t event = capture_files_find(&files, &open);
    capture_files_release(&files);
    finish();
    assert_string_equal(trace_file_info(reader, id)->path, in_folder("open.txt"));
    assert_string_equal(trace_file_info(reader, other)->path, "");
    assert_string_equal(trace_file_info(reader, pipe)->path, "pipe:[4711]");
    assert_int_equal(trace_file_info(reader, pipe)->kind, TRACE_KIND_PIPE);
    assert_string_equal(trace_file_info(reader, event)->path, "anon_inode:[4712]");
    assert_int_equal(trace_file_info(reader, event)->kind, TRACE_KIND_OTHER);
}

#define ROWS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROWS_TEST(calls_become_rows),
        ROWS_TEST(a_second_path_is_a_row_of_its_own),
        ROWS_TEST(paths_of_requests_come_first),
        ROWS_TEST(faults_and_absences_have_their_names),
        ROWS_TEST(processes_begin_and_end),
        ROWS_TEST(a_command_line_has_blanks_between_its_words),
        ROWS_TEST(nothing_counts_before_the_command_runs),
        ROWS_TEST(requests_to_disks_have_their_operation),
        ROWS_TEST(records_that_are_too_short_are_left_out),
        ROWS_TEST(files_of_this_process_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
