#include "evidence/neighbours.h"

#include "core/stop.h"
#include "core/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEASURED likeness_doubt(DOUBT_MEASURED)
#define USUAL    likeness_doubt(DOUBT_USUAL)
#define LEAST    0.002 /* share of the variance that a measurement has at least, for the solver's sake */
#define MOST     0.5
#define ODD      likeness_doubt(DOUBT_ODD)

/* Runs further away say nothing. */
#define FAR 5.0

/* The weight of errors of sources left out, in runs like the job itself; and the share that an interval is to hold. */
#define UNSEEN_WEIGHT likeness_doubt(DOUBT_UNSEEN)
#define INSIDE        0.8

/* Runs that support a job, and what is missing to their number counts as so far. */
#define SUPPORTERS 3
#define NO_SUPPORT likeness_doubt(DOUBT_NO_SUPPORT)
#define OTHER_NAME likeness_doubt(DOUBT_OTHER_NAME)

/* Where fewer runs are left out, the errors of all known ones are taken, of which these are a hundredth. */
#define FEW           8
#define RESIDUALS_MAX 2048

/* ---- the nearest ---- */

/* Returns how much a run says of the release of a job that has none: of its framework, or at least software, and on its
 * device. */
static int says_release(const struct likeness *run, const struct likeness *job)
{
    int software = *job->framework && likeness_same_framework(run->framework, job->framework) ? 2
                   : strcmp(run->software, job->software) == 0                                ? 1
                                                                                              : 0;
    return 2 * software + (software > 0 && strcmp(run->device, job->device) == 0);
}

/* Sets the newest release among the runs that say most, and where no framework is said, theirs. */
static void set_newest(const struct residuals *known, struct likeness *job)
{
    const struct likeness *newest = NULL;
    int most = 0;
    for (int i = 0; i < known->count; i++) {
        const struct likeness *run = &known->rows[i].likeness;
        int says = says_release(run, job);
        if (says > most || (says == most && (!newest || run->released > newest->released))) {
            most = says;
            newest = run;
        }
    }
    job->released = newest ? newest->released : 0.0;
    if (*job->framework == '\0' && most > 0)
        job->framework = newest->framework;
}

/* Inserts a row at its place; of equally near ones the first stays first. */
static void insert(struct estimate *estimate, const struct residual *row, double correlation)
{
    int at = estimate->count < NEIGHBOURS_MAX ? estimate->count++ : NEIGHBOURS_MAX;
    if (at == NEIGHBOURS_MAX && estimate->neighbours[at - 1].correlation >= correlation)
        return;
    at = at == NEIGHBOURS_MAX ? at - 1 : at;
    for (; at > 0 && estimate->neighbours[at - 1].correlation < correlation; at--)
        estimate->neighbours[at] = estimate->neighbours[at - 1];
    estimate->neighbours[at] = (struct neighbour){.row = row, .correlation = correlation};
}

/* Keeps the smallest distances in order. */
static void keep_least(double least[SUPPORTERS], double distance)
{
    for (int i = 0; i < SUPPORTERS; i++)
        if (distance < least[i]) {
            double kept = least[i];
            least[i] = distance;
            distance = kept;
        }
}

static void find_nearest(struct estimate *estimate, const struct residuals *known,
                         const struct likeness *likeness, residual_filter *left_out, const void *context)
{
    struct likeness dated = *likeness;
    double least[SUPPORTERS] = {NO_SUPPORT, NO_SUPPORT, NO_SUPPORT};
    bool named = !likeness->called || known->count == 0;
    estimate->sheet = dated.sheet;
    if (dated.released == 0.0)
        set_newest(known, &dated);
    for (int i = 0; i < known->count; i++) {
        const struct residual *row = &known->rows[i];
        if (left_out && left_out(row, context))
            continue;
        named = named || likeness_says_software(&row->likeness, likeness);
        keep_least(least, likeness_support(&row->likeness, &dated));
        estimate->sheet = estimate->sheet && strcmp(row->likeness.device, dated.device) != 0;
        double distance = likeness_distance(&dated, &row->likeness, FAR);
        if (distance < FAR)
            insert(estimate, row, exp(-distance));
        if (likeness_is_similar(&row->likeness, &dated) &&
            (!estimate->nearest || likeness_is_nearer(&row->likeness, &estimate->nearest->likeness, &dated)))
            estimate->nearest = row;
    }
    for (int i = 0; i < SUPPORTERS; i++)
        estimate->distance += (least[i] + (named ? 0.0 : OTHER_NAME)) / SUPPORTERS;
}

