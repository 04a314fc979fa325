/* Layers from HLO: what BERT's and GPT's take on devices, forwards and backwards, and what they hold in memory. */
#include "cost/count/xla_time.h"
#include "cost/layer.h"
#include "cost/transformer_hlo.h"
#include "devices/link.h"
#include "devices/tables.h"
#include "support/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct shape bert = {8, 128, 768, 12, "f32", false};

/* ---- layers ---- */

struct made {
    struct hlo_module module;
    struct layer_cost layer;
};

static void make(struct made *made, const char *text, const struct layer_options *options)
{
    struct error err = {0};
    if (!hlo_parse_text(&made->module, "layer.hlo", text, strlen(text), &err) ||
        !layer_cost(&made->layer, &made->module, NULL, options, &err))
        fail_msg("%s", err.text);
}

static void make_transformer(struct made *made, struct shape shape, struct layer_options options)
{
    struct text text = transformer(&shape);
    make(made, text.data, &options);
    text_release(&text);
}

static void release(struct made *made)
{
    layer_release(&made->layer);
    hlo_release(&made->module);
}

static double seconds_of(struct shape shape, const char *device)
{
    struct made made;
    struct layer_options options = {0};
    make_transformer(&made, shape, options);
    const struct cost_device *on = tables_device(NULL, device);
    assert_non_null(on);
    double sum = layer_seconds(&made.layer.forward, on, &options).seconds +
                 layer_seconds(&made.layer.backward, on, &options).seconds;
    release(&made);
    return sum;
}

/* ---- what a BERT layer does ---- */

static void test_bert_has_its_products(void **state)
{
    (void)state;
    struct made made;
    make_transformer(&made, bert, (struct layer_options){0});
    double t = 8 * 128, h = 768, s = 128;
    /* four of h x h, two of h x 4h; scores and context */
    double flops = 2 * t * (4 * h * h + 2 * 4 * h * h) + 2 * 2 * t * s * h;
    assert_float_equal(fused_product_flops(&made.layer.forward), flops, 0);
    assert_float_equal(fused_product_flops(&made.layer.backward), 2 * flops, 0);
    release(&made);
}

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)

static void test_bert_has_its_memory(void **state)
{
    (void)state;
    struct made made;
    make_transformer(&made, bert, (struct layer_options){0});
    int64_t h = 768, parameters = 4 * (h * h + h) + 4 * h + 4 * h * h + 4 * h + 4 * h * h + h;
    assert_int_equal(made.layer.parameter_bytes, 4 * parameters);
    assert_int_equal(made.layer.gradient_bytes, 4 * parameters);
    assert_int_equal(made.layer.optimizer_bytes, 8 * parameters);
    assert_int_equal(made.layer.input_bytes, 3 * MIB);
    assert_int_equal(made.layer.output_bytes, 3 * MIB);
    /* of 3 MiB: input, queries, keys, values, context, and both sums before layer normalisation; scores 6 MiB; 12 MiB
     * before GELU. Means and roots of 1024 rows twice, totals of 12 x 1024 rows */
    int64_t kept = 21 * MIB + 6 * MIB + 12 * MIB;
    assert_in_range(made.layer.kept_bytes, kept, kept + 112 * KIB);
    /* at least what must be there when the last gradients are made */
    int64_t min = 16 * parameters + 6 * MIB;
    assert_in_range(made.layer.peak_bytes, min, min + kept + 24 * MIB);
    release(&made);
}

static void test_peak_by_hand(void **state)
{
    (void)state;
    struct made made;
    make(&made,
         "HloModule m\nENTRY e {\n  x = f32[64,32] parameter(0)\n  w = f32[32,48] parameter(1)\n"
         "  ROOT d = f32[64,48] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
         &(struct layer_options){0});
    int64_t size = 4, x = size * 64 * 32, w = size * 32 * 48, y = size * 64 * 48;
    assert_int_equal(made.layer.kept_bytes, x);
    /* backwards: w and its two moments; x, the gradient of y, and those of x and w */
    assert_int_equal(made.layer.peak_bytes, 3 * w + x + y + x + w);
    release(&made);
}

