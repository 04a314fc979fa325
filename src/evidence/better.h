/* Published runs against the best plan for the same job on the same devices. */
#ifndef REHEARSE_EVIDENCE_BETTER_H
#define REHEARSE_EVIDENCE_BETTER_H

#include "core/parallel.h"
#include "evidence/validate.h"
#include "plan/split/search.h"

struct better {
    bool found;             /* a plan fits */
    struct job_choice plan; /* the best one; its stages may be uneven */
    double seconds;         /* predicted for what was used, */
    double gain;            /* and by what share the plan is faster */
    bool used_fits;         /* what was used is predicted to fit into the devices' memory */
    char changes[96];       /* "tp 8 to 4, mbs 1 to 2"; empty: it is what was used */
    const char *part;       /* of the iteration, where most is saved: "bubble"; NULL: nothing is */
    double saved;           /* seconds of that part */
};

/* betters[validation->count]; those of runs with a reason are {0}. Runs must have been predicted. A plan
 * may use all of the memory, or as much as is predicted for what was used where that is more: it ran. False where a
 * search failed (memory ran out): *betters then says nothing. */
bool better_find(struct better *betters, const struct validation *validation, struct parallel *pool,
                 struct error *err);

#endif
