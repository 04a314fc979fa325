/* Matrix products on a GPU that was never measured: its data sheet, and the parameters of other GPUs. */
#ifndef REHEARSE_COST_GEMM_UNSEEN_H
#define REHEARSE_COST_GEMM_UNSEEN_H

#include "core/statistics.h"
#include "devices/measured/products.h"

/* Computes the errors of a table's products as if nothing of its GPU were measured: by the parameters that fit the GPU
 * that it resembles most of those with measured products of the type, by power and bandwidth per flop; *donor is that
 * GPU. Its rows are 0 if there is no other. False: out of memory. */
bool gemm_unseen_errors(const struct products *products, const char **donor, struct error_score *unseen);

#endif
