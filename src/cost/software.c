#include "cost/software.h"

#include "core/text.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* The passes are counted from the kernels each software launches, and scaled together by what published runs
 * show (docs/validation.md); what hides under what follows each software's documented defaults. */
static const struct software softwares[] = {
    {
        .name = "megatron-core",
        .text = "Megatron-LM from 2023 on, NeMo, Megatron-Bridge: Transformer Engine, cuDNN attention",
        .attention = ATTENTION_FLASH3,
        .block_forward = 10,
        .block_backward = 14,
        .middle = 1,
        .loss = 16,
        .optimizer = 30,
        .accumulate = 8,
        .tensor_shown = 0.5,
        .data_shown = 0.15,
        .gradient_bytes = 4,
        .sequence_parallel = true,
        .sharded = true,
        .interleaves = true,
        .caches_weights = true,
        .parameter_bytes = 2,
        .stored_gradient_bytes = 4,
        .state_bytes = 12,
        .backward_working = 1,
        .runtime_bytes = 0,
        .selective = 0.0,
    },
    {
        .name = "megatron-2021",
        .text = "Megatron-LM until 2022: unfused attention with a fused softmax",
        .attention = ATTENTION_UNFUSED,
        .block_forward = 16,
        .block_backward = 20,
        .middle = 1,
        .softmax_forward = 5,
        .softmax_backward = 7,
        .loss = 16,
        .optimizer = 30,
        .accumulate = 8,
        .tensor_shown = 1,
        .data_shown = 1,
        .gradient_bytes = 2,
        .parameter_bytes = 2,
        .stored_gradient_bytes = 2,
        .state_bytes = 16,
        .backward_working = 1,
        .runtime_bytes = 4e9,
        .selective = 0.0,
    },
    {
        .name = "megatron-deepspeed",
        .text = "BigScience's Megatron-DeepSpeed of 2021 and 2022",
        .attention = ATTENTION_UNFUSED,
        .block_forward = 16,
        .block_backward = 20,
        .middle = 1,
        .softmax_forward = 5,
        .softmax_backward = 7,
        .loss = 16,
        .optimizer = 30,
        .accumulate = 8,
        .tensor_shown = 1,
        .data_shown = 1,
        .gradient_bytes = 2,
        .parameter_bytes = 2,
        .stored_gradient_bytes = 2,
        .state_bytes = 16,
        .backward_working = 1,
        .runtime_bytes = 8e9,
        .selective = 0.0,
    },
    {
        .name = "fsdp",
        .text = "PyTorch FSDP with FlashAttention-2 (llm-foundry, fms-fsdp)",
        .attention = ATTENTION_FLASH2,
        .block_forward = 10,
        .block_backward = 14,
        .middle = 2,
        .loss = 16,
        .optimizer = 30,
        .accumulate = 8,
        .tensor_shown = 1,
        .data_shown = 0.5,
        .gradient_bytes = 2,
        .fully_sharded = true,
        .sharded = true,
        .parameter_bytes = 4,
        .stored_gradient_bytes = 4,
        .state_bytes = 8,
        .backward_working = 1,
        .runtime_bytes = 4e9,
        .selective = 0.3,
    },
    {
        .name = "torchtitan",
        .text = "torchtitan, compiled: FSDP2, cuDNN attention",
        .attention = ATTENTION_FLASH3,
        .block_forward = 8,
        .block_backward = 12,
        .middle = 1,
        .loss = 16,
        .optimizer = 30,
        .accumulate = 8,
        .tensor_shown = 0.5,
        .data_shown = 0.5,
        .gradient_bytes = 2,
        .sequence_parallel = true,
        .fully_sharded = true,
        .sharded = true,
        .splits_local_batch = true,
        .parameter_bytes = 4,
        .stored_gradient_bytes = 4,
        .state_bytes = 8,
        .backward_working = 1,
        .runtime_bytes = 4e9,
        .selective = 0.3,
    },
    {
        .name = "torchtitan-eager",
        .text = "torchtitan without compilation",
        .attention = ATTENTION_FLASH3,
        .block_forward = 20,
        .block_backward = 28,
        .middle = 2,
        .loss = 24,
        .optimizer = 30,
        .accumulate = 8,
        .tensor_shown = 0.5,
        .data_shown = 0.5,
        .gradient_bytes = 2,
        .sequence_parallel = true,
        .fully_sharded = true,
        .sharded = true,
        .splits_local_batch = true,
        .parameter_bytes = 4,
        .stored_gradient_bytes = 4,
        .state_bytes = 8,
        .backward_working = 1,
        .runtime_bytes = 4e9,
        .selective = 0.3,
    },
};

/* How published tables call them; the first that begins the name. */
static const struct {
    const char *start, *name;
} known_as[] = {
    {"NeMo", "megatron-core"},
    {"Megatron-Bridge", "megatron-core"},
    {"Megatron-Core", "megatron-core"},
    {"Megatron-DeepSpeed", "megatron-deepspeed"},
    {"Megatron + Deepspeed", "megatron-deepspeed"},
    {"Megatron", "megatron-2021"},
    {"PyTorch FSDP", "fsdp"},
    {"ColossalAI", "fsdp"},
    {"torchtitan", "torchtitan"},
};

const struct software *software_all(int *count)
{
    *count = (int)(sizeof softwares / sizeof *softwares);
    return softwares;
}

const struct software *software_find(const char *name)
{
    for (size_t i = 0; i < sizeof softwares / sizeof *softwares; i++)
        if (strcasecmp(name, softwares[i].name) == 0)
            return &softwares[i];
    for (size_t i = 0; i < sizeof known_as / sizeof *known_as; i++)
        if (strncasecmp(name, known_as[i].start, strlen(known_as[i].start)) == 0)
            return software_find(known_as[i].name);
    return NULL;
}
