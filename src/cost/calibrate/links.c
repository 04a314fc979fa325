#include "cost/calibrate/links.h"

#include "core/fields.h"
#include "core/parallel.h"
#include "cost/calibrate/fit.h"
#include "cost/collective_near.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define EVALUATIONS 16000
/* Errors smaller than this count as noise: below it the objective is a square, above it a modulus. */
#define NOISE 0.02
/* The penalty of a parameter outside its bounds, per unit of its logarithm. */
#define PENALTY 0.1

/* The parameters that are fitted, by their logarithms: they are positive and differ by orders of magnitude. */
enum {
    OWN,
    BASE,                                  /* of LL, then hop and rate; then those of LL128 and Simple */
    UPTO = BASE + 3 * LINK_PROTOCOLS,      /* of LL and LL128 */
    NVLS_BASE = UPTO + LINK_PROTOCOLS - 1, /* then rate */
    SHARE = NVLS_BASE + 2,                 /* of each entry the link has */
    PARAMETERS = SHARE + LINK_MAX_SHARES
};

#define BOUND(member, min, max) FIELD(struct link_transfer, member, FIELD_DOUBLE, min, max)

/* Where parameters mean something. Without a minimum a table of few numbers of devices gives all latency to `base`,
 * and rings through many nodes come out too fast: of Simple it is NCCL's 3.4 us per step on NVLink times its factor 1.4
 * for rings on their plateau, of the others about half of its 0.6 and 1.9 us (src/graph/tuning.cc). LL sends 4 bytes of
 * flag with 4 of data, LL128 8 with 120. Few devices may have many more paths each, or far fewer, than many. */
static const struct field parameters[PARAMETERS] = {
    BOUND(own, 1e-3, 4),
    BOUND(protocols[LINK_LL].base, 0.5e-6, 3e-3),
    BOUND(protocols[LINK_LL].hop, 0.3e-6, 1e-3),
    BOUND(protocols[LINK_LL].rate, 1e-3, 0.5),
    BOUND(protocols[LINK_LL128].base, 0.5e-6, 3e-3),
    BOUND(protocols[LINK_LL128].hop, 0.5e-6, 1e-3),
    BOUND(protocols[LINK_LL128].rate, 5e-3, 0.94),
    BOUND(protocols[LINK_SIMPLE].base, 0.5e-6, 3e-3),
    BOUND(protocols[LINK_SIMPLE].hop, 4.8e-6, 1e-3),
    BOUND(protocols[LINK_SIMPLE].rate, 5e-3, 1.1),
    BOUND(protocols[LINK_LL].upto, 64, 1e12),
    BOUND(protocols[LINK_LL128].upto, 64, 1e12),
    BOUND(nvls.base, 0.5e-6, 3e-3),
    BOUND(nvls.rate, 0.01, 1.5),
    BOUND(shares[0].share, 0.005, 50),
    BOUND(shares[1].share, 0.005, 50),
    BOUND(shares[2].share, 0.005, 50),
    BOUND(shares[3].share, 0.005, 50),
    BOUND(shares[4].share, 0.005, 50),
    BOUND(shares[5].share, 0.005, 50),
    BOUND(shares[6].share, 0.005, 50),
    BOUND(shares[7].share, 0.005, 50),
};

/* More bytes per device than this is no bound at all. */
#define UPTO_ALL 1e9

/* Peers are sent to at the same time, without waiting for one another. */
#define MIN_DIRECT_HOP 1e-8

static double minimum(enum collective_kind kind, int parameter)
{
    bool direct = kind == COLLECTIVE_SEND || kind == COLLECTIVE_ALL_TO_ALL;
    bool hop = parameter > BASE && parameter < UPTO && (parameter - BASE) % 3 == 1;
    return hop && direct ? MIN_DIRECT_HOP : parameters[parameter].min;
}

/* The first move of a parameter's logarithm. */
static double first_step(int parameter)
{
    return parameter >= SHARE ? 0.2 : parameter >= UPTO && parameter < NVLS_BASE ? 1.0 : 0.4;
}

/* ---- one fit: a kind, on the rows that are not of one fold ---- */

struct trial {
    const struct link_samples *samples;
    const struct cost_link *inside; /* NULL: it is the one that is fitted */
    enum collective_kind kind;
    int fold; /* whose rows are left out; LINK_FIT_FOLDS: none */
    bool moves[PARAMETERS];
    struct cost_link link;
};

