#include "feed/host.h"

#include "core/file.h"
#include "core/system/cgroup.h"
#include "core/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT ((size_t)16 << 20) /* of a file of /proc or of a control group */

static char *read_text(const char *path)
{
    struct error ignored;
    char *text;
    size_t length;
    return file_read(path, MAX_TEXT, &text, &length, &ignored) ? text : NULL;
}

/* Reads a number; a negative or missing one is 0. */
static int64_t number_at(const char *text)
{
    int64_t number;
    return text_whole(text, " \t\n", &number) && number > 0 ? number : 0;
}

int64_t host_delay_of(const char *schedstat)
{
    const char *second = strchr(schedstat, ' ');
    return second ? number_at(second) : 0;
}

int64_t host_thread_delay(int tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
    char *text = read_text(path);
    int64_t delay = text ? host_delay_of(text) : 0;
    free(text);
    return delay;
}

/* Returns the rest of the line that begins with a word; NULL: there is none. */
static const char *line_of(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (; text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
        if (strncmp(text, word, length) == 0 && text[length] == ' ')
            return text + length;
    return NULL;
}

int64_t host_throttled_of(const char *cpu_stat)
{
    const char *microseconds = line_of(cpu_stat, "throttled_usec");
    const char *nanoseconds = line_of(cpu_stat, "throttled_time");
    if (microseconds) {
        int64_t number = number_at(microseconds);
        return number > INT64_MAX / 1000 ? INT64_MAX : number * 1000;
    }
    return nanoseconds ? number_at(nanoseconds) : 0;
}

/* Sums up the group and its parents, up to the mount. */
static int64_t throttled_below(const char *point, char *group)
{
    int64_t sum = 0;
    for (;;) {
        char path[2 * CGROUP_PATH + 16];
        snprintf(path, sizeof path, "%s%s/cpu.stat", point, group);
        char *text = read_text(path);
        sum += text ? host_throttled_of(text) : 0;
        free(text);
        char *slash = strrchr(group, '/');
        if (!slash)
            return sum;
        *slash = '\0';
    }
}

int64_t host_throttled(void)
{
    char *cgroup = read_text("/proc/self/cgroup"), *mounts = read_text("/proc/self/mountinfo");
    int64_t sum = 0;
    for (int version = 1; cgroup && mounts && version <= 2; version++) {
        struct cgroup_mount mount;
        char path[CGROUP_PATH], group[CGROUP_PATH];
        const char *controller = version == 1 ? "cpu" : "";
        if (!cgroup_path_of(cgroup, controller, path) || !cgroup_mount_of(mounts, controller, &mount))
            continue;
        const char *below = cgroup_below(&mount, path); /* parents above the mount are invisible */
        if (!below)
            continue;
        snprintf(group, sizeof group, "%s", below);
        sum += throttled_below(mount.point, group);
    }
    free(cgroup);
    free(mounts);
    return sum;
}
