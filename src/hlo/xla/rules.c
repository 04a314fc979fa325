/* The rules of stablehlo-aggressive-simplification that change a count. */
#include "hlo/xla/translate.h"

#include <math.h>
#include <string.h>

#define MAX_FOLDED 65536 /* elements of a constant of several numbers: the folder's own limit */

static bool counts_up(struct hlo_ints list)
{
    for (int i = 0; i < list.count; i++)
        if (list.at[i] != i)
            return false;
    return true;
}

static bool is_sorted(struct hlo_ints list)
{
    for (int i = 1; i < list.count; i++)
        if (list.at[i] < list.at[i - 1])
            return false;
    return true;
}

static bool reverses(const struct hlo_instruction *in)
{
    for (int i = 0; i < in->attributes->dimensions.count; i++)
        if (in->shape->dims[in->attributes->dimensions.at[i]] != 1)
            return true;
    return false;
}

static bool all_zero(struct hlo_ints list)
{
    for (int i = 0; i < list.count; i++)
        if (list.at[i])
            return false;
    return true;
}

/* lists[outer[inner[i]]] of both */
static const struct hlo_attributes *merged(struct translator *t, struct hlo_ints outer, struct hlo_ints inner)
{
    int64_t dims[HLO_MAX_RANK];
    for (int i = 0; i < inner.count; i++)
        dims[i] = inner.at[i] < outer.count ? outer.at[inner.at[i]] : 0;
    return xla_attributes(t, &(struct hlo_attributes){.dimensions = xla_ints(t, dims, inner.count)});
}

void xla_join_broadcast(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_instruction *reshape = in->operands[0];
    if (!in->attributes->sizes.count)
        return;
    bool two = reshape->opcode == HLO_RESHAPE && reshape->line == in->line && reshape->column == in->column &&
               reshape->operands[0]->shape->rank == in->attributes->sizes.count;
    xla_become(t, in, HLO_BROADCAST, two ? reshape->operands[0] : reshape,
               xla_attributes(t, &(struct hlo_attributes){.dimensions = in->attributes->sizes}));
}

static struct hlo_instruction *of_broadcast(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_instruction *from = in->operands[0];
    struct hlo_ints dims = in->attributes->dimensions;
    if (hlo_shape_equal(in->shape, from->shape) && counts_up(dims))
        return from;
    if (from->opcode == HLO_BROADCAST &&
        hlo_elements(from->shape) != hlo_elements(from->operands[0]->shape)) {
        xla_become(t, in, HLO_BROADCAST, from->operands[0], merged(t, dims, from->attributes->dimensions));
        return of_broadcast(t, in);
    }
    if (hlo_elements(in->shape) == hlo_elements(from->shape)) {
        if (is_sorted(dims)) {
            xla_become(t, in, HLO_RESHAPE, from, &xla_no_attributes);
        } else if (in->shape->rank == from->shape->rank) {
            int64_t inverse[HLO_MAX_RANK];
            for (int i = 0; i < dims.count; i++)
                inverse[dims.at[i]] = i;
            xla_become(
                t, in, HLO_TRANSPOSE, from,
                xla_attributes(t, &(struct hlo_attributes){.dimensions = xla_ints(t, inverse, dims.count)}));
        }
    }
    return in;
}

static struct hlo_instruction *of_transpose(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_instruction *from = in->operands[0];
    struct hlo_ints dims = in->attributes->dimensions;
    int64_t last = -1;
    bool moves = false;
    if (counts_up(dims))
        return from;
    if (from->opcode == HLO_TRANSPOSE) {
        xla_become(t, in, HLO_TRANSPOSE, from->operands[0], merged(t, from->attributes->dimensions, dims));
        return in;
    }
    for (int i = 0; i < dims.count; i++) {
        if (from->shape->dims[dims.at[i]] == 1)
            continue;
        moves |= dims.at[i] < last;
        last = dims.at[i];
    }
    if (!moves)
        xla_become(t, in, HLO_RESHAPE, from, &xla_no_attributes);
    return in;
}

static struct hlo_instruction *of_reshape(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_instruction *from = in->operands[0];
    if (hlo_shape_equal(in->shape, from->shape))
        return from;
    if (from->opcode == HLO_RESHAPE)
        xla_become(t, in, HLO_RESHAPE, from->operands[0], &xla_no_attributes);
    return in;
}

