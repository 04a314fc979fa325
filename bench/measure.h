/* What the benches measure with: seconds of the processor, medians, memory in MiB. Seconds of the wall: clock_now. */
#ifndef REHEARSE_BENCH_MEASURE_H
#define REHEARSE_BENCH_MEASURE_H

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static inline double measure_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Of the processor, by all threads of this process, in user and kernel. */
static inline double measure_cpu(void)
{
    return measure_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* Of the processor, by the children that have ended. */
static inline double measure_cpu_children(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* The most memory that this process has had. */
static inline double measure_peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static inline int measure_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the values: the first is the least. */
static inline double measure_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, measure_by_value);
    return values[count / 2];
}

#endif
