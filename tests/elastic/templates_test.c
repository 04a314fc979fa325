/* Templates against the best plan of every mix of so many nodes. */
#include "elastic/templates.h"
#include "support/brute.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES 400

static const struct plan_search_options exact = {.method = SEARCH_EXACT};

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* The best plan of `left` nodes of the groups from g on, whatever is taken of those before. */
static double best_of_mixes(struct plan_problem *mix, const struct plan_problem *all, int g, int left)
{
    double best = INFINITY;
    if (g == all->group_count)
        return left == 0 ? brute_force(mix).time : INFINITY;
    for (int nodes = 0; nodes <= left && nodes <= all->groups[g].nodes.count; nodes++) {
        mix->groups[g].nodes.count = nodes;
        best = fmin(best, best_of_mixes(mix, all, g + 1, left - nodes));
    }
    return best;
}

/* The mix has as many nodes as the template, none that are not there, and its plan is a plan of it. */
static void check_template(const struct plan_template *template, const struct plan_problem *problem)
{
    struct pipeline again = template->plan;
    struct error err;
    assert_int_equal(plan_problem_nodes(&template->problem), template->nodes);
    for (int g = 0; g < problem->group_count; g++) {
        assert_in_range(template->problem.groups[g].nodes.count, 0, problem->groups[g].nodes.count);
        assert_ptr_equal(template->problem.groups[g].forward, problem->groups[g].forward);
    }
    assert_true(brute_contains(&template->problem, &template->plan));
    assert_true(pipeline_check(&template->problem, &template->plan, &err));
    assert_true(pipeline_score(&template->problem, &again, &err));
    assert_true(near(again.iteration_time, template->plan.iteration_time));
}

static void templates_are_the_best_of_all_mixes(void **state)
{
    (void)state;
    int cases = random_cases(CASES), found = 0, mixed = 0;
    for (int i = 0; i < cases; i++) {
        struct plan_problem problem;
        struct template_set set;
        struct error err;
        bool any = false;
        assert_true(random_problem_init(&problem, &random_tiny, (uint64_t)i));
        problem.objective = i % 2 ? OBJECTIVE_OOBLECK : OBJECTIVE_PIPELINE;
        int last = plan_problem_nodes(&problem), first = i % 3 ? 1 : last;
        bool made = templates_make(&set, &problem, first, last, &exact, &err);
        for (int n = first; n <= last; n++) {
            struct plan_problem mix = problem;
            double best = best_of_mixes(&mix, &problem, 0, n);
            any |= isfinite(best);
            if (!made)
                continue;
            const struct plan_template *template = &set.templates[n - first];
            assert_int_equal(template->nodes, n);
            assert_int_equal(template->feasible, isfinite(best));
            if (!template->feasible) {
                assert_int_equal(template->error.kind, ERROR_INFEASIBLE);
                assert_true(strlen(template->error.text) > 0);
                continue;
            }
            if (!near(template->plan.iteration_time, best))
                fail_msg("case %d, %d nodes: %.9g s, the best mix takes %.9g s", i, n,
                         template->plan.iteration_time, best);
            assert_true(template->plan.proven_optimal);
            assert_true(template->plan.lower_bound == template->plan.iteration_time);
            check_template(template, &problem);
            if (plan_may_idle(&problem) && n > first && template[-1].feasible)
                assert_true(template->plan.iteration_time <= template[-1].plan.iteration_time * (1.0 + 1e-9));
            found++;
            mixed += problem.group_count > 1 && n < last;
        }
        assert_int_equal(made, any);
        if (made) {
            assert_int_equal(set.count, last - first + 1);
            assert_true(set.planning_seconds > 0.0);
            templates_release(&set);
        } else {
            assert_int_equal(err.kind, ERROR_INFEASIBLE);
        }
        assert_int_equal(set.count, 0);
        assert_null(set.templates);
        plan_problem_release(&problem);
    }
    assert_true(found > cases && mixed > cases / 4);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    struct error err;
    struct parallel *pool = parallel_new(3, &err);
    assert_non_null(pool);
    for (int i = 0; i < 40; i++) {
        struct plan_problem problem;
        struct template_set one, many;
        assert_true(random_problem_init(&problem, &random_tiny, (uint64_t)i));
        struct plan_search_options options = exact;
        options.pool = pool;
        int last = plan_problem_nodes(&problem);
        bool made = templates_make(&one, &problem, 1, last, &exact, &err);
        assert_int_equal(templates_make(&many, &problem, 1, last, &options, &err), made);
        for (int k = 0; k < one.count; k++) {
            assert_int_equal(one.templates[k].nodes, many.templates[k].nodes);
            assert_true(one.templates[k].plan.iteration_time == many.templates[k].plan.iteration_time);
            for (int g = 0; g < problem.group_count; g++)
                assert_int_equal(one.templates[k].problem.groups[g].nodes.count,
                                 many.templates[k].problem.groups[g].nodes.count);
        }
        templates_release(&one);
        templates_release(&many);
        plan_problem_release(&problem);
    }
    parallel_free(pool);
}

