#include "cluster/cluster.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void parse(struct cluster *cluster, const char *path, const char *text)
{
    struct error err;
    if (!cluster_parse(cluster, path, text, strlen(text), &err))
        fail_msg("%s", err.text);
}

static bool near(double a, double b)
{
    return fabs(a / b - 1) < 1e-15;
}

static const char example[] =
    "profile: {device: rtx_4090_24gb, speed: 2.94}\n"
    "groups:\n"
    "  - {device: v_100_16gb, speed: 1.0, nodes: 2, devices_per_node: 2, memory: 16 GiB}\n"
    "  - {device: rtx_3090_24gb, speed: 1.8, nodes: 3, devices_per_node: 4, intra_node: {bandwidth: 25 GB/s, "
    "latency: 5 us}}\n"
    "inter_node: {bandwidth: 25 Gb/s, latency: 15 us}\n";

static void yaml_is_read(void **state)
{
    struct cluster cluster;
    (void)state;
    parse(&cluster, "cluster.yaml", example);
    assert_string_equal(cluster.path, "cluster.yaml");
    assert_null(cluster.name);
    assert_string_equal(cluster.profile_device, "rtx_4090_24gb");
    assert_true(cluster.profile_speed == 2.94);
    assert_string_equal(cluster.profile_place, "cluster.yaml:1:10: profile");
    assert_int_equal(cluster.group_count, 2);
    assert_string_equal(cluster.groups[0].device, "v_100_16gb");
    assert_true(cluster.groups[0].speed == 1);
    assert_int_equal(cluster.groups[0].nodes.count, 2);
    assert_int_equal(cluster.groups[0].nodes.devices, 2);
    assert_int_equal(cluster.groups[0].nodes.memory, INT64_C(16) << 30);
    assert_true(cluster.groups[0].intra_node.bandwidth == 0);
    assert_int_equal(cluster.groups[1].nodes.memory, 0);
    assert_true(cluster.groups[1].intra_node.bandwidth == 25e9);
    assert_true(near(cluster.groups[1].intra_node.latency, 5e-6));
    assert_true(cluster.inter_node.bandwidth == 25e9 / 8);
    assert_true(near(cluster.inter_node.latency, 15e-6));
    cluster_release(&cluster);
}

static void groups_know_their_place(void **state)
{
    struct cluster cluster;
    (void)state;
    parse(&cluster, "cluster.yaml", example);
    assert_string_equal(cluster.groups[0].place, "cluster.yaml:3:5: groups[0]");
    assert_string_equal(cluster.groups[1].place, "cluster.yaml:4:5: groups[1]");
    cluster_release(&cluster);
}

static void json_is_read(void **state)
{
    struct cluster cluster;
    (void)state;
    parse(&cluster, "cluster.json",
          "{\"format\": \"rehearse-cluster/1\", \"name\": \"lab\",\n"
          " \"groups\": [{\"device\": \"t4\", \"nodes\": 1, \"devices_per_node\": 1, \"memory\": "
          "17179869184}]}");
    assert_string_equal(cluster.name, "lab");
    assert_int_equal(cluster.groups[0].nodes.memory, INT64_C(17179869184));
    assert_string_equal(cluster.groups[0].place, "cluster.json:2:13: groups[0]");
    cluster_release(&cluster);
}

static void least_is_a_group(void **state)
{
    struct cluster cluster;
    (void)state;
    parse(&cluster, "c.yaml", "groups: [{device: a, nodes: 1, devices_per_node: 1}]");
    assert_int_equal(cluster.group_count, 1);
    assert_null(cluster.profile_device);
    assert_true(cluster.groups[0].speed == 0);
    assert_true(cluster.inter_node.bandwidth == 0);
    cluster_release(&cluster);
}

static void a_device_type_may_come_twice(void **state)
{
    struct cluster cluster;
    (void)state;
    parse(&cluster, "c.yaml",
          "groups: [{device: a, nodes: 1, devices_per_node: 8}, {device: a, nodes: 2, devices_per_node: 3}]");
    assert_int_equal(cluster.group_count, 2);
    assert_string_equal(cluster.groups[1].device, "a");
    assert_int_equal(cluster.groups[1].nodes.devices, 3);
    cluster_release(&cluster);
}

static void names_may_look_like_numbers(void **state)
{
    struct cluster cluster;
    (void)state;
    parse(&cluster, "c.yaml", "groups: [{device: 4090, nodes: 1, devices_per_node: 1}]");
    assert_string_equal(cluster.groups[0].device, "4090");
    cluster_release(&cluster);
}

