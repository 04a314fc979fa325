/* Answers of the library, as a command line gives them. */
#ifndef REHEARSE_CLI_ANSWER_H
#define REHEARSE_CLI_ANSWER_H

#include "cli/command.h"

/* Takes over the library's error; returns false. */
bool answer_error(const struct rh_error *error, struct error *err);

/* Asks what a command line asks, by Ctrl-C in order where the command ends so; NULL: an error. Progress and warnings go
 * to standard error. */
rh_handle *answer_ask(struct command_line *line, struct error *err);

/* The same, without taking over the error. */
rh_handle *answer_ask_for(struct command_line *line, struct rh_error *error);

/* From now on Ctrl-C ends what the line asks in order. */
bool answer_stoppable(struct command_line *line, struct error *err);

/* Asks, and prints the answer: what a command does that has no function of its own. */
bool answer_run(struct command_line *line, struct error *err);

/* Writes the answer where and as the line says: JSON, comma-separated values or text. */
bool answer_write(const rh_handle *answer, const struct command_line *line, struct error *err);

/* Writes a form of the answer to a file, or to standard output where `path` is NULL or "-". */
bool answer_write_form(const rh_handle *answer, const char *form, const char *path, struct error *err);

/* Writes a form to standard error, beside results. */
bool answer_say(const rh_handle *answer, const char *form, struct error *err);

/* Writes a form that is a folder. */
bool answer_save(const rh_handle *answer, const char *form, const char *path, struct error *err);

#endif
