/* Convolution, reduce_window and select_and_scatter, which move a window over their operand. */
#include "hlo/mlir/mlir.h"

#include <stdio.h>

/* The parts of a window; an empty list stands for its default. */
struct parts {
    struct hlo_ints sizes, strides, padding, base, dilation, reversal;
    int64_t padded; /* rows of padding */
};

/* window = {stride = [1, 1], pad = [[1, 1], [2, 2]], lhs_dilate = […], rhs_dilate = […], reverse = […]} */
static bool read_short_window(struct mlir_reader *r, const char *window, struct parts *parts)
{
    struct mlir_op inner = {.first_attribute = r->attributes.count};
    r->p = window;
    if (!mlir_need(r, "{") || !mlir_dictionary(r, &inner, '}') ||
        !mlir_read_ints(r, mlir_find(r, &inner, "stride"), &parts->strides, NULL) ||
        !mlir_read_ints(r, mlir_find(r, &inner, "pad"), &parts->padding, &parts->padded) ||
        !mlir_read_ints(r, mlir_find(r, &inner, "lhs_dilate"), &parts->base, NULL) ||
        !mlir_read_ints(r, mlir_find(r, &inner, "rhs_dilate"), &parts->dilation, NULL) ||
        !mlir_read_ints(r, mlir_find(r, &inner, "reverse"), &parts->reversal, NULL))
        return false;
    r->attributes.count = inner.first_attribute;
    return true;
}

static bool read_parts(struct mlir_reader *r, const struct mlir_op *op, struct parts *parts)
{
    const char *window = mlir_find(r, op, "window");
    if (window)
        return read_short_window(r, window, parts);
    return mlir_find_ints(r, op, "window_dimensions", false, &parts->sizes) &&
           mlir_find_ints(r, op, "window_strides", false, &parts->strides) &&
           mlir_read_ints(r, mlir_find(r, op, "padding"), &parts->padding, &parts->padded) &&
           mlir_find_ints(r, op, "base_dilations|lhs_dilation", false, &parts->base) &&
           mlir_find_ints(r, op, "window_dilations|rhs_dilation", false, &parts->dilation) &&
           mlir_find_ints(r, op, "window_reversal", false, &parts->reversal);
}

static bool check_parts(struct mlir_reader *r, const struct mlir_op *op, const struct parts *parts, int rank)
{
    const struct hlo_ints *lists[] = {&parts->sizes, &parts->strides, &parts->base, &parts->dilation};
    static const char *const names[] = {"window_dimensions", "window_strides", "lhs_dilation",
                                        "rhs_dilation"};
    if (parts->padding.count && (parts->padding.count != 2 * rank || parts->padded != rank))
        return mlir_op_error(r, op, "padding: expected %d pairs, found %d", rank, parts->padding.count / 2);
    if (parts->reversal.count && parts->reversal.count != rank)
        return mlir_op_error(r, op, "window_reversal: expected %d, found %d", rank, parts->reversal.count);
    for (int l = 0; l < 4; l++) {
        if (lists[l]->count && lists[l]->count != rank)
            return mlir_op_error(r, op, "%s: expected %d numbers, found %d", names[l], rank, lists[l]->count);
        for (int i = 0; i < lists[l]->count; i++)
            if (lists[l]->at[i] < 1 || lists[l]->at[i] > HLO_MAX_ELEMENTS)
                return mlir_op_error(r, op, "%s: expected a positive number, found %lld", names[l],
                                     (long long)lists[l]->at[i]);
    }
    for (int i = 0; i < parts->padding.count; i++)
        if (parts->padding.at[i] > HLO_MAX_ELEMENTS || parts->padding.at[i] < -HLO_MAX_ELEMENTS)
            return mlir_op_error(r, op, "padding of %lld is too large", (long long)parts->padding.at[i]);
    return true;
}

static int64_t at_or(struct hlo_ints list, int index, int64_t otherwise)
{
    return index < list.count ? list.at[index] : otherwise;
}

