/* Trip counts: the condition compares sums of a loop's variable and constants, the body adds a constant to
 * the variable, and it starts at a constant. Values are followed through tuples, copies, conversions,
 * fusions and calls. A variable that the body hands on unchanged counts as a constant (bounds that front
 * ends carry along). */
#include "hlo/module.h"

#define MAX_STEPS  4096 /* of following and adding up, so that no graph takes long */
#define MAX_FRAMES 64

/* The call of a computation. The loop's condition, its body and the computation around it have none. */
struct frame {
    const struct frame *outer;
    const struct hlo_instruction *call;
};

struct evaluation {
    const struct hlo_instruction *loop;
    struct frame frames[MAX_FRAMES];
    int frame_count;
    int steps;
};

/* An instruction, seen from inside of these calls. */
struct place {
    const struct hlo_instruction *in; /* NULL: lost */
    const struct frame *frame;
    int64_t slot; /* the loop's variable that it is; -1: none */
};

/* coefficient x the loop's variable + constant; slot -1: a constant */
struct linear {
    bool known;
    int64_t slot, coefficient, constant;
};

static const struct linear unknown;

static struct linear constant(int64_t value)
{
    return (struct linear){.known = true, .slot = -1, .constant = value};
}

static bool holds_tuple(const struct hlo_instruction *loop)
{
    return loop->operand_count == 1 && loop->operands[0]->shape->type == HLO_TYPE_TUPLE;
}

static bool is_inside(const struct evaluation *evaluation, const struct hlo_instruction *parameter)
{
    const struct hlo_instruction *loop = evaluation->loop;
    for (int i = 0; i < loop->callee_count; i++) {
        const struct hlo_computation *callee = loop->callees[i];
        if (parameter->parameter < callee->parameter_count &&
            callee->parameters[parameter->parameter] == parameter)
            return true;
    }
    return false;
}

static struct place element_of(struct evaluation *evaluation, struct place tuple, int64_t index, int depth);

static struct place enter(struct evaluation *evaluation, struct place place)
{
    if (evaluation->frame_count == MAX_FRAMES || place.in->callee_count != 1)
        return (struct place){.slot = -1};
    struct frame *frame = &evaluation->frames[evaluation->frame_count++];
    *frame = (struct frame){place.frame, place.in};
    return (struct place){place.in->callees[0]->root, frame, -1};
}

/* Returns the value of a parameter: the caller's operand, or a variable of the loop. */
static struct place leave(const struct evaluation *evaluation, struct place place)
{
    int64_t number = place.in->parameter;
    if (place.frame) {
        if (number >= place.frame->call->operand_count)
            return (struct place){.slot = -1};
        return (struct place){place.frame->call->operands[number], place.frame->outer, -1};
    }
    if (is_inside(evaluation, place.in) && number < evaluation->loop->operand_count &&
        !holds_tuple(evaluation->loop))
        place.slot = number;
    return place;
}

/* Follows a value to the instruction that computes it. */
static struct place trace(struct evaluation *evaluation, struct place place, int depth)
{
    while (place.in && place.slot < 0) {
        const struct hlo_instruction *in = place.in;
        if (evaluation->steps++ == MAX_STEPS || depth > HLO_MAX_DEPTH)
            return (struct place){.slot = -1};
        switch (in->opcode) {
        case HLO_BITCAST:
        case HLO_CONVERT:
        case HLO_COPY:
        case HLO_OPT_BARRIER:
        case HLO_RESHAPE:
            place.in = in->operand_count == 1 ? in->operands[0] : NULL;
            break;
        case HLO_CALL:
        case HLO_FUSION:
            place = enter(evaluation, place);
            break;
        case HLO_GET_TUPLE_ELEMENT: {
            struct place tuple = {in->operands[0], place.frame, -1};
            place = element_of(evaluation, tuple, in->attributes->index, depth + 1);
            break;
        }
        case HLO_PARAMETER: {
            bool is_called = place.frame != NULL;
            place = leave(evaluation, place);
            if (!is_called)
                return place;
            break;
        }
        default:
            return place;
        }
    }
    return place;
}

