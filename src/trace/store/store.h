/* The trace store: one SQLite file with the events of one run, in tables that any SQL tool can read.
 *
 * docs/trace-store.md describes the schema; schema.h defines it. Times are UTC nanoseconds since 1970. An
 * unknown number is TRACE_NONE here and NULL there; an unknown id is 0 here and NULL there.
 *
 * Writing: a name (process, file, call, disk, series) is registered once and gets an id; rows refer to ids.
 *
 *     struct trace_writer *writer = trace_writer_new("run.db", TRACE_STORE_KEEP, &err);
 *     int64_t file = trace_file(writer, TRACE_NONE, TRACE_NONE, path, strlen(path));
 *     trace_add_event(writer, &(struct trace_event){.class = TRACE_READ, .file = file, …}, &err);
 *     trace_writer_close(writer, &err);
 *
 * Functions that return ids return 0 on failure; the next trace_add_… or close sets the error. */
#ifndef REHEARSE_TRACE_STORE_STORE_H
#define REHEARSE_TRACE_STORE_STORE_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TRACE_SCHEMA_VERSION 2
#define TRACE_NONE           INT64_MIN

/* Limits of the numbers in a trace. They keep sums and differences from overflowing: a time plus two lengths
 * minus another time, and the sum of the bytes of all rows. */
#define TRACE_MIN_TIME   (-(INT64_C(1) << 61)) /* 1896; texts without a date may count from any origin */
#define TRACE_MAX_TIME   (INT64_C(1) << 62)    /* 2116 */
#define TRACE_MAX_LENGTH (INT64_C(1) << 59)    /* 18 years; a clock that goes back makes it negative */
#define TRACE_MAX_BYTES  (INT64_C(1) << 62)    /* of all rows together */
#define TRACE_MAX_PID    (INT64_C(1) << 53)    /* the largest that a double holds exactly */
#define TRACE_MAX_VALUE  1e100                 /* of a sample */

/* Effect of a system call (or page fault, or submission to io_uring). Stored as numbers: append only. */
enum trace_class {
    TRACE_READ,
    TRACE_WRITE,
    TRACE_OPEN,
    TRACE_CLOSE,
    TRACE_SYNC, /* fsync, fdatasync, msync, sync_file_range, syncfs */
    TRACE_MMAP,
    TRACE_FAULT, /* page fault on a file */
    TRACE_STAT,
    TRACE_UNLINK,
    TRACE_RENAME,
    TRACE_MKDIR,
    TRACE_RMDIR,
    TRACE_SEEK,
    TRACE_TRUNCATE,
    TRACE_CREATE, /* creat, mknod, link, symlink */
    TRACE_OTHER,  /* any other call; see its name */
    TRACE_OFFCPU, /* a thread was off the processor */
    TRACE_REGION, /* a span that the application named */
    TRACE_CLASSES
};

/* Returns "read", "write", … as in table `class`. */
const char *trace_class_name(enum trace_class class);

/* Returns the class of a system call ("pread64": TRACE_READ), or TRACE_OTHER. */
enum trace_class trace_class_of_call(const char *call, size_t length);

/* The object behind a descriptor: a wait at a pipe reads no data. Stored as numbers: append only. */
enum trace_kind {
    TRACE_KIND_FILE, /* a file or folder of a file system, or unknown */
    TRACE_KIND_PIPE,
    TRACE_KIND_SOCKET,
    TRACE_KIND_DEVICE, /* block or character device, but no terminal */
    TRACE_KIND_OTHER,  /* eventfd, epoll, timerfd, …; terminals */
    TRACE_KINDS
};

/* Returns "file", "pipe", … as in table `kind`. */
const char *trace_kind_name(enum trace_kind kind);

/* Guesses the kind from a path: "pipe:[7]", "TCP:[…]", "anon_inode:[eventpoll]", "/dev/vda". */
enum trace_kind trace_kind_of_path(const char *path, size_t length);

struct trace_event {
    enum trace_class class;
    int cached; /* 1: from the page cache, 0: not, -1: unknown */
    int64_t start_ns, latency_ns;
    int64_t process, file, call;      /* ids */
    int64_t fd, offset, size, result; /* bytes; result is the kernel's, negative: -errno */
};

