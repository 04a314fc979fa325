#include "cli/command.h"
#include "cli/manual.h"
#include "cli/origins.h"
#include "cli/output.h"
#include "cli/usage.h"

#include <string.h>

struct help_options {
    struct rh_list words; /* the command's name */
    bool man, markdown, list;
};

static const struct option_spec options[] = {
    OPTION(help_options, man, OPTION_FLAG, "man", .help = "print a man page, for 'man -l -'"),
    OPTION(help_options, markdown, OPTION_FLAG, "markdown",
           .help = "print the command's options as a Markdown table"),
    OPTION(help_options, list, OPTION_FLAG, "list", .help = "print only the names of the commands"),
    OPTION_END,
};

static void write_all(const struct help_options *given, struct text *out)
{
    if (given->man)
        manual_write_all(out);
    else if (given->list)
        for (size_t i = 0; commands[i]; i++)
            text_format(out, "%s\n", commands[i]->name);
    else
        usage_write_all(out);
}

static void write_one(const struct help_options *given, const struct command *command,
                      const struct command_topic *topic, struct text *out)
{
    if (topic)
        usage_write_topic(command, topic, out);
    else if (given->man)
        manual_write(command, out);
    else if (given->markdown)
        manual_write_markdown(command, out);
    else
        usage_write(command, out);
}

static bool run_help(void *context, struct error *err)
{
    const struct help_options *given = context;
    struct text text = {0};
    const struct origin *origin = given->words.count == 1 ? origin_find(given->words.items[0]) : NULL;
    if (origin) {
        origin_write(origin, &text);
    } else if (given->words.count > 0) {
        int used;
        const struct command *command = command_find((int)given->words.count, given->words.items, &used, err);
        const struct command_topic *topic = NULL;
        if (!command)
            return false;
        if (given->words.count > (size_t)used &&
            !(topic = command_find_topic(command, given->words.items[used], err)))
            return false;
        write_one(given, command, topic, &text);
    } else {
        write_all(given, &text);
    }
    return output_and_release(NULL, &text, err);
}

const struct command command_help = {
    SAYS_command_help,
    .options = options,
    .options_size = sizeof(struct help_options),
    .operands = {.name = "COMMAND",
                 .help = "the command to be explained, and one of its topics; or a system that you come from",
                 .min = 0,
                 .max = 3,
                 .at = offsetof(struct help_options, words)},
    .run = run_help,
};
