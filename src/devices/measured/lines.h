/* Lines of the tables that travel with the program: a word, a blank, and the rest. */
#ifndef REHEARSE_DEVICES_MEASURED_LINES_H
#define REHEARSE_DEVICES_MEASURED_LINES_H

#include "core/arena.h"

#include <stdint.h>

/* Returns the end of the line, and where the next one begins (the final NUL behind the last). */
const char *line_end(const char *line);
const char *line_next(const char *line);

/* Returns the text behind the word that a line begins with; NULL: it begins with another. */
const char *line_behind(const char *line, const char *word);

/* Returns the rest of the line as text of its own; NULL: memory is out. */
const char *line_copy(struct arena *arena, const char *text);

/* Reads up to `room` numbers, which blanks separate. Returns how many. */
int line_numbers(const char *text, int64_t *numbers, int room);

#endif
