/* What collectives take: by hand for links with round numbers, and what must hold of every link. */
#include "cost/collective.h"
#include "devices/tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB 1048576.0

static struct table table;

/* Links of 1 GB/s without latency, of latency alone, and so on: what is left is what a test is about. */
static const char links_text[] =
    "links:\n"
    "- {name: pure, bandwidth: 1 GB/s, every: {simple: {rate: 1}}}\n"
    "- {name: slow, bandwidth: 0.1 GB/s, every: {simple: {rate: 1}}}\n"
    "- {name: steps, bandwidth: 1 PB/s, every: {simple: {base: 10 us, hop: 1 us, rate: 1}}}\n"
    "- {name: net, bandwidth: 1 PB/s, every: {simple: {base: 100 us, hop: 20 us, rate: 1}}}\n"
    "- name: two\n"
    "  bandwidth: 1 GB/s\n"
    "  every: {ll: {base: 1 us, rate: 0.1, upto: 1 kB}, simple: {base: 50 us, rate: 1}}\n"
    "- {name: copies, bandwidth: 1 GB/s, every: {simple: {rate: 1}, own: 0.5}}\n"
    "- {name: uneven, like: pure, share: [{devices: 2, of: 0.5}]}\n"
    "- {name: switched, like: pure, all_reduce: {nvls: {base: 0, rate: 2, from: 4}}}\n"
    "- {name: kernels, bandwidth: 100 GB/s, barrier: 2 us, every: {simple: {base: 50 us, rate: 1}}}\n";

static int read_links(void **state)
{
    struct error err;
    (void)state;
    if (tables_parse(&table, TABLE_LINKS, "links.yaml", links_text, strlen(links_text), &err))
        return 0;
    fprintf(stderr, "%s\n", err.text);
    return 1;
}

static int release_links(void **state)
{
    (void)state;
    table_release(&table);
    return 0;
}

static struct collective_time inside(enum collective_kind kind, const char *link, int devices, double bytes)
{
    struct collective_group group = {devices, devices, table_find(&table, link), NULL};
    return collective_time(kind, &group, bytes);
}

static struct collective_time across(enum collective_kind kind, const char *near, const char *far,
                                     int devices, int per_node, double bytes)
{
    struct collective_group group = {devices, per_node, table_find(&table, near), table_find(&table, far)};
    return collective_time(kind, &group, bytes);
}

static void is_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("expected %.12g, found %.12g", expected, found);
}

static void one_device_takes_no_time(void **state)
{
    (void)state;
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
        assert_true(inside((enum collective_kind)kind, "net", 1, 1e9).seconds == 0.0);
        assert_true(across((enum collective_kind)kind, "net", "net", 1, 1, 1e9).seconds == 0.0);
    }
}

/* nccl-tests, PERFORMANCE.md: what each device sends. */
static void bytes_on_the_wire_are_those_of_the_field(void **state)
{
    (void)state;
    is_near(inside(COLLECTIVE_ALL_REDUCE, "pure", 4, 1e9).seconds, 2.0 * 3 / 4);
    is_near(inside(COLLECTIVE_ALL_GATHER, "pure", 4, 1e9).seconds, 3.0 / 4);
    is_near(inside(COLLECTIVE_REDUCE_SCATTER, "pure", 8, 1e9).seconds, 7.0 / 8);
    is_near(inside(COLLECTIVE_ALL_TO_ALL, "pure", 8, 1e9).seconds, 7.0 / 8);
    is_near(inside(COLLECTIVE_SEND, "pure", 2, 1e9).seconds, 1.0);
    assert_int_equal(inside(COLLECTIVE_ALL_REDUCE, "pure", 4, 1e9).algorithm, ALGORITHM_RING);
    assert_int_equal(inside(COLLECTIVE_ALL_TO_ALL, "pure", 4, 1e9).algorithm, ALGORITHM_DIRECT);
}

static void steps_are_counted_as_a_ring_takes_them(void **state)
{
    (void)state;
    is_near(inside(COLLECTIVE_ALL_REDUCE, "steps", 8, 0).seconds, 24e-6);
    is_near(inside(COLLECTIVE_ALL_GATHER, "steps", 8, 0).seconds, 17e-6);
    is_near(inside(COLLECTIVE_ALL_TO_ALL, "steps", 8, 0).seconds, 17e-6);
    is_near(inside(COLLECTIVE_SEND, "steps", 2, 0).seconds, 11e-6);
}

static void no_bytes_take_the_latency(void **state)
{
    struct collective_time none = inside(COLLECTIVE_ALL_REDUCE, "steps", 4, 0);
    struct collective_time some = inside(COLLECTIVE_ALL_REDUCE, "steps", 4, 1e12);
    (void)state;
    is_near(none.latency_seconds, none.seconds);
    is_near(some.latency_seconds, none.seconds);
    assert_true(some.seconds > none.seconds);
}

