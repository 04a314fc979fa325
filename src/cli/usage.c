#include "cli/usage.h"

#include "cli/origins.h"

#include <string.h>

#define WIDTH       80
#define HELP_COLUMN 28 /* where the text beside an option starts */

/* Columns that the first `length` bytes take: every UTF-8 character is one. */
static int columns(const char *text, size_t length)
{
    int count = 0;
    for (size_t i = 0; i < length; i++)
        count += !text_continues(text[i]);
    return count;
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

/* Adds a paragraph, wrapped. The cursor stands in `column`; further lines start in `indent`. */
static void write_wrapped(struct text *out, const char *paragraph, int column, int indent)
{
    bool first_word = true;
    for (const char *word = paragraph; *(word += strspn(word, " \n"));) {
        size_t length = strcspn(word, " \n");
        int width = columns(word, length);
        if (!first_word && column + 1 + width > WIDTH) {
            text_format(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first_word) {
            text_add(out, " ");
            column++;
        }
        text_add_bytes(out, word, length);
        column += width;
        word += length;
        first_word = false;
    }
    text_add(out, "\n");
}

/* A word on the left and its explanation on the right, on a line of its own if the word is long. */
static void write_row(struct text *out, const char *left, const char *right)
{
    int width = columns(left, strlen(left));
    text_add(out, left);
    if (width + 2 > HELP_COLUMN)
        text_format(out, "\n%*s", HELP_COLUMN, "");
    else
        text_format(out, "%*s", HELP_COLUMN - width, "");
    write_wrapped(out, right, HELP_COLUMN, HELP_COLUMN);
}

static void write_paragraphs(struct text *out, const char *text)
{
    while (text && *text) {
        const char *end = strstr(text, "\n\n");
        struct text paragraph = {0};
        text_add_bytes(&paragraph, text, end ? (size_t)(end - text) : strlen(text));
        write_wrapped(out, text_within(&paragraph, out), 0, 0);
        text_release(&paragraph);
        if (end)
            text_add(out, "\n");
        text = end ? end + 2 : NULL;
    }
}

void usage_write_line(const struct command *command, struct text *out)
{
    text_format(out, "rehearse %s", command->name);
    for (struct option_walk walk = command_options(command); option_next(&walk);)
        if (walk.spec->required)
            text_format(out, " --%s %s", walk.spec->name, walk.spec->argument);
    text_add(out, " [OPTION]…");
    const struct command_operands operands = command_operands(command);
    if (operands.name)
        text_format(out, operands.min ? " %s%s" : " [%s]%s", operands.name, operands.max == 1 ? "" : "…");
}

void usage_write_option_help(const struct option_spec *spec, struct text *out)
{
    text_add(out, spec->help);
    if (spec->words) {
        text_add(out, ": ");
        option_write_words(spec->words, ", ", out);
    }
    if (spec->initial)
        text_format(out, " (default: %s)", spec->initial);
    if (spec->repeats)
        text_add(out, " (may be repeated)");
}

static void write_option(const struct option_spec *spec, struct text *out)
{
    struct text left = {0}, right = {0};
    if (spec->letter)
        text_format(&left, "  -%c, --%s", spec->letter, spec->name);
    else
        text_format(&left, "      --%s", spec->name);
    if (spec->kind != OPTION_FLAG)
        text_format(&left, " %s", spec->argument);
    usage_write_option_help(spec, &right);
    write_row(out, text_within(&left, out), text_within(&right, out));
    text_release(&left);
    text_release(&right);
}

static void write_operands(const struct command_operands *operands, struct text *out)
{
    struct text left = {0};
    text_format(&left, "  %s", operands->name);
    write_row(out, text_within(&left, out), operands->help);
    text_release(&left);
}

bool usage_is_of(const struct command *command, const struct option_spec *spec,
                 const struct command_topic *topic)
{
    return topic ? spec->topic && strcmp(spec->topic, topic->name) == 0 : !spec->topic || !command->topics;
}

static void write_options(const struct command *command, const struct command_topic *topic, struct text *out)
{
    for (struct option_walk walk = command_options(command); option_next(&walk);)
        if (usage_is_of(command, walk.spec, topic))
            write_option(walk.spec, out);
}

void usage_write_topic(const struct command *command, const struct command_topic *topic, struct text *out)
{
    text_format(out, "rehearse %s: options %s\n\n", command->name, topic->title);
    write_options(command, topic, out);
}

static void write_topics(const struct command *command, struct text *out)
{
    if (!command->topics)
        return;
    text_add(out, "\nmore options:\n");
    for (const struct command_topic *topic = command->topics; topic->name; topic++) {
        struct text left = {0};
        text_format(&left, "  help %s %s", command->name, topic->name);
        write_row(out, text_within(&left, out), topic->title);
        text_release(&left);
    }
}

void usage_write(const struct command *command, struct text *out)
{
    const struct command_operands operands = command_operands(command);
    struct text line = {0};
    usage_write_line(command, &line);
    text_add(out, "usage: ");
    write_wrapped(out, text_within(&line, out), 7, 11);
    text_release(&line);
    text_add(out, "\n");
    write_paragraphs(out, command->description);

    text_add(out, "\n");
    if (operands.name)
        write_operands(&operands, out);
    write_options(command, NULL, out);
    write_row(out, "  -h, --help", USAGE_HELP_OPTION);
    write_topics(command, out);

    for (const struct command_example *example = command->examples; example && example->line; example++) {
        text_add(out, example == command->examples ? "\nexamples:\n  # " : "\n  # ");
        write_wrapped(out, example->what, 4, 4);
        text_format(out, "  %s\n", example->line);
    }
}

void usage_write_all(struct text *out)
{
    text_add(out, "usage: rehearse COMMAND [OPTION]…\n\n"
                  "Rehearse a training run before paying for it.\n\n");
    int longest = 0;
    for (size_t i = 0; commands[i]; i++)
        longest = max(longest, columns(commands[i]->name, strlen(commands[i]->name)));
    for (size_t i = 0; commands[i]; i++) {
        text_format(out, "  %-*s  ", longest, commands[i]->name);
        write_wrapped(out, commands[i]->summary, longest + 4, longest + 4);
    }
    text_add(out, "\n'rehearse help COMMAND' or 'rehearse COMMAND --help' describes one of them.\n"
                  "Coming from another system: 'rehearse help ");
    origin_write_names(out, "|");
    text_add(out, "'.\n"
                  "'rehearse --version' prints the version, the compiler and the libraries.\n\n"
                  "exit status: 0 done, 1 failed, 2 wrong usage, 3 bad input, 4 no feasible answer\n");
}
