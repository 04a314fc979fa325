/* Collectives in training, on links shared with kernels and other transfers. */
#ifndef REHEARSE_COST_TRANSFER_H
#define REHEARSE_COST_TRANSFER_H

#include "cost/collective.h"
#include "devices/calibration.h"

/* Returns seconds: the latency of the collective alone (cost/collective.h), and the rest of its time divided
 * by the share of the bandwidth that training reaches. */
double transfer_seconds(enum collective_kind kind, const struct collective_group *group, double bytes,
                        const struct calibration *calibration);

#endif
