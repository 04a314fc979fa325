/* Tasks of a run that are kept in memory, as lists of the report. */
#include "api/sim/simulate.h"
#include "core/fields.h"
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
    const char *kind;
};

#define OF_TASK(member, type) FIELD_OUT(struct row, #member, task.member, type)

static const struct field task_fields[] = {
    OF_TASK(device, FIELD_INT),       OF_TASK(stream, FIELD_INT),   FIELD(struct row, kind, FIELD_TEXT, 0, 0),
    OF_TASK(name, FIELD_TEXT),        OF_TASK(stage, FIELD_INT),    OF_TASK(layer, FIELD_INT),
    OF_TASK(microbatch, FIELD_INT64), OF_TASK(begin, FIELD_DOUBLE), OF_TASK(end, FIELD_DOUBLE),
    OF_TASK(bytes, FIELD_DOUBLE),
};

static bool add_rows(struct simulate_tasks *tasks, rh_handle *handle, struct error *err)
{
    struct row *rows = ARENA_ARRAY(&handle->arena, tasks->count + 1, struct row);
    int64_t count = (int64_t)tasks->count;
    const char *name = NULL;
    for (size_t i = 0; rows && i < tasks->count; i++) {
        const struct timeline_task *task = &tasks->tasks[i];
        if (task->name && (i == 0 || task->name != tasks->tasks[i - 1].name || !name))
            name = arena_string(&handle->arena, task->name);
        handle->failed = handle->failed || (task->name && !name);
        rows[i] = (struct row){.task = *task, .kind = timeline_kind_names[task->kind]};
        rows[i].task.name = task->name ? name : NULL;
    }
    if (!rows)
        return error_memory(err);
    API_FIELDS(handle, "tasks", rows, count, task_fields);
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
