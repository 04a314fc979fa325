#include "hlo/mlir/mlir.h"

#include "core/text.h"

#include <stdio.h>

/* Operations of StableHLO and MHLO (dialects 0), and of others. Elementwise operations are those of HLO,
 * and need no row unless they are built in another way. */
static const struct mlir_info infos[] = {
    {"add_dependency", HLO_ADD_DEPENDENCY, .build = mlir_build_plain},
    {"after_all", HLO_AFTER_ALL, .build = mlir_build_plain},
    {"all_gather", HLO_ALL_GATHER, .build = mlir_build_collective},
    {"all_reduce", HLO_ALL_REDUCE, .build = mlir_build_collective, .regions = 1},
    {"all_to_all", HLO_ALL_TO_ALL, .build = mlir_build_collective},
    {"async_done", HLO_ASYNC_DONE, .build = mlir_build_plain, .min = 1, .max = HLO_ANY},
    {"async_start", HLO_ASYNC_START, .build = mlir_build_plain, .regions = -2},
    {"async_update", HLO_ASYNC_UPDATE, .build = mlir_build_plain},
    {"batch_norm_grad", HLO_BATCH_NORM_GRAD, .build = mlir_build_batch_norm},
    {"batch_norm_inference", HLO_BATCH_NORM_INFERENCE, .build = mlir_build_batch_norm},
    {"batch_norm_training", HLO_BATCH_NORM_TRAINING, .build = mlir_build_batch_norm},
    {"bitcast", HLO_BITCAST, .build = mlir_build_plain},
    {"bitcast_convert", HLO_BITCAST_CONVERT, .build = mlir_build_bitcast},
    {"broadcast", HLO_BROADCAST, .build = mlir_build_broadcast},
    {"broadcast_in_dim", HLO_BROADCAST, .build = mlir_build_broadcast_in_dim},
    {"case", HLO_CONDITIONAL, .build = mlir_build_conditional, .regions = -1, .min = 1, .max = 1},
    {"cholesky", HLO_CHOLESKY, .build = mlir_build_cholesky},
    {"collective_broadcast", HLO_COLLECTIVE_BROADCAST, .build = mlir_build_collective, .min = 1,
     .max = HLO_ANY},
    {"collective_permute", HLO_COLLECTIVE_PERMUTE, .build = mlir_build_permute},
    {"collective_reduce", HLO_ALL_REDUCE, .build = mlir_build_collective, .regions = 1},
    {"compare", HLO_COMPARE, .build = mlir_build_compare},
    {"composite", HLO_CALL, .build = mlir_build_call},
    {"concatenate", HLO_CONCATENATE, .build = mlir_build_move},
    {"constant", HLO_CONSTANT, .build = mlir_build_constant, .dialects = MLIR_HLO | MLIR_CHLO | MLIR_ARITH,
     .form = MLIR_CONSTANT},
    {"convolution", HLO_CONVOLUTION, .build = mlir_build_convolution},
    {"create_token", HLO_AFTER_ALL, .build = mlir_build_plain, .max = -1},
    {"cross-replica-sum", HLO_ALL_REDUCE, .build = mlir_build_collective, .min = 1, .max = 1},
    {"custom_call", HLO_CUSTOM_CALL, .build = mlir_build_custom},
    {"domain", HLO_DOMAIN, .build = mlir_build_plain},
    {"dot", HLO_DOT, .build = mlir_build_dot},
    {"dot_general", HLO_DOT, .build = mlir_build_dot_general},
    {"dynamic_broadcast_in_dim", HLO_BROADCAST, .build = mlir_build_broadcast_in_dim, .min = 2, .max = 2},
    {"dynamic_conv", HLO_CONVOLUTION, .build = mlir_build_convolution, .min = 3, .max = 3},
    {"dynamic_gather", HLO_GATHER, .build = mlir_build_gather, .min = 3, .max = 3},
    {"dynamic_iota", HLO_IOTA, .build = mlir_build_iota, .min = 1, .max = 1},
    {"dynamic_pad", HLO_PAD, .build = mlir_build_dynamic_pad, .min = 5, .max = 5},
    {"dynamic_reshape", HLO_RESHAPE, .build = mlir_build_reshape, .min = 2, .max = 2},
    {"dynamic_slice", HLO_DYNAMIC_SLICE, .build = mlir_build_dynamic_slice},
    {"dynamic_update_slice", HLO_DYNAMIC_UPDATE_SLICE, .build = mlir_build_dynamic_slice},
    {"einsum", HLO_DOT, .build = mlir_build_einsum},
    {"fft", HLO_FFT, .build = mlir_build_fft},
    {"fusion", HLO_FUSION, .build = mlir_build_plain, .regions = 1},
    {"gather", HLO_GATHER, .build = mlir_build_gather},
    {"get_dimension_size", HLO_GET_DIMENSION_SIZE, .build = mlir_build_dimension_size},
    {"get_tuple_element", HLO_GET_TUPLE_ELEMENT, .build = mlir_build_inferred},
    {"if", HLO_CONDITIONAL, .build = mlir_build_conditional, .regions = 2, .min = 1, .max = 1},
    {"infeed", HLO_INFEED, .build = mlir_build_receive, .min = 1, .max = 1},
    {"iota", HLO_IOTA, .build = mlir_build_iota},
    {"map", HLO_MAP, .build = mlir_build_map, .regions = 1},
    {"optimization_barrier", HLO_OPT_BARRIER, .build = mlir_build_plain, .max = HLO_ANY},
    {"outfeed", HLO_OUTFEED, .build = mlir_build_plain},
    {"pad", HLO_PAD, .build = mlir_build_move},
    {"partition_id", HLO_PARTITION_ID, .build = mlir_build_plain},
    {"real_dynamic_slice", HLO_DYNAMIC_SLICE, .build = mlir_build_real_dynamic_slice, .min = 4, .max = 4},
    {"recv", HLO_RECV, .build = mlir_build_receive},
    {"reduce", HLO_REDUCE, .build = mlir_build_reduce, .regions = 1, .form = MLIR_REDUCE, .min = 2,
     .max = HLO_ANY},
    {"reduce_scatter", HLO_REDUCE_SCATTER, .build = mlir_build_collective, .regions = 1},
    {"reduce_window", HLO_REDUCE_WINDOW, .build = mlir_build_reduce_window, .regions = 1},
    {"replica_id", HLO_REPLICA_ID, .build = mlir_build_plain},
    {"reshape", HLO_RESHAPE, .build = mlir_build_reshape},
    {"reverse", HLO_REVERSE, .build = mlir_build_move},
    {"rng", HLO_RNG, .build = mlir_build_rng, .min = 3, .max = 3},
    {"rng_bit_generator", HLO_RNG_BIT_GENERATOR, .build = mlir_build_bit_generator},
    {"rng_normal", HLO_RNG, .build = mlir_build_rng, .min = 3, .max = 3},
    {"rng_uniform", HLO_RNG, .build = mlir_build_rng, .min = 3, .max = 3},
    {"scatter", HLO_SCATTER, .build = mlir_build_scatter, .regions = 1},
    {"select_and_scatter", HLO_SELECT_AND_SCATTER, .build = mlir_build_select_and_scatter, .regions = 2},
    {"send", HLO_SEND, .build = mlir_build_plain, .min = 1, .max = HLO_ANY},
    {"set_dimension_size", HLO_SET_DIMENSION_SIZE, .build = mlir_build_dimension_size},
    {"slice", HLO_SLICE, .build = mlir_build_slice},
    {"sort", HLO_SORT, .build = mlir_build_sort, .regions = 1},
    {"topk", HLO_TOPK, .build = mlir_build_topk},
    {"torch_index_select", HLO_GATHER, .build = mlir_build_index_select},
    {"transpose", HLO_TRANSPOSE, .build = mlir_build_move},
    {"triangular_solve", HLO_TRIANGULAR_SOLVE, .build = mlir_build_solve},
    {"tuple", HLO_TUPLE, .build = mlir_build_inferred},
    {"unary_einsum", HLO_CUSTOM_CALL, .build = mlir_build_foreign, .min = 1, .max = 1},
    {"while", HLO_WHILE, .build = mlir_build_while, .regions = 2, .form = MLIR_WHILE, .max = HLO_ANY},
    {"constant_like", HLO_CONSTANT, .build = mlir_build_constant_like, .dialects = MLIR_CHLO, .min = 1,
     .max = 1},
    {"mulhi", HLO_CUSTOM_CALL, .build = mlir_build_high_product, .dialects = MLIR_CHLO, .min = 2, .max = 2},
    /* special functions; their names tell what they cost (data/custom-calls.yaml) */
    {"erfc", HLO_ERF, .build = mlir_build_elementwise, .dialects = MLIR_CHLO},
    {"erf_inv", HLO_ERF, .build = mlir_build_elementwise, .dialects = MLIR_CHLO},
    {"lgamma", HLO_LOG, .build = mlir_build_elementwise, .dialects = MLIR_CHLO},
    {"digamma", HLO_LOG, .build = mlir_build_elementwise, .dialects = MLIR_CHLO},
    {"bessel_i1e", HLO_EXPONENTIAL, .build = mlir_build_elementwise, .dialects = MLIR_CHLO},
    {"atan", HLO_TAN, .build = mlir_build_elementwise, .dialects = MLIR_CHLO},
    {"polygamma", HLO_ATAN2, .build = mlir_build_elementwise, .dialects = MLIR_CHLO},
    {"zeta", HLO_ATAN2, .build = mlir_build_elementwise, .dialects = MLIR_CHLO},
    {"next_after", HLO_ATAN2, .build = mlir_build_elementwise, .dialects = MLIR_CHLO},
    {"ragged_dot", HLO_RAGGED_DOT, .build = mlir_build_ragged_dot, .dialects = MLIR_CHLO, .min = 3, .max = 3},
    {"scan", HLO_SCAN, .build = mlir_build_scan, .dialects = MLIR_CHLO, .regions = 1, .form = MLIR_SCAN,
     .max = HLO_ANY},
    {"square", HLO_MULTIPLY, .build = mlir_build_square, .dialects = MLIR_CHLO, .min = 1, .max = 1},
    {"top_k", HLO_TOPK, .build = mlir_build_topk, .dialects = MLIR_CHLO, .min = 1, .max = 1},
    {"call", HLO_CALL, .build = mlir_build_call, .dialects = MLIR_FUNC, .max = HLO_ANY},
    {"all_gather", HLO_ALL_GATHER, .build = mlir_build_collective, .dialects = MLIR_CCL, .min = 1,
     .max = HLO_ANY},
    {"all_reduce", HLO_ALL_REDUCE, .build = mlir_build_collective, .dialects = MLIR_CCL, .min = 1,
     .max = HLO_ANY},
    {"all_to_all", HLO_ALL_TO_ALL, .build = mlir_build_collective, .dialects = MLIR_CCL, .min = 1,
     .max = HLO_ANY},
    {"broadcast", HLO_COLLECTIVE_BROADCAST, .build = mlir_build_collective, .dialects = MLIR_CCL, .min = 1,
     .max = HLO_ANY},
    {"reduce_scatter", HLO_REDUCE_SCATTER, .build = mlir_build_collective, .dialects = MLIR_CCL, .min = 1,
     .max = HLO_ANY},
    {"manual_computation", HLO_CALL, .build = mlir_build_plain, .dialects = MLIR_SDY, .regions = 1,
     .form = MLIR_MANUAL, .max = HLO_ANY},
    {"insert_slice", HLO_DYNAMIC_UPDATE_SLICE, .build = mlir_build_insert_slice, .dialects = MLIR_TENSOR,
     .min = 2, .max = HLO_ANY},
    {"propagation_barrier", HLO_COPY, .build = mlir_build_identity, .dialects = MLIR_SDY},
    {"reshard", HLO_COPY, .build = mlir_build_identity, .dialects = MLIR_SDY},
    {"sharding_constraint", HLO_COPY, .build = mlir_build_identity, .dialects = MLIR_SDY},
    {"return", HLO_TUPLE, .dialects = MLIR_HLO | MLIR_FUNC | MLIR_SDY, .form = MLIR_RETURN},
};

