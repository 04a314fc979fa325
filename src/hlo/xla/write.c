/* HLO of the simplified module, as xla/hlo/translate/mhlo_to_hlo and XlaBuilder write it. */
#include "hlo/xla/translate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct hlo_shape *tuple_of(struct translator *t, struct hlo_instruction *const *parts, int count)
{
    const struct hlo_shape *shape = hlo_make_tuple(&t->module->arena, parts, count);
    t->failed |= !shape;
    return shape;
}

/* Packs all operands into one tuple. */
static void pack(struct translator *t, struct hlo_instruction *in, struct hlo_instruction **parts, int count)
{
    struct hlo_instruction *tuple = xla_insert(t, in, HLO_TUPLE, tuple_of(t, parts, count), parts, count);
    struct hlo_instruction **operands = ARENA_ARRAY(&t->module->arena, 1, struct hlo_instruction *);
    t->failed |= !operands;
    if (!tuple || !operands)
        return;
    operands[0] = tuple;
    in->operands = operands;
    in->operand_count = 1;
}

/* Lists what regions capture, each value once, after the values in `list`. */
static int captured(struct translator *t, const struct hlo_instruction *in, int first, int end,
                    struct hlo_instruction ***list, int count, int room)
{
    int before = count;
    for (int c = first; c < end; c++) {
        const struct hlo_computation *region = in->callees[c];
        for (int p = region->parameter_count - region->captured; p < region->parameter_count; p++) {
            struct hlo_instruction *value = region->parameters[p]->outside;
            bool is_there = !value;
            for (int i = before; i < count && !is_there; i++)
                is_there = (*list)[i] == value;
            if (is_there)
                continue;
            *list = arena_grow(&t->scratch, *list, count, &room, sizeof(struct hlo_instruction *));
            t->failed |= !*list;
            if (t->failed)
                return count;
            (*list)[count++] = value;
        }
    }
    return count;
}

/* A loop takes and returns one value: a tuple if there are several. */
static void pack_while(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_instruction **parts = NULL;
    int room = 0, count = 0;
    for (int i = 0; i < in->operand_count; i++) {
        parts = arena_grow(&t->scratch, parts, count, &room, sizeof(struct hlo_instruction *));
        t->failed |= !parts;
        if (t->failed)
            return;
        parts[count++] = in->operands[i];
    }
    count = captured(t, in, 0, in->callee_count, &parts, count, room);
    struct hlo_computation *body = in->callees[in->callee_count - 1];
    if (t->failed || count == 0)
        return;
    if (count > 1)
        pack(t, in, parts, count);
    if (body->root->opcode == HLO_TUPLE) {
        if (count == 1)
            body->root = body->root->operands[0];
        else
            body->root->shape = tuple_of(t, parts, count);
    } else if (count > 1) { /* its own body has a turn of its own */
        struct hlo_instruction *root = ARENA_NEW(&t->module->arena, struct hlo_instruction);
        struct hlo_instruction **longer =
            ARENA_ARRAY(&t->module->arena, (size_t)body->count + 1, struct hlo_instruction *);
        struct hlo_instruction **operand = ARENA_ARRAY(&t->module->arena, 1, struct hlo_instruction *);
        t->failed |= !root || !longer || !operand;
        if (t->failed)
            return;
        operand[0] = body->root;
        *root = (struct hlo_instruction){.opcode = HLO_TUPLE,
                                         .index = body->count,
                                         .name = "tuple",
                                         .line = in->line,
                                         .shape = tuple_of(t, parts, count),
                                         .operand_count = 1,
                                         .operands = operand,
                                         .attributes = &xla_no_attributes,
                                         .column = in->column};
        memcpy(longer, body->instructions, (size_t)body->count * sizeof *longer);
        longer[body->count++] = root;
        body->instructions = longer;
        body->root = root;
    }
}

/* Each branch takes one value: a tuple unless it captures exactly one. */
static void pack_branches(struct translator *t, struct hlo_instruction *in)
{
    for (int c = 0; c < in->callee_count; c++) {
        struct hlo_instruction **parts = NULL;
        int count = captured(t, in, c, c + 1, &parts, 0, 0);
        if (count > 1)
            xla_insert(t, in, HLO_TUPLE, tuple_of(t, parts, count), parts, count);
    }
}

/* HLO's broadcast only adds dimensions: those of size 1 that become larger are dropped before, but after others have
 * been added, even if there are none (XlaBuilder::BroadcastInDim). */
