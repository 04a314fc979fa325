/* Where results go. */
#ifndef REHEARSE_CLI_OUTPUT_H
#define REHEARSE_CLI_OUTPUT_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes the whole text to the file `path`, or to standard output when it is NULL or "-". Also reports that
 * `text` ran out of memory while it was put together. */
bool output_text(const char *path, const struct text *text, struct error *err);

/* The same, and the text is released, whether or not it could be written. */
bool output_and_release(const char *path, struct text *text, struct error *err);

/* Standard output is written in pieces; this finds out whether all of them arrived. Called once, last. */
bool output_finish(struct error *err);

/* Does this stream go to a person who wants colours (NO_COLOR is not set)? */
bool output_has_colour(FILE *stream);

#endif
