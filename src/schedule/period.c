/* The steady state of a schedule without flush. Times of an order are longest paths, and the order repeats itself from
 * iteration to iteration, so after the pipeline has filled, a number of iterations takes a fixed time. It is the
 * difference of the makespans of two orders, the second one by REPEATS iterations longer. */
#include "schedule/schedule.h"

#include <math.h>

#define REPEATS    4
#define MAX_PASSES (1 << 24)

static bool makespan_of(const struct schedule *schedule, const struct schedule_shape *shape, int iterations,
                        double *makespan, struct error *err)
{
    struct schedule_shape longer = *shape;
    struct pass_order order;
    struct timing timing = {.devices = NULL};
    longer.iterations = iterations;
    bool played = schedule_make(schedule, &longer, &order, err) &&
                  timing_of_order(&order, shape->timing, false, &timing, err);
    *makespan = timing.extent.makespan;
    timing_release(&timing);
    pass_order_release(&order);
    return played;
}

bool schedule_period(const struct schedule *schedule, const struct schedule_shape *shape, double *seconds,
                     struct error *err)
{
    *seconds = NAN;
    if (!schedule->no_flush || shape->microbatches < 1)
        return true;
    int filling = 2 + shape->devices / shape->microbatches;
    long long passes = (filling + REPEATS) * 2LL * shape->microbatches * schedule_stages(schedule, shape);
    double filled, longer;
    if (passes > MAX_PASSES)
        return true;
    if (!makespan_of(schedule, shape, filling, &filled, err) ||
        !makespan_of(schedule, shape, filling + REPEATS, &longer, err))
        return false;
    *seconds = (longer - filled) / REPEATS;
    return true;
}
