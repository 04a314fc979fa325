/* Tasks of a run that are kept in memory, as lists of the report. */
#include "api/sim/simulate.h"
#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

struct simulate_tasks {
    struct arena arena; /* names, until the report has them */
    struct timeline_task *tasks;
    size_t count, capacity;
    const char *last; /* name: tasks of the same name tend to follow one another */
};

static bool add(void *context, const struct timeline_task *task, struct error *err)
{
    struct simulate_tasks *tasks = context;
    struct timeline_task kept = *task;
    if (task->name && (!tasks->last || strcmp(tasks->last, task->name) != 0)) {
        tasks->last = arena_string(&tasks->arena, task->name);
        if (!tasks->last)
            return error_memory(err);
    }
    kept.name = task->name ? tasks->last : NULL;
    return VECTOR_ADD(tasks->tasks, tasks->count, tasks->capacity, kept) || error_memory(err);
}

struct timeline_sink simulate_tasks_sink(struct simulate_tasks **tasks, struct error *err)
{
    *tasks = calloc(1, sizeof **tasks);
    if (!*tasks)
        error_memory(err);
    return (struct timeline_sink){.context = *tasks, .task = add};
}

struct row {
    struct timeline_task task;
    const char *name, *kind;
};

static bool add_rows(struct simulate_tasks *tasks, rh_handle *handle, struct error *err)
{
    struct row *rows = ARENA_ARRAY(&handle->arena, tasks->count + 1, struct row);
    int64_t count = (int64_t)tasks->count;
    const char *name = NULL;
    for (size_t i = 0; rows && i < tasks->count; i++) {
        rows[i] = (struct row){.task = tasks->tasks[i], .kind = timeline_kind_names[tasks->tasks[i].kind]};
        if (rows[i].task.name && (i == 0 || rows[i].task.name != tasks->tasks[i - 1].name || !name))
            name = arena_string(&handle->arena, rows[i].task.name);
        rows[i].name = rows[i].task.name ? name : NULL;
        handle->failed = handle->failed || (rows[i].task.name && !name);
    }
    if (!rows)
        return error_memory(err);
    API_COLUMN(handle, "tasks.device", 'i', rows, count, task.device);
    API_COLUMN(handle, "tasks.stream", 'i', rows, count, task.stream);
    API_COLUMN(handle, "tasks.kind", 's', rows, count, kind);
    API_COLUMN(handle, "tasks.name", 's', rows, count, name);
    API_COLUMN(handle, "tasks.stage", 'i', rows, count, task.stage);
    API_COLUMN(handle, "tasks.layer", 'i', rows, count, task.layer);
    API_COLUMN(handle, "tasks.microbatch", 'q', rows, count, task.microbatch);
    API_COLUMN(handle, "tasks.begin", 'd', rows, count, task.begin);
    API_COLUMN(handle, "tasks.end", 'd', rows, count, task.end);
    API_COLUMN(handle, "tasks.bytes", 'd', rows, count, task.bytes);
    return true;
}

bool simulate_tasks_end(struct simulate_tasks *tasks, struct api_report *report, bool done, struct error *err)
{
    if (!tasks)
        return done;
    bool ok = done && add_rows(tasks, &report->base, err);
    arena_release(&tasks->arena);
    free(tasks->tasks);
    free(tasks);
    return ok;
}
