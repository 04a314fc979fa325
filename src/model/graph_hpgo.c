/* The chain as HPGO's importer makes it, step by step: torch_graph_py.rs of LER0ever/HPGO (commit e6fb689),
 * which is graph.py of msr-fiddle/pipedream. Names in quotes are its functions.
 *
 * HPGO leaves some orders to Python's sets. Here they are fixed so that its recorded imports come out: added
 * predecessors from the last node of the file to the first, and sums of times in the order of the
 * identifiers. */
#include "core/hash.h"
#include "core/statistics.h"
#include "model/graph.h"
#include "model/graph_bits.h"

#include <stdlib.h>
#include <string.h>

/* Nodes that do not depend on each other; in HPGO's order, which decides the name of the state. */
struct antichain {
    const int *nodes;
    int count;
    int *next; /* antichains one step on, each once, in the order of discovery */
    int next_count;
};

struct import {
    const struct graph *graph;
    struct chain *chain;
    struct arena arena;
    int words;        /* of a set of nodes */
    uint64_t *before; /* per node, the set of nodes it depends on */
    uint64_t *after;  /* per node, the set of nodes that depend on it */
    uint64_t *set;    /* scratch: one set */
    int *augmented;   /* scratch: lists of nodes, of this length and room for all nodes */
    int augmented_count;
    int *replaced, *sorted;
    struct antichain *states;
    int state_count;
    struct hash_names sets; /* sorted nodes: their state + 1 */
    int *found;             /* the state that last stepped to this one + 1 */
    int64_t work;           /* edges and words of sets that may still be visited */
    struct error *err;
};

#define MAX_WORK (INT64_C(1) << 31)

static uint64_t *before(const struct import *im, int node)
{
    return im->before + (size_t)node * (size_t)im->words;
}

static uint64_t *after(const struct import *im, int node)
{
    return im->after + (size_t)node * (size_t)im->words;
}

static void close_sets(const struct import *im)
{
    const struct graph *graph = im->graph;
    for (int k = 0; k < graph->node_count; k++) {
        int at = graph->order[k];
        for (int e = 0; e < graph->nodes[at].previous_count; e++) {
            bits_set(before(im, at), graph->nodes[at].previous[e]);
            bits_add(before(im, at), before(im, graph->nodes[at].previous[e]), im->words);
        }
    }
    for (int k = graph->node_count - 1; k >= 0; k--) {
        int at = graph->order[k];
        for (int e = 0; e < graph->nodes[at].next_count; e++) {
            bits_set(after(im, at), graph->nodes[at].next[e]);
            bits_add(after(im, at), after(im, graph->nodes[at].next[e]), im->words);
        }
    }
}

/* ---- antichains ---- */

/* Does the output of `from`, which `node` depends on, also go past it? */
static bool goes_past(struct import *im, int from, int node)
{
    const struct graph_node *source = &im->graph->nodes[from];
    im->work -= source->next_count;
    for (int e = 0; e < source->next_count; e++)
        if (source->next[e] != node && !bits_has(before(im, node), source->next[e]))
            return true;
    return false;
}

/* "augment_antichain": the predecessors whose outputs are needed later, then the antichain. */
static void augment(struct import *im, const struct antichain *state)
{
    int count = im->graph->node_count;
    bits_clear(im->set, im->words);
    for (int i = 0; i < state->count; i++)
        for (int p = bits_next(before(im, state->nodes[i]), 0, count); p < count;
             p = bits_next(before(im, state->nodes[i]), p + 1, count))
            if (!bits_has(im->set, p) && goes_past(im, p, state->nodes[i]))
                bits_set(im->set, p);
    im->augmented_count = 0;
    for (int p = count - 1; p >= 0; p--)
        if (bits_has(im->set, p))
            im->augmented[im->augmented_count++] = p;
    memcpy(im->augmented + im->augmented_count, state->nodes, (size_t)state->count * sizeof *state->nodes);
    im->augmented_count += state->count;
}

