/* Help texts, written from the tables of commands. */
#ifndef REHEARSE_CLI_USAGE_H
#define REHEARSE_CLI_USAGE_H

#include "cli/command.h"
#include "core/text.h"

/* `rehearse plan --help`, at most 80 columns wide: the options that belong to no topic, and the topics. */
void usage_write(const struct command *command, struct text *out);

/* `rehearse help plan dapple`: the options of one topic. */
void usage_write_topic(const struct command *command, const struct command_topic *topic, struct text *out);

/* `rehearse help`: the list of commands. */
void usage_write_all(struct text *out);

/* The two ends of every command's table that are not in it. */
#define USAGE_HELP_OPTION "print this help"

#endif
