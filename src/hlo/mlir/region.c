#include "hlo/mlir/mlir.h"

bool mlir_block_body(struct mlir_reader *r)
{
    const char *start = r->p;
    struct mlir_block *block = &r->blocks[r->depth];
    while (!mlir_take(r, '}')) {
        if (r->p >= r->end)
            return mlir_error(r, start, "this region does not end");
        if (*r->p == '^')
            return mlir_error(r, r->p, "branches between blocks cannot be counted: expected '}'");
        if (block->terminator)
            return mlir_expected(r, "'}' after the operation that ends the region");
        if (!mlir_operation(r))
            return false;
    }
    return true;
}

/* %a */
static bool mlir_argument(struct mlir_reader *r, struct mlir_result *argument)
{
    if (mlir_peek(r) != '%')
        return mlir_expected(r, "an argument such as %arg0");
    argument->at = r->p++;
    argument->count = 1;
    return mlir_value_name(r, &argument->name);
}

/* `%a: type` */
static bool typed_argument(struct mlir_reader *r, struct mlir_result *argument,
                           const struct hlo_shape **shape)
{
    return mlir_argument(r, argument) && mlir_need(r, ":") && mlir_type(r, shape);
}

bool mlir_block_arguments(struct mlir_reader *r)
{
    if (!mlir_need(r, "("))
        return false;
    if (mlir_take(r, ')'))
        return true;
    do {
        struct mlir_result argument;
        const struct hlo_shape *shape;
        struct mlir_op attributes = {.first_attribute = r->attributes.count};
        if (!typed_argument(r, &argument, &shape) ||
            !mlir_take_dictionary(r, r->sized ? &attributes : NULL) || !mlir_skip_location(r) ||
            !mlir_parameter(r, &attributes, argument.name, argument.at, shape))
            return false;
        r->attributes.count = attributes.first_attribute;
    } while (mlir_take(r, ','));
    return mlir_need(r, ")");
}

/* Returns the value of the region, or a tuple of its values. */
static struct hlo_instruction *make_root(struct mlir_reader *r)
{
    struct mlir_block *block = &r->blocks[r->depth];
    struct hlo_instruction **returned = block->results.items;
    size_t count = block->results.count;
    if (count == 1)
        return returned[0];
    const struct hlo_shape *shape = hlo_make_tuple(&r->module->arena, returned, (int)count);
    if (!shape)
        return NULL;
    return mlir_add(r, HLO_TUPLE, mlir_place_of(r, block->terminator), "return", shape, returned, count);
}

struct hlo_computation *mlir_end_body(struct mlir_reader *r, const char *name)
{
    struct mlir_block *block = &r->blocks[r->depth];
    if (!block->terminator)
        return mlir_error(r, r->p - 1, "this region ends without a return"), NULL;
    struct hlo_instruction *root = make_root(r);
    if (!root)
        return error_memory_null(r->err);
    struct hlo_computation *computation = mlir_close_block(r, name);
    if (computation)
        computation->root = root;
    return computation;
}

static bool mlir_end_region(struct mlir_reader *r, struct mlir_op *op)
{
    const char *dot = memchr(op->name.at, '.', op->name.length);
    struct mlir_span kind = op->name;
    if (dot)
        kind = (struct mlir_span){dot + 1, (size_t)(op->name.at + op->name.length - dot - 1)};
    const char *name =
        arena_format(&r->module->arena, "%.*s.%d", (int)kind.length, kind.at, r->region_number++);
    struct hlo_computation *computation = mlir_end_body(r, name);
    op->callees++;
    return computation && mlir_push_value(r, &r->callees, computation);
}

bool mlir_block_label(struct mlir_reader *r)
{
    struct mlir_span label;
    return !mlir_take(r, '^') || (mlir_value_name(r, &label) &&
                                  (mlir_peek(r) != '(' || mlir_block_arguments(r)) && mlir_need(r, ":"));
}

/* The arguments of a loop's regions are of the types of its operands; those of other regions have sizes of their
 * own. */
