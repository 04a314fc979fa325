/* The transfers in the plan of a job add up to what its formulas count. */
#include "plan/split/plan.h"
#include "support/expect.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double sum(const struct plan_stage *stage, bool after, enum plan_purpose first, enum plan_purpose last)
{
    double seconds = 0;
    for (int i = 0; i < stage->transfer_count; i++) {
        const struct plan_transfer *transfer = &stage->transfers[i];
        if ((transfer->when == WHEN_AFTER) == after && transfer->purpose >= first &&
            transfer->purpose <= last)
            seconds += transfer->count * transfer->seconds * transfer->shown;
    }
    return seconds;
}

static void check_sums(const struct job *job)
{
    struct plan plan;
    struct error err;
    plan_init(&plan);
    if (!job_check(job, &err) || !plan_of_one_job(&plan, job, job->devices, &err))
        fail_msg("%s", err.text);
    const struct plan_pipeline *pipeline = &plan.pipelines[0];
    for (int s = 0; s < pipeline->stage_count; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        double passes = sum(stage, false, PURPOSE_TENSOR, PURPOSE_EXPERT);
        double ends = (s > 0) + (s + 1 < pipeline->stage_count);
        if (fabs(passes - stage->seconds.collectives) > 1e-9 * (passes + 1e-9))
            fail_msg("stage %d: %g is not %g", s, passes, stage->seconds.collectives);
        double sends = sum(stage, false, PURPOSE_STAGE, PURPOSE_STAGE);
        near(sends, ends * pipeline->stages[0].seconds.send / 2);
        if (job->sharding == 3)
            near(sum(stage, false, PURPOSE_SHARDS, PURPOSE_SHARDS) * (double)pipeline->microbatches,
                 stage->seconds.gradients);
    }
    plan_release(&plan);
}

static void sums_are_those_of_the_formulas(void **state)
{
    (void)state;
    for (int tensor = 1; tensor <= 8; tensor *= 2)
        for (int stages = 1; stages <= 8; stages *= 2)
            for (int context = 1; context <= 2; context++) {
                struct job job = job_example();
                job.degrees.tensor = tensor, job.degrees.pipeline = stages, job.degrees.context = context;
                job.chunks = stages == 4 ? 2 : 1;
                job.recompute = tensor == 2 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
                job.batch = 256;
                job_spread(&job, 128);
                check_sums(&job);
            }
}

static void experts_exchange_tokens(void **state)
{
    (void)state;
    struct job job = job_example();
    job.model = architecture_find("mixtral-8x7b");
    assert_non_null(job.model);
    for (int expert = 2; expert <= 8; expert *= 2) {
        job.degrees.expert = expert, job.degrees.pipeline = 4;
        job_spread(&job, 64);
        check_sums(&job);
    }
}

/* Gradients of adapters alone, of frozen weights none: with slow links as much as no kernel hides. */
static void adapters_exchange_gradients(void **state)
{
    (void)state;
    struct job job = job_example();
    for (job.technique.rank = 8; job.technique.rank <= 512; job.technique.rank *= 8)
        for (job.sharding = 0; job.sharding <= 3; job.sharding++) {
            job_spread(&job, 64);
            struct plan plan;
            struct error err;
            plan_init(&plan);
            if (!plan_of_one_job(&plan, &job, job.devices, &err))
                fail_msg("%s", err.text);
            const struct plan_stage *stage = &plan.pipelines[0].stages[0];
            double each = sum(stage, false, PURPOSE_SHARDS, PURPOSE_SHARDS) +
                          sum(stage, false, PURPOSE_GRADIENTS, PURPOSE_GRADIENTS);
            near(each * (double)plan.pipelines[0].microbatches +
                     sum(stage, true, PURPOSE_GRADIENTS, PURPOSE_GRADIENTS),
                 stage->seconds.gradients);
            plan_release(&plan);
        }
}

static void shards_are_gathered(void **state)
{
    (void)state;
    struct job job = job_example();
    job.software = software_find("fsdp");
    job.sharding = 3;
    job_spread(&job, 64);
    check_sums(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_formulas),
        cmocka_unit_test(experts_exchange_tokens),
        cmocka_unit_test(shards_are_gathered),
        cmocka_unit_test(adapters_exchange_gradients),
    };
    return cmocka_run_group_tests_name("plan/split/transfers", tests, NULL, NULL);
}