/* Names of elementwise operations that are not HLO's; most are those of the dialect before 2020. */
static const struct {
    const char *name;
    enum hlo_opcode opcode;
} aliases[] = {
    {"copy", HLO_COPY},
    {"uniform_dequantize", HLO_CONVERT},
    {"uniform_quantize", HLO_CONVERT},
    {"cos", HLO_COSINE},
    {"exp", HLO_EXPONENTIAL},
    {"neg", HLO_NEGATE},
    {"sin", HLO_SINE},
    {"div", HLO_DIVIDE},
    {"max", HLO_MAXIMUM},
    {"min", HLO_MINIMUM},
    {"mul", HLO_MULTIPLY},
    {"pow", HLO_POWER},
    {"rem", HLO_REMAINDER},
    {"sub", HLO_SUBTRACT},
};

/* Any other operation of chlo is reported as a custom call of its name. */
static const struct mlir_info foreign = {"", HLO_CUSTOM_CALL, .build = mlir_build_foreign, .regions = -2};

/* Operations that annotate values and compute none. */
static const struct mlir_info ignored = {"", HLO_TUPLE, .form = MLIR_IGNORED};

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

static unsigned dialect_of(struct mlir_span *name)
{
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        size_t length = strlen(dialects[i].prefix);
        if (name->length > length && memcmp(name->at, dialects[i].prefix, length) == 0) {
            *name = (struct mlir_span){name->at + length, name->length - length};
            return dialects[i].dialect;
        }
    }
    /* a name without a dialect is one of functions */
    return memchr(name->at, '.', name->length) ? 0 : MLIR_FUNC;
}