static bool set_window(struct mlir_reader *r, const struct mlir_op *op, const struct parts *parts, int rank,
                       const int64_t *sizes, struct hlo_attributes *set)
{
    struct hlo_window_dim *window = ARENA_ARRAY(&r->module->arena, (size_t)rank, struct hlo_window_dim);
    if (!window)
        return error_memory(r->err);
    if (!check_parts(r, op, parts, rank))
        return false;
    for (int i = 0; i < rank; i++)
        window[i] = (struct hlo_window_dim){
            .size = sizes[i],
            .stride = at_or(parts->strides, i, 1),
            .pad_low = at_or(parts->padding, 2 * i, 0),
            .pad_high = at_or(parts->padding, 2 * i + 1, 0),
            .base_dilation = at_or(parts->base, i, 1),
            .window_dilation = at_or(parts->dilation, i, 1),
            .reversal = at_or(parts->reversal, i, 0) != 0,
        };
    set->window = window;
    set->window_rank = rank;
    return true;
}

bool mlir_build_reduce_window(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    struct parts parts = {0};
    if (!mlir_need_arrays(r, op) || !mlir_check_reducer(r, op, op->operands / 2) ||
        !read_parts(r, op, &parts))
        return false;
    int rank = mlir_operand_type(r, op, 0)->rank;
    if (parts.sizes.count != rank)
        return mlir_op_error(r, op, "window_dimensions: expected %d numbers, found %d", rank,
                             parts.sizes.count);
    return set_window(r, op, &parts, rank, parts.sizes.at, set) && mlir_infer(r, op, HLO_REDUCE_WINDOW);
}

bool mlir_build_dynamic_window(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    struct parts parts = {0};
    struct hlo_ints *lists[] = {&parts.sizes, &parts.strides, &parts.base, &parts.dilation, &parts.padding};
    size_t inputs = (op->operands - 5) / 2;
    for (size_t i = 0; i < 5; i++) {
        if (!mlir_known(r, mlir_operand(r, op, 2 * inputs + i), lists[i]))
            return false;
        if (!lists[i]->count)
            return mlir_op_error(r, op, "operand %zu is known only at run time", 2 * inputs + i + 1);
    }
    parts.padded = parts.padding.count / 2;
    op->operands = 2 * inputs;
    int rank = mlir_operand_type(r, op, 0)->rank;
    if (parts.sizes.count != rank)
        return mlir_op_error(r, op, "its window should have %d sizes, found %d", rank, parts.sizes.count);
    return mlir_need_arrays(r, op) && mlir_check_reducer(r, op, inputs) &&
           set_window(r, op, &parts, rank, parts.sizes.at, set) && mlir_infer(r, op, HLO_REDUCE_WINDOW);
}

bool mlir_build_select_and_scatter(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    struct parts parts = {0};
    int64_t ones[HLO_MAX_RANK];
    if (!mlir_need_results(r, op, 1) || !mlir_need_arrays(r, op) || !read_parts(r, op, &parts))
        return false;
    const struct hlo_shape *input = mlir_operand_type(r, op, 0), *source = mlir_operand_type(r, op, 1);
    for (int i = 0; i < input->rank; i++)
        ones[i] = 1;
    if (parts.sizes.count && parts.sizes.count != input->rank)
        return mlir_op_error(r, op, "window_dimensions: expected %d numbers, found %d", input->rank,
                             parts.sizes.count);
    if (!set_window(r, op, &parts, input->rank, parts.sizes.count ? parts.sizes.at : ones, set))
        return false;
    bool fits = source->rank == input->rank;
    for (int i = 0; fits && i < input->rank; i++)
        fits = hlo_window_positions(&set->window[i], input->dims[i]) == source->dims[i];
    if (!fits)
        return mlir_op_error(r, op, "the source does not have one element per window");
    return mlir_check_region(r, op, 0, 2, 1) && mlir_check_region(r, op, 1, 2, 1) &&
           mlir_infer(r, op, HLO_SELECT_AND_SCATTER);
}

