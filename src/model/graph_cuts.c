/* Finds the order of operations with the minimum bytes across its cuts: see graph.h. */
#include "core/hash.h"
#include "core/random.h"
#include "core/vector.h"
#include "model/graph.h"
#include "model/graph_bits.h"

#include <stdlib.h>
#include <string.h>

/* An order ideal that has been reached, and the cheapest order that leads to it. */
struct ideal {
    uint64_t hash;    /* of its operations: the xor of their random numbers */
    int64_t crossing; /* bytes that leave it */
    double cost;      /* bytes across it and all cuts before it */
    int parent;       /* index in the level before */
    int operation;    /* added to the parent */
};

struct ideals {
    struct ideal *items;
    int count;
    size_t room;
};

struct level {
    int *parent, *operation; /* per ideal that was kept */
};

struct search {
    const struct graph *graph;
    struct arena arena;
    int words;              /* of a set */
    uint64_t *needs;        /* per operation, the operations that must come before it, twins included */
    uint64_t *users;        /* per operation, the operations that need its output */
    int *twin;              /* per operation, the twin to come right after it; -1: none */
    uint64_t *keys;         /* per operation, its random number */
    struct ideals kept;     /* this level */
    struct ideals reached;  /* the next level, as far as it was found */
    uint64_t *done, *ready; /* per kept ideal, its set and the operations that may come next */
    struct hash_map places; /* hashes of reached ideals: their index + 1 */
    struct level *levels;
    int64_t work; /* 64-bit words that may yet be looked at */
    bool minimal;
};

static uint64_t *row(const struct search *s, uint64_t *sets, int index)
{
    return sets + (size_t)index * (size_t)s->words;
}

/* ---- twins ---- */

struct twin {
    const uint64_t *needs, *users;
    int words;
    int64_t bytes;
    int operation;
};

static int compare_neighbours(const struct twin *x, const struct twin *y)
{
    size_t bytes = (size_t)x->words * sizeof *x->needs;
    int needs = memcmp(x->needs, y->needs, bytes);
    return needs ? needs : memcmp(x->users, y->users, bytes);
}

static int compare_twins(const void *a, const void *b)
{
    const struct twin *x = a;
    const struct twin *y = b;
    int neighbours = compare_neighbours(x, y);
    if (neighbours)
        return neighbours;
    return x->bytes != y->bytes ? (x->bytes > y->bytes) - (x->bytes < y->bytes)
                                : (x->operation > y->operation) - (x->operation < y->operation);
}

/* Puts operations with the same neighbours in ascending order of their output. That loses nothing: the outputs they
 * need are held until the last of them is done, and their own until the last user is done; so if a larger one comes
 * first, exchanging the two takes the difference off each cut in between. */
static bool order_twins(struct search *s)
{
    int count = s->graph->node_count;
    struct twin *twins = ARENA_ARRAY(&s->arena, (size_t)count, struct twin);
    if (!twins)
        return false;
    for (int i = 0; i < count; i++)
        twins[i] = (struct twin){row(s, s->needs, i), row(s, s->users, i), s->words,
                                 s->graph->nodes[i].activation_bytes, i};
    qsort(twins, (size_t)count, sizeof *twins, compare_twins);
    /* From the last on, as a twin's set changes after the comparison with the one before it. */
    for (int i = 0; i < count; i++)
        s->twin[i] = -1;
    for (int i = count - 1; i > 0; i--)
        if (compare_neighbours(&twins[i - 1], &twins[i]) == 0) {
            s->twin[twins[i - 1].operation] = twins[i].operation;
            bits_set(row(s, s->needs, twins[i].operation), twins[i - 1].operation);
        }
    return true;
}

/* ---- one level to the next ---- */

/* Returns the change of the crossing bytes when an operation joins the ideal in `done`. */
static int64_t crossing_change(const struct search *s, const uint64_t *done, int operation)
{
    const struct graph_node *node = &s->graph->nodes[operation];
    int64_t change = node->next_count ? node->activation_bytes : 0;
    for (int k = 0; k < node->previous_count; k++) {
        const uint64_t *users = row(s, s->users, node->previous[k]);
        bool last = true;
        for (int w = 0; w < s->words && last; w++)
            last = !(users[w] & ~done[w] & ~(w == operation / 64 ? UINT64_C(1) << (operation % 64) : 0));
        if (last)
            change -= s->graph->nodes[node->previous[k]].activation_bytes;
    }
    return change;
}

