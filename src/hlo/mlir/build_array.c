/* Operations that move elements: what their attributes say must agree with the result's type. */
#include "hlo/mlir/mlir.h"

static struct hlo_ints counted(int count)
{
    static const int64_t numbers[HLO_MAX_RANK] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
    };
    return (struct hlo_ints){count, count ? numbers : NULL};
}

/* One result, only tensors. */
static bool one_array(struct mlir_reader *reader, const struct mlir_op *op)
{
    return mlir_need_results(reader, op, 1) && mlir_need_arrays(reader, op);
}

static bool same_element_type(struct mlir_reader *reader, const struct mlir_op *op)
{
    enum hlo_type operand = mlir_operand_type(reader, op, 0)->type;
    enum hlo_type result = mlir_result_type(reader, op, 0)->type;
    return operand == result || mlir_op_error(reader, op, "the result should be of type %s, its type says %s",
                                              hlo_type_name(operand), hlo_type_name(result));
}

static bool need_count(struct mlir_reader *reader, const struct mlir_op *op, const char *what,
                       struct hlo_ints values, int count)
{
    return (values.count == count && (values.at || !count)) ||
           mlir_op_error(reader, op, "%s: expected %d numbers, found %d", what, count, values.count);
}

/* broadcast %x, sizes = [2, 3]: new dimensions in front. */
bool mlir_build_broadcast(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    struct hlo_ints sizes;
    if (!set || !one_array(reader, op) || !same_element_type(reader, op) ||
        !mlir_find_ints(reader, op, "broadcast_sizes|sizes", true, &sizes))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0);
    int64_t dims[2 * HLO_MAX_RANK];
    if (sizes.count > HLO_MAX_RANK)
        return mlir_op_error(reader, op, "more than %d dimensions", HLO_MAX_RANK);
    for (int i = 0; i < sizes.count; i++)
        dims[i] = sizes.at[i];
    for (int i = 0; i < operand->rank; i++)
        dims[sizes.count + i] = operand->dims[i];
    if (!mlir_result_dims(reader, op, 0, dims, sizes.count + operand->rank))
        return false;
    struct hlo_ints all = counted(mlir_result_type(reader, op, 0)->rank);
    set->dimensions = (struct hlo_ints){operand->rank, operand->rank ? all.at + sizes.count : NULL};
    return mlir_finish(reader, op, HLO_BROADCAST);
}

static bool check_stretch(struct mlir_reader *reader, const struct mlir_op *op, const struct hlo_shape *from,
                          const struct hlo_shape *to, struct hlo_ints dimensions)
{
    if (!need_count(reader, op, "broadcast_dimensions", dimensions, from->rank) ||
        !mlir_in_range(reader, op, "broadcast_dimensions", dimensions, to->rank, true))
        return false;
    for (int i = 0; i < from->rank; i++)
        if (from->dims[i] != 1 && from->dims[i] != to->dims[dimensions.at[i]])
            return mlir_op_error(reader, op, "dimension %d of size %lld cannot become one of size %lld", i,
                                 (long long)from->dims[i], (long long)to->dims[dimensions.at[i]]);
    return true;
}

/* A dimension of size 1 that becomes larger goes first, by a reshape, as XLA has it: broadcast itself only adds
 * dimensions. *operand and *dimensions become those of the broadcast. */
static bool drop_stretched(struct mlir_reader *reader, const struct mlir_op *op, const struct hlo_shape *to,
                           struct hlo_instruction **operand, struct hlo_ints *dimensions)
{
    const struct hlo_shape *from = (*operand)->shape;
    int64_t dims[HLO_MAX_RANK], kept[HLO_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < from->rank && dimensions->at; i++) {
        if (from->dims[i] == 1 && to->dims[dimensions->at[i]] != 1)
            continue;
        dims[rank] = from->dims[i];
        kept[rank++] = dimensions->at[i];
    }
    if (rank == from->rank)
        return true;
    const struct hlo_shape *shape = mlir_array_shape(reader, from->type, dims, rank);
    *dimensions = mlir_copy_ints(reader, kept, rank);
    if (!shape || dimensions->count != rank)
        return error_memory(reader->err);
    *operand = mlir_before(reader, op, HLO_RESHAPE, "reshape", shape, *operand, (struct hlo_ints){0});
    return *operand != NULL;
}

