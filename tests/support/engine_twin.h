/* A second simulator of the same systems as sim/engine, which knows only a clock and a list: at each moment it looks at all
 * tasks, starts those that can begin, and steps to the next moment at which anything ends. It shares no code with the
 * engine, whose random factors it uses. */
#ifndef REHEARSE_TESTS_ENGINE_TWIN_H
#define REHEARSE_TESTS_ENGINE_TWIN_H

#include "sim/engine/engine.h"

struct twin_task {
    int device, pass, place;
    int state; /* private, as all below but the times */
    double begin, end;
    double seconds, latency, rate; /* of a collective: the longest of its members' */
    double fixed_end, latency_end, left, speed;
    bool fixed, flow;
    int meeting;
};

struct twin {
    struct twin_task *tasks; /* by device, pass and place */
    int count;
    int64_t *peaks; /* of each device */
    double makespan;
    bool stuck;
};

/* Plays the system; ended by twin_release. */
void twin_play(const struct engine_system *system, struct twin *twin);
void twin_release(struct twin *twin);

#endif
