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

/* Keeps up to `limit` tasks, and gives all of them to another sink. */
struct path_keeper {
    const struct timeline_sink *next; /* NULL: none */
    int32_t *last;                    /* of each device and stream: its last task; -1: none */
    const char *names[PATH_MAX_NAMES];
    int name_count;
    size_t limit;
    struct kept_task *tasks;
    size_t count, capacity;
    bool lost; /* some task was not kept */
};

/* The caller ends the keeper with path_keeper_release, also after a failure. Tasks are of devices 0 to devices - 1; if they are
 * many, as where all devices are played one by one (`all`), at most half a GiB of them is kept, else at most 32 MiB. */
bool path_keeper_open(struct path_keeper *keeper, int64_t devices, bool all, const struct timeline_sink *next,
                      struct error *err);
void path_keeper_release(struct path_keeper *keeper);
struct timeline_sink path_keeper_sink(struct path_keeper *keeper);

/* Adds the path to the result; first[p] is the first device of pipeline p (NULL: they are numbered by place). Adds nothing if tasks were lost. */
bool path_keeper_walk(const struct path_keeper *keeper, const struct play_model *model, const int *first,
                      struct sim_result *result, struct error *err);

/* Adds seconds of a step to the result, or to an equal one. False: out of memory. */
bool path_add_step(struct sim_result *result, int *room, const struct sim_step *step);

/* Puts the longest steps first, and names their links. */
void path_end(struct sim_result *result, const struct plan *plan);

#endif
