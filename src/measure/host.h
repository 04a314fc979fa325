/* The measuring machine: its name and processor, the cores in use, and other load on them. */
#ifndef REHEARSE_MEASURE_HOST_H
#define REHEARSE_MEASURE_HOST_H

#include "core/error.h"
#include "core/text.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct host_facts {
    char name[256];
    char processor[128]; /* "AMD EPYC 7B13"; "" if unknown */
    char system[160];    /* "Linux 6.1.0 x86_64" */
    char date[32];       /* "2026-11-23T16:20:00Z" */
};

void host_read_facts(struct host_facts *facts);

/* Reads "0", "0-3", "1,3-5" into a set of cores that this process may use. */
bool host_read_cores(cpu_set_t *cores, const char *list, struct error *err);

/* Restricts this process, and the threads that it starts from now on, to the cores. */
bool host_pin(const cpu_set_t *cores, struct error *err);

/* Gets the cores that this process may use. */
bool host_cores(cpu_set_t *cores, struct error *err);

/* Adds "0-3,8". */
void host_write_cores(const cpu_set_t *cores, struct text *out);

/* Use of the cores in an interval. Shares are of the cores' time. */
struct host_watch {
    cpu_set_t cores;
    double start, own;   /* seconds: of the clock, and CPU seconds of this process */
    double busy, stolen; /* CPU seconds of the cores since the machine began */
    int64_t throttled;   /* events since the machine began; -1: the system counts none */
};

struct host_load {
    double own, other, stolen; /* shares: of this process, other processes, other virtual machines */
    int64_t throttled;         /* events; -1: the system counts none */
};

void host_watch_begin(struct host_watch *watch, const cpu_set_t *cores);
void host_watch_end(const struct host_watch *watch, struct host_load *load);

/* Adds a warning about other load, stolen time and throttling; nothing if there was hardly any. */
void host_load_print(const struct host_load *load, struct text *out);

/* Returns how often the kernel has taken a processor from a thread of this process so far. */
int64_t host_switches(void);

#endif
