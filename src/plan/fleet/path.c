#include "plan/fleet/path.h"

#include <math.h>
#include <string.h>

static double price_of(const struct fleet_path *path, const struct fleet_option *option)
{
    if (!fleet_offers(path->pricer->problem, option) ||
        (path->limits && option->tensor > path->limits[option->type]))
        return INFINITY;
    return path->prices[option->type] * option->tensor;
}

double fleet_path_bound(const struct fleet_path *path)
{
    const struct fleet_problem *problem = path->pricer->problem;
    double rates[FLEET_MAX_OPTIONS], sum = 0.0;
    for (int i = 0; i < problem->option_count; i++)
        rates[i] = path->share + price_of(path, &problem->options[i]) / path->slowest;
    for (int l = 0; l < problem->layer_count; l++) {
        double best = INFINITY;
        for (int i = 0; i < problem->option_count; i++) {
            double cost =
                (problem->options[i].sums.seconds[l + 1] - problem->options[i].sums.seconds[l]) * rates[i];
            best = cost < best ? cost : best;
        }
        sum += best;
    }
    return sum;
}

bool fleet_path_begin(struct fleet_pricer *p)
{
    const struct fleet_problem *problem = p->problem;
    int layers = problem->layer_count;
    size_t options = (size_t)problem->option_count, cells = options * ((size_t)layers + 1);
    p->holds = ARENA_ARRAY(&p->arena, cells, int);
    p->ends_chain = ARENA_ARRAY(&p->arena, cells, bool);
    p->from_before = ARENA_ARRAY(&p->arena, (size_t)layers + 1, int);
    p->option_before = ARENA_ARRAY(&p->arena, (size_t)layers + 1, uint8_t);
    p->window = ARENA_ARRAY(&p->arena, cells, int);
    p->window_values = ARENA_ARRAY(&p->arena, cells, double);
    p->window_first = ARENA_ARRAY(&p->arena, options + 1, int);
    p->window_count = ARENA_ARRAY(&p->arena, options + 1, int);
    if (!p->from_before || !p->option_before || !p->holds || !p->ends_chain || !p->window ||
        !p->window_values || !p->window_first || !p->window_count)
        return false;
    for (int o = 0; o < problem->option_count; o++) {
        size_t row = (size_t)o * (size_t)layers;
        for (int first = 0, last = 0; first < layers; first++) {
            last = last > first ? last : first;
            while (last + 1 < layers &&
                   fleet_within_memory(problem, &(struct fleet_stage){o, first, last + 1}, 2))
                last++;
            p->holds[row + (size_t)first] = last;
            p->ends_chain[row + (size_t)first] =
                fleet_within_memory(problem, &(struct fleet_stage){o, first, layers}, 1);
        }
    }
    return true;
}

