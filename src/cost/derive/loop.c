/* The backward pass of a loop. */
#include "cost/derive/derive.h"
#include "cost/derive/fuse.h"
#include "cost/derive/work.h"

#include <string.h>

typedef struct hlo_instruction *value;

static bool add_loop(struct deriver *d, value loop, const struct derived *body)
{
    struct derived *all = d->derived;
    double times = loop->attributes->trip_count < 0 ? 1.0 : (double)loop->attributes->trip_count;
    const struct derived_loop own = {body->graph, body->first, 1, loop->callees[1], body->kept};
    for (int i = -1; i < body->loop_count; i++) {
        all->loops = arena_grow(d->arena, all->loops, all->loop_count, &d->loop_room, sizeof *all->loops);
        if (!all->loops)
            return error_memory(d->err);
        all->loops[all->loop_count] = i < 0 ? own : body->loops[i];
        all->loops[all->loop_count++].times *= times;
    }
    for (int i = 0; i < body->gap_count; i++)
        derive_gap(d, body->gaps[i]);
    all->kept_bytes += (int64_t)(times * (double)body->kept_bytes);
    return true;
}

/* Follows values that depend on operands with a gradient, round the loop until no carried one is new. */
static void find_needs(const struct op_graph *body, bool *needs, bool *flows)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < body->count; i++) {
            const struct hlo_instruction *at = body->at[i];
            flows[i] = at->opcode == HLO_PARAMETER ? at->parameter >= 0 && needs[at->parameter]
                                                   : derive_is_weight(at);
            for (int o = 0; !flows[i] && derive_has_float(at->shape) && o < at->operand_count; o++)
                flows[i] = flows[at->operands[o]->index];
        }
        for (int i = 0; i < body->root_count; i++)
            if (flows[body->roots[i]->index] && !needs[i])
                changed = needs[i] = true;
    }
}

/* The same backwards: carried values of which a result with a gradient is made. */
static void find_given(const struct op_graph *body, const bool *needs, bool *given, bool *flows)
{
    for (bool changed = true; changed;) {
        changed = false;
        memset(flows, 0, (size_t)body->count * sizeof *flows);
        for (int i = 0; i < body->root_count; i++)
            flows[body->roots[i]->index] |= given[i];
        for (int i = body->count; i-- > 0;)
            for (int o = 0; flows[i] && o < body->at[i]->operand_count; o++)
                flows[body->at[i]->operands[o]->index] = true;
        for (int i = 0; i < body->root_count; i++)
            if (body->parameters[i] && flows[body->parameters[i]->index] && needs[i] && !given[i])
                changed = given[i] = true;
    }
}

/* EARLY: views and elementwise operations of given gradients alone; LATE: others that need one. */
enum turn_part { OF_FORWARD, EARLY, LATE };

static value made_of(const struct deriver *d, int i)
{
    const struct hlo_instruction *parameter = d->graph->parameters[i];
    return d->given[i] && parameter ? d->gradient[parameter->index] : NULL;
}

static bool is_early(const struct deriver *d, const unsigned char *part, int i)
{
    return d->given[i] && part[d->given[i]->index] == EARLY;
}

/* Finds the parts; a gradient that a late operation reads, too, is late. Returns whether a product makes an early one;
 * `turned` says which. */
static bool find_parts(const struct deriver *d, unsigned char *part, bool *turned)
{
    const struct op_graph *graph = d->graph;
    bool follows = false, changed = true;
    for (int i = 0; i < graph->parameter_count; i++)
        if (d->given[i])
            part[d->given[i]->index] = made_of(d, i) ? EARLY : LATE;
    while (changed) {
        changed = false;
        for (int n = d->forward; n < graph->count; n++) {
            const struct hlo_instruction *in = graph->at[n];
            unsigned char is = OF_FORWARD;
            for (int o = 0; o < in->operand_count; o++)
                is = part[in->operands[o]->index] > is ? part[in->operands[o]->index] : is;
            if (in->operand_count)
                part[n] =
                    is == EARLY && op_class(in) != OP_ELEMENTWISE && op_class(in) != OP_VIEW ? LATE : is;
            for (int o = 0; part[n] == LATE && o < in->operand_count; o++)
                if (in->operands[o]->opcode == HLO_PARAMETER && part[in->operands[o]->index] == EARLY) {
                    part[in->operands[o]->index] = LATE;
                    changed = true;
                }
        }
    }
    for (int i = 0; i < graph->parameter_count; i++) {
        const struct hlo_instruction *made = made_of(d, i);
        while (made && op_class(made) == OP_VIEW)
            made = made->operands[0];
        turned[i] = made && is_early(d, part, i) && op_class(made) == OP_PRODUCT;
        follows |= turned[i];
    }
    return follows;
}

