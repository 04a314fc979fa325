#include "plan/exact/reach.h"

#include <string.h>

bool reach_init(struct reach *reach, const struct ticks *ticks, const struct lattice *lattice,
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

void reach_release(struct reach *reach)
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
