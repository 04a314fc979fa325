#include "plan/fleet/search.h"
#include "core/stop.h"
#include "core/vector.h"
#include "plan/fleet/spread.h"
#include "plan/split/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROUNDS   200  /* of new columns for one deadline */
#define SHARP        2e-4 /* of the deadline: final accuracy of the earliest one */
#define CLOSE        1e-3 /* of the best plan: accuracy of bounds */
#define RELAXED      1e-6 /* of a deadline: accuracy of prices that decide which pipelines matter */
#define THIN         5e-2 /* of the gap: a band this narrow is not halved */
#define MAX_PRICINGS 60   /* of leftovers, in one search; each deadline takes a quarter of those left */
#define MAX_FITS                                                                                             \
    1.5e4 /* devices x layers of pipelines made to fit; each deadline takes an eighth of the rest */

/* ---- columns ---- */

/* Returns whether two pipelines run the same layers with the same options. */
static bool fleet_same_stages(const struct fleet_pipeline *a, const struct fleet_pipeline *b)
{
    return a->stage_count == b->stage_count &&
           memcmp(a->stages, b->stages, (size_t)a->stage_count * sizeof a->stages[0]) == 0;
}

bool fleet_own_stages(struct fleet_pipeline *pipeline, struct arena *arena)
{
    struct fleet_stage *own = ARENA_ARRAY(arena, (size_t)pipeline->stage_count, struct fleet_stage);
    if (!own)
        return false;
    memcpy(own, pipeline->stages, (size_t)pipeline->stage_count * sizeof *own);
    pipeline->stages = own;
    return true;
}

bool fleet_add_column(struct fleet_searcher *s, const struct fleet_pipeline *pipeline)
{
    for (int i = 0; i < s->column_count; i++)
        if (s->columns[i].fill == pipeline->fill && fleet_same_stages(&s->columns[i], pipeline))
            return false;
    if (s->column_count == FLEET_MAX_COLUMNS)
        return false;
    struct fleet_pipeline own = *pipeline;
    memcpy(s->uses[s->column_count], pipeline->devices, sizeof pipeline->devices);
    bool added = fleet_own_stages(&own, &s->stages) &&
                 VECTOR_ADD(s->columns, s->column_count, s->column_capacity, own);
    s->no_memory = s->no_memory || !added;
    return added;
}

void fleet_offer_column(void *context, const struct fleet_pipeline *pipeline)
{
    struct fleet_searcher *s = context;
    if (s->column_count < FLEET_MAX_COLUMNS / 2)
        fleet_add_column(s, pipeline);
}

double fleet_done_by(const struct fleet_pipeline *pipeline, double deadline, bool whole)
{
    double count = (deadline - pipeline->fill) / pipeline->cycle + 1.0;
    if (whole)
        return count < 1.0 - 1e-9 ? 0.0 : floor(count * (1.0 + 1e-9));
    return pipeline->cycle <= deadline ? fmax(count, 0.0) : 0.0;
}

void fleet_value_columns(struct fleet_searcher *s, double deadline, bool whole)
{
    for (int i = 0; i < s->column_count; i++)
        s->values[i] = s->columns[i].after <= s->after ? fleet_done_by(&s->columns[i], deadline, whole) : 0.0;
}

double fleet_solve(struct fleet_searcher *s, double deadline, bool whole)
{
    fleet_value_columns(s, deadline, whole);
    return fleet_program(s->column_count, fleet_rows(s->problem), s->values, s->uses, s->limits, s->amounts,
                         s->prices);
}

/* ---- the search ---- */

static double all_devices(const struct fleet_searcher *s)
{
    double sum = 0.0;
    for (int t = 0; t < s->problem->type_count; t++)
        sum += s->limits[t];
    return sum;
}

/* Returns by how many micro-batches one second more raises the program's value. */
static double slope(const struct fleet_searcher *s)
{
    double sum = 0.0;
    for (int i = 0; i < s->column_count; i++)
        if (s->amounts[i] > 0.0 && s->values[i] > 0.0)
            sum += s->amounts[i] / s->columns[i].cycle;
    return sum;
}

