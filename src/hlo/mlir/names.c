#include "hlo/mlir/mlir.h"

#include "core/text.h"

#define ANY HLO_ANY

/* Operands of the number that HLO's operation has. */
#define SAME (-1), (-1)

#define UNARY(name, opcode)                                                                                  \
    {                                                                                                        \
        name, MLIR_HLO | MLIR_CHLO, HLO_##opcode, SAME, 0, MLIR_PLAIN, mlir_build_elementwise                \
    }
#define STRETCHED(name, opcode)                                                                              \
    {                                                                                                        \
        name, MLIR_CHLO, HLO_##opcode, SAME, 0, MLIR_PLAIN, mlir_build_broadcasting                          \
    }
#define OP(name, opcode, build)                                                                              \
    {                                                                                                        \
        name, MLIR_HLO, HLO_##opcode, SAME, 0, MLIR_PLAIN, build                                             \
    }
#define OPERANDS(name, opcode, least, most, build)                                                           \
    {                                                                                                        \
        name, MLIR_HLO, HLO_##opcode, least, most, 0, MLIR_PLAIN, build                                      \
    }
#define REGION(name, opcode, regions, build)                                                                 \
    {                                                                                                        \
        name, MLIR_HLO, HLO_##opcode, SAME, regions, MLIR_PLAIN, build                                       \
    }
#define CCL(name, opcode)                                                                                    \
    {                                                                                                        \
        name, MLIR_CCL, HLO_##opcode, 1, ANY, 0, MLIR_PLAIN, mlir_build_collective                           \
    }
#define RETURN(dialects)                                                                                     \
    {                                                                                                        \
        "return", dialects, HLO_TUPLE, 0, ANY, 0, MLIR_RETURN, NULL                                          \
    }
#define SDY(name)                                                                                            \
    {                                                                                                        \
        name, MLIR_SDY, HLO_COPY, 1, 1, 0, MLIR_PLAIN, mlir_build_identity                                   \
    }

