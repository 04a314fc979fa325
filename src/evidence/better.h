/* Compares published runs with the best plan for the same job and devices. */
#ifndef REHEARSE_EVIDENCE_BETTER_H
#define REHEARSE_EVIDENCE_BETTER_H

#include "core/parallel.h"
#include "evidence/validate.h"
#include "plan/split/search.h"

struct better {
    bool found;             /* a plan fits */
    struct job_choice plan; /* the best one; its stages may be uneven */
    double seconds;         /* prediction for the published layout, */
    double gain;            /* and the share by which the plan is faster */
    bool used_fits;         /* the published layout is predicted to fit into memory */
    char changes[96];       /* "tp 8 to 4, mbs 1 to 2"; empty: same layout */
    const char *part;       /* part of the iteration with the largest saving: "bubble"; NULL: none */
    double saved;           /* seconds of that part */
};

/* Fills betters[validation->count]; {0} for runs with a reason. Runs must have been predicted. A plan may use
 * all memory, or the prediction for the published layout if that is more: it ran. False if a search ran out
 * of memory: *betters is then invalid. */
bool better_find(struct better *betters, const struct validation *validation, struct parallel *pool,
                 struct error *err);

#endif
