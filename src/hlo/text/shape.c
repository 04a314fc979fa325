/* Shapes: dtype[dims]{layout}, (shape, …), b(shape). */
#include "hlo/text/text.h"

#include <string.h>

bool hlo_at_shape(struct hlo_reader *reader)
{
    const char *at = reader->at;
    if (hlo_peek(reader) == '(')
        return true;
    struct hlo_word word = hlo_read_word(reader);
    hlo_skip_blank(reader);
    bool is_shape = word.length > 0 && (hlo_peek(reader) == '[' ||
                                        (hlo_peek(reader) == '(' && word.length == 1 && *word.at == 'b'));
    reader->at = at;
    return is_shape;
}

/* A '{' behind a shape may also begin a body or a literal: a layout begins with a number, ':' or nothing. */
static bool at_layout(struct hlo_reader *reader)
{
    if (hlo_peek(reader) != '{')
        return false;
    const char *at = reader->at;
    reader->at++;
    hlo_skip_blank(reader);
    char c = hlo_peek(reader);
    reader->at = at;
    return (c >= '0' && c <= '9') || c == ':' || c == '}';
}

/* Where the shape that begins here ends, by brackets alone; NULL when they do not match. */
static const char *shape_end(struct hlo_reader *reader)
{
    const char *begin = reader->at;
    if (*begin == '(') {
        struct error ignored, *err = reader->err;
        reader->err = &ignored;
        bool ok = hlo_skip_brackets(reader);
        const char *end = reader->at;
        reader->err = err;
        reader->at = begin;
        return ok ? end : NULL;
    }
    const char *end = memchr(begin, ']', (size_t)(reader->end - begin));
    if (!end)
        return NULL;
    reader->at = end + 1;
    if (at_layout(reader)) {
        end = memchr(reader->at, '}', (size_t)(reader->end - reader->at));
        reader->at = end ? end + 1 : reader->at;
    }
    const char *after = reader->at;
    reader->at = begin;
    return after;
}

static bool read_dimension(struct hlo_reader *reader, int64_t *dimension)
{
    hlo_skip_blank(reader);
    const char *at = reader->at;
    if (hlo_peek(reader) == '?')
        return hlo_fail(reader, at, "a dimension that is not known ('?'): give the module fixed sizes");
    if (hlo_takes(reader, '<') && !hlo_expect(reader, '='))
        return false;
    if (!hlo_read_integer(reader, dimension))
        return false;
    return *dimension >= 0 || hlo_fail(reader, at, "expected a size, found %lld", (long long)*dimension);
}

static bool read_dims(struct hlo_reader *reader, struct hlo_shape *shape)
{
    int64_t dims[HLO_MAX_RANK], elements = 1;
    const char *begin = reader->at;
    if (!hlo_expect(reader, '['))
        return false;
    while (!hlo_takes(reader, ']')) {
        if (shape->rank && !hlo_expect(reader, ','))
            return false;
        if (shape->rank == HLO_MAX_RANK)
            return hlo_fail(reader, begin, "more than the %d dimensions that an array may have",
                            HLO_MAX_RANK);
        int64_t *dimension = &dims[shape->rank++];
        if (!read_dimension(reader, dimension))
            return false;
        if (*dimension &&
            (__builtin_mul_overflow(elements, *dimension, &elements) || elements > HLO_MAX_ELEMENTS))
            return hlo_fail(reader, begin, "more than the 2^53 elements that an array may have");
    }
    if (shape->rank == 0)
        return true;
    shape->dims = hlo_keep(reader, dims, (size_t)shape->rank * sizeof *dims);
    return shape->dims != NULL;
}

/* Tiles, memory space and the like, which say nothing about sizes: T(8,128)(2,1)S(1)… E(4) does: the bits of an element. Of
 * dimension levels (D) the letters are checked, and a physical shape (P) needs them. */
static bool skip_layout_extras(struct hlo_reader *reader, struct hlo_shape *shape)
{
    bool levels = false;
    while (!hlo_takes(reader, '}')) {
        hlo_skip_blank(reader);
        const char *at = reader->at;
        char kind = hlo_peek(reader);
        while (reader->at < reader->end && strchr("TLDESCPM#*", *reader->at) && *reader->at)
            reader->at++;
        if (reader->at == at && kind != '(')
            return hlo_expected(reader, "a layout's property or '}'");
        if (kind == 'P' && !levels)
            return hlo_fail(reader, at, "a physical shape in the layout of a dense array");
        hlo_skip_blank(reader);
        const char *inside = reader->at;
        if (hlo_peek(reader) != '(')
            return hlo_expected(reader, "'('");
        if (!hlo_skip_brackets(reader))
            return false;
        if (kind == 'E') {
            int bits = inside[1] >= '1' && inside[1] <= '9' ? inside[1] - '0' : 0;
            if (inside + 3 != reader->at || bits > 8)
                return hlo_fail(reader, inside, "expected the bits of an element, 1 to 8");
            shape->bits = hlo_type_bits(shape->type) < 8 ? bits : 0;
        }
        if (kind != 'D')
            continue;
        levels = true;
        for (const char *c = inside + 1; c < reader->at - 1; c++)
            if (!strchr("DCSHL+~, ", *c))
                return hlo_fail(reader, c, "expected a dimension's level: D, C, S or H, found '%c'", *c);
    }
    return true;
}

