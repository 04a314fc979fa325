#include "schedule/timing.h"

#include "core/stop.h"

#include <stdlib.h>

#define NOT_YET (-1.0)

/* A stage, with all that a pass of it needs. */
struct play_stage {
    size_t row;                    /* of the stage in the ends of all stages */
    bool receives, receives_input; /* a stage before or after it makes its inputs */
    double seconds[PASS_KINDS];
    double kept, freed[PASS_KINDS];
    double receive_forward, receive_input; /* seconds that receiving an input occupies the device */
    double send_forward, send_input;       /* seconds that sending a result does */
    double way_forward, way_input;         /* seconds that a result is under way */
    bool forward_up, input_up;             /* their result goes to the next device, not to the one before */
    double hidden;
    int forward_to, input_to; /* the other device that waits for its results; -1: none */
};

/* The state is the end of each forward pass and of each backward pass for inputs, and the place of each device in its
 * order. A device that waits is run again by the device that makes the missing input. */
struct play_device {
    size_t place;          /* of its next pass */
    double clock;          /* when it is free */
    double kept;           /* memory */
    const double *missing; /* the end that it waits for; NULL: none */
    double last_end;       /* of its last pass */
    bool last_forward;
    double last_come[2]; /* when the last messages to the device before, and to the next one, have come */
};

struct play {
    const struct pass_order *order;
    const struct timing_options *options;
    struct timing *timing;
    struct play_stage *stages;
    struct play_device *devices;
    /* [stage][micro-batch]: NOT_YET, the end of the pass, or when its result has come to another device */
    double *forward, *input;
    size_t microbatches;
    int *runnable, runnable_count;
    bool in_turn;
};

static const char *pass_letters[PASS_KINDS] = {"F", "I", "W", "B"};

/* Moves *start to the time at which a pass can begin. Returns the input that is missing, or NULL. An input that the
 * device made itself is no later than the device is free. */
static inline const double *begins(const struct play *play, const struct play_stage *stage,
                                   const struct pass *pass, double *start)
{
    size_t i = stage->row + pass->microbatch;
    const double *from;
    double receive;
    if (pass->kind == PASS_FORWARD) {
        if (!stage->receives)
            return NULL;
        from = &play->forward[i - play->microbatches];
        receive = stage->receive_forward;
    } else {
        const double *own = pass->kind == PASS_WEIGHT ? &play->input[i] : &play->forward[i];
        if (*own < 0.0)
            return own;
        if (pass->kind == PASS_WEIGHT || !stage->receives_input)
            return NULL;
        from = &play->input[i + play->microbatches];
        receive = stage->receive_input;
    }
    if (*from < 0.0)
        return from;
    *start = later(*start + receive, *from);
    return NULL;
}

/* Returns the time from which a device receives: it is free at `clock`, its last pass ended at `last_end`, and what
 * that sends goes at the same time if the messages are one call. */
static inline double fuse(const struct play *play, const struct play_stage *stage, const struct pass *pass,
                          const struct play_device *device, double clock)
{
    bool forward = pass->kind == PASS_FORWARD;
    double receive = forward                     ? stage->receive_forward
                     : pass->kind != PASS_WEIGHT ? stage->receive_input
                                                 : 0.0;
    if (play->options->fusion == FUSION_OPPOSITE && device->last_forward == forward)
        return clock;
    return later(clock - receive, device->last_end);
}

/* Returns when a result has come that is sent at a time, and makes it the last one. */
static inline double come(const struct play *play, double *last, double sent, double way)
{
    *last = (play->in_turn ? later(*last, sent) : sent) + way;
    return *last;
}

/* Notes the end of a pass and sends its result. Returns the time at which the device is free. */
static inline double finish(struct play *play, struct play_stage *stage, struct play_device *device,
                            const struct pass *pass, double end)
{
    if (pass->kind == PASS_WEIGHT)
        return end;
    bool forward = pass->kind == PASS_FORWARD;
    double *at = &(forward ? play->forward : play->input)[stage->row + pass->microbatch];
    int to = forward ? stage->forward_to : stage->input_to;
    *at = end;
    if (to < 0)
        return end;
    *at = forward ? come(play, &device->last_come[stage->forward_up], end, stage->way_forward)
                  : come(play, &device->last_come[stage->input_up], end, stage->way_input);
    if (play->devices[to].missing == at) {
        play->devices[to].missing = NULL;
        play->runnable[play->runnable_count++] = to;
    }
    return end + (forward ? stage->send_forward : stage->send_input);
}

