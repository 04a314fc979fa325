/* The parts that all operations share, and operations without a shape rule of their own. */
#include "core/hash.h"
#include "core/text.h"
#include "hlo/mlir/mlir.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool(mlir_op_error)(struct mlir_reader *r, const struct mlir_op *op, const char *format, ...)
{
    char message[500];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return mlir_error(r, op->at, "%.*s: %s", (int)(op->name.length < 80 ? op->name.length : 80), op->name.at,
                      message);
}

struct hlo_attributes *mlir_set(struct mlir_reader *r, struct mlir_op *op)
{
    if (!op->set) {
        op->set = &r->scratch;
        *op->set = (struct hlo_attributes){0};
    }
    return op->set;
}

/* The lists of struct hlo_attributes follow one another. */
#define FIRST_LIST offsetof(struct hlo_attributes, lhs_contracting)
#define LISTS      ((offsetof(struct hlo_attributes, window_rank) - FIRST_LIST) / sizeof(struct hlo_ints))

static const struct hlo_ints *lists_of(const struct hlo_attributes *attributes)
{
    return (const struct hlo_ints *)(const void *)((const char *)attributes + FIRST_LIST);
}

static uint64_t hash_attributes(const struct hlo_attributes *attributes)
{
    const struct hlo_ints *lists = lists_of(attributes);
    uint64_t hash = (uint64_t)attributes->index * 31 + (uint64_t)attributes->direction;
    for (size_t l = 0; l < LISTS; l++)
        if (lists[l].count > 0)
            hash = hash_bytes(hash + l, lists[l].at, (size_t)lists[l].count * sizeof *lists[l].at);
    return hash;
}

static bool same_attributes(const struct hlo_attributes *a, const struct hlo_attributes *b)
{
    const struct hlo_ints *x = lists_of(a), *y = lists_of(b);
    for (size_t l = 0; l < LISTS; l++)
        if (x[l].count != y[l].count ||
            (x[l].count && memcmp(x[l].at, y[l].at, (size_t)x[l].count * sizeof *x[l].at) != 0))
            return false;
    return a->feature_groups == b->feature_groups && a->batch_groups == b->batch_groups &&
           a->index == b->index && a->group_count == b->group_count && a->group_size == b->group_size &&
           a->pair_count == b->pair_count && a->trip_count == b->trip_count && a->direction == b->direction &&
           a->algorithm == b->algorithm && a->products == b->products;
}

const struct hlo_attributes *mlir_keep(struct mlir_reader *r, const struct hlo_attributes *attributes)
{
    bool own = attributes->window || attributes->target || attributes->backend_config;
    const struct hlo_attributes **slot = &r->kept[hash_attributes(attributes) & (MLIR_KEPT - 1)];
    if (!own && *slot && same_attributes(*slot, attributes))
        return *slot;
    struct hlo_attributes *copy = ARENA_NEW(&r->module->arena, struct hlo_attributes);
    if (!copy)
        return error_memory_null(r->err);
    *copy = *attributes;
    if (!own)
        *slot = copy;
    return copy;
}

struct hlo_ints mlir_copy_ints(struct mlir_reader *r, const int64_t *values, int count)
{
    return hlo_make_ints(&r->module->arena, values, count);
}

static const char *name_of(struct mlir_reader *r, const struct mlir_op *op)
{
    if (!op->result_names)
        return op->info->name;
    struct mlir_span name = mlir_result_name(r, op->first_result).name;
    return arena_copy(&r->module->arena, name.at, name.length);
}

static const struct hlo_shape *shape_of(struct mlir_reader *r, const struct mlir_op *op)
{
    if (op->result_types == 1)
        return mlir_result_type(r, op, 0);
    return mlir_tuple_shape(
        r, (const struct hlo_shape **)r->shapes.items + op->first_type + op->operand_types, op->result_types);
}

bool mlir_finish(struct mlir_reader *r, struct mlir_op *op, enum hlo_opcode opcode)
{
    struct hlo_instruction *instruction =
        mlir_add(r, opcode, op->place, name_of(r, op), shape_of(r, op), mlir_operands(r, op), op->operands);
    if (!instruction)
        return error_memory(r->err);
    if (op->set && !(instruction->attributes = mlir_keep(r, op->set)))
        return false;
    if (op->callees) {
        size_t bytes = op->callees * sizeof(struct hlo_computation *);
        instruction->callees = ARENA_ARRAY(&r->module->arena, op->callees, struct hlo_computation *);
        if (!instruction->callees)
            return error_memory(r->err);
        memcpy(instruction->callees, (struct hlo_computation **)r->callees.items + op->first_callee, bytes);
        instruction->callee_count = (int)op->callees;
    }
    op->instruction = instruction;
    return true;
}

