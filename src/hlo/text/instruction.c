#include "core/progress.h"
#include "core/stop.h"
#include "hlo/text/text.h"

#include <string.h>

static bool define(struct hlo_reader *r, struct hlo_word key, struct hlo_instruction *instruction,
                   const char *at)
{
    struct hlo_slot *slot = hlo_table_place(&r->names[r->scope], key.at, key.length);
    if (!slot)
        return error_memory(r->err);
    if (slot->value)
        return hlo_fail(r, at, "a second instruction '%.*s' in the computation", (int)key.length, key.at);
    slot->value = instruction;
    return true;
}

bool hlo_append(struct hlo_reader *r, struct hlo_instruction *instruction)
{
    instruction->index = (int)(r->instructions.count - r->begins.instruction);
    return (instruction->opcode != HLO_PARAMETER || hlo_push(r, &r->parameters, instruction)) &&
           hlo_push(r, &r->instructions, instruction);
}

static struct hlo_instruction *new_instruction(struct hlo_reader *r, struct hlo_word name, const char *at,
                                               enum hlo_opcode opcode)
{
    struct hlo_instruction *instruction = ARENA_NEW(&r->module->arena, struct hlo_instruction);
    char *copy = arena_copy(&r->module->arena, name.at, name.length);
    if (!instruction || !copy)
        return error_memory_null(r->err);
    instruction->opcode = opcode;
    instruction->name = copy;
    hlo_place(r, at, &instruction->line, &instruction->column);
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
static bool keep_attributes(struct hlo_reader *r, struct hlo_draft *draft)
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
        hlo_table_get(&r->attributes, (const char *)&draft->attributes, sizeof draft->attributes);
    if (before) {
        in->attributes = before;
        return true;
    }
    const struct hlo_attributes *kept = hlo_keep(r, &draft->attributes, sizeof *kept);
    if (!kept)
        return false;
    struct hlo_slot *slot = hlo_table_place(&r->attributes, (const char *)kept, sizeof *kept);
    if (!slot)
        return error_memory(r->err);
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

static bool keep_operands(struct hlo_reader *r, struct hlo_draft *draft)
{
    struct hlo_instruction *in = draft->instruction;
    size_t callees = r->operands.count - draft->callees;
    size_t operands = draft->callees - draft->operands;
    in->callee_count = (int)callees;
    in->callees = hlo_pop_all(r, &r->operands, draft->callees);
    in->operand_count = (int)operands;
    in->operands = hlo_pop_all(r, &r->operands, draft->operands);
    if ((callees && !in->callees) || (operands && !in->operands))
        return error_memory(r->err);
    return true;
}

/* ---- Operands ---- */

static bool make_parameter(struct hlo_reader *r, struct hlo_word name, const struct hlo_shape *shape,
                           struct hlo_instruction **parameter)
{
    if (r->made == HLO_MAX_PARTS)
        return hlo_fail(r, name.at, "more than %d operands", HLO_MAX_PARTS);
    *parameter = new_instruction(r, name, name.at, HLO_PARAMETER);
    if (!*parameter)
        return false;
    struct hlo_draft draft;
    begin_draft(&draft, *parameter);
    (*parameter)->shape = shape;
    (*parameter)->parameter = r->made++;
    return keep_attributes(r, &draft) && hlo_append(r, *parameter);
}

/* name#index: a get-tuple-element, made the first time it is written. */
static bool read_element(struct hlo_reader *r, const char *name_at, struct hlo_instruction **operand)
{
    r->at++;
    const char *index_at = r->at;
    int64_t index;
    if (!hlo_read_integer(r, &index))
        return false;
    struct hlo_word key = {name_at, (size_t)(r->at - name_at)};
    struct hlo_instruction *element = hlo_table_get(&r->names[r->scope], key.at, key.length);
    if (element) {
        *operand = element;
        return true;
    }
    const struct hlo_shape *tuple = (*operand)->shape;
    if (tuple->type != HLO_TYPE_TUPLE)
        return hlo_fail(r, index_at, "an element of '%s', which is not a tuple", (*operand)->name);
    if (index < 0 || index >= tuple->part_count)
        return hlo_fail(r, index_at, "no element %lld in '%s', a tuple of %d", (long long)index,
                        (*operand)->name, tuple->part_count);
    element = new_instruction(r, key, name_at, HLO_GET_TUPLE_ELEMENT);
    if (!element)
        return false;
    struct hlo_draft draft;
    begin_draft(&draft, element);
    hlo_begin_attributes(&draft);
    draft.attributes.index = index;
    draft.operands = r->operands.count;
    draft.callees = draft.operands + 1;
    element->shape = tuple->parts[index];
    if (!hlo_push(r, &r->operands, *operand) || !keep_operands(r, &draft) || !keep_attributes(r, &draft) ||
        !hlo_append(r, element) || !define(r, key, element, name_at))
        return false;
    *operand = element;
    return true;
}

static bool read_named(struct hlo_reader *r, const struct hlo_shape *shape, struct hlo_instruction **operand)
{
    struct hlo_word name;
    if (!hlo_read_name(r, "an operand", &name))
        return false;
    *operand = hlo_table_get(&r->names[r->scope], name.at, name.length);
    if (!*operand) {
        if (!r->is_lone || r->scope != 1 || !shape)
            return hlo_fail(r, name.at, "no instruction '%.*s' before this line in the computation",
                            (int)name.length, name.at);
        return make_parameter(r, name, shape, operand) && define(r, name, *operand, name.at);
    }
    while (hlo_peek(r) == '#')
        if (!read_element(r, name.at, operand))
            return false;
    if (shape && shape != (*operand)->shape && !hlo_shape_equal(shape, (*operand)->shape)) {
        char written[160], defined[160];
        return hlo_fail(r, name.at, "'%s' is %s, not %s", (*operand)->name,
                        hlo_shape_text((*operand)->shape, defined, sizeof defined),
                        hlo_shape_text(shape, written, sizeof written));
    }
    return true;
}

/* Does an operation begin here: a word and then '('? */
static bool at_operation(struct hlo_reader *r)
{
    const char *at = r->at;
    bool is_word = hlo_read_word(r).length > 0;
    hlo_skip_blank(r);
    bool is_operation = is_word && hlo_peek(r) == '(';
    r->at = at;
    return is_operation;
}

/* The instruction of this name, if nothing but its name is written; else the reader stays where it is. */
static struct hlo_instruction *read_known(struct hlo_reader *r)
{
    const char *at = r->at;
    r->at += hlo_peek(r) == '%';
    struct hlo_word name = hlo_read_bytes(r);
    char c = hlo_peek(r);
    struct hlo_instruction *known =
        c == ',' || c == ')' ? hlo_table_get(&r->names[r->scope], name.at, name.length) : NULL;
    if (!known)
        r->at = at;
    return known;
}

static bool read_operand(struct hlo_reader *r)
{
    const struct hlo_shape *shape = NULL;
    hlo_skip_blank(r);
    struct hlo_instruction *operand = read_known(r);
    if (operand)
        return hlo_push(r, &r->operands, operand);
    if (hlo_peek(r) != '%' && hlo_at_shape(r)) {
        shape = hlo_read_shape(r);
        if (!shape)
            return false;
        hlo_skip_blank(r);
    }
    char c = hlo_peek(r);
    struct hlo_word nameless = {r->at, 0};
    if (shape && r->is_lone && r->scope == 1 && (c == ',' || c == ')')) {
        if (!make_parameter(r, nameless, shape, &operand))
            return false;
    } else if (c != '%' && at_operation(r)) {
        operand = hlo_enter(r) ? hlo_read_operation(r, nameless, shape) : NULL;
        if (!operand)
            return false;
        r->depth--;
    } else if (!read_named(r, shape, &operand))
        return false;
    return hlo_push(r, &r->operands, operand);
}

static bool read_operands(struct hlo_reader *r, struct hlo_draft *draft)
{
    draft->operands = r->operands.count;
    while (!hlo_takes(r, ')'))
        if ((r->operands.count > draft->operands && !hlo_expect(r, ',')) || !read_operand(r))
            return false;
    return true;
}

/* ---- Operations ---- */

static bool read_parameter_number(struct hlo_reader *r, struct hlo_instruction *in)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    if (!hlo_read_integer(r, &in->parameter) || !hlo_expect(r, ')'))
        return false;
    return in->parameter >= 0 || hlo_fail(r, at, "a parameter's number below 0");
}

