/* Every policy on random small clusters against its twin, which goes from
 * second to second. */
#include "elastic/policy/play.h"
#include "elastic/policy/slow.h"
#include "support/policy_twin.h"
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

#define CASES      4000
#define MAX_EVENTS 400

/* A cluster, a job, and what happens: all in whole seconds. */
struct episode {
    struct elastic_rates rates;
    struct policy_setup setup;
    struct failure_trace trace;
    struct failure_event events[MAX_EVENTS];
    struct failure_slowdown slow[MAX_EVENTS];
};

/* Changes of one to three nodes, of which some are lost, some return, and some
 * are replaced. */
static void random_trace(struct random_source *random, int nodes, struct episode *episode)
{
    struct failure_trace *trace = &episode->trace;
    bool there[POLICY_TWIN_MAX_NODES] = {0};
    int pause = random_range(random, 5, 250), loses = random_range(random, 1, 4);
    *trace = (struct failure_trace){
        .nodes = nodes, .present = random_range(random, 0, 3) ? nodes : random_range(random, 0, nodes)};
    trace->horizon = random_range(random, 200, 3000);
    trace->events = episode->events;
    for (int node = 0; node < trace->present; node++)
        there[node] = true;
    for (int time = random_range(random, 0, pause); time < trace->horizon;
         time += random_range(random, 1, pause)) {
        int count = random_range(random, 1, random_one_in(random, 3) ? 4 : 1), first = trace->count;
        for (int i = 0; i < count && trace->count + 2 < MAX_EVENTS; i++) {
            int node = random_range(random, 0, nodes - 1);
            bool again = false;
            for (int k = first; k < trace->count; k++)
                again = again || trace->events[k].node == node;
            if (again || (there[node] && random_range(random, 0, 4) > loses))
                continue;
            bool replaced = there[node] && random_one_in(random, 6);
            trace->events[trace->count++] =
                (struct failure_event){.time = time, .node = node, .returned = !there[node]};
            if (replaced)
                trace->events[trace->count++] =
                    (struct failure_event){.time = time, .node = node, .returned = 1};
            else
                there[node] = !there[node];
        }
    }
}

/* Nodes that become slow, slower, or recover, also such that are not there. */
static void random_slow(struct random_source *random, int nodes, struct episode *episode)
{
    struct failure_trace *trace = &episode->trace;
    int pause = random_range(random, 5, 250);
    trace->slow = episode->slow;
    episode->setup.slow_answer = (enum slow_answer)random_range(random, 0, SLOW_ANSWERS - 1);
    episode->setup.slow_detect = random_one_in(random, 4) ? 0 : random_range(random, 0, 90);
    for (int time = random_range(random, 0, pause); time < trace->horizon && trace->slow_count < MAX_EVENTS;
         time += random_range(random, 0, pause))
        trace->slow[trace->slow_count++] =
            (struct failure_slowdown){time, random_range(random, 0, nodes - 1),
                                      random_one_in(random, 3) ? 1 : random_range(random, 5, 31) / 32.0};
}

static double odd_rates(void *context, int nodes)
{
    const int *least = context;
    return nodes < *least ? 0 : 7.3137 * 40 / (nodes - nodes % 3 * 0.25);
}

