/* Sets of small whole numbers, one bit each, and functions shared by both ways from a graph to a chain.
 * Private to this room. */
#ifndef REHEARSE_MODEL_GRAPH_BITS_H
#define REHEARSE_MODEL_GRAPH_BITS_H

#include "model/chain.h"
#include "model/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline size_t bits_words(int count)
{
    return ((size_t)count + 63) / 64;
}

static inline void bits_clear(uint64_t *set, int words)
{
    memset(set, 0, (size_t)words * sizeof *set);
}

static inline void bits_set(uint64_t *set, int bit)
{
    set[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline void bits_unset(uint64_t *set, int bit)
{
    set[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

static inline bool bits_has(const uint64_t *set, int bit)
{
    return set[bit / 64] >> (bit % 64) & 1;
}

static inline void bits_add(uint64_t *set, const uint64_t *other, int words)
{
    for (int w = 0; w < words; w++)
        set[w] |= other[w];
}

static inline bool bits_meet(const uint64_t *a, const uint64_t *b, int words)
{
    for (int w = 0; w < words; w++)
        if (a[w] & b[w])
            return true;
    return false;
}

/* Returns whether `outer` contains `inner`. */
static inline bool bits_inside(const uint64_t *inner, const uint64_t *outer, int words)
{
    for (int w = 0; w < words; w++)
        if (inner[w] & ~outer[w])
            return false;
    return true;
}

/* Returns the first element from `from` on; `count` if there is none below it. */
static inline int bits_next(const uint64_t *set, int from, int count)
{
    for (int at = from; at < count; at = (at / 64 + 1) * 64) {
        uint64_t rest = set[at / 64] >> (at % 64);
        if (rest)
            return at + __builtin_ctzll(rest);
    }
    return count;
}

/* Adds an operation to a cut's load. `compute` is summed in seconds, in HPGO's order and with its
 * rounding. */
static inline void graph_add(struct chain_load *load, const struct graph_node *node)
{
    load->forward += node->forward_ms / 1000;
    load->backward += node->backward_ms / 1000;
    load->compute += (node->forward_ms + node->backward_ms) / 1000;
    load->parameter_bytes += node->parameter_bytes;
    load->activation_bytes += node->activation_bytes;
}

#endif
