/* What starts a training, and on how many devices: torchrun, deepspeed, accelerate, srun, mpirun, and #SBATCH lines.
 * Sources: torch/distributed/run.py of PyTorch 2.9, deepspeed/launcher/runner.py of 0.18, accelerate/commands/launch.py
 * of 1.9, Slurm's and Open MPI's manuals. */
#include "launch/read/read.h"

#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct launch_rules launch_launcher_rules = {.table = "launcher"};

/* ---- options of the command ---- */

enum launcher { NO_LAUNCHER, TORCHRUN, DEEPSPEED, ACCELERATE, SRUN, MPIRUN };

static enum launcher launcher_of(const char *text)
{
    static const struct {
        const char *name;
        enum launcher is;
    } names[] = {{"torchrun", TORCHRUN},
                 {"torch.distributed.run", TORCHRUN},
                 {"torch.distributed.launch", TORCHRUN},
                 {"deepspeed", DEEPSPEED},
                 {"accelerate", ACCELERATE},
                 {"srun", SRUN},
                 {"mpirun", MPIRUN},
                 {"mpiexec", MPIRUN},
                 {"orterun", MPIRUN}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(basename(text), names[i].name) == 0)
            return names[i].is;
    return NO_LAUNCHER;
}

/* Options with a number of nodes or devices, or the file that has it: of each launcher, and as the tables name them. */
static const struct {
    enum launcher of;
    const char *option, *name;
} counts[] = {ROWS_launcher_count};

/* Words are alike but for '-' and '_' in long options; a letter, or mpirun's "-np", stands by itself. */
static bool is_option(const char *text, size_t length, const char *option)
{
    char name[64];
    if (length >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    return option[1] == '-' && text_starts_with(text, "--") ? launch_same_name(name, option)
                                                            : strcmp(name, option) == 0;
}

/* Adds an option of a launcher that gives a number: "--nnodes 4", "--nnodes=4", "-N4" of srun. What only the
 * environment of a job of slurm or MPI knows is left out: it says no more than that. */
static bool add_count(struct launch_options *options, const struct shell_words *words, int at, int program,
                      enum launcher of)
{
    const struct shell_word *word = &words->items[at];
    const char *equals = word->text[0] == '-' ? strchr(word->text, '=') : NULL;
    size_t length = equals ? (size_t)(equals - word->text) : strlen(word->text);
    if (word->text[0] != '-')
        return true;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const char *option = counts[i].option, *value = equals ? equals + 1 : NULL;
        bool anyone =
            of == NO_LAUNCHER && counts[i].of <= ACCELERATE && option[1] == '-' && counts[i].name[0] == '-';
        bool joined = of == SRUN && option[1] != '-' && word->text[1] == option[1] &&
                      strspn(word->text + 2, "0123456789") + 2 == strlen(word->text) && word->text[2];
        if ((counts[i].of != of && !anyone) || (!joined && !is_option(word->text, length, option)))
            continue;
        if (joined)
            value = word->text + 2;
        else if (!value && at + 1 < program)
            value = words->items[at + 1].text;
        if (!value || (of >= SRUN && strchr(value, SHELL_MARK)))
            return true;
        return launch_add(options, counts[i].name, value, word->path, word->line);
    }
    return true;
}

/* Adds an option of accelerate as "accelerate.NAME": the script may have one of the same name. */
static bool add_accelerate_option(struct launch_options *options, const struct shell_words *words, int at,
                                  int program)
{
    const struct shell_word *word = &words->items[at];
    const char *equals = strchr(word->text, '=');
    const char *next =
        at + 1 < program && words->items[at + 1].text[0] != '-' ? words->items[at + 1].text : NULL;
    size_t length = strcspn(word->text, "=");
    bool known = !text_starts_with(word->text, "--");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        known |= counts[i].of == ACCELERATE && is_option(word->text, length, counts[i].option);
    if (known)
        return true;
    const char *name = arena_format(&options->arena, "accelerate.%.*s", (int)length - 2, word->text + 2);
    return name && launch_add(options, name, equals ? equals + 1 : next, word->path, word->line);
}