static void a_file_is_read(void **state)
{
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    char path[4096];
    struct cluster cluster;
    struct error err;
    (void)state;
    snprintf(path, sizeof path, "%s/examples/mixed.yaml", root ? root : ".");
    assert_true(cluster_load(&cluster, path, &err));
    assert_int_equal(cluster.group_count, 4);
    cluster_release(&cluster);
}

static void a_file_that_is_not_there_is_an_error(void **state)
{
    struct cluster cluster;
    struct error err;
    (void)state;
    assert_false(cluster_load(&cluster, "no-such-cluster.yaml", &err));
    assert_non_null(strstr(err.text, "no-such-cluster.yaml"));
}

static void a_resolved_group_has_devices_links_and_memory(void **state)
{
    struct cluster cluster;
    struct error err;
    (void)state;
    parse(
        &cluster, "c.yaml",
        "groups:\n"
        "  - {device: h100, nodes: 2, devices_per_node: 8}\n"
        "  - {device: a100, nodes: 1, devices_per_node: 4, memory: 30 GB, intra_node: {bandwidth: 7 GB/s}}\n"
        "inter_node: {bandwidth: 40 GB/s}\n");
    assert_null(cluster.groups[0].type);
    assert_true(cluster_resolve(&cluster, NULL, NULL, &err));
    const struct cluster_group *plain = &cluster.groups[0], *own = &cluster.groups[1];
    const struct cost_device *h100 = tables_device(NULL, "h100");
    assert_string_equal(plain->type->name, h100->name);
    assert_int_equal(plain->nodes.memory, h100->memory);
    assert_ptr_equal(plain->inside, tables_link(NULL, h100->link));
    assert_ptr_equal(plain->calibration, tables_calibration(NULL, h100));
    assert_string_equal(plain->across->name, "inter_node (like ib-400g)");
    assert_true(plain->across->bandwidth == 5e9); /* 8 devices share a node's link */
    assert_int_equal(own->nodes.memory, 30000000000);
    assert_int_equal(own->type->memory, 30000000000);
    assert_true(own->inside->bandwidth == 7e9 && own->across->bandwidth == 10e9);
    assert_string_equal(own->across->name, "inter_node (like ib-200g)");
    assert_string_equal(own->inside->name, "intra_node (like nvlink3)");
    assert_true(cluster_resolve(&cluster, NULL, "ib-100g", &err));
    assert_ptr_equal(cluster.groups[1].across, tables_link(NULL, "ib-100g"));
    assert_false(cluster_resolve(&cluster, NULL, "ib-1g", &err));
    assert_string_equal(err.text, "--across: unknown link 'ib-1g', did you mean 'ib-100g'?");
    cluster_release(&cluster);
    parse(&cluster, "c.yaml", "groups:\n  - {device: h1, nodes: 2, devices_per_node: 8}\n");
    assert_false(cluster_resolve(&cluster, NULL, NULL, &err));
    assert_non_null(strstr(err.text, "c.yaml:2:5: groups[0].device: unknown device 'h1'"));
    cluster_release(&cluster);
}

/* The lowest switches may join any number of nodes; as many levels as there may be are read. */
static void levels_of_switches_have_a_limit(void **state)
{
    struct cluster cluster;
    char text[1000] = "groups: [{device: a100, nodes: 60000, devices_per_node: 8}]\nnetwork:\n";
    (void)state;
    for (int level = 0, nodes = 3; level < CLUSTER_MAX_LEVELS; level++, nodes *= 2) {
        size_t end = strlen(text);
        snprintf(text + end, sizeof text - end, "  - {nodes: %d, oversubscription: 2}\n", nodes);
    }
    parse(&cluster, "c.yaml", text);
    assert_int_equal(cluster.network->level_count, CLUSTER_MAX_LEVELS);
    assert_int_equal(cluster.network->levels[0].nodes, 3);
    cluster_release(&cluster);
}

