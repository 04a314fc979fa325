/* Commands: one table each, from which parsing, help and completion are made.
 *
 * How to add the command `rehearse weigh`:
 *   1. write src/cli/cmd_weigh.c, as below, and in data/texts.yaml what is said of it. What it asks the library for
 *      (api/command.h) says its operands and most of its options; a function of its own only does what is beside
 *      printing the answer (feed/cmd_feed.c). A command that asks nothing has an options struct of its own
 *      (cmd_completion.c);
 *   2. declare command_weigh at the end of this file and list it in commands.c;
 *   3. list the file in src/cli/meson.build;
 *   4. add cases to tests/cli/ and, if it has a page in docs/, run scripts/update-docs.
 * Parsing, --help, man page, completion and "did you mean" come from the table and the texts.
 *
 * A command of two words ("profile show") is one command with a space in its name. Its first word may be a
 * command, too ("trace show", "trace").
 *
 *     COMMAND(weigh, &api_weigh, .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT));
 *
 * A run that returns false has set *err; main prints it and exits with its kind. */
#ifndef REHEARSE_CLI_COMMAND_H
#define REHEARSE_CLI_COMMAND_H

#include "api/command.h"
#include "api/option.h"
#include "core/arena.h"
#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>

struct command_example {
    const char *line; /* "rehearse plan --profile …" */
    const char *what; /* "the best pipeline for this cluster" */
};

/* A part of a command's options, which `rehearse help COMMAND TOPIC` lists. */
struct command_topic {
    const char *name;  /* "dapple" */
    const char *title; /* "by DAPPLE's rules" */
};

/* The words that a command takes besides options. */
struct command_operands {
    const char *name;         /* "PLAN"; NULL: it takes none */
    const char *help;         /* one line for --help */
    const char *const *words; /* for completion by shells; NULL: files */
    int min, max;             /* most 0: any number */
    size_t at;                /* of a struct rh_list in the options struct */
};

/* What the words of a command that asks the library are read into: first the request itself, whose struct it begins
 * with. */
struct command_line {
    _Alignas(max_align_t) char request[API_MAX_REQUEST];
    const struct command *command;
    struct rh_list operands; /* they are in the request, too */
    struct rh_call call;
    const char *output;
    int64_t threads;
    int to;
    bool json, csv, dot;
    bool after_dashes; /* the first operand came after '--' */
};

/* The rows of such a command beside those of its request: .options = COMMAND_ROWS(LINE_JSON, LINE_OUTPUT) */
#define COMMAND_ROWS(...)      ((const struct option_spec[]){__VA_ARGS__, OPTION_END})
#define LINE_JSON              OPTION_JSON(struct command_line)
#define LINE_OUTPUT            OPTION_OUTPUT(struct command_line)
#define LINE_TIME_LIMIT        OPTION_TIME_LIMIT(struct command_line, call.time_limit)
#define LINE_THREADS           OPTION_THREADS(struct command_line)
#define LINE_JSON_OF(its_help) OPTION(command_line, json, OPTION_FLAG, "json", .help = (its_help))
#define LINE_CSV                                                                                             \
    OPTION(command_line, csv, OPTION_FLAG, "csv", .help = "print comma-separated values instead of a table")

struct command {
    const char *name;
    const char *summary;            /* one line, lower case, no full stop */
    const char *description;        /* paragraphs, a blank line between them */
    const struct api_command *asks; /* whose request it fills in; NULL: it does all itself */
    bool silent;                    /* its answer are files: nothing is printed */
    const struct option_spec
        *options;        /* more rows: of struct command_line, or of its own struct; NULL: none */
    size_t options_size; /* of its own struct */
    /* Those of a request are in its table; what is set here is said otherwise on the command line. */
    struct command_operands operands;
    const struct command_topic *topics;     /* of its options, ended by {NULL, NULL}; NULL: none */
    const struct command_example *examples; /* ended by {NULL, NULL}; NULL: none */
    /* `options` is the command's own struct, or a struct command_line; NULL: it asks, and prints the answer. */
    bool (*run)(void *options, struct error *err);
};

/* Defines command_WORD, which asks the library; the rest are members. */
#define COMMAND(word, its_request, ...)                                                                      \
    const struct command command_##word = {SAYS_command_##word, .asks = (its_request), __VA_ARGS__}

/* All commands, in the order of `rehearse help`, ended by NULL. */
extern const struct command *const commands[];

/* The command named by the first words of argv; *used is how many words that took. An unknown one is an
 * error that names the nearest. */
const struct command *command_find(int argc, const char *const *argv, int *used, struct error *err);

/* A topic of the command by its name. An unknown one is an error that names the nearest. */
const struct command_topic *command_find_topic(const struct command *command, const char *name,
                                               struct error *err);

/* Goes through all options of a command: for (struct option_walk walk = command_options(command);
 * option_next(&walk);) */
struct option_walk command_options(const struct command *command);

/* The words that a command takes besides options. */
struct command_operands command_operands(const struct command *command);

/* Is `word` the first word of commands of two words? */
bool command_is_group(const char *word);

/* Returns the bytes of the struct that the words of a command are read into. */
size_t command_size(const struct command *command);

/* Reads the words after the command into `options`, a zeroed struct of that size. Lists live in `arena`, texts in argv.
 * *help is set when --help was asked for; the rest is then not looked at. */
bool command_parse(const struct command *command, int argc, char **argv, void *options, struct arena *arena,
                   bool *help, struct error *err);

/* Finds and runs a whole command line, program name left out. */
bool command_execute(int argc, char **argv, struct error *err);

extern const struct command command_calibrate, command_check_plan, command_compare, command_completion,
    command_cost, command_dataset_generate, command_dataset_scale, command_dataset_verify, command_elastic,
    command_explain, command_feed, command_figure_distribution, command_figure_plan, command_figure_steps,
    command_figure_throughput, command_figure_timeline, command_help, command_measure_layers,
    command_measure_links, command_plan, command_price, command_profile_convert, command_profile_show,
    command_report, command_run, command_simulate, command_submit, command_sweep, command_templates,
    command_trace, command_trace_export, command_trace_import, command_trace_phases, command_trace_show,
    command_validate, command_version;

#endif
