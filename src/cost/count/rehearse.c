/* Our own rules: XLA's, and operations that XLA does not know or counts as nothing. Loops, which XLA
 * counts once, are multiplied where they are counted (xla.c). */
#include "core/text.h"
#include "cost/count/custom_calls.h"
#include "cost/count/fused_attention.h"
#include "cost/count/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rules of XLA's GpuHloCostAnalysis where they differ from HloCostAnalysis (openxla/xla,
 * xla/service/gpu/model/gpu_hlo_cost_analysis.cc, 2026; xla-fork: as of April 2024). An elementwise
 * operation counts the cycles that it takes, transcendental ones too. */

#define CONCATENATE_FLOPS         6   /* a comparison and a branch */
#define CONCATENATE_FLOPS_DIVERGE 400 /* warps take both branches; so large as to keep it from being fused */
#define WARP                      32

/* Returns the cycles of an elementwise operation per element. */
static double count_cycles(const struct counter *c, enum hlo_opcode opcode, enum hlo_type type)
{
    int32_t cycles = c->cycles->elementwise[opcode][type];
    return cycles ? cycles : OP_CYCLES_DEFAULT;
}

/* Returns the devices in a collective's largest group. */
static double count_ranks(const struct counter *c, const struct hlo_instruction *collective)
{
    const struct hlo_attributes *attributes = collective->attributes;
    if (attributes->group_count > 0 && attributes->group_size > 0)
        return (double)attributes->group_size;
    return (double)c->module->replica_count * (double)c->module->partition_count;
}

/* Returns the bytes that a collective puts on the wire; 0 for other instructions. */
static double count_transferred(const struct hlo_instruction *collective)
{
    switch (collective->opcode) {
    case HLO_ALL_REDUCE:
    case HLO_ALL_REDUCE_START:
    case HLO_ALL_GATHER:
    case HLO_ALL_TO_ALL:
        return count_leaf_bytes(collective->shape);
    case HLO_ALL_GATHER_START: { /* of the operands and the outputs only these */
        const struct hlo_shape *shape = collective->shape;
        double bytes = count_leaf_bytes(shape);
        return shape->type == HLO_TYPE_TUPLE && shape->part_count > 1
                   ? bytes - count_leaf_bytes(shape->parts[0])
                   : bytes;
    }
    case HLO_REDUCE_SCATTER: {
        double bytes = 0;
        for (int i = 0; i < collective->operand_count; i++)
            bytes += count_leaf_bytes(collective->operands[i]->shape);
        return bytes;
    }
    case HLO_COLLECTIVE_PERMUTE:
    case HLO_COLLECTIVE_PERMUTE_START:
        return (double)hlo_bytes(collective->operands[0]->shape);
    default:
        return 0;
    }
}

/* Returns the operations of the reducing function, over all elements of the result. */
static double reduction_flops(const struct counter *c, const struct hlo_instruction *collective)
{
    if (!collective->callee_count)
        return 0;
    enum hlo_opcode opcode = collective->callees[0]->root->opcode;
    return count_cycles(c, opcode, collective->shape->type) * count_elements(collective->shape);
}

static void count_all_reduce(const struct counter *c, const struct hlo_instruction *in,
                             struct instruction_count *n)
{
    n->flops = reduction_flops(c, in);
    n->output_bytes = n->bytes = count_leaf_bytes(in->shape);
    if (in->opcode == HLO_ALL_REDUCE || c->options.rules == COUNT_XLA_FORK)
        for (int i = 0; i < in->operand_count; i++)
            n->bytes += n->operand_bytes[i];
}

/* A ring of n devices: n - 1 steps that each read and write one device's part, and the parts read or
 * written once more at the ends. */
static void count_ring(const struct counter *c, const struct hlo_instruction *in, struct instruction_count *n)
{
    double ranks = count_ranks(c, in), part = floor(count_transferred(in) / ranks);
    n->bytes = part * ranks + part * (2 * ranks - 1);
    if (in->opcode == HLO_REDUCE_SCATTER)
        n->flops = reduction_flops(c, in);
}

