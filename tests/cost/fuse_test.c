/* Fusion: which instructions run as one kernel, and what kernels read and write. */
#include "core/doc.h"
#include "core/text.h"
#include "cost/derive/fuse.h"
#include "cost/derive/op.h"
#include "support/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A module and the kernels it became. */
struct fusion {
    struct hlo_module module;
    struct module_count counts;
    struct arena arena;
    struct op_graph graph;
    struct fused fused;
    int attentions;
};

static bool fuse_loaded(struct fusion *f, bool unfused, enum attention_kind attention, struct error *err)
{
    struct count_options rules = {.rules = COUNT_REHEARSE};
    if (!module_count(&f->counts, &f->module, &rules, err) ||
        !op_graph_flatten(&f->graph, &f->arena, f->module.entry, &f->counts, true, err))
        return false;
    if (attention != ATTENTION_UNFUSED)
        f->attentions = attention_rewrite(&f->graph);
    struct fuse_options options = {.counts = &f->counts, .unfused = unfused, .attention = attention};
    return fuse_graph(&f->fused, &f->arena, &f->graph, &options, err);
}

static void release(struct fusion *f)
{
    arena_release(&f->arena);
    module_count_release(&f->counts);
    hlo_release(&f->module);
}

static void fuse_with(struct fusion *f, const char *text, bool unfused, enum attention_kind attention)
{
    struct error err = {0};
    memset(f, 0, sizeof *f);
    if (!hlo_parse_text(&f->module, "test.hlo", text, strlen(text), &err) ||
        !fuse_loaded(f, unfused, attention, &err))
        fail_msg("%s", err.text);
}

static void fuse(struct fusion *f, const char *text)
{
    fuse_with(f, text, false, ATTENTION_UNFUSED);
}

#define FUNCTIONS                                                                                            \
    "HloModule m\n"                                                                                          \
    "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"                   \
    "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] maximum(a, b) }\n"

#define SOFTMAX                                                                                              \
    "  zero = f32[] constant(0)\n  least = f32[] constant(-inf)\n"                                           \
    "  most = f32[64] reduce(x, least), dimensions={1}, to_apply=max\n"                                      \
    "  wide = f32[64,128] broadcast(most), dimensions={0}\n"                                                 \
    "  shifted = f32[64,128] subtract(x, wide)\n"                                                            \
    "  power = f32[64,128] exponential(shifted)\n"                                                           \
    "  total = f32[64] reduce(power, zero), dimensions={1}, to_apply=sum\n"                                  \
    "  totals = f32[64,128] broadcast(total), dimensions={0}\n"

static void test_softmax_is_one_kernel(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, FUNCTIONS "ENTRY e {\n  x = f32[64,128] parameter(0)\n" SOFTMAX
                       "  ROOT y = f32[64,128] divide(power, totals)\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_string_equal(f.fused.kernels[0].kernel.name, "softmax");
    assert_float_equal(f.fused.kernels[0].kernel.bytes, 2 * 64 * 128 * 4, 0);
    release(&f);
}

static void test_layer_norm_reads_its_input_once(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, FUNCTIONS "ENTRY e {\n"
                       "  x = f32[64,128] parameter(0)\n  g = f32[128] parameter(1)\n"
                       "  zero = f32[] constant(0)\n  width = f32[] constant(128)\n"
                       "  widths = f32[64] broadcast(width), dimensions={}\n"
                       "  s = f32[64] reduce(x, zero), dimensions={1}, to_apply=sum\n"
                       "  mean = f32[64] divide(s, widths)\n"
                       "  means = f32[64,128] broadcast(mean), dimensions={0}\n"
                       "  c = f32[64,128] subtract(x, means)\n  cc = f32[64,128] multiply(c, c)\n"
                       "  v = f32[64] reduce(cc, zero), dimensions={1}, to_apply=sum\n"
                       "  r = f32[64] rsqrt(v)\n  rs = f32[64,128] broadcast(r), dimensions={0}\n"
                       "  n = f32[64,128] multiply(c, rs)\n"
                       "  gs = f32[64,128] broadcast(g), dimensions={1}\n"
                       "  ROOT y = f32[64,128] multiply(n, gs)\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_string_equal(f.fused.kernels[0].kernel.name, "norm");
    assert_float_equal(f.fused.kernels[0].kernel.bytes, (2 * 64 * 128 + 128) * 4, 0);
    release(&f);
}