enum trace_op { TRACE_OP_READ, TRACE_OP_WRITE, TRACE_OP_DISCARD, TRACE_OP_FLUSH, TRACE_OPS };

/* Returns "read", "write", … as in table `operation`. */
const char *trace_op_name(enum trace_op op);

/* Returns to - from in seconds. Subtracts integers: as a double, today's time is off by up to 128 ns. */
static inline double trace_seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / 1e9;
}

/* Returns the bytes that a call moved: results of reads and writes, sizes of faults; else 0. */
int64_t trace_bytes_moved(const struct trace_event *event);

/* A request to a disk. */
struct trace_block {
    enum trace_op op;
    int64_t start_ns;   /* queued, or issued if the queue time is unknown */
    int64_t queue_ns;   /* queued to issued */
    int64_t service_ns; /* issued to done */
    int64_t sector, bytes;
    int64_t disk, process, file; /* ids; the process is the one that submitted it */
    int64_t cause; /* id of the process behind it: for write-back, the process that dirtied the pages */
};

/* One value of one series. */
struct trace_sample {
    int64_t time_ns, series; /* time: end of the measured interval */
    double value;
};

struct trace_phase {
    const char *name; /* "INIT", "TRAINING", "EVAL", "CHECKPOINT" */
    int64_t start_ns, end_ns;
    const char *source; /* "mllog", "dlio", "io", … */
};

/* Return true if every number is within the limits above. Importers check; a reader's rows always are. */
bool trace_event_fits(const struct trace_event *event);
bool trace_block_fits(const struct trace_block *block);
bool trace_sample_fits(const struct trace_sample *sample);
bool trace_phase_fits(const struct trace_phase *phase);
bool trace_pid_fits(int64_t pid); /* true for TRACE_NONE, too */

/* In the facts about a trace: what was recorded, where that is not all. */
#define TRACE_RECORDS       "records"
#define TRACE_RECORDS_CALLS "calls" /* no requests to disks */

/* Writing. */

enum trace_mode {
    TRACE_STORE_KEEP,        /* after trace_writer_publish, committed rows survive a crash or a full disk */
    TRACE_STORE_WHOLE,       /* a temporary file, renamed when it is closed; faster */
    TRACE_STORE_APPEND,      /* adds to an existing store: all rows at close, or none */
    TRACE_STORE_REPLACE = 8, /* with one of the first two: replace an older trace instead of failing */
};

struct trace_writer;

/* Creates a writer; trace_writer_close or _drop frees it. NULL on failure, also if the file is no trace. */
struct trace_writer *trace_writer_new(const char *path, enum trace_mode mode, struct error *err);

/* TRACE_STORE_KEEP: gives the file its name before closing; a writer dropped earlier leaves no file. From
 * then on the file is valid, with a journal beside it. */
bool trace_writer_publish(struct trace_writer *writer, struct error *err);

/* TRACE_STORE_KEEP, before publishing: sets the owner of a new file; a replaced file keeps its owner. */
bool trace_writer_give(struct trace_writer *writer, uid_t user, gid_t group, struct error *err);

/* Makes the indexes, commits and frees. Returns false if anything has failed since the beginning; with
 * TRACE_STORE_KEEP the committed rows stay, and the error says so. NULL is allowed. */
bool trace_writer_close(struct trace_writer *writer, struct error *err);

/* Marks the trace as cut off before the end of the run. */
void trace_writer_cut(struct trace_writer *writer);

/* Frees without finishing: TRACE_STORE_WHOLE leaves no file, TRACE_STORE_KEEP the committed rows,
 * TRACE_STORE_APPEND the former content. */
void trace_writer_drop(struct trace_writer *writer);

/* Commits the added rows; done automatically every TRACE_BATCH rows, with TRACE_STORE_APPEND only at
 * close. */
#define TRACE_BATCH 65536
bool trace_writer_commit(struct trace_writer *writer, struct error *err);

/* Return ids; the same names give the same id. `tid` is TRACE_NONE if threads are not distinguished. */
int64_t trace_process(struct trace_writer *writer, int64_t pid, int64_t tid, const char *name, size_t length);
/* Derives the kind from the path. */
int64_t trace_file(struct trace_writer *writer, int64_t device, int64_t inode, const char *path,
                   size_t length);