/* Time that is up leaves a plan, or none, and a bound that holds. */
static void bounds_hold_when_time_is_up(void **state)
{
    (void)state;
    int found = 0;
    for (int i = 0; i < 6; i++) {
        struct plan_problem problem;
        struct template_set hasty, set;
        struct error err;
        struct plan_search_options options = exact;
        options.time_limit = 1e-9;
        assert_true(random_problem_init(&problem, &random_medium, (uint64_t)i + 3));
        int last = plan_problem_nodes(&problem);
        if (templates_make(&set, &problem, last - 1, last, &exact, &err)) {
            if (templates_make(&hasty, &problem, last - 1, last, &options, &err)) {
                for (int k = 0; k < set.count; k++)
                    if (hasty.templates[k].feasible) {
                        const struct pipeline *plan = &hasty.templates[k].plan;
                        double best = set.templates[k].plan.iteration_time;
                        found++;
                        assert_true(plan->iteration_time >= best * (1.0 - 1e-9));
                        assert_true(plan->lower_bound <= best * (1.0 + 1e-9));
                        if (plan->proven_optimal)
                            assert_true(near(plan->iteration_time, best));
                        if (k > 0 && plan_may_idle(&problem) && hasty.templates[k - 1].feasible)
                            assert_true(plan->iteration_time <=
                                        hasty.templates[k - 1].plan.iteration_time * (1.0 + 1e-9));
                    }
                templates_release(&hasty);
            }
            templates_release(&set);
        }
        plan_problem_release(&problem);
    }
    assert_true(found > 0);
}

/* ---- by hand ---- */

/* Two fast nodes and a slow one; two layers: of 1 and 2 s on the fast device, three times that on the slow one. */
static const double fast_forward[] = {0.25, 0.5}, fast_backward[] = {0.75, 1.5};
static const double slow_forward[] = {0.75, 1.5}, slow_backward[] = {2.25, 4.5};
static const int64_t bytes[] = {1000, 2000};

static struct plan_problem two_kinds(void)
{
    return (struct plan_problem){
        .layer_count = 2,
        .parameter_bytes = bytes,
        .activation_bytes = bytes,
        .group_count = 2,
        .groups = {{.device = "slow",
                    .nodes = {1, 1, 0},
                    .splits = 1,
                    .forward = slow_forward,
                    .backward = slow_backward},
                   {.device = "fast",
                    .nodes = {2, 1, 0},
                    .splits = 1,
                    .forward = fast_forward,
                    .backward = fast_backward}},
        .microbatches = 4,
        .objective = OBJECTIVE_PIPELINE,
    };
}

static void fewer_nodes_are_the_faster_ones(void **state)
{
    (void)state;
    struct plan_problem problem = two_kinds();
    struct template_set set;
    struct error err;
    assert_true(templates_make(&set, &problem, 1, 3, &exact, &err));
    assert_int_equal(set.count, 3);
    assert_true(near(set.templates[0].plan.iteration_time, 3.0 + 3 * 3.0));
    assert_int_equal(set.templates[0].problem.groups[0].nodes.count, 0);
    assert_int_equal(set.templates[0].problem.groups[1].nodes.count, 1);
    assert_true(near(set.templates[1].plan.iteration_time, 3.0 + 3 * 2.0));
    assert_int_equal(set.templates[1].problem.groups[1].nodes.count, 2);
    assert_true(near(set.templates[2].plan.iteration_time, 3.0 + 3 * 2.0)); /* the slow one is idle */
    templates_release(&set);
    problem.objective = OBJECTIVE_OOBLECK;
    assert_true(templates_make(&set, &problem, 1, 3, &exact, &err));
    assert_false(set.templates[2].feasible); /* three nodes, two layers, and none may be idle */
    assert_int_equal(set.templates[2].error.kind, ERROR_INFEASIBLE);
    templates_release(&set);
}

