#include "cost/layer.h"

#include "core/hash.h"
#include "core/stop.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* A layer being made. */
struct layer_maker {
    struct layer_cost *layer;
    const struct layer_options *options;
    struct module_count counts, backward_counts;
    enum argument_kind *arguments;
    struct error *err;
};

static bool has_fusions(const struct op_graph *graph)
{
    for (int i = 0; i < graph->count; i++)
        if (graph->at[i]->opcode == HLO_FUSION)
            return true;
    return false;
}

static bool set_parameters(struct layer_maker *m, const struct op_graph *graph, const char *path)
{
    const struct layer_options *options = m->options;
    for (int i = 0; options->parameters && i < graph->parameter_count; i++)
        m->arguments[i] = ARGUMENT_INPUT;
    for (int i = 0; options->parameters && i < options->parameter_count; i++) {
        int number = options->parameters[i];
        if (number < 0 || number >= graph->parameter_count)
            return error_set(m->err, ERROR_USAGE, "%s: has %d arguments, numbered from 0: no number %d", path,
                             graph->parameter_count, number);
        m->arguments[number] = ARGUMENT_PARAMETER;
    }
    return true;
}

/* Adam on the layer's parameters: two moments in fp32, and a master copy of parameters that are no fp32
 * (Rajbhandari et al. 2020, arXiv:1910.02054, section 3.1). It reads gradients and states and writes parameters and
 * states, with about a dozen operations each. */
#define ADAM_FLOPS 12.0

static void add_parameter(struct layer_cost *layer, const struct hlo_shape *shape)
{
    for (int i = 0; i < shape->part_count; i++)
        add_parameter(layer, shape->parts[i]);
    if (shape->part_count)
        return;
    int64_t elements = hlo_elements(shape), bytes = hlo_leaf_bytes(shape);
    int64_t states = hlo_type_bits(shape->type) >= 32 ? 2 * bytes : 12 * elements;
    layer->parameter_bytes += bytes;
    layer->gradient_bytes += bytes;
    layer->optimizer_bytes += states;
    /* fp32 parameters are their own master copy: read and written; others are written only */
    layer->optimizer.bytes +=
        (double)bytes * (hlo_type_bits(shape->type) >= 32 ? 3.0 : 2.0) + 2.0 * (double)states;
    layer->optimizer.lane_flops += ADAM_FLOPS * (double)elements;
}

static bool sum_bytes(struct layer_maker *m, const struct op_graph *graph)
{
    struct layer_cost *layer = m->layer;
    layer->optimizer =
        (struct kernel){.kind = KERNEL_STREAM, .type = COST_FP32, .name = "adam", .repeats = 1.0};
    for (int i = 0; i < graph->parameter_count; i++) {
        if (!graph->parameters[i])
            continue;
        if (m->arguments[i] == ARGUMENT_PARAMETER)
            add_parameter(layer, graph->parameters[i]->shape);
        else
            layer->input_bytes += hlo_leaf_bytes(graph->parameters[i]->shape);
    }
    for (int i = 0; i < graph->count; i++) {
        if (stop_obeyed_at((size_t)i, m->err))
            return false;
        if (derive_is_weight(graph->at[i]))
            add_parameter(layer, graph->at[i]->shape);
    }
    return derive_result_bytes(graph, &layer->output_bytes, &layer->kept_bytes, m->err);
}

static void *joined(struct layer_maker *m, const void *first, int first_count, const void *second,
                    int second_count, size_t size)
{
    size_t head = (size_t)first_count * size, tail = (size_t)second_count * size;
    char *both = ARENA_ARRAY(&m->layer->arena, head + tail + 1, char);
    if (both && head)
        memcpy(both, first, head);
    if (both && tail)
        memcpy(both + head, second, tail);
    return both;
}

static bool add_unknown(struct layer_maker *m, struct fused *to, const char *name)
{
    for (int i = 0; i < to->unknown_count; i++)
        if (strcmp(to->unknown[i], name) == 0)
            return true;
    to->unknown = joined(m, to->unknown, to->unknown_count, &name, 1, sizeof *to->unknown);
    to->unknown_count += to->unknown != NULL;
    return to->unknown || error_memory(m->err);
}

