/* The search over all splits of training jobs: seconds, combinations per second, and what was found; and how many
 * combinations a core evaluates in a second when none is dismissed. `bench_job [THREADS]`. */
#include "core/clock.h"
#include "devices/tables.h"
#include "measure.h"

#include "plan/split/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const struct bench_case {
    const char *model, *device, *across, *software;
    int devices;
    int64_t batch, sequence;
    enum cost_type type;
} cases[] = {
    {"llama-3.1-405b", "h100", "ib-400g", "megatron-core", 16384, 2048, 8192, COST_BF16},
    {"llama-3.1-405b", "h100", "ib-400g", "megatron-core", 512, 1152, 8192, COST_BF16},
    {"gpt3-175b", "h100", "ib-400g", "megatron-core", 3584, 2048, 2048, COST_BF16},
    {"gpt3-175b", "a100-80gb", "ib-200g", "megatron-2022", 1024, 1536, 2048, COST_BF16},
    {"deepseek-v3", "h100", "ib-400g", "megatron-core", 2048, 8192, 4096, COST_BF16},
    {"deepseek-v3", "h800", "ib-400g", "megatron-core", 2048, 15360, 4096, COST_FP8},
    {"deepseek-v3", "h800", "ib-400g", "ideal", 2048, 15360, 4096, COST_FP8},
    {"llama-3-8b", "a100-80gb", "ib-200g", "torchtitan", 64, 256, 8192, COST_BF16},
    {"llama-3-70b", "a100-80gb", "ib-200g", "fsdp", 256, 512, 4096, COST_BF16},
    {"mixtral-8x7b", "h100", "ib-400g", "megatron-core", 128, 1024, 4096, COST_BF16},
};

static bool ask(struct job *job, const struct bench_case *c)
{
    *job = (struct job){.model = architecture_find(c->model),
                        .device = tables_device(NULL, c->device),
                        .software = software_find(c->software),
                        .across = tables_link(NULL, c->across),
                        .devices = c->devices,
                        .devices_per_node = 8,
                        .batch = c->batch,
                        .sequence = c->sequence,
                        .type = c->type};
    if (!job->model || !job->device || !job->software || !job->across) {
        printf("%s: not known\n", c->model);
        return false;
    }
    job->calibration = tables_calibration(NULL, job->device);
    job->inside = tables_link(NULL, job->device->link);
    return true;
}

static bool measure(const struct bench_case *c, struct parallel *pool)
{
    struct job_question question = {.headroom = 0.05};
    if (!ask(&question.job, c))
        return false;
    struct job_search_options options = {.top = 5, .pool = pool};
    struct job_search search;
    struct error err;
    double start = clock_now(), cpu = clock_processor();
    if (!job_search(&search, &question, &options, &err)) {
        printf("%s: %s\n", c->model, err.text);
        return false;
    }
    double seconds = clock_now() - start;
    cpu = clock_processor() - cpu;
    printf("%-16s %-10s %6d  %7.3f s  %7.3f CPU-s  %11.0f combinations  %8.2f M per CPU-s\n", c->model,
           c->device, c->devices, seconds, cpu, search.combinations, search.combinations / cpu / 1e6);
    for (int i = 0; i < search.plan_count; i++) {
        const struct job *job = &search.plans[i].job;
        printf("    %8.4f s  tp %d cp %d ep %d pp %d dp %d  mbs %" PRId64
               " vp %d zero %d recompute %d  %d devices  %.1f "
               "GiB  %s\n",
               search.plans[i].time.seconds, job->degrees.tensor, job->degrees.context, job->degrees.expert,
               job->degrees.pipeline, job->degrees.data, job->microbatch, job->chunks, job->sharding,
               (int)job->recompute, job->devices, search.plans[i].memory.total / 0x1p30,
               job->stage_blocks ? "uneven" : "");
    }
    job_search_release(&search);
    return true;
}

/* ---- without a search: none is dismissed ---- */

#define ENOUGH 2.0 /* CPU-seconds of evaluations */

struct rate {
    double evaluated, fit;
};

/* Every pipeline, data parallel degree, number of chunks and ZeRO stage, timed and weighed. */
static void evaluate_all(struct rate *rate, struct job job, const struct job_layers *layers)
{
    double memory = (double)job.device->memory;
    for (job.degrees.pipeline = 1; job.degrees.pipeline <= layers->block_count; job.degrees.pipeline++)
        for (job.degrees.data = 1; job.degrees.data <= job.batch; job.degrees.data *= 2)
            for (job.sharding = 0; job.sharding <= 3; job.sharding++) {
                job.devices =
                    job.degrees.tensor * job.degrees.context * job.degrees.pipeline * job.degrees.data;
                struct job_exchange exchange = job_exchange_of(&job, layers);
                for (job.chunks = 1; job.chunks <= layers->block_count / job.degrees.pipeline; job.chunks++) {
                    struct job_time time = job_time_of(&job, layers, &exchange);
                    struct job_memory held = job_memory_of(&job, layers);
                    rate->evaluated += 1.0;
                    rate->fit += time.seconds > 0.0 && held.total <= memory;
                }
            }
}

/* Layers are priced anew before each round. */
static bool measure_rate(const struct bench_case *c)
{
    struct job job;
    struct rate rate = {0};
    double seconds = 0.0, start = clock_processor();
    if (!ask(&job, c))
        return false;
    job.degrees.tensor = 8;
    job.degrees.context = job.degrees.expert = 1;
    job.microbatch = 1;
    do {
        job.degrees.pipeline = job.degrees.data = job.chunks = 1;
        struct job_layers layers = job_layers_of(&job);
        evaluate_all(&rate, job, &layers);
        seconds = clock_processor() - start;
    } while (seconds < ENOUGH);
    printf("%-16s %-10s %9.0f evaluated, %9.0f of them fit, in %.2f CPU-s: %.2f M per CPU-s\n", c->model,
           c->device, rate.evaluated, rate.fit, seconds, rate.evaluated / seconds / 1e6);
    return true;
}

int main(int argc, char **argv)
{
    struct parallel *pool = parallel_new(argc > 1 ? atoi(argv[1]) : 0, &(struct error){0});
    bool ok = pool != NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ok = measure(&cases[i], pool) && ok;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].devices >= 1024)
            ok = measure_rate(&cases[i]) && ok;
    parallel_free(pool);
    return ok ? 0 : 1;
}