/* Without the loop the last product of a turn and the elementwise operations that the next one begins with are one
 * kernel, or at least what is read of the product needs no copy. They move to the end of the turn, which then is given
 * their results. */
void derive_turn(struct deriver *d)
{
    struct op_graph *graph = d->graph;
    int count = graph->count, roots = graph->root_count;
    bool *turned = d->derived->turned = ARENA_ARRAY(d->arena, (size_t)graph->parameter_count + 1, bool);
    unsigned char *part = ARENA_ARRAY(d->arena, (size_t)count + 1, unsigned char);
    value *now = ARENA_ARRAY(d->arena, (size_t)count + 1, value); /* what an early one is at the end */
    value *all = ARENA_ARRAY(d->arena, (size_t)(count + roots + graph->parameter_count) + 1, value);
    graph->failed |= !turned || !part || !now || !all;
    if (graph->failed || !find_parts(d, part, turned))
        return;
    for (int i = 0; i < graph->parameter_count; i++)
        if (is_early(d, part, i))
            now[d->given[i]->index] = made_of(d, i);
    for (int n = d->forward; n < count; n++) {
        if (part[n] != EARLY || now[n])
            continue;
        now[n] = op_graph_add(graph, graph->at[n]);
        value *operands = ARENA_ARRAY(d->arena, (size_t)graph->at[n]->operand_count, value);
        if (!now[n] || !operands) {
            graph->failed = true;
            return;
        }
        for (int o = 0; o < now[n]->operand_count; o++) {
            int of = now[n]->operands[o]->index;
            operands[o] = now[of] ? now[of] : now[n]->operands[o];
        }
        now[n]->operands = operands;
    }
    graph->root_count = 0;
    for (int r = 0; r < roots; r++) {
        value root = graph->roots[r], early = now[root->index];
        bool carried = false; /* it is given no more: what is made of it is */
        for (int i = 0; i < graph->parameter_count && !carried; i++) {
            const struct hlo_instruction *made = made_of(d, i);
            carried = made && made == root && is_early(d, part, i);
        }
        if (!carried)
            all[graph->root_count++] = early ? early : root;
    }
    /* a turn is given early ones; those that nothing reads are dropped */
    for (int n = d->forward; n < count; n++) {
        value in = graph->at[n];
        if (part[n] != EARLY || in->opcode == HLO_PARAMETER)
            continue;
        in->opcode = HLO_PARAMETER;
        in->parameter = -1;
        in->operand_count = 0;
    }
    for (int n = d->forward; n < count; n++)
        for (int o = 0; part[n] == LATE && o < graph->at[n]->operand_count; o++) {
            int of = graph->at[n]->operands[o]->index;
            if (of < count && part[of] == EARLY && now[of]) {
                all[graph->root_count++] = now[of];
                part[of] = LATE; /* once */
            }
        }
    for (int i = 0; i < graph->parameter_count; i++) {
        value *made = graph->parameters[i] ? &d->gradient[graph->parameters[i]->index] : NULL;
        if (made && *made && (*made)->index < count && now[(*made)->index])
            all[graph->root_count++] = *made = now[(*made)->index];
    }
    graph->roots = all;
}

/* A turn begins with what the one before it made: where both are kept it is there once, and before the first turn in
 * the loop's operand. Of the operands read again these are left, and those that are the same in all turns. */
