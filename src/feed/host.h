/* Did the host keep up? What waited for a processor, and not for storage: by the scheduler's own count and that of the
 * control groups that limit this process. All of it only grows; what cannot be known is 0. */
#ifndef REHEARSE_FEED_HOST_H
#define REHEARSE_FEED_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds that a thread of this process was ready to run and did not (/proc/self/task/TID/schedstat). */
int64_t host_thread_delay(int tid);

/* Nanoseconds that the control groups of this process kept it from running (cpu.stat, of both versions), its own and
 * those above it together. */
int64_t host_throttled(void);

/* ---- The same of texts ---- */

/* "TIME DELAY SLICES": the second. */
int64_t host_delay_of(const char *schedstat);

/* throttled_usec, or throttled_time in nanoseconds. */
int64_t host_throttled_of(const char *cpu_stat);

/* The path of the processor's control group in a text of /proc/self/cgroup ("1:cpu,cpuacct:/a/b", "0::/a/b"), and where it
 * is mounted in one of /proc/self/mountinfo. `version` 1 or 2. False: there is none. */
#define HOST_PATH 4096
bool host_group_of(const char *cgroup, int version, char path[HOST_PATH]);
bool host_mount_of(const char *mountinfo, int version, char root[HOST_PATH], char point[HOST_PATH]);

#endif
