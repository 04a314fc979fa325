/* Shapes of operations that move elements without computing. */
#include "hlo/infer.h"

#include <string.h>

#define MAX_PADDING ((int64_t)1 << 53) /* sums of a few fit */

bool hlo_infer_broadcast(struct hlo_inference *t)
{
    const struct hlo_shape *operand = hlo_operand_shape(t, 0), *out = t->in->shape;
    const struct hlo_ints *dims = &t->in->attributes->dimensions;
    if (!out)
        return true;
    if (dims->count != operand->rank)
        return hlo_contradicts(t,
                               "expected dimensions={…} with %d numbers, as many as the operand has "
                               "dimensions, found %d",
                               operand->rank, dims->count);
    if (!hlo_infer_dims_exist(t, "dimensions", dims, out))
        return false;
    for (int i = 0; i < dims->count; i++)
        if (out->dims[dims->at[i]] != operand->dims[i])
            return hlo_contradicts(
                t, "dimension %d of the operand is %lld, dimension %lld of the result %lld", i,
                (long long)operand->dims[i], (long long)dims->at[i], (long long)out->dims[dims->at[i]]);
    return true;
}

bool hlo_infer_reshape(struct hlo_inference *t)
{
    const struct hlo_shape *operand = hlo_operand_shape(t, 0), *out = t->in->shape;
    if (out && hlo_elements(operand) != hlo_elements(out))
        return hlo_contradicts(t, "%lld elements become %lld", (long long)hlo_elements(operand),
                               (long long)hlo_elements(out));
    if (out && t->in->opcode == HLO_DYNAMIC_RESHAPE && t->in->operand_count != out->rank + 1)
        return hlo_contradicts(t, "expected a size for each of the %d dimensions", out->rank);
    return true;
}

bool hlo_infer_transpose(struct hlo_inference *t)
{
    const struct hlo_shape *operand = hlo_operand_shape(t, 0);
    const struct hlo_ints *dims = &t->in->attributes->dimensions;
    if (dims->count != operand->rank)
        return hlo_contradicts(t, "expected an order of the %d dimensions, found %d numbers", operand->rank,
                               dims->count);
    if (!hlo_infer_dims_exist(t, "dimensions", dims, operand))
        return false;
    hlo_infer_array(t, operand->type);
    for (int i = 0; i < dims->count; i++)
        hlo_infer_dim(t, operand->dims[dims->at[i]]);
    return true;
}

bool hlo_infer_slice(struct hlo_inference *t)
{
    const struct hlo_shape *operand = hlo_operand_shape(t, 0);
    const struct hlo_attributes *a = t->in->attributes;
    if (a->start.count != operand->rank || a->limit.count != operand->rank ||
        a->stride.count != operand->rank)
        return hlo_contradicts(t, "expected a slice of %d dimensions, found %d", operand->rank,
                               a->start.count);
    hlo_infer_array(t, operand->type);
    for (int i = 0; i < operand->rank; i++) {
        int64_t start = a->start.at[i], limit = a->limit.at[i], stride = a->stride.at[i];
        if (start < 0 || limit < start || limit > operand->dims[i] || stride < 1)
            return hlo_contradicts(t, "[%lld:%lld:%lld] is not a slice of dimension %d, which is %lld",
                                   (long long)start, (long long)limit, (long long)stride, i,
                                   (long long)operand->dims[i]);
        hlo_infer_dim(t, (limit - start) / stride + ((limit - start) % stride != 0));
    }
    return true;
}

bool hlo_infer_dynamic_slice(struct hlo_inference *t)
{
    const struct hlo_shape *operand = hlo_operand_shape(t, 0);
    const struct hlo_ints *sizes = &t->in->attributes->sizes;
    if (sizes->count != operand->rank)
        return hlo_contradicts(t, "expected dynamic_slice_sizes of %d dimensions, found %d", operand->rank,
                               sizes->count);
    hlo_infer_array(t, operand->type);
    for (int i = 0; i < operand->rank; i++) {
        if (sizes->at[i] < 0 || sizes->at[i] > operand->dims[i])
            return hlo_contradicts(t, "a slice of %lld from dimension %d, which is %lld",
                                   (long long)sizes->at[i], i, (long long)operand->dims[i]);
        hlo_infer_dim(t, sizes->at[i]);
    }
    return true;
}

bool hlo_infer_update_slice(struct hlo_inference *t)
{
    const struct hlo_shape *operand = hlo_operand_shape(t, 0);
    const struct hlo_shape *update = hlo_operand_shape(t, 1);
    if (operand->rank != update->rank || (t->is_exact && operand->type != update->type))
        return hlo_contradicts(t, "an update of %d dimensions into %d", update->rank, operand->rank);
    for (int i = 0; i < operand->rank; i++)
        if (update->dims[i] > operand->dims[i])
            return hlo_contradicts(t, "an update of %lld into dimension %d, which is %lld",
                                   (long long)update->dims[i], i, (long long)operand->dims[i]);
    t->same = operand;
    return true;
}

