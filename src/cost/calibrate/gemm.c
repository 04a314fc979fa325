#include "cost/calibrate/gemm.h"

#include "core/random.h"
#include "core/statistics.h"
#include "core/stop.h"
#include "cost/calibrate/fit.h"
#include "cost/gemm_near.h"
#include "devices/device.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define PARAMETERS  ((int)(sizeof(struct gemm_parameters) / sizeof(double)))
#define EVALUATIONS 1500
#define FIRST_STEP  0.25 /* of a parameter's logarithm */
#define PACE_MOST   3.0  /* of a card: by what it may differ from its kind */
#define PENALTY     100  /* per unit of logarithm outside of the bounds */

#define LARGEST_TILE (128.0 * 256) /* numbers; of those in cost/gemm.c */

/* The samples of one type, in an order that has nothing to do with that of the table. */
struct rows {
    const struct gemm_sample **samples;
    int count;
    double *errors; /* room for as many */
    int *folds;     /* of each row: rows of one matrix are in one fold */
};

static uint64_t matrix_of(const struct gemm_sample *sample)
{
    return random_mix(random_mix((uint64_t)sample->size.n) + (uint64_t)sample->size.k);
}

/* Orders rows by their matrix and then by their other sizes, so that the same rows in another order give the same
 * fit. */
static int by_key(const void *left, const void *right)
{
    const struct gemm_sample *x = *(const struct gemm_sample *const *)left,
                             *y = *(const struct gemm_sample *const *)right;
    uint64_t a = matrix_of(x), b = matrix_of(y);
    if (a == b) {
        a = random_mix(random_mix((uint64_t)x->size.m) + (uint64_t)x->size.batch);
        b = random_mix(random_mix((uint64_t)y->size.m) + (uint64_t)y->size.batch);
    }
    return a < b ? -1 : a > b;
}

/* Matrices take turns; where there are fewer of them than folds, rows do. */
static void find_folds(struct rows *rows)
{
    int matrices = 0;
    for (int i = 0; i < rows->count; i++) {
        matrices += i == 0 || matrix_of(rows->samples[i]) != matrix_of(rows->samples[i - 1]);
        rows->folds[i] = (matrices - 1) % GEMM_FIT_FOLDS;
    }
    for (int i = 0; i < rows->count && matrices < GEMM_FIT_FOLDS; i++)
        rows->folds[i] = i % GEMM_FIT_FOLDS;
}

static void rows_release(struct rows *rows)
{
    free((void *)rows->samples);
    free(rows->errors);
    free(rows->folds);
}

/* COST_TYPE_COUNT: of all types. */
static bool rows_of(struct rows *rows, const struct gemm_samples *samples, enum cost_type type,
                    struct error *err)
{
    *rows = (struct rows){0};
    rows->samples = malloc(((size_t)samples->count + 1) * sizeof *rows->samples);
    rows->errors = malloc(((size_t)samples->count + 1) * sizeof *rows->errors);
    rows->folds = malloc(((size_t)samples->count + 1) * sizeof *rows->folds);
    if (!rows->samples || !rows->errors || !rows->folds) {
        rows_release(rows);
        return error_memory(err);
    }
    for (int i = 0; i < samples->count; i++)
        if (type == COST_TYPE_COUNT || samples->samples[i].type == type)
            rows->samples[rows->count++] = &samples->samples[i];
    if (!sort_items((void *)rows->samples, (size_t)rows->count, sizeof *rows->samples, by_key, err)) {
        rows_release(rows);
        return false;
    }
    find_folds(rows);
    return true;
}

static double error_at(const struct cost_device *device, const struct gemm_sample *sample)
{
    struct gemm_time time = gemm_time(device, sample->type, sample->size);
    return fabs(time.seconds / sample->seconds - 1);
}

/* The median is the upper one of the middle two. */
static struct error_score score_of(double *errors, int count)
{
    struct error_score score = fit_score(errors, count);
    if (count > 0)
        score.median = errors[count / 2];
    return score;
}

bool gemm_error_of(struct error_score *error, const struct cost_device *device,
                   const struct gemm_samples *samples, enum cost_type type, struct error *err)
{
    struct rows rows;
    if (!rows_of(&rows, samples, type, err))
        return false;
    for (int i = 0; i < rows.count && !stop_wanted(); i++) {
        const struct gemm_sample *s = rows.samples[i];
        struct gemm_time time = gemm_time_near(device, s->type, s->size, 0.0, NULL);
        rows.errors[i] = fabs(time.seconds / s->seconds - 1);
    }
    *error = score_of(rows.errors, rows.count);
    rows_release(&rows);
    return true;
}

/* ---- one fit ---- */

struct trial {
    struct cost_device device;
    enum cost_type type;
    const struct rows *rows;
    int fold; /* whose rows are left out; -1: none */
    int stride;
};

static const double bounds[][2] = {
#define X(name, text, min, max) {min, max},
    GEMM_PARAMETERS(X)
#undef X
};

