/* The gradients of operations other than products: each operand gets its share of the gradient of the
 * result. */
#include "cost/count/custom_calls.h"
#include "cost/derive/derive.h"
#include "cost/derive/work.h"

typedef struct hlo_instruction *value;

static value times(struct deriver *d, value a, value b)
{
    return op_graph_binary(d->graph, HLO_MULTIPLY, a, b);
}

static value unary(struct deriver *d, enum hlo_opcode opcode, value a)
{
    return op_graph_unary(d->graph, opcode, a);
}

static value divided(struct deriver *d, value a, value b)
{
    return op_graph_binary(d->graph, HLO_DIVIDE, a, b);
}

/* g where a and b compare, 0 elsewhere */
static value where(struct deriver *d, value a, value b, value g)
{
    value mask = op_graph_binary(d->graph, HLO_COMPARE, a, b);
    return g ? op_graph_select(d->graph, mask, g, op_graph_splat(d->graph, g->shape)) : NULL;
}

/* ---- elementwise ---- */

/* g dy/dx of y = f(x); NULL: none */
static value unary_gradient(struct deriver *d, const struct hlo_instruction *f, value x, value y, value g)
{
    switch (f->opcode) {
    case HLO_COPY:
    case HLO_REDUCE_PRECISION:
    case HLO_CONVERT:
    case HLO_REAL:
    case HLO_IMAG:
        return g;
    case HLO_NEGATE:
        return unary(d, HLO_NEGATE, g);
    case HLO_ABS:
        return times(d, g, unary(d, HLO_SIGN, x));
    case HLO_EXPONENTIAL:
        return times(d, g, y);
    case HLO_EXPONENTIAL_MINUS_ONE:
        return times(d, g, op_graph_shift(d->graph, y));
    case HLO_LOG:
        return divided(d, g, x);
    case HLO_LOG_PLUS_ONE:
        return divided(d, g, op_graph_shift(d->graph, x));
    case HLO_TANH: /* 1 - y^2 */
    case HLO_TAN:
        return times(d, g, op_graph_shift(d->graph, times(d, y, y)));
    case HLO_LOGISTIC: /* y (1 - y) */
        return times(d, g, times(d, y, op_graph_shift(d->graph, y)));
    case HLO_SQRT: /* 1 / 2y */
        return divided(d, op_graph_scale(d->graph, g), y);
    case HLO_RSQRT: /* - y^3 / 2 */
    case HLO_CBRT:
        return times(d, op_graph_scale(d->graph, g), times(d, y, times(d, y, y)));
    case HLO_SINE:
        return times(d, g, unary(d, HLO_COSINE, x));
    case HLO_COSINE:
        return times(d, g, unary(d, HLO_SINE, x));
    case HLO_ERF: /* 2 / sqrt pi exp(-x^2) */
        return times(d, op_graph_scale(d->graph, g),
                     unary(d, HLO_EXPONENTIAL, unary(d, HLO_NEGATE, times(d, x, x))));
    case HLO_CEIL:
    case HLO_FLOOR:
    case HLO_ROUND_NEAREST_AFZ:
    case HLO_ROUND_NEAREST_EVEN:
    case HLO_SIGN:
        return NULL;
    default: /* the rest has a derivative that takes as long as itself */
        return times(d, g, unary(d, f->opcode, x));
    }
}

static const struct hlo_instruction *through_views(const struct hlo_instruction *from)
{
    while (op_class(from) == OP_VIEW)
        from = from->operands[0];
    return from;
}

#define MIN_WRITTEN 16 /* instructions of a special function that a file writes out */
#define MAX_WRITTEN 128

