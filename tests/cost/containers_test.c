/* All operations in all containers: each has a backward pass or is named as a gap, and costs inside what it costs
 * outside. */
#include "core/text.h"
#include "cost/layer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define T    "tensor<64x64xf32>"
#define V    "tensor<64xf32>"
#define C    "tensor<64x64xcomplex<f32>>"
#define N    "tensor<f32>"
#define ZERO "%zero = stablehlo.constant dense<0.0> : " N "\n"
/* of two numbers */
#define APPLY(name, operation)                                                                               \
    "({\n^bb0(%p: " N ", %q: " N "):\n %" name " = stablehlo." operation " %p, %q : " N                      \
    "\n stablehlo.return %" name " : " N "\n})"
#define GROUP                                                                                                \
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : "  \
    "tensor<1x2xi64>"

enum reason {
    DIFFERENTIATES,
    CONSTANT,  /* of steps, or of no floating point numbers: its derivative is 0 */
    CONTAINER, /* a container of the test, or what goes with one */
    OF_HLO,    /* only HLO text has it: the tests of fusion and of the backward pass do */
};

/* What makes %y of %m and %w, all of them 64 x 64. One without a row is
 * elementwise, and is written by its name. */
struct operation {
    enum hlo_opcode opcode;
    const char *text;
};

