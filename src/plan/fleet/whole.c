#include "plan/fleet/search.h"

#include "core/stop.h"

#include <math.h>
#include <string.h>

#define MAX_FIT    16   /* maximum devices of a pipeline that is made to fit */
#define FIT_STEP   4e-2 /* of the deadline, between attempts to make pipelines fit */
#define FEW        10   /* devices into which any number of pipelines is made to fit */
#define MAX_PARTS  4    /* maximum pipelines of the program for which equal parts are tried */
#define STEP       5e-4 /* of the deadline, between attempts at whole pipelines */
#define MAX_VISITS 200  /* of combinations of columns, per attempt */

/* ---- whole pipelines ---- */

struct fill {
    struct fleet_searcher *s;
    double wanted, deadline;
    int visits;
};

/* Solves the program for the remaining devices, over the columns of which a whole one still fits. Sets s->amounts. */
static double solve_rest(struct fleet_searcher *s, const int *left)
{
    double limits[FLEET_MAX_ROWS];
    int count = 0, rows = fleet_rows(s->problem);
    for (int t = 0; t < rows; t++)
        limits[t] = left[t];
    for (int i = 0; i < s->column_count; i++) {
        bool fits = s->values[i] > 0.0;
        for (int t = 0; t < rows; t++)
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
        fleet_program(count, rows, s->rest_values, s->rest_uses, limits, s->rest_amounts, s->rest_prices);
    for (int i = 0; i < count; i++)
        s->amounts[s->rest_columns[i]] = s->rest_amounts[i];
    return value;
}

static void take(struct fleet_searcher *s, int *left, int column, int times)
{
    for (int t = 0; t < fleet_rows(s->problem); t++)
        left[t] -= times * s->uses[column][t];
    s->copies[column] += times;
}

/* Adds pipelines that fit into these devices, at these prices. False: none is new. */
static bool add_within(struct fleet_searcher *s, double deadline, const int *left, const double *prices)
{
    struct fleet_pipeline found;
    double late;
    int before = s->column_count;
    const struct fleet_price_query query = {deadline,           1e-9, FLEET_COARSE, prices, left,
                                            fleet_offer_column, s};
    if (isfinite(fleet_price(s->pricer, &query, &found, &late)))
        fleet_add_column(s, &found);
    for (int i = before; i < s->column_count; i++)
        s->values[i] = fleet_done_by(&s->columns[i], deadline, true);
    return s->column_count > before;
}

/* Can the remaining devices do `wanted` micro-batches, by the program's bound? */
static bool reaches(struct fill *f, const int *left, double wanted, bool rest)
{
    while (solve_rest(f->s, left) < wanted)
        if (!rest || --f->s->pricings < 0 || !add_within(f->s, f->deadline, left, f->s->rest_prices))
            return false;
    return true;
}

/* Takes the whole parts of the program's amounts, then again for the devices they leave; if all amounts are below 1,
 * one pipeline of each column in turn. The program for the rest is a bound (except for columns not found yet), so
 * combinations that cannot reach what is wanted are left early. */
static bool fill(struct fill *f, const int *devices, double done)
{
    struct fleet_searcher *s = f->s;
    int left[FLEET_MAX_ROWS], parts[FLEET_MAX_ROWS], taken[FLEET_MAX_ROWS], count = 0;
    bool any_whole = false;
    if (done >= f->wanted)
        return true;
    if (++f->visits > MAX_VISITS || stop_wanted() ||
        !reaches(f, devices, f->wanted - done, done > 0.0 || s->any))
        return false;
    for (int i = 0; i < s->column_count && count < FLEET_MAX_TYPES; i++)
        if (s->amounts[i] > 0.0) {
            parts[count] = i;
            taken[count] = (int)floor(s->amounts[i] + 1e-9);
            any_whole |= taken[count++] > 0;
        }
    /* the whole parts, or one fewer of one column */
    for (int fewer = -1; fewer < count && any_whole; fewer++) {
        if (fewer >= 0 && taken[fewer] == 0)
            continue;
        double more = 0.0;
        memcpy(left, devices, sizeof left);
        for (int i = 0; i < count; i++) {
            int times = taken[i] - (i == fewer);
            take(s, left, parts[i], times);
            more += times * s->values[parts[i]];
        }
        if (more > 0.0 && fill(f, left, done + more))
            return true;
        for (int i = 0; i < count; i++)
            s->copies[parts[i]] -= taken[i] - (i == fewer);
    }
    if (any_whole)
        return false;
    for (int i = 0; i < count; i++) {
        memcpy(left, devices, sizeof left);
        take(s, left, parts[i], 1);
        if (fill(f, left, done + s->values[parts[i]]))
            return true;
        s->copies[parts[i]]--;
    }
    return false;
}

/* Do whole pipelines complete all micro-batches by the deadline? */
static bool fill_by(struct fleet_searcher *s, double deadline)
{
    struct fill f = {s, (double)s->problem->microbatches, deadline, 0};
    int devices[FLEET_MAX_ROWS] = {0};
    for (int t = 0; t < fleet_rows(s->problem); t++)
        devices[t] = fleet_limit(s->problem, t);
    fleet_value_columns(s, deadline, true);
    memset(s->copies, 0, (size_t)s->column_count * sizeof *s->copies);
    return fill(&f, devices, 0.0);
}

/* Adds a pipeline for each number of equal parts of all devices that is close to the program's number of pipelines. */
static void add_parts(struct fleet_searcher *s, double deadline)
{
    const double prices[FLEET_MAX_ROWS] = {0.0};
    double pipelines = 0.0;
    int part[FLEET_MAX_ROWS];
    for (int i = 0; i < s->column_count; i++)
        pipelines += s->amounts[i];
    for (int parts = 1; pipelines < MAX_PARTS && parts <= pipelines + 2.0 && s->pricings > 0; parts++) {
        s->pricings--;
        for (int t = 0; t < fleet_rows(s->problem); t++)
            part[t] = fleet_limit(s->problem, t) / parts;
        add_within(s, deadline, part, prices);
    }
}

/* Returns the column with the maximum micro-batches within these devices; -1: none does any. */
static int best_within(const struct fleet_searcher *s, const int *limits)
{
    int best = -1;
    for (int i = 0; i < s->column_count; i++) {
        bool fits = s->values[i] > (best < 0 ? 0.0 : s->values[best]);
        for (int t = 0; t < fleet_rows(s->problem) && fits; t++)
            fits = s->uses[i][t] <= limits[t];
        if (fits)
            best = i;
    }
    return best;
}

/* Adds a pipeline for each of `parts` equal parts of these devices, then one for the rest, and so on. */
static void add_fit(struct fleet_searcher *s, const int *devices, int parts, double deadline)
{
    struct fleet_pipeline found;
    int left[FLEET_MAX_ROWS], limits[FLEET_MAX_ROWS], rows = fleet_rows(s->problem);
    memcpy(left, devices, sizeof left);
    for (;; parts = 1) {
        int sum = 0;
        for (int t = 0; t < rows; t++) {
            limits[t] = left[t] / parts;
            sum += t < s->problem->type_count ? limits[t] : 0;
        }
        s->fits -= (double)sum * s->problem->layer_count;
        if (sum == 0 || stop_wanted() || (rows > s->problem->type_count && limits[rows - 1] == 0) ||
            (!s->any && (sum > MAX_FIT || s->fits < 0.0)))
            return;
        int best = best_within(s, limits);
        struct fleet_fit_query query = {limits, deadline, s->after, best < 0 ? 0.0 : s->values[best]};
        bool better = fleet_fit(s->problem, s->pricer, &query, &found) > 0.0;
        if (!better && best < 0)
            return;
        if (better && fleet_add_column(s, &found))
            s->values[s->column_count - 1] = fleet_done_by(&found, deadline, true);
        for (int t = 0; t < rows; t++)
            left[t] -= parts * (better ? found.devices[t] : s->uses[best][t]);
    }
}

/* Adds pipelines made to fit into parts of all devices, and into the devices left when the program is rounded down. */
static void add_fits(struct fleet_searcher *s, double deadline)
{
    int all[FLEET_MAX_ROWS] = {0}, left[FLEET_MAX_ROWS] = {0}, devices = 0;
    double pipelines = 0.0;
    fleet_solve(s, deadline, true);
    for (int i = 0; i < s->column_count; i++)
        pipelines += s->amounts[i];
    for (int t = 0; t < fleet_rows(s->problem); t++) {
        left[t] = all[t] = fleet_limit(s->problem, t);
        devices += t < s->problem->type_count ? all[t] : 0;
        for (int i = 0; i < s->column_count; i++)
            left[t] -= (int)floor(s->amounts[i] + 1e-9) * s->uses[i][t];
    }
    int max_parts = devices <= FEW ? devices : (int)pipelines + 2;
    if (s->problem->max_pipelines > 0 && max_parts > s->problem->max_pipelines)
        max_parts = s->problem->max_pipelines;
    for (int parts = 1; parts <= max_parts && devices <= 4 * MAX_FIT; parts++)
        add_fit(s, all, parts, deadline);
    add_fit(s, left, 1, deadline);
}

double fleet_share(struct fleet_pipeline *pipelines, int count, int64_t microbatches)
{
    double wanted = (double)microbatches, low = 0.0, high = 0.0, slowest = 0.0;
    for (int k = 0; k < count; k++)
        high = fmax(high, pipelines[k].fill + wanted * pipelines[k].cycle);
    for (int i = 0; i < 100; i++) {
        double middle = 0.5 * (low + high), done = 0.0;
        for (int k = 0; k < count; k++)
            done += pipelines[k].copies * fleet_done_by(&pipelines[k], middle, true);
        if (done >= wanted)
            high = middle;
        else
            low = middle;
    }
    int64_t others = 0; /* copies of later pipelines: each has a micro-batch if it is done in time */
    for (int k = 0; k < count; k++)
        others += fleet_done_by(&pipelines[k], high, true) > 0.0 ? pipelines[k].copies : 0;
    for (int k = 0; k < count; k++) {
        struct fleet_pipeline *p = &pipelines[k];
        int64_t own = (int64_t)fleet_done_by(p, high, true) * p->copies, room;
        others -= own > 0 ? p->copies : 0;
        room = microbatches - others > 0 ? microbatches - others : microbatches;
        p->microbatches = own < room ? own : room;
        microbatches -= p->microbatches;
        slowest = fmax(slowest, fleet_pipeline_seconds(p));
    }
    return slowest;
}

/* Makes the chosen pipelines the plan if they are faster than the plan so far. */
static bool take_plan(const struct fleet_searcher *s, struct fleet_choice *plan, struct error *err)
{
    struct fleet_choice next = {.after = s->problem->min_after};
    int kinds = 0;
    for (int i = 0; i < s->column_count; i++)
        kinds += s->copies[i] > 0;
    next.pipelines = ARENA_ARRAY(&plan->arena, (size_t)kinds, struct fleet_pipeline);
    if (!next.pipelines)
        return error_memory(err);
    for (int i = 0; i < s->column_count; i++)
        if (s->copies[i] > 0) {
            struct fleet_pipeline *to = &next.pipelines[next.pipeline_count++];
            *to = s->columns[i];
            to->copies = s->copies[i];
            if (!fleet_own_stages(to, &plan->arena))
                return error_memory(err);
        }
    next.seconds = fleet_share(next.pipelines, next.pipeline_count, s->problem->microbatches);
    /* drop pipelines without micro-batches */
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

bool fleet_choose(struct fleet_searcher *s, double deadline, double min, struct fleet_choice *plan,
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
        late = stop_wanted() ? INFINITY : late * (1.0 + step); /* then nothing fills any more */
        if (plan->pipeline_count > 0 && late + min >= plan->seconds)
            break;
        if (late > 1e6 * deadline)
            return error_set(err, ERROR_INFEASIBLE,
                             "the model does not fit in any pipeline of these devices");
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
    return plan->pipeline_count > 0 && late + min >= plan->seconds ? true : take_plan(s, plan, err);
}
