/* The text of a graph: what is read, and what is refused and where. */
#include "model/graph_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIMES "forward_compute_time=1.5, backward_compute_time=2, activation_size=8, parameter_size=4.000"

static void parse(struct graph *graph, const char *text)
{
    struct error err;
    if (!graph_parse(graph, "graph.txt", text, strlen(text), &err))
        fail_msg("%s", err.text);
}

static void assert_refused(const char *text, const char *message)
{
    struct graph graph;
    struct error err;
    assert_false(graph_parse(&graph, "graph.txt", text, strlen(text), &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_string_equal(err.text, message);
    assert_null(graph.nodes);
}

static void nodes_and_edges_are_read(void **state)
{
    (void)state;
    struct graph graph;
    parse(&graph, "a -- Conv(3, 4) -- " TIMES "\nb -- ReLU -- " TIMES "\n\ta -- b\n");
    assert_int_equal(graph.node_count, 2);
    assert_string_equal(graph.nodes[0].id, "a");
    assert_string_equal(graph.nodes[0].name, "Conv(3, 4)");
    assert_true(graph.nodes[0].forward_ms == 1.5);
    assert_true(graph.nodes[0].backward_ms == 2);
    assert_int_equal(graph.nodes[0].activation_bytes, 8);
    assert_int_equal(graph.nodes[0].parameter_bytes, 4);
    assert_int_equal(graph.nodes[0].next_count, 1);
    assert_int_equal(graph.nodes[0].next[0], 1);
    assert_int_equal(graph.nodes[1].previous[0], 0);
    assert_int_equal(graph.nodes[1].line, 2);
    graph_release(&graph);
}

static void edges_may_begin_with_any_blanks(void **state)
{
    (void)state;
    struct graph graph;
    parse(&graph, "a -- x -- " TIMES "\nb -- x -- " TIMES "\nc -- x -- " TIMES "\nd -- x -- " TIMES
                  "\n  a -- b\n \tb -- c\n\tc -- d");
    assert_int_equal(graph.read_edges, 3);
    assert_int_equal(graph.nodes[3].previous_count, 1);
    graph_release(&graph);
}

static void blanks_at_the_end_of_a_line_and_empty_lines_are_nothing(void **state)
{
    (void)state;
    struct graph graph;
    parse(&graph, "\na -- x -- " TIMES " \r\n \nb -- x -- " TIMES "\n\ta -- b \r\n\n");
    assert_int_equal(graph.node_count, 2);
    assert_int_equal(graph.nodes[0].next_count, 1);
    graph_release(&graph);
}

static void activations_of_a_list_are_added(void **state)
{
    (void)state;
    struct graph graph;
    parse(&graph,
          "a -- x -- forward_compute_time=0, backward_compute_time=0, activation_size=[9961472.0; 262144.0; "
          "1], parameter_size=0");
    assert_int_equal(graph.nodes[0].activation_bytes, 9961472 + 262144 + 1);
    graph_release(&graph);
}

static void a_stage_is_accepted(void **state)
{
    (void)state;
    struct graph graph;
    parse(&graph, "a -- x -- " TIMES " -- stage_id=3\n");
    assert_int_equal(graph.nodes[0].parameter_bytes, 4);
    graph_release(&graph);
}

static void an_edge_that_is_there_twice_counts_once(void **state)
{
    (void)state;
    struct graph graph;
    parse(&graph, "a -- x -- " TIMES "\nb -- x -- " TIMES "\n\ta -- b\n\ta -- b\n");
    assert_int_equal(graph.read_edges, 2);
    assert_int_equal(graph.nodes[0].next_count, 1);
    assert_int_equal(graph.nodes[1].previous_count, 1);
    graph_release(&graph);
}

static void inputs_and_unused_outputs_are_no_operations(void **state)
{
    (void)state;
    struct graph graph;
    parse(&graph, "i -- Input0 -- " TIMES "\na -- x -- " TIMES "\ng -- __getitem__(1) -- " TIMES
                  "\nh -- __getitem__(0) -- " TIMES "\nb -- x -- " TIMES
                  "\n\ti -- a\n\ta -- g\n\ta -- h\n\th -- b\n\ti -- b\n");
    assert_int_equal(graph.read_nodes, 5);
    assert_int_equal(graph.node_count, 3);
    assert_string_equal(graph.nodes[0].id, "a");
    assert_int_equal(graph.nodes[0].next_count, 1);
    assert_string_equal(graph.nodes[graph.nodes[0].next[0]].id, "h");
    assert_int_equal(graph.nodes[2].previous_count, 1);
    assert_true(graph.nodes[1].view);
    graph_release(&graph);
}

static void the_name_of_the_file_tells_the_batch(void **state)
{
    (void)state;
    struct graph graph;
    struct error err;
    const char *text = "a -- x -- " TIMES;
    assert_true(graph_parse(&graph, "pbs-8/vgg-19-pbs-32.txt", text, strlen(text), &err));
    assert_int_equal(graph.profile_batch, 32);
    graph_release(&graph);
    assert_true(graph_parse(&graph, "pbs-8/vgg16.txt", text, strlen(text), &err));
    assert_int_equal(graph.profile_batch, 0);
    graph_release(&graph);
}

static void the_order_keeps_to_the_edges(void **state)
{
    (void)state;
    struct graph graph;
    parse(&graph, "a -- x -- " TIMES "\nb -- x -- " TIMES "\nc -- x -- " TIMES "\n\tc -- a\n\ta -- b\n");
    assert_int_equal(graph.order[0], 2);
    assert_int_equal(graph.order[1], 0);
    assert_int_equal(graph.order[2], 1);
    graph_release(&graph);
}

static void text_of_a_graph_is_recognised(void **state)
{
    (void)state;
    assert_true(graph_recognise("profile", "\n a -- b -- c\n", 14));
    assert_true(graph_recognise("graph.txt", "nonsense", 8));
    assert_false(graph_recognise("graph.txt", "{}", 2));
    assert_false(graph_recognise("graph.json", "\n{\"a -- b\": 1}", 14));
    assert_false(graph_recognise("p.yaml", "format: x\n", 10));
    assert_false(graph_recognise("graph.txt", "", 0));
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    assert_refused("", "graph.txt: no node in this file");
    assert_refused("\n  \n", "graph.txt: no node in this file");
    assert_refused("a -- x\n",
                   "graph.txt:1:1: expected 'ID -- NAME -- forward_compute_time=…', found 'a -- x'");
    assert_refused(" -- x -- " TIMES, "graph.txt:1:2: expected the identifier of a node above, found '-- x'");
    assert_refused("a -- x -- forward_compute_time=1\n", "graph.txt:1:33: expected ', ' and more, found ''");
    assert_refused("a -- x -- forward_compute_time=1, activation_size=1\n",
                   "graph.txt:1:35: expected 'backward_compute_time=', found 'activation_size=1'");
    assert_refused("a -- x -- " TIMES ", more=1",
                   "graph.txt:1:103: expected the end of the times and sizes, found 'more=1'");
    assert_refused("a -- x -- " TIMES " -- stage=1",
                   "graph.txt:1:105: expected 'stage_id=', found 'stage=1'");
    assert_refused("i -- Input0 -- " TIMES, "graph.txt: no operation, only 1 inputs or unused nodes");
}

static void numbers_are_finite_and_not_negative(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"nan", "expected a number"},      {"inf", "expected a number"},  {"", "expected a number"},
        {"1e", "expected a number"},       {"0x10", "expected a number"}, {"1e999", "expected 0 to 1e12 ms"},
        {"-0.5", "expected 0 to 1e12 ms"}, {"1 2", "expected a number"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct graph graph;
        struct error err;
        char *text;
        char *message;
        assert_true(asprintf(&text,
                             "é -- x -- forward_compute_time=%s, backward_compute_time=2, activation_size=8, "
                             "parameter_size=4",
                             bad[i][0]) > 0);
        assert_true(asprintf(&message, "graph.txt:1:32: %s, found '%s'", bad[i][1], bad[i][0]) > 0);
        assert_false(graph_parse(&graph, "graph.txt", text, strlen(text), &err));
        assert_string_equal(err.text, message);
        free(text);
        free(message);
    }
}

static void sizes_stay_exact(void **state)
{
    (void)state;
    assert_refused(
        "a -- x -- forward_compute_time=1, backward_compute_time=2, activation_size=[1; 2, parameter_size=4",
        "graph.txt:1:81: expected ']' at the end of the list, found '[1; 2'");
    assert_refused(
        "a -- x -- forward_compute_time=1, backward_compute_time=2, activation_size=[], parameter_size=4",
        "graph.txt:1:77: expected a number, found ''");
    assert_refused(
        "a -- x -- forward_compute_time=1, backward_compute_time=2, activation_size=1e300, parameter_size=4",
        "graph.txt:1:76: expected 0 to 2^53 bytes, found '1e300'");
    assert_refused("a -- x -- forward_compute_time=1, backward_compute_time=2, activation_size=6e15, "
                   "parameter_size=6e15",
                   "graph.txt:1:97: expected less than 2^53 bytes in the whole file, found '6e15'");
}

static void identifiers_are_there_once_and_first(void **state)
{
    (void)state;
    assert_refused("a -- x -- " TIMES "\na -- y -- " TIMES,
                   "graph.txt:2:1: expected an identifier that no node above has, found 'a'");
    assert_refused("a -- x -- " TIMES "\n\ta -- b\nb -- x -- " TIMES,
                   "graph.txt:2:7: expected the identifier of a node above, found 'b'");
    assert_refused("a -- x -- " TIMES "\n\ta\n", "graph.txt:2:2: expected an edge 'ID -- ID', found 'a'");
}

static void a_cycle_is_named(void **state)
{
    (void)state;
    assert_refused("a -- x -- " TIMES "\n\ta -- a\n", "graph.txt:1:1: a cycle of 1 nodes: 'a' needs 'a'");
    assert_refused("a -- x -- " TIMES "\nb -- x -- " TIMES "\nc -- x -- " TIMES "\nd -- x -- " TIMES
                   "\n\ta -- b\n\tb -- c\n\tc -- b\n\tc -- d\n",
                   "graph.txt:2:1: a cycle of 2 nodes: 'b' needs 'c' needs 'b'");
}

static void a_long_cycle_is_named_in_part(void **state)
{
    (void)state;
    struct text text = {0};
    struct graph graph;
    struct error err;
    text_line(&text, 0, 1000);
    text_edge(&text, 999, 0);
    assert_false(parse_text(&graph, &text, &err));
    assert_non_null(strstr(err.text, "a cycle of 1000 nodes: "));
    assert_non_null(strstr(err.text, " needs … needs "));
}

static void limits_are_named(void **state)
{
    (void)state;
    struct text text = {0};
    struct graph graph;
    struct error err;
    text_line(&text, 0, GRAPH_MAX_NODES + 1);
    assert_false(parse_text(&graph, &text, &err));
    assert_string_equal(err.text, "graph.txt:4097:1: expected at most 4096 nodes, found 'n4096'");

    char *line = malloc(GRAPH_MAX_LINE + 2);
    assert_non_null(line);
    memset(line, 'x', GRAPH_MAX_LINE + 1);
    line[GRAPH_MAX_LINE + 1] = '\0';
    assert_false(graph_parse(&graph, "graph.txt", line, GRAPH_MAX_LINE + 1, &err));
    assert_non_null(strstr(err.text, "graph.txt:1:65537: expected lines of at most 65536 bytes"));
    free(line);
}

static void bytes_that_are_no_text_are_refused(void **state)
{
    (void)state;
    struct graph graph;
    struct error err;
    assert_false(graph_parse(&graph, "graph.txt", "a\0b", 3, &err));
    assert_non_null(strstr(err.text, "graph.txt:1:1: expected text without NUL bytes"));
    assert_false(graph_parse(&graph, "graph.txt", "a\xff", 2, &err));
    assert_string_equal(err.text, "graph.txt: byte 2 is not UTF-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_and_edges_are_read),
        cmocka_unit_test(edges_may_begin_with_any_blanks),
        cmocka_unit_test(blanks_at_the_end_of_a_line_and_empty_lines_are_nothing),
        cmocka_unit_test(activations_of_a_list_are_added),
        cmocka_unit_test(a_stage_is_accepted),
        cmocka_unit_test(an_edge_that_is_there_twice_counts_once),
        cmocka_unit_test(inputs_and_unused_outputs_are_no_operations),
        cmocka_unit_test(the_name_of_the_file_tells_the_batch),
        cmocka_unit_test(the_order_keeps_to_the_edges),
        cmocka_unit_test(text_of_a_graph_is_recognised),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(numbers_are_finite_and_not_negative),
        cmocka_unit_test(sizes_stay_exact),
        cmocka_unit_test(identifiers_are_there_once_and_first),
        cmocka_unit_test(a_cycle_is_named),
        cmocka_unit_test(a_long_cycle_is_named_in_part),
        cmocka_unit_test(limits_are_named),
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
