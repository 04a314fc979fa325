/* Checks of the element types that an operation takes, and of the type of a constant. */
#include "hlo/mlir/mlir.h"

/* The types that the operation takes, in words; NULL: it takes this type. */
static const char *wanted_instead(enum hlo_opcode opcode, enum hlo_type type)
{
    int traits = hlo_operations[opcode].traits;
    bool is_float = hlo_type_is_float(type);
    if (traits & HLO_OF_BITS)
        return hlo_type_is_whole(type) || type == HLO_TYPE_PRED ? NULL : "whole numbers or truth values";
    if (traits & HLO_OF_WHOLE)
        return hlo_type_is_whole(type) ? NULL : "whole numbers";
    if (traits & HLO_OF_FLOATS)
        return is_float ? NULL : "floats";
    return !(traits & HLO_OF_INEXACT) || is_float || hlo_type_is_complex(type) ? NULL
                                                                               : "floats or complex numbers";
}

/* Checks the element type of the first operand. Quantized numbers, which are read as the stored whole
 * numbers, stand for floats. */
bool mlir_check_elements(struct mlir_reader *r, const struct mlir_op *op)
{
    enum hlo_type type = mlir_operand_type(r, op, 0)->type;
    const char *wanted = r->quantized ? NULL : wanted_instead(op->info->opcode, type);
    return !wanted || mlir_op_error(r, op, "expected %s, found %s", wanted, hlo_type_name(type));
}

/* `dense<0> : tensor<i32>` as an attribute of an operation that gives its result's type, too. */
bool mlir_check_value_type(struct mlir_reader *r, const struct mlir_op *op, const char *value,
                           const struct hlo_shape *wanted)
{
    const struct hlo_shape *shape;
    r->p = value;
    if (!mlir_skip_untyped(r))
        return false;
    bool typed = mlir_take(r, ':');
    if (typed && !mlir_type(r, &shape))
        return false;
    return !typed || hlo_shape_equal(shape, wanted) ||
           mlir_op_error(r, op, "its value is not of the result's type");
}
