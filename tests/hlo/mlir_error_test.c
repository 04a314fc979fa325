/* StableHLO and MHLO text that is refused: what is said, and where. */
#include "hlo/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check_refused_text(const char *text, size_t length, const char *message)
{
    struct hlo_module module;
    struct error err = {0};
    char *copy = malloc(length + 1); /* of this size, without a final NUL: what is read beyond it is found */
    assert_non_null(copy);
    memmove(copy + 1, text, length);
    if (hlo_parse_mlir_sized(&module, "a.mlir", copy + 1, length, NULL, &err))
        fail_msg("not refused; expected: %s", message);
    free(copy);
    assert_int_equal(err.kind, ERROR_INPUT);
    if (strncmp(err.text, message, strlen(message)) != 0)
        assert_string_equal(err.text, message);
    assert_null(module.computations);
    assert_null(module.arena.last);
}

static void check_refused(const char *text, const char *message)
{
    check_refused_text(text, strlen(text), message);
}

/* One operation in a function with these values at hand; it begins at 2:3. */
static void check_operation(const char *operation, const char *message)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        "func.func @main(%%a: tensor<4x6xf32>, %%b: tensor<6x5xf32>, %%z: tensor<f32>, %%i: tensor<i32>, "
        "%%p: tensor<i1>) {\n  %s\n  return\n}\n",
        operation);
    check_refused(text, message);
}

static void syntax_errors_say_what_was_expected(void **state)
{
    (void)state;
    check_refused("", "a.mlir:1:1: expected a function with a body, found none");
    check_refused("func.func main() {}", "a.mlir:1:11: expected a symbol such as @main, found 'main'");
    check_refused("func.func @f(%a tensor<f32>)", "a.mlir:1:17: expected ':', found 'tensor'");
    check_refused("func.func @f() {\n", "a.mlir:1:17: this region does not end");
    check_refused("module {\n  func.func @f() {\n    return\n  }\n",
                  "a.mlir:5:1: expected '}', found the end");
    check_refused("something", "a.mlir:1:1: expected a module or a function, found 'something'");
    check_operation("%0 = stablehlo.add %a %a : tensor<4x6xf32>", "a.mlir:2:25: expected ',', found '%a'");
    check_operation("%0 = stablehlo.add %a, : tensor<4x6xf32>", "a.mlir:2:26: expected a value, found ':'");
    check_operation("%0 = \"stablehlo.add\"(%a, %a) : tensor<f32>", "a.mlir:2:34: expected '('");
    check_operation("%0 = \"stablehlo.add(%a, %a)", "a.mlir:2:8: unterminated string");
    check_operation("%0 = stablehlo.constant dense<[1, 2> : tensor<", "a.mlir:3:3: unknown type 'return'");
    check_operation("%0 = stablehlo.constant dense<[1, 2", "a.mlir:2:32: unbalanced bracket");
    check_operation("%0 = stablehlo.abs %a {x = [1, 2} : tensor<4x6xf32>",
                    "a.mlir:2:35: expected ']', found '}'");
    check_refused("func.func @f() {\n  %c = stablehlo.constant den", "a.mlir:1:17: this region does not end");
    check_refused("func.func @f(%a: tensor<f32> {x = [1, 2", "a.mlir:1:35: unbalanced bracket");
}

/* A string may hold a zero, with which no name ends. */
static void zeros_end_no_name(void **state)
{
    (void)state;
    static const char operation[] = "func.func @f() {\n  \"mhlo.abs\0 which is longer\"() : () -> ()\n";
    static const char attribute[] = "func.func @f(%a: tensor<f32>) {\n  \"mhlo.slice\"(%a) {\"strides\0 "
                                    "which is longer\" = [1]} : (tensor<f32>) -> tensor<f32>\n";
    check_refused_text(operation, sizeof operation - 1, "a.mlir:2:3: ");
    check_refused_text(attribute, sizeof attribute - 1, "a.mlir:2:3: ");
}