/* Parameters from their logarithms; returns how far these are out of bounds. */
static double set_parameters(struct gemm_parameters *parameters, const double *x)
{
    double *values = (double *)parameters;
    double outside = 0;
    for (int i = 0; i < PARAMETERS; i++) {
        double inside = fmin(fmax(x[i], log(bounds[i][0])), log(bounds[i][1]));
        outside += fabs(x[i] - inside);
        values[i] = fmin(fmax(exp(inside), bounds[i][0]), bounds[i][1]);
    }
    return outside;
}

/* Returns by how much the largest tile would exceed the peak: tables without a large product do not tell. */
static double above_peak(const struct gemm_parameters *gemm)
{
    double share = gemm->efficiency / (1 + gemm->small_tile * gemm->small_tile / LARGEST_TILE);
    return share > 1 ? log(share) : 0;
}

/* The mean error and half of the median error: a few rows with large errors must not decide alone. */
static double objective(const double *x, void *context)
{
    struct trial *trial = context;
    const struct rows *rows = trial->rows;
    double outside = set_parameters(&trial->device.gemm[trial->type], x);
    int count = 0;
    for (int row = 0; row < rows->count && !stop_wanted_at((size_t)row); row += trial->stride)
        if (trial->rows->folds[row] != trial->fold)
            rows->errors[count++] = error_at(&trial->device, rows->samples[row]);
    struct error_score error = score_of(rows->errors, count);
    outside += above_peak(&trial->device.gemm[trial->type]);
    return error.mean + error.median / 2 + PENALTY * outside;
}

/* Coprime to the folds, so that a fit sees rows of all of them. */
static int stride_for(int rows)
{
    int stride = 1 + rows / GEMM_FIT_MAX;
    return stride % GEMM_FIT_FOLDS == 0 ? stride + 1 : stride;
}

static bool fit_fold(struct trial *trial, const struct gemm_parameters *start, int fold, double *value,
                     struct error *err)
{
    double x[PARAMETERS];
    double step[PARAMETERS];
    trial->fold = fold;
    for (int i = 0; i < PARAMETERS; i++) {
        x[i] = log(((const double *)start)[i]);
        step[i] = FIRST_STEP;
    }
    if (!fit_minimise(objective, trial, x, step, PARAMETERS, EVALUATIONS, value))
        return error_memory(err);
    set_parameters(&trial->device.gemm[trial->type], x);
    return true;
}

/* A fit ends near where it starts: from the device as it is, and from one whose kernels want large tiles, long parts
 * and cheap splits, as those of tf32 on Hopper do. */
static bool fit_all_rows(struct trial *trial, const struct gemm_parameters *start,
                         struct gemm_parameters *best, struct error *err)
{
    struct gemm_parameters large = *start;
    double value;
    double other;
    large.small_tile = 100;
    large.efficiency = 1;
    large.step = 6.5e-9;
    large.split = 4e-7;
    large.split_least = 240;
    if (!fit_fold(trial, start, -1, &value, err))
        return false;
    *best = trial->device.gemm[trial->type];
    if (!fit_fold(trial, &large, -1, &other, err))
        return false;
    if (other < value)
        *best = trial->device.gemm[trial->type];
    return true;
}

/* Each fold starts from the fit to all rows, which saves most of the way: a handful of parameters of thousands of rows
 * do not remember single ones. */
static bool fit_type(struct gemm_fit *fit, const struct rows *rows, enum cost_type type, struct error *err)
{
    struct trial trial = {.device = fit->device, .type = type, .rows = rows};
    trial.stride = stride_for(rows->count);
    struct gemm_parameters best;
    if (!fit_all_rows(&trial, &fit->device.gemm[type], &best, err))
        return false;
    double *errors = malloc((size_t)rows->count * sizeof *errors);
    if (!errors)
        return error_memory(err);
    int count = 0;
    for (int fold = 0; fold < GEMM_FIT_FOLDS; fold++) {
        if (!fit_fold(&trial, &best, fold, NULL, err)) {
            free(errors);
            return false;
        }
        for (int row = 0; row < rows->count && !stop_wanted_at((size_t)row); row++)
            if (rows->folds[row] == fold)
                errors[count++] = error_at(&trial.device, rows->samples[row]);
    }
    fit->types[type] = score_of(errors, count);
    fit->device.gemm[type] = best;
    fit->device.gemm_own[type] = true;
    free(errors);
    return true;
}

static bool fit_types(struct gemm_fit *fit, const struct gemm_samples *samples,
                      const struct cost_device *start, struct error *err)
{
    for (int t = 0; t < COST_TYPE_COUNT; t++) {
        struct rows rows;
        if (!rows_of(&rows, samples, (enum cost_type)t, err))
            return false;
        bool enough = rows.count >= GEMM_FIT_MIN && start->peak[t] > 0;
        bool good = !enough || fit_type(fit, &rows, (enum cost_type)t, err);
        rows_release(&rows);
        if (!good)
            return false;
    }
    device_fill_types(&fit->device);
    return true;
}

/* ---- a pace ---- */

