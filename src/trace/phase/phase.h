/* Phases of a training run, found from its I/O, where no log tells them.
 *
 * The problem: given who read and wrote which files when, say where INIT, TRAINING (one for each epoch), EVAL and
 * CHECKPOINT lie. The rule:
 *
 *   1. Files that programs are made of (libraries, code, /proc, /sys, /dev, /etc, pipes) are left out. The others are put
 *      into groups of alike names: digits do not count, but those that follow "of" do ("img_07_of_32.npz").
 *   2. Groups with 5 % of all bytes read, and 1 MiB, are data. Groups that are read in the same moments (more than half
 *      of the smaller one's, of 4096 moments) are one set. The set of which most is read is that of training; reading of
 *      any other, after training has begun, is evaluation.
 *   3. The kind of phase changes with the first read of the other kind that is followed by others, as many as 5 % of what
 *      that kind reads, before the present kind has read as much.
 *   4. An epoch begins when data come round again: a place in a file is read that was read in this epoch, a quarter of all
 *      places ago, and four fifths of all places have been read in it. It began with the first of the places in a row
 *      that had been read.
 *   5. Files that are written in pieces of 16 KiB or more on average, 64 KiB in all, and are no data, are checkpoints, from
 *      the opening before the first write to the last write, sync or close. With less than a second between them and no
 *      data read meanwhile (or less than half of the longer one's time) they are one. A checkpoint cuts what it lies in.
 *   6. INIT lasts from the first event to the first phase. A phase lasts until the next begins; the last one until the
 *      processes that read in it have done all they do, or a checkpoint that no reading follows.
 *
 * What it cannot tell: docs/trace-store.md. */
#ifndef REHEARSE_TRACE_PHASE_PHASE_H
#define REHEARSE_TRACE_PHASE_PHASE_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stddef.h>

/* In order, not overlapping; of source "io". *phases is the caller's to free; NULL where there are none. */
bool trace_phases_find(struct trace_reader *reader, struct trace_phase **phases, size_t *count,
                       struct error *err);

/* Puts them into the trace, in place of those found before. */
bool trace_phases_store(const char *path, const struct trace_phase *phases, size_t count, struct error *err);

/* Finds and stores them where the trace has none; *count: how many. */
bool trace_phases_fill(const char *path, size_t *count, struct error *err);

/* Of the phases with this name: the time in both lists, divided by the time in either. NaN where neither has any. */
double trace_phases_overlap(const struct trace_phase *a, size_t a_count, const struct trace_phase *b,
                            size_t b_count, const char *name);

#endif
