/* StableHLO with open sizes: they are given by name or place, and the rest is inferred. */
#include "hlo/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct hlo_dim given[] = {
    {.name = "b", .length = 1, .size = 6},   {.name = "s", .length = 1, .size = 4},
    {.name = "1.0", .length = 3, .size = 5}, {.name = "0.1", .length = 3, .size = 10},
    {.name = "0.0", .length = 3, .size = 7},
};

/* Reads a text with the first `count` of these sizes. */
static bool parse(struct hlo_module *module, const char *text, size_t count, struct error *err)
{
    struct hlo_dims dims = {count, given};
    return hlo_parse_mlir_sized(module, "a.mlir", text, strlen(text), &dims, err);
}

static struct hlo_module read_text(const char *text, size_t count)
{
    struct hlo_module module;
    struct error err = {0};
    if (!parse(&module, text, count, &err))
        fail_msg("%s", err.text);
    return module;
}

static void check_refused(const char *text, size_t count, const char *message)
{
    struct hlo_module module;
    struct error err = {0};
    if (parse(&module, text, count, &err))
        fail_msg("not refused; expected: %s", message);
    assert_int_equal(err.kind, ERROR_INPUT);
    if (!strstr(err.text, message))
        assert_string_equal(err.text, message);
    assert_null(module.arena.last);
}

static void check_root(const struct hlo_computation *computation, const char *expected)
{
    char text[256];
    assert_string_equal(hlo_shape_text(computation->root->shape, text, sizeof text), expected);
}

/* Reads a function of these arguments that returns %r; its result has the expected shape. All sizes are given. */
static void check_body(const char *arguments, const char *body, const char *type, const char *expected)
{
    char text[4096];
    snprintf(text, sizeof text, "func.func @main(%s) -> %s {\n%s\nreturn %%r : %s\n}\n", arguments, type,
             body, type);
    struct hlo_module module = read_text(text, 5);
    check_root(module.entry, expected);
    hlo_release(&module);
}

#define SPECIFIED                                                                                            \
    "stablehlo.custom_call @shape_assertion(%%ok) {error_message = \"Using the following polymorphic "       \
    "shapes "                                                                                                \
    "specifications: args[0].shape = (%s, 3),args[1]['w'].shape = (s,). Obtained\"} : (tensor<i1>) -> ()\n"

static void a_size_is_an_expression_of_symbols(void **state)
{
    (void)state;
    static const struct {
        const char *expression;
        int64_t size;
    } cases[] = {
        {"b", 6},
        {"8*b", 48},
        {"2*b + s - 1", 15},
        {"-s + b^2", 32},
        {"floordiv(b + s, 4)", 2},
        {"mod(-b, s)", 2},
        {"floordiv(-b, s) + 10", 8},
        {"max(b, s)*min(b, s)", 24},
        {"(b + 1)*2", 14},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<?x3xf32>, %%w: tensor<?xf32>) -> tensor<?x3xf32> {\n"
                 "%%ok = stablehlo.constant dense<true> : tensor<i1>\n" SPECIFIED
                 "return %%a : tensor<?x3xf32>\n}",
                 cases[i].expression);
        struct hlo_module module = read_text(text, 2);
        assert_int_equal(module.entry->parameters[0]->shape->dims[0], cases[i].size);
        assert_int_equal(module.entry->parameters[1]->shape->dims[0], 4);
        hlo_release(&module);
    }
}

