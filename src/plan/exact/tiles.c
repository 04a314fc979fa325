/* How the tables are kept small. A row a is needed only if some state's window holds a, and only for the b
 * from which the rest of the cluster can still finish: the earliest of them is need[a]. The same holds inside
 * a node for the two halves. `need` is a minimum over many overlapping ranges of a, collected in a pyramid
 * (range of length 2^k at each place: two entries cover any range) and pushed down once. */
#include "plan/exact/tiles.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_PER_PIECE 16

bool tiles_init(struct tiles *tiles, const struct reach *reach, struct error *err)
{
    memset(tiles, 0, sizeof *tiles);
    tiles->reach = reach;
    tiles->ticks = reach->ticks;
    size_t length = (size_t)reach->ticks->layer_count + 1;
    while (length >> tiles->pyramid_levels)
        tiles->pyramid_levels++;
    tiles->pyramid = ARENA_ARRAY(&tiles->arena, length * (size_t)tiles->pyramid_levels, int);
    bool ok = tiles->pyramid;
    for (int split = 0; split < PLAN_MAX_SPLITS; split++)
        ok = (tiles->need[split] = ARENA_ARRAY(&tiles->arena, length, int)) && ok;
    for (int g = 0; g < reach->ticks->group_count; g++)
        for (int split = 0; split < reach->ticks->groups[g].splits; split++) {
            struct tile_table *table = &tiles->table[g][split];
            ok = (table->first = ARENA_ARRAY(&tiles->arena, length, int)) && ok;
            ok = (table->width = ARENA_ARRAY(&tiles->arena, length, int)) && ok;
            ok = (table->offset = ARENA_ARRAY(&tiles->arena, length, size_t)) && ok;
        }
    if (ok)
        return true;
    tiles_release(tiles);
    return error_memory(err);
}

void tiles_release(struct tiles *tiles)
{
    for (int g = 0; g < TICKS_MAX_GROUPS; g++)
        for (int split = 0; split < PLAN_MAX_SPLITS; split++)
            free(tiles->table[g][split].values);
    arena_release(&tiles->arena);
    memset(tiles, 0, sizeof *tiles);
}

/* --- which values are needed ---------------------------------------------------------------------------- */

static void pyramid_clear(struct tiles *tiles)
{
    size_t count = ((size_t)tiles->ticks->layer_count + 1) * (size_t)tiles->pyramid_levels;
    for (size_t i = 0; i < count; i++)
        tiles->pyramid[i] = INT_MAX;
}

static void lower(int *place, int value)
{
    if (value < *place)
        *place = value;
}

/* need[a] = min(need[a], value) for a in [from, to]. */
static void pyramid_lower(struct tiles *tiles, int from, int to, int value)
{
    if (from > to)
        return;
    int k = 31 - __builtin_clz((unsigned)(to - from + 1));
    int *level = tiles->pyramid + (size_t)k * ((size_t)tiles->ticks->layer_count + 1);
    lower(&level[from], value);
    lower(&level[to - (1 << k) + 1], value);
}

static void pyramid_flush(struct tiles *tiles, int *need)
{
    int length = tiles->ticks->layer_count + 1;
    for (int k = tiles->pyramid_levels - 1; k > 0; k--) {
        const int *level = tiles->pyramid + (size_t)k * (size_t)length;
        int *below = tiles->pyramid + (size_t)(k - 1) * (size_t)length;
        for (int a = 0; a + (1 << k) <= length; a++) {
            lower(&below[a], level[a]);
            lower(&below[a + (1 << (k - 1))], level[a]);
        }
    }
    for (int a = 0; a < length; a++)
        need[a] = tiles->pyramid[a] > a ? tiles->pyramid[a] : a + 1;
}