/* Rows next to each other are often of one size: a hash keeps the folds alike. */
static int fold_of(int row)
{
    return (int)(((uint32_t)row * UINT32_C(2654435761) >> 16) % LINK_FIT_FOLDS);
}

static bool belongs(const struct link_sample *sample, const struct cost_link *inside)
{
    return inside ? sample->nodes > 1 : sample->nodes == 1;
}

static struct collective_group group_of(const struct cost_link *link, const struct cost_link *inside,
                                        const struct link_sample *sample)
{
    return (struct collective_group){
        .devices = sample->devices,
        .devices_per_node = (sample->devices + sample->nodes - 1) / sample->nodes,
        .inside = inside ? inside : link,
        .across = inside ? link : NULL,
    };
}

static double predict(const struct cost_link *link, const struct cost_link *inside,
                      const struct link_sample *sample)
{
    struct collective_group group = group_of(link, inside, sample);
    return collective_time(sample->kind, &group, sample->bytes).seconds;
}

static double outside_bounds(const struct trial *trial, const double *x)
{
    double sum = 0.0;
    for (int i = 0; i < PARAMETERS; i++)
        if (trial->moves[i])
            sum += fmax(0.0, log(minimum(trial->kind, i)) - x[i]) + fmax(0.0, x[i] - log(parameters[i].max));
    return sum;
}

static void take(struct trial *trial, const double *x)
{
    for (int i = 0; i < PARAMETERS; i++)
        if (trial->moves[i])
            field_set(&trial->link.transfers[trial->kind], &parameters[i], exp(x[i]));
}

static bool is_seen(const struct trial *trial, int row)
{
    const struct link_sample *sample = &trial->samples->samples[row];
    return sample->kind == trial->kind && belongs(sample, trial->inside) && fold_of(row) != trial->fold;
}

static double objective(const double *x, void *context)
{
    struct trial *trial = context;
    double sum = 0.0;
    int rows = 0;
    take(trial, x);
    for (int row = 0; row < trial->samples->count; row++) {
        const struct link_sample *sample = &trial->samples->samples[row];
        if (!is_seen(trial, row))
            continue;
        sum += hypot(log(predict(&trial->link, trial->inside, sample) / sample->seconds), NOISE);
        rows++;
    }
    return sum / fmax(rows, 1) + PENALTY * outside_bounds(trial, x);
}

/* A start from the rows alone: the minimum time is a latency, the maximum rate the link's. */
static void start_from_rows(const struct trial *trial, struct link_transfer *transfer)
{
    double shortest = INFINITY;
    double rate = 0.0;
    for (int row = 0; row < trial->samples->count; row++) {
        const struct link_sample *sample = &trial->samples->samples[row];
        double n = sample->devices;
        if (!is_seen(trial, row))
            continue;
        double sent = trial->kind == COLLECTIVE_SEND         ? 1.0
                      : trial->kind == COLLECTIVE_ALL_REDUCE ? 2.0 * (n - 1.0) / n
                                                             : (n - 1.0) / n;
        shortest = fmin(shortest, sample->seconds);
        rate = fmax(rate, sent * sample->bytes / sample->seconds / trial->link.bandwidth);
    }
    static const double hops[LINK_PROTOCOLS] = {0.2, 0.3, 0.5};
    static const double rates[LINK_PROTOCOLS] = {0.15, 0.6, 1.0};
    for (int p = 0; p < LINK_PROTOCOLS; p++) {
        struct link_protocol *protocol = &transfer->protocols[p];
        protocol->base = shortest * (0.7 + 0.15 * p);
        protocol->hop = shortest * hops[p];
        protocol->rate = rate * rates[p];
    }
    transfer->protocols[LINK_LL].upto = 16e3;
    transfer->protocols[LINK_LL128].upto = 512e3;
    transfer->own = 0.2;
    if (transfer->nvls.rate > 0.0)
        transfer->nvls = (struct link_switch){2.0 * shortest, rate, transfer->nvls.from};
}

