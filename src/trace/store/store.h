/* The trace store: one SQLite file with what happened in one run, in tables that any SQL tool can read.
 *
 * docs/trace-store.md describes the schema; store_schema.h is the schema. Times are UTC nanoseconds since 1970. A
 * number that is not known is TRACE_NONE here and NULL there; an id that is not known is 0 here and NULL there.
 *
 * Writing: names (processes, files, calls, disks, series) are given once and get an id, rows refer to ids.
 *
 *     struct trace_writer *writer = trace_writer_new("run.db", TRACE_STORE_KEEP, &err);
 *     int64_t file = trace_file(writer, TRACE_NONE, TRACE_NONE, path, strlen(path));
 *     trace_add_event(writer, &(struct trace_event){.class = TRACE_READ, .file = file, …}, &err);
 *     trace_writer_close(writer, &err);
 *
 * The functions that give ids return 0 when that failed; the next trace_add_… or trace_writer_close then says why. */
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

/* What a number in a trace can be. Whoever adds a trace's rows up, or takes times from each other, need not look again:
 * a time with two lengths, less another time, is no overflow, nor is the sum of what all rows moved. */
#define TRACE_MIN_TIME   (-(INT64_C(1) << 61)) /* 1896; texts without a date may count from any beginning */
#define TRACE_MAX_TIME   (INT64_C(1) << 62)    /* 2116 */
#define TRACE_MAX_LENGTH (INT64_C(1) << 59)    /* 18 years; a clock that goes back makes it negative */
#define TRACE_MAX_BYTES  (INT64_C(1) << 62)    /* of all rows together */
#define TRACE_MAX_PID    (INT64_C(1) << 53)    /* what a double, as other readers have it, holds exactly */
#define TRACE_MAX_VALUE  1e100                 /* of a sample */

/* What a system call (or a page fault, or a submission to io_uring) does. Stored as these numbers: append only. */
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
    TRACE_OTHER,  /* any other call; its name says which */
    TRACE_OFFCPU, /* a thread was off the processor */
    TRACE_REGION, /* a span that the application named */
    TRACE_CLASSES
};

/* "read", "write", … as in table `class`. */
const char *trace_class_name(enum trace_class class);

/* The class of a system call ("pread64": TRACE_READ); TRACE_OTHER when it is none of the above. */
enum trace_class trace_class_of_call(const char *call, size_t length);

/* What a descriptor is open on, for a wait at a pipe is no read of data. Stored as these numbers: append only. */
enum trace_kind {
    TRACE_KIND_FILE, /* a file or folder of a file system; also what is not known to be anything else */
    TRACE_KIND_PIPE,
    TRACE_KIND_SOCKET,
    TRACE_KIND_DEVICE, /* of blocks or characters, but no terminal */
    TRACE_KIND_OTHER,  /* eventfd, epoll, timerfd, …; terminals */
    TRACE_KINDS
};

/* "file", "pipe", … as in table `kind`. */
const char *trace_kind_name(enum trace_kind kind);

/* As far as a path tells: "pipe:[7]", "TCP:[…]", "anon_inode:[eventpoll]", "/dev/vda". */
enum trace_kind trace_kind_of_path(const char *path, size_t length);

struct trace_event {
    enum trace_class class;
    int cached; /* 1: from the page cache, 0: not, -1: not known */
    int64_t start_ns, latency_ns;
    int64_t process, file, call;      /* ids */
    int64_t fd, offset, size, result; /* bytes; result as the kernel gave it, negative: -errno */
};

enum trace_op { TRACE_OP_READ, TRACE_OP_WRITE, TRACE_OP_DISCARD, TRACE_OP_FLUSH, TRACE_OPS };

/* From one time to another. Times are subtracted as whole numbers: as a double, one of today is off by up to 128 ns. */
static inline double trace_seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / 1e9;
}

