/* rehearse-plan/1 for a small model on a mixed cluster: what reads and can be run must score, print, and read
 * back as the same plan. The first byte gives the number of micro-batches and the objective. */
#include "plan/pipeline.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int64_t bytes[LAYERS] = {1 << 20, 2 << 20, 3 << 20, 1 << 20, 5 << 20, 1 << 20};
static const double times[LAYERS] = {0.5, 1, 1, 2, 1, 0.25};

/* Two groups of the same type, so that devices are found by node or by what is left. */
static const struct plan_problem mixed = {
    .layer_count = LAYERS,
    .parameter_bytes = bytes,
    .activation_bytes = bytes,
    .group_count = 3,
    .groups = {{.device = "a",
                .nodes = 2,
                .devices_per_node = 4,
                .splits = 3,
                .forward = times,
                .backward = times,
                .allreduce = {NULL, times, times}},
               {.device = "b",
                .nodes = 1,
                .devices_per_node = 2,
                .splits = 2,
                .memory = 1 << 30,
                .forward = times,
                .backward = times,
                .allreduce = {NULL, times}},
               {.device = "a",
                .nodes = 1,
                .devices_per_node = 1,
                .splits = 1,
                .memory = 64 << 20,
                .forward = times,
                .backward = times}},
};

static void check_same(const struct pipeline *a, const struct pipeline *b)
{
    if (a->stage_count != b->stage_count)
        abort();
    for (int i = 0; i < a->stage_count; i++) {
        const struct pipeline_stage *x = &a->stages[i], *y = &b->stages[i];
        if (x->first_layer != y->first_layer || x->last_layer != y->last_layer || x->group != y->group ||
            x->devices != y->devices || x->node != y->node)
            abort();
    }
}

static void check_written(const struct plan_problem *problem, const struct pipeline *plan)
{
    struct text text = {0};
    struct json json = {.out = &text};
    struct pipeline again;
    struct error err;
    pipeline_write_json(plan, problem, &json, NULL);
    if (!pipeline_parse(&again, problem, "again.json", text.data, text.length, &err))
        abort();
    check_same(plan, &again);
    pipeline_release(&again);
    text.length = 0;
    pipeline_print(plan, problem, &text);
    pipeline_write_dot(plan, problem, &text);
    text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan_problem problem = mixed;
    struct pipeline plan;
    struct error err;
    if (size == 0)
        return 0;
    problem.objective = data[0] % 2 ? OBJECTIVE_OOBLECK : OBJECTIVE_PIPELINE;
    problem.microbatches = data[0] / 2 % 16;
    if (!pipeline_parse(&plan, &problem, "fuzz.json", (const char *)data + 1, size - 1, &err))
        return 0;
    if (pipeline_check(&problem, &plan, &err) && pipeline_score(&problem, &plan, &err)) {
        if (!isfinite(plan.iteration_time) || plan.iteration_time <= 0)
            abort();
        check_written(&problem, &plan);
    }
    pipeline_release(&plan);
    return 0;
}