static void small_messages_take_the_quick_protocol(void **state)
{
    (void)state;
    is_near(inside(COLLECTIVE_SEND, "two", 2, 1e3).seconds, 1e-6 + 1e3 / 1e8);
    is_near(inside(COLLECTIVE_SEND, "two", 2, 1e6).seconds, 50e-6 + 1e6 / 1e9);
    /* upto is per device: 1 kB times 2 */
    is_near(inside(COLLECTIVE_SEND, "two", 2, 2000).seconds, 1e-6 + 2000 / 1e8);
    is_near(inside(COLLECTIVE_SEND, "two", 2, 2001).seconds, 50e-6 + 2001 / 1e9);
}

static void the_part_that_stays_is_copied(void **state)
{
    (void)state;
    is_near(inside(COLLECTIVE_ALL_GATHER, "copies", 2, 1e9).seconds, 0.5 + 0.25);
    is_near(inside(COLLECTIVE_ALL_REDUCE, "copies", 8, 1e9).seconds, 1.75 + 0.0625);
}

static void few_devices_get_their_share(void **state)
{
    (void)state;
    is_near(inside(COLLECTIVE_ALL_GATHER, "uneven", 2, 1e9).seconds, 1.0);
    is_near(inside(COLLECTIVE_ALL_GATHER, "uneven", 3, 1e9).seconds, 2.0 / 3);
}

static void the_switch_reduces_where_there_are_enough_devices(void **state)
{
    struct collective_time two = inside(COLLECTIVE_ALL_REDUCE, "switched", 2, 1e9);
    struct collective_time four = inside(COLLECTIVE_ALL_REDUCE, "switched", 4, 1e9);
    (void)state;
    assert_int_equal(two.algorithm, ALGORITHM_RING);
    assert_int_equal(four.algorithm, ALGORITHM_NVLS);
    is_near(four.seconds, 0.5);
}

/* openxla/xla: launch 1 us, then (n-1) B / bandwidth, or twice (n-1)/n B / bandwidth, each with a barrier. */
static void small_all_reduces_are_one_kernel_where_the_link_says_so(void **state)
{
    struct collective_time one = inside(COLLECTIVE_ALL_REDUCE, "kernels", 8, 1e3);
    struct collective_time two = inside(COLLECTIVE_ALL_REDUCE, "kernels", 8, 1e6);
    struct collective_time ring = inside(COLLECTIVE_ALL_REDUCE, "kernels", 8, 1e8);
    (void)state;
    assert_int_equal(one.algorithm, ALGORITHM_ONE_SHOT);
    is_near(one.seconds, 3e-6 + 7e3 / 1e11);
    assert_int_equal(two.algorithm, ALGORITHM_TWO_SHOT);
    is_near(two.seconds, 5e-6 + 2.0 * 7 / 8 * 1e6 / 1e11);
    assert_int_equal(ring.algorithm, ALGORITHM_RING);
}

/* All ports of a node carry a ring through all of its devices. */
static void nodes_are_as_fast_as_all_their_ports(void **state)
{
    (void)state;
    is_near(across(COLLECTIVE_ALL_GATHER, "pure", "slow", 8, 4, 1e9).seconds, 7.0 / 8 / 0.4);
    is_near(across(COLLECTIVE_ALL_GATHER, "pure", "slow", 16, 1, 1e9).seconds, 15.0 / 16 / 0.1);
    /* ten ports are as fast as one link inside: that one limits twenty */
    is_near(across(COLLECTIVE_ALL_GATHER, "pure", "slow", 40, 20, 1e9).seconds, 39.0 / 40);
    /* of 7 peers 4 are in the other node */
    is_near(across(COLLECTIVE_ALL_TO_ALL, "pure", "slow", 8, 4, 1e9).seconds, 4.0 / 8 / 0.1);
    is_near(across(COLLECTIVE_SEND, "pure", "slow", 2, 1, 1e9).seconds, 10.0);
}

static void rings_step_across_once_per_node(void **state)
{
    (void)state;
    is_near(across(COLLECTIVE_ALL_GATHER, "steps", "net", 32, 8, 0).seconds, 100e-6 + 28e-6 + 3 * 20e-6);
    is_near(across(COLLECTIVE_ALL_GATHER, "steps", "net", 4, 1, 0).seconds, 100e-6 + 3 * 20e-6);
    /* uneven: 12 devices, 8 of them in one node */
    is_near(across(COLLECTIVE_ALL_GATHER, "steps", "net", 12, 8, 0).seconds, 100e-6 + 10e-6 + 20e-6);
}