static void of_iota(struct translator *t, struct hlo_instruction *in)
{
    int64_t along = in->attributes->dimensions.count ? in->attributes->dimensions.at[0] : 0, zero = 0;
    if (along >= in->shape->rank)
        return;
    if (in->shape->dims[along] == 1) {
        xla_become_constant(t, in, 0, true);
        return;
    }
    if (in->shape->rank < 2)
        return;
    struct hlo_instruction *line =
        xla_insert(t, in, HLO_IOTA, xla_array(t, in->shape->type, &in->shape->dims[along], 1), NULL, 0);
    if (!line)
        return;
    line->attributes = xla_attributes(t, &(struct hlo_attributes){.dimensions = xla_ints(t, &zero, 1)});
    xla_become(t, in, HLO_BROADCAST, line,
               xla_attributes(t, &(struct hlo_attributes){.dimensions = xla_ints(t, &along, 1)}));
}

static int used(const struct translator *t, const struct hlo_instruction *in)
{
    return in->index < 0 ? 1 : t->uses[in->index];
}

/* Pieces without elements go, pieces of pieces are joined as one, and equal constants side by side become one. */
static struct hlo_instruction *of_concatenate(struct translator *t, struct hlo_instruction *in)
{
    int64_t along = in->attributes->dimensions.count ? in->attributes->dimensions.at[0] : 0;
    int count = 0, total = 0;
    for (int i = 0; i < in->operand_count; i++)
        total += in->operands[i]->opcode == HLO_CONCATENATE ? in->operands[i]->operand_count : 1;
    struct hlo_instruction **operands =
        ARENA_ARRAY(&t->module->arena, (size_t)total + 1, struct hlo_instruction *);
    if (!operands)
        return t->failed = true, in;
    for (int i = 0; i < in->operand_count; i++) {
        struct hlo_instruction *piece = in->operands[i];
        bool inner = piece->opcode == HLO_CONCATENATE && used(t, piece) == 1 &&
                     piece->attributes->dimensions.count && piece->attributes->dimensions.at[0] == along;
        if (inner) {
            memcpy(operands + count, piece->operands, (size_t)piece->operand_count * sizeof(void *));
            count += piece->operand_count;
        } else if (hlo_elements(piece->shape) > 0) {
            operands[count++] = piece;
        }
        t->changed |= inner;
    }
    if (count == 1 && hlo_shape_equal(operands[0]->shape, in->shape))
        return operands[0];
    if (count) {
        in->operands = operands;
        in->operand_count = count;
    }
    return in;
}

/* Of a concatenation only the pieces that the slice reads are needed. */
static void slice_pieces(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_instruction *from = in->operands[0];
    if (from->opcode != HLO_CONCATENATE || !from->attributes->dimensions.count)
        return;
    int64_t along = from->attributes->dimensions.at[0], place = 0, offset = 0;
    if (along >= in->attributes->start.count)
        return;
    int64_t start = in->attributes->start.at[along], limit = in->attributes->limit.at[along];
    int first = -1, end = 0;
    for (int i = 0; i < from->operand_count; i++) {
        int64_t size = from->operands[i]->shape->dims[along];
        if (first < 0 && place + size > start) {
            first = i;
            offset = place;
        }
        if (place < limit)
            end = i + 1;
        place += size;
    }
    int count = end - first;
    if (first < 0 || count <= 0 || count == from->operand_count || (count > 1 && used(t, from) != 1))
        return;
    struct hlo_instruction *needed = from->operands[first];
    if (count > 1) {
        int64_t dims[HLO_MAX_RANK];
        memcpy(dims, from->shape->dims, (size_t)from->shape->rank * sizeof *dims);
        dims[along] = 0;
        for (int i = first; i < end; i++)
            dims[along] += from->operands[i]->shape->dims[along];
        needed = xla_insert(t, in, HLO_CONCATENATE, xla_array(t, from->shape->type, dims, from->shape->rank),
                            from->operands + first, count);
        if (!needed)
            return;
        needed->attributes = from->attributes;
    }
    int64_t starts[HLO_MAX_RANK], limits[HLO_MAX_RANK];
    int rank = in->attributes->start.count;
    memcpy(starts, in->attributes->start.at, (size_t)rank * sizeof *starts);
    memcpy(limits, in->attributes->limit.at, (size_t)rank * sizeof *limits);
    starts[along] -= offset;
    limits[along] -= offset;
    struct hlo_attributes like = *in->attributes;
    like.start = xla_ints(t, starts, rank);
    like.limit = xla_ints(t, limits, rank);
    xla_become(t, in, HLO_SLICE, needed, xla_attributes(t, &like));
}