static void names_must_be_defined_once(void **state)
{
    (void)state;
    check_operation("%0 = stablehlo.abs %x : tensor<f32>", "a.mlir:2:22: '%x' is not defined");
    check_operation("%0 = stablehlo.abs %7 : tensor<f32>", "a.mlir:2:22: '%7' is not defined");
    check_operation("%0 = stablehlo.abs %z#1 : tensor<f32>", "a.mlir:2:22: '%z#1' is not defined");
    check_operation("%a = stablehlo.abs %z : tensor<f32>", "a.mlir:2:3: '%a' is defined twice");
    check_operation("%0 = stablehlo.abs %z : tensor<f32>\n  %0 = stablehlo.abs %z : tensor<f32>",
                    "a.mlir:3:3: '%0' is defined twice");
    check_refused("func.func @f() {\n  return\n}\nfunc.func @f() {\n  return\n}\n",
                  "a.mlir:4:1: function '@f' is defined twice");
}

static void names_of_a_region_end_with_it(void **state)
{
    (void)state;
    check_operation(
        "%0 = \"stablehlo.if\"(%p) ({\n    %1 = stablehlo.abs %z : tensor<f32>\n    stablehlo.return %1 : "
        "tensor<f32>\n  }, {\n    stablehlo.return %1 : tensor<f32>\n  }) : (tensor<i1>) -> tensor<f32>",
        "a.mlir:6:22: '%1' is not defined");
}

static void types_must_be_those_of_the_values(void **state)
{
    (void)state;
    check_operation("%0 = stablehlo.abs %a : tensor<4x7xf32>",
                    "a.mlir:2:3: stablehlo.abs: operand 1 has type f32[4,6], the operation says f32[4,7]");
    check_operation("%0 = \"stablehlo.abs\"(%a) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>",
                    "a.mlir:2:3: stablehlo.abs: expected types of 1 operands, found 2");
    check_operation("%0 = \"stablehlo.add\"(%a) : (tensor<4x6xf32>) -> tensor<4x6xf32>",
                    "a.mlir:2:3: stablehlo.add: expected 2 operands, found 1");
    check_operation("%0:2 = stablehlo.abs %a : tensor<4x6xf32>",
                    "a.mlir:2:3: stablehlo.abs: expected names for 1 results, found more");
    check_operation("%0 = stablehlo.custom_call @f(%a) : (tensor<4x6xf32>) -> (tensor<f32>, tensor<f32>)",
                    "a.mlir:2:3: stablehlo.custom_call: expected names for 2 results, found fewer");
    check_operation("%0 = stablehlo.add %a, %b : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x6xf32>",
                    "a.mlir:2:3: stablehlo.add: operands of f32[4,6] and f32[6,5]");
    check_operation("%0 = stablehlo.compare LT, %z, %z : (tensor<f32>, tensor<f32>) -> tensor<f32>",
                    "a.mlir:2:3: stablehlo.compare: the operands give pred[], the shape written is f32[]");
    check_refused("func.func @f(%a: tensor<f32>) -> tensor<i32> {\n  return %a : tensor<f32>\n}\n",
                  "a.mlir:2:3: value 1 has type f32[], the function's type says s32[]");
}

