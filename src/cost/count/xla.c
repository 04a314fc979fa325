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
static double ragged_dot_flops(const struct hlo_instruction *instruction)
{
    const struct hlo_attributes *attributes = instruction->attributes;
    double flops =
        count_dot_flops(instruction->operands[0]->shape, instruction->shape, &attributes->lhs_contracting);
    /* DeleteDimension(i) of the rest: dimensions 0, 2, 4, … of the output */
    for (int64_t i = 0; i < attributes->rhs_group.count && 2 * i < instruction->shape->rank; i++)
        if (instruction->shape->dims[2 * i] > 0)
            flops /= (double)instruction->shape->dims[2 * i];
    return flops;
}

void count_by_element(const struct custom_call *rule, const struct hlo_shape *shape,
                      struct instruction_count *count)
{
    double narrow = hlo_type_bits(shape->type) < 32 ? rule->narrow : 0;
    count->flops = (rule->flops + narrow) * count_elements(shape);
    count->transcendentals = rule->transcendentals * count_elements(shape);
}

/* XLA takes a special function of chlo apart before it counts: what comes of it is in the table of custom calls. */
static const struct custom_call *special_function(const struct hlo_instruction *instruction)
{
    const char *target = instruction->attributes->target;
    bool special = target && (text_starts_with(target, "chlo.") || text_starts_with(target, "complex."));
    return special ? custom_call_find(NULL, target) : NULL;
}

/* What is narrower than fp32 is made fp32 first, and the result narrow again, if that takes operations. */
static double moved_by_pieces(const struct custom_call *special, const struct hlo_instruction *instruction)
{
    const struct hlo_shape *shape = instruction->operands[0]->shape;
    int bits = hlo_type_bits(hlo_type_real(shape->type));
    bool widened = bits < 32 && special->narrow > 0;
    double size = widened ? 4 : bits / 8, constants = fmax(0, special->constants - instruction->shared);
    double bytes = (special->arrays + constants) * size + special->truths;
    return (bytes + (widened ? (4 + bits / 8) * special->narrow : 0)) * (double)hlo_elements(shape) +
           constants * size;
}

static void count_elementwise(const struct counter *c, const struct hlo_instruction *instruction,
                              struct instruction_count *count)
{
    double elements = (double)hlo_elements(instruction->shape);
    const struct custom_call *special = special_function(instruction);
    if (special) {
        count_by_element(special, instruction->shape, count);
        if (c->options.rules == COUNT_XLA && special->arrays > 0)
            count->bytes = moved_by_pieces(special, instruction);
    } else if (hlo_operations[instruction->opcode].traits & HLO_TRANSCENDENTAL)
        count->transcendentals = elements;
    else
        count->flops = elements;
}

/* Operand 0 is read only as far as it ends up in the output. */
static void use_part(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    double elements = (double)hlo_elements(instruction->operands[0]->shape);
    count->operand_use[0] = elements > 0 ? (double)hlo_elements(instruction->shape) / elements : 0;
}

static void count_slice(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    count->operand_bytes[0] = count->output_bytes;
    count->bytes = 2 * count->output_bytes;
    /* a dynamic slice reads its first index; XLA leaves the others out */
    if (instruction->opcode == HLO_DYNAMIC_SLICE && instruction->operand_count > 1)
        count->bytes += count->operand_bytes[1];
    use_part(instruction, count);
}

static void count_update_slice(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    double update = count->operand_bytes[1], elements = (double)hlo_elements(instruction->shape);
    count->output_bytes = update; /* in place */
    count->operand_bytes[0] = 0;
    count->bytes = 2 * update + (instruction->operand_count > 2 ? count->operand_bytes[2] : 0);
    double kept = elements - (double)hlo_elements(instruction->operands[1]->shape);
    count->operand_use[0] = elements > 0 ? kept / elements : 0;
}

void count_gather(const struct hlo_instruction *gather, const struct hlo_instruction *instruction,
                  struct instruction_count *count)
{
    double output = (double)hlo_bytes(gather->shape);
    double indices = (double)hlo_bytes(gather->operands[1]->shape);
    double elements = (double)hlo_elements(gather->operands[0]->shape);
    count->bytes = 2 * output + indices;
    count->output_bytes = output;
    count_set_operand(instruction, count, 0, output);
    count_set_operand(instruction, count, 1, indices);
    if (instruction->operand_count)
        count->operand_use[0] = elements > 0 ? (double)hlo_elements(gather->shape) / elements : 0;
}

