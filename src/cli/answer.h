/* Answers of the library, as a command line gives them. */
#ifndef REHEARSE_CLI_ANSWER_H
#define REHEARSE_CLI_ANSWER_H

#include "core/error.h"
#include "rehearse.h"

#include <stdbool.h>

/* Takes over the library's error; returns false. */
bool answer_error(const struct rh_error *error, struct error *err);

/* Writes a form of the answer to a file, or to standard output where `path` is NULL or "-". */
bool answer_write(const rh_handle *answer, const char *form, const char *path, struct error *err);

/* Writes a form to standard error, beside results. */
bool answer_say(const rh_handle *answer, const char *form, struct error *err);

/* Writes a form that is a folder. */
bool answer_save(const rh_handle *answer, const char *form, const char *path, struct error *err);

/* Writes a form of an answer that was just made to a file or standard output, and ends it; NULL: takes over its error. */
bool answer_deliver(rh_handle *answer, const char *form, const char *path, const struct rh_error *error,
                    struct error *err);

/* Ends an answer that has done all of its work already; NULL: takes over its error. */
bool answer_end(rh_handle *answer, const struct rh_error *error, struct error *err);

/* Prints a form of an answer that was just made, and ends it; NULL: takes over its error. */
bool answer_print(rh_handle *answer, const char *form, const struct rh_error *error, struct error *err);

/* Returns the call of options: its time limit, and threads. Progress and warnings go to standard error. */
struct rh_call answer_call(const struct rh_call *given, int64_t threads);

/* Makes the same of a command that Ctrl-C ends in order. */
bool answer_stoppable(struct rh_call *call, int64_t threads, struct error *err);

#endif