/* Options behind which a launcher's name is a name of something else. */
static bool takes_name(const char *option)
{
    return strcmp(option, "-J") == 0 || strcmp(option, "--job-name") == 0 ||
           strcmp(option, "--launcher") == 0;
}

bool launch_add_launcher(struct launch_options *options, const struct shell_words *words, int program,
                         const char **launcher)
{
    static const char *const titles[MPIRUN + 1] = {[TORCHRUN] = "torchrun", [DEEPSPEED] = "deepspeed"};
    static const char *const hosts[] = {"--exclude", "-e", "--hostfile", "-H", "--include", "-i"};
    enum launcher of = NO_LAUNCHER;
    bool elsewhere = false;
    *launcher = NULL;
    for (int i = 0; i < program; i++) {
        const char *text = words->items[i].text;
        enum launcher starts = launcher_of(text);
        if (starts && (i == 0 || !takes_name(words->items[i - 1].text))) {
            of = starts;
            *launcher = titles[of];
        }
        /* what may hold any option, and hosts in a file or by name */
        elsewhere |= text[0] == SHELL_MARK && (i == 0 || words->items[i - 1].text[0] != '-');
        for (size_t j = 0; of == DEEPSPEED && j < sizeof hosts / sizeof *hosts; j++)
            elsewhere |= is_option(text, strcspn(text, "="), hosts[j]);
        if (!add_count(options, words, i, program, of) ||
            (of == ACCELERATE && !add_accelerate_option(options, words, i, program)))
            return false;
    }
    if (elsewhere)
        *launcher = NULL;
    return true;
}

/* ---- hosts ---- */

struct hosts {
    int64_t nodes, slots; /* slots: of all nodes; 0: not said */
    bool alike;           /* each has as many */
};

static void add_host(struct hosts *hosts, int64_t slots)
{
    hosts->alike = hosts->nodes == 0 || (hosts->alike && slots * hosts->nodes == hosts->slots);
    hosts->nodes++;
    hosts->slots += slots;
}

/* Lines "host slots=8" and "host:8"; a host without a number has none. */
static void read_host_lines(struct hosts *hosts, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        char line[512], *slots;
        snprintf(line, sizeof line, "%.*s", (int)(length < 511 ? length : 511), text);
        line[strcspn(line, "#\r")] = '\0';
        const char *host = line + strspn(line, " \t");
        int64_t number = 0;
        if (*host) {
            slots = strstr(line, "slots=");
            slots = slots ? slots + 6 : strchr(host, ':') ? strchr(host, ':') + 1 : NULL;
            if (slots)
                slots[strspn(slots, "0123456789")] = '\0';
            if (!slots || !launch_number(slots, 1, &number))
                number = 0;
            add_host(hosts, number);
        }
        text += length + (text[length] == '\n');
    }
}

/* "h1:8,h2:8" of mpirun; "h1@h2:0,1" of deepspeed, whose slots are listed. */
static void read_host_list(struct hosts *hosts, const char *text, bool lists)
{
    while (*text) {
        size_t length = strcspn(text, lists ? "@" : ",");
        const char *colon = memchr(text, ':', length);
        int64_t number = 0;
        if (colon && lists) {
            number = 1;
            for (const char *at = colon; at < text + length; at++)
                number += *at == ',';
        } else if (colon) {
            char digits[16];
            snprintf(digits, sizeof digits, "%.*s", (int)(text + length - colon - 1), colon + 1);
            number = launch_number(digits, 1, &number) ? number : 0;
        }
        add_host(hosts, number);
        text += length + (text[length] != '\0');
    }
}

/* Nodes and devices of hosts, unless they are given. */
static void set_hosts(struct launch_options *options, const struct launch_argument *by,
                      const struct hosts *hosts)
{
    if (hosts->nodes == 0 || options->devices.given)
        return;
    if (!options->nodes.given)
        launch_set(&options->nodes, by, hosts->nodes);
    if (hosts->slots > 0 && hosts->alike && !options->devices_per_node.given)
        launch_set(&options->devices_per_node, by, hosts->slots / hosts->nodes);
    else if (hosts->slots > 0 && !hosts->alike && hosts->nodes == options->nodes.value)
        launch_set(&options->devices, by, hosts->slots);
}

