#include "devices/software.h"

#include "core/text.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* The passes are counted from the kernels that each software launches, and scaled together to fit published runs
 * (docs/validate.md). Which communication hides under computing follows each software's documented defaults. */

#define T(technique) (UINT64_C(1) << TECHNIQUE_##technique)
#define SOME_BLOCKS  (T(METHOD) | T(LAYERS))
#define EXCHANGES    (T(EXPERT_TENSOR) | T(CONTEXT_KIND))
#define S(schedule)  (1u << SCHEDULE_##schedule)
#define FORMATS      (T(GRADIENTS) | T(PARAMETERS) | T(RECIPE))
#define SHARDS       (T(REPLICATE) | T(RESHARD) | T(PREFETCH))
#define LORA         (T(RANK) | T(TARGETS) | T(ENDS))
#define HABITS       (T(SEQUENCE) | T(ATTENTION) | T(DATA_OVERLAP) | T(GATHER_OVERLAP)) /* of Megatron's options */
/* PEFT, bitsandbytes, and the optimizers of the Trainer */
#define TUNING                                                                                               \
    (LORA | T(SCALES) | T(STEP) | T(PARAMETERS) | T(GRADIENTS) | T(MASTER) | T(MOMENTS) | T(OPTIMIZER) |     \
     T(OPTIMIZER_RANK) | T(ATTENTION) | T(DATA_OVERLAP))

/* Transformer Engine, distributed optimizer, interleaving. */
#define MEGATRON_CORE                                                                                        \
    .narrow_kept = true, .attention = ATTENTION_FLASH3, .middle = 3, .loss_kept = 6, .optimizer = 30,        \
    .accumulate = 4, .step_host = 0.025, .gradient_bytes = 4, .sequence_parallel = true, .sharded = true,    \
    .interleaves = true, .caches_weights = true, .parameter_bytes = 2, .stored_gradient_bytes = 4,           \
    .state_bytes = 12, .backward_working = 1, .matrix_working = 6, .runtime_share = 0, .selective_kept = 1,  \
    .selective = 0.0, .zero_staged = 3, .some_blocks = METHOD_BLOCK

#define ALL_DEGREES (OFFERS_TENSOR | OFFERS_PIPELINE | OFFERS_CHUNKS | OFFERS_CONTEXT | OFFERS_EXPERT)

/* ZeRO-2 and 3 are Megatron-FSDP. */
#define MEGATRON_CORE_2025                                                                                   \
    MEGATRON_CORE,                                                                                           \
        .zero = 15,                                                                                          \
        .techniques = SOME_BLOCKS | FORMATS | EXCHANGES | T(MODULES) | T(MASTER) | T(MOMENTS) |              \
                      T(REPLICATE) | T(OFFLOAD) | T(OFFLOAD_ACTIVATIONS) | T(DISPATCH) | T(EXPERT_OVERLAP) | \
                      T(TENSOR_OVERLAP) | LORA | HABITS | T(EXPERT_KERNELS) | T(OPTIMIZER),                  \
        .offers = ALL_DEGREES | OFFERS_LAYOUTS, .dispatch = DISPATCH_DEEPEP, .send_blocks = true,            \
        .block_forward = 10.1, .block_backward = 14.2, .loss = 40, .tensor_shown = 1,                        \
        .tensor_overlapped = 0.538, .data_shown = 0.821

/* Scores in memory, a fused softmax, gradients exchanged after the backward pass. */
#define MEGATRON_UNFUSED                                                                                     \
    .attention = ATTENTION_UNFUSED, .middle = 1, .loss = 16, .loss_kept = 6, .optimizer = 30,                \
    .tensor_shown = 1, .data_shown = 1, .parameter_bytes = 2, .matrix_working = 0, .selective_kept = 1,      \
    .selective = 0.0, .send_blocks = true