static void a_size_that_is_missing_is_named(void **state)
{
    (void)state;
    char text[1024];
    static const char *const expressions[][2] = {
        {"8*c_1", "a.mlir:1:17: expected a static size, found '?': give the size 'c_1' by --dim c_1=N"},
        {"s - b", "dimension 0 of argument 0, 's - b', would be -2"},
        {"b^99", "give dimension 0 of argument 0 by --dim 0.0=N"},
        {"floordiv(b, s - s)", "give dimension 0 of argument 0 by --dim 0.0=N"},
        {"b +", "give dimension 0 of argument 0 by --dim 0.0=N"},
    };
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<?x3xf32>, %%w: tensor<?xf32>) {\n"
                 "%%ok = stablehlo.constant dense<true> : tensor<i1>\n" SPECIFIED "return\n}",
                 expressions[i][0]);
        check_refused(text, 2, expressions[i][1]);
    }
    check_refused(
        "func.func @main(%a: tensor<?x?xf32>) {\nreturn\n}", 4,
        "a.mlir:1:17: expected a static size, found '?': give dimension 0 of argument 0 by --dim 0.0=N");
    check_refused("func.func @main(%a: tensor<*xf32>) {\nreturn\n}", 5, "without a rank");
}

static void operations_infer_the_sizes_of_their_results(void **state)
{
    (void)state;
    static const char *const a = "%a: tensor<?x?xf32>, %b: tensor<?xf32>"; /* 7 x 10, and 5 */
    static const struct {
        const char *body, *type, *expected;
    } cases[] = {
        {"%r = stablehlo.tanh %a : tensor<?x?xf32>", "tensor<?x?xf32>", "f32[7,10]"},
        {"%r = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<?x?xf32>, "
         "tensor<?x?xf32>) "
         "-> tensor<?x?xf32>",
         "tensor<?x?xf32>", "f32[7,7]"},
        {"%r = stablehlo.transpose %a, dims = [1, 0] : (tensor<?x?xf32>) -> tensor<?x?xf32>",
         "tensor<?x?xf32>", "f32[10,7]"},
        {"%r = stablehlo.concatenate %a, %a, dim = 0 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>",
         "tensor<?x?xf32>", "f32[14,10]"},
        {"%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
         "%r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : "
         "(tensor<?x?xf32>, "
         "tensor<f32>) -> tensor<?xf32>",
         "tensor<?xf32>", "f32[10]"},
        {"%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
         "%r = stablehlo.pad %a, %z, low = [1, 0], high = [0, 2], interior = [0, 1] : (tensor<?x?xf32>, "
         "tensor<f32>) -> tensor<?x?xf32>",
         "tensor<?x?xf32>", "f32[8,21]"},
        {"%r = stablehlo.slice %a [0:4, 2:6:2] : (tensor<?x?xf32>) -> tensor<4x?xf32>", "tensor<4x?xf32>",
         "f32[4,2]"},
        {"%r = stablehlo.reshape %a : (tensor<?x?xf32>) -> tensor<?x2x7xf32>", "tensor<?x2x7xf32>",
         "f32[5,2,7]"},
        {"%c = stablehlo.compare GT, %a, %a : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xi1>\n"
         "%r = stablehlo.convert %c : (tensor<?x?xi1>) -> tensor<?x?xbf16>",
         "tensor<?x?xbf16>", "bf16[7,10]"},
        {"%r, %i = chlo.top_k(%a, k = 3) : tensor<?x?xf32> -> (tensor<?x3xf32>, tensor<?x3xi32>)",
         "tensor<?x3xf32>", "f32[7,3]"},
        {"%n = stablehlo.get_dimension_size %a, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>\n"
         "%k = stablehlo.constant dense<[5, 2]> : tensor<2xi32>\n"
         "%v = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
         "%w = stablehlo.slice %k [1:2] : (tensor<2xi32>) -> tensor<1xi32>\n"
         "%h = stablehlo.divide %v, %w : tensor<1xi32>\n"
         "%s = stablehlo.concatenate %h, %w, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
         "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
         "%r = stablehlo.dynamic_broadcast_in_dim %z, %s, dims = [] : (tensor<f32>, tensor<2xi32>) -> "
         "tensor<?x?xf32>",
         "tensor<?x?xf32>", "f32[5,2]"},
        {"%o = stablehlo.constant dense<1> : tensor<2xi32>\n"
         "%l = stablehlo.constant dense<[4, 8]> : tensor<2xi32>\n"
         "%r = stablehlo.real_dynamic_slice %a, %o, %l, %o : (tensor<?x?xf32>, tensor<2xi32>, tensor<2xi32>, "
         "tensor<2xi32>) -> tensor<?x?xf32>",
         "tensor<?x?xf32>", "f32[3,7]"},
        {"%r = chlo.broadcast_add %a, %a : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>",
         "tensor<?x?xf32>", "f32[7,10]"},
        {"%c = stablehlo.constant dense<true> : tensor<i1>\n"
         "%r = \"stablehlo.if\"(%c) ({\nstablehlo.return %b : tensor<?xf32>\n}, {\n"
         "stablehlo.return %b : tensor<?xf32>\n}) : (tensor<i1>) -> tensor<?xf32>",
         "tensor<?xf32>", "f32[5]"},
        {"%k = stablehlo.constant dense<[2, 3]> : tensor<2xi32>\n"
         "%r = stablehlo.custom_call @f(%a, %k) {indices_of_shape_operands = dense<1> : tensor<1xi64>} : "
         "(tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>",
         "tensor<?x?xf32>", "f32[2,3]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_body(a, cases[i].body, cases[i].type, cases[i].expected);
}

static void a_size_that_depends_on_data_is_refused(void **state)
{
    (void)state;
    check_refused("func.func @main(%a: tensor<?x?xf32>, %s: tensor<2xi32>) {\n"
                  "  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 1] : (tensor<?x?xf32>, "
                  "tensor<2xi32>) -> tensor<?x?xf32>\nreturn\n}",
                  5, "a.mlir:2:3: stablehlo.dynamic_broadcast_in_dim: expected a static size, found '?'");
    check_refused("func.func @main(%a: tensor<?x?xf32>) {\n"
                  "  %0 = stablehlo.custom_call @f(%a) : (tensor<?x?xf32>) -> tensor<?x3xf32>\nreturn\n}",
                  5, "depends on values known only at run time");
}

static void a_function_is_read_for_each_set_of_sizes(void **state)
{
    (void)state;
    struct hlo_module module = read_text(
        "func.func @main(%a: tensor<?x?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {\n"
        "%0 = call @twice(%b) : (tensor<?xf32>) -> tensor<?xf32>\n"
        "%1 = call @twice(%0) : (tensor<?xf32>) -> tensor<?xf32>\n"
        "%2 = call @twice(%0) : (tensor<?xf32>) -> tensor<?xf32>\n"
        "return %2 : tensor<?xf32>\n}\n"
        "func.func private @twice(%a: tensor<?xf32>) -> tensor<?xf32> {\n"
        "%0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
        "return %0 : tensor<?xf32>\n}",
        5);
    assert_int_equal(module.count, 3);
    check_root(module.entry, "f32[20]");
    check_root(module.computations[0], "f32[10]");
    check_root(module.computations[1], "f32[20]");
    assert_string_equal(module.computations[1]->name, "twice.2");
    hlo_release(&module);
    check_refused(
        "func.func @main(%a: tensor<?x?xf32>) {\ncall @main(%a) : (tensor<?x?xf32>) -> ()\nreturn\n}", 5,
        "function '@main' calls itself");
}

/* Each level calls the next one with two other sizes. */
static void versions_of_functions_have_a_limit(void **state)
{
    (void)state;
    char text[8192] = "func.func @main(%a: tensor<?x?xf32>, %b: tensor<?xf32>) {\n"
                      "%0 = call @f0(%b) : (tensor<?xf32>) -> tensor<?xf32>\nreturn\n}\n";
    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "func.func @f%d(%%a: tensor<?xf32>) -> tensor<?xf32> {\n"
                 "%%0 = stablehlo.concatenate %%a, %%a, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> "
                 "tensor<?xf32>\n"
                 "%%1 = stablehlo.slice %%0 [0:%d] : (tensor<?xf32>) -> tensor<?xf32>\n"
                 "%%2 = call @f%d(%%0) : (tensor<?xf32>) -> tensor<?xf32>\n"
                 "%%3 = call @f%d(%%1) : (tensor<?xf32>) -> tensor<?xf32>\nreturn %%3 : tensor<?xf32>\n}\n",
                 i, i + 1, i + 1, i + 1);
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "func.func @f20(%%a: tensor<?xf32>) -> tensor<?xf32> {\nreturn %%a : tensor<?xf32>\n}\n");
    struct hlo_module module = read_text(text, 5); /* 2 sizes for each level more, not twice as many */
    assert_true(module.count < 500);
    hlo_release(&module);
}

