/* Checks of attributes and types that change no count, but must be valid (StableHLO's specification of
 * each operation: its constraints). */
#include "hlo/mlir/mlir.h"

/* Returns the text of a field as written; empty if it is not there. */
static bool field_text(struct mlir_reader *reader, const char *attribute, const char *key,
                       struct mlir_span *text)
{
    const char *field;
    *text = (struct mlir_span){"", 0};
    if (!mlir_find_field(reader, attribute, key, &field))
        return false;
    if (!field)
        return true;
    reader->p = field;
    if (!mlir_skip_value(reader))
        return false;
    while (reader->p[-1] <= ' ')
        reader->p--;
    *text = (struct mlir_span){field, (size_t)(reader->p - field)};
    return true;
}

/* HIGHEST of `HIGHEST`, "HIGHEST" and #stablehlo<precision HIGHEST>. */
static struct mlir_span last_word(struct mlir_span text)
{
    const char *end = text.at + text.length;
    while (end > text.at && !mlir_is_word(end[-1]))
        end--;
    const char *begin = end;
    while (begin > text.at && mlir_is_word(begin[-1]))
        begin--;
    return (struct mlir_span){begin, (size_t)(end - begin)};
}

/* 0, 0.0 and 0.000000e+00 */
static bool is_zero(struct mlir_span number)
{
    for (size_t i = 0; i < number.length && (number.at[i] | 32) != 'e' && number.at[i] != ':'; i++)
        if (number.at[i] >= '1' && number.at[i] <= '9')
            return false;
    return true;
}

/* Tolerances are for the mode TOLERANCE. */
bool mlir_verify_accuracy(struct mlir_reader *reader, const struct mlir_op *op)
{
    static const char *const tolerances[] = {"atol", "rtol", "ulps"};
    const char *accuracy = mlir_find(reader, op, "result_accuracy");
    struct mlir_span mode, tolerance;
    if (!accuracy)
        return true;
    if (!field_text(reader, accuracy, "mode", &mode))
        return false;
    mode = last_word(mode);
    if (mode.length == 0 || mlir_same(mode, "TOLERANCE"))
        return true;
    for (int i = 0; i < 3; i++) {
        if (!field_text(reader, accuracy, tolerances[i], &tolerance))
            return false;
        if (!is_zero(tolerance))
            return mlir_op_error(reader, op, "result_accuracy: %s should be 0 in mode %.*s", tolerances[i],
                                 (int)mode.length, mode.at);
    }
    return true;
}

bool mlir_verify_precision(struct mlir_reader *reader, const struct mlir_op *op)
{
    int64_t exponent = 1, mantissa = 0;
    if (!mlir_find_integer(reader, op, "exponent_bits", false, &exponent) ||
        !mlir_find_integer(reader, op, "mantissa_bits", false, &mantissa))
        return false;
    return (exponent > 0 && mantissa >= 0) ||
           mlir_op_error(reader, op, "%lld bits of exponent and %lld of mantissa", (long long)exponent,
                         (long long)mantissa);
}

/* precision_config = [#stablehlo<precision DEFAULT>, …], precision = [DEFAULT, …]: *plain, if all are
 * DEFAULT. */
static bool read_precisions(struct mlir_reader *reader, const struct mlir_op *op, bool *plain)
{
    const char *config = mlir_find(reader, op, "precision_config|precision");
    int count = 0;
    *plain = true;
    if (!config || *config != '[')
        return true;
    reader->p = config + 1;
    while (!mlir_take(reader, ']')) {
        if (count && !mlir_need(reader, ","))
            return false;
        mlir_space(reader);
        const char *at = reader->p;
        if (!mlir_skip_value(reader))
            return false;
        struct mlir_span word = last_word((struct mlir_span){at, (size_t)(reader->p - at)});
        bool is_default = mlir_same(word, "DEFAULT");
        if (!is_default && !mlir_same(word, "HIGH") && !mlir_same(word, "HIGHEST"))
            return mlir_op_error(reader, op, "expected DEFAULT, HIGH or HIGHEST as precision, found '%.*s'",
                                 (int)word.length, word.at);
        *plain &= is_default;
        count++;
    }
    return count <= 2 || mlir_op_error(reader, op, "%d precisions for 2 operands", count);
}

struct algorithm {
    struct mlir_span lhs, rhs, sum, imprecise;
    int64_t lhs_parts, rhs_parts, products;
};

