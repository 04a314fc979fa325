/* HLO text that is refused, and where. */
#include "hlo/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ADD "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }\n"

static void refuses(const char *text, const char *message)
{
    struct hlo_module module;
    struct error err = {0};
    char whole[512];
    snprintf(whole, sizeof whole, "t.hlo:%s", message);
    assert_false(hlo_parse_text(&module, "t.hlo", text, strlen(text), &err));
    assert_string_equal(err.text, whole);
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_null(module.arena.last);
}

static void refuses_entry(const char *lines, const char *message)
{
    char text[8192];
    snprintf(text, sizeof text, "ENTRY e {\n%s\n}\n", lines);
    refuses(text, message);
}

static void text_that_is_no_module_is_refused(void **state)
{
    (void)state;
    refuses("", "1:1: expected a computation, found the end of the text");
    refuses("HloModule", "1:10: expected the module's name, found the end of the text");
    refuses("HloModule m,", "1:13: expected an attribute of the module, found the end of the text");
    refuses("HloModule m, replica_count=0", "1:14: expected 1 or more");
    refuses("ENTRY e", "1:8: expected '{', found the end of the text");
    refuses("ENTRY e {", "1:10: expected an instruction or '}', found the end of the text");
    refuses("ENTRY e {\n}", "2:1: a computation without instructions");
    refuses("ENTRY e {\n/* x", "2:1: expected an instruction or '}', found an unterminated comment");
    refuses("a = f32[] parameter(0)\nb = f32[] negate(a)",
            "2:1: expected the end after a single instruction, found 'b'");
}

static void names_must_be_known_and_new(void **state)
{
    (void)state;
    refuses_entry(" a = f32[] parameter(0)\n b = f32[] add(a, c)",
                  "3:19: no instruction 'c' before this line in the computation");
    refuses_entry(" a = f32[] parameter(0)\n a = f32[] negate(a)",
                  "3:2: a second instruction 'a' in the computation");
    refuses_entry(" a = f32[] parameter(0)\n b = f32[] call(a), to_apply=f",
                  "3:30: no computation 'f' before this line");
    refuses("a { b = f32[] parameter(0) }\na { b = f32[] parameter(0) }\n", "2:1: a second computation 'a'");
    refuses("ENTRY a { b = f32[] parameter(0) }\nENTRY c { b = f32[] parameter(0) }\n",
            "2:7: a second ENTRY");
    refuses_entry(" ROOT a = f32[] parameter(0)\n ROOT b = f32[] negate(a)",
                  "3:2: a second ROOT in the computation");
    refuses("a {\n b = f32[] parameter(0)\n ROOT c = f32[] call(b), to_apply=a\n}\n",
            "3:35: no computation 'a' before this line");
}

static void parameters_are_numbered_from_0(void **state)
{
    (void)state;
    refuses_entry(" a = f32[] parameter(1)", "2:2: parameter(1) among 1 parameters, numbered from 0");
    refuses_entry(" a = f32[] parameter(0)\n b = f32[] parameter(0)",
                  "3:2: parameter(0) among 2 parameters, numbered from 0");
    refuses_entry(" a = f32[] parameter(-1)", "2:22: a parameter's number below 0");
}

static void words_must_be_known(void **state)
{
    (void)state;
    refuses_entry(" a = f32[] parameter(0)\n b = f32[] sinus(a)",
                  "3:12: expected an operation, found 'sinus'");
    refuses_entry(
        " a = f32[4,4] parameter(0)\n ROOT b = f32[4,4] dot(a, a), algorithm=tensor_cores",
        "3:41: expected the name of an algorithm, such as dot_bf16_bf16_f32_x3, found 'tensor_cores'");
    refuses_entry(" a = g32[] parameter(0)",
                  "2:6: expected an element type (f32, bf16, s32, pred, …), found 'g32'");
    refuses_entry(" a = s8[] parameter(0)\n b = compare(a, a), direction=XX",
                  "3:31: expected a direction: EQ, NE, GE, GT, LE or LT, found 'XX'");
    refuses_entry(" a = s8[] parameter(0)\n b = s8[] fusion(a), kind=kBig",
                  "3:27: expected a kind of fusion: kLoop, kInput, kOutput or kCustom, found 'kBig'");
}