/* A slice at constant places is no dynamic one. */
static void of_dynamic_slice(struct translator *t, struct hlo_instruction *in)
{
    const struct hlo_shape *from = in->operands[0]->shape;
    struct hlo_attributes like = {0};
    int64_t start[HLO_MAX_RANK], limit[HLO_MAX_RANK], stride[HLO_MAX_RANK];
    if (in->operand_count != from->rank + 1)
        return;
    for (int i = 0; i < from->rank; i++) {
        double at = in->operands[i + 1]->opcode == HLO_CONSTANT ? in->operands[i + 1]->number : (double)NAN;
        if (isnan(at))
            return;
        int64_t last = from->dims[i] - in->shape->dims[i];
        start[i] = at < 0 ? 0 : at > (double)last ? last : (int64_t)at;
        limit[i] = start[i] + in->shape->dims[i];
        stride[i] = 1;
    }
    like.start = xla_ints(t, start, from->rank);
    like.limit = xla_ints(t, limit, from->rank);
    like.stride = xla_ints(t, stride, from->rank);
    xla_become(t, in, HLO_SLICE, in->operands[0], xla_attributes(t, &like));
}

/* A lookup at one constant place is a slice. Where it begins changes no count. */
static void of_gather(struct translator *t, struct hlo_instruction *in)
{
    const struct hlo_shape *from = in->operands[0]->shape, *indices = in->operands[1]->shape;
    const int64_t zeros[HLO_MAX_RANK] = {0}, *sizes = in->attributes->sizes.at;
    int64_t ones[HLO_MAX_RANK], elements = 1;
    struct hlo_attributes like = {.limit = in->attributes->sizes};
    if (in->operands[1]->opcode != HLO_CONSTANT || indices->rank > 1 || like.limit.count != from->rank)
        return;
    for (int i = 0; i < from->rank; i++) {
        elements *= sizes[i];
        ones[i] = 1;
    }
    if (elements != hlo_elements(in->shape))
        return;
    like.start = xla_ints(t, zeros, from->rank);
    like.stride = xla_ints(t, ones, from->rank);
    struct hlo_instruction *slice =
        xla_insert(t, in, HLO_SLICE, xla_array(t, from->type, sizes, from->rank), in->operands, 1);
    if (!slice)
        return;
    slice->attributes = xla_attributes(t, &like);
    xla_become(t, in, HLO_RESHAPE, slice, &xla_no_attributes);
}

/* The same numbers all over, of which the function makes the same number. Truth values that are not known one by one
 * are those of constant places that lie inside. */
static bool reduces_to_itself(const struct hlo_instruction *in)
{
    enum hlo_opcode opcode = in->callee_count ? in->callees[0]->root->opcode : HLO_ADD;
    const struct hlo_instruction *of = in->operands[0], *first = in->operands[1];
    bool inside = opcode == HLO_AND && of->opcode == HLO_CONSTANT && isnan(of->number);
    return (opcode == HLO_AND || opcode == HLO_OR || opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM) &&
           (xla_is_splat(of) || inside) && xla_is_number(first, inside ? 1 : of->number);
}

static struct hlo_instruction *of_update(struct hlo_instruction *in)
{
    bool start = hlo_shape_equal(in->operands[0]->shape, in->operands[1]->shape);
    for (int i = 2; i < in->operand_count; i++)
        start &= xla_is_number(in->operands[i], 0);
    if (start)
        return in->operands[1];
    return hlo_elements(in->operands[1]->shape) ? in : in->operands[0];
}

/* Operations that a constant operand, or the same one twice, leaves nothing to do for. */
static struct hlo_instruction *of_pair(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_instruction *a = in->operands[0], *b = in->operands[1];
    enum hlo_opcode opcode = in->opcode;
    bool whole = hlo_type_is_whole(in->shape->type) || in->shape->type == HLO_TYPE_PRED;
    double ones = in->shape->type == HLO_TYPE_PRED ? 1 : -1;
    if (a->opcode == HLO_CONSTANT && opcode != HLO_SUBTRACT) { /* the constant to the right */
        struct hlo_instruction *swap = a;
        a = b;
        b = swap;
    }
    if (a == b && (opcode == HLO_XOR || (opcode == HLO_SUBTRACT && whole))) {
        xla_become_constant(t, in, 0, true);
        return in;
    }
    bool keeps =
        ((opcode == HLO_ADD || opcode == HLO_SUBTRACT || (opcode == HLO_OR && whole) || opcode == HLO_XOR) &&
         xla_is_number(b, 0)) ||
        (opcode == HLO_MULTIPLY && xla_is_number(b, 1)) || (opcode == HLO_AND && xla_is_number(b, ones));
    bool wins = (opcode == HLO_AND && xla_is_number(b, 0)) ||
                (opcode == HLO_MULTIPLY && whole && xla_is_number(b, 0)) ||
                (opcode == HLO_OR && xla_is_number(b, ones));
    return keeps ? a : wins ? b : in;
}

