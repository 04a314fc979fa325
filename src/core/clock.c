#include "core/clock.h"

int64_t clock_read(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec : 0;
}

int64_t clock_nanoseconds(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

double clock_now(void)
{
    return 1e-9 * (double)clock_nanoseconds();
}

double clock_processor(void)
{
    return 1e-9 * (double)clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

struct timespec clock_timespec(int64_t nanoseconds)
{
    return (struct timespec){.tv_sec = nanoseconds / CLOCK_SECOND, .tv_nsec = nanoseconds % CLOCK_SECOND};
}

void clock_sleep(int64_t nanoseconds)
{
    struct timespec time = clock_timespec(nanoseconds);
    nanosleep(&time, NULL);
}
