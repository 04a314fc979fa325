#include "measure/links/fit.h"

#include <math.h>

#define LOADED 0.1 /* of the rows, and of the pairs of neighbouring sizes */

/* Returns the row of the next smaller size; NULL: there is none. */
static const struct study_row *smaller_of(const struct study *study, const struct study_row *row)
{
    const struct study_row *found = NULL;
    for (int i = 0; i < study->row_count; i++) {
        const struct study_row *other = &study->rows[i];
        if (other->place == row->place && other->work.task == row->work.task &&
            other->work.kind == row->work.kind && other->work.bytes < row->work.bytes &&
            (!found || other->work.bytes > found->work.bytes))
            found = other;
    }
    return found;
}

/* Where other load disturbed most samples of many rows, medians may be those of the load: then larger messages often
 * take less time than smaller ones, which no link does, and the shortest times count, in which the ranks had their
 * processors. Ranks that only wait for each other's processors disturb samples, too, but not the order of the medians;
 * shortest times would then be those of the bursts that a card lets through. */
static bool is_loaded(const struct study *study)
{
    int loaded = 0, pairs = 0, reversed = 0;
    for (int i = 0; i < study->row_count; i++) {
        const struct study_row *row = &study->rows[i], *before = smaller_of(study, row);
        loaded += (row->time.notes & SAMPLE_OTHER_LOAD) != 0;
        pairs += before != NULL;
        reversed += before && row->time.median < before->time.median;
    }
    return loaded > LOADED * study->row_count && reversed > LOADED * pairs;
}

/* All rows of collectives inside hosts or between them. Between hosts only those count in which every rank of a host
 * takes part, as a link's bandwidth is that of a device when all of its node send. */
static bool gather(struct link_samples *samples, const struct study *study, bool across, bool shortest,
                   const char *path)
{
    *samples = (struct link_samples){0};
    samples->path = path;
    samples->samples = ARENA_ARRAY(&samples->arena, (size_t)study->row_count + 1, struct link_sample);
    if (!samples->samples)
        return false;
    for (int i = 0; i < study->row_count; i++) {
        const struct study_row *row = &study->rows[i];
        const struct study_place *place = &study->places[row->place];
        if (row->work.task != LINK_COLLECTIVE || place->kind == PLACE_ONE_EACH || (place->host < 0) != across)
            continue;
        samples->samples[samples->count++] = (struct link_sample){
            .kind = row->work.kind,
            .devices = place->devices,
            .nodes = place->nodes,
            .bytes = (double)row->work.bytes,
            .seconds = study_seconds(row, shortest),
        };
    }
    return true;
}

static bool is_enough(const struct link_samples *samples)
{
    int rows[COLLECTIVE_KINDS] = {0};
    bool enough = false;
    for (int i = 0; i < samples->count; i++)
        enough |= ++rows[samples->samples[i].kind] >= LINK_FIT_MIN;
    return enough;
}

/* The fit begins at the measured latency and bandwidth: three protocols that differ a little, as messages of MPI are
 * sent in other ways by their size. */
static struct cost_link start_of(const struct study_link *measured, int pairs, const char *name,
                                 const char *title, const char *source)
{
    struct cost_link link = {.bandwidth = measured->bandwidth / pairs, .source = source};
    link.name = name;
    link.title = title;
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
        struct link_transfer *transfer = &link.transfers[kind];
        double hop = measured->latency;
        transfer->own = 0.01;
        transfer->protocols[LINK_LL] = (struct link_protocol){hop, hop, 0.45, 4096};
        transfer->protocols[LINK_LL128] = (struct link_protocol){hop, hop, 0.7, 65536};
        transfer->protocols[LINK_SIMPLE] = (struct link_protocol){2.0 * hop, 2.0 * hop, 0.95, INFINITY};
    }
    return link;
}

static int pairs_across(const struct study *study)
{
    for (int i = 0; i < study->place_count; i++)
        if (study->places[i].kind == PLACE_PAIR && study->places[i].host < 0)
            return study->places[i].pairs;
    return 1;
}

static bool fit_inside(struct study_fits *fits, const struct study *study, const char *source,
                       struct error *err)
{
    struct study_link link = {0};
    int host = 0;
    while (host < study->host_count && !study_link_of(study, host, fits->is_shortest, &link))
        host++;
    if (host == study->host_count || !is_enough(&fits->inside_samples))
        return true;
    struct cost_link start = start_of(&link, 1, "measured-inside", "measured inside a host", source);
    fits->has_inside = link_fit_samples(&fits->inside, &fits->inside_samples, &start, NULL, start.name, err);
    return fits->has_inside;
}

static bool fit_across(struct study_fits *fits, const struct study *study, const char *source,
                       struct error *err)
{
    struct study_link link;
    if (!study_link_of(study, -1, fits->is_shortest, &link) || !is_enough(&fits->across_samples))
        return true;
    struct cost_link start =
        start_of(&link, pairs_across(study), "measured-across", "measured between hosts", source);
    /* Only one rank of each host, or an inside that could not be fitted: what is inside costs nothing then. */
    struct study_link free = {.latency = 1e-7, .bandwidth = 1e3 * link.bandwidth};
    struct cost_link inside =
        fits->has_inside ? fits->inside.link : start_of(&free, 1, "free", "free", source);
    fits->has_across =
        link_fit_samples(&fits->across, &fits->across_samples, &start, &inside, start.name, err);
    return fits->has_across;
}

bool study_fit(struct study_fits *fits, const struct study *study, const char *source, struct error *err)
{
    *fits = (struct study_fits){.is_shortest = is_loaded(study)};
    bool ok = (gather(&fits->inside_samples, study, false, fits->is_shortest, source) &&
               gather(&fits->across_samples, study, true, fits->is_shortest, source)) ||
              error_memory(err);
    ok = ok && fit_inside(fits, study, source, err) && fit_across(fits, study, source, err);
    if (!ok)
        study_fits_release(fits);
    return ok;
}

void study_fits_release(struct study_fits *fits)
{
    link_samples_release(&fits->inside_samples);
    link_samples_release(&fits->across_samples);
    if (fits->has_inside)
        link_fit_release(&fits->inside);
    if (fits->has_across)
        link_fit_release(&fits->across);
    *fits = (struct study_fits){0};
}
