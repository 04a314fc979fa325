/* Throughput of a run over time, for tables and pictures. */
#ifndef REHEARSE_ELASTIC_SERIES_H
#define REHEARSE_ELASTIC_SERIES_H

#include "core/text.h"
#include "elastic/goodput.h"

/* From `from` to `to` the job is in one state: it trains at `speed`, a share of full speed, or stops
 * because of `cause`. */
struct elastic_piece {
    double from, to, speed;
    enum elastic_cause cause;
};

struct elastic_series {
    const char *name;             /* of the variant, which must live as long */
    struct elastic_piece *pieces; /* in order of time; equal neighbours are one */
    int count;
    size_t capacity;
    bool failed;
    struct elastic_result result;
};

/* Plays a variant over a trace. On success the caller releases the series. */
bool elastic_series_make(struct elastic_series *series, const struct elastic_variant *variant,
                         const struct failure_trace *trace, struct error *err);
void elastic_series_release(struct elastic_series *series);

/* Adds rows "policy,from_s,to_s,speed,state"; with the first series also the line of column names. */
void elastic_series_csv(const struct elastic_series *series, bool first, struct text *out);

/* Mean speed in each of `count` equal parts of the time until `horizon`. */
void elastic_series_bins(const struct elastic_series *series, double horizon, double *bins, int count);

#endif
