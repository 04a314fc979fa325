#include "hlo/mlir/mlir.h"

#include <stdlib.h>

static struct mlir_binding *binding(const struct mlir_reader *reader, uint32_t index)
{
    return (struct mlir_binding *)reader->bindings.items + index;
}

static struct mlir_name *name_at(const struct mlir_reader *reader, size_t index)
{
    return (struct mlir_name *)reader->names.items + index;
}

/* What a name is known by: the number it is written as, or numbered_room and its place among the other names. */
static uint32_t *innermost_of(const struct mlir_reader *reader, uint32_t name)
{
    return name < reader->numbered_room ? &reader->numbered[name]
                                        : &name_at(reader, name - reader->numbered_room)->innermost;
}

static uint32_t hash_name(struct mlir_span text, uint32_t number)
{
    return hlo_hash(text.at, text.length) + number;
}

static bool grow_names(struct mlir_reader *reader)
{
    size_t room = reader->name_room ? 2 * reader->name_room : 1024;
    struct hlo_cell *cells = room < UINT32_MAX - reader->numbered_room ? calloc(room, sizeof *cells) : NULL;
    if (!cells)
        return error_memory(reader->err);
    for (size_t i = 0; i < reader->names.count; i++) {
        size_t at = name_at(reader, i)->hash & (room - 1);
        while (cells[at].slot)
            at = (at + hlo_step(name_at(reader, i)->hash)) & (room - 1);
        cells[at] = (struct hlo_cell){name_at(reader, i)->hash, (uint32_t)i + 1};
    }
    free(reader->name_cells);
    reader->name_cells = cells;
    reader->name_room = room;
    return true;
}

/* %17 and the like, which nearly all names are, are looked up without a hash. */
static bool is_number(const struct mlir_reader *reader, struct mlir_span text, uint32_t *value)
{
    if (text.length > 7 || text.length == 0 || (text.at[0] == '0' && text.length > 1))
        return false;
    *value = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        *value = *value * 10 + (uint32_t)(text.at[i] - '0');
    }
    return *value < reader->numbered_room;
}

/* The name's own cell of the table, or the free one where it belongs. */
static struct hlo_cell *find_name(const struct mlir_reader *reader, struct mlir_span text, uint32_t number,
                                  uint32_t hash)
{
    for (size_t at = hash;; at += hlo_step(hash)) {
        struct hlo_cell *cell = &reader->name_cells[at & (reader->name_room - 1)];
        if (!cell->slot)
            return cell;
        const struct mlir_name *name = name_at(reader, cell->slot - 1);
        if (cell->hash == hash && name->number == number && name->length == text.length &&
            memcmp(name->at, text.at, text.length) == 0)
            return cell;
    }
}

/* The places of names that are no numbers lie far from the processor when there are many. */
void mlir_prefetch(const struct mlir_reader *reader, struct mlir_span name)
{
    uint32_t number;
    if (reader->name_room && !is_number(reader, name, &number))
        __builtin_prefetch(&reader->name_cells[hash_name(name, 0) & (reader->name_room - 1)], 1);
}

/* A new binding of the computation at `depth`, which is further in than all others of the name. */
static uint32_t bind(struct mlir_reader *reader, uint32_t name, int depth, struct hlo_instruction *value,
                     int64_t part)
{
    uint32_t index = reader->free_binding;
    if (index)
        reader->free_binding = binding(reader, index)->next;
    else if (reader->bindings.count >= UINT32_MAX ||
             (reader->bindings.count == 0 &&
              !mlir_push(reader, &reader->bindings, sizeof(struct mlir_binding))) ||
             !mlir_push(reader, &reader->bindings, sizeof(struct mlir_binding)))
        return 0;
    else
        index = (uint32_t)(reader->bindings.count - 1);
    *binding(reader, index) = (struct mlir_binding){
        .name = name,
        .outer = *innermost_of(reader, name),
        .next = reader->blocks[depth].first_binding,
        .depth = depth,
        .part = part,
        .value = value,
    };
    reader->blocks[depth].first_binding = index;
    *innermost_of(reader, name) = index;
    return index;
}

/* The table's place for a name that may be new. */
static bool add_name(struct mlir_reader *reader, struct mlir_span text, uint32_t number, uint32_t *name)
{
    if (number == 0 && is_number(reader, text, name))
        return true;
    if (2 * reader->names.count >= reader->name_room && !grow_names(reader))
        return false;
    uint32_t hash = hash_name(text, number);
    struct hlo_cell *cell = find_name(reader, text, number, hash);
    if (!cell->slot) {
        struct mlir_name *added = mlir_push(reader, &reader->names, sizeof *added);
        if (!added)
            return false;
        *added = (struct mlir_name){text.at, (uint32_t)text.length, number, hash, 0};
        *cell = (struct hlo_cell){hash, (uint32_t)reader->names.count};
    }
    *name = cell->slot - 1 + reader->numbered_room;
    return true;
}

