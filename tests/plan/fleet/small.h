/* Small random problems of plan/fleet/fleet.h, and all pipelines that they have. */
#ifndef REHEARSE_TESTS_FLEET_SMALL_H
#define REHEARSE_TESTS_FLEET_SMALL_H

#include "core/vector.h"
#include "plan/fleet/classes.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LAYERS           5
#define SMALL_SAME(a, b) (fabs((a) - (b)) <= 1e-9 * (1.0 + fabs(b)))

struct small {
    struct fleet_problem problem;
    double seconds[8][LAYERS + 1], kept[8][LAYERS + 1], held[8][LAYERS + 1], send[8][LAYERS + 1],
        after[8][LAYERS + 1], updated[8][LAYERS + 1];
    double waiting; /* share of the seconds, for each doubling of the nodes */
};

static inline void make_small(struct small *small, uint64_t seed)
{
    struct random_source source = {seed};
    struct fleet_problem *p = &small->problem;
    *p = (struct fleet_problem){
        .layer_count = random_range(&source, 1, LAYERS),
        .type_count = random_range(&source, 1, 3),
        .microbatches = random_range(&source, 1, 12),
        .max_pipelines = random_range(&source, 0, 3),
    };
    for (int t = 0; t < p->type_count; t++)
        p->types[t] = (struct fleet_type){.devices = random_range(&source, 1, 3),
                                          .memory = 1.0 + 9.0 * random_unit(&source)};
    for (int t = 0; t < p->type_count; t++)
        for (int tensor = 1; tensor <= 2; tensor++) {
            int o = p->option_count++;
            double speed = 0.3 + random_unit(&source);
            for (int l = 0; l < p->layer_count; l++) {
                double size = 0.2 + random_unit(&source);
                small->seconds[o][l + 1] = small->seconds[o][l] + size * speed / pow(tensor, 0.8);
                small->kept[o][l + 1] = small->kept[o][l] + random_unit(&source) / tensor;
                small->held[o][l + 1] = small->held[o][l] + 2.0 * random_unit(&source) / tensor;
                small->after[o][l + 1] = small->after[o][l] + 0.5 * random_unit(&source) / tensor;
                small->updated[o][l + 1] = 0.25 * small->after[o][l + 1];
                small->send[o][l] = 0.1 * random_unit(&source);
            }
            p->options[o] = (struct fleet_option){
                .type = t,
                .tensor = tensor,
                .sums.seconds = small->seconds[o],
                .sums.kept = small->kept[o],
                .sums.held = small->held[o],
                .sums.after = small->after[o],
                .sums.updated = small->updated[o],
                .sums.send = small->send[o],
                .working = 0.3,
                .last_working = 0.3 + 0.3 * random_unit(&source),
            };
        }
}

/* Seconds and devices of a pipeline, summed up layer by layer. */
static inline void small_score(const struct fleet_problem *p, struct fleet_pipeline *pipeline)
{
    pipeline->fill = pipeline->cycle = pipeline->after = 0.0;
    memset(pipeline->devices, 0, sizeof pipeline->devices);
    for (int i = 0; i < pipeline->stage_count; i++) {
        const struct fleet_stage *stage = &pipeline->stages[i];
        const struct fleet_option *o = &p->options[stage->option];
        double seconds = stage->first > 0 ? o->sums.send[stage->first] : 0.0, after = 0.0;
        for (int l = stage->first; l < stage->last; l++) {
            seconds += o->sums.seconds[l + 1] - o->sums.seconds[l];
            after += o->sums.after[l + 1] - o->sums.after[l];
        }
        pipeline->fill += seconds;
        pipeline->cycle = seconds > pipeline->cycle ? seconds : pipeline->cycle;
        pipeline->after = after > pipeline->after ? after : pipeline->after;
        pipeline->devices[o->type] += o->tensor;
    }
    pipeline->devices[p->type_count] = 1;
}

/* Pipelines that fit into the memories, and into the devices of the problem. The caller releases them. */
struct small_list {
    struct arena arena; /* of their stages */
    const struct fleet_problem *problem;
    struct fleet_pipeline *all;
    int count;
    size_t capacity;
};

/* Cuts from the last layer on, so that it is known how many stages are behind. */
static inline void small_cut(struct small_list *list, struct fleet_stage *stages, int count, int last)
{
    const struct fleet_problem *p = list->problem;
    if (last == 0) {
        struct fleet_pipeline pipeline = {
            .stage_count = count, .stages = ARENA_ARRAY(&list->arena, (size_t)count, struct fleet_stage)};
        assert_non_null(pipeline.stages);
        for (int i = 0; i < count; i++)
            pipeline.stages[i] = stages[count - 1 - i];
        small_score(p, &pipeline);
        for (int t = 0; t < p->type_count; t++)
            if (pipeline.devices[t] > p->types[t].devices)
                return;
        assert_true(VECTOR_ADD(list->all, list->count, list->capacity, pipeline));
        return;
    }
    for (int first = 0; first < last; first++)
        for (int o = 0; o < p->option_count; o++) {
            stages[count] = (struct fleet_stage){o, first, last};
            if (fleet_stage_memory(p, &stages[count], count + 1) <= p->types[p->options[o].type].memory)
                small_cut(list, stages, count + 1, first);
        }
}

static inline void small_pipelines(struct small_list *list, const struct fleet_problem *problem)
{
    struct fleet_stage stages[LAYERS];
    *list = (struct small_list){.problem = problem};
    small_cut(list, stages, 0, problem->layer_count);
}

static inline void small_release(struct small_list *list)
{
    free(list->all);
    arena_release(&list->arena);
}

/* Returns the factor on the seconds afterwards: D pipelines take 2 (D - 1) / D, less if alike ones share a node. Half of
 * what a layer holds is states that are sharded over D. */
static inline double small_share(const struct fleet_spread *spread, int tensor)
{
    return 2.0 * (spread->gradients - 1) / spread->gradients / fleet_together(spread, 2, tensor);
}

static inline bool small_spread(const void *context, const struct fleet_spread *spread,
                                struct fleet_problem *problem, struct arena *arena)
{
    const struct small *small = context;
    *problem = small->problem;
    problem->max_pipelines = spread->max;
    for (int o = 0; o < problem->option_count; o++) {
        double *after = ARENA_ARRAY(arena, LAYERS + 1, double),
               *updated = ARENA_ARRAY(arena, LAYERS + 1, double),
               *held = ARENA_ARRAY(arena, LAYERS + 1, double);
        double *seconds = ARENA_ARRAY(arena, LAYERS + 1, double);
        if (!after || !updated || !held || !seconds)
            return false;
        for (int l = 0; l <= problem->layer_count; l++) {
            after[l] = small->after[o][l] * small_share(spread, problem->options[o].tensor);
            updated[l] = 0.25 * after[l];
            seconds[l] = small->seconds[o][l] * (1.0 + small->waiting * log2(fmax(spread->nodes, 1.0)));
            held[l] = small->held[o][l] * (0.5 + 0.5 / spread->states);
        }
        problem->options[o].sums.seconds = seconds;
        problem->options[o].sums.after = after;
        problem->options[o].sums.updated = updated;
        problem->options[o].sums.held = held;
    }
    return true;
}

#endif
