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
    text[used] = '\0';
    refuses(text, "2:26: a constant that does not end");
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

/* ---- Refusals ---- */

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
    refuses("ENTRY e {\n/* x", "2:1: expected an instruction or '}', found a comment that does not end");
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
         "3:2: 'b' (transpose): dimensions: dimension 0 is there twice"},
        {" b = transpose(a), dimensions={1}",
         "3:2: 'b' (transpose): expected an order of the 2 dimensions, found 1 numbers"},
        {" b = slice(a), slice={[0:2], [0:4]}",
         "3:2: 'b' (slice): [0:4:1] is no slice of dimension 1, which is 3"},
        {" b = f32[5] reshape(a)", "3:2: 'b' (reshape): 6 elements become 5"},
        {" b = f32[3,2] broadcast(a), dimensions={0,1}",
         "3:2: 'b' (broadcast): dimension 0 of the operand is 2, dimension 0 of the result 3"},
        {" b = concatenate(a, a), dimensions={2}",
         "3:2: 'b' (concatenate): dimensions: no dimension 2 among 2"},
        {" b = pad(a, a), padding=0_0x0_0", "3:2: 'b' (pad): the value to pad with is no scalar"},
        {" b = dynamic-slice(a), dynamic_slice_sizes={3,3}",
         "3:2: 'b' (dynamic-slice): a slice of 3 from dimension 0, which is 2"},
        {" b = reverse(a), dimensions={-1}", "3:2: 'b' (reverse): dimensions: no dimension -1 among 2"},
        {" b = get-tuple-element(a), index=0", "3:2: 'b' (get-tuple-element): the operand is no tuple"},
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
            "5:2: 'b' (reduce): expected a computation of 2 parameters to apply");
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
    refuses_entry(text, "4:2: 'c' (convolution): 3 input features in 3 groups for a kernel of 3");
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
    refuses_entry(" a = f32[] parameter(0), metadata={x=\"y}", "2:38: a string that does not end");
    refuses("ENTRY e {\n a = f32[] parameter(0), x={[}]}\n}", "2:30: expected ']', found '}'");
    refuses("ENTRY e {\n a = f32[] parameter(0), x={\n", "2:28: a bracket that is not closed");
    refuses_entry(" a = f32[] parameter(0), 5", "3:1: expected '=', found '}'");
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