/* ---- the expected error ---- */

static double believed(double log_ratio)
{
    return fmin(fmax(log_ratio, -ODD), ODD);
}

/* Returns the variance of one measurement as a share of that of the formula's error, which the nearest runs tell: where
 * the formula is far off, that is no noise, and the nearest run is believed. */
static double noise_of(const struct estimate *estimate)
{
    double squares = USUAL * USUAL, weights = 1.0;
    for (int i = 0; i < estimate->count; i++) {
        double error = believed(estimate->neighbours[i].row->log_ratio);
        squares += estimate->neighbours[i].correlation * error * error;
        weights += estimate->neighbours[i].correlation;
    }
    return fmin(fmax(MEASURED * MEASURED * weights / squares, LEAST), MOST);
}

/* Solves (C + noise I) x = k by Cholesky's decomposition, in place: `matrix` is its lower triangle, x is left in
 * `vector`. */
static void solve(double (*matrix)[NEIGHBOURS_MAX], double *vector, int count, double noise)
{
    for (int i = 0; i < count; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = matrix[i][j];
            for (int k = 0; k < j; k++)
                sum -= matrix[i][k] * matrix[j][k];
            /* a pivot is not less than the noise, but for rounding */
            matrix[i][j] = i == j ? sqrt(fmax(sum, noise)) : sum / matrix[j][j];
        }
        for (int k = 0; k < i; k++)
            vector[i] -= matrix[i][k] * vector[k];
        vector[i] /= matrix[i][i];
    }
    for (int i = count; i-- > 0;) {
        for (int k = i + 1; k < count; k++)
            vector[i] -= matrix[k][i] * vector[k];
        vector[i] /= matrix[i][i];
    }
}

/* Returns the expected error, and sets what each run adds to it and the variance that is left. */
static double expect(struct estimate *estimate)
{
    double matrix[NEIGHBOURS_MAX][NEIGHBOURS_MAX], weights[NEIGHBOURS_MAX], error = 0.0;
    double noise = noise_of(estimate);
    for (int i = 0; i < estimate->count; i++) {
        const struct likeness *likeness = &estimate->neighbours[i].row->likeness;
        for (int j = 0; j < i; j++) {
            double distance = likeness_distance(likeness, &estimate->neighbours[j].row->likeness, INFINITY);
            matrix[i][j] = exp(-distance);
        }
        matrix[i][i] = 1.0 + noise;
        weights[i] = estimate->neighbours[i].correlation;
    }
    solve(matrix, weights, estimate->count, noise);
    estimate->unexplained = 1.0;
    for (int i = 0; i < estimate->count; i++)
        estimate->unexplained -= weights[i] * estimate->neighbours[i].correlation;
    double believable = fmin(fmax(1.0 - estimate->unexplained, 0.0) / likeness_doubt(DOUBT_ENOUGH), 1.0);
    for (int i = 0; i < estimate->count; i++) {
        struct neighbour *neighbour = &estimate->neighbours[i];
        neighbour->moved = believable * weights[i] * believed(neighbour->row->log_ratio);
        error += neighbour->moved;
    }
    return error;
}

/* ---- the interval ---- */

struct weighted {
    double error, weight;
};

static int by_error(const void *a, const void *b)
{
    double x = ((const struct weighted *)a)->error, y = ((const struct weighted *)b)->error;
    return (x > y) - (x < y);
}

