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

bool mlir_argument(struct mlir_reader *reader, struct mlir_result *argument)
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

bool mlir_end_region(struct mlir_reader *reader, struct mlir_op *op)
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

/* The arguments of a loop's regions are of the types of its operands; those of other regions have sizes of their own. */
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
