#include "plan/exact/counted.h"
#include "core/stop.h"
#include "plan/exact/counted_node.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
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

/* Drops every value that is no less than one of a smaller count. */
static void counted_drop_dominated(double *rows, int counts, int width, double *best)
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

/* May one more stage in front of `count` lead to phase `out`? Where there are phases, the bottleneck must still come:
 * with fewer than N stages behind, and not beyond the number that there can be. */
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

/* Fills in the scratch: every way to fill the node's devices, in front of every pipeline behind. */
static void counted_fill(const struct counted_node *node)
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

/* Writes the stages of one node, which begin at *at, sets *at to what is behind them, and returns their number; 0: it
 * is not this node that the value came from. */
static int counted_node_path(const struct counted_node *node, struct counted_place *at, int number,
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

#define STATES_PER_PIECE 4

void counted_init(struct counted *counted, struct program *program)
{
    const struct ticks *ticks = program->ticks;
    int n = ticks->microbatches;
    *counted = (struct counted){
        .program = program,
        .counts = n > 0 && n < ticks->max_stages ? n : ticks->max_stages,
    };
}

static void release_scratch(struct counted *counted)
{
    for (int i = 0; i < counted->scratch_count; i++) {
        free(counted->scratch[i].values);
        free(counted->scratch[i].keys);
        free(counted->scratch[i].ends);
        free(counted->scratch[i].best);
    }
    free(counted->scratch);
    counted->scratch = NULL;
    counted->scratch_count = 0;
}

void counted_release(struct counted *counted)
{
    release_scratch(counted);
    free(counted->to);
    free(counted->nodes);
    free(counted->devices);
    free(counted->offset);
    free(counted->kept);
    free(counted->values);
}

/* --- sizes ---------------------------------------------------------------------------------------------- */

static size_t value_count(const struct counted *counted, uint32_t state)
{
    int counts = counted_last(counted, state) - counted_first(counted, state) + 1;
    return counts > 0 ? (size_t)(counted_phases(counted) * counts) * (size_t)counted_width(counted, state)
                      : 0;
}

/* Everything that a state may have. */
static struct counted_range all_of(const struct counted *counted, uint32_t state)
{
    const struct reach *reach = &counted->program->reach;
    return (struct counted_range){counted_first(counted, state), counted_last(counted, state),
                                  reach->first[state], reach->last[state]};
}

/* False: no layers or no stages can be there. `kept`: of the state behind. */
static bool node_init(struct counted_node *node, const struct counted *counted,
                      const struct counted_range *kept, uint32_t front, uint32_t behind, int group)
{
    if (counted_width(counted, front) == 0 || kept->first > kept->last || kept->low > kept->high)
        return false;
    int devices = 1 << (counted->program->ticks->groups[group].splits - 1);
    int low = counted->program->reach.first[front];
    *node = (struct counted_node){
        .counted = counted,
        .behind = behind,
        .front = front,
        .group = group,
        .devices = devices,
        .low = low,
        .width = kept->high - low + 1,
        .first_count = kept->first,
        .counts = counted_min(counted_last(counted, front), kept->last + devices) - kept->first + 1,
    };
    return node->width > 0 && node->counts > 0;
}

/* The state with one node of the group less in front of it, or LATTICE_NONE. */
static uint32_t behind_of(const struct counted *counted, uint32_t front, int group)
{
    return counted->to[(size_t)front * (size_t)counted->program->lattice->group_count + (size_t)group];
}

static bool kept_node(struct counted_node *node, const struct counted *counted, uint32_t front, int group)
{
    uint32_t behind = behind_of(counted, front, group);
    return behind != LATTICE_NONE && node_init(node, counted, &counted->kept[behind], front, behind, group);
}

static bool allocate_states(struct counted *counted)
{
    const struct lattice *lattice = counted->program->lattice;
    size_t groups = (size_t)lattice->group_count, links = lattice->count * groups;
    counted->to = malloc(links * sizeof *counted->to);
    counted->nodes = calloc(lattice->count, sizeof *counted->nodes);
    counted->devices = calloc(lattice->count, sizeof *counted->devices);
    counted->offset = malloc(((size_t)lattice->count + 1) * sizeof *counted->offset);
    counted->kept = malloc(lattice->count * sizeof *counted->kept);
    if (!counted->to || !counted->nodes || !counted->devices || !counted->offset || !counted->kept)
        return false;
    for (size_t i = 0; i < links; i++)
        counted->to[i] = LATTICE_NONE;
    for (uint32_t state = lattice->count - 1; state > 0; state--)
        for (size_t g = 0; g < groups; g++) {
            uint32_t from = lattice->from[state * groups + g];
            if (from == LATTICE_NONE)
                continue;
            counted->to[from * groups + g] = state;
            if (counted->program->ticks->space == SPACE_ALL)
                counted->nodes[from] = counted->nodes[state] + 1;
            counted->devices[from] =
                counted_max(counted->devices[from],
                            counted->devices[state] + (1 << (counted->program->ticks->groups[g].splits - 1)));
        }
    return true;
}

static bool allocate_scratch(struct counted *counted, size_t values)
{
    size_t length = (size_t)counted->program->ticks->layer_count + 1;
    release_scratch(counted);
    int threads = parallel_threads(counted->program->pool);
    counted->scratch = calloc((size_t)threads, sizeof *counted->scratch);
    if (!counted->scratch)
        return false;
    counted->scratch_count = threads;
    for (int i = 0; i < threads; i++) {
        struct counted_scratch *scratch = &counted->scratch[i];
        scratch->values = malloc(values * sizeof(double));
        scratch->keys = malloc(length * sizeof(double));
        scratch->ends = malloc(length * sizeof(int));
        scratch->best = malloc(length * sizeof(double));
        if (!scratch->values || !scratch->keys || !scratch->ends || !scratch->best)
            return false;
    }
    return true;
}

static enum program_status lay_out(struct counted *counted)
{
    const struct lattice *lattice = counted->program->lattice;
    size_t total = 0, max = 1;
    for (uint32_t state = 0; state < lattice->count; state++) {
        counted->offset[state] = total;
        total += value_count(counted, state);
        for (int g = 0; g < lattice->group_count; g++) {
            struct counted_node node;
            uint32_t behind = behind_of(counted, state, g);
            if (behind == LATTICE_NONE)
                continue;
            struct counted_range all = all_of(counted, behind);
            if (!node_init(&node, counted, &all, state, behind, g))
                continue;
            size_t values = counted_rows(&node, node.devices + 1) * (size_t)node.width;
            max = values > max ? values : max;
        }
    }
    counted->offset[lattice->count] = total;
    counted->value_count = total;
    size_t threads = (size_t)parallel_threads(counted->program->pool);
    if (total > counted->program->max_values || max > counted->program->max_values / threads)
        return PROGRAM_TOO_LARGE;
    if (total > counted->capacity) {
        free(counted->values);
        counted->values = malloc(total * sizeof(double));
        counted->capacity = counted->values ? total : 0;
    }
    return counted->values && allocate_scratch(counted, max) ? PROGRAM_DONE : PROGRAM_NO_MEMORY;
}

/* --- all nodes ------------------------------------------------------------------------------------------ */

/* The cheapest front of a pipeline whose rest is at a state, by the program that does not count. */
static double front_value(const struct counted *counted, uint32_t state, int layer, int phase)
{
    return program_value(counted->program, state, layer, phase);
}

/* What a pipeline's value is at least, without the rest behind: with its bottleneck among the front's stages (BEHIND)
 * there may be as many after it as fit, each worth `reward` more than to the front's program. */
static double front_of(const struct counted *counted, uint32_t state, int layer, int phase, int count)
{
    if (!counted->costs.phases || phase == PLACED)
        return front_value(counted, state, layer, 0);
    return front_value(counted, state, layer, 1) -
           (counted->limit.most_after - count) * counted->limit.reward;
}

/* Drops the values that lead to nothing below the limit; sets the range of those that are kept. */
static void keep_promising(struct counted *counted, uint32_t state, int first, int last, int low, int high)
{
    struct counted_range kept = {last + 1, first - 1, high + 1, low - 1};
    for (int phase = 0; phase < counted_phases(counted); phase++)
        for (int count = first; count <= last; count++) {
            double *row = counted_values(counted, state, phase, count) - counted->program->reach.first[state];
            for (int layer = low; layer <= high; layer++) {
                if (row[layer] == INFINITY)
                    continue;
                if (row[layer] + front_of(counted, state, layer, phase, count) >= counted->limit.below) {
                    row[layer] = INFINITY;
                    continue;
                }
                kept.first = counted_min(kept.first, count);
                kept.last = counted_max(kept.last, count);
                kept.low = counted_min(kept.low, layer);
                kept.high = counted_max(kept.high, layer);
            }
        }
    counted->kept[state] = kept;
}

/* May everything behind a state be idle? */
static bool ends_at(const struct counted *counted, uint32_t state)
{
    const struct ticks *ticks = counted->program->ticks;
    return ticks->space != SPACE_ALL && counted->program->reach.last[state] >= ticks->layer_count;
}

/* The counts that a state's nodes lead to. */
static void counts_of(const struct counted *counted, uint32_t state, int *first, int *last, int *high)
{
    *first = INT_MAX;
    *last = *high = -1;
    for (int g = 0; g < counted->program->lattice->group_count; g++) {
        struct counted_node node;
        if (!kept_node(&node, counted, state, g))
            continue;
        *first = counted_min(*first, counted_max(node.first_count, counted_first(counted, state)));
        *last = counted_max(*last, node.first_count + node.counts - 1);
        *high = counted_max(*high, node.low + node.width - 1);
    }
    if (ends_at(counted, state)) {
        *first = 0;
        *last = counted_max(*last, 0);
        *high = counted->program->ticks->layer_count;
    }
    *high = counted_min(*high, counted->program->reach.last[state]);
}

static void solve_state(struct counted *counted, uint32_t state, const struct counted_scratch *scratch)
{
    int first, last, high, low = counted->program->reach.first[state];
    counts_of(counted, state, &first, &last, &high);
    counted->kept[state] = (struct counted_range){0, -1, 0, -1};
    if (first > last || low > high)
        return;
    for (int phase = 0; phase < counted_phases(counted); phase++)
        for (int count = first; count <= last; count++)
            for (int i = 0; i < counted_width(counted, state); i++)
                counted_values(counted, state, phase, count)[i] = INFINITY;
    if (ends_at(counted, state))
        counted_values(counted, state, BEHIND, 0)[counted->program->ticks->layer_count - low] = 0;
    for (int g = 0; g < counted->program->lattice->group_count; g++) {
        struct counted_node node;
        if (!kept_node(&node, counted, state, g))
            continue;
        node.scratch = scratch;
        counted_fill(&node);
        int width = counted_min(high, node.low + node.width - 1) - node.low + 1;
        for (int phase = 0; phase < counted_phases(counted); phase++)
            for (int count = counted_max(first, node.first_count); count < node.first_count + node.counts;
                 count++)
                tile_relax(counted_values(counted, state, phase, count),
                           counted_row(&node, node.devices, phase, count), 0, width);
    }
    for (int phase = 0; phase < counted_phases(counted); phase++)
        counted_drop_dominated(counted_values(counted, state, phase, first), last - first + 1,
                               counted_width(counted, state), scratch->best);
    keep_promising(counted, state, first, last, low, high);
}

struct level {
    struct counted *counted;
    size_t first;
};

static void solve_states(void *context, size_t first, size_t last, int thread)
{
    const struct level *level = context;
    struct program *program = level->counted->program;
    for (size_t i = first; i < last; i++) {
        if (stop_is_late(program->deadline))
            atomic_store_explicit(&program->stopped, true, memory_order_relaxed);
        if (atomic_load_explicit(&program->stopped, memory_order_relaxed))
            return;
        solve_state(level->counted, (uint32_t)(level->first + i), &level->counted->scratch[thread]);
    }
}

/* The least value at the front of the pipeline, and where it is. */
static double final_value(const struct counted *counted, int *phase, int *count)
{
    double best = INFINITY;
    *phase = counted_phases(counted) - 1;
    for (int i = counted->kept[0].first; i <= counted->kept[0].last; i++) {
        double value = counted_values(counted, 0, *phase, i)[0];
        if (value < best) {
            best = value;
            *count = i;
        }
    }
    return best;
}

enum program_status counted_solve(struct counted *counted, const struct tile_costs *costs,
                                  const struct counted_limit *limit, double *value)
{
    struct program *program = counted->program;
    const struct lattice *lattice = program->lattice;
    uint32_t end = lattice->count - 1;
    counted->costs = *costs;
    counted->limit = *limit;
    counted->value_count = 0;
    if (!counted->to && !allocate_states(counted))
        return PROGRAM_NO_MEMORY;
    if (value_count(counted, 0) == 0 || value_count(counted, end) == 0)
        return PROGRAM_INFEASIBLE;
    enum program_status status = lay_out(counted);
    if (status != PROGRAM_DONE)
        return status;
    for (int phase = 0; phase < counted_phases(counted); phase++)
        *counted_values(counted, end, phase, 0) = phase == BEHIND ? 0 : INFINITY;
    counted->kept[end] = all_of(counted, end);
    atomic_store(&program->stopped, false);
    for (int k = lattice->level_count - 2; k >= 0; k--) {
        struct level level = {counted, lattice->level_start[k]};
        size_t count = lattice->level_start[k + 1] - lattice->level_start[k];
        parallel_for(program->pool, count, STATES_PER_PIECE, solve_states, &level);
    }
    if (atomic_load(&program->stopped))
        return PROGRAM_STOPPED;
    int phase, count;
    *value = final_value(counted, &phase, &count);
    return *value < INFINITY ? PROGRAM_DONE : PROGRAM_INFEASIBLE;
}

/* --- the pipeline --------------------------------------------------------------------------------------- */

int counted_path(struct counted *counted, struct tile_stage *stages)
{
    const struct lattice *lattice = counted->program->lattice;
    uint32_t state = 0;
    struct counted_place at = {0};
    int count = 0;
    final_value(counted, &at.phase, &at.count);
    for (int number = 0; at.layer < counted->program->ticks->layer_count; number++) {
        double value = counted_values(counted, state, at.phase,
                                      at.count)[at.layer - counted->program->reach.first[state]];
        int added = 0;
        for (int g = 0; g < lattice->group_count && added == 0; g++) {
            struct counted_node node;
            if (!kept_node(&node, counted, state, g))
                continue;
            node.scratch = &counted->scratch[0];
            counted_fill(&node);
            if (at.count < node.first_count || at.count >= node.first_count + node.counts ||
                at.layer - node.low >= node.width ||
                counted_row(&node, node.devices, at.phase, at.count)[at.layer - node.low] != value)
                continue;
            added = counted_node_path(&node, &at, number, stages + count);
            if (added > 0)
                state = node.behind;
        }
        if (added == 0)
            return 0;
        count += added;
    }
    return count;
}
