/* Operations that call computations. */
#include "hlo/mlir/mlir.h"

/* Checks that the region takes `parameters` values besides captured ones, and returns `results`. */
bool mlir_check_region(struct mlir_reader *r, const struct mlir_op *op, size_t index, size_t parameters,
                       size_t results)
{
    const struct hlo_computation *region = mlir_callee(r, op, index);
    size_t own = (size_t)(region->parameter_count - region->captured);
    const struct hlo_shape *root = region->root->shape;
    size_t returned =
        root->type == HLO_TYPE_TUPLE && region->root->opcode == HLO_TUPLE ? (size_t)root->part_count : 1;
    if (own != parameters)
        return mlir_op_error(r, op, "its region takes %zu values, expected %zu", own, parameters);
    if (returned != results)
        return mlir_op_error(r, op, "its region returns %zu values, expected %zu", returned, results);
    return true;
}

static bool mlir_check_scalar(struct mlir_reader *r, const struct mlir_op *op, size_t parameter,
                              enum hlo_type type)
{
    const struct hlo_shape *shape = mlir_callee(r, op, 0)->parameters[parameter]->shape;
    return (shape->rank == 0 && shape->type == type) ||
           mlir_op_error(r, op, "value %zu of its region should be a scalar of type %s", parameter + 1,
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
static bool takes_rows(const struct mlir_reader *r, const struct mlir_op *op, size_t inputs, size_t index)
{
    const struct hlo_shape *value = mlir_callee(r, op, 0)->parameters[index]->shape;
    const struct hlo_shape *initial = mlir_operand_type(r, op, inputs + index);
    return (value->rank == 0 || value->rank < mlir_operand_type(r, op, index)->rank) &&
           hlo_dims_match(value, initial, -1);
}

/* Checks a reduction's region: it takes the values so far and as many elements, and returns new values of
 * the same types. These may be wider than the operands, and are the types of the results. */
static bool mlir_check_accumulators(struct mlir_reader *r, const struct mlir_op *op, size_t inputs)
{
    if (!mlir_check_region(r, op, 0, 2 * inputs, inputs))
        return false;
    const struct hlo_computation *region = mlir_callee(r, op, 0);
    for (size_t i = 0; i < inputs; i++) {
        const struct hlo_shape *root = region->root->shape, *result = inputs == 1 ? root : root->parts[i];
        const struct hlo_shape *value = region->parameters[i]->shape,
                               *element = region->parameters[inputs + i]->shape;
        enum hlo_type input = mlir_operand_type(r, op, i)->type;
        if (!hlo_shape_equal(value, result) || element->type != value->type)
            return mlir_op_error(r, op, "value %zu of its region changes its type", i + 1);
        bool initial = op->info->opcode == HLO_REDUCE || op->info->opcode == HLO_REDUCE_WINDOW;
        if (initial ? !takes_rows(r, op, inputs, i) : value->rank || element->rank)
            return mlir_op_error(
                r, op, "value %zu of its region should be a scalar, or as its initial value is", i + 1);
        if (kind_of(input) != kind_of(value->type) || hlo_type_bits(input) > hlo_type_bits(value->type))
            return mlir_op_error(r, op, "its region takes %s for an operand of type %s",
                                 hlo_type_name(value->type), hlo_type_name(input));
        if (value->type != mlir_result_type(r, op, i)->type)
            return mlir_op_error(r, op, "its region returns %s for a result of type %s",
                                 hlo_type_name(value->type), hlo_type_name(mlir_result_type(r, op, i)->type));
    }
    return true;
}

/* Checks that inputs of one shape are followed by an initial value for each. */
bool mlir_check_reducer(struct mlir_reader *r, const struct mlir_op *op, size_t inputs)
{
    if (inputs == 0 || op->operands / 2 != inputs)
        return mlir_op_error(r, op, "expected an initial value for each input");
    for (size_t i = 1; i < inputs; i++)
        if (!hlo_dims_match(mlir_operand_type(r, op, i), mlir_operand_type(r, op, 0), -1))
            return mlir_op_error(r, op, "inputs of different shapes");
    return mlir_need_results(r, op, inputs) && mlir_check_accumulators(r, op, inputs);
}

bool mlir_build_reduce(struct mlir_reader *r, struct mlir_op *op)
{
    return mlir_need_arrays(r, op) && mlir_read_fields(r, op) &&
           mlir_check_reducer(r, op, op->operands / 2) && mlir_infer(r, op, HLO_REDUCE);
}

bool mlir_build_sort(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    int rank = mlir_operand_type(r, op, 0)->rank;
    int64_t along = -1;
    if (!mlir_need_arrays(r, op) || !mlir_need_results(r, op, op->operands) ||
        !mlir_find_integer(r, op, "dimension", false, &along))
        return false;
    along = along < 0 ? along + rank : along;
    set->dimensions = mlir_copy_ints(r, &along, rank > 0);
    if (rank && !set->dimensions.count)
        return error_memory(r->err);
    if (!mlir_check_region(r, op, 0, 2 * op->operands, 1))
        return false;
    const struct hlo_shape *answer = mlir_callee(r, op, 0)->root->shape;
    if (answer->type != HLO_TYPE_PRED || answer->rank)
        return mlir_op_error(r, op, "its region should return a truth value");
    for (size_t i = 0; i < 2 * op->operands; i++)
        if (!mlir_check_scalar(r, op, i, mlir_operand_type(r, op, i / 2)->type))
            return false;
    return mlir_infer(r, op, HLO_SORT);
}

/* The region takes an element of each operand and returns one of the result. */
static bool check_mapped(struct mlir_reader *r, const struct mlir_op *op)
{
    if (!mlir_check_region(r, op, 0, op->operands, 1))
        return false;
    for (size_t i = 0; i < op->operands; i++)
        if (!mlir_check_scalar(r, op, i, mlir_operand_type(r, op, i)->type))
            return false;
    const struct hlo_shape *root = mlir_callee(r, op, 0)->root->shape;
    return (root->rank == 0 && root->type == mlir_result_type(r, op, 0)->type) ||
           mlir_op_error(r, op, "its region should return a scalar of the result's type");
}

bool mlir_build_map(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    const struct hlo_shape *first = mlir_operand_type(r, op, 0);
    if (!mlir_need_arrays(r, op) || !mlir_need_results(r, op, 1) ||
        !mlir_find_ints(r, op, "dimensions", false, &set->dimensions) ||
        !mlir_in_range(r, op, "dimensions", set->dimensions, first->rank))
        return false;
    for (int i = 0; i < set->dimensions.count; i++)
        if (set->dimensions.at[i] != i)
            return mlir_op_error(r, op, "dimensions should be all of them in order");
    return check_mapped(r, op) && mlir_infer(r, op, HLO_MAP);
}

/* Condition and body take the values that the loop carries; the body returns them. */
bool mlir_build_while(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    if (!mlir_need_results(r, op, op->operands) || !mlir_fill_alike(r, op) ||
        !mlir_check_region(r, op, 0, op->operands, 1) ||
        (op->operands && !mlir_check_region(r, op, 1, op->operands, op->operands)))
        return false;
    const struct hlo_computation *body = mlir_callee(r, op, 1);
    const struct hlo_shape *answer = mlir_callee(r, op, 0)->root->shape;
    if (answer->type != HLO_TYPE_PRED || answer->rank)
        return mlir_op_error(r, op, "its condition should return a truth value");
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *carried = mlir_operand_type(r, op, i), *root = body->root->shape;
        const struct hlo_shape *next = op->operands == 1 ? root : root->parts[i];
        if (!hlo_shape_equal(carried, next) || !hlo_shape_equal(carried, mlir_result_type(r, op, i)) ||
            !hlo_shape_equal(carried, body->parameters[i]->shape) ||
            !hlo_shape_equal(carried, mlir_callee(r, op, 0)->parameters[i]->shape))
            return mlir_op_error(r, op, "value %zu that it carries changes its type", i + 1);
    }
    set->trip_count = -1;
    return mlir_finish(r, op, HLO_WHILE);
}

/* Each branch returns the values of the operation, and captures the values it needs. */
bool mlir_build_conditional(struct mlir_reader *r, struct mlir_op *op)
{
    const struct hlo_shape *choice = mlir_operand_type(r, op, 0);
    bool is_case = op->info->regions < 0;
    if (choice->rank || choice->type != (is_case ? HLO_TYPE_S32 : HLO_TYPE_PRED))
        return mlir_op_error(r, op, "the operand that chooses should be a scalar of type %s",
                             is_case ? "s32" : "pred");
    for (size_t i = 0; i < op->callees; i++) {
        const struct hlo_computation *branch = mlir_callee(r, op, i);
        const struct hlo_shape *root = branch->root->shape;
        if (!mlir_check_region(r, op, i, 0, op->result_types) || !mlir_fill_from(r, op, root))
            return false;
        for (size_t k = 0; k < op->result_types; k++)
            if (!hlo_shape_equal(op->result_types == 1 ? root : root->parts[k], mlir_result_type(r, op, k)))
                return mlir_op_error(r, op, "branch %zu returns another type for result %zu", i + 1, k + 1);
    }
    return mlir_finish(r, op, HLO_CONDITIONAL);
}

/* The region takes each input without the scanned dimension, and each initial value. */
bool mlir_build_scan(struct mlir_reader *r, struct mlir_op *op)
{
    int64_t along = 0, size = -1;
    const struct hlo_computation *region = mlir_callee(r, op, 0);
    if (!mlir_find_integer(r, op, "dimension", true, &along) ||
        !mlir_find_integer(r, op, "scan_dim_size", false, &size) ||
        !mlir_check_region(r, op, 0, op->operands, op->result_types))
        return false;
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *given = mlir_operand_type(r, op, i), *taken = region->parameters[i]->shape;
        bool input = i < op->inputs;
        if (input && (along < 0 || along >= given->rank || (size >= 0 && given->dims[along] != size)))
            return mlir_op_error(r, op, "operand %zu has no dimension %lld, or one of another size", i + 1,
                                 (long long)along);
        bool fits = given->type == taken->type && taken->rank == given->rank - input;
        for (int d = 0; fits && d < taken->rank; d++)
            fits = taken->dims[d] == given->dims[d + (input && d >= along)];
        if (!fits)
            return mlir_op_error(r, op, "value %zu of its region does not fit operand %zu", i + 1, i + 1);
    }
    return mlir_finish(r, op, HLO_SCAN);
}

