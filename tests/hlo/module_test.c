#include "hlo/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct hlo_shape scalar = {.type = HLO_TYPE_F32};
static const struct hlo_shape matrix = {.type = HLO_TYPE_BF16, .rank = 2, .dims = (const int64_t[]){3, 5}};
static const struct hlo_shape nibbles = {.type = HLO_TYPE_S4, .rank = 1, .dims = (const int64_t[]){7}};
static const struct hlo_shape token = {.type = HLO_TYPE_TOKEN};
static const struct hlo_shape opaque = {.type = HLO_TYPE_OPAQUE};
static const struct hlo_shape pair = {
    .type = HLO_TYPE_TUPLE, .part_count = 2, .parts = (const struct hlo_shape *const[]){&matrix, &scalar}};
static const struct hlo_shape nested = {
    .type = HLO_TYPE_TUPLE, .part_count = 2, .parts = (const struct hlo_shape *const[]){&pair, &token}};

static void types_have_names_in_both_languages(void **state)
{
    (void)state;
    for (int i = 0; i < HLO_TYPE_COUNT; i++) {
        const char *name = hlo_type_name((enum hlo_type)i);
        assert_int_equal(hlo_type_find(name, strlen(name)), i);
    }
    assert_int_equal(hlo_type_find("f32x", 3), HLO_TYPE_F32);
    assert_int_equal(hlo_type_find("f3", 2), HLO_TYPE_COUNT);
    assert_int_equal(hlo_type_find_mlir("i1", 2), HLO_TYPE_PRED);
    assert_int_equal(hlo_type_find_mlir("f8E4M3FN", 8), HLO_TYPE_F8E4M3FN);
    assert_int_equal(hlo_type_find_mlir("s32", 3), HLO_TYPE_COUNT);
}

static void types_know_their_bits(void **state)
{
    (void)state;
    assert_int_equal(hlo_type_bits(HLO_TYPE_S4), 4);
    assert_int_equal(hlo_type_bits(HLO_TYPE_C128), 128);
    assert_true(hlo_type_is_float(HLO_TYPE_BF16) && hlo_type_is_float(HLO_TYPE_F4E2M1FN) &&
                hlo_type_is_float(HLO_TYPE_F64));
    assert_false(hlo_type_is_float(HLO_TYPE_C64) || hlo_type_is_float(HLO_TYPE_U64) ||
                 hlo_type_is_float(HLO_TYPE_PRED));
}

static void sizes_are_those_of_memory(void **state)
{
    (void)state;
    assert_int_equal(hlo_bytes(&scalar), 4);
    assert_int_equal(hlo_elements(&scalar), 1);
    assert_int_equal(hlo_bytes(&matrix), 30);
    assert_int_equal(hlo_bytes(&nibbles), 4);
    assert_int_equal(hlo_bytes(&token), 0);
    assert_int_equal(hlo_elements(&token), 0);
    assert_int_equal(hlo_bytes(&opaque), 8);
    assert_int_equal(hlo_bytes(&nested), 16);
    assert_int_equal(hlo_elements(&nested), 0);
    assert_int_equal(hlo_leaf_bytes(&nested), 34);
}

static void shapes_are_written_and_cut(void **state)
{
    (void)state;
    char text[64];
    assert_string_equal(hlo_shape_text(&nested, text, sizeof text), "((bf16[3,5], f32[]), token[])");
    assert_string_equal(hlo_shape_text(&matrix, text, 6), "bf16[");
    assert_string_equal(hlo_shape_text(&matrix, text, 1), "");
}

static void shapes_are_compared_without_layout(void **state)
{
    (void)state;
    struct hlo_shape other = matrix;
    other.layout = (const int32_t[]){0, 1};
    assert_true(hlo_shape_equal(&matrix, &other));
    other.type = HLO_TYPE_F16;
    assert_false(hlo_shape_equal(&matrix, &other));
    assert_false(hlo_shape_equal(&matrix, &nibbles));
    assert_false(hlo_shape_equal(&pair, &nested));
    assert_true(hlo_shape_equal(&nested, &nested));
}

