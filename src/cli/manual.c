#include "cli/manual.h"

#include "cli/origins.h"
#include "cli/usage.h"
#include "version.h"

#include <ctype.h>
#include <string.h>

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