/* Returns the quantile between the middles of weights. */
static double quantile(struct weighted *errors, int count, double share)
{
    double total = 0.0, at = 0.0;
    qsort(errors, (size_t)count, sizeof *errors, by_error);
    for (int i = 0; i < count; i++)
        total += errors[i].weight;
    for (int i = 0; i < count; i++) {
        double middle = at + errors[i].weight / 2.0;
        if (middle >= share * total) {
            if (i == 0)
                return errors[0].error;
            double before = at - errors[i - 1].weight / 2.0;
            double part = (share * total - before) / (middle - before);
            return errors[i - 1].error + part * (errors[i].error - errors[i - 1].error);
        }
        at += errors[i].weight;
    }
    return errors[count - 1].error;
}

/* Returns the share of the middle of the errors that has an error: the inverse of two quantiles; 1: beyond all. */
static double level_of(struct weighted *errors, int count, double error)
{
    double total = 0.0, at = 0.0, position = 1.0, middle = 0.0;
    qsort(errors, (size_t)count, sizeof *errors, by_error);
    for (int i = 0; i < count; i++)
        total += errors[i].weight;
    for (int i = 0; i < count; i++) {
        double before = middle;
        middle = at + errors[i].weight / 2.0;
        if (errors[i].error >= error) {
            double gap = i > 0 ? errors[i].error - errors[i - 1].error : 0.0;
            double part = gap > 0.0 ? (error - errors[i - 1].error) / gap : 1.0;
            position = i > 0 ? (before + part * (middle - before)) / total : 0.0;
            break;
        }
        at += errors[i].weight;
    }
    return fabs(2.0 * position - 1.0);
}

/* The errors that a job may have: as like known runs, and behind them as unlike these. */
struct errors {
    struct weighted of[2 * (NEIGHBOURS_MAX + UNSEEN_COUNT) + UNLIKE_COUNT];
    int like, count;
};

/* Adds an error to both sides: known runs are too few to tell the sides apart. */
static void add_both(struct errors *errors, double center, double error, double weight)
{
    errors->of[errors->like++] = (struct weighted){center - error, weight / 2.0};
    errors->of[errors->like++] = (struct weighted){center + error, weight / 2.0};
}

static void weigh(struct weighted *errors, int count, double whole)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += errors[i].weight;
    for (int i = 0; i < count && sum > 0.0; i++)
        errors[i].weight *= whole / sum;
}

static void set_ends(struct weighted *errors, int count, double share, double *low, double *high)
{
    *low = exp(quantile(errors, count, (1.0 - share) / 2.0));
    *high = exp(quantile(errors, count, (1.0 + share) / 2.0));
}

static bool has_experts(const struct likeness *likeness)
{
    return likeness->kind == LIKENESS_EXPERTS;
}

/* Collects the errors, and sets the ends of each of both sets. */
static void collect(struct estimate *estimate, const struct residuals *known, double error,
                    struct errors *errors)
{
    struct likeness_spread spread = likeness_spread(&estimate->job, estimate->forgotten);
    struct plan_interval *shares = &estimate->shares;
    double unlike = 1.0 - exp(-estimate->distance);
    const double *unseen = known->unseen[has_experts(&estimate->job)];
    errors->like = 0;
    for (int i = 0; i < estimate->count && !estimate->sheet && !estimate->forgotten; i++)
        add_both(errors, error, fabs(estimate->neighbours[i].row->left), estimate->neighbours[i].correlation);
    for (int i = 0; i < UNSEEN_COUNT; i++)
        add_both(errors, error, estimate->sheet ? known->sheets[i] : unseen[i], UNSEEN_WEIGHT / UNSEEN_COUNT);
    errors->count = errors->like + UNLIKE_COUNT;
    struct weighted *others = errors->of + errors->like;
    for (int i = 0; i < UNLIKE_COUNT; i++)
        others[i] = (struct weighted){spread.center + known->unlike[i] * spread.width, 1.0};
    set_ends(others, UNLIKE_COUNT, known->share, &shares->unlike_low, &shares->unlike_high);
    set_ends(errors->of, errors->like, known->share, &shares->like_low, &shares->like_high);
    weigh(errors->of, errors->like, 1.0 - unlike);
    weigh(others, UNLIKE_COUNT, unlike);
}