/* Three devices are not halved, of whatever kind: the reason given is that of the fastest kind, forward and backward together,
 * with all devices of a node. */
static void the_fastest_kinds_reason_is_given(void **state)
{
    (void)state;
    static const struct {
        double forward[3], backward[3];
        int devices[3];
        const char *reason;
    } cases[] = {
        {{2, 3, 1}, {3, 1, 4}, {3, 3, 3}, "'b'"}, /* 5, 4 and 5 s of a layer */
        {{1, 2, 3}, {1, 1, 1}, {3, 3, 3}, "'a'"},  {{3, 2, 1}, {1, 1, 1}, {3, 3, 3}, "'c'"},
        {{2, 2, 1}, {2, 2, 1}, {3, 12, 3}, "'b'"}, /* 4/3, 4/12 and 2/3 */
        {{1, 2, 1}, {1, 3, 3}, {3, 3, 3}, "'a'"},
    };
    static char names[3][2] = {"a", "b", "c"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_problem problem = two_kinds();
        struct template_set set;
        struct error err;
        problem.group_count = 3;
        problem.layer_count = 1;
        for (int g = 0; g < 3; g++)
            problem.groups[g] = (struct plan_group){.device = names[g],
                                                    .nodes = {1, cases[i].devices[g], 0},
                                                    .splits = 1,
                                                    .forward = &cases[i].forward[g],
                                                    .backward = &cases[i].backward[g]};
        assert_false(templates_make(&set, &problem, 1, 1, &exact, &err));
        assert_int_equal(err.kind, ERROR_INFEASIBLE);
        if (!strstr(err.text, cases[i].reason))
            fail_msg("case %zu: %s", i, err.text);
    }
}

/* Only what the plan allows: the fast node alone cannot hold the layers. */
static void a_mix_that_does_not_fit_is_passed_over(void **state)
{
    (void)state;
    struct plan_problem problem = two_kinds();
    struct template_set set;
    struct error err;
    problem.groups[1].nodes.memory = 20999; /* 7 x 3,000 bytes are needed */
    assert_true(templates_make(&set, &problem, 1, 1, &exact, &err));
    assert_true(near(set.templates[0].plan.iteration_time, 9.0 + 3 * 9.0));
    assert_int_equal(set.templates[0].problem.groups[0].nodes.count, 1);
    assert_true(set.templates[0].plan.proven_optimal);
    templates_release(&set);
    problem.groups[1].nodes.memory = 21000;
    assert_true(templates_make(&set, &problem, 1, 1, &exact, &err));
    assert_int_equal(set.templates[0].problem.groups[1].nodes.count, 1);
    templates_release(&set);
}

static void ranges_that_are_none_are_refused(void **state)
{
    (void)state;
    static const int ranges[][2] = {{0, 2}, {-1, 1}, {3, 2}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        struct plan_problem problem = two_kinds();
        struct template_set set;
        struct error err;
        assert_false(templates_make(&set, &problem, ranges[i][0], ranges[i][1], &exact, &err));
        assert_int_equal(err.kind, ERROR_USAGE);
    }
}