static struct place element_of(struct evaluation *evaluation, struct place tuple, int64_t index, int depth)
{
    tuple = trace(evaluation, tuple, depth);
    if (!tuple.in)
        return tuple;
    if (tuple.in->opcode == HLO_TUPLE && index < tuple.in->operand_count)
        return (struct place){tuple.in->operands[index], tuple.frame, -1};
    if (tuple.in->opcode == HLO_PARAMETER && holds_tuple(evaluation->loop) && is_inside(evaluation, tuple.in))
        return (struct place){tuple.in, tuple.frame, index};
    return (struct place){.slot = -1};
}

/* Return the value of a variable before the loop, and after one iteration. */
static struct place before(struct evaluation *evaluation, int64_t slot)
{
    const struct hlo_instruction *loop = evaluation->loop;
    if (!holds_tuple(loop))
        return (struct place){loop->operands[slot], NULL, -1};
    return element_of(evaluation, (struct place){loop->operands[0], NULL, -1}, slot, 0);
}

static struct place after(struct evaluation *evaluation, int64_t slot)
{
    struct place root = {evaluation->loop->callees[1]->root, NULL, -1};
    bool is_single = evaluation->loop->operand_count == 1 && !holds_tuple(evaluation->loop);
    return is_single ? root : element_of(evaluation, root, slot, 0);
}

static struct linear sum(struct linear a, struct linear b, int64_t sign)
{
    struct linear result = a;
    int64_t coefficient, addend;
    if (!a.known || !b.known || (a.slot >= 0 && b.slot >= 0 && a.slot != b.slot) ||
        __builtin_mul_overflow(b.coefficient, sign, &coefficient) ||
        __builtin_mul_overflow(b.constant, sign, &addend) ||
        __builtin_add_overflow(a.coefficient, coefficient, &result.coefficient) ||
        __builtin_add_overflow(a.constant, addend, &result.constant))
        return unknown;
    result.slot = result.coefficient == 0 ? -1 : a.slot >= 0 ? a.slot : b.slot;
    return result;
}

static struct linear product(struct linear a, struct linear b)
{
    if (!a.known || !b.known || (a.slot >= 0 && b.slot >= 0))
        return unknown;
    int64_t factor = a.slot < 0 ? a.constant : b.constant;
    struct linear result = a.slot < 0 ? b : a;
    if (__builtin_mul_overflow(result.coefficient, factor, &result.coefficient) ||
        __builtin_mul_overflow(result.constant, factor, &result.constant))
        return unknown;
    result.slot = result.coefficient == 0 ? -1 : result.slot;
    return result;
}

static struct linear evaluate(struct evaluation *evaluation, struct place place, int depth)
{
    place = trace(evaluation, place, 0);
    if (!place.in || depth > HLO_MAX_DEPTH)
        return unknown;
    if (place.slot >= 0) {
        struct place next = trace(evaluation, after(evaluation, place.slot), 0);
        if (next.in && next.slot == place.slot)
            return evaluate(evaluation, before(evaluation, place.slot), depth + 1);
        return (struct linear){.known = true, .slot = place.slot, .coefficient = 1};
    }
    const struct hlo_instruction *in = place.in;
    if (in->opcode == HLO_CONSTANT)
        return in->has_value ? constant(in->value) : unknown;
    struct linear operands[2] = {unknown, unknown};
    bool is_sum = in->opcode == HLO_ADD || in->opcode == HLO_SUBTRACT || in->opcode == HLO_MULTIPLY;
    for (int i = 0; i < 2 && (is_sum || (in->opcode == HLO_NEGATE && i == 0)); i++)
        operands[i] = evaluate(evaluation, (struct place){in->operands[i], place.frame, -1}, depth + 1);
    switch (in->opcode) {
    case HLO_ADD:
        return sum(operands[0], operands[1], 1);
    case HLO_SUBTRACT:
        return sum(operands[0], operands[1], -1);
    case HLO_NEGATE:
        return sum(constant(0), operands[0], -1);
    case HLO_MULTIPLY:
        return product(operands[0], operands[1]);
    default:
        return unknown;
    }
}

