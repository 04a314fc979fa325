/* Megatron-LM: arguments of its training scripts in shell scripts, or in YAML as its functional tests have them. */
#include "devices/tables.h"
#include "launch/read/read.h"
#include "launch/shell/parts.h"

#include <stdio.h>
#include <string.h>

/* ---- arguments of commands ---- */

struct commands {
    struct launch_options *options;
    struct shell *shell;
    struct shell_words words; /* of one command, split as far as they go */
    const char *other;        /* the first script that does not train; NULL: none */
    const char *script;       /* the last that trains; NULL: none */
    const char *launcher;     /* of the last command, if it has one node unless that says otherwise */
};

/* Splits words at their blanks until none has any: an option in quotes, or a whole command line. */
static bool flatten(struct commands *c, const struct shell_words *words, int depth)
{
    for (int i = 0; i < words->count; i++) {
        struct shell_words parts = {0};
        const struct shell_word *word = &words->items[i];
        bool again = depth < 4 && strpbrk(word->text, " \t\n");
        if (strcmp(word->text, "\\") == 0) /* it continues a line inside of quotes */
            continue;
        if (!again) {
            const char *plain = shell_plain(&c->shell->arena, word->text);
            if (!plain || !shell_add_word(&c->shell->arena, &c->words, plain, word->path, word->line))
                return false;
        } else if (!shell_split(&c->shell->arena, word, &parts) || !flatten(c, &parts, depth + 1))
            return false;
    }
    return true;
}

static bool is_option(const char *text)
{
    return text[0] == '-' && text[1] == '-' && text[2];
}

/* Adds "--name value ..." and "--name=value". */
static bool add_options(struct commands *c, int from, int to)
{
    for (int i = from; i < to; i++) {
        const struct shell_word *word = &c->words.items[i];
        if (!is_option(word->text))
            continue;
        struct text value = {0};
        char *name = arena_string(&c->options->arena, word->text);
        char *equals = name ? strchr(name, '=') : NULL;
        int line = word->line;
        if (equals) {
            *equals = '\0';
            text_add(&value, equals + 1);
        }
        int values = 0;
        for (; !equals && i + 1 < to && !is_option(c->words.items[i + 1].text); i++, values++) {
            const char *next = c->words.items[i + 1].text;
            if (next[0] == '#' || strcmp(next, "|") == 0 || strcmp(next, ";") == 0)
                break;
            line = values == 0 ? c->words.items[i + 1].line : line;
            text_format(&value, "%s%s", values > 0 ? " " : "", next);
        }
        bool ok = name && !value.failed &&
                  (c->options->argument_count > LAUNCH_MAX_ARGUMENTS ||
                   launch_add(c->options, name, equals || values > 0 ? value.data ? value.data : "" : NULL,
                              word->path, line));
        text_release(&value);
        if (!ok)
            return false;
    }
    return true;
}

/* Returns whether a word is the training script: what stands before belongs to the launcher. */
static bool is_script(const char *text)
{
    return text_ends_with(text, ".py") && text[0] != '-';
}

/* Options of torchrun and of its like give the number of devices; an unknown word may be any option. */
static bool add_command(struct commands *c)
{
    int script = -1;
    for (int i = 0; i < c->words.count; i++)
        if (is_script(c->words.items[i].text))
            script = i;
    return launch_add_launcher(c->options, &c->words, script, &c->launcher) &&
           add_options(c, script + 1, c->words.count);
}

/* An unknown word behind the script may hold any option. */
static void miss_words(struct commands *c)
{
    for (int i = 0; i < c->words.count; i++) {
        const struct shell_word *word = &c->words.items[i];
        bool value = i > 0 && is_option(c->words.items[i - 1].text);
        const char *end = strchr(word->text, SHELL_END);
        if (end && end[1] == '/') /* a path */
            continue;
        const struct launch_argument argument = {.value = word->text, .path = word->path, .line = word->line};
        if (word->text[0] == SHELL_MARK && !value)
            launch_is_known(c->options, c->shell, &argument, "the command");
    }
}

/* Programs beside the training. */
static bool trains(const char *script)
{
    static const char *const others[] = {
        "setup_experiment", "generat", "inference", "convert",  "preprocess", "server",     "eval",
        "quantize",         "export",  "merge_",    "download", "tokenize_",  "checkpoint", "prune"};
    const char *name = basename(script);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(name, others[i]))
            return false;
    return true;
}