static bool append(struct layer_maker *m, struct fused *to, const struct fused *from, double times)
{
    to->kernels =
        joined(m, to->kernels, to->kernel_count, from->kernels, from->kernel_count, sizeof *to->kernels);
    to->transfers = joined(m, to->transfers, to->transfer_count, from->transfers, from->transfer_count,
                           sizeof *to->transfers);
    if (!to->kernels || !to->transfers)
        return error_memory(m->err);
    for (int i = 0; i < from->kernel_count; i++)
        to->kernels[to->kernel_count++].kernel.repeats *= times;
    for (int i = 0; i < from->transfer_count; i++)
        to->transfers[to->transfer_count++].repeats *= times;
    to->unbounded_loops += times * from->unbounded_loops;
    for (int i = 0; i < from->unknown_count; i++)
        if (!add_unknown(m, to, from->unknown[i]))
            return false;
    return true;
}

/* Gradients without a rule are not in the times of the backward pass, as unknown custom calls are not. */
static bool add_gaps(struct layer_maker *m, const struct derived *derived)
{
    for (int i = 0; i < derived->gap_count; i++) {
        const char *gap = arena_format(&m->layer->arena, LAYER_GAP "%s", derived->gaps[i]);
        if (!gap || !add_unknown(m, &m->layer->backward, gap))
            return error_memory(m->err);
    }
    return true;
}

/* The backward pass, and which values the forward pass must keep for it. */
static bool derive(struct layer_maker *m, const struct op_graph *graph, struct fuse_options *forward)
{
    struct layer_cost *layer = m->layer;
    struct derived *derived = ARENA_NEW(&layer->arena, struct derived);
    if (!derived)
        return error_memory(m->err);
    struct derive_options options = {
        .no_input_gradients = m->options->is_first,
        .keep_all = m->options->keep_all,
        .attention = m->options->attention != ATTENTION_UNFUSED,
        .arguments = m->arguments,
    };
    if (!derive_backward(derived, &layer->arena, graph, &options, m->err))
        return false;
    struct fuse_options fuse = {
        .first = derived->first, .counts = &m->counts, .attention = m->options->attention};
    if (!fuse_graph(&layer->backward, &layer->arena, &derived->graph, &fuse, m->err))
        return false;
    for (int i = 0; i < derived->loop_count; i++) {
        struct fused loop;
        fuse.first = derived->loops[i].first;
        if (!fuse_graph(&loop, &layer->arena, &derived->loops[i].graph, &fuse, m->err) ||
            !append(m, &layer->backward, &loop, derived->loops[i].times))
            return false;
    }
    layer->kept_bytes = derived->kept_bytes;
    forward->kept = derived->kept;
    forward->derived = derived;
    return add_gaps(m, derived);
}

/* Reads a given backward pass: besides parameters it reads the results and inputs of the forward pass. */
static bool read_backward(struct layer_maker *m, const struct hlo_module *backward)
{
    struct layer_cost *layer = m->layer;
    struct count_options count = {.rules = COUNT_REHEARSE, .custom_calls = m->options->custom_calls};
    struct op_graph graph;
    if (!module_count(&m->backward_counts, backward, &count, m->err))
        return false;
    struct fuse_options fuse = {.counts = &m->backward_counts, .attention = m->options->attention};
    layer->kept_bytes += layer->input_bytes;
    return op_graph_flatten(&graph, &layer->arena, backward->entry, &m->backward_counts, true, m->err) &&
           fuse_graph(&layer->backward, &layer->arena, &graph, &fuse, m->err);
}

/* A collective without groups is one of all devices of the module. */
static void set_groups(struct fused *fused, const struct hlo_module *module)
{
    for (int i = 0; i < fused->transfer_count; i++)
        if (fused->transfers[i].group <= 0)
            fused->transfers[i].group = module->replica_count * module->partition_count;
}

/* The forward pass holds its inputs and the results of its kernels; the backward pass holds the kept values, the
 * gradient of the output and the results of its kernels, with the gradients of parameters. */
static bool finish(struct layer_maker *m)
{
    struct layer_cost *layer = m->layer;
    int64_t forward = layer->input_bytes + (int64_t)layer->forward.peak_bytes;
    int64_t backward = layer->kept_bytes + layer->output_bytes + (int64_t)layer->backward.peak_bytes;
    bool has_backward = layer->backward.kernel_count + layer->backward.transfer_count > 0;
    layer->peak_bytes = layer->parameter_bytes + layer->optimizer_bytes;
    if (!has_backward)
        layer->kept_bytes = 0;
    layer->peak_bytes += has_backward && backward > forward ? backward : forward;
    if (!m->options->recompute || !has_backward)
        return true;
    layer->kept_bytes = layer->input_bytes;
    return append(m, &layer->backward, &layer->forward, 1.0);
}

