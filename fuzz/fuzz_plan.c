/* rehearse-plan/2: a plan that reads must be written so that it reads back as the same text, and be drawn; what can be
 * run as a pipeline of a small model on a mixed cluster must score. The first byte gives the number of micro-batches and the
 * objective. */
#include "plan/pipeline_plan.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
                .nodes = {2, 4, 0},
                .splits = 3,
                .forward = times,
                .backward = times,
                .allreduce = {NULL, times, times}},
               {.device = "b",
                .nodes = {1, 2, 1 << 30},
                .splits = 2,
                .forward = times,
                .backward = times,
                .allreduce = {NULL, times}},
               {.device = "a", .nodes = {1, 1, 64 << 20}, .splits = 1, .forward = times, .backward = times}},
};

/* As JSON; the caller releases it. */
static struct text written(const struct plan *plan)
{
    struct text text = {0};
    struct json json = {.out = &text};
    plan_write_json(plan, &json, NULL);
    if (text.failed)
        abort();
    return text;
}

static void check_written(const struct plan *plan)
{
    struct text text = written(plan);
    struct plan again;
    struct error err;
    if (!plan_parse(&again, "again.json", text.data, text.length, &err)) {
        fprintf(stderr, "%s\n%s", err.text, text.data);
        abort();
    }
    struct text twice = written(&again);
    if (strcmp(text.data, twice.data) != 0)
        abort();
    plan_release(&again);
    plan_write_dot(plan, &twice);
    text_release(&twice);
    text_release(&text);
}

static void check_pipeline(const struct plan_problem *problem, const struct plan *plan)
{
    struct pipeline pipeline;
    struct plan again;
    struct error err;
    if (!pipeline_of_plan(&pipeline, problem, plan, &err))
        return;
    if (pipeline_check(problem, &pipeline, &err) && pipeline_score(problem, &pipeline, &err)) {
        if (!isfinite(pipeline.iteration_time) || pipeline.iteration_time <= 0)
            abort();
        plan_init(&again);
        if (!plan_of_pipeline(&again, &pipeline, problem, NULL, NULL, &err))
            abort();
        check_written(&again);
        plan_release(&again);
    }
    pipeline_release(&pipeline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan_problem problem = mixed;
    struct plan plan;
    struct error err;
    if (size == 0)
        return 0;
    problem.objective = data[0] % 2 ? OBJECTIVE_OOBLECK : OBJECTIVE_PIPELINE;
    problem.microbatches = data[0] / 2 % 16;
    if (!plan_parse(&plan, "fuzz.json", (const char *)data + 1, size - 1, &err))
        return 0;
    check_written(&plan);
    if (plan_check(&plan, &err))
        check_pipeline(&problem, &plan);
    plan_release(&plan);
    return 0;
}
