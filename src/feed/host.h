/* Measures whether the host kept up: time spent waiting for a processor, by the scheduler's count and that of
 * the control groups of this process. All values only grow; unknown ones are 0. */
#ifndef REHEARSE_FEED_HOST_H
#define REHEARSE_FEED_HOST_H

#include <stdbool.h>
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

/* Find the path of the processor's control group in /proc/self/cgroup's text ("1:cpu,cpuacct:/a/b",
 * "0::/a/b"), and its mount in /proc/self/mountinfo's. `version` 1 or 2. False: there is none. */
#define HOST_PATH 4096
bool host_group_of(const char *cgroup, int version, char path[HOST_PATH]);
bool host_mount_of(const char *mountinfo, int version, char root[HOST_PATH], char point[HOST_PATH]);

#endif
