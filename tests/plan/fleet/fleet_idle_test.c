/* Plans that must use an idle device, cuts of given stages, and the list of other fleets. */
#include "plan/fleet/idle.h"
#include "plan/fleet/plan.h"
#include "plan/fleet/small.h"

/* Returns the minimum cycle over all cuts of stages s.. from layer `first` on. */
static double best_cut(const struct fleet_problem *problem, const int *options, int count, int s, int first)
{
    double best = INFINITY;
    if (s == count)
        return first == problem->layer_count ? 0.0 : INFINITY;
    for (int last = first + 1; last <= problem->layer_count; last++) {
        const struct fleet_stage stage = {options[s], first, last};
        if (fleet_stage_memory(problem, &stage, count - s) >
            problem->types[problem->options[options[s]].type].memory)
            continue;
        best = fmin(
            best, fmax(fleet_stage_seconds(problem, &stage), best_cut(problem, options, count, s + 1, last)));
    }
    return best;
}

/* Sends make a stage a little longer or shorter by where it begins, so that they are left out here. */
static void cuts_have_the_minimum_cycle(void **state)
{
    (void)state;
    int found = 0, none = 0, cases = random_cases(2000);
    for (int i = 0; i < cases; i++) {
        struct small small;
        struct random_source source = {(uint64_t)i + 1};
        int options[LAYERS], work[LAYERS * (LAYERS + 1)];
        struct fleet_stage stages[LAYERS];
        struct fleet_pipeline made = {.stages = stages};
        make_small(&small, (uint64_t)i + 1);
        memset(small.send, 0, sizeof small.send);
        int count = random_range(&source, 1, small.problem.layer_count);
        for (int s = 0; s < count; s++)
            options[s] = random_range(&source, 0, small.problem.option_count - 1);
        double best = best_cut(&small.problem, options, count, 0, 0);
        if (!fleet_cut(&small.problem, options, count, &made, work)) {
            assert_true(isinf(best));
            none++;
            continue;
        }
        if (!SMALL_SAME(made.cycle, best))
            fail_msg("case %d: %.17g, brute force %.17g", i, made.cycle, best);
        assert_int_equal(made.stage_count, count);
        assert_int_equal(stages[count - 1].last, small.problem.layer_count);
        found++;
    }
    assert_true(found > 0 && none > 0);
}

static double seconds_fast[] = {0, 1, 2, 3, 4}, seconds_slow[] = {0, 10, 20, 30, 40}, nothing[5] = {0};

static struct fleet_problem two_types(void)
{
    struct fleet_problem problem = {.layer_count = 4, .type_count = 2, .option_count = 2, .microbatches = 10};
    problem.types[0] = (struct fleet_type){.devices = 1, .memory = 100.0};
    problem.types[1] = (struct fleet_type){.devices = 1, .memory = 100.0};
    for (int o = 0; o < 2; o++)
        problem.options[o] = (struct fleet_option){.type = o,
                                                   .tensor = 1,
                                                   .sums.seconds = o == 0 ? seconds_fast : seconds_slow,
                                                   .sums.kept = nothing,
                                                   .sums.held = nothing,
                                                   .sums.after = nothing,
                                                   .sums.forward = nothing,
                                                   .sums.updated = nothing,
                                                   .sums.send = nothing};
    return problem;
}

/* The fast device alone takes 40 s. With a layer on the slow one, the slow one takes 10 s for each micro-batch; a pipeline of
 * its own does one micro-batch in 40 s, while the fast one does nine in 36. */
static void a_plan_with_an_idle_device_is_priced(void **state)
{
    (void)state;
    struct fleet_problem problem = two_types();
    struct fleet_stage whole[] = {{0, 0, 4}};
    struct fleet_pipeline alone = {.stage_count = 1, .stages = whole, .copies = 1, .microbatches = 10};
    struct fleet_choice plan = {.pipeline_count = 1, .pipelines = &alone, .seconds = 40.0};
    fleet_pipeline_score(&problem, &alone);
    assert_true(SMALL_SAME(fleet_seconds_with(&plan, &problem, 1, 1, 0.0), 40.0));
    problem.microbatches = 5; /* 20 s alone, and never less than the slow one's first */
    assert_true(SMALL_SAME(fleet_seconds_with(&plan, &problem, 1, 1, 0.0), 40.0));
    problem.types[1].memory = -1.0;
    assert_true(isinf(fleet_seconds_with(&plan, &problem, 1, 1, 0.0)));
    problem.types[1].memory = 100.0;
    problem.options[1].tensor = 2; /* which one device has not */
    assert_true(isinf(fleet_seconds_with(&plan, &problem, 1, 1, 0.0)));
}

static struct fleet_rival rival(double seconds, int devices, int64_t microbatch)
{
    return (struct fleet_rival){.plan.iteration_time = seconds,
                                .devices = {devices},
                                .plan.microbatch = microbatch,
                                .plan.recompute = "none"};
}

static void rivals_are_the_fastest_of_each_kind(void **state)
{
    (void)state;
    struct fleet_rivals rivals = {0};
    const struct fleet_rival added[] = {rival(3.0, 8, 1), rival(1.0, 8, 2), rival(2.0, 8, 1),
                                        rival(4.0, 8, 1), rival(2.5, 4, 1)};
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        fleet_rivals_add(&rivals, &added[i]);
    assert_int_equal(rivals.count, 3);
    assert_true(rivals.items[0].plan.iteration_time == 1.0 && rivals.items[1].plan.iteration_time == 2.0 &&
                rivals.items[2].plan.iteration_time == 2.5);
    for (int i = 0; i < 2 * FLEET_MAX_RIVALS; i++) { /* the slowest make room */
        struct fleet_rival more = rival(0.5 + i, 8, 10 + i);
        fleet_rivals_add(&rivals, &more);
    }
    assert_int_equal(rivals.count, FLEET_MAX_RIVALS);
    for (int i = 1; i < rivals.count; i++)
        assert_true(rivals.items[i - 1].plan.iteration_time <= rivals.items[i].plan.iteration_time);
    assert_true(rivals.items[0].plan.iteration_time == 0.5 && rivals.items[1].plan.iteration_time == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_have_the_minimum_cycle),
        cmocka_unit_test(a_plan_with_an_idle_device_is_priced),
        cmocka_unit_test(rivals_are_the_fastest_of_each_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
