#include "core/hash.h"
#include "hlo/mlir/mlir.h"

/* Types read by way of aliases in a file: an alias that names another twice, which names … doubles each
 * time. */
#define MAX_ALIAS_TYPES (1 << 22)

const struct hlo_shape *mlir_scalar_shape(struct mlir_reader *r, enum hlo_type type)
{
    if (!r->scalars[type])
        r->scalars[type] = mlir_array_shape(r, type, NULL, 0);
    return r->scalars[type];
}

const struct hlo_shape *mlir_array_shape(struct mlir_reader *r, enum hlo_type type, const int64_t *dims,
                                         int rank)
{
    const struct hlo_shape *shape = hlo_make_array(&r->module->arena, type, dims, rank);
    return shape ? shape : error_memory_null(r->err);
}

const struct hlo_shape *mlir_tuple_shape(struct mlir_reader *r, const struct hlo_shape *const *parts,
                                         size_t count)
{
    struct hlo_shape *shape = ARENA_NEW(&r->module->arena, struct hlo_shape);
    const struct hlo_shape **copy = ARENA_ARRAY(&r->module->arena, count, const struct hlo_shape *);
    if (!shape || !copy)
        return error_memory_null(r->err);
    if (count)
        memcpy(copy, parts, count * sizeof *copy);
    *shape = (struct hlo_shape){.type = HLO_TYPE_TUPLE, .part_count = (int)count, .parts = copy};
    return shape;
}

static bool nested_type(struct mlir_reader *r, int depth, const struct hlo_shape **shape);

static bool too_deep(struct mlir_reader *r, const char *at)
{
    return mlir_error(r, at, "types nested deeper than %d", HLO_MAX_DEPTH);
}

static bool alias_type(struct mlir_reader *r, struct mlir_span name, int depth,
                       const struct hlo_shape **shape)
{
    const char *value = mlir_alias(r, name), *after = r->p;
    if (!value)
        return mlir_error(r, name.at, "unknown type '%.*s'", (int)name.length, name.at);
    if (depth >= HLO_MAX_DEPTH)
        return too_deep(r, name.at);
    r->p = value;
    r->alias_depth++;
    bool read = nested_type(r, depth + 1, shape);
    r->alias_depth--;
    r->p = after;
    return read;
}

/* !quant.uniform<i8<-127:127>:f32, …>, !quant.calibrated<f32<-1:1>>: the type that is stored. */
static bool quantized_type(struct mlir_reader *r, enum hlo_type *type)
{
    struct mlir_span word;
    if (mlir_peek(r) != '<')
        return mlir_expected(r, "'<'");
    const char *start = r->p++;
    r->quantized = true;
    if (!mlir_word(r, &word) || (*type = hlo_type_find_mlir(word.at, word.length)) == HLO_TYPE_COUNT) {
        r->p = start + 1;
        return mlir_expected(r, "a storage type such as i8");
    }
    r->p = start;
    return mlir_skip_balanced(r);
}

static bool complex_type(struct mlir_reader *r, enum hlo_type *type)
{
    if (!mlir_need(r, "<"))
        return false;
    if (mlir_take_word(r, "f32"))
        *type = HLO_TYPE_C64;
    else if (mlir_take_word(r, "f64"))
        *type = HLO_TYPE_C128;
    else
        return mlir_expected(r, "f32 or f64");
    return mlir_need(r, ">");
}

/* Of a tensor, or alone. */
static bool element_type(struct mlir_reader *r, enum hlo_type *type)
{
    struct mlir_span word;
    const char *start = r->p;
    if (mlir_take_token(r, "!quant.")) {
        if (!mlir_word(r, &word))
            return mlir_expected(r, "a quantized type");
        return quantized_type(r, type);
    }
    if (!mlir_word(r, &word))
        return mlir_expected(r, "a type");
    if (mlir_same(word, "complex"))
        return complex_type(r, type);
    *type = mlir_same(word, "index") ? HLO_TYPE_S64 : hlo_type_find_mlir(word.at, word.length);
    if (*type != HLO_TYPE_COUNT)
        return true;
    r->p = start;
    return mlir_error(r, start, "unknown type '%.*s'", (int)word.length, word.at);
}

/* `8, ?`: one for each dimension. */
static bool read_bound_list(struct mlir_reader *r, int64_t *dims, int rank)
{
    for (int i = 0; i < rank; i++) {
        int64_t bound;
        if (i && !mlir_need(r, ","))
            return false;
        if (mlir_take(r, '?'))
            continue;
        if (!mlir_integer(r, &bound))
            return false;
        if (dims[i] < 0)
            dims[i] = bound;
    }
    return true;
}

