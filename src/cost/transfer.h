/* Collectives in training: on links that kernels and other transfers use, too. */
#ifndef REHEARSE_COST_TRANSFER_H
#define REHEARSE_COST_TRANSFER_H

#include "cost/collective.h"
#include "devices/calibration.h"

/* Seconds. Of a collective alone (cost/collective.h) the latency stays; the rest is stretched by the share of the
 * bandwidth that training reaches. */
double transfer_seconds(enum collective_kind kind, const struct collective_group *group, double bytes,
                        const struct calibration *calibration);

#endif
