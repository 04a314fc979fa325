/* The data set of a workload, as room dataset/ makes and reads it. */
#ifndef REHEARSE_FEED_WORKLOAD_LAYOUT_H
#define REHEARSE_FEED_WORKLOAD_LAYOUT_H

#include "core/error.h"
#include "dataset/layout.h"
#include "feed/workload/workload.h"

#include <stdbool.h>

/* What no key of a workload says. */
struct workload_layout_choice {
    bool dlio_sizes;     /* rounded as DLIO rounds them */
    int64_t total_bytes; /* of the formats of the VLDB study; 0: as counts say */
};

/* Checked; `choice` may be NULL; the caller ends it with dataset_layout_release. A format that is not built in is an error. Files of the
 * evaluation have as many samples as those of training. */
bool workload_layout(const struct workload *workload, const struct workload_layout_choice *choice,
                     struct dataset_layout *layout, struct error *err);

#endif
