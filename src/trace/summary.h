/* The content of a trace in numbers: by class of call, disk, series, process and file. Reads the rows
 * once. */
#ifndef REHEARSE_TRACE_SUMMARY_H
#define REHEARSE_TRACE_SUMMARY_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Number of processes and files listed: those that moved the most bytes, files before pipes and others. */
#define TRACE_SUMMARY_LISTED 10

/* Latencies. Quantiles are exact below 256 ns, else within 0.4 %. */
struct trace_summary_times {
    int64_t count; /* with known latency */
    double total;  /* seconds, like the rest */
    double min, median, p90, p99, max;
};

struct trace_summary_class {
    int64_t calls, failed; /* failed: result is negative */
    int64_t bytes;         /* results of reads and writes */
    struct trace_summary_times latency;
};

struct trace_summary_disk {
    int64_t disk; /* id */
    struct trace_summary_request {
        int64_t count, bytes;
        struct trace_summary_times service; /* issued to done */
    } requests[TRACE_OPS];
};

/* All series of one kind. */
struct trace_summary_series {
    const char *kind;
    int64_t sources, values;
    double mean, max;
};

struct trace_summary_process {
    const char *name;
    int64_t id, pid;                          /* of the row with its name: the last program executed */
    int64_t threads;                          /* rows of the table */
    int64_t calls, bytes_read, bytes_written; /* bytes: of files */
    int64_t bytes_other;                      /* read and written, except files */
};

struct trace_summary_file {
    const char *path, *kind;
    int64_t file; /* id */
    bool is_file; /* a file with calls, no pipe or other; listed before others */
    int64_t calls, bytes_read, bytes_written;
};

struct trace_summary {
    int64_t first_ns, last_ns;                         /* TRACE_NONE: the trace is empty */
    struct trace_summary_class classes[TRACE_CLASSES]; /* reads and writes: files only */
    /* reads, then writes, of kinds other than files */
    struct trace_summary_class others[2][TRACE_KINDS];
    int64_t hits, misses; /* reads known to hit or miss the page cache */
    struct trace_summary_disk *disks;
    size_t disk_count; /* with requests */
    struct trace_summary_series *series;
    size_t series_count;                /* kinds */
    int64_t processes, files, no_files; /* selected files, and pipes etc. */
    size_t process_count, file_count;   /* of the lists below */
    struct trace_summary_process top_processes[TRACE_SUMMARY_LISTED];
    struct trace_summary_file top_files[TRACE_SUMMARY_LISTED];
};

/* Reads a summary, which the caller releases. Its names live as long as the reader. */
bool trace_summary_read(struct trace_reader *reader, struct trace_summary *summary, struct error *err);
void trace_summary_release(struct trace_summary *summary);

#endif
