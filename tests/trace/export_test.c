#include "trace/export/export.h"

#include "core/doc.h"
#include "core/file.h"
#include "support/reference.h"
#include "trace/import/import.h"
#include "trace/traces.h"

#include <math.h>

static char *read_text(const char *path)
{
    struct error err;
    char *data;
    size_t length;
    if (!file_read(path, (size_t)64 << 20, &data, &length, &err))
        fail_msg("%s", err.text);
    return data;
}

static void check_same(const char *name, const char *folder_of, const char *expected)
{
    char a[1024], b[1024];
    snprintf(a, sizeof a, "%s/%s", folder_of, name);
    snprintf(b, sizeof b, "%s/%s", expected, name);
    char *left = read_text(a), *right = read_text(b);
    if (strcmp(left, right) != 0)
        fail_msg("%s differs from the reference", name);
    free(left);
    free(right);
}

static struct trace_reader *import_golden(const char *raw)
{
    struct error err;
    struct trace_import_report report = {0};
    struct trace_writer *writer = make_trace("golden.db", TRACE_STORE_WHOLE);
    if (!trace_import(raw, writer, &(struct trace_import_options){.zone = "-05:00"}, &report, &err))
        fail_msg("%s", err.text);
    trace_import_report_release(&report);
    finish_trace(writer);
    return open_trace(in_folder("golden.db"));
}

