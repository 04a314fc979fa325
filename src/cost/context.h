/* Exchanges of context parallel ranks in an attention.
 *
 * Problem. c ranks each have a c-th of a sequence's tokens, and every query meets the keys and values of all tokens.
 *
 * p2p          keys and values go round a ring in c - 1 steps; each step's attention runs beside the transfer of the
 *              next one (arXiv:2310.01889). Backward the gradients of both travel with them.
 * all_gather   keys and values are gathered before the attention; backward they are gathered again, and their gradients
 *              scattered (arXiv:2407.21783, section 3.3.2).
 * a2a          each rank takes all tokens of a c-th of the heads: queries, keys, values and outputs are exchanged
 *              (arXiv:2309.14509). Needs heads that c divides.
 * a2a+p2p      a2a between g neighbours, p2p between the c / g groups of them (arXiv:2405.07719); g is the largest
 *              divisor of c that divides the heads and lies within a node.
 *
 * All-gathers, scatters and all-to-alls are exposed; a step of a ring is, as far as it takes longer than its attention.
 *
 * Kernels take longer, too. A ring's attention comes in c pieces: one of a rank's own tokens, under the causal mask,
 * and c - 1 of half as many pairs without a mask, with all queries or all keys of a rank and half of the others (as
 * Transformer Engine balances the mask). Short pieces are slower: tokens at which flash attention is at half its rate
 * are known under a mask (calibration.h), and are two fifths of that without one (arXiv:2407.08608, figure 5). Each
 * piece but the first is added to the output, forward, and to the gradients of queries, keys and values, backward.
 * Gathered and exchanged tensors are put in order once: read and written.
 * These are the kinds of Megatron-Core's --cp-comm-type. Check: tests/cost/context_test.c. */
#ifndef REHEARSE_COST_CONTEXT_H
#define REHEARSE_COST_CONTEXT_H

#include "cost/collective.h"
#include "devices/technique.h"

struct context_exchange {
    enum context_kind kind;
    struct collective_group group; /* context parallel ranks */
    const struct calibration *calibration;
    double keys_bytes;       /* keys and values of a rank's own tokens */
    double queries_bytes;    /* its queries; outputs are as large */
    int64_t heads, kv_heads; /* of a rank, before the exchange */
    double attention[2];     /* seconds of its kernels, forward and backward */
    double tokens;           /* of the whole sequence */
    double stream;           /* bytes/s of elementwise kernels */
    int neighbours;          /* ranks of a node; a2a+p2p keeps its all-to-alls within */
};

struct context_seconds {
    double forward, backward; /* exposed */
    double kernels[2];        /* that the attention's kernels, and those around it, take longer */
    double whole[2];          /* with what a ring hides, forward and backward */
    double moved[2];          /* bytes that a device sends, forward and backward */
};

/* Returns whether the heads allow this kind. */
bool context_allows(const struct context_exchange *exchange);

/* Returns the neighbours of a2a+p2p; 1: none that is allowed. */
int context_neighbours(const struct context_exchange *exchange);

struct context_seconds context_seconds_of(const struct context_exchange *exchange);

#endif
