/* One `rehearse feed`: opens a workload's data set and storage, runs it, judges the run, writes the results.
 *
 *     struct session session;
 *     if (!session_open(&session, &options, err))
 *         return false;
 *     bool done = session_run(&session, err) && session_judge(&session, err) &&
 *                 result_save(&session, folder, err);
 *     session_close(&session);
 *
 * All ranks call every function; functions that return bool set *err when they return false. */
#ifndef REHEARSE_FEED_SESSION_H
#define REHEARSE_FEED_SESSION_H

#include "dataset/layout.h"
#include "feed/checkpoint/plan.h"
#include "feed/result/metrics_figures.h"
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
    const char *digest;      /* identifies all that was asked, for result.json; NULL: nobody looks for it */
};

/* A host of the run. */
struct session_host {
    char name[72], system[200]; /* system: "Linux 6.1.0 x86_64"; "": unknown */
    int cpus, accelerators, processes;
    int64_t memory;      /* bytes */
    double cpu_seconds;  /* user and system time of the run */
    double read_busy;    /* seconds, sum of all reading threads */
    double read_delayed; /* part of it without a processor */
    double decoded;      /* part of it that decoding and comparing took, in seconds of a processor */
    double throttled;    /* seconds that control groups throttled its processes */
    double read_cpu;     /* part of read_busy on a processor, with decoding */
    int readers;         /* threads */
    struct limits_look seen;
};

#define SESSION_MAX_CHECKS 8
#define SESSION_RAN        "ran to its end" /* the check that a run was not stopped */

enum session_state {
    SESSION_FAILED,
    SESSION_PASSED,
    SESSION_OPEN, /* unknown: another check has the reason */
};

/* A condition for a valid run, such as samples read and expected. */
struct session_check {
    const char *name;
    enum session_state state;
    int64_t expected, found;
    char text[384];   /* the fault, or a remark; "": none */
    int64_t left_out; /* samples that no accelerator reads in an epoch */
};

/* The verdict on the storage. All but the first fail the run. */
enum session_verdict {
    SESSION_OK,
    SESSION_TOO_SLOW,    /* AU misses its target, and the host is not the cause */
    SESSION_HOST,        /* no verdict: AU misses its target, and the host may be the cause */
    SESSION_FROM_MEMORY, /* no verdict: the run measured memory */
    SESSION_NO_RESULT,   /* no verdict: the run was stopped, or did not read all its data */
};
extern const char *const session_verdict_words[];

/* The rules of MLPerf Storage v2.0 and v3.0 (session_rules.c). A result is closed if no rule fails, open if only
 * changes that OPEN allows were made, else invalid. Unknown rules do not change the category. */
enum rules_verdict { RULES_PASS, RULES_FAIL, RULES_UNKNOWN, RULES_DECLARED };
enum rules_category { RULES_CLOSED, RULES_OPEN, RULES_INVALID };
enum rules_edition { RULES_V2, RULES_V3 };
#define RULES_MAX_FINDINGS 48
#define RULES_RUNS         5 /* of a result; one before warms up */

struct rules_report {
    struct rules_finding {
        const char *rule;    /* a word: "dataset-size" */
        const char *section; /* of the rules: "7" */
        enum rules_verdict verdict;
        char text[320];
    } findings[RULES_MAX_FINDINGS];
    int count, failed, unknown;
    enum rules_category category;
    enum rules_edition edition; /* of the benchmark that the workload is nearest to */
};
extern const char *const rules_verdict_words[], *const rules_category_words[];

/* What the rules of one run look at. */
struct rules_facts {
    const struct workload *workload;
    const struct dataset_layout *layout;
    bool found; /* the layout is that of the data set, not the workload's own */
    const struct session_host *hosts;
    int host_count, accelerators;
    double au;          /* of training */
    const char *option; /* that changes what the benchmark does; NULL: none */
    bool cleared;       /* the page cache, between writes and reads */
};

/* Adds a finding, as long as there is a place. */
void rules_find(struct rules_report *report, const char *rule, const char *section,
                enum rules_verdict verdict, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Checks all rules that one run can break. False: a workload could not be read. */
bool rules_check(const struct rules_facts *facts, struct rules_report *report, struct error *err);

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
    int64_t data_set;                    /* bytes; -1: unknown */
    int64_t device_read, device_written; /* bytes of all hosts; -1: unknown */

    /* Set by session_judge, on all ranks: */
    struct session_host *hosts;
    int host_count;
    char *cpuinfo, *meminfo; /* texts of /proc of this host; NULL: unknown */

    /* Set by session_judge, on rank 0: */
    struct session_check checks[SESSION_MAX_CHECKS];
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

bool session_run(struct session *session, struct error *err);

/* Runs with other options than session->options.run, and replaces the session's run by the new one. */
bool session_run_with(struct session *session, const struct run_options *options, struct error *err);

/* Shares of the time that the host may have cost. Valid on rank 0, after session_judge. */
struct session_loss {
    double late;       /* deadlines were noticed late */
    double delayed;    /* share of the readers' time spent waiting for a processor */
    double decoded;    /* likewise, decoding and comparing */
    double throttled;  /* control groups throttled the run */
    double au_at_best; /* upper bound of AU without these */
};

/* Gathers the facts of all hosts; then rank 0 checks the run and, if requested, the rules. */
bool session_judge(struct session *session, struct error *err);

/* Checks the rules, as far as the figures of one run can show, and sets session->rules. On rank 0. */
void session_check_rules(struct session *session);

/* ---- How many accelerators the storage keeps busy (session_max.c) ---- */

#define SESSION_MAX_PROBES 64

struct session_probe {
    int accelerators; /* of all processes */
    double au;        /* 0..1, without the excluded steps */
    double error;     /* standard error of au, from the steps' spread between accelerators and probes */
    bool met;
    int readers; /* threads of all processes */
    double rate; /* bytes/s */
};

struct session_max {
    int accelerators; /* maximum of all processes that met the target; 0: even one of each missed it */
    double au_target;
    bool bounded; /* `fails_at` missed the target; else the search ended at its limit */
    int fails_at;
    bool certain; /* both are further from the target than twice their errors */
    /* number of the probe that ended the search, as it could not be judged; 0: there was none */
    int unjudged_at;
    char unjudged[512]; /* why */
    struct session_probe probes[SESSION_MAX_PROBES];
    int probe_count;
    struct limits limits; /* of the last probe that was judged, which missed the target if any did */
};

/* Doubles the number of accelerators until AU misses its target, then bisects; runs both ends of the final
 * interval a second time. Where these leave open what limits, twice as many accelerators as missed the target
 * are tried, too. One epoch per probe; at most `limit` accelerators per process. A probe without a verdict (it
 * measured memory, no step counts, or the host could not keep up) ends the search: *found keeps what the probes
 * before it found. If it was the first one, the error is that of session_passed, with what limits. */
bool session_find_max(struct session *session, int limit, struct session_max *found, struct error *err);

/* Returns true if checks, AU and rules passed; else the error says which failed. On rank 0. */
bool session_passed(const struct session *session, struct error *err);

/* Writes the result of session_find_max as JSON. */
void session_write_max(const struct session_max *max, struct json *json);

#endif