static const struct operation written[] = {
    {HLO_ALL_GATHER, "%s = stablehlo.slice %m [0:32, 0:64] : (" T ") -> tensor<32x64xf32>\n"
                     "%y = \"stablehlo.all_gather\"(%s) <{all_gather_dim = 0 : i64, " GROUP
                     "}> : (tensor<32x64xf32>) -> " T "\n"},
    {HLO_ALL_REDUCE,
     "%y = \"stablehlo.all_reduce\"(%m) <{" GROUP "}> " APPLY("r", "add") " : (" T ") -> " T "\n"},
    {HLO_ALL_TO_ALL,
     "%y = \"stablehlo.all_to_all\"(%m) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, "
     "split_count = 2 : i64, " GROUP "}> : (" T ") -> " T "\n"},
    {HLO_BATCH_NORM_INFERENCE,
     "%s = stablehlo.constant dense<1.5> : " V
     "\n%y = \"stablehlo.batch_norm_inference\"(%m, %s, %s, %s, %s) "
     "<{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (" T ", " V ", " V ", " V ", " V ") -> " T "\n"},
    {HLO_BATCH_NORM_TRAINING,
     "%s = stablehlo.constant dense<1.5> : " V "\n%y, %u, %t = \"stablehlo.batch_norm_training\"(%m, %s, %s) "
     "<{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (" T ", " V ", " V ") -> (" T ", " V ", " V ")\n"},
    {HLO_BATCH_NORM_GRAD, "%s = stablehlo.constant dense<1.5> : " V
                          "\n%y, %u, %t = \"stablehlo.batch_norm_grad\"(%m, %s, %s, %s, %m) "
                          "<{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (" T ", " V ", " V ", " V ", " T
                          ") -> (" T ", " V ", " V ")\n"},
    {HLO_BROADCAST,
     ZERO "%s = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0] : (" T ", " N
          ") -> " V "\n%y = stablehlo.broadcast_in_dim %s, dims = [1] : (" V ") -> " T "\n"},
    {HLO_CHOLESKY, "%y = stablehlo.cholesky %m, lower = true : " T "\n"},
    {HLO_CLAMP, ZERO "%most = stablehlo.constant dense<1.0> : " N
                     "\n%y = stablehlo.clamp %zero, %m, %most : (" N ", " T ", " N ") -> " T "\n"},
    {HLO_COLLECTIVE_BROADCAST,
     "%y = \"stablehlo.collective_broadcast\"(%m) <{" GROUP "}> : (" T ") -> " T "\n"},
    {HLO_COLLECTIVE_PERMUTE,
     "%y = \"stablehlo.collective_permute\"(%m) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : "
     "tensor<2x2xi64>}> : (" T ") -> " T "\n"},
    {HLO_COMPLEX, "%s = stablehlo.complex %m, %m : " C "\n%y = stablehlo.real %s : (" C ") -> " T "\n"},
    {HLO_CONCATENATE, "%s = stablehlo.concatenate %m, %m, dim = 0 : (" T ", " T ") -> tensor<128x64xf32>\n"
                      "%y = stablehlo.slice %s [0:64, 0:64] : (tensor<128x64xf32>) -> " T "\n"},
    {HLO_CONVERT, "%s = stablehlo.convert %m : (" T ") -> tensor<64x64xbf16>\n"
                  "%y = stablehlo.convert %s : (tensor<64x64xbf16>) -> " T "\n"},
    {HLO_CONVOLUTION,
     "%y = stablehlo.convolution(%m, %w) dim_numbers = [b, f]x[o, i]->[b, f], window = {} "
     "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" T ", " T ") -> " T "\n"},
    {HLO_CUSTOM_CALL, "%y = stablehlo.custom_call @byteir.gelu(%m) : (" T ") -> " T "\n"},
    {HLO_DOT, "%y = stablehlo.dot_general %m, %w, contracting_dims = [1] x [0] : (" T ", " T ") -> " T "\n"},
    {HLO_DYNAMIC_SLICE,
     "%i = stablehlo.constant dense<1> : tensor<i32>\n"
     "%s = stablehlo.concatenate %m, %m, dim = 0 : (" T ", " T ") -> tensor<128x64xf32>\n"
     "%y = stablehlo.dynamic_slice %s, %i, %i, sizes = [64, 64] : (tensor<128x64xf32>, tensor<i32>, "
     "tensor<i32>) -> " T "\n"},
    {HLO_DYNAMIC_UPDATE_SLICE, "%i = stablehlo.constant dense<1> : tensor<i32>\n"
                               "%s = stablehlo.slice %m [0:32, 0:64] : (" T ") -> tensor<32x64xf32>\n"
                               "%y = stablehlo.dynamic_update_slice %m, %s, %i, %i : (" T
                               ", tensor<32x64xf32>, tensor<i32>, tensor<i32>) -> " T "\n"},
    {HLO_ERF, "%y = chlo.erf %m : " T " -> " T "\n"},
    {HLO_FFT, "%s = stablehlo.complex %m, %m : " C "\n%t = stablehlo.fft %s, type = FFT, length = [64] : (" C
              ") -> " C "\n%y = stablehlo.real %t : (" C ") -> " T "\n"},
    {HLO_GATHER,
     "%i = stablehlo.constant dense<1> : tensor<64x1xi32>\n"
     "%y = \"stablehlo.gather\"(%m, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
     "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, "
     "64>}> "
     ": (" T ", tensor<64x1xi32>) -> " T "\n"},
    {HLO_IMAG, "%s = stablehlo.complex %m, %m : " C "\n%y = stablehlo.imag %s : (" C ") -> " T "\n"},
    {HLO_REAL, "%s = stablehlo.complex %m, %m : " C "\n%y = stablehlo.real %s : (" C ") -> " T "\n"},
    {HLO_MAP, "%y = \"stablehlo.map\"(%m, %w) <{dimensions = array<i64: 0, 1>}> " APPLY(
                  "r", "multiply") " : (" T ", " T ") -> " T "\n"},
    {HLO_OPT_BARRIER, "%y, %s = stablehlo.optimization_barrier %m, %w : " T ", " T "\n"},
    {HLO_PAD,
     ZERO "%s = stablehlo.pad %m, %zero, low = [0, 0], high = [64, 0], interior = [0, 0] : (" T ", " N
          ") -> tensor<128x64xf32>\n%y = stablehlo.slice %s [0:64, 0:64] : (tensor<128x64xf32>) -> " T "\n"},
    {HLO_RAGGED_ALL_TO_ALL,
     "%i = stablehlo.constant dense<1> : tensor<2xi32>\n%y = stablehlo.custom_call @ragged_all_to_all(%m, "
     "%w, %i, %i, %i, %i) "
     "{backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (" T ", " T
     ", tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> " T "\n"},
    {HLO_RAGGED_DOT,
     "%i = stablehlo.constant dense<64> : tensor<1xi32>\n%s = stablehlo.reshape %w : (" T
     ") -> tensor<1x64x64xf32>\n"
     "%y = \"chlo.ragged_dot\"(%m, %s, %i) <{ragged_dot_dimension_numbers = "
     "#chlo.ragged_dot<lhs_contracting_dimensions = [1], "
     "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (" T
     ", tensor<1x64x64xf32>, tensor<1xi32>) -> " T "\n"},
    {HLO_REDUCE,
     ZERO "%s = stablehlo.reduce(%m init: %zero) applies stablehlo.maximum across dimensions = [0] : (" T
          ", " N ") -> " V "\n%y = stablehlo.broadcast_in_dim %s, dims = [1] : (" V ") -> " T "\n"},
    {HLO_REDUCE_PRECISION, "%y = stablehlo.reduce_precision %m, format = e5m10 : " T "\n"},
    {HLO_REDUCE_SCATTER,
     "%s = \"stablehlo.reduce_scatter\"(%m) <{scatter_dimension = 0 : i64, " GROUP "}> " APPLY(
         "r",
         "add") " : (" T ") -> tensor<32x64xf32>\n"
                "%y = stablehlo.concatenate %s, %s, dim = 0 : (tensor<32x64xf32>, tensor<32x64xf32>) -> " T
                "\n"},
    {HLO_REDUCE_WINDOW,
     ZERO "%y = \"stablehlo.reduce_window\"(%m, %zero) <{padding = dense<1> : tensor<2x2xi64>, "
          "window_dimensions = array<i64: 3, 3>}> " APPLY("r", "maximum") " : (" T ", " N ") -> " T "\n"},
    {HLO_RESHAPE, "%s = stablehlo.reshape %m : (" T ") -> tensor<4096xf32>\n"
                  "%y = stablehlo.reshape %s : (tensor<4096xf32>) -> " T "\n"},
    {HLO_REVERSE, "%y = stablehlo.reverse %m, dims = [0] : " T "\n"},
    {HLO_SCATTER,
     "%i = stablehlo.constant dense<1> : tensor<64x1xi32>\n"
     "%y = \"stablehlo.scatter\"(%m, %i, %w) <{scatter_dimension_numbers = "
     "#stablehlo.scatter<update_window_dims "
     "= [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> " APPLY(
         "r", "add") " : (" T ", tensor<64x1xi32>, " T ") -> " T "\n"},
    {HLO_SELECT, "%s = stablehlo.compare GT, %m, %w : (" T ", " T ") -> tensor<64x64xi1>\n"
                 "%y = stablehlo.select %s, %m, %w : tensor<64x64xi1>, " T "\n"},
    {HLO_SELECT_AND_SCATTER,
     ZERO "%y = \"stablehlo.select_and_scatter\"(%w, %m, %zero) <{window_dimensions = array<i64: 1, 1>}> "
          "({\n^bb0(%p: " N ", %q: " N "):\n %r = stablehlo.compare GE, %p, %q : (" N ", " N
          ") -> tensor<i1>\n stablehlo.return %r : "
          "tensor<i1>\n}, {\n^bb0(%p: " N ", %q: " N "):\n %r = stablehlo.add %p, %q : " N
          "\n stablehlo.return %r : " N "\n}) : (" T ", " T ", " N ") -> " T "\n"},
    {HLO_SLICE,
     "%s = stablehlo.slice %m [0:32, 0:64] : (" T ") -> tensor<32x64xf32>\n"
     "%y = stablehlo.concatenate %s, %s, dim = 0 : (tensor<32x64xf32>, tensor<32x64xf32>) -> " T "\n"},
    {HLO_SORT, "%y = \"stablehlo.sort\"(%m) <{dimension = 0 : i64}> ({\n^bb0(%p: " N ", %q: " N "):\n"
               " %r = stablehlo.compare LT, %p, %q : (" N ", " N
               ") -> tensor<i1>\n stablehlo.return %r : tensor<i1>\n})"
               " : (" T ") -> " T "\n"},
    {HLO_TOPK,
     "%s, %i = chlo.top_k(%m, k = 32) : " T " -> (tensor<64x32xf32>, tensor<64x32xi32>)\n"
     "%y = stablehlo.concatenate %s, %s, dim = 1 : (tensor<64x32xf32>, tensor<64x32xf32>) -> " T "\n"},
    {HLO_TRANSPOSE, "%y = stablehlo.transpose %m, dims = [1, 0] : (" T ") -> " T "\n"},
    {HLO_TRIANGULAR_SOLVE,
     "%y = \"stablehlo.triangular_solve\"(%w, %m) <{left_side = true, lower = true, unit_diagonal = "
     "false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (" T ", " T ") -> " T "\n"},
    {HLO_SEND,
     "%k = stablehlo.create_token : !stablehlo.token\n%l = \"stablehlo.send\"(%m, %k) <{channel_handle = "
     "#stablehlo.channel_handle<handle = 1, type = 1>}> : (" T ", !stablehlo.token) -> !stablehlo.token\n"
     "%y = stablehlo.tanh %m : " T "\n"},
};

