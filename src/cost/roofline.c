#include "cost/roofline.h"

#include <math.h>
#include <string.h>

/* Backward: twice the arithmetic and traffic of forward, as each product has two gradients. */
#define BACKWARD 2.0

#define TOKEN_BYTES 8 /* of a token's number */

/* Kernels without fusion: lookups and sum; two norms, Q, K, V, scores, softmax, values, output, two sums, and
 * the MLP's products and activation; norm, product, softmax of the loss. */
#define EMBEDDING_KERNELS 2
#define BLOCK_KERNELS     14
#define GATE_KERNELS      2 /* the second product and the multiplication */
#define ROUTER_KERNELS    2
#define HEAD_KERNELS      3
#define MASKED_KERNELS    2

static double tokens(const struct cost_model *model, const struct cost_options *options)
{
    return (double)options->microbatch_size * (options->sequence ? options->sequence : model->sequence);
}

/* Parameters are read once, what is kept for the backward pass is written once and read by the next
 * kernel. */
static double forward_traffic(const struct cost_layer *layer, double width)
{
    return layer->parameters * width + 2 * layer->activation_bytes;
}

struct cost_layer cost_embedding(const struct cost_model *model, const struct cost_options *options)
{
    double width = cost_type_bytes(options->precision);
    double t = tokens(model, options);
    double h = model->hidden;
    struct cost_layer layer = {.kernels = EMBEDDING_KERNELS, .parameters = cost_embedding_parameters(model)};
    layer.output_bytes = t * h * width;
    layer.activation_bytes =
        t * TOKEN_BYTES + (model->dropout ? t * h : 0) + (model->masked ? t * h * width : 0);
    /* only the rows that are looked up are read */
    layer.bytes = t * TOKEN_BYTES + 2 * layer.output_bytes;
    return layer;
}

/* Korthikanti et al. 2022, arXiv:2205.05198, section 4.1, equation 1: s b h (34 + 5 a s / h) bytes in 16
 * bits; here term by term for other widths, grouped queries, gates and experts. */
static double block_activation_bytes(const struct cost_model *model, const struct cost_options *options)
{
    double width = cost_type_bytes(options->precision);
    double t = tokens(model, options);
    double h = model->hidden;
    double kv = h / model->heads * model->kv_heads;
    double scores = t * (t / options->microbatch_size) * model->heads;
    double mask = model->dropout ? 1 : 0;
    double norms = 2 * t * h * width;
    double attention = (3 * t * h + 2 * t * kv) * width + mask * t * h; /* input, Q, output; K and V; mask */
    if (model->keeps_scores)
        attention += scores * width + mask * scores * (width + 1); /* softmax; after dropout, and its mask */
    double inner = (model->gated ? 3 : 2) * t * model->feed_forward * model->active_experts;
    double mlp = t * h * width + inner * width + mask * t * h;
    return norms + attention + mlp;
}

/* Narayanan et al. 2021, arXiv:2104.04473, appendix: 24 b s h^2 + 4 b s^2 h forward; a causal mask saves
 * nothing. */
struct cost_layer cost_block(const struct cost_model *model, const struct cost_options *options)
{
    double t = tokens(model, options);
    double h = model->hidden;
    double kv = h / model->heads * model->kv_heads;
    double matrices = model->gated ? 3 : 2;
    struct cost_layer layer = {.kernels = BLOCK_KERNELS, .parameters = cost_block_parameters(model)};
    layer.flops = 2 * t * h * (2 * h + 2 * kv);                                        /* Q, output, K, V */
    layer.flops += 4 * t * (t / options->microbatch_size) * h;                         /* scores, values */
    layer.flops += 2 * t * h * matrices * model->feed_forward * model->active_experts; /* MLP */
    if (model->experts > 1) {
        layer.flops += 2 * t * h * model->experts;
        layer.kernels += ROUTER_KERNELS;
    }
    if (model->gated)
        layer.kernels += GATE_KERNELS;
    layer.activation_bytes = block_activation_bytes(model, options);
    layer.output_bytes = t * h * cost_type_bytes(options->precision);
    layer.bytes = forward_traffic(&layer, cost_type_bytes(options->precision));
    return layer;
}

/* Parameters: a pipeline keeps a tied matrix at both ends. Activations: inputs of norm and product, and the
 * logits in 32 bits (arXiv:2205.05198, section 4.3). */
struct cost_layer cost_head(const struct cost_model *model, const struct cost_options *options)
{
    double width = cost_type_bytes(options->precision);
    double t = tokens(model, options);
    double h = model->hidden;
    double v = model->vocabulary;
    struct cost_layer layer = {.kernels = HEAD_KERNELS, .parameters = cost_head_parameters(model)};
    layer.parameters += model->tied ? h * v : 0;
    layer.flops = 2 * t * h * v;
    layer.activation_bytes = 2 * t * h * width + 4 * t * v;
    if (model->masked) {
        layer.flops += 2 * t * h * h;
        layer.activation_bytes += 2 * t * h * width;
        layer.kernels += MASKED_KERNELS;
    }
    layer.bytes = forward_traffic(&layer, width);
    return layer;
}

