#include "plan/split/rule.h"

#include "plan/split/advice/advice.h"

#include "support/jobs.h"
#include "support/sanitizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct error err;

static struct job_question ask(const char *model, const char *software, int devices, int64_t batch)
{
    struct job_question question = {.job = job_example(), .headroom = -1000.0}; /* everything fits */
    question.job.model = architecture_find(model);
    question.job.software = software_find(software);
    question.job.sequence = question.job.model->sequence;
    question.job.devices = devices;
    question.job.batch = batch;
    return question;
}

static void give(struct job_question *question, enum job_dimension dimension, int64_t min, int64_t max)
{
    question->ranges[dimension] = (struct job_range){min, max, true};
}

static bool answered(const struct job_question *question, struct job_search *search)
{
    bool ok = job_search(search, question, &(struct job_search_options){.top = 1}, &err);
    if (!ok)
        assert_int_equal(err.kind, ERROR_INFEASIBLE);
    return ok;
}

/* A value of one dimension alone is answered just where no rule forbids it: nothing else is in the way on as many devices
 * as the model has blocks, heads and experts. */
static void rules_say_which_questions_have_an_answer(void **state)
{
    static const enum job_dimension dimensions[] = {JOB_TENSOR, JOB_PIPELINE,   JOB_DATA,    JOB_CONTEXT,
                                                    JOB_EXPERT, JOB_MICROBATCH, JOB_SHARDING};
    static const char *const models[] = {"llama-3-8b", "mixtral-8x7b"};
    static const char *const softwares[] = {"megatron-core", "fsdp", "torchtitan", "megatron-2021"};
    static const int64_t values[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 33, 64, 65};
    int broken = 0, kept = 0;
    (void)state;
    for (size_t m = 0; m < 2; m++)
        for (size_t s = 0; s < 4; s++)
            for (size_t d = 0; d < sizeof dimensions / sizeof *dimensions; d++)
                for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                    struct job_question question = ask(models[m], softwares[s], 64, 64);
                    struct job_search search;
                    if (dimensions[d] == JOB_SHARDING && values[v] > 3)
                        continue;
                    give(&question, dimensions[d], values[v], values[v]);
                    bool allowed = !job_rule_of(&question, dimensions[d], values[v]);
                    bool ok = answered(&question, &search);
                    if (allowed != ok)
                        fail_msg("%s, %s, %s=%d: %s: %s", models[m], softwares[s],
                                 job_dimension_name(dimensions[d]), (int)values[v],
                                 allowed ? "allowed" : "forbidden", ok ? "answered" : err.text);
                    allowed ? kept++ : broken++;
                    if (ok)
                        job_search_release(&search);
                }
    assert_true(kept > 100 && broken > 100);
}

/* Transformer Engine has no factors of rows; with torchao they take longer than one factor for a tensor. */
static void factors_of_rows_are_torchtitans(void **state)
{
    (void)state;
    struct job_search search;
    struct job_question question = ask("llama-3-8b", "megatron-core", 8, 64);
    question.job.type = COST_FP8;
    give(&question, JOB_TECHNIQUE + TECHNIQUE_RECIPE, RECIPE_ROWWISE, RECIPE_ROWWISE);
    assert_false(answered(&question, &search));
    assert_string_equal(err.text, "'megatron-core' has no rowwise");
    double seconds[2];
    for (int rows = 0; rows < 2; rows++) {
        int recipe = rows ? RECIPE_ROWWISE : RECIPE_TENSORWISE;
        question.job.software = software_find("torchtitan");
        give(&question, JOB_TECHNIQUE + TECHNIQUE_RECIPE, recipe, recipe);
        assert_true(answered(&question, &search));
        seconds[rows] = search.plans[0].time.seconds;
        job_search_release(&search);
    }
    assert_true(seconds[1] > 1.2 * seconds[0]);
}

static void advised(const struct job_question *question, const char *expected)
{
    struct job_search search;
    assert_false(answered(question, &search));
    job_advise(question, NULL, &err);
    if (!strstr(err.text, expected))
        fail_msg("'%s' is not in '%s'", expected, err.text);
}

static void a_broken_rule_is_told_with_its_nearest_values(void **state)
{
    struct job_question question;
    (void)state;
    question = ask("llama-3-8b", "megatron-core", 64, 64);
    give(&question, JOB_TENSOR, 3, 3);
    advised(&question, "tp=3: the 32 heads of 'llama-3-8b' are not a multiple of 3; nearest: tp=2 or tp=4");
    question = ask("llama-3-8b", "fsdp", 64, 64);
    give(&question, JOB_PIPELINE, 2, 4);
    advised(&question, "pp=2: fsdp has no pipelines (");
    question = ask("llama-3-8b", "megatron-2021", 64, 64);
    give(&question, JOB_SHARDING, 3, 3);
    advised(&question, "zero=3: megatron-2021 has no ZeRO stage 3 (");
    question = ask("llama-3-8b", "megatron-core", 64, 64);
    give(&question, JOB_EXPERT, 2, 2);
    advised(&question, "ep=2: 'llama-3-8b' has no experts; nearest: ep=1");
}

