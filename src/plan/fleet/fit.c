#include "plan/fleet/path.h"

#include "core/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Finds the pipeline with the maximum micro-batches by a deadline that fits into given devices. For each cycle, a
 * dynamic program over (stages left, layers left) keeps labels that no other label beats in fill and in the devices of
 * every type, at most MAX_LABELS of them: once labels are dropped the answer need not be the best. */

#define MAX_LABELS 12
#define MAX_CYCLES 16 /* tried */

struct label {
    double fill;
    int16_t devices[FLEET_MAX_TYPES];
    int16_t next;   /* the layer behind the first stage */
    uint8_t option; /* of the first stage */
    uint8_t before; /* label that this one continues */
};

struct cell {
    int count;
    struct label labels[MAX_LABELS];
};

struct fitter {
    const struct fleet_problem *problem;
    const int *limits;
    double after; /* maximum seconds of a stage after the pipelines */
    int stages;   /* maximum */
    struct cell *cells;
    struct fleet_stage *stages_found, *best_stages;
    /* minimum over the layers before each one */
    double *work;    /* device seconds */
    double *seconds; /* on the fastest devices */
};

/* Limits of the pipelines that are of interest. */
struct aim {
    double slowest, fill;
};

static struct cell *cell_at(const struct fitter *f, int behind, int layer)
{
    return &f->cells[(size_t)behind * ((size_t)f->problem->layer_count + 1) + (size_t)layer];
}

/* Is `a` as good as `b` in fill and all devices? */
static bool dominates(const struct label *a, const struct label *b, int types)
{
    if (a->fill > b->fill)
        return false;
    for (int t = 0; t < types; t++)
        if (a->devices[t] > b->devices[t])
            return false;
    return true;
}

static double size_of(const struct label *label, int types)
{
    double sum = 0.0;
    for (int t = 0; t < types; t++)
        sum += label->devices[t];
    return sum;
}

static void keep(struct cell *cell, const struct label *label, int types)
{
    int kept = 0;
    for (int i = 0; i < cell->count; i++)
        if (dominates(&cell->labels[i], label, types))
            return;
    for (int i = 0; i < cell->count; i++)
        if (!dominates(label, &cell->labels[i], types))
            cell->labels[kept++] = cell->labels[i];
    cell->count = kept;
    if (kept < MAX_LABELS) {
        cell->labels[cell->count++] = *label;
        return;
    }
    int worst = 0; /* in fill x devices */
    for (int i = 1; i < kept; i++)
        if (cell->labels[i].fill * size_of(&cell->labels[i], types) >
            cell->labels[worst].fill * size_of(&cell->labels[worst], types))
            worst = i;
    if (label->fill * size_of(label, types) < cell->labels[worst].fill * size_of(&cell->labels[worst], types))
        cell->labels[worst] = *label;
}

static void find_min_work(struct fitter *f)
{
    const struct fleet_problem *p = f->problem;
    f->work[0] = f->seconds[0] = 0.0;
    for (int l = 0; l < p->layer_count; l++) {
        double work = INFINITY, seconds = INFINITY;
        for (int i = 0; i < p->option_count; i++) {
            const struct fleet_option *o = &p->options[i];
            if (o->tensor > f->limits[o->type])
                continue;
            seconds = fmin(seconds, o->sums.seconds[l + 1] - o->sums.seconds[l]);
            work = fmin(work, (o->sums.seconds[l + 1] - o->sums.seconds[l]) * o->tensor);
        }
        f->work[l + 1] = f->work[l] + work;
        f->seconds[l + 1] = f->seconds[l] + seconds;
    }
}

/* Can the layers before a stage run on the devices that the stage and the pipeline behind it leave, within the cycle
 * and in time? */
static bool can_begin(const struct fitter *f, const struct label *behind, int devices, double seconds,
                      int first, const struct aim *aim)
{
    double left = -devices;
    for (int t = 0; t < f->problem->type_count; t++)
        left += f->limits[t] - behind->devices[t];
    return f->work[first] <= left * aim->slowest * (1.0 + 1e-9) &&
           behind->fill + seconds + f->seconds[first] <= aim->fill * (1.0 + 1e-9);
}

/* Adds a stage in front of every label kept for the layers that follow it. */
static void put_before(struct fitter *f, int behind, const struct fleet_stage *stage, const struct aim *aim)
{
    const struct fleet_option *o = &f->problem->options[stage->option];
    const struct cell *rest = cell_at(f, behind - 1, stage->last);
    struct cell *cell = cell_at(f, behind, stage->first);
    double seconds = fleet_stage_seconds(f->problem, stage);
    for (int i = 0; i < rest->count; i++) {
        const struct label *behind_it = &rest->labels[i];
        if (behind_it->devices[o->type] + o->tensor > f->limits[o->type] ||
            !can_begin(f, behind_it, o->tensor, seconds, stage->first, aim))
            continue;
        struct label label = *behind_it;
        label.fill += seconds;
        label.devices[o->type] = (int16_t)(label.devices[o->type] + o->tensor);
        label.next = (int16_t)stage->last;
        label.option = (uint8_t)stage->option;
        label.before = (uint8_t)i;
        keep(cell, &label, f->problem->type_count);
    }
}

