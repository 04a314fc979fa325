/* What a plugin needs besides its file, as JAX gives it: options of its client, libraries beside it, and what to do about
 * its errors. Private to this folder. */
#ifndef REHEARSE_MEASURE_LAYERS_PJRT_PLUGIN_H
#define REHEARSE_MEASURE_LAYERS_PJRT_PLUGIN_H

#include "core/arena.h"
#include "core/error.h"
#include "measure/layers/pjrt_api.h"

struct pjrt_client_options {
    struct pjrt_value *values;
    int count, room;
};

/* Reads options such as "memory_fraction=0.5", and for plugins of GPUs those that JAX reads from the environment; the
 * former hold. Texts are of the arena and of the environment. */
bool pjrt_options_read(struct pjrt_client_options *options, struct arena *arena, const char *path,
                       const char *const *given, size_t count, struct error *err);

/* Loads NVIDIA's libraries that pip has put beside a plugin: not all of them are where it looks itself. */
void pjrt_load_beside(const char *path);

/* Ends the error of a program that calls what a framework registers from Python: it cannot be run, and others can. */
#define PJRT_GAP "frameworks register this code from Python, a plugin alone does not have it"

/* Returns ": ..." with the next step after such an error of a plugin or of dlopen; "" if none is known. */
const char *pjrt_advice(const char *said);

#endif