static void attributes_must_agree_with_the_result(void **state)
{
    (void)state;
    check_operation(
        "%0 = \"stablehlo.compare\"(%z, %z) {comparison_direction = 1} : (tensor<f32>, tensor<f32>) "
        "-> tensor<i1>",
        "a.mlir:2:3: stablehlo.compare: expected a direction such as LT, found ''");
    check_operation(
        "%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<4x6xf32>, "
        "tensor<6x5xf32>) -> tensor<4x5xf32>",
        "a.mlir:2:3: stablehlo.dot_general: contracting dimension 0 of the left is 4, 0 of the right 6");
    check_operation("%0 = stablehlo.dot %a, %b : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x6xf32>",
                    "a.mlir:2:3: stablehlo.dot: the operands give f32[4,5], the shape written is f32[4,6]");
    check_operation(
        "%0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [0] x [0] : "
        "(tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x5xf32>",
        "a.mlir:2:3: stablehlo.dot_general: a dimension that is both batch and contracting");
    check_operation("%0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<4x6xf32>) -> tensor<4x4xf32>",
                    "a.mlir:2:3: stablehlo.transpose: dimensions: dimension 0 is listed twice");
    check_operation("%0 = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<5x5xf32>",
                    "a.mlir:2:3: stablehlo.reshape: 24 elements become 25");
    check_operation(
        "%0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<4x6xf32>) -> tensor<4x6xf32>",
        "a.mlir:2:3: stablehlo.broadcast_in_dim: broadcast_dimensions: dimension 2 is not in 0 to 1");
    check_operation("%0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4x6xf32>, tensor<6x5xf32>) -> "
                    "tensor<10x6xf32>",
                    "a.mlir:2:3: stablehlo.concatenate: operand 1 does not fit the first");
    check_operation("%0 = stablehlo.slice %a [0:5, 0:6] : (tensor<4x6xf32>) -> tensor<5x6xf32>",
                    "a.mlir:2:3: stablehlo.slice: [0:5:1] is not a slice of dimension 0, which is 4");
    check_operation("%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : "
                    "(tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>",
                    "a.mlir:2:3: stablehlo.reduce: the operands give f32[6], the shape written is f32[4]");
    check_operation(
        "%0 = stablehlo.pad %a, %z, low = [0], high = [0, 0], interior = [0, 0] : (tensor<4x6xf32>, "
        "tensor<f32>) -> tensor<4x6xf32>",
        "a.mlir:2:3: stablehlo.pad: expected padding of 2 dimensions, found 1, 2 and 2");
    check_operation("%0 = stablehlo.iota dim = 1 : tensor<4xf32>",
                    "a.mlir:2:3: stablehlo.iota: iota_dimension: no dimension 1 among 1");
    check_operation("%0 = \"stablehlo.transpose\"(%a) : (tensor<4x6xf32>) -> tensor<6x4xf32>",
                    "a.mlir:2:3: stablehlo.transpose: 'permutation' is missing");
}

static void regions_must_fit_their_operation(void **state)
{
    (void)state;
    check_operation(
        "%0 = \"stablehlo.if\"(%p) ({\n    stablehlo.return %z : tensor<f32>\n  }, {\n    stablehlo.return "
        "%i : tensor<i32>\n  }) : (tensor<i1>) -> tensor<f32>",
        "a.mlir:2:3: stablehlo.if: branch 2 returns another type for result 1");
    check_operation(
        "%0 = \"stablehlo.if\"(%p) ({\n    stablehlo.return %z : tensor<f32>\n  }) : (tensor<i1>) -> "
        "tensor<f32>",
        "a.mlir:2:3: stablehlo.if: expected 2 regions, found 1");
    check_operation(
        "%0 = stablehlo.while(%x = %i) : tensor<i32>\n  cond {\n    stablehlo.return %x : tensor<i32>\n  "
        "} do {\n    stablehlo.return %x : tensor<i32>\n  }",
        "a.mlir:2:3: stablehlo.while: its condition should return a truth value");
    check_operation("%0 = \"stablehlo.if\"(%p) ({\n  }, {\n  }) : (tensor<i1>) -> tensor<f32>",
                    "a.mlir:3:3: this region ends without a return");
    check_operation("%0 = \"stablehlo.if\"(%p) ({\n  ^a:\n    stablehlo.return %z : tensor<f32>\n  ^b:\n",
                    "a.mlir:5:3: branches between blocks cannot be counted");
}

static void element_types_must_be_what_the_operation_takes(void **state)
{
    (void)state;
    check_operation("%0 = stablehlo.or %z, %z : tensor<f32>",
                    "a.mlir:2:3: stablehlo.or: expected whole numbers or truth values, found f32");
    check_operation("%0 = stablehlo.floor %i : tensor<i32>",
                    "a.mlir:2:3: stablehlo.floor: expected floats, found s32");
    check_operation("%0 = stablehlo.exponential %i : tensor<i32>",
                    "a.mlir:2:3: stablehlo.exponential: expected floats or complex numbers, found s32");
    check_operation("%0 = stablehlo.popcnt %p : tensor<i1>",
                    "a.mlir:2:3: stablehlo.popcnt: expected whole numbers, found pred");
    check_operation("%0 = \"stablehlo.imag\"(%z) : (tensor<f32>) -> tensor<f16>",
                    "a.mlir:2:3: stablehlo.imag: the operands give f32[], the shape written is f16[]");
    check_operation("%0 = \"stablehlo.constant\"() <{value = dense<0> : tensor<i32>}> : () -> tensor<3xi32>",
                    "a.mlir:2:3: stablehlo.constant: its value is not of the result's type");
}

