#include "trace/imports.h"

#include "support/reference.h"

#include <time.h>

static void check_refused(const char *path, const struct trace_import_options *options, const char *part)
{
    struct error err;
    struct trace_writer *writer = make_trace("import.db", TRACE_STORE_WHOLE);
    assert_false(trace_import(path, writer, options, &report, &err));
    trace_writer_drop(writer);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
}

static struct trace_block first_block(void)
{
    struct error err;
    struct trace_block block;
    struct trace_cursor *cursor = trace_blocks(reader, &TRACE_ALL, &err);
    assert_true(trace_next_block(cursor, &block));
    assert_true(trace_cursor_close(cursor, &err));
    return block;
}

/* 2026-11-21T02:42:20Z */
#define TWENTY INT64_C(1795228940000000000)

static const char bpftrace_reads[] = "Attaching 6 probes...\n"
                                     "TIMESTAMP         PID     OFFSET   RET (B)      LAT(ns)      FILENAME\n"
                                     "1000     21     0                832          40       libc.so.6\n"
                                     "2000     21     832              18446744073709551611 10       \n"
                                     "3000 21 0 1 x nonsense\n"
                                     "\n";

static void test_reads_of_the_study(void **state)
{
    (void)state;
    import_file("trace_read.out", bpftrace_reads);
    struct trace_event event = event_at(0);
    assert_int_equal(event.class, TRACE_READ);
    assert_int_equal(event.start_ns, 960);
    assert_int_equal(event.latency_ns, 40);
    assert_int_equal(event.result, 832);
    assert_string_equal(path_at(0), "libc.so.6");
    assert_int_equal(event_at(1).result, -5);
    assert_string_equal(path_at(1), "");
    assert_int_equal(report.malformed, 1);
    assert_string_equal(report.places.list[1].what, "3000 21 0 1 x nonsense");
    assert_int_equal(report.places.list[1].line, 5);
}

/* The smallest gap between stamps of two seconds says when the second began: 4000 - 10/2. */
static void test_two_clocks_are_aligned(void **state)
{
    (void)state;
    write_file("trace_read.out", bpftrace_reads);
    write_file("trace_time_align.out", "Attaching 6 probes...\nTIMESTAMP       TIME    \n"
                                       "1000     21:42:18\n2000     21:42:19\n3990     21:42:19\n"
                                       "4000     21:42:20\n9000     21:42:21\n");
    write_file("gpu.out",
               "#Date       Time        gpu        pid  type    sm   mem   enc   dec    fb   command\n"
               "#YYYYMMDD   HH:MM:SS    Idx          #   C/G     %     %     %     %    MB   name\n"
               " 20261120   21:42:19      0         77   C      93    12     -     -   800   python3\n");
    import_path(folder.path, NULL);
    int64_t time_ns;
    assert_int_equal(event_at(0).start_ns, TWENTY + 1000 - 3995 - 40);
    assert_true(first_sample("gpu.sm", "0 77 python3", &time_ns) == 93);
    assert_true(first_sample("gpu.fb", "0 77 python3", &time_ns) == 800);
    assert_int_equal(time_ns, TWENTY - 1000000000);
}

static void test_a_clock_that_jumps_is_told(void **state)
{
    (void)state;
    import_file("trace_time_align.out",
                "Attaching 6 probes...\nTIMESTAMP       TIME    \n"
                "1000     21:42:18\n2000     21:42:19\n2001     22:42:19\n9000     22:42:20\n");
    assert_int_equal(report.jumps, 1);
    assert_non_null(strstr(report.places.list[0].what, "jumps"));
}

static void test_names_with_blanks_are_one_name(void **state)
{
    (void)state;
    import_file("trace_bio.out",
                "Attaching 5 probes...\n"
                "TIMESTAMP         PID      COMM           DISK T BYTES        SECTOR LAT(ns)\n"
                "9000     2177     memfd:sealed 9   vda  W 4096         13184        3000\n");
    struct trace_block block = first_block();
    assert_string_equal(trace_process_info(reader, block.process)->name, "memfd:sealed 9");
    assert_string_equal(trace_disk_name(reader, block.disk), "vda");
    assert_int_equal(block.op, TRACE_OP_WRITE);
    assert_int_equal(block.start_ns, 6000);
    assert_int_equal(block.sector, 13184);
}