/* Bytes that a call moved: results of reads and writes, sizes of faults; 0 where it failed, or moves none. */
int64_t trace_bytes_moved(const struct trace_event *event);

/* A request to a disk. */
struct trace_block {
    enum trace_op op;
    int64_t start_ns;   /* queued, or issued where the queue is not known */
    int64_t queue_ns;   /* queued to issued */
    int64_t service_ns; /* issued to done */
    int64_t sector, bytes;
    int64_t disk, process, file; /* ids; the process that submitted it */
    int64_t cause; /* id of the process it is done for: of write-back, who made the pages dirty */
};

/* One value of one series. */
struct trace_sample {
    int64_t time_ns, series; /* time: the end of the interval it is measured over */
    double value;
};

struct trace_phase {
    const char *name; /* "INIT", "TRAINING", "EVAL", "CHECKPOINT" */
    int64_t start_ns, end_ns;
    const char *source; /* "mllog", "dlio", "io", … */
};

/* Is every number what TRACE_MIN_TIME and the others allow? What a reader gives, is; importers ask before they add. */
bool trace_event_fits(const struct trace_event *event);
bool trace_block_fits(const struct trace_block *block);
bool trace_sample_fits(const struct trace_sample *sample);
bool trace_phase_fits(const struct trace_phase *phase);
bool trace_pid_fits(int64_t pid); /* TRACE_NONE does, too */

/* Writing. */

enum trace_mode {
    TRACE_STORE_KEEP, /* from trace_writer_publish on what was committed stays when the program or the disk ends */
    TRACE_STORE_WHOLE,       /* a temporary file beside it, which gets the name when it is closed; faster */
    TRACE_STORE_APPEND,      /* adds to a store that is there already: all when it is closed, or nothing */
    TRACE_STORE_REPLACE = 8, /* with one of the first two: an older trace gives way, else it is an error */
};

struct trace_writer;

/* NULL on failure. A file of this name that is no trace is an error. */
struct trace_writer *trace_writer_new(const char *path, enum trace_mode mode, struct error *err);

/* TRACE_STORE_KEEP: gives the file its name, which it has no later than when it is closed; what is dropped before leaves
 * nothing. Then it is what it will be, with a journal beside it. */
bool trace_writer_publish(struct trace_writer *writer, struct error *err);

/* TRACE_STORE_KEEP, before it is published: a new file will be this user's; one that replaces another keeps the owner. */
bool trace_writer_give(struct trace_writer *writer, uid_t user, gid_t group, struct error *err);

/* Makes the indexes, commits and frees. False when anything failed since the beginning; with TRACE_STORE_KEEP all that
 * was committed is kept, and the message says so. NULL is fine. */
bool trace_writer_close(struct trace_writer *writer, struct error *err);

/* The trace ends before what it tells of: it will say so, even though it can be closed. */
void trace_writer_cut(struct trace_writer *writer);

/* Frees without finishing: TRACE_STORE_WHOLE leaves no file, TRACE_STORE_KEEP what was committed, TRACE_STORE_APPEND
 * what was there before. */
void trace_writer_drop(struct trace_writer *writer);

/* Commits what was added; happens by itself every TRACE_BATCH rows. (TRACE_STORE_APPEND commits when it is closed.) */
#define TRACE_BATCH 65536
bool trace_writer_commit(struct trace_writer *writer, struct error *err);

/* Ids. The same names give the same id. `tid` TRACE_NONE where threads are not told apart. */
int64_t trace_process(struct trace_writer *writer, int64_t pid, int64_t tid, const char *name, size_t length);
/* Its kind is what its path tells. */
int64_t trace_file(struct trace_writer *writer, int64_t device, int64_t inode, const char *path,
                   size_t length);
int64_t trace_file_of_kind(struct trace_writer *writer, int64_t device, int64_t inode, enum trace_kind kind,
                           const char *path, size_t length);
