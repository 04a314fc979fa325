/* A wish to end early, of the caller whom a thread works for (core/caller.h).
 *
 * A loop that may take longer than some milliseconds looks now and then: one that can fail asks stop_obeyed, a cheap
 * one at every STOP_STEPS-th of its steps (stop_obeyed_at), and a search that looks at the clock stop_is_late, as its
 * time is over at its deadline, or as soon as its caller wishes. What is then returned is thrown away.
 * bench/bench_looks measures how long no call looks. */
#ifndef REHEARSE_CORE_STOP_H
#define REHEARSE_CORE_STOP_H

#include "core/clock.h"
#include "core/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define STOP_STEPS 1024

bool stop_wanted(void);

/* Wishes the end of all work for this caller at a time of clock_now (0: never), or at that of the work around if it is
 * earlier. Returns the time before, which is set again with stop_restore. For a search that keeps what its parts have
 * found: what a part returns when stop_wanted() is true afterwards may be incomplete, and proves nothing. Nobody's work
 * has no deadline. */
double stop_deadline(double deadline);
void stop_restore(double before);

/* The opposite, as parallel_while asks it: whether the rest of a loop is awaited. */
static inline bool stop_unwanted(void *context)
{
    (void)context;
    return !stop_wanted();
}

/* Returns the deadline of work that begins now and has a limit in seconds; 0: none. */
static inline double stop_after(double limit)
{
    return limit > 0.0 ? clock_now() + limit : 0.0;
}

/* Returns whether the time is over; `deadline` is by clock_now, 0: none. */
static inline bool stop_is_late(double deadline)
{
    return stop_wanted() || (deadline > 0.0 && clock_now() > deadline);
}

/* Returns whether the work must end; `err` says then that it was stopped. */
static inline bool stop_obeyed(struct error *err)
{
    if (!stop_wanted())
        return false;
    error_set(err, ERROR_STOPPED, "stopped");
    return true;
}

/* The same at the steps 0, STOP_STEPS, 2 STOP_STEPS, …; false at the others. */
static inline bool stop_obeyed_at(size_t step, struct error *err)
{
    return step % STOP_STEPS == 0 && stop_obeyed(err);
}

/* Returns whether the end is wished, as seen at the steps 0, STOP_STEPS, …, by a loop that cannot fail. */
static inline bool stop_wanted_at(size_t step)
{
    return step % STOP_STEPS == 0 && stop_wanted();
}

#endif