/* n nodes of two groups that have more are n + 1 mixes: 20,000 are looked at, 20,001 are not. */
static void so_many_mixes_and_no_more(void **state)
{
    (void)state;
    struct plan_problem problem = two_kinds();
    struct template_set set;
    struct error err;
    problem.objective = OBJECTIVE_OOBLECK;
    problem.groups[0].nodes.count = problem.groups[1].nodes.count =
        30000; /* none fits: there are two layers */
    assert_false(
        templates_make(&set, &problem, TEMPLATES_MAX_MIXES - 1, TEMPLATES_MAX_MIXES - 1, &exact, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    assert_false(templates_make(&set, &problem, TEMPLATES_MAX_MIXES, TEMPLATES_MAX_MIXES, &exact, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_false(
        templates_make(&set, &problem, TEMPLATES_MAX_MIXES - 2, TEMPLATES_MAX_MIXES - 1, &exact, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    problem.groups[0].nodes.count = 100; /* at most 101 mixes of each number */
    assert_false(templates_make(&set, &problem, 1000, 1000 + 197, &exact, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    assert_false(templates_make(&set, &problem, 1000, 1000 + 198, &exact, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    problem.groups[1].nodes.count = 1000; /* of 1,099 nodes there is a choice of 2 mixes, of 1,100 of 1 */
    assert_false(templates_make(&set, &problem, 1000, 1100, &exact, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
}

/* ---- what is shown ---- */

static void make_shown(struct template_set *set, struct plan_template *templates,
                       struct pipeline_stage *stages)
{
    templates[0] = (struct plan_template){.nodes = 1};
    snprintf(templates[0].error.text, sizeof templates[0].error.text, "no plan: too large");
    stages[0] = (struct pipeline_stage){.forward = 1.0, .backward = 1.5};
    stages[1] =
        (struct pipeline_stage){.layers.last = 1, .forward = 0.5, .backward = 1.5, .group = 1, .node = 1};
    templates[1] = (struct plan_template){.nodes = 2, .feasible = true, .problem = two_kinds()};
    templates[1].problem.groups[1].nodes.count = 1;
    templates[1].plan = (struct pipeline){.stage_count = 2,
                                          .stages = stages,
                                          .search = "exact",
                                          .iteration_time = 12.5,
                                          .lower_bound = 10.0,
                                          .bottleneck = 0};
    templates[2] = templates[1];
    templates[2].nodes = 3;
    templates[2].problem = two_kinds();
    templates[2].plan.proven_optimal = true;
    templates[2].plan.bottleneck = 1;
    *set = (struct template_set){3, templates, 0.25};
}

static void tables_show_time_gap_and_mix(void **state)
{
    (void)state;
    struct template_set set;
    struct plan_template templates[3];
    struct pipeline_stage stages[2];
    struct text out = {0};
    make_shown(&set, templates, stages);
    templates_print(&set, &out);
    assert_string_equal(out.data,
                        "nodes  stages     iteration       slowest         gap  on\n"
                        "    1  no plan: too large\n"
                        "    2       2     12.5000 s      2.5000 s        20 %  1 x slow + 1 x fast\n"
                        "    3       2     12.5000 s      2.0000 s     optimal  1 x slow + 1 x fast, 1 idle\n"
                        "\nplanned in 250 ms\n");
    text_release(&out);
}

static void documents_say_why_there_is_no_plan(void **state)
{
    (void)state;
    struct template_set set;
    struct plan_template templates[3];
    struct pipeline_stage stages[2];
    struct text out = {0};
    struct json json;
    struct error err;
    const struct planning planning = {.profile = {.model = NULL}};
    make_shown(&set, templates, stages);
    set.count = 1;
    json = (struct json){.out = &out};
    assert_true(templates_write_json(&set, &planning, &json, &err));
    assert_non_null(strstr(out.data, "\"format\": \"rehearse-templates/2\""));
    assert_non_null(strstr(out.data, "\"planning_seconds\": 0.25"));
    assert_non_null(strstr(out.data, "\"nodes\": 1"));
    assert_non_null(strstr(out.data, "\"plan\": null"));
    assert_non_null(strstr(out.data, "\"reason\": \"no plan: too large\""));
    text_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_are_the_best_of_all_mixes),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(bounds_hold_when_time_is_up),
        cmocka_unit_test(fewer_nodes_are_the_faster_ones),
        cmocka_unit_test(the_fastest_kinds_reason_is_given),
        cmocka_unit_test(a_mix_that_does_not_fit_is_passed_over),
        cmocka_unit_test(ranges_that_are_none_are_refused),
        cmocka_unit_test(so_many_mixes_and_no_more),
        cmocka_unit_test(tables_show_time_gap_and_mix),
        cmocka_unit_test(documents_say_why_there_is_no_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
