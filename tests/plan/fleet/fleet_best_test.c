/* Mixed clusters of known devices: no group makes a plan slower, and no bound is above a plan. */
#include "core/caller.h"
#include "core/clock.h"
#include "devices/tables.h"
#include "plan/fleet/best.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const devices[] = {"a100-80gb", "a100-40gb", "h100-sxm", "v100-32gb", "l40s", "t4"};

static void make_question(struct fleet_question *question, uint64_t seed)
{
    struct random_source source = {seed};
    *question = (struct fleet_question){
        .job = {.model = architecture_find(random_one_in(&source, 2) ? "gpt2" : "gpt2-xl"),
                .software = software_find(random_one_in(&source, 4) ? "torchtitan" : "megatron-core"),
                .batch = 8 << random_range(&source, 0, 2),
                .sequence = 1024},
        .precision = MODEL_MIXED,
        .group_count = random_range(&source, 2, 3),
        .headroom = 0.05,
    };
    assert_non_null(question->job.model);
    assert_non_null(question->job.software);
    int first = random_range(&source, 0, 5);
    for (int g = 0; g < question->group_count; g++) {
        const struct cost_device *device = tables_device(NULL, devices[(first + g) % 6]);
        assert_non_null(device);
        question->groups[g] = (struct cluster_group){
            .type = device,
            .device = device->name,
            .calibration = tables_calibration(NULL, device),
            .inside = tables_link(NULL, device->link),
            .across = tables_link(NULL, random_one_in(&source, 2) ? "ib-100g" : "ethernet-25g"),
            .nodes.count = random_range(&source, 1, 2),
            .nodes.devices = 1 << random_range(&source, 0, 1),
            .nodes.memory = device->memory,
        };
    }
}

/* The best plan; INFINITY: none fits. */
static double plan(const struct fleet_question *question, double *bound)
{
    struct fleet_best best;
    struct error err;
    *bound = INFINITY;
    if (!fleet_find_best(&best, question, NULL, NULL, &err)) {
        assert_int_equal(err.kind, ERROR_INFEASIBLE);
        return INFINITY;
    }
    double seconds = best.seconds;
    *bound = best.lower_bound;
    assert_true(*bound <= seconds && *bound > 0.0);
    fleet_best_release(&best);
    return seconds;
}

/* The best job on a group alone, as the search for one kind plans it. */
static double plan_alone(const struct fleet_question *question, int group)
{
    const struct cluster_group *g = &question->groups[group];
    struct job_question alone = {.job = question->job, .headroom = question->headroom};
    struct job_search search;
    struct error err;
    job_set_group(&alone.job, g);
    alone.job.type = model_type(g->type, question->precision);
    alone.job.devices = g->nodes.count * g->nodes.devices;
    if (!job_search(&search, &alone, &(struct job_search_options){.top = 1}, &err))
        return INFINITY;
    double seconds = search.plans[0].time.seconds;
    job_search_release(&search);
    return seconds;
}

static void no_group_makes_a_plan_slower(void **state)
{
    (void)state;
    const char *many = getenv("REHEARSE_FLEET_CLUSTERS"); /* of a soak */
    int cases = many ? atoi(many) : random_cases(12), better = 0;
    for (int i = 0; i < cases; i++) {
        struct fleet_question question;
        double bound, unused, least = INFINITY;
        make_question(&question, (uint64_t)i + 1);
        double seconds = plan(&question, &bound);
        for (int g = 0; g < question.group_count; g++) {
            struct fleet_question part = question;
            double alone = plan_alone(&question, g);
            least = fmin(least, alone);
            if (seconds > alone || bound > alone)
                fail_msg("case %d: %.17g, bound %.17g, group %d alone %.17g", i, seconds, bound, g, alone);
            part.groups[g].nodes.count--;
            if (part.groups[g].nodes.count == 0)
                part.groups[g] = part.groups[--part.group_count];
            if (part.group_count < 2)
                continue;
            double others = plan(&part, &unused);
            if (seconds > others || bound > others)
                fail_msg("case %d: %.17g, bound %.17g, a node of group %d less %.17g", i, seconds, bound, g,
                         others);
        }
        better += seconds < least;
    }
    assert_in_range(better, 1, cases);
}

/* Whatever number of better nodes is used as lesser ones: the clusters that result are never faster, and no bound is above their
 * plans. */