static bool make_layer(struct layer_maker *m, const struct hlo_module *forward,
                       const struct hlo_module *backward)
{
    struct layer_cost *layer = m->layer;
    struct count_options count = {.rules = COUNT_REHEARSE, .custom_calls = m->options->custom_calls};
    struct op_graph graph, whole;
    if (!module_count(&m->counts, forward, &count, m->err) ||
        !op_graph_flatten(&graph, &layer->arena, forward->entry, &m->counts, false, m->err))
        return false;
    if (m->options->attention != ATTENTION_UNFUSED)
        attention_rewrite(&graph);
    if (!op_graph_check(&graph, m->err) || !derive_arguments(&graph, &layer->arena, &m->arguments, m->err))
        return false;
    struct fuse_options fuse = {.counts = &m->counts, .attention = m->options->attention};
    if (!set_parameters(m, &graph, forward->path) || !sum_bytes(m, &graph) ||
        !(backward ? read_backward(m, backward) : derive(m, &graph, &fuse)))
        return false;
    /* the module's own fusions run as they are, though the backward pass was derived from their instructions */
    if (!op_graph_flatten(&whole, &layer->arena, forward->entry, &m->counts, true, m->err))
        return false;
    if (has_fusions(&whole)) {
        fuse.kept = NULL;
        fuse.derived = NULL;
        graph = whole;
    }
    if (!fuse_graph(&layer->forward, &layer->arena, &graph, &fuse, m->err))
        return false;
    set_groups(&layer->forward, forward);
    set_groups(&layer->backward, backward ? backward : forward);
    return finish(m);
}

