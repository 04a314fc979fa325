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
        const struct hlo_instruction *instruction = computation->instructions[i];
        struct op_product product;
        if (op_class(instruction) == OP_PRODUCT && op_product(instruction, &product))
            sum += product_flops(&product.size);
        sum += FLOPS_PER_BYTE * (double)hlo_leaf_bytes(instruction->shape);
        bool calls = instruction->opcode == HLO_CALL || instruction->opcode == HLO_FUSION ||
                     instruction->opcode == HLO_CONDITIONAL || instruction->opcode == HLO_WHILE;
        for (int c = 0; calls && c < instruction->callee_count; c++)
            sum += weight(instruction->callees[c], depth + 1);
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
static struct hlo_instruction *outside(struct op_graph *graph, const struct hlo_instruction *parameter)
{
    struct hlo_instruction like = *parameter;
    like.parameter = -1;
    return op_graph_add(graph, &like);
}

static struct hlo_instruction *call(struct frame *frame, const struct hlo_computation *callee,
                                    struct hlo_instruction *const *arguments, int count)
{
    struct frame inner = {
        .graph = frame->graph,
        .computation = callee,
        .arguments = arguments,
        .argument_count = count,
        .counts = frame->counts,
        .fusions = frame->fusions,
        .depth = frame->depth + 1,
    };
    if (inner.depth > OP_DEPTH) {
        frame->graph->failed = frame->graph->too_large = true;
        return NULL;
    }
    return inline_computation(&inner);
}

static struct hlo_instruction *parameter_value(struct frame *frame, const struct hlo_instruction *instruction)
{
    int64_t number = instruction->parameter;
    bool captured = number >= frame->computation->parameter_count - frame->computation->captured;
    if (frame->arguments && !captured && number < frame->argument_count)
        return frame->arguments[number];
    if (frame->arguments || number >= frame->graph->parameter_count)
        return outside(frame->graph, instruction);
    return frame->graph->parameters[number] = op_graph_add(frame->graph, instruction);
}

static struct hlo_instruction *tuple_part(struct frame *frame, const struct hlo_instruction *instruction,
                                          struct hlo_instruction *const *operands)
{
    struct hlo_instruction *tuple = operands[0];
    int64_t index = instruction->attributes->index;
    if (tuple && tuple->opcode == HLO_TUPLE && index < tuple->operand_count)
        return tuple->operands[index];
    return op_graph_make(frame->graph, instruction->opcode, instruction->shape, 1, operands,
                         instruction->attributes);
}

static struct hlo_instruction *plain_value(struct frame *frame, const struct hlo_instruction *instruction,
                                           struct hlo_instruction **operands)
{
    struct hlo_instruction *value = NULL;
    op_graph_expand(frame->graph, instruction, operands, &value);
    if (value || frame->graph->failed)
        return value;
    struct hlo_instruction like = *instruction;
    like.operands = operands;
    value = op_graph_add(frame->graph, &like);
    if (value && frame->counts && (value->opcode == HLO_CUSTOM_CALL || value->opcode == HLO_FUSION))
        frame->graph->counts[value->index] =
            &frame->counts->computations[frame->computation->index][instruction->index];
    return value;
}