bool mlir_define(struct mlir_reader *reader, struct mlir_span name, uint32_t number, const char *at,
                 struct hlo_instruction *source, int64_t part)
{
    uint32_t found;
    if (!add_name(reader, name, number, &found))
        return false;
    if (*innermost_of(reader, found))
        return mlir_error(reader, at, "'%%%.*s' is defined twice", (int)name.length, name.at);
    return bind(reader, found, reader->depth, source, part) || error_memory(reader->err);
}

bool mlir_open_block(struct mlir_reader *reader)
{
    if (reader->depth == HLO_MAX_DEPTH)
        return mlir_error(reader, reader->p, "regions nested deeper than %d", HLO_MAX_DEPTH);
    struct mlir_block *block = &reader->blocks[++reader->depth];
    block->instructions.count = block->parameters.count = block->results.count = 0;
    block->first_binding = 0;
    block->captured = 0;
    block->terminator = NULL;
    return true;
}

/* Takes the names of the block that closes out of the table. */
static void forget_names(struct mlir_reader *reader, struct mlir_block *block)
{
    for (uint32_t b = block->first_binding; b;) {
        struct mlir_binding *gone = binding(reader, b);
        uint32_t next = gone->next;
        *innermost_of(reader, gone->name) = gone->outer;
        gone->next = reader->free_binding;
        reader->free_binding = b;
        b = next;
    }
    block->first_binding = 0;
}

struct hlo_instruction *mlir_add(struct mlir_reader *reader, enum hlo_opcode opcode, struct mlir_place place,
                                 const char *name, const struct hlo_shape *shape,
                                 struct hlo_instruction *const *operands, size_t count)
{
    static const struct hlo_attributes none = {0};
    struct mlir_block *block = &reader->blocks[reader->depth];
    struct hlo_instruction *instruction = ARENA_NEW(&reader->module->arena, struct hlo_instruction);
    if (!instruction || !name || !shape || !mlir_push_value(reader, &block->instructions, instruction)) {
        error_memory(reader->err);
        return NULL;
    }
    if (count) {
        instruction->operands = ARENA_ARRAY(&reader->module->arena, count, struct hlo_instruction *);
        if (!instruction->operands) {
            error_memory(reader->err);
            return NULL;
        }
        memcpy(instruction->operands, operands, count * sizeof(struct hlo_instruction *));
    }
    instruction->line = place.line;
    instruction->column = place.column;
    instruction->opcode = opcode;
    instruction->index = (int)(block->instructions.count - 1);
    instruction->name = name;
    instruction->shape = shape;
    instruction->operand_count = (int)count;
    instruction->attributes = &none;
    return instruction;
}

/* A new last parameter of the open block. */
static struct hlo_instruction *add_parameter(struct mlir_reader *reader, const char *at, const char *name,
                                             const struct hlo_shape *shape)
{
    struct mlir_block *block = &reader->blocks[reader->depth];
    struct hlo_instruction *parameter =
        mlir_add(reader, HLO_PARAMETER, mlir_place_of(reader, at), name, shape, NULL, 0);
    if (!parameter || !mlir_push_value(reader, &block->parameters, parameter))
        return NULL;
    parameter->parameter = (int64_t)block->parameters.count - 1;
    return parameter;
}

bool mlir_parameter(struct mlir_reader *reader, struct mlir_span name, const char *at,
                    const struct hlo_shape *shape)
{
    struct hlo_instruction *parameter =
        add_parameter(reader, at, arena_copy(&reader->module->arena, name.at, name.length), shape);
    return parameter && mlir_define(reader, name, 0, at, parameter, -1);
}

