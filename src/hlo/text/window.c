/* window={size=3x3 stride=2x2 pad=0_1x0_1 …}, dim_labels=b01f_01io->b01f, padding=0_1_0x…, slice={[0:8:2],
 * …} */
#include "hlo/text/text.h"

#include <string.h>

/* 1x2x3, or of `per` numbers each with '_' between: lo_hi. The last of `per` may be left out, and is 0 then,
 * if `optional`. */
static bool read_by(struct hlo_reader *r, int per, bool optional, int64_t numbers[][3], int *count)
{
    const char *begin = r->at;
    *count = 0;
    do {
        if (*count == HLO_MAX_RANK)
            return hlo_fail(r, begin, "more than the %d dimensions that an array may have", HLO_MAX_RANK);
        int64_t *now = numbers[(*count)++];
        for (int i = 0; i < per; i++) {
            now[i] = 0;
            bool goes_on = i == 0 || hlo_peek(r) == '_';
            if (!goes_on && optional && i == per - 1)
                break;
            if (!goes_on)
                return hlo_expected(r, "'_' and a number");
            r->at += i > 0;
            if (!hlo_read_integer(r, &now[i]))
                return false;
        }
    } while (hlo_peek(r) == 'x' && r->at++);
    return true;
}

static const struct {
    const char *name;
    size_t at;
} window_fields[] = {
#define AT(field) offsetof(struct hlo_window_dim, field)
    {"size", AT(size)},
    {"stride", AT(stride)},
    {"pad", AT(pad_low)}, /* and pad_high behind it */
    {"lhs_dilate", AT(base_dilation)},
    {"rhs_dilate", AT(window_dilation)},
    {"rhs_reversal", AT(reversal)},
#undef AT
};

enum { PAD = 2, REVERSAL = 5, FIELD_COUNT };

static bool check_window(struct hlo_reader *r, const char *at, const struct hlo_window_dim *dims, int rank)
{
    const int64_t max = (int64_t)1 << 40; /* so that sums and products of some of them fit */
    for (int i = 0; i < rank; i++) {
        const struct hlo_window_dim *dim = &dims[i];
        if (dim->size < 1 || dim->stride < 1 || dim->base_dilation < 1 || dim->window_dilation < 1)
            return hlo_fail(r, at, "a window with a size, stride or dilation below 1");
        if (dim->size > max || dim->stride > max || dim->base_dilation > max || dim->window_dilation > max ||
            dim->pad_low > max || dim->pad_low < -max || dim->pad_high > max || dim->pad_high < -max)
            return hlo_fail(r, at, "a window with a number beyond 2^40");
    }
    return true;
}

static bool read_window_field(struct hlo_reader *r, struct hlo_window_dim *dims, int *rank)
{
    int64_t numbers[HLO_MAX_RANK][3];
    int field = 0, count;
    hlo_skip_blank(r);
    const char *at = r->at;
    struct hlo_word name = hlo_read_word(r);
    while (field < FIELD_COUNT && !hlo_word_is(name, window_fields[field].name))
        field++;
    if (field == FIELD_COUNT) {
        r->at = at;
        return hlo_expected(r, "size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal");
    }
    if (!hlo_expect(r, '=') || !read_by(r, field == PAD ? 2 : 1, false, numbers, &count))
        return false;
    if (*rank < 0)
        *rank = count;
    if (count != *rank)
        return hlo_fail(r, at, "expected %s of %d dimensions, found %d", window_fields[field].name, *rank,
                        count);
    for (int i = 0; i < count; i++)
        if (field == REVERSAL)
            dims[i].reversal = numbers[i][0] != 0;
        else
            memcpy((char *)&dims[i] + window_fields[field].at, numbers[i],
                   (field == PAD ? 2 : 1) * sizeof(int64_t));
    return true;
}

