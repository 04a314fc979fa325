/* Which arguments of a layer are its parameters. */
#include "core/stop.h"
#include "cost/derive/derive.h"
#include "cost/derive/op.h"

/* Elements from which on a constant of floating point numbers is taken for a weight. */
#define MIN_WEIGHT 1024

bool derive_is_weight(const struct hlo_instruction *in)
{
    return in->opcode == HLO_CONSTANT && !op_is_splat(in) && hlo_type_is_float(in->shape->type) &&
           hlo_elements(in->shape) >= MIN_WEIGHT;
}

/* The argument that a value is a view, conversion or slice of, or is gathered from. */
enum { COMPUTED = -1 };

struct origin {
    int argument;
    bool sliced; /* one of several, as loops take the weights of each layer */
};

/* The search for parameters in a graph and in the bodies of its loops. */
struct argument_search {
    const struct op_graph *graph;
    enum argument_kind *kinds;
    struct arena *arena;
    struct error *err;
};

static struct origin origin_of(const struct origin *origin, const struct hlo_instruction *in,
                               const struct origin *given)
{
    if (in->opcode == HLO_PARAMETER && in->parameter >= 0)
        return given ? given[in->parameter] : (struct origin){(int)in->parameter, false};
    bool sliced = in->opcode == HLO_DYNAMIC_SLICE;
    bool through = sliced || op_class(in) == OP_VIEW || in->opcode == HLO_CONVERT || in->opcode == HLO_COPY ||
                   in->opcode == HLO_ALL_GATHER || in->opcode == HLO_ALL_GATHER_START;
    struct origin from = through ? origin[in->operands[0]->index] : (struct origin){COMPUTED, false};
    from.sliced |= sliced;
    return from;
}

static void mark(const struct argument_search *search, int argument)
{
    const struct op_graph *graph = search->graph;
    if (argument >= 0 && argument < graph->parameter_count && graph->parameters[argument] &&
        hlo_type_is_float(graph->parameters[argument]->shape->type))
        search->kinds[argument] = ARGUMENT_PARAMETER;
}

static void mark_product(const struct argument_search *search, const struct origin *origin,
                         const struct hlo_instruction *product)
{
    struct origin left = origin[product->operands[0]->index], right = origin[product->operands[1]->index];
    struct origin found = right.argument < 0 ? left : right;
    bool both = left.argument >= 0 && right.argument >= 0;
    if (product->opcode == HLO_CONVOLUTION || product->attributes->lhs_batch.count == 0) {
        mark(search, product->opcode == HLO_CONVOLUTION ? right.argument : found.argument);
        return;
    }
    const struct hlo_instruction *argument =
        found.argument >= 0 && !both ? search->graph->parameters[found.argument] : NULL;
    if (argument && argument->shape->rank == 3 + found.sliced)
        mark(search, found.argument);
}

/* A row of scales or biases that a loop takes for a layer is stretched over what it computes. */
static bool is_scale(const struct origin *origin, const struct hlo_instruction *at)
{
    return at->opcode == HLO_BROADCAST && origin[at->operands[0]->index].sliced &&
           at->operands[0]->shape->rank == 1 &&
           hlo_elements(at->shape) > hlo_elements(at->operands[0]->shape) &&
           hlo_elements(at->operands[0]->shape) > 1;
}

static bool search_arguments(const struct argument_search *search, const struct op_graph *graph,
                             const struct origin *given);

static bool search_loop(const struct argument_search *search, const struct hlo_instruction *loop,
                        const struct origin *origin)
{
    struct op_graph body;
    if (!op_graph_flatten_body(&body, search->arena, loop, NULL, false, search->err))
        return false;
    struct origin *given = ARENA_ARRAY(search->arena, (size_t)body.parameter_count + 1, struct origin);
    if (!given)
        return error_memory(search->err);
    for (int i = 0; i < body.parameter_count; i++)
        given[i] =
            op_graph_is_same(&body, i) ? origin[loop->operands[i]->index] : (struct origin){COMPUTED, false};
    return search_arguments(search, &body, given);
}

static bool search_arguments(const struct argument_search *search, const struct op_graph *graph,
                             const struct origin *given)
{
    struct origin *origin = ARENA_ARRAY(search->arena, (size_t)graph->count + 1, struct origin);
    if (!origin)
        return error_memory(search->err);
    for (int i = 0; i < graph->count; i++) {
        const struct hlo_instruction *at = graph->at[i];
        if (stop_obeyed_at((size_t)i, search->err))
            return false;
        origin[i] = origin_of(origin, at, given);
        if (op_class(at) == OP_PRODUCT && at->opcode != HLO_CUSTOM_CALL && at->operand_count >= 2)
            mark_product(search, origin, at);
        else if (at->opcode == HLO_GATHER || is_scale(origin, at))
            mark(search, origin[at->operands[0]->index].argument);
        else if (op_class(at) == OP_LOOP && at->callee_count == 2 && !search_loop(search, at, origin))
            return false;
    }
    return true;
}

bool derive_arguments(const struct op_graph *graph, struct arena *arena, enum argument_kind **arguments,
                      struct error *err)
{
    struct arena scratch = {0};
    enum argument_kind *kinds = ARENA_ARRAY(arena, (size_t)graph->parameter_count + 1, enum argument_kind);
    const struct argument_search search = {graph, kinds, &scratch, err};
    bool found = kinds ? search_arguments(&search, graph, NULL) : error_memory(err);
    for (int i = 0; found && i < graph->parameter_count; i++)
        if (graph->parameters[i] && graph->parameters[i]->shape->rank == 1 &&
            graph->parameters[i]->shape->dims[0] > 1)
            mark(&search, i);
    arena_release(&scratch);
    *arguments = kinds;
    return found;
}
