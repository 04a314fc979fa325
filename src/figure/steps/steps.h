/* Pictures of the steps of training, by number of GPUs and batch (trace/steps/steps.h). */
#ifndef REHEARSE_FIGURE_STEPS_STEPS_H
#define REHEARSE_FIGURE_STEPS_STEPS_H

#include "core/error.h"
#include "figure/style.h"
#include "trace/steps/stats.h"
#include "trace/steps/steps.h"

enum figure_steps_kind {
    FIGURE_STEPS_BREAKDOWN,  /* stacked bars: the mean parts of a step */
    FIGURE_STEPS_STEP,       /* lines over the batch: whole step, loading, computing */
    FIGURE_STEPS_FULL,       /* the same for every part of a step */
    FIGURE_STEPS_THROUGHPUT, /* samples per second of storage, loading, computing, whole steps */
    FIGURE_STEPS_LATENCY,    /* of loading, of storage, of preparing */
    FIGURE_STEPS_VIOLIN,     /* distributions of whole step, loading, computing */
    FIGURE_STEPS_HISTOGRAM, /* compute times of each configuration, the normal distribution fitted, the median */
    FIGURE_STEPS_FIT,       /* mean and deviation of these, and the planes fitted */
};

/* For a command-line option; ends with NULL. */
extern const char *const figure_steps_kinds[];

/* The ending of `path` (.svg, .png, .pdf) sets the format. `event`: the event of violins and histograms;
 * NULL: the default. Fails if the logs lack the data. */
bool figure_steps(const char *path, enum figure_steps_kind kind, const char *event,
                  const struct figure_style *style, const struct steps *steps,
                  const struct steps_model *model, struct error *err);

#endif
