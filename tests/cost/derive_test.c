/* The backward pass: which products, sums and moves it has, and what it keeps of the forward pass. */
#include "cost/derive/cut.h"
#include "cost/derive/derive.h"
#include "cost/derive/fuse.h"
#include "cost/derive/op.h"
#include "support/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct backward {
    struct hlo_module module;
    struct module_count counts;
    struct arena arena;
    struct op_graph graph;
    enum argument_kind *arguments;
    struct derived derived;
    struct fused forward, fused;
};

static void derive_loaded(struct backward *b, struct derive_options options, enum attention_kind attention)
{
    struct error err = {0};
    struct count_options rules = {.rules = COUNT_REHEARSE};
    bool made = module_count(&b->counts, &b->module, &rules, &err) &&
                op_graph_flatten(&b->graph, &b->arena, b->module.entry, &b->counts, false, &err);
    if (made && attention != ATTENTION_UNFUSED)
        attention_rewrite(&b->graph);
    made = made && derive_arguments(&b->graph, &b->arena, &b->arguments, &err);
    options.arguments = b->arguments;
    made = made && derive_backward(&b->derived, &b->arena, &b->graph, &options, &err);
    struct fuse_options forward = {.counts = &b->counts, .kept = b->derived.kept, .attention = attention};
    struct fuse_options backward = {.counts = &b->counts, .first = b->derived.first, .attention = attention};
    made = made && fuse_graph(&b->forward, &b->arena, &b->graph, &forward, &err) &&
           fuse_graph(&b->fused, &b->arena, &b->derived.graph, &backward, &err);
    if (!made)
        fail_msg("%s", err.text);
}

static void derive_with(struct backward *b, const char *text, struct derive_options options,
                        enum attention_kind attention)
{
    struct error err = {0};
    memset(b, 0, sizeof *b);
    if (!hlo_parse_text(&b->module, "test.hlo", text, strlen(text), &err))
        fail_msg("%s", err.text);
    derive_loaded(b, options, attention);
}

static void derive(struct backward *b, const char *text)
{
    derive_with(b, text, (struct derive_options){0}, ATTENTION_UNFUSED);
}

static void release(struct backward *b)
{
    arena_release(&b->arena);
    module_count_release(&b->counts);
    hlo_release(&b->module);
}

/* How many instructions of this kind the backward pass has. */
static int count(const struct backward *b, enum hlo_opcode opcode)
{
    int found = 0;
    for (int i = b->derived.first; i < b->derived.graph.count; i++)
        found += b->derived.graph.at[i]->opcode == opcode;
    return found;
}

static bool is_kept(const struct backward *b, const char *name)
{
    for (int i = 0; i < b->derived.first; i++)
        if (strcmp(b->graph.at[i]->name, name) == 0)
            return b->derived.kept[i];
    return false;
}

#define FUNCTIONS                                                                                            \
    "HloModule m\n"                                                                                          \
    "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"                   \
    "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] maximum(a, b) }\n"

#define LINEAR                                                                                               \
    "HloModule m\nENTRY e {\n  x = f32[64,32] parameter(0)\n  w = f32[32,48] parameter(1)\n"                 \
    "  b = f32[48] parameter(2)\n"                                                                           \
    "  d = f32[64,48] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"                       \
    "  bs = f32[64,48] broadcast(b), dimensions={1}\n  ROOT y = f32[64,48] add(d, bs)\n}\n"

static void check_product(const struct backward *b, int64_t m, int64_t n, int64_t k)
{
    for (int i = 0; i < b->fused.kernel_count; i++) {
        const struct kernel *kernel = &b->fused.kernels[i].kernel;
        if (kernel->kind == KERNEL_GEMM && kernel->size.m == m && kernel->size.n == n && kernel->size.k == k)
            return;
    }
    fail_msg("no product %d x %d x %d", (int)m, (int)n, (int)k);
}

