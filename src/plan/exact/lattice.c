#include "plan/exact/lattice.h"

#include <string.h>

uint32_t lattice_size(const struct ticks *ticks, uint32_t max)
{
    uint64_t size = 1;
    for (int g = 0; g < ticks->group_count; g++) {
        size *= (uint64_t)ticks->groups[g].nodes + 1;
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
    for (int g = 0; g < ticks->group_count; g++) {
        if (digits[g] < ticks->groups[g].nodes) {
            digits[g]++;
            return level + 1;
        }
        level -= digits[g];
        digits[g] = 0;
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
        uint32_t stride = 1;
        for (int g = 0; g < ticks->group_count; g++) {
            lattice->from[(size_t)state * (size_t)ticks->group_count + (size_t)g] =
                digits[g] > 0 ? place[id - stride] : LATTICE_NONE;
            stride *= (uint32_t)ticks->groups[g].nodes + 1;
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
    uint32_t state = 0;
    for (int k = 0; k < ticks->group_count; k++)
        for (int n = 0; n < ticks->groups[order[k]].nodes; n++, state++)
            lattice->from[(size_t)(state + 1) * (size_t)lattice->group_count + (size_t)order[k]] = state;
    return true;
}

void lattice_release(struct lattice *lattice)
{
    arena_release(&lattice->arena);
    memset(lattice, 0, sizeof *lattice);
}
