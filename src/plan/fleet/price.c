#include "plan/fleet/path.h"

#include "core/statistics.h"
#include "core/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the seconds of the slowest layer on its fastest option: no pipeline has a shorter cycle. */
static double min_cycle(const struct fleet_problem *problem)
{
    double slowest = 0.0;
    for (int l = 0; l < problem->layer_count; l++) {
        double fastest = INFINITY;
        for (int o = 0; o < problem->option_count; o++)
            if (fleet_offers(problem, &problem->options[o]))
                fastest = fmin(fastest,
                               problem->options[o].sums.seconds[l + 1] - problem->options[o].sums.seconds[l]);
        slowest = fmax(slowest, fastest);
    }
    return slowest;
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
        for (int first = 0; first < problem->layer_count && fleet_offers(problem, &problem->options[o]);
             first++)
            for (int last = first + 1; last <= problem->layer_count; last++) {
                double seconds = fleet_stage_seconds(problem, &(struct fleet_stage){o, first, last});
                if (seconds >= min)
                    all[count++] = seconds;
            }
    qsort(all, count, sizeof *all, order_doubles);
    p->cycles = calloc(count + 1, sizeof *p->cycles);
    for (size_t i = 0; p->cycles && i < count; i++) {
        struct fleet_cycles *last = &p->cycles[p->cycle_count - 1];
        if (p->cycle_count > 0 && all[i] <= last->min * (1.0 + FLEET_NARROW))
            last->max = all[i];
        else
            p->cycles[p->cycle_count++] = (struct fleet_cycles){all[i], all[i]};
    }
    free(all);
    return p->cycles;
}

int fleet_devices(const struct fleet_problem *problem)
{
    int devices = 0;
    for (int t = 0; t < problem->type_count; t++)
        devices += problem->types[t].devices;
    return devices;
}

/* Returns the stages of the longest pipeline that layers and devices allow. */
static int fleet_max_stages(const struct fleet_problem *problem)
{
    int devices = fleet_devices(problem);
    return devices < problem->layer_count ? devices : problem->layer_count;
}

double fleet_min_after(const struct fleet_problem *problem, int devices)
{
    double slowest = 0.0, sum = 0.0;
    for (int l = 0; l < problem->layer_count; l++) {
        double least = INFINITY,
               work = INFINITY; /* the stage of a layer takes these seconds on each of its devices */
        for (int i = 0; i < problem->option_count; i++) {
            const struct fleet_option *o = &problem->options[i];
            double seconds = fmax(o->sums.after[l + 1] - o->sums.after[l], 0.0);
            if (!fleet_offers(problem, o))
                continue;
            least = fmin(least, seconds);
            work = fmin(work, seconds * o->tensor);
        }
        slowest = fmax(slowest, least);
        sum += work;
    }
    return fmax(slowest, sum / (devices > 0 ? devices : 1)) * (1.0 - 1e-9);
}

struct fleet_pricer *fleet_pricer_new(const struct fleet_problem *problem)
{
    struct fleet_pricer *p = calloc(1, sizeof *p);
    size_t row = (size_t)problem->layer_count + 1;
    if (!p)
        return NULL;
    p->problem = problem;
    p->stages = fleet_max_stages(problem);
    size_t cells = row * ((size_t)p->stages + 1), ends = row * (size_t)problem->option_count;
    p->best = ARENA_ARRAY(&p->arena, cells, double);
    p->next = ARENA_ARRAY(&p->arena, cells, int);
    p->option = ARENA_ARRAY(&p->arena, cells, uint8_t);
    p->queue = ARENA_ARRAY(&p->arena, row, int);
    p->values = ARENA_ARRAY(&p->arena, row, double);
    p->ends = ARENA_ARRAY(&p->arena, ends, int);
    p->reach = ARENA_ARRAY(&p->arena, ends, int);
    p->min_before = ARENA_ARRAY(&p->arena, row, double);
    p->path_stages = ARENA_ARRAY(&p->arena, 3 * row, struct fleet_stage);
    p->after = INFINITY;
    if (p->path_stages) {
        p->best_stages = p->path_stages + row;
        p->fit_stages = p->best_stages + row;
    }
    if (p->path_stages && p->best && p->next && p->option && p->queue && p->values && p->ends && p->reach &&
        p->min_before && fleet_path_begin(p) && list_cycles(p))
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

double fleet_pricer_min_cycle(const struct fleet_pricer *p)
{
    return p->cycle_count > 0 ? p->cycles[0].min : INFINITY;
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
            if (fleet_offers(problem, option))
                min = fmin(min, (option->sums.seconds[l + 1] - option->sums.seconds[l]) * option->tensor);
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
        pipeline->after = fmax(pipeline->after, o->sums.after[pipeline->stages[i].last] -
                                                    o->sums.after[pipeline->stages[i].first]);
        pipeline->devices[o->type] += o->tensor;
    }
    pipeline->devices[problem->type_count] = 1;
}

bool fleet_pipeline_fits(const struct fleet_problem *problem, const struct fleet_pipeline *pipeline)
{
    for (int i = 0; i < pipeline->stage_count; i++)
        if (!fleet_within_memory(problem, &pipeline->stages[i], pipeline->stage_count - i))
            return false;
    return true;
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

static struct fleet_path path_of(const struct search *q, int first, int last, const struct toll *toll)
{
    return (struct fleet_path){
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
    struct fleet_path path = path_of(q, first, last, toll);
    return max_value(q, first) + toll->returned - fleet_path_bound(&path);
}

static void consider(struct search *q, const struct fleet_pipeline *found)
{
    double value = value_of(q, found);
    if (q->query->found && value > -NEARLY * q->query->deadline / found->cycle)
        q->query->found(q->query->context, found);
    if (value > q->value) {
        q->value = value;
        *q->best = *found;
        q->best->stages = q->pricer->best_stages;
        memcpy(q->best->stages, found->stages, (size_t)found->stage_count * sizeof *found->stages);
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
        double cost = fleet_path_shortest(path_of(q, first, last, toll), &found);
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
    if (bound <= ignored_value(q, last) || first == last || given_up || stop_wanted()) {
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
    int from = cycles_below(pricer, shortest * (1.0 - FLEET_NARROW)),
        below = cycles_below(pricer, deadline) - from;
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
