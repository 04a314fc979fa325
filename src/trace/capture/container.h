/* Containers by name or id: the folder of a container's control group. */
#ifndef REHEARSE_TRACE_CAPTURE_CONTAINER_H
#define REHEARSE_TRACE_CAPTURE_CONTAINER_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>

/* Adds the folder to *folder. The name is an id or its beginning, as in the paths of /proc/PID/cgroup, a container of
 * LXC or systemd-nspawn, or a name that `docker inspect`, `podman inspect` or `nerdctl inspect` knows. Fails if no
 * process of this host is in such a container, or those of several are. */
bool capture_container_find(const char *name, struct text *folder, struct error *err);

#endif
