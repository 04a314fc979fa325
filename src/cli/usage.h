/* Help texts, written from the tables of commands. */
#ifndef REHEARSE_CLI_USAGE_H
#define REHEARSE_CLI_USAGE_H

#include "cli/command.h"
#include "core/text.h"

/* `rehearse plan --help`, at most 80 columns wide: the options that belong to no topic, and the topics. */
void usage_write(const struct command *command, struct text *out);

/* `rehearse help plan dapple`: the options of one topic. */
void usage_write_topic(const struct command *command, const struct command_topic *topic, struct text *out);

/* Returns whether the option belongs to the topic; NULL: to none, as all options of a command without topics. */
bool usage_is_of(const struct command *command, const struct option_spec *spec,
                 const struct command_topic *topic);

/* `rehearse help`: the list of commands. */
void usage_write_all(struct text *out);

/* Adds the line after "usage:", with the required options: "rehearse plan --profile PATH [OPTION]…". */
void usage_write_line(const struct command *command, struct text *out);

/* Adds help, choices and default of one option: "objective of the plan: pipeline, oobleck (default: pipeline)". */
void usage_write_option_help(const struct option_spec *spec, struct text *out);

/* The two ends of every command's table that are not in it. */
#define USAGE_HELP_OPTION "print this help"

#endif
