#include "sim/tasks.h"

#include "sim/play/system.h"

#include <stdlib.h>

/* Begins with what is public. */
struct made_tasks {
    struct sim_tasks shown;
    struct arena arena;
    struct sim_options options;
    struct play_model model;
    struct play_system system;
    struct sim_seat *seats;
};

/* Nodes are counted through all groups of the plan, as its runs count them. */
static void seat_device(void *context, int device, int node, int index)
{
    struct made_tasks *made = context;
    (void)index;
    made->seats[device].node = node;
}

static bool seat_all(struct made_tasks *made, struct error *err)
{
    const struct layout *layout = &made->system.layout;
    const struct plan *plan = made->model.plan;
    made->seats = ARENA_ARRAY(&made->arena, (size_t)layout->count, struct sim_seat);
    if (!made->seats)
        return error_memory(err);
    for (int d = 0; d < layout->count; d++)
        made->seats[d] = (struct sim_seat){layout->at[d].pipeline, layout->at[d].copy, layout->at[d].place,
                                           layout->at[d].index, -1};
    for (int t = 0; t < plan->type_count; t++)
        made->shown.node_count += plan->types[t].nodes.count > 0 ? plan->types[t].nodes.count : 0;
    for (int p = 0; p < made->model.pipeline_count; p++)
        for (int place = 0; place < made->model.pipelines[p].order.devices; place++)
            layout_visit_seats(layout, p, place, seat_device, made);
    for (int d = 0; d < layout->count; d++)
        if (made->seats[d].node < 0 || made->seats[d].node >= made->shown.node_count)
            made->shown.node_count = 0;
    return true;
}

static bool make_tasks(struct made_tasks *made, struct plan *plan, int iterations, struct error *err)
{
    made->options.level = SIM_LAYERS;
    made->options.no_symmetry = true;
    if (!play_price(plan, err) || !play_model_make(&made->model, plan, &made->options, &made->arena, err))
        return false;
    made->model.host = (struct play_host){.iterations = iterations,
                                          .loads = made->options.load_rate > 0.0,
                                          .save_every = made->options.save_every,
                                          .written = 1.0};
    if (!play_system_make(&made->system, &made->model, err))
        return false;
    made->shown.system = &made->system.engine;
    made->shown.iterations = iterations;
    made->shown.other = made->model.other;
    made->shown.schedule = made->model.schedule->name;
    if (!seat_all(made, err))
        return false;
    made->shown.seats = made->seats;
    return true;
}

struct sim_tasks *sim_tasks_make(struct plan *plan, const struct sim_options *options, int iterations,
                                 struct error *err)
{
    struct made_tasks *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory_null(err);
    made->options = *options;
    if (make_tasks(made, plan, iterations, err))
        return &made->shown;
    sim_tasks_free(&made->shown);
    return NULL;
}

void sim_tasks_free(struct sim_tasks *tasks)
{
    struct made_tasks *made = (struct made_tasks *)tasks;
    if (!made)
        return;
    play_system_release(&made->system);
    play_model_release(&made->model);
    arena_release(&made->arena);
    free(made);
}

/* Recomputation has no layer of its own: it comes before the backward pass of one. */
static int layer_at(const struct engine_template *template, int place)
{
    const struct engine_task *task = &template->tasks[place];
    for (int i = place; i < template->count; i++)
        if (template->tasks[i].second == task->second && template->tasks[i].layer >= 0)
            return template->tasks[i].layer;
    return -1;
}

bool sim_task_kernels(const struct sim_tasks *tasks, int device, uint32_t template, int place,
                      struct sim_kernels *kernels)
{
    const struct made_tasks *made = (const struct made_tasks *)tasks;
    const struct engine_template *from = &tasks->system->templates[template];
    const struct engine_task *task = &from->tasks[place];
    enum timeline_kind kind = tasks->system->labels[task->label].kind;
    int number = from->stage[task->second], layer = layer_at(from, place);
    if ((kind > TASK_BACKWARD && kind != TASK_RECOMPUTE) || task->group > 0 || number < 0)
        return false;
    const struct play_pipeline *pipeline = &made->model.pipelines[tasks->seats[device].pipeline];
    const struct play_stage *stage = &pipeline->stages[number];
    bool known = stage->alone && from->stage[1] < 0 && layer >= 0; /* pairs cut layers */
    kernels->stage = &pipeline->from->stages[stage->of];
    kernels->layer = known ? kernels->stage->layers.first + layer : -1;
    return true;
}

enum sim_collective sim_task_collective(const struct engine_task *task)
{
    if (!(task->bytes > 0.0))
        return SIM_MEETING;
    switch (task->group) {
    case GROUP_GATHER:
        return SIM_ALL_GATHER;
    case GROUP_SCATTER:
        return SIM_REDUCE_SCATTER;
    case GROUP_EXPERT:
    case GROUP_PAIR:
        return SIM_ALL_TO_ALL;
    default:
        return SIM_ALL_REDUCE;
    }
}

enum sim_host_task sim_task_of_host(const struct engine_task *task)
{
    if (task->group > 0)
        return task->group == GROUP_SAVED ? SIM_HOST_SAVED : SIM_NO_HOST_TASK;
    return task->label == SIM_LOAD && task->stream == STREAM_HOST ? SIM_HOST_LOADS
           : task->label == LABEL_COPY                            ? SIM_HOST_COPIES
           : task->label == SIM_SAVE                              ? SIM_HOST_WRITES
                                                                  : SIM_NO_HOST_TASK;
}