/* Where two dialects give a name different meanings it is here twice. */
static const struct mlir_info infos[] = {
    UNARY("abs", ABS),
    UNARY("acos", ACOS),
    UNARY("acosh", ACOSH),
    UNARY("asin", ASIN),
    UNARY("asinh", ASINH),
    UNARY("atanh", ATANH),
    UNARY("cbrt", CBRT),
    UNARY("ceil", CEIL),
    UNARY("convert", CONVERT),
    UNARY("copy", COPY),
    UNARY("cosh", COSH),
    UNARY("cosine", COSINE),
    UNARY("count_leading_zeros", COUNT_LEADING_ZEROS),
    UNARY("erf", ERF),
    UNARY("exponential", EXPONENTIAL),
    UNARY("exponential_minus_one", EXPONENTIAL_MINUS_ONE),
    UNARY("floor", FLOOR),
    UNARY("imag", IMAG),
    UNARY("is_finite", IS_FINITE),
    UNARY("log", LOG),
    UNARY("log_plus_one", LOG_PLUS_ONE),
    UNARY("logistic", LOGISTIC),
    UNARY("negate", NEGATE),
    UNARY("not", NOT),
    UNARY("popcnt", POPCNT),
    UNARY("real", REAL),
    UNARY("reduce_precision", REDUCE_PRECISION),
    UNARY("round_nearest_afz", ROUND_NEAREST_AFZ),
    UNARY("round_nearest_even", ROUND_NEAREST_EVEN),
    UNARY("rsqrt", RSQRT),
    UNARY("sign", SIGN),
    UNARY("sine", SINE),
    UNARY("sinh", SINH),
    UNARY("sqrt", SQRT),
    UNARY("tan", TAN),
    UNARY("tanh", TANH),
    UNARY("uniform_dequantize", CONVERT),
    UNARY("uniform_quantize", CONVERT),
    OP("add", ADD, mlir_build_elementwise),
    OP("and", AND, mlir_build_elementwise),
    OP("atan2", ATAN2, mlir_build_elementwise),
    OP("complex", COMPLEX, mlir_build_elementwise),
    OP("divide", DIVIDE, mlir_build_elementwise),
    OP("maximum", MAXIMUM, mlir_build_elementwise),
    OP("minimum", MINIMUM, mlir_build_elementwise),
    OP("multiply", MULTIPLY, mlir_build_elementwise),
    OP("or", OR, mlir_build_elementwise),
    OP("power", POWER, mlir_build_elementwise),
    OP("remainder", REMAINDER, mlir_build_elementwise),
    OP("shift_left", SHIFT_LEFT, mlir_build_elementwise),
    OP("shift_right_arithmetic", SHIFT_RIGHT_ARITHMETIC, mlir_build_elementwise),
    OP("shift_right_logical", SHIFT_RIGHT_LOGICAL, mlir_build_elementwise),
    OP("stochastic_convert", STOCHASTIC_CONVERT, mlir_build_elementwise),
    OP("subtract", SUBTRACT, mlir_build_elementwise),
    OP("xor", XOR, mlir_build_elementwise),
    OP("clamp", CLAMP, mlir_build_elementwise),
    OP("select", SELECT, mlir_build_elementwise),
    /* as the dialect wrote them before 2020 */
    UNARY("cos", COSINE),
    UNARY("exp", EXPONENTIAL),
    UNARY("neg", NEGATE),
    UNARY("sin", SINE),
    OP("div", DIVIDE, mlir_build_elementwise),
    OP("max", MAXIMUM, mlir_build_elementwise),
    OP("min", MINIMUM, mlir_build_elementwise),
    OP("mul", MULTIPLY, mlir_build_elementwise),
    OP("pow", POWER, mlir_build_elementwise),
    OP("rem", REMAINDER, mlir_build_elementwise),
    OP("sub", SUBTRACT, mlir_build_elementwise),

    OP("add_dependency", ADD_DEPENDENCY, mlir_build_plain),
    OP("after_all", AFTER_ALL, mlir_build_plain),
    OP("all_gather", ALL_GATHER, mlir_build_collective),
    REGION("all_reduce", ALL_REDUCE, 1, mlir_build_collective),
    OP("all_to_all", ALL_TO_ALL, mlir_build_collective),
    OPERANDS("async_done", ASYNC_DONE, 1, ANY, mlir_build_plain),
    REGION("async_start", ASYNC_START, -2, mlir_build_region),
    OP("async_update", ASYNC_UPDATE, mlir_build_plain),
    OP("batch_norm_grad", BATCH_NORM_GRAD, mlir_build_batch_norm),
    OP("batch_norm_inference", BATCH_NORM_INFERENCE, mlir_build_batch_norm),
    OP("batch_norm_training", BATCH_NORM_TRAINING, mlir_build_batch_norm),
    OP("bitcast", BITCAST, mlir_build_plain),
    OP("bitcast_convert", BITCAST_CONVERT, mlir_build_bitcast),
    OP("broadcast", BROADCAST, mlir_build_broadcast),
    OP("broadcast_in_dim", BROADCAST, mlir_build_broadcast_in_dim),
    {"case", MLIR_HLO, HLO_CONDITIONAL, 1, 1, -1, MLIR_PLAIN, mlir_build_conditional},
    OP("cholesky", CHOLESKY, mlir_build_cholesky),
    OPERANDS("collective_broadcast", COLLECTIVE_BROADCAST, 1, ANY, mlir_build_collective),
    OP("collective_permute", COLLECTIVE_PERMUTE, mlir_build_permute),
    REGION("collective_reduce", ALL_REDUCE, 1, mlir_build_collective),
    OP("compare", COMPARE, mlir_build_compare),
    OP("composite", CALL, mlir_build_call),
    OP("concatenate", CONCATENATE, mlir_build_concatenate),
    {"constant", MLIR_HLO | MLIR_CHLO | MLIR_ARITH, HLO_CONSTANT, 0, 0, 0, MLIR_CONSTANT,
     mlir_build_constant},
    OP("convolution", CONVOLUTION, mlir_build_convolution),
    OPERANDS("create_token", AFTER_ALL, 0, 0, mlir_build_plain),
    OPERANDS("cross-replica-sum", ALL_REDUCE, 1, 1, mlir_build_collective),
    OP("custom_call", CUSTOM_CALL, mlir_build_custom),
    OP("domain", DOMAIN, mlir_build_plain),
    OP("dot", DOT, mlir_build_dot),
    OP("dot_general", DOT, mlir_build_dot_general),
    OPERANDS("dynamic_broadcast_in_dim", BROADCAST, 2, 2, mlir_build_broadcast_in_dim),
    OPERANDS("dynamic_conv", CONVOLUTION, 3, 3, mlir_build_convolution),
    OPERANDS("dynamic_gather", GATHER, 3, 3, mlir_build_gather),
    OPERANDS("dynamic_iota", IOTA, 1, 1, mlir_build_iota),
    OPERANDS("dynamic_pad", PAD, 5, 5, mlir_build_dynamic_pad),
    OPERANDS("dynamic_reshape", RESHAPE, 2, 2, mlir_build_reshape),
    OP("dynamic_slice", DYNAMIC_SLICE, mlir_build_dynamic_slice),
    OP("dynamic_update_slice", DYNAMIC_UPDATE_SLICE, mlir_build_update_slice),
    OP("einsum", DOT, mlir_build_einsum),
    OP("fft", FFT, mlir_build_fft),
    REGION("fusion", FUSION, 1, mlir_build_region),
    OP("gather", GATHER, mlir_build_gather),
    OP("get_dimension_size", GET_DIMENSION_SIZE, mlir_build_dimension_size),
    OP("get_tuple_element", GET_TUPLE_ELEMENT, mlir_build_element),
    {"if", MLIR_HLO, HLO_CONDITIONAL, 1, 1, 2, MLIR_PLAIN, mlir_build_conditional},
    OPERANDS("infeed", INFEED, 1, 1, mlir_build_receive),
    OP("iota", IOTA, mlir_build_iota),
    REGION("map", MAP, 1, mlir_build_map),
    OPERANDS("optimization_barrier", OPT_BARRIER, 0, ANY, mlir_build_plain),
    OP("outfeed", OUTFEED, mlir_build_plain),
    OP("pad", PAD, mlir_build_pad),
    OP("partition_id", PARTITION_ID, mlir_build_plain),
    OPERANDS("real_dynamic_slice", DYNAMIC_SLICE, 4, 4, mlir_build_real_dynamic_slice),
    OP("recv", RECV, mlir_build_receive),
    {"reduce", MLIR_HLO, HLO_REDUCE, 2, ANY, 1, MLIR_REDUCE, mlir_build_reduce},
    REGION("reduce_scatter", REDUCE_SCATTER, 1, mlir_build_collective),
    REGION("reduce_window", REDUCE_WINDOW, 1, mlir_build_reduce_window),
    OP("replica_id", REPLICA_ID, mlir_build_plain),
    OP("reshape", RESHAPE, mlir_build_reshape),
    OP("reverse", REVERSE, mlir_build_reverse),
    OPERANDS("rng", RNG, 3, 3, mlir_build_rng),
    OP("rng_bit_generator", RNG_BIT_GENERATOR, mlir_build_bit_generator),
    OPERANDS("rng_normal", RNG, 3, 3, mlir_build_rng),
    OPERANDS("rng_uniform", RNG, 3, 3, mlir_build_rng),
    REGION("scatter", SCATTER, 1, mlir_build_scatter),
    REGION("select_and_scatter", SELECT_AND_SCATTER, 2, mlir_build_select_and_scatter),
    OPERANDS("send", SEND, 1, ANY, mlir_build_plain),
    OP("set_dimension_size", SET_DIMENSION_SIZE, mlir_build_dimension_size),
    OP("slice", SLICE, mlir_build_slice),
    REGION("sort", SORT, 1, mlir_build_sort),
    OP("topk", TOPK, mlir_build_topk),
    OP("torch_index_select", GATHER, mlir_build_index_select),
    OP("transpose", TRANSPOSE, mlir_build_transpose),
    OP("triangular_solve", TRIANGULAR_SOLVE, mlir_build_solve),
    OP("tuple", TUPLE, mlir_build_tuple),
    OPERANDS("unary_einsum", CUSTOM_CALL, 1, 1, mlir_build_foreign),
    {"while", MLIR_HLO, HLO_WHILE, 0, ANY, 2, MLIR_WHILE, mlir_build_while},
    RETURN(MLIR_HLO),

    STRETCHED("broadcast_add", ADD),
    STRETCHED("broadcast_and", AND),
    STRETCHED("broadcast_atan2", ATAN2),
    STRETCHED("broadcast_compare", COMPARE),
    STRETCHED("broadcast_complex", COMPLEX),
    STRETCHED("broadcast_divide", DIVIDE),
    STRETCHED("broadcast_maximum", MAXIMUM),
    STRETCHED("broadcast_minimum", MINIMUM),
    STRETCHED("broadcast_multiply", MULTIPLY),
    STRETCHED("broadcast_or", OR),
    STRETCHED("broadcast_power", POWER),
    STRETCHED("broadcast_remainder", REMAINDER),
    STRETCHED("broadcast_shift_left", SHIFT_LEFT),
    STRETCHED("broadcast_shift_right_arithmetic", SHIFT_RIGHT_ARITHMETIC),
    STRETCHED("broadcast_shift_right_logical", SHIFT_RIGHT_LOGICAL),
    STRETCHED("broadcast_subtract", SUBTRACT),
    STRETCHED("broadcast_xor", XOR),
    {"constant_like", MLIR_CHLO, HLO_CONSTANT, 1, 1, 0, MLIR_PLAIN, mlir_build_constant_like},
    {"mulhi", MLIR_CHLO, HLO_CUSTOM_CALL, 2, 2, 0, MLIR_PLAIN, mlir_build_high_product},
    {"ragged_dot", MLIR_CHLO, HLO_RAGGED_DOT, 3, 3, 0, MLIR_PLAIN, mlir_build_ragged_dot},
    {"scan", MLIR_CHLO, HLO_SCAN, 0, ANY, 1, MLIR_SCAN, mlir_build_scan},
    {"square", MLIR_CHLO, HLO_MULTIPLY, 1, 1, 0, MLIR_PLAIN, mlir_build_square},
    {"top_k", MLIR_CHLO, HLO_TOPK, 1, 1, 0, MLIR_PLAIN, mlir_build_topk},

    {"call", MLIR_FUNC, HLO_CALL, 0, ANY, 0, MLIR_PLAIN, mlir_build_call},
    RETURN(MLIR_FUNC),

    CCL("all_gather", ALL_GATHER),
    CCL("all_reduce", ALL_REDUCE),
    CCL("all_to_all", ALL_TO_ALL),
    CCL("broadcast", COLLECTIVE_BROADCAST),
    CCL("reduce_scatter", REDUCE_SCATTER),

    {"manual_computation", MLIR_SDY, HLO_CALL, 0, ANY, 1, MLIR_MANUAL, mlir_build_region},
    {"insert_slice", MLIR_TENSOR, HLO_DYNAMIC_UPDATE_SLICE, 2, ANY, 0, MLIR_PLAIN, mlir_build_insert_slice},

    SDY("propagation_barrier"),
    SDY("reshard"),
    SDY("sharding_constraint"),
    RETURN(MLIR_SDY),
};

