/* sdy.manual_computation: a region that works on the shards of its operands. Where sizes are open, they are those of
 * the operands, divided by the sizes of the mesh's axes that shard them and are manual (Shardy's documentation of the
 * operation: global = local x product of the manual axes in the sharding of the dimension). */
#include "hlo/mlir/mlir.h"

struct manual {
    const char *in, *out; /* lists of shardings; NULL: none */
    const char *axes;     /* {"x", "y"} */
};

/* Returns whether an axis is manual. */
static bool is_manual(struct mlir_reader *reader, const struct manual *manual, struct mlir_span axis)
{
    const char *after = reader->p;
    struct mlir_span name;
    bool found = false;
    reader->p = manual->axes ? manual->axes + 1 : reader->end;
    while (!found && mlir_peek(reader) == '"' && mlir_string(reader, &name)) {
        found = name.length == axis.length && memcmp(name.at, axis.at, name.length) == 0;
        mlir_take(reader, ',');
    }
    reader->p = after;
    return found;
}

/* Finds the size of an axis in <["x"=2, "y"=4]>. */
static bool axis_size(struct mlir_reader *reader, const char *mesh, struct mlir_span axis, int64_t *size)
{
    const char *after = reader->p;
    struct mlir_span name;
    *size = 0;
    reader->p = mesh;
    if (!mlir_need(reader, "<") || !mlir_need(reader, "["))
        return false;
    while (*size == 0 && mlir_peek(reader) == '"') {
        int64_t length;
        if (!mlir_string(reader, &name) || !mlir_need(reader, "=") || !mlir_integer(reader, &length))
            return false;
        if (name.length == axis.length && memcmp(name.at, axis.at, name.length) == 0)
            *size = length;
        mlir_take(reader, ',');
    }
    reader->p = after;
    return *size > 0 || mlir_error(reader, axis.at, "the mesh has no axis '%.*s'", (int)axis.length, axis.at);
}

/* {"x", "y":(1)2, ?}: multiplies the factor by the sizes of manual axes. */
static bool read_axes(struct mlir_reader *reader, const struct manual *manual, const char *mesh,
                      int64_t *factor)
{
    int64_t size, before;
    struct mlir_span axis;
    *factor = 1;
    if (!mlir_need(reader, "{"))
        return false;
    while (!mlir_take(reader, '}')) {
        mlir_take(reader, ',');
        if (mlir_take(reader, '?'))
            continue;
        if (mlir_peek(reader) != '"')
            return mlir_expected(reader, "an axis");
        if (!mlir_string(reader, &axis) || !axis_size(reader, mesh, axis, &size))
            return false;
        if (mlir_take(reader, ':') && (!mlir_need(reader, "(") || !mlir_integer(reader, &before) ||
                                       !mlir_need(reader, ")") || !mlir_integer(reader, &size)))
            return false;
        if (is_manual(reader, manual, axis) && (size < 1 || __builtin_mul_overflow(*factor, size, factor)))
            return mlir_error(reader, axis.at, "an axis of size %lld", (long long)size);
    }
    struct mlir_span priority;
    if (mlir_peek(reader) == 'p')
        mlir_word(reader, &priority);
    mlir_take(reader, ',');
    return true;
}

/* Reads how many shards each dimension of a value has: of the sharding of this number in the list. */
static bool read_shards(struct mlir_reader *reader, const struct manual *manual, const char *list,
                        size_t index, int rank, int64_t *shards)
{
    struct mlir_span name;
    if (!list || *list != '[')
        return mlir_error(reader, list ? list : reader->p, "expected a list of shardings");
    reader->p = list + 1;
    for (size_t i = 0; i < index; i++)
        if (mlir_peek(reader) != '<' || !mlir_skip_balanced(reader) || !mlir_take(reader, ','))
            return mlir_expected(reader, "a sharding for each value");
    if (!mlir_need(reader, "<"))
        return false;
    const char *mesh = (mlir_space(reader), reader->p);
    if (mlir_take_word(reader, "mesh")) {
        mesh = (mlir_space(reader), reader->p);
        if (mlir_peek(reader) != '<' || !mlir_skip_balanced(reader))
            return mlir_expected(reader, "a mesh");
    } else {
        if (!mlir_symbol(reader, &name))
            return false;
        const char *found = mlir_alias(reader, (struct mlir_span){mesh, (size_t)(reader->p - mesh)});
        if (!found)
            return mlir_error(reader, mesh, "unknown mesh '%.*s'", (int)name.length, name.at);
        mesh = found;
    }
    if (!mlir_need(reader, ",") || !mlir_need(reader, "["))
        return false;
    for (int d = 0; d < rank; d++)
        if (!read_axes(reader, manual, mesh, &shards[d]))
            return false;
    return true;
}

