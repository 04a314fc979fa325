#include "job/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MOST  4096
#define ROUNDS_MOST   200  /* of new columns for one deadline */
#define COARSE        2e-2 /* of the deadline: how closely the least one is looked for at first, */
#define SHARP         2e-4 /* and in the end */
#define CLOSE         1e-3 /* of the best plan: bounds are not looked at more closely than that */
#define FIT_MOST      16   /* devices of a pipeline that is made to fit */
#define FIT_STEP      4e-2 /* of the deadline, between those */
#define FEW           10   /* devices that any number of pipelines is made to fit into */
#define PARTS_MOST    4    /* pipelines in the program up to which equal parts are tried */
#define PRICINGS_MOST 60   /* of rests, in one search: any deadline takes a quarter of those that are left */
#define FITS_MOST     1.5e4 /* devices times layers of pipelines that are made to fit: the same with an eighth */
#define STEP          5e-4 /* of the deadline, between attempts at whole pipelines */
#define VISITS_MOST   200  /* of combinations of columns, per attempt */

struct searcher {
    const struct fleet_problem *problem;
    struct fleet_pricer *pricer;
    struct fleet_pipeline *columns;
    int (*uses)[FLEET_TYPES_MOST];
    double *values, *amounts; /* of columns, in the program */
    int *copies;              /* of columns, when whole ones are chosen */
    /* of the columns that fit into what is left */
    int *rest_columns;
    int (*rest_uses)[FLEET_TYPES_MOST];
    double *rest_values, *rest_amounts, rest_prices[FLEET_TYPES_MOST];
    int column_count;
    int devices[FLEET_TYPES_MOST]; /* that there are, */
    double limits[FLEET_TYPES_MOST], prices[FLEET_TYPES_MOST];
    double after; /* seconds of a stage at most */
    double sharp; /* of the deadline: how closely the least one is looked for */
    /* what may still be spent: for this deadline, and for the others */
    int pricings, pricings_left;
    double fits, fits_left;
    bool any; /* there is no plan near: whatever it takes to find one */
};

/* ---- columns ---- */

static bool same_pipeline(const struct fleet_pipeline *a, const struct fleet_pipeline *b)
{
    return a->stage_count == b->stage_count &&
           memcmp(a->stages, b->stages, (size_t)a->stage_count * sizeof a->stages[0]) == 0;
}

/* False: it is there already, or there is no room. */
static bool add_column(struct searcher *s, const struct fleet_pipeline *pipeline)
{
    for (int i = 0; i < s->column_count; i++)
        if (same_pipeline(&s->columns[i], pipeline))
            return false;
    if (s->column_count == COLUMNS_MOST)
        return false;
    memcpy(s->uses[s->column_count], pipeline->devices, sizeof pipeline->devices);
    s->columns[s->column_count++] = *pipeline;
    return true;
}

static void offer(void *context, const struct fleet_pipeline *pipeline)
{
    struct searcher *s = context;
    if (s->column_count < COLUMNS_MOST / 2)
        add_column(s, pipeline);
}

/* Micro-batches by a deadline. Parts of them, even of a first one, count in the program, as they do where its columns are
 * looked for. */
static double done_by(const struct fleet_pipeline *pipeline, double deadline, bool whole)
{
    double count = (deadline - pipeline->fill) / pipeline->cycle + 1.0;
    if (whole)
        return count < 1.0 - 1e-9 ? 0.0 : floor(count * (1.0 + 1e-9));
    return pipeline->cycle <= deadline ? fmax(count, 0.0) : 0.0;
}

static void value_columns(struct searcher *s, double deadline, bool whole)
{
    for (int i = 0; i < s->column_count; i++)
        s->values[i] = s->columns[i].after <= s->after ? done_by(&s->columns[i], deadline, whole) : 0.0;
}

static double solve(struct searcher *s, double deadline, bool whole)
{
    value_columns(s, deadline, whole);
    return fleet_program(s->column_count, s->problem->type_count, s->values, s->uses, s->limits, s->amounts,
                         s->prices);
}

/* ---- whole pipelines ---- */

struct filling {
    struct searcher *s;
    double wanted, deadline;
    int visits;
};

