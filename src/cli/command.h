/* Commands: one table each, from which parsing, help and completion are made.
 *
 * How to add the command `rehearse weigh`:
 *   1. write src/cli/cmd_weigh.c: an options struct, its table of options, a function that runs it, and
 *      `const struct command command_weigh` (cmd_completion.c is a short one to start from);
 *   2. declare command_weigh at the end of this file and list it in commands.c;
 *   3. list the file in src/cli/meson.build;
 *   4. add cases to tests/cli/ and, if it has a page in docs/, run scripts/update-docs.
 * Parsing, --help, man page, completion and "did you mean" come from the table.
 *
 * A command of two words ("profile show") is one command with a space in its name. Its first word may be a
 * command, too ("trace show", "trace").
 *
 *     struct weigh_options {
 *         const char *cluster, *output;
 *         int64_t nodes;
 *         bool json;
 *     };
 *
 *     static const struct option_spec options[] = {
 *         OPTION(weigh_options, cluster, OPTION_FILE, "cluster", .letter = 'c', .argument = "FILE",
 *                .required = true, .help = "the cluster, rehearse-cluster/1"),
 *         OPTION(weigh_options, nodes, OPTION_INTEGER, "nodes", .argument = "N", .initial = "1", .least = 1,
 *                .most = 1000, .help = "how many nodes"),
 *         OPTION_JSON(struct weigh_options),
 *         OPTION_OUTPUT(struct weigh_options),
 *         OPTION_END,
 *     };
 *
 *     static bool run(void *context, struct error *err)
 *     {
 *         const struct weigh_options *options = context;
 *         …
 *         return output_text(options->output, &text, err);
 *     }
 *
 * A run that returns false has set *err; main prints it and exits with its kind. */
#ifndef REHEARSE_CLI_COMMAND_H
#define REHEARSE_CLI_COMMAND_H

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

struct command {
    const char *name;
    const char *summary;     /* one line, lower case, no full stop */
    const char *description; /* paragraphs, a blank line between them */
    const struct option_spec *options;
    size_t options_size; /* sizeof(struct …_options) */
    /* of a `const bool *` in the options struct, set to an array: was entry i of the table given? It lives as long as the
     * options. 0: nobody asks */
    size_t given_at;
    struct command_operands operands;
    size_t after_dashes_at; /* of a bool there: the first operand came after '--'; 0: nobody asks */
    const struct command_topic *topics;     /* of its options, ended by {NULL, NULL}; NULL: none */
    const struct command_example *examples; /* ended by {NULL, NULL}; NULL: none */
    bool (*run)(void *options, struct error *err);
};

/* All commands, in the order of `rehearse help`, ended by NULL. */
extern const struct command *const commands[];

/* The command named by the first words of argv; *used is how many words that took. An unknown one is an
 * error that names the nearest. */
const struct command *command_find(int argc, const char *const *argv, int *used, struct error *err);

/* A topic of the command by its name. An unknown one is an error that names the nearest. */
const struct command_topic *command_find_topic(const struct command *command, const char *name,
                                               struct error *err);

/* Is `word` the first word of commands of two words? */
bool command_is_group(const char *word);

/* Reads the words after the command into `options`, a zeroed struct of options_size bytes. Lists live in
 * `arena`, texts in argv. *help is set when --help was asked for; the rest is then not looked at. */
bool command_parse(const struct command *command, int argc, char **argv, void *options, struct arena *arena,
                   bool *help, struct error *err);

/* Finds and runs a whole command line, program name left out. */
bool command_execute(int argc, char **argv, struct error *err);

extern const struct command command_calibrate, command_check_plan, command_compare, command_completion,
    command_cost, command_dataset_generate, command_dataset_scale, command_dataset_verify, command_elastic,
    command_feed, command_figure_distribution, command_figure_plan, command_figure_steps,
    command_figure_throughput, command_figure_timeline, command_help, command_measure_layers,
    command_measure_links, command_plan, command_price, command_profile_convert, command_profile_show,
    command_report, command_run, command_simulate, command_sweep, command_templates, command_trace,
    command_trace_export, command_trace_import, command_trace_phases, command_trace_show, command_validate,
    command_version;

#endif
