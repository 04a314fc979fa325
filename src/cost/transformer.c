#include "cost/transformer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A matrix of weights on this device, by which the vector of each token, of width `in`, is multiplied. */
struct linear {
    const char *name;
    int64_t copies; /* experts: products of their own */
    int64_t tokens, in, out;
    unsigned matrices; /* of adapter_targets: those side by side in it; 0: without adapters */
    int64_t first; /* width of the first one's output, where the others share the rest; 0: all are alike */
};

struct builder {
    struct layer_work *work;
    const struct architecture *model;
    const struct layer_split *split;
    const struct software *software;
    int64_t tokens;   /* of a micro-batch on this device */
    double width;     /* bytes of an activation's number */
    double narrow;    /* bytes of a product's input that is kept, of those of an activation */
    double share;     /* of the tokens that a tensor parallel rank keeps outside of the split matrices */
    unsigned modules; /* of the kernels that are added */
    bool end;         /* they are of embedding or head */
    struct kernel backward[LAYER_MAX_KERNELS / 2];
    int backward_count;
};

static int64_t cut(int64_t size, int64_t parts)
{
    int64_t piece = size / parts;
    return piece > 0 ? piece : 1;
}

static void begin(struct builder *b, struct layer_work *work, const struct architecture *model,
                  const struct layer_split *split)
{
    *work = (struct layer_work){0};
    *b = (struct builder){.work = work, .model = model, .split = split, .software = split->software};
    b->tokens = cut(split->microbatch * split->sequence, split->context);
    b->width = fmax(cost_type_bytes(split->type), 2.0); /* narrower types are for the products alone */
    b->narrow = split->kept_width > 0.0 ? fmin(split->kept_width / b->width, 1.0) : 1.0;
    b->share = software_splits_norms(b->software, split->norms_split) ? 1.0 / split->tensor : 1.0;
}

static void add_forward(struct builder *b, struct kernel kernel)
{
    struct layer_work *work = b->work;
    assert(work->forward_count < LAYER_MAX_KERNELS / 2);
    if (kernel.repeats == 0.0)
        kernel.repeats = 1.0;
    work->modules[work->forward_count] = b->modules;
    work->kernels[work->forward_count++] = kernel;
}

static void add_backward(struct builder *b, struct kernel kernel)
{
    assert(b->backward_count < LAYER_MAX_KERNELS / 2);
    if (kernel.repeats == 0.0)
        kernel.repeats = 1.0;
    b->backward[b->backward_count++] = kernel;
}

/* Notes kept bytes that `modules` make again, and returns them. */
static double piece(struct builder *b, unsigned modules, double bytes)
{
    struct layer_work *work = b->work;
    if (modules == 0 || bytes <= 0.0)
        return bytes;
    assert(work->piece_count < LAYER_MAX_PIECES);
    work->pieces[work->piece_count++] = (struct layer_piece){modules, bytes};
    return bytes;
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

#define MODULE(name) (1u << MODULE_##name)

/* The backward kernels go behind the forward ones. */
static void finish(struct builder *b)
{
    struct layer_work *work = b->work;
    memcpy(work->kernels + work->forward_count, b->backward, (size_t)b->backward_count * sizeof *b->backward);
    work->count = work->forward_count + b->backward_count;
}

static void add_stream(struct builder *b, const char *name, double forward, double backward)
{
    if (forward > 0.0)
        add_forward(b, (struct kernel){.kind = KERNEL_STREAM, .name = name, .bytes = forward});
    if (backward > 0.0)
        add_backward(b, (struct kernel){.kind = KERNEL_STREAM, .name = name, .bytes = backward});
}

/* Passes over a tensor: kernels that read it and another and write one like it. */
#define PASSES 3.0

static void add_passes(struct builder *b, const char *name, double forward, double backward, double bytes)
{
    struct kernel kernel = {.kind = KERNEL_STREAM, .name = name, .bytes = PASSES * bytes};
    kernel.repeats = forward / PASSES;
    add_forward(b, kernel);
    kernel.repeats = backward / PASSES;
    add_backward(b, kernel);
}

/* Returns the bytes that a cast moves per number. Before a product it reads two and writes one, and one more transposed for
 * the backward pass (Transformer Engine's fp8 linear layer). A factor from the tensor's own maximum takes a pass before
 * that; small groups have a factor beside each, of a byte (four for 128 numbers). */
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
    add_forward(b, (struct kernel){.kind = KERNEL_QUANTIZE,
                                   .name = "cast",
                                   .bytes = quantize_bytes(b->split) * (in + cast)});
    add_backward(
        b, (struct kernel){.kind = KERNEL_QUANTIZE, .name = "cast", .bytes = quantize_bytes(b->split) * out});
}

