/* Instructions that are made of simple ones, written out in them: fusion and the backward pass then need
 * to know nothing about them. */
#include "cost/derive/op.h"
#include "cost/derive/op_graph.h"

#include <string.h>

typedef struct hlo_instruction *value;

static value multiply(struct op_graph *g, value a, value b)
{
    return op_graph_binary(g, HLO_MULTIPLY, a, b);
}

static value mean(struct op_graph *g, value a, struct hlo_ints dims)
{
    return op_graph_scale(g, op_graph_reduce(g, HLO_ADD, a, dims));
}

/* The variance from the mean of the squares: the kernels of libraries read their input once for both. */
static value variance(struct op_graph *g, value a, value average, struct hlo_ints dims)
{
    value squares = mean(g, multiply(g, a, a), dims);
    return op_graph_binary(g, HLO_SUBTRACT, squares, multiply(g, average, average));
}

/* (x - mean) * factor, both broadcast along `kept` */
static value normalised(struct op_graph *g, value x, value average, value factor, struct hlo_ints kept)
{
    value centred = op_graph_binary(g, HLO_SUBTRACT, x, op_graph_broadcast(g, average, x->shape, kept));
    return multiply(g, centred, op_graph_broadcast(g, factor, x->shape, kept));
}

static value affine(struct op_graph *g, value x, value factor, value offset, struct hlo_ints dims)
{
    if (!x)
        return NULL;
    x = multiply(g, x, op_graph_broadcast(g, op_graph_convert(g, factor, x->shape->type), x->shape, dims));
    if (!x || !offset)
        return x;
    offset = op_graph_convert(g, offset, x->shape->type);
    return op_graph_binary(g, HLO_ADD, x, op_graph_broadcast(g, offset, x->shape, dims));
}

/* ---- batch normalisation: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithm 1 and section 3 ---- */

/* The dimension of the features: as long as the scale, the last one where several are. */
static bool feature_dim(struct op_graph *g, const value *operands, int count, struct hlo_ints *feature)
{
    if (count < 3 || !operands[0] || !operands[1] || operands[1]->shape->rank != 1)
        return false;
    const struct hlo_shape *shape = operands[0]->shape;
    for (int64_t i = shape->rank; i-- > 0;)
        if (shape->dims[i] == operands[1]->shape->dims[0]) {
            *feature = op_graph_ints(g, 1, &i);
            return feature->at;
        }
    return false;
}

static struct hlo_instruction *op_graph_tuple(struct op_graph *g, int count,
                                              struct hlo_instruction *const *parts)
{
    const struct hlo_shape *shape = op_graph_tuple_shape(g, count, parts);
    return shape ? op_graph_make(g, HLO_TUPLE, shape, count, parts, NULL) : NULL;
}

static value batch_norm(struct op_graph *g, enum hlo_opcode opcode, const value *operands, int count)
{
    struct hlo_ints feature;
    if (!feature_dim(g, operands, count, &feature))
        return NULL;
    value x = operands[0], gamma = operands[1];
    struct hlo_ints rest = op_graph_other_dims(g, x->shape, feature);
    if (opcode == HLO_BATCH_NORM_TRAINING) {
        value average = mean(g, x, rest);
        value spread = variance(g, x, average, rest);
        value factor = op_graph_unary(g, HLO_RSQRT, op_graph_shift(g, spread));
        value y = affine(g, normalised(g, x, average, factor, feature), gamma, operands[2], feature);
        return op_graph_tuple(g, 3, (value[]){y, average, spread});
    }
    if (count < 5)
        return NULL;
    if (opcode == HLO_BATCH_NORM_INFERENCE) {
        value factor = op_graph_unary(g, HLO_RSQRT, op_graph_shift(g, operands[4]));
        return affine(g, normalised(g, x, operands[3], factor, feature), gamma, operands[2], feature);
    }
    /* x, scale, mean, variance, gradient of y */
    value factor = op_graph_unary(g, HLO_RSQRT, op_graph_shift(g, operands[3]));
    value unit = normalised(g, x, operands[2], factor, feature), dy = operands[4];
    value doffset = op_graph_reduce(g, HLO_ADD, dy, rest);
    value dscale = op_graph_reduce(g, HLO_ADD, multiply(g, dy, unit), rest);
    value part = multiply(g, unit, op_graph_broadcast(g, dscale, x->shape, feature));
    value all = op_graph_binary(g, HLO_ADD, part, op_graph_broadcast(g, doffset, x->shape, feature));
    value dx = op_graph_binary(g, HLO_SUBTRACT, dy, op_graph_scale(g, all));
    dx = multiply(g, dx, op_graph_broadcast(g, multiply(g, factor, gamma), x->shape, feature));
    return op_graph_tuple(g, 3, (value[]){dx, dscale, doffset});
}

/* ---- custom calls that are known by the last word of their target ---- */

