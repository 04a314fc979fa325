#include "cost/transformer.h"
#include "cost/builder.h"
#include "devices/blocks.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void builder_begin(struct builder *b, struct layer_work *work, const struct architecture *model,
                          const struct layer_split *split)
{
    *work = (struct layer_work){0};
    *b = (struct builder){.work = work, .model = model, .split = split, .software = split->software};
    b->tokens = builder_cut(split->microbatch * split->sequence, split->degrees.context);
    b->width = fmax(cost_type_bytes(split->type), 2.0); /* narrower types are for the products alone */
    b->narrow = split->kept_width > 0.0 ? fmin(split->kept_width / b->width, 1.0) : 1.0;
    b->share = software_splits_norms(b->software, split->norms_split) ? 1.0 / split->degrees.tensor : 1.0;
}

/* Notes kept bytes that `modules` make again, and returns them. */
static double builder_piece(struct builder *b, unsigned modules, double bytes)
{
    struct layer_work *work = b->work;
    if (modules == 0 || bytes <= 0.0)
        return bytes;
    assert(work->piece_count < LAYER_MAX_PIECES);
    work->pieces[work->piece_count++] = (struct layer_piece){modules, bytes};
    return bytes;
}

/* The backward kernels go behind the forward ones. */
static void builder_finish(struct builder *b)
{
    struct layer_work *work = b->work;
    memcpy(work->kernels + work->forward_count, b->backward, (size_t)b->backward_count * sizeof *b->backward);
    work->count = work->forward_count + b->backward_count;
}

/* So many passes forward and backward over a tensor of `bytes`. */
static void builder_passes(struct builder *b, const char *name, double forward, double backward, double bytes)
{
    struct kernel kernel = {.kind = KERNEL_STREAM, .name = name, .bytes = PASSES * bytes};
    kernel.repeats = forward / PASSES;
    builder_forward(b, kernel);
    kernel.repeats = backward / PASSES;
    builder_backward(b, kernel);
}

/* Scores, softmax and context. */
static void add_attention(struct builder *b, int64_t queries, int64_t keys, int64_t width, bool causal)
{
    const struct software *software = b->software;
    enum attention_kind attention = software_attention(software, b->split->attention);
    int64_t heads = builder_cut(b->model->heads, b->split->degrees.tensor);
    int64_t batch = b->split->microbatch * heads;
    unsigned modules = b->modules;
    b->modules |= MODULE(CORE_ATTENTION);
    struct kernel kernel = {
        .kind = KERNEL_ATTENTION,
        .type =
            b->split->narrow_attention || cost_type_bytes(b->split->type) >= 2.0 ? b->split->type : COST_BF16,
        .name = "attention",
        .attention = attention,
        .size = {batch, queries, keys, width},
        .causal = causal,
    };
    int64_t document = b->split->document;
    if (attention != ATTENTION_UNFUSED) {
        if (document > 0 && document < keys) {
            kernel.size.batch = batch * builder_cut(queries, document);
            kernel.size.m = kernel.size.n = document;
        }
        kernel.rate = software->attention_forward;
        builder_forward(b, kernel);
        kernel.backward = true;
        kernel.rate = software->attention_backward;
        builder_backward(b, kernel);
    } else {
        double scores = (double)batch * (double)queries * (double)keys;
        kernel.kind = KERNEL_GEMM, kernel.inner = true, kernel.causal = false;
        kernel.type = cost_type_bytes(kernel.type) <= 1.0 ? COST_BF16 : kernel.type;
        kernel.name = "scores", kernel.size.n = keys, kernel.size.k = width;
        builder_forward(b, kernel);
        bool own = software->softmax_forward > 0.0; /* else Megatron-LM's fused softmax */
        builder_stream(b, "softmax", (own ? software->softmax_forward : 5.0) * scores,
                       (own ? software->softmax_backward : 7.0) * scores);
        kernel.name = "context", kernel.size.n = width, kernel.size.k = keys;
        builder_forward(b, kernel);
        kernel.repeats = 2.0; /* each has two gradients of its own size */
        builder_backward(b, kernel);
        kernel.name = "scores", kernel.size.n = keys, kernel.size.k = width;
        builder_backward(b, kernel);
        b->work->activation_bytes += builder_piece(
            b, MODULE(CORE_ATTENTION), scores * (2.0 * b->width + (b->model->dropout ? 1.0 : 0.0)));
    }
    b->modules = modules;
}

