/* A wish to end early, of the thread that works for a caller and of the pools that it starts.
 *
 * A search that looks at the clock asks stop_is_late instead: its time is over at its deadline, or as soon as its caller wishes.
 * What it then returns is thrown away. */
#ifndef REHEARSE_CORE_STOP_H
#define REHEARSE_CORE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>

/* From now on this thread works for the caller who sets `flag` to true (NULL: never). Returns the one before. */
const atomic_bool *stop_watch(const atomic_bool *flag);
const atomic_bool *stop_watched(void);

bool stop_wanted(void);

/* Returns whether the time is over; `deadline` is by clock_now, 0: none. */
bool stop_is_late(double deadline);

#endif