/* Frozen weights in few bits become ones of 16 bits before each product that needs them, forward and backward. */
static void add_dequantize(struct builder *b, const struct linear *linear)
{
    double bytes = b->split->weight_bytes,
           weights = (double)linear->copies * (double)linear->in * (double)linear->out;
    double moved =
        bytes > 0.0 && bytes < b->width ? (bytes + b->width) * weights * b->software->dequantize : 0.0;
    add_stream(b, "dequantize", moved, moved);
}

/* Rate of products with a factor for each row, of those with one for a tensor: torchao's kernels are CUTLASS's instead of cuBLAS's, no
 * faster than products in bf16 (torchtitan, benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md). */
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

static unsigned adapted(const struct builder *b, unsigned matrices)
{
    return matrices & (b->split->targets ? b->split->targets : (unsigned)TARGETS_ALL);
}

/* Width of the outputs of those of its matrices that have adapters. */
static int64_t adapted_width(const struct linear *linear, unsigned with)
{
    int parts = count_bits(linear->matrices);
    int64_t first = linear->first ? linear->first : cut(linear->out, parts), width = 0;
    int64_t other = parts > 1 ? (linear->out - first) / (parts - 1) : 0;
    for (unsigned bits = linear->matrices, place = 0; bits; bits &= bits - 1, place++)
        if (with & bits & (~bits + 1))
            width += place == 0 ? first : other;
    return width;
}

/* Adds LoRA's products beside a matrix: into the rank and out of it, and for each the gradients of its input and of its weights. They
 * are computed in 16 bits where others are narrower. */
static void add_adapter_products(struct builder *b, const struct linear *linear, unsigned with)
{
    /* kernels of each operation have matrices of their own, where fused ones have one with one adapter */
    int parts = b->software->adapter_in > 0.0 ? count_bits(with) : 1;
    int64_t rank = b->split->rank, width = adapted_width(linear, with), out = cut(width, parts);
    b->work->adapters += (double)rank * ((double)linear->in * parts + (double)width);
    struct kernel kernel = {.kind = KERNEL_GEMM, .name = "adapter", .repeats = parts, .batch = 1};
    kernel.type = cost_type_bytes(b->split->type) < 2.0 ? COST_BF16 : b->split->type;
    const int64_t products[2][2] = {{linear->in, rank}, {rank, out}};
    for (int i = 0; i < 2; i++) {
        int64_t from = products[i][0], to = products[i][1];
        kernel.m = linear->tokens, kernel.n = to, kernel.k = from;
        add_forward(b, kernel);
        kernel.n = from, kernel.k = to;
        add_backward(b, kernel);
        kernel.m = from, kernel.n = to, kernel.k = linear->tokens;
        add_backward(b, kernel);
    }
}

/* Adds what LoRA does beside a matrix of attention, but for its products: casts, dropout, scaling, sums. */
static void add_adapter_passes(struct builder *b, int64_t in, int64_t out)
{
    const struct software *software = b->software;
    double tokens = (double)b->tokens, read = (double)in, written = (double)out;
    add_stream(b, "adapter", tokens * (software->adapter_in * read + software->adapter_out * written),
               tokens * (software->adapter_back_in * read + software->adapter_back_out * written));
}

/* Notes the moments of a matrix's gradient that is projected along its shorter side. */
static void add_low_rank(struct builder *b, const struct linear *linear)
{
    if (b->split->low_rank <= 0 || b->end)
        return;
    int parts = linear->matrices ? count_bits(linear->matrices) : 1;
    double out = (double)cut(linear->out, parts), in = (double)linear->in,
           copies = (double)linear->copies * parts;
    double rank = fmin(b->split->low_rank, fmin(in, out));
    struct layer_low *low = &b->work->low;
    low->numbers += copies * in * out;
    low->fewer += copies * (in * out - rank * fmax(in, out));
    low->projectors += copies * rank * fmin(in, out);
}

