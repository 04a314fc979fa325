/* What the readers of one launch description may use together: files, bytes of them, look-ups of names, and steps.
 *
 * A description names further files: scripts that it sources, modules that it imports, configurations. Read are regular
 * files only, below the folder of the description or below its root: --root, else the nearest folder above it that has
 * `.git`, the checkout that a description belongs to. Links are followed, and what they lead to must lie there as well;
 * a pipe, a device, or a file elsewhere is never opened. The budget of a job counts all its files. */
#ifndef REHEARSE_LAUNCH_BUDGET_H
#define REHEARSE_LAUNCH_BUDGET_H

#include "core/arena.h"
#include "core/doc.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_MAX_FILES   200               /* further files that are read */
#define BUDGET_MAX_BYTES   ((size_t)4 << 20) /* of them, together */
#define BUDGET_MAX_LOOKUPS 5000              /* names of files that are looked up */
#define BUDGET_MAX_REFUSED 8                 /* files that are named */
#define BUDGET_MAX_STEPS   600000            /* parts of expressions; a command of a shell is twelve */

struct launch_budget {
    struct arena *arena;       /* of the names below: it outlives the reading */
    const char *folder, *root; /* with a slash at their ends; NULL: no further file is read */
    size_t bytes;
    int files, lookups;
    int64_t steps;
    bool spent; /* or stopped: `why` says what is over */
    struct error why;
    const char *refused[BUDGET_MAX_REFUSED]; /* files that were found and not opened, and why */
    int refused_count;
};

/* Sets the folders of the next description of the job. `root` is that of --root, or NULL. False: it is no folder. */
bool launch_budget_begin(struct launch_budget *budget, struct arena *arena, const char *path,
                         const char *root, bool is_alone, struct error *err);

/* Returns whether a regular file of this name may be read. */
bool launch_budget_has(struct launch_budget *budget, const char *path);

/* Reads one; the caller frees *data. False: there is none, or it may not be read. */
bool launch_budget_read(struct launch_budget *budget, const char *path, char **data, size_t *length,
                        struct error *err);

/* Reads one as a document by the ending of its name; YAML with the last of two equal keys. The caller releases *doc. */
bool launch_budget_load(struct launch_budget *budget, const char *path, struct doc *doc, struct error *err);

/* Takes steps. False: they are spent, or a stop is wanted, and every further call is false as well. */
bool launch_budget_take(struct launch_budget *budget, int64_t steps);

#endif
