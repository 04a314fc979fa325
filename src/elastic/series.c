#include "elastic/series.h"

#include "core/vector.h"
#include "elastic/policy/play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_piece(void *context, double from, double to, double speed, enum elastic_cause cause)
{
    struct elastic_series *series = context;
    struct elastic_piece *last = series->pieces ? &series->pieces[series->count - 1] : NULL;
    if (last && last->cause == cause && last->speed >= speed && last->speed <= speed)
        last->to = to;
    else if (!VECTOR_ROOM(series->pieces, series->capacity, (size_t)series->count + 1) || !series->pieces)
        series->failed = true;
    else
        series->pieces[series->count++] =
            (struct elastic_piece){.from = from, .to = to, .speed = speed, .cause = cause};
}

bool elastic_series_make(struct elastic_series *series, const struct elastic_variant *variant,
                         const struct failure_trace *trace, struct error *err)
{
    struct policy_state state;
    const struct elastic_watch watch = {.context = series, .piece = add_piece};
    memset(series, 0, sizeof *series);
    series->name = variant->name;
    if (!elastic_setup_check(&variant->setup, err) || !policy_state_make(&state, trace->nodes, err))
        return false;
    elastic_play(variant->policy, &variant->setup, trace, &state, &watch, &series->result);
    policy_state_release(&state);
    if (!series->failed)
        return true;
    elastic_series_release(series);
    return error_memory(err);
}

void elastic_series_release(struct elastic_series *series)
{
    free(series->pieces);
    memset(series, 0, sizeof *series);
}

void elastic_series_csv(const struct elastic_series *series, bool first, struct text *out)
{
    if (first)
        text_add(out, "policy,from_s,to_s,speed,state\n");
    for (int i = 0; i < series->count; i++) {
        const struct elastic_piece *piece = &series->pieces[i];
        text_format(out, "%s,%.9g,%.9g,%.6g,%s\n", series->name, piece->from, piece->to, piece->speed,
                    piece->cause == ELASTIC_TRAINED ? "train" : elastic_cause_name(piece->cause));
    }
}

void elastic_series_bins(const struct elastic_series *series, double horizon, double *bins, int count)
{
    double width = horizon / count;
    memset(bins, 0, (size_t)count * sizeof *bins);
    for (int i = 0; i < series->count; i++) {
        const struct elastic_piece *piece = &series->pieces[i];
        int first = (int)fmin(piece->from / width, count - 1), last = (int)fmin(piece->to / width, count - 1);
        for (int bin = first; bin <= last; bin++) {
            double from = fmax(piece->from, bin * width), to = fmin(piece->to, (bin + 1) * width);
            bins[bin] += fmax(to - from, 0) / width * piece->speed;
        }
    }
}
