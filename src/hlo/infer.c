#include "hlo/infer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool hlo_contradicts(struct hlo_inference *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(t->message, sizeof t->message, format, args);
    va_end(args);
    return false;
}

void hlo_infer_array(struct hlo_inference *t, enum hlo_type type)
{
    t->array = (struct hlo_shape){.type = type, .dims = t->dims};
}

bool hlo_infer_dim(struct hlo_inference *t, int64_t dim)
{
    if (t->array.rank == HLO_MAX_RANK)
        return hlo_contradicts(t, "more than the %d dimensions that an array may have", HLO_MAX_RANK);
    if (dim < 0 || dim > HLO_MAX_ELEMENTS)
        return hlo_contradicts(t, "a result with a dimension of %lld", (long long)dim);
    t->dims[t->array.rank++] = dim;
    return true;
}

bool hlo_infer_dims_exist(struct hlo_inference *t, const char *what, const struct hlo_ints *dims,
                          const struct hlo_shape *shape)
{
    uint64_t seen = 0;
    for (int i = 0; i < dims->count; i++) {
        if (dims->at[i] < 0 || dims->at[i] >= shape->rank)
            return hlo_contradicts(t, "%s: no dimension %lld among %d", what, (long long)dims->at[i],
                                   shape->rank);
        if (seen >> dims->at[i] & 1)
            return hlo_contradicts(t, "%s: dimension %lld is listed twice", what, (long long)dims->at[i]);
        seen |= (uint64_t)1 << dims->at[i];
    }
    return true;
}

bool hlo_infer_variadic(struct hlo_inference *t, int count)
{
    const struct hlo_instruction *in = t->in;
    if (count == 1 && in->opcode != HLO_TUPLE) {
        t->same = in->operands[0]->shape;
        return true;
    }
    const struct hlo_shape *tuple = hlo_make_tuple(t->arena, in->operands, count);
    if (!tuple)
        return hlo_contradicts(t, "out of memory");
    if (!hlo_tuple_is_small(tuple))
        return hlo_contradicts(t, "a tuple of more than %d parts or %d levels", HLO_MAX_PARTS, HLO_MAX_DEPTH);
    t->same = tuple;
    return true;
}

static bool counts_fit(struct hlo_inference *t)
{
    const struct hlo_instruction *in = t->in;
    const struct hlo_operation *op = &hlo_operations[in->opcode];
    if (in->operand_count < op->min || (in->operand_count > op->max && op->max != HLO_ANY))
        return hlo_contradicts(t, "expected %d operand%s%s, found %d", op->min, op->min == 1 ? "" : "s",
                               op->max > op->min ? " or more" : "", in->operand_count);
    bool odd = in->operand_count % 2 != 0;
    if ((op->traits & HLO_PAIRED && odd) || (op->traits & HLO_PAIRED_AND_ONE && !odd))
        return hlo_contradicts(t, "%d operands do not pair", in->operand_count);
    return true;
}

bool hlo_infer_calls(struct hlo_inference *t, int count)
{
    const struct hlo_instruction *in = t->in;
    if (in->callee_count != 1)
        return hlo_contradicts(t, "expected a computation to call, found %d", in->callee_count);
    int parameters = in->callees[0]->parameter_count - in->callees[0]->captured;
    return parameters == count ||
           hlo_contradicts(t, "%d operands for a computation of %d parameters", count, parameters);
}

static bool hlo_infer_call(struct hlo_inference *t)
{
    if (!hlo_infer_calls(t, t->in->operand_count))
        return false;
    t->same = t->in->callees[0]->root->shape;
    return true;
}

static bool hlo_infer_conditional(struct hlo_inference *t)
{
    const struct hlo_instruction *in = t->in;
    if (in->callee_count != in->operand_count - 1)
        return hlo_contradicts(t, "%d branches for %d operands", in->callee_count, in->operand_count - 1);
    const struct hlo_shape *which = in->operands[0]->shape;
    if (which->rank != 0 || (which->type != HLO_TYPE_PRED && which->type != HLO_TYPE_S32))
        return hlo_contradicts(t, "expected a pred[] or s32[] to choose by");
    if (which->type == HLO_TYPE_PRED && in->callee_count != 2)
        return hlo_contradicts(t, "expected two branches to choose between by a pred[]");
    for (int i = 0; i < in->callee_count; i++)
        if (in->callees[i]->parameter_count != 1)
            return hlo_contradicts(t, "expected branches of one parameter");
    t->same = in->callees[0]->root->shape;
    return true;
}