/* Computes the shapes of the region's arguments. */
static bool size_arguments(struct mlir_reader *reader, const struct mlir_op *op, const struct manual *manual,
                           struct mlir_signature *given)
{
    int64_t dims[HLO_MAX_RANK], shards[HLO_MAX_RANK];
    const char *after = reader->p;
    given->depth = reader->depth + 1;
    given->count = op->operands;
    given->shapes = ARENA_ARRAY(&reader->module->arena, op->operands, const struct hlo_shape *);
    given->known = ARENA_ARRAY(&reader->module->arena, op->operands, struct hlo_ints);
    if (!given->shapes || !given->known)
        return error_memory(reader->err);
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *shape = mlir_operand_type(reader, op, i);
        given->shapes[i] = shape;
        if (shape->rank == 0) {
            if (!mlir_known(reader, mlir_operand(reader, op, i), &given->known[i]))
                return false;
            continue;
        }
        if (!read_shards(reader, manual, manual->in, i, shape->rank, shards))
            return false;
        for (int d = 0; d < shape->rank; d++) {
            if (shape->dims[d] % shards[d])
                return mlir_error(reader, op->at,
                                  "dimension %d of operand %zu, %lld, is not a multiple of %lld shards", d,
                                  i + 1, (long long)shape->dims[d], (long long)shards[d]);
            dims[d] = shape->dims[d] / shards[d];
        }
        given->shapes[i] = mlir_array_shape(reader, shape->type, dims, shape->rank);
        if (!given->shapes[i])
            return false;
    }
    reader->p = after;
    return true;
}

/* Gives open sizes of the results those of the region's, times the shards. */
static bool size_results(struct mlir_reader *reader, const struct mlir_op *op, const struct manual *manual)
{
    int64_t dims[HLO_MAX_RANK], shards[HLO_MAX_RANK];
    const struct hlo_computation *region = mlir_callee(reader, op, 0);
    const char *after = reader->p;
    for (size_t i = 0; i < op->result_types; i++) {
        const struct hlo_shape *root = region->root->shape, *local = root;
        if (root->type == HLO_TYPE_TUPLE)
            local = i < (size_t)root->part_count ? root->parts[i] : NULL;
        if (!local || mlir_is_sized(mlir_result_type(reader, op, i)))
            continue;
        if (!read_shards(reader, manual, manual->out, i, local->rank, shards))
            return false;
        for (int d = 0; d < local->rank; d++)
            if (__builtin_mul_overflow(local->dims[d], shards[d], &dims[d]))
                return mlir_error(reader, op->at, "this array has more than 2^53 elements");
        if (!mlir_fill(reader, op, i, dims, local->rank))
            return false;
    }
    reader->p = after;
    return true;
}

/* sdy.manual_computation(%a) in_shardings=[…] out_shardings=[…] manual_axes={…} (%b: type) {…} : … -> … */
bool mlir_manual_form(struct mlir_reader *reader, struct mlir_op *op)
{
    struct mlir_span key;
    struct manual manual = {0};
    struct mlir_signature given = {0};
    const struct mlir_signature *outer = reader->given;
    if (!mlir_operand_list(reader, op))
        return false;
    while (mlir_word(reader, &key)) {
        if (!mlir_need(reader, "="))
            return false;
        mlir_space(reader);
        *(mlir_same(key, "in_shardings")    ? &manual.in
          : mlir_same(key, "out_shardings") ? &manual.out
                                            : &manual.axes) = reader->p;
        if (!mlir_skip_plain_value(reader))
            return false;
    }
    if (reader->sized && !size_arguments(reader, op, &manual, &given))
        return false;
    if (!mlir_open_block(reader))
        return false;
    reader->given = reader->sized ? &given : outer;
    bool has_arguments = mlir_block_arguments(reader);
    reader->given = outer;
    return has_arguments && mlir_need(reader, "{") && mlir_block_body(reader) &&
           mlir_end_region(reader, op) && mlir_need(reader, ":") && mlir_signature(reader, op) &&
           (!reader->sized || size_results(reader, op, &manual));
}
