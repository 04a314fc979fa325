#include "plan/fleet/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROUNDS   200  /* of new columns for one deadline */
#define SHARP        2e-4 /* of the deadline: how closely the least one is looked for in the end */
#define CLOSE        1e-3 /* of the best plan: bounds are not looked at more closely than that */
#define THIN         5e-2 /* of the gap: a band that is not worth halving */
#define MAX_PRICINGS 60   /* of rests, in one search: any deadline takes a quarter of those that are left */
#define MAX_FITS     1.5e4 /* devices times layers of pipelines that are made to fit: the same with an eighth */

/* ---- columns ---- */

static bool same_pipeline(const struct fleet_pipeline *a, const struct fleet_pipeline *b)
{
    return a->stage_count == b->stage_count &&
           memcmp(a->stages, b->stages, (size_t)a->stage_count * sizeof a->stages[0]) == 0;
}

/* False: it is there already, or there is no room. */
bool fleet_add_column(struct fleet_searcher *s, const struct fleet_pipeline *pipeline)
{
    for (int i = 0; i < s->column_count; i++)
        if (same_pipeline(&s->columns[i], pipeline))
            return false;
    if (s->column_count == FLEET_MAX_COLUMNS)
        return false;
    memcpy(s->uses[s->column_count], pipeline->devices, sizeof pipeline->devices);
    s->columns[s->column_count++] = *pipeline;
    return true;
}

void fleet_offer_column(void *context, const struct fleet_pipeline *pipeline)
{
    struct fleet_searcher *s = context;
    if (s->column_count < FLEET_MAX_COLUMNS / 2)
        fleet_add_column(s, pipeline);
}

/* Micro-batches by a deadline. Parts of them, even of a first one, count in the program, as they do where its columns are
 * looked for. */
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

/* By how many micro-batches the program's value grows with a second more. */
static double slope(const struct fleet_searcher *s)
{
    double sum = 0.0;
    for (int i = 0; i < s->column_count; i++)
        if (s->amounts[i] > 0.0 && s->values[i] > 0.0)
            sum += s->amounts[i] / s->columns[i].cycle;
    return sum;
}

/* A pipeline that is worth more than its devices at the program's prices, higher ones where it does less than is wanted:
 * then `late` seconds earlier than the deadline no pipelines do more than that. False: there is none that is not there,
 * looked for as closely as the tolerance. */
static bool improve(struct fleet_searcher *s, double deadline, double value, double tolerance, double *late)
{
    struct fleet_pipeline found;
    double wanted = (double)s->problem->microbatches, prices[FLEET_MAX_ROWS];
    for (int t = 0; t < fleet_rows(s->problem); t++)
        prices[t] = s->prices[t] * (value > 0.0 && value < wanted ? wanted / value : 1.0);
    const struct fleet_quest quest = {deadline, 1e-9, tolerance, prices, NULL, fleet_offer_column, s};
    int before = s->column_count;
    if (isinf(fleet_price(s->pricer, &quest, &found, late)))
        return false;
    fleet_add_column(s, &found); /* unless it was offered on the way */
    return s->column_count > before;
}

/* The least deadline that the program allows, by Newton's method: for the same pipelines the value grows with the deadline
 * in proportion. Where no pipeline is worth more than its price some seconds before the deadline, it is not possible
 * then. Begins with what is enough; false: that is not possible, *bound says from where on it is. */
static bool find_deadline(struct fleet_searcher *s, double enough, double *deadline, double *bound)
{
    double wanted = (double)s->problem->microbatches;
    double least = fleet_least_work(s->problem) * wanted / all_devices(s);
    double at = isfinite(enough) ? enough : 4.0 * least, low = least; /* low: not possible */
    double tolerance = FLEET_COARSE, late;
    *bound = fmax(*bound, least);
    for (int round = 0; round < MAX_ROUNDS && *bound < enough * (1.0 - CLOSE); round++) {
        double value = fleet_solve(s, at, false), rate = slope(s);
        double next = rate > 0.0 ? at - (value - wanted) / rate : 4.0 * at;
        bool reached = value >= wanted * (1.0 - 1e-9);
        if (value > wanted * (1.0 + 1e-9) && at > low * (1.0 + SHARP)) {
            at = next > low ? next : 0.5 * (low + at); /* pipelines that have not even filled do nothing */
            continue;
        }
        bool better = improve(s, at, value, tolerance, &late);
        if (value <= wanted * (1.0 + 1e-9))
            *bound = fmax(*bound, at - late);
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
        if (at > 1e12 * least)
            return false;
        low = at;
        at = fmin(fmax(next, at * (1.0 + SHARP)), 4.0 * at);
    }
    *deadline = at * (1.0 + SHARP); /* columns ran out: what they can do, and the bound so far */
    return *bound < enough * (1.0 - CLOSE) && fleet_solve(s, *deadline, false) >= wanted;
}

/* Plans whose stages take from `least` to `most` seconds afterwards. */
struct band {
    double least, most, deadline; /* deadline: none is done with its micro-batches before */
};

static int lowest(const struct band *bands, int count)
{
    int low = 0;
    for (int i = 1; i < count; i++)
        if (bands[i].deadline + bands[i].least < bands[low].deadline + bands[low].least)
            low = i;
    return low;
}

