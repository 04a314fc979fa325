#include "plan/fleet/search.h"

#include <math.h>
#include <string.h>

/* The simplex method with an explicit inverse of the basis: few rows, many columns. Columns from column_count on are
 * the slacks. Bland's rule where steps are degenerate, so that it ends. */

#define ROWS      FLEET_MAX_ROWS
#define EPSILON   1e-11
#define MAX_STEPS 10000

struct program {
    int columns, rows;
    const double *values;
    int (*uses)[FLEET_MAX_ROWS];
    int basis[ROWS];
    double inverse[ROWS][ROWS];
    double amount[ROWS]; /* of the basic columns */
};

static double use_of(const struct program *p, int column, int row)
{
    if (column >= p->columns)
        return column - p->columns == row ? 1.0 : 0.0;
    return p->uses[column][row];
}

static double value_of(const struct program *p, int column)
{
    return column >= p->columns ? 0.0 : p->values[column];
}

static void find_prices(const struct program *p, double *prices)
{
    for (int row = 0; row < p->rows; row++) {
        prices[row] = 0.0;
        for (int i = 0; i < p->rows; i++)
            prices[row] += value_of(p, p->basis[i]) * p->inverse[i][row];
    }
}

static double gain_of(const struct program *p, const double *prices, int column)
{
    double gain = value_of(p, column);
    for (int row = 0; row < p->rows; row++)
        gain -= prices[row] * use_of(p, column, row);
    return gain;
}

/* -1: none is worth it. */
static int entering(const struct program *p, const double *prices, bool first)
{
    int best = -1;
    double max = EPSILON;
    for (int c = 0; c < p->columns + p->rows; c++) {
        double gain = gain_of(p, prices, c), scale = fmax(value_of(p, c), 1.0);
        if (gain > max * (first ? 1.0 : scale)) {
            best = c;
            if (first)
                break;
            max = gain / scale;
        }
    }
    return best;
}

static void pivot(struct program *p, int row, const double *direction, double step, int column)
{
    for (int i = 0; i < p->rows; i++)
        p->amount[i] -= i == row ? 0.0 : step * direction[i];
    p->amount[row] = step;
    p->basis[row] = column;
    for (int j = 0; j < p->rows; j++)
        p->inverse[row][j] /= direction[row];
    for (int i = 0; i < p->rows; i++)
        for (int j = 0; j < p->rows && i != row; j++)
            p->inverse[i][j] -= direction[i] * p->inverse[row][j];
}

/* False: done. */
static bool step(struct program *p, bool careful)
{
    double prices[ROWS], direction[ROWS], min = INFINITY;
    find_prices(p, prices);
    int column = entering(p, prices, careful), leaving = -1;
    if (column < 0)
        return false;
    for (int i = 0; i < p->rows; i++) {
        direction[i] = 0.0;
        for (int j = 0; j < p->rows; j++)
            direction[i] += p->inverse[i][j] * use_of(p, column, j);
        if (direction[i] > EPSILON && (p->amount[i] / direction[i] < min - EPSILON ||
                                       (p->amount[i] / direction[i] < min + EPSILON && leaving >= 0 &&
                                        p->basis[i] < p->basis[leaving]))) {
            min = fmin(min, p->amount[i] / direction[i]);
            leaving = i;
        }
    }
    if (leaving < 0) /* a column that uses nothing: not among ours */
        return false;
    pivot(p, leaving, direction, fmax(min, 0.0), column);
    return true;
}

double fleet_program(int column_count, int row_count, const double *values, int (*uses)[FLEET_MAX_ROWS],
                     const double *limits, double *x, double *prices)
{
    struct program p = {.columns = column_count, .rows = row_count, .values = values, .uses = uses};
    double value = 0.0;
    for (int i = 0; i < row_count; i++) {
        p.basis[i] = column_count + i;
        p.inverse[i][i] = 1.0;
        p.amount[i] = limits[i];
    }
    for (int steps = 0; steps < MAX_STEPS && step(&p, steps > 200); steps++)
        ;
    find_prices(&p, prices);
    memset(x, 0, (size_t)column_count * sizeof *x);
    for (int i = 0; i < row_count; i++) {
        prices[i] = fmax(prices[i], 0.0);
        if (p.basis[i] < column_count) {
            x[p.basis[i]] = fmax(p.amount[i], 0.0);
            value += values[p.basis[i]] * x[p.basis[i]];
        }
    }
    return value;
}