/* [b, 0, 1, f] up to ']' : what each dimension is. */
static bool read_labels(struct mlir_reader *r, char batch, char feature, struct hlo_ints *labels)
{
    int64_t found[HLO_MAX_RANK];
    uint64_t seen = 0;
    int count = 0;
    if (!mlir_need(r, "["))
        return false;
    do {
        char c = mlir_peek(r);
        if (count == HLO_MAX_RANK)
            return mlir_error(r, r->p, "more than %d dimensions", HLO_MAX_RANK);
        if (c == batch || c == feature) {
            found[count] = c == batch ? HLO_LABEL_BATCH : HLO_LABEL_FEATURE;
            r->p++;
        } else if (!mlir_integer(r, &found[count])) {
            return false;
        }
        if (found[count] < HLO_LABEL_FEATURE || found[count] >= HLO_MAX_RANK - 2 ||
            (seen >> (found[count] + 2) & 1))
            return mlir_error(r, r->p - 1, "this dimension is out of range or listed twice");
        seen |= (uint64_t)1 << (found[count++] + 2);
    } while (mlir_take(r, ','));
    if (seen + 1 != (uint64_t)1 << count) /* batch, feature, 0, 1, …: none left out */
        return mlir_error(r, r->p, "a dimension is missing");
    *labels = mlir_copy_ints(r, found, count);
    return labels->count ? mlir_need(r, "]") : error_memory(r->err);
}

/* [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] */
static bool read_short_labels(struct mlir_reader *r, struct hlo_attributes *set)
{
    return read_labels(r, 'b', 'f', &set->input_labels) && mlir_need(r, "x") &&
           read_labels(r, 'i', 'o', &set->kernel_labels) && mlir_need(r, "->") &&
           read_labels(r, 'b', 'f', &set->output_labels);
}

static bool label(struct mlir_reader *r, const struct mlir_op *op, int64_t *labels, int rank, int64_t at,
                  int64_t value)
{
    if (at < 0 || at >= rank || labels[at] != INT64_MIN)
        return mlir_op_error(r, op, "dimension_numbers: %lld is out of range or listed twice", (long long)at);
    labels[at] = value;
    return true;
}

/* #stablehlo.conv<raw input_batch_dimension = 0, …>, one of input, kernel and output. */
static bool read_raw_labels(struct mlir_reader *r, const struct mlir_op *op, const char *numbers,
                            const char *which, int rank, struct hlo_ints *result)
{
    static const char *const names[][2] = {{"batch", "feature"}, {"input_feature", "output_feature"}};
    bool kernel = strcmp(which, "kernel") == 0;
    int64_t labels[HLO_MAX_RANK];
    struct hlo_ints spatial;
    for (int i = 0; i < rank; i++)
        labels[i] = INT64_MIN;
    char key[64] = "";
    for (int i = 0; i < 3; i++) {
        const char *name = i < 2 ? names[kernel][i] : "spatial";
        snprintf(key, sizeof key, "%s_%s_dimension%s", which, name, i < 2 ? "" : "s");
        if (!mlir_read_field(r, numbers, key, &spatial))
            return false;
        if (i < 2 && !label(r, op, labels, rank, spatial.count == 1 ? spatial.at[0] : 0,
                            i ? HLO_LABEL_FEATURE : HLO_LABEL_BATCH))
            return false;
    }
    if (spatial.count != rank - 2)
        return mlir_op_error(r, op, "%s: expected %d numbers, found %d", key, rank - 2, spatial.count);
    for (int i = 0; i < spatial.count; i++)
        if (!label(r, op, labels, rank, spatial.at[i], i))
            return false;
    *result = mlir_copy_ints(r, labels, rank);
    return result->count || error_memory(r->err);
}