/* NVIDIA's own runs; and those of DeepSpeed's ZeRO-3 of 2021. */
#define NVIDIA                                                                                               \
    .block_forward = 12.2, .block_backward = 16.9, .softmax_forward = 5, .softmax_backward = 7,              \
    .accumulate = 6, .gradient_bytes = 2, .stored_gradient_bytes = 2, .state_bytes = 15,                     \
    .backward_working = 1, .runtime_share = 0.04, .zero = 3, .zero_staged = 3, .shows_shards = true,         \
    .offers = OFFERS_TENSOR | OFFERS_PIPELINE | OFFERS_CHUNKS

/* BigScience's runs, with DeepSpeed's ZeRO. Gradients of 16 bits are all-reduced as a whole, and then parameters gathered, in buckets
 * that are copied: as long as 4 bytes on the wire. Buckets, zeroing and checks of each micro-batch's gradients count as adding them up. */
#define BIGSCIENCE                                                                                           \
    .block_forward = 45, .block_backward = 57, .softmax_forward = 3.96, .softmax_backward = 5.91,            \
    .accumulate = 20, .gradient_bytes = 4, .state_bytes = 17, .unsharded_bytes = 6, .backward_working = 4.3, \
    .runtime_share = 0.072, .sharded = true, .zero = 15, .zero_staged = 3,                                   \
    .techniques = T(OFFLOAD) | T(OFFLOAD_TO) | T(OFFLOAD_ACTIVATIONS),                                       \
    .offers = OFFERS_TENSOR | OFFERS_PIPELINE

/* Parameters, gradients and optimizer states sharded over all data parallel ranks. */
#define FSDP                                                                                                 \
    .attention = ATTENTION_FLASH2, .optimizer = 30, .data_shown = 0.5, .gradient_bytes = 2,                  \
    .fully_sharded = true, .sharded = true, .parameter_bytes = 4, .stored_gradient_bytes = 4,                \
    .state_bytes = 8, .backward_working = 1, .runtime_share = 0.05, .zero = 12

/* FSDP2, one pipeline per local batch. */
#define TORCHTITAN                                                                                           \
    FSDP, .step_host = 0.05, .sequence_parallel = true, .keeps_gathered = true, .keeps_inputs = true,        \
          .splits_local_batch = true, .zero_staged = 12, .offers = ALL_DEGREES, .some_blocks = METHOD_EVERY, \
          .gathers_copied = true, .narrow_gathered = true

#define TORCHTITAN_TECHNIQUES (SOME_BLOCKS | T(REPLICATE) | T(RESHARD) | T(RECIPE))

#define TORCHTITAN_COMPILED                                                                                  \
    TORCHTITAN,                                                                                              \
        .techniques = TORCHTITAN_TECHNIQUES | T(TENSOR_OVERLAP), .block_forward = 15,                        \
        .block_backward = 18.1, .middle = 1, .loss = 16, .accumulate = 6, .tensor_shown = 1,                 \
        .tensor_overlapped = 0.54, .matrix_working = 6, .selective_kept = 0.47, .selective = 0.8,            \
        .loss_kept_split = 16 /* PyTorch's loss_parallel is not compiled: a result of each operation */

/* Kernels of PyTorch, one for each operation. In passes of 2 bytes a norm in fp32 takes 16 forward, rotary embedding 18,
 * sums 10, and their gradients twice as many. PEFT's adapters are fp32: their input is cast, dropped out and multiplied,
 * their output scaled, added and cast. */
#define HF_KERNELS                                                                                           \
    PYTORCH_BF16(FLASH2), .late_gradients = true, .step_bytes = 2, .middle = 2, .adapter_in = 15,            \
                          .adapter_out = 24, .adapter_back_in = 17, .adapter_back_out = 14

/* Weights and gradients in bf16; attention in one kernel. */
#define PYTORCH_BF16(kind)                                                                                   \
    .attention = ATTENTION_##kind, .data_shown = 0.5, .gradient_bytes = 2, .sharded = true,                  \
    .backward_working = 1, .parameter_bytes = 2, .stored_gradient_bytes = 2, .accumulate = 6,                \
    .tensor_shown = 1, .matrix_working = 2, .selective_kept = 0.55, .selective = 0.3

/* FSDP with Adam's moments in bf16, too. */
#define FSDP_BF16                                                                                            \
    .optimizer = 18, .state_bytes = 4, .fully_sharded = true, .zero = 12, .techniques = SHARDS | TUNING

