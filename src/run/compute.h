/* Computes kernels in a run, instead of only waiting for deadlines: the kernels of the cost model that `rehearse
 * measure layers` times, with the same library. One further thread of the rank computes, so that messages go on
 * meanwhile. The devices of a rank share that thread, so their kernels run one after the other. Private to run. */
#ifndef REHEARSE_RUN_COMPUTE_H
#define REHEARSE_RUN_COMPUTE_H

#include "devices/architecture.h"
#include "devices/software.h"
#include "run/worker.h"
#include "sim/tasks.h"

/* The model and number formats of a plan's layers. */
struct run_kernels {
    const struct architecture *model;
    const struct software *software;
    bool is_bf16;     /* else fp32 */
    int64_t sequence; /* tokens; 0: the plan's, else the model's */
};

struct compute;

/* Prepares all kernels of devices first … first + count - 1, each distinct one once. `wake`: an eventfd that is written
 * when one has been computed. ERROR_INPUT: the plan's layers are not those of the model, or are cut otherwise by the
 * schedule. The tasks must stay until compute_close. */
struct compute *compute_open(const struct run_kernels *kernels, const struct sim_tasks *tasks,
                             const struct plan *plan, int first, int count, int wake, struct error *err);
void compute_close(struct compute *compute); /* NULL is allowed */

/* Returns whether a task (its place in its template) is computed. */
bool compute_has(const struct compute *compute, uint32_t template, int place);

/* Begins such a task of a device, counted from `first`. A device computes one at a time. */
void compute_begin(struct compute *compute, int device, uint32_t template, int place);

/* Returns NULL while it is computed; else when it began and ended, or why it failed. */
const struct worker_job *compute_ended(struct compute *compute, int device);

struct worker_seconds compute_seconds(struct compute *compute);

/* Returns the library's name and version. */
const char *compute_library(const struct compute *compute);

#endif
