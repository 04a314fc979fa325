#include "plan/exact/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEPT ((size_t)1 << 23) /* doubles */

/* Rows of a node: behind its stages before and after the bottleneck, and behind the bottleneck itself, which is added
 * to those after it. */
enum row { ROW_BEFORE, ROW_AFTER, ROW_CROSS, ROWS };

/* A plane leads from one phase to another: 0 before the bottleneck, 1 after it. */
static const int plane_in[TILE_PLANES] = {[TILE_BEFORE] = 0, [TILE_AFTER] = 1, [TILE_CROSS] = 0};
static const int plane_out[TILE_PLANES] = {[TILE_BEFORE] = 0, [TILE_AFTER] = 1, [TILE_CROSS] = 1};

void sweep_release(struct sweep *sweep)
{
    arena_release(&sweep->arena);
    free(sweep->rows);
    *sweep = (struct sweep){0};
}

static int devices_of(const struct sweep *sweep, int group)
{
    return 1 << (sweep->ticks->groups[group].splits - 1);
}

static bool make_room(struct sweep *sweep, int threads)
{
    size_t length = (size_t)sweep->ticks->layer_count + 1, max = 1;
    if (sweep->scratch && sweep->threads >= threads)
        return true;
    arena_release(&sweep->arena);
    for (int g = 0; g < sweep->ticks->group_count; g++) {
        max = (size_t)devices_of(sweep, g) > max ? (size_t)devices_of(sweep, g) : max;
        for (int split = 0; split < sweep->ticks->groups[g].splits; split++)
            for (int plane = 0; plane < TILE_PLANES; plane++) {
                sweep->range[g][split][plane] = ARENA_ARRAY(&sweep->arena, length, struct sweep_range);
                if (!sweep->range[g][split][plane])
                    return false;
            }
    }
    const struct lattice *lattice = sweep->reach->lattice;
    sweep->offset = ARENA_ARRAY(&sweep->arena, (size_t)lattice->count * (size_t)lattice->group_count, size_t);
    if (!sweep->offset)
        return false;
    sweep->scratch = ARENA_ARRAY(&sweep->arena, (size_t)threads, struct sweep_scratch);
    sweep->threads = threads;
    for (int i = 0; sweep->scratch && i < threads; i++) {
        struct sweep_scratch *scratch = &sweep->scratch[i];
        scratch->rows = ARENA_ARRAY(&sweep->arena, ROWS * (max + 1) * length, double);
        scratch->keys = ARENA_ARRAY(&sweep->arena, length, double);
        scratch->left = ARENA_ARRAY(&sweep->arena, length, double);
        if (!scratch->rows || !scratch->keys || !scratch->left)
            sweep->scratch = NULL;
    }
    return sweep->scratch;
}

/* Where stages of one plane may begin: those that take at most `max` and at least `min`. */
static void fill_range(const struct sweep *sweep, int group, int split, double min, double max,
                       struct sweep_range *range)
{
    const double *sum = sweep->ticks->groups[group].sum[split];
    const int *stage_end = sweep->reach->stage_end[group][split];
    range[0] = (struct sweep_range){0, -1};
    for (int b = 1, first = 0, last = -1; b <= sweep->ticks->layer_count; b++) {
        while (first < b && (stage_end[first] < b || sum[b] - sum[first] > max))
            first++;
        while (last + 1 < b && sum[b] - sum[last + 1] >= min)
            last++;
        range[b] = (struct sweep_range){first, last};
    }
}

/* Lays out the rows of all nodes. Leaves `keeps` false where they are too many. */
static void lay_out(struct sweep *sweep)
{
    const struct reach *reach = sweep->reach;
    const struct lattice *lattice = reach->lattice;
    size_t total = 0;
    sweep->keeps = false;
    for (uint32_t state = 0; state < lattice->count; state++)
        for (int g = 0; g < lattice->group_count; g++) {
            size_t place = (size_t)state * (size_t)lattice->group_count + (size_t)g;
            uint32_t from = lattice->from[place];
            if (from == LATTICE_NONE || reach->first[from] > reach->last[state])
                continue;
            sweep->offset[place] = total;
            total += (size_t)(reach->last[state] - reach->first[from] + 1) *
                     (size_t)(devices_of(sweep, g) + 1) * (sweep->costs.phases ? ROWS : 1);
            if (total > MAX_KEPT)
                return;
        }
    if (total > sweep->room) {
        free(sweep->rows);
        sweep->rows = malloc(total * sizeof *sweep->rows);
        sweep->room = sweep->rows ? total : 0;
    }
    sweep->keeps = sweep->room > 0;
}

