/* The data set of a workload, as room dataset/ makes and reads it. */
#ifndef REHEARSE_FEED_WORKLOAD_LAYOUT_H
#define REHEARSE_FEED_WORKLOAD_LAYOUT_H

#include "core/error.h"
#include "dataset/layout.h"
#include "feed/workload.h"

#include <stdbool.h>

/* Checked; the caller ends it with dataset_layout_release. A format that is not built in is an error. Files of the
 * evaluation have as many samples as those of training. */
bool workload_layout(const struct workload *workload, struct dataset_layout *layout, struct error *err);

#endif
