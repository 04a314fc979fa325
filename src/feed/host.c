#include "feed/host.h"

#include "core/file.h"

#include <inttypes.h>
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
    int64_t number = strtoll(text, NULL, 10);
    return number > 0 ? number : 0;
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

/* Returns true if the word is in a list with commas, which ends at `end`. */
static bool in_list(const char *list, const char *end, const char *word)
{
    size_t length = strlen(word);
    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        const char *stop = comma ? comma : end;
        if ((size_t)(stop - list) == length && memcmp(list, word, length) == 0)
            return true;
        list = stop + 1;
    }
    return false;
}

bool host_group_of(const char *cgroup, int version, char path[HOST_PATH])
{
    for (const char *line = cgroup; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *names = strchr(line, ':'), *end = names ? strchr(names + 1, ':') : NULL;
        if (!end || end[1] != '/')
            continue;
        bool unified = end == names + 1 && strncmp(line, "0:", 2) == 0;
        if (version == 2 ? !unified : !in_list(names + 1, end, "cpu"))
            continue;
        size_t length = strcspn(end + 1, "\n");
        if (length >= HOST_PATH)
            return false;
        memcpy(path, end + 1, length);
        path[length] = '\0';
        return true;
    }
    return false;
}

/* "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS… - TYPE SOURCE SUPEROPTIONS" */
static bool is_mount(const char *line, size_t length, int version, char root[HOST_PATH],
                     char point[HOST_PATH])
{
    char copy[3 * HOST_PATH], type[64], super[HOST_PATH] = "";
    if (length >= sizeof copy)
        return false;
    memcpy(copy, line, length);
    copy[length] = '\0';
    char *rest = strstr(copy, " - ");
    if (!rest || sscanf(rest, " - %63s %*s %4095s", type, super) < 1)
        return false;
    *rest = '\0';
    if (sscanf(copy, "%*s %*s %*s %4095s %4095s", root, point) != 2)
        return false;
    return version == 2 ? strcmp(type, "cgroup2") == 0
                        : strcmp(type, "cgroup") == 0 && in_list(super, super + strlen(super), "cpu");
}

bool host_mount_of(const char *mountinfo, int version, char root[HOST_PATH], char point[HOST_PATH])
{
    for (const char *line = mountinfo; *line;) {
        size_t length = strcspn(line, "\n");
        if (is_mount(line, length, version, root, point))
            return true;
        line += length + (line[length] == '\n');
    }
    return false;
}

/* Sums up the group and its parents, up to the mount. */
static int64_t throttled_below(const char *point, char *group)
{
    int64_t sum = 0;
    for (;;) {
        char path[2 * HOST_PATH + 16];
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
    char group[HOST_PATH], root[HOST_PATH], point[HOST_PATH];
    int64_t sum = 0;
    for (int version = 1; cgroup && mounts && version <= 2; version++) {
        if (!host_group_of(cgroup, version, group) || !host_mount_of(mounts, version, root, point))
            continue;
        size_t above = strcmp(root, "/") == 0 ? 0 : strlen(root); /* parents above the mount are invisible */
        if (strncmp(group, root, above) != 0)
            continue;
        char *below = group + above;
        if (strcmp(below, "/") == 0)
            *below = '\0';
        sum += throttled_below(point, below);
    }
    free(cgroup);
    free(mounts);
    return sum;
}
