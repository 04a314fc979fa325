/* The names in a folder. */
#ifndef REHEARSE_CORE_SYSTEM_FOLDER_H
#define REHEARSE_CORE_SYSTEM_FOLDER_H

#include "core/arena.h"
#include "core/error.h"

/* Lists the names in a folder, in the order of their bytes, but for hidden ones; of more than `maximum` the first
 * `maximum` + 1 that are read. All lie in the arena. */
bool folder_names(const char *folder, int maximum, struct arena *arena, const char ***names, int *count,
                  struct error *err);

#endif