static void test_product_takes_its_epilogue(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nENTRY e {\n"
             "  x = bf16[64,32] parameter(0)\n  w = bf16[48,32] parameter(1)\n  b = bf16[48] parameter(2)\n"
             "  t = bf16[32,48] transpose(w), dimensions={1,0}\n"
             "  d = bf16[64,48] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
             "  bs = bf16[64,48] broadcast(b), dimensions={1}\n  a = bf16[64,48] add(d, bs)\n"
             "  ROOT y = bf16[64,48] tanh(a)\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    const struct kernel *kernel = &f.fused.kernels[0].kernel;
    assert_int_equal(kernel->kind, KERNEL_GEMM);
    assert_int_equal(kernel->type, COST_BF16);
    assert_int_equal(kernel->size.batch, 1);
    assert_int_equal(kernel->size.m, 64);
    assert_int_equal(kernel->size.n, 48);
    assert_int_equal(kernel->size.k, 32);
    assert_float_equal(kernel->bytes, 2 * (64 * 32 + 48 * 32 + 48 + 64 * 48), 0);
    assert_int_equal(f.fused.kernels[0].count, 3);
    release(&f);
}

static void test_batched_product_has_its_sizes(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nENTRY e {\n"
             "  x = f16[2,3,5,7] parameter(0)\n  w = f16[2,3,7,11] parameter(1)\n"
             "  ROOT d = f16[2,3,5,11] dot(x, w), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, "
             "lhs_contracting_dims={3}, rhs_contracting_dims={2}\n}\n");
    const struct kernel *kernel = &f.fused.kernels[0].kernel;
    assert_int_equal(kernel->type, COST_FP16);
    assert_int_equal(kernel->size.batch, 6);
    assert_int_equal(kernel->size.m, 5);
    assert_int_equal(kernel->size.n, 11);
    assert_int_equal(kernel->size.k, 7);
    assert_true(kernel->inner);
    release(&f);
}

static void test_convolution_is_an_implicit_product(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f,
         "HloModule m\nENTRY e {\n"
         "  x = f32[4,8,10,10] parameter(0)\n  w = f32[16,8,3,3] parameter(1)\n"
         "  ROOT c = f32[4,16,8,8] convolution(x, w), window={size=3x3}, dim_labels=bf01_oi01->bf01\n}\n");
    const struct kernel *kernel = &f.fused.kernels[0].kernel;
    assert_string_equal(kernel->name, "convolution");
    assert_int_equal(kernel->size.batch, 1);
    assert_int_equal(kernel->size.m, 4 * 8 * 8);
    assert_int_equal(kernel->size.n, 16);
    assert_int_equal(kernel->size.k, 8 * 9);
    release(&f);
}

static void test_transpose_that_is_a_result_is_a_copy(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nENTRY e {\n  x = f32[64,32] parameter(0)\n"
             "  ROOT t = f32[32,64] transpose(x), dimensions={1,0}\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_float_equal(f.fused.kernels[0].kernel.bytes, 2 * 64 * 32 * 4, 0);
    release(&f);
}

static void test_reshape_that_is_a_result_is_nothing(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nENTRY e {\n  x = f32[64,32] parameter(0)\n  ROOT t = f32[2048] reshape(x)\n}\n");
    assert_int_equal(f.fused.kernel_count, 0);
    release(&f);
}

/* What stands between two halves of a chain keeps them apart: one kernel could not run before and after it. */
static void test_joined_kernels_make_no_cycle(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\n"
             "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = pred[] compare(a, b), "
             "direction=LT }\n"
             "ENTRY e {\n  x = f32[64] parameter(0)\n  p = f32[64] exponential(x)\n"
             "  s = f32[64] sort(p), dimensions={0}, to_apply=less\n  ROOT y = f32[64] add(p, s)\n}\n");
    assert_int_equal(f.fused.kernel_count, 3);
    assert_string_equal(f.fused.kernels[1].kernel.name, "sort");
    release(&f);
}

static void test_sum_across_rows_ends_a_kernel(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, FUNCTIONS "ENTRY e {\n  x = f32[4096,128] parameter(0)\n  zero = f32[] constant(0)\n"
                       "  s = f32[128] reduce(x, zero), dimensions={0}, to_apply=sum\n"
                       "  h = f32[128] sqrt(s)\n"
                       "  w = f32[4096,128] broadcast(h), dimensions={1}\n"
                       "  ROOT y = f32[4096,128] subtract(x, w)\n}\n");
    assert_int_equal(f.fused.kernel_count, 2);
    assert_float_equal(f.fused.kernels[0].kernel.bytes, (4096 * 128 + 128) * 4, 0);
    release(&f);
}

