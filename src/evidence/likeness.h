/* How alike two training jobs are, as far as the error of a prediction goes.
 *
 * What a formula gets wrong, it gets wrong alike for jobs of the same software and release on the same device, with the same
 * splits; sizes matter less. The correlation of two errors is exp(-d), where d adds up the differences of the features, each in
 * units of its own: a product of exponential kernels over a line or a star, each of which is positive definite. */
#ifndef REHEARSE_EVIDENCE_LIKENESS_H
#define REHEARSE_EVIDENCE_LIKENESS_H

#include "plan/split/job.h"

enum likeness_size {
    LIKENESS_PARAMETERS, /* log2 of the model's parameters */
    LIKENESS_TOKENS,     /* of the tokens of a micro-batch */
    LIKENESS_TENSOR,     /* of degrees */
    LIKENESS_PIPELINE,
    LIKENESS_CONTEXT,
    LIKENESS_EXPERT,
    LIKENESS_BUBBLE, /* share of the predicted time */
    LIKENESS_SIZES
};

/* The features of a job. */
struct likeness {
    const char *generation, *device, *software;
    const char *
        framework; /* the software as a table names it ("NeMo 24.07"), whose versions do not count; "": not said */
    double released; /* date of the software, in years; 0: not known */
    int bits;        /* of the numbers that are multiplied: 16 (and more), 8 or 4 */
    bool frozen;     /* LoRA */
    enum recompute recompute;
    int sharding;              /* ZeRO stage */
    enum number_recipe recipe; /* of products in 8 and 4 bits */
    double sizes[LIKENESS_SIZES];
};

/* Returns the features of a job and its predicted time. `framework` and `released` are left open. */
struct likeness likeness_of(const struct job *job, const struct job_time *time);

/* Returns d; 0 for equal features. Not more than about `enough` is added up. */
double likeness_distance(const struct likeness *a, const struct likeness *b, double enough);

/* Returns whether two names are one but for their versions, which are dates: "NeMo 24.07" and "NeMo" are. */
bool likeness_same_framework(const char *a, const char *b);

/* Returns the year in a text that begins with YYYY[-MM], or has a release YY.MM in it ("NeMo 24.07"); 0: none. */
double likeness_date(const char *text);

#endif
