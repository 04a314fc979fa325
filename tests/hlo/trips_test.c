#include "hlo/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int64_t trips_of(const char *text)
{
    struct hlo_module module;
    struct error err;
    if (!hlo_parse_text(&module, "t.hlo", text, strlen(text), &err))
        fail_msg("%s", err.text);
    int64_t count = hlo_trip_count(module.entry->root);
    hlo_release(&module);
    return count;
}

/* A loop over (i, x), as jax.lax.fori_loop becomes it. */
static int64_t trips(const char *type, const char *start, const char *limit, const char *direction,
                     const char *step)
{
    char text[2048];
    snprintf(text, sizeof text,
             "cond {\n s = (%s[], f32[4]) parameter(0)\n i = %s[] get-tuple-element(s), index=0\n"
             " n = %s[] constant(%s)\n ROOT c = pred[] compare(i, n), direction=%s\n}\n"
             "body {\n s = (%s[], f32[4]) parameter(0)\n i = %s[] get-tuple-element(s), index=0\n"
             " x = f32[4] get-tuple-element(s), index=1\n d = %s[] constant(%s)\n j = %s[] add(i, d)\n"
             " ROOT t = (%s[], f32[4]) tuple(j, x)\n}\n"
             "ENTRY e {\n x = f32[4] parameter(0)\n z = %s[] constant(%s)\n"
             " t = (%s[], f32[4]) tuple(z, x)\n"
             " ROOT w = (%s[], f32[4]) while(t), condition=cond, body=body\n}\n",
             type, type, type, limit, direction, type, type, type, step, type, type, type, start, type, type);
    return trips_of(text);
}

static void a_count_up_ends_at_its_bound(void **state)
{
    (void)state;
    assert_int_equal(trips("s32", "0", "10", "LT", "1"), 10);
    assert_int_equal(trips("s32", "0", "10", "LE", "1"), 11);
    assert_int_equal(trips("s32", "3", "10", "LT", "3"), 3);
    assert_int_equal(trips("s32", "1", "10", "LE", "3"), 4);
    assert_int_equal(trips("s64", "-5", "1000000000000", "LT", "5"), 200000000001);
}

static void a_count_down_ends_at_its_bound(void **state)
{
    (void)state;
    assert_int_equal(trips("s32", "10", "0", "GT", "-1"), 10);
    assert_int_equal(trips("s32", "10", "0", "GE", "-1"), 11);
    assert_int_equal(trips("s32", "10", "0", "GT", "-4"), 3);
}

static void not_equal_must_be_hit(void **state)
{
    (void)state;
    assert_int_equal(trips("s32", "0", "12", "NE", "3"), 4);
    assert_int_equal(trips("s32", "0", "-12", "NE", "-3"), 4);
    assert_int_equal(trips("s32", "0", "10", "NE", "3"), -1);
    assert_int_equal(trips("s32", "0", "12", "NE", "-3"), -1);
}

static void equal_lasts_one_turn(void **state)
{
    (void)state;
    assert_int_equal(trips("s32", "4", "4", "EQ", "1"), 1);
    assert_int_equal(trips("s32", "4", "4", "EQ", "0"), -1);
    assert_int_equal(trips("s32", "4", "5", "EQ", "1"), 0);
}

static void a_loop_may_not_run_at_all(void **state)
{
    (void)state;
    assert_int_equal(trips("s32", "10", "10", "LT", "1"), 0);
    assert_int_equal(trips("s32", "12", "10", "LE", "-1"), 0);
}

static void an_endless_loop_has_no_count(void **state)
{
    (void)state;
    assert_int_equal(trips("s32", "0", "10", "LT", "0"), -1);
    assert_int_equal(trips("s32", "0", "10", "LT", "-1"), -1);
    assert_int_equal(trips("s8", "0", "127", "LE", "1"), -1);
    assert_int_equal(trips("u8", "0", "255", "LT", "100"), -1);
    assert_int_equal(trips("s64", "-9223372036854775808", "9223372036854775807", "LT", "1"), -1);
}

#define LOOP(parts, cond, body, entry)                                                                       \
    "cond {\n s = " parts " parameter(0)\n" cond "}\nbody {\n s = " parts " parameter(0)\n" body             \
    "}\nENTRY e {\n" entry " ROOT w = " parts " while(t), condition=cond, body=body\n}\n"

static void the_known_count_is_believed(void **state)
{
    (void)state;
    static const char text[] =
        "cond {\n s = (s32[]) parameter(0)\n ROOT c = pred[] custom-call(s), custom_call_target=\"more\"\n}\n"
        "body {\n ROOT s = (s32[]) parameter(0)\n}\n"
        "ENTRY e {\n t = (s32[]) parameter(0)\n ROOT w = (s32[]) while(t), condition=cond, body=body%s\n}\n";
    char whole[1024];
    snprintf(whole, sizeof whole, text, ", backend_config={\"known_trip_count\":{\"n\":\"42\"}}");
    assert_int_equal(trips_of(whole), 42);
    snprintf(whole, sizeof whole, text, ", backend_config=\"{\\\"known_trip_count\\\": {\\\"n\\\": 7}}\"");
    assert_int_equal(trips_of(whole), 7);
    snprintf(whole, sizeof whole, text, ", backend_config={\"known_trip_count\":{}}");
    assert_int_equal(trips_of(whole), -1);
    snprintf(whole, sizeof whole, text, "");
    assert_int_equal(trips_of(whole), -1);
}

