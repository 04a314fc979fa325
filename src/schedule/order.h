/* The order of passes on each device of a pipeline: a schedule that was made for one shape.
 *
 * A pipeline has `stages` (virtual) stages in one or several chains. A micro-batch takes the stages of one chain in
 * order, forwards, and in reverse, backwards. Chain c has the stages c * depth .. (c + 1) * depth - 1, with
 * depth = stages / chains. A device may hold several stages: chunks of an interleaved schedule, both legs of a V, or
 * stages of two chains that go in opposite directions (DualPipe, Chimera). */
#ifndef REHEARSE_SCHEDULE_ORDER_H
#define REHEARSE_SCHEDULE_ORDER_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER_MAX_DEVICES      65535
#define ORDER_MAX_STAGES       65535
#define ORDER_MAX_MICROBATCHES 10000000
#define ORDER_MAX_PASSES       (1 << 27)

enum pass_kind {
    PASS_FORWARD,
    PASS_INPUT,    /* backward pass: gradient of the stage's input */
    PASS_WEIGHT,   /* backward pass: gradients of the stage's weights */
    PASS_BACKWARD, /* both in one */
    PASS_KINDS
};

struct pass {
    uint32_t microbatch;
    uint16_t stage;
    uint8_t kind;   /* enum pass_kind */
    uint8_t paired; /* 1: overlaps with the next pass of the device, which begins with it */
};

struct pass_order {
    int devices, stages, chains, microbatches;
    uint16_t *device_of; /* of each stage */
    size_t *first;       /* passes first[d] .. first[d + 1] - 1 are those of device d; devices + 1 entries */
    struct pass *passes;
    size_t capacity;     /* of passes */
    int filling;         /* device whose passes are being added; `devices` when the order is complete */
    int weight_versions; /* copies of the weights that a device holds at most; 1 for schedules that flush */
    int step;     /* micro-batches of an optimizer step: weights change when a stage has done so many */
    int slices;   /* that the sequence of a micro-batch is cut into: each counts as a micro-batch; 0: whole */
    bool flushes; /* a step waits for its micro-batches, and the next ones wait for the step */
};

/* Makes an order without passes, stage s on device s mod devices. The caller ends it with pass_order_release, also
 * after a failure. ERROR_INPUT: a number is beyond its limit. */
bool pass_order_init(struct pass_order *order, int devices, int stages, int chains, int microbatches,
                     struct error *err);
void pass_order_release(struct pass_order *order);

/* Makes a copy, which the caller ends with pass_order_release, also after a failure. */
bool pass_order_copy(const struct pass_order *from, struct pass_order *to, struct error *err);

/* Appends a pass to the device that is being filled; pass_order_next_device moves on to the next one. */
bool pass_order_add(struct pass_order *order, enum pass_kind kind, int stage, int microbatch, bool paired,
                    struct error *err);
void pass_order_next_device(struct pass_order *order);

static inline int pass_order_depth(const struct pass_order *order)
{
    return order->stages / order->chains;
}

/* Returns the stage after or before a stage in its chain; -1: none. */
static inline int pass_order_after(const struct pass_order *order, int stage)
{
    return (stage + 1) % pass_order_depth(order) == 0 ? -1 : stage + 1;
}

static inline int pass_order_before(const struct pass_order *order, int stage)
{
    return stage % pass_order_depth(order) == 0 ? -1 : stage - 1;
}

/* Returns whether `to` is the device after `from` in the ring of devices. */
static inline bool pass_order_next(const struct pass_order *order, int from, int to)
{
    return (from + 1) % order->devices == to;
}

static inline size_t pass_order_count(const struct pass_order *order)
{
    return order->first[order->devices];
}

#endif
