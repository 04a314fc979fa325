/* The maximum number of accelerators that a storage keeps busy: runs of one epoch, each judged as any
 * other. */
#include "feed/session.h"

#include "core/fields.h"

#include <math.h>
#include <stdio.h>

struct search {
    struct session *session;
    double target;
    struct session_max *found;
};

/* Returns the standard error of AU, from the spread between all accelerators; NaN: one alone shows none. */
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
    return count < 2 ? (double)NAN : variance > 0 ? sqrt(variance / (count - 1)) : 0;
}

/* What rank 0 tells the others of a probe. */
struct judgement {
    struct session_probe probe;
    char unjudged[sizeof((struct session_max *)0)->unjudged]; /* why there is no verdict; "": there is one */
    struct limits limits;
};

/* Finds the runs that missed the target with the fewest and the most readers. */
static void find_rates(const struct session_max *found, const struct session_probe *last,
                       struct limits_facts *facts)
{
    struct limits_rate *few = &facts->rates[0], *many = &facts->rates[1];
    for (int i = 0; i <= found->probe_count; i++) {
        const struct session_probe *probe = i < found->probe_count ? &found->probes[i] : last;
        if (probe->met || probe->readers == 0)
            continue;
        facts->missed = true;
        if (few->readers == 0 || probe->readers < few->readers)
            *few = (struct limits_rate){probe->readers, probe->rate};
        if (probe->readers > many->readers)
            *many = (struct limits_rate){probe->readers, probe->rate};
    }
    if (many->readers < 1.5 * few->readers) /* too few more to show anything */
        *few = *many = (struct limits_rate){0};
}

/* Judges what limits each host; they must agree. */
static void find_limits(const struct session *session, const struct session_max *found,
                        const struct metrics_figures *figures, struct judgement *to)
{
    for (int i = 0; i < session->host_count; i++) {
        const struct session_host *host = &session->hosts[i];
        struct limits_facts facts = {
            .seen = host->seen,
            .busy = host->read_busy,
            .cpu = host->read_cpu,
            .delayed = host->read_delayed,
            .readers = host->readers,
            .throttled = host->throttled,
            .bytes = (double)figures->all.bytes / session->host_count,
            .au = figures->au,
            .au_target = session->run.whole.options.au_target,
            .from_storage = origin_share(&session->run.origin),
        };
        struct limits limits;
        find_rates(found, &to->probe, &facts);
        limits_judge(&facts, &limits);
        if (i == 0)
            to->limits = limits;
        else if (limits.resource != to->limits.resource) {
            snprintf(to->limits.text, sizeof to->limits.text, "not clear: %s on %s, %s on %s",
                     limits_words[to->limits.resource], session->hosts[0].name, limits_words[limits.resource],
                     host->name);
            to->limits.resource = LIMITS_UNCLEAR;
            return;
        }
    }
}

/* A miss is a measurement, too; any other failure is none. False: not enough memory. */
static bool judge(struct session *session, const struct session_max *found, struct judgement *to,
                  struct error *err)
{
    struct metrics_figures figures;
    const struct metrics *whole = &session->run.whole;
    bool measured = metrics_figures(whole, METRICS_TRAIN, METRICS_RUN, &figures, err);
    if (measured) {
        for (int i = 0; i < session->host_count; i++)
            to->probe.readers += session->hosts[i].readers;
        to->probe.rate = figures.bytes_per_second;
        to->probe.met = figures.met;
        find_limits(session, found, &figures, to);
    }
    if (!measured || (session->verdict != SESSION_TOO_SLOW && !session_passed(session, err))) {
        snprintf(to->unjudged, sizeof to->unjudged, "%.511s", err->text);
        return !error_is_memory(err);
    }
    to->probe.au = figures.au;
    to->probe.error = error_of(whole);
    return true;
}

/* Judges the probe on rank 0, which tells the others. */
static bool measure(struct session *session, const struct session_max *found, struct judgement *to,
                    struct error *err)
{
    struct comm *comm = session->options.run.comm;
    bool ok = session_judge(session, err) && (comm_rank(comm) > 0 || judge(session, found, to, err));
    return comm_agree(comm, ok, "a probe", err) && comm_broadcast(comm, to, sizeof *to, "a probe", err);
}

/* Notes a probe without a verdict. The error is that of a search that has found nothing. */
static bool unjudged(struct session_max *found, int accelerators, const char *why, struct error *err)
{
    found->unjudged_at = accelerators;
    snprintf(found->unjudged, sizeof found->unjudged, "%.511s", why);
    return error_set(err, ERROR_FAILED, "with %d accelerator%s: %s", accelerators,
                     accelerators == 1 ? "" : "s", found->unjudged);
}

/* False, too, if the probe cannot be judged: search->found says so. */
static bool probe(struct search *search, int accelerators, struct session_probe *to, struct error *err)
{
    struct judgement judgement = {.probe = {.accelerators = accelerators}};
    struct session_max *found = search->found;
    struct session *session = search->session;
    struct run_options options = session->options.run;
    options.accelerators = accelerators;
    options.epochs = 1;
    options.checkpoint = NULL;
    options.step.each = NULL;
    if (!session_run_with(session, &options, err)) {
        /* The same files were read before: there are too few for so many. */
        bool too_few = err->kind == ERROR_INPUT && found->probe_count > 0;
        const struct error cause = *err;
        return too_few && unjudged(found, accelerators, cause.text, err);
    }
    if (!session->run.complete)
        return error_set(err, ERROR_FAILED, "stopped before the maximum number of accelerators was found");
    if (!measure(session, found, &judgement, err))
        return false;
    if (*judgement.limits.text)
        found->limits = judgement.limits;
    if (*judgement.unjudged)
        return unjudged(found, accelerators, judgement.unjudged, err);
    *to = judgement.probe;
    if (found->probe_count < SESSION_MAX_PROBES)
        found->probes[found->probe_count++] = *to;
    return true;
}

