/* Transfers over the links of a cluster: alone they take the time of cost/collective.h, together they share. */
#include "cost/collective.h"
#include "devices/tables.h"
#include "sim/engine/fabric.h"
#include "sim/engine/symmetry.h"
#include "support/engine_small.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * fmax(1.0, fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

/* A fabric of equal nodes; switches below which there are `nodes` nodes, unless that is 0. */
struct made {
    struct fabric fabric;
    struct fabric_group group;
    struct fabric_level level;
    struct arena arena;
};

static void make(struct made *made, struct fabric_group group, struct fabric_level level)
{
    *made = (struct made){.group = group, .level = level};
    made->fabric = (struct fabric){
        .groups = &made->group, .levels = &made->level, .group_count = 1, .level_count = level.nodes > 0};
    assert_true(fabric_make(&made->fabric, &made->arena));
}

/* Begins a system of all devices of a fabric, with its links. */
static void begin(const struct fabric *fabric)
{
    small_begin(fabric->devices, 1);
    assert_in_range(fabric->link_count, 1, SMALL_MAX);
    fabric_links(fabric, small.links);
    small.system.link_count = fabric->link_count;
}

static struct engine_route *next_route(void)
{
    return &small.routes[small.system.route_count++];
}

static double play(void)
{
    struct engine_result result;
    struct error err;
    small_allow_all();
    if (!engine_run(&small.system, NULL, &result, &err))
        fail_msg("%s", err.text);
    double makespan = result.makespan;
    engine_result_release(&result);
    return makespan;
}

static void collectives_alone_take_the_time_of_the_cost_model(void **state)
{
    (void)state;
    const struct cost_link *inside = tables_link(NULL, "nvlink4"), *across = tables_link(NULL, "ib-400g");
    int played = 0;
    assert_non_null(inside);
    assert_non_null(across);
    for (int nodes = 1; nodes <= 4; nodes++) {
        for (int per_node = 1; per_node <= 8 && nodes * per_node <= 20; per_node++) {
            struct made made;
            make(&made,
                 (struct fabric_group){.nodes = nodes,
                                       .devices_per_node = per_node,
                                       .devices_per_card = per_node % 2 ? 0 : per_node / 2,
                                       .device = inside->bandwidth,
                                       .card = across->bandwidth * per_node / (per_node % 2 ? 1 : 2)},
                 (struct fabric_level){nodes % 2 ? 0 : 2, 1.0});
            struct collective_group group = {nodes * per_node, per_node, inside, across};
            int n = group.devices, devices[SMALL_MAX];
            for (int i = 0; i < n; i++)
                devices[i] = i;
            for (enum collective_kind kind = 0; kind < COLLECTIVE_SEND; kind++) {
                for (int size = 10; size < 34 && n > 1; size += 5) {
                    double bytes = ldexp(1.1, size);
                    struct collective_time time = collective_time(kind, &group, bytes);
                    double moved = (kind == COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0) * (n - 1.0) / n * bytes;
                    double limit = nodes == 1                      ? inside->bandwidth
                                   : kind == COLLECTIVE_ALL_TO_ALL ? across->bandwidth
                                                                   : across->bandwidth * per_node;
                    double rate = fmin(moved / (time.seconds - time.latency_seconds), limit);
                    struct arena arena = {0};
                    begin(&made.fabric);
                    if (kind == COLLECTIVE_ALL_TO_ALL)
                        assert_true(fabric_exchange(&made.fabric, devices, n, rate, &arena, next_route()));
                    else
                        assert_true(fabric_ring(&made.fabric, devices, n, rate, &arena, next_route()));
                    small_group(n, 0);
                    for (int d = 0; d < n; d++)
                        small_add(d, (struct engine_task){.seconds = time.seconds,
                                                          .latency = fmax(0.0, time.seconds - moved / rate),
                                                          .rate = rate,
                                                          .group = 1,
                                                          .label = SMALL_TRANSFER});
                    if (play() != time.seconds)
                        fail_msg("kind %d, %d x %d devices, %g bytes: not %.17g s", kind, nodes, per_node,
                                 bytes, time.seconds);
                    arena_release(&arena);
                    played++;
                }
            }
            arena_release(&made.arena);
        }
    }
    assert_true(played > 400);
}