static void test_the_golden_folder_is_processed_as_the_study_does(void **state)
{
    (void)state;
    static const char *const files[] = {"read.out",
                                        "write.out",
                                        "openat.out",
                                        "bio.out",
                                        "cpu.out",
                                        "gpu.out",
                                        "timeline/cpu_all.csv",
                                        "timeline/gpu_avg.csv",
                                        "timeline/iostat.csv",
                                        "timeline/timeline.csv",
                                        "timeline/pid/all_combined/combined.log",
                                        "timeline/pid/all_combined/plotting_info.json"};
    struct error err;
    char *raw = reference_path("trace/raw"), *processed = reference_path("trace/processed");
    if (!raw || !processed) {
        free(raw);
        free(processed);
        skip();
    }
    struct trace_reader *reader = import_golden(raw);
    const struct trace_export_options options = {.workload = "dlio", .overlook = true};
    if (!trace_export_study(reader, in_folder("out"), &options, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        check_same(files[i], in_folder("out"), processed);
    trace_reader_free(reader);
    free(raw);
    free(processed);
}

/* A small trace with everything that is hard to write: quotes, commas, bytes that are no UTF-8, what is not known. */
static struct trace_reader *small_trace(void)
{
    struct error err;
    static const char path[] = "/data/\"a\", \xff";
    struct trace_writer *writer = make_trace("small.db", TRACE_STORE_WHOLE);
    int64_t process = trace_process(writer, 7, 8, "python3", 7);
    struct trace_event event = {.class = TRACE_READ,
                                .cached = 1,
                                .start_ns = 1795228940000001500,
                                .latency_ns = 2500,
                                .process = process,
                                .file = trace_file(writer, TRACE_NONE, TRACE_NONE, path, sizeof path - 1),
                                .call = trace_call(writer, "pread64", 7),
                                .fd = 3,
                                .offset = 4096,
                                .size = 8192,
                                .result = -5};
    struct trace_block block = {.op = TRACE_OP_WRITE,
                                .start_ns = 1795228940000000000,
                                .queue_ns = TRACE_NONE,
                                .service_ns = 500,
                                .sector = 8,
                                .bytes = 512,
                                .disk = trace_disk(writer, "vda", 3),
                                .process = process};
    struct trace_sample sample = {1795228941000000000, trace_series(writer, "cpu.usr", "all"), 12.5};
    assert_true(trace_add_event(writer, &event, &err) && trace_add_block(writer, &block, &err) &&
                trace_add_sample(writer, &sample, &err) &&
                trace_add_phase(writer,
                                &(struct trace_phase){"EVAL", 1795228940000000000, 1795228941000000000, "io"},
                                &err));
    finish_trace(writer);
    return open_trace(in_folder("small.db"));
}

static const struct trace_export_options everything = {.workload = NULL};

/* What an export says when it is imported again. */
static struct trace_reader *import_again(const char *name)
{
    struct error err;
    struct trace_import_report report = {0};
    struct trace_writer *writer = make_trace("again.db", TRACE_STORE_WHOLE);
    if (!trace_import(in_folder(name), writer, &(struct trace_import_options){.zone = "UTC"}, &report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(report.malformed, 0);
    trace_import_report_release(&report);
    finish_trace(writer);
    return open_trace(in_folder("again.db"));
}

static struct trace_event first_of(struct trace_reader *reader, enum trace_class class)
{
    struct error err;
    struct trace_event event;
    struct trace_filter filter = TRACE_ALL;
    filter.which = (int64_t) class;
    struct trace_cursor *cursor = trace_events(reader, &filter, &err);
    assert_true(trace_next_event(cursor, &event));
    assert_true(trace_cursor_close(cursor, &err));
    return event;
}

/* ---- there and back ---- */

static void add_process(struct text *out, const struct trace_reader *reader, int64_t id)
{
    const struct trace_process_info *process = trace_process_info(reader, id);
    text_format(out, " %ld/%ld<%ld %s '%s' %ld-%ld", process->pid, process->tid, process->parent_pid,
                process->name, process->command, process->start_ns, process->end_ns);
}

static void add_file(struct text *out, const struct trace_reader *reader, int64_t id)
{
    const struct trace_file_info *file = trace_file_info(reader, id);
    text_format(out, " %ld:%ld:%d:%s", file->device, file->inode, (int)file->kind, file->path);
}

static void add_events(struct text *out, struct trace_reader *reader)
{
    struct error err;
    struct trace_event event;
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, &err);
    while (trace_next_event(cursor, &event)) {
        text_format(out,
                    "event %s %s %ld +%ld fd %ld at %ld of %ld = %ld, %d:", trace_class_name(event.class),
                    trace_call_name(reader, event.call), event.start_ns, event.latency_ns, event.fd,
                    event.offset, event.size, event.result, event.cached);
        add_process(out, reader, event.process);
        add_file(out, reader, event.file);
        text_add(out, "\n");
    }
    assert_true(trace_cursor_close(cursor, &err));
}

static void add_blocks_and_samples(struct text *out, struct trace_reader *reader)
{
    struct error err;
    struct trace_block block;
    struct trace_sample sample;
    struct trace_cursor *cursor = trace_blocks(reader, &TRACE_ALL, &err);
    while (trace_next_block(cursor, &block)) {
        text_format(out, "block %d %ld +%ld +%ld %s %ld %ld:", (int)block.op, block.start_ns, block.queue_ns,
                    block.service_ns, trace_disk_name(reader, block.disk), block.sector, block.bytes);
        add_process(out, reader, block.process);
        add_process(out, reader, block.cause);
        add_file(out, reader, block.file);
        text_add(out, "\n");
    }
    assert_true(trace_cursor_close(cursor, &err));
    cursor = trace_samples(reader, &TRACE_ALL, &err);
    while (trace_next_sample(cursor, &sample))
        text_format(out, "sample %s of %s %ld %a\n", trace_series_info(reader, sample.series)->kind,
                    trace_series_info(reader, sample.series)->source, sample.time_ns, sample.value);
    assert_true(trace_cursor_close(cursor, &err));
}

/* All that a trace tells, by names instead of ids. */
static char *tell(struct trace_reader *reader)
{
    static const char *const keys[] = {"host", "command", "kernel"};
    struct text out = {0};
    int count;
    add_events(&out, reader);
    add_blocks_and_samples(&out, reader);
    const struct trace_phase *phases = trace_phases(reader, &count);
    for (int i = 0; i < count; i++)
        text_format(&out, "phase %s %ld %ld %s\n", phases[i].name, phases[i].start_ns, phases[i].end_ns,
                    phases[i].source);
    const struct trace_loss *losses = trace_losses(reader, &count);
    for (int i = 0; i < count; i++)
        text_format(&out, "lost %ld of %s %ld %ld\n", losses[i].count, losses[i].class, losses[i].from_ns,
                    losses[i].to_ns);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        text_format(&out, "%s %s\n", keys[i],
                    trace_meta(reader, keys[i]) ? trace_meta(reader, keys[i]) : "none");
    text_format(&out, "unfinished %d\n", trace_unfinished(reader));
    assert_false(out.failed);
    return out.data;
}

static int64_t one_of(uint32_t *random, int64_t count)
{
    *random = *random * 1664525 + 1013904223;
    return (int64_t)(*random >> 16) % count;
}

/* Whatever can be in a trace, at random; calls of a thread overlap. */
static void make_odd(const char *name, uint32_t random)
{
    static const char *const calls[] = {"read",    "pread64", "openat", "io_uring_enter", "a.b.c",  "no dot",
                                        "q\"\\.x", "read.z",  ".x",     "phase.y",        "BLOCK.z"};
    struct error err;
    const int64_t first = INT64_C(1795228940000000000);
    struct trace_writer *writer = make_trace(name, TRACE_STORE_WHOLE);
    int64_t processes[5] = {
        0, trace_process(writer, 7, 7, "python3", 7), trace_process(writer, 7, 8, "pt_data", 7),
        trace_process(writer, 7, 7, "other", 5), trace_process(writer, 9, TRACE_NONE, "", 0)};
    int64_t files[4] = {0, trace_file(writer, 1, 2, "/a \"b\", c", 9),
                        trace_file(writer, TRACE_NONE, TRACE_NONE, "pipe:[7]", 8),
                        trace_file_of_kind(writer, 5, -1, TRACE_KIND_DEVICE, "/x", 2)};
    int64_t disk = trace_disk(writer, "vda", 3), series = trace_series(writer, "cpu.usr", "all");
    assert_true(trace_process_set(writer, processes[2], 7, 100, 200, "python3 -c \"x\"", &err));
    for (int i = 0; i < 300; i++) {
        int64_t start = first + one_of(&random, 50) * 100 + one_of(&random, 3), call = one_of(&random, 12);
        const int64_t numbers[] = {TRACE_NONE, 0, -5, 4096, INT64_MAX};
        struct trace_event event = {.class = (enum trace_class)(one_of(&random, TRACE_CLASSES)),
                                    .cached = (int)(one_of(&random, 3)) - 1,
                                    .start_ns = start,
                                    .latency_ns = i % 17 == 0   ? TRACE_NONE
                                                  : i % 19 == 0 ? -1234567
                                                                : (int64_t)(one_of(&random, 3000)),
                                    .process = processes[one_of(&random, 5)],
                                    .file = files[one_of(&random, 4)],
                                    .call =
                                        call == 11 ? 0 : trace_call(writer, calls[call], strlen(calls[call])),
                                    .fd = numbers[one_of(&random, 4)],
                                    .offset = numbers[one_of(&random, 5)],
                                    .size = numbers[one_of(&random, 4)],
                                    .result = numbers[one_of(&random, 4)]};
        struct trace_block block = {.op = (enum trace_op)(one_of(&random, TRACE_OPS)),
                                    .start_ns = start,
                                    .queue_ns = i % 3 ? (int64_t)(one_of(&random, 100)) : TRACE_NONE,
                                    .service_ns = i % 5 ? (int64_t)(one_of(&random, 5000)) : TRACE_NONE,
                                    .sector = numbers[one_of(&random, 5)],
                                    .bytes = numbers[one_of(&random, 4)],
                                    .disk = i % 2 ? disk : 0,
                                    .process = processes[one_of(&random, 5)],
                                    .file = files[one_of(&random, 4)],
                                    .cause = processes[one_of(&random, 5)]};
        struct trace_sample sample = {start, series, (double)(one_of(&random, 1000)) / 7};
        assert_true(trace_add_event(writer, &event, &err) && trace_add_block(writer, &block, &err) &&
                    trace_add_sample(writer, &sample, &err));
    }
    assert_true(
        trace_add_phase(writer, &(struct trace_phase){"TRAINING", first - 5001, first + 7003, "io"}, &err) &&
        trace_add_phase(writer, &(struct trace_phase){"EVAL", first + 1000, first + 9001, "io"}, &err) &&
        trace_add_phase(writer, &(struct trace_phase){"EVAL", first + 1000, first + 8001, "io"}, &err) &&
        trace_add_lost(writer, "read", 3, 10, 20, &err) &&
        trace_add_lost(writer, "write", 4, TRACE_NONE, TRACE_NONE, &err) &&
        trace_set_meta(writer, "host", "a\"b", &err) && trace_set_meta(writer, "command", "x", &err));
    if (random % 2)
        trace_writer_cut(writer);
    finish_trace(writer);
}

static void test_dftracer_reads_back(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct error err;
        make_odd("odd.db", seed);
        struct trace_reader *reader = open_trace(in_folder("odd.db"));
        char *before = tell(reader);
        if (!trace_export_pfw(reader, in_folder("a.pfw"), &everything, &err))
            fail_msg("%s", err.text);
        trace_reader_free(reader);
        reader = import_again("a.pfw");
        char *after = tell(reader);
        size_t same = 0;
        while (after[same] && after[same] == before[same])
            same++;
        if (after[same] != before[same])
            fail_msg("seed %u: '%.200s' became '%.200s'", seed, before + same, after + same);
        trace_reader_free(reader);
        free(before);
        free(after);
    }
}

/* ---- what viewers of Chrome's format take ---- */

struct open_span {
    int64_t start, end, pid, tid;
};

static int64_t whole(const struct doc_node *node, const char *key)
{
    const struct doc_node *number = doc_find(node, key);
    assert_non_null(number);
    return llround(number->number * 1000);
}

static int by_time(const void *a, const void *b)
{
    const struct open_span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* A viewer sorts by time, and leaves those that begin together as they are (here: by their place). */
static void check_nesting(const struct open_span *spans, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct open_span *a = &spans[j], *b = &spans[i];
            if (a->pid != b->pid || a->tid != b->tid || a->end <= b->start)
                continue;
            if (b->end > a->end)
                fail_msg("%ld+%ld and %ld+%ld of thread %ld overlap", a->start, a->end - a->start, b->start,
                         b->end - b->start, a->tid);
        }
}

static void test_viewers_take_every_span(void **state)
{
    (void)state;
    struct error err;
    for (uint32_t seed = 1; seed <= 10; seed++) {
        struct doc doc;
        static struct open_span spans[2000];
        static int64_t begun[2000][2]; /* ids, and how often */
        size_t count = 0, ids = 0, calls = 0;
        make_odd("odd.db", seed);
        struct trace_reader *reader = open_trace(in_folder("odd.db"));
        assert_true(trace_export_chrome(reader, in_folder("a.json"), &everything, &err));
        trace_reader_free(reader);
        char *text = read_text(in_folder("a.json"));
        if (!doc_parse(&doc, DOC_JSON, "a.json", text, strlen(text), &err))
            fail_msg("%s", err.text);
        const struct doc_node *events = doc_find(doc.root, "traceEvents");
        for (const struct doc_node *node = events->first_child; node; node = node->next) {
            const char *ph = doc_find(node, "ph")->text;
            bool block = doc_find(node, "cat") && strcmp(doc_find(node, "cat")->text, "block") == 0;
            if (*ph == 'X')
                spans[count++] = (struct open_span){whole(node, "ts"), whole(node, "ts") + whole(node, "dur"),
                                                    whole(node, "pid"), whole(node, "tid")};
            calls += !block && (*ph == 'X' || *ph == 'b');
            if (*ph == 'b') {
                for (size_t i = 0; i < ids; i++)
                    assert_true(begun[i][0] != whole(node, "id")); /* each is one span */
                begun[ids][0] = whole(node, "id");
                begun[ids++][1] = whole(node, "ts");
            } else if (*ph == 'e') {
                assert_true(ids > 0 && begun[ids - 1][0] == whole(node, "id"));
                assert_true(whole(node, "ts") >= begun[ids - 1][1]);
            }
        }
        assert_int_equal(calls, 303); /* and three phases */
        assert_true(ids > 310);       /* 300 requests, and calls that overlap */
        /* stable, as a viewer's sort is */
        for (size_t i = 1; i < count; i++)
            for (size_t j = i; j > 0 && by_time(&spans[j - 1], &spans[j]) > 0; j--) {
                struct open_span other = spans[j];
                spans[j] = spans[j - 1];
                spans[j - 1] = other;
            }
        check_nesting(spans, count);
        doc_release(&doc);
        free(text);
    }
}

/* More than there are lines for: none is left out. */
static void test_phases_that_overlap_are_all_there(void **state)
{
    (void)state;
    struct error err;
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    for (int i = 0; i < 100; i++)
        assert_true(trace_add_phase(
            writer, &(struct trace_phase){"EVAL", INT64_C(10) * i, 2000 + INT64_C(10) * i, "io"}, &err));
    finish_trace(writer);
    struct trace_reader *traced = open_trace(in_folder("a.db"));
    assert_true(trace_export_chrome(traced, in_folder("a.json"), &everything, &err));
    trace_reader_free(traced);
    char *text = read_text(in_folder("a.json"));
    int lines = 0, begun = 0, ended = 0;
    for (const char *at = text; (at = strstr(at, "\"cat\":\"phase\",\"ph\":\"")) != NULL;) {
        at += strlen("\"cat\":\"phase\",\"ph\":\"");
        lines += *at == 'X';
        begun += *at == 'b';
        ended += *at == 'e';
    }
    assert_int_equal(lines + begun, 100);
    assert_true(lines > 0 && begun > 0 && begun == ended);
    free(text);
}

/* A category is cut within a character: what is left of that is escaped, and the file is JSON that tells the whole name. */
static void test_names_that_are_cut_are_utf8(void **state)
{
    (void)state;
    struct error err;
    char name[100] = "ca";
    for (int i = 0; i < 40; i++)
        strcat(name, "\xc3\xa9");
    strcat(name, ".x");
    struct trace_event event = {.class = TRACE_REGION, .cached = -1, .start_ns = 1, .latency_ns = 2};
    struct trace_writer *writer = make_trace("a.db", TRACE_STORE_WHOLE);
    event.call = trace_call(writer, name, strlen(name));
    assert_true(trace_add_event(writer, &event, &err));
    finish_trace(writer);
    struct trace_reader *traced = open_trace(in_folder("a.db"));
    assert_true(trace_export_pfw(traced, in_folder("a.pfw"), &everything, &err));
    trace_reader_free(traced);
    char *text = read_text(in_folder("a.pfw"));
    assert_int_equal(text_valid_utf8(text, strlen(text)), strlen(text));
    assert_non_null(strstr(text, "\xc3\xa9\\\\xc3\""));
    free(text);
    traced = import_again("a.pfw");
    assert_string_equal(trace_call_name(traced, first_of(traced, TRACE_REGION).call), name);
    trace_reader_free(traced);
}

static void test_chrome_reads_back(void **state)
{
    (void)state;
    struct error err;
    struct trace_reader *reader = small_trace();
    assert_true(trace_export_chrome(reader, in_folder("a.json"), &everything, &err));
    trace_reader_free(reader);
    reader = import_again("a.json");
    struct trace_event call = first_of(reader, TRACE_READ);
    int count;
    const struct trace_phase *phases = trace_phases(reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(phases[0].start_ns, 0); /* times count from the first */
    assert_int_equal(phases[0].end_ns, 1000000000);
    assert_string_equal(phases[0].name, "EVAL");
    assert_string_equal(phases[0].source, "io");
    assert_int_equal(call.start_ns, 1500);
    assert_int_equal(call.result, -5);
    assert_string_equal(trace_call_name(reader, call.call), "pread64");
    assert_string_equal(trace_series_info(reader, 1)->kind, "cpu.usr all");
    trace_reader_free(reader);
}

static void check_text(const char *name, const char *expected)
{
    char *text = read_text(in_folder(name));
    assert_string_equal(text, expected);
    free(text);
}

/* Two GPUs, of which the second is idle for a second: averages are over both. */
static void test_gpus_of_the_study(void **state)
{
    (void)state;
    struct error err;
    write_file("gpu.out",
               "#Date       Time        gpu        pid  type    sm   mem   enc   dec    fb   command\n"
               " 20261120   21:42:19      0         77   C      90    12     -     -   800   python3\n"
               " 20261120   21:42:19      1         78   C      80    10     -     -   600   python3\n"
               " 20261120   21:42:20      0         77   C      95    12     -     -   800   python3\n"
               " 20261120   21:42:20      1          -   -       -     -     -     -     -   -\n");
    struct trace_reader *reader = import_again("gpu.out");
    assert_true(trace_export_study(reader, in_folder("out"), &everything, &err));
    check_text("out/timeline/gpu_avg.csv", "timestamp,sm,mem,fb\n2026-11-20T21:42:19,85.0,11.0,700.0\n"
                                           "2026-11-20T21:42:20,47.5,6.0,400.0\n");
    check_text("out/gpu.out", "2026-11-20T21:42:19 0 77 C 90 12 0 0 800 python3\n"
                              "2026-11-20T21:42:19 1 78 C 80 10 0 0 600 python3\n"
                              "2026-11-20T21:42:20 0 77 C 95 12 0 0 800 python3\n");
    trace_reader_free(reader);
}

static void test_tables(void **state)
{
    (void)state;
    struct error err;
    struct trace_reader *reader = small_trace();
    assert_true(trace_export_csv(reader, in_folder("a.csv"), &everything, &err));
    check_text(
        "a.csv",
        "start_ns,latency_ns,class,call,pid,tid,process,path,fd,offset,size,result,cached\n"
        "1795228940000001500,2500,read,pread64,7,8,python3,\"/data/\"\"a\"\", \\xff\",3,4096,8192,-5,1\n");
    assert_true(trace_export_csv_blocks(reader, in_folder("b.csv"), &everything, &err));
    check_text("b.csv", "start_ns,queue_ns,service_ns,operation,disk,sector,bytes,pid,process,path\n"
                        "1795228940000000000,,500,write,vda,8,512,7,python3,\n");
    trace_reader_free(reader);
}

static void test_a_range(void **state)
{
    (void)state;
    struct error err;
    struct trace_reader *reader = small_trace();
    const struct trace_export_options early = {.from_ns = 1, .to_ns = 2};
    assert_true(trace_export_csv(reader, in_folder("a.csv"), &early, &err));
    check_text("a.csv", "start_ns,latency_ns,class,call,pid,tid,process,path,fd,offset,size,result,cached\n");
    trace_reader_free(reader);
}

static void test_a_full_disk_leaves_no_file(void **state)
{
    (void)state;
    struct error err;
    struct trace_reader *reader = small_trace();
    write_file("a.csv", "old\n");
    limit_file_size(16);
    assert_false(trace_export_csv(reader, in_folder("a.csv"), &everything, &err));
    limit_file_size(0);
    assert_non_null(strstr(err.text, "cannot write"));
    check_text("a.csv", "old\n");
    trace_reader_free(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_golden_folder_is_processed_as_the_study_does),
        TEST(test_dftracer_reads_back),
        TEST(test_viewers_take_every_span),
        TEST(test_phases_that_overlap_are_all_there),
        TEST(test_names_that_are_cut_are_utf8),
        TEST(test_chrome_reads_back),
        TEST(test_gpus_of_the_study),
        TEST(test_tables),
        TEST(test_a_range),
        TEST(test_a_full_disk_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
