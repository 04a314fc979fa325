#include "cost/builder.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int64_t builder_cut(int64_t size, int64_t parts)
{
    int64_t piece = size / parts;
    return piece > 0 ? piece : 1;
}

void builder_forward(struct builder *b, struct kernel kernel)
{
    struct layer_work *work = b->work;
    assert(work->forward_count < LAYER_MAX_KERNELS / 2);
    if (kernel.repeats == 0.0)
        kernel.repeats = 1.0;
    work->modules[work->forward_count] = b->modules;
    work->kernels[work->forward_count++] = kernel;
}

void builder_backward(struct builder *b, struct kernel kernel)
{
    assert(b->backward_count < LAYER_MAX_KERNELS / 2);
    if (kernel.repeats == 0.0)
        kernel.repeats = 1.0;
    b->backward[b->backward_count++] = kernel;
}

double layer_freed(const struct layer_work *work, unsigned modules, double *largest)
{
    double freed = 0.0;
    *largest = 0.0;
    for (int i = 0; i < work->piece_count; i++)
        if (work->pieces[i].modules & modules)
            freed += work->pieces[i].bytes;
    for (int m = 0; m < RECOMPUTE_MODULES; m++) {
        double alone = 0.0;
        for (int i = 0; i < work->piece_count && (modules >> m & 1); i++)
            if (work->pieces[i].modules >> m & 1)
                alone += work->pieces[i].bytes;
        *largest = fmax(*largest, alone);
    }
    return freed;
}

void builder_stream(struct builder *b, const char *name, double forward, double backward)
{
    if (forward > 0.0)
        builder_forward(b, (struct kernel){.kind = KERNEL_STREAM, .name = name, .bytes = forward});
    if (backward > 0.0)
        builder_backward(b, (struct kernel){.kind = KERNEL_STREAM, .name = name, .bytes = backward});
}

/* Returns the bytes that a cast moves per number. Before a product it reads two and writes one, and one more transposed
 * for the backward pass (Transformer Engine's fp8 linear layer). A factor from the tensor's own maximum takes a pass
 * before that; small groups have a factor beside each, of a byte (four for 128 numbers). */
static double quantize_bytes(const struct layer_split *split)
{
    double narrow = cost_type_bytes(split->type);
    switch (split->recipe) {
    case RECIPE_TENSORWISE:
    case RECIPE_ROWWISE: /* of rows and, transposed, of columns */
        return 6.0;
    case RECIPE_BLOCKWISE:
        return 4.0 + 2.0 * 4.0 / 128.0;
    case RECIPE_MXFP8:
        return 4.0 + 2.0 / 32.0;
    case RECIPE_NVFP4:
        return 2.0 + 2.0 * narrow + 2.0 / 16.0;
    default:
        return 4.0;
    }
}

static void add_quantize(struct builder *b, const struct linear *linear)
{
    if (cost_type_bytes(b->split->type) > 1.0)
        return;
    double weights = (double)linear->copies * (double)linear->in * (double)linear->out;
    double in = (double)linear->copies * (double)linear->tokens * (double)linear->in;
    double out = (double)linear->copies * (double)linear->tokens * (double)linear->out;
    double cast = b->software->caches_weights ? 0.0 : weights;
    struct kernel kernel = {.kind = KERNEL_QUANTIZE, .name = "cast"};
    kernel.bytes = quantize_bytes(b->split) * ((b->cast_before ? 0.0 : in) + cast);
    if (kernel.bytes > 0.0)
        builder_forward(b, kernel);
    kernel.bytes = quantize_bytes(b->split) * out;
    if (!b->cast_behind)
        builder_backward(b, kernel);
}

/* Frozen weights in few bits become ones of 16 bits before each product that needs them, forward and backward. */
static void add_dequantize(struct builder *b, const struct linear *linear)
{
    double bytes = b->split->weight_bytes,
           weights = (double)linear->copies * (double)linear->in * (double)linear->out;
    double moved =
        bytes > 0.0 && bytes < b->width ? (bytes + b->width) * weights * b->software->dequantize : 0.0;
    builder_stream(b, "dequantize", moved, moved);
}

/* Rate of products with a factor for each row, of those with one for a tensor: torchao's kernels are CUTLASS's instead
 * of cuBLAS's, no faster than products in bf16 (torchtitan, benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md). */
#define ROWWISE_RATE 0.5

static double narrow_rate(const struct layer_split *split)
{
    double rate = split->software->narrow_rate > 0.0 ? split->software->narrow_rate : 1.0;
    return split->recipe == RECIPE_ROWWISE ? rate * ROWWISE_RATE : rate;
}

static int count_bits(unsigned set)
{
    int count = 0;
    for (; set; set &= set - 1)
        count++;
    return count;
}

unsigned builder_adapted(const struct builder *b, unsigned matrices)
{
    return matrices & (b->split->targets ? b->split->targets : (unsigned)TARGETS_ALL);
}

