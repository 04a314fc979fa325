/* The set of instances against all sets, and its properties where there are too many. */
#include "core/random.h"
#include "elastic/instances.h"
#include "elastic/rate.h"
#include "support/random_kit.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES 3000

struct brute {
    const struct elastic_kit *kit;
    int faults;
    int *counts;
    double best;
    int sets;
};

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void try_set(struct brute *brute)
{
    struct elastic_set set = {.counts = brute->counts};
    struct error err;
    int copies = 0;
    for (int t = 0; t < brute->kit->shape_count; t++)
        copies += brute->counts[t] * brute->kit->shapes[t].copies;
    if (copies <= brute->faults)
        return;
    assert_true(elastic_set_score(&set, brute->kit, &err));
    brute->best = fmin(brute->best, set.seconds);
    brute->sets++;
}

/* Every number of instances of every shape. */
static void try_all(struct brute *brute, int shape, int *left)
{
    if (shape == brute->kit->shape_count) {
        try_set(brute);
        return;
    }
    const struct elastic_shape *of = &brute->kit->shapes[shape];
    int own[ELASTIC_MAX_KINDS];
    memcpy(own, left, sizeof own);
    for (brute->counts[shape] = 0;; brute->counts[shape]++) {
        try_all(brute, shape + 1, own);
        for (int k = 0; k < brute->kit->kind_count; k++)
            if ((own[k] -= of->need[k]) < 0) {
                brute->counts[shape] = 0;
                return;
            }
    }
}

static void check_set(const struct elastic_set *set, const struct elastic_kit *kit, const int *nodes,
                      int faults)
{
    struct elastic_set again = *set;
    struct error err;
    int copies = 0;
    for (int k = 0; k < kit->kind_count; k++) {
        int used = 0;
        for (int t = 0; t < kit->shape_count; t++)
            used += set->counts[t] * kit->shapes[t].need[k];
        assert_in_range(used, 0, nodes[k]);
    }
    for (int t = 0; t < kit->shape_count; t++)
        copies += set->counts[t] * kit->shapes[t].copies;
    assert_true(copies > faults);
    assert_true(elastic_set_score(&again, kit, &err));
    assert_true(near(again.seconds, set->seconds));
    assert_true(set->bound <= set->seconds);
}

static void set_is_the_best_of_all(const struct random_kit_spec *spec, int cases, uint64_t seed)
{
    int found = 0, several = 0;
    for (int i = 0; i < cases; i++) {
        struct elastic_kit kit;
        struct elastic_set set;
        struct error err;
        uint64_t state = seed + (uint64_t)i;
        random_kit(&kit, spec, seed + (uint64_t)i);
        int nodes[ELASTIC_MAX_KINDS] = {0};
        for (int k = 0; k < kit.kind_count; k++)
            nodes[k] = (int)random_between(&state, 0, 2 * (int64_t)kit.kinds[k].nodes.count);
        struct brute brute = {.kit = &kit, .faults = (int)random_between(&state, 0, 2), .best = INFINITY};
        brute.counts = calloc((size_t)kit.shape_count, sizeof *brute.counts);
        int left[ELASTIC_MAX_KINDS];
        memcpy(left, nodes, sizeof left);
        try_all(&brute, 0, left);
        bool made = elastic_instances(&set, &kit, nodes, brute.faults, &err);
        assert_int_equal(made, isfinite(brute.best));
        if (made) {
            if (!near(set.seconds, brute.best))
                fail_msg("case %d: %.9g s, the best set takes %.9g s", i, set.seconds, brute.best);
            assert_true(set.proven && set.bound == set.seconds);
            check_set(&set, &kit, nodes, brute.faults);
            found++;
            several += brute.sets > 10;
            elastic_set_release(&set);
        } else {
            assert_int_equal(err.kind, ERROR_INFEASIBLE);
            assert_null(set.counts);
        }
        free(brute.counts);
        elastic_kit_release(&kit);
    }
    assert_true(found > cases / 3 && several > cases / 10);
}

static void pipelines_are_the_best_of_all_sets(void **unused)
{
    (void)unused;
    set_is_the_best_of_all(&(struct random_kit_spec){1, 8, 6, 40, true}, random_cases(CASES), 1);
}

static void mixed_shapes_are_the_best_of_all_sets(void **unused)
{
    (void)unused;
    set_is_the_best_of_all(&(struct random_kit_spec){3, 3, 5, 40, false}, random_cases(CASES), 100000);
}

/* ---- against a dynamic program, on more nodes ---- */

enum { MAX_TWIN = 61 };

/* Whether exactly `pipelines` instances of shapes whose exchange is at most `exchange` do the batch within
 * the limit. */
