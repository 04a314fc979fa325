/* DualPipe and DualPipeV (DeepSeek-V3, arXiv 2412.19437; github.com/deepseek-ai/DualPipe, read at dualpipe.py and
 * dualpipev.py).
 *
 * DualPipe: two chains over the same devices in opposite directions, half of the micro-batches on each. DualPipeV: one
 * chain that goes down the devices and up again. Both are one sequence of eight steps. A device has a stage near the
 * beginning (0: the chain that reaches it first, or the leg down) and one near the end (1). With `half` devices of a
 * half and r = 0 for the outermost device:
 *
 *     1  2 (half - r - 1) x  F0                    5  half - r - 1 x  B1, pair of F1 and B0
 *     2  r + 1            x  F0 F1                 6  r + 1        x  B1 B0, the second half of them without weights
 *     3  half - r - 1     x  I1 W1 F1              7  half - r - 1 x  W, I0
 *     4  m - 2 half + r+1 x  pair of F0 and B1,    8  r + 1        x  W
 *                            pair of F1 and B0
 *
 * m is the number of micro-batches of a stage, at least 2 half. Gradients of weights are made in the order in which
 * they were put off. The innermost device does not overlap its first pair, as the other half waits for both results.
 * PyTorch's ScheduleDualPipeV has the same order. */
#include "schedule/make/make.h"

#include <stdlib.h>

struct dualpipe {
    struct pass_order *order;
    int half, rank;          /* devices of a half; 0: outermost */
    int microbatches;        /* of each stage */
    int stage[2], base[2];   /* of direction 0 and 1; its first micro-batch */
    int forward[2], back[2]; /* micro-batches done */
    struct put_off {
        int stage, microbatch;
    } * weights; /* a queue */
    int weight_first, weight_end;
    struct error *err;
};

static bool add_forward(struct dualpipe *d, int which, bool paired)
{
    return pass_order_add(d->order, PASS_FORWARD, d->stage[which], d->base[which] + d->forward[which]++,
                          paired, d->err);
}

static bool add_backward(struct dualpipe *d, int which, bool put_off)
{
    int microbatch = d->base[which] + d->back[which]++;
    if (put_off)
        d->weights[d->weight_end++] = (struct put_off){d->stage[which], microbatch};
    return pass_order_add(d->order, put_off ? PASS_INPUT : PASS_BACKWARD, d->stage[which], microbatch, false,
                          d->err);
}

static bool add_weight(struct dualpipe *d)
{
    struct put_off next = d->weights[d->weight_first++];
    return pass_order_add(d->order, PASS_WEIGHT, next.stage, next.microbatch, false, d->err);
}

static bool add_pair(struct dualpipe *d, int forward, bool overlap)
{
    return add_forward(d, forward, overlap) && add_backward(d, 1 - forward, false);
}

static bool begin(struct dualpipe *d)
{
    int outer = d->half - d->rank - 1;
    for (int i = 0; i < 2 * outer; i++)
        if (!add_forward(d, 0, false))
            return false;
    for (int i = 0; i <= d->rank; i++)
        if (!add_forward(d, 0, false) || !add_forward(d, 1, false))
            return false;
    for (int i = 0; i < outer; i++)
        if (!add_backward(d, 1, true) || !add_weight(d) || !add_forward(d, 1, false))
            return false;
    return true;
}

static bool go_on(struct dualpipe *d)
{
    int outer = d->half - d->rank - 1;
    for (int i = 0; i < d->microbatches - 2 * d->half + d->rank + 1; i++)
        if (!add_pair(d, 0, i > 0 || outer > 0) || !add_pair(d, 1, true))
            return false;
    for (int i = 0; i < outer; i++)
        if (!add_backward(d, 1, false) || !add_pair(d, 1, true))
            return false;
    return true;
}

static bool finish(struct dualpipe *d)
{
    int outer = d->half - d->rank - 1, count = d->rank + 1;
    bool odd = d->rank % 2 == 1;
    for (int i = 0; i < count; i++) {
        bool put_off_last = i >= count / 2, put_off_first = odd ? put_off_last : i > count / 2;
        if (!add_backward(d, 1, put_off_first) || !add_backward(d, 0, put_off_last))
            return false;
    }
    for (int i = 0; i < outer; i++)
        if (!add_weight(d) || !add_backward(d, 0, true))
            return false;
    while (d->weight_first < d->weight_end)
        if (!add_weight(d))
            return false;
    return true;
}

/* Adds the passes of the next device. */
static bool add_device(struct dualpipe *d)
{
    d->forward[0] = d->forward[1] = d->back[0] = d->back[1] = 0;
    d->weight_first = d->weight_end = 0;
    if (!begin(d) || !go_on(d) || !finish(d))
        return false;
    pass_order_next_device(d->order);
    return true;
}

static bool add_devices(struct dualpipe *d, const struct schedule_shape *shape, bool chains)
{
    for (int device = 0; device < shape->devices; device++) {
        bool second = device >= d->half;
        int twin = 2 * shape->devices - 1 - device;
        d->rank = second ? shape->devices - 1 - device : device;
        d->stage[second] = device;
        d->stage[!second] = twin;
        d->base[second] = 0;
        d->base[!second] = chains ? d->microbatches : 0;
        if (!add_device(d))
            return false;
    }
    return true;
}

static bool make_dualpipe(const struct schedule_shape *shape, struct pass_order *order, int half,
                          int microbatches, struct error *err)
{
    struct dualpipe d = {.order = order, .half = half, .microbatches = microbatches, .err = err};
    for (int stage = shape->devices; stage < order->stages; stage++)
        order->device_of[stage] = (uint16_t)(order->stages - 1 - stage);
    d.weights = malloc(2 * (size_t)microbatches * sizeof *d.weights);
    if (d.weights == NULL)
        return error_memory(err);
    bool made = add_devices(&d, shape, order->chains == 2);
    free(d.weights);
    return made;
}

bool maker_dualpipe(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    if (shape->devices % 2 != 0)
        return error_set(err, ERROR_INPUT, "DualPipe needs an even number of devices, not %d",
                         shape->devices);
    if (shape->microbatches % 2 != 0 || shape->microbatches < 2 * shape->devices)
        return error_set(err, ERROR_INPUT,
                         "DualPipe on %d devices needs an even number of micro-batches, at least %d, not %d",
                         shape->devices, 2 * shape->devices, shape->microbatches);
    return make_dualpipe(shape, order, shape->devices / 2, shape->microbatches / 2, err);
}

bool maker_dualpipev(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    if (shape->microbatches < 2 * shape->devices)
        return error_set(err, ERROR_INPUT, "DualPipeV on %d devices needs at least %d micro-batches, not %d",
                         shape->devices, 2 * shape->devices, shape->microbatches);
    return make_dualpipe(shape, order, shape->devices, shape->microbatches, err);
}
