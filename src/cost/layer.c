#include "cost/layer.h"

#include <math.h>
#include <string.h>

/* What is made on the way, for the time of making a layer. */
struct making {
    struct layer_cost *layer;
    const struct layer_options *options;
    struct module_count counts, backward_counts;
    enum argument_kind *arguments;
    struct error *err;
};

static bool has_fusions(const struct graph *graph)
{
    for (int i = 0; i < graph->count; i++)
        if (graph->at[i]->opcode == HLO_FUSION)
            return true;
    return false;
}

static void set_parameters(struct making *m, const struct graph *graph)
{
    const struct layer_options *options = m->options;
    if (!options->parameters)
        return;
    for (int i = 0; i < graph->parameter_count; i++)
        m->arguments[i] = ARGUMENT_INPUT;
    for (int i = 0; i < options->parameter_count; i++)
        if (options->parameters[i] >= 0 && options->parameters[i] < graph->parameter_count)
            m->arguments[options->parameters[i]] = ARGUMENT_PARAMETER;
}

static bool sum_bytes(struct making *m, const struct graph *graph)
{
    struct layer_cost *layer = m->layer;
    for (int i = 0; i < graph->parameter_count; i++) {
        if (!graph->parameters[i])
            continue;
        int64_t bytes = hlo_leaf_bytes(graph->parameters[i]->shape);
        *(m->arguments[i] == ARGUMENT_PARAMETER ? &layer->parameter_bytes : &layer->input_bytes) += bytes;
    }
    for (int i = 0; i < graph->count; i++)
        if (derive_is_weight(graph->at[i]))
            layer->parameter_bytes += hlo_leaf_bytes(graph->at[i]->shape);
    return derive_result_bytes(graph, &layer->output_bytes, &layer->kept_bytes, m->err);
}

static bool append(struct making *m, struct fused *to, const struct fused *from, double times)
{
    int count = to->kernel_count + from->kernel_count;
    struct fused_kernel *kernels = ARENA_ARRAY(&m->layer->arena, (size_t)count + 1, struct fused_kernel);
    if (!kernels)
        return error_memory(m->err);
    if (to->kernel_count)
        memcpy(kernels, to->kernels, (size_t)to->kernel_count * sizeof *kernels);
    for (int i = 0; i < from->kernel_count; i++) {
        kernels[to->kernel_count + i] = from->kernels[i];
        kernels[to->kernel_count + i].kernel.repeats *= times;
    }
    to->kernels = kernels;
    to->kernel_count = count;
    return true;
}

/* The backward pass, and which values the forward pass must keep for it. */
static bool derive(struct making *m, const struct graph *graph, const bool **kept)
{
    struct layer_cost *layer = m->layer;
    struct derived derived;
    struct derive_options options = {
        .no_input_gradients = m->options->is_first,
        .keep_all = m->options->keep_all,
        .arguments = m->arguments,
    };
    if (!derive_backward(&derived, &layer->arena, graph, &options, m->err))
        return false;
    struct fuse_options fuse = {
        .first = derived.first, .counts = &m->counts, .attention = m->options->attention};
    if (!fuse_graph(&layer->backward, &layer->arena, &derived.graph, &fuse, m->err))
        return false;
    for (int i = 0; i < derived.loop_count; i++) {
        struct fused loop;
        fuse.first = derived.loops[i].first;
        if (!fuse_graph(&loop, &layer->arena, &derived.loops[i].graph, &fuse, m->err) ||
            !append(m, &layer->backward, &loop, derived.loops[i].times))
            return false;
    }
    layer->kept_bytes = derived.kept_bytes;
    *kept = derived.kept;
    return true;
}

