#include "plan/exact/ticks.h"

#include <math.h>
#include <string.h>

static double layer_seconds(const struct plan_group *group, int split, int layer)
{
    double seconds = (group->forward[layer] + group->backward[layer]) / (double)(1 << split);
    return split > 0 ? seconds + 2 * group->allreduce[split][layer] : seconds;
}

/* The least any size of the group takes for this layer. */
static double best_seconds(const struct plan_group *group, int layer)
{
    double best = INFINITY;
    for (int split = 0; split < group->splits; split++)
        best = fmin(best, layer_seconds(group, split, layer));
    return best;
}

/* A slowest stage can't be faster than a perfect split of the work over all devices, nor than the heaviest
 * layer. */
static double min_bottleneck(const struct plan_problem *problem)
{
    double work_rate = 0, heaviest = 0;
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        double work = 0;
        for (int i = 0; i < problem->layer_count; i++)
            work += group->forward[i] + group->backward[i];
        work_rate += (double)group->nodes.count * group->nodes.devices / work;
    }
    for (int i = 0; i < problem->layer_count; i++) {
        double best = INFINITY;
        for (int g = 0; g < problem->group_count; g++)
            best = fmin(best, best_seconds(&problem->groups[g], i));
        heaviest = fmax(heaviest, best);
    }
    return fmax(1 / work_rate, heaviest);
}

/* The range: sums in the program stay within some 4 x stages x bottleneck, prefix sums within the work of the
 * slowest device. */
static double choose_scale(const struct plan_problem *problem, int max_stages)
{
    double longest = 0;
    for (int g = 0; g < problem->group_count; g++)
        for (int split = 0; split < problem->groups[g].splits; split++) {
            double sum = 0;
            for (int i = 0; i < problem->layer_count; i++)
                sum += layer_seconds(&problem->groups[g], split, i);
            longest = fmax(longest, sum);
        }
    double range = fmax(32.0 * max_stages * min_bottleneck(problem), longest);
    double finest = 0x1p52 / range; /* ticks per second */
    double digits = floor(log10(finest / 64e3));
    return digits > -300 ? 64e3 * pow(10, digits) : finest;
}

/* Every layer runs somewhere at its best, and every node that may not be idle has at least one layer: so sum over
 * layers of the best time anywhere, plus for each such node the least that a layer loses by being there. */
static double min_sum(const struct ticks *ticks)
{
    double sum = 0;
    double loss[TICKS_MAX_GROUPS];
    for (int g = 0; g < ticks->group_count; g++)
        loss[g] = INFINITY;
    for (int i = 0; i < ticks->layer_count; i++) {
        double here[TICKS_MAX_GROUPS], best = INFINITY;
        for (int g = 0; g < ticks->group_count; g++) {
            here[g] = INFINITY;
            for (int split = 0; split < ticks->groups[g].splits; split++)
                here[g] = fmin(here[g], ticks_stage(ticks, g, split, i, i + 1));
            best = fmin(best, here[g]);
        }
        for (int g = 0; g < ticks->group_count; g++)
            loss[g] = fmin(loss[g], here[g] - best);
        sum += best;
    }
    for (int g = 0; ticks->space == SPACE_ALL && g < ticks->group_count; g++)
        sum += ticks->groups[g].nodes * loss[g];
    return sum;
}

int ticks_groups(const struct plan_problem *problem, enum ticks_space space)
{
    int count = 0;
    for (int g = 0; g < problem->group_count; g++)
        count += space == SPACE_DEVICES ? problem->groups[g].splits : 1;
    return count;
}

