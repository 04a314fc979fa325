/* Kernels of the cost model as tasks of oneDNN (kernel_module.h). */
#ifndef REHEARSE_MEASURE_LAYERS_KERNELS_H
#define REHEARSE_MEASURE_LAYERS_KERNELS_H

#include "core/error.h"
#include "cost/kernel.h"
#include "measure/layers/kernel_module.h"

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

/* "product 1 x 256 x 1024 x 512, fp32" */
const char *kernel_task_text(const struct kernel_task *task, char *text, size_t size);

#endif
