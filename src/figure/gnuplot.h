/* Running gnuplot. */
#ifndef REHEARSE_FIGURE_GNUPLOT_H
#define REHEARSE_FIGURE_GNUPLOT_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>

/* Adds the `set terminal` line for this file's ending (.svg, .png or .pdf), of so many pixels, with letters of so
 * many points. */
bool gnuplot_set_terminal(const char *path, int width, int height, double points, struct text *script,
                          struct error *err);

/* Is the ending one that can be written? For telling so before the work is done. */
bool figure_can_write(const char *path, struct error *err);

/* Runs a script that draws one page, and puts what it draws into the file `path`, as a whole or not at all. */
bool gnuplot_run(const char *path, const struct text *script, struct error *err);

/* Adds a string, in quotes: it is drawn as it is, whatever is in it; control characters, and bytes that are not UTF-8, as
 * \x... */
void gnuplot_add_string(struct text *script, const char *string);

/* Adds a mark of an axis: its label, which gnuplot takes for a format, and where it is. */
void gnuplot_add_tic(struct text *script, const char *label, double at);

#endif
