#include "devices/tables.h"
#include "plan/split/plan.h"

#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A question, and what was found for it. */
struct found {
    struct job_question question;
    struct job_search search;
    struct job_sensitivity sensitivity[JOB_RESOURCES];
};

static void find(struct found *found, const char *model, int devices, int top)
{
    struct error err;
    found->question = (struct job_question){.job = job_example(), .headroom = 0.05};
    found->question.job.model = architecture_find(model);
    found->question.job.devices = devices;
    found->question.job.batch = 128;
    if (!job_search(&found->search, &found->question, &(struct job_search_options){.top = top}, &err) ||
        !job_sensitivity(found->sensitivity, &found->question, &found->search.plans[0], 0.1, NULL, &err))
        fail_msg("%s", err.text);
}

/* ---- more of a resource ---- */

static void resources_have_names_of_their_own(void **state)
{
    (void)state;
    for (int a = 0; a < JOB_RESOURCES; a++) {
        assert_true(*job_resource_name((enum job_resource)a) != '\0');
        for (int b = 0; b < a; b++)
            assert_string_not_equal(job_resource_name((enum job_resource)a),
                                    job_resource_name((enum job_resource)b));
    }
}

static void more_is_never_slower(void **state)
{
    (void)state;
    static const int devices[] = {8, 16, 72};
    for (int i = 0; i < 3; i++) {
        struct found found;
        find(&found, "llama-3-8b", devices[i], 1);
        for (int r = 0; r < JOB_RESOURCES; r++) {
            assert_true(found.sensitivity[r].seconds <= found.search.plans[0].time.seconds);
            assert_true(found.sensitivity[r].seconds > 0.5 * found.search.plans[0].time.seconds);
        }
        job_search_release(&found.search);
    }
}

static void matrix_units_help_most_and_at_most_by_as_much_as_there_are_more(void **state)
{
    (void)state;
    struct found found;
    find(&found, "llama-3-8b", 8, 1);
    double now = found.search.plans[0].time.seconds;
    double then = found.sensitivity[JOB_MORE_COMPUTE].seconds;
    assert_true(then < 0.97 * now);
    assert_true(then >= now / 1.1);
    assert_true(then < found.sensitivity[JOB_MORE_BANDWIDTH].seconds);
    assert_true(found.sensitivity[JOB_MORE_ACROSS].seconds == now); /* there is one node */
    job_search_release(&found.search);
}

static void devices_come_in_whole_nodes(void **state)
{
    (void)state;
    static const struct {
        int devices, more;
    } cases[] = {{8, 9}, {16, 24}, {72, 80}, {160, 176}, {168, 192}};
    for (int i = 0; i < 5; i++) {
        struct found found;
        find(&found, "llama-3-8b", cases[i].devices, 1);
        assert_int_equal(found.sensitivity[JOB_MORE_DEVICES].devices, cases[i].more);
        assert_int_equal(found.sensitivity[JOB_MORE_COMPUTE].devices, cases[i].devices);
        job_search_release(&found.search);
    }
}

static void all_memory_is_as_good_as_some(void **state)
{
    (void)state;
    struct found found;
    find(&found, "llama-3-70b", 16, 1); /* fits, but barely */
    const struct job_sensitivity *all = &found.sensitivity[JOB_ALL_MEMORY];
    assert_true(all->seconds < found.search.plans[0].time.seconds);
    assert_true(all->seconds <= found.sensitivity[JOB_MORE_MEMORY].seconds);
    assert_true(all->differs);
    job_search_release(&found.search);
}

/* ---- as a plan ---- */

static void make(struct plan *plan, const struct found *found, bool with_sensitivity)
{
    struct error err;
    const struct job_answer answer = {
        .question = &found->question,
        .search = &found->search,
        .sensitivity = with_sensitivity ? found->sensitivity : NULL,
        .more = 0.1,
    };
    plan_init(plan);
    if (!plan_of_job(plan, &answer, &err))
        fail_msg("%s", err.text);
    if (!plan_check(plan, &err))
        fail_msg("%s", err.text);
}

