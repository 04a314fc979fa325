#include "cli/command.h"

#include "api/wings.h"
#include "core/file.h"

#include <stdio.h>
#include <string.h>

#define MAX_COMMANDS 64
#define MAX_OPTIONS  64
#define MAX_NAME     64

static bool group_has(const char *group, const char *name)
{
    size_t length = strlen(group);
    return strncmp(name, group, length) == 0 && name[length] == ' ';
}

bool command_is_group(const char *word)
{
    for (size_t i = 0; commands[i]; i++)
        if (group_has(word, commands[i]->name))
            return true;
    return false;
}

/* The second word is missing or wrong: "profile needs one of: convert, show". */
static void set_group_error(const char *group, const char *word, struct error *err)
{
    const char *candidates[MAX_COMMANDS];
    size_t count = 0;
    struct text list = {0};
    for (size_t i = 0; commands[i] && count < MAX_COMMANDS; i++) {
        if (!group_has(group, commands[i]->name))
            continue;
        candidates[count] = commands[i]->name + strlen(group) + 1;
        text_add(&list, count ? ", " : "");
        text_add(&list, candidates[count++]);
    }
    const char *nearest = word ? text_nearest(word, candidates, count) : NULL;
    if (nearest)
        error_set(err, ERROR_USAGE, "unknown command '%s %s', did you mean '%s %s'?", group, word, group,
                  nearest);
    else
        error_set(err, ERROR_USAGE, "'%s' must be followed by one of %s", group,
                  list.failed ? "its commands" : list.data);
    text_release(&list);
}

static void set_unknown_command(const char *word, struct error *err)
{
    const char *candidates[MAX_COMMANDS];
    char first_words[MAX_COMMANDS][MAX_NAME];
    struct text_hint hint;
    size_t count = 0;
    for (; commands[count] && count < MAX_COMMANDS; count++) {
        const char *name = commands[count]->name;
        snprintf(first_words[count], MAX_NAME, "%.*s", (int)strcspn(name, " "), name);
        candidates[count] = first_words[count];
    }
    error_set(err, ERROR_USAGE, "unknown command '%s'%s", word,
              text_suggest(&hint, text_nearest(word, candidates, count),
                           HAS_ALL_WINGS ? ", see 'rehearse help'"
                                         : ", which may be of a wing that is not built: see "
                                           "'rehearse help' and 'rehearse --version'"));
}

/* Commands that there were, and what is to be used instead. */
static const struct {
    const char *name, *instead;
} gone[] = {
    {"launch",
     "mpirun and srun start ranks on several hosts: mpirun -n 8 --host a:4,b:4 rehearse run plan.json"},
};

static bool set_gone_command(const char *word, struct error *err)
{
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (strcmp(gone[i].name, word) == 0) {
            error_set(err, ERROR_USAGE, "there is no command '%s' any more; %s", word, gone[i].instead);
            return true;
        }
    return false;
}

const struct command *command_find(int argc, const char *const *argv, int *used, struct error *err)
{
    const struct command *found = NULL;
    for (size_t i = 0; commands[i]; i++) {
        const char *name = commands[i]->name;
        size_t first = strcspn(name, " ");
        if (strncmp(name, argv[0], first) != 0 || argv[0][first])
            continue;
        if (name[first] && (argc < 2 || strcmp(name + first + 1, argv[1]) != 0))
            continue;
        if (found && !name[first])
            continue; /* "trace show" is that, not "trace" of "show" */
        *used = name[first] ? 2 : 1;
        found = commands[i];
    }
    if (found)
        return found;
    if (command_is_group(argv[0]))
        set_group_error(argv[0], argc > 1 ? argv[1] : NULL, err);
    else if (!set_gone_command(argv[0], err))
        set_unknown_command(argv[0], err);
    return NULL;
}

const struct command_topic *command_find_topic(const struct command *command, const char *name,
                                               struct error *err)
{
    const char *names[MAX_OPTIONS];
    size_t count = 0;
    for (const struct command_topic *topic = command->topics; topic && topic->name && count < MAX_OPTIONS;
         topic++) {
        if (strcmp(topic->name, name) == 0)
            return topic;
        names[count++] = topic->name;
    }
    const char *nearest = text_nearest(name, names, count);
    if (nearest)
        error_set(err, ERROR_USAGE, "'%s' has no topic '%s', did you mean '%s'?", command->name, name,
                  nearest);
    else
        error_set(err, ERROR_USAGE, "'%s' has no topic '%s', see 'rehearse help %s'", command->name, name,
                  command->name);
    return NULL;
}

/* ---- what a command takes ---- */

struct option_walk command_options(const struct command *command)
{
    static const struct option_spec none[] = {OPTION_END};
    struct option_walk walk = option_begin(command->options ? command->options : none);
    walk.request = command->asks ? command->asks->options : NULL;
    return walk;
}

