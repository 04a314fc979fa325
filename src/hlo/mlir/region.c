#include "hlo/mlir/mlir.h"

bool mlir_block_body(struct mlir_reader *reader)
{
    const char *start = reader->p;
    struct mlir_block *block = &reader->blocks[reader->depth];
    while (!mlir_take(reader, '}')) {
        if (reader->p >= reader->end)
            return mlir_error(reader, start, "this region does not end");
        if (*reader->p == '^')
            return mlir_error(reader, reader->p, "branches between blocks cannot be counted: expected '}'");
        if (block->terminator)
            return mlir_expected(reader, "'}' after the operation that ends the region");
        if (!mlir_operation(reader))
            return false;
    }
    return true;
}

/* %a */
static bool mlir_argument(struct mlir_reader *reader, struct mlir_result *argument)
{
    if (mlir_peek(reader) != '%')
        return mlir_expected(reader, "an argument such as %arg0");
    argument->at = reader->p++;
    argument->count = 1;
    return mlir_value_name(reader, &argument->name);
}

/* `%a: type` */
static bool typed_argument(struct mlir_reader *reader, struct mlir_result *argument,
                           const struct hlo_shape **shape)
{
    return mlir_argument(reader, argument) && mlir_need(reader, ":") && mlir_type(reader, shape);
}

bool mlir_block_arguments(struct mlir_reader *reader)
{
    if (!mlir_need(reader, "("))
        return false;
    if (mlir_take(reader, ')'))
        return true;
    do {
        struct mlir_result argument;
        const struct hlo_shape *shape;
        struct mlir_op attributes = {.first_attribute = reader->attributes.count};
        if (!typed_argument(reader, &argument, &shape) ||
            !mlir_take_dictionary(reader, reader->sized ? &attributes : NULL) ||
            !mlir_skip_location(reader) ||
            !mlir_parameter(reader, &attributes, argument.name, argument.at, shape))
            return false;
        reader->attributes.count = attributes.first_attribute;
    } while (mlir_take(reader, ','));
    return mlir_need(reader, ")");
}

/* Returns the value of the region, or a tuple of its values. */
static struct hlo_instruction *make_root(struct mlir_reader *reader)
{
    struct mlir_block *block = &reader->blocks[reader->depth];
    struct hlo_instruction **returned = block->results.items;
    size_t count = block->results.count, first = reader->shapes.count;
    if (count == 1)
        return returned[0];
    for (size_t i = 0; i < count; i++)
        if (!mlir_push_value(reader, &reader->shapes, returned[i]->shape))
            return NULL;
    const struct hlo_shape *shape =
        mlir_tuple_shape(reader, (const struct hlo_shape **)reader->shapes.items + first, count);
    reader->shapes.count = first;
    if (!shape)
        return NULL;
    return mlir_add(reader, HLO_TUPLE, mlir_place_of(reader, block->terminator), "return", shape, returned,
                    count);
}

struct hlo_computation *mlir_end_body(struct mlir_reader *reader, const char *name)
{
    struct mlir_block *block = &reader->blocks[reader->depth];
    if (!block->terminator) {
        mlir_error(reader, reader->p - 1, "this region ends without a return");
        return NULL;
    }
    struct hlo_instruction *root = make_root(reader);
    if (!root) {
        error_memory(reader->err);
        return NULL;
    }
    struct hlo_computation *computation = mlir_close_block(reader, name);
    if (computation)
        computation->root = root;
    return computation;
}

static bool mlir_end_region(struct mlir_reader *reader, struct mlir_op *op)
{
    const char *dot = memchr(op->name.at, '.', op->name.length);
    struct mlir_span kind = op->name;
    if (dot)
        kind = (struct mlir_span){dot + 1, (size_t)(op->name.at + op->name.length - dot - 1)};
    const char *name =
        arena_format(&reader->module->arena, "%.*s.%d", (int)kind.length, kind.at, reader->region_number++);
    struct hlo_computation *computation = mlir_end_body(reader, name);
    op->callees++;
    return computation && mlir_push_value(reader, &reader->callees, computation);
}

bool mlir_block_label(struct mlir_reader *reader)
{
    struct mlir_span label;
    return !mlir_take(reader, '^') ||
           (mlir_value_name(reader, &label) && (mlir_peek(reader) != '(' || mlir_block_arguments(reader)) &&
            mlir_need(reader, ":"));
}

/* The arguments of a loop's regions are of the types of its operands; those of other regions have sizes of their
 * own. */
