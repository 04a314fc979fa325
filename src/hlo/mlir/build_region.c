/* Operations that call computations. */
#include "hlo/mlir/mlir.h"

/* Checks that the region takes `parameters` values besides captured ones, and returns `results`. */
bool mlir_check_region(struct mlir_reader *reader, const struct mlir_op *op, size_t index, size_t parameters,
                       size_t results)
{
    const struct hlo_computation *region = mlir_callee(reader, op, index);
    size_t own = (size_t)(region->parameter_count - region->captured);
    const struct hlo_shape *root = region->root->shape;
    size_t returned =
        root->type == HLO_TYPE_TUPLE && region->root->opcode == HLO_TUPLE ? (size_t)root->part_count : 1;
    if (own != parameters)
        return mlir_op_error(reader, op, "its region takes %zu values, expected %zu", own, parameters);
    if (returned != results)
        return mlir_op_error(reader, op, "its region returns %zu values, expected %zu", returned, results);
    return true;
}

static bool mlir_check_scalar(struct mlir_reader *reader, const struct mlir_op *op, size_t parameter,
                              enum hlo_type type)
{
    const struct hlo_shape *shape = mlir_callee(reader, op, 0)->parameters[parameter]->shape;
    return (shape->rank == 0 && shape->type == type) ||
           mlir_op_error(reader, op, "value %zu of its region should be a scalar of type %s", parameter + 1,
                         hlo_type_name(type));
}

/* 0 truth values, 1 signed and 2 unsigned numbers, 3 floats, 4 complex ones. */
static int kind_of(enum hlo_type type)
{
    if (type == HLO_TYPE_PRED)
        return 0;
    if (hlo_type_is_signed(type))
        return 1;
    if (hlo_type_is_whole(type))
        return 2;
    return hlo_type_is_complex(type) ? 4 : 3;
}

/* Reductions may take rows of their input at a time, with rows as initial values. */
static bool takes_rows(const struct mlir_reader *reader, const struct mlir_op *op, size_t inputs,
                       size_t index)
{
    const struct hlo_shape *value = mlir_callee(reader, op, 0)->parameters[index]->shape;
    const struct hlo_shape *initial = mlir_operand_type(reader, op, inputs + index);
    return (value->rank == 0 || value->rank < mlir_operand_type(reader, op, index)->rank) &&
           hlo_dims_match(value, initial, -1);
}

/* Checks a reduction's region: it takes the values so far and as many elements, and returns new values of
 * the same types. These may be wider than the operands, and are the types of the results. */
bool mlir_check_accumulators(struct mlir_reader *reader, const struct mlir_op *op, size_t inputs)
{
    if (!mlir_check_region(reader, op, 0, 2 * inputs, inputs))
        return false;
    const struct hlo_computation *region = mlir_callee(reader, op, 0);
    for (size_t i = 0; i < inputs; i++) {
        const struct hlo_shape *root = region->root->shape, *result = inputs == 1 ? root : root->parts[i];
        const struct hlo_shape *value = region->parameters[i]->shape,
                               *element = region->parameters[inputs + i]->shape;
        enum hlo_type input = mlir_operand_type(reader, op, i)->type;
        if (!hlo_shape_equal(value, result) || element->type != value->type)
            return mlir_op_error(reader, op, "value %zu of its region changes its type", i + 1);
        bool initial = op->info->opcode == HLO_REDUCE || op->info->opcode == HLO_REDUCE_WINDOW;
        if (initial ? !takes_rows(reader, op, inputs, i) : value->rank || element->rank)
            return mlir_op_error(
                reader, op, "value %zu of its region should be a scalar, or as its initial value is", i + 1);
        if (kind_of(input) != kind_of(value->type) || hlo_type_bits(input) > hlo_type_bits(value->type))
            return mlir_op_error(reader, op, "its region takes %s for an operand of type %s",
                                 hlo_type_name(value->type), hlo_type_name(input));
        if (value->type != mlir_result_type(reader, op, i)->type)
            return mlir_op_error(reader, op, "its region returns %s for a result of type %s",
                                 hlo_type_name(value->type),
                                 hlo_type_name(mlir_result_type(reader, op, i)->type));
    }
    return true;
}