static void test_product_has_two_gradients(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, LINEAR);
    assert_int_equal(count(&b, HLO_DOT), 2);
    check_product(&b, 64, 32, 48); /* of x: dy w^T */
    check_product(&b, 32, 48, 64); /* of w: x^T dy */
    assert_float_equal(fused_product_flops(&b.fused), 2 * fused_product_flops(&b.forward), 0);
    assert_true(is_kept(&b, "x"));
    assert_false(is_kept(&b, "w"));
    assert_int_equal(b.derived.kept_bytes, 64 * 32 * 4);
    release(&b);
}

static void test_first_layer_has_no_gradient_of_its_input(void **state)
{
    (void)state;
    struct backward b;
    derive_with(&b, LINEAR, (struct derive_options){.no_input_gradients = true}, ATTENTION_UNFUSED);
    assert_int_equal(count(&b, HLO_DOT), 1);
    check_product(&b, 32, 48, 64);
    release(&b);
}

static void test_bias_has_the_sum(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, LINEAR);
    assert_int_equal(count(&b, HLO_REDUCE), 1);
    assert_int_equal(b.derived.graph.root_count, 3);
    release(&b);
}

static void test_batched_gradients_have_their_operands_shapes(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, "HloModule m\nENTRY e {\n  x = f32[7,2,5] parameter(0)\n  w = f32[2,3,11,7] parameter(1)\n"
               "  ROOT d = f32[2,5,3,11] dot(x, w), lhs_batch_dims={1}, rhs_batch_dims={0}, "
               "lhs_contracting_dims={0}, rhs_contracting_dims={3}\n}\n");
    assert_int_equal(b.derived.graph.root_count, 2);
    assert_true(hlo_shape_equal(b.derived.graph.roots[0]->shape, b.graph.parameters[0]->shape));
    assert_true(hlo_shape_equal(b.derived.graph.roots[1]->shape, b.graph.parameters[1]->shape));
    assert_float_equal(fused_product_flops(&b.fused), 2 * fused_product_flops(&b.forward), 0);
    release(&b);
}

static void test_convolution_has_two_gradients(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, "HloModule m\nENTRY e {\n  x = f32[4,8,10,10] parameter(0)\n  w = f32[16,8,3,3] parameter(1)\n"
               "  ROOT c = f32[4,16,10,10] convolution(x, w), window={size=3x3 pad=1_1x1_1}, "
               "dim_labels=bf01_oi01->bf01\n}\n");
    check_product(&b, 400, 8, 144);
    check_product(&b, 16, 72, 400);
    assert_float_equal(fused_product_flops(&b.fused), 2 * fused_product_flops(&b.forward), 0);
    release(&b);
}

static void test_lookup_is_scattered(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, "HloModule m\nENTRY e {\n  t = f32[1000,64] parameter(0)\n  i = s32[32,1] parameter(1)\n"
               "  ROOT g = f32[32,64] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, "
               "start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}\n}\n");
    assert_int_equal(b.arguments[0], ARGUMENT_PARAMETER);
    assert_int_equal(b.arguments[1], ARGUMENT_INPUT);
    assert_int_equal(count(&b, HLO_SCATTER), 1);
    assert_int_equal(b.derived.graph.root_count, 1);
    release(&b);
}

/* erfc as JAX writes it into HLO; `near` and `far` are its polynomials' argument. */
#define ERFC(near, far)                                                                                      \
    "HloModule m\nENTRY e {\n x = f32[9] parameter(0)\n z = f32[9] parameter(1)\n c = f32[] constant(1)\n"   \
    " o = f32[9] broadcast(c), dimensions={}\n a = f32[9] abs(x)\n l = pred[9] compare(a, o), "              \
    "direction=LT\n"                                                                                         \
    " s = f32[9] multiply(x, x)\n p1 = f32[9] multiply(s, o)\n p2 = f32[9] add(p1, o)\n"                     \
    " p3 = f32[9] multiply(p2, " near ")\n p4 = f32[9] add(p3, o)\n p5 = f32[9] multiply(" near ", p4)\n"    \
    " u = f32[9] subtract(o, p5)\n n = f32[9] negate(s)\n q0 = f32[9] exponential(n)\n"                      \
    " q1 = f32[9] divide(q0, a)\n q2 = f32[9] multiply(q1, " far ")\n q3 = f32[9] add(q2, o)\n"              \
    " q4 = f32[9] multiply(q3, q1)\n v = f32[9] add(q4, o)\n ROOT y = f32[9] select(l, u, v)\n}\n"