static void test_opens_have_a_path_and_a_name(void **state)
{
    (void)state;
    import_file("trace_openat.out",
                "Attaching 4 probes...\nTIMESTAMP         PID    COMM  LAT(ns)  FULLPATH FILENAME\n"
                "100 7 python3 5 /lib/libx.so.1 libx.so.1.0\n"
                "200 7 python3 5 /lib/liby.so liby.so\n"
                "300 7 python3 5 /lib/none.so \n");
    assert_string_equal(path_at(0), "/lib/libx.so.1 -> libx.so.1.0");
    assert_string_equal(path_at(1), "/lib/liby.so");
    assert_int_equal(event_at(1).result, 0);
    assert_string_equal(path_at(2), "/lib/none.so");
    assert_int_equal(event_at(2).result, -1);
}

static void test_creations_and_deletions(void **state)
{
    (void)state;
    import_file("trace_create_del.out",
                "Attaching 9 probes...\n100 7 mkdir() 511 50 /data/a\n200 7 unlink() 9 b /data/b\n"
                "300 7 8 create() 420 /data/c\n");
    assert_int_equal(event_at(0).class, TRACE_MKDIR);
    assert_int_equal(event_at(0).latency_ns, 50);
    assert_string_equal(path_at(0), "/data/a");
    assert_int_equal(event_at(1).class, TRACE_UNLINK);
    assert_int_equal(event_at(2).class, TRACE_CREATE);
    assert_true(event_at(2).latency_ns == TRACE_NONE);
    assert_int_equal(trace_process_info(reader, event_at(2).process)->tid, 8);
}

#define MPSTAT_HEAD "Linux 6.18 (vm) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"

static void test_mpstat_with_a_clock_of_24_hours(void **state)
{
    (void)state;
    int64_t time_ns;
    import_file("cpu.out", MPSTAT_HEAD "21:42:19     CPU    %usr   %idle\n21:42:20     all    8.46   91.54\n"
                                       "Average:     all 1.00 2.00\n");
    assert_true(first_sample("cpu.usr", "all", &time_ns) == 8.46);
    assert_int_equal(time_ns, TWENTY);
}

static void test_mpstat_with_a_clock_of_12_hours_and_midnight(void **state)
{
    (void)state;
    int64_t time_ns;
    import_file("cpu.out",
                MPSTAT_HEAD "11:59:59 PM  CPU    %usr\n11:59:59 PM  all    1.00\n12:00:00 AM  0    2.00\n");
    assert_true(first_sample("cpu.usr", "all", &time_ns) == 1);
    int64_t before = time_ns;
    assert_true(first_sample("cpu.usr", "0", &time_ns) == 2);
    assert_int_equal(time_ns - before, 1000000000);
    assert_int_equal(report.malformed + report.jumps, 0);
}

static void check_iostat(const char *stamp)
{
    char text[512];
    int64_t time_ns;
    snprintf(
        text, sizeof text,
        "{\"sysstat\": {\n\"hosts\": [\n{\n\"timestamp\": \"%s\",\n\"disk\": [\n"
        "{\"disk_device\": \"vda\", \"r/s\": 322.77, \"util\": 4e1},\n{\"disk_device\": \"vdb\", \"r/s\": 1.",
        stamp);
    import_file("iostat.json", text);
    assert_true(first_sample("disk.r/s", "vda", &time_ns) == 322.77);
    assert_true(first_sample("disk.util", "vda", &time_ns) == 40);
    assert_int_equal(time_ns, TWENTY);
    assert_int_equal(report.malformed, 1); /* the end that is missing */
}

static void test_iostat_in_an_english_locale(void **state)
{
    (void)state;
    check_iostat("2026-11-20 09:42:20 PM");
}

static void test_iostat_in_the_c_locale(void **state)
{
    (void)state;
    check_iostat("11/20/26 21:42:20");
}

static void test_iostat_with_iso_times(void **state)
{
    (void)state;
    check_iostat("2026-11-21T03:42:20+01:00");
}