static void many_nodes_reduce_small_messages_in_a_tree(void **state)
{
    struct collective_time small = across(COLLECTIVE_ALL_REDUCE, "steps", "net", 128, 1, 8);
    struct collective_time large = across(COLLECTIVE_ALL_REDUCE, "pure", "slow", 128, 1, 1e9);
    (void)state;
    assert_int_equal(small.algorithm, ALGORITHM_TREE);
    is_near(small.seconds, 100e-6 + 2 * 7 * 20e-6);
    assert_int_equal(large.algorithm, ALGORITHM_RING);
}

static void hierarchical_is_the_sum_of_its_parts(void **state)
{
    /* inside a node nothing costs anything to speak of, so that all that counts is the net */
    struct collective_time time = across(COLLECTIVE_ALL_REDUCE, "switched", "net", 64, 8, 1e3);
    double inner = inside(COLLECTIVE_REDUCE_SCATTER, "switched", 8, 1e3).seconds +
                   inside(COLLECTIVE_ALL_GATHER, "switched", 8, 1e3).seconds;
    double outer = across(COLLECTIVE_ALL_REDUCE, "switched", "net", 8, 1, 1e3 / 8).seconds;
    (void)state;
    assert_true(time.seconds <= inner + outer);
    if (time.algorithm == ALGORITHM_HIERARCHICAL)
        is_near(time.seconds, inner + outer);
}

/* Of the built-in links, between nodes and inside. */
static void all_reduces_are_never_slower_than_a_flat_ring(void **state)
{
    const struct cost_link *near = tables_link(NULL, "nvlink4");
    const struct cost_link *far = tables_link(NULL, "ib-400g");
    (void)state;
    for (int nodes = 2; nodes <= 128; nodes *= 2)
        for (double bytes = 1024; bytes < 1e10; bytes *= 4) {
            struct collective_group group = {8 * nodes, 8, near, far};
            double gather = collective_time(COLLECTIVE_ALL_GATHER, &group, bytes).seconds;
            double scatter = collective_time(COLLECTIVE_REDUCE_SCATTER, &group, bytes).seconds;
            double reduce = collective_time(COLLECTIVE_ALL_REDUCE, &group, bytes).seconds;
            assert_true(reduce <= 1.15 * (gather + scatter));
        }
}

static void check_monotone(enum collective_kind kind, const struct collective_group *group)
{
    double before = 0.0;
    for (double bytes = 1.0; bytes < 1e11; bytes *= 1.09) {
        struct collective_time time = collective_time(kind, group, bytes);
        if (!(time.seconds >= before) || !(time.latency_seconds > 0.0) ||
            !(time.latency_seconds <= time.seconds) || !isfinite(time.seconds))
            fail_msg("%s of %g bytes, %d devices on %s: %g s (latency %g) after %g s",
                     collective_kind_name(kind), bytes, group->devices, group->inside->name, time.seconds,
                     time.latency_seconds, before);
        before = time.seconds;
    }
}

static void more_bytes_take_longer_on_every_link(void **state)
{
    static const int counts[] = {2, 3, 4, 7, 8, 16, 72};
    const struct table *all = tables_known(TABLE_LINKS);
    (void)state;
    for (int i = 0; i < all->count; i++)
        for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                struct collective_group alone = {counts[c], counts[c], &all->links[i], NULL};
                struct collective_group nodes = {16 * counts[c], counts[c], &all->links[i],
                                                 tables_link(NULL, "ib-200g")};
                check_monotone((enum collective_kind)kind, &alone);
                check_monotone((enum collective_kind)kind, &nodes);
            }
}

/* Where nothing depends on the number of devices but the steps and the bytes. */
static void more_devices_take_longer(void **state)
{
    static const char *const names[] = {"pure", "steps", "copies", "kernels"};
    (void)state;
    for (size_t l = 0; l < sizeof names / sizeof *names; l++)
        for (int kind = 0; kind < COLLECTIVE_SEND; kind++)
            for (double bytes = 4096; bytes < 1e9; bytes *= 64)
                for (int devices = 2; devices < 72; devices++)
                    assert_true(inside((enum collective_kind)kind, names[l], devices + 1, bytes).seconds >
                                inside((enum collective_kind)kind, names[l], devices, bytes).seconds);
}

/* Measured links step down where more devices bring a message back under a protocol's `upto`; more nodes do not. */
static void more_nodes_take_longer(void **state)
{
    static const char *const names[] = {"nvlink2",      "nvlink3", "nvlink4",
                                        "nvlink4-h200", "nvlink5", "nvlink5-b300"};
    static const char *const nets[] = {"ib-100g", "ib-200g",      "ib-400g",
                                       "ib-800g", "ethernet-25g", "efa-400g"};
    (void)state;
    for (size_t l = 0; l < sizeof names / sizeof *names; l++)
        for (int kind = 0; kind < COLLECTIVE_SEND; kind++)
            for (double bytes = 1024; bytes < 1e10; bytes *= 3.7) {
                double before = 0.0;
                for (int nodes = 2; nodes <= 512; nodes *= 2) {
                    struct collective_group group = {8 * nodes, 8, tables_link(NULL, names[l]),
                                                     tables_link(NULL, nets[l])};
                    double seconds = collective_time((enum collective_kind)kind, &group, bytes).seconds;
                    if (!(seconds >= 0.95 * before))
                        fail_msg("%s of %g bytes on %d nodes of %s: %g s after %g s",
                                 collective_kind_name((enum collective_kind)kind), bytes, nodes, names[l],
                                 seconds, before);
                    before = fmax(before, seconds);
                }
            }
}

