/* Memory of activations that leave their device for a while. An order does not change by that, its peaks do. */
#ifndef REHEARSE_SCHEDULE_MOVES_H
#define REHEARSE_SCHEDULE_MOVES_H

#include "schedule/timing.h"

/* Sets the peaks of a timing that kept its passes. False: out of memory. */
typedef bool moves_memory(const struct pass_order *order, const struct pass_cost *costs,
                          struct timing *timing, struct error *err);

/* BPipe (Kim et al., ICML 2023): devices d and p - 1 - d share their memory. A device keeps half of its pair's
 * micro-batches and one that is on its way; the others are on its twin. */
moves_memory moves_to_twin;

/* PipeOffload (arXiv 2503.01328; sail-sg/zero-bubble-pipeline-parallelism, scheduler/offloading.py): activations of the
 * first half of a device's chunks, which live longest, are copied to the host after their forward pass and back before
 * their backward pass. A copy each way takes half of the seconds of its chunk's passes (the authors' --offload-time
 * 0.5), one after the other in each direction, as late as can be on the way back. One that would not be out before it
 * had to come back stays. Copies are hidden. */
moves_memory moves_to_host;

#endif