/* Along the last dimension: k values and their places. */
bool mlir_build_topk(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    int64_t dims[HLO_MAX_RANK];
    if (!mlir_need_results(r, op, 2) || !mlir_need_arrays(r, op) || !mlir_read_fields(r, op))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(r, op, 0);
    if (operand->rank < 1 || set->index < 0 || set->index > operand->dims[operand->rank - 1])
        return mlir_op_error(r, op, "the last dimension has no %lld elements", (long long)set->index);
    memcpy(dims, operand->dims, (size_t)operand->rank * sizeof *dims);
    dims[operand->rank - 1] = set->index;
    return mlir_result_dims(r, op, 0, dims, operand->rank) &&
           mlir_result_dims(r, op, 1, dims, operand->rank) && mlir_finish(r, op, HLO_TOPK);
}

/* Operations that communicate with other devices. */

#define MAX_DEVICES 4096 /* in groups that are checked for a device that is there twice */

static bool check_groups(struct mlir_reader *r, const struct mlir_op *op, struct hlo_ints ids)
{
    bool alike = op->info->opcode == HLO_ALL_GATHER || op->info->opcode == HLO_REDUCE_SCATTER;
    uint64_t seen[MAX_DEVICES / 64] = {0};
    for (int i = 0; i < ids.count; i++) {
        int64_t id = ids.at[i];
        if (id < (alike ? 0 : -1) || id >= (int64_t)ids.count)
            return mlir_op_error(r, op, "replica_groups: device %lld of %d", (long long)id, ids.count);
        if (id < 0 || id >= MAX_DEVICES)
            continue;
        if (seen[id / 64] >> (id % 64) & 1)
            return mlir_op_error(r, op, "replica_groups: device %lld is listed twice", (long long)id);
        seen[id / 64] |= (uint64_t)1 << (id % 64);
    }
    return true;
}