/* Returns whether a value is made of polynomials and exponentials of x, and of nothing else. */
static bool is_written_of(const struct hlo_instruction *x, const struct hlo_instruction *f)
{
    const struct hlo_instruction *seen[MAX_WRITTEN] = {f};
    int count = 1, exponentials = 0;
    for (int i = 0; i < count; i++) {
        exponentials += seen[i]->opcode == HLO_EXPONENTIAL;
        for (int o = 0; o < seen[i]->operand_count; o++) {
            const struct hlo_instruction *from = seen[i]->operands[o];
            bool known = from == x || op_is_splat(through_views(from));
            for (int s = 0; s < count && !known; s++)
                known = seen[s] == from;
            if (!known && (op_class(from) != OP_ELEMENTWISE || count == MAX_WRITTEN))
                return false;
            if (!known)
                seen[count++] = from;
        }
    }
    return exponentials > 0 && count >= MIN_WRITTEN;
}

/* Returns x where f is erfc(x) as HLO and jax.export write it, |x| < 1 ? 1 - x * polynomial : of exp(-x^2); else NULL. */
static value written_erfc(const struct hlo_instruction *f)
{
    const struct hlo_instruction *is_small = f->operands[0], *small = f->operands[1];
    if (is_small->opcode != HLO_COMPARE || is_small->operands[0]->opcode != HLO_ABS ||
        small->opcode != HLO_SUBTRACT || small->operands[1]->opcode != HLO_MULTIPLY)
        return NULL;
    value x = is_small->operands[0]->operands[0], *factors = small->operands[1]->operands;
    return (factors[0] == x || factors[1] == x) && is_written_of(x, f) ? x : NULL;
}

/* Is `shift` the maximum of rows of x? A softmax is the same for any shift. */
static bool is_row_maximum(const struct hlo_instruction *x, const struct hlo_instruction *shift)
{
    shift = through_views(shift);
    for (int o = 0; shift->opcode == HLO_MAXIMUM && o < 2; o++) /* not below a number */
        if (through_views(shift->operands[o])->opcode == HLO_REDUCE)
            shift = through_views(shift->operands[o]);
    return shift->opcode == HLO_REDUCE && op_reducer(shift) == HLO_MAXIMUM &&
           through_views(shift->operands[0]) == through_views(x);
}

static void binary_gradients(struct deriver *d, value f, value g)
{
    value a = f->operands[0], b = f->operands[1];
    bool needs_a = d->needs[a->index], needs_b = d->needs[b->index];
    switch (f->opcode) {
    case HLO_ADD:
    case HLO_COMPLEX:
        derive_give(d, a, g);
        derive_give(d, b, g);
        return;
    case HLO_SUBTRACT:
        derive_give(d, a, g);
        if (needs_b && !is_row_maximum(a, b))
            derive_give(d, b, unary(d, HLO_NEGATE, g));
        return;
    case HLO_MULTIPLY:
        if (needs_a)
            derive_give(d, a, times(d, g, b));
        if (needs_b)
            derive_give(d, b, times(d, g, a));
        return;
    case HLO_DIVIDE: {
        value quotient = divided(d, g, b);
        if (needs_a)
            derive_give(d, a, quotient);
        if (needs_b)
            derive_give(d, b, unary(d, HLO_NEGATE, times(d, quotient, f)));
        return;
    }
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
        if (needs_a)
            derive_give(d, a, where(d, a, b, g));
        if (needs_b)
            derive_give(d, b, where(d, b, a, g));
        return;
    case HLO_POWER: /* b y / a; y log a */
        if (needs_a)
            derive_give(d, a, times(d, g, divided(d, times(d, b, f), a)));
        if (needs_b)
            derive_give(d, b, times(d, g, times(d, f, unary(d, HLO_LOG, a))));
        return;
    case HLO_REMAINDER:
        derive_give(d, a, g);
        return;
    default:
        if (needs_a)
            derive_give(d, a, times(d, g, op_graph_binary(d->graph, f->opcode, a, b)));
        if (needs_b)
            derive_give(d, b, times(d, g, op_graph_binary(d->graph, f->opcode, a, b)));
    }
}

