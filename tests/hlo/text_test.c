#include "hlo/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hlo_module module_of(const char *text)
{
    struct hlo_module module;
    struct error err;
    if (!hlo_parse_text(&module, "t.hlo", text, strlen(text), &err))
        fail_msg("%s\nin\n%s", err.text, text);
    return module;
}

/* The lines as the body of the entry; they begin at line 2. */
static struct hlo_module entry_of(const char *lines)
{
    char text[4096];
    snprintf(text, sizeof text, "ENTRY e {\n%s\n}\n", lines);
    return module_of(text);
}

static void accepts(const char *text)
{
    struct hlo_module module = module_of(text);
    hlo_release(&module);
}

static void accepts_entry(const char *lines)
{
    struct hlo_module module = entry_of(lines);
    hlo_release(&module);
}

static const struct hlo_instruction *find(const struct hlo_module *module, const char *name)
{
    for (int i = 0; i < module->entry->count; i++)
        if (strcmp(module->entry->instructions[i]->name, name) == 0)
            return module->entry->instructions[i];
    fail_msg("no %s", name);
    return NULL;
}

static void has_shape(const struct hlo_instruction *in, const char *shape)
{
    char text[256];
    assert_string_equal(hlo_shape_text(in->shape, text, sizeof text), shape);
}

static void root_has_shape(const char *lines, const char *shape)
{
    struct hlo_module module = entry_of(lines);
    has_shape(module.entry->root, shape);
    hlo_release(&module);
}

