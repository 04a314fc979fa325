/* The best plan of random jobs against its neighbours: with every dimension fixed to the value found, a search finds the same
 * time to the last bit; with one dimension fixed to another value, it finds nothing faster. */
#include "devices/tables.h"
#include "plan/split/search.h"
#include "support/jobs.h"
#include "support/random_problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define CASES 40

static uint64_t seed;

static int pick(int min, int max)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return min + (int)((seed >> 33) % (uint64_t)(max - min + 1));
}

static struct job_question make_question(void)
{
    static const char *const softwares[] = {
        "megatron-core", "torchtitan", "ideal", "fsdp", "megatron-2022", "hf-trainer", "megatron-core-2024"};
    static const char *const models[] = {"llama-3-8b", "llama-3-70b", "mixtral-8x7b", "deepseek-v2-lite",
                                         "gpt-oss-20b"};
    struct job_question question = {.job = job_example(), .headroom = 0.05};
    struct job *job = &question.job;
    job->model = architecture_find(models[pick(0, 4)]);
    job->software = software_find(softwares[pick(0, 6)]);
    assert_non_null(job->model);
    assert_non_null(job->software);
    job->devices = 1 << pick(3, 8);
    job->batch = job->devices * pick(1, 4);
    job->sequence = 2048 << pick(0, 2);
    return question;
}

static bool seconds_of(const struct job_question *question, double *seconds)
{
    struct job_search search;
    struct error err;
    if (!job_search(&search, question, &(struct job_search_options){.top = 1}, &err)) {
        assert_int_equal(err.kind, ERROR_INFEASIBLE);
        return false;
    }
    *seconds = search.plans[0].time.seconds;
    job_search_release(&search);
    return true;
}

/* All values of a word, and values near that of a number. */
static int others_of(enum job_dimension dimension, int64_t value, int64_t others[16])
{
    int count = 0, first = dimension >= JOB_SHARDING ? 0 : 1;
    int kind = (int)dimension - JOB_TECHNIQUE;
    if (kind == TECHNIQUE_IMBALANCE || kind == TECHNIQUE_RECIPE || kind == TECHNIQUE_TENSOR_OVERLAP ||
        (kind >= TECHNIQUE_OPTIMIZER && kind < TECHNIQUE_IMBALANCE) ||
        (kind >= TECHNIQUE_GRADIENTS && kind <= TECHNIQUE_ACTIVATIONS))
        return 0; /* not the search's to choose */
    if (job_dimension_is_number(dimension)) {
        const int64_t near[] = {value / 2, value - 1, value + 1, value * 2};
        for (int i = 0; i < 4; i++)
            if (near[i] >= first && near[i] != value)
                others[count++] = near[i];
        return count;
    }
    int last = kind >= 0 ? technique_max((enum technique_kind)kind) : RECOMPUTE_FULL;
    for (int64_t other = 0; other <= last && count < 16; other++)
        if (other != value)
            others[count++] = other;
    return count;
}

static void no_neighbour_is_faster(void **state)
{
    (void)state;
    int cases = random_cases(CASES), plans = 0, neighbours = 0;
    for (int i = 0; i < cases; i++) {
        seed = (uint64_t)i + 77;
        struct job_question question = make_question(), fixed = question;
        struct job_search search;
        struct error err;
        double seconds = 0.0;
        if (!job_search(&search, &question, &(struct job_search_options){.top = 1}, &err))
            continue;
        double best = search.plans[0].time.seconds;
        for (int d = 0; d < JOB_DIMENSIONS; d++) {
            int64_t value = job_dimension_value(&search.plans[0].job, (enum job_dimension)d);
            fixed.ranges[d] = (struct job_range){value, value, true};
        }
        if (!seconds_of(&fixed, &seconds) || seconds != best)
            fail_msg("case %d: %.17g s, but %.17g s with all of it fixed", i, best, seconds);
        plans++;
        for (int d = 0; d < JOB_DIMENSIONS; d++) {
            int64_t others[16];
            int count = others_of((enum job_dimension)d, fixed.ranges[d].min, others);
            for (int o = 0; o < count; o++) {
                struct job_question near = fixed;
                near.ranges[d].min = near.ranges[d].max = others[o];
                if (!seconds_of(&near, &seconds))
                    continue;
                neighbours++;
                if (seconds < best)
                    fail_msg("case %d: %.17g s, but %.17g s with %s=%d", i, best, seconds,
                             job_dimension_name((enum job_dimension)d), (int)others[o]);
            }
        }
        job_search_release(&search);
    }
    assert_true(plans > cases / 2);
    assert_true(neighbours > 3 * plans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_neighbour_is_faster),
    };
    return cmocka_run_group_tests_name("plan/split/neighbours", tests, NULL, NULL);
}