/* For whole nodes: from the windows of the states. */
static void need_of_nodes(struct tiles *tiles, int group, int *need)
{
    const struct reach *reach = tiles->reach;
    const struct lattice *lattice = reach->lattice;
    pyramid_clear(tiles);
    for (uint32_t state = 1; state < lattice->count; state++) {
        uint32_t from = lattice->from[(size_t)state * (size_t)lattice->group_count + (size_t)group];
        if (from != LATTICE_NONE && reach->first[state] <= reach->last[state])
            pyramid_lower(tiles, reach->first[from], reach->last[from], reach->first[state]);
    }
    pyramid_flush(tiles, need);
}

/* For halves: the first half starts where the whole does and must leave what the second can do, and the
 * second starts wherever the first can end. */
static void need_of_halves(struct tiles *tiles, int group, int split, const int *need, int *need_half)
{
    const int *end = tiles->reach->tile_end[group][split];
    const int *half_end = tiles->reach->tile_end[group][split - 1];
    const int *half_start = tiles->reach->tile_start[group][split - 1];
    pyramid_clear(tiles);
    for (int a = 0; a < tiles->ticks->layer_count; a++) {
        if (need[a] > end[a])
            continue;
        int cut = half_start[need[a]] > a ? half_start[need[a]] : a + 1;
        pyramid_lower(tiles, a, a, cut);
        pyramid_lower(tiles, cut, half_end[a], need[a]);
    }
    pyramid_flush(tiles, need_half);
}

/* --- the values ----------------------------------------------------------------------------------------- */

static bool lay_out(struct tile_table *table, const int *need, const int *end, int layers, int planes)
{
    size_t total = 0;
    for (int a = 0; a < layers; a++) {
        table->first[a] = need[a];
        table->width[a] = end[a] >= need[a] ? end[a] - need[a] + 1 : 0;
        table->offset[a] = total;
        total += (size_t)table->width[a];
    }
    table->first[layers] = layers;
    table->width[layers] = 0;
    table->plane_length = total;
    size_t wanted = total * (size_t)planes;
    if (wanted == 0)
        wanted = 1; /* rows of no width still have an address */
    if (wanted > table->capacity) {
        free(table->values);
        table->values = malloc(wanted * sizeof(double));
        table->capacity = table->values ? wanted : 0;
    }
    return table->values;
}

static double *row_of(const struct tile_table *table, int a, int plane)
{
    return table->values + (size_t)plane * table->plane_length + table->offset[a];
}

/* Returns the cost of a single stage in a plane; INFINITY if not allowed. */
static double tile_stage_cost(const struct tiles *tiles, int group, int split, int a, int b, int plane)
{
    const struct tile_costs *costs = &tiles->costs;
    if (b > tiles->reach->stage_end[group][split][a])
        return INFINITY;
    double l = ticks_stage(tiles->ticks, group, split, a, b);
    if (plane == TILE_BEFORE)
        return l + costs->before_add;
    if (plane == TILE_AFTER)
        return l <= costs->after_most ? 2 * l + costs->after_add : INFINITY;
    /* the bottleneck; a pipeline of one stage has another formula and is not built here */
    bool whole = a == 0 && b == tiles->ticks->layer_count;
    return l >= costs->cross_min && !whole ? costs->cross_scale * (l - costs->cross_min) : INFINITY;
}

struct fill {
    struct tiles *tiles;
    int group, split;
};

/* Row a, plane `out`: first half from plane `left`, second from plane `right`. */
static void join_halves(const struct fill *fill, int a, int out, int left, int right)
{
    const struct tile_table *table = &fill->tiles->table[fill->group][fill->split];
    const struct tile_table *half = &fill->tiles->table[fill->group][fill->split - 1];
    int first = table->first[a], end = first + table->width[a];
    double *row = row_of(table, a, out);
    const double *heads = row_of(half, a, left);
    for (int i = 0; i < half->width[a]; i++) {
        int cut = half->first[a] + i;
        if (heads[i] == INFINITY || cut >= end)
            continue;
        int from = half->first[cut] > first ? half->first[cut] : first;
        int to = half->first[cut] + half->width[cut];
        if (to > end)
            to = end;
        if (from < to)
            tile_relax(row + (from - first), row_of(half, cut, right) + (from - half->first[cut]), heads[i],
                       to - from);
    }
}