static void count_concatenate(const struct hlo_instruction *in, struct instruction_count *n)
{
    const struct hlo_ints *dimensions = &in->attributes->dimensions;
    const struct hlo_shape *first = in->operands[0]->shape;
    int64_t dimension = dimensions->count ? dimensions->at[0] : 0;
    bool diverges = dimension > 0 && dimension < first->rank && first->dims[dimension] % WARP;
    n->flops = (diverges ? CONCATENATE_FLOPS_DIVERGE : CONCATENATE_FLOPS) * count_elements(in->shape);
}

/* The initial values are read for every result. */
static void count_reduce(const struct counter *c, const struct hlo_instruction *in,
                         struct instruction_count *n)
{
    double from = (double)hlo_elements(in->operands[0]->shape);
    double to = (double)hlo_elements(count_first(in->shape));
    count_add_function(c, in, n, 0, from - to);
    n->output_bytes = n->bytes = count_leaf_bytes(in->shape);
    int inputs = in->operand_count / 2;
    for (int i = 0; i < in->operand_count; i++) {
        if (i >= inputs) {
            n->operand_bytes[i] = to * (double)hlo_bytes(in->operands[i]->shape);
            n->operand_use[i] = to;
        }
        n->bytes += n->operand_bytes[i];
    }
}

/* Of the wrapped operations, only reduce-scatter and all-to-all count for the instruction itself. */
static void count_async_start(const struct counter *c, const struct hlo_instruction *in,
                              struct instruction_count *n)
{
    const struct hlo_instruction *wrapped = in->callee_count ? in->callees[0]->root : in;
    count_nothing(in, n);
    if (wrapped->opcode == HLO_REDUCE_SCATTER)
        count_ring(c, wrapped, n);
    if (wrapped->opcode == HLO_REDUCE_SCATTER || wrapped->opcode == HLO_ALL_TO_ALL)
        n->transferred = count_transferred(wrapped);
}

/* Beside the result a library call may hand out scratch memory: that is not its output. */
static void write_first(const struct hlo_instruction *call, struct instruction_count *n)
{
    double output = (double)hlo_bytes(count_first(call->shape));
    n->bytes += output - n->output_bytes;
    n->output_bytes = output;
}

/* The contracted dimensions of `"lhs_contracting_dimensions":["1"]` in a backend_config. */
static bool contracted_dimensions(const char *config, const struct hlo_shape *lhs, double *contracted)
{
    const char *at = config ? strstr(config, "lhs_contracting_dimensions") : NULL;
    at = at ? strchr(at, '[') : NULL;
    if (!at)
        return false;
    *contracted = 1;
    while (*at && *at != ']') {
        char *end = NULL;
        long dimension = strtol(at, &end, 10);
        if (end == at) {
            at++;
            continue;
        }
        if (dimension < 0 || dimension >= lhs->rank)
            return false;
        *contracted *= (double)lhs->dims[dimension];
        at = end;
    }
    return true;
}

/* GEMMs of cuBLAS and convolutions of cuDNN: operations and output. False: it is neither, or its attributes
 * are insufficient. */
static bool count_gemm(const struct hlo_instruction *call, struct instruction_count *n)
{
    double contracted;
    if (!call->operand_count ||
        !contracted_dimensions(call->attributes->backend_config, call->operands[0]->shape, &contracted))
        return false;
    n->flops = 2 * count_elements(count_first(call->shape)) * contracted;
    write_first(call, n);
    return true;
}

static bool count_convolution_call(const struct hlo_instruction *call, struct instruction_count *n)
{
    struct error unused;
    if (!call->attributes->input_labels.count || !count_convolution_flops(call, &n->flops, &unused))
        return false;
    write_first(call, n);
    return true;
}

/* The number of `"flops": 123` in text where quotes may be escaped any number of times. */
static bool estimated(const char *text, const char *name, double *value)
{
    const char *at = strstr(text, name);
    if (!at)
        return false;
    at += strlen(name);
    at += strspn(at, "\\\"': =");
    char *end = NULL;
    *value = text_number(at, &end);
    return end != at && *value >= 0 && isfinite(*value);
}

/* Counts the figures in `cost_estimate_json` (XLA's Triton kernels) or `cost_estimate` (Pallas) of a kernel's
 * backend_config. */
