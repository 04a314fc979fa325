#include "trace/roles.h"

#include "core/vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The maximum depth of processes, in case a trace has a loop of parents. */
#define MAX_ANCESTORS 64

struct pids {
    int64_t *pids;
    int count;
    size_t capacity;
};

static bool holds(const struct pids *pids, int64_t pid)
{
    for (int i = 0; i < pids->count; i++)
        if (pids->pids[i] == pid)
            return true;
    return false;
}

static bool add(struct pids *pids, int64_t pid, struct error *err)
{
    if (holds(pids, pid))
        return true;
    return VECTOR_ADD(pids->pids, pids->count, pids->capacity, pid) || error_memory(err);
}

/* Finds the first process on each GPU; the ids of series are in the order of their first samples. */
static bool find_on_gpus(struct pids *first, struct pids *others, const struct trace_reader *reader,
                         struct error *err)
{
    struct pids gpus = {0};
    bool done = true;
    for (int64_t id = 1; id <= trace_series_count(reader) && done; id++) {
        const struct trace_series_info *series = trace_series_info(reader, id);
        int gpu, pid;
        if (strncmp(series->kind, "gpu.", 4) != 0 || (sscanf(series->source, "%d %d", &gpu, &pid) != 2 &&
                                                      sscanf(series->source, "%d:%d", &gpu, &pid) != 2))
            continue;
        bool taken = holds(&gpus, gpu);
        done = add(&gpus, gpu, err);
        if (done && !holds(first, pid) && !holds(others, pid))
            done = add(taken ? others : first, pid, err);
    }
    free(gpus.pids);
    return done;
}

static int by_pid(const void *a, const void *b)
{
    const struct role *x = a, *y = b;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

const struct role *roles_of(const struct roles *roles, int64_t pid)
{
    struct role key = {.pid = pid};
    return roles->count ? bsearch(&key, roles->roles, (size_t)roles->count, sizeof key, by_pid) : NULL;
}

static int64_t parent_of(const struct trace_reader *reader, int64_t pid)
{
    for (int64_t id = 1; id <= trace_process_count(reader); id++) {
        const struct trace_process_info *info = trace_process_info(reader, id);
        if (info->pid == pid && info->parent_pid != TRACE_NONE)
            return info->parent_pid;
    }
    return TRACE_NONE;
}

/* Returns the worker that a loader descends from; -1: unknown. */
static int ancestor(const struct roles *roles, const struct trace_reader *reader, int64_t pid)
{
    for (int i = 0; i < MAX_ANCESTORS; i++) {
        pid = parent_of(reader, pid);
        const struct role *role = pid == TRACE_NONE ? NULL : roles_of(roles, pid);
        if (pid == TRACE_NONE || (role && !role->loads))
            return role ? role->worker : -1;
    }
    return -1;
}

static void give_workers(struct roles *roles, const struct roles_rules *rules)
{
    int turn = 0;
    for (int i = 0; i < roles->count; i++)
        if (!roles->roles[i].loads)
            roles->roles[i].worker = roles->workers++;
    for (int i = 0; i < roles->count; i++) {
        struct role *role = &roles->roles[i];
        if (!role->loads)
            continue;
        int worker = rules->turns ? -1 : ancestor(roles, rules->reader, role->pid);
        role->worker = worker >= 0 ? worker : turn % roles->workers;
        roles->loaders++;
        turn++;
    }
}

static bool give(struct roles *roles, const struct roles_rules *rules, const int64_t *pids, int count,
                 const struct pids *on_gpus, const struct pids *others, struct error *err)
{
    const char *workload = rules->workload ? rules->workload : "";
    bool gpus = false, none_loads = strcmp(workload, "bert") == 0;
    for (int i = 0; i < count; i++)
        gpus = gpus || holds(on_gpus, pids[i]);
    gpus = gpus && strcmp(workload, "dlio") != 0;
    roles->roles = calloc((size_t)count + 1, sizeof *roles->roles);
    if (!roles->roles)
        return error_memory(err);
    for (int i = 0; i < count; i++) {
        bool loads = gpus && !holds(on_gpus, pids[i]);
        if (!holds(others, pids[i]) && !(loads && none_loads))
            roles->roles[roles->count++] = (struct role){.pid = pids[i], .loads = loads};
    }
    qsort(roles->roles, (size_t)roles->count, sizeof *roles->roles, by_pid);
    give_workers(roles, rules);
    return true;
}

bool roles_find(struct roles *roles, const struct roles_rules *rules, const int64_t *pids, int count,
                struct error *err)
{
    struct pids on_gpus = {0}, others = {0};
    *roles = (struct roles){0};
    bool done = find_on_gpus(&on_gpus, &others, rules->reader, err) &&
                give(roles, rules, pids, count, &on_gpus, &others, err);
    free(on_gpus.pids);
    free(others.pids);
    return done;
}

void roles_release(struct roles *roles)
{
    free(roles->roles);
    *roles = (struct roles){0};
}