static void random_episode(struct random_source *random, bool parcae, struct episode *episode)
{
    struct error err;
    int nodes = random_range(random, 1, 14);
    /* Parcae grows at a time that is a fraction of a migration: migrations take time where fractions are exact */
    bool exact = parcae && random_one_in(random, 2);
    if (exact)
        nodes = 1 << random_range(random, 0, 2);
    int stages = exact ? 1 : random_range(random, 1, nodes < 4 ? nodes : 4);
    int least = random_range(random, 1, nodes / stages * stages);
    bool given = !parcae && random_one_in(random, 3);
    int pipelines = nodes / stages,
        batch = exact ? 420 * pipelines : random_range(random, pipelines, 12 * pipelines);
    assert_true(elastic_rates_make(&episode->rates, nodes, stages, batch, exact ? 8 : 7.3137,
                                   given ? odd_rates : NULL, &least, &err));
    episode->setup =
        (struct policy_setup){.rates = &episode->rates,
                              .spares = random_range(random, 0, 2) ? 0 : random_range(random, 0, nodes - 1)};
    if (random_one_in(random, 8))
        episode->setup.need = random_range(random, 1, nodes);
    double *costs[] = {&episode->setup.costs.detect,     &episode->setup.costs.restart,
                       &episode->setup.costs.load,       &episode->setup.costs.swap,
                       &episode->setup.costs.reroute,    &episode->setup.costs.reconfigure,
                       &episode->setup.costs.save_block, &episode->setup.costs.copy_block,
                       &episode->setup.costs.save_write, &episode->setup.costs.migrate};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        *costs[i] = random_one_in(random, 5) ? 0 : random_range(random, 0, i < 8 ? 30 : 120);
    if (parcae)
        episode->setup.costs.migrate = exact ? 60 * random_range(random, 0, 2) : 0;
    episode->setup.costs.notice = random_one_in(random, 3) ? 400 : 0;
    episode->setup.costs.interval = random_one_in(random, 6) ? INFINITY : random_range(random, 1, 300);
    episode->setup.exists_once = random_one_in(random, 4);
    random_trace(random, nodes, episode);
    if (random_one_in(random, 2))
        random_slow(random, nodes, episode);
}

static void compare(const struct elastic_policy *policy, const struct episode *episode, int number)
{
    struct policy_state state;
    struct elastic_result result, twin;
    struct error err;
    double sum = 0;
    assert_true(policy_state_make(&state, episode->rates.nodes, &err));
    elastic_play(policy, &episode->setup, &episode->trace, &state, NULL, &result);
    policy_twin_play(policy->name, &episode->setup, &episode->trace, &twin);
    assert_int_equal(result.losses, twin.losses);
    for (int i = 0; i < ELASTIC_CAUSE_COUNT; i++) {
        sum += result.seconds[i];
        if (fabs(result.seconds[i] - twin.seconds[i]) > 1e-6)
            fail_msg("case %d, %s: %s is %.9g s, of the twin %.9g s", number, policy->name,
                     elastic_cause_name((enum elastic_cause)i), result.seconds[i], twin.seconds[i]);
        assert_true(result.seconds[i] >= -1e-6);
    }
    assert_true(fabs(sum - episode->trace.horizon) < 1e-6);
    policy_state_release(&state);
}

static void compare_all(const char *name)
{
    const struct elastic_policy *policy = elastic_policy_named(name);
    struct random_source random = {1};
    int cases = random_cases(CASES);
    assert_non_null(policy);
    for (int i = 0; i < cases; i++) {
        struct episode *episode = malloc(sizeof *episode);
        assert_non_null(episode);
        random_episode(&random, strcmp(name, "parcae") == 0, episode);
        compare(policy, episode, i);
        elastic_rates_release(&episode->rates);
        free(episode);
    }
}

/* Micro-batches given one by one to the pipeline that is then done first end as early as can be. */
static double slots_one_by_one(const double *speed, int pipelines, int stages, int64_t batch)
{
    int64_t taken[POLICY_TWIN_MAX_NODES] = {0};
    double slots = 0;
    for (int64_t i = 0; i < batch; i++) {
        int best = 0;
        for (int p = 1; p < pipelines; p++)
            if ((double)(taken[p] + stages) / speed[p] < (double)(taken[best] + stages) / speed[best])
                best = p;
        slots = fmax(slots, (double)(++taken[best] + stages - 1) / speed[best]);
    }
    return slots;
}

