#include "cost/derive/op_graph.h"

#include <string.h>

static const struct hlo_attributes no_attributes;

static bool grow(struct op_graph *g)
{
    size_t room = g->room ? 2 * (size_t)g->room : 256, count = (size_t)g->count;
    struct hlo_instruction **at = ARENA_ARRAY(g->arena, room, struct hlo_instruction *);
    const struct instruction_count **counts = ARENA_ARRAY(g->arena, room, const struct instruction_count *);
    if (!at || !counts) {
        g->failed = true;
        return false;
    }
    if (count) {
        memcpy(at, g->at, count * sizeof *at);
        memcpy(counts, g->counts, count * sizeof *counts);
    }
    g->at = at;
    g->counts = counts;
    g->room = (int)room;
    return true;
}

bool op_graph_put(struct op_graph *g, struct hlo_instruction *in)
{
    if ((size_t)g->count >= OP_GRAPH_MAX)
        g->failed = g->too_large = true;
    if (g->failed || (g->count >= g->room && !grow(g)))
        return false;
    in->index = g->count;
    g->counts[g->count] = NULL;
    g->at[g->count++] = in;
    return true;
}

struct hlo_instruction *op_graph_add(struct op_graph *g, const struct hlo_instruction *like)
{
    for (int i = 0; i < like->operand_count; i++)
        if (!like->operands[i])
            g->failed = true;
    struct hlo_instruction *added = like->shape ? ARENA_NEW(g->arena, struct hlo_instruction) : NULL;
    if (!added)
        return g->failed = true, NULL;
    *added = *like;
    return op_graph_put(g, added) ? added : NULL;
}

struct hlo_instruction *op_graph_make(struct op_graph *g, enum hlo_opcode opcode,
                                      const struct hlo_shape *shape, int count,
                                      struct hlo_instruction *const *operands,
                                      const struct hlo_attributes *attributes)
{
    struct hlo_instruction **copy = ARENA_ARRAY(g->arena, (size_t)count + 1, struct hlo_instruction *);
    if (!copy)
        return g->failed = true, NULL;
    if (count)
        memcpy(copy, operands, (size_t)count * sizeof(struct hlo_instruction *));
    return op_graph_add(g, &(struct hlo_instruction){
                               .opcode = opcode,
                               .name = g->name                ? g->name
                                       : count && operands[0] ? operands[0]->name
                                                              : hlo_opcode_name(opcode),
                               .shape = shape,
                               .operand_count = count,
                               .operands = copy,
                               .attributes = attributes ? attributes : &no_attributes,
                           });
}

const struct hlo_shape *op_graph_shape(struct op_graph *g, enum hlo_type type, int rank, const int64_t *dims)
{
    const struct hlo_shape *shape = hlo_make_array(g->arena, type, dims, rank);
    g->failed |= !shape;
    return shape;
}

const struct hlo_shape *op_graph_like(struct op_graph *g, const struct hlo_shape *shape, enum hlo_type type)
{
    if (shape->type == type)
        return shape;
    return op_graph_shape(g, type, shape->rank, shape->dims);
}

struct hlo_ints op_graph_ints(struct op_graph *g, int count, const int64_t *at)
{
    struct hlo_ints copy = hlo_make_ints(g->arena, at, count);
    g->failed |= !copy.at;
    return copy;
}

struct hlo_ints op_graph_other_dims(struct op_graph *g, const struct hlo_shape *shape,
                                    struct hlo_ints without)
{
    int64_t dims[HLO_MAX_RANK];
    int count = 0;
    for (int i = 0; i < shape->rank; i++)
        if (!hlo_ints_have(without, i))
            dims[count++] = i;
    return op_graph_ints(g, count, dims);
}

const struct hlo_shape *op_graph_tuple_shape(struct op_graph *g, int count,
                                             struct hlo_instruction *const *parts)
{
    for (int i = 0; i < count; i++)
        if (!parts[i])
            return NULL;
    const struct hlo_shape *shape = hlo_make_tuple(g->arena, parts, count);
    g->failed |= !shape;
    return shape;
}

struct hlo_attributes *op_graph_attributes(struct op_graph *g)
{
    static _Thread_local struct hlo_attributes spare; /* for a graph that failed: it is not used */
    struct hlo_attributes *attributes = ARENA_NEW(g->arena, struct hlo_attributes);
    if (attributes)
        return attributes;
    g->failed = true;
    return &spare;
}

struct hlo_instruction *op_graph_splat(struct op_graph *g, const struct hlo_shape *shape)
{
    if (!shape)
        return NULL;
    struct hlo_instruction *scalar =
        op_graph_make(g, HLO_CONSTANT, op_graph_shape(g, shape->type, 0, NULL), 0, NULL, NULL);
    return shape->rank ? op_graph_broadcast(g, scalar, shape, (struct hlo_ints){0, NULL}) : scalar;
}

