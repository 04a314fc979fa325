#include "schedule/moves.h"

#include <math.h>
#include <stdlib.h>

bool moves_to_twin(const struct pass_order *order, const struct pass_cost *costs, struct timing *timing,
                   struct error *err)
{
    (void)costs, (void)err;
    const int last = order->devices - 1;
    const double most = floor((order->devices + 3) / 2.0);
    for (int device = 0; device < order->devices; device++) {
        double over = timing->devices[device].peak - most;
        if (over <= 0.0)
            continue;
        timing->devices[device].peak = most;
        timing->devices[last - device].peak += over;
    }
    timing->peak = 0.0;
    for (int device = 0; device < order->devices; device++)
        timing->peak = fmax(timing->peak, timing->devices[device].peak);
    return true;
}

struct moved {
    double time, kept; /* kept: more, or less than 0: freed */
};

/* What is freed at a time is free for what comes then. */
static int by_time(const void *a, const void *b)
{
    const struct moved *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->kept > y->kept) - (x->kept < y->kept);
}

static double peak_of(struct moved *moved, size_t count)
{
    double now = 0.0, peak = 0.0;
    qsort(moved, count, sizeof *moved, by_time);
    for (size_t i = 0; i < count; i++)
        peak = fmax(peak, now += moved[i].kept);
    return peak;
}

static double copy_seconds(const struct pass_cost *cost)
{
    return (cost->forward + cost->input + cost->weight) / 2;
}

/* Fills in the changes of a device's memory; `out` has the ends of copies to the host, by stage and micro-batch. */
static size_t changes_of(const struct pass_order *order, const struct pass_cost *costs,
                         const struct timing *timing, int device, double *out, struct moved *moved)
{
    const int host_stages = order->stages / order->devices / 2 * order->devices;
    size_t count = 0, begin = order->first[device], end = order->first[device + 1];
    double free = 0.0;
    for (size_t i = begin; i < end; i++) {
        const struct pass *pass = &order->passes[i];
        const struct pass_cost *cost = &costs[pass->stage];
        double later = cost->kept_for_weight;
        if (pass->kind == PASS_FORWARD)
            moved[count++] = (struct moved){timing->begin[i], cost->kept};
        else
            moved[count++] = (struct moved){timing->end[i], pass->kind == PASS_INPUT    ? later - cost->kept
                                                            : pass->kind == PASS_WEIGHT ? -later
                                                                                        : -cost->kept};
        if (pass->kind == PASS_FORWARD && pass->stage < host_stages)
            out[(size_t)pass->stage * (size_t)order->microbatches + (size_t)pass->microbatch] = free =
                fmax(free, timing->end[i]) + copy_seconds(cost);
    }
    free = INFINITY;
    for (size_t i = end; i-- > begin;) {
        const struct pass *pass = &order->passes[i];
        if (pass->stage >= host_stages || (pass->kind != PASS_INPUT && pass->kind != PASS_BACKWARD))
            continue;
        double left = out[(size_t)pass->stage * (size_t)order->microbatches + (size_t)pass->microbatch];
        double back = fmin(free, timing->begin[i]) - copy_seconds(&costs[pass->stage]);
        if (back < left)
            continue;
        free = back;
        moved[count++] = (struct moved){left, -costs[pass->stage].kept};
        moved[count++] = (struct moved){back, costs[pass->stage].kept};
    }
    return count;
}

bool moves_to_host(const struct pass_order *order, const struct pass_cost *costs, struct timing *timing,
                   struct error *err)
{
    size_t passes = pass_order_count(order);
    double *out = malloc(((size_t)order->stages * (size_t)order->microbatches + 1) * sizeof *out);
    struct moved *moved = malloc((3 * passes + 1) * sizeof *moved);
    timing->peak = 0.0;
    for (int device = 0; out && moved && device < order->devices; device++) {
        timing->devices[device].peak = peak_of(moved, changes_of(order, costs, timing, device, out, moved));
        timing->peak = fmax(timing->peak, timing->devices[device].peak);
    }
    bool ok = out && moved;
    free(out);
    free(moved);
    return ok || error_memory(err);
}
