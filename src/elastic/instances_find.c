/* Is there a set of instances whose slowest pipeline takes at most Z?
 *
 * Bound. For a limit Z of the slowest pipeline, an instance of shape t does cap_t(Z) micro-batches, and a
 * set is possible only if sum x_t cap_t(Z) >= B. With prices y_k >= 0 of nodes and q >= 0 of pipelines, of
 * which at most P are allowed, any set does at most
 *
 *     sum_k y_k nodes_k + q P - sum_t r_t x_t,    r_t = sum_k y_k need_t[k] + q pipelines_t - cap_t(Z),
 *
 * if all r_t >= 0. The prices are those of the linear program (plan/fleet); whatever they are, the bound
 * holds.
 *
 * Search for one Z and P. States (nodes used of each kind, pipelines, copies up to F + 1) with the most
 * micro-batches that reach them, shape after shape, the dearest r_t first. A state is dropped when its
 * micro-batches and the bound of the rest stay below B. So few shapes are ever combined: the sum of r_t
 * x_t may not exceed what the bound is above B. There are never more states than combinations of nodes,
 * pipelines and copies. */
#include "core/hash.h"
#include "core/vector.h"
#include "elastic/instances_make.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LABELS (1 << 17)

static int64_t capacity_of(const struct instance_search *s, int shape, double limit)
{
    const struct elastic_shape *of = &s->kit->shapes[shape];
    int64_t sum = 0;
    for (int l = 0; l < of->line_count; l++) {
        int64_t each = elastic_line_within(&of->lines[l], limit, s->kit->batch);
        if (each < 1)
            return 0;
        sum += each * of->lines[l].copies;
    }
    return sum < s->kit->batch ? sum : s->kit->batch;
}

int elastic_max_count(const struct instance_search *s, int shape, const int *nodes, int64_t pipelines)
{
    const struct elastic_shape *of = &s->kit->shapes[shape];
    int64_t most = pipelines / of->pipelines;
    for (int k = 0; k < s->kit->kind_count; k++)
        if (of->need[k] > 0 && nodes[k] / of->need[k] < most)
            most = nodes[k] / of->need[k];
    return (int)most;
}

/* Solves the linear program of one limit over the first shapes of the order. Sets columns, prices and
 * amounts; returns the bound of micro-batches. */
double elastic_relax(struct instance_search *s, double limit, int to, int64_t pipelines, int *column_count)
{
    int count = 0;
    for (int i = 0; i <= to; i++) {
        const struct elastic_shape *shape = &s->kit->shapes[s->order[i]];
        int64_t capacity = capacity_of(s, s->order[i], limit);
        if (capacity == 0 || shape->pipelines > pipelines)
            continue;
        s->columns[count] = (struct elastic_column){.shape = s->order[i], .capacity = capacity};
        s->values[count] = (double)capacity;
        memcpy(s->uses[count], shape->need, (size_t)s->kit->kind_count * sizeof(int));
        s->uses[count][s->rows - 1] = shape->pipelines;
        count++;
    }
    *column_count = count;
    if (count == 0)
        return 0;
    for (int k = 0; k < s->kit->kind_count; k++)
        s->limits[k] = s->nodes[k];
    s->limits[s->rows - 1] = (double)pipelines;
    fleet_program(count, s->rows, s->values, s->uses, s->limits, s->amounts, s->prices);
    double bound = 0;
    for (int r = 0; r < s->rows; r++)
        bound += s->prices[r] * s->limits[r];
    for (int i = 0; i < count; i++) {
        double reduced = -(double)s->columns[i].capacity;
        for (int r = 0; r < s->rows; r++)
            reduced += s->prices[r] * s->uses[i][r];
        s->columns[i].reduced = reduced;
        if (reduced < 0)
            bound -= reduced * elastic_max_count(s, s->columns[i].shape, s->nodes, pipelines);
    }
    return bound;
}

/* Rounds the program's amounts down and fills up with the largest capacities that fit. Returns whether
 * that is enough. */
static bool round_down(struct instance_search *s, int count, int64_t pipelines)
{
    int left[ELASTIC_MAX_KINDS];
    int64_t sum = 0;
    memcpy(left, s->nodes, (size_t)s->kit->kind_count * sizeof *left);
    memset(s->found, 0, (size_t)s->kit->shape_count * sizeof *s->found);
    for (int pass = 0; pass < 2; pass++)
        for (;;) {
            int best = -1, take = 0;
            for (int i = 0; i < count; i++) {
                int room = elastic_max_count(s, s->columns[i].shape, left, pipelines);
                int wanted =
                    pass == 0 ? (int)(s->amounts[i] + ELASTIC_FUZZ) - s->found[s->columns[i].shape] : 1;
                wanted = wanted < room ? wanted : room;
                if (wanted > 0 && (best < 0 || s->columns[i].capacity > s->columns[best].capacity)) {
                    best = i;
                    take = wanted;
                }
            }
            if (best < 0)
                break;
            const struct elastic_shape *shape = &s->kit->shapes[s->columns[best].shape];
            s->found[s->columns[best].shape] += take;
            sum += s->columns[best].capacity * take;
            pipelines -= (int64_t)take * shape->pipelines;
            for (int k = 0; k < s->kit->kind_count; k++)
                left[k] -= take * shape->need[k];
        }
    return sum >= s->kit->batch && elastic_copies_in(s, s->found) > s->faults;
}