/* n arrays, the indices, n updates: each update is read, and its place read and written. */
void count_scatter(const struct counter *c, const struct hlo_instruction *scatter,
                   const struct hlo_instruction *instruction, struct instruction_count *count)
{
    int n = (scatter->operand_count - 1) / 2;
    double updates = 0, indices = (double)hlo_bytes(scatter->operands[n]->shape);
    for (int i = 0; i < n; i++) {
        double update = (double)hlo_bytes(scatter->operands[n + 1 + i]->shape);
        count_set_operand(instruction, count, i, update);
        count_set_operand(instruction, count, n + 1 + i, update);
        updates += update;
    }
    count_set_operand(instruction, count, n, indices);
    count->output_bytes = updates;
    count->bytes = 3 * updates + indices;
    if (n)
        count_add_function(c, scatter, count, 0, (double)hlo_elements(scatter->operands[n + 1]->shape));
}

static void count_reduce(const struct counter *c, const struct hlo_instruction *instruction,
                         struct instruction_count *count)
{
    double from = (double)hlo_elements(instruction->operands[0]->shape);
    double to = (double)hlo_elements(count_first(instruction->shape));
    count_add_function(c, instruction, count, 0, from - to);
}

static void count_select_and_scatter(const struct counter *c, const struct hlo_instruction *instruction,
                                     struct instruction_count *count)
{
    double source = (double)hlo_elements(instruction->operands[1]->shape), window = 1;
    for (int i = 0; i < instruction->attributes->window_rank; i++)
        window *= (double)instruction->attributes->window[i].size;
    count_add_function(c, instruction, count, 0, source * (window - 1));
    count_add_function(c, instruction, count, 1, source);
}

static void count_fft(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    const struct hlo_ints *lengths = &instruction->attributes->sizes;
    double factors = 1;
    for (int i = 0; i < lengths->count; i++)
        factors *= lengths->at[i] > 0 ? ilogb((double)lengths->at[i]) : 0;
    double elements = (double)hlo_elements(count_first(instruction->operands[0]->shape));
    count->flops = FMA_FLOPS * 4 * factors * elements; /* 4 multiply-adds in a complex product */
}

static double last_dimension(const struct hlo_shape *shape)
{
    return shape->rank ? (double)shape->dims[shape->rank - 1] : 1;
}

static void count_triangular_solve(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    const struct hlo_shape *a = instruction->operands[0]->shape, *b = instruction->operands[1]->shape;
    double whole = count->operand_bytes[0];
    count->bytes = count->output_bytes + whole / 2 + count->operand_bytes[1];
    count->operand_bytes[0] = count->operand_bytes[1]; /* as XLA has it */
    count->flops = FMA_FLOPS * last_dimension(a) * (double)hlo_elements(b);
}

static void count_cholesky(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    const struct hlo_shape *a = instruction->operands[0]->shape;
    double whole = count->operand_bytes[0];
    count->operand_bytes[0] = count->output_bytes = whole / 2; /* the triangle */
    count->bytes = whole;
    count->flops = floor(last_dimension(a) * (double)hlo_elements(a) / 3);
}

static void count_sort(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    double elements = (double)hlo_elements(instruction->operands[0]->shape);
    count->flops = elements * count_ceil_log2(elements);
}

/* Two replicas: an addition per element. */
static void count_all_reduce(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    count->flops = count_elements(instruction->shape);
    count->output_bytes = count->bytes = count_leaf_bytes(instruction->shape);
    for (int i = 0; i < instruction->operand_count; i++)
        count->bytes += count->operand_bytes[i];
}

static void count_outfeed(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    count->bytes = 0;
    for (int i = 0; i < instruction->operand_count; i++) {
        count->operand_bytes[i] = count_leaf_bytes(instruction->operands[i]->shape);
        count->bytes += count->operand_bytes[i];
    }
}

static void count_tuple(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    count_nothing(instruction, count);
    count->bytes = count->output_bytes = (double)hlo_bytes(instruction->shape); /* the table of pointers */
}