bool mlir_build_broadcast_in_dim(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    if (!set || !one_array(reader, op) || !same_element_type(reader, op) ||
        !mlir_find_ints(reader, op, "broadcast_dimensions|dims", true, &set->dimensions))
        return false;
    struct hlo_instruction **operand = (struct hlo_instruction **)reader->operands.items + op->first_operand;
    const struct hlo_shape *to = mlir_result_type(reader, op, 0);
    if (op->operands == 2 && !mlir_check_sizes(reader, op, 1))
        return false;
    op->operands = 1; /* the shape that dynamic_broadcast_in_dim is given is that of its type */
    return check_stretch(reader, op, operand[0]->shape, to, set->dimensions) &&
           drop_stretched(reader, op, to, operand, &set->dimensions) &&
           mlir_finish(reader, op, HLO_BROADCAST);
}

/* Of chlo: operands are broadcast to the result, aligned at the last dimension or as broadcast_dimensions says. */
bool mlir_build_broadcasting(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_ints given;
    if (!one_array(reader, op) || !mlir_find_ints(reader, op, "broadcast_dimensions", false, &given))
        return false;
    const struct hlo_shape *to = mlir_result_type(reader, op, 0);
    for (size_t i = 0; i < 2; i++) {
        struct hlo_instruction **operand =
            (struct hlo_instruction **)reader->operands.items + op->first_operand + i;
        const struct hlo_shape *from = (*operand)->shape;
        int ahead = to->rank - from->rank;
        struct hlo_ints dimensions = {from->rank, NULL};
        if (ahead < 0)
            return mlir_op_error(reader, op, "the result has fewer dimensions than operand %zu", i + 1);
        if (from->rank)
            dimensions.at = counted(to->rank).at + ahead;
        if (ahead && given.count == from->rank)
            dimensions = given;
        if (from->rank == to->rank &&
            (!to->rank || memcmp(from->dims, to->dims, (size_t)to->rank * sizeof *to->dims) == 0))
            continue;
        const struct hlo_shape *shape = mlir_array_shape(reader, from->type, to->dims, to->rank);
        if (!shape || !check_stretch(reader, op, from, to, dimensions) ||
            !drop_stretched(reader, op, to, operand, &dimensions))
            return false;
        *operand = mlir_before(reader, op, HLO_BROADCAST, "broadcast", shape, *operand, dimensions);
        if (!*operand)
            return false;
    }
    return op->info->opcode == HLO_COMPARE ? mlir_build_compare(reader, op)
                                           : mlir_build_elementwise(reader, op);
}

bool mlir_build_reshape(struct mlir_reader *reader, struct mlir_op *op)
{
    if (!one_array(reader, op) || !same_element_type(reader, op))
        return false;
    int64_t before = hlo_elements(mlir_operand_type(reader, op, 0));
    int64_t after = hlo_elements(mlir_result_type(reader, op, 0));
    if (op->operands == 2 && !mlir_check_sizes(reader, op, 1))
        return false;
    op->operands = 1;
    if (before != after)
        return mlir_op_error(reader, op, "%lld elements cannot become %lld", (long long)before,
                             (long long)after);
    return mlir_finish(reader, op, HLO_RESHAPE);
}

/* Elements of another width add or take a last dimension; the bits stay as many. */
bool mlir_build_bitcast(struct mlir_reader *reader, struct mlir_op *op)
{
    if (!one_array(reader, op))
        return false;
    const struct hlo_shape *from = mlir_operand_type(reader, op, 0), *to = mlir_result_type(reader, op, 0);
    int64_t before = hlo_elements(from), after = hlo_elements(to);
    bool same = from->type == to->type || (from->type != HLO_TYPE_PRED && to->type != HLO_TYPE_PRED);
    if (same && (double)before * hlo_type_bits(from->type) != (double)after * hlo_type_bits(to->type))
        return mlir_op_error(reader, op, "the result has not as many bits as the operand");
    return mlir_finish(reader, op, HLO_BITCAST_CONVERT);
}

bool mlir_build_transpose(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    if (!set || !one_array(reader, op) || !same_element_type(reader, op) ||
        !mlir_find_ints(reader, op, "permutation|dims", true, &set->dimensions))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0);
    int64_t dims[HLO_MAX_RANK];
    if (!need_count(reader, op, "permutation", set->dimensions, operand->rank) ||
        !mlir_in_range(reader, op, "permutation", set->dimensions, operand->rank, true))
        return false;
    for (int i = 0; i < operand->rank; i++)
        dims[i] = operand->dims[set->dimensions.at[i]];
    return mlir_result_dims(reader, op, 0, dims, operand->rank) && mlir_finish(reader, op, HLO_TRANSPOSE);
}

