/* Completion scripts for shells, written from the tables of commands. */
#ifndef REHEARSE_CLI_COMPLETION_H
#define REHEARSE_CLI_COMPLETION_H

#include "core/text.h"

void completion_write_bash(struct text *out);
void completion_write_zsh(struct text *out);
void completion_write_fish(struct text *out);

#endif
