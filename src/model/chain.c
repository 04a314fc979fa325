#include "model/chain.h"

#include <string.h>

bool chain_init(struct chain *chain, const char *path, int layer_count, struct error *err)
{
    struct arena *arena = &chain->arena;
    size_t count = (size_t)layer_count;
    memset(chain, 0, sizeof *chain);
    chain->layer_count = layer_count;
    chain->path = arena_string(arena, path);
    chain->names = ARENA_ARRAY(arena, count, const char *);
    chain->layers = ARENA_ARRAY(arena, count, struct chain_load);
    chain->until = ARENA_ARRAY(arena, count, struct chain_load);
    chain->crossing_bytes = ARENA_ARRAY(arena, count, int64_t);
    if (chain->path && chain->names && chain->layers && chain->until && chain->crossing_bytes)
        return true;
    chain_release(chain);
    return error_memory(err);
}

void chain_release(struct chain *chain)
{
    arena_release(&chain->arena);
    memset(chain, 0, sizeof *chain);
}

void chain_load_add(struct chain_load *sum, const struct chain_load *load, int times)
{
    sum->forward += times * load->forward;
    sum->backward += times * load->backward;
    sum->compute += times * load->compute;
    sum->parameter_bytes += times * load->parameter_bytes;
    sum->activation_bytes += times * load->activation_bytes;
}

struct chain_load chain_range(const struct chain *chain, int first, int last)
{
    struct chain_load load = chain->until[last];
    if (first > 0)
        chain_load_add(&load, &chain->until[first - 1], -1);
    return load;
}