/* Each line that cannot be read is counted, and those around it are read all the same. */
static void test_series_with_lines_that_are_none(void **state)
{
    (void)state;
    static const char *const lines[] = {"21:42 vda", "2026-11-20", "2026-11-20 25:61:00",
                                        "2026-13-20 09:42:20", "2026-11-20 x"};
    int64_t time_ns;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"sysstat\": {\n\"timestamp\": \"2026-11-20 21:42:20\",\n"
                 "{\"disk_device\": \"vda\", \"r/s\": 1},\n{\"disk_device\": \"vda\", \"r/s\": x},\n"
                 "\"timestamp\": \"%s\",\n{\"disk_device\": \"vdb\", \"r/s\": 2},\n"
                 "\"timestamp\": \"2026-11-20 21:42:21\",\n{\"disk_device\": \"vdc\", \"r/s\": 3}\n",
                 lines[i]);
        import_file("iostat.json", text);
        assert_true(first_sample("disk.r/s", "vda", &time_ns) == 1);
        assert_int_equal(time_ns, TWENTY);
        assert_true(first_sample("disk.r/s", "vdc", &time_ns) == 3);
        assert_int_equal(time_ns, TWENTY + 1000000000);
        assert_int_equal(report.malformed, 3); /* the value, the time, and what has no time */
    }
}

static void test_pmon_with_lines_that_are_none(void **state)
{
    (void)state;
    int64_t time_ns;
    import_file("gpu.out", "#Date       Time        gpu        pid  type    sm   mem   command\n"
                           "#YYYYMMDD   HH:MM:SS    Idx          #   C/G     %     %   name\n"
                           "\n 20261120   21:42:20      0       77     C    45    12   python3\n"
                           " 20261120   21:42:21      1        -     -     -     -   -\n"
                           " 20261320   21:42:20      0       77     C    45    12   python3\n"
                           " 20261120   21:42         0       77     C    45    12   python3\n"
                           " 20261120   21:42:22      0       77     C    45\n");
    assert_true(first_sample("gpu.sm", "0 77 python3", &time_ns) == 45);
    assert_int_equal(time_ns, TWENTY);
    assert_true(first_sample("gpu.mem", "0 77 python3", &time_ns) == 12);
    assert_true(first_sample("gpu.sm", "1", &time_ns) == 0);
    assert_int_equal(time_ns, TWENTY + 1000000000);
    assert_int_equal(report.malformed, 3);
}

static void check_phase(int at, const char *name, int64_t start_ns, int64_t end_ns)
{
    int count;
    const struct trace_phase *phases = trace_phases(reader, &count);
    assert_true(at < count);
    assert_string_equal(phases[at].name, name);
    assert_int_equal(phases[at].start_ns, start_ns);
    assert_int_equal(phases[at].end_ns, end_ns);
}

static void test_the_log_of_dlio_tells_phases(void **state)
{
    (void)state;
    import_file("dlio.log", "[OUTPUT] 2026-11-21T02:42:20.000000 Running DLIO\n[WARNING] words\n"
                            "[OUTPUT] 2026-11-21T02:42:21.000000 Starting epoch 1: 4 steps expected\n"
                            "[OUTPUT] 2026-11-21T02:42:21.500000 Starting block 1\n"
                            "[OUTPUT] 2026-11-21T02:42:22.000001 Ending block 1\n"
                            "[OUTPUT] 2026-11-21T02:42:22.500000 Ending epoch 1\n"
                            "[OUTPUT] 2026-11-21T02:42:23.000000 Starting eval - 2\n"
                            "[OUTPUT] 2026-11-21T02:42:24.000000 Ending eval - 2\n");
    check_phase(0, "INIT", TWENTY, TWENTY + 1000000000);
    check_phase(1, "TRAINING", TWENTY + 1000000000, TWENTY + 2000001000);
    check_phase(2, "EVAL", TWENTY + 3000000000, TWENTY + 4000000000);
}

static void test_the_log_of_mlperf_tells_phases_of_rank_0(void **state)
{
    (void)state;
    import_file("unet3d.log",
                ":::MLLOG {\"time_ms\": 1000, \"key\": \"init_start\", \"value\": null}\n"
                "[1] :::MLLOG {\"time_ms\": 1500, \"key\": \"init_stop\"}\n"
                "[0] :::MLLOG {\"key\": \"init_stop\", \"time_ms\": 2000}\n"
                ":::MLLOG {\"time_ms\": 3000, \"key\": \"epoch_start\"}\n:::MLLOG {\"key\": \"x\"}\n"
                ":::MLLOG {\"time_ms\": 5000, \"key\": \"epoch_stop\"}\n");
    check_phase(0, "INIT", 1000000000, 2000000000);
    check_phase(1, "TRAINING", 3000000000, 5000000000);
    assert_int_equal(report.malformed, 1);
}