/* All of a block's operations by themselves; norms, rotary embedding and loss in kernels of their own. */
#define EAGER_BLOCK .eager = true, .block_forward = 63, .block_backward = 115, .loss = 60, .loss_kept = 12
#define FUSED_BLOCK .block_forward = 30, .block_backward = 42

/* The Trainer's loop, and the launch of kernels. */
#define TRAINER_HOST   .block_host = 6.8e-3, .step_host = 0.15, .expert_each = 1.4e-3, .runtime_share = 0.01
#define DEEPSPEED_HOST .block_host = 6.8e-3, .shard_host = 3e-3, .expert_each = 1.4e-3, .runtime_share = 0.03

/* Weights in bf16 with a copy and moments in fp32. */
#define DEEPSPEED                                                                                            \
    .zero = 15, .zero_staged = 3, .state_bytes = 12, .optimizer = 30,                                        \
    .techniques = T(OFFLOAD) | T(OFFLOAD_TO) | T(WIRE) | TUNING

/* One compiled program: parameters are gathered and gradients scattered beside it, both in the products' bf16: casts to and from
 * fp32 are on the shards' side of them. */
#define XLA                                                                                                  \
    .fully_sharded = true, .sharded = true, .one_pass = true, .late_gradients = true, .zero = 12,            \
    .gathers_matrices = true, .zero_staged = 12, .offers = ALL_DEGREES,                                      \
    .techniques = SHARDS | T(OFFLOAD_ACTIVATIONS) | LORA | T(ATTENTION) | T(OPTIMIZER), .gradient_bytes = 2, \
    .parameter_bytes = 4, .stored_gradient_bytes = 4, .state_bytes = 8, .optimizer = 30, .middle = 1,        \
    .block_forward = 18, .block_backward = 24, .loss = 24, .loss_kept = 2, .accumulate = 6,                  \
    .tensor_shown = 1, .data_shown = 0.5, .backward_working = 1, .matrix_working = 2, .runtime_share = 0.05, \
    .step_host = 0.015, .selective_kept = 0.4, .expert_rate = 0.7

