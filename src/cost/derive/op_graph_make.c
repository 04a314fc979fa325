#include "cost/derive/op_graph.h"

#include <string.h>

static const struct hlo_attributes no_attributes;

static bool grow(struct op_graph *graph)
{
    size_t room = graph->room ? 2 * (size_t)graph->room : 256, count = (size_t)graph->count;
    struct hlo_instruction **at = ARENA_ARRAY(graph->arena, room, struct hlo_instruction *);
    const struct instruction_count **counts =
        ARENA_ARRAY(graph->arena, room, const struct instruction_count *);
    if (!at || !counts) {
        graph->failed = true;
        return false;
    }
    if (count) {
        memcpy(at, graph->at, count * sizeof *at);
        memcpy(counts, graph->counts, count * sizeof *counts);
    }
    graph->at = at;
    graph->counts = counts;
    graph->room = (int)room;
    return true;
}

bool op_graph_put(struct op_graph *graph, struct hlo_instruction *in)
{
    if ((size_t)graph->count >= OP_GRAPH_MAX)
        graph->failed = graph->too_large = true;
    if (graph->failed || (graph->count >= graph->room && !grow(graph)))
        return false;
    in->index = graph->count;
    graph->counts[graph->count] = NULL;
    graph->at[graph->count++] = in;
    return true;
}

struct hlo_instruction *op_graph_add(struct op_graph *graph, const struct hlo_instruction *like)
{
    for (int i = 0; i < like->operand_count; i++)
        if (!like->operands[i])
            graph->failed = true;
    struct hlo_instruction *added = like->shape ? ARENA_NEW(graph->arena, struct hlo_instruction) : NULL;
    if (!added)
        return graph->failed = true, NULL;
    *added = *like;
    return op_graph_put(graph, added) ? added : NULL;
}

struct hlo_instruction *op_graph_make(struct op_graph *graph, enum hlo_opcode opcode,
                                      const struct hlo_shape *shape, int count,
                                      struct hlo_instruction *const *operands,
                                      const struct hlo_attributes *attributes)
{
    struct hlo_instruction **copy = ARENA_ARRAY(graph->arena, (size_t)count + 1, struct hlo_instruction *);
    if (!copy)
        return graph->failed = true, NULL;
    if (count)
        memcpy(copy, operands, (size_t)count * sizeof(struct hlo_instruction *));
    return op_graph_add(graph, &(struct hlo_instruction){
                                   .opcode = opcode,
                                   .name = graph->name            ? graph->name
                                           : count && operands[0] ? operands[0]->name
                                                                  : hlo_opcode_name(opcode),
                                   .shape = shape,
                                   .operand_count = count,
                                   .operands = copy,
                                   .attributes = attributes ? attributes : &no_attributes,
                               });
}

const struct hlo_shape *op_graph_shape(struct op_graph *graph, enum hlo_type type, int rank,
                                       const int64_t *dims)
{
    struct hlo_shape *shape = ARENA_NEW(graph->arena, struct hlo_shape);
    int64_t *copy = ARENA_ARRAY(graph->arena, (size_t)rank + 1, int64_t);
    if (!shape || !copy)
        return graph->failed = true, NULL;
    if (rank)
        memcpy(copy, dims, (size_t)rank * sizeof *copy);
    *shape = (struct hlo_shape){.type = type, .rank = rank, .dims = copy};
    return shape;
}

const struct hlo_shape *op_graph_like(struct op_graph *graph, const struct hlo_shape *shape,
                                      enum hlo_type type)
{
    if (shape->type == type)
        return shape;
    return op_graph_shape(graph, type, shape->rank, shape->dims);
}

struct hlo_ints op_graph_ints(struct op_graph *graph, int count, const int64_t *at)
{
    int64_t *copy = ARENA_ARRAY(graph->arena, (size_t)count + 1, int64_t);
    if (!copy) {
        graph->failed = true;
        return (struct hlo_ints){0, NULL};
    }
    if (count)
        memcpy(copy, at, (size_t)count * sizeof *copy);
    return (struct hlo_ints){count, copy};
}

struct hlo_ints op_graph_other_dims(struct op_graph *graph, const struct hlo_shape *shape,
                                    struct hlo_ints without)
{
    int64_t dims[HLO_MAX_RANK];
    int count = 0;
    for (int i = 0; i < shape->rank; i++)
        if (!hlo_ints_have(without, i))
            dims[count++] = i;
    return op_graph_ints(graph, count, dims);
}

const struct hlo_shape *op_graph_tuple_shape(struct op_graph *graph, int count,
                                             struct hlo_instruction *const *parts)
{
    const struct hlo_shape **shapes = ARENA_ARRAY(graph->arena, (size_t)count, const struct hlo_shape *);
    struct hlo_shape *shape = ARENA_NEW(graph->arena, struct hlo_shape);
    if (!shapes || !shape)
        return graph->failed = true, NULL;
    for (int i = 0; i < count; i++) {
        if (!parts[i])
            return NULL;
        shapes[i] = parts[i]->shape;
    }
    *shape = (struct hlo_shape){.type = HLO_TYPE_TUPLE, .part_count = count, .parts = shapes};
    return shape;
}

struct hlo_attributes *op_graph_attributes(struct op_graph *graph)
{
    static _Thread_local struct hlo_attributes spare; /* for a graph that failed: it is not used */
    struct hlo_attributes *attributes = ARENA_NEW(graph->arena, struct hlo_attributes);
    if (attributes)
        return attributes;
    graph->failed = true;
    return &spare;
}

