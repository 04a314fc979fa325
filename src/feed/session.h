/* One `rehearse feed`: a workload's data set and storage opened, its run, and what is written about it.
 *
 *     struct session session;
 *     if (!session_open(&session, &options, err))
 *         return false;
 *     bool done = session_run(&session, err) && session_judge(&session, err) && session_save(&session, folder, err);
 *     session_close(&session);
 *
 * All ranks call every function. */
#ifndef REHEARSE_FEED_SESSION_H
#define REHEARSE_FEED_SESSION_H

#include "dataset/layout.h"
#include "feed/checkpoint/plan.h"
#include "feed/result/json.h"
#include "feed/result/rules.h"
#include "feed/run.h"
#include "feed/workload/storage.h"

struct session_options {
    const struct workload *workload;
    const char *const *overrides; /* as given, for the record */
    int override_count;
    const char *version; /* of the program, for the record */
    struct comm *comm;
    struct workload_storage_choice storage;
    int accelerators;        /* of every process */
    int savers;              /* ranks of every process that save checkpoints; 0: as many as accelerators */
    const struct plan *plan; /* checkpoint sizes are its; NULL: the workload's */

    int threads_most;
    bool decode, verify, no_barrier;
    bool force;       /* write also where there seems to be no room for it */
    double copy_rate; /* bytes/s to the device; 0: copies take no time */
    enum run_drop drop;
    bool warm;             /* that bytes come from memory is what is wanted */
    int64_t steps, epochs; /* 0: as the workload says */
    uint64_t entropy;
    bool rules;         /* MLPerf Storage's are looked at */
    const char *record; /* folder: every step's times are kept there, for DLIO's R_output.json; NULL: not */
    bool timeline;      /* session_save also writes R_timeline.pfw */

    struct watch *watch;
    const atomic_bool *stop;
};

#define SESSION_MAX_CHECKS 8

/* What can be said of the storage. All but the first fail the run. */
enum session_verdict {
    SESSION_OK,
    SESSION_TOO_SLOW,    /* AU is missed, whatever the host and its memory did */
    SESSION_HOST,        /* none: AU is missed, and the host may be why */
    SESSION_FROM_MEMORY, /* none: what was measured is memory */
    SESSION_NO_RESULT,   /* none: the run was stopped, or did not read what it should */
};
const char *session_verdict_name(enum session_verdict verdict);

struct session {
    struct session_options options;
    struct dataset_layout layout;
    bool has_layout;
    bool found; /* the layout is that of the data set's dataset.json */
    struct storage *storage, *saves;
    struct checkpoint_of_plan of_plan;
    struct checkpoint *checkpoint;
    double checkpoint_bytes; /* of one, all ranks */
    struct result_steps each;
    bool keeps_steps;

    /* Of session_run: */
    int64_t opened; /* when; nanoseconds of CLOCK_MONOTONIC */
    bool ran;
    struct run_result run;
    struct result_host *hosts; /* on rank 0 */
    char (*host_texts)[512];   /* names and systems */
    int host_count;
    int64_t data_set;                    /* bytes; -1: not known */
    int64_t device_read, device_written; /* of all hosts; -1: not known */

    /* Of session_judge, on rank 0: */
    struct result_check checks[SESSION_MAX_CHECKS];
    char check_texts[SESSION_MAX_CHECKS][384];
    int check_count;
    enum session_verdict verdict;
    char verdict_text[512];
    struct rules_report rules;
    bool has_rules;
};

/* Also makes the data set where workflow.generate_data says so. */
bool session_open(struct session *session, const struct session_options *options, struct error *err);
void session_close(struct session *session);

/* Is there more to do than making data? */
bool session_has_work(const struct workload *workload);

bool session_run(struct session *session, struct error *err);

/* The options that session_run runs with; and a run with others, after which the session's run is that one. */
struct run_options session_run_options(struct session *session);
bool session_run_with(struct session *session, const struct run_options *options, struct error *err);

/* What the host may have cost, as shares of the time. On rank 0, after session_judge. */
struct session_host {
    double late;       /* deadlines were noticed late */
    double delayed;    /* of the readers' own time: they waited for a processor */
    double throttled;  /* control groups held the run back */
    double au_at_best; /* that AU can be at most without all this */
};
struct session_host session_host_of(const struct session *session, const struct metrics_figures *figures);

/* What must be so, and the rules. Only rank 0 does anything. */
bool session_judge(struct session *session, struct error *err);

/* ---- How many accelerators the storage keeps busy (session_max.c) ---- */

#define SESSION_MAX_PROBES 64

struct session_probe {
    int accelerators; /* of each process */
    double au;        /* 0..1, without the excluded steps */
    double error;     /* standard error of au, from the steps' spread between accelerators and probes */
    bool met;
};

struct session_max {
    int accelerators; /* per process that met the target; 0: not even one */
    bool bounded;     /* `fails_at` did not; else the search ended at its limit */
    int fails_at;
    bool certain; /* both are further from the target than twice their errors */
    struct session_probe probes[SESSION_MAX_PROBES];
    int probe_count;
};

/* Doubles their number until AU misses its target, then halves the interval; the two at its ends are run a second time.
 * One epoch per probe; at most `limit` accelerators per process. A probe without a verdict (session_passed says why: from
 * memory, or the host could not keep up) ends the search with that as its error. */
bool session_find_max(struct session *session, int limit, struct session_max *found, struct error *err);

/* DLIO's files and result.json. *passed: what the exit status should say. */
bool session_save(struct session *session, const char *folder, struct error *err);

/* What the run is judged by: checks, AU, rules. False: the error says what fails. On rank 0. */
bool session_passed(const struct session *session, struct error *err);

/* result.json, and what session_find_max found; for programs. */
bool session_write_json(struct session *session, struct text *out, struct error *err);
void session_write_max(const struct session_max *max, double target, int processes, struct text *out);

#endif
