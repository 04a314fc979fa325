#include "hlo/mlir/mlir.h"

#include "core/progress.h"
#include "core/stop.h"

/* `%0, %a:2 =` */
static bool read_results(struct mlir_reader *r, struct mlir_op *op)
{
    do {
        struct mlir_result *result = mlir_push(r, &r->results, sizeof(struct mlir_result));
        if (!result)
            return false;
        if (mlir_peek(r) != '%')
            return mlir_expected(r, "a value's name");
        result->at = r->p++;
        result->count = 1;
        if (!mlir_value_name(r, &result->name))
            return false;
        mlir_prefetch(r, result->name);
        if (mlir_take(r, ':') && !mlir_integer(r, &result->count))
            return false;
        if (result->count < 1)
            return mlir_error(r, result->at, "expected at least one result");
        op->result_names++;
    } while (mlir_take(r, ','));
    return mlir_need(r, "=");
}

bool mlir_push_operand(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_instruction *value;
    if (!mlir_use(r, &value))
        return false;
    op->operands++;
    return mlir_push_value(r, &r->operands, value);
}

/* `(a, b) -> c`, `a, b -> (c, d)`, or only `a, b`; after ':'. */
bool mlir_signature(struct mlir_reader *r, struct mlir_op *op)
{
    size_t count;
    bool list = mlir_peek(r) == '(';
    op->first_type = r->shapes.count;
    if (!mlir_push_types(r, &op->operand_types))
        return false;
    while (!list && mlir_take(r, ',')) {
        if (!mlir_push_type(r))
            return false;
        op->operand_types++;
    }
    op->arrow = mlir_take_token(r, "->");
    if (!op->arrow)
        return !list || mlir_expected(r, "'->'");
    if (!mlir_push_types(r, &count))
        return false;
    op->result_types = count;
    return true;
}

/* Completes the types that a short form leaves out: one type is that of all operands and results. */
static bool complete_types(struct mlir_reader *r, struct mlir_op *op)
{
    size_t given = op->operand_types;
    enum hlo_opcode opcode = op->info->opcode;
    const struct hlo_shape *last = ((const struct hlo_shape **)r->shapes.items)[r->shapes.count - 1];
    bool whole = given == 1 && opcode != HLO_OPT_BARRIER && opcode != HLO_WHILE;
    bool computes_type = opcode == HLO_TUPLE || opcode == HLO_COMPLEX || opcode == HLO_REAL ||
                         opcode == HLO_IMAG || opcode == HLO_CONSTANT;
    if (whole || (opcode == HLO_SELECT && given == 2)) {
        r->shapes.count = op->first_type;
        for (size_t i = 0; i <= op->operands; i++) {
            bool same =
                i == op->operands || !(computes_type || (opcode == HLO_SELECT && given == 2 && i == 0));
            if (!mlir_push_value(r, &r->shapes, same ? last : mlir_operand_type(r, op, i)))
                return false;
        }
        op->operand_types = op->operands;
        op->result_types = 1;
        return true;
    }
    if (given != op->operands)
        return mlir_expected(r, "'->'");
    for (size_t i = 0; i < given; i++) /* results are of the operands' types */
        if (!mlir_push_value(r, &r->shapes, mlir_operand_type(r, op, i)))
            return false;
    op->result_types = given;
    return true;
}

bool mlir_operand_list(struct mlir_reader *r, struct mlir_op *op)
{
    if (!mlir_need(r, "("))
        return false;
    if (mlir_take(r, ')'))
        return true;
    do {
        if (!mlir_push_operand(r, op))
            return false;
    } while (mlir_take(r, ','));
    return mlir_need(r, ")");
}

bool mlir_take_dictionary(struct mlir_reader *r, struct mlir_op *op)
{
    return !mlir_take(r, '{') || mlir_dictionary(r, op, '}');
}

bool mlir_properties(struct mlir_reader *r, struct mlir_op *op)
{
    return !mlir_take_token(r, "<{") || (mlir_dictionary(r, op, '}') && mlir_need(r, ">"));
}

/* [<{…}>] [({…}, {…})] [{…}] : (…) -> …, after the name. */
static bool generic_form(struct mlir_reader *r, struct mlir_op *op)
{
    if (!mlir_operand_list(r, op))
        return false;
    if (mlir_peek(r) == '[')
        return mlir_error(r, r->p, "branches between blocks cannot be counted");
    if (!mlir_properties(r, op))
        return false;
    if (mlir_take(r, '(')) {
        do {
            if (!mlir_region(r, op))
                return false;
        } while (mlir_take(r, ','));
        if (!mlir_need(r, ")"))
            return false;
    }
    if (!mlir_take_dictionary(r, op) || !mlir_need(r, ":"))
        return false;
    if (mlir_peek(r) != '(')
        return mlir_expected(r, "'('");
    return mlir_signature(r, op);
}