/* Memory follows from the order alone. A pass keeps its activations from its beginning, and frees at its end. */
static inline void keep(const struct play_stage *stage, const struct pass *pass, double *kept, double *freed)
{
    *kept += pass->kind == PASS_FORWARD ? stage->kept : 0.0;
    *freed += stage->freed[pass->kind];
}

/* Plays a device until it waits or is done. */
static void run(struct play *play, int device)
{
    const struct pass *passes = play->order->passes;
    struct timing_device *figures = &play->timing->devices[device];
    struct play_device *own = &play->devices[device];
    const size_t first = play->order->first[device], last = play->order->first[device + 1];
    double clock = own->clock, kept = own->kept, busy = figures->busy, peak = figures->peak;
    double *begin = play->timing->begin, *ends = play->timing->end;
    const bool fuses = play->options->fusion != FUSION_NONE;
    size_t place = own->place;
    while (place < last) {
        const struct pass *pass = &passes[place];
        struct play_stage *stage = &play->stages[pass->stage], *other = NULL;
        double start = clock, seconds = stage->seconds[pass->kind], freed = 0.0;
        if (fuses)
            start = fuse(play, stage, pass, own, clock);
        const double *missing = begins(play, stage, pass, &start);
        if (pass->paired && place + 1 < last && missing == NULL) {
            other = &play->stages[pass[1].stage];
            missing = begins(play, other, &pass[1], &start);
            double second = other->seconds[pass[1].kind];
            seconds += second - stage->hidden * (seconds < second ? seconds : second);
        }
        if (missing != NULL) {
            own->missing = missing;
            break;
        }
        double end = start + seconds;
        if (place == first)
            figures->begin = start;
        busy += seconds;
        figures->end = end;
        keep(stage, pass, &kept, &freed);
        if (begin != NULL) {
            begin[place] = start;
            ends[place] = end;
        }
        own->last_end = end;
        own->last_forward = pass->kind == PASS_FORWARD;
        clock = finish(play, stage, own, pass, end);
        if (other != NULL) {
            keep(other, &pass[1], &kept, &freed);
            clock = finish(play, other, own, &pass[1], clock);
            place++;
            if (begin != NULL) {
                begin[place] = start;
                ends[place] = end;
            }
        }
        peak = later(peak, kept);
        kept -= freed;
        place++;
    }
    own->place = place;
    own->clock = clock;
    own->kept = kept;
    figures->busy = busy;
    figures->peak = peak;
}

static bool stuck(const struct play *play, struct error *err)
{
    for (int device = 0; device < play->order->devices; device++) {
        size_t place = play->devices[device].place;
        if (place == play->order->first[device + 1])
            continue;
        const struct pass *pass = &play->order->passes[place];
        return error_set(
            err, ERROR_INPUT, "device %d, pass %zu: %d%s%u never begins: its input is never made", device,
            place - play->order->first[device], pass->stage, pass_letters[pass->kind], pass->microbatch);
    }
    return true;
}

