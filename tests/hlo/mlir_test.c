/* StableHLO and MHLO text: what each form of an operation becomes. */
#include "hlo/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct hlo_module read_text(const char *text)
{
    struct hlo_module module;
    struct error err = {0};
    if (!hlo_parse_mlir_sized(&module, "a.mlir", text, strlen(text), NULL, &err))
        fail_msg("%s", err.text);
    return module;
}

/* The instruction of this name, of any computation. */
static const struct hlo_instruction *find(const struct hlo_module *module, const char *name)
{
    for (int c = 0; c < module->count; c++)
        for (int i = 0; i < module->computations[c]->count; i++)
            if (strcmp(module->computations[c]->instructions[i]->name, name) == 0)
                return module->computations[c]->instructions[i];
    fail_msg("no instruction '%s'", name);
    return NULL;
}

static void check_shape(const struct hlo_shape *shape, const char *expected)
{
    char text[256];
    assert_string_equal(hlo_shape_text(shape, text, sizeof text), expected);
}

static void check_ints(struct hlo_ints ints, const char *expected)
{
    char text[256] = "";
    for (int i = 0; i < ints.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", i ? "," : "",
                 (long long)ints.at[i]);
    assert_string_equal(text, expected);
}

/* Reads a function whose arguments are these and whose operations are `body`. */
static struct hlo_module read_body(const char *arguments, const char *body)
{
    static char text[8192];
    snprintf(text, sizeof text, "func.func @main(%s) {\n%s\nreturn\n}\n", arguments, body);
    return read_text(text);
}

static void the_short_and_the_generic_form_are_the_same(void **state)
{
    (void)state;
    struct hlo_module module = read_body(
        "%a: tensor<2x3xf32>, %b: tensor<3x4xf32>",
        "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT]"
        " : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>\n"
        "%1 = \"mhlo.dot_general\"(%a, %b) <{dot_dimension_numbers = #mhlo.dot<lhs_contracting_dimensions = "
        "[1],"
        " rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>\n"
        "%2 = \"mhlo.dot\"(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>");
    for (int i = 0; i < 3; i++) {
        const struct hlo_instruction *dot = find(&module, (char[]){(char)('0' + i), '\0'});
        assert_int_equal(dot->opcode, HLO_DOT);
        check_shape(dot->shape, "f32[2,4]");
        check_ints(dot->attributes->lhs_contracting, "1");
        check_ints(dot->attributes->rhs_contracting, "0");
        check_ints(dot->attributes->lhs_batch, "");
        assert_int_equal(dot->line, 2 + i);
        assert_int_equal(dot->column, 1);
    }
    hlo_release(&module);
}

static void one_type_stands_for_all(void **state)
{
    (void)state;
    struct hlo_module module = read_body("%p: tensor<4xi1>, %a: tensor<4xf16>",
                                         "%0 = stablehlo.add %a, %a : tensor<4xf16>\n"
                                         "%1 = stablehlo.select %p, %a, %0 : tensor<4xi1>, tensor<4xf16>\n"
                                         "%2 = stablehlo.compare LT, %a, %0, FLOAT : (tensor<4xf16>, "
                                         "tensor<4xf16>) -> tensor<4xi1>\n"
                                         "%3 = stablehlo.exponential_minus_one %a : tensor<4xf16>\n"
                                         "%4 = chlo.erf %a : tensor<4xf16> -> tensor<4xf16>");
    check_shape(find(&module, "0")->shape, "f16[4]");
    check_shape(find(&module, "1")->shape, "f16[4]");
    check_shape(find(&module, "2")->shape, "pred[4]");
    assert_int_equal(find(&module, "2")->attributes->direction, HLO_LT);
    assert_int_equal(find(&module, "3")->opcode, HLO_EXPONENTIAL_MINUS_ONE);
    assert_int_equal(find(&module, "4")->opcode, HLO_ERF);
    hlo_release(&module);
}