static void count_broadcast(const struct counter *c, const struct hlo_instruction *instruction,
                            struct instruction_count *count)
{
    if (!c->repeated)
        return;
    count->operand_bytes[0] = (double)hlo_bytes(instruction->shape);
    use_part(instruction, count);
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
static void clear(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    count_nothing(instruction, count);
    count->emitted = 0;
    for (int i = 0; i < instruction->operand_count; i++)
        count->operand_use[i] = 0;
}

static void count_while(const struct counter *c, const struct hlo_instruction *instruction,
                        struct instruction_count *count)
{
    int64_t trips = c->options.rules == COUNT_REHEARSE ? hlo_trip_count(instruction) : -1;
    clear(instruction, count);
    count_add_call(c, instruction, count, 0, trips < 0 ? 1 : (double)trips + 1); /* condition */
    count_add_call(c, instruction, count, 1, trips < 0 ? 1 : (double)trips);     /* body */
}

/* Takes the maximum over the branches, of each quantity on its own. */
static void count_conditional(const struct counter *c, const struct hlo_instruction *instruction,
                              struct instruction_count *count)
{
    clear(instruction, count);
    for (int i = 0; i < instruction->callee_count; i++) {
        const struct count_sum *sum = &c->sums[instruction->callees[i]->index];
        if (i == 0) {
            count_add_call(c, instruction, count, 0, 1);
            continue;
        }
        count->flops = fmax(count->flops, sum->flops);
        count->transcendentals = fmax(count->transcendentals, sum->transcendentals);
        count->bytes = fmax(count->bytes, sum->bytes);
        count->output_bytes = fmax(count->output_bytes, sum->output_bytes);
        count->transferred = fmax(count->transferred, sum->transferred);
        count->unknown |= sum->unknown;
        for (int j = 0; j < instruction->operand_count && j < sum->operand_count; j++) {
            count->operand_bytes[j] = fmax(count->operand_bytes[j], sum->operand_bytes[j]);
            count->operand_use[j] = fmax(count->operand_use[j], sum->operand_use[j]);
        }
    }
}

static void count_call(const struct counter *c, const struct hlo_instruction *instruction,
                       struct instruction_count *count)
{
    clear(instruction, count);
    count_add_call(c, instruction, count, 0, 1);
}

/* Counts the operations that compute. */
static bool count_operations(const struct counter *c, const struct hlo_instruction *instruction,
                             struct instruction_count *count)
{
    switch (instruction->opcode) {
    case HLO_DOT:
    case HLO_SCALED_DOT:
        count->flops = count_dot_flops(instruction->operands[0]->shape, instruction->shape,
                                       &instruction->attributes->lhs_contracting);
        break;
    case HLO_RAGGED_DOT:
        count->flops = ragged_dot_flops(instruction);
        break;
    case HLO_CONVOLUTION:
        return count_convolution_flops(instruction, &count->flops, c->err);
    case HLO_MAP:
        count_add_function(c, instruction, count, 0, (double)hlo_elements(instruction->shape));
        break;
    case HLO_SCAN:
        count_add_function(c, instruction, count, 0, (double)hlo_elements(instruction->operands[0]->shape));
        break;
    case HLO_REDUCE:
        count_reduce(c, instruction, count);
        break;
    case HLO_REDUCE_WINDOW:
        count_reduce_window(c, instruction, count);
        break;
    case HLO_SELECT_AND_SCATTER:
        count_select_and_scatter(c, instruction, count);
        break;
    case HLO_SORT:
        count_sort(instruction, count);
        break;
    case HLO_FFT:
        count_fft(instruction, count);
        break;
    case HLO_TRIANGULAR_SOLVE:
        count_triangular_solve(instruction, count);
        break;
    case HLO_CHOLESKY:
        count_cholesky(instruction, count);
        break;
    case HLO_RNG:
    case HLO_RNG_BIT_GENERATOR:
        count->transcendentals = count_elements(instruction->shape);
        break;
    case HLO_ALL_REDUCE:
    case HLO_ALL_REDUCE_START:
        count_all_reduce(instruction, count);
        break;
    default:
        if (hlo_is_elementwise(instruction->opcode))
            count_elementwise(c, instruction, count);
    }
    return true;
}

bool count_xla(const struct counter *c, const struct hlo_instruction *instruction,
               struct instruction_count *count)
{
    if (hlo_operations[instruction->opcode].traits & HLO_FREE) {
        count_nothing(instruction, count);
        return true;
    }
    switch (instruction->opcode) {
    case HLO_TRANSPOSE:
        if (transpose_is_bitcast(instruction))
            count_nothing(instruction, count);
        return true;
    case HLO_TUPLE:
        count_tuple(instruction, count);
        return true;
    case HLO_SLICE:
    case HLO_DYNAMIC_SLICE:
        count_slice(instruction, count);
        return true;
    case HLO_DYNAMIC_UPDATE_SLICE:
        count_update_slice(instruction, count);
        return true;
    case HLO_BROADCAST:
        count_broadcast(c, instruction, count);
        return true;
    case HLO_GATHER:
        count_gather(instruction, instruction, count);
        return true;
    case HLO_SCATTER:
        count_scatter(c, instruction, instruction, count);
        return true;
    case HLO_INFEED:
        count->bytes = count->output_bytes = count_leaf_bytes(instruction->shape);
        return true;
    case HLO_OUTFEED:
        count_outfeed(instruction, count);
        return true;
    case HLO_CALL:
    case HLO_ASYNC_START:
        count_call(c, instruction, count);
        return true;
    case HLO_WHILE:
        count_while(c, instruction, count);
        return true;
    case HLO_CONDITIONAL:
        count_conditional(c, instruction, count);
        return true;
    case HLO_CUSTOM_CALL:
        if (special_function(instruction))
            count_elementwise(c, instruction, count);
        else
            count_unknown(c, instruction, count);
        return true;
    case HLO_FUSION:
        return count_fusion(c, instruction, count);
    default:
        return count_operations(c, instruction, count);
    }
}