static void test_function_that_is_written_out_has_its_own_gradient(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, ERFC("x", "s")); /* g exp(-x^2) */
    assert_int_equal(count(&b, HLO_SELECT) + count(&b, HLO_DIVIDE) + count(&b, HLO_SIGN), 0);
    assert_int_equal(count(&b, HLO_EXPONENTIAL), 1);
    release(&b);
    static const char *const others[] = {ERFC("x", "z"), ERFC("s", "s")};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        derive(&b, others[i]);
        assert_true(count(&b, HLO_SELECT) >= 2);
        release(&b);
    }
}

static void test_slices_are_padded_and_joined_parts_sliced(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, "HloModule m\nENTRY e {\n  x = f32[30] parameter(0)\n"
               "  a = f32[10] slice(x), slice={[0:10]}\n  c = f32[20] slice(x), slice={[10:30]}\n"
               "  n = f32[10] negate(a)\n  ROOT y = f32[30] concatenate(n, c), dimensions={0}\n}\n");
    assert_int_equal(count(&b, HLO_PAD), 2);
    assert_int_equal(count(&b, HLO_SLICE), 2);
    assert_int_equal(b.derived.kept_bytes, 0);
    release(&b);
}

static void test_maximum_takes_its_share_by_comparing(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, "HloModule m\nENTRY e {\n  x = f32[64,32] parameter(0)\n  z = f32[] constant(0)\n"
               "  zs = f32[64,32] broadcast(z), dimensions={}\n  ROOT y = f32[64,32] maximum(x, zs)\n}\n");
    assert_int_equal(count(&b, HLO_COMPARE), 1);
    assert_int_equal(b.fused.kernel_count, 1);
    assert_float_equal(b.fused.kernels[0].kernel.bytes, 3 * 64 * 32 * 4, 0);
    release(&b);
}

#define SOFTMAX                                                                                              \
    "  zero = f32[] constant(0)\n  least = f32[] constant(-inf)\n"                                           \
    "  most = f32[64] reduce(x, least), dimensions={1}, to_apply=max\n"                                      \
    "  wide = f32[64,128] broadcast(most), dimensions={0}\n"                                                 \
    "  shifted = f32[64,128] subtract(x, wide)\n"                                                            \
    "  power = f32[64,128] exponential(shifted)\n"                                                           \
    "  total = f32[64] reduce(power, zero), dimensions={1}, to_apply=sum\n"                                  \
    "  totals = f32[64,128] broadcast(total), dimensions={0}\n"

static void test_shift_of_a_softmax_has_no_gradient(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, FUNCTIONS "ENTRY e {\n  x = f32[64,128] parameter(0)\n" SOFTMAX
                         "  ROOT y = f32[64,128] divide(power, totals)\n}\n");
    assert_int_equal(count(&b, HLO_COMPARE), 0);
    assert_int_equal(b.fused.kernel_count, 1);
    release(&b);
}

static void test_cheap_values_are_computed_again(void **state)
{
    (void)state;
    struct backward b;
    const char *text = "HloModule m\nENTRY e {\n  x = f32[10,100] parameter(0)\n  a = f32[10,100] tanh(x)\n"
                       "  c = f32[10,100] logistic(a)\n  d = f32[10,100] multiply(a, c)\n"
                       "  ROOT y = f32[10,100] exponential(d)\n}\n";
    derive(&b, text);
    assert_int_equal(b.derived.kept_bytes, 4000); /* one value of them all */
    assert_int_equal(b.fused.kernel_count, 1);
    release(&b);
    derive_with(&b, text, (struct derive_options){.keep_all = true}, ATTENTION_UNFUSED);
    assert_int_equal(b.derived.kept_bytes, 3 * 4000); /* tanh, logistic, exponential: by their results */
    assert_int_equal(count(&b, HLO_TANH), 0);
    release(&b);
}