static void is_list(const struct hlo_ints *list, int count, const int64_t *numbers)
{
    assert_int_equal(list->count, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(list->at[i], numbers[i]);
}

#define ADD "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }\n"

/* ---- Modules and computations ---- */

static void a_module_has_header_computations_and_entry(void **state)
{
    (void)state;
    struct hlo_module module =
        module_of("HloModule step.1, is_scheduled=true, entry_computation_layout={(f32[2]{0})->f32[]}, "
                  "replica_count=4, num_partitions=2, frontend_attributes={a=\"}\"}\n\n" ADD
                  "ENTRY %main (x: f32[2]) -> f32[] {\n"
                  "  %x = f32[2]{0} parameter(0)\n  %z = f32[] constant(0)\n"
                  "  ROOT %r = f32[] reduce(f32[2]{0} %x, f32[] %z), dimensions={0}, to_apply=add\n"
                  "}, execution_thread=\"main\"\n");
    assert_string_equal(module.name, "step.1");
    assert_int_equal(module.replica_count, 4);
    assert_int_equal(module.partition_count, 2);
    assert_int_equal(module.count, 2);
    assert_string_equal(module.entry->name, "main");
    assert_int_equal(module.entry->index, 1);
    assert_int_equal(module.entry->parameter_count, 1);
    const struct hlo_instruction *root = module.entry->root;
    assert_string_equal(root->name, "r");
    assert_int_equal(root->line, 7);
    assert_int_equal(root->column, 9);
    assert_ptr_equal(root->callees[0], module.computations[0]);
    assert_ptr_equal(root->operands[1], module.entry->instructions[1]);
    hlo_release(&module);
}

static void without_header_and_entry_the_last_computation_counts(void **state)
{
    (void)state;
    struct hlo_module module = module_of("a {\n x = f32[] parameter(0)\n y = negate(x)\n}\n"
                                         "b {\n ROOT x = f32[] parameter(0)\n y = negate(x)\n}\n");
    assert_string_equal(module.entry->name, "b");
    assert_string_equal(module.entry->root->name, "x");
    assert_string_equal(module.computations[0]->root->name, "y");
    hlo_release(&module);
}

static void the_entry_may_come_first(void **state)
{
    (void)state;
    struct hlo_module module =
        module_of("ENTRY a {\n x = f32[] parameter(0)\n}\nb {\n x = f32[] parameter(0)\n}\n");
    assert_string_equal(module.entry->name, "a");
    hlo_release(&module);
}

static void comments_and_tables_are_skipped(void **state)
{
    (void)state;
    accepts(
        "/* HloModule x */ HloModule m: // more\r\n"
        "FileNames\n1 \"<a {>\"\n2 \"b\"\nFileLocations\n1 {file_name_id=1 line=3}\n"
        "ENTRY /* here */ e { // begin\n  ROOT t = (f32[], f32[], /*index=2*/f32[]) parameter(0) // {\n}\n"
        "StackFrames\n1 {file_location_id=1}\n\n");
}

static void one_instruction_alone_is_a_module(void **state)
{
    (void)state;
    struct hlo_module module = module_of("%m = f32[2,4]{1,0} multiply(f32[2,4]{1,0} %a, f32[2,4]{1,0} %b)");
    assert_int_equal(module.entry->parameter_count, 2);
    assert_string_equal(module.entry->parameters[1]->name, "b");
    assert_int_equal(module.entry->root->opcode, HLO_MULTIPLY);
    hlo_release(&module);
    module = module_of("f32[2] multiply(f32[2], f32[2])");
    assert_int_equal(module.entry->parameter_count, 2);
    hlo_release(&module);
}

static void bodies_may_stand_in_place(void **state)
{
    (void)state;
    struct hlo_module module = entry_of(" x = f32[4] parameter(0)\n"
                                        " ROOT f = f32[4] fusion(x), kind=kInput, calls=\n {\n"
                                        "  x = f32[4] parameter(0)\n  ROOT y = f32[4] tanh(x)\n }");
    assert_int_equal(module.count, 2);
    assert_string_equal(module.computations[0]->root->name, "y");
    assert_int_equal(module.entry->root->attributes->fusion_kind, HLO_FUSION_INPUT);
    hlo_release(&module);
}

static void nested_operands_become_instructions(void **state)
{
    (void)state;
    struct hlo_module module = entry_of(" ROOT r = sqrt(f32[8] broadcast(f32[] parameter(0)))");
    assert_int_equal(module.entry->count, 3);
    assert_int_equal(module.entry->instructions[1]->opcode, HLO_BROADCAST);
    has_shape(module.entry->root, "f32[8]");
    hlo_release(&module);
}

static void elements_may_be_written_short(void **state)
{
    (void)state;
    struct hlo_module module = entry_of(" p = (f32[2], (s8[3], pred[])) parameter(0)\n"
                                        " ROOT t = tuple(p#0, s8[3] %p#1#0, p#1#0)");
    assert_int_equal(module.entry->count, 5); /* p, p#0, p#1, p#1#0, t */
    has_shape(module.entry->root, "(f32[2], s8[3], s8[3])");
    assert_ptr_equal(module.entry->root->operands[1], module.entry->root->operands[2]);
    hlo_release(&module);
}

static void async_sugar_wraps_the_operation(void **state)
{
    (void)state;
    struct hlo_module module =
        entry_of(" x = f32[4] parameter(0)\n"
                 " s = ((f32[4]), f32[2], u32[]) slice-start(x), slice={[0:4:2]}\n"
                 " u = ((f32[4]), f32[2], u32[]) slice-update(s)\n ROOT d = f32[2] slice-done(u)");
    const struct hlo_instruction *start = find(&module, "s");
    assert_int_equal(start->opcode, HLO_ASYNC_START);
    assert_int_equal(start->callees[0]->root->opcode, HLO_SLICE);
    assert_int_equal(start->callees[0]->root->attributes->stride.at[0], 2);
    assert_int_equal(module.entry->root->opcode, HLO_ASYNC_DONE);
    hlo_release(&module);
}

/* ---- Shapes and constants ---- */

static void shapes_have_layouts_bounds_and_blanks(void **state)
{
    (void)state;
    struct hlo_module module = entry_of(" a = f32[ 2, <=3 ]{0,1:T(8,128)(2,1)S(1)} parameter(0)\n"
                                        " b = f32 [2,3]{1,0} parameter(1)\n c = token[] parameter(2)\n"
                                        " d = b(s8[7]) parameter(3)\n e = f32[]{:T(128)} parameter(4)\n"
                                        " f = f32[10]{0:D(D)P(f32[10]{0})} parameter(5)\n"
                                        " ROOT g = () parameter(6)");
    const struct hlo_shape *a = find(&module, "a")->shape, *b = find(&module, "b")->shape;
    assert_int_equal(a->dims[1], 3);
    assert_int_equal(a->layout[0], 0);
    assert_null(b->layout);
    assert_true(hlo_shape_equal(a, b));
    has_shape(find(&module, "d"), "s8[7]");
    has_shape(module.entry->root, "()");
    hlo_release(&module);
}

static void scalar_constants_keep_their_value(void **state)
{
    (void)state;
    struct hlo_module module = entry_of(
        " a = s32[] constant(-42)\n b = pred[] constant(true)\n c = f32[] constant(1.5)\n d = u8[2] "
        "constant({1, 2})\n"
        " e = u64[] constant(18446744073709551615)\n f = s32[] constant({...})\n ROOT g = s8[3] constant(7)");
    assert_true(find(&module, "a")->has_value && find(&module, "a")->value == -42);
    assert_true(find(&module, "b")->has_value && find(&module, "b")->value == 1);
    assert_false(find(&module, "c")->has_value || find(&module, "d")->has_value);
    assert_false(find(&module, "e")->has_value || find(&module, "f")->has_value);
    assert_true(find(&module, "g")->splat && !find(&module, "g")->has_value && !find(&module, "d")->splat);
    hlo_release(&module);
}

static void literals_of_every_kind_are_read(void **state)
{
    (void)state;
    accepts_entry(" a = f32[2,2]{1,0} constant({ { /*i0=0*/ 1, nan }, { -inf, 3e+2 } })\n"
                  " b = c64[2] constant({(1, -2), (inf, nan)})\n c = bf16[1] constant({-nan(0x7f)})\n"
                  " d = (s8[], f32[1]) constant((-128, {0.5}))\n e = f32[0,3] constant({})\n"
                  " f = f32[2,0] constant({ {}, { } })\n g = pred[2] constant({1, false})\n"
                  " ROOT h = f32[67,89]{1,0} constant({...})");
}

static void large_constants_are_skipped(void **state)
{
    (void)state;
    size_t room = 1 << 20;
    char *text = malloc(room);
    size_t used = (size_t)snprintf(text, room, "ENTRY e {\n a = c64[30000] constant({(0, 0)");
    for (int i = 1; i < 30000; i++)
        used += (size_t)snprintf(text + used, room - used, ", (%d, -1)", i);
    snprintf(text + used, room - used, "})\n ROOT b = c64[30000] negate(a)\n}\n");
    struct hlo_module module = module_of(text);
    assert_int_equal(module.entry->count, 2);
    assert_int_equal(module.entry->root->line, 3);
    hlo_release(&module);
    free(text);
}

/* ---- Attributes ---- */

static void dots_keep_their_dimensions(void **state)
{
    (void)state;
    struct hlo_module module = entry_of(
        " a = f32[7,2,3] parameter(0)\n b = f32[3,7,5] parameter(1)\n"
        " ROOT d = dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={2}, "
        "rhs_contracting_dims={0}, operand_precision={default,highest}, algorithm=dot_bf16_bf16_f32");
    const struct hlo_attributes *a = module.entry->root->attributes;
    is_list(&a->lhs_contracting, 1, (const int64_t[]){2});
    is_list(&a->rhs_batch, 1, (const int64_t[]){1});
    has_shape(module.entry->root, "f32[7,2,5]");
    hlo_release(&module);
}

static void convolutions_keep_window_and_labels(void **state)
{
    (void)state;
    struct hlo_module module = entry_of(
        " x = f32[2,9,8,6] parameter(0)\n k = f32[3,2,3,4] parameter(1)\n"
        " ROOT c = convolution(x, k), window={size=3x2 stride=2x1 pad=0_1x1_0 rhs_dilate=1x2 lhs_dilate=1x1 "
        "rhs_reversal=0x1}, dim_labels=b01f_01io->bf01, feature_group_count=2");
    const struct hlo_attributes *a = module.entry->root->attributes;
    assert_int_equal(a->window_rank, 2);
    assert_int_equal(a->window[0].stride, 2);
    assert_int_equal(a->window[1].pad_low, 1);
    assert_int_equal(a->window[1].window_dilation, 2);
    assert_true(a->window[1].reversal && !a->window[0].reversal);
    is_list(&a->input_labels, 4, (const int64_t[]){HLO_LABEL_BATCH, 0, 1, HLO_LABEL_FEATURE});
    is_list(&a->kernel_labels, 4, (const int64_t[]){0, 1, HLO_LABEL_BATCH, HLO_LABEL_FEATURE});
    assert_int_equal(a->feature_groups, 2);
    assert_int_equal(a->batch_groups, 1);
    has_shape(module.entry->root, "f32[2,4,4,7]");
    hlo_release(&module);
}

static void replica_groups_of_every_form_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *groups;
        int64_t count, size;
    } cases[] = {
        {"{{0,1},{2,3,4}}", 2, 3},
        {"{}", 0, 0},
        {"[2,4]<=[8]", 2, 4},
        {"[4,2]<=[2,4]T(1,0)", 4, 2},
        {"mesh['x'=2,'y'=4] {'y'}", 2, 4},
        {"mesh['x'=2,'y'=4, device_ids=(0,1,2,3,4,5,6,7)] {'x','y':(2)2}", 2, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 ADD "ENTRY e {\n x = f32[8] parameter(0)\n"
                     " ROOT r = f32[8] all-reduce(x), replica_groups=%s, to_apply=add\n}\n",
                 cases[i].groups);
        struct hlo_module module = module_of(text);
        assert_int_equal(module.entry->root->attributes->group_count, cases[i].count);
        assert_int_equal(module.entry->root->attributes->group_size, cases[i].size);
        hlo_release(&module);
    }
}