static void several_results_are_parts_of_a_tuple(void **state)
{
    (void)state;
    struct hlo_module module = read_body(
        "%a: tensor<4xf32>", "%0:2 = stablehlo.custom_call @f(%a) : (tensor<4xf32>) -> (tensor<4xf32>, "
                             "tensor<i32>)\n"
                             "%1 = stablehlo.negate %0#1 : tensor<i32>\n"
                             "%x, %y = stablehlo.optimization_barrier %a, %0#1 : tensor<4xf32>, "
                             "tensor<i32>\n"
                             "%2 = stablehlo.abs %y : tensor<i32>");
    check_shape(find(&module, "0")->shape, "(f32[4], s32[])");
    const struct hlo_instruction *part = find(&module, "1")->operands[0];
    assert_int_equal(part->opcode, HLO_GET_TUPLE_ELEMENT);
    assert_int_equal(part->attributes->index, 1);
    assert_ptr_equal(part->operands[0], find(&module, "0"));
    assert_ptr_equal(find(&module, "x")->operands[1], part); /* taken out once */
    assert_int_equal(find(&module, "2")->operands[0]->attributes->index, 1);
    hlo_release(&module);
}

static void a_stretched_dimension_is_reshaped_away(void **state)
{
    (void)state;
    struct hlo_module module =
        read_body("%a: tensor<4x1xf32>, %b: tensor<4xf32>",
                  "%0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<4x1xf32>) "
                  "-> tensor<4x6xf32>\n"
                  "%1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> "
                  "tensor<2x4xf32>");
    const struct hlo_instruction *broadcast = find(&module, "0");
    assert_int_equal(broadcast->opcode, HLO_BROADCAST);
    check_ints(broadcast->attributes->dimensions, "0");
    assert_int_equal(broadcast->operands[0]->opcode, HLO_RESHAPE);
    check_shape(broadcast->operands[0]->shape, "f32[4]");
    assert_int_equal(find(&module, "1")->operands[0]->opcode, HLO_PARAMETER);
    hlo_release(&module);
}

static void moves_keep_their_attributes(void **state)
{
    (void)state;
    struct hlo_module module = read_body(
        "%a: tensor<4x6xf32>, %z: tensor<f32>, %i: tensor<i32>",
        "%t = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>\n"
        "%s = stablehlo.slice %a [0:4, 1:6:2] : (tensor<4x6xf32>) -> tensor<4x3xf32>\n"
        "%g = \"mhlo.slice\"(%a) {limit_indices = dense<[4, 6]> : tensor<2xi64>, start_indices = dense<0> : "
        "tensor<2xi64>, strides = dense<2> : tensor<2xi64>} : (tensor<4x6xf32>) -> tensor<2x3xf32>\n"
        "%p = stablehlo.pad %a, %z, low = [0, -1], high = [0, 2], interior = [1, 0] : (tensor<4x6xf32>, "
        "tensor<f32>) -> tensor<7x7xf32>\n"
        "%c = stablehlo.concatenate %a, %a, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>\n"
        "%d = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 2] : (tensor<4x6xf32>, tensor<i32>, "
        "tensor<i32>) -> "
        "tensor<1x2xf32>\n"
        "%n = stablehlo.iota dim = 1 : tensor<3x5xi64>");
    check_ints(find(&module, "t")->attributes->dimensions, "1,0");
    check_ints(find(&module, "s")->attributes->stride, "1,2");
    check_ints(find(&module, "g")->attributes->limit, "4,6");
    check_ints(find(&module, "p")->attributes->low, "0,-1");
    check_ints(find(&module, "c")->attributes->dimensions, "0");
    check_ints(find(&module, "d")->attributes->sizes, "1,2");
    assert_int_equal(find(&module, "d")->operand_count, 3);
    check_ints(find(&module, "n")->attributes->dimensions, "1");
    hlo_release(&module);
}

