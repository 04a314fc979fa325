/* Kernels of the cost model, timed by oneDNN (kernel_module.h): each distinct one once. */
#ifndef REHEARSE_MEASURE_LAYERS_KERNELS_H
#define REHEARSE_MEASURE_LAYERS_KERNELS_H

#include "core/arena.h"
#include "cost/kernel.h"
#include "measure/layers/kernel_module.h"
#include "measure/sample.h"

#define KERNEL_MAKING_SHARE 0.2 /* of a measurement's time, at most, in which its kernels are made again */

struct timed_task {
    struct kernel_task task;
    struct sample_result time;
};

/* Times tasks alone, in rounds. */
struct kernel_timer {
    const struct kernel_calls *calls;
    const struct sample_options *options;
    struct timed_task *tasks;
    int count;
    size_t room;
};

/* The caller ends *timer with kernel_timer_release. */
void kernel_timer_init(struct kernel_timer *timer, const struct kernel_calls *calls,
                       const struct sample_options *options);
void kernel_timer_release(struct kernel_timer *timer);

/* Adds a task, unless it was added before. */
bool kernel_timer_add(struct kernel_timer *timer, const struct kernel_task *task, struct error *err);

/* Times all of them: until all are within the precision, or the limit's seconds for each are over. */
bool kernel_timer_run(struct kernel_timer *timer, struct error *err);

/* Opens the module; NULL: *err says why not. */
const struct kernel_calls *kernel_calls_load(struct error *err);

/* Returns whether a kernel of the cost model does anything that could be timed. */
bool kernel_does_work(const struct kernel *kernel);

/* Sets the task that stands for one run of a kernel. `width`: of rows of norms and softmaxes; `is_bf16`: of kernels
 * without a type of their own. False: oneDNN has no equivalent, see *err. */
bool kernel_task_of(struct kernel_task *task, const struct kernel *kernel, bool is_backward, bool is_bf16,
                    int64_t width, struct error *err);

/* Makes a task; `calls->end` ends it. NULL: *err is set. */
void *kernel_make(const struct kernel_calls *calls, const struct kernel_task *task, struct error *err);

/* Ends a batch and fills in its times. */
struct kernel_clock {
    double start, processor;
    int64_t switches;
};
struct kernel_clock kernel_clock_start(void);
void kernel_clock_stop(const struct kernel_clock *clock, struct sample_batch *batch);

/* "product 1 x 256 x 1024 x 512, fp32" */
const char *kernel_task_text(const struct kernel_task *task, char *text, size_t size);

#endif
