/* Shapes of contractions, windows and reductions. */
#include "hlo/infer.h"

static bool sizes_match(struct hlo_inference *t, const char *what, const struct hlo_ints *left,
                        const struct hlo_ints *right)
{
    const struct hlo_shape *lhs = hlo_operand_shape(t, 0), *rhs = hlo_operand_shape(t, 1);
    if (left->count != right->count)
        return hlo_contradicts(t, "%d %s dimensions on the left, %d on the right", left->count, what,
                               right->count);
    for (int i = 0; i < left->count; i++)
        if (lhs->dims[left->at[i]] != rhs->dims[right->at[i]])
            return hlo_contradicts(t, "%s dimension %lld of the left is %lld, %lld of the right %lld", what,
                                   (long long)left->at[i], (long long)lhs->dims[left->at[i]],
                                   (long long)right->at[i], (long long)rhs->dims[right->at[i]]);
    return true;
}

static bool dot_dims_exist(struct hlo_inference *t)
{
    const struct hlo_attributes *a = t->in->attributes;
    const struct hlo_shape *lhs = hlo_operand_shape(t, 0), *rhs = hlo_operand_shape(t, 1);
    return hlo_infer_dims_exist(t, "lhs_contracting_dims", &a->lhs_contracting, lhs) &&
           hlo_infer_dims_exist(t, "rhs_contracting_dims", &a->rhs_contracting, rhs) &&
           hlo_infer_dims_exist(t, "lhs_batch_dims", &a->lhs_batch, lhs) &&
           hlo_infer_dims_exist(t, "rhs_batch_dims", &a->rhs_batch, rhs);
}

/* Adds the dimensions of an operand that are neither batch nor contracted, in their order. */
static bool add_free(struct hlo_inference *t, const struct hlo_shape *operand, const struct hlo_ints *batch,
                     const struct hlo_ints *contracting)
{
    for (int i = 0; i < operand->rank; i++)
        if (!hlo_ints_have(*batch, i) && !hlo_ints_have(*contracting, i) &&
            !hlo_infer_dim(t, operand->dims[i]))
            return false;
    return true;
}

bool hlo_infer_dot(struct hlo_inference *t)
{
    const struct hlo_attributes *a = t->in->attributes;
    const struct hlo_shape *lhs = hlo_operand_shape(t, 0), *rhs = hlo_operand_shape(t, 1);
    if (!dot_dims_exist(t) || !sizes_match(t, "contracting", &a->lhs_contracting, &a->rhs_contracting) ||
        !sizes_match(t, "batch", &a->lhs_batch, &a->rhs_batch))
        return false;
    for (int i = 0; i < a->lhs_batch.count; i++)
        if (hlo_ints_have(a->lhs_contracting, a->lhs_batch.at[i]) ||
            hlo_ints_have(a->rhs_contracting, a->rhs_batch.at[i]))
            return hlo_contradicts(t, "a dimension that is both batch and contracting");
    hlo_infer_array(t, hlo_type_bits(lhs->type) >= hlo_type_bits(rhs->type) ? lhs->type : rhs->type);
    t->any_type = true; /* s8 times s8 may be s32 */
    for (int i = 0; i < a->lhs_batch.count; i++)
        if (!hlo_infer_dim(t, lhs->dims[a->lhs_batch.at[i]]))
            return false;
    return add_free(t, lhs, &a->lhs_batch, &a->lhs_contracting) &&
           add_free(t, rhs, &a->rhs_batch, &a->rhs_contracting);
}

bool hlo_infer_ragged_dot(struct hlo_inference *t)
{
    const struct hlo_attributes *a = t->in->attributes;
    const struct hlo_shape *lhs = hlo_operand_shape(t, 0), *rhs = hlo_operand_shape(t, 1);
    return dot_dims_exist(t) && sizes_match(t, "contracting", &a->lhs_contracting, &a->rhs_contracting) &&
           sizes_match(t, "batch", &a->lhs_batch, &a->rhs_batch) &&
           hlo_infer_dims_exist(t, "lhs_ragged_dims", &a->lhs_ragged, lhs) &&
           hlo_infer_dims_exist(t, "rhs_group_dims", &a->rhs_group, rhs);
}

int64_t hlo_window_positions(const struct hlo_window_dim *window, int64_t size)
{
    int64_t base = size, reach;
    if (size > 0 && __builtin_mul_overflow(size - 1, window->base_dilation, &base))
        return -1;
    base += size > 0;
    if (__builtin_mul_overflow(window->size - 1, window->window_dilation, &reach) ||
        base > HLO_MAX_ELEMENTS || reach >= HLO_MAX_ELEMENTS)
        return -1;
    int64_t padded = base + window->pad_low + window->pad_high;
    return padded < reach + 1 ? 0 : (padded - reach - 1) / window->stride + 1;
}

static bool add_window_dim(struct hlo_inference *t, const struct hlo_window_dim *window, int64_t size)
{
    int64_t places = hlo_window_positions(window, size);
    if (places < 0)
        return hlo_contradicts(t, "a window beyond 2^53");
    return hlo_infer_dim(t, places);
}

