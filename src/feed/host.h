/* Measures whether the host kept up: time spent waiting for a processor, by the scheduler's count and that of
 * the control groups of this process. All values only grow; unknown ones are 0. */
#ifndef REHEARSE_FEED_HOST_H
#define REHEARSE_FEED_HOST_H

#include <stdint.h>

/* Returns the nanoseconds that a thread of this process was runnable but not running
 * (/proc/self/task/TID/schedstat). */
int64_t host_thread_delay(int tid);

/* Returns the nanoseconds that this process's control groups throttled it (cpu.stat, both versions),
 * including the groups above its own. */
int64_t host_throttled(void);

/* ---- Parsers of the same files ---- */

/* Returns the second number of "TIME DELAY SLICES". */
int64_t host_delay_of(const char *schedstat);

/* Returns throttled_usec, or throttled_time, in nanoseconds. */
int64_t host_throttled_of(const char *cpu_stat);

#endif
