/* The operations of HLO, by the names that HLO text gives them.
 *
 * StableHLO and MHLO operations are read into the same list (broadcast_in_dim becomes broadcast, dot_general
 * becomes dot). This is the one table of all that is known of an operation as such. */
#ifndef REHEARSE_HLO_OPCODE_H
#define REHEARSE_HLO_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The class of an operation, for counting and for fusion. */
enum op_class {
    OP_INPUT,       /* parameter, constant: lies in memory */
    OP_NOTHING,     /* tuple, token: neither computes nor moves */
    OP_VIEW,        /* another look at operand 0: reshape, transpose, broadcast, slice, part of a tuple */
    OP_ELEMENTWISE, /* an element of the result from the operands' at the same place */
    OP_MOVE,        /* an element of the result from some element of the operands: pad, concatenate, gather */
    OP_REDUCE,
    OP_PRODUCT,   /* dot, convolution */
    OP_ATTENTION, /* rehearse.attention, a custom call of our own */
    OP_LOOP,
    OP_COLLECTIVE, /* talks to other devices */
    OP_ALONE,      /* a kernel of its own: sort, scatter, custom call, the module's own fusion */
};

enum hlo_trait {
    HLO_TRANSCENDENTAL = 1,  /* elementwise, and counted as transcendental by XLA's HloCostAnalysis */
    HLO_FREE = 2,            /* XLA counts nothing for it */
    HLO_CAPTURES = 4,        /* StableHLO may give it fewer operands */
    HLO_PAIRED = 8,          /* as many operands more as results: an even number */
    HLO_PAIRED_AND_ONE = 16, /* one operand besides: an odd number */
    HLO_ENDS = 512,          /* ends a transfer that another operation began */
    HLO_UNWRAPPED = 1024,    /* async-start does not take it: it has a start of its own, or none */
    /* Element types that it takes in StableHLO; none of these: any. */
    HLO_OF_BITS = 32, /* whole numbers or truth values */
    HLO_OF_WHOLE = 64,
    HLO_OF_FLOATS = 128,
    HLO_OF_INEXACT = 256, /* floats or complex numbers */
};

#define HLO_ANY INT16_MAX /* number of operands */

/* X(enumerator, "text", class, min and max number of operands, lanes, traits, rule of infer.c for its shape)
 *
 * lanes: fp32 operations of one element: what CUDA's math library takes to within its stated accuracy, in
 * rounded numbers of instructions (CUDA C++ Programming Guide, section 16, and the throughput table of
 * section 8). */
