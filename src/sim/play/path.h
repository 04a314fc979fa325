/* The critical path of what the engine plays: a sink that keeps tasks, and a walk back along their causes. Private to
 * sim/play. */
#ifndef REHEARSE_SIM_PLAY_PATH_H
#define REHEARSE_SIM_PLAY_PATH_H

#include "sim/play/layers.h"

#define PATH_MAX_NAMES 64

struct kept_task {
    double begin, end;
    int32_t cause; /* -1: none */
    int32_t device, stage;
    uint8_t kind, stream, name; /* an index into the keeper's names */
};

/* Keeps tasks, and gives them to another sink. */
struct path_keeper {
    const struct timeline_sink *next; /* NULL: none */
    int32_t *last;                    /* of each device and stream: its last task; -1: none */
    const char *names[PATH_MAX_NAMES];
    int name_count;
    struct kept_task *tasks;
    size_t count, capacity;
    bool lost; /* they are too many */
};

/* Adds seconds of a step to the result, or to an equal one. False: out of memory. */
bool path_add_step(struct sim_result *result, int *room, const struct sim_step *step);

/* Puts the longest steps first, and names their links. */
void path_end(struct sim_result *result, const struct plan *plan);

#endif
