/* The clocks of the system. Times of the monotonic clock, which every process of a host shares and nothing sets, are
 * the ones to subtract. */
#ifndef REHEARSE_CORE_CLOCK_H
#define REHEARSE_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND INT64_C(1000000000) /* in nanoseconds */

/* The monotonic clock. */
double clock_now(void); /* seconds */
int64_t clock_nanoseconds(void);

/* Any clock, such as CLOCK_REALTIME; 0 where the system has none of that number. */
int64_t clock_read(clockid_t clock);

/* Seconds of the processor, in programs and in the system, that this process and its threads have taken. */
double clock_processor(void);

/* As the system's calls take a time; nanoseconds are not below 0. */
struct timespec clock_timespec(int64_t nanoseconds);

void clock_sleep(int64_t nanoseconds); /* ends early when a signal is handled */

#endif