/* All parameters that the link has are fitted; between nodes also `upto`, where the library chooses the protocol. */
static void choose_moves(struct trial *trial)
{
    const struct link_transfer *transfer = &trial->link.transfers[trial->kind];
    for (int i = 0; i < PARAMETERS; i++)
        trial->moves[i] = true;
    if (trial->kind == COLLECTIVE_SEND)
        trial->moves[OWN] = false;
    for (int i = UPTO; i < NVLS_BASE; i++)
        trial->moves[i] = !trial->inside;
    for (int i = NVLS_BASE; i < SHARE; i++)
        trial->moves[i] = transfer->nvls.rate > 0.0;
    for (int i = SHARE; i < PARAMETERS; i++)
        trial->moves[i] = !trial->inside && i - SHARE < transfer->share_count;
}

static bool minimise(struct trial *trial, const struct link_transfer *start, double *x, double *best)
{
    double step[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++) {
        double value = fmax(field_get(start, &parameters[i]), minimum(trial->kind, i));
        x[i] = trial->moves[i] ? log(fmin(value, parameters[i].max)) : 0.0;
        step[i] = trial->moves[i] ? first_step(i) : 0.0;
    }
    return fit_minimise(objective, trial, x, step, PARAMETERS, EVALUATIONS, best);
}

/* A fit cannot tell LL from LL128: the slower one is LL. */
static void order(struct link_transfer *transfer)
{
    struct link_protocol *protocols = transfer->protocols;
    if (protocols[LINK_LL].rate <= protocols[LINK_LL128].rate)
        return;
    struct link_protocol faster = protocols[LINK_LL];
    protocols[LINK_LL] = protocols[LINK_LL128];
    protocols[LINK_LL128] = faster;
}

/* Fits from the link's own parameters and from those that the rows suggest, and keeps the better fit. */
static bool fit_one(struct trial *trial)
{
    struct link_transfer start = trial->link.transfers[trial->kind];
    struct link_transfer rows = start;
    double own_x[PARAMETERS];
    double rows_x[PARAMETERS];
    choose_moves(trial);
    start_from_rows(trial, &rows);
    for (int p = 0; p < LINK_PROTOCOLS; p++)
        if (start.protocols[p].rate <= 0.0)
            start.protocols[p] = rows.protocols[p];
    trial->link.transfers[trial->kind] = start;
    double own, other;
    if (!minimise(trial, &start, own_x, &own) || !minimise(trial, &rows, rows_x, &other))
        return false;
    take(trial, other < own ? rows_x : own_x);
    for (int p = 0; p < LINK_SIMPLE; p++) {
        double *upto = &trial->link.transfers[trial->kind].protocols[p].upto;
        if (*upto > UPTO_ALL)
            *upto = INFINITY;
    }
    order(&trial->link.transfers[trial->kind]);
    return isfinite(fmin(own, other));
}

/* ---- all of them ---- */

/* One fit per fold, and the last of all rows. */
#define FITS (LINK_FIT_FOLDS + 1)

struct work {
    struct trial trials[COLLECTIVE_KINDS][FITS];
    bool done[COLLECTIVE_KINDS][FITS];
    int rows[COLLECTIVE_KINDS];
};

static void fit_some(void *context, size_t first, size_t last, int thread)
{
    struct work *work = context;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        size_t kind = i / FITS;
        size_t fold = i % FITS;
        work->done[kind][fold] = work->rows[kind] < LINK_FIT_MIN || fit_one(&work->trials[kind][fold]);
    }
}

bool link_error_of(struct error_score *error, const struct link_samples *samples, enum collective_kind kind,
                   const struct cost_link *link, const struct cost_link *inside, struct error *err)
{
    double *errors = calloc((size_t)samples->count + 1, sizeof *errors);
    int count = 0;
    if (!errors)
        return error_memory(err);
    for (int row = 0; row < samples->count; row++) {
        const struct link_sample *sample = &samples->samples[row];
        struct collective_group group = group_of(link, inside, sample);
        if (sample->kind == kind && belongs(sample, inside))
            errors[count++] =
                fabs(collective_time_near(kind, &group, sample->bytes, NULL).seconds / sample->seconds - 1.0);
    }
    *error = fit_score(errors, count);
    free(errors);
    return true;
}