/* Groups join where nothing tells them apart, at the place of the first; each number that differs keeps them apart. */
static void alike_groups_are_joined(void **state)
{
#define GPUS(device, speed, nodes, each, memory, bandwidth, latency)                                         \
    "device: " device ", speed: " speed ", nodes: " nodes ", devices_per_node: " each ", memory: " memory    \
    ", intra_node: {bandwidth: " bandwidth latency "}"
#define ONE GPUS("a100", "2", "1", "8", "32 GB", "9 GB/s", ", latency: 5 us")
    static const char *const others[] = {
        GPUS("v100", "2", "1", "8", "32 GB", "9 GB/s", ", latency: 5 us"),
        GPUS("a100", "3", "1", "8", "32 GB", "9 GB/s", ", latency: 5 us"),
        GPUS("a100", "2", "1", "4", "32 GB", "9 GB/s", ", latency: 5 us"),
        GPUS("a100", "2", "1", "8", "33 GB", "9 GB/s", ", latency: 5 us"),
        GPUS("a100", "2", "1", "8", "32 GB", "8 GB/s", ", latency: 5 us"),
        GPUS("a100", "2", "1", "8", "32 GB", "9 GB/s", ", latency: 6 us"),
        GPUS("a100", "2", "1", "8", "32 GB", "9 GB/s", ""),
        GPUS("a100", "2", "65534", "8", "32 GB", "9 GB/s", ", latency: 5 us"),
        GPUS("a100", "2", "65533", "8", "32 GB", "9 GB/s", ", latency: 5 us"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct cluster cluster;
        char text[1000];
        snprintf(text, sizeof text,
                 "groups:\n  - {" ONE "}\n  - {%s}\n  - {device: h100, nodes: 1, devices_per_node: 8}\n"
                 "  - {" ONE "}\n  - {" ONE "}\n",
                 others[i]);
        parse(&cluster, "c.yaml", text);
        int nodes = cluster.groups[1].nodes.count;
        cluster_join_alike(&cluster);
        const bool joins = nodes > 1, fits = nodes + 3 <= CLUSTER_MAX_NODES;
        assert_int_equal(cluster.group_count, joins && fits ? 2 : 3);
        assert_int_equal(cluster.groups[0].nodes.count, joins ? CLUSTER_MAX_NODES : 3);
        assert_string_equal(cluster.groups[joins ? 1 : 2].device, "h100");
        assert_int_equal(cluster.groups[cluster.group_count - 1].nodes.count, 1);
        cluster_release(&cluster);
    }
}

/* Keys of the file that change nothing are named, in one order. */
static void keys_that_do_not_count_are_named(void **state)
{
    static const struct {
        const char *text;
        unsigned used;
        const char *names;
    } cases[] = {
        {"groups: [{device: a100, nodes: 2, devices_per_node: 8}]\n", 0, NULL},
        {example, 0, "inter_node, intra_node, speed, profile"},
        {example, CLUSTER_INTER_NODE, "intra_node, speed, profile"},
        {example, CLUSTER_INTRA_NODE, "inter_node, speed, profile"},
        {example, CLUSTER_SPEED, "inter_node, intra_node"},
        {example, CLUSTER_INTER_NODE | CLUSTER_INTRA_NODE | CLUSTER_SPEED, NULL},
        {"groups: [{device: a100, nodes: 4, devices_per_node: 8}]\nnetwork: [{nodes: 2, oversubscription: "
         "2}]\n",
         CLUSTER_INTER_NODE | CLUSTER_INTRA_NODE | CLUSTER_SPEED, "network"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cluster cluster;
        struct arena arena = {0};
        parse(&cluster, "c.yaml", cases[i].text);
        const char *names = cluster_not_counted(&cluster, cases[i].used, &arena);
        if (cases[i].names)
            assert_string_equal(names, cases[i].names);
        else
            assert_null(names);
        arena_release(&arena);
        cluster_release(&cluster);
    }
}

/* A link like one of the tables has its protocols, and another bandwidth; its name says both, and is understood again. */
static void links_are_like_others(void **state)
{
    (void)state;
    struct arena arena = {0};
    const struct cost_link *known = tables_link(NULL, "ib-200g");
    assert_ptr_equal(cluster_link_like(NULL, "inter_node", "ib-200g", 0, &arena), known);
    assert_null(cluster_link_like(NULL, "inter_node", "ib-1g", 5e9, &arena));
    const struct cost_link *own = cluster_link_like(NULL, "inter_node", "ib-200g", 5e9, &arena);
    assert_string_equal(own->name, "inter_node (like ib-200g)");
    assert_true(own->bandwidth == 5e9 && own->latency == known->latency);
    assert_true(cluster_link_is_own(own->name) && !cluster_link_is_own(known->name));
    const struct cost_link *again = cluster_link_like(NULL, NULL, own->name, 6e9, &arena);
    assert_string_equal(again->name, own->name);
    assert_true(again->bandwidth == 6e9);
    assert_string_equal(cluster_link_like(NULL, "intra_node", own->name, 7e9, &arena)->name,
                        "intra_node (like ib-200g)");
    assert_ptr_equal(cluster_link_like(NULL, NULL, own->name, 0, &arena), known);
    const struct cost_link *same_name = cluster_link_like(NULL, NULL, "ib-200g", 8e9, &arena);
    assert_string_equal(same_name->name, "ib-200g");
    assert_true(same_name->bandwidth == 8e9 && known->bandwidth != 8e9);
    arena_release(&arena);
}

/* What comes before and after the group that a case is about. */
#define GROUP(fields) "groups:\n  - {" fields "}\n"

static const struct {
    const char *text;
    const char *message;
} bad[] = {
    {"", "c.yaml:1:1: the file is empty"},
    {"groups: []", "c.yaml:1:9: groups: expected at least one group"},
    {"groups: 3", "c.yaml:1:9: groups: expected a list, found '3'"},
    {"[1, 2]", "c.yaml:1:1: expected a map, found a list"},
    {"groups", "c.yaml:1:1: expected a map, found 'groups'"},
    {"nodes: 1", "c.yaml:1:8: nodes: unknown key"},
    {"group: [{device: a, nodes: 1, devices_per_node: 1}]",
     "c.yaml:1:8: group: unknown key, did you mean 'groups'?"},
    {GROUP(""), "c.yaml:2:5: groups[0]: 'device' is missing"},
    {GROUP("device: a"), "c.yaml:2:5: groups[0]: 'nodes' is missing"},
    {GROUP("device: a, nodes: 1"), "c.yaml:2:5: groups[0]: 'devices_per_node' is missing"},
    {GROUP("nodes: 1, devices_per_node: 1"), "c.yaml:2:5: groups[0]: 'device' is missing"},
    {GROUP("device: a, nodes: 0, devices_per_node: 1"),
     "c.yaml:2:24: groups[0].nodes: expected a whole number from 1 to 65536, found '0'"},
    {GROUP("device: a, nodes: -2, devices_per_node: 1"),
     "c.yaml:2:24: groups[0].nodes: expected a whole number from 1 to 65536, found '-2'"},
    {GROUP("device: a, nodes: 1.5, devices_per_node: 1"),
     "c.yaml:2:24: groups[0].nodes: expected a whole number from 1 to 65536, found '1.5'"},
    {GROUP("device: a, nodes: .nan, devices_per_node: 1"),
     "c.yaml:2:24: groups[0].nodes: expected a whole number from 1 to 65536, found '.nan'"},
    {GROUP("device: a, nodes: NaN, devices_per_node: 1"),
     "c.yaml:2:24: groups[0].nodes: expected a whole number from 1 to 65536, found 'NaN'"},
    {GROUP("device: a, nodes: two, devices_per_node: 1"),
     "c.yaml:2:24: groups[0].nodes: expected a whole number from 1 to 65536, found 'two'"},
    {GROUP("device: a, nodes: 1e30, devices_per_node: 1"),
     "c.yaml:2:24: groups[0].nodes: expected a whole number from 1 to 65536, found '1e30'"},
    {GROUP("device: a, nodes: 65537, devices_per_node: 1"),
     "c.yaml:2:24: groups[0].nodes: expected a whole number from 1 to 65536, found '65537'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 0"),
     "c.yaml:2:45: groups[0].devices_per_node: expected a whole number from 1 to 1024, found '0'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1025"),
     "c.yaml:2:45: groups[0].devices_per_node: expected a whole number from 1 to 1024, found '1025'"},
    {GROUP("device: a, nodes: 65536, devices_per_node: 1024"),
     "c.yaml:2:5: groups[0]: more than 16777216 devices up to here"},
    {GROUP("device: a, nodes: 1, nodes: 2, devices_per_node: 1"),
     "c.yaml:2:34: groups[0].nodes: given twice, first in line 2"},
    {GROUP("device: a, node: 1, devices_per_node: 1"),
     "c.yaml:2:23: groups[0].node: unknown key, did you mean 'nodes'?"},
    {GROUP("device: a, nodes: 1, devices_per_nod: 1"),
     "c.yaml:2:44: groups[0].devices_per_nod: unknown key, did you mean 'devices_per_node'?"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, colour: red"),
     "c.yaml:2:56: groups[0].colour: unknown key"},
    {GROUP("device: \"\", nodes: 1, devices_per_node: 1"),
     "c.yaml:2:14: groups[0].device: expected a non-empty string"},
    {GROUP("device: [a], nodes: 1, devices_per_node: 1"),
     "c.yaml:2:14: groups[0].device: expected a string, found a list"},
    {GROUP("device: , nodes: 1, devices_per_node: 1"),
     "c.yaml:2:14: groups[0].device: expected a string, found null"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, speed: -1"),
     "c.yaml:2:55: groups[0].speed: expected a number from 1e-06 to 1000000, found '-1'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, speed: 0"),
     "c.yaml:2:55: groups[0].speed: expected a number from 1e-06 to 1000000, found '0'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, speed: .inf"),
     "c.yaml:2:55: groups[0].speed: expected a number from 1e-06 to 1000000, found '.inf'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, speed: fast"),
     "c.yaml:2:55: groups[0].speed: expected a number from 1e-06 to 1000000, found 'fast'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, speed: 1e7"),
     "c.yaml:2:55: groups[0].speed: expected a number from 1e-06 to 1000000, found '1e7'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, speed: 1e-300"),
     "c.yaml:2:55: groups[0].speed: expected a number from 1e-06 to 1000000, found '1e-300'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, memory: 16 Gib"),
     "c.yaml:2:56: groups[0].memory: expected a size such as 16 GiB (more than 0), found '16 Gib'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, memory: 16 GB/s"),
     "c.yaml:2:56: groups[0].memory: expected a size such as 16 GiB (more than 0), found '16 GB/s'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, memory: -16 GiB"),
     "c.yaml:2:56: groups[0].memory: expected a size such as 16 GiB (more than 0), found '-16 GiB'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, memory: 0"),
     "c.yaml:2:56: groups[0].memory: expected a size such as 16 GiB (more than 0), found '0'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, memory: 0.5"),
     "c.yaml:2:56: groups[0].memory: expected from 1 to 9.0072e+15 bytes, found '0.5'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, memory: 9 PiB"),
     "c.yaml:2:56: groups[0].memory: expected from 1 to 9.0072e+15 bytes, found '9 PiB'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, intra_node: 25 GB/s"),
     "c.yaml:2:60: groups[0].intra_node: expected a map, found '25 GB/s'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, intra_node: {latency: 5 us}"),
     "c.yaml:2:60: groups[0].intra_node: 'bandwidth' is missing"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, intra_node: {bandwith: 25 GB/s}"),
     "c.yaml:2:71: groups[0].intra_node.bandwith: unknown key, did you mean 'bandwidth'?"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, intra_node: {bandwidth: 25 GB}"),
     "c.yaml:2:72: groups[0].intra_node.bandwidth: expected a rate such as 25 Gb/s or 300 GB/s (more than "
     "0), "
     "found '25 GB'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, intra_node: {bandwidth: 0.5}"),
     "c.yaml:2:72: groups[0].intra_node.bandwidth: expected from 1 to 1e+18 bytes per second, found '0.5'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, intra_node: {bandwidth: 1e19}"),
     "c.yaml:2:72: groups[0].intra_node.bandwidth: expected from 1 to 1e+18 bytes per second, found '1e19'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, intra_node: {bandwidth: 1e9, latency: -1}"),
     "c.yaml:2:86: groups[0].intra_node.latency: expected a time such as 5 us, found '-1'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1, intra_node: {bandwidth: 1e9, latency: 2 h}"),
     "c.yaml:2:86: groups[0].intra_node.latency: expected from 0 to 3600 seconds, found '2 h'"},
    {"groups:\n  - {device: a, nodes: 1, devices_per_node: 1",
     "c.yaml:3:1: did not find expected ',' or '}' while parsing a flow mapping"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1") "inter_node: {bandwidth: fast}\n",
     "c.yaml:3:25: inter_node.bandwidth: expected a rate such as 25 Gb/s or 300 GB/s (more than 0), found "
     "'fast'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1") "profile: rtx_4090\n",
     "c.yaml:3:10: profile: expected a map, found 'rtx_4090'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1") "profile: {speed: 2}\n",
     "c.yaml:3:10: profile: 'device' is missing"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1") "profile: {device: a, speed: -2}\n",
     "c.yaml:3:29: profile.speed: expected a number from 1e-06 to 1000000, found '-2'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1") "profile: {device: a, memory: 1}\n",
     "c.yaml:3:30: profile.memory: unknown key"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1") "format: rehearse-cluster/2\n",
     "c.yaml:3:9: format: expected 'rehearse-cluster/1', found 'rehearse-cluster/2'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1") "format: rehearse-profile/1\n",
     "c.yaml:3:9: format: expected 'rehearse-cluster/1', found 'rehearse-profile/1'"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1") "groups: []\n",
     "c.yaml:3:9: groups: given twice, first in line 2"},
    {GROUP("device: a, nodes: 1, devices_per_node: 1") "name: \"\"\n",
     "c.yaml:3:7: name: expected a non-empty string"},
};

