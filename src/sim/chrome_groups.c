#include "sim/chrome_groups.h"

#include "core/vector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct process_group {
    int number, count;
    const char *name, *what, *ranks; /* ranks: "[0, 1]" */
    int *members;
};

static bool has_device(const struct process_group *group, int device)
{
    for (int i = 0; i < group->count; i++)
        if (group->members[i] == device)
            return true;
    return false;
}

void chrome_groups_write(const struct chrome_groups *groups, int device, struct json *json)
{
    json_open(json, "pg_config", '[');
    for (size_t i = 0; i < groups->count; i++) {
        const struct process_group *group = &groups->groups[i];
        char name[16];
        if (device >= 0 && !has_device(group, device))
            continue;
        snprintf(name, sizeof name, "%d", group->number);
        json_open_flat(json, NULL, '{');
        json_string(json, "pg_name", name);
        json_string(json, "pg_desc", group->name);
        json_string(json, "backend_config", "cuda:nccl");
        json_integer(json, "pg_size", group->count);
        json_open_flat(json, "ranks", '[');
        for (int k = 0; k < group->count; k++)
            json_integer(json, NULL, group->members[k]);
        json_close(json);
        json_close(json);
    }
    json_close(json);
    json_integer(json, "pg_count", (int64_t)groups->count);
}

void chrome_exchange_write(const struct chrome_groups *groups, const struct timeline_task *task,
                           struct json *json)
{
    const struct process_group *group = NULL;
    for (size_t i = 0; i < groups->count && !group && task->group > 0; i++)
        group = groups->groups[i].number == task->group ? &groups->groups[i] : NULL;
    bool send = task->kind == TASK_SEND, message = (send || task->kind == TASK_RECEIVE) && task->peer > 0;
    const char *what = group ? group->what : message ? send ? "send" : "recv" : NULL;
    char name[16];
    if (!what)
        return;
    json_string(json, "Collective name", what);
    if (task->bytes >
        0) { /* of a ring: 2 (n - 1) / n of all bytes are sent, without the reduction half of that */
        double n = group ? group->count : 2, share = message || n < 2 ? 1 : (n - 1) / n;
        double given = task->bytes / (strcmp(what, "allreduce") == 0 ? 2 * share : share);
        given /= strcmp(what, "all_gather") == 0 ? n : 1;
        json_integer(json, "In msg nelems", llround(fmin(given, 9e15)));
        json_string(json, "dtype", "Byte");
    }
    if (message) {
        json_integer(json, "Src Rank", send ? task->device : task->peer - 1);
        json_integer(json, "Dst Rank", send ? task->peer - 1 : task->device);
        json_integer(json, "Seq", task->message);
    }
    if (!group)
        return;
    snprintf(name, sizeof name, "%d", group->number);
    json_integer(json, "Group size", group->count);
    json_string(json, "Process Group Name", name);
    json_string(json, "Process Group Description", group->name);
    json_string(json, "Process Group Ranks", group->ranks);
}

bool chrome_groups_add(struct chrome_groups *groups, const struct timeline_group *group, struct error *err)
{
    struct text list = {0};
    struct process_group kept = {.number = group->number,
                                 .count = group->count,
                                 .name = arena_string(&groups->arena, group->name),
                                 .what =
                                     arena_string(&groups->arena, group->what ? group->what : "collective"),
                                 .members = ARENA_ARRAY(&groups->arena, (size_t)group->count + 1, int)};
    for (int i = 0; i < group->count; i++)
        text_format(&list, "%s%d", i > 0 ? ", " : "[", group->ranks[i]);
    text_add(&list, "]");
    kept.ranks = list.failed ? NULL : arena_string(&groups->arena, list.data);
    text_release(&list);
    if (!kept.members || !kept.name || !kept.what || !kept.ranks)
        return error_memory(err);
    memcpy(kept.members, group->ranks, (size_t)group->count * sizeof *kept.members);
    return VECTOR_ADD(groups->groups, groups->count, groups->capacity, kept) || error_memory(err);
}

void chrome_groups_release(struct chrome_groups *groups)
{
    free(groups->groups);
    arena_release(&groups->arena);
    *groups = (struct chrome_groups){.count = 0};
}