/* Adds pipelines that are worth more than their devices at the program's prices, raised if the program does less than
 * is wanted. A deadline `late` seconds earlier has no such pipeline, so the program reaches no more then. False: no
 * pipeline is new, within the tolerance. */
static bool improve(struct fleet_searcher *s, double deadline, double value, double tolerance, double *prices,
                    double *late)
{
    struct fleet_pipeline found;
    double wanted = (double)s->problem->microbatches;
    for (int t = 0; t < fleet_rows(s->problem); t++)
        prices[t] = s->prices[t] * (value > 0.0 && value < wanted ? wanted / value : 1.0);
    const struct fleet_price_query query = {deadline, 1e-9, tolerance, prices, NULL, fleet_offer_column, s};
    int before = s->column_count;
    if (isinf(fleet_price(s->pricer, &query, &found, late)))
        return false;
    fleet_add_column(s, &found); /* unless it was offered on the way */
    return s->column_count > before;
}

/* Finds the minimum deadline that the program allows, by Newton's method: for the same pipelines the value grows in
 * proportion to the deadline. If no pipeline is worth more than its price some seconds before a deadline, that earlier
 * deadline is impossible. Begins with `enough`; false: that is impossible, and *bound is the minimum possible. */
static bool find_deadline(struct fleet_searcher *s, double enough, double *deadline, double *bound,
                          struct fleet_proof *proof)
{
    double wanted = (double)s->problem->microbatches;
    double work = fleet_min_work(s->problem) * wanted / all_devices(s); /* seconds on all devices */
    double at = isfinite(enough) ? enough : 4.0 * work, low = work;     /* low: not possible */
    double tolerance = FLEET_COARSE, late;
    *bound = fmax(*bound, work);
    for (int round = 0; round < MAX_ROUNDS && *bound < enough * (1.0 - CLOSE) && !stop_wanted(); round++) {
        double value = fleet_solve(s, at, false), rate = slope(s);
        double next = rate > 0.0 ? at - (value - wanted) / rate : 4.0 * at;
        bool reached = value >= wanted * (1.0 - 1e-9);
        if (value > wanted * (1.0 + 1e-9) && at > low * (1.0 + SHARP)) {
            at = next > low ? next : 0.5 * (low + at); /* pipelines that have not even filled do nothing */
            continue;
        }
        struct fleet_proof now = {.cycle = at};
        bool better = improve(s, at, value, tolerance, now.prices, &late);
        now.deadline = at - late;
        if (value <= wanted * (1.0 + 1e-9)) {
            *bound = fmax(*bound, now.deadline);
            if (now.deadline > proof->deadline)
                *proof = now;
        }
        if (better)
            continue;
        if (s->column_count == FLEET_MAX_COLUMNS)
            break;
        if (tolerance > s->sharp && late > s->sharp * at) {
            tolerance *= 0.1;
            continue;
        }
        if (reached) {
            *deadline = at;
            return true;
        }
        if (at > 1e12 * work)
            return false;
        low = at;
        at = fmin(fmax(next, at * (1.0 + SHARP)), 4.0 * at);
    }
    *deadline = at * (1.0 + SHARP); /* columns ran out: the best deadline with these, and the bound so far */
    return *bound < enough * (1.0 - CLOSE) && fleet_solve(s, *deadline, false) >= wanted;
}

/* Plans whose slowest update takes from `min` to `max` seconds after the pipelines. */
struct band {
    double min, max, deadline; /* deadline: no plan completes its micro-batches earlier */
    struct fleet_proof proof;
};

static int lowest(const struct band *bands, int count)
{
    int low = 0;
    for (int i = 1; i < count; i++)
        if (bands[i].deadline + bands[i].min < bands[low].deadline + bands[low].min)
            low = i;
    return low;
}

/* Finds a plan whose updates take at most `limit` seconds; sets the deadline of the band of any such plan. */
static bool plan_within(struct fleet_searcher *s, struct fleet_choice *plan, double min, double limit,
                        double enough, struct band *band, double *after, bool *found, struct error *err)
{
    double deadline;
    s->after = limit;
    fleet_pricer_limit(s->pricer, limit);
    *found = find_deadline(s, (plan->pipeline_count > 0 ? fmin(plan->seconds, enough) : enough) - min,
                           &deadline, &band->deadline, &band->proof);
    if (!*found || fleet_choose(s, deadline, min, plan, after, err))
        return true;
    *found = false;
    return err->kind == ERROR_INFEASIBLE;
}

