/* Times of products that a search has asked for before.
 *
 * Cuts and micro-batches of a job share most sizes of their products, and the search for a product's tile is most of
 * the price of a layer. Each place of the table holds the product that was asked for last; what it returns is
 * kernel_time's to the last bit, whatever else the table holds. One thread uses it. */
#ifndef REHEARSE_COST_KERNEL_MEMO_H
#define REHEARSE_COST_KERNEL_MEMO_H

#include "cost/kernel.h"

struct kernel_memo;

/* Returns an empty memo, which the caller frees with kernel_memo_free; NULL: out of memory. The device and the
 * calibration stay as they are while it is used. */
struct kernel_memo *kernel_memo_new(const struct cost_device *device, const struct calibration *calibration);
void kernel_memo_free(struct kernel_memo *memo);

/* Returns kernel_time of a kernel on the memo's device. */
struct kernel_time kernel_memo_time(struct kernel_memo *memo, const struct kernel *kernel);

#endif