/* The program for what is left, of the columns that still fit as a whole. Fills s->amounts. */
static double solve_rest(struct searcher *s, const int *left)
{
    double limits[FLEET_TYPES_MOST];
    int count = 0, types = s->problem->type_count;
    for (int t = 0; t < types; t++)
        limits[t] = left[t];
    for (int i = 0; i < s->column_count; i++) {
        bool fits = s->values[i] > 0.0;
        for (int t = 0; t < types; t++)
            fits &= s->uses[i][t] <= left[t];
        if (!fits)
            continue;
        s->rest_values[count] = s->values[i];
        memcpy(s->rest_uses[count], s->uses[i], sizeof s->uses[i]);
        s->rest_columns[count++] = i;
    }
    memset(s->amounts, 0, (size_t)s->column_count * sizeof *s->amounts);
    memset(s->rest_prices, 0, sizeof s->rest_prices);
    if (count == 0)
        return 0.0;
    double value =
        fleet_program(count, types, s->rest_values, s->rest_uses, limits, s->rest_amounts, s->rest_prices);
    for (int i = 0; i < count; i++)
        s->amounts[s->rest_columns[i]] = s->rest_amounts[i];
    return value;
}

static void take(struct searcher *s, int *left, int column, int times)
{
    for (int t = 0; t < s->problem->type_count; t++)
        left[t] -= times * s->uses[column][t];
    s->copies[column] += times;
}

/* Pipelines that fit into these devices, at these prices. False: there are no new ones. */
static bool add_within(struct searcher *s, double deadline, const int *left, const double *prices)
{
    struct fleet_pipeline found;
    double late;
    int before = s->column_count;
    const struct fleet_quest quest = {deadline, 1e-9, COARSE, prices, left, offer, s};
    if (isfinite(fleet_price(s->pricer, &quest, &found, &late)))
        add_column(s, &found);
    for (int i = before; i < s->column_count; i++)
        s->values[i] = done_by(&s->columns[i], deadline, true);
    return s->column_count > before;
}

/* Can what is left do what is wanted, as far as the program tells? */
static bool reaches(struct filling *f, const int *left, double wanted, bool rest)
{
    while (solve_rest(f->s, left) < wanted)
        if (!rest || --f->s->pricings < 0 || !add_within(f->s, f->deadline, left, f->s->rest_prices))
            return false;
    return true;
}

/* The whole parts of what the program says, again and again for what they leave; where it says parts alone, one of each in
 * turn. What the program says for the rest is a bound, but for pipelines that were not found, so that ways that cannot
 * reach what is wanted are left early. */
static bool fill(struct filling *f, const int *devices, double done)
{
    struct searcher *s = f->s;
    int left[FLEET_TYPES_MOST], parts[FLEET_TYPES_MOST], taken[FLEET_TYPES_MOST], count = 0;
    if (done >= f->wanted)
        return true;
    if (++f->visits > VISITS_MOST || !reaches(f, devices, f->wanted - done, done > 0.0 || s->any))
        return false;
    memcpy(left, devices, sizeof left);
    double more = 0.0;
    for (int i = 0; i < s->column_count; i++) {
        if (s->amounts[i] <= 0.0 || count == FLEET_TYPES_MOST)
            continue;
        parts[count] = i;
        taken[count] = (int)floor(s->amounts[i] + 1e-9);
        take(s, left, i, taken[count]);
        more += taken[count++] * s->values[i];
    }
    if (more > 0.0) {
        if (fill(f, left, done + more))
            return true;
        for (int i = 0; i < count; i++)
            s->copies[parts[i]] -= taken[i];
        /* or one less of one of them */
        for (int i = 0; i < count; i++) {
            if (taken[i] == 0)
                continue;
            memcpy(left, devices, sizeof left);
            double fewer = 0.0;
            for (int j = 0; j < count; j++) {
                int n = taken[j] - (i == j);
                take(s, left, parts[j], n);
                fewer += n * s->values[parts[j]];
            }
            if (fewer > 0.0 && fill(f, left, done + fewer))
                return true;
            for (int j = 0; j < count; j++)
                s->copies[parts[j]] -= taken[j] - (i == j);
        }
        return false;
    }
    for (int i = 0; i < count; i++) {
        memcpy(left, devices, sizeof left);
        take(s, left, parts[i], 1);
        if (fill(f, left, done + s->values[parts[i]]))
            return true;
        s->copies[parts[i]]--;
    }
    return false;
}

/* Do whole pipelines do all micro-batches by then? */
static bool fill_by(struct searcher *s, double deadline)
{
    struct filling f = {s, (double)s->problem->microbatches, deadline, 0};
    int devices[FLEET_TYPES_MOST] = {0};
    for (int t = 0; t < s->problem->type_count; t++)
        devices[t] = s->problem->types[t].devices;
    value_columns(s, deadline, true);
    memset(s->copies, 0, (size_t)s->column_count * sizeof *s->copies);
    return fill(&f, devices, 0.0);
}