static void elementwise_gradients(struct deriver *d, value f, value g)
{
    static const struct hlo_instruction erf = {.opcode = HLO_ERF};
    value zero = NULL, x;
    switch (f->opcode) {
    case HLO_SELECT:
        x = written_erfc(f);
        if (x) { /* the gradient of the function, as in JAX, not of its polynomials */
            derive_give(d, x, unary_gradient(d, &erf, x, f, g));
            return;
        }
        zero = op_graph_splat(d->graph, g->shape);
        if (d->needs[f->operands[1]->index])
            derive_give(d, f->operands[1], op_graph_select(d->graph, f->operands[0], g, zero));
        if (d->needs[f->operands[2]->index])
            derive_give(d, f->operands[2], op_graph_select(d->graph, f->operands[0], zero, g));
        return;
    case HLO_CLAMP:
        derive_give(d, f->operands[1], where(d, f->operands[1], f, g));
        return;
    default:
        break;
    }
    if (f->operand_count == 2 && f->opcode != HLO_MAP)
        binary_gradients(d, f, g);
    else
        for (int i = 0; i < f->operand_count; i++)
            if (d->needs[f->operands[i]->index])
                derive_give(d, f->operands[i],
                            f->opcode == HLO_MAP ? times(d, g, f->operands[i])
                                                 : unary_gradient(d, f, f->operands[i], f, g));
}

/* ---- views ---- */

/* Sums over the dimensions that were added. */
static value broadcast_gradient(struct deriver *d, const struct hlo_instruction *f, value g)
{
    const struct hlo_shape *from = f->operands[0]->shape;
    const struct hlo_ints *dims = &f->attributes->dimensions;
    bool kept[HLO_MAX_RANK] = {false};
    int64_t summed[HLO_MAX_RANK];
    int count = 0;
    for (int i = 0; i < dims->count; i++)
        kept[dims->at[i]] = from->dims[i] == f->shape->dims[dims->at[i]];
    for (int i = 0; i < f->shape->rank; i++)
        if (!kept[i] && f->shape->dims[i] != 1)
            summed[count++] = i;
    if (count)
        g = op_graph_reduce(d->graph, HLO_ADD, g, op_graph_ints(d->graph, count, summed));
    return op_graph_reshape(d->graph, g, from);
}

static value padded(struct deriver *d, const struct hlo_shape *shape, value g)
{
    value zero = op_graph_splat(d->graph, op_graph_shape(d->graph, shape->type, 0, NULL));
    return op_graph_make(d->graph, HLO_PAD, shape, 2, (value[]){g, zero}, NULL);
}

static value transpose_gradient(struct deriver *d, const struct hlo_instruction *f, value g)
{
    int64_t inverse[HLO_MAX_RANK] = {0};
    const struct hlo_ints *order = &f->attributes->dimensions;
    for (int i = 0; i < order->count; i++)
        inverse[order->at[i]] = i;
    return op_graph_transpose(d->graph, g, inverse);
}

static void view_gradient(struct deriver *d, value f, value g)
{
    value of = f->operands[0];
    switch (f->opcode) {
    case HLO_GET_TUPLE_ELEMENT: {
        int64_t part = f->attributes->index;
        if (of->shape->part_count == 0 || part >= of->shape->part_count) {
            derive_give(d, of, g);
            return;
        }
        value **parts = &d->parts[of->index];
        if (!*parts)
            *parts = ARENA_ARRAY(d->arena, (size_t)of->shape->part_count, value);
        if (!*parts)
            d->graph->failed = true;
        else
            (*parts)[part] = (*parts)[part] ? op_graph_binary(d->graph, HLO_ADD, (*parts)[part], g) : g;
        return;
    }
    case HLO_BROADCAST:
        derive_give(d, of, broadcast_gradient(d, f, g));
        return;
    case HLO_SLICE:
        derive_give(d, of, padded(d, of->shape, g));
        return;
    case HLO_TRANSPOSE:
        derive_give(d, of, transpose_gradient(d, f, g));
        return;
    case HLO_CUSTOM_CALL: /* a shard, or what shards make up */
        derive_give(d, of, op_graph_make(d->graph, HLO_CUSTOM_CALL, of->shape, 1, &g, f->attributes));
        return;
    default:
        derive_give(d, of, g);
    }
}

