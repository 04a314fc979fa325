/* Windows that slide over arrays: convolutions and reduce-window. */
#include "cost/count/rules.h"

#include <math.h>

#define MAX_EXTENT ((int64_t)1 << 31) /* of a window and its input: products stay in 64 bits */
#define MAX_STEPS  ((int64_t)1 << 24) /* of the shorter of kernel and output along a dimension */

/* One spatial dimension: input position u = output x stride - pad_low + kernel x window_dilation is one of
 * the input's when it is a multiple of base_dilation and inside. */
struct spatial_dim {
    int64_t input, kernel, output;
    struct hlo_window_dim window;
};

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* x with a x = 1 (mod m), 0 for m = 1; a and m have no common divisor. */
static int64_t inverse(int64_t a, int64_t m)
{
    int64_t r = m, next_r = a % m, x = 0, next_x = 1;
    while (next_r) {
        int64_t quotient = r / next_r, rest = r - quotient * next_r, step = x - quotient * next_x;
        r = next_r;
        next_r = rest;
        x = next_x;
        next_x = step;
    }
    return m == 1 ? 0 : (x % m + m) % m;
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t remainder_of(int64_t a, int64_t b)
{
    return (a % b + b) % b;
}

/* How many x of [0, count) have 0 <= x step + offset <= last and x step + offset a multiple of `base`.
 * divisor = gcd(step, base), inverted = (step / divisor)^-1 modulo base / divisor. */
static int64_t hits(int64_t count, int64_t step, int64_t offset, int64_t last, int64_t base, int64_t divisor,
                    int64_t inverted)
{
    int64_t wanted = remainder_of(-offset, base), period = base / divisor;
    if (wanted % divisor)
        return 0;
    int64_t from = -floor_divide(offset, step), to = floor_divide(last - offset, step);
    if (from < 0)
        from = 0;
    if (to > count - 1)
        to = count - 1;
    int64_t first = wanted / divisor % period * inverted % period; /* the minimum x that hits a multiple */
    from += remainder_of(first - from, period);
    return from > to ? 0 : (to - from) / period + 1;
}

/* The positions of kernel and output that meet an input element, as HloCostAnalysis::GetConvolutionFlops
 * counts them one by one; here one side's are counted at once. */
static int64_t count_positions(const struct spatial_dim *s)
{
    const struct hlo_window_dim *w = &s->window;
    bool by_kernel = s->kernel <= s->output;
    int64_t steps = by_kernel ? s->kernel : s->output, others = by_kernel ? s->output : s->kernel;
    int64_t step = by_kernel ? w->window_dilation : w->stride;
    int64_t other_step = by_kernel ? w->stride : w->window_dilation;
    int64_t divisor = greatest_divisor(other_step, w->base_dilation);
    int64_t inverted = inverse(other_step / divisor, w->base_dilation / divisor);
    int64_t positions = 0, last = (s->input - 1) * w->base_dilation;
    for (int64_t i = 0; i < steps; i++)
        positions +=
            hits(others, other_step, i * step - w->pad_low, last, w->base_dilation, divisor, inverted);
    return positions;
}

/* N x N positions of which N meet an element, whatever N. */
static bool is_transposed(const struct spatial_dim *s)
{
    const struct hlo_window_dim *w = &s->window;
    return s->input == s->output && s->kernel == s->output && s->input == w->base_dilation &&
           w->window_dilation == 1 && w->stride == (s->input > 2 ? s->input - 1 : 1) && !w->pad_low &&
           !w->pad_high;
}

static bool is_spread(const struct spatial_dim *s)
{
    const struct hlo_window_dim *w = &s->window;
    return s->input == 1 && s->kernel == s->output && w->window_dilation == 1 && w->base_dilation == 1 &&
           w->stride == 1 && w->pad_high == s->output - 1 && w->pad_low == s->output - 1;
}

static bool in_bounds(int64_t value, int64_t min)
{
    return value >= min && value <= MAX_EXTENT;
}

static bool positions(const struct spatial_dim *s, double *count)
{
    const struct hlo_window_dim *w = &s->window;
    if (!s->input || !s->kernel || !s->output) {
        *count = 0;
        return true;
    }
    if (is_transposed(s) || is_spread(s)) {
        *count = (double)s->output;
        return true;
    }
    int64_t shorter = s->kernel < s->output ? s->kernel : s->output;
    if (!in_bounds(s->input, 1) || !in_bounds(s->kernel, 1) || !in_bounds(s->output, 1) ||
        !in_bounds(w->stride, 1) || !in_bounds(w->window_dilation, 1) || !in_bounds(w->base_dilation, 1) ||
        !in_bounds(w->pad_low, -MAX_EXTENT) || shorter > MAX_STEPS)
        return false;
    *count = (double)count_positions(s);
    return true;
}

bool count_convolution_flops(const struct hlo_instruction *convolution, double *flops, struct error *err)
{
    const struct hlo_attributes *a = convolution->attributes;
    if (convolution->operand_count < 2)
        return error_set(err, ERROR_INPUT, "line %u: a convolution of %d operands", convolution->line,
                         convolution->operand_count);
    const struct hlo_shape *input = convolution->operands[0]->shape,
                           *kernel = convolution->operands[1]->shape;
    const struct hlo_shape *output = count_first(convolution->shape);
    int64_t features = hlo_labelled_size(input, a->input_labels, HLO_LABEL_FEATURE);
    int64_t batch = hlo_labelled_size(input, a->input_labels, HLO_LABEL_BATCH);
    if (a->feature_groups > 1)
        features /= a->feature_groups;
    if (a->batch_groups > 1)
        batch /= a->batch_groups;
    double count = (double)features * (double)batch *
                   (double)hlo_labelled_size(output, a->output_labels, HLO_LABEL_FEATURE);
    for (int i = 0; i < a->window_rank; i++) {
        struct spatial_dim s = {.input = hlo_labelled_size(input, a->input_labels, i),
                                .kernel = hlo_labelled_size(kernel, a->kernel_labels, i),
                                .output = hlo_labelled_size(output, a->output_labels, i),
                                .window = a->window[i]};
        double met;
        if (!positions(&s, &met))
            return error_set(err, ERROR_INPUT, "line %u: the window of '%s' is too large to count",
                             convolution->line, convolution->name);
        count *= met;
    }
    *flops = 2 * count;
    return true;
}

/* Returns the dimension that a reduce-window reduces and spreads again over its whole length: this costs
 * a reduction and a broadcast. -1: none. */
static int spread_dimension(const struct hlo_instruction *in)
{
    const struct hlo_attributes *a = in->attributes;
    int reduced = 0, padded = 0, found = -1;
    if (in->shape->type == HLO_TYPE_TUPLE)
        return -1;
    for (int i = 0; i < a->window_rank && i < in->shape->rank; i++) {
        const struct hlo_window_dim *w = &a->window[i];
        reduced += w->size != 1;
        padded += w->pad_low || w->pad_high;
        if (found < 0 && w->size != 1 && w->pad_low && w->pad_low == w->pad_high &&
            w->size == 2 * w->pad_low + 1)
            found = i;
    }
    if (reduced != 1 || padded != 1 || found < 0 || a->window[found].pad_low != in->shape->dims[found] - 1)
        return -1;
    return found;
}

void count_reduce_window(const struct counter *c, const struct hlo_instruction *in,
                         struct instruction_count *n)
{
    const struct hlo_attributes *a = in->attributes;
    const struct hlo_shape *input = in->operands[0]->shape;
    double window = 1, inputs = (double)hlo_elements(input);
    for (int i = 0; i < a->window_rank; i++)
        window *= (double)a->window[i].size;
    double outputs = (double)hlo_elements(count_first(in->shape)), reductions = outputs * (window - 1);
    int spread = spread_dimension(in);
    if (spread >= 0) {
        window = (double)in->shape->dims[spread];
        reductions = floor(outputs / window) + window - 1;
    }
    if (c->repeated && inputs > 0) {
        n->operand_use[0] = outputs * window / inputs;
        n->operand_bytes[0] = n->operand_use[0] * (double)hlo_bytes(input);
    }
    count_add_function(c, in, n, 0, reductions);
}
