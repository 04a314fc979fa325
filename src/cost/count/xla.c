/* The rules of XLA's HloCostAnalysis (openxla/xla, xla/service/hlo_cost_analysis.cc, 2026). An operation
 * without a rule reads its operands and writes its output whole, and computes nothing. */
#include "cost/count/rules.h"

#include "core/text.h"
#include "cost/count/custom_calls.h"

#include <math.h>

#define FMA_FLOPS 2 /* a multiply-add is two operations */

double count_dot_flops(const struct hlo_shape *lhs, const struct hlo_shape *output,
                       const struct hlo_ints *lhs_contracting)
{
    double contracted = 1;
    for (int i = 0; i < lhs_contracting->count; i++) {
        int64_t dimension = lhs_contracting->at[i];
        if (dimension >= 0 && dimension < lhs->rank)
            contracted *= (double)lhs->dims[dimension];
    }
    return FMA_FLOPS * count_elements(output) * contracted;
}

/* XLA takes the first dimensions of the output for the dimensions of the groups, one for each that the
 * right side has. */
static double ragged_dot_flops(const struct hlo_instruction *in)
{
    const struct hlo_attributes *attributes = in->attributes;
    double flops = count_dot_flops(in->operands[0]->shape, in->shape, &attributes->lhs_contracting);
    /* DeleteDimension(i) of the rest: dimensions 0, 2, 4, … of the output */
    for (int64_t i = 0; i < attributes->rhs_group.count && 2 * i < in->shape->rank; i++)
        if (in->shape->dims[2 * i] > 0)
            flops /= (double)in->shape->dims[2 * i];
    return flops;
}

void count_by_element(const struct custom_call *rule, const struct hlo_shape *shape,
                      struct instruction_count *n)
{
    double narrow = hlo_type_bits(shape->type) < 32 ? rule->narrow : 0;
    n->flops = (rule->flops + narrow) * count_elements(shape);
    n->transcendentals = rule->transcendentals * count_elements(shape);
}

/* XLA takes a special function of chlo apart before it counts: what comes of it is in the table of custom calls. */
static const struct custom_call *special_function(const struct hlo_instruction *in)
{
    const char *target = in->attributes->target;
    bool special = target && (text_starts_with(target, "chlo.") || text_starts_with(target, "complex."));
    return special ? custom_call_find(NULL, target) : NULL;
}

/* What is narrower than fp32 is made fp32 first, and the result narrow again, if that takes operations. */
static double moved_by_pieces(const struct custom_call *special, const struct hlo_instruction *in)
{
    const struct hlo_shape *shape = in->operands[0]->shape;
    int narrow = hlo_type_bits(hlo_type_real(shape->type)) / 8; /* bytes */
    bool widened = narrow < 4 && special->narrow > 0;
    double size = widened ? 4 : narrow, constants = fmax(0, special->constants - in->shared);
    double bytes = (special->arrays + constants) * size + special->truths;
    return (bytes + (widened ? (4 + narrow) * special->narrow : 0)) * (double)hlo_elements(shape) +
           constants * size;
}

static void count_elementwise(const struct counter *c, const struct hlo_instruction *in,
                              struct instruction_count *n)
{
    double elements = (double)hlo_elements(in->shape);
    const struct custom_call *special = special_function(in);
    if (special) {
        count_by_element(special, in->shape, n);
        if (c->options.rules == COUNT_XLA && special->arrays > 0)
            n->bytes = moved_by_pieces(special, in);
    } else if (hlo_operations[in->opcode].traits & HLO_TRANSCENDENTAL)
        n->transcendentals = elements;
    else
        n->flops = elements;
}

/* Operand 0 is read only as far as it ends up in the output. */
static void use_part(const struct hlo_instruction *in, struct instruction_count *n)
{
    double elements = (double)hlo_elements(in->operands[0]->shape);
    n->operand_use[0] = elements > 0 ? (double)hlo_elements(in->shape) / elements : 0;
}

