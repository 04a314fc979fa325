/* What is made of MaxText's commands and files. */
#include "launch/texts.h"
#include "support/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum launch_use use_of(const struct launch_options *options, const char *name)
{
    for (int i = 0; i < options->argument_count; i++)
        if (strcmp(options->arguments[i].name, name) == 0)
            return options->arguments[i].use;
    fail_msg("no %s", name);
    return LAUNCH_UNKNOWN;
}

static void commands(void **state)
{
    (void)state;
    static const char script[] =
        "python3 -m MaxText.train \"${ROOT:-$PWD}\"/configs/base.yml model_name=llama3-8b hardware=gpu \\\n"
        "  per_device_batch_size=0.5 ici_fsdp_parallelism=2 ici_tensor_parallelism=4 dcn_data_parallelism=16 "
        "\\\n"
        "  gradient_accumulation_steps=4 remat_policy=minimal max_target_length=8192 quantization=fp8 "
        "opt_type=sgd\n";
    struct launch_options options = text_reads("run.sh", script, NULL);
    const struct architecture *model;
    struct error err;
    bool known;
    assert_string_equal(options.software, "maxtext");
    assert_true(launch_model(&options, &model, &known, &err) && known);
    assert_string_equal(model->name, "llama-3-8b");
    is(options.devices, 128);
    is(options.tensor, 4);
    is(options.sharding, 3);
    is(options.technique[TECHNIQUE_REPLICATE], 16);
    is(options.microbatch, 2);
    is(options.rank_batch, 8);
    is(options.sequence, 8192);
    is(options.recompute, RECOMPUTE_SELECTIVE);
    is(options.type, COST_FP8);
    launch_options_release(&options);
    static const char *const wrapped[] = {"num_slices=4", NULL};
    options = text_reads("run.sh",
                         "xpk workload create --tpu-type=v5p-64 --command \"bash preflight.sh && python3 "
                         "MaxText/train.py MaxText/configs/base.yml ici_fsdp_parallelism=8 && ls\"\n",
                         wrapped);
    is(options.devices, 32);
    is(options.technique[TECHNIQUE_REPLICATE], 4);
    is(options.microbatch, 12);
    is(options.layers, 16);
    launch_options_release(&options);
}

/* The rest of the devices, stages and chunks, and the default sizes, of which a scale makes others. */
static void files(void **state)
{
    (void)state;
    struct launch_options options =
        text_reads("a.yml",
                   "base_config: base.yml\nglobal_parameter_scale: 16\nbase_num_decoder_layers: "
                   "20\nici_pipeline_parallelism: 4\n"
                   "num_pipeline_microbatches: 8\nper_device_batch_size: 2\nremat_policy: "
                   "save_qkv_proj\nattention: dot_product\n"
                   "num_experts: 8\nnum_experts_per_tok: 2\nici_expert_parallelism: 2\ncapacity_factor: "
                   "1.5\nn_routing_groups: -1\n",
                   NULL);
    assert_false(options.devices.given);
    is(options.layers, 40);
    is(options.hidden, 4096);
    is(options.heads, 64);
    is(options.ffn, 28672);
    is(options.pipeline, 4);
    is(options.expert, 2);
    is(options.chunk_blocks, 1);
    is(options.microbatch, 1);
    is(options.rank_batch, 8);
    is(options.technique[TECHNIQUE_ATTENTION], SWITCH_OFF);
    assert_false(options.route_groups.given);
    assert_int_equal(use_of(&options, "capacity_factor"), LAUNCH_UNMODELLED);
    assert_int_equal(use_of(&options, "remat_policy"), LAUNCH_UNMODELLED);
    launch_options_release(&options);
    options = text_reads(
        "a.yml", "base_config: base.yml\nmodel_name: mixtral-8x7b\nbase_num_decoder_layers: 5\n", NULL);
    assert_false(options.layers.given);
    assert_int_equal(use_of(&options, "base_num_decoder_layers"), LAUNCH_IDLE);
    assert_non_null(strstr(options.notes[0], "does not count"));
    launch_options_release(&options);
    text_refused("a.yml", "base_config: base.yml\ndecoder_block: gemma4\n",
                 "a.yml:2: decoder_block: blocks of kind gemma4 are not modelled");
    text_refused("a.yml", "base_config: base.yml\nglobal_parameter_scale: 12\n",
                 "a.yml:2: global_parameter_scale: expected a power of 2");
    text_refused(
        "a.yml", "base_config: base.yml\nici_pipeline_parallelism: 3\nnum_pipeline_microbatches: 5\n",
        "a.yml:3: num_pipeline_microbatches: a data parallel rank has 36 sequences, which are not 5 equal "
        "micro-batches");
    text_refused("a.yml", "base_config: inference.yml\nmodel_name: llama2-7b\n",
                 "a.yml: MaxText's distillation and inference are not modelled");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