struct hlo_instruction *mlir_before(struct mlir_reader *r, const struct mlir_op *op, enum hlo_opcode opcode,
                                    const char *suffix, const struct hlo_shape *shape,
                                    struct hlo_instruction *operand, struct hlo_ints dimensions)
{
    const struct hlo_attributes *attributes =
        mlir_keep(r, &(struct hlo_attributes){.dimensions = dimensions});
    const char *name = arena_format(&r->module->arena, "%s.%s", name_of(r, op), suffix);
    struct hlo_instruction *instruction =
        attributes ? mlir_add(r, opcode, op->place, name, shape, &operand, 1) : NULL;
    if (!instruction)
        return error_memory_null(r->err);
    instruction->attributes = attributes;
    return instruction;
}

bool mlir_infer(struct mlir_reader *r, struct mlir_op *op, enum hlo_opcode opcode)
{
    struct hlo_inference inference;
    inference.arena = &r->module->arena;
    inference.is_lone = false;
    inference.is_exact = true;
    return mlir_finish(r, op, opcode) &&
           (hlo_infer_shape(&inference, op->instruction) || mlir_op_error(r, op, "%s", inference.message));
}

bool mlir_need_results(struct mlir_reader *r, const struct mlir_op *op, size_t count)
{
    return op->result_types == count ||
           mlir_op_error(r, op, "expected %zu results, found %zu", count, op->result_types);
}

bool mlir_need_arrays(struct mlir_reader *r, const struct mlir_op *op)
{
    for (size_t i = 0; i < op->operand_types + op->result_types; i++) {
        enum hlo_type type = ((const struct hlo_shape **)r->shapes.items)[op->first_type + i]->type;
        if (type == HLO_TYPE_TUPLE || type == HLO_TYPE_TOKEN || type == HLO_TYPE_OPAQUE)
            return mlir_op_error(r, op, "expected tensors, found a %s", hlo_type_name(type));
    }
    return true;
}

bool mlir_one_array(struct mlir_reader *r, const struct mlir_op *op)
{
    return mlir_need_results(r, op, 1) && mlir_need_arrays(r, op);
}

bool mlir_result_dims(struct mlir_reader *r, const struct mlir_op *op, size_t index, const int64_t *dims,
                      int rank)
{
    char expected[256], found[256];
    const struct hlo_shape *type = mlir_result_type(r, op, index);
    const struct hlo_shape wanted = {.type = type->type, .rank = rank, .dims = dims};
    return hlo_dims_match(type, &wanted, -1)
               ? mlir_fill(r, op, index, dims, rank)
               : mlir_op_error(r, op, "the result should be %s, its type says %s",
                               hlo_shape_text(&wanted, expected, sizeof expected),
                               hlo_shape_text(type, found, sizeof found));
}

bool mlir_in_range(struct mlir_reader *r, const struct mlir_op *op, const char *what, struct hlo_ints values,
                   int rank)
{
    uint64_t seen = 0;
    for (int i = 0; i < values.count; i++) {
        if (values.at[i] < 0 || values.at[i] >= rank)
            return mlir_op_error(r, op, "%s: dimension %lld is not in 0 to %d", what, (long long)values.at[i],
                                 rank - 1);
        if (seen >> values.at[i] & 1)
            return mlir_op_error(r, op, "%s: dimension %lld twice", what, (long long)values.at[i]);
        seen |= (uint64_t)1 << values.at[i];
    }
    return true;
}