/* Adds the matrices of query, key and value, attention, and the matrix back to the width of the model. Returns bytes
 * kept. */
static double add_plain_attention(struct builder *b, bool causal, int64_t keys)
{
    const struct architecture *model = b->model;
    int tensor = b->split->degrees.tensor;
    double tokens = (double)b->tokens;
    int64_t queries_width = builder_cut(model->heads * model->head_width, tensor);
    int64_t keys_width = builder_cut(model->kv_heads * model->head_width, tensor);
    int64_t first = queries_width * (model->attention_gated ? 2 : 1), gate = first - queries_width;
    builder_linear(b, (struct linear){"query, key, value", 1, b->tokens, model->hidden,
                                      first + (model->full_keys_only ? 1 : 2) * keys_width,
                                      TARGET_QUERY | TARGET_KEY | TARGET_VALUE, first});
    add_attention(b, builder_cut(b->split->sequence, b->split->degrees.context), keys, model->head_width,
                  causal);
    builder_linear(
        b, (struct linear){"attention output", 1, b->tokens, queries_width, model->hidden, TARGET_OUTPUT, 0});
    b->work->context_bytes = b->width * tokens * 2.0 * (double)keys_width;
    b->work->context_query_bytes = b->width * tokens * (double)queries_width;
    if (gate > 0) { /* reads output and gate, and writes one */
        double gated = b->width * tokens * (double)gate;
        builder_stream(b, "gate", 3.0 * gated, 5.0 * gated);
    }
    double outputs = b->software->copies ? 2.0 : 1.0;
    return b->width * tokens * ((1.0 + outputs) * (double)queries_width + 2.0 * (double)(gate + keys_width));
}

/* A backward pass of a scan has two gradients for each product, and makes the states of its chunks again
 * (flash-linear-attention's chunk_gated_delta_rule and chunk_kda, mamba_ssm's mamba_chunk_scan_combined). */
#define SCAN_BACKWARD 3.0

/* A mixer without a softmax over tokens, or the indexer of one with: its products, the convolution, gate and norm
 * between them, and what chunks of tokens exchange through the states of heads. Returns bytes kept. */
static double add_mixer(struct builder *b, const struct block_kind *kind)
{
    const struct architecture *model = b->model;
    int tensor = b->split->degrees.tensor;
    double tokens = (double)b->tokens, moved = b->width * tokens * block_value(&kind->passes, model, tensor);
    int64_t own = builder_cut(b->split->sequence, b->split->degrees.context);
    for (int i = 0; i < kind->product_count; i++) {
        const struct block_product *product = &kind->products[i];
        builder_linear(b, (struct linear){product->name, 1, b->tokens,
                                          (int64_t)block_value(&product->in, model, tensor),
                                          (int64_t)block_value(&product->out, model, tensor),
                                          i == 0 ? TARGET_QUERY | TARGET_KEY | TARGET_VALUE : 0, 0});
    }
    builder_stream(b, "convolution, gate, norm", moved, 2.0 * moved);
    unsigned modules = b->modules;
    b->modules |= MODULE(CORE_ATTENTION);
    for (int i = 0; i < kind->scan_count; i++) {
        const struct block_scan *scan = &kind->scan[i];
        struct kernel kernel = {.kind = KERNEL_GEMM, .name = "scan", .inner = true};
        kernel.type = cost_type_bytes(b->split->type) <= 1.0 ? COST_BF16 : b->split->type;
        kernel.size.batch = b->split->microbatch * (int64_t)block_value(&scan->heads, model, tensor) *
                            ((own + model->linear_chunk - 1) / model->linear_chunk);
        kernel.size.m = (int64_t)block_value(&scan->rows, model, tensor);
        kernel.size.n = (int64_t)block_value(&scan->columns, model, tensor);
        kernel.size.k = (int64_t)block_value(&scan->inner, model, tensor);
        builder_forward(b, kernel);
        kernel.repeats = SCAN_BACKWARD;
        builder_backward(b, kernel);
    }
    b->modules = modules;
    int64_t out = (int64_t)block_value(&kind->out, model, tensor);
    if (out > 0) {
        builder_linear(b,
                       (struct linear){"mixer output", 1, b->tokens, out, model->hidden, TARGET_OUTPUT, 0});
        /* context parallel ranks hand on the states of heads, or all that heads have */
        b->work->context_bytes =
            b->width * (double)b->split->microbatch * (double)out * (double)model->linear_key_width;
        b->work->context_query_bytes = b->width * tokens * (double)out;
    }
    b->work->parameters += block_value(&kind->vectors, model, tensor);
    return b->width * tokens * block_value(&kind->kept, model, tensor);
}

