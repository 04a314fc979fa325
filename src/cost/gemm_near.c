#include "cost/gemm_near.h"

#include "core/random.h"
#include "core/stop.h"

#include <math.h>
#include <stdlib.h>

#define FALL  0.3  /* of a covariance's logarithm, per doubling of a size */
#define NOISE 0.02 /* of a measurement, as a share of the variance between shapes ... */
#define OUTLIER                                                                                              \
    0.1 /* ... and it is doubled this far from the neighbours' median: cards at their limit of power */
#define FOLDS 5

/* Rows that do not count: those of a fold, by rows or by sizes. */
struct omission {
    enum gemm_left_out what;
    const struct product *of;
};

struct candidate {
    const struct product *product;
    float distance; /* squared */
};

/* ---- the nearest ---- */

static uint64_t fold_of(const struct product *p)
{
    uint64_t key = random_mix((uint64_t)p->size.m + random_mix((uint64_t)p->size.n));
    return random_mix(key + random_mix((uint64_t)p->size.k + random_mix((uint64_t)p->size.batch))) % FOLDS;
}

static bool is_omitted(const struct omission *omission, const struct product *p)
{
    if (!omission)
        return false;
    return omission->what == GEMM_LEAVE_ROWS
               ? fold_of(p) == fold_of(omission->of)
               : p->size.n == omission->of->size.n || p->size.k == omission->of->size.k;
}

/* Squared; where the three sizes alone are farther apart than `limit`, that much of it. */
static float distance(const float *a, const float *b, float limit)
{
    float sum = 0;
    for (int i = 0; i < PRODUCT_AXES && (i != 3 || sum < limit); i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

/* Keeps the nearest, in order. */
static int insert(struct candidate *nearest, int count, struct candidate new)
{
    int at = count < GEMM_NEAREST ? count++ : count - 1;
    for (; at > 0 && nearest[at - 1].distance > new.distance; at--)
        nearest[at] = nearest[at - 1];
    nearest[at] = new;
    return count;
}

/* Returns the first row whose n is not below. */
static int first_from(const struct products *products, float n)
{
    int low = 0, high = products->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (products->rows[middle].at[PRODUCT_BY_N] < n)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* From the row's place in both directions, until rows of that n alone are farther than the nearest known. */
static int find_nearest(const struct products *products, const float *at, const struct omission *omission,
                        struct candidate *nearest)
{
    int start = first_from(products, at[PRODUCT_BY_N]), count = 0;
    for (int step = 1; step >= -1; step -= 2)
        for (int i = step > 0 ? start : start - 1; i >= 0 && i < products->count; i += step) {
            const struct product *p = &products->rows[i];
            float along = p->at[PRODUCT_BY_N] - at[PRODUCT_BY_N];
            float limit = count == GEMM_NEAREST ? nearest[count - 1].distance : HUGE_VALF;
            if (along * along >= limit)
                break;
            float far = distance(p->at, at, limit);
            if (far < limit && !is_omitted(omission, p))
                count = insert(nearest, count, (struct candidate){p, far});
        }
    return count;
}

/* ---- kriging ---- */

static double covariance(float squared)
{
    return exp(-FALL * sqrt((double)squared));
}

static void order_by_weight(struct gemm_near *near)
{
    for (int i = 1; i < near->count; i++)
        for (int j = i; j > 0 && fabs(near->weights[j - 1]) < fabs(near->weights[j]); j--) {
            double weight = near->weights[j];
            const struct product *product = near->products[j];
            near->weights[j] = near->weights[j - 1];
            near->products[j] = near->products[j - 1];
            near->weights[j - 1] = weight;
            near->products[j - 1] = product;
        }
}

static void estimate(struct gemm_near *near, const struct products *products, const float *at,
                     const struct omission *omission)
{
    struct candidate nearest[GEMM_NEAREST];
    double a[GEMM_NEAREST][GEMM_NEAREST], ratios[GEMM_NEAREST] = {0};
    near->log_ratio = 0;
    int count = near->count = find_nearest(products, at, omission, nearest);
    for (int i = 0; i < count; i++) {
        near->products[i] = nearest[i].product;
        near->weights[i] = covariance(nearest[i].distance);
        ratios[i] = (double)nearest[i].product->log_ratio;
        for (int j = 0; j < i; j++)
            a[i][j] = covariance(distance(near->products[i]->at, near->products[j]->at, HUGE_VALF));
    }
    double median = kriging_median(ratios, near->weights, count, 0);
    for (int i = 0; i < count; i++)
        a[i][i] = kriging_diagonal(NOISE, ratios[i], median, OUTLIER);
    kriging_solve(a, near->weights, count);
    for (int i = 0; i < count; i++)
        near->log_ratio += near->weights[i] * ratios[i];
}

/* Scaled to this many seconds, but not above the peak. */
static struct gemm_time scaled(struct gemm_time time, double seconds, double peak_seconds,
                               struct gemm_near *near)
{
    seconds = fmax(seconds, fmin(peak_seconds, time.seconds));
    near->log_ratio = log(seconds / time.seconds);
    time.matrix_seconds *= seconds / time.seconds;
    time.memory_seconds *= seconds / time.seconds;
    time.seconds = seconds;
    return time;
}

struct gemm_time gemm_time_near(const struct cost_device *device, enum cost_type type,
                                struct product_size size, struct gemm_near *near)
{
    struct gemm_time time = gemm_time(device, type, size);
    enum cost_type computed = cost_device_type(device, type);
    struct gemm_near room;
    near = near ? near : &room;
    *near = (struct gemm_near){0};
    double peak = product_flops(&size) / device->peak[computed];
    const double sizes[] = {(double)size.m, (double)size.n, (double)size.k};
    /* numbers of 16 bits are multiplied alike */
    enum cost_type of = computed == COST_FP16 ? COST_BF16 : computed;
    double seconds = size.batch == 1 ? measured_seconds("product", device, of, NULL, sizes, &near->table) : 0;
    if (near->table)
        return scaled(time, seconds, peak, near);
    const struct products *products = products_of(device, computed);
    if (!products)
        return time;
    float at[PRODUCT_AXES];
    product_place(at, device->units, size);
    estimate(near, products, at, NULL);
    order_by_weight(near);
    return scaled(time, time.seconds * exp(near->log_ratio), peak, near);
}

/* ---- errors ---- */

bool gemm_near_errors(const struct products *products, enum gemm_left_out left_out,
                      struct error_score *physics, struct error_score *near)
{
    double *errors = calloc(2 * ((size_t)products->count + 1), sizeof *errors);
    if (!errors)
        return false;
    double *alone = errors + products->count;
    for (int i = 0; i < products->count && !stop_wanted(); i++) {
        const struct product *p = &products->rows[i];
        const struct omission omission = {left_out, p};
        struct gemm_near found;
        estimate(&found, products, p->at, &omission);
        errors[i] = exp(found.log_ratio - (double)p->log_ratio) - 1;
        alone[i] = exp(-(double)p->log_ratio) - 1;
    }
    *near = error_score_of(errors, products->count);
    *physics = error_score_of(alone, products->count);
    free(errors);
    return true;
}