#define HLO_OPCODES(X)                                                                                       \
    X(ABS, "abs", ELEMENTWISE, 1, 1, 1, 0, elementwise)                                                      \
    X(ACOS, "acos", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL, elementwise)                                  \
    X(ACOSH, "acosh", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL, elementwise)                                \
    X(ADD, "add", ELEMENTWISE, 2, 2, 1, 0, elementwise)                                                      \
    X(ADD_DEPENDENCY, "add-dependency", VIEW, 2, 2, 0, HLO_FREE, first)                                      \
    X(AFTER_ALL, "after-all", NOTHING, 0, HLO_ANY, 0, HLO_FREE, token)                                       \
    X(ALL_GATHER, "all-gather", COLLECTIVE, 1, HLO_ANY, 0, HLO_UNWRAPPED, gathered)                          \
    X(ALL_GATHER_DONE, "all-gather-done", COLLECTIVE, 1, 1, 0, HLO_ENDS, any)                                \
    X(ALL_GATHER_START, "all-gather-start", COLLECTIVE, 1, HLO_ANY, 0, 0, gathered)                          \
    X(ALL_REDUCE, "all-reduce", COLLECTIVE, 1, HLO_ANY, 0, HLO_UNWRAPPED, all_reduce)                        \
    X(ALL_REDUCE_DONE, "all-reduce-done", COLLECTIVE, 1, 1, 0, HLO_ENDS, any)                                \
    X(ALL_REDUCE_START, "all-reduce-start", COLLECTIVE, 1, HLO_ANY, 0, 0, any)                               \
    X(ALL_TO_ALL, "all-to-all", COLLECTIVE, 1, HLO_ANY, 0, 0, any)                                           \
    X(AND, "and", ELEMENTWISE, 2, 2, 1, HLO_OF_BITS, elementwise)                                            \
    X(ASIN, "asin", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL, elementwise)                                  \
    X(ASINH, "asinh", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL, elementwise)                                \
    X(ASYNC_DONE, "async-done", ALONE, 1, 1, 0, HLO_UNWRAPPED, any)                                          \
    X(ASYNC_START, "async-start", ALONE, 0, HLO_ANY, 0, HLO_UNWRAPPED, any)                                  \
    X(ASYNC_UPDATE, "async-update", ALONE, 1, HLO_ANY, 0, HLO_UNWRAPPED, any)                                \
    X(ATAN2, "atan2", ELEMENTWISE, 2, 2, 20, HLO_TRANSCENDENTAL, elementwise)                                \
    X(ATANH, "atanh", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL, elementwise)                                \
    X(BATCH_NORM_GRAD, "batch-norm-grad", ALONE, 5, 5, 0, 0, batch_norm)                                     \
    X(BATCH_NORM_INFERENCE, "batch-norm-inference", ALONE, 5, 5, 0, 0, batch_norm)                           \
    X(BATCH_NORM_TRAINING, "batch-norm-training", ALONE, 3, 3, 0, 0, batch_norm)                             \
    X(BITCAST, "bitcast", VIEW, 1, 1, 0, HLO_FREE, any)                                                      \
    X(BITCAST_CONVERT, "bitcast-convert", ELEMENTWISE, 1, 1, 1, 0, elementwise)                              \
    X(BROADCAST, "broadcast", VIEW, 1, 1, 0, 0, broadcast)                                                   \
    X(CALL, "call", ALONE, 0, HLO_ANY, 0, 0, call)                                                           \
    X(CBRT, "cbrt", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise)                 \
    X(CEIL, "ceil", ELEMENTWISE, 1, 1, 1, HLO_OF_FLOATS, elementwise)                                        \
    X(CHOLESKY, "cholesky", ALONE, 1, 1, 0, 0, first)                                                        \
    X(CLAMP, "clamp", ELEMENTWISE, 3, 3, 1, 0, elementwise)                                                  \
    X(COLLECTIVE_BROADCAST, "collective-broadcast", COLLECTIVE, 1, 2, 0, 0, any)                             \
    X(COLLECTIVE_PERMUTE, "collective-permute", COLLECTIVE, 1, HLO_ANY, 0, HLO_UNWRAPPED, any)               \
    X(COLLECTIVE_PERMUTE_DONE, "collective-permute-done", COLLECTIVE, 1, 1, 0, HLO_ENDS, any)                \
    X(COLLECTIVE_PERMUTE_START, "collective-permute-start", COLLECTIVE, 1, HLO_ANY, 0, 0, any)               \
    X(COMPARE, "compare", ELEMENTWISE, 2, 2, 1, 0, elementwise)                                              \
    X(COMPLEX, "complex", ELEMENTWISE, 2, 2, 1, 0, elementwise)                                              \
    X(CONCATENATE, "concatenate", MOVE, 1, HLO_ANY, 0, 0, concatenate)                                       \
    X(CONDITIONAL, "conditional", ALONE, 2, HLO_ANY, 0, HLO_CAPTURES, conditional)                           \
    X(CONSTANT, "constant", INPUT, 0, 0, 0, HLO_FREE | HLO_UNWRAPPED, any)                                   \
    X(CONVERT, "convert", ELEMENTWISE, 1, 1, 1, 0, elementwise)                                              \
    X(CONVOLUTION, "convolution", PRODUCT, 2, 2, 0, 0, convolution)                                          \
    X(COPY, "copy", MOVE, 1, 1, 0, HLO_UNWRAPPED, first)                                                     \
    X(COPY_DONE, "copy-done", ALONE, 1, 1, 0, 0, any)                                                        \
    X(COPY_START, "copy-start", ALONE, 1, 1, 0, 0, transfer)                                                 \
    X(COSH, "cosh", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL, elementwise)                                  \
    X(COSINE, "cosine", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise)             \
    X(COUNT_LEADING_ZEROS, "count-leading-zeros", ELEMENTWISE, 1, 1, 1, HLO_OF_WHOLE, elementwise)           \
    X(CUSTOM_CALL, "custom-call", ALONE, 0, HLO_ANY, 0, 0, any)                                              \
    X(DIVIDE, "divide", ELEMENTWISE, 2, 2, 8, 0, elementwise)                                                \
    X(DOMAIN, "domain", VIEW, 1, 1, 0, HLO_FREE, first)                                                      \
    X(DOT, "dot", PRODUCT, 2, 2, 0, 0, dot)                                                                  \
    X(DYNAMIC_RESHAPE, "dynamic-reshape", VIEW, 1, HLO_ANY, 0, 0, reshape)                                   \
    X(DYNAMIC_SLICE, "dynamic-slice", MOVE, 1, HLO_ANY, 0, 0, dynamic_slice)                                 \
    X(DYNAMIC_UPDATE_SLICE, "dynamic-update-slice", MOVE, 2, HLO_ANY, 0, 0, update_slice)                    \
    X(ERF, "erf", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL, elementwise)                                    \
    X(EXPONENTIAL, "exponential", ELEMENTWISE, 1, 1, 8, HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise)    \
    X(EXPONENTIAL_MINUS_ONE, "exponential-minus-one", ELEMENTWISE, 1, 1, 12,                                 \
      HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise)                                                      \
    X(FFT, "fft", ALONE, 1, 1, 0, 0, any)                                                                    \
    X(FLOOR, "floor", ELEMENTWISE, 1, 1, 1, HLO_OF_FLOATS, elementwise)                                      \
    X(FUSION, "fusion", ALONE, 0, HLO_ANY, 0, 0, call)                                                       \
    X(GATHER, "gather", MOVE, 2, 2, 0, 0, gather)                                                            \
    X(GET_DIMENSION_SIZE, "get-dimension-size", MOVE, 1, 1, 0, 0, dimension_size)                            \
    X(GET_TUPLE_ELEMENT, "get-tuple-element", VIEW, 1, 1, 0, HLO_FREE, element)                              \
    X(IMAG, "imag", ELEMENTWISE, 1, 1, 1, HLO_OF_INEXACT, elementwise)                                       \
    X(INFEED, "infeed", NOTHING, 0, 1, 0, 0, transfer)                                                       \
    X(IOTA, "iota", MOVE, 0, 0, 0, 0, iota)                                                                  \
    X(IS_FINITE, "is-finite", ELEMENTWISE, 1, 1, 1, HLO_OF_FLOATS, elementwise)                              \
    X(LOG, "log", ELEMENTWISE, 1, 1, 12, HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise)                   \
    X(LOG_PLUS_ONE, "log-plus-one", ELEMENTWISE, 1, 1, 12, HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise) \
    X(LOGISTIC, "logistic", ELEMENTWISE, 1, 1, 12, HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise)         \
    X(MAP, "map", ELEMENTWISE, 1, HLO_ANY, 1, 0, elementwise)                                                \
    X(MAXIMUM, "maximum", ELEMENTWISE, 2, 2, 1, 0, elementwise)                                              \
    X(MINIMUM, "minimum", ELEMENTWISE, 2, 2, 1, 0, elementwise)                                              \
    X(MULTIPLY, "multiply", ELEMENTWISE, 2, 2, 1, 0, elementwise)                                            \
    X(NEGATE, "negate", ELEMENTWISE, 1, 1, 1, 0, elementwise)                                                \
    X(NOT, "not", ELEMENTWISE, 1, 1, 1, HLO_OF_BITS, elementwise)                                            \
    X(OPT_BARRIER, "opt-barrier", VIEW, 1, 1, 0, HLO_CAPTURES, first)                                        \
    X(OR, "or", ELEMENTWISE, 2, 2, 1, HLO_OF_BITS, elementwise)                                              \
    X(OUTFEED, "outfeed", NOTHING, 1, HLO_ANY, 0, 0, token)                                                  \
    X(PAD, "pad", MOVE, 2, 2, 0, 0, pad)                                                                     \
    X(PARAMETER, "parameter", INPUT, 0, 0, 0, HLO_FREE | HLO_UNWRAPPED, any)                                 \
    X(PARTITION_ID, "partition-id", NOTHING, 0, 0, 0, 0, number)                                             \
    X(POPCNT, "popcnt", ELEMENTWISE, 1, 1, 1, HLO_OF_WHOLE, elementwise)                                     \
    X(POWER, "power", ELEMENTWISE, 2, 2, 20, HLO_TRANSCENDENTAL, elementwise)                                \
    X(RAGGED_ALL_TO_ALL, "ragged-all-to-all", COLLECTIVE, 6, 6, 0, 0, any)                                   \
    X(RAGGED_DOT, "ragged-dot", PRODUCT, 2, 4, 0, 0, ragged_dot)                                             \
    X(REAL, "real", ELEMENTWISE, 1, 1, 1, HLO_OF_INEXACT, elementwise)                                       \
    X(RECV, "recv", COLLECTIVE, 1, 1, 0, HLO_UNWRAPPED, transfer)                                            \
    X(RECV_DONE, "recv-done", COLLECTIVE, 1, 1, 0, HLO_ENDS, any)                                            \
    X(REDUCE, "reduce", REDUCE, 2, HLO_ANY, 0, HLO_PAIRED, reduce)                                           \
    X(REDUCE_PRECISION, "reduce-precision", ELEMENTWISE, 1, 1, 1, 0, elementwise)                            \
    X(REDUCE_SCATTER, "reduce-scatter", COLLECTIVE, 1, HLO_ANY, 0, 0, gathered)                              \
    X(REDUCE_WINDOW, "reduce-window", MOVE, 2, HLO_ANY, 0, HLO_PAIRED, reduce_window)                        \
    X(REMAINDER, "remainder", ELEMENTWISE, 2, 2, 12, 0, elementwise)                                         \
    X(REPLICA_ID, "replica-id", NOTHING, 0, 0, 0, 0, number)                                                 \
    X(RESHAPE, "reshape", VIEW, 1, 1, 0, 0, reshape)                                                         \
    X(REVERSE, "reverse", MOVE, 1, 1, 0, 0, reverse)                                                         \
    X(RNG, "rng", MOVE, 2, HLO_ANY, 16, 0, any)                                                              \
    X(RNG_BIT_GENERATOR, "rng-bit-generator", ALONE, 1, 1, 16, 0, transfer)                                  \
    X(RNG_GET_AND_UPDATE_STATE, "rng-get-and-update-state", NOTHING, 0, 0, 0, 0, any)                        \
    X(ROUND_NEAREST_AFZ, "round-nearest-afz", ELEMENTWISE, 1, 1, 1, HLO_OF_FLOATS, elementwise)              \
    X(ROUND_NEAREST_EVEN, "round-nearest-even", ELEMENTWISE, 1, 1, 1, HLO_OF_FLOATS, elementwise)            \
    X(RSQRT, "rsqrt", ELEMENTWISE, 1, 1, 8, HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise)                \
    X(SCALED_DOT, "scaled-dot", PRODUCT, 2, 4, 0, 0, ragged_dot)                                             \
    X(SCAN, "scan", ALONE, 1, HLO_ANY, 0, 0, any)                                                            \
    X(SCATTER, "scatter", ALONE, 3, HLO_ANY, 0, HLO_PAIRED_AND_ONE, scatter)                                 \
    X(SELECT, "select", ELEMENTWISE, 3, 3, 1, 0, elementwise)                                                \
    X(SELECT_AND_SCATTER, "select-and-scatter", ALONE, 3, 3, 0, 0, select_and_scatter)                       \
    X(SEND, "send", COLLECTIVE, 2, 2, 0, HLO_CAPTURES | HLO_UNWRAPPED, transfer)                             \
    X(SEND_DONE, "send-done", COLLECTIVE, 1, 1, 0, HLO_ENDS, any)                                            \
    X(SET_DIMENSION_SIZE, "set-dimension-size", VIEW, 2, 2, 0, 0, dimension_size)                            \
    X(SHIFT_LEFT, "shift-left", ELEMENTWISE, 2, 2, 1, HLO_OF_WHOLE, elementwise)                             \
    X(SHIFT_RIGHT_ARITHMETIC, "shift-right-arithmetic", ELEMENTWISE, 2, 2, 1, HLO_OF_WHOLE, elementwise)     \
    X(SHIFT_RIGHT_LOGICAL, "shift-right-logical", ELEMENTWISE, 2, 2, 1, HLO_OF_WHOLE, elementwise)           \
    X(SIGN, "sign", ELEMENTWISE, 1, 1, 1, 0, elementwise)                                                    \
    X(SINE, "sine", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise)                 \
    X(SINH, "sinh", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL, elementwise)                                  \
    X(SLICE, "slice", VIEW, 1, 1, 0, 0, slice)                                                               \
    X(SORT, "sort", ALONE, 1, HLO_ANY, 0, 0, sort)                                                           \
    X(SQRT, "sqrt", ELEMENTWISE, 1, 1, 8, HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise)                  \
    X(STOCHASTIC_CONVERT, "stochastic-convert", ELEMENTWISE, 2, 2, 1, 0, elementwise)                        \
    X(SUBTRACT, "subtract", ELEMENTWISE, 2, 2, 1, 0, elementwise)                                            \
    X(TAN, "tan", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise)                   \
    X(TANH, "tanh", ELEMENTWISE, 1, 1, 20, HLO_TRANSCENDENTAL | HLO_OF_INEXACT, elementwise)                 \
    X(TOPK, "topk", ALONE, 1, 1, 0, 0, any)                                                                  \
    X(TRANSPOSE, "transpose", VIEW, 1, 1, 0, 0, transpose)                                                   \
    X(TRIANGULAR_SOLVE, "triangular-solve", ALONE, 2, 2, 0, 0, second)                                       \
    X(TUPLE, "tuple", NOTHING, 0, HLO_ANY, 0, 0, tuple)                                                      \
    X(WHILE, "while", LOOP, 1, 1, 0, HLO_CAPTURES, while)                                                    \
    X(XOR, "xor", ELEMENTWISE, 2, 2, 1, HLO_OF_BITS, elementwise)

enum hlo_opcode {
#define X(enumerator, text, class, min, max, lanes, traits, rule) HLO_##enumerator,
    HLO_OPCODES(X)
#undef X
        HLO_OPCODE_COUNT
};

struct hlo_operation {
    const char *name;
    enum op_class class;
    int16_t min, max; /* operands */
    int16_t lanes, traits;
};
extern const struct hlo_operation hlo_operations[HLO_OPCODE_COUNT];

static inline const char *hlo_opcode_name(enum hlo_opcode opcode)
{
    return hlo_operations[opcode].name;
}

static inline bool hlo_is_elementwise(enum hlo_opcode opcode)
{
    return hlo_operations[opcode].class == OP_ELEMENTWISE;
}

/* The opcode of this text, HLO_OPCODE_COUNT when it is none. */
enum hlo_opcode hlo_opcode_find(const char *text, size_t length);

#endif