int64_t trace_call(struct trace_writer *writer, const char *name, size_t length);
int64_t trace_disk(struct trace_writer *writer, const char *name, size_t length);
/* kind: "cpu.usr", "disk.rMB/s", "gpu.sm"; source: "all", "vda", "0". */
int64_t trace_series(struct trace_writer *writer, const char *kind, const char *source);

/* What is known only later, or once: parent, times and command line of a process. TRACE_NONE or NULL leaves as is. */
bool trace_process_set(struct trace_writer *writer, int64_t process, int64_t parent_pid, int64_t start_ns,
                       int64_t end_ns, const char *command, struct error *err);

/* The process of this id is called so from now on. */
bool trace_process_rename(struct trace_writer *writer, int64_t process, const char *name, size_t length,
                          struct error *err);

bool trace_add_event(struct trace_writer *writer, const struct trace_event *event, struct error *err);
bool trace_add_block(struct trace_writer *writer, const struct trace_block *block, struct error *err);
bool trace_add_sample(struct trace_writer *writer, const struct trace_sample *sample, struct error *err);
bool trace_add_phase(struct trace_writer *writer, const struct trace_phase *phase, struct error *err);
/* Takes away those known from there. */
bool trace_drop_phases(struct trace_writer *writer, const char *source, struct error *err);
bool trace_add_clock(struct trace_writer *writer, int64_t monotonic_ns, int64_t realtime_ns,
                     struct error *err);
/* Events of a class that the kernel could not hand over, all of them between these times (TRACE_NONE: not known when);
 * adds to what was set before. */
bool trace_add_lost(struct trace_writer *writer, const char *class, int64_t count, int64_t from_ns,
                    int64_t to_ns, struct error *err);
bool trace_set_meta(struct trace_writer *writer, const char *key, const char *value, struct error *err);

/* Rows added so far, of events and blocks; and of samples and phases as well. */
int64_t trace_writer_rows(const struct trace_writer *writer);
int64_t trace_writer_added(const struct trace_writer *writer);

/* Reading. */

struct trace_reader;

/* NULL on failure: no file, not a database, not a trace, a newer schema, numbers or ids that cannot be (ERROR_INPUT).
 * The file may be one that somebody sent: nothing in it runs, and reading it takes time and memory by its size. */
struct trace_reader *trace_reader_new(const char *path, struct error *err);

/* Which rows cursors give. A path's pattern is a shell's, but its '*' stands for slashes as well. */
struct trace_selection {
    /* of calls: 1 << enum trace_kind for each; 0: all; calls without a file are of all kinds */
    unsigned kinds;
    /* calls and disk requests of files whose path fits; NULL: all, also those without a file */
    const char *path;
};
#define TRACE_SELECT_FILES ((struct trace_selection){.kinds = 1u << TRACE_KIND_FILE})

/* The same, of some rows alone. Fails also when no file has such a path (ERROR_INPUT). */
struct trace_reader *trace_reader_of(const char *path, const struct trace_selection *selection,
                                     struct error *err);
void trace_reader_free(struct trace_reader *reader);
int trace_version(const struct trace_reader *reader); /* of its schema */

struct trace_process_info {
    int64_t pid, tid, parent_pid, start_ns, end_ns;
    const char *name, *command; /* "" when not known */
};
struct trace_file_info {
    int64_t device, inode;
    const char *path;
    enum trace_kind kind;
};
struct trace_series_info {
    const char *kind, *source;
};

/* What an id stands for; of id 0 and of one that is not there: an entry of TRACE_NONE and "". They live as long as the
 * reader. Ids are 1..count. */