/* [0:4, 1:8:2] of the short form. */
static bool read_ranges(struct mlir_reader *reader, const char *at, struct hlo_attributes *set)
{
    int64_t parts[3][HLO_MAX_RANK];
    const char *after = reader->p;
    int rank = 0;
    reader->p = at + 1;
    if (!mlir_take(reader, ']')) {
        do {
            if (rank == HLO_MAX_RANK)
                return mlir_error(reader, reader->p, "more than %d dimensions", HLO_MAX_RANK);
            parts[2][rank] = 1;
            if (!mlir_integer(reader, &parts[0][rank]) || !mlir_need(reader, ":") ||
                !mlir_integer(reader, &parts[1][rank]) ||
                (mlir_take(reader, ':') && !mlir_integer(reader, &parts[2][rank])))
                return false;
            rank++;
        } while (mlir_take(reader, ','));
        if (!mlir_need(reader, "]"))
            return false;
    }
    reader->p = after;
    set->start = mlir_copy_ints(reader, parts[0], rank);
    set->limit = mlir_copy_ints(reader, parts[1], rank);
    set->stride = mlir_copy_ints(reader, parts[2], rank);
    return set->stride.count == rank || error_memory(reader->err);
}

bool mlir_build_slice(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    const struct mlir_attribute *ranges = mlir_find(reader, op, "[");
    if (!set || !one_array(reader, op) || !same_element_type(reader, op))
        return false;
    if (ranges ? !read_ranges(reader, ranges->value, set)
               : !(mlir_find_ints(reader, op, "start_indices", true, &set->start) &&
                   mlir_find_ints(reader, op, "limit_indices", true, &set->limit) &&
                   mlir_find_ints(reader, op, "strides", true, &set->stride)))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0);
    int64_t dims[HLO_MAX_RANK];
    if (!need_count(reader, op, "start_indices", set->start, operand->rank) ||
        !need_count(reader, op, "limit_indices", set->limit, operand->rank) ||
        !need_count(reader, op, "strides", set->stride, operand->rank))
        return false;
    for (int i = 0; i < operand->rank; i++) {
        int64_t start = set->start.at[i], limit = set->limit.at[i], stride = set->stride.at[i];
        if (start < 0 || limit < start || limit > operand->dims[i] || stride < 1)
            return mlir_op_error(reader, op, "%lld:%lld:%lld is no part of dimension %d of size %lld",
                                 (long long)start, (long long)limit, (long long)stride, i,
                                 (long long)operand->dims[i]);
        dims[i] = (limit - start) / stride + ((limit - start) % stride != 0);
    }
    return mlir_result_dims(reader, op, 0, dims, operand->rank) && mlir_finish(reader, op, HLO_SLICE);
}

/* Operands after `first` are scalar integers, one per dimension. */
static bool check_indices(struct mlir_reader *reader, const struct mlir_op *op, size_t first, int rank)
{
    if (op->operands != first + (size_t)rank)
        return mlir_op_error(reader, op, "expected %d indices, found %zu", rank, op->operands - first);
    for (size_t i = first; i < op->operands; i++) {
        const struct hlo_shape *shape = mlir_operand_type(reader, op, i);
        if (shape->rank || hlo_type_is_float(shape->type))
            return mlir_op_error(reader, op, "operand %zu should be a scalar integer", i + 1);
        if (shape->type != mlir_operand_type(reader, op, first)->type)
            return mlir_op_error(reader, op, "indices of different types");
    }
    return true;
}

static bool fits_in(struct mlir_reader *reader, const struct mlir_op *op, const int64_t *sizes,
                    const struct hlo_shape *shape)
{
    for (int i = 0; i < shape->rank; i++)
        if (sizes[i] < 0 || sizes[i] > shape->dims[i])
            return mlir_op_error(reader, op, "%lld elements of dimension %d, which has %lld",
                                 (long long)sizes[i], i, (long long)shape->dims[i]);
    return true;
}

bool mlir_build_dynamic_slice(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    if (!set || !one_array(reader, op) || !same_element_type(reader, op) ||
        !mlir_find_ints(reader, op, "slice_sizes|sizes", true, &set->sizes))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0);
    return need_count(reader, op, "slice_sizes", set->sizes, operand->rank) &&
           check_indices(reader, op, 1, operand->rank) && fits_in(reader, op, set->sizes.at, operand) &&
           mlir_result_dims(reader, op, 0, set->sizes.at, operand->rank) &&
           mlir_finish(reader, op, HLO_DYNAMIC_SLICE);
}