static void a_group_in_one_node_does_not_see_the_net(void **state)
{
    (void)state;
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
        for (double bytes = 1024; bytes < 1e10; bytes *= 7) {
            struct collective_group flat = {8, 8, tables_link(NULL, "nvlink4"), NULL};
            struct collective_group hierarchical = {8, 8, tables_link(NULL, "nvlink4"),
                                                    tables_link(NULL, "ib-400g")};
            struct collective_time a = collective_time((enum collective_kind)kind, &flat, bytes);
            struct collective_time b = collective_time((enum collective_kind)kind, &hierarchical, bytes);
            assert_true(a.seconds == b.seconds && a.algorithm == b.algorithm);
        }
}

/* No group is quicker to start for having a net beside its links. */
static void nodes_do_not_start_faster_than_one(void **state)
{
    (void)state;
    is_near(across(COLLECTIVE_ALL_GATHER, "net", "steps", 4, 2, 0).seconds, 100e-6 + 2 * 20e-6 + 1e-6);
}

/* nccl-tests' bus bandwidth of large all-reduces: the ports of a node, less what a protocol adds. */
static void large_all_reduces_come_near_the_ports(void **state)
{
    static const struct {
        const char *near, *far;
    } clusters[] = {{"nvlink3", "ib-200g"}, {"nvlink4", "ib-400g"}, {"nvlink5", "ib-400g"}};
    (void)state;
    for (size_t c = 0; c < sizeof clusters / sizeof *clusters; c++)
        for (int devices = 16; devices <= 512; devices *= 2) {
            struct collective_group group = {devices, 8, tables_link(NULL, clusters[c].near),
                                             tables_link(NULL, clusters[c].far)};
            double bytes = 8e9;
            double seconds = collective_time(COLLECTIVE_ALL_REDUCE, &group, bytes).seconds;
            double bus = 2.0 * (devices - 1) / devices * bytes / seconds / (8 * group.across->bandwidth);
            assert_true(bus > 0.85 && bus < 0.98);
        }
}

static void newer_links_are_faster(void **state)
{
    static const char *const names[] = {"pcie4", "nvlink2", "nvlink3", "nvlink4", "nvlink5"};
    (void)state;
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
        for (size_t i = 1; i < sizeof names / sizeof *names; i++) {
            struct collective_group older = {8, 8, tables_link(NULL, names[i - 1]), NULL};
            struct collective_group newer = {8, 8, tables_link(NULL, names[i]), NULL};
            assert_true(collective_time((enum collective_kind)kind, &newer, 256 * MIB).seconds <
                        collective_time((enum collective_kind)kind, &older, 256 * MIB).seconds);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_takes_no_time),
        cmocka_unit_test(bytes_on_the_wire_are_those_of_the_field),
        cmocka_unit_test(steps_are_counted_as_a_ring_takes_them),
        cmocka_unit_test(no_bytes_take_the_latency),
        cmocka_unit_test(small_messages_take_the_quick_protocol),
        cmocka_unit_test(the_part_that_stays_is_copied),
        cmocka_unit_test(few_devices_get_their_share),
        cmocka_unit_test(the_switch_reduces_where_there_are_enough_devices),
        cmocka_unit_test(small_all_reduces_are_one_kernel_where_the_link_says_so),
        cmocka_unit_test(nodes_are_as_fast_as_all_their_ports),
        cmocka_unit_test(rings_step_across_once_per_node),
        cmocka_unit_test(many_nodes_reduce_small_messages_in_a_tree),
        cmocka_unit_test(hierarchical_is_the_sum_of_its_parts),
        cmocka_unit_test(all_reduces_are_never_slower_than_a_flat_ring),
        cmocka_unit_test(more_bytes_take_longer_on_every_link),
        cmocka_unit_test(more_devices_take_longer),
        cmocka_unit_test(more_nodes_take_longer),
        cmocka_unit_test(a_group_in_one_node_does_not_see_the_net),
        cmocka_unit_test(nodes_do_not_start_faster_than_one),
        cmocka_unit_test(large_all_reduces_come_near_the_ports),
        cmocka_unit_test(newer_links_are_faster),
    };
    return cmocka_run_group_tests_name("collective", tests, read_links, release_links);
}
