/* Published training runs against what is predicted for them.
 *
 * A table with one run per row (CSV, by column name: gpu, gpus, framework, model, layers, hidden, heads, kv_heads,
 * ffn, seq, vocab, precision, tp, pp, vp, dp, cp, ep, zero, mbs, gbs or microbatches, recompute, sec_per_iter or
 * real_ms, mem_gb or real_mem_gib, sec_basis, outcome, devices_per_node, across).
 * What a row leaves unsaid follows from its software (devices/software.h); a row that cannot be modelled says why,
 * also where a cell is not what its column holds: nothing is taken for what cannot be read. */
#ifndef REHEARSE_EVIDENCE_VALIDATE_H
#define REHEARSE_EVIDENCE_VALIDATE_H

#include "core/arena.h"
#include "core/csv.h"
#include "core/error.h"
#include "devices/tables.h"
#include "plan/split/job.h"

struct run {
    const char *id, *source, *gpu, *model_name, *framework; /* as the table has them */
    int line;
    const char *reason; /* why it is not modelled; NULL: it is */
    bool scored;        /* its seconds were measured: printed, or from printed tokens per second */
    struct job job;
    struct architecture model;
    double seconds; /* measured, of one iteration; 0: not given */
    double memory;  /* measured, bytes on the fullest device; 0: not given */
    struct job_time predicted;
    struct job_memory predicted_memory;
    bool ran_out;        /* of memory, says the table (outcome: OOM) */
    bool says_all;       /* what memory depends on: sharding and recomputation are not left unsaid */
    bool fits;           /* its predicted memory into the device's */
    double error;        /* predicted / measured - 1 */
    double memory_error; /* the same; 0 where memory is not given */
};

struct validation {
    struct arena arena;
    struct csv csv;
    int count;
    struct run *runs; /* in the order of the table */
    bool no_memory;   /* ran out while a row was read: the table is not loaded */
    double *errors;   /* room in which scores sort: one thread at a time */
};

/* Of the absolute errors of some runs. */
struct validation_score {
    int runs;
    double mean, median, p90;
    double bias; /* median of the signed errors */
};

/* What is taken where a table has no such column; NULL: nothing, rows without it are not modelled. */
struct validation_defaults {
    const char *gpu, *framework, *precision, *recompute;
    const char *across;          /* link between nodes; where neither is said: what is usual for the device */
    int devices_per_node;        /* likewise; 0: not said */
    const struct tables *tables; /* of the user; NULL: none */
};

/* On failure *validation holds nothing; on success the caller ends it with validation_release. */
bool validation_load(struct validation *validation, const char *path,
                     const struct validation_defaults *defaults, struct error *err);
bool validation_parse(struct validation *validation, const char *path, const char *data, size_t length,
                      const struct validation_defaults *defaults, struct error *err);
void validation_release(struct validation *validation);

/* Predicts all of them. `calibration`: for every run instead of that of its device; NULL: the device's. */
void validation_predict(struct validation *validation, const struct calibration *calibration);

/* Memory of the runs that give it, and of those that are known to have run or not to have. */
struct memory_score {
    int runs;
    double mean, median, p90, bias;
    int ran, wrongly_refused; /* runs that say all and ran, and those of them that are predicted not to fit */
    int ran_out, caught;      /* runs that ran out of memory, and those of them that are predicted to */
};
struct memory_score validation_memory(const struct validation *validation);

/* Over the scored runs that `matches` accepts (NULL: all). */
struct validation_score validation_score(const struct validation *validation,
                                         bool (*matches)(const struct run *run, const void *context),
                                         const void *context);

#endif