static void keep_once(struct derived *body, const struct op_graph *forward)
{
    for (int i = 0; i < forward->root_count; i++) {
        const struct hlo_instruction *parameter = forward->parameters[i], *made = forward->roots[i];
        while (op_class(made) == OP_VIEW && made->operands[0]->shape->part_count == 0)
            made = made->operands[0];
        if (op_graph_is_same(forward, i) || !parameter)
            continue;
        body->arguments_read[i] = body->kept[parameter->index] && body->kept[made->index];
        if (body->arguments_read[i])
            body->kept_bytes -= hlo_leaf_bytes(parameter->shape);
    }
}

/* Makes the instruction of a backward loop, whose kernels are counted elsewhere: from the gradients of its results,
 * and what the body reads again of values that are the same in all turns, the gradients of its operands. */
static void give_operands(struct deriver *d, value loop, value gradient, const struct derived *body)
{
    struct hlo_attributes *attributes = op_graph_attributes(d->graph);
    size_t room = (size_t)loop->operand_count + (size_t)loop->shape->part_count + 1;
    value *read = ARENA_ARRAY(d->arena, room, value), *to = ARENA_ARRAY(d->arena, room, value);
    value *parts = d->parts[loop->index];
    int count = 0, given = 0;
    if (!read || !to) {
        d->graph->failed = true;
        return;
    }
    for (int i = 0; parts && i < loop->shape->part_count; i++)
        if (parts[i]) /* what has moved to the end of a turn comes once before the first */
            read[count++] = i < body->graph.parameter_count && body->turned[i]
                                ? op_graph_scale(d->graph, parts[i])
                                : parts[i];
    if (!count)
        read[count++] = gradient;
    for (int i = 0; i < body->graph.parameter_count; i++) {
        if (body->arguments_read[i])
            read[count++] = loop->operands[i];
        if (body->arguments_given[i])
            to[given++] = loop->operands[i];
    }
    attributes->target = OP_TARGET_LOOP_BACKWARD;
    value backward = op_graph_make(d->graph, HLO_CUSTOM_CALL, op_graph_tuple_shape(d->graph, given, to),
                                   count, read, attributes);
    for (int i = 0; i < given; i++)
        derive_give(d, to[i], op_graph_tuple_part(d->graph, backward, i));
}

bool derive_loop(struct deriver *d, value loop, value gradient)
{
    struct op_graph graph;
    struct derived body;
    if (loop->callee_count < 2 || loop->attributes->trip_count == 0)
        return true;
    if (!op_graph_flatten_body(&graph, d->arena, loop, NULL, false, d->err))
        return false;
    if (d->options->attention)
        attention_rewrite(&graph);
    size_t count = (size_t)graph.parameter_count + 1;
    bool *flows = ARENA_ARRAY(d->arena, (size_t)graph.count + 1, bool);
    bool *needs = ARENA_ARRAY(d->arena, count, bool), *given = ARENA_ARRAY(d->arena, count, bool);
    enum argument_kind *kinds = ARENA_ARRAY(d->arena, count, enum argument_kind);
    if (!flows || !needs || !given || !kinds)
        return error_memory(d->err);
    value *parts = d->parts[loop->index];
    bool flat = loop->shape->part_count == graph.root_count;
    for (int i = 0; i < graph.parameter_count; i++) {
        needs[i] = d->needs[loop->operands[i]->index];
        kinds[i] = op_graph_is_same(&graph, i) ? ARGUMENT_PARAMETER : ARGUMENT_INPUT;
        if (i < graph.root_count)
            given[i] = flat && parts ? parts[i] != NULL : true;
    }
    find_needs(&graph, needs, flows);
    find_given(&graph, needs, given, flows);
    const struct derive_options options = {.needs = needs,
                                           .given = given,
                                           .arguments = kinds,
                                           .keep_all = d->options->keep_all,
                                           .attention = d->options->attention};
    if (!derive_backward(&body, d->arena, &graph, &options, d->err))
        return false;
    for (int i = 0; flat && parts && i < graph.root_count; i++)
        if (op_graph_is_same(&graph, i))
            derive_give(d, loop->operands[i], parts[i]);
    if (body.gradients) {
        keep_once(&body, &graph);
        if (!add_loop(d, loop, &body))
            return false;
        give_operands(d, loop, gradient, &body);
    }
    return !d->graph->failed || op_graph_check(d->graph, d->err);
}
