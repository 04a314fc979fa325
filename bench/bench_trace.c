/* Reading the study's texts into a store: MB (10^6 bytes of text) per CPU-second, each kind of text alone. "lines" is a
 * pass over the lines that looks at nothing, "stored" has the rows in SQLite, "with index" is until the store can be read.
 * The peak of memory is the process's.
 *
 *     bench_trace [MEGABYTES [FOLDER [all]]]     200 MB of each kind, in TMPDIR or /tmp; "all": only the four as a folder */
#include "core/clock.h"
#include "measure.h"

#include "core/error.h"
#include "trace/import/import.h"
#include "trace/import/lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(const struct error *err)
{
    fprintf(stderr, "bench_trace: %s\n", err->text);
    exit(1);
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

typedef int make_line(char *to, size_t size, int64_t time, uint64_t *seed);

static int read_line(char *to, size_t size, int64_t time, uint64_t *seed)
{
    return snprintf(to, size,
                    "%-17" PRId64 " %-8d %-16" PRIu64 " %-12d %-12" PRIu64 " case_%05" PRIu64 "_x.npy\n",
                    time, 2182 + (int)(next(seed) % 8), next(seed) % 4096 * 262144, 262144,
                    20000 + next(seed) % 900000, next(seed) % 2000);
}

static int openat_line(char *to, size_t size, int64_t time, uint64_t *seed)
{
    int file = (int)(next(seed) % 2000);
    return snprintf(to, size,
                    "%-17" PRId64 " %-6d python3 %-8" PRIu64
                    " /data/unet3d/train/case_%05d_x.npy case_%05d_x.npy\n",
                    time, 2182 + (int)(next(seed) % 8), 2000 + next(seed) % 90000, file, file);
}

static int bio_line(char *to, size_t size, int64_t time, uint64_t *seed)
{
    return snprintf(to, size, "%-17" PRId64 " %-8d %-14s %-4s %-1s %-12d %-12" PRIu64 " %" PRIu64 "\n", time,
                    2182 + (int)(next(seed) % 8), "python3", "vda", "R", 131072, next(seed) % 1000000000,
                    50000 + next(seed) % 900000);
}

static int align_line(char *to, size_t size, int64_t time, uint64_t *seed)
{
    (void)seed;
    int second = (int)(time / 1000000000 % 86400);
    return snprintf(to, size, "%-17" PRId64 " %02d:%02d:%02d\n", time, second / 3600, second / 60 % 60,
                    second % 60);
}

static const struct {
    const char *name, *head;
    make_line *make;
} kinds[] = {
    {"trace_read.out", "Attaching 6 probes...\nTIMESTAMP PID OFFSET RET LAT FILENAME\n", read_line},
    {"trace_openat.out", "Attaching 4 probes...\nTIMESTAMP PID COMM LAT FULLPATH FILENAME\n", openat_line},
    {"trace_bio.out", "Attaching 5 probes...\nTIMESTAMP PID COMM DISK T BYTES SECTOR LAT\n", bio_line},
    {"trace_time_align.out", "Attaching 6 probes...\nTIMESTAMP TIME \n", align_line},
};

static void generate(const char *path, size_t kind, int64_t bytes)
{
    FILE *file = fopen(path, "w");
    uint64_t seed = 1;
    int64_t time = 2000000000000;
    if (!file) {
        perror(path);
        exit(1);
    }
    int64_t written = fputs(kinds[kind].head, file);
    while (written < bytes) {
        char line[256];
        time += (int64_t)(next(&seed) % 10000);
        written += kinds[kind].make(line, sizeof line, time, &seed);
        fputs(line, file);
    }
    fclose(file);
}

/* Only the lines: what no importer can beat. */
static double lines_only(const char *path)
{
    struct import_lines lines;
    struct error err;
    const char *line, *end;
    double start = clock_processor();
    if (!import_lines_open(&lines, path, NULL, 0, &err))
        die(&err);
    while (import_lines_next(&lines, &line, &end, &err) == IMPORT_LINE)
        continue;
    import_lines_close(&lines);
    return clock_processor() - start;
}

/* Imports a file or a folder and prints a row of the table. */
static void measure(const char *label, const char *text, const char *store, double lines)
{
    struct error err;
    struct trace_import_report report = {0};
    double start = clock_processor();
    struct trace_writer *writer = trace_writer_new(store, TRACE_STORE_WHOLE | TRACE_STORE_REPLACE, &err);
    if (!writer ||
        !trace_import(text, writer, &(struct trace_import_options){.zone = "UTC", .date = "2026-11-20"},
                      &report, &err))
        die(&err);
    double stored = clock_processor() - start;
    if (!trace_writer_close(writer, &err))
        die(&err);
    double closed = clock_processor() - start;
    printf("%-22s %9.0f %12.0f %12.0f %14.2f %10ld\n", label, (double)report.bytes / lines / 1e6,
           (double)report.bytes / stored / 1e6, (double)report.bytes / closed / 1e6,
           (double)report.lines / stored / 1e6, (long)measure_peak_mib());
    trace_import_report_release(&report);
    unlink(store);
}

#define KINDS (sizeof kinds / sizeof *kinds)

static void run(const char *folder, const char *store, int64_t bytes, bool each)
{
    char paths[KINDS][4096];
    double lines, all = 0;
    for (size_t i = 0; i < KINDS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, kinds[i].name);
        generate(paths[i], i, bytes);
        lines = lines_only(paths[i]);
        all += lines;
        if (each)
            measure(kinds[i].name, paths[i], store, lines);
    }
    measure("all four, a folder", folder, store, all);
    for (size_t i = 0; i < KINDS; i++)
        unlink(paths[i]);
}

int main(int argc, char **argv)
{
    const char *base = argc > 2 ? argv[2] : getenv("TMPDIR");
    int64_t bytes = (argc > 1 ? atoll(argv[1]) : 200) * 1000000;
    char folder[2048];
    snprintf(folder, sizeof folder, "%s/bench-trace-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    printf("%-22s %9s %12s %12s %14s %10s\n", "MB per CPU-second", "lines", "stored", "with index",
           "M lines/CPU-s", "peak MiB");
    char store[4096];
    snprintf(store, sizeof store, "%s.db", folder);
    run(folder, store, bytes, argc < 4);
    rmdir(folder);
    return 0;
}
