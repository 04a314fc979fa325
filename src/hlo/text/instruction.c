#include "core/progress.h"
#include "core/stop.h"
#include "hlo/text/text.h"

#include <string.h>

static bool define(struct hlo_reader *reader, struct hlo_word key, struct hlo_instruction *instruction,
                   const char *at)
{
    struct hlo_slot *slot = hlo_table_place(&reader->names[reader->scope], key.at, key.length);
    if (!slot)
        return error_memory(reader->err);
    if (slot->value)
        return hlo_fail(reader, at, "a second instruction '%.*s' in the computation", (int)key.length,
                        key.at);
    slot->value = instruction;
    return true;
}

bool hlo_append(struct hlo_reader *reader, struct hlo_instruction *instruction)
{
    instruction->index = (int)(reader->instructions.count - reader->begins.instruction);
    return (instruction->opcode != HLO_PARAMETER || hlo_push(reader, &reader->parameters, instruction)) &&
           hlo_push(reader, &reader->instructions, instruction);
}

static struct hlo_instruction *new_instruction(struct hlo_reader *reader, struct hlo_word name,
                                               const char *at, enum hlo_opcode opcode)
{
    struct hlo_instruction *instruction = ARENA_NEW(&reader->module->arena, struct hlo_instruction);
    char *copy = arena_copy(&reader->module->arena, name.at, name.length);
    if (!instruction || !copy) {
        error_memory(reader->err);
        return NULL;
    }
    instruction->opcode = opcode;
    instruction->name = copy;
    hlo_place(reader, at, &instruction->line, &instruction->column);
    return instruction;
}

void hlo_begin_attributes(struct hlo_draft *draft)
{
    if (draft->set)
        return;
    draft->set = true;
    memset(&draft->attributes, 0, sizeof draft->attributes);
    draft->attributes.trip_count = -1;
    if (hlo_draft_opcode(draft) == HLO_CONVOLUTION)
        draft->attributes.feature_groups = draft->attributes.batch_groups = 1;
}

/* Keeps the attributes in the arena: equal ones share a copy. */
static bool keep_attributes(struct hlo_reader *reader, struct hlo_draft *draft)
{
    static const struct hlo_attributes none = {.trip_count = -1};
    struct hlo_instruction *in = draft->instruction;
    if (hlo_draft_opcode(draft) == HLO_CONVOLUTION)
        hlo_begin_attributes(draft);
    if (!draft->set) {
        in->attributes = &none;
        return true;
    }
    const struct hlo_attributes *before =
        hlo_table_get(&reader->attributes, (const char *)&draft->attributes, sizeof draft->attributes);
    if (before) {
        in->attributes = before;
        return true;
    }
    const struct hlo_attributes *kept = hlo_keep(reader, &draft->attributes, sizeof *kept);
    if (!kept)
        return false;
    struct hlo_slot *slot = hlo_table_place(&reader->attributes, (const char *)kept, sizeof *kept);
    if (!slot)
        return error_memory(reader->err);
    slot->value = (void *)kept;
    in->attributes = kept;
    return true;
}

/* No more than is needed: `attributes` is large. */
static void begin_draft(struct hlo_draft *draft, struct hlo_instruction *instruction)
{
    draft->instruction = instruction;
    draft->wrapped = HLO_OPCODE_COUNT;
    draft->set = false;
    draft->thread = NULL;
}

static bool keep_operands(struct hlo_reader *reader, struct hlo_draft *draft)
{
    struct hlo_instruction *in = draft->instruction;
    size_t callees = reader->operands.count - draft->callees;
    size_t operands = draft->callees - draft->operands;
    in->callee_count = (int)callees;
    in->callees = hlo_pop_all(reader, &reader->operands, draft->callees);
    in->operand_count = (int)operands;
    in->operands = hlo_pop_all(reader, &reader->operands, draft->operands);
    if ((callees && !in->callees) || (operands && !in->operands))
        return error_memory(reader->err);
    return true;
}

/* ---- Operands ---- */

