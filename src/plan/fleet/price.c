#include "plan/fleet/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds of stages that differ by less than this share count as one cycle. */
#define NARROW 1e-7

/* Possible cycles: seconds of stages that are nearly the same. */
struct cycles {
    double min, max;
};

/* best[j][l]: the minimum cost of j stages that hold the layers from l on. */
struct fleet_pricer {
    struct arena arena; /* of all arrays but the cycles */
    const struct fleet_problem *problem;
    int stages; /* maximum */
    double *best;
    int *next;       /* [j][l] the layer behind the first of these stages */
    uint8_t *option; /* [j][l] the option of that stage */
    int *queue;
    double *values;        /* [layers + 1] of the entries in the queue */
    int *ends;             /* [option][first layer] the end of the longest stage */
    int *reach;            /* [option][first layer] the maximum end from there or before */
    double *min_before;    /* [layer] minimum cost of the layers before it */
    struct cycles *cycles; /* ascending */
    int cycle_count;
    double after; /* maximum seconds of a stage after the pipelines */
};

/* Returns the seconds of the slowest layer on its fastest option: no pipeline has a shorter cycle. */
static double min_cycle(const struct fleet_problem *problem)
{
    double slowest = 0.0;
    for (int l = 0; l < problem->layer_count; l++) {
        double fastest = INFINITY;
        for (int o = 0; o < problem->option_count; o++)
            fastest = fmin(fastest, problem->options[o].seconds[l + 1] - problem->options[o].seconds[l]);
        slowest = fmax(slowest, fastest);
    }
    return slowest;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static bool list_cycles(struct fleet_pricer *p)
{
    const struct fleet_problem *problem = p->problem;
    size_t layers = (size_t)problem->layer_count, count = 0;
    size_t room = layers * (layers + 1) / 2 * (size_t)problem->option_count;
    double *all = malloc(room * sizeof *all), min = min_cycle(problem) * (1.0 - 1e-9);
    if (!all)
        return false;
    for (int o = 0; o < problem->option_count; o++)
        for (int first = 0; first < problem->layer_count; first++)
            for (int last = first + 1; last <= problem->layer_count; last++) {
                double seconds = fleet_stage_seconds(problem, &(struct fleet_stage){o, first, last});
                if (seconds >= min)
                    all[count++] = seconds;
            }
    qsort(all, count, sizeof *all, compare_numbers);
    p->cycles = calloc(count + 1, sizeof *p->cycles);
    for (size_t i = 0; p->cycles && i < count; i++) {
        struct cycles *last = &p->cycles[p->cycle_count - 1];
        if (p->cycle_count > 0 && all[i] <= last->min * (1.0 + NARROW))
            last->max = all[i];
        else
            p->cycles[p->cycle_count++] = (struct cycles){all[i], all[i]};
    }
    free(all);
    return p->cycles;
}

struct fleet_pricer *fleet_pricer_new(const struct fleet_problem *problem)
{
    struct fleet_pricer *p = calloc(1, sizeof *p);
    size_t row = (size_t)problem->layer_count + 1;
    if (!p)
        return NULL;
    p->problem = problem;
    p->stages = problem->layer_count < FLEET_MAX_STAGES ? problem->layer_count : FLEET_MAX_STAGES;
    size_t cells = row * ((size_t)p->stages + 1), ends = row * (size_t)problem->option_count;
    p->best = ARENA_ARRAY(&p->arena, cells, double);
    p->next = ARENA_ARRAY(&p->arena, cells, int);
    p->option = ARENA_ARRAY(&p->arena, cells, uint8_t);
    p->queue = ARENA_ARRAY(&p->arena, row, int);
    p->values = ARENA_ARRAY(&p->arena, row, double);
    p->ends = ARENA_ARRAY(&p->arena, ends, int);
    p->reach = ARENA_ARRAY(&p->arena, ends, int);
    p->min_before = ARENA_ARRAY(&p->arena, row, double);
    p->after = INFINITY;
    if (p->best && p->next && p->option && p->queue && p->values && p->ends && p->reach && p->min_before &&
        list_cycles(p))
        return p;
    fleet_pricer_free(p);
    return NULL;
}

void fleet_pricer_free(struct fleet_pricer *p)
{
    if (!p)
        return;
    arena_release(&p->arena);
    free(p->cycles);
    free(p);
}

void fleet_pricer_limit(struct fleet_pricer *p, double after)
{
    p->after = after;
}

double fleet_min_work(const struct fleet_problem *problem)
{
    double sum = 0.0;
    for (int l = 0; l < problem->layer_count; l++) {
        double min = INFINITY;
        for (int o = 0; o < problem->option_count; o++) {
            const struct fleet_option *option = &problem->options[o];
            min = fmin(min, (option->seconds[l + 1] - option->seconds[l]) * option->tensor);
        }
        sum += min;
    }
    return sum * (1.0 - 1e-12);
}

void fleet_pipeline_score(const struct fleet_problem *problem, struct fleet_pipeline *pipeline)
{
    pipeline->fill = pipeline->cycle = pipeline->after = 0.0;
    memset(pipeline->devices, 0, sizeof pipeline->devices);
    for (int i = 0; i < pipeline->stage_count; i++) {
        const struct fleet_option *o = &problem->options[pipeline->stages[i].option];
        double seconds = fleet_stage_seconds(problem, &pipeline->stages[i]);
        pipeline->fill += seconds;
        pipeline->cycle = fmax(pipeline->cycle, seconds);
        pipeline->after =
            fmax(pipeline->after, o->after[pipeline->stages[i].last] - o->after[pipeline->stages[i].first]);
        pipeline->devices[o->type] += o->tensor;
    }
    pipeline->devices[problem->type_count] = 1;
}

static bool within_memory(const struct fleet_problem *problem, const struct fleet_stage *stage, int behind)
{
    return fleet_stage_memory(problem, stage, behind) <=
           problem->types[problem->options[stage->option].type].memory;
}

bool fleet_pipeline_fits(const struct fleet_problem *problem, const struct fleet_pipeline *pipeline)
{
    for (int i = 0; i < pipeline->stage_count; i++)
        if (!within_memory(problem, &pipeline->stages[i], pipeline->stage_count - i))
            return false;
    return true;
}

/* ---- the shortest path ---- */

/* A search for the shortest path within an interval of cycles. Paths that cost `cutoff` or more are dropped. */
struct path {
    struct fleet_pricer *pricer;
    double slowest; /* maximum seconds of a stage */
    double share;   /* cost of a second of a stage; its devices cost their prices in addition */
    const double *prices;
    const int *limits; /* maximum devices of each type; NULL: no limits */
    double cutoff;
    int nearest, furthest; /* paths of one stage fewer begin between these layers */
};

static double price_of(const struct path *path, const struct fleet_option *option)
{
    if (path->limits && option->tensor > path->limits[option->type])
        return INFINITY;
    return path->prices[option->type] * option->tensor;
}

/* Sets min_before[l], a lower bound on the cost of the layers before l: a stage of at most `slowest` seconds pays for
 * its devices at least in proportion to its seconds. */
static void bound_layers(const struct path *path)
{
    const struct fleet_problem *problem = path->pricer->problem;
    double *min_before = path->pricer->min_before;
    min_before[0] = 0.0;
    for (int l = 0; l < problem->layer_count; l++) {
        double best = INFINITY;
        for (int i = 0; i < problem->option_count; i++) {
            const struct fleet_option *o = &problem->options[i];
            best = fmin(best, (o->seconds[l + 1] - o->seconds[l]) *
                                  (path->share + price_of(path, o) / path->slowest));
        }
        min_before[l + 1] = min_before[l] + best;
    }
}

/* Is a stage within the limits on its seconds, and on those after the pipelines? */
static bool within_time(const struct path *path, int option, int first, int last)
{
    const struct fleet_option *o = &path->pricer->problem->options[option];
    return fleet_stage_seconds(path->pricer->problem, &(struct fleet_stage){option, first, last}) <=
               path->slowest &&
           o->after[last] - o->after[first] <= path->pricer->after;
}

/* Sets the end of the longest stage within the time limits, for every first layer. */
static void find_ends(const struct path *path)
{
    struct fleet_pricer *p = path->pricer;
    int layers = p->problem->layer_count;
    for (int i = 0; i < p->problem->option_count; i++) {
        int *ends = p->ends + (size_t)i * (size_t)layers;
        int end = layers;
        for (int first = layers - 1; first >= 0; first--) {
            /* the end moves little from one layer to the next; forwards, too, if the bytes sent differ */
            while (end > first && !within_time(path, i, first, end))
                end--;
            while (end < layers && within_time(path, i, first, end + 1))
                end++;
            ends[first] = end;
        }
        int *reach = p->reach + (size_t)i * (size_t)layers;
        for (int first = 0; first < layers; first++)
            reach[first] = first > 0 && reach[first - 1] > ends[first] ? reach[first - 1] : ends[first];
    }
}

/* Keeps a path of `behind` stages from layer `first` on, whose second stage begins at `last`, if it is cheaper. */
static void keep(const struct path *path, int behind, int option, int first, int last, double cost)
{
    struct fleet_pricer *p = path->pricer;
    size_t at = (size_t)behind * ((size_t)p->problem->layer_count + 1) + (size_t)first;
    if (cost >= p->best[at] || cost + p->min_before[first] >= path->cutoff)
        return;
    p->best[at] = cost;
    p->next[at] = last;
    p->option[at] = (uint8_t)option;
}

static double cost_of(const struct path *path, int option, int first, int last)
{
    const struct fleet_option *o = &path->pricer->problem->options[option];
    return fleet_stage_seconds(path->pricer->problem, &(struct fleet_stage){option, first, last}) *
               path->share +
           price_of(path, o);
}

/* Puts the last stage, which ends with the last layer. */
static void put_last(const struct path *path, int option)
{
    const struct fleet_problem *problem = path->pricer->problem;
    int layers = problem->layer_count;
    const int *ends = path->pricer->ends + (size_t)option * (size_t)layers;
    for (int first = layers - 1; first >= 0; first--)
        if (ends[first] == layers && within_memory(problem, &(struct fleet_stage){option, first, layers}, 1))
            keep(path, 1, option, first, layers, cost_of(path, option, first, layers));
}

/* Puts a stage in front of others: from each `first` on, the reachable end with the minimum of rest[end] + seconds
 * before it. The queue holds the ends seen so far that are better than all lower ends, the furthest first: a new end is
 * below all others, and ends that are not better than it are never needed again. Stages further from the end have less
 * memory, so ends only move closer. */
static void put_in_front(const struct path *path, int behind, int option)
{
    struct fleet_pricer *p = path->pricer;
    const struct fleet_option *o = &p->problem->options[option];
    int layers = p->problem->layer_count, count = 0, low = 0, *queue = p->queue;
    int *ends = p->ends + (size_t)option * (size_t)layers;
    const int *reach = p->reach + (size_t)option * (size_t)layers;
    const double *rest = p->best + (size_t)(behind - 1) * ((size_t)layers + 1);
    double *values = p->values; /* of the queue */
    for (int first = path->furthest - 1; first >= 0 && reach[first] >= path->nearest; first--) {
        int enters = first + 1, last = ends[first] < layers ? ends[first] : layers - 1;
        if (isfinite(rest[enters])) {
            double value = rest[enters] + o->seconds[enters] * path->share;
            while (count > 0 && values[count - 1] >= value)
                count--;
            values[count] = value;
            queue[count++] = enters;
        }
        if (count == 0)
            continue;
        while (last > first && !within_memory(p->problem, &(struct fleet_stage){option, first, last}, behind))
            last--;
        ends[first] = last;
        /* the first end in the queue that is not beyond `last`: it moves little from one `first` to the next */
        low = low < count ? low : count;
        while (low < count && queue[low] > last)
            low++;
        while (low > 0 && queue[low - 1] <= last)
            low--;
        if (low < count)
            keep(path, behind, option, first, queue[low],
                 cost_of(path, option, first, queue[low]) + rest[queue[low]]);
    }
}

/* Sets the layers between which paths of this length begin, except whole pipelines. False: all paths are too dear. */
static bool find_window(struct path *path, int behind)
{
    int layers = path->pricer->problem->layer_count;
    const double *row = path->pricer->best + (size_t)behind * ((size_t)layers + 1);
    path->furthest = layers - 1;
    while (path->furthest > 0 && isinf(row[path->furthest]))
        path->furthest--;
    path->nearest = 1;
    while (path->nearest < path->furthest && isinf(row[path->nearest]))
        path->nearest++;
    return path->furthest > 0;
}

static void follow(const struct fleet_pricer *p, int behind, struct fleet_pipeline *pipeline)
{
    size_t row = (size_t)p->problem->layer_count + 1;
    pipeline->stage_count = behind;
    for (int i = 0, first = 0; i < pipeline->stage_count; i++, behind--) {
        size_t at = (size_t)behind * row + (size_t)first;
        pipeline->stages[i] = (struct fleet_stage){p->option[at], first, p->next[at]};
        first = p->next[at];
    }
    fleet_pipeline_score(p->problem, pipeline);
}

/* Returns the minimum of [sum of seconds x share + prices . devices] over pipelines with no slower stage; INFINITY: it
 * is not below the cutoff. Once a pipeline is found, dearer paths are dropped. */
static double shortest(struct path path, struct fleet_pipeline *pipeline)
{
    struct fleet_pricer *p = path.pricer;
    int row = p->problem->layer_count + 1, chosen = 0;
    double cheapest = INFINITY;
    bound_layers(&path);
    if (p->min_before[row - 1] >= path.cutoff)
        return INFINITY;
    find_ends(&path);
    for (int behind = 1; behind <= p->stages; behind++) {
        double *best = p->best + (size_t)behind * (size_t)row;
        for (int l = 0; l < row; l++)
            best[l] = INFINITY;
        for (int o = 0; o < p->problem->option_count; o++)
            if (isinf(price_of(&path, &p->problem->options[o])))
                continue;
            else if (behind == 1)
                put_last(&path, o);
            else
                put_in_front(&path, behind, o);
        if (best[0] < cheapest) {
            cheapest = best[0];
            chosen = behind;
            path.cutoff = fmin(path.cutoff, cheapest);
        }
        if (!find_window(&path, behind))
            break;
    }
    if (chosen > 0)
        follow(p, chosen, pipeline);
    return cheapest;
}

/* ---- all cycles ---- */

struct search {
    struct fleet_pricer *pricer;
    const struct fleet_price_query *query;
    struct fleet_pipeline *best;
    double value, late;
    int paths; /* number of searches for a path */
};

#define NEARLY    0.03 /* of its micro-batches: pipelines that are worse by less are passed to `found` */
#define MAX_TOLLS 3    /* for the same cycles */
#define MAX_PATHS 80   /* if there are limits */

static double value_of(const struct search *q, const struct fleet_pipeline *pipeline)
{
    double value = (q->query->deadline - pipeline->fill) / pipeline->cycle + 1.0;
    for (int t = 0; t < fleet_rows(q->pricer->problem); t++)
        value -= q->query->prices[t] * pipeline->devices[t];
    return value;
}

/* Returns the value up to which better pipelines with these cycles are ignored: they would save less than the
 * tolerance. */
static double ignored_value(const struct search *q, int last)
{
    return q->value + q->query->tolerance * q->query->deadline / q->pricer->cycles[last].max;
}

/* Returns the value of a pipeline of the shortest of these cycles, before the cost of its path. */
static double max_value(const struct search *q, int first)
{
    const struct fleet_problem *problem = q->pricer->problem;
    double own = fleet_rows(problem) > problem->type_count ? q->query->prices[problem->type_count] : 0.0;
    return q->query->deadline / q->pricer->cycles[first].min + 1.0 - own;
}

/* Prices of the devices, raised for types of which pipelines would take more than there are. Pipelines within the
 * limits pay at most `returned` in addition, so the bound holds with any raised prices. */
struct toll {
    double prices[FLEET_MAX_TYPES], added[FLEET_MAX_TYPES], returned;
};

static struct path path_of(const struct search *q, int first, int last, const struct toll *toll)
{
    return (struct path){
        .pricer = q->pricer,
        .slowest = q->pricer->cycles[last].max,
        .share = 1.0 / q->pricer->cycles[first].min,
        .prices = toll->prices,
        .limits = q->query->limits,
        .cutoff = max_value(q, first) + toll->returned - ignored_value(q, last),
    };
}

static bool within_limits(const struct search *q, const struct fleet_pipeline *pipeline)
{
    for (int t = 0; t < fleet_rows(q->pricer->problem) && q->query->limits; t++)
        if (pipeline->devices[t] > q->query->limits[t])
            return false;
    return true;
}

/* Takes a step of the subgradient method towards prices at which the best pipeline is within the limits; `above`: how
 * far the bound is above its goal. False: nothing changes. */
static bool raise_toll(const struct search *q, struct toll *toll, const struct fleet_pipeline *found,
                       double above)
{
    double squares = 0.0, over[FLEET_MAX_TYPES];
    int types = q->pricer->problem->type_count;
    for (int t = 0; t < types; t++) {
        over[t] = found->devices[t] - q->query->limits[t];
        if (over[t] < 0.0 && toll->added[t] == 0.0)
            over[t] = 0.0;
        squares += over[t] * over[t];
    }
    toll->returned = 0.0;
    for (int t = 0; t < types && squares > 0.0; t++) {
        toll->added[t] = fmax(toll->added[t] + above / squares * over[t], 0.0);
        toll->prices[t] = q->query->prices[t] + toll->added[t];
        toll->returned += toll->added[t] * q->query->limits[t];
    }
    return squares > 0.0;
}

/* Returns a bound on the value of pipelines with these cycles. */
static double quick_bound(const struct search *q, int first, int last, const struct toll *toll)
{
    struct path path = path_of(q, first, last, toll);
    bound_layers(&path);
    return max_value(q, first) + toll->returned - q->pricer->min_before[q->pricer->problem->layer_count];
}

static void consider(struct search *q, const struct fleet_pipeline *found)
{
    double value = value_of(q, found);
    if (q->query->found && value > -NEARLY * q->query->deadline / found->cycle)
        q->query->found(q->query->context, found);
    if (value > q->value) {
        q->value = value;
        *q->best = *found;
    }
}

/* Returns a bound on the value of pipelines with cycles[first] to cycles[last], as close as needed. Changes the toll,
 * which also suits a part of these cycles. */
static double bound_cycles(struct search *q, int first, int last, struct toll *toll)
{
    struct fleet_pipeline found = {0};
    double bound = INFINITY;
    for (int i = 0; i < MAX_TOLLS; i++) {
        q->paths++;
        double cost = shortest(path_of(q, first, last, toll), &found);
        if (isinf(cost))
            return fmin(bound, ignored_value(q, last));
        double now = max_value(q, first) + toll->returned - cost;
        bound = fmin(bound, now);
        if (within_limits(q, &found))
            consider(q, &found);
        if (bound <= ignored_value(q, last) || !q->query->limits ||
            !raise_toll(q, toll, &found, now - ignored_value(q, last)))
            break;
    }
    return bound;
}

static void search_cycles(struct search *q, int first, int last, struct toll toll)
{
    double bound = bound_cycles(q, first, last, &toll);
    /* with tolls the bound may stay above its goal, however close the cycles are */
    bool given_up = q->query->limits && q->paths >= MAX_PATHS;
    if (bound <= ignored_value(q, last) || first == last || given_up) {
        q->late = fmax(q->late, bound * q->pricer->cycles[last].max);
        return;
    }
    int middle = first + (last - first) / 2;
    bool lower_first = quick_bound(q, first, middle, &toll) > quick_bound(q, middle + 1, last, &toll);
    if (lower_first)
        search_cycles(q, first, middle, toll);
    search_cycles(q, middle + 1, last, toll);
    if (!lower_first)
        search_cycles(q, first, middle, toll);
}

static int cycles_below(const struct fleet_pricer *pricer, double deadline)
{
    int low = 0;
    for (int high = pricer->cycle_count; low < high;) {
        int middle = low + (high - low) / 2;
        if (pricer->cycles[middle].min <= deadline)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int fleet_cycles(const struct fleet_pricer *pricer, double shortest, double deadline, int max, double *cycles)
{
    int from = cycles_below(pricer, shortest * (1.0 - NARROW)), below = cycles_below(pricer, deadline) - from;
    int count = below < max ? below : max;
    for (int i = 0; i < count; i++)
        cycles[i] = pricer->cycles[from + (int64_t)(i + 1) * below / count - 1].max;
    return count;
}

double fleet_price(struct fleet_pricer *pricer, const struct fleet_price_query *query,
                   struct fleet_pipeline *best, double *late)
{
    struct search q = {pricer, query, best, query->above, 0.0, 0};
    struct toll toll = {.returned = 0.0};
    int count = cycles_below(pricer, query->deadline);
    memcpy(toll.prices, query->prices, (size_t)pricer->problem->type_count * sizeof *toll.prices);
    if (count > 0)
        search_cycles(&q, 0, count - 1, toll);
    *late = q.late;
    return q.value > query->above ? q.value : -INFINITY;
}