int64_t trace_file_of_kind(struct trace_writer *writer, int64_t device, int64_t inode, enum trace_kind kind,
                           const char *path, size_t length);
int64_t trace_call(struct trace_writer *writer, const char *name, size_t length);
int64_t trace_disk(struct trace_writer *writer, const char *name, size_t length);
/* kind: "cpu.usr", "disk.rMB/s", "gpu.sm"; source: "all", "vda", "0". */
int64_t trace_series(struct trace_writer *writer, const char *kind, const char *source);

/* Sets facts known only later: parent, times and command line of a process. TRACE_NONE or NULL: unchanged. */
bool trace_process_set(struct trace_writer *writer, int64_t process, int64_t parent_pid, int64_t start_ns,
                       int64_t end_ns, const char *command, struct error *err);

/* Changes the name of a process. */
bool trace_process_rename(struct trace_writer *writer, int64_t process, const char *name, size_t length,
                          struct error *err);

bool trace_add_event(struct trace_writer *writer, const struct trace_event *event, struct error *err);
bool trace_add_block(struct trace_writer *writer, const struct trace_block *block, struct error *err);
bool trace_add_sample(struct trace_writer *writer, const struct trace_sample *sample, struct error *err);
bool trace_add_phase(struct trace_writer *writer, const struct trace_phase *phase, struct error *err);
/* Removes the phases of a source. */
bool trace_drop_phases(struct trace_writer *writer, const char *source, struct error *err);
bool trace_add_clock(struct trace_writer *writer, int64_t monotonic_ns, int64_t realtime_ns,
                     struct error *err);
/* Adds to the number of events of a class lost in the kernel between these times (TRACE_NONE: unknown). */
bool trace_add_lost(struct trace_writer *writer, const char *class, int64_t count, int64_t from_ns,
                    int64_t to_ns, struct error *err);
bool trace_set_meta(struct trace_writer *writer, const char *key, const char *value, struct error *err);

/* Return the rows added so far: events and blocks; and with samples and phases. */
int64_t trace_writer_rows(const struct trace_writer *writer);
int64_t trace_writer_added(const struct trace_writer *writer);

/* Fails if a store that is added to had most of the added rows before. */
bool trace_writer_refuse_repeated(struct trace_writer *writer, struct error *err);

/* Reading. */

struct trace_reader;

/* Opens a store; NULL on failure: no file, no database, no trace, a newer schema, impossible numbers or ids
 * (ERROR_INPUT). Untrusted files are safe: nothing in them runs; their size bounds time and memory. */
struct trace_reader *trace_reader_new(const char *path, struct error *err);

/* The rows that cursors return. A path's pattern is a shell's, except that '*' also matches slashes. */
struct trace_selection {
    /* of calls: a set of 1 << enum trace_kind; 0: all; calls without a file belong to all kinds */
    unsigned kinds;
    /* only calls and disk requests of matching files; NULL: all, also those without a file */
    const char *path;
};
#define TRACE_SELECT_FILES ((struct trace_selection){.kinds = 1u << TRACE_KIND_FILE})

/* Opens a store for some rows only. Also fails if no file matches the path (ERROR_INPUT). */
struct trace_reader *trace_reader_of(const char *path, const struct trace_selection *selection,
                                     struct error *err);
void trace_reader_free(struct trace_reader *reader);

/* Sets the name that messages have for the trace. */
bool trace_reader_rename(struct trace_reader *reader, const char *path, struct error *err);

struct trace_process_info {
    int64_t pid, tid, parent_pid, start_ns, end_ns;
    const char *name, *command; /* "" if unknown */
};
struct trace_file_info {
    int64_t device, inode;
    const char *path;
    enum trace_kind kind;
};
struct trace_series_info {
    const char *kind, *source;
};

/* Return the entry of an id (1..count), owned by the reader; for id 0 and unknown ids an entry of TRACE_NONE
 * and "". */
