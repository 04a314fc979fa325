#include "plan/exact/program.h"
#include "core/stop.h"
#include "plan/exact/reach.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void reach_release(struct reach *reach);

static bool reach_init(struct reach *reach, const struct ticks *ticks, const struct lattice *lattice,
                       struct error *err)
{
    memset(reach, 0, sizeof *reach);
    reach->ticks = ticks;
    reach->lattice = lattice;
    size_t length = (size_t)ticks->layer_count + 1;
    for (int g = 0; g < ticks->group_count; g++)
        for (int split = 0; split < ticks->groups[g].splits; split++) {
            int *block = ARENA_ARRAY(&reach->arena, 3 * length, int);
            if (!block)
                goto no_memory;
            reach->stage_end[g][split] = block;
            reach->tile_end[g][split] = block + length;
            reach->tile_start[g][split] = block + 2 * length;
        }
    reach->first = ARENA_ARRAY(&reach->arena, lattice->count, int);
    reach->last = ARENA_ARRAY(&reach->arena, lattice->count, int);
    if (reach->first && reach->last)
        return true;
no_memory:
    reach_release(reach);
    return error_memory(err);
}

static void reach_release(struct reach *reach)
{
    arena_release(&reach->arena);
}

/* A stage that cannot even hold its first layer counts as empty: this only ever widens the windows. */
static void fill_ends(struct reach *reach, int g, double cap)
{
    const struct ticks *ticks = reach->ticks;
    const struct ticks_group *group = &ticks->groups[g];
    int layers = ticks->layer_count;
    double in_flight = ticks_in_flight(ticks, 1);
    for (int split = 0; split < group->splits; split++) {
        const double *sum = group->sum[split];
        int *stage_end = reach->stage_end[g][split], *tile_end = reach->tile_end[g][split];
        const int *half = split > 0 ? reach->tile_end[g][split - 1] : NULL;
        for (int a = 0, b = 0; a <= layers; a++) {
            if (b < a)
                b = a;
            while (b < layers && sum[b + 1] - sum[a] <= cap &&
                   ticks_memory(ticks, a, b + 1, in_flight) <= group->memory[split])
                b++;
            stage_end[a] = b;
            tile_end[a] = half && half[half[a]] > b ? half[half[a]] : b;
        }
    }
}

static void fill_starts(struct reach *reach, int g)
{
    int layers = reach->ticks->layer_count;
    for (int split = 0; split < reach->ticks->groups[g].splits; split++) {
        const int *stage_end = reach->stage_end[g][split];
        int *tile_start = reach->tile_start[g][split];
        const int *half = split > 0 ? reach->tile_start[g][split - 1] : NULL;
        for (int b = 0, a = 0; b <= layers; b++) {
            while (stage_end[a] < b)
                a++;
            tile_start[b] = half && half[half[b]] < a ? half[half[b]] : a;
        }
    }
}

/* last[state]: the farthest layer that the state's nodes reach. */
static void reach_forward(struct reach *reach)
{
    const struct lattice *lattice = reach->lattice;
    int groups = lattice->group_count;
    const int *end[TICKS_MAX_GROUPS];
    for (int g = 0; g < groups; g++)
        end[g] = reach->tile_end[g][reach->ticks->groups[g].splits - 1];
    reach->last[0] = 0;
    for (uint32_t state = 1; state < lattice->count; state++) {
        const uint32_t *from = &lattice->from[(size_t)state * (size_t)groups];
        int farthest = 0;
        for (int g = 0; g < groups; g++) {
            if (from[g] == LATTICE_NONE)
                continue;
            int b = end[g][reach->last[from[g]]];
            farthest = b > farthest ? b : farthest;
        }
        reach->last[state] = farthest;
    }
}