/* A word of the short form: `key = value`, or by itself (LT, FLOAT), which is noted under the name "word". */
static bool plain_word(struct mlir_reader *r, struct mlir_op *op)
{
    struct mlir_span word;
    if (!mlir_word(r, &word))
        return mlir_expected(r, "':'");
    if (!mlir_take(r, '='))
        return mlir_find(r, op, "word") || mlir_note(r, op, (struct mlir_span){"word", 4}, word.at);
    mlir_space(r);
    return mlir_note(r, op, word, r->p) && mlir_skip_plain_value(r);
}

/* Reads a part before ':' that is no operand: [0:4] of slice, @target, "name", <@mesh, …>, attributes. */
static bool plain_part(struct mlir_reader *r, struct mlir_op *op, char c)
{
    struct mlir_span text;
    const char *at = r->p;
    if (c == '{') {
        r->p++;
        return mlir_dictionary(r, op, '}');
    }
    if (c == '@')
        return mlir_symbol(r, &text) && mlir_note(r, op, (struct mlir_span){"@", 1}, at);
    if (c == '"')
        return mlir_string(r, &text) && mlir_note(r, op, (struct mlir_span){"\"", 1}, at);
    if (c == '[' || c == '<')
        return mlir_note(r, op, (struct mlir_span){"[", 1}, at) && mlir_skip_balanced(r);
    return plain_word(r, op);
}

/* %a, %b, key = value, … {attributes} : types; operands may stand in parentheses. */
static bool plain_form(struct mlir_reader *r, struct mlir_op *op)
{
    bool comma = true, open = false;
    for (;;) {
        char c = mlir_peek(r);
        if (c == ':')
            break;
        if (c == '%') {
            if (!comma)
                return mlir_expected(r, "','");
            if (!mlir_push_operand(r, op))
                return false;
        } else if (c == '(' && !open && !op->operands) {
            r->p++;
            open = comma = true;
            if (mlir_peek(r) == ')')
                comma = false;
            continue;
        } else if (c == ')' && open && !comma) {
            r->p++;
            open = false;
            continue;
        } else if (!plain_part(r, op, c)) {
            return false;
        }
        comma = mlir_take(r, ',') || c == '"'; /* composite "name" %a */
    }
    if (open || (comma && op->operands))
        return mlir_expected(r, open ? "')'" : "a value");
    r->p++;
    return mlir_signature(r, op);
}

/* constant dense<0> : tensor<f32>, true */
static bool constant_form(struct mlir_reader *r, struct mlir_op *op)
{
    if (mlir_peek(r) == '(')
        return plain_form(r, op);
    if (!mlir_take_dictionary(r, op))
        return false;
    mlir_space(r);
    if (!mlir_note(r, op, (struct mlir_span){"value", 5}, r->p) || !mlir_skip_untyped(r))
        return false;
    op->first_type = r->shapes.count;
    op->result_types = 1;
    if (mlir_take(r, ':'))
        return mlir_push_type(r);
    const struct hlo_shape *shape = mlir_scalar_shape(r, HLO_TYPE_PRED);
    return shape ? mlir_push_value(r, &r->shapes, shape) : error_memory(r->err);
}

static bool return_form(struct mlir_reader *r, struct mlir_op *op)
{
    if (mlir_peek(r) != '%')
        return true;
    do {
        if (!mlir_push_operand(r, op))
            return false;
    } while (mlir_take(r, ','));
    return mlir_need(r, ":") && mlir_signature(r, op);
}

/* The block ends with these values. */
static bool end_block(struct mlir_reader *r, struct mlir_op *op)
{
    struct mlir_block *block = &r->blocks[r->depth];
    block->terminator = op->at;
    for (size_t i = 0; i < op->operands; i++)
        if (!mlir_push_value(r, &block->results, mlir_operand(r, op, i)))
            return false;
    return true;
}

static bool check_operands(struct mlir_reader *r, const struct mlir_op *op)
{
    char given[128], defined[128];
    const struct mlir_info *info = op->info;
    if (op->operand_types != op->operands)
        return mlir_op_error(r, op, "expected types of %zu operands, found %zu", op->operands,
                             op->operand_types);
    for (size_t i = 0; i < op->operands; i++) {
        const struct hlo_shape *type = ((const struct hlo_shape **)r->shapes.items)[op->first_type + i];
        const struct hlo_shape *shape = mlir_operand_type(r, op, i);
        if (type != shape && !hlo_shape_equal(type, shape))
            return mlir_op_error(r, op, "operand %zu has type %s, the operation says %s", i + 1,
                                 hlo_shape_text(shape, defined, sizeof defined),
                                 hlo_shape_text(type, given, sizeof given));
    }
    int min = mlir_min_operands(info), max = mlir_max_operands(info);
    if (op->operands < (size_t)min || (max != HLO_ANY && op->operands > (size_t)max))
        return mlir_op_error(r, op, "expected %s%d operands, found %zu", max == min ? "" : "at least ", min,
                             op->operands);
    if (info->regions >= 0 ? op->callees != (size_t)info->regions : info->regions == -1 && !op->callees)
        return mlir_op_error(r, op, "expected %s regions, found %zu",
                             info->regions == 0   ? "no"
                             : info->regions == 1 ? "1"
                             : info->regions == 2 ? "2"
                                                  : "some",
                             op->callees);
    return true;
}

