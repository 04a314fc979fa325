/* Optimizers by their names, in all software: what they hold between steps, and what they exchange. */
#include "launch/read/read.h"

#include <stdio.h>
#include <string.h>

/* By a part of the name; the first that is found counts. Names: transformers/training_args.py (OptimizerNames), axolotl's
 * CustomSupportedOptimizers, deepspeed/runtime/config.py (DEEPSPEED_OPTIMIZERS), Megatron-LM's --optimizer. */
static const struct {
    const char *part, *why; /* why it is not priced; NULL: Adam's two moments */
} kinds[] = {
    {"onebit", "gradients of 1 bit on the wire, after a warm-up"},
    {"1bit", "gradients of 1 bit on the wire, after a warm-up"},
    {"zeroone", "gradients of 1 bit on the wire, after a warm-up"},
    {"galore", "states of a projection of low rank; Adam's are priced"},
    {"apollo", "states of a projection of low rank; Adam's are priced"},
    {"adafactor", "a factored second moment; Adam's are priced"},
    {"came", "a factored second moment; Adam's are priced"},
    {"lomo", "no states; Adam's are priced"},
    {"muon", "one moment, and products that make it orthogonal; Adam is priced"},
    {"dion", "one moment, and products that make it orthogonal; Adam is priced"},
    {"shampoo", "preconditioners of each matrix; Adam is priced"},
    {"soap", "preconditioners of each matrix; Adam is priced"},
    {"ademamix", "three moments; Adam's two are priced"},
    {"adam_mini", "one second moment for a block; Adam's are priced"},
    {"schedule_free", "a further copy of the parameters; Adam is priced"},
    {"grokadamw", "a further average of the gradients; Adam is priced"},
    {"adam", NULL},
    {"lamb", NULL},
    {"lion", "one moment; Adam's two are priced"},
    {"sgd", "one moment; Adam's two are priced"},
    {"adagrad", "one moment; Adam's two are priced"},
    {"rmsprop", "one moment; Adam's two are priced"},
};

void launch_set_optimizer(struct launch_options *options, struct launch_argument *by, const char *name,
                          int64_t rank)
{
    const char *why = "an optimizer that is not known; Adam is priced";
    (void)rank;
    if (strchr(name, SHELL_MARK))
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcasestr(name, kinds[i].part)) {
            why = kinds[i].why;
            break;
        }
    by->use = why ? LAUNCH_UNMODELLED : LAUNCH_READ;
    by->note = why;
    bool narrow = strstr(name, "8bit") || strstr(name, "8-bit") || strstr(name, "fp8");
    if (narrow || strstr(name, "4bit"))
        launch_set(&options->technique[TECHNIQUE_MOMENTS], by, narrow ? FORMAT_FP8 : FORMAT_FP4);
    if (strstr(name, "layerwise"))
        launch_set(&options->technique[TECHNIQUE_STEP], by, SWITCH_ON);
}

/* GaLore's and APOLLO's rank is in other arguments of Hugging Face: "rank=128, update_proj_gap=200". */
void launch_settle_optimizer(struct launch_options *options, const char *name)
{
    struct launch_argument *optimizer = launch_argument(options, name);
    const char *more = launch_text(options, "optim_args"), *at = more ? strstr(more, "rank") : NULL;
    int64_t rank = 128;
    if (!optimizer || !optimizer->value)
        return;
    if (at) {
        at += strcspn(at, "0123456789");
        const char *digits = arena_copy(&options->arena, at, strspn(at, "0123456789"));
        options->no_memory |= !digits;
        if (!digits || !launch_number(digits, 1, &rank))
            rank = 128;
    }
    launch_set_optimizer(options, optimizer, optimizer->value, rank);
}
