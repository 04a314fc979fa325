/* async-start, async-update and async-done, also written as add-start, add-update, add-done for any operation
 * that has none of its own. */
#include "hlo/text.h"

#include <string.h>

/* Those whose start and done are operations of their own, or that have none. */
static bool has_own_start(enum hlo_opcode opcode)
{
    switch (opcode) {
    case HLO_ALL_GATHER:
    case HLO_ALL_REDUCE:
    case HLO_COLLECTIVE_PERMUTE:
    case HLO_COPY:
    case HLO_SEND:
    case HLO_RECV:
    case HLO_PARAMETER:
    case HLO_CONSTANT:
    case HLO_ASYNC_START:
    case HLO_ASYNC_UPDATE:
    case HLO_ASYNC_DONE:
        return true;
    default:
        return false;
    }
}

enum hlo_opcode hlo_find_sugar(struct hlo_word word, enum hlo_opcode *wrapped)
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
        if (opcode == HLO_OPCODE_COUNT || has_own_start(opcode))
            continue;
        *wrapped = opcode;
        return endings[i].opcode;
    }
    return HLO_OPCODE_COUNT;
}

static bool wrong(struct hlo_reader *reader, const struct hlo_draft *draft, const char *what)
{
    const struct hlo_instruction *in = draft->instruction;
    return hlo_fail(reader, draft->name_at, "'%s' (%s): %s", in->name, hlo_opcode_name(in->opcode), what);
}

/* ((operands), result, …) */
static bool is_chain_shape(const struct hlo_shape *shape)
{
    return shape->type == HLO_TYPE_TUPLE && shape->part_count >= 2 && shape->parts[0]->type == HLO_TYPE_TUPLE;
}

static struct hlo_instruction *new_in_wrapper(struct hlo_reader *reader, const struct hlo_instruction *model,
                                              enum hlo_opcode opcode, const struct hlo_shape *shape)
{
    static const struct hlo_attributes none = {.trip_count = -1};
    struct hlo_instruction *in = ARENA_NEW(&reader->module->arena, struct hlo_instruction);
    if (!in) {
        error_memory(reader->err);
        return NULL;
    }
    *in = (struct hlo_instruction){.opcode = opcode,
                                   .line = model->line,
                                   .column = model->column,
                                   .name = model->name,
                                   .shape = shape,
                                   .attributes = &none};
    return hlo_append(reader, in) ? in : NULL;
}

/* The operation with its operands as parameters. */
static struct hlo_instruction *fill_wrapper(struct hlo_reader *reader, struct hlo_draft *draft)
{
    struct hlo_instruction *start = draft->instruction;
    struct hlo_instruction **parameters = NULL;
    if (start->operand_count) {
        parameters =
            ARENA_ARRAY(&reader->module->arena, (size_t)start->operand_count, struct hlo_instruction *);
        if (!parameters) {
            error_memory(reader->err);
            return NULL;
        }
    }
    for (int i = 0; i < start->operand_count; i++) {
        const struct hlo_instruction *operand = start->operands[i];
        parameters[i] = new_in_wrapper(reader, operand, HLO_PARAMETER, operand->shape);
        if (!parameters[i])
            return NULL;
        parameters[i]->parameter = i;
    }
    struct hlo_instruction *root = ARENA_NEW(&reader->module->arena, struct hlo_instruction);
    if (!root) {
        error_memory(reader->err);
        return NULL;
    }
    *root = *start;
    root->opcode = draft->wrapped;
    root->shape = start->shape->parts[1];
    root->operands = parameters;
    struct hlo_draft inner = *draft;
    inner.instruction = root;
    return hlo_settle_shape(reader, &inner) && hlo_append(reader, root) ? root : NULL;
}

/* A late-bound operation, some of whose operands only an update brings, has an empty tuple as its result so
 * far: nothing is wrapped, and what is called stays with the start. */
static bool is_late_bound(const struct hlo_instruction *start)
{
    const struct hlo_shape *result = start->shape->parts[1];
    return result->type == HLO_TYPE_TUPLE && result->part_count == 0;
}

static bool wrap(struct hlo_reader *reader, struct hlo_draft *draft)
{
    struct hlo_instruction *start = draft->instruction;
    size_t outer_begin = reader->scope_begin;
    if (is_late_bound(start))
        return true;
    reader->scope_begin = reader->instructions.count;
    struct hlo_instruction *root = fill_wrapper(reader, draft);
    struct hlo_computation *computation = root ? hlo_finish_computation(reader, start->name, root) : NULL;
    reader->scope_begin = outer_begin;
    if (!computation)
        return false;
    start->callee_count = 1;
    start->callees = ARENA_NEW(&reader->module->arena, struct hlo_computation *);
    if (!start->callees)
        return error_memory(reader->err);
    start->callees[0] = computation;
    return true;
}

/* The start or update that an operand is, past what hands it on unchanged; NULL when it comes from elsewhere
 * (the parameter of a loop's body). */
static const struct hlo_instruction *chain_of(const struct hlo_instruction *in)
{
    while (in->opcode == HLO_OPT_BARRIER || in->opcode == HLO_COPY)
        in = in->operands[0];
    return in->opcode == HLO_GET_TUPLE_ELEMENT || in->opcode == HLO_PARAMETER || in->opcode == HLO_WHILE ||
                   in->opcode == HLO_CONDITIONAL || in->opcode == HLO_CALL
               ? NULL
               : in;
}

static const struct hlo_computation *chain_callee(const struct hlo_instruction *in)
{
    while (in && in->opcode == HLO_ASYNC_UPDATE && in->operand_count)
        in = chain_of(in->operands[0]);
    return in && in->opcode == HLO_ASYNC_START && in->callee_count ? in->callees[0] : NULL;
}

static bool fits_chain(struct hlo_reader *reader, const struct hlo_draft *draft)
{
    const struct hlo_instruction *in = draft->instruction;
    if (in->operand_count == 0)
        return wrong(reader, draft, "expected the start or update it follows as operand");
    const struct hlo_instruction *before = chain_of(in->operands[0]);
    if (!is_chain_shape(in->operands[0]->shape))
        return wrong(reader, draft, "an operand that is no start or update");
    if (!before)
        return true;
    if (before->opcode != HLO_ASYNC_START && before->opcode != HLO_ASYNC_UPDATE)
        return wrong(reader, draft, "an operand that is no start or update");
    const struct hlo_computation *callee = chain_callee(before);
    if (callee && in->callee_count && in->callees[0] != callee)
        return wrong(reader, draft, "another computation than that of its start");
    if (callee && draft->wrapped != HLO_OPCODE_COUNT && callee->root->opcode != draft->wrapped)
        return wrong(reader, draft, "another operation than that of its start");
    return true;
}

bool hlo_settle_async(struct hlo_reader *reader, struct hlo_draft *draft)
{
    struct hlo_instruction *in = draft->instruction;
    if (in->opcode != HLO_ASYNC_START && !fits_chain(reader, draft))
        return false;
    if (!in->shape)
        return wrong(reader, draft, "a shape must be written: the operands do not give it");
    if (in->opcode == HLO_ASYNC_DONE)
        return true;
    if (!is_chain_shape(in->shape))
        return wrong(reader, draft, "expected the shape of a tuple: ((operands), result, …)");
    if (in->opcode != HLO_ASYNC_START)
        return true;
    if (draft->wrapped != HLO_OPCODE_COUNT)
        return wrap(reader, draft);
    return in->callee_count == 1 || wrong(reader, draft, "expected calls=");
}