static void test_products_are_not_computed_again(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, "HloModule m\nENTRY e {\n  x = f32[64,32] parameter(0)\n  w = f32[32,48] parameter(1)\n"
               "  d = f32[64,48] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
               "  ROOT y = f32[64,48] logistic(d)\n}\n");
    assert_int_equal(count(&b, HLO_DOT), 2);
    assert_true(is_kept(&b, "d") || is_kept(&b, "y"));
    assert_int_equal(b.derived.kept_bytes, (64 * 32 + 64 * 48) * 4);
    release(&b);
}

#define ATTENTION                                                                                            \
    FUNCTIONS                                                                                                \
    "ENTRY e {\n"                                                                                            \
    "  q = f32[1,2,64,32] parameter(0)\n  k = f32[1,2,64,32] parameter(1)\n  v = f32[1,2,64,32] "            \
    "parameter(2)\n"                                                                                         \
    "  x = f32[1,2,64,64] dot(q, k), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, " \
    "rhs_contracting_dims={3}\n"                                                                             \
    "  zero = f32[] constant(0)\n  least = f32[] constant(-inf)\n"                                           \
    "  most = f32[1,2,64] reduce(x, least), dimensions={3}, to_apply=max\n"                                  \
    "  wide = f32[1,2,64,64] broadcast(most), dimensions={0,1,2}\n"                                          \
    "  shifted = f32[1,2,64,64] subtract(x, wide)\n  power = f32[1,2,64,64] exponential(shifted)\n"          \
    "  total = f32[1,2,64] reduce(power, zero), dimensions={3}, to_apply=sum\n"                              \
    "  totals = f32[1,2,64,64] broadcast(total), dimensions={0,1,2}\n"                                       \
    "  w = f32[1,2,64,64] divide(power, totals)\n"                                                           \
    "  ROOT o = f32[1,2,64,32] dot(w, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, "                      \
    "lhs_contracting_dims={3}, "                                                                             \
    "rhs_contracting_dims={2}\n}\n"

static void test_attention_backwards_is_one_kernel(void **state)
{
    (void)state;
    struct backward b;
    derive_with(&b, ATTENTION, (struct derive_options){0}, ATTENTION_FLASH2);
    assert_int_equal(b.fused.kernel_count, 1);
    assert_true(b.fused.kernels[0].kernel.backward);
    assert_float_equal(fused_product_flops(&b.fused), 2.5 * fused_product_flops(&b.forward), 0);
    assert_int_equal(b.derived.kept_bytes, 4 * 2 * 64 * 32 * 4); /* q, k, v and the result */
    assert_int_equal(b.derived.graph.root_count, 3);
    release(&b);
}

static void test_attention_backwards_keeps_its_scores_once(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, ATTENTION);
    assert_float_equal(fused_product_flops(&b.fused), 2 * fused_product_flops(&b.forward), 0);
    int64_t rows = 64, scores = 8 * rows * 64, operands = 24 * rows * 32;
    assert_in_range(b.derived.kept_bytes, scores + operands, scores + operands + 16 * rows);
    release(&b);
}

