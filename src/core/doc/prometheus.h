/* Numbers of a JSON document in Prometheus's text format, for the textfile collector of its node exporter. Source: the
 * text-based exposition format 0.0.4, and the naming rules of prometheus.io. */
#ifndef REHEARSE_CORE_DOC_PROMETHEUS_H
#define REHEARSE_CORE_DOC_PROMETHEUS_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>

struct prometheus_metric {
    /* where the number or flag stands: "training.au"; a list on the way is one sample for each item */
    const char *path;
    /* without its prefix, in base units: "training_au_ratio", "wait_seconds{quantile=\"0.5\"}"; rows of one name follow each
     * other. "_total" ends that of a counter, with a quantile it is a summary's, the others are gauges */
    const char *name;
    const char *help;
    const char *label; /* the key of an item of a list, which is a text: a label; NULL: no list */
};

struct prometheus {
    const char *path;                        /* of the file, which is replaced as a whole */
    const char *prefix;                      /* "rehearse_feed_" */
    const struct prometheus_metric *metrics; /* ended by a row without a path */
    const char *label; /* the key of a text of the document that all metrics have as a label */
};

/* Writes whether it is still running, and all metrics that the document has; unknown numbers are left out. */
bool prometheus_write(const struct prometheus *to, bool running, const struct text *json, struct error *err);

/* Removes the file of what has failed: nothing runs any more. Devices stay. */
void prometheus_remove(const char *path);

#endif
