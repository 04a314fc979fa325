/* Control groups of both versions, from the kernel's texts. A hierarchy is named by one of its controllers ("cpu") or,
 * that of version 2, by "". */
#ifndef REHEARSE_CORE_SYSTEM_CGROUP_H
#define REHEARSE_CORE_SYSTEM_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#define CGROUP_PATH 4096

/* Finds the path of a process's group in the text of /proc/PID/cgroup ("1:cpu,cpuacct:/a/b", "0::/a/b"). False:
 * none. */
bool cgroup_path_of(const char *cgroup, const char *controller, char path[CGROUP_PATH]);

struct cgroup_mount {
    char point[CGROUP_PATH];
    char root[CGROUP_PATH]; /* the group that is mounted there: "/", or in containers often "/docker/ID" */
    char options[256];      /* of version 1: "rw,cpu,cpuacct" */
    unsigned major, minor;  /* the device of its files */
    int version;
};

/* Finds the mount of a hierarchy in the text of /proc/self/mountinfo. False: it is not mounted. */
bool cgroup_mount_of(const char *mountinfo, const char *controller, struct cgroup_mount *mount);

/* The same by the device of a file. */
bool cgroup_mount_on(const char *mountinfo, unsigned major, unsigned minor, struct cgroup_mount *mount);

/* Returns the part of a group's path below the mounted group: "" for that itself. NULL: it lies outside of it. */
const char *cgroup_below(const struct cgroup_mount *mount, const char *path);

/* Returns the id (64 hexadecimal digits) of the container that a component of a path names: "docker-ID.scope",
 * "libpod-ID", "ID". NULL: it names none, or a container's monitor. `length` is the component's. */
#define CGROUP_ID 64
const char *cgroup_id_of(const char *component, int length);

#endif
