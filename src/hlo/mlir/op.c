#include "hlo/mlir/mlir.h"

#include "core/progress.h"
#include "core/stop.h"

/* `%0, %a:2 =` */
static bool read_results(struct mlir_reader *reader, struct mlir_op *op)
{
    do {
        struct mlir_result *result = mlir_push(reader, &reader->results, sizeof(struct mlir_result));
        if (!result)
            return false;
        if (mlir_peek(reader) != '%')
            return mlir_expected(reader, "a value's name");
        result->at = reader->p++;
        result->count = 1;
        if (!mlir_value_name(reader, &result->name))
            return false;
        mlir_prefetch(reader, result->name);
        if (mlir_take(reader, ':') && !mlir_integer(reader, &result->count))
            return false;
        if (result->count < 1)
            return mlir_error(reader, result->at, "expected at least one result");
        op->result_names++;
    } while (mlir_take(reader, ','));
    return mlir_need(reader, "=");
}

bool mlir_push_operand(struct mlir_reader *reader, struct mlir_op *op)
{
    struct hlo_instruction *value;
    if (!mlir_use(reader, &value))
        return false;
    op->operands++;
    return mlir_push_value(reader, &reader->operands, value);
}

/* `(a, b) -> c`, `a, b -> (c, d)`, or only `a, b`; after ':'. */
bool mlir_signature(struct mlir_reader *reader, struct mlir_op *op)
{
    size_t count;
    bool list = mlir_peek(reader) == '(';
    op->first_type = reader->shapes.count;
    if (!mlir_push_types(reader, &op->operand_types))
        return false;
    while (!list && mlir_take(reader, ',')) {
        if (!mlir_push_type(reader))
            return false;
        op->operand_types++;
    }
    op->arrow = mlir_take_token(reader, "->");
    if (!op->arrow)
        return !list || mlir_expected(reader, "'->'");
    if (!mlir_push_types(reader, &count))
        return false;
    op->result_types = count;
    return true;
}

/* Completes the types that a short form leaves out: one type is that of all operands and results. */
static bool complete_types(struct mlir_reader *reader, struct mlir_op *op)
{
    size_t given = op->operand_types;
    enum hlo_opcode opcode = op->info->opcode;
    const struct hlo_shape *last =
        ((const struct hlo_shape **)reader->shapes.items)[reader->shapes.count - 1];
    bool whole = given == 1 && opcode != HLO_OPT_BARRIER && opcode != HLO_WHILE;
    bool computes_type = opcode == HLO_TUPLE || opcode == HLO_COMPLEX || opcode == HLO_REAL ||
                         opcode == HLO_IMAG || opcode == HLO_CONSTANT;
    if (whole || (opcode == HLO_SELECT && given == 2)) {
        reader->shapes.count = op->first_type;
        for (size_t i = 0; i <= op->operands; i++) {
            bool same =
                i == op->operands || !(computes_type || (opcode == HLO_SELECT && given == 2 && i == 0));
            if (!mlir_push_value(reader, &reader->shapes, same ? last : mlir_operand_type(reader, op, i)))
                return false;
        }
        op->operand_types = op->operands;
        op->result_types = 1;
        return true;
    }
    if (given != op->operands)
        return mlir_expected(reader, "'->'");
    for (size_t i = 0; i < given; i++) /* results are of the operands' types */
        if (!mlir_push_value(reader, &reader->shapes, mlir_operand_type(reader, op, i)))
            return false;
    op->result_types = given;
    return true;
}

bool mlir_operand_list(struct mlir_reader *reader, struct mlir_op *op)
{
    if (!mlir_need(reader, "("))
        return false;
    if (mlir_take(reader, ')'))
        return true;
    do {
        if (!mlir_push_operand(reader, op))
            return false;
    } while (mlir_take(reader, ','));
    return mlir_need(reader, ")");
}

bool mlir_take_dictionary(struct mlir_reader *reader, struct mlir_op *op)
{
    return !mlir_take(reader, '{') || mlir_dictionary(reader, op, '}');
}

bool mlir_properties(struct mlir_reader *reader, struct mlir_op *op)
{
    return !mlir_take_token(reader, "<{") || (mlir_dictionary(reader, op, '}') && mlir_need(reader, ">"));
}

/* [<{…}>] [({…}, {…})] [{…}] : (…) -> …, after the name. */
static bool generic_form(struct mlir_reader *reader, struct mlir_op *op)
{
    if (!mlir_operand_list(reader, op))
        return false;
    if (mlir_peek(reader) == '[')
        return mlir_error(reader, reader->p, "branches between blocks cannot be counted");
    if (!mlir_properties(reader, op))
        return false;
    if (mlir_take(reader, '(')) {
        do {
            if (!mlir_region(reader, op))
                return false;
        } while (mlir_take(reader, ','));
        if (!mlir_need(reader, ")"))
            return false;
    }
    if (!mlir_take_dictionary(reader, op) || !mlir_need(reader, ":"))
        return false;
    if (mlir_peek(reader) != '(')
        return mlir_expected(reader, "'('");
    return mlir_signature(reader, op);
}