/* Does a command belong to the training: has it a script, or is it only options? */
static int script_of(const struct shell_words *words)
{
    for (int i = 0; i < words->count; i++)
        if (is_script(words->items[i].text) && trains(words->items[i].text))
            return i;
    return -1;
}

/* Returns the script of a command that does something else than training, or NULL. */
static const char *other_script(const struct shell_words *words)
{
    for (int i = 0; i < words->count; i++)
        if (is_script(words->items[i].text) && !trains(words->items[i].text))
            return words->items[i].text;
    return NULL;
}

/* Has a command an option that is read? */
static bool has_options(const struct shell_words *words)
{
    for (int i = 0; i < words->count; i++) {
        char name[64];
        const char *text = words->items[i].text;
        size_t length = strcspn(text, "=");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
        if (i == 0 && is_option(text))
            return true;
        if (is_option(text) && launch_has_rule(&megatron_rules, name))
            return true;
    }
    return false;
}

static bool add_commands(struct commands *c, bool scripts)
{
    for (int i = 0; i < c->shell->command_count; i++) {
        c->words = (struct shell_words){0};
        if (!flatten(c, &c->shell->commands[i], 0))
            return false;
        bool matters =
            scripts ? script_of(&c->words) >= 0 : !other_script(&c->words) && has_options(&c->words);
        c->other = !c->other ? other_script(&c->words) : c->other;
        int first = c->options->argument_count;
        if (matters && !add_command(c))
            return false;
        if (matters && scripts)
            c->script = c->words.items[script_of(&c->words)].text;
        if (matters && scripts && c->options->argument_count > first + 2)
            miss_words(c);
    }
    return true;
}

/* Variables that hold options and that no command used: for a script that is not here. */
static bool add_variables(struct commands *c)
{
    for (int i = 0; i < c->shell->variable_count; i++) {
        const struct shell_variable *variable = &c->shell->variables[i];
        c->words = (struct shell_words){0};
        bool holds = false;
        for (int j = 0; j < variable->values.count; j++)
            holds |= strstr(variable->values.items[j].text, "--") != NULL;
        if (!holds || variable->is_used)
            continue;
        if (!flatten(c, &variable->values, 0) || !add_options(c, 0, c->words.count))
            return false;
    }
    return true;
}

/* Returns the place of the program in a command of a launcher: "train.py", or the module behind -m. */
static int program_of(const struct shell_words *words)
{
    for (int i = 0; i < words->count; i++) {
        bool module = i > 0 && strcmp(words->items[i - 1].text, "-m") == 0;
        if (is_script(words->items[i].text) ||
            (module && !text_starts_with(words->items[i].text, "torch.distributed")))
            return i;
    }
    return -1;
}

bool launch_add_command(struct launch_options *options, struct shell *shell, const char *option,
                        const char **launcher)
{
    struct commands c = {.options = options, .shell = shell};
    for (int i = 0; i < shell->command_count; i++) {
        c.words = (struct shell_words){0};
        if (!launch_command_has(&shell->commands[i], option))
            continue;
        if (!flatten(&c, &shell->commands[i], 0))
            return false;
        int program = program_of(&c.words);
        if (!launch_add_launcher(options, &c.words, program, &c.launcher) ||
            !add_options(&c, program + 1, c.words.count))
            return false;
        miss_words(&c);
    }
    *launcher = c.launcher;
    return true;
}

/* ---- rules ---- */

const struct launch_rules megatron_rules = {.table = "megatron-lm"};

static const struct launch_rules all_rules = {.table = "launcher", .next = &megatron_rules};

/* ---- the reader ---- */

static bool refuse_blanks(const struct launch_options *options, struct error *err)
{
    for (int i = 0; i < options->argument_count; i++) {
        const struct launch_argument *argument = &options->arguments[i];
        const char *blank = strstr(argument->name, "\xc2\xa0");
        if (blank)
            return error_set(
                err, ERROR_INPUT,
                "%s:%d: a no-break space (U+00A0) after %.*s is not a separator: use a normal space",
                argument->path, argument->line, (int)(blank - argument->name), argument->name);
    }
    return true;
}

