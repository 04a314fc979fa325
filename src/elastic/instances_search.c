/* The search for instances.h; its first half decides one limit of the slowest pipeline.
 *
 * Search over the exchange. It grows with the pipelines P, and with the shape that is slowest at it.
 * Shapes are sorted by it; a box is a range of the slowest shape and a range of P. In a box a better set
 * needs a slowest pipeline below (best so far) - (minimum exchange of the box), with the shapes up to the
 * box's last and at most its largest P. If there is none, the box is done. If one is found that is better,
 * it is the best so far; else the box is halved. When all boxes are done, the best set is proven optimal. */
#include "core/hash.h"
#include "core/stop.h"
#include "core/text.h"
#include "core/vector.h"
#include "elastic/instances.h"
#include "plan/fleet/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ELASTIC_FUZZ        1e-6 /* micro-batches: rounding of the linear program */
#define ELASTIC_MAX_UNKNOWN 32 /* boxes with too many labels; then only the linear program dismisses boxes */

struct elastic_column {
    int shape;
    int64_t capacity;
    double reduced; /* r_t */
};

struct elastic_label {
    int64_t capacity;
    int used[ELASTIC_MAX_KINDS];
    int pipelines, copies; /* copies up to faults + 1 */
    int parent;            /* a label with one instance of `column` less; -1: none */
    int column;
    bool dead; /* another label reaches the same state with more */
};

struct instance_search {
    const struct elastic_kit *kit;
    const int *nodes;
    int faults, rows;
    int count, *order; /* shapes that fit, by their exchange */
    struct elastic_column *columns;
    int (*uses)[FLEET_MAX_ROWS];
    double *values, *amounts, prices[FLEET_MAX_ROWS], limits[FLEET_MAX_ROWS];
    struct elastic_label *labels;
    size_t label_count, label_capacity;
    int *counts, *found; /* [shape] scratch; the set of the last search */
    struct elastic_set best;
    double bound;      /* no set is faster */
    int unknown;       /* boxes with too many labels so far */
    double open_bound; /* of the boxes that were given up */
    bool unproven, failed;
};

enum elastic_outcome { OUTCOME_NONE, OUTCOME_FOUND, OUTCOME_UNKNOWN };

static int64_t elastic_copies_in(const struct instance_search *s, const int *counts);

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

/* The most instances of a shape on these nodes, with so many pipelines. */
static int elastic_max_count(const struct instance_search *s, int shape, const int *nodes, int64_t pipelines)
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
static double elastic_relax(struct instance_search *s, double limit, int to, int64_t pipelines,
                            int *column_count)
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
static enum elastic_outcome elastic_find_set(struct instance_search *s, double limit, int to,
                                             int64_t pipelines)
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

#define MAX_BOXES 4096
#define SAME      (1 - 1e-12)
#define NARROW    1e-3 /* relative: exchange within a box that is not halved again without need */
#define CLOSE     1e-4 /* relative: where bisection of the iteration time ends */
#define HALVINGS  40

struct box {
    int from, to;     /* of the order: the slowest shape at the exchange */
    int64_t min, max; /* pipelines */
};

static int64_t elastic_copies_in(const struct instance_search *s, const int *counts)
{
    int64_t copies = 0;
    for (int t = 0; t < s->kit->shape_count; t++)
        copies += (int64_t)counts[t] * s->kit->shapes[t].copies;
    return copies;
}

/* Keeps a set if it is the best so far. */
static bool offer(struct instance_search *s, const int *counts)
{
    struct elastic_set set = {.counts = (int *)counts};
    struct error error;
    if (elastic_copies_in(s, counts) <= s->faults)
        return false;
    if (!elastic_set_score(&set, s->kit, &error)) {
        s->failed = true;
        return false;
    }
    if (!(set.seconds < s->best.seconds * SAME))
        return false;
    memcpy(s->best.counts, counts, (size_t)s->kit->shape_count * sizeof *counts);
    set.counts = s->best.counts;
    s->best = set;
    return true;
}

