/* Pipelines that a plan gives: their shares of the batch against a slow twin, and what is refused. */
#include "plan/fleet/small.h"

#include <stdio.h>

#define KINDS 3

struct given_case {
    struct small small;
    struct small_list list;
    struct fleet_maker maker;
    struct plan plan;
    struct fleet_given given;
};

static void add_stages(struct given_case *c, int kind, const struct fleet_pipeline *from, int copies,
                       int64_t microbatches)
{
    struct plan_pipeline *to = &c->plan.pipelines[kind];
    struct error err;
    assert_true(plan_add_stages(&c->plan, to, from->stage_count, &err));
    to->copies = copies;
    to->microbatches = microbatches;
    for (int s = 0; s < from->stage_count; s++) {
        const struct fleet_option *option = &c->small.problem.options[from->stages[s].option];
        to->stages[s].layers.first = from->stages[s].first;
        to->stages[s].layers.last = from->stages[s].last - 1;
        to->stages[s].type = option->type;
        to->stages[s].degrees.tensor = option->tensor;
    }
}

/* A plan of `kinds` random pipelines of a random problem without limits. False: it has no pipeline. */
static bool make_case(struct given_case *c, uint64_t seed, int kinds, int64_t microbatches)
{
    struct random_source source = {seed + 500};
    struct error err;
    *c = (struct given_case){.maker = {&c->small, small_spread, 0.0}};
    make_small(&c->small, seed);
    c->small.problem.microbatches = microbatches;
    small_pipelines(&c->list, &c->small.problem);
    plan_init(&c->plan);
    assert_true(plan_add_types(&c->plan, c->small.problem.type_count, &err));
    assert_true(plan_add_pipelines(&c->plan, kinds, &err));
    for (int t = 0; t < c->small.problem.type_count; t++) {
        c->plan.types[t].name = "device";
        c->given.type_of[t] = t;
    }
    c->given.plan = &c->plan;
    for (int k = 0; k < kinds && c->list.count > 0; k++)
        add_stages(c, k, &c->list.all[random_range(&source, 0, c->list.count - 1)],
                   random_range(&source, 1, 3), 0);
    return c->list.count > 0;
}

static void end_case(struct given_case *c)
{
    plan_release(&c->plan);
    small_release(&c->list);
}

static bool take(struct given_case *c, struct fleet_choice *choice, struct fleet_problem *problem,
                 struct error *err)
{
    return fleet_take_given(choice, problem, &c->maker, &c->given, err);
}

/* Each micro-batch goes to the copy that completes it first: optimal for equal tasks. */
static double slowest_copy(const struct fleet_choice *choice, int64_t microbatches)
{
    int64_t own[KINDS][3] = {{0}};
    double last = 0.0;
    for (int64_t m = 0; m < microbatches; m++) {
        int kind = 0, copy = 0;
        double first = INFINITY;
        for (int k = 0; k < choice->pipeline_count; k++)
            for (int i = 0; i < choice->pipelines[k].copies; i++) {
                double done = choice->pipelines[k].fill + (double)own[k][i] * choice->pipelines[k].cycle;
                if (done < first) {
                    first = done;
                    kind = k;
                    copy = i;
                }
            }
        own[kind][copy]++;
        last = fmax(last, first);
    }
    return last;
}

static bool same_stages(const struct fleet_pipeline *a, const struct fleet_pipeline *b)
{
    return a->stage_count == b->stage_count &&
           memcmp(a->stages, b->stages, (size_t)a->stage_count * sizeof *a->stages) == 0;
}

/* The seconds afterwards of pipelines with as many that are alike as the plan has, in all its entries. */
static double slowest_update(const struct given_case *c, const struct fleet_choice *choice)
{
    int pipelines = 0;
    double slowest = 0.0;
    for (int k = 0; k < choice->pipeline_count; k++)
        pipelines += choice->pipelines[k].copies;
    for (int k = 0; k < choice->pipeline_count; k++) {
        struct fleet_spread spread = {pipelines, pipelines, 0, 0, 1};
        for (int j = 0; j < choice->pipeline_count; j++)
            if (same_stages(&choice->pipelines[j], &choice->pipelines[k]))
                spread.alike += choice->pipelines[j].copies;
        for (int i = 0; i < choice->pipelines[k].stage_count; i++) {
            const struct fleet_stage *stage = &choice->pipelines[k].stages[i];
            const double *after = c->small.after[stage->option];
            double own = (after[stage->last] - after[stage->first]) *
                         small_share(&spread, c->small.problem.options[stage->option].tensor);
            assert_true(SMALL_SAME(choice->pipelines[k].gradients[i], 0.75 * own));
            slowest = fmax(slowest, own);
        }
    }
    return slowest;
}