/* The size is that of the result; limits and strides are not kept. */
bool mlir_build_real_dynamic_slice(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    if (!set || !one_array(reader, op) || !same_element_type(reader, op))
        return false;
    const struct hlo_shape *result = mlir_result_type(reader, op, 0);
    if (result->rank != mlir_operand_type(reader, op, 0)->rank)
        return mlir_op_error(reader, op, "the result should have as many dimensions as the operand");
    set->sizes = (struct hlo_ints){result->rank, result->dims};
    op->operands = 2;
    return mlir_finish(reader, op, HLO_DYNAMIC_SLICE);
}

bool mlir_build_update_slice(struct mlir_reader *reader, struct mlir_op *op)
{
    if (!one_array(reader, op) || !same_element_type(reader, op))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0),
                           *update = mlir_operand_type(reader, op, 1);
    if (update->rank != operand->rank || update->type != operand->type)
        return mlir_op_error(reader, op, "the update is not of the operand's type");
    return check_indices(reader, op, 2, operand->rank) && fits_in(reader, op, update->dims, operand) &&
           mlir_result_dims(reader, op, 0, operand->dims, operand->rank) &&
           mlir_finish(reader, op, HLO_DYNAMIC_UPDATE_SLICE);
}

/* tensor.insert_slice, which byteir's gradients have: where it goes is an attribute, not operands. */
bool mlir_build_insert_slice(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_instruction **operands = (struct hlo_instruction **)reader->operands.items + op->first_operand;
    struct hlo_instruction *update = operands[0];
    if (!one_array(reader, op) || !same_element_type(reader, op))
        return false;
    operands[0] = operands[1]; /* the other way round here: what is inserted comes first */
    operands[1] = update;
    op->operands = 2;
    const struct hlo_shape *whole = operands[0]->shape;
    if (update->shape->rank > whole->rank || update->shape->type != whole->type ||
        hlo_elements(update->shape) > hlo_elements(whole))
        return mlir_op_error(reader, op, "what is inserted does not fit the tensor");
    return mlir_result_dims(reader, op, 0, whole->dims, whole->rank) &&
           mlir_finish(reader, op, HLO_DYNAMIC_UPDATE_SLICE);
}

/* The one dimension that these keys name. */
static bool find_dimension(struct mlir_reader *reader, struct mlir_op *op, const char *keys, int rank,
                           int64_t *dimension)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    if (!set || !mlir_find_integer(reader, op, keys, true, dimension))
        return false;
    set->dimensions = mlir_copy_ints(reader, dimension, 1);
    if (!set->dimensions.count)
        return error_memory(reader->err);
    return mlir_in_range(reader, op, "dimension", set->dimensions, rank, true);
}

bool mlir_build_concatenate(struct mlir_reader *reader, struct mlir_op *op)
{
    int64_t along, dims[HLO_MAX_RANK];
    if (!one_array(reader, op) || !same_element_type(reader, op))
        return false;
    const struct hlo_shape *first = mlir_operand_type(reader, op, 0);
    if (!find_dimension(reader, op, "dimension|dim", first->rank, &along))
        return false;
    memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
    for (size_t i = 1; i < op->operands; i++) {
        const struct hlo_shape *shape = mlir_operand_type(reader, op, i);
        bool alike = shape->rank == first->rank && shape->type == first->type;
        for (int d = 0; alike && d < first->rank; d++)
            alike = d == along || shape->dims[d] == first->dims[d];
        if (!alike)
            return mlir_op_error(reader, op, "operand %zu does not fit the first", i + 1);
        dims[along] += shape->dims[along];
        if (dims[along] > HLO_MAX_ELEMENTS)
            return mlir_op_error(reader, op, "the result has more than 2^53 elements");
    }
    return mlir_result_dims(reader, op, 0, dims, first->rank) && mlir_finish(reader, op, HLO_CONCATENATE);
}

bool mlir_build_iota(struct mlir_reader *reader, struct mlir_op *op)
{
    int64_t along;
    bool dynamic = op->operands == 1;
    if (!one_array(reader, op) || (dynamic && !mlir_check_sizes(reader, op, 0)))
        return false;
    op->operands = 0; /* the shape that dynamic_iota is given is that of its type */
    return find_dimension(reader, op, "iota_dimension|dim", mlir_result_type(reader, op, 0)->rank, &along) &&
           mlir_finish(reader, op, HLO_IOTA);
}

