#include "cost/model_profile.h"

#include "cost/collective.h"
#include "cost/profile_devices.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct maker {
    struct profile *profile;
    const struct architecture *model;
    const struct model_options *options;
    struct layer_split split;
};

bool model_check_precision(const struct cost_device *device, enum model_precision precision,
                           struct error *err)
{
    if (precision == MODEL_MIXED || precision == MODEL_FP32 || device->peak[model_wanted(precision)] > 0.0)
        return true;
    struct text has = {0};
    for (int t = 0; t < COST_TYPE_COUNT; t++)
        if (device->peak[t] > 0.0 && t != COST_FP64 && t != COST_INT8)
            text_format(&has, "%s%s", has.length > 0 ? ", " : "", cost_type_name((enum cost_type)t));
    error_set(err, ERROR_INFEASIBLE, "--precision %s: '%s' has no matrix products in it, only in %s",
              model_precisions[precision], device->name, has.data ? has.data : "fp32");
    text_release(&has);
    return false;
}

/* Returns whether activations and parameters are kept in 32 bits. */
static bool is_wide(enum model_precision precision)
{
    return precision == MODEL_FP32 || precision == MODEL_TF32;
}

enum cost_type model_type(const struct cost_device *device, enum model_precision precision)
{
    return cost_device_type(device, model_wanted(precision));
}

int model_layer_count(const struct architecture *model)
{
    return model->layers + architecture_first_block(model) + 2;
}

void model_layer_work(struct layer_work *work, const struct architecture *model, int layer,
                      const struct layer_split *split)
{
    if (layer == 0)
        transformer_embedding(work, model, split);
    else if (layer == model_layer_count(model) - 1)
        transformer_head(work, model, split);
    else
        transformer_block(work, model, layer - 1, split);
}

static const char *layer_name(struct arena *arena, const struct architecture *model, int layer)
{
    if (layer == 0)
        return arena_string(arena, "embedding");
    if (layer <= model->vision_layers)
        return arena_format(arena, "vision block %d", layer);
    layer -= model->vision_layers;
    return layer <= model->layers + model->encoder_layers ? arena_format(arena, "block %d", layer)
                                                          : arena_string(arena, "head");
}

static double kept_bytes(const struct maker *m, int layer, const struct layer_work *work)
{
    bool block = layer > 0 && layer < model_layer_count(m->model) - 1;
    if (block && m->options->recompute == RECOMPUTE_FULL)
        return work->input_bytes;
    return block && m->options->recompute == RECOMPUTE_SELECTIVE ? work->selective_bytes
                                                                 : work->activation_bytes;
}

static bool fill_layers(struct maker *m)
{
    struct profile *profile = m->profile;
    double width = is_wide(m->options->precision) ? 4.0 : 2.0;
    profile->layer_count = model_layer_count(m->model);
    profile->layers = ARENA_ARRAY(&profile->arena, (size_t)profile->layer_count, struct profile_layer);
    m->split.type = is_wide(m->options->precision) ? COST_FP32 : COST_BF16;
    for (int i = 0; profile->layers && i < profile->layer_count; i++) {
        struct layer_work work;
        model_layer_work(&work, m->model, i, &m->split);
        double parameters = work.parameters + work.expert_parameters;
        /* a tied matrix is at both ends of a pipeline */
        if (i == profile->layer_count - 1 && m->model->tied)
            parameters += (double)m->model->hidden * (double)m->model->vocabulary / m->split.degrees.tensor;
        profile->layers[i] = (struct profile_layer){
            .name = layer_name(&profile->arena, m->model, i),
            .parameter_bytes = (int64_t)(parameters * width),
            .activation_bytes = (int64_t)kept_bytes(m, i, &work),
            .output_bytes = (int64_t)work.output_bytes,
        };
        if (!profile->layers[i].name)
            return false;
    }
    return profile->layers;
}

/* Whole nanoseconds: more digits would claim more than is known. */
static double rounded(double seconds)
{
    return fmax(nearbyint(seconds * 1e9), 1.0) / 1e9;
}

/* Returns the seconds of kernels; `core`: only of those that selective recomputation runs again. */
static double kernels(const struct layer_work *work, int first, int count, bool core,
                      const struct cost_device *device, const struct calibration *calibration)
{
    double seconds = 0.0;
    for (int i = first; i < first + count; i++)
        if (!core || work->modules[i] >> MODULE_CORE_ATTENTION & 1)
            seconds += kernel_time(&work->kernels[i], device, calibration).seconds;
    return seconds;
}

