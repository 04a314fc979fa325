/* Phases of a training run, found from its I/O if there is no log of them.
 *
 * The problem: given the reads and writes of files over time, find INIT, TRAINING (one per epoch), EVAL and
 * CHECKPOINT. The rule:
 *
 *   1. Files of programs (libraries, code, /proc, /sys, /dev, /etc, pipes) are ignored. The others are
 *      grouped by similar names: digits are ignored, except after "of" ("img_07_of_32.npz").
 *   2. Groups with at least 5 % of all bytes read, and 1 MiB, are data. Groups read in the same moments (more
 *      than half of the smaller group's, of 4096 moments) form a set. The set with the largest volume is the
 *      training set; reads of other sets after the start of training are evaluation.
 *   3. The phase changes at the first read of the other kind if 5 % of that kind's reads follow before the
 *      present kind has read as much.
 *   4. An epoch begins when data repeat: a read hits a place that was read in this epoch, at least a quarter
 *      of all places ago, after four fifths of all places were read. It begins at the first of the
 *      consecutive repeated places.
 *   5. Files written in pieces of 16 KiB or more on average, 64 KiB in total, that are no data are
 *      checkpoints, from the opening before the first write to the last write, sync or close. Checkpoints
 *      less than a second (or half of the longer one's time) apart, without data read in between, are one. A
 *      checkpoint splits its phase.
 *   6. INIT lasts from the first event to the first phase. A phase lasts until the next begins; the last one
 *      until its reading processes have ended their work, or until a checkpoint that no reading follows.
 *
 * Its limits: docs/trace-phases.md. */
#ifndef REHEARSE_TRACE_PHASE_PHASE_H
#define REHEARSE_TRACE_PHASE_PHASE_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stddef.h>

/* Finds the phases, ordered and disjoint, source "io". The caller frees *phases; NULL if none. */
bool trace_phases_find(struct trace_reader *reader, struct trace_phase **phases, size_t *count,
                       struct error *err);

/* Stores them in the trace, replacing phases found earlier. */
bool trace_phases_store(const char *path, const struct trace_phase *phases, size_t count, struct error *err);

/* Finds and stores them if the trace has none; *count is their number. */
bool trace_phases_fill(const char *path, size_t *count, struct error *err);

/* Returns intersection / union of the times of two lists' phases of this name. NaN: neither has any. */
double trace_phases_overlap(const struct trace_phase *a, size_t a_count, const struct trace_phase *b,
                            size_t b_count, const char *name);

#endif
