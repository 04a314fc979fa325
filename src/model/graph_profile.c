/* A chain as a profile. */
#include "model/graph.h"

#include <string.h>

#define MIN_SECONDS 1e-12 /* of a layer in a profile */

static bool takes_time(const struct chain_load *load)
{
    return load->forward >= MIN_SECONDS && load->backward >= MIN_SECONDS;
}

/* Returns the last cut of the next profile layer, which begins at `first`; -1: the rest takes no time in one of the
 * passes. The layer goes on until it takes time. It may then take further layers, as long as the next profile layer
 * takes time as well: of these cuts the one that the fewest bytes cross, the earliest of equals. */
static int next_cut(const struct chain *chain, int first)
{
    struct chain_load load = {0};
    int end = first;
    while (end < chain->layer_count && !takes_time(&load))
        chain_load_add(&load, &chain->layers[end++], 1);
    if (!takes_time(&load))
        return -1;
    int following = end;
    load = (struct chain_load){0};
    while (following < chain->layer_count && !takes_time(&load))
        chain_load_add(&load, &chain->layers[following++], 1);
    if (!takes_time(&load))
        return chain->layer_count - 1; /* the rest takes no time and belongs to this layer */
    int best = end - 1, begin = following;
    for (load = (struct chain_load){0}; !takes_time(&load);)
        chain_load_add(&load, &chain->layers[--begin], 1);
    for (int cut = end; cut < begin; cut++)
        if (chain->crossing_bytes[cut] < chain->crossing_bytes[best])
            best = cut;
    return best;
}

/* Fills in layer `at` of the profile from layers first..last of the chain, with the name of the longest. */
static bool fill(struct profile *profile, int at, const struct chain *chain, int first, int last)
{
    struct chain_load load = {0};
    int longest = first;
    for (int i = first; i <= last; i++) {
        chain_load_add(&load, &chain->layers[i], 1);
        if (chain->layers[i].compute > chain->layers[longest].compute)
            longest = i;
    }
    profile->devices->forward[at] = load.forward;
    profile->devices->backward[at] = load.backward;
    profile->layers[at] = (struct profile_layer){
        .name = arena_string(&profile->arena, chain->names[longest]),
        .parameter_bytes = load.parameter_bytes,
        .activation_bytes = load.activation_bytes,
        .output_bytes = chain->crossing_bytes[last],
    };
    return profile->layers[at].name != NULL;
}

static bool make_profile(struct profile *profile, const struct graph *graph, const struct chain *chain,
                         struct error *err)
{
    struct arena *arena = &profile->arena;
    size_t room = (size_t)chain->layer_count;
    profile->path = arena_string(arena, graph->path);
    profile->layers = ARENA_ARRAY(arena, room, struct profile_layer);
    profile->devices = ARENA_NEW(arena, struct profile_device);
    if (!profile->path || !profile->layers || !profile->devices)
        return error_memory(err);
    profile->device_count = 1;
    profile->microbatch_size = chain->profile_batch;
    profile->devices->path = profile->path;
    profile->devices->forward = ARENA_ARRAY(arena, room, double);
    profile->devices->backward = ARENA_ARRAY(arena, room, double);
    if (!profile->devices->forward || !profile->devices->backward)
        return error_memory(err);
    for (int first = 0; first < chain->layer_count;) {
        int last = next_cut(chain, first);
        if (last < 0)
            return error_set(err, ERROR_INPUT, "%s: all forward times or all backward times are 0",
                             graph->path);
        if (!fill(profile, profile->layer_count++, chain, first, last))
            return error_memory(err);
        first = last + 1;
    }
    profile->source =
        arena_format(arena, "graph of %d operations%s", chain->layer_count,
                     chain->minimal ? "" : ", cut where few bytes cross, perhaps not the minimum");
    return profile->source ? true : error_memory(err);
}

bool graph_profile(const struct graph *graph, struct profile *profile, struct error *err)
{
    struct chain chain;
    memset(profile, 0, sizeof *profile);
    if (!graph_chain(graph, &chain, err))
        return false;
    bool done = make_profile(profile, graph, &chain, err);
    if (!done)
        profile_release(profile);
    chain_release(&chain);
    return done;
}