static void sizes_of_constants_must_be_those_of_the_type(void **state)
{
    (void)state;
    const char *sizes = "%s = stablehlo.constant dense<[2, 12]> : tensor<2xi64>\n  ",
               *ones = "%o = stablehlo.constant dense<1> : tensor<2xi32>\n  ";
    char text[512];
    snprintf(text, sizeof text, "%s%s", sizes,
             "%0 = stablehlo.dynamic_reshape %a, %s : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<3x8xf32>");
    check_operation(text,
                    "a.mlir:3:3: stablehlo.dynamic_reshape: the result should be f32[2,12], its type says "
                    "f32[3,8]");
    snprintf(text, sizeof text, "%s%s", sizes,
             "%0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<2x2xf32>");
    check_operation(text, "a.mlir:3:3: stablehlo.dynamic_iota: the result should be f32[2,12], its type says "
                          "f32[2,2]");
    snprintf(text, sizeof text, "%s%s", sizes,
             "%0 = stablehlo.dynamic_broadcast_in_dim %z, %s, dims = [] : (tensor<f32>, tensor<2xi64>) -> "
             "tensor<2x1xf32>");
    check_operation(text,
                    "a.mlir:3:3: stablehlo.dynamic_broadcast_in_dim: the result should be f32[2,12], its "
                    "type says f32[2,1]");
    snprintf(text, sizeof text, "%s%s", ones,
             "%0 = stablehlo.dynamic_pad %a, %z, %o, %o, %o : (tensor<4x6xf32>, tensor<f32>, tensor<2xi32>, "
             "tensor<2xi32>, tensor<2xi32>) -> tensor<9x12xf32>");
    check_operation(text, "a.mlir:3:3: stablehlo.dynamic_pad: the result should be f32[9,13], its type says "
                          "f32[9,12]");
    snprintf(text, sizeof text, "%s%s", sizes,
             "%0 = stablehlo.rng %z, %z, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, "
             "tensor<2xi64>) -> tensor<2x13xf32>");
    check_operation(text,
                    "a.mlir:3:3: stablehlo.rng: the result should be f32[2,12], its type says f32[2,13]");
}

static void operations_of_chlo_must_be_of_one_type(void **state)
{
    (void)state;
    check_operation(
        "%0 = \"chlo.constant_like\"(%a) {value = 1.0 : f32} : (tensor<4x6xf32>) -> tensor<4x5xf32>",
        "a.mlir:2:3: chlo.constant_like: the result should be f32[4,6], its type says f32[4,5]");
    check_operation(
        "%0 = \"chlo.constant_like\"(%a) {value = 1 : i32} : (tensor<4x6xf32>) -> tensor<4x6xf32>",
        "a.mlir:2:3: chlo.constant_like: its value is not of the result's type");
    check_operation("%0 = \"chlo.mulhi\"(%p, %p) : (tensor<i1>, tensor<i1>) -> tensor<i1>",
                    "a.mlir:2:3: chlo.mulhi: expected whole numbers, found pred");
    check_operation("%0 = \"chlo.mulhi\"(%i, %i) : (tensor<i32>, tensor<i32>) -> tensor<i64>",
                    "a.mlir:2:3: chlo.mulhi: operands and result should be of one type");
}

static void accuracies_and_precisions_must_make_sense(void **state)
{
    (void)state;
    check_operation(
        "%0 = \"stablehlo.tanh\"(%z) {result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol "
        "= 0.5, ulps = 0, mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : (tensor<f32>) -> "
        "tensor<f32>",
        "a.mlir:2:3: stablehlo.tanh: result_accuracy: rtol should be 0 in mode HIGHEST");
    check_operation(
        "%0 = \"stablehlo.reduce_precision\"(%z) {exponent_bits = 0 : i32, mantissa_bits = 3 : i32} "
        ": (tensor<f32>) -> tensor<f32>",
        "a.mlir:2:3: stablehlo.reduce_precision: 0 bits of exponent and 3 of mantissa");
    check_operation(
        "%0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0], precision = [FOO, "
        "DEFAULT] : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>",
        "a.mlir:2:3: stablehlo.dot_general: expected DEFAULT, HIGH or HIGHEST as precision, found "
        "'FOO'");
    check_operation("%0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0], precision = [DEFAULT, "
                    "DEFAULT, DEFAULT] : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>",
                    "a.mlir:2:3: stablehlo.dot_general: 3 precisions for 2 operands");
}