static void other_attributes_are_kept(void **state)
{
    (void)state;
    struct hlo_module module = entry_of(
        " x = f32[8,4] parameter(0)\n z = f32[] constant(0)\n i = s32[] constant(1)\n"
        " s = slice(x), slice={[0:8:2], [1:3]}\n p = pad(x, z), padding=1_2x-1_0_3\n"
        " d = dynamic-slice(x, i, i), dynamic_slice_sizes={2,4}\n c = compare(x, x), direction=GE, "
        "type=TOTALORDER\n"
        " t = (f32[8,2], s32[8,2]) topk(x), k=2, largest=true\n o = f32[5,3] iota(), iota_dimension=1\n"
        " q = f32[8,4] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,0}}\n"
        " ROOT k = f32[4] custom-call(x), custom_call_target=\"a\\\"b\", backend_config=\"{\\\"n\\\": 1}\", "
        "metadata={op_name=\"it's (a) {b\"}, literal=(s32[1] {4}, f32[] 1), window={size=2x2}, "
        "dim_labels=?b0f_0?io->b0?f");
    is_list(&find(&module, "s")->attributes->stride, 2, (const int64_t[]){2, 1});
    is_list(&find(&module, "p")->attributes->interior, 2, (const int64_t[]){0, 3});
    is_list(&find(&module, "d")->attributes->sizes, 2, (const int64_t[]){2, 4});
    assert_int_equal(find(&module, "c")->attributes->direction, HLO_GE);
    assert_int_equal(find(&module, "t")->attributes->index, 2);
    is_list(&find(&module, "o")->attributes->dimensions, 1, (const int64_t[]){1});
    assert_int_equal(find(&module, "q")->attributes->pair_count, 3);
    assert_string_equal(module.entry->root->attributes->target, "a\"b");
    assert_string_equal(module.entry->root->attributes->backend_config, "{\"n\": 1}");
    hlo_release(&module);
}

