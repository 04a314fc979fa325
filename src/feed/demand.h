/* The demand of a planned job on its storage: the number of reading devices, their volume and its rate. */
#ifndef REHEARSE_FEED_DEMAND_H
#define REHEARSE_FEED_DEMAND_H

#include "feed/workload/workload.h"
#include "plan/plan.h"

struct feed_demand {
    int64_t readers; /* devices that read samples of their own */
    int64_t batch;   /* samples per reader and step, rounded up; 0: not in the plan */
    double seconds;  /* per step; 0: not in the plan */
    bool whole;      /* readers and batch count, too */
    int override_count;
    const char *overrides[4]; /* of a workload: "reader.batch_size=4"; the user's overrides come after them */
    char texts[4][64];
};

/* Computes the demand. `whole`: the overrides also set the batch; else only a step's time. `demand` points
 * into itself and must not be moved. */
void feed_demand_of(struct feed_demand *demand, const struct plan *plan, bool whole);

/* Fails with ERROR_INPUT, naming the gap, unless plan and workload together define volume and rate. */
bool feed_demand_check(const struct feed_demand *demand, const struct plan *plan,
                       const struct workload *workload, struct error *err);

/* Returns the emulated accelerators per process that together read as the plan does; 0 on failure. */
int64_t feed_demand_accelerators(const struct feed_demand *demand, const struct plan *plan, int processes,
                                 struct error *err);

#endif