static void a_loop_over_an_open_size_has_a_trip_count(void **state)
{
    (void)state;
    struct hlo_module module =
        read_text("func.func @main(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {\n"
                  "%n = stablehlo.get_dimension_size %a, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>\n"
                  "%z = stablehlo.constant dense<0> : tensor<i32>\n"
                  "%one = stablehlo.constant dense<1> : tensor<i32>\n"
                  "%0:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, tensor<?x?xf32>\n"
                  "cond {\n%1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                  "stablehlo.return %1 : tensor<i1>\n} do {\n%1 = stablehlo.add %i, %one : tensor<i32>\n"
                  "%2 = stablehlo.add %v, %v : tensor<?x?xf32>\n"
                  "stablehlo.return %1, %2 : tensor<i32>, tensor<?x?xf32>\n}\n"
                  "return %0#1 : tensor<?x?xf32>\n}",
                  5);
    const struct hlo_instruction *loop = NULL;
    for (int i = 0; i < module.entry->count; i++)
        if (module.entry->instructions[i]->opcode == HLO_WHILE)
            loop = module.entry->instructions[i];
    assert_non_null(loop);
    assert_int_equal(hlo_trip_count(loop), 10);
    check_root(module.entry, "f32[7,10]");
    hlo_release(&module);
}

