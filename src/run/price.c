/* Links that are emulated: the tasks of a plan with other seconds for what is moved. */
#include "run/price.h"

#include "core/unit.h"
#include "core/unit/dimension.h"

#include <string.h>

bool run_link_read(struct run_link *link, const char *text, struct error *err)
{
    *link = (struct run_link){.kind = RUN_LINK_PLAN};
    if (strcmp(text, "plan") == 0)
        return true;
    link->kind = RUN_LINK_HOST;
    if (strcmp(text, "host") == 0)
        return true;
    link->kind = RUN_LINK_GIVEN;
    for (;;) {
        char part[64];
        size_t length = strcspn(text, ",");
        const char *value = memchr(text, '=', length);
        if (value && length < sizeof part) {
            memcpy(part, text, length);
            part[length] = '\0';
        }
        char *number = value && length < sizeof part ? part + (value - text) + 1 : NULL;
        bool latency = number && strncmp(part, "latency=", 8) == 0;
        bool bandwidth = number && strncmp(part, "bandwidth=", 10) == 0;
        double *field = latency ? &link->latency : &link->bandwidth;
        enum unit_kind unit = latency ? UNIT_TIME : UNIT_RATE;
        if (!(latency || bandwidth) || !unit_parse(number, unit, field) || *field < 0.0 ||
            (bandwidth && *field == 0.0))
            return error_set(err, ERROR_USAGE,
                             "--link: expected plan, host, or latency=20us,bandwidth=10GB/s; found '%.*s'",
                             (int)length, text);
        if (!dimension_parse(latency ? DIMENSION_LAUNCH : DIMENSION_RATE, unit, "link", number, field, err))
            return false;
        if (!text[length])
            return true;
        text += length + 1;
    }
}

static bool moves(const struct engine_system *system, const struct engine_task *task)
{
    enum timeline_kind kind = system->labels[task->label].kind;
    return kind == TASK_SEND || kind == TASK_RECEIVE || kind == TASK_COLLECTIVE;
}

static int64_t rounds_of(enum sim_collective kind, int members)
{
    int rounds = 0;
    while (1 << rounds < members)
        rounds++;
    return kind == SIM_ALL_REDUCE || kind == SIM_MEETING ? 2 * rounds : rounds;
}

/* A message takes the latency and its bytes' time; a collective a latency for each round of a tree, up and, if it
 * reduces, down. */
static void set_seconds(const struct engine_system *system, const struct run_link *link,
                        struct engine_task *task, int members)
{
    double bytes = link->bandwidth > 0.0 ? task->bytes / link->bandwidth : 0.0;
    int64_t rounds = task->group > 0 ? rounds_of(sim_task_collective(task), members) : 1;
    if (!moves(system, task) || (task->group > 0 && !(task->seconds > 0.0)))
        return;
    bool receives = task->receive > 0 && task->seconds <= 0.0; /* it only waits */
    task->seconds = task->latency = receives ? 0.0 : bytes + (double)rounds * link->latency;
    task->rate = 0.0;
    task->route = 0;
}

/* Returns the most members of any device's group of a kind. */
static void count_members(const struct engine_system *system, int *members, int kinds)
{
    for (int d = 0; d < system->device_count; d++)
        for (int g = 0; g < system->devices[d].group_count && g < kinds; g++) {
            int which = system->devices[d].groups[g];
            if (which >= 0 && which < system->group_count && system->groups[which].members > members[g])
                members[g] = system->groups[which].members;
        }
}

bool run_price_link(const struct engine_system *system, const struct run_link *link, struct arena *arena,
                    struct engine_system *priced, struct error *err)
{
    enum { KINDS = 64 };
    int members[KINDS] = {0};
    *priced = *system;
    if (link->kind != RUN_LINK_GIVEN)
        return true;
    count_members(system, members, KINDS);
    struct engine_template *templates =
        ARENA_ARRAY(arena, (size_t)system->template_count + 1, struct engine_template);
    struct engine_group *groups = ARENA_ARRAY(arena, (size_t)system->group_count + 1, struct engine_group);
    if (!templates || !groups)
        return error_memory(err);
    for (int i = 0; i < system->template_count; i++) {
        templates[i] = system->templates[i];
        struct engine_task *tasks = ARENA_ARRAY(arena, (size_t)templates[i].count + 1, struct engine_task);
        if (!tasks)
            return error_memory(err);
        for (int k = 0; k < templates[i].count; k++) {
            tasks[k] = templates[i].tasks[k];
            int group = tasks[k].group;
            set_seconds(system, link, &tasks[k], group > 0 && group <= KINDS ? members[group - 1] : 1);
        }
        templates[i].tasks = tasks;
    }
    for (int g = 0; g < system->group_count; g++)
        groups[g] = (struct engine_group){system->groups[g].members, -1};
    priced->templates = templates;
    priced->groups = groups;
    return true;
}

bool run_free_link(const struct engine_system *system, const struct run_link *link, struct arena *arena,
                   struct engine_system *played, struct error *err)
{
    *played = *system;
    if (link->kind != RUN_LINK_HOST)
        return true;
    const struct run_link none = {.kind = RUN_LINK_GIVEN};
    return run_price_link(system, &none, arena, played, err);
}