static void better_types_never_take_longer(void **state)
{
    (void)state;
    int lent = 0;
    for (uint64_t i = 1; lent < random_cases(60); i++) {
        struct fleet_question question;
        double bound, unused;
        make_question(&question, i);
        question.group_count = 2;
        for (int b = 0; b < 2; b++) {
            if (!fleet_may_lend(&question, b, 1 - b))
                continue;
            double seconds = plan(&question, &bound);
            for (int nodes = 1; nodes <= question.groups[b].nodes.count; nodes++, lent++) {
                struct fleet_question lesser = question;
                struct fleet_lending some = {{{0}}};
                some.devices[b][1 - b] = nodes * question.groups[b].nodes.devices;
                fleet_lend(&lesser, &some);
                assert_int_equal(lesser.group_count, nodes < question.groups[b].nodes.count ? 2 : 1);
                double others = plan(&lesser, &unused);
                if (seconds > others * (1.0 + 1e-9) || bound > others * (1.0 + 1e-9))
                    fail_msg("case %d: %.17g, bound %.17g, with %d of %d nodes as the lesser type %.17g",
                             (int)i, seconds, bound, nodes, question.groups[b].nodes.count, others);
            }
        }
    }
}

static struct cluster_group node_of(const char *name)
{
    const struct cost_device *device = tables_device(NULL, name);
    return (struct cluster_group){.type = device,
                                  .device = device->name,
                                  .calibration = tables_calibration(NULL, device),
                                  .inside = tables_link(NULL, device->link),
                                  .across = tables_link(NULL, "ib-200g"),
                                  .nodes = {1, 8, device->memory}};
}

/* Shards over sixteen devices fit where those over eight of them do not. */
static void one_job_spans_a_better_type_and_a_lesser_one(void **state)
{
    (void)state;
    struct fleet_question question = {
        .job = {.model = architecture_find("llama-2-7b"),
                .software = software_find("megatron-core"),
                .batch = 64,
                .sequence = 4096},
        .precision = MODEL_MIXED,
        .group_count = 2,
        .groups = {node_of("a100-40gb"), node_of("a100-80gb")},
        .headroom = 0.05,
    };
    struct fleet_best best;
    struct plan made;
    struct error err;
    assert_false(fleet_may_lend(&question, 0, 1));
    assert_true(fleet_may_lend(&question, 1, 0));
    assert_true(fleet_find_best(&best, &question, NULL, NULL, &err));
    assert_true(best.is_merged && fleet_best_question(&best, &question) == &best.merged);
    assert_int_equal(best.merged.group_count, 1);
    assert_int_equal(best.merged.groups[0].nodes.count, 2);
    plan_init(&made);
    assert_true(plan_of_fleet_best(&made, &best, &question, &err));
    assert_string_equal(made.merged, "8 x a100-80gb used as a100-40gb");
    assert_non_null(strstr(made.proof_over, made.merged));
    plan_release(&made);
    fleet_best_release(&best);
    question.groups[1].nodes.memory = question.groups[0].nodes.memory - 1;
    assert_false(fleet_may_lend(&question, 1, 0));
}

/* The lesser group cannot hold the model, all devices as lesser ones hold little beside it: a part is lent. */
static void a_part_of_a_better_group_is_lent(void **state)
{
    (void)state;
    struct fleet_question question = {
        .job = {.model = architecture_find("llama-2-7b"),
                .software = software_find("megatron-core"),
                .batch = 960,
                .sequence = 4096},
        .precision = MODEL_MIXED,
        .group_count = 2,
        .groups = {node_of("a100-40gb"), node_of("a100-80gb")},
        .headroom = 0.05,
    };
    struct fleet_best best;
    struct plan made;
    struct error err;
    double least = INFINITY, unused;
    for (int g = 0; g < 2; g++)
        question.groups[g].nodes.devices = 2;
    question.groups[0].nodes.count = 3;
    struct cost_device small = *question.groups[0].type;
    small.memory = question.groups[0].nodes.memory = INT64_C(20) << 30;
    question.groups[0].type = &small;
    question.groups[1].nodes.count = 4;
    question.ranges[JOB_SHARDING] = (struct job_range){3, 3, true};
    assert_true(fleet_find_best(&best, &question, NULL, NULL, &err));
    assert_true(best.is_merged && best.jobs);
    int lent = best.lent.devices[1][0];
    assert_true(lent > 0 && lent < 8 && lent % 2 == 0);
    assert_int_equal(best.merged.group_count, 2);
    assert_int_equal(best.merged.groups[0].nodes.count, 3 + lent / 2);
    assert_int_equal(best.merged.groups[1].nodes.count, 4 - lent / 2);
    for (int nodes = 1; nodes <= 4; nodes++) {
        struct fleet_question lesser = question;
        struct fleet_lending some = {{{0}, {2 * nodes}}};
        fleet_lend(&lesser, &some);
        least = fmin(least, plan(&lesser, &unused));
    }
    assert_true(best.seconds == least && least < plan_alone(&question, 1));
    plan_init(&made);
    assert_true(plan_of_fleet_best(&made, &best, &question, &err));
    assert_int_equal(atoi(made.merged), lent);
    plan_release(&made);
    fleet_best_release(&best);
}

