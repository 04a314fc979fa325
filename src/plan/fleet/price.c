#include "plan/fleet/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds of stages apart by less than this share count as one. */
#define NARROW 1e-7

/* Cycles that there can be: seconds of stages, those that are nearly the same together. */
struct cycles {
    double least, most;
};

/* best[j][l]: the least sum over j stages that hold the layers from l on. */
struct fleet_pricer {
    const struct fleet_problem *problem;
    int stages; /* at most */
    double *best;
    int *next;       /* [j][l] the layer behind the first of these stages, */
    uint8_t *option; /* and its option */
    int *queue;
    double *values;        /* [layers + 1] of what is in the queue */
    int *ends;             /* [option][first layer] how far a stage reaches, */
    int *reach;            /* and how far one from there or before */
    double *least;         /* [layer] of the layers before it */
    struct cycles *cycles; /* ascending */
    int cycle_count;
    double after; /* seconds of a stage afterwards at most */
};

/* No pipeline has a shorter cycle than its slowest layer on the fastest option. */
static double least_cycle(const struct fleet_problem *problem)
{
    double least = 0.0;
    for (int l = 0; l < problem->layer_count; l++) {
        double fastest = INFINITY;
        for (int o = 0; o < problem->option_count; o++)
            fastest = fmin(fastest, problem->options[o].seconds[l + 1] - problem->options[o].seconds[l]);
        least = fmax(least, fastest);
    }
    return least;
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
    size_t most = layers * (layers + 1) / 2 * (size_t)problem->option_count;
    double *all = malloc(most * sizeof *all), least = least_cycle(problem) * (1.0 - 1e-9);
    if (!all)
        return false;
    for (int o = 0; o < problem->option_count; o++)
        for (int first = 0; first < problem->layer_count; first++)
            for (int last = first + 1; last <= problem->layer_count; last++) {
                double seconds = fleet_stage_seconds(problem, &(struct fleet_stage){o, first, last});
                if (seconds >= least)
                    all[count++] = seconds;
            }
    qsort(all, count, sizeof *all, compare_numbers);
    p->cycles = malloc((count + 1) * sizeof *p->cycles);
    for (size_t i = 0; p->cycles && i < count; i++) {
        struct cycles *last = &p->cycles[p->cycle_count - 1];
        if (p->cycle_count > 0 && all[i] <= last->least * (1.0 + NARROW))
            last->most = all[i];
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
    size_t cells = row * ((size_t)p->stages + 1);
    p->best = malloc(cells * sizeof *p->best);
    p->next = malloc(cells * sizeof *p->next);
    p->option = malloc(cells * sizeof *p->option);
    p->queue = malloc(row * sizeof *p->queue);
    p->values = malloc(row * sizeof *p->values);
    p->ends = malloc(row * (size_t)problem->option_count * sizeof *p->ends);
    p->reach = malloc(row * (size_t)problem->option_count * sizeof *p->reach);
    p->least = malloc(row * sizeof *p->least);
    p->after = INFINITY;
    if (p->best && p->next && p->option && p->queue && p->values && p->ends && p->reach && p->least &&
        list_cycles(p))
        return p;
    fleet_pricer_free(p);
    return NULL;
}

void fleet_pricer_free(struct fleet_pricer *p)
{
    if (!p)
        return;
    free(p->best);
    free(p->next);
    free(p->option);
    free(p->queue);
    free(p->values);
    free(p->ends);
    free(p->reach);
    free(p->least);
    free(p->cycles);
    free(p);
}

void fleet_pricer_limit(struct fleet_pricer *p, double after)
{
    p->after = after;
}

double fleet_least_work(const struct fleet_problem *problem)
{
    double sum = 0.0;
    for (int l = 0; l < problem->layer_count; l++) {
        double least = INFINITY;
        for (int o = 0; o < problem->option_count; o++) {
            const struct fleet_option *option = &problem->options[o];
            least = fmin(least, (option->seconds[l + 1] - option->seconds[l]) * option->tensor);
        }
        sum += least;
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

/* One interval of cycles. What costs `cutoff` or more is not looked for. */
struct path {
    struct fleet_pricer *pricer;
    double slowest; /* seconds of a stage at most */
    double share;   /* of its seconds that a stage costs, */
    const double *prices;
    const int *limits; /* devices of each type at most, if any */
    double cutoff;
    int nearest, furthest; /* between these begin ways of one stage less */
};

static double price_of(const struct path *path, const struct fleet_option *option)
{
    if (path->limits && option->tensor > path->limits[option->type])
        return INFINITY;
    return path->prices[option->type] * option->tensor;
}

/* least[l]: no way to run the layers before l costs less. A stage of at most `slowest` seconds pays for its devices at
 * least in proportion to its seconds. */
static void find_least(const struct path *path, double *least)
{
    const struct fleet_problem *problem = path->pricer->problem;
    least[0] = 0.0;
    for (int l = 0; l < problem->layer_count; l++) {
        double best = INFINITY;
        for (int i = 0; i < problem->option_count; i++) {
            const struct fleet_option *o = &problem->options[i];
            best = fmin(best, (o->seconds[l + 1] - o->seconds[l]) *
                                  (path->share + price_of(path, o) / path->slowest));
        }
        least[l + 1] = least[l] + best;
    }
}

/* Is a stage as fast as it has to be, then and afterwards? */
static bool within_time(const struct path *path, int option, int first, int last)
{
    const struct fleet_option *o = &path->pricer->problem->options[option];
    return fleet_stage_seconds(path->pricer->problem, &(struct fleet_stage){option, first, last}) <=
               path->slowest &&
           o->after[last] - o->after[first] <= path->pricer->after;
}

/* How far stages can reach within the time: the end of the last layer from every first one on. */
static void find_ends(const struct path *path)
{
    struct fleet_pricer *p = path->pricer;
    int layers = p->problem->layer_count;
    for (int i = 0; i < p->problem->option_count; i++) {
        int *ends = p->ends + (size_t)i * (size_t)layers;
        int end = layers;
        for (int first = layers - 1; first >= 0; first--) {
            /* from one to the next it moves by little, either way where what is sent differs */
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

/* Way `behind` stages from the end, from layer `first` on, next stage from `last` on. */
static void keep(const struct path *path, int behind, int option, int first, int last, double cost)
{
    struct fleet_pricer *p = path->pricer;
    size_t at = (size_t)behind * ((size_t)p->problem->layer_count + 1) + (size_t)first;
    if (cost >= p->best[at] || cost + p->least[first] >= path->cutoff)
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

/* The last stage: it ends with the last layer. */
static void begin(const struct path *path, int option)
{
    const struct fleet_problem *problem = path->pricer->problem;
    int layers = problem->layer_count;
    const int *ends = path->pricer->ends + (size_t)option * (size_t)layers;
    for (int first = layers - 1; first >= 0; first--)
        if (ends[first] == layers && within_memory(problem, &(struct fleet_stage){option, first, layers}, 1))
            keep(path, 1, option, first, layers, cost_of(path, option, first, layers));
}

/* A stage before others. Of the ends that it can reach from `first` on, the least of rest[end] + seconds before it. The
 * queue holds the ends seen so far that are better than all below them, the furthest first: a new one is below all
 * others, and those that are not better than it will not be asked for again. Further from the end memory allows less, so
 * ends only come nearer. */
static void extend(const struct path *path, int behind, int option)
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
        /* the first in the queue that is not beyond it: from one `first` to the next it moves by little */
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

/* Where ways with so many stages begin, but for those that are whole pipelines. False: all are too dear. */
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

/* The least of [sum of seconds x share + prices . devices] over pipelines with no slower stage; INFINITY: it is not below
 * the cutoff. Ways that cost more than a pipeline that was found are of no use, either. */
static double shortest(struct path path, struct fleet_pipeline *pipeline)
{
    struct fleet_pricer *p = path.pricer;
    int row = p->problem->layer_count + 1, chosen = 0;
    double least = INFINITY;
    find_least(&path, p->least);
    if (p->least[row - 1] >= path.cutoff)
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
                begin(&path, o);
            else
                extend(&path, behind, o);
        if (best[0] < least) {
            least = best[0];
            chosen = behind;
            path.cutoff = fmin(path.cutoff, least);
        }
        if (!find_window(&path, behind))
            break;
    }
    if (chosen > 0)
        follow(p, chosen, pipeline);
    return least;
}

/* ---- all cycles ---- */

struct quest {
    struct fleet_pricer *pricer;
    const struct fleet_quest *asked;
    struct fleet_pipeline *best;
    double value, late;
    int paths; /* that were looked for */
};

/* Of its micro-batches: what a pipeline may be worse than the best by, and be told of. */
#define NEARLY 0.03

#define MAX_TOLLS 3  /* for the same cycles */
#define MAX_PATHS 80 /* where there are limits */

static double value_of(const struct quest *q, const struct fleet_pipeline *pipeline)
{
    double value = (q->asked->deadline - pipeline->fill) / pipeline->cycle + 1.0;
    for (int t = 0; t < fleet_rows(q->pricer->problem); t++)
        value -= q->asked->prices[t] * pipeline->devices[t];
    return value;
}

/* Micro-batches that are not looked for with these cycles: those of none of them take longer than the tolerance. */
static double enough_of(const struct quest *q, int last)
{
    return q->value + q->asked->tolerance * q->asked->deadline / q->pricer->cycles[last].most;
}

/* A pipeline with no fewer seconds per micro-batch than the first of these cycles has at most this less the path's cost. */
static double most_of(const struct quest *q, int first)
{
    const struct fleet_problem *problem = q->pricer->problem;
    double own = fleet_rows(problem) > problem->type_count ? q->asked->prices[problem->type_count] : 0.0;
    return q->asked->deadline / q->pricer->cycles[first].least + 1.0 - own;
}

/* Prices of the devices, higher ones where pipelines would take more of a type than there are. For any that are added, what
 * those in the limits pay in addition is at most `returned`: the bound that they give holds. */
struct toll {
    double prices[FLEET_MAX_TYPES], added[FLEET_MAX_TYPES], returned;
};

static struct path path_of(const struct quest *q, int first, int last, const struct toll *toll)
{
    return (struct path){
        .pricer = q->pricer,
        .slowest = q->pricer->cycles[last].most,
        .share = 1.0 / q->pricer->cycles[first].least,
        .prices = toll->prices,
        .limits = q->asked->limits,
        .cutoff = most_of(q, first) + toll->returned - enough_of(q, last),
    };
}

static bool within_limits(const struct quest *q, const struct fleet_pipeline *pipeline)
{
    for (int t = 0; t < fleet_rows(q->pricer->problem) && q->asked->limits; t++)
        if (pipeline->devices[t] > q->asked->limits[t])
            return false;
    return true;
}

/* A step of the subgradient method towards prices at which the best pipeline is in the limits; `above`: the bound's
 * distance to what it has to reach. False: there is nothing to change. */
static bool raise_toll(const struct quest *q, struct toll *toll, const struct fleet_pipeline *found,
                       double above)
{
    double squares = 0.0, over[FLEET_MAX_TYPES];
    int types = q->pricer->problem->type_count;
    for (int t = 0; t < types; t++) {
        over[t] = found->devices[t] - q->asked->limits[t];
        if (over[t] < 0.0 && toll->added[t] == 0.0)
            over[t] = 0.0;
        squares += over[t] * over[t];
    }
    toll->returned = 0.0;
    for (int t = 0; t < types && squares > 0.0; t++) {
        toll->added[t] = fmax(toll->added[t] + above / squares * over[t], 0.0);
        toll->prices[t] = q->asked->prices[t] + toll->added[t];
        toll->returned += toll->added[t] * q->asked->limits[t];
    }
    return squares > 0.0;
}

/* None with these cycles has more than the bound: a pipeline that much worse is so much earlier. */
static void settle(struct quest *q, int last, double bound)
{
    q->late = fmax(q->late, bound * q->pricer->cycles[last].most);
}

/* No pipeline with these cycles is worth more. */
static double quick_bound(const struct quest *q, int first, int last, const struct toll *toll)
{
    struct path path = path_of(q, first, last, toll);
    find_least(&path, q->pricer->least);
    return most_of(q, first) + toll->returned - q->pricer->least[q->pricer->problem->layer_count];
}

static void consider(struct quest *q, const struct fleet_pipeline *found)
{
    double value = value_of(q, found);
    if (q->asked->found && value > -NEARLY * q->asked->deadline / found->cycle)
        q->asked->found(q->asked->context, found);
    if (value > q->value) {
        q->value = value;
        *q->best = *found;
    }
}

/* No pipeline with these cycles, from cycles[first] to cycles[last], is worth more, looked at as closely as has to be.
 * Changes the toll, which is a good one for a part of them, too. */
static double bound_cycles(struct quest *q, int first, int last, struct toll *toll)
{
    struct fleet_pipeline found = {0};
    double bound = INFINITY;
    for (int i = 0; i < MAX_TOLLS; i++) {
        q->paths++;
        double least = shortest(path_of(q, first, last, toll), &found);
        if (isinf(least))
            return fmin(bound, enough_of(q, last));
        double now = most_of(q, first) + toll->returned - least;
        bound = fmin(bound, now);
        if (within_limits(q, &found))
            consider(q, &found);
        if (bound <= enough_of(q, last) || !q->asked->limits ||
            !raise_toll(q, toll, &found, now - enough_of(q, last)))
            break;
    }
    return bound;
}

static void search_cycles(struct quest *q, int first, int last, struct toll toll)
{
    double bound = bound_cycles(q, first, last, &toll);
    /* the bound that tolls give need not reach what is enough, however near to each other cycles are */
    bool given_up = q->asked->limits && q->paths >= MAX_PATHS;
    if (bound <= enough_of(q, last) || first == last || given_up) {
        settle(q, last, bound);
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
        if (pricer->cycles[middle].least <= deadline)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int fleet_cycles(const struct fleet_pricer *pricer, double least, double deadline, int most, double *cycles)
{
    int from = cycles_below(pricer, least * (1.0 - NARROW)), below = cycles_below(pricer, deadline) - from;
    int count = below < most ? below : most;
    for (int i = 0; i < count; i++)
        cycles[i] = pricer->cycles[from + (int64_t)(i + 1) * below / count - 1].most;
    return count;
}

double fleet_price(struct fleet_pricer *pricer, const struct fleet_quest *quest, struct fleet_pipeline *best,
                   double *late)
{
    struct quest q = {pricer, quest, best, quest->above, 0.0, 0};
    struct toll toll = {.returned = 0.0};
    int count = cycles_below(pricer, quest->deadline);
    memcpy(toll.prices, quest->prices, (size_t)pricer->problem->type_count * sizeof *toll.prices);
    if (count > 0)
        search_cycles(&q, 0, count - 1, toll);
    *late = q.late;
    return q.value > quest->above ? q.value : -INFINITY;
}
