/* Profiles as graphs of operations: the text format of TorchGraph and PipeDream (graph.txt). See
 * docs/graph.md.
 *
 * Times are milliseconds and sizes bytes of one profile batch. As in HPGO's importer, sampled inputs and
 * unused outputs (a `__getitem__` without successors) are no operations: they are dropped with their edges.
 * The remaining graph has no cycle. */
#ifndef REHEARSE_MODEL_GRAPH_H
#define REHEARSE_MODEL_GRAPH_H

#include "core/arena.h"
#include "core/error.h"
#include "model/chain.h"
#include "model/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_MAX_NODES 4096
#define GRAPH_MAX_EDGES 1000000
#define GRAPH_MAX_LINE  65536 /* bytes */

struct graph_node {
    const char *id;   /* "node12" */
    const char *name; /* "LSTM(1024, 1024)" */
    int line;         /* in the input file */
    double forward_ms, backward_ms;
    int64_t activation_bytes; /* its output, all tensors together */
    int64_t parameter_bytes;
    bool view;     /* a `__getitem__`: its output is part of another's memory */
    int *next;     /* nodes that need its output, each once, in edge order */
    int *previous; /* nodes whose output it needs */
    int next_count, previous_count;
};

struct graph {
    struct arena arena; /* owns everything below */
    const char *path;
    int profile_batch; /* from the name of the file ("…-pbs-32.txt"); 0: it does not say */
    int node_count;    /* at least 1 */
    struct graph_node *nodes;
    int *order;                 /* all nodes in topological order */
    int read_nodes, read_edges; /* numbers in the file */
};

/* Returns whether text is a graph rather than a document: the path ends in .txt, or the first line that is
 * not blank has an " -- " and does not start a JSON value. */
bool graph_recognise(const char *path, const char *data, size_t length);

/* Reads a graph. On failure *graph holds nothing; on success the caller releases it with graph_release. */
bool graph_parse(struct graph *graph, const char *path, const char *data, size_t length, struct error *err);
void graph_release(struct graph *graph);

/* Makes the chain for planning: nested, one operation per layer, so that each operation is in exactly one
 * layer and each cut is an order ideal.
 *
 * Any topological order gives such a chain; the choice decides which cuts are cheap. This one has the minimum
 * bytes across all cuts together. It is found level by level: for all ideals of k operations the cheapest way
 * to each, from the ideals of k - 1. Where all operations meet in one, a level has one ideal, so the work is
 * the sum over the parts in series, not their product; parallel operations with the same neighbours are taken
 * in ascending order of their output, since exchanging two others costs nothing. The rest can still be
 * exponential: a level with more ideals than its share of GRAPH_WORK keeps the cheapest, and chain.least
 * tells whether that happened. */
#define GRAPH_WORK (INT64_C(1) << 25) /* 64-bit words looked at, a multiple of the expanded ideals' size */
bool graph_chain(const struct graph *graph, struct chain *chain, struct error *err);

/* Makes the chain as counted by the DAPPLE planner (HPGO), on which its results depend: the antichains
 * reached from the first source, in HPGO's topological order. Not nested if the graph has branches. More than
 * CHAIN_MAX_CUTS antichains, too long a search for them, or an uncovered operation is an error. */
bool graph_chain_hpgo(const struct graph *graph, struct chain *chain, struct error *err);

/* Makes a profile of one unnamed device type from the chain of graph_chain. A layer that takes no time joins
 * a neighbour; of the cuts around it the one with fewer bytes stays. */
bool graph_profile(const struct graph *graph, struct profile *profile, struct error *err);

#endif
