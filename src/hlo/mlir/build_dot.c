/* Products and solvers: dot, convolution, fft, triangular_solve, …; and windows, which convolution shares. */
#include "hlo/mlir/mlir.h"

/* Checks of attributes and types that change no count, but must be valid (StableHLO's specification of
 * each operation: its constraints). */

/* Returns the text of a field as written; empty if it is not there. */
static bool field_text(struct mlir_reader *r, const char *attribute, const char *key, struct mlir_span *text)
{
    const char *field;
    *text = (struct mlir_span){"", 0};
    if (!mlir_find_field(r, attribute, key, &field))
        return false;
    if (!field)
        return true;
    r->p = field;
    if (!mlir_skip_value(r))
        return false;
    while (r->p[-1] <= ' ')
        r->p--;
    *text = (struct mlir_span){field, (size_t)(r->p - field)};
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
bool mlir_verify_accuracy(struct mlir_reader *r, const struct mlir_op *op)
{
    static const char *const tolerances[] = {"atol", "rtol", "ulps"};
    const char *accuracy = mlir_find(r, op, "result_accuracy");
    struct mlir_span mode, tolerance;
    if (!accuracy)
        return true;
    if (!field_text(r, accuracy, "mode", &mode))
        return false;
    mode = last_word(mode);
    if (mode.length == 0 || mlir_same(mode, "TOLERANCE"))
        return true;
    for (int i = 0; i < 3; i++) {
        if (!field_text(r, accuracy, tolerances[i], &tolerance))
            return false;
        if (!is_zero(tolerance))
            return mlir_op_error(r, op, "result_accuracy: %s should be 0 in mode %.*s", tolerances[i],
                                 (int)mode.length, mode.at);
    }
    return true;
}

bool mlir_verify_precision(struct mlir_reader *r, const struct mlir_op *op)
{
    int64_t exponent = 1, mantissa = 0;
    if (!mlir_find_integer(r, op, "exponent_bits", false, &exponent) ||
        !mlir_find_integer(r, op, "mantissa_bits", false, &mantissa))
        return false;
    return (exponent > 0 && mantissa >= 0) ||
           mlir_op_error(r, op, "%lld bits of exponent and %lld of mantissa", (long long)exponent,
                         (long long)mantissa);
}

/* precision_config = [#stablehlo<precision DEFAULT>, …], precision = [DEFAULT, …]: *plain, if all are
 * DEFAULT. */
static bool read_precisions(struct mlir_reader *r, const struct mlir_op *op, bool *plain)
{
    const char *config = mlir_find(r, op, "precision_config|precision");
    int count = 0;
    *plain = true;
    if (!config || *config != '[')
        return true;
    r->p = config + 1;
    while (!mlir_take(r, ']')) {
        if (count && !mlir_need(r, ","))
            return false;
        mlir_space(r);
        const char *at = r->p;
        if (!mlir_skip_value(r))
            return false;
        struct mlir_span word = last_word((struct mlir_span){at, (size_t)(r->p - at)});
        bool is_default = mlir_same(word, "DEFAULT");
        if (!is_default && !mlir_same(word, "HIGH") && !mlir_same(word, "HIGHEST"))
            return mlir_op_error(r, op, "expected DEFAULT, HIGH or HIGHEST as precision, found '%.*s'",
                                 (int)word.length, word.at);
        *plain &= is_default;
        if (mlir_same(word, "HIGHEST")) /* CUDA's libraries take HIGH for the default */
            op->set->algorithm = HLO_IN_F32;
        count++;
    }
    return count <= 2 || mlir_op_error(r, op, "%d precisions for 2 operands", count);
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

static bool verify_algorithm(struct mlir_reader *r, const struct mlir_op *op, const char *given)
{
    struct algorithm a;
    if (!field_text(r, given, "lhs_precision_type", &a.lhs) ||
        !field_text(r, given, "rhs_precision_type", &a.rhs) ||
        !field_text(r, given, "accumulation_type", &a.sum) ||
        !field_text(r, given, "allow_imprecise_accumulation", &a.imprecise) ||
        !mlir_read_number(r, given, "lhs_component_count", &a.lhs_parts) ||
        !mlir_read_number(r, given, "rhs_component_count", &a.rhs_parts) ||
        !mlir_read_number(r, given, "num_primitive_operations", &a.products))
        return false;
    op->set->algorithm = mlir_same(a.lhs, "bf16")   ? HLO_IN_BF16
                         : mlir_same(a.lhs, "f16")  ? HLO_IN_F16
                         : mlir_same(a.lhs, "tf32") ? HLO_IN_TF32
                         : mlir_same(a.lhs, "f32")  ? HLO_IN_F32
                                                    : HLO_OF_TYPES;
    op->set->products = a.products > 0 && a.products < 10 ? (int)a.products : 0;
    if (a.lhs_parts < 1 || a.rhs_parts < 1 || a.products < 1)
        return mlir_op_error(r, op, "algorithm: expected positive counts of components and operations");
    return is_known(&a) ||
           mlir_op_error(r, op, "algorithm: no hardware multiplies %.*s by %.*s into %.*s like this",
                         (int)a.lhs.length, a.lhs.at, (int)a.rhs.length, a.rhs.at, (int)a.sum.length,
                         a.sum.at);
}

bool mlir_verify_dot(struct mlir_reader *r, const struct mlir_op *op)
{
    const char *algorithm = mlir_find(r, op, "algorithm");
    bool plain;
    if (!read_precisions(r, op, &plain))
        return false;
    if (!algorithm || (*algorithm != '#' && *algorithm != '<'))
        return true;
    if (!plain)
        return mlir_op_error(r, op, "an algorithm needs the precision DEFAULT");
    return verify_algorithm(r, op, algorithm);
}

/* dialect.name, of letters, digits, '_' and, behind the dialect, '$' and more dots. */
bool mlir_verify_composite(struct mlir_reader *r, const struct mlir_op *op)
{
    const char *name;
    if (!mlir_find_text(r, op, "name|\"", &name))
        return false;
    if (!name)
        return mlir_op_error(r, op, "'name' is missing");
    const char *dot = strchr(name, '.');
    bool letter = (*name | 32) >= 'a' && (*name | 32) <= 'z';
    bool valid = letter && dot && dot[1];
    for (const char *c = name; valid && *c; c++)
        valid = *c == '.' ? mlir_is_word(c[1]) && c[1] != '.' : mlir_is_word(*c);
    return valid || mlir_op_error(r, op, "expected a name such as dialect.name, found '%s'", name);
}

/* infeed and recv: arrays, and a token behind them. A single tuple is how MHLO has them. */
bool mlir_build_receive(struct mlir_reader *r, struct mlir_op *op)
{
    size_t count = op->result_types;
    if (count == 0)
        return mlir_op_error(r, op, "expected a token as the last result, found no results");
    if (count == 1 && mlir_result_type(r, op, 0)->type == HLO_TYPE_TUPLE)
        return mlir_finish(r, op, op->info->opcode);
    for (size_t i = 0; i < count; i++) {
        enum hlo_type type = mlir_result_type(r, op, i)->type;
        if (i + 1 < count ? hlo_type_bits(type) == 0 : type != HLO_TYPE_TOKEN)
            return mlir_op_error(r, op, "result %zu: expected %s, found %s", i + 1,
                                 i + 1 < count ? "a tensor" : "a token", hlo_type_name(type));
    }
    return mlir_finish(r, op, op->info->opcode);
}

/* The state that comes out is of the type that goes in. */
bool mlir_build_bit_generator(struct mlir_reader *r, struct mlir_op *op)
{
    char in[64], out[64];
    const struct hlo_shape *state = mlir_operand_type(r, op, 0);
    if (op->result_types == 2 && !hlo_shape_equal(mlir_result_type(r, op, 0), state))
        return mlir_op_error(r, op, "a state of %s becomes one of %s", hlo_shape_text(state, in, sizeof in),
                             hlo_shape_text(mlir_result_type(r, op, 0), out, sizeof out));
    return mlir_finish(r, op, HLO_RNG_BIT_GENERATOR);
}

/* Contracts the last dimension of lhs with the first of rhs. */
bool mlir_build_dot(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    static const int64_t first = 0;
    if (!mlir_one_array(r, op))
        return false;
    int lhs = mlir_operand_type(r, op, 0)->rank, rhs = mlir_operand_type(r, op, 1)->rank;
    if (lhs < 1 || lhs > 2 || rhs < 1 || rhs > 2)
        return mlir_op_error(r, op, "operands should have one or two dimensions");
    int64_t last = lhs - 1;
    set->lhs_contracting = mlir_copy_ints(r, &last, 1);
    set->rhs_contracting = (struct hlo_ints){1, &first};
    if (!set->lhs_contracting.count)
        return error_memory(r->err);
    return mlir_verify_dot(r, op) && mlir_infer(r, op, HLO_DOT);
}

/* `[0, 1] x [0, 1]` of the short form. */
static bool read_cross(struct mlir_reader *r, const struct mlir_op *op, const char *key, struct hlo_ints *lhs,
                       struct hlo_ints *rhs)
{
    const char *both = mlir_find(r, op, key);
    if (!both)
        return true;
    r->p = both;
    if (mlir_peek(r) != '[' || !mlir_skip_balanced(r) || !mlir_take_word(r, "x"))
        return mlir_expected(r, "'[…] x […]'");
    mlir_space(r);
    const char *side = r->p;
    return mlir_read_ints(r, both, lhs, NULL) && mlir_read_ints(r, side, rhs, NULL);
}

static bool read_dot_numbers(struct mlir_reader *r, struct mlir_op *op, const char *key,
                             struct hlo_attributes *set)
{
    const char *numbers = mlir_find(r, op, key);
    if (!numbers)
        return read_cross(r, op, "batching_dims", &set->lhs_batch, &set->rhs_batch) &&
               read_cross(r, op, "contracting_dims", &set->lhs_contracting, &set->rhs_contracting);
    return mlir_read_field(r, numbers, "lhs_batching_dimensions", &set->lhs_batch) &&
           mlir_read_field(r, numbers, "rhs_batching_dimensions", &set->rhs_batch) &&
           mlir_read_field(r, numbers, "lhs_contracting_dimensions", &set->lhs_contracting) &&
           mlir_read_field(r, numbers, "rhs_contracting_dimensions", &set->rhs_contracting);
}

bool mlir_build_dot_general(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    return mlir_one_array(r, op) && read_dot_numbers(r, op, "dot_dimension_numbers", set) &&
           mlir_verify_dot(r, op) && mlir_infer(r, op, HLO_DOT);
}

/* Checks the sizes of the groups: one list for all, or one list for each position in the batching
 * dimensions and in earlier dimensions of the same kind as the ragged one. Only a free ragged dimension
 * makes groups of rhs. */
static bool check_ragged(struct mlir_reader *r, const struct mlir_op *op, const struct hlo_attributes *set)
{
    const struct hlo_shape *lhs = mlir_operand_type(r, op, 0), *rhs = mlir_operand_type(r, op, 1),
                           *sizes = mlir_operand_type(r, op, 2);
    int64_t ragged = set->lhs_ragged.at[0];
    bool batch = hlo_ints_have(set->lhs_batch, ragged),
         contracting = hlo_ints_have(set->lhs_contracting, ragged);
    int wanted = batch || contracting ? 0 : 1, rank = 0;
    if (set->rhs_group.count != wanted)
        return mlir_op_error(r, op, "expected %d dimensions of groups, found %d", wanted,
                             set->rhs_group.count);
    for (int i = 0; i < set->rhs_group.count; i++)
        if (hlo_ints_have(set->rhs_batch, set->rhs_group.at[i]) ||
            hlo_ints_have(set->rhs_contracting, set->rhs_group.at[i]))
            return mlir_op_error(r, op, "rhs: dimension %lld is of groups and of something else",
                                 (long long)set->rhs_group.at[i]);
    bool fits = sizes->rank >= 1;
    for (int i = 0; fits && i < lhs->rank && sizes->rank > 1; i++) {
        bool batching = hlo_ints_have(set->lhs_batch, i), contracted = hlo_ints_have(set->lhs_contracting, i);
        bool before = i < ragged && batching == batch && contracted == contracting;
        if (before || (batching && !batch))
            fits = rank < sizes->rank - 1 && sizes->dims[rank++] == lhs->dims[i];
    }
    fits = fits && rank == sizes->rank - 1;
    if (fits && wanted)
        fits = rhs->dims[set->rhs_group.at[0]] == sizes->dims[sizes->rank - 1];
    return fits || mlir_op_error(r, op, "the sizes of the groups do not fit");
}

bool mlir_build_ragged_dot(struct mlir_reader *r, struct mlir_op *op)
{
    static const char key[] = "ragged_dot_dimension_numbers";
    struct hlo_attributes *set = mlir_set(r, op);
    const char *numbers = mlir_find(r, op, key);
    if (!mlir_one_array(r, op))
        return false;
    if (!numbers)
        return mlir_op_error(r, op, "'%s' is missing", key);
    if (!read_dot_numbers(r, op, key, set) ||
        !mlir_read_field(r, numbers, "lhs_ragged_dimensions", &set->lhs_ragged) ||
        !mlir_read_field(r, numbers, "rhs_group_dimensions", &set->rhs_group))
        return false;
    if (set->lhs_ragged.count != 1)
        return mlir_op_error(r, op, "expected one ragged dimension, found %d", set->lhs_ragged.count);
    return mlir_verify_dot(r, op) && mlir_infer(r, op, HLO_RAGGED_DOT) && check_ragged(r, op, set);
}

/* Reads one operand of "ab,bc->ac", a letter per dimension. Returns the text behind it; NULL if it does
 * not fit. */
static const char *take_letters(const char *c, char *letters, int rank)
{
    for (int i = 0; i < rank; i++, c++) {
        if (*c < 'A' || strchr(letters, *c))
            return NULL;
        letters[i] = *c;
    }
    return c;
}

/* Letters of both operands and of the result are batching, letters of both only contracting. If the
 * result has another order than a dot gives, the operation is a custom call. */
bool mlir_build_einsum(struct mlir_reader *r, struct mlir_op *op)
{
    char lhs[HLO_MAX_RANK + 1] = {0}, rhs[HLO_MAX_RANK + 1] = {0};
    struct hlo_attributes *set = mlir_set(r, op);
    const char *text, *c;
    if (!mlir_one_array(r, op) || !mlir_find_text(r, op, "config|einsum_config", &text))
        return false;
    int ranks[2] = {mlir_operand_type(r, op, 0)->rank, mlir_operand_type(r, op, 1)->rank};
    c = text ? take_letters(text, lhs, ranks[0]) : NULL;
    c = c && *c == ',' ? take_letters(c + 1, rhs, ranks[1]) : NULL;
    if (!c || strncmp(c, "->", 2) != 0)
        return mlir_op_error(r, op, "expected a letter per dimension, as in \"ab,bc->ac\"");
    int64_t found[4][HLO_MAX_RANK];
    int batch = 0, contracting = 0;
    for (int i = 0; i < ranks[0]; i++) {
        const char *there = strchr(rhs, lhs[i]);
        bool kept = strchr(c + 2, lhs[i]) != NULL;
        if (!there)
            continue;
        found[kept ? 0 : 2][kept ? batch : contracting] = i;
        found[kept ? 1 : 3][kept ? batch : contracting] = there - rhs;
        *(kept ? &batch : &contracting) += 1;
    }
    set->lhs_batch = mlir_copy_ints(r, found[0], batch);
    set->rhs_batch = mlir_copy_ints(r, found[1], batch);
    set->lhs_contracting = mlir_copy_ints(r, found[2], contracting);
    set->rhs_contracting = mlir_copy_ints(r, found[3], contracting);
    if (set->rhs_batch.count != batch || set->rhs_contracting.count != contracting)
        return error_memory(r->err);
    return mlir_infer(r, op, HLO_DOT);
}

/* Of the real and the complex side of a transform, the last dimension has n and n / 2 + 1 elements, the
 * others are the same; FFT and IFFT keep them all. */
static bool check_transform(struct mlir_reader *r, const struct mlir_op *op, struct mlir_span kind,
                            struct hlo_ints lengths)
{
    const struct hlo_shape *from = mlir_operand_type(r, op, 0), *to = mlir_result_type(r, op, 0);
    bool forward = mlir_same(kind, "RFFT"), back = mlir_same(kind, "IRFFT");
    const struct hlo_shape *real = forward ? from : to, *complex = forward ? to : from;
    int64_t dims[HLO_MAX_RANK];
    if (!forward && !back && !mlir_same(kind, "FFT") && !mlir_same(kind, "IFFT"))
        return mlir_op_error(r, op, "unknown transform '%.*s'", (int)kind.length, kind.at);
    if (!hlo_type_is_complex(complex->type))
        return mlir_op_error(r, op, "expected complex numbers, found %s", hlo_type_name(complex->type));
    if (real->type != (forward || back ? hlo_type_real(complex->type) : complex->type))
        return mlir_op_error(r, op, "%s does not become %s", hlo_type_name(from->type),
                             hlo_type_name(to->type));
    memcpy(dims, from->dims, (size_t)from->rank * sizeof *dims);
    for (int i = 0; i < lengths.count; i++) {
        int at = from->rank - lengths.count + i;
        int64_t half = lengths.at[i] / 2 + 1, last = i == lengths.count - 1;
        if (dims[at] != (back && last ? half : lengths.at[i]))
            return mlir_op_error(r, op, "dimension %d of size %lld for a length of %lld", at,
                                 (long long)dims[at], (long long)lengths.at[i]);
        dims[at] = forward && last ? half : lengths.at[i];
    }
    return mlir_result_dims(r, op, 0, dims, from->rank);
}

bool mlir_build_fft(struct mlir_reader *r, struct mlir_op *op)
{
    struct mlir_span kind;
    struct hlo_attributes *set = mlir_set(r, op);
    if (!mlir_one_array(r, op) || !mlir_read_fields(r, op))
        return false;
    if (set->sizes.count < 1 || set->sizes.count > 3 || set->sizes.count > mlir_operand_type(r, op, 0)->rank)
        return mlir_op_error(r, op, "expected 1 to 3 lengths, found %d", set->sizes.count);
    return mlir_find_enum(r, op, "fft_type|type", &kind) && check_transform(r, op, kind, set->sizes) &&
           mlir_finish(r, op, HLO_FFT);
}

/* The last two dimensions make square matrices. */
static bool check_square(struct mlir_reader *r, const struct mlir_op *op)
{
    const struct hlo_shape *a = mlir_operand_type(r, op, 0);
    return (a->rank >= 2 && a->dims[a->rank - 1] == a->dims[a->rank - 2]) ||
           mlir_op_error(r, op, "the first operand should be a square matrix, or several");
}

bool mlir_build_cholesky(struct mlir_reader *r, struct mlir_op *op)
{
    return mlir_one_array(r, op) && check_square(r, op) && mlir_infer(r, op, HLO_CHOLESKY);
}

bool mlir_build_solve(struct mlir_reader *r, struct mlir_op *op)
{
    const char *left_side = mlir_find(r, op, "left_side");
    if (!mlir_one_array(r, op) || !check_square(r, op))
        return false;
    const struct hlo_shape *a = mlir_operand_type(r, op, 0), *b = mlir_operand_type(r, op, 1);
    struct mlir_span transpose = {"TRANSPOSE", 9};
    if (mlir_find(r, op, "transpose_a") && !mlir_find_enum(r, op, "transpose_a", &transpose))
        return false;
    if (!mlir_same(transpose, "TRANSPOSE") && !mlir_same(transpose, "NO_TRANSPOSE") &&
        !mlir_same(transpose, "ADJOINT"))
        return mlir_op_error(r, op, "unknown transpose_a '%.*s'", (int)transpose.length, transpose.at);
    bool right = left_side && mlir_begins(r, left_side, "false");
    bool fits = a->rank == b->rank;
    for (int i = 0; fits && i < a->rank - 2; i++)
        fits = a->dims[i] == b->dims[i];
    if (!fits || a->dims[a->rank - 1] != b->dims[b->rank - (right ? 1 : 2)])
        return mlir_op_error(r, op, "the second operand does not fit the first");
    return mlir_infer(r, op, HLO_TRIANGULAR_SOLVE);
}

/* The statistics have one element per feature. */
bool mlir_build_batch_norm(struct mlir_reader *r, struct mlir_op *op)
{
    bool inference = op->info->opcode == HLO_BATCH_NORM_INFERENCE;
    bool grad = op->info->opcode == HLO_BATCH_NORM_GRAD;
    if (!mlir_need_results(r, op, inference ? 1 : 3) || !mlir_need_arrays(r, op) || !mlir_read_fields(r, op))
        return false;
    const struct hlo_shape *operand = mlir_operand_type(r, op, 0);
    if (!mlir_in_range(r, op, "feature_index", op->set->dimensions, operand->rank))
        return false;
    int64_t feature = op->set->dimensions.at[0];
    for (size_t i = 1; i < op->operands; i++) {
        const struct hlo_shape *shape = mlir_operand_type(r, op, i);
        bool fits = grad && i == 4 ? shape->rank == operand->rank
                                   : shape->rank == 1 && shape->dims[0] == operand->dims[feature];
        if (!fits)
            return mlir_op_error(r, op, "operand %zu does not fit the first", i + 1);
    }
    for (size_t i = 1; i < op->result_types; i++)
        if (!mlir_result_dims(r, op, i, &operand->dims[feature], 1))
            return false;
    return mlir_result_dims(r, op, 0, operand->dims, operand->rank) && mlir_finish(r, op, op->info->opcode);
}