static enum reason reason_of(enum hlo_opcode opcode)
{
    switch (opcode) {
    case HLO_BITCAST_CONVERT:
    case HLO_CEIL:
    case HLO_COMPARE:
    case HLO_FLOOR:
    case HLO_GET_DIMENSION_SIZE:
    case HLO_INFEED:
    case HLO_IOTA:
    case HLO_IS_FINITE:
    case HLO_OUTFEED:
    case HLO_PARTITION_ID:
    case HLO_REPLICA_ID:
    case HLO_RNG:
    case HLO_RNG_BIT_GENERATOR:
    case HLO_RNG_GET_AND_UPDATE_STATE:
    case HLO_ROUND_NEAREST_AFZ:
    case HLO_ROUND_NEAREST_EVEN:
    case HLO_SIGN:
        return CONSTANT;
    case HLO_AFTER_ALL:
    case HLO_CALL:
    case HLO_CONDITIONAL:
    case HLO_CONSTANT:
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_PARAMETER:
    case HLO_RECV: /* as send */
    case HLO_TUPLE:
    case HLO_WHILE:
        return CONTAINER;
    case HLO_ADD_DEPENDENCY:
    case HLO_ALL_GATHER_DONE:
    case HLO_ALL_GATHER_START:
    case HLO_ALL_REDUCE_DONE:
    case HLO_ALL_REDUCE_START:
    case HLO_ASYNC_DONE:
    case HLO_ASYNC_START:
    case HLO_ASYNC_UPDATE:
    case HLO_BITCAST:
    case HLO_COLLECTIVE_PERMUTE_DONE:
    case HLO_COLLECTIVE_PERMUTE_START:
    case HLO_COPY:
    case HLO_COPY_DONE:
    case HLO_COPY_START:
    case HLO_DOMAIN:
    case HLO_DYNAMIC_RESHAPE:
    case HLO_FUSION:
    case HLO_RECV_DONE:
    case HLO_SCALED_DOT:
    case HLO_SCAN:
    case HLO_SEND_DONE:
    case HLO_SET_DIMENSION_SIZE:
    case HLO_STOCHASTIC_CONVERT:
        return OF_HLO;
    default: /* whole numbers alone */
        return hlo_operations[opcode].traits & (HLO_OF_BITS | HLO_OF_WHOLE) ? CONSTANT : DIFFERENTIATES;
    }
}