static void convolutions_are_read_in_both_forms(void **state)
{
    (void)state;
    struct hlo_module module = read_body(
        "%a: tensor<1x8x8x2xf32>, %k: tensor<3x3x2x4xf32>",
        "%0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = "
        "{stride = [2, 1], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, "
        "feature_group_count = 1 : i64} : (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x4x8x4xf32>\n"
        "%1 = \"stablehlo.convolution\"(%a, %k) {dimension_numbers = #stablehlo.conv<raw "
        "input_batch_dimension = "
        "0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = "
        "2, "
        "kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = "
        "0, "
        "output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, padding = dense<[[1, 1], [0, "
        "2]]> : "
        "tensor<2x2xi64>, window_strides = array<i64: 2, 1>, feature_group_count = 1 : i64, "
        "batch_group_count = "
        "1 : i64} : (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x4x8x4xf32>");
    for (int i = 0; i < 2; i++) {
        const struct hlo_attributes *set = find(&module, i ? "1" : "0")->attributes;
        assert_int_equal(set->window_rank, 2);
        assert_int_equal(set->window[0].size, 3);
        assert_int_equal(set->window[0].stride, 2);
        assert_int_equal(set->window[1].pad_high, 2);
        check_ints(set->input_labels, "-1,0,1,-2");
        check_ints(set->kernel_labels, "0,1,-1,-2");
        assert_int_equal(set->feature_groups, 1);
    }
    hlo_release(&module);
}

static void reduce_is_read_in_three_forms(void **state)
{
    (void)state;
    struct hlo_module module = read_body(
        "%a: tensor<4x6xf32>, %z: tensor<f32>",
        "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : "
        "(tensor<4x6xf32>, "
        "tensor<f32>) -> tensor<4xf32>\n"
        "%1:2 = stablehlo.reduce(%a init: %z), (%a init: %z) across dimensions = [0] : (tensor<4x6xf32>, "
        "tensor<4x6xf32>, tensor<f32>, tensor<f32>) -> (tensor<6xf32>, tensor<6xf32>)\n"
        " reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<f32>, %s: tensor<f32>) {\n"
        "  %m = stablehlo.maximum %p, %s : tensor<f32>\n"
        "  stablehlo.return %m, %r : tensor<f32>, tensor<f32>\n }\n"
        "%2 = \"mhlo.reduce\"(%a, %z) ({\n ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
        "  %m2 = mhlo.multiply %p, %q : tensor<f32>\n  \"mhlo.return\"(%m2) : (tensor<f32>) -> ()\n"
        "}) {dimensions = dense<[0, 1]> : tensor<2xi64>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>");
    const struct hlo_instruction *first = find(&module, "0"), *second = find(&module, "1");
    assert_int_equal(first->callees[0]->root->opcode, HLO_ADD);
    check_ints(first->attributes->dimensions, "1");
    check_shape(second->shape, "(f32[6], f32[6])");
    assert_int_equal(second->operand_count, 4);
    /* parameters are the values so far, then the elements: %p %r %q %s */
    assert_string_equal(second->callees[0]->parameters[1]->name, "r");
    assert_ptr_equal(find(&module, "m")->operands[1], second->callees[0]->parameters[3]);
    check_ints(find(&module, "2")->attributes->dimensions, "0,1");
    hlo_release(&module);
}

static const char loop[] =
    "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %c = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %n = stablehlo.constant dense<12> : tensor<i32>\n"
    "  %0:2 = stablehlo.while(%i = %c, %x = %a) : tensor<i32>, tensor<4xf32>\n"
    "  cond {\n"
    "    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %1 : tensor<i1>\n"
    "  } do {\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %1 = stablehlo.add %i, %one : tensor<i32>\n"
    "    %2 = stablehlo.multiply %x, %a : tensor<4xf32>\n"
    "    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>\n"
    "  }\n"
    "  return %0#1 : tensor<4xf32>\n"
    "}\n";