/* Rings of the devices with the same number in four nodes, each of which could fill the cards alone. */
static void rings_share_cards(void **state)
{
    (void)state;
    for (int rings = 1; rings <= 4; rings++) {
        struct made made;
        struct arena arena = {0};
        make(&made, (struct fabric_group){4, 4, 0, 100.0, 8.0}, (struct fabric_level){0, 0.0});
        struct engine_symmetry symmetry;
        struct error err;
        begin(&made.fabric);
        for (int ring = 0; ring < 4; ring++) {
            int devices[] = {ring, 4 + ring, 8 + ring, 12 + ring};
            assert_true(fabric_ring(&made.fabric, devices, 4, 8.0, &arena, next_route()));
            small_group(4, ring);
        }
        for (int d = 0; d < 16; d++) {
            small_add(d, (struct engine_task){.seconds = d % 4 < rings ? 3.0 : 0.0,
                                              .latency = d % 4 < rings ? 1.0 : 0.0,
                                              .rate = 8.0,
                                              .group = 1,
                                              .label = SMALL_TRANSFER});
            small.devices[d].groups = &small.numbers[d % 4];
            small.devices[d].order = d % 4;
        }
        small_allow_all();
        for (int d = 0; d < 16; d++)
            small.devices[d].group_count = 1;
        struct engine_result whole, one;
        assert_true(engine_run(&small.system, NULL, &whole, &err));
        assert_near(whole.makespan, 1.0 + 2.0 * rings);
        /* One device of each order for four. */
        assert_true(engine_symmetry_find(&small.system, &symmetry, &err));
        assert_int_equal(symmetry.system.device_count, 4);
        assert_true(engine_run(&symmetry.system, NULL, &one, &err));
        assert_true(one.makespan == whole.makespan);
        engine_result_release(&whole);
        engine_result_release(&one);
        engine_symmetry_release(&symmetry);
        arena_release(&arena);
        arena_release(&made.arena);
    }
}

/* Sends `count` messages at the same time, from and to the devices given, of 1 s each at the rate of a port. */
static double send(struct fabric_group group, struct fabric_level level, int count, const int (*pairs)[2],
                   double rate)
{
    struct made made;
    make(&made, group, level);
    begin(&made.fabric);
    for (int i = 0; i < count; i++) {
        assert_true(fabric_send(&made.fabric, pairs[i][0], &pairs[i][1], 1, rate, &made.arena, next_route()));
        small_add(pairs[i][0], (struct engine_task){.seconds = 1.0,
                                                    .rate = rate,
                                                    .route = i + 1,
                                                    .stream = (uint8_t)(1 + i),
                                                    .label = SMALL_TRANSFER});
    }
    double seconds = play();
    arena_release(&made.arena);
    return seconds;
}

static const struct fabric_level no_switches = {0, 0.0};

static void links_are_full_duplex(void **state)
{
    (void)state;
    struct fabric_group nodes = {2, 2, 0, 10.0, 10.0};
    /* Inside a node there and back, between nodes there and back: nobody disturbs another. */
    assert_true(send(nodes, no_switches, 2, (const int[][2]){{0, 1}, {1, 0}}, 10.0) == 1.0);
    assert_true(send(nodes, no_switches, 3, (const int[][2]){{0, 2}, {2, 0}, {0, 1}}, 10.0) == 1.0);
    /* Two out of one device; two into one; two out of the card of one node. */
    assert_near(send(nodes, no_switches, 2, (const int[][2]){{0, 1}, {0, 1}}, 10.0), 2.0);
    nodes.devices_per_node = 3;
    assert_near(send(nodes, no_switches, 2, (const int[][2]){{0, 2}, {1, 2}}, 10.0), 2.0);
    assert_near(send(nodes, no_switches, 2, (const int[][2]){{0, 3}, {1, 4}}, 10.0), 2.0);
    /* With a card for each device only those of one device share. */
    nodes.devices_per_card = 1;
    assert_true(send(nodes, no_switches, 2, (const int[][2]){{0, 3}, {1, 4}}, 10.0) == 1.0);
    assert_near(send(nodes, no_switches, 2, (const int[][2]){{0, 3}, {0, 4}}, 10.0), 2.0);
    assert_near(send(nodes, no_switches, 2, (const int[][2]){{0, 3}, {1, 3}}, 10.0), 2.0);
    nodes.devices_per_card = 2; /* the third device has a card alone */
    assert_near(send(nodes, no_switches, 2, (const int[][2]){{0, 3}, {1, 5}}, 10.0), 2.0);
    assert_true(send(nodes, no_switches, 2, (const int[][2]){{0, 3}, {2, 5}}, 10.0) == 1.0);
    /* To itself: over no link. */
    assert_true(send(nodes, no_switches, 1, (const int[][2]){{0, 0}}, 10.0) == 1.0);
}

