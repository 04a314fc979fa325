#include "evidence/interval.h"
#include "evidence/own_run.h"
#include "evidence/validate.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct job_time unknown;

static const struct validation_defaults none;

/* What somebody would plan for the run's model on as many of the same devices: all parameters, bf16, no split yet. */
static struct job everyday_job(const struct run *run)
{
    struct job job = run->job;
    job.type = COST_BF16;
    job.technique.rank = 0;
    job.degrees.tensor = job.degrees.context = job.degrees.expert = job.degrees.pipeline = 1;
    job.microbatch = 1;
    job.recompute = RECOMPUTE_NONE;
    job.sharding = 1;
    job.technique = (struct technique){0};
    return job;
}

static void plans_that_stand_in_the_table_are_not_extrapolated(void **state)
{
    (void)state;
    struct validation runs;
    struct error err;
    int planned = 0;
    if (!validation_load_known(&runs, &none, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < runs.count; i++) {
        const struct run *run = &runs.runs[i];
        if (run->reason || !run->scored)
            continue;
        struct job job = everyday_job(run);
        struct estimate estimate = own_run_estimate(&job, &unknown);
        if (estimate.extrapolates)
            fail_msg("%s: %s on %d x %s is extrapolated", run->id, run->model_name, run->job.devices,
                     run->job.device->name);
        assert_non_null(estimate.nearest);
        const struct likeness *nearest = &estimate.nearest->likeness;
        if (job_is_frozen(&run->job))
            continue; /* full training on other devices may be nearer */
        assert_string_equal(nearest->device, run->job.device->name);
        assert_int_equal(nearest->devices, run->job.devices);
        assert_true(fabs(nearest->sizes[LIKENESS_PARAMETERS] - log2(architecture_parameters(job.model))) <
                    0.02);
        planned++;
    }
    assert_true(planned > 400);
    validation_release(&runs);
}

static struct estimate estimate_of(const struct job *job)
{
    return own_run_estimate(job, &unknown);
}

static void plans_like_no_run_are_extrapolated(void **state)
{
    (void)state;
    struct job job = job_example();
    assert_false(estimate_of(&job).extrapolates);
    struct job many = job;
    many.devices = 1 << 16;
    struct cost_device device = *job.device;
    device.generation = "none";
    struct job elsewhere = job;
    elsewhere.device = &device;
    struct architecture model = *job.model;
    model.hidden *= 8;
    model.ffn *= 8;
    struct job large = job;
    large.model = &model;
    const struct job *const others[] = {&many, &elsewhere, &large};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct estimate estimate = estimate_of(others[i]);
        assert_true(estimate.extrapolates);
        assert_null(estimate.nearest);
    }
}

static struct likeness some_likeness(void)
{
    return (struct likeness){.generation = "hopper",
                             .device = "h100-sxm",
                             .software = "megatron-core",
                             .framework = "",
                             .released = 2025.0,
                             .bits = 16,
                             .sharding = 1,
                             .sizes = {[LIKENESS_PARAMETERS] = 36.0, [LIKENESS_PIPELINE] = 2.0},
                             .kind = LIKENESS_DENSE,
                             .devices = 64,
                             .active = 36.0};
}

static void kind_size_generation_and_devices_make_runs_similar(void **state)
{
    (void)state;
    struct likeness job = some_likeness(), run = job;
    run.bits = 8;
    run.software = "fsdp";
    run.device = "h200";
    run.sizes[LIKENESS_TENSOR] = 3.0;
    assert_true(likeness_is_similar(&run, &job));
    struct likeness other = run;
    other.devices = 64 * 4;
    assert_true(likeness_is_similar(&other, &job));
    other.devices = 64 * 4 + 1;
    assert_false(likeness_is_similar(&other, &job));
    job.devices = 0; /* a model without a cluster */
    assert_true(likeness_is_similar(&other, &job));
    job.devices = 64;
    other = run;
    other.generation = "ampere";
    assert_false(likeness_is_similar(&other, &job));
    other = run;
    other.kind = LIKENESS_EXPERTS;
    assert_false(likeness_is_similar(&other, &job));
    other = run;
    other.sizes[LIKENESS_PARAMETERS] += 1.1;
    assert_false(likeness_is_similar(&other, &job));
    other = run;
    other.active -= 1.1;
    assert_false(likeness_is_similar(&other, &job));
}

/* Each of these is nearer than all that follow. */
static void the_model_counts_before_the_device(void **state)
{
    (void)state;
    struct likeness job = some_likeness(), runs[6];
    for (int i = 0; i < 6; i++)
        runs[i] = job;
    runs[1].bits = 8;
    runs[2].devices = 128;
    runs[3].device = "h200";
    runs[4].frozen = true;
    runs[5].sizes[LIKENESS_PARAMETERS] += 0.5;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            assert_int_equal(likeness_is_nearer(&runs[i], &runs[j], &job), i < j);
}

static void assert_differs(const struct likeness *run, int most, const char *expected)
{
    struct likeness job = some_likeness();
    struct text text = {0};
    likeness_differences(run, &job, most, &text);
    assert_string_equal(text.data ? text.data : "", expected);
    text_release(&text);
}

static void differences_are_those_of_the_run(void **state)
{
    (void)state;
    struct likeness run = some_likeness();
    assert_differs(&run, 3, "");
    run.device = "h200"; /* stands beside the run's name, as its number of devices does */
    run.devices = 32;
    assert_differs(&run, 3, "");
    run.bits = 8;
    assert_differs(&run, 3, "fp8 instead of bf16");
    run.sizes[LIKENESS_PIPELINE] = 3.0;
    run.recompute = RECOMPUTE_FULL;
    run.sharding = 3;
    assert_differs(
        &run, 4,
        "fp8 instead of bf16, pipeline 8 instead of 4, recomputation full instead of none, ZeRO stage 3 "
        "instead of 1");
    assert_differs(&run, 2, "fp8 instead of bf16, pipeline 8 instead of 4, and 2 more");
    run.frozen = true;
    run.software = "fsdp";
    assert_differs(
        &run, 3,
        "LoRA instead of full training, fp8 instead of bf16, fsdp instead of megatron-core, and 3 more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_that_stand_in_the_table_are_not_extrapolated),
        cmocka_unit_test(plans_like_no_run_are_extrapolated),
        cmocka_unit_test(kind_size_generation_and_devices_make_runs_similar),
        cmocka_unit_test(the_model_counts_before_the_device),
        cmocka_unit_test(differences_are_those_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