static bool make_parameter(struct hlo_reader *reader, struct hlo_word name, const struct hlo_shape *shape,
                           struct hlo_instruction **parameter)
{
    if (reader->made == HLO_MAX_PARTS)
        return hlo_fail(reader, name.at, "more than %d operands", HLO_MAX_PARTS);
    *parameter = new_instruction(reader, name, name.at, HLO_PARAMETER);
    if (!*parameter)
        return false;
    struct hlo_draft draft;
    begin_draft(&draft, *parameter);
    (*parameter)->shape = shape;
    (*parameter)->parameter = reader->made++;
    return keep_attributes(reader, &draft) && hlo_append(reader, *parameter);
}

/* name#index: a get-tuple-element, made the first time it is written. */
static bool read_element(struct hlo_reader *reader, const char *name_at, struct hlo_instruction **operand)
{
    reader->at++;
    const char *index_at = reader->at;
    int64_t index;
    if (!hlo_read_integer(reader, &index))
        return false;
    struct hlo_word key = {name_at, (size_t)(reader->at - name_at)};
    struct hlo_instruction *element = hlo_table_get(&reader->names[reader->scope], key.at, key.length);
    if (element) {
        *operand = element;
        return true;
    }
    const struct hlo_shape *tuple = (*operand)->shape;
    if (tuple->type != HLO_TYPE_TUPLE)
        return hlo_fail(reader, index_at, "an element of '%s', which is not a tuple", (*operand)->name);
    if (index < 0 || index >= tuple->part_count)
        return hlo_fail(reader, index_at, "no element %lld in '%s', a tuple of %d", (long long)index,
                        (*operand)->name, tuple->part_count);
    element = new_instruction(reader, key, name_at, HLO_GET_TUPLE_ELEMENT);
    if (!element)
        return false;
    struct hlo_draft draft;
    begin_draft(&draft, element);
    hlo_begin_attributes(&draft);
    draft.attributes.index = index;
    draft.operands = reader->operands.count;
    draft.callees = draft.operands + 1;
    element->shape = tuple->parts[index];
    if (!hlo_push(reader, &reader->operands, *operand) || !keep_operands(reader, &draft) ||
        !keep_attributes(reader, &draft) || !hlo_append(reader, element) ||
        !define(reader, key, element, name_at))
        return false;
    *operand = element;
    return true;
}

static bool read_named(struct hlo_reader *reader, const struct hlo_shape *shape,
                       struct hlo_instruction **operand)
{
    struct hlo_word name;
    if (!hlo_read_name(reader, "an operand", &name))
        return false;
    *operand = hlo_table_get(&reader->names[reader->scope], name.at, name.length);
    if (!*operand) {
        if (!reader->is_lone || reader->scope != 1 || !shape)
            return hlo_fail(reader, name.at, "no instruction '%.*s' before this line in the computation",
                            (int)name.length, name.at);
        return make_parameter(reader, name, shape, operand) && define(reader, name, *operand, name.at);
    }
    while (hlo_peek(reader) == '#')
        if (!read_element(reader, name.at, operand))
            return false;
    if (shape && shape != (*operand)->shape && !hlo_shape_equal(shape, (*operand)->shape)) {
        char written[160], defined[160];
        return hlo_fail(reader, name.at, "'%s' is %s, not %s", (*operand)->name,
                        hlo_shape_text((*operand)->shape, defined, sizeof defined),
                        hlo_shape_text(shape, written, sizeof written));
    }
    return true;
}

/* Does an operation begin here: a word and then '('? */
static bool at_operation(struct hlo_reader *reader)
{
    const char *at = reader->at;
    bool is_word = hlo_read_word(reader).length > 0;
    hlo_skip_blank(reader);
    bool is_operation = is_word && hlo_peek(reader) == '(';
    reader->at = at;
    return is_operation;
}

/* The instruction of this name, if nothing but its name is written; else the reader stays where it is. */
static struct hlo_instruction *read_known(struct hlo_reader *reader)
{
    const char *at = reader->at;
    reader->at += hlo_peek(reader) == '%';
    struct hlo_word name = hlo_read_bytes(reader);
    char c = hlo_peek(reader);
    struct hlo_instruction *known =
        c == ',' || c == ')' ? hlo_table_get(&reader->names[reader->scope], name.at, name.length) : NULL;
    if (!known)
        reader->at = at;
    return known;
}