static void test_strace_with_seconds_and_descriptors(void **state)
{
    (void)state;
    import_file("strace.out",
                "12 1700000000.000001 openat(AT_FDCWD, \"/data/a, b\", O_RDONLY) = 3 <0.000012>\n"
                "12 1700000000.000100 pread64(3, \"x\\\"y, (\", 8192, 4096) = 4096 <0.000020>\n"
                "[pid 13] 1700000000.000200 read(4</tmp/z>,  <unfinished ...>\n"
                "12 1700000000.000300 close(3) = 0 <0.000001>\n"
                "12 1700000000.000301 read(3, 0x7, 10) = -1 EBADF (Bad file descriptor) <0.000001>\n"
                "[pid 13] 1700000000.000400 <... read resumed>\"abc\", 100) = 3 <0.000200>\n"
                "12 1700000000.000500 +++ exited with 0 +++\nnot a line\n");
    assert_int_equal(event_at(0).class, TRACE_OPEN);
    assert_string_equal(path_at(0), "/data/a, b");
    assert_int_equal(event_at(1).start_ns, INT64_C(1700000000000100000));
    assert_int_equal(event_at(1).latency_ns, 20000);
    assert_int_equal(event_at(1).size, 8192);
    assert_int_equal(event_at(1).offset, 4096);
    assert_int_equal(event_at(1).result, 4096);
    assert_string_equal(path_at(1), "/data/a, b");
    assert_int_equal(event_at(3).result, -1);
    assert_string_equal(path_at(3), "");
    assert_int_equal(event_at(4).start_ns, INT64_C(1700000000000200000));
    assert_string_equal(path_at(4), "/tmp/z");
    assert_int_equal(event_at(4).size, 100);
    assert_int_equal(report.malformed, 1);
}

/* The same calls, as strace tells their times in each of its ways; of which clocks were on the wall, of which since when. */
static void check_strace(const char *lines, const int64_t *starts, const char *note)
{
    write_file("strace.out", lines);
    import_path(in_folder("strace.out"), "2026-11-20");
    assert_int_equal(report.malformed, 0);
    for (int i = 0; i < 3; i++)
        if (event_at(i).start_ns != starts[i])
            fail_msg("call %d of '%.30s' begins at %ld, not %ld", i, lines, event_at(i).start_ns, starts[i]);
    bool noted = false;
    for (int i = 0; i < report.places.count; i++)
        noted |= note && strstr(report.places.list[i].what, note);
    assert_true(noted == (note != NULL));
}

static void test_strace_with_times_since_the_line_before(void **state)
{
    (void)state;
    const int64_t day =
        INT64_C(1795132800) * 1000000000 + INT64_C(5) * 3600 * 1000000000; /* 2026-11-20, -05:00 */
    const int64_t clock = day + INT64_C(48544) * 1000000000, epoch = INT64_C(1795354144) * 1000000000;
    const int64_t since[] = {0, 250000, 296500};
    check_strace("     0.000000 close(3) = 0 <0.000011>\n"
                 "     0.000250 close(4) = 0 <0.000011>\n"
                 "     0.0000465 close(5) = 0 <0.000011>\n",
                 since, "relative times");
    check_strace("7      0.000000 close(3) = 0\n8      0.000100 read(4,  <unfinished ...>\n"
                 "7      0.000150 close(4) = 0\n8      0.0000465 close(5) = 0\n",
                 since, "relative times");
    const int64_t micros[] = {clock + 73464000, clock + 73508000, clock + INT64_C(1073508000)};
    check_strace(
        "29573 13:29:04.073464 (+     0.000234) close(3) = 0\n29573 13:29:04.073508 (+     0.000040) "
        "close(4) = 0\n29573 13:29:05.073508 (+     1.000000) close(5) = 0\n",
        micros, NULL);
    const int64_t epochs[] = {epoch + 329636000, epoch + 329690000, epoch + 329751000};
    check_strace(
        "9 1795354144.329636 (+     0.000264) close(3) = 0\n9 1795354144.329690 (+     0.000053) close(4) "
        "= 0\n9 1795354144.329751 (+     0.000061) close(5) = 0\n",
        epochs, NULL);
    const int64_t sums[] = {clock, clock + 48000, clock + 1000048000};
    check_strace("13:29:04 (+     0.000219) close(3) = 0\n13:29:04 (+     0.000048) close(4) = 0\n"
                 "13:29:05 (+     1.000000) close(5) = 0\n",
                 sums, NULL);
    const int64_t seconds[] = {clock, clock, clock + 1000000000};
    check_strace("13:29:04 close(3) = 0\n13:29:04 close(4) = 0\n13:29:05 close(5) = 0\n", seconds,
                 "whole seconds");
}