struct hlo_instruction *op_graph_splat(struct op_graph *graph, const struct hlo_shape *shape)
{
    if (!shape)
        return NULL;
    struct hlo_instruction *scalar =
        op_graph_make(graph, HLO_CONSTANT, op_graph_shape(graph, shape->type, 0, NULL), 0, NULL, NULL);
    return shape->rank ? op_graph_broadcast(graph, scalar, shape, (struct hlo_ints){0, NULL}) : scalar;
}

struct hlo_instruction *op_graph_unary(struct op_graph *graph, enum hlo_opcode opcode,
                                       struct hlo_instruction *a)
{
    return a ? op_graph_make(graph, opcode, a->shape, 1, &a, NULL) : NULL;
}

struct hlo_instruction *op_graph_binary(struct op_graph *graph, enum hlo_opcode opcode,
                                        struct hlo_instruction *a, struct hlo_instruction *b)
{
    if (!a || !b)
        return NULL;
    const struct hlo_shape *shape =
        opcode == HLO_COMPARE ? op_graph_like(graph, a->shape, HLO_TYPE_PRED) : a->shape;
    return op_graph_make(graph, opcode, shape, 2, (struct hlo_instruction *[]){a, b}, NULL);
}

struct hlo_instruction *op_graph_scale(struct op_graph *graph, struct hlo_instruction *a)
{
    return a ? op_graph_binary(graph, HLO_MULTIPLY, a, op_graph_splat(graph, a->shape)) : NULL;
}

struct hlo_instruction *op_graph_shift(struct op_graph *graph, struct hlo_instruction *a)
{
    return a ? op_graph_binary(graph, HLO_ADD, a, op_graph_splat(graph, a->shape)) : NULL;
}

struct hlo_instruction *op_graph_select(struct op_graph *graph, struct hlo_instruction *predicate,
                                        struct hlo_instruction *a, struct hlo_instruction *b)
{
    if (!predicate || !a || !b)
        return NULL;
    return op_graph_make(graph, HLO_SELECT, a->shape, 3, (struct hlo_instruction *[]){predicate, a, b}, NULL);
}

struct hlo_instruction *op_graph_convert(struct op_graph *graph, struct hlo_instruction *a,
                                         enum hlo_type type)
{
    if (!a || a->shape->type == type)
        return a;
    return op_graph_make(graph, HLO_CONVERT, op_graph_like(graph, a->shape, type), 1, &a, NULL);
}

struct hlo_instruction *op_graph_reshape(struct op_graph *graph, struct hlo_instruction *a,
                                         const struct hlo_shape *shape)
{
    if (!a || !shape || hlo_shape_equal(a->shape, shape))
        return a;
    return op_graph_make(graph, HLO_RESHAPE, shape, 1, &a, NULL);
}

struct hlo_instruction *op_graph_transpose(struct op_graph *graph, struct hlo_instruction *a,
                                           const int64_t *order)
{
    if (!a)
        return NULL;
    int rank = a->shape->rank;
    int64_t dims[HLO_MAX_RANK];
    bool same = true;
    for (int i = 0; i < rank; i++) {
        dims[i] = a->shape->dims[order[i]];
        same = same && order[i] == i;
    }
    if (same)
        return a;
    struct hlo_attributes *attributes = op_graph_attributes(graph);
    attributes->dimensions = op_graph_ints(graph, rank, order);
    return op_graph_make(graph, HLO_TRANSPOSE, op_graph_shape(graph, a->shape->type, rank, dims), 1, &a,
                         attributes);
}

struct hlo_instruction *op_graph_broadcast(struct op_graph *graph, struct hlo_instruction *a,
                                           const struct hlo_shape *shape, struct hlo_ints dims)
{
    if (!a || !shape)
        return NULL;
    struct hlo_attributes *attributes = op_graph_attributes(graph);
    attributes->dimensions = op_graph_ints(graph, dims.count, dims.at);
    return op_graph_make(graph, HLO_BROADCAST, op_graph_like(graph, shape, a->shape->type), 1, &a,
                         attributes);
}

static struct hlo_instruction roots[] = {{.opcode = HLO_ADD, .name = "add"},
                                         {.opcode = HLO_MAXIMUM, .name = "maximum"}};
static struct hlo_computation computations[] = {{.name = "add", .root = &roots[0]},
                                                {.name = "maximum", .root = &roots[1]}};
static struct hlo_computation *callees[] = {&computations[0], &computations[1]};

struct hlo_instruction *op_graph_reduce(struct op_graph *graph, enum hlo_opcode opcode,
                                        struct hlo_instruction *a, struct hlo_ints dims)
{
    if (!a)
        return NULL;
    int64_t kept[HLO_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < a->shape->rank; i++)
        if (!hlo_ints_have(dims, i))
            kept[rank++] = a->shape->dims[i];
    struct hlo_attributes *attributes = op_graph_attributes(graph);
    attributes->dimensions = op_graph_ints(graph, dims.count, dims.at);
    struct hlo_instruction *start = op_graph_splat(graph, op_graph_shape(graph, a->shape->type, 0, NULL));
    struct hlo_instruction *reduce =
        op_graph_make(graph, HLO_REDUCE, op_graph_shape(graph, a->shape->type, rank, kept), 2,
                      (struct hlo_instruction *[]){a, start}, attributes);
    if (reduce) {
        reduce->callee_count = 1;
        reduce->callees = &callees[opcode == HLO_MAXIMUM];
    }
    return reduce;
}

struct hlo_instruction *op_graph_tuple_part(struct op_graph *graph, struct hlo_instruction *a, int64_t index)
{
    if (!a || index >= a->shape->part_count)
        return NULL;
    struct hlo_attributes *attributes = op_graph_attributes(graph);
    attributes->index = index;
    return op_graph_make(graph, HLO_GET_TUPLE_ELEMENT, a->shape->parts[index], 1, &a, attributes);
}