/* A word of the short form: `key = value`, or by itself (LT, FLOAT), which is noted under the name "word". */
static bool plain_word(struct mlir_reader *reader, struct mlir_op *op)
{
    struct mlir_span word;
    if (!mlir_word(reader, &word))
        return mlir_expected(reader, "':'");
    if (!mlir_take(reader, '='))
        return mlir_find(reader, op, "word") || mlir_note(reader, op, (struct mlir_span){"word", 4}, word.at);
    mlir_space(reader);
    return mlir_note(reader, op, word, reader->p) && mlir_skip_plain_value(reader);
}

/* Reads a part before ':' that is no operand: [0:4] of slice, @target, "name", <@mesh, …>, attributes. */
static bool plain_part(struct mlir_reader *reader, struct mlir_op *op, char c)
{
    struct mlir_span text;
    const char *at = reader->p;
    if (c == '{') {
        reader->p++;
        return mlir_dictionary(reader, op, '}');
    }
    if (c == '@')
        return mlir_symbol(reader, &text) && mlir_note(reader, op, (struct mlir_span){"@", 1}, at);
    if (c == '"')
        return mlir_string(reader, &text) && mlir_note(reader, op, (struct mlir_span){"\"", 1}, at);
    if (c == '[' || c == '<')
        return mlir_note(reader, op, (struct mlir_span){"[", 1}, at) && mlir_skip_balanced(reader);
    return plain_word(reader, op);
}

/* %a, %b, key = value, … {attributes} : types; operands may stand in parentheses. */
static bool plain_form(struct mlir_reader *reader, struct mlir_op *op)
{
    bool comma = true, open = false;
    for (;;) {
        char c = mlir_peek(reader);
        if (c == ':')
            break;
        if (c == '%') {
            if (!comma)
                return mlir_expected(reader, "','");
            if (!mlir_push_operand(reader, op))
                return false;
        } else if (c == '(' && !open && !op->operands) {
            reader->p++;
            open = comma = true;
            if (mlir_peek(reader) == ')')
                comma = false;
            continue;
        } else if (c == ')' && open && !comma) {
            reader->p++;
            open = false;
            continue;
        } else if (!plain_part(reader, op, c)) {
            return false;
        }
        comma = mlir_take(reader, ',') || c == '"'; /* composite "name" %a */
    }
    if (open || (comma && op->operands))
        return mlir_expected(reader, open ? "')'" : "a value");
    reader->p++;
    return mlir_signature(reader, op);
}

/* constant dense<0> : tensor<f32>, true */
static bool constant_form(struct mlir_reader *reader, struct mlir_op *op)
{
    if (mlir_peek(reader) == '(')
        return plain_form(reader, op);
    if (!mlir_take_dictionary(reader, op))
        return false;
    mlir_space(reader);
    if (!mlir_note(reader, op, (struct mlir_span){"value", 5}, reader->p) || !mlir_skip_untyped(reader))
        return false;
    op->first_type = reader->shapes.count;
    op->result_types = 1;
    if (mlir_take(reader, ':'))
        return mlir_push_type(reader);
    const struct hlo_shape *shape = mlir_scalar_shape(reader, HLO_TYPE_PRED);
    return shape ? mlir_push_value(reader, &reader->shapes, shape) : error_memory(reader->err);
}

static bool return_form(struct mlir_reader *reader, struct mlir_op *op)
{
    if (mlir_peek(reader) != '%')
        return true;
    do {
        if (!mlir_push_operand(reader, op))
            return false;
    } while (mlir_take(reader, ','));
    return mlir_need(reader, ":") && mlir_signature(reader, op);
}

/* The block ends with these values. */
static bool end_block(struct mlir_reader *reader, struct mlir_op *op)
{
    struct mlir_block *block = &reader->blocks[reader->depth];
    block->terminator = op->at;
    for (size_t i = 0; i < op->operands; i++)
        if (!mlir_push_value(reader, &block->results, mlir_operand(reader, op, i)))
            return false;
    return true;
}

static bool check_operands(struct mlir_reader *reader, const struct mlir_op *op)
{
    char given[128], defined[128];
    const struct mlir_info *info = op->info;
    if (op->operand_types != op->operands)
        return mlir_op_error(reader, op, "expected types of %zu operands, found %zu", op->operands,
                             op->operand_types);
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *type = ((const struct hlo_shape **)reader->shapes.items)[op->first_type + i];
        const struct hlo_shape *shape = mlir_operand_type(reader, op, i);
        if (type != shape && !hlo_shape_equal(type, shape))
            return mlir_op_error(reader, op, "operand %zu has type %s, the operation says %s", i + 1,
                                 hlo_shape_text(shape, defined, sizeof defined),
                                 hlo_shape_text(type, given, sizeof given));
    }
    int min = mlir_min_operands(info), max = mlir_max_operands(info);
    if (op->operands < (size_t)min || (max != HLO_ANY && op->operands > (size_t)max))
        return mlir_op_error(reader, op, "expected %s%d operands, found %zu", max == min ? "" : "at least ",
                             min, op->operands);
    if (info->regions >= 0 ? op->callees != (size_t)info->regions : info->regions == -1 && !op->callees)
        return mlir_op_error(reader, op, "expected %s regions, found %zu",
                             info->regions == 0   ? "no"
                             : info->regions == 1 ? "1"
                             : info->regions == 2 ? "2"
                                                  : "some",
                             op->callees);
    return true;
}

