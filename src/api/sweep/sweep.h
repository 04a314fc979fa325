/* Sweeps: the same question for every combination of some values, answered in parallel.
 *
 * A command fills in a struct sweep and calls sweep_answer. A point without an answer (ERROR_INFEASIBLE) is a row with
 * its reason; any other error ends the sweep, the first point's first. Answers do not depend on the threads. */
#ifndef REHEARSE_API_SWEEP_SWEEP_H
#define REHEARSE_API_SWEEP_SWEEP_H

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "rehearse.h"

#include <stdbool.h>
#include <stdint.h>

#define SWEEP_MAX_AXES    8
#define SWEEP_MAX_COLUMNS 16
#define SWEEP_MAX_POINTS  100000

/* A varied quantity: whole numbers, ascending, or words. The last axis runs fastest. The figure is drawn against the
 * first axis of numbers that has several; where other axes have several values, too, there is a line of the first drawn
 * column for each combination of them. */
struct sweep_axis {
    const char *key;   /* "global_batch": in CSV and JSON */
    const char *title; /* "global batch": for people */
    int count;
    const int64_t *values;
    const char *const *words; /* instead of values */
    const double *numbers;    /* of the words, where they are numbers; else NULL */
    bool scaling; /* a number of devices: drawn on an even axis, with the line of perfect scaling */
};

enum sweep_kind {
    SWEEP_INTEGER,
    SWEEP_NUMBER,
    SWEEP_TIME,
    SWEEP_BYTES,
    SWEEP_RATE,
    SWEEP_SHARE,
    SWEEP_TEXT,
    SWEEP_FLAG
};

struct sweep_column {
    const char *key, *title; /* title NULL: not in the table for people */
    enum sweep_kind kind;
    const char *line; /* name of its line in the figure; NULL: it has none. The plan's own comes first */
};

/* A cell is a number, or its text where the column has that. */
struct sweep_cell {
    double number; /* seconds, bytes, a share of 1, 0 or 1; NAN: there is none */
    char text[64];
    struct text more; /* a text of any length, instead of that; the sweep releases it */
};

/* Fills the cells of one point; at[i] is the index of its value on axis i. Several threads call it at once. */
typedef bool sweep_point(const void *context, const int *at, struct sweep_cell *cells, struct error *err);

struct sweep {
    const char *format; /* of its JSON: "rehearse-sweep/1" */
    const char *title;  /* of the table and the figure: "objective dapple, rules dapple, search exact" */
    const char *doing;  /* for the display of progress: "planning" */
    int axis_count;
    const struct sweep_axis *axes;
    int column_count;
    const struct sweep_column *columns;
    sweep_point *answer;
    void (*head)(const void *context, struct json *json); /* writes facts common to all points; NULL: none */
    const void *context;
    /* The axis whose points are repeats, and a column in bytes per second: the combination with most is named, and
     * whether that is beyond the noise. NULL: none is named. */
    const char *repeats;
    int best;
    const char *drawn; /* the quantity that the figure's lines show: "speedup" */
    /* Identifies the inputs apart from the axes: a digest of files and options. With it, and an output file, a sweep
     * that was killed goes on where it ended: its answers lie in FILE.sweep until FILE is written. NULL: it begins
     * anew. */
    const char *inputs;
};

struct sweep_output {
    const char *file, *figure; /* JSON, a picture; NULL: none */
    int threads;
};

/* SWEEP_MAX_POINTS + 1: more than that. */
int64_t sweep_points(const struct sweep *sweep);

/* Answers all points, writes the files, and makes a handle with a value for each axis and column. ERROR_INFEASIBLE when
 * no point has an answer. */
rh_handle *sweep_answer(const struct sweep *sweep, const struct sweep_output *output, struct error *err);

#endif