/* An indexer's scores of all keys, of which each token has those before it; it learns from attention's. */
static double add_indexer(struct builder *b)
{
    const struct architecture *model = b->model;
    int64_t own = builder_cut(b->split->sequence, b->split->degrees.context);
    struct kernel kernel = {.kind = KERNEL_GEMM, .name = "index", .inner = true, .causal = true};
    kernel.type = b->split->type;
    double kept = add_mixer(b, block_mixer('s'));
    kernel.size = (struct product_size){b->split->microbatch * model->index_heads, own, b->split->sequence,
                                        model->index_width};
    kernel.repeats = 0.5;
    builder_forward(b, kernel);
    kernel.repeats = 2.0 * 0.5;
    builder_backward(b, kernel);
    return kept;
}

/* A decoder's second attention: queries of its own, keys and values of the encoder's output. Returns bytes kept. */
static double add_cross_attention(struct builder *b)
{
    const struct architecture *model = b->model;
    int64_t queries_width = builder_cut(model->heads * model->head_width, b->split->degrees.tensor);
    int64_t keys_width = builder_cut(model->kv_heads * model->head_width, b->split->degrees.tensor);
    builder_linear(
        b, (struct linear){"cross query", 1, b->tokens, model->hidden, queries_width, TARGET_QUERY, 0});
    builder_linear(b, (struct linear){"cross key, value", 1, b->tokens, model->hidden, 2 * keys_width,
                                      TARGET_KEY | TARGET_VALUE, 0});
    add_attention(b, builder_cut(b->split->sequence, b->split->degrees.context), b->split->sequence,
                  model->head_width, false);
    builder_linear(
        b, (struct linear){"cross output", 1, b->tokens, queries_width, model->hidden, TARGET_OUTPUT, 0});
    b->work->parameters += (double)model->hidden;
    return b->width * (double)b->tokens * (2.0 * (double)queries_width + 2.0 * (double)keys_width);
}

/* Multi-head latent attention: queries, and keys and values, through narrow matrices first. */
static double add_latent_attention(struct builder *b, bool causal, int64_t keys)
{
    const struct architecture *model = b->model;
    int64_t heads = builder_cut(model->heads, b->split->degrees.tensor), tokens = b->tokens;
    int64_t query = model->nope_width + model->rope_width;
    int64_t into_query = model->query_rank ? model->query_rank : model->hidden;
    if (model->query_rank)
        builder_linear(
            b, (struct linear){"query down", 1, tokens, model->hidden, model->query_rank, TARGET_QUERY, 0});
    builder_linear(b, (struct linear){"key, value down", 1, tokens, model->hidden,
                                      model->kv_rank + model->rope_width, TARGET_KEY, 0});
    b->modules |= MODULE(LATENT_UP);
    builder_linear(b, (struct linear){"query up", 1, tokens, into_query, heads * query, TARGET_QUERY, 0});
    builder_linear(b, (struct linear){"key, value up", 1, tokens, model->kv_rank,
                                      heads * (model->nope_width + model->value_width), TARGET_VALUE, 0});
    b->modules &= ~MODULE(LATENT_UP);
    add_attention(b, builder_cut(b->split->sequence, b->split->degrees.context), keys,
                  (query + model->value_width) / 2, causal);
    builder_linear(b, (struct linear){"attention output", 1, tokens, heads * model->value_width,
                                      model->hidden, TARGET_OUTPUT, 0});
    double down = (double)model->query_rank + (double)model->kv_rank + (double)model->rope_width;
    double up = (double)heads * (double)(query + model->nope_width + model->value_width);
    double out = (double)heads * (double)model->value_width;
    b->work->context_bytes = b->width * (double)tokens * (double)(heads * (query + model->value_width));
    b->work->context_query_bytes = b->work->context_bytes / 2.0; /* as wide as keys, outputs as values */
    return b->width * (double)tokens * (down * b->narrow + out) +
           builder_piece(b, MODULE(LATENT_UP), b->width * (double)tokens * up);
}

