/* Draws a timeline: a row for each device, with its passes as bars, and the memory of some devices below.
 *
 *     struct gantt *gantt = gantt_new(&options, err);
 *     struct timeline_sink sink = gantt_sink(gantt);
 *     … the run gives its tasks to the sink …
 *     bool ok = gantt_draw(gantt, "run.svg", err);
 *     gantt_free(gantt);
 *
 * A bar has the colour of its kind, a lighter one for the second, fourth, … chunk of a device, and the number of its
 * micro-batch where there is room. Two passes that overlap lie one above the other, transfers and collectives below.
 * Bars thinner than a pixel are drawn together, in the colour of the longest. */
#ifndef REHEARSE_FIGURE_GANTT_H
#define REHEARSE_FIGURE_GANTT_H

#include "core/error.h"
#include "figure/style.h"
#include "sim/timeline.h"

#include <stdbool.h>

#define GANTT_MAX_ROWS 64 /* of more devices, as many are drawn, evenly chosen */

/* How a kind of task looks and is called in legends. */
extern const struct gantt_look {
    const char *title;
    int colour; /* of figure_colour */
} gantt_looks[TASK_KINDS];

struct gantt_options {
    const struct figure_style *style;
    const char *title;       /* lives as long as the picture */
    const char *panel_title; /* of one of several runs; NULL: none */
    int devices;
    int depth;                    /* stages of a chunk: stage / depth is the chunk */
    const char *memory_title;     /* "activations, micro-batches" */
    enum figure_unit memory_unit; /* FIGURE_BYTES or FIGURE_COUNT */
};

struct gantt;

/* NULL: no memory, *err is set. */
struct gantt *gantt_new(const struct gantt_options *options, struct error *err);
void gantt_free(struct gantt *gantt);

/* Returns a sink that stores the tasks to draw; it must not outlive the picture. */
struct timeline_sink gantt_sink(struct gantt *gantt);

/* Writes the picture; the ending of `path` (.svg, .png, .pdf) sets the format. ERROR_INFEASIBLE: there were no
 * tasks. */
bool gantt_draw(struct gantt *gantt, const char *path, struct error *err);

/* Draws several runs, one below the other, with the same time axis, their panel titles and no memory. */
bool gantt_draw_all(struct gantt *const *gantts, int count, const char *path, struct error *err);

#endif
