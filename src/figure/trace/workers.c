#include "figure/trace/workers.h"

#include "trace/roles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const trace_grouping_names[] = {"all", "process", "parent", "family", "role", NULL};

#define MAX_ROWS ((size_t)2 * (TRACE_MAX_WORKERS + 1)) /* before they are joined */

bool trace_workers_init(struct trace_workers *workers, const struct trace_reader *reader, struct error *err)
{
    *workers = (struct trace_workers){.processes = trace_process_count(reader)};
    workers->of_process = calloc((size_t)workers->processes + 1, sizeof *workers->of_process);
    workers->titles = calloc(MAX_ROWS, sizeof *workers->titles);
    return workers->of_process && workers->titles ? true : error_memory(err);
}

void trace_workers_release(struct trace_workers *workers)
{
    free(workers->of_process);
    free(workers->titles);
    workers->of_process = NULL;
    workers->titles = NULL;
}

static int find_pid(const struct trace_workers *workers, int64_t pid)
{
    for (int i = 0; i < workers->count; i++)
        if (workers->items[i].pid == pid && i < TRACE_MAX_WORKERS)
            return i;
    return -1;
}

static int find_or_add(struct trace_workers *workers, const struct trace_reader *reader, int64_t id)
{
    int64_t pid = trace_process_info(reader, id)->pid;
    int at = find_pid(workers, pid);
    if (at < 0) {
        at = workers->count < TRACE_MAX_WORKERS ? workers->count : TRACE_MAX_WORKERS;
        workers->items[at].pid = at < TRACE_MAX_WORKERS ? pid : TRACE_NONE;
        workers->count = at + 1;
    }
    workers->of_process[id] = (int16_t)(at + 1);
    return at;
}

int trace_workers_find(struct trace_workers *workers, const struct trace_reader *reader, int64_t process)
{
    int64_t id = process > 0 && process <= workers->processes ? process : 0;
    int at = workers->of_process[id] ? workers->of_process[id] - 1 : find_or_add(workers, reader, id);
    struct trace_worker *worker = &workers->items[at];
    const struct trace_process_info *info = trace_process_info(reader, id);
    if (worker->process == 0 || info->tid == TRACE_NONE || info->tid == info->pid)
        worker->process = id;
    return at;
}

/* ---- parents and loaders ---- */

struct family {
    struct trace_workers *workers;
    const struct trace_reader *reader;
    int order[TRACE_MAX_WORKERS + 1];   /* workers by pid */
    int parent[TRACE_MAX_WORKERS + 1];  /* of a loader; a parent is its own */
    int loaders[TRACE_MAX_WORKERS + 1]; /* of a parent */
    int row[TRACE_MAX_WORKERS + 1];
};

static void sort_by_pid(struct family *family)
{
    const struct trace_worker *items = family->workers->items;
    for (int i = 0; i < family->workers->count; i++) {
        int at = i;
        for (; at > 0 && items[family->order[at - 1]].pid > items[i].pid; at--)
            family->order[at] = family->order[at - 1];
        family->order[at] = i;
    }
}

/* A process that loads data has its worker for a parent, any other itself. */
static bool find_parents(struct family *family, struct error *err)
{
    const struct trace_workers *workers = family->workers;
    const struct roles_rules rules = {.reader = family->reader};
    int64_t pids[TRACE_MAX_WORKERS] = {0};
    int of_worker[TRACE_MAX_WORKERS] = {0}, known = workers->count;
    struct roles roles;
    known = known > TRACE_MAX_WORKERS ? TRACE_MAX_WORKERS : known;
    for (int i = 0; i < known; i++)
        pids[i] = workers->items[i].pid;
    if (!roles_find(&roles, &rules, pids, known, err))
        return false;
    for (int i = 0; i < known; i++) {
        const struct role *role = roles_of(&roles, pids[i]);
        if (role && !role->loads)
            of_worker[role->worker] = i;
    }
    for (int i = 0; i < workers->count; i++) {
        const struct role *role = i < known ? roles_of(&roles, pids[i]) : NULL;
        family->parent[i] = role && role->loads ? of_worker[role->worker] : i;
        family->loaders[family->parent[i]] += family->parent[i] != i;
    }
    roles_release(&roles);
    return true;
}

/* ---- rows ---- */

static int add_row(struct trace_workers *workers, const char *title)
{
    snprintf(workers->titles[workers->rows], sizeof workers->titles[0], "%s", title);
    return workers->rows++;
}

static void name_worker(const struct family *family, int worker, char *name, size_t size)
{
    int64_t pid = family->workers->items[worker].pid;
    if (worker == TRACE_MAX_WORKERS)
        snprintf(name, size, "further processes");
    else if (pid == TRACE_NONE)
        snprintf(name, size, "process not known");
    else
        snprintf(name, size, "%" PRId64 " %.40s", pid,
                 trace_process_info(family->reader, family->workers->items[worker].process)->name);
}