/* first[state]: the earliest layer from which the remaining nodes still reach the end. */
static void reach_backward(struct reach *reach)
{
    const struct lattice *lattice = reach->lattice;
    int groups = lattice->group_count, layers = reach->ticks->layer_count;
    const int *start[TICKS_MAX_GROUPS];
    for (int g = 0; g < groups; g++)
        start[g] = reach->tile_start[g][reach->ticks->groups[g].splits - 1];
    for (uint32_t state = 0; state < lattice->count; state++)
        reach->first[state] = layers;
    for (uint32_t state = lattice->count - 1; state > 0; state--) {
        const uint32_t *from = &lattice->from[(size_t)state * (size_t)groups];
        for (int g = 0; g < groups; g++) {
            if (from[g] == LATTICE_NONE)
                continue;
            int a = start[g][reach->first[state]];
            if (a < reach->first[from[g]])
                reach->first[from[g]] = a;
        }
    }
}

/* Every node holds at least one layer, where none is idle. */
static void clamp_to_levels(struct reach *reach)
{
    const struct lattice *lattice = reach->lattice;
    int layers = reach->ticks->layer_count;
    for (int level = 0; level < lattice->level_count; level++) {
        int max = layers - (lattice->level_count - 1 - level);
        for (uint32_t state = lattice->level_start[level]; state < lattice->level_start[level + 1]; state++) {
            if (reach->first[state] < level)
                reach->first[state] = level;
            if (reach->last[state] > max)
                reach->last[state] = max;
        }
    }
}

bool reach_feasible(struct reach *reach, double cap)
{
    for (int g = 0; g < reach->ticks->group_count; g++)
        fill_ends(reach, g, cap);
    reach_forward(reach);
    return reach->last[reach->lattice->count - 1] >= reach->ticks->layer_count;
}

bool reach_windows(struct reach *reach, double cap)
{
    if (!reach_feasible(reach, cap))
        return false;
    for (int g = 0; g < reach->ticks->group_count; g++)
        fill_starts(reach, g);
    reach_backward(reach);
    if (reach->ticks->space == SPACE_ALL)
        clamp_to_levels(reach);
    return true;
}

#define STATES_PER_PIECE     32
#define SWEEP_COST           6    /* of a layer that is swept over, in additions of rows */
#define VALUES_WORTH_THREADS 4000 /* in a level */

bool program_init(struct program *program, const struct ticks *ticks, const struct lattice *lattice,
                  struct parallel *pool, struct error *err)
{
    memset(program, 0, sizeof *program);
    program->ticks = ticks;
    program->lattice = lattice;
    program->pool = pool;
    program->max_values = SIZE_MAX / sizeof(double);
    atomic_init(&program->stopped, false);
    program->offset = malloc(((size_t)lattice->count + 1) * sizeof *program->offset);
    if (!program->offset)
        return error_memory(err);
    if (!reach_init(&program->reach, ticks, lattice, err))
        goto no_reach;
    if (!tiles_init(&program->tiles, &program->reach, err))
        goto no_tiles;
    program->sweep =
        (struct sweep){.ticks = program->reach.ticks, .reach = &program->reach}; /* no memory yet */
    return true;
no_tiles:
    reach_release(&program->reach);
no_reach:
    free(program->offset);
    return false;
}

void program_release(struct program *program)
{
    tiles_release(&program->tiles);
    sweep_release(&program->sweep);
    reach_release(&program->reach);
    free(program->offset);
    free(program->values);
}

/* Phases: 0 before the bottleneck, 1 after it. */
static int phase_count(const struct tile_costs *costs)
{
    return costs->phases ? 2 : 1;
}

static int window_width(const struct program *program, uint32_t state)
{
    int width = program->reach.last[state] - program->reach.first[state] + 1;
    return width > 0 ? width : 0;
}

static double *values_of(const struct program *program, uint32_t state, int phase)
{
    return program->values + program->offset[state] + (size_t)phase * (size_t)window_width(program, state);
}

static enum program_status lay_out(struct program *program, int phases)
{
    size_t total = 0;
    for (uint32_t state = 0; state < program->lattice->count; state++) {
        program->offset[state] = total;
        total += (size_t)phases * (size_t)window_width(program, state);
    }
    program->offset[program->lattice->count] = total;
    program->value_count = total;
    if (total > program->max_values)
        return PROGRAM_TOO_LARGE;
    if (total > program->capacity) {
        free(program->values);
        program->values = malloc(total * sizeof(double));
        program->capacity = program->values ? total : 0;
    }
    return program->values ? PROGRAM_DONE : PROGRAM_NO_MEMORY;
}