/* The attributes that become fields of struct hlo_attributes as they are, by operation. */
static const struct field {
    enum hlo_opcode opcode;
    const char *keys; /* separated by '|': as the dialects call it */
    enum { LIST, LIST_OF_ONE, INTEGER } kind;
    size_t at;
} fields[] = {
#define AT(member) offsetof(struct hlo_attributes, member)
    {HLO_BATCH_NORM_GRAD, "feature_index", LIST_OF_ONE, AT(dimensions)},
    {HLO_BATCH_NORM_INFERENCE, "feature_index", LIST_OF_ONE, AT(dimensions)},
    {HLO_BATCH_NORM_TRAINING, "feature_index", LIST_OF_ONE, AT(dimensions)},
    {HLO_BROADCAST, "broadcast_dimensions|dims", LIST, AT(dimensions)},
    {HLO_CONCATENATE, "dimension|dim", LIST_OF_ONE, AT(dimensions)},
    {HLO_DYNAMIC_SLICE, "slice_sizes|sizes", LIST, AT(sizes)},
    {HLO_FFT, "fft_length|length", LIST, AT(sizes)},
    {HLO_GATHER, "dim", LIST_OF_ONE, AT(dimensions)},
    {HLO_GET_DIMENSION_SIZE, "dimension|dim", LIST_OF_ONE, AT(dimensions)},
    {HLO_GET_TUPLE_ELEMENT, "index|[", INTEGER, AT(index)},
    {HLO_IOTA, "iota_dimension|dim", LIST_OF_ONE, AT(dimensions)},
    {HLO_PAD, "edge_padding_low|low", LIST, AT(low)},
    {HLO_PAD, "edge_padding_high|high", LIST, AT(high)},
    {HLO_PAD, "interior_padding|interior", LIST, AT(interior)},
    {HLO_REDUCE, "dimensions", LIST, AT(dimensions)},
    {HLO_REVERSE, "dimensions|dims", LIST, AT(dimensions)},
    {HLO_SET_DIMENSION_SIZE, "dimension|dim", LIST_OF_ONE, AT(dimensions)},
    {HLO_SLICE, "start_indices", LIST, AT(start)},
    {HLO_SLICE, "limit_indices", LIST, AT(limit)},
    {HLO_SLICE, "strides", LIST, AT(stride)},
    {HLO_TOPK, "k", INTEGER, AT(index)},
    {HLO_TRANSPOSE, "permutation|dims", LIST, AT(dimensions)},
#undef AT
};

static bool read_field(struct mlir_reader *r, struct mlir_op *op, const struct field *field)
{
    void *at = (char *)mlir_set(r, op) + field->at;
    int64_t number;
    if (field->kind == LIST)
        return mlir_find_ints(r, op, field->keys, true, at);
    if (!mlir_find_integer(r, op, field->keys, true, &number))
        return false;
    if (field->kind == INTEGER) {
        *(int64_t *)at = number;
        return true;
    }
    struct hlo_ints *list = at;
    *list = mlir_copy_ints(r, &number, 1);
    return list->count || error_memory(r->err);
}

bool mlir_read_fields(struct mlir_reader *r, struct mlir_op *op)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].opcode == op->info->opcode && !read_field(r, op, &fields[i]))
            return false;
    return true;
}

bool mlir_build_plain(struct mlir_reader *r, struct mlir_op *op)
{
    return mlir_fill_alike(r, op) && mlir_finish(r, op, op->info->opcode);
}

/* Operations of one result that their attributes, operands and shape rules describe. */
bool mlir_build_inferred(struct mlir_reader *r, struct mlir_op *op)
{
    return mlir_need_results(r, op, 1) && mlir_read_fields(r, op) && mlir_infer(r, op, op->info->opcode);
}

/* Functions of chlo keep their names: XLA has operations for them, and still takes them apart. */
static bool name_special(struct mlir_reader *r, struct mlir_op *op)
{
    if (op->name.length < 5 || memcmp(op->name.at, "chlo.", 5) != 0)
        return true;
    struct hlo_attributes *set = mlir_set(r, op);
    set->target = arena_copy(&r->module->arena, op->name.at, op->name.length);
    return set->target || error_memory(r->err);
}

/* Elementwise operations, whose shape rules they have in common. */
bool mlir_build_elementwise(struct mlir_reader *r, struct mlir_op *op)
{
    enum hlo_opcode opcode = op->info->opcode;
    return name_special(r, op) && mlir_one_array(r, op) && (!op->attributes || mlir_verify_accuracy(r, op)) &&
           (opcode != HLO_REDUCE_PRECISION || mlir_verify_precision(r, op)) && mlir_check_elements(r, op) &&
           mlir_infer(r, op, opcode);
}

