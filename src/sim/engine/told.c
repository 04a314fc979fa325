/* Who meets whom: the groups of collectives, which sinks are told before the first task, and the ends of messages. */
#include "core/statistics.h"
#include "core/vector.h"
#include "sim/engine/inner.h"

#include <stdlib.h>

struct membership {
    int group, rank;
};

struct telling {
    struct membership *members;
    size_t count, capacity;
    const char **names, **what; /* of each group */
    int *seen;                  /* of each template, and of each group: 1 + the last device that has it */
};

static int by_group(const void *a, const void *b)
{
    const struct membership *x = a, *y = b;
    return x->group != y->group ? order_of(x->group, y->group) : order_of(x->rank, y->rank);
}

static bool take_told_task(struct engine *engine, struct telling *telling, int number,
                           const struct engine_task *task)
{
    const struct engine_system *system = engine->system;
    const struct engine_device *device = &system->devices[number];
    if (task->send > 0)
        engine->ends[2 * (size_t)device->ports[task->send - 1]] = 1 + device->rank;
    if (task->receive > 0)
        engine->ends[2 * (size_t)device->ports[task->receive - 1] + 1] = 1 + device->rank;
    if (task->group == 0)
        return true;
    int group = device->groups[task->group - 1], *seen = &telling->seen[system->template_count + group];
    if (*seen == number + 1)
        return true;
    *seen = number + 1;
    telling->names[group] = system->labels[task->label].name;
    telling->what[group] = system->collectives ? system->collectives[task->group] : NULL;
    struct membership member = {group, device->rank};
    return VECTOR_ADD(telling->members, telling->count, telling->capacity, member) ||
           engine_no_memory(engine);
}

static bool tell_groups(struct engine *engine, struct telling *telling)
{
    int *ranks = malloc((telling->count + 1) * sizeof *ranks);
    bool done = ranks || engine_no_memory(engine);
    if (done && telling->count > 0)
        done = sort_items(telling->members, telling->count, sizeof *telling->members, by_group, engine->err);
    for (size_t at = 0, end; done && at < telling->count; at = end) {
        struct timeline_group told = {.number = telling->members[at].group + 1,
                                      .name = telling->names[telling->members[at].group],
                                      .what = telling->what[telling->members[at].group],
                                      .ranks = ranks};
        for (end = at; end < telling->count && telling->members[end].group == telling->members[at].group;
             end++)
            ranks[told.count++] = telling->members[end].rank;
        done = told.count < 2 || engine->sink->group(engine->sink->context, &told, engine->err);
    }
    free(ranks);
    return done;
}

bool engine_tell(struct engine *engine)
{
    const struct engine_system *system = engine->system;
    struct telling telling = {0};
    if (engine->sink == NULL || engine->sink->group == NULL)
        return true;
    engine->ends = calloc(2 * (size_t)system->channel_count + 1, sizeof *engine->ends);
    telling.names = calloc((size_t)system->group_count + 1, sizeof *telling.names);
    telling.what = calloc((size_t)system->group_count + 1, sizeof *telling.what);
    telling.seen =
        calloc((size_t)system->template_count + (size_t)system->group_count + 1, sizeof *telling.seen);
    bool done = (engine->ends && telling.names && telling.what && telling.seen) || engine_no_memory(engine);
    for (int d = 0; done && d < system->device_count; d++) {
        const struct engine_order *order = &system->orders[system->devices[d].order];
        for (size_t i = 0; done && i < order->count; i++) {
            uint32_t number = order->passes[i].template;
            bool known = telling.seen[number] == d + 1;
            telling.seen[number] = d + 1;
            for (int k = 0; done && !known && k < system->templates[number].count; k++)
                done = take_told_task(engine, &telling, d, &system->templates[number].tasks[k]);
        }
    }
    done = done && tell_groups(engine, &telling);
    free(telling.members);
    free(telling.names);
    free(telling.what);
    free(telling.seen);
    engine->failed |= !done;
    return done;
}

void engine_tell_ends(const struct engine *engine, const struct engine_device *device,
                      const struct engine_task *from, struct timeline_task *task)
{
    bool send = task->kind == TASK_SEND;
    int port = send ? from->send : from->receive;
    if (from->group > 0)
        task->group = device->groups[from->group - 1] + 1;
    if (engine->ends == NULL || (!send && task->kind != TASK_RECEIVE) || port == 0)
        return;
    int channel = device->ports[port - 1];
    task->message = 1 + ((int64_t)channel << 24 | task->microbatch);
    task->peer = engine->ends[2 * (size_t)channel + send];
}