/* The bounds of `?` dimensions in #stablehlo.bounds<8, ?> or #stablehlo.type_extensions<bounds = [8, ?]>; any
 * other encoding says nothing about sizes. */
static bool read_encoding(struct mlir_reader *r, int64_t *dims, int rank)
{
    struct mlir_span name;
    const char *start = (mlir_space(r), r->p);
    if (mlir_take(r, '#') && mlir_word(r, &name) && mlir_take(r, '<')) {
        bool bounds = name.length > 6 && memcmp(name.at + name.length - 6, "bounds", 6) == 0;
        if ((bounds || (mlir_take_word(r, "bounds") && mlir_take(r, '=') && mlir_take(r, '['))) &&
            !read_bound_list(r, dims, rank))
            return false;
    }
    r->p = start;
    return mlir_skip_value(r);
}

/* An encoding or its alias. */
static bool read_bounds(struct mlir_reader *r, int64_t *dims, int rank)
{
    struct mlir_span name;
    const char *start = (mlir_space(r), r->p);
    if (mlir_take(r, '#') && mlir_word(r, &name) && mlir_peek(r) != '<') {
        const char *after = r->p, *value = mlir_alias(r, (struct mlir_span){start, name.length + 1});
        r->p = value ? value : after;
        if (value && !read_encoding(r, dims, rank))
            return false;
        r->p = after;
        return true;
    }
    r->p = start;
    return read_encoding(r, dims, rank);
}

static bool check_sizes(struct mlir_reader *r, const char *at, const char *unbounded, const int64_t *dims,
                        int rank)
{
    int64_t elements = 1;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0 && r->sized)
            continue;
        r->is_open |= dims[i] < 0; /* the text is read again */
        if (dims[i] < 0)
            return mlir_error(r, unbounded ? unbounded : at, "expected a static size, found '?'");
        if (dims[i] > HLO_MAX_ELEMENTS || (dims[i] && __builtin_mul_overflow(elements, dims[i], &elements)) ||
            elements > HLO_MAX_ELEMENTS)
            return mlir_error(r, at, "this array has more than 2^53 elements");
    }
    return true;
}

/* After 'tensor<' */
static bool tensor_type(struct mlir_reader *r, const char *at, const struct hlo_shape **shape)
{
    int64_t dims[HLO_MAX_RANK];
    const char *unbounded = NULL;
    enum hlo_type type;
    int rank = 0;
    if (mlir_peek(r) == '*')
        return mlir_error(r, r->p,
                          "expected a static size, found '*': a tensor without a rank "
                          "cannot be counted");
    for (;; rank++) {
        char c = mlir_peek(r);
        if (c != '?' && (c < '0' || c > '9'))
            break;
        if (rank == HLO_MAX_RANK)
            return mlir_error(r, r->p, "more than %d dimensions", HLO_MAX_RANK);
        int64_t size = 0;
        if (c == '?') {
            unbounded = unbounded ? unbounded : r->p;
            r->p++;
            size = -1;
        } else {
            for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
                if ((size = size * 10 + (*r->p - '0')) > HLO_MAX_ELEMENTS)
                    return mlir_error(r, at, "this array has more than 2^53 elements");
        }
        dims[rank] = size;
        if (!mlir_need(r, "x"))
            return false;
    }
    if (!element_type(r, &type))
        return false;
    if (mlir_take(r, ',') && !read_bounds(r, dims, rank))
        return false;
    if (!mlir_need(r, ">") || !check_sizes(r, at, unbounded, dims, rank))
        return false;
    *shape = rank ? mlir_array_shape(r, type, dims, rank) : mlir_scalar_shape(r, type);
    return *shape != NULL;
}

/* After '<'; for tuple, future and async_bundle. */
static bool tuple_type(struct mlir_reader *r, int depth, const struct hlo_shape **shape)
{
    size_t first = r->shapes.count;
    if (depth >= HLO_MAX_DEPTH)
        return too_deep(r, r->p);
    if (!mlir_take(r, '>')) {
        do {
            const struct hlo_shape *part;
            if (!nested_type(r, depth + 1, &part) || !mlir_push_value(r, &r->shapes, part))
                return false;
        } while (mlir_take(r, ','));
        if (!mlir_need(r, ">"))
            return false;
    }
    *shape = mlir_tuple_shape(r, (const struct hlo_shape **)r->shapes.items + first, r->shapes.count - first);
    r->shapes.count = first;
    return *shape != NULL;
}

