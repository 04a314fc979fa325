/* Attention in a graph: softmax(queries x keys, scaled and masked) x values. */
#include "core/statistics.h"
#include "cost/derive/fuse.h"
#include "cost/derive/op.h"

#include <stdlib.h>

#define MAX_LOOK 512 /* instructions between the two products, and before the mask */

struct pattern {
    const struct op_graph *graph;
    struct hlo_users readers;
    bool *is_result;
    int *found; /* instructions that the weights are computed from, back to products and complex operations */
    int count;
    unsigned *seen, *inside, round; /* inside: depends on the scores */
    const struct hlo_instruction *scores;
};

static bool is_simple(const struct hlo_instruction *in)
{
    enum op_class class = op_class(in);
    return class == OP_ELEMENTWISE || class == OP_VIEW || class == OP_REDUCE || in->opcode == HLO_IOTA;
}

/* Finds the instructions that the weights are computed from; returns false if they are not one product
 * and simple operations. */
static bool look_back(struct pattern *p, const struct hlo_instruction *weights)
{
    p->round++;
    p->count = 0;
    p->scores = NULL;
    p->found[p->count++] = weights->index;
    p->seen[weights->index] = p->round;
    for (int i = 0; i < p->count; i++) {
        const struct hlo_instruction *at = p->graph->at[p->found[i]];
        if (op_class(at) == OP_PRODUCT) {
            if (p->scores)
                return false;
            p->scores = at;
        }
        for (int o = 0; is_simple(at) && o < at->operand_count; o++) {
            int operand = at->operands[o]->index;
            if (p->seen[operand] == p->round)
                continue;
            if (p->count == MAX_LOOK)
                return false;
            p->seen[operand] = p->round;
            p->found[p->count++] = operand;
        }
    }
    return p->scores && p->scores->opcode == HLO_DOT;
}

/* Returns whether the values that depend on the scores are a softmax without other uses than the second
 * product. */
static bool is_softmax(struct pattern *p, const struct hlo_instruction *context)
{
    bool power = false, sum = false;
    qsort(p->found, (size_t)p->count, sizeof *p->found, order_ints);
    for (int i = 0; i < p->count; i++) {
        const struct hlo_instruction *at = p->graph->at[p->found[i]];
        bool depends = at == p->scores;
        for (int o = 0; !depends && is_simple(at) && o < at->operand_count; o++)
            depends = p->inside[at->operands[o]->index] == p->round;
        if (!depends)
            continue;
        p->inside[at->index] = p->round;
        power = power || at->opcode == HLO_EXPONENTIAL;
        sum = sum || (at->opcode == HLO_REDUCE && op_reducer(at) == HLO_ADD);
    }
    for (int i = 0; i < p->count; i++) {
        int at = p->found[i];
        if (p->inside[at] != p->round)
            continue;
        for (int r = p->readers.start[at]; r < p->readers.start[at + 1]; r++) {
            int reader = p->readers.at[r]->index;
            if (reader != context->index && p->inside[reader] != p->round)
                return false;
        }
        if (p->is_result[at])
            return false;
    }
    return power && sum;
}

/* Returns whether a value counts upwards along some dimension, perhaps from an offset. */
static bool counts_up(const struct hlo_instruction *value, int depth)
{
    if (value->opcode == HLO_IOTA)
        return true;
    bool through = op_class(value) == OP_VIEW || value->opcode == HLO_CONVERT || value->opcode == HLO_ADD ||
                   value->opcode == HLO_SUBTRACT;
    for (int o = 0; through && depth < 16 && o < value->operand_count; o++)
        if (counts_up(value->operands[o], depth + 1))
            return true;
    return false;
}

/* Returns whether there is a mask that compares positions of queries and keys. */
static bool is_causal(const struct pattern *p)
{
    for (int i = 0; i < p->count; i++) {
        const struct hlo_instruction *at = p->graph->at[p->found[i]];
        if (at->opcode == HLO_COMPARE && at->attributes->direction != HLO_EQ &&
            at->attributes->direction != HLO_NE && counts_up(at->operands[0], 0) &&
            counts_up(at->operands[1], 0))
            return true;
    }
    return false;
}

/* Turns the second product into the attention; the instructions between are not used any more. */
static bool replace(struct op_graph *graph, struct hlo_instruction *context, int side,
                    const struct pattern *p)
{
    struct op_product first, second;
    if (!op_product(p->scores, &first) || !op_product(context, &second) ||
        first.size.batch != second.size.batch)
        return false;
    int64_t queries = side == 0 ? second.size.m : second.size.n, keys = second.size.k;
    bool plain = first.size.m == queries && first.size.n == keys;
    if (!plain && !(first.size.n == queries && first.size.m == keys))
        return false;
    struct hlo_attributes *attributes = op_graph_attributes(graph);
    int64_t sizes[5] = {first.size.batch, queries, keys, first.size.k, is_causal(p)};
    attributes->target = OP_TARGET_ATTENTION;
    attributes->sizes = op_graph_ints(graph, 5, sizes);
    struct hlo_instruction **operands = ARENA_ARRAY(graph->arena, 3, struct hlo_instruction *);
    if (!operands || graph->failed)
        return false;
    operands[0] = p->scores->operands[plain ? 0 : 1];
    operands[1] = p->scores->operands[plain ? 1 : 0];
    operands[2] = context->operands[1 - side];
    context->opcode = HLO_CUSTOM_CALL;
    context->attributes = attributes;
    context->operands = operands;
    context->operand_count = 3;
    return true;
}

static bool prepare(const struct op_graph *graph, struct arena *scratch, struct pattern *p)
{
    size_t count = (size_t)graph->count + 1;
    p->graph = graph;
    p->is_result = ARENA_ARRAY(scratch, count, bool);
    p->found = ARENA_ARRAY(scratch, MAX_LOOK + 1, int);
    p->seen = ARENA_ARRAY(scratch, count, unsigned);
    p->inside = ARENA_ARRAY(scratch, count, unsigned);
    if (!p->is_result || !p->found || !p->seen || !p->inside ||
        !hlo_find_users(&p->readers, graph->at, graph->count, scratch))
        return false;
    for (int i = 0; i < graph->root_count; i++)
        p->is_result[graph->roots[i]->index] = true;
    return true;
}

int attention_rewrite(struct op_graph *graph)
{
    struct arena scratch = {0};
    struct pattern p = {0};
    int found = 0;
    bool ready = prepare(graph, &scratch, &p);
    graph->failed = graph->failed || !ready;
    for (int i = 0; ready && i < graph->count; i++) {
        struct hlo_instruction *context = graph->at[i];
        for (int side = 0; side < 2 && context->opcode == HLO_DOT; side++)
            if (look_back(&p, context->operands[side]) && is_softmax(&p, context) &&
                replace(graph, context, side, &p))
                found++;
    }
    arena_release(&scratch);
    if (found)
        op_graph_drop_unused(graph);
    return found;
}
