#include "hlo/infer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool hlo_contradicts(struct hlo_inference *inference, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(inference->message, sizeof inference->message, format, args);
    va_end(args);
    return false;
}

void hlo_infer_array(struct hlo_inference *inference, enum hlo_type type)
{
    inference->array = (struct hlo_shape){.type = type, .dims = inference->dims};
}

bool hlo_infer_dim(struct hlo_inference *inference, int64_t dim)
{
    if (inference->array.rank == HLO_MAX_RANK)
        return hlo_contradicts(inference, "more than the %d dimensions that an array may have", HLO_MAX_RANK);
    if (dim < 0 || dim > HLO_MAX_ELEMENTS)
        return hlo_contradicts(inference, "a result with a dimension of %lld", (long long)dim);
    inference->dims[inference->array.rank++] = dim;
    return true;
}

bool hlo_infer_dims_exist(struct hlo_inference *inference, const char *what, const struct hlo_ints *dims,
                          const struct hlo_shape *shape)
{
    uint64_t seen = 0;
    for (int i = 0; i < dims->count; i++) {
        if (dims->at[i] < 0 || dims->at[i] >= shape->rank)
            return hlo_contradicts(inference, "%s: no dimension %lld among %d", what, (long long)dims->at[i],
                                   shape->rank);
        if (seen >> dims->at[i] & 1)
            return hlo_contradicts(inference, "%s: dimension %lld is there twice", what,
                                   (long long)dims->at[i]);
        seen |= (uint64_t)1 << dims->at[i];
    }
    return true;
}

/* `count` shapes of the operands: the one, or a tuple of them. */
bool hlo_infer_variadic(struct hlo_inference *inference, int count)
{
    const struct hlo_instruction *in = inference->in;
    if (count == 1 && in->opcode != HLO_TUPLE) {
        inference->same = in->operands[0]->shape;
        return true;
    }
    struct arena *arena = &inference->reader->module->arena;
    struct hlo_shape *tuple = ARENA_NEW(arena, struct hlo_shape);
    const struct hlo_shape **parts = ARENA_ARRAY(arena, (size_t)count, const struct hlo_shape *);
    if (!tuple || !parts)
        return hlo_contradicts(inference, "out of memory");
    for (int i = 0; i < count; i++)
        parts[i] = in->operands[i]->shape;
    *tuple = (struct hlo_shape){.type = HLO_TYPE_TUPLE, .part_count = count, .parts = parts};
    if (!hlo_tuple_is_small(tuple))
        return hlo_contradicts(inference, "a tuple of more than %d parts or %d levels", HLO_MAX_PARTS,
                               HLO_MAX_DEPTH);
    inference->same = tuple;
    return true;
}

static bool counts_fit(struct hlo_inference *inference)
{
    const struct hlo_instruction *in = inference->in;
    const struct hlo_operation *op = &hlo_operations[in->opcode];
    if (in->operand_count < op->min || (in->operand_count > op->max && op->max != HLO_ANY))
        return hlo_contradicts(inference, "expected %d operand%s%s, found %d", op->min,
                               op->min == 1 ? "" : "s", op->max > op->min ? " or more" : "",
                               in->operand_count);
    bool odd = in->operand_count % 2 != 0;
    if ((op->traits & HLO_PAIRED && odd) || (op->traits & HLO_PAIRED_AND_ONE && !odd))
        return hlo_contradicts(inference, "%d operands do not pair", in->operand_count);
    return true;
}

/* The callee's result; it takes the operands from `first` on, if `count` of them (-1: any number). */
static bool calls(struct hlo_inference *inference, int count)
{
    const struct hlo_instruction *in = inference->in;
    if (in->callee_count != 1)
        return hlo_contradicts(inference, "expected a computation to call, found %d", in->callee_count);
    if (count >= 0 && in->callees[0]->parameter_count != count)
        return hlo_contradicts(inference, "%d operands for a computation of %d parameters", count,
                               in->callees[0]->parameter_count);
    return true;
}

