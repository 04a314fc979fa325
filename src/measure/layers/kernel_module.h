/* The door to oneDNN: kernels.c opens the module `rehearse-dnnl.so` (dnnl.c, linked with libdnnl) and calls it through
 * this table. $REHEARSE_DNNL_MODULE names another file. */
#ifndef REHEARSE_MEASURE_LAYERS_KERNEL_MODULE_H
#define REHEARSE_MEASURE_LAYERS_KERNEL_MODULE_H

#include "core/unit/product_size.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_MODULE_VERSION 1
#define KERNEL_MODULE_SYMBOL  "rehearse_kernel_calls"

enum kernel_task_kind {
    TASK_PRODUCT, /* batch products of m x k by k x n */
    TASK_ATTENTION, /* batch = sequences x heads, m = queries, n = keys, k = width of a head: product, softmax, product;
                       backwards five products and a softmax */
    TASK_NORM,       /* layer normalisation of m rows, n wide */
    TASK_SOFTMAX,    /* of m rows, n wide */
    TASK_ACTIVATION, /* GELU by tanh of m numbers */
    TASK_POINTWISE,  /* the sum of two lists of m numbers */
};

/* Compared byte by byte: without padding. */
struct kernel_task {
    int32_t kind; /* enum kernel_task_kind */
    int32_t is_bf16, is_backward, zero;
    struct product_size size;
};

struct kernel_calls {
    int version; /* KERNEL_MODULE_VERSION of the build */

    /* "oneDNN 2.6.3" */
    const char *(*name)(void);

    /* Prepares a task, with inputs by `fill`. NULL: it cannot be done, *why says why. */
    void *(*make)(const struct kernel_task *task, void (*fill)(void *data, int64_t count, bool is_bf16),
                  char *why, size_t size);

    /* Runs it `count` times and waits for the last. */
    bool (*run)(void *made, int64_t count);
    void (*end)(void *made);
};

#endif
