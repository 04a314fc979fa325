/* Makes and changes instructions of the translated module. */
#include "hlo/xla/translate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct hlo_attributes xla_no_attributes;

const struct hlo_shape *xla_array(struct translator *t, enum hlo_type type, const int64_t *dims, int rank)
{
    const struct hlo_shape *shape = hlo_make_array(&t->module->arena, type, dims, rank);
    t->failed |= !shape;
    return shape;
}

struct hlo_ints xla_ints(struct translator *t, const int64_t *numbers, int count)
{
    struct hlo_ints copy = hlo_make_ints(&t->module->arena, numbers, count);
    t->failed |= !copy.at;
    return copy;
}

const struct hlo_attributes *xla_attributes(struct translator *t, const struct hlo_attributes *like)
{
    struct hlo_attributes *copy = ARENA_NEW(&t->module->arena, struct hlo_attributes);
    t->failed |= !copy;
    if (copy)
        *copy = *like;
    return copy ? copy : &xla_no_attributes;
}

void xla_append(struct translator *t, struct hlo_instruction *in)
{
    t->list = arena_grow(&t->scratch, t->list, t->count, &t->room, sizeof(struct hlo_instruction *));
    if (t->list)
        t->list[t->count++] = in;
    t->failed |= !t->list;
}

struct hlo_instruction *xla_insert(struct translator *t, const struct hlo_instruction *before,
                                   enum hlo_opcode opcode, const struct hlo_shape *shape,
                                   struct hlo_instruction *const *operands, int count)
{
    struct hlo_instruction *in = ARENA_NEW(&t->module->arena, struct hlo_instruction);
    struct hlo_instruction **copy =
        ARENA_ARRAY(&t->module->arena, (size_t)count + 1, struct hlo_instruction *);
    if (!in || !copy || !shape)
        return t->failed = true, NULL;
    for (int i = 0; i < count; i++)
        copy[i] = operands[i];
    *in = (struct hlo_instruction){.opcode = opcode,
                                   .index = -1,
                                   .line = before->line,
                                   .column = before->column,
                                   .shape = shape,
                                   .operand_count = count,
                                   .operands = copy,
                                   .attributes = &xla_no_attributes};
    in->name = arena_format(&t->module->arena, "%s.%s", before->name, hlo_opcode_name(opcode));
    t->failed |= !in->name;
    xla_append(t, in);
    return in;
}

void xla_become(struct translator *t, struct hlo_instruction *in, enum hlo_opcode opcode,
                struct hlo_instruction *operand, const struct hlo_attributes *attributes)
{
    if (in->operand_count == 0 &&
        !(in->operands = ARENA_ARRAY(&t->module->arena, 1, struct hlo_instruction *))) {
        t->failed = true;
        return;
    }
    in->opcode = opcode;
    in->operands[0] = operand;
    in->operand_count = 1;
    in->attributes = attributes;
    t->changed = true;
}

bool xla_is_number(const struct hlo_instruction *in, double number)
{
    return in->opcode == HLO_CONSTANT && in->number == number;
}

bool xla_is_splat(const struct hlo_instruction *in)
{
    return in->opcode == HLO_CONSTANT && (in->splat || !isnan(in->number) || hlo_elements(in->shape) == 1);
}

struct hlo_instruction *xla_first(struct translator *t, struct hlo_instruction *in, const char *mark)
{
    char key[1024];
    hlo_shape_text(in->shape, key, sizeof key - 128);
    size_t length = strlen(key);
    length += (size_t)snprintf(key + length, 128, "=%.120s", mark);
    const char *kept = arena_copy(&t->scratch, key, length);
    struct hlo_slot *slot = kept ? hlo_table_place(&t->constants, kept, length) : NULL;
    t->failed |= !slot;
    if (slot && !slot->value)
        slot->value = in;
    return slot ? slot->value : in;
}

struct hlo_instruction *xla_unique(struct translator *t, struct hlo_instruction *constant)
{
    char number[40];
    if (isnan(constant->number))
        return constant;
    snprintf(number, sizeof number, "%a", constant->number);
    return xla_first(t, constant, number);
}

void xla_become_constant(struct translator *t, struct hlo_instruction *in, double number, bool splat)
{
    in->opcode = HLO_CONSTANT;
    in->operand_count = in->callee_count = 0;
    in->attributes = &xla_no_attributes;
    in->splat = splat;
    in->number = number;
    in->has_value = false;
    t->changed = true;
}

bool xla_has_effect(const struct hlo_instruction *in, int depth)
{
    switch (in->opcode) {
    case HLO_PARAMETER:
    case HLO_CALL:
    case HLO_RNG:
    case HLO_INFEED:
    case HLO_OUTFEED:
    case HLO_SEND:
    case HLO_RECV:
        return true;
    case HLO_CUSTOM_CALL:
        return in->shape->type == HLO_TYPE_TOKEN ||
               (in->shape->type == HLO_TYPE_TUPLE && !in->shape->part_count);
    case HLO_WHILE:
    case HLO_CONDITIONAL:
        for (int c = 0; c < in->callee_count; c++)
            for (int i = 0; i < in->callees[c]->count; i++) {
                const struct hlo_instruction *inner = in->callees[c]->instructions[i];
                if (inner->opcode != HLO_PARAMETER &&
                    (depth > HLO_MAX_DEPTH || xla_has_effect(inner, depth + 1)))
                    return true;
            }
        return false;
    default:
        return hlo_operations[in->opcode].class == OP_COLLECTIVE;
    }
}

void xla_keep_list(struct translator *t)
{
    struct hlo_computation *computation = t->computation;
    computation->instructions = ARENA_ARRAY(&t->module->arena, (size_t)t->count, struct hlo_instruction *);
    t->failed |= !computation->instructions;
    if (t->failed)
        return;
    memcpy(computation->instructions, t->list, (size_t)t->count * sizeof *t->list);
    computation->count = t->count;
}

void xla_begin(struct translator *t, struct hlo_computation *computation)
{
    arena_release(&t->scratch);
    t->computation = computation;
    t->list = NULL;
    t->count = t->room = 0;
    hlo_table_clear(&t->constants);
    t->now = ARENA_ARRAY(&t->scratch, (size_t)computation->count, struct hlo_instruction *);
    t->uses = ARENA_ARRAY(&t->scratch, (size_t)computation->count, int);
    t->loops = arena_alloc(&t->scratch, (size_t)computation->count, sizeof *t->loops);
    t->failed |= !t->now || !t->uses || !t->loops;
    for (int i = 0; !t->failed && i < computation->count; i++) {
        computation->instructions[i]->index = i;
        for (int j = 0; j < computation->instructions[i]->operand_count; j++)
            t->uses[computation->instructions[i]->operands[j]->index]++;
    }
}
