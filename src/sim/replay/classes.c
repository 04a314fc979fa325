#include "sim/replay/classes.h"

#include "core/statistics.h"
#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)KERNEL_COMMUNICATION == (int)REPLAY_COMMUNICATION &&
                   (int)KERNEL_MEMORY == (int)REPLAY_MEMORY,
               "groups of kernels are classes of activities");

/* A copy or fill may have any name. */
static const struct kernel_rule *rule_of(const struct kernel_classes *added, const struct replay *replay,
                                         const struct replay_activity *activity)
{
    static const struct kernel_rule moves[REPLAY_CATEGORIES] = {
        [REPLAY_MEMCPY] = {.pieces = "", .class = CLASS_COPY, .library = ""},
        [REPLAY_MEMSET] = {.pieces = "", .class = CLASS_FILL, .library = ""}};
    const struct kernel_rule *rule = kernel_class_of(added, replay->texts[activity->name]);
    return activity->category == REPLAY_KERNEL || kernel_class_group(rule->class) == KERNEL_MEMORY
               ? rule
               : &moves[activity->category];
}

bool replay_classify(struct replay *replay, const struct kernel_classes *added, struct error *err)
{
    if (!kernel_classes_read(err))
        return false;
    free((void *)replay->rules);
    replay->rules = calloc(replay->text_count + 1, sizeof *replay->rules);
    if (!replay->rules)
        return error_memory(err);
    for (size_t i = 0; i < replay->count; i++) {
        struct replay_activity *activity = &replay->activities[i];
        const struct kernel_rule **rule = &replay->rules[activity->name];
        if (!*rule)
            *rule = rule_of(added, replay, activity);
        if (!replay->typed)
            activity->class = (enum replay_class)kernel_class_group((*rule)->class);
    }
    return true;
}

bool replay_has_rule_of(const struct replay *replay, const struct kernel_classes *added)
{
    for (size_t i = 0; i < replay->text_count; i++)
        if (replay->rules[i] >= added->rules && replay->rules[i] < added->rules + added->count)
            return true;
    return false;
}

static int by_total(const void *a, const void *b)
{
    const struct replay_class_sum *first = a, *second = b;
    if (first->total != second->total)
        return first->total > second->total ? -1 : 1;
    return first->class != second->class ? order_of(first->class, second->class)
                                         : strcmp(first->library, second->library);
}

struct sums {
    struct replay_class_sum *list;
    size_t count, capacity;
};

/* Returns the place of the sum of an activity, from 1; 0: out of memory. */
static uint32_t find_sum(struct sums *sums, const struct replay *replay,
                         const struct replay_activity *activity)
{
    const struct kernel_rule *rule = replay->rules[activity->name];
    struct replay_class_sum sum = {rule->class, activity->class, rule->library, 0, 0, 0};
    for (size_t i = 0; i < sums->count; i++)
        if (sums->list[i].class == sum.class && sums->list[i].group == sum.group &&
            strcmp(sums->list[i].library, sum.library) == 0)
            return (uint32_t)i + 1;
    return VECTOR_ADD(sums->list, sums->count, sums->capacity, sum) ? (uint32_t)sums->count : 0;
}

bool replay_sum_classes(const struct replay *replay, const int64_t *durations, struct replay_class_sum **list,
                        size_t *count, struct error *err)
{
    struct sums sums = {0};
    uint32_t *places = calloc(replay->text_count + 1, sizeof *places); /* of the sum of each name */
    int64_t whole = 0;
    bool done = places != NULL;
    for (size_t i = 0; done && i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        uint32_t *place = &places[activity->name];
        if (*place == 0)
            *place = find_sum(&sums, replay, activity);
        done = *place > 0;
        if (!done)
            break;
        int64_t duration = durations ? durations[i] : activity->duration;
        sums.list[*place - 1].count++;
        sums.list[*place - 1].total += duration;
        whole += duration;
    }
    free(places);
    for (size_t i = 0; i < sums.count; i++)
        sums.list[i].share = whole > 0 ? (double)sums.list[i].total / (double)whole : 0;
    if (sums.count > 0)
        qsort(sums.list, sums.count, sizeof *sums.list, by_total);
    *list = done ? sums.list : NULL;
    *count = done ? sums.count : 0;
    if (!done)
        free(sums.list);
    return done || error_memory(err);
}