static void a_plan_says_what_was_asked(void **state)
{
    (void)state;
    struct found found;
    struct plan plan;
    find(&found, "llama-3-70b", 16, 1);
    make(&plan, &found, false);
    assert_string_equal(plan.objective, "iteration");
    assert_string_equal(plan.model, "llama-3-70b");
    assert_string_equal(plan.types[0].name, "h100-sxm");
    assert_string_equal(plan.links[plan.types[0].across].name, "ib-400g");
    assert_string_equal(plan.software, "megatron-core");
    assert_string_equal(plan.precision, "bf16");
    assert_int_equal(plan_devices(&plan), 16);
    assert_int_equal(plan.types[0].nodes.devices, 8);
    assert_int_equal(plan.global_batch, 128);
    assert_int_equal(plan.sequence, 4096);
    assert_true(plan.headroom == 0.05);
    assert_true(plan.lower_bound == plan.iteration_time && plan_gap(&plan) == 0.0);
    assert_true(plan.proven_optimal);
    assert_int_equal(plan.layer_count, 82);
    assert_int_equal(plan.sensitivity_count, 0);
    plan_release(&plan);
    job_search_release(&found.search);
}

static double sum_of(const struct plan_figure *parts, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += parts[i].value;
    return sum;
}

static void plans_and_alternatives_add_up(void **state)
{
    (void)state;
    struct found found;
    struct plan plan;
    find(&found, "llama-3-70b", 32, 8);
    make(&plan, &found, false);
    assert_int_equal(plan.alternative_count, 7);
    double before = plan.iteration_time;
    assert_true(fabs(sum_of(plan.parts, plan.part_count) / before - 1.0) < 1e-9);
    for (int i = 0; i < plan.alternative_count; i++) {
        const struct plan_alternative *a = &plan.alternatives[i];
        assert_true(a->iteration_time >= before);
        before = a->iteration_time;
        assert_int_equal(a->degrees.tensor * a->degrees.pipeline * a->degrees.data * a->degrees.context,
                         a->devices);
        assert_int_equal(a->microbatches * a->microbatch * a->degrees.data, 128);
        assert_true(fabs(sum_of(a->parts, a->part_count) / a->iteration_time - 1.0) < 1e-9);
        assert_true(a->utilisation > 0.0 && a->utilisation < 1.0);
        assert_non_null(a->recompute);
    }
    plan_release(&plan);
    job_search_release(&found.search);
}

/* The job that a plan was made of comes back from it, and all its stages' devices are there. */
static void a_plan_is_its_job(void **state)
{
    (void)state;
    static const char *const models[] = {"llama-3-8b", "llama-3-70b", "qwen3-32b"};
    for (int i = 0; i < 3; i++) {
        struct found found;
        struct plan plan;
        struct error err;
        find(&found, models[i], 64, 1);
        make(&plan, &found, false);
        struct job job = found.question.job;
        if (!job_of_plan(&job, &plan, &err))
            fail_msg("%s", err.text);
        const struct job *was = &found.search.plans[0].job;
        for (int d = 0; d < JOB_DIMENSIONS; d++)
            assert_int_equal(job_dimension_value(&job, d), job_dimension_value(was, d));
        assert_int_equal(job.devices, was->devices);
        assert_true(job_time(&job).seconds == plan.iteration_time);
        assert_true(job_memory(&job).total == plan.memory);
        assert_int_equal(plan_devices_used(&plan), was->devices);
        double fullest = 0.0;
        for (int s = 0; s < plan.pipelines[0].stage_count; s++)
            fullest = fmax(fullest, plan.pipelines[0].stages[s].bytes.total);
        assert_true(fabs(fullest / plan.memory - 1.0) < 1e-9);
        plan_release(&plan);
        job_search_release(&found.search);
    }
}

static void a_plan_lists_resources(void **state)
{
    (void)state;
    struct found found;
    struct plan plan;
    find(&found, "llama-3-8b", 16, 1);
    make(&plan, &found, true);
    assert_int_equal(plan.sensitivity_count, JOB_RESOURCES);
    for (int r = 0; r < JOB_RESOURCES; r++) {
        const struct plan_sensitivity *entry = &plan.sensitivity[r];
        assert_string_equal(entry->resource, job_resource_name((enum job_resource)r));
        assert_true(entry->iteration_time == found.sensitivity[r].seconds);
        assert_int_equal(entry->split_differs, found.sensitivity[r].differs);
        assert_int_equal(isnan(entry->more), r == JOB_ALL_MEMORY);
    }
    plan_release(&plan);
    job_search_release(&found.search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resources_have_names_of_their_own),
        cmocka_unit_test(more_is_never_slower),
        cmocka_unit_test(matrix_units_help_most_and_at_most_by_as_much_as_there_are_more),
        cmocka_unit_test(devices_come_in_whole_nodes),
        cmocka_unit_test(all_memory_is_as_good_as_some),
        cmocka_unit_test(a_plan_says_what_was_asked),
        cmocka_unit_test(plans_and_alternatives_add_up),
        cmocka_unit_test(a_plan_is_its_job),
        cmocka_unit_test(a_plan_lists_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