/* The remedies that are told are: with each of them alone there is a plan. */
static void a_told_remedy_helps(void **state)
{
    struct job_question question = ask("llama-3-70b", "megatron-2021", 64, 64);
    struct job_search search;
    (void)state;
    question.headroom = 0.05;
    give(&question, JOB_TENSOR, 1, 1);
    give(&question, JOB_PIPELINE, 1, 1);
    advised(&question, "; there is a plan with ");
    static const enum job_dimension opened[] = {JOB_TENSOR, JOB_PIPELINE};
    for (int i = 0; i < 2; i++) {
        struct job_question open = question;
        char name[16];
        open.ranges[opened[i]].given = false;
        snprintf(name, sizeof name, "%s=", job_dimension_name(opened[i]));
        bool ok = job_search(&search, &open, &(struct job_search_options){.top = 1}, &(struct error){0});
        assert_int_equal(ok, strstr(err.text, name) != NULL);
        if (ok)
            job_search_release(&search);
    }
    question = ask("llama-3-70b", "megatron-2021", 8, 64);
    question.headroom = 0.05;
    advised(&question, "; there is a plan on ");
    sscanf(strstr(err.text, "there is a plan on "), "there is a plan on %d", &question.job.devices);
    assert_in_range(question.job.devices, 16, 64);
    assert_true(answered(&question, &search));
    job_search_release(&search);
    question.job.devices /= 2;
    assert_false(answered(&question, &search));
}

static uint64_t seed = 1;

static int pick(int count)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)count);
}

/* Whatever value is refused, each value that is named as the nearest is one with a plan. */
static void a_nearest_value_is_allowed(void **state)
{
    static const enum job_dimension dimensions[] = {JOB_TENSOR, JOB_PIPELINE,   JOB_DATA,     JOB_CONTEXT,
                                                    JOB_EXPERT, JOB_MICROBATCH, JOB_SHARDING, JOB_CHUNKS};
    static const char *const models[] = {"llama-3-8b", "mixtral-8x7b", "gpt2-xl", "falcon-7b",
                                         "deepseek-v2-lite"};
    int refused = 0, named = 0;
    (void)state;
    for (int i = 0; i < 150; i++) {
        struct job_question question =
            ask(models[pick(5)], software_at(pick(software_count(true)))->name, 8 << pick(4), 24 << pick(4));
        enum job_dimension dimension = dimensions[pick(8)];
        int64_t value = dimension == JOB_SHARDING ? pick(4) : 1 + pick(pick(2) ? 16 : 3000);
        struct job_search search;
        give(&question, dimension, value, value);
        if (answered(&question, &search)) {
            job_search_release(&search);
            continue;
        }
        refused++;
        job_advise(&question, NULL, &err);
        const char *at = strstr(err.text, "nearest: "), *end = at ? strchr(at + 9, ';') : NULL;
        const char *name = job_dimension_name(dimension);
        while (at && (at = strstr(at, name)) && (!end || at < end)) {
            long long near;
            at += strlen(name);
            if (sscanf(at, "=%lld", &near) != 1)
                continue;
            give(&question, dimension, near, near);
            if (!answered(&question, &search))
                fail_msg("case %d: %s=%lld for %s of %s, %s: %s", i, name, near, question.job.model->name,
                         question.job.software->name, name, err.text);
            job_search_release(&search);
            named++;
            break; /* err.text was replaced */
        }
    }
    assert_true(refused > 60 && named > refused * 9 / 10);
}

/* The changes that make a job fit do: each of some random jobs that do not fit has a plan with the first one named. */
static void a_job_that_does_not_fit_does_with_the_named_change(void **state)
{
    static const char *const models[] = {"llama-3-70b", "mixtral-8x22b", "llama-3.1-405b"};
    int devices = 0, values = 0, shares = 0;
    (void)state;
    for (int i = 0; i < (SEARCH_STEP > 1 ? 16 : 60); i++) {
        bool narrow = i % 4 == 0;  /* as one device that holds everything: a degree helps */
        bool offload = i % 4 == 2; /* software that can move states away */
        struct job_question question = ask(models[pick(3)],
                                           narrow    ? "megatron-2021"
                                           : offload ? "megatron-core"
                                                     : software_at(pick(software_count(true)))->name,
                                           narrow ? 64 : 1 << pick(7), 256);
        struct job_search search;
        char first[sizeof err.text];
        long long value;
        question.headroom = 0.05;
        question.job.sequence = 4096;
        int tensor = narrow ? 1 : 1 << pick(4);
        if (tensor <= 2)
            give(&question, JOB_TENSOR, tensor, tensor);
        if (narrow)
            give(&question, JOB_PIPELINE, 1, 1);
        if (answered(&question, &search)) {
            job_search_release(&search);
            continue;
        }
        job_advise(&question, NULL, &err);
        snprintf(first, sizeof first, "%s", err.text);
        const char *change = strstr(first, "; there is a plan ");
        if (change && sscanf(change, "; there is a plan on %lld devices", &value) == 1) {
            int node = question.job.devices_per_node, unit = value > node ? node : 1;
            question.job.devices = (int)value;
            assert_true(answered(&question, &search));
            job_search_release(&search);
            question.job.devices -= unit;
            assert_false(answered(&question, &search));
            devices++;
        } else if (change && sscanf(change, "; there is a plan with --fix offload=%lld", &value) == 1) {
            give(&question, JOB_TECHNIQUE + TECHNIQUE_OFFLOAD, value, value);
            assert_true(answered(&question, &search));
            job_search_release(&search);
            shares++;
        } else if (change && (change = strstr(change, " tp="))) {
            assert_int_equal(sscanf(change, " tp=%lld", &value), 1);
            give(&question, JOB_TENSOR, value, value);
            assert_true(answered(&question, &search));
            job_search_release(&search);
            values++;
        }
    }
    assert_true(devices + shares > 0 && (SEARCH_STEP > 1 || (devices > 3 && values > 0 && shares > 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_say_which_questions_have_an_answer),
        cmocka_unit_test(factors_of_rows_are_torchtitans),
        cmocka_unit_test(a_broken_rule_is_told_with_its_nearest_values),
        cmocka_unit_test(a_told_remedy_helps),
        cmocka_unit_test(a_nearest_value_is_allowed),
        cmocka_unit_test(a_job_that_does_not_fit_does_with_the_named_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
