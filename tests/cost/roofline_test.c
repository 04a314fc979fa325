/* Counts against published formulas, and profiles made from them. */
#include "cost/roofline.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct cost_options plain = {.microbatch_size = 1, .precision = COST_FP32};

static double model_flops(const struct cost_model *model, const struct cost_options *options)
{
    return cost_embedding(model, options).flops + model->blocks * cost_block(model, options).flops +
           cost_head(model, options).flops;
}

/* arXiv:2104.04473, appendix, without the recomputed forward pass: 72 b s l h^2 (1 + s / 6h + V / 12lh) for
 * forward and backward; a third of it is forward. */
static void gpt_flops_follow_the_megatron_formula(void **state)
{
    const struct cost_model *model = cost_model_find("gpt2-xl");
    const struct cost_options options = {.microbatch_size = 4, .precision = COST_FP32};
    (void)state;
    double b = 4;
    double s = 1024;
    double l = model->blocks;
    double h = model->hidden;
    double expected = 24 * b * s * l * h * h * (1 + s / (6 * h) + model->vocabulary / (12 * l * h));
    assert_true(fabs(model_flops(model, &options) / expected - 1) < 1e-12);
}

/* Without attention, 2 flops per parameter and token (arXiv:2001.08361, section 2.1). */
static void a_short_sequence_takes_two_flops_per_parameter_and_token(void **state)
{
    const struct cost_model *model = cost_model_find("llama-2-70b");
    const struct cost_options options = {.microbatch_size = 1, .sequence = 1, .precision = COST_FP32};
    (void)state;
    double matrices = cost_model_parameters(model) - cost_embedding_parameters(model);
    assert_true(fabs(model_flops(model, &options) / (2 * matrices) - 1) < 1e-3);
}

/* 2 of 8 experts work for a token: 12.9 B of the 46.7 B parameters (arXiv:2401.04088, section 1). */
static void only_active_experts_compute(void **state)
{
    const struct cost_model *model = cost_model_find("mixtral-8x7b");
    const struct cost_options options = {.microbatch_size = 1, .sequence = 1, .precision = COST_FP32};
    (void)state;
    double active = model_flops(model, &options) / 2 + cost_embedding_parameters(model);
    assert_true(fabs(active / 12.9e9 - 1) < 0.01);
}

/* arXiv:2205.05198, equation 1: s b h (34 + 5 a s / h) bytes in 16 bits. */
static void activations_follow_the_published_formula(void **state)
{
    const struct cost_model *model = cost_model_find("gpt2-xl");
    const struct cost_options options = {.microbatch_size = 2, .precision = COST_FP16};
    (void)state;
    double s = 1024;
    double h = model->hidden;
    double expected = s * 2 * h * (34 + 5 * model->heads * s / h);
    assert_true(cost_block(model, &options).activation_bytes == expected);
}

static void everything_but_parameters_grows_with_the_micro_batch(void **state)
{
    const struct cost_model *model = cost_model_find("llama-3-8b");
    const struct cost_options three = {.microbatch_size = 3, .precision = COST_FP32};
    (void)state;
    struct cost_layer one = cost_block(model, &plain);
    struct cost_layer many = cost_block(model, &three);
    assert_true(many.flops == 3 * one.flops);
    assert_true(many.activation_bytes == 3 * one.activation_bytes);
    assert_true(many.output_bytes == 3 * one.output_bytes);
    assert_true(many.parameters == one.parameters);
}

static void a_large_product_is_bound_by_arithmetic(void **state)
{
    const struct cost_device *device = cost_device_find("a100-80gb");
    const struct cost_layer layer = {.flops = 312e12, .bytes = 1, .kernels = 0};
    (void)state;
    assert_true(cost_seconds(&layer, device, COST_BF16) == 1 / COST_EFFICIENCY);
}

static void a_lookup_is_bound_by_memory(void **state)
{
    const struct cost_device *device = cost_device_find("a100-80gb");
    const struct cost_layer layer = {.flops = 1, .bytes = 2039e9, .kernels = 2};
    (void)state;
    assert_true(fabs(cost_seconds(&layer, device, COST_FP32) - (1 + 2 * COST_LAUNCH)) < 1e-9);
}

static void a_profile_has_embedding_blocks_and_head(void **state)
{
    const struct cost_model *model = cost_model_find("gpt2-xl");
    const struct cost_device *devices[] = {cost_device_find("v100-16gb"), cost_device_find("rtx-4090")};
    struct profile profile;
    struct error err;
    (void)state;
    assert_true(cost_profile(&profile, model, devices, 2, &plain, &err));
    assert_int_equal(profile.layer_count, 50);
    assert_int_equal(profile.device_count, 2);
    assert_int_equal(profile.microbatch_size, 1);
    assert_string_equal(profile.layers[0].name, "embedding");
    assert_string_equal(profile.layers[48].name, "block 48");
    assert_string_equal(profile.layers[49].name, "head");
    assert_int_equal(profile.layers[1].parameter_bytes, 4 * 30740800);
    assert_int_equal(profile.layers[1].output_bytes, 4 * 1024 * 1600);
    assert_non_null(profile_find_device(&profile, "rtx-4090"));
    assert_null(profile.devices[0].in_node);
    profile_release(&profile);
}

