#include "cost/kernel_memo.h"

#include <stdlib.h>

#define PLACES 16384 /* a power of two */

struct entry {
    bool used;
    struct kernel kernel;
    struct kernel_time time;
};

struct kernel_memo {
    const struct cost_device *device;
    const struct calibration *calibration;
    struct entry entries[PLACES];
};

struct kernel_memo *kernel_memo_new(const struct cost_device *device, const struct calibration *calibration)
{
    struct kernel_memo *memo = calloc(1, sizeof *memo);
    if (memo) {
        memo->device = device;
        memo->calibration = calibration;
    }
    return memo;
}

void kernel_memo_free(struct kernel_memo *memo)
{
    free(memo);
}

static size_t place_of(const struct kernel *kernel)
{
    const uint64_t parts[] = {(uint64_t)kernel->size.batch, (uint64_t)kernel->size.m,
                              (uint64_t)kernel->size.n, (uint64_t)kernel->size.k, (uint64_t)kernel->type};
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        hash = (hash ^ parts[i]) * UINT64_C(1099511628211);
        hash ^= hash >> 29;
    }
    return (size_t)(hash & (PLACES - 1));
}

/* Compares all that a product's time depends on. */
static bool same_product(const struct kernel *a, const struct kernel *b)
{
    return a->size.batch == b->size.batch && a->size.m == b->size.m && a->size.n == b->size.n &&
           a->size.k == b->size.k && a->type == b->type && a->inner == b->inner && a->near == b->near &&
           a->groups == b->groups && a->repeats == b->repeats && a->rate == b->rate && a->bytes == b->bytes;
}

struct kernel_time kernel_memo_time(struct kernel_memo *memo, const struct kernel *kernel)
{
    if (kernel->kind != KERNEL_GEMM)
        return kernel_time(kernel, memo->device, memo->calibration);
    struct entry *entry = &memo->entries[place_of(kernel)];
    if (!entry->used || !same_product(&entry->kernel, kernel))
        *entry = (struct entry){true, *kernel, kernel_time(kernel, memo->device, memo->calibration)};
    return entry->time;
}
