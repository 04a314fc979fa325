/* Settings of fine-tuning: what axolotl, LLaMA-Factory, DeepSpeed, accelerate and the Trainer mean by them. */
#include "core/text.h"
#include "launch/texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* "hf-trainer bf16 zero 2 recompute full; moments fp8", and the settings that are not priced. */
static void summarise(const struct launch_options *o, struct text *out)
{
    text_format(out, "%s %s zero %d recompute %s", o->software, cost_type_name((enum cost_type)o->type.value),
                o->sharding.given ? (int)o->sharding.value : 0,
                recompute_name(o->recompute.given ? (enum recompute)o->recompute.value : RECOMPUTE_NONE));
    text_add(out, o->frozen.given && o->frozen.value ? " frozen" : "");
    for (int k = 0; k < TECHNIQUE_COUNT; k++)
        if (o->technique[k].given && o->technique[k].value != 0) {
            text_format(out, "; %s ", technique_name((enum technique_kind)k));
            technique_write(out, (enum technique_kind)k, (int)o->technique[k].value);
        }
    for (int i = 0; i < o->argument_count; i++)
        if (o->arguments[i].use == LAUNCH_UNMODELLED || o->arguments[i].use == LAUNCH_UNKNOWN)
            text_format(out, "; %s %s", o->arguments[i].use == LAUNCH_UNKNOWN ? "unknown" : "not",
                        o->arguments[i].name);
}

#define AXOLOTL "base_model: m\nsequence_len: 4096\nsample_packing: true\n"
#define FACTORY "model_name_or_path: m\nstage: sft\ncutoff_len: 2048\npacking: true\n"
#define FULL    FACTORY "finetuning_type: full\ndisable_gradient_checkpointing: true\n"
#define ZERO(stage, more)                                                                                    \
    "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"zero_optimization\": "         \
    "{\"stage\": " #stage "}" more "}"
#define RUN(launcher, more)                                                                                  \
    launcher " train.py --model_name_or_path m --per_device_train_batch_size 2 --packing true " more "\n"

