#include "hlo/mlir/mlir.h"

#include "core/text.h"

#define ANY (-1)

#define UNARY(name, opcode)                                                                                  \
    {                                                                                                        \
        name, MLIR_HLO | MLIR_CHLO, HLO_##opcode, 1, 1, 0, MLIR_PLAIN, mlir_build_elementwise                \
    }
#define BINARY(name, opcode)                                                                                 \
    {                                                                                                        \
        name, MLIR_HLO, HLO_##opcode, 2, 2, 0, MLIR_PLAIN, mlir_build_elementwise                            \
    }
#define TERNARY(name, opcode)                                                                                \
    {                                                                                                        \
        name, MLIR_HLO, HLO_##opcode, 3, 3, 0, MLIR_PLAIN, mlir_build_elementwise                            \
    }
#define STRETCHED(name, opcode)                                                                              \
    {                                                                                                        \
        name, MLIR_CHLO, HLO_##opcode, 2, 2, 0, MLIR_PLAIN, mlir_build_broadcasting                          \
    }
#define OP(name, opcode, least, most, build)                                                                 \
    {                                                                                                        \
        name, MLIR_HLO, HLO_##opcode, least, most, 0, MLIR_PLAIN, build                                      \
    }
#define REGION(name, opcode, least, most, regions, build)                                                    \
    {                                                                                                        \
        name, MLIR_HLO, HLO_##opcode, least, most, regions, MLIR_PLAIN, build                                \
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
    BINARY("add", ADD),
    BINARY("and", AND),
    BINARY("atan2", ATAN2),
    BINARY("complex", COMPLEX),
    BINARY("divide", DIVIDE),
    BINARY("maximum", MAXIMUM),
    BINARY("minimum", MINIMUM),
    BINARY("multiply", MULTIPLY),
    BINARY("or", OR),
    BINARY("power", POWER),
    BINARY("remainder", REMAINDER),
    BINARY("shift_left", SHIFT_LEFT),
    BINARY("shift_right_arithmetic", SHIFT_RIGHT_ARITHMETIC),
    BINARY("shift_right_logical", SHIFT_RIGHT_LOGICAL),
    BINARY("stochastic_convert", STOCHASTIC_CONVERT),
    BINARY("subtract", SUBTRACT),
    BINARY("xor", XOR),
    TERNARY("clamp", CLAMP),
    TERNARY("select", SELECT),
    /* as the dialect wrote them before 2020 */
    UNARY("cos", COSINE),
    UNARY("exp", EXPONENTIAL),
    UNARY("neg", NEGATE),
    UNARY("sin", SINE),
    BINARY("div", DIVIDE),
    BINARY("max", MAXIMUM),
    BINARY("min", MINIMUM),
    BINARY("mul", MULTIPLY),
    BINARY("pow", POWER),
    BINARY("rem", REMAINDER),
    BINARY("sub", SUBTRACT),

    OP("add_dependency", ADD_DEPENDENCY, 2, 2, mlir_build_plain),
    OP("after_all", AFTER_ALL, 0, ANY, mlir_build_plain),
    REGION("all_gather", ALL_GATHER, 1, ANY, 0, mlir_build_collective),
    REGION("all_reduce", ALL_REDUCE, 1, ANY, 1, mlir_build_collective),
    REGION("all_to_all", ALL_TO_ALL, 1, ANY, 0, mlir_build_collective),
    REGION("async_done", ASYNC_DONE, 1, ANY, 0, mlir_build_plain),
    REGION("async_start", ASYNC_START, 0, ANY, -2, mlir_build_region),
    REGION("async_update", ASYNC_UPDATE, 1, ANY, 0, mlir_build_plain),
    OP("batch_norm_grad", BATCH_NORM_GRAD, 5, 5, mlir_build_batch_norm),
    OP("batch_norm_inference", BATCH_NORM_INFERENCE, 5, 5, mlir_build_batch_norm),
    OP("batch_norm_training", BATCH_NORM_TRAINING, 3, 3, mlir_build_batch_norm),
    OP("bitcast", BITCAST, 1, 1, mlir_build_plain),
    OP("bitcast_convert", BITCAST_CONVERT, 1, 1, mlir_build_bitcast),
    OP("broadcast", BROADCAST, 1, 1, mlir_build_broadcast),
    OP("broadcast_in_dim", BROADCAST, 1, 1, mlir_build_broadcast_in_dim),
    REGION("case", CONDITIONAL, 1, 1, -1, mlir_build_conditional),
    OP("cholesky", CHOLESKY, 1, 1, mlir_build_cholesky),
    OP("collective_broadcast", COLLECTIVE_BROADCAST, 1, ANY, mlir_build_collective),
    OP("collective_permute", COLLECTIVE_PERMUTE, 1, ANY, mlir_build_permute),
    REGION("collective_reduce", ALL_REDUCE, 1, ANY, 1, mlir_build_collective),
    OP("compare", COMPARE, 2, 2, mlir_build_compare),
    OP("composite", CALL, 0, ANY, mlir_build_call),
    OP("concatenate", CONCATENATE, 1, ANY, mlir_build_concatenate),
    {"constant", MLIR_HLO | MLIR_CHLO | MLIR_ARITH, HLO_CONSTANT, 0, 0, 0, MLIR_CONSTANT,
     mlir_build_constant},
    OP("convolution", CONVOLUTION, 2, 2, mlir_build_convolution),
    OP("create_token", AFTER_ALL, 0, 0, mlir_build_plain),
    OP("cross-replica-sum", ALL_REDUCE, 1, 1, mlir_build_collective),
    OP("custom_call", CUSTOM_CALL, 0, ANY, mlir_build_custom),
    OP("domain", DOMAIN, 1, 1, mlir_build_plain),
    OP("dot", DOT, 2, 2, mlir_build_dot),
    OP("dot_general", DOT, 2, 2, mlir_build_dot_general),
    OP("dynamic_broadcast_in_dim", BROADCAST, 2, 2, mlir_build_broadcast_in_dim),
    OP("dynamic_conv", CONVOLUTION, 3, 3, mlir_build_convolution),
    OP("dynamic_gather", GATHER, 3, 3, mlir_build_gather),
    OP("dynamic_iota", IOTA, 1, 1, mlir_build_iota),
    OP("dynamic_pad", PAD, 5, 5, mlir_build_dynamic_pad),
    OP("dynamic_reshape", RESHAPE, 2, 2, mlir_build_reshape),
    OP("dynamic_slice", DYNAMIC_SLICE, 1, ANY, mlir_build_dynamic_slice),
    OP("dynamic_update_slice", DYNAMIC_UPDATE_SLICE, 2, ANY, mlir_build_update_slice),
    OP("einsum", DOT, 2, 2, mlir_build_einsum),
    OP("fft", FFT, 1, 1, mlir_build_fft),
    REGION("fusion", FUSION, 0, ANY, 1, mlir_build_region),
    OP("gather", GATHER, 2, 2, mlir_build_gather),
    OP("get_dimension_size", GET_DIMENSION_SIZE, 1, 1, mlir_build_dimension_size),
    OP("get_tuple_element", GET_TUPLE_ELEMENT, 1, 1, mlir_build_element),
    REGION("if", CONDITIONAL, 1, 1, 2, mlir_build_conditional),
    OP("infeed", INFEED, 1, 1, mlir_build_receive),
    OP("iota", IOTA, 0, 0, mlir_build_iota),
    REGION("map", MAP, 1, ANY, 1, mlir_build_map),
    OP("optimization_barrier", OPT_BARRIER, 0, ANY, mlir_build_plain),
    OP("outfeed", OUTFEED, 1, ANY, mlir_build_plain),
    OP("pad", PAD, 2, 2, mlir_build_pad),
    OP("partition_id", PARTITION_ID, 0, 0, mlir_build_plain),
    OP("real_dynamic_slice", DYNAMIC_SLICE, 4, 4, mlir_build_real_dynamic_slice),
    OP("recv", RECV, 1, 1, mlir_build_receive),
    {"reduce", MLIR_HLO, HLO_REDUCE, 2, ANY, 1, MLIR_REDUCE, mlir_build_reduce},
    REGION("reduce_scatter", REDUCE_SCATTER, 1, ANY, 1, mlir_build_collective),
    REGION("reduce_window", REDUCE_WINDOW, 2, ANY, 1, mlir_build_reduce_window),
    OP("replica_id", REPLICA_ID, 0, 0, mlir_build_plain),
    OP("reshape", RESHAPE, 1, 1, mlir_build_reshape),
    OP("reverse", REVERSE, 1, 1, mlir_build_reverse),
    OP("rng", RNG, 3, 3, mlir_build_rng),
    OP("rng_bit_generator", RNG_BIT_GENERATOR, 1, 1, mlir_build_bit_generator),
    OP("rng_normal", RNG, 3, 3, mlir_build_rng),
    OP("rng_uniform", RNG, 3, 3, mlir_build_rng),
    REGION("scatter", SCATTER, 3, ANY, 1, mlir_build_scatter),
    REGION("select_and_scatter", SELECT_AND_SCATTER, 3, 3, 2, mlir_build_select_and_scatter),
    OP("send", SEND, 1, ANY, mlir_build_plain),
    OP("set_dimension_size", SET_DIMENSION_SIZE, 2, 2, mlir_build_dimension_size),
    OP("slice", SLICE, 1, 1, mlir_build_slice),
    REGION("sort", SORT, 1, ANY, 1, mlir_build_sort),
    OP("topk", TOPK, 1, 1, mlir_build_topk),
    OP("torch_index_select", GATHER, 2, 2, mlir_build_index_select),
    OP("transpose", TRANSPOSE, 1, 1, mlir_build_transpose),
    OP("triangular_solve", TRIANGULAR_SOLVE, 2, 2, mlir_build_solve),
    OP("tuple", TUPLE, 0, ANY, mlir_build_tuple),
    OP("unary_einsum", CUSTOM_CALL, 1, 1, mlir_build_foreign),
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