#define ALGORITHM(lhs, products)                                                                             \
    "%0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0], algorithm = <lhs_precision_type "      \
    "= " lhs                                                                                                 \
    ", rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = "  \
    "1, num_primitive_operations = " products ", allow_imprecise_accumulation = false> : (tensor<4x6xf32>, " \
    "tensor<4x6xf32>) -> tensor<6x6xf32>"

static void algorithms_of_products_must_exist(void **state)
{
    (void)state;
    check_operation(ALGORITHM("i8", "1"),
                    "a.mlir:2:3: stablehlo.dot_general: algorithm: no hardware multiplies "
                    "i8 by tf32 into f32 like this");
    check_operation(ALGORITHM("tf32", "2"),
                    "a.mlir:2:3: stablehlo.dot_general: algorithm: no hardware multiplies "
                    "tf32 by tf32 into f32 like this");
    check_operation(ALGORITHM("tf32", "0"), "a.mlir:2:3: stablehlo.dot_general: algorithm: expected positive "
                                            "counts of components and operations");
}

static void custom_calls_must_describe_their_values(void **state)
{
    (void)state;
    check_operation(
        "%0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>]} : "
        "(tensor<4x6xf32>) -> tensor<f32>",
        "a.mlir:2:3: stablehlo.custom_call: layouts are for operands and results, or for none");
    check_operation("%0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[1, 2]> : tensor<2xindex>], "
                    "result_layouts = [dense<> : tensor<0xindex>]} : (tensor<4x6xf32>) -> tensor<f32>",
                    "a.mlir:2:3: stablehlo.custom_call: layout: dimension 2 is not in 0 to 1");
    check_operation("%0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], "
                    "result_layouts = []} : (tensor<4x6xf32>) -> tensor<f32>",
                    "a.mlir:2:3: stablehlo.custom_call: 1 layouts for 1 operands, 0 for 1 results");
    check_operation("%0 = stablehlo.custom_call @f(%a) {output_operand_aliases = "
                    "[#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, "
                    "operand_tuple_indices = []>]} : (tensor<4x6xf32>) -> tensor<f32>",
                    "a.mlir:2:3: stablehlo.custom_call: alias 1: there is no such operand");
    check_operation("%0 = stablehlo.custom_call @f(%a) {output_operand_aliases = "
                    "[#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, "
                    "operand_tuple_indices = []>]} : (tensor<4x6xf32>) -> tensor<f32>",
                    "a.mlir:2:3: stablehlo.custom_call: alias 1: operand and result are of different types");
    check_operation("%0 = stablehlo.custom_call @f(%a) {api_version = 4 : i32, backend_config = \"x\"} : "
                    "(tensor<4x6xf32>) -> tensor<f32>",
                    "a.mlir:2:3: stablehlo.custom_call: backend_config: version 4 expects a dictionary");
}

static void what_is_received_comes_with_a_token(void **state)
{
    (void)state;
    const char *token = "%t = stablehlo.create_token : !stablehlo.token\n  ";
    char text[512];
    snprintf(text, sizeof text, "%s%s", token,
             "%0 = \"stablehlo.infeed\"(%t) : (!stablehlo.token) -> tensor<i32>");
    check_operation(text, "a.mlir:3:3: stablehlo.infeed: result 1: expected a token, found s32");
    snprintf(text, sizeof text, "%s%s", token,
             "%0:2 = \"stablehlo.recv\"(%t) : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)");
    check_operation(text, "a.mlir:3:3: stablehlo.recv: result 1: expected a tensor, found token");
    check_operation("%0, %1 = \"stablehlo.rng_bit_generator\"(%a) : (tensor<4x6xf32>) -> (tensor<4xf32>, "
                    "tensor<4xui32>)",
                    "a.mlir:2:3: stablehlo.rng_bit_generator: a state of f32[4,6] becomes one of f32[4]");
    check_operation(
        "%0 = \"stablehlo.all_gather\"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, "
        "-1]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<8x6xf32>",
        "a.mlir:2:3: stablehlo.all_gather: replica_groups: device -1 of 2");
    check_operation("stablehlo.composite \"foo\" %a {decomposition = @f} : (tensor<4x6xf32>) -> ()",
                    "a.mlir:2:3: stablehlo.composite: expected a name such as dialect.name, found 'foo'");
}

