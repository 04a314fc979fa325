#include "cost/experts.h"
#include "devices/tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed;

static int pick(int count)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)count);
}

/* Takes `count` of the first `from` numbers of `bag` into its front. */
static void draw(int *bag, int from, int count)
{
    for (int i = 0; i < count; i++) {
        int j = i + pick(from - i), swap = bag[i];
        bag[i] = bag[j];
        bag[j] = swap;
    }
}

/* The slow way: draws groups, then experts of them, and counts places. */
static double places_by_draws(const struct architecture *model, int places)
{
    enum { DRAWS = 20000, MOST = 512 };
    int experts = (int)model->experts, groups = model->route_groups > 0 ? (int)model->route_groups : 1;
    int chosen = model->route_groups > 0 ? (int)model->route_active_groups : 1, size = experts / groups;
    long reached = 0;
    for (int n = 0; n < DRAWS; n++) {
        int bag[MOST], own[MOST], count = 0;
        bool seen[MOST] = {false};
        for (int g = 0; g < groups; g++)
            bag[g] = g;
        draw(bag, groups, chosen);
        for (int g = 0; g < chosen; g++)
            for (int e = 0; e < size; e++)
                own[count++] = bag[g] * size + e;
        draw(own, count, (int)model->active_experts);
        for (int k = 0; k < model->active_experts; k++) {
            int place = own[k] / (experts / places);
            reached += !seen[place];
            seen[place] = true;
        }
    }
    return (double)reached / DRAWS;
}