const struct software software_all[SOFTWARE_COUNT] = {
    {
        .name = "megatron-core",
        .text = "Megatron-Core from June 2026 on, Megatron-Bridge: Transformer Engine, cuDNN attention; "
                "activation and "
                "casts inside of experts' products, CUDA graphs",
        MEGATRON_CORE_2025,
        .expert_rate = 0.8,
        .expert_host = 0.003,
    },
    {
        .name = "megatron-core-2025",
        .text = "the same of 2025: experts' products by themselves, each kernel launched by the host",
        MEGATRON_CORE_2025,
        .expert_rate = 0.58,
        .expert_host = 0.00836,
    },
    {
        .name = "megatron-core-2024",
        .text = "Megatron-Core of 2023 and 2024, NeMo: the same, less of it fused and hidden",
        MEGATRON_CORE,
        .send_blocks = true,
        .zero = 3,
        .techniques = SOME_BLOCKS | FORMATS | EXCHANGES | T(OFFLOAD_ACTIVATIONS) | T(TENSOR_OVERLAP) | LORA |
                      HABITS | T(EXPERT_KERNELS) | T(OPTIMIZER),
        .offers = ALL_DEGREES,
        .block_forward = 14.1,
        .block_backward = 26.9,
        .loss = 32,
        .expert_rate = 0.58,
        .expert_host = 8e-3,
        .tensor_shown = 1,
        .tensor_overlapped = 0.576,
        .data_shown = 0.238,
    },
    {
        .name = "megatron-2021",
        .text = "Megatron-LM until 2022: unfused attention with a fused softmax",
        MEGATRON_UNFUSED,
        NVIDIA,
    },
    {
        .name = "megatron-2022",
        .text = "Megatron-LM of 2022: the same with sequence parallelism",
        MEGATRON_UNFUSED,
        NVIDIA,
        .sequence_parallel = true,
    },
    {
        .name = "megatron-deepspeed",
        .text = "BigScience's Megatron-DeepSpeed of 2021 and 2022",
        MEGATRON_UNFUSED,
        BIGSCIENCE,
        .stored_gradient_bytes = 2.65,
    },
    {
        .name = "megatron-deepspeed-bf16",
        .text = "the same in bf16: gradients are added up in fp32",
        MEGATRON_UNFUSED,
        BIGSCIENCE,
        .stored_gradient_bytes = 7.4,
    },
    {
        .name = "fsdp",
        .techniques = SHARDS | T(GRADIENTS) | T(MOMENTS) | T(PARAMETERS),
        .text = "PyTorch FSDP as in llm-foundry: fused attention in Triton, slower than FlashAttention-2",
        FSDP,
        .step_host = 0.02,
        .attention_forward = 1,
        .attention_backward = 0.558,
        .block_forward = 7.42,
        .block_backward = 30,
        .middle = 1.5,
        .loss = 21.3,
        .loss_kept = 3,
        .accumulate = 6,
        .tensor_shown = 1,
        .matrix_working = 6,
        .selective_kept = 0.33,
        .selective = 0.598,
    },
    {
        .name = "torchtitan",
        .text = "torchtitan, compiled with its loss: FSDP2, FlashAttention-2",
        TORCHTITAN_COMPILED,
        .loss_kept = 4, /* logits and their gradient in bf16: the rest is in the loss's one kernel */
    },
    {
        .name = "torchtitan-2024",
        .text = "torchtitan of 2024, compiled without its loss",
        TORCHTITAN_COMPILED,
        .loss_kept = 12,
    },
    {
        .name = "torchtitan-eager",
        .text = "torchtitan without compilation",
        TORCHTITAN,
        .techniques = TORCHTITAN_TECHNIQUES | T(SCHEDULE),
        .schedules = S(ZB_V), /* what is compiled makes both gradients at once */
        .loss_kept = 12,
        .block_forward = 63, /* as many kernels as in EAGER_BLOCK */
        .block_backward = 115,
        .middle = 2,
        .loss = 24,
        .accumulate = 8,
        .tensor_shown = 1,
        .matrix_working = 0,
        .selective_kept = 0.55,
        .selective = 0.3,
    },
    {
        .name = "hf-trainer",
        .text =
            "Hugging Face's Trainer with FSDP: weights, gradients and Adam's moments in bf16, not compiled",
        HF_KERNELS,
        .keeps_root = true,
        FSDP_BF16,
        .adapter_bytes = 4,
        .dequantize = 1.9,
        EAGER_BLOCK,
        TRAINER_HOST,
    },
    {
        .name = "hf-trainer-fused",
        .text = "the same with fused kernels of norms, rotary embedding and loss (Liger, Unsloth)",
        HF_KERNELS,
        .keeps_root = true,
        FSDP_BF16,
        .adapter_bytes = 4,
        .dequantize = 1.9,
        .loss = 24,
        .loss_kept = 8,
        FUSED_BLOCK,
        TRAINER_HOST,
    },
    {
        .name = "hf-trainer-2023",
        .text = "the same of 2023, 4-bit weights unpacked by PyTorch",
        HF_KERNELS,
        .keeps_root = true,
        .optimizer = 30,
        .state_bytes = 12,
        .fully_sharded = true,
        .zero = 12,
        .techniques = SHARDS | TUNING,
        .eager = true,
        .adapter_bytes = 4,
        .dequantize = 6,
        .block_forward = 46,
        .block_backward = 84,
        .loss = 60,
        .loss_kept = 12,
        .block_host = 3.4e-3,
        .step_host = 0.15,
        .expert_each = 1.4e-3,
        .runtime_share = 0.03,
    },
    {
        .name = "deepspeed",
        .text = "Hugging Face's Trainer or Accelerate with DeepSpeed's ZeRO: states in fp32, not compiled",
        HF_KERNELS,
        DEEPSPEED,
        .adapter_bytes = 4,
        .dequantize = 2,
        EAGER_BLOCK,
        DEEPSPEED_HOST,
    },
    {
        .name = "xtuner",
        .text = "XTuner: DeepSpeed's ZeRO with packed samples and fused norms and rotary embedding",
        HF_KERNELS,
        DEEPSPEED,
        .adapter_bytes = 4,
        .dequantize = 2,
        .loss = 60,
        .loss_kept = 12,
        FUSED_BLOCK,
        DEEPSPEED_HOST,
    },
    {
        .name = "automodel",
        .text = "NVIDIA's NeMo AutoModel: FSDP2, Transformer Engine, DeepEP",
        PYTORCH_BF16(FLASH3),
        FSDP_BF16,
        .keeps_gathered =
            true, /* its own models of experts: MoEFSDPSyncMixin, gradients reduced in fp32 once */
        .keeps_with_experts = true,
        .steps_together = true,
        .offers = ALL_DEGREES,
        .middle = 1.5,
        .block_forward = 24,
        .block_backward = 36,
        .loss = 40,
        .loss_kept = 8,
        .expert_rate = 1,
        .dispatch = DISPATCH_DEEPEP,
        .runtime_share = 0.02,
        .zero_staged = 12,
        .adapter_bytes = 2,
        .adapter_in = 8,
        .adapter_out = 12,
        .adapter_back_in = 8,
        .adapter_back_out = 7,
        .block_host = 2e-3,
    },
    {
        .name = "torchtune",
        .text = "torchtune: FSDP2, all states in bf16, compiled",
        PYTORCH_BF16(FLASH2),
        FSDP_BF16,
        .runtime_share = 0.02,
        .middle = 1.5,
        .loss = 24,
        .loss_kept = 8,
        .block_host = 3e-3,
        FUSED_BLOCK,
    },
    {
        .name = "internevo",
        .text = "InternEvo: ZeRO-1 in groups, FlashAttention-2, fused norms and rotary embedding",
        .attention = ATTENTION_FLASH2,
        .techniques = T(REPLICATE),
        .offers = OFFERS_TENSOR | OFFERS_PIPELINE | OFFERS_CHUNKS | OFFERS_CONTEXT,
        .zero = 11,
        .zero_staged = 3,
        .sharded = true,
        .gradient_bytes = 2,
        .parameter_bytes = 2,
        .stored_gradient_bytes = 2,
        .state_bytes = 24,
        .optimizer = 30,
        .middle = 1.5,
        .block_forward = 20,
        .block_backward = 34,
        .loss = 100,
        .loss_kept = 10,
        .accumulate = 6,
        .tensor_shown = 1,
        .data_shown = 0.22,
        .backward_working = 1,
        .matrix_working = 2,
        .runtime_share = 0.04,
        .selective_kept = 1,
        .send_blocks = true,
        .step_host = 0.42,
        .state_each =
            2.7e-3, /* HybridZeroOptimizer._broadcast_params: one broadcast from each rank after another */
    },
    {
        .name = "litgpt",
        .text = "LitGPT: FSDP with all states in bf16, not compiled",
        HF_KERNELS,
        FSDP_BF16,
        .adapter_bytes = 2,
        .dequantize = 2,
        .block_host = 5e-3,
        .runtime_share = 0.01,
        EAGER_BLOCK,
    },
    {
        .name = "nanogpt",
        .text = "custom PyTorch scripts, compiled, with FlashAttention-2: nanoGPT, TinyLlama",
        FSDP,
        .techniques = SHARDS,
        .middle = 1,
        .block_forward = 15,
        .block_backward = 18.1,
        .loss = 24,
        .loss_kept = 12,
        .accumulate = 6,
        .tensor_shown = 1,
        .matrix_working = 6,
        .selective_kept = 0.47,
        .selective = 0.8,
    },
    {
        .name = "maxtext",
        .text = "MaxText: compiled by XLA, weights and Adam's moments in fp32",
        XLA,
        .attention = ATTENTION_FLASH3,
        .selective = 0.6,
    },
    {
        .name = "paxml",
        .text = "Paxml and other JAX without Transformer Engine: the same, masks of attention are tensors",
        XLA,
        .attention = ATTENTION_FLASH3,
        .attention_forward =
            0.5, /* XLA's fused attention takes the mask as a bias: all scores are computed */
        .attention_backward = 0.5,
        .selective = 0.6,
    },
    {
        .name = "neuron",
        .text = "AWS Neuron: NeuronX Distributed, NeMo Megatron",
        .attention = ATTENTION_FLASH2,
        .offers = OFFERS_TENSOR | OFFERS_PIPELINE,
        .zero = 3,
        .zero_staged = 3,
        .sharded = true,
        .sequence_parallel = true,
        .gradient_bytes = 4,
        .parameter_bytes = 2,
        .stored_gradient_bytes = 4,
        .state_bytes = 12,
        .optimizer = 30,
        .middle = 1,
        .block_forward = 15,
        .block_backward = 20,
        .loss = 24,
        .loss_kept = 8,
        .accumulate = 8,
        .tensor_shown = 1,
        .data_shown = 1,
        .backward_working = 1,
        .matrix_working = 2,
        .runtime_share = 0.05,
        .selective_kept = 1,
        .send_blocks = true,
    },
    /* Attention at the rates of arXiv:2407.08608 with heads of 128 to 256, products in 8 bits with a scale for each 128
     * numbers at those of github.com/deepseek-ai/DeepGEMM on H800: 985 to 1360 TFLOP/s where one scale for a tensor gives
     * 1260 to 1490, and groups of experts at 1099 to 1297, those of weights' gradients at less. */
    {
        .name = "ideal",
        .text = "no software: all techniques at their published best (FlashAttention-3, DeepGEMM, DeepEP, "
                "DualPipe)",
        MEGATRON_CORE,
        .zero = 3,
        .offers = ALL_DEGREES | OFFERS_LAYOUTS,
        .techniques = SOME_BLOCKS | T(MODULES) | EXCHANGES | T(DISPATCH) | T(EXPERT_OVERLAP) | T(SCHEDULE) |
                      FORMATS | T(MASTER) | T(MOMENTS) | T(ACTIVATIONS) | T(OFFLOAD) | T(OFFLOAD_ACTIVATIONS),
        .schedules = S(ZB_H1) | S(DUALPIPE) | S(ZB_V) | S(DUALPIPEV),
        .dispatch = DISPATCH_DEEPEP,
        .narrow_dispatch = true,
        .attention_forward = 1.25,
        .attention_backward = 1.25,
        .narrow_rate = 0.85,
        .expert_rate = 0.7,
        .block_forward = 10.1,
        .block_backward = 14.2,
        .loss = 40,
        .tensor_shown = 0.538,
        .data_shown = 0.238,
    },
};

