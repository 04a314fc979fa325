/* Texts that leave sizes open: the sizes of arguments, of results, and functions for each signature. */
#include "hlo/mlir/mlir.h"

#include <stdio.h>

/* The sizes of the entry's arguments that a text leaves open, as the user gave them.
 *
 * jax.export writes its symbols only into the message of a check:
 * "Using the following polymorphic shapes specifications: args[0].shape = (8*b, 128),args[1].shape = (s,). …",
 * one specification for each argument with open sizes, in their order. A size may be any of the expressions of
 * jax.export.symbolic_shape: sums, products, powers, floordiv, mod, max and min. */

#define MAX_EXPRESSION_DEPTH 50

/* Finds the value of a name; false if there is none. */
static bool mlir_dim(const struct mlir_reader *r, struct mlir_span name, int64_t *size)
{
    const struct hlo_dims *dims = r->dims;
    for (size_t i = 0; dims && i < dims->count; i++)
        if (dims->at[i].length == name.length && memcmp(dims->at[i].name, name.at, name.length) == 0) {
            atomic_store(&dims->at[i].used, true);
            *size = dims->at[i].size;
            return true;
        }
    return false;
}

/* An expression in the text. */
struct expression {
    const struct mlir_reader *r;
    const char *p, *end;
    struct mlir_span unknown; /* a name without a size */
    int depth;
};

static bool sum(struct expression *e, int64_t *value);

static char next(struct expression *e)
{
    while (e->p < e->end && *e->p == ' ')
        e->p++;
    return e->p < e->end ? *e->p : '\0';
}

static bool take(struct expression *e, char c)
{
    if (next(e) != c)
        return false;
    e->p++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool number(struct expression *e, int64_t *value)
{
    *value = 0;
    for (; e->p < e->end && is_digit(*e->p); e->p++)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *e->p - '0', value))
            return false;
    return true;
}

/* Rounds to minus infinity, as Python does. */
static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* floordiv(a, b) and the like, after the bracket. */
static bool function(struct expression *e, struct mlir_span name, int64_t *value)
{
    int64_t a, b;
    if (!sum(e, &a) || !take(e, ',') || !sum(e, &b) || !take(e, ')'))
        return false;
    bool divides = mlir_same(name, "floordiv") || mlir_same(name, "mod");
    if (divides && (b == 0 || b == -1 || a == INT64_MIN))
        return false;
    if (mlir_same(name, "floordiv"))
        *value = floor_divide(a, b);
    else if (mlir_same(name, "mod"))
        *value = a - floor_divide(a, b) * b;
    else if (mlir_same(name, "max"))
        *value = a > b ? a : b;
    else if (mlir_same(name, "min"))
        *value = a < b ? a : b;
    else
        return false;
    return true;
}

static bool atom(struct expression *e, int64_t *value)
{
    char c = next(e);
    const char *start = e->p;
    if (is_digit(c))
        return number(e, value);
    if (take(e, '('))
        return sum(e, value) && take(e, ')');
    while (e->p < e->end && mlir_is_word(*e->p))
        e->p++;
    struct mlir_span name = {start, (size_t)(e->p - start)};
    if (name.length == 0)
        return false;
    if (take(e, '('))
        return function(e, name, value);
    if (mlir_dim(e->r, name, value))
        return true;
    e->unknown = name;
    return false;
}

static bool power(struct expression *e, int64_t *value)
{
    int64_t base, exponent = 1;
    if (!atom(e, &base))
        return false;
    if (take(e, '^') && (!is_digit(next(e)) || !number(e, &exponent) || exponent > 62))
        return false;
    for (*value = 1; exponent > 0; exponent--)
        if (__builtin_mul_overflow(*value, base, value))
            return false;
    return true;
}

static bool product(struct expression *e, int64_t *value)
{
    int64_t factor;
    if (!power(e, value))
        return false;
    while (take(e, '*'))
        if (!power(e, &factor) || __builtin_mul_overflow(*value, factor, value))
            return false;
    return true;
}

static bool sum(struct expression *e, int64_t *value)
{
    *value = 0;
    if (++e->depth > MAX_EXPRESSION_DEPTH)
        return false;
    for (bool first = true;; first = false) {
        int64_t term;
        bool minus = take(e, '-');
        if (!minus && !take(e, '+') && !first)
            break;
        if (!product(e, &term) || (minus ? __builtin_sub_overflow(*value, term, value)
                                         : __builtin_add_overflow(*value, term, value)))
            return false;
    }
    e->depth--;
    return true;
}

