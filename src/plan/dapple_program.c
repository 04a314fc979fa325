#include "plan/dapple_program.h"

#include "plan/dapple_fixed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LABELS (1 << 20)
#define ROUNDING    1e-12 /* relative; sums here run in another order than in dapple_score */

struct dapple_label {
    double x, y;   /* X, D; DAPPLE_FIXED: L, W */
    int32_t next;  /* of the same first layer and state; -1: none */
    int32_t after; /* label of the stages behind its first; -1: none */
    int32_t step;
    int16_t first_layer, devices; /* of its first stage */
    int16_t rank;                 /* higher is better: `low` is reached; fewer stages where memory binds */
    int16_t stages;
};

struct solver {
    const struct dapple_program *program;
    const struct dapple_problem *problem;
    const struct places *places;
    struct dapple_workspace *work;
    double block;      /* high / M */
    double charge;     /* what every plan pays: pivot at low, start-up */
    double scale;      /* X per second of a whole-batch transfer: 1 / (r M) */
    double high;       /* with room for rounding */
    bool memory_binds; /* DAPPLE_FIXED: somewhere it might */
    int32_t best;      /* label */
    double best_value;
    bool out_of_memory, too_many;
};

/* One stage, on some number of devices, while it is put in front of the stages behind it. */
struct front {
    int first, last; /* layers */
    double compute, forward, crossing, reduced;
    int devices, units_before; /* units left for the stages in front of it */
    double time;               /* compute / devices */
    double allreduce[2];       /* [spans] */
};

static bool original(const struct solver *solver)
{
    return solver->problem->rules == DAPPLE_ORIGINAL;
}

static int32_t *head_of(const struct solver *solver, int layer, int state)
{
    return &solver->work->head[(size_t)layer * (size_t)solver->places->state_count + (size_t)state];
}

static int32_t new_label(struct solver *solver, const struct dapple_label *label)
{
    struct dapple_workspace *work = solver->work;
    if (work->label_count == MOST_LABELS) {
        solver->too_many = true;
        return -1;
    }
    if (work->label_count == work->label_room) {
        int32_t room = work->label_room > 0 ? 2 * work->label_room : 4096;
        struct dapple_label *labels = realloc(work->labels, (size_t)room * sizeof *labels);
        if (!labels) {
            solver->out_of_memory = true;
            return -1;
        }
        work->labels = labels;
        work->label_room = room;
    }
    work->labels[work->label_count] = *label;
    return work->label_count++;
}

static bool no_better(const struct dapple_label *label, const struct dapple_label *than)
{
    return label->x >= than->x && label->y >= than->y && label->rank <= than->rank;
}

/* Keeps a label unless one there is as good; drops those that it beats. */
static void keep_label(struct solver *solver, struct dapple_label *label, int state)
{
    int32_t *head = head_of(solver, label->first_layer, state), *link = head;
    while (*link >= 0) {
        struct dapple_label *other = &solver->work->labels[*link];
        if (no_better(label, other))
            return;
        if (no_better(other, label))
            *link = other->next;
        else
            link = &other->next;
    }
    label->next = *head;
    int32_t index = new_label(solver, label);
    if (index >= 0)
        *head = index;
}

static void finish_label(struct solver *solver, const struct dapple_label *label)
{
    double value = original(solver) ? solver->charge + label->x + label->y : label->x;
    if (value >= solver->best_value || (solver->program->reach_low && label->rank == 0))
        return;
    solver->best_value = value;
    solver->best = new_label(solver, label);
}

/* No plan that ends with this takes less. */
static double value_bound(const struct solver *solver, const struct front *front,
                          const struct dapple_label *label)
{
    int before = front->first < front->units_before ? front->first : front->units_before;
    if (original(solver))
        return solver->charge + label->x + fmax(0, label->y - before * solver->block);
    double share = 1.0 / ((double)solver->program->replicas * front->units_before) /
                   (double)solver->program->microbatches;
    double forward = dapple_forward(solver->problem, 0, front->first - 1) * share;
    double compute = dapple_compute(solver->problem, 0, front->first - 1) * share;
    return fmax(label->x + forward, label->y + compute);
}

