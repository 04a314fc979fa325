/* Random systems for sim/engine that come to an end: tasks are added to all devices in one sequence, and each waits only for
 * earlier ones. A system may have copies of its devices, links and groups, played one by one or as one. */
#ifndef REHEARSE_TESTS_ENGINE_PROGRAMS_H
#define REHEARSE_TESTS_ENGINE_PROGRAMS_H

#include "core/arena.h"
#include "sim/engine/engine.h"

struct program_shape {
    bool flows, shares, jitter, factors;
    bool shuffled; /* tasks change places, so that some wait for each other for ever */
    int copies;    /* 1: none */
};

struct program {
    struct arena arena;
    struct engine_system whole;      /* with all copies: device c * n + d is copy c of device d */
    struct engine_system compressed; /* one device for all copies */
};

/* Equal seeds and shapes give equal programs; ended by engine_program_release. */
void program_make(uint64_t seed, const struct program_shape *shape, struct program *program);
void engine_program_release(struct program *program);

#endif
