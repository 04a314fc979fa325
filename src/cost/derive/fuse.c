#include "cost/derive/fuse.h"

#include "core/stop.h"
#include "cost/count/custom_calls.h"
#include "cost/count/fused_attention.h"
#include "cost/derive/derive.h"
#include "cost/derive/fuse_group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The state of fusion: a graph, and the bodies of its loops. */
struct fusion_context {
    struct fused *fused;
    struct arena *arena;
    const struct fuse_options *options;
    int kernel_room, transfer_room, unknown_room;
    double repeats; /* of the graph that is being fused */
    int depth;
    struct error *err;
};

static bool fuse_part(struct fusion_context *work, const struct op_graph *graph, int first, const bool *kept);

/* ---- lists that grow ---- */

static struct fused_kernel *add_kernel(struct fusion_context *work)
{
    struct fused *fused = work->fused;
    fused->kernels = arena_grow(work->arena, fused->kernels, fused->kernel_count, &work->kernel_room,
                                sizeof *fused->kernels);
    if (!fused->kernels)
        return error_memory(work->err), NULL;
    struct fused_kernel *added = &fused->kernels[fused->kernel_count++];
    *added = (struct fused_kernel){.kernel = {.kind = KERNEL_STREAM, .repeats = work->repeats}};
    return added;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the bytes of the larger of operands and result. The start of a collective results in a tuple of
 * both; its end moves nothing. */
static int64_t transfer_bytes(const struct hlo_instruction *in)
{
    const struct hlo_shape *result = in->shape;
    int64_t bytes = 0;
    if (hlo_operations[in->opcode].traits & HLO_ENDS)
        return 0;
    switch (in->opcode) {
    case HLO_ALL_GATHER_START:
    case HLO_COLLECTIVE_PERMUTE_START:
        for (int i = 0; i < result->part_count; i++)
            bytes = larger(bytes, hlo_leaf_bytes(result->parts[i]));
        return result->part_count ? bytes : hlo_leaf_bytes(result);
    case HLO_RAGGED_ALL_TO_ALL: /* the rows; its result, or a gradient, is longer */
        bytes = hlo_leaf_bytes(in->operands[0]->shape);
        return bytes < hlo_leaf_bytes(result) ? bytes : hlo_leaf_bytes(result);
    default:
        for (int i = 0; i < in->operand_count; i++)
            bytes += hlo_leaf_bytes(in->operands[i]->shape);
        return larger(bytes, hlo_leaf_bytes(result));
    }
}

static bool add_transfer(struct fusion_context *work, const struct hlo_instruction *in)
{
    struct fused *fused = work->fused;
    int64_t bytes = transfer_bytes(in);
    if (bytes == 0)
        return true;
    fused->transfers = arena_grow(work->arena, fused->transfers, fused->transfer_count, &work->transfer_room,
                                  sizeof *fused->transfers);
    if (!fused->transfers)
        return error_memory(work->err);
    fused->transfers[fused->transfer_count++] = (struct fused_transfer){
        .instruction = in,
        .bytes = (double)bytes,
        .group = larger(in->attributes->group_size, in->attributes->pair_count),
        .repeats = work->repeats,
    };
    return true;
}

static bool add_unknown(struct fusion_context *work, const char *target)
{
    struct fused *fused = work->fused;
    target = target ? target : "custom call without a target";
    for (int i = 0; i < fused->unknown_count; i++)
        if (strcmp(fused->unknown[i], target) == 0)
            return true;
    fused->unknown = arena_grow(work->arena, fused->unknown, fused->unknown_count, &work->unknown_room,
                                sizeof *fused->unknown);
    if (!fused->unknown)
        return error_memory(work->err);
    fused->unknown[fused->unknown_count++] = target;
    return true;
}

/* ---- traffic ---- */

struct read_marks {
    int *part_seen, *base_seen; /* by index: the group that counted it last */
    double *base_bytes;         /* the bytes that this group read of it */
};

static double bytes_read(const struct fuser *f, struct read_marks *reading, int group)
{
    double sum = 0.0;
    for (int n = f->groups[group].head; n >= 0; n = f->nodes[n].next)
        for (int e = 0; e < f->nodes[n].edge_count; e++) {
            const struct fuse_edge *edge = &f->edges[f->nodes[n].edge_first + e];
            if (f->nodes[edge->base].group == group || reading->part_seen[edge->part] == group + 1)
                continue;
            reading->part_seen[edge->part] = group + 1;
            if (reading->base_seen[edge->base] != group + 1) {
                reading->base_seen[edge->base] = group + 1;
                reading->base_bytes[edge->base] = 0.0;
            }
            /* parts that overlap are no more than the whole */
            double left =
                (double)hlo_leaf_bytes(f->graph->at[edge->base]->shape) - reading->base_bytes[edge->base];
            double bytes = fmin((double)edge->bytes, left);
            reading->base_bytes[edge->base] += bytes;
            sum += bytes;
        }
    return sum;
}

static bool is_written(const struct fuser *f, int n)
{
    const struct fuse_node *node = &f->nodes[n];
    for (int r = 0; r < node->reader_count; r++)
        if (f->nodes[f->readers[node->reader_first + r]].group != node->group)
            return true;
    return node->escapes;
}

/* An update is written in place. */
static double bytes_made(const struct hlo_instruction *in)
{
    bool update = in->opcode == HLO_DYNAMIC_UPDATE_SLICE;
    return (double)hlo_leaf_bytes(update ? in->operands[1]->shape : in->shape);
}

static double bytes_written(const struct fuser *f, int group)
{
    double sum = 0.0;
    for (int n = f->groups[group].head; n >= 0; n = f->nodes[n].next)
        if (is_written(f, n))
            sum += bytes_made(f->graph->at[n]);
    return sum;
}

/* Returns the maximum bytes alive. The kernels run by position; a written value lives until its last
 * reader has run, an escaping one until the end. `freed` has room for an entry per group. */
static double peak_bytes(const struct fuser *f, double *freed)
{
    double live = 0.0, peak = 0.0;
    for (int i = 0; i < f->before_count && !stop_wanted_at((size_t)i); i++) {
        int group = f->before[i].group;
        for (int n = f->groups[group].head; n >= 0; n = f->nodes[n].next) {
            const struct fuse_node *node = &f->nodes[n];
            if (!is_written(f, n))
                continue;
            int last = group;
            for (int r = 0; r < node->reader_count; r++) {
                int reader = f->nodes[f->readers[node->reader_first + r]].group;
                if (f->groups[reader].position > f->groups[last].position)
                    last = reader;
            }
            live += bytes_made(f->graph->at[n]);
            if (!node->escapes)
                freed[last] += bytes_made(f->graph->at[n]);
        }
        peak = fmax(peak, live);
        live -= freed[group];
    }
    return peak;
}

/* ---- kernels ---- */

static int compare_instructions(const void *a, const void *b)
{
    const struct hlo_instruction *const *x = a, *const *y = b;
    return ((*x)->index > (*y)->index) - ((*x)->index < (*y)->index);
}

static bool list_instructions(struct fusion_context *work, const struct fuser *f,
                              const struct fuse_group *group, struct fused_kernel *kernel)
{
    kernel->instructions = ARENA_ARRAY(work->arena, (size_t)group->count, const struct hlo_instruction *);
    if (!kernel->instructions)
        return error_memory(work->err);
    kernel->instructions[kernel->count++] = f->graph->at[group->shape.hero];
    for (int n = group->head; n >= 0; n = f->nodes[n].next)
        if (n != group->shape.hero)
            kernel->instructions[kernel->count++] = f->graph->at[n];
    bool sorted = true; /* as they mostly are */
    for (int i = 2; sorted && i < kernel->count; i++)
        sorted = kernel->instructions[i - 1]->index < kernel->instructions[i]->index;
    if (!sorted)
        qsort(kernel->instructions + 1, (size_t)kernel->count - 1, sizeof(void *), compare_instructions);
    return true;
}

static bool has(const struct fused_kernel *kernel, enum hlo_opcode opcode)
{
    for (int i = 0; i < kernel->count; i++)
        if (kernel->instructions[i]->opcode == opcode)
            return true;
    return false;
}

static const char *stream_name(const struct fused_kernel *kernel, const struct fuse_group *group)
{
    if (group->shape.reduction == REDUCTION_ROWS && has(kernel, HLO_EXPONENTIAL))
        return "softmax";
    if (group->shape.reduction == REDUCTION_ROWS && (has(kernel, HLO_RSQRT) || has(kernel, HLO_SQRT)))
        return "norm";
    if (group->shape.reduction != REDUCTION_NONE)
        return "reduce";
    return kernel->count == 1 ? hlo_opcode_name(kernel->instructions[0]->opcode) : "elementwise";
}

/* Rows that are reduced and then written as a whole. */
static void set_rows(struct kernel *kernel, const struct fuser *f, const struct fuse_group *group)
{
    int64_t rows = group->shape.outer, width = group->shape.width;
    bool along = group->shape.reduction == REDUCTION_ROWS && group->shape.inner == 1;
    for (int n = along ? group->head : -1; n >= 0; n = f->nodes[n].next)
        if (is_written(f, n) && f->graph->at[n]->opcode != HLO_REDUCE &&
            op_elements(f->graph->at[n]) == rows * width) {
            kernel->rows = (double)rows;
            kernel->width = (double)width;
        }
}

/* Batched products with a side no wider than this are attention's: the width of a head. */
#define MAX_HEAD 256

static void set_product(struct kernel *kernel, const struct op_product *product)
{
    kernel->kind = KERNEL_GEMM;
    kernel->type = product->type;
    kernel->exact = product->exact;
    kernel->size = product->size;
    kernel->groups = product->groups;
    kernel->inner =
        product->groups == 0.0 && product->size.batch > 1 &&
        (product->size.m <= MAX_HEAD || product->size.n <= MAX_HEAD || product->size.k <= MAX_HEAD);
}

static void set_attention(struct kernel *kernel, const struct hlo_instruction *in,
                          enum attention_kind attention)
{
    struct op_product product;
    const int64_t *sizes = in->attributes->sizes.at;
    op_product(in, &product);
    set_product(kernel, &product);
    kernel->kind = KERNEL_ATTENTION;
    kernel->name = "attention";
    kernel->inner = false;
    kernel->causal = sizes[4] != 0;
    kernel->backward = op_is_target(in, OP_TARGET_ATTENTION_BACKWARD);
    kernel->attention = attention == ATTENTION_UNFUSED ? ATTENTION_FLASH2 : attention;
}

static bool group_kernel(struct fusion_context *work, const struct fuser *f, int at,
                         struct read_marks *reading)
{
    const struct fuse_group *group = &f->groups[at];
    const struct hlo_instruction *hero = f->graph->at[group->shape.hero];
    struct op_product product = {0};
    if (group->shape.kind == OP_PRODUCT ? !op_product(hero, &product) : group->elements == 0)
        return true;
    struct fused_kernel *kernel = add_kernel(work);
    if (!kernel || !list_instructions(work, f, group, kernel))
        return false;
    for (int i = 0; i < kernel->count; i++)
        kernel->kernel.lane_flops += op_lane_flops(kernel->instructions[i]);
    kernel->kernel.bytes = bytes_read(f, reading, at) + bytes_written(f, at);
    if (group->shape.kind == OP_PRODUCT) {
        set_product(&kernel->kernel, &product);
        kernel->kernel.name = hero->opcode == HLO_CONVOLUTION ? "convolution" : "gemm";
        kernel->kernel.bytes -= product.unread;
        kernel->kernel.narrow = fuse_widens(f, hero);
    } else if (group->shape.kind == OP_ATTENTION) {
        set_attention(&kernel->kernel, hero, work->options->attention);
    } else {
        kernel->kernel.name = stream_name(kernel, group);
        set_rows(&kernel->kernel, f, group);
    }
    return true;
}

/* ---- instructions that are kernels of their own ---- */

/* A factorization or a solver of a library: the steps of a matrix wait for one another, matrices of a batch do not. */
static void set_steps(struct kernel *kernel, const struct custom_call *known,
                      const struct hlo_instruction *in)
{
    double columns = 0.0;
    for (int i = 0; i < in->operand_count; i++) {
        const struct hlo_shape *shape = in->operands[i]->shape;
        if (shape->rank >= 2 && columns == 0.0)
            columns = fmin((double)shape->dims[shape->rank - 1], (double)shape->dims[shape->rank - 2]);
    }
    kernel->rough = custom_call_is_rough(known);
    kernel->steps = known->steps * columns;
}

static struct fused_kernel *lone_kernel(struct fusion_context *work, const struct op_graph *graph, int index)
{
    const struct hlo_instruction *in = graph->at[index];
    const struct instruction_count *count = graph->counts[index];
    struct fused_kernel *kernel = add_kernel(work);
    const struct hlo_instruction **list =
        kernel ? ARENA_ARRAY(work->arena, 1, const struct hlo_instruction *) : NULL;
    if (!list)
        return error_memory(work->err), NULL;
    list[0] = in;
    kernel->count = 1;
    kernel->instructions = list;
    kernel->kernel.name = hlo_opcode_name(in->opcode);
    kernel->kernel.bytes = count ? count->bytes : op_bytes(in);
    kernel->kernel.lane_flops = op_lane_flops(in);
    const char *library = in->opcode == HLO_CHOLESKY           ? "Cholesky"
                          : in->opcode == HLO_TRIANGULAR_SOLVE ? "TriangularSolve"
                                                               : NULL;
    if (library)
        set_steps(&kernel->kernel, custom_call_find(NULL, library), in);
    return kernel;
}

/* Returns the call with sizes as one of our own has them. */
static struct hlo_instruction with_sizes(const struct hlo_instruction *call,
                                         struct hlo_attributes *attributes, int count, const int64_t *sizes)
{
    struct hlo_instruction like = *call;
    *attributes = *call->attributes;
    attributes->sizes = (struct hlo_ints){count, sizes};
    like.attributes = attributes;
    return like;
}

/* The products of a library, from their operations and the elements of operands and result:
 * batch m k, batch k n, batch m n, 2 batch m n k. */
static bool library_product(const struct hlo_instruction *call, double flops, struct op_product *product)
{
    const struct hlo_shape *out = call->shape->part_count ? call->shape->parts[0] : call->shape;
    if (call->operand_count < 2 || flops <= 0.0 || hlo_elements(out) == 0)
        return false;
    double results = (double)hlo_elements(out), k = fmax(flops / (2.0 * results), 1.0);
    double left = (double)hlo_elements(call->operands[0]->shape) / k;
    double right = (double)hlo_elements(call->operands[1]->shape) / k;
    double batch = fmax(floor(left * right / results + 0.5), 1.0);
    /* a convolution reads its input more than once: then only the kernel's side is known */
    double n = fmax(floor(right / batch + 0.5), 1.0);
    int64_t sizes[4] = {(int64_t)batch, (int64_t)fmax(results / (batch * n), 1.0), (int64_t)n, (int64_t)k};
    struct hlo_attributes attributes;
    struct hlo_instruction like = with_sizes(call, &attributes, 4, sizes);
    return op_product(&like, product);
}

static void set_custom_call(struct kernel *kernel, const struct custom_call *known,
                            const struct hlo_instruction *call, const struct instruction_count *count,
                            enum attention_kind attention)
{
    struct op_product product;
    struct fused_attention a;
    struct hlo_instruction like;
    struct hlo_attributes attributes;
    switch (known->rule) {
    case CUSTOM_CALL_GEMM:
    case CUSTOM_CALL_CONVOLUTION:
        if (count && library_product(call, count->flops, &product)) {
            kernel->lane_flops = 0.0;
            set_product(kernel, &product);
        }
        break;
    case CUSTOM_CALL_ATTENTION:
    case CUSTOM_CALL_ATTENTION_BACKWARD:
        if (fused_attention_read(call, &a)) {
            const int64_t sizes[5] = {a.batch, a.queries, a.keys, a.width, a.causal};
            like = with_sizes(call, &attributes, 5, sizes);
            kernel->lane_flops = 0.0;
            set_attention(kernel, &like, attention);
            kernel->backward = known->rule == CUSTOM_CALL_ATTENTION_BACKWARD;
        }
        break;
    default:
        break;
    }
}

static bool custom_kernel(struct fusion_context *work, const struct op_graph *graph, int index)
{
    const struct hlo_instruction *call = graph->at[index];
    const struct instruction_count *count = graph->counts[index];
    const char *target = call->attributes->target;
    if (op_is_target(call, OP_TARGET_LOOP_BACKWARD))
        return true;
    const struct custom_call *known =
        target ? custom_call_find(work->options->counts->custom_calls, target) : NULL;
    if (!known || (count && count->unknown))
        return add_unknown(work, target);
    if (known->rule == CUSTOM_CALL_FREE)
        return true;
    struct fused_kernel *kernel = lone_kernel(work, graph, index);
    if (!kernel)
        return false;
    kernel->kernel.name = target;
    double elements = (double)op_elements(call);
    kernel->kernel.lane_flops = count ? count->flops + 20.0 * count->transcendentals
                                      : elements * (known->flops + 20.0 * known->transcendentals);
    set_custom_call(&kernel->kernel, known, call, count, work->options->attention);
    set_steps(&kernel->kernel, known, call);
    return true;
}

static const struct hlo_instruction *find_products(const struct hlo_computation *computation, int depth,
                                                   int *count)
{
    const struct hlo_instruction *found = NULL;
    for (int i = 0; i < computation->count && depth < OP_DEPTH; i++) {
        const struct hlo_instruction *in = computation->instructions[i], *inner = NULL;
        if (op_class(in) == OP_PRODUCT) {
            inner = in;
            ++*count;
        } else if (in->opcode == HLO_FUSION && in->callee_count) {
            inner = find_products(in->callees[0], depth + 1, count);
        }
        found = inner ? inner : found;
    }
    return found;
}

/* Fuses a computation that is called, or the body of a loop. */
static bool fuse_computation(struct fusion_context *work, const struct hlo_computation *computation,
                             const struct hlo_instruction *loop, double times)
{
    struct op_graph graph;
    const bool *kept = NULL;
    double repeats = work->repeats;
    const struct module_count *counts = work->options->counts;
    if (++work->depth > OP_DEPTH)
        return error_set(work->err, ERROR_INPUT, "loops and fusions are nested more than %d deep", OP_DEPTH);
    if (!(loop ? op_graph_flatten_body(&graph, work->arena, loop, counts, true, work->err)
               : op_graph_flatten(&graph, work->arena, computation, counts, true, work->err)))
        return false;
    if (loop && work->options->attention != ATTENTION_UNFUSED)
        attention_rewrite(&graph);
    const struct derived *derived = loop ? work->options->derived : NULL;
    for (int i = 0; derived && i < derived->loop_count; i++)
        if (derived->loops[i].body == computation && derived->loops[i].first == graph.count)
            kept = derived->loops[i].kept;
    work->repeats *= times;
    bool fused = op_graph_check(&graph, work->err) && fuse_part(work, &graph, 0, kept);
    work->repeats = repeats;
    work->depth--;
    return fused;
}

/* A module's own fusion is one kernel; one with several products is taken apart. */
static bool fusion_kernel(struct fusion_context *work, const struct op_graph *graph, int index)
{
    const struct hlo_instruction *fusion = graph->at[index];
    int products = 0;
    if (!fusion->callee_count)
        return true;
    const struct hlo_instruction *hero = find_products(fusion->callees[0], 0, &products);
    if (products > 1)
        return fuse_computation(work, fusion->callees[0], NULL, 1.0);
    struct fused_kernel *kernel = lone_kernel(work, graph, index);
    if (!kernel)
        return false;
    struct op_product product;
    if (hero && op_product(hero, &product)) {
        set_product(&kernel->kernel, &product);
        kernel->kernel.name = hero->opcode == HLO_CONVOLUTION ? "convolution" : "gemm";
    }
    return true;
}

/* The host counts turns whose number is known, and the condition does not run on the device. */
static bool loop_kernels(struct fusion_context *work, const struct hlo_instruction *loop)
{
    int64_t turns = loop->attributes->trip_count;
    if (loop->callee_count < 2)
        return true;
    if (turns >= 0)
        return fuse_computation(work, loop->callees[1], loop, (double)turns);
    work->fused->unbounded_loops += work->repeats;
    return fuse_computation(work, loop->callees[0], NULL, 2.0) &&
           fuse_computation(work, loop->callees[1], loop, 1.0);
}

static bool lone_group(struct fusion_context *work, const struct fuser *f, const struct fuse_group *group)
{
    const struct hlo_instruction *in = f->graph->at[group->shape.hero];
    if (group->shape.kind == OP_LOOP)
        return loop_kernels(work, in);
    if (group->shape.kind == OP_COLLECTIVE)
        return add_transfer(work, in);
    if (in->opcode == HLO_CUSTOM_CALL)
        return custom_kernel(work, f->graph, group->shape.hero);
    if (in->opcode == HLO_FUSION)
        return fusion_kernel(work, f->graph, group->shape.hero);
    return lone_kernel(work, f->graph, group->shape.hero) != NULL;
}

/* ---- all ---- */

static bool find_order(struct fuser *f)
{
    f->before_count = 0;
    for (int i = 0; i < f->group_count; i++)
        if (f->groups[i].count)
            f->before[f->before_count++] = (struct fuse_reach){f->groups[i].position, i};
    return f->before_count > 0;
}

static bool add_kernels(struct fusion_context *work, struct fuser *f)
{
    size_t count = (size_t)f->graph->count + 1;
    struct read_marks reading = {
        .part_seen = ARENA_ARRAY(f->arena, count, int),
        .base_seen = ARENA_ARRAY(f->arena, count, int),
        .base_bytes = ARENA_ARRAY(f->arena, count, double),
    };
    if (!reading.part_seen || !reading.base_seen || !reading.base_bytes)
        return error_memory(work->err);
    if (!find_order(f))
        return true;
    qsort(f->before, (size_t)f->before_count, sizeof *f->before, fuse_by_position);
    work->fused->peak_bytes = fmax(work->fused->peak_bytes, peak_bytes(f, reading.base_bytes));
    memset(reading.base_bytes, 0, count * sizeof *reading.base_bytes);
    for (int i = 0; i < f->before_count; i++) {
        if (stop_obeyed_at((size_t)i, work->err))
            return false;
        int at = f->before[i].group;
        enum op_class kind = f->groups[at].shape.kind;
        bool grouped = kind == OP_ELEMENTWISE || kind == OP_PRODUCT || kind == OP_ATTENTION;
        if (grouped ? !group_kernel(work, f, at, &reading) : !lone_group(work, f, &f->groups[at]))
            return false;
    }
    return true;
}

static bool fuse_part(struct fusion_context *work, const struct op_graph *graph, int first, const bool *kept)
{
    struct arena scratch = {0};
    struct fuser f = {.arena = &scratch,
                      .graph = graph,
                      .first = first,
                      .kept = kept,
                      .unfused = work->options->unfused,
                      .err = work->err};
    bool fused = fuse_find_edges(&f) && fuse_find_groups(&f) && add_kernels(work, &f);
    arena_release(&scratch);
    return fused;
}

bool fuse_graph(struct fused *fused, struct arena *arena, const struct op_graph *graph,
                const struct fuse_options *options, struct error *err)
{
    *fused = (struct fused){0};
    struct fusion_context work = {
        .fused = fused, .arena = arena, .options = options, .repeats = 1.0, .err = err};
    return fuse_part(&work, graph, options->first, options->kept);
}

double fused_product_flops(const struct fused *fused)
{
    double sum = 0.0;
    for (int i = 0; i < fused->kernel_count && !stop_wanted_at((size_t)i); i++) {
        const struct kernel *kernel = &fused->kernels[i].kernel;
        double product = kernel->repeats * (double)kernel->size.batch * (double)kernel->size.m *
                         (double)kernel->size.n * (double)kernel->size.k;
        if (kernel->kind == KERNEL_GEMM)
            sum += 2.0 * product;
        else if (kernel->kind == KERNEL_ATTENTION)
            sum += (kernel->backward ? 10.0 : 4.0) * (kernel->causal ? 0.5 : 1.0) * product;
    }
    return sum;
}

double fused_bytes(const struct fused *fused)
{
    double sum = 0.0;
    for (int i = 0; i < fused->kernel_count && !stop_wanted_at((size_t)i); i++)
        sum += fused->kernels[i].kernel.repeats * fused->kernels[i].kernel.bytes;
    return sum;
}