/* Past one size of a specification, to its ',' or the ')' of the list. */
static const char *past_size(const char *p, const char *end)
{
    for (int depth = 0; p < end && (depth > 0 || (*p != ',' && *p != ')')); p++)
        depth += (*p == '(') - (*p == ')');
    return p;
}

/* Finds the text of a size: of the open argument of this number, counted from 0. Length 0: there is none, or it does
 * not fit the shape. */
static struct mlir_span specified(const struct mlir_reader *r, size_t number, const struct hlo_shape *shape,
                                  int dimension)
{
    static const char begin[] = "polymorphic shapes specifications: ", each[] = ".shape = (";
    struct mlir_span none = {"", 0}, found = none;
    size_t length = (size_t)(r->end - r->text);
    const char *p = memmem(r->text, length, begin, sizeof begin - 1);
    const char *end = p ? memchr(p, '"', (size_t)(r->end - p)) : NULL;
    for (size_t i = 0; end && i <= number; i++) {
        p = memmem(p, (size_t)(end - p), each, sizeof each - 1);
        if (!p)
            return none;
        p += sizeof each - 1;
    }
    for (int d = 0; end && d < shape->rank; d++) {
        const char *close = past_size(p, end);
        if (close == end)
            return none;
        if (d == dimension)
            found = (struct mlir_span){p, (size_t)(close - p)};
        p = close + (d + 1 < shape->rank);
        if (*close == ')' && d + 1 < shape->rank)
            return none;
    }
    return found;
}

/* The sizes that the user gave. *size is that of a dimension of the entry's argument; its name is looked up
 * in `dims`, by place or by the specification that jax.export writes. */
static bool mlir_entry_size(struct mlir_reader *r, const char *at, size_t argument,
                            const struct hlo_shape *shape, int dimension, int64_t *size)
{
    char place[64];
    snprintf(place, sizeof place, "%zu.%d", argument, dimension);
    if (mlir_dim(r, (struct mlir_span){place, strlen(place)}, size))
        return true;
    struct mlir_span text = specified(r, r->open_arguments, shape, dimension);
    struct expression e = {.r = r, .p = text.at, .end = text.at + text.length};
    if (text.length && sum(&e, size) && next(&e) == '\0') {
        if (*size >= 0 && *size <= HLO_MAX_ELEMENTS)
            return true;
        return mlir_error(r, at, "dimension %d of argument %zu, '%.*s', would be %lld", dimension, argument,
                          (int)(text.length < 100 ? text.length : 100), text.at, (long long)*size);
    }
    if (e.unknown.length)
        return mlir_error(r, at, "expected a static size, found '?': give the size '%.*s' by --dim %.*s=N",
                          (int)(e.unknown.length < 100 ? e.unknown.length : 100), e.unknown.at,
                          (int)(e.unknown.length < 100 ? e.unknown.length : 100), e.unknown.at);
    return mlir_error(r, at,
                      "expected a static size, found '?': give dimension %d of argument %zu by --dim %s=N",
                      dimension, argument, place);
}

/* Versions of a function that is called with ever other sizes or values double with each level of calls. */
#define MAX_READ_AGAIN(length) (256 * (size_t)(length) + ((size_t)1 << 20))

bool mlir_is_sized(const struct hlo_shape *shape)
{
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0)
            return false;
    for (int i = 0; i < shape->part_count; i++)
        if (!mlir_is_sized(shape->parts[i]))
            return false;
    return true;
}

/* Returns the shape with these sizes where it leaves them open; NULL: an error was set at `at`. */
static const struct hlo_shape *with_dims(struct mlir_reader *r, const char *at, const struct hlo_shape *shape,
                                         const int64_t *dims)
{
    int64_t all[HLO_MAX_RANK], elements = 1;
    for (int i = 0; i < shape->rank; i++) {
        all[i] = shape->dims[i] < 0 ? dims[i] : shape->dims[i];
        if (all[i] > HLO_MAX_ELEMENTS ||
            (all[i] > 0 && __builtin_mul_overflow(elements, all[i], &elements)) ||
            elements > HLO_MAX_ELEMENTS)
            return mlir_error(r, at, "this array has more than 2^53 elements"), NULL;
    }
    const struct hlo_shape *sized = mlir_array_shape(r, shape->type, all, shape->rank);
    if (!sized)
        error_memory(r->err);
    return sized;
}