/* ---- reductions and moves ---- */

static void reduce_gradient(struct deriver *d, value f, value g)
{
    value x = f->operands[0];
    struct hlo_ints dims = op_graph_other_dims(d->graph, x->shape, f->attributes->dimensions);
    value wide = op_graph_broadcast(d->graph, g, x->shape, dims);
    if (op_reducer(f) == HLO_ADD || f->shape->part_count) {
        derive_give(d, x, wide);
        return;
    }
    value y = op_graph_broadcast(d->graph, f, x->shape, dims);
    if (op_reducer(f) == HLO_MAXIMUM || op_reducer(f) == HLO_MINIMUM)
        derive_give(d, x, where(d, x, y, wide));
    else
        derive_give(d, x, times(d, wide, divided(d, y, x)));
}

static value sliced(struct deriver *d, const struct hlo_shape *shape, value g)
{
    return op_graph_make(d->graph, HLO_SLICE, shape, 1, &g, NULL);
}

/* Into zeros of the operand's shape. */
static void scattered(struct deriver *d, value f, value g)
{
    value zeros = op_graph_splat(d->graph, f->operands[0]->shape);
    if (f->opcode == HLO_DYNAMIC_SLICE) {
        value update[2] = {zeros, g};
        derive_give(
            d, f->operands[0],
            op_graph_make(d->graph, HLO_DYNAMIC_UPDATE_SLICE, f->operands[0]->shape, 2, update, NULL));
        return;
    }
    value operands[3] = {zeros, f->operands[f->operand_count > 1], g};
    derive_give(d, f->operands[0],
                op_graph_make(d->graph, HLO_SCATTER, f->operands[0]->shape, 3, operands, f->attributes));
}

static void move_gradient(struct deriver *d, value f, value g)
{
    if (f->operand_count == 0)
        return;
    value first = f->operands[0];
    switch (f->opcode) {
    case HLO_CONCATENATE:
        for (int i = 0; i < f->operand_count; i++)
            if (d->needs[f->operands[i]->index])
                derive_give(d, f->operands[i], sliced(d, f->operands[i]->shape, g));
        return;
    case HLO_PAD:
        derive_give(d, first, sliced(d, first->shape, g));
        return;
    case HLO_COPY:
        derive_give(d, first, g);
        return;
    case HLO_DYNAMIC_SLICE:
    case HLO_GATHER:
        scattered(d, f, g);
        return;
    case HLO_DYNAMIC_UPDATE_SLICE:
        derive_give(d, first, g);
        derive_give(d, f->operands[1], sliced(d, f->operands[1]->shape, g));
        return;
    case HLO_REDUCE_WINDOW: /* of a maximum: to where it was; of a sum: to all of the window */
        if (f->callee_count && op_reducer(f) != HLO_ADD)
            derive_give(d, first,
                        op_graph_make(d->graph, HLO_SELECT_AND_SCATTER, first->shape, 3,
                                      (value[]){first, g, f->operands[f->operand_count - 1]}, f->attributes));
        else
            derive_give(d, first,
                        op_graph_make(d->graph, HLO_REDUCE_WINDOW, first->shape, 1, &g, f->attributes));
        return;
    case HLO_REVERSE:
        derive_give(d, first, op_graph_make(d->graph, HLO_REVERSE, first->shape, 1, &g, f->attributes));
        return;
    default:
        derive_gap(d, d->opcode);
    }
}

/* ---- collectives and the rest ---- */

