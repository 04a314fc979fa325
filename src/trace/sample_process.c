/* Samples of processes, and lists of processes. */
#include "core/vector.h"
#include "trace/sample_parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the fields of /proc/PID/stat after the last ')', since the name before may hold anything. */
static bool read_stat(const char *text, int *parent, uint64_t *ticks, uint64_t *pages)
{
    const char *at = strrchr(text, ')');
    uint64_t user, system;
    if (!at || sscanf(at + 1,
                      " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                      " %*d %*d %*d %*d %*d %*d %*u %*u %" SCNu64,
                      parent, &user, &system, pages) != 4)
        return false;
    *ticks = user + system;
    return true;
}

static uint64_t value_of(const char *text, const char *key)
{
    const char *at = text ? strstr(text, key) : NULL;
    int64_t value;
    return at && text_whole(at + strlen(key), " \t\n", &value) ? (uint64_t)value : 0;
}

static void take_process(struct sampler *sampler, int pid)
{
    char name[32], path[64];
    uint64_t counters[SAMPLE_COUNTERS] = {0}, pages;
    double grown[SAMPLE_COUNTERS] = {0};
    int parent;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const char *text = sample_read(sampler, path);
    if (!text || !read_stat(text, &parent, &counters[0], &pages))
        return; /* it has ended meanwhile */
    snprintf(path, sizeof path, "/proc/%d/io", pid);
    text = sample_read(sampler, path);
    counters[1] = value_of(text, "rchar: ");
    counters[2] = value_of(text, "wchar: ");
    counters[3] = value_of(text, "\nread_bytes: ");
    counters[4] = value_of(text, "\nwrite_bytes: ");
    snprintf(name, sizeof name, "%d", pid);
    double seconds = sample_difference(sampler, &sampler->processes, name, counters, grown);
    if (seconds == 0)
        return;
    sample_add(sampler, "process.cpu", name, 100 * grown[0] / (double)sysconf(_SC_CLK_TCK) / seconds);
    sample_add(sampler, "process.rss", name, (double)pages * (double)sysconf(_SC_PAGESIZE));
    sample_add(sampler, "process.read", name, grown[1] / seconds);
    sample_add(sampler, "process.write", name, grown[2] / seconds);
    sample_add(sampler, "process.disk_read", name, grown[3] / seconds);
    sample_add(sampler, "process.disk_write", name, grown[4] / seconds);
}

void sample_processes(struct sampler *sampler, const int *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        take_process(sampler, pids[i]);
    sample_forget(&sampler->processes);
}

/* ---- which processes there are ---- */

struct family {
    int *pids;
    size_t count, capacity;
};

static bool family_add(struct family *family, int pid)
{
    return VECTOR_ADD(family->pids, family->count, family->capacity, pid);
}

static bool parent_of(int pid, int *parent)
{
    char path[64], text[1024];
    uint64_t ticks, pages;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return read_stat(text, parent, &ticks, &pages);
}

static bool is_in(const struct family *family, int pid)
{
    for (size_t i = 0; i < family->count; i++)
        if (family->pids[i] == pid)
            return true;
    return false;
}

size_t sample_descendants(int root, int **pids)
{
    struct process {
        int pid, parent;
    } *all = NULL;
    size_t count = 0, capacity = 0;
    struct family chosen = {0};
    DIR *folder = opendir("/proc");
    bool room = folder && family_add(&chosen, root);
    for (struct dirent *entry = room ? readdir(folder) : NULL; room && entry; entry = readdir(folder)) {
        int64_t pid;
        struct process process = {.pid = text_whole(entry->d_name, "", &pid) ? (int)pid : 0};
        if (process.pid > 0 && parent_of(process.pid, &process.parent))
            room = VECTOR_ADD(all, count, capacity, process);
    }
    for (size_t before = 0; room && before != chosen.count;) {
        before = chosen.count;
        for (size_t i = 0; room && i < count; i++)
            if (!is_in(&chosen, all[i].pid) && is_in(&chosen, all[i].parent))
                room = family_add(&chosen, all[i].pid);
    }
    if (folder)
        closedir(folder);
    free(all);
    *pids = chosen.pids;
    return chosen.count;
}

static void add_cgroup(struct family *family, const char *folder, int depth)
{
    char path[4096];
    int pid;
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &pid) == 1 && family_add(family, pid)) {}
    if (file)
        fclose(file);
    DIR *list = depth < 16 ? opendir(folder) : NULL;
    for (struct dirent *entry = list ? readdir(list) : NULL; entry; entry = readdir(list)) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (length > 0 && (size_t)length < sizeof path)
            add_cgroup(family, path, depth + 1);
    }
    if (list)
        closedir(list);
}

size_t sample_cgroup(const char *folder, int **pids)
{
    struct family family = {0};
    add_cgroup(&family, folder, 0);
    *pids = family.pids;
    return family.count;
}