/* What chlo has and HLO has not: reported as a custom call of this name. */
static const struct mlir_info foreign = {"",  MLIR_CHLO, HLO_CUSTOM_CALL, 0,
                                         ANY, -2,        MLIR_PLAIN,      mlir_build_foreign};

/* What says something about values and computes none. */
static const struct mlir_info ignored = {"", 0, HLO_TUPLE, 0, ANY, 0, MLIR_IGNORED, NULL};

static const struct {
    const char *prefix;
    unsigned dialect;
} dialects[] = {
    {"stablehlo.", MLIR_HLO}, {"mhlo.", MLIR_HLO},      {"xla_hlo.", MLIR_HLO}, {"chlo.", MLIR_CHLO},
    {"func.", MLIR_FUNC},     {"std.", MLIR_FUNC},      {"sdy.", MLIR_SDY},     {"ccl.", MLIR_CCL},
    {"arith.", MLIR_ARITH},   {"tensor.", MLIR_TENSOR},
};

static const char *const annotations[] = {
    "sdy.mesh",
    "sdy.sharding_group",
    "check.expect_eq",
    "check.expect_eq_const",
    "check.expect_close",
    "mhlo.trace",
    "check.expect_almost_eq_const",
    "check.expect_almost_eq",
};

static uint32_t hash_op(struct mlir_span name, unsigned dialect)
{
    return (hlo_hash(name.at, name.length) + dialect) & (MLIR_OP_SLOTS - 1);
}