/* Across replicas and partitions, a channel is needed: channel_handle = #stablehlo.channel_handle<handle =
 * 1, …>. */
static bool check_channel(struct mlir_reader *r, const struct mlir_op *op)
{
    const char *channel = mlir_find(r, op, "channel_handle");
    struct hlo_ints number;
    if (!mlir_has(r, op, "use_global_device_ids") || !channel || !mlir_begins(r, channel, "#"))
        return true;
    if (!mlir_read_field(r, channel, "handle", &number))
        return false;
    return !number.count || (number.count == 1 && number.at[0] > 0) ||
           mlir_op_error(r, op, "channel_handle: expected a positive number");
}

/* Groups of devices: a matrix with a group per row, [[0, 1], [2, 3]] or dense of it; rows that are shorter
 * end in -1, unless all must be as long. An attribute of another kind (mesh axes) leaves them unknown. */
static bool read_groups(struct mlir_reader *r, struct mlir_op *op, struct hlo_attributes *set)
{
    const char *groups = mlir_find(r, op, "replica_groups");
    const char *config = groups ? NULL : mlir_find(r, op, "backend_config");
    if (config && !mlir_find_field(r, config, "replica_groups", &groups))
        return false;
    struct hlo_ints ids;
    int64_t rows;
    if (!groups || *groups == '#')
        return true;
    if (!mlir_read_ints(r, groups, &ids, &rows))
        return false;
    bool needed = op->info->opcode == HLO_ALL_TO_ALL || mlir_has(r, op, "use_global_device_ids");
    if (!ids.count)
        return !needed || mlir_op_error(r, op, "replica_groups: there are none");
    if (rows < 1 || ids.count % rows)
        return mlir_op_error(r, op, "replica_groups should be a matrix");
    set->group_count = rows;
    set->group_size = ids.count / rows;
    return check_groups(r, op, ids);
}