static bool given_operands(struct mlir_reader *r, const struct mlir_op *op, struct mlir_signature *given)
{
    if (!r->sized || op->info->opcode != HLO_WHILE) {
        given->count = 0;
        return true;
    }
    given->shapes = ARENA_ARRAY(&r->module->arena, op->operands, const struct hlo_shape *);
    if (!given->shapes)
        return error_memory(r->err);
    for (size_t i = 0; i < op->operands; i++)
        given->shapes[i] = mlir_operand_type(r, op, i);
    return true;
}

bool mlir_region(struct mlir_reader *r, struct mlir_op *op)
{
    const struct mlir_signature *outer = r->given;
    struct mlir_signature given = {.depth = r->depth + 1, .count = op->operands};
    if (!mlir_need(r, "{") || !mlir_open_block(r) || !given_operands(r, op, &given))
        return false;
    r->given = &given;
    bool labelled = mlir_block_label(r);
    r->given = outer;
    return labelled && mlir_block_body(r) && mlir_end_region(r, op);
}

/* `applies stablehlo.add`: a region of one operation on two elements. */
static bool applied_region(struct mlir_reader *r, struct mlir_op *op, struct mlir_span name, const char *at)
{
    const struct mlir_info *info = mlir_find_op(r, name);
    if (!info || mlir_min_operands(info) != 2 || mlir_max_operands(info) != 2 || info->regions ||
        !hlo_is_elementwise(info->opcode))
        return mlir_error(r, at, "expected an operation on two elements, found '%.*s'", (int)name.length,
                          name.at);
    struct mlir_block *block = &r->blocks[r->depth + 1];
    const struct hlo_shape *element = mlir_scalar_shape(r, mlir_operand_type(r, op, 0)->type);
    if (!element || !mlir_open_block(r) ||
        !mlir_parameter(r, NULL, (struct mlir_span){"lhs", 3}, at, element) ||
        !mlir_parameter(r, NULL, (struct mlir_span){"rhs", 3}, at, element))
        return false;
    struct hlo_instruction *value =
        mlir_add(r, info->opcode, mlir_place_of(r, at), hlo_opcode_name(info->opcode), element,
                 block->parameters.items, 2);
    block->terminator = at;
    return value && mlir_push_value(r, &block->results, value) && mlir_end_region(r, op);
}

static bool note_value(struct mlir_reader *r, struct mlir_op *op, struct mlir_span key)
{
    mlir_space(r);
    return mlir_note(r, op, key, r->p) && mlir_skip_plain_value(r);
}

/* reducer(%a: t, %b: t) (%c: u, %d: u) {…}: the region's parameters are a, c, b, d. */
static bool reducer_region(struct mlir_reader *r, struct mlir_op *op, size_t inputs)
{
    size_t first = r->results.count, pairs = 0;
    size_t first_shape = r->shapes.count;
    while (mlir_take(r, '(')) {
        for (int i = 0; i < 2; i++) {
            struct mlir_result *argument = mlir_push(r, &r->results, sizeof *argument);
            const struct hlo_shape *shape;
            if (!argument || !typed_argument(r, argument, &shape) || !mlir_skip_location(r) ||
                !mlir_need(r, i ? ")" : ",") || !mlir_push_value(r, &r->shapes, shape))
                return false;
        }
        pairs++;
    }
    if (pairs != inputs)
        return mlir_error(r, r->p, "expected %zu pairs of arguments, found %zu", inputs, pairs);
    if (!mlir_open_block(r))
        return false;
    for (size_t i = 0; i < 2 * pairs; i++) {
        size_t from = i < pairs ? 2 * i : 2 * (i - pairs) + 1;
        struct mlir_result result = mlir_result_name(r, first + from);
        const struct hlo_shape *shape = ((const struct hlo_shape **)r->shapes.items)[first_shape + from];
        if (!mlir_parameter(r, NULL, result.name, result.at, shape))
            return false;
    }
    r->results.count = first;
    r->shapes.count = first_shape;
    return mlir_need(r, "{") && mlir_block_body(r) && mlir_end_region(r, op);
}

