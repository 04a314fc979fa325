/* The phases of a trace in pictures over time. */
#ifndef REHEARSE_FIGURE_TRACE_PHASES_H
#define REHEARSE_FIGURE_TRACE_PHASES_H

#include "core/error.h"
#include "figure/style.h"
#include "figure/trace/window.h"
#include "trace/store/store.h"

#include <stdbool.h>

struct figure_bar {
    const char *name;
    double from, to; /* seconds of the axis, within the window */
};

/* The visible phases, in order of their start. */
struct figure_bars {
    struct figure_bar *items;
    int count;
};

bool figure_bars_list(struct figure_bars *bars, const struct trace_reader *reader,
                      const struct trace_window *window, struct error *err);
void figure_bars_release(struct figure_bars *bars);

/* Plots them into a panel that was begun with this box and a time axis of [from, to] seconds: names inside where there
 * is room, a legend where the panel has a key. */
void figure_bars_draw(struct figure_page *page, const struct figure_box *box, const struct figure_bars *bars,
                      double from, double to);

/* Behind the next plot, pale. */
void figure_bars_shade(struct figure_page *page, const struct figure_bars *bars);

#endif
