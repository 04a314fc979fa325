/* Systems that a user may come from: `rehearse help oobleck`. docs/coming-from.md has the whole tables;
 * tests/cli/coming_from runs every line. */
#ifndef REHEARSE_CLI_ORIGINS_H
#define REHEARSE_CLI_ORIGINS_H

#include "cli/command.h"

struct origin {
    const char *name;  /* "oobleck" */
    const char *title; /* "Oobleck, H-Oobleck and Ditto" */
    const char *section;
    const struct command_example
        *examples; /* what there is instead of what is there; ended by {NULL, NULL} */
};

/* Ended by one without a name. */
extern const struct origin origins[];

const struct origin *origin_find(const char *name); /* NULL: none */
void origin_write(const struct origin *origin, struct text *out);

/* Writes the names with `between` between them. */
void origin_write_names(struct text *out, const char *between);

#endif
