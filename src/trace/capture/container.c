#include "trace/capture/container.h"

#include "core/child.h"
#include "core/file.h"
#include "core/system/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILE  ((size_t)16 << 20) /* bytes of a file of /proc */
#define MIN_ID    4                  /* digits of an id's beginning */
#define MAX_NAMES 4                  /* the given one, and the ids that programs know it by */

/* A hierarchy that a container's group can be in: version 2 first, then those of version 1. */
static const char *const hierarchies[] = {"", "pids", "memory", "cpu", "devices", "freezer", "cpuset"};

struct search {
    const char *names[MAX_NAMES];
    size_t count;
    char found[CGROUP_PATH];  /* the path of the group; "": none yet */
    char second[CGROUP_PATH]; /* of another container that fits as well */
    const char *hierarchy;
};

static bool fits(const char *component, int length, const char *name)
{
    char whole[CGROUP_PATH];
    const char *id = cgroup_id_of(component, length);
    size_t given = strlen(name);
    if (id)
        return given >= MIN_ID && given <= CGROUP_ID && strncmp(id, name, given) == 0;
    for (int i = 0; i < 2; i++) {
        snprintf(whole, sizeof whole, i == 0 ? "lxc.payload.%s" : "machine-%s.scope", name);
        if ((int)strlen(whole) == length && memcmp(whole, component, (size_t)length) == 0)
            return true;
    }
    return false;
}

/* Returns the length of a group's path up to the component that is the container; 0: none is. */
static int container_in(const struct search *search, const char *path)
{
    for (const char *at = path; *at == '/'; at += 1 + strcspn(at + 1, "/"))
        for (size_t i = 0; i < search->count; i++) {
            int length = (int)strcspn(at + 1, "/");
            if (fits(at + 1, length, search->names[i]))
                return (int)(at - path) + 1 + length;
        }
    return 0;
}

/* Looks at the groups of one process. */
static void look_at(struct search *search, const char *cgroups)
{
    char path[CGROUP_PATH];
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
        if (search->hierarchy && search->hierarchy != hierarchies[i])
            continue;
        int length = cgroup_path_of(cgroups, hierarchies[i], path) ? container_in(search, path) : 0;
        if (length == 0)
            continue;
        path[length] = '\0';
        if (!*search->found)
            memcpy(search->found, path, sizeof path);
        else if (strcmp(search->found, path) != 0)
            memcpy(search->second, path, sizeof path);
        search->hierarchy = hierarchies[i];
        return;
    }
}

static void look_at_processes(struct search *search)
{
    DIR *folder = opendir("/proc");
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        char path[64], *text;
        size_t length;
        struct error ignored;
        int64_t pid;
        if (!text_whole(entry->d_name, "", &pid) || pid <= 0)
            continue;
        snprintf(path, sizeof path, "/proc/%.20s/cgroup", entry->d_name);
        if (!file_read(path, MAX_FILE, &text, &length, &ignored))
            continue; /* it has ended */
        look_at(search, text);
        free(text);
    }
    if (folder)
        closedir(folder);
}

/* ---- names ---- */

/* Runs `PROGRAM inspect`; false: it does not know the name, or is not there. */
static bool inspect(const char *program, const char *name, char id[CGROUP_ID + 1])
{
    char *const words[] = {
        (char *)(uintptr_t)program, "inspect", "--type", "container", "--format", "{{.Id}}", "--",
        (char *)(uintptr_t)name,    NULL};
    int status = -1, ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool ran = nothing >= 0 && child_run(words, (const int[]){nothing, ends[1], nothing}, &status);
    close(ends[1]);
    ssize_t length = ran && status == 0 ? read(ends[0], id, CGROUP_ID) : -1;
    close(ends[0]);
    if (nothing >= 0)
        close(nothing);
    id[CGROUP_ID] = '\0';
    return length == CGROUP_ID && cgroup_id_of(id, CGROUP_ID) == id;
}

static bool find_folder(const struct search *search, struct text *folder, struct error *err)
{
    struct cgroup_mount mount;
    char *mounts;
    size_t length;
    if (!file_read("/proc/self/mountinfo", MAX_FILE, &mounts, &length, err))
        return false;
    bool mounted = cgroup_mount_of(mounts, search->hierarchy, &mount);
    const char *below = mounted ? cgroup_below(&mount, search->found) : NULL;
    free(mounts);
    if (!below)
        return error_set(err, ERROR_FAILED,
                         "the container's control group %s is not mounted here: trace from the host",
                         search->found);
    text_format(folder, "%s%s", mount.point, below);
    return !folder->failed || error_memory(err);
}

bool capture_container_find(const char *name, struct text *folder, struct error *err)
{
    static const char *const programs[] = {"docker", "podman", "nerdctl"};
    char ids[MAX_NAMES - 1][CGROUP_ID + 1];
    struct search search = {.names = {name}, .count = 1};
    look_at_processes(&search);
    for (size_t i = 0; !*search.found && i < sizeof programs / sizeof *programs; i++)
        if (inspect(programs[i], name, ids[i]))
            search.names[search.count++] = ids[i];
    if (search.count > 1)
        look_at_processes(&search);
    if (*search.second)
        return error_set(err, ERROR_INPUT,
                         "container '%s': two fit, %s and %s: give more of the id, or --cgroup", name,
                         search.found, search.second);
    if (*search.found)
        return find_folder(&search, folder, err);
    if (search.count > 1)
        return error_set(err, ERROR_INPUT,
                         "container '%s' (%.12s) has no process on this host: start it first", name,
                         search.names[1]);
    return error_set(
        err, ERROR_INPUT,
        "no container '%s' runs on this host: no process is in a control group of that id, and no docker, "
        "podman or nerdctl here knows the name. See 'docker ps'; --cgroup FOLDER takes any group",
        name);
}