/* Writes what makes %y of %m and %w. */
static void write_operation(struct text *text, enum hlo_opcode opcode)
{
    char name[40];
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (written[i].opcode == opcode) {
            text_add(text, written[i].text);
            return;
        }
    const struct hlo_operation *operation = &hlo_operations[opcode];
    if (operation->class != OP_ELEMENTWISE || operation->max > 2)
        fail_msg("%s is in no table of this test", operation->name);
    snprintf(name, sizeof name, "%s", operation->name);
    for (char *c = name; (c = strchr(c, '-'));)
        *c = '_';
    static const enum hlo_opcode of_chlo[] = {HLO_ACOS,  HLO_ACOSH, HLO_ASIN, HLO_ASINH,
                                              HLO_ATANH, HLO_COSH,  HLO_SINH};
    bool is_chlo = false;
    for (size_t i = 0; i < sizeof of_chlo / sizeof *of_chlo; i++)
        is_chlo |= opcode == of_chlo[i];
    text_format(text, is_chlo ? "%%y = chlo.%s %%m : " T " -> " T "\n" : "%%y = stablehlo.%s %%m%s : " T "\n",
                name, operation->max == 2 ? ", %w" : "");
}

/* A container: the text around the body, which works on %x and %w and ends in %y. */
struct container {
    const char *name, *before, *after;
    const char *x, *w; /* the names of the operands inside */
    int turns;
};

