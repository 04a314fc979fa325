/* Chains of graphs: against every order ideal of small random graphs, and the shapes that are hard. */
#include "model/folder.h"
#include "model/graph_text.h"
#include "support/random_problem.h"
#include "support/sanitizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SMALL 10 /* operations of which all subsets are looked at */

static void make_graph(struct graph *graph, struct text *text)
{
    struct error err;
    if (!parse_text(graph, text, &err))
        fail_msg("%s", err.text);
}

static void make_chain(const struct graph *graph, struct chain *chain)
{
    struct error err;
    if (!graph_chain(graph, chain, &err))
        fail_msg("%s", err.text);
}

/* The operation of a layer: names are n0, n1, … */
static int operation(const struct chain *chain, int layer)
{
    return atoi(chain->names[layer] + 1);
}

/* Each operation is there once, behind all that it needs; crossing bytes are as defined. */
static void assert_valid(const struct graph *graph, const struct chain *chain)
{
    static int place[GRAPH_MAX_NODES];
    assert_int_equal(chain->layer_count, graph->node_count);
    memset(place, -1, sizeof place);
    for (int i = 0; i < chain->layer_count; i++)
        place[operation(chain, i)] = i;
    for (int cut = 0; cut < chain->layer_count; cut++) {
        int64_t crossing = 0;
        for (int v = 0; v < graph->node_count; v++) {
            bool needed = false;
            assert_true(place[v] >= 0);
            for (int k = 0; k < graph->nodes[v].next_count; k++) {
                assert_true(place[v] < place[graph->nodes[v].next[k]]);
                needed = needed || place[graph->nodes[v].next[k]] > cut;
            }
            if (place[v] <= cut && needed)
                crossing += graph->nodes[v].activation_bytes;
        }
        assert_int_equal(chain->crossing_bytes[cut], crossing);
    }
}

static void random_graph(struct graph *graph, struct random_source *source, int max, bool twins)
{
    struct text text = {0};
    int count = random_range(source, 1, max);
    int density = random_range(source, 1, 4);
    for (int i = 0; i < count; i++)
        text_node(&text, i, random_unit(source), random_unit(source), random_range(source, 0, twins ? 3 : 20),
                  random_range(source, 0, 9));
    for (int to = 1; to < count; to++)
        for (int from = 0; from < to; from++)
            if (twins ? from / 3 + 1 == to / 3 : random_one_in(source, density))
                text_edge(&text, from, to);
    make_graph(graph, &text);
}

/* Bytes across the cut behind a set of operations; -1: the set is no ideal. */
static int64_t crossing_of(const struct graph *graph, unsigned set)
{
    int64_t bytes = 0;
    for (int v = 0; v < graph->node_count; v++) {
        bool outside = false;
        for (int k = 0; k < graph->nodes[v].next_count; k++)
            outside = outside || !(set >> graph->nodes[v].next[k] & 1);
        if (set >> v & 1)
            bytes += outside ? graph->nodes[v].activation_bytes : 0;
        for (int k = 0; k < graph->nodes[v].previous_count && set >> v & 1; k++)
            if (!(set >> graph->nodes[v].previous[k] & 1))
                return -1;
    }
    return bytes;
}

/* The least sum over all orders, from every ideal there is. */
static double least_of_all(const struct graph *graph)
{
    static double min[1 << SMALL];
    unsigned sets = 1u << graph->node_count;
    min[0] = 0;
    for (unsigned set = 1; set < sets; set++) {
        int64_t bytes = crossing_of(graph, set);
        min[set] = INFINITY;
        for (int v = 0; v < graph->node_count && bytes >= 0; v++)
            if (set >> v & 1)
                min[set] = fmin(min[set], min[set & ~(1u << v)] + (double)bytes);
    }
    return min[sets - 1];
}

static double sum_of(const struct chain *chain)
{
    double bytes = 0;
    for (int i = 0; i < chain->layer_count; i++)
        bytes += (double)chain->crossing_bytes[i];
    return bytes;
}

static void compare_with_all_ideals(bool twins, uint64_t seed)
{
    struct random_source source = {seed};
    for (int i = random_cases(3000); i > 0; i--) {
        struct graph graph;
        struct chain chain;
        random_graph(&graph, &source, SMALL, twins);
        make_chain(&graph, &chain);
        assert_valid(&graph, &chain);
        assert_true(chain.minimal);
        assert_true(sum_of(&chain) == least_of_all(&graph));
        chain_release(&chain);
        graph_release(&graph);
    }
}

static void no_order_of_a_small_graph_is_better(void **state)
{
    (void)state;
    compare_with_all_ideals(false, 1);
}

static void nor_of_one_with_many_twins(void **state)
{
    (void)state;
    compare_with_all_ideals(true, 2);
}