bool hlo_read_window(struct hlo_reader *r, struct hlo_attributes *attributes)
{
    struct hlo_window_dim dims[HLO_MAX_RANK];
    int rank = -1;
    const char *at = r->at;
    for (int i = 0; i < HLO_MAX_RANK; i++)
        dims[i] = (struct hlo_window_dim){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
    if (!hlo_expect(r, '{'))
        return false;
    while (!hlo_takes(r, '}'))
        if (!read_window_field(r, dims, &rank))
            return false;
    if (rank <= 0)
        return true;
    if (!check_window(r, at, dims, rank))
        return false;
    attributes->window = hlo_keep(r, dims, (size_t)rank * sizeof *dims);
    attributes->window_rank = rank;
    return attributes->window != NULL;
}

/* Reads one of the three parts of b01f_01io->b01f. `first` and `second` are the letters of the dimensions
 * that are not spatial. */
static bool read_label(struct hlo_reader *r, char first, char second, struct hlo_ints *labels, bool *unknown)
{
    int64_t numbers[HLO_MAX_RANK];
    uint64_t seen = 0;
    int count = 0;
    const char *at = r->at;
    for (; r->at < r->end; r->at++) {
        char c = *r->at;
        bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && c != first && c != second && c != '?')
            break;
        if (count == HLO_MAX_RANK)
            return hlo_fail(r, at, "more than %d dimension labels", HLO_MAX_RANK);
        *unknown |= c == '?';
        numbers[count++] = is_digit ? c - '0' : c == first ? HLO_LABEL_BATCH : HLO_LABEL_FEATURE;
        uint64_t bit = c == '?' ? 0 : (uint64_t)1 << (numbers[count - 1] + 2);
        if (seen & bit)
            return hlo_fail(r, r->at, "the dimension label '%c' is listed twice", c);
        seen |= bit;
    }
    if ((seen & 3) != 3)
        return hlo_fail(r, at, "expected dimension labels with '%c' and '%c'", first, second);
    for (int i = 0; i < count; i++)
        if (numbers[i] >= count - 2)
            return hlo_fail(r, at + i, "the dimension label %lld among %d spatial dimensions",
                            (long long)numbers[i], count - 2);
    return hlo_keep_ints(r, numbers, count, labels);
}

bool hlo_read_labels(struct hlo_reader *r, struct hlo_attributes *attributes)
{
    bool unknown = false;
    hlo_skip_blank(r);
    const char *at = r->at;
    if (!read_label(r, 'b', 'f', &attributes->input_labels, &unknown) || !hlo_expect(r, '_') ||
        !read_label(r, 'i', 'o', &attributes->kernel_labels, &unknown) || !hlo_expect(r, '-') ||
        !hlo_expect(r, '>') || !read_label(r, 'b', 'f', &attributes->output_labels, &unknown))
        return false;
    if (attributes->input_labels.count != attributes->kernel_labels.count ||
        attributes->input_labels.count != attributes->output_labels.count)
        return hlo_fail(r, at, "dimension labels of different lengths");
    if (unknown) /* of a custom call, and of no use to cost */
        attributes->input_labels = attributes->kernel_labels = attributes->output_labels =
            (struct hlo_ints){0, NULL};
    return true;
}

/* The `which`th of every dimension's numbers. */
static bool keep(struct hlo_reader *r, int64_t numbers[][3], int count, int which, struct hlo_ints *list)
{
    int64_t *copy = ARENA_ARRAY(&r->module->arena, (size_t)count, int64_t);
    if (!copy)
        return error_memory(r->err);
    for (int i = 0; i < count; i++)
        copy[i] = numbers[i][which];
    *list = (struct hlo_ints){count, copy};
    return true;
}

bool hlo_read_padding(struct hlo_reader *r, struct hlo_attributes *attributes)
{
    int64_t numbers[HLO_MAX_RANK][3];
    int count;
    hlo_skip_blank(r);
    const char *at = r->at;
    if (!read_by(r, 3, true, numbers, &count))
        return false;
    for (int i = 0; i < count; i++)
        if (numbers[i][2] < 0)
            return hlo_fail(r, at, "a negative interior padding");
    return keep(r, numbers, count, 0, &attributes->low) && keep(r, numbers, count, 1, &attributes->high) &&
           keep(r, numbers, count, 2, &attributes->interior);
}

bool hlo_read_slice(struct hlo_reader *r, struct hlo_attributes *attributes)
{
    int64_t numbers[HLO_MAX_RANK][3];
    int count = 0;
    if (!hlo_expect(r, '{'))
        return false;
    while (!hlo_takes(r, '}')) {
        if (count && !hlo_expect(r, ','))
            return false;
        if (count == HLO_MAX_RANK)
            return hlo_fail(r, r->at, "more than the %d dimensions that an array may have", HLO_MAX_RANK);
        int64_t *now = numbers[count++];
        now[2] = 1;
        if (!hlo_expect(r, '[') || !hlo_read_integer(r, &now[0]) || !hlo_expect(r, ':') ||
            !hlo_read_integer(r, &now[1]) || (hlo_takes(r, ':') && !hlo_read_integer(r, &now[2])) ||
            !hlo_expect(r, ']'))
            return false;
    }
    return count == 0 || (keep(r, numbers, count, 0, &attributes->start) &&
                          keep(r, numbers, count, 1, &attributes->limit) &&
                          keep(r, numbers, count, 2, &attributes->stride));
}
