/* A question with values to choose from is answered like the best of the questions that fix them. */
#include "plan/split/search.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int moments[] = {FORMAT_FP32, FORMAT_BF16, FORMAT_FP8}, gradients[] = {FORMAT_FP32, FORMAT_BF16};

static unsigned set_of(const int *values, size_t count)
{
    unsigned set = 0;
    for (size_t i = 0; i < count; i++)
        set |= 1u << values[i];
    return set;
}

static void fix(struct job_question *question, enum technique_kind kind, int value)
{
    question->ranges[JOB_TECHNIQUE + kind] = (struct job_range){value, value, true};
}

/* Llama 3 8B on devices with so much memory. */
static struct job_question question_of(struct cost_device *device, double memory)
{
    struct job_question question = {.job = job_example(), .headroom = 0.0};
    question.job.model = architecture_find("llama-3-8b");
    question.job.devices = 16;
    question.job.batch = 32;
    question.job.sequence = 4096;
    *device = *question.job.device;
    device->memory = (int64_t)(memory * 0x1p30);
    question.job.device = device;
    question.choices[TECHNIQUE_MOMENTS] = set_of(moments, 3);
    question.choices[TECHNIQUE_GRADIENTS] = set_of(gradients, 2);
    return question;
}

/* The best value of all combinations, each searched by itself. */
static double one_by_one(const struct job_question *question, const struct job_search_options *options)
{
    double best = INFINITY;
    for (int m = 0; m < 3; m++)
        for (int g = 0; g < 2; g++) {
            struct job_question one = *question;
            struct job_search search;
            struct error err;
            one.choices[TECHNIQUE_MOMENTS] = one.choices[TECHNIQUE_GRADIENTS] = 0;
            fix(&one, TECHNIQUE_MOMENTS, moments[m]);
            fix(&one, TECHNIQUE_GRADIENTS, gradients[g]);
            if (!job_search(&search, &one, options, &err))
                continue;
            const struct job_choice *plan = &search.plans[0];
            best = fmin(best, plan->time.seconds * (options->within > 0.0 ? plan->job.devices : 1));
            job_search_release(&search);
        }
    return best;
}

static void the_best_of_all_combinations_is_found(void **state)
{
    (void)state;
    static const struct job_search_options ways[] = {{.top = 1}, {.top = 4}, {.top = 1, .within = 10.0}};
    int fits = 0, narrow = 0;
    for (double memory = 6.0; memory < 81.0; memory *= 1.6)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            struct cost_device device;
            struct job_question question = question_of(&device, memory);
            struct job_search search;
            struct error err;
            double best = one_by_one(&question, &ways[w]);
            assert_int_equal(job_search(&search, &question, &ways[w], &err), isfinite(best));
            if (!isfinite(best))
                continue;
            const struct job_choice *plan = &search.plans[0];
            double value = plan->time.seconds * (ways[w].within > 0.0 ? plan->job.devices : 1);
            assert_true(fabs(value / best - 1.0) < 1e-12);
            assert_true(search.complete && fabs(search.lower_bound / best - 1.0) < 1e-12);
            for (int i = 1; i < search.plan_count; i++)
                assert_true(search.plans[i - 1].time.seconds <= search.plans[i].time.seconds);
            fits++;
            narrow += plan->job.technique.moments != FORMAT_FP32;
            job_search_release(&search);
        }
    assert_true(fits >= 9 && narrow > 0);
}

static void too_many_combinations_are_refused(void **state)
{
    (void)state;
    static const enum technique_kind kinds[] = {TECHNIQUE_MASTER, TECHNIQUE_MOMENTS, TECHNIQUE_PARAMETERS,
                                                TECHNIQUE_ACTIVATIONS};
    struct cost_device device;
    struct job_question question = question_of(&device, 80.0);
    struct job_search search;
    struct error err;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        question.choices[kinds[i]] = 0x3e;
    assert_false(job_search(&search, &question, &(struct job_search_options){.top = 1}, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_string_equal(err.text, "--fix: 1250 combinations to choose from, expected at most 256");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_all_combinations_is_found),
        cmocka_unit_test(too_many_combinations_are_refused),
    };
    return cmocka_run_group_tests_name("plan/split/choices", tests, NULL, NULL);
}
