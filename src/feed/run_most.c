/* The most accelerators that a storage keeps busy. */
#include "feed/run.h"

#include "feed/result/metrics_figures.h"

#include <math.h>

struct search {
    const struct run_options *options;
    double target;
    struct run_most *found;
};

/* The standard error of AU, as the accelerators of all processes differ in it. */
static double error_of(const struct metrics *metrics)
{
    int count = metrics->count;
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++) {
        struct metrics_row row = metrics_total(metrics, i, METRICS_TRAIN, METRICS_RUN);
        double au = metrics_au(&row.counted);
        sum += au;
        squares += au * au;
    }
    double mean = sum / count, variance = squares / count - mean * mean;
    return count > 1 && variance > 0 ? sqrt(variance / (count - 1)) : 0;
}

/* What memory keeps busy says nothing of the storage. */
static bool check_origin(const struct origin *origin, struct error *err)
{
    double share = origin_share(origin);
    if (origin_is_cold(origin))
        return true;
    if (isnan(share))
        return error_set(err, ERROR_FAILED, "no verdict: nobody knows what came from the storage: %s",
                         origin_words(origin->evidence));
    return error_set(err, ERROR_FAILED,
                     "no verdict, from memory: only %.3g %% of the bytes came from the storage (%s); see "
                     "--drop-caches, --direct and --warm",
                     100.0 * share, origin_words(origin->evidence));
}

/* Rank 0 has the figures of all. */
static bool measure(const struct search *search, const struct run_result *result, struct run_probe *probe,
                    struct error *err)
{
    struct metrics_figures figures;
    double values[2] = {0};
    bool ok = true;
    if (comm_rank(search->options->comm) == 0) {
        ok = metrics_figures(&result->whole, METRICS_TRAIN, METRICS_RUN, &figures, err) &&
             (search->options->warm || check_origin(&result->origin, err));
        values[0] = ok ? figures.au : 0;
        values[1] = ok ? error_of(&result->whole) : 0;
    }
    if (!comm_agree(search->options->comm, ok, "a probe", err) ||
        !comm_broadcast(search->options->comm, values, sizeof values, "a probe", err))
        return false;
    probe->au = values[0];
    probe->error = values[1];
    probe->met = probe->au >= search->target;
    return true;
}

static bool probe(struct search *search, int accelerators, struct run_probe *to, struct error *err)
{
    struct run_result result;
    struct run_options options = *search->options;
    options.accelerators = accelerators;
    options.epochs = 1;
    options.checkpoint = NULL;
    options.each = NULL;
    *to = (struct run_probe){.accelerators = accelerators};
    bool ran = run_workload(&options, &result, err);
    search->found->abandoned = result.abandoned;
    if (!ran)
        return false;
    bool ok = result.complete
                  ? measure(search, &result, to, err)
                  : error_set(err, ERROR_FAILED, "stopped before the most accelerators were found");
    if (!ok && result.complete && !error_is_memory(err))
        error_set(err, err->kind, "with %d accelerator%s: %s", accelerators, accelerators == 1 ? "" : "s",
                  err->text);
    run_release(&result);
    if (ok && search->found->probe_count < RUN_MAX_PROBES)
        search->found->probes[search->found->probe_count++] = *to;
    return ok;
}

/* Of two runs of the same compute as one: what was asked for over the time of both, not the mean of shares. */
static double together(double au, double again)
{
    return au > 0 && again > 0 ? 2 / (1 / au + 1 / again) : 0;
}

/* Runs it once more: AU of both together, and an error that their difference is in. */
static bool repeat(struct search *search, struct run_probe *known, struct error *err)
{
    struct run_probe again;
    if (!probe(search, known->accelerators, &again, err))
        return false;
    double spread = fabs(known->au - again.au) / 2, error = fmax(known->error, again.error);
    known->au = together(known->au, again.au);
    known->error = sqrt(spread * spread + error * error / 2);
    known->met = known->au >= search->target;
    return true;
}

static bool is_certain(const struct run_probe *probe, double target)
{
    return fabs(probe->au - target) > 2 * probe->error;
}

/* Between a number that meets the target and one that misses it. */
static bool halve(struct search *search, struct run_probe *good, struct run_probe *bad, struct error *err)
{
    while (bad->accelerators - good->accelerators > 1) {
        struct run_probe middle;
        if (!probe(search, good->accelerators + (bad->accelerators - good->accelerators) / 2, &middle, err))
            return false;
        *(middle.met ? good : bad) = middle;
    }
    return true;
}

static bool gallop(struct search *search, int most, struct run_probe *good, struct run_probe *bad,
                   struct error *err)
{
    for (int count = 1;; count = count > most / 2 ? most : 2 * count) {
        struct run_probe now;
        if (!probe(search, count, &now, err))
            return false;
        *(now.met ? good : bad) = now;
        if (!now.met || count == most)
            return true;
    }
}

bool run_find_most(const struct run_options *options, double target, int most, struct run_most *found,
                   struct error *err)
{
    struct search search = {options, target, found};
    struct run_probe good = {.met = true}, bad = {0};
    *found = (struct run_most){0};
    if (most < 1)
        return error_set(err, ERROR_USAGE, "accelerators to try: expected a positive number, found %d", most);
    if (!options->workload->workflow.train)
        return error_set(err, ERROR_INPUT, "the workload does not train: there is no AU");
    if (!gallop(&search, most, &good, &bad, err))
        return false;
    found->bounded = bad.accelerators > 0;
    if (found->bounded && !halve(&search, &good, &bad, err))
        return false;
    if ((good.accelerators > 0 && !repeat(&search, &good, err)) ||
        (found->bounded && !repeat(&search, &bad, err)))
        return false;
    found->accelerators = good.accelerators;
    found->fails_at = bad.accelerators;
    found->certain = (good.accelerators == 0 || (good.met && is_certain(&good, target))) &&
                     (!found->bounded || (!bad.met && is_certain(&bad, target)));
    return true;
}
