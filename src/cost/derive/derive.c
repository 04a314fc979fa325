#include "cost/derive/derive.h"
#include "core/stop.h"
#include "cost/derive/cut.h"
#include "cost/derive/work.h"

#include <string.h>

/* Chooses the forward values that are kept for the backward pass, and the ones that are recomputed. */

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
               at->opcode == HLO_REVERSE || at->opcode == HLO_COPY || at->opcode == HLO_DYNAMIC_SLICE;
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
    size_t connections = 2 * (size_t)k->forward;
    for (int i = 0; i < k->forward; i++)
        connections += 1 + (size_t)k->graph->at[i]->operand_count;
    if (!cut_init(&cut, scratch, 2 * k->forward + 2, connections))
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
    return true;
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

/* Copies an instruction that is computed again. */
static bool copy_again(struct keeper *k, int i)
{
    const struct hlo_instruction *at = k->graph->at[i];
    k->again[i] =
        op_graph_make(k->graph, at->opcode, at->shape, at->operand_count, at->operands, at->attributes);
    if (!k->again[i])
        return false;
    k->again[i]->name = at->name;
    k->again[i]->callee_count = at->callee_count;
    k->again[i]->callees = at->callees;
    substitute(k, k->again[i]);
    return true;
}

/* Puts copies of the recomputed instructions before the first ones of the backward pass that need them. */
static bool compute_again(struct keeper *k, struct arena *scratch)
{
    struct op_graph *graph = k->graph;
    int added = graph->count - k->forward;
    bool *again = ARENA_ARRAY(scratch, (size_t)k->forward + 1, bool);
    int *when = ARENA_ARRAY(scratch, (size_t)k->forward + 1, int); /* first needed: counted from the end */
    int *next = ARENA_ARRAY(scratch, (size_t)k->forward + 1, int);
    int *first = ARENA_ARRAY(scratch, (size_t)added + 1, int); /* copy to make then, from 1; 0: none */
    struct hlo_instruction **moved = ARENA_ARRAY(scratch, (size_t)added + 1, struct hlo_instruction *);
    if (!again || !when || !next || !first || !moved)
        return false;
    find_again(k, again);
    for (int i = graph->count; i-- > 0 && !stop_wanted_at((size_t)i);) {
        const struct hlo_instruction *at = graph->at[i];
        int needed = i < k->forward ? again[i] ? when[i] : 0 : graph->count - i;
        for (int o = 0; o < at->operand_count; o++)
            if (at->operands[o]->index < k->forward && needed > when[at->operands[o]->index])
                when[at->operands[o]->index] = needed;
        if (i < k->forward && again[i]) {
            next[i] = first[added - needed];
            first[added - needed] = i + 1;
        }
    }
    memcpy(moved, graph->at + k->forward, (size_t)added * sizeof(struct hlo_instruction *));
    graph->count = k->forward;
    for (int i = 0; i < added; i++) {
        for (int c = first[i]; c; c = next[c - 1])
            if (!copy_again(k, c - 1))
                return false;
        substitute(k, moved[i]);
        if (stop_wanted_at((size_t)i) || !op_graph_put(graph, moved[i]))
            return false;
    }
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

/* Chooses the values to keep and prepends recomputed instructions to the backward pass. */
static bool derive_keep(struct deriver *d, const struct derive_options *options)
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

/* ---- values with a gradient ---- */

bool derive_has_float(const struct hlo_shape *shape)
{
    for (int i = 0; i < shape->part_count; i++)
        if (derive_has_float(shape->parts[i]))
            return true;
    return hlo_type_is_float(shape->type) || hlo_type_is_complex(shape->type);
}

/* A mask or table of positions is only ever stretched over something larger. */
static bool stretches(const bool *stretched, const bool *multiplied, const struct hlo_instruction *user)
{
    if (multiplied[user->index])
        return false;
    if (user->opcode == HLO_BROADCAST && hlo_elements(user->shape) > hlo_elements(user->operands[0]->shape))
        return true;
    return op_class(user) == OP_VIEW && stretched[user->index];
}

/* Returns whether operand o goes into a product as it is, perhaps with zeros among it. */
static bool multiplies(const bool *multiplied, const struct hlo_instruction *user, int o)
{
    bool passes =
        op_class(user) == OP_VIEW || user->opcode == HLO_CONVERT || (user->opcode == HLO_SELECT && o > 0);
    return op_class(user) == OP_PRODUCT || (passes && multiplied[user->index]);
}

/* stretched[i]: all uses are views that end stretched, and not in products. */
static void find_stretched(const struct op_graph *graph, bool *stretched, bool *multiplied)
{
    for (int i = 0; i < graph->count; i++)
        stretched[i] = true;
    for (int i = 0; i < graph->root_count; i++)
        stretched[graph->roots[i]->index] = false;
    for (int i = graph->count; i-- > 0 && !stop_wanted_at((size_t)i);) {
        const struct hlo_instruction *user = graph->at[i];
        for (int o = 0; o < user->operand_count; o++) {
            if (!stretches(stretched, multiplied, user))
                stretched[user->operands[o]->index] = false;
            multiplied[user->operands[o]->index] |= multiplies(multiplied, user, o);
        }
    }
}

static bool leaf_needs(const struct deriver *d, const struct hlo_instruction *at,
                       const struct derive_options *options, const bool *stretched)
{
    if (at->opcode == HLO_CONSTANT)
        return derive_is_weight(at);
    if (!derive_has_float(at->shape))
        return false;
    if (options->needs)
        return at->parameter >= 0 && options->needs[at->parameter];
    if (options->arguments && at->parameter >= 0 && at->parameter < d->graph->parameter_count &&
        options->arguments[at->parameter] == ARGUMENT_PARAMETER)
        return true;
    return !options->no_input_gradients && !stretched[at->index];
}

/* Finds the values with a gradient. Returns whether there is one besides the arguments. */
static bool spread_needs(struct deriver *d, const struct derive_options *options, const bool *stretched)
{
    bool found = false;
    for (int i = 0; i < d->forward && !stop_wanted_at((size_t)i); i++) {
        const struct hlo_instruction *at = d->graph->at[i];
        if (op_class(at) == OP_INPUT) {
            d->needs[i] = leaf_needs(d, at, options, stretched);
            continue;
        }
        for (int o = 0; derive_has_float(at->shape) && !d->needs[i] && o < at->operand_count; o++)
            d->needs[i] = d->needs[at->operands[o]->index];
        found |= d->needs[i];
    }
    return found;
}

/* Where only stretched arguments are left, they are what the program is about. */
static bool find_needs(struct deriver *d, const struct derive_options *options)
{
    struct arena scratch = {0};
    size_t count = (size_t)d->forward + 1;
    bool *stretched = ARENA_ARRAY(&scratch, count, bool), *multiplied = ARENA_ARRAY(&scratch, count, bool);
    bool found = stretched && multiplied;
    if (found) {
        find_stretched(d->graph, stretched, multiplied);
        if (!spread_needs(d, options, stretched)) {
            memset(stretched, 0, count * sizeof *stretched);
            spread_needs(d, options, stretched);
        }
    }
    arena_release(&scratch);
    return found ? !stop_obeyed(d->err) : error_memory(d->err);
}

void derive_gap(struct deriver *d, const char *name)
{
    struct derived *derived = d->derived;
    for (int i = 0; i < derived->gap_count; i++)
        if (strcmp(derived->gaps[i], name) == 0)
            return;
    derived->gaps =
        arena_grow(d->arena, derived->gaps, derived->gap_count, &d->gap_room, sizeof *derived->gaps);
    if (derived->gaps)
        derived->gaps[derived->gap_count++] = name;
    else
        d->graph->failed = true;
}

void derive_give(struct deriver *d, struct hlo_instruction *to, struct hlo_instruction *gradient)
{
    if (!gradient || !d->needs[to->index])
        return;
    if (to->shape->part_count == 0) {
        if (hlo_elements(gradient->shape) != hlo_elements(to->shape)) {
            derive_gap(d, d->opcode);
            return;
        }
        gradient = op_graph_convert(
            d->graph,
            op_graph_reshape(d->graph, gradient, op_graph_like(d->graph, to->shape, gradient->shape->type)),
            to->shape->type);
    }
    struct hlo_instruction **sum = &d->gradient[to->index];
    if (*sum && gradient->opcode == HLO_DYNAMIC_UPDATE_SLICE) { /* added to a part, in place */
        gradient->operands[0] = *sum;
        *sum = gradient;
        return;
    }
    *sum = *sum ? op_graph_binary(d->graph, HLO_ADD, *sum, gradient) : gradient;
}

/* ---- the pass ---- */

/* Counts how often each value is read. */
static int *count_readers(const struct op_graph *graph, struct arena *scratch)
{
    int *readers = ARENA_ARRAY(scratch, (size_t)graph->count + 1, int);
    for (int i = 0; readers && i < graph->count && !stop_wanted_at((size_t)i); i++)
        for (int o = 0; o < graph->at[i]->operand_count; o++)
            readers[graph->at[i]->operands[o]->index]++;
    return readers;
}

/* A result that other instructions read too is one that a given forward pass returns for its backward
 * pass. */
static bool is_kept_result(const struct hlo_instruction *result, const int *readers)
{
    if (readers[result->index] > 0)
        return true;
    while (op_class(result) == OP_VIEW && result->operands[0]->shape->part_count == 0) {
        result = result->operands[0];
        if (readers[result->index] > 1)
            return true;
    }
    return op_class(result) == OP_INPUT;
}

static bool is_argument(const struct hlo_instruction *result)
{
    while (op_class(result) == OP_VIEW)
        result = result->operands[0];
    return op_class(result) == OP_INPUT;
}

bool derive_result_bytes(const struct op_graph *graph, int64_t *output_bytes, int64_t *kept_bytes,
                         struct error *err)
{
    struct arena scratch = {0};
    const int *readers = count_readers(graph, &scratch);
    *output_bytes = *kept_bytes = 0;
    for (int i = 0; readers && i < graph->root_count; i++) {
        const struct hlo_instruction *root = graph->roots[i];
        if (!is_kept_result(root, readers))
            *output_bytes += hlo_leaf_bytes(root->shape);
        else if (!is_argument(root))
            *kept_bytes += hlo_leaf_bytes(root->shape);
    }
    if (*output_bytes == 0 && graph->root_count)
        *output_bytes = hlo_leaf_bytes(graph->roots[0]->shape);
    arena_release(&scratch);
    return readers || error_memory(err);
}

/* A gradient that is there when the pass begins. */
static struct hlo_instruction *given_gradient(struct deriver *d, const struct hlo_instruction *result)
{
    struct hlo_instruction from = {
        .opcode = HLO_PARAMETER,
        .name = result->name,
        .shape = result->shape,
        .attributes = result->attributes,
        .parameter = -1,
    };
    return op_graph_add(d->graph, &from);
}

static void give_result(struct deriver *d, struct hlo_instruction *result)
{
    if (d->needs[result->index]) {
        derive_give(d, result, given_gradient(d, result));
        d->derived->gradients++;
    }
}

/* The results of a loop's body have the gradients that the next turn gives them. Of values that are the same in all
 * turns the gradients are summed up: each turn adds to the sum. */
static bool give_body(struct deriver *d, const bool *given)
{
    struct op_graph *graph = d->graph;
    d->given = ARENA_ARRAY(d->arena, (size_t)graph->parameter_count + 1, struct hlo_instruction *);
    if (!d->given)
        return error_memory(d->err);
    for (int i = 0; i < graph->parameter_count; i++) {
        const struct hlo_instruction *parameter = graph->parameters[i];
        int count = graph->count;
        if (!op_graph_is_same(graph, i) && given[i]) {
            give_result(d, graph->roots[i]);
            d->given[i] = graph->count > count ? graph->at[count] : NULL;
        } else if (op_graph_is_same(graph, i) && parameter && d->needs[parameter->index])
            d->gradient[parameter->index] = given_gradient(d, parameter);
    }
    return true;
}

static bool give_results(struct deriver *d, const struct derive_options *options)
{
    struct arena scratch = {0};
    struct op_graph *graph = d->graph;
    if (options->given)
        return give_body(d, options->given);
    int *readers = count_readers(graph, &scratch);
    if (!readers)
        return error_memory(d->err);
    for (int i = 0; i < graph->root_count; i++)
        if (!is_kept_result(graph->roots[i], readers))
            give_result(d, graph->roots[i]);
    for (int i = 0; d->derived->gradients == 0 && i < graph->root_count; i++)
        give_result(d, graph->roots[i]);
    arena_release(&scratch);
    return true;
}

/* The results become the gradients of arguments and constants. */
static bool set_roots(struct deriver *d)
{
    struct op_graph *graph = d->graph;
    graph->roots = ARENA_ARRAY(graph->arena, (size_t)d->forward + 1, struct hlo_instruction *);
    if (!graph->roots)
        return error_memory(d->err);
    graph->root_count = 0;
    for (int i = 0; i < d->forward && !stop_wanted_at((size_t)i); i++) {
        struct hlo_instruction *of = graph->at[i];
        bool leaf = op_class(of) == OP_INPUT ||
                    (of->opcode == HLO_GET_TUPLE_ELEMENT && of->operands[0]->opcode == HLO_PARAMETER);
        if (leaf && d->gradient[i] && d->gradient[i]->index >= d->forward)
            graph->roots[graph->root_count++] = d->gradient[i];
    }
    return true;
}

/* Finds the arguments of a loop's body that have gradients, and those that the backward pass reads. */
static bool note_arguments(struct deriver *d, struct arena *arena)
{
    struct derived *derived = d->derived;
    const struct op_graph *graph = &derived->graph;
    size_t count = (size_t)graph->parameter_count + 1;
    derived->arguments_given = ARENA_ARRAY(arena, count, bool);
    derived->arguments_read = ARENA_ARRAY(arena, count, bool);
    if (!derived->arguments_given || !derived->arguments_read)
        return error_memory(d->err);
    for (int i = 0; i < graph->parameter_count; i++) {
        const struct hlo_instruction *gradient =
            graph->parameters[i] ? d->gradient[graph->parameters[i]->index] : NULL;
        derived->arguments_given[i] = gradient && gradient->opcode != HLO_PARAMETER;
    }
    for (int i = derived->first; i < graph->count; i++)
        for (int o = 0; o < graph->at[i]->operand_count; o++) {
            const struct hlo_instruction *operand = graph->at[i]->operands[o];
            if (operand->opcode == HLO_PARAMETER && operand->parameter >= 0)
                derived->arguments_read[operand->parameter] = true;
        }
    return true;
}

/* Drops added instructions that no gradient needs. */
static void drop_added(struct deriver *d)
{
    struct op_graph *graph = d->graph;
    bool *used = ARENA_ARRAY(d->arena, (size_t)graph->count + 1, bool);
    if (!used) {
        graph->failed = true;
        return;
    }
    for (int i = 0; i < graph->root_count; i++)
        used[graph->roots[i]->index] = true;
    for (int i = graph->count; i-- > d->forward && !stop_wanted_at((size_t)i);)
        for (int o = 0; used[i] && o < graph->at[i]->operand_count; o++)
            used[graph->at[i]->operands[o]->index] = true;
    op_graph_keep(graph, d->forward, used);
}

/* The gradient of what one device sends to another comes from there. */
static void note_transfer(struct deriver *d, const struct hlo_instruction *at)
{
    if ((at->opcode == HLO_SEND && d->needs[at->operands[0]->index]) ||
        (at->opcode == HLO_RECV && derive_has_float(at->shape)))
        derive_gap(d, d->opcode);
}

static bool derive(struct deriver *d, const struct derive_options *options)
{
    if (!find_needs(d, options) || !give_results(d, options))
        return false;
    for (int i = d->forward; i-- > 0;) {
        if (stop_obeyed_at((size_t)i, d->err))
            return false;
        d->graph->name = d->graph->at[i]->name;
        d->opcode = hlo_opcode_name(d->graph->at[i]->opcode);
        note_transfer(d, d->graph->at[i]);
        if (d->needs[i] && (d->gradient[i] || d->parts[i]) &&
            !derive_instruction(d, d->graph->at[i], d->gradient[i]))
            return false;
    }
    d->graph->name = NULL;
    if (!set_roots(d))
        return false;
    if (options->given)
        derive_turn(d);
    drop_added(d);
    return op_graph_check(d->graph, d->err) && derive_keep(d, options) &&
           (!options->given || note_arguments(d, d->arena));
}

bool derive_backward(struct derived *derived, struct arena *arena, const struct op_graph *graph,
                     const struct derive_options *options, struct error *err)
{
    *derived = (struct derived){.graph = *graph, .first = graph->count};
    /* added instructions go into lists of their own */
    derived->graph.room = graph->count;
    struct arena scratch = {0};
    size_t count = (size_t)graph->count + 1;
    struct deriver d = {
        .graph = &derived->graph,
        .forward = graph->count,
        .needs = ARENA_ARRAY(&scratch, count, bool),
        .gradient = ARENA_ARRAY(&scratch, count, struct hlo_instruction *),
        .parts = ARENA_ARRAY(&scratch, count, struct hlo_instruction **),
        .derived = derived,
        .arena = arena,
        .options = options,
        .err = err,
    };
    derived->graph.arena = arena;
    bool made = d.needs && d.gradient && d.parts;
    made = made ? derive(&d, options) : error_memory(err);
    arena_release(&scratch);
    return made;
}