/* Returns the elementwise operation of this name, in HLO's words; HLO_OPCODE_COUNT if there is none. */
static enum hlo_opcode find_elementwise(struct mlir_span name)
{
    char text[40];
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (mlir_same(name, aliases[i].name))
            return aliases[i].opcode;
    if (name.length > sizeof text)
        return HLO_OPCODE_COUNT;
    for (size_t i = 0; i < name.length; i++)
        text[i] = (char)(name.at[i] == '_' ? '-' : name.at[i]);
    enum hlo_opcode opcode = hlo_opcode_find(text, name.length);
    return opcode != HLO_OPCODE_COUNT && hlo_is_elementwise(opcode) ? opcode : HLO_OPCODE_COUNT;
}

/* In chlo, elementwise operations have one operand, or two that are broadcast. */
static const struct mlir_info *look_up_elementwise(struct mlir_reader *r, struct mlir_span name,
                                                   unsigned dialect)
{
    static const char prefix[] = "broadcast_";
    const size_t length = sizeof prefix - 1;
    bool stretches = dialect == MLIR_CHLO && name.length > length && memcmp(name.at, prefix, length) == 0;
    if (stretches)
        name = (struct mlir_span){name.at + length, name.length - length};
    enum hlo_opcode opcode = find_elementwise(name);
    if (opcode == HLO_OPCODE_COUNT || (dialect == MLIR_CHLO && hlo_operations[opcode].max != 1 + stretches))
        return NULL;
    struct mlir_info *info = &r->elementwise[stretches][opcode];
    *info = (struct mlir_info){hlo_opcode_name(opcode), opcode,
                               .build = stretches ? mlir_build_broadcasting : mlir_build_elementwise};
    return info;
}

