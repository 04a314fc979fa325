/* Throughput of policies over time, one panel for each, as in the figures of Oobleck's paper. */
#ifndef REHEARSE_FIGURE_ELASTIC_H
#define REHEARSE_FIGURE_ELASTIC_H

#include "elastic/series.h"

#define ELASTIC_MAX_PANELS 16

/* The ending of `path` (.svg, .png, .pdf) sets the format. Nodes that are there are drawn behind, as a
 * share of all. */
bool figure_elastic(const char *path, const struct elastic_series *series, int count,
                    const struct failure_trace *trace, struct error *err);

#endif