/* ---- errors of groups that were left out ---- */

/* Sets quantiles of the errors of sources, and of families, that were left out, and the share of the middle that has
 * 80 % of both: of those that are not left out now. */
static void set_unseen(struct residuals *known, residual_filter *left_out, const void *context)
{
    struct weighted sources[2][RESIDUALS_MAX], families[RESIDUALS_MAX], levels[2 * RESIDUALS_MAX];
    int counts[2] = {0, 0}, count = 0, level = 0,
        all = known->count < RESIDUALS_MAX ? known->count : RESIDUALS_MAX;
    for (int i = 0; i < all; i++) {
        const struct residual *row = &known->rows[i];
        bool experts = has_experts(&row->likeness);
        if (left_out && left_out(row, context))
            continue;
        sources[experts][counts[experts]++] = (struct weighted){fabs(row->apart), row->of_kind};
        families[count] = (struct weighted){row->unlike, row->of_family};
        count++;
        levels[level++] = (struct weighted){row->level_apart, row->of_source};
        levels[level++] = (struct weighted){row->level_unlike, row->of_family};
    }
    for (int i = 0; i < UNSEEN_COUNT; i++)
        for (int k = 0; k < 2; k++)
            known->unseen[k][i] =
                counts[k] > 0 ? quantile(sources[k], counts[k], (i + 0.5) / UNSEEN_COUNT) : ODD;
    for (int i = 0; i < UNLIKE_COUNT; i++) {
        double share = (i + 0.5) / UNLIKE_COUNT;
        known->unlike[i] = count > 0 ? quantile(families, count, share) : 2.0 * share - 1.0;
    }
    known->share = count > 0 ? quantile(levels, level, INSIDE) : INSIDE;
}

static int count_left_out(const struct residuals *known, residual_filter *left_out, const void *context)
{
    int count = 0;
    for (int i = 0; i < known->count && left_out; i++)
        count += left_out(&known->rows[i], context);
    return count;
}

/* Sets all of an estimate but its interval, for which it leaves the errors. Returns the share that is to be inside. */
static double estimate_errors(struct estimate *estimate, const struct residuals *known,
                              residual_filter *left_out, const void *context, struct errors *errors)
{
    struct residuals others = *known;
    estimate->own = 1.0;
    estimate->forgotten = left_out == residual_same_family && known->count > 0;
    others.share = others.share > 0.0 ? others.share : INSIDE; /* of runs of a test */
    if (count_left_out(known, left_out, context) > FEW)
        set_unseen(&others, left_out, context);
    find_nearest(estimate, known, &estimate->job, left_out, context);
    double error = expect(estimate);
    if (estimate->forgotten)
        error = likeness_spread(&estimate->job, true).center;
    collect(estimate, &others, error, errors);
    estimate->factor = exp(error);
    estimate->extrapolates = !estimate->nearest || estimate->sheet;
    estimate->shares.extrapolates = estimate->extrapolates;
    return others.share;
}

struct estimate neighbours_estimate(const struct residuals *known, const struct likeness *likeness,
                                    residual_filter *left_out, const void *context)
{
    struct estimate estimate = {.job = *likeness};
    struct errors errors;
    double share = estimate_errors(&estimate, known, left_out, context, &errors);
    set_ends(errors.of, errors.count, share, &estimate.shares.low, &estimate.shares.high);
    return estimate;
}

/* ---- leaving out ---- */

/* The rounds of MLPerf count as one source. */
bool residual_same_source(const struct residual *row, const void *of)
{
    static const char rounds[] = "mlcommons/";
    const struct residual *other = of;
    return strcmp(row->source, other->source) == 0 ||
           (text_starts_with(row->source, rounds) && text_starts_with(other->source, rounds));
}

