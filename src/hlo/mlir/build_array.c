/* Operations that move elements: their attributes must agree with the type of the result. */
#include "hlo/mlir/mlir.h"

static bool mlir_padded_dims(struct mlir_reader *r, const struct mlir_op *op, struct hlo_ints low,
                             struct hlo_ints high, struct hlo_ints interior, int64_t *dims);

/* Sizes that are given to operations as values: if a constant holds them, the result's type must agree. */

/* A short list of whole numbers, written as such. */
void mlir_note_sizes(struct mlir_reader *r, struct hlo_instruction *constant, const char *value)
{
    const struct hlo_shape *shape = constant->shape;
    if (!hlo_type_is_whole(shape->type) || shape->rank == 0 || hlo_elements(shape) > MLIR_MAX_KNOWN ||
        !mlir_begins(r, value, "dense<"))
        return;
    const char *number = value + strlen("dense<");
    if (number < r->end && (*number == '[' || *number == '-' || (*number >= '0' && *number <= '9')))
        constant->value = value - r->text;
}

static bool mlir_known_sizes(struct mlir_reader *r, const struct mlir_op *op, size_t operand, bool *known,
                             struct hlo_ints *sizes)
{
    bool read = mlir_known(r, mlir_operand(r, op, operand), sizes);
    *known = sizes->count > 0;
    return read;
}

bool mlir_check_sizes(struct mlir_reader *r, const struct mlir_op *op, size_t operand)
{
    const struct hlo_shape *given = mlir_operand_type(r, op, operand), *result = mlir_result_type(r, op, 0);
    struct hlo_ints sizes;
    bool known;
    if (given->rank != 1 || given->dims[0] != result->rank)
        return mlir_op_error(r, op, "operand %zu should have a size for each dimension of the result",
                             operand + 1);
    if (!mlir_known_sizes(r, op, operand, &known, &sizes))
        return false;
    if (!known && r->sized && !mlir_is_sized(result))
        return mlir_op_error(
            r, op, "expected a static size, found '?': the sizes, operand %zu, are known only at run time",
            operand + 1);
    for (int i = 0; known && i < sizes.count; i++)
        if (sizes.at[i] < 0)
            return mlir_op_error(r, op, "operand %zu: a size of %lld", operand + 1, (long long)sizes.at[i]);
    return !known || mlir_result_dims(r, op, 0, sizes.at, sizes.count);
}

/* Checks the padding of dynamic_pad: before, behind and between the elements. */
static bool mlir_check_dynamic_pad(struct mlir_reader *r, const struct mlir_op *op)
{
    const struct hlo_shape *operand = mlir_operand_type(r, op, 0);
    struct hlo_ints padding[3];
    int64_t dims[HLO_MAX_RANK];
    for (size_t i = 0; i < 3; i++) {
        bool known;
        if (!mlir_known_sizes(r, op, 2 + i, &known, &padding[i]))
            return false;
        if (!known)
            return true;
        if (padding[i].count != operand->rank)
            return mlir_op_error(r, op, "operand %zu: expected %d numbers, found %d", 3 + i, operand->rank,
                                 padding[i].count);
    }
    return mlir_padded_dims(r, op, padding[0], padding[1], padding[2], dims) &&
           mlir_result_dims(r, op, 0, dims, operand->rank);
}

static struct hlo_ints counted(int count)
{
    static const int64_t numbers[HLO_MAX_RANK] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
    };
    return (struct hlo_ints){count, count ? numbers : NULL};
}

/* One tensor as result, of the element type of the first operand. */
static bool moves_elements(struct mlir_reader *r, const struct mlir_op *op)
{
    if (!mlir_one_array(r, op))
        return false;
    enum hlo_type operand = mlir_operand_type(r, op, 0)->type;
    enum hlo_type result = mlir_result_type(r, op, 0)->type;
    return operand == result || mlir_op_error(r, op, "the result should be of type %s, its type says %s",
                                              hlo_type_name(operand), hlo_type_name(result));
}