/* The algorithms of the specification's dot_general, which are all that XLA knows. */
static bool is_known(const struct algorithm *a)
{
    static const struct {
        const char *operands, *sum;
        int64_t max_products;
    } known[] = {{"f16", "f16", 1}, {"f16", "f32", 1},  {"bf16", "bf16", 1}, {"bf16", "f32", 9},
                 {"f32", "f32", 1}, {"tf32", "f32", 3}, {"f64", "f64", 1}};
    bool imprecise = mlir_same(a->imprecise, "true");
    if (a->lhs_parts != 1 || a->rhs_parts != 1)
        return false;
    if (a->lhs.length > 2 && a->rhs.length > 2 && memcmp(a->lhs.at, "f8", 2) == 0 &&
        memcmp(a->rhs.at, "f8", 2) == 0)
        return mlir_same(a->sum, "f32") && a->products == 1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (mlir_same(a->lhs, known[i].operands) && mlir_same(a->rhs, known[i].operands) &&
            mlir_same(a->sum, known[i].sum))
            return !imprecise && a->products <= known[i].max_products &&
                   (a->products == 1 || a->products % 3 == 0);
    return false;
}

static bool verify_algorithm(struct mlir_reader *reader, const struct mlir_op *op, const char *given)
{
    struct algorithm a;
    if (!field_text(reader, given, "lhs_precision_type", &a.lhs) ||
        !field_text(reader, given, "rhs_precision_type", &a.rhs) ||
        !field_text(reader, given, "accumulation_type", &a.sum) ||
        !field_text(reader, given, "allow_imprecise_accumulation", &a.imprecise) ||
        !mlir_read_number(reader, given, "lhs_component_count", &a.lhs_parts) ||
        !mlir_read_number(reader, given, "rhs_component_count", &a.rhs_parts) ||
        !mlir_read_number(reader, given, "num_primitive_operations", &a.products))
        return false;
    if (a.lhs_parts < 1 || a.rhs_parts < 1 || a.products < 1)
        return mlir_op_error(reader, op, "algorithm: expected positive counts of components and operations");
    return is_known(&a) ||
           mlir_op_error(reader, op, "algorithm: no hardware multiplies %.*s by %.*s into %.*s like this",
                         (int)a.lhs.length, a.lhs.at, (int)a.rhs.length, a.rhs.at, (int)a.sum.length,
                         a.sum.at);
}

bool mlir_verify_dot(struct mlir_reader *reader, const struct mlir_op *op)
{
    const char *algorithm = mlir_find(reader, op, "algorithm");
    bool plain;
    if (!read_precisions(reader, op, &plain))
        return false;
    if (!algorithm || (*algorithm != '#' && *algorithm != '<'))
        return true;
    if (!plain)
        return mlir_op_error(reader, op, "an algorithm needs the precision DEFAULT");
    return verify_algorithm(reader, op, algorithm);
}

/* dialect.name, of letters, digits, '_' and, behind the dialect, '$' and more dots. */
bool mlir_verify_composite(struct mlir_reader *reader, const struct mlir_op *op)
{
    const char *name;
    if (!mlir_find_text(reader, op, "name|\"", &name))
        return false;
    if (!name)
        return mlir_op_error(reader, op, "'name' is missing");
    const char *dot = strchr(name, '.');
    bool letter = (*name | 32) >= 'a' && (*name | 32) <= 'z';
    bool valid = letter && dot && dot[1];
    for (const char *c = name; valid && *c; c++)
        valid = *c == '.' ? mlir_is_word(c[1]) && c[1] != '.' : mlir_is_word(*c);
    return valid || mlir_op_error(reader, op, "expected a name such as dialect.name, found '%s'", name);
}

/* infeed and recv: arrays, and a token behind them. A single tuple is how MHLO has them. */
bool mlir_build_receive(struct mlir_reader *reader, struct mlir_op *op)
{
    size_t count = op->result_types;
    if (count == 0)
        return mlir_op_error(reader, op, "expected a token as the last result, found no results");
    if (count == 1 && mlir_result_type(reader, op, 0)->type == HLO_TYPE_TUPLE)
        return mlir_finish(reader, op, op->info->opcode);
    for (size_t i = 0; i < count; i++) {
        enum hlo_type type = mlir_result_type(reader, op, i)->type;
        if (i + 1 < count ? hlo_type_bits(type) == 0 : type != HLO_TYPE_TOKEN)
            return mlir_op_error(reader, op, "result %zu: expected %s, found %s", i + 1,
                                 i + 1 < count ? "a tensor" : "a token", hlo_type_name(type));
    }
    return mlir_finish(reader, op, op->info->opcode);
}

/* The state that comes out is of the type that goes in. */
bool mlir_build_bit_generator(struct mlir_reader *reader, struct mlir_op *op)
{
    char in[64], out[64];
    const struct hlo_shape *state = mlir_operand_type(reader, op, 0);
    if (op->result_types == 2 && !hlo_shape_equal(mlir_result_type(reader, op, 0), state))
        return mlir_op_error(reader, op, "a state of %s becomes one of %s",
                             hlo_shape_text(state, in, sizeof in),
                             hlo_shape_text(mlir_result_type(reader, op, 0), out, sizeof out));
    return mlir_finish(reader, op, HLO_RNG_BIT_GENERATOR);
}
