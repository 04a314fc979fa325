/* Graphs as text, for tests. */
#ifndef REHEARSE_TESTS_GRAPH_TEXT_H
#define REHEARSE_TESTS_GRAPH_TEXT_H

#include "core/text.h"
#include "model/graph.h"

/* A node called n{index}. */
static inline void text_node(struct text *text, int index, double forward, double backward, int activation,
                             int parameters)
{
    text_format(text,
                "n%d -- n%d -- forward_compute_time=%.17g, backward_compute_time=%.17g, activation_size=%d, "
                "parameter_size=%d\n",
                index, index, forward, backward, activation, parameters);
}

static inline void text_edge(struct text *text, int from, int to)
{
    text_format(text, "\tn%d -- n%d\n", from, to);
}

/* Nodes first..first+count-1, one after the other. */
static inline void text_line(struct text *text, int first, int count)
{
    for (int i = first; i < first + count; i++)
        text_node(text, i, 1, 2, 10, 5);
    for (int i = first + 1; i < first + count; i++)
        text_edge(text, i - 1, i);
}

/* The graph of a text, which is released. */
static inline bool parse_text(struct graph *graph, struct text *text, struct error *err)
{
    bool done = graph_parse(graph, "graph.txt", text->data ? text->data : "", text->length, err);
    text_release(text);
    return done;
}

#endif