/* The row of the request that holds the operands; NULL: none. */
static const struct option_spec *operand_of(const struct command *command)
{
    for (const struct option_spec *spec = command->asks ? command->asks->options : NULL; spec && spec->name;
         spec++)
        if (spec->is_operand)
            return spec;
    return NULL;
}

struct command_operands command_operands(const struct command *command)
{
    struct command_operands operands = command->operands;
    const struct option_spec *spec = operand_of(command);
    if (!spec)
        return operands;
    operands.name = spec->argument;
    operands.help = operands.help ? operands.help : spec->help;
    operands.min = operands.min > 0 ? operands.min : spec->required;
    operands.max = spec->repeats ? 0 : 1;
    operands.at = offsetof(struct command_line, operands);
    return operands;
}

size_t command_size(const struct command *command)
{
    return command->asks ? sizeof(struct command_line) : command->options_size;
}

/* ---- reading ---- */

/* One command line being read. */
struct parse {
    const struct command *command;
    void *options;
    const struct command_operands takes;
    struct rh_list *operands; /* where they go; NULL: the command takes none */
    struct arena *arena;
    int argc;
    char **argv;
    int next; /* the argument to be read next */
    bool seen[MAX_OPTIONS];
    bool help;
};

static bool unknown_option(const struct parse *parse, const char *word, size_t length, struct error *err)
{
    const char *names[MAX_OPTIONS + 1] = {"help"};
    size_t count = 1;
    for (struct option_walk walk = command_options(parse->command);
         option_next(&walk) && count < MAX_OPTIONS;)
        names[count++] = walk.spec->name;
    char name[MAX_NAME];
    snprintf(name, sizeof name, "%.*s", (int)(length < MAX_NAME ? length : MAX_NAME - 1), word);
    const char *command = parse->command->name;
    const char *nearest = text_nearest(name, names, count);
    if (nearest)
        return error_set(err, ERROR_USAGE, "%s: unknown option '--%s', did you mean '--%s'?", command, name,
                         nearest);
    for (size_t i = 0; commands[i]; i++)
        for (struct option_walk walk = command_options(commands[i]); option_next(&walk);)
            if (strcmp(walk.spec->name, name) == 0)
                return error_set(err, ERROR_USAGE,
                                 "%s: unknown option '--%s', which '%s' has; see 'rehearse help %s'", command,
                                 name, commands[i]->name, command);
    return error_set(err, ERROR_USAGE, "%s: unknown option '--%s', see 'rehearse help %s'", command, name,
                     command);
}

static bool list_add(struct parse *parse, struct rh_list *list, const char *item, struct error *err)
{
    const char **items = list->items ? (const char **)(uintptr_t)list->items : NULL;
    if (!items) /* no list can be longer than the command line */
        list->items = items = ARENA_ARRAY(parse->arena, (size_t)parse->argc, const char *);
    if (!items)
        return error_memory(err);
    items[list->count++] = item;
    return true;
}

/* Stores the value of one option; NULL: the value, if it needs one, is the next argument. */
static bool take_option(struct parse *parse, const struct option_walk *walk, const char *value,
                        struct error *err)
{
    const char *command = parse->command->name;
    const struct option_spec *spec = walk->spec;
    if (parse->seen[walk->index] && !spec->repeats)
        return error_set(err, ERROR_USAGE, "%s: '--%s' is given twice", command, spec->name);
    parse->seen[walk->index] = true;

    if (spec->kind == OPTION_FLAG) {
        if (value)
            return error_set(err, ERROR_USAGE, "%s: '--%s' takes no value", command, spec->name);
        return option_read(spec, "", parse->options, err);
    }
    if (!value && parse->next < parse->argc && !text_starts_with(parse->argv[parse->next], "--"))
        value = parse->argv[parse->next++];
    if (!value)
        return error_set(err, ERROR_USAGE, "%s: '--%s' needs a value: --%s %s", command, spec->name,
                         spec->name, spec->argument);
    if (spec->repeats)
        return list_add(parse, (struct rh_list *)(void *)((char *)parse->options + spec->at), value, err);
    return walk->of_request ? option_read_request(spec, value, parse->options, err)
                            : option_read(spec, value, parse->options, err);
}

/* --name, --name=value */
static bool take_long(struct parse *parse, const char *word, struct error *err)
{
    size_t length = strcspn(word, "=");
    if (strcmp(word, "help") == 0) {
        parse->help = true;
        return true;
    }
    for (struct option_walk walk = command_options(parse->command); option_next(&walk);)
        if (option_is_called(walk.spec, word, length))
            return take_option(parse, &walk, word[length] ? word + length + 1 : NULL, err);
    return unknown_option(parse, word, length, err);
}

