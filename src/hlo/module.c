#include "hlo/module.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *hlo, *mlir;
    int bits;
} types[] = {
#define X(enumerator, hlo, mlir, bits) {hlo, mlir, bits},
    HLO_TYPES(X)
#undef X
};

const char *hlo_type_name(enum hlo_type type)
{
    return types[type].hlo;
}

int hlo_type_bits(enum hlo_type type)
{
    return types[type].bits;
}

bool hlo_type_is_float(enum hlo_type type)
{
    return type >= HLO_TYPE_F4E2M1FN && type <= HLO_TYPE_F64;
}

bool hlo_type_is_signed(enum hlo_type type)
{
    return type >= HLO_TYPE_S1 && type <= HLO_TYPE_S64;
}

bool hlo_type_is_whole(enum hlo_type type)
{
    return type >= HLO_TYPE_S1 && type <= HLO_TYPE_U64;
}

bool hlo_type_is_complex(enum hlo_type type)
{
    return type == HLO_TYPE_C64 || type == HLO_TYPE_C128;
}

enum hlo_type hlo_type_real(enum hlo_type type)
{
    return type == HLO_TYPE_C64 ? HLO_TYPE_F32 : type == HLO_TYPE_C128 ? HLO_TYPE_F64 : type;
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return word && strlen(word) == length && memcmp(word, text, length) == 0;
}

static enum hlo_type find_type(const char *text, size_t length, bool is_mlir)
{
    for (int i = 0; i < HLO_TYPE_COUNT; i++)
        if (is_word(is_mlir ? types[i].mlir : types[i].hlo, text, length))
            return (enum hlo_type)i;
    return HLO_TYPE_COUNT;
}

enum hlo_type hlo_type_find(const char *text, size_t length)
{
    return find_type(text, length, false);
}

enum hlo_type hlo_type_find_mlir(const char *text, size_t length)
{
    return find_type(text, length, true);
}

static bool is_array(const struct hlo_shape *shape)
{
    return types[shape->type].bits > 0;
}

int64_t hlo_elements(const struct hlo_shape *shape)
{
    if (!is_array(shape))
        return 0;
    int64_t elements = 1;
    for (int i = 0; i < shape->rank; i++)
        elements *= shape->dims[i];
    return elements;
}

int64_t hlo_bytes(const struct hlo_shape *shape)
{
    switch (shape->type) {
    case HLO_TYPE_TUPLE:
        return (int64_t)8 * shape->part_count;
    case HLO_TYPE_OPAQUE:
        return 8;
    default:
        return (hlo_elements(shape) * (shape->bits ? shape->bits : types[shape->type].bits) + 7) / 8;
    }
}

static void unpack(struct hlo_shape *shape)
{
    if (is_array(shape) && !shape->bits && types[shape->type].bits < 8)
        shape->bits = 8;
    for (int i = 0; i < shape->part_count; i++)
        unpack((struct hlo_shape *)shape->parts[i]);
}

void hlo_unpack(struct hlo_module *module)
{
    for (int i = 0; i < module->count; i++)
        for (int j = 0; j < module->computations[i]->count; j++)
            unpack((struct hlo_shape *)module->computations[i]->instructions[j]->shape);
}

int64_t hlo_leaf_bytes(const struct hlo_shape *shape)
{
    if (is_array(shape))
        return hlo_bytes(shape);
    int64_t bytes = 0;
    for (int i = 0; i < shape->part_count; i++)
        bytes += hlo_leaf_bytes(shape->parts[i]);
    return bytes;
}

struct cut_text {
    char *at;
    size_t size, used;
};

static void put(struct cut_text *out, const char *text)
{
    while (*text && out->used + 1 < out->size)
        out->at[out->used++] = *text++;
}

static void put_shape(struct cut_text *out, const struct hlo_shape *shape)
{
    if (shape->type == HLO_TYPE_TUPLE) {
        put(out, "(");
        for (int i = 0; i < shape->part_count; i++) {
            put(out, i ? ", " : "");
            put_shape(out, shape->parts[i]);
        }
        put(out, ")");
        return;
    }
    put(out, types[shape->type].hlo);
    put(out, "[");
    for (int i = 0; i < shape->rank; i++) {
        char number[24];
        snprintf(number, sizeof number, "%s%" PRId64, i ? "," : "", shape->dims[i]);
        put(out, number);
    }
    put(out, "]");
}