static bool define_results(struct mlir_reader *reader, struct mlir_op *op)
{
    int64_t names = 0, types = (int64_t)op->result_types, part = 0;
    for (size_t i = 0; i < op->result_names; i++) {
        int64_t count = mlir_result_name(reader, op->first_result + i).count;
        names = count > types - names ? types + 1 : names + count;
    }
    if (op->result_names && names != types)
        return mlir_op_error(reader, op, "expected names for %lld results, found %s", (long long)types,
                             names > types ? "more" : "fewer");
    for (size_t i = 0; i < op->result_names; i++) {
        struct mlir_result result = mlir_result_name(reader, op->first_result + i);
        for (int64_t k = 0; k < result.count; k++, part++)
            if (!mlir_define(reader, result.name, (uint32_t)k, result.at, op->instruction,
                             types == 1 ? -1 : part))
                return false;
    }
    return true;
}

static bool read_form(struct mlir_reader *reader, struct mlir_op *op, bool generic)
{
    if (generic)
        return generic_form(reader, op);
    switch (op->info->form) {
    case MLIR_CONSTANT:
        return constant_form(reader, op);
    case MLIR_REDUCE:
        return mlir_reduce_form(reader, op);
    case MLIR_WHILE:
        return mlir_while_form(reader, op);
    case MLIR_MANUAL:
        return mlir_manual_form(reader, op);
    case MLIR_SCAN:
        return mlir_scan_form(reader, op);
    case MLIR_RETURN:
        return return_form(reader, op);
    default:
        return plain_form(reader, op);
    }
}

static bool read_name(struct mlir_reader *reader, struct mlir_op *op, bool *generic)
{
    *generic = mlir_peek(reader) == '"';
    const char *at = reader->p;
    if (!op->result_names)
        op->at = at;
    if (*generic && !mlir_string(reader, &op->name))
        return false;
    if (!*generic && !mlir_word(reader, &op->name))
        return mlir_expected(reader, "an operation");
    op->info = mlir_find_op(reader, op->name);
    return op->info || mlir_unknown_op(reader, op->name, at);
}

/* Every size of the result must be known now; and its value may be. */
static bool finish_sizes(struct mlir_reader *reader, const struct mlir_op *op)
{
    if (op->instruction && !mlir_is_sized(op->instruction->shape))
        return mlir_op_error(reader, op,
                             "expected a static size, found '?': the size of its result depends on values "
                             "known only at run time");
    return mlir_fold(reader, op);
}

static bool finish_operation(struct mlir_reader *reader, struct mlir_op *op)
{
    bool returns = op->info->form == MLIR_RETURN, ignored = op->info->form == MLIR_IGNORED;
    if (!op->arrow && op->operand_types && !returns && !ignored && !complete_types(reader, op))
        return false;
    if (!mlir_skip_location(reader) || !check_operands(reader, op))
        return false;
    if (returns)
        return end_block(reader, op);
    const char *after = reader->p; /* the builders go to the values of attributes */
    bool built = ignored || (op->info->build(reader, op) && (!reader->sized || finish_sizes(reader, op)) &&
                             define_results(reader, op));
    reader->p = built ? after : reader->p;
    return built;
}

bool mlir_operation(struct mlir_reader *reader)
{
    bool generic;
    struct mlir_op op = {
        .first_result = reader->results.count,
        .first_operand = reader->operands.count,
        .first_attribute = reader->attributes.count,
        .first_callee = reader->callees.count,
        .first_type = reader->shapes.count,
    };
    size_t first_type = reader->shapes.count;
    if (reader->operations % STOP_STEPS == 0)
        progress_tell("%zu operations read", reader->operations);
    if (stop_obeyed_at(reader->operations++, reader->err))
        return false;
    if (mlir_peek(reader) == '%') {
        op.at = reader->p;
        if (!read_results(reader, &op))
            return false;
    }
    if (!read_name(reader, &op, &generic))
        return false;
    op.place = mlir_place_of(reader, op.at);
    if (!read_form(reader, &op, generic) || !finish_operation(reader, &op))
        return false;
    reader->results.count = op.first_result;
    reader->operands.count = op.first_operand;
    reader->attributes.count = op.first_attribute;
    reader->callees.count = op.first_callee;
    reader->shapes.count = first_type;
    return true;
}