/* A pipeline for each of so many equal parts of all devices, where the program has about that many. */
static void add_parts(struct searcher *s, double deadline)
{
    const double prices[FLEET_TYPES_MOST] = {0.0};
    double pipelines = 0.0;
    int part[FLEET_TYPES_MOST];
    for (int i = 0; i < s->column_count; i++)
        pipelines += s->amounts[i];
    for (int parts = 1; pipelines < PARTS_MOST && parts <= pipelines + 2.0 && s->pricings > 0; parts++) {
        s->pricings--;
        for (int t = 0; t < s->problem->type_count; t++)
            part[t] = s->devices[t] / parts;
        add_within(s, deadline, part, prices);
    }
}

/* The column with the most micro-batches that fits into these devices; -1: none does any. */
static int best_within(const struct searcher *s, const int *limits)
{
    int best = -1;
    for (int i = 0; i < s->column_count; i++) {
        bool fits = s->values[i] > (best < 0 ? 0.0 : s->values[best]);
        for (int t = 0; t < s->problem->type_count && fits; t++)
            fits = s->uses[i][t] <= limits[t];
        if (fits)
            best = i;
    }
    return best;
}

/* A pipeline for each of `parts` equal parts of these devices, then one for what is left, and so on. */
static void add_fit(struct searcher *s, const int *devices, int parts, double deadline)
{
    struct fleet_pipeline found;
    int left[FLEET_TYPES_MOST], limits[FLEET_TYPES_MOST], types = s->problem->type_count;
    memcpy(left, devices, sizeof left);
    for (;; parts = 1) {
        int sum = 0;
        for (int t = 0; t < types; t++)
            sum += limits[t] = left[t] / parts;
        s->fits -= (double)sum * s->problem->layer_count;
        if (sum == 0 || (!s->any && (sum > FIT_MOST || s->fits < 0.0)))
            return;
        int best = best_within(s, limits);
        struct fleet_fit_quest quest = {limits, deadline, s->after, best < 0 ? 0.0 : s->values[best]};
        bool better = fleet_fit(s->problem, s->pricer, &quest, &found) > 0.0;
        if (!better && best < 0)
            return;
        if (better && add_column(s, &found))
            s->values[s->column_count - 1] = done_by(&found, deadline, true);
        for (int t = 0; t < types; t++)
            left[t] -= parts * (better ? found.devices[t] : s->uses[best][t]);
    }
}

/* Pipelines made to fit: into parts of all devices, and into what the program leaves over when it is rounded down. */
static void add_fits(struct searcher *s, double deadline)
{
    int all[FLEET_TYPES_MOST] = {0}, left[FLEET_TYPES_MOST] = {0}, most = 0;
    double pipelines = 0.0;
    solve(s, deadline, true);
    for (int i = 0; i < s->column_count; i++)
        pipelines += s->amounts[i];
    for (int t = 0; t < s->problem->type_count; t++) {
        left[t] = all[t] = s->problem->types[t].devices;
        most += all[t];
        for (int i = 0; i < s->column_count; i++)
            left[t] -= (int)floor(s->amounts[i] + 1e-9) * s->uses[i][t];
    }
    int parts_most = most <= FEW ? most : (int)pipelines + 2;
    for (int parts = 1; parts <= parts_most && most <= 4 * FIT_MOST; parts++)
        add_fit(s, all, parts, deadline);
    add_fit(s, left, 1, deadline);
}

/* ---- the search ---- */

static double all_devices(const struct searcher *s)
{
    double sum = 0.0;
    for (int t = 0; t < s->problem->type_count; t++)
        sum += s->limits[t];
    return sum;
}

/* By how many micro-batches the program's value grows with a second more. */
static double slope(const struct searcher *s)
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
static bool improve(struct searcher *s, double deadline, double value, double tolerance, double *late)
{
    struct fleet_pipeline found;
    double wanted = (double)s->problem->microbatches, prices[FLEET_TYPES_MOST];
    for (int t = 0; t < s->problem->type_count; t++)
        prices[t] = s->prices[t] * (value > 0.0 && value < wanted ? wanted / value : 1.0);
    const struct fleet_quest quest = {deadline, 1e-9, tolerance, prices, NULL, offer, s};
    int before = s->column_count;
    if (isinf(fleet_price(s->pricer, &quest, &found, late)))
        return false;
    add_column(s, &found); /* unless it was offered on the way */
    return s->column_count > before;
}