static struct hlo_instruction *of_compare(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_instruction *a = in->operands[0], *b = in->operands[1];
    enum hlo_direction direction = in->attributes->direction;
    enum hlo_type type = a->shape->type;
    if (a == b && (hlo_type_is_whole(type) || type == HLO_TYPE_PRED)) {
        xla_become_constant(t, in, direction == HLO_EQ || direction == HLO_GE || direction == HLO_LE, true);
        return in;
    }
    bool same = type == HLO_TYPE_PRED && ((direction == HLO_NE && xla_is_number(b, 0)) ||
                                          (direction == HLO_EQ && xla_is_number(b, 1)));
    return same ? a : in;
}

static struct hlo_instruction *of_select(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_instruction *pred = in->operands[0];
    if (in->operands[1] == in->operands[2])
        return in->operands[1];
    if (xla_is_number(pred, 0) || xla_is_number(pred, 1))
        return in->operands[xla_is_number(pred, 1) ? 1 : 2];
    struct hlo_instruction *not = pred->opcode == HLO_NOT ? pred : NULL;
    if (pred->opcode == HLO_BROADCAST && pred->operands[0]->opcode == HLO_NOT && used(t, pred) == 1) {
        not = pred->operands[0];
        struct hlo_instruction *again = xla_insert(t, in, HLO_BROADCAST, pred->shape, not ->operands, 1);
        if (!again)
            return in;
        again->attributes = pred->attributes;
        in->operands[0] = again;
    } else if (not ) {
        in->operands[0] = not ->operands[0];
    }
    if (not ) {
        struct hlo_instruction *swap = in->operands[1];
        in->operands[1] = in->operands[2];
        in->operands[2] = swap;
        t->changed = true;
    }
    return in;
}

/* A value that a loop hands on unchanged is captured instead of carried. */
static void of_while(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_computation *body = in->callees[1];
    int count = in->operand_count, kept = 0;
    struct hlo_instruction *root = body->root;
    if (count < 2 || root->opcode != HLO_TUPLE || root->operand_count != count)
        return;
    int64_t *place = ARENA_ARRAY(&t->scratch, (size_t)count, int64_t);
    if (!place) {
        t->failed = true;
        return;
    }
    for (int i = 0; i < count; i++) {
        const struct hlo_instruction *next = root->operands[i];
        bool same = next == body->parameters[i] || (next->outside && next->outside == in->operands[i]);
        place[i] = same ? -1 : kept++;
    }
    if (kept == count || !kept)
        return;
    for (int c = 0; c < 2; c++) {
        struct hlo_computation *region = in->callees[c];
        struct hlo_instruction **parameters =
            ARENA_ARRAY(&t->module->arena, (size_t)region->parameter_count, struct hlo_instruction *);
        if (!parameters) {
            t->failed = true;
            return;
        }
        int put = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < region->parameter_count; i++)
                if ((i < count && place[i] < 0) == (pass == 1)) {
                    parameters[put] = region->parameters[i];
                    parameters[put]->parameter = put;
                    put++;
                    if (pass)
                        region->parameters[i]->outside = in->operands[i];
                }
        region->parameters = parameters;
        region->captured += count - kept;
    }
    struct hlo_instruction **given = ARENA_ARRAY(&t->scratch, (size_t)count, struct hlo_instruction *);
    if (!given) {
        t->failed = true;
        return;
    }
    memcpy(given, in->operands, (size_t)count * sizeof *given);
    for (int i = 0; i < count; i++)
        if (place[i] >= 0) {
            in->operands[place[i]] = in->operands[i];
            root->operands[place[i]] = root->operands[i];
        }
    in->operand_count = root->operand_count = kept;
    t->loops[in->index].place = place;
    t->loops[in->index].given = given;
    t->changed = true;
}

/* A loop's result is read by number. */
static struct hlo_instruction *of_loop(struct translator *t, struct hlo_instruction *part)
{
    const struct hlo_instruction *loop = part->operands[0];
    int64_t index = part->attributes->index, *place = t->loops[loop->index].place;
    if (!place)
        return part;
    if (place[index] < 0)
        return t->loops[loop->index].given[index];
    part->attributes = xla_attributes(t, &(struct hlo_attributes){.index = place[index]});
    return part;
}