void mlir_list_operations(struct mlir_reader *reader)
{
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++)
        for (unsigned dialect = MLIR_HLO; dialect <= MLIR_TENSOR; dialect <<= 1) {
            struct mlir_span name = {infos[i].name, strlen(infos[i].name)};
            uint32_t at = hash_op(name, dialect);
            if (!(infos[i].dialects & dialect))
                continue;
            while (reader->ops[at])
                at = (at + 1) & (MLIR_OP_SLOTS - 1);
            reader->ops[at] = &infos[i];
        }
}

static unsigned dialect_of(struct mlir_span *name)
{
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        size_t length = strlen(dialects[i].prefix);
        if (name->length > length && memcmp(name->at, dialects[i].prefix, length) == 0) {
            *name = (struct mlir_span){name->at + length, name->length - length};
            return dialects[i].dialect;
        }
    }
    /* the dialect of functions is what a name without one belongs to */
    return memchr(name->at, '.', name->length) ? 0 : MLIR_FUNC;
}

static const struct mlir_info *look_up(const struct mlir_reader *reader, struct mlir_span name)
{
    struct mlir_span whole = name;
    unsigned dialect = dialect_of(&name);
    for (uint32_t at = hash_op(name, dialect); reader->ops[at]; at = (at + 1) & (MLIR_OP_SLOTS - 1))
        if ((reader->ops[at]->dialects & dialect) && mlir_same(name, reader->ops[at]->name))
            return reader->ops[at];
    for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++)
        if (mlir_same(whole, annotations[i]))
            return &ignored;
    return dialect == MLIR_CHLO ? &foreign : NULL;
}

