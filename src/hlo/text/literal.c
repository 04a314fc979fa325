/* Constants. Small ones are checked value by value; of large ones, which programs write, only the end is
 * looked for: at the speed of memory. */
#include "core/text.h"
#include "hlo/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHECKED_ELEMENTS 256

static bool read_value(struct hlo_reader *r, const struct hlo_shape *shape, int64_t *value);

/* Sets the minimum and maximum of an integer type. u64 wraps, as in XLA. */
static void integer_range(enum hlo_type type, int64_t *min, int64_t *max)
{
    int bits = hlo_type_bits(type);
    bool is_signed = hlo_type_is_signed(type);
    if (type == HLO_TYPE_PRED)
        bits = 1;
    *max = bits == 64 ? INT64_MAX : is_signed ? ((int64_t)1 << (bits - 1)) - 1 : ((int64_t)1 << bits) - 1;
    *min = is_signed || bits == 64 ? -*max - 1 : 0;
}

static bool read_u64(struct hlo_reader *r, int64_t *value)
{
    uint64_t number = 0;
    const char *at = r->at;
    for (; hlo_peek(r) >= '0' && hlo_peek(r) <= '9'; r->at++)
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*r->at - '0'), &number))
            return hlo_fail(r, at, "a value that u64 cannot hold");
    memcpy(value, &number, sizeof number);
    return r->at > at || hlo_read_integer(r, value);
}

static bool read_integer(struct hlo_reader *r, enum hlo_type type, int64_t *value)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    struct hlo_word word = hlo_read_word(r);
    *value = hlo_word_is(word, "true");
    if (*value || hlo_word_is(word, "false"))
        return true;
    r->at = at;
    int64_t min, max;
    integer_range(type, &min, &max);
    if (!(type == HLO_TYPE_U64 ? read_u64(r, value) : hlo_read_integer(r, value)))
        return false;
    if (*value < min || *value > max)
        return hlo_fail(r, at, "a value that %s cannot hold", hlo_type_name(type));
    return true;
}

/* The largest finite value of the types that are narrower than double. */
static double largest(enum hlo_type type)
{
    switch (type) {
    case HLO_TYPE_F16:
        return 65504;
    case HLO_TYPE_BF16:
        return 0x1.fep127;
    case HLO_TYPE_F32:
    case HLO_TYPE_C64:
        return 0x1.fffffep127;
    default:
        return 0x1.fffffffffffffp1023;
    }
}

/* Bits of the mantissa, which a NaN's payload must fit into; 0: the type has no payload. */
static int payload_bits(enum hlo_type type)
{
    switch (type) {
    case HLO_TYPE_BF16:
        return 7;
    case HLO_TYPE_F16:
        return 10;
    case HLO_TYPE_F32:
    case HLO_TYPE_C64:
        return 23;
    case HLO_TYPE_F64:
    case HLO_TYPE_C128:
        return 52;
    case HLO_TYPE_F8E5M2:
        return 2;
    default:
        return 0;
    }
}

static bool read_payload(struct hlo_reader *r, enum hlo_type type)
{
    const char *at = r->at;
    if (!hlo_takes(r, '('))
        return true;
    char digits[32] = {0};
    struct hlo_word word = hlo_read_word(r);
    if (word.length < sizeof digits)
        memcpy(digits, word.at, word.length);
    char *end;
    unsigned long long payload = strtoull(digits, &end, 16);
    if (end == digits || *end || word.length < 3 || digits[1] != 'x')
        return hlo_fail(r, at, "expected the payload of a NaN as (0x…)");
    if (payload >> payload_bits(type))
        return hlo_fail(r, at, "a NaN's payload that %s cannot hold", hlo_type_name(type));
    return hlo_expect(r, ')');
}

static bool read_float(struct hlo_reader *r, enum hlo_type type)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    char text[64] = {0};
    size_t length = 0;
    while (r->at < r->end && length + 1 < sizeof text && (hlo_is_name_byte(*r->at) || *r->at == '+'))
        text[length++] = *r->at++;
    if (strcmp(text, "nan") == 0 || strcmp(text, "-nan") == 0)
        return read_payload(r, type);
    char *end = text;
    double value = strcmp(text, "true") == 0 || strcmp(text, "false") == 0 ? (end = text + length, 0.0)
                                                                           : text_number(text, &end);
    if (length == 0 || *end) {
        r->at = at;
        return hlo_expected(r, "a number");
    }
    /* half a unit of the last place above the largest rounds to it */
    if (strstr(text, "inf") == NULL && (isinf(value) || fabs(value) > largest(type) * (1 + 0x1p-12)))
        return hlo_fail(r, at, "a value that %s cannot hold", hlo_type_name(type));
    return true;
}

static bool read_scalar(struct hlo_reader *r, enum hlo_type type, int64_t *value)
{
    if (hlo_type_is_float(type))
        return read_float(r, type);
    if (!hlo_type_is_complex(type))
        return read_integer(r, type, value);
    if (!hlo_takes(r, '('))
        return read_float(r, type);
    return read_float(r, type) && hlo_expect(r, ',') && read_float(r, type) && hlo_expect(r, ')');
}

