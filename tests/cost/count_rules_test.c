/* The rules of counting one by one, on small modules written here. */
#include "core/text.h"
#include "cost/count/count.h"
#include "cost/count/custom_calls.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct counted {
    struct hlo_module module;
    struct module_count count;
};

static bool try_count(struct counted *counted, const char *text, enum count_rules rules, struct error *err)
{
    if (!hlo_parse_text(&counted->module, "test.hlo", text, strlen(text), err))
        fail_msg("%s", err->text);
    if (module_count(&counted->count, &counted->module, &(struct count_options){.rules = rules}, err))
        return true;
    hlo_release(&counted->module);
    return false;
}

static void count(struct counted *counted, const char *text, enum count_rules rules)
{
    struct error err;
    if (!try_count(counted, text, rules, &err))
        fail_msg("%s", err.text);
}

static void release(struct counted *counted)
{
    module_count_release(&counted->count);
    hlo_release(&counted->module);
}

/* Of a module that is one instruction line and its parameters. */
static double flops_of(const char *text, enum count_rules rules)
{
    struct counted counted;
    count(&counted, text, rules);
    double flops = counted.count.flops;
    release(&counted);
    return flops;
}

static const char loops[] =
    "HloModule m\n"
    "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y) }\n"
    "below { p = f32[8] parameter(0)\n c = f32[] constant(1)\n"
    "  r = f32[] reduce(p, c), dimensions={0}, to_apply=add\n"
    "  ROOT o = pred[] compare(r, c), direction=LT }\n"
    "step { p = f32[8] parameter(0)\n ROOT a = f32[8] add(p, p) }\n"
    "outer_step { p = f32[8] parameter(0)\n"
    "  ROOT w = f32[8] while(p), condition=below, body=step, "
    "backend_config={\"known_trip_count\":{\"n\":\"10\"}} }\n"
    "ENTRY e { p = f32[8] parameter(0)\n"
    "  ROOT w = f32[8] while(p), condition=below, body=outer_step, "
    "backend_config={\"known_trip_count\":{\"n\":\"3\"}} }\n";

static void loops_are_multiplied(void **state)
{
    (void)state;
    double inner = 10 * 8 + 11 * 8; /* 10 additions of 8; 11 conditions of 7 additions and a comparison */
    assert_true(flops_of(loops, COUNT_REHEARSE) == 3 * inner + 4 * 8);
    assert_true(flops_of(loops, COUNT_XLA) == 8 + 8 + 8);
}

static const struct hlo_computation *computation_of(const struct hlo_module *module, const char *name)
{
    for (int i = 0; i < module->count; i++)
        if (strcmp(module->computations[i]->name, name) == 0)
            return module->computations[i];
    return NULL;
}

static void instructions_know_how_often_they_run(void **state)
{
    struct counted counted;
    (void)state;
    count(&counted, loops, COUNT_REHEARSE);
    const struct hlo_computation *step = computation_of(&counted.module, "step");
    const struct hlo_computation *below = computation_of(&counted.module, "below");
    const struct hlo_computation *add = computation_of(&counted.module, "add");
    assert_true(counted.count.computations[step->index][1].runs == 30);
    assert_true(counted.count.computations[below->index][2].runs == 3 * 11 + 4);
    assert_true(counted.count.computations[add->index][2].runs == 0); /* part of the reduction */
    release(&counted);
}

static void a_loop_without_end_counts_once_and_is_reported(void **state)
{
    struct counted counted;
    (void)state;
    count(&counted,
          "HloModule m\n"
          "below { p = f32[8] parameter(0)\n ROOT o = pred[] custom-call(p), custom_call_target=\"go\" }\n"
          "step { p = f32[8] parameter(0)\n ROOT a = f32[8] add(p, p) }\n"
          "ENTRY e { p = f32[8] parameter(0)\n ROOT w = f32[8] while(p), condition=below, body=step }\n",
          COUNT_REHEARSE);
    assert_int_equal(counted.count.unbounded_loops, 1);
    assert_true(counted.count.flops == 8);
    release(&counted);
}