/* The windows follow from the cap. */
static bool alike(const struct tile_costs *a, const struct tile_costs *b)
{
    return a->cap == b->cap && a->before_add == b->before_add && a->phases && b->phases &&
           a->cross_min == b->cross_min && a->cross_scale == b->cross_scale &&
           a->cross_first == b->cross_first && a->cross_last == b->cross_last;
}

bool sweep_prepare(struct sweep *sweep, const struct tile_costs *costs, int threads)
{
    sweep->repeats =
        sweep->is_whole && sweep->keeps && sweep->threads >= threads && alike(&sweep->costs, costs);
    sweep->is_whole = false;
    if (!make_room(sweep, threads))
        return false;
    sweep->costs = *costs;
    if (!sweep->repeats)
        lay_out(sweep);
    int layers = sweep->ticks->layer_count;
    for (int g = 0; g < sweep->ticks->group_count; g++)
        for (int split = 0; split < sweep->ticks->groups[g].splits; split++) {
            struct sweep_range **range = sweep->range[g][split];
            fill_range(sweep, g, split, 0, costs->cap, range[TILE_BEFORE]);
            if (!costs->phases)
                continue;
            fill_range(sweep, g, split, 0, costs->after_most, range[TILE_AFTER]);
            fill_range(sweep, g, split, costs->cross_min, costs->cap, range[TILE_CROSS]);
            /* a pipeline of one stage has another formula and is not built here */
            if (range[TILE_CROSS][layers].first == 0)
                range[TILE_CROSS][layers].first = 1;
        }
    return true;
}

double *sweep_rows(const struct sweep *sweep, uint32_t state, int group, const struct sweep_scratch *scratch)
{
    size_t place = (size_t)state * (size_t)sweep->reach->lattice->group_count + (size_t)group;
    return sweep->keeps ? sweep->rows + sweep->offset[place] : scratch->rows;
}

/* What a stage costs: scale x time + add. */
struct rule {
    const double *sum;
    double scale, add;
};

static struct rule rule_of(const struct sweep_node *node, int split, int plane)
{
    const struct tile_costs *costs = &node->sweep->costs;
    struct rule rule = {node->sweep->ticks->groups[node->group].sum[split], 1, costs->before_add};
    if (plane == TILE_AFTER) {
        rule.scale = 2;
        rule.add = costs->after_add;
    } else if (plane == TILE_CROSS) {
        rule.scale = costs->cross_scale;
        rule.add = -costs->cross_scale * costs->cross_min;
    }
    return rule;
}

static double key_of(const struct rule *rule, double value, int first)
{
    return value - rule->scale * rule->sum[first];
}

static double value_of(const struct rule *rule, double key, int end)
{
    return key + (rule->scale * rule->sum[end] + rule->add);
}

/* to[b] = min(to[b], cheapest stage [a, b) behind from[a]), both from layer `low` on. `left`: minima from a place on,
 * up to `middle`; `right`: of everything behind it. */
static void put_stage(const struct sweep_node *node, int split, int plane, const double *restrict from,
                      double *restrict to)
{
    struct rule rule = rule_of(node, split, plane);
    const struct sweep_range *range = node->sweep->range[node->group][split][plane];
    double *restrict keys = node->scratch->keys, *restrict left = node->scratch->left, right = INFINITY;
    const int low = node->low, end = node->end;
    int middle = low - 1, next = low;
    for (int a = low; a <= end; a++)
        keys[a] = key_of(&rule, from[a - low], a);
    for (int b = low + 1; b <= end; b++) {
        int first = range[b].first > low ? range[b].first : low, last = range[b].last;
        for (; next <= last; next++)
            right = keys[next] < right ? keys[next] : right;
        if (first > last)
            continue;
        if (first > middle) {
            middle = last;
            double least = INFINITY;
            for (int a = last; a >= first; a--)
                left[a] = least = keys[a] < least ? keys[a] : least;
            right = INFINITY;
        }
        double value = value_of(&rule, left[first] < right ? left[first] : right, b);
        double *place = &to[b - low];
        *place = value < *place ? value : *place;
    }
}