/* Halves the band with the lowest bound until that bound is close to the best plan, or above `enough`. */
static bool search(struct fleet_searcher *s, struct fleet_choice *plan, double enough, struct error *err)
{
    struct band bands[FLEET_MAX_BANDS + 1] = {{0}};
    int max = s->problem->bands > 0 ? s->problem->bands : FLEET_MAX_BANDS;
    int count = 1;
    double after = 0.0;
    bool found, half;
    bands[0].min = s->problem->min_after;
    if (!plan_within(s, plan, bands[0].min, INFINITY, enough, &bands[0], &after, &found, err))
        return false;
    bands[0].max = fmax(after, bands[0].min);
    while (found && count < max && count < FLEET_MAX_BANDS && !stop_wanted()) {
        struct band *band = &bands[lowest(bands, count)];
        /* halving adds no more to the bound than the band is wide */
        double gap = fmin(plan->seconds, enough) - (band->deadline + band->min);
        if (band->max - band->min < THIN * gap || band->max <= 0.0 ||
            band->deadline + band->min >= fmin(plan->seconds, enough) * (1.0 - 2.0 * CLOSE))
            break;
        double middle = band->min > 0.0 ? sqrt(band->min * band->max) : 0.5 * band->max;
        bands[count] = (struct band){band->min, middle, band->deadline, band->proof};
        band->min = middle;
        if (!plan_within(s, plan, bands[count].min, middle, enough, &bands[count], &after, &half, err))
            return false;
        count++;
    }
    const struct band *last = &bands[lowest(bands, count)];
    plan->lower_bound = fmin(last->deadline + last->min, plan->pipeline_count > 0 ? plan->seconds : INFINITY);
    plan->columns = s->column_count;
    plan->proof_count = count;
    for (int i = 0; i < count; i++) {
        plan->proofs[i] = bands[i].proof;
        plan->proofs[i].after = bands[i].min;
    }
    if (plan->pipeline_count > 0 && plan->seconds < enough)
        return true;
    plan->too_slow = plan->pipeline_count > 0 || plan->lower_bound >= enough * (1.0 - 2.0 * CLOSE);
    return error_set(err, ERROR_INFEASIBLE,
                     plan->too_slow ? "pipelines fit, but none met the `enough` limit"
                                    : "the model does not fit in any pipeline of these devices");
}

/* Makes the room of a search and sets its limits; the caller ends it with release. */
static bool begin(struct fleet_searcher *s, struct error *err)
{
    s->pricer = fleet_pricer_new(s->problem);
    s->uses = arena_alloc(&s->arena, FLEET_MAX_COLUMNS, sizeof *s->uses);
    s->values = ARENA_ARRAY(&s->arena, FLEET_MAX_COLUMNS, double);
    s->amounts = ARENA_ARRAY(&s->arena, FLEET_MAX_COLUMNS, double);
    s->copies = ARENA_ARRAY(&s->arena, FLEET_MAX_COLUMNS, int);
    s->rest_columns = ARENA_ARRAY(&s->arena, FLEET_MAX_COLUMNS, int);
    s->rest_uses = arena_alloc(&s->arena, FLEET_MAX_COLUMNS, sizeof *s->rest_uses);
    s->rest_values = ARENA_ARRAY(&s->arena, FLEET_MAX_COLUMNS, double);
    s->rest_amounts = ARENA_ARRAY(&s->arena, FLEET_MAX_COLUMNS, double);
    for (int t = 0; t < fleet_rows(s->problem); t++)
        s->limits[t] = fleet_limit(s->problem, t);
    return (s->pricer && s->uses && s->values && s->amounts && s->copies && s->rest_columns && s->rest_uses &&
            s->rest_values && s->rest_amounts) ||
           error_memory(err);
}

static void release(struct fleet_searcher *s)
{
    fleet_pricer_free(s->pricer);
    free(s->columns);
    arena_release(&s->stages);
    arena_release(&s->arena);
}

