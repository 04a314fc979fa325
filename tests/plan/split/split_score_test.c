/* check-plan of training jobs: whatever a plan chose, the optimum beside it is that of `plan` for the same question, a job that
 * can exist, and a plan that can be read. */
#include "devices/tables.h"
#include "plan/score/score.h"
#include "plan/split/plan.h"
#include "plan/split/rule.h"

#include "support/jobs.h"
#include "support/sanitizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CASES (SEARCH_STEP > 1 ? 40 : 160)

static uint64_t seed;

static int pick(int count)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)count);
}

static void give(struct job_question *question, int dimension, int64_t min, int64_t max)
{
    question->ranges[dimension] = (struct job_range){min, max, true};
}

static struct job_question make_question(void)
{
    static const char *const models[] = {"gpt2", "llama-3-8b", "mixtral-8x7b", "deepseek-v2-lite",
                                         "gpt-oss-20b"};
    struct job_question question = {.job = job_example(), .headroom = 0.05};
    question.job.model = architecture_find(models[pick(5)]);
    question.job.software = software_at(pick(software_count(false)));
    question.job.sequence = question.job.model->positions > 0 ? 1024 : 1024 << pick(3);
    question.job.devices = 8 * (1 + pick(6));
    question.job.batch = 64 << pick(4);
    if (software_supports(question.job.software, TECHNIQUE_MOMENTS) && pick(4) == 0)
        question.job.technique.moments = FORMAT_BF16;
    return question;
}

/* What --fix may give, and a search then obeys. */
static void fix_something(struct job_question *question)
{
    const struct software *software = question->job.software;
    switch (pick(8)) {
    case 0:
        give(question, JOB_PIPELINE, 2 + pick(3), 4);
        break;
    case 1:
        give(question, JOB_RECOMPUTE, RECOMPUTE_FULL, RECOMPUTE_FULL);
        break;
    case 2:
        give(question, JOB_MICROBATCH, 1 << pick(4), 16);
        break;
    case 3:
        give(question, JOB_SHARDING, 3, 3);
        if (software_supports(software, TECHNIQUE_REPLICATE))
            give(question, JOB_TECHNIQUE + TECHNIQUE_REPLICATE, 2, 2);
        break;
    case 4:
        if (software_supports(software, TECHNIQUE_OFFLOAD))
            give(question, JOB_TECHNIQUE + TECHNIQUE_OFFLOAD, 30, 30);
        break;
    case 5:
        if (software_supports(software, TECHNIQUE_OFFLOAD_ACTIVATIONS))
            give(question, JOB_TECHNIQUE + TECHNIQUE_OFFLOAD_ACTIVATIONS, 2, 2);
        break;
    default:
        for (int s = SCHEDULE_ZB_H1; s <= SCHEDULE_LAST; s++)
            if ((software->schedules >> s & 1) && pick(2)) {
                give(question, JOB_TECHNIQUE + TECHNIQUE_SCHEDULE, s, s);
                give(question, JOB_PIPELINE, 2, 4);
            }
    }
}

static bool found(const struct job_question *question, struct job_search *search)
{
    struct error err;
    if (job_search(search, question, &(struct job_search_options){.top = 1}, &err))
        return true;
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    return false;
}

/* The optimum of a plan is again a plan: it can exist, and is the optimum of itself. */
static void check_optimum(int at, struct plan *best, double seconds)
{
    const struct score_options options = {.headroom = NAN};
    struct job job;
    struct error err;
    struct score again;
    if (!job_remake(&job, best, &options.parts, &err) || !job_check(&job, &err))
        fail_msg("case %d: the optimum is none: %s", at, err.text);
    best->path = "optimum";
    if (!score_plan(&again, best, &options, &err))
        fail_msg("case %d: the optimum is refused: %s", at, err.text);
    if (fabs(again.plan.iteration_time / seconds - 1.0) > 1e-9 || fabs(score_excess(&again)) > 1e-9)
        fail_msg("case %d: the optimum takes %.9g s, and %.9g s when it is read", at, seconds,
                 again.plan.iteration_time);
    score_release(&again);
}

static void the_optimum_is_that_of_plan(void **state)
{
    int timed = 0, offloaded = 0, copied = 0, worse = 0, all = 0;
    (void)state;
    for (int i = 0; i < CASES; i++) {
        seed = (uint64_t)i * 7919 + 3;
        struct job_question free = make_question(), fixed = free;
        struct job_search search, own;
        struct plan plan;
        struct score score;
        struct error err;
        fix_something(&fixed);
        if (!found(&fixed, &search))
            continue;
        plan_init(&plan);
        const struct job_answer answer = {.question = &fixed, .search = &search};
        if (!plan_of_job(&plan, &answer, &err))
            fail_msg("%s", err.text);
        plan.path = "plan";
        plan.objective = "iteration";
        const struct technique *technique = &search.plans[0].job.technique;
        const enum technique_kind host[] = {TECHNIQUE_OFFLOAD, TECHNIQUE_OFFLOAD_ACTIVATIONS};
        for (int k = 0; k < 2; k++)
            if (technique_get(technique, host[k]) > 0)
                give(&free, JOB_TECHNIQUE + (int)host[k], 0, technique_max(host[k]));
        if (!score_plan(&score, &plan, &(struct score_options){.headroom = NAN}, &err))
            fail_msg("case %d: %s", i, err.text);
        assert_true(found(&free, &own)); /* the plan itself is one */
        if (score.best.pipeline_count == 0 ||
            fabs(score.best.iteration_time / own.plans[0].time.seconds - 1.0) > 1e-9)
            fail_msg("case %d, %s of %s: check-plan finds %.9g s, plan %.9g s", i, free.job.software->name,
                     free.job.model->name, score.best.iteration_time, own.plans[0].time.seconds);
        assert_true(score_excess(&score) > -1e-9);
        check_optimum(i, &score.best, own.plans[0].time.seconds);
        timed += job_is_timed(&search.plans[0].job);
        offloaded += technique->offload > 0 || technique->offload_activations > 0;
        copied += technique->replicate > 1;
        worse += score_excess(&score) > 1e-6;
        all++;
        job_search_release(&own);
        job_search_release(&search);
        score_release(&score);
        plan_release(&plan);
    }
    int least = CASES / 50; /* of each kind */
    if (all < CASES / 2 || timed < least || offloaded < least || copied < least || worse < CASES / 8)
        fail_msg("%d plans, %d timed, %d offloaded, %d copied, %d worse", all, timed, offloaded, copied,
                 worse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_optimum_is_that_of_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
