#include "trace/steps/stats.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

double steps_percentile(const double *sorted, size_t count, double p)
{
    double place = p * (double)(count - 1);
    size_t below = (size_t)place;
    double share = place - (double)below;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

/* Returns the value at place i (n + 1) / 4 from 1, interpolated between places 1 … n - 1, or beyond them. */
static double quartile(const double *sorted, size_t count, size_t i)
{
    size_t whole = i * (count + 1) / 4;
    whole = whole < 1 ? 1 : whole > count - 1 ? count - 1 : whole;
    double share = (double)i * (double)(count + 1) / 4 - (double)whole;
    return sorted[whole - 1] + share * (sorted[whole] - sorted[whole - 1]);
}

static double mean_of(const double *values, size_t count)
{
    long double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return (double)(sum / (long double)count);
}

static double squares_around(const double *values, size_t count, double mean)
{
    long double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += ((long double)values[i] - mean) * ((long double)values[i] - mean);
    return (double)sum;
}

void steps_summarise(const double *sorted, size_t count, struct steps_summary *summary)
{
    double mean = mean_of(sorted, count);
    *summary = (struct steps_summary){
        .count = count,
        .mean = mean,
        .stdev = count > 1 ? sqrt(squares_around(sorted, count, mean) / (double)(count - 1)) : NAN,
        .min = sorted[0],
        .q1 = count > 1 ? quartile(sorted, count, 1) : sorted[0],
        .median = steps_percentile(sorted, count, 0.5),
        .q3 = count > 1 ? quartile(sorted, count, 3) : sorted[0],
        .max = sorted[count - 1],
    };
}

void steps_fit_normal(const double *sorted, size_t count, struct steps_normal *normal)
{
    double low = steps_percentile(sorted, count, 0.01), high = steps_percentile(sorted, count, 0.99);
    size_t first = 0, last = count;
    while (first < count && sorted[first] < low)
        first++;
    while (last > first + 1 && sorted[last - 1] > high)
        last--;
    double mean = mean_of(sorted + first, last - first);
    *normal = (struct steps_normal){
        .first = first,
        .count = last - first,
        .low = low,
        .high = high,
        .mean = mean,
        .sigma = sqrt(squares_around(sorted + first, last - first, mean) / (double)(last - first)),
    };
}

double steps_plane_at(const struct steps_plane *plane, double gpus, double batch)
{
    return plane->per_gpu * gpus + plane->per_batch * batch + plane->constant;
}

static void judge(const double *gpus, const double *batches, const double *values, size_t count,
                  struct steps_plane *plane)
{
    double mean = mean_of(values, count), left = 0, error = 0;
    double whole = squares_around(values, count, mean);
    for (size_t i = 0; i < count; i++) {
        double off = steps_plane_at(plane, gpus[i], batches[i]) - values[i];
        left += off * off;
        error += fabs(off / values[i]);
        plane->max_error = fmax(plane->max_error, fabs(off / values[i]));
    }
    plane->mean_error = error / (double)count;
    /* values that are equal but for rounding */
    plane->r2 = whole > 1e-24 * mean * mean * (double)count ? 1 - left / whole : NAN;
}

/* Solves the normal equations of the deviations from the means, in units of their own spread, so that batches
 * of a million beside ten GPUs do no harm. If the points lie on a line, only that direction has a slope. */
void steps_fit_plane(const double *gpus, const double *batches, const double *values, size_t count,
                     struct steps_plane *plane)
{
    *plane = (struct steps_plane){.r2 = NAN, .known = count > 1};
    if (count < 2)
        return;
    double g0 = mean_of(gpus, count), b0 = mean_of(batches, count), y0 = mean_of(values, count);
    double gs = sqrt(squares_around(gpus, count, g0)), bs = sqrt(squares_around(batches, count, b0));
    double gb = 0, gy = 0, by = 0;
    for (size_t i = 0; i < count; i++) {
        double g = gs > 0 ? (gpus[i] - g0) / gs : 0, b = bs > 0 ? (batches[i] - b0) / bs : 0;
        gb += g * b;
        gy += g * (values[i] - y0);
        by += b * (values[i] - y0);
    }
    double determinant = 1 - gb * gb;
    plane->unique = gs == 0 || bs == 0 || determinant > 1e-12;
    if (gs > 0 && bs > 0 && plane->unique) {
        plane->per_gpu = (gy - gb * by) / determinant / gs;
        plane->per_batch = (by - gb * gy) / determinant / bs;
    } else if (gs > 0 || bs > 0) {
        plane->per_gpu = gs * gy / (gs * gs + bs * bs);
        plane->per_batch = bs * by / (gs * gs + bs * bs);
    }
    plane->constant = y0 - plane->per_gpu * g0 - plane->per_batch * b0;
    judge(gpus, batches, values, count, plane);
}

/* Values are first put on the grid, each shared between its two neighbours, and then smoothed, so that the
 * cost is not their number times the places. Silverman (1986), equation 3.31: 0.9 min(s, IQR / 1.34)
 * n^(-1/5). */
void steps_density(const double *sorted, size_t count, double low, double high, int points, double *density)
{
    double mean = mean_of(sorted, count), step = (high - low) / (points - 1);
    double stdev = sqrt(squares_around(sorted, count, mean) / (double)(count > 1 ? count - 1 : 1));
    double range = steps_percentile(sorted, count, 0.75) - steps_percentile(sorted, count, 0.25);
    double spread = range > 0 ? fmin(stdev, range / 1.34) : stdev;
    double width = fmax(0.9 * spread * pow((double)count, -0.2), step);
    double grid[STEPS_DENSITY_POINTS] = {0};
    memset(density, 0, (size_t)points * sizeof *density);
    for (size_t i = 0; i < count; i++) {
        double place = (sorted[i] - low) / step;
        if (!(place >= 0 && place <= points - 1))
            continue;
        int at = (int)place < points - 1 ? (int)place : points - 2;
        grid[at] += 1 - (place - at);
        grid[at + 1] += place - at;
    }
    for (int i = 0; i < points; i++)
        for (int j = 0; j < points; j++) {
            double z = (i - j) * step / width;
            if (grid[j] > 0 && z * z < 50)
                density[i] += grid[j] * exp(-z * z / 2) / (width * sqrt(2 * pi) * (double)count);
        }
}