/* A result is larger (all_gather) or smaller (reduce_scatter) by a whole number along its dimension. */
static bool check_along(struct mlir_reader *r, const struct mlir_op *op, const struct hlo_attributes *set,
                        size_t index, bool grows)
{
    const struct hlo_shape *operand = mlir_operand_type(r, op, index);
    const struct hlo_shape *result = mlir_result_type(r, op, index);
    const struct hlo_shape *small = grows ? operand : result, *large = grows ? result : operand;
    if (small->rank != large->rank || (grows && small->type != large->type))
        return mlir_op_error(r, op, "operand and result do not fit each other");
    if (!set->dimensions.count)
        return true;
    int64_t along = set->dimensions.at[0];
    if (r->sized && along < operand->rank) {
        int64_t dims[HLO_MAX_RANK], group = set->group_size;
        memcpy(dims, operand->dims, (size_t)operand->rank * sizeof *dims);
        bool fits = grows ? !__builtin_mul_overflow(dims[along], group, &dims[along])
                          : group > 0 && dims[along] % group == 0;
        if (fits && !grows)
            dims[along] /= group;
        if (fits && group > 0 && !mlir_fill(r, op, index, dims, operand->rank))
            return false;
        result = mlir_result_type(r, op, index);
        small = grows ? operand : result;
        large = grows ? result : operand;
    }
    if (along >= small->rank || !hlo_dims_match(small, large, along))
        return mlir_op_error(r, op, "operand and result differ in other dimensions than %lld",
                             (long long)along);
    return (small->dims[along] > 0 && large->dims[along] > 0 &&
            large->dims[along] % small->dims[along] == 0) ||
           mlir_op_error(r, op, "dimension %lld of size %lld becomes one of %lld", (long long)along,
                         (long long)operand->dims[along], (long long)result->dims[along]);
}

/* split_count pieces of one dimension become as many more of another. */
static bool check_exchange(struct mlir_reader *r, const struct mlir_op *op, struct hlo_attributes *set)
{
    int64_t split = -1, concat = -1, count = 0, dims[HLO_MAX_RANK];
    if (!mlir_find_integer(r, op, "split_dimension", true, &split) ||
        !mlir_find_integer(r, op, "concat_dimension", true, &concat) ||
        !mlir_find_integer(r, op, "split_count", true, &count))
        return false;
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *operand = mlir_operand_type(r, op, i);
        if (split < 0 || split >= operand->rank || concat < 0 || concat >= operand->rank)
            return mlir_op_error(r, op, "dimensions %lld and %lld of %d", (long long)split, (long long)concat,
                                 operand->rank);
        if (count < 1 || operand->dims[split] % count || (set->group_size && set->group_size != count))
            return mlir_op_error(r, op, "split_count: %lld of dimension %lld of size %lld in groups of %lld",
                                 (long long)count, (long long)split, (long long)operand->dims[split],
                                 (long long)set->group_size);
        memcpy(dims, operand->dims, (size_t)operand->rank * sizeof *dims);
        dims[split] /= count;
        if (__builtin_mul_overflow(dims[concat], count, &dims[concat]))
            return mlir_op_error(r, op, "the result has more than 2^53 elements");
        if (operand->type != mlir_result_type(r, op, i)->type)
            return mlir_op_error(r, op, "result %zu is not of its operand's type", i + 1);
        if (!mlir_result_dims(r, op, i, dims, operand->rank))
            return false;
    }
    return true;
}

