/* Our own rules: XLA's, and operations that XLA does not know or counts as nothing. Loops, which XLA
 * counts once, are multiplied where they are counted (xla.c). */
#include "cost/count/custom_calls.h"
#include "cost/count/fused_attention.h"
#include "cost/count/rules.h"

#include <math.h>

/* Operations per element of the input and per feature of batch normalisation; each feature takes a reciprocal
 * square root beside. */
static const struct {
    enum hlo_opcode opcode;
    double element, feature;
} batch_norms[] = {
    /* mean: 1, variance: 3 (centre, square, sum), result: 3 (centre, scale, shift); mean and variance
     * divided, the variance's epsilon, the scale */
    {HLO_BATCH_NORM_TRAINING, 7, 4},
    {HLO_BATCH_NORM_INFERENCE, 3, 2},
    /* gradients of shift: 1 (sum), of scale: 3 (centre, product, sum), of the input: 5 */
    {HLO_BATCH_NORM_GRAD, 9, 6},
};

static bool count_batch_norm(const struct hlo_instruction *instruction, struct instruction_count *count)
{
    for (size_t i = 0; i < sizeof batch_norms / sizeof *batch_norms; i++) {
        if (instruction->opcode != batch_norms[i].opcode)
            continue;
        double features =
            instruction->operand_count > 1 ? (double)hlo_elements(instruction->operands[1]->shape) : 1;
        count->flops = batch_norms[i].element * (double)hlo_elements(instruction->operands[0]->shape) +
                       batch_norms[i].feature * features;
        count->transcendentals = features;
        return true;
    }
    return false;
}

static double topk_flops(double elements, double k)
{
    return elements * fmax(1, count_ceil_log2(k));
}

/* Each row belongs to one group. If rows are ragged, each meets one group's matrix: a dot of the output's
 * size. If the contracted dimension is ragged, the output holds one product per group, and all groups
 * together contract it once. */
static double ragged_dot_flops(const struct hlo_instruction *instruction)
{
    const struct hlo_attributes *a = instruction->attributes;
    double flops = count_dot_flops(instruction->operands[0]->shape, instruction->shape, &a->lhs_contracting);
    bool contracts = a->lhs_ragged.count && hlo_ints_have(a->lhs_contracting, a->lhs_ragged.at[0]);
    if (contracts && instruction->shape->rank && instruction->shape->dims[0])
        flops /= (double)instruction->shape->dims[0];
    return flops;
}

static const struct hlo_shape *largest_operand(const struct hlo_instruction *instruction)
{
    const struct hlo_shape *largest = NULL;
    for (int i = 0; i < instruction->operand_count; i++) {
        const struct hlo_shape *shape = instruction->operands[i]->shape;
        if (!largest || count_elements(shape) > count_elements(largest))
            largest = shape;
    }
    return largest ? largest : instruction->shape;
}

static bool count_factorization(const struct custom_call *rule, const struct hlo_instruction *call,
                                struct instruction_count *count)
{
    const struct hlo_shape *shape = largest_operand(call);
    if (shape->rank < 2)
        return false;
    double rows = (double)shape->dims[shape->rank - 2], columns = (double)shape->dims[shape->rank - 1];
    double p = fmax(rows, columns), q = fmin(rows, columns);
    double matrices = p > 0 && q > 0 ? (double)hlo_elements(shape) / (p * q) : 0;
    double complex_factor = hlo_type_is_complex(shape->type) ? 4 : 1;
    count->flops = complex_factor * matrices *
                   (rule->terms[0] * p * p * q + rule->terms[1] * p * q * q + rule->terms[2] * q * q * q);
    return true;
}

static bool count_triangular(const struct hlo_instruction *call, struct instruction_count *count)
{
    const struct hlo_shape *matrices[2] = {NULL, NULL};
    int found = 0;
    for (int i = 0; i < call->operand_count && found < 2; i++)
        if (call->operands[i]->shape->rank >= 2)
            matrices[found++] = call->operands[i]->shape;
    if (found < 2)
        return false;
    double complex_factor = hlo_type_is_complex(matrices[1]->type) ? 4 : 1;
    count->flops =
        complex_factor * (double)matrices[0]->dims[matrices[0]->rank - 1] * (double)hlo_elements(matrices[1]);
    return true;
}

static bool count_topk_call(const struct hlo_instruction *call, struct instruction_count *count)
{
    const struct hlo_shape *result = count_first(call->shape);
    if (!result->rank)
        return false;
    count->flops = topk_flops(count_elements(largest_operand(call)), (double)result->dims[result->rank - 1]);
    return true;
}

/* Two products of queries x keys x width, five for the gradients; an exponential for each score. */
static bool count_attention(const struct hlo_instruction *call, double products,
                            struct instruction_count *count)
{
    struct fused_attention attention;
    if (!fused_attention_read(call, &attention))
        return false;
    double scores = (double)attention.batch * (double)attention.queries * (double)attention.keys;
    scores *= attention.causal ? 0.5 : 1.0;
    count->flops = 2 * products * scores * (double)attention.width;
    count->transcendentals = scores;
    return true;
}

static bool count_by_rule(const struct custom_call *rule, const struct hlo_instruction *call,
                          struct instruction_count *count)
{
    switch (rule->rule) {
    case CUSTOM_CALL_FREE:
        count_nothing(call, count);
        return true;
    case CUSTOM_CALL_ELEMENTS:
        count_by_element(rule, largest_operand(call), count);
        return true;
    case CUSTOM_CALL_GEMM:
        return count_gemm(call, count);
    case CUSTOM_CALL_CONVOLUTION:
        return count_convolution_call(call, count);
    case CUSTOM_CALL_ESTIMATE:
        return count_estimate(call, count);
    case CUSTOM_CALL_FACTORIZATION:
        return count_factorization(rule, call, count);
    case CUSTOM_CALL_TRIANGULAR:
        return count_triangular(call, count);
    case CUSTOM_CALL_TOPK:
        return count_topk_call(call, count);
    case CUSTOM_CALL_ATTENTION:
        return count_attention(call, 2, count);
    case CUSTOM_CALL_ATTENTION_BACKWARD:
        return count_attention(call, 5, count);
    }
    return false;
}

static void count_custom_call(const struct counter *c, const struct hlo_instruction *call,
                              struct instruction_count *count)
{
    const char *target = call->attributes->target;
    const struct custom_call *rule = target ? custom_call_find(c->options.custom_calls, target) : NULL;
    if (!rule || !count_by_rule(rule, call, count))
        count_unknown(c, call, count);
}

bool count_rehearse(const struct counter *c, const struct hlo_instruction *instruction,
                    struct instruction_count *count)
{
    count->transferred = count_transferred(instruction);
    switch (instruction->opcode) {
    case HLO_CUSTOM_CALL:
        count_custom_call(c, instruction, count);
        return true;
    case HLO_TOPK:
        count->flops = topk_flops((double)hlo_elements(instruction->operands[0]->shape),
                                  (double)instruction->attributes->index);
        return true;
    case HLO_RAGGED_DOT:
        count->flops = ragged_dot_flops(instruction);
        return true;
    default:
        return count_batch_norm(instruction, count);
    }
}
