/* The system's clocks. Subtract only times of the monotonic clock, which all processes of a host share and
 * nothing sets. */
#ifndef REHEARSE_CORE_CLOCK_H
#define REHEARSE_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND INT64_C(1000000000) /* in nanoseconds */

/* The monotonic clock. */
double clock_now(void); /* seconds */
int64_t clock_nanoseconds(void);

/* Reads any clock, such as CLOCK_REALTIME; 0 if the system lacks it. */
int64_t clock_read(clockid_t clock);

/* Returns the user and system CPU seconds of this process and its threads. */
double clock_processor(void);

/* Converts to the form of system calls; nanoseconds must be >= 0. */
struct timespec clock_timespec(int64_t nanoseconds);

void clock_sleep(int64_t nanoseconds); /* ends early when a signal is handled */

#endif