static void unknown_custom_calls_are_named_once_and_not_summed(void **state)
{
    struct counted counted;
    static const char text[] =
        "HloModule m\nENTRY e { p = f32[8] parameter(0)\n"
        " a = f32[8] custom-call(p), custom_call_target=\"zeta\"\n"
        " b = f32[8] custom-call(a), custom_call_target=\"alpha\"\n"
        " c = f32[8] custom-call(b), custom_call_target=\"zeta\"\n ROOT d = f32[8] add(c, c) }\n";
    (void)state;
    count(&counted, text, COUNT_REHEARSE);
    assert_int_equal(counted.count.unknown_count, 2);
    assert_string_equal(counted.count.unknown[0], "alpha");
    assert_string_equal(counted.count.unknown[1], "zeta");
    assert_true(counted.count.flops == 8 && counted.count.bytes == 96);
    release(&counted);
    count(&counted, text, COUNT_XLA);
    assert_true(counted.count.flops == 8 - 3 && counted.count.bytes == 96 - 3);
    release(&counted);
}

/* One custom call on f32 operands a (and b). */
static double custom_call_flops(const char *target, const char *a, const char *b, const char *output)
{
    struct text text = {0};
    text_format(&text, "HloModule m\nENTRY e { a = %s parameter(0)\n", a);
    if (b)
        text_format(&text, " b = %s parameter(1)\n", b);
    text_format(&text, " ROOT r = %s custom-call(a%s), custom_call_target=\"%s\" }\n", output, b ? ", b" : "",
                target);
    struct counted counted;
    count(&counted, text.data, COUNT_REHEARSE);
    double flops = counted.count.unknown_count ? NAN : counted.count.flops;
    release(&counted);
    text_release(&text);
    return flops;
}

static void factorizations_take_their_textbook_counts(void **state)
{
    (void)state;
    assert_true(fabs(custom_call_flops("lapack_spotrf_ffi", "f32[30,30]", NULL, "f32[30,30]") - 9000) < 1e-6);
    assert_true(fabs(custom_call_flops("cusolver_getrf_ffi", "f32[2,30,30]", NULL, "f32[2,30,30]") - 36000) <
                1e-6);
    /* 60 x 30, given either way: 2 m n^2 - 2/3 n^3 */
    assert_true(fabs(custom_call_flops("Qr", "f32[60,30]", NULL, "f32[60,30]") - 90000) < 1e-6);
    assert_true(fabs(custom_call_flops("Qr", "f32[30,60]", NULL, "f32[30,60]") - 90000) < 1e-6);
    assert_true(fabs(custom_call_flops("lapack_cpotrf_ffi", "c64[30,30]", NULL, "c64[30,30]") - 36000) <
                1e-6);
    assert_true(custom_call_flops("lapack_strsm_ffi", "f32[4,4]", "f32[4,5]", "f32[4,5]") == 80);
}

static void known_custom_calls_count_by_the_table(void **state)
{
    (void)state;
    assert_true(custom_call_flops("byteir.softmax", "f32[2,8]", NULL, "f32[2,8]") == 64);
    assert_true(custom_call_flops("byteir.layer_norm", "f32[2,8]", "f32[8]", "f32[2,8]") == 112);
    assert_true(custom_call_flops("Sharding", "f32[2,8]", NULL, "f32[2,8]") == 0);
    assert_true(custom_call_flops("TopK", "f32[2,100]", NULL, "(f32[2,8], s32[2,8])") == 600);
    assert_true(isnan(custom_call_flops("foo", "f32[2,8]", NULL, "f32[2,8]")));
}

static void annotations_touch_no_memory(void **state)
{
    struct counted counted;
    (void)state;
    count(&counted,
          "HloModule m\nENTRY e { p = f32[8] parameter(0)\n"
          " ROOT a = f32[8] custom-call(p), custom_call_target=\"Sharding\" }\n",
          COUNT_REHEARSE);
    assert_true(counted.count.bytes == 0);
    release(&counted);
}

static const char gemm[] =
    "HloModule m\nENTRY e { a = f32[20,30] parameter(0)\n b = f32[30,40] parameter(1)\n"
    " ROOT r = (f32[20,40], s8[4096]) custom-call(a, b), custom_call_target=\"__cublas$lt$matmul\",\n"
    " backend_config={\"gemm_backend_config\":{\"dot_dimension_numbers\":"
    "{\"lhs_contracting_dimensions\":[\"1\"],\"rhs_contracting_dimensions\":[\"0\"]}}} }\n";