/* (%a init: %b), (%c init: %d): the operands are a, c, b, d. */
static bool reduce_operands(struct mlir_reader *r, struct mlir_op *op)
{
    do {
        if (!mlir_need(r, "(") || !mlir_push_operand(r, op) || !mlir_need_word(r, "init") ||
            !mlir_need(r, ":") || !mlir_push_operand(r, op) || !mlir_need(r, ")"))
            return false;
    } while (mlir_take(r, ','));
    size_t count = op->operands, inputs = count / 2;
    for (size_t i = 0; i < count; i++)
        if (!mlir_push(r, &r->operands, sizeof(struct hlo_instruction *)))
            return false;
    struct hlo_instruction **operands = mlir_operands(r, op);
    for (size_t i = 0; i < count; i++)
        operands[count + i] = operands[i < inputs ? 2 * i : 2 * (i - inputs) + 1];
    memcpy(operands, operands + count, count * sizeof *operands);
    r->operands.count -= count;
    return true;
}

/* reduce(%a init: %b) applies stablehlo.add across dimensions = [1] : …, or
 * reduce(%a init: %b) across dimensions = [1] : … reducer(%x: t, %y: t) {…} */
bool mlir_reduce_form(struct mlir_reader *r, struct mlir_op *op)
{
    struct mlir_span name = {0};
    if (!reduce_operands(r, op))
        return false;
    if (mlir_take_word(r, "applies")) {
        const char *at = (mlir_space(r), r->p);
        if (!mlir_word(r, &name))
            return mlir_expected(r, "an operation's name");
        if (!applied_region(r, op, name, at))
            return false;
    }
    if (!mlir_need_word(r, "across") || !mlir_take_word(r, "dimensions"))
        return mlir_expected(r, "'dimensions'");
    if (!mlir_need(r, "=") || !note_value(r, op, (struct mlir_span){"dimensions", 10}) ||
        !mlir_take_dictionary(r, op) || !mlir_need(r, ":") || !mlir_signature(r, op))
        return false;
    if (name.at || !mlir_skip_location(r))
        return name.at != NULL;
    if (!mlir_need_word(r, "reducer"))
        return false;
    return reducer_region(r, op, op->operands / 2);
}

/* A region of while(%a = %b, …), whose arguments are named there. */
static bool while_region(struct mlir_reader *r, struct mlir_op *op, const struct mlir_result *names)
{
    if (!mlir_need(r, "{") || !mlir_open_block(r))
        return false;
    for (size_t i = 0; i < op->operands; i++)
        if (!mlir_parameter(r, NULL, names[i].name, names[i].at, mlir_operand_type(r, op, i)))
            return false;
    return mlir_block_body(r) && mlir_end_region(r, op);
}

/* while(%a = %b, …) : types [attributes {…}] cond {…} do {…} */
bool mlir_while_form(struct mlir_reader *r, struct mlir_op *op)
{
    size_t first = r->results.count;
    if (!mlir_need(r, "("))
        return false;
    if (!mlir_take(r, ')')) {
        do {
            struct mlir_result *argument = mlir_push(r, &r->results, sizeof *argument);
            if (!argument || !mlir_argument(r, argument) || !mlir_need(r, "=") || !mlir_push_operand(r, op))
                return false;
        } while (mlir_take(r, ','));
        if (!mlir_need(r, ")"))
            return false;
    }
    if (op->operands && !(mlir_need(r, ":") && mlir_signature(r, op)))
        return false;
    if (mlir_take_word(r, "attributes") && !(mlir_need(r, "{") && mlir_dictionary(r, op, '}')))
        return false;
    for (int part = 0; part < 2; part++) {
        if (!mlir_need_word(r, part ? "do" : "cond") ||
            !while_region(r, op, (struct mlir_result *)r->results.items + first))
            return false;
    }
    r->results.count = first;
    return true;
}

/* scan (%a) inits (%b) dimension = 0 attributes {…} {…} : … -> … */
bool mlir_scan_form(struct mlir_reader *r, struct mlir_op *op)
{
    struct mlir_span key;
    if (!mlir_operand_list(r, op))
        return false;
    op->inputs = op->operands;
    if (!mlir_need_word(r, "inits") || !mlir_operand_list(r, op))
        return false;
    while (mlir_word(r, &key)) {
        bool attributes = mlir_same(key, "attributes");
        if (attributes ? !mlir_need(r, "{") || !mlir_dictionary(r, op, '}')
                       : !mlir_need(r, "=") || !note_value(r, op, key))
            return false;
    }
    return mlir_region(r, op) && mlir_need(r, ":") && mlir_signature(r, op);
}