static bool infer_call(struct hlo_inference *inference)
{
    if (!calls(inference, inference->in->operand_count))
        return false;
    inference->same = inference->in->callees[0]->root->shape;
    return true;
}

static bool infer_conditional(struct hlo_inference *inference)
{
    const struct hlo_instruction *in = inference->in;
    if (in->callee_count != in->operand_count - 1)
        return hlo_contradicts(inference, "%d branches for %d operands", in->callee_count,
                               in->operand_count - 1);
    const struct hlo_shape *which = in->operands[0]->shape;
    if (which->rank != 0 || (which->type != HLO_TYPE_PRED && which->type != HLO_TYPE_S32))
        return hlo_contradicts(inference, "expected a pred[] or s32[] to choose by");
    if (which->type == HLO_TYPE_PRED && in->callee_count != 2)
        return hlo_contradicts(inference, "expected two branches to choose between by a pred[]");
    for (int i = 0; i < in->callee_count; i++)
        if (in->callees[i]->parameter_count != 1)
            return hlo_contradicts(inference, "expected branches of one parameter");
    inference->same = in->callees[0]->root->shape;
    return true;
}

static bool infer_while(struct hlo_inference *inference)
{
    if (inference->in->callee_count != 2)
        return hlo_contradicts(inference, "expected condition= and body=");
    if (!inference->reader->is_lone || !inference->in->shape)
        inference->same = inference->in->operands[0]->shape;
    return true;
}

static bool infer_sort(struct hlo_inference *inference)
{
    const struct hlo_instruction *in = inference->in;
    const struct hlo_ints *dims = &inference->attributes->dimensions;
    if (dims->count > 1 || !hlo_infer_dims_exist(inference, "dimensions", dims, in->operands[0]->shape))
        return dims->count > 1 ? hlo_contradicts(inference, "expected one dimension to sort along") : false;
    return calls(inference, 2 * in->operand_count) && hlo_infer_variadic(inference, in->operand_count);
}

static bool infer_scatter(struct hlo_inference *inference)
{
    int count = (inference->in->operand_count - 1) / 2;
    return calls(inference, 2 * count) && hlo_infer_variadic(inference, count);
}

static bool infer_dimension_size(struct hlo_inference *inference)
{
    const struct hlo_ints *dims = &inference->attributes->dimensions;
    const struct hlo_shape *operand = inference->in->operands[0]->shape;
    if (dims->count != 1)
        return hlo_contradicts(inference, "expected one dimension, found %d", dims->count);
    if (!hlo_infer_dims_exist(inference, "dimensions", dims, operand))
        return false;
    if (inference->in->opcode == HLO_SET_DIMENSION_SIZE)
        inference->same = operand;
    else
        hlo_infer_array(inference, HLO_TYPE_S32);
    return true;
}

/* Gathered or scattered along one dimension, whose size one of the shapes has a multiple of. */
static bool infer_gathered(struct hlo_inference *inference)
{
    const struct hlo_instruction *in = inference->in;
    const struct hlo_ints *dims = &inference->attributes->dimensions;
    const struct hlo_shape *operand = in->operands[0]->shape, *out = in->shape;
    if (dims->count != 1)
        return hlo_contradicts(inference, "expected one dimension, found %d", dims->count);
    if (!hlo_infer_dims_exist(inference, "dimensions", dims, operand))
        return false;
    if (in->operand_count != 1 || !out || in->opcode == HLO_ALL_GATHER_START)
        return true;
    bool fits = out->rank == operand->rank;
    for (int i = 0; fits && i < operand->rank; i++)
        fits = i == dims->at[0] || out->dims[i] == operand->dims[i];
    return fits ||
           hlo_contradicts(inference, "the result differs from the operand in other dimensions than %lld",
                           (long long)dims->at[0]);
}