/* Returns the iterations while value < 0, if it grows by `step`. */
static int64_t turns_below(int64_t value, int64_t step)
{
    if (value >= 0)
        return 0;
    if (step <= 0 || value == INT64_MIN)
        return -1;
    return -value / step + (-value % step != 0);
}

/* Returns the iterations while `value direction 0` holds; -1 if it holds for ever or nobody can tell. */
static int64_t turns(enum hlo_direction direction, int64_t value, int64_t step)
{
    switch (direction) {
    case HLO_LT:
        return turns_below(value, step);
    case HLO_LE:
        return turns_below(value - 1, step);
    case HLO_GT:
        return turns_below(-value, -step);
    case HLO_GE:
        return turns_below(-value - 1, -step);
    case HLO_NE:
        if (value == 0)
            return 0;
        return step != 0 && value % step == 0 && (value < 0) == (step > 0) ? -(value / step) : -1;
    case HLO_EQ:
        return value != 0 ? 0 : step != 0 ? 1 : -1;
    }
    return -1;
}

static bool is_moderate(int64_t value)
{
    const int64_t max = (int64_t)1 << 62;
    return value > -max && value < max;
}

/* Returns whether the variable can hold its value at the end of the loop. */
static bool holds(enum hlo_type type, int64_t value)
{
    int bits = hlo_type_bits(type);
    bool is_signed = hlo_type_is_signed(type);
    if (bits >= 64)
        return true;
    int64_t max = ((int64_t)1 << (bits - is_signed)) - 1;
    return value <= max && value >= (is_signed ? -max - 1 : 0);
}

static int64_t count_turns(struct evaluation *evaluation)
{
    const struct hlo_instruction *loop = evaluation->loop;
    struct place root = trace(evaluation, (struct place){loop->callees[0]->root, NULL, -1}, 0);
    if (!root.in || root.in->opcode != HLO_COMPARE || root.in->operand_count != 2)
        return -1;
    struct linear left = evaluate(evaluation, (struct place){root.in->operands[0], root.frame, -1}, 0);
    struct linear right = evaluate(evaluation, (struct place){root.in->operands[1], root.frame, -1}, 0);
    struct linear difference = sum(left, right, -1);
    if (!difference.known || difference.slot < 0)
        return -1;
    struct linear start = evaluate(evaluation, before(evaluation, difference.slot), 0);
    struct linear next = evaluate(evaluation, after(evaluation, difference.slot), 0);
    if (!start.known || start.slot >= 0 || !next.known || next.slot != difference.slot ||
        next.coefficient != 1)
        return -1;
    int64_t step = 0;
    struct linear value = sum(product(constant(start.constant), constant(difference.coefficient)),
                              constant(difference.constant), 1);
    if (!value.known || !is_moderate(value.constant) ||
        __builtin_mul_overflow(next.constant, difference.coefficient, &step) || !is_moderate(step))
        return -1;
    int64_t count = turns(root.in->attributes->direction, value.constant, step), end;
    if (count < 0 || __builtin_mul_overflow(count, next.constant, &end) ||
        __builtin_add_overflow(end, start.constant, &end) || !holds(root.in->operands[0]->shape->type, end))
        return -1;
    return count;
}

int64_t hlo_trip_count(const struct hlo_instruction *loop)
{
    if (loop->opcode != HLO_WHILE)
        return -1;
    if (loop->attributes->trip_count >= 0)
        return loop->attributes->trip_count;
    if (loop->callee_count != 2 || loop->operand_count == 0)
        return -1;
    struct evaluation evaluation = {.loop = loop};
    return count_turns(&evaluation);
}