static void moved_work_ends_earliest(void **unused)
{
    struct random_source random = {3};
    int cases = random_cases(3000);
    (void)unused;
    for (int i = 0; i < cases; i++) {
        int stages = random_range(&random, 1, 4), pipelines = random_range(&random, 2, 10),
            nodes = stages * pipelines;
        int64_t batch = random_range(&random, 1, 90);
        struct elastic_rates rates;
        struct policy_state state;
        struct policy_setup setup = {.rates = &rates, .slow_answer = SLOW_MOVED};
        struct error err;
        double speed[POLICY_TWIN_MAX_NODES];
        assert_true(elastic_rates_make(&rates, nodes, stages, batch, 1, NULL, NULL, &err));
        assert_true(policy_state_make(&state, nodes, &err));
        policy_state_begin(&state, &setup, nodes);
        slow_begin(&state);
        policy_state_resize(&state, nodes);
        policy_state_fill(&state);
        for (int p = 0; p < pipelines; p++)
            speed[p] = 1;
        for (int k = random_range(&random, 1, nodes); k > 0; k--) {
            int node = random_range(&random, 0, nodes - 1);
            double pace = 0.02 + 0.97 * random_unit(&random);
            if (state.slow[node].speed < 1)
                continue;
            slow_set(&state, node, pace, 0);
            state.slow[node].known = true;
            speed[state.cell[node] / stages] = fmin(speed[state.cell[node] / stages], pace);
        }
        double even = (double)((batch + pipelines - 1) / pipelines + stages - 1);
        double found = even / slow_share(&state), least = slots_one_by_one(speed, pipelines, stages, batch);
        if (!(fabs(found - least) <= 1e-9 * least))
            fail_msg("case %d: %.12g slots, one by one %.12g", i, found, least);
        policy_state_release(&state);
        elastic_rates_release(&rates);
    }
}

/* A number from 0 to 10^6, of any size. */
static double any_cost(struct random_source *random)
{
    return random_one_in(random, 5) ? 0 : pow(10, 6 - 9 * random_unit(random));
}

/* Seconds of any size, drawn losses, batches, replacements: a run ends, and its causes add up to its length. */
static void any_run_adds_up(void **unused)
{
    struct random_source random = {2};
    int count, cases = random_cases(1500);
    const struct elastic_policy *const *policies = elastic_policies(&count);
    (void)unused;
    for (int i = 0; i < cases; i++) {
        struct elastic_rates rates;
        struct failure_trace trace = {0};
        struct policy_state state;
        struct error err;
        int nodes = random_range(&random, 1, 60), stages = random_range(&random, 1, nodes);
        struct failure_model model = {
            .nodes = nodes,
            .rate = pow(10, -3 - 3 * random_unit(&random)),
            .life = (enum failure_distribution)random_range(&random, 0, 2),
            .shape = 0.5 + random_unit(&random),
            .repair = any_cost(&random),
            .batch = 1 + random_unit(&random) * (nodes - 1) / 4,
            .slow_rate = random_one_in(&random, 2) ? 0 : pow(10, -3 - 3 * random_unit(&random)),
            .slow_speed = 0.01 + 0.99 * random_unit(&random),
            .slow_time = 1 + any_cost(&random)};
        struct policy_setup setup = {.rates = &rates,
                                     .spares = random_range(&random, 0, nodes - 1),
                                     .exists_once = random_one_in(&random, 4),
                                     .slow_answer =
                                         (enum slow_answer)random_range(&random, 0, SLOW_ANSWERS - 1),
                                     .slow_detect = any_cost(&random)};
        double *costs = (double *)(void *)&setup.costs;
        for (size_t k = 0; k < sizeof setup.costs / sizeof *costs; k++)
            costs[k] = any_cost(&random) / 100;
        setup.costs.interval = random_one_in(&random, 5) ? INFINITY : 0.001 + any_cost(&random);
        assert_true(elastic_rates_make(&rates, nodes, stages, random_range(&random, 1, 500),
                                       0.001 + any_cost(&random) / 1000, NULL, NULL, &err));
        assert_true(elastic_setup_check(&setup, &err));
        assert_true(failures_draw(&trace, &model, 30000 / model.rate / 1000, (uint64_t)i, &err));
        trace.present = random_one_in(&random, 4) ? 0 : nodes;
        if (trace.present == 0)
            trace.count = 0; /* nobody ever comes */
        assert_true(policy_state_make(&state, nodes, &err));
        for (int k = 0; k < count; k++) {
            struct elastic_result result;
            double sum = 0;
            elastic_play(policies[k], &setup, &trace, &state, NULL, &result);
            for (int cause = 0; cause < ELASTIC_CAUSE_COUNT; cause++) {
                sum += result.seconds[cause];
                if (!(result.seconds[cause] >= -1e-9 * trace.horizon))
                    fail_msg("case %d, %s: %s is %g s", i, policies[k]->name,
                             elastic_cause_name((enum elastic_cause)cause), result.seconds[cause]);
            }
            if (!(fabs(sum - trace.horizon) <= 1e-9 * trace.horizon))
                fail_msg("case %d, %s: %.12g s of %.12g s", i, policies[k]->name, sum, trace.horizon);
        }
        policy_state_release(&state);
        failures_release(&trace);
        elastic_rates_release(&rates);
    }
}