struct hlo_instruction *op_graph_unary(struct op_graph *g, enum hlo_opcode opcode, struct hlo_instruction *a)
{
    return a ? op_graph_make(g, opcode, a->shape, 1, &a, NULL) : NULL;
}

struct hlo_instruction *op_graph_binary(struct op_graph *g, enum hlo_opcode opcode, struct hlo_instruction *a,
                                        struct hlo_instruction *b)
{
    if (!a || !b)
        return NULL;
    const struct hlo_shape *shape =
        opcode == HLO_COMPARE ? op_graph_like(g, a->shape, HLO_TYPE_PRED) : a->shape;
    return op_graph_make(g, opcode, shape, 2, (struct hlo_instruction *[]){a, b}, NULL);
}

struct hlo_instruction *op_graph_scale(struct op_graph *g, struct hlo_instruction *a)
{
    return a ? op_graph_binary(g, HLO_MULTIPLY, a, op_graph_splat(g, a->shape)) : NULL;
}

struct hlo_instruction *op_graph_shift(struct op_graph *g, struct hlo_instruction *a)
{
    return a ? op_graph_binary(g, HLO_ADD, a, op_graph_splat(g, a->shape)) : NULL;
}

struct hlo_instruction *op_graph_select(struct op_graph *g, struct hlo_instruction *predicate,
                                        struct hlo_instruction *a, struct hlo_instruction *b)
{
    if (!predicate || !a || !b)
        return NULL;
    return op_graph_make(g, HLO_SELECT, a->shape, 3, (struct hlo_instruction *[]){predicate, a, b}, NULL);
}

struct hlo_instruction *op_graph_convert(struct op_graph *g, struct hlo_instruction *a, enum hlo_type type)
{
    if (!a || a->shape->type == type)
        return a;
    return op_graph_make(g, HLO_CONVERT, op_graph_like(g, a->shape, type), 1, &a, NULL);
}

struct hlo_instruction *op_graph_reshape(struct op_graph *g, struct hlo_instruction *a,
                                         const struct hlo_shape *shape)
{
    if (!a || !shape || hlo_shape_equal(a->shape, shape))
        return a;
    return op_graph_make(g, HLO_RESHAPE, shape, 1, &a, NULL);
}

struct hlo_instruction *op_graph_transpose(struct op_graph *g, struct hlo_instruction *a,
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
    struct hlo_attributes *attributes = op_graph_attributes(g);
    attributes->dimensions = op_graph_ints(g, rank, order);
    return op_graph_make(g, HLO_TRANSPOSE, op_graph_shape(g, a->shape->type, rank, dims), 1, &a, attributes);
}

struct hlo_instruction *op_graph_broadcast(struct op_graph *g, struct hlo_instruction *a,
                                           const struct hlo_shape *shape, struct hlo_ints dims)
{
    if (!a || !shape)
        return NULL;
    struct hlo_attributes *attributes = op_graph_attributes(g);
    attributes->dimensions = op_graph_ints(g, dims.count, dims.at);
    return op_graph_make(g, HLO_BROADCAST, op_graph_like(g, shape, a->shape->type), 1, &a, attributes);
}

static struct hlo_instruction roots[] = {{.opcode = HLO_ADD, .name = "add"},
                                         {.opcode = HLO_MAXIMUM, .name = "maximum"}};
static struct hlo_computation computations[] = {{.name = "add", .root = &roots[0]},
                                                {.name = "maximum", .root = &roots[1]}};
static struct hlo_computation *callees[] = {&computations[0], &computations[1]};

struct hlo_instruction *op_graph_reduce(struct op_graph *g, enum hlo_opcode opcode, struct hlo_instruction *a,
                                        struct hlo_ints dims)
{
    if (!a)
        return NULL;
    int64_t kept[HLO_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < a->shape->rank; i++)
        if (!hlo_ints_have(dims, i))
            kept[rank++] = a->shape->dims[i];
    struct hlo_attributes *attributes = op_graph_attributes(g);
    attributes->dimensions = op_graph_ints(g, dims.count, dims.at);
    struct hlo_instruction *start = op_graph_splat(g, op_graph_shape(g, a->shape->type, 0, NULL));
    struct hlo_instruction *reduce =
        op_graph_make(g, HLO_REDUCE, op_graph_shape(g, a->shape->type, rank, kept), 2,
                      (struct hlo_instruction *[]){a, start}, attributes);
    if (reduce) {
        reduce->callee_count = 1;
        reduce->callees = &callees[opcode == HLO_MAXIMUM];
    }
    return reduce;
}

struct hlo_instruction *op_graph_tuple_part(struct op_graph *g, struct hlo_instruction *a, int64_t index)
{
    if (!a || index >= a->shape->part_count)
        return NULL;
    struct hlo_attributes *attributes = op_graph_attributes(g);
    attributes->index = index;
    return op_graph_make(g, HLO_GET_TUPLE_ELEMENT, a->shape->parts[index], 1, &a, attributes);
}