static void test_strace_with_the_time_of_day(void **state)
{
    (void)state;
    import_file("strace.out",
                "23:59:59.500000 read(3, \"\", 1) = 0 <0.000001>\n00:00:00.500000 read(3, \"\", 1) = 0\n");
    assert_int_equal(event_at(1).start_ns - event_at(0).start_ns, 1000000000);
    assert_true(event_at(1).latency_ns == TRACE_NONE);
    assert_int_equal(report.jumps, 0);
}

static void test_blkparse_pairs_its_lines(void **state)
{
    (void)state;
    import_file("blk.txt", "  8,0    3        1     2.000000100   697  Q  WS 223490 + 8 [kjournald]\n"
                           "  8,0    3        2     2.000000150   697  G  WS 223490 + 8 [kjournald]\n"
                           "  8,0    3        3     2.000000300     9  D  WS 223490 + 8 [kworker/0:1H]\n"
                           "  8,0    1        4     2.000001000     0  C  WS 223490 + 8 [0]\n"
                           "  8,0    1        5     2.000002000     0  C   R 1 + 8 [0]\n"
                           "CPU0 (8,0):\n Reads Queued:           0,        0KiB\n");
    struct trace_block block = first_block();
    assert_int_equal(block.op, TRACE_OP_WRITE);
    assert_int_equal(block.start_ns, 2000000100);
    assert_int_equal(block.queue_ns, 200);
    assert_int_equal(block.service_ns, 700);
    assert_int_equal(block.bytes, 4096);
    assert_string_equal(trace_process_info(reader, block.process)->name, "kjournald");
    assert_int_equal(report.malformed, 1);
}