static void split_broadcast(struct translator *t, struct hlo_instruction *in)
{
    const struct hlo_shape *from = in->operands[0]->shape;
    struct hlo_ints all = in->attributes->dimensions;
    int64_t dims[HLO_MAX_RANK], kept[HLO_MAX_RANK], added[HLO_MAX_RANK];
    int rank = 0;
    bool stretched = false;
    for (int i = 0; i < from->rank && i < all.count; i++)
        stretched |= from->dims[i] != in->shape->dims[all.at[i]];
    if (!stretched)
        return;
    memcpy(added, in->shape->dims, (size_t)in->shape->rank * sizeof *added);
    for (int i = 0; i < from->rank && i < all.count; i++)
        added[all.at[i]] = from->dims[i];
    for (int i = 0; i < in->shape->rank; i++)
        if (added[i] == in->shape->dims[i]) {
            dims[rank] = added[i];
            kept[rank++] = i;
        }
    struct hlo_instruction *first =
        xla_insert(t, in, HLO_BROADCAST, xla_array(t, from->type, added, in->shape->rank), in->operands, 1);
    if (!first)
        return;
    first->attributes = in->attributes;
    struct hlo_instruction *reshape =
        xla_insert(t, in, HLO_RESHAPE, xla_array(t, from->type, dims, rank), &first, 1);
    if (reshape)
        xla_become(t, in, HLO_BROADCAST, reshape,
                   xla_attributes(t, &(struct hlo_attributes){.dimensions = xla_ints(t, kept, rank)}));
}

/* A constant that is one number all over is written once. */
static void spread_constant(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_instruction *one =
        xla_insert(t, in, HLO_CONSTANT, xla_array(t, in->shape->type, NULL, 0), NULL, 0);
    if (t->failed)
        return;
    one->splat = true;
    one->number = in->number;
    xla_unique(t, in); /* special functions share it */
    xla_become(t, in, HLO_BROADCAST, one, &xla_no_attributes);
}

/* The layout of a transposed array is the operand's, with its dimensions named anew. */
static void keep_layout(struct translator *t, struct hlo_instruction *in)
{
    const struct hlo_shape *from = in->operands[0]->shape;
    struct hlo_ints dims = in->attributes->dimensions;
    struct hlo_shape *shape = ARENA_NEW(&t->module->arena, struct hlo_shape);
    int32_t *layout = ARENA_ARRAY(&t->module->arena, (size_t)dims.count + 1, int32_t);
    t->failed |= !shape || !layout;
    if (t->failed)
        return;
    for (int i = 0; i < dims.count; i++)
        for (int j = 0; j < dims.count; j++)
            if (dims.at[j] == hlo_minor(from, i))
                layout[i] = j;
    *shape = *in->shape;
    shape->layout = layout;
    in->shape = shape;
}

/* XLA gives the scalars of a select and a clamp the shape of the others. */
static void spread_scalars(struct translator *t, struct hlo_instruction *in)
{
    for (int i = 0; i < in->operand_count; i++) {
        struct hlo_instruction *from = in->operands[i];
        if (from->shape->rank || !in->shape->rank)
            continue;
        const struct hlo_shape *shape = xla_array(t, from->shape->type, in->shape->dims, in->shape->rank);
        struct hlo_instruction *wide = xla_insert(t, in, HLO_BROADCAST, shape, &from, 1);
        if (wide)
            in->operands[i] = wide;
    }
}

/* An all-to-all keeps the operand's shape; the pieces are put together elsewhere by reshape, transpose and reshape. */
static void put_together(struct translator *t, struct hlo_instruction *in)
{
    if (in->operand_count != 1 || hlo_shape_equal(in->shape, in->operands[0]->shape))
        return;
    struct hlo_instruction *exchanged =
        xla_insert(t, in, HLO_ALL_TO_ALL, in->operands[0]->shape, in->operands, 1);
    if (!exchanged)
        return;
    exchanged->attributes = in->attributes;
    struct hlo_instruction *pieces = xla_insert(t, in, HLO_RESHAPE, in->shape, &exchanged, 1);
    if (pieces)
        xla_become(t, in, HLO_RESHAPE, pieces, &xla_no_attributes);
}

/* Where the device has no approximate top-k, all of it is sorted, and cut. */
static void sort_all(struct translator *t, struct hlo_instruction *in)
{
    int count = in->operand_count / 2;
    if (count < 1 || in->shape->part_count != count || !in->attributes->target ||
        strcmp(in->attributes->target, "ApproxTopK") != 0)
        return;
    struct hlo_instruction *sort =
        xla_insert(t, in, HLO_SORT, tuple_of(t, in->operands, count), in->operands, count);
    struct hlo_instruction **parts = ARENA_ARRAY(&t->module->arena, (size_t)count, struct hlo_instruction *);
    t->failed |= !parts;
    for (int i = 0; i < count && !t->failed; i++) {
        const struct hlo_shape *whole = in->operands[i]->shape, *part = in->shape->parts[i];
        struct hlo_instruction *element = xla_insert(t, in, HLO_GET_TUPLE_ELEMENT, whole, &sort, 1);
        parts[i] = t->failed ? NULL : xla_insert(t, in, HLO_SLICE, part, &element, 1);
    }
    if (t->failed)
        return;
    in->opcode = HLO_TUPLE;
    in->operands = parts;
    in->operand_count = count;
    in->callee_count = 0;
    in->attributes = &xla_no_attributes;
}

