/* Classes of plans by their number of pipelines: which are searched, and for how many pipelines. */
#include "plan/fleet/small.h"

/* A maker that remembers the classes it was asked for: those without a maximum number of pipelines are the last. */
struct asked {
    const struct small *small;
    int last_class, unlike; /* of these, with pipelines that are not alike */
};

static bool make_asked(const void *context, const struct fleet_spread *spread, struct fleet_problem *problem,
                       struct arena *arena)
{
    struct asked *asked = *(struct asked *const *)context;
    if (spread->max == 0 && spread->gradients == 2) {
        asked->last_class++;
        asked->unlike += spread->alike == 1;
    }
    return small_spread(asked->small, spread, problem, arena);
}

/* One layer on a device of each of `types` types, or on two devices of one, and 4 micro-batches. Both types
 * take as long. */
static void make_pair(struct small *small, int types, double after, double memory)
{
    *small = (struct small){0};
    struct fleet_problem *p = &small->problem;
    *p = (struct fleet_problem){
        .layer_count = 1, .type_count = types, .option_count = types, .microbatches = 4};
    for (int t = 0; t < types; t++) {
        p->types[t] = (struct fleet_type){.devices = types == 1 ? 2 : 1, .memory = memory};
        small->seconds[t][1] = 1.0;
        small->held[t][1] = 10.0;
        small->after[t][1] = after;
        p->options[t] = (struct fleet_option){.type = t,
                                              .tensor = 1,
                                              .seconds = small->seconds[t],
                                              .kept = small->kept[t],
                                              .send = small->send[t]};
    }
}

static bool search_pair(const struct small *small, struct asked *asked, struct fleet_choice *plan,
                        struct error *err)
{
    struct fleet_problem problem;
    const struct fleet_maker maker = {&asked, make_asked, 1e9}; /* a maker's context itself is constant */
    *asked = (struct asked){.small = small};
    return fleet_search_classes(plan, &problem, &maker, INFINITY, err);
}

/* A class is searched twice only if its plan is far from the bound, as where it took pipelines for alike that are not. */
static void classes_are_searched_again_where_pipelines_differ(void **state)
{
    (void)state;
    struct small small;
    struct asked asked;
    struct fleet_choice plan;
    struct error err;
    make_pair(&small, 1, 1.0, 100.0); /* two alike: half of the exchange each */
    assert_true(search_pair(&small, &asked, &plan, &err));
    assert_true(SMALL_SAME(plan.seconds, 2.0 + 0.5));
    assert_int_equal(fleet_pipelines(&plan), 2);
    assert_int_equal(asked.last_class, 1);
    assert_int_equal(asked.unlike, 0);
    fleet_choice_release(&plan);
    make_pair(&small, 2, 1.0, 100.0); /* two that differ */
    assert_true(search_pair(&small, &asked, &plan, &err));
    assert_true(SMALL_SAME(plan.seconds, 2.0 + 1.0));
    assert_int_equal(asked.last_class, 2);
    assert_int_equal(asked.unlike, 1);
    fleet_choice_release(&plan);
}

/* States of 10 bytes, half of which is sharded: two pipelines hold 7.5 bytes each, so none fits into 7. The bound is
 * that of the first attempt, which takes states as sharded over any number. */
static void states_are_sharded_over_pipelines_that_there_are(void **state)
{
    (void)state;
    struct small small;
    struct asked asked;
    struct fleet_choice plan;
    struct error err;
    make_pair(&small, 1, 0.0, 7.5);
    assert_true(search_pair(&small, &asked, &plan, &err));
    assert_int_equal(fleet_pipelines(&plan), 2);
    assert_true(SMALL_SAME(plan.seconds, 2.0));
    fleet_choice_release(&plan);
    make_pair(&small, 1, 0.0, 7.0);
    assert_false(search_pair(&small, &asked, &plan, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    assert_non_null(strstr(err.text, "no pipeline of these devices holds the model"));
    assert_int_equal(asked.last_class, 3); /* over any number, over two and over one */
    assert_true(plan.lower_bound > 1.9 && plan.lower_bound <= 2.0);
    assert_false(plan.too_slow);
    assert_int_equal(plan.pipeline_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_searched_again_where_pipelines_differ),
        cmocka_unit_test(states_are_sharded_over_pipelines_that_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
