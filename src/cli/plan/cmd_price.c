#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"

struct price_command {
    struct rh_price_request request;
    struct rh_call call;
    const char *output;
    int64_t threads;
    bool json;
};

static bool run(void *context, struct error *err)
{
    struct price_command *given = context;
    given->request.size = sizeof given->request;
    struct rh_call call = answer_call(&given->call, given->threads);
    struct rh_error error;
    rh_report *report = rh_price(&given->request, &call, &error);
    return answer_deliver(report, given->json ? "json" : "text", given->output, &error, err);
}

static const struct option_spec options[] = {
    OPTION_REQUEST(price_command, request, api_price_options),
    OPTION_TIME_LIMIT(struct price_command, call.time_limit),
    OPTION_THREADS(struct price_command),
    OPTION_JSON(struct price_command),
    OPTION_OUTPUT(struct price_command),
    OPTION_END,
};

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
    .options = options,
    .options_size = sizeof(struct price_command),
    .operands = {.name = "FILE",
                 .help = "launch descriptions of one job, and the model's config.json",
                 .min = 1,
                 .at = offsetof(struct price_command, request.files)},
    .examples = examples,
    .run = run,
};