/* A file of hosts, if it is there; else a note. */
static bool read_hosts(struct launch_options *options, const char *name, struct error *err)
{
    const struct launch_argument *argument = launch_argument(options, name);
    const char *path = argument && argument->value && !strchr(argument->value, SHELL_MARK)
                           ? launch_find_above(options, argument->path, argument->value)
                           : NULL;
    struct hosts hosts = {0};
    char *data;
    size_t length;
    if (!argument || !argument->value)
        return true;
    if (!path && !strchr(argument->value, SHELL_MARK))
        launch_note(options, "%s (line %d of %s) not found: its hosts are unknown", argument->value,
                    argument->line, argument->path);
    if (!path)
        return true;
    if (!launch_budget_read(&options->budget, path, &data, &length, err))
        return false;
    read_host_lines(&hosts, data);
    free(data);
    set_hosts(options, argument, &hosts);
    return true;
}

/* ---- srun and mpirun ---- */

void launch_set_count(const struct launch_options *options, const char *name, int64_t min,
                      struct launch_value *value)
{
    const struct launch_argument *argument = launch_argument(options, name);
    const char *colon = argument && argument->value ? strrchr(argument->value, ':') : NULL;
    int64_t number;
    if (argument && argument->value && !value->given &&
        launch_number(colon ? colon + 1 : argument->value, min, &number))
        launch_set(value, argument, number);
}

/* Tasks are nodes where each starts torchrun or deepspeed, else devices. */
static void read_tasks(struct launch_options *options, bool starts)
{
    const char *gres = launch_text(options, "srun.gres"), *map = launch_text(options, "mpirun.map-by");
    const struct launch_argument *host = launch_argument(options, "mpirun.host");
    int64_t number;
    launch_set_count(options, "srun.nodes", 1, &options->nodes);
    launch_set_count(options, "srun.gpus-per-node", 1, &options->devices_per_node);
    if (gres && text_starts_with(gres, "gpu"))
        launch_set_count(options, "srun.gres", 1, &options->devices_per_node);
    launch_set_count(options, "srun.gpus", 1, &options->devices);
    launch_set_count(options, "srun.ntasks", 2, starts ? &options->nodes : &options->devices);
    if (!starts && !options->devices.given)
        launch_set_count(options, "srun.ntasks-per-node", 2, &options->devices_per_node);
    launch_set_count(options, "mpirun.np", 2, starts ? &options->nodes : &options->devices);
    if (!starts)
        launch_set_count(options, "mpirun.npernode", 2, &options->devices_per_node);
    if (map && text_starts_with(map, "ppr:") && strstr(map, ":node") && !starts) {
        const char *digits = arena_copy(&options->arena, map + 4, strcspn(map + 4, ":"));
        options->no_memory |= !digits;
        if (digits && launch_number(digits, 1, &number))
            launch_default(&options->devices_per_node, number);
        else
            launch_argument(options, "mpirun.map-by")->use = LAUNCH_UNKNOWN;
    }
    if (host && host->value) {
        struct hosts hosts = {0};
        read_host_list(&hosts, host->value, false);
        set_hosts(options, host, &hosts);
    }
}

/* ---- accelerate ---- */

#define MAX_ACCELERATE 500 /* settings of its file */

/* Adds the settings of accelerate's file that its own options do not give, as "accelerate.NAME": the maps in the file
 * have the names of options. */