static size_t width_of(const struct sweep_node *node)
{
    return (size_t)node->end + 1 - (size_t)node->low;
}

static double *row_at(const struct sweep_node *node, int filled, enum row row)
{
    int rows = devices_of(node->sweep, node->group) + 1;
    return node->rows + (size_t)(row * rows + filled) * width_of(node);
}

const double *sweep_row(const struct sweep_node *node, int phase)
{
    return row_at(node, devices_of(node->sweep, node->group), phase == 0 ? ROW_BEFORE : ROW_AFTER);
}

/* What is there before the node, and nothing else yet. */
static void start_rows(const struct sweep_node *node, enum row row, const double *values)
{
    int devices = devices_of(node->sweep, node->group);
    size_t width = width_of(node), known = (size_t)node->high + 1 - (size_t)node->low;
    double *first = row_at(node, 0, row);
    if (known > width)
        known = width;
    if (!values)
        known = 0;
    else
        memcpy(first, values, known * sizeof *first);
    for (size_t i = known; i < width * (size_t)(devices + 1); i++)
        first[i] = INFINITY;
}

/* Places all stages of one plane. */
static void put_plane(const struct sweep_node *node, int plane, enum row from, enum row to)
{
    int devices = devices_of(node->sweep, node->group);
    if (!tile_allows(&node->sweep->costs, node->number, plane))
        return;
    for (int filled = 0; filled < devices; filled++)
        for (int split = 0, size = 1; filled + size <= devices && filled % size == 0; split++, size *= 2)
            put_stage(node, split, plane, row_at(node, filled, from), row_at(node, filled + size, to));
}

void sweep_fill(const struct sweep_node *node)
{
    bool phases = node->sweep->costs.phases;
    if (!node->sweep->repeats) {
        start_rows(node, ROW_BEFORE, node->values[0]);
        put_plane(node, TILE_BEFORE, ROW_BEFORE, ROW_BEFORE);
        if (phases) {
            start_rows(node, ROW_CROSS, NULL);
            put_plane(node, TILE_CROSS, ROW_BEFORE, ROW_CROSS);
        }
    }
    if (!phases)
        return;
    size_t width = width_of(node), all = width * (size_t)(devices_of(node->sweep, node->group) + 1);
    double *after = row_at(node, 0, ROW_AFTER);
    memcpy(after, row_at(node, 0, ROW_CROSS), all * sizeof *after);
    for (int a = node->low; a <= node->high && a <= node->end; a++)
        after[a - node->low] = node->values[1][a - node->low];
    put_plane(node, TILE_AFTER, ROW_AFTER, ROW_AFTER);
}

/* Finds the last stage of what leads to a value: it is the same to the last bit. */
static bool find_stage(const struct sweep_node *node, int filled, int end, int phase,
                       struct tile_stage *stage)
{
    double value = row_at(node, filled, phase == 0 ? ROW_BEFORE : ROW_AFTER)[end - node->low];
    for (int split = 0, size = 1; size <= filled; split++, size *= 2)
        for (int plane = 0; plane < tile_planes(&node->sweep->costs) && (filled - size) % size == 0;
             plane++) {
            const double *from = row_at(node, filled - size, plane_in[plane] == 0 ? ROW_BEFORE : ROW_AFTER);
            struct sweep_range range = node->sweep->range[node->group][split][plane][end];
            struct rule rule = rule_of(node, split, plane);
            for (int a = range.first > node->low ? range.first : node->low;
                 plane_out[plane] == phase && a <= range.last; a++)
                if (from[a - node->low] < INFINITY &&
                    value_of(&rule, key_of(&rule, from[a - node->low], a), end) == value) {
                    *stage = (struct tile_stage){
                        .group = node->group, .split = split, .first = a, .end = end, .plane = plane};
                    return true;
                }
        }
    return false;
}

int sweep_path(const struct sweep_node *node, int *layer, int *phase, struct tile_stage *stages)
{
    int count = 0;
    for (int filled = devices_of(node->sweep, node->group); filled > 0;) {
        struct tile_stage stage;
        if (!find_stage(node, filled, *layer, *phase, &stage))
            return 0;
        memmove(stages + 1, stages, (size_t)count++ * sizeof *stages);
        stages[0] = stage;
        *layer = stage.first;
        *phase = plane_in[stage.plane];
        filled -= 1 << stage.split;
    }
    return count;
}