static bool count_estimate(const struct hlo_instruction *call, struct instruction_count *n)
{
    const char *config = call->attributes->backend_config;
    const char *estimate = config ? strstr(config, "cost_estimate") : NULL;
    if (!estimate)
        return false;
    double value;
    bool flops = estimated(estimate, "flops", &value);
    if (flops)
        n->flops = value;
    if (estimated(estimate, "transcendentals", &value))
        n->transcendentals = value;
    bool bytes = estimated(estimate, "bytes_accessed", &value);
    if (bytes)
        n->bytes = value;
    return flops || bytes;
}

static void count_gpu_call(const struct counter *c, const struct hlo_instruction *call,
                           struct instruction_count *n)
{
    const char *target = call->attributes->target ? call->attributes->target : "";
    bool gemm = text_starts_with(target, "__cublas$gemm") || text_starts_with(target, "__cublas$lt$matmul");
    if ((gemm && count_gemm(call, n)) ||
        (text_starts_with(target, "__cudnn$conv") && count_convolution_call(call, n)))
        return;
    count_unknown(c, call, n);
    if (c->options.rules == COUNT_XLA_GPU && count_estimate(call, n))
        n->unknown = false;
}

/* XLA of April 2024 took cycles of unary and binary operations only. */
static bool takes_cycles(const struct counter *c, enum hlo_opcode opcode)
{
    if (!hlo_is_elementwise(opcode) || opcode == HLO_MAP)
        return false;
    if (c->options.rules != COUNT_XLA_FORK)
        return true;
    return opcode != HLO_COMPARE && opcode != HLO_SELECT && opcode != HLO_CLAMP && opcode != HLO_CONVERT &&
           opcode != HLO_REDUCE_PRECISION;
}

bool count_gpu(const struct counter *c, const struct hlo_instruction *in, struct instruction_count *n)
{
    n->transferred = count_transferred(in);
    if (takes_cycles(c, in->opcode)) {
        n->flops = count_cycles(c, in->opcode, in->shape->type) * count_elements(in->shape);
        return true;
    }
    switch (in->opcode) {
    case HLO_ALL_REDUCE:
    case HLO_ALL_REDUCE_START:
        count_all_reduce(c, in, n);
        return true;
    case HLO_CONCATENATE:
        count_concatenate(in, n);
        return true;
    case HLO_REDUCE:
        count_reduce(c, in, n);
        return true;
    case HLO_CUSTOM_CALL:
        count_gpu_call(c, in, n);
        return true;
    case HLO_ALL_GATHER: /* only today's XLA counts these by their rings */
    case HLO_ALL_GATHER_START:
    case HLO_REDUCE_SCATTER:
        if (c->options.rules == COUNT_XLA_GPU)
            count_ring(c, in, n);
        return c->options.rules == COUNT_XLA_GPU;
    case HLO_ASYNC_START:
        if (c->options.rules == COUNT_XLA_GPU)
            count_async_start(c, in, n);
        return c->options.rules == COUNT_XLA_GPU;
    default:
        return false;
    }
}

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

