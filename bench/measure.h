/* What the benches measure with: medians, memory in MiB, seconds of other programs. Those of this one: core/clock.h. */
#ifndef REHEARSE_BENCH_MEASURE_H
#define REHEARSE_BENCH_MEASURE_H

#include <stdlib.h>
#include <sys/resource.h>

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