/* A text has few operations, many times: those found last are at hand. */
const struct mlir_info *mlir_find_op(struct mlir_reader *reader, struct mlir_span name)
{
    struct mlir_op_slot *slot = &reader->seen_ops[hash_op(name, 0) & (MLIR_SEEN_OPS - 1)];
    if (!slot->name.at || slot->name.length != name.length ||
        memcmp(slot->name.at, name.at, name.length) != 0)
        *slot = (struct mlir_op_slot){name, look_up(reader, name)};
    return slot->info;
}

bool mlir_unknown_op(struct mlir_reader *reader, struct mlir_span name, const char *at)
{
    const char *known[sizeof infos / sizeof *infos];
    char word[64];
    size_t count = 0;
    struct mlir_span bare = name;
    unsigned dialect = dialect_of(&bare);
    if (dialect != MLIR_HLO)
        return mlir_error(reader, at,
                          "cannot count operation '%.*s': expected one of stablehlo, mhlo or chlo",
                          (int)(name.length < 100 ? name.length : 100), name.at);
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++)
        if (infos[i].dialects & MLIR_HLO)
            known[count++] = infos[i].name;
    size_t length = bare.length < sizeof word - 1 ? bare.length : sizeof word - 1;
    memcpy(word, bare.at, length);
    word[length] = '\0';
    const char *nearest = text_nearest(word, known, count);
    return mlir_error(reader, at, "unknown operation '%.*s'%s%s%s",
                      (int)(name.length < 100 ? name.length : 100), name.at,
                      nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}
