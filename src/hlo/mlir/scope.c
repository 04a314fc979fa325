#include "hlo/mlir/mlir.h"

#include <inttypes.h>
#include <stdio.h>

static struct mlir_binding *binding(const struct mlir_reader *r, uint32_t index)
{
    return (struct mlir_binding *)r->bindings.items + index;
}

/* A name is known by the number it is written as, or by numbered_room and its place among the other names.
 * Returns the innermost binding of a name, of any function; 0: none. */
static uint32_t any_innermost_of(const struct mlir_reader *r, uint32_t name)
{
    if (name < r->numbered_room)
        return r->numbered[name];
    return (uint32_t)(uintptr_t)r->names.slots[name - r->numbered_room].value;
}

/* The same, of the function that is being read. */
static uint32_t innermost_of(const struct mlir_reader *r, uint32_t name)
{
    uint32_t index = any_innermost_of(r, name);
    return index && binding(r, index)->depth >= r->base ? index : 0;
}

static void set_innermost(struct mlir_reader *r, uint32_t name, uint32_t index)
{
    if (name < r->numbered_room)
        r->numbered[name] = index;
    else
        r->names.slots[name - r->numbered_room].value = (void *)(uintptr_t)index;
}

/* %17 and the like, which nearly all names are, are looked up without a hash. */
static bool is_number(const struct mlir_reader *r, struct mlir_span text, uint32_t *value)
{
    if (text.length > 7 || text.length == 0 || (text.at[0] == '0' && text.length > 1))
        return false;
    *value = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        *value = *value * 10 + (uint32_t)(text.at[i] - '0');
    }
    return *value < r->numbered_room;
}

void mlir_prefetch(const struct mlir_reader *r, struct mlir_span name)
{
    uint32_t number;
    if (!is_number(r, name, &number))
        hlo_table_prefetch(&r->names, name.at, name.length);
}

/* A new binding of the computation at `depth`, which is further in than all others of the name. */
static uint32_t bind(struct mlir_reader *r, uint32_t name, int depth, struct hlo_instruction *value,
                     int64_t part)
{
    uint32_t index = r->free_binding;
    if (index)
        r->free_binding = binding(r, index)->next;
    else if (r->bindings.count >= UINT32_MAX ||
             (r->bindings.count == 0 && !mlir_push(r, &r->bindings, sizeof(struct mlir_binding))) ||
             !mlir_push(r, &r->bindings, sizeof(struct mlir_binding)))
        return 0;
    else
        index = (uint32_t)(r->bindings.count - 1);
    *binding(r, index) = (struct mlir_binding){
        .name = name,
        .outer = any_innermost_of(r, name),
        .next = r->blocks[depth].first_binding,
        .depth = depth,
        .part = part,
        .value = value,
    };
    r->blocks[depth].first_binding = index;
    set_innermost(r, name, index);
    return index;
}

static const char *numbered_name(struct mlir_reader *r, struct mlir_span text, uint32_t number)
{
    return arena_format(&r->module->arena, "%.*s#%" PRIu32, (int)text.length, text.at, number);
}

/* Finds a name, or adds it to the table. The first result of several goes without its number. */
static bool add_name(struct mlir_reader *r, struct mlir_span text, uint32_t number, uint32_t *name)
{
    if (number == 0 && is_number(r, text, name))
        return true;
    if (number > 0) {
        text.at = arena_format(&r->module->arena, "%.*s#%" PRIu32, (int)text.length, text.at, number);
        text.length = text.at ? strlen(text.at) : 0;
    }
    struct hlo_slot *slot = text.at ? hlo_table_place(&r->names, text.at, text.length) : NULL;
    if (!slot || r->names.count > UINT32_MAX - r->numbered_room)
        return error_memory(r->err);
    *name = (uint32_t)(slot - r->names.slots) + r->numbered_room;
    return true;
}

bool mlir_define(struct mlir_reader *r, struct mlir_span name, uint32_t number, const char *at,
                 struct hlo_instruction *source, int64_t part)
{
    uint32_t found = 0;
    if (!add_name(r, name, number, &found))
        return false;
    if (innermost_of(r, found))
        return mlir_error(r, at, "'%%%.*s' is defined twice", (int)name.length, name.at);
    return bind(r, found, r->depth, source, part) || error_memory(r->err);
}