/* broadcast %x, sizes = [2, 3]: new dimensions in front. */
bool mlir_build_broadcast(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    struct hlo_ints sizes;
    if (!moves_elements(r, op) || !mlir_find_ints(r, op, "broadcast_sizes|sizes", true, &sizes))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(r, op, 0);
    const struct hlo_shape *result = mlir_result_type(r, op, 0);
    if (result->rank != sizes.count + operand->rank ||
        (sizes.count && memcmp(result->dims, sizes.at, (size_t)sizes.count * sizeof *sizes.at) != 0))
        return mlir_op_error(r, op, "the result does not begin with the dimensions that are added");
    set->dimensions = (struct hlo_ints){operand->rank, NULL};
    if (operand->rank)
        set->dimensions.at = counted(result->rank).at + sizes.count;
    return mlir_infer(r, op, HLO_BROADCAST);
}

/* Drops dimensions of size 1 that become larger, by a reshape, as in XLA: HLO's broadcast only adds
 * dimensions. *operand and *dimensions become those of the broadcast. */
static bool drop_stretched(struct mlir_reader *r, const struct mlir_op *op, const struct hlo_shape *to,
                           struct hlo_instruction **operand, struct hlo_ints *dimensions)
{
    const struct hlo_shape *from = (*operand)->shape;
    int64_t dims[HLO_MAX_RANK], kept[HLO_MAX_RANK];
    int rank = 0;
    if (dimensions->count != from->rank)
        return mlir_op_error(r, op, "broadcast_dimensions: expected %d numbers, found %d", from->rank,
                             dimensions->count);
    if (!mlir_in_range(r, op, "broadcast_dimensions", *dimensions, to->rank))
        return false;
    for (int i = 0; i < from->rank && dimensions->at; i++) {
        if (from->dims[i] == 1 && to->dims[dimensions->at[i]] != 1)
            continue;
        dims[rank] = from->dims[i];
        kept[rank++] = dimensions->at[i];
    }
    if (rank == from->rank)
        return true;
    const struct hlo_shape *shape = mlir_array_shape(r, from->type, dims, rank);
    *dimensions = mlir_copy_ints(r, kept, rank);
    if (!shape || dimensions->count != rank)
        return error_memory(r->err);
    *operand = mlir_before(r, op, HLO_RESHAPE, "reshape", shape, *operand, (struct hlo_ints){0});
    return *operand != NULL;
}

bool mlir_build_broadcast_in_dim(struct mlir_reader *r, struct mlir_op *op)
{
    if (!moves_elements(r, op) || !mlir_read_fields(r, op) ||
        (op->operands == 2 && !mlir_check_sizes(r, op, 1)))
        return false;
    op->operands = 1; /* the shape that dynamic_broadcast_in_dim is given is that of its type */
    op->set->sizes = op->set->dimensions;
    return drop_stretched(r, op, mlir_result_type(r, op, 0), mlir_operands(r, op), &op->set->dimensions) &&
           mlir_infer(r, op, HLO_BROADCAST);
}

/* Each open size of the result is the larger one of the operands'. */
static bool fill_broadcast(struct mlir_reader *r, const struct mlir_op *op, struct hlo_ints given)
{
    int64_t dims[HLO_MAX_RANK];
    int rank = mlir_result_type(r, op, 0)->rank;
    for (int d = 0; d < rank; d++)
        dims[d] = 1;
    for (size_t i = 0; i < 2; i++) {
        const struct hlo_shape *from = mlir_operand_type(r, op, i);
        int ahead = rank - from->rank;
        bool placed = ahead > 0 && given.count == from->rank;
        if (placed && !mlir_in_range(r, op, "broadcast_dimensions", given, rank))
            return false;
        for (int d = 0; d < from->rank && ahead >= 0; d++)
            if (from->dims[d] != 1)
                dims[placed ? given.at[d] : ahead + d] = from->dims[d];
    }
    return mlir_fill(r, op, 0, dims, rank);
}

/* Broadcasts the operands of an operation of chlo to the result, aligned at the last dimension or as
 * broadcast_dimensions says. */
