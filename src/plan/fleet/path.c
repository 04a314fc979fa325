#include "plan/fleet/path.h"

#include <math.h>

static double price_of(const struct fleet_path *path, const struct fleet_option *option)
{
    if (!fleet_offers(path->pricer->problem, option) ||
        (path->limits && option->tensor > path->limits[option->type]))
        return INFINITY;
    return path->prices[option->type] * option->tensor;
}

/* Sets min_before[l], a lower bound on the cost of the layers before l: a stage of at most `slowest` seconds pays for
 * its devices at least in proportion to its seconds. */
void fleet_path_bound(const struct fleet_path *path)
{
    const struct fleet_problem *problem = path->pricer->problem;
    double *min_before = path->pricer->min_before;
    min_before[0] = 0.0;
    for (int l = 0; l < problem->layer_count; l++) {
        double best = INFINITY;
        for (int i = 0; i < problem->option_count; i++) {
            const struct fleet_option *o = &problem->options[i];
            best = fmin(best, (o->seconds[l + 1] - o->seconds[l]) *
                                  (path->share + price_of(path, o) / path->slowest));
        }
        min_before[l + 1] = min_before[l] + best;
    }
}

bool fleet_path_within_time(const struct fleet_path *path, int option, int first, int last)
{
    const struct fleet_option *o = &path->pricer->problem->options[option];
    return fleet_stage_seconds(path->pricer->problem, &(struct fleet_stage){option, first, last}) <=
               path->slowest &&
           o->after[last] - o->after[first] <= path->pricer->after;
}

/* Sets the end of the longest stage within the time limits, for every first layer. */
static void find_ends(const struct fleet_path *path)
{
    struct fleet_pricer *p = path->pricer;
    int layers = p->problem->layer_count;
    for (int i = 0; i < p->problem->option_count; i++) {
        int *ends = p->ends + (size_t)i * (size_t)layers;
        int end = layers;
        for (int first = layers - 1; first >= 0; first--) {
            /* the end moves little from one layer to the next; forwards, too, if the bytes sent differ */
            while (end > first && !fleet_path_within_time(path, i, first, end))
                end--;
            while (end < layers && fleet_path_within_time(path, i, first, end + 1))
                end++;
            ends[first] = end;
        }
        int *reach = p->reach + (size_t)i * (size_t)layers;
        for (int first = 0; first < layers; first++)
            reach[first] = first > 0 && reach[first - 1] > ends[first] ? reach[first - 1] : ends[first];
    }
}

/* Keeps a path of `behind` stages from layer `first` on, whose second stage begins at `last`, if it is cheaper. */
static void keep(const struct fleet_path *path, int behind, int option, int first, int last, double cost)
{
    struct fleet_pricer *p = path->pricer;
    size_t at = (size_t)behind * ((size_t)p->problem->layer_count + 1) + (size_t)first;
    if (cost >= p->best[at] || cost + p->min_before[first] >= path->cutoff)
        return;
    p->best[at] = cost;
    p->next[at] = last;
    p->option[at] = (uint8_t)option;
}

double fleet_path_cost(const struct fleet_path *path, int option, int first, int last)
{
    const struct fleet_option *o = &path->pricer->problem->options[option];
    return fleet_stage_seconds(path->pricer->problem, &(struct fleet_stage){option, first, last}) *
               path->share +
           price_of(path, o);
}

/* Puts the last stage, which ends with the last layer. */
static void put_last(const struct fleet_path *path, int option)
{
    const struct fleet_problem *problem = path->pricer->problem;
    int layers = problem->layer_count;
    const int *ends = path->pricer->ends + (size_t)option * (size_t)layers;
    for (int first = layers - 1; first >= 0; first--)
        if (ends[first] == layers &&
            fleet_within_memory(problem, &(struct fleet_stage){option, first, layers}, 1))
            keep(path, 1, option, first, layers, fleet_path_cost(path, option, first, layers));
}

/* Puts a stage in front of others: from each `first` on, the reachable end with the minimum of rest[end] + seconds
 * before it. The queue holds the ends seen so far that are better than all lower ends, the furthest first: a new end is
 * below all others, and ends that are not better than it are never needed again. Stages further from the end have less
 * memory, so ends only move closer. */
