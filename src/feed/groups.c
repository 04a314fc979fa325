#include "feed/groups.h"

#include "core/file.h"
#include "core/system/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT ((size_t)16 << 20)

char *groups_text(const char *path)
{
    struct error ignored;
    char *text;
    size_t length;
    return file_read(path, MAX_TEXT, &text, &length, &ignored) ? text : NULL;
}

/* Visits the group and its parents, up to the mount: those above it are invisible. */
static void visit_up(const char *point, char *group, const char *file, void (*visit)(void *, const char *),
                     void *context)
{
    for (;;) {
        char path[2 * CGROUP_PATH + 64];
        snprintf(path, sizeof path, "%s%s/%s", point, group, file);
        char *text = groups_text(path), *slash = strrchr(group, '/');
        if (text)
            visit(context, text);
        free(text);
        if (!slash)
            return;
        *slash = '\0';
    }
}

void groups_each(const char *controller, const char *file, void (*visit)(void *context, const char *text),
                 void *context)
{
    char *cgroup = groups_text("/proc/self/cgroup"), *mounts = groups_text("/proc/self/mountinfo");
    struct cgroup_mount mount;
    char path[CGROUP_PATH], group[CGROUP_PATH];
    const char *below = cgroup && mounts && cgroup_path_of(cgroup, controller, path) &&
                                cgroup_mount_of(mounts, controller, &mount)
                            ? cgroup_below(&mount, path)
                            : NULL;
    if (below) {
        snprintf(group, sizeof group, "%s", below);
        visit_up(mount.point, group, file, visit, context);
    }
    free(cgroup);
    free(mounts);
}