static bool read_dimension_numbers(struct mlir_reader *r, const struct mlir_op *op, int rank,
                                   struct hlo_attributes *set)
{
    const char *numbers = mlir_find(r, op, "dimension_numbers|dim_numbers");
    if (!numbers)
        return mlir_op_error(r, op, "'dimension_numbers' is missing");
    r->p = numbers;
    bool is_named = mlir_take_token(r, "#stablehlo.conv<") || mlir_take_token(r, "#mhlo.conv<");
    if (!is_named || !mlir_take_word(r, "raw"))
        return read_short_labels(r, set);
    return read_raw_labels(r, op, numbers, "input", rank, &set->input_labels) &&
           read_raw_labels(r, op, numbers, "kernel", rank, &set->kernel_labels) &&
           read_raw_labels(r, op, numbers, "output", rank, &set->output_labels);
}

/* The padding of dynamic_conv is a value: it is taken for the one that gives the result's size, half of it
 * on each side. */
static void guess_padding(struct mlir_reader *r, const struct mlir_op *op, struct hlo_attributes *set)
{
    struct hlo_window_dim *window = (struct hlo_window_dim *)set->window;
    for (int i = 0; i < set->window_rank; i++) {
        int64_t base = hlo_labelled_size(mlir_operand_type(r, op, 0), set->input_labels, i), reach, total;
        int64_t out = hlo_labelled_size(mlir_result_type(r, op, 0), set->output_labels, i);
        if ((base && __builtin_mul_overflow(base - 1, window[i].base_dilation, &base)) || out < 1 ||
            __builtin_mul_overflow(window[i].size - 1, window[i].window_dilation, &reach) ||
            __builtin_mul_overflow(out - 1, window[i].stride, &total) || total > INT64_MAX / 4 ||
            base > INT64_MAX / 4 || reach > INT64_MAX / 4)
            continue;
        total += reach - base;
        window[i].pad_low = total / 2;
        window[i].pad_high = total - total / 2;
    }
}

/* The padding of dynamic_conv, a row for each spatial dimension, is guessed where it is not known. */
static bool set_padding(struct mlir_reader *r, const struct mlir_op *op, struct hlo_attributes *set)
{
    struct hlo_window_dim *window = (struct hlo_window_dim *)set->window;
    struct hlo_ints padding = {0};
    if (r->sized && !mlir_known(r, mlir_operand(r, op, 2), &padding))
        return false;
    if (padding.count != 2 * set->window_rank) {
        guess_padding(r, op, set);
        return true;
    }
    for (int i = 0; i < padding.count; i++) {
        if (padding.at[i] > HLO_MAX_ELEMENTS || padding.at[i] < -HLO_MAX_ELEMENTS)
            return mlir_op_error(r, op, "padding of %lld is too large", (long long)padding.at[i]);
        *(i % 2 ? &window[i / 2].pad_high : &window[i / 2].pad_low) = padding.at[i];
    }
    return true;
}

bool mlir_build_convolution(struct mlir_reader *r, struct mlir_op *op)
{
    struct hlo_attributes *set = mlir_set(r, op);
    struct parts parts = {0};
    int64_t sizes[HLO_MAX_RANK];
    if (!mlir_need_results(r, op, 1) || !mlir_need_arrays(r, op))
        return false;
    set->feature_groups = set->batch_groups = 1;
    const struct hlo_shape *input = mlir_operand_type(r, op, 0), *kernel = mlir_operand_type(r, op, 1);
    int rank = input->rank;
    if (rank < 2 || kernel->rank != rank || mlir_result_type(r, op, 0)->rank != rank)
        return mlir_op_error(r, op, "input, kernel and result should have as many dimensions, at least 2");
    if (!read_dimension_numbers(r, op, rank, set) ||
        !mlir_find_integer(r, op, "feature_group_count", false, &set->feature_groups) ||
        !mlir_find_integer(r, op, "batch_group_count", false, &set->batch_groups) ||
        !read_parts(r, op, &parts) || !mlir_verify_dot(r, op))
        return false;
    for (int i = 0; i < rank - 2; i++)
        sizes[i] = hlo_labelled_size(kernel, set->kernel_labels, i);
    if (!set_window(r, op, &parts, rank - 2, sizes, set))
        return false;
    if (op->operands == 3 && !set_padding(r, op, set))
        return false;
    op->operands = 2;
    return mlir_infer(r, op, HLO_CONVOLUTION);
}