/* Checks that inputs of one shape are followed by an initial value for each. */
bool mlir_check_reducer(struct mlir_reader *reader, const struct mlir_op *op, size_t inputs)
{
    if (inputs == 0 || op->operands / 2 != inputs)
        return mlir_op_error(reader, op, "expected an initial value for each input");
    for (size_t i = 1; i < inputs; i++)
        if (!hlo_dims_match(mlir_operand_type(reader, op, i), mlir_operand_type(reader, op, 0), -1))
            return mlir_op_error(reader, op, "inputs of different shapes");
    return mlir_need_results(reader, op, inputs) && mlir_check_accumulators(reader, op, inputs);
}

bool mlir_build_reduce(struct mlir_reader *reader, struct mlir_op *op)
{
    return mlir_need_arrays(reader, op) && mlir_read_fields(reader, op) &&
           mlir_check_reducer(reader, op, op->operands / 2) && mlir_infer(reader, op, HLO_REDUCE);
}

bool mlir_build_sort(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    int rank = mlir_operand_type(reader, op, 0)->rank;
    int64_t along = -1;
    if (!mlir_need_arrays(reader, op) || !mlir_need_results(reader, op, op->operands) ||
        !mlir_find_integer(reader, op, "dimension", false, &along))
        return false;
    along = along < 0 ? along + rank : along;
    set->dimensions = mlir_copy_ints(reader, &along, rank > 0);
    if (rank && !set->dimensions.count)
        return error_memory(reader->err);
    if (!mlir_check_region(reader, op, 0, 2 * op->operands, 1))
        return false;
    const struct hlo_shape *answer = mlir_callee(reader, op, 0)->root->shape;
    if (answer->type != HLO_TYPE_PRED || answer->rank)
        return mlir_op_error(reader, op, "its region should return a truth value");
    for (size_t i = 0; i < 2 * op->operands; i++)
        if (!mlir_check_scalar(reader, op, i, mlir_operand_type(reader, op, i / 2)->type))
            return false;
    return mlir_infer(reader, op, HLO_SORT);
}

/* The region takes an element of each operand and returns one of the result. */
static bool check_mapped(struct mlir_reader *reader, const struct mlir_op *op)
{
    if (!mlir_check_region(reader, op, 0, op->operands, 1))
        return false;
    for (size_t i = 0; i < op->operands; i++)
        if (!mlir_check_scalar(reader, op, i, mlir_operand_type(reader, op, i)->type))
            return false;
    const struct hlo_shape *root = mlir_callee(reader, op, 0)->root->shape;
    return (root->rank == 0 && root->type == mlir_result_type(reader, op, 0)->type) ||
           mlir_op_error(reader, op, "its region should return a scalar of the result's type");
}

bool mlir_build_map(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    const struct hlo_shape *first = mlir_operand_type(reader, op, 0);
    if (!mlir_need_arrays(reader, op) || !mlir_need_results(reader, op, 1) ||
        !mlir_find_ints(reader, op, "dimensions", false, &set->dimensions) ||
        !mlir_in_range(reader, op, "dimensions", set->dimensions, first->rank, true))
        return false;
    for (int i = 0; i < set->dimensions.count; i++)
        if (set->dimensions.at[i] != i)
            return mlir_op_error(reader, op, "dimensions should be all of them in order");
    return check_mapped(reader, op) && mlir_infer(reader, op, HLO_MAP);
}

