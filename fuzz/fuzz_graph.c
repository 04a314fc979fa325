/* The text of a graph, to both chains and to a profile. */
#include "model/graph.h"
#include "walk.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Both sums are of the same whole numbers, so they are equal; of a nested chain nothing is negative. */
static void check_chain(const struct graph *graph, const struct chain *chain)
{
    int64_t parameters = 0;
    for (int i = 0; i < graph->node_count; i++)
        parameters += graph->nodes[i].parameter_bytes;
    require(chain->layer_count == graph->node_count);
    require(chain->until[chain->layer_count - 1].parameter_bytes == parameters);
    require(chain->crossing_bytes[chain->layer_count - 1] == 0);
    for (int i = 0; i < chain->layer_count; i++) {
        require(chain->layers[i].forward >= 0 && chain->layers[i].parameter_bytes >= 0);
        require(chain->crossing_bytes[i] >= 0 && chain->names[i] != NULL);
    }
}

static void check_profile(const struct profile *profile)
{
    require(profile->layer_count > 0 && profile->device_count == 1);
    for (int i = 0; i < profile->layer_count; i++)
        require(profile->devices[0].forward[i] > 0 && profile->devices[0].backward[i] > 0);
}

static void check_graph(const struct graph *graph)
{
    struct chain chain;
    struct profile profile;
    struct error err = {0};
    require(graph_chain(graph, &chain, &err));
    check_chain(graph, &chain);
    chain_release(&chain);
    if (graph_chain_hpgo(graph, &chain, &err)) {
        for (int i = 0; i + 1 < chain.layer_count; i++)
            require(!chain_before(&chain, i + 1, i));
        chain_release(&chain);
    } else {
        require_message(&err);
    }
    if (graph_profile(graph, &profile, &err)) {
        check_profile(&profile);
        profile_release(&profile);
    } else {
        require_message(&err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct graph graph;
    struct error err = {0};
    char *text = malloc(size ? size : 1); /* of this size exactly: what is read beyond it is found */
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    graph_recognise("fuzz", text, size);
    if (graph_parse(&graph, "fuzz.txt", text, size, &err)) {
        check_graph(&graph);
        graph_release(&graph);
    } else {
        require_message(&err);
    }
    free(text);
    return 0;
}
