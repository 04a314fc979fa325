/* Published runs, simulated: the played iteration beside the formula's. */
#ifndef REHEARSE_EVIDENCE_SIMULATED_H
#define REHEARSE_EVIDENCE_SIMULATED_H

#include "core/parallel.h"
#include "evidence/validate.h"
#include "sim/play.h"

struct simulated {
    double seconds;     /* of an iteration; NAN: it is not simulated */
    double error;       /* seconds / measured - 1 */
    const char *reason; /* why it is not simulated, in the validation's arena; NULL: it is */
};

/* Fills simulated[validation->count]. Runs must have been predicted. False: out of memory. */
bool simulated_find(struct simulated *simulated, struct validation *validation, enum sim_level level,
                    struct parallel *pool, struct error *err);

/* Errors of the formula and of the simulation over the same runs: the scored ones that were simulated, of which
 * `matches` (NULL: all) accepts some. */
struct simulated_score {
    struct error_score formula, simulation;
};
struct simulated_score simulated_score(const struct simulated *simulated, const struct validation *validation,
                                       bool (*matches)(const struct run *run));

/* The groups that the report shows: all runs, those with pipelines, those without, those that shard parameters. Ended
 * by {NULL, NULL}. */
struct simulated_group {
    const char *name;
    bool (*matches)(const struct run *run);
};
extern const struct simulated_group simulated_groups[];

#endif