static double pass_seconds(const struct cost_layer *layer, const struct cost_device *device,
                           enum cost_type precision, double passes)
{
    double arithmetic = layer->flops / (COST_EFFICIENCY * device->peak[precision]);
    double traffic = layer->bytes / device->bandwidth;
    double seconds = passes * (fmax(arithmetic, traffic) + layer->kernels * COST_LAUNCH);
    /* Whole nanoseconds: more digits would claim more than is known. */
    return nearbyint(seconds * 1e9) / 1e9;
}

double cost_seconds(const struct cost_layer *layer, const struct cost_device *device,
                    enum cost_type precision)
{
    return pass_seconds(layer, device, precision, 1);
}

/* ---- the profile ---- */

static bool check_options(const struct cost_model *model, const struct cost_device *const *devices,
                          int device_count, const struct cost_options *options, struct error *err)
{
    if (model->positions && options->sequence > model->positions)
        return error_set(err, ERROR_USAGE, "'%s' has %d positions: a sequence of %d tokens does not fit",
                         model->name, model->positions, options->sequence);
    for (int d = 0; d < device_count; d++) {
        if (devices[d]->peak[options->precision] <= 0)
            return error_set(err, ERROR_USAGE, "'%s' does not compute in %s", devices[d]->name,
                             cost_type_name(options->precision));
        for (int other = 0; other < d; other++)
            if (devices[other] == devices[d])
                return error_set(err, ERROR_USAGE, "device '%s' is named twice", devices[d]->name);
    }
    const struct cost_layer block = cost_block(model, options);
    const struct cost_layer head = cost_head(model, options);
    if (fmax(block.activation_bytes, head.activation_bytes) >= 0x1p53)
        return error_set(err, ERROR_USAGE,
                         "a micro-batch of %d samples is too large: a layer would keep 2^53 bytes or more",
                         options->microbatch_size);
    return true;
}

static struct cost_layer layer_at(const struct cost_model *model, const struct cost_options *options, int i)
{
    if (i == 0)
        return cost_embedding(model, options);
    return i <= model->blocks ? cost_block(model, options) : cost_head(model, options);
}

static const char *layer_name(struct arena *arena, const struct cost_model *model, int i)
{
    if (i == 0)
        return arena_string(arena, "embedding");
    return i <= model->blocks ? arena_format(arena, "block %d", i) : arena_string(arena, "head");
}

static bool fill_layers(struct profile *profile, const struct cost_model *model,
                        const struct cost_options *options)
{
    profile->layer_count = model->blocks + 2;
    profile->layers = ARENA_ARRAY(&profile->arena, (size_t)profile->layer_count, struct profile_layer);
    for (int i = 0; profile->layers && i < profile->layer_count; i++) {
        struct cost_layer layer = layer_at(model, options, i);
        profile->layers[i] = (struct profile_layer){
            .name = layer_name(&profile->arena, model, i),
            .parameter_bytes = (int64_t)(layer.parameters * cost_type_bytes(options->precision)),
            .activation_bytes = (int64_t)layer.activation_bytes,
            .output_bytes = (int64_t)layer.output_bytes,
        };
        if (!profile->layers[i].name)
            return false;
    }
    return profile->layers;
}

static bool fill_device(struct profile *profile, struct profile_device *device,
                        const struct cost_model *model, const struct cost_device *from,
                        const struct cost_options *options)
{
    device->name = arena_string(&profile->arena, from->name);
    device->path = profile->path;
    device->forward = ARENA_ARRAY(&profile->arena, (size_t)profile->layer_count, double);
    device->backward = ARENA_ARRAY(&profile->arena, (size_t)profile->layer_count, double);
    if (!device->name || !device->forward || !device->backward)
        return false;
    for (int i = 0; i < profile->layer_count; i++) {
        struct cost_layer layer = layer_at(model, options, i);
        device->forward[i] = pass_seconds(&layer, from, options->precision, 1);
        device->backward[i] = pass_seconds(&layer, from, options->precision, BACKWARD);
    }
    return true;
}

static bool fill_profile(struct profile *profile, const struct cost_model *model,
                         const struct cost_device *const *devices, int device_count,
                         const struct cost_options *options)
{
    struct arena *arena = &profile->arena;
    profile->path = arena_string(arena, model->name);
    profile->model = arena_string(arena, model->name);
    profile->source = arena_format(
        arena, "roofline: %s, sequences of %d tokens, %.0f %% of peak", cost_type_name(options->precision),
        options->sequence ? options->sequence : model->sequence, 100 * COST_EFFICIENCY);
    profile->microbatch_size = options->microbatch_size;
    profile->devices = ARENA_ARRAY(arena, (size_t)device_count, struct profile_device);
    if (!profile->path || !profile->model || !profile->source || !profile->devices ||
        !fill_layers(profile, model, options))
        return false;
    for (; profile->device_count < device_count; profile->device_count++)
        if (!fill_device(profile, &profile->devices[profile->device_count], model,
                         devices[profile->device_count], options))
            return false;
    return true;
}

bool cost_profile(struct profile *profile, const struct cost_model *model,
                  const struct cost_device *const *devices, int device_count,
                  const struct cost_options *options, struct error *err)
{
    memset(profile, 0, sizeof *profile);
    if (!check_options(model, devices, device_count, options, err))
        return false;
    if (fill_profile(profile, model, devices, device_count, options))
        return true;
    profile_release(profile);
    return error_memory(err);
}