/* Along the last dimension; the shift by the maximum has no gradient of its own (derive.c). */
static value softmax(struct op_graph *g, value x, bool logarithm)
{
    if (x->shape->rank == 0)
        return NULL;
    struct hlo_ints last = op_graph_ints(g, 1, &(int64_t){x->shape->rank - 1});
    struct hlo_ints rest = op_graph_other_dims(g, x->shape, last);
    if (g->failed)
        return NULL;
    value maximum = op_graph_broadcast(g, op_graph_reduce(g, HLO_MAXIMUM, x, last), x->shape, rest);
    value shifted = op_graph_binary(g, HLO_SUBTRACT, x, maximum);
    value powers = op_graph_unary(g, HLO_EXPONENTIAL, shifted);
    value sum = op_graph_reduce(g, HLO_ADD, powers, last);
    if (!logarithm)
        return op_graph_binary(g, HLO_DIVIDE, powers, op_graph_broadcast(g, sum, x->shape, rest));
    sum = op_graph_unary(g, HLO_LOG, sum);
    return op_graph_binary(g, HLO_SUBTRACT, shifted, op_graph_broadcast(g, sum, x->shape, rest));
}

/* The statistics are results too, with the shapes that the call says. */
static value norm_results(struct op_graph *g, const struct hlo_shape *shape, value y, value average,
                          value factor)
{
    if (shape->type != HLO_TYPE_TUPLE)
        return y;
    value parts[3] = {y, average, factor};
    if (shape->part_count < 1 || shape->part_count > 3)
        return NULL;
    if (shape->part_count == 2)
        parts[1] = factor;
    for (int i = 1; i < shape->part_count; i++) {
        if (!parts[i] || hlo_elements(shape->parts[i]) != hlo_elements(parts[i]->shape))
            return NULL;
        parts[i] = op_graph_reshape(g, parts[i], shape->parts[i]);
    }
    return op_graph_tuple(g, shape->part_count, parts);
}

/* Ba et al. 2016, arXiv:1607.06450; without a mean Zhang and Sennrich 2019, arXiv:1910.07467. The last
 * dimensions, as many as the scale has. */
static value norm(struct op_graph *g, const struct hlo_shape *shape, const value *operands, int count,
                  bool centred)
{
    value x = operands[0], gamma = count > 1 ? operands[1] : NULL, beta = count > 2 ? operands[2] : NULL;
    int width = gamma ? gamma->shape->rank : 1;
    if (width < 1 || width > x->shape->rank)
        return NULL;
    int64_t dims[HLO_MAX_RANK];
    for (int i = 0; i < width; i++)
        dims[i] = x->shape->rank - width + i;
    struct hlo_ints last = op_graph_ints(g, width, dims);
    struct hlo_ints rest = op_graph_other_dims(g, x->shape, last);
    if (g->failed)
        return NULL;
    value average = centred ? mean(g, x, last) : NULL;
    value spread = centred ? variance(g, x, average, last) : mean(g, multiply(g, x, x), last);
    value factor = op_graph_unary(g, HLO_RSQRT, op_graph_shift(g, spread));
    value unit = centred ? normalised(g, x, average, factor, rest)
                         : multiply(g, x, op_graph_broadcast(g, factor, x->shape, rest));
    value y = gamma ? affine(g, unit, gamma, beta, last) : unit;
    return y ? norm_results(g, shape, y, average, factor) : NULL;
}

/* Hendrycks and Gimpel 2016, arXiv:1606.08415: x/2 (1 + erf(x / sqrt 2)). */
static value gelu(struct op_graph *g, value x)
{
    return multiply(g, op_graph_scale(g, x),
                    op_graph_shift(g, op_graph_unary(g, HLO_ERF, op_graph_scale(g, x))));
}

/* From log-probabilities [rows, classes] and the class of each row: the mean of the picked ones, and the
 * rows. */
static value nll_loss(struct op_graph *g, const struct hlo_shape *shape, const value *operands, int count)
{
    if (count < 2 || operands[0]->shape->rank != 2 || shape->type != HLO_TYPE_TUPLE || shape->part_count != 2)
        return NULL;
    const struct hlo_shape *rows = op_graph_shape(g, operands[0]->shape->type, 1, operands[0]->shape->dims);
    value picked = op_graph_make(g, HLO_GATHER, rows, 2, operands, NULL);
    value loss = mean(g, op_graph_unary(g, HLO_NEGATE, picked), op_graph_ints(g, 1, &(int64_t){0}));
    if (!loss)
        return NULL;
    return op_graph_tuple(
        g, 2, (value[]){op_graph_reshape(g, loss, shape->parts[0]), op_graph_splat(g, shape->parts[1])});
}

