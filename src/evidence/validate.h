/* Compares published training runs with their predictions.
 *
 * A table with one run per row (CSV, by column name: gpu, gpus, framework, model, layers, hidden, heads, kv_heads,
 * ffn, seq, vocab, precision, tp, pp, vp, dp, cp, ep, zero, mbs, gbs or microbatches, recompute, sec_per_iter or
 * real_ms, mem_gb or real_mem_gib, sec_basis, outcome, devices_per_node, across).
 * Missing values follow from a row's software (devices/software.h). A row that cannot be modelled or has an
 * unreadable cell gives its reason; unreadable cells are never guessed. */
#ifndef REHEARSE_EVIDENCE_VALIDATE_H
#define REHEARSE_EVIDENCE_VALIDATE_H

#include "core/arena.h"
#include "core/csv.h"
#include "core/error.h"
#include "core/fields.h"
#include "core/statistics.h"
#include "devices/tables.h"
#include "plan/split/job.h"

/* Settings that a run leaves open. */
enum { OPEN_RECOMPUTE = 1, OPEN_MODULES = 2, OPEN_SHARDING = 4, OPEN_CHUNKS = 8 };

struct run {
    const char *id, *source, *gpu, *model_name, *framework; /* as in the table */
    const char *set;  /* the part of the table it belongs to; "" without that column */
    const char *date; /* of the numbers, YYYY[-MM[-DD]]; "": not given */
    int line;
    const char *reason; /* why it is not modelled; NULL: it is modelled */
    bool mixed;         /* its software is unknown: one of software_mixture, whichever is in the middle */
    bool undated; /* its software has several generations, and the run neither version nor date: the newest */
    bool scored;  /* its time was measured: printed, or derived from printed tokens per second */
    struct job job;
    struct architecture model;
    double seconds; /* measured, per iteration; 0: not given */
    double memory;  /* measured bytes on the fullest device; 0: not given */
    struct job_time predicted;
    struct job_memory predicted_memory;
    bool ran_out;        /* out of memory according to the table (outcome: OOM) */
    unsigned open;       /* OPEN_…; 0: all that memory depends on is given */
    bool fits;           /* the predicted memory fits into the device */
    bool fits_open;      /* it does, or would with other values of what is left open */
    double expected;     /* seconds: predicted, corrected by known runs (judge.h) */
    double error;        /* expected / measured - 1 */
    double memory_error; /* likewise; 0 if memory is not given */
};

/* The parts of an iteration's time, which add up to its seconds: members of struct job_time, "compute", "bubble", … */
#define JOB_TIME_PARTS 7
extern const struct field job_time_parts[JOB_TIME_PARTS];

struct validation {
    struct arena arena;
    struct csv csv;
    int count;
    struct run *runs; /* in the order of the table */
    bool no_memory;   /* out of memory while reading a row: the table is not loaded */
    double *errors;   /* scratch space for sorting scores: one thread at a time */
};

/* Defaults for missing columns; NULL: none, rows without the value are not modelled. */
struct validation_defaults {
    const char *gpu, *framework, *precision, *recompute;
    const char *across;          /* link between nodes; without either, the device's usual one */
    int devices_per_node;        /* likewise; 0: not given */
    const char *set;             /* only runs of this set are kept; NULL: all */
    const struct tables *tables; /* the user's; NULL: none */
};

/* Reads a table. On failure *validation is empty; on success the caller ends it with validation_release. */
bool validation_load(struct validation *validation, const char *path,
                     const struct validation_defaults *defaults, struct error *err);
bool validation_parse(struct validation *validation, const char *path, const char *data, size_t length,
                      const struct validation_defaults *defaults, struct error *err);
/* The same for the published runs that come with the program (data/runs.csv). Their sets are "trainers" (pages of the
 * makers of Megatron, NeMo, llm-foundry, torchtitan, …), "simumax", "mlperf", and "recipes" (other software people
 * use). */
bool validation_load_known(struct validation *validation, const struct validation_defaults *defaults,
                           struct error *err);
void validation_release(struct validation *validation);

/* Predicts all runs by formulas alone. `calibration` replaces that of every run's device; NULL: the device's. */
void validation_predict(struct validation *validation, const struct calibration *calibration);

/* Returns whether the predicted memory fits. */
bool run_job_fits(const struct job *job);

/* The same for any value of the settings that a run leaves open. */
bool run_fits_somehow(const struct run *run);

/* Predicted memory of the runs that give it, and of those known to have run or to have run out of memory. */
struct memory_score {
    struct error_score errors;
    int ran, wrongly_refused; /* runs with known settings that ran, and those of them predicted not to fit */
    int open, open_refused; /* runs with open settings that ran, and those that fit with no value of these */
    int ran_out, caught;    /* runs that ran out of memory, and those of them predicted to */
};
struct memory_score validation_memory(const struct validation *validation);

/* Sets what is expected of a run that was predicted, and its error. */
void run_expect(struct run *run, double seconds);

/* Scores the expected times of the runs that `matches` accepts (NULL: all). */
struct error_score validation_score(const struct validation *validation,
                                    bool (*matches)(const struct run *run, const void *context),
                                    const void *context);

/* Read a cell of the column `precision` or `recompute`. False: it is unknown. */
bool run_type_named(const char *text, enum cost_type *type);
bool run_recompute_named(const char *text, enum recompute *recompute);

#endif