bool mlir_fill(struct mlir_reader *r, const struct mlir_op *op, size_t index, const int64_t *dims, int rank)
{
    const struct hlo_shape **slot =
        (const struct hlo_shape **)r->shapes.items + op->first_type + op->operand_types + index;
    if (!r->sized || (*slot)->rank != rank || mlir_is_sized(*slot))
        return true;
    *slot = with_dims(r, op->at, *slot, dims);
    return *slot != NULL;
}

bool mlir_fill_from(struct mlir_reader *r, const struct mlir_op *op, const struct hlo_shape *shape)
{
    bool tuple = shape->type == HLO_TYPE_TUPLE && op->result_types != 1;
    for (size_t i = 0; r->sized && i < op->result_types; i++) {
        const struct hlo_shape *part = !tuple                          ? shape
                                       : i < (size_t)shape->part_count ? shape->parts[i]
                                                                       : NULL;
        if (part && !mlir_fill(r, op, i, part->dims, part->rank))
            return false;
    }
    return true;
}

bool mlir_fill_alike(struct mlir_reader *r, const struct mlir_op *op)
{
    for (size_t i = 0; r->sized && i < op->result_types && i < op->operands; i++) {
        const struct hlo_shape *shape = mlir_operand_type(r, op, i);
        if (!mlir_fill(r, op, i, shape->dims, shape->rank))
            return false;
    }
    return true;
}

/* Gives an argument of the entry its sizes; and its value, where jax.export has named it as a size. */
static bool size_entry(struct mlir_reader *r, const struct mlir_op *attributes, const char *at,
                       const struct hlo_shape **shape, struct hlo_ints *known)
{
    int64_t dims[HLO_MAX_RANK];
    size_t argument = r->blocks[r->depth].parameters.count;
    const char *name = mlir_find(r, attributes, "jax.global_constant");
    if (name && *name == '"' && (*shape)->rank == 0 && hlo_type_is_whole((*shape)->type)) {
        struct mlir_span text;
        const char *after = r->p;
        r->p = name;
        if (!mlir_string(r, &text))
            return false;
        r->p = after;
        if (mlir_dim(r, text, &dims[0]))
            *known = mlir_copy_ints(r, dims, 1);
    }
    if (mlir_is_sized(*shape))
        return true;
    for (int d = 0; d < (*shape)->rank; d++)
        if ((*shape)->dims[d] < 0 && !mlir_entry_size(r, at, argument, *shape, d, &dims[d]))
            return false;
    r->open_arguments++;
    *shape = with_dims(r, at, *shape, dims);
    return *shape != NULL;
}

bool mlir_size_argument(struct mlir_reader *r, const struct mlir_op *attributes, const char *at,
                        const struct hlo_shape **shape, struct hlo_ints *known)
{
    const struct mlir_signature *given = r->given;
    size_t index = r->blocks[r->depth].parameters.count;
    *known = (struct hlo_ints){0};
    if (!given && r->depth == r->base)
        return size_entry(r, attributes, at, shape, known);
    if (given && given->depth == r->depth && index < given->count) {
        char is[128], wanted[128];
        if (!hlo_shape_equal(*shape, given->shapes[index]))
            return mlir_error(r, at, "argument %zu takes %s, found %s", index + 1,
                              hlo_shape_text(*shape, wanted, sizeof wanted),
                              hlo_shape_text(given->shapes[index], is, sizeof is));
        *shape = given->shapes[index];
        if (given->known)
            *known = given->known[index];
    }
    return mlir_is_sized(*shape) ||
           mlir_error(r, at, "expected a static size, found '?': nothing gives this argument's size");
}

/* ---- functions ---- */

static struct mlir_function *function_at(const struct mlir_reader *r, size_t index)
{
    return (struct mlir_function *)r->functions.items + index;
}

static bool same_signature(const struct mlir_signature *a, const struct mlir_signature *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!hlo_shape_equal(a->shapes[i], b->shapes[i]) || a->known[i].count != b->known[i].count ||
            (a->known[i].count &&
             memcmp(a->known[i].at, b->known[i].at, (size_t)a->known[i].count * sizeof *a->known[i].at) != 0))
            return false;
    return true;
}