/* ---- all limits ---- */

static double min_exchange(const struct instance_search *s, const struct box *box)
{
    double least = INFINITY;
    for (int i = box->from; i <= box->to; i++)
        least = fmin(least, elastic_exchange(&s->kit->shapes[s->order[i]], box->min));
    return least;
}

/* Sets of one shape, the rest filled up with others: the first best. */
static void try_each(struct instance_search *s, int64_t pipelines)
{
    for (int i = 0; i < s->count; i++) {
        int left[ELASTIC_MAX_KINDS];
        int64_t rest = pipelines;
        memcpy(left, s->nodes, (size_t)s->kit->kind_count * sizeof *left);
        memset(s->counts, 0, (size_t)s->kit->shape_count * sizeof *s->counts);
        for (int turn = 0; turn <= s->count; turn++) {
            int shape = s->order[turn == 0 ? i : s->count - turn];
            int most = elastic_max_count(s, shape, left, rest);
            s->counts[shape] += most;
            rest -= (int64_t)most * s->kit->shapes[shape].pipelines;
            for (int k = 0; k < s->kit->kind_count; k++)
                left[k] -= most * s->kit->shapes[shape].need[k];
            if (most > 0)
                offer(s, s->counts);
        }
    }
}

/* The earliest limit at which the linear program does the batch with the shapes and pipelines of a box: with
 * the box's least exchange it bounds the box's sets. */