/* -x, -x value, -xvalue */
static bool take_short(struct parse *parse, const char *word, struct error *err)
{
    if (strcmp(word, "h") == 0) {
        parse->help = true;
        return true;
    }
    for (struct option_walk walk = command_options(parse->command); option_next(&walk);)
        if (walk.spec->letter && walk.spec->letter == word[0])
            return take_option(parse, &walk, word[1] ? word + 1 : NULL, err);
    return error_set(err, ERROR_USAGE, "%s: unknown option '-%s', see 'rehearse help %s'",
                     parse->command->name, word, parse->command->name);
}

static bool take_operand(struct parse *parse, const char *word, bool after_dashes, struct error *err)
{
    int max = parse->takes.max;
    if (!parse->operands || (max > 0 && parse->operands->count == (size_t)max))
        return error_set(err, ERROR_USAGE, "%s: unexpected '%s', see 'rehearse help %s'",
                         parse->command->name, word, parse->command->name);
    if (!*word)
        return error_set(err, ERROR_USAGE, "%s: %s is empty", parse->command->name, parse->takes.name);
    if (parse->operands->count == 0 && parse->command->asks)
        ((struct command_line *)parse->options)->after_dashes = after_dashes;
    return list_add(parse, parse->operands, word, err);
}

static bool take_arguments(struct parse *parse, struct error *err)
{
    bool only_operands = false;
    while (parse->next < parse->argc && !parse->help) {
        const char *word = parse->argv[parse->next++];
        bool is_option = word[0] == '-' && word[1] && !only_operands;
        bool taken;
        if (!is_option)
            taken = take_operand(parse, word, only_operands, err);
        else if (strcmp(word, "--") == 0)
            taken = only_operands = true;
        else if (word[1] == '-')
            taken = take_long(parse, word + 2, err);
        else
            taken = take_short(parse, word + 1, err);
        if (!taken)
            return false;
    }
    return true;
}

static bool check_complete(const struct parse *parse, struct error *err)
{
    const struct command *command = parse->command;
    for (struct option_walk walk = command_options(command); option_next(&walk);)
        if (walk.spec->required && !parse->seen[walk.index])
            return error_set(err, ERROR_USAGE, "%s: '--%s %s' is missing", command->name, walk.spec->name,
                             walk.spec->argument);
    if (parse->operands && parse->operands->count < (size_t)parse->takes.min)
        return error_set(err, ERROR_USAGE, "%s: %s is missing", command->name, parse->takes.name);
    return true;
}

static void hand_over_operands(const struct parse *parse)
{
    const struct option_spec *spec = parse->operands ? operand_of(parse->command) : NULL;
    if (spec && spec->repeats)
        memcpy((char *)parse->options + spec->at, parse->operands, sizeof *parse->operands);
    else if (spec && parse->operands->count > 0)
        memcpy((char *)parse->options + spec->at, parse->operands->items, sizeof *parse->operands->items);
}

/* What is read is not replaced by what is printed. */
static bool spares_operands(const struct parse *parse, struct error *err)
{
    const char *output = ((const struct command_line *)parse->options)->output;
    for (size_t i = 0; output && parse->operands && i < parse->operands->count; i++)
        if (file_same(parse->operands->items[i], output))
            return error_set(err, ERROR_USAGE, "--output: %s is what is read: choose another file", output);
    return true;
}

/* Keeps the words as a line of a shell, without those that only say where the answer goes: for its page. */
static bool keep_line(const struct parse *parse, struct error *err)
{
    struct text line = {0};
    text_format(&line, "rehearse %s", parse->command->name);
    for (int i = 0; i < parse->argc; i++) {
        const char *word = parse->argv[i];
        if (strcmp(word, "--page") == 0 && i + 1 < parse->argc)
            i++;
        else if (strcmp(word, "--json") != 0 && !text_starts_with(word, "--page=")) {
            text_add(&line, " ");
            text_add_word(&line, word);
        }
    }
    const char *kept = line.failed ? NULL : arena_string(parse->arena, line.data);
    ((struct command_line *)parse->options)->call.line = kept;
    text_release(&line);
    return kept || error_memory(err);
}

bool command_parse(const struct command *command, int argc, char **argv, void *options, struct arena *arena,
                   bool *help, struct error *err)
{
    struct parse parse = {.command = command,
                          .options = options,
                          .takes = command_operands(command),
                          .arena = arena,
                          .argc = argc,
                          .argv = argv};
    if (parse.takes.name)
        parse.operands = (struct rh_list *)(void *)((char *)options + parse.takes.at);
    for (struct option_walk walk = command_options(command); option_next(&walk);)
        if (walk.spec->initial && !walk.of_request &&
            !option_read(walk.spec, walk.spec->initial, options, err))
            return false;
    if (!take_arguments(&parse, err))
        return false;
    *help = parse.help;
    hand_over_operands(&parse);
    return parse.help || (check_complete(&parse, err) &&
                          (!command->asks || (spares_operands(&parse, err) && keep_line(&parse, err))));
}