static void test_half_precision_has_a_master_copy(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = bert;
    shape.type = "bf16";
    make_transformer(&made, shape, (struct layer_options){0});
    assert_int_equal(made.layer.optimizer_bytes, 6 * made.layer.parameter_bytes);
    /* reads the gradient and the states, writes the parameter and the states: 28 bytes of each */
    assert_float_equal(made.layer.optimizer.bytes, 28.0 * (double)made.layer.parameter_bytes / 2.0, 0);
    release(&made);
}

static void test_keeping_all_takes_more(void **state)
{
    (void)state;
    struct made min, all;
    make_transformer(&min, bert, (struct layer_options){0});
    make_transformer(&all, bert, (struct layer_options){.keep_all = true});
    assert_true(all.layer.kept_bytes > min.layer.kept_bytes);
    assert_float_equal(fused_product_flops(&all.layer.backward), fused_product_flops(&min.layer.backward), 0);
    release(&min);
    release(&all);
}

static void test_recomputing_keeps_the_input_and_runs_forward_again(void **state)
{
    (void)state;
    struct made plain, again;
    struct layer_options options = {.recompute = true};
    const struct cost_device *device = tables_device(NULL, "a100-80gb");
    make_transformer(&plain, bert, (struct layer_options){0});
    make_transformer(&again, bert, options);
    assert_int_equal(again.layer.kept_bytes, 3 * MIB);
    double forward = layer_seconds(&plain.layer.forward, device, &options).seconds;
    double backward = layer_seconds(&plain.layer.backward, device, &options).seconds;
    assert_float_equal(layer_seconds(&again.layer.backward, device, &options).seconds, forward + backward,
                       1e-9);
    release(&plain);
    release(&again);
}

static void test_flash_attention_keeps_no_scores(void **state)
{
    (void)state;
    struct made plain, flash;
    make_transformer(&plain, bert, (struct layer_options){0});
    make_transformer(&flash, bert, (struct layer_options){.attention = ATTENTION_FLASH2});
    assert_true(flash.layer.kept_bytes <= plain.layer.kept_bytes - 6 * MIB);
    assert_true(flash.layer.forward.kernel_count < plain.layer.forward.kernel_count);
    assert_float_equal(fused_product_flops(&flash.layer.forward), fused_product_flops(&plain.layer.forward),
                       0);
    release(&plain);
    release(&flash);
}

static void test_attention_of_gpt_is_causal(void **state)
{
    (void)state;
    struct made made;
    struct shape shape = bert;
    shape.causal = true;
    make_transformer(&made, shape, (struct layer_options){.attention = ATTENTION_FLASH2});
    int found = 0;
    for (int i = 0; i < made.layer.forward.kernel_count; i++)
        found += made.layer.forward.kernels[i].kernel.kind == KERNEL_ATTENTION &&
                 made.layer.forward.kernels[i].kernel.causal;
    assert_int_equal(found, 1);
    release(&made);
}

static void test_parameters_can_be_named(void **state)
{
    (void)state;
    struct made made;
    struct error err = {0};
    int numbers[] = {1, 3};
    const char *text = "HloModule m\nENTRY e {\n  x = f32[64] parameter(0)\n  w = f32[64] parameter(1)\n"
                       "  m = f32[64] multiply(x, w)\n  ROOT y = f32[64] tanh(m)\n}\n";
    make(&made, text, &(struct layer_options){.parameters = numbers, .parameter_count = 1});
    assert_int_equal(made.layer.parameter_bytes, 256);
    assert_int_equal(made.layer.input_bytes, 256);
    layer_release(&made.layer);
    struct layer_options wrong = {.parameters = numbers, .parameter_count = 2};
    assert_false(layer_cost(&made.layer, &made.module, NULL, &wrong, &err));
    assert_string_equal(err.text, "layer.hlo: has 2 arguments, numbered from 0: no number 3");
    hlo_release(&made.module);
}

static void test_collectives_inside_a_layer_take_time(void **state)
{
    (void)state;
    struct made made;
    make(&made,
         "HloModule m, num_partitions=8\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
         " ROOT s = f32[] add(a, b) }\nENTRY e {\n  x = f32[4096,4096] parameter(0)\n"
         "  ROOT r = f32[4096,4096] all-reduce(x), replica_groups={}, to_apply=sum\n}\n",
         &(struct layer_options){0});
    const struct cost_device *device = tables_device(NULL, "h100-sxm");
    struct layer_options inside = {0},
                         across = {.reach.devices_per_node = 4, .reach.across = tables_link(NULL, "ib-200g")};
    double near = layer_seconds(&made.layer.forward, device, &inside).seconds;
    assert_int_equal(made.layer.forward.transfers[0].group, 8);
    assert_true(near > 64e6 / device->bandwidth);
    assert_true(layer_seconds(&made.layer.forward, device, &across).seconds > near);
    release(&made);
}

