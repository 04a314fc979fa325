#include "plan/exact/counted_node.h"

#include <math.h>
#include <string.h>

/* What stages of one size and place cost, least <= l <= cap: scale x l + add. */
struct rule {
    const double *sum; /* ticks of the layers before */
    double scale, add, min, cap;
    double in_flight, memory;
    bool not_whole; /* a single stage has another formula under oobleck */
};

/* From phase `in` to `out`, as the `count`-th stage from the end (or later, where no more are counted). */
static struct rule rule_of(const struct counted_node *node, int split, int in, int out, int count)
{
    const struct ticks *ticks = node->counted->program->ticks;
    const struct tile_costs *costs = &node->counted->costs;
    struct rule rule = {
        .sum = ticks->groups[node->group].sum[split],
        .scale = 1,
        .add = costs->before_add,
        .cap = costs->cap,
        .in_flight = ticks_in_flight(ticks, count),
        .memory = ticks->groups[node->group].memory[split],
    };
    if (in != out) {
        rule.scale = costs->cross_scale;
        rule.add = -costs->cross_scale * costs->cross_min;
        rule.min = costs->cross_min;
        rule.not_whole = true;
    } else if (costs->phases && out == BEHIND) {
        rule.scale = 2;
        rule.add = costs->after_add;
        rule.cap = fmin(rule.cap, costs->after_most);
    }
    return rule;
}

static bool rule_allows(const struct rule *rule, const struct ticks *ticks, int a, int b)
{
    return rule->sum[b] - rule->sum[a] <= rule->cap &&
           (rule->memory == INFINITY || ticks_memory(ticks, a, b, rule->in_flight) <= rule->memory) &&
           !(rule->not_whole && a == 0 && b == ticks->layer_count);
}

/* The value of a pipeline that begins with stage [a, b), from that of one that begins at b: in two steps, so that the
 * least of the first gives the least of the second. */
static double rule_key(const struct rule *rule, double value, int b)
{
    return value + rule->scale * rule->sum[b];
}

static double rule_value(const struct rule *rule, double key, int a)
{
    return key + (rule->add - rule->scale * rule->sum[a]);
}

/* row[a] = min(row[a], value of the best stage [a, b) in front of from[b]). */
static void put_stage(const struct counted_node *node, const struct rule *rule, const double *from,
                      double *row)
{
    const struct ticks *ticks = node->counted->program->ticks;
    double *keys = node->scratch->keys;
    int *ends = node->scratch->ends, head = 0, tail = 0, low = node->low, next = low + 1;
    for (int a = low; a < low + node->width - 1; a++) {
        if (next <= a)
            next = a + 1;
        for (; next < low + node->width && rule_allows(rule, ticks, a, next); next++) {
            double key = rule_key(rule, from[next - low], next);
            if (key == INFINITY)
                continue;
            while (tail > head && keys[tail - 1] >= key)
                tail--;
            keys[tail] = key;
            ends[tail++] = next;
        }
        while (head < tail && (ends[head] <= a || rule->sum[ends[head]] - rule->sum[a] < rule->min))
            head++;
        if (head < tail)
            row[a - low] = fmin(row[a - low], rule_value(rule, keys[head], a));
    }
}

void counted_drop_dominated(double *rows, int counts, int width, double *best)
{
    for (int i = 0; i < width; i++)
        best[i] = INFINITY;
    for (int count = 0; count < counts; count++, rows += width)
        for (int i = 0; i < width; i++)
            if (rows[i] < best[i])
                best[i] = rows[i];
            else
                rows[i] = INFINITY;
}

static bool is_empty(const double *row, int width)
{
    for (int i = 0; i < width; i++)
        if (row[i] < INFINITY)
            return false;
    return true;
}

/* May one more stage in front of `count` lead to phase `out`? Where there are phases, the bottleneck must still come: with
 * fewer than N stages behind, and not beyond the number that there can be. */
static bool may_follow(const struct counted *counted, int count, int out)
{
    return !counted->costs.phases || out == PLACED || count + 1 < counted->counts;
}

