#include "model/profile_chain.h"

bool profile_chain(const struct profile *profile, int device, struct chain *chain, struct error *err)
{
    const struct profile_device *times = &profile->devices[device];
    struct chain_load sum = {0};
    if (!chain_init(chain, profile->path, profile->layer_count, err))
        return false;
    chain->profile_batch = profile->microbatch_size;
    chain->minimal = true;
    for (int i = 0; i < profile->layer_count; i++) {
        const struct profile_layer *layer = &profile->layers[i];
        chain->names[i] = layer->name ? arena_string(&chain->arena, layer->name)
                                      : arena_format(&chain->arena, "layer %d", i);
        if (!chain->names[i]) {
            chain_release(chain);
            return error_memory(err);
        }
        chain->layers[i] = (struct chain_load){
            .forward = times->forward[i],
            .backward = times->backward[i],
            .compute = times->forward[i] + times->backward[i],
            .parameter_bytes = layer->parameter_bytes,
            .activation_bytes = layer->activation_bytes,
        };
        chain_load_add(&sum, &chain->layers[i], 1);
        chain->until[i] = sum;
        chain->crossing_bytes[i] = layer->output_bytes;
    }
    return true;
}
