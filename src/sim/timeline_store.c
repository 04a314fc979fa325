#include "sim/timeline.h"

#include "trace/store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timeline_store {
    struct trace_writer *writer;
    int64_t origin, first, last; /* nanoseconds */
};

struct timeline_store *timeline_store_open(const char *path, int64_t origin, struct error *err)
{
    struct timeline_store *store = calloc(1, sizeof *store);
    if (!store)
        return error_memory_null(err);
    *store = (struct timeline_store){.origin = origin, .first = INT64_MAX, .last = INT64_MIN};
    store->writer = trace_writer_new(path, TRACE_STORE_WHOLE | TRACE_STORE_REPLACE, err);
    if (store->writer)
        return store;
    free(store);
    return NULL;
}

/* What a kind of task does, and with which kind of file. */
static const struct {
    enum trace_class class;
    const char *file; /* NULL: none */
    enum trace_kind kind;
} effects[TASK_KINDS] = {
    [TASK_FORWARD] = {.class = TRACE_OTHER},
    [TASK_INPUT] = {.class = TRACE_OTHER},
    [TASK_WEIGHT] = {.class = TRACE_OTHER},
    [TASK_BACKWARD] = {.class = TRACE_OTHER},
    [TASK_RECOMPUTE] = {.class = TRACE_OTHER},
    [TASK_SEND] = {TRACE_WRITE, "messages of device %d", TRACE_KIND_SOCKET},
    [TASK_RECEIVE] = {TRACE_READ, "messages of device %d", TRACE_KIND_SOCKET},
    [TASK_COLLECTIVE] = {TRACE_WRITE, "collectives of device %d", TRACE_KIND_SOCKET},
    [TASK_OPTIMIZER] = {.class = TRACE_OTHER},
    [TASK_LOAD] = {TRACE_READ, "data of device %d", TRACE_KIND_FILE},
    [TASK_SAVE] = {TRACE_WRITE, "checkpoints of device %d", TRACE_KIND_FILE},
    [TASK_OTHER] = {.class = TRACE_OTHER},
};

static bool add_task(void *context, const struct timeline_task *task, struct error *err)
{
    struct timeline_store *store = context;
    char device[48], file[64];
    int64_t bytes = (int64_t)fmin(fmax(0.0, task->bytes), 0x1p53);
    double begin = task->begin * 1e9, length = fmax(0.0, (task->end - task->begin) * 1e9);
    if (!(fabs(begin) < 0x1p58) || !(length < 0x1p58))
        return error_set(err, ERROR_INPUT, "a task that lasts from %g s to %g s: longer than a trace can be",
                         task->begin, task->end);
    snprintf(device, sizeof device, "device %d", task->device);
    struct trace_event event = {
        .class = effects[task->kind].class,
        .cached = -1,
        .start_ns = store->origin + llround(begin),
        .latency_ns = llround(length),
        .process = trace_process(store->writer, task->device, TRACE_NONE, device, strlen(device)),
        .call = trace_call(store->writer, task->name, strlen(task->name)),
        .fd = TRACE_NONE,
        .offset = TRACE_NONE,
        .size = TRACE_NONE,
        .result = TRACE_NONE,
    };
    if (effects[task->kind].file && bytes > 0) { /* else it only waits */
        snprintf(file, sizeof file, effects[task->kind].file, task->device);
        event.file = trace_file_of_kind(store->writer, TRACE_NONE, TRACE_NONE, effects[task->kind].kind, file,
                                        strlen(file));
        event.size = event.result = bytes;
    } else {
        event.class = TRACE_OTHER;
    }
    if (event.start_ns < store->first)
        store->first = event.start_ns;
    if (event.start_ns + event.latency_ns > store->last)
        store->last = event.start_ns + event.latency_ns;
    return trace_add_event(store->writer, &event, err);
}

struct timeline_sink timeline_store_sink(struct timeline_store *store)
{
    return (struct timeline_sink){.context = store, .task = add_task};
}

bool timeline_store_close(struct timeline_store *store, bool done, struct error *err)
{
    if (!store)
        return true;
    const struct trace_phase phase = {"TRAINING", store->first, store->last, "rehearse"};
    bool ok = done && (store->first > store->last || trace_add_phase(store->writer, &phase, err));
    if (ok)
        ok = trace_writer_close(store->writer, err);
    else
        trace_writer_drop(store->writer);
    free(store);
    return ok || !done;
}
