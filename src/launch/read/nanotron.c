/* nanotron's YAML. Names: src/nanotron/config. */
#include "launch/read/read.h"

#include <string.h>

static bool knows(const struct launch_source *source)
{
    const struct doc_node *root = source->doc ? source->doc->root : NULL;
    return root && doc_find(root, "tokens") && doc_find(root, "parallelism") &&
           doc_find(doc_find(root, "model"), "model_config");
}

/* Llama's blocks in every model: gated, without biases, RMSNorm, rotary. */
static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    if (!launch_read_doc(options, source->doc, "nanotron", err))
        return false;
    launch_default(&options->gated, 1);
    launch_default(&options->biased, 0);
    launch_default(&options->rms_norm, 1);
    launch_default(&options->rotary, 1);
    launch_default(&options->tied, 0);
    launch_default(&options->dropout, 0);
    launch_default(&options->padding, 1);
    options->software = "nanotron";
    if (!launch_is_on(options, "parallelism.tp_mode"))
        launch_default(&options->technique[TECHNIQUE_SEQUENCE], SWITCH_OFF);
    const char *engine = launch_text(options, "parallelism.pp_engine");
    if (engine && strcmp(engine, "1f1b") != 0 && options->pipeline.given && options->pipeline.value > 1)
        launch_unmodelled(options, "parallelism.pp_engine", "all forward passes before all backward ones");
    launch_settle_optimizer(options, "optimizer.optimizer_factory.name");
    int64_t width;
    if (launch_is_on(options, "model.model_config.moe_config.enable_shared_expert") &&
        launch_whole(options, "model.model_config.moe_config.shared_expert_intermediate_size", &width))
        launch_set(&options->shared_ffn, NULL, width);
    if (launch_is_on(options, "model.model_config.multi_query"))
        launch_default(&options->kv_heads, 1);
    launch_note(options, "nanotron's passes and exchanges are timed as those of Megatron-Core of 2024");
    return true;
}

/* Data, tensor, pipeline and expert ranks multiply to the devices; an expert rank is a data rank of the rest. */
static void complete(struct launch_options *options)
{
    launch_default(&options->accumulation, 1);
    launch_default(&options->sharding, 0);
    launch_default(&options->type, COST_BF16);
    launch_default(&options->data, 1);
    if (options->expert.given && options->data.value < 1000000 && options->expert.value < 1000)
        options->data.value *= options->expert.value; /* its data ranks have the same experts */
    const struct launch_value *const all[] = {&options->data, &options->tensor, &options->pipeline,
                                              &options->context};
    int64_t devices = 1;
    for (size_t i = 0; i < 4; i++)
        if (all[i]->given)
            devices = devices > 1000000 || all[i]->value > 1000000 ? 1000001 : devices * all[i]->value;
    launch_default(&options->devices, devices);
}

const struct launch_reader nanotron_reader = {"nanotron", knows, read, complete};