bool fleet_bound(double *bound, const struct fleet_problem *problem, struct error *err)
{
    struct fleet_searcher s = {.problem = problem, .after = INFINITY, .sharp = FLEET_COARSE * 0.1};
    struct fleet_proof proof = {.deadline = 0.0};
    double deadline;
    bool ok = begin(&s, err);
    *bound = 0.0;
    if (ok && !find_deadline(&s, INFINITY, &deadline, bound, &proof))
        *bound = s.column_count == 0 && !stop_wanted() ? INFINITY : *bound;
    ok = ok && (!s.no_memory || error_memory(err));
    release(&s);
    return ok;
}

/* Adds pipelines until none is worth more than its price, but for `sharp`; false: columns or rounds ran out. */
static bool complete(struct fleet_searcher *s, double deadline, double *value, double *late)
{
    for (int round = 0; round < MAX_ROUNDS && s->column_count < FLEET_MAX_COLUMNS && !stop_wanted();
         round++) {
        struct fleet_pipeline found;
        *value = fleet_solve(s, deadline, false);
        const struct fleet_price_query query = {deadline,           1e-9, s->sharp, s->prices, NULL,
                                                fleet_offer_column, s};
        int before = s->column_count;
        if (isinf(fleet_price(s->pricer, &query, &found, late)))
            return true;
        fleet_add_column(s, &found);
        if (s->column_count == before)
            return true;
    }
    return false;
}

bool fleet_relax(struct fleet_relaxation *relaxed, const struct fleet_problem *problem, double deadline,
                 double after, struct error *err)
{
    struct fleet_searcher s = {.problem = problem, .after = after, .sharp = RELAXED};
    double late = 0.0;
    bool ok = begin(&s, err);
    *relaxed = (struct fleet_relaxation){.value = INFINITY};
    if (ok) {
        fleet_pricer_limit(s.pricer, after);
        if (complete(&s, deadline, &relaxed->value, &late)) {
            memcpy(relaxed->prices, s.prices, sizeof s.prices);
            relaxed->above = late / fleet_pricer_min_cycle(s.pricer);
            relaxed->value = 0.0;
            for (int t = 0; t < fleet_rows(problem); t++)
                relaxed->value += s.prices[t] * s.limits[t];
        } else {
            relaxed->value = INFINITY;
        }
    }
    ok = ok && (!s.no_memory || error_memory(err));
    release(&s);
    return ok;
}

/* Adds the given columns that fit this problem. */
static void begin_with(struct fleet_searcher *s, const struct fleet_columns *columns)
{
    for (int i = 0; i < columns->count; i++) {
        struct fleet_pipeline pipeline = columns->pipelines[i];
        if (!fleet_pipeline_fits(s->problem, &pipeline))
            continue;
        fleet_pipeline_score(s->problem, &pipeline);
        fleet_add_column(s, &pipeline);
    }
}

bool fleet_search(struct fleet_choice *plan, const struct fleet_problem *problem, double enough,
                  struct fleet_columns *columns, struct error *err)
{
    struct fleet_searcher s = {
        .problem = problem, .sharp = SHARP, .pricings_left = MAX_PRICINGS, .fits_left = MAX_FITS};
    *plan = (struct fleet_choice){0};
    if (stop_obeyed(err))
        return false;
    bool ok = begin(&s, err);
    if (ok && columns)
        begin_with(&s, columns);
    ok = ok && search(&s, plan, enough, err) && (!s.no_memory || error_memory(err));
    if (columns) {
        fleet_columns_release(columns);
        *columns = (struct fleet_columns){s.stages, s.column_count, s.columns};
        s.stages = (struct arena){0};
        s.columns = NULL;
    }
    release(&s);
    if (!ok) {
        arena_release(&plan->arena);
        plan->pipelines = NULL; /* a plan that was too slow */
        plan->pipeline_count = 0;
    }
    return ok;
}

int fleet_pipelines(const struct fleet_choice *plan)
{
    int count = 0;
    for (int k = 0; k < plan->pipeline_count; k++)
        count += plan->pipelines[k].copies;
    return count;
}

