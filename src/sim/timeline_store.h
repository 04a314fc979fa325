/* The tasks of a timeline as a trace (trace/store/store.h), so that what was played, what was simulated and what was
 * recorded can be compared. A device is a process; what it computes is a call of class `other` without a file; messages
 * and collectives are written to and read from a socket, training data and checkpoints from and to a file. */
#ifndef REHEARSE_SIM_TIMELINE_STORE_H
#define REHEARSE_SIM_TIMELINE_STORE_H

#include "sim/timeline.h"

#include <stdint.h>

struct timeline_store;

/* `origin`: nanoseconds since 1970 of the timeline's second 0. NULL on failure. */
struct timeline_store *timeline_store_open(const char *path, int64_t origin, struct error *err);
struct timeline_sink timeline_store_sink(struct timeline_store *store);

/* Completes the file if `done`, else removes it. Returns false if it is not complete. NULL is allowed. */
bool timeline_store_close(struct timeline_store *store, bool done, struct error *err);

#endif