static bool find_direction(struct mlir_reader *r, struct mlir_op *op, enum hlo_direction *direction)
{
    static const char names[][3] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
    struct mlir_span word;
    if (!mlir_find_enum(r, op, "comparison_direction|word", &word))
        return false;
    for (int i = 0; i < 6; i++)
        if (mlir_same(word, names[i])) {
            *direction = (enum hlo_direction)i;
            return true;
        }
    return mlir_op_error(r, op, "expected a direction such as LT, found '%.*s'", (int)word.length, word.at);
}

bool mlir_build_compare(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    return find_direction(r, op, &set->direction) && mlir_build_elementwise(r, op);
}

/* Returns whether a value is one number for all elements. A scalar is. */
static bool is_splat(const struct mlir_reader *r, const char *value)
{
    if (!mlir_begins(r, value, "dense"))
        return true;
    return mlir_begins(r, value, "dense<") && !mlir_begins(r, value, "dense<[") &&
           !mlir_begins(r, value, "dense<\"") && !mlir_begins(r, value, "dense<>");
}

/* Finds the number that all elements of a constant are; NAN if it has several. Of complex numbers, and of hexadecimal
 * floats other than f32, it only says whether two are the same. */
static double splat_number(struct mlir_reader *r, const char *value, enum hlo_type type)
{
    char text[64] = "", *end = text;
    const char *at = value + (mlir_begins(r, value, "dense<") ? strlen("dense<") : 0);
    while (at < r->end && (*at == '[' || *at == '('))
        at++;
    for (size_t i = 0; at < r->end && i + 1 < sizeof text && (mlir_is_word(*at) || strchr("+-, ", *at)); i++)
        text[i] = *at++;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return text[0] == 't';
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && !hlo_type_is_whole(type)) {
        uint64_t all = strtoull(text, &end, 16);
        uint32_t bits = (uint32_t)all;
        float number;
        memcpy(&number, &bits, sizeof number);
        return type == HLO_TYPE_F32 && number == number ? (double)number : ((double)all + 0.5) * 0x1p200;
    }
    double number = text_number(text, &end), other = 0;
    if (end > text && *end == ',' && hlo_type_is_complex(type))
        other = text_number(end + 1, &end);
    if (end == text || *end)
        return (double)NAN;
    return other != 0 ? 1e30 * (number + 2.718281828459045 * other) : number;
}

/* Builds a constant. Only the value of a scalar integer is kept, and the number of a splat. */
bool mlir_build_constant(struct mlir_reader *r, struct mlir_op *op)
{
    const char *value = mlir_find(r, op, "value");
    if (!mlir_one_array(r, op))
        return false;
    if (!value)
        return mlir_op_error(r, op, "'value' is missing");
    if (op->arrow && !mlir_check_value_type(r, op, value, mlir_result_type(r, op, 0)))
        return false;
    if (!mlir_finish(r, op, HLO_CONSTANT))
        return false;
    struct hlo_instruction *constant = op->instruction;
    constant->splat = is_splat(r, value);
    constant->number = constant->splat || hlo_elements(constant->shape) == 1
                           ? splat_number(r, value, constant->shape->type)
                           : (double)NAN;
    mlir_note_sizes(r, constant, value);
    enum hlo_type type = constant->shape->type;
    if (constant->shape->rank || !(type == HLO_TYPE_PRED || hlo_type_is_whole(type)))
        return true;
    return mlir_read_scalar(r, value, &constant->has_value, &constant->value);
}

bool mlir_build_constant_like(struct mlir_reader *r, struct mlir_op *op)
{
    const char *value = mlir_find(r, op, "value");
    if (!mlir_one_array(r, op))
        return false;
    const struct hlo_shape *like = mlir_operand_type(r, op, 0),
                           *scalar = mlir_scalar_shape(r, mlir_result_type(r, op, 0)->type);
    if (!value)
        return mlir_op_error(r, op, "'value' is missing");
    if (!mlir_result_dims(r, op, 0, like->dims, like->rank) || !scalar ||
        !mlir_check_value_type(r, op, value, scalar))
        return false;
    op->operands = 0;
    if (!mlir_finish(r, op, HLO_CONSTANT))
        return false;
    op->instruction->splat = true;
    op->instruction->number = splat_number(r, value, op->instruction->shape->type);
    return true;
}