/* Makes an operation of constants a constant, if XLA does. */
static bool fold(struct translator *t, struct hlo_instruction *in)
{
    struct hlo_instruction **from = in->operands;
    int count = in->operand_count;
    double number = (double)NAN, at[3] = {(double)NAN, (double)NAN, (double)NAN};
    bool splat = true, same = true;
    if (!count || (in->attributes->target && hlo_operations[in->opcode].traits & HLO_TRANSCENDENTAL) ||
        hlo_type_is_complex(in->shape->type) || in->shape->type == HLO_TYPE_TUPLE)
        return false;
    bool head = in->opcode == HLO_DYNAMIC_SLICE || in->opcode == HLO_BROADCAST;
    for (int i = 0; i < (head ? 1 : count); i++) {
        if (from[i]->opcode != HLO_CONSTANT)
            return false;
        splat &= xla_is_splat(from[i]);
        same &= from[i]->number == from[0]->number;
        if (i < 3)
            at[i] = from[i]->number;
    }
    if (in->opcode == HLO_CONCATENATE) {
        at[0] = same ? at[0] : (double)NAN;
        splat &= same;
    } else if (head ? !splat : count > 3)
        return false;
    bool small = hlo_elements(in->shape) <= MAX_FOLDED || (splat && in->opcode != HLO_CONVERT);
    if (!hlo_compute(in, at, &number) ||
        (!small && (in->opcode == HLO_CONCATENATE || in->opcode == HLO_CONVERT)))
        return false;
    xla_become_constant(t, in, number, splat);
    return true;
}

struct hlo_instruction *xla_simplified(struct translator *t, struct hlo_instruction *in)
{
    bool is_empty =
        in->shape->type != HLO_TYPE_TUPLE && hlo_type_bits(in->shape->type) && !hlo_elements(in->shape);
    if (is_empty && in->opcode != HLO_CONSTANT && !xla_has_effect(in, 0))
        xla_become_constant(t, in, (double)NAN, false);
    if (in->operand_count && fold(t, in))
        return in;
    switch (in->opcode) {
    case HLO_BROADCAST:
        return of_broadcast(t, in);
    case HLO_TRANSPOSE:
        return of_transpose(t, in);
    case HLO_RESHAPE:
        return of_reshape(t, in);
    case HLO_IOTA:
        of_iota(t, in);
        return in;
    case HLO_CONCATENATE:
        return of_concatenate(t, in);
    case HLO_SLICE:
        if (hlo_shape_equal(in->shape, in->operands[0]->shape))
            return in->operands[0];
        slice_pieces(t, in);
        return in;
    case HLO_DYNAMIC_SLICE:
        of_dynamic_slice(t, in);
        return in;
    case HLO_DYNAMIC_UPDATE_SLICE:
        return of_update(in);
    case HLO_GATHER:
        of_gather(t, in);
        return in;
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_MULTIPLY:
    case HLO_AND:
    case HLO_OR:
    case HLO_XOR:
        return of_pair(t, in);
    case HLO_COMPARE:
        return of_compare(t, in);
    case HLO_SELECT:
        return of_select(t, in);
    case HLO_CONVERT:
        return in->shape->type == in->operands[0]->shape->type ? in->operands[0] : in;
    case HLO_REVERSE:
        return reverses(in) ? in : in->operands[0];
    case HLO_REAL:
    case HLO_IMAG:
        return in->operands[0]->opcode == HLO_COMPLEX ? in->operands[0]->operands[in->opcode == HLO_IMAG]
                                                      : in;
    case HLO_REDUCE:
        if (in->operand_count == 2 && (!hlo_elements(in->operands[0]->shape) || reduces_to_itself(in)))
            xla_become(t, in, HLO_BROADCAST, in->operands[1], &xla_no_attributes);
        return in->operand_count == 2 && !in->attributes->dimensions.count ? in->operands[0] : in;
    case HLO_PAD:
        if (!hlo_elements(in->operands[0]->shape)) {
            xla_become(t, in, HLO_BROADCAST, in->operands[1], &xla_no_attributes);
            return in;
        }
        return hlo_shape_equal(in->shape, in->operands[0]->shape) && all_zero(in->attributes->low) &&
                       all_zero(in->attributes->high) && all_zero(in->attributes->interior)
                   ? in->operands[0]
                   : in;
    case HLO_GET_TUPLE_ELEMENT:
        if (in->operands[0]->opcode == HLO_WHILE)
            return of_loop(t, in);
        return in->operands[0]->opcode == HLO_TUPLE ? in->operands[0]->operands[in->attributes->index] : in;
    case HLO_WHILE:
        of_while(t, in);
        return in;
    default:
        return in;
    }
}