#define LOOP_OPEN                                                                                            \
    "%i0 = stablehlo.constant dense<0> : tensor<i32>\n%n = stablehlo.constant dense<3> : tensor<i32>\n"      \
    "%one = stablehlo.constant dense<1> : tensor<i32>\n"
#define LOOP_CONDITION                                                                                       \
    " cond {\n %c = stablehlo.compare LT, %i9, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"      \
    " stablehlo.return %c : tensor<i1>\n} do {\n"

static const struct container containers[] = {
    {"plain", "", "return %y : " T "\n}\n", "%x", "%w", 1},
    {"call",
     "%r = func.call @f(%x, %w) : (" T ", " T ") -> " T "\nreturn %r : " T "\n}\nfunc.func private @f(%x: " T
     ", %w: " T ") -> " T " {\n",
     "return %y : " T "\n}\n", "%x", "%w", 1},
    {"composite",
     "%r = stablehlo.composite \"a.f\" %x, %w {decomposition = @f} : (" T ", " T ") -> " T "\nreturn %r : " T
     "\n}\nfunc.func private @f(%x: " T ", %w: " T ") -> " T " {\n",
     "return %y : " T "\n}\n", "%x", "%w", 1},
    {"if", "%r = \"stablehlo.if\"(%b) ({\n",
     "stablehlo.return %y : " T "\n}, {\nstablehlo.return %x : " T "\n}) : (tensor<i1>) -> " T
     "\nreturn %r : " T "\n}\n",
     "%x", "%w", 1},
    {"case",
     "%k9 = stablehlo.convert %b : (tensor<i1>) -> tensor<i32>\n%r = \"stablehlo.case\"(%k9) "
     "({\nstablehlo.return "
     "%x : " T "\n}, {\n",
     "stablehlo.return %y : " T "\n}) : (tensor<i32>) -> " T "\nreturn %r : " T "\n}\n", "%x", "%w", 1},
    {"manual computation",
     "%r = sdy.manual_computation(%x, %w) in_shardings=[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>] "
     "out_shardings=[<@mesh, [{}, {}]>] manual_axes={\"a\"} (%x9: " T ", %w9: " T ") {\n",
     "sdy.return %y : " T "\n} : (" T ", " T ") -> " T "\nreturn %r : " T "\n}\n", "%x9", "%w9", 1},
    {"while",
     LOOP_OPEN "%r:3 = stablehlo.while(%i9 = %i0, %x9 = %x, %w9 = %w) : tensor<i32>, " T
               ", " T LOOP_CONDITION,
     "%j = stablehlo.add %i9, %one : tensor<i32>\nstablehlo.return %j, %y, %w9 : tensor<i32>, " T ", " T
     "\n}\nreturn %r#1 : " T "\n}\n",
     "%x9", "%w9", 3},
    {"while with captured values",
     LOOP_OPEN "%r:2 = stablehlo.while(%i9 = %i0, %x9 = %x) : tensor<i32>, " T LOOP_CONDITION,
     "%j = stablehlo.add %i9, %one : tensor<i32>\nstablehlo.return %j, %y : tensor<i32>, " T
     "\n}\nreturn %r#1 : " T "\n}\n",
     "%x9", "%w", 3},
};