/* Argparse has each name in one spelling, and switches take no value; in YAML they have one. */
static bool refuse_misspelt(const struct launch_options *options, int first, struct error *err)
{
    for (int i = first; i < options->argument_count; i++) {
        const struct launch_argument *argument = &options->arguments[i];
        const struct launch_rule *end, *rule = launch_table_rule(megatron_rules.table, argument->name, &end);
        bool known = rule && !strchr(rule->name, '*') && argument->line > 0 &&
                     !launch_table_rule("launcher", argument->name, &end);
        bool toggles = known && (rule->kind == RULE_SWITCH || rule->kind == RULE_BOOL ||
                                 (rule->takes && rule->takes->kind == RULE_SWITCH));
        if (known && strchr(argument->name, '_') && !strchr(rule->name, '_'))
            return launch_refuse(argument, err, "Megatron-LM spells it --%s", rule->name);
        if (toggles && argument->value && !strchr(argument->value, SHELL_MARK))
            return launch_refuse(argument, err, "takes no value, found '%s'", argument->value);
    }
    return true;
}

/* The version shows in the names of options. */
static void choose_software(struct launch_options *options)
{
    static const char *const old[] = {"checkpoint-activations", "activations-checkpoint-method", "DDP-impl",
                                      "activations-checkpoint-num-layers", "checkpoint-num-layers"};
    options->software = "megatron-core";
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (launch_argument(options, old[i]))
            options->software = options->sequence_parallel.given ? "megatron-2022" : "megatron-2021";
    if (launch_argument(options, "deepspeed"))
        options->software = options->bf16.given ? "megatron-deepspeed-bf16" : "megatron-deepspeed";
    const char *stage = launch_text(options, "zero-stage");
    int64_t number;
    if (launch_argument(options, "deepspeed") && stage && launch_number(stage, 0, &number))
        launch_set(&options->sharding, launch_argument(options, "zero-stage"), number);
}

static bool read_shell(struct launch_options *options, struct launch_source *source, struct error *err)
{
    struct commands commands = {.options = options, .shell = source->shell};
    int first = options->argument_count;
    if (!add_commands(&commands, true))
        return error_memory(err);
    int scripts = options->argument_count;
    if (options->argument_count - first < 4 && !add_commands(&commands, false))
        return error_memory(err);
    if (options->argument_count == scripts && scripts - first < 4 && !commands.other &&
        !add_variables(&commands))
        return error_memory(err);
    if (options->argument_count == first && commands.other)
        return error_set(err, ERROR_INPUT, "%s: runs %.200s, not a training job: nothing to price",
                         source->path, commands.other);
    if (options->argument_count > LAUNCH_MAX_ARGUMENTS)
        return error_set(err, ERROR_INPUT, "%s: more than %d arguments", source->path, LAUNCH_MAX_ARGUMENTS);
    options->is_whole = commands.script && text_ends_with(commands.script, "pretrain_gpt.py") &&
                        !options->model_name && !source->shell->is_open;
    return refuse_blanks(options, err) &&
           (!commands.script || launch_judge_program(options, source->path, commands.script, err)) &&
           launch_apply_rules(options, &all_rules, first, source->shell, err) &&
           (options->has_run || refuse_misspelt(options, first, err)) &&
           launch_read_nodes(options, source->shell, commands.launcher, err);
}

static bool read_doc(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    const struct doc_node *mode = doc_find(source->doc->root, "MODE");
    if (mode && mode->text && strcmp(mode->text, "inference") == 0)
        return doc_error(source->doc, mode, err, "inference, not training: nothing to price");
    if (mode && mode->text && strcmp(mode->text, "rl") == 0)
        launch_note(options, "reinforcement learning: only the training of its model is priced");
    return launch_add_doc(options, source->doc, "MODEL_ARGS", err) &&
           launch_apply_rules(options, &all_rules, first, NULL, err) && launch_read_torchrun(options, err);
}

static bool knows(const struct launch_source *source)
{
    return source->shell || doc_find(source->doc->root, "MODEL_ARGS");
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    if (!tables_ready(err))
        return false;
    if (!(source->shell ? read_shell(options, source, err) : read_doc(options, source, err)))
        return false;
    options->is_whole &= options->missing_count == 0 && launch_count(options, LAUNCH_UNKNOWN) == 0;
    choose_software(options);
    launch_settle_vocabulary(options, "tokenizer-model");
    return launch_settle_megatron(options, err);
}

/* Micro-batches are not accumulated by themselves, and states are replicated. */
static void complete(struct launch_options *options)
{
    launch_default(&options->accumulation, 1);
    launch_default(&options->type, COST_FP32);
    launch_default(&options->sharding, 0);
}

const struct launch_reader megatron_reader = {"Megatron-LM", knows, read, complete};