static bool infer_batch_norm(struct hlo_inference *inference)
{
    const struct hlo_shape *out = inference->in->shape, *operand = inference->in->operands[0]->shape;
    if (inference->in->opcode == HLO_BATCH_NORM_INFERENCE) {
        inference->same = operand;
        return true;
    }
    if (out && (out->type != HLO_TYPE_TUPLE || out->part_count != 3 || out->parts[0]->rank != operand->rank))
        return hlo_contradicts(inference, "expected a tuple of the operand's shape and two more");
    return true;
}

static bool infer_transfer(struct hlo_inference *inference)
{
    const struct hlo_shape *out = inference->in->shape;
    return !out || out->type == HLO_TYPE_TUPLE || hlo_contradicts(inference, "expected the shape of a tuple");
}

/* Operands of elementwise operations have the same dimensions; what chooses or limits may be a scalar. */
static bool operands_alike(struct hlo_inference *inference, const struct hlo_shape *shape)
{
    const struct hlo_instruction *in = inference->in;
    bool scalars = in->opcode == HLO_SELECT || in->opcode == HLO_CLAMP;
    for (int k = 0; k < in->operand_count; k++) {
        const struct hlo_shape *operand = in->operands[k]->shape;
        if (operand == shape || (scalars && operand->rank == 0 && hlo_type_bits(operand->type) > 0))
            continue;
        bool alike = operand->rank == shape->rank &&
                     (operand->type == HLO_TYPE_TUPLE) == (shape->type == HLO_TYPE_TUPLE);
        for (int i = 0; alike && i < shape->rank; i++)
            alike = operand->dims[i] == shape->dims[i];
        if (!alike) {
            char one[128], other[128];
            return hlo_contradicts(inference, "operands of %s and %s", hlo_shape_text(shape, one, sizeof one),
                                   hlo_shape_text(operand, other, sizeof other));
        }
    }
    return true;
}

/* The real type of a complex one, and the other way round; any other type stays. */
static enum hlo_type part_type(enum hlo_type type)
{
    return type == HLO_TYPE_C64 ? HLO_TYPE_F32 : type == HLO_TYPE_C128 ? HLO_TYPE_F64 : type;
}

static enum hlo_type complex_type(enum hlo_type type)
{
    return type == HLO_TYPE_F64 ? HLO_TYPE_C128 : HLO_TYPE_C64;
}