static void settings_mean(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text, *means;
    } cases[] = {
        {"a.yaml", AXOLOTL, "hf-trainer bf16 zero 0 recompute none"},
        {"a.yaml", AXOLOTL "bf16: false\n",
         "hf-trainer fp32 zero 0 recompute none; grads fp32; moments fp32; params fp32"},
        {"a.yaml", AXOLOTL "bf16: false\nfp16: true\n", "hf-trainer fp16 zero 0 recompute none"},
        {"a.yaml", AXOLOTL "fsdp_config: {activation_checkpointing: true}\n",
         "hf-trainer bf16 zero 3 recompute full"},
        {"a.yaml", AXOLOTL "fsdp_config: {reshard_after_forward: false}\n",
         "hf-trainer bf16 zero 2 recompute none"},
        {"a.yaml", AXOLOTL "fsdp: [full_shard]\nfsdp_config: {fsdp_sharding_strategy: NO_SHARD}\n",
         "hf-trainer bf16 zero 0 recompute none"},
        {"a.yaml", AXOLOTL "fsdp: [hybrid_shard]\n", "hf-trainer bf16 zero 3 recompute none; not fsdp"},
        {"a.yaml", AXOLOTL "fsdp: [full_shard, offload]\n",
         "hf-trainer bf16 zero 3 recompute none; not fsdp"},
        {"a.yaml", AXOLOTL "fsdp_config: {fsdp_sharding_strategy: 5}\n",
         "hf-trainer bf16 zero 2 recompute none; not fsdp_config.fsdp_sharding_strategy"},
        {"a.yaml", AXOLOTL "fsdp:\nfsdp_config:\n", "hf-trainer bf16 zero 0 recompute none"},
        {"a.yaml", AXOLOTL "gradient_checkpointing: offload\n",
         "hf-trainer bf16 zero 0 recompute full; not gradient_checkpointing"},
        {"a.yaml", AXOLOTL "adapter: lora\nlora_modules_to_save: [embed_tokens, lm_head]\n",
         "hf-trainer bf16 zero 0 recompute none frozen; lora-ends yes"},
        {"a.yaml", AXOLOTL "adapter: lora\nlora_modules_to_save: [score]\n",
         "hf-trainer bf16 zero 0 recompute none frozen; not lora_modules_to_save"},
        {"a.yaml", AXOLOTL "adapter: lora\nlora_target_modules: [q_proj, k_proj, v_proj, o_proj]\n",
         "hf-trainer bf16 zero 0 recompute none frozen; lora-targets attention"},
        {"a.yaml", AXOLOTL "adapter: lora\nlora_target_modules: [q_proj, v_proj, up_proj]\n",
         "hf-trainer bf16 zero 0 recompute none frozen; lora-targets query+value+up"},
        {"a.yaml", AXOLOTL "adapter: lora\nlora_target_modules: [model.layers.*.o_proj, proj]\n",
         "hf-trainer bf16 zero 0 recompute none frozen; lora-targets output; not lora_target_modules"},
        {"a.yaml",
         AXOLOTL
         "adapter: qlora\nload_in_4bit: true\nbnb_config_kwargs: {bnb_4bit_use_double_quant: false}\n",
         "hf-trainer bf16 zero 0 recompute none frozen; params fp4; single-scale yes"},
        {"a.yaml", AXOLOTL "optimizer: paged_adamw_8bit\n",
         "hf-trainer bf16 zero 0 recompute none; moments fp8"},
        {"a.yaml", AXOLOTL "optimizer: lion_8bit\n",
         "hf-trainer bf16 zero 0 recompute none; moments fp8; optimizer momentum"},
        {"a.yaml", AXOLOTL "optimizer: galore_adamw_layerwise\noptim_args: 'rank=64, update_proj_gap=100'\n",
         "hf-trainer bf16 zero 0 recompute none; optimizer galore; optimizer-rank 64; step-in-backward yes"},
        {"a.yaml", AXOLOTL "optimizer: adalomo\n", "hf-trainer bf16 zero 0 recompute none; optimizer none"},
        {"a.yaml", AXOLOTL "eager_attention: true\n",
         "hf-trainer bf16 zero 0 recompute none; fused-attention no"},
        {"a.yaml", AXOLOTL "attn_implementation: xformers\n",
         "hf-trainer bf16 zero 0 recompute none; not attn_implementation"},
        {"a.yaml", FULL "pure_bf16: true\nflash_attn: disabled\n",
         "hf-trainer bf16 zero 0 recompute none; fused-attention no"},
        {"a.yaml", AXOLOTL "optimizer: shampoo\n", "hf-trainer bf16 zero 0 recompute none; not optimizer"},
        {"a.yaml", AXOLOTL "liger_rope: true\nliger_rms_norm: true\nliger_glu_activation: true\n",
         "hf-trainer-fused bf16 zero 0 recompute none"},
        {"a.yaml", AXOLOTL "liger_rope: true\n", "hf-trainer bf16 zero 0 recompute none; not liger_rope"},
        {"a.yaml", FULL "bf16: true\n",
         "hf-trainer bf16 zero 0 recompute none; grads fp32; moments fp32; params fp32"},
        {"a.yaml", FULL "pure_bf16: true\n", "hf-trainer bf16 zero 0 recompute none"},
        {"a.yaml", FULL "pure_bf16: true\nuse_galore: true\ngalore_rank: 128\ngalore_layerwise: true\n",
         "hf-trainer bf16 zero 0 recompute none; optimizer galore; optimizer-rank 128; step-in-backward yes"},
        {"a.yaml", FULL "pure_bf16: true\nuse_apollo: true\n",
         "hf-trainer bf16 zero 0 recompute none; optimizer apollo; optimizer-rank 16"},
        {"a.yaml", FULL "pure_bf16: true\nstage: dpo\n", "hf-trainer bf16 zero 0 recompute none; not stage"},
        {"a.yaml", FACTORY "bf16: true\nquantization_bit: 4\n",
         "hf-trainer bf16 zero 0 recompute full frozen; params fp4"},
        {"a.json", ZERO(3, ""), "deepspeed bf16 zero 3 recompute none"},
        {"a.json", ZERO(2, ", \"communication_data_type\": \"fp32\""),
         "deepspeed bf16 zero 2 recompute none; wire 32"},
        {"a.json", ZERO(1, ", \"optimizer\": {\"type\": \"OneBitAdam\"}"),
         "deepspeed bf16 zero 1 recompute none; wire 1"},
        {"a.json", ZERO(3, ", \"optimizer\": {\"type\": \"Muon\"}"),
         "deepspeed bf16 zero 3 recompute none; optimizer momentum; not optimizer.type"},
        {"a.json", ZERO(2, ", \"data_types\": {\"grad_accum_dtype\": \"fp32\"}"),
         "deepspeed bf16 zero 2 recompute none; grads fp32"},
        {"a.json", ZERO(0, ", \"zero_optimisation\": {\"stage\": 3}"),
         "deepspeed bf16 zero 0 recompute none; unknown zero_optimisation.stage"},
        {"r.sh", RUN("accelerate launch --use_fsdp --fsdp_sharding_strategy 2", "--bf16"),
         "hf-trainer bf16 zero 2 recompute none"},
        {"r.sh",
         RUN("accelerate launch --use_deepspeed --zero_stage 3 --offload_optimizer_device cpu", "--bf16"),
         "deepspeed bf16 zero 3 recompute none; offload 100; offload-to host"},
        {"r.sh", RUN("torchrun", "--dtype float32 --bf16 --optim adafactor --gradient_checkpointing"),
         "hf-trainer bf16 zero 0 recompute full; grads fp32; moments fp32; params fp32; optimizer factored"},
        {"r.sh",
         RUN("python", "--bf16 --use_peft --lora_modules_to_save embed_tokens lm_head --use_liger_kernel"),
         "hf-trainer-fused bf16 zero 0 recompute none frozen; lora-ends yes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct launch_options options = text_reads(cases[i].path, cases[i].text, NULL);
        struct text text = {0};
        summarise(&options, &text);
        if (strcmp(text.data, cases[i].means) != 0)
            fail_msg("%s\nmeans\n%s\nnot\n%s", cases[i].text, text.data, cases[i].means);
        text_release(&text);
        launch_options_release(&options);
    }
}

