/* The rules of MLPerf Storage v2.0 (mlcommons/storage, Submission_guidelines.md; section numbers are its), as
 * far as figures can check them: each passes, fails or is unknown, with a sentence that names the figure.
 *
 * A result is closed if no rule fails, open if only changes that OPEN allows were made, else invalid. Unknown
 * rules (five runs, if there was one) do not change the category; their number is reported. */
#ifndef REHEARSE_FEED_RESULT_RULES_H
#define REHEARSE_FEED_RESULT_RULES_H

#include "core/json.h"

#include <stdbool.h>
#include <stdint.h>

#define RULES_RUNS         5
#define RULES_STEPS        500 /* minimum per epoch */
#define RULES_MEMORY       5   /* minimum ratio of the data set to the hosts' memory */
#define RULES_CHECKPOINTS  10
#define RULES_MAX_FINDINGS 16

enum rules_verdict { RULES_PASS, RULES_FAIL, RULES_UNKNOWN };
enum rules_category { RULES_CLOSED, RULES_OPEN, RULES_INVALID };
enum rules_answer { RULES_NOT_KNOWN, RULES_NO, RULES_YES };

struct rules_host {
    const char *name;
    int accelerators; /* or processes that save checkpoints */
    int64_t memory;   /* bytes */
};

/* A difference from the shipped workload, as text. A leading "workload." in the name is ignored. */
struct rules_parameter {
    const char *name;
    const char *value;
};

struct rules_run {
    int64_t seed;
    double au; /* 0..1 */
    double samples_per_second;
};

struct rules_training {
    const char *workload; /* "unet3d", "unet3d_h100", … */
    int64_t files, samples_per_file;
    double record_length; /* bytes, the mean */
    int64_t batch;        /* per accelerator */
    const struct rules_host *hosts;
    int host_count;
    const struct rules_parameter *parameters;
    int parameter_count;
    const struct rules_run *runs; /* in order, without the warm-up */
    int run_count;
    enum rules_answer warmed_up; /* a run preceded the first */
};

struct rules_checkpointing {
    const char *model; /* "llama_8b", "8b", "llama3-405b", … */
    bool subset;       /* 8 processes on one host save their part */
    const struct rules_host *hosts;
    int host_count;
    const struct rules_parameter *parameters;
    int parameter_count;
    int writes, reads;               /* checkpoints */
    enum rules_answer synced;        /* fsync after each write */
    enum rules_answer cache_cleared; /* between writes and reads */
};

struct rules_finding {
    const char *rule;    /* a word: "dataset-size" */
    const char *section; /* of the rules: "7" */
    enum rules_verdict verdict;
    char text[320];
};

struct rules_report {
    struct rules_finding findings[RULES_MAX_FINDINGS];
    int count, failed, unknown;
    enum rules_category category;
};

void rules_check_training(const struct rules_training *facts, struct rules_report *report);
void rules_check_checkpointing(const struct rules_checkpointing *facts, struct rules_report *report);

/* Section 7: returns the minimum number of files of a data set. */
int64_t rules_minimum_files(int64_t batch, int64_t accelerators, double memory, double record_length,
                            int64_t samples_per_file);

/* Returns the required AU of a workload, 0..1; 0: it is not in the rules. */
double rules_au(const char *workload);

const char *rules_verdict_name(enum rules_verdict verdict);    /* "pass", "fail", "unknown" */
const char *rules_category_name(enum rules_category category); /* "closed", "open", "invalid" */

void rules_write_json(const struct rules_report *report, struct json *json, const char *key);

#endif
