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

/* Returns the standard error of AU, from the spread between all accelerators. */
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

/* What rank 0 tells the others of a probe. */
struct judgement {
    struct session_probe probe;
    char unjudged[sizeof((struct session_max *)0)->unjudged]; /* why there is no verdict; "": there is one */
};

/* A miss is a measurement, too; any other failure is none. False: not enough memory. */
static bool judge(struct session *session, struct judgement *to, struct error *err)
{
    struct metrics_figures figures;
    const struct metrics *whole = &session->run.whole;
    if ((session->verdict != SESSION_TOO_SLOW && !session_passed(session, err)) ||
        !metrics_figures(whole, METRICS_TRAIN, METRICS_RUN, &figures, err)) {
        snprintf(to->unjudged, sizeof to->unjudged, "%.511s", err->text);
        return !error_is_memory(err);
    }
    to->probe.au = figures.au;
    to->probe.error = error_of(whole);
    to->probe.met = figures.met;
    return true;
}

/* Judges the probe on rank 0, which tells the others. */
static bool measure(struct session *session, struct judgement *to, struct error *err)
{
    struct comm *comm = session->options.run.comm;
    bool ok = session_judge(session, err) && (comm_rank(comm) > 0 || judge(session, to, err));
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
    if (!measure(session, &judgement, err))
        return false;
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
    known->error = sqrt(spread * spread + error * error / 2);
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
};

void session_write_max(const struct session_max *max, struct json *json)
{
    json_open_document(json, "rehearse-max-accelerators/1");
    fields_write(max, max_fields, max->bounded ? 3 : 2, json);
    fields_write(max, end_fields, max->unjudged_at > 0 ? 3 : 1, json);
    FIELDS_LIST(max->probes, max->probe_count, probe_fields, json, "probes");
    json_close(json);
}
