/* Where results go. */
#ifndef REHEARSE_CLI_OUTPUT_H
#define REHEARSE_CLI_OUTPUT_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>

/* Writes the whole text to the file `path`, or to standard output when it is NULL or "-". Also reports that
 * `text` ran out of memory while it was put together. Bytes that are not UTF-8, and control characters, are escaped. */
bool output_text(const char *path, const struct text *text, struct error *err);

/* Finds out before long work whether a file can be made of this name; devices and pipes that are there are not
 * tried. */
bool output_check(const char *path, struct error *err);

/* The same as output_text, and the text is released, whether or not it could be written. */
bool output_and_release(const char *path, struct text *text, struct error *err);

/* Shows how far a work is in one line of standard error that is rewritten, not in its first half second; `detail` is ""
 * when it begins, and NULL when it ends (core/caller.h). NULL where standard error is no terminal. */
typedef void output_progress(void *unused, const char *what, const char *detail);
output_progress *output_shows_progress(void);

/* A warning of the library: "rehearse: warning: …" on standard error, in one line as errors are. */
void output_warning(void *unused, const char *text);

/* An error of the program, in one line. */
void output_error(const struct error *err);

/* Standard output is written in pieces; this finds out whether all of them arrived. Called once, last. */
bool output_finish(struct error *err);

#endif
