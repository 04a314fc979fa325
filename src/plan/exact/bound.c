#include "plan/exact/bound.h"

#include <math.h>

#define FIRST_STEP 0.05 /* of r, from that of the interval around */
#define NEXT_STEP  6
#define LEAST      (1.0 / 64) /* of the maximum r: the first to try from 0 */
#define WORTH      0.2        /* of what else is missing: so much more of a bound is worth a program */

struct bound bound_init(const struct ticks *ticks, const struct plan_problem *problem)
{
    struct bound bound = {ticks, problem->objective, problem->microbatches, ticks->max_stages - 1};
    if (problem->microbatches > 0 && problem->microbatches - 1 < bound.most_after)
        bound.most_after = problem->microbatches - 1;
    return bound;
}

/* r: at most just below low, because stages that tie with it count as L; whole, so that sums are exact. */
static double reward_of(const struct interval *interval)
{
    return floor(fmin(interval->reward, interval->low * (1 - BOUND_TIE)));
}

double bound_reward(const struct bound *bound, const struct interval *interval)
{
    return bound->objective == OBJECTIVE_OOBLECK && bound->microbatches > 0 ? reward_of(interval) : 0;
}

struct tile_costs bound_costs(const struct bound *bound, const struct interval *interval)
{
    int n = bound->microbatches;
    struct tile_costs costs = {.cap = interval->high, .before_add = n > 0 ? 0 : 3 * interval->low};
    if (bound->objective == OBJECTIVE_PIPELINE)
        return costs;
    costs.phases = true;
    costs.cross_first = interval->first;
    costs.cross_last = interval->last;
    costs.cross_min = interval->low * (1 - BOUND_TIE);
    costs.cross_scale = n > 0 ? n + 2 - bound->most_after : 5;
    costs.after_add = n > 0 ? -reward_of(interval) : 2 * interval->low;
    costs.after_most = interval->high * (1 - BOUND_TIE);
    return costs;
}

double bound_constant(const struct bound *bound, const struct interval *interval)
{
    int n = bound->microbatches;
    double min = interval->low * (1 - BOUND_TIE);
    if (bound->objective == OBJECTIVE_PIPELINE)
        return n > 0 ? (n - 1) * interval->low : -interval->low;
    return n > 0 ? (n + 2 - bound->most_after) * min + bound->most_after * reward_of(interval) : 5 * min;
}

/* With S stages and s the sum of their times: oobleck is s + (N + 1) L + sum_after (l - L) >= s + (N + 1 - j)
 * L, and for N = 0 it is (2 S + k + 1) L + T3 + s >= s + (2 S + 2) L. */
double bound_simple(const struct bound *bound, double low)
{
    int n = bound->microbatches, nodes = bound->ticks->node_count;
    double sum = fmax(bound->ticks->min_sum, low);
    if (bound->objective == OBJECTIVE_PIPELINE)
        return sum + (n > 0 ? n - 1 : 3 * nodes - 1) * low;
    if (n == 0)
        return sum + (2 * (nodes > 2 ? nodes : 2) + 2) * low;
    return sum + (n + 1 - bound->most_after) * low;
}

static double stage_ticks(const struct bound *bound, const struct tile_stage *stage)
{
    return ticks_stage(bound->ticks, stage->group, stage->split, stage->first, stage->end);
}

double bound_evaluate(const struct bound *bound, const struct tile_stage *stages, int count, double *slowest)
{
    double sum = 0, tail = 0;
    int k = 0, n = bound->microbatches;
    *slowest = 0;
    for (int i = 0; i < count; i++) {
        double l = stage_ticks(bound, &stages[i]);
        sum += l;
        *slowest = fmax(*slowest, l);
    }
    if (bound->objective == OBJECTIVE_PIPELINE)
        return sum + ((n > 0 ? n : 3 * count) - 1) * *slowest;
    if (count == 1)
        return 4 * sum;
    for (int i = 0; i < count; i++)
        if (stage_ticks(bound, &stages[i]) >= *slowest * (1 - BOUND_TIE))
            k = i;
    for (int i = k; i < count; i++)
        tail += stage_ticks(bound, &stages[i]);
    int periods = n > 0 ? n - (count - 1 - k) : 2 * count + k + 1;
    return periods > 0 ? sum + periods * *slowest + tail : INFINITY;
}

struct tangent bound_tangent(const struct bound *bound, const struct interval *interval, double value,
                             const struct tile_stage *stages, int count)
{
    int after = 0, node = 0;
    for (int i = 0; i < count; i++) {
        after += stages[i].plane == TILE_AFTER;
        node = stages[i].plane == TILE_CROSS ? stages[i].node + 1 : node;
    }
    bool counts = bound->objective == OBJECTIVE_OOBLECK && bound->microbatches > 0;
    return (struct tangent){reward_of(interval), value, counts ? bound->most_after - after : 0, node};
}

static double line_at(const struct tangent *line, double reward)
{
    return line->value + line->slope * (reward - line->reward);
}

bool bound_next_reward(const struct interval *interval, struct tangents *tangents,
                       const struct tangent *tangent, double reached, double wanted, double *reward)
{
    struct tangent *rising = &tangents->rising, *falling = &tangents->falling;
    double max = interval->low * (1 - BOUND_TIE), highest;
    if (tangent->slope == 0)
        return false;
    *(tangent->slope > 0 ? rising : falling) = *tangent;
    double step = 1 + FIRST_STEP * pow(NEXT_STEP, tangents->count++);
    if (falling->slope == 0) {
        *reward = fmin(fmax(rising->reward, max * LEAST) * step, max);
        highest = line_at(rising, max);
    } else if (rising->slope == 0) {
        *reward = falling->reward / step;
        highest = line_at(falling, 0);
    } else {
        *reward = (line_at(falling, 0) - line_at(rising, 0)) / (rising->slope - falling->slope);
        highest = line_at(rising, *reward);
    }
    if (wanted < INFINITY && highest - reached <= WORTH * fmax(wanted - highest, 0))
        return false;
    return *reward != tangent->reward;
}

/* For any weights w of the groups, the layers at their cheapest weighted place, sum_i min_g (w_g t_gi), must
 * fit into sum_g w_g devices_g L, as several devices together do no more than each. The weights here make one model
 * weigh the same everywhere. */
double bound_min_slowest(const struct bound *bound)
{
    const struct ticks *ticks = bound->ticks;
    int layers = ticks->layer_count;
    double work = 0, capacity = 0;
    for (int i = 0; i < layers; i++) {
        double cheapest = INFINITY;
        for (int g = 0; g < ticks->group_count; g++)
            if (ticks->groups[g].takes == 1)
                cheapest =
                    fmin(cheapest, ticks_stage(ticks, g, 0, i, i + 1) / ticks->groups[g].sum[0][layers]);
        work += cheapest;
    }
    for (int g = 0; g < ticks->group_count; g++)
        if (ticks->groups[g].takes == 1)
            capacity +=
                ldexp(ticks->groups[g].nodes, ticks->groups[g].splits - 1) / ticks->groups[g].sum[0][layers];
    return work / capacity;
}