static void places_are_those_of_draws(void **state)
{
    static const struct {
        int experts, active, groups, chosen;
    } models[] = {{256, 8, 8, 4}, {160, 6, 8, 3}, {8, 2, 0, 0},
                  {128, 8, 0, 0}, {64, 6, 1, 1},  {256, 8, 4, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int places = 2; places <= models[i].experts; places *= 2) {
            struct architecture model = {.experts = models[i].experts,
                                         .active_experts = models[i].active,
                                         .route_groups = models[i].groups,
                                         .route_active_groups = models[i].chosen};
            if (models[i].experts % places != 0)
                continue;
            seed = (uint64_t)(i * 1000 + (size_t)places);
            double drawn = places_by_draws(&model, places), found = expert_places(&model, places);
            if (fabs(found / drawn - 1.0) > 0.01)
                fail_msg("%d experts on %d places: %g, by draws %g", models[i].experts, places, found, drawn);
        }
}

/* DeepSeek-V3's tokens on H800, in the setting of DeepEP's tables; calibration: as measured alone. */
static struct expert_exchange published(int devices, struct calibration *calibration)
{
    const struct tables tables = {0};
    *calibration = calibration_default;
    calibration->exchange = 1.0;
    return (struct expert_exchange){
        .model = architecture_find("deepseek-v3"),
        .calibration = calibration,
        .group = {devices, devices < 8 ? devices : 8, tables_link(&tables, "nvlink4-h800"),
                  tables_link(&tables, "ib-400g")},
        .dispatcher = DISPATCH_DEEPEP,
        .tokens = 4096,
        .width = 2,
        .out_width = 1,
        .imbalance = 1,
    };
}

/* The table's bandwidth counts what a device receives over NVLink in a node, and else each node of a token once, its own
 * too. It was measured twice, with a release in between. */
static void rates_are_those_of_published_tables(void **state)
{
    static const struct {
        int devices;
        double dispatch[2], combine[2]; /* GB/s, the lower and the higher */
    } rows[] = {{8, {153, 153}, {158, 158}},
                {16, {43, 43}, {43, 43}},
                {32, {44, 58}, {47, 57}},
                {64, {46, 51}, {45, 50}}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct calibration calibration;
        struct expert_exchange exchange = published(rows[i].devices, &calibration);
        struct architecture model = *exchange.model;
        int nodes = rows[i].devices / 8;
        model.route_groups = nodes,
        model.route_active_groups = nodes < 4 ? nodes : 4; /* as their test sets it */
        exchange.model = &model;
        struct expert_seconds seconds = expert_seconds_of(&exchange);
        double reached = expert_places(&model, nodes > 1 ? nodes : 8), tokens = 4096.0 * reached;
        double out = tokens * (7168.0 * (1.0 + 4.0 / 128.0) + 96.0) / seconds.dispatch / 1e9;
        double back = tokens * (7168.0 * 2.0 + 96.0) / seconds.combine / 1e9;
        if (out < 0.88 * rows[i].dispatch[0] || out > 1.12 * rows[i].dispatch[1])
            fail_msg("%d devices, dispatch: %g GB/s", rows[i].devices, out);
        if (back < 0.88 * rows[i].combine[0] || back > 1.12 * rows[i].combine[1])
            fail_msg("%d devices, combine: %g GB/s", rows[i].devices, back);
    }
}

static void merged_tokens_are_faster_than_copies(void **state)
{
    (void)state;
    for (int devices = 8; devices <= 256; devices *= 2) {
        struct calibration calibration;
        struct expert_exchange exchange = published(devices, &calibration);
        struct expert_seconds merged = expert_seconds_of(&exchange), copies, wide, busy;
        exchange.dispatcher = DISPATCH_ALLTOALL;
        copies = expert_seconds_of(&exchange);
        assert_true(devices == 8 || merged.combine < copies.combine);
        assert_true(fabs(copies.dispatch - copies.combine) <
                    1e-12); /* both in the format of the activations */
        exchange.dispatcher = DISPATCH_DEEPEP;
        exchange.out_width = 2;
        wide = expert_seconds_of(&exchange);
        assert_true(merged.dispatch < wide.dispatch && fabs(wide.dispatch - wide.combine) < 1e-12);
        exchange.imbalance = 1.2;
        busy = expert_seconds_of(&exchange);
        assert_true(busy.combine > 1.1 * wide.combine && busy.combine < 1.21 * wide.combine);
    }
}

static void nobody_to_exchange_with_costs_nothing(void **state)
{
    (void)state;
    struct calibration calibration;
    struct expert_exchange exchange = published(1, &calibration);
    struct expert_seconds seconds = expert_seconds_of(&exchange);
    assert_true(seconds.dispatch == 0.0 && seconds.combine == 0.0);
}

static void pairs_take_between_the_longer_and_the_sum(void **state)
{
    (void)state;
    for (int kernels = 1; kernels <= 32; kernels *= 2)
        for (int exchange = 1; exchange <= 32; exchange *= 2) {
            double before = 0.0;
            for (int alone = 0; alone <= 4; alone++) {
                double rest = kernels * alone / 4.0;
                double pair = expert_pair_seconds(kernels, rest, exchange, 132);
                assert_true(pair >= kernels && pair >= exchange && pair <= kernels + exchange + 1e-12);
                assert_true(pair >= before - 1e-12); /* the less can overlap, the longer */
                assert_true(expert_pair_seconds(kernels, rest, exchange * 1.01, 132) >= pair);
                before = pair;
            }
            assert_true(fabs(before - kernels - exchange) < 1e-9); /* nothing overlaps */
        }
}

/* Token by token, until they begin again: 8 of 256 experts, four on each of 64 devices, are on two of them. */
static void places_in_turn_are_those_of_each_token(void **state)
{
    static const struct {
        int experts, active;
    } models[] = {{256, 8}, {128, 8}, {384, 8}, {64, 6}, {12, 10}, {8, 2}, {5, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int places = 1; places <= models[i].experts; places++) {
            int all = models[i].experts, active = models[i].active;
            long reached = 0;
            const struct architecture model = {.experts = all, .active_experts = active};
            if (all % places != 0)
                continue;
            for (int token = 0; token < all; token++) {
                bool seen[512] = {false};
                for (int k = 0; k < active; k++)
                    seen[(token * active + k) % all / (all / places)] = true;
                for (int place = 0; place < places; place++)
                    reached += seen[place];
            }
            assert_true(fabs(expert_places_in_turn(&model, places) - (double)reached / all) < 1e-9);
        }
    const struct architecture deepseek = {.experts = 256, .active_experts = 8};
    assert_true(expert_places_in_turn(&deepseek, 64) == 2.0 && expert_places_in_turn(&deepseek, 8) == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_those_of_draws),
        cmocka_unit_test(places_in_turn_are_those_of_each_token),
        cmocka_unit_test(rates_are_those_of_published_tables),
        cmocka_unit_test(merged_tokens_are_faster_than_copies),
        cmocka_unit_test(nobody_to_exchange_with_costs_nothing),
        cmocka_unit_test(pairs_take_between_the_longer_and_the_sum),
    };
    return cmocka_run_group_tests_name("cost/experts", tests, NULL, NULL);
}