bool hlo_infer_pad(struct hlo_inference *t)
{
    const struct hlo_shape *operand = hlo_operand_shape(t, 0);
    const struct hlo_attributes *a = t->in->attributes;
    const struct hlo_shape *value = hlo_operand_shape(t, 1);
    if (a->low.count != operand->rank || a->high.count != operand->rank || a->interior.count != operand->rank)
        return hlo_contradicts(t, "expected padding of %d dimensions, found %d, %d and %d", operand->rank,
                               a->low.count, a->high.count, a->interior.count);
    if (value->rank != 0 || (t->is_exact && value->type != operand->type))
        return hlo_contradicts(t, "the padding value is not a scalar");
    hlo_infer_array(t, operand->type);
    for (int i = 0; i < operand->rank; i++) {
        int64_t low = a->low.at[i], high = a->high.at[i],
                gaps = operand->dims[i] > 0 ? operand->dims[i] - 1 : 0;
        int64_t interior;
        if (low < -MAX_PADDING || low > MAX_PADDING || high < -MAX_PADDING || high > MAX_PADDING ||
            a->interior.at[i] < 0 || __builtin_mul_overflow(a->interior.at[i], gaps, &interior) ||
            interior > MAX_PADDING)
            return hlo_contradicts(t, "a padding beyond 2^53");
        if (!hlo_infer_dim(t, operand->dims[i] + low + high + interior))
            return false;
    }
    return true;
}

bool hlo_infer_concatenate(struct hlo_inference *t)
{
    const struct hlo_instruction *in = t->in;
    const struct hlo_shape *first = in->operands[0]->shape;
    const struct hlo_ints *dims = &t->in->attributes->dimensions;
    if (dims->count != 1)
        return hlo_contradicts(t, "expected one dimension to concatenate along, found %d", dims->count);
    if (!hlo_infer_dims_exist(t, "dimensions", dims, first))
        return false;
    int64_t sum = first->dims[dims->at[0]];
    for (int k = 1; k < in->operand_count; k++) {
        const struct hlo_shape *next = in->operands[k]->shape;
        if (!hlo_dims_match(next, first, dims->at[0]) || (t->is_exact && next->type != first->type))
            return hlo_contradicts(t, "operand %d does not fit the first", k);
        sum += next->dims[dims->at[0]];
        if (sum > HLO_MAX_ELEMENTS)
            return hlo_contradicts(t, "more than the 2^53 elements that an array may have");
    }
    hlo_infer_array(t, first->type);
    for (int i = 0; i < first->rank; i++)
        if (!hlo_infer_dim(t, i == dims->at[0] ? sum : first->dims[i]))
            return false;
    return true;
}

bool hlo_infer_gather(struct hlo_inference *t)
{
    const struct hlo_shape *operand = hlo_operand_shape(t, 0), *out = t->in->shape;
    const struct hlo_ints *sizes = &t->in->attributes->sizes;
    if (sizes->count != operand->rank)
        return hlo_contradicts(t, "expected slice_sizes of %d dimensions, found %d", operand->rank,
                               sizes->count);
    for (int i = 0; i < operand->rank; i++)
        if (sizes->at[i] < 0 || sizes->at[i] > operand->dims[i])
            return hlo_contradicts(t, "a slice of %lld from dimension %d, which is %lld",
                                   (long long)sizes->at[i], i, (long long)operand->dims[i]);
    return !out || hlo_infer_dims_exist(t, "offset_dims", &t->in->attributes->dimensions, out);
}

bool hlo_infer_element(struct hlo_inference *t)
{
    const struct hlo_shape *tuple = hlo_operand_shape(t, 0);
    int64_t index = t->in->attributes->index;
    if (tuple->type != HLO_TYPE_TUPLE)
        return hlo_contradicts(t, "the operand is not a tuple");
    if (index < 0 || index >= tuple->part_count)
        return hlo_contradicts(t, "no element %lld in a tuple of %d", (long long)index, tuple->part_count);
    t->same = tuple->parts[index];
    return true;
}

bool hlo_infer_tuple(struct hlo_inference *t)
{
    const struct hlo_instruction *in = t->in;
    if (!in->shape)
        return hlo_infer_variadic(t, in->operand_count);
    if (in->shape->type != HLO_TYPE_TUPLE || in->shape->part_count != in->operand_count)
        return hlo_contradicts(t, "expected the shape of a tuple of %d", in->operand_count);
    for (int i = 0; i < in->operand_count; i++)
        if (!hlo_shape_equal(in->shape->parts[i], in->operands[i]->shape))
            return hlo_contradicts(t, "part %d of the shape is not that of the operand", i);
    return true;
}

bool hlo_infer_dimension_size(struct hlo_inference *t)
{
    const struct hlo_ints *dims = &t->in->attributes->dimensions;
    const struct hlo_shape *operand = hlo_operand_shape(t, 0);
    if (dims->count != 1)
        return hlo_contradicts(t, "expected one dimension, found %d", dims->count);
    if (!hlo_infer_dims_exist(t, "dimensions", dims, operand))
        return false;
    if (t->in->opcode == HLO_SET_DIMENSION_SIZE)
        t->same = operand;
    else
        hlo_infer_array(t, HLO_TYPE_S32);
    return true;
}

/* Gathered or scattered along one dimension, whose size one of the shapes has a multiple of. */
bool hlo_infer_gathered(struct hlo_inference *t)
{
    const struct hlo_instruction *in = t->in;
    const struct hlo_ints *dims = &t->in->attributes->dimensions;
    const struct hlo_shape *operand = in->operands[0]->shape, *out = in->shape;
    if (dims->count != 1)
        return hlo_contradicts(t, "expected one dimension, found %d", dims->count);
    if (!hlo_infer_dims_exist(t, "dimensions", dims, operand))
        return false;
    if (in->operand_count != 1 || !out || in->opcode == HLO_ALL_GATHER_START)
        return true;
    return hlo_dims_match(out, operand, dims->at[0]) ||
           hlo_contradicts(t, "the result differs from the operand in other dimensions than %lld",
                           (long long)dims->at[0]);
}
