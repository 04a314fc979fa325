#include "cost/derive/op.h"

#include "cost/count/custom_calls.h"

#include <math.h>
#include <string.h>

bool op_is_target(const struct hlo_instruction *in, const char *target)
{
    return in->opcode == HLO_CUSTOM_CALL && in->attributes->target &&
           strcmp(in->attributes->target, target) == 0;
}

/* Annotations of where data lies: nothing runs. */
static bool is_annotation(const struct hlo_instruction *in)
{
    static const char *const names[] = {
        "Sharding",         "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
        "LayoutConstraint", "MoveToDevice",         "MoveToHost",           OP_TARGET_SHARD};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (op_is_target(in, names[i]))
            return in->operand_count > 0;
    return false;
}

static enum op_class custom_class(const struct hlo_instruction *in)
{
    if (op_is_target(in, OP_TARGET_PRODUCT))
        return OP_PRODUCT;
    if (op_is_target(in, OP_TARGET_ATTENTION) || op_is_target(in, OP_TARGET_ATTENTION_BACKWARD))
        return OP_ATTENTION;
    return is_annotation(in) ? OP_VIEW : OP_ALONE;
}

enum op_class op_class(const struct hlo_instruction *in)
{
    enum op_class class = hlo_operations[in->opcode].class;
    if (in->opcode == HLO_CUSTOM_CALL)
        return custom_class(in);
    return class == OP_VIEW && in->operand_count == 0 ? OP_NOTHING : class;
}

static int64_t leaf_elements(const struct hlo_shape *shape)
{
    if (shape->part_count == 0)
        return hlo_elements(shape);
    return leaf_elements(shape->parts[0]); /* variadic: all alike */
}

int64_t op_elements(const struct hlo_instruction *in)
{
    if (in->opcode == HLO_REDUCE && in->operand_count)
        return hlo_elements(in->operands[0]->shape);
    if (in->opcode == HLO_DYNAMIC_UPDATE_SLICE && in->operand_count > 1)
        return hlo_elements(in->operands[1]->shape);
    return leaf_elements(in->shape);
}

enum hlo_opcode op_reducer(const struct hlo_instruction *reduce)
{
    return reduce->callee_count ? reduce->callees[0]->root->opcode : HLO_ADD;
}

bool op_is_splat(const struct hlo_instruction *in)
{
    return in->opcode == HLO_CONSTANT && (in->splat || hlo_elements(in->shape) <= 1);
}

/* ---- arithmetic ---- */

static double callee_flops(const struct hlo_instruction *in, int callee)
{
    if (callee >= in->callee_count || in->callees[callee]->count == 0)
        return 1.0;
    const struct hlo_computation *computation = in->callees[callee];
    double sum = 0.0;
    for (int i = 0; i < computation->count; i++)
        if (op_class(computation->instructions[i]) == OP_ELEMENTWISE)
            sum += hlo_operations[computation->instructions[i]->opcode].lanes;
    return sum;
}

/* XLA's xla_reduce_window_rewrite_base_length, of 2024 to 2026: running sums are those of blocks, to which those of
 * all blocks before are added. */
#define RUNNING_BLOCK 16

static double window_size(const struct hlo_instruction *in)
{
    const struct hlo_shape *from = in->operands[0]->shape,
                           *to = in->shape->part_count ? in->shape->parts[0] : in->shape;
    double size = 1.0;
    for (int i = 0; i < in->attributes->window_rank; i++) {
        int64_t window = in->attributes->window[i].size;
        bool runs = window > RUNNING_BLOCK && i < from->rank && i < to->rank && window == from->dims[i] &&
                    window == to->dims[i];
        size *= runs ? RUNNING_BLOCK + 1.0 : (double)window;
    }
    return size;
}

/* Of all that is inside the module's own fusion. */
static double fusion_flops(const struct hlo_instruction *fusion, int depth)
{
    double sum = 0.0;
    if (!fusion->callee_count || depth > OP_DEPTH)
        return 0.0;
    for (int i = 0; i < fusion->callees[0]->count; i++) {
        const struct hlo_instruction *inner = fusion->callees[0]->instructions[i];
        sum += inner->opcode == HLO_FUSION ? fusion_flops(inner, depth + 1) : op_lane_flops(inner);
    }
    return sum;
}