/* Condition and body take the values that the loop carries; the body returns them. */
bool mlir_build_while(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    if (!mlir_need_results(reader, op, op->operands) || !mlir_fill_alike(reader, op) ||
        !mlir_check_region(reader, op, 0, op->operands, 1) ||
        (op->operands && !mlir_check_region(reader, op, 1, op->operands, op->operands)))
        return false;
    const struct hlo_computation *body = mlir_callee(reader, op, 1);
    const struct hlo_shape *answer = mlir_callee(reader, op, 0)->root->shape;
    if (answer->type != HLO_TYPE_PRED || answer->rank)
        return mlir_op_error(reader, op, "its condition should return a truth value");
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *carried = mlir_operand_type(reader, op, i), *root = body->root->shape;
        const struct hlo_shape *next = op->operands == 1 ? root : root->parts[i];
        if (!hlo_shape_equal(carried, next) || !hlo_shape_equal(carried, mlir_result_type(reader, op, i)) ||
            !hlo_shape_equal(carried, body->parameters[i]->shape) ||
            !hlo_shape_equal(carried, mlir_callee(reader, op, 0)->parameters[i]->shape))
            return mlir_op_error(reader, op, "value %zu that it carries changes its type", i + 1);
    }
    set->trip_count = -1;
    return mlir_finish(reader, op, HLO_WHILE);
}

/* Each branch returns the values of the operation, and captures the values it needs. */
bool mlir_build_conditional(struct mlir_reader *reader, struct mlir_op *op)
{
    const struct hlo_shape *choice = mlir_operand_type(reader, op, 0);
    bool is_case = op->info->regions < 0;
    if (choice->rank || choice->type != (is_case ? HLO_TYPE_S32 : HLO_TYPE_PRED))
        return mlir_op_error(reader, op, "the operand that chooses should be a scalar of type %s",
                             is_case ? "s32" : "pred");
    for (size_t i = 0; i < op->callees; i++) {
        const struct hlo_computation *branch = mlir_callee(reader, op, i);
        const struct hlo_shape *root = branch->root->shape;
        if (!mlir_check_region(reader, op, i, 0, op->result_types) || !mlir_fill_from(reader, op, root))
            return false;
        for (size_t r = 0; r < op->result_types; r++)
            if (!hlo_shape_equal(op->result_types == 1 ? root : root->parts[r],
                                 mlir_result_type(reader, op, r)))
                return mlir_op_error(reader, op, "branch %zu returns another type for result %zu", i + 1,
                                     r + 1);
    }
    return mlir_finish(reader, op, HLO_CONDITIONAL);
}

/* The region takes each input without the scanned dimension, and each initial value. */
bool mlir_build_scan(struct mlir_reader *reader, struct mlir_op *op)
{
    int64_t along = 0, size = -1;
    const struct hlo_computation *region = mlir_callee(reader, op, 0);
    if (!mlir_find_integer(reader, op, "dimension", true, &along) ||
        !mlir_find_integer(reader, op, "scan_dim_size", false, &size) ||
        !mlir_check_region(reader, op, 0, op->operands, op->result_types))
        return false;
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *given = mlir_operand_type(reader, op, i),
                               *taken = region->parameters[i]->shape;
        bool input = i < op->inputs;
        if (input && (along < 0 || along >= given->rank || (size >= 0 && given->dims[along] != size)))
            return mlir_op_error(reader, op, "operand %zu has no dimension %lld, or one of another size",
                                 i + 1, (long long)along);
        bool fits = given->type == taken->type && taken->rank == given->rank - input;
        for (int d = 0; fits && d < taken->rank; d++)
            fits = taken->dims[d] == given->dims[d + (input && d >= along)];
        if (!fits)
            return mlir_op_error(reader, op, "value %zu of its region does not fit operand %zu", i + 1,
                                 i + 1);
    }
    return mlir_finish(reader, op, HLO_SCAN);
}

/* Along the last dimension: k values and their places. */
bool mlir_build_topk(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    int64_t dims[HLO_MAX_RANK];
    if (!mlir_need_results(reader, op, 2) || !mlir_need_arrays(reader, op) || !mlir_read_fields(reader, op))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0);
    if (operand->rank < 1 || set->index < 0 || set->index > operand->dims[operand->rank - 1])
        return mlir_op_error(reader, op, "the last dimension has no %lld elements", (long long)set->index);
    memcpy(dims, operand->dims, (size_t)operand->rank * sizeof *dims);
    dims[operand->rank - 1] = set->index;
    return mlir_result_dims(reader, op, 0, dims, operand->rank) &&
           mlir_result_dims(reader, op, 1, dims, operand->rank) && mlir_finish(reader, op, HLO_TOPK);
}
