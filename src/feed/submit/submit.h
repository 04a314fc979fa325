/* A submission to MLPerf Storage, of rounds v2.0 and v3.0: the tree of files, what is written into it, and its rules.
 *
 *     OUT/closed/ORG/results/SYSTEM/training/unet3d/{datasize,datagen,run}/20261130_131500/   v3.0 (Rules.md, 2.1)
 *     OUT/closed/ORG/results/SYSTEM/unet3d-h100/{datagen,run}/20261130_131500/                v2.0 (guidelines, 11.3)
 *     OUT/closed/ORG/{systems,code,generation_logs}/
 *     OUT/.rehearse/unet3d_h100.json           what was asked: rehearse-submission/1
 *     OUT/.rehearse/unet3d_h100.run/           a run that goes on: renamed as a whole when it is complete
 *     OUT/.rehearse/earlier/...                runs that no other followed in time
 *
 * Rules are checked from the files alone, so that a tree may be checked anywhere. Workloads of another kind (checkpoints,
 * caches of keys and values, vectors) have a folder beside training/ in v3.0: another SUBMIT_PHASES. */
#ifndef REHEARSE_FEED_SUBMIT_SUBMIT_H
#define REHEARSE_FEED_SUBMIT_SUBMIT_H

#include "core/doc.h"
#include "feed/session.h"

#define SUBMIT_FORMAT  "rehearse-submission/1"
#define SUBMIT_HIDDEN  ".rehearse"
#define SUBMIT_RUNS    (RULES_RUNS + 1)
#define SUBMIT_MAX     64 /* runs that are looked at */
#define SUBMIT_SEALED  "rehearse-seal/1"
#define SUBMIT_SEAL    "rehearse_seal.json"
#define SUBMIT_TO_FILL "TO BE FILLED IN"

/* A workload of a submission: what was asked. All texts live in the arena of the caller. */
struct submit_place {
    const char *out, *org, *system, *workload, *model, *availability;
    const char *method;     /* NULL: that of the workload */
    const char *const *set; /* in the order of their keys; these three are written, not read */
    size_t set_count;
    bool direct;
    enum rules_edition edition;
    int64_t accelerators;
};
extern const char *const submit_editions[]; /* "v2", "v3", NULL */

/* Sets *path, allocated in the arena, to a folder or file: `what` below the folder of… */
enum submit_part {
    SUBMIT_ASKED,
    SUBMIT_WORK,
    SUBMIT_EARLIER,
    SUBMIT_SYSTEMS,
    SUBMIT_CODE,
    SUBMIT_LOGS,
    SUBMIT_PHASES
};
bool submit_path(const struct submit_place *place, enum submit_part part, const char *what,
                 struct arena *arena, const char **path, struct error *err);

/* Writes and reads OUT/.rehearse/WORKLOAD.json. A place that another command made is refused. */
bool submit_begin(const struct submit_place *place, struct arena *arena, struct error *err);
bool submit_place_read(struct submit_place *place, const char *out, const char *file, struct arena *arena,
                       struct error *err);

/* Names of a folder in the order of their bytes; a missing folder has none. */
bool submit_list(const char *folder, struct arena *arena, const char ***names, int *count, struct error *err);

/* Seconds since 1970 of "2026-11-30T13:15:42.25", and the name of a run that began then. NAN: it is no time. */
double submit_time(const char *text);
void submit_run_name(double start, char name[16]);

/* The value at "storage.origin.share" of a document, or NULL. */
const struct doc_node *submit_find(const struct doc *doc, const char *path);
double submit_number(const struct doc *doc, const char *path);    /* of a list its first; NAN: none */
const char *submit_text(const struct doc *doc, const char *path); /* "": none */

/* ---- a run (leaf.c) ---- */

struct submit_run {
    const char *name, *folder;
    struct doc summary, result, seal; /* `root` NULL: missing or not readable */
    struct workload workload;         /* of dlio_config/config.yaml */
    bool has_workload;
    double start, end;
    char fault[320]; /* the first file that is missing or cannot be read; "": none */
    unsigned files;
    char changed[320]; /* the first file that differs from the seal */
    char figures[320]; /* the first figure that the recorded steps do not give */
};

/* Removes what a killed run has left in its folder. */
void submit_clear(const char *folder, struct arena *arena);

/* Adds to a run in its working folder what the rules ask for beside results, and its seal; `number` is 0 of the
 * warm-up. */
bool submit_complete(const struct submit_place *place, const char *folder, int number, const char *report,
                     struct arena *arena, struct error *err);

/* Reads all runs that are there. Their faults are set, not returned: false is for memory alone. */
struct submission {
    const struct submit_place *place;
    struct arena *arena;
    const char *folder; /* of the runs */
    struct submit_run *runs;
    int count;
};
bool submission_open(struct submission *submission, const struct submit_place *place, struct arena *arena,
                     struct error *err);
void submission_close(struct submission *submission);

/* ---- documents beside the runs (documents.c) ---- */

/* Writes results.json, the leaves of datasize and datagen, and a draft of the system's description, where none is. */
bool submit_documents(const struct submission *submission, struct error *err);

/* Sets `fault` to where results.json is not what the runs give; "": it is. */
bool submit_results_fault(const struct submission *submission, char fault[320], struct error *err);

/* The mean of the five runs behind the warm-up: samples/s. NAN: there are not as many,
 * or they have too few steps. */
double submit_mean(const struct submission *submission);

/* ---- all rules (rules.c) ---- */

struct submit_report {
    struct rules_report rules;
    int runs;                      /* behind the warm-up */
    double samples_per_second, au; /* means; NAN: unknown */
};

bool submit_check(const struct submission *submission, struct submit_report *report, struct error *err);

/* What to do next about a finding that failed, and its place in the rules of the edition. */
const char *submit_next(const char *rule);
const char *submit_section(const struct submit_place *place, const struct rules_finding *finding);

#endif