static void count_slice(const struct hlo_instruction *in, struct instruction_count *n)
{
    n->operand_bytes[0] = n->output_bytes;
    n->bytes = 2 * n->output_bytes;
    /* a dynamic slice reads its first index; XLA leaves the others out */
    if (in->opcode == HLO_DYNAMIC_SLICE && in->operand_count > 1)
        n->bytes += n->operand_bytes[1];
    use_part(in, n);
}

static void count_update_slice(const struct hlo_instruction *in, struct instruction_count *n)
{
    double update = n->operand_bytes[1], elements = (double)hlo_elements(in->shape);
    n->output_bytes = update; /* in place */
    n->operand_bytes[0] = 0;
    n->bytes = 2 * update + (in->operand_count > 2 ? n->operand_bytes[2] : 0);
    double kept = elements - (double)hlo_elements(in->operands[1]->shape);
    n->operand_use[0] = elements > 0 ? kept / elements : 0;
}

void count_gather(const struct hlo_instruction *gather, const struct hlo_instruction *in,
                  struct instruction_count *n)
{
    double output = (double)hlo_bytes(gather->shape);
    double indices = (double)hlo_bytes(gather->operands[1]->shape);
    double elements = (double)hlo_elements(gather->operands[0]->shape);
    n->bytes = 2 * output + indices;
    n->output_bytes = output;
    count_set_operand(in, n, 0, output);
    count_set_operand(in, n, 1, indices);
    if (in->operand_count)
        n->operand_use[0] = elements > 0 ? (double)hlo_elements(gather->shape) / elements : 0;
}

/* n arrays, the indices, n updates: each update is read, and its place read and written. */
void count_scatter(const struct counter *c, const struct hlo_instruction *scatter,
                   const struct hlo_instruction *in, struct instruction_count *count)
{
    int n = (scatter->operand_count - 1) / 2;
    double updates = 0, indices = (double)hlo_bytes(scatter->operands[n]->shape);
    for (int i = 0; i < n; i++) {
        double update = (double)hlo_bytes(scatter->operands[n + 1 + i]->shape);
        count_set_operand(in, count, i, update);
        count_set_operand(in, count, n + 1 + i, update);
        updates += update;
    }
    count_set_operand(in, count, n, indices);
    count->output_bytes = updates;
    count->bytes = 3 * updates + indices;
    if (n)
        count_add_function(c, scatter, count, 0, (double)hlo_elements(scatter->operands[n + 1]->shape));
}

static void count_select_and_scatter(const struct counter *c, const struct hlo_instruction *in,
                                     struct instruction_count *n)
{
    double source = (double)hlo_elements(in->operands[1]->shape), window = 1;
    for (int i = 0; i < in->attributes->window_rank; i++)
        window *= (double)in->attributes->window[i].size;
    count_add_function(c, in, n, 0, source * (window - 1));
    count_add_function(c, in, n, 1, source);
}

static void count_fft(const struct hlo_instruction *in, struct instruction_count *n)
{
    const struct hlo_ints *lengths = &in->attributes->sizes;
    double factors = 1;
    for (int i = 0; i < lengths->count; i++)
        factors *= lengths->at[i] > 0 ? ilogb((double)lengths->at[i]) : 0;
    double elements = (double)hlo_elements(count_first(in->operands[0]->shape));
    n->flops = FMA_FLOPS * 4 * factors * elements; /* 4 multiply-adds in a complex product */
}

static double last_dimension(const struct hlo_shape *shape)
{
    return shape->rank ? (double)shape->dims[shape->rank - 1] : 1;
}

static void count_triangular_solve(const struct hlo_instruction *in, struct instruction_count *n)
{
    const struct hlo_shape *a = in->operands[0]->shape, *b = in->operands[1]->shape;
    double whole = n->operand_bytes[0];
    n->bytes = n->output_bytes + whole / 2 + n->operand_bytes[1];
    n->operand_bytes[0] = n->operand_bytes[1]; /* as XLA has it */
    n->flops = FMA_FLOPS * last_dimension(a) * (double)hlo_elements(b);
}