/* Two matrices from and to `hidden`, or three when gated, with the activation between; `copies` experts. `module`: it is
 * made again with the whole, `activation`: the activation by itself. Returns bytes kept. */
static double add_mlp(struct builder *b, const char *const names[2], int64_t copies, int64_t tokens,
                      int64_t hidden, int64_t width, unsigned module, unsigned activation)
{
    b->modules |= module;
    const struct architecture *model = b->model;
    int64_t in = model->gated ? 2 * width : width;
    bool plain = module != 0; /* experts have no adapters */
    /* a kernel casts what it activates; of experts it is their product, which leaves gradients of biases to others
     * (Transformer Engine, pytorch/ops, 2026) */
    bool fused = b->split->fused_mlp && (plain || !model->biased);
    double middle =
        b->width * (double)copies * (double)tokens * (double)width * (fused ? 1.0 : b->software->middle);
    unsigned first_matrices = !plain ? 0 : model->gated ? TARGET_GATE | TARGET_UP : TARGET_UP;
    double kept = b->width * (double)copies * (double)tokens;
    b->cast_behind = fused;
    builder_linear(b, (struct linear){names[0], copies, tokens, hidden, in, first_matrices, 0});
    b->cast_behind = false;
    /* reads the result of the first matrix, writes the input of the second; backward also reads the gradient. Fused,
     * experts read what was activated in the backward pass alone */
    b->modules |= activation;
    bool inside = fused && !plain;
    builder_stream(b, "activation", inside ? 0.0 : middle * (model->gated ? 3.0 : 2.0),
                   inside ? kept * (double)in : middle * (model->gated ? 5.0 : 3.0));
    b->modules &= ~activation;
    b->cast_before = fused;
    builder_linear(b, (struct linear){names[1], copies, tokens, width, hidden, plain ? TARGET_DOWN : 0, 0});
    b->cast_before = false;
    /* a frozen second matrix has no gradient that its input is for, its adapter has; those of one kernel for each
     * operation keep as much */
    bool frozen = b->split->frozen && !b->software->eager;
    double first =
        frozen && b->split->middle_width > 0.0 ? fmin(b->split->middle_width / b->width, 1.0) : 1.0;
    double activated =
        (b->software->eager || b->software->copies) && model->gated ? kept * (double)width : 0.0;
    kept =
        builder_piece(b, b->modules, kept * (double)in * first) +
        builder_piece(
            b, b->modules | activation,
            (frozen && !(plain && builder_adapted(b, TARGET_DOWN)) ? 0.0 : kept * (double)width * b->narrow) +
                activated);
    b->modules &= ~module;
    return kept;
}

static double add_dense_mlp(struct builder *b)
{
    static const char *const names[2] = {"mlp in", "mlp out"};
    const struct architecture *model = b->model;
    int64_t width = builder_cut(model->ffn, b->split->degrees.tensor);
    return add_mlp(b, names, 1, b->tokens, model->hidden, width, MODULE(MLP), 0);
}

/* Router, dispatch, experts, combination. With expert parallelism each tensor parallel rank sends its share of the
 * tokens, and an expert is on one device, or split over as many as its own tensor parallel degree says, which then
 * gather the tokens that each of them was sent. Without expert parallelism experts are split like a dense MLP. */