static bool count_batch_norm(const struct hlo_instruction *in, struct instruction_count *n)
{
    for (size_t i = 0; i < sizeof batch_norms / sizeof *batch_norms; i++) {
        if (in->opcode != batch_norms[i].opcode)
            continue;
        double features = in->operand_count > 1 ? (double)hlo_elements(in->operands[1]->shape) : 1;
        n->flops = batch_norms[i].element * (double)hlo_elements(in->operands[0]->shape) +
                   batch_norms[i].feature * features;
        n->transcendentals = features;
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
static double ragged_dot_flops(const struct hlo_instruction *in)
{
    const struct hlo_attributes *a = in->attributes;
    double flops = count_dot_flops(in->operands[0]->shape, in->shape, &a->lhs_contracting);
    bool contracts = a->lhs_ragged.count && hlo_ints_have(a->lhs_contracting, a->lhs_ragged.at[0]);
    if (contracts && in->shape->rank && in->shape->dims[0])
        flops /= (double)in->shape->dims[0];
    return flops;
}

static const struct hlo_shape *largest_operand(const struct hlo_instruction *in)
{
    const struct hlo_shape *largest = NULL;
    for (int i = 0; i < in->operand_count; i++) {
        const struct hlo_shape *shape = in->operands[i]->shape;
        if (!largest || count_elements(shape) > count_elements(largest))
            largest = shape;
    }
    return largest ? largest : in->shape;
}

static bool count_factorization(const struct custom_call *rule, const struct hlo_instruction *call,
                                struct instruction_count *n)
{
    const struct hlo_shape *shape = largest_operand(call);
    if (shape->rank < 2)
        return false;
    double rows = (double)shape->dims[shape->rank - 2], columns = (double)shape->dims[shape->rank - 1];
    double p = fmax(rows, columns), q = fmin(rows, columns);
    double matrices = p > 0 && q > 0 ? (double)hlo_elements(shape) / (p * q) : 0;
    double complex_factor = hlo_type_is_complex(shape->type) ? 4 : 1;
    n->flops = complex_factor * matrices *
               (rule->terms[0] * p * p * q + rule->terms[1] * p * q * q + rule->terms[2] * q * q * q);
    return true;
}

static bool count_triangular(const struct hlo_instruction *call, struct instruction_count *n)
{
    const struct hlo_shape *matrices[2] = {NULL, NULL};
    int found = 0;
    for (int i = 0; i < call->operand_count && found < 2; i++)
        if (call->operands[i]->shape->rank >= 2)
            matrices[found++] = call->operands[i]->shape;
    if (found < 2)
        return false;
    double complex_factor = hlo_type_is_complex(matrices[1]->type) ? 4 : 1;
    n->flops =
        complex_factor * (double)matrices[0]->dims[matrices[0]->rank - 1] * (double)hlo_elements(matrices[1]);
    return true;
}

static bool count_topk_call(const struct hlo_instruction *call, struct instruction_count *n)
{
    const struct hlo_shape *result = count_first(call->shape);
    if (!result->rank)
        return false;
    n->flops = topk_flops(count_elements(largest_operand(call)), (double)result->dims[result->rank - 1]);
    return true;
}

/* Two products of queries x keys x width, five for the gradients; an exponential for each score. */
static bool count_attention(const struct hlo_instruction *call, double products, struct instruction_count *n)
{
    struct fused_attention attention;
    if (!fused_attention_read(call, &attention))
        return false;
    double scores = (double)attention.batch * (double)attention.queries * (double)attention.keys;
    scores *= attention.causal ? 0.5 : 1.0;
    n->flops = 2 * products * scores * (double)attention.width;
    n->transcendentals = scores;
    return true;
}

static bool count_by_rule(const struct custom_call *rule, const struct hlo_instruction *call,
                          struct instruction_count *n)
{
    switch (rule->rule) {
    case CUSTOM_CALL_FREE:
        count_nothing(call, n);
        return true;
    case CUSTOM_CALL_ELEMENTS:
        count_by_element(rule, largest_operand(call), n);
        return true;
    case CUSTOM_CALL_GEMM:
        return count_gemm(call, n);
    case CUSTOM_CALL_CONVOLUTION:
        return count_convolution_call(call, n);
    case CUSTOM_CALL_ESTIMATE:
        return count_estimate(call, n);
    case CUSTOM_CALL_FACTORIZATION:
        return count_factorization(rule, call, n);
    case CUSTOM_CALL_TRIANGULAR:
        return count_triangular(call, n);
    case CUSTOM_CALL_TOPK:
        return count_topk_call(call, n);
    case CUSTOM_CALL_ATTENTION:
        return count_attention(call, 2, n);
    case CUSTOM_CALL_ATTENTION_BACKWARD:
        return count_attention(call, 5, n);
    }
    return false;
}

bool count_rehearse(const struct counter *c, const struct hlo_instruction *in, struct instruction_count *n)
{
    const char *target = in->attributes->target;
    const struct custom_call *rule;
    n->transferred = count_transferred(in);
    switch (in->opcode) {
    case HLO_CUSTOM_CALL:
        rule = target ? custom_call_find(c->options.custom_calls, target) : NULL;
        if (!rule || !count_by_rule(rule, in, n))
            count_unknown(c, in, n);
        return true;
    case HLO_TOPK:
        n->flops = topk_flops((double)hlo_elements(in->operands[0]->shape), (double)in->attributes->index);
        return true;
    case HLO_RAGGED_DOT:
        n->flops = ragged_dot_flops(in);
        return true;
    default:
        return count_batch_norm(in, n);
    }
}