static bool given_operands(struct mlir_reader *reader, const struct mlir_op *op, struct mlir_signature *given)
{
    if (!reader->sized || op->info->opcode != HLO_WHILE) {
        given->count = 0;
        return true;
    }
    given->shapes = ARENA_ARRAY(&reader->module->arena, op->operands, const struct hlo_shape *);
    if (!given->shapes)
        return error_memory(reader->err);
    for (size_t i = 0; i < op->operands; i++)
        given->shapes[i] = mlir_operand_type(reader, op, i);
    return true;
}

bool mlir_region(struct mlir_reader *reader, struct mlir_op *op)
{
    const struct mlir_signature *outer = reader->given;
    struct mlir_signature given = {.depth = reader->depth + 1, .count = op->operands};
    if (!mlir_need(reader, "{") || !mlir_open_block(reader) || !given_operands(reader, op, &given))
        return false;
    reader->given = &given;
    bool labelled = mlir_block_label(reader);
    reader->given = outer;
    return labelled && mlir_block_body(reader) && mlir_end_region(reader, op);
}

/* `applies stablehlo.add`: a region of one operation on two elements. */
static bool applied_region(struct mlir_reader *reader, struct mlir_op *op, struct mlir_span name,
                           const char *at)
{
    const struct mlir_info *info = mlir_find_op(reader, name);
    if (!info || mlir_min_operands(info) != 2 || mlir_max_operands(info) != 2 || info->regions ||
        !hlo_is_elementwise(info->opcode))
        return mlir_error(reader, at, "expected an operation on two elements, found '%.*s'", (int)name.length,
                          name.at);
    struct mlir_block *block = &reader->blocks[reader->depth + 1];
    const struct hlo_shape *element = mlir_scalar_shape(reader, mlir_operand_type(reader, op, 0)->type);
    if (!element || !mlir_open_block(reader) ||
        !mlir_parameter(reader, NULL, (struct mlir_span){"lhs", 3}, at, element) ||
        !mlir_parameter(reader, NULL, (struct mlir_span){"rhs", 3}, at, element))
        return false;
    struct hlo_instruction *value =
        mlir_add(reader, info->opcode, mlir_place_of(reader, at), hlo_opcode_name(info->opcode), element,
                 block->parameters.items, 2);
    block->terminator = at;
    return value && mlir_push_value(reader, &block->results, value) && mlir_end_region(reader, op);
}

static bool note_value(struct mlir_reader *reader, struct mlir_op *op, struct mlir_span key)
{
    mlir_space(reader);
    return mlir_note(reader, op, key, reader->p) && mlir_skip_plain_value(reader);
}

/* reducer(%a: t, %b: t) (%c: u, %d: u) {…}: the region's parameters are a, c, b, d. */
static bool reducer_region(struct mlir_reader *reader, struct mlir_op *op, size_t inputs)
{
    size_t first = reader->results.count, pairs = 0;
    size_t first_shape = reader->shapes.count;
    while (mlir_take(reader, '(')) {
        for (int i = 0; i < 2; i++) {
            struct mlir_result *argument = mlir_push(reader, &reader->results, sizeof *argument);
            const struct hlo_shape *shape;
            if (!argument || !typed_argument(reader, argument, &shape) || !mlir_skip_location(reader) ||
                !mlir_need(reader, i ? ")" : ",") || !mlir_push_value(reader, &reader->shapes, shape))
                return false;
        }
        pairs++;
    }
    if (pairs != inputs)
        return mlir_error(reader, reader->p, "expected %zu pairs of arguments, found %zu", inputs, pairs);
    if (!mlir_open_block(reader))
        return false;
    for (size_t i = 0; i < 2 * pairs; i++) {
        size_t from = i < pairs ? 2 * i : 2 * (i - pairs) + 1;
        struct mlir_result result = mlir_result_name(reader, first + from);
        const struct hlo_shape *shape = ((const struct hlo_shape **)reader->shapes.items)[first_shape + from];
        if (!mlir_parameter(reader, NULL, result.name, result.at, shape))
            return false;
    }
    reader->results.count = first;
    reader->shapes.count = first_shape;
    return mlir_need(reader, "{") && mlir_block_body(reader) && mlir_end_region(reader, op);
}