bool mlir_build_broadcasting(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_ints given;
    if (!mlir_one_array(r, op) || !mlir_find_ints(r, op, "broadcast_dimensions", false, &given))
        return false;
    if (r->sized && !fill_broadcast(r, op, given))
        return false;
    const struct hlo_shape *to = mlir_result_type(r, op, 0);
    for (size_t i = 0; i < 2; i++) {
        struct hlo_instruction **operand = mlir_operands(r, op) + i;
        const struct hlo_shape *from = (*operand)->shape;
        int ahead = to->rank - from->rank;
        struct hlo_ints dimensions = {from->rank, NULL};
        if (ahead < 0)
            return mlir_op_error(r, op, "the result has fewer dimensions than operand %zu", i + 1);
        if (from->rank)
            dimensions.at = counted(to->rank).at + ahead;
        if (ahead && given.count == from->rank)
            dimensions = given;
        if (hlo_dims_match(from, to, -1))
            continue;
        const struct hlo_shape *shape = mlir_array_shape(r, from->type, to->dims, to->rank);
        if (!shape || !drop_stretched(r, op, to, operand, &dimensions))
            return false;
        for (int d = 0; d < dimensions.count; d++)
            if ((*operand)->shape->dims[d] != to->dims[dimensions.at[d]])
                return mlir_op_error(r, op, "operand %zu does not fit the result", i + 1);
        *operand = mlir_before(r, op, HLO_BROADCAST, "broadcast", shape, *operand, dimensions);
        if (!*operand)
            return false;
    }
    return op->info->opcode == HLO_COMPARE ? mlir_build_compare(r, op) : mlir_build_elementwise(r, op);
}

/* A single open size takes the elements that are left. */
static bool fill_reshaped(struct mlir_reader *r, const struct mlir_op *op)
{
    const struct hlo_shape *result = mlir_result_type(r, op, 0);
    int64_t dims[HLO_MAX_RANK], rest = hlo_elements(mlir_operand_type(r, op, 0));
    int open = 0;
    for (int d = 0; d < result->rank; d++) {
        open += result->dims[d] < 0;
        rest = result->dims[d] > 0 && rest % result->dims[d] == 0 ? rest / result->dims[d] : rest;
    }
    for (int d = 0; d < result->rank; d++)
        dims[d] = open == 1 ? rest : -1;
    return mlir_fill(r, op, 0, dims, result->rank) &&
           (mlir_is_sized(mlir_result_type(r, op, 0)) ||
            mlir_op_error(r, op, "expected a static size, found '?'"));
}

bool mlir_build_reshape(struct mlir_reader *r, struct mlir_op *op)
{
    if (!moves_elements(r, op) || (op->operands == 2 && !mlir_check_sizes(r, op, 1)))
        return false;
    op->operands = 1;
    return (!r->sized || fill_reshaped(r, op)) && mlir_infer(r, op, HLO_RESHAPE);
}

/* Operations that move elements as attributes and shape rules say. */
bool mlir_build_move(struct mlir_reader *r, struct mlir_op *op)
{
    return moves_elements(r, op) && mlir_build_inferred(r, op);
}

/* Elements of another width add or take a last dimension; the number of bits stays. */
bool mlir_build_bitcast(struct mlir_reader *r, struct mlir_op *op)
{
    if (!mlir_one_array(r, op))
        return false;
    const struct hlo_shape *from = mlir_operand_type(r, op, 0), *to = mlir_result_type(r, op, 0);
    if (from->rank == to->rank && !mlir_fill(r, op, 0, from->dims, from->rank))
        return false;
    to = mlir_result_type(r, op, 0);
    int64_t before = hlo_elements(from), after = hlo_elements(to);
    bool same = from->type == to->type || (from->type != HLO_TYPE_PRED && to->type != HLO_TYPE_PRED);
    if (same && (double)before * hlo_type_bits(from->type) != (double)after * hlo_type_bits(to->type))
        return mlir_op_error(r, op, "the result has not as many bits as the operand");
    return mlir_finish(r, op, HLO_BITCAST_CONVERT);
}

/* [0:4, 1:8:2] of the short form. */
static bool read_ranges(struct mlir_reader *r, const char *at, struct hlo_attributes *set)
{
    int64_t parts[3][HLO_MAX_RANK];
    int rank = 0;
    r->p = at + 1;
    if (!mlir_take(r, ']')) {
        do {
            if (rank == HLO_MAX_RANK)
                return mlir_error(r, r->p, "more than %d dimensions", HLO_MAX_RANK);
            parts[2][rank] = 1;
            if (!mlir_integer(r, &parts[0][rank]) || !mlir_need(r, ":") ||
                !mlir_integer(r, &parts[1][rank]) || (mlir_take(r, ':') && !mlir_integer(r, &parts[2][rank])))
                return false;
            rank++;
        } while (mlir_take(r, ','));
        if (!mlir_need(r, "]"))
            return false;
    }
    set->start = mlir_copy_ints(r, parts[0], rank);
    set->limit = mlir_copy_ints(r, parts[1], rank);
    set->stride = mlir_copy_ints(r, parts[2], rank);
    return set->stride.count == rank || error_memory(r->err);
}