static void layers_add_up(void **state)
{
    (void)state;
    struct random_source source = {3};
    for (int i = random_cases(200); i > 0; i--) {
        struct graph graph;
        struct chain chain;
        struct chain_load all = {0};
        random_graph(&graph, &source, 60, false);
        make_chain(&graph, &chain);
        assert_valid(&graph, &chain);
        for (int k = 0; k < chain.layer_count; k++) {
            const struct graph_node *node = &graph.nodes[operation(&chain, k)];
            assert_true(chain.layers[k].forward == node->forward_ms / 1000);
            assert_true(chain.layers[k].backward == node->backward_ms / 1000);
            assert_int_equal(chain.layers[k].parameter_bytes, node->parameter_bytes);
            all.forward += chain.layers[k].forward;
            all.activation_bytes += chain.layers[k].activation_bytes;
            assert_true(chain.until[k].forward == all.forward);
            assert_int_equal(chain.until[k].activation_bytes, all.activation_bytes);
        }
        struct chain_load whole = chain_range(&chain, 0, chain.layer_count - 1);
        assert_true(whole.forward == all.forward);
        chain_release(&chain);
        graph_release(&graph);
    }
}

static void the_memory_of_a_view_counts_once(void **state)
{
    (void)state;
    struct graph graph;
    struct chain chain;
    struct error err;
    const char *text =
        "n0 -- a -- forward_compute_time=1, backward_compute_time=1, activation_size=[7; 1], "
        "parameter_size=0\n"
        "n1 -- __getitem__(0) -- forward_compute_time=0, backward_compute_time=0, activation_size=7, "
        "parameter_size=0\n"
        "n2 -- b -- forward_compute_time=1, backward_compute_time=1, activation_size=2, parameter_size=0\n"
        "\tn0 -- n1\n\tn1 -- n2\n";
    assert_true(graph_parse(&graph, "graph.txt", text, strlen(text), &err));
    make_chain(&graph, &chain);
    assert_int_equal(chain.crossing_bytes[0], 8);
    assert_int_equal(chain.crossing_bytes[1], 7);
    assert_int_equal(chain.until[2].activation_bytes, 10);
    chain_release(&chain);
    graph_release(&graph);
}

static void two_chains_side_by_side_are_both_there(void **state)
{
    (void)state;
    struct text text = {0};
    struct graph graph;
    struct chain chain;
    struct error err;
    text_line(&text, 0, 10);
    text_line(&text, 10, 10);
    make_graph(&graph, &text);
    make_chain(&graph, &chain);
    assert_valid(&graph, &chain);
    assert_true(sum_of(&chain) == 2 * 9 * 10); /* one after the other */
    chain_release(&chain);
    assert_false(graph_chain_hpgo(&graph, &chain, &err));
    assert_string_equal(
        err.text, "graph.txt:20:1: HPGO starts at the first source only, from which 'n10' cannot be reached");
    assert_null(chain.layers);
    graph_release(&graph);
}

static void operations_without_edges_are_a_chain(void **state)
{
    (void)state;
    struct text text = {0};
    struct graph graph;
    struct chain chain;
    for (int i = 0; i < 100; i++)
        text_node(&text, i, 1, 1, 5, 0);
    make_graph(&graph, &text);
    make_chain(&graph, &chain);
    assert_valid(&graph, &chain);
    assert_true(sum_of(&chain) == 0);
    chain_release(&chain);
    graph_release(&graph);
}

/* The reference's reader goes one call deeper per node, and stops at about a thousand. */
static void a_chain_may_be_long(void **state)
{
    (void)state;
    struct text text = {0};
    struct graph graph;
    struct chain chain;
    struct error err;
    text_line(&text, 0, 1100);
    make_graph(&graph, &text);
    make_chain(&graph, &chain);
    assert_true(chain.minimal);
    assert_int_equal(chain.layer_count, 1100);
    for (int i = 0; i < 1100; i++)
        assert_int_equal(operation(&chain, i), i);
    chain_release(&chain);
    assert_true(graph_chain_hpgo(&graph, &chain, &err));
    for (int i = 0; i < 1100; i++)
        assert_int_equal(operation(&chain, i), i);
    assert_true(chain_before(&chain, 0, 1099));
    chain_release(&chain);
    graph_release(&graph);
}

/* One operation whose output a thousand others use, of which one takes all outputs. */
static void fan(struct graph *graph, int width)
{
    struct text text = {0};
    text_node(&text, 0, 1, 1, 100, 0);
    for (int i = 1; i <= width; i++)
        text_node(&text, i, 1, 1, width + 1 - i, 0);
    text_node(&text, width + 1, 1, 1, 0, 0);
    for (int i = 1; i <= width; i++) {
        text_edge(&text, 0, i);
        text_edge(&text, i, width + 1);
    }
    make_graph(graph, &text);
}