static void mistakes_are_named_with_place_and_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cluster cluster;
        struct error err = {0};
        assert_false(cluster_parse(&cluster, "c.yaml", bad[i].text, strlen(bad[i].text), &err));
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_string_equal(err.text, bad[i].message);
        assert_null(cluster.groups);
    }
}

static void too_many_groups_are_refused(void **state)
{
    char text[4096] = "groups:\n";
    struct cluster cluster;
    struct error err;
    (void)state;
    for (int i = 0; i <= CLUSTER_MAX_GROUPS; i++)
        strcat(text, "- {device: a, nodes: 1, devices_per_node: 1}\n");
    assert_false(cluster_parse(&cluster, "c.yaml", text, strlen(text), &err));
    assert_string_equal(err.text, "c.yaml:2:1: groups: expected at most 32 groups, found 33");
}

static void switches_are_read_level_by_level(void **state)
{
    (void)state;
    static const char groups[] = "groups: [{device: a, nodes: 8, devices_per_node: 2}]\n";
    static const struct {
        const char *network, *message;
    } wrong[] = {
        {"network: 3\n", "network: expected a list"},
        {"network: [{nodes: 4}]\n", "oversubscription"},
        {"network: [{nodes: 0, oversubscription: 1}]\n", "nodes: expected a whole number"},
        {"network: [{nodes: 2, oversubscription: 0}]\n", "oversubscription: expected a number"},
        {"network: [{nodes: 2, oversubscription: 1, depth: 2}]\n", "depth: unknown key"},
        {"network: [{nodes: 4, oversubscription: 1}, {nodes: 6, oversubscription: 1}]\n",
         "network[1].nodes: expected a multiple of the 4 nodes below a switch of the level before, found 6"},
        {"network: [{nodes: 4, oversubscription: 1}, {nodes: 4, oversubscription: 1}]\n",
         "network[1].nodes: expected a multiple of the 4 nodes"},
    };
    struct cluster cluster;
    struct error err;
    char text[512];
    snprintf(text, sizeof text,
             "%snetwork: [{nodes: 2, oversubscription: 1.5}, {nodes: 8, oversubscription: 3}]\n", groups);
    parse(&cluster, "c.yaml", text);
    assert_int_equal(cluster.network->level_count, 2);
    assert_int_equal(cluster.network->levels[1].nodes, 8);
    assert_true(cluster.network->levels[0].oversubscription == 1.5);
    assert_ptr_equal(cluster.groups[0].network, cluster.network);
    cluster_release(&cluster);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%s%s", groups, wrong[i].network);
        assert_false(cluster_parse(&cluster, "c.yaml", text, strlen(text), &err));
        if (!strstr(err.text, wrong[i].message))
            fail_msg("%s: %s", wrong[i].message, err.text);
    }
}