static void a_bound_that_is_carried_along_counts(void **state)
{
    (void)state;
    assert_int_equal(
        trips_of(LOOP("(s32[], s32[])",
                      " i = get-tuple-element(s), index=0\n n = get-tuple-element(s), index=1\n"
                      " ROOT c = compare(n, i), direction=GT\n",
                      " i = get-tuple-element(s), index=0\n n = get-tuple-element(s), index=1\n"
                      " o = s32[] constant(2)\n j = add(o, i)\n m = copy(n)\n ROOT t = tuple(j, m)\n",
                      " z = s32[] constant(1)\n n = s32[] constant(8)\n t = tuple(z, n)\n")),
        4);
}

static void sums_and_products_are_followed(void **state)
{
    (void)state;
    assert_int_equal(
        trips_of(LOOP("(s32[])",
                      " i = get-tuple-element(s), index=0\n a = s32[] constant(3)\n b = multiply(i, a)\n"
                      " c = subtract(a, b)\n d = negate(c)\n n = s32[] constant(27)\n"
                      " ROOT r = compare(d, n), direction=LT\n",
                      " i = get-tuple-element(s), index=0\n o = s32[] constant(1)\n j = add(i, o)\n"
                      " k = add(j, o)\n ROOT t = tuple(k)\n",
                      " z = s32[] constant(-1)\n y = add(z, z)\n t = tuple(y)\n")),
        6); /* 3 i - 3 < 27, i = -2, 0, …, 8 */
}

static void fusions_and_calls_are_entered(void **state)
{
    (void)state;
    assert_int_equal(
        trips_of(
            "less {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n"
            " ROOT c = compare(a, b), direction=LT\n}\n"
            "step {\n a = s32[] parameter(0)\n o = s32[] constant(5)\n ROOT c = add(a, o)\n}\n" LOOP(
                "(s32[])",
                " i = get-tuple-element(s), index=0\n n = s32[] constant(20)\n"
                " ROOT c = pred[] fusion(i, n), kind=kLoop, calls=less\n",
                " i = get-tuple-element(s), index=0\n j = s32[] call(i), to_apply=step\n ROOT t = tuple(j)\n",
                " z = s32[] constant(0)\n t = tuple(z)\n")),
        4);
}

static void a_scalar_alone_may_be_the_variable(void **state)
{
    (void)state;
    assert_int_equal(
        trips_of(LOOP("s32[]", " n = s32[] constant(6)\n ROOT c = compare(s, n), direction=LT\n",
                      " o = s32[] constant(1)\n ROOT j = add(s, o)\n", " t = s32[] constant(2)\n")),
        4);
}

static void what_is_not_constant_has_no_count(void **state)
{
    (void)state;
    assert_int_equal(
        trips_of(LOOP("s32[]", " n = s32[] constant(6)\n ROOT c = compare(s, n), direction=LT\n",
                      " o = s32[] constant(1)\n ROOT j = add(s, o)\n", " t = s32[] parameter(0)\n")),
        -1);
    assert_int_equal(trips_of(LOOP("s32[]", " n = s32[] constant(6)\n ROOT c = compare(s, n), direction=LT\n",
                                   " ROOT j = add(s, s)\n", " t = s32[] constant(2)\n")),
                     -1);
    assert_int_equal(
        trips_of(LOOP("f32[]", " n = f32[] constant(6)\n ROOT c = compare(s, n), direction=LT\n",
                      " o = f32[] constant(1)\n ROOT j = add(s, o)\n", " t = f32[] constant(2)\n")),
        -1);
}

static int64_t trips_of_mlir(const char *text)
{
    struct hlo_module module;
    struct error err;
    int64_t count = -2;
    if (!hlo_parse_mlir_sized(&module, "t.mlir", text, strlen(text), NULL, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < module.entry->count; i++)
        if (module.entry->instructions[i]->opcode == HLO_WHILE)
            count = hlo_trip_count(module.entry->instructions[i]);
    hlo_release(&module);
    return count;
}

static void loops_over_several_values_are_counted(void **state)
{
    (void)state;
    assert_int_equal(
        trips_of_mlir(
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            " %z = stablehlo.constant dense<2> : tensor<i32>\n %n = stablehlo.constant dense<9> : "
            "tensor<i32>\n"
            " %o = stablehlo.constant dense<3> : tensor<i32>\n"
            " %r:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<4xf32>\n"
            " cond {\n  %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> "
            "tensor<i1>\n"
            "  stablehlo.return %c : tensor<i1>\n } do {\n"
            "  %j = stablehlo.add %i, %o : tensor<i32>\n  %w = stablehlo.add %v, %v : tensor<4xf32>\n"
            "  stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>\n }\n"
            " return %r#1 : tensor<4xf32>\n}\n"),
        3);
}

static void only_loops_have_a_count(void **state)
{
    (void)state;
    assert_int_equal(trips_of("ENTRY e {\n ROOT a = s32[] constant(1)\n}\n"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_count_up_ends_at_its_bound),
        cmocka_unit_test(a_count_down_ends_at_its_bound),
        cmocka_unit_test(not_equal_must_be_hit),
        cmocka_unit_test(equal_lasts_one_turn),
        cmocka_unit_test(a_loop_may_not_run_at_all),
        cmocka_unit_test(an_endless_loop_has_no_count),
        cmocka_unit_test(the_known_count_is_believed),
        cmocka_unit_test(a_bound_that_is_carried_along_counts),
        cmocka_unit_test(sums_and_products_are_followed),
        cmocka_unit_test(fusions_and_calls_are_entered),
        cmocka_unit_test(a_scalar_alone_may_be_the_variable),
        cmocka_unit_test(what_is_not_constant_has_no_count),
        cmocka_unit_test(loops_over_several_values_are_counted),
        cmocka_unit_test(only_loops_have_a_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
