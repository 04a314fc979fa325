#include "cost/kriging.h"

#include <math.h>

/* By Cholesky. */
void kriging_solve(double a[KRIGING_MAX][KRIGING_MAX], double *b, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i][j];
            for (int k = 0; k < j; k++)
                sum -= a[i][k] * a[j][k];
            a[i][j] = i == j ? sqrt(sum) : sum / a[j][j];
        }
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (int i = count - 1; i >= 0; i--) {
        for (int k = i + 1; k < count; k++)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
}

double kriging_median(const double *values, const double *weights, int count, double prior)
{
    double sorted[KRIGING_MAX + 1] = {0}, weight[KRIGING_MAX + 1] = {prior}, half = prior / 2;
    for (int i = 0; i < count; i++) {
        int at = i + 1;
        for (; at > 0 && sorted[at - 1] > values[i]; at--) {
            sorted[at] = sorted[at - 1];
            weight[at] = weight[at - 1];
        }
        sorted[at] = values[i];
        weight[at] = weights[i];
        half += weights[i] / 2;
    }
    int middle = 0;
    for (double below = weight[0]; below < half && middle < count; below += weight[middle])
        middle++;
    return sorted[middle];
}

double kriging_diagonal(double noise, double value, double median, double outlier)
{
    double off = (value - median) / outlier;
    return 1 + noise * (1 + off * off);
}