static bool add_accelerate_file(struct launch_options *options, const char *path, struct error *err)
{
    static const char *const maps[] = {"deepspeed_config.", "fsdp_config.", "megatron_lm_config.",
                                       "parallelism_config.", "dynamo_config."};
    struct doc doc;
    int first = options->argument_count, kept = first;
    if (!launch_budget_load(&options->budget, path, &doc, err))
        return false;
    bool ok = launch_add_doc(options, &doc, NULL, err);
    doc_release(&doc);
    if (ok && options->argument_count - first > MAX_ACCELERATE)
        ok = error_set(err, ERROR_INPUT, "%s: more than %d settings", path, MAX_ACCELERATE);
    for (int i = first; ok && i < options->argument_count; i++) {
        struct launch_argument argument = options->arguments[i];
        const char *name = argument.name;
        bool given = false;
        for (size_t j = 0; j < sizeof maps / sizeof *maps; j++)
            name += text_starts_with(name, maps[j]) ? strlen(maps[j]) : 0;
        argument.name = arena_format(&options->arena, "accelerate.%s", name);
        ok = argument.name || error_memory(err);
        for (int j = 0; ok && j < first && !given; j++)
            given = launch_same_name(options->arguments[j].name, argument.name);
        if (ok && !given)
            options->arguments[kept++] = argument;
    }
    options->argument_count = ok ? kept : options->argument_count;
    return ok && launch_apply_rules(options, &launch_launcher_rules, first, NULL, err);
}

/* Reads the file that accelerate's command names; what it changes of the training counts where the Trainer trains. */
static bool read_accelerate(struct launch_options *options, struct error *err)
{
    const struct launch_argument *file = launch_argument(options, "accelerate.config_file");
    const char *value = file && file->value && !strchr(file->value, SHELL_MARK) ? file->value : NULL;
    const char *path = value ? launch_find_above(options, file->path, value) : NULL;
    if (path && !add_accelerate_file(options, path, err))
        return false;
    if (value && !path)
        launch_note(options, "%s (line %d of %s) not found: its settings are unknown", value, file->line,
                    file->path);
    if (!options->devices.given)
        launch_set_count(options, "accelerate.num_processes", 1, &options->devices);
    launch_set_count(options, "accelerate.num_machines", 1, &options->nodes);
    if (strcmp(options->reader ? options->reader : "", trainer_reader.name) == 0)
        return true;
    for (int i = 0; i < options->argument_count; i++) {
        struct launch_argument *argument = &options->arguments[i];
        if (text_starts_with(argument->name, "accelerate.") && argument->use == LAUNCH_READ &&
            !text_starts_with(argument->name, "accelerate.num_") &&
            !launch_same_name(argument->name, "accelerate.config_file"))
            launch_unmodelled(options, argument->name, "an option of accelerate");
    }
    return true;
}

/* Sets a number of #SBATCH lines. */
static void set_batch(const struct shell *shell, const char *name, const char *letter, int64_t min,
                      struct launch_value *value)
{
    const char *text = shell_batch_value(shell, name, letter), *colon = text ? strrchr(text, ':') : NULL;
    const struct launch_argument at = {.path = shell->batch.count > 0 ? shell->batch.items[0].path : "",
                                       .line = shell->batch.count > 0 ? shell->batch.items[0].line : 0};
    int64_t number;
    if (text && !value->given && launch_number(colon ? colon + 1 : text, min, &number)) /* "h100:8" */
        launch_set(value, &at, number);
}

/* Nodes and devices of a job of slurm, and the variables that usually hold them. */
static void add_devices(struct launch_options *options, const struct shell *shell)
{
    const char *generic = shell_batch_value(shell, "--gres", "");
    const char *constraint = shell_batch_value(shell, "--constraint", "-C");
    set_batch(shell, "--nodes", "-N", 1, &options->nodes);
    set_batch(shell, "--gpus-per-node", "", 1, &options->devices_per_node);
    if (generic && strncmp(generic, "gpu", 3) == 0)
        set_batch(shell, "--gres", "", 1, &options->devices_per_node);
    set_batch(shell, "--ntasks-per-node", "", 2, &options->devices_per_node);
    const char *const places[] = {constraint, generic, shell_batch_value(shell, "--gpus-per-node", "")};
    for (size_t i = 0; i < 3 && !options->device; i++)
        if (places[i] && (options->device = launch_device_in(places[i])) != NULL)
            options->device_said = i == 0 ? "#SBATCH --constraint" : "#SBATCH";
    static const char *const nodes[] = {"NNODES", "NUM_NODES", "SLURM_NNODES"};
    for (size_t i = 0; i < 3 && !options->nodes.given; i++) {
        const struct shell_variable *variable = shell_find(shell, nodes[i]);
        int64_t number;
        const struct launch_argument at = {.line = variable ? variable->line : 0};
        if (variable && variable->values.count > 0 &&
            launch_number(variable->values.items[0].text, 1, &number))
            launch_set(&options->nodes, &at, number), launch_ask(options, nodes[i]);
    }
}

