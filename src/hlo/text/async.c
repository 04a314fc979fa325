/* async-start, async-update and async-done, also written as add-start, add-update, add-done for any operation
 * that has none of its own. */
#include "hlo/text/text.h"

#include <string.h>

static bool wrong(struct hlo_reader *r, const struct hlo_draft *draft, const char *what)
{
    const struct hlo_instruction *in = draft->instruction;
    return hlo_fail(r, draft->name_at, "'%s' (%s): %s", in->name, hlo_opcode_name(in->opcode), what);
}

/* ((operands), result, …) */
static bool is_chain_shape(const struct hlo_shape *shape)
{
    return shape->type == HLO_TYPE_TUPLE && shape->part_count >= 2 && shape->parts[0]->type == HLO_TYPE_TUPLE;
}

static struct hlo_instruction *new_in_wrapper(struct hlo_reader *r, const struct hlo_instruction *model,
                                              enum hlo_opcode opcode, const struct hlo_shape *shape)
{
    static const struct hlo_attributes none = {.trip_count = -1};
    struct hlo_instruction *in = ARENA_NEW(&r->module->arena, struct hlo_instruction);
    if (!in)
        return error_memory_null(r->err);
    *in = (struct hlo_instruction){.opcode = opcode,
                                   .line = model->line,
                                   .column = model->column,
                                   .name = model->name,
                                   .shape = shape,
                                   .attributes = &none};
    return hlo_append(r, in) ? in : NULL;
}

/* The operation with its operands as parameters. */
static struct hlo_instruction *fill_wrapper(struct hlo_reader *r, struct hlo_draft *draft)
{
    struct hlo_instruction *start = draft->instruction;
    struct hlo_instruction **parameters = NULL;
    if (start->operand_count) {
        parameters = ARENA_ARRAY(&r->module->arena, (size_t)start->operand_count, struct hlo_instruction *);
        if (!parameters)
            return error_memory_null(r->err);
    }
    for (int i = 0; i < start->operand_count; i++) {
        const struct hlo_instruction *operand = start->operands[i];
        parameters[i] = new_in_wrapper(r, operand, HLO_PARAMETER, operand->shape);
        if (!parameters[i])
            return NULL;
        parameters[i]->parameter = i;
    }
    struct hlo_instruction *root = ARENA_NEW(&r->module->arena, struct hlo_instruction);
    if (!root)
        return error_memory_null(r->err);
    *root = *start;
    root->opcode = draft->wrapped;
    root->shape = start->shape->parts[1];
    root->operands = parameters;
    struct hlo_draft inner = *draft;
    inner.instruction = root;
    /* a dot without dimension numbers is let through, as XLA's parser lets it */
    bool ok = draft->wrapped == HLO_DOT || hlo_settle_shape(r, &inner);
    return ok && hlo_append(r, root) ? root : NULL;
}

/* Returns whether a start is bound late: an update brings some of its operands, and its result is an
 * empty tuple so far. Then nothing is wrapped, and the start keeps its callees. */
static bool is_late_bound(const struct hlo_instruction *start)
{
    const struct hlo_shape *result = start->shape->parts[1];
    return result->type == HLO_TYPE_TUPLE && result->part_count == 0;
}

static bool wrap(struct hlo_reader *r, struct hlo_draft *draft)
{
    struct hlo_instruction *start = draft->instruction;
    if (is_late_bound(start))
        return true;
    struct hlo_begin outer = hlo_begin_computation(r);
    struct hlo_instruction *root = fill_wrapper(r, draft);
    struct hlo_computation *computation = root ? hlo_finish_computation(r, start->name, root) : NULL;
    r->begins = outer;
    if (!computation)
        return false;
    start->callee_count = 1;
    start->callees = ARENA_NEW(&r->module->arena, struct hlo_computation *);
    if (!start->callees)
        return error_memory(r->err);
    start->callees[0] = computation;
    return true;
}

/* Returns the start or update that an operand is, through operations that pass it on unchanged; NULL if
 * it comes from elsewhere (the parameter of a loop's body). */
static const struct hlo_instruction *chain_of(const struct hlo_instruction *in)
{
    while (in->opcode == HLO_OPT_BARRIER || in->opcode == HLO_COPY)
        in = in->operands[0];
    return in->opcode == HLO_GET_TUPLE_ELEMENT || in->opcode == HLO_PARAMETER || in->opcode == HLO_WHILE ||
                   in->opcode == HLO_CONDITIONAL || in->opcode == HLO_CALL
               ? NULL
               : in;
}

static const struct hlo_instruction *chain_start(const struct hlo_instruction *in)
{
    while (in && in->opcode == HLO_ASYNC_UPDATE && in->operand_count)
        in = chain_of(in->operands[0]);
    return in && in->opcode == HLO_ASYNC_START ? in : NULL;
}

/* Where an instruction stands is its key: line and column lie side by side. */
static struct hlo_slot *start_slot(struct hlo_reader *r, const struct hlo_instruction *start)
{
    return hlo_table_place(&r->starts, (const char *)&start->line, 2 * sizeof start->line);
}

static bool thread_fits(struct hlo_reader *r, const struct hlo_draft *draft,
                        const struct hlo_instruction *start)
{
    if (!draft->thread)
        return true;
    const struct hlo_slot *slot = start_slot(r, start);
    const char *thread = slot && slot->value ? slot->value : "main";
    return strcmp(thread, draft->thread) == 0 || wrong(r, draft, "another thread than that of its start");
}

