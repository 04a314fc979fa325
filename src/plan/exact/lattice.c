#include "plan/exact/lattice.h"

#include <string.h>

uint32_t lattice_size(const struct ticks *ticks, uint32_t max)
{
    uint64_t size = 1;
    for (int k = 0; k < ticks->kind_count; k++) {
        size *= (uint64_t)ticks->units[k] + 1;
        if (size > max)
            return 0;
    }
    return (uint32_t)size;
}

static bool allocate(struct lattice *lattice, const struct ticks *ticks, uint32_t count)
{
    memset(lattice, 0, sizeof *lattice);
    lattice->group_count = ticks->group_count;
    lattice->count = count;
    lattice->level_count = ticks->node_count + 1;
    lattice->level_start = ARENA_ARRAY(&lattice->arena, (size_t)lattice->level_count + 1, uint32_t);
    lattice->from = arena_alloc(&lattice->arena, count, (size_t)ticks->group_count * sizeof(uint32_t));
    return lattice->level_start && lattice->from;
}

/* Counts up in mixed radix: digits of the next id; returns the level. */
static int next_digits(const struct ticks *ticks, int *digits, int level)
{
    for (int k = 0; k < ticks->kind_count; k++) {
        if (digits[k] < ticks->units[k]) {
            digits[k]++;
            return level + 1;
        }
        level -= digits[k];
        digits[k] = 0;
    }
    return level;
}

bool lattice_init(struct lattice *lattice, const struct ticks *ticks, struct error *err)
{
    uint32_t count = lattice_size(ticks, UINT32_MAX - 1);
    struct arena scratch = {0};
    uint32_t *place = ARENA_ARRAY(&scratch, count, uint32_t); /* id in mixed radix -> state */
    if (!allocate(lattice, ticks, count) || !place) {
        arena_release(&scratch);
        lattice_release(lattice);
        return error_memory(err);
    }
    uint32_t *start = lattice->level_start;
    int digits[PLAN_MAX_GROUPS] = {0};
    int level = 0;
    uint32_t stride[PLAN_MAX_GROUPS] = {1};
    for (int k = 1; k < ticks->kind_count; k++)
        stride[k] = stride[k - 1] * ((uint32_t)ticks->units[k - 1] + 1);
    for (uint32_t id = 0; id < count; id++) {
        start[level + 1]++;
        level = next_digits(ticks, digits, level);
    }
    for (int k = 0; k < lattice->level_count; k++)
        start[k + 1] += start[k];
    /* `start[k]` runs ahead while states of level k are numbered, then is put back. */
    memset(digits, 0, sizeof digits);
    level = 0;
    for (uint32_t id = 0; id < count; id++) {
        uint32_t state = place[id] = start[level]++;
        for (int g = 0; g < ticks->group_count; g++) {
            const struct ticks_group *group = &ticks->groups[g];
            lattice->from[(size_t)state * (size_t)ticks->group_count + (size_t)g] =
                digits[group->kind] >= group->takes ? place[id - (uint32_t)group->takes * stride[group->kind]]
                                                    : LATTICE_NONE;
        }
        level = next_digits(ticks, digits, level);
    }
    for (int k = lattice->level_count; k > 0; k--)
        start[k] = start[k - 1];
    start[0] = 0;
    arena_release(&scratch);
    return true;
}

bool lattice_init_chain(struct lattice *lattice, const struct ticks *ticks, const int *order,
                        struct error *err)
{
    if (!allocate(lattice, ticks, (uint32_t)ticks->node_count + 1)) {
        lattice_release(lattice);
        return error_memory(err);
    }
    for (int k = 0; k <= lattice->level_count; k++)
        lattice->level_start[k] = (uint32_t)k;
    for (size_t i = 0; i < (size_t)lattice->count * (size_t)lattice->group_count; i++)
        lattice->from[i] = LATTICE_NONE;
    uint32_t first = 0;
    for (int k = 0; k < ticks->kind_count; k++) {
        uint32_t units = (uint32_t)ticks->units[order[k]];
        for (int g = 0; g < ticks->group_count; g++)
            for (uint32_t n = (uint32_t)ticks->groups[g].takes;
                 ticks->groups[g].kind == order[k] && n <= units; n++)
                lattice->from[(size_t)(first + n) * (size_t)lattice->group_count + (size_t)g] =
                    first + n - (uint32_t)ticks->groups[g].takes;
        first += units;
    }
    return true;
}

bool lattice_next_order(int *order, int count)
{
    int i = count - 2;
    while (i >= 0 && order[i] > order[i + 1])
        i--;
    if (i < 0)
        return false;
    int j = count - 1;
    while (order[j] < order[i])
        j--;
    int swap = order[i];
    order[i] = order[j];
    order[j] = swap;
    for (int a = i + 1, b = count - 1; a < b; a++, b--) {
        swap = order[a];
        order[a] = order[b];
        order[b] = swap;
    }
    return true;
}

void lattice_release(struct lattice *lattice)
{
    arena_release(&lattice->arena);
    memset(lattice, 0, sizeof *lattice);
}
