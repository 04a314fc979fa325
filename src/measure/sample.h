/* Repeated measurements: warm-up until steady, then samples until the interval of their median is narrow.
 *
 * A sample is the mean of a batch of runs that lasts long enough for the clock. The interval is made of order
 * statistics, so that it assumes no distribution: the ranks n/2 ± z sqrt(2 tau n / 4), where z = 1.96 and tau
 * measures autocorrelation (the variance of blocks' shares above the median, relative to that of independent
 * samples, at least 1). Without the 2 the interval would contain the true median in 95 % of cases; with it, as
 * both medians vary, it contains the median of a second run.
 *
 * Other load on a machine changes from second to second and from minute to minute, which samples of one second do not
 * show. So a measurement can be visited in rounds, with other measurements in between. A round is then a block; tau is
 * the largest over blocks of one, two, four and more rounds, and larger if there are few blocks (as Student's t is
 * wider than a normal distribution). The extra variance of blocks of many rounds is drift: it is as large between two
 * measurements as within one, and counts three times. */
#ifndef REHEARSE_MEASURE_SAMPLE_H
#define REHEARSE_MEASURE_SAMPLE_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stdint.h>

struct sample_options {
    double precision;    /* target: half of the interval's width, as a share of the median */
    double limit;        /* seconds for one measurement, warm-up included */
    bool by_processor;   /* measure CPU seconds of this process instead of wall-clock seconds */
    double (*now)(void); /* NULL: clock_now */
};

/* One batch of runs. */
struct sample_batch {
    double wall, processor; /* seconds of all its runs */
    bool disturbed;         /* the kernel preempted the process */
};

/* Runs a batch of `count` runs and fills in its times. */
typedef bool sample_run(void *context, int64_t count, struct sample_batch *batch, struct error *err);

enum sample_note {
    SAMPLE_UNSTEADY = 1,    /* the times still fell when a quarter of the limit was over */
    SAMPLE_LIMIT = 2,       /* the time limit was reached before the precision */
    SAMPLE_BIMODAL = 4,     /* the times have two modes */
    SAMPLE_SLOWING = 8,     /* the last third is slower than the first: throttling, or growing other load */
    SAMPLE_DISTURBED = 16,  /* disturbed samples were dropped */
    SAMPLE_FEW = 64,        /* fewer samples than a 95 % interval needs: it is all of them */
    SAMPLE_OTHER_LOAD = 32, /* most samples were disturbed, so they were used */
};

struct sample_result {
    double median, low, high; /* seconds of a run, and the 95 % interval */
    double fastest;
    double processor; /* median of CPU seconds of a run, all threads */
    double precision; /* half of the interval's width, as a share of the median; 1 with SAMPLE_FEW */
    double follow;    /* tau */
    double modes[2];  /* with SAMPLE_BIMODAL: the medians of both kinds */
    double seconds;   /* duration of the measurement */
    int64_t batch;    /* runs in a sample */
    int count;        /* samples used for the median */
    int disturbed;    /* dropped samples, or with SAMPLE_OTHER_LOAD the disturbed ones among `count` */
    int warm_ups;
    unsigned notes; /* enum sample_note */
};

/* Measures. Fails only if `run` fails or memory is exhausted. */
bool sample_repeat(struct sample_result *result, const struct sample_options *options, sample_run *run,
                   void *context, struct error *err);

/* ---- in rounds ---- */

struct sample_series;

/* Prepares a measurement; the caller keeps the options. NULL: memory is exhausted. */
struct sample_series *sample_new(const struct sample_options *options, sample_run *run, void *context,
                                 struct error *err);
void sample_free(struct sample_series *series); /* NULL is allowed */

/* Takes a sample, and further ones until `seconds` are over, as part of a round; rounds are numbered upwards. The first
 * visit warms up before that. */
bool sample_visit(struct sample_series *series, int round, double seconds, struct error *err);

/* Returns the result of all visits, valid until the next call. */
const struct sample_result *sample_sum(struct sample_series *series, struct error *err);

/* Visits series in rounds, by `visit`, which visits each of them at least once: until all are within the precision, or
 * the limit's seconds for each are over. */
typedef bool sample_round(void *context, int round, struct error *err);
bool sample_rounds(struct sample_series *const *series, int count, const struct sample_options *options,
                   sample_round *visit, void *context, struct error *err);

/* Finds median, interval and notes of given times, in the order in which they came; `rounds` has the round of each,
 * ascending, or is NULL. `room`: as many. For tests, and for measurements that have another loop. */
void sample_judge(struct sample_result *result, const double *times, const int *rounds, int count,
                  double precision, double *room);

/* Adds the notes in words: "bimodal: 1.2 ms and 1.9 ms; time limit". Nothing if there are none. */
void sample_notes_print(const struct sample_result *result, struct text *out);

#endif