/* Adds a matrix: its parameters, one product forward, and two backward: the gradients of its input and of its weights. */
static void add_linear(struct builder *b, struct linear linear)
{
    enum cost_type type = b->split->type;
    double weights = (double)linear.in * (double)linear.out;
    b->work->largest_matrix = fmax(b->work->largest_matrix, weights);
    b->work->parameters += (double)linear.copies * weights;
    add_quantize(b, &linear);
    add_dequantize(b, &linear);
    add_low_rank(b, &linear);
    struct kernel kernel = {
        .kind = KERNEL_GEMM, .type = type, .name = linear.name, .batch = linear.copies, .end = b->end};
    if (linear.copies > 1 && b->split->expert_kernels == SWITCH_OFF)
        kernel.batch = 1, kernel.repeats = (double)linear.copies;
    if (linear.copies > 1)
        kernel.rate = b->software->expert_rate;
    else if (cost_type_bytes(type) <= 1.0)
        kernel.rate = narrow_rate(b->split);
    kernel.m = linear.tokens, kernel.n = linear.out, kernel.k = linear.in;
    add_forward(b, kernel);
    kernel.n = linear.in, kernel.k = linear.out;
    add_backward(b, kernel);
    kernel.m = linear.in, kernel.n = linear.out, kernel.k = linear.tokens, kernel.weights = true;
    add_backward(b, kernel);
    unsigned with = adapted(b, linear.matrices);
    if (with && b->split->rank > 0)
        add_adapter_products(b, &linear, with);
    if (with & TARGETS_ATTENTION && b->split->frozen)
        add_adapter_passes(b, count_bits(with) * linear.in, adapted_width(&linear, with));
}

/* Scores, softmax and context. */
static void add_attention(struct builder *b, int64_t queries, int64_t keys, int64_t width, bool causal)
{
    const struct software *software = b->software;
    enum attention_kind attention = software_attention(software, b->split->attention);
    int64_t heads = cut(b->model->heads, b->split->tensor);
    int64_t batch = b->split->microbatch * heads;
    unsigned modules = b->modules;
    b->modules |= MODULE(CORE_ATTENTION);
    struct kernel kernel = {
        .kind = KERNEL_ATTENTION,
        .type = b->split->type,
        .name = "attention",
        .attention = attention,
        .batch = batch,
        .m = queries,
        .n = keys,
        .k = width,
        .causal = causal,
    };
    int64_t document = b->split->document;
    if (attention != ATTENTION_UNFUSED) {
        if (document > 0 && document < keys) {
            kernel.batch = batch * cut(queries, document);
            kernel.m = kernel.n = document;
        }
        kernel.rate = software->attention_forward;
        add_forward(b, kernel);
        kernel.backward = true;
        kernel.rate = software->attention_backward;
        add_backward(b, kernel);
    } else {
        double scores = (double)batch * (double)queries * (double)keys;
        kernel.kind = KERNEL_GEMM, kernel.inner = true, kernel.causal = false;
        kernel.type = cost_type_bytes(kernel.type) <= 1.0 ? COST_BF16 : kernel.type;
        kernel.name = "scores", kernel.n = keys, kernel.k = width;
        add_forward(b, kernel);
        bool own = software->softmax_forward > 0.0; /* else Megatron-LM's fused softmax */
        add_stream(b, "softmax", (own ? software->softmax_forward : 5.0) * scores,
                   (own ? software->softmax_backward : 7.0) * scores);
        kernel.name = "context", kernel.n = width, kernel.k = keys;
        add_forward(b, kernel);
        kernel.repeats = 2.0; /* each has two gradients of its own size */
        add_backward(b, kernel);
        kernel.name = "scores", kernel.n = keys, kernel.k = width;
        add_backward(b, kernel);
        b->work->activation_bytes +=
            piece(b, MODULE(CORE_ATTENTION), scores * (2.0 * b->width + (b->model->dropout ? 1.0 : 0.0)));
    }
    b->modules = modules;
}

/* Adds the matrices of query, key and value, attention, and the matrix back to the width of the model. Returns bytes
 * kept. */