static void alike_attributes_and_shapes_are_shared(void **state)
{
    (void)state;
    struct hlo_module module =
        entry_of(" x = f32[4,4]{0,1} parameter(0)\n y = f32[4,4]{0,1} transpose(x), dimensions={1,0}\n"
                 " ROOT z = f32[4,4]{0,1} transpose(y), metadata={a=1}, dimensions={1,0}");
    assert_ptr_equal(find(&module, "y")->attributes, find(&module, "z")->attributes);
    assert_ptr_equal(find(&module, "y")->shape, find(&module, "x")->shape);
    hlo_release(&module);
}

/* ---- Inference ---- */

static void shapes_that_are_left_out_are_inferred(void **state)
{
    (void)state;
    root_has_shape(" a = f32[2,3] parameter(0)\n ROOT b = compare(a, a), direction=EQ", "pred[2,3]");
    root_has_shape(" a = c128[2] parameter(0)\n ROOT b = abs(a)", "f64[2]");
    root_has_shape(" a = f32[2] parameter(0)\n ROOT b = complex(a, a)", "c64[2]");
    root_has_shape(" p = pred[] constant(true)\n a = s8[2] constant(0)\n ROOT b = select(p, a, a)", "s8[2]");
    root_has_shape(" a = f32[2,3] parameter(0)\n ROOT b = transpose(a), dimensions={1,0}", "f32[3,2]");
    root_has_shape(" a = f32[2,3] parameter(0)\n ROOT b = concatenate(a, a, a), dimensions={1}", "f32[2,9]");
    root_has_shape(" a = f32[5] parameter(0)\n z = f32[] constant(0)\n ROOT b = pad(a, z), padding=-1_2_3",
                   "f32[18]");
    root_has_shape(" a = f32[9] parameter(0)\n ROOT b = slice(a), slice={[1:9:3]}", "f32[3]");
    root_has_shape(" a = f32[9] parameter(0)\n b = s8[1] parameter(1)\n ROOT t = tuple(a, b, a)",
                   "(f32[9], s8[1], f32[9])");
    root_has_shape(" ROOT a = replica-id()", "u32[]");
    root_has_shape(" ROOT a = after-all()", "token[]");
}

