#include "cost/derive/op_graph.h"

#include "core/stop.h"
#include "cost/derive/op.h"

#include <string.h>

/* A computation that is being inlined, and the values of its instructions. */
struct frame {
    struct op_graph *graph;
    const struct hlo_computation *computation;
    struct hlo_instruction *const *arguments; /* NULL: they are parameters of the graph */
    int argument_count;
    struct hlo_instruction *const
        *captured;                   /* values from outside; NULL: they are parameters without a number */
    struct hlo_instruction **values; /* by index */
    const struct module_count *counts;
    bool fusions;
    int depth;
};

static struct hlo_instruction *inline_computation(struct frame *frame);

/* ---- of a conditional the costliest branch ---- */

/* Operations a byte must carry to weigh as much as its transfer: about that of fp32 on the GPUs of the
 * table. */
#define FLOPS_PER_BYTE 20.0

static double weight(const struct hlo_computation *computation, int depth)
{
    double sum = 0.0;
    for (int i = 0; depth < OP_DEPTH && i < computation->count; i++) {
        const struct hlo_instruction *in = computation->instructions[i];
        struct op_product product;
        if (op_class(in) == OP_PRODUCT && op_product(in, &product))
            sum += product_flops(&product.size);
        sum += FLOPS_PER_BYTE * (double)hlo_leaf_bytes(in->shape);
        bool calls = in->opcode == HLO_CALL || in->opcode == HLO_FUSION || in->opcode == HLO_CONDITIONAL ||
                     in->opcode == HLO_WHILE;
        int64_t turns = hlo_trip_count(in);
        for (int c = 0; calls && c < in->callee_count; c++)
            sum += (turns > 1 ? (double)turns : 1.0) * weight(in->callees[c], depth + 1);
    }
    return sum;
}

static int costliest_branch(const struct hlo_instruction *conditional)
{
    int costliest = 0;
    double max_weight = -1.0;
    for (int i = 0; i < conditional->callee_count; i++) {
        double w = weight(conditional->callees[i], 0);
        if (w > max_weight) {
            costliest = i;
            max_weight = w;
        }
    }
    return costliest;
}

/* ---- inlining ---- */

/* Makes a parameter without a number for a value from outside. */
static struct hlo_instruction *outside(struct op_graph *graph, const struct hlo_instruction *value)
{
    struct hlo_instruction *made = op_graph_make(graph, HLO_PARAMETER, value->shape, 0, NULL, NULL);
    if (made) {
        made->name = value->name;
        made->parameter = -1;
    }
    return made;
}

/* The values of a frame that a region inside of it uses. */
static struct hlo_instruction **captured_values(const struct frame *frame,
                                                const struct hlo_computation *region)
{
    struct hlo_instruction **values =
        ARENA_ARRAY(frame->graph->arena, (size_t)region->captured + 1, struct hlo_instruction *);
    int own = region->parameter_count - region->captured;
    for (int i = 0; values && i < region->captured; i++)
        values[i] = frame->values[region->parameters[own + i]->outside->index];
    frame->graph->failed |= !values;
    return values;
}

static struct hlo_instruction *call(struct frame *frame, const struct hlo_computation *callee,
                                    struct hlo_instruction *const *arguments, int count)
{
    struct frame inner = {
        .graph = frame->graph,
        .computation = callee,
        .arguments = arguments,
        .argument_count = count,
        .captured = captured_values(frame, callee),
        .counts = frame->counts,
        .fusions = frame->fusions,
        .depth = frame->depth + 1,
    };
    if (inner.depth > OP_DEPTH)
        frame->graph->failed = frame->graph->too_large = true;
    return frame->graph->failed ? NULL : inline_computation(&inner);
}