static double add_plain_attention(struct builder *b, bool causal, int64_t keys)
{
    const struct architecture *model = b->model;
    int tensor = b->split->tensor;
    double tokens = (double)b->tokens;
    int64_t queries_width = cut(model->heads * model->head_width, tensor);
    int64_t keys_width = cut(model->kv_heads * model->head_width, tensor);
    add_linear(b, (struct linear){"query, key, value", 1, b->tokens, model->hidden,
                                  queries_width + 2 * keys_width, TARGET_QUERY | TARGET_KEY | TARGET_VALUE,
                                  queries_width});
    add_attention(b, cut(b->split->sequence, b->split->context), keys, model->head_width, causal);
    add_linear(
        b, (struct linear){"attention output", 1, b->tokens, queries_width, model->hidden, TARGET_OUTPUT, 0});
    b->work->context_bytes = b->width * tokens * 2.0 * (double)keys_width;
    b->work->context_query_bytes = b->width * tokens * (double)queries_width;
    return b->width * tokens * (2.0 * (double)queries_width + 2.0 * (double)keys_width);
}

/* A decoder's second attention: queries of its own, keys and values of the encoder's output. Returns bytes kept. */
static double add_cross_attention(struct builder *b)
{
    const struct architecture *model = b->model;
    int64_t queries_width = cut(model->heads * model->head_width, b->split->tensor);
    int64_t keys_width = cut(model->kv_heads * model->head_width, b->split->tensor);
    add_linear(b,
               (struct linear){"cross query", 1, b->tokens, model->hidden, queries_width, TARGET_QUERY, 0});
    add_linear(b, (struct linear){"cross key, value", 1, b->tokens, model->hidden, 2 * keys_width,
                                  TARGET_KEY | TARGET_VALUE, 0});
    add_attention(b, cut(b->split->sequence, b->split->context), b->split->sequence, model->head_width,
                  false);
    add_linear(b,
               (struct linear){"cross output", 1, b->tokens, queries_width, model->hidden, TARGET_OUTPUT, 0});
    b->work->parameters += (double)model->hidden;
    return b->width * (double)b->tokens * (2.0 * (double)queries_width + 2.0 * (double)keys_width);
}

/* Multi-head latent attention: queries, and keys and values, through narrow matrices first. */
static double add_latent_attention(struct builder *b, bool causal, int64_t keys)
{
    const struct architecture *model = b->model;
    int64_t heads = cut(model->heads, b->split->tensor), tokens = b->tokens;
    int64_t query = model->nope_width + model->rope_width;
    int64_t into_query = model->query_rank ? model->query_rank : model->hidden;
    if (model->query_rank)
        add_linear(
            b, (struct linear){"query down", 1, tokens, model->hidden, model->query_rank, TARGET_QUERY, 0});
    add_linear(b, (struct linear){"key, value down", 1, tokens, model->hidden,
                                  model->kv_rank + model->rope_width, TARGET_KEY, 0});
    b->modules |= MODULE(LATENT_UP);
    add_linear(b, (struct linear){"query up", 1, tokens, into_query, heads * query, TARGET_QUERY, 0});
    add_linear(b, (struct linear){"key, value up", 1, tokens, model->kv_rank,
                                  heads * (model->nope_width + model->value_width), TARGET_VALUE, 0});
    b->modules &= ~MODULE(LATENT_UP);
    add_attention(b, cut(b->split->sequence, b->split->context), keys, (query + model->value_width) / 2,
                  causal);
    add_linear(b, (struct linear){"attention output", 1, tokens, heads * model->value_width, model->hidden,
                                  TARGET_OUTPUT, 0});
    double down = (double)model->query_rank + (double)model->kv_rank + (double)model->rope_width;
    double up = (double)heads * (double)(query + model->nope_width + model->value_width);
    double out = (double)heads * (double)model->value_width;
    b->work->context_bytes = b->width * (double)tokens * (double)(heads * (query + model->value_width));
    b->work->context_query_bytes = b->work->context_bytes / 2.0; /* as wide as keys, outputs as values */
    return b->width * (double)tokens * (down * b->narrow + out) +
           piece(b, MODULE(LATENT_UP), b->width * (double)tokens * up);
}

/* Two matrices, or three when gated, with the activation between; `copies` experts. `module`: it is made again with the
 * whole, `activation`: the activation by itself. Returns bytes kept. */
