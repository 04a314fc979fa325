/* How a training job is split over devices: by which degrees, and which layers a stage has. */
#ifndef REHEARSE_DEVICES_DEGREES_H
#define REHEARSE_DEVICES_DEGREES_H

#include <stdbool.h>

/* At least 1, which splits nothing. A layer runs on tensor x context devices of each of `data` copies, whose experts
 * are `expert` sets; `pipeline` stages have other layers. */
struct degrees {
    int tensor, context, expert, pipeline, data;
};

/* Neighbouring layers of a model: first to last, both inclusive. */
struct layer_range {
    int first, last;
};

#define DEGREES_ONE ((struct degrees){1, 1, 1, 1, 1})

static inline bool degrees_are_equal(const struct degrees *a, const struct degrees *b)
{
    return a->tensor == b->tensor && a->context == b->context && a->expert == b->expert &&
           a->pipeline == b->pipeline && a->data == b->data;
}

#endif