static struct hlo_instruction *value_of(struct frame *frame, const struct hlo_instruction *instruction,
                                        struct hlo_instruction **operands)
{
    struct op_graph *graph = frame->graph;
    int count = instruction->operand_count;
    if (hlo_operations[instruction->opcode].traits & HLO_ENDS)
        return op_graph_make(graph, HLO_GET_TUPLE_ELEMENT, instruction->shape, count, operands,
                             instruction->attributes);
    switch (instruction->opcode) {
    case HLO_PARAMETER:
        return parameter_value(frame, instruction);
    case HLO_FUSION:
        if (frame->fusions || instruction->callee_count == 0)
            break;
        return call(frame, instruction->callees[0], operands, count);
    case HLO_CALL:
    case HLO_ASYNC_START:
        if (instruction->callee_count == 0)
            break;
        return call(frame, instruction->callees[0], operands, count);
    case HLO_CONDITIONAL: {
        if (instruction->callee_count == 0)
            break;
        int branch = costliest_branch(instruction);
        bool given = branch + 1 < count;
        return call(frame, instruction->callees[branch], given ? operands + branch + 1 : operands,
                    given ? 1 : 0);
    }
    case HLO_GET_TUPLE_ELEMENT:
        return tuple_part(frame, instruction, operands);
    case HLO_COPY_START:
        return op_graph_make(graph, HLO_COPY, operands[0] ? operands[0]->shape : instruction->shape, 1,
                             operands, instruction->attributes);
    case HLO_OPT_BARRIER:
        if (count > 1)
            return op_graph_make(graph, HLO_TUPLE, instruction->shape, count, operands,
                                 instruction->attributes);
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
    return plain_value(frame, instruction, operands);
}

static struct hlo_instruction *inline_computation(struct frame *frame)
{
    struct op_graph *graph = frame->graph;
    const struct hlo_computation *computation = frame->computation;
    frame->values = ARENA_ARRAY(graph->arena, (size_t)computation->count + 1, struct hlo_instruction *);
    if (!frame->values)
        graph->failed = true;
    for (int i = 0; !graph->failed && i < computation->count; i++) {
        const struct hlo_instruction *instruction = computation->instructions[i];
        if (stop_wanted_at((size_t)i)) {
            graph->failed = true; /* a stop is reported before any failure */
            break;
        }
        struct hlo_instruction **operands =
            ARENA_ARRAY(graph->arena, (size_t)instruction->operand_count + 1, struct hlo_instruction *);
        if (!operands) {
            graph->failed = true;
            break;
        }
        for (int o = 0; o < instruction->operand_count; o++)
            operands[o] = frame->values[instruction->operands[o]->index];
        frame->values[i] = value_of(frame, instruction, operands);
        if (!frame->values[i])
            graph->failed = true;
    }
    return graph->failed ? NULL : frame->values[computation->root->index];
}

/* ---- results, and the instructions they need ---- */

static int count_leaves(const struct hlo_instruction *value)
{
    if (value->opcode != HLO_TUPLE)
        return 1;
    int leaves = 0;
    for (int i = 0; i < value->operand_count; i++)
        leaves += count_leaves(value->operands[i]);
    return leaves;
}

static void add_leaves(struct op_graph *graph, struct hlo_instruction *value)
{
    if (value->opcode != HLO_TUPLE) {
        graph->roots[graph->root_count++] = value;
        return;
    }
    for (int i = 0; i < value->operand_count; i++)
        add_leaves(graph, value->operands[i]);
}

/* Returns whether an instruction has an effect besides its result. */
static bool acts(const struct hlo_instruction *instruction)
{
    return op_class(instruction) == OP_COLLECTIVE || instruction->opcode == HLO_OUTFEED;
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

void op_graph_drop_unused(struct op_graph *graph)
{
    struct arena scratch = {0};
    bool *used = ARENA_ARRAY(&scratch, (size_t)graph->count + 1, bool);
    if (!used) {
        graph->failed = true;
        return;
    }
    for (int i = 0; i < graph->root_count; i++)
        used[graph->roots[i]->index] = true;
    for (int i = graph->count; i-- > 0 && !graph->failed;) {
        graph->failed = stop_wanted_at((size_t)i); /* a stop is reported before any failure */
        used[i] = used[i] || acts(graph->at[i]);
        for (int o = 0; used[i] && o < graph->at[i]->operand_count; o++)
            used[graph->at[i]->operands[o]->index] = true;
    }
    for (int i = 0; i < graph->parameter_count; i++)
        if (graph->parameters[i] && !used[graph->parameters[i]->index])
            graph->parameters[i] = NULL;
    if (!graph->failed)
        op_graph_keep(graph, 0, used);
    arena_release(&scratch);
}

bool op_graph_flatten(struct op_graph *graph, struct arena *arena, const struct hlo_computation *computation,
                      const struct module_count *counts, bool fusions, struct error *err)
{
    *graph = (struct op_graph){.arena = arena, .parameter_count = computation->parameter_count};
    graph->parameters = ARENA_ARRAY(arena, (size_t)graph->parameter_count + 1, struct hlo_instruction *);
    if (!graph->parameters)
        return error_memory(err);
    struct frame frame = {.graph = graph, .computation = computation, .counts = counts, .fusions = fusions};
    struct hlo_instruction *root = inline_computation(&frame);
    if (!root)
        return op_graph_check(graph, err);
    graph->roots = ARENA_ARRAY(arena, (size_t)count_leaves(root) + 1, struct hlo_instruction *);
    if (!graph->roots)
        return error_memory(err);
    add_leaves(graph, root);
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
