/* Parts of the search for phases (phase.h), which phase.c puts together. */
#ifndef REHEARSE_TRACE_PHASE_INTERNAL_H
#define REHEARSE_TRACE_PHASE_INTERNAL_H

#include "core/error.h"
#include "core/hash.h"
#include "trace/store/store.h"

/* The events of a trace in the order of time, which each rule goes through. They are read the first time, and kept for
 * the next where they are not too many. */
struct phase_events {
    struct trace_reader *reader;
    struct trace_cursor *cursor; /* NULL: the kept ones are at hand */
    struct phase_event *kept;
    size_t count, capacity, next;
    bool whole, ended, too_many;
};

void phase_events_begin(struct phase_events *events, struct error *err);
bool phase_events_next(struct phase_events *events, struct trace_event *event);
bool phase_events_end(struct phase_events *events, struct error *err);

/* Which files are data, and of which kind (rules 1 and 2). */
enum phase_kind { PHASE_NO_DATA, PHASE_TRAINING, PHASE_EVAL };

struct phase_data {
    unsigned char *kinds; /* enum phase_kind, of file ids */
    int64_t files;
    bool any;
};

bool phase_data_find(struct phase_data *data, struct phase_events *events, struct error *err);
void phase_data_release(struct phase_data *data);

enum phase_kind phase_kind_of(const struct phase_data *data, const struct trace_event *event);

/* Writes the common part of similar paths, at most `size` bytes; false: the path is no file of the run. */
bool phase_group_name(const char *path, char *name, size_t size);

/* Rounds of the data: how often places in files are read, in order. */
struct phase_rounds {
    struct hash_map places;  /* number of the last read of each */
    uint64_t mask;           /* only keys without these bits are kept: a sample, if there are too many */
    int64_t reads;           /* of kept places */
    int64_t all;             /* places, of the first pass */
    int64_t start, distinct; /* of the epoch: number of its first read; places read in it */
    int64_t again, again_ns; /* reads in a row of places that were read in the epoch; the time of the first */
};

/* Checkpoints (rule 5). */
struct phase_saves {
    struct phase_save {
        int64_t start_ns, end_ns;
        bool read_after; /* data are read between this one and the next */
    } * list;
    size_t count, capacity;
};

#endif