static bool infer_elementwise(struct hlo_inference *inference)
{
    const struct hlo_instruction *in = inference->in;
    bool second = in->opcode == HLO_SELECT || in->opcode == HLO_CLAMP;
    const struct hlo_shape *shape = in->operands[second]->shape;
    if (in->opcode == HLO_BITCAST_CONVERT)
        return true;
    if (!operands_alike(inference, shape))
        return false;
    if (in->opcode == HLO_SELECT && shape->type == HLO_TYPE_TUPLE) {
        inference->same = shape;
        return true;
    }
    hlo_infer_array(inference, shape->type);
    inference->array.rank = shape->rank;
    inference->array.layout = shape->layout;
    if (shape->rank)
        memcpy(inference->dims, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
    switch (in->opcode) {
    case HLO_COMPARE:
    case HLO_IS_FINITE:
        inference->array.type = HLO_TYPE_PRED;
        break;
    case HLO_ABS:
    case HLO_REAL:
    case HLO_IMAG:
        inference->array.type = part_type(shape->type);
        break;
    case HLO_COMPLEX:
        inference->array.type = complex_type(shape->type);
        break;
    case HLO_MAP:
        if (!calls(inference, in->operand_count))
            return false;
        inference->array.type = in->callees[0]->root->shape->type;
        break;
    case HLO_CONVERT:
    case HLO_STOCHASTIC_CONVERT:
        if (!in->shape)
            inference->array.type = HLO_TYPE_COUNT; /* to what? */
        inference->any_type = true;
        break;
    default:
        inference->same = shape;
        break;
    }
    return true;
}

static bool infer(struct hlo_inference *inference)
{
    const struct hlo_instruction *in = inference->in;
    switch (in->opcode) {
    case HLO_TUPLE:
        return hlo_infer_tuple(inference);
    case HLO_GET_TUPLE_ELEMENT:
        return hlo_infer_element(inference);
    case HLO_DOT:
        return hlo_infer_dot(inference);
    case HLO_RAGGED_DOT:
    case HLO_SCALED_DOT:
        return hlo_infer_ragged_dot(inference);
    case HLO_CONVOLUTION:
        return hlo_infer_convolution(inference);
    case HLO_REDUCE:
        return hlo_infer_reduce(inference);
    case HLO_REDUCE_WINDOW:
        return hlo_infer_reduce_window(inference);
    case HLO_BROADCAST:
        return hlo_infer_broadcast(inference);
    case HLO_RESHAPE:
    case HLO_DYNAMIC_RESHAPE:
        return hlo_infer_reshape(inference);
    case HLO_TRANSPOSE:
        return hlo_infer_transpose(inference);
    case HLO_SLICE:
        return hlo_infer_slice(inference);
    case HLO_DYNAMIC_SLICE:
        return hlo_infer_dynamic_slice(inference);
    case HLO_DYNAMIC_UPDATE_SLICE:
        return hlo_infer_update_slice(inference);
    case HLO_PAD:
        return hlo_infer_pad(inference);
    case HLO_CONCATENATE:
        return hlo_infer_concatenate(inference);
    case HLO_GATHER:
        return hlo_infer_gather(inference);
    case HLO_SCATTER:
        return infer_scatter(inference);
    case HLO_SORT:
        return infer_sort(inference);
    case HLO_CALL:
    case HLO_FUSION:
        return infer_call(inference);
    case HLO_CONDITIONAL:
        return infer_conditional(inference);
    case HLO_WHILE:
        return infer_while(inference);
    case HLO_GET_DIMENSION_SIZE:
    case HLO_SET_DIMENSION_SIZE:
        return infer_dimension_size(inference);
    case HLO_ALL_GATHER:
    case HLO_ALL_GATHER_START:
    case HLO_REDUCE_SCATTER:
        return infer_gathered(inference);
    case HLO_ALL_REDUCE:
        return hlo_infer_variadic(inference, in->operand_count);
    case HLO_BATCH_NORM_GRAD:
    case HLO_BATCH_NORM_INFERENCE:
    case HLO_BATCH_NORM_TRAINING:
        return infer_batch_norm(inference);
    case HLO_RECV:
    case HLO_SEND:
    case HLO_INFEED:
    case HLO_COPY_START:
    case HLO_RNG_BIT_GENERATOR:
        return infer_transfer(inference);
    case HLO_REVERSE:
        inference->same = in->operands[0]->shape;
        return hlo_infer_dims_exist(inference, "dimensions", &inference->attributes->dimensions,
                                    inference->same);
    case HLO_SELECT_AND_SCATTER:
        if (in->callee_count != 2)
            return hlo_contradicts(inference, "expected select= and scatter=");
        inference->same = in->operands[0]->shape;
        return true;
    case HLO_COPY:
    case HLO_DOMAIN:
    case HLO_OPT_BARRIER:
    case HLO_ADD_DEPENDENCY:
    case HLO_CHOLESKY:
        inference->same = in->operands[0]->shape;
        return true;
    case HLO_TRIANGULAR_SOLVE:
        inference->same = in->operands[1]->shape;
        return true;
    case HLO_AFTER_ALL:
    case HLO_OUTFEED:
        hlo_infer_array(inference, HLO_TYPE_TOKEN);
        return true;
    case HLO_PARTITION_ID:
    case HLO_REPLICA_ID:
        hlo_infer_array(inference, HLO_TYPE_U32);
        return true;
    case HLO_IOTA:
        return !in->shape || hlo_infer_dims_exist(inference, "iota_dimension",
                                                  &inference->attributes->dimensions, in->shape);
    default:
        return !hlo_is_elementwise(in->opcode) || infer_elementwise(inference);
    }
}

/* Floats of different widths may mix, as in XLA before its passes make them alike. */
static bool types_agree(enum hlo_type a, enum hlo_type b)
{
    return a == b || (hlo_type_is_float(a) && hlo_type_is_float(b));
}

static bool shapes_agree(const struct hlo_shape *a, const struct hlo_shape *b, bool any_type)
{
    if (a == b)
        return true;
    if (a->rank != b->rank || a->part_count != b->part_count || (!any_type && !types_agree(a->type, b->type)))
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    for (int i = 0; i < a->part_count; i++)
        if (!shapes_agree(a->parts[i], b->parts[i], any_type))
            return false;
    return true;
}

static bool written_agrees(struct hlo_inference *inference)
{
    const struct hlo_shape *inferred = inference->same ? inference->same : &inference->array;
    char should[160], is[160];
    if (inferred->type == HLO_TYPE_COUNT || shapes_agree(inferred, inference->in->shape, inference->any_type))
        return true;
    return hlo_contradicts(inference, "the operands give %s, the shape written is %s",
                           hlo_shape_text(inferred, should, sizeof should),
                           hlo_shape_text(inference->in->shape, is, sizeof is));
}

/* The shape that nobody wrote. */
static const struct hlo_shape *keep_inferred(struct hlo_inference *inference)
{
    struct arena *arena = &inference->reader->module->arena;
    int64_t elements = 1;
    if (inference->same)
        return inference->same;
    if (inference->array.type == HLO_TYPE_COUNT) {
        hlo_contradicts(inference, "a shape must be written: the operands do not give it");
        return NULL;
    }
    for (int i = 0; i < inference->array.rank; i++)
        if (inference->dims[i] && (__builtin_mul_overflow(elements, inference->dims[i], &elements) ||
                                   elements > HLO_MAX_ELEMENTS)) {
            hlo_contradicts(inference, "more than the 2^53 elements that an array may have");
            return NULL;
        }
    struct hlo_shape *shape = ARENA_NEW(arena, struct hlo_shape);
    int64_t *dims = ARENA_ARRAY(arena, (size_t)inference->array.rank, int64_t);
    if (!shape || !dims) {
        hlo_contradicts(inference, "out of memory");
        return NULL;
    }
    *shape = inference->array;
    memcpy(dims, inference->dims, (size_t)shape->rank * sizeof *dims);
    shape->dims = shape->rank ? dims : NULL;
    return shape;
}

/* Most of a module: elementwise operations on shapes that are written alike. */
static bool is_plain(const struct hlo_instruction *in)
{
    if (!hlo_is_elementwise(in->opcode) || in->operand_count == 0 || in->opcode == HLO_COMPLEX ||
        in->opcode == HLO_MAP)
        return false;
    for (int i = 0; i < in->operand_count; i++)
        if (in->operands[i]->shape != in->shape)
            return false;
    return true;
}

bool hlo_settle_shape(struct hlo_reader *reader, struct hlo_draft *draft)
{
    struct hlo_instruction *in = draft->instruction;
    struct hlo_inference inference;
    inference.reader = reader;
    inference.in = in;
    inference.attributes = in->attributes;
    inference.same = NULL;
    inference.array.type = HLO_TYPE_COUNT;
    inference.array.rank = 0;
    inference.any_type = false;
    bool ok = counts_fit(&inference);
    if (ok && is_plain(in) && in->shape->type != HLO_TYPE_TUPLE)
        return true;
    ok = ok && infer(&inference);
    if (ok && in->shape)
        ok = written_agrees(&inference);
    else if (ok)
        ok = (in->shape = keep_inferred(&inference)) != NULL;
    return ok || hlo_fail(reader, draft->name_at, "'%s' (%s): %s", in->name, hlo_opcode_name(in->opcode),
                          inference.message);
}