bool mlir_open_block(struct mlir_reader *r)
{
    if (r->depth == HLO_MAX_DEPTH)
        return mlir_error(r, r->p, "regions nested deeper than %d", HLO_MAX_DEPTH);
    struct mlir_block *block = &r->blocks[++r->depth];
    block->instructions.count = block->parameters.count = block->results.count = 0;
    block->first_binding = 0;
    block->captured = 0;
    block->terminator = NULL;
    return true;
}

/* Takes the names of the block that closes out of the table. */
static void forget_names(struct mlir_reader *r, struct mlir_block *block)
{
    for (uint32_t b = block->first_binding; b;) {
        struct mlir_binding *gone = binding(r, b);
        uint32_t next = gone->next;
        set_innermost(r, gone->name, gone->outer);
        gone->next = r->free_binding;
        r->free_binding = b;
        b = next;
    }
    block->first_binding = 0;
}

struct hlo_instruction *mlir_add(struct mlir_reader *r, enum hlo_opcode opcode, struct mlir_place place,
                                 const char *name, const struct hlo_shape *shape,
                                 struct hlo_instruction *const *operands, size_t count)
{
    static const struct hlo_attributes none = {0};
    struct mlir_block *block = &r->blocks[r->depth];
    struct hlo_instruction *instruction = ARENA_NEW(&r->module->arena, struct hlo_instruction);
    if (!instruction || !name || !shape || !mlir_push_value(r, &block->instructions, instruction))
        return error_memory_null(r->err);
    if (count) {
        instruction->operands = ARENA_ARRAY(&r->module->arena, count, struct hlo_instruction *);
        if (!instruction->operands)
            return error_memory_null(r->err);
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
static struct hlo_instruction *add_parameter(struct mlir_reader *r, const char *at, const char *name,
                                             const struct hlo_shape *shape)
{
    struct mlir_block *block = &r->blocks[r->depth];
    struct hlo_instruction *parameter =
        mlir_add(r, HLO_PARAMETER, mlir_place_of(r, at), name, shape, NULL, 0);
    if (!parameter || !mlir_push_value(r, &block->parameters, parameter))
        return NULL;
    parameter->parameter = (int64_t)block->parameters.count - 1;
    return parameter;
}

bool mlir_parameter(struct mlir_reader *r, const struct mlir_op *attributes, struct mlir_span name,
                    const char *at, const struct hlo_shape *shape)
{
    struct hlo_ints known = {0};
    if (r->sized && !mlir_size_argument(r, attributes, at, &shape, &known))
        return false;
    const char *text = arena_copy(&r->module->arena, name.at, name.length);
    struct hlo_instruction *value = add_parameter(r, at, text, shape);
    if (value && known.count)
        value = mlir_add_known(r, mlir_place_of(r, at), text, shape, known);
    return value && mlir_define(r, name, 0, at, value, -1);
}

struct hlo_computation *mlir_close_block(struct mlir_reader *r, const char *name)
{
    struct mlir_block *block = &r->blocks[r->depth];
    struct arena *arena = &r->module->arena;
    struct hlo_computation *computation = ARENA_NEW(arena, struct hlo_computation);
    size_t count = block->instructions.count, parameters = block->parameters.count;
    forget_names(r, block);
    if (!computation || !name || !mlir_push_value(r, &r->computations, computation) || count > INT32_MAX ||
        !(computation->instructions = ARENA_ARRAY(arena, count, struct hlo_instruction *)) ||
        !(computation->parameters = ARENA_ARRAY(arena, parameters, struct hlo_instruction *)))
        return error_memory_null(r->err);
    if (count)
        memcpy(computation->instructions, block->instructions.items, count * sizeof(void *));
    if (parameters)
        memcpy(computation->parameters, block->parameters.items, parameters * sizeof(void *));
    computation->name = name;
    computation->count = (int)count;
    computation->parameter_count = (int)parameters;
    computation->captured = block->captured;
    r->depth--;
    return computation;
}

void mlir_drop_block(struct mlir_reader *r)
{
    forget_names(r, &r->blocks[r->depth--]);
}

bool mlir_value_name(struct mlir_reader *r, struct mlir_span *name)
{
    const char *c = r->p, *end = r->end;
    while (c < end && (mlir_is_word(*c) || *c == '-'))
        c++;
    *name = (struct mlir_span){r->p, (size_t)(c - r->p)};
    if (c == r->p)
        return mlir_expected(r, "a value's name");
    r->p = c;
    return true;
}

/* Returns the value of a binding. A part of a tuple is taken out where it is used for the first time. */
static struct hlo_instruction *value_of(struct mlir_reader *r, uint32_t index)
{
    struct mlir_binding *bound = binding(r, index);
    struct hlo_instruction *source = bound->value;
    struct mlir_place place = {source->line, source->column};
    int64_t part = bound->part;
    int here = r->depth;
    struct hlo_ints known = {0};
    if (part < 0)
        return source;
    if (r->sized && source->opcode == HLO_CALL && source->callee_count &&
        source->callees[0]->root->opcode == HLO_TUPLE &&
        !mlir_known(r, source->callees[0]->root->operands[part], &known))
        return NULL;
    r->depth = bound->depth;
    const struct hlo_attributes *attributes = mlir_keep(r, &(struct hlo_attributes){.index = part});
    const char *name = arena_format(&r->module->arena, "%s.%lld", source->name, (long long)part);
    struct hlo_instruction *element =
        known.count ? mlir_add_known(r, place, name, source->shape->parts[part], known)
                    : mlir_add(r, HLO_GET_TUPLE_ELEMENT, place, name, source->shape->parts[part], &source, 1);
    r->depth = here;
    if (!element || !attributes)
        return error_memory_null(r->err);
    if (!known.count)
        element->attributes = attributes;
    bound = binding(r, index);
    bound->part = -1;
    return bound->value = element;
}

/* An outside value that a region uses becomes a parameter of the region, and of the regions between. A
 * scalar constant is written again instead, so that the bound of a loop stays known; and so are sizes. */
static struct hlo_instruction *capture(struct mlir_reader *r, uint32_t name, const char *at)
{
    uint32_t outermost = innermost_of(r, name);
    int here = r->depth, depth = binding(r, outermost)->depth;
    struct hlo_instruction *value = value_of(r, outermost);
    while (value && depth < here) {
        struct hlo_instruction *outer = value;
        r->depth = ++depth;
        if (outer->opcode == HLO_CONSTANT && (outer->has_value || (r->sized && outer->value))) {
            value = mlir_add(r, HLO_CONSTANT, mlir_place_of(r, at), outer->name, outer->shape, NULL, 0);
        } else {
            value = add_parameter(r, at, outer->name, outer->shape);
            r->blocks[depth].captured++;
            if (value)
                value->outside = outer;
        }
        if (value) {
            value->has_value = outer->has_value;
            value->value = outer->value;
            value->number = outer->number;
            if (!bind(r, name, depth, value, -1))
                value = NULL;
        }
    }
    r->depth = here;
    return value;
}

static bool find_name(struct mlir_reader *r, struct mlir_span text, uint32_t number, uint32_t *name)
{
    char key[256];
    if (number == 0 && is_number(r, text, name))
        return true;
    if (number > 0) {
        size_t length = (size_t)snprintf(key, sizeof key, "%.*s#%" PRIu32, (int)text.length, text.at, number);
        text.at = length < sizeof key ? key : numbered_name(r, text, number);
        text.length = length;
    }
    const struct hlo_slot *slot = text.at ? hlo_table_find(&r->names, text.at, text.length) : NULL;
    if (slot)
        *name = (uint32_t)(slot - r->names.slots) + r->numbered_room;
    return slot != NULL;
}

bool mlir_use(struct mlir_reader *r, struct hlo_instruction **value)
{
    struct mlir_span text;
    int64_t number = 0;
    if (mlir_peek(r) != '%')
        return mlir_expected(r, "a value such as %0");
    const char *at = r->p++;
    if (!mlir_value_name(r, &text))
        return false;
    if (r->p < r->end && *r->p == '#') {
        r->p++;
        if (!mlir_integer(r, &number))
            return false;
    }
    uint32_t name = 0, index = 0;
    if (number >= 0 && number <= UINT32_MAX && find_name(r, text, (uint32_t)number, &name))
        index = innermost_of(r, name);
    if (!index)
        return mlir_error(r, at, "'%.*s' is not defined", (int)(r->p - at), at);
    *value = binding(r, index)->depth == r->depth ? value_of(r, index) : capture(r, name, at);
    return *value || error_memory(r->err);
}
