#include "plan/exact/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A plane leads from one phase to another: 0 before the bottleneck, 1 after it. */
static const int plane_in[TILE_PLANES] = {[TILE_BEFORE] = 0, [TILE_AFTER] = 1, [TILE_CROSS] = 0};
static const int plane_out[TILE_PLANES] = {[TILE_BEFORE] = 0, [TILE_AFTER] = 1, [TILE_CROSS] = 1};

void sweep_init(struct sweep *sweep, const struct reach *reach)
{
    *sweep = (struct sweep){.ticks = reach->ticks, .reach = reach};
}

void sweep_release(struct sweep *sweep)
{
    arena_release(&sweep->arena);
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
    sweep->scratch = ARENA_ARRAY(&sweep->arena, (size_t)threads, struct sweep_scratch);
    sweep->threads = threads;
    for (int i = 0; sweep->scratch && i < threads; i++) {
        struct sweep_scratch *scratch = &sweep->scratch[i];
        scratch->rows = ARENA_ARRAY(&sweep->arena, 2 * (max + 1) * length, double);
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

bool sweep_prepare(struct sweep *sweep, const struct tile_costs *costs, int threads)
{
    if (!make_room(sweep, threads))
        return false;
    sweep->costs = *costs;
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

/* to[b] = min(to[b], cheapest stage [a, b) behind from[a]). `left`: minima from a place on, up to `middle`; `right`: of
 * everything behind it. */
static void put_stage(const struct sweep_node *node, int split, int plane, const double *from, double *to)
{
    struct rule rule = rule_of(node, split, plane);
    const struct sweep_range *range = node->sweep->range[node->group][split][plane];
    double *keys = node->scratch->keys, *left = node->scratch->left, right = INFINITY;
    int middle = node->low - 1, next = node->low;
    for (int a = node->low; a <= node->end; a++)
        keys[a] = key_of(&rule, from[a], a);
    for (int b = node->low + 1; b <= node->end; b++) {
        int first = range[b].first > node->low ? range[b].first : node->low, last = range[b].last;
        for (; next <= last; next++)
            right = keys[next] < right ? keys[next] : right;
        if (first > last)
            continue;
        if (first > middle) {
            middle = last;
            left[last] = keys[last];
            for (int a = last - 1; a >= first; a--)
                left[a] = keys[a] < left[a + 1] ? keys[a] : left[a + 1];
            right = INFINITY;
        }
        double value = value_of(&rule, left[first] < right ? left[first] : right, b);
        to[b] = value < to[b] ? value : to[b];
    }
}

static double *row_at(const struct sweep_node *node, int filled, int phase)
{
    size_t length = (size_t)node->sweep->ticks->layer_count + 1;
    return node->scratch->rows + (size_t)(2 * filled + phase) * length;
}

const double *sweep_row(const struct sweep_node *node, int filled, int phase)
{
    return row_at(node, filled, phase);
}

void sweep_fill(const struct sweep_node *node)
{
    int devices = devices_of(node->sweep, node->group), phases = node->sweep->costs.phases ? 2 : 1;
    for (int filled = 0; filled <= devices; filled++)
        for (int phase = 0; phase < phases; phase++)
            for (int a = node->low; a <= node->end; a++)
                row_at(node, filled, phase)[a] =
                    filled == 0 && a <= node->high ? node->values[phase][a - node->low] : INFINITY;
    for (int filled = 0; filled < devices; filled++)
        for (int split = 0, size = 1; filled + size <= devices && filled % size == 0; split++, size *= 2)
            for (int plane = 0; plane < tile_planes(&node->sweep->costs); plane++)
                if (tile_allows(&node->sweep->costs, node->number, plane))
                    put_stage(node, split, plane, row_at(node, filled, plane_in[plane]),
                              row_at(node, filled + size, plane_out[plane]));
}

/* Finds the last stage of what leads to a value: it is the same to the last bit. */
static bool find_stage(const struct sweep_node *node, int filled, int end, int phase,
                       struct tile_stage *stage)
{
    double value = row_at(node, filled, phase)[end];
    for (int split = 0, size = 1; size <= filled; split++, size *= 2)
        for (int plane = 0; plane < tile_planes(&node->sweep->costs) && (filled - size) % size == 0;
             plane++) {
            const double *from = row_at(node, filled - size, plane_in[plane]);
            struct sweep_range range = node->sweep->range[node->group][split][plane][end];
            struct rule rule = rule_of(node, split, plane);
            for (int a = range.first > node->low ? range.first : node->low;
                 plane_out[plane] == phase && a <= range.last; a++)
                if (from[a] < INFINITY && value_of(&rule, key_of(&rule, from[a], a), end) == value) {
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
