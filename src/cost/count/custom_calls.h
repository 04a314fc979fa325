/* The costs of custom calls: data/custom-calls.yaml, and files of users in its form. */
#ifndef REHEARSE_COST_COUNT_CUSTOM_CALLS_H
#define REHEARSE_COST_COUNT_CUSTOM_CALLS_H

#include "core/arena.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

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
    double narrow;                 /* further flops per element of less than 32 bits: to fp32 and back */
    double arrays, truths; /* numbers and truth values that its pieces move, per element; 0: as a whole */
    double constants;      /* numbers per element that are written before, once */
    double terms[3];       /* of p^2 q, p q^2, q^3 */
    double steps;          /* launches that wait for one another, per column */
};

struct custom_calls {
    struct arena arena;
    struct custom_call *calls;
    int count, room;
};

/* Read a user's file or text; `path` is for messages. On failure *calls holds nothing; on success the caller
 * releases it with custom_calls_release. */
bool custom_calls_load(struct custom_calls *calls, const char *path, struct error *err);
bool custom_calls_parse(struct custom_calls *calls, const char *path, const char *data, size_t length,
                        struct error *err);
void custom_calls_release(struct custom_calls *calls);

/* Reads the built-in table once; lookups cannot fail afterwards. */
bool custom_calls_read(struct error *err);

/* Returns the entry of a target: of the user's (NULL: none), else of the built-in ones; NULL: there is none. */
const struct custom_call *custom_call_find(const struct custom_calls *added, const char *target);

/* Returns whether the rule only gives a rough time: the kernel's inner workings are not modelled. */
bool custom_call_is_rough(const struct custom_call *call);

#endif
