/* Programs of Megatron-LM and its relatives: which of them train a decoder, and Megatron-DeepSpeed's own names. */
#include "launch/read/read.h"

#include <string.h>

/* Programs that train something else, by a part of their path. */
static const char *const other_programs[][2] = {
    {"pretrain_t5", "trains an encoder-decoder model: name it with -m (t5-11b)"},
    {"pretrain_ict", "trains a retrieval model, which is not modelled"},
    {"pretrain_realm", "trains a retrieval model, which is not modelled"},
    {"pretrain_retro", "trains a retrieval model, which is not modelled"},
    {"pretrain_vision", "trains a vision model: name it with -m (vit-l16)"},
    {"pretrain_vlm", "trains a vision-language model, which is not modelled"},
    {"tasks/main", "fine-tunes or evaluates on a downstream task, which is not modelled"},
    {"msdp/main", "fine-tunes or evaluates on a downstream task, which is not modelled"},
};

/* Arguments of which a training by Megatron's names has at least one. */
static const char *const sizes[] = {"micro-batch-size", "global-batch-size",   "num-layers",
                                    "hidden-size",      "model-parallel-size", "tensor-model-parallel-size",
                                    "seq-length"};

bool launch_has_megatron_sizes(const struct shell *shell)
{
    bool has = false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        has |= launch_has_option(shell, sizes[i]);
    return has;
}

bool launch_judge_program(struct launch_options *options, const char *path, const char *script,
                          struct error *err)
{
    bool known = options->missing_count > 0; /* what is missing may be any argument */
    for (size_t i = 0; !options->model_name && i < sizeof other_programs / sizeof *other_programs; i++)
        if (strstr(script, other_programs[i][0]))
            return error_set(err, ERROR_INPUT, "%s: runs %.200s, which %s", path, script,
                             other_programs[i][1]);
    for (size_t i = 0; !known && i < sizeof sizes / sizeof *sizes; i++)
        known = launch_argument(options, sizes[i]) != NULL;
    if (!known)
        return error_set(
            err, ERROR_INPUT,
            "%s: runs %.200s without any argument of Megatron-LM (--micro-batch-size, --num-layers, …)", path,
            script);
    if (strstr(script, "pretrain_bert"))
        launch_default(&options->bidirectional, 1);
    return true;
}

/* Experts in every second block and one per token are Megatron-DeepSpeed's defaults; its context parallel ranks
 * exchange heads (Ulysses). megatron/arguments.py of Megatron-DeepSpeed, July 2025. */
void launch_settle_deepspeed(struct launch_options *options)
{
    static const char *const own[] = {"deepspeed", "moe-expert-parallel-size", "expert-interval",
                                      "ds-sequence-parallel-size", "mlp-type"};
    bool is_deepspeed = false;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        is_deepspeed |= launch_argument(options, own[i]) != NULL;
    if (!is_deepspeed)
        return;
    const struct launch_argument *ulysses = launch_argument(options, "ds-sequence-parallel-size");
    struct launch_argument *type = launch_argument(options, "mlp-type");
    if (ulysses && options->context.given && options->context.value > 1)
        launch_set(&options->technique[TECHNIQUE_CONTEXT_KIND], ulysses, CONTEXT_ULYSSES);
    if (options->experts.given && options->experts.value > 1) {
        launch_default(&options->active_experts, 1);
        launch_default(&options->experts_every, 2);
    }
    if (type && type->value && strcmp(type->value, "residual") == 0) {
        type->use = LAUNCH_UNMODELLED;
        type->note = "a dense MLP beside the experts";
    }
}
