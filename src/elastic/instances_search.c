/* The search for instances.h; instances_find.c decides one limit of the slowest pipeline.
 *
 * Search over the exchange. It grows with the pipelines P, and with the shape that is slowest at it.
 * Shapes are sorted by it; a box is a range of the slowest shape and a range of P. In a box a better set
 * needs a slowest pipeline below (best so far) - (minimum exchange of the box), with the shapes up to the
 * box's last and at most its largest P. If there is none, the box is done. If one is found that is better,
 * it is the best so far; else the box is halved. When all boxes are done, the best set is proven optimal. */
#include "elastic/instances_make.h"

#include "core/stop.h"
#include "core/text.h"
#include "core/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BOXES 4096
#define SAME      (1 - 1e-12)
#define NARROW    1e-3 /* relative: exchange within a box that is not halved again without need */
#define CLOSE     1e-4 /* relative: where bisection of the iteration time ends */
#define HALVINGS  40

struct box {
    int from, to;     /* of the order: the slowest shape at the exchange */
    int64_t min, max; /* pipelines */
};

int64_t elastic_copies_in(const struct instance_search *s, const int *counts)
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