/* Reads { … } for each dimension, with as many values as it has. An empty dimension may leave out its
 * content. */
static bool read_nested(struct hlo_reader *r, const struct hlo_shape *shape, int dimension)
{
    int64_t ignored, count = 0;
    if (dimension == shape->rank)
        return read_scalar(r, shape->type, &ignored);
    if (!hlo_expect(r, '{'))
        return false;
    while (!hlo_takes(r, '}')) {
        if (count && !hlo_expect(r, ','))
            return false;
        if (count++ == shape->dims[dimension])
            return hlo_fail(r, r->at, "more than %lld values in dimension %d of the constant",
                            (long long)shape->dims[dimension], dimension);
        if (!read_nested(r, shape, dimension + 1))
            return false;
    }
    return count == shape->dims[dimension] || (count == 0 && hlo_elements(shape) == 0) ||
           hlo_fail(r, r->at, "expected %lld values in dimension %d of the constant, found %lld",
                    (long long)shape->dims[dimension], dimension, (long long)count);
}

/* `{...}`, which stands for any number of values. */
static bool takes_elided(struct hlo_reader *r)
{
    hlo_skip_blank(r);
    if (r->end - r->at < 5 || memcmp(r->at, "{...}", 5) != 0)
        return false;
    r->at += 5;
    return true;
}

static bool read_tuple(struct hlo_reader *r, const struct hlo_shape *shape)
{
    int64_t ignored;
    if (!hlo_expect(r, '('))
        return false;
    for (int i = 0; i < shape->part_count; i++)
        if ((i && !hlo_expect(r, ',')) || !read_value(r, shape->parts[i], &ignored))
            return false;
    return hlo_expect(r, ')');
}

static bool read_value(struct hlo_reader *r, const struct hlo_shape *shape, int64_t *value)
{
    hlo_skip_blank(r);
    if (takes_elided(r))
        return true;
    const char *at = r->at;
    bool repeats_shape = hlo_peek(r) != '(' && hlo_at_shape(r);
    if (repeats_shape) {
        const struct hlo_shape *again = hlo_read_shape(r);
        if (!again)
            return false;
        if (!hlo_shape_equal(again, shape))
            return hlo_fail(r, at, "the constant's value has another shape than the constant");
    }
    if (shape->type == HLO_TYPE_TUPLE) {
        bool ok = hlo_enter(r) && read_tuple(r, shape);
        r->depth--;
        return ok;
    }
    if (hlo_type_bits(shape->type) == 0)
        return hlo_fail(r, at, "a %s has no value", hlo_type_name(shape->type));
    /* a lone value fills the array, as XLA has it */
    bool is_lone = shape->rank == 0 || hlo_peek(r) != '{';
    return is_lone ? read_scalar(r, shape->type, value) : read_nested(r, shape, 0);
}

/* Past the ')' that closes the constant, counting only round brackets: nothing else in a literal may hold
 * any but its comments, which say `i0=0`. */
static bool skip_large(struct hlo_reader *r)
{
    const char *begin = r->at;
    for (int64_t open = 1; open > 0;) {
        const char *close = memchr(r->at, ')', (size_t)(r->end - r->at));
        if (!close)
            return hlo_fail(r, begin, "an unterminated constant");
        for (const char *c = r->at; (c = memchr(c, '(', (size_t)(close - c))); c++)
            open++;
        open--;
        r->at = close + 1;
    }
    return true;
}

static double number_at(const char *text, const char *end)
{
    char digits[32] = {0}, *rest;
    size_t count = 0;
    for (text += strspn(text, " ");
         text < end && count < sizeof digits - 1 && strchr("0123456789.+-eE", *text) && *text;)
        digits[count++] = *text++;
    double number = text_number(digits, &rest);
    return count > 0 && *rest == '\0' ? number : (double)NAN;
}

bool hlo_read_literal(struct hlo_reader *r, struct hlo_instruction *constant)
{
    const struct hlo_shape *shape = constant->shape;
    if (shape->type != HLO_TYPE_TUPLE && hlo_elements(shape) > CHECKED_ELEMENTS)
        return skip_large(r);
    const char *at = r->at;
    hlo_skip_blank(r);
    constant->splat =
        shape->type != HLO_TYPE_TUPLE && shape->rank > 0 && hlo_peek(r) != '{' && !hlo_at_shape(r);
    if (!read_value(r, shape, &constant->value) || !hlo_expect(r, ')'))
        return false;
    constant->number = constant->splat || shape->rank == 0 ? number_at(at, r->end) : (double)NAN;
    bool is_integer = hlo_type_bits(shape->type) > 0 && !hlo_type_is_float(shape->type) &&
                      !hlo_type_is_complex(shape->type);
    bool is_elided = memmem(at, (size_t)(r->at - at), "...", 3) != NULL;
    bool is_wrapped = shape->type == HLO_TYPE_U64 && constant->value < 0;
    constant->has_value = is_integer && shape->rank == 0 && !is_elided && !is_wrapped;
    return true;
}