static void shares_end_as_early_as_can_be(void **state)
{
    (void)state;
    int taken = 0;
    for (int i = 0; i < 400; i++) {
        struct given_case c;
        struct fleet_choice choice;
        struct fleet_problem problem;
        struct error err;
        int64_t microbatches = i % 40 + 1, sum = 0;
        if (make_case(&c, (uint64_t)i + 1, i % KINDS + 1, microbatches)) {
            if (!take(&c, &choice, &problem, &err))
                fail_msg("case %d: %s", i, err.text);
            double after = slowest_update(&c, &choice);
            for (int k = 0; k < choice.pipeline_count; k++)
                sum += choice.pipelines[k].microbatches;
            assert_int_equal(sum, microbatches);
            assert_true(SMALL_SAME(choice.after, after));
            assert_true(SMALL_SAME(choice.seconds, slowest_copy(&choice, microbatches) + after));
            assert_true(choice.lower_bound == 0.0);
            fleet_choice_release(&choice);
            taken++;
        }
        end_case(&c);
    }
    assert_true(taken > 200);
}

/* Two equal pipelines; copies may round their share up, as in version 1 of a plan. */
static void given_shares_are_kept(void **state)
{
    (void)state;
    static const struct {
        int64_t first, second; /* of each copy */
        int copies;
        bool fits; /* 12 micro-batches */
    } cases[] = {{6, 6, 1, true}, {8, 4, 1, true},  {4, 4, 2, true},  {5, 4, 2, true},
                 {5, 3, 2, true}, {5, 5, 2, false}, {4, 3, 2, false}, {6, 5, 1, false},
                 {7, 6, 1, true}, {7, 7, 1, false}, {0, 4, 1, true},  {1, 11, 1, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct given_case c;
        struct fleet_choice choice;
        struct fleet_problem problem;
        struct error err;
        assert_true(make_case(&c, 1, 2, 12));
        for (int k = 0; k < 2; k++) {
            struct plan_pipeline *to = &c.plan.pipelines[k];
            add_stages(&c, k, &c.list.all[0], k == 0 ? cases[i].copies : 1,
                       k == 0 ? cases[i].first : cases[i].second);
            assert_int_equal(to->stage_count, c.list.all[0].stage_count);
        }
        bool done = take(&c, &choice, &problem, &err);
        assert_int_equal(done, cases[i].fits);
        if (done && cases[i].first > 0) {
            int64_t longest = cases[i].first > cases[i].second ? cases[i].first : cases[i].second;
            assert_int_equal(choice.pipelines[0].microbatches, cases[i].first * cases[i].copies);
            assert_int_equal(choice.pipelines[1].microbatches, cases[i].second);
            assert_true(SMALL_SAME(choice.seconds, choice.pipelines[0].fill +
                                                       (double)(longest - 1) * choice.pipelines[0].cycle +
                                                       choice.after));
        }
        if (done)
            fleet_choice_release(&choice);
        else
            assert_non_null(strstr(err.text, "micro-batches, the global batch has 12"));
        end_case(&c);
    }
}

static void is_refused(struct given_case *c, const char *message)
{
    struct fleet_choice choice;
    struct fleet_problem problem;
    struct error err;
    assert_false(take(c, &choice, &problem, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    if (!strstr(err.text, message))
        fail_msg("'%s' is not in '%s'", message, err.text);
    assert_null(choice.pipelines);
}

static void stages_that_no_option_runs_are_refused(void **state)
{
    (void)state;
    struct given_case c;
    assert_true(make_case(&c, 1, 1, 4));
    struct plan_stage *stage = &c.plan.pipelines[0].stages[0];
    int tensor = stage->degrees.tensor, last = c.plan.pipelines[0].stage_count - 1;
    int *degrees[] = {&stage->degrees.context, &stage->degrees.expert, &stage->degrees.data, &c.plan.chunks};
    for (int i = 0; i < 4; i++) {
        *degrees[i] = 2;
        is_refused(&c,
                   "pipelines[0].stages[0]: pipelines over mixed devices support only tensor parallelism");
        *degrees[i] = 1;
    }
    stage->degrees.tensor = 3;
    is_refused(
        &c, "pipelines[0].stages[0]: tensor parallel 3 does not divide the model, or the nodes of 'device'");
    stage->degrees.tensor = tensor;
    c.plan.path = "plan.json";
    c.plan.pipelines[0].stages[last].layers.last++;
    is_refused(&c, "plan.json: pipelines[0].stages[");
    char message[160];
    snprintf(message, sizeof message, "stages[%d]: ends with layer %d, the last layer of the model is %d",
             last, c.small.problem.layer_count, c.small.problem.layer_count - 1);
    is_refused(&c, message);
    end_case(&c);
}

static void pipelines_of_too_many_stages_are_refused(void **state)
{
    (void)state;
    struct given_case c;
    struct error err;
    assert_true(make_case(&c, 1, 1, 4));
    assert_true(plan_add_stages(&c.plan, &c.plan.pipelines[0], c.small.problem.layer_count + 1, &err));
    is_refused(&c, "]: there are more stages than layers");
    end_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_end_as_early_as_can_be),
        cmocka_unit_test(given_shares_are_kept),
        cmocka_unit_test(stages_that_no_option_runs_are_refused),
        cmocka_unit_test(pipelines_of_too_many_stages_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
