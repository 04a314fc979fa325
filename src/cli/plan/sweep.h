/* Sweeps: the same question for every combination of some numbers, answered in parallel.
 *
 * A command fills in a struct sweep and calls sweep_deliver. A point without an answer (ERROR_INFEASIBLE) is a row with
 * its reason; any other error ends the sweep, the first point's first. Answers do not depend on the threads. */
#ifndef REHEARSE_CLI_PLAN_SWEEP_H
#define REHEARSE_CLI_PLAN_SWEEP_H

#include "cli/plan/range.h"
#include "core/error.h"
#include "core/json.h"

#include <stdbool.h>
#include <stdint.h>

#define SWEEP_MAX_AXES    4
#define SWEEP_MAX_COLUMNS 16
#define SWEEP_MAX_POINTS  16384

/* What is varied; the last axis runs fastest. The figure is drawn against the first that has several values; where others
 * have, too, there is a line of the first drawn column for each of them. */
struct sweep_axis {
    const char *key;   /* "global_batch": in CSV and JSON */
    const char *title; /* "global batch": for people */
    struct range range;
    bool scaling; /* a number of devices: drawn on an even axis, with the line of perfect scaling */
};

enum sweep_kind { SWEEP_INTEGER, SWEEP_NUMBER, SWEEP_TIME, SWEEP_BYTES, SWEEP_SHARE, SWEEP_TEXT, SWEEP_FLAG };

struct sweep_column {
    const char *key, *title;
    enum sweep_kind kind;
    const char
        *line; /* what its line in the figure is called; NULL: it has none. The plan's own comes first */
};

/* A cell is a number, or its text where the column has that. */
struct sweep_cell {
    double number; /* seconds, bytes, a share of 1, 0 or 1; NAN: there is none */
    char text[64];
};

/* Fills the cells of one point, whose axes have the values `at`. Several threads call it at once. */
typedef bool sweep_point(const void *context, const int64_t *at, struct sweep_cell *cells, struct error *err);

struct sweep {
    const char *title; /* of the table and the figure: "objective dapple, rules dapple, search exact" */
    int axis_count;
    const struct sweep_axis *axes;
    int column_count;
    const struct sweep_column *columns;
    sweep_point *answer;
    void (*head)(const void *context, struct json *json); /* what JSON says of all points; NULL: nothing */
    const void *context;
    const char *drawn; /* what the lines of the figure show: "speedup" */
};

struct sweep_output {
    bool json, csv;            /* to standard output, instead of a table */
    const char *file, *figure; /* JSON, a picture; NULL: none */
    int threads;
};

int64_t sweep_points(const struct sweep *sweep);

/* Answers all points and writes what is asked for. ERROR_INFEASIBLE when no point has an answer. */
bool sweep_deliver(const struct sweep *sweep, const struct sweep_output *output, struct error *err);

#endif