/* Two switches over two nodes: messages below a switch do not see uplinks; two that leave one share them. An exchange of four
 * devices sends two thirds of all bytes over uplinks that carry those of one device. */
static void uplinks_are_oversubscribed(void **state)
{
    (void)state;
    const struct fabric_group nodes = {4, 1, 1, 10.0, 10.0};
    const struct fabric_level racks = {2, 2.0};
    assert_true(send(nodes, racks, 2, (const int[][2]){{0, 1}, {1, 2}}, 10.0) == 1.0);
    assert_near(send(nodes, racks, 2, (const int[][2]){{0, 2}, {1, 3}}, 10.0), 2.0);
    assert_true(send(nodes, (struct fabric_level){2, 1.0}, 2, (const int[][2]){{0, 2}, {1, 3}}, 10.0) == 1.0);
    struct made made;
    int devices[] = {0, 1, 2, 3};
    make(&made, nodes, racks);
    begin(&made.fabric);
    assert_true(fabric_exchange(&made.fabric, devices, 4, 10.0, &made.arena, next_route()));
    small_group(4, 0);
    for (int d = 0; d < 4; d++)
        small_add(d, (struct engine_task){.seconds = 3.0, .rate = 10.0, .group = 1, .label = SMALL_TRANSFER});
    assert_true(fabs(play() - 4.0) < 4e-3); /* weights are in parts of ENGINE_WEIGHT */
    arena_release(&made.arena);
}

/* The switch of a job's last nodes has all its uplinks, though other jobs' nodes are below it. Numbers go through groups. */
static void groups_and_levels_are_numbered_through(void **state)
{
    (void)state;
    static const struct fabric_group groups[] = {{3, 2, 1, 30.0, 10.0}, {2, 4, 4, 60.0, 40.0}};
    static const struct fabric_level levels[] = {{2, 2.0}, {4, 4.0}};
    struct fabric fabric = {.groups = groups, .levels = levels, .group_count = 2, .level_count = 2};
    struct arena arena = {0};
    struct engine_link links[64];
    char name[64];
    assert_true(fabric_make(&fabric, &arena));
    assert_int_equal(fabric.nodes, 5);
    assert_int_equal(fabric.devices, 14);
    assert_int_equal(fabric.cards, 8);
    assert_int_equal(fabric.link_count, 2 * (14 + 8 + 3 + 2));
    fabric_links(&fabric, links);
    assert_true(links[0].capacity == 30.0 && links[2 * 6].capacity == 60.0);
    assert_true(links[2 * 14].capacity == 10.0 && links[2 * 20].capacity == 40.0);
    assert_true(links[2 * 22].capacity == 20.0 && links[2 * 23].capacity == 30.0);
    assert_true(links[2 * 24].capacity == 40.0); /* one node of two is there */
    assert_true(links[2 * 25].capacity == 25.0 && links[2 * 26].capacity == 40.0);
    assert_int_equal(fabric_device(&fabric, 4, 3), 13);
    assert_int_equal(fabric_device(&fabric, 0, 2), -1);
    assert_int_equal(fabric_device(&fabric, 5, 0), -1);
    assert_int_equal(fabric_describe(&fabric, 2 * 13 + 1, name, sizeof name), 13);
    assert_string_equal(name, "port of device 3 of node 4, in");
    assert_int_equal(fabric_describe(&fabric, 2 * 17, name, sizeof name), 3);
    assert_string_equal(name, "card 1 of node 1, out");
    assert_int_equal(fabric_describe(&fabric, 2 * 26 + 1, name, sizeof name), 10);
    assert_string_equal(name, "downlink of switch 1 of level 1");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_alone_take_the_time_of_the_cost_model),
        cmocka_unit_test(rings_share_cards),
        cmocka_unit_test(links_are_full_duplex),
        cmocka_unit_test(uplinks_are_oversubscribed),
        cmocka_unit_test(groups_and_levels_are_numbered_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