static double add_experts(struct builder *b)
{
    static const char *const names[2] = {"experts in", "experts out"};
    static const char *const shared_names[2] = {"shared expert in", "shared expert out"};
    const struct architecture *model = b->model;
    const struct layer_split *split = b->split;
    bool whole = split->degrees.expert > 1;
    int64_t experts = builder_cut(model->experts, split->degrees.expert);
    int64_t tokens = whole ? builder_cut(b->tokens, split->degrees.tensor) : b->tokens;
    int ranks = !whole ? split->degrees.tensor : split->expert_tensor > 1 ? split->expert_tensor : 1;
    int64_t width = builder_cut(model->expert_ffn, ranks);
    double busy = whole && split->imbalance > 1.0 ? split->imbalance : 1.0;
    int64_t gathered = (int64_t)((double)(whole ? tokens * ranks : tokens) * busy);
    int64_t hidden = model->expert_latent > 0 ? model->expert_latent : model->hidden;
    double sent = (double)tokens * (double)model->active_experts * (double)hidden * b->width;
    b->modules |= MODULE(EXPERTS);
    builder_linear(b, (struct linear){"router", 1, tokens, model->hidden, model->experts, 0, 0});
    if (hidden != model->hidden) {
        builder_linear(b, (struct linear){"experts down", 1, tokens, model->hidden, hidden, 0, 0});
        builder_linear(b, (struct linear){"experts up", 1, tokens, hidden, model->hidden, 0, 0});
    }
    builder_stream(b, "dispatch, combine", 4.0 * sent * busy, 6.0 * sent * busy);
    double others = b->work->parameters;
    struct layer_low low = b->work->low;
    b->work->low = (struct layer_low){0.0, 0.0, 0.0};
    double combined = b->software->weighs_inside || b->narrow < 1.0 ? 0.0 : 1.0;
    double kept =
        add_mlp(b, names, experts, builder_cut(gathered * model->active_experts, experts), hidden, width, 0,
                MODULE(EXPERT_ACTIVATION)) +
        builder_piece(b, MODULE(EXPERTS), ((whole ? ranks : 1) * b->narrow + combined) * busy * sent);
    b->work->expert_bytes = whole ? sent : 0.0;
    b->work->expert_parameters = b->work->parameters - others;
    b->work->expert_low = b->work->low;
    b->work->low = low;
    b->work->parameters = others;
    if (model->shared_experts > 0) {
        int64_t all = model->shared_ffn > 0 ? model->shared_ffn : model->shared_experts * model->expert_ffn;
        int64_t shared = builder_cut(all, split->degrees.tensor);
        kept += add_mlp(b, shared_names, 1, b->tokens, model->hidden, shared, MODULE(SHARED_EXPERTS), 0);
    }
    b->modules = 0;
    return kept;
}

/* What is before and behind the blocks of a tower: of each of its patches, and of each token that they become. */
static void add_tower_ends(struct builder *b)
{
    const struct architecture *model = b->model;
    const struct block_kind *kind = block_tower(model->vision);
    int64_t patches = builder_cut(b->split->microbatch * model->vision_patches, b->split->degrees.context);
    for (int i = 0; kind && i < kind->product_count; i++) {
        const struct block_product *product = &kind->products[i];
        int64_t rows = product->each_patch ? patches : builder_cut(patches, model->vision_merge);
        int64_t out = (int64_t)block_value(&product->out, model, 1);
        if (out > 0)
            builder_linear(b, (struct linear){product->name, 1, rows,
                                              (int64_t)block_value(&product->in, model, 1), out, 0, 0});
    }
    b->work->parameters += kind ? block_value(&kind->vectors, model, 1) : 0.0;
}

void transformer_embedding(struct layer_work *work, const struct architecture *model,
                           const struct layer_split *split)
{
    struct builder b;
    builder_begin(&b, work, model, split);
    double hidden = (double)model->hidden, moved = b.width * (double)b.tokens * hidden;
    if (model->patch > 0) {
        int64_t pixels = 3 * model->patch * model->patch;
        builder_linear(&b, (struct linear){"patches", 1, b.tokens, pixels, model->hidden, 0, 0});
        work->parameters += hidden;
    }
    if (model->vision_layers > 0)
        add_tower_ends(&b);
    builder_stream(&b, "embedding", 3.0 * moved, 4.0 * moved);
    work->parameters += ceil((double)model->vocabulary / split->degrees.tensor) * hidden +
                        (double)(model->positions + model->token_types) * hidden;
    work->input_bytes = work->output_bytes = moved;
    work->activation_bytes = work->selective_bytes =
        model->dropout ? (double)b.tokens * hidden * b.share : 0.0;
    builder_finish(&b);
}

/* Returns what tensor parallel ranks exchange, of 16 bits: an all-reduce is a scatter of sums, and a gather of what may
 * be narrow. */
static double exchanged_width(const struct layer_split *split)
{
    bool narrow = split->software->narrow_gathered && split->type == COST_FP8 &&
                  (split->recipe == RECIPE_USUAL || split->recipe == RECIPE_TENSORWISE);
    return narrow ? 0.75 : 1.0;
}

/* A long copy's rate, of a stream's alone: a stream reaches 0.92 of an H100's bandwidth, so that a copy reaches 0.8 of
 * it, as an optimizer's step does. */
#define COPY_RATE 0.87