/* Returns the AU of two runs of equal compute: its sum over the sum of times, not the mean of shares. */
static double together(double au, double again)
{
    return au > 0 && again > 0 ? 2 / (1 / au + 1 / again) : 0;
}

/* Repeats a probe: AU of both runs together, and an error that includes their difference. */
static bool repeat(struct search *search, struct session_probe *known, struct error *err)
{
    struct session_probe again;
    if (!probe(search, known->accelerators, &again, err))
        return false;
    double spread = fabs(known->au - again.au) / 2, error = fmax(known->error, again.error);
    known->au = together(known->au, again.au);
    known->error = isnan(error) ? spread : sqrt(spread * spread + error * error / 2);
    known->met = known->au >= search->target;
    return true;
}

static bool is_certain(const struct session_probe *probe, double target)
{
    return fabs(probe->au - target) > 2 * probe->error;
}

/* Bisects between a number that meets the target and one that misses it. */
static bool halve(struct search *search, struct session_probe *good, struct session_probe *bad,
                  struct error *err)
{
    while (bad->accelerators - good->accelerators > 1) {
        struct session_probe middle;
        if (!probe(search, good->accelerators + (bad->accelerators - good->accelerators) / 2, &middle, err))
            return false;
        *(middle.met ? good : bad) = middle;
    }
    return true;
}

static bool gallop(struct search *search, int limit, struct session_probe *good, struct session_probe *bad,
                   struct error *err)
{
    for (int count = 1;; count = count > limit / 2 ? limit : 2 * count) {
        struct session_probe now;
        if (!probe(search, count, &now, err))
            return false;
        *(now.met ? good : bad) = now;
        if (!now.met || count == limit)
            return true;
    }
}

/* Tries twice as many as missed the target, which shows whether more readers get more. */
static void double_up(struct search *search, int accelerators, int limit)
{
    struct session_probe ignored;
    struct error none;
    struct session_max *found = search->found;
    if (found->limits.resource != LIMITS_UNCLEAR || found->probe_count == 0 || accelerators > limit / 2)
        return;
    const struct session_max before = *found;
    if (!probe(search, 2 * accelerators, &ignored, &none)) /* too few files for so many, as a rule */
        *found = before;
}

bool session_find_max(struct session *session, int limit, struct session_max *found, struct error *err)
{
    const struct workload *workload = session->options.run.workload;
    double target = workload->metric.au;
    int processes = comm_size(session->options.run.comm);
    struct search search = {session, target, found};
    struct session_probe good = {.met = true}, bad = {0};
    *found = (struct session_max){0};
    if (limit < 1)
        return error_set(err, ERROR_USAGE, "accelerators to try: expected a positive number, found %d",
                         limit);
    if (!workload->workflow.train)
        return error_set(err, ERROR_INPUT, "the workload does not train: there is no AU");
    bool ended = gallop(&search, limit, &good, &bad, err) &&
                 (bad.accelerators == 0 || halve(&search, &good, &bad, err)) &&
                 (good.accelerators == 0 || repeat(&search, &good, err)) &&
                 (bad.accelerators == 0 || repeat(&search, &bad, err));
    if (ended && bad.accelerators > 0)
        double_up(&search, bad.accelerators, limit);
    found->au_target = target;
    found->bounded = bad.accelerators > 0;
    found->accelerators = processes * good.accelerators;
    found->fails_at = processes * bad.accelerators;
    found->unjudged_at *= processes;
    for (int i = 0; i < found->probe_count; i++)
        found->probes[i].accelerators *= processes;
    found->certain = ended && (good.accelerators == 0 || (good.met && is_certain(&good, target))) &&
                     (!found->bounded || (!bad.met && is_certain(&bad, target)));
    return ended || (found->unjudged_at > 0 && found->probe_count > 0);
}

static const struct field max_fields[] = {
    FIELD(struct session_max, accelerators, FIELD_INT, 0, 0),
    FIELD(struct session_max, au_target, FIELD_DOUBLE, 0, 0),
    FIELD(struct session_max, fails_at, FIELD_INT, 0, 0), /* where one did */
};

static const struct field end_fields[] = {
    FIELD(struct session_max, certain, FIELD_FLAG, 0, 0),
    FIELD(struct session_max, unjudged_at, FIELD_INT, 0, 0), /* where there is one */
    FIELD(struct session_max, unjudged, FIELD_CHARS, 0, 0),
};

static const struct field probe_fields[] = {
    FIELD(struct session_probe, accelerators, FIELD_INT, 0, 0),
    FIELD(struct session_probe, au, FIELD_DOUBLE, 0, 0),
    FIELD_OUT(struct session_probe, "standard_error", error, FIELD_DOUBLE),
    FIELD(struct session_probe, met, FIELD_FLAG, 0, 0),
    FIELD_OUT(struct session_probe, "readers", readers, FIELD_INT),
    FIELD_OUT(struct session_probe, "bytes_per_second", rate, FIELD_DOUBLE),
};

void session_write_max(const struct session_max *max, struct json *json)
{
    json_open_document(json, "rehearse-max-accelerators/1");
    fields_write(max, max_fields, max->bounded ? 3 : 2, json);
    fields_write(max, end_fields, max->unjudged_at > 0 ? 3 : 1, json);
    FIELDS_LIST(max->probes, max->probe_count, probe_fields, json, "probes");
    limits_write(&max->limits, json);
    json_close(json);
}