static void test_loops_run_backwards_as_often(void **state)
{
    (void)state;
    struct backward b;
    derive(&b,
           "HloModule m\n"
           "body { p = (s32[], f32[64,64]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
           " x = f32[64,64] get-tuple-element(p), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"
           " y = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
           " ROOT t = (s32[], f32[64,64]) tuple(j, y) }\n"
           "test { p = (s32[], f32[64,64]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
           " n = s32[] constant(5)\n ROOT c = pred[] compare(i, n), direction=LT }\n"
           "ENTRY e {\n  x = f32[64,64] parameter(0)\n  z = s32[] constant(0)\n"
           "  t = (s32[], f32[64,64]) tuple(z, x)\n"
           "  w = (s32[], f32[64,64]) while(t), condition=test, body=body\n"
           "  ROOT y = f32[64,64] get-tuple-element(w), index=1\n}\n");
    assert_int_equal(b.derived.loop_count, 1);
    assert_float_equal(b.derived.loops[0].times, 5, 0);
    assert_int_equal(b.derived.kept_bytes, 5 * 64 * 64 * 4);
    struct fused body;
    struct error err;
    struct fuse_options options = {.counts = &b.counts, .first = b.derived.loops[0].first};
    assert_true(fuse_graph(&body, &b.arena, &b.derived.loops[0].graph, &options, &err));
    assert_float_equal(5 * fused_product_flops(&body), 2 * fused_product_flops(&b.forward), 0);
    release(&b);
}

static void test_what_follows_a_loop_runs_backwards_too(void **state)
{
    (void)state;
    struct backward b;
    derive(&b,
           "HloModule m\n"
           "body { p = (s32[], f32[64,64]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
           " x = f32[64,64] get-tuple-element(p), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"
           " y = f32[64,64] tanh(x)\n ROOT t = (s32[], f32[64,64]) tuple(j, y) }\n"
           "test { p = (s32[], f32[64,64]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
           " n = s32[] constant(5)\n ROOT c = pred[] compare(i, n), direction=LT }\n"
           "ENTRY e {\n  x = f32[64,64] parameter(0)\n  v = f32[64,64] parameter(1)\n"
           "  z = s32[] constant(0)\n  t = (s32[], f32[64,64]) tuple(z, x)\n"
           "  w = (s32[], f32[64,64]) while(t), condition=test, body=body\n"
           "  l = f32[64,64] get-tuple-element(w), index=1\n"
           "  ROOT y = f32[64,64] dot(l, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
    assert_int_equal(count(&b, HLO_DOT), 2);
    release(&b);
}

static void test_whole_numbers_have_no_gradient(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, "HloModule m\nENTRY e {\n  x = s32[64] parameter(0)\n  ROOT y = s32[64] negate(x)\n}\n");
    assert_int_equal(b.derived.gradients, 0);
    assert_int_equal(b.fused.kernel_count, 0);
    release(&b);
}

static void test_mask_has_no_gradient(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, "HloModule m\nENTRY e {\n  x = f32[64,128] parameter(0)\n  m = f32[1,128] parameter(1)\n"
               "  r = f32[128] reshape(m)\n  ms = f32[64,128] broadcast(r), dimensions={1}\n"
               "  ROOT y = f32[64,128] add(x, ms)\n}\n");
    assert_int_equal(count(&b, HLO_REDUCE), 0);
    release(&b);
}

static void test_arguments_are_told_apart(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, "HloModule m\nENTRY e {\n  x = f32[64,32] parameter(0)\n  w = f32[48,32] parameter(1)\n"
               "  b = f32[48] parameter(2)\n  r = f32[64,48] parameter(3)\n"
               "  t = f32[32,48] transpose(w), dimensions={1,0}\n"
               "  d = f32[64,48] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
               "  bs = f32[64,48] broadcast(b), dimensions={1}\n  s = f32[64,48] add(d, bs)\n"
               "  ROOT y = f32[64,48] add(s, r)\n}\n");
    assert_int_equal(b.arguments[0], ARGUMENT_INPUT);
    assert_int_equal(b.arguments[1], ARGUMENT_PARAMETER);
    assert_int_equal(b.arguments[2], ARGUMENT_PARAMETER);
    assert_int_equal(b.arguments[3], ARGUMENT_INPUT);
    release(&b);
}

/* ---- minimum cuts ---- */

enum { NODES = 8, EDGES = 14 };