static void shapes_must_be_well_formed(void **state)
{
    (void)state;
    refuses_entry(" a = f32[2,?] parameter(0)",
                  "2:12: a dimension that is not known ('?'): give the module fixed sizes");
    refuses_entry(" a = f32[-2] parameter(0)", "2:10: expected a size, found -2");
    refuses_entry(" a = f32[134217728,134217728] parameter(0)",
                  "2:9: more than the 2^53 elements that an array may have");
    refuses_entry(" a = f32[99999999999999999999] parameter(0)",
                  "2:10: a number that does not fit into 64 bits");
    refuses_entry(" a = f32[2,2]{0,0} parameter(0)", "2:14: expected an order of the 2 dimensions as layout");
    refuses_entry(" a = f32[2,2]{0} parameter(0)", "2:14: expected a layout of 2 dimensions, found 1");
    refuses_entry(" a = f32[2]{0:X(1)} parameter(0)", "2:15: expected a layout's property or '}', found 'X'");
    refuses_entry(" a = token[2] parameter(0)", "2:6: a token has no dimensions");
    refuses_entry(" a = (f32[2] parameter(0)", "2:14: expected ',', found 'parameter'");
}

/* Computations inside of one another, as deep as goes, in an instruction that stands alone: one level more than in a
 * module. */
static void nested_computations_keep_to_their_limit(void **state)
{
    (void)state;
    static char text[32 * 220], message[64];
    size_t used = 0;
    for (int i = 0; i < 210; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "p = f32[] call(), to_apply={ ");
    snprintf(message, sizeof message, "1:%zu: nested deeper than the 200 levels that are read",
             201 * strlen("p = f32[] call(), to_apply={ "));
    refuses(text, message);
}

static void limits_are_named(void **state)
{
    (void)state;
    char text[4096], message[128];
    memset(text, '(', 300);
    snprintf(text + 300, sizeof text - 300, "f32[]");
    snprintf(message, sizeof message, "1:201: nested deeper than the 200 levels that are read");
    refuses(text, message);
    size_t used = 0;
    for (int i = 0; i < 300; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "abs(");
    char whole[5000];
    snprintf(whole, sizeof whole, "ENTRY e {\n a = %s", text);
    refuses(whole, "2:806: nested deeper than the 200 levels that are read");
    used = (size_t)snprintf(text, sizeof text, " a = f32[1");
    for (int i = 0; i < 64; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, ",1");
    snprintf(text + used, sizeof text - used, "] parameter(0)");
    refuses_entry(text, "2:9: more than the 64 dimensions that an array may have");
}

static void tuples_that_double_are_limited(void **state)
{
    (void)state;
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, " t0 = f32[] parameter(0)\n");
    for (int i = 1; i < 40; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, " t%d = tuple(t%d, t%d)\n", i, i - 1, i - 1);
    refuses_entry(text, "18:2: 't16' (tuple): a tuple of more than 65536 parts or 200 levels");
}

static void operand_counts_are_checked(void **state)
{
    (void)state;
    refuses_entry(" a = f32[] parameter(0)\n b = f32[] add(a)",
                  "3:2: 'b' (add): expected 2 operands, found 1");
    refuses_entry(" a = f32[] parameter(0)\n b = f32[] negate(a, a)",
                  "3:2: 'b' (negate): expected 1 operand, found 2");
    refuses_entry(" a = f32[] parameter(0)\n b = f32[] reduce(a, a, a), dimensions={}",
                  "3:2: 'b' (reduce): 3 operands do not pair");
}

static void operands_must_have_the_shape_written(void **state)
{
    (void)state;
    refuses_entry(" a = f32[2] parameter(0)\n b = f32[2] add(f32[2] a, f32[3] %a)",
                  "3:35: 'a' is f32[2], not f32[3]");
    refuses("ENTRY e (a: f32[2]) -> f32[3] {\n a = f32[2] parameter(0)\n}\n",
            "1:24: the computation is said to give f32[3], its root gives f32[2]");
    refuses_entry(" a = f32[2] parameter(0)\n b = f32[3] negate(a)",
                  "3:2: 'b' (negate): the operands give f32[2], the shape written is f32[3]");
    refuses_entry(" a = f32[2] parameter(0)\n b = s32[2] negate(a)",
                  "3:2: 'b' (negate): the operands give f32[2], the shape written is s32[2]");
    refuses_entry(" a = f32[2] parameter(0)\n b = f32[3] parameter(1)\n c = f32[2] add(a, b)",
                  "4:2: 'c' (add): operands of f32[2] and f32[3]");
    refuses_entry(" a = f32[2] parameter(0)\n b = custom-call(a), custom_call_target=\"x\"",
                  "3:2: 'b' (custom-call): a shape must be written: the operands do not give it");
    refuses_entry(" a = constant(1)", "2:2: a constant needs its shape");
}