static bool read_arguments(struct hlo_reader *r, struct hlo_draft *draft)
{
    struct hlo_instruction *in = draft->instruction;
    bool has_shape = in->shape != NULL;
    draft->operands = r->operands.count;
    if (!hlo_expect(r, '('))
        return false;
    if ((in->opcode == HLO_PARAMETER || in->opcode == HLO_CONSTANT) && !has_shape)
        return hlo_fail(r, draft->name_at, "a %s needs its shape", hlo_opcode_name(in->opcode));
    if (in->opcode == HLO_PARAMETER)
        return read_parameter_number(r, in);
    if (in->opcode == HLO_CONSTANT)
        return hlo_read_literal(r, in);
    return read_operands(r, draft);
}

bool hlo_settle_shape(struct hlo_reader *r, struct hlo_draft *draft)
{
    struct hlo_instruction *in = draft->instruction;
    struct hlo_inference inference;
    inference.arena = &r->module->arena;
    inference.is_lone = r->is_lone;
    inference.is_exact = false;
    return hlo_infer_shape(&inference, in) || hlo_fail(r, draft->name_at, "'%s' (%s): %s", in->name,
                                                       hlo_opcode_name(in->opcode), inference.message);
}

static bool settle(struct hlo_reader *r, struct hlo_draft *draft)
{
    struct hlo_instruction *in = draft->instruction;
    if (in->opcode == HLO_PARAMETER || in->opcode == HLO_CONSTANT)
        return true;
    if (in->opcode == HLO_ASYNC_START || in->opcode == HLO_ASYNC_UPDATE || in->opcode == HLO_ASYNC_DONE)
        return hlo_settle_async(r, draft);
    return hlo_settle_shape(r, draft);
}

