/* Measured collectives that travel with the program (data/collectives.txt, made by scripts/make-runs), and by how much
 * they differ from the formula of today (cost/collective.h). */
#ifndef REHEARSE_COST_COLLECTIVE_KNOWN_H
#define REHEARSE_COST_COLLECTIVE_KNOWN_H

#include "cost/collective.h"

struct known_collective {
    enum collective_kind kind;
    int devices; /* all of one node */
    int variant; /* index into the link's sources */
    double bytes, seconds;
    float log_ratio;              /* of measured over computed seconds */
    float log_bytes, log_devices; /* of base 2 */
};

#define COLLECTIVE_MAX_VARIANTS 16

struct known_collectives {
    const struct cost_link *link; /* built in */
    const struct cost_link *kin;  /* of the same silicon, with measured collectives, too; NULL: none */
    /* who measured them, with which software; the first is what a time leans on first */
    const char *sources[COLLECTIVE_MAX_VARIANTS];
    int variants;
    int count;
    const struct known_collective *rows;
};

/* Returns the collectives that were measured on this link; NULL: none, or the link is none of the built-in ones. They
 * live as long as the program. */
const struct known_collectives *collectives_of(const struct cost_link *link);

/* Returns the links' collectives one after another, `index` from 0; NULL behind the last. */
const struct known_collectives *collectives_known(int index);

#endif
