#include "measure/layers/kernel_set.h"

#include "core/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int find(struct kernel_set *set, const struct kernel_task *task, struct error *err)
{
    for (size_t i = 0; i < set->count; i++)
        if (memcmp(&set->kernels[i].task, task, sizeof *task) == 0)
            return (int)i;
    const struct made_kernel made = {*task, kernel_make(set->calls, task, err)};
    if (!made.made)
        return -1;
    if (!VECTOR_ADD(set->kernels, set->count, set->room, made)) {
        set->calls->end(made.made);
        error_memory(err);
        return -1;
    }
    return (int)set->count - 1;
}

bool kernel_set_add(struct kernel_set *set, struct kernel_list *list, const struct kernel_task *task,
                    double repeats, struct error *err)
{
    const struct kernel_part part = {find(set, task, err), (int64_t)fmax(1.0, nearbyint(repeats))};
    return part.kernel >= 0 && (VECTOR_ADD(list->parts, list->count, list->room, part) || error_memory(err));
}

bool kernel_set_renew(struct kernel_set *set, struct error *err)
{
    for (size_t i = 0; i < set->count; i++) {
        struct made_kernel *kernel = &set->kernels[i];
        set->calls->end(kernel->made);
        kernel->made = kernel_make(set->calls, &kernel->task, err);
        if (!kernel->made)
            return false;
    }
    return true;
}

bool kernel_set_run(const struct kernel_set *set, const struct kernel_list *list, int64_t times,
                    struct error *err)
{
    char text[128];
    for (int64_t i = 0; i < times; i++)
        for (size_t p = 0; p < list->count; p++) {
            const struct made_kernel *kernel = &set->kernels[list->parts[p].kernel];
            if (!set->calls->run(kernel->made, list->parts[p].repeats))
                return error_set(err, ERROR_FAILED, "%s: %s could not run it",
                                 kernel_task_text(&kernel->task, text, sizeof text), set->calls->name());
        }
    return true;
}

bool kernel_list_is_same(const struct kernel_list *a, const struct kernel_list *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (a->parts[i].kernel != b->parts[i].kernel || a->parts[i].repeats != b->parts[i].repeats)
            return false;
    return a->count == b->count;
}

void kernel_list_release(struct kernel_list *list)
{
    free(list->parts);
    *list = (struct kernel_list){.count = 0};
}

void kernel_set_release(struct kernel_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->kernels[i].made)
            set->calls->end(set->kernels[i].made);
    free(set->kernels);
    *set = (struct kernel_set){.calls = NULL};
}