/* One node of `group` more: from phase `in` of state `from` through table plane `plane` to phase `out` of
 * `state`. */
static void add_node(const struct program *program, uint32_t state, uint32_t from, int group, int in,
                     int plane, int out)
{
    const struct reach *reach = &program->reach;
    const struct tile_table *table = &program->tiles.table[group][program->ticks->groups[group].splits - 1];
    const double *source = values_of(program, from, in);
    double *target = values_of(program, state, out);
    int low = reach->first[state], high = reach->last[state] + 1;
    for (int a = reach->first[from]; a <= reach->last[from]; a++, source++) {
        if (*source == INFINITY)
            continue;
        int first = table->first[a], end = first + table->width[a];
        const double *row = table->values + (size_t)plane * table->plane_length + table->offset[a];
        int b = first > low ? first : low;
        if (end > high)
            end = high;
        if (b < end)
            tile_relax(target + (b - low), row + (b - first), *source, end - b);
    }
}

/* A sweep from one state to another; the scratch is a thread's. False: there is nothing to do. */
static bool node_between(const struct program *program, uint32_t from, uint32_t state, int group, int number,
                         int thread, struct sweep_node *node)
{
    const struct reach *reach = &program->reach;
    *node = (struct sweep_node){
        .sweep = &program->sweep,
        .scratch = &program->sweep.scratch[thread],
        .number = number,
        .group = group,
        .low = reach->first[from],
        .high = reach->last[from],
        .end = reach->last[state],
        .values = {values_of(program, from, 0), values_of(program, from, 1)},
        .rows = sweep_rows(&program->sweep, state, group, &program->sweep.scratch[thread]),
    };
    return node->low <= node->high && node->low <= node->end && reach->first[state] <= node->end;
}

static void sweep_state(const struct program *program, uint32_t state, uint32_t from, int group, int thread)
{
    int first = program->reach.first[state];
    struct sweep_node node;
    if (!node_between(program, from, state, group, program->level, thread, &node))
        return;
    sweep_fill(&node);
    int low = first > node.low ? first : node.low;
    for (int phase = 0; phase < phase_count(&program->costs) && low <= node.end; phase++)
        tile_relax(values_of(program, state, phase) + (low - first),
                   sweep_row(&node, phase) + (low - node.low), 0, node.end - low + 1);
}

static void solve_state(const struct program *program, uint32_t state, int thread)
{
    const struct tile_costs *costs = &program->costs;
    int groups = program->lattice->group_count;
    size_t count = program->offset[state + 1] - program->offset[state];
    double *values = program->values + program->offset[state];
    for (size_t i = 0; i < count; i++)
        values[i] = INFINITY;
    for (int g = 0; count && g < groups; g++) {
        uint32_t from = program->lattice->from[(size_t)state * (size_t)groups + (size_t)g];
        if (from == LATTICE_NONE)
            continue;
        if (program->sweeps) {
            sweep_state(program, state, from, g, thread);
            continue;
        }
        if (tile_allows(costs, program->level, TILE_BEFORE))
            add_node(program, state, from, g, 0, TILE_BEFORE, 0);
        if (costs->phases && tile_allows(costs, program->level, TILE_CROSS))
            add_node(program, state, from, g, 0, TILE_CROSS, 1);
        if (costs->phases && tile_allows(costs, program->level, TILE_AFTER))
            add_node(program, state, from, g, 1, TILE_AFTER, 1);
    }
}

static void solve_states(void *context, size_t first, size_t last, int thread)
{
    struct program *program = context;
    if (atomic_load_explicit(&program->stopped, memory_order_relaxed))
        return;
    for (size_t state = first; state < last; state++)
        solve_state(program, (uint32_t)state, thread);
    if (stop_is_late(program->deadline))
        atomic_store_explicit(&program->stopped, true, memory_order_relaxed);
}