bool layer_cost(struct layer_cost *layer, const struct hlo_module *forward, const struct hlo_module *backward,
                const struct layer_options *options, struct error *err)
{
    *layer = (struct layer_cost){0};
    struct layer_maker maker = {.layer = layer, .options = options, .err = err};
    bool made = make_layer(&maker, forward, backward);
    module_count_release(&maker.counts);
    module_count_release(&maker.backward_counts);
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

/* Bytes of the operands and the result of a product. */
static double operand_bytes(const struct kernel *kernel)
{
    double m = (double)kernel->size.m, n = (double)kernel->size.n, k = (double)kernel->size.k;
    return (double)kernel->size.batch * cost_type_bytes(kernel->type) * (m * k + k * n + m * n);
}

enum cost_type layer_kernel_type(const struct kernel *kernel, const struct cost_device *device,
                                 const struct layer_options *options)
{
    bool rounds = kernel->type == COST_FP32 && !options->no_tf32 && !kernel->exact;
    return cost_device_type(device, rounds ? COST_TF32 : kernel->type);
}

struct kernel_time layer_kernel_time(const struct kernel *of, const struct cost_device *device,
                                     const struct layer_options *options)
{
    struct kernel kernel = *of;
    const struct calibration *calibration = tables_calibration(options->tables, device);
    kernel.type = layer_kernel_type(of, device, options);
    kernel.near = !options->no_neighbours;
    kernel.alone = !options->training;
    struct kernel_time time = kernel_time(&kernel, device, calibration);
    if (kernel.kind != KERNEL_GEMM)
        return time;
    if (kernel.narrow && time.bound == BOUND_MEMORY) {
        double read = fmin(kernel.bytes / operand_bytes(&kernel), 1.0);
        time.seconds *= read;
        time.low *= read;
        time.high *= read;
    }
    double memory =
        fmax(kernel.bytes - operand_bytes(&kernel), 0.0) /
        (device->bandwidth * device->stream_efficiency * (kernel.alone ? 1.0 : calibration->stream));
    double lanes = kernel.lane_flops / (2.0 * device->units * device->lanes * device->clock);
    double epilogue = kernel.repeats * fmax(memory, lanes);
    time.low += epilogue / (1.0 + SPREAD_STREAM);
    time.high += epilogue * (1.0 + SPREAD_STREAM);
    if (epilogue > time.seconds)
        time.bound = memory > lanes ? BOUND_MEMORY : BOUND_LANES;
    time.seconds += epilogue;
    return time;
}

enum collective_kind layer_collective(enum hlo_opcode opcode)
{
    switch (opcode) {
    case HLO_ALL_GATHER:
    case HLO_ALL_GATHER_START:
        return COLLECTIVE_ALL_GATHER;
    case HLO_REDUCE_SCATTER:
        return COLLECTIVE_REDUCE_SCATTER;
    case HLO_ALL_TO_ALL:
    case HLO_RAGGED_ALL_TO_ALL:
        return COLLECTIVE_ALL_TO_ALL;
    case HLO_ALL_REDUCE:
    case HLO_ALL_REDUCE_START:
        return COLLECTIVE_ALL_REDUCE;
    default:
        return COLLECTIVE_SEND;
    }
}

struct kernel_time layer_transfer_near(const struct fused_transfer *transfer,
                                       const struct cost_device *device, const struct layer_options *options,
                                       struct collective_near *near)
{
    struct collective_near room;
    near = near ? near : &room;
    *near = (struct collective_near){0};
    enum collective_kind kind = layer_collective(transfer->instruction->opcode);
    int devices = transfer->group < INT_MAX ? (int)transfer->group : INT_MAX;
    struct collective_group group = {
        .devices = kind == COLLECTIVE_SEND ? 2 : devices,
        .inside = tables_link(options->tables, device->link),
    };
    bool leaves = options->reach.across && options->reach.devices_per_node > 0 &&
                  devices > options->reach.devices_per_node;
    group.across = leaves ? options->reach.across : NULL;
    group.devices_per_node = !leaves                   ? group.devices
                             : kind == COLLECTIVE_SEND ? 1
                                                       : options->reach.devices_per_node;
    if (!group.inside || group.devices <= 1 || transfer->bytes <= 0.0)
        return (struct kernel_time){0};
    struct collective_time time = options->no_neighbours
                                      ? collective_time(kind, &group, transfer->bytes)
                                      : collective_time_near(kind, &group, transfer->bytes, near);
    double seconds = transfer->repeats *
                     (options->training ? transfer_seconds_of(&time, kind, &group,
                                                              tables_calibration(options->tables, device))
                                        : time.seconds);
    double spread = near->count > 0 ? SPREAD_COLLECTIVE : SPREAD_FORMULA;
    return (struct kernel_time){.seconds = seconds,
                                .bytes = transfer->repeats * transfer->bytes,
                                .low = seconds / (1.0 + spread),
                                .high = seconds * (1.0 + spread)};
}

/* Returns whether two kernels of files, which differ in nothing else, take the same time. */
static bool is_same(const struct kernel *a, const struct kernel *b)
{
    const struct product_size *x = &a->size, *y = &b->size;
    return a->kind == b->kind && a->type == b->type && a->repeats == b->repeats && a->bytes == b->bytes &&
           x->batch == y->batch && x->m == y->m && x->n == y->n && x->k == y->k && a->causal == b->causal &&
           a->backward == b->backward && a->inner == b->inner && a->exact == b->exact &&
           a->narrow == b->narrow && a->attention == b->attention && a->rate == b->rate &&
           a->lane_flops == b->lane_flops && a->rows == b->rows && a->width == b->width &&
           a->steps == b->steps && a->rough == b->rough;
}

struct kernel_time layer_seconds(const struct fused *fused, const struct cost_device *device,
                                 const struct layer_options *options)
{
    struct kernel_time sum = {0};
    struct {
        struct kernel kernel;
        struct kernel_time time;
    } seen[64]; /* layers of a model have kernels in common */
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < fused->kernel_count && !stop_wanted(); i++) {
        const struct kernel *kernel = &fused->kernels[i].kernel;
        uint64_t place = hash_bytes((uint64_t)kernel->bytes, &kernel->size, sizeof kernel->size) % 64;
        if (!is_same(&seen[place].kernel, kernel)) {
            seen[place].kernel = *kernel;
            seen[place].time = layer_kernel_time(kernel, device, options);
        }
        kernel_time_add(&sum, &seen[place].time);
    }
    for (int i = 0; i < fused->transfer_count && !stop_wanted_at((size_t)i); i++) {
        struct kernel_time time = layer_transfer_near(&fused->transfers[i], device, options, NULL);
        kernel_time_add(&sum, &time);
    }
    return sum;
}