/* Notes a call of a function, which may be read only later. */
static bool note_call(struct mlir_reader *r, struct mlir_op *op, struct mlir_span name, bool required)
{
    struct mlir_call *call = mlir_push(r, &r->calls, sizeof *call);
    if (!call)
        return false;
    *call = (struct mlir_call){
        .instruction = op->instruction,
        .module = r->module_number,
        .required = required,
        .name = name,
        .at = op->at,
    };
    return true;
}

/* Calls the function as it is for these operands. */
static bool build_sized_call(struct mlir_reader *r, struct mlir_op *op, struct mlir_span name)
{
    struct hlo_computation *callee;
    if (!mlir_specialise(r, op, name, true, &callee))
        return false;
    if ((size_t)callee->parameter_count != op->operands)
        return mlir_op_error(r, op, "'@%.*s' takes %d operands, found %zu", (int)name.length, name.at,
                             callee->parameter_count, op->operands);
    if (!mlir_fill_from(r, op, callee->root->shape) || !mlir_finish(r, op, HLO_CALL))
        return false;
    if (!hlo_shape_equal(op->instruction->shape, callee->root->shape))
        return mlir_op_error(r, op, "the result is not of the type that '@%.*s' returns", (int)name.length,
                             name.at);
    op->instruction->callees = ARENA_ARRAY(&r->module->arena, 1, struct hlo_computation *);
    if (!op->instruction->callees)
        return error_memory(r->err);
    op->instruction->callees[op->instruction->callee_count++] = callee;
    return true;
}

/* Builds call @f(%a), and composite: a call of its decomposition. */
bool mlir_build_call(struct mlir_reader *r, struct mlir_op *op)
{
    struct mlir_span name;
    const char *callee = mlir_find(r, op, "callee|decomposition|@");
    if (!callee)
        return mlir_op_error(r, op, "expected the function that is called");
    if (mlir_find(r, op, "decomposition") && !mlir_verify_composite(r, op))
        return false;
    r->p = callee;
    if (!mlir_symbol(r, &name))
        return false;
    if (r->sized)
        return build_sized_call(r, op, name);
    if (!mlir_finish(r, op, HLO_CALL))
        return false;
    op->instruction->callees = ARENA_ARRAY(&r->module->arena, 1, struct hlo_computation *);
    return op->instruction->callees ? note_call(r, op, name, true) : error_memory(r->err);
}

/* Notes called_computations = [@f, @g]. Functions that are not in the text are left out. */
static bool note_called(struct mlir_reader *r, struct mlir_op *op)
{
    const char *called = mlir_find(r, op, "called_computations");
    struct mlir_span name;
    size_t count = 0;
    if (!called)
        return true;
    r->p = called;
    if (!mlir_need(r, "["))
        return false;
    if (!mlir_take(r, ']')) {
        do {
            if (!mlir_symbol(r, &name) || (!r->sized && !note_call(r, op, name, false)))
                return false;
            count++;
        } while (mlir_take(r, ','));
        if (!mlir_need(r, "]"))
            return false;
    }
    op->instruction->callees = ARENA_ARRAY(&r->module->arena, count, struct hlo_computation *);
    return op->instruction->callees || error_memory(r->err);
}

/* Calls of jax.export whose operands hold sizes. *done: the call was built as an operation of its own. */
static bool build_sizing(struct mlir_reader *r, struct mlir_op *op, bool *done)
{
    const char *called = mlir_find(r, op, "called_computations"), *target = op->set->target;
    const struct hlo_shape *first = op->operands ? mlir_operand_type(r, op, 0) : NULL;
    struct hlo_computation *region;
    struct mlir_span name;
    struct hlo_ints sizes;
    int64_t dims[HLO_MAX_RANK];
    *done = strcmp(target, "stablehlo.dynamic_reduce_window") == 0 && op->operands >= 7 &&
            op->operands % 2 == 1 && called && op->callees == 0;
    if (*done) {
        r->p = called;
        return mlir_need(r, "[") && mlir_symbol(r, &name) && mlir_specialise(r, op, name, false, &region) &&
               mlir_push_value(r, &r->callees, region) && ++op->callees && mlir_build_dynamic_window(r, op);
    }
    bool top = strcmp(target, "stablehlo.dynamic_top_k") == 0;
    if (op->operands != 2 || (!top && strcmp(target, "stablehlo.dynamic_rng_bit_generator") != 0))
        return true;
    if (!mlir_known(r, mlir_operand(r, op, 1), &sizes) || !sizes.count)
        return sizes.count == 0;
    if (!top)
        return op->result_types < 2 || mlir_fill(r, op, 1, sizes.at, sizes.count);
    memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
    dims[first->rank ? first->rank - 1 : 0] = sizes.at[0];
    for (size_t i = 0; i < op->result_types; i++)
        if (!mlir_fill(r, op, i, dims, first->rank))
            return false;
    return true;
}