static bool hlo_infer_while(struct hlo_inference *t)
{
    if (t->in->callee_count != 2)
        return hlo_contradicts(t, "expected condition= and body=");
    if (!t->is_lone || !t->in->shape)
        t->same = t->in->operands[0]->shape;
    return true;
}

static bool hlo_infer_sort(struct hlo_inference *t)
{
    const struct hlo_instruction *in = t->in;
    const struct hlo_ints *dims = &t->in->attributes->dimensions;
    if (dims->count > 1 || !hlo_infer_dims_exist(t, "dimensions", dims, in->operands[0]->shape))
        return dims->count > 1 ? hlo_contradicts(t, "expected one dimension to sort along") : false;
    return hlo_infer_calls(t, 2 * in->operand_count) && hlo_infer_variadic(t, in->operand_count);
}

static bool hlo_infer_scatter(struct hlo_inference *t)
{
    int count = (t->in->operand_count - 1) / 2;
    return hlo_infer_calls(t, 2 * count) && hlo_infer_variadic(t, count);
}

static bool hlo_infer_batch_norm(struct hlo_inference *t)
{
    const struct hlo_shape *out = t->in->shape, *operand = t->in->operands[0]->shape;
    if (t->in->opcode == HLO_BATCH_NORM_INFERENCE) {
        t->same = operand;
        return true;
    }
    if (out && (out->type != HLO_TYPE_TUPLE || out->part_count != 3 || out->parts[0]->rank != operand->rank))
        return hlo_contradicts(t, "expected a tuple of the operand's shape and two more");
    return true;
}

static bool hlo_infer_transfer(struct hlo_inference *t)
{
    const struct hlo_shape *out = t->in->shape;
    return !out || out->type == HLO_TYPE_TUPLE || hlo_contradicts(t, "expected the shape of a tuple");
}

/* Operands of elementwise operations have the same dimensions; the predicate of a select and the bounds of
 * a clamp may be scalars. */
static bool operands_alike(struct hlo_inference *t, const struct hlo_shape *shape)
{
    const struct hlo_instruction *in = t->in;
    for (int k = 0; k < in->operand_count; k++) {
        const struct hlo_shape *operand = in->operands[k]->shape;
        bool is_predicate = in->opcode == HLO_SELECT && k == 0;
        bool may_be_scalar = is_predicate || (in->opcode == HLO_CLAMP && k != 1);
        bool any_type = !t->is_exact || in->opcode == HLO_STOCHASTIC_CONVERT || in->opcode == HLO_MAP;
        bool is_scalar = may_be_scalar && operand->rank == 0 && hlo_type_bits(operand->type) > 0;
        bool alike = is_scalar || (hlo_dims_match(operand, shape, -1) &&
                                   (operand->type == HLO_TYPE_TUPLE) == (shape->type == HLO_TYPE_TUPLE));
        if (!alike || (!any_type && operand->type != (is_predicate ? HLO_TYPE_PRED : shape->type))) {
            char one[128], other[128];
            return hlo_contradicts(t, "operands of %s and %s", hlo_shape_text(shape, one, sizeof one),
                                   hlo_shape_text(operand, other, sizeof other));
        }
    }
    return true;
}