/* The body: %m of %x and %w, the operation, and %y of that. */
static void write_program(struct text *text, const struct container *container, enum hlo_opcode opcode)
{
    struct text body = {0};
    text_format(&body, "%%m = stablehlo.multiply %s, %%w : " T "\n", container->x);
    write_operation(&body, opcode);
    text_format(text,
                "module attributes {mhlo.num_partitions = 2 : i32} {\nsdy.mesh @mesh = <[\"a\"=2]>\n"
                "func.func public @main(%%x: " T ", %%w: " T ", %%b: tensor<i1>) -> " T " {\n%s",
                container->before);
    for (const char *c = body.data; *c; c++) { /* the names of the weights as they are inside */
        bool is_weight = c[0] == '%' && c[1] == 'w' && (c[2] == ' ' || c[2] == ',' || c[2] == ')');
        if (is_weight)
            text_add(text, container->w);
        else
            text_format(text, "%c", *c);
        c += is_weight;
    }
    text_format(text, "%s}\n", container->after);
    text_release(&body);
}

struct made {
    struct hlo_module module;
    struct layer_cost layer;
};

static void make(struct made *made, const struct container *container, enum hlo_opcode opcode)
{
    struct error err = {0};
    struct text text = {0};
    const struct layer_options options = {0};
    write_program(&text, container, opcode);
    if (!hlo_parse(&made->module, "a.mlir", text.data, strlen(text.data), &err) ||
        !layer_cost(&made->layer, &made->module, NULL, &options, &err))
        fail_msg("%s in %s: %s\n%s", hlo_opcode_name(opcode), container->name, err.text, text.data);
    text_release(&text);
}

static void release(struct made *made)
{
    layer_release(&made->layer);
    hlo_release(&made->module);
}

static double moved(const struct fused *fused)
{
    double sum = fused_bytes(fused);
    for (int i = 0; i < fused->transfer_count; i++)
        sum += fused->transfers[i].repeats * fused->transfers[i].bytes;
    return sum;
}

static void check(const struct made *made, const struct made *plain, const struct container *container,
                  enum hlo_opcode opcode)
{
    const char *name = hlo_opcode_name(opcode);
    const struct fused *forward = &made->layer.forward, *backward = &made->layer.backward;
    bool is_gap = backward->unknown_count > 0;
    if (!is_gap && moved(backward) < 64 * 64 * 4)
        fail_msg("%s in %s: no backward pass", name, container->name);
    double products = container->turns * fused_product_flops(&plain->layer.forward);
    double back = container->turns * fused_product_flops(&plain->layer.backward);
    if (fused_product_flops(forward) != products || fused_product_flops(backward) != back)
        fail_msg("%s in %s: %g and %g operations, expected %g and %g", name, container->name,
                 fused_product_flops(forward), fused_product_flops(backward), products, back);
    double bytes = container->turns * moved(&plain->layer.forward);
    if (fabs(moved(forward) - bytes) > 0.02 * bytes)
        fail_msg("%s in %s: moves %g bytes, expected %g", name, container->name, moved(forward), bytes);
    if (is_gap != (plain->layer.backward.unknown_count > 0))
        fail_msg("%s in %s: a gap here or outside", name, container->name);
}

static void operations_cost_inside_what_they_cost_outside(void **state)
{
    (void)state;
    int checked = 0;
    for (int opcode = 0; opcode < HLO_OPCODE_COUNT; opcode++) {
        struct made plain, made;
        if (reason_of((enum hlo_opcode)opcode) != DIFFERENTIATES)
            continue;
        make(&plain, &containers[0], (enum hlo_opcode)opcode);
        for (size_t c = 0; c < sizeof containers / sizeof *containers; c++) {
            make(&made, &containers[c], (enum hlo_opcode)opcode);
            check(&made, &plain, &containers[c], (enum hlo_opcode)opcode);
            release(&made);
            checked++;
        }
        release(&plain);
    }
    assert_true(checked > 60 * (int)(sizeof containers / sizeof *containers));
}

