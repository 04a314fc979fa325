/* Cells of a table whose rows are either read, or left with the reason why they cannot be. */
#ifndef REHEARSE_EVIDENCE_CELLS_H
#define REHEARSE_EVIDENCE_CELLS_H

#include "core/csv.h"

#include <stdint.h>

struct cells {
    const struct csv *csv;
    int row;
    struct arena *arena; /* of reasons */
    const char **reason; /* of the row; NULL: it can be read */
    bool no_memory;      /* for a reason */
};

/* Sets the row's reason, unless it has one. Returns false. */
bool cells_refuse(struct cells *cells, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the text of a cell; "" where the table has no such column. */
const char *cells_text(const struct cells *cells, const char *column);

/* Returns whether a text stands for nothing: "", "-", "n/a" or "null". */
bool cells_is_empty(const char *text);

/* Returns whether one of the items of a list, between commas or semicolons, is this one. */
bool cells_has_item(const char *list, const char *item);

/* Reads a whole number or a number from min to max. `missing`, or 0, is returned for an empty cell, and for another one
 * that is then the row's reason. */
int64_t cells_whole(struct cells *cells, const char *column, int64_t min, int64_t max, int64_t missing);
double cells_number(struct cells *cells, const char *column, double min, double max);

#endif