/* Where peers have no copy of a lost node's state, policies that need one lose the work since the save; others do not care. */
static void lost_shards_cost_the_work_since_the_save(void **unused)
{
    static const struct {
        const char *name;
        bool needs_copies;
    } cases[] = {{"restart", false}, {"restart-memory", false}, {"varuna", false}, {"bamboo", false},
                 {"parcae", false},  {"oobleck", true},         {"recycle", true}, {"torchft", true}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct elastic_result results[2];
        struct elastic_rates rates;
        struct error err;
        struct policy_state state;
        struct failure_event lost = {.time = 500, .node = 3};
        const struct failure_trace trace = {
            .nodes = 8, .present = 8, .horizon = 2000, .events = &lost, .count = 1};
        assert_true(elastic_rates_make(&rates, 8, 2, 64, 1, NULL, NULL, &err));
        assert_true(policy_state_make(&state, 8, &err));
        for (int once = 0; once < 2; once++) {
            struct policy_setup setup = {.rates = &rates, .exists_once = once == 1};
            setup.costs.load = 10;
            setup.costs.interval = 300;
            elastic_play(elastic_policy_named(cases[i].name), &setup, &trace, &state, NULL, &results[once]);
        }
        double more = results[1].seconds[ELASTIC_LOST] - results[0].seconds[ELASTIC_LOST];
        if (cases[i].needs_copies != (more > 150))
            fail_msg("%s: %g s more are lost without copies", cases[i].name, more);
        policy_state_release(&state);
        elastic_rates_release(&rates);
    }
}

#define SAME_AS_TWIN(test, name)                                                                             \
    static void test(void **unused)                                                                          \
    {                                                                                                        \
        (void)unused;                                                                                        \
        compare_all(name);                                                                                   \
    }

SAME_AS_TWIN(restart_is_as_its_twin, "restart")
SAME_AS_TWIN(restart_async_is_as_its_twin, "restart-async")
SAME_AS_TWIN(restart_memory_is_as_its_twin, "restart-memory")
SAME_AS_TWIN(spares_is_as_its_twin, "spares")
SAME_AS_TWIN(varuna_is_as_its_twin, "varuna")
SAME_AS_TWIN(bamboo_is_as_its_twin, "bamboo")
SAME_AS_TWIN(oobleck_is_as_its_twin, "oobleck")
SAME_AS_TWIN(parcae_is_as_its_twin, "parcae")
SAME_AS_TWIN(recycle_is_as_its_twin, "recycle")
SAME_AS_TWIN(torchft_is_as_its_twin, "torchft")

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restart_is_as_its_twin),
        cmocka_unit_test(restart_async_is_as_its_twin),
        cmocka_unit_test(restart_memory_is_as_its_twin),
        cmocka_unit_test(spares_is_as_its_twin),
        cmocka_unit_test(varuna_is_as_its_twin),
        cmocka_unit_test(bamboo_is_as_its_twin),
        cmocka_unit_test(oobleck_is_as_its_twin),
        cmocka_unit_test(parcae_is_as_its_twin),
        cmocka_unit_test(recycle_is_as_its_twin),
        cmocka_unit_test(torchft_is_as_its_twin),
        cmocka_unit_test(lost_shards_cost_the_work_since_the_save),
        cmocka_unit_test(moved_work_ends_earliest),
        cmocka_unit_test(any_run_adds_up),
    };
    return cmocka_run_group_tests_name("policy_play", tests, NULL, NULL);
}