/* A value as a region on one device of many sees it, or the caller sees what the region returns: a shard. */
static struct hlo_instruction *shard(struct op_graph *graph, struct hlo_instruction *value,
                                     const struct hlo_shape *shape)
{
    if (!value || shape->part_count != value->shape->part_count)
        return value;
    if (shape->part_count == 0 && hlo_elements(shape) == hlo_elements(value->shape))
        return value;
    if (shape->part_count == 0 && value->opcode == HLO_PARAMETER && shape->type == value->shape->type) {
        value->shape = shape; /* an argument of one device */
        return value;
    }
    if (shape->part_count == 0) {
        struct hlo_attributes *attributes = op_graph_attributes(graph);
        attributes->target = OP_TARGET_SHARD;
        return op_graph_make(graph, HLO_CUSTOM_CALL, shape, 1, &value, attributes);
    }
    struct hlo_instruction **parts =
        ARENA_ARRAY(graph->arena, (size_t)shape->part_count, struct hlo_instruction *);
    if (!parts || value->opcode != HLO_TUPLE)
        return value;
    for (int i = 0; i < shape->part_count; i++)
        parts[i] = shard(graph, value->operands[i], shape->parts[i]);
    return op_graph_make(graph, HLO_TUPLE, shape, shape->part_count, parts, NULL);
}

static struct hlo_instruction *parameter_value(struct frame *frame, const struct hlo_instruction *in)
{
    int64_t number = in->parameter;
    int64_t own = frame->computation->parameter_count - frame->computation->captured;
    if (frame->captured && number >= own)
        return frame->captured[number - own];
    if (frame->arguments && number < own && number < frame->argument_count)
        return shard(frame->graph, frame->arguments[number], in->shape);
    if (frame->arguments || number >= frame->graph->parameter_count)
        return outside(frame->graph, in);
    return frame->graph->parameters[number] = op_graph_add(frame->graph, in);
}

static struct hlo_instruction *tuple_part(struct frame *frame, const struct hlo_instruction *in,
                                          struct hlo_instruction *const *operands)
{
    struct hlo_instruction *tuple = operands[0];
    int64_t index = in->attributes->index;
    if (tuple && tuple->opcode == HLO_TUPLE && index < tuple->operand_count)
        return tuple->operands[index];
    return op_graph_make(frame->graph, in->opcode, in->shape, 1, operands, in->attributes);
}

static struct hlo_instruction *plain_value(struct frame *frame, const struct hlo_instruction *in,
                                           struct hlo_instruction **operands)
{
    struct hlo_instruction *value = NULL;
    op_graph_expand(frame->graph, in, operands, &value);
    if (value || frame->graph->failed)
        return value;
    struct hlo_instruction like = *in;
    like.operands = operands;
    value = op_graph_add(frame->graph, &like);
    if (value && frame->counts && (value->opcode == HLO_CUSTOM_CALL || value->opcode == HLO_FUSION))
        frame->graph->counts[value->index] =
            &frame->counts->computations[frame->computation->index][in->index];
    return value;
}

/* ---- loops: an operand for each array that is carried, then one for each value from outside ---- */

static int count_leaves(const struct hlo_shape *shape)
{
    int leaves = shape->type != HLO_TYPE_TUPLE;
    for (int i = 0; i < shape->part_count; i++)
        leaves += count_leaves(shape->parts[i]);
    return leaves;
}

/* The parts of a tuple may be of other shapes than it says: transfers are here what they move. */
static int count_arrays(const struct hlo_instruction *value)
{
    int arrays = 0;
    for (int i = 0; value && value->opcode == HLO_TUPLE && i < value->operand_count; i++)
        arrays += count_arrays(value->operands[i]);
    return !value || value->opcode == HLO_TUPLE ? arrays : count_leaves(value->shape);
}

static int count_carried(const struct hlo_computation *body)
{
    int leaves = 0;
    for (int i = 0; i < body->parameter_count - body->captured; i++)
        leaves += count_leaves(body->parameters[i]->shape);
    return leaves;
}