double op_lane_flops(const struct hlo_instruction *in)
{
    double elements = (double)op_elements(in);
    switch (in->opcode) {
    case HLO_MAP:
    case HLO_REDUCE:
        return elements * callee_flops(in, 0);
    case HLO_REDUCE_WINDOW:
        return elements * window_size(in) * callee_flops(in, 0);
    case HLO_SELECT_AND_SCATTER:
        return (double)hlo_elements(in->operands[1]->shape) * (window_size(in) + 1.0);
    case HLO_SCATTER:
        return in->operand_count > 2 ? (double)hlo_elements(in->operands[2]->shape) : elements;
    case HLO_SORT:
    case HLO_TOPK: /* a bitonic network's comparisons */
        elements = (double)leaf_elements(in->operands[0]->shape);
        return elements * fmax(log2(fmax(elements, 2.0)), 1.0);
    case HLO_FFT:
        return 5.0 * elements * log2(fmax(elements, 2.0));
    case HLO_CHOLESKY:
    case HLO_TRIANGULAR_SOLVE: {
        const struct hlo_shape *a = in->operands[0]->shape;
        return elements * (a->rank ? (double)a->dims[a->rank - 1] : 1.0);
    }
    case HLO_FUSION:
        return fusion_flops(in, 0);
    case HLO_RNG_BIT_GENERATOR:
        return (double)hlo_leaf_bytes(in->shape) / 4.0 * hlo_operations[HLO_RNG_BIT_GENERATOR].lanes;
    default:
        break;
    }
    /* a function of chlo, which keeps its name */
    const struct custom_call *special = in->attributes->target && hlo_is_elementwise(in->opcode)
                                            ? custom_call_find(NULL, in->attributes->target)
                                            : NULL;
    return elements *
           (special ? special->flops + 20.0 * special->transcendentals : hlo_operations[in->opcode].lanes);
}

/* ---- traffic of an instruction as a kernel of its own ---- */

/* Rows up to this many elements are sorted in one kernel, longer ones by radix in passes of 8 bits
 * (Merrill and Grimshaw 2011, as in CUB). */
#define SORT_IN_ONE 4096

static double sort_passes(const struct hlo_instruction *sort)
{
    const struct hlo_shape *keys = sort->operands[0]->shape;
    const struct hlo_ints *dims = &sort->attributes->dimensions;
    int64_t dim = dims->count ? dims->at[0] : keys->rank - 1;
    if (keys->rank == 0 || dim < 0 || dim >= keys->rank || keys->dims[dim] <= SORT_IN_ONE)
        return 1.0;
    int bytes = (hlo_type_bits(keys->type) + 7) / 8;
    return bytes;
}

static double operand_bytes(const struct hlo_instruction *in, int first)
{
    double bytes = 0.0;
    for (int i = first; i < in->operand_count; i++)
        bytes += (double)hlo_leaf_bytes(in->operands[i]->shape);
    return bytes;
}

double op_bytes(const struct hlo_instruction *in)
{
    double output = (double)hlo_leaf_bytes(in->shape);
    double inputs = operand_bytes(in, 0);
    switch (in->opcode) {
    case HLO_SCATTER: { /* operands, indices, updates: updates are read, their places are read and written */
        int count = (in->operand_count - 1) / 2;
        if (count < 1)
            break;
        double indices = (double)hlo_leaf_bytes(in->operands[count]->shape);
        return 3.0 * operand_bytes(in, count + 1) + indices;
    }
    case HLO_SORT:
        return sort_passes(in) * (inputs + output);
    default:
        break;
    }
    return inputs + output;
}

/* ---- products ---- */

static enum cost_type type_of(enum hlo_type type)
{
    switch (type) {
    case HLO_TYPE_F64:
    case HLO_TYPE_C128:
        return COST_FP64;
    case HLO_TYPE_F16:
        return COST_FP16;
    case HLO_TYPE_BF16:
        return COST_BF16;
    case HLO_TYPE_S4:
    case HLO_TYPE_U4:
    case HLO_TYPE_S8:
    case HLO_TYPE_U8:
    case HLO_TYPE_PRED:
        return COST_INT8;
    case HLO_TYPE_F4E2M1FN:
        return COST_FP4;
    default:
        return hlo_type_is_float(type) && hlo_type_bits(type) <= 8 ? COST_FP8 : COST_FP32;
    }
}

/* Of two operands the wider one's. */
static enum cost_type product_type(const struct hlo_shape *a, const struct hlo_shape *b)
{
    return type_of(hlo_type_bits(a->type) >= hlo_type_bits(b->type) ? a->type : b->type);
}

static int64_t dims_product(const struct hlo_shape *shape, const struct hlo_ints *dims)
{
    int64_t product = 1;
    for (int i = 0; i < dims->count; i++)
        product *= shape->dims[dims->at[i]];
    return product;
}

