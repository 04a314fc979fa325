/* The colours and names of traces. */
#ifndef REHEARSE_FIGURE_TRACE_NAMES_H
#define REHEARSE_FIGURE_TRACE_NAMES_H

#include "core/error.h"
#include "core/text.h"
#include "figure/style.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stddef.h>

#define FIGURE_MAX_TRACES 8 /* distinguishable colours */

/* Fails if there are too many traces for one picture. */
bool figure_names_fit(size_t count, struct error *err);

/* Draws the names of traces above all panels, with the number of lost events. One trace: its name or the title, if the
 * style has titles. Several traces: the name of each in its colour (figure_colour), in every style. */
void figure_names_draw(struct figure_page *page, double left, const char *const *paths,
                       const struct trace_shortfall *shortfalls, int count, const char *title);

/* "run.db (7 events were lost)"; of a whole trace: "run.db". */
void figure_name_add(struct text *out, const char *name, struct trace_shortfall shortfall);

/* The part of a path that people call the trace by: without folders, unless another has the same. */
const char *figure_trace_name(const char *const *paths, int count, int which);

#endif
