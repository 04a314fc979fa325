/* Where an iteration goes under each of several splits: stacked bars. */
#ifndef REHEARSE_FIGURE_SPLITS_H
#define REHEARSE_FIGURE_SPLITS_H

#include "core/error.h"
#include "plan/split/search.h"

/* The ending of `path` (.svg, .png, .pdf) says what is written. */
bool figure_splits(const char *path, const struct job_search *search, struct error *err);

#endif
