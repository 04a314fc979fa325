/* Converts a workload's data set to a layout of dataset/. */
#ifndef REHEARSE_FEED_WORKLOAD_LAYOUT_H
#define REHEARSE_FEED_WORKLOAD_LAYOUT_H

#include "core/error.h"
#include "dataset/layout.h"
#include "feed/workload/workload.h"

#include <stdbool.h>

/* Settings without a workload key. */
struct workload_layout_choice {
    bool dlio_sizes;     /* rounded as DLIO rounds them */
    int64_t total_bytes; /* for the formats of the VLDB study; 0: use the counts */
};

/* Makes a checked layout; `choice` may be NULL; the caller ends it with dataset_layout_release. Fails if the
 * format is not built in. Evaluation files have as many samples as training files. */
bool workload_layout(const struct workload *workload, const struct workload_layout_choice *choice,
                     struct dataset_layout *layout, struct error *err);

#endif
