#include "sim/timeline.h"

#include "core/stop.h"

#include <stddef.h>

const char *const timeline_kind_names[TASK_KINDS] = {
    [TASK_FORWARD] = "forward",
    [TASK_INPUT] = "input gradient",
    [TASK_WEIGHT] = "weight gradient",
    [TASK_BACKWARD] = "backward",
    [TASK_RECOMPUTE] = "recompute",
    [TASK_SEND] = "send",
    [TASK_RECEIVE] = "receive",
    [TASK_COLLECTIVE] = "collective",
    [TASK_OPTIMIZER] = "optimizer",
    [TASK_LOAD] = "load",
    [TASK_SAVE] = "save",
    [TASK_OTHER] = "other",
};

const char *const timeline_stream_names[STREAM_KINDS] = {
    [STREAM_COMPUTE] = "compute", [STREAM_COLLECTIVE] = "collective",
    [STREAM_SEND] = "send",       [STREAM_RECEIVE] = "receive",
    [STREAM_HOST] = "host",
};

void timeline_add_sink(struct timeline_sinks *sinks, struct timeline_sink sink)
{
    if (sinks->count < TIMELINE_MAX_SINKS)
        sinks->sinks[sinks->count++] = sink;
}

static bool task_to_all(void *context, const struct timeline_task *task, struct error *err)
{
    const struct timeline_sinks *all = context;
    if (stop_obeyed(err))
        return false;
    for (int i = 0; i < all->count; i++)
        if (all->sinks[i].task != NULL && !all->sinks[i].task(all->sinks[i].context, task, err))
            return false;
    return true;
}

static bool memory_to_all(void *context, const struct timeline_memory *memory, struct error *err)
{
    const struct timeline_sinks *all = context;
    for (int i = 0; i < all->count; i++)
        if (all->sinks[i].memory != NULL && !all->sinks[i].memory(all->sinks[i].context, memory, err))
            return false;
    return true;
}

static bool link_to_all(void *context, const struct timeline_link *link, struct error *err)
{
    const struct timeline_sinks *all = context;
    for (int i = 0; i < all->count; i++)
        if (all->sinks[i].link != NULL && !all->sinks[i].link(all->sinks[i].context, link, err))
            return false;
    return true;
}

static bool group_to_all(void *context, const struct timeline_group *group, struct error *err)
{
    const struct timeline_sinks *all = context;
    for (int i = 0; i < all->count; i++)
        if (all->sinks[i].group != NULL && !all->sinks[i].group(all->sinks[i].context, group, err))
            return false;
    return true;
}

struct timeline_sink timeline_to_all(struct timeline_sinks *sinks)
{
    struct timeline_sink all = {.context = sinks, .task = task_to_all, .memory = memory_to_all};
    for (int i = 0; i < sinks->count; i++) {
        if (sinks->sinks[i].link != NULL) /* who is told of links costs more */
            all.link = link_to_all;
        if (sinks->sinks[i].group != NULL)
            all.group = group_to_all;
    }
    return all;
}