static void put_stages(const struct counted_node *node, int filled, int phase, int count)
{
    const struct counted *counted = node->counted;
    const double *from = counted_row(node, filled, phase, count);
    int next = counted_min(count + 1, counted->counts);
    if (is_empty(from, node->width) || next >= node->first_count + node->counts)
        return;
    for (int split = 0, devices = 1; filled + devices <= node->devices && filled % devices == 0;
         split++, devices *= 2)
        for (int out = phase; out < counted_phases(counted); out++)
            if (may_follow(counted, count, out)) {
                struct rule rule = rule_of(node, split, phase, out, next);
                put_stage(node, &rule, from, counted_row(node, filled + devices, out, next));
            }
}

void counted_fill(const struct counted_node *node)
{
    const struct counted *counted = node->counted;
    const struct reach *reach = &counted->program->reach;
    size_t total = counted_rows(node, node->devices + 1) * (size_t)node->width;
    for (size_t i = 0; i < total; i++)
        node->scratch->values[i] = INFINITY;
    const struct counted_range *kept = &counted->kept[node->behind];
    int low = kept->low > node->low ? kept->low : node->low;
    int last = counted_min(kept->last, node->first_count + node->counts - 1);
    for (int phase = 0; phase < counted_phases(counted); phase++)
        for (int count = node->first_count; count <= last; count++)
            memcpy(counted_row(node, 0, phase, count) + (low - node->low),
                   counted_values(counted, node->behind, phase, count) + (low - reach->first[node->behind]),
                   (size_t)(kept->high - low + 1) * sizeof(double));
    for (int filled = 0; filled <= node->devices; filled++)
        for (int phase = 0; phase < counted_phases(counted); phase++) {
            if (filled > 0)
                counted_drop_dominated(counted_row(node, filled, phase, node->first_count), node->counts,
                                       node->width, node->scratch->best);
            for (int count = node->first_count; count < node->first_count + node->counts; count++)
                put_stages(node, filled, phase, count);
        }
}

/* Finds the stage that `at` begins with: *before is what is behind it. Values are the same to the last bit. */
static bool find_stage(const struct counted_node *node, const struct counted_place *at,
                       struct counted_place *before, int *split)
{
    const struct counted *counted = node->counted;
    double value = counted_row(node, at->filled, at->phase, at->count)[at->layer - node->low];
    for (int k = 0, devices = 1; devices <= at->filled; k++, devices *= 2) {
        if ((at->filled - devices) % devices != 0)
            continue;
        for (int in = 0; in <= at->phase; in++)
            for (int count = at->count == counted->counts ? at->count : at->count - 1;
                 count >= at->count - 1 && count >= node->first_count; count--) {
                if (!may_follow(counted, count, at->phase))
                    continue;
                const double *from = counted_row(node, at->filled - devices, in, count);
                struct rule rule = rule_of(node, k, in, at->phase, at->count);
                for (int b = at->layer + 1; b < node->low + node->width; b++) {
                    if (from[b - node->low] == INFINITY ||
                        !rule_allows(&rule, counted->program->ticks, at->layer, b) ||
                        rule.sum[b] - rule.sum[at->layer] < rule.min ||
                        rule_value(&rule, rule_key(&rule, from[b - node->low], b), at->layer) != value)
                        continue;
                    *before = (struct counted_place){b, at->filled - devices, in, count};
                    *split = k;
                    return true;
                }
            }
    }
    return false;
}

int counted_node_path(const struct counted_node *node, struct counted_place *at, int number,
                      struct tile_stage *stages)
{
    struct counted_place step = *at, before;
    int count = 0;
    for (step.filled = node->devices; step.filled > 0; step = before) {
        int split;
        if (!find_stage(node, &step, &before, &split))
            return 0;
        stages[count++] = (struct tile_stage){
            .group = node->group, .split = split, .first = step.layer, .end = before.layer, .node = number};
    }
    *at = step;
    return count;
}
