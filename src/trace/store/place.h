/* Where a new trace may be written. Only the store includes it. */
#ifndef REHEARSE_TRACE_STORE_PLACE_H
#define REHEARSE_TRACE_STORE_PLACE_H

#include "core/error.h"

#include <stdbool.h>

/* May a trace get the name `target` (the file that `path` leads to)? Nothing must be there, or an empty file, or, with
 * `replace`, an older trace, whose journal is played back. Files that SQLite would take for the new trace's journal are
 * an error: they are not ours. */
bool store_may_take(const char *path, const char *target, bool replace, struct error *err);

#endif
