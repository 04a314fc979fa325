/* Shared by the readers of logs of steps: one file on its way into the pools of steps.h. */
#ifndef REHEARSE_TRACE_STEPS_INTERNAL_H
#define REHEARSE_TRACE_STEPS_INTERNAL_H

#include "core/doc.h"
#include "trace/import/lines.h"
#include "trace/steps/steps.h"

/* A duration as read, or the beginning of a block. Entries are kept until the whole file is known, since
 * only then is it known which events a first step has. */
struct steps_entry {
    int16_t event; /* or one of these */
#define STEPS_EPOCH_BEGINS (-1)
#define STEPS_BLOCK_BEGINS (-2)
    double seconds;
};

#define STEPS_SHOWN 120 /* bytes of a malformed line */

struct steps_file {
    struct steps *steps;
    const struct steps_options *options;
    const char *path;
    int64_t line;
    enum steps_source source;          /* as its first duration says */
    int64_t gpus, batch, global_batch; /* as the log itself says; 0: it does not */
    char workload[STEPS_NAME];
    int64_t skip_epochs, epochs; /* to be left out; begun */
    int64_t number;              /* of the epoch that lines themselves tell; -1: epoch_start does */
    bool skipping;               /* this epoch is left out */
    struct steps_entry *entries;
    size_t count, capacity;
    int64_t durations; /* read, skipped ones too */
};

/* Takes the configuration from the path; and, at the end, adds the durations to the pools. */
void steps_file_begin(struct steps_file *file);
bool steps_file_end(struct steps_file *file, struct error *err);

/* Always returns true, so that a reader can end with it. */
bool steps_malformed(struct steps_file *file, const char *what);

/* Returns the event of this name, which is added if there is room; else STEPS_MAX_EVENTS. */
int steps_event_of(struct steps *steps, const char *name, size_t length);

bool steps_add(struct steps_file *file, enum steps_source source, int event, double seconds,
               struct error *err);

/* number: the epoch's number in the log, from 1; 0: unknown. */
bool steps_begin_epoch(struct steps_file *file, enum steps_source source, int64_t number, struct error *err);
bool steps_begin_block(struct steps_file *file, struct error *err);

/* The readers. Each reads a whole file. */
bool steps_read_lines(struct steps_file *file, struct import_lines *lines, struct error *err);

/* Takes an object of MLLOG, {"key": …, "value": …, "metadata": …}, whose text is changed; *taken tells if it
 * is one. */
bool steps_take_mllog(struct steps_file *file, char *text, bool *taken, struct error *err);

#endif