static void a_wide_fan_is_taken_in_ascending_order_of_outputs(void **state)
{
    (void)state;
    struct graph graph;
    struct chain chain;
    struct error err;
    fan(&graph, 1000);
    make_chain(&graph, &chain);
    assert_true(chain.minimal);
    for (int i = 1; i <= 1000; i++)
        assert_int_equal(operation(&chain, i), 1001 - i);
    chain_release(&chain);
    assert_false(graph_chain_hpgo(&graph, &chain, &err));
    assert_non_null(strstr(err.text, "more than 16384 antichains"));
    graph_release(&graph);
}

/* 40 branches of 9 operations have 10^40 ideals. */
static void many_branches_are_cut_all_the_same(void **state)
{
    (void)state;
    struct text text = {0};
    struct graph graph;
    struct chain chain;
    for (int branch = 0; branch < 40; branch++)
        text_line(&text, branch * 9, 9);
    text_node(&text, 360, 1, 1, 1, 0);
    for (int branch = 0; branch < 40; branch++)
        text_edge(&text, branch * 9 + 8, 360);
    make_graph(&graph, &text);
    make_chain(&graph, &chain);
    assert_valid(&graph, &chain);
    assert_false(chain.minimal);
    /* branch after branch: each holds its own 10 bytes and those of all before it */
    assert_true(sum_of(&chain) == 10.0 * 9 * (40 * 41) / 2);
    chain_release(&chain);
    graph_release(&graph);
}

static void six_branches_are_cut_best(void **state)
{
    (void)state;
    struct text text = {0};
    struct graph graph;
    struct chain chain;
    struct error err;
    text_node(&text, 0, 1, 1, 10, 0);
    for (int branch = 0; branch < 6; branch++)
        text_line(&text, 1 + branch * 3, 3);
    text_node(&text, 19, 1, 1, 10, 0);
    for (int branch = 0; branch < 6; branch++) {
        text_edge(&text, 0, 1 + branch * 3);
        text_edge(&text, 3 + branch * 3, 19);
    }
    make_graph(&graph, &text);
    make_chain(&graph, &chain);
    assert_valid(&graph, &chain);
    assert_true(chain.minimal);
    chain_release(&chain);
    assert_true(graph_chain_hpgo(&graph, &chain, &err));
    assert_int_equal(chain.layer_count, 4097);
    chain_release(&chain);
    graph_release(&graph);
}

/* Every operation needs a third of all before it: few antichains, and long to find. */
static void hpgo_gives_up_on_a_dense_graph(void **state)
{
    (void)state;
    if (SEARCH_STEP > 1) /* millions of antichains: minutes */
        skip();
    struct text text = {0};
    struct graph graph;
    struct chain chain;
    struct error err;
    struct random_source source = {5};
    for (int i = 0; i < 1200; i++)
        text_node(&text, i, 1, 1, 1, 0);
    for (int to = 1; to < 1200; to++) {
        text_edge(&text, to - 1, to);
        for (int from = 0; from < to - 1; from++)
            if (random_one_in(&source, 3))
                text_edge(&text, from, to);
    }
    make_graph(&graph, &text);
    assert_false(graph_chain_hpgo(&graph, &chain, &err));
    assert_non_null(strstr(err.text, "to count cuts as HPGO does takes too long: there are more than "));
    graph_release(&graph);
}

static void the_largest_graph_is_cut(void **state)
{
    (void)state;
    struct text text = {0};
    struct graph graph;
    struct chain chain;
    for (int line = 0; line < GRAPH_MAX_NODES / 4; line++)
        text_line(&text, line * 4, 4);
    make_graph(&graph, &text);
    make_chain(&graph, &chain);
    assert_int_equal(chain.layer_count, GRAPH_MAX_NODES);
    chain_release(&chain);
    graph_release(&graph);
}

/* ---- profiles ---- */

static void make_profile(struct profile *profile, struct text *text)
{
    struct graph graph;
    struct error err;
    make_graph(&graph, text);
    if (!graph_profile(&graph, profile, &err))
        fail_msg("%s", err.text);
    graph_release(&graph);
}

static void layers_of_a_profile_take_time(void **state)
{
    (void)state;
    struct random_source source = {4};
    for (int i = random_cases(100); i > 0; i--) {
        struct text text = {0};
        struct profile profile;
        int count = random_range(&source, 1, 16);
        double forward = 0;
        double sum = 0;
        for (int k = 0; k < count; k++) {
            double time = k > 0 && random_one_in(&source, 2) ? 0 : 1;
            text_node(&text, k, time, k == 0 || random_one_in(&source, 2), random_range(&source, 0, 9), 1);
            forward += time / 1000;
        }
        for (int k = 1; k < count; k++)
            text_edge(&text, random_range(&source, 0, k - 1), k);
        make_profile(&profile, &text);
        int64_t parameters = 0;
        for (int k = 0; k < profile.layer_count; k++) {
            assert_true(profile.devices[0].forward[k] > 0);
            assert_true(profile.devices[0].backward[k] > 0);
            sum += profile.devices[0].forward[k];
            parameters += profile.layers[k].parameter_bytes;
        }
        assert_true(fabs(sum - forward) < 1e-9);
        assert_int_equal(parameters, count);
        profile_release(&profile);
    }
}