void fleet_columns_release(struct fleet_columns *columns)
{
    free(columns->pipelines);
    arena_release(&columns->arena);
    *columns = (struct fleet_columns){0};
}

void fleet_choice_release(struct fleet_choice *plan)
{
    arena_release(&plan->arena);
    *plan = (struct fleet_choice){0};
}

int fleet_together(const struct fleet_spread *spread, int devices_per_node, int tensor)
{
    int places = devices_per_node / tensor;
    return spread->alike < places ? spread->alike : places;
}

struct fleet_option *fleet_add_option(struct fleet_problem *problem, struct arena *arena)
{
    struct fleet_option *option = &problem->options[problem->option_count];
    struct fleet_sums *sums = &option->sums;
    double **all[] = {&sums->seconds, &sums->kept,    &sums->held,   &sums->after,
                      &sums->send,    &sums->forward, &sums->updated};
    size_t row = (size_t)problem->layer_count + 1, count = sizeof all / sizeof *all;
    double *memory = ARENA_ARRAY(arena, count * row, double);
    if (!memory)
        return NULL;
    *option = (struct fleet_option){0};
    for (size_t i = 0; i < count; i++)
        *all[i] = memory + i * row;
    problem->option_count++;
    return option;
}

/* Returns the number of pipelines with the same stages, in all kinds of the plan. */
static int count_alike(const struct fleet_choice *plan, int kind)
{
    int count = 0;
    for (int k = 0; k < plan->pipeline_count; k++)
        if (fleet_same_stages(&plan->pipelines[k], &plan->pipelines[kind]))
            count += plan->pipelines[k].copies;
    return count;
}

/* Returns the number of nodes that the plan's pipelines need. */
static int count_nodes(const struct fleet_choice *plan, const struct fleet_problem *problem)
{
    int64_t used[FLEET_MAX_TYPES] = {0};
    int nodes = 0;
    for (int k = 0; k < plan->pipeline_count; k++)
        for (int i = 0; i < plan->pipelines[k].stage_count; i++) {
            const struct fleet_option *o = &problem->options[plan->pipelines[k].stages[i].option];
            used[o->type] += (int64_t)o->tensor * plan->pipelines[k].copies;
        }
    for (int t = 0; t < problem->type_count; t++) {
        int each = problem->types[t].per_node;
        nodes += each > 0 ? (int)((used[t] + each - 1) / each) : 0;
    }
    return nodes > 0 ? nodes : 1;
}

bool fleet_rescore(struct fleet_choice *plan, struct fleet_problem *problem, const struct fleet_maker *maker)
{
    int pipelines = fleet_pipelines(plan), nodes = count_nodes(plan, problem);
    double until_done = 0.0;
    plan->after = 0.0;
    for (int k = 0; k < plan->pipeline_count; k++) {
        struct fleet_pipeline *pipeline = &plan->pipelines[k];
        const struct fleet_spread real = {pipelines, pipelines, count_alike(plan, k), pipelines, nodes};
        double share =
            floor((double)pipeline->microbatches / pipeline->copies); /* the smallest of all copies */
        double *gradients = ARENA_ARRAY(&plan->arena, (size_t)pipeline->stage_count, double);
        if (!gradients || !maker->make(maker->context, &real, problem, &plan->arena))
            return false;
        fleet_pipeline_score(problem, pipeline);
        for (int i = 0; i < pipeline->stage_count; i++) {
            const struct fleet_stage *stage = &pipeline->stages[i];
            const struct fleet_option *o = &problem->options[stage->option];
            double updated = o->sums.updated[stage->last] - o->sums.updated[stage->first];
            double each = o->sums.seconds[stage->last] - o->sums.seconds[stage->first];
            gradients[i] = job_exposed(o->sums.after[stage->last] - o->sums.after[stage->first] - updated,
                                       1.0 - o->hidden, share * each);
            pipeline->after = fmax(pipeline->after, gradients[i] + updated);
        }
        pipeline->gradients = gradients;
        plan->after = fmax(plan->after, pipeline->after);
        until_done = fmax(until_done, fleet_pipeline_seconds(pipeline));
    }
    plan->seconds = until_done + plan->after;
    return true;
}