/* Products of the algorithm follow one another along the summed dimension. */
static void set_algorithm(const struct hlo_attributes *attributes, struct op_product *product)
{
    static const enum cost_type types[] = {[HLO_IN_F32] = COST_FP32,
                                           [HLO_IN_TF32] = COST_TF32,
                                           [HLO_IN_BF16] = COST_BF16,
                                           [HLO_IN_F16] = COST_FP16};
    if (attributes->algorithm == HLO_OF_TYPES || product->type != COST_FP32)
        return;
    product->type = types[attributes->algorithm];
    product->exact = attributes->algorithm == HLO_IN_F32;
    product->size.k *= attributes->products > 1 ? attributes->products : 1;
}

/* As many experts as rows that are spread evenly find, of all. */
static int64_t busy_groups(int64_t groups, int64_t rows)
{
    double busy = (double)groups * -expm1((double)rows * log1p(-1.0 / (double)groups));
    return groups > 1 && busy + 0.5 < (double)groups ? (int64_t)fmax(1, busy + 0.5) : groups;
}

static bool dot_product(const struct hlo_instruction *dot, struct op_product *product)
{
    const struct hlo_shape *lhs = dot->operands[0]->shape, *rhs = dot->operands[1]->shape;
    int64_t left = hlo_elements(lhs), right = hlo_elements(rhs);
    if (left == 0 || right == 0)
        return false;
    product->size.k = dims_product(lhs, &dot->attributes->lhs_contracting);
    product->size.batch = dims_product(lhs, &dot->attributes->lhs_batch);
    product->size.m = left / product->size.k / product->size.batch;
    product->size.n = right / product->size.k / product->size.batch;
    if (dot->opcode == HLO_RAGGED_DOT && dot->attributes->rhs_group.count) {
        int64_t all = dims_product(rhs, &dot->attributes->rhs_group);
        int64_t groups = busy_groups(all, product->size.m);
        product->size.n /= all;
        product->groups = (double)all;
        product->unread = (double)hlo_leaf_bytes(rhs) * (1 - (double)groups / (double)all);
        product->size.m = product->size.m > groups ? product->size.m / groups : 1;
        product->size.batch *= groups;
    }
    product->type = product_type(lhs, rhs);
    if (hlo_type_is_complex(lhs->type))
        product->size.k *= 4; /* real and imaginary parts */
    return true;
}

/* As an implicit GEMM (cuDNN): rows are the output's positions, the long dimension is channels x window. Of a
 * dilated input only the elements between the zeros are multiplied. */
static bool convolution_product(const struct hlo_instruction *convolution, struct op_product *product)
{
    const struct hlo_attributes *attributes = convolution->attributes;
    const struct hlo_shape *kernel = convolution->operands[1]->shape;
    int64_t out = hlo_elements(convolution->shape), dilation = 1;
    int64_t features = hlo_labelled_size(kernel, attributes->kernel_labels, HLO_LABEL_FEATURE);
    int64_t groups = attributes->feature_groups > 1 ? attributes->feature_groups
                     : attributes->batch_groups > 1 ? attributes->batch_groups
                                                    : 1;
    product->size.k = hlo_elements(kernel);
    features = features ? features : 1;
    for (int i = 0; i < attributes->window_rank; i++)
        dilation *= attributes->window[i].base_dilation > 1 ? attributes->window[i].base_dilation : 1;
    if (out == 0 || product->size.k == 0 || hlo_elements(convolution->operands[0]->shape) == 0)
        return false;
    product->size.k = (product->size.k / features + dilation - 1) / dilation;
    product->size.m = out / features > 0 ? out / features : 1;
    product->size.n = features / groups > 0 ? features / groups : 1;
    product->size.batch = groups;
    product->type = product_type(convolution->operands[0]->shape, kernel);
    return true;
}

bool op_product_sizes(const struct hlo_instruction *in, struct op_product *product)
{
    const struct hlo_ints *sizes = &in->attributes->sizes;
    *product = (struct op_product){0};
    if (in->opcode == HLO_CUSTOM_CALL) {
        product->size = (struct product_size){sizes->at[0], sizes->at[1], sizes->at[2], sizes->at[3]};
        product->type = type_of(in->operands[0]->shape->type);
        if (op_is_target(in, OP_TARGET_PRODUCT)) {
            product->unread = (double)sizes->at[4];
            product->groups = (double)sizes->at[5];
        }
        return true;
    }
    if (in->operand_count < 2)
        return false;
    return in->opcode == HLO_CONVOLUTION ? convolution_product(in, product) : dot_product(in, product);
}

bool op_product(const struct hlo_instruction *in, struct op_product *product)
{
    if (!op_product_sizes(in, product))
        return false;
    set_algorithm(in->attributes, product);
    return true;
}
