/* Optimizers by their names, in all software: what they hold between steps, and what they exchange. */
#include "launch/read/read.h"

#include "names.h"

#include <string.h>

/* By a part of the name; the first that is found counts. Names: transformers/training_args.py (OptimizerNames),
 * axolotl's CustomSupportedOptimizers, deepspeed/runtime/config.py (DEEPSPEED_OPTIMIZERS), Megatron-LM's
 * --optimizer. */
static const struct {
    const char *part;
    enum optimizer_kind kind;
    const char *why; /* what is not priced; NULL: nothing */
} kinds[] = {ROWS_optimizer};

void launch_set_optimizer(struct launch_options *options, struct launch_argument *by, const char *name,
                          int64_t rank)
{
    size_t i = 0, count = sizeof kinds / sizeof *kinds;
    if (strchr(name, SHELL_MARK))
        return;
    while (i < count && !strcasestr(name, kinds[i].part))
        i++;
    const char *why = i < count ? kinds[i].why : "an optimizer that is not known; Adam is priced";
    by->use = i == count ? LAUNCH_UNKNOWN : why ? LAUNCH_UNMODELLED : LAUNCH_READ;
    by->note = why;
    if (i < count && kinds[i].kind != OPTIMIZER_USUAL)
        launch_set(&options->technique[TECHNIQUE_OPTIMIZER], by, kinds[i].kind);
    if (i < count && (kinds[i].kind == OPTIMIZER_GALORE || kinds[i].kind == OPTIMIZER_APOLLO))
        launch_set(&options->technique[TECHNIQUE_OPTIMIZER_RANK], by, rank);
    if (i < 3) /* the usual exchanges of its first steps, its warm-up, are not those that last */
        launch_set(&options->technique[TECHNIQUE_WIRE], by, 1);
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
    struct launch_argument *more = launch_argument(options, "optim_args");
    const char *at = launch_is_on(options, "optim_args") ? more->value : NULL;
    int64_t rank = 128;
    for (size_t length; at && *at; at += length + (at[length] != '\0')) {
        length = strcspn(at, ",");
        const char *equals = memchr(at, '=', length);
        const char *value =
            equals ? arena_copy(&options->arena, equals + 1, length - (size_t)(equals + 1 - at)) : "";
        bool ranks = text_starts_with(at + strspn(at, " "), "rank");
        options->no_memory |= !value;
        if (!equals || (ranks && value && !launch_number(value, 1, &rank))) {
            more->use = LAUNCH_UNKNOWN;
            more->note = "expected NAME=VALUE, …; ranks are whole numbers";
        }
    }
    if (!optimizer || !optimizer->value || launch_text(options, name) == NULL)
        return;
    launch_set_optimizer(options, optimizer, optimizer->value, rank);
}