/* Two gathers and two scatters each way are copied. The gradients of what was gathered are whole on each rank, three of
 * queries, keys and values and two of a gated MLP: they are added up in the copy before the scatter. */
static void add_copies(struct builder *b, double row, bool gated, double parts)
{
    if (b->split->degrees.tensor == 1 || !b->software->gathers_copied)
        return;
    double gathers = 2.0 * 2.0 * (2.0 * exchanged_width(b->split) - 1.0);
    struct kernel copies = {.kind = KERNEL_STREAM, .name = "copies of exchanges", .rate = COPY_RATE};
    copies.bytes = (gathers + 2.0 * 2.0) * row * parts;
    builder_forward(b, copies);
    copies.bytes = (gathers + 4.0 + (gated ? 3.0 : 2.0)) * row * parts;
    builder_backward(b, copies);
}

/* How a block mixes tokens: of all of them, or the keys of a window or an index. Returns bytes kept. */
static double add_mixing(struct builder *b, char mixer, bool causal)
{
    const struct architecture *model = b->model;
    const struct block_kind *kind = mixer == 's' ? NULL : block_mixer(mixer);
    int64_t all = b->split->sequence, keys = mixer == 'w'   ? model->window
                                             : mixer == 's' ? model->index_keys
                                                            : all;
    if (mixer == '-')
        return 0.0;
    if (kind)
        return add_mixer(b, kind);
    double index = mixer == 's' ? add_indexer(b) : 0.0;
    bool few = keys < all;
    keys = few ? keys : all;
    return index + (model->kv_rank > 0 ? add_latent_attention(b, causal && !few, keys)
                                       : add_plain_attention(b, causal && !few, keys));
}

void transformer_block(struct layer_work *work, const struct architecture *whole, int block,
                       const struct layer_split *given)
{
    struct builder b;
    struct layer_split seen = *given;
    struct architecture at = architecture_at(whole, block);
    const struct architecture *model = &at;
    bool sees = block < whole->vision_layers, encodes = block < whole->encoder_layers;
    int own = sees || encodes ? block : block - architecture_first_block(whole);
    if (sees) {
        seen.sequence = whole->vision_patches;
        seen.document = 0;
    }
    const struct layer_split *split = sees ? &seen : given;
    builder_begin(&b, work, model, split);
    const struct software *software = split->software;
    char mixer = architecture_mixer(model, own), then = encodes ? 'd' : architecture_mlp(model, own);
    bool alone = mixer == '-' || then == '-'; /* a mixer or an MLP, with one norm */
    double tokens = (double)b.tokens, hidden = (double)model->hidden;
    double row = b.width * tokens * hidden; /* bytes of the activations between blocks */

    bool crosses = !encodes && model->encoder_layers > 0;
    double parts = crosses ? 1.5 : alone ? 0.5 : 1.0; /* three times norm and residual, or once, not twice */
    builder_passes(&b, "norms, residuals", software->block_forward * parts, software->block_backward * parts,
                   row * b.share);
    double further =
        model->block_norms > 2 ? model->block_norms - 2.0 : 0.0; /* each reads and writes its row */
    builder_stream(&b, "further norms", further * 2.0 * row * b.share, further * 3.0 * row * b.share);
    add_copies(&b, row, model->gated, alone ? 0.5 : 1.0);
    double split_kept = add_mixing(&b, mixer, model->causal && !encodes);
    if (crosses)
        split_kept += add_cross_attention(&b);
    bool dense = then == 'd';
    split_kept += dense ? add_dense_mlp(&b) : then == 'e' ? add_experts(&b) : 0.0;
    work->parameters += (2.0 * parts + further) * hidden * (model->rms_norm ? 1.0 : 2.0);
    if (model->biased)
        work->parameters += (hidden * 3.0 + (double)model->ffn) / split->degrees.tensor + 2.0 * hidden;

    /* two inputs of norms, two of matrices, two masks (Korthikanti et al. 2022, arXiv:2205.05198, section 4) */
    bool frozen = split->frozen && !software->eager;
    double inputs = 2.0; /* of matrices behind norms; of frozen ones, where they have adapters */
    if (frozen)
        inputs = (builder_adapted(&b, TARGET_QUERY | TARGET_KEY | TARGET_VALUE) ? 1.0 : 0.0) +
                 (dense && builder_adapted(&b, TARGET_GATE | TARGET_UP) ? 1.0 : 0.0);
    double rows = parts * ((2.0 + inputs * b.narrow) * row + (model->dropout ? 2.0 * tokens * hidden : 0.0));
    if (software->eager &&
        model->rms_norm) /* of each norm: its input in fp32, and its result before trained weights */
        rows += parts * 2.0 * 4.0 * tokens * hidden;
    /* a product that widens its frozen weights is an operation of its own, which keeps its input beside that of the
     * adapter: of the attention's matrices and the first of the MLP (bitsandbytes' MatMul4Bit) */
    if (software->eager && split->frozen && split->weight_bytes > 0.0)
        rows += parts * 3.0 * row;
    double unscored = (rows + further * row) * b.share + split_kept;
    bool adapters =
        frozen && split->rank > 0; /* beside fused norms and products, whose gathered input they keep */
    if ((software->keeps_inputs || adapters) && split->degrees.tensor > 1) {
        unscored += parts * inputs * b.narrow * row * (1.0 - b.share);
        work->working_bytes += row; /* a sum before it is scattered */
    }
    builder_piece(&b, MODULE(NORMS), parts * inputs * b.narrow * row * b.share);
    work->norms = (struct kernel){.kind = KERNEL_STREAM, .name = "norms", .repeats = 2.0 * parts};
    work->norms.bytes = 2.0 * row * b.share;
    work->selective_bytes = unscored * software->selective_kept;
    work->activation_bytes += unscored;
    work->input_bytes = row * b.share;
    work->working_bytes += split_kept + row;
    work->output_bytes = row;
    work->tensor_bytes = split->degrees.tensor > 1 ? row * exchanged_width(split) : 0.0;
    work->tensor_forward = work->tensor_backward = split->degrees.tensor > 1 ? (crosses ? 3
                                                                                : alone ? 1
                                                                                        : 2)
                                                                             : 0;
    builder_finish(&b);
}