static void time_layer(void *context, struct profile_device *to, int layer, const struct cost_device *device)
{
    struct maker *m = context;
    const struct calibration *calibration = tables_calibration(m->options->tables, device);
    struct layer_work work;
    m->split.type = model_type(device, m->options->precision);
    model_layer_work(&work, m->model, layer, &m->split);
    double forward = kernels(&work, 0, work.forward_count, false, device, calibration);
    double backward =
        kernels(&work, work.forward_count, work.count - work.forward_count, false, device, calibration);
    double reduce = 0.0;
    if (m->split.degrees.tensor > 1) {
        struct collective_group group = {
            .devices = m->split.degrees.tensor,
            .devices_per_node = m->split.degrees.tensor,
            .inside = tables_link(m->options->tables, device->link),
        };
        reduce = transfer_seconds(COLLECTIVE_ALL_REDUCE, &group, work.tensor_bytes, calibration) *
                 m->split.software->tensor_shown;
    }
    forward += work.tensor_forward * reduce;
    backward += work.tensor_backward * reduce;
    if (layer > 0 && layer < model_layer_count(m->model) - 1) {
        if (m->options->recompute == RECOMPUTE_FULL)
            backward += forward;
        else if (m->options->recompute == RECOMPUTE_SELECTIVE)
            backward += m->split.software->attention == ATTENTION_UNFUSED
                            ? kernels(&work, 0, work.forward_count, true, device, calibration)
                            : m->split.software->selective * forward;
    }
    to->forward[layer] = rounded(forward);
    to->backward[layer] = rounded(backward);
}

static bool fill_profile(struct maker *m, const struct cost_device *const *devices, int device_count)
{
    static const char *const precisions[] = {"mixed precision", "fp32", "fp8", "fp4", "bf16", "fp16", "tf32"};
    struct profile *profile = m->profile;
    struct arena *arena = &profile->arena;
    profile->path = arena_string(arena, m->model->name);
    profile->model = arena_string(arena, m->model->name);
    profile->source =
        arena_format(arena, "computed: %s, sequences of %" PRId64 " tokens, tensor parallel %d, %s",
                     precisions[m->options->precision], m->split.sequence, m->split.degrees.tensor,
                     m->split.software->name);
    profile->microbatch_size = (int)m->split.microbatch;
    const struct profile_maker maker = {
        .profile = profile,
        .tables = m->options->tables,
        .reach = m->options->reach,
        .time_layer = time_layer,
        .context = m,
    };
    return profile->path && profile->model && profile->source && fill_layers(m) &&
           profile_make_devices(&maker, devices, device_count);
}

static bool check(const struct architecture *model, const struct cost_device *const *devices,
                  int device_count, const struct model_options *options, struct error *err)
{
    int64_t sequence = options->sequence ? options->sequence : model->sequence;
    if (model->positions && sequence > model->positions)
        return error_set(err, ERROR_USAGE,
                         "'%s' has %" PRId64 " positions: a sequence of %" PRId64 " tokens does not fit",
                         model->name, model->positions, sequence);
    if (model->heads % options->tensor != 0)
        return error_set(err, ERROR_USAGE, "'%s' has %" PRId64 " heads: not a multiple of tensor parallel %d",
                         model->name, model->heads, options->tensor);
    for (int d = 0; d < device_count; d++)
        if (!model_check_precision(devices[d], options->precision, err))
            return false;
    for (int d = 0; d < device_count; d++)
        for (int other = 0; other < d; other++)
            if (devices[other] == devices[d])
                return error_set(err, ERROR_USAGE, "device '%s' is named twice", devices[d]->name);
    /* the widest tensors: scores and logits */
    double tokens = (double)options->microbatch * (double)sequence;
    double widest = fmax((double)model->heads * (double)sequence, (double)model->vocabulary) * tokens * 16.0;
    if (widest >= 0x1p53)
        return error_set(err, ERROR_USAGE,
                         "a micro-batch of %" PRId64
                         " samples is too large: a layer would keep 2^53 bytes or more",
                         options->microbatch);
    return true;
}

bool model_profile(struct profile *profile, const struct architecture *model,
                   const struct cost_device *const *devices, int device_count,
                   const struct model_options *options, struct error *err)
{
    memset(profile, 0, sizeof *profile);
    if (!check(model, devices, device_count, options, err))
        return false;
    struct maker m = {
        .profile = profile,
        .model = model,
        .options = options,
        .split = {.microbatch = options->microbatch,
                  .sequence = options->sequence ? options->sequence : model->sequence,
                  .degrees = {options->tensor, 1, 1, 1, 1},
                  .software = options->software},
    };
    if (fill_profile(&m, devices, device_count))
        return true;
    profile_release(profile);
    return error_memory(err);
}