/* The gradient of that: one element of each row, zeros beside it. */
static value nll_loss_backward(struct op_graph *g, const struct hlo_shape *shape, const value *operands,
                               int count)
{
    if (count < 3 || shape->rank != 2 || operands[2]->shape->rank != 1 || operands[0]->shape->rank != 0)
        return NULL;
    value classes = op_graph_broadcast(g, operands[2], shape, op_graph_ints(g, 1, &(int64_t){0}));
    if (!classes)
        return NULL;
    value numbers = op_graph_make(g, HLO_IOTA, classes->shape, 0, NULL, NULL);
    value dy = op_graph_broadcast(g, op_graph_convert(g, operands[0], shape->type), shape,
                                  op_graph_ints(g, 0, NULL));
    return op_graph_select(g, op_graph_binary(g, HLO_COMPARE, classes, numbers), dy,
                           op_graph_splat(g, shape));
}

static bool is(const char *target, const char *word)
{
    const char *last = strrchr(target, '.');
    return strcmp(last ? last + 1 : target, word) == 0;
}

static value custom_call(struct op_graph *g, const struct hlo_instruction *call, const value *operands)
{
    const char *target = call->attributes->target;
    const struct hlo_shape *shape = call->shape;
    if (!target || call->operand_count < 1)
        return NULL;
    bool array = hlo_shape_equal(operands[0]->shape, shape);
    if (array && (is(target, "softmax") || is(target, "log_softmax")))
        return softmax(g, operands[0], is(target, "log_softmax"));
    if (is(target, "layer_norm") || is(target, "rms_norm"))
        return norm(g, shape, operands, call->operand_count, is(target, "layer_norm"));
    if (array && is(target, "gelu"))
        return gelu(g, operands[0]);
    if (is(target, "nll_loss_forward"))
        return nll_loss(g, shape, operands, call->operand_count);
    if (is(target, "nll_loss_backward"))
        return nll_loss_backward(g, shape, operands, call->operand_count);
    return NULL;
}

static value without_unit(enum hlo_opcode opcode, const value *operands)
{
    bool is_sum = opcode == HLO_ADD || opcode == HLO_SUBTRACT,
         either = opcode == HLO_ADD || opcode == HLO_MULTIPLY;
    for (int i = 1; i >= !either; i--) {
        const struct hlo_instruction *unit = operands[i];
        while (op_class(unit) == OP_VIEW && unit->opcode != HLO_GET_TUPLE_ELEMENT)
            unit = unit->operands[0];
        if (unit->opcode == HLO_CONSTANT && unit->number == !is_sum &&
            (!unit->has_value || unit->value == !is_sum) &&
            hlo_shape_equal(operands[0]->shape, operands[1]->shape))
            return operands[1 - i];
    }
    return NULL;
}

/* A scatter writes over what it begins with: of a broadcast, which files share, each has its own. */
static value scatter(struct op_graph *g, const struct hlo_instruction *in, const value *operands)
{
    const struct hlo_instruction *start = operands[0];
    if (in->operand_count != 3 || start->opcode != HLO_BROADCAST)
        return NULL;
    value own = op_graph_make(g, HLO_BROADCAST, start->shape, 1, start->operands, start->attributes);
    value made =
        op_graph_make(g, HLO_SCATTER, in->shape, 3, (value[]){own, operands[1], operands[2]}, in->attributes);
    if (made) {
        made->name = in->name;
        made->callee_count = in->callee_count;
        made->callees = in->callees;
    }
    return made;
}

void op_graph_expand(struct op_graph *g, const struct hlo_instruction *in,
                     struct hlo_instruction *const *operands, struct hlo_instruction **out)
{
    *out = NULL;
    for (int i = 0; i < in->operand_count; i++)
        if (!operands[i])
            return;
    switch (in->opcode) {
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_MULTIPLY:
    case HLO_DIVIDE: /* x + 0, x * 1: nothing, as all compilers have it */
        *out = without_unit(in->opcode, operands);
        break;
    case HLO_REDUCE: /* over dimensions of one element: what JAX writes for gradients of what was stretched */
        if (in->operand_count == 2 && hlo_elements(operands[0]->shape) == hlo_elements(in->shape))
            *out = op_graph_reshape(g, operands[0], in->shape);
        break;
    case HLO_SCATTER:
        *out = scatter(g, in, operands);
        break;
    case HLO_CONCATENATE: /* beside this piece the others have no elements */
        for (int i = 0; i < in->operand_count; i++)
            if (hlo_shape_equal(operands[i]->shape, in->shape))
                *out = operands[i];
        break;
    case HLO_BATCH_NORM_TRAINING:
    case HLO_BATCH_NORM_INFERENCE:
    case HLO_BATCH_NORM_GRAD:
        *out = batch_norm(g, in->opcode, operands, in->operand_count);
        break;
    case HLO_CUSTOM_CALL:
        *out = custom_call(g, in, operands);
        break;
    default:
        break;
    }
}
