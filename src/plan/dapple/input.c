
#include "core/file.h"
#include "model/graph.h"
#include "plan/dapple/dapple.h"

#include <stdlib.h>
#include <string.h>

#define GRAPH_MAX_BYTES ((size_t)256 << 20)

static bool load_graph(struct graph *graph, const char *path, struct error *err)
{
    char *data;
    size_t length;
    enum file_kind kind = FILE_NONE;
    if (strcmp(path, "-") != 0 && !file_look(path, &kind, err))
        return false;
    if (kind == FILE_FOLDER)
        return error_set(err, ERROR_INPUT, "%s: a folder, expected a graph of operations (graph.txt)", path);
    if (!file_read(path, GRAPH_MAX_BYTES, &data, &length, err))
        return false;
    bool done = length == 0 || graph_recognise(path, data, length)
                    ? graph_parse(graph, path, data, length, err)
                    : error_set(err, ERROR_INPUT,
                                "%s: --objective dapple needs a graph of operations (graph.txt), whose lines "
                                "begin with 'ID -- NAME -- forward_compute_time='",
                                path);
    free(data);
    return done;
}

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

bool dapple_input_load(struct chain *chain, double *profile_batch, const char *path, bool as_hpgo,
                       int64_t given_batch, struct error *err)
{
    struct graph graph;
    if (!load_graph(&graph, path, err))
        return false;
    *profile_batch = (double)(given_batch > 0 ? given_batch : graph.profile_batch);
    bool done = *profile_batch > 0
                    ? make_chain(chain, &graph, as_hpgo, err)
                    : error_set(err, ERROR_USAGE,
                                "plan: '--profile-batch N' is missing, since the name of '%s' does not say "
                                "how many samples it was measured with (…-pbs-N.txt)",
                                graph.path);
    graph_release(&graph);
    return done;
}
