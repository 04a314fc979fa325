/* The tasks of a plan: the system that sim_play gives to the engine, with all devices one by one, for those who do the
 * tasks for real (run/). What is played and what is simulated are so the same tasks in the same order, of every plan
 * and schedule. */
#ifndef REHEARSE_SIM_TASKS_H
#define REHEARSE_SIM_TASKS_H

#include "sim/engine/engine.h"
#include "sim/play.h"

/* What the members of a group do with the bytes of their collective. */
enum sim_collective {
    SIM_MEETING, /* they wait for each other */
    SIM_ALL_REDUCE,
    SIM_ALL_GATHER,
    SIM_REDUCE_SCATTER,
    SIM_ALL_TO_ALL,
    SIM_COLLECTIVES
};

/* What a task of a host's is; SIM_HOST_SAVED: all devices have written a checkpoint. */
enum sim_host_task { SIM_NO_HOST_TASK, SIM_HOST_LOADS, SIM_HOST_COPIES, SIM_HOST_WRITES, SIM_HOST_SAVED };

/* Where a device stands in the plan. `node` counts all nodes of the plan; -1: the plan does not say. */
struct sim_seat {
    int pipeline, copy, place, index, node;
};

struct sim_tasks {
    const struct engine_system *system;
    const struct sim_seat *seats; /* of each device */
    int node_count;               /* 0: unknown */
    int iterations;
    double other; /* seconds after an iteration that no task has; of several, they are tasks between them */
    const char *schedule;
};

/* Makes the tasks of some iterations of the plan, whose missing prices are filled in; loads and saves are those of the
 * options. The plan and the options must stay as long; ended by sim_tasks_free. NULL on failure. */
struct sim_tasks *sim_tasks_make(struct plan *plan, const struct sim_options *options, int iterations,
                                 struct error *err);
void sim_tasks_free(struct sim_tasks *tasks); /* NULL is allowed */

/* The kernels of a task: of a layer of the plan's model (-1: of no single one, where the schedule cuts the model
 * otherwise than the plan), in a stage of the plan. */
struct sim_kernels {
    int layer;
    const struct plan_stage *stage;
};

/* Returns whether a task of a device, by its template and its place there, is a layer's forward or backward pass, or a
 * part of it. */
bool sim_task_kernels(const struct sim_tasks *tasks, int device, uint32_t template, int place,
                      struct sim_kernels *kernels);

/* Returns what a task of a group does, and what it is of a host's work. */
enum sim_collective sim_task_collective(const struct engine_task *task);
enum sim_host_task sim_task_of_host(const struct engine_task *task);

#endif
