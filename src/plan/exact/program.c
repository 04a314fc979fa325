#include "plan/exact/program.h"

#include "core/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STATES_PER_PIECE     32
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

static void solve_state(const struct program *program, uint32_t state)
{
    const struct tile_costs *costs = &program->tiles.costs;
    int groups = program->lattice->group_count;
    size_t count = program->offset[state + 1] - program->offset[state];
    double *values = program->values + program->offset[state];
    for (size_t i = 0; i < count; i++)
        values[i] = INFINITY;
    for (int g = 0; count && g < groups; g++) {
        uint32_t from = program->lattice->from[(size_t)state * (size_t)groups + (size_t)g];
        if (from == LATTICE_NONE)
            continue;
        add_node(program, state, from, g, 0, TILE_BEFORE, 0);
        if (costs->phases) {
            add_node(program, state, from, g, 0, TILE_CROSS, 1);
            add_node(program, state, from, g, 1, TILE_AFTER, 1);
        }
    }
}

static void solve_states(void *context, size_t first, size_t last, int thread)
{
    struct program *program = context;
    (void)thread;
    if (atomic_load_explicit(&program->stopped, memory_order_relaxed))
        return;
    for (size_t state = first; state < last; state++)
        solve_state(program, (uint32_t)state);
    if (program->deadline > 0 && clock_now() > program->deadline)
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
        size_t count = lattice->level_start[k + 1] - lattice->level_start[k];
        size_t values =
            program->offset[lattice->level_start[k + 1]] - program->offset[lattice->level_start[k]];
        if (values >= VALUES_WORTH_THREADS)
            parallel_for(program->pool, count, STATES_PER_PIECE, solve_piece, &level);
        else
            solve_piece(&level, 0, count, 0);
    }
}

/* The bottleneck is somewhere, where it is asked for. */
static int final_phase(const struct program *program)
{
    return phase_count(&program->tiles.costs) - 1;
}

enum program_status program_solve(struct program *program, const struct tile_costs *costs, double *value)
{
    program->value_count = 0;
    if (program->deadline > 0 && clock_now() > program->deadline)
        return PROGRAM_STOPPED;
    if (!reach_windows(&program->reach, costs->cap) || window_width(program, 0) == 0 ||
        window_width(program, program->lattice->count - 1) == 0)
        return PROGRAM_INFEASIBLE;
    int phases = phase_count(costs);
    enum program_status status = lay_out(program, phases);
    if (status != PROGRAM_DONE)
        return status;
    if (!tiles_fill(&program->tiles, costs, program->pool))
        return PROGRAM_NO_MEMORY;
    double *start = values_of(program, 0, 0);
    for (int phase = 0; phase < phases; phase++)
        start[phase] = phase == 0 ? 0 : INFINITY;
    atomic_store(&program->stopped, false);
    solve_levels(program);
    if (atomic_load(&program->stopped))
        return PROGRAM_STOPPED;
    *value = values_of(program, program->lattice->count - 1, final_phase(program))[0];
    return *value < INFINITY ? PROGRAM_DONE : PROGRAM_INFEASIBLE;
}

/* Where a value came from: a state, layer and phase, and the plane of the node in between. */
struct step {
    uint32_t state;
    int layer, phase;
    int group, plane;
};

static double value_at(const struct program *program, uint32_t state, int layer, int phase)
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
    double value = value_at(program, at->state, at->layer, at->phase);
    int phases = phase_count(&tiles->costs), planes = tile_planes(&tiles->costs);
    for (int g = 0; g < lattice->group_count; g++) {
        uint32_t from = lattice->from[(size_t)at->state * (size_t)lattice->group_count + (size_t)g];
        if (from == LATTICE_NONE)
            continue;
        int split = program->ticks->groups[g].splits - 1;
        for (int a = program->reach.first[from]; a <= program->reach.last[from] && a < at->layer; a++)
            for (int in = 0; in < phases; in++)
                for (int plane = 0; plane < planes; plane++)
                    if (phases_join(in, plane, at->phase) &&
                        value_at(program, from, a, in) + tile_value(tiles, g, split, a, at->layer, plane) ==
                            value) {
                        *before = (struct step){from, a, in, g, plane};
                        return true;
                    }
    }
    return false;
}

int program_path(const struct program *program, struct tile_stage *stages)
{
    struct step at = {.state = program->lattice->count - 1,
                      .layer = program->ticks->layer_count,
                      .phase = final_phase(program)};
    int count = 0;
    for (int node = program->ticks->node_count - 1; node >= 0; node--) {
        struct step before;
        if (!find_step(program, &at, &before))
            return 0;
        /* Nodes come last first: each goes before what is there already. */
        struct tile_stage tiling[1 << (PLAN_MAX_SPLITS - 1)];
        int added = tile_path(&program->tiles, before.group, program->ticks->groups[before.group].splits - 1,
                              before.layer, at.layer, before.plane, tiling);
        for (int i = 0; i < added; i++)
            tiling[i].node = node;
        memmove(stages + added, stages, (size_t)count * sizeof *stages);
        memcpy(stages, tiling, (size_t)added * sizeof *stages);
        count += added;
        at = before;
    }
    return count;
}