/* ---- ranking and order ---- */

static const char *const ranked[] = {"v100-16gb", "a100-40gb", "a100-80gb", "h100-pcie",
                                     "h100-sxm",  "h200",      "b200"};
#define RANKED 7

static void check_ranking(struct shape shape)
{
    for (int i = 1; i < RANKED; i++) {
        double slower = seconds_of(shape, ranked[i - 1]), faster = seconds_of(shape, ranked[i]);
        bool may_tie = i == 3 || i == 6; /* A100-80 <= H100 PCIe, H200 <= B200 */
        if (may_tie ? faster > slower : faster >= slower)
            fail_msg("batch %d, sequence %d, hidden %d, %s%s: %s takes %.1f us, %s %.1f us", shape.batch,
                     shape.sequence, shape.hidden, shape.type, shape.causal ? ", causal" : "", ranked[i - 1],
                     slower * 1e6, ranked[i], faster * 1e6);
    }
}

static void test_devices_rank_on_bert(void **state)
{
    (void)state;
    check_ranking(bert);
    check_ranking((struct shape){32, 512, 1024, 16, "f32", false});
    check_ranking((struct shape){1, 512, 768, 12, "bf16", false});
    check_ranking((struct shape){32, 512, 1024, 16, "bf16", false});
}

static void test_devices_rank_on_gpt(void **state)
{
    (void)state;
    check_ranking((struct shape){8, 1024, 1600, 25, "f32", true});
    check_ranking((struct shape){4, 2048, 4096, 32, "bf16", true});
}

/* `size` is one of the shape's. */
static void check_grows(const struct shape *shape, int *size, const int *sizes, int count)
{
    for (int d = 0; d < RANKED; d++) {
        double before = 0.0;
        for (int i = 0; i < count; i++) {
            *size = sizes[i];
            double seconds = seconds_of(*shape, ranked[d]);
            if (seconds < before)
                fail_msg("%s: batch %d, sequence %d, hidden %d takes %.2f us, the one before %.2f us",
                         ranked[d], shape->batch, shape->sequence, shape->hidden, seconds * 1e6,
                         before * 1e6);
            before = seconds;
        }
    }
}

#define COUNT(sizes) ((int)(sizeof(sizes) / sizeof *(sizes)))

static void test_time_grows_with_the_batch(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256};
    struct shape shape = bert;
    check_grows(&shape, &shape.batch, sizes, COUNT(sizes));
    shape.type = "bf16";
    check_grows(&shape, &shape.batch, sizes, COUNT(sizes));
}

static void test_time_grows_with_the_sequence(void **state)
{
    (void)state;
    static const int sizes[] = {32, 64, 128, 192, 256, 384, 512, 1024, 2048, 4096};
    struct shape shape = bert;
    check_grows(&shape, &shape.sequence, sizes, COUNT(sizes));
    shape.type = "bf16";
    shape.causal = true;
    check_grows(&shape, &shape.sequence, sizes, COUNT(sizes));
}

static void test_time_grows_with_the_hidden_size(void **state)
{
    (void)state;
    static const int sizes[] = {384, 768, 1536, 2304, 3072, 6144};
    struct shape shape = bert;
    check_grows(&shape, &shape.hidden, sizes, COUNT(sizes));
    shape.type = "bf16";
    check_grows(&shape, &shape.hidden, sizes, COUNT(sizes));
}

/* ---- other systems' times ---- */

static void test_xla_times_a_module(void **state)
{
    (void)state;
    struct hlo_module module;
    struct module_count count;
    struct error err = {0};
    struct count_options options = {.rules = COUNT_XLA_GPU};
    const char *text = "HloModule m\nENTRY e {\n  x = f32[1024] parameter(0)\n  c = f32[1024] add(x, x)\n"
                       "  ROOT y = f32[1024] multiply(c, x)\n}\n";
    assert_true(hlo_parse_text(&module, "m.hlo", text, strlen(text), &err));
    assert_true(module_count(&count, &module, &options, &err));
    struct xla_device device = xla_device_of(tables_device(NULL, "h100-sxm"));
    double sum = 2 * XLA_LAUNCH_SECONDS;
    for (int i = 1; i < 3; i++)
        sum +=
            xla_time_of(module.entry->instructions[i], &count.computations[module.entry->index][i], &device)
                .seconds;
    assert_float_equal(xla_module_seconds(&count, &module, &device), sum, 1e-15);
    module_count_release(&count);
    hlo_release(&module);
}