/* The least that any division of the nodes cuts: all 2^6 of them. */
static int64_t least_cut(const int (*edges)[3])
{
    int64_t min = INT64_MAX;
    for (unsigned set = 0; set < 1u << (NODES - 2); set++) {
        int64_t sum = 0;
        for (int e = 0; e < EDGES; e++) {
            bool from = edges[e][0] == 0 || (edges[e][0] > 1 && set >> (edges[e][0] - 2) & 1);
            bool to = edges[e][1] == 0 || (edges[e][1] > 1 && set >> (edges[e][1] - 2) & 1);
            sum += from && !to ? edges[e][2] : 0;
        }
        min = sum < min ? sum : min;
    }
    return min;
}

static void test_factorizations_have_products_and_solves(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, "HloModule m\nENTRY e {\n  a = f32[64,64] parameter(0)\n  y = f32[64,8] parameter(1)\n"
               "  l = f32[64,64] cholesky(a)\n"
               "  ROOT x = f32[64,8] triangular-solve(l, y), left_side=true, lower=true\n}\n");
    assert_int_equal(count(&b, HLO_CHOLESKY), 0);
    assert_int_equal(count(&b, HLO_TRIANGULAR_SOLVE), 3);
    check_product(&b, 64, 64, 64);
    check_product(&b, 64, 64, 8);
    release(&b);
}

static void test_turns_end_with_what_the_next_begins_with(void **state)
{
    (void)state;
    struct backward b;
    derive(&b, "HloModule m\n"
               "body { s = (s32[], f32[64,64], f32[8,64,64]) parameter(0)\n"
               "  i = s32[] get-tuple-element(s), index=0\n  x = f32[64,64] get-tuple-element(s), index=1\n"
               "  ws = f32[8,64,64] get-tuple-element(s), index=2\n  one = s32[] constant(1)\n"
               "  zero = s32[] constant(0)\n"
               "  w = f32[1,64,64] dynamic-slice(ws, i, zero, zero), dynamic_slice_sizes={1,64,64}\n"
               "  v = f32[64,64] reshape(w)\n"
               "  d = f32[64,64] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
               "  t = f32[64,64] tanh(d)\n  j = s32[] add(i, one)\n"
               "  ROOT r = (s32[], f32[64,64], f32[8,64,64]) tuple(j, t, ws) }\n"
               "cond { s = (s32[], f32[64,64], f32[8,64,64]) parameter(0)\n"
               "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(8)\n"
               "  ROOT c = pred[] compare(i, n), direction=LT }\n"
               "ENTRY e {\n  x = f32[64,64] parameter(0)\n  ws = f32[8,64,64] parameter(1)\n"
               "  z = s32[] constant(0)\n  s = (s32[], f32[64,64], f32[8,64,64]) tuple(z, x, ws)\n"
               "  l = (s32[], f32[64,64], f32[8,64,64]) while(s), condition=cond, body=body\n"
               "  ROOT y = f32[64,64] get-tuple-element(l), index=1\n}\n");
    struct fuse_options options = {.counts = &b.counts, .first = b.derived.loops[0].first};
    struct fused turn;
    struct error err;
    assert_int_equal(b.derived.loop_count, 1);
    assert_true(fuse_graph(&turn, &b.arena, &b.derived.loops[0].graph, &options, &err));
    for (int i = 0; i < turn.kernel_count; i++)
        assert_int_equal(turn.kernels[i].kernel.kind, KERNEL_GEMM);
    assert_int_equal(turn.kernel_count, 2);
    release(&b);
}

static void test_cut_is_the_least_of_all(void **state)
{
    (void)state;
    unsigned random = 1;
    for (int round = 0; round < 2000; round++) {
        struct arena arena = {0};
        struct cut cut;
        int edges[EDGES][3];
        assert_true(cut_init(&cut, &arena, NODES, EDGES));
        for (int e = 0; e < EDGES; e++) {
            for (int i = 0; i < 3; i++) {
                random = random * 1103515245u + 12345u;
                edges[e][i] = (int)((random >> 16) % (i < 2 ? NODES : 10));
            }
            cut_connect(&cut, edges[e][0], edges[e][1], edges[e][2]);
        }
        cut_find(&cut);
        int64_t sum = 0;
        for (int e = 0; e < EDGES; e++)
            if (!cut_reaches_sink(&cut, edges[e][0]) && cut_reaches_sink(&cut, edges[e][1]))
                sum += edges[e][2];
        assert_false(cut_reaches_sink(&cut, 0));
        assert_int_equal(sum, least_cut((const int(*)[3])edges));
        arena_release(&arena);
    }
}

