#include "cli/command.h"

static const struct command_example examples[] = {
    {"rehearse price train.sh -d h100 --set NUM_NODES=16", "a script of Megatron-LM on 16 nodes"},
    {"rehearse price llama3_8b.toml -d h100 --devices 64", "a configuration of torchtitan"},
    {"rehearse price ds_config.json -m config.json -d a100 --devices 8 --sequence 4096",
     "DeepSpeed's, with a model of Hugging Face"},
    {NULL, NULL},
};

const struct command command_price = {
    .name = "price",
    .summary = "predict the time and memory of a launch script or configuration",
    .description =
        "Reads the launch description of a training job without running anything, and predicts seconds per "
        "iteration, tokens per second and the memory of each device, as it stands; then searches for the "
        "best plan of the same job and shows the difference. Settings that a file does not give have the "
        "default of its software.\n\nKnown are Megatron-LM's arguments in shell scripts (with arrays, "
        "conditions, defaults and sourced files) and in YAML, MLPerf's exports, scripts with DeepSpeed's "
        "JSON, torchtitan's TOML, DeepSpeed's JSON, NeMo's and Megatron-Bridge's YAML, and those of "
        "GPT-NeoX, nanotron, axolotl, LLaMA-Factory, llm-foundry, Primus and MaxText, and scripts of Hugging "
        "Face's "
        "Trainer, with accelerate's file. Every argument is counted as "
        "read, without effect on the price, not modelled, or not understood; --json lists all.",
    .asks = &api_price,
    .options = COMMAND_ROWS(LINE_TIME_LIMIT, LINE_THREADS, LINE_JSON, LINE_OUTPUT),
    .examples = examples,
};