static bool check_shapes(struct mlir_reader *r, const struct mlir_op *op, struct hlo_attributes *set)
{
    enum hlo_opcode opcode = op->info->opcode;
    if (opcode == HLO_ALL_TO_ALL && !op->info->dialects)
        return check_exchange(r, op, set);
    for (size_t i = 0; i < op->result_types; i++) {
        const struct hlo_shape *operand = mlir_operand_type(r, op, i);
        bool scatter = opcode == HLO_REDUCE_SCATTER;
        bool fits = opcode == HLO_ALL_GATHER || scatter ? check_along(r, op, set, i, !scatter)
                    : opcode == HLO_ALL_TO_ALL          ? true
                                               : mlir_result_dims(r, op, i, operand->dims, operand->rank);
        if (!fits)
            return false;
    }
    return true;
}

/* Each operand has its result; one more, without a result, is the root of a collective that has one. */
static bool check_counts(struct mlir_reader *r, const struct mlir_op *op)
{
    bool rooted = mlir_has(r, op, "has_dynamic_root");
    if (op->operands != op->result_types + rooted || op->operands == (rooted ? 1 : 0))
        return mlir_op_error(r, op, "%zu operands, %zu results", op->operands, op->result_types);
    if (!rooted)
        return true;
    const struct hlo_shape *root = mlir_operand_type(r, op, op->operands - 1);
    return (root->type == HLO_TYPE_S32 && root->rank == 1 && root->dims[0] == (int64_t)op->result_types) ||
           mlir_op_error(r, op, "the last operand should be %zu numbers of type s32", op->result_types);
}

bool mlir_build_collective(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    static const char keys[] = "all_gather_dim|scatter_dimension|split_dimension|axis";
    int64_t along = 0;
    if (!mlir_need_arrays(r, op) || !check_channel(r, op) || !read_groups(r, op, set) ||
        !check_counts(r, op) || !mlir_find_integer(r, op, keys, false, &along))
        return false;
    if (mlir_find(r, op, keys)) {
        set->dimensions = mlir_copy_ints(r, &along, 1);
        if (!set->dimensions.count)
            return error_memory(r->err);
        if (!mlir_in_range(r, op, "dimension", set->dimensions, mlir_operand_type(r, op, 0)->rank))
            return false;
    }
    if (!check_shapes(r, op, set) || (op->callees && !mlir_check_accumulators(r, op, 1)))
        return false;
    return mlir_finish(r, op, op->info->opcode);
}

/* JAX writes it as a custom call: operand, result before, and for each device where its rows begin and how many there
 * are, of both sides. */
bool mlir_build_ragged_exchange(struct mlir_reader *r, struct mlir_op *op)
{
    return mlir_need_arrays(r, op) && read_groups(r, op, mlir_set(r, op)) &&
           mlir_finish(r, op, HLO_RAGGED_ALL_TO_ALL);
}

bool mlir_build_permute(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    const char *given = mlir_find(r, op, "source_target_pairs");
    struct hlo_ints pairs;
    int64_t rows;
    if (!given)
        return mlir_op_error(r, op, "'source_target_pairs' is missing");
    if (!mlir_read_ints(r, given, &pairs, &rows) || !mlir_need_results(r, op, op->operands))
        return false;
    if (pairs.count && pairs.count != 2 * rows)
        return mlir_op_error(r, op, "source_target_pairs should be pairs");
    for (int i = 0; i < pairs.count; i++) {
        if (pairs.at[i] < 0)
            return mlir_op_error(r, op, "source_target_pairs: device %lld", (long long)pairs.at[i]);
        for (int k = i % 2; k < i && i < MAX_DEVICES; k += 2)
            if (pairs.at[k] == pairs.at[i])
                return mlir_op_error(r, op, "source_target_pairs: device %lld %s twice",
                                     (long long)pairs.at[i], i % 2 ? "receives" : "sends");
    }
    set->pair_count = pairs.count / 2;
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *operand = mlir_operand_type(r, op, i);
        if (!mlir_result_dims(r, op, i, operand->dims, operand->rank))
            return false;
    }
    return mlir_finish(r, op, HLO_COLLECTIVE_PERMUTE);
}
