/* Profiles as graphs of operations: the text format of TorchGraph and PipeDream (graph.txt). See
 * docs/graph.md.
 *
 * Times are milliseconds and sizes bytes of one profile batch. A sampled input is no operation, and an output
 * that nobody uses (a `__getitem__` without successors) is none either: both are left out with their edges,
 * as HPGO's importer does. What remains has no cycle. */
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
    int line;         /* in the file */
    double forward_ms, backward_ms;
    int64_t activation_bytes; /* its output, all tensors together */
    int64_t parameter_bytes;
    bool view;     /* a `__getitem__`: its output is part of another's memory */
    int *next;     /* nodes that need its output, each once, in the order of the edges */
    int *previous; /* nodes whose output it needs */
    int next_count, previous_count;
};

struct graph {
    struct arena arena; /* owns everything below */
    const char *path;
    int profile_batch; /* from the name of the file ("…-pbs-32.txt"); 0: it does not say */
    int node_count;    /* at least 1 */
    struct graph_node *nodes;
    int *order;                 /* all nodes, each behind those it depends on */
    int read_nodes, read_edges; /* as the file has them */
};

/* Is this text rather a graph than a document? True when the path ends in .txt or the first line that is not
 * blank has an " -- ", and is not the start of a JSON value. */
bool graph_recognise(const char *path, const char *data, size_t length);

/* On failure *graph holds nothing; on success the caller ends it with graph_release. */
bool graph_load(struct graph *graph, const char *path, struct error *err);
bool graph_parse(struct graph *graph, const char *path, const char *data, size_t length, struct error *err);
void graph_release(struct graph *graph);

/* The chain for planning: nested, one operation per layer, so that each operation is in exactly one layer and
 * each cut is an order ideal.
 *
 * Any order of the operations that keeps to the edges gives such a chain; which of them is chosen decides
 * what can be cut cheaply. This is the one with the least bytes across all cuts together. It is found level
 * by level: of all ideals of k operations the cheapest way to each, from the ideals of k - 1. Where all
 * operations meet in one, a level has one ideal, so the work is the sum over the parts in series, not their
 * product; parallel operations with the same neighbours are taken in ascending order of their output, since
 * exchanging any two that are not costs nothing. What is left can still be exponential: a level that has more
 * ideals than its share of GRAPH_WORK keeps the cheapest, and chain.least says whether that happened. */
#define GRAPH_WORK (INT64_C(1) << 25) /* 64-bit words looked at, a multiple of the expanded ideals' size */
bool graph_chain(const struct graph *graph, struct chain *chain, struct error *err);

/* The chain as the DAPPLE planner (HPGO) counts it, which its results depend on: the antichains that are
 * reached from the first source, in HPGO's topological order. Not nested where the graph has branches. More
 * than CHAIN_MAX_CUTS antichains, too much looking for them, or an operation that none of them covers, is an
 * error. */
bool graph_chain_hpgo(const struct graph *graph, struct chain *chain, struct error *err);

/* The chain of graph_chain as a profile of one device type without a name. A profile has no layer that takes
 * no time; such a layer joins a neighbour, and of the cuts around it the one that fewest bytes cross stays. */
bool graph_profile(const struct graph *graph, struct profile *profile, struct error *err);

#endif
