/* Chooses the forward values that are kept for the backward pass, and the ones that are recomputed. */
#include "cost/derive/cut.h"

#include "core/stop.h"
#include "cost/derive/derive.h"
#include "cost/derive/work.h"

#include <string.h>

struct keeper {
    struct op_graph *graph;
    const enum argument_kind *arguments;
    int forward;
    int *base;    /* of a view: the value under it */
    bool *needed; /* read by the backward pass or by recomputed instructions */
    bool *kept;
    struct hlo_instruction **again; /* the copy of a recomputed value */
};

/* Returns whether a value is in memory anyway: parameters and constants are. */
static bool is_free(const struct keeper *k, const struct hlo_instruction *at)
{
    if (at->opcode == HLO_CONSTANT)
        return true;
    return at->opcode == HLO_PARAMETER && k->arguments && at->parameter >= 0 &&
           at->parameter < k->graph->parameter_count && k->arguments[at->parameter] == ARGUMENT_PARAMETER;
}

/* Returns whether a value is cheap to recompute in the kernel that needs it. */
static bool is_cheap(const struct hlo_instruction *at)
{
    switch (op_class(at)) {
    case OP_VIEW:
        return at->operands[0]->shape->part_count == 0;
    case OP_ELEMENTWISE:
        return true;
    case OP_MOVE:
        return at->opcode == HLO_IOTA || at->opcode == HLO_PAD || at->opcode == HLO_CONCATENATE ||
               at->opcode == HLO_REVERSE || at->opcode == HLO_COPY;
    default:
        return false;
    }
}

/* Returns whether a value can be kept. A view cannot, the value under it can; a part of a tuple can. */
static bool is_keepable(const struct hlo_instruction *at)
{
    return op_class(at) != OP_VIEW || at->operands[0]->shape->part_count > 0;
}

static void find_needed(struct keeper *k)
{
    for (int i = 0; i < k->forward && !stop_wanted_at((size_t)i); i++) {
        const struct hlo_instruction *at = k->graph->at[i];
        k->base[i] = is_keepable(at) ? i : k->base[at->operands[0]->index];
    }
    for (int i = k->forward; i < k->graph->count && !stop_wanted_at((size_t)i); i++)
        for (int o = 0; o < k->graph->at[i]->operand_count; o++)
            if (k->graph->at[i]->operands[o]->index < k->forward)
                k->needed[k->graph->at[i]->operands[o]->index] = true;
}

/* Each value is two nodes, in and out, with its bytes as the capacity between them. */
static bool find_cut(struct keeper *k, struct arena *scratch)
{
    struct cut cut;
    if (!cut_init(&cut, scratch, 2 * k->forward + 2))
        return false;
    for (int i = 0; i < k->forward; i++) {
        const struct hlo_instruction *at = k->graph->at[i];
        int in = 2 * i + 2, out = in + 1;
        if (stop_wanted_at((size_t)i))
            return false;
        if (is_free(k, at))
            continue;
        cut_connect(&cut, in, out, is_keepable(at) ? hlo_leaf_bytes(at->shape) + 1 : CUT_NEVER);
        if (k->needed[i])
            cut_connect(&cut, out, 1, CUT_NEVER);
        if (!is_cheap(at))
            cut_connect(&cut, 0, in, CUT_NEVER);
        for (int o = 0; is_cheap(at) && o < at->operand_count; o++)
            cut_connect(&cut, 2 * at->operands[o]->index + 3, in, CUT_NEVER);
    }
    cut_find(&cut);
    for (int i = 0; i < k->forward && !stop_wanted_at((size_t)i); i++)
        k->kept[i] = is_keepable(k->graph->at[i]) && !is_free(k, k->graph->at[i]) &&
                     !cut_reaches_sink(&cut, 2 * i + 2) && cut_reaches_sink(&cut, 2 * i + 3);
    return !cut.failed;
}