/* sdy.manual_computation: a region that works on the shards of its operands. Where sizes are open, they are those of
 * the operands, divided by the sizes of the mesh's axes that shard them and are manual (Shardy's documentation of the
 * operation: global = local x product of the manual axes in the sharding of the dimension). */

struct manual {
    const char *in, *out; /* lists of shardings; NULL: none */
    const char *axes;     /* {"x", "y"} */
};

/* Returns whether an axis is manual. */
static bool is_manual(struct mlir_reader *r, const struct manual *manual, struct mlir_span axis)
{
    const char *after = r->p;
    struct mlir_span name;
    bool found = false;
    r->p = manual->axes ? manual->axes + 1 : r->end;
    while (!found && mlir_peek(r) == '"' && mlir_string(r, &name)) {
        found = name.length == axis.length && memcmp(name.at, axis.at, name.length) == 0;
        mlir_take(r, ',');
    }
    r->p = after;
    return found;
}

/* Finds the size of an axis in <["x"=2, "y"=4]>. */
static bool axis_size(struct mlir_reader *r, const char *mesh, struct mlir_span axis, int64_t *size)
{
    const char *after = r->p;
    struct mlir_span name;
    *size = 0;
    r->p = mesh;
    if (!mlir_need(r, "<") || !mlir_need(r, "["))
        return false;
    while (*size == 0 && mlir_peek(r) == '"') {
        int64_t length;
        if (!mlir_string(r, &name) || !mlir_need(r, "=") || !mlir_integer(r, &length))
            return false;
        if (name.length == axis.length && memcmp(name.at, axis.at, name.length) == 0)
            *size = length;
        mlir_take(r, ',');
    }
    r->p = after;
    return *size > 0 || mlir_error(r, axis.at, "the mesh has no axis '%.*s'", (int)axis.length, axis.at);
}

/* {"x", "y":(1)2, ?}: multiplies the factor by the sizes of manual axes. */
static bool read_axes(struct mlir_reader *r, const struct manual *manual, const char *mesh, int64_t *factor)
{
    int64_t size, before;
    struct mlir_span axis;
    *factor = 1;
    if (!mlir_need(r, "{"))
        return false;
    while (!mlir_take(r, '}')) {
        mlir_take(r, ',');
        if (mlir_take(r, '?'))
            continue;
        if (mlir_peek(r) != '"')
            return mlir_expected(r, "an axis");
        if (!mlir_string(r, &axis) || !axis_size(r, mesh, axis, &size))
            return false;
        if (mlir_take(r, ':') && (!mlir_need(r, "(") || !mlir_integer(r, &before) || !mlir_need(r, ")") ||
                                  !mlir_integer(r, &size)))
            return false;
        if (is_manual(r, manual, axis) && (size < 1 || __builtin_mul_overflow(*factor, size, factor)))
            return mlir_error(r, axis.at, "an axis of size %lld", (long long)size);
    }
    struct mlir_span priority;
    if (mlir_peek(r) == 'p')
        mlir_word(r, &priority);
    mlir_take(r, ',');
    return true;
}

/* Reads how many shards each dimension of a value has: of the sharding of this number in the list. */
static bool read_shards(struct mlir_reader *r, const struct manual *manual, const char *list, size_t index,
                        int rank, int64_t *shards)
{
    struct mlir_span name;
    if (!list || *list != '[')
        return mlir_error(r, list ? list : r->p, "expected a list of shardings");
    r->p = list + 1;
    for (size_t i = 0; i < index; i++)
        if (mlir_peek(r) != '<' || !mlir_skip_balanced(r) || !mlir_take(r, ','))
            return mlir_expected(r, "a sharding for each value");
    if (!mlir_need(r, "<"))
        return false;
    const char *mesh = (mlir_space(r), r->p);
    if (mlir_take_word(r, "mesh")) {
        mesh = (mlir_space(r), r->p);
        if (mlir_peek(r) != '<' || !mlir_skip_balanced(r))
            return mlir_expected(r, "a mesh");
    } else {
        if (!mlir_symbol(r, &name))
            return false;
        const char *found = mlir_alias(r, (struct mlir_span){mesh, (size_t)(r->p - mesh)});
        if (!found)
            return mlir_error(r, mesh, "unknown mesh '%.*s'", (int)name.length, name.at);
        mesh = found;
    }
    if (!mlir_need(r, ",") || !mlir_need(r, "["))
        return false;
    for (int d = 0; d < rank; d++)
        if (!read_axes(r, manual, mesh, &shards[d]))
            return false;
    return true;
}