static double add_mlp(struct builder *b, const char *const names[2], int64_t copies, int64_t tokens,
                      int64_t width, unsigned module, unsigned activation)
{
    b->modules |= module;
    const struct architecture *model = b->model;
    int64_t in = model->gated ? 2 * width : width;
    double middle = b->width * (double)copies * (double)tokens * (double)width * b->software->middle;
    bool plain = module != 0; /* experts have no adapters */
    unsigned first_matrices = !plain ? 0 : model->gated ? TARGET_GATE | TARGET_UP : TARGET_UP;
    add_linear(b, (struct linear){names[0], copies, tokens, model->hidden, in, first_matrices, 0});
    /* reads the result of the first matrix, writes the input of the second; backward also reads the gradient */
    b->modules |= activation;
    add_stream(b, "activation", middle * (model->gated ? 3.0 : 2.0), middle * (model->gated ? 5.0 : 3.0));
    b->modules &= ~activation;
    add_linear(b,
               (struct linear){names[1], copies, tokens, width, model->hidden, plain ? TARGET_DOWN : 0, 0});
    double kept = b->width * (double)copies * (double)tokens;
    /* a frozen second matrix has no gradient that its input is for, its adapter has; those of one kernel for each operation keep as
     * much */
    bool frozen = b->split->frozen && !b->software->eager;
    double first =
        frozen && b->split->middle_width > 0.0 ? fmin(b->split->middle_width / b->width, 1.0) : 1.0;
    double activated = b->software->eager && model->gated ? kept * (double)width : 0.0;
    kept = piece(b, b->modules, kept * (double)in * first) +
           piece(b, b->modules | activation,
                 (frozen && !(plain && adapted(b, TARGET_DOWN)) ? 0.0 : kept * (double)width * b->narrow) +
                     activated);
    b->modules &= ~module;
    return kept;
}

static double add_dense_mlp(struct builder *b)
{
    static const char *const names[2] = {"mlp in", "mlp out"};
    const struct architecture *model = b->model;
    int64_t width = cut(model->ffn, b->split->tensor);
    return add_mlp(b, names, 1, b->tokens, width, MODULE(MLP), 0);
}

/* Router, dispatch, experts, combination. With expert parallelism each tensor parallel rank sends its share of the tokens,
 * and an expert is on one device, or split over as many as its own tensor parallel degree says, which then gather the tokens
 * that each of them was sent. Without expert parallelism experts are split like a dense MLP. */
static double add_experts(struct builder *b)
{
    static const char *const names[2] = {"experts in", "experts out"};
    static const char *const shared_names[2] = {"shared expert in", "shared expert out"};
    const struct architecture *model = b->model;
    const struct layer_split *split = b->split;
    bool whole = split->expert > 1;
    int64_t experts = cut(model->experts, split->expert);
    int64_t tokens = whole ? cut(b->tokens, split->tensor) : b->tokens;
    int ranks = !whole ? split->tensor : split->expert_tensor > 1 ? split->expert_tensor : 1;
    int64_t width = cut(model->expert_ffn, ranks);
    double busy = whole && split->imbalance > 1.0 ? split->imbalance : 1.0;
    int64_t gathered = (int64_t)((double)(whole ? tokens * ranks : tokens) * busy);
    double sent = (double)tokens * (double)model->active_experts * (double)model->hidden * b->width;
    b->modules |= MODULE(EXPERTS);
    add_linear(b, (struct linear){"router", 1, tokens, model->hidden, model->experts, 0, 0});
    add_stream(b, "dispatch, combine", 4.0 * sent * busy, 6.0 * sent * busy);
    double others = b->work->parameters;
    struct layer_low low = b->work->low;
    b->work->low = (struct layer_low){0.0, 0.0, 0.0};
    double combined = b->software->weighs_inside || b->narrow < 1.0 ? 0.0 : 1.0;
    double kept = add_mlp(b, names, experts, cut(gathered * model->active_experts, experts), width, 0,
                          MODULE(EXPERT_ACTIVATION)) +
                  piece(b, MODULE(EXPERTS), ((whole ? ranks : 1) * b->narrow + combined) * busy * sent);
    b->work->expert_bytes = whole ? sent : 0.0;
    b->work->expert_parameters = b->work->parameters - others;
    b->work->expert_low = b->work->low;
    b->work->low = low;
    b->work->parameters = others;
    if (model->shared_experts > 0) {
        int64_t shared = cut(model->shared_experts * model->expert_ffn, split->tensor);
        kept += add_mlp(b, shared_names, 1, b->tokens, shared, MODULE(SHARED_EXPERTS), 0);
    }
    b->modules = 0;
    return kept;
}