/* Every prefix of a good file is either a good file or an error, never a crash. */
static void truncated_files_are_survived(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof example; length++) {
        struct cluster cluster;
        struct error err;
        if (cluster_parse(&cluster, "c.yaml", example, length, &err))
            cluster_release(&cluster);
        else
            assert_int_equal(err.kind, ERROR_INPUT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_is_read),
        cmocka_unit_test(groups_know_their_place),
        cmocka_unit_test(json_is_read),
        cmocka_unit_test(least_is_a_group),
        cmocka_unit_test(a_device_type_may_come_twice),
        cmocka_unit_test(names_may_look_like_numbers),
        cmocka_unit_test(a_file_is_read),
        cmocka_unit_test(a_resolved_group_has_devices_links_and_memory),
        cmocka_unit_test(levels_of_switches_have_a_limit),
        cmocka_unit_test(alike_groups_are_joined),
        cmocka_unit_test(keys_that_do_not_count_are_named),
        cmocka_unit_test(links_are_like_others),
        cmocka_unit_test(a_file_that_is_not_there_is_an_error),
        cmocka_unit_test(mistakes_are_named_with_place_and_cause),
        cmocka_unit_test(too_many_groups_are_refused),
        cmocka_unit_test(switches_are_read_level_by_level),
        cmocka_unit_test(truncated_files_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
