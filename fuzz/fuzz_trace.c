/* Traces of other tools. The first byte says which; the head that each is known by is put before the rest, so that what
 * is tried is the reading and not only the recognition. Nothing may crash, and every failure has a message.
 * FUZZ_FORMATS=7-9 tries only these rows of the table. */
#include "trace/import/import.h"
#include "walk.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RUNS 2000 /* then the store, which remembers every name, begins anew */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *name, *head;
} formats[] = {
    {"trace_read.out", "Attaching 6 probes...\nTIMESTAMP PID OFFSET RET LAT FILENAME\n"},
    {"trace_write.out", "Attaching 6 probes...\nTIMESTAMP PID OFFSET SIZE LAT FILENAME\n"},
    {"trace_openat.out", "Attaching 4 probes...\nTIMESTAMP PID COMM LAT FULLPATH FILENAME\n"},
    {"trace_close.out", "Attaching 4 probes...\nTIMESTAMP PID FD LAT FILENAME\n"},
    {"trace_create_del.out", "Attaching 9 probes...\n1 2 mkdir() 3 4 /a\n"},
    {"trace_bio.out", "Attaching 5 probes...\nTIMESTAMP PID COMM DISK T BYTES SECTOR LAT\n"},
    {"trace_time_align.out", "Attaching 6 probes...\nTIMESTAMP TIME \n1 10:00:00\n"},
    {"cpu.out", "Linux 6 (a) 11/20/26 x (2 CPU)\n21:42:19 CPU %usr %nice %idle\n"},
    {"gpu.out", "#Date Time gpu pid type sm mem enc dec fb command\n"},
    {"iostat.json", "{\"sysstat\": {\n\"timestamp\": \"2026-11-20 09:42:20 PM\",\n"},
    {"unet3d.log", ":::MLLOG {\"time_ms\": 1, \"key\": \"init_start\"}\n"},
    {"dlio.log", "[OUTPUT] 2026-11-21T02:42:20.000000 Running DLIO\n"},
    {"pids.out", "UID PID PPID LWP C NLWP STIME TTY TIME CMD\n"},
    {"a.pfw", "[\n{\"ph\":\"M\",\"name\":\"FH\",\"args\":{\"name\":\"/a\",\"value\":\"1\"}}\n"},
    {"a.json", "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 1},"},
    {"strace.out", "1 1700000000.000001 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3 <0.1>\n"},
    {"strace.out", "[pid 1] 12:00:00.000001 read(3,  <unfinished ...>\n"},
    {"blk.txt", "  8,0 3 1 0.000000000 697 Q W 223490 + 8 [a]\n"},
    {"read.out", "2026-11-21T02:42:36.390196086 2182 0 4096 24866 a\n"},
    {"bio.out", "2026-11-21T02:42:36.390196086 2182 a vda R 4096 24866 1\n"},
    {"iostat.csv", "timestamp,disk_device,r/s,w/s\n"},
    {"cpu_all.csv", "timestamp,%usr,%idle\n"},
    {"timeline.csv", "2026-11-21T02:42:36.389319,2026-11-21T02:42:36.904443,INIT\n"},
    {"fio.log", "fio version 3 iolog\n0 /a add\n"},
    {"fio2.log", "fio version 2 iolog\n/a add\n"},
    {"dxt.txt", "# darshan log version: 3.41\n# DXT, file_id: 1, file_name: /a\n"},
    {"counters.txt", "# darshan log version: 3.41\nPOSIX\t0\t1\tPOSIX_READS\t1\t/a\t/\text4\n"},
    {"a.darshan", ""},
};

/* The row for a first byte. */
static size_t choose(uint8_t byte)
{
    static unsigned first, count;
    if (count == 0) {
        unsigned last, all = sizeof formats / sizeof *formats;
        const char *given = getenv("FUZZ_FORMATS");
        count = all;
        if (given && sscanf(given, "%u-%u", &first, &last) == 2 && first <= last && last < all)
            count = last - first + 1;
    }
    return first + byte % count;
}

static void fail(const struct error *err)
{
    fprintf(stderr, "%s\n", err->text);
    abort();
}

/* One store serves many inputs: making one costs more than reading an input. */
static struct trace_writer *writer_now(void)
{
    static struct trace_writer *writer;
    static int runs;
    static char path[64];
    struct error err;
    if (writer && ++runs < RUNS)
        return writer;
    trace_writer_drop(writer);
    snprintf(path, sizeof path, "/tmp/fuzz-trace-%ld.db", (long)getpid());
    writer = trace_writer_new(path, TRACE_STORE_WHOLE | TRACE_STORE_REPLACE,
                              &err); /* dropped, it leaves no file */
    if (!writer)
        fail(&err);
    runs = 0;
    return writer;
}

static void check(const struct trace_import_report *report)
{
    require(report->malformed >= report->too_long && report->rows >= 0);
    require(report->places.count >= 0 && report->places.count <= IMPORT_MAX_PLACES);
    for (int i = 0; i < report->places.count; i++)
        require(report->places.list[i].line >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    struct trace_import_report report = {0};
    const struct trace_import_options options = {.zone = "-05:00", .date = "2026-11-20"};
    if (size < 1)
        return 0;
    size_t which = choose(data[0]), head = strlen(formats[which].head);
    char *text = malloc(head + size);
    if (!text)
        return 0;
    memcpy(text, formats[which].head, head);
    memcpy(text + head, data + 1, size - 1);
    if (!trace_import_text(formats[which].name, text, head + size - 1, writer_now(), &options, &report, &err))
        require_message(&err);
    check(&report);
    trace_import_report_release(&report);
    free(text);
    return 0;
}
