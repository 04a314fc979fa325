/* gather and scatter: dimension numbers against shapes (StableHLO specification, "gather" and "scatter"). */
#include "hlo/mlir/mlir.h"

/* Of #stablehlo.gather<…> or #stablehlo.scatter<…>, under gather's names. */
struct numbers {
    struct hlo_ints offset;    /* offset_dims, update_window_dims */
    struct hlo_ints collapsed; /* collapsed_slice_dims, inserted_window_dims */
    struct hlo_ints batching;  /* operand_batching_dims, input_batching_dims */
    struct hlo_ints start_batching;
    struct hlo_ints map; /* start_index_map, scatter_dims_to_operand_dims */
    int64_t vector;      /* index_vector_dim */
};

static bool read_numbers(struct mlir_reader *r, const struct mlir_op *op, bool scatter,
                         struct numbers *numbers)
{
    const char *key = scatter ? "scatter_dimension_numbers" : "dimension_numbers";
    const char *given = mlir_find(r, op, key);
    if (!given)
        return mlir_op_error(r, op, "'%s' is missing", key);
    if (!mlir_read_field(r, given, scatter ? "update_window_dims" : "offset_dims", &numbers->offset) ||
        !mlir_read_field(r, given, scatter ? "inserted_window_dims" : "collapsed_slice_dims",
                         &numbers->collapsed) ||
        !mlir_read_field(r, given, scatter ? "input_batching_dims" : "operand_batching_dims",
                         &numbers->batching) ||
        !mlir_read_field(r, given, scatter ? "scatter_indices_batching_dims" : "start_indices_batching_dims",
                         &numbers->start_batching) ||
        !mlir_read_field(r, given, scatter ? "scatter_dims_to_operand_dims" : "start_index_map",
                         &numbers->map) ||
        !mlir_read_number(r, given, "index_vector_dim", &numbers->vector))
        return false;
    return true;
}

static bool sorted(struct mlir_reader *r, const struct mlir_op *op, const char *what, struct hlo_ints list)
{
    for (int i = 1; i < list.count; i++)
        if (list.at[i] <= list.at[i - 1])
            return mlir_op_error(r, op, "%s are not in order", what);
    return true;
}

/* Checks that each dimension of the operand belongs to a slice, is collapsed or is batching, and that the
 * indices fit the map. */
static bool check_numbers(struct mlir_reader *r, const struct mlir_op *op, const struct numbers *numbers,
                          const struct hlo_shape *operand, const struct hlo_shape *indices)
{
    if (numbers->offset.count + numbers->collapsed.count + numbers->batching.count != operand->rank)
        return mlir_op_error(r, op, "%d offset, %d collapsed and %d batching dimensions of an operand of %d",
                             numbers->offset.count, numbers->collapsed.count, numbers->batching.count,
                             operand->rank);
    if (!mlir_in_range(r, op, "collapsed dimensions", numbers->collapsed, operand->rank) ||
        !mlir_in_range(r, op, "batching dimensions", numbers->batching, operand->rank) ||
        !mlir_in_range(r, op, "start_index_map", numbers->map, operand->rank) ||
        !mlir_in_range(r, op, "batching dimensions of the indices", numbers->start_batching, indices->rank) ||
        !sorted(r, op, "offset dimensions", numbers->offset) ||
        !sorted(r, op, "collapsed dimensions", numbers->collapsed) ||
        !sorted(r, op, "batching dimensions", numbers->batching))
        return false;
    for (int i = 0; i < numbers->batching.count; i++)
        if (hlo_ints_have(numbers->collapsed, numbers->batching.at[i]) ||
            hlo_ints_have(numbers->map, numbers->batching.at[i]))
            return mlir_op_error(r, op, "dimension %lld is batching and something else",
                                 (long long)numbers->batching.at[i]);
    if (numbers->vector < 0 || numbers->vector > indices->rank ||
        hlo_ints_have(numbers->start_batching, numbers->vector))
        return mlir_op_error(r, op, "index_vector_dim: %lld is not in 0 to %d", (long long)numbers->vector,
                             indices->rank);
    int64_t length = numbers->vector < indices->rank ? indices->dims[numbers->vector] : 1;
    if (length != numbers->map.count)
        return mlir_op_error(r, op, "%lld indices for %d dimensions", (long long)length, numbers->map.count);
    if (numbers->batching.count != numbers->start_batching.count)
        return mlir_op_error(r, op, "%d batching dimensions of the operand, %d of the indices",
                             numbers->batching.count, numbers->start_batching.count);
    for (int i = 0; i < numbers->batching.count; i++)
        if (operand->dims[numbers->batching.at[i]] != indices->dims[numbers->start_batching.at[i]])
            return mlir_op_error(r, op, "batching dimensions of different sizes");
    return true;
}

/* Computes the dimensions of the result of gather or of the updates of scatter: the dimensions of the
 * indices and, at the offset dimensions, of a slice. Scatter has no `sizes`: its slices are as large as
 * the updates say. */
