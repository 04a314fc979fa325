/* The search over pipelines on devices of several types: seconds, how much is proven, and what was found.
 * `bench_fleet [THREADS [FIRST [LAST]]]`. */
#include "core/clock.h"
#include "devices/tables.h"
#include "measure.h"

#include "plan/fleet/of_job.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define GROUPS 4

static const struct bench_case {
    const char *model, *software, *across;
    int64_t batch, sequence;
    int devices_per_node;
    struct {
        const char *device;
        int nodes;
    } groups[GROUPS];
} cases[] = {
    {"llama-3-70b",
     "megatron-core",
     "ib-200g",
     1024,
     8192,
     8,
     {{"a100-80gb", 32}, {"h100", 16}, {"a100-40gb", 16}}},
    {"llama-3-70b",
     "megatron-core",
     "ib-200g",
     4096,
     4096,
     8,
     {{"a100-80gb", 32}, {"h100", 16}, {"a100-40gb", 16}}},
    {"gpt3-13b",
     "megatron-core",
     "ib-100g",
     512,
     2048,
     8,
     {{"v100-32gb", 16}, {"a100-80gb", 32}, {"h100", 16}}},
    {"gpt3-13b",
     "megatron-core",
     "ib-100g",
     2048,
     2048,
     8,
     {{"v100-32gb", 32}, {"a100-40gb", 16}, {"h100", 16}}},
    {"gpt3-175b",
     "megatron-core",
     "ib-200g",
     1536,
     2048,
     8,
     {{"v100-32gb", 16}, {"a100-80gb", 32}, {"h100", 16}}},
    {"gpt3-175b",
     "megatron-core",
     "ib-200g",
     256,
     2048,
     8,
     {{"a100-40gb", 16}, {"a100-80gb", 32}, {"h100", 16}}},
    {"llama-2-13b",
     "megatron-core",
     "ib-100g",
     1024,
     4096,
     8,
     {{"rtx-4090", 32}, {"l40s", 16}, {"a100-80gb", 16}}},
    {"llama-2-70b",
     "megatron-core",
     "ib-100g",
     256,
     4096,
     8,
     {{"rtx-4090", 16}, {"l40s", 32}, {"a100-80gb", 16}}},
    {"gpt2-xl",
     "megatron-core",
     "ethernet-25g",
     64,
     1024,
     2,
     {{"v100-16gb", 2}, {"t4", 2}, {"rtx-3090", 2}, {"rtx-4090", 2}}},
    {"gpt2-xl",
     "megatron-core",
     "ethernet-25g",
     512,
     1024,
     2,
     {{"v100-16gb", 2}, {"t4", 2}, {"rtx-3090", 2}, {"rtx-4090", 2}}},
    {"llama-3-8b", "megatron-core", "ib-100g", 256, 8192, 4, {{"a100-80gb", 2}, {"a100-40gb", 2}}},
    {"llama-2-7b",
     "megatron-core",
     "ib-100g",
     128,
     4096,
     8,
     {{"v100-32gb", 1}, {"a100-40gb", 2}, {"h100", 1}}},
};

static bool ask(const struct bench_case *c, struct fleet_question *question)
{
    *question = (struct fleet_question){
        .job = {.model = architecture_find(c->model),
                .software = software_find(c->software),
                .batch = c->batch,
                .sequence = c->sequence},
        .precision = MODEL_MIXED,
        .headroom = 0.05,
    };
    bool known = question->job.model && question->job.software && tables_link(NULL, c->across);
    for (int g = 0; known && g < GROUPS && c->groups[g].device; g++) {
        const struct cost_device *device = tables_device(NULL, c->groups[g].device);
        known = device;
        if (known)
            question->groups[question->group_count++] = (struct cluster_group){
                .type = device,
                .calibration = tables_calibration(NULL, device),
                .inside = tables_link(NULL, device->link),
                .across = tables_link(NULL, c->across),
                .nodes = {c->groups[g].nodes, c->devices_per_node, device->memory},
            };
    }
    return known;
}

static void print_pipelines(const struct fleet_answer *answer, const struct fleet_question *question)
{
    for (int k = 0; k < answer->plan.pipeline_count; k++) {
        const struct fleet_pipeline *p = &answer->plan.pipelines[k];
        printf("    %3d x %5" PRId64 " micro-batches, fill %8.4f s, cycle %8.5f s:", p->copies,
               p->microbatches, p->fill, p->cycle);
        for (int i = 0; i < p->stage_count; i++) {
            const struct fleet_option *option = &answer->problem.options[p->stages[i].option];
            printf(" %s%s%.0d:%d", question->groups[option->type].type->name, option->tensor > 1 ? "x" : "",
                   option->tensor > 1 ? option->tensor : 0, p->stages[i].last - p->stages[i].first);
        }
        printf("\n");
    }
}

static bool measure(const struct bench_case *c, struct parallel *pool)
{
    struct fleet_question question;
    struct fleet_answer answer;
    struct error err;
    if (!ask(c, &question)) {
        printf("%s: not known\n", c->model);
        return false;
    }
    double start = clock_now(), cpu = clock_processor();
    if (!fleet_plan_job(&answer, &question, INFINITY, pool, NULL, &err)) {
        printf("%s: %s\n", c->model, err.text);
        return false;
    }
    double seconds = clock_now() - start;
    cpu = clock_processor() - cpu;
    printf("%-12s batch %5" PRId64 " on", c->model, c->batch);
    for (int g = 0; g < question.group_count; g++)
        printf(" %d %s", c->groups[g].nodes * c->devices_per_node, question.groups[g].type->name);
    printf(":  %.3f s, %.3f CPU-s;  %.17g s, gap %.3f %%;  micro-batch %" PRId64
           ", recompute %d, %d pipelines, "
           "%" PRId64 " columns\n",
           seconds, cpu, answer.time.seconds, 100.0 * (1.0 - answer.lower_bound / answer.time.seconds),
           answer.microbatch, (int)answer.recompute, answer.pipelines, answer.plan.columns);
    print_pipelines(&answer, &question);
    fflush(stdout);
    fleet_answer_release(&answer);
    return true;
}

int main(int argc, char **argv)
{
    struct parallel *pool = parallel_new(argc > 1 ? atoi(argv[1]) : 0, &(struct error){0});
    size_t first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, count = sizeof cases / sizeof *cases;
    size_t last = argc > 3 ? strtoul(argv[3], NULL, 10) : argc > 2 ? first : count - 1;
    bool ok = pool != NULL;
    for (size_t i = first; i <= last && i < count; i++)
        ok = measure(&cases[i], pool) && ok;
    printf("%.1f MiB\n", measure_peak_mib());
    parallel_free(pool);
    return ok ? 0 : 1;
}