static void add_leaves(struct op_graph *graph, struct hlo_instruction *value, struct hlo_instruction **list,
                       int *count)
{
    bool is_tuple = value && value->opcode == HLO_TUPLE;
    if (value && !is_tuple && value->shape->type != HLO_TYPE_TUPLE)
        list[(*count)++] = value;
    for (int i = 0; is_tuple && i < value->operand_count; i++)
        add_leaves(graph, value->operands[i], list, count);
    for (int i = 0; value && !is_tuple && i < value->shape->part_count; i++)
        add_leaves(graph, op_graph_tuple_part(graph, value, i), list, count);
}

/* The opposite: a value of this shape of the leaves. */
static struct hlo_instruction *gather_leaves(struct op_graph *graph, const struct hlo_shape *shape,
                                             struct hlo_instruction *const *leaves, int *count)
{
    if (shape->type != HLO_TYPE_TUPLE)
        return leaves[(*count)++];
    struct hlo_instruction **parts =
        ARENA_ARRAY(graph->arena, (size_t)shape->part_count + 1, struct hlo_instruction *);
    for (int i = 0; parts && i < shape->part_count; i++)
        parts[i] = gather_leaves(graph, shape->parts[i], leaves, count);
    graph->failed |= !parts;
    return parts ? op_graph_make(graph, HLO_TUPLE, shape, shape->part_count, parts, NULL) : NULL;
}

static struct hlo_instruction *loop(struct frame *frame, const struct hlo_instruction *in,
                                    struct hlo_instruction **operands)
{
    struct op_graph *graph = frame->graph;
    const struct hlo_computation *condition = in->callees[0], *body = in->callees[1];
    int count = 0, carried = 0, arrays = count_carried(body);
    int room = condition->captured + body->captured + arrays + in->operand_count;
    struct hlo_instruction like = *in;
    struct hlo_attributes *attributes = op_graph_attributes(graph);
    like.operands = ARENA_ARRAY(graph->arena, (size_t)room + 1, struct hlo_instruction *);
    if (!like.operands)
        return graph->failed = true, NULL;
    for (int i = 0; i < in->operand_count; i++)
        carried += count_arrays(operands[i]);
    bool fits = carried == arrays; /* else a transfer crosses the turns, and is here of another shape */
    for (int i = 0; fits && i < in->operand_count; i++)
        add_leaves(graph, operands[i], like.operands, &count);
    if (!fits)
        for (int i = 0; i < body->parameter_count - body->captured; i++)
            add_leaves(graph, outside(graph, body->parameters[i]), like.operands, &count);
    /* counted with what the calls around it are given, too */
    like.operand_count = in->operand_count;
    struct hlo_instruction **leaves = like.operands;
    like.operands = operands;
    *attributes = *in->attributes;
    attributes->trip_count = hlo_trip_count(in);
    if (attributes->trip_count < 0)
        attributes->trip_count = hlo_trip_count(&like);
    for (int r = 2; r-- > 0;) {
        struct hlo_instruction **outside_values = captured_values(frame, in->callees[r]);
        for (int i = 0; outside_values && i < in->callees[r]->captured; i++)
            leaves[count++] = outside_values[i];
    }
    for (int i = 0; !fits && i < in->operand_count; i++)
        leaves[count++] = operands[i];
    like.operands = leaves;
    like.operand_count = count;
    like.attributes = attributes;
    return op_graph_add(graph, &like);
}