static void test_two_sums_read_their_input_once(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, FUNCTIONS "ENTRY e {\n  x = f32[4096,128] parameter(0)\n  zero = f32[] constant(0)\n"
                       "  s = f32[128] reduce(x, zero), dimensions={0}, to_apply=sum\n"
                       "  xx = f32[4096,128] multiply(x, x)\n"
                       "  q = f32[128] reduce(xx, zero), dimensions={0}, to_apply=sum\n"
                       "  ROOT t = (f32[128], f32[128]) tuple(s, q)\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_float_equal(f.fused.kernels[0].kernel.bytes, (4096 * 128 + 2 * 128) * 4, 0);
    release(&f);
}

static void test_parts_are_read_as_parts(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nENTRY e {\n  x = f32[3000] parameter(0)\n"
             "  a = f32[1000] slice(x), slice={[0:1000]}\n  b = f32[1000] slice(x), slice={[1000:2000]}\n"
             "  ROOT y = f32[1000] add(a, b)\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_float_equal(f.fused.kernels[0].kernel.bytes, 3 * 1000 * 4, 0);
    release(&f);
}

static void test_constants_are_read_from_nowhere(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nENTRY e {\n  x = f32[64,64] parameter(0)\n"
             "  r = s32[64,64] iota(), iota_dimension=0\n  c = s32[64,64] iota(), iota_dimension=1\n"
             "  m = pred[64,64] compare(r, c), direction=GE\n  z = f32[] constant(0)\n"
             "  zs = f32[64,64] broadcast(z), dimensions={}\n"
             "  ROOT y = f32[64,64] select(m, x, zs)\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_float_equal(f.fused.kernels[0].kernel.bytes, 2 * 64 * 64 * 4, 0);
    release(&f);
}

static void test_calls_are_inlined(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nact { a = f32[64] parameter(0)\n ROOT t = f32[64] tanh(a) }\n"
             "ENTRY e {\n  x = f32[64] parameter(0)\n  n = f32[64] negate(x)\n"
             "  c = f32[64] call(n), to_apply=act\n  ROOT y = f32[64] abs(c)\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_int_equal(f.fused.kernels[0].count, 3);
    release(&f);
}

#define LOOP                                                                                                 \
    "HloModule m\n"                                                                                          \
    "body { p = (s32[], f32[1024]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"                 \
    " x = f32[1024] get-tuple-element(p), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"       \
    " y = f32[1024] tanh(x)\n ROOT t = (s32[], f32[1024]) tuple(j, y) }\n"                                   \
    "test { p = (s32[], f32[1024]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"                 \
    " n = s32[] constant(5)\n ROOT c = pred[] compare(i, n), direction=LT }\n"

static void test_loops_repeat_their_kernels(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, LOOP "ENTRY e {\n  x = f32[1024] parameter(0)\n  z = s32[] constant(0)\n"
                  "  t = (s32[], f32[1024]) tuple(z, x)\n"
                  "  w = (s32[], f32[1024]) while(t), condition=test, body=body\n"
                  "  ROOT y = f32[1024] get-tuple-element(w), index=1\n}\n");
    double repeats = 0;
    for (int i = 0; i < f.fused.kernel_count; i++)
        if (strcmp(f.fused.kernels[i].kernel.name, "tanh") == 0)
            repeats = f.fused.kernels[i].kernel.repeats;
    assert_float_equal(repeats, 5, 0);
    release(&f);
}

static void test_costliest_branch_counts(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nsmall { a = f32[64,64] parameter(0)\n ROOT n = f32[64,64] negate(a) }\n"
             "large { a = f32[64,64] parameter(0)\n ROOT d = f32[64,64] dot(a, a), "
             "lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"
             "ENTRY e {\n  p = pred[] parameter(0)\n  x = f32[64,64] parameter(1)\n"
             "  ROOT y = f32[64,64] conditional(p, x, x), true_computation=small, "
             "false_computation=large\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_int_equal(f.fused.kernels[0].kernel.kind, KERNEL_GEMM);
    release(&f);
}

static void test_unknown_custom_call_is_reported(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nENTRY e {\n  x = f32[64] parameter(0)\n"
             "  s = f32[64] custom-call(x), custom_call_target=\"Sharding\"\n"
             "  a = f32[64] custom-call(s), custom_call_target=\"nobody.knows\"\n"
             "  ROOT b = f32[64] custom-call(a), custom_call_target=\"nobody.knows\"\n}\n");
    assert_int_equal(f.fused.kernel_count, 0);
    assert_int_equal(f.fused.unknown_count, 1);
    assert_string_equal(f.fused.unknown[0], "nobody.knows");
    release(&f);
}

static void test_known_custom_call_is_written_out(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nENTRY e {\n  x = f32[64,128] parameter(0)\n  n = f32[64,128] negate(x)\n"
             "  ROOT s = f32[64,128] custom-call(n), custom_call_target=\"byteir.softmax\"\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_int_equal(f.fused.unknown_count, 0);
    assert_float_equal(f.fused.kernels[0].kernel.bytes, 2 * 64 * 128 * 4, 0);
    release(&f);
}

static void test_fusions_of_the_module_stay(void **state)
{
    (void)state;
    struct fusion f;
    fuse(
        &f,
        "HloModule m\nfused { a = f32[64] parameter(0)\n n = f32[64] negate(a)\n ROOT t = f32[64] tanh(n) }\n"
        "ENTRY e {\n  x = f32[64] parameter(0)\n"
        "  f = f32[64] fusion(x), kind=kLoop, calls=fused\n  ROOT y = f32[64] abs(f)\n}\n");
    assert_int_equal(f.fused.kernel_count, 2);
    assert_float_equal(f.fused.kernels[0].kernel.bytes, 2 * 64 * 4, 0);
    release(&f);
}

static void test_collectives_are_no_kernels(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, FUNCTIONS "ENTRY e {\n  x = f32[64] parameter(0)\n  n = f32[64] negate(x)\n"
                       "  ROOT r = f32[64] all-reduce(n), replica_groups={{0,1,2,3}}, to_apply=sum\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_int_equal(f.fused.transfer_count, 1);
    assert_float_equal(f.fused.transfers[0].bytes, 64 * 4, 0);
    assert_int_equal(f.fused.transfers[0].group, 4);
    release(&f);
}

/* ---- attention ---- */

#define SCORES                                                                                               \
    "  q = f32[2,64,32] parameter(0)\n  k = f32[2,64,32] parameter(1)\n  v = f32[2,64,32] parameter(2)\n"    \
    "  d = f32[2,64,64] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "       \
    "rhs_contracting_dims={2}\n"

#define WEIGHTS                                                                                              \
    "  zero = f32[] constant(0)\n  least = f32[] constant(-inf)\n"                                           \
    "  most = f32[2,64] reduce(x, least), dimensions={2}, to_apply=max\n"                                    \
    "  wide = f32[2,64,64] broadcast(most), dimensions={0,1}\n"                                              \
    "  shifted = f32[2,64,64] subtract(x, wide)\n  power = f32[2,64,64] exponential(shifted)\n"              \
    "  total = f32[2,64] reduce(power, zero), dimensions={2}, to_apply=sum\n"                                \
    "  totals = f32[2,64,64] broadcast(total), dimensions={0,1}\n"                                           \
    "  w = f32[2,64,64] divide(power, totals)\n"

#define CONTEXT                                                                                              \
    "dot(w, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "                          \
    "rhs_contracting_dims={1}\n"

#define CAUSAL                                                                                               \
    "  r = s32[64,64] iota(), iota_dimension=0\n  c = s32[64,64] iota(), iota_dimension=1\n"                 \
    "  m = pred[64,64] compare(r, c), direction=GE\n"                                                        \
    "  ms = pred[2,64,64] broadcast(m), dimensions={1,2}\n  inf = f32[] constant(-inf)\n"                    \
    "  infs = f32[2,64,64] broadcast(inf), dimensions={}\n  x = f32[2,64,64] select(ms, d, infs)\n"

static void test_attention_can_be_one_kernel(void **state)
{
    (void)state;
    struct fusion f;
    const char *text = FUNCTIONS "ENTRY e {\n" SCORES "  x = f32[2,64,64] negate(d)\n" WEIGHTS
                                 "  ROOT o = f32[2,64,32] " CONTEXT "}\n";
    fuse_with(&f, text, false, ATTENTION_FLASH3);
    assert_int_equal(f.attentions, 1);
    assert_int_equal(f.fused.kernel_count, 1);
    const struct kernel *kernel = &f.fused.kernels[0].kernel;
    assert_int_equal(kernel->kind, KERNEL_ATTENTION);
    assert_int_equal(kernel->attention, ATTENTION_FLASH3);
    assert_int_equal(kernel->size.batch, 2);
    assert_int_equal(kernel->size.m, 64);
    assert_int_equal(kernel->size.n, 64);
    assert_int_equal(kernel->size.k, 32);
    assert_false(kernel->causal);
    release(&f);
    fuse(&f, text);
    assert_int_equal(f.fused.kernel_count, 3);
    release(&f);
}

static void test_a_product_widens_its_weights_and_their_scales(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nENTRY e {\n  x = bf16[16,512] parameter(0)\n  w = s8[512,512] parameter(1)\n"
             "  s = bf16[512] parameter(2)\n  c = bf16[512,512] convert(w)\n"
             "  b = bf16[512,512] broadcast(s), dimensions={1}\n  m = bf16[512,512] multiply(c, b)\n"
             "  d = bf16[16,512] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
             "  ROOT t = bf16[16,512] tanh(d)\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_true(f.fused.kernels[0].kernel.narrow);
    assert_float_equal(f.fused.kernels[0].kernel.bytes, 16 * 512 * 2 * 2 + 512 * 512 + 512 * 2, 0);
    release(&f);
}

static void test_causal_mask_is_seen(void **state)
{
    (void)state;
    struct fusion f;
    fuse_with(&f, FUNCTIONS "ENTRY e {\n" SCORES CAUSAL WEIGHTS "  ROOT o = f32[2,64,32] " CONTEXT "}\n",
              false, ATTENTION_FLASH2);
    assert_int_equal(f.attentions, 1);
    assert_true(f.fused.kernels[0].kernel.causal);
    release(&f);
}

static void test_attention_whose_weights_are_a_result_stays(void **state)
{
    (void)state;
    struct fusion f;
    fuse_with(&f,
              FUNCTIONS "ENTRY e {\n" SCORES "  x = f32[2,64,64] negate(d)\n" WEIGHTS
                        "  o = f32[2,64,32] " CONTEXT
                        "  ROOT t = (f32[2,64,32], f32[2,64,64]) tuple(o, w)\n}\n",
              false, ATTENTION_FLASH2);
    assert_int_equal(f.attentions, 0);
    release(&f);
}

static void test_two_products_without_softmax_are_no_attention(void **state)
{
    (void)state;
    struct fusion f;
    fuse_with(&f,
              FUNCTIONS "ENTRY e {\n" SCORES "  w = f32[2,64,64] tanh(d)\n  ROOT o = f32[2,64,32] " CONTEXT
                        "}\n",
              false, ATTENTION_FLASH2);
    assert_int_equal(f.attentions, 0);
    release(&f);
}

/* ---- the corpus ---- */

static bool load(struct fusion *f, const char *file, bool unfused)
{
    struct error err = {0};
    memset(f, 0, sizeof *f);
    char *path = reference_path(file);
    bool loaded = path && hlo_load(&f->module, path, &err);
    free(path);
    if (!loaded)
        return false;
    if (fuse_loaded(f, unfused, ATTENTION_UNFUSED, &err))
        return true;
    release(f);
    return false;
}

/* One encoder layer, hidden 768, 12 heads, middle 3072: 2T(4H^2 + 2HI) + 4BS^2H operations in products. */
static void check_bert(const char *file, double batch, double sequence)
{
    struct fusion f;
    assert_true(load(&f, file, false));
    double tokens = batch * sequence, h = 768, i = 3072;
    assert_float_equal(fused_product_flops(&f.fused),
                       2 * tokens * (4 * h * h + 2 * h * i) + 4 * batch * sequence * sequence * h, 0);
    assert_in_range(f.fused.kernel_count, 8, 25);
    assert_true(fused_bytes(&f.fused) * 4 < f.counts.bytes);
    release(&f);
}

static void test_bert_layer_is_few_kernels(void **state)
{
    (void)state;
    char *path = reference_path("cost/authored");
    if (!path)
        skip();
    free(path);
    check_bert("cost/authored/bert_base_layer_b1_s512_f32_erf.hlo", 1, 512);
    check_bert("cost/authored/bert_base_layer_b1_s512_f32_poly.hlo", 1, 512);
    check_bert("cost/authored/bert_base_layer_b1_s512_bf16_erf.hlo", 1, 512);
    check_bert("cost/authored/bert_base_layer_b8_s128_f32_erf.hlo", 8, 128);
    check_bert("cost/authored/bert_base_layer_b32_s128_bf16_erf.hlo", 32, 128);
}

static void check_no_more(const char *file)
{
    struct fusion fused, unfused;
    char *relative = NULL;
    assert_true(asprintf(&relative, "cost/%s", file) > 0);
    if (load(&fused, relative, false)) {
        assert_true(load(&unfused, relative, true));
        double max = fused_bytes(&unfused.fused);
        if (fused_bytes(&fused.fused) > max * (1 + 1e-9))
            fail_msg("%s: %g bytes fused, %g unfused", file, fused_bytes(&fused.fused), max);
        assert_true(fused.fused.kernel_count <= unfused.fused.kernel_count);
        assert_float_equal(fused_product_flops(&fused.fused), fused_product_flops(&unfused.fused), 0);
        release(&fused);
        release(&unfused);
    }
    free(relative);
}

static void test_fusion_never_moves_more(void **state)
{
    (void)state;
    char *path = reference_path("cost/index.json");
    if (!path)
        skip();
    struct doc doc;
    struct error err;
    assert_true(doc_load(&doc, path, &err));
    const struct doc_node *entries = doc.root->type == DOC_LIST ? doc.root : doc.root->first_child;
    while (entries && entries->type != DOC_LIST)
        entries = entries->next;
    assert_non_null(entries);
    int count = 0;
    for (const struct doc_node *entry = entries->first_child; entry; entry = entry->next) {
        const struct doc_node *file = doc_find(entry, "file");
        if (!file || (!strstr(file->text, ".hlo") && !strstr(file->text, ".mlir")))
            continue;
        check_no_more(file->text);
        count++;
    }
    assert_true(count > 500);
    doc_release(&doc);
    free(path);
}

static void steps_of_a_factorization_wait_for_one_another(void **state)
{
    (void)state;
    struct fusion f;
    fuse(&f, "HloModule m\nENTRY e {\n  x = f32[8,64,32] parameter(0)\n"
             "  ROOT y = f32[8,64,32] custom-call(x), custom_call_target=\"cusolver_geqrf_ffi\"\n}\n");
    assert_int_equal(f.fused.kernel_count, 1);
    assert_true(f.fused.kernels[0].kernel.rough);
    assert_true(f.fused.kernels[0].kernel.steps == 32.0);
    release(&f);
    fuse(&f, "HloModule m\nENTRY e {\n  x = f32[64,64] parameter(0)\n  ROOT y = f32[64,64] cholesky(x), "
             "lower=true\n}\n");
    assert_true(f.fused.kernels[0].kernel.rough);
    assert_true(f.fused.kernels[0].kernel.steps == 16.0);
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_a_factorization_wait_for_one_another),
        cmocka_unit_test(test_softmax_is_one_kernel),
        cmocka_unit_test(test_layer_norm_reads_its_input_once),
        cmocka_unit_test(test_product_takes_its_epilogue),
        cmocka_unit_test(test_batched_product_has_its_sizes),
        cmocka_unit_test(test_convolution_is_an_implicit_product),
        cmocka_unit_test(test_transpose_that_is_a_result_is_a_copy),
        cmocka_unit_test(test_reshape_that_is_a_result_is_nothing),
        cmocka_unit_test(test_joined_kernels_make_no_cycle),
        cmocka_unit_test(test_sum_across_rows_ends_a_kernel),
        cmocka_unit_test(test_two_sums_read_their_input_once),
        cmocka_unit_test(test_parts_are_read_as_parts),
        cmocka_unit_test(test_constants_are_read_from_nowhere),
        cmocka_unit_test(test_calls_are_inlined),
        cmocka_unit_test(test_loops_repeat_their_kernels),
        cmocka_unit_test(test_costliest_branch_counts),
        cmocka_unit_test(test_unknown_custom_call_is_reported),
        cmocka_unit_test(test_known_custom_call_is_written_out),
        cmocka_unit_test(test_fusions_of_the_module_stay),
        cmocka_unit_test(test_collectives_are_no_kernels),
        cmocka_unit_test(test_attention_can_be_one_kernel),
        cmocka_unit_test(test_a_product_widens_its_weights_and_their_scales),
        cmocka_unit_test(test_causal_mask_is_seen),
        cmocka_unit_test(test_attention_whose_weights_are_a_result_stays),
        cmocka_unit_test(test_two_products_without_softmax_are_no_attention),
        cmocka_unit_test(test_bert_layer_is_few_kernels),
        cmocka_unit_test(test_fusion_never_moves_more),
    };
    return cmocka_run_group_tests_name("fuse", tests, NULL, NULL);
}
