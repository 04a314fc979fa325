/* The costs of custom calls: data/custom-calls.yaml. */
#ifndef REHEARSE_COST_COUNT_CUSTOM_CALLS_H
#define REHEARSE_COST_COUNT_CUSTOM_CALLS_H

#include "core/error.h"

#include <stdbool.h>

enum custom_call_rule {
    CUSTOM_CALL_FREE,
    CUSTOM_CALL_ELEMENTS,
    CUSTOM_CALL_GEMM,
    CUSTOM_CALL_CONVOLUTION,
    CUSTOM_CALL_ESTIMATE,
    CUSTOM_CALL_FACTORIZATION,
    CUSTOM_CALL_TRIANGULAR,
    CUSTOM_CALL_TOPK,
    CUSTOM_CALL_ATTENTION,
    CUSTOM_CALL_ATTENTION_BACKWARD,
};

struct custom_call {
    const char *pattern; /* fnmatch pattern of the target */
    enum custom_call_rule rule;
    double flops, transcendentals; /* per element */
    double terms[3];               /* of p^2 q, p q^2, q^3 */
};

/* Reads the table once; lookups cannot fail afterwards. */
bool custom_calls_read(struct error *err);

/* Returns the entry of a target, or NULL. */
const struct custom_call *custom_call_find(const char *target);

#endif
