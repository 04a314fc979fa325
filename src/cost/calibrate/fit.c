#include "cost/calibrate/fit.h"

#include "core/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A simplex ends when its values agree to this, and restarts end when one gains less than this. */
#define SIMPLEX_TOLERANCE 1e-10
#define RESTART_GAIN      1e-4

struct simplex {
    double (*objective)(const double *x, void *context);
    void *context;
    int count;            /* of all parameters */
    int free_count;       /* of those that move */
    int free[MAX_FIT];    /* which */
    double *points;       /* free_count + 1 points of `count` numbers */
    double *values;       /* of the points */
    double *centre;       /* of all points but the worst */
    double *trial, *far;  /* points being tried */
    int evaluations_left; /* may end slightly below 0 */
};

static double *point(const struct simplex *s, int i)
{
    return s->points + (size_t)i * (size_t)s->count;
}

static double evaluate(struct simplex *s, const double *x)
{
    s->evaluations_left--;
    double value = s->objective(x, s->context);
    return isfinite(value) ? value : HUGE_VAL;
}

static void start_at(struct simplex *s, const double *x, double value, const double *step, double scale)
{
    size_t bytes = (size_t)s->count * sizeof *x;
    memcpy(point(s, 0), x, bytes);
    s->values[0] = value;
    for (int i = 0; i < s->free_count; i++) {
        double *corner = point(s, i + 1);
        memcpy(corner, x, bytes);
        corner[s->free[i]] += scale * step[s->free[i]];
        s->values[i + 1] = evaluate(s, corner);
    }
}

/* Best, worst and second worst. */
static void rank(const struct simplex *s, int *best, int *worst, int *second)
{
    *best = *worst = 0;
    for (int i = 1; i <= s->free_count; i++) {
        if (s->values[i] < s->values[*best])
            *best = i;
        if (s->values[i] >= s->values[*worst])
            *worst = i;
    }
    *second = *best;
    for (int i = 0; i <= s->free_count; i++)
        if (i != *worst && s->values[i] > s->values[*second])
            *second = i;
}

static void find_centre(struct simplex *s, int worst)
{
    memset(s->centre, 0, (size_t)s->count * sizeof *s->centre);
    for (int i = 0; i <= s->free_count; i++)
        for (int j = 0; i != worst && j < s->count; j++)
            s->centre[j] += point(s, i)[j] / s->free_count;
}

/* centre + factor x (centre - worst) */
static double try_along(struct simplex *s, int worst, double factor, double *x)
{
    for (int j = 0; j < s->count; j++)
        x[j] = s->centre[j] + factor * (s->centre[j] - point(s, worst)[j]);
    return evaluate(s, x);
}

static void replace(struct simplex *s, int i, const double *x, double value)
{
    memcpy(point(s, i), x, (size_t)s->count * sizeof *x);
    s->values[i] = value;
}

static void shrink(struct simplex *s, int best, double factor)
{
    for (int i = 0; i <= s->free_count; i++) {
        if (i == best)
            continue;
        double *x = point(s, i);
        for (int j = 0; j < s->count; j++)
            x[j] = point(s, best)[j] + factor * (x[j] - point(s, best)[j]);
        s->values[i] = evaluate(s, x);
    }
}

/* One move, with coefficients that depend on the dimension (Gao and Han 2012, "Implementing the Nelder-Mead simplex
 * algorithm with adaptive parameters"). */
static void move(struct simplex *s, int best, int worst, int second)
{
    double n = s->free_count > 1 ? s->free_count : 2;
    double contraction = 0.75 - 0.5 / n;
    find_centre(s, worst);
    double reflected = try_along(s, worst, 1, s->trial);
    if (reflected < s->values[best]) {
        double expanded = try_along(s, worst, 1 + 2 / n, s->far);
        if (expanded < reflected)
            replace(s, worst, s->far, expanded);
        else
            replace(s, worst, s->trial, reflected);
        return;
    }
    if (reflected < s->values[second]) {
        replace(s, worst, s->trial, reflected);
        return;
    }
    bool outside = reflected < s->values[worst];
    double contracted = try_along(s, worst, outside ? contraction : -contraction, s->far);
    if (contracted < (outside ? reflected : s->values[worst]))
        replace(s, worst, s->far, contracted);
    else
        shrink(s, best, 1 - 1 / n);
}

/* Starts from the best point known and ends when the simplex has closed. Returns the new best value. */
static double descend(struct simplex *s, double *x, double value, const double *step, double scale)
{
    int best;
    int worst;
    int second;
    start_at(s, x, value, step, scale);
    rank(s, &best, &worst, &second);
    while (s->evaluations_left > 0 && !stop_wanted() &&
           s->values[worst] - s->values[best] >
               SIMPLEX_TOLERANCE * (fabs(s->values[best]) + SIMPLEX_TOLERANCE)) {
        move(s, best, worst, second);
        rank(s, &best, &worst, &second);
    }
    memcpy(x, point(s, best), (size_t)s->count * sizeof *x);
    return s->values[best];
}

static bool allocate(struct simplex *s)
{
    size_t points = (size_t)s->free_count + 1;
    s->points = calloc((points + 3) * (size_t)s->count + points, sizeof *s->points);
    if (!s->points)
        return false;
    s->centre = point(s, s->free_count + 1);
    s->trial = s->centre + s->count;
    s->far = s->trial + s->count;
    s->values = s->far + s->count;
    return true;
}

bool fit_minimise(double (*objective)(const double *x, void *context), void *context, double *x,
                  const double *step, int count, int evaluations, double *best)
{
    struct simplex s = {
        .objective = objective, .context = context, .count = count, .evaluations_left = evaluations};
    if (count < 1 || count > MAX_FIT)
        return false;
    for (int i = 0; i < count; i++)
        if (step[i] != 0)
            s.free[s.free_count++] = i;
    if (s.free_count == 0 || !allocate(&s))
        return false;
    double value = evaluate(&s, x);
    /* turns about, so that a restart looks on the other side */
    for (double scale = 1; s.evaluations_left > 0 && !stop_wanted(); scale *= -0.5) {
        double before = value;
        value = descend(&s, x, value, step, scale);
        if (fabs(scale) < 1 && before - value <= RESTART_GAIN * fabs(value))
            break;
    }
    free(s.points);
    if (best)
        *best = value;
    return true;
}

struct error_score fit_score(double *errors, int count)
{
    struct error_score score = {.rows = count};
    if (count == 0)
        return score;
    sort_doubles(errors, count);
    for (int i = 0; i < count; i++)
        score.mean += errors[i] / count;
    score.median = 0.5 * (errors[(count - 1) / 2] + errors[count / 2]);
    score.p90 = errors[(int)(0.9 * (count - 1))];
    return score;
}