static bool define_results(struct mlir_reader *r, struct mlir_op *op)
{
    int64_t names = 0, types = (int64_t)op->result_types, part = 0;
    for (size_t i = 0; i < op->result_names; i++) {
        int64_t count = mlir_result_name(r, op->first_result + i).count;
        names = count > types - names ? types + 1 : names + count;
    }
    if (op->result_names && names != types)
        return mlir_op_error(r, op, "expected names for %lld results, found %s", (long long)types,
                             names > types ? "more" : "fewer");
    for (size_t i = 0; i < op->result_names; i++) {
        struct mlir_result result = mlir_result_name(r, op->first_result + i);
        for (int64_t k = 0; k < result.count; k++, part++)
            if (!mlir_define(r, result.name, (uint32_t)k, result.at, op->instruction, types == 1 ? -1 : part))
                return false;
    }
    return true;
}

static bool read_form(struct mlir_reader *r, struct mlir_op *op, bool generic)
{
    if (generic)
        return generic_form(r, op);
    switch (op->info->form) {
    case MLIR_CONSTANT:
        return constant_form(r, op);
    case MLIR_REDUCE:
        return mlir_reduce_form(r, op);
    case MLIR_WHILE:
        return mlir_while_form(r, op);
    case MLIR_MANUAL:
        return mlir_manual_form(r, op);
    case MLIR_SCAN:
        return mlir_scan_form(r, op);
    case MLIR_RETURN:
        return return_form(r, op);
    default:
        return plain_form(r, op);
    }
}

static bool read_name(struct mlir_reader *r, struct mlir_op *op, bool *generic)
{
    *generic = mlir_peek(r) == '"';
    const char *at = r->p;
    if (!op->result_names)
        op->at = at;
    if (*generic && !mlir_string(r, &op->name))
        return false;
    if (!*generic && !mlir_word(r, &op->name))
        return mlir_expected(r, "an operation");
    op->info = mlir_find_op(r, op->name);
    return op->info || mlir_unknown_op(r, op->name, at);
}

/* Every size of the result must be known now; and its value may be. */
static bool finish_sizes(struct mlir_reader *r, const struct mlir_op *op)
{
    if (op->instruction && !mlir_is_sized(op->instruction->shape))
        return mlir_op_error(r, op,
                             "expected a static size, found '?': the size of its result depends on values "
                             "known only at run time");
    return mlir_fold(r, op);
}

static bool finish_operation(struct mlir_reader *r, struct mlir_op *op)
{
    bool returns = op->info->form == MLIR_RETURN, ignored = op->info->form == MLIR_IGNORED;
    if (!op->arrow && op->operand_types && !returns && !ignored && !complete_types(r, op))
        return false;
    if (!mlir_skip_location(r) || !check_operands(r, op))
        return false;
    if (returns)
        return end_block(r, op);
    const char *after = r->p; /* the builders go to the values of attributes */
    bool built =
        ignored || (op->info->build(r, op) && (!r->sized || finish_sizes(r, op)) && define_results(r, op));
    r->p = built ? after : r->p;
    return built;
}

bool mlir_operation(struct mlir_reader *r)
{
    bool generic;
    struct mlir_op op = {
        .first_result = r->results.count,
        .first_operand = r->operands.count,
        .first_attribute = r->attributes.count,
        .first_callee = r->callees.count,
        .first_type = r->shapes.count,
    };
    size_t first_type = r->shapes.count;
    if (r->operations % STOP_STEPS == 0)
        progress_tell("%zu operations read", r->operations);
    if (stop_obeyed_at(r->operations++, r->err))
        return false;
    if (mlir_peek(r) == '%') {
        op.at = r->p;
        if (!read_results(r, &op))
            return false;
    }
    if (!read_name(r, &op, &generic))
        return false;
    op.place = mlir_place_of(r, op.at);
    if (!read_form(r, &op, generic) || !finish_operation(r, &op))
        return false;
    r->results.count = op.first_result;
    r->operands.count = op.first_operand;
    r->attributes.count = op.first_attribute;
    r->callees.count = op.first_callee;
    r->shapes.count = first_type;
    return true;
}