/* An update may add parts to the result; the earlier parts stay. */
static bool extends(const struct hlo_shape *before, const struct hlo_shape *after)
{
    if (before->type != HLO_TYPE_TUPLE)
        return hlo_shape_equal(before, after);
    if (before->part_count == 0)
        return true;
    if (after->type != HLO_TYPE_TUPLE || after->part_count < before->part_count)
        return false;
    for (int i = 0; i < before->part_count; i++)
        if (!hlo_shape_equal(before->parts[i], after->parts[i]))
            return false;
    return true;
}

/* Checks a computation that is called late: it must get as many operands as it has parameters, and give
 * the result of the done. */
static bool late_call_fits(struct hlo_reader *r, const struct hlo_draft *draft,
                           const struct hlo_instruction *start, const struct hlo_computation *callee)
{
    const struct hlo_instruction *done = draft->instruction;
    if (done->opcode != HLO_ASYNC_DONE || draft->wrapped == HLO_OPCODE_COUNT || !is_late_bound(start) ||
        !callee)
        return true;
    if (done->operands[0]->shape->parts[0]->part_count != callee->parameter_count)
        return wrong(r, draft, "another number of operands than the computation has parameters");
    return !done->shape || hlo_shape_equal(done->shape, callee->root->shape) ||
           wrong(r, draft, "another shape than the computation gives");
}

static bool fits_start(struct hlo_reader *r, const struct hlo_draft *draft,
                       const struct hlo_instruction *start)
{
    const struct hlo_instruction *in = draft->instruction;
    const struct hlo_computation *callee = start->callee_count ? start->callees[0] : NULL;
    bool is_wrapper = callee && callee->name == start->name && !is_late_bound(start);
    if (callee && in->callee_count && in->callees[0] != callee)
        return wrong(r, draft, "another computation than that of its start");
    if (is_wrapper && draft->wrapped != HLO_OPCODE_COUNT && callee->root->opcode != draft->wrapped)
        return wrong(r, draft, "another operation than that of its start");
    return thread_fits(r, draft, start) && late_call_fits(r, draft, start, callee);
}

static bool fits_chain(struct hlo_reader *r, const struct hlo_draft *draft)
{
    const struct hlo_instruction *in = draft->instruction;
    if (in->operand_count == 0)
        return wrong(r, draft, "expected the start or update it follows as operand");
    const struct hlo_instruction *before = chain_of(in->operands[0]);
    const struct hlo_shape *shape = in->operands[0]->shape;
    if (!is_chain_shape(shape))
        return wrong(r, draft, "an operand that is not a start or update");
    if (before && before->opcode != HLO_ASYNC_START && before->opcode != HLO_ASYNC_UPDATE)
        return wrong(r, draft, "an operand that is not a start or update");
    if (in->opcode == HLO_ASYNC_UPDATE && in->shape && is_chain_shape(in->shape) &&
        in->shape->part_count == shape->part_count && !extends(shape->parts[1], in->shape->parts[1]))
        return wrong(r, draft, "another result than what it follows");
    const struct hlo_instruction *start = chain_start(before);
    return !start || fits_start(r, draft, start);
}

static bool is_here(const struct hlo_reader *r, const struct hlo_instruction *in)
{
    size_t place = r->begins.instruction + (size_t)in->index;
    return place < r->instructions.count && r->instructions.at[place] == in;
}

/* Each start of a computation calls another one, whether wrapped or written. */
static bool settle_start(struct hlo_reader *r, struct hlo_draft *draft)
{
    struct hlo_instruction *in = draft->instruction;
    struct hlo_slot *slot = start_slot(r, in);
    if (!slot)
        return error_memory(r->err);
    slot->value = (void *)draft->thread;
    if (draft->wrapped != HLO_OPCODE_COUNT)
        return wrap(r, draft);
    if (in->callee_count != 1)
        return wrong(r, draft, "expected calls=");
    const char *address = (const char *)&in->callees[0]->name;
    slot = hlo_table_place(&r->wrapped, address, sizeof in->callees[0]->name);
    if (!slot)
        return error_memory(r->err);
    if (slot->value && is_here(r, slot->value))
        return wrong(r, draft, "a computation that another start calls, too");
    slot->value = in;
    return true;
}

bool hlo_settle_async(struct hlo_reader *r, struct hlo_draft *draft)
{
    const struct hlo_instruction *in = draft->instruction;
    if (in->opcode != HLO_ASYNC_START && !fits_chain(r, draft))
        return false;
    if (!in->shape)
        return wrong(r, draft, "a shape must be written: the operands do not give it");
    if (in->opcode == HLO_ASYNC_DONE)
        return true;
    if (!is_chain_shape(in->shape))
        return wrong(r, draft, "expected the shape of a tuple: ((operands), result, …)");
    return in->opcode == HLO_ASYNC_UPDATE || settle_start(r, draft);
}

/* A start without operands as root has nothing behind it that could bind them. */
bool hlo_chains_end(struct hlo_reader *r, const struct hlo_computation *computation)
{
    const struct hlo_instruction *root = computation->root;
    if (root->opcode != HLO_ASYNC_START || root->operand_count > 0)
        return true;
    return error_set(r->err, ERROR_INPUT, "%s:%u:%u: '%s' starts an operation that is never updated and done",
                     r->module->path, root->line, root->column, root->name);
}