/* A value that is none of its setting's is refused, not taken for true. */
static void values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text, *says;
    } cases[] = {
        {"a.yaml", AXOLOTL "fsdp_config: {fsdp_sharding_strategy: FULL_SHRD}\n",
         "a.yaml:4: fsdp_config.fsdp_sharding_strategy: expected one of FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, "
         "HYBRID_SHARD, HYBRID_SHARD_ZERO2, _HYBRID_SHARD_ZERO2, 1, 2, 3, 4, 5, found 'FULL_SHRD'"},
        {"a.yaml", AXOLOTL "gradient_checkpointing: ture\n",
         "a.yaml:4: gradient_checkpointing: expected true or false or offload or offload_disk or unsloth, "
         "found "
         "'ture'"},
        {"a.yaml", AXOLOTL "bf16: flase\n",
         "a.yaml:4: bf16: expected true or false or auto or full, found 'flase'"},
        {"a.yaml", AXOLOTL "load_in_4bit: 4\n", "a.yaml:4: load_in_4bit: expected true or false, found '4'"},
        {"a.yaml", AXOLOTL "adapter: lora2\n",
         "a.yaml:4: adapter: expected one of lora, qlora, llama-adapter, found 'lora2'"},
        {"f.yaml", FACTORY "use_galore: ture\n",
         "f.yaml:5: use_galore: expected true or false, found 'ture'"},
        {"d.json", "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": \"ja\"}}",
         "d.json:1: bf16.enabled: expected true or false or auto, found 'ja'"},
        {"d.json", ZERO(2, ""), NULL},
        {"r.sh", RUN("torchrun --nproc_per_node 8", "--bf16 Fasle"),
         "r.sh:1: --bf16: expected true or false, found 'Fasle'"},
        {"r.sh", RUN("torchrun --nproc_per_node 8", "--bf16 True"), NULL},
        {"r.sh", RUN("torchrun --nproc_per_node 8", "--bf16"), NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].says) {
            text_refused(cases[i].path, cases[i].text, cases[i].says);
            continue;
        }
        struct launch_options options = text_reads(cases[i].path, cases[i].text, NULL);
        launch_options_release(&options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_mean),
        cmocka_unit_test(values_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
