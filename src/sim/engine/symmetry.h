/* Devices that cannot differ, played once.
 *
 * Two devices are alike if they have the same order, factor and memory, and if their channels, groups and links are
 * alike one by one; channels, groups and links are alike if the same kinds of devices use them in the same way. The
 * coarsest such partition is found by refinement of colours. One device of each class is left: a straggler splits only
 * the classes that its messages and collectives can reach in another way than those of its like. */
#ifndef REHEARSE_SIM_ENGINE_SYMMETRY_H
#define REHEARSE_SIM_ENGINE_SYMMETRY_H

#include "core/arena.h"
#include "sim/engine/engine.h"

struct engine_symmetry {
    struct engine_system
        system;        /* one device for each class; with the whole system's labels, templates and orders */
    int *device_class; /* of each device of the whole system: its device in `system` */
    int *link_class;   /* in the same way, of each link */
    int *device;       /* of each device of `system`: the first of its class in the whole system */
    struct arena arena;
};

/* Makes the smaller system: it takes the same times as the whole one, to the last bit, and its links carry the same.
 * The whole system must stay as long as the symmetry is used; the caller ends that with engine_symmetry_release, also
 * after a failure. ERROR_INPUT: a number in the system is wrong. */
bool engine_symmetry_find(const struct engine_system *whole, struct engine_symmetry *symmetry,
                          struct error *err);
void engine_symmetry_release(struct engine_symmetry *symmetry);

#endif