/* The given one: what it reads but parameters is what the forward pass returned for it and its inputs. */
static bool read_backward(struct making *m, const struct hlo_module *backward)
{
    struct layer_cost *layer = m->layer;
    struct count_options count = {.rules = COUNT_REHEARSE};
    struct graph graph;
    if (!module_count(&m->backward_counts, backward, &count, m->err))
        return false;
    struct fuse_options fuse = {.counts = &m->backward_counts, .attention = m->options->attention};
    layer->kept_bytes += layer->input_bytes;
    return graph_flatten(&graph, &layer->arena, backward->entry, &m->backward_counts, true, m->err) &&
           fuse_graph(&layer->backward, &layer->arena, &graph, &fuse, m->err);
}

static bool make(struct making *m, const struct hlo_module *forward, const struct hlo_module *backward)
{
    struct layer_cost *layer = m->layer;
    struct count_options count = {.rules = COUNT_REHEARSE};
    struct graph graph, whole;
    if (!module_count(&m->counts, forward, &count, m->err) ||
        !graph_flatten(&graph, &layer->arena, forward->entry, &m->counts, false, m->err))
        return false;
    layer->forward_instructions = graph.count;
    if (m->options->attention != ATTENTION_UNFUSED)
        attention_rewrite(&graph);
    if (!graph_check(&graph, m->err) || !derive_arguments(&graph, &layer->arena, &m->arguments, m->err))
        return false;
    set_parameters(m, &graph);
    struct fuse_options fuse = {.counts = &m->counts, .attention = m->options->attention};
    if (!sum_bytes(m, &graph) || !(backward ? read_backward(m, backward) : derive(m, &graph, &fuse.kept)))
        return false;
    /* the module's own fusions run as they are, though the backward pass was derived from what is in them */
    if (!graph_flatten(&whole, &layer->arena, forward->entry, &m->counts, true, m->err))
        return false;
    if (has_fusions(&whole)) {
        fuse.kept = NULL;
        graph = whole;
    }
    if (!fuse_graph(&layer->forward, &layer->arena, &graph, &fuse, m->err))
        return false;
    layer->peak_bytes = (int64_t)layer->forward.peak_bytes;
    return true;
}

bool layer_cost(struct layer_cost *layer, const struct hlo_module *forward, const struct hlo_module *backward,
                const struct layer_options *options, struct error *err)
{
    *layer = (struct layer_cost){0};
    struct making making = {.layer = layer, .options = options, .err = err};
    bool made = make(&making, forward, backward);
    module_count_release(&making.counts);
    module_count_release(&making.backward_counts);
    if (!made)
        layer_release(layer);
    return made;
}

void layer_release(struct layer_cost *layer)
{
    arena_release(&layer->arena);
    *layer = (struct layer_cost){0};
}

/* ---- time ---- */

/* What a product reads and writes of its own. */
static double operand_bytes(const struct kernel *kernel)
{
    double m = (double)kernel->m, n = (double)kernel->n, k = (double)kernel->k;
    return (double)kernel->batch * cost_type_bytes(kernel->type) * (m * k + k * n + m * n);
}

struct kernel_time layer_kernel_time(const struct fused_kernel *fused, const struct cost_device *device,
                                     const struct layer_options *options)
{
    struct kernel kernel = fused->kernel;
    const struct calibration *calibration = calibration_of(device);
    if (kernel.type == COST_FP32 && !options->no_tf32 && device->peak[COST_TF32] > 0.0)
        kernel.type = COST_TF32;
    struct kernel_time time = kernel_time(&kernel, device, calibration);
    if (kernel.kind != KERNEL_GEMM)
        return time;
    double memory =
        fmax(kernel.bytes - operand_bytes(&kernel), 0.0) / (device->bandwidth * calibration->stream);
    double lanes = kernel.lane_flops / (2.0 * device->units * device->lanes * device->clock);
    time.seconds += kernel.repeats * fmax(memory, lanes);
    return time;
}

double layer_seconds(const struct fused *fused, const struct cost_device *device,
                     const struct layer_options *options)
{
    double sum = 0.0;
    for (int i = 0; i < fused->kernel_count; i++)
        sum += layer_kernel_time(&fused->kernels[i], device, options).seconds;
    return sum;
}
