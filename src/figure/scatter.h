/* Predicted against measured times of runs. */
#ifndef REHEARSE_FIGURE_SCATTER_H
#define REHEARSE_FIGURE_SCATTER_H

#include "core/error.h"
#include "evidence/validate.h"

/* Draws the scored runs of a validation, one colour per device generation, on logarithmic axes with lines for
 * no error and for ±15 %. The ending of `path` (.svg, .png, .pdf) sets the format. */
bool figure_scatter(const struct validation *validation, const char *path, struct error *err);

#endif
