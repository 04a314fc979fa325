/* The time of a training step: as configured, or by the models of the VLDB study
 * (data/compute-times.yaml).
 *
 * Linear: mean and standard deviation are each a plane over GPUs and batch; a standard deviation that is
 * not positive makes the time constant. Table: DLRM's measured times, with straight lines between the
 * logarithms of batch and time, and between GPUs; the plane is 15 % off it on average, 46 % at worst. */
#ifndef REHEARSE_FEED_WORKLOAD_COMPUTE_TIME_H
#define REHEARSE_FEED_WORKLOAD_COMPUTE_TIME_H

#include "core/error.h"
#include "feed/workload/distribution.h"
#include "feed/workload/workload.h"

#include <stdbool.h>
#include <stdint.h>

/* Gets the time of a step, in seconds, of each of `accelerators` that train together. */
bool compute_time_of_step(const struct workload *workload, int64_t accelerators, struct distribution *time,
                          struct error *err);

/* Evaluates a model. `batch`: per GPU; global for DLRM. The table rejects values outside its range. */
bool compute_time_model(enum workload_computation_model model, double gpus, double batch,
                        struct distribution *time, struct error *err);

#endif