/* ---- given backward passes ---- */

static bool load(struct backward *b, const char *file)
{
    struct error err = {0};
    memset(b, 0, sizeof *b);
    char *path = reference_path(file);
    bool loaded = path && hlo_load(&b->module, path, &err);
    if (path && !loaded)
        fail_msg("%s", err.text);
    free(path);
    if (loaded)
        derive_loaded(b, (struct derive_options){0}, ATTENTION_UNFUSED);
    return loaded;
}

static void check_given(const char *forward, const char *backward)
{
    struct backward f, g;
    if (!load(&f, forward))
        skip();
    assert_true(load(&g, backward));
    assert_float_equal(fused_product_flops(&f.fused), 2 * fused_product_flops(&f.forward), 0);
    assert_float_equal(fused_product_flops(&f.fused), fused_product_flops(&g.forward), 0);
    /* what else they do is alike too */
    assert_in_range(f.fused.kernel_count, g.forward.kernel_count * 2 / 3, g.forward.kernel_count * 3 / 2);
    double ratio = fused_bytes(&f.fused) / fused_bytes(&g.forward);
    assert_true(ratio > 0.6 && ratio < 1.4);
    release(&f);
    release(&g);
}

static void test_bert_tiny_is_as_given(void **state)
{
    (void)state;
    check_given("cost/mhlo_byteir/BertTiny_FW_input.mlir", "cost/mhlo_byteir/BertTiny_BW_input.mlir");
}

static void test_nanogpt_is_as_given(void **state)
{
    (void)state;
    check_given("cost/mhlo_byteir/NanoGPT_FW_input.mlir", "cost/mhlo_byteir/NanoGPT_BW_input.mlir");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_product_has_two_gradients),
        cmocka_unit_test(test_first_layer_has_no_gradient_of_its_input),
        cmocka_unit_test(test_bias_has_the_sum),
        cmocka_unit_test(test_batched_gradients_have_their_operands_shapes),
        cmocka_unit_test(test_convolution_has_two_gradients),
        cmocka_unit_test(test_lookup_is_scattered),
        cmocka_unit_test(test_function_that_is_written_out_has_its_own_gradient),
        cmocka_unit_test(test_slices_are_padded_and_joined_parts_sliced),
        cmocka_unit_test(test_maximum_takes_its_share_by_comparing),
        cmocka_unit_test(test_shift_of_a_softmax_has_no_gradient),
        cmocka_unit_test(test_cheap_values_are_computed_again),
        cmocka_unit_test(test_products_are_not_computed_again),
        cmocka_unit_test(test_attention_backwards_is_one_kernel),
        cmocka_unit_test(test_attention_backwards_keeps_its_scores_once),
        cmocka_unit_test(test_loops_run_backwards_as_often),
        cmocka_unit_test(test_what_follows_a_loop_runs_backwards_too),
        cmocka_unit_test(test_whole_numbers_have_no_gradient),
        cmocka_unit_test(test_mask_has_no_gradient),
        cmocka_unit_test(test_arguments_are_told_apart),
        cmocka_unit_test(test_factorizations_have_products_and_solves),
        cmocka_unit_test(test_turns_end_with_what_the_next_begins_with),
        cmocka_unit_test(test_cut_is_the_least_of_all),
        cmocka_unit_test(test_bert_tiny_is_as_given),
        cmocka_unit_test(test_nanogpt_is_as_given),
    };
    return cmocka_run_group_tests_name("derive", tests, NULL, NULL);
}