/* Adds a group whose nodes are split from 2^first devices down to one; of single devices, never. */
static bool add_group(struct ticks *ticks, const struct plan_problem *problem, int kind, int first)
{
    const struct plan_group *from = &problem->groups[kind];
    bool devices = ticks->space == SPACE_DEVICES;
    struct ticks_group *group = &ticks->groups[ticks->group_count++];
    *group = (struct ticks_group){
        .kind = kind,
        .takes = devices ? 1 << first : 1,
        .nodes = ticks->units[kind] >> (devices ? first : 0),
        .splits = devices ? 1 : from->splits,
    };
    for (int split = 0; split < group->splits; split++) {
        int size = devices ? first : split;
        double *sum = ARENA_ARRAY(&ticks->arena, (size_t)ticks->layer_count + 1, double);
        if (!sum)
            return false;
        for (int i = 0; i < ticks->layer_count; i++)
            sum[i + 1] = sum[i] + nearbyint(layer_seconds(from, size, i) * ticks->per_second);
        group->sum[split] = sum;
        group->memory[split] = from->nodes.memory ? ldexp((double)from->nodes.memory, size) : INFINITY;
    }
    return true;
}

bool ticks_init(struct ticks *ticks, const struct plan_problem *problem, enum ticks_space space,
                struct error *err)
{
    memset(ticks, 0, sizeof *ticks);
    int layers = ticks->layer_count = problem->layer_count;
    ticks->space = space;
    ticks->kind_count = problem->group_count;
    int devices = plan_problem_devices(problem);
    ticks->max_stages = devices < layers ? devices : layers;
    ticks->per_second = choose_scale(problem, ticks->max_stages);

    ticks->memory = problem->memory;
    ticks->microbatches = problem->microbatches;
    double *state = ARENA_ARRAY(&ticks->arena, (size_t)layers + 1, double);
    double *kept = ARENA_ARRAY(&ticks->arena, (size_t)layers + 1, double);
    if (!state || !kept)
        goto no_memory;
    for (int i = 0; i < layers; i++) {
        state[i + 1] = state[i] + MEMORY_STATE_FACTOR * (double)problem->parameter_bytes[i];
        kept[i + 1] = kept[i] + (double)problem->activation_bytes[i];
    }
    ticks->state_sum = state;
    ticks->kept_sum = kept;

    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        int nodes = space == SPACE_ALL || group->nodes.count < layers ? group->nodes.count
                                                                      : layers; /* a stage on each */
        ticks->units[g] = nodes * (space == SPACE_DEVICES ? group->nodes.devices : 1);
        ticks->node_count += ticks->units[g];
        for (int split = 0; split < (space == SPACE_DEVICES ? group->splits : 1); split++)
            if (!add_group(ticks, problem, g, split))
                goto no_memory;
    }
    ticks->min_sum = min_sum(ticks);
    return true;
no_memory:
    ticks_release(ticks);
    return error_memory(err);
}

void ticks_release(struct ticks *ticks)
{
    arena_release(&ticks->arena);
}

double ticks_at_least(const struct ticks *ticks, double value)
{
    double best = INFINITY;
    for (int g = 0; g < ticks->group_count; g++)
        for (int split = 0; split < ticks->groups[g].splits; split++) {
            const double *sum = ticks->groups[g].sum[split];
            for (int a = 0, b = 1; a < ticks->layer_count; a++) {
                while (b <= ticks->layer_count && (b <= a || sum[b] - sum[a] < value))
                    b++;
                if (b > ticks->layer_count)
                    break;
                best = fmin(best, sum[b] - sum[a]);
            }
        }
    return best;
}

double ticks_at_most(const struct ticks *ticks, double value)
{
    double best = -INFINITY;
    for (int g = 0; g < ticks->group_count; g++)
        for (int split = 0; split < ticks->groups[g].splits; split++) {
            const double *sum = ticks->groups[g].sum[split];
            for (int a = 0, b = 0; a < ticks->layer_count; a++) {
                if (b < a)
                    b = a;
                while (b < ticks->layer_count && sum[b + 1] - sum[a] <= value)
                    b++;
                if (b > a)
                    best = fmax(best, sum[b] - sum[a]);
            }
        }
    return best;
}