static void a_manual_computation_works_on_shards(void **state)
{
    (void)state;
    static const char text[] = "sdy.mesh @mesh = <[\"x\"=5, \"y\"=2, \"z\"=3]>\n"
                               "func.func @main(%%a: tensor<?x?xf32>) -> tensor<?x?xf32> {\n"
                               "%%0 = sdy.manual_computation(%%a) in_shardings=[<@mesh, [{}, {%s}]>] "
                               "out_shardings=[<@mesh, [{\"z\"}, {\"x\", \"y\"}]>] manual_axes={\"x\", "
                               "\"y\"} (%%b: tensor<?x?xf32>) {\n"
                               "sdy.return %%b : tensor<?x?xf32>\n} : (tensor<?x?xf32>) -> tensor<?x?xf32>\n"
                               "return %%0 : tensor<?x?xf32>\n}";
    char both[1024], one[1024];
    snprintf(both, sizeof both, text, "\"x\", \"y\"");
    struct hlo_module module = read_text(both, 5);
    check_root(module.computations[0], "f32[7,1]");
    check_root(module.entry, "f32[7,10]");
    hlo_release(&module);
    snprintf(one, sizeof one, text, "\"y\", ?");
    module = read_text(one, 5);
    check_root(module.computations[0], "f32[7,5]");
    check_root(module.entry, "f32[7,50]");
    hlo_release(&module);
    snprintf(one, sizeof one, text, "\"q\"");
    check_refused(one, 5, "the mesh has no axis 'q'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_is_an_expression_of_symbols),
        cmocka_unit_test(a_size_that_is_missing_is_named),
        cmocka_unit_test(operations_infer_the_sizes_of_their_results),
        cmocka_unit_test(a_size_that_depends_on_data_is_refused),
        cmocka_unit_test(a_function_is_read_for_each_set_of_sizes),
        cmocka_unit_test(versions_of_functions_have_a_limit),
        cmocka_unit_test(a_loop_over_an_open_size_has_a_trip_count),
        cmocka_unit_test(a_manual_computation_works_on_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