/* The plan for a limit, and what the program says about it: where none is *found, *bound is the bound. */
static bool plan_within(struct fleet_searcher *s, struct fleet_choice *plan, double least, double limit,
                        double enough, double *bound, double *after, bool *found, struct error *err)
{
    double deadline;
    s->after = limit;
    fleet_pricer_limit(s->pricer, limit);
    *found =
        find_deadline(s, plan->pipeline_count > 0 ? fmin(plan->seconds, enough) : enough, &deadline, bound);
    if (!*found || fleet_choose(s, deadline, least, plan, after, err))
        return true;
    *found = false;
    return err->kind == ERROR_INFEASIBLE;
}

/* The band with the lowest bound is halved until that is close to the best plan, or above what is enough. */
static bool search(struct fleet_searcher *s, struct fleet_choice *plan, double enough, struct error *err)
{
    struct band bands[FLEET_MAX_BANDS + 1] = {{0}};
    int most = s->problem->bands > 0 ? s->problem->bands : FLEET_MAX_BANDS;
    int count = 1;
    double after = 0.0;
    bool found, half;
    if (!plan_within(s, plan, 0.0, INFINITY, enough, &bands[0].deadline, &after, &found, err))
        return false;
    bands[0].most = after;
    while (found && count < most && count < FLEET_MAX_BANDS) {
        struct band *band = &bands[lowest(bands, count)];
        /* halving adds no more to the bound than the band is wide */
        double gap = fmin(plan->seconds, enough) - (band->deadline + band->least);
        if (band->most - band->least < THIN * gap)
            break;
        if (band->deadline + band->least >= fmin(plan->seconds, enough) * (1.0 - 2.0 * CLOSE) ||
            band->most <= 0.0)
            break;
        double middle = band->least > 0.0 ? sqrt(band->least * band->most) : 0.5 * band->most;
        bands[count] = (struct band){band->least, middle, band->deadline};
        band->least = middle;
        if (!plan_within(s, plan, bands[count].least, middle, enough, &bands[count].deadline, &after, &half,
                         err))
            return false;
        count++;
    }
    const struct band *last = &bands[lowest(bands, count)];
    plan->lower_bound =
        fmin(last->deadline + last->least, plan->pipeline_count > 0 ? plan->seconds : INFINITY);
    plan->columns = s->column_count;
    if (plan->pipeline_count > 0 && plan->seconds < enough)
        return true;
    plan->too_slow = plan->pipeline_count > 0 || plan->lower_bound >= enough * (1.0 - 2.0 * CLOSE);
    return error_set(err, ERROR_INFEASIBLE,
                     plan->too_slow ? "no plan is fast enough"
                                    : "no pipeline of these devices holds the model");
}

static bool make_room(struct fleet_searcher *s, struct error *err)
{
    s->pricer = fleet_pricer_new(s->problem);
    s->columns = calloc(FLEET_MAX_COLUMNS, sizeof *s->columns);
    s->uses = calloc(FLEET_MAX_COLUMNS, sizeof *s->uses);
    s->values = calloc(FLEET_MAX_COLUMNS, sizeof *s->values);
    s->amounts = calloc(FLEET_MAX_COLUMNS, sizeof *s->amounts);
    s->copies = calloc(FLEET_MAX_COLUMNS, sizeof *s->copies);
    s->rest_columns = calloc(FLEET_MAX_COLUMNS, sizeof *s->rest_columns);
    s->rest_uses = calloc(FLEET_MAX_COLUMNS, sizeof *s->rest_uses);
    s->rest_values = calloc(FLEET_MAX_COLUMNS, sizeof *s->rest_values);
    s->rest_amounts = calloc(FLEET_MAX_COLUMNS, sizeof *s->rest_amounts);
    return s->pricer && s->columns && s->uses && s->values && s->amounts && s->copies && s->rest_columns &&
                   s->rest_uses && s->rest_values && s->rest_amounts
               ? true
               : error_memory(err);
}

static void release_room(struct fleet_searcher *s)
{
    fleet_pricer_free(s->pricer);
    free(s->columns);
    free(s->uses);
    free(s->values);
    free(s->amounts);
    free(s->copies);
    free(s->rest_columns);
    free(s->rest_uses);
    free(s->rest_values);
    free(s->rest_amounts);
}

bool fleet_bound(double *bound, const struct fleet_problem *problem, struct error *err)
{
    struct fleet_searcher s = {.problem = problem, .after = INFINITY, .sharp = FLEET_COARSE * 0.1};
    double deadline;
    for (int t = 0; t < fleet_rows(problem); t++)
        s.limits[t] = fleet_limit(problem, t);
    bool ok = make_room(&s, err);
    *bound = 0.0;
    if (ok && !find_deadline(&s, INFINITY, &deadline, bound))
        *bound = s.column_count == 0 ? INFINITY : *bound;
    release_room(&s);
    return ok;
}

/* Those that fit this problem, too. */
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
    for (int t = 0; t < fleet_rows(problem); t++)
        s.limits[t] = fleet_limit(problem, t);
    bool ok = make_room(&s, err);
    if (ok && columns)
        begin_with(&s, columns);
    ok = ok && search(&s, plan, enough, err);
    if (columns) {
        fleet_columns_release(columns);
        *columns = (struct fleet_columns){s.column_count, s.columns};
        s.columns = NULL;
    }
    release_room(&s);
    if (!ok) {
        arena_release(&plan->arena);
        plan->pipelines = NULL; /* those that were too slow lived there */
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
    *columns = (struct fleet_columns){0};
}

void fleet_choice_release(struct fleet_choice *plan)
{
    arena_release(&plan->arena);
    *plan = (struct fleet_choice){0};
}