static void windows_give_their_places(void **state)
{
    (void)state;
    struct hlo_module module = module_of(
        ADD "ENTRY e {\n x = f32[10,3] parameter(0)\n z = f32[] constant(0)\n"
            " ROOT r = reduce-window(x, z), window={size=3x1 stride=2x1 pad=1_1x0_0 lhs_dilate=2x1}, "
            "to_apply=add\n}\n");
    has_shape(module.entry->root, "f32[10,3]"); /* 19 + 2 wide, 3 at a time, every second */
    hlo_release(&module);
}

static void several_arrays_are_reduced_together(void **state)
{
    (void)state;
    accepts("two { a = f32[] parameter(0)  b = s32[] parameter(1)  c = f32[] parameter(2)  d = s32[] "
            "parameter(3)\n"
            " ROOT t = tuple(a, b) }\n"
            "ENTRY e {\n x = f32[4,5] parameter(0)\n y = s32[4,5] parameter(1)\n u = f32[] constant(0)\n"
            " v = s32[] constant(0)\n ROOT r = (f32[4], s32[4]) reduce(x, y, u, v), dimensions={1}, "
            "to_apply=two\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_has_header_computations_and_entry),
        cmocka_unit_test(without_header_and_entry_the_last_computation_counts),
        cmocka_unit_test(the_entry_may_come_first),
        cmocka_unit_test(comments_and_tables_are_skipped),
        cmocka_unit_test(one_instruction_alone_is_a_module),
        cmocka_unit_test(bodies_may_stand_in_place),
        cmocka_unit_test(nested_operands_become_instructions),
        cmocka_unit_test(elements_may_be_written_short),
        cmocka_unit_test(async_sugar_wraps_the_operation),
        cmocka_unit_test(shapes_have_layouts_bounds_and_blanks),
        cmocka_unit_test(scalar_constants_keep_their_value),
        cmocka_unit_test(literals_of_every_kind_are_read),
        cmocka_unit_test(large_constants_are_skipped),
        cmocka_unit_test(dots_keep_their_dimensions),
        cmocka_unit_test(convolutions_keep_window_and_labels),
        cmocka_unit_test(replica_groups_of_every_form_are_counted),
        cmocka_unit_test(other_attributes_are_kept),
        cmocka_unit_test(alike_attributes_and_shapes_are_shared),
        cmocka_unit_test(shapes_that_are_left_out_are_inferred),
        cmocka_unit_test(windows_give_their_places),
        cmocka_unit_test(several_arrays_are_reduced_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
