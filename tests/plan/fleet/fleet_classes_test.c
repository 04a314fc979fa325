/* Classes of plans by their number of pipelines: which are searched, and for how many pipelines. */
#include "cost/collective.h"
#include "devices/tables.h"
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
                                              .sums.seconds = small->seconds[t],
                                              .sums.kept = small->kept[t],
                                              .sums.send = small->send[t]};
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

/* States of 10 bytes, half of which is sharded: two pipelines hold 7.5 bytes each, so none fits into 7. The first attempt takes
 * states as sharded over any number, and ends in 2 seconds; that of exactly two pipelines has none. */
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
    assert_non_null(strstr(err.text, "the model does not fit in any pipeline of these devices"));
    assert_int_equal(asked.last_class, 3); /* over any number, over two and over one */
    assert_true(plan.lower_bound > 1e6);
    assert_false(plan.too_slow);
    assert_int_equal(plan.pipeline_count, 0);
}

/* A class of many pipelines takes the exchange of as few as there may be, a power of two: that of up to twice as many takes no less,
 * but for the 5 % that bounds allow for nodes that are filled otherwise. */
static void an_exchange_between_more_pipelines_takes_no_less(void **state)
{
    (void)state;
    static const char *const devices[] = {"a100-80gb", "h100-sxm", "v100-16gb", "l40s", "t4", "rtx-4090"};
    static const char *const links[] = {"ib-400g", "ib-100g", "ethernet-25g"};
    for (int i = 0; i < 6 * 3 * 4; i++) {
        const struct cost_device *device = tables_device(NULL, devices[i % 6]);
        int places = 1 << i / 18;
        double least = 0.0;
        for (int pipelines = 32; pipelines <= 600; pipelines++) {
            struct collective_group ranks = {.devices = pipelines,
                                             .inside = tables_link(NULL, device->link),
                                             .across = tables_link(NULL, links[i / 6 % 3])};
            double seconds = INFINITY;
            int most = places < pipelines ? places : pipelines;
            for (ranks.devices_per_node = 1; ranks.devices_per_node <= most; ranks.devices_per_node++)
                seconds = fmin(seconds, transfer_gradient_seconds(COLLECTIVE_ALL_REDUCE, &ranks, 1e9,
                                                                  tables_calibration(NULL, device)));
            if ((pipelines & (pipelines - 1)) == 0)
                least = seconds;
            if (seconds < 0.95 * least)
                fail_msg("%s, %s, %d in a node: %d pipelines: %g s, of a power of two: %g s", devices[i % 6],
                         links[i / 6 % 3], places, pipelines, seconds, least);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_searched_again_where_pipelines_differ),
        cmocka_unit_test(states_are_sharded_over_pipelines_that_there_are),
        cmocka_unit_test(an_exchange_between_more_pipelines_takes_no_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