struct level {
    struct program *program;
    size_t first;
};

static void solve_piece(void *context, size_t first, size_t last, int thread)
{
    const struct level *level = context;
    solve_states(level->program, level->first + first, level->first + last, thread);
}

static void solve_levels(struct program *program)
{
    const struct lattice *lattice = program->lattice;
    for (int k = 1; k < lattice->level_count; k++) {
        struct level level = {program, lattice->level_start[k]};
        program->level = k;
        size_t count = lattice->level_start[k + 1] - lattice->level_start[k];
        size_t values =
            program->offset[lattice->level_start[k + 1]] - program->offset[lattice->level_start[k]];
        if (values >= VALUES_WORTH_THREADS)
            parallel_for(program->pool, count, STATES_PER_PIECE, solve_piece, &level);
        else
            solve_piece(&level, 0, count, 0);
    }
}

/* Sums of layers tried: a table has a row for every layer, and joins two rows of half the devices; a step between two
 * states takes as many as a row for each layer of the window. Without tables a step takes so many for every way to
 * place a stage on some of the node's devices. */
static bool is_wide(const struct program *program)
{
    const struct reach *reach = &program->reach;
    const struct ticks *ticks = program->ticks;
    double layers = ticks->layer_count, windows = 0, tables = 0, sweeps = 0;
    for (uint32_t state = 0; state < program->lattice->count; state++)
        windows += window_width(program, state);
    double width = windows / program->lattice->count;
    for (int g = 0; g < ticks->group_count; g++) {
        double before = 0;
        for (int split = 0; split < ticks->groups[g].splits; split++) {
            double row = 0;
            for (int a = 0; a < ticks->layer_count; a++)
                row += reach->tile_end[g][split][a] - a;
            row = fmin(row / layers, width);
            tables += layers * before * row;
            before = row;
        }
        tables += windows * before;
        sweeps += windows * (double)(2 << (ticks->groups[g].splits - 1)) * SWEEP_COST;
    }
    return tables > sweeps;
}

/* The bottleneck is somewhere, where it is asked for. */
static int final_phase(const struct program *program)
{
    return phase_count(&program->costs) - 1;
}

/* A pipeline may end wherever the rest may be idle: of the least value the state with the most devices, which hold less
 * each. */
static double find_final(struct program *program)
{
    uint32_t last = program->lattice->count - 1;
    double best = INFINITY;
    for (uint32_t state = program->ticks->space == SPACE_ALL ? last : 0; state <= last; state++) {
        double value = program_value(program, state, program->ticks->layer_count, final_phase(program));
        if (value <= best) {
            best = value;
            program->final = state;
        }
    }
    return best;
}

enum program_status program_solve(struct program *program, const struct tile_costs *costs, double *value)
{
    program->value_count = 0;
    if (stop_is_late(program->deadline))
        return PROGRAM_STOPPED;
    if (window_width(program, 0) == 0 || window_width(program, program->lattice->count - 1) == 0)
        return PROGRAM_INFEASIBLE;
    int phases = phase_count(costs);
    enum program_status status = lay_out(program, phases);
    if (status != PROGRAM_DONE)
        return status;
    program->costs = *costs;
    program->sweeps =
        program->steps == PROGRAM_SWEEPS || (program->steps == PROGRAM_FASTER && is_wide(program));
    if (program->sweeps ? !sweep_prepare(&program->sweep, costs, parallel_threads(program->pool))
                        : !tiles_fill(&program->tiles, costs, program->pool))
        return PROGRAM_NO_MEMORY;
    double *start = values_of(program, 0, 0);
    for (int phase = 0; phase < phases; phase++)
        start[phase] = phase == 0 ? 0 : INFINITY;
    atomic_store(&program->stopped, false);
    solve_levels(program);
    if (atomic_load(&program->stopped))
        return PROGRAM_STOPPED;
    if (program->sweeps)
        program->sweep.is_whole = true;
    *value = find_final(program);
    return *value < INFINITY ? PROGRAM_DONE : PROGRAM_INFEASIBLE;
}