/* The stages that can stand at `first` before so many others, which begin from `low` to `high`. */
static void put_stages(struct fitter *f, int behind, int first, int low, int high, const struct aim *aim)
{
    const struct fleet_problem *problem = f->problem;
    for (int i = 0; i < problem->option_count; i++) {
        const struct fleet_option *o = &problem->options[i];
        if (o->tensor > f->limits[o->type])
            continue;
        for (int last = first < low ? low : first + 1; last <= high; last++) {
            struct fleet_stage stage = {i, first, last};
            if (fleet_stage_seconds(problem, &stage) > aim->slowest ||
                o->sums.after[last] - o->sums.after[first] > f->after ||
                (last < problem->layer_count &&
                 fleet_stage_memory(problem, &stage, behind) > problem->types[o->type].memory))
                break;
            if (cell_at(f, behind - 1, last)->count > 0 &&
                fleet_stage_memory(problem, &stage, behind) <= problem->types[o->type].memory)
                put_before(f, behind, &stage, aim);
        }
    }
}

static void find_labels(struct fitter *f, const struct aim *aim)
{
    int layers = f->problem->layer_count, low = layers, high = layers;
    memset(f->cells, 0, ((size_t)f->stages + 1) * ((size_t)layers + 1) * sizeof *f->cells);
    cell_at(f, 0, layers)->count = 1;
    for (int behind = 1; behind <= f->stages && low <= high; behind++) {
        int lowest = layers, highest = 0;
        for (int first = high - 1; first >= 0; first--) {
            put_stages(f, behind, first, low, high, aim);
            if (first > 0 && cell_at(f, behind, first)->count > 0) {
                lowest = first;
                highest = first > highest ? first : highest;
            }
        }
        low = lowest;
        high = highest;
    }
}

static void follow(const struct fitter *f, int behind, int chosen, struct fleet_pipeline *pipeline)
{
    int first = 0;
    pipeline->stage_count = behind;
    for (int i = 0; i < pipeline->stage_count; i++, behind--) {
        const struct label *label = &cell_at(f, behind, first)->labels[chosen];
        pipeline->stages[i] = (struct fleet_stage){label->option, first, label->next};
        first = label->next;
        chosen = label->before;
    }
    fleet_pipeline_score(f->problem, pipeline);
}

/* Returns the maximum number of micro-batches with one of these cycles, or `max` if that is larger. */
static double try_cycles(struct fitter *f, const double *cycles, int count, double deadline, double max,
                         struct fleet_pipeline *best)
{
    for (int c = 0; c < count && deadline / cycles[c] + 1.0 >= max && !stop_wanted(); c++) {
        /* one micro-batch more than the best so far must be complete in time */
        find_labels(f, &(struct aim){cycles[c], deadline - max * (c > 0 ? cycles[c - 1] : 0.0)});
        for (int behind = 1; behind <= f->stages; behind++)
            for (int i = 0; i < cell_at(f, behind, 0)->count; i++) {
                struct fleet_pipeline found = {.stages = f->stages_found};
                follow(f, behind, i, &found);
                double done = fleet_done_by(&found, deadline, true);
                if (done > max) {
                    max = done;
                    *best = found;
                    best->stages = f->best_stages;
                    memcpy(best->stages, found.stages, (size_t)found.stage_count * sizeof *found.stages);
                }
            }
    }
    return max;
}

double fleet_fit(const struct fleet_problem *problem, const struct fleet_pricer *pricer,
                 const struct fleet_fit_query *query, struct fleet_pipeline *best)
{
    struct fitter f = {.problem = problem, .limits = query->limits, .after = query->after};
    double cycles[MAX_CYCLES], max = query->above, deadline = query->deadline;
    size_t row = (size_t)problem->layer_count + 1;
    int devices = 0;
    for (int t = 0; t < problem->type_count; t++)
        devices += query->limits[t];
    f.stages = devices < problem->layer_count ? devices : problem->layer_count;
    f.stages_found = pricer->path_stages;
    f.best_stages = pricer->fit_stages;
    f.cells = malloc(((size_t)f.stages + 1) * row * sizeof *f.cells);
    f.work = malloc(2 * row * sizeof *f.work);
    if (f.cells && f.work) {
        f.seconds = f.work + row;
        find_min_work(&f);
        /* a longer cycle leaves no time for as many micro-batches */
        for (int pass = 0; pass < 2; pass++) {
            double longest = max > 0.0 ? deadline / max : deadline;
            int count = fleet_cycles(pricer, f.work[row - 1] / devices, longest, MAX_CYCLES, cycles);
            max = try_cycles(&f, cycles, count, deadline, max, best);
        }
    }
    free(f.cells);
    free(f.work);
    return max > query->above ? max : 0.0;
}