void transformer_embedding(struct layer_work *work, const struct architecture *model,
                           const struct layer_split *split)
{
    struct builder b;
    begin(&b, work, model, split);
    double hidden = (double)model->hidden, moved = b.width * (double)b.tokens * hidden;
    if (model->patch > 0) {
        int64_t pixels = 3 * model->patch * model->patch;
        add_linear(&b, (struct linear){"patches", 1, b.tokens, pixels, model->hidden, 0, 0});
        work->parameters += hidden;
    }
    add_stream(&b, "embedding", 3.0 * moved, 4.0 * moved);
    work->parameters += ceil((double)model->vocabulary / split->tensor) * hidden +
                        (double)(model->positions + model->token_types) * hidden;
    work->input_bytes = work->output_bytes = moved;
    work->activation_bytes = work->selective_bytes =
        model->dropout ? (double)b.tokens * hidden * b.share : 0.0;
    finish(&b);
}

/* Returns what tensor parallel ranks exchange, of 16 bits: an all-reduce is a scatter of sums, and a gather of what may be narrow. */
static double exchanged_width(const struct layer_split *split)
{
    bool narrow = split->software->narrow_gathered && split->type == COST_FP8 &&
                  (split->recipe == RECIPE_USUAL || split->recipe == RECIPE_TENSORWISE);
    return narrow ? 0.75 : 1.0;
}

/* A long copy's rate, of a stream's alone: a stream reaches 0.92 of an H100's bandwidth, so that a copy reaches 0.8 of it, as an
 * optimizer's step does. */
#define COPY_RATE 0.87

/* Two gathers and two scatters each way are copied. The gradients of what was gathered are whole on each rank, three of queries, keys and
 * values and two of a gated MLP: they are added up in the copy before the scatter. */
static void add_copies(struct builder *b, double row, bool gated)
{
    if (b->split->tensor == 1 || !b->software->gathers_copied)
        return;
    double gathers = 2.0 * 2.0 * (2.0 * exchanged_width(b->split) - 1.0);
    struct kernel copies = {.kind = KERNEL_STREAM, .name = "copies of exchanges", .rate = COPY_RATE};
    copies.bytes = (gathers + 2.0 * 2.0) * row;
    add_forward(b, copies);
    copies.bytes = (gathers + 4.0 + (gated ? 3.0 : 2.0)) * row;
    add_backward(b, copies);
}

void transformer_block(struct layer_work *work, const struct architecture *model, int block,
                       const struct layer_split *split)
{
    struct builder b;
    begin(&b, work, model, split);
    const struct software *software = split->software;
    bool decoder = block >= model->encoder_layers;
    bool causal = model->causal && decoder;
    bool windowed = model->window > 0 && model->window < split->sequence &&
                    !(model->window_every > 0 && block % model->window_every == model->window_every - 1);
    int64_t keys = windowed ? model->window : split->sequence;
    double tokens = (double)b.tokens, hidden = (double)model->hidden;
    double row = b.width * tokens * hidden; /* bytes of the activations between blocks */

    bool crosses = decoder && model->encoder_layers > 0;
    double parts = crosses ? 1.5 : 1.0; /* three times norm and residual, not twice */
    add_passes(&b, "norms, residuals", software->block_forward * parts, software->block_backward * parts,
               row * b.share);
    double further =
        model->block_norms > 2 ? model->block_norms - 2.0 : 0.0; /* each reads and writes its row */
    add_stream(&b, "further norms", further * 2.0 * row * b.share, further * 3.0 * row * b.share);
    add_copies(&b, row, model->gated);
    double split_kept = model->kv_rank > 0 ? add_latent_attention(&b, causal && !windowed, keys)
                                           : add_plain_attention(&b, causal && !windowed, keys);
    if (crosses)
        split_kept += add_cross_attention(&b);
    bool dense = !architecture_has_experts(model, block - model->encoder_layers);
    split_kept += dense ? add_dense_mlp(&b) : add_experts(&b);
    work->parameters += (2.0 + further) * hidden * (model->rms_norm ? 1.0 : 2.0);
    if (model->biased)
        work->parameters += (hidden * 3.0 + (double)model->ffn) / split->tensor + 2.0 * hidden;

    /* two inputs of norms, two of matrices, two masks (Korthikanti et al. 2022, arXiv:2205.05198, section 4) */
    bool frozen = split->frozen && !software->eager;
    double inputs = 2.0; /* of matrices behind norms; of frozen ones, where they have adapters */
    if (frozen)
        inputs = (adapted(&b, TARGET_QUERY | TARGET_KEY | TARGET_VALUE) ? 1.0 : 0.0) +
                 (dense && adapted(&b, TARGET_GATE | TARGET_UP) ? 1.0 : 0.0);
    double rows = parts * ((2.0 + inputs * b.narrow) * row + (model->dropout ? 2.0 * tokens * hidden : 0.0));
    if (software->eager &&
        model->rms_norm) /* of each norm: its input in fp32, and its result before trained weights */
        rows += parts * 2.0 * 4.0 * tokens * hidden;
    /* a product that widens its frozen weights is an operation of its own, which keeps its input beside that of the adapter: of the
     * attention's matrices and the first of the MLP (bitsandbytes' MatMul4Bit) */
    if (software->eager && split->frozen && split->weight_bytes > 0.0)
        rows += parts * 3.0 * row;
    double unscored = (rows + further * row) * b.share + split_kept;
    if (software->keeps_inputs && split->tensor > 1) {
        unscored += parts * inputs * b.narrow * row * (1.0 - b.share);
        work->working_bytes += row; /* a sum before it is scattered */
    }
    piece(&b, MODULE(NORMS), parts * inputs * b.narrow * row * b.share);
    work->norms = (struct kernel){.kind = KERNEL_STREAM, .name = "norms", .repeats = 2.0 * parts};
    work->norms.bytes = 2.0 * row * b.share;
    work->selective_bytes = unscored * software->selective_kept;
    work->activation_bytes += unscored;
    work->input_bytes = row * b.share;
    work->working_bytes += split_kept + row;
    work->output_bytes = row;
    work->tensor_bytes = split->tensor > 1 ? row * exchanged_width(split) : 0.0;
    work->tensor_forward = work->tensor_backward = split->tensor > 1 ? (crosses ? 3 : 2) : 0;
    finish(&b);
}

