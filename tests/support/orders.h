/* Orders of passes written down in tests. */
#ifndef REHEARSE_TESTS_ORDERS_H
#define REHEARSE_TESTS_ORDERS_H

#include "schedule/order.h"

#include <stdint.h>

/* Makes an order from one text per device, "0F0 0F1 1F0+0B0 ...": PyTorch's names of passes, with a plus between the two
 * of a pair. Stage s is on device s mod devices, unless device_of[s] says otherwise. Ends the test on an error; the caller
 * releases the order. */
void orders_write(struct pass_order *order, int devices, int stages, int chains, int microbatches,
                  const int *device_of, const char *const *texts);

/* Returns a number from `least` to `most`. */
int orders_between(uint64_t *random, int least, int most);

/* Draws a right order: up to 5 devices, 2 chains, 10 stages and 8 micro-batches, with stages anywhere, full or split backward
 * passes of each stage, and pairs. The caller releases it. */
#define ORDERS_MAX_STAGES       10
#define ORDERS_MAX_MICROBATCHES 8
void orders_draw(uint64_t *random, struct pass_order *order);

static inline bool orders_is_back(const struct pass *pass)
{
    return pass->kind == PASS_BACKWARD || pass->kind == PASS_INPUT;
}

#endif