static struct hlo_instruction *value_of(struct frame *frame, const struct hlo_instruction *in,
                                        struct hlo_instruction **operands)
{
    struct op_graph *graph = frame->graph;
    int count = in->operand_count;
    if (hlo_operations[in->opcode].traits & HLO_ENDS)
        return op_graph_make(graph, HLO_GET_TUPLE_ELEMENT, in->shape, count, operands, in->attributes);
    switch (in->opcode) {
    case HLO_PARAMETER:
        return parameter_value(frame, in);
    case HLO_FUSION:
        if (frame->fusions || in->callee_count == 0)
            break;
        return call(frame, in->callees[0], operands, count);
    case HLO_CALL:
    case HLO_ASYNC_START:
        if (in->callee_count == 0)
            break;
        return shard(graph, call(frame, in->callees[0], operands, count), in->shape);
    case HLO_CONDITIONAL: {
        if (in->callee_count == 0)
            break;
        int branch = costliest_branch(in);
        bool given = branch + 1 < count;
        return call(frame, in->callees[branch], given ? operands + branch + 1 : operands, given ? 1 : 0);
    }
    case HLO_CUSTOM_CALL:
        if (!count || (!op_is_target(in, "xla.sdy.GlobalToLocalShape") &&
                       !op_is_target(in, "xla.sdy.LocalToGlobalShape")))
            break;
        return shard(graph,
                     in->shape->part_count
                         ? op_graph_make(graph, HLO_TUPLE, op_graph_tuple_shape(graph, count, operands),
                                         count, operands, NULL)
                         : operands[0],
                     in->shape);
    case HLO_WHILE:
        return in->callee_count == 2 ? loop(frame, in, operands) : plain_value(frame, in, operands);
    case HLO_GET_TUPLE_ELEMENT:
        return tuple_part(frame, in, operands);
    case HLO_COPY_START:
        return op_graph_make(graph, HLO_COPY, operands[0] ? operands[0]->shape : in->shape, 1, operands,
                             in->attributes);
    case HLO_OPT_BARRIER:
        if (count > 1)
            return op_graph_make(graph, HLO_TUPLE, in->shape, count, operands, in->attributes);
        return count ? operands[0] : NULL;
    case HLO_ADD_DEPENDENCY:
    case HLO_ASYNC_DONE:
    case HLO_ASYNC_UPDATE:
    case HLO_COPY_DONE:
    case HLO_DOMAIN:
        return count ? operands[0] : NULL;
    default:
        break;
    }
    return plain_value(frame, in, operands);
}

static struct hlo_instruction *inline_computation(struct frame *frame)
{
    struct op_graph *graph = frame->graph;
    const struct hlo_computation *computation = frame->computation;
    frame->values = ARENA_ARRAY(graph->arena, (size_t)computation->count + 1, struct hlo_instruction *);
    if (!frame->values)
        graph->failed = true;
    for (int i = 0; !graph->failed && i < computation->count; i++) {
        const struct hlo_instruction *in = computation->instructions[i];
        if (stop_wanted_at((size_t)i)) {
            graph->failed = true; /* a stop is reported before any failure */
            break;
        }
        struct hlo_instruction **operands =
            ARENA_ARRAY(graph->arena, (size_t)in->operand_count + 1, struct hlo_instruction *);
        if (!operands) {
            graph->failed = true;
            break;
        }
        for (int o = 0; o < in->operand_count; o++)
            operands[o] = frame->values[in->operands[o]->index];
        frame->values[i] = value_of(frame, in, operands);
        if (!frame->values[i])
            graph->failed = true;
    }
    return graph->failed ? NULL : frame->values[computation->root->index];
}

/* ---- results, and the instructions they need ---- */

/* Returns whether an instruction has an effect besides its result. */
static bool acts(const struct hlo_instruction *in)
{
    return op_class(in) == OP_COLLECTIVE || in->opcode == HLO_OUTFEED;
}

void op_graph_keep(struct op_graph *graph, int first, const bool *used)
{
    int kept = first;
    for (int i = first; i < graph->count; i++)
        if (used[i]) {
            graph->at[kept] = graph->at[i];
            graph->counts[kept] = graph->counts[i];
            graph->at[kept]->index = kept;
            kept++;
        }
    graph->count = kept;
}

/* Appends a value to `order` after all that it needs. `path` has room for all instructions, `next` counts the
 * operands of each that have been followed, -1: it has a place. */
