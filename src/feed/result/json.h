/* result.json: what a run found, the corrected figures first and DLIO's beside them, with all that is needed to judge
 * and to repeat it. Its layout is "rehearse-feed-result/1"; AU and shares are 0..1, times seconds, rates bytes/s. */
#ifndef REHEARSE_FEED_RESULT_JSON_H
#define REHEARSE_FEED_RESULT_JSON_H

#include "core/json.h"
#include "feed/origin.h"
#include "feed/result/metrics_figures.h"
#include "feed/result/rules.h"

#define RESULT_FORMAT "rehearse-feed-result/1"

struct result_host {
    const char *name;
    const char *system; /* "Linux 6.1.0 x86_64"; NULL: not known */
    int cpus;
    int64_t memory; /* bytes */
    int accelerators, processes;
    double cpu_seconds;  /* user and system time of the run; negative: not known */
    double read_busy;    /* seconds of all reading threads together */
    double read_delayed; /* of these without a processor */
    double throttled;    /* seconds that control groups held its processes back */
};

/* Bytes; negative: not known. */
struct result_storage {
    const char *path, *file_system, *device; /* NULL: not known */
    const char *method;                      /* "posix", "uring", … */
    bool direct;
    const char *drop_caches;                 /* what was dropped before: NULL, "file", "system" */
    bool warm;                               /* caches were to be */
    int64_t data_set;                        /* its size */
    int64_t looked_at;                       /* bytes of the files that the two below are of */
    int64_t resident_before, resident_after; /* of the data set, in the page cache */
    int64_t device_read, device_written;     /* by the device while the run went on, for whomever */
    const struct origin *origin;             /* of what was trained on; NULL: not known */
};

enum result_state {
    RESULT_FAILED,
    RESULT_PASSED,
    RESULT_OPEN, /* another check says why nothing can be said */
};

/* What must be so: samples read and expected, for instance. */
struct result_check {
    const char *name;
    enum result_state state;
    int64_t expected, found;
    const char *text; /* what is wrong, or worth knowing; NULL: nothing */
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
    const char *const *overrides;       /* as given: "reader.read_threads=8" */
    int override_count;
    const struct rules_report *rules; /* NULL: not asked for */
    /* Writes the effective configuration under the key; NULL: none. */
    void (*write_configuration)(const void *configuration, struct json *json, const char *key);
    const void *configuration;
    bool eval; /* evaluations were asked for */
};

/* `metrics` covers the whole run. "passed" in it is what the exit status should say: a training step counted, AU
 * reached its target and each check holds. Without training (steps of 0 expected) AU is left out of that. */
bool result_json(struct text *out, const struct metrics *metrics, const struct result_json *facts,
                 bool *passed, struct error *err);

/* Writes it to folder/result.json. */
bool result_json_save(const char *folder, const struct metrics *metrics, const struct result_json *facts,
                      bool *passed, struct error *err);

#endif
