/* Kernels of the cost model, timed by oneDNN (kernel_module.h): each distinct one once. */
#ifndef REHEARSE_MEASURE_LAYERS_KERNELS_H
#define REHEARSE_MEASURE_LAYERS_KERNELS_H

#include "core/arena.h"
#include "cost/kernel.h"
#include "measure/layers/kernel_module.h"
#include "measure/sample.h"

struct timed_task {
    struct kernel_task task;
    struct sample_result time;
};

struct kernel_timer {
    const struct kernel_calls *calls;
    const struct sample_options *options;
    struct timed_task *tasks;
    int count;
    size_t room;
};

/* Opens the module. The caller ends *timer with kernel_timer_release. */
bool kernel_timer_open(struct kernel_timer *timer, const struct sample_options *options, struct error *err);
void kernel_timer_release(struct kernel_timer *timer);

/* Sets the task that stands for one run of a kernel. `width`: of rows of norms and softmaxes; `is_bf16`: of kernels
 * without a type of their own. False: there is nothing like it, which *err says. */
bool kernel_task_of(struct kernel_task *task, const struct kernel *kernel, bool is_backward, bool is_bf16,
                    int64_t width, struct error *err);

/* Times a task, unless it was timed before. The result lives until the next call. NULL: *err is set. */
const struct sample_result *kernel_timer_time(struct kernel_timer *timer, const struct kernel_task *task,
                                              struct error *err);

/* "product 1 x 256 x 1024 x 512, fp32" */
const char *kernel_task_text(const struct kernel_task *task, char *text, size_t size);

#endif
