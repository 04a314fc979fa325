/* The size of a matrix product. */
#ifndef REHEARSE_CORE_UNIT_PRODUCT_SIZE_H
#define REHEARSE_CORE_UNIT_PRODUCT_SIZE_H

#include <stdint.h>

/* `batch` products of m x k and k x n numbers. */
struct product_size {
    int64_t batch, m, n, k;
};

static inline double product_flops(const struct product_size *size)
{
    return 2.0 * (double)size->batch * (double)size->m * (double)size->n * (double)size->k;
}

#endif