static bool twin_within(const struct elastic_kit *kit, int nodes, int pipelines, double exchange,
                        double limit)
{
    static int64_t most[MAX_TWIN][MAX_TWIN]; /* [instances][nodes]: micro-batches; -1: not possible */
    for (int p = 0; p <= pipelines; p++)
        for (int n = 0; n <= nodes; n++) {
            most[p][n] = p == 0 ? 0 : -1;
            for (int t = 0; p > 0 && t < kit->shape_count; t++) {
                int own = kit->shapes[t].nodes;
                int64_t each = elastic_line_within(kit->shapes[t].lines, limit, kit->batch);
                if (own > n || each < 1 || most[p - 1][n - own] < 0 ||
                    elastic_exchange(&kit->shapes[t], pipelines) > exchange)
                    continue;
                if (most[p - 1][n - own] + each > most[p][n])
                    most[p][n] = most[p - 1][n - own] + each;
            }
        }
    return most[pipelines][nodes] >= kit->batch;
}

/* The best time over every number of instances and every shape that may be the slowest at the exchange. */
static double twin_best(const struct elastic_kit *kit, int nodes, int faults)
{
    double best = INFINITY;
    for (int p = faults + 1; p <= nodes && p <= kit->batch; p++)
        for (int t = 0; t < kit->shape_count; t++) {
            double exchange = elastic_exchange(&kit->shapes[t], p), low = 0, high = best - exchange;
            if (!isfinite(high))
                high = 1e6;
            if (high <= 0 || !twin_within(kit, nodes, p, exchange, high))
                continue;
            while (high - low > 1e-11 * high) {
                double middle = (low + high) / 2;
                if (twin_within(kit, nodes, p, exchange, middle))
                    high = middle;
                else
                    low = middle;
            }
            best = fmin(best, high + exchange);
        }
    return best;
}

static void larger_sets_agree_with_a_dynamic_program(void **unused)
{
    (void)unused;
    enum { SHAPES = 8 };
    int cases = random_cases(240), found = 0;
    for (int i = 0; i < cases; i++) {
        struct elastic_shape shapes[SHAPES] = {0};
        struct elastic_line lines[SHAPES];
        struct elastic_set set;
        struct error err;
        uint64_t state = (uint64_t)i + 400;
        int nodes = (int)random_between(&state, 6, 24), faults = (int)random_between(&state, 0, 2);
        struct elastic_kit kit = {.kind_count = 1,
                                  .shape_count = (int)random_between(&state, 2, SHAPES),
                                  .shapes = shapes,
                                  .batch = random_between(&state, 10, 60)};
        kit.kinds[0] = (struct elastic_kind){.name = "one", .nodes = {nodes, 1, 0}, .across = 10};
        for (int t = 0; t < kit.shape_count; t++) {
            int n = (int)random_between(&state, 1, 9);
            lines[t] = (struct elastic_line){1, (double)random_between(&state, 0, 9) / 7,
                                             (double)random_between(&state, 30, 60) / 7 / n, 1};
            shapes[t] = (struct elastic_shape){.name = "shape",
                                               .need = {n},
                                               .nodes = n,
                                               .pipelines = 1,
                                               .copies = 1,
                                               .line_count = 1,
                                               .lines = &lines[t],
                                               .bandwidth = 10,
                                               .gradients = (double)random_between(&state, 0, 900) / n};
        }
        double best = twin_best(&kit, nodes, faults);
        bool made = elastic_instances(&set, &kit, &nodes, faults, &err);
        assert_int_equal(made, isfinite(best));
        if (!made)
            continue;
        if (!near(set.seconds, best))
            fail_msg("case %d: %.12g s, the program's best takes %.12g s", i, set.seconds, best);
        assert_true(set.proven);
        found++;
        elastic_set_release(&set);
    }
    assert_true(found > cases / 2);
}

/* Templates of 8 to 100 nodes on thousands: proven, and hardly above what perfect scaling would take. */
static void thousands_of_nodes_are_proven(void **unused)
{
    (void)unused;
    enum { FIRST = 8, SHAPES = 93 };
    for (int i = 0; i < 6; i++) {
        struct elastic_shape shapes[SHAPES];
        struct elastic_line lines[SHAPES];
        struct elastic_kit kit = {
            .kind_count = 1, .shape_count = SHAPES, .shapes = shapes, .batch = 3001 + 1000 * i};
        uint64_t state = (uint64_t)i;
        kit.kinds[0] = (struct elastic_kind){.name = "one", .nodes = {4096, 8, 0}, .across = 5e10};
        for (int t = 0; t < SHAPES; t++) {
            int n = FIRST + t;
            lines[t] = (struct elastic_line){1, 0.5, (2.0 + 0.3 * random_uniform(&state)) / n + 0.002, 1};
            shapes[t] = (struct elastic_shape){.name = "shape",
                                               .need = {n},
                                               .nodes = n,
                                               .pipelines = 1,
                                               .copies = 1,
                                               .line_count = 1,
                                               .lines = &lines[t],
                                               .gradients = 1e10 / n,
                                               .bandwidth = 5e10,
                                               .latency = 1e-5};
        }
        struct elastic_set set;
        struct error err;
        int nodes[ELASTIC_MAX_KINDS] = {3000 + 137 * i};
        assert_true(elastic_instances(&set, &kit, nodes, 2, &err));
        assert_true(set.proven);
        check_set(&set, &kit, nodes, 2);
        elastic_set_release(&set);
    }
}

