#include "explain/against.h"

#include "core/hash.h"
#include "core/statistics.h"
#include "core/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GREW_ALIKE                                                                                           \
    1.25 /* no rank is the slowest whose own time grew by less than so many times the mean of all */

/* Student's t, 97.5 %, for 1 to 30 degrees of freedom. */
static double t_of(double freedom)
{
    static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                   2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                   2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    if (freedom < 1)
        return table[0];
    return freedom < 31 ? table[(int)freedom - 1] : 1.960 + 2.5 / freedom; /* within 0.002 */
}

/* Sums over the steps of one run, in seconds. */
struct moments {
    double sum, squares;
    size_t count;
};

static void add(struct moments *moments, double value)
{
    moments->sum += value;
    moments->squares += value * value;
    moments->count++;
}

static double mean_of(const struct moments *moments)
{
    return moments->count > 0 ? moments->sum / (double)moments->count : 0;
}

/* Of the mean. */
static double variance_of(const struct moments *moments)
{
    double n = (double)moments->count, mean = mean_of(moments);
    return fmax(0, (moments->squares - n * mean * mean) / (n - 1) / n);
}

static void set_change(struct explain_change *change, const struct moments *now, const struct moments *before)
{
    change->now = mean_of(now);
    change->before = mean_of(before);
    change->more = change->now - change->before;
    change->low = change->high = NAN;
    if (now->count < 2 || before->count < 2)
        return;
    double a = variance_of(now), b = variance_of(before), sum = a + b;
    double freedom =
        sum > 0 ? sum * sum / (a * a / (double)(now->count - 1) + b * b / (double)(before->count - 1)) : 1e9;
    double half = t_of(freedom) * sqrt(sum);
    change->low = change->more - half;
    change->high = change->more + half;
    change->sure = change->low > 0 || change->high < 0;
}

static struct moments moments_of_step(const struct explain *explain)
{
    struct moments moments = {0};
    for (size_t i = 0; i < explain->step_count; i++)
        add(&moments, (double)(explain->path.begins[i + 1] - explain->path.begins[i]) / 1e9);
    return moments;
}

static void add_shares(const struct explain *explain, struct moments moments[EXPLAIN_SHARES])
{
    for (size_t step = 0; step < explain->step_count; step++) {
        double sums[EXPLAIN_SHARES] = {0};
        for (size_t lane = 0; lane < explain->lane_count; lane++) {
            int64_t shares[EXPLAIN_SHARES];
            explain_step_shares(explain, lane, step, shares);
            for (int i = 0; i < EXPLAIN_SHARES; i++)
                sums[i] += (double)shares[i] / 1e9;
        }
        for (int i = 0; i < EXPLAIN_SHARES; i++)
            add(&moments[i], sums[i] / (double)explain->lane_count);
    }
}

/* Of a rank's own time. */
static struct moments moments_of_rank(const struct explain *explain, size_t lane)
{
    static const bool others[EXPLAIN_SHARES] = {[SHARE_TRANSFER] = true,
                                                [SHARE_INNER] = true,
                                                [SHARE_SKEW] = true,
                                                [SHARE_PEER] = true,
                                                [SHARE_UNKNOWN] = true};
    struct moments moments = {0};
    for (size_t step = 0; step < explain->step_count; step++) {
        int64_t shares[EXPLAIN_SHARES], sum = 0;
        explain_step_shares(explain, lane, step, shares);
        for (int i = 0; i < EXPLAIN_SHARES; i++)
            sum += others[i] ? 0 : shares[i];
        add(&moments, (double)sum / 1e9);
    }
    return moments;
}

static int64_t rank_of(const struct explain *explain, size_t lane)
{
    return explain->run.members[explain->lanes[lane].member].rank;
}

/* Lanes of both are in order of ranks. */
static void find_slowest(struct explain_changes *changes, const struct explain *now,
                         const struct explain *before)
{
    changes->rank = (struct explain_change){.more = -INFINITY};
    changes->slowest = -1;
    double sum = 0, count = 0;
    for (size_t i = 0, old = 0; now->lane_count > 1 && i < now->lane_count; i++) {
        while (old < before->lane_count && rank_of(before, old) < rank_of(now, i))
            old++;
        if (old == before->lane_count || rank_of(before, old) != rank_of(now, i))
            continue;
        struct moments a = moments_of_rank(now, i), b = moments_of_rank(before, old++);
        struct explain_change change = {.name = "rank"};
        set_change(&change, &a, &b);
        sum += change.more;
        count++;
        if (change.more > changes->rank.more) {
            changes->rank = change;
            changes->slowest = rank_of(now, i);
        }
    }
    if (changes->slowest >= 0 && changes->rank.more * count < GREW_ALIKE * sum)
        changes->slowest = -1;
}

/* A kernel's moments; `name` SIZE_MAX: it did not run. */
static struct moments moments_of_name(const struct explain *explain, size_t name)
{
    struct moments moments = {.count = explain->step_count};
    for (size_t step = 0; name != SIZE_MAX && step < explain->step_count; step++) {
        double time = (double)explain_name_time(explain, name, step) / 1e9 / (double)explain->lane_count;
        moments.sum += time;
        moments.squares += time * time;
    }
    return moments;
}