static bool convolution_fits(struct hlo_inference *t, const struct hlo_shape *input,
                             const struct hlo_shape *kernel)
{
    const struct hlo_attributes *a = t->in->attributes;
    int rank = a->input_labels.count;
    if (rank == 0)
        return hlo_contradicts(t, "expected dim_labels");
    if (input->rank != rank || kernel->rank != rank || a->kernel_labels.count != rank ||
        a->output_labels.count != rank)
        return hlo_contradicts(t, "dim_labels of %d dimensions for operands of %d and %d", rank, input->rank,
                               kernel->rank);
    if (a->window_rank != rank - 2)
        return hlo_contradicts(t, "a window of %d dimensions for %d spatial dimensions", a->window_rank,
                               rank - 2);
    for (int i = 0; i < rank - 2; i++)
        if (a->window[i].size != hlo_labelled_size(kernel, a->kernel_labels, i))
            return hlo_contradicts(t, "spatial dimension %d of the window is %lld, of the kernel %lld", i,
                                   (long long)a->window[i].size,
                                   (long long)hlo_labelled_size(kernel, a->kernel_labels, i));
    int64_t batch = hlo_labelled_size(input, a->input_labels, HLO_LABEL_BATCH);
    int64_t features = hlo_labelled_size(input, a->input_labels, HLO_LABEL_FEATURE);
    int64_t of_kernel = hlo_labelled_size(kernel, a->kernel_labels, HLO_LABEL_BATCH);
    int64_t out = hlo_labelled_size(kernel, a->kernel_labels, HLO_LABEL_FEATURE);
    if (a->feature_groups < 1 || a->batch_groups < 1 || (a->feature_groups > 1 && a->batch_groups > 1))
        return hlo_contradicts(t, "%lld feature groups and %lld batch groups", (long long)a->feature_groups,
                               (long long)a->batch_groups);
    if (features % a->feature_groups || out % a->feature_groups || features / a->feature_groups != of_kernel)
        return hlo_contradicts(t, "%lld features in %lld groups do not fit a kernel of %lld to %lld",
                               (long long)features, (long long)a->feature_groups, (long long)of_kernel,
                               (long long)out);
    return (batch % a->batch_groups == 0 && out % a->batch_groups == 0) ||
           hlo_contradicts(t, "%lld batch groups do not divide %lld and %lld", (long long)a->batch_groups,
                           (long long)batch, (long long)out);
}

bool hlo_infer_convolution(struct hlo_inference *t)
{
    const struct hlo_attributes *a = t->in->attributes;
    const struct hlo_shape *input = hlo_operand_shape(t, 0), *kernel = hlo_operand_shape(t, 1);
    if (!convolution_fits(t, input, kernel))
        return false;
    hlo_infer_array(t, input->type);
    t->any_type = true;
    for (int i = 0; i < a->output_labels.count; i++) {
        int64_t label = a->output_labels.at[i];
        int64_t size = hlo_labelled_size(input, a->input_labels, label);
        bool ok;
        if (label == HLO_LABEL_BATCH)
            ok = hlo_infer_dim(t, size / a->batch_groups);
        else if (label == HLO_LABEL_FEATURE)
            ok = hlo_infer_dim(t, hlo_labelled_size(kernel, a->kernel_labels, label));
        else
            ok = add_window_dim(t, &a->window[label], size);
        if (!ok)
            return false;
    }
    return true;
}

/* The operands' dimensions must be alike; the callee takes two of each. */
static bool reduces_alike(struct hlo_inference *t, int count)
{
    for (int k = 1; k < count; k++)
        if (!hlo_dims_match(hlo_operand_shape(t, k), hlo_operand_shape(t, 0), -1))
            return hlo_contradicts(t, "operand %d has other dimensions than the first", k);
    t->any_type = t->is_exact; /* that of the values that the computation adds up */
    return hlo_infer_calls(t, 2 * count);
}

/* One array, or a tuple of `count` of them with these dimensions and the types of the operands. */
static bool finish_variadic(struct hlo_inference *t, int count)
{
    const struct hlo_instruction *in = t->in;
    if (count == 1)
        return true;
    const struct hlo_shape *out = in->shape;
    t->any_type = true;
    if (!out) {
        t->array.type = HLO_TYPE_COUNT;
        return true;
    }
    if (out->type != HLO_TYPE_TUPLE || out->part_count != count)
        return hlo_contradicts(t, "expected the shape of a tuple of %d", count);
    for (int k = 0; k < count; k++)
        if (!hlo_dims_match(out->parts[k], &t->array, -1))
            return hlo_contradicts(t, "part %d of the shape has other dimensions than operand %d gives", k,
                                   k);
    t->array.type = HLO_TYPE_COUNT; /* nothing left to compare */
    return true;
}

bool hlo_infer_reduce(struct hlo_inference *t)
{
    const struct hlo_instruction *in = t->in;
    const struct hlo_shape *operand = in->operands[0]->shape;
    const struct hlo_ints *dims = &t->in->attributes->dimensions;
    int count = in->operand_count / 2;
    if (!reduces_alike(t, count) || !hlo_infer_dims_exist(t, "dimensions", dims, operand))
        return false;
    hlo_infer_array(t, operand->type);
    for (int i = 0; i < operand->rank; i++)
        if (!hlo_ints_have(*dims, i) && !hlo_infer_dim(t, operand->dims[i]))
            return false;
    return finish_variadic(t, count);
}

bool hlo_infer_reduce_window(struct hlo_inference *t)
{
    const struct hlo_instruction *in = t->in;
    const struct hlo_shape *operand = in->operands[0]->shape;
    const struct hlo_attributes *a = t->in->attributes;
    int count = in->operand_count / 2;
    if (a->window_rank != operand->rank)
        return hlo_contradicts(t, "a window of %d dimensions for an operand of %d", a->window_rank,
                               operand->rank);
    if (!reduces_alike(t, count))
        return false;
    hlo_infer_array(t, operand->type);
    for (int i = 0; i < operand->rank; i++)
        if (!add_window_dim(t, &a->window[i], operand->dims[i]))
            return false;
    return finish_variadic(t, count);
}
