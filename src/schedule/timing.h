/* The time and the memory of an order, with whole passes as tasks.
 *
 * An order fixes the sequence on every device, and delays do not depend on load, so the times are longest paths: the
 * order of evaluation does not matter, and no event queue is needed. A pass begins when its device is free and its
 * input has arrived. Links that are shared and collectives inside a pass are the matter of sim/engine. */
#ifndef REHEARSE_SCHEDULE_TIMING_H
#define REHEARSE_SCHEDULE_TIMING_H

#include "schedule/order.h"

/* Seconds and memory of a stage for one micro-batch. A full backward pass takes input + weight. */
struct pass_cost {
    double forward, input, weight;
    double send_forward, send_backward; /* to the stage after and before; 0 within a device */
    double
        hidden; /* share of the shorter pass that a forward and a backward pass of a pair hide of each other; 0 to 1 */
    double kept;            /* memory from the forward pass on, in any unit */
    double kept_for_weight; /* the part of `kept` that the gradient of weights needs: freed by that pass */
};

/* Blocking messages that a library sends and receives in one call. */
enum timing_fusion {
    FUSION_NONE,     /* a device sends, and then receives */
    FUSION_OPPOSITE, /* forwards and backwards at the same time: Megatron's send_forward_recv_backward */
    FUSION_ALL,      /* any: Megatron's interleaved schedule */
};

struct timing_options {
    const struct pass_cost *costs; /* of each stage */
    bool
        send_blocks; /* sending and receiving occupy the device, as Megatron's default does; else only delay */
    enum timing_fusion fusion; /* where messages block */
    bool receive_blocks; /* only receiving occupies the device: receives are posted when they are needed */
    /* Messages of a device to the next one of the ring go one after the other, and so do those to other devices, which
     * is one device in a pipeline; else any number go at once. */
    bool send_in_turn;
};

struct timing_device {
    double begin, end; /* of its first and last pass */
    double busy;       /* seconds in passes */
    double peak;       /* of kept memory */
    /* of trial.h: from the first pass to the last, and the share of the makespan that it idles */
    double span, bubble;
};

struct order_extent {
    double makespan;
    double span; /* the longest of a device: from its first pass to its last */
};

struct timing {
    struct order_extent extent;
    double peak; /* of the fullest device */
    struct timing_device *devices;
    double *begin, *end; /* of each pass of the order; NULL unless asked for */
    double *
        came; /* when its message has come; NULL: as soon as it can. Of streams.h, for passes that send one */
};

/* Fills in *timing; the caller ends it with timing_release, also after a failure. ERROR_INPUT if passes wait for each
 * other; the text names one of them. */
bool timing_of_order(const struct pass_order *order, const struct timing_options *options, bool keep_passes,
                     struct timing *timing, struct error *err);
void timing_release(struct timing *timing);

static inline double later(double a, double b)
{
    return a > b ? a : b;
}

#endif