bool mlir_build_slice(struct mlir_reader *r, struct mlir_op *op)
{
    const char *ranges = mlir_find(r, op, "[");
    return moves_elements(r, op) &&
           (ranges ? read_ranges(r, ranges, mlir_set(r, op)) : mlir_read_fields(r, op)) &&
           mlir_infer(r, op, HLO_SLICE);
}

/* Checks that the operands from `first` on are scalar integers, one per dimension. */
static bool check_indices(struct mlir_reader *r, const struct mlir_op *op, size_t first, int rank)
{
    if (op->operands != first + (size_t)rank)
        return mlir_op_error(r, op, "expected %d indices, found %zu", rank, op->operands - first);
    for (size_t i = first; i < op->operands; i++) {
        const struct hlo_shape *shape = mlir_operand_type(r, op, i);
        if (shape->rank || hlo_type_is_float(shape->type))
            return mlir_op_error(r, op, "operand %zu should be a scalar integer", i + 1);
        if (shape->type != mlir_operand_type(r, op, first)->type)
            return mlir_op_error(r, op, "indices of different types");
    }
    return true;
}

/* dynamic_slice and dynamic_update_slice. */
bool mlir_build_dynamic_slice(struct mlir_reader *r, struct mlir_op *op)
{
    return moves_elements(r, op) && mlir_read_fields(r, op) &&
           check_indices(r, op, op->info->opcode == HLO_DYNAMIC_SLICE ? 1 : 2,
                         mlir_operand_type(r, op, 0)->rank) &&
           mlir_infer(r, op, op->info->opcode);
}

/* Finds the lengths of a slice: the limit less the start, or what was added to the start to make the limit. */
static bool slice_lengths(struct mlir_reader *r, const struct mlir_op *op, int64_t *lengths, bool *known)
{
    const struct hlo_instruction *first = mlir_operand(r, op, 1), *last = mlir_operand(r, op, 2);
    struct hlo_ints start, limit;
    int rank = mlir_operand_type(r, op, 0)->rank;
    if (!mlir_known(r, first, &start) || !mlir_known(r, last, &limit))
        return false;
    bool is_sum = last->opcode == HLO_ADD && (last->operands[0] == first || last->operands[1] == first);
    if (!start.count && is_sum && !mlir_known(r, last->operands[last->operands[0] == first], &limit))
        return false;
    *known = limit.count == rank && (start.count == rank || (is_sum && !start.count));
    for (int d = 0; d < rank && *known; d++)
        if (__builtin_sub_overflow(limit.at[d], start.count ? start.at[d] : 0, &lengths[d]))
            *known = false;
    return true;
}

/* Computes the sizes of a slice from its start, limit and stride, if they are known. */
static bool fill_slice(struct mlir_reader *r, const struct mlir_op *op)
{
    const struct hlo_shape *operand = mlir_operand_type(r, op, 0);
    struct hlo_ints stride;
    int64_t dims[HLO_MAX_RANK] = {0};
    bool known;
    if (!slice_lengths(r, op, dims, &known) || !mlir_known(r, mlir_operand(r, op, 3), &stride))
        return false;
    if (!known || stride.count != operand->rank)
        return true;
    for (int d = 0; d < operand->rank; d++) {
        if (dims[d] < 0 || dims[d] > operand->dims[d] || stride.at[d] < 1)
            return mlir_op_error(r, op, "a slice of %lld from dimension %d, which is %lld",
                                 (long long)dims[d], d, (long long)operand->dims[d]);
        dims[d] = dims[d] / stride.at[d] + (dims[d] % stride.at[d] != 0);
    }
    return mlir_fill(r, op, 0, dims, operand->rank);
}

/* Takes the size from the result; limits and strides are not kept. */
bool mlir_build_real_dynamic_slice(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    if (!moves_elements(r, op) || (r->sized && !fill_slice(r, op)))
        return false;
    const struct hlo_shape *result = mlir_result_type(r, op, 0);
    if (result->rank != mlir_operand_type(r, op, 0)->rank)
        return mlir_op_error(r, op, "the result should have as many dimensions as the operand");
    set->sizes = (struct hlo_ints){result->rank, result->dims};
    op->operands = 2;
    return mlir_finish(r, op, HLO_DYNAMIC_SLICE);
}