const struct trace_process_info *trace_process_info(const struct trace_reader *reader, int64_t id);
const struct trace_file_info *trace_file_info(const struct trace_reader *reader, int64_t id);
const struct trace_series_info *trace_series_info(const struct trace_reader *reader, int64_t id);
const char *trace_call_name(const struct trace_reader *reader, int64_t id);
const char *trace_disk_name(const struct trace_reader *reader, int64_t id);
int64_t trace_process_count(const struct trace_reader *reader);
int64_t trace_file_count(const struct trace_reader *reader);
int64_t trace_series_count(const struct trace_reader *reader);
int64_t trace_disk_count(const struct trace_reader *reader);
const char *trace_meta(const struct trace_reader *reader, const char *key);            /* NULL: not there */
const struct trace_phase *trace_phases(const struct trace_reader *reader, int *count); /* by start */
int64_t trace_lost(const struct trace_reader *reader); /* of all classes together */

struct trace_loss {
    const char *class;
    int64_t count;
    int64_t from_ns, to_ns; /* when; TRACE_NONE: not known */
};
const struct trace_loss *trace_losses(const struct trace_reader *reader, int *count);

/* Its writer was killed, or could not write on, or is writing still: what came after trace_span() is missing. */
bool trace_unfinished(const struct trace_reader *reader);

/* What makes a trace tell too little. */
struct trace_shortfall {
    int64_t lost;   /* events, of all classes together */
    int64_t cut_ns; /* the recording was cut off so long after its beginning; TRACE_NONE: it was not */
};
struct trace_shortfall trace_shortfall_of(const struct trace_reader *reader);

/* After how many seconds the recording was cut off; not a number, which JSON has as null: it was not. */
double trace_cut_seconds(struct trace_shortfall shortfall);

/* For people: "cut off after 2.5 s, 7 events were lost"; nothing where the trace is whole. */
void trace_shortfall_add(struct text *out, struct trace_shortfall shortfall);

/* Adds all that is known of it, whole lines: "unfinished: …", "lost: …". */
void trace_add_warnings(const struct trace_reader *reader, struct text *out);

/* First start and last end of events, blocks, samples and phases; both TRACE_NONE when the trace is empty. False when
 * reading failed. */
bool trace_span(struct trace_reader *reader, int64_t *first_ns, int64_t *last_ns, struct error *err);
/* The same, of a trace that is unfinished or has lost events, and so is told when that was; false: it is empty. */
bool trace_span_when_short(const struct trace_reader *reader, int64_t *first_ns, int64_t *last_ns);
/* Without samples, which may begin long before the run and end after it. */
bool trace_span_of_calls(struct trace_reader *reader, int64_t *first_ns, int64_t *last_ns, struct error *err);

/* Rows that start in [from_ns, to_ns), in order of start (of time, for samples). Everything: {-1, INT64_MIN,
 * INT64_MAX}. */
struct trace_filter {
    int64_t which; /* a class, an operation, a series; -1: all */
    int64_t from_ns, to_ns;
    bool as_written; /* in the order in which they were added */
};
#define TRACE_ALL ((struct trace_filter){-1, INT64_MIN, INT64_MAX, false})

/* Do cursors give calls on it? */
bool trace_is_selected(const struct trace_reader *reader, int64_t file);

/* Changes the selection. False when no file has such a path, or without memory. */
bool trace_select(struct trace_reader *reader, const struct trace_selection *selection, struct error *err);

struct trace_cursor;
struct trace_cursor *trace_events(struct trace_reader *reader, const struct trace_filter *filter,
                                  struct error *err);
struct trace_cursor *trace_blocks(struct trace_reader *reader, const struct trace_filter *filter,
                                  struct error *err);
struct trace_cursor *trace_samples(struct trace_reader *reader, const struct trace_filter *filter,
                                   struct error *err);

/* False at the end, and when reading failed: trace_cursor_close tells which. */
bool trace_next_event(struct trace_cursor *cursor, struct trace_event *event);
bool trace_next_block(struct trace_cursor *cursor, struct trace_block *block);
bool trace_next_sample(struct trace_cursor *cursor, struct trace_sample *sample);

/* Frees; false when reading had failed. */
bool trace_cursor_close(struct trace_cursor *cursor, struct error *err);

#endif