static bool hlo_infer_elementwise(struct hlo_inference *t)
{
    const struct hlo_instruction *in = t->in;
    const struct hlo_shape *shape = in->operands[in->opcode == HLO_SELECT || in->opcode == HLO_CLAMP]->shape;
    if (in->opcode == HLO_BITCAST_CONVERT)
        return true;
    if (!operands_alike(t, shape))
        return false;
    if (in->opcode == HLO_SELECT && shape->type == HLO_TYPE_TUPLE) {
        t->same = shape;
        return true;
    }
    hlo_infer_array(t, shape->type);
    t->array.rank = shape->rank;
    t->array.layout = shape->layout;
    if (shape->rank)
        memcpy(t->dims, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
    switch (in->opcode) {
    case HLO_COMPARE:
    case HLO_IS_FINITE:
        t->array.type = HLO_TYPE_PRED;
        break;
    case HLO_ABS:
    case HLO_REAL:
    case HLO_IMAG:
        t->array.type = hlo_type_real(shape->type);
        break;
    case HLO_COMPLEX:
        t->array.type = shape->type == HLO_TYPE_F64 ? HLO_TYPE_C128 : HLO_TYPE_C64;
        break;
    case HLO_MAP:
        if (!hlo_infer_calls(t, in->operand_count))
            return false;
        t->array.type = in->callees[0]->root->shape->type;
        break;
    case HLO_CONVERT:
    case HLO_STOCHASTIC_CONVERT:
        if (!in->shape)
            t->array.type = HLO_TYPE_COUNT; /* the type to convert to is unknown */
        t->any_type = true;
        break;
    default:
        t->same = shape;
        break;
    }
    return true;
}

static bool hlo_infer_all_reduce(struct hlo_inference *t)
{
    return hlo_infer_variadic(t, t->in->operand_count);
}

static bool hlo_infer_reverse(struct hlo_inference *t)
{
    t->same = hlo_operand_shape(t, 0);
    return hlo_infer_dims_exist(t, "dimensions", &t->in->attributes->dimensions, t->same);
}

static bool hlo_infer_select_and_scatter(struct hlo_inference *t)
{
    t->same = hlo_operand_shape(t, 0);
    return t->in->callee_count == 2 || hlo_contradicts(t, "expected select= and scatter=");
}

static bool hlo_infer_any(struct hlo_inference *t)
{
    (void)t;
    return true;
}

static bool hlo_infer_first(struct hlo_inference *t)
{
    t->same = hlo_operand_shape(t, 0);
    return true;
}

static bool hlo_infer_second(struct hlo_inference *t)
{
    t->same = hlo_operand_shape(t, 1);
    return true;
}

static bool hlo_infer_token(struct hlo_inference *t)
{
    hlo_infer_array(t, HLO_TYPE_TOKEN);
    return true;
}

static bool hlo_infer_number(struct hlo_inference *t)
{
    hlo_infer_array(t, HLO_TYPE_U32);
    return true;
}

static bool hlo_infer_iota(struct hlo_inference *t)
{
    const struct hlo_instruction *in = t->in;
    return !in->shape || hlo_infer_dims_exist(t, "iota_dimension", &in->attributes->dimensions, in->shape);
}

static hlo_rule *const rules[HLO_OPCODE_COUNT] = {
#define X(enumerator, text, class, min, max, lanes, traits, rule) hlo_infer_##rule,
    HLO_OPCODES(X)
#undef X
};

/* In HLO text, floats of different widths may mix, as in XLA before its passes make them alike. */
static bool types_agree(const struct hlo_inference *t, enum hlo_type a, enum hlo_type b)
{
    return t->any_type || a == b || (!t->is_exact && hlo_type_is_float(a) && hlo_type_is_float(b));
}

static bool shapes_agree(const struct hlo_inference *t, const struct hlo_shape *a, const struct hlo_shape *b)
{
    if (a == b)
        return true;
    if (!hlo_dims_match(a, b, -1) || a->part_count != b->part_count || !types_agree(t, a->type, b->type))
        return false;
    for (int i = 0; i < a->part_count; i++)
        if (!shapes_agree(t, a->parts[i], b->parts[i]))
            return false;
    return true;
}

static bool written_agrees(struct hlo_inference *t)
{
    const struct hlo_shape *inferred = t->same ? t->same : &t->array;
    char should[160], is[160];
    if (inferred->type == HLO_TYPE_COUNT || shapes_agree(t, inferred, t->in->shape))
        return true;
    return hlo_contradicts(t, "the operands give %s, the shape written is %s",
                           hlo_shape_text(inferred, should, sizeof should),
                           hlo_shape_text(t->in->shape, is, sizeof is));
}

/* Returns the written array with the inferred sizes where it leaves them open. */
static const struct hlo_shape *complete_array(struct hlo_inference *t, const struct hlo_shape *written,
                                              const int64_t *inferred)
{
    int64_t elements = 1, *dims = ARENA_ARRAY(t->arena, (size_t)written->rank, int64_t);
    struct hlo_shape *shape = ARENA_NEW(t->arena, struct hlo_shape);
    if (!shape || !dims)
        return hlo_contradicts(t, "out of memory"), NULL;
    for (int i = 0; i < written->rank; i++) {
        dims[i] = written->dims[i] < 0 ? inferred[i] : written->dims[i];
        if (dims[i] > 0 &&
            (__builtin_mul_overflow(elements, dims[i], &elements) || elements > HLO_MAX_ELEMENTS))
            return hlo_contradicts(t, "more than the 2^53 elements that an array may have"), NULL;
    }
    *shape = *written;
    shape->dims = dims;
    return shape;
}

static bool is_open(const struct hlo_shape *array)
{
    for (int i = 0; i < array->rank; i++)
        if (array->dims[i] < 0)
            return true;
    return false;
}

/* Takes sizes that the text leaves open from the inferred shape. Of several results, `array` holds the sizes of each,
 * if they are not those of `same`. */
static bool complete_written(struct hlo_inference *t, struct hlo_instruction *in)
{
    const struct hlo_shape *written = in->shape, *same = t->same;
    bool tuple = written->type == HLO_TYPE_TUPLE, open = is_open(written);
    for (int i = 0; i < written->part_count; i++)
        open = open || is_open(written->parts[i]);
    if (!open || (same && same->type == HLO_TYPE_TUPLE) != (tuple && same))
        return true;
    if (!tuple) {
        const struct hlo_shape *from = same ? same : &t->array;
        in->shape = from->rank == written->rank ? complete_array(t, written, from->dims) : written;
        return in->shape != NULL;
    }
    const struct hlo_shape **parts =
        ARENA_ARRAY(t->arena, (size_t)written->part_count, const struct hlo_shape *);
    struct hlo_shape *whole = ARENA_NEW(t->arena, struct hlo_shape);
    if (!parts || !whole)
        return hlo_contradicts(t, "out of memory");
    for (int i = 0; i < written->part_count; i++) {
        const struct hlo_shape *from = same ? same->parts[i] : &t->array;
        parts[i] = from->rank == written->parts[i]->rank && is_open(written->parts[i])
                       ? complete_array(t, written->parts[i], from->dims)
                       : written->parts[i];
        if (!parts[i])
            return false;
    }
    *whole = *written;
    whole->parts = parts;
    in->shape = whole;
    return true;
}

/* Returns the shape that the text leaves out. */
static const struct hlo_shape *keep_inferred(struct hlo_inference *t)
{
    int64_t elements = 1;
    if (t->same)
        return t->same;
    if (t->array.type == HLO_TYPE_COUNT)
        return hlo_contradicts(t, "a shape must be written: the operands do not give it"), NULL;
    for (int i = 0; i < t->array.rank; i++)
        if (t->dims[i] &&
            (__builtin_mul_overflow(elements, t->dims[i], &elements) || elements > HLO_MAX_ELEMENTS))
            return hlo_contradicts(t, "more than the 2^53 elements that an array may have"), NULL;
    struct hlo_shape *shape = ARENA_NEW(t->arena, struct hlo_shape);
    int64_t *dims = ARENA_ARRAY(t->arena, (size_t)t->array.rank, int64_t);
    if (!shape || !dims)
        return hlo_contradicts(t, "out of memory"), NULL;
    *shape = t->array;
    memcpy(dims, t->dims, (size_t)shape->rank * sizeof *dims);
    shape->dims = shape->rank ? dims : NULL;
    return shape;
}

/* Most of a module: elementwise operations whose result has the shape of every operand. */
static bool is_plain(const struct hlo_instruction *in)
{
    switch (in->opcode) {
    case HLO_ABS:
    case HLO_COMPARE:
    case HLO_COMPLEX:
    case HLO_IMAG:
    case HLO_IS_FINITE:
    case HLO_MAP:
    case HLO_REAL:
    case HLO_SELECT:
        return false;
    default:
        break;
    }
    if (!hlo_is_elementwise(in->opcode) || in->operand_count == 0)
        return false;
    for (int i = 0; i < in->operand_count; i++)
        if (in->operands[i]->shape != in->shape)
            return false;
    return in->shape->type != HLO_TYPE_TUPLE;
}

bool hlo_infer_shape(struct hlo_inference *t, struct hlo_instruction *in)
{
    t->in = in;
    t->same = NULL;
    t->array.type = HLO_TYPE_COUNT;
    t->array.rank = 0;
    t->any_type = false;
    if (!counts_fit(t))
        return false;
    if (is_plain(in))
        return true;
    if (!rules[in->opcode](t))
        return false;
    if (in->shape)
        return written_agrees(t) && complete_written(t, in);
    in->shape = keep_inferred(t);
    return in->shape != NULL;
}
