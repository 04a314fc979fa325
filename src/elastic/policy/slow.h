/* Nodes that are slower than the others, and the speed of the job that waits for them.
 *
 * A pipeline is as fast as its slowest node, a job as fast as its slowest pipeline: with B micro-batches over P
 * pipelines of p stages an iteration takes ceil(B/P) + p - 1 slots of a pipeline without slow nodes. What the job does:
 *   ignores it   the iteration takes 1/s as long, where s is the speed of the slowest node in use;
 *   moves work   once it knows of a slow node, each pipeline takes so many micro-batches m that the last one is done
 *                earliest: the least T with sum over pipelines of max(0, floor(T s - (p - 1))) >= B, T in slots;
 *   drops it     once it knows: the node leaves in order, after a save, and comes back when it has recovered.
 * Levels 1, 2 and 4 of Greyhound (USENIX ATC 2025), whose third, other places in the network, is not modelled.
 * Detection takes `slow_detect` seconds; the end of slowness is known at once. A policy with redundant work or unequal
 * pipelines (bamboo, oobleck) is slowed by the same share.
 *
 * Check: tests/support/policy_twin.c, second by second, with T by trying all candidates; tests/elastic/slow_test.c: unit
 * jobs given one by one to the pipeline that is done first; the closed form of nodes that are ignored. */
#ifndef REHEARSE_ELASTIC_POLICY_SLOW_H
#define REHEARSE_ELASTIC_POLICY_SLOW_H

#include "elastic/policy/state.h"

/* No node is slow. */
void slow_begin(struct policy_state *state);

/* From `time` on the node has this share of its speed; 1: it has recovered, or is lost. Returns whether it was slow. */
bool slow_set(struct policy_state *state, int node, double speed, double time);

/* When the job will know of the next slow node that it does not know of; INFINITY: never. *node: which. */
double slow_next_known(const struct policy_state *state, int *node);

/* The speed of the job as a share of what it is without slow nodes. */
double slow_share(struct policy_state *state);

#endif