/* Builds tensor.insert_slice, which byteir's gradients have. Its place is an attribute, not operands. */
bool mlir_build_insert_slice(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_instruction **operands = mlir_operands(r, op);
    struct hlo_instruction *update = operands[0];
    if (!moves_elements(r, op))
        return false;
    operands[0] = operands[1]; /* the inserted tensor comes first here */
    operands[1] = update;
    op->operands = 2;
    const struct hlo_shape *whole = operands[0]->shape;
    if (update->shape->rank > whole->rank || update->shape->type != whole->type ||
        hlo_elements(update->shape) > hlo_elements(whole))
        return mlir_op_error(r, op, "the inserted tensor does not fit");
    return mlir_result_dims(r, op, 0, whole->dims, whole->rank) &&
           mlir_finish(r, op, HLO_DYNAMIC_UPDATE_SLICE);
}

bool mlir_build_iota(struct mlir_reader *r, struct mlir_op *op)
{
    if (!mlir_need_arrays(r, op) || (op->operands == 1 && !mlir_check_sizes(r, op, 0)))
        return false;
    op->operands = 0; /* the shape that dynamic_iota is given is that of its type */
    return mlir_build_inferred(r, op);
}

/* Computes the first operand's dimensions with this padding. */
static bool mlir_padded_dims(struct mlir_reader *r, const struct mlir_op *op, struct hlo_ints low,
                             struct hlo_ints high, struct hlo_ints interior, int64_t *dims)
{
    const struct hlo_shape *operand = mlir_operand_type(r, op, 0);
    for (int i = 0; i < operand->rank; i++) {
        int64_t gaps = operand->dims[i] ? operand->dims[i] - 1 : 0;
        if (interior.at[i] < 0 || __builtin_mul_overflow(gaps, interior.at[i], &dims[i]) ||
            __builtin_add_overflow(dims[i], operand->dims[i], &dims[i]) ||
            __builtin_add_overflow(dims[i], low.at[i], &dims[i]) ||
            __builtin_add_overflow(dims[i], high.at[i], &dims[i]) || dims[i] < 0)
            return mlir_op_error(r, op, "padding of dimension %d gives no size", i);
    }
    return true;
}

/* The padding is a value: all of it is taken to be at the end. */
bool mlir_build_dynamic_pad(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    int64_t none[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK];
    if (!moves_elements(r, op))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(r, op, 0), *result = mlir_result_type(r, op, 0);
    if (result->rank != operand->rank)
        return mlir_op_error(r, op, "the result should have as many dimensions as the operand");
    if (!mlir_check_dynamic_pad(r, op))
        return false;
    result = mlir_result_type(r, op, 0);
    for (int i = 0; i < operand->rank; i++)
        high[i] = result->dims[i] - operand->dims[i];
    set->low = mlir_copy_ints(r, none, operand->rank);
    set->high = mlir_copy_ints(r, high, operand->rank);
    set->interior = set->low;
    op->operands = 2;
    return set->high.count == operand->rank ? mlir_finish(r, op, HLO_PAD) : error_memory(r->err);
}

/* Takes slices of size 1 along `dim`, whole along the others. */
bool mlir_build_index_select(struct mlir_reader *r, struct mlir_op *op)
{
    int64_t sizes[HLO_MAX_RANK];
    if (!moves_elements(r, op) || !mlir_read_fields(r, op))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(r, op, 0);
    if (!mlir_in_range(r, op, "dim", op->set->dimensions, operand->rank))
        return false;
    for (int i = 0; i < operand->rank; i++)
        sizes[i] = i == op->set->dimensions.at[0] ? 1 : operand->dims[i];
    op->set->sizes = mlir_copy_ints(r, sizes, operand->rank);
    op->set->dimensions = (struct hlo_ints){0};
    return op->set->sizes.count ? mlir_finish(r, op, HLO_GATHER) : error_memory(r->err);
}

bool mlir_build_dimension_size(struct mlir_reader *r, struct mlir_op *op)
{
    if (op->operands == 2 && mlir_operand_type(r, op, 1)->rank)
        return mlir_op_error(r, op, "operand 2, the size, should be a scalar");
    return mlir_need_arrays(r, op) && mlir_build_inferred(r, op);
}