static void transforms_must_fit_their_lengths(void **state)
{
    (void)state;
    check_operation("%0 = stablehlo.fft %a, type = RFFT, length = [5] : (tensor<4x6xf32>) -> "
                    "tensor<4x3xcomplex<f32>>",
                    "a.mlir:2:3: stablehlo.fft: dimension 1 of size 6 for a length of 5");
    check_operation("%0 = stablehlo.fft %a, type = RFFT, length = [6] : (tensor<4x6xf32>) -> "
                    "tensor<4x6xcomplex<f32>>",
                    "a.mlir:2:3: stablehlo.fft: the result should be c64[4,4], its type says c64[4,6]");
    check_operation("%0 = stablehlo.fft %a, type = FFT, length = [6] : (tensor<4x6xf32>) -> tensor<4x6xf32>",
                    "a.mlir:2:3: stablehlo.fft: expected complex numbers, found f32");
    check_operation("%0 = stablehlo.fft %a, type = DCT, length = [6] : (tensor<4x6xf32>) -> tensor<4x6xf32>",
                    "a.mlir:2:3: stablehlo.fft: unknown transform 'DCT'");
}

static void regions_must_take_what_they_are_given(void **state)
{
    (void)state;
    check_operation(
        "%0 = \"stablehlo.map\"(%a) ({\n  ^bb0(%x: tensor<i32>):\n    stablehlo.return %z : "
        "tensor<f32>\n  }) {dimensions = array<i64: 0, 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>",
        "a.mlir:2:3: stablehlo.map: value 1 of its region should be a scalar of type f32");
    check_operation(
        "%0 = \"stablehlo.map\"(%a) ({\n  ^bb0(%x: tensor<f32>):\n    stablehlo.return %x : "
        "tensor<f32>\n  }) {dimensions = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<4x6xf32>",
        "a.mlir:2:3: stablehlo.map: dimensions should be all of them in order");
    check_operation("%0 = \"stablehlo.sort\"(%a) ({\n  ^bb0(%x: tensor<i32>, %y: tensor<i32>):\n    "
                    "stablehlo.return %p : tensor<i1>\n  }) {dimension = 1 : i64} : (tensor<4x6xf32>) -> "
                    "tensor<4x6xf32>",
                    "a.mlir:2:3: stablehlo.sort: value 1 of its region should be a scalar of type f32");
    check_operation(
        "%0 = chlo.scan(%a) inits(%z) dimension = 2 {\n  ^bb0(%x: tensor<6xf32>, %y: tensor<f32>):\n"
        "    stablehlo.return %x, %y : tensor<6xf32>, tensor<f32>\n  } : (tensor<4x6xf32>, "
        "tensor<f32>) -> (tensor<4x6xf32>, tensor<f32>)",
        "a.mlir:2:3: chlo.scan: ");
}

static void unknown_operations_come_with_the_nearest_name(void **state)
{
    (void)state;
    check_operation("%0 = stablehlo.trnspose %a : tensor<4x6xf32>",
                    "a.mlir:2:8: unknown operation 'stablehlo.trnspose', did you mean 'transpose'?");
    check_operation("%0 = tensor.cast %a : tensor<4x6xf32> to tensor<4x6xf32>",
                    "a.mlir:2:8: cannot count operation 'tensor.cast'");
    check_operation("%0 = linalg.matmul %a : tensor<4x6xf32>",
                    "a.mlir:2:8: cannot count operation 'linalg.matmul'");
}

static void sizes_must_be_known_and_not_absurd(void **state)
{
    (void)state;
    check_refused("func.func @f(%a: tensor<4x?xf32>) {\nreturn\n}",
                  "a.mlir:1:14: expected a static size, found '?'");
    check_refused("func.func @f(%a: tensor<*xf32>)", "a.mlir:1:25: expected a static size, found '*'");
    check_refused("func.func @f(%a: tensor<?xf32, #+>)", "a.mlir:1:33: expected a name, found '+'");
    check_refused("func.func @f(%a: tensor<?x?xf32, #stablehlo.bounds<3, ?>>) {\nreturn\n}",
                  "a.mlir:1:14: expected a static");
    check_refused("func.func @f(%a: tensor<3000000000x3000000000xf32>)",
                  "a.mlir:1:18: this array has more than 2^53 elements");
    check_refused("func.func @f(%a: tensor<0x99999999999999999999xf32>)",
                  "a.mlir:1:18: this array has more than 2^53 elements");
    check_refused("func.func @f(%a: tensor<4xf33>)", "a.mlir:1:27: unknown type 'f33'");
    check_refused("func.func @f(%a: !stablehlo.foobar)", "a.mlir:1:18: unknown type '!stablehlo.foobar'");
    check_refused("func.func @f(%a: !x)\n!x = tuple<!x>\n", "a.mlir:2:12: types nested deeper than 200");
}

