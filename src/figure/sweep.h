/* Line plots over a sweep: DAPPLE's speedup against global batch and against devices. */
#ifndef REHEARSE_FIGURE_SWEEP_H
#define REHEARSE_FIGURE_SWEEP_H

#include "core/error.h"

#include <stdbool.h>

struct figure_line {
    const char *title;
    const double *values; /* one per point; NAN: a gap */
    const double *x;      /* of points of its own, on a page; NULL: those of all */
    int count;            /* of its own points */
};

struct figure_sweep {
    const char *title, *x_title, *y_title;
    int point_count, line_count;
    const double *x; /* ascending, above 0 */
    const struct figure_line *lines;
    bool scaling; /* an even axis from 0 and the line y = x; otherwise x doubles from mark to mark */
    const char *x_unit, *y_unit; /* on a page: "s"; NULL: in the title */
};

/* The ending of `path` (.svg, .png, .pdf) sets the format. ERROR_INFEASIBLE: no line has a value. */
bool figure_sweep(const char *path, const struct figure_sweep *sweep, struct error *err);

#endif
