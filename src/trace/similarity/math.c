#include "trace/similarity/math.h"

#include "core/random.h"
#include "core/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void similarity_sort(double *values, size_t count)
{
    if (count > 0)
        qsort(values, count, sizeof *values, order_doubles);
}

/* Sums of exponential gaps, divided by their end, are sorted uniform numbers (Devroye 1986, V.2). */
void similarity_draw(uint64_t *state, const double *from, size_t from_count, double *draws, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        draws[i] = sum -= log1p(-random_uniform(state));
    sum -= log1p(-random_uniform(state));
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)(draws[i] / sum * (double)from_count);
        draws[i] = from[at < from_count ? at : from_count - 1];
    }
}

struct merge {
    const double *a, *b;
    size_t a_count, b_count, i, j;
};

/* Steps over all values equal to the next; returns that value. */
static double step(struct merge *merge)
{
    double at =
        merge->j == merge->b_count || (merge->i < merge->a_count && merge->a[merge->i] < merge->b[merge->j])
            ? merge->a[merge->i]
            : merge->b[merge->j];
    while (merge->i < merge->a_count && merge->a[merge->i] <= at)
        merge->i++;
    while (merge->j < merge->b_count && merge->b[merge->j] <= at)
        merge->j++;
    return at;
}

static double gap(const struct merge *merge)
{
    return fabs((double)merge->i / (double)merge->a_count - (double)merge->j / (double)merge->b_count);
}

/* sup F(x) − G(x + resolution), which is reached at a value of a. */
static double ahead(const double *a, size_t a_count, const double *b, size_t b_count, double resolution)
{
    double max = 0;
    for (size_t i = 0, j = 0; i < a_count; i++) {
        while (j < b_count && b[j] <= a[i] + resolution)
            j++;
        max = fmax(max, (double)(i + 1) / (double)a_count - (double)j / (double)b_count);
    }
    return max;
}

double similarity_ks(const double *a, size_t a_count, const double *b, size_t b_count, double resolution)
{
    return 1 - fmax(ahead(a, a_count, b, b_count, resolution), ahead(b, b_count, a, a_count, resolution));
}

double similarity_wasserstein(const double *a, size_t a_count, const double *b, size_t b_count, double range)
{
    struct merge merge = {a, b, a_count, b_count, 0, 0};
    double area = 0, before = step(&merge);
    while (merge.i < a_count || merge.j < b_count) {
        double height = gap(&merge), at = step(&merge);
        area += height * (at - before);
        before = at;
    }
    return 1 - fmin(1, area / range);
}

void similarity_smooth(const double *curve, double *smooth, int parts, int bins, int band)
{
    for (int part = 0; part < parts; part++, curve += bins, smooth += bins) {
        for (int i = 0; i < bins; i++) {
            double sum = 0, weights = 0;
            for (int j = i < band ? 0 : i - band; j < bins && j <= i + band; j++) {
                double weight = band + 1 - abs(i - j);
                sum += weight * curve[j];
                weights += weight;
            }
            smooth[i] = sum / weights;
        }
    }
}

static double shifted(const double *a, const double *b, int bins, int lag)
{
    double sum = 0;
    for (int i = lag < 0 ? -lag : 0; i < bins && i + lag < bins; i++)
        sum += a[i] * b[i + lag];
    return sum;
}

double similarity_correlation(const double *a, const double *b, int parts, int bins, int band)
{
    double common = 0, a_square = 0, b_square = 0;
    for (int part = 0; part < parts; part++, a += bins, b += bins) {
        double best = 0;
        for (int lag = -band; lag <= band; lag++)
            best = fmax(best, shifted(a, b, bins, lag));
        common += best;
        a_square += shifted(a, a, bins, 0);
        b_square += shifted(b, b, bins, 0);
    }
    if (a_square == 0 || b_square == 0)
        return a_square == b_square;
    return fmin(1, common / sqrt(a_square * b_square));
}

/* Dynamic time warping within a band (Sakoe and Chiba, 1978), of |a − b|. */
static double warp(const double *a, const double *b, int bins, int band)
{
    double rows[2][SIMILARITY_MAX_BINS + 1];
    for (int j = 0; j <= bins; j++)
        rows[0][j] = j == 0 ? 0 : INFINITY;
    for (int i = 1; i <= bins; i++) {
        const double *above = rows[(i - 1) & 1];
        double *row = rows[i & 1];
        for (int j = 0; j <= bins; j++)
            row[j] = INFINITY;
        for (int j = i > band ? i - band : 1; j <= bins && j <= i + band; j++)
            row[j] = fabs(a[i - 1] - b[j - 1]) + fmin(above[j - 1], fmin(above[j], row[j - 1]));
    }
    return rows[bins & 1][bins];
}

double similarity_warped(const double *a, const double *b, int parts, int bins, int band)
{
    double distance = 0, a_sum = 0, b_sum = 0;
    for (int part = 0; part < parts; part++, a += bins, b += bins) {
        distance += warp(a, b, bins, band);
        for (int i = 0; i < bins; i++) {
            a_sum += a[i];
            b_sum += b[i];
        }
    }
    return a_sum + b_sum > 0 ? fmax(0, 1 - distance / (a_sum + b_sum)) : 1;
}

/* Merge sort that counts. */
static uint64_t inversions(uint32_t *ranks, uint32_t *space, size_t count)
{
    uint64_t found = 0;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            size_t middle = begin + width < count ? begin + width : count;
            size_t end = middle + width < count ? middle + width : count;
            for (size_t i = begin, j = middle, k = begin; k < end; k++) {
                bool right = i == middle || (j < end && ranks[j] < ranks[i]);
                found += right ? middle - i : 0;
                space[k] = right ? ranks[j++] : ranks[i++];
            }
        }
        memcpy(ranks, space, count * sizeof *ranks);
    }
    return found;
}

double similarity_order(uint32_t *ranks, uint32_t *space, size_t count)
{
    double pairs = (double)count * ((double)count - 1) / 2;
    return 1 - (double)inversions(ranks, space, count) / pairs;
}

double similarity_ratio(double a, double b)
{
    return a == b ? 1 : fmax(0, fmin(a, b)) / fmax(a, b);
}