static bool read_layout(struct hlo_reader *reader, struct hlo_shape *shape)
{
    int32_t order[HLO_MAX_RANK];
    bool seen[HLO_MAX_RANK] = {false}, is_default = true;
    const char *begin = reader->at;
    int count = 0;
    reader->at++;
    for (; hlo_skip_blank(reader), hlo_peek(reader) != '}' && hlo_peek(reader) != ':'; count++) {
        int64_t dimension;
        if ((count && !hlo_expect(reader, ',')) || !hlo_read_integer(reader, &dimension))
            return false;
        if (dimension < 0 || dimension >= shape->rank || seen[dimension])
            return hlo_fail(reader, begin, "expected an order of the %d dimensions as layout", shape->rank);
        seen[dimension] = true;
        order[count] = (int32_t)dimension;
        is_default &= dimension == shape->rank - 1 - count;
    }
    if (count && count != shape->rank)
        return hlo_fail(reader, begin, "expected a layout of %d dimensions, found %d", shape->rank, count);
    if (!is_default && !(shape->layout = hlo_keep(reader, order, (size_t)count * sizeof *order)))
        return false;
    return hlo_takes(reader, ':') ? skip_layout_extras(reader, shape) : hlo_expect(reader, '}');
}

static bool read_array(struct hlo_reader *reader, struct hlo_shape *shape)
{
    hlo_skip_blank(reader);
    const char *at = reader->at;
    struct hlo_word word = hlo_read_word(reader);
    shape->type = hlo_type_find(word.at, word.length);
    if (shape->type == HLO_TYPE_COUNT || shape->type == HLO_TYPE_TUPLE) {
        reader->at = at;
        return hlo_expected(reader, "an element type (f32, bf16, s32, pred, …)");
    }
    if (!read_dims(reader, shape))
        return false;
    if (hlo_type_bits(shape->type) == 0 && shape->rank > 0)
        return hlo_fail(reader, at, "a %s has no dimensions", hlo_type_name(shape->type));
    return !at_layout(reader) || read_layout(reader, shape);
}

static bool read_tuple(struct hlo_reader *reader, struct hlo_shape *shape)
{
    size_t begin = reader->operands.count;
    shape->type = HLO_TYPE_TUPLE;
    reader->at++;
    while (!hlo_takes(reader, ')')) {
        if (reader->operands.count > begin && !hlo_expect(reader, ','))
            return false;
        const struct hlo_shape *part = hlo_read_shape(reader);
        if (!part || !hlo_push(reader, &reader->operands, (void *)part))
            return false;
    }
    size_t count = reader->operands.count - begin;
    shape->part_count = (int)count;
    shape->parts = hlo_pop_all(reader, &reader->operands, begin);
    if (count && !shape->parts)
        return error_memory(reader->err);
    return hlo_tuple_is_small(shape) ||
           hlo_fail(reader, reader->at, "a tuple of more than %d parts or %d levels", HLO_MAX_PARTS,
                    HLO_MAX_DEPTH);
}

static const struct hlo_shape *read_new(struct hlo_reader *reader)
{
    struct hlo_shape *shape = ARENA_NEW(&reader->module->arena, struct hlo_shape);
    if (!shape) {
        error_memory(reader->err);
        return NULL;
    }
    if (hlo_peek(reader) != '(')
        return read_array(reader, shape) ? shape : NULL;
    if (!hlo_enter(reader))
        return NULL;
    bool ok = read_tuple(reader, shape);
    reader->depth--;
    return ok ? shape : NULL;
}

/* Reads b(shape), a buffer, and returns its content. */
static const struct hlo_shape *read_buffer(struct hlo_reader *reader)
{
    reader->at = (const char *)memchr(reader->at, '(', (size_t)(reader->end - reader->at)) + 1;
    if (!hlo_enter(reader))
        return NULL;
    const struct hlo_shape *shape = hlo_read_shape(reader);
    reader->depth--;
    return shape && hlo_expect(reader, ')') ? shape : NULL;
}

static bool at_buffer(struct hlo_reader *reader)
{
    if (hlo_peek(reader) != 'b')
        return false;
    const char *at = reader->at++;
    hlo_skip_blank(reader);
    bool is_buffer = hlo_peek(reader) == '(';
    reader->at = at;
    return is_buffer;
}

const struct hlo_shape *hlo_read_shape(struct hlo_reader *reader)
{
    hlo_skip_blank(reader);
    if (reader->at == reader->end) {
        hlo_expected(reader, "a shape");
        return NULL;
    }
    if (at_buffer(reader))
        return read_buffer(reader);
    const char *begin = reader->at, *end = shape_end(reader);
    if (!end)
        return read_new(reader); /* sets the error */
    const struct hlo_shape *shape = hlo_table_get(&reader->shapes, begin, (size_t)(end - begin));
    if (shape) {
        reader->at = end;
        return shape;
    }
    shape = read_new(reader);
    if (!shape)
        return NULL;
    struct hlo_slot *slot = hlo_table_place(&reader->shapes, begin, (size_t)(reader->at - begin));
    if (!slot) {
        error_memory(reader->err);
        return NULL;
    }
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
