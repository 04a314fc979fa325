/* Shapes: dtype[dims]{layout}, (shape, …), b(shape). */
#include "hlo/text/text.h"

#include <string.h>

bool hlo_at_shape(struct hlo_reader *r)
{
    const char *at = r->at;
    if (hlo_peek(r) == '(')
        return true;
    struct hlo_word word = hlo_read_word(r);
    hlo_skip_blank(r);
    bool is_shape = word.length > 0 &&
                    (hlo_peek(r) == '[' || (hlo_peek(r) == '(' && word.length == 1 && *word.at == 'b'));
    r->at = at;
    return is_shape;
}

/* A '{' behind a shape may also begin a body or a literal: a layout begins with a number, ':' or nothing. */
static bool at_layout(struct hlo_reader *r)
{
    if (hlo_peek(r) != '{')
        return false;
    const char *at = r->at;
    r->at++;
    hlo_skip_blank(r);
    char c = hlo_peek(r);
    r->at = at;
    return (c >= '0' && c <= '9') || c == ':' || c == '}';
}

/* Where the shape that begins here ends, by brackets alone; NULL when they do not match. */
static const char *shape_end(struct hlo_reader *r)
{
    const char *begin = r->at;
    if (*begin == '(') {
        struct error ignored, *err = r->err;
        r->err = &ignored;
        bool ok = hlo_skip_brackets(r);
        const char *end = r->at;
        r->err = err;
        r->at = begin;
        return ok ? end : NULL;
    }
    const char *end = memchr(begin, ']', (size_t)(r->end - begin));
    if (!end)
        return NULL;
    r->at = end + 1;
    if (at_layout(r)) {
        end = memchr(r->at, '}', (size_t)(r->end - r->at));
        r->at = end ? end + 1 : r->at;
    }
    const char *after = r->at;
    r->at = begin;
    return after;
}

static bool read_dimension(struct hlo_reader *r, int64_t *dimension)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    if (hlo_peek(r) == '?')
        return hlo_fail(r, at, "a dimension that is not known ('?'): give the module fixed sizes");
    if (hlo_takes(r, '<') && !hlo_expect(r, '='))
        return false;
    if (!hlo_read_integer(r, dimension))
        return false;
    return *dimension >= 0 || hlo_fail(r, at, "expected a size, found %lld", (long long)*dimension);
}

static bool read_dims(struct hlo_reader *r, struct hlo_shape *shape)
{
    int64_t dims[HLO_MAX_RANK], elements = 1;
    const char *begin = r->at;
    if (!hlo_expect(r, '['))
        return false;
    while (!hlo_takes(r, ']')) {
        if (shape->rank && !hlo_expect(r, ','))
            return false;
        if (shape->rank == HLO_MAX_RANK)
            return hlo_fail(r, begin, "more than the %d dimensions that an array may have", HLO_MAX_RANK);
        int64_t *dimension = &dims[shape->rank++];
        if (!read_dimension(r, dimension))
            return false;
        if (*dimension &&
            (__builtin_mul_overflow(elements, *dimension, &elements) || elements > HLO_MAX_ELEMENTS))
            return hlo_fail(r, begin, "more than the 2^53 elements that an array may have");
    }
    if (shape->rank == 0)
        return true;
    shape->dims = hlo_keep(r, dims, (size_t)shape->rank * sizeof *dims);
    return shape->dims != NULL;
}

/* Tiles, memory space and the like, which say nothing about sizes: T(8,128)(2,1)S(1)… E(4) does: the bits of an
 * element. Of dimension levels (D) the letters are checked, and a physical shape (P) needs them. */
static bool skip_layout_extras(struct hlo_reader *r, struct hlo_shape *shape)
{
    bool levels = false;
    while (!hlo_takes(r, '}')) {
        hlo_skip_blank(r);
        const char *at = r->at;
        char kind = hlo_peek(r);
        while (r->at < r->end && strchr("TLDESCPM#*", *r->at) && *r->at)
            r->at++;
        if (r->at == at && kind != '(')
            return hlo_expected(r, "a layout's property or '}'");
        if (kind == 'P' && !levels)
            return hlo_fail(r, at, "a physical shape in the layout of a dense array");
        hlo_skip_blank(r);
        const char *inside = r->at;
        if (hlo_peek(r) != '(')
            return hlo_expected(r, "'('");
        if (!hlo_skip_brackets(r))
            return false;
        if (kind == 'E') {
            int bits = inside[1] >= '1' && inside[1] <= '9' ? inside[1] - '0' : 0;
            if (inside + 3 != r->at || bits > 8)
                return hlo_fail(r, inside, "expected the bits of an element, 1 to 8");
            shape->bits = hlo_type_bits(shape->type) < 8 ? bits : 0;
        }
        if (kind != 'D')
            continue;
        levels = true;
        for (const char *c = inside + 1; c < r->at - 1; c++)
            if (!strchr("DCSHL+~, ", *c))
                return hlo_fail(r, c, "expected a dimension's level: D, C, S or H, found '%c'", *c);
    }
    return true;
}