/* Mixes of four kinds of nodes, too many to finish: the set is good, and the bound close below it. */
static void hard_mixes_keep_a_close_bound(void **unused)
{
    (void)unused;
    enum { SHAPES = 200, KINDS = 4 };
    struct elastic_shape shapes[SHAPES] = {0};
    struct elastic_line lines[SHAPES];
    struct elastic_kit kit = {.kind_count = KINDS, .shape_count = SHAPES, .shapes = shapes, .batch = 2048};
    struct elastic_set set;
    struct error err;
    int nodes[ELASTIC_MAX_KINDS];
    uint64_t state = 4;
    for (int k = 0; k < KINDS; k++)
        nodes[k] = kit.kinds[k].nodes.count = 256;
    for (int t = 0; t < SHAPES; t++) {
        double speed = 0;
        shapes[t].nodes = (int)random_between(&state, 4, 17);
        for (int n = 0; n < shapes[t].nodes; n++) {
            int kind = (int)random_between(&state, 0, KINDS - 1);
            shapes[t].need[kind]++;
            speed += 1 + 0.7 * kind;
        }
        lines[t] = (struct elastic_line){1, 1 / speed, (1 + 0.1 * random_uniform(&state)) / speed, 1};
        shapes[t].lines = &lines[t];
        shapes[t].line_count = shapes[t].pipelines = shapes[t].copies = 1;
        shapes[t].gradients = 1e11 / shapes[t].nodes;
        shapes[t].bandwidth = 5e10;
    }
    assert_true(elastic_instances(&set, &kit, nodes, 1, &err));
    check_set(&set, &kit, nodes, 1);
    assert_true(set.bound > 0.97 * set.seconds);
    assert_true(set.proven == (set.bound == set.seconds));
    elastic_set_release(&set);
}

static void rate_is_that_of_the_set(void **unused)
{
    (void)unused;
    for (int i = 0; i < 50; i++) {
        struct elastic_kit kit;
        struct error err;
        random_kit(&kit, &(struct random_kit_spec){2, 4, 5, 30, true}, (uint64_t)i);
        struct elastic_rate *rate = elastic_rate_new(&kit, 1, &err);
        assert_non_null(rate);
        for (int turn = 0; turn < 2; turn++) /* the second from the cache */
            for (int n = 0; n <= kit.kinds[0].nodes.count; n++) {
                int live[ELASTIC_MAX_KINDS] = {n};
                double seconds;
                struct elastic_set set;
                for (int k = 1; k < kit.kind_count; k++)
                    live[k] = kit.kinds[k].nodes.count;
                assert_true(elastic_rate_seconds(rate, live, &seconds, &err));
                bool made = elastic_instances(&set, &kit, live, 1, &err) ||
                            elastic_instances(&set, &kit, live, 0, &err);
                assert_int_equal(made, isfinite(seconds));
                if (made) {
                    assert_true(seconds == set.seconds);
                    elastic_set_release(&set);
                }
            }
        elastic_rate_free(rate);
        elastic_kit_release(&kit);
    }
}

static void sharded_states_exist_once(void **unused)
{
    (void)unused;
    struct elastic_kit kit;
    struct elastic_set set;
    struct error err;
    random_kit(&kit, &(struct random_kit_spec){1, 6, 4, 30, true}, 9);
    kit.sharded = "optimizer states";
    kit.sharded_over = 4;
    kit.shard_groups = 1;
    int nodes[ELASTIC_MAX_KINDS] = {24};
    assert_false(elastic_instances(&set, &kit, nodes, 1, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    assert_non_null(strstr(err.text, "optimizer states"));
    assert_non_null(strstr(err.text, "(HSDP: two copies of all states)"));
    assert_null(strstr(err.text, "--optimizer replicated"));
    kit.replicable = true; /* only then is it a way out */
    assert_false(elastic_instances(&set, &kit, nodes, 1, &err));
    assert_non_null(strstr(err.text, "or keep all of them in each pipeline with '--optimizer replicated'"));
    kit.shard_groups = 2; /* two groups have everything */
    if (!elastic_instances(&set, &kit, nodes, 1, &err))
        fail_msg("%s", err.text);
    elastic_set_release(&set);
    elastic_kit_release(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines_are_the_best_of_all_sets),
        cmocka_unit_test(mixed_shapes_are_the_best_of_all_sets),
        cmocka_unit_test(larger_sets_agree_with_a_dynamic_program),
        cmocka_unit_test(thousands_of_nodes_are_proven),
        cmocka_unit_test(hard_mixes_keep_a_close_bound),
        cmocka_unit_test(rate_is_that_of_the_set),
        cmocka_unit_test(sharded_states_exist_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