/* Two ideals with the same hash would count as one: an order may be overlooked, but none is wrong. */
static bool reach(struct search *s, const struct ideal *ideal)
{
    int64_t *place = hash_map_place(&s->places, ideal->hash ? ideal->hash : 1);
    if (!place)
        return false;
    if (*place == 0) {
        *place = s->reached.count + 1;
        return VECTOR_ADD(s->reached.items, s->reached.count, s->reached.room, *ideal);
    }
    if (ideal->cost < s->reached.items[*place - 1].cost)
        s->reached.items[*place - 1] = *ideal;
    return true;
}

static bool expand(struct search *s, int parent)
{
    int count = s->graph->node_count;
    const struct ideal *from = &s->kept.items[parent];
    const uint64_t *ready = row(s, s->ready, parent);
    for (int v = bits_next(ready, 0, count); v < count; v = bits_next(ready, v + 1, count)) {
        int64_t crossing = from->crossing + crossing_change(s, row(s, s->done, parent), v);
        struct ideal ideal = {from->hash ^ s->keys[v], crossing, from->cost + (double)crossing, parent, v};
        s->work -= s->words * (2 + (int64_t)s->graph->nodes[v].previous_count);
        if (!reach(s, &ideal))
            return false;
    }
    return true;
}

/* The cheapest first; of equals, the one found first. */
static int compare_ideals(const void *a, const void *b)
{
    const struct ideal *x = a;
    const struct ideal *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->parent != y->parent ? (x->parent > y->parent) - (x->parent < y->parent)
                                  : (x->operation > y->operation) - (x->operation < y->operation);
}

/* Makes the sets of an ideal from its parent's. */
static void build(const struct search *s, const struct ideal *ideal, uint64_t *done, uint64_t *ready)
{
    const struct graph_node *node = &s->graph->nodes[ideal->operation];
    memcpy(done, row(s, s->done, ideal->parent), (size_t)s->words * sizeof *done);
    memcpy(ready, row(s, s->ready, ideal->parent), (size_t)s->words * sizeof *ready);
    bits_set(done, ideal->operation);
    bits_unset(ready, ideal->operation);
    for (int k = 0; k < node->next_count; k++)
        if (bits_inside(row(s, s->needs, node->next[k]), done, s->words))
            bits_set(ready, node->next[k]);
    int twin = s->twin[ideal->operation];
    if (twin >= 0 && bits_inside(row(s, s->needs, twin), done, s->words))
        bits_set(ready, twin);
}

/* Returns the maximum number of ideals that the next level can expand: each takes at least two sets. */
static int max_kept(const struct search *s, int level)
{
    int left = s->graph->node_count - level - 1;
    int64_t share = left && s->work > 0 ? s->work / left : 0;
    int64_t max = share / (2 * (int64_t)s->words);
    return max < 1 ? 1 : max < s->reached.count ? (int)max : s->reached.count;
}

/* The reached ideals become this level's. */
static bool descend(struct search *s, int level)
{
    qsort(s->reached.items, (size_t)s->reached.count, sizeof *s->reached.items, compare_ideals);
    int kept_count = max_kept(s, level);
    s->minimal = s->minimal && kept_count == s->reached.count;
    s->reached.count = kept_count;
    size_t count = (size_t)s->reached.count;
    struct level *record = &s->levels[level];
    uint64_t *sets = calloc(2 * count * (size_t)s->words, sizeof *sets);
    record->parent = ARENA_ARRAY(&s->arena, count, int);
    record->operation = ARENA_ARRAY(&s->arena, count, int);
    if (!sets || !record->parent || !record->operation) {
        free(sets);
        return false;
    }
    for (int i = 0; i < s->reached.count; i++) {
        build(s, &s->reached.items[i], row(s, sets, i), row(s, sets, s->reached.count + i));
        record->parent[i] = s->reached.items[i].parent;
        record->operation[i] = s->reached.items[i].operation;
    }
    free(s->done);
    s->done = sets;
    s->ready = row(s, sets, s->reached.count);
    struct ideals spare = s->kept;
    spare.count = 0;
    s->kept = s->reached;
    s->reached = spare;
    hash_map_release(&s->places);
    return true;
}