static void library_gemms_multiply_and_write_their_first_output(void **state)
{
    static const enum count_rules rules[] = {COUNT_REHEARSE, COUNT_XLA_GPU};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct counted counted;
        count(&counted, gemm, rules[i]);
        assert_true(counted.count.flops == 2 * 20 * 30 * 40);
        assert_true(counted.count.bytes == 4 * (20 * 30 + 30 * 40 + 20 * 40));
        release(&counted);
    }
}

/* Sizes as JAX 0.10 writes them: queries and keys are sequences x tokens x heads x width. */
static void count_fused_attention(struct counted *counted, const char *target, const char *mask,
                                  const char *dimensions)
{
    char text[1024];
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e { q = bf16[2,48,3,16] parameter(0)\n k = bf16[2,32,3,16] parameter(1)\n"
             " ROOT r = (bf16[2,3,48,16], u8[0]) custom-call(q, k, k), custom_call_target=\"%s\",\n"
             " backend_config={\"cudnn_fmha_backend_config\":{\"intermediate_tensor_shape\":{\"element_"
             "type\":\"BF16\","
             "\"dimensions\":%s},\"mask_type\":\"%s\"}} }\n",
             target, dimensions, mask);
    count(counted, text, COUNT_REHEARSE);
}

static void fused_attention_multiplies_twice_and_five_times_for_its_gradients(void **state)
{
    static const struct {
        const char *target, *mask;
        double products, share;
    } cases[] = {
        {"__cudnn$fmhaSoftmax", "NO_MASK", 2, 1},
        {"__cudnn$fmhaSoftmax", "CAUSAL", 2, 0.5},
        {"__cudnn$fmhaSoftmaxF8", "PADDING_CAUSAL", 2, 0.5},
        {"__cudnn$fmhaScaleBiasSoftmaxBackward", "NO_MASK", 5, 1},
    };
    struct counted counted;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        count_fused_attention(&counted, cases[i].target, cases[i].mask, "[\"2\",\"3\",\"48\",\"32\"]");
        assert_true(counted.count.flops == 2 * cases[i].products * cases[i].share * 2 * 3 * 48 * 32 * 16);
        assert_true(counted.count.transcendentals == cases[i].share * 2 * 3 * 48 * 32);
        assert_int_equal(counted.count.unknown_count, 0);
        release(&counted);
    }
}

static void fused_attention_without_sizes_is_unknown(void **state)
{
    static const char *const dimensions[] = {"[]", "[\"2\",\"3\",\"48\"]", "[\"2\",\"3\",\"48\",\"0\"]",
                                             "[\"2\",\"3\",\"48\",\"32\",\"1\"]",
                                             "[\"2147483647\",\"2147483647\",\"48\",\"32\"]"};
    struct counted counted;
    (void)state;
    for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++) {
        count_fused_attention(&counted, "__cudnn$fmhaSoftmax", "CAUSAL", dimensions[i]);
        assert_int_equal(counted.count.unknown_count, 1);
        release(&counted);
    }
}

static void kernels_may_bring_their_own_estimate(void **state)
{
    struct counted counted;
    (void)state;
    count(&counted,
          "HloModule m\nENTRY e { a = f32[8] parameter(0)\n ROOT r = f32[8] custom-call(a),"
          " custom_call_target=\"triton_kernel_call_ffi\", backend_config=\"{cost_estimate_json = "
          "\\\"{\\\\\\\"flops\\\\\\\": 1000, \\\\\\\"bytes_accessed\\\\\\\": 64}\\\"}\" }\n",
          COUNT_REHEARSE);
    assert_true(counted.count.flops == 1000 && counted.count.bytes == 64);
    release(&counted);
}

static const char batch_norm[] =
    "HloModule m\nENTRY e { x = f32[16,4] parameter(0)\n s = f32[4] parameter(1)\n o = f32[4] parameter(2)\n"
    " ROOT r = (f32[16,4], f32[4], f32[4]) batch-norm-training(x, s, o), epsilon=0.001, feature_index=1 }\n";

static void batch_normalisation_computes(void **state)
{
    (void)state;
    assert_true(flops_of(batch_norm, COUNT_XLA) == 0);
    assert_true(flops_of(batch_norm, COUNT_REHEARSE) == 7 * 64 + 4 * 4);
}