/* Computes the shapes of the region's arguments. */
static bool size_arguments(struct mlir_reader *r, const struct mlir_op *op, const struct manual *manual,
                           struct mlir_signature *given)
{
    int64_t dims[HLO_MAX_RANK], shards[HLO_MAX_RANK];
    const char *after = r->p;
    given->depth = r->depth + 1;
    given->count = op->operands;
    given->shapes = ARENA_ARRAY(&r->module->arena, op->operands, const struct hlo_shape *);
    given->known = ARENA_ARRAY(&r->module->arena, op->operands, struct hlo_ints);
    if (!given->shapes || !given->known)
        return error_memory(r->err);
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *shape = mlir_operand_type(r, op, i);
        given->shapes[i] = shape;
        if (shape->rank == 0) {
            if (!mlir_known(r, mlir_operand(r, op, i), &given->known[i]))
                return false;
            continue;
        }
        if (!read_shards(r, manual, manual->in, i, shape->rank, shards))
            return false;
        for (int d = 0; d < shape->rank; d++) {
            if (shape->dims[d] % shards[d])
                return mlir_error(r, op->at,
                                  "dimension %d of operand %zu, %lld, is not a multiple of %lld shards", d,
                                  i + 1, (long long)shape->dims[d], (long long)shards[d]);
            dims[d] = shape->dims[d] / shards[d];
        }
        given->shapes[i] = mlir_array_shape(r, shape->type, dims, shape->rank);
        if (!given->shapes[i])
            return false;
    }
    r->p = after;
    return true;
}

/* Gives open sizes of the results those of the region's, times the shards. */
static bool size_results(struct mlir_reader *r, const struct mlir_op *op, const struct manual *manual)
{
    int64_t dims[HLO_MAX_RANK], shards[HLO_MAX_RANK];
    const struct hlo_computation *region = mlir_callee(r, op, 0);
    const char *after = r->p;
    for (size_t i = 0; i < op->result_types; i++) {
        const struct hlo_shape *root = region->root->shape, *local = root;
        if (root->type == HLO_TYPE_TUPLE)
            local = i < (size_t)root->part_count ? root->parts[i] : NULL;
        if (!local || mlir_is_sized(mlir_result_type(r, op, i)))
            continue;
        if (!read_shards(r, manual, manual->out, i, local->rank, shards))
            return false;
        for (int d = 0; d < local->rank; d++)
            if (__builtin_mul_overflow(local->dims[d], shards[d], &dims[d]))
                return mlir_error(r, op->at, "this array has more than 2^53 elements");
        if (!mlir_fill(r, op, i, dims, local->rank))
            return false;
    }
    r->p = after;
    return true;
}

/* sdy.manual_computation(%a) in_shardings=[…] out_shardings=[…] manual_axes={…} (%b: type) {…} : … -> … */
bool mlir_manual_form(struct mlir_reader *r, struct mlir_op *op)
{
    struct mlir_span key;
    struct manual manual = {0};
    struct mlir_signature given = {0};
    const struct mlir_signature *outer = r->given;
    if (!mlir_operand_list(r, op))
        return false;
    while (mlir_word(r, &key)) {
        if (!mlir_need(r, "="))
            return false;
        mlir_space(r);
        *(mlir_same(key, "in_shardings")    ? &manual.in
          : mlir_same(key, "out_shardings") ? &manual.out
                                            : &manual.axes) = r->p;
        if (!mlir_skip_plain_value(r))
            return false;
    }
    if (r->sized && !size_arguments(r, op, &manual, &given))
        return false;
    if (!mlir_open_block(r))
        return false;
    r->given = r->sized ? &given : outer;
    bool has_arguments = mlir_block_arguments(r);
    r->given = outer;
    return has_arguments && mlir_need(r, "{") && mlir_block_body(r) && mlir_end_region(r, op) &&
           mlir_need(r, ":") && mlir_signature(r, op) && (!r->sized || size_results(r, op, &manual));
}
