/* Templates of passes while they are written. Private to sim/play. */
#ifndef REHEARSE_SIM_PLAY_WRITER_H
#define REHEARSE_SIM_PLAY_WRITER_H

#include "sim/play/layers.h"

#define MARK_SENT         1
#define MARK_RECEIVED     2
#define MARK_SCATTERED    3
#define MARK_EXCHANGED    4
#define MARK_TIED         5
#define MARK_OPTIMIZED    6
#define MARK_LOADED       7
#define MARK_COPIED       8
#define MARK_WRITTEN      9
#define MARK_HALF         10 /* of a layer of a pair, and the next one: of the second pass */
#define MARK_PAIRED       12 /* likewise, the exchange of its tokens */
#define MARK_LAYERS       16 /* and on, one for each layer */
#define MAX_LAYER_MARKS   1024
#define MARK_GATHERED     (MARK_LAYERS + MAX_LAYER_MARKS)
#define MARK_GATHERED_TOO (MARK_GATHERED + MAX_LAYER_MARKS) /* for the second pass of a pair */
#define STREAM_SCATTER    STREAM_KINDS                      /* a further stream of collectives */
/* of messages to the device before; those to the next one have STREAM_SEND */
#define STREAM_SEND_BACK (STREAM_KINDS + 1)
#define STREAM_SAVE      (STREAM_KINDS + 2) /* of checkpoints: copies and writes; loading has STREAM_HOST */

struct pass_shape {
    enum pass_kind kind;
    bool unfused; /* its message is received after the one before has been sent */
    bool first;   /* the first forward pass of this stage in an iteration */
    bool last;    /* the last pass with gradients of this stage's weights */
};

struct template_writer {
    struct layer_orders *orders;
    const struct play_model *model;
    const struct play_pipeline *pipeline;
    int p, stage;
    struct engine_task *tasks;
    int count;
};

/* Appends a task to `tasks`, which have room for it. */
struct engine_task *writer_add(struct template_writer *to, int stream, int label, double seconds);
void writer_wait(struct engine_task *task, int mark);

/* Adds the load of a layer to a task of a group, and lets it flow. */
void writer_let_flow(struct engine_task *task, int group, const struct layer_load *load);

/* Returns the stage that a pass's input comes from, or (`out`) its result goes to; -1: none, or on the same device. */
int writer_neighbour(const struct play_pipeline *pipeline, int stage, bool forward, bool out);

/* Keeps the tasks as a template of a stage, or two. Returns its number; -1: out of memory. */
int writer_keep(struct template_writer *to, int stage, int second);

/* Makes the template of a pass of `to->stage`. Returns its number; -1: out of memory. */
int writer_pass(struct template_writer *to, const struct pass_shape *shape);

/* Makes the template of a pair of passes of two stages. */
int writer_pair(struct template_writer *to, const struct pass_shape shapes[2], const int stages[2]);

#endif
