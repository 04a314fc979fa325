/* Operations that communicate with other devices. */
#include "hlo/mlir/mlir.h"

#define MAX_DEVICES 4096 /* in groups that are checked for a device that is there twice */

static bool check_groups(struct mlir_reader *reader, const struct mlir_op *op, struct hlo_ints ids)
{
    bool alike = op->info->opcode == HLO_ALL_GATHER || op->info->opcode == HLO_REDUCE_SCATTER;
    uint64_t seen[MAX_DEVICES / 64] = {0};
    for (int i = 0; i < ids.count; i++) {
        int64_t id = ids.at[i];
        if (id < (alike ? 0 : -1) || id >= (int64_t)ids.count)
            return mlir_op_error(reader, op, "replica_groups: device %lld of %d", (long long)id, ids.count);
        if (id < 0 || id >= MAX_DEVICES)
            continue;
        if (seen[id / 64] >> (id % 64) & 1)
            return mlir_op_error(reader, op, "replica_groups: device %lld is listed twice", (long long)id);
        seen[id / 64] |= (uint64_t)1 << (id % 64);
    }
    return true;
}

/* Across replicas and partitions, a channel is needed: channel_handle = #stablehlo.channel_handle<handle =
 * 1, …>. */
static bool check_channel(struct mlir_reader *reader, const struct mlir_op *op)
{
    const char *channel = mlir_find(reader, op, "channel_handle");
    struct hlo_ints number;
    if (!mlir_has(reader, op, "use_global_device_ids") || !channel || !mlir_begins(reader, channel, "#"))
        return true;
    if (!mlir_read_field(reader, channel, "handle", &number))
        return false;
    return !number.count || (number.count == 1 && number.at[0] > 0) ||
           mlir_op_error(reader, op, "channel_handle: expected a positive number");
}

/* Groups of devices: a matrix with a group per row, [[0, 1], [2, 3]] or dense of it; rows that are shorter
 * end in -1, unless all must be as long. An attribute of another kind (mesh axes) leaves them unknown. */
static bool read_groups(struct mlir_reader *reader, struct mlir_op *op, struct hlo_attributes *set)
{
    const char *groups = mlir_find(reader, op, "replica_groups");
    struct hlo_ints ids;
    int64_t rows;
    if (!groups || *groups == '#')
        return true;
    if (!mlir_read_ints(reader, groups, &ids, &rows))
        return false;
    bool needed = op->info->opcode == HLO_ALL_TO_ALL || mlir_has(reader, op, "use_global_device_ids");
    if (!ids.count)
        return !needed || mlir_op_error(reader, op, "replica_groups: there are none");
    if (rows < 1 || ids.count % rows)
        return mlir_op_error(reader, op, "replica_groups should be a matrix");
    set->group_count = rows;
    set->group_size = ids.count / rows;
    return check_groups(reader, op, ids);
}

/* A result is larger (all_gather) or smaller (reduce_scatter) by a whole number along its dimension. */
static bool check_along(struct mlir_reader *reader, const struct mlir_op *op,
                        const struct hlo_attributes *set, size_t index, bool grows)
{
    const struct hlo_shape *operand = mlir_operand_type(reader, op, index);
    const struct hlo_shape *result = mlir_result_type(reader, op, index);
    const struct hlo_shape *small = grows ? operand : result, *large = grows ? result : operand;
    if (small->rank != large->rank || (grows && small->type != large->type))
        return mlir_op_error(reader, op, "operand and result do not fit each other");
    if (!set->dimensions.count)
        return true;
    int64_t along = set->dimensions.at[0];
    if (reader->sized && along < operand->rank) {
        int64_t dims[HLO_MAX_RANK], group = set->group_size;
        memcpy(dims, operand->dims, (size_t)operand->rank * sizeof *dims);
        bool fits = grows ? !__builtin_mul_overflow(dims[along], group, &dims[along])
                          : group > 0 && dims[along] % group == 0;
        if (fits && !grows)
            dims[along] /= group;
        if (fits && group > 0 && !mlir_fill(reader, op, index, dims, operand->rank))
            return false;
        result = mlir_result_type(reader, op, index);
        small = grows ? operand : result;
        large = grows ? result : operand;
    }
    if (along >= small->rank || !hlo_dims_match(small, large, along))
        return mlir_op_error(reader, op, "operand and result differ in other dimensions than %lld",
                             (long long)along);
    return (small->dims[along] > 0 && large->dims[along] > 0 &&
            large->dims[along] % small->dims[along] == 0) ||
           mlir_op_error(reader, op, "dimension %lld of size %lld becomes one of %lld", (long long)along,
                         (long long)operand->dims[along], (long long)result->dims[along]);
}