const struct trace_process_info *trace_process_info(const struct trace_reader *reader, int64_t id);
const struct trace_file_info *trace_file_info(const struct trace_reader *reader, int64_t id);
const struct trace_series_info *trace_series_info(const struct trace_reader *reader, int64_t id);
const char *trace_call_name(const struct trace_reader *reader, int64_t id);
const char *trace_disk_name(const struct trace_reader *reader, int64_t id);
int64_t trace_process_count(const struct trace_reader *reader);
int64_t trace_file_count(const struct trace_reader *reader);
int64_t trace_series_count(const struct trace_reader *reader);
int64_t trace_disk_count(const struct trace_reader *reader);
const char *trace_meta(const struct trace_reader *reader, const char *key);            /* NULL: missing */
const struct trace_phase *trace_phases(const struct trace_reader *reader, int *count); /* by start */
int64_t trace_lost(const struct trace_reader *reader); /* sum of all classes */

struct trace_loss {
    const char *class;
    int64_t count;
    int64_t from_ns, to_ns; /* TRACE_NONE: unknown */
};
const struct trace_loss *trace_losses(const struct trace_reader *reader, int *count);

/* Returns true if the writer was killed, failed or is still writing: rows after trace_span() are missing. */
bool trace_unfinished(const struct trace_reader *reader);

/* The reasons why a trace is incomplete. */
struct trace_shortfall {
    int64_t lost;   /* events, sum of all classes */
    int64_t cut_ns; /* time from the beginning to the cut-off; TRACE_NONE: not cut off */
};
struct trace_shortfall trace_shortfall_of(const struct trace_reader *reader);

/* Returns the seconds until the cut-off; NAN (null in JSON) if it was not cut off. */
double trace_cut_seconds(struct trace_shortfall shortfall);

/* Adds "cut off after 2.5 s, 7 events were lost"; nothing if the trace is complete. */
void trace_shortfall_add(struct text *out, struct trace_shortfall shortfall);

/* Adds all warnings as whole lines: "unfinished: …", "lost: …". */
void trace_add_warnings(const struct trace_reader *reader, struct text *out);

/* Sets the first start and last end of all rows; TRACE_NONE if the trace is empty. False on failure. */
bool trace_span(struct trace_reader *reader, int64_t *first_ns, int64_t *last_ns, struct error *err);
/* Fails where there is none, or where it is longer than a run: a clock has jumped. */
bool trace_span_of_run(struct trace_reader *reader, const char *path, int64_t *first_ns, int64_t *last_ns,
                       struct error *err);
/* Does the same for an unfinished trace or one with lost events, whose span is stored; false: it is empty. */
bool trace_span_when_short(const struct trace_reader *reader, int64_t *first_ns, int64_t *last_ns);
/* Excludes samples, which may begin long before the run and end after it. */
bool trace_span_of_calls(struct trace_reader *reader, int64_t *first_ns, int64_t *last_ns, struct error *err);

/* Selects rows that start in [from_ns, to_ns), by start (samples: time). All: {-1, INT64_MIN, INT64_MAX}. */
struct trace_filter {
    int64_t which; /* a class, an operation or a series; -1: all */
    int64_t from_ns, to_ns;
    bool as_written; /* in insertion order */
};
#define TRACE_ALL ((struct trace_filter){-1, INT64_MIN, INT64_MAX, false})

/* Returns true if cursors return calls on the file. */
bool trace_is_selected(const struct trace_reader *reader, int64_t file);

/* Changes the selection. False if no file matches the path, or without memory. */
bool trace_select(struct trace_reader *reader, const struct trace_selection *selection, struct error *err);

struct trace_cursor;
struct trace_cursor *trace_events(struct trace_reader *reader, const struct trace_filter *filter,
                                  struct error *err);
struct trace_cursor *trace_blocks(struct trace_reader *reader, const struct trace_filter *filter,
                                  struct error *err);
struct trace_cursor *trace_samples(struct trace_reader *reader, const struct trace_filter *filter,
                                   struct error *err);

/* Return false at the end, on a read error and without a cursor; trace_cursor_close distinguishes these. */
bool trace_next_event(struct trace_cursor *cursor, struct trace_event *event);
bool trace_next_block(struct trace_cursor *cursor, struct trace_block *block);
bool trace_next_sample(struct trace_cursor *cursor, struct trace_sample *sample);

/* Frees; returns false if reading had failed, or if the cursor is NULL, since opening it has failed. */
bool trace_cursor_close(struct trace_cursor *cursor, struct error *err);

#endif
