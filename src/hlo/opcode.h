/* The operations of HLO, by the names that HLO text gives them.
 *
 * StableHLO and MHLO operations are read into the same list (broadcast_in_dim becomes broadcast, dot_general
 * becomes dot). The traits are those that counting and fusing ask for. */
#ifndef REHEARSE_HLO_OPCODE_H
#define REHEARSE_HLO_OPCODE_H

#include <stdbool.h>
#include <stddef.h>

enum hlo_trait {
    HLO_ELEMENTWISE = 1,    /* one result element from the elements of the operands at the same place */
    HLO_TRANSCENDENTAL = 2, /* elementwise, and counted as transcendental by XLA's HloCostAnalysis */
    HLO_COLLECTIVE = 4,     /* talks to other devices */
    HLO_FREE = 8,           /* no kernel: tuples, bitcasts, tokens, parameters, constants */
};

#define HLO_UNARY_FN (HLO_ELEMENTWISE | HLO_TRANSCENDENTAL)

/* X(enumerator, "text", traits) */
#define HLO_OPCODES(X)                                                                                       \
    X(ABS, "abs", HLO_ELEMENTWISE)                                                                           \
    X(ACOS, "acos", HLO_UNARY_FN)                                                                            \
    X(ACOSH, "acosh", HLO_UNARY_FN)                                                                          \
    X(ADD, "add", HLO_ELEMENTWISE)                                                                           \
    X(ADD_DEPENDENCY, "add-dependency", HLO_FREE)                                                            \
    X(AFTER_ALL, "after-all", HLO_FREE)                                                                      \
    X(ALL_GATHER, "all-gather", HLO_COLLECTIVE)                                                              \
    X(ALL_GATHER_DONE, "all-gather-done", HLO_COLLECTIVE)                                                    \
    X(ALL_GATHER_START, "all-gather-start", HLO_COLLECTIVE)                                                  \
    X(ALL_REDUCE, "all-reduce", HLO_COLLECTIVE)                                                              \
    X(ALL_REDUCE_DONE, "all-reduce-done", HLO_COLLECTIVE)                                                    \
    X(ALL_REDUCE_START, "all-reduce-start", HLO_COLLECTIVE)                                                  \
    X(ALL_TO_ALL, "all-to-all", HLO_COLLECTIVE)                                                              \
    X(AND, "and", HLO_ELEMENTWISE)                                                                           \
    X(ASIN, "asin", HLO_UNARY_FN)                                                                            \
    X(ASINH, "asinh", HLO_UNARY_FN)                                                                          \
    X(ASYNC_DONE, "async-done", 0)                                                                           \
    X(ASYNC_START, "async-start", 0)                                                                         \
    X(ASYNC_UPDATE, "async-update", 0)                                                                       \
    X(ATAN2, "atan2", HLO_UNARY_FN)                                                                          \
    X(ATANH, "atanh", HLO_UNARY_FN)                                                                          \
    X(BATCH_NORM_GRAD, "batch-norm-grad", 0)                                                                 \
    X(BATCH_NORM_INFERENCE, "batch-norm-inference", 0)                                                       \
    X(BATCH_NORM_TRAINING, "batch-norm-training", 0)                                                         \
    X(BITCAST, "bitcast", HLO_FREE)                                                                          \
    X(BITCAST_CONVERT, "bitcast-convert", HLO_ELEMENTWISE)                                                   \
    X(BROADCAST, "broadcast", 0)                                                                             \
    X(CALL, "call", 0)                                                                                       \
    X(CBRT, "cbrt", HLO_UNARY_FN)                                                                            \
    X(CEIL, "ceil", HLO_ELEMENTWISE)                                                                         \
    X(CHOLESKY, "cholesky", 0)                                                                               \
    X(CLAMP, "clamp", HLO_ELEMENTWISE)                                                                       \
    X(COLLECTIVE_BROADCAST, "collective-broadcast", HLO_COLLECTIVE)                                          \
    X(COLLECTIVE_PERMUTE, "collective-permute", HLO_COLLECTIVE)                                              \
    X(COLLECTIVE_PERMUTE_DONE, "collective-permute-done", HLO_COLLECTIVE)                                    \
    X(COLLECTIVE_PERMUTE_START, "collective-permute-start", HLO_COLLECTIVE)                                  \
    X(COMPARE, "compare", HLO_ELEMENTWISE)                                                                   \
    X(COMPLEX, "complex", HLO_ELEMENTWISE)                                                                   \
    X(CONCATENATE, "concatenate", 0)                                                                         \
    X(CONDITIONAL, "conditional", 0)                                                                         \
    X(CONSTANT, "constant", HLO_FREE)                                                                        \
    X(CONVERT, "convert", HLO_ELEMENTWISE)                                                                   \
    X(CONVOLUTION, "convolution", 0)                                                                         \
    X(COPY, "copy", 0)                                                                                       \
    X(COPY_DONE, "copy-done", 0)                                                                             \
    X(COPY_START, "copy-start", 0)                                                                           \
    X(COSH, "cosh", HLO_UNARY_FN)                                                                            \
    X(COSINE, "cosine", HLO_UNARY_FN)                                                                        \
    X(COUNT_LEADING_ZEROS, "count-leading-zeros", HLO_ELEMENTWISE)                                           \
    X(CUSTOM_CALL, "custom-call", 0)                                                                         \
    X(DIVIDE, "divide", HLO_ELEMENTWISE)                                                                     \
    X(DOMAIN, "domain", HLO_FREE)                                                                            \
    X(DOT, "dot", 0)                                                                                         \
    X(DYNAMIC_RESHAPE, "dynamic-reshape", 0)                                                                 \
    X(DYNAMIC_SLICE, "dynamic-slice", 0)                                                                     \
    X(DYNAMIC_UPDATE_SLICE, "dynamic-update-slice", 0)                                                       \
    X(ERF, "erf", HLO_UNARY_FN)                                                                              \
    X(EXPONENTIAL, "exponential", HLO_UNARY_FN)                                                              \
    X(EXPONENTIAL_MINUS_ONE, "exponential-minus-one", HLO_UNARY_FN)                                          \
    X(FFT, "fft", 0)                                                                                         \
    X(FLOOR, "floor", HLO_ELEMENTWISE)                                                                       \
    X(FUSION, "fusion", 0)                                                                                   \
    X(GATHER, "gather", 0)                                                                                   \
    X(GET_DIMENSION_SIZE, "get-dimension-size", 0)                                                           \
    X(GET_TUPLE_ELEMENT, "get-tuple-element", HLO_FREE)                                                      \
    X(IMAG, "imag", HLO_ELEMENTWISE)                                                                         \
    X(INFEED, "infeed", 0)                                                                                   \
    X(IOTA, "iota", 0)                                                                                       \
    X(IS_FINITE, "is-finite", HLO_ELEMENTWISE)                                                               \
    X(LOG, "log", HLO_UNARY_FN)                                                                              \
    X(LOG_PLUS_ONE, "log-plus-one", HLO_UNARY_FN)                                                            \
    X(LOGISTIC, "logistic", HLO_UNARY_FN)                                                                    \
    X(MAP, "map", HLO_ELEMENTWISE)                                                                           \
    X(MAXIMUM, "maximum", HLO_ELEMENTWISE)                                                                   \
    X(MINIMUM, "minimum", HLO_ELEMENTWISE)                                                                   \
    X(MULTIPLY, "multiply", HLO_ELEMENTWISE)                                                                 \
    X(NEGATE, "negate", HLO_ELEMENTWISE)                                                                     \
    X(NOT, "not", HLO_ELEMENTWISE)                                                                           \
    X(OPT_BARRIER, "opt-barrier", HLO_FREE)                                                                  \
    X(OR, "or", HLO_ELEMENTWISE)                                                                             \
    X(OUTFEED, "outfeed", 0)                                                                                 \
    X(PAD, "pad", 0)                                                                                         \
    X(PARAMETER, "parameter", HLO_FREE)                                                                      \
    X(PARTITION_ID, "partition-id", 0)                                                                       \
    X(POPCNT, "popcnt", HLO_ELEMENTWISE)                                                                     \
    X(POWER, "power", HLO_UNARY_FN)                                                                          \
    X(RAGGED_ALL_TO_ALL, "ragged-all-to-all", HLO_COLLECTIVE)                                                \
    X(RAGGED_DOT, "ragged-dot", 0)                                                                           \
    X(REAL, "real", HLO_ELEMENTWISE)                                                                         \
    X(RECV, "recv", HLO_COLLECTIVE)                                                                          \
    X(RECV_DONE, "recv-done", HLO_COLLECTIVE)                                                                \
    X(REDUCE, "reduce", 0)                                                                                   \
    X(REDUCE_PRECISION, "reduce-precision", HLO_ELEMENTWISE)                                                 \
    X(REDUCE_SCATTER, "reduce-scatter", HLO_COLLECTIVE)                                                      \
    X(REDUCE_WINDOW, "reduce-window", 0)                                                                     \
    X(REMAINDER, "remainder", HLO_ELEMENTWISE)                                                               \
    X(REPLICA_ID, "replica-id", 0)                                                                           \
    X(RESHAPE, "reshape", 0)                                                                                 \
    X(REVERSE, "reverse", 0)                                                                                 \
    X(RNG, "rng", 0)                                                                                         \
    X(RNG_BIT_GENERATOR, "rng-bit-generator", 0)                                                             \
    X(RNG_GET_AND_UPDATE_STATE, "rng-get-and-update-state", 0)                                               \
    X(ROUND_NEAREST_AFZ, "round-nearest-afz", HLO_ELEMENTWISE)                                               \
    X(ROUND_NEAREST_EVEN, "round-nearest-even", HLO_ELEMENTWISE)                                             \
    X(RSQRT, "rsqrt", HLO_UNARY_FN)                                                                          \
    X(SCALED_DOT, "scaled-dot", 0)                                                                           \
    X(SCAN, "scan", 0)                                                                                       \
    X(SCATTER, "scatter", 0)                                                                                 \
    X(SELECT, "select", HLO_ELEMENTWISE)                                                                     \
    X(SELECT_AND_SCATTER, "select-and-scatter", 0)                                                           \
    X(SEND, "send", HLO_COLLECTIVE)                                                                          \
    X(SEND_DONE, "send-done", HLO_COLLECTIVE)                                                                \
    X(SET_DIMENSION_SIZE, "set-dimension-size", 0)                                                           \
    X(SHIFT_LEFT, "shift-left", HLO_ELEMENTWISE)                                                             \
    X(SHIFT_RIGHT_ARITHMETIC, "shift-right-arithmetic", HLO_ELEMENTWISE)                                     \
    X(SHIFT_RIGHT_LOGICAL, "shift-right-logical", HLO_ELEMENTWISE)                                           \
    X(SIGN, "sign", HLO_ELEMENTWISE)                                                                         \
    X(SINE, "sine", HLO_UNARY_FN)                                                                            \
    X(SINH, "sinh", HLO_UNARY_FN)                                                                            \
    X(SLICE, "slice", 0)                                                                                     \
    X(SORT, "sort", 0)                                                                                       \
    X(SQRT, "sqrt", HLO_UNARY_FN)                                                                            \
    X(STOCHASTIC_CONVERT, "stochastic-convert", HLO_ELEMENTWISE)                                             \
    X(SUBTRACT, "subtract", HLO_ELEMENTWISE)                                                                 \
    X(TAN, "tan", HLO_UNARY_FN)                                                                              \
    X(TANH, "tanh", HLO_UNARY_FN)                                                                            \
    X(TOPK, "topk", 0)                                                                                       \
    X(TRANSPOSE, "transpose", 0)                                                                             \
    X(TRIANGULAR_SOLVE, "triangular-solve", 0)                                                               \
    X(TUPLE, "tuple", HLO_FREE)                                                                              \
    X(WHILE, "while", 0)                                                                                     \
    X(XOR, "xor", HLO_ELEMENTWISE)

enum hlo_opcode {
#define X(enumerator, text, traits) HLO_##enumerator,
    HLO_OPCODES(X)
#undef X
        HLO_OPCODE_COUNT
};

const char *hlo_opcode_name(enum hlo_opcode opcode);
unsigned hlo_opcode_traits(enum hlo_opcode opcode);

/* The opcode of this text, HLO_OPCODE_COUNT when it is none. */
enum hlo_opcode hlo_opcode_find(const char *text, size_t length);

#endif