/* (%a init: %b), (%c init: %d): the operands are a, c, b, d. */
static bool reduce_operands(struct mlir_reader *reader, struct mlir_op *op)
{
    do {
        if (!mlir_need(reader, "(") || !mlir_push_operand(reader, op) || !mlir_need_word(reader, "init") ||
            !mlir_need(reader, ":") || !mlir_push_operand(reader, op) || !mlir_need(reader, ")"))
            return false;
    } while (mlir_take(reader, ','));
    size_t count = op->operands, inputs = count / 2;
    for (size_t i = 0; i < count; i++)
        if (!mlir_push(reader, &reader->operands, sizeof(struct hlo_instruction *)))
            return false;
    struct hlo_instruction **operands = mlir_operands(reader, op);
    for (size_t i = 0; i < count; i++)
        operands[count + i] = operands[i < inputs ? 2 * i : 2 * (i - inputs) + 1];
    memcpy(operands, operands + count, count * sizeof *operands);
    reader->operands.count -= count;
    return true;
}

/* reduce(%a init: %b) applies stablehlo.add across dimensions = [1] : …, or
 * reduce(%a init: %b) across dimensions = [1] : … reducer(%x: t, %y: t) {…} */
bool mlir_reduce_form(struct mlir_reader *reader, struct mlir_op *op)
{
    struct mlir_span name = {0};
    if (!reduce_operands(reader, op))
        return false;
    if (mlir_take_word(reader, "applies")) {
        const char *at = (mlir_space(reader), reader->p);
        if (!mlir_word(reader, &name))
            return mlir_expected(reader, "an operation's name");
        if (!applied_region(reader, op, name, at))
            return false;
    }
    if (!mlir_need_word(reader, "across") || !mlir_take_word(reader, "dimensions"))
        return mlir_expected(reader, "'dimensions'");
    if (!mlir_need(reader, "=") || !note_value(reader, op, (struct mlir_span){"dimensions", 10}) ||
        !mlir_take_dictionary(reader, op) || !mlir_need(reader, ":") || !mlir_signature(reader, op))
        return false;
    if (name.at || !mlir_skip_location(reader))
        return name.at != NULL;
    if (!mlir_need_word(reader, "reducer"))
        return false;
    return reducer_region(reader, op, op->operands / 2);
}

/* A region of while(%a = %b, …), whose arguments are named there. */
static bool while_region(struct mlir_reader *reader, struct mlir_op *op, const struct mlir_result *names)
{
    if (!mlir_need(reader, "{") || !mlir_open_block(reader))
        return false;
    for (size_t i = 0; i < op->operands; i++)
        if (!mlir_parameter(reader, NULL, names[i].name, names[i].at, mlir_operand_type(reader, op, i)))
            return false;
    return mlir_block_body(reader) && mlir_end_region(reader, op);
}

/* while(%a = %b, …) : types [attributes {…}] cond {…} do {…} */
bool mlir_while_form(struct mlir_reader *reader, struct mlir_op *op)
{
    size_t first = reader->results.count;
    if (!mlir_need(reader, "("))
        return false;
    if (!mlir_take(reader, ')')) {
        do {
            struct mlir_result *argument = mlir_push(reader, &reader->results, sizeof *argument);
            if (!argument || !mlir_argument(reader, argument) || !mlir_need(reader, "=") ||
                !mlir_push_operand(reader, op))
                return false;
        } while (mlir_take(reader, ','));
        if (!mlir_need(reader, ")"))
            return false;
    }
    if (op->operands && !(mlir_need(reader, ":") && mlir_signature(reader, op)))
        return false;
    if (mlir_take_word(reader, "attributes") && !(mlir_need(reader, "{") && mlir_dictionary(reader, op, '}')))
        return false;
    for (int part = 0; part < 2; part++) {
        if (!mlir_need_word(reader, part ? "do" : "cond") ||
            !while_region(reader, op, (struct mlir_result *)reader->results.items + first))
            return false;
    }
    reader->results.count = first;
    return true;
}

/* scan (%a) inits (%b) dimension = 0 attributes {…} {…} : … -> … */
bool mlir_scan_form(struct mlir_reader *reader, struct mlir_op *op)
{
    struct mlir_span key;
    if (!mlir_operand_list(reader, op))
        return false;
    op->inputs = op->operands;
    if (!mlir_need_word(reader, "inits") || !mlir_operand_list(reader, op))
        return false;
    while (mlir_word(reader, &key)) {
        bool attributes = mlir_same(key, "attributes");
        if (attributes ? !mlir_need(reader, "{") || !mlir_dictionary(reader, op, '}')
                       : !mlir_need(reader, "=") || !note_value(reader, op, key))
            return false;
    }
    return mlir_region(reader, op) && mlir_need(reader, ":") && mlir_signature(reader, op);
}

/* sdy.manual_computation: a region that works on the shards of its operands. Where sizes are open, they are those of
 * the operands, divided by the sizes of the mesh's axes that shard them and are manual (Shardy's documentation of the
 * operation: global = local x product of the manual axes in the sharding of the dimension). */

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
