#include "cost/collective_near.h"

#include "core/random.h"
#include "core/stop.h"

#include <math.h>
#include <stdlib.h>

/* Distances, in doublings of the bytes. */
#define BY_DEVICES 2.0F /* of a doubling of the devices */
#define BY_KIND    3.0F
#define BY_VERSION 1.5F
#define BY_LINK    2.0F /* of kin; their versions are not told apart */
#define FALL       0.3  /* of a covariance's logarithm, per unit of distance */

#define NOISE 0.1 /* of a measurement, as a share of the variance between shapes ... */
#define OUTLIER                                                                                              \
    0.05 /* ... and it is doubled at this distance of a ratio's logarithm from the neighbours' median */
#define OF_PRIOR  0.3 /* the formula's weight in that median */
#define FOLDS     5
#define SAME_SIZE 0.4F /* doublings */

/* A place among the measured ones. */
struct place {
    const struct cost_link *link;
    enum collective_kind kind;
    int devices, variant;
    float log_bytes, log_devices;
};

/* Rows that do not count. */
struct omission {
    enum collective_left_out what;
    const struct known_collective *of;
};

struct neighbour {
    const struct known_collective *row;
    struct place at;
    float distance;
};

struct nearest {
    struct neighbour list[KRIGING_MAX];
    int count;
};

/* ---- the nearest ---- */

static struct place place_of(const struct cost_link *link, const struct known_collective *row)
{
    return (struct place){link, row->kind, row->devices, row->variant, row->log_bytes, row->log_devices};
}

/* A sum, so that covariances of it are those of some process: each part is one by itself. */
static float distance(const struct place *a, const struct place *b)
{
    float far = fabsf(a->log_bytes - b->log_bytes) + BY_DEVICES * fabsf(a->log_devices - b->log_devices);
    if (a->kind != b->kind)
        far += BY_KIND;
    if (a->link != b->link)
        return far + BY_LINK;
    return a->variant != b->variant ? far + BY_VERSION : far;
}

static double covariance(float far)
{
    return exp(-FALL * (double)far);
}

static uint64_t fold_of(const struct known_collective *row)
{
    uint64_t group = random_mix(((uint64_t)row->kind << 32) + (uint64_t)row->devices);
    return random_mix(group + random_mix((uint64_t)row->bytes)) % FOLDS;
}

static bool is_omitted(const struct omission *omission, const struct known_collective *row, bool is_kin)
{
    if (!omission)
        return false;
    switch (omission->what) {
    case COLLECTIVE_LEAVE_ROWS:
        return !is_kin && fold_of(row) == fold_of(omission->of);
    case COLLECTIVE_LEAVE_SIZES:
        return fabsf(row->log_bytes - omission->of->log_bytes) < SAME_SIZE;
    default:
        return row->devices == omission->of->devices;
    }
}

static void insert(struct nearest *nearest, const struct neighbour *new)
{
    int at = nearest->count < KRIGING_MAX ? nearest->count++ : KRIGING_MAX - 1;
    for (; at > 0 && nearest->list[at - 1].distance > new->distance; at--)
        nearest->list[at] = nearest->list[at - 1];
    nearest->list[at] = *new;
}

static void find_among(struct nearest *nearest, const struct known_collectives *known, const struct place *at,
                       const struct omission *omission)
{
    bool is_kin = known->link != at->link;
    for (int i = 0; i < known->count; i++) {
        struct neighbour new = {&known->rows[i], place_of(known->link, &known->rows[i]), 0};
        new.distance = distance(&new.at, at);
        bool has_room = nearest->count < KRIGING_MAX;
        if ((has_room || new.distance < nearest->list[KRIGING_MAX - 1].distance) &&
            !is_omitted(omission, new.row, is_kin))
            insert(nearest, &new);
    }
}

/* ---- the estimate ---- */

static int by_weight(const void *left, const void *right)
{
    const struct collective_neighbour *a = left, *b = right;
    double x = fabs(a->weight), y = fabs(b->weight);
    return x != y ? (x < y) - (x > y) : (a->of > b->of) - (a->of < b->of);
}

static void estimate(struct collective_near *near, const struct known_collectives *known,
                     const struct place *at, const struct omission *omission)
{
    struct nearest nearest = {.count = 0};
    double a[KRIGING_MAX][KRIGING_MAX], weights[KRIGING_MAX], ratios[KRIGING_MAX];
    const struct known_collectives *kin = collectives_of(known->kin);
    find_among(&nearest, known, at, omission);
    if (kin)
        find_among(&nearest, kin, at, omission);
    *near = (struct collective_near){.count = nearest.count};
    for (int i = 0; i < near->count; i++) {
        const struct neighbour *of = &nearest.list[i];
        weights[i] = covariance(of->distance);
        ratios[i] = (double)of->row->log_ratio;
        for (int j = 0; j < i; j++)
            a[i][j] = covariance(distance(&of->at, &nearest.list[j].at));
    }
    double median = kriging_median(ratios, weights, near->count, OF_PRIOR);
    for (int i = 0; i < near->count; i++)
        a[i][i] = kriging_diagonal(NOISE, ratios[i], median, OUTLIER);
    kriging_solve(a, weights, near->count);
    for (int i = 0; i < near->count; i++) {
        near->nearest[i] = (struct collective_neighbour){nearest.list[i].row, weights[i]};
        near->log_ratio += weights[i] * ratios[i];
    }
    qsort(near->nearest, (size_t)near->count, sizeof *near->nearest, by_weight);
}

/* ---- times ---- */

static bool is_in_a_node(const struct collective_group *group)
{
    return !group->across || group->devices_per_node >= group->devices || group->devices_per_node < 1;
}

/* What each device must send at least; where the switch reduces, that is all of the bytes of an all-reduce, and no
 * more. */
static double least_seconds(enum collective_kind kind, const struct collective_group *group, double bytes)
{
    double sent = kind == COLLECTIVE_SEND || kind == COLLECTIVE_ALL_REDUCE
                      ? bytes
                      : bytes * (group->devices - 1) / group->devices;
    return sent / group->inside->bandwidth;
}

struct collective_time collective_time_near(enum collective_kind kind, const struct collective_group *group,
                                            double bytes, struct collective_near *near)
{
    struct collective_time time = collective_time(kind, group, bytes);
    struct collective_near room;
    near = near ? near : &room;
    *near = (struct collective_near){0};
    if (group->devices <= 1 || bytes < 1.0 || !is_in_a_node(group))
        return time;
    const struct known_collectives *known = collectives_of(group->inside);
    if (!known)
        return time;
    int devices = kind == COLLECTIVE_SEND ? 2 : group->devices;
    const struct place at = {known->link, kind, devices, 0, (float)log2(bytes), (float)log2(devices)};
    estimate(near, known, &at, NULL);
    double ratio = exp(near->log_ratio), least = least_seconds(kind, group, bytes);
    double seconds = fmax(time.seconds * ratio, fmin(least, time.seconds));
    time.latency_seconds *= seconds / time.seconds;
    time.seconds = seconds;
    return time;
}

void collective_near_errors(const struct known_collectives *known, enum collective_left_out left_out,
                            double *physics, double *near)
{
    for (int i = 0; i < known->count && !stop_wanted(); i++) {
        const struct known_collective *row = &known->rows[i];
        const struct omission omission = {left_out, row};
        const struct place at = place_of(known->link, row);
        struct collective_near found;
        estimate(&found, known, &at, &omission);
        near[i] = exp(found.log_ratio - (double)row->log_ratio) - 1.0;
        physics[i] = exp(-(double)row->log_ratio) - 1.0;
    }
}
