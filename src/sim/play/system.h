/* Plans by layers as systems of the engine. Private to sim/play.
 *
 * The whole system has all devices of the plan (layout.h), with the links of its cluster (wires.h). Devices that cannot
 * differ are found in it by refinement (sim/engine/symmetry.h), and one of each kind is played, unless all are asked
 * for. Where nothing tells the devices of a place apart, there is one of each place, and these are numbered by their
 * places; else devices have their numbers in the plan: by pipeline, copy, place and index. */
#ifndef REHEARSE_SIM_PLAY_SYSTEM_H
#define REHEARSE_SIM_PLAY_SYSTEM_H

#include "sim/engine/symmetry.h"
#include "sim/play/wires.h"

struct play_system {
    const struct play_model *model;
    struct layer_orders orders;
    struct layout layout;
    struct wires wires;
    struct arena arena;
    struct engine_system engine; /* the system that is played */
    struct engine_symmetry symmetry;
    struct engine_device *devices; /* of the system */
    int *shown;                    /* of each of its devices: the device that it is */
    bool by_place;                 /* one for each place */
};

/* Returns the cause to which a label's seconds belong. */
enum sim_cause play_cause_of(int label);

/* Makes the system; the caller ends it with play_system_release, also after a failure. */
bool play_system_make(struct play_system *system, const struct play_model *model, struct error *err);
void play_system_release(struct play_system *system);

#endif