static bool spread(struct mlir_reader *r, const struct mlir_op *op, const struct numbers *numbers,
                   const struct hlo_shape *operand, const struct hlo_shape *indices, const int64_t *sizes,
                   const struct hlo_shape *found, int64_t *dims, int *rank)
{
    bool has_vector = numbers->vector < indices->rank;
    *rank = indices->rank - has_vector + numbers->offset.count;
    if (*rank > HLO_MAX_RANK)
        return mlir_op_error(r, op, "more than %d dimensions", HLO_MAX_RANK);
    if (!mlir_in_range(r, op, "offset dimensions", numbers->offset, *rank))
        return false;
    int slice = 0, batch = 0;
    for (int i = 0; i < *rank; i++) {
        if (hlo_ints_have(numbers->offset, i)) {
            while (hlo_ints_have(numbers->collapsed, slice) || hlo_ints_have(numbers->batching, slice))
                slice++;
            dims[i] = sizes ? sizes[slice] : i < found->rank ? found->dims[i] : -1;
            if (dims[i] > operand->dims[slice])
                return mlir_op_error(r, op, "slices of %lld along dimension %d, which has %lld",
                                     (long long)dims[i], slice, (long long)operand->dims[slice]);
            slice++;
        } else {
            batch += batch == numbers->vector && has_vector;
            dims[i] = indices->dims[batch++];
        }
    }
    return true;
}

/* Builds gather with its slice sizes, or dynamic_gather, which is given them as a value. */
bool mlir_build_gather(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    struct numbers numbers;
    int64_t dims[HLO_MAX_RANK];
    int rank;
    if (!mlir_need_results(r, op, 1) || !mlir_need_arrays(r, op) ||
        !mlir_find_ints(r, op, "slice_sizes", op->operands == 2, &set->sizes))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(r, op, 0), *indices = mlir_operand_type(r, op, 1);
    if (operand->type != mlir_result_type(r, op, 0)->type)
        return mlir_op_error(r, op, "the result is not of the operand's type");
    bool known = op->operands == 2;
    if (!known && r->sized) {
        if (!mlir_known(r, mlir_operand(r, op, 2), &set->sizes))
            return false;
        known = set->sizes.count > 0;
    }
    op->operands = 2;
    if (!read_numbers(r, op, false, &numbers) || !check_numbers(r, op, &numbers, operand, indices))
        return false;
    if (!known)
        return spread(r, op, &numbers, operand, indices, NULL, mlir_result_type(r, op, 0), dims, &rank) &&
               mlir_result_dims(r, op, 0, dims, rank) && mlir_finish(r, op, HLO_GATHER);
    if (set->sizes.count != operand->rank)
        return mlir_op_error(r, op, "slice_sizes: expected %d numbers, found %d", operand->rank,
                             set->sizes.count);
    for (int i = 0; i < operand->rank; i++) {
        int64_t max =
            hlo_ints_have(numbers.collapsed, i) || hlo_ints_have(numbers.batching, i) ? 1 : operand->dims[i];
        if (set->sizes.at[i] < 0 || set->sizes.at[i] > max || set->sizes.at[i] > operand->dims[i])
            return mlir_op_error(r, op, "slices of %lld along dimension %d", (long long)set->sizes.at[i], i);
    }
    return spread(r, op, &numbers, operand, indices, set->sizes.at, NULL, dims, &rank) &&
           mlir_result_dims(r, op, 0, dims, rank) && mlir_finish(r, op, HLO_GATHER);
}

/* Builds scatter: inputs, indices, and as many updates as inputs. */
bool mlir_build_scatter(struct mlir_reader *r, struct mlir_op *op)
{
    size_t inputs = op->operands / 2;
    struct numbers numbers;
    int64_t dims[HLO_MAX_RANK];
    int rank;
    if (op->operands % 2 == 0)
        return mlir_op_error(r, op, "expected inputs, indices and as many updates, found %zu operands",
                             op->operands);
    if (!mlir_need_arrays(r, op) || !mlir_need_results(r, op, inputs) || !mlir_check_reducer(r, op, inputs) ||
        !read_numbers(r, op, true, &numbers))
        return false;
    const struct hlo_shape *indices = mlir_operand_type(r, op, inputs);
    for (size_t i = 0; i < inputs; i++) {
        const struct hlo_shape *input = mlir_operand_type(r, op, i);
        const struct hlo_shape *update = mlir_operand_type(r, op, inputs + 1 + i);
        if (!check_numbers(r, op, &numbers, input, indices) ||
            !spread(r, op, &numbers, input, indices, NULL, update, dims, &rank))
            return false;
        if (update->rank != rank || (rank && memcmp(update->dims, dims, (size_t)rank * sizeof *dims) != 0))
            return mlir_op_error(r, op, "the updates do not fit the indices");
        if (!mlir_result_dims(r, op, i, input->dims, input->rank))
            return false;
    }
    return mlir_finish(r, op, HLO_SCATTER);
}