/* split_count pieces of one dimension become as many more of another. */
static bool check_exchange(struct mlir_reader *reader, const struct mlir_op *op, struct hlo_attributes *set)
{
    int64_t split = -1, concat = -1, count = 0, dims[HLO_MAX_RANK];
    if (!mlir_find_integer(reader, op, "split_dimension", true, &split) ||
        !mlir_find_integer(reader, op, "concat_dimension", true, &concat) ||
        !mlir_find_integer(reader, op, "split_count", true, &count))
        return false;
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *operand = mlir_operand_type(reader, op, i);
        if (split < 0 || split >= operand->rank || concat < 0 || concat >= operand->rank)
            return mlir_op_error(reader, op, "dimensions %lld and %lld of %d", (long long)split,
                                 (long long)concat, operand->rank);
        if (count < 1 || operand->dims[split] % count || (set->group_size && set->group_size != count))
            return mlir_op_error(reader, op,
                                 "split_count: %lld of dimension %lld of size %lld in groups of %lld",
                                 (long long)count, (long long)split, (long long)operand->dims[split],
                                 (long long)set->group_size);
        memcpy(dims, operand->dims, (size_t)operand->rank * sizeof *dims);
        dims[split] /= count;
        if (__builtin_mul_overflow(dims[concat], count, &dims[concat]))
            return mlir_op_error(reader, op, "the result has more than 2^53 elements");
        if (operand->type != mlir_result_type(reader, op, i)->type)
            return mlir_op_error(reader, op, "result %zu is not of its operand's type", i + 1);
        if (!mlir_result_dims(reader, op, i, dims, operand->rank))
            return false;
    }
    return true;
}

static bool check_shapes(struct mlir_reader *reader, const struct mlir_op *op, struct hlo_attributes *set)
{
    enum hlo_opcode opcode = op->info->opcode;
    if (opcode == HLO_ALL_TO_ALL && !op->info->dialects)
        return check_exchange(reader, op, set);
    for (size_t i = 0; i < op->result_types; i++) {
        const struct hlo_shape *operand = mlir_operand_type(reader, op, i);
        bool scatter = opcode == HLO_REDUCE_SCATTER;
        bool fits = opcode == HLO_ALL_GATHER || scatter ? check_along(reader, op, set, i, !scatter)
                    : opcode == HLO_ALL_TO_ALL
                        ? true
                        : mlir_result_dims(reader, op, i, operand->dims, operand->rank);
        if (!fits)
            return false;
    }
    return true;
}

/* Each operand has its result; one more, without a result, is the root of a collective that has one. */
static bool check_counts(struct mlir_reader *reader, const struct mlir_op *op)
{
    bool rooted = mlir_has(reader, op, "has_dynamic_root");
    if (op->operands != op->result_types + rooted || op->operands == (rooted ? 1 : 0))
        return mlir_op_error(reader, op, "%zu operands, %zu results", op->operands, op->result_types);
    if (!rooted)
        return true;
    const struct hlo_shape *root = mlir_operand_type(reader, op, op->operands - 1);
    return (root->type == HLO_TYPE_S32 && root->rank == 1 && root->dims[0] == (int64_t)op->result_types) ||
           mlir_op_error(reader, op, "the last operand should be %zu numbers of type s32", op->result_types);
}

bool mlir_build_collective(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    static const char keys[] = "all_gather_dim|scatter_dimension|split_dimension|axis";
    int64_t along = 0;
    if (!mlir_need_arrays(reader, op) || !check_channel(reader, op) || !read_groups(reader, op, set) ||
        !check_counts(reader, op) || !mlir_find_integer(reader, op, keys, false, &along))
        return false;
    if (mlir_find(reader, op, keys)) {
        set->dimensions = mlir_copy_ints(reader, &along, 1);
        if (!set->dimensions.count)
            return error_memory(reader->err);
        if (!mlir_in_range(reader, op, "dimension", set->dimensions, mlir_operand_type(reader, op, 0)->rank,
                           true))
            return false;
    }
    if (!check_shapes(reader, op, set) || (op->callees && !mlir_check_accumulators(reader, op, 1)))
        return false;
    return mlir_finish(reader, op, op->info->opcode);
}

bool mlir_build_permute(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(reader, op);
    const char *given = mlir_find(reader, op, "source_target_pairs");
    struct hlo_ints pairs;
    int64_t rows;
    if (!given)
        return mlir_op_error(reader, op, "'source_target_pairs' is missing");
    if (!mlir_read_ints(reader, given, &pairs, &rows) || !mlir_need_results(reader, op, op->operands))
        return false;
    if (pairs.count && pairs.count != 2 * rows)
        return mlir_op_error(reader, op, "source_target_pairs should be pairs");
    for (int i = 0; i < pairs.count; i++) {
        if (pairs.at[i] < 0)
            return mlir_op_error(reader, op, "source_target_pairs: device %lld", (long long)pairs.at[i]);
        for (int k = i % 2; k < i && i < MAX_DEVICES; k += 2)
            if (pairs.at[k] == pairs.at[i])
                return mlir_op_error(reader, op, "source_target_pairs: device %lld %s twice",
                                     (long long)pairs.at[i], i % 2 ? "receives" : "sends");
    }
    set->pair_count = pairs.count / 2;
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *operand = mlir_operand_type(reader, op, i);
        if (!mlir_result_dims(reader, op, i, operand->dims, operand->rank))
            return false;
    }
    return mlir_finish(reader, op, HLO_COLLECTIVE_PERMUTE);
}
