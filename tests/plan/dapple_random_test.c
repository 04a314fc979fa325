/* The exact search over DAPPLE's objective against every plan of small random problems. */
#include "support/random_problem.h"

#include "plan/dapple/dapple.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CASES      10000
#define MAX_LAYERS 5

struct small {
    struct dapple_problem problem;
    struct dapple_cluster cluster;
    struct chain chain;
    int ends[4];
    struct chain_load until[MAX_LAYERS];
    int64_t crossing[MAX_LAYERS];
};

static void make_small(struct small *small, uint64_t seed, int most_devices)
{
    struct random_source source = {seed};
    *small = (struct small){.chain = {.layer_count = random_range(&source, 1, MAX_LAYERS)}};
    int devices = 0, machines = random_range(&source, 1, 3);
    for (int k = 0; k < machines && devices < most_devices; k++) {
        devices += random_range(&source, 1, most_devices - devices);
        small->ends[small->cluster.machine_count++] = devices;
    }
    small->cluster.machine_end = small->ends;
    small->cluster.point_to_point = random_range(&source, 1, 4);
    small->cluster.collective = random_range(&source, 1, 6);
    small->cluster.inside = random_range(&source, 3, 30);
    small->cluster.memory = random_one_in(&source, 2) ? 1e9 : random_range(&source, 40, 400);
    bool whole = random_one_in(&source, 2); /* round numbers make ties */
    for (int i = 0; i < small->chain.layer_count; i++) {
        struct chain_load *until = &small->until[i];
        if (i > 0)
            *until = small->until[i - 1];
        double forward = whole ? random_range(&source, 0, 4) : 8 * random_unit(&source);
        double backward = whole ? random_range(&source, 1, 4) : 0.1 + 8 * random_unit(&source);
        until->forward += forward;
        until->backward += backward;
        until->compute = until->forward + until->backward;
        until->parameter_bytes += random_range(&source, 0, 30);
        until->activation_bytes += random_range(&source, 0, 30);
        small->crossing[i] = random_range(&source, 0, 30);
    }
    small->chain.until = small->until;
    small->chain.crossing_bytes = small->crossing;
    small->problem = (struct dapple_problem){
        .chain = &small->chain,
        .cluster = &small->cluster,
        .profile_batch = random_range(&source, 1, 4),
        .microbatch = random_range(&source, 1, 3),
        .state_factor = random_range(&source, 1, 4),
    };
    small->problem.global_batch =
        small->problem.microbatch * random_range(&source, 1, random_one_in(&source, 2) ? 4 : 40);
}

/* Every cut of the layers, and every device given to some stage or to none. */
struct brute {
    const struct dapple_problem *problem;
    struct dapple_split plan;
    double best;
};

static void try_replicas(struct brute *brute)
{
    struct dapple_split *plan = &brute->plan;
    for (int s = 0; s < plan->stage_count; s++)
        plan->stages[s].devices = 0;
    for (int i = 0; i < plan->device_count; i++)
        if (plan->stage_of[i] >= 0)
            plan->stages[plan->stage_of[i]].devices++;
    for (plan->replicas = 1; plan->replicas <= plan->device_count; plan->replicas++) {
        bool fits = true;
        for (int s = 0; s < plan->stage_count; s++)
            fits &= plan->stages[s].devices > 0 && plan->stages[s].devices % plan->replicas == 0;
        for (plan->factor = 1; fits && plan->factor <= 2; plan->factor++) {
            dapple_score(brute->problem, plan);
            brute->best = fmin(brute->best, plan->latency);
        }
    }
}

static void try_devices(struct brute *brute, int device)
{
    if (device == brute->plan.device_count) {
        try_replicas(brute);
        return;
    }
    for (int stage = -1; stage < brute->plan.stage_count; stage++) {
        brute->plan.stage_of[device] = (int16_t)stage;
        try_devices(brute, device + 1);
    }
}

static double brute_force(const struct dapple_problem *problem)
{
    struct brute brute = {.problem = problem, .best = INFINITY};
    struct error err;
    int layers = problem->chain->layer_count, devices = dapple_devices(problem->cluster);
    assert_true(dapple_split_init(&brute.plan, layers, devices, &err));
    for (int cuts = 0; cuts < 1 << (layers - 1); cuts++) {
        brute.plan.stage_count = 0;
        for (int layer = 0, first = 0; layer < layers; layer++)
            if (layer == layers - 1 || cuts >> layer & 1) {
                brute.plan.stages[brute.plan.stage_count++] = (struct dapple_stage){{first, layer}, 0};
                first = layer + 1;
            }
        if (brute.plan.stage_count <= devices)
            try_devices(&brute, 0);
    }
    dapple_split_release(&brute.plan);
    return brute.best;
}

static double search(const struct dapple_problem *problem, uint64_t seed)
{
    struct dapple_options options = {.time_limit = 0};
    struct dapple_split plan;
    struct error err;
    if (!dapple_search_exact(problem, &options, &plan, &err)) {
        assert_int_equal(err.kind, ERROR_INFEASIBLE);
        return INFINITY;
    }
    double latency = plan.latency;
    if (!plan.proven_optimal || !dapple_split_check(problem, &plan, &err))
        fail_msg("seed %llu: not proven, or no plan", (unsigned long long)seed);
    dapple_split_release(&plan);
    return latency;
}

