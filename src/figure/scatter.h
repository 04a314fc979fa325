/* Predicted against measured times of runs. */
#ifndef REHEARSE_FIGURE_SCATTER_H
#define REHEARSE_FIGURE_SCATTER_H

#include "core/error.h"
#include "evidence/validate.h"

/* Draws the scored runs of a validation, one colour per device generation, on logarithmic axes with the lines of no
 * error and of 15 % either way. The ending of `path` (.svg, .png, .pdf) says what is written. */
bool figure_scatter(const struct validation *validation, const char *path, struct error *err);

#endif
