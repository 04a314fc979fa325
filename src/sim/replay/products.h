/* Matrix products of a recorded run: sizes that the profiler recorded of operations ("Input Dims" of aten::mm and its
 * kin), with the kernels that were launched within them, on the same thread. Products that no operation tells, of CUDA
 * graphs and of kernels of one's own, have no size. */
#ifndef REHEARSE_SIM_REPLAY_PRODUCTS_H
#define REHEARSE_SIM_REPLAY_PRODUCTS_H

#include "core/unit/product_size.h"
#include "sim/replay/replay.h"

/* All runs of one size, type and kernel. */
struct replay_product {
    struct product_size size;
    uint32_t type, kernel; /* texts: "c10::BFloat16"; the longest kernel of each run */
    size_t count;
    int64_t total, median; /* ns: of all runs, of one */
};

/* Is an operation a product of matrices whose sizes its inputs tell? */
bool replay_is_product(const char *name);

/* Reads the sizes of an operation's inputs, "64;4096,100;100,64;". False: it is no product, or one of other inputs. */
bool replay_product_size(const char *name, const char *dims, struct product_size *size);

/* Lists the products, longest total first. The caller frees *list; none: *count 0. */
bool replay_products(const struct replay *replay, struct replay_product **list, size_t *count,
                     struct error *err);

#endif