static bool read_operand(struct hlo_reader *reader)
{
    const struct hlo_shape *shape = NULL;
    hlo_skip_blank(reader);
    struct hlo_instruction *operand = read_known(reader);
    if (operand)
        return hlo_push(reader, &reader->operands, operand);
    if (hlo_peek(reader) != '%' && hlo_at_shape(reader)) {
        shape = hlo_read_shape(reader);
        if (!shape)
            return false;
        hlo_skip_blank(reader);
    }
    char c = hlo_peek(reader);
    struct hlo_word nameless = {reader->at, 0};
    if (shape && reader->is_lone && reader->scope == 1 && (c == ',' || c == ')')) {
        if (!make_parameter(reader, nameless, shape, &operand))
            return false;
    } else if (c != '%' && at_operation(reader)) {
        operand = hlo_enter(reader) ? hlo_read_operation(reader, nameless, shape) : NULL;
        if (!operand)
            return false;
        reader->depth--;
    } else if (!read_named(reader, shape, &operand))
        return false;
    return hlo_push(reader, &reader->operands, operand);
}

static bool read_operands(struct hlo_reader *reader, struct hlo_draft *draft)
{
    draft->operands = reader->operands.count;
    while (!hlo_takes(reader, ')'))
        if ((reader->operands.count > draft->operands && !hlo_expect(reader, ',')) || !read_operand(reader))
            return false;
    return true;
}

/* ---- Operations ---- */

static bool read_parameter_number(struct hlo_reader *reader, struct hlo_instruction *in)
{
    hlo_skip_blank(reader);
    const char *at = reader->at;
    if (!hlo_read_integer(reader, &in->parameter) || !hlo_expect(reader, ')'))
        return false;
    return in->parameter >= 0 || hlo_fail(reader, at, "a parameter's number below 0");
}

static bool read_arguments(struct hlo_reader *reader, struct hlo_draft *draft)
{
    struct hlo_instruction *in = draft->instruction;
    bool has_shape = in->shape != NULL;
    draft->operands = reader->operands.count;
    if (!hlo_expect(reader, '('))
        return false;
    if ((in->opcode == HLO_PARAMETER || in->opcode == HLO_CONSTANT) && !has_shape)
        return hlo_fail(reader, draft->name_at, "a %s needs its shape", hlo_opcode_name(in->opcode));
    if (in->opcode == HLO_PARAMETER)
        return read_parameter_number(reader, in);
    if (in->opcode == HLO_CONSTANT)
        return hlo_read_literal(reader, in);
    return read_operands(reader, draft);
}

bool hlo_settle_shape(struct hlo_reader *reader, struct hlo_draft *draft)
{
    struct hlo_instruction *in = draft->instruction;
    struct hlo_inference inference;
    inference.arena = &reader->module->arena;
    inference.is_lone = reader->is_lone;
    inference.is_exact = false;
    return hlo_infer_shape(&inference, in) || hlo_fail(reader, draft->name_at, "'%s' (%s): %s", in->name,
                                                       hlo_opcode_name(in->opcode), inference.message);
}

static bool settle(struct hlo_reader *reader, struct hlo_draft *draft)
{
    struct hlo_instruction *in = draft->instruction;
    if (in->opcode == HLO_PARAMETER || in->opcode == HLO_CONSTANT)
        return true;
    if (in->opcode == HLO_ASYNC_START || in->opcode == HLO_ASYNC_UPDATE || in->opcode == HLO_ASYNC_DONE)
        return hlo_settle_async(reader, draft);
    return hlo_settle_shape(reader, draft);
}

static bool read_rest(struct hlo_reader *reader, struct hlo_draft *draft)
{
    if (!read_arguments(reader, draft))
        return false;
    draft->callees = reader->operands.count;
    return (draft->is_nested || hlo_read_attributes(reader, draft)) && keep_operands(reader, draft) &&
           keep_attributes(reader, draft) && settle(reader, draft);
}