/* XLA takes special functions of chlo apart, and each constant of theirs is written once in a computation. A letter
 * is a number that several functions have, or several such numbers: L of Lanczos's approximation, Z and Y of the
 * zeta function. */
static const struct {
    const char *target, *shared; /* a star: what is narrower is computed in fp32 */
} special_functions[] = {
    {"chlo.acos", "1"},
    {"chlo.asin", "1"},
    {"chlo.atan", "1"},
    {"chlo.acosh", "1l"},
    {"chlo.asinh", "1l"},
    {"chlo.atanh", "1hn"},
    {"chlo.sinh", "*1hm"},
    {"chlo.cosh", "*m"},
    {"chlo.bessel_i1e", "*0h28"},
    {"chlo.digamma", "*01h2345678nL"},
    {"chlo.lgamma", "*1h2345678igL"},
    {"chlo.erf_inv", "*135i"},
    {"chlo.erfc", "*012"},
    {"chlo.zeta", "*01h2345678inZY"},
    {"chlo.zeta.constant", "*01h2345inZ"},
    {"chlo.polygamma", "*01h2345678ingLZY"},
    {"chlo.polygamma.constant", "*01h2inZ"},
    {"chlo.polygamma.two", "*01h23nZ"},
};

static int shared_constants(struct translator *t, struct hlo_instruction *in, const char *letters)
{
    static const char names[] = "hlming";
    static const double numbers[] = {0.5, 0x1.62e43p-1, -0x1.62e43p-1, INFINITY, 1e300, 1e301};
    bool wider = *letters == '*' && hlo_type_bits(in->shape->type) < 32;
    int count = 0;
    for (const char *c = letters + (*letters == '*'); *c; c++) {
        const char *name = strchr(names, *c);
        double number = name ? numbers[name - names] : *c >= '0' && *c <= '9' ? *c - '0' : 1e302 * *c;
        char mark[40];
        snprintf(mark, sizeof mark, "%s%a", wider ? "f32 " : "", number);
        if (xla_first(t, in, mark) != in)
            count += *c == 'L' ? 11 : *c == 'Z' || *c == 'Y' ? 13 : *c == 'g' ? 2 : 1;
    }
    return count;
}

/* Less of it is left if its first operand is a constant. */
static void special_function(struct translator *t, struct hlo_instruction *in)
{
    const char *target = in->attributes->target;
    struct hlo_attributes like = *in->attributes;
    if (hlo_type_is_complex(in->shape->type) && hlo_operations[in->opcode].traits & HLO_TRANSCENDENTAL) {
        like.target = arena_format(&t->module->arena, "complex.%s",
                                   target ? target + strlen("chlo.") : hlo_opcode_name(in->opcode));
        t->failed |= !like.target;
        in->attributes = xla_attributes(t, &like);
        return;
    }
    if (!target)
        return;
    bool fixed = in->operand_count && in->operands[0]->opcode == HLO_BROADCAST &&
                 in->operands[0]->operands[0]->opcode == HLO_CONSTANT;
    if (fixed && (strcmp(target, "chlo.polygamma") == 0 || strcmp(target, "chlo.zeta") == 0)) {
        like.target = target[5] == 'z'                            ? "chlo.zeta.constant"
                      : in->operands[0]->operands[0]->number == 2 ? "chlo.polygamma.two"
                                                                  : "chlo.polygamma.constant";
        in->attributes = xla_attributes(t, &like);
        target = like.target;
    }
    for (size_t i = 0; i < sizeof special_functions / sizeof *special_functions; i++)
        if (strcmp(target, special_functions[i].target) == 0)
            in->shared = xla_first(t, in, target) != in
                             ? HLO_ANY
                             : shared_constants(t, in, special_functions[i].shared);
}

void xla_write(struct translator *t, struct hlo_computation *computation)
{
    xla_begin(t, computation);
    for (int i = 0; !t->failed && i < computation->count; i++) {
        struct hlo_instruction *in = computation->instructions[i];
        if (in->opcode == HLO_CONSTANT && xla_is_splat(in) && hlo_elements(in->shape) > 1)
            spread_constant(t, in);
        else if (in->opcode == HLO_BROADCAST)
            split_broadcast(t, in);
        else if (in->opcode == HLO_TRANSPOSE)
            keep_layout(t, in);
        else if (in->opcode == HLO_SELECT || in->opcode == HLO_CLAMP)
            spread_scalars(t, in);
        else if (in->opcode == HLO_ALL_TO_ALL)
            put_together(t, in);
        else if (in->opcode == HLO_CUSTOM_CALL)
            sort_all(t, in);
        else if (in->opcode == HLO_OPT_BARRIER && in->operand_count > 1)
            pack(t, in, in->operands, in->operand_count);
        else if (in->opcode == HLO_WHILE)
            pack_while(t, in);
        else if (in->opcode == HLO_CONDITIONAL)
            pack_branches(t, in);
        special_function(t, in);
        xla_append(t, in);
    }
    for (int i = 0; !t->failed && i < t->count; i++)
        t->list[i]->index = i;
    xla_keep_list(t);
}
