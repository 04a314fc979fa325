/* Draws two traces' differences: similarity components as bars, and the data of the most different. */
#ifndef REHEARSE_FIGURE_DIFFERENCES_H
#define REHEARSE_FIGURE_DIFFERENCES_H

#include "core/error.h"
#include "figure/style.h"
#include "trace/similarity/similarity.h"

/* The ending of `path` sets the format. */
bool figure_differences(const char *path, const struct similarity_trace *a, const struct similarity_trace *b,
                        const struct similarity *result, const struct figure_style *style, struct error *err);

#endif
