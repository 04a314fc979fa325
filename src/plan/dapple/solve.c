#include "core/vector.h"
#include "plan/dapple/program.h"
#include "plan/dapple/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Compares the labels of one first layer with those of states that are at least as good.
 *
 * States come by descending devices `there`, so that earlier states are at least as good in that. Stairs hold the best
 * (X, D) seen so far for all states with `here` devices or more: a label under a stair is dropped. Any stages that can
 * stand in front of it can stand in front of the label that made the stair, at no more cost. */

#define MAX_HERE 64 /* with larger machines only labels of the same state are compared */
#define RANKS    8  /* that have stairs of their own: the highest */

struct stair {
    double x, y;
};

/* Ascending in x, descending in y. */
struct dapple_stairs {
    struct stair *steps;
    int count;
    size_t room;
};

/* The first with a larger x. */
static int stairs_find(const struct dapple_stairs *stairs, double x)
{
    int low = 0, high = stairs->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (stairs->steps[middle].x <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool stairs_cover(const struct dapple_stairs *stairs, const struct dapple_label *label)
{
    int above = stairs_find(stairs, label->x);
    return above > 0 && stairs->steps[above - 1].y <= label->y;
}

static bool stairs_add(struct dapple_stairs *stairs, const struct dapple_label *label)
{
    if (stairs_cover(stairs, label))
        return true;
    if (!VECTOR_ROOM(stairs->steps, stairs->room, (size_t)stairs->count + 1))
        return false;
    int at = stairs_find(stairs, label->x), end = at;
    if (at > 0 && stairs->steps[at - 1].x == label->x)
        at--; /* its y is larger */
    while (end < stairs->count && stairs->steps[end].y >= label->y)
        end++;
    memmove(&stairs->steps[at + 1], &stairs->steps[end],
            (size_t)(stairs->count - end) * sizeof *stairs->steps);
    stairs->count += at + 1 - end;
    stairs->steps[at] = (struct stair){label->x, label->y};
    return true;
}

static struct dapple_stairs *stairs_of(const struct solver *solver, bool current, int here, int below)
{
    return &solver->work->stairs[((size_t)here * 2 + current) * RANKS + (size_t)below];
}

/* A label is beaten by those of its rank or a higher one; `below` counts from the highest. */
static bool sift_state(const struct solver *solver, int layer, int state)
{
    const struct places *places = solver->places;
    bool current = places->current[state];
    int highest = solver->program->reach_low, last = solver->memory_binds ? RANKS - 1 : highest;
    int32_t *link = &solver->work->head[(size_t)layer * (size_t)places->state_count + (size_t)state];
    while (*link >= 0) {
        struct dapple_label *label = &solver->work->labels[*link];
        int below = highest - label->rank;
        if (stairs_cover(stairs_of(solver, current, places->here[state], below < last ? below : last),
                         label)) {
            *link = label->next;
            continue;
        }
        for (int here = places->here[state]; here >= 0; here--)
            for (int i = below; i <= last; i++)
                if (!stairs_add(stairs_of(solver, current, here, i), label))
                    return false;
        link = &label->next;
    }
    return true;
}

/* Drops labels of a first layer dominated by another in a state at least as good. */
static bool dapple_sift(const struct solver *solver, int layer)
{
    const struct places *places = solver->places;
    struct dapple_workspace *work = solver->work;
    int count = 2 * RANKS * (places->largest + 1);
    if (!places->ordered || places->largest > MAX_HERE)
        return true;
    if (!VECTOR_ROOM_ZEROED(work->stairs, work->stair_count, (size_t)count))
        return false;
    for (int i = 0; i < count; i++)
        work->stairs[i].count = 0;
    for (int i = 0; i < places->state_count; i++)
        if (!sift_state(solver, layer, places->by_there[i]))
            return false;
    return true;
}

static void dapple_sift_release(struct dapple_workspace *workspace)
{
    for (size_t i = 0; i < workspace->stair_count; i++)
        free(workspace->stairs[i].steps);
    free(workspace->stairs);
}

#define MAX_LABELS (1 << 21)   /* DAPPLE_FIXED, one program at a time; half as many if there are several */
#define FIRST_MORE (1.0 / 512) /* of the bound: first margin of plans above it; see solve_above */
#define NEXT_MORE  1.4
#define HASTE                                                                                                \
    1.0 /* share of the margin by which a label's bound is raised, from the last layer to the first */
#define MAX_MORE   4
#define MAX_FRONTS (1 << 21) /* layers x states; with more there are no bounds on the stages in front */

/* One stage, on some number of devices, while it is put in front of the stages behind it. */
struct front {
    int first, last; /* layers */
    double compute, forward, crossing, reduced;
    int devices, units_before;   /* units left for the stages in front of it */
    double time;                 /* compute / devices */
    double forward_block, block; /* seconds of a micro-batch, forward and both */
    int max_behind;              /* stages, where memory binds */
    double allreduce[2];         /* [spans] */
};

static int32_t *head_of(const struct solver *solver, int layer, int state)
{
    return &solver->work->head[(size_t)layer * (size_t)solver->places->state_count + (size_t)state];
}

static int32_t new_label(struct solver *solver, const struct dapple_label *label)
{
    struct dapple_workspace *work = solver->work;
    if (work->label_count == (solver->original ? MAX_LABELS / 2 : MAX_LABELS)) {
        solver->too_many = true;
        return -1;
    }
    if (!VECTOR_ROOM(work->labels, work->label_room, (size_t)work->label_count + 1)) {
        solver->out_of_memory = true;
        return -1;
    }
    work->labels[work->label_count] = *label;
    return work->label_count++;
}

static bool no_better(const struct dapple_label *label, const struct dapple_label *than)
{
    return label->x >= than->x && label->y >= than->y && label->rank <= than->rank;
}

/* Keeps a label unless another is as good; drops labels that it beats. */
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

static double plan_value(const struct solver *solver, const struct dapple_label *label)
{
    return solver->original ? solver->charge + label->x + label->y : label->x;
}

static void finish_label(struct solver *solver, const struct dapple_label *label)
{
    if (solver->program->reach_low && label->rank == 0)
        return;
    solver->best_value = plan_value(solver, label);
    solver->best = new_label(solver, label);
}

static const struct dapple_fixed_front *fixed_front_of(const struct solver *solver, const struct front *front)
{
    return &solver->work->fixed_fronts[(size_t)front->first * (size_t)(solver->units + 1) +
                                       (size_t)front->units_before];
}

/* Returns the minimum value of plans that end with this label; `state` is that of the devices. */
static double value_bound(const struct solver *solver, const struct front *front,
                          const struct dapple_label *label, int state)
{
    if (solver->original) {
        int before = front->first < front->units_before ? front->first : front->units_before;
        double min = label->x + larger(0, label->y - before * solver->block);
        if (solver->fronts && solver->charge + min < solver->best_value)
            min = label->x + dapple_front_bound(dapple_front_of(solver, front->first, state), label->y);
        return solver->charge + min;
    }
    const struct dapple_fixed_front *rest = fixed_front_of(solver, front);
    return dapple_fixed_front_bound(rest, (struct dapple_fixed){label->x, label->y});
}

/* A step that puts the stage in front of a state, and the transfer behind it; whole-batch seconds and a
 * micro-batch's. */
struct link {
    const struct places_step *step;
    int32_t number;
    double send, block;
};

/* Sets X and D, or L and W, of the stage in front of a label. */
static void put_in_front(const struct solver *solver, const struct front *front, const struct link *link,
                         const struct dapple_label *behind, struct dapple_label *label)
{
    double allreduce = front->allreduce[link->step->spans];
    if (solver->original) {
        label->x = behind->x + link->send * solver->scale;
        label->y = larger(larger(0, allreduce), behind->y - solver->block);
        return;
    }
    double count = (double)solver->program->microbatches;
    struct dapple_fixed state = {behind->x, behind->y};
    if (link->send > 0)
        state = dapple_fixed_prepend(state, count, link->block, link->block, 0);
    state = dapple_fixed_prepend(state, count, front->forward_block, front->block - front->forward_block,
                                 allreduce);
    label->x = state.latency;
    label->y = state.drained;
}

/* Can the label still become the best plan? */
static bool may_win(const struct solver *solver, const struct front *front, const struct link *link,
                    const struct dapple_label *label)
{
    if (front->first == 0)
        return plan_value(solver, label) < solver->best_value;
    return value_bound(solver, front, label, link->step->target) * (1 + solver->haste * front->first) <
           solver->best_value;
}

static void extend_label(struct solver *solver, const struct front *front, const struct link *link,
                         const struct dapple_label *behind, int32_t after)
{
    const struct dapple_program *program = solver->program;
    struct dapple_label label = {.first_layer = (int16_t)front->first,
                                 .devices = (int16_t)front->devices,
                                 .stages = (int16_t)(behind->stages + 1),
                                 .step = link->number,
                                 .after = after,
                                 .next = -1};
    put_in_front(solver, front, link, behind, &label);
    if (solver->original) {
        double low = program->low * (1 - DAPPLE_ROUNDING);
        label.reaches =
            behind->reaches || front->time >= low || (after >= 0 && program->factor * link->send >= low);
        label.rank = program->reach_low && label.reaches;
        if (program->reach_low && !label.rank && solver->work->before[front->first].max_item < program->low)
            return;
    } else if (solver->memory_binds) {
        if (behind->stages > front->max_behind)
            return;
        label.rank =
            (int16_t) - (label.stages < program->microbatches ? label.stages : program->microbatches);
    }
    if (!may_win(solver, front, link, &label))
        return;
    if (front->first == 0) {
        finish_label(solver, &label);
        return;
    }
    if (!solver->original) {
        label.x = larger(label.x, fixed_front_of(solver, front)->spare_l);
        label.y = larger(label.y, fixed_front_of(solver, front)->spare_w);
    }
    keep_label(solver, &label, link->step->target);
}

/* Puts the stage in front of all labels of a state, unless even the best of both their numbers is too much. */
static void extend_labels(struct solver *solver, const struct front *front, const struct link *link,
                          const struct dapple_label *ideal, int32_t head)
{
    static const struct dapple_label nothing;
    struct dapple_label label;
    put_in_front(solver, front, link, ideal, &label);
    if (!may_win(solver, front, link, &label))
        return;
    if (head < 0)
        extend_label(solver, front, link, &nothing, -1);
    for (int32_t i = head, next; i >= 0 && !solver->out_of_memory; i = next) {
        struct dapple_label behind = solver->work->labels[i];
        next = behind.next;
        extend_label(solver, front, link, &behind, i);
    }
}

/* Returns the maximum number of stages behind one that fits into the memory of its devices; -1: it never fits. */
static int max_behind(const struct solver *solver, const struct front *front)
{
    int fits = -1, max = solver->problem->chain->layer_count;
    while (fits < max) {
        int after = (fits + max + 1) / 2;
        if (dapple_fixed_memory(solver->problem, front->first, front->last, front->devices, after,
                                solver->program->microbatches) > solver->problem->cluster->memory)
            max = after - 1;
        else
            fits = after;
    }
    return fits;
}

/* Is the stage's all-reduce within a machine hidden for all labels? */
static bool is_hidden(const struct solver *solver, const struct front *front, int32_t head)
{
    for (int32_t i = head; i >= 0; i = solver->work->labels[i].next)
        if (front->allreduce[0] > larger(0, solver->work->labels[i].y - solver->block))
            return false;
    return head >= 0 || front->allreduce[0] <= 0;
}

/* Puts a stage on a number of devices in front of all labels of a state. */
static void add_stage(struct solver *solver, struct front *front, int state, int32_t head,
                      const struct dapple_label *ideal, int extra, bool *hidden)
{
    const struct dapple_cluster *cluster = solver->places->cluster;
    const struct places_step *end, *first = places_steps(solver->places, state, front->devices, &end);
    /* the relaxation's first step that spans machines costs the minimum and leaves the same devices */
    bool spanned = false, loose = solver->places->kind == PLACES_LOOSE;
    int needed_to_span = solver->program->replicas == 1 ? 1 : 0; /* one device cannot */
    double count = (double)solver->program->microbatches;
    front->time = front->compute / front->devices;
    front->block = front->time / count;
    front->forward_block = front->forward / front->devices / count;
    front->max_behind = solver->memory_binds ? max_behind(solver, front) : 0;
    for (int spans = 0; spans < 2; spans++)
        front->allreduce[spans] = dapple_ring(cluster, front->devices, spans, front->reduced);
    for (const struct places_step *step = first; step < end; step++) {
        bool more = step->spans && front->devices - extra * solver->program->replicas == 1
                        ? extra > needed_to_span
                        : extra > 0;
        struct link link = {.step = step, .number = (int32_t)(step - first)};
        if (head >= 0)
            link.send = front->crossing / dapple_step_rate(solver->problem, step, front->devices);
        link.block = link.send / count;
        if (!worth_trying(solver, step, link.send, more, *hidden) ||
            (loose && step->spans && spanned && !sends_long(solver, link.send)))
            continue;
        spanned |= step->spans;
        if ((solver->original ? solver->program->factor : 2) * link.send <= solver->high)
            extend_labels(solver, front, &link, ideal, head);
    }
    *hidden = *hidden || is_hidden(solver, front, head);
}

/* Puts a stage on every number of devices that is worth trying. */
static void add_stages(struct solver *solver, struct front *front, int state, int32_t head,
                       const struct dapple_label *ideal)
{
    int replicas = solver->program->replicas, units = solver->places->left[state] / replicas;
    int kept = solver->work->before[front->first].units, needed = units_needed(solver, front->compute);
    bool hidden = false;
    for (int count = needed; count <= units - kept && !solver->out_of_memory && !solver->too_many; count++) {
        if (!solver->program->reach_low && count > max_units(solver, state, needed, hidden))
            return;
        front->devices = count * replicas;
        front->units_before = units - count;
        add_stage(solver, front, state, head, ideal, count - needed, &hidden);
    }
}

/* Returns a label as good as the best of all in both numbers. */
static struct dapple_label ideal_label(const struct solver *solver, int32_t head)
{
    struct dapple_label ideal = {.stages = 0};
    if (head >= 0)
        ideal = solver->work->labels[head];
    for (int32_t i = head; i >= 0; i = solver->work->labels[i].next) {
        ideal.x = lesser(ideal.x, solver->work->labels[i].x);
        ideal.y = lesser(ideal.y, solver->work->labels[i].y);
    }
    return ideal;
}

/* Puts all stages that end with layer end - 1 in front of one state. */
static void extend_state(struct solver *solver, int end, int state, int32_t head)
{
    const struct dapple_problem *problem = solver->problem;
    int units = solver->places->left[state] / solver->program->replicas;
    struct front front = {.last = end - 1, .crossing = dapple_crossing(problem, end - 1)};
    struct dapple_label ideal = ideal_label(solver, head);
    for (int first = end; (first = next_first(solver, end, first, units)) >= 0;) {
        front.first = first;
        front.compute = compute_of(solver, first, end - 1);
        if (units_needed(solver, front.compute) + solver->work->before[first].units > units)
            continue;
        front.forward = dapple_forward(problem, first, end - 1);
        front.reduced = dapple_reduced(problem, first, end - 1);
        add_stages(solver, &front, state, head, &ideal);
    }
}

static void list_before(const struct solver *solver, struct dapple_before *before)
{
    const struct dapple_program *program = solver->program;
    const struct dapple_cluster *cluster = solver->places->cluster;
    double slowest = lesser(lesser(cluster->inside, cluster->point_to_point), cluster->collective),
           transfer = 0;
    before[0] = (struct dapple_before){0};
    for (int i = 1; i < solver->problem->chain->layer_count; i++) {
        double compute = compute_of(solver, 0, i - 1);
        transfer = larger(transfer, program->factor * dapple_crossing(solver->problem, i - 1) / slowest);
        before[i] = (struct dapple_before){
            .max_compute = larger(before[i - 1].max_compute, solver->problem->chain->until[i - 1].compute),
            .max_item = larger(transfer, compute / program->replicas) * (1 + DAPPLE_ROUNDING),
            .units = units_needed(solver, compute),
        };
    }
}

static bool make_room(struct solver *solver)
{
    struct dapple_workspace *work = solver->work;
    size_t layers = (size_t)solver->problem->chain->layer_count;
    size_t heads = (layers + 1) * (size_t)solver->places->state_count;
    solver->fronts = !solver->original || heads <= MAX_FRONTS;
    if (!VECTOR_ROOM(work->head, work->head_room, heads) ||
        !VECTOR_ROOM(work->before, work->before_room, layers))
        return false;
    list_before(solver, work->before);
    if (!solver->original)
        return VECTOR_ROOM(work->fixed_fronts, work->fixed_room, (layers + 1) * (size_t)(solver->units + 1));
    if (solver->fronts && !VECTOR_ROOM(work->fronts, work->front_room, heads))
        return false;
    for (size_t i = 0; solver->fronts && i < heads; i++)
        work->fronts[i].min = NAN;
    return true;
}

static bool take_answer(struct solver *solver, struct dapple_answer *answer)
{
    const struct dapple_label *labels = solver->work->labels;
    int stages = solver->best >= 0 ? labels[solver->best].stages : 0;
    if (!VECTOR_ROOM(answer->stages, answer->stage_room, (size_t)stages))
        return false;
    answer->bound = solver->best >= 0 ? solver->best_value : INFINITY;
    answer->reaches = solver->best >= 0 && labels[solver->best].reaches;
    answer->stage_count = stages;
    for (int32_t i = solver->best, stage = 0; i >= 0; i = labels[i].after, stage++)
        answer->stages[stage] =
            (struct places_stage){labels[i].first_layer, labels[i].devices, labels[i].step};
    return true;
}

/* Finds the best plan below best_value. */
static bool solve_below(struct solver *solver, struct error *err)
{
    struct dapple_workspace *work = solver->work;
    int layers = solver->problem->chain->layer_count, states = solver->places->state_count;
    memset(work->head, 0xff, (size_t)(layers + 1) * (size_t)states * sizeof *work->head);
    work->label_count = 0;
    extend_state(solver, layers, 0, -1);
    for (int end = layers - 1; end > 0; end--) {
        if (!dapple_sift(solver, end))
            return error_memory(err);
        for (int state = 1; state < states; state++)
            if (*head_of(solver, end, state) >= 0)
                extend_state(solver, end, state, *head_of(solver, end, state));
    }
    if (solver->out_of_memory)
        return error_memory(err);
    if (solver->too_many)
        return error_set(err, ERROR_INFEASIBLE, "more than %d labels", solver->work->label_count);
    return true;
}

/* Returns the minimum value of plans in the interval. */
static double min_of_all(struct solver *solver)
{
    int layers = solver->problem->chain->layer_count;
    if (!solver->fronts)
        return solver->charge;
    if (solver->original)
        return solver->charge + dapple_front_of(solver, layers, 0)->min;
    dapple_fixed_fronts(solver);
    return solver->work->fixed_fronts[(size_t)(layers + 1) * (size_t)(solver->units + 1) - 1].min;
}

/* The closer the limit on plans, the fewer labels. So the first rounds look for plans slightly above the bound, then
 * for slower and slower ones, in haste: a label is also dropped if its bound is too close to the limit for the number
 * of layers left, as bounds grow with every stage. The value found is the limit of the final round. */
static bool solve_above(struct solver *solver, double min, struct error *err)
{
    double cutoff = solver->program->cutoff;
    if (!(min < cutoff))
        return true;
    for (double more = FIRST_MORE; solver->best < 0 && min + more * min < cutoff && more < MAX_MORE;
         more *= NEXT_MORE) {
        solver->best_value = min + more * min;
        solver->haste = HASTE * more / solver->problem->chain->layer_count;
        if (!solve_below(solver, err))
            return false;
    }
    solver->best_value = solver->best >= 0 ? solver->best_value * (1 + DAPPLE_ROUNDING) : cutoff;
    solver->best = -1;
    solver->haste = 0;
    return solve_below(solver, err);
}

bool dapple_program_solve(const struct dapple_program *program, struct dapple_workspace *workspace,
                          struct dapple_answer *answer, struct error *err)
{
    const struct dapple_problem *problem = program->problem;
    double count = (double)program->microbatches, replicas = program->replicas;
    int layers = problem->chain->layer_count;
    struct solver solver = {.program = program,
                            .problem = problem,
                            .original = problem->rules == DAPPLE_ORIGINAL,
                            .units = program->places->devices / program->replicas,
                            .batches = (double)problem->global_batch / problem->profile_batch,
                            .places = program->places,
                            .work = workspace,
                            .block = program->high / count,
                            .scale = 1 / (replicas * count),
                            .high = program->high * (1 + DAPPLE_ROUNDING),
                            .best = -1};
    solver.per_unit = 1 / (solver.high * replicas);
    solver.charge = program->low / count * (count - 1) + dapple_total(problem) / (replicas * count);
    solver.memory_binds = dapple_fixed_memory(problem, 0, layers - 1, 1, layers, program->microbatches) >
                          problem->cluster->memory;
    if (!make_room(&solver))
        return error_memory(err);
    answer->min = min_of_all(&solver);
    if (!solve_above(&solver, answer->min, err))
        return false;
    return take_answer(&solver, answer) || error_memory(err);
}

void dapple_workspace_release(struct dapple_workspace *workspace)
{
    free(workspace->head);
    free(workspace->fronts);
    free(workspace->fixed_fronts);
    dapple_sift_release(workspace);
    free(workspace->labels);
    free(workspace->before);
    *workspace = (struct dapple_workspace){0};
}
