/* The calls by which a framework reads samples: reader.emulate.
 *
 * data/names.yaml has, of each framework and format, the calls of one sample as they were recorded; a
 * program of these is played for each sample, so that a recording of the framework and one of the loader are alike in
 * calls, their sizes and order. Who plays which sample, and when, is work.c: as the processes of PyTorch's loader,
 * thread w of n takes the batches w, w + n, …, each sample by sample. */
#ifndef REHEARSE_FEED_LOADER_EMULATE_H
#define REHEARSE_FEED_LOADER_EMULATE_H

#include "core/error.h"
#include "core/text.h"
#include "feed/workload/workload.h"

#define EMULATE_MAX_CALLS 64

struct emulate_call {
    int kind;       /* of emulate.c */
    int base;       /* what `number` counts from */
    int64_t number; /* bytes, or percent of a pause */
    int64_t at;     /* of a pread */
    bool tells;     /* followed by a tell */
};

struct emulate {
    struct emulate_call calls[EMULATE_MAX_CALLS];
    int count;
};

/* Returns the calls of a framework and format as the table has them; NULL: it has none. */
const char *emulate_words(enum workload_emulate framework, const char *format);

/* Adds the formats of a framework: "npz, npy". */
void emulate_formats(enum workload_emulate framework, struct text *text);

bool emulate_parse(struct emulate *emulate, const char *words, struct error *err);

struct loader_thread;
struct order_place;

/* Reads a sample as the framework does, in a thread of the loader; preparing it takes `busy` nanoseconds, in
 * which the thread sleeps. Fails if another thread did. */
bool emulate_read(struct loader_thread *thread, const struct order_place *place, int64_t busy, int64_t *bytes,
                  struct error *err);

/* Ends a batch: what its samples have mapped is copied, as DALI's pipeline copies whole batches, and unmapped. */
bool emulate_batch(struct loader_thread *thread, struct error *err);

/* Unmaps what the samples of a batch have mapped. */
void emulate_unmap(struct loader_thread *thread);

#endif