void transformer_join(struct layer_work *work, const struct architecture *model,
                      const struct layer_split *split)
{
    struct builder b;
    begin(&b, work, model, split);
    double row = b.width * (double)b.tokens * (double)model->hidden;
    add_passes(&b, "norms", 2.0 * PASSES, 3.0 * PASSES, row * b.share);
    add_linear(
        &b, (struct linear){"join", 1, b.tokens, 2 * model->hidden, cut(model->hidden, split->tensor), 0, 0});
    work->activation_bytes = work->selective_bytes = 4.0 * row * b.share;
    finish(&b);
}

void transformer_head(struct layer_work *work, const struct architecture *model,
                      const struct layer_split *split)
{
    struct builder b;
    begin(&b, work, model, split);
    int64_t outputs = model->vocabulary > 0 ? model->vocabulary : model->classes;
    int64_t tokens = model->vocabulary > 0 ? b.tokens : split->microbatch;
    int64_t width = cut(outputs, split->tensor);
    double hidden = (double)model->hidden, row = b.width * (double)tokens * hidden;
    double logits = (double)tokens * (double)width;
    struct layer_split plain =
        *split; /* the last matrix is not multiplied in narrow types, nor kept in them */
    plain.type = cost_type_bytes(split->type) <= 1.0 ? COST_BF16 : split->type;
    plain.weight_bytes = 0.0;
    b.split = &plain;
    b.end = true;
    add_stream(&b, "norm", 2.0 * row, 3.0 * row);
    if (model->masked)
        add_linear(&b, (struct linear){"transform", 1, tokens, model->hidden, model->hidden, 0, 0});
    add_linear(&b, (struct linear){"logits", 1, tokens, model->hidden, width, 0, 0});
    add_stream(&b, "loss", split->software->loss * logits / 2.0, split->software->loss * logits / 2.0);
    work->parameters += hidden * (model->rms_norm ? 1.0 : 2.0);
    if (model->masked)
        work->parameters += 3.0 * hidden + (double)width;
    if (model->tied) /* the matrix of the embedding */
        work->parameters -= hidden * (double)width;
    double split_kept = split->tensor > 1 ? split->software->loss_kept_split : 0.0;
    work->activation_bytes = work->selective_bytes =
        2.0 * row + logits * (split_kept > 0.0 ? split_kept : split->software->loss_kept);
    work->input_bytes = row;
    work->output_bytes = 0.0;
    finish(&b);
}
