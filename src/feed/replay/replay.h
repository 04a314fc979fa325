/* Replays the reads, writes and calls on metadata of a recorded job, on files of the same sizes.
 *
 * Problem: a recorded call tells what one thread did at one time. Calls that are played thread by thread, each as late as its thread
 * was before, drift; calls that are played by time alone may read what nobody has written yet.
 * Schedule: every call has its recorded distance from the first call of all, so that lateness does not add up: a thread that is
 * late goes on at once until it is not. Order: a thread keeps its own; a call on a descriptor waits for its open, a close for the calls
 * on it, a read for the write that had ended before it, a change of names or of a length for all calls on the file
 * that had ended before; and files are first read or written in their recorded order, also by threads that did so at
 * nearly the same time. Each such wait is for an earlier call, so that none waits for another in a circle.
 *
 * Files lie below a folder, under their recorded paths; nothing outside is touched. */
#ifndef REHEARSE_FEED_REPLAY_REPLAY_H
#define REHEARSE_FEED_REPLAY_REPLAY_H

#include "core/arena.h"
#include "core/histogram.h"
#include "storage/storage.h"
#include "trace/store/store.h"

#define IO_MAX_THREADS 4096
#define IO_MARK        ".rehearse-replay" /* in a folder that was made for a replay */

struct io_file {
    const char *path, *name; /* as recorded; below the folder */
    int64_t bytes;           /* that it must have at first; -1: there is no file at first */
    int64_t written;         /* end of what was written so far, while the trace is read */
    uint32_t
        place; /* by id of the trace, of which several may have one name: where it is in this list; 0: no file */
    uint32_t parent; /* the nearest folder above it in this list; 0: none */
    bool folder, changes, fails, exists;
    bool is_read, warm; /* warm: its first read found it in the page cache */
};

/* What an op waits for: the first `count` steps of a thread, whose n-th op begins with step 2n - 1 and ends with 2n. */
struct io_wait {
    uint32_t thread;
    uint64_t count;
};

struct io_op {
    int64_t start_ns; /* since the first op of all */
    int64_t offset, bytes;
    struct trace_event event;
    uint32_t file, second, handle; /* handle UINT32_MAX: none; second: the new name of a rename, 0: none */
    uint32_t wait, waits;          /* place and number in io_plan.waits */
    bool fails;                    /* as it did when it was recorded */
    bool drops;                    /* an advice, behind which a read was not from the page cache */
    bool first;                    /* to read or write its file */
};

/* One descriptor, from its open to its close. */
struct io_handle {
    uint32_t file;
    int64_t next;         /* where the last call ended, while the trace is read */
    bool writes, aligned; /* aligned: all its calls are of whole blocks */
    int64_t reads, jumps,
        hits;     /* jumps: not where the one before ended; hits: of the page cache, as recorded */
    bool implied; /* it was open before the trace, or its open is not in it */
};

struct io_thread {
    int64_t process; /* of the trace */
    struct io_op *ops;
    size_t count, capacity;
};

struct io_gap {
    const char *call;
    int64_t count;
};

struct io_plan {
    struct trace_reader *reader; /* the caller's */
    struct io_file *files;       /* by place, from 1 */
    struct io_thread *threads;
    struct io_handle *handles;
    struct io_wait *waits;
    struct io_gap *gaps; /* calls that are not replayed */
    size_t file_count, thread_count, thread_capacity, handle_count, handle_capacity, wait_count,
        wait_capacity, gap_count, gap_capacity;
    int64_t ops, read, written;  /* bytes */
    int64_t first_ns, end_ns;    /* of the ops: UTC of the first; nanoseconds from there to the last end */
    int64_t before_ns, after_ns; /* of the run, before the first op and after the last */
    int64_t largest;             /* bytes of a call */
    bool changes;                /* it writes, or changes names */
    struct arena arena;
};

/* Reads a trace, which must live as long as the plan; `trace` is its name, for messages. False: a trace without calls on files, or too
 * many threads, or longer than a run. */
bool io_plan_read(struct io_plan *plan, struct trace_reader *reader, const char *trace, struct error *err);
void io_plan_release(struct io_plan *plan);

/* ---- files ---- */

struct io_made {
    int64_t files, kept, bytes;
};

/* Makes the files that the job found, and the mark. Files of their length are kept. */
bool io_files_make(const struct io_plan *plan, struct storage *storage, const char *trace,
                   const atomic_bool *stop, struct io_made *made, struct error *err);
int64_t io_files_bytes(const struct io_plan *plan); /* of those that it makes */

/* Checks that they are there, and that a job which changes files finds the mark. Removes what an earlier replay has left, and
 * makes the folders of new files. `trace`: its name, for the message. */
bool io_files_ready(const struct io_plan *plan, struct storage *storage, int copies, const char *trace,
                    struct error *err);

/* Brings the files that the job found into the page cache, or drops them from it, as the job's first read of each found it; where that
 * is not known, drops them. */
bool io_files_cache(const struct io_plan *plan, const char *folder, const atomic_bool *stop,
                    struct error *err);

/* Removes the files that the job makes. */
void io_files_clear(const struct io_plan *plan, const char *folder, int copies);

/* Returns the place of a file, which the caller frees: that of a copy of the job has new files of its own. */
char *io_file_path(const struct io_file *file, const char *folder, int copy);

/* ---- the replay ---- */

struct io_options {
    struct storage *storage; /* of the folder */
    bool fastest;            /* no call waits for its time */
    int copies;              /* of the job; each has its own new files */
    const atomic_bool *stop;
};

/* Of one class of calls. */
struct io_class {
    int64_t calls, other;                /* other: with another result than the recorded */
    struct histogram recorded, replayed; /* nanoseconds */
};

struct io_done {
    int64_t start_ns, took_ns, result; /* start: since the first op */
};

struct io_result {
    double recorded_seconds, seconds; /* recorded: NAN where calls have no times */
    int64_t read, written;            /* bytes */
    int64_t other;                    /* calls with another result */
    char first_other[256];
    struct histogram late; /* nanoseconds behind the schedule */
    struct io_class classes[TRACE_CLASSES];
    int64_t end_ns;        /* of the run, since the first op */
    int64_t start_ns;      /* UTC */
    struct io_done **done; /* [copy * threads + thread][op] */
};

bool io_run(const struct io_plan *plan, const struct io_options *options, struct io_result *result,
            struct error *err);
void io_result_release(const struct io_plan *plan, const struct io_options *options,
                       struct io_result *result);

/* Writes the calls as a trace, under their recorded paths and threads. */
bool io_trace_write(const struct io_plan *plan, const struct io_options *options,
                    const struct io_result *result, const char *path, struct error *err);

#endif
