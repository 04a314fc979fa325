/* A lower bound on the makespan of any order, for a placement, costs and a limit of memory.
 *
 * Micro-batches finish in order (problem.h), so each pass has an earliest beginning (head) and a least time
 * from its beginning to the end of the iteration (tail); head plus tail of any pass is a bound. Both grow
 * from
 *   - the chain of a micro-batch, and the passes of the same type before and after it;
 *   - the work that a device must have done before a pass, or has left from it on;
 *   - memory: forward pass k + M of a stage waits for the weight pass k, if M micro-batches fill the device;
 *     before input pass k, at most M + k forward passes were done, so the others are left.
 * A second bound counts memory times seconds: each micro-batch keeps its memory for at least its round trip
 * (the same idea, with fewer terms, is in arXiv 2401.10241 and 2405.15362). Checked against exhaustive search
 * in tests/schedule/exhaustive_test.c. */
#ifndef REHEARSE_SCHEDULE_SEARCH_BOUND_H
#define REHEARSE_SCHEDULE_SEARCH_BOUND_H

#include "schedule/search/problem.h"

struct search_bound {
    double makespan;
    double span; /* a bound on the longest device's time from its first to its last pass */
    double
        *tail; /* least time from the beginning of a pass to the end, of forward and input passes by number */
};

/* The caller ends it with search_bound_release, also after a failure. */
bool search_bound_init(struct search_bound *bound, const struct search_problem *problem, struct error *err);
void search_bound_release(struct search_bound *bound);

#endif