/* Each row is judged by the fit that did not see it. */
static void judge(struct link_fit *fit, const struct work *work, const struct link_samples *samples,
                  const struct cost_link *inside, double *errors)
{
    int all = 0;
    for (int k = 0; k < COLLECTIVE_KINDS; k++) {
        int count = 0;
        for (int row = 0; row < samples->count && work->rows[k] >= LINK_FIT_MIN; row++) {
            const struct link_sample *sample = &samples->samples[row];
            if ((int)sample->kind != k || !belongs(sample, inside))
                continue;
            const struct trial *blind = &work->trials[k][fold_of(row)];
            errors[all + count++] = fabs(predict(&blind->link, inside, sample) / sample->seconds - 1.0);
        }
        fit->kinds[k] = fit_score(errors + all, count);
        all += count;
    }
    fit->all = fit_score(errors, all);
}

static bool prepare(struct work *work, const struct link_samples *samples, const struct cost_link *start,
                    const struct cost_link *inside, struct error *err)
{
    int rows = 0;
    for (int row = 0; row < samples->count; row++)
        if (belongs(&samples->samples[row], inside))
            work->rows[samples->samples[row].kind]++;
    for (int k = 0; k < COLLECTIVE_KINDS; k++)
        rows = work->rows[k] > rows ? work->rows[k] : rows;
    if (rows < LINK_FIT_MIN)
        return error_set(err, ERROR_INPUT, "%s: expected at least %d rows of a collective %s, found %d",
                         samples->path, LINK_FIT_MIN, inside ? "between nodes" : "inside a node", rows);
    for (int k = 0; k < COLLECTIVE_KINDS; k++)
        for (int fold = 0; fold < FITS; fold++)
            work->trials[k][fold] = (struct trial){.samples = samples,
                                                   .inside = inside,
                                                   .kind = (enum collective_kind)k,
                                                   .fold = fold,
                                                   .link = *start};
    return true;
}

static bool fit_links(struct work *work, struct error *err)
{
    struct parallel *pool = parallel_new(0, err);
    if (!pool)
        return false;
    parallel_for(pool, (size_t)COLLECTIVE_KINDS * FITS, 1, fit_some, work);
    parallel_free(pool);
    for (int k = 0; k < COLLECTIVE_KINDS; k++)
        for (int fold = 0; fold < FITS; fold++)
            if (!work->done[k][fold])
                return error_memory(err);
    return true;
}

static bool describe(struct link_fit *fit, const struct link_samples *samples, const struct cost_link *start,
                     const char *name)
{
    struct cost_link *link = &fit->link;
    link->alias_count = 0;
    link->aliases = NULL;
    link->name = arena_string(&fit->arena, name);
    link->title = arena_string(&fit->arena, start->title);
    link->source = start->source ? arena_string(&fit->arena, start->source) : NULL;
    link->fitted = arena_format(&fit->arena,
                                "%d rows of %s, from the parameters of %s; %d-fold cross-validated error: "
                                "median %.1f %%, mean %.1f %%",
                                fit->all.rows, samples->path, start->name, LINK_FIT_FOLDS,
                                100.0 * fit->all.median, 100.0 * fit->all.mean);
    return link->name && link->title && link->fitted && (link->source || !start->source);
}

static bool fit_all(struct link_fit *fit, struct work *work, const struct link_samples *samples,
                    const struct cost_link *start, const struct cost_link *inside, const char *name,
                    struct error *err)
{
    double *errors = ARENA_ARRAY(&fit->arena, (size_t)samples->count, double);
    if (!errors)
        return error_memory(err);
    if (!prepare(work, samples, start, inside, err) || !fit_links(work, err))
        return false;
    fit->link = *start;
    for (int k = 0; k < COLLECTIVE_KINDS; k++)
        if (work->rows[k] >= LINK_FIT_MIN)
            fit->link.transfers[k] = work->trials[k][LINK_FIT_FOLDS].link.transfers[k];
    judge(fit, work, samples, inside, errors);
    return describe(fit, samples, start, name) || error_memory(err);
}

bool link_fit_samples(struct link_fit *fit, const struct link_samples *samples, const struct cost_link *start,
                      const struct cost_link *inside, const char *name, struct error *err)
{
    *fit = (struct link_fit){0};
    struct work *work = calloc(1, sizeof *work);
    if (!work)
        return error_memory(err);
    bool done = fit_all(fit, work, samples, start, inside, name, err);
    free(work);
    if (!done)
        link_fit_release(fit);
    return done;
}

void link_fit_release(struct link_fit *fit)
{
    arena_release(&fit->arena);
    *fit = (struct link_fit){0};
}