/* The stage in front of one label's. */
static void extend_label(struct solver *solver, const struct front *front, const struct places_step *step,
                         int32_t step_number, double send, int32_t after)
{
    struct dapple_label label = {.after = after, .step = step_number, .next = -1, .stages = 1};
    const struct dapple_program *program = solver->program;
    double count = (double)program->microbatches;
    struct dapple_label behind = {.x = 0, .stages = 0};
    if (after >= 0)
        behind = solver->work->labels[after];
    label.first_layer = (int16_t)front->first;
    label.devices = (int16_t)front->devices;
    label.stages = (int16_t)(behind.stages + 1);
    if (original(solver)) {
        label.x = behind.x + send * solver->scale;
        label.y = fmax(fmax(0, front->allreduce[step->spans]), behind.y - solver->block);
        label.rank =
            program->reach_low && (behind.rank || front->time >= program->low * (1 - ROUNDING) ||
                                   (after >= 0 && program->factor * send >= program->low * (1 - ROUNDING)));
    } else {
        struct dapple_fixed state = {behind.x, behind.y};
        double forward = front->forward / front->devices / count, block = front->time / count;
        if (solver->memory_binds) {
            if (dapple_fixed_memory(solver->problem, front->first, front->last, front->devices, behind.stages,
                                    program->microbatches) > solver->problem->cluster->memory)
                return;
            label.rank = (int16_t)-label.stages;
        }
        if (after >= 0)
            state = dapple_fixed_prepend(state, count, send / count, send / count, 0);
        state = dapple_fixed_prepend(state, count, forward, block - forward, front->allreduce[step->spans]);
        label.x = state.latency;
        label.y = state.drained;
    }
    if (program->reach_low && !label.rank && solver->work->most_item[front->first] < program->low)
        return;
    if (front->first == 0)
        finish_label(solver, &label);
    else if (value_bound(solver, front, &label) < solver->best_value)
        keep_label(solver, &label, step->target);
}

/* Is this transfer what makes the pivot reach `low`? */
static bool sends_long(const struct solver *solver, double send)
{
    return solver->program->reach_low &&
           solver->program->factor * send >= solver->program->low * (1 - ROUNDING);
}

/* With more units than needed a stage is worth a try only where that lowers something (an all-reduce over more links
 * within a machine, a transfer from a stage that has a larger share in the next one's machine), or where its longer
 * transfer is wanted. */
static bool worth_trying(const struct solver *solver, const struct places_step *step, double send,
                         bool more_than_needed, bool drain_hidden)
{
    if (!more_than_needed || !original(solver))
        return true;
    if (step->spans)
        return step->link == LINK_AWAY &&
               (step->away <= solver->program->replicas || sends_long(solver, send));
    return !drain_hidden;
}

/* Does a label's drain, or nothing, hide the stage's all-reduce within a machine, for all of them? */
static bool is_hidden(const struct solver *solver, const struct front *front, int32_t head)
{
    for (int32_t i = head; i >= 0; i = solver->work->labels[i].next)
        if (front->allreduce[0] > fmax(0, solver->work->labels[i].y - solver->block))
            return false;
    return head >= 0 || front->allreduce[0] <= 0;
}

/* A stage on a number of devices in front of all labels of a state. */
static void add_stage(struct solver *solver, struct front *front, int state, int32_t head, int extra,
                      bool *hidden)
{
    const struct dapple_cluster *cluster = solver->places->cluster;
    const struct places_step *end, *first = places_steps(solver->places, state, front->devices, &end);
    /* the relaxation's first step that spans machines costs least and leaves the same */
    bool spanned = false, loose = solver->places->kind == PLACES_LOOSE && original(solver);
    int needed_to_span = solver->program->replicas == 1 ? 1 : 0; /* one device cannot */
    front->time = front->compute / front->devices;
    for (int spans = 0; spans < 2; spans++)
        front->allreduce[spans] = dapple_ring(cluster, front->devices, spans, front->reduced);
    for (const struct places_step *step = first; step < end; step++) {
        bool more = step->spans && front->devices - extra * solver->program->replicas == 1
                        ? extra > needed_to_span
                        : extra > 0;
        double send =
            head >= 0 ? front->crossing / dapple_step_rate(solver->problem, step, front->devices) : 0;
        if (!worth_trying(solver, step, send, more, *hidden) ||
            (loose && step->spans && spanned && !sends_long(solver, send)))
            continue;
        spanned |= step->spans;
        if ((original(solver) ? solver->program->factor : 2) * send > solver->high)
            continue;
        int32_t number = (int32_t)(step - first);
        if (head < 0)
            extend_label(solver, front, step, number, send, -1);
        for (int32_t i = head; i >= 0 && !solver->out_of_memory; i = solver->work->labels[i].next)
            extend_label(solver, front, step, number, send, i);
    }
    *hidden = *hidden || is_hidden(solver, front, head);
}

/* All stages that end with layer end - 1, in front of one state. */
static void extend_state(struct solver *solver, int end, int state, int32_t head)
{
    const struct dapple_problem *problem = solver->problem;
    const struct chain *chain = problem->chain;
    int replicas = solver->program->replicas, units = solver->places->left[state] / replicas;
    double scale = (double)problem->global_batch / problem->profile_batch;
    if (units == 0)
        return;
    struct front front = {.last = end - 1, .crossing = dapple_crossing(problem, end - 1)};
    for (int first = end - 1; first >= 0; first--) {
        if ((chain->until[end - 1].compute - solver->work->most_before[first]) * scale >
            solver->high * replicas * units)
            return;
        if (first > 0 && chain->before && !chain_before(chain, first - 1, end - 1))
            continue;
        front.first = first;
        front.compute = dapple_compute(problem, first, end - 1);
        front.forward = dapple_forward(problem, first, end - 1);
        front.reduced = dapple_reduced(problem, first, end - 1);
        double rest = first > 0 ? dapple_compute(problem, 0, first - 1) : 0;
        int least = (int)fmax(1, ceil(front.compute / (solver->high * replicas)));
        int kept = first > 0 ? (int)fmax(1, ceil(rest / (solver->high * replicas))) : 0;
        bool hidden = false;
        for (int count = least; count <= units - kept; count++) {
            front.devices = count * replicas;
            front.units_before = units - count;
            add_stage(solver, &front, state, head, count - least, &hidden);
            if (solver->out_of_memory || solver->too_many)
                return;
        }
    }
}