static bool has_dialect(const struct mlir_info *info, unsigned dialect)
{
    return (info->dialects ? info->dialects : MLIR_HLO) & dialect;
}

static const struct mlir_info *look_up(struct mlir_reader *r, struct mlir_span name)
{
    struct mlir_span whole = name;
    unsigned dialect = dialect_of(&name);
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++)
        if (has_dialect(&infos[i], dialect) && mlir_same(name, infos[i].name))
            return &infos[i];
    for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++)
        if (mlir_same(whole, annotations[i]))
            return &ignored;
    const struct mlir_info *info =
        dialect & (MLIR_HLO | MLIR_CHLO) ? look_up_elementwise(r, name, dialect) : NULL;
    return !info && dialect == MLIR_CHLO ? &foreign : info;
}

/* A text has few operations, many times: the last ones found are at hand. */
const struct mlir_info *mlir_find_op(struct mlir_reader *r, struct mlir_span name)
{
    struct mlir_op_slot *slot = &r->seen_ops[hlo_hash(name.at, name.length) & (MLIR_SEEN_OPS - 1)];
    if (!slot->name.at || slot->name.length != name.length ||
        memcmp(slot->name.at, name.at, name.length) != 0)
        *slot = (struct mlir_op_slot){name, look_up(r, name)};
    return slot->info;
}

bool mlir_unknown_op(struct mlir_reader *r, struct mlir_span name, const char *at)
{
    const char *known[sizeof infos / sizeof *infos + HLO_OPCODE_COUNT];
    char word[64];
    struct text_hint hint;
    size_t count = 0;
    struct mlir_span bare = name;
    if (dialect_of(&bare) != MLIR_HLO)
        return mlir_error(r, at, "cannot count operation '%.*s': expected one of stablehlo, mhlo or chlo",
                          (int)(name.length < 100 ? name.length : 100), name.at);
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++)
        if (has_dialect(&infos[i], MLIR_HLO))
            known[count++] = infos[i].name;
    for (int i = 0; i < HLO_OPCODE_COUNT; i++)
        if (hlo_is_elementwise((enum hlo_opcode)i))
            known[count++] = hlo_opcode_name((enum hlo_opcode)i);
    snprintf(word, sizeof word, "%.*s", (int)(bare.length < sizeof word ? bare.length : sizeof word - 1),
             bare.at);
    const char *nearest = text_nearest(word, known, count);
    snprintf(word, sizeof word, "%s", nearest ? nearest : "");
    for (char *c = word; (c = strchr(c, '-'));)
        *c = '_';
    return mlir_error(r, at, "unknown operation '%.*s'%s", (int)(name.length < 100 ? name.length : 100),
                      name.at, text_suggest(&hint, nearest ? word : NULL, ""));
}