/* Makes the signature of a call in the arena. */
static bool sign(struct mlir_reader *r, const struct mlir_op *op, struct mlir_signature *signature)
{
    size_t count = op->operands;
    signature->depth = r->depth + 1;
    signature->count = count;
    signature->shapes = ARENA_ARRAY(&r->module->arena, count, const struct hlo_shape *);
    signature->known = ARENA_ARRAY(&r->module->arena, count, struct hlo_ints);
    if (!signature->shapes || !signature->known)
        return error_memory(r->err);
    for (size_t i = 0; i < count; i++) {
        const struct hlo_instruction *operand = mlir_operand(r, op, i);
        signature->shapes[i] = operand->shape;
        if (!mlir_known(r, operand, &signature->known[i]))
            return false;
    }
    return true;
}

/* Reads a listed function; given: NULL for the entry. */
static struct hlo_computation *read_version(struct mlir_reader *r, size_t index,
                                            const struct mlir_signature *given)
{
    struct mlir_function function = *function_at(r, index);
    const struct mlir_signature *outer = r->given;
    const char *after = r->p;
    int base = r->base, module = r->module_number;
    size_t count = r->functions.count;
    function_at(r, index)->open = true;
    r->p = function.body;
    r->given = given;
    r->base = r->depth + 1;
    r->module_number = function.module;
    r->call_depth++;
    if (!mlir_read_function(r, function.at, function.generic))
        return NULL;
    struct hlo_computation *computation = function_at(r, count)->computation;
    r->read_again += (size_t)(r->p - function.body);
    r->functions.count = count;
    r->p = after;
    r->given = outer;
    r->base = base;
    r->module_number = module;
    r->call_depth--;
    function_at(r, index)->open = false;
    return computation;
}

static bool find_listed(const struct mlir_reader *r, struct mlir_span name, size_t *index)
{
    for (size_t i = 0; i < r->listed; i++) {
        const struct mlir_function *function = function_at(r, i);
        if (function->module == r->module_number && function->name.length == name.length &&
            memcmp(function->name.at, name.at, name.length) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

bool mlir_specialise(struct mlir_reader *r, const struct mlir_op *op, struct mlir_span name,
                     bool with_operands, struct hlo_computation **computation)
{
    struct mlir_op none = {0};
    struct mlir_signature signature;
    size_t index, versions = 0;
    bool found = find_listed(r, name, &index);
    if (!found || !function_at(r, index)->has_body)
        return mlir_error(r, op->at, "function '@%.*s' is %s", (int)name.length, name.at,
                          found ? "only declared, it has no body" : "not defined");
    if (!sign(r, with_operands ? op : &none, &signature))
        return false;
    for (size_t i = 0; i < r->versions.count; i++) {
        const struct mlir_version *version = (struct mlir_version *)r->versions.items + i;
        versions += version->function == index;
        if (version->function == index && same_signature(&version->signature, &signature)) {
            *computation = version->computation;
            return true;
        }
    }
    if (function_at(r, index)->open)
        return mlir_error(r, op->at, "function '@%.*s' calls itself", (int)name.length, name.at);
    if (r->call_depth > HLO_MAX_DEPTH || r->depth >= HLO_MAX_DEPTH)
        return mlir_error(r, op->at, "calls nested deeper than %d", HLO_MAX_DEPTH);
    if (r->read_again > MAX_READ_AGAIN(r->end - r->text))
        return mlir_error(r, op->at, "functions are called with too many different sizes or values");
    *computation = read_version(r, index, &signature);
    if (!*computation)
        return false;
    if (versions && !((*computation)->name =
                          arena_format(&r->module->arena, "%s.%zu", (*computation)->name, versions + 1)))
        return error_memory(r->err);
    struct mlir_version *version = mlir_push(r, &r->versions, sizeof *version);
    if (version)
        *version = (struct mlir_version){index, signature, *computation};
    return version != NULL;
}

/* Reads the entry, which reads all functions that it calls. */
bool mlir_link_sized(struct mlir_reader *r)
{
    struct hlo_module *module = r->module;
    r->listed = r->functions.count;
    const struct mlir_function *entry = mlir_find_entry(r);
    if (!entry)
        return mlir_error(r, r->end, "expected a function with a body, found none");
    module->entry = read_version(r, (size_t)(entry - function_at(r, 0)), NULL);
    if (!module->entry)
        return false;
    size_t count = r->computations.count;
    module->computations = ARENA_ARRAY(&module->arena, count, struct hlo_computation *);
    if (!module->computations)
        return error_memory(r->err);
    memcpy(module->computations, r->computations.items, count * sizeof(struct hlo_computation *));
    for (; (size_t)module->count < count; module->count++)
        module->computations[module->count]->index = module->count;
    return true;
}