bool residual_same_device(const struct residual *row, const void *of)
{
    const struct residual *other = of;
    return strcmp(row->likeness.device, other->likeness.device) == 0;
}

bool residual_same_job(const struct residual *row, const void *of)
{
    const struct residual *other = of;
    return row->likeness.devices == other->likeness.devices && strcmp(row->model, other->model) == 0 &&
           residual_same_source(row, other) && residual_same_device(row, other);
}

bool residual_same_family(const struct residual *row, const void *of)
{
    return likeness_same_family(row->likeness.software, ((const struct residual *)of)->likeness.software);
}

static bool same_kind_of_source(const struct residual *row, const void *of)
{
    return residual_same_source(row, of) &&
           has_experts(&row->likeness) == has_experts(&((const struct residual *)of)->likeness);
}

static double level_without(const struct residuals *residuals, const struct residual *row,
                            residual_filter *left_out)
{
    struct estimate estimate = {.job = row->likeness};
    struct errors errors;
    estimate_errors(&estimate, residuals, left_out, row, &errors);
    return level_of(errors.of, errors.count, row->log_ratio);
}

static double left_without(const struct residuals *residuals, const struct residual *row,
                           residual_filter *left_out)
{
    struct estimate estimate = {.count = 0};
    find_nearest(&estimate, residuals, &row->likeness, left_out, row);
    return row->log_ratio - expect(&estimate);
}

static double share_of(const struct residuals *residuals, const struct residual *row,
                       residual_filter *of_part)
{
    return 1.0 / fmax(count_left_out(residuals, of_part, row), 1.0);
}

int residuals_on(const struct cost_device *device)
{
    int count = 0;
    for (int i = 0; i < residuals_known.count; i++)
        count += strcmp(residuals_known.rows[i].likeness.device, device->name) == 0;
    return count;
}

/* Devices that are known from their data sheets alone: each counts once, however many runs it has. */
static bool find_sheets(struct residuals *residuals, struct error *err)
{
    struct weighted *errors = calloc((size_t)residuals->count + 1, sizeof *errors);
    int count = 0;
    if (!errors)
        return error_memory(err);
    for (int i = 0; i < residuals->count && !stop_wanted(); i++) {
        const struct residual *row = &residuals->rows[i];
        if (row->likeness.sheet)
            errors[count++] = (struct weighted){fabs(left_without(residuals, row, residual_same_device)),
                                                share_of(residuals, row, residual_same_device)};
    }
    for (int i = 0; i < UNSEEN_COUNT; i++)
        residuals->sheets[i] = count > 0 ? quantile(errors, count, (i + 0.5) / UNSEEN_COUNT) : ODD;
    free(errors);
    return true;
}

bool residuals_leave_out(struct residuals *residuals, struct residual *rows, struct error *err)
{
    residuals->rows = rows;
    for (int i = 0; i < residuals->count && !stop_wanted(); i++) {
        struct residual *row = &rows[i];
        struct likeness_spread spread = likeness_spread(&row->likeness, true);
        row->left = left_without(residuals, row, residual_same_job);
        row->apart = left_without(residuals, row, residual_same_source);
        row->unlike = (row->log_ratio - spread.center) / spread.width;
        row->of_source = share_of(residuals, row, residual_same_source);
        row->of_family = share_of(residuals, row, residual_same_family);
        row->of_kind = share_of(residuals, row, same_kind_of_source);
    }
    set_unseen(residuals, NULL, NULL);
    if (!find_sheets(residuals, err))
        return false;
    for (int i = 0; i < residuals->count && !stop_wanted(); i++) {
        rows[i].level_apart = level_without(residuals, &rows[i], residual_same_source);
        rows[i].level_unlike = level_without(residuals, &rows[i], residual_same_family);
    }
    set_unseen(residuals, NULL, NULL);
    return true;
}