static void calls_are_counted_once_however_often_they_are_made(void **state)
{
    struct text text = {0};
    struct counted counted;
    (void)state;
    text_add(&text, "HloModule m\nf0 { p = f32[] parameter(0)\n ROOT a = f32[] add(p, p) }\n");
    for (int i = 1; i <= 40; i++)
        text_format(&text,
                    "f%d { p = f32[] parameter(0)\n a = f32[] call(p), to_apply=f%d\n"
                    " ROOT b = f32[] call(a), to_apply=f%d }\n",
                    i, i - 1, i - 1);
    text_add(&text, "ENTRY e { p = f32[] parameter(0)\n ROOT c = f32[] call(p), to_apply=f40 }\n");
    count(&counted, text.data, COUNT_XLA);
    assert_true(counted.count.flops == ldexp(1, 40));
    const struct hlo_computation *f0 = computation_of(&counted.module, "f0");
    assert_true(counted.count.computations[f0->index][1].runs == ldexp(1, 40));
    release(&counted);
    text_release(&text);
}

static void counts_beyond_a_double_are_refused(void **state)
{
    struct text text = {0};
    struct counted counted;
    struct error err;
    (void)state;
    text_add(&text, "HloModule m\nf0 { p = f32[] parameter(0)\n ROOT a = f32[] add(p, p) }\n");
    for (int i = 1; i <= 1100; i++)
        text_format(&text,
                    "f%d { p = f32[] parameter(0)\n a = f32[] call(p), to_apply=f%d\n"
                    " ROOT b = f32[] call(a), to_apply=f%d }\n",
                    i, i - 1, i - 1);
    text_add(&text, "ENTRY e { p = f32[] parameter(0)\n ROOT c = f32[] call(p), to_apply=f1100 }\n");
    assert_false(try_count(&counted, text.data, COUNT_XLA, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    text_release(&text);
}

/* Positions of a window one by one, as XLA walks them. */
static int walked(int input, int kernel, int output, int stride, int low, int base, int dilation)
{
    int found = 0;
    for (int k = 0; k < kernel; k++)
        for (int o = 0; o < output; o++) {
            int at = o * stride - low + k * dilation;
            found += at >= 0 && at % base == 0 && at / base < input;
        }
    return found;
}

static void convolutions_count_what_meets_an_element(void **state)
{
    static const struct {
        int input, kernel, stride, low, high, base, dilation;
    } windows[] = {{7, 3, 1, 1, 1, 1, 1},  {9, 3, 2, 1, 1, 1, 1}, {9, 4, 3, 0, 2, 1, 2},
                   {5, 3, 1, 2, 2, 2, 1},  {5, 4, 2, 3, 1, 3, 1}, {6, 3, 4, 5, 5, 6, 4},
                   {8, 2, 1, -1, 0, 1, 1}, {4, 9, 1, 8, 8, 2, 1}, {3, 2, 6, 4, 9, 4, 6},
                   {10, 5, 3, 2, -1, 1, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        int input = windows[i].input, base = windows[i].base, low = windows[i].low, high = windows[i].high;
        int span = (windows[i].kernel - 1) * windows[i].dilation + 1;
        int output = ((input - 1) * base + 1 + low + high - span) / windows[i].stride + 1;
        char text[512];
        snprintf(text, sizeof text,
                 "HloModule m\nENTRY e { x = f32[2,3,%d] parameter(0)\n k = f32[5,3,%d] parameter(1)\n"
                 " ROOT c = f32[2,5,%d] convolution(x, k), window={size=%d stride=%d pad=%d_%d lhs_dilate=%d"
                 " rhs_dilate=%d}, dim_labels=bf0_oi0->bf0 }\n",
                 input, windows[i].kernel, output, windows[i].kernel, windows[i].stride, low, high, base,
                 windows[i].dilation);
        int met = walked(input, windows[i].kernel, output, windows[i].stride, low, base, windows[i].dilation);
        assert_true(flops_of(text, COUNT_XLA) == 2.0 * 2 * 3 * 5 * met);
    }
}

static void a_window_spread_over_everything_is_no_square(void **state)
{
    (void)state;
    /* one element at 2^30 places of a kernel as long */
    assert_true(flops_of("HloModule m\nENTRY e { x = f32[1,1,1] parameter(0)\n"
                         " k = f32[1,1,1073741824] parameter(1)\n"
                         " ROOT c = f32[1,1,1073741824] convolution(x, k), window={size=1073741824"
                         " pad=1073741823_1073741823}, dim_labels=bf0_oi0->bf0 }\n",
                         COUNT_XLA) == ldexp(1, 31));
}

static void fusions_touch_what_is_around_them(void **state)
{
    struct counted counted;
    (void)state;
    count(&counted,
          "HloModule m\nf { a = f32[100] parameter(0)\n b = f32[4] parameter(1)\n"
          " s = f32[4] slice(a), slice={[0:4]}\n t = f32[4] add(s, b)\n ROOT u = f32[4] multiply(t, b) }\n"
          "ENTRY e { a = f32[100] parameter(0)\n b = f32[4] parameter(1)\n"
          " ROOT r = f32[4] fusion(a, b), kind=kLoop, calls=f }\n",
          COUNT_REHEARSE);
    const struct instruction_count *fusion = &counted.count.computations[counted.module.entry->index][2];
    assert_true(fusion->operand_bytes[0] == 16); /* only the slice */
    assert_true(fusion->operand_bytes[1] == 16); /* once, though used twice */
    assert_true(fusion->output_bytes == 16 && fusion->bytes == 48 && fusion->flops == 8);
    release(&counted);
}

static void capabilities_without_a_profile_take_that_of_sm_86(void **state)
{
    (void)state;
    assert_string_equal(op_cycles_find("sm_90", false)->capability, "sm_90");
    assert_string_equal(op_cycles_find("sm_89", false)->capability, "sm_86");
    assert_string_equal(op_cycles_find("sm_100", false)->capability, "sm_100");
    assert_string_equal(op_cycles_find("sm_100", true)->capability, "sm_86");
    assert_int_equal(op_cycles_find("sm_90", false)->elementwise[HLO_DIVIDE][HLO_TYPE_F32], 19);
}

static void the_forks_rules_take_no_cycles_of_comparisons(void **state)
{
    static const char text[] = "HloModule m\nENTRY e { a = f32[8] parameter(0)\n"
                               " ROOT c = pred[8] compare(a, a), direction=LT }\n";
    (void)state;
    assert_true(flops_of(text, COUNT_XLA_GPU) == 24);
    assert_true(flops_of(text, COUNT_XLA_FORK) == 8);
}

static void a_conditional_costs_its_dearest_branch(void **state)
{
    (void)state;
    assert_true(flops_of("HloModule m\n"
                         "t { p = f32[8] parameter(0)\n ROOT a = f32[8] add(p, p) }\n"
                         "f { p = f32[8] parameter(0)\n a = f32[8] add(p, p)\n ROOT b = f32[8] add(a, p) }\n"
                         "ENTRY e { c = pred[] parameter(0)\n p = f32[8] parameter(1)\n"
                         " ROOT r = f32[8] conditional(c, p, p), true_computation=t, false_computation=f }\n",
                         COUNT_XLA) == 16);
}

static void collectives_tell_what_goes_over_the_wire(void **state)
{
    struct counted counted;
    (void)state;
    count(&counted,
          "HloModule m, num_partitions=4\nENTRY e { p = f32[1024] parameter(0)\n"
          " ROOT g = f32[4096] all-gather(p), dimensions={0}, replica_groups={{0,1,2,3}} }\n",
          COUNT_REHEARSE);
    assert_true(counted.count.computations[counted.module.entry->index][1].transferred == 16384);
    release(&counted);
}

/* HLO text gives it a tuple or, as StableHLO does, each array as an operand. */
static void an_outfeed_takes_any_number_of_arrays(void **state)
{
    static const char arrays[] = "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = s32[8] parameter(1)\n"
                                 " t = token[] after-all()\n ROOT o = token[] outfeed(a, b, t) }\n";
    struct counted counted;
    struct error err;
    (void)state;
    count(&counted, arrays, COUNT_XLA);
    assert_true(counted.count.bytes == 4 * 4 + 8 * 4);
    release(&counted);
    assert_false(
        hlo_parse_text(&counted.module, "test.hlo", "ENTRY e { ROOT o = token[] outfeed() }\n", 39, &err));
    assert_non_null(strstr(err.text, "'o' (outfeed): expected 1 operand or more, found 0"));
}

static void custom_calls_of_users_come_first(void **state)
{
    (void)state;
    static const char text[] =
        "custom_calls:\n"
        "- {targets: [\"mine.*\", Eigh], rule: elements, flops: 3, transcendentals: 2}\n"
        "- {targets: [other], rule: factorization, terms: [1, 0, 0], steps: 4}\n";
    struct custom_calls calls;
    struct error err = {0};
    if (!custom_calls_parse(&calls, "c.yaml", text, sizeof text - 1, &err))
        fail_msg("%s", err.text);
    assert_int_equal(custom_call_find(&calls, "mine.blend")->rule, CUSTOM_CALL_ELEMENTS);
    assert_int_equal(custom_call_find(&calls, "Eigh")->rule, CUSTOM_CALL_ELEMENTS);
    assert_int_equal(custom_call_find(NULL, "Eigh")->rule, CUSTOM_CALL_FACTORIZATION);
    assert_true(custom_call_find(&calls, "other")->steps == 4.0);
    assert_true(custom_call_is_rough(custom_call_find(&calls, "other")));
    assert_false(custom_call_is_rough(custom_call_find(&calls, "mine.blend")));
    assert_null(custom_call_find(NULL, "mine.blend"));
    custom_calls_release(&calls);
}

static void files_of_custom_calls_are_strict(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"calls: []\n", "unknown key"},
        {"custom_calls: []\n", "expected at least one custom call"},
        {"format: rehearse-links/1\ncustom_calls: []\n", "format"},
        {"custom_calls:\n- {targets: [], rule: free}\n", "expected at least one target"},
        {"custom_calls:\n- {targets: [a], rule: some}\n",
         "c.yaml:2:24: custom_calls[0].rule: expected free, "},
        {"custom_calls:\n- {targets: [a], rule: free, flops: 1}\n", "flops: unknown key"},
        {"custom_calls:\n- {targets: [a], rule: elements, flops: -1}\n", "flops"},
        {"custom_calls:\n- {targets: [a], rule: factorization}\n", "terms"},
        {"custom_calls:\n- {targets: [a], rule: factorization, terms: [1, 2]}\n", "expected three numbers"},
        {"custom_calls:\n- {targets: [a], rule: factorization, terms: [1, 2, 3, 4]}\n",
         "expected three numbers"},
        {"custom_calls:\n- free\n", "custom_calls[0]"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct custom_calls calls;
        struct error err = {0};
        assert_false(custom_calls_parse(&calls, "c.yaml", texts[i][0], strlen(texts[i][0]), &err));
        if (!strstr(err.text, texts[i][1]))
            assert_string_equal(err.text, texts[i][1]);
        assert_null(calls.arena.last);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(custom_calls_of_users_come_first),
        cmocka_unit_test(files_of_custom_calls_are_strict),
        cmocka_unit_test(loops_are_multiplied),
        cmocka_unit_test(instructions_know_how_often_they_run),
        cmocka_unit_test(a_loop_without_end_counts_once_and_is_reported),
        cmocka_unit_test(unknown_custom_calls_are_named_once_and_not_summed),
        cmocka_unit_test(factorizations_take_their_textbook_counts),
        cmocka_unit_test(known_custom_calls_count_by_the_table),
        cmocka_unit_test(annotations_touch_no_memory),
        cmocka_unit_test(library_gemms_multiply_and_write_their_first_output),
        cmocka_unit_test(fused_attention_multiplies_twice_and_five_times_for_its_gradients),
        cmocka_unit_test(fused_attention_without_sizes_is_unknown),
        cmocka_unit_test(kernels_may_bring_their_own_estimate),
        cmocka_unit_test(batch_normalisation_computes),
        cmocka_unit_test(calls_are_counted_once_however_often_they_are_made),
        cmocka_unit_test(counts_beyond_a_double_are_refused),
        cmocka_unit_test(convolutions_count_what_meets_an_element),
        cmocka_unit_test(a_window_spread_over_everything_is_no_square),
        cmocka_unit_test(fusions_touch_what_is_around_them),
        cmocka_unit_test(capabilities_without_a_profile_take_that_of_sm_86),
        cmocka_unit_test(the_forks_rules_take_no_cycles_of_comparisons),
        cmocka_unit_test(a_conditional_costs_its_dearest_branch),
        cmocka_unit_test(collectives_tell_what_goes_over_the_wire),
        cmocka_unit_test(an_outfeed_takes_any_number_of_arrays),
    };
    return cmocka_run_group_tests_name("count_rules", tests, NULL, NULL);
}