/* A number is one up to its end: "1x2z" is not 1. Each text has a good line, and one for each number with a tail. */
static void test_numbers_have_no_tails(void **state)
{
    static const struct {
        const char *file, *text;
        int malformed;
    } cases[] = {
        {"cpu_all.csv",
         "timestamp,%usr,%sys\n2026-11-21T02:42:37,30.00,1\n2026-11-21T02:42:38,30.00x2z,1\n2026-11-21T02:42:"
         "39,3,1O\n",
         2},
        {"iostat.csv",
         "timestamp,disk_device,r/s,w/s\n2026-11-21T02:42:20,vda,1.5,2\n2026-11-21T02:42:21,vda,1.5x2z,2\n",
         1},
        {"gpu.out",
         "#Date       Time        gpu        pid  type    sm   mem   command\n"
         " 20261120   21:42:19      0       2182     C    12     3   python3\n"
         " 20261120   21:42:20x2z   0       2182     C    12     3   python3\n"
         " 20261120   21:42:20    0x2z      2182     C    12     3   python3\n"
         " 20261120   21:42:20      0    2182x2z     C    12     3   python3\n",
         3},
        {"strace.out",
         "12 1700000000.0001 pread64(3</a>, \"x\", 1, 0) = 1 <0.00002>\n12 1700000000.0002 close(3) = 0x2z "
         "<0.1>\n"
         "12 1700000000.0003 close(3) = 0z <0.1>\n12 1700000000.0004 close(3) = 0 <0.1x2z>\n",
         3},
        {"blk.txt",
         "  8,0 3 1 0.000000100 697 Q W 223490 + 8 [k]\n  8,0 3 2 0.000000200 697 Q W 223490x2z + 8 [k]\n"
         "  8,0 3 3 0.000000300 697 D W 223490 + 8x2z [k]\n  8,0 1 4 0.000001000 0 C W 223490 + 8 [0]\n",
         2},
        {"trace.pfw",
         "[\n{\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":5,\"tid\":6,\"ts\":1700000000000001,\"dur\":25,"
         "\"ph\":\"X\"}\n"
         "{\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":5x2z,\"tid\":6,\"ts\":1700000000000101,\"dur\":25,"
         "\"ph\":\"X\"}\n",
         1},
        {"run.log",
         ":::MLLOG {\"time_ms\": 1700000000000, \"key\": \"init_start\"}\n"
         ":::MLLOG {\"time_ms\": 1700000001000, \"key\": \"init_stop\"}\n"
         ":::MLLOG {\"time_ms\": 1700000002000x2z, \"key\": \"epoch_start\"}\n",
         1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        import_file(cases[i].file, cases[i].text);
        if (report.malformed != cases[i].malformed)
            fail_msg("%s: %d malformed", cases[i].file, (int)report.malformed);
    }
}

/* A line of 3 MiB: neither held nor stored, and what follows it is read. */
static void test_a_line_without_end_is_passed_over(void **state)
{
    (void)state;
    FILE *file = fopen(in_folder("trace_read.out"), "w");
    fputs(bpftrace_reads, file);
    for (int i = 0; i < 3 << 20; i++)
        putc('x', file);
    fputs("\n5000 21 0 7 1 after\n", file);
    assert_int_equal(fclose(file), 0);
    import_path(in_folder("trace_read.out"), NULL);
    assert_int_equal(report.too_long, 1);
    assert_int_equal(report.malformed, 2);
    assert_string_equal(path_at(2), "after");
}

/* Without a zone, local times are those of this program's; a file's own date serves where there is no other. */
static void test_local_times_are_of_this_zone(void **state)
{
    (void)state;
    struct error err;
    int64_t time_ns;
    const struct trace_import_options options = {.date = "2026-11-20"};
    write_file("cpu.out", MPSTAT_HEAD "21:42:19     CPU    %usr   %idle\n21:42:20     all    8.46   91.54\n");
    setenv("TZ", "XST5", 1);
    tzset();
    struct trace_writer *writer = make_trace("import.db", TRACE_STORE_WHOLE);
    assert_true(trace_import(in_folder("cpu.out"), writer, &options, &report, &err));
    unsetenv("TZ");
    tzset();
    finish_trace(writer);
    reader = open_trace(in_folder("import.db"));
    assert_true(first_sample("cpu.usr", "all", &time_ns) == 8.46);
    assert_int_equal(time_ns, TWENTY);
    assert_true(report.zone_assumed);
}

static void test_a_clock_that_goes_back_is_told(void **state)
{
    (void)state;
    import_file(
        "trace_read.out",
        "Attaching 6 probes...\nTIMESTAMP PID OFFSET RET (B) LAT(ns) FILENAME\n"
        "5000000000 21 0 1 0 a\n4000000000 21 0 1 0 a\n2999999999 21 0 1 0 a\n2999999999 21 0 1 0 a\n");
    assert_int_equal(report.jumps, 1);
    assert_int_equal(report.places.list[1].line, 5);
    assert_non_null(strstr(report.places.list[1].what, "goes back"));
}

static void test_a_trace_without_rows_is_refused(void **state)
{
    (void)state;
    const struct trace_import_options options = {.zone = "UTC"};
    write_file("bad.out", "Attaching 6 probes...\nTIMESTAMP PID OFFSET RET (B) LAT(ns) FILENAME\nx y\n1 z\n");
    check_refused(in_folder("bad.out"), &options, "has no valid line: 2 malformed, such as bad.out:3: x y");
    write_file("none.out", "Attaching 6 probes...\nTIMESTAMP PID OFFSET RET (B) LAT(ns) FILENAME\n");
    check_refused(in_folder("none.out"), &options, "contains no event, sample or phase");
}

/* A folder holds the log of a GPU twice: the first file by name is read, and folders in it are not. */
static void test_repeats_in_a_folder_are_left_out(void **state)
{
    (void)state;
    int64_t time_ns;
    static const char *const names[] = {"in/a.out", "in/b.out", "in/sub/c.out"};
    assert_int_equal(mkdir(in_folder("in"), 0777), 0);
    assert_int_equal(mkdir(in_folder("in/sub"), 0777), 0);
    for (int i = 0; i < 3; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 MPSTAT_HEAD "21:42:19     CPU    %%usr   %%idle\n21:42:20     all    %d.00   91.54\n",
                 i + 1);
        write_file(names[i], text);
    }
    write_file("in/notes", "no trace\n");
    write_file("in/reads", bpftrace_reads);
    import_path(in_folder("in"), "2026-11-20");
    assert_int_equal(report.files, 2);
    assert_true(first_sample("cpu.usr", "all", &time_ns) == 1);
    assert_int_equal(event_at(0).class, TRACE_READ);
}

