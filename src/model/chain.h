/* A chain: a model cut into layers that follow one another, as the searches over contiguous stages want it.
 *
 * A graph of operations becomes a chain by cuts. A cut is an order ideal of the graph: a set of operations
 * that holds with each operation all that it depends on, so that everything in it can run before anything
 * outside it. Across a cut goes the output of every operation inside that one outside needs, once, however
 * many need it (what is needed only further on is handed along); its gradient comes back. Layers first..last
 * are what cut `last` holds and cut `first - 1` does not, and cut -1 holds nothing.
 *
 * Cuts of a nested chain grow, so any two of them bound a stage. Cuts as the DAPPLE planner counts them
 * (graph.h) need not: there only cut k with chain_before(chain, k, j) may end the stage before one that ends
 * with cut j, and a single layer, the difference of two neighbours that are not nested, may be negative. */
#ifndef REHEARSE_MODEL_CHAIN_H
#define REHEARSE_MODEL_CHAIN_H

#include "core/arena.h"
#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

#define CHAIN_MAX_CUTS 16384

/* Of one layer, or of all that a cut holds; one profile batch on one device. */
struct chain_load {
    double forward, backward; /* seconds */
    double compute; /* both, summed operation by operation; its last bit may be another than of their sum */
    int64_t parameter_bytes;  /* once */
    int64_t activation_bytes; /* kept for the backward pass: the outputs of all operations */
};

struct chain {
    struct arena arena; /* owns everything below */
    const char *path;   /* as the user wrote it */
    int profile_batch;  /* samples that times and activations are of; 0: not known */
    bool least;         /* nested, and no other nested chain has fewer bytes across all cuts together */
    int layer_count;    /* layers, and cuts: cut i lies behind layer i */
    const char **names; /* of layers */
    struct chain_load *layers;
    struct chain_load *until; /* what cut i holds: the sum of layers 0 to i where the chain is nested */
    int64_t *crossing_bytes;  /* across cut i, one way; of the last: what nobody needs, or an output */
    uint64_t *before; /* NULL: nested. Else bit k of row j: cut k may come before cut j; see chain_before */
    int before_words; /* in a row */
};

/* May a stage of a plan begin behind cut `earlier` and end with cut `later`? */
static inline bool chain_before(const struct chain *chain, int earlier, int later)
{
    if (!chain->before || earlier >= later)
        return earlier < later;
    return chain->before[(size_t)later * (size_t)chain->before_words + (size_t)earlier / 64] >>
               (earlier % 64) &
           1;
}

/* Layers first..last together: the difference of two cuts. Rounds like the DAPPLE planner's table. */
struct chain_load chain_range(const struct chain *chain, int first, int last);

/* Room for `layer_count` layers, all zero; `path` is copied. On failure *chain holds nothing. */
bool chain_init(struct chain *chain, const char *path, int layer_count, struct error *err);

void chain_release(struct chain *chain);

#endif
