#include "core/system/cgroup.h"

#include "core/text.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

bool cgroup_path_of(const char *cgroup, const char *controller, char path[CGROUP_PATH])
{
    for (const char *line = cgroup; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *names = strchr(line, ':'), *end = names ? strchr(names + 1, ':') : NULL;
        if (!end || end[1] != '/')
            continue;
        bool unified = end == names + 1 && text_starts_with(line, "0:");
        if (*controller ? !in_list(names + 1, end, controller) : !unified)
            continue;
        size_t length = strcspn(end + 1, "\n");
        if (length >= CGROUP_PATH)
            return false;
        memcpy(path, end + 1, length);
        path[length] = '\0';
        return true;
    }
    return false;
}

/* "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS… - TYPE SOURCE SUPEROPTIONS" */
static bool read_mount(const char *line, size_t length, struct cgroup_mount *mount)
{
    char copy[3 * CGROUP_PATH], type[64];
    if (length >= sizeof copy)
        return false;
    memcpy(copy, line, length);
    copy[length] = '\0';
    char *rest = strstr(copy, " - ");
    *mount->options = '\0';
    if (!rest || sscanf(rest, " - %63s %*s %255s", type, mount->options) < 1)
        return false;
    *rest = '\0';
    mount->version = strcmp(type, "cgroup2") == 0 ? 2 : strcmp(type, "cgroup") == 0 ? 1 : 0;
    return mount->version > 0 && sscanf(copy, "%*s %*s %u:%u %4095s %4095s", &mount->major, &mount->minor,
                                        mount->root, mount->point) == 4;
}

/* Returns the next line that is a mount of control groups, and moves *at behind it. */
static bool next_mount(const char **at, struct cgroup_mount *mount)
{
    while (**at) {
        const char *line = *at;
        size_t length = strcspn(line, "\n");
        *at += length + (line[length] == '\n');
        if (read_mount(line, length, mount))
            return true;
    }
    return false;
}

bool cgroup_mount_of(const char *mountinfo, const char *controller, struct cgroup_mount *mount)
{
    while (next_mount(&mountinfo, mount))
        if (*controller ? mount->version == 1 &&
                              in_list(mount->options, mount->options + strlen(mount->options), controller)
                        : mount->version == 2)
            return true;
    return false;
}

bool cgroup_mount_on(const char *mountinfo, unsigned major, unsigned minor, struct cgroup_mount *mount)
{
    while (next_mount(&mountinfo, mount))
        if (mount->major == major && mount->minor == minor)
            return true;
    return false;
}

const char *cgroup_below(const struct cgroup_mount *mount, const char *path)
{
    size_t above = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    if (strncmp(path, mount->root, above) != 0 || (path[above] != '/' && path[above] != '\0'))
        return NULL;
    return strcmp(path + above, "/") == 0 ? "" : path + above;
}

const char *cgroup_id_of(const char *component, int length)
{
    static const char scope[] = ".scope", monitor[] = "conmon";
    int end = length - (int)strlen(scope);
    if (end < 0 || memcmp(component + end, scope, strlen(scope)) != 0)
        end = length;
    int from = end - CGROUP_ID;
    if (from < 0 || (from > 0 && isalnum((unsigned char)component[from - 1])))
        return NULL;
    for (int i = from; i < end; i++)
        if (!isdigit((unsigned char)component[i]) && !(component[i] >= 'a' && component[i] <= 'f'))
            return NULL;
    const char *found = memmem(component, (size_t)from, monitor, strlen(monitor));
    return found ? NULL : component + from;
}