const struct software *software_find(const char *name)
{
    if (strcasecmp(name, "megatron-core-2026") == 0) /* the newest has the plain name */
        name = "megatron-core";
    for (int i = 0; i < SOFTWARE_COUNT; i++)
        if (strcasecmp(name, software_all[i].name) == 0)
            return &software_all[i];
    return NULL;
}

bool software_splits_norms(const struct software *software, int sequence)
{
    return sequence == SWITCH_USUAL ? software->sequence_parallel : sequence == SWITCH_ON;
}

enum attention_kind software_attention(const struct software *software, int fused)
{
    if (fused == SWITCH_OFF)
        return ATTENTION_UNFUSED;
    return fused == SWITCH_ON && software->attention == ATTENTION_UNFUSED ? ATTENTION_FLASH2
                                                                          : software->attention;
}

bool software_unknown(const char *name, struct error *err)
{
    const char *names[SOFTWARE_COUNT];
    struct text_hint hint;
    for (int i = 0; i < SOFTWARE_COUNT; i++)
        names[i] = software_all[i].name;
    struct text list = {0};
    for (int i = 0; i < SOFTWARE_COUNT; i++)
        text_format(&list, "%s%s", i == 0 ? ", expected one of " : ", ", names[i]);
    error_set(err, ERROR_USAGE, "--software: unknown '%s'%s", name,
              text_suggest(&hint, text_nearest(name, names, SOFTWARE_COUNT), list.data ? list.data : ""));
    text_release(&list);
    return false;
}