struct hlo_computation *mlir_close_block(struct mlir_reader *reader, const char *name)
{
    struct mlir_block *block = &reader->blocks[reader->depth];
    struct arena *arena = &reader->module->arena;
    struct hlo_computation *computation = ARENA_NEW(arena, struct hlo_computation);
    size_t count = block->instructions.count, parameters = block->parameters.count;
    forget_names(reader, block);
    if (!computation || !name || !mlir_push_value(reader, &reader->computations, computation) ||
        count > INT32_MAX ||
        !(computation->instructions = ARENA_ARRAY(arena, count, struct hlo_instruction *)) ||
        !(computation->parameters = ARENA_ARRAY(arena, parameters, struct hlo_instruction *))) {
        error_memory(reader->err);
        return NULL;
    }
    if (count)
        memcpy(computation->instructions, block->instructions.items, count * sizeof(void *));
    if (parameters)
        memcpy(computation->parameters, block->parameters.items, parameters * sizeof(void *));
    computation->name = name;
    computation->count = (int)count;
    computation->parameter_count = (int)parameters;
    computation->captured = block->captured;
    reader->depth--;
    return computation;
}

void mlir_drop_block(struct mlir_reader *reader)
{
    forget_names(reader, &reader->blocks[reader->depth--]);
}

bool mlir_value_name(struct mlir_reader *reader, struct mlir_span *name)
{
    const char *c = reader->p, *end = reader->end;
    while (c < end && (mlir_is_word(*c) || *c == '-'))
        c++;
    *name = (struct mlir_span){reader->p, (size_t)(c - reader->p)};
    if (c == reader->p)
        return mlir_expected(reader, "a value's name");
    reader->p = c;
    return true;
}

/* The part of a tuple that a binding stands for, taken out of it where it is used for the first time. */
static struct hlo_instruction *value_of(struct mlir_reader *reader, uint32_t index)
{
    struct mlir_binding *bound = binding(reader, index);
    struct hlo_instruction *source = bound->value;
    struct mlir_place place = {source->line, source->column};
    int64_t part = bound->part;
    int here = reader->depth;
    if (part < 0)
        return source;
    reader->depth = bound->depth;
    const struct hlo_attributes *attributes = mlir_keep(reader, &(struct hlo_attributes){.index = part});
    const char *name = arena_format(&reader->module->arena, "%s.%lld", source->name, (long long)part);
    struct hlo_instruction *element =
        mlir_add(reader, HLO_GET_TUPLE_ELEMENT, place, name, source->shape->parts[part], &source, 1);
    reader->depth = here;
    if (!element || !attributes) {
        error_memory(reader->err);
        return NULL;
    }
    element->attributes = attributes;
    bound = binding(reader, index);
    bound->part = -1;
    return bound->value = element;
}

/* What a region uses from outside becomes a parameter of it, and of the regions between; a scalar constant is
 * written again instead, so that the bound of a loop stays known. */
static struct hlo_instruction *capture(struct mlir_reader *reader, uint32_t name, const char *at)
{
    uint32_t outermost = *innermost_of(reader, name);
    int here = reader->depth, depth = binding(reader, outermost)->depth;
    struct hlo_instruction *value = value_of(reader, outermost);
    while (value && depth < here) {
        struct hlo_instruction *outer = value;
        reader->depth = ++depth;
        if (outer->opcode == HLO_CONSTANT && outer->has_value) {
            value =
                mlir_add(reader, HLO_CONSTANT, mlir_place_of(reader, at), outer->name, outer->shape, NULL, 0);
        } else {
            value = add_parameter(reader, at, outer->name, outer->shape);
            reader->blocks[depth].captured++;
        }
        if (value) {
            value->has_value = outer->has_value;
            value->value = outer->value;
            if (!bind(reader, name, depth, value, -1))
                value = NULL;
        }
    }
    reader->depth = here;
    return value;
}

bool mlir_use(struct mlir_reader *reader, struct hlo_instruction **value)
{
    struct mlir_span text;
    int64_t number = 0;
    if (mlir_peek(reader) != '%')
        return mlir_expected(reader, "a value such as %0");
    const char *at = reader->p++;
    if (!mlir_value_name(reader, &text))
        return false;
    if (reader->p < reader->end && *reader->p == '#') {
        reader->p++;
        if (!mlir_integer(reader, &number))
            return false;
    }
    uint32_t name, index = 0;
    if (number == 0 && is_number(reader, text, &name)) {
        index = reader->numbered[name];
    } else if (reader->name_room && number >= 0 && number <= UINT32_MAX) {
        uint32_t hash = hash_name(text, (uint32_t)number);
        const struct hlo_cell *cell = find_name(reader, text, (uint32_t)number, hash);
        name = cell->slot - 1 + reader->numbered_room;
        index = cell->slot ? *innermost_of(reader, name) : 0;
    }
    if (!index)
        return mlir_error(reader, at, "'%.*s' is not defined", (int)(reader->p - at), at);
    *value =
        binding(reader, index)->depth == reader->depth ? value_of(reader, index) : capture(reader, name, at);
    return *value || error_memory(reader->err);
}
