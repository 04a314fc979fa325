#include "cli/manual.h"
#include "cli/origins.h"
#include "cli/usage.h"
#include "version.h"

#include <ctype.h>
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

/* Adds the line after "usage:", with the required options: "rehearse plan --profile PATH [OPTION]…". */
static void usage_write_line(const struct command *command, struct text *out)
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

/* Adds help, choices and default of one option: "objective of the plan: pipeline, oobleck (default: pipeline)". */
static void usage_write_option_help(const struct option_spec *spec, struct text *out)
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

/* Returns whether the option belongs to the topic; NULL: to none, as all options of a command without topics. */
static bool usage_is_of(const struct command *command, const struct option_spec *spec,
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

/* Text as man(7) wants it: '-' is a hyphen to be copied, a leading '.' or "'" no request, one blank or new
 * line between words. */
static void write_roff(struct text *out, const char *text)
{
    bool line_start = true;
    for (const char *at = text; *at; at++) {
        if (line_start && (*at == '.' || *at == '\''))
            text_add(out, "\\&");
        line_start = *at == '\n';
        if (*at == '-')
            text_add(out, "\\-");
        else if (*at == '\\')
            text_add(out, "\\e");
        else
            text_add_bytes(out, at, 1);
    }
}

static void write_roff_paragraphs(struct text *out, const char *text)
{
    while (text && *text) {
        const char *end = strstr(text, "\n\n");
        struct text paragraph = {0};
        text_add_bytes(&paragraph, text, end ? (size_t)(end - text) : strlen(text));
        write_roff(out, text_within(&paragraph, out));
        text_release(&paragraph);
        text_add(out, end ? "\n.PP\n" : "\n");
        text = end ? end + 2 : NULL;
    }
}

/* "rehearse-profile-show"; upper case for the title line. */
static void write_page_name(struct text *out, const char *command, bool upper)
{
    text_add(out, upper ? "REHEARSE\\-" : "rehearse\\-");
    for (const char *at = command; *at; at++) {
        char letter = upper ? (char)toupper((unsigned char)*at) : *at;
        if (letter == ' ' || letter == '-')
            text_add(out, "\\-");
        else
            text_add_bytes(out, &letter, 1);
    }
}

static void write_title_end(struct text *out)
{
    text_format(out, " 1 \"%s\" \"rehearse %s\" \"rehearse\"\n.nh\n.ad l\n", REHEARSE_DATE, REHEARSE_VERSION);
}

static void write_exit_status(struct text *out)
{
    text_add(out, ".SH EXIT STATUS\n"
                  ".TP\n0\ndone\n"
                  ".TP\n1\nfailed: a file cannot be written, memory or a tool is missing\n"
                  ".TP\n2\nwrong usage\n"
                  ".TP\n3\nbad input: the message names file, line and cause\n"
                  ".TP\n4\nno feasible answer\n");
}

static void write_roff_option(const struct option_spec *spec, struct text *out)
{
    struct text help = {0};
    usage_write_option_help(spec, &help);
    text_add(out, ".TP\n");
    if (spec->letter)
        text_format(out, "\\fB\\-%c\\fR, ", spec->letter);
    text_add(out, "\\fB\\-\\-");
    write_roff(out, spec->name);
    text_add(out, "\\fR");
    if (spec->kind != OPTION_FLAG)
        text_format(out, " \\fI%s\\fR", spec->argument);
    text_add(out, "\n");
    write_roff(out, text_within(&help, out));
    text_add(out, "\n");
    text_release(&help);
}

static void write_roff_options(const struct command *command, const struct command_topic *topic,
                               struct text *out)
{
    for (struct option_walk walk = command_options(command); option_next(&walk);)
        if (usage_is_of(command, walk.spec, topic))
            write_roff_option(walk.spec, out);
}

void manual_write(const struct command *command, struct text *out)
{
    const struct command_operands operands = command_operands(command);
    struct text line = {0};
    usage_write_line(command, &line);
    text_add(out, ".TH ");
    write_page_name(out, command->name, true);
    write_title_end(out);
    text_add(out, ".SH NAME\n");
    write_page_name(out, command->name, false);
    text_add(out, " \\- ");
    write_roff(out, command->summary);
    text_add(out, "\n.SH SYNOPSIS\n");
    write_roff(out, text_within(&line, out));
    text_add(out, "\n.SH DESCRIPTION\n");
    write_roff_paragraphs(out, command->description);
    text_release(&line);

    text_add(out, ".SH OPTIONS\n");
    if (operands.name) {
        text_format(out, ".TP\n\\fI%s\\fR\n", operands.name);
        write_roff(out, operands.help);
        text_add(out, "\n");
    }
    write_roff_options(command, NULL, out);
    text_add(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n" USAGE_HELP_OPTION "\n");
    for (const struct command_topic *topic = command->topics; topic && topic->name; topic++) {
        text_add(out, ".SS Options ");
        write_roff(out, topic->title);
        text_add(out, "\n");
        write_roff_options(command, topic, out);
    }

    for (const struct command_example *example = command->examples; example && example->line; example++) {
        text_add(out, example == command->examples ? ".SH EXAMPLES\n.TP\n" : ".TP\n");
        write_roff(out, example->line);
        text_add(out, "\n");
        write_roff(out, example->what);
        text_add(out, "\n");
    }
    write_exit_status(out);
    text_add(out, ".SH SEE ALSO\n.BR rehearse (1)\n");
}

void manual_write_all(struct text *out)
{
    text_add(out, ".TH REHEARSE");
    write_title_end(out);
    text_add(out, ".SH NAME\nrehearse \\- rehearse a training run before paying for it\n"
                  ".SH SYNOPSIS\n.B rehearse\n.I COMMAND\n[OPTION]…\n"
                  ".SH DESCRIPTION\n"
                  "Plans and prices a distributed training run from a model and a cluster.\n"
                  "Each command reads files and writes files; results go to standard output, all else to\n"
                  "standard error.\n"
                  ".SH COMMANDS\n");
    for (size_t i = 0; commands[i]; i++) {
        text_add(out, ".TP\n.BR ");
        write_page_name(out, commands[i]->name, false);
        text_add(out, " (1)\n");
        write_roff(out, commands[i]->summary);
        text_add(out, "\n");
    }
    text_add(out, ".SH COMING FROM ANOTHER SYSTEM\n.B rehearse help\nwith one of these words prints commands "
                  "of that system and ours: ");
    origin_write_names(out, ", ");
    text_add(out, ".\n");
    write_exit_status(out);
}

/* A cell of a Markdown table: no line ends, no bars. */
static void write_cell(struct text *out, const char *text)
{
    for (const char *at = text; *at; at++) {
        if (*at == '|')
            text_add(out, "\\|");
        else
            text_add_bytes(out, *at == '\n' ? " " : at, 1);
    }
}

void manual_write_markdown(const struct command *command, struct text *out)
{
    text_add(out, "| option | description |\n|---|---|\n");
    for (struct option_walk walk = command_options(command); option_next(&walk);) {
        const struct option_spec *spec = walk.spec;
        struct text help = {0};
        usage_write_option_help(spec, &help);
        text_add(out, "| `");
        if (spec->letter)
            text_format(out, "-%c`, `", spec->letter);
        text_format(out, "--%s%s%s`", spec->name, spec->kind == OPTION_FLAG ? "" : " ",
                    spec->kind == OPTION_FLAG ? "" : spec->argument);
        text_add(out, spec->required ? " (required) | " : " | ");
        write_cell(out, text_within(&help, out));
        text_add(out, " |\n");
        text_release(&help);
    }
}