static bool read_rest(struct hlo_reader *r, struct hlo_draft *draft)
{
    if (!read_arguments(r, draft))
        return false;
    draft->callees = r->operands.count;
    return (draft->is_nested || hlo_read_attributes(r, draft)) && keep_operands(r, draft) &&
           keep_attributes(r, draft) && settle(r, draft);
}

/* Found by its text from the second time on. */
static enum hlo_opcode find_opcode(struct hlo_reader *r, struct hlo_word word)
{
    static const char opcodes[HLO_OPCODE_COUNT]; /* an address for each */
    const char *known = hlo_table_get(&r->words, word.at, word.length);
    if (known)
        return (enum hlo_opcode)(known - opcodes);
    enum hlo_opcode opcode = hlo_opcode_find(word.at, word.length);
    struct hlo_slot *slot =
        opcode != HLO_OPCODE_COUNT ? hlo_table_place(&r->words, word.at, word.length) : NULL;
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

struct hlo_instruction *hlo_read_operation(struct hlo_reader *r, struct hlo_word name,
                                           const struct hlo_shape *shape)
{
    struct hlo_draft draft;
    begin_draft(&draft, NULL);
    hlo_skip_blank(r);
    const char *at = r->at;
    struct hlo_word word = hlo_read_word(r);
    enum hlo_opcode opcode = find_opcode(r, word);
    if (opcode == HLO_OPCODE_COUNT)
        opcode = hlo_find_sugar(word, &draft.wrapped);
    if (opcode == HLO_OPCODE_COUNT) {
        r->at = at;
        hlo_expected(r, "an operation");
        return NULL;
    }
    draft.is_nested = name.length == 0 && r->depth > 0;
    if (name.length == 0)
        name = (struct hlo_word){at, word.length};
    draft.name_at = name.at;
    draft.instruction = new_instruction(r, name, name.at, opcode);
    if (!draft.instruction)
        return NULL;
    draft.instruction->shape = shape;
    if (!read_rest(r, &draft) || !hlo_append(r, draft.instruction))
        return NULL;
    return draft.instruction;
}

struct hlo_instruction *hlo_read_instruction(struct hlo_reader *r, bool *is_root)
{
    struct hlo_word name;
    const struct hlo_shape *shape = NULL;
    hlo_skip_blank(r);
    const char *before = r->at;
    if (r->read % STOP_STEPS == 0)
        progress_tell("%zu instructions read", r->read);
    if (stop_obeyed_at(r->read++, r->err) || !hlo_read_name(r, "an instruction or '}'", &name))
        return NULL;
    *is_root = hlo_word_is(name, "ROOT") && name.at == before;
    if (*is_root && !hlo_read_name(r, "an instruction", &name))
        return NULL;
    hlo_table_prefetch(&r->names[r->scope], name.at, name.length);
    if (!hlo_expect(r, '='))
        return NULL;
    hlo_skip_blank(r);
    if (hlo_at_shape(r) && !(shape = hlo_read_shape(r)))
        return NULL;
    struct hlo_instruction *instruction = hlo_read_operation(r, name, shape);
    return instruction && define(r, name, instruction, name.at) ? instruction : NULL;
}