static void loops_have_a_condition_and_a_body(void **state)
{
    (void)state;
    struct hlo_module module = read_text(loop);
    const struct hlo_instruction *instruction = find(&module, "0");
    assert_int_equal(instruction->opcode, HLO_WHILE);
    assert_int_equal(instruction->callee_count, 2);
    assert_int_equal(instruction->operand_count, 2);
    assert_int_equal(instruction->callees[0]->parameter_count, 2);
    check_shape(instruction->callees[1]->root->shape, "(s32[], f32[4])");
    assert_int_equal(hlo_trip_count(instruction), 12);
    hlo_release(&module);
}

static void what_a_region_uses_from_outside_is_a_parameter(void **state)
{
    (void)state;
    struct hlo_module module = read_text(loop);
    const struct hlo_computation *body = find(&module, "0")->callees[1],
                                 *condition = find(&module, "0")->callees[0];
    assert_int_equal(body->captured, 1);
    assert_int_equal(body->parameter_count, 3);
    check_shape(body->parameters[2]->shape, "f32[4]");
    assert_int_equal(condition->captured, 0); /* a scalar constant is written again */
    assert_int_equal(find(&module, "1")->operands[1]->opcode, HLO_CONSTANT);
    assert_int_equal(find(&module, "1")->operands[1]->value, 12);
    hlo_release(&module);
}

static void a_value_is_captured_once_by_every_region_between(void **state)
{
    (void)state;
    struct hlo_module module =
        read_body("%p: tensor<i1>, %a: tensor<4xf32>", "%0 = \"stablehlo.if\"(%p) ({\n"
                                                       " %1 = \"stablehlo.if\"(%p) ({\n"
                                                       "  %2 = stablehlo.add %a, %a : tensor<4xf32>\n"
                                                       "  stablehlo.return %2 : tensor<4xf32>\n }, {\n"
                                                       "  stablehlo.return %a : tensor<4xf32>\n"
                                                       " }) : (tensor<i1>) -> tensor<4xf32>\n"
                                                       " stablehlo.return %1 : tensor<4xf32>\n}, {\n"
                                                       " stablehlo.return %a : tensor<4xf32>\n"
                                                       "}) : (tensor<i1>) -> tensor<4xf32>");
    const struct hlo_instruction *outer = find(&module, "0"), *inner = find(&module, "1");
    assert_int_equal(outer->opcode, HLO_CONDITIONAL);
    assert_int_equal(outer->callees[0]->captured, 2); /* %p and %a */
    assert_int_equal(inner->callees[0]->captured, 1);
    assert_int_equal(find(&module, "2")->operands[0]->opcode, HLO_PARAMETER);
    hlo_release(&module);
}