static double relaxed_limit(struct instance_search *s, const struct box *box, double high)
{
    double low = 0;
    for (int i = 0; i < HALVINGS && high - low > 1e-9 * high; i++) {
        double middle = (low + high) / 2;
        int count;
        if (elastic_relax(s, middle, box->to, box->max, &count) < (double)s->kit->batch - ELASTIC_FUZZ)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A box that the search cannot finish has only that bound. */
static void give_up(struct instance_search *s, const struct box *box)
{
    double bound = relaxed_limit(s, box, s->best.seconds) + min_exchange(s, box);
    s->open_bound = s->unproven ? fmin(s->open_bound, bound) : bound;
    s->unproven = true;
}

/* Halves the gap between the bound and the best set, as long as that works with the whole box. */
static void bisect(struct instance_search *s, const struct box *all)
{
    double exchange = min_exchange(s, all);
    while (s->best.seconds - s->bound > CLOSE * s->best.seconds && !s->failed && !stop_wanted()) {
        double middle = (s->bound + s->best.seconds) / 2;
        enum elastic_outcome outcome = elastic_find_set(s, middle - exchange, all->to, all->max);
        if (outcome == OUTCOME_NONE)
            s->bound = middle;
        else if (outcome == OUTCOME_UNKNOWN || !offer(s, s->found))
            break;
    }
}

static bool halve(struct instance_search *s, const struct box *box, struct box halves[2])
{
    const struct elastic_shape *first = &s->kit->shapes[s->order[box->from]],
                               *last = &s->kit->shapes[s->order[box->to]];
    double by_shape = elastic_exchange(last, box->min) - elastic_exchange(first, box->min);
    double by_pipelines = elastic_exchange(first, box->max) - elastic_exchange(first, box->min);
    halves[0] = halves[1] = *box;
    if (box->from < box->to && (by_shape >= by_pipelines || box->min == box->max)) {
        halves[0].to = (box->from + box->to) / 2;
        halves[1].from = halves[0].to + 1;
    } else if (box->min < box->max) {
        int64_t middle = (box->min + box->max) / 2;
        /* the exchange changes fastest where pipelines are few */
        halves[0].max = middle < 2 * box->min ? middle : 2 * box->min - 1;
        halves[1].min = halves[0].max + 1;
    } else
        return false;
    return true;
}

/* Returns whether halving a box that cannot be finished would hardly raise its bound. */
static bool is_narrow(const struct instance_search *s, const struct box *box)
{
    double most = 0;
    for (int i = box->from; i <= box->to; i++)
        most = fmax(most, elastic_exchange(&s->kit->shapes[s->order[i]], box->max));
    return s->unknown > ELASTIC_MAX_UNKNOWN && most - min_exchange(s, box) < NARROW * s->best.seconds;
}

static void search_boxes(struct instance_search *s, struct box all)
{
    struct box *boxes = NULL;
    size_t count = 0, capacity = 0;
    int done = 0;
    s->failed |= !VECTOR_ADD(boxes, count, capacity, all);
    while (count > 0 && !s->failed && !stop_wanted()) {
        struct box box = boxes[--count], halves[2];
        enum elastic_outcome outcome;
        do
            outcome = elastic_find_set(s, (s->best.seconds - min_exchange(s, &box)) * SAME, box.to, box.max);
        while (outcome == OUTCOME_FOUND && offer(s, s->found));
        if (outcome == OUTCOME_NONE)
            continue;
        s->unknown += outcome == OUTCOME_UNKNOWN;
        if (++done > MAX_BOXES || (outcome == OUTCOME_UNKNOWN && is_narrow(s, &box)) ||
            !halve(s, &box, halves))
            give_up(s, &box);
        else
            for (int i = 1; i >= 0; i--)
                s->failed |= !VECTOR_ADD(boxes, count, capacity, halves[i]);
    }
    free(boxes);
}

/* ---- the question ---- */

static bool make_arrays(struct instance_search *s)
{
    size_t shapes = (size_t)s->kit->shape_count + 1;
    s->order = calloc(shapes, sizeof *s->order);
    s->columns = calloc(shapes, sizeof *s->columns);
    s->uses = calloc(shapes, sizeof *s->uses);
    s->values = calloc(shapes, sizeof *s->values);
    s->amounts = calloc(shapes, sizeof *s->amounts);
    s->counts = calloc(shapes, sizeof *s->counts);
    s->found = calloc(shapes, sizeof *s->found);
    s->best.counts = calloc(shapes, sizeof *s->best.counts);
    return s->order && s->columns && s->uses && s->values && s->amounts && s->counts && s->found &&
           s->best.counts;
}

static void free_arrays(struct instance_search *s)
{
    free(s->order);
    free(s->columns);
    free(s->uses);
    free(s->values);
    free(s->amounts);
    free(s->counts);
    free(s->found);
    free(s->labels);
}

/* Shapes that fit into the nodes, by their exchange; ties by index. Shapes that leave no room for the
 * other copies are no part of any set: each of those takes one more instance. */
static void order_shapes(struct instance_search *s)
{
    int total = 0, smallest = ELASTIC_MAX_NODES, most_copies = 1;
    for (int k = 0; k < s->kit->kind_count; k++)
        total += s->nodes[k];
    for (int t = 0; t < s->kit->shape_count; t++) {
        smallest = s->kit->shapes[t].nodes < smallest ? s->kit->shapes[t].nodes : smallest;
        most_copies = s->kit->shapes[t].copies > most_copies ? s->kit->shapes[t].copies : most_copies;
    }
    for (int t = 0; t < s->kit->shape_count; t++) {
        const struct elastic_shape *shape = &s->kit->shapes[t];
        int missing = s->faults + 1 - shape->copies;
        int others = missing > 0 ? (missing + most_copies - 1) / most_copies : 0;
        if (elastic_max_count(s, t, s->nodes, s->kit->batch) < 1 || shape->nodes + others * smallest > total)
            continue;
        int at = s->count++;
        for (; at > 0 && elastic_exchange(&s->kit->shapes[s->order[at - 1]], 2) > elastic_exchange(shape, 2);
             at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = t;
    }
}

static int64_t max_pipelines(const struct instance_search *s)
{
    double share = 0, total = 0;
    for (int k = 0; k < s->kit->kind_count; k++)
        total += s->nodes[k];
    for (int i = 0; i < s->count; i++) {
        const struct elastic_shape *shape = &s->kit->shapes[s->order[i]];
        share = fmax(share, (double)shape->pipelines / shape->nodes);
    }
    return share * total < (double)s->kit->batch ? (int64_t)(share * total + ELASTIC_FUZZ) : s->kit->batch;
}

static bool no_set(const struct elastic_kit *kit, const int *nodes, int faults, struct error *err)
{
    const struct elastic_shape *best = &kit->shapes[0];
    for (int t = 1; t < kit->shape_count; t++) {
        const struct elastic_shape *shape = &kit->shapes[t];
        int copies = faults + 1;
        if ((copies + shape->copies - 1) / shape->copies * shape->nodes <
            (copies + best->copies - 1) / best->copies * best->nodes)
            best = shape;
    }
    int instances = (faults + best->copies) / best->copies;
    if ((int64_t)instances * best->pipelines > kit->batch)
        return error_set(err, ERROR_INFEASIBLE,
                         "no instances: %d copies of every layer need %d pipelines, but an iteration has "
                         "only %lld micro-batches",
                         faults + 1, instances * best->pipelines, (long long)kit->batch);
    struct text there = {0};
    for (int k = 0; k < kit->kind_count; k++)
        text_format(&there, "%s%d x %s", k > 0 ? " + " : "", nodes[k], kit->kinds[k].name);
    error_set(err, ERROR_INFEASIBLE,
              "no instances: --faults %d needs %d cop%s of every layer, that is %d instance%s of %s or "
              "larger, but the nodes are %.400s",
              faults, faults + 1, faults == 0 ? "y" : "ies", instances, instances == 1 ? "" : "s", best->name,
              there.data ? there.data : "none");
    text_release(&there);
    return false;
}

static bool has_one_copy(const struct elastic_kit *kit, int faults, struct error *err)
{
    if (!elastic_exists_once(kit) || faults == 0)
        return true;
    return error_set(err, ERROR_INFEASIBLE,
                     "each shard of the %s exists once, over %d pipelines (ZeRO): a loss needs a checkpoint "
                     "('--faults 0'); %s",
                     kit->sharded, kit->sharded_over, elastic_ways_to_survive(kit));
}

bool elastic_instances(struct elastic_set *set, const struct elastic_kit *kit, const int *nodes, int faults,
                       struct error *err)
{
    struct instance_search s = {.kit = kit, .nodes = nodes, .faults = faults, .rows = kit->kind_count + 1};
    s.best.seconds = INFINITY;
    memset(set, 0, sizeof *set);
    if (!has_one_copy(kit, faults, err))
        return false;
    s.failed = !make_arrays(&s);
    if (!s.failed)
        order_shapes(&s);
    struct box all = {.from = 0, .to = s.count - 1, .min = 1, .max = s.count > 0 ? max_pipelines(&s) : 0};
    if (!s.failed && s.count > 0) {
        try_each(&s, all.max);
        /* small cases apart, some set is known by now */
        if (!isfinite(s.best.seconds) && elastic_find_set(&s, 1e300, all.to, all.max) == OUTCOME_FOUND)
            offer(&s, s.found);
        if (isfinite(s.best.seconds)) {
            s.bound = relaxed_limit(&s, &all, s.best.seconds) + min_exchange(&s, &all);
            bisect(&s, &all);
            search_boxes(&s, all);
        }
    }
    free_arrays(&s);
    if (s.failed || !isfinite(s.best.seconds)) {
        elastic_set_release(&s.best);
        return s.failed ? error_memory(err) : no_set(kit, nodes, faults, err);
    }
    *set = s.best;
    set->proven = !s.unproven;
    set->bound = set->proven ? set->seconds : fmin(fmax(s.bound, s.open_bound), set->seconds);
    return true;
}