static void keep_all(struct keeper *k)
{
    for (int i = 0; i < k->forward && !stop_wanted_at((size_t)i); i++)
        if (k->needed[i] && !is_free(k, k->graph->at[k->base[i]]))
            k->kept[k->base[i]] = true;
}

/* Returns whether a value that the backward pass reads is in memory. */
static bool is_there(const struct keeper *k, int index)
{
    int base = k->base[index];
    return k->kept[base] || is_free(k, k->graph->at[base]);
}

static void find_again(struct keeper *k, bool *again)
{
    for (int i = k->forward; i-- > 0 && !stop_wanted_at((size_t)i);) {
        const struct hlo_instruction *at = k->graph->at[i];
        if (!k->needed[i] || is_there(k, i))
            continue;
        again[i] = true;
        for (int o = 0; o < at->operand_count; o++)
            k->needed[at->operands[o]->index] = true;
    }
}

static void substitute(struct keeper *k, struct hlo_instruction *at)
{
    for (int o = 0; o < at->operand_count; o++) {
        int index = at->operands[o]->index;
        if (index < k->forward && k->again[index] && at->operands[o] == k->graph->at[index])
            at->operands[o] = k->again[index];
    }
}

/* Puts copies of the recomputed instructions between the forward and the backward pass. */
static bool compute_again(struct keeper *k, struct arena *scratch)
{
    struct op_graph *graph = k->graph;
    int added = graph->count - k->forward;
    bool *again = ARENA_ARRAY(scratch, (size_t)k->forward + 1, bool);
    struct hlo_instruction **moved = ARENA_ARRAY(scratch, (size_t)added + 1, struct hlo_instruction *);
    if (!again || !moved)
        return false;
    find_again(k, again);
    memcpy(moved, graph->at + k->forward, (size_t)added * sizeof(struct hlo_instruction *));
    graph->count = k->forward;
    for (int i = 0; i < k->forward; i++) {
        const struct hlo_instruction *at = graph->at[i];
        if (stop_wanted_at((size_t)i))
            return false;
        if (!again[i])
            continue;
        k->again[i] =
            op_graph_make(graph, at->opcode, at->shape, at->operand_count, at->operands, at->attributes);
        if (!k->again[i])
            return false;
        k->again[i]->name = at->name;
        k->again[i]->callee_count = at->callee_count;
        k->again[i]->callees = at->callees;
        substitute(k, k->again[i]);
    }
    for (int i = 0; i < added; i++) {
        if (stop_wanted_at((size_t)i))
            return false;
        substitute(k, moved[i]);
    }
    for (int i = 0; i < added; i++)
        if (stop_wanted_at((size_t)i) || !op_graph_put(graph, moved[i]))
            return false;
    return true;
}

static void sum_kept(struct keeper *k, struct derived *derived)
{
    for (int i = 0; i < k->forward && !stop_wanted_at((size_t)i); i++) {
        const struct hlo_instruction *at = k->graph->at[i];
        if (k->kept[i])
            derived->kept_bytes += hlo_leaf_bytes(at->shape);
    }
}

bool derive_keep(struct deriver *d, const struct derive_options *options)
{
    struct arena scratch = {0};
    size_t count = (size_t)d->forward + 1;
    struct keeper k = {
        .graph = d->graph,
        .arguments = options->arguments,
        .forward = d->forward,
        .base = ARENA_ARRAY(&scratch, count, int),
        .needed = ARENA_ARRAY(&scratch, count, bool),
        .kept = ARENA_ARRAY(d->arena, count, bool),
        .again = ARENA_ARRAY(&scratch, count, struct hlo_instruction *),
    };
    bool done = k.base && k.needed && k.kept && k.again;
    if (done) {
        find_needed(&k);
        if (options->keep_all)
            keep_all(&k);
        else
            done = find_cut(&k, &scratch);
    }
    done = done && compute_again(&k, &scratch);
    if (done)
        sum_kept(&k, d->derived);
    d->derived->kept = k.kept;
    arena_release(&scratch);
    return done || (op_graph_check(d->graph, d->err) && error_memory(d->err));
}