static void test_unknown_files_and_options_are_refused(void **state)
{
    (void)state;
    const struct trace_import_options options = {.zone = "UTC"}, zone = {.zone = "Mars"},
                                      date = {.date = "2026"};
    write_file("notes.txt", "hello\n");
    write_file("empty.out", "");
    check_refused(in_folder("notes.txt"), &options, "is not a trace of a known format");
    check_refused(in_folder("empty.out"), &options, "is not a trace of a known format");
    check_refused(in_folder("absent"), &options, "No such file");
    check_refused(folder.path, &options, "contains no trace of a known format");
    check_refused(in_folder("notes.txt"), &zone, "found 'Mars'");
    check_refused(in_folder("notes.txt"), &date, "found '2026'");
}

static void test_the_golden_folders_tell_the_same(void **state)
{
    (void)state;
    char *raw = reference_path("trace/raw"), *processed = reference_path("trace/processed");
    if (!raw || !processed) {
        free(raw);
        free(processed);
        skip();
    }
    import_path(raw, NULL);
    assert_int_equal(report.malformed, 2); /* two lines of one clock, written at once by two processors */
    check_phase(0, "INIT", INT64_C(1795228956389319000), INT64_C(1795228956904443000));
    import_path(processed, NULL);
    assert_int_equal(report.malformed, 0);
    assert_int_equal(event_at(0).start_ns, INT64_C(1795228956399487115)); /* openat.out comes first */
    check_phase(0, "INIT", INT64_C(1795228956389319000), INT64_C(1795228956904443000));
    free(raw);
    free(processed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IMPORT_TEST(test_reads_of_the_study),
        IMPORT_TEST(test_two_clocks_are_aligned),
        IMPORT_TEST(test_a_clock_that_jumps_is_told),
        IMPORT_TEST(test_names_with_blanks_are_one_name),
        IMPORT_TEST(test_opens_have_a_path_and_a_name),
        IMPORT_TEST(test_creations_and_deletions),
        IMPORT_TEST(test_mpstat_with_a_clock_of_24_hours),
        IMPORT_TEST(test_mpstat_with_a_clock_of_12_hours_and_midnight),
        IMPORT_TEST(test_iostat_in_an_english_locale),
        IMPORT_TEST(test_iostat_in_the_c_locale),
        IMPORT_TEST(test_iostat_with_iso_times),
        IMPORT_TEST(test_series_with_lines_that_are_none),
        IMPORT_TEST(test_pmon_with_lines_that_are_none),
        IMPORT_TEST(test_numbers_have_no_tails),
        IMPORT_TEST(test_the_log_of_dlio_tells_phases),
        IMPORT_TEST(test_the_log_of_mlperf_tells_phases_of_rank_0),
        IMPORT_TEST(test_strace_with_seconds_and_descriptors),
        IMPORT_TEST(test_strace_with_the_time_of_day),
        IMPORT_TEST(test_strace_with_times_since_the_line_before),
        IMPORT_TEST(test_blkparse_pairs_its_lines),
        IMPORT_TEST(test_a_line_without_end_is_passed_over),
        IMPORT_TEST(test_local_times_are_of_this_zone),
        IMPORT_TEST(test_a_clock_that_goes_back_is_told),
        IMPORT_TEST(test_a_trace_without_rows_is_refused),
        IMPORT_TEST(test_repeats_in_a_folder_are_left_out),
        IMPORT_TEST(test_unknown_files_and_options_are_refused),
        IMPORT_TEST(test_the_golden_folders_tell_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