bool fleet_path_within_time(const struct fleet_path *path, int option, int first, int last)
{
    const struct fleet_option *o = &path->pricer->problem->options[option];
    return fleet_stage_seconds(path->pricer->problem, &(struct fleet_stage){option, first, last}) <=
               path->slowest &&
           o->sums.after[last] - o->sums.after[first] <= path->pricer->after;
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

/* Returns the minimum cost of the layers before `last`, of which the last stage is run with this option and has another
 * one behind it. Its window holds the layers where such a stage can begin, the cheapest first: a layer that is dearer
 * than a later one is never needed again, and those that stages from there on cannot reach `last` from leave it. */
static double cheapest_before(const struct fleet_path *path, int option, double price, int last, int *from)
{
    struct fleet_pricer *p = path->pricer;
    const struct fleet_option *o = &p->problem->options[option];
    int layers = p->problem->layer_count, first = last - 1;
    size_t row = (size_t)option * (size_t)layers;
    int *window = p->window + row, *begin = &p->window_first[option], *count = &p->window_count[option];
    double *values = p->window_values + row;
    double value = p->min_before[first] +
                   ((first > 0 ? o->sums.send[first] : 0.0) - o->sums.seconds[first]) * path->share + price;
    while (*count > *begin && values[*count - 1] >= value)
        --*count;
    values[*count] = value;
    window[(*count)++] = first;
    while (*begin < *count &&
           (p->reach[row + (size_t)window[*begin]] < last || p->holds[row + (size_t)window[*begin]] < last))
        ++*begin;
    if (*begin == *count)
        return INFINITY;
    *from = window[*begin];
    return values[*begin] + o->sums.seconds[last] * path->share;
}

/* The same of all layers, with nothing behind. */
static double cheapest_end(const struct fleet_path *path, int option, int *from)
{
    const struct fleet_pricer *p = path->pricer;
    int layers = p->problem->layer_count;
    size_t row = (size_t)option * (size_t)layers;
    double best = INFINITY;
    for (int first = layers - 1; first >= 0; first--) {
        if (p->ends[row + (size_t)first] < layers || !p->ends_chain[row + (size_t)first])
            continue;
        double cost = p->min_before[first] + fleet_path_cost(path, option, first, layers);
        if (cost < best) {
            best = cost;
            *from = first;
        }
    }
    return best;
}

#define TIE                                                                                                  \
    1e-10 /* of a micro-batch's cost: of paths that cost the same, the one with fewer stages is taken */

/* Sets min_before[l], a lower bound on the cost of the layers before l: stages of the seconds that are allowed, which
 * hold no more than they do in front of one other stage. */
static void find_before(const struct fleet_path *path)
{
    struct fleet_pricer *p = path->pricer;
    const struct fleet_problem *problem = p->problem;
    int layers = problem->layer_count;
    double prices[FLEET_MAX_OPTIONS], tie = TIE * path->share * problem->options[0].sums.seconds[layers];
    for (int o = 0; o < problem->option_count; o++) {
        prices[o] = price_of(path, &problem->options[o]) + tie;
        p->window_first[o] = p->window_count[o] = 0;
    }
    p->min_before[0] = 0.0;
    for (int last = 1; last <= layers; last++) {
        double best = INFINITY;
        for (int o = 0; o < problem->option_count; o++) {
            if (isinf(prices[o]))
                continue;
            int first = 0;
            double cost = last < layers ? cheapest_before(path, o, prices[o], last, &first)
                                        : cheapest_end(path, o, &first) + tie;
            if (cost < best) {
                best = cost;
                p->from_before[last] = first;
                p->option_before[last] = (uint8_t)o;
            }
        }
        p->min_before[last] = best;
    }
    for (int l = 1; l <= layers; l++)
        p->min_before[l] = fmax(p->min_before[l] - l * tie, 0.0) * (1.0 - 1e-12);
}

/* Takes the stages of the lower bound, if they are a pipeline: then it is the cheapest. */
static bool take_before(const struct fleet_path *path, struct fleet_pipeline *pipeline)
{
    struct fleet_pricer *p = path->pricer;
    int layers = p->problem->layer_count, count = 0;
    for (int last = layers; last > 0; last = p->from_before[last], count++) {
        struct fleet_stage *stage = &p->path_stages[layers - 1 - count];
        *stage = (struct fleet_stage){p->option_before[last], p->from_before[last], last};
        if (count == p->stages || !fleet_within_memory(p->problem, stage, count + 1) ||
            !fleet_path_within_time(path, stage->option, stage->first, stage->last))
            return false;
    }
    memmove(p->path_stages, p->path_stages + layers - count, (size_t)count * sizeof *p->path_stages);
    pipeline->stage_count = count;
    pipeline->stages = p->path_stages;
    fleet_pipeline_score(p->problem, pipeline);
    return true;
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
    double *values = p->values;             /* of the queue */
    const double price = price_of(path, o); /* of the stage's devices */
    for (int first = path->furthest - 1; first >= 0 && reach[first] >= path->nearest; first--) {
        int enters = first + 1, last = ends[first] < layers ? ends[first] : layers - 1;
        if (isfinite(rest[enters])) {
            double value = rest[enters] + o->sums.seconds[enters] * path->share;
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
                 fleet_stage_seconds(p->problem, &(struct fleet_stage){option, first, queue[low]}) *
                         path->share +
                     price + rest[queue[low]]);
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
    if (fleet_path_bound(&path) >= path.cutoff)
        return INFINITY;
    find_ends(&path);
    find_before(&path);
    if (p->min_before[row - 1] >= path.cutoff)
        return INFINITY;
    if (!path.all && take_before(&path, pipeline))
        return p->min_before[row - 1];
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