void transformer_join(struct layer_work *work, const struct architecture *model,
                      const struct layer_split *split)
{
    struct builder b;
    builder_begin(&b, work, model, split);
    double row = b.width * (double)b.tokens * (double)model->hidden;
    builder_passes(&b, "norms", 2.0 * PASSES, 3.0 * PASSES, row * b.share);
    builder_linear(&b, (struct linear){"join", 1, b.tokens, 2 * model->hidden,
                                       builder_cut(model->hidden, split->degrees.tensor), 0, 0});
    work->activation_bytes = work->selective_bytes = 4.0 * row * b.share;
    builder_finish(&b);
}

void transformer_head(struct layer_work *work, const struct architecture *model,
                      const struct layer_split *split)
{
    struct builder b;
    builder_begin(&b, work, model, split);
    int64_t outputs = model->vocabulary > 0 ? model->vocabulary : model->classes;
    int64_t tokens = model->vocabulary > 0 ? b.tokens : split->microbatch;
    int64_t width = builder_cut(outputs, split->degrees.tensor);
    double hidden = (double)model->hidden, row = b.width * (double)tokens * hidden;
    double logits = (double)tokens * (double)width;
    struct layer_split plain =
        *split; /* the last matrix is not multiplied in narrow types, nor kept in them */
    plain.type = cost_type_bytes(split->type) <= 1.0 ? COST_BF16 : split->type;
    plain.weight_bytes = 0.0;
    b.split = &plain;
    b.end = true;
    builder_stream(&b, "norm", 2.0 * row, 3.0 * row);
    if (model->masked)
        builder_linear(&b, (struct linear){"transform", 1, tokens, model->hidden, model->hidden, 0, 0});
    builder_linear(&b, (struct linear){"logits", 1, tokens, model->hidden, width, 0, 0});
    builder_stream(&b, "loss", split->software->loss * logits / 2.0, split->software->loss * logits / 2.0);
    work->parameters += hidden * (model->rms_norm ? 1.0 : 2.0);
    if (model->masked)
        work->parameters += 3.0 * hidden + (double)width;
    if (model->tied) /* the matrix of the embedding */
        work->parameters -= hidden * (double)width;
    double split_kept = split->degrees.tensor > 1 ? split->software->loss_kept_split : 0.0;
    work->activation_bytes = work->selective_bytes =
        2.0 * row + logits * (split_kept > 0.0 ? split_kept : split->software->loss_kept);
    work->input_bytes = row;
    work->output_bytes = 0.0;
    builder_finish(&b);
}