static bool contains(const int *nodes, int count, int node)
{
    for (int i = 0; i < count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

/* "construct_antichain": puts `node` in the place of `old`, then drops nodes that others depend on. The result is in
 * im->replaced, without duplicates: if `node` were in the list already, it would have a successor there. */
static int replace(struct import *im, int old, int node)
{
    int kept = 0;
    im->work -= (int64_t)im->augmented_count * im->words;
    bits_clear(im->set, im->words);
    for (int i = 0; i < im->augmented_count; i++)
        bits_set(im->set, im->augmented[i] == old ? node : im->augmented[i]);
    for (int i = 0; i < im->augmented_count; i++) {
        int at = im->augmented[i] == old ? node : im->augmented[i];
        if (!bits_meet(after(im, at), im->set, im->words))
            im->replaced[kept++] = at;
    }
    return kept;
}

/* Returns the state of the nodes in im->replaced, added if it is new; -1: failure. */
static int find_state(struct import *im, int count)
{
    bool added;
    memcpy(im->sorted, im->replaced, (size_t)count * sizeof *im->sorted);
    qsort(im->sorted, (size_t)count, sizeof *im->sorted, order_ints);
    uint32_t state = hash_names_id(&im->sets, im->sorted, (size_t)count * sizeof *im->sorted, &added);
    if (state && !added)
        return (int)state - 1;
    if (im->state_count == CHAIN_MAX_CUTS) {
        error_set(im->err, ERROR_INPUT, "%s: has more than %d antichains, which is how HPGO counts cuts",
                  im->graph->path, CHAIN_MAX_CUTS);
        return -1;
    }
    int *nodes = ARENA_ARRAY(&im->arena, (size_t)count, int);
    if (!state || !nodes) {
        error_memory(im->err);
        return -1;
    }
    memcpy(nodes, im->replaced, (size_t)count * sizeof *nodes);
    im->states[im->state_count] = (struct antichain){nodes, count, NULL, 0};
    return im->state_count++;
}

/* "next_antichains". Collects the steps in `steps`, which has room for every state. */
static bool step(struct import *im, int from, int *steps)
{
    struct antichain *state = &im->states[from];
    augment(im, state);
    uint64_t *augmented = im->set + im->words; /* replace() uses the first set */
    bits_clear(augmented, im->words);
    for (int i = 0; i < im->augmented_count; i++)
        bits_set(augmented, im->augmented[i]);
    for (int i = 0; i < im->augmented_count; i++) {
        const struct graph_node *node = &im->graph->nodes[im->augmented[i]];
        im->work -= (int64_t)node->next_count * im->words;
        for (int e = 0; e < node->next_count; e++) {
            int next = node->next[e];
            if (contains(state->nodes, state->count, next) ||
                bits_meet(after(im, next), augmented, im->words))
                continue;
            int to = find_state(im, replace(im, im->augmented[i], next));
            if (to < 0)
                return false;
            if (im->work < 0)
                return error_set(
                    im->err, ERROR_INPUT,
                    "%s: to count cuts as HPGO does takes too long: there are more than %d antichains",
                    im->graph->path, im->state_count);
            if (im->found[to] != from + 1)
                steps[state->next_count++] = to;
            im->found[to] = from + 1;
        }
    }
    state->next = ARENA_ARRAY(&im->arena, (size_t)state->next_count, int);
    if (!state->next)
        return error_memory(im->err);
    memcpy(state->next, steps, (size_t)state->next_count * sizeof *steps);
    return true;
}

/* "antichain_dag", breadth-first from the first source. */
static bool explore(struct import *im, int *steps)
{
    int source = 0;
    while (im->graph->nodes[source].previous_count)
        source++;
    im->replaced[0] = source;
    if (find_state(im, 1) < 0)
        return false;
    for (int s = 0; s < im->state_count; s++)
        if (!step(im, s, steps))
            return false;
    return true;
}

/* ---- order ---- */

struct ranked {
    const char *name;
    int place; /* equal names keep their order */
    int state;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    int names = strcmp(x->name, y->name);
    return names ? names : order_ints(&x->place, &y->place);
}

static const char *state_name(const struct import *im, int state)
{
    return im->graph->nodes[im->states[state].nodes[0]].name;
}

static void sort_states(const struct import *im, int *states, int count, struct ranked *ranked)
{
    for (int i = 0; i < count; i++)
        ranked[i] = (struct ranked){state_name(im, states[i]), i, states[i]};
    qsort(ranked, (size_t)count, sizeof *ranked, compare_ranked);
    for (int i = 0; i < count; i++)
        states[i] = ranked[i].state;
}

/* Visits depth-first from `root`; a finished state goes to the front of `order`. */
static void visit(const struct import *im, int root, bool *seen, int *stack, int *cursor, int *order,
                  int *front)
{
    int depth = 1;
    stack[0] = root;
    seen[root] = true;
    while (depth > 0) {
        int at = stack[depth - 1];
        const struct antichain *state = &im->states[at];
        if (cursor[at] == state->next_count) {
            order[--*front] = at;
            depth--;
        } else {
            int next = state->next[cursor[at]++];
            if (!seen[next]) {
                seen[next] = true;
                stack[depth++] = next;
            }
        }
    }
}

/* "topological_sort": by names if there is a choice. */
static bool sort_all(struct import *im, int *order)
{
    size_t count = (size_t)im->state_count;
    struct ranked *ranked = ARENA_ARRAY(&im->arena, count, struct ranked);
    bool *seen = ARENA_ARRAY(&im->arena, count, bool);
    int *roots = ARENA_ARRAY(&im->arena, count, int);
    int *stack = ARENA_ARRAY(&im->arena, count, int);
    int *cursor = ARENA_ARRAY(&im->arena, count, int);
    int front = im->state_count;
    if (!ranked || !seen || !roots || !stack || !cursor)
        return error_memory(im->err);
    for (int s = 0; s < im->state_count; s++) {
        roots[s] = s;
        sort_states(im, im->states[s].next, im->states[s].next_count, ranked);
    }
    sort_states(im, roots, im->state_count, ranked);
    for (int s = 0; s < im->state_count; s++)
        if (!seen[roots[s]])
            visit(im, roots[s], seen, stack, cursor, order, &front);
    return true;
}

/* ---- chain ---- */

static int compare_ids(const void *a, const void *b)
{
    const struct graph_node *x = *(const struct graph_node *const *)a;
    const struct graph_node *y = *(const struct graph_node *const *)b;
    size_t x_length = strlen(x->id);
    size_t y_length = strlen(y->id);
    return x_length != y_length ? (x_length > y_length) - (x_length < y_length) : strcmp(x->id, y->id);
}

/* Adds a state's nodes, and all that they depend on, to im->set. */
static void cover(const struct import *im, const struct antichain *state)
{
    for (int i = 0; i < state->count; i++) {
        bits_set(im->set, state->nodes[i]);
        bits_add(im->set, before(im, state->nodes[i]), im->words);
    }
}

/* Sums up all operations of a state's cut. */
static void sum(struct import *im, const struct antichain *state, const struct graph_node *const *by_id,
                struct chain_load *load)
{
    bits_clear(im->set, im->words);
    cover(im, state);
    for (int i = 0; i < im->graph->node_count; i++)
        if (bits_has(im->set, (int)(by_id[i] - im->graph->nodes)))
            graph_add(load, by_id[i]);
}

/* Sets the rows of chain.before: the ancestors of each state. */
static bool relate(struct import *im, const int *order, int *place)
{
    struct chain *chain = im->chain;
    size_t words = bits_words(im->state_count);
    chain->before_words = (int)words;
    chain->before = ARENA_ARRAY(&chain->arena, (size_t)im->state_count * words, uint64_t);
    if (!chain->before)
        return error_memory(im->err);
    for (int i = 0; i < im->state_count; i++)
        place[order[i]] = i;
    for (int i = 0; i < im->state_count; i++) {
        const struct antichain *state = &im->states[order[i]];
        for (int e = 0; e < state->next_count; e++) {
            uint64_t *row = chain->before + (size_t)place[state->next[e]] * words;
            bits_set(row, i);
            bits_add(row, chain->before + (size_t)i * words, (int)words);
        }
    }
    return true;
}

/* All states together must hold every node. */
static bool check_all_reached(struct import *im)
{
    const struct graph *graph = im->graph;
    bits_clear(im->set, im->words);
    for (int s = 0; s < im->state_count; s++)
        cover(im, &im->states[s]);
    for (int i = 0; i < graph->node_count; i++)
        if (!bits_has(im->set, i))
            return error_set(
                im->err, ERROR_INPUT,
                "%s:%d:1: HPGO starts at the first source only, from which '%s' cannot be reached",
                graph->path, graph->nodes[i].line, graph->nodes[i].id);
    return true;
}

static bool fill(struct import *im, const int *order, const struct graph_node **by_id)
{
    struct chain *chain = im->chain;
    for (int i = 0; i < im->graph->node_count; i++)
        by_id[i] = &im->graph->nodes[i];
    qsort(by_id, (size_t)im->graph->node_count, sizeof *by_id, compare_ids);
    for (int i = 0; i < im->state_count; i++) {
        const struct antichain *state = &im->states[order[i]];
        augment(im, state);
        for (int k = 0; k < im->augmented_count; k++)
            chain->crossing_bytes[i] += im->graph->nodes[im->augmented[k]].activation_bytes;
        sum(im, state, by_id, &chain->until[i]);
        chain->names[i] = arena_string(&chain->arena, state_name(im, order[i]));
        if (!chain->names[i])
            return error_memory(im->err);
        chain->layers[i] = chain_range(chain, i, i);
    }
    return true;
}

static bool make_chain(struct import *im)
{
    int *order = ARENA_ARRAY(&im->arena, (size_t)im->state_count, int);
    int *place = ARENA_ARRAY(&im->arena, (size_t)im->state_count, int);
    const struct graph_node **by_id =
        ARENA_ARRAY(&im->arena, (size_t)im->graph->node_count, const struct graph_node *);
    if (!order || !place || !by_id)
        return error_memory(im->err);
    return check_all_reached(im) && sort_all(im, order) &&
           chain_init(im->chain, im->graph->path, im->state_count, im->err) && relate(im, order, place) &&
           fill(im, order, by_id);
}

static bool import(struct import *im)
{
    size_t nodes = (size_t)im->graph->node_count;
    size_t words = bits_words(im->graph->node_count);
    im->words = (int)words;
    im->before = ARENA_ARRAY(&im->arena, nodes * words, uint64_t);
    im->after = ARENA_ARRAY(&im->arena, nodes * words, uint64_t);
    im->set = ARENA_ARRAY(&im->arena, 2 * words, uint64_t);
    im->augmented = ARENA_ARRAY(&im->arena, nodes, int);
    im->replaced = ARENA_ARRAY(&im->arena, nodes, int);
    im->sorted = ARENA_ARRAY(&im->arena, nodes, int);
    im->states = ARENA_ARRAY(&im->arena, CHAIN_MAX_CUTS, struct antichain);
    im->found = ARENA_ARRAY(&im->arena, CHAIN_MAX_CUTS, int);
    int *steps = ARENA_ARRAY(&im->arena, CHAIN_MAX_CUTS, int);
    if (!im->before || !im->after || !im->set || !im->augmented || !im->replaced || !im->sorted ||
        !im->states || !im->found || !steps)
        return error_memory(im->err);
    close_sets(im);
    return explore(im, steps) && make_chain(im);
}

bool graph_chain_hpgo(const struct graph *graph, struct chain *chain, struct error *err)
{
    struct import im = {.graph = graph, .chain = chain, .work = MAX_WORK, .err = err};
    memset(chain, 0, sizeof *chain);
    bool done = import(&im);
    if (done)
        chain->profile_batch = graph->profile_batch;
    else
        chain_release(chain);
    hash_names_release(&im.sets);
    arena_release(&im.arena);
    return done;
}
