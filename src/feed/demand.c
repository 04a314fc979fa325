#include "feed/demand.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define MAX_ACCELERATORS 1000000 /* of a process */

static void add(struct feed_demand *demand, const char *format, ...) PRINTF_LIKE(2, 3);

static void add(struct feed_demand *demand, const char *format, ...)
{
    char *text = demand->texts[demand->override_count];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof demand->texts[0], format, args);
    va_end(args);
    demand->overrides[demand->override_count++] = text;
}

void feed_demand_of(struct feed_demand *demand, const struct plan *plan, bool whole)
{
    int64_t samples = plan_samples(plan);
    *demand = (struct feed_demand){.readers = plan_readers(plan), .whole = whole};
    demand->batch = samples / demand->readers + (samples % demand->readers > 0);
    if (plan->iteration_time > 0)
        demand->seconds = plan->iteration_time;
    if (whole && demand->batch > 0)
        add(demand, "reader.batch_size=%" PRId64, demand->batch);
    if (demand->seconds > 0) {
        add(demand, "train.computation_model=none");
        add(demand, "train.computation_time=%.17g", demand->seconds);
        add(demand, "train.computation_time_stdev=0");
    }
}

static bool says(const struct workload *workload, const char *path)
{
    return workload_key_given(workload, workload_key_find(path));
}

bool feed_demand_check(const struct feed_demand *demand, const struct plan *plan,
                       const struct workload *workload, struct error *err)
{
    if (!workload->workflow.train)
        return true;
    if (demand->whole && demand->batch == 0 && !says(workload, "reader.batch_size"))
        return error_set(
            err, ERROR_INPUT,
            "%s: neither the plan nor the workload has a batch size: add --set reader.batch_size=N",
            plan->path);
    return demand->seconds > 0 || workload->train.computation_model != WORKLOAD_COMPUTATION_TIME ||
           says(workload, "train.computation_time") ||
           error_set(err, ERROR_INPUT,
                     "%s: neither the plan nor the workload has a step time: add --set "
                     "train.computation_time=SECONDS",
                     plan->path);
}

int64_t feed_demand_accelerators(const struct feed_demand *demand, const struct plan *plan, int processes,
                                 struct error *err)
{
    if (demand->readers % processes == 0 && demand->readers / processes <= MAX_ACCELERATORS)
        return demand->readers / processes;
    error_set(err, ERROR_USAGE,
              "%s: the %" PRId64
              " devices that read cannot be divided evenly among %d processes: add --accelerators N",
              plan->path, demand->readers, processes);
    return 0;
}
