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

/* Add the parts of layer `from_end` of `layers`, counted from the end of a pass of to->stage: the gather of its shards, with
 * marks from `base` on (NULL: none); the activations that its kernels keep or free (false: out of memory); the collectives that
 * its kernels wait for, of which the last task is returned; and the exchange of its gradients. */
struct engine_task *writer_gather(struct template_writer *to, const struct pass_shape *shape, int layers,
                                  int from_end, int base);
bool writer_activations(struct template_writer *to, const struct pass_shape *shape, int layers,
                        struct engine_task *task);
struct engine_task *writer_moved(struct template_writer *to, bool back, int layers, struct engine_task *last,
                                 bool experts);
void writer_gradients(struct template_writer *to, const struct pass_shape *shape, int layers, int from_end);

/* Returns the seconds of a pass's kernels; *label: theirs. */
double writer_kernels(const struct play_stage *stage, const struct pass_shape *shape, int *label);
int writer_layers(const struct template_writer *to);

/* Adds the message that a pass waits for, if it takes the device's time. Returns the mark that it sets; 0: none. Of parts from
 * several devices, the last one stands for all. */
int writer_receive(struct template_writer *to, const struct pass_shape *shape);

/* Adds what a pass waits for where messages take no time of the device: all parts but the last. Returns the port of that. */
int writer_parts(struct template_writer *to, const struct pass_shape *shape);

/* Adds the message of a pass, which waits for the mark `done`. One to several devices is one flow; each of them gets a part when
 * it ends, or begins. */
void writer_send(struct template_writer *to, const struct pass_shape *shape, int done);

/* Returns a number of tasks that a pass of to->stage does not exceed. */
size_t writer_room(const struct template_writer *to);

/* Keeps the tasks as a template of a stage, or two. Returns its number; -1: out of memory. */
int writer_keep(struct template_writer *to, int stage, int second);

/* Makes the template of a pass of `to->stage`. Returns its number; -1: out of memory. */
int writer_pass(struct template_writer *to, const struct pass_shape *shape);

/* Makes the template of a pair of passes of two stages (pairs.c). */
int writer_pair(struct template_writer *to, const struct pass_shape shapes[2], const int stages[2]);

#endif