/* Width of the outputs of those of its matrices that have adapters. */
static int64_t adapted_width(const struct linear *linear, unsigned with)
{
    int parts = count_bits(linear->matrices);
    int64_t first = linear->first ? linear->first : builder_cut(linear->out, parts), width = 0;
    int64_t other = parts > 1 ? (linear->out - first) / (parts - 1) : 0;
    for (unsigned bits = linear->matrices, place = 0; bits; bits &= bits - 1, place++)
        if (with & bits & (~bits + 1))
            width += place == 0 ? first : other;
    return width;
}

/* Adds LoRA's products beside a matrix: into the rank and out of it, and for each the gradients of its input and of its
 * weights. They are computed in 16 bits where others are narrower. */
static void add_adapter_products(struct builder *b, const struct linear *linear, unsigned with)
{
    /* kernels of each operation have matrices of their own, where fused ones have one with one adapter */
    int parts = b->software->adapter_in > 0.0 ? count_bits(with) : 1;
    int64_t rank = b->split->rank, width = adapted_width(linear, with), out = builder_cut(width, parts);
    b->work->adapters += (double)rank * ((double)linear->in * parts + (double)width);
    struct kernel kernel = {.kind = KERNEL_GEMM, .name = "adapter", .repeats = parts, .size.batch = 1};
    kernel.type = cost_type_bytes(b->split->type) < 2.0 ? COST_BF16 : b->split->type;
    const int64_t products[2][2] = {{linear->in, rank}, {rank, out}};
    for (int i = 0; i < 2; i++) {
        int64_t from = products[i][0], to = products[i][1];
        kernel.size.m = linear->tokens, kernel.size.n = to, kernel.size.k = from;
        builder_forward(b, kernel);
        kernel.size.n = from, kernel.size.k = to;
        builder_backward(b, kernel);
        kernel.size.m = from, kernel.size.n = to, kernel.size.k = linear->tokens;
        builder_backward(b, kernel);
    }
}

/* Adds what LoRA does beside a matrix of attention, but for its products: casts, dropout, scaling, sums. */
static void add_adapter_passes(struct builder *b, int64_t in, int64_t out)
{
    const struct software *software = b->software;
    double tokens = (double)b->tokens, read = (double)in, written = (double)out;
    builder_stream(b, "adapter", tokens * (software->adapter_in * read + software->adapter_out * written),
                   tokens * (software->adapter_back_in * read + software->adapter_back_out * written));
}

/* Notes the moments of a matrix's gradient that is projected along its shorter side. */
static void add_low_rank(struct builder *b, const struct linear *linear)
{
    if (b->split->low_rank <= 0 || b->end)
        return;
    int parts = linear->matrices ? count_bits(linear->matrices) : 1;
    double out = (double)builder_cut(linear->out, parts), in = (double)linear->in,
           copies = (double)linear->copies * parts;
    double rank = fmin(b->split->low_rank, fmin(in, out));
    struct layer_low *low = &b->work->low;
    low->numbers += copies * in * out;
    low->fewer += copies * (in * out - rank * fmax(in, out));
    low->projectors += copies * rank * fmin(in, out);
}

void builder_linear(struct builder *b, struct linear linear)
{
    enum cost_type type = b->split->type;
    double weights = (double)linear.in * (double)linear.out;
    b->work->largest_matrix = fmax(b->work->largest_matrix, weights);
    b->work->parameters += (double)linear.copies * weights;
    add_quantize(b, &linear);
    add_dequantize(b, &linear);
    add_low_rank(b, &linear);
    struct kernel kernel = {
        .kind = KERNEL_GEMM, .type = type, .name = linear.name, .size.batch = linear.copies, .end = b->end};
    if (linear.copies > 1 && b->split->expert_kernels == SWITCH_OFF)
        kernel.size.batch = 1, kernel.repeats = (double)linear.copies;
    if (linear.copies > 1)
        kernel.rate = b->software->expert_rate;
    else if (cost_type_bytes(type) <= 1.0)
        kernel.rate = narrow_rate(b->split);
    kernel.size.m = linear.tokens, kernel.size.n = linear.out, kernel.size.k = linear.in;
    builder_forward(b, kernel);
    kernel.size.n = linear.in, kernel.size.k = linear.out;
    builder_backward(b, kernel);
    kernel.size.m = linear.in, kernel.size.n = linear.out, kernel.size.k = linear.tokens,
    kernel.weights = true;
    builder_backward(b, kernel);
    unsigned with = builder_adapted(b, linear.matrices);
    if (with && b->split->rank > 0)
        add_adapter_products(b, &linear, with);
    if (with & TARGETS_ATTENTION && b->split->frozen)
        add_adapter_passes(b, count_bits(with) * linear.in, adapted_width(&linear, with));
}