static void put_in_front(const struct fleet_path *path, int behind, int option)
{
    struct fleet_pricer *p = path->pricer;
    const struct fleet_option *o = &p->problem->options[option];
    int layers = p->problem->layer_count, count = 0, low = 0, *queue = p->queue;
    int *ends = p->ends + (size_t)option * (size_t)layers;
    const int *reach = p->reach + (size_t)option * (size_t)layers;
    const double *rest = p->best + (size_t)(behind - 1) * ((size_t)layers + 1);
    double *values = p->values; /* of the queue */
    for (int first = path->furthest - 1; first >= 0 && reach[first] >= path->nearest; first--) {
        int enters = first + 1, last = ends[first] < layers ? ends[first] : layers - 1;
        if (isfinite(rest[enters])) {
            double value = rest[enters] + o->seconds[enters] * path->share;
            while (count > 0 && values[count - 1] >= value)
                count--;
            values[count] = value;
            queue[count++] = enters;
        }
        if (count == 0)
            continue;
        while (last > first &&
               !fleet_within_memory(p->problem, &(struct fleet_stage){option, first, last}, behind))
            last--;
        ends[first] = last;
        /* the first end in the queue that is not beyond `last`: it moves little from one `first` to the next */
        low = low < count ? low : count;
        while (low < count && queue[low] > last)
            low++;
        while (low > 0 && queue[low - 1] <= last)
            low--;
        if (low < count)
            keep(path, behind, option, first, queue[low],
                 fleet_path_cost(path, option, first, queue[low]) + rest[queue[low]]);
    }
}

/* Sets the layers between which paths of this length begin, except whole pipelines. False: all paths are too dear. */
static bool find_window(struct fleet_path *path, int behind)
{
    int layers = path->pricer->problem->layer_count;
    const double *row = path->pricer->best + (size_t)behind * ((size_t)layers + 1);
    path->furthest = layers - 1;
    while (path->furthest > 0 && isinf(row[path->furthest]))
        path->furthest--;
    path->nearest = 1;
    while (path->nearest < path->furthest && isinf(row[path->nearest]))
        path->nearest++;
    return path->furthest > 0;
}

static void follow(const struct fleet_pricer *p, int behind, struct fleet_pipeline *pipeline)
{
    size_t row = (size_t)p->problem->layer_count + 1;
    pipeline->stage_count = behind;
    pipeline->stages = p->path_stages;
    for (int i = 0, first = 0; i < pipeline->stage_count; i++, behind--) {
        size_t at = (size_t)behind * row + (size_t)first;
        pipeline->stages[i] = (struct fleet_stage){p->option[at], first, p->next[at]};
        first = p->next[at];
    }
    fleet_pipeline_score(p->problem, pipeline);
}

/* Returns the minimum of [sum of seconds x share + prices . devices] over pipelines with no slower stage; INFINITY: it
 * is not below the cutoff. Once a pipeline is found, dearer paths are dropped. */
double fleet_path_shortest(struct fleet_path path, struct fleet_pipeline *pipeline)
{
    struct fleet_pricer *p = path.pricer;
    int row = p->problem->layer_count + 1, chosen = 0;
    double cheapest = INFINITY;
    p->rows = 0;
    fleet_path_bound(&path);
    if (p->min_before[row - 1] >= path.cutoff)
        return INFINITY;
    find_ends(&path);
    for (int behind = 1; behind <= p->stages; behind++) {
        p->rows = behind;
        double *best = p->best + (size_t)behind * (size_t)row;
        for (int l = 0; l < row; l++)
            best[l] = INFINITY;
        for (int o = 0; o < p->problem->option_count; o++)
            if (isinf(price_of(&path, &p->problem->options[o])))
                continue;
            else if (behind == 1)
                put_last(&path, o);
            else
                put_in_front(&path, behind, o);
        if (best[0] < cheapest) {
            cheapest = best[0];
            chosen = behind;
            if (!path.all)
                path.cutoff = fmin(path.cutoff, cheapest);
        }
        if (!find_window(&path, behind))
            break;
    }
    if (chosen > 0)
        follow(p, chosen, pipeline);
    return cheapest;
}
