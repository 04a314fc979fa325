
#include "core/file.h"
#include "model/graph.h"
#include "model/profile.h"
#include "plan/dapple/dapple.h"

#include <stdlib.h>
#include <string.h>

#define GRAPH_MAX_BYTES ((size_t)256 << 20)

/* HPGO's chain may be too long, or not be there: ours always is. */
static bool make_chain(struct chain *chain, const struct graph *graph, bool as_hpgo, struct error *err)
{
    struct error cause;
    if (!as_hpgo)
        return graph_chain(graph, chain, err);
    if (!graph_chain_hpgo(graph, chain, &cause))
        return error_set(err, cause.kind, "%s%s", cause.text,
                         cause.kind == ERROR_INPUT ? "; try --import rehearse" : "");
    int layers = chain->layer_count;
    if (layers <= DAPPLE_MAX_LAYERS)
        return true;
    chain_release(chain);
    return error_set(err, ERROR_INPUT,
                     "%s: %d layers as HPGO counts cuts, at most %d can be planned; try --import rehearse",
                     graph->path, layers, DAPPLE_MAX_LAYERS);
}

/* Makes the nested chain of a profile's layers, with the times of one device type. */
static bool profile_chain(const struct profile *profile, int device, struct chain *chain, struct error *err)
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

static bool no_batch(const char *path, struct error *err)
{
    return error_set(err, ERROR_USAGE,
                     "plan: '--profile-batch N' is missing, since the number of samples that '%s' was "
                     "measured with is unknown (a graph's name gives it: …-pbs-N.txt)",
                     path);
}

static bool chain_of_graph(struct chain *chain, double *profile_batch, const struct graph *graph,
                           bool as_hpgo, struct error *err)
{
    if (*profile_batch == 0)
        *profile_batch = graph->profile_batch;
    return *profile_batch > 0 ? make_chain(chain, graph, as_hpgo, err) : no_batch(graph->path, err);
}

static bool chain_of_profile(struct chain *chain, double *profile_batch, const struct profile *profile,
                             struct error *err)
{
    if (*profile_batch == 0)
        *profile_batch = profile->microbatch_size;
    if (profile->device_count != 1)
        return error_set(err, ERROR_INPUT, "%s: has times on %d device types, DAPPLE's rules allow only one",
                         profile->path, profile->device_count);
    if (profile->layer_count > DAPPLE_MAX_LAYERS)
        return error_set(err, ERROR_INPUT, "%s: %d layers, at most %d can be planned", profile->path,
                         profile->layer_count, DAPPLE_MAX_LAYERS);
    return *profile_batch > 0 ? profile_chain(profile, 0, chain, err) : no_batch(profile->path, err);
}

/* A file of text is a graph of operations, or a profile. */
static bool chain_of_file(struct chain *chain, double *profile_batch, const char *path, bool as_hpgo,
                          struct error *err)
{
    char *data;
    size_t length;
    struct graph graph;
    struct profile profile;
    if (!file_read(path, GRAPH_MAX_BYTES, &data, &length, err))
        return false;
    bool is_graph = length == 0 || graph_recognise(path, data, length);
    bool ok = is_graph ? graph_parse(&graph, path, data, length, err)
                       : profile_parse(&profile, path, data, length, err);
    free(data);
    if (!ok)
        return false;
    if (is_graph) {
        ok = chain_of_graph(chain, profile_batch, &graph, as_hpgo, err);
        graph_release(&graph);
    } else {
        ok = chain_of_profile(chain, profile_batch, &profile, err);
        profile_release(&profile);
    }
    return ok;
}

bool dapple_input_load(struct chain *chain, double *profile_batch, const char *path, bool as_hpgo,
                       int64_t given_batch, struct error *err)
{
    enum file_kind kind = FILE_NONE;
    struct profile profile;
    *profile_batch = (double)given_batch;
    if (strcmp(path, "-") != 0 && !file_look(path, &kind, err))
        return false;
    if (kind != FILE_FOLDER)
        return chain_of_file(chain, profile_batch, path, as_hpgo, err);
    if (!profile_load(&profile, path, 0, err))
        return false;
    bool ok = chain_of_profile(chain, profile_batch, &profile, err);
    profile_release(&profile);
    return ok;
}