/* Each level may use its share of the work that is left, but always expands its cheapest ideal. */
static bool take_level(struct search *s, int level)
{
    int64_t until = s->work - s->work / (s->graph->node_count - level);
    for (int i = 0; i < s->kept.count; i++) {
        if (i > 0 && s->work <= until) {
            s->minimal = false;
            break;
        }
        if (!expand(s, i))
            return false;
    }
    return descend(s, level);
}

/* ---- the whole ---- */

static bool prepare(struct search *s)
{
    const struct graph *graph = s->graph;
    size_t count = (size_t)graph->node_count;
    s->words = (int)bits_words(graph->node_count);
    s->needs = ARENA_ARRAY(&s->arena, count * (size_t)s->words, uint64_t);
    s->users = ARENA_ARRAY(&s->arena, count * (size_t)s->words, uint64_t);
    s->twin = ARENA_ARRAY(&s->arena, count, int);
    s->keys = ARENA_ARRAY(&s->arena, count, uint64_t);
    s->levels = ARENA_ARRAY(&s->arena, count, struct level);
    s->kept.items = calloc(1, sizeof *s->kept.items);
    s->done = calloc(2 * (size_t)s->words, sizeof *s->done);
    if (!s->needs || !s->users || !s->twin || !s->keys || !s->levels || !s->kept.items || !s->done)
        return false;
    for (int i = 0; i < graph->node_count; i++) {
        s->keys[i] = random_mix(((uint64_t)i + 1) * RANDOM_GOLDEN);
        for (int k = 0; k < graph->nodes[i].previous_count; k++) {
            bits_set(row(s, s->needs, i), graph->nodes[i].previous[k]);
            bits_set(row(s, s->users, graph->nodes[i].previous[k]), i);
        }
    }
    if (!order_twins(s))
        return false;
    s->kept.count = 1; /* the empty ideal */
    s->ready = s->done + s->words;
    for (int i = 0; i < graph->node_count; i++)
        if (bits_next(row(s, s->needs, i), 0, graph->node_count) == graph->node_count)
            bits_set(s->ready, i);
    return true;
}

static bool find_order(struct search *s, int *order)
{
    int count = s->graph->node_count;
    if (!prepare(s))
        return false;
    for (int level = 0; level < count; level++)
        if (!take_level(s, level))
            return false;
    /* the last level has one ideal: everything */
    for (int level = count - 1, at = 0; level >= 0; level--) {
        order[level] = s->levels[level].operation[at];
        at = s->levels[level].parent[at];
    }
    return true;
}

static bool make_chain(struct search *s, struct chain *chain, struct error *err)
{
    const struct graph *graph = s->graph;
    uint64_t *done = ARENA_ARRAY(&s->arena, bits_words(graph->node_count), uint64_t);
    int *order = ARENA_ARRAY(&s->arena, (size_t)graph->node_count, int);
    struct chain_load until = {0};
    int64_t crossing = 0;
    if (!done || !order || !find_order(s, order))
        return error_memory(err);
    if (!chain_init(chain, graph->path, graph->node_count, err))
        return false;
    for (int i = 0; i < graph->node_count; i++) {
        struct graph_node node = graph->nodes[order[i]];
        crossing += crossing_change(s, done, order[i]);
        bits_set(done, order[i]);
        if (node.view)
            node.activation_bytes = 0; /* its memory is another's */
        graph_add(&chain->layers[i], &node);
        graph_add(&until, &node);
        chain->until[i] = until;
        chain->crossing_bytes[i] = crossing;
        chain->names[i] = arena_string(&chain->arena, node.name);
        if (!chain->names[i])
            return error_memory(err);
    }
    chain->profile_batch = graph->profile_batch;
    chain->minimal = s->minimal;
    return true;
}

bool graph_chain(const struct graph *graph, struct chain *chain, struct error *err)
{
    struct search s = {.graph = graph, .work = GRAPH_WORK, .minimal = true};
    memset(chain, 0, sizeof *chain);
    bool done = make_chain(&s, chain, err);
    if (!done)
        chain_release(chain);
    free(s.kept.items);
    free(s.reached.items);
    hash_map_release(&s.places);
    free(s.done);
    arena_release(&s.arena);
    return done;
}