/* Found by its text from the second time on. */
static enum hlo_opcode find_opcode(struct hlo_reader *reader, struct hlo_word word)
{
    static const char opcodes[HLO_OPCODE_COUNT]; /* an address for each */
    const char *known = hlo_table_get(&reader->words, word.at, word.length);
    if (known)
        return (enum hlo_opcode)(known - opcodes);
    enum hlo_opcode opcode = hlo_opcode_find(word.at, word.length);
    struct hlo_slot *slot =
        opcode != HLO_OPCODE_COUNT ? hlo_table_place(&reader->words, word.at, word.length) : NULL;
    if (slot)
        slot->value = (void *)&opcodes[opcode];
    return opcode;
}

/* async.c: returns the opcode of `add-start`, `add-update` or `add-done` (async-start, …), and sets the
 * operation it wraps. */
static enum hlo_opcode hlo_find_sugar(struct hlo_word word, enum hlo_opcode *wrapped)
{
    static const struct {
        const char *ending;
        enum hlo_opcode opcode;
    } endings[] = {{"-start", HLO_ASYNC_START}, {"-update", HLO_ASYNC_UPDATE}, {"-done", HLO_ASYNC_DONE}};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(endings[i].ending);
        if (word.length <= length || memcmp(word.at + word.length - length, endings[i].ending, length) != 0)
            continue;
        enum hlo_opcode opcode = hlo_opcode_find(word.at, word.length - length);
        if (opcode == HLO_OPCODE_COUNT || (hlo_operations[opcode].traits & HLO_UNWRAPPED))
            continue;
        *wrapped = opcode;
        return endings[i].opcode;
    }
    return HLO_OPCODE_COUNT;
}

struct hlo_instruction *hlo_read_operation(struct hlo_reader *reader, struct hlo_word name,
                                           const struct hlo_shape *shape)
{
    struct hlo_draft draft;
    begin_draft(&draft, NULL);
    hlo_skip_blank(reader);
    const char *at = reader->at;
    struct hlo_word word = hlo_read_word(reader);
    enum hlo_opcode opcode = find_opcode(reader, word);
    if (opcode == HLO_OPCODE_COUNT)
        opcode = hlo_find_sugar(word, &draft.wrapped);
    if (opcode == HLO_OPCODE_COUNT) {
        reader->at = at;
        hlo_expected(reader, "an operation");
        return NULL;
    }
    draft.is_nested = name.length == 0 && reader->depth > 0;
    if (name.length == 0)
        name = (struct hlo_word){at, word.length};
    draft.name_at = name.at;
    draft.instruction = new_instruction(reader, name, name.at, opcode);
    if (!draft.instruction)
        return NULL;
    draft.instruction->shape = shape;
    if (!read_rest(reader, &draft) || !hlo_append(reader, draft.instruction))
        return NULL;
    return draft.instruction;
}

struct hlo_instruction *hlo_read_instruction(struct hlo_reader *reader, bool *is_root)
{
    struct hlo_word name;
    const struct hlo_shape *shape = NULL;
    hlo_skip_blank(reader);
    const char *before = reader->at;
    if (reader->read % STOP_STEPS == 0)
        progress_tell("%zu instructions read", reader->read);
    if (stop_obeyed_at(reader->read++, reader->err) || !hlo_read_name(reader, "an instruction or '}'", &name))
        return NULL;
    *is_root = hlo_word_is(name, "ROOT") && name.at == before;
    if (*is_root && !hlo_read_name(reader, "an instruction", &name))
        return NULL;
    hlo_table_prefetch(&reader->names[reader->scope], name.at, name.length);
    if (!hlo_expect(reader, '='))
        return NULL;
    hlo_skip_blank(reader);
    if (hlo_at_shape(reader) && !(shape = hlo_read_shape(reader)))
        return NULL;
    struct hlo_instruction *instruction = hlo_read_operation(reader, name, shape);
    return instruction && define(reader, name, instruction, name.at) ? instruction : NULL;
}