/* !stablehlo.token, !mhlo.token, !stablehlo.future<…>, !mhlo.async_bundle<…>, !alias */
static bool dialect_type(struct mlir_reader *r, int depth, const struct hlo_shape **shape)
{
    struct mlir_span name;
    const char *at = r->p++;
    if (!mlir_word(r, &name))
        return mlir_expected(r, "a type's name");
    const char *dot = memchr(name.at, '.', name.length);
    struct mlir_span kind = name;
    if (dot)
        kind = (struct mlir_span){dot + 1, (size_t)(name.at + name.length - dot - 1)};
    if (dot && mlir_same(kind, "token")) {
        *shape = mlir_scalar_shape(r, HLO_TYPE_TOKEN);
        return *shape != NULL;
    }
    if (dot && (mlir_same(kind, "future") || mlir_same(kind, "async_bundle")))
        return mlir_need(r, "<") && tuple_type(r, depth, shape);
    if (dot && name.length > 6 && memcmp(name.at, "quant.", 6) == 0) {
        enum hlo_type type;
        if (!quantized_type(r, &type))
            return false;
        *shape = mlir_scalar_shape(r, type);
        return *shape != NULL;
    }
    return alias_type(r, (struct mlir_span){at, name.length + 1}, depth, shape);
}

/* The text of `tensor<…>` at the place at hand; length 0 when it is not written in one line. */
static struct mlir_span tensor_text(const struct mlir_reader *r)
{
    const char *start = r->p, *c = start + strlen("tensor<"), *end = r->end;
    for (int depth = 1; c < end; c++) {
        if (*c > '>')
            continue;
        if (*c == '>' && c[-1] != '-' && --depth == 0)
            return (struct mlir_span){start, (size_t)(c + 1 - start)};
        depth += *c == '<';
        if (*c == '"' || *c == '\n')
            break;
    }
    return (struct mlir_span){start, 0};
}

static bool cached_tensor(struct mlir_reader *r, const struct hlo_shape **shape)
{
    const char *at = r->p;
    struct mlir_span text = tensor_text(r);
    uint64_t hash = hash_bytes(0, text.at, text.length);
    struct mlir_type_slot *slot = &r->types[hash & (MLIR_TYPE_SLOTS - 1)];
    if (text.length && slot->shape && slot->hash == hash && slot->text.length == text.length &&
        memcmp(slot->text.at, text.at, text.length) == 0) {
        r->p += text.length;
        *shape = slot->shape;
        return true;
    }
    r->p += strlen("tensor<");
    if (!tensor_type(r, at, shape))
        return false;
    if (text.length)
        *slot = (struct mlir_type_slot){text, hash, *shape};
    return true;
}

static bool nested_type(struct mlir_reader *r, int depth, const struct hlo_shape **shape)
{
    enum hlo_type type;
    if (r->alias_depth && ++r->alias_types > MAX_ALIAS_TYPES)
        return mlir_error(r, r->p, "aliases stand for more than %d types", MAX_ALIAS_TYPES);
    if (mlir_peek(r) == '!')
        return dialect_type(r, depth, shape);
    if (r->end - r->p > 7 && memcmp(r->p, "tensor<", 7) == 0)
        return cached_tensor(r, shape);
    if (mlir_take_token(r, "tuple<"))
        return tuple_type(r, depth, shape);
    if (!element_type(r, &type))
        return false;
    *shape = mlir_scalar_shape(r, type);
    return *shape != NULL;
}

bool mlir_type(struct mlir_reader *r, const struct hlo_shape **shape)
{
    return nested_type(r, 0, shape);
}

bool mlir_push_type(struct mlir_reader *r)
{
    const struct hlo_shape *shape;
    return mlir_type(r, &shape) && mlir_push_value(r, &r->shapes, shape);
}

bool mlir_push_types(struct mlir_reader *r, size_t *count)
{
    size_t first = r->shapes.count;
    if (!mlir_take(r, '(')) {
        *count = 1;
        return mlir_push_type(r);
    }
    if (!mlir_take(r, ')')) {
        do {
            if (!mlir_push_type(r))
                return false;
        } while (mlir_take(r, ','));
        if (!mlir_need(r, ")"))
            return false;
    }
    *count = r->shapes.count - first;
    return true;
}
