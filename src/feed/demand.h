/* What a planned job asks of its storage: how many devices read, how much each, and how often. */
#ifndef REHEARSE_FEED_DEMAND_H
#define REHEARSE_FEED_DEMAND_H

#include "feed/workload/workload.h"
#include "plan/plan.h"

struct feed_demand {
    int64_t readers; /* devices that read samples of their own */
    int64_t batch;   /* samples of a reader in a step, rounded up; 0: the plan does not say */
    double seconds;  /* of a step; 0: the plan does not say */
    bool whole;      /* readers and batch are wanted, too */
    int override_count;
    const char *overrides[4]; /* of a workload: "reader.batch_size=4"; those given by hand come after them */
    char texts[4][64];
};

/* `whole`: the overrides also set the batch; else only the time of a step. `demand` must not be moved afterwards: it points
 * into itself. */
void feed_demand_of(struct feed_demand *demand, const struct plan *plan, bool whole);

/* Do plan and workload together say how much is read, and how often? ERROR_INPUT that names what is missing if not. */
bool feed_demand_check(const struct feed_demand *demand, const struct plan *plan,
                       const struct workload *workload, struct error *err);

/* Emulated accelerators of each of `processes` that read together as the plan does. 0: the error says why not. */
int64_t feed_demand_accelerators(const struct feed_demand *demand, const struct plan *plan, int processes,
                                 struct error *err);

#endif