static bool find_padding(struct mlir_reader *reader, const struct mlir_op *op, struct hlo_attributes *set,
                         int rank)
{
    return mlir_find_ints(reader, op, "edge_padding_low|low", true, &set->low) &&
           mlir_find_ints(reader, op, "edge_padding_high|high", true, &set->high) &&
           mlir_find_ints(reader, op, "interior_padding|interior", true, &set->interior) &&
           need_count(reader, op, "edge_padding_low", set->low, rank) &&
           need_count(reader, op, "edge_padding_high", set->high, rank) &&
           need_count(reader, op, "interior_padding", set->interior, rank);
}

bool mlir_padded_dims(struct mlir_reader *reader, const struct mlir_op *op, struct hlo_ints low,
                      struct hlo_ints high, struct hlo_ints interior, int64_t *dims)
{
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0);
    for (int i = 0; i < operand->rank; i++) {
        int64_t gaps = operand->dims[i] ? operand->dims[i] - 1 : 0;
        if (interior.at[i] < 0 || __builtin_mul_overflow(gaps, interior.at[i], &dims[i]) ||
            __builtin_add_overflow(dims[i], operand->dims[i], &dims[i]) ||
            __builtin_add_overflow(dims[i], low.at[i], &dims[i]) ||
            __builtin_add_overflow(dims[i], high.at[i], &dims[i]) || dims[i] < 0)
            return mlir_op_error(reader, op, "padding of dimension %d gives no size", i);
    }
    return true;
}

bool mlir_build_pad(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    if (!set || !one_array(reader, op) || !same_element_type(reader, op))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0),
                           *value = mlir_operand_type(reader, op, 1);
    int64_t dims[HLO_MAX_RANK];
    if (!find_padding(reader, op, set, operand->rank))
        return false;
    if (value->rank || value->type != operand->type)
        return mlir_op_error(reader, op, "the value to pad with should be a scalar of type %s",
                             hlo_type_name(operand->type));
    return mlir_padded_dims(reader, op, set->low, set->high, set->interior, dims) &&
           mlir_result_dims(reader, op, 0, dims, operand->rank) && mlir_finish(reader, op, HLO_PAD);
}

/* What is padded is a value: all of it is said to be at the end. */
bool mlir_build_dynamic_pad(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    int64_t none[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK];
    if (!set || !one_array(reader, op) || !same_element_type(reader, op))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0),
                           *result = mlir_result_type(reader, op, 0);
    if (result->rank != operand->rank)
        return mlir_op_error(reader, op, "the result should have as many dimensions as the operand");
    if (!mlir_check_dynamic_pad(reader, op))
        return false;
    for (int i = 0; i < operand->rank; i++)
        high[i] = result->dims[i] - operand->dims[i];
    set->low = mlir_copy_ints(reader, none, operand->rank);
    set->high = mlir_copy_ints(reader, high, operand->rank);
    set->interior = set->low;
    op->operands = 2;
    return set->high.count == operand->rank ? mlir_finish(reader, op, HLO_PAD) : error_memory(reader->err);
}

bool mlir_build_reverse(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    if (!set || !one_array(reader, op) || !same_element_type(reader, op) ||
        !mlir_find_ints(reader, op, "dimensions|dims", true, &set->dimensions))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0);
    return mlir_in_range(reader, op, "dimensions", set->dimensions, operand->rank, true) &&
           mlir_result_dims(reader, op, 0, operand->dims, operand->rank) &&
           mlir_finish(reader, op, HLO_REVERSE);
}

/* Slices of size 1 along `dim`, whole along the others. */
bool mlir_build_index_select(struct mlir_reader *reader, struct mlir_op *op)
{
    int64_t along, sizes[HLO_MAX_RANK];
    if (!one_array(reader, op) || !same_element_type(reader, op))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(reader, op, 0);
    if (!find_dimension(reader, op, "dim", operand->rank, &along))
        return false;
    for (int i = 0; i < operand->rank; i++)
        sizes[i] = i == along ? 1 : operand->dims[i];
    op->set->sizes = mlir_copy_ints(reader, sizes, operand->rank);
    op->set->dimensions = (struct hlo_ints){0};
    return op->set->sizes.count ? mlir_finish(reader, op, HLO_GATHER) : error_memory(reader->err);
}

bool mlir_build_dimension_size(struct mlir_reader *reader, struct mlir_op *op)
{
    int64_t along;
    if (op->operands == 2 && mlir_operand_type(reader, op, 1)->rank)
        return mlir_op_error(reader, op, "operand 2, the size, should be a scalar");
    return one_array(reader, op) &&
           find_dimension(reader, op, "dimension|dim", mlir_operand_type(reader, op, 0)->rank, &along) &&
           mlir_finish(reader, op, op->info->opcode);
}
