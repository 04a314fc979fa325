/* Sizes that are given to operations as values: if a constant holds them, the result's type must agree. */
#include "hlo/mlir/mlir.h"

/* A short list of whole numbers, written as such. */
void mlir_note_sizes(struct mlir_reader *reader, struct hlo_instruction *constant, const char *value)
{
    const struct hlo_shape *shape = constant->shape;
    if (!hlo_type_is_whole(shape->type) || shape->rank == 0 || hlo_elements(shape) > MLIR_MAX_KNOWN ||
        !mlir_begins(reader, value, "dense<"))
        return;
    const char *number = value + strlen("dense<");
    if (number < reader->end && (*number == '[' || *number == '-' || (*number >= '0' && *number <= '9')))
        constant->value = value - reader->text;
}

static bool mlir_known_sizes(struct mlir_reader *reader, const struct mlir_op *op, size_t operand,
                             bool *known, struct hlo_ints *sizes)
{
    bool read = mlir_known(reader, mlir_operand(reader, op, operand), sizes);
    *known = sizes->count > 0;
    return read;
}

bool mlir_check_sizes(struct mlir_reader *reader, const struct mlir_op *op, size_t operand)
{
    const struct hlo_shape *given = mlir_operand_type(reader, op, operand),
                           *result = mlir_result_type(reader, op, 0);
    struct hlo_ints sizes;
    bool known;
    if (given->rank != 1 || given->dims[0] != result->rank)
        return mlir_op_error(reader, op, "operand %zu should have a size for each dimension of the result",
                             operand + 1);
    if (!mlir_known_sizes(reader, op, operand, &known, &sizes))
        return false;
    if (!known && reader->sized && !mlir_is_sized(result))
        return mlir_op_error(
            reader, op,
            "expected a static size, found '?': the sizes, operand %zu, are known only at run time",
            operand + 1);
    for (int i = 0; known && i < sizes.count; i++)
        if (sizes.at[i] < 0)
            return mlir_op_error(reader, op, "operand %zu: a size of %lld", operand + 1,
                                 (long long)sizes.at[i]);
    return !known || mlir_result_dims(reader, op, 0, sizes.at, sizes.count);
}

/* Checks the padding of dynamic_pad: before, behind and between the elements. */
bool mlir_check_dynamic_pad(struct mlir_reader *reader, const struct mlir_op *op)
{
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0);
    struct hlo_ints padding[3];
    int64_t dims[HLO_MAX_RANK];
    for (size_t i = 0; i < 3; i++) {
        bool known;
        if (!mlir_known_sizes(reader, op, 2 + i, &known, &padding[i]))
            return false;
        if (!known)
            return true;
        if (padding[i].count != operand->rank)
            return mlir_op_error(reader, op, "operand %zu: expected %d numbers, found %d", 3 + i,
                                 operand->rank, padding[i].count);
    }
    return mlir_padded_dims(reader, op, padding[0], padding[1], padding[2], dims) &&
           mlir_result_dims(reader, op, 0, dims, operand->rank);
}