static bool read_layout(struct hlo_reader *r, struct hlo_shape *shape)
{
    int32_t order[HLO_MAX_RANK];
    bool seen[HLO_MAX_RANK] = {false}, is_default = true;
    const char *begin = r->at;
    int count = 0;
    r->at++;
    for (; hlo_skip_blank(r), hlo_peek(r) != '}' && hlo_peek(r) != ':'; count++) {
        int64_t dimension;
        if ((count && !hlo_expect(r, ',')) || !hlo_read_integer(r, &dimension))
            return false;
        if (dimension < 0 || dimension >= shape->rank || seen[dimension])
            return hlo_fail(r, begin, "expected an order of the %d dimensions as layout", shape->rank);
        seen[dimension] = true;
        order[count] = (int32_t)dimension;
        is_default &= dimension == shape->rank - 1 - count;
    }
    if (count && count != shape->rank)
        return hlo_fail(r, begin, "expected a layout of %d dimensions, found %d", shape->rank, count);
    if (!is_default && !(shape->layout = hlo_keep(r, order, (size_t)count * sizeof *order)))
        return false;
    return hlo_takes(r, ':') ? skip_layout_extras(r, shape) : hlo_expect(r, '}');
}

static bool read_array(struct hlo_reader *r, struct hlo_shape *shape)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    struct hlo_word word = hlo_read_word(r);
    shape->type = hlo_type_find(word.at, word.length);
    if (shape->type == HLO_TYPE_COUNT || shape->type == HLO_TYPE_TUPLE) {
        r->at = at;
        return hlo_expected(r, "an element type (f32, bf16, s32, pred, …)");
    }
    if (!read_dims(r, shape))
        return false;
    if (hlo_type_bits(shape->type) == 0 && shape->rank > 0)
        return hlo_fail(r, at, "a %s has no dimensions", hlo_type_name(shape->type));
    return !at_layout(r) || read_layout(r, shape);
}

static bool read_tuple(struct hlo_reader *r, struct hlo_shape *shape)
{
    size_t begin = r->operands.count;
    shape->type = HLO_TYPE_TUPLE;
    r->at++;
    while (!hlo_takes(r, ')')) {
        if (r->operands.count > begin && !hlo_expect(r, ','))
            return false;
        const struct hlo_shape *part = hlo_read_shape(r);
        if (!part || !hlo_push(r, &r->operands, (void *)part))
            return false;
    }
    size_t count = r->operands.count - begin;
    shape->part_count = (int)count;
    shape->parts = hlo_pop_all(r, &r->operands, begin);
    if (count && !shape->parts)
        return error_memory(r->err);
    return hlo_tuple_is_small(shape) ||
           hlo_fail(r, r->at, "a tuple of more than %d parts or %d levels", HLO_MAX_PARTS, HLO_MAX_DEPTH);
}

static const struct hlo_shape *read_new(struct hlo_reader *r)
{
    struct hlo_shape *shape = ARENA_NEW(&r->module->arena, struct hlo_shape);
    if (!shape)
        return error_memory_null(r->err);
    if (hlo_peek(r) != '(')
        return read_array(r, shape) ? shape : NULL;
    if (!hlo_enter(r))
        return NULL;
    bool ok = read_tuple(r, shape);
    r->depth--;
    return ok ? shape : NULL;
}

/* Reads b(shape), a buffer, and returns its content. */
static const struct hlo_shape *read_buffer(struct hlo_reader *r)
{
    r->at = (const char *)memchr(r->at, '(', (size_t)(r->end - r->at)) + 1;
    if (!hlo_enter(r))
        return NULL;
    const struct hlo_shape *shape = hlo_read_shape(r);
    r->depth--;
    return shape && hlo_expect(r, ')') ? shape : NULL;
}

static bool at_buffer(struct hlo_reader *r)
{
    if (hlo_peek(r) != 'b')
        return false;
    const char *at = r->at++;
    hlo_skip_blank(r);
    bool is_buffer = hlo_peek(r) == '(';
    r->at = at;
    return is_buffer;
}

const struct hlo_shape *hlo_read_shape(struct hlo_reader *r)
{
    hlo_skip_blank(r);
    if (r->at == r->end)
        return hlo_expected(r, "a shape"), NULL;
    if (at_buffer(r))
        return read_buffer(r);
    const char *begin = r->at, *end = shape_end(r);
    if (!end)
        return read_new(r); /* sets the error */
    const struct hlo_shape *shape = hlo_table_get(&r->shapes, begin, (size_t)(end - begin));
    if (shape) {
        r->at = end;
        return shape;
    }
    shape = read_new(r);
    if (!shape)
        return NULL;
    struct hlo_slot *slot = hlo_table_place(&r->shapes, begin, (size_t)(r->at - begin));
    if (!slot)
        return error_memory_null(r->err);
    slot->value = (void *)shape;
    return shape;
}

struct tuple_size {
    int64_t parts, elements;
};

static bool add_parts(const struct hlo_shape *tuple, int depth, struct tuple_size *size)
{
    if (depth == HLO_MAX_DEPTH)
        return false;
    for (int i = 0; i < tuple->part_count; i++) {
        const struct hlo_shape *part = tuple->parts[i];
        size->elements += hlo_elements(part);
        if (++size->parts > HLO_MAX_PARTS || size->elements > HLO_MAX_ELEMENTS)
            return false;
        if (part->type == HLO_TYPE_TUPLE && !add_parts(part, depth + 1, size))
            return false;
    }
    return true;
}

bool hlo_tuple_is_small(const struct hlo_shape *tuple)
{
    struct tuple_size size = {0};
    return add_parts(tuple, 0, &size);
}