/* 6.2 PFLOP for forward and backward: 3 x 2 x 1.56e9 x 1024 and attention, at half of 15.7 TFLOP/s. */
static void gpt2_xl_takes_about_a_second_on_a_v100(void **state)
{
    const struct cost_device *devices[] = {cost_device_find("v100-16gb")};
    struct profile profile;
    struct error err;
    double sum = 0;
    (void)state;
    assert_true(cost_profile(&profile, cost_model_find("gpt2-xl"), devices, 1, &plain, &err));
    for (int i = 0; i < profile.layer_count; i++)
        sum += profile.devices[0].forward[i] + profile.devices[0].backward[i];
    assert_true(sum > 1 && sum < 2);
    profile_release(&profile);
}

static void times_are_whole_nanoseconds_and_backward_takes_twice_as_long(void **state)
{
    const struct cost_device *devices[] = {cost_device_find("t4")};
    struct profile profile;
    struct error err;
    (void)state;
    assert_true(cost_profile(&profile, cost_model_find("bert-base"), devices, 1, &plain, &err));
    for (int i = 0; i < profile.layer_count; i++) {
        double forward = profile.devices[0].forward[i];
        double backward = profile.devices[0].backward[i];
        assert_true(forward > 0);
        assert_true(nearbyint(forward * 1e9) / 1e9 == forward);
        assert_true(fabs(backward - 2 * forward) < 1.5e-9);
    }
    profile_release(&profile);
}

static void every_model_works_on_every_device(void **state)
{
    int model_count;
    const struct cost_model *models = cost_models(&model_count);
    const struct cost_device *table = cost_devices()->devices;
    int device_count = cost_devices()->count;
    const struct cost_device *devices[PROFILE_MAX_DEVICES];
    (void)state;
    for (int d = 0; d < device_count; d++)
        devices[d] = &table[d];
    for (int m = 0; m < model_count; m++) {
        struct profile profile;
        struct text text = {0};
        struct profile again;
        struct error err;
        assert_true(cost_profile(&profile, &models[m], devices, device_count, &plain, &err));
        profile_write_json(&profile, &text);
        assert_true(profile_parse(&again, "again.json", text.data, text.length, &err));
        profile_release(&again);
        text_release(&text);
        profile_release(&profile);
    }
}

static void refused(const char *model, const char *first, const char *second, struct cost_options options,
                    const char *message)
{
    const struct cost_device *devices[] = {cost_device_find(first), second ? cost_device_find(second) : NULL};
    struct profile profile;
    struct error err;
    assert_false(cost_profile(&profile, cost_model_find(model), devices, second ? 2 : 1, &options, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_string_equal(err.text, message);
}

static void a_precision_the_device_lacks_is_refused(void **state)
{
    (void)state;
    refused("gpt2", "rtx-3090", "v100-32gb", (struct cost_options){1, 0, COST_BF16},
            "'v100-32gb' does not compute in bf16");
    refused("gpt2", "mi210", NULL, (struct cost_options){1, 0, COST_TF32},
            "'mi210' does not compute in tf32");
}

static void a_sequence_beyond_the_positions_is_refused(void **state)
{
    (void)state;
    refused("gpt2", "t4", NULL, (struct cost_options){1, 1025, COST_FP32},
            "'gpt2' has 1024 positions: a sequence of 1025 tokens does not fit");
}

static void a_device_named_twice_is_refused(void **state)
{
    (void)state;
    refused("gpt2", "t4", "t4", plain, "device 't4' is named twice");
}

static void a_micro_batch_beyond_counting_is_refused(void **state)
{
    (void)state;
    refused("llama-3-70b", "t4", NULL, (struct cost_options){1000000, 1000000, COST_FP32},
            "a micro-batch of 1000000 samples is too large: a layer would keep 2^53 bytes or more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt_flops_follow_the_megatron_formula),
        cmocka_unit_test(a_short_sequence_takes_two_flops_per_parameter_and_token),
        cmocka_unit_test(only_active_experts_compute),
        cmocka_unit_test(activations_follow_the_published_formula),
        cmocka_unit_test(everything_but_parameters_grows_with_the_micro_batch),
        cmocka_unit_test(a_large_product_is_bound_by_arithmetic),
        cmocka_unit_test(a_lookup_is_bound_by_memory),
        cmocka_unit_test(a_profile_has_embedding_blocks_and_head),
        cmocka_unit_test(gpt2_xl_takes_about_a_second_on_a_v100),
        cmocka_unit_test(times_are_whole_nanoseconds_and_backward_takes_twice_as_long),
        cmocka_unit_test(every_model_works_on_every_device),
        cmocka_unit_test(a_precision_the_device_lacks_is_refused),
        cmocka_unit_test(a_sequence_beyond_the_positions_is_refused),
        cmocka_unit_test(a_device_named_twice_is_refused),
        cmocka_unit_test(a_micro_batch_beyond_counting_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