static void count_cholesky(const struct hlo_instruction *in, struct instruction_count *n)
{
    const struct hlo_shape *a = in->operands[0]->shape;
    double whole = n->operand_bytes[0];
    n->operand_bytes[0] = n->output_bytes = whole / 2; /* the triangle */
    n->bytes = whole;
    n->flops = floor(last_dimension(a) * (double)hlo_elements(a) / 3);
}

/* Two replicas: an addition per element. */
static void count_all_reduce(const struct hlo_instruction *in, struct instruction_count *n)
{
    n->flops = count_elements(in->shape);
    n->output_bytes = n->bytes = count_leaf_bytes(in->shape);
    for (int i = 0; i < in->operand_count; i++)
        n->bytes += n->operand_bytes[i];
}

static void count_outfeed(const struct hlo_instruction *in, struct instruction_count *n)
{
    n->bytes = 0;
    for (int i = 0; i < in->operand_count; i++) {
        n->operand_bytes[i] = count_leaf_bytes(in->operands[i]->shape);
        n->bytes += n->operand_bytes[i];
    }
}

/* Does it only name the dimensions anew, the data staying where it is (ShapeUtil::TransposeIsBitcast)? */
static bool transpose_is_bitcast(const struct hlo_instruction *transpose)
{
    const struct hlo_shape *from = transpose->operands[0]->shape, *to = transpose->shape;
    const struct hlo_ints *dimensions = &transpose->attributes->dimensions;
    if (from->type != to->type || from->rank != to->rank || dimensions->count != to->rank)
        return false;
    for (int i = 0; i < to->rank; i++) {
        int64_t dimension = hlo_minor(to, i);
        if (dimension < 0 || dimension >= to->rank || dimensions->at[dimension] != hlo_minor(from, i))
            return false;
    }
    return true;
}

/* Clears the counts: the callee's sums are all there is. */
static void clear(const struct hlo_instruction *in, struct instruction_count *n)
{
    count_nothing(in, n);
    n->emitted = 0;
    for (int i = 0; i < in->operand_count; i++)
        n->operand_use[i] = 0;
}

static void count_while(const struct counter *c, const struct hlo_instruction *in,
                        struct instruction_count *n)
{
    int64_t trips = c->options.rules == COUNT_REHEARSE ? hlo_trip_count(in) : -1;
    clear(in, n);
    count_add_call(c, in, n, 0, trips < 0 ? 1 : (double)trips + 1); /* condition */
    count_add_call(c, in, n, 1, trips < 0 ? 1 : (double)trips);     /* body */
}

/* Takes the maximum over the branches, of each quantity on its own. */
static void count_conditional(const struct counter *c, const struct hlo_instruction *in,
                              struct instruction_count *n)
{
    clear(in, n);
    for (int i = 0; i < in->callee_count; i++) {
        const struct count_sum *sum = &c->sums[in->callees[i]->index];
        if (i == 0) {
            count_add_call(c, in, n, 0, 1);
            continue;
        }
        n->flops = fmax(n->flops, sum->flops);
        n->transcendentals = fmax(n->transcendentals, sum->transcendentals);
        n->bytes = fmax(n->bytes, sum->bytes);
        n->output_bytes = fmax(n->output_bytes, sum->output_bytes);
        n->transferred = fmax(n->transferred, sum->transferred);
        n->unknown |= sum->unknown;
        for (int j = 0; j < in->operand_count && j < sum->operand_count; j++) {
            n->operand_bytes[j] = fmax(n->operand_bytes[j], sum->operand_bytes[j]);
            n->operand_use[j] = fmax(n->operand_use[j], sum->operand_use[j]);
        }
    }
}