static double count_of(const struct explain *explain, size_t name)
{
    return name == SIZE_MAX ? 0
                            : (double)explain->names[name].count / (double)explain->lane_count /
                                  (double)explain->step_count;
}

static int by_difference(const void *a, const void *b)
{
    const struct explain_change *first = a, *second = b;
    double x = fabs(first->more), y = fabs(second->more);
    return x != y ? (x < y ? 1 : -1) : strcmp(first->name, second->name);
}

static void add_kernel(struct explain_changes *changes, const struct explain *now, size_t at,
                       const struct explain *before, size_t old)
{
    const struct explain_name *name = at != SIZE_MAX ? &now->names[at] : &before->names[old];
    struct explain_change *change = &changes->kernels[changes->kernel_count++];
    struct moments a = moments_of_name(now, at), b = moments_of_name(before, old);
    *change = (struct explain_change){.name = name->name,
                                      .kind = name->kind,
                                      .now_count = count_of(now, at),
                                      .old_count = count_of(before, old)};
    set_change(change, &a, &b);
}

/* Kernels of both runs, matched by name. */
static bool compare_kernels(struct explain_changes *changes, const struct explain *now,
                            const struct explain *before, struct error *err)
{
    struct hash_map places = {0};
    bool done = true;
    changes->kernels = calloc(now->name_count + before->name_count + 1, sizeof *changes->kernels);
    if (!changes->kernels)
        return error_memory(err);
    for (size_t i = 0; done && i < before->name_count; i++)
        done = hash_map_set(&places, 1 | hash_bytes(0, before->names[i].name, strlen(before->names[i].name)),
                            (int64_t)i);
    bool *seen = calloc(before->name_count + 1, sizeof *seen);
    done = done && seen;
    for (size_t i = 0; done && i < now->name_count; i++) {
        const char *name = now->names[i].name;
        const int64_t *at = hash_map_find(&places, 1 | hash_bytes(0, name, strlen(name)));
        size_t old = at && strcmp(before->names[*at].name, name) == 0 ? (size_t)*at : SIZE_MAX;
        if (old != SIZE_MAX)
            seen[old] = true;
        add_kernel(changes, now, i, before, old);
    }
    for (size_t i = 0; done && i < before->name_count; i++)
        if (!seen[i])
            add_kernel(changes, now, SIZE_MAX, before, i);
    free(seen);
    hash_map_release(&places);
    if (!done)
        return error_memory(err);
    return sort_items(changes->kernels, changes->kernel_count, sizeof *changes->kernels, by_difference, err);
}

/* The sums of all kernels of each class. */
static void add_classes(const struct explain *explain, struct moments moments[KERNEL_CLASSES])
{
    for (size_t step = 0; step < explain->step_count; step++) {
        int64_t sums[KERNEL_CLASSES] = {0};
        for (size_t i = 0; i < explain->name_count; i++)
            sums[explain->names[i].kind] += explain_name_time(explain, i, step);
        for (int i = 0; i < KERNEL_CLASSES; i++)
            add(&moments[i], (double)sums[i] / 1e9 / (double)explain->lane_count);
    }
}

struct explain_change explain_most_changed(const struct explain_changes *changes, double sign)
{
    struct explain_change most = {.name = NULL};
    for (int i = 0; i < EXPLAIN_SHARES; i++) {
        struct explain_change change = changes->shares[i];
        change.more += i == SHARE_COMPUTE ? changes->shares[SHARE_COVERED].more : 0;
        if (i != SHARE_COVERED && change.more * sign > most.more * sign)
            most = change;
    }
    return most;
}

bool explain_compare(struct explain_changes *changes, const struct explain *now, const struct explain *before,
                     struct error *err)
{
    struct moments new_shares[EXPLAIN_SHARES] = {0}, old_shares[EXPLAIN_SHARES] = {0};
    struct moments new_classes[KERNEL_CLASSES] = {0}, old_classes[KERNEL_CLASSES] = {0};
    struct moments a = moments_of_step(now), b = moments_of_step(before);
    *changes = (struct explain_changes){.step.name = "step"};
    set_change(&changes->step, &a, &b);
    add_shares(now, new_shares);
    add_shares(before, old_shares);
    for (int i = 0; i < EXPLAIN_SHARES; i++) {
        changes->shares[i].name = explain_shares[i].key;
        set_change(&changes->shares[i], &new_shares[i], &old_shares[i]);
    }
    find_slowest(changes, now, before);
    add_classes(now, new_classes);
    add_classes(before, old_classes);
    for (int i = 0; i < KERNEL_CLASSES; i++) {
        changes->classes[i].name = kernel_class_names[i];
        set_change(&changes->classes[i], &new_classes[i], &old_classes[i]);
    }
    if (compare_kernels(changes, now, before, err))
        return true;
    free(changes->kernels);
    return false;
}