static void fill_row(const struct fill *fill, int a)
{
    const struct tile_costs *costs = &fill->tiles->costs;
    const struct tile_table *table = &fill->tiles->table[fill->group][fill->split];
    if (table->width[a] == 0)
        return;
    int planes = tile_planes(costs);
    for (int plane = 0; plane < planes; plane++) {
        double *row = row_of(table, a, plane);
        for (int i = 0; i < table->width[a]; i++)
            row[i] = tile_stage_cost(fill->tiles, fill->group, fill->split, a, table->first[a] + i, plane);
    }
    if (fill->split == 0)
        return;
    join_halves(fill, a, TILE_BEFORE, TILE_BEFORE, TILE_BEFORE);
    if (!costs->phases)
        return;
    join_halves(fill, a, TILE_CROSS, TILE_BEFORE, TILE_CROSS);
    join_halves(fill, a, TILE_AFTER, TILE_AFTER, TILE_AFTER);
    join_halves(fill, a, TILE_CROSS, TILE_CROSS, TILE_AFTER);
}

static void fill_rows(void *context, size_t first, size_t last, int thread)
{
    (void)thread;
    for (size_t a = first; a < last; a++)
        fill_row(context, (int)a);
}

bool tiles_fill(struct tiles *tiles, const struct tile_costs *costs, struct parallel *pool)
{
    tiles->costs = *costs;
    int layers = tiles->ticks->layer_count;
    for (int g = 0; g < tiles->ticks->group_count; g++) {
        int splits = tiles->ticks->groups[g].splits;
        need_of_nodes(tiles, g, tiles->need[splits - 1]);
        for (int split = splits - 1; split > 0; split--)
            need_of_halves(tiles, g, split, tiles->need[split], tiles->need[split - 1]);
        for (int split = 0; split < splits; split++) {
            struct tile_table *table = &tiles->table[g][split];
            if (!lay_out(table, tiles->need[split], tiles->reach->tile_end[g][split], layers,
                         tile_planes(costs)))
                return false;
            struct fill fill = {tiles, g, split};
            bool small = table->plane_length < 2000;
            parallel_for(small ? NULL : pool, (size_t)layers, small ? (size_t)layers : ROWS_PER_PIECE,
                         fill_rows, &fill);
        }
    }
    return true;
}

double tile_value(const struct tiles *tiles, int group, int split, int a, int b, int plane)
{
    const struct tile_table *table = &tiles->table[group][split];
    if (b < table->first[a] || b >= table->first[a] + table->width[a])
        return INFINITY;
    return row_of(table, a, plane)[b - table->first[a]];
}

/* Is this pair of planes one whose sum goes into `plane`? */
static bool planes_join(int plane, int left, int right)
{
    if (plane != TILE_CROSS)
        return left == plane && right == plane;
    return left == TILE_BEFORE ? right == TILE_CROSS : left == TILE_CROSS && right == TILE_AFTER;
}

int tile_path(const struct tiles *tiles, int group, int split, int a, int b, int plane,
              struct tile_stage *stages)
{
    double value = tile_value(tiles, group, split, a, b, plane);
    if (split == 0 || tile_stage_cost(tiles, group, split, a, b, plane) == value) {
        *stages = (struct tile_stage){.group = group, .split = split, .first = a, .end = b, .plane = plane};
        return 1;
    }
    int planes = tile_planes(&tiles->costs);
    for (int cut = a + 1; cut < b; cut++)
        for (int left = 0; left < planes; left++) {
            double head = tile_value(tiles, group, split - 1, a, cut, left);
            for (int right = 0; head < INFINITY && right < planes; right++)
                if (planes_join(plane, left, right) &&
                    head + tile_value(tiles, group, split - 1, cut, b, right) == value) {
                    int count = tile_path(tiles, group, split - 1, a, cut, left, stages);
                    return count + tile_path(tiles, group, split - 1, cut, b, right, stages + count);
                }
        }
    return 0;
}
