/* Inside the loader: work.c hands out work, read.c reads samples. */
#ifndef REHEARSE_FEED_LOADER_INTERNAL_H
#define REHEARSE_FEED_LOADER_INTERNAL_H

#include "core/text.h"
#include "dataset/sample.h"
#include "feed/loader/loader.h"

#include <pthread.h>
#include <stdatomic.h>

#define LOADER_OPEN_FILES 8 /* of each thread */

/* One batch of an accelerator's window. */
struct loader_slot {
    int accelerator; /* of this process, from 0 */
    int64_t step;
    int64_t deadline;     /* approximate time when it is needed */
    int64_t next;         /* first sample that no thread reads yet; the queue's lock */
    _Atomic int64_t left; /* samples not yet read */
    _Atomic int64_t bytes;
    _Atomic uint64_t mark;
    int64_t *read_at; /* [batch] when each sample had been read; NULL: no preprocessing */
    bool read, done;  /* this and the next two: loader.lock */
    int64_t ready, ahead;
};

/* The batches that wait: a heap with the earliest deadline first. */
struct loader_queue {
    pthread_mutex_t lock;
    pthread_cond_t work; /* signals new work, or the end */
    pthread_cond_t rest; /* signals that no thread works */
    struct loader_slot **slots;
    int count;
    int idle, busy; /* threads */
    bool ending;
};

/* A part of a batch, read by one thread at a time. */
struct loader_piece {
    struct loader_slot *slot;
    int64_t first, count;
};

/* Nanoseconds of work of all threads together, until `at`. */
struct loader_busy {
    int64_t at;
    int64_t excluded, counted; /* for steps that are not measured, and that are */
};

struct loader_window {
    struct loader_slot *slots; /* [window], step s in slot s mod window */
    int64_t asked;             /* steps below have been requested */
    int64_t given;             /* with emulation: steps below are for the workers; the queue's lock */
    int64_t wanted;            /* the step that loader_take refused; -1: none; loader.lock */
    int64_t preprocessed;      /* steps below have been preprocessed; loader.lock */
    int64_t done_count;        /* slots that can be taken; loader.lock */
    /* The state when loader_take refused a step that is not measured; loader.lock. */
    struct loader_busy waited;
    int64_t *workers; /* [options.workers] until when each preprocesses */
};

/* A file that a thread has open. */
struct loader_file {
    bool open;
    struct dataset_file file;
    struct storage_file *parts[DATASET_MAX_PARTS];
    int64_t sizes[DATASET_MAX_PARTS];
    struct dataset_index index;
    bool read_open;  /* the extents of opening have been read */
    bool read_whole; /* the array that holds all samples has been read */
    bool located;    /* the index was read from the file, not derived from the layout */
    int64_t used;
};

/* A file that a sample has mapped. */
struct loader_map {
    char *at;
    int64_t size;
    char *path;
};

struct loader_thread {
    struct loader *loader;
    pthread_t thread;
    struct storage_reader *reader;
    int accelerator, worker; /* of emulation */
    struct loader_map *maps; /* of the batch under way */
    size_t map_room;
    int map_count;
    int64_t next;   /* its next step; the queue's lock */
    int64_t starts; /* when it has started; the queue's lock */
    struct loader_file files[LOADER_OPEN_FILES];
    int64_t clock; /* for files[].used */
    struct text path;
    struct dataset_extent *extents;
    struct storage_extent *reads;
    int64_t room; /* in these two */
    unsigned char *decoded;
    size_t decoded_size;
    struct dataset_expected expected;
    _Atomic int64_t samples, opened, decode_cpu, verify_cpu; /* the latter nanoseconds */
    _Atomic int64_t bytes;
    _Atomic int tid;               /* 0: it has not begun */
    _Atomic int64_t busy_excluded; /* nanoseconds in pieces that are done */
    _Atomic int64_t busy_counted;
    _Atomic int64_t began;      /* when the current piece began; 0: none */
    atomic_bool begun_excluded; /* the kind of its step */
};

struct loader {
    struct loader_options options;
    struct loader_pass pass;
    int window;              /* batches, at least 1 */
    int64_t batch;           /* room for samples in a slot */
    int64_t piece;           /* samples of one piece of work */
    struct emulate *emulate; /* the calls of a framework; NULL: none */
    bool started;            /* a pass has begun */
    struct loader_window *windows;
    struct loader_queue queue;
    struct loader_thread *threads;
    int thread_count;
    _Atomic uint64_t *once; /* a bit per sample that is in memory */
    _Atomic int ready_count;

    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t done;
    int *told; /* [count] accelerators that loader_wait is to name */
    int told_count;
    bool waiting; /* loader_wait sleeps */
    atomic_bool failed;
    struct error error;
};

/* Begin and end a piece of a step; return all work until now (a piece that ends during the call may be missed), and the
 * part of a wait in which threads read for other steps. */
void loader_busy_begin(struct loader_thread *thread, int64_t step);
void loader_busy_end(struct loader_thread *thread);
struct loader_busy loader_busy_now(struct loader *loader);
int64_t loader_busy_ahead(const struct loader_busy *before, const struct loader_busy *now);

/* Of an emulated framework (workers.c): fails if the options exclude it or `threads` are too few. */
bool loader_check_workers(const struct loader_options *options, int threads, struct error *err);

/* Sleeps until CLOCK_MONOTONIC has `until`, or another thread fails; the time counts as no work. */
void loader_sleep(struct loader_thread *thread, int64_t until);

/* Takes the next batch of a worker; false at the end. */
bool loader_take_own(struct loader_thread *thread, struct loader_piece *piece);

/* The workers begin a pass; they start one after the other, if they are not there. */
void loader_start_workers(struct loader *loader, int64_t now);

/* Returns how many numbers each file has of those that samples are counted by, training files or not. */
int64_t loader_numbers_per_file(const struct dataset_layout *layout);

/* Reads a sample of a pass, in a thread of the loader; *bytes gets the number of bytes read. */
bool loader_read_sample(struct loader_thread *thread, const struct order_place *place, int64_t *bytes,
                        struct error *err);

/* Closes the files and frees the memory of a thread. */
void loader_thread_release(struct loader_thread *thread);

#endif