/* indices_of_shape_operands = dense<[1, 2]>: the operands that hold the sizes of each result. */
static bool fill_custom(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_ints which, sizes;
    if (!r->sized)
        return true;
    if (!mlir_find_ints(r, op, "indices_of_shape_operands|mhlo.indices_of_shape_operands", false, &which))
        return false;
    for (size_t i = 0; i < op->result_types && i < (size_t)which.count; i++) {
        if (which.at[i] < 0 || (size_t)which.at[i] >= op->operands)
            return mlir_op_error(r, op, "there is no operand %lld", (long long)which.at[i]);
        if (!mlir_known(r, mlir_operand(r, op, (size_t)which.at[i]), &sizes) ||
            !mlir_fill(r, op, i, sizes.at, sizes.count))
            return false;
    }
    return true;
}

bool mlir_build_custom(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    if (!mlir_find_text(r, op, "call_target_name|@", &set->target) ||
        !mlir_find_text(r, op, "backend_config|mhlo.backend_config", &set->backend_config))
        return false;
    if (!set->target)
        return mlir_op_error(r, op, "'call_target_name' is missing");
    bool done = false;
    if (strcmp(set->target, "ragged_all_to_all") == 0 && op->operands == 6 && op->result_types == 1)
        return fill_custom(r, op) && mlir_build_ragged_exchange(r, op);
    if (r->sized && !build_sizing(r, op, &done))
        return false;
    return done || (fill_custom(r, op) && mlir_verify_custom(r, op) && mlir_finish(r, op, HLO_CUSTOM_CALL) &&
                    note_called(r, op));
}

/* An operation that HLO does not have: a custom call of its name. */
bool mlir_build_foreign(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    set->target = arena_copy(&r->module->arena, op->name.at, op->name.length);
    if (op->operands && !mlir_fill_from(r, op, mlir_operand_type(r, op, 0)))
        return false;
    return set->target ? mlir_finish(r, op, HLO_CUSTOM_CALL) : error_memory(r->err);
}

/* mulhi: the upper half of a product of whole numbers. */
bool mlir_build_high_product(struct mlir_reader *r, struct mlir_op *op)
{
    if (!mlir_one_array(r, op))
        return false;
    const struct hlo_shape *a = mlir_operand_type(r, op, 0), *b = mlir_operand_type(r, op, 1),
                           *result = mlir_result_type(r, op, 0);
    if (!hlo_type_is_whole(a->type))
        return mlir_op_error(r, op, "expected whole numbers, found %s", hlo_type_name(a->type));
    if (!hlo_shape_equal(a, b) || !hlo_shape_equal(a, result))
        return mlir_op_error(r, op, "operands and result should be of one type");
    return mlir_build_foreign(r, op);
}

/* The result is the operand. */
bool mlir_build_identity(struct mlir_reader *r, struct mlir_op *op)
{
    op->instruction = mlir_operand(r, op, 0);
    return mlir_need_results(r, op, 1);
}

/* The shape, which is the third operand, is known. */
bool mlir_build_rng(struct mlir_reader *r, struct mlir_op *op)
{
    if (!mlir_one_array(r, op))
        return false;
    const struct hlo_shape *result = mlir_result_type(r, op, 0);
    for (size_t i = 0; i < 2; i++) {
        const struct hlo_shape *bound = mlir_operand_type(r, op, i);
        if (bound->rank || bound->type != result->type || hlo_type_is_complex(bound->type))
            return mlir_op_error(r, op, "operand %zu should be a scalar of the result's type", i + 1);
    }
    if (!mlir_check_sizes(r, op, 2))
        return false;
    op->operands = 2;
    return mlir_finish(r, op, HLO_RNG);
}

bool mlir_build_square(struct mlir_reader *r, struct mlir_op *op)
{
    op->operands = 2;
    return mlir_push_value(r, &r->operands, mlir_operand(r, op, 0)) && mlir_build_elementwise(r, op);
}
