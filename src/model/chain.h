/* A chain: a model cut into consecutive layers, for searches over contiguous stages.
 *
 * A graph of operations becomes a chain by cuts. A cut is an order ideal of the graph: a set of operations
 * that contains everything each of them depends on, so that all of it can run before anything outside. Each
 * output inside a cut that is needed outside crosses it once (values needed later are handed along); its
 * gradient comes back. Layers first..last are the difference of cuts `last` and `first - 1`; cut -1 is empty.
 *
 * Cuts of a nested chain grow, so any two bound a stage. Cuts as the DAPPLE planner counts them (graph.h)
 * need not: only cut k with chain_before(chain, k, j) may end the stage before one that ends with cut j, and
 * a single layer, the difference of two neighbours that are not nested, may be negative. */
#ifndef REHEARSE_MODEL_CHAIN_H
#define REHEARSE_MODEL_CHAIN_H

#include "core/arena.h"
#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

#define CHAIN_MAX_CUTS 16384

/* The load of a layer, or of a whole cut; one profile batch on one device. */
struct chain_load {
    double forward, backward; /* seconds */
    double compute;           /* both, summed by operation; may differ from their sum in the last bit */
    int64_t parameter_bytes;  /* once */
    int64_t activation_bytes; /* kept for the backward pass: the outputs of all operations */
};

struct chain {
    struct arena arena; /* owns everything below */
    const char *path;   /* as given by the user */
    int profile_batch;  /* samples of times and activations; 0: unknown */
    bool minimal;       /* nested, with the minimum bytes across all cuts together */
    int layer_count;    /* number of layers and cuts; cut i follows layer i */
    const char **names; /* of layers */
    struct chain_load *layers;
    struct chain_load *until; /* [cut] its load; if nested, the sum of layers 0 to i */
    int64_t *crossing_bytes;  /* across cut i, one way; across the last: outputs */
    uint64_t *before; /* NULL: nested. Else bit k of row j: cut k may precede cut j; see chain_before */
    int before_words; /* per row */
};

/* Returns whether a stage may begin after cut `earlier` and end with cut `later`. */
static inline bool chain_before(const struct chain *chain, int earlier, int later)
{
    if (!chain->before || earlier >= later)
        return earlier < later;
    return chain->before[(size_t)later * (size_t)chain->before_words + (size_t)earlier / 64] >>
               (earlier % 64) &
           1;
}

/* Adds a load `times` times; -1 subtracts it. */
void chain_load_add(struct chain_load *sum, const struct chain_load *load, int times);

/* Returns the load of layers first..last: the difference of two cuts, rounded as in the DAPPLE planner's
 * table. */
struct chain_load chain_range(const struct chain *chain, int first, int last);

/* Allocates `layer_count` zeroed layers; copies `path`. On failure *chain holds nothing. */
bool chain_init(struct chain *chain, const char *path, int layer_count, struct error *err);

void chain_release(struct chain *chain);

#endif