/* Counts the operations that compute. */
static bool count_operations(const struct counter *c, const struct hlo_instruction *in,
                             struct instruction_count *n)
{
    double first = in->operand_count ? (double)hlo_elements(in->operands[0]->shape) : 0;
    switch (in->opcode) {
    case HLO_DOT:
    case HLO_SCALED_DOT:
        n->flops = count_dot_flops(in->operands[0]->shape, in->shape, &in->attributes->lhs_contracting);
        break;
    case HLO_RAGGED_DOT:
        n->flops = ragged_dot_flops(in);
        break;
    case HLO_CONVOLUTION:
        return count_convolution_flops(in, &n->flops, c->err);
    case HLO_MAP:
        count_add_function(c, in, n, 0, (double)hlo_elements(in->shape));
        break;
    case HLO_SCAN:
        count_add_function(c, in, n, 0, first);
        break;
    case HLO_REDUCE:
        count_add_function(c, in, n, 0, first - (double)hlo_elements(count_first(in->shape)));
        break;
    case HLO_REDUCE_WINDOW:
        count_reduce_window(c, in, n);
        break;
    case HLO_SELECT_AND_SCATTER:
        count_select_and_scatter(c, in, n);
        break;
    case HLO_SORT:
        n->flops = first * count_ceil_log2(first);
        break;
    case HLO_FFT:
        count_fft(in, n);
        break;
    case HLO_TRIANGULAR_SOLVE:
        count_triangular_solve(in, n);
        break;
    case HLO_CHOLESKY:
        count_cholesky(in, n);
        break;
    case HLO_RNG:
    case HLO_RNG_BIT_GENERATOR:
        n->transcendentals = count_elements(in->shape);
        break;
    case HLO_ALL_REDUCE:
    case HLO_ALL_REDUCE_START:
        count_all_reduce(in, n);
        break;
    default:
        if (hlo_is_elementwise(in->opcode))
            count_elementwise(c, in, n);
    }
    return true;
}

bool count_xla(const struct counter *c, const struct hlo_instruction *in, struct instruction_count *n)
{
    if (hlo_operations[in->opcode].traits & HLO_FREE) {
        count_nothing(in, n);
        return true;
    }
    switch (in->opcode) {
    case HLO_TRANSPOSE:
        if (transpose_is_bitcast(in))
            count_nothing(in, n);
        return true;
    case HLO_TUPLE: /* the table of pointers */
        count_nothing(in, n);
        n->bytes = n->output_bytes = (double)hlo_bytes(in->shape);
        return true;
    case HLO_SLICE:
    case HLO_DYNAMIC_SLICE:
        count_slice(in, n);
        return true;
    case HLO_DYNAMIC_UPDATE_SLICE:
        count_update_slice(in, n);
        return true;
    case HLO_BROADCAST:
        if (c->repeated) {
            n->operand_bytes[0] = (double)hlo_bytes(in->shape);
            use_part(in, n);
        }
        return true;
    case HLO_GATHER:
        count_gather(in, in, n);
        return true;
    case HLO_SCATTER:
        count_scatter(c, in, in, n);
        return true;
    case HLO_INFEED:
        n->bytes = n->output_bytes = count_leaf_bytes(in->shape);
        return true;
    case HLO_OUTFEED:
        count_outfeed(in, n);
        return true;
    case HLO_CALL:
    case HLO_ASYNC_START:
        clear(in, n);
        count_add_call(c, in, n, 0, 1);
        return true;
    case HLO_WHILE:
        count_while(c, in, n);
        return true;
    case HLO_CONDITIONAL:
        count_conditional(c, in, n);
        return true;
    case HLO_CUSTOM_CALL:
        if (special_function(in))
            count_elementwise(c, in, n);
        else
            count_unknown(c, in, n);
        return true;
    case HLO_FUSION:
        return count_fusion(c, in, n);
    default:
        return count_operations(c, in, n);
    }
}
