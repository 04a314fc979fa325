/* Man pages and Markdown, written from the tables of commands. */
#ifndef REHEARSE_CLI_MANUAL_H
#define REHEARSE_CLI_MANUAL_H

#include "cli/command.h"
#include "core/text.h"

/* rehearse(1), the list of commands. */
void manual_write_all(struct text *out);

/* rehearse-plan(1). */
void manual_write(const struct command *command, struct text *out);

/* The options as a Markdown table, for docs/. */
void manual_write_markdown(const struct command *command, struct text *out);

#endif