static void functions_come_after_those_they_call(void **state)
{
    (void)state;
    struct hlo_module module =
        read_text("module @m attributes {mhlo.num_partitions = 4 : i32, "
                  "mhlo.num_replicas = 2 : i32} {\n"
                  "  func.func private @first(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                  "    %0 = call @second(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                  "    return %0 : tensor<4xf32>\n  }\n"
                  "  func.func public @run(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                  "    %0 = func.call @first(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
                  "    %1 = stablehlo.composite \"x.y\" %0 {decomposition = @second} : "
                  "(tensor<4xf32>) -> tensor<4xf32>\n"
                  "    return %1 : tensor<4xf32>\n  }\n"
                  "  func.func private @second(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                  "    return %a : tensor<4xf32>\n  }\n}\n");
    assert_string_equal(module.name, "m");
    assert_string_equal(module.entry->name, "run");
    assert_int_equal(module.partition_count, 4);
    assert_int_equal(module.replica_count, 2);
    assert_int_equal(module.count, 3);
    assert_string_equal(module.computations[0]->name, "second");
    assert_string_equal(module.computations[1]->name, "first");
    assert_int_equal(find(&module, "1")->opcode, HLO_CALL);
    hlo_release(&module);
}

static void main_is_the_entry_wherever_it_stands(void **state)
{
    (void)state;
    struct hlo_module module = read_text("module {\n module @inner {\n"
                                         "  func.func @other() {\n   return\n  }\n"
                                         "  func.func @main() {\n   return\n  }\n }\n}\n");
    assert_string_equal(module.entry->name, "main");
    hlo_release(&module);
}

static void a_generic_module_is_read(void **state)
{
    (void)state;
    struct hlo_module module = read_text(
        "\"builtin.module\"() ({\n \"func.func\"() <{function_type = (tensor<2xi8>) -> tensor<2xi8>, "
        "sym_name = \"go\"}> ({\n ^bb0(%a: tensor<2xi8>):\n"
        "  %0 = \"stablehlo.not\"(%a) : (tensor<2xi8>) -> tensor<2xi8>\n"
        "  \"func.return\"(%0) : (tensor<2xi8>) -> ()\n }) : () -> ()\n}) {a = 1 : i32} : () -> ()\n");
    assert_string_equal(module.entry->name, "go");
    check_shape(module.entry->root->shape, "s8[2]");
    hlo_release(&module);
}

static void aliases_may_come_before_or_after(void **state)
{
    (void)state;
    struct hlo_module module =
        read_text("#loc1 = loc(\"f.py\":1:2)\n!pair = tuple<tensor<2xf32>, tensor<i1>>\n"
                  "func.func @f(%a: !pair loc(#loc1), %b: !late) -> tensor<i1> {\n"
                  "  %0 = stablehlo.get_tuple_element %a[1] : (!pair) -> tensor<i1> "
                  "loc(#loc2)\n"
                  "  return %0 : tensor<i1> loc(fused[\"a\", \"b\"])\n"
                  "} loc(#loc1)\n"
                  "!late = tensor<3xf64>\n#loc2 = loc(\"x)\"(#loc1))\n");
    check_shape(module.entry->parameters[0]->shape, "(f32[2], pred[])");
    check_shape(module.entry->parameters[1]->shape, "f64[3]");
    assert_int_equal(find(&module, "0")->attributes->index, 1);
    hlo_release(&module);
}

static void constants_keep_only_scalar_integers(void **state)
{
    (void)state;
    struct hlo_module module =
        read_body("", "%a = stablehlo.constant dense<-7> : tensor<i32>\n"
                      "%b = stablehlo.constant dense<true> : tensor<i1>\n"
                      "%c = stablehlo.constant dense<\"0x0500000000000000\"> : tensor<i64>\n"
                      "%d = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>\n"
                      "%e = stablehlo.constant dense<0x7FC0> : tensor<bf16>\n"
                      "%f = stablehlo.constant dense_resource<__elided__> : tensor<10xf32>\n"
                      "%g = stablehlo.constant dense<\"0x00>}\"> : tensor<9xf32>\n"
                      "%h = arith.constant dense<(1.0,2.0)> : tensor<complex<f64>>\n"
                      "%i = \"mhlo.constant\"() {value = dense<3> : tensor<5xui8>} : () -> tensor<5xui8>\n"
                      "%j = arith.constant 9 : i64");
    assert_true(find(&module, "a")->has_value && find(&module, "a")->value == -7);
    assert_true(find(&module, "b")->has_value && find(&module, "b")->value == 1);
    assert_true(find(&module, "c")->has_value && find(&module, "c")->value == 5);
    assert_true(find(&module, "j")->has_value && find(&module, "j")->value == 9);
    for (const char *name = "defghi"; *name; name++)
        assert_false(find(&module, (char[]){*name, '\0'})->has_value);
    assert_true(find(&module, "i")->splat && !find(&module, "d")->splat && !find(&module, "f")->splat);
    check_shape(find(&module, "h")->shape, "c128[]");
    check_shape(find(&module, "i")->shape, "u8[5]");
    hlo_release(&module);
}

static void types_are_those_of_hlo(void **state)
{
    (void)state;
    struct hlo_module module = read_body(
        "%a: tensor<?x4xf32, #stablehlo.bounds<8, ?>>, %b: tensor<2x!quant.uniform<i8<-127:127>:f32:0, "
        "{0.1:-3, 2.0}>>, %c: !stablehlo.token, %d: tensor<3xindex>, %e: tensor<0x2xcomplex<f32>>, "
        "%f: tensor<f8E4M3FN>, %g: tensor<?xi4, #mhlo.type_extensions<bounds = [5]>>, "
        "%h: tensor<4xui1, #CSR>",
        "");
    static const char *const expected[] = {"f32[8,4]", "s8[2]",      "token[]", "s64[3]",
                                           "c64[0,2]", "f8e4m3fn[]", "s4[5]",   "u1[4]"};
    for (int i = 0; i < 8; i++)
        if (i != 2)
            check_shape(module.entry->parameters[i]->shape, expected[i]);
    assert_int_equal(module.entry->parameters[2]->shape->type, HLO_TYPE_TOKEN);
    hlo_release(&module);
}

static void collectives_know_their_groups(void **state)
{
    (void)state;
    struct hlo_module module = read_body(
        "%a: tensor<4x8xf32>",
        "%0 = \"stablehlo.all_reduce\"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = "
        "0>, "
        "replica_groups = dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>}> ({\n"
        " ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n  %s = stablehlo.add %x, %y : tensor<f32>\n"
        "  stablehlo.return %s : tensor<f32>\n}) : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
        "%1 = \"stablehlo.all_gather\"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : "
        "tensor<1x2xi64>} : (tensor<4x8xf32>) -> tensor<4x16xf32>\n"
        "%2 = \"stablehlo.collective_permute\"(%a) {source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : "
        "tensor<3x2xi64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
        "%3 = ccl.all_reduce %a {reduction = \"sum\", replica_groups = [[0, 1, 2, 3]]} : (tensor<4x8xf32>) "
        "-> "
        "tensor<4x8xf32>");
    assert_int_equal(find(&module, "0")->attributes->group_count, 2);
    assert_int_equal(find(&module, "0")->attributes->group_size, 3);
    assert_int_equal(find(&module, "0")->callees[0]->root->opcode, HLO_ADD);
    check_ints(find(&module, "1")->attributes->dimensions, "1");
    assert_int_equal(find(&module, "2")->attributes->pair_count, 3);
    assert_int_equal(find(&module, "3")->attributes->group_size, 4);
    hlo_release(&module);
}

static void gather_scatter_and_windows_are_read(void **state)
{
    (void)state;
    struct hlo_module module = read_body(
        "%a: tensor<8x8xf32>, %i: tensor<4x1xi32>, %u: tensor<4x8xf32>, %z: tensor<f32>",
        "%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: "
        "1, "
        "8>}> : (tensor<8x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>\n"
        "%1 = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<"
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = 1>}> ({\n ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n  stablehlo.return %y : "
        "tensor<f32>\n}) : (tensor<8x8xf32>, tensor<4x1xi32>, tensor<4x8xf32>) -> tensor<8x8xf32>\n"
        "%2 = \"stablehlo.reduce_window\"(%a, %z) ({\n ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "  %m = stablehlo.maximum %x, %y : tensor<f32>\n  stablehlo.return %m : tensor<f32>\n"
        "}) {window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>, padding = dense<1> : "
        "tensor<2x2xi64>} : (tensor<8x8xf32>, tensor<f32>) -> tensor<4x4xf32>");
    check_ints(find(&module, "0")->attributes->sizes, "1,8");
    assert_int_equal(find(&module, "1")->opcode, HLO_SCATTER);
    assert_int_equal(find(&module, "2")->attributes->window[1].stride, 2);
    assert_int_equal(find(&module, "2")->attributes->window[1].pad_low, 1);
    hlo_release(&module);
}

static void custom_calls_keep_target_and_configuration(void **state)
{
    (void)state;
    struct hlo_module module = read_text(
        "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = stablehlo.custom_call @\"some.kernel\"(%a) {backend_config = \"a\\22b\\0A\\\\\", "
        "called_computations = [@f, @gone]} : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  %1 = \"mhlo.custom_call\"(%0) {call_target_name = \"x\", mhlo.backend_config = {n = 1 : i64}} : "
        "(tensor<2xf32>) -> tensor<2xf32>\n"
        "  %2 = chlo.digamma %1 : tensor<2xf32> -> tensor<2xf32>\n"
        "  return %2 : tensor<2xf32>\n}\n"
        "func.func private @f() {\n  return\n}\n");
    assert_string_equal(find(&module, "0")->attributes->target, "some.kernel");
    assert_string_equal(find(&module, "0")->attributes->backend_config, "a\"b\n\\");
    assert_int_equal(find(&module, "0")->callee_count, 1);
    assert_string_equal(find(&module, "1")->attributes->backend_config, "{n = 1 : i64}");
    assert_string_equal(find(&module, "2")->attributes->target, "chlo.digamma");
    hlo_release(&module);
}

static void annotations_compute_nothing(void **state)
{
    (void)state;
    struct hlo_module module =
        read_text("module {\n  sdy.mesh @mesh = <[\"a\"=2]>\n"
                  "  sdy.mesh @empty = <[]> {stablehlo.mesh = {axes = [{name = \"a\", size = 2 : i64}]}}\n"
                  "  func.func @main(%a: tensor<4xf32> {sdy.sharding = "
                  "#sdy.sharding<@mesh, [{\"a\"}]>}) -> tensor<4xf32> {\n"
                  "    %0 = sdy.sharding_constraint %a <@mesh, [{\"a\"}]> : tensor<4xf32>\n"
                  "    check.expect_close %a, %0, max_ulp_difference = 3 : tensor<4xf32>, "
                  "tensor<4xf32>\n"
                  "    return %0 : tensor<4xf32>\n  }\n}\n"
                  "{-# dialect_resources: {builtin: {x: \"0x04\"}} #-}\n");
    assert_int_equal(module.entry->count, 1);
    assert_ptr_equal(module.entry->root, module.entry->parameters[0]);
    hlo_release(&module);
}

static void operations_of_the_broadcasting_dialect_are_written_out(void **state)
{
    (void)state;
    struct hlo_module module =
        read_body("%a: tensor<2x3xf32>, %b: tensor<3xf32>",
                  "%0 = chlo.broadcast_add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> "
                  "tensor<2x3xf32>");
    const struct hlo_instruction *add = find(&module, "0");
    assert_int_equal(add->opcode, HLO_ADD);
    assert_int_equal(add->operands[1]->opcode, HLO_BROADCAST);
    check_ints(add->operands[1]->attributes->dimensions, "1");
    hlo_release(&module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_short_and_the_generic_form_are_the_same),
        cmocka_unit_test(one_type_stands_for_all),
        cmocka_unit_test(several_results_are_parts_of_a_tuple),
        cmocka_unit_test(a_stretched_dimension_is_reshaped_away),
        cmocka_unit_test(moves_keep_their_attributes),
        cmocka_unit_test(convolutions_are_read_in_both_forms),
        cmocka_unit_test(reduce_is_read_in_three_forms),
        cmocka_unit_test(loops_have_a_condition_and_a_body),
        cmocka_unit_test(what_a_region_uses_from_outside_is_a_parameter),
        cmocka_unit_test(a_value_is_captured_once_by_every_region_between),
        cmocka_unit_test(functions_come_after_those_they_call),
        cmocka_unit_test(main_is_the_entry_wherever_it_stands),
        cmocka_unit_test(a_generic_module_is_read),
        cmocka_unit_test(aliases_may_come_before_or_after),
        cmocka_unit_test(constants_keep_only_scalar_integers),
        cmocka_unit_test(types_are_those_of_hlo),
        cmocka_unit_test(collectives_know_their_groups),
        cmocka_unit_test(gather_scatter_and_windows_are_read),
        cmocka_unit_test(custom_calls_keep_target_and_configuration),
        cmocka_unit_test(annotations_compute_nothing),
        cmocka_unit_test(operations_of_the_broadcasting_dialect_are_written_out),
    };
    return cmocka_run_group_tests_name("mlir", tests, NULL, NULL);
}
