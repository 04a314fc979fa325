/* Runs gnuplot. */
#ifndef REHEARSE_FIGURE_GNUPLOT_H
#define REHEARSE_FIGURE_GNUPLOT_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>

/* Adds the `set terminal` line for the file's ending (.svg, .png, .pdf), size in pixels, font points. */
bool gnuplot_set_terminal(const char *path, int width, int height, double points, struct text *script,
                          struct error *err);

/* Returns true if the ending is supported, to fail before the work is done. */
bool figure_can_write(const char *path, struct error *err);

/* Runs a script that draws one page, and writes the picture atomically to the file `path`. */
bool gnuplot_run(const char *path, const struct text *script, struct error *err);

/* Adds a quoted string that is drawn literally; control characters, and bytes that are not UTF-8, as \x... */
void gnuplot_add_string(struct text *script, const char *string);

/* Adds an axis mark: its label, escaped because gnuplot takes it for a format, and its position. */
void gnuplot_add_tic(struct text *script, const char *label, double at);

#endif
