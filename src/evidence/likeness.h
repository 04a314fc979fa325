/* How alike two training jobs are, as far as the error of a prediction goes.
 *
 * What a formula gets wrong, it gets wrong alike for jobs of the same software and release on the same device, with the
 * same splits; sizes matter less. The correlation of two errors is exp(-d), where d adds up the differences of the
 * features, each in units of its own: a product of exponential kernels over a line or a star, each of which is positive
 * definite. */
#ifndef REHEARSE_EVIDENCE_LIKENESS_H
#define REHEARSE_EVIDENCE_LIKENESS_H

#include "core/text.h"
#include "plan/split/job.h"

enum likeness_size {
    LIKENESS_PARAMETERS, /* log2 of the model's parameters */
    LIKENESS_TOKENS,     /* of the tokens of a micro-batch */
    LIKENESS_TENSOR,     /* of degrees */
    LIKENESS_PIPELINE,
    LIKENESS_CONTEXT,
    LIKENESS_EXPERT,
    LIKENESS_BUBBLE, /* share of the predicted time */
    LIKENESS_BLOCK, /* log2 of the milliseconds that a block computes per micro-batch: short ones wait for the host */
    LIKENESS_SIZES
};

/* Numbers of corrections and intervals, by their rows in data/names.yaml. */
enum doubt {
    DOUBT_MEASURED,
    DOUBT_USUAL,
    DOUBT_ODD,
    DOUBT_ENOUGH,
    DOUBT_UNSEEN,
    DOUBT_NO_SUPPORT,
    DOUBT_OTHER_NAME,
    DOUBT_USUAL_SPREAD,
    DOUBT_LEAST_SPREAD,
    DOUBT_MOST_SPREAD,
    DOUBTS
};
double likeness_doubt(enum doubt which);

#define LIKENESS_OTHERS 9 /* of software_mixture */

/* Kinds of models, whose training differs in more than size. */
enum likeness_kind { LIKENESS_DENSE, LIKENESS_EXPERTS, LIKENESS_ENCODER, LIKENESS_KINDS };

/* The features of a job. */
struct likeness {
    const char *generation, *device, *software;
    const char *
        framework; /* the software as a table names it ("NeMo 24.07"), whose versions do not count; "": not said */
    double released; /* date of the software, in years; 0: not known */
    int bits;        /* of the numbers that are multiplied: 16 (and more), 8 or 4 */
    bool frozen;     /* LoRA */
    bool packed;     /* sequences of documents */
    enum recompute recompute;
    int sharding;              /* ZeRO stage */
    enum number_recipe recipe; /* of products in 8 and 4 bits */
    double sizes[LIKENESS_SIZES];
    /* These add nothing to the distance; they tell similar jobs. */
    enum likeness_kind kind;
    bool sheet;    /* the device's times rest on its data sheet alone (device_basis) */
    int devices;   /* 0: not known yet */
    double active; /* log2 of the parameters that a token uses */
    double
        step; /* log2 of the predicted seconds, at most of two: what a step costs once shows in short ones */
    /* ln of the time by each software of software_mixture over that by the job's own; all 0: not priced */
    double others[LIKENESS_OTHERS];
    const char *called; /* the software as the user names it, for likeness_says_software; NULL: not said */
};

/* Returns the features of a job and its predicted time. `framework`, `released`, `others` and `called` are left
 * open. */
struct likeness likeness_of(const struct job *job, const struct job_time *time);

/* Sets the indices in software_mixture of software that may have run a job, and returns their number, at least 1: what
 * was there at the job's date (fused attention came in 2023; a job without a date is of today), offers its splits, and
 * trains adapters where it does. `without`: not the family of this software; NULL: of all. Where nothing is left, what
 * cannot be told apart counts: other splits, full training. */
int likeness_mixture(const struct likeness *likeness, const char *without, int which[LIKENESS_OTHERS]);

/* Prices the job as software of other families would run it. */
void likeness_price_others(struct likeness *likeness, const struct job *job);

/* The times by the other families: what would be said of the job if nothing was known of its software. */
struct likeness_spread {
    double center; /* median, as ln of the share of the job's own time */
    double width;  /* of the largest over the smallest, as ln */
};

/* `forget`: without the software of the job's own family. */
struct likeness_spread likeness_spread(const struct likeness *likeness, bool forget);

/* Returns how far a known run is from supporting a prediction, in other units than those of likeness_distance: what
 * the formula's own numbers rest on (family of software, generation, kind of job, how short blocks and steps are)
 * counts, and
 * splits, which are physics, do not. 0: as the run. */
double likeness_support(const struct likeness *run, const struct likeness *job);

/* Returns whether a known run is of software that is called like the job's, by its first word. */
bool likeness_says_software(const struct likeness *run, const struct likeness *job);

/* Returns d; 0 for equal features. Not more than about `enough` is added up. */
double likeness_distance(const struct likeness *a, const struct likeness *b, double enough);

/* Similar jobs, in the words of a reader. The distance multiplies all differences of settings, release and framework,
 * none of which a plan shares with any run in full: it weighs runs, and says little about whether one is similar. A job
 * is called similar if it trains a model of the same kind and nearly the size, on nearly as many devices of the same
 * generation: at most so many times the parameters (all, and those that a token uses) or devices, and at least that
 * fraction. All else is a difference to be named. */
#define SIMILAR_PARAMETERS 2.0
#define SIMILAR_DEVICES    4.0

bool likeness_is_similar(const struct likeness *run, const struct likeness *job);

/* Returns whether a similar run is nearer to a job than another one: the same model counts first, then the same
 * training, the same device, the number of devices, and then the distance. */
bool likeness_is_nearer(const struct likeness *run, const struct likeness *than, const struct likeness *job);

/* Appends the settings of a run that differ from the job's, "fp8 instead of bf16, pipeline 8 instead of 4", at most
 * `most` of them and how many more there are; nothing if none differs. */
void likeness_differences(const struct likeness *run, const struct likeness *job, int most, struct text *out);

/* Returns whether two kinds of software are of one family: "megatron-core-2024" and "megatron-2021" are. */
bool likeness_same_family(const char *a, const char *b);

/* Returns whether two names are one but for their versions, which are dates: "NeMo 24.07" and "NeMo" are. */
bool likeness_same_framework(const char *a, const char *b);

/* Returns the year in a text that begins with YYYY[-MM], or has a release YY.MM in it ("NeMo 24.07"); 0: none. */
double likeness_date(const char *text);

#endif