static double near_seconds(const struct cost_device *device, const struct gemm_sample *s)
{
    return gemm_time_near(device, s->type, s->size, 0.0, NULL).seconds;
}

/* Returns the median of known over measured times of the rows outside of a fold (-1: of all). */
static double pace_of(const struct rows *rows, const double *ratios, int fold, double *room)
{
    int count = 0;
    for (int i = 0; i < rows->count; i++)
        if (rows->folds[i] != fold)
            room[count++] = ratios[i];
    sort_doubles(room, count);
    return count > 0 ? quantile_of(room, count, 0.5) : 1.0;
}

/* Scores each type on the folds that a pace did not see. */
static void score_pace(struct gemm_fit *fit, const struct rows *rows, const double *ratios, double *room)
{
    double paces[GEMM_FIT_FOLDS];
    for (int fold = 0; fold < GEMM_FIT_FOLDS; fold++)
        paces[fold] = pace_of(rows, ratios, fold, room);
    for (int t = 0; t < COST_TYPE_COUNT; t++) {
        int count = 0;
        for (int i = 0; i < rows->count; i++)
            if (rows->samples[i]->type == (enum cost_type)t)
                rows->errors[count++] = fabs(ratios[i] / paces[rows->folds[i]] - 1.0);
        fit->types[t] = score_of(rows->errors, count);
    }
}

static bool fit_pace(struct gemm_fit *fit, const struct gemm_samples *samples,
                     const struct cost_device *start, struct error *err)
{
    struct rows rows;
    *fit = (struct gemm_fit){.device = *start, .is_paced = true};
    if (!rows_of(&rows, samples, COST_TYPE_COUNT, err))
        return false;
    double *ratios = malloc(2 * ((size_t)rows.count + 1) * sizeof *ratios), *room = ratios + rows.count + 1;
    if (!ratios) {
        rows_release(&rows);
        return error_memory(err);
    }
    for (int i = 0; i < rows.count && !stop_wanted(); i++)
        ratios[i] = near_seconds(start, rows.samples[i]) / rows.samples[i]->seconds;
    score_pace(fit, &rows, ratios, room);
    double before = start->pace > 0.0 ? start->pace : 1.0;
    fit->device.pace = fmin(fmax(before * pace_of(&rows, ratios, -1, room), 0.01), 10.0);
    free(ratios);
    rows_release(&rows);
    return true;
}

/* ---- the better of the two ---- */

/* Of the types that both were fitted to. */
static double mean_of(const struct gemm_fit *fit, const struct gemm_fit *other)
{
    double sum = 0.0;
    int rows = 0;
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        if (fit->types[t].rows > 0 && other->types[t].rows > 0) {
            sum += fit->types[t].rows * fit->types[t].mean;
            rows += fit->types[t].rows;
        }
    return rows > 0 ? sum / rows : HUGE_VAL;
}

bool gemm_fit_samples(struct gemm_fit *fit, const struct gemm_samples *samples,
                      const struct cost_device *start, struct error *err)
{
    struct gemm_fit paced;
    *fit = (struct gemm_fit){.device = *start};
    if (samples->count < GEMM_FIT_FEW)
        return error_set(err, ERROR_INPUT,
                         "%s: expected at least %d rows of types that '%s' multiplies, found %d rows in all",
                         samples->path, GEMM_FIT_FEW, start->name, samples->count);
    if (!fit_types(fit, samples, start, err) || !fit_pace(&paced, samples, start, err))
        return false;
    double change = paced.device.pace / (start->pace > 0.0 ? start->pace : 1.0);
    bool is_sane = change > 1.0 / PACE_MOST && change < PACE_MOST, is_fitted = isfinite(mean_of(fit, &paced));
    if (!is_sane && !is_fitted)
        return error_set(err, ERROR_INPUT,
                         "%s: its matrix products take %.3g times as long as on '%s': check device, unit and "
                         "number format",
                         samples->path, 1.0 / change, start->name);
    if (is_sane && mean_of(&paced, fit) <= mean_of(fit, &paced))
        *fit = paced;
    return true;
}

/* ---- the result as a file ---- */

void gemm_fit_write(const struct gemm_fit *fit, const char *name, const char *source, struct text *out)
{
    struct cost_device device = fit->device;
    struct text words = {0};
    text_format(&words, "%s %s:", fit->is_paced ? "its pace fitted to" : "fitted to", source);
    for (int t = 0; t < COST_TYPE_COUNT; t++) {
        const struct error_score *error = &fit->types[t];
        if (error->rows > 0)
            text_format(&words, " %s %d rows, cross-validated median %.1f %%, mean %.1f %%;",
                        cost_type_name((enum cost_type)t), error->rows, 100 * error->median,
                        100 * error->mean);
    }
    if (words.failed) {
        out->failed = true;
    } else {
        words.data[words.length - 1] = '\0'; /* the last separator */
        device.name = name;
        device.fitted = words.data;
        cost_device_write(&device, out);
    }
    text_release(&words);
}