static int dearest_first(const void *a, const void *b)
{
    const struct elastic_column *x = a, *y = b;
    return x->reduced != y->reduced ? (x->reduced < y->reduced) - (x->reduced > y->reduced)
                                    : (x->shape > y->shape) - (x->shape < y->shape);
}

/* One number for each state; 0: there are too many. */
static uint64_t key_of(const struct instance_search *s, const struct elastic_label *label, int64_t pipelines)
{
    long double range = 1;
    uint64_t key = 0;
    for (int k = 0; k < s->kit->kind_count; k++) {
        key = key * ((uint64_t)s->nodes[k] + 1) + (uint64_t)label->used[k];
        range *= (long double)s->nodes[k] + 1;
    }
    key = key * ((uint64_t)pipelines + 1) + (uint64_t)label->pipelines;
    key = key * ((uint64_t)s->faults + 2) + (uint64_t)label->copies;
    range *= ((long double)pipelines + 1) * ((long double)s->faults + 2);
    return range < 9e18L ? key + 1 : 0;
}

static void take_found(struct instance_search *s, const struct elastic_label *label)
{
    memset(s->found, 0, (size_t)s->kit->shape_count * sizeof *s->found);
    for (; label->parent >= 0; label = &s->labels[label->parent])
        s->found[s->columns[label->column].shape]++;
}

/* Adds one instance of a column to a label. */
static enum elastic_outcome extend(struct instance_search *s, struct hash_map *states, int parent, int column,
                                   int64_t pipelines)
{
    struct elastic_label next = s->labels[parent];
    const struct elastic_shape *shape = &s->kit->shapes[s->columns[column].shape];
    double rest = 0;
    next.capacity += s->columns[column].capacity;
    next.pipelines += shape->pipelines;
    next.copies = next.copies + shape->copies <= s->faults ? next.copies + shape->copies : s->faults + 1;
    next.parent = parent;
    next.column = column;
    if (next.pipelines > pipelines)
        return OUTCOME_NONE;
    for (int k = 0; k < s->kit->kind_count; k++) {
        next.used[k] += shape->need[k];
        if (next.used[k] > s->nodes[k])
            return OUTCOME_NONE;
        rest += s->prices[k] * (s->nodes[k] - next.used[k]);
    }
    rest += s->prices[s->rows - 1] * (double)(pipelines - next.pipelines);
    if ((double)next.capacity + rest < (double)s->kit->batch - ELASTIC_FUZZ)
        return OUTCOME_NONE;
    if (next.capacity >= s->kit->batch && next.copies > s->faults) {
        take_found(s, &next);
        return OUTCOME_FOUND;
    }
    int64_t *at = hash_map_place(states, key_of(s, &next, pipelines));
    if (!at) {
        s->failed = true;
        return OUTCOME_UNKNOWN;
    }
    if (*at > 0 && s->labels[*at - 1].capacity >= next.capacity)
        return OUTCOME_NONE;
    if (*at > 0)
        s->labels[*at - 1].dead = true;
    if (s->label_count >= MAX_LABELS)
        return OUTCOME_UNKNOWN;
    if (!VECTOR_ADD(s->labels, s->label_count, s->label_capacity, next)) {
        s->failed = true;
        return OUTCOME_UNKNOWN;
    }
    *at = (int64_t)s->label_count;
    return OUTCOME_NONE;
}

/* Whether some set of the first shapes of the order does the batch within the limit; the set is s->found. */
enum elastic_outcome elastic_find_set(struct instance_search *s, double limit, int to, int64_t pipelines)
{
    int count;
    double bound = elastic_relax(s, limit, to, pipelines, &count);
    struct elastic_label start = {.parent = -1, .column = -1};
    if (bound < (double)s->kit->batch - ELASTIC_FUZZ)
        return OUTCOME_NONE;
    if (round_down(s, count, pipelines))
        return OUTCOME_FOUND;
    if (key_of(s, &start, pipelines) == 0 || s->unknown > ELASTIC_MAX_UNKNOWN)
        return OUTCOME_UNKNOWN;
    qsort(s->columns, (size_t)count, sizeof *s->columns, dearest_first);
    struct hash_map states = {0};
    enum elastic_outcome outcome = OUTCOME_NONE;
    s->label_count = 0;
    if (!VECTOR_ADD(s->labels, s->label_count, s->label_capacity, start)) {
        s->failed = true;
        return OUTCOME_UNKNOWN;
    }
    /* labels made by a column are at the end, and take a further instance of it in the same pass */
    for (int c = 0; c < count && outcome == OUTCOME_NONE; c++)
        for (size_t i = 0; i < s->label_count && outcome == OUTCOME_NONE; i++)
            if (!s->labels[i].dead)
                outcome = extend(s, &states, (int)i, c, pipelines);
    hash_map_release(&states);
    return outcome;
}
