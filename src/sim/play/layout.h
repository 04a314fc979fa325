/* The devices of a plan one by one: their places in pipelines, their groups, and who sends to whom. Private to
 * sim/play.
 *
 * A copy of a pipeline has some devices at each place. Where two places have as many, a message goes from each device
 * to the one with the same number. Else both places fall into equal blocks, as many as both widths allow (their
 * greatest common divisor), and each device of a block sends a part to each device of the other place's block, which
 * waits for all of them: DAPPLE splits and joins micro-batches between stages with other numbers of copies. */
#ifndef REHEARSE_SIM_PLAY_LAYOUT_H
#define REHEARSE_SIM_PLAY_LAYOUT_H

#include "sim/play/layers.h"

struct layout_place {
    int pipeline, copy, place, index;
};

struct layout {
    const struct play_model *model;
    struct arena arena;      /* owns all below */
    int count;               /* devices */
    int *first;              /* device of each pipeline; and the end */
    int *width;              /* of each device of the result (place of a pipeline): devices of one copy */
    int *start;              /* of each of them: its first device within a copy */
    int *copy;               /* of each pipeline: devices of a copy */
    struct layout_place *at; /* of each device */
};

/* Makes the layout; the caller releases the arena, also after a failure. */
bool layout_make(struct layout *layout, const struct play_model *model, struct error *err);

/* Returns the number of devices of the result: places of all pipelines. */
int layout_rank_count(const struct play_model *model);

/* Returns the device of the result that stands for a device's place. */
int layout_rank(const struct layout *layout, int device);

/* Returns the first device of a device's group of a kind (enum layer_group). */
int layout_group_first(const struct layout *layout, int device, int group);

/* Visits the devices of a place in all copies, with the node and the device of that node that the plan gives them. */
typedef void layout_seat(void *context, int device, int node, int index);
void layout_visit_seats(const struct layout *layout, int p, int place, layout_seat *seat, void *context);

/* Devices of another place that a device sends to, or receives from: `count` in a row from `first` on. `own` is the
 * device's number in its block. */
struct layout_block {
    int first, count, own;
};

struct layout_block layout_block(const struct layout *layout, int device, int place);

#endif