/* The least deadline that the program allows, by Newton's method: for the same pipelines the value grows with the deadline
 * in proportion. Where no pipeline is worth more than its price some seconds before the deadline, it is not possible
 * then. Begins with what is enough; false: that is not possible, *bound says from where on it is. */
static bool find_deadline(struct searcher *s, double enough, double *deadline, double *bound)
{
    double wanted = (double)s->problem->microbatches;
    double least = fleet_least_work(s->problem) * wanted / all_devices(s);
    double at = isfinite(enough) ? enough : 4.0 * least, low = least; /* low: not possible */
    double tolerance = COARSE, late;
    *bound = fmax(*bound, least);
    for (int round = 0; round < ROUNDS_MOST && *bound < enough * (1.0 - CLOSE); round++) {
        double value = solve(s, at, false), rate = slope(s);
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
        if (s->column_count == COLUMNS_MOST)
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
    return *bound < enough * (1.0 - CLOSE) && solve(s, *deadline, false) >= wanted;
}

/* The least deadline for the pipelines that were chosen, and each kind's share. */
static double share(const struct searcher *s, struct fleet_plan *plan)
{
    double wanted = (double)s->problem->microbatches, low = 0.0, high = 0.0, slowest = 0.0;
    for (int k = 0; k < plan->pipeline_count; k++)
        high = fmax(high, plan->pipelines[k].fill + wanted * plan->pipelines[k].cycle);
    for (int i = 0; i < 100; i++) {
        double middle = 0.5 * (low + high), done = 0.0;
        for (int k = 0; k < plan->pipeline_count; k++)
            done += plan->pipelines[k].copies * done_by(&plan->pipelines[k], middle, true);
        if (done >= wanted)
            high = middle;
        else
            low = middle;
    }
    int64_t left = s->problem->microbatches;
    for (int k = 0; k < plan->pipeline_count; k++) {
        struct fleet_pipeline *p = &plan->pipelines[k];
        int64_t own = (int64_t)done_by(p, high, true) * p->copies;
        p->microbatches = own < left ? own : left;
        left -= p->microbatches;
        int64_t each = (p->microbatches + p->copies - 1) / p->copies;
        if (each > 0)
            slowest = fmax(slowest, p->fill + (double)(each - 1) * p->cycle);
    }
    return slowest;
}

/* The pipelines that were chosen, if they are faster than the plan so far. */
static bool take_plan(const struct searcher *s, struct fleet_plan *plan, struct error *err)
{
    struct fleet_plan next = {0};
    int kinds = 0;
    for (int i = 0; i < s->column_count; i++)
        kinds += s->copies[i] > 0;
    next.pipelines = ARENA_ARRAY(&plan->arena, (size_t)kinds, struct fleet_pipeline);
    if (!next.pipelines)
        return error_memory(err);
    for (int i = 0; i < s->column_count; i++)
        if (s->copies[i] > 0) {
            next.pipelines[next.pipeline_count] = s->columns[i];
            next.pipelines[next.pipeline_count++].copies = s->copies[i];
        }
    next.seconds = share(s, &next);
    /* pipelines that have nothing to do are not there */
    int kept = 0;
    for (int k = 0; k < next.pipeline_count; k++)
        if (next.pipelines[k].microbatches > 0) {
            next.after = fmax(next.after, next.pipelines[k].after);
            next.pipelines[kept++] = next.pipelines[k];
        }
    next.pipeline_count = kept;
    next.seconds += next.after;
    if (plan->pipeline_count > 0 && next.seconds >= plan->seconds)
        return true;
    next.arena = plan->arena;
    next.lower_bound = plan->lower_bound;
    *plan = next;
    return true;
}

/* Whole pipelines for a deadline as little above the program's as can be found. *after: of the pipelines, of which `least`
 * is of interest. */
static bool choose_whole(struct searcher *s, double deadline, double least, struct fleet_plan *plan,
                         double *after, struct error *err)
{
    double late = deadline, fitted = 0.0;
    s->any = false;
    s->pricings = (s->pricings_left + 3) / 4;
    s->fits = s->fits_left / 8.0;
    s->pricings_left -= s->pricings;
    s->fits_left -= s->fits;
    add_parts(s, deadline);
    for (double step = STEP; !fill_by(s, late); step *= 1.1) {
        late *= 1.0 + step;
        if (plan->pipeline_count > 0 && late + least >= plan->seconds)
            break;
        if (late > 1e6 * deadline)
            return error_set(err, ERROR_INFEASIBLE, "no pipeline of these devices holds the model");
        s->any = plan->pipeline_count == 0 && late > 2.0 * deadline;
        if (late > fitted * (1.0 + FIT_STEP)) {
            add_fits(s, late);
            fitted = late;
        }
    }
    *after = 0.0;
    for (int i = 0; i < s->column_count; i++)
        if (s->copies[i] > 0)
            *after = fmax(*after, s->columns[i].after);
    return plan->pipeline_count > 0 && late + least >= plan->seconds ? true : take_plan(s, plan, err);
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

/* The plan for a limit, and what the program says about it. False: *band has the bound, and there is no plan. */
static bool plan_within(struct searcher *s, struct fleet_plan *plan, double least, double limit,
                        double enough, double *bound, double *after, struct error *err)
{
    double deadline;
    s->after = limit;
    fleet_pricer_limit(s->pricer, limit);
    return find_deadline(s, plan->pipeline_count > 0 ? fmin(plan->seconds, enough) : enough, &deadline,
                         bound) &&
           choose_whole(s, deadline, least, plan, after, err);
}

/* The band with the lowest bound is halved until that is close to the best plan, or above what is enough. */
static bool search(struct searcher *s, struct fleet_plan *plan, double enough, struct error *err)
{
    struct band bands[FLEET_BANDS_MOST + 1] = {{0}};
    int most = s->problem->bands > 0 ? s->problem->bands : FLEET_BANDS_MOST;
    int count = 1;
    double after = 0.0;
    bool found = plan_within(s, plan, 0.0, INFINITY, enough, &bands[0].deadline, &after, err);
    bands[0].most = after;
    while (found && count < most && count < FLEET_BANDS_MOST) {
        struct band *band = &bands[lowest(bands, count)];
        if (band->deadline + band->least >= fmin(plan->seconds, enough) * (1.0 - 2.0 * CLOSE) ||
            band->most <= 0.0)
            break;
        double middle = band->least > 0.0 ? sqrt(band->least * band->most) : 0.5 * band->most;
        bands[count] = (struct band){band->least, middle, band->deadline};
        band->least = middle;
        plan_within(s, plan, bands[count].least, middle, enough, &bands[count].deadline, &after, err);
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

static bool make_room(struct searcher *s, struct error *err)
{
    s->pricer = fleet_pricer_new(s->problem);
    s->columns = calloc(COLUMNS_MOST, sizeof *s->columns);
    s->uses = calloc(COLUMNS_MOST, sizeof *s->uses);
    s->values = calloc(COLUMNS_MOST, sizeof *s->values);
    s->amounts = calloc(COLUMNS_MOST, sizeof *s->amounts);
    s->copies = calloc(COLUMNS_MOST, sizeof *s->copies);
    s->rest_columns = calloc(COLUMNS_MOST, sizeof *s->rest_columns);
    s->rest_uses = calloc(COLUMNS_MOST, sizeof *s->rest_uses);
    s->rest_values = calloc(COLUMNS_MOST, sizeof *s->rest_values);
    s->rest_amounts = calloc(COLUMNS_MOST, sizeof *s->rest_amounts);
    return s->pricer && s->columns && s->uses && s->values && s->amounts && s->copies && s->rest_columns &&
                   s->rest_uses && s->rest_values && s->rest_amounts
               ? true
               : error_memory(err);
}

static void release_room(struct searcher *s)
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
    struct searcher s = {.problem = problem, .after = INFINITY, .sharp = COARSE * 0.1};
    double deadline;
    for (int t = 0; t < problem->type_count; t++)
        s.limits[t] = s.devices[t] = problem->types[t].devices;
    bool ok = make_room(&s, err);
    *bound = 0.0;
    if (ok && !find_deadline(&s, INFINITY, &deadline, bound))
        *bound = s.column_count == 0 ? INFINITY : *bound;
    release_room(&s);
    return ok;
}

bool fleet_search(struct fleet_plan *plan, const struct fleet_problem *problem, double enough,
                  struct error *err)
{
    struct searcher s = {
        .problem = problem, .sharp = SHARP, .pricings_left = PRICINGS_MOST, .fits_left = FITS_MOST};
    *plan = (struct fleet_plan){0};
    for (int t = 0; t < problem->type_count; t++)
        s.limits[t] = s.devices[t] = problem->types[t].devices;
    bool ok = make_room(&s, err) && search(&s, plan, enough, err);
    release_room(&s);
    if (!ok)
        arena_release(&plan->arena);
    return ok;
}

void fleet_plan_release(struct fleet_plan *plan)
{
    arena_release(&plan->arena);
    *plan = (struct fleet_plan){0};
}