static void calls_must_reach_a_function(void **state)
{
    (void)state;
    check_operation("func.call @g() : () -> ()", "a.mlir:2:3: function '@g' is not defined");
    check_operation(
        "call @main(%a, %b, %z, %i, %p) : (tensor<4x6xf32>, tensor<6x5xf32>, tensor<f32>, tensor<i32>, "
        "tensor<i1>) -> ()",
        "a.mlir:2:3: function '@main' calls itself");
    check_refused("func.func private @g()\nfunc.func @f() {\n  call @g() : () -> ()\n  return\n}\n",
                  "a.mlir:3:3: function '@g' is only declared, it has no body");
    check_refused("func.func @g(%a: tensor<f32>) {\n  return\n}\nfunc.func @f() {\n  call @g() : () -> ()\n  "
                  "return\n}\n",
                  "a.mlir:5:3: '@g' takes 1 operands, found 0");
}

/* The piece 250 times, behind what begins a function. */
static void check_deep(const char *begin, const char *piece, const char *message)
{
    static char text[1 << 13];
    size_t length = strlen(begin), size = strlen(piece);
    assert_true(length + 250 * size <= sizeof text);
    memcpy(text, begin, length);
    for (int i = 0; i < 250; i++, length += size)
        memcpy(text + length, piece, size);
    check_refused_text(text, length, message);
}

static void deep_nesting_is_limited(void **state)
{
    (void)state;
    check_deep("func.func @f(%p: tensor<i1>) {\n", "\"stablehlo.if\"(%p) ({\n",
               "a.mlir:201:22: regions nested deeper than 200");
    check_deep("func.func @f(%p: ", "tuple<", "a.mlir:1:1224: types nested deeper than 200");
    check_deep("func.func @f(%p: tensor<f32> {x = ", "[",
               "a.mlir:1:235: nested deeper than the 200 levels that are read");
}

static void columns_count_characters(void **state)
{
    (void)state;
    check_operation("%0 = stablehlo.abs %z {s = \"äöü\"} : tensor<f64>\n", "a.mlir:2:3: ");
    check_refused("// ä\nmodule @\"ä\" x", "a.mlir:2:13: expected '{', found 'x'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(syntax_errors_say_what_was_expected),
        cmocka_unit_test(zeros_end_no_name),
        cmocka_unit_test(names_must_be_defined_once),
        cmocka_unit_test(names_of_a_region_end_with_it),
        cmocka_unit_test(types_must_be_those_of_the_values),
        cmocka_unit_test(attributes_must_agree_with_the_result),
        cmocka_unit_test(regions_must_fit_their_operation),
        cmocka_unit_test(element_types_must_be_what_the_operation_takes),
        cmocka_unit_test(sizes_of_constants_must_be_those_of_the_type),
        cmocka_unit_test(operations_of_chlo_must_be_of_one_type),
        cmocka_unit_test(accuracies_and_precisions_must_make_sense),
        cmocka_unit_test(algorithms_of_products_must_exist),
        cmocka_unit_test(custom_calls_must_describe_their_values),
        cmocka_unit_test(what_is_received_comes_with_a_token),
        cmocka_unit_test(transforms_must_fit_their_lengths),
        cmocka_unit_test(regions_must_take_what_they_are_given),
        cmocka_unit_test(unknown_operations_come_with_the_nearest_name),
        cmocka_unit_test(sizes_must_be_known_and_not_absurd),
        cmocka_unit_test(calls_must_reach_a_function),
        cmocka_unit_test(deep_nesting_is_limited),
        cmocka_unit_test(columns_count_characters),
    };
    return cmocka_run_group_tests_name("mlir_error", tests, NULL, NULL);
}
