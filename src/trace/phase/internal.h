/* Inside the search for phases (phase.h): phase.c puts together what phase_data.c, phase_rounds.c and phase_saves.c find. */
#ifndef REHEARSE_TRACE_PHASE_INTERNAL_H
#define REHEARSE_TRACE_PHASE_INTERNAL_H

#include "core/hash.h"
#include "trace/phase/data.h"

/* How often data come round: places in files that are read, in order. */
struct phase_rounds {
    struct hash_map places;  /* number of the last read of each */
    uint64_t mask;           /* only keys without these bits are kept: a sample, where there are too many */
    int64_t reads;           /* of kept places */
    int64_t all;             /* places, of the first pass */
    int64_t start, distinct; /* of the epoch: number of its first read; places read in it */
    int64_t again, again_ns; /* reads in a row of places that were read in the epoch; the time of the first */
};

/* First pass: counts places. */
bool phase_rounds_count(struct phase_rounds *rounds, const struct trace_event *event, struct error *err);

/* Between the passes. */
void phase_rounds_begin(struct phase_rounds *rounds);

/* Second pass: has another epoch begun, at again_ns? */
bool phase_rounds_turns(struct phase_rounds *rounds, const struct trace_event *event);

/* Checkpoints (rule 5). */
struct phase_saves {
    struct phase_save {
        int64_t start_ns, end_ns;
        bool read_after; /* data are read between this one and the next */
    } * list;
    size_t count, capacity;
};

/* In order of time; those that follow each other at once are one. */
bool phase_saves_find(struct phase_saves *saves, struct trace_reader *reader, const struct phase_data *data,
                      struct error *err);

/* Data are read at this time. */
void phase_saves_note_reading(struct phase_saves *saves, int64_t time_ns);

/* After all reading was noted: joins those with little time and no reading between them. */
void phase_saves_join(struct phase_saves *saves);

#endif
