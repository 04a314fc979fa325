/* The search over all splits of training jobs: seconds, combinations per second, and what was found.
 * `bench_job [THREADS]`. */
#include "core/progress.h"
#include "job/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static const struct bench_case {
    const char *model, *device, *across, *software;
    int devices;
    int64_t batch, sequence;
} cases[] = {
    {"llama-3.1-405b", "h100", "ib-400g", "megatron-core", 16384, 2048, 8192},
    {"llama-3.1-405b", "h100", "ib-400g", "megatron-core", 512, 1152, 8192},
    {"gpt3-175b", "h100", "ib-400g", "megatron-core", 3584, 2048, 2048},
    {"gpt3-175b", "a100-80gb", "ib-200g", "megatron-2022", 1024, 1536, 2048},
    {"deepseek-v3", "h100", "ib-400g", "megatron-core", 2048, 8192, 4096},
    {"llama-3-8b", "a100-80gb", "ib-200g", "torchtitan", 64, 256, 8192},
    {"llama-3-70b", "a100-80gb", "ib-200g", "fsdp", 256, 512, 4096},
    {"mixtral-8x7b", "h100", "ib-400g", "megatron-core", 128, 1024, 4096},
};

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
}

static bool measure(const struct bench_case *c, struct parallel *pool)
{
    struct job_question question = {
        .job = {.model = architecture_find(c->model),
                .device = cost_device_find(c->device),
                .software = software_find(c->software),
                .across = cost_link_find(c->across),
                .devices = c->devices,
                .devices_per_node = 8,
                .batch = c->batch,
                .sequence = c->sequence,
                .type = COST_BF16},
        .headroom = 0.05,
    };
    if (!question.job.model || !question.job.device || !question.job.software || !question.job.across) {
        printf("%s: not known\n", c->model);
        return false;
    }
    question.job.calibration = calibration_of(question.job.device);
    question.job.inside = cost_link_find(question.job.device->link);
    struct job_search_options options = {.top = 5, .pool = pool};
    struct job_search search;
    struct error err;
    double start = clock_now(), cpu = cpu_seconds();
    if (!job_search(&search, &question, &options, &err)) {
        printf("%s: %s\n", c->model, err.text);
        return false;
    }
    double seconds = clock_now() - start;
    cpu = cpu_seconds() - cpu;
    printf("%-16s %-10s %6d  %7.3f s  %7.3f CPU-s  %11.0f combinations  %8.2f M per CPU-s\n", c->model,
           c->device, c->devices, seconds, cpu, search.combinations, search.combinations / cpu / 1e6);
    for (int i = 0; i < search.plan_count; i++) {
        const struct job *job = &search.plans[i].job;
        printf("    %8.4f s  tp %d cp %d ep %d pp %d dp %d  mbs %" PRId64
               " vp %d zero %d recompute %d  %d devices  %.1f "
               "GiB  %s\n",
               search.plans[i].time.seconds, job->tensor, job->context, job->expert, job->pipeline, job->data,
               job->microbatch, job->chunks, job->sharding, (int)job->recompute, job->devices,
               search.plans[i].memory.total / 0x1p30, job->stage_blocks ? "uneven" : "");
    }
    job_search_release(&search);
    return true;
}

int main(int argc, char **argv)
{
    struct parallel *pool = parallel_new(argc > 1 ? atoi(argv[1]) : 0);
    bool ok = pool != NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ok = measure(&cases[i], pool) && ok;
    parallel_free(pool);
    return ok ? 0 : 1;
}
