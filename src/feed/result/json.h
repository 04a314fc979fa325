/* result.json: the corrected figures and DLIO's, with all facts needed to judge and to repeat the run. Its
 * layout is "rehearse-feed-result/1"; AU and shares are 0..1, times seconds, rates bytes/s. */
#ifndef REHEARSE_FEED_RESULT_JSON_H
#define REHEARSE_FEED_RESULT_JSON_H

#include "core/json.h"
#include "feed/origin.h"
#include "feed/result/metrics_figures.h"
#include "feed/result/rules.h"

#define RESULT_FORMAT "rehearse-feed-result/1"

struct result_host {
    const char *name;
    const char *system; /* "Linux 6.1.0 x86_64"; NULL: unknown */
    int cpus;
    int64_t memory; /* bytes */
    int accelerators, processes;
    double cpu_seconds;  /* user and system time of the run; negative: unknown */
    double read_busy;    /* seconds, sum of all reading threads */
    double read_delayed; /* part of it without a processor */
    double throttled;    /* seconds that control groups throttled its processes */
};

/* Bytes; negative: unknown. */
struct result_storage {
    const char *path, *file_system, *device; /* NULL: unknown */
    const char *method;                      /* "posix", "uring", … */
    bool direct;
    const char *drop_caches;                 /* dropped before: NULL, "file", "system" */
    bool warm;                               /* caches were to be kept */
    int64_t data_set;                        /* total size */
    int64_t looked_at;                       /* bytes of the files behind the two below */
    int64_t resident_before, resident_after; /* of the data set, in the page cache */
    int64_t device_read, device_written;     /* by the device during the run, for all processes */
    const struct origin *origin;             /* of the training data; NULL: unknown */
};

enum result_state {
    RESULT_FAILED,
    RESULT_PASSED,
    RESULT_OPEN, /* unknown: another check has the reason */
};

/* A condition for a valid run, such as samples read and expected. */
struct result_check {
    const char *name;
    enum result_state state;
    int64_t expected, found;
    const char *text; /* the fault, or a remark; NULL: none */
    int64_t left_out; /* samples that no accelerator reads in an epoch */
};

struct result_json {
    const char *version;  /* of the program */
    const char *workload; /* its name */
    uint64_t seed, entropy;
    int64_t start, end; /* nanoseconds since 1970 */
    const struct result_host *hosts;
    int host_count;
    struct result_storage storage;
    const struct result_check *checks;
    int check_count;
    const char *verdict, *verdict_text; /* NULL: none */
    const char *const *overrides;       /* as on the command line: "reader.read_threads=8" */
    int override_count;
    const struct rules_report *rules; /* NULL: not requested */
    /* Writes the effective configuration under the key; NULL: none. */
    void (*write_configuration)(const void *configuration, struct json *json, const char *key);
    const void *configuration;
    bool eval; /* evaluations were requested */
};

/* Writes result.json. `metrics` covers the whole run. "passed" (the exit status) requires a counted training
 * step, AU at its target and all checks. Without training (0 expected steps) AU is ignored. */
bool result_json(struct text *out, const struct metrics *metrics, const struct result_json *facts,
                 bool *passed, struct error *err);

/* Writes the same to folder/result.json. */
bool result_json_save(const char *folder, const struct metrics *metrics, const struct result_json *facts,
                      bool *passed, struct error *err);

#endif