/* The most that a stage or a transfer in front of a layer can take. */
static void list_items(struct solver *solver)
{
    const struct dapple_program *program = solver->program;
    const struct dapple_cluster *cluster = solver->places->cluster;
    double slowest = fmin(fmin(cluster->inside, cluster->point_to_point), cluster->collective), transfer = 0;
    solver->work->most_item[0] = 0;
    for (int i = 1; i < solver->problem->chain->layer_count; i++) {
        transfer = fmax(transfer, program->factor * dapple_crossing(solver->problem, i - 1) / slowest);
        solver->work->most_item[i] =
            fmax(transfer, dapple_compute(solver->problem, 0, i - 1) / program->replicas) * (1 + ROUNDING);
    }
}

static bool make_room(struct solver *solver)
{
    struct dapple_workspace *work = solver->work;
    int layers = solver->problem->chain->layer_count;
    size_t heads = (size_t)(layers + 1) * (size_t)solver->places->state_count;
    if (heads > work->head_room) {
        free(work->head);
        work->head = malloc(heads * sizeof *work->head);
        work->head_room = work->head ? heads : 0;
    }
    if (layers > work->layer_room) {
        free(work->most_before);
        free(work->most_item);
        free(work->first_layers);
        free(work->devices);
        free(work->steps);
        work->most_item = calloc((size_t)layers, sizeof *work->most_item);
        work->most_before = calloc((size_t)layers, sizeof *work->most_before);
        work->first_layers = calloc((size_t)layers, sizeof *work->first_layers);
        work->devices = calloc((size_t)layers, sizeof *work->devices);
        work->steps = calloc((size_t)layers, sizeof *work->steps);
        work->layer_room = layers;
    }
    if (!work->head || !work->most_before || !work->most_item || !work->first_layers || !work->devices ||
        !work->steps) {
        work->layer_room = 0;
        return false;
    }
    memset(work->head, 0xff, heads * sizeof *work->head);
    work->label_count = 0;
    for (int i = 1; i < layers; i++)
        work->most_before[i] = fmax(work->most_before[i - 1], solver->problem->chain->until[i - 1].compute);
    list_items(solver);
    return true;
}

static void take_answer(struct solver *solver)
{
    struct dapple_workspace *work = solver->work;
    work->bound = solver->best >= 0 ? solver->best_value : INFINITY;
    work->stage_count = 0;
    for (int32_t i = solver->best; i >= 0; i = work->labels[i].after) {
        work->first_layers[work->stage_count] = work->labels[i].first_layer;
        work->devices[work->stage_count] = work->labels[i].devices;
        work->steps[work->stage_count++] = work->labels[i].step;
    }
}

bool dapple_program_solve(const struct dapple_program *program, struct dapple_workspace *workspace,
                          struct error *err)
{
    const struct dapple_problem *problem = program->problem;
    double count = (double)program->microbatches, replicas = program->replicas;
    int layers = problem->chain->layer_count;
    struct solver solver = {.program = program,
                            .problem = problem,
                            .places = program->places,
                            .work = workspace,
                            .block = program->high / count,
                            .scale = 1 / (replicas * count),
                            .high = program->high * (1 + ROUNDING),
                            .best = -1,
                            .best_value = program->cutoff};
    solver.charge = program->low / count * (count - 1) + dapple_total(problem) / (replicas * count);
    solver.memory_binds = dapple_fixed_memory(problem, 0, layers - 1, 1, layers, program->microbatches) >
                          problem->cluster->memory;
    if (!make_room(&solver))
        return error_memory(err);
    extend_state(&solver, layers, 0, -1);
    for (int end = layers - 1; end > 0; end--)
        for (int state = 1; state < program->places->state_count; state++)
            if (*head_of(&solver, end, state) >= 0)
                extend_state(&solver, end, state, *head_of(&solver, end, state));
    if (solver.out_of_memory)
        return error_memory(err);
    if (solver.too_many)
        return error_set(err, ERROR_INFEASIBLE, "more than %d labels", MOST_LABELS);
    take_answer(&solver);
    return true;
}

void dapple_workspace_release(struct dapple_workspace *workspace)
{
    free(workspace->head);
    free(workspace->labels);
    free(workspace->most_before);
    free(workspace->most_item);
    free(workspace->first_layers);
    free(workspace->devices);
    free(workspace->steps);
    *workspace = (struct dapple_workspace){0};
}