static void dots_must_fit(void **state)
{
    (void)state;
    const char *operands = " a = f32[2,3] parameter(0)\n b = f32[4,5] parameter(1)\n c = dot(a, b), ";
    char text[512];
    snprintf(text, sizeof text, "%slhs_contracting_dims={1}, rhs_contracting_dims={0}", operands);
    refuses_entry(text, "4:2: 'c' (dot): contracting dimension 1 of the left is 3, 0 of the right 4");
    snprintf(text, sizeof text, "%slhs_contracting_dims={1}", operands);
    refuses_entry(text, "4:2: 'c' (dot): 1 contracting dimensions on the left, 0 on the right");
    snprintf(text, sizeof text, "%slhs_contracting_dims={2}, rhs_contracting_dims={0}", operands);
    refuses_entry(text, "4:2: 'c' (dot): lhs_contracting_dims: no dimension 2 among 2");
}

static void moves_must_fit(void **state)
{
    (void)state;
    const char *a = " a = f32[2,3] parameter(0)\n";
    static const struct {
        const char *line, *message;
    } cases[] = {
        {" b = transpose(a), dimensions={0,0}",
         "3:2: 'b' (transpose): dimensions: dimension 0 is listed twice"},
        {" b = transpose(a), dimensions={1}",
         "3:2: 'b' (transpose): expected an order of the 2 dimensions, found 1 numbers"},
        {" b = slice(a), slice={[0:2], [0:4]}",
         "3:2: 'b' (slice): [0:4:1] is not a slice of dimension 1, which is 3"},
        {" b = f32[5] reshape(a)", "3:2: 'b' (reshape): 6 elements become 5"},
        {" b = f32[3,2] broadcast(a), dimensions={0,1}",
         "3:2: 'b' (broadcast): dimension 0 of the operand is 2, dimension 0 of the result 3"},
        {" b = concatenate(a, a), dimensions={2}",
         "3:2: 'b' (concatenate): dimensions: no dimension 2 among 2"},
        {" b = pad(a, a), padding=0_0x0_0", "3:2: 'b' (pad): the padding value is not a scalar"},
        {" b = dynamic-slice(a), dynamic_slice_sizes={3,3}",
         "3:2: 'b' (dynamic-slice): a slice of 3 from dimension 0, which is 2"},
        {" b = reverse(a), dimensions={-1}", "3:2: 'b' (reverse): dimensions: no dimension -1 among 2"},
        {" b = get-tuple-element(a), index=0", "3:2: 'b' (get-tuple-element): the operand is not a tuple"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s", a, cases[i].line);
        refuses_entry(text, cases[i].message);
    }
}

static void calls_must_fit(void **state)
{
    (void)state;
    refuses("f { a = f32[] parameter(0) }\nENTRY e {\n a = f32[] parameter(0)\n b = f32[] call(a, a), "
            "to_apply=f\n}\n",
            "4:2: 'b' (call): 2 operands for a computation of 1 parameters");
    refuses("f { a = f32[] parameter(0) }\nENTRY e {\n a = f32[4] parameter(0)\n z = f32[] constant(0)\n"
            " b = f32[] reduce(a, z), dimensions={0}, to_apply=f\n}\n",
            "5:2: 'b' (reduce): 2 operands for a computation of 1 parameters");
    refuses_entry(" a = f32[] parameter(0)\n b = f32[] while(a)",
                  "3:2: 'b' (while): expected condition= and body=");
    refuses(
        "f { a = f32[] parameter(0) }\nENTRY e {\n a = f32[] parameter(0)\n b = f32[] while(a), body=f\n}\n",
        "4:2: a computation to call is missing");
}

static void windows_must_fit(void **state)
{
    (void)state;
    const char *start =
        " x = f32[1,4,4,3] parameter(0)\n k = f32[3,3,3,2] parameter(1)\n c = convolution(x, k), ";
    char text[512];
    snprintf(text, sizeof text, "%swindow={size=3x2}, dim_labels=b01f_01io->b01f", start);
    refuses_entry(text, "4:2: 'c' (convolution): spatial dimension 1 of the window is 2, of the kernel 3");
    snprintf(text, sizeof text, "%swindow={size=3x3 stride=1}, dim_labels=b01f_01io->b01f", start);
    refuses_entry(text, "4:42: expected stride of 2 dimensions, found 1");
    snprintf(text, sizeof text, "%swindow={size=3x0}, dim_labels=b01f_01io->b01f", start);
    refuses_entry(text, "4:32: a window with a size, stride or dilation below 1");
    snprintf(text, sizeof text, "%swindow={size=3x3}, dim_labels=b01f_01io->b02f", start);
    refuses_entry(text, "4:68: the dimension label 2 among 2 spatial dimensions");
    snprintf(text, sizeof text, "%swindow={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=3",
             start);
    refuses_entry(text, "4:2: 'c' (convolution): 3 features in 3 groups do not fit a kernel of 3 to 2");
}

static void groups_must_fit(void **state)
{
    (void)state;
    const char *start =
        ADD "ENTRY e {\n x = f32[8] parameter(0)\n r = f32[8] all-reduce(x), to_apply=add, replica_groups=";
    static const struct {
        const char *groups, *message;
    } cases[] = {
        {"{{0,-1}}", "4:61: expected a device's number, found -1"},
        {"[2,4]<=[4]", "4:57: groups of 8 devices in all, from 4 devices"},
        {"[8]<=[8]", "4:57: expected [groups,devices of each], found 1 numbers"},
        {"[2,4]<=[4,2]T(1,1)", "4:69: expected an order of 2 dimensions"},
        {"mesh['x'=2] {'y'}", "4:70: the mesh has no axis 'y'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s\n}\n", start, cases[i].groups);
        refuses(text, cases[i].message);
    }
}

static void values_must_fit_their_type(void **state)
{
    (void)state;
    refuses_entry(" a = s8[] constant(128)", "2:20: a value that s8 cannot hold");
    refuses_entry(" a = u4[] constant(-1)", "2:20: a value that u4 cannot hold");
    refuses_entry(" a = f16[] constant(-65520)", "2:21: a value that f16 cannot hold");
    refuses_entry(" a = bf16[1] constant({nan(0x3ff)})", "2:27: a NaN's payload that bf16 cannot hold");
    refuses_entry(" a = f32[2] constant({1})",
                  "2:25: expected 2 values in dimension 0 of the constant, found 1");
    refuses_entry(" a = f32[2] constant({1, 2, 3})",
                  "2:28: more than 2 values in dimension 0 of the constant");
    refuses_entry(" a = f32[2] constant({1, x})", "2:26: expected a number, found 'x'");
    refuses_entry(" a = token[] constant(1)", "2:23: a token has no value");
}

static void attributes_must_be_closed(void **state)
{
    (void)state;
    refuses_entry(" a = f32[] parameter(0), metadata={x=\"y}", "2:38: an unterminated string");
    refuses("ENTRY e {\n a = f32[] parameter(0), x={[}]}\n}", "2:30: expected ']', found '}'");
    refuses("ENTRY e {\n a = f32[] parameter(0), x={\n", "2:28: an unbalanced bracket");
    refuses_entry(" a = f32[] parameter(0), 5", "3:1: expected '=', found '}'");
}

static void large_constants_must_end(void **state)
{
    (void)state;
    size_t room = 1 << 20;
    char *text = malloc(room);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, room, "ENTRY e {\n a = c64[30000] constant({(0, 0)");
    for (int i = 1; i < 30000; i++)
        used += (size_t)snprintf(text + used, room - used, ", (%d, -1)", i);
    refuses(text, "2:26: an unterminated constant");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_is_no_module_is_refused),
        cmocka_unit_test(names_must_be_known_and_new),
        cmocka_unit_test(parameters_are_numbered_from_0),
        cmocka_unit_test(words_must_be_known),
        cmocka_unit_test(shapes_must_be_well_formed),
        cmocka_unit_test(nested_computations_keep_to_their_limit),
        cmocka_unit_test(limits_are_named),
        cmocka_unit_test(tuples_that_double_are_limited),
        cmocka_unit_test(operand_counts_are_checked),
        cmocka_unit_test(operands_must_have_the_shape_written),
        cmocka_unit_test(dots_must_fit),
        cmocka_unit_test(moves_must_fit),
        cmocka_unit_test(calls_must_fit),
        cmocka_unit_test(windows_must_fit),
        cmocka_unit_test(groups_must_fit),
        cmocka_unit_test(values_must_fit_their_type),
        cmocka_unit_test(attributes_must_be_closed),
        cmocka_unit_test(large_constants_must_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
