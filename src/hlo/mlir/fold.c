/* Small whole numbers: sizes are computed from sizes, by the few operations that front ends write for it. */
#include "hlo/mlir/mlir.h"

#include <math.h>

bool mlir_known(struct mlir_reader *r, const struct hlo_instruction *instruction, struct hlo_ints *value)
{
    const struct hlo_shape *shape = instruction->shape;
    *value = (struct hlo_ints){0};
    if (instruction->opcode != HLO_CONSTANT)
        return true;
    if (instruction->has_value) {
        *value = (struct hlo_ints){1, &instruction->value};
        return true;
    }
    if (instruction->value < 0)
        *value = ((struct hlo_ints *)r->known.items)[-1 - instruction->value];
    if (instruction->value <= 0)
        return true;
    const char *after = r->p;
    if (!mlir_read_ints(r, r->text + instruction->value, value, NULL))
        return false;
    r->p = after;
    int64_t elements = hlo_elements(shape), copies[MLIR_MAX_KNOWN];
    if (value->count == 1 && elements > 1) { /* dense<1> : tensor<4xi32> */
        for (int64_t i = 0; i < elements; i++)
            copies[i] = value->at[0];
        *value = mlir_copy_ints(r, copies, (int)elements);
        return value->count || error_memory(r->err);
    }
    if (value->count != elements)
        *value = (struct hlo_ints){0};
    return true;
}

static bool fits(enum hlo_type type, int64_t value)
{
    int bits = hlo_type_bits(type);
    bool is_signed = hlo_type_is_signed(type);
    if (type == HLO_TYPE_PRED)
        return value == 0 || value == 1;
    if (bits >= 64)
        return is_signed || value >= 0;
    int64_t max = ((int64_t)1 << (bits - is_signed)) - 1;
    return value <= max && value >= (is_signed ? -max - 1 : 0);
}

/* Elementwise; a scalar stands for all elements. */
static bool fold_elements(const struct hlo_instruction *in, const struct hlo_ints *operands, int64_t count,
                          int64_t *result)
{
    if (in->operand_count > 3)
        return false;
    for (int64_t i = 0; i < count; i++) {
        double x[3] = {0}, number;
        bool exact = true;
        for (int k = 0; k < in->operand_count; k++) {
            x[k] = (double)operands[k].at[operands[k].count == 1 ? 0 : i];
            exact &= fabs(x[k]) < 0x1p53;
        }
        if (!exact || !hlo_compute(in, x, &number) || !(fabs(number) < 0x1p53))
            return false;
        result[i] = (int64_t)number;
    }
    return true;
}

/* Along a dimension: rows of the operands follow one another. */
static bool fold_concatenate(const struct hlo_instruction *in, const struct hlo_ints *operands, int64_t count,
                             int64_t *result)
{
    const struct hlo_shape *shape = in->shape;
    int64_t along = in->attributes->dimensions.at[0], outer = 1, at = 0;
    for (int64_t d = 0; d < along; d++)
        outer *= shape->dims[d];
    for (int64_t o = 0; o < outer; o++)
        for (int k = 0; k < in->operand_count; k++) {
            int64_t row = operands[k].count / outer;
            for (int64_t i = 0; i < row && at < count; i++)
                result[at++] = operands[k].at[o * row + i];
        }
    return at == count;
}

static bool fold_slice(const struct hlo_instruction *in, const struct hlo_ints *operands, int64_t count,
                       int64_t *result)
{
    const struct hlo_attributes *a = in->attributes;
    if (in->shape->rank != 1)
        return false;
    for (int64_t i = 0; i < count; i++)
        result[i] = operands[0].at[a->start.at[0] + i * a->stride.at[0]];
    return true;
}

static bool fold_values(const struct hlo_instruction *in, const struct hlo_ints *operands, int64_t count,
                        int64_t *result)
{
    switch (in->opcode) {
    case HLO_RESHAPE:
        memcpy(result, operands[0].at, (size_t)count * sizeof *result);
        return true;
    case HLO_BROADCAST:
        for (int64_t i = 0; i < count; i++)
            result[i] = operands[0].at[0];
        return operands[0].count == 1;
    case HLO_IOTA:
        for (int64_t i = 0; i < count; i++)
            result[i] = i;
        return in->shape->rank == 1;
    case HLO_CONCATENATE:
        return fold_concatenate(in, operands, count, result);
    case HLO_SLICE:
        return fold_slice(in, operands, count, result);
    default:
        return hlo_is_elementwise(in->opcode) && fold_elements(in, operands, count, result);
    }
}

/* Turns an instruction into a constant. */
static bool become_constant(struct mlir_reader *r, struct hlo_instruction *in, struct hlo_ints value)
{
    static const struct hlo_attributes none = {0};
    in->opcode = HLO_CONSTANT;
    in->operand_count = in->callee_count = 0;
    in->attributes = &none;
    in->has_value = in->shape->rank == 0;
    in->value = in->has_value ? value.at[0] : -1 - (int64_t)r->known.count;
    in->number = in->has_value ? (double)in->value : (double)NAN;
    if (in->has_value)
        return true;
    struct hlo_ints *kept = mlir_push(r, &r->known, sizeof *kept);
    if (kept)
        *kept = value;
    return kept != NULL;
}

struct hlo_instruction *mlir_add_known(struct mlir_reader *r, struct mlir_place place, const char *name,
                                       const struct hlo_shape *shape, struct hlo_ints value)
{
    struct hlo_instruction *constant = mlir_add(r, HLO_CONSTANT, place, name, shape, NULL, 0);
    return constant && become_constant(r, constant, value) ? constant : NULL;
}

static bool may_fold(const struct hlo_shape *shape)
{
    return (shape->type == HLO_TYPE_PRED || hlo_type_is_whole(shape->type)) && hlo_elements(shape) > 0 &&
           hlo_elements(shape) <= MLIR_MAX_KNOWN;
}

bool mlir_fold(struct mlir_reader *r, const struct mlir_op *op)
{
    struct hlo_instruction *in = op->instruction;
    struct hlo_ints operands[MLIR_MAX_KNOWN];
    int64_t result[MLIR_MAX_KNOWN], count = in ? hlo_elements(in->shape) : 0;
    if (!in || in->opcode == HLO_CONSTANT || in->opcode == HLO_PARAMETER || !may_fold(in->shape) ||
        in->operand_count > MLIR_MAX_KNOWN)
        return true;
    if (in->opcode == HLO_CALL) {
        struct hlo_ints value;
        if (!in->callee_count || !mlir_known(r, in->callees[0]->root, &value))
            return in->callee_count == 0;
        return !value.count || become_constant(r, in, value);
    }
    if (in->opcode == HLO_GET_DIMENSION_SIZE && count == 1) {
        result[0] = in->operands[0]->shape->dims[in->attributes->dimensions.at[0]];
    } else {
        if (in->operand_count <= 0 && in->opcode != HLO_IOTA)
            return true;
        for (int k = 0; k < in->operand_count; k++) {
            if (!may_fold(in->operands[k]->shape))
                return true;
            if (!mlir_known(r, in->operands[k], &operands[k]))
                return false;
            if (!operands[k].count)
                return true;
        }
        if (!fold_values(in, operands, count, result))
            return true;
    }
    for (int64_t i = 0; i < count; i++)
        if (!fits(in->shape->type, result[i]))
            return true;
    struct hlo_ints value = mlir_copy_ints(r, result, (int)count);
    return value.count ? become_constant(r, in, value) : error_memory(r->err);
}