static void compare_case(enum dapple_rules rules, int seed)
{
    struct small small;
    make_small(&small, (uint64_t)seed * 2654435761u, seed % 20 == 0 ? 6 : 5);
    small.problem.rules = rules;
    double brute = brute_force(&small.problem), found = search(&small.problem, (uint64_t)seed);
    if (brute != found && !(fabs(brute - found) <= 1e-9 * brute))
        fail_msg("case %d: found %.17g, brute force %.17g; %d layers, %d devices in %d machines", seed, found,
                 brute, small.chain.layer_count, dapple_devices(&small.cluster), small.cluster.machine_count);
}

static void test_original_rules(void **state)
{
    (void)state;
    int cases = random_cases(CASES);
    for (int seed = 1; seed <= cases; seed++)
        compare_case(DAPPLE_ORIGINAL, seed);
}

/* The last one: an all-reduce in the middle that goes on with forward passes, once forgotten in a bound. */
static void test_fixed_rules(void **state)
{
    (void)state;
    int cases = random_cases(CASES);
    for (int seed = 1; seed <= cases; seed++)
        compare_case(DAPPLE_FIXED, seed);
    compare_case(DAPPLE_FIXED, 1020492);
}

/* Bounds from the relaxation hold, and what it proves is right. */
static void test_relaxation(void **state)
{
    (void)state;
    int cases = random_cases(3000), proven = 0;
    for (int seed = 1; seed <= cases; seed++) {
        struct small small;
        struct dapple_options options = {.relaxed = true};
        struct dapple_split plan;
        struct error err;
        make_small(&small, (uint64_t)seed * 2246822519u, 6);
        small.problem.rules = seed % 3 ? DAPPLE_ORIGINAL : DAPPLE_FIXED;
        double best = search(&small.problem, (uint64_t)seed);
        if (!dapple_search_exact(&small.problem, &options, &plan, &err))
            continue;
        if (plan.lower_bound > best * (1 + 1e-9) || plan.latency < best * (1 - 1e-9) ||
            (plan.proven_optimal && plan.latency > best * (1 + 1e-9)))
            fail_msg("case %d: bound %.17g, optimum %.17g, plan %.17g", seed, plan.lower_bound, best,
                     plan.latency);
        proven += plan.proven_optimal;
        dapple_split_release(&plan);
    }
    assert_true(proven > cases / 2);
}

/* Stopped after any number of programs, bound and plan enclose the optimum. */
static void test_stopped_early(void **state)
{
    (void)state;
    int cases = random_cases(1000);
    for (int seed = 1; seed <= cases; seed++) {
        struct small small;
        struct dapple_options options = {.program_limit = 1 + seed % 7};
        struct dapple_split plan;
        struct error err;
        make_small(&small, (uint64_t)seed * 3266489917u, 8);
        double best = search(&small.problem, (uint64_t)seed);
        if (!dapple_search_exact(&small.problem, &options, &plan, &err))
            continue;
        assert_true(plan.lower_bound <= best * (1 + 1e-9) && plan.latency >= best * (1 - 1e-9));
        dapple_split_release(&plan);
    }
}

/* A device more, in a machine of its own, never makes it slower. */
static void test_more_devices(void **state)
{
    (void)state;
    int cases = random_cases(1000);
    for (int seed = 1; seed <= cases; seed++) {
        struct small small;
        make_small(&small, (uint64_t)seed * 40503u, 5);
        small.problem.rules = seed % 2 ? DAPPLE_ORIGINAL : DAPPLE_FIXED;
        double before = search(&small.problem, (uint64_t)seed);
        small.ends[small.cluster.machine_count] = dapple_devices(&small.cluster) + 1;
        small.cluster.machine_count++;
        double after = search(&small.problem, (uint64_t)seed);
        if (after > before * (1 + 1e-12))
            fail_msg("case %d: %.17g with a device more, %.17g without", seed, after, before);
    }
}

/* The devices in use, stage by stage, are the same for any number of threads. */
static void test_threads(void **state)
{
    (void)state;
    struct parallel *pool = parallel_new(3, &(struct error){0});
    struct dapple_options one = {.time_limit = 0}, three = {.pool = pool};
    int cases = random_cases(300);
    for (int seed = 1; seed <= cases; seed++) {
        struct small small;
        struct dapple_split plans[2];
        struct error err;
        make_small(&small, (uint64_t)seed * 69069u, 12);
        if (!dapple_search_exact(&small.problem, &one, &plans[0], &err))
            continue;
        assert_true(dapple_search_exact(&small.problem, &three, &plans[1], &err));
        assert_int_equal(plans[0].stage_count, plans[1].stage_count);
        assert_int_equal(plans[0].programs, plans[1].programs);
        assert_true(plans[0].latency == plans[1].latency);
        assert_memory_equal(plans[0].stage_of, plans[1].stage_of,
                            (size_t)plans[0].device_count * sizeof *plans[0].stage_of);
        dapple_split_release(&plans[0]);
        dapple_split_release(&plans[1]);
    }
    parallel_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_original_rules), cmocka_unit_test(test_fixed_rules),
        cmocka_unit_test(test_relaxation),     cmocka_unit_test(test_stopped_early),
        cmocka_unit_test(test_more_devices),   cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