const char *hlo_shape_text(const struct hlo_shape *shape, char *text, size_t size)
{
    struct cut_text out = {text, size, 0};
    put_shape(&out, shape);
    if (size)
        text[out.used] = '\0';
    return text;
}

bool hlo_shape_equal(const struct hlo_shape *a, const struct hlo_shape *b)
{
    if (a == b)
        return true;
    if (a->type != b->type || !hlo_dims_match(a, b, -1) || a->part_count != b->part_count)
        return false;
    for (int i = 0; i < a->part_count; i++)
        if (!hlo_shape_equal(a->parts[i], b->parts[i]))
            return false;
    return true;
}

bool hlo_dims_match(const struct hlo_shape *a, const struct hlo_shape *b, int64_t except)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i] && i != except && a->dims[i] >= 0 && b->dims[i] >= 0)
            return false;
    return true;
}

const struct hlo_shape *hlo_make_array(struct arena *arena, enum hlo_type type, const int64_t *dims, int rank)
{
    struct hlo_shape *shape = ARENA_NEW(arena, struct hlo_shape);
    struct hlo_ints copy = hlo_make_ints(arena, dims, rank);
    if (!shape || !copy.at)
        return NULL;
    *shape = (struct hlo_shape){.type = type, .rank = rank, .dims = copy.at};
    return shape;
}

const struct hlo_shape *hlo_make_tuple(struct arena *arena, struct hlo_instruction *const *values, int count)
{
    struct hlo_shape *shape = ARENA_NEW(arena, struct hlo_shape);
    const struct hlo_shape **parts = ARENA_ARRAY(arena, (size_t)count, const struct hlo_shape *);
    if (!shape || !parts)
        return NULL;
    for (int i = 0; i < count; i++)
        parts[i] = values[i]->shape;
    *shape = (struct hlo_shape){.type = HLO_TYPE_TUPLE, .part_count = count, .parts = parts};
    return shape;
}

struct hlo_ints hlo_make_ints(struct arena *arena, const int64_t *numbers, int count)
{
    int64_t *copy = ARENA_ARRAY(arena, (size_t)count, int64_t);
    if (copy && count)
        memcpy(copy, numbers, (size_t)count * sizeof *copy);
    return copy ? (struct hlo_ints){count, copy} : (struct hlo_ints){0, NULL};
}

int64_t hlo_labelled_size(const struct hlo_shape *shape, struct hlo_ints labels, int64_t label)
{
    for (int i = 0; i < labels.count && i < shape->rank; i++)
        if (labels.at[i] == label)
            return shape->dims[i];
    return 0;
}

bool hlo_find_users(struct hlo_users *users, struct hlo_instruction *const *list, int count,
                    struct arena *arena)
{
    size_t operands = 0;
    for (int i = 0; i < count; i++)
        operands += (size_t)list[i]->operand_count;
    users->start = ARENA_ARRAY(arena, (size_t)count + 2, int);
    users->at = ARENA_ARRAY(arena, operands, const struct hlo_instruction *);
    int *last = ARENA_ARRAY(arena, (size_t)count, int);
    if (!users->start || !users->at || !last)
        return false;
    /* Counted two places on, summed, and moved one back as they are filled in. */
    for (int fill = 0; fill < 2; fill++) {
        memset(last, -1, (size_t)count * sizeof *last);
        for (int i = 0; i < count; i++) {
            const struct hlo_instruction *user = list[i];
            for (int j = 0; j < user->operand_count; j++) {
                int used = user->operands[j]->index;
                if (last[used] == i)
                    continue;
                last[used] = i;
                if (fill)
                    users->at[users->start[used + 1]++] = user;
                else
                    users->start[used + 2]++;
            }
        }
        for (int i = 0; !fill && i < count; i++)
            users->start[i + 2] += users->start[i + 1];
    }
    return true;
}

void hlo_release(struct hlo_module *module)
{
    arena_release(&module->arena);
    memset(module, 0, sizeof *module);
}

bool hlo_ints_have(struct hlo_ints list, int64_t number)
{
    for (int i = 0; i < list.count; i++)
        if (list.at[i] == number)
            return true;
    return false;
}