static void a_layer_without_time_goes_where_fewest_bytes_cross(void **state)
{
    (void)state;
    struct text text = {0};
    struct profile profile;
    static const int sizes[] = {50, 20, 30, 9};
    for (int i = 0; i < 4; i++)
        text_node(&text, i, i == 0 || i == 3, i == 0 || i == 3, sizes[i], 1 << i);
    for (int i = 1; i < 4; i++)
        text_edge(&text, i - 1, i);
    make_profile(&profile, &text);
    assert_int_equal(profile.layer_count, 2);
    assert_int_equal(profile.layers[0].output_bytes, 20);
    assert_int_equal(profile.layers[0].parameter_bytes, 1 + 2);
    assert_int_equal(profile.layers[1].parameter_bytes, 4 + 8);
    assert_string_equal(profile.layers[0].name, "n0");
    assert_string_equal(profile.layers[1].name, "n3");
    profile_release(&profile);
}

static void a_graph_that_takes_no_time_is_no_profile(void **state)
{
    (void)state;
    struct text text = {0};
    struct graph graph;
    struct profile profile;
    struct error err;
    text_node(&text, 0, 1, 0, 1, 1);
    make_graph(&graph, &text);
    assert_false(graph_profile(&graph, &profile, &err));
    assert_string_equal(err.text, "graph.txt: all forward times or all backward times are 0");
    graph_release(&graph);
}

#define LONE_NODE                                                                                            \
    "a -- x -- forward_compute_time=1, backward_compute_time=2, activation_size=8, parameter_size=4\n"

static bool load_from(struct profile *profile, const struct folder *folder, const char *name,
                      int microbatch_size, struct error *err)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    return profile_load(profile, path, microbatch_size, err);
}

static void a_graph_is_loaded_as_a_profile(void **state)
{
    (void)state;
    struct folder folder;
    struct profile profile;
    struct error err;
    folder_make(&folder);
    folder_write(&folder, "net-pbs-32.txt", LONE_NODE);
    assert_true(load_from(&profile, &folder, "net-pbs-32.txt", 0, &err));
    assert_int_equal(profile.layer_count, 1);
    assert_int_equal(profile.microbatch_size, 32);
    assert_true(profile.devices[0].forward[0] == 0.001);
    profile_release(&profile);
    assert_false(load_from(&profile, &folder, "net-pbs-32.txt", 16, &err));
    assert_non_null(strstr(err.text, "microbatch_size: expected 16 as asked for, found 32"));
    folder_remove(&folder);
}

static void its_batch_may_be_told(void **state)
{
    (void)state;
    struct folder folder;
    struct profile profile;
    struct error err;
    folder_make(&folder);
    folder_write(&folder, "graph", LONE_NODE);
    assert_true(load_from(&profile, &folder, "graph", 0, &err));
    assert_int_equal(profile.microbatch_size, 0);
    profile_release(&profile);
    assert_true(load_from(&profile, &folder, "graph", 16, &err));
    assert_int_equal(profile.microbatch_size, 16);
    profile_release(&profile);
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_order_of_a_small_graph_is_better),
        cmocka_unit_test(nor_of_one_with_many_twins),
        cmocka_unit_test(layers_add_up),
        cmocka_unit_test(the_memory_of_a_view_counts_once),
        cmocka_unit_test(two_chains_side_by_side_are_both_there),
        cmocka_unit_test(operations_without_edges_are_a_chain),
        cmocka_unit_test(a_chain_may_be_long),
        cmocka_unit_test(a_wide_fan_is_taken_in_ascending_order_of_outputs),
        cmocka_unit_test(many_branches_are_cut_all_the_same),
        cmocka_unit_test(six_branches_are_cut_best),
        cmocka_unit_test(hpgo_gives_up_on_a_dense_graph),
        cmocka_unit_test(the_largest_graph_is_cut),
        cmocka_unit_test(layers_of_a_profile_take_time),
        cmocka_unit_test(a_layer_without_time_goes_where_fewest_bytes_cross),
        cmocka_unit_test(a_graph_that_takes_no_time_is_no_profile),
        cmocka_unit_test(a_graph_is_loaded_as_a_profile),
        cmocka_unit_test(its_batch_may_be_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