/* A group of one node lends whole nodes of the lesser group; what is wanted of a lesser one is found among better ones. */
static void lending_moves_nodes(void **state)
{
    (void)state;
    struct fleet_question question = {
        .group_count = 3, .groups = {node_of("h100"), node_of("a100-40gb"), node_of("a100-80gb")}};
    question.groups[1].nodes.devices = 2;
    question.groups[2].nodes.count = 3;
    struct fleet_question same = question;
    const struct fleet_lending some = {{{0, 6}, {0}, {0, 8}}};
    fleet_lend(&question, &some);
    assert_int_equal(question.group_count, 3);
    assert_int_equal(question.groups[0].nodes.count, 1);
    assert_int_equal(question.groups[0].nodes.devices, 2);
    assert_int_equal(question.groups[1].nodes.count, 8);
    assert_int_equal(question.groups[2].nodes.count, 2);
    fleet_lend_for(&same, (const int[]){2, 16, 16});
    for (int g = 0; g < 3; g++) {
        assert_int_equal(same.groups[g].nodes.count, question.groups[g].nodes.count);
        assert_int_equal(same.groups[g].nodes.devices, question.groups[g].nodes.devices);
    }
    const struct fleet_lending all = {{{0}, {0}, {0, 16}}};
    fleet_lend(&question, &all);
    assert_int_equal(question.group_count, 2);
    assert_int_equal(question.groups[1].nodes.count, 16);
}

/* A plan of jobs, given back, takes as long: of several groups, and of one alone with copies of its shards. */
static void plans_of_jobs_score_as_they_were_found(void **state)
{
    (void)state;
    int several = 0, copies = 0;
    for (uint64_t i = 1; i <= 400 && (several == 0 || copies == 0); i++) {
        static const int same[] = {0, 1, 2, 3, 4, 5, 6, 7};
        struct fleet_question question;
        struct mix_answer mix, again;
        struct plan made;
        struct error err;
        make_question(&question, i);
        if (!mix_plan(&mix, &question, INFINITY, NULL, &err))
            continue;
        plan_init(&made);
        if (!plan_of_mix(&made, &mix, &question, &err))
            fail_msg("case %d: %s", (int)i, err.text);
        assert_true(plan_is_mix(&made));
        if (!plan_check(&made, &err) || !mix_score(&again, &question, &made, same, &err))
            fail_msg("case %d: %s", (int)i, err.text);
        assert_int_equal(again.kind_count, mix.kind_count);
        if (fabs(again.time.seconds / mix.time.seconds - 1.0) > 1e-12)
            fail_msg("case %d: %.17g, then %.17g", (int)i, mix.time.seconds, again.time.seconds);
        several += mix.kind_count > 1;
        copies += mix.kinds[0].choice.job.technique.replicate > 1;
        plan_release(&made);
        mix_release(&mix);
    }
    assert_true(several > 0 && copies > 0);
}

/* Whatever is found by then can be run, and no bound is above the best plan. */
static void a_deadline_leaves_true_bounds(void **state)
{
    (void)state;
    int early = 0, found = 0, cases = random_cases(12);
    for (int i = 0; i < cases; i++) {
        struct fleet_question question;
        struct fleet_best best;
        struct error err;
        double bound;
        make_question(&question, (uint64_t)i + 1);
        double seconds = plan(&question, &bound);
        for (double limit = 1e-6; limit < 1.0; limit *= 6.0) {
            struct caller caller = {.stop = NULL};
            caller_set(&caller);
            question.deadline = clock_now() + limit;
            bool any = fleet_find_best(&best, &question, NULL, NULL, &err);
            assert_true(caller.deadline == 0.0);
            caller_set(NULL);
            if (best.lower_bound > seconds * (1.0 + 1e-9))
                fail_msg("case %d, %g s: bound %.17g, the best plan takes %.17g", i, limit, best.lower_bound,
                         seconds);
            if (!any) {
                assert_int_equal(err.kind, ERROR_INFEASIBLE);
                early += isfinite(seconds);
                continue;
            }
            found++;
            if (best.seconds < bound * (1.0 - 1e-9))
                fail_msg("case %d, %g s: %.17g s, below the bound %.17g", i, limit, best.seconds, bound);
            fleet_best_release(&best);
        }
    }
    assert_true(early > 0 && found > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_group_makes_a_plan_slower),
        cmocka_unit_test(better_types_never_take_longer),
        cmocka_unit_test(one_job_spans_a_better_type_and_a_lesser_one),
        cmocka_unit_test(a_part_of_a_better_group_is_lent),
        cmocka_unit_test(lending_moves_nodes),
        cmocka_unit_test(a_deadline_leaves_true_bounds),
        cmocka_unit_test(plans_of_jobs_score_as_they_were_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
