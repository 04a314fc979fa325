#include "elastic/policy/policy.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds of an iteration where `pipelines` share the batch of all: 1F1B's (m' + p - 1) slots, where m' is
 * the largest share, against (m + p - 1) of the whole cluster. */
static double seconds_of_equal(const struct elastic_rates *rates, int pipelines, double full)
{
    int64_t most = (rates->batch + pipelines - 1) / pipelines;
    double shared = (double)most, bubble = rates->stages - 1;
    return full * (shared + bubble) / (rates->microbatches + bubble);
}

bool elastic_rates_make(struct elastic_rates *rates, int nodes, int stages, int64_t batch, double full,
                        elastic_seconds *seconds_of, void *context, struct error *err)
{
    memset(rates, 0, sizeof *rates);
    if (nodes < 1 || stages < 1 || stages > nodes || batch < 1 || batch > INT_MAX)
        return error_set(err, ERROR_INPUT, "elastic: %d stages and %lld micro-batches do not fit %d nodes",
                         stages, (long long)batch, nodes);
    int pipelines = nodes / stages;
    *rates = (struct elastic_rates){.nodes = nodes,
                                    .stages = stages,
                                    .pipelines = pipelines,
                                    .batch = batch,
                                    .microbatches = (int)((batch + pipelines - 1) / pipelines),
                                    .best = calloc((size_t)nodes + 1, sizeof(double)),
                                    .equal = calloc((size_t)pipelines + 1, sizeof(double))};
    if (!rates->best || !rates->equal) {
        elastic_rates_release(rates);
        return error_memory(err);
    }
    for (int n = 1; n <= nodes; n++) {
        double seconds = seconds_of    ? seconds_of(context, n)
                         : n >= stages ? seconds_of_equal(rates, n / stages, full)
                                       : 0;
        double fewer = rates->best[n - 1];
        rates->best[n] = seconds > 0 && (fewer <= 0 || seconds < fewer) ? seconds : fewer;
    }
    rates->full = rates->best[nodes];
    size_t whole = (size_t)pipelines * (size_t)stages;
    if (!(rates->best[whole] > 0 && isfinite(rates->full))) {
        elastic_rates_release(rates);
        return error_set(err, ERROR_INFEASIBLE,
                         "elastic: the model cannot be trained on %d nodes, %d pipelines of %d",
                         pipelines * stages, pipelines, stages);
    }
    /* Equal pipelines are no faster than the best arrangement of the same nodes. */
    for (int d = 1; d <= pipelines; d++)
        rates->equal[d] =
            fmax(seconds_of_equal(rates, d, rates->best[whole]), rates->best[(size_t)d * (size_t)stages]);
    return true;
}

void elastic_rates_release(struct elastic_rates *rates)
{
    free(rates->best);
    free(rates->equal);
    memset(rates, 0, sizeof *rates);
}