/* Fills in a stage's costs, its rows and those of its neighbours. */
static void prepare_stage(const struct play *play, int stage)
{
    const struct pass_order *order = play->order;
    const struct pass_cost *costs = play->options->costs, *cost = &costs[stage];
    const bool blocks = play->options->send_blocks, receives = blocks || play->options->receive_blocks;
    int before = pass_order_before(order, stage), after = pass_order_after(order, stage);
    int device = order->device_of[stage];
    struct play_stage *to = &play->stages[stage];
    *to = (struct play_stage){
        .row = (size_t)stage * play->microbatches,
        .receives = before >= 0,
        .receives_input = after >= 0,
        .seconds = {[PASS_FORWARD] = cost->forward,
                    [PASS_INPUT] = cost->input,
                    [PASS_WEIGHT] = cost->weight,
                    [PASS_BACKWARD] = cost->input + cost->weight},
        .kept = cost->kept,
        .freed = {[PASS_INPUT] = cost->kept - cost->kept_for_weight,
                  [PASS_WEIGHT] = cost->kept_for_weight,
                  [PASS_BACKWARD] = cost->kept},
        .hidden = cost->hidden,
        .forward_to = -1,
        .input_to = -1,
    };
    if (before >= 0 && order->device_of[before] != device) {
        to->input_to = order->device_of[before];
        to->input_up = pass_order_next(order, device, to->input_to);
        to->receive_forward = receives ? costs[before].send_forward : 0.0;
        to->way_input = cost->send_backward;
        to->send_input = blocks ? to->way_input : 0.0;
    }
    if (after >= 0 && order->device_of[after] != device) {
        to->forward_to = order->device_of[after];
        to->forward_up = pass_order_next(order, device, to->forward_to);
        to->receive_input = receives ? costs[after].send_backward : 0.0;
        to->way_forward = cost->send_forward;
        to->send_forward = blocks ? to->way_forward : 0.0;
    }
}

static bool prepare(struct play *play, bool keep_passes, struct error *err)
{
    const struct pass_order *order = play->order;
    struct timing *timing = play->timing;
    size_t devices = (size_t)order->devices, stages = (size_t)order->stages;
    size_t count = stages * (size_t)order->microbatches;
    play->microbatches = (size_t)order->microbatches;
    timing->devices = calloc(devices, sizeof *timing->devices);
    play->stages = calloc(stages, sizeof *play->stages);
    play->devices = calloc(devices, sizeof *play->devices);
    play->forward = malloc(count * sizeof *play->forward);
    play->input = malloc(count * sizeof *play->input);
    play->runnable = malloc(devices * sizeof *play->runnable);
    if (keep_passes) {
        timing->begin = malloc((pass_order_count(order) + 1) * sizeof *timing->begin);
        timing->end = malloc((pass_order_count(order) + 1) * sizeof *timing->end);
    }
    if (timing->devices == NULL || play->stages == NULL || play->devices == NULL || play->forward == NULL ||
        play->input == NULL || play->runnable == NULL ||
        (keep_passes && (timing->begin == NULL || timing->end == NULL)))
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        play->forward[i] = play->input[i] = NOT_YET;
    for (int stage = 0; stage < order->stages; stage++)
        prepare_stage(play, stage);
    for (int device = order->devices - 1; device >= 0; device--) {
        play->devices[device].place = order->first[device];
        play->runnable[play->runnable_count++] = device;
    }
    return true;
}

bool timing_of_order(const struct pass_order *order, const struct timing_options *options, bool keep_passes,
                     struct timing *timing, struct error *err)
{
    *timing = (struct timing){.extent.makespan = 0.0};
    struct play play = {
        .order = order, .options = options, .timing = timing, .in_turn = options->send_in_turn};
    bool played = prepare(&play, keep_passes, err);
    if (played) {
        for (size_t step = 0; played && play.runnable_count > 0; step++) {
            run(&play, play.runnable[--play.runnable_count]);
            played = !stop_obeyed_at(step, err);
        }
        played = played && stuck(&play, err);
    }
    for (int device = 0; played && device < order->devices; device++) {
        const struct timing_device *figures = &timing->devices[device];
        timing->extent.makespan = later(timing->extent.makespan, figures->end);
        timing->extent.span = later(timing->extent.span, figures->end - figures->begin);
        timing->peak = later(timing->peak, figures->peak);
    }
    free(play.stages);
    free(play.devices);
    free(play.forward);
    free(play.input);
    free(play.runnable);
    return played;
}

void timing_release(struct timing *timing)
{
    free(timing->devices);
    free(timing->begin);
    free(timing->end);
    free(timing->came);
    *timing = (struct timing){.extent.makespan = 0.0};
}