static void place(struct hlo_instruction *value, struct hlo_instruction **order, int *count,
                  struct hlo_instruction **path, int *next)
{
    int depth = 0;
    if (next[value->index] >= 0)
        path[depth++] = value;
    while (depth > 0) {
        struct hlo_instruction *at = path[depth - 1];
        if (next[at->index] == at->operand_count) {
            next[at->index] = -1;
            order[(*count)++] = at;
            depth--;
        } else {
            struct hlo_instruction *operand = at->operands[next[at->index]++];
            if (next[operand->index] == 0)
                path[depth++] = operand;
        }
    }
}

/* The order is that in which the results need the rest, whatever that of the text is: fusion depends on it. */
void op_graph_drop_unused(struct op_graph *graph)
{
    struct arena scratch = {0};
    size_t room = (size_t)graph->count + 1;
    struct hlo_instruction **order = ARENA_ARRAY(graph->arena, room, struct hlo_instruction *);
    const struct instruction_count **counts =
        ARENA_ARRAY(graph->arena, room, const struct instruction_count *);
    struct hlo_instruction **path = ARENA_ARRAY(&scratch, room, struct hlo_instruction *);
    int *next = ARENA_ARRAY(&scratch, room, int), count = 0;
    graph->failed |= !order || !counts || !path || !next;
    for (int i = 0; !graph->failed && i < graph->root_count; i++)
        place(graph->roots[i], order, &count, path, next);
    for (int i = 0; !graph->failed && i < graph->count; i++) {
        graph->failed = stop_wanted_at((size_t)i); /* a stop is reported before any failure */
        if (acts(graph->at[i]))
            place(graph->at[i], order, &count, path, next);
    }
    for (int i = 0; !graph->failed && i < graph->parameter_count; i++)
        if (graph->parameters[i] && next[graph->parameters[i]->index] >= 0)
            graph->parameters[i] = NULL;
    for (int i = 0; !graph->failed && i < count; i++) {
        counts[i] = graph->counts[order[i]->index];
        order[i]->index = i;
    }
    if (!graph->failed) {
        graph->at = order;
        graph->counts = counts;
        graph->count = count;
        graph->room = (int)room - 1;
    }
    arena_release(&scratch);
}

static bool take_roots(struct op_graph *graph, struct hlo_instruction *root, struct error *err)
{
    if (root)
        graph->roots = ARENA_ARRAY(graph->arena, (size_t)count_arrays(root) + 1, struct hlo_instruction *);
    if (root && !graph->roots)
        return error_memory(err);
    if (root)
        add_leaves(graph, root, graph->roots, &graph->root_count);
    return op_graph_check(graph, err);
}

bool op_graph_flatten(struct op_graph *graph, struct arena *arena, const struct hlo_computation *computation,
                      const struct module_count *counts, bool fusions, struct error *err)
{
    *graph = (struct op_graph){.arena = arena, .parameter_count = computation->parameter_count};
    graph->parameters = ARENA_ARRAY(arena, (size_t)graph->parameter_count + 1, struct hlo_instruction *);
    if (!graph->parameters)
        return error_memory(err);
    struct frame frame = {.graph = graph, .computation = computation, .counts = counts, .fusions = fusions};
    if (!take_roots(graph, inline_computation(&frame), err))
        return false;
    op_graph_drop_unused(graph);
    return op_graph_check(graph, err);
}

/* ---- numbers of the host ---- */

static bool is_scalar_work(const struct hlo_instruction *at)
{
    enum op_class class = op_class(at);
    return (class == OP_ELEMENTWISE || class == OP_VIEW) && at->operand_count > 0 &&
           at->shape->part_count == 0 && hlo_elements(at->shape) == 1;
}

static bool is_constant(const struct hlo_instruction *at, int depth)
{
    bool constant = op_is_splat(at) || (depth < 16 && is_scalar_work(at));
    for (int i = 0; constant && !op_is_splat(at) && i < at->operand_count; i++)
        constant = is_constant(at->operands[i], depth + 1);
    return constant;
}