static void add_parent_row(struct family *family, int worker, enum trace_grouping grouping)
{
    char name[64], title[96];
    int loaders = family->loaders[worker];
    name_worker(family, worker, name, sizeof name);
    if (loaders > 0 && grouping == TRACE_PARENTS)
        snprintf(title, sizeof title, "%s and %d loader%s", name, loaders, loaders > 1 ? "s" : "");
    else
        snprintf(title, sizeof title, "%s", name);
    family->row[worker] = family->workers->items[worker].row = add_row(family->workers, title);
    if (loaders > 0 && grouping == TRACE_FAMILIES) {
        snprintf(title, sizeof title, "%d loader%s of %s", loaders, loaders > 1 ? "s" : "", name);
        add_row(family->workers, title);
    }
}

static void give_family_rows(struct family *family, enum trace_grouping grouping)
{
    struct trace_workers *workers = family->workers;
    for (int i = 0; i < workers->count; i++)
        if (family->parent[family->order[i]] == family->order[i])
            add_parent_row(family, family->order[i], grouping);
    for (int i = 0; i < workers->count; i++)
        if (family->parent[i] != i)
            workers->items[i].row = family->row[family->parent[i]] + (grouping == TRACE_FAMILIES);
}

static void give_role_rows(struct family *family)
{
    struct trace_workers *workers = family->workers;
    int loaders = 0;
    for (int i = 0; i < workers->count; i++) {
        workers->items[i].row = family->parent[i] != i;
        loaders += family->parent[i] != i;
    }
    char title[64];
    snprintf(title, sizeof title, "%d parent%s", workers->count - loaders,
             workers->count - loaders == 1 ? "" : "s");
    add_row(workers, title);
    snprintf(title, sizeof title, "%d loader%s", loaders, loaders == 1 ? "" : "s");
    if (loaders > 0)
        add_row(workers, title);
}

static void give_each_a_row(struct family *family)
{
    char name[64];
    for (int i = 0; i < family->workers->count; i++) {
        name_worker(family, family->order[i], name, sizeof name);
        family->workers->items[family->order[i]].row = add_row(family->workers, name);
    }
}

/* How many rows have more calls than this one, or as many and come before it. */
static int rank_of(const int64_t *calls, int rows, int row)
{
    int rank = 0;
    for (int i = 0; i < rows; i++)
        rank += calls[i] > calls[row] || (calls[i] == calls[row] && i < row);
    return rank;
}

/* Joins, at the end, the rows for which there is no room and the rows with up to one call in a hundred. */
static void join_min(struct trace_workers *workers)
{
    int rows = workers->rows, kept = 0, target[MAX_ROWS];
    int64_t calls[MAX_ROWS] = {0}, all = 0;
    for (int i = 0; i < workers->count; i++) {
        calls[workers->items[i].row] += workers->items[i].calls;
        all += workers->items[i].calls;
    }
    for (int row = 0; row < rows; row++) {
        bool keep = rank_of(calls, rows, row) < TRACE_MAX_ROWS - 1 && calls[row] > all / 100;
        target[row] = keep ? kept++ : -1;
    }
    if (rows <= TRACE_MAX_ROWS && rows - kept < 2)
        return;
    for (int i = 0; i < workers->count; i++) {
        int row = target[workers->items[i].row];
        workers->items[i].row = row < 0 ? kept : row;
    }
    for (int row = 0; row < rows; row++)
        if (target[row] >= 0)
            memmove(workers->titles[target[row]], workers->titles[row], sizeof workers->titles[0]);
    snprintf(workers->titles[kept], sizeof workers->titles[0], "%d more", rows - kept);
    workers->rows = kept + 1;
}

bool trace_workers_group(struct trace_workers *workers, const struct trace_reader *reader,
                         enum trace_grouping grouping, struct error *err)
{
    struct family *family = calloc(1, sizeof *family);
    if (!family)
        return error_memory(err);
    family->workers = workers;
    family->reader = reader;
    workers->rows = 0;
    if (workers->count == 0) {
        free(family);
        return true;
    }
    sort_by_pid(family);
    bool families = grouping == TRACE_PARENTS || grouping == TRACE_FAMILIES || grouping == TRACE_ROLES;
    if (families && !find_parents(family, err)) {
        free(family);
        return false;
    }
    if (grouping == TRACE_PARENTS || grouping == TRACE_FAMILIES)
        give_family_rows(family, grouping);
    else if (grouping == TRACE_ROLES)
        give_role_rows(family);
    else if (grouping == TRACE_EACH)
        give_each_a_row(family);
    else {
        add_row(workers, workers->count == 1 ? "one process" : "all processes");
        for (int i = 0; i < workers->count; i++)
            workers->items[i].row = 0;
    }
    join_min(workers);
    free(family);
    return true;
}
