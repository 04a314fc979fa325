/* Post-training with rollouts, and servers: refused by name, with the training step that a rollout's samples get. */
#include "launch/read/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the training step ---- */

/* Names of verl, OpenRLHF, TRL, axolotl and LLaMA-Factory. */
static const char *const models[] = {"actor_rollout_ref.model.path", "pretrain",   "actor.model_name_or_path",
                                     "model_name_or_path",           "base_model", NULL};
static const char *const batches[] = {"actor_rollout_ref.actor.ppo_mini_batch_size", "train_batch_size",
                                      "train.batch_size", NULL};
static const char *const micros[] = {"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
                                     "micro_train_batch_size",
                                     "train.micro_batch_size",
                                     "per_device_train_batch_size",
                                     "micro_batch_size",
                                     NULL};
static const char *const prompts[] = {"data.max_prompt_length", "prompt_max_len", "max_prompt_length", NULL};
static const char *const answers[] = {"data.max_response_length", "generate_max_len", "max_completion_length",
                                      "trl.max_completion_length", NULL};
static const char *const wholes[] = {"sequence_len", "cutoff_len", "max_len", "data.max_len", NULL};
static const char *const nodes[] = {"trainer.nnodes", "actor_num_nodes", NULL};
static const char *const each[] = {"trainer.n_gpus_per_node", "actor_num_gpus_per_node", NULL};

static const char *text_of(const struct launch_options *options, const char *const *names)
{
    const char *text = NULL;
    for (; *names && !text; names++)
        text = launch_text(options, *names);
    return text && !strchr(text, SHELL_MARK) ? text : NULL;
}

static int64_t number_of(const struct launch_options *options, const char *const *names)
{
    const char *text = text_of(options, names);
    int64_t number;
    return text && launch_number(text, 1, &number) ? number : 0;
}

static void add_number(struct text *out, const char *form, int64_t number)
{
    if (number > 0)
        text_format(out, form, number);
}

bool launch_refuse_rollouts(struct launch_options *options, const char *path, const char *method,
                            struct error *err)
{
    struct text step = {0};
    const char *model = text_of(options, models);
    int64_t sequence = number_of(options, prompts) + number_of(options, answers);
    int64_t count = number_of(options, nodes), per_node = number_of(options, each);
    text_add(&step, model ? model : "the model");
    add_number(&step, ", global batch %" PRId64, number_of(options, batches));
    add_number(&step, ", micro-batch %" PRId64, number_of(options, micros));
    add_number(&step, ", sequence %" PRId64, sequence ? sequence : number_of(options, wholes));
    add_number(&step, ", %" PRId64 " devices",
               per_node && per_node < 100000 ? per_node * (count ? count : 1) : 0);
    error_set(
        err, ERROR_INPUT,
        "%s: %.60s: post-training with rollouts is not modelled; its training step is: %.400s ('rehearse "
        "plan -m MODEL --global-batch N --sequence N' prices that)",
        path, method, step.data ? step.data : "");
    if (step.failed)
        error_memory(err);
    text_release(&step);
    return false;
}

/* ---- what is known by its program ---- */

/* A word of a command, and the one behind it, or NULL; `method` NULL: no training at all. */
static const struct {
    const char *word, *next, *method;
} programs[] = {
    {"verl.", NULL, "verl"},
    {"openrlhf.cli.train_ppo", NULL, "OpenRLHF"},
    {"openrlhf.cli.train_grpo", NULL, "OpenRLHF"},
    {"trl", "grpo", "TRL's GRPO"},
    {"trl", "rloo", "TRL's RLOO"},
    {"trl", "ppo", "TRL's PPO"},
    {"trl", "online_dpo", "TRL's online DPO"},
    {"trl", "nash_md", "TRL's Nash-MD"},
    {"trl", "xpo", "TRL's XPO"},
    {"grpo.py", NULL, "GRPO"},
    {"ppo.py", NULL, "PPO"},
    {"vllm", "serve", NULL},
    {"vllm.entrypoints", NULL, NULL},
    {"trl", "vllm-serve", NULL},
};

/* Returns whether a word is a program, by its name or the beginning of its module. */
static bool is_program(const char *text, const char *program)
{
    bool module = strchr(program, '.') && !text_ends_with(program, ".py");
    if (text[0] == '-')
        return false;
    return module ? text_starts_with(text, program) : strcmp(basename(text), program) == 0;
}

static const struct shell_words *command_of(const struct shell *shell, size_t *program)
{
    for (int i = 0; i < shell->command_count; i++) {
        const struct shell_words *words = &shell->commands[i];
        for (int j = 0; j < words->count; j++)
            for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
                const char *next = j + 1 < words->count ? words->items[j + 1].text : "";
                if (is_program(words->items[j].text, programs[k].word) &&
                    (!programs[k].next || strcmp(next, programs[k].next) == 0)) {
                    *program = k;
                    return words;
                }
            }
    }
    return NULL;
}

/* Adds "key=value", as Hydra has them, and "--key value". */
static bool add_words(struct launch_options *options, const struct shell_words *words)
{
    for (int i = 0; i < words->count; i++) {
        const struct shell_word *word = &words->items[i];
        const char *equals = strchr(word->text, '='), *text = word->text + strspn(word->text, "+-");
        const char *next = i + 1 < words->count ? words->items[i + 1].text : "";
        size_t length = strcspn(text, "=");
        const char *value = equals ? equals + 1 : next;
        char name[128];
        if ((!equals && word->text[0] != '-') || length == 0 || length >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        struct launch_argument *added = launch_add(options, name, value, word->path, word->line);
        if (!added)
            return false;
        added->use = LAUNCH_READ;
    }
    return true;
}

static const struct doc_node *actor_of(const struct launch_source *source)
{
    return source->doc ? doc_find(source->doc->root, "actor_rollout_ref") : NULL;
}

static bool serves(const struct launch_source *source)
{
    const struct doc_node *root = source->doc ? source->doc->root : NULL;
    return root && (doc_find(root, "gpu-memory-utilization") || doc_find(root, "max-model-len") ||
                    doc_find(root, "gpu_memory_utilization"));
}

static bool knows(const struct launch_source *source)
{
    size_t program;
    return source->shell ? command_of(source->shell, &program) != NULL : actor_of(source) || serves(source);
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    size_t program = 0;
    const struct shell_words *words = source->shell ? command_of(source->shell, &program) : NULL;
    bool trains = words ? programs[program].method != NULL : !serves(source);
    if (!trains)
        return error_set(err, ERROR_INPUT, "%s: vLLM serves a model: nothing is trained", source->path);
    if (words ? !add_words(options, words) : !launch_add_doc(options, source->doc, NULL, err))
        return error_memory(err);
    return launch_refuse_rollouts(options, source->path, words ? programs[program].method : "verl", err);
}

const struct launch_reader rollouts_reader = {"rollouts", knows, read, NULL};