/* Where a value came from: a state, layer and phase, and the plane of the node in between. */
struct step {
    uint32_t state;
    int layer, phase;
    int group, plane;
};

double program_value(const struct program *program, uint32_t state, int layer, int phase)
{
    const struct reach *reach = &program->reach;
    if (layer < reach->first[state] || layer > reach->last[state])
        return INFINITY;
    return values_of(program, state, phase)[layer - reach->first[state]];
}

/* Do `in` and `plane` lead to phase `out`? */
static bool phases_join(int in, int plane, int out)
{
    if (in == 0)
        return plane == (out == 0 ? TILE_BEFORE : TILE_CROSS);
    return out == 1 && plane == TILE_AFTER;
}

/* The sums are exact, so the step that gave a value is the first whose sum equals it. */
static bool find_step(const struct program *program, const struct step *at, struct step *before)
{
    const struct tiles *tiles = &program->tiles;
    const struct lattice *lattice = program->lattice;
    double value = program_value(program, at->state, at->layer, at->phase);
    int phases = phase_count(&program->costs), planes = tile_planes(&tiles->costs);
    for (int g = 0; g < lattice->group_count; g++) {
        uint32_t from = lattice->from[(size_t)at->state * (size_t)lattice->group_count + (size_t)g];
        if (from == LATTICE_NONE)
            continue;
        int split = program->ticks->groups[g].splits - 1;
        for (int a = program->reach.first[from]; a <= program->reach.last[from] && a < at->layer; a++)
            for (int in = 0; in < phases; in++)
                for (int plane = 0; plane < planes; plane++)
                    if (phases_join(in, plane, at->phase) &&
                        program_value(program, from, a, in) +
                                tile_value(tiles, g, split, a, at->layer, plane) ==
                            value) {
                        *before = (struct step){from, a, in, g, plane};
                        return true;
                    }
    }
    return false;
}

/* The node before *at, by sweeps: writes its stages, sets *at to where it begins, and returns their number; 0: none. */
static int swept_node(const struct program *program, int number, struct step *at, struct tile_stage *stages)
{
    const struct lattice *lattice = program->lattice;
    double value = program_value(program, at->state, at->layer, at->phase);
    for (int g = 0; g < lattice->group_count; g++) {
        uint32_t from = lattice->from[(size_t)at->state * (size_t)lattice->group_count + (size_t)g];
        struct sweep_node node;
        if (from == LATTICE_NONE || !node_between(program, from, at->state, g, number, 0, &node) ||
            at->layer < node.low)
            continue;
        if (!program->sweep.keeps)
            sweep_fill(&node);
        if (sweep_row(&node, at->phase)[at->layer - node.low] != value)
            continue;
        int count = sweep_path(&node, &at->layer, &at->phase, stages);
        at->state = from;
        return count;
    }
    return 0;
}

static int tiled_node(const struct program *program, struct step *at, struct tile_stage *stages)
{
    struct step before;
    if (!find_step(program, at, &before))
        return 0;
    int count = tile_path(&program->tiles, before.group, program->ticks->groups[before.group].splits - 1,
                          before.layer, at->layer, before.plane, stages);
    *at = before;
    return count;
}

int program_path(const struct program *program, struct tile_stage *stages)
{
    struct step at = {
        .state = program->final, .layer = program->ticks->layer_count, .phase = final_phase(program)};
    int count = 0;
    for (int node = program->ticks->node_count - 1; at.state != 0; node--) {
        /* Nodes come last first: each goes before what is there already. */
        struct tile_stage tiling[1 << (PLAN_MAX_SPLITS - 1)];
        int added =
            program->sweeps ? swept_node(program, node + 1, &at, tiling) : tiled_node(program, &at, tiling);
        if (added == 0)
            return 0;
        for (int i = 0; i < added; i++)
            tiling[i].node = node;
        memmove(stages + added, stages, (size_t)count * sizeof *stages);
        memcpy(stages, tiling, (size_t)added * sizeof *stages);
        count += added;
    }
    return count;
}