static void collective_gradient(struct deriver *d, value f, value g)
{
    enum hlo_opcode opcode = f->opcode;
    if (opcode == HLO_ALL_GATHER || opcode == HLO_ALL_GATHER_START)
        opcode = HLO_REDUCE_SCATTER;
    else if (opcode == HLO_REDUCE_SCATTER)
        opcode = HLO_ALL_GATHER;
    const value *parts = d->parts[f->index];
    for (int i = 0; i < f->operand_count; i++) { /* one for each array that has a gradient */
        value of = f->operands[i];
        bool paired = parts && f->shape->part_count == f->operand_count;
        value part = paired ? parts[i] : i == 0 ? g : NULL;
        if (opcode == HLO_RAGGED_ALL_TO_ALL && i == 1)
            derive_give(d, of, g); /* what was there, where nothing arrived */
        else if (part && d->needs[of->index])
            derive_give(d, of, op_graph_make(d->graph, opcode, of->shape, 1, &part, f->attributes));
    }
}

/* The gradient of a sort or scatter is a lookup; any other instruction runs once more. */
static void lone_gradient(struct deriver *d, value f, value g)
{
    const char *target = f->opcode == HLO_CUSTOM_CALL ? f->attributes->target : NULL;
    const struct custom_call *known = target ? custom_call_find(NULL, target) : NULL;
    bool solves = f->opcode == HLO_TRIANGULAR_SOLVE || (known && known->rule == CUSTOM_CALL_TRIANGULAR);
    bool factors = f->opcode == HLO_CHOLESKY || (known && known->rule == CUSTOM_CALL_FACTORIZATION);
    if ((solves || factors) && f->operand_count > solves && f->operands[0]->shape->rank > 1 &&
        hlo_elements(f->operands[0]->shape) > 0) {
        derive_solver(d, f, g, solves);
        return;
    }
    for (int i = 0; i < f->operand_count; i++) {
        value of = f->operands[i];
        if (!d->needs[of->index])
            continue;
        bool lookup = f->opcode == HLO_SORT || f->opcode == HLO_SCATTER || f->opcode == HLO_TOPK;
        value operands[2] = {g, of};
        if (lookup)
            derive_give(d, of, op_graph_make(d->graph, HLO_GATHER, of->shape, 1, &g, NULL));
        else
            derive_give(d, of, op_graph_make(d->graph, f->opcode, of->shape, 2, operands, f->attributes));
    }
}

bool derive_instruction(struct deriver *d, value f, value g)
{
    bool has_parts = d->parts[f->index] != NULL;
    if (!g && has_parts) {
        value *parts = d->parts[f->index];
        for (int i = 0; !g && i < f->shape->part_count; i++)
            g = parts[i];
    }
    if (!g)
        return true;
    switch (op_class(f)) {
    case OP_VIEW:
        view_gradient(d, f, g);
        break;
    case OP_ELEMENTWISE:
        elementwise_gradients(d, f, g);
        break;
    case OP_MOVE:
        move_gradient(d, f, g);
        break;
    case OP_REDUCE:
        reduce_gradient(d, f, g);
        break;
    case OP_PRODUCT:
        derive_product(d, f, g);
        break;
    case OP_ATTENTION:
        derive_attention(d, f, g);
        break;
    case OP_COLLECTIVE:
        collective_gradient(d, f, g);
        break;
    case OP_LOOP:
        return derive_loop(d, f, g);
    case OP_ALONE:
        lone_gradient(d, f, g);
        break;
    case OP_NOTHING:
        for (int i = 0; f->opcode == HLO_TUPLE && i < f->operand_count; i++)
            derive_give(d, f->operands[i],
                        has_parts                  ? d->parts[f->index][i]
                        : g->shape->part_count > i ? op_graph_tuple_part(d->graph, g, i)
                                                   : NULL);
        break;
    case OP_INPUT:
        break;
    }
    return !d->graph->failed || op_graph_check(d->graph, d->err);
}