/* Makes constants of the scalars of a loop's body that begin as constants and follow from one another, where the
 * number of turns is known: the host, which launches the kernels, counts them. */
static void host_numbers(struct op_graph *body, const struct hlo_instruction *loop)
{
    struct arena scratch = {0};
    bool *known = ARENA_ARRAY(&scratch, (size_t)body->count + 1, bool);
    bool *counted = ARENA_ARRAY(&scratch, (size_t)body->root_count + 1, bool);
    bool changed = known && counted;
    for (int i = 0; counted && i < body->root_count; i++) {
        const struct hlo_shape *shape = loop->operands[i]->shape;
        counted[i] = loop->attributes->trip_count >= 0 && shape->rank == 0 &&
                     (shape->type == HLO_TYPE_PRED || hlo_type_is_whole(shape->type)) &&
                     is_constant(loop->operands[i], 0);
    }
    while (changed) { /* a number that follows from others falls with them */
        for (int i = 0; i < body->count; i++) {
            const struct hlo_instruction *at = body->at[i];
            bool parameter = at->opcode == HLO_PARAMETER && at->parameter >= 0;
            known[i] =
                op_is_splat(at) ||
                (parameter ? at->parameter < body->root_count && counted[at->parameter] : is_scalar_work(at));
            for (int o = 0; known[i] && o < at->operand_count; o++)
                known[i] = known[at->operands[o]->index];
        }
        changed = false;
        for (int i = 0; i < body->root_count; i++)
            if (counted[i] && !known[body->roots[i]->index])
                changed = !(counted[i] = false);
    }
    for (int i = 0; counted && i < body->root_count; i++)
        if (counted[i]) {
            body->parameters[i]->opcode = HLO_CONSTANT;
            body->roots[i] = body->parameters[i];
        }
    body->failed |= !known || !counted;
    arena_release(&scratch);
}

/* ---- bodies ---- */

bool op_graph_flatten_body(struct op_graph *graph, struct arena *arena, const struct hlo_instruction *loop,
                           const struct module_count *counts, bool fusions, struct error *err)
{
    const struct hlo_computation *body = loop->callees[1];
    int own = body->parameter_count - body->captured, carried = count_carried(body), count = 0;
    *graph = (struct op_graph){.arena = arena, .parameter_count = carried + body->captured};
    graph->parameters = ARENA_ARRAY(arena, (size_t)graph->parameter_count + 1, struct hlo_instruction *);
    struct hlo_instruction **arguments = ARENA_ARRAY(arena, (size_t)own + 1, struct hlo_instruction *);
    if (!graph->parameters || !arguments)
        return error_memory(err);
    for (int i = 0; i < graph->parameter_count; i++) {
        graph->parameters[i] = op_graph_make(graph, HLO_PARAMETER, loop->operands[i]->shape, 0, NULL, NULL);
        if (graph->failed)
            return op_graph_check(graph, err);
        graph->parameters[i]->parameter = i;
        graph->parameters[i]->name = loop->operands[i]->name;
    }
    for (int i = 0; i < own; i++)
        arguments[i] = gather_leaves(graph, body->parameters[i]->shape, graph->parameters, &count);
    struct frame frame = {
        .graph = graph,
        .computation = body,
        .arguments = arguments,
        .argument_count = own,
        .captured = graph->parameters + carried,
        .counts = counts,
        .fusions = fusions,
    };
    if (!take_roots(graph, inline_computation(&frame), err))
        return false;
    graph->root_count = graph->root_count < carried ? graph->root_count : carried;
    host_numbers(graph, loop);
    op_graph_drop_unused(graph);
    return op_graph_check(graph, err);
}

bool op_graph_check(const struct op_graph *graph, struct error *err)
{
    if (graph->too_large)
        return error_set(err, ERROR_INPUT, "with its calls inlined the module has more than %zu instructions",
                         OP_GRAPH_MAX);
    return graph->failed ? error_memory(err) : true;
}