static void what_steps_has_no_gradient(void **state)
{
    (void)state;
    static const enum hlo_opcode steps[] = {HLO_CEIL, HLO_FLOOR, HLO_SIGN, HLO_ROUND_NEAREST_EVEN};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct made made;
        make(&made, &containers[0], steps[i]);
        assert_int_equal(made.layer.backward.unknown_count, 0);
        assert_int_equal(made.layer.backward.kernel_count, 0);
        release(&made);
    }
}

static void the_gradient_of_what_is_sent_is_a_gap(void **state)
{
    (void)state;
    struct made made;
    make(&made, &containers[0], HLO_SEND);
    assert_int_equal(made.layer.backward.unknown_count, 1);
    assert_string_equal(made.layer.backward.unknown[0], "gradient of send");
    release(&made);
}

static void make_text(struct made *made, const char *text)
{
    struct error err = {0};
    const struct layer_options options = {0};
    if (!hlo_parse(&made->module, "a.mlir", text, strlen(text), &err) ||
        !layer_cost(&made->layer, &made->module, NULL, &options, &err))
        fail_msg("%s", err.text);
}

/* A mask is stretched and added or selected by; rows that experts share are stretched and multiplied. */
static void what_is_stretched_into_a_product_has_a_gradient(void **state)
{
    (void)state;
    struct made made;
    make_text(&made,
              "func.func @main(%x: " T
              ", %w: tensor<2x64x64xf32>, %b: tensor<2x64x64xi1>) -> tensor<2x64x64xf32> {\n"
              " %z = stablehlo.constant dense<0.0> : tensor<2x64x64xf32>\n"
              " %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (" T ") -> tensor<2x64x64xf32>\n"
              " %1 = stablehlo.select %b, %0, %z : tensor<2x64x64xi1>, tensor<2x64x64xf32>\n"
              " %2 = stablehlo.dot_general %1, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
              "(tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>\n"
              " return %2 : tensor<2x64x64xf32>\n}\n");
    assert_float_equal(fused_product_flops(&made.layer.backward),
                       2 * fused_product_flops(&made.layer.forward), 0);
    release(&made);
}

static void one_device_has_its_shard_of_the_weights(void **state)
{
    (void)state;
    struct made made;
    make_text(&made,
              "module attributes {mhlo.num_partitions = 2 : i32} {\nsdy.mesh @mesh = <[\"a\"=2]>\n"
              "func.func public @main(%x: " T ", %w: " T ") -> " T " {\n"
              "%r = sdy.manual_computation(%x, %w) in_shardings=[<@mesh, [{}, {}]>, <@mesh, [{\"a\"}, {}]>] "
              "out_shardings=[<@mesh, [{}, {}]>] manual_axes={\"a\"} (%h: " T ", %s: tensor<32x64xf32>) {\n"
              "%g = \"stablehlo.all_gather\"(%s) <{all_gather_dim = 0 : i64, " GROUP
              "}> : (tensor<32x64xf32>) -> " T
              "\n%y = stablehlo.dot_general %h, %g, contracting_dims = [1] x [0] : (" T ", " T ") -> " T
              "\nsdy.return %y : " T "\n} : (" T ", " T ") -> " T "\nreturn %r : " T "\n}\n}\n");
    assert_int_equal(made.layer.backward.transfer_count, 1);
    assert_int_equal(made.layer.backward.transfers[0].instruction->opcode, HLO_REDUCE_SCATTER);
    assert_int_equal(made.layer.parameter_bytes, 32 * 64 * 4);
    assert_int_equal(made.layer.input_bytes, 64 * 64 * 4);
    release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_cost_inside_what_they_cost_outside),
        cmocka_unit_test(what_steps_has_no_gradient),
        cmocka_unit_test(the_gradient_of_what_is_sent_is_a_gap),
        cmocka_unit_test(what_is_stretched_into_a_product_has_a_gradient),
        cmocka_unit_test(one_device_has_its_shard_of_the_weights),
    };
    return cmocka_run_group_tests_name("containers", tests, NULL, NULL);
}
