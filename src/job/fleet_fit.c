#include "job/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The pipeline with the most micro-batches by a deadline among those that fit into given devices. For a cycle, a dynamic
 * program over (stages left, layers left) keeps ways that are not worse than another in fill and in every type's devices,
 * LABELS_MOST of them at most: where more are dropped the answer need not be the best. */

#define LABELS_MOST 12
#define CYCLES_MOST 24 /* that are tried */

struct label {
    double fill;
    int16_t devices[FLEET_TYPES_MOST];
    int16_t next;  /* the layer behind the first stage */
    int8_t option; /* of the first stage */
    int8_t before; /* label that it continues */
};

struct cell {
    int count;
    struct label labels[LABELS_MOST];
};

struct fitter {
    const struct fleet_problem *problem;
    const int *limits;
    double after; /* seconds of a stage at most */
    int stages;   /* at most */
    struct cell *cells;
};

static struct cell *cell_at(const struct fitter *f, int behind, int layer)
{
    return &f->cells[(size_t)behind * ((size_t)f->problem->layer_count + 1) + (size_t)layer];
}

/* Is `a` as good as `b` in everything? */
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
    if (kept < LABELS_MOST) {
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

/* A stage in front of every way that is kept for what follows it. */
static void put_before(struct fitter *f, int behind, const struct fleet_stage *stage)
{
    const struct fleet_option *o = &f->problem->options[stage->option];
    const struct cell *rest = cell_at(f, behind - 1, stage->last);
    struct cell *cell = cell_at(f, behind, stage->first);
    double seconds = fleet_stage_seconds(f->problem, stage);
    for (int i = 0; i < rest->count; i++) {
        struct label label = rest->labels[i];
        label.fill += seconds;
        label.devices[o->type] = (int16_t)(label.devices[o->type] + o->tensor);
        label.next = (int16_t)stage->last;
        label.option = (int8_t)stage->option;
        label.before = (int8_t)i;
        if (label.devices[o->type] <= f->limits[o->type])
            keep(cell, &label, f->problem->type_count);
    }
}

static void find_ways(struct fitter *f, double slowest)
{
    const struct fleet_problem *problem = f->problem;
    int layers = problem->layer_count;
    memset(f->cells, 0, ((size_t)f->stages + 1) * ((size_t)layers + 1) * sizeof *f->cells);
    cell_at(f, 0, layers)->count = 1;
    for (int behind = 1; behind <= f->stages; behind++)
        for (int first = layers - 1; first >= 0; first--)
            for (int o = 0; o < problem->option_count; o++)
                for (int last = first + 1; last <= layers; last++) {
                    struct fleet_stage stage = {o, first, last};
                    if (behind > 1 && last == layers)
                        break;
                    if (fleet_stage_seconds(problem, &stage) > slowest ||
                        problem->options[o].after[last] - problem->options[o].after[first] > f->after)
                        break;
                    if (cell_at(f, behind - 1, last)->count == 0)
                        continue;
                    if (fleet_stage_memory(problem, &stage, behind) >
                        problem->types[problem->options[o].type].memory)
                        break;
                    put_before(f, behind, &stage);
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

static double done_by(const struct fleet_pipeline *pipeline, double deadline)
{
    return pipeline->fill <= deadline
               ? floor((deadline - pipeline->fill) / pipeline->cycle * (1.0 + 1e-12)) + 1.0
               : 0.0;
}

double fleet_fit(const struct fleet_problem *problem, const struct fleet_pricer *pricer, const int *limits,
                 double deadline, double after, struct fleet_pipeline *best)
{
    struct fitter f = {.problem = problem, .limits = limits, .after = after};
    double cycles[CYCLES_MOST], most = 0.0;
    int devices = 0;
    for (int t = 0; t < problem->type_count; t++)
        devices += limits[t];
    int count = fleet_cycles(pricer, fleet_least_work(problem) / devices, deadline, CYCLES_MOST, cycles);
    f.stages = devices < problem->layer_count ? devices : problem->layer_count;
    f.stages = f.stages < FLEET_STAGES_MOST ? f.stages : FLEET_STAGES_MOST;
    f.cells = malloc(((size_t)f.stages + 1) * ((size_t)problem->layer_count + 1) * sizeof *f.cells);
    for (int c = 0; f.cells && c < count && deadline / cycles[c] + 1.0 >= most; c++) {
        find_ways(&f, cycles[c]);
        for (int behind = 1; behind <= f.stages; behind++)
            for (int i = 0; i < cell_at(&f, behind, 0)->count; i++) {
                struct fleet_pipeline found;
                follow(&f, behind, i, &found);
                double done = done_by(&found, deadline);
                if (done > most) {
                    most = done;
                    *best = found;
                }
            }
    }
    free(f.cells);
    return most;
}
