/* The sizes of the entry's arguments that a text leaves open, as the user gave them.
 *
 * jax.export writes its symbols only into the message of a check:
 * "Using the following polymorphic shapes specifications: args[0].shape = (8*b, 128),args[1].shape = (s,). …",
 * one specification for each argument with open sizes, in their order. A size may be any of the expressions of
 * jax.export.symbolic_shape: sums, products, powers, floordiv, mod, max and min. */
#include "hlo/mlir/mlir.h"

#include <stdio.h>

#define MAX_EXPRESSION_DEPTH 50

bool mlir_dim(const struct mlir_reader *reader, struct mlir_span name, int64_t *size)
{
    const struct hlo_dims *dims = reader->dims;
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
    const struct mlir_reader *reader;
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
    if (mlir_dim(e->reader, name, value))
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
static struct mlir_span specified(const struct mlir_reader *reader, size_t number,
                                  const struct hlo_shape *shape, int dimension)
{
    static const char begin[] = "polymorphic shapes specifications: ", each[] = ".shape = (";
    struct mlir_span none = {"", 0}, found = none;
    size_t length = (size_t)(reader->end - reader->text);
    const char *p = memmem(reader->text, length, begin, sizeof begin - 1);
    const char *end = p ? memchr(p, '"', (size_t)(reader->end - p)) : NULL;
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

bool mlir_entry_size(struct mlir_reader *reader, const char *at, size_t argument,
                     const struct hlo_shape *shape, int dimension, int64_t *size)
{
    char place[64];
    snprintf(place, sizeof place, "%zu.%d", argument, dimension);
    if (mlir_dim(reader, (struct mlir_span){place, strlen(place)}, size))
        return true;
    struct mlir_span text = specified(reader, reader->open_arguments, shape, dimension);
    struct expression e = {.reader = reader, .p = text.at, .end = text.at + text.length};
    if (text.length && sum(&e, size) && next(&e) == '\0') {
        if (*size >= 0 && *size <= HLO_MAX_ELEMENTS)
            return true;
        return mlir_error(reader, at, "dimension %d of argument %zu, '%.*s', would be %lld", dimension,
                          argument, (int)(text.length < 100 ? text.length : 100), text.at, (long long)*size);
    }
    if (e.unknown.length)
        return mlir_error(reader, at,
                          "expected a static size, found '?': give the size '%.*s' by --dim %.*s=N",
                          (int)(e.unknown.length < 100 ? e.unknown.length : 100), e.unknown.at,
                          (int)(e.unknown.length < 100 ? e.unknown.length : 100), e.unknown.at);
    return mlir_error(reader, at,
                      "expected a static size, found '?': give dimension %d of argument %zu by --dim %s=N",
                      dimension, argument, place);
}
