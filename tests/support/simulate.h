/* One training iteration, played micro-batch by micro-batch: what a plan's estimate is measured against.
 *
 * Synchronous 1F1B (PipeDream-flush): stage i of S runs min(N, S - i) warm-up forwards, then one backward and
 * one forward in turns, then the backwards that are left. Communication takes no time. */
#ifndef REHEARSE_TESTS_SIMULATE_H
#define REHEARSE_TESTS_SIMULATE_H

/* Seconds from the start of the first forward to the end of the last backward, for 1 <= stages and 1 <=
 * microbatches; forward and backward are seconds per micro-batch of each stage. NAN when memory runs out. */
double simulate_1f1b(int stages, const double *forward, const double *backward, int microbatches);

#endif