/* Notes that an option of torchrun gives no number. */
static void miss_of_torchrun(struct launch_options *options, const char *name, const char *value,
                             const char *why, const char *give)
{
    launch_miss(options, name, arena_format(&options->arena, "is '%s', %s", value, why), give);
}

/* torchrun's "gpu" and "auto" are as many processes as the node has devices, and "1:4" any number of nodes of these.
 * Neither is guessed. torch/distributed/run.py of PyTorch 2.9. */
bool launch_read_torchrun(struct launch_options *options, struct error *err)
{
    const struct launch_argument *processes = launch_argument(options, "nproc_per_node");
    const struct launch_argument *nodes = launch_argument(options, "nnodes");
    int64_t number, least, most;
    if (processes && processes->value && !strchr(processes->value, SHELL_MARK)) {
        if (launch_number(processes->value, 1, &number))
            launch_set(&options->devices_per_node, processes, number);
        else if (strcmp(processes->value, "gpu") != 0 && strcmp(processes->value, "auto") != 0)
            return launch_refuse(processes, err,
                                 "expected a whole number of at least 1, gpu or auto, found '%s'",
                                 processes->value);
        else
            miss_of_torchrun(options, "the number of processes per node", processes->value,
                             "which depends on the machine", "--set nproc_per_node=N");
    }
    if (!nodes || !nodes->value || strchr(nodes->value, SHELL_MARK))
        return true;
    const char *colon = strchr(nodes->value, ':');
    const char *low =
        colon ? arena_copy(&options->arena, nodes->value, (size_t)(colon - nodes->value)) : nodes->value;
    if (!low)
        return error_memory(err);
    if (!launch_number(low, 1, &least) || !launch_number(colon ? colon + 1 : low, 1, &most) || most < least)
        return launch_refuse(nodes, err,
                             "expected a whole number of at least 1, or a range such as 1:4, found '%s'",
                             nodes->value);
    if (least == most)
        launch_set(&options->nodes, nodes, least);
    else
        miss_of_torchrun(options, "the number of nodes", nodes->value, "of an elastic job", "--set nnodes=N");
    return true;
}

/* Nodes that neither the launcher's options nor the script say are the launcher's default. */
static void default_nodes(struct launch_options *options, const char *launcher)
{
    bool said = options->nodes.given || options->devices.given || launch_argument(options, "nnodes") ||
                launch_argument(options, "num_nodes") || !options->devices_per_node.given;
    if (!launcher || said)
        return;
    launch_default(&options->nodes, 1);
    launch_note(options, "%s without a number of nodes: one, its default", launcher);
}

bool launch_read_nodes(struct launch_options *options, struct shell *shell, const char *launcher,
                       struct error *err)
{
    const struct launch_argument *include = launch_argument(options, "deepspeed.include");
    if (!launch_read_torchrun(options, err) || !read_accelerate(options, err))
        return false;
    if (include && include->value && !strchr(include->value, SHELL_MARK)) {
        struct hosts hosts = {0};
        read_host_list(&hosts, include->value, true);
        set_hosts(options, include, &hosts);
    }
    if (!read_hosts(options, "deepspeed.hostfile", err))
        return false;
    read_tasks(options, launcher || launch_argument(options, "nproc_per_node"));
    if (!read_hosts(options, "mpirun.hostfile", err))
        return false;
    add_devices(options, shell);
    default_nodes(options, launcher);
    return true;
}
