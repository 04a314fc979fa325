/* One `rehearse feed`: opens a workload's data set and storage, runs it, judges the run, writes the results.
 *
 *     struct session session;
 *     if (!session_open(&session, &options, err))
 *         return false;
 *     bool done = session_run(&session, err) && session_judge(&session, err) &&
 *                 session_save(&session, folder, err);
 *     session_close(&session);
 *
 * All ranks call every function; functions that return bool set *err when they return false. */
#ifndef REHEARSE_FEED_SESSION_H
#define REHEARSE_FEED_SESSION_H

#include "dataset/layout.h"
#include "feed/checkpoint/plan.h"
#include "feed/result/json.h"
#include "feed/result/rules.h"
#include "feed/run.h"
#include "feed/workload/storage.h"

struct session_options {
    struct run_options run;       /* the session sets layout, storage, checkpoint, exact and each */
    const char *const *overrides; /* all that were applied to the workload, for results and rules */
    int override_count;
    const char *version; /* of the program, for result.json */
    struct workload_storage_choice storage;
    int savers;              /* ranks per process that save checkpoints; 0: as many as accelerators */
    const struct plan *plan; /* the checkpoint sizes come from it; NULL: from the workload */
    bool warm;               /* reads from the page cache are intended */
    bool rules;              /* check the rules of MLPerf Storage */
    const char *record;      /* folder that keeps every step's times for DLIO's R_output.json; NULL: none */
    bool timeline;           /* session_save also writes R_timeline.pfw */
};

#define SESSION_MAX_CHECKS 8

/* The verdict on the storage. All but the first fail the run. */
enum session_verdict {
    SESSION_OK,
    SESSION_TOO_SLOW,    /* AU misses its target, and the host is not the cause */
    SESSION_HOST,        /* no verdict: AU misses its target, and the host may be the cause */
    SESSION_FROM_MEMORY, /* no verdict: the run measured memory */
    SESSION_NO_RESULT,   /* no verdict: the run was stopped, or did not read all its data */
};
const char *session_verdict_name(enum session_verdict verdict);

struct session {
    struct session_options options;
    struct dataset_layout layout;
    bool found; /* the layout comes from the data set's dataset.json */
    struct storage *storage, *saves;
    struct checkpoint_of_plan of_plan;
    double checkpoint_bytes; /* of one checkpoint, all ranks */
    struct result_steps each;

    /* Set by session_run: */
    int64_t opened; /* nanoseconds of CLOCK_MONOTONIC */
    struct run_result run;
    struct result_host *hosts; /* on rank 0 */
    char (*host_texts)[512];   /* host names and operating systems */
    int host_count;
    int64_t data_set;                    /* bytes; -1: unknown */
    int64_t device_read, device_written; /* bytes of all hosts; -1: unknown */

    /* Set by session_judge, on rank 0: */
    struct result_check checks[SESSION_MAX_CHECKS];
    char check_texts[SESSION_MAX_CHECKS][384];
    int check_count;
    enum session_verdict verdict;
    char verdict_text[512];
    struct rules_report rules;
    bool has_rules;
};

/* Opens layout, storage and checkpoints, and generates the data set if workflow.generate_data is set. The
 * caller ends the session with session_close. */
bool session_open(struct session *session, const struct session_options *options, struct error *err);
void session_close(struct session *session);

/* Returns true if the workload does more than generate data. */
bool session_has_work(const struct workload *workload);

bool session_run(struct session *session, struct error *err);

/* Runs with other options than session->options.run, and replaces the session's run by the new one. */
bool session_run_with(struct session *session, const struct run_options *options, struct error *err);

/* Shares of the time that the host may have cost. Valid on rank 0, after session_judge. */
struct session_host {
    double late;       /* deadlines were noticed late */
    double delayed;    /* share of the readers' time spent waiting for a processor */
    double throttled;  /* control groups throttled the run */
    double au_at_best; /* upper bound of AU without these three */
};
struct session_host session_host_of(const struct session *session, const struct metrics_figures *figures);

/* Checks the run and, if asked for, the rules. Only rank 0 does anything. */
bool session_judge(struct session *session, struct error *err);

/* ---- How many accelerators the storage keeps busy (session_max.c) ---- */

#define SESSION_MAX_PROBES 64

struct session_probe {
    int accelerators; /* per process */
    double au;        /* 0..1, without the excluded steps */
    double error;     /* standard error of au, from the steps' spread between accelerators and probes */
    bool met;
};

struct session_max {
    int accelerators; /* maximum per process that met the target; 0: even one missed it */
    bool bounded;     /* `fails_at` missed the target; else the search ended at its limit */
    int fails_at;
    bool certain; /* both are further from the target than twice their errors */
    struct session_probe probes[SESSION_MAX_PROBES];
    int probe_count;
};

/* Doubles the number of accelerators until AU misses its target, then bisects; runs both ends of the final
 * interval a second time. One epoch per probe; at most `limit` accelerators per process. A probe without a
 * verdict (it measured memory, or the host could not keep up) ends the search with the error of
 * session_passed. */
bool session_find_max(struct session *session, int limit, struct session_max *found, struct error *err);

/* Writes DLIO's files and result.json into the folder. */
bool session_save(struct session *session, const char *folder, struct error *err);

/* Returns true if checks, AU and rules passed; else the error says which failed. On rank 0. */
bool session_passed(const struct session *session, struct error *err);

/* Write result.json and the result of session_find_max, for programs. */
bool session_write_json(struct session *session, struct text *out, struct error *err);
void session_write_max(const struct session_max *max, double target, int processes, struct text *out);

#endif