/* ---- the reference's layers ---- */

static void test_reference_bert_is_our_bert(void **state)
{
    (void)state;
    char *path = reference_path("cost/authored/bert_base_layer_b8_s128_f32_erf.hlo");
    struct error err = {0};
    struct hlo_module module;
    struct layer_cost theirs;
    struct made ours;
    if (!path)
        skip();
    assert_true(hlo_load(&module, path, &err));
    assert_true(layer_cost(&theirs, &module, NULL, &(struct layer_options){0}, &err));
    make_transformer(&ours, bert, (struct layer_options){0});
    assert_float_equal(fused_product_flops(&theirs.forward), fused_product_flops(&ours.layer.forward), 0);
    assert_int_equal(theirs.parameter_bytes, ours.layer.parameter_bytes);
    assert_int_equal(theirs.kept_bytes, ours.layer.kept_bytes);
    layer_release(&theirs);
    hlo_release(&module);
    release(&ours);
    free(path);
}

static double seconds_of_file(const char *relative, const char *device)
{
    char *path = reference_path(relative);
    struct hlo_module module;
    struct layer_cost layer;
    struct layer_options options = {0};
    struct error err = {0};
    if (!path)
        skip();
    if (!hlo_load(&module, path, &err) || !layer_cost(&layer, &module, NULL, &options, &err))
        fail_msg("%s", err.text);
    const struct cost_device *on = tables_device(NULL, device);
    double sum = layer_seconds(&layer.forward, on, &options).seconds +
                 layer_seconds(&layer.backward, on, &options).seconds;
    layer_release(&layer);
    hlo_release(&module);
    free(path);
    return sum;
}

static void test_devices_rank_on_the_references_layers(void **state)
{
    (void)state;
    static const char *const files[] = {"cost/authored/bert_base_layer_b1_s512_f32_erf.hlo",
                                        "cost/authored/bert_base_layer_b8_s128_f32_erf.hlo",
                                        "cost/authored/bert_base_layer_b1_s512_bf16_erf.hlo",
                                        "cost/authored/bert_base_layer_b32_s128_bf16_erf.hlo"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
        for (int i = 1; i < RANKED; i++) {
            double slower = seconds_of_file(files[f], ranked[i - 1]),
                   faster = seconds_of_file(files[f], ranked[i]);
            if (i == 3 || i == 6 ? faster > slower : faster >= slower)
                fail_msg("%s: %s takes %.1f us, %s %.1f us", files[f], ranked[i - 1], slower * 1e6, ranked[i],
                         faster * 1e6);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bert_has_its_products),
        cmocka_unit_test(test_bert_has_its_memory),
        cmocka_unit_test(test_peak_by_hand),
        cmocka_unit_test(test_half_precision_has_a_master_copy),
        cmocka_unit_test(test_keeping_all_takes_more),
        cmocka_unit_test(test_recomputing_keeps_the_input_and_runs_forward_again),
        cmocka_unit_test(test_flash_attention_keeps_no_scores),
        cmocka_unit_test(test_attention_of_gpt_is_causal),
        cmocka_unit_test(test_parameters_can_be_named),
        cmocka_unit_test(test_collectives_inside_a_layer_take_time),
        cmocka_unit_test(test_devices_rank_on_bert),
        cmocka_unit_test(test_devices_rank_on_gpt),
        cmocka_unit_test(test_time_grows_with_the_batch),
        cmocka_unit_test(test_time_grows_with_the_sequence),
        cmocka_unit_test(test_time_grows_with_the_hidden_size),
        cmocka_unit_test(test_xla_times_a_module),
        cmocka_unit_test(test_reference_bert_is_our_bert),
        cmocka_unit_test(test_devices_rank_on_the_references_layers),
    };
    return cmocka_run_group_tests_name("layer", tests, NULL, NULL);
}
