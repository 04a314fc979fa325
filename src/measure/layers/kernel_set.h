/* Kernels that were made by oneDNN, each distinct one once, and lists of them that are run one after the other: the
 * passes of layers, as `rehearse measure layers` times them and `rehearse run --compute kernels` computes them. */
#ifndef REHEARSE_MEASURE_LAYERS_KERNEL_SET_H
#define REHEARSE_MEASURE_LAYERS_KERNEL_SET_H

#include "measure/layers/kernels.h"

struct kernel_list {
    struct kernel_part {
        int kernel; /* its number in the set */
        int64_t repeats;
    } * parts;
    size_t count, room;
};

struct kernel_set {
    const struct kernel_calls *calls;
    struct made_kernel {
        struct kernel_task task;
        void *made;
    } * kernels;
    size_t count, room;
};

/* Adds a task to a list, and makes it unless the set has it. */
bool kernel_set_add(struct kernel_set *set, struct kernel_list *list, const struct kernel_task *task,
                    double repeats, struct error *err);

/* Makes all kernels again, whose arrays lie elsewhere then. */
bool kernel_set_renew(struct kernel_set *set, struct error *err);

/* Runs a list so many times. */
bool kernel_set_run(const struct kernel_set *set, const struct kernel_list *list, int64_t times,
                    struct error *err);

void kernel_list_release(struct kernel_list *list);
void kernel_set_release(struct kernel_set *set);

#endif