static void opcodes_are_found_by_name(void **state)
{
    (void)state;
    for (int i = 0; i < HLO_OPCODE_COUNT; i++) {
        const char *name = hlo_opcode_name((enum hlo_opcode)i);
        assert_int_equal(hlo_opcode_find(name, strlen(name)), i);
    }
    assert_int_equal(hlo_opcode_find("addition", 8), HLO_OPCODE_COUNT);
    assert_int_equal(hlo_opcode_find("ad", 2), HLO_OPCODE_COUNT);
}

static void syntax_is_told_by_the_beginning(void **state)
{
    (void)state;
    static const char *const mlir[] = {"module @m attributes {} {}", "module {}",
                                       "// a\n#loc = loc(unknown)",  "\"builtin.module\"() ({}) : () -> ()",
                                       "func.func @main() {}",       "\xef\xbb\xbfmodule {}"};
    static const char *const hlo[] = {"HloModule m", "/* a */ ENTRY e {}", "module (a: f32[]) -> f32[] {}",
                                      "f32[2] add(f32[2] %a, f32[2] %b"};
    static const char *const neither[][2] = {
        {" ", "empty"},         {"{ \"a\": 1}", "JSON"}, {"[1]", "JSON"},        {"PK\3\4", "a zip"},
        {"\10\22", "a binary"}, {"{ lambda", "a jaxpr"}, {"\x1f\x8b", "packed"}, {"x", "neither HLO"}};
    struct hlo_module module;
    struct error err;
    for (size_t i = 0; i < sizeof mlir / sizeof *mlir; i++)
        if (hlo_parse(&module, "m", mlir[i], strlen(mlir[i]), &err))
            hlo_release(&module);
        else
            assert_null(strstr(err.text, "a computation"));
    for (size_t i = 0; i < sizeof hlo / sizeof *hlo; i++) {
        struct error of_text;
        assert_false(hlo_parse(&module, "m", hlo[i], strlen(hlo[i]), &err));
        assert_false(hlo_parse_text(&module, "m", hlo[i], strlen(hlo[i]), &of_text));
        assert_string_equal(err.text, of_text.text);
    }
    for (size_t i = 0; i < sizeof neither / sizeof *neither; i++) {
        assert_false(hlo_parse(&module, "m", neither[i][0], strlen(neither[i][0]), &err));
        assert_non_null(strstr(err.text, neither[i][1]));
    }
    assert_false(hlo_parse(&module, "m", "ML\xefR\x0d", 5, &err));
    assert_non_null(strstr(err.text, "m: this is MLIR bytecode"));
}

static void a_file_is_loaded(void **state)
{
    (void)state;
    char path[] = "/tmp/rehearse-module-XXXXXX";
    struct hlo_module module;
    struct error err;
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs("ENTRY e {\n  ROOT a = f32[2] parameter(0)\n}\n", file);
    fclose(file);
    bool ok = hlo_load(&module, path, &err);
    unlink(path);
    assert_true(ok);
    assert_string_equal(module.path, path);
    assert_string_equal(module.entry->name, "e");
    hlo_release(&module);
    assert_null(module.arena.last);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    struct hlo_module module;
    struct error err;
    assert_false(hlo_load(&module, "no/such/file.hlo", &err));
    assert_string_equal(err.text, "no/such/file.hlo: cannot open: No such file or directory");
    assert_false(hlo_load(&module, "/", &err));
    assert_string_equal(err.text, "/: a directory, expected a file");
    assert_false(hlo_load(&module, "/dev/null", &err));
    assert_int_equal(err.kind, ERROR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_names_in_both_languages), cmocka_unit_test(types_know_their_bits),
        cmocka_unit_test(sizes_are_those_of_memory),          cmocka_unit_test(shapes_are_written_and_cut),
        cmocka_unit_test(shapes_are_compared_without_layout), cmocka_unit_test(opcodes_are_found_by_name),
        cmocka_unit_test(syntax_is_told_by_the_beginning),    cmocka_unit_test(a_file_is_loaded),
        cmocka_unit_test(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
